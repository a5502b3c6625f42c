/* spmv_coo.c: the kernel `coo`: a row, a column and a value for each entry, in equal shares for threads; the products
 * of a row are added as one segment. */
#include "dcsr/base/alloc.h"
#include "dcsr/base/search.h"
#include "ops/spmv/portfolio/carries.h"
#include "ops/spmv/portfolio/arithmetics.h"
#include "ops/spmv/portfolio/portfolio.h"
#include <string.h>

typedef struct coo_format {
    uint32_t *rows, *columns;
    void *values; /* NULL for pattern */
} coo_format;

typedef void coo_function(void *y, const coo_format *f, const void *x, uint64_t from, uint64_t end,
                          dcsr_i_spmv_carry *carry);
typedef void add_function(void *y, const dcsr_i_spmv_carry *carries, int count);
#define SPMV_PORTABLE_ONLY
#define SPMV_BODY "ops/spmv/portfolio/coo.inc"
#include "ops/spmv/portfolio/arithmetics.inc"
static coo_function *const functions[][DCSR_TYPE_COUNT] = SPMV_INSTANCES_PORTABLE(run_coo);
static add_function *const adders[][DCSR_TYPE_COUNT] = SPMV_INSTANCES_PORTABLE(add_carries);

/* Rows without entries are 0: first all are, by share. */
static dcsr_status run(const dcsr_i_spmv_product *product, const dcsr_i_spmv_matrix *A, const void *format)
{
    const coo_format *f = format;
    const size_t size = dcsr_type_size(A->vector_type);
    const uint64_t pieces = (uint64_t)dcsr_i_spmv_pieces(product->threads), nnz = A->info.nnz,
                   rows = A->info.rows;
    dcsr_i_spmv_carry carries[DCSR_I_SPMV_PIECES];
#pragma omp parallel num_threads((int)pieces) if (pieces > 1)
    {
#pragma omp for schedule(static, 1)
        for (uint64_t p = 0; p < pieces; p++) {
            const uint64_t from = rows * p / pieces, end = rows * (p + 1) / pieces;
            memset((char *)product->y + from * size, 0, (end - from) * size);
        }
#pragma omp for schedule(static, 1)
        for (uint64_t p = 0; p < pieces; p++)
            functions[0][A->info.type](product->y, f, product->x, nnz / pieces * p,
                                       p + 1 < pieces ? nnz / pieces * (p + 1) : nnz, &carries[p]);
    }
    adders[0][A->info.type](product->y, carries, (int)pieces);
    return DCSR_OK;
}

static dcsr_status measure(uint64_t *bytes, const dcsr_i_spmv_matrix *A)
{
    *bytes = sizeof(coo_format) + A->info.nnz * (2 * sizeof(uint32_t) + dcsr_type_size(A->info.type));
    return DCSR_OK;
}

static void discard(void *format, const dcsr_i_spmv_matrix *A)
{
    coo_format *f = format;
    if (!f) return;
    dcsr_i_free(A->context, DCSR_I_MATRIX, f->rows, A->info.nnz, sizeof *f->rows);
    dcsr_i_free(A->context, DCSR_I_MATRIX, f->columns, A->info.nnz, sizeof *f->columns);
    dcsr_i_free(A->context, DCSR_I_MATRIX, f->values, A->info.nnz, dcsr_type_size(A->info.type));
    dcsr_i_free(A->context, DCSR_I_MATRIX, f, 1, sizeof *f);
}

static dcsr_status build(void **format, const dcsr_i_spmv_matrix *A)
{
    const size_t size = dcsr_type_size(A->info.type);
    *format = NULL;
    coo_format *f = dcsr_i_calloc(A->context, DCSR_I_MATRIX, 1, sizeof *f);
    if (!f) return DCSR_ERROR_OUT_OF_MEMORY;
    f->rows = dcsr_i_alloc(A->context, DCSR_I_MATRIX, A->info.nnz, sizeof *f->rows);
    f->columns = dcsr_i_alloc(A->context, DCSR_I_MATRIX, A->info.nnz, sizeof *f->columns);
    if (size) f->values = dcsr_i_alloc(A->context, DCSR_I_MATRIX, A->info.nnz, size);
    if (!f->rows || !f->columns || (size && !f->values)) {
        discard(f, A);
        return DCSR_ERROR_OUT_OF_MEMORY;
    }
    uint64_t at = 0;
    for (uint64_t row = 0; row < A->info.rows; row++) {
        const uint64_t n =
            dcsr_i_spmv_copy_row(A->rows, row, f->columns + at, size ? (char *)f->values + at * size : NULL);
        for (uint64_t k = 0; k < n; k++) f->rows[at + k] = (uint32_t)row;
        at += n;
    }
    *format = f;
    return DCSR_OK;
}

/* Rows to their places, if all have kept their lengths. */
static dcsr_status refresh(void **format, bool *done, uint64_t *bytes, const dcsr_i_spmv_matrix *A,
                           dcsr_i_changed_rows *changed)
{
    const coo_format *f = *format;
    const size_t size = dcsr_type_size(A->info.type);
    const uint64_t nnz = A->info.nnz;
    *done = true;
    for (uint64_t i = 0; i < changed->count && *done; i++) {
        const uint64_t row = changed->rows[i],
                       end = dcsr_i_list_find(f->rows, 0, nnz, row) + dcsr_i_rows_length(A->rows, row);
        *done = end == dcsr_i_list_find(f->rows, 0, nnz, row + 1);
    }
    for (uint64_t i = 0; i < changed->count && *done; i++) {
        const uint64_t row = changed->rows[i], to = dcsr_i_list_find(f->rows, 0, nnz, row);
        dcsr_i_spmv_copy_row(A->rows, row, f->columns + to, size ? (char *)f->values + to * size : NULL);
    }
    return measure(bytes, A);
}

const dcsr_i_spmv_kernel dcsr_i_spmv_coo = {
    .told = {.name = "coo", .summary = "COO: a row, a column and a value for each entry, in equal shares"},
    .measure = measure,
    .build = build,
    .may_refresh = dcsr_i_spmv_has_as_many,
    .refresh = refresh,
    .run = run,
    .discard = discard,
};
