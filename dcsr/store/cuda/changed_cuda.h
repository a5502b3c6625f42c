/* changed_cuda.h: the kernels that find rows which differ between two versions (internal; for C and for kernels'
 * files). Bitmaps are as in rewrite_cuda.h. */
#ifndef DCSR_CHANGED_CUDA_H
#define DCSR_CHANGED_CUDA_H

#include "dcsr/store/cuda/gather_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Two versions, perhaps of different dimensions; `apart`: as of dcsr_i_comparison. */
typedef struct dcsr_i_cuda_versions {
    dcsr_i_cuda_rows from, to;
    bool apart;
} dcsr_i_cuda_versions;

/* Rows that are not at the same places in both, and the entries that are shown of `to` in them. */
typedef struct dcsr_i_cuda_change_count {
    uint64_t rows, entries;
} dcsr_i_cuda_change_count;

/* The number of shares that their pages are divided into: a share is one page, or several where there are many. */
uint64_t dcsr_i_cuda_change_shares(const dcsr_i_cuda_versions *versions);
/* counts[0] = what there is in all; counts[1 + s] = what there is in share s. Pages that both share are not read. */
void dcsr_i_cuda_count_changed(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_versions *versions,
                               const dcsr_i_cuda_rows *shown, dcsr_i_cuda_change_count *counts,
                               uint64_t shares);
/* Lists these rows, ascending, and where the entries of each would begin if those that are shown stood one behind the
 * other: `all` are what counts[0] says. */
void dcsr_i_cuda_list_changed(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_versions *versions,
                              const dcsr_i_cuda_rows *shown, const dcsr_i_cuda_change_count *counts,
                              uint64_t shares, dcsr_i_cuda_change_count all, uint32_t *list,
                              uint64_t *offsets);
/* lengths[i] = the entries that row list[i] has, none behind the last row. */
void dcsr_i_cuda_changed_lengths(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *shown,
                                 const uint32_t *list, uint64_t count, uint64_t *lengths);

/* ---- Those of a list that hold other entries ---- */

/* Replaces numbers of bits, where bit i is that of list[i], by those of rows. */
void dcsr_i_cuda_number_listed(dcsr_i_cuda_stream *stream, const uint32_t *list, uint32_t *bits,
                               uint64_t count);
/* *below = how many of the list, which ascends, are below the limit. */
void dcsr_i_cuda_count_below(dcsr_i_cuda_stream *stream, const uint32_t *list, uint64_t count, uint64_t limit,
                             uint64_t *below);
/* Sets the bits of those rows of a list that are not of the same length in both, and clears the others. */
void dcsr_i_cuda_mark_lengths(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_versions *versions,
                              const uint32_t *list, uint64_t count, uint32_t *bitmap);
/* Sets the bits of further rows, which both have: those of a walk over `from`, with `entries` at most, that differ
 * from `to` in an entry. */
void dcsr_i_cuda_mark_entries(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t entries,
                              const dcsr_i_cuda_rows *to, uint32_t *bitmap);

#ifdef __cplusplus
}
#endif
#endif
