/* spmv_csr.c: the kernels `segments`, which reads the rows of the view, and `csr`, which reads them in order. Both are
 * dcsr_spmv()'s, so they give the same bits. */
#include "ops/spmv/portfolio/portfolio.h"
#include "dcsr/base/alloc.h"
#include "ops/spmv/spmv_internal.h"

static dcsr_status run_segments(const dcsr_i_spmv_product *product, const dcsr_i_spmv_matrix *A,
                                const void *format)
{
    (void)format;
    dcsr_i_spmv_rows(product->y, NULL, A->rows, product->x, product->threads);
    dcsr_i_view_was_read(A->view);
    return DCSR_OK;
}

const dcsr_i_spmv_kernel dcsr_i_spmv_segments = {
    .told = {.name = "segments", .summary = "rows of the store in place, piece by piece"},
    .run = run_segments,
};

/* ---- csr ---- */

typedef dcsr_i_spmv_csr_format csr;

static const char *refuses_csr(const dcsr_i_spmv_matrix *A)
{
    return dcsr_i_lines_are_sparse(A->info.rows, A->info.nnz)
               ? "needs an offset for each row, of which the matrix has far more than entries"
               : NULL;
}

static dcsr_status measure_csr(uint64_t *bytes, const dcsr_i_spmv_matrix *A)
{
    const uint64_t entry = sizeof(uint32_t) + dcsr_type_size(A->info.type);
    *bytes = sizeof(csr) + (A->info.rows + 1) * sizeof(uint64_t) + A->info.nnz * entry;
    return DCSR_OK;
}

static void discard_csr(void *format, const dcsr_i_spmv_matrix *A)
{
    csr *f = format;
    if (!f) return;
    dcsr_i_free(A->context, DCSR_I_MATRIX, f->values, A->info.nnz, dcsr_type_size(A->info.type));
    dcsr_i_free(A->context, DCSR_I_MATRIX, f->columns, A->info.nnz, sizeof *f->columns);
    dcsr_i_free(A->context, DCSR_I_MATRIX, f->offsets, A->info.rows + 1, sizeof *f->offsets);
    dcsr_i_free(A->context, DCSR_I_MATRIX, f, 1, sizeof *f);
}

static dcsr_status build_csr(void **format, const dcsr_i_spmv_matrix *A)
{
    const size_t size = dcsr_type_size(A->info.type);
    const uint64_t rows = A->info.rows;
    *format = NULL;
    csr *f = dcsr_i_calloc(A->context, DCSR_I_MATRIX, 1, sizeof *f);
    if (!f) return DCSR_ERROR_OUT_OF_MEMORY;
    f->offsets = dcsr_i_alloc(A->context, DCSR_I_MATRIX, rows + 1, sizeof *f->offsets);
    f->columns = dcsr_i_alloc(A->context, DCSR_I_MATRIX, A->info.nnz, sizeof *f->columns);
    if (size) f->values = dcsr_i_alloc(A->context, DCSR_I_MATRIX, A->info.nnz, size);
    if (!f->offsets || !f->columns || (size && !f->values)) {
        discard_csr(f, A);
        return DCSR_ERROR_OUT_OF_MEMORY;
    }
    f->offsets[0] = 0;
    for (uint64_t i = 0; i < rows; i++) f->offsets[i + 1] = f->offsets[i] + dcsr_i_rows_length(A->rows, i);
    const int threads = dcsr_i_spmv_threads(A);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1024) if (threads > 1)
    for (uint64_t i = 0; i < rows; i++)
        dcsr_i_spmv_copy_row(A->rows, i, f->columns + f->offsets[i],
                             size ? (char *)f->values + f->offsets[i] * size : NULL);
    *format = f;
    return DCSR_OK;
}

/* Rows to their places, if all have kept their lengths. */
static dcsr_status refresh_csr(void **format, bool *done, uint64_t *bytes, const dcsr_i_spmv_matrix *A,
                               dcsr_i_changed_rows *changed)
{
    const csr *f = *format;
    const size_t size = dcsr_type_size(A->info.type);
    *done = true;
    for (uint64_t i = 0; i < changed->count && *done; i++) {
        const uint64_t row = changed->rows[i];
        *done = dcsr_i_rows_length(A->rows, row) == f->offsets[row + 1] - f->offsets[row];
    }
    for (uint64_t i = 0; i < changed->count && *done; i++) {
        const uint64_t row = changed->rows[i], to = f->offsets[row];
        dcsr_i_spmv_copy_row(A->rows, row, f->columns + to, size ? (char *)f->values + to * size : NULL);
    }
    return measure_csr(bytes, A);
}

static dcsr_status run_csr(const dcsr_i_spmv_product *product, const dcsr_i_spmv_matrix *A,
                           const void *format)
{
    const csr *f = format;
    const dcsr_i_rows rows = {.type = A->info.type,
                              .rows = A->info.rows,
                              .cols = A->info.cols,
                              .offsets = f->offsets,
                              .columns = f->columns,
                              .values = f->values};
    dcsr_i_spmv_rows(product->y, NULL, &rows, product->x, product->threads);
    return DCSR_OK;
}

const dcsr_i_spmv_kernel dcsr_i_spmv_csr = {
    .told = {.name = "csr", .summary = "rows in order, behind one another"},
    .refuses = refuses_csr,
    .measure = measure_csr,
    .build = build_csr,
    .may_refresh = dcsr_i_spmv_has_as_many,
    .refresh = refresh_csr,
    .run = run_csr,
    .discard = discard_csr,
};
