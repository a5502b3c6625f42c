/* mxv_cuda.h: products of a matrix and a vector on a device (internal; for C and for kernels).
 *
 * As on the host (mxv_internal.h) every call is t = M u, where M is the matrix or its transpose:
 *
 *      pull    rows of M, those that the mask allows, by the walker of SpMV (row_sums.cuh); u dense
 *      push    rows of M's transpose, those that u has an element for, their entries in equal shares
 *              (balanced_walk.cuh); u a list, or full; products meet in t by atomics
 *
 * Which of them, or tiles, is decided by a model, if need be once the entries of u's columns have been counted.
 *
 *      mxv_cuda.c      decides, takes memory, writes the result
 *      mxv_pull.cu     kernels of the pull            mxv_push.cu    of the push
 *      semiring.cuh    what both calculate with       mxv_prepare.cu masks and vectors for them */
#ifndef DCSR_MXV_CUDA_H
#define DCSR_MXV_CUDA_H

#include "dcsr/store/rowtable_cuda.h"
#include "dcsr/vector/vector_cuda.h"
#include <dcsr/desc.h>
#include "ops/algebra/semiring_cuda.h"
#include "ops/spmv/spmv_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

struct dcsr_i_mxv_call; /* mxv_internal.h */

/* What a mask allows, as bits for kernels. */
typedef struct dcsr_i_cuda_wanted {
    const uint32_t *bits; /* of the mask vector; NULL: all */
    uint32_t flip;        /* all ones where exactly the others are wanted, else 0 */
    bool none;            /* nothing is: the kernels need not run */
    uint32_t *own;        /* the bits, where they are not the vector's */
    uint64_t size;
} dcsr_i_cuda_wanted;

/* One product, by value for kernels; all pointers are to device memory. */
typedef struct dcsr_i_cuda_mxv {
    dcsr_i_cuda_semiring semiring;
    dcsr_i_cuda_rows rows; /* of M to pull, of its transpose to push */
    dcsr_i_cuda_body u; /* to pull dense, to push sparse or full; of semiring.type where that reads values */
    dcsr_i_cuda_wanted wanted;
    dcsr_i_cuda_body t; /* dense, with bits that are 0 and a count; of semiring.type */
} dcsr_i_cuda_mxv;

/* ---- mxv_prepare.cu ---- */

/* Bits of where a dense body has a value that is not 0. */
void dcsr_i_cuda_mxv_mask(dcsr_i_cuda_stream *stream, uint32_t *bits, const dcsr_i_cuda_body *body,
                          dcsr_type type);
/* to[k] = from[k] cast, for k < n. */
void dcsr_i_cuda_mxv_cast(dcsr_i_cuda_stream *stream, dcsr_type to_type, void *to, dcsr_type from_type,
                          const void *from, uint64_t n);

/* ---- mxv_pull.cu, mxv_pull_real.cu, mxv_pull_typed.cu ---- */

/* Bytes of the sum of a part of a row that is cut. */
enum { DCSR_CUDA_MXV_PART = 16 };
/* t = M u. `part` has room for the sums of plan->counts.parts parts. */
void dcsr_i_cuda_mxv_pull(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxv *x,
                          const dcsr_i_cuda_spmv_plan *plan, void *part);
/* The same over the semirings on real numbers that have kernels of their own, and on the types that have; false, with
 * nothing done, over others. */
bool dcsr_i_cuda_mxv_pull_real(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxv *x,
                               const dcsr_i_cuda_spmv_plan *plan, void *part);
bool dcsr_i_cuda_mxv_pull_typed(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxv *x,
                                const dcsr_i_cuda_spmv_plan *plan, void *part);

/* ---- mxv_push.cu ---- */

/* Sums that products meet in: bytes of one for a type. Of types of 1 and 2 bytes each has 4. */
size_t dcsr_i_cuda_mxv_sum_size(dcsr_type type);
/* t = M u, where offsets are those of the walk over u's rows, with about `entries` of them. `sums` has room
 * for one for each element of t, and is t's values where a sum has as many bytes as a value. */
void dcsr_i_cuda_mxv_push(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxv *x, const uint64_t *offsets,
                          uint64_t entries, void *sums);

/* ---- mxv_cuda.c ---- */

/* What a mask vector, or NULL, and a description, or NULL, allow; as long as the vector is not changed. To be
 * closed, also after a failure: OUT_OF_MEMORY. */
dcsr_status dcsr_i_cuda_wanted_open(dcsr_i_cuda_wanted *wanted, dcsr_i_cuda_stream *stream,
                                    const dcsr_vector *mask, const dcsr_desc *desc);
void dcsr_i_cuda_wanted_close(dcsr_i_cuda_wanted *wanted, dcsr_i_cuda_stream *stream);

/* Carries a call out that has been checked, if it is to run on the device: where it can, as semiring and accum are
 * built in, dcsr_i_dispatch() decides. If not, the vectors have been brought to the host; *taken says which. */
typedef dcsr_status dcsr_i_device_mxv(bool *taken, const struct dcsr_i_mxv_call *call);
dcsr_i_device_mxv dcsr_i_cuda_mxv_run;

#ifdef __cplusplus
}

/* ---- For kernels ---- */

/* What is wanted of elements 32 w to 32 w + 31; whether element i is. */
DCSR_CUDA_INLINE uint32_t dcsr_i_cuda_wanted_word(const dcsr_i_cuda_wanted &wanted, uint64_t w)
{
    return (wanted.bits ? wanted.bits[w] : 0xffffffffu) ^ wanted.flip;
}
DCSR_CUDA_INLINE bool dcsr_i_cuda_wants(const dcsr_i_cuda_wanted &wanted, uint64_t i)
{
    return dcsr_i_cuda_wanted_word(wanted, i / 32) >> (i & 31) & 1;
}
#endif
#endif
