/* portfolio.h: the kernels for y = A x among which a plan chooses (internal).
 *
 * A kernel is one way of multiplying on one device, in a file named after it. It reads the rows of a view in place,
 * or a **format**: a copy of the entries arranged as it likes them. All kernels are asked in the same way:
 *
 *      refuses()   whether it can serve a matrix at all                    else the next is asked
 *      measure()   bytes of its format, before any of it is built          what plans promise, and are held to
 *      build()     makes the format
 *      refresh()   brings it to another version, of which some rows differ, if may_refresh()
 *      run()       y = A x
 *      discard()   frees the format
 *
 * To add one: write its file, list it in kernels.def; the tests of the portfolio, the program and `dcsr tune` take it
 * from there. */
#ifndef DCSR_PORTFOLIO_H
#define DCSR_PORTFOLIO_H

#include "dcsr/base/cuda.h"
#include "dcsr/base/threads.h"
#include "dcsr/view/changed_rows.h"
#include <dcsr/desc.h>
#include <dcsr/spmv.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What kernels know of a matrix: a version of it, which the plan holds. */
typedef struct dcsr_i_spmv_matrix {
    dcsr_context *context;
    dcsr_view *view;
    const dcsr_i_rows *rows; /* of the view */
    dcsr_view_info info;     /* of the view */
    bool measured;           /* else nothing is known there of pieces and of lengths of rows */
    dcsr_type vector_type;   /* of x and y: that of the matrix, fp64 for a pattern */
} dcsr_i_spmv_matrix;

/* One product. */
typedef struct dcsr_i_spmv_product {
    void *y;
    const void *x;
    int threads;                /* cpu */
    dcsr_i_cuda_stream *stream; /* device: y and x are in its memory; failures are noted here */
    void *on;                   /* device: the cudaStream_t on which the product is put */
} dcsr_i_spmv_product;

typedef struct dcsr_i_spmv_kernel {
    dcsr_spmv_kernel told; /* to callers */
    bool by_longest;       /* may_refresh() goes by the lengths of rows: both matrices have to be measured */
    /* Why it cannot serve the matrix, constant text that goes on after "kernel NAME "; NULL: it can. May be NULL: it
     * serves all. */
    const char *(*refuses)(const dcsr_i_spmv_matrix *A);
    /* NULL where there is no format: the rows of the view are read in place. *bytes is what build() will have taken
     * from the context's pool DCSR_I_MATRIX when it returns, exactly. May read the rows, once or twice. */
    dcsr_status (*measure)(uint64_t *bytes, const dcsr_i_spmv_matrix *A);
    /* *format is NULL on failure (OUT_OF_MEMORY, on a device also DEVICE). */
    dcsr_status (*build)(void **format, const dcsr_i_spmv_matrix *A);
    /* Whether refresh() may be possible, by the format and what is known of both versions without reading rows, which
     * need not be measured. NULL: it may always be. */
    bool (*may_refresh)(const void *format, const dcsr_i_spmv_matrix *A, const dcsr_i_spmv_matrix *before);
    /* *format, which is that of another version of the same shape, becomes that of A, which need not be measured; only
     * the rows that `changed` lists may differ. Costs what these rows are, and some steps a row of all, but no reading
     * of other entries. All or nothing: *done says whether it was possible; else rows have other lengths than the
     * format has room for. *bytes is what it takes then, about what measure() says of A. NULL: the format is built
     * anew, as where it was not done. */
    dcsr_status (*refresh)(void **format, bool *done, uint64_t *bytes, const dcsr_i_spmv_matrix *A,
                           dcsr_i_changed_rows *changed);
    dcsr_status (*run)(const dcsr_i_spmv_product *product, const dcsr_i_spmv_matrix *A, const void *format);
    void (*discard)(void *format, const dcsr_i_spmv_matrix *A);
} dcsr_i_spmv_kernel;

