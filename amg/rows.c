/* rows.c: the matrices of levels: the caller's, lent by a view; copies, and what the setup computes. */
#include "amg/amg_engine.h"
#include <dcsr/convert.h>
#include <dcsr/transpose.h>
#include <string.h>

dcsr_i_amg_rows dcsr_i_amg_rows_of(const dcsr_csr *csr)
{
    return (dcsr_i_amg_rows){.rows = csr->rows,
                             .cols = csr->cols,
                             .nnz = csr->nnz,
                             .begin = csr->offsets,
                             .end = csr->offsets + 1,
                             .columns = csr->col_indices,
                             .values = csr->values,
                             .fixed = UINT64_MAX};
}

dcsr_status dcsr_i_amg_matrix_rows(dcsr_i_amg_matrix *m)
{
    dcsr_csr csr;
    DCSR_I_AMG_TRY(dcsr_view_get_csr(m->view, &csr));
    m->rows = dcsr_i_amg_rows_of(&csr);
    return DCSR_OK;
}

dcsr_status dcsr_i_amg_matrix_view(dcsr_i_amg_matrix *m)
{
    DCSR_I_AMG_TRY(dcsr_view_create(&m->view, m->matrix, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED));
    return dcsr_i_amg_matrix_rows(m);
}

void dcsr_i_amg_matrix_free(dcsr_i_amg_matrix *m, dcsr_i_amg_hierarchy *h)
{
    dcsr_i_amg_array *const arrays[] = {&m->begins, &m->ends,   &m->columns, &m->values,
                                        &m->own[0], &m->own[1], &m->own[2]};
    for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++) h->engine->drop(arrays[a], h);
    dcsr_view_destroy(m->shown_view);
    dcsr_matrix_destroy(m->shown);
    if (m->matrix) dcsr_view_destroy(m->view);
    dcsr_matrix_destroy(m->matrix);
}

/* ---- Memory of the pool ---- */

dcsr_status dcsr_i_amg_own_offsets(dcsr_i_amg_matrix *m, dcsr_i_amg_hierarchy *h, uint64_t rows)
{
    DCSR_I_AMG_TRY(dcsr_i_amg_borrow(&m->own[0], h->pool, rows + 1, sizeof(uint64_t)));
    *(uint64_t *)m->own[0].data = 0;
    return DCSR_OK;
}

dcsr_status dcsr_i_amg_own_entries(dcsr_i_amg_matrix *m, dcsr_i_amg_hierarchy *h, uint64_t rows,
                                   uint64_t cols)
{
    const uint64_t *offsets = m->own[0].data, nnz = offsets[rows];
    if (!m->own[1].data) {
        DCSR_I_AMG_TRY(dcsr_i_amg_borrow(&m->own[1], h->pool, nnz, sizeof(uint32_t)));
        DCSR_I_AMG_TRY(dcsr_i_amg_borrow(&m->own[2], h->pool, nnz, sizeof(double)));
    }
    m->rows =
        dcsr_i_amg_rows_of(&(dcsr_csr){rows, cols, nnz, DCSR_FP64, offsets, m->own[1].data, m->own[2].data});
    return DCSR_OK;
}

dcsr_status dcsr_i_amg_extend(dcsr_i_amg_array *array, dcsr_i_amg_pool *pool, uint64_t used, uint64_t count,
                              size_t size)
{
    dcsr_i_amg_array larger;
    if (array->data && count <= array->count) return DCSR_OK;
    DCSR_I_AMG_TRY(dcsr_i_amg_borrow(&larger, pool, count, size));
    if (used) memcpy(larger.data, array->data, used * size);
    dcsr_i_amg_give(array, pool);
    *array = larger;
    return DCSR_OK;
}

/* ---- What the caller's view shows ---- */

/* Sorts a row by columns if it is short; false: it is not, or has a column twice. */
static bool put_in_order(uint32_t *columns, double *values, uint64_t count)
{
    enum { SHORT = 64 };
    for (uint64_t e = 1; e < count; e++) {
        const uint32_t column = columns[e];
        const double value = values[e];
        uint64_t at = e;
        if (columns[e - 1] < column) continue;
        if (count > SHORT) return false;
        for (; at && columns[at - 1] > column; at--) {
            columns[at] = columns[at - 1];
            values[at] = values[at - 1];
        }
        if (at && columns[at - 1] == column) return false;
        columns[at] = column;
        values[at] = value;
    }
    return true;
}

/* Row by row; *fits is false where a row is not one of different columns that are easily sorted. */
static dcsr_status copy_rows(dcsr_i_amg_matrix *m, dcsr_i_amg_hierarchy *h, dcsr_view *A,
                             const dcsr_view_shape *shape, bool *fits)
{
    const uint64_t rows = shape->rows;
    const int threads = dcsr_context_threads(h->context, shape->nnz);
    DCSR_I_AMG_TRY(dcsr_i_amg_own_offsets(m, h, rows));
    uint64_t *offsets = m->own[0].data;
    bool wrong = false;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1) reduction(|| : wrong)
    for (uint64_t i = 0; i < rows; i++) {
        uint64_t length = 0;
        wrong = dcsr_view_get_row(A, i, 0, NULL, NULL, &length) || wrong;
        offsets[i + 1] = length;
    }
    for (uint64_t i = 0; i < rows; i++) offsets[i + 1] += offsets[i];
    DCSR_I_AMG_TRY(dcsr_i_amg_own_entries(m, h, rows, shape->cols));
    uint32_t *columns = m->own[1].data;
    double *values = m->own[2].data;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1) reduction(|| : wrong)
    for (uint64_t i = 0; i < rows; i++) {
        const uint64_t begin = offsets[i], count = offsets[i + 1] - begin;
        uint64_t length = 0;
        wrong = dcsr_view_get_row(A, i, count, columns + begin, values + begin, &length) || wrong;
        wrong = !put_in_order(columns + begin, values + begin, count) || wrong;
    }
    *fits = !wrong;
    return DCSR_OK;
}

