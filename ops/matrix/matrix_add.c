/* matrix_add.c: a matrix added to another as a batch of insertions. */
#include <dcsr/matrix_add.h>
#include "dcsr/store/store.h"
#include "ops/matrix/matrix_ops_cuda.h"
#include "ops/matrix/write_matrix.h"
#include "ops/rows/row_block.h"

static const char call[] = "matrix_add";

/* The entries of B as a batch takes them. */
typedef struct entries {
    uint64_t n;
    uint64_t *row, *col;
    char *values; /* NULL for a pattern */
} entries;

/* Where the entries of each listed page of rows begin. */
static void sum_pages(const dcsr_i_rows *rows, const dcsr_i_page_list *pages, uint64_t *begin)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < pages->count; i++) {
        uint64_t first = (uint64_t)pages->page[i] << DCSR_I_PAGE_SHIFT, left = rows->rows - first;
        begin[i] = sum;
        sum += dcsr_i_rows_sum(rows, first, left < DCSR_I_PAGE_ROWS ? left : DCSR_I_PAGE_ROWS);
    }
}

static void copy_page(const entries *e, dcsr_type type, const dcsr_i_rows *rows, uint64_t p, uint64_t to)
{
    uint64_t first = p << DCSR_I_PAGE_SHIFT, left = rows->rows - first;
    unsigned count = left < DCSR_I_PAGE_ROWS ? (unsigned)left : DCSR_I_PAGE_ROWS;
    uint32_t lengths[DCSR_I_PAGE_ROWS];
    dcsr_i_row_block b;
    dcsr_i_row_block_of(&b, rows, first, count, lengths);
    if (e->values) dcsr_i_row_block_values(&b, rows, type, e->values + to * dcsr_type_size(type));
    uint64_t k = to;
    for (unsigned r = 0; r < count; r++)
        for (uint32_t i = 0; i < lengths[r]; i++) e->row[k++] = first + r;
    for (unsigned s = 0; s < b.stretches; s++)
        for (uint64_t i = 0; i < b.stretch[s].length; i++)
            e->col[to++] = rows->columns[b.stretch[s].begin + i];
}

static dcsr_status copy_entries(const entries *e, dcsr_context *context, dcsr_type type,
                                const dcsr_i_rows *rows)
{
    dcsr_i_page_list pages;
    DCSR_TRY(dcsr_i_page_list_create(&pages, context, rows));
    uint64_t *begin = dcsr_i_alloc(context, DCSR_I_SCRATCH, pages.count, sizeof *begin);
    if (begin) {
        sum_pages(rows, &pages, begin);
        int threads = dcsr_i_threads(context, e->n);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 64) if (threads > 1)
        for (uint64_t i = 0; i < pages.count; i++) copy_page(e, type, rows, pages.page[i], begin[i]);
    }
    dcsr_i_free(context, DCSR_I_SCRATCH, begin, pages.count, sizeof *begin);
    dcsr_i_page_list_free(&pages, context);
    return begin ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}

dcsr_status dcsr_matrix_add(dcsr_matrix *C, dcsr_view *B, dcsr_ticket **ticket)
{
    if (ticket) *ticket = NULL;
    DCSR_TRY(dcsr_i_check_output(call, C, NULL, NULL));
    dcsr_context *context = C->context;
    DCSR_TRY(dcsr_i_check_view(call, "B", B, context));
    const dcsr_i_rows *rows = dcsr_i_view_rows(B);
    uint64_t c_rows, c_cols;
    dcsr_i_shape_queued(C, &c_rows, &c_cols);
    DCSR_TRY(dcsr_i_check_shape(call, "B", rows->rows, rows->cols, "C", c_rows, c_cols));
    if (context->cuda && !C->queue.journal) return dcsr_i_device_matrix_ops->add(C, B, ticket);
    DCSR_TRY(dcsr_i_view_host_rows(&rows, B));
    size_t size = dcsr_type_size(C->type);
    entries e = {.n = dcsr_i_rows_stored(rows)};
    e.row = dcsr_i_alloc(context, DCSR_I_SCRATCH, 2 * e.n, sizeof *e.row);
    e.col = e.row ? e.row + e.n : NULL;
    if (e.row && size) e.values = dcsr_i_alloc(context, DCSR_I_SCRATCH, e.n, size);
    dcsr_status status = e.row && (e.values || !size) ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
    if (status == DCSR_OK) status = copy_entries(&e, context, C->type, rows);
    if (status == DCSR_OK) status = dcsr_i_matrix_insert(C, call, e.n, e.row, e.col, e.values, ticket);
    dcsr_i_free(context, DCSR_I_SCRATCH, e.row, 2 * e.n, sizeof *e.row);
    dcsr_i_free(context, DCSR_I_SCRATCH, e.values, e.n, size);
    return status;
}