/* Number 0, 1, ... of a device's; NULL beyond the last. The first serves every matrix, in place. */
const dcsr_i_spmv_kernel *dcsr_i_spmv_kernel_at(dcsr_device device, uint64_t number);
/* NULL: there is none of that name. */
const dcsr_i_spmv_kernel *dcsr_i_spmv_kernel_named(dcsr_device device, const char *name);
/* y = A x, complete when it returns; y and x may be anywhere. */
dcsr_status dcsr_i_spmv_run(void *y, const dcsr_i_spmv_kernel *kernel, const dcsr_i_spmv_matrix *A,
                            const void *format, const void *x);
/* The seconds of a product, the mean of `products` in turn: by the device's clock and without copies, where there is
 * one. */
dcsr_status dcsr_i_spmv_time(double *seconds, void *y, const dcsr_i_spmv_kernel *kernel,
                             const dcsr_i_spmv_matrix *A, const void *format, const void *x,
                             uint64_t products);
/* y = A x on a caller's stream, for a matrix on a device, with y and x in its memory; not complete when it returns. */
dcsr_status dcsr_i_spmv_run_on_stream(void *y, const dcsr_i_spmv_kernel *kernel, const dcsr_i_spmv_matrix *A,
                                      const void *format, const void *x, void *stream);
/* What kernels know of a view: O(1); and measured, O(rows in use), unless it has been. Errors: on a device also
 * OUT_OF_MEMORY. */
dcsr_status dcsr_i_spmv_matrix_unmeasured(dcsr_i_spmv_matrix *A, dcsr_view *view);
dcsr_status dcsr_i_spmv_measure_matrix(dcsr_i_spmv_matrix *A);
dcsr_status dcsr_i_spmv_matrix_of(dcsr_i_spmv_matrix *A, dcsr_view *view);
/* may_refresh() of formats in which rows follow one another: whether both versions have as many entries. */
bool dcsr_i_spmv_has_as_many(const void *format, const dcsr_i_spmv_matrix *A,
                             const dcsr_i_spmv_matrix *before);

/* ---- Of each kernel ---- */

#define DCSR_CPU_KERNEL(NAME)  extern const dcsr_i_spmv_kernel dcsr_i_spmv_##NAME;
#define DCSR_CUDA_KERNEL(NAME) extern const dcsr_i_spmv_kernel dcsr_i_cuda_spmv_##NAME;
#include "ops/spmv/portfolio/kernels.def"
#undef DCSR_CPU_KERNEL
#undef DCSR_CUDA_KERNEL

/* What there is for a device (portfolio_cuda.c). */
typedef struct dcsr_i_spmv_device {
    uint64_t count;
    const dcsr_i_spmv_kernel *const *kernels;
    /* A product with y and x wherever they are; complete when it returns. */
    dcsr_status (*run)(void *y, const dcsr_i_spmv_kernel *kernel, const dcsr_i_spmv_matrix *A,
                       const void *format, const void *x);
    /* The seconds of a product, the mean of some, one behind the other, by the device's clock. */
    dcsr_status (*time)(double *seconds, void *y, const dcsr_i_spmv_kernel *kernel,
                        const dcsr_i_spmv_matrix *A, const void *format, const void *x, uint64_t products);
    /* In the memory of the device alone, on a caller's stream. */
    dcsr_status (*run_on_stream)(void *y, const dcsr_i_spmv_kernel *kernel, const dcsr_i_spmv_matrix *A,
                                 const void *format, const void *x, void *stream);
} dcsr_i_spmv_device;
extern const dcsr_i_spmv_device dcsr_i_cuda_spmv_portfolio;

/* ---- For kernels on the cpu ---- */

/* The format of the kernels `csr` and `merge`. */
typedef struct dcsr_i_spmv_csr_format {
    uint64_t *offsets; /* rows + 1 */
    uint32_t *columns;
    void *values; /* NULL for pattern */
} dcsr_i_spmv_csr_format;
/* Copies the entries of a row, in their order, to columns and values (NULL for pattern); returns how many. */
uint64_t dcsr_i_spmv_copy_row(const dcsr_i_rows *rows, uint64_t row, uint32_t *columns, void *values);
/* Threads for work on all entries of the matrix. */
static inline int dcsr_i_spmv_threads(const dcsr_i_spmv_matrix *A)
{
    return dcsr_i_threads(A->context, A->info.nnz + A->info.rows);
}

#ifdef __cplusplus
}
#endif
#endif
