/* spmm_cuda.h: sparse matrix times dense matrix on a device (internal; for C and for kernels).
 *
 *      row split    a warp to each row of Y and 32 or 64 of its columns (spmm_rows.cu)
 *      groups       a row split where each lane has 16 bytes of X's row, and long rows are cut; for sums of
 *                   real numbers and usual widths (spmm_groups.cu)
 *      merge        warps take equal shares of A's entries and rows (balanced_walk.cuh); what they have of a
 *                   row that others have a part of too is added up by a second kernel (spmm_merge.cu)
 *
 * Lanes are columns: what they read of a row of X lies side by side. Where X has 16 columns or fewer, a row
 * split has several entries of a row under way at once, so that no lane is idle.
 *
 * Bytes moved: per 64 columns 4 + value an entry of A; the columns of X in the second-level cache as often as
 * A has entries; Y once. */
#ifndef DCSR_SPMM_CUDA_H
#define DCSR_SPMM_CUDA_H

#include "ops/mxv/mxv_cuda.h"
#include <dcsr/spmm.h>
#include "ops/spmv/spmv_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One product, by value for kernels; all pointers are to device memory. */
typedef struct dcsr_i_cuda_spmm {
    dcsr_i_cuda_semiring semiring;
    dcsr_i_cuda_rows rows;
    dcsr_i_cuda_wanted wanted; /* rows of Y */
    bool replace;
    bool truths;   /* Y is of bool, as multiply's result is, and semiring.type another */
    int accum;     /* dcsr_binary_name, on semiring.type; -1: none */
    const void *X; /* of semiring.type */
    void *Y;
    uint64_t width; /* columns of both */
} dcsr_i_cuda_spmm;

/* ---- spmm_rows.cu ---- */
void dcsr_i_cuda_spmm_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_spmm *x);

/* ---- spmm_groups.cu ---- */
/* Whether it does a product: over plus-times and plus-second on real numbers, where X has 4, 8 or a
 * multiple of 16 times as many columns as 16 bytes hold, and stands at a multiple of 16, as Y does. */
bool dcsr_i_cuda_spmm_has_groups(const dcsr_i_cuda_spmm *x);
/* The plan is that of x->rows; of its parts, `sums` has room for x->width values of semiring.type each, if a
 * row has several. */
void dcsr_i_cuda_spmm_groups(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_spmm *x,
                             const dcsr_i_cuda_spmv_plan *plan, void *sums);

/* ---- spmm_merge.cu ---- */

/* lengths[i] = entries of row i, 0 where the mask leaves it out. */
void dcsr_i_cuda_spmm_lengths(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_spmm *x, uint64_t *lengths);
/* What a warp has of the row that its share begins within and ends (head), and of the one that its share ends
 * within (tail): NONE where there is no such row. */
typedef struct dcsr_i_cuda_spmm_share {
    uint64_t head, tail;
    bool head_found; /* the warp had an entry of it */
} dcsr_i_cuda_spmm_share;
/* Warps that a product is shared among, and the columns that they do at once: the caller has room for a share
 * each, and twice as many sums, of so many bytes, for each column in `sums`. */
uint64_t dcsr_i_cuda_spmm_warps(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_spmm *x);
enum { DCSR_CUDA_SPMM_COLUMNS = 64, DCSR_CUDA_SPMM_SUM = 8 };
void dcsr_i_cuda_spmm_merge(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_spmm *x, const uint64_t *offsets,
                            dcsr_i_cuda_spmm_share *shares, void *sums);

/* ---- spmm_accum.cu ---- */

/* Y = accum(Y, T) in the rows that are wanted and have entries, whatever accum's type is; in those that are
 * not Y = T with `replace`. Y and T are of ytype, and x->width columns. */
void dcsr_i_cuda_spmm_accumulate(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_spmm *x, bool replace,
                                 dcsr_type ytype, void *Y, const void *T, const dcsr_binary_op *accum);

/* ---- spmm_cuda.c ---- */

typedef struct dcsr_i_cuda_spmm_call {
    void *Y;
    const dcsr_vector *mask;
    const dcsr_binary_op *accum;
    const dcsr_semiring *semiring;
    dcsr_view *A;
    const void *X;
    uint64_t columns;
    const dcsr_desc *desc;
} dcsr_i_cuda_spmm_call;

/* Carries a call out that has been checked, if it is to run on the device: built-in operators, and either asked for,
 * worth it, or with X or Y there; *taken says whether. What has X or Y there and cannot is refused:
 * INVALID_ARGUMENT. */
typedef dcsr_status dcsr_i_device_spmm(bool *taken, const dcsr_i_cuda_spmm_call *call);
dcsr_i_device_spmm dcsr_i_cuda_spmm_run;

#ifdef __cplusplus
}
#endif
#endif
