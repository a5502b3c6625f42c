/* fetch_rows_cuda.h: rows of a partitioned matrix that are on other GPUs, or of the transposes of its parts, brought to
 * one (internal; for C and for kernels). */
#ifndef DCSR_FETCH_ROWS_CUDA_H
#define DCSR_FETCH_ROWS_CUDA_H

#include "dcsr/store/cuda/gather_cuda.h"
#include <dcsr/multi.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dcsr_i_wanted_rows;

/* As dcsr_i_multi_fetch_rows(), to a context on a GPU, from parts on GPUs that show no entry more than once; all rows
 * from wanted->begin to wanted->end, without a list. */
dcsr_status dcsr_i_cuda_fetch_rows(dcsr_matrix **fetched, dcsr_context *context, dcsr_multi_view *view,
                                   const struct dcsr_i_wanted_rows *wanted,
                                   const dcsr_matrix_options *options, uint64_t mine, uint64_t *bytes);
/* A view on device `mine` of rows begin to end - 1, counted from the first; if `of`, a view on that device, is not
 * NULL, of all rows those alone that are columns of its entries, and the others empty. It shows no matrix, and is
 * to be read and destroyed. Adds to *bytes what came from others. Memory: what it shows, and on the others what they
 * give of it. */
dcsr_status dcsr_i_cuda_fetch_view(dcsr_view **fetched, dcsr_multi_view *view, uint64_t begin, uint64_t end,
                                   dcsr_view *of, uint64_t mine, uint64_t *bytes);
/* How many entries are before each row of a part, and in all rows, to an array on the host. */
dcsr_status dcsr_i_cuda_row_offsets(uint64_t *offsets, dcsr_view *part);

/* ---- fetch_rows.cu ---- */

/* Sets a bit, of zeros, for each column that entries of the walk, so many at most, have. */
void dcsr_i_cuda_fetch_mark(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t entries,
                            uint32_t *bits);
/* at[i] = how many bits are set before number of[i], which has a word; `before` counts those before each word. */
typedef struct dcsr_i_cuda_fetch_ranks {
    uint64_t count, of[DCSR_MAX_DEVICES + 1];
} dcsr_i_cuda_fetch_ranks;
void dcsr_i_cuda_fetch_rank(dcsr_i_cuda_stream *stream, const uint32_t *bits, const uint64_t *before,
                            const dcsr_i_cuda_fetch_ranks *ranks, uint64_t *at);
/* list[i] = first + i. */
void dcsr_i_cuda_fetch_count_up(dcsr_i_cuda_stream *stream, uint32_t *list, uint64_t n, uint32_t first);
/* lengths[first + list[i]], or lengths[first + i] where the list is NULL, becomes the length of row i of n; modulo
 * 2^64. */
void dcsr_i_cuda_fetch_lengths(dcsr_i_cuda_stream *stream, uint64_t *lengths, const uint64_t *offsets,
                               const uint32_t *list, uint64_t first, uint64_t n);

/* ---- Transposes ---- */

/* out[i] = offsets[min(i step, n)], for i = 0 .. count - 1. */
void dcsr_i_cuda_sample_offsets(dcsr_i_cuda_stream *stream, const uint64_t *offsets, uint64_t n,
                                uint64_t step, uint64_t count, uint64_t *out);
/* Offsets of the same n rows in several matrices, n + 1 each, one matrix behind the other. lengths[r] = entries of row
 * r in all of them. */
void dcsr_i_cuda_add_lengths(dcsr_i_cuda_stream *stream, const uint64_t *offsets, uint64_t matrices,
                             uint64_t n, uint64_t *lengths);
/* to[j n + r], for matrix j: where its entries of row r go, that begins at begins[r] and has those of the matrices one
 * behind the other. */
void dcsr_i_cuda_place_shares(dcsr_i_cuda_stream *stream, const uint64_t *offsets, uint64_t matrices,
                              uint64_t n, const uint64_t *begins, uint64_t *to);

/* multi_transpose_cuda.c: the parts of B = A^T, one for each device, or on failure none, and its borders. What of A is
 * copied to another device is added to its bytes. */
struct dcsr_i_borders;
struct dcsr_i_multi_cost;
dcsr_status dcsr_i_cuda_multi_transpose(dcsr_matrix **part, struct dcsr_i_borders **borders,
                                        dcsr_multi_view *A, struct dcsr_i_multi_cost *cost);

#ifdef __cplusplus
}
#endif
#endif
