/* multi_transpose_cuda.h: the transpose of a matrix in parts on several GPUs (internal; for C and for kernels).
 *
 *      device 0                      device 1
 *      T_0 = A_0^T                   T_1 = A_1^T                     arrays, whose columns are rows of A
 *      ---------------- meet: borders of B, from samples of the offsets ----------------
 *      ---------------- meet: where each T has the rows of each part of B --------------
 *      copy rows of T_0, T_1         copy rows of T_0, T_1           from GPU to GPU
 *      row by row behind one another: a part of B
 *      ---------------- meet: nobody reads another's T any more ------------------------ */
#ifndef DCSR_MULTI_TRANSPOSE_CUDA_H
#define DCSR_MULTI_TRANSPOSE_CUDA_H

#include "dcsr/base/cuda.h"
#include <dcsr/multi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- multi_transpose.cu ---- */

/* out[i] = offsets[min(i step, n)], for i = 0 .. count - 1. */
void dcsr_i_cuda_sample_offsets(dcsr_i_cuda_stream *stream, const uint64_t *offsets, uint64_t n, uint64_t step,
                                uint64_t count, uint64_t *out);
/* Offsets of the same n rows in several matrices, n + 1 each, one matrix behind the other. lengths[r] = entries of row r
 * in all of them. */
void dcsr_i_cuda_add_lengths(dcsr_i_cuda_stream *stream, const uint64_t *offsets, uint64_t matrices, uint64_t n,
                             uint64_t *lengths);
/* to[j n + r], for matrix j: where its entries of row r go, that begins at begins[r] and has those of the matrices one
 * behind the other. */
void dcsr_i_cuda_place_shares(dcsr_i_cuda_stream *stream, const uint64_t *offsets, uint64_t matrices, uint64_t n,
                            const uint64_t *begins, uint64_t *to);

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
