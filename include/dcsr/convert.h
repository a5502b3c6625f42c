/* convert.h: conversions between a matrix and other formats.
 *
 * Out: dcsr_view_to_*() copies a view into arrays that the structure owns and dcsr_*_free() frees; CSR and
 * CSC are lent by views of these layouts instead (dcsr_view_get_csr(), dcsr_view_get_csc()). In:
 * dcsr_matrix_from_*() checks the caller's arrays (ascending offsets, indices in range) and copies them; the
 * matrix is ready when the call returns. `options` may be NULL. Value types are those of the matrix. On
 * failure a structure is all zero, a matrix NULL. Free structures before their context is destroyed; one
 * that the caller fills with arrays of his own needs no context, and is not freed. */
#ifndef DCSR_CONVERT_H
#define DCSR_CONVERT_H

#include <dcsr/coo.h>
#include <dcsr/view.h>

#ifdef __cplusplus
extern "C" {
#endif

/* COO, rows ascending. Cost: O(entries); for a CSR view also O(rows). */
DCSR_API dcsr_status dcsr_view_to_coo(dcsr_coo *coo, dcsr_view *view);

/* CSR, at the cost of one copy: each row becomes one segment without slack. The entries of a row may come in
 * any order; duplicates follow the policy. Errors: INVALID_ARGUMENT (offsets), INDEX_OUT_OF_RANGE, as
 * dcsr_matrix_create(). */
DCSR_API dcsr_status dcsr_matrix_from_csr(dcsr_matrix **matrix, dcsr_context *context, const dcsr_csr *csr,
                                          const dcsr_matrix_options *options);

/* The same from arrays in the memory of the context's GPU, checked and copied there. They are read after the work that
 * the caller's `stream` (a cudaStream_t; NULL is the legacy default stream) holds when the call is made; when it
 * returns they have been read. Errors: also INVALID_ARGUMENT (an array is in host memory, or in that of another
 * GPU; the context is on the cpu). */
DCSR_API dcsr_status dcsr_matrix_from_csr_device(dcsr_matrix **matrix, dcsr_context *context,
                                                 const dcsr_csr *csr, void *stream,
                                                 const dcsr_matrix_options *options);

/* CSR in arrays of the caller's, whose offsets and columns are of a width that other libraries use: int32 both (SciPy,
 * Eigen, cuSPARSE), int64 both, or int64 and int32; or unsigned, as dcsr_csr has them (DCSR_UINT64, DCSR_UINT32). They
 * are in host memory, also for a matrix on a device. */
typedef struct dcsr_csr_arrays {
    uint64_t rows, cols, nnz;
    dcsr_type type;                    /* of the values */
    dcsr_type offset_type, index_type; /* DCSR_INT32, _INT64, _UINT32 or _UINT64 */
    void *offsets;                     /* rows + 1 */
    void *col_indices;                 /* nnz */
    void *values;                      /* nnz; NULL for pattern */
} dcsr_csr_arrays;

/* As dcsr_matrix_from_csr(); the arrays are only read. What is not of the library's own widths is converted first,
 * which takes 8 bytes a row for the offsets, and 4 an entry for columns of 64 bits. Errors: also INVALID_ARGUMENT (a
 * type that is no index's), INDEX_OUT_OF_RANGE (a number that is negative; the message names it). */
DCSR_API dcsr_status dcsr_matrix_from_csr_arrays(dcsr_matrix **matrix, dcsr_context *context,
                                                 const dcsr_csr_arrays *arrays,
                                                 const dcsr_matrix_options *options);

/* The same without a copy of the columns and values: on success these two arrays are the matrix's, which reads them,
 * and writes into them, where they are, until it grows. It calls release(col_indices, values, user) when a change then
 * finds that no version is held (a view of before may be in them), at the latest when the matrix and all its views have
 * been destroyed. If release is NULL the arrays are lent, and must outlive all that. On failure they are still the
 * caller's, and release is not called. The offsets are only read. release may be called by any thread that changes or
 * destroys the matrix, or its worker; it must not call the library. The arrays do not count as memory of the context or
 * the matrix.
 *
 * This saves time and memory where the matrix is read more than changed: a CSR view lends these very arrays, and
 * dcsr_matrix_set() and dcsr_matrix_remove_one() work in them where nobody holds a version. What adds entries, or
 * rewrites rows, moves all of them into memory of the matrix first: the copy that dcsr_matrix_from_csr_arrays() makes
 * at once.
 *
 * Columns have to ascend in each row, each once. Those of 64 bits cannot be taken over, nor arrays that are not aligned
 * to their elements, nor any for a matrix on a device: such arrays are copied, and released before the call returns.
 * Errors: as dcsr_matrix_from_csr_arrays(); INVALID_ARGUMENT (columns that do not ascend; the message names the row).
 * Cost: a pass over the columns, which are checked; O(rows). */
DCSR_API dcsr_status dcsr_matrix_import_csr(dcsr_matrix **matrix, dcsr_context *context,
                                            const dcsr_csr_arrays *arrays,
                                            void (*release)(uint32_t *col_indices, void *values, void *user),
                                            void *user, const dcsr_matrix_options *options);

/* Copies a view of any layout into the caller's arrays, each of which may be NULL: none of it is wanted. On entry, rows
 * and nnz say what they have room for, the two types of which width they are; on return rows, cols, nnz and type are
 * those of the view. Columns ascend if the view is sorted. Cost: O(rows + entries); for a view on a device a copy
 * in host memory, which the view keeps. Errors: INVALID_ARGUMENT (too little room; a type that is no index's),
 * TOO_LARGE (more entries than offsets of that type can count); *arrays is as it was. */
DCSR_API dcsr_status dcsr_view_copy_csr(dcsr_view *view, dcsr_csr_arrays *arrays);

/* CSC, inserted in batches: O(cols + entries). The entries of a column may come in any
 * order. Errors: as for CSR. */
DCSR_API dcsr_status dcsr_matrix_from_csc(dcsr_matrix **matrix, dcsr_context *context, const dcsr_csc *csc,
                                          const dcsr_matrix_options *options);

/* ELLPACK: `width` slots per row, stored column-major: slot s of row i is at [s * rows + i]. An unused slot
 * has column DCSR_ELL_UNUSED and value 0. */
#define DCSR_ELL_UNUSED UINT32_MAX
typedef struct dcsr_ell {
    uint64_t rows, cols, width;
    dcsr_type type;
    uint32_t *col_indices; /* rows x width */
    void *values;
    dcsr_context *context;
} dcsr_ell;
/* The width is the length of the longest row. Errors: TOO_LARGE when rows x width overflows or exceeds
 * `limit` bytes (0: no limit): one long row makes ELL huge. */
DCSR_API dcsr_status dcsr_view_to_ell(dcsr_ell *ell, dcsr_view *view, uint64_t limit);
DCSR_API dcsr_status dcsr_matrix_from_ell(dcsr_matrix **matrix, dcsr_context *context, const dcsr_ell *ell,
                                          const dcsr_matrix_options *options);
DCSR_API void dcsr_ell_free(dcsr_ell *ell);

/* HYB: an ELL part of `width` slots per row, and what does not fit as COO, rows ascending. */
typedef struct dcsr_hyb {
    dcsr_ell ell;
    dcsr_coo coo;
} dcsr_hyb;
/* width 0 stands for the mean row length, rounded up (the choice of the DCSR paper). Cost: rows x width
 * slots. */
DCSR_API dcsr_status dcsr_view_to_hyb(dcsr_hyb *hyb, dcsr_view *view, uint64_t width);
DCSR_API dcsr_status dcsr_matrix_from_hyb(dcsr_matrix **matrix, dcsr_context *context, const dcsr_hyb *hyb,
                                          const dcsr_matrix_options *options);
DCSR_API void dcsr_hyb_free(dcsr_hyb *hyb);

#ifdef __cplusplus
}
#endif
#endif
