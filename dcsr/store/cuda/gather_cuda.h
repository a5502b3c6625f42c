/* gather_cuda.h: walking the entries of many rows on a device, and copying them together (internal; for C and
 * for kernels' files).
 *
 * A walk is a list of rows and where the entries of each would begin if they stood one behind the other:
 *
 *      rows       row 4: a b c      row 5: empty      row 9: d e
 *      offsets    0                 3                 3             5
 *      entries    a b c d e
 *
 * Its work is shared by entries, whatever the lengths of the rows (balanced_walk.cuh). */
#ifndef DCSR_GATHER_CUDA_H
#define DCSR_GATHER_CUDA_H

#include "dcsr/base/cuda.h"
#include "dcsr/store/rowtable_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dcsr_i_cuda_walk {
    dcsr_i_cuda_rows rows;
    const uint32_t *list; /* row numbers, in device memory; NULL: rows 0, 1, ... */
    uint64_t count;       /* rows */
    /* count + 1, in device memory; the first need not be 0. Row i of the list has offsets[i + 1] - offsets[i]
     * entries: all of its own, or none, which leaves it out. */
    const uint64_t *offsets;
} dcsr_i_cuda_walk;

/* offsets[i] = entries in the first i rows of the list, for i = 0 .. count. OUT_OF_MEMORY. */
dcsr_status dcsr_i_cuda_sum_lengths(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows,
                                    const uint32_t *list, uint64_t count, uint64_t *offsets);

/* The first half of that, where the host is to know how many entries there are before it goes on; the second half is
 * dcsr_i_cuda_scan_u64(). lengths[i] = entries of row i of the list; NULL: they are not kept. With `bits` in place of a
 * list: of those of the rows 0 to count - 1 whose bit is set. The sum comes in the first words of *told, in pinned
 * memory, all 0 now: each becomes a number of entries and 1 more (dcsr_i_cuda_wait_told()). Returns how many words. */
enum { DCSR_CUDA_LENGTHS_TOLD = 256 }; /* at most */
uint64_t dcsr_i_cuda_tell_lengths(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows,
                                  const uint32_t *list, const uint32_t *bits, uint64_t count,
                                  uint64_t *lengths, uint64_t *told);

/* Copies the entries of the walk, `entries` of them or fewer, to columns and values (NULL for pattern): those
 * of row i from place to[i] on, or from offsets[i] on where `to` is NULL. The places must not overlap those
 * copied from. Moves each entry once in and once out, and 16 bytes a row of offsets and begins, 12 more for
 * each further piece. */
void dcsr_i_cuda_gather(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t entries,
                        const uint64_t *to, uint32_t *columns, char *values);

#ifdef __cplusplus
}
#endif
#endif