dcsr_status dcsr_i_amg_copy_view(dcsr_i_amg_matrix *m, dcsr_i_amg_hierarchy *h, dcsr_view *A,
                                 const dcsr_view_shape *shape, dcsr_type type)
{
    bool fits = false;
    if (type == DCSR_FP64 && shape->device == DCSR_DEVICE_CPU)
        DCSR_I_AMG_TRY(copy_rows(m, h, A, shape, &fits));
    if (fits) return DCSR_OK;
    for (int a = 0; a < 3; a++) dcsr_i_amg_give(&m->own[a], h->pool);
    DCSR_I_AMG_TRY(dcsr_matrix_create(&m->matrix, shape->context, DCSR_FP64, shape->rows, shape->cols, NULL));
    DCSR_I_AMG_TRY(dcsr_matrix_transpose(m->matrix, NULL, NULL, A, &(dcsr_desc){.transpose_a = true}));
    return dcsr_i_amg_matrix_view(m);
}

/* ---- How a later version differs ---- */

static bool are_same(dcsr_i_amg_span a, dcsr_i_amg_span b)
{
    return a.count == b.count && !memcmp(a.columns, b.columns, a.count * sizeof *a.columns) &&
           !memcmp(a.values, b.values, a.count * sizeof *a.values);
}

uint64_t dcsr_i_amg_count_differing(const dcsr_i_amg_rows *a, const dcsr_i_amg_rows *b, dcsr_context *context)
{
    const int threads = dcsr_context_threads(context, a->nnz);
    uint64_t differing = 0;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1) reduction(+ : differing)
    for (uint64_t i = 0; i < a->rows; i++)
        differing += !are_same(dcsr_i_amg_span_of(a, i), dcsr_i_amg_span_of(b, i));
    return differing;
}

bool dcsr_i_amg_looks_new(const dcsr_i_amg_rows *rows, dcsr_view *A)
{
    enum { SAMPLES = 256, MOST = 256 };
    uint32_t columns[MOST];
    double values[MOST];
    uint64_t length, differing = 0;
    dcsr_view_info info;
    if (rows->rows < 16 * SAMPLES || dcsr_view_get_info(A, &info) || info.type != DCSR_FP64) return false;
    for (uint64_t s = 0; s < SAMPLES; s++) {
        const uint64_t i = rows->rows / SAMPLES * s;
        if (dcsr_view_get_row(A, i, MOST, columns, values, &length)) return false;
        if (length > MOST || !put_in_order(columns, values, length)) continue;
        differing += !are_same(dcsr_i_amg_span_of(rows, i), (dcsr_i_amg_span){columns, values, length});
    }
    return differing > SAMPLES / 2;
}

/* ---- Views of levels ---- */

dcsr_status dcsr_i_amg_collect(dcsr_matrix **made, dcsr_i_amg_hierarchy *h, const dcsr_i_amg_rows *rows)
{
    dcsr_context *context = h->context;
    dcsr_i_amg_array offsets = {0}, columns = {0}, values = {0};
    dcsr_status status = dcsr_i_amg_take(&offsets, context, rows->rows + 1, sizeof(uint64_t));
    if (!status) status = dcsr_i_amg_take(&columns, context, rows->nnz, sizeof(uint32_t));
    if (!status) status = dcsr_i_amg_take(&values, context, rows->nnz, sizeof(double));
    if (!status) {
        uint64_t *offset = offsets.data;
        for (uint64_t i = 0; i < rows->rows; i++) {
            const dcsr_i_amg_span row = dcsr_i_amg_span_of(rows, i);
            memcpy((uint32_t *)columns.data + offset[i], row.columns, row.count * sizeof *row.columns);
            memcpy((double *)values.data + offset[i], row.values, row.count * sizeof *row.values);
            offset[i + 1] = offset[i] + row.count;
        }
        status = dcsr_matrix_from_csr(
            made, context,
            &(dcsr_csr){rows->rows, rows->cols, rows->nnz, DCSR_FP64, offset, columns.data, values.data},
            NULL);
    }
    dcsr_i_amg_drop(&offsets, context);
    dcsr_i_amg_drop(&columns, context);
    dcsr_i_amg_drop(&values, context);
    return status;
}

dcsr_status dcsr_i_amg_show(dcsr_view **view, dcsr_i_amg_matrix *m, dcsr_i_amg_hierarchy *h)
{
    *view = m->view;
    if (!m->begins.data && (m->view || !m->rows.begin)) return DCSR_OK;
    if (!m->shown) {
        DCSR_I_AMG_TRY(h->engine->open(h));
        dcsr_status status = h->engine->collect(&m->shown, h, &m->rows);
        dcsr_status closed = h->engine->close(h, "amg get views");
        if (status || closed) return status ? status : closed;
    }
    if (!m->shown_view) DCSR_I_AMG_TRY(dcsr_view_create(&m->shown_view, m->shown, DCSR_LAYOUT_CSR, 0));
    *view = m->shown_view;
    return DCSR_OK;
}
