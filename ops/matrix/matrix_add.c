/* matrix_add.c: a matrix added to another as a batch of insertions; a union, of which it is told what was new. */
#include <dcsr/convert.h>
#include <dcsr/diff.h>
#include <dcsr/matrix_add.h>
#include "dcsr/store/entries.h"
#include "dcsr/store/result.h"
#include "ops/matrix/matrix_ops_cuda.h"
#include "ops/matrix/write_matrix.h"
#include "ops/rows/row_block.h"

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

/* The entries of a view as a batch of a matrix of this type; to be dropped in any case. */
static dcsr_status take_entries(entries *e, dcsr_type type, dcsr_view *B)
{
    dcsr_context *context = dcsr_i_view_context(B);
    const dcsr_i_rows *rows;
    const size_t size = dcsr_type_size(type);
    DCSR_TRY(dcsr_i_view_host_rows(&rows, B));
    e->n = dcsr_i_rows_stored(rows);
    e->row = dcsr_i_alloc(context, DCSR_I_SCRATCH, 2 * e->n, sizeof *e->row);
    e->col = e->row ? e->row + e->n : NULL;
    if (e->row && size) e->values = dcsr_i_alloc(context, DCSR_I_SCRATCH, e->n, size);
    if (!e->row || (size && !e->values)) return DCSR_ERROR_OUT_OF_MEMORY;
    return copy_entries(e, context, type, rows);
}

static void drop_entries(const entries *e, dcsr_context *context, dcsr_type type)
{
    dcsr_i_free(context, DCSR_I_SCRATCH, e->row, 2 * e->n, sizeof *e->row);
    dcsr_i_free(context, DCSR_I_SCRATCH, e->values, e->n, dcsr_type_size(type));
}

dcsr_status dcsr_matrix_add(dcsr_matrix *C, dcsr_view *B, dcsr_ticket **ticket)
{
    static const char call[] = "matrix_add";
    if (ticket) *ticket = NULL;
    DCSR_TRY(dcsr_i_check_output(call, C, NULL, NULL));
    dcsr_context *context = C->context;
    DCSR_TRY(dcsr_i_check_view(call, "B", B, context));
    const dcsr_i_rows *rows = dcsr_i_view_rows(B);
    uint64_t c_rows, c_cols;
    dcsr_i_shape_queued(C, &c_rows, &c_cols);
    DCSR_TRY(dcsr_i_check_shape(call, "B", rows->rows, rows->cols, "C", c_rows, c_cols));
    if (context->cuda && !C->queue.journal) return dcsr_i_device_matrix_ops->add(C, B, ticket);
    entries e = {0};
    dcsr_status status = take_entries(&e, C->type, B);
    if (status == DCSR_OK) status = dcsr_i_matrix_insert(C, call, e.n, e.row, e.col, e.values, ticket);
    drop_entries(&e, context, C->type);
    return status;
}

/* ---- Union ---- */

typedef struct uniting {
    const char *call;
    const entries *e;
    const dcsr_i_rows *rows; /* of N */
    bool compares;
    dcsr_view *before, *after; /* of T, if it compares */
} uniting;

/* The batch is applied in T's turn, and merged into the rows that it touches, which finds out what is there. */
static dcsr_status unite(dcsr_matrix *T, void *user)
{
    uniting *u = user;
    const dcsr_i_table *now = T->versions.current;
    DCSR_TRY(dcsr_i_check_shape(u->call, "N", u->rows->rows, u->rows->cols, "T", now->rows, now->cols));
    const dcsr_i_entries batch = {.call = u->call,
                                  .kind = DCSR_I_INSERT,
                                  .n = u->e->n,
                                  .rows = u->e->row,
                                  .cols = u->e->col,
                                  .values = u->e->values};
    dcsr_i_operation *operation;
    if (u->compares) DCSR_TRY(dcsr_view_create(&u->before, T, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES));
    DCSR_TRY(dcsr_i_entries_operation(&operation, T, &batch, now->rows, now->cols));
    dcsr_status status = dcsr_i_entries_pack(operation, &batch, dcsr_i_threads(T->context, batch.n));
    atomic_store(&T->due.fresh, 1);
    if (status == DCSR_OK && batch.n) status = T->engine->apply_entries(T, operation);
    dcsr_i_operation_release(operation);
    if (status == DCSR_OK && u->compares)
        status = dcsr_view_create(&u->after, T, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
    return status;
}

/* A matrix of what a diff says was inserted. */
static dcsr_status make_fresh(dcsr_matrix **fresh, const dcsr_matrix *T, const dcsr_i_rows *rows,
                              const dcsr_diff_list *inserted)
{
    dcsr_coo coo = {0};
    const dcsr_matrix_options options = {.policy = DCSR_POLICY_ANY};
    const size_t size = T->value_size;
    DCSR_TRY(dcsr_coo_allocate(&coo, T->context, T->type, rows->rows, rows->cols, inserted->nnz));
    for (uint64_t i = 0; i < inserted->nnz; i++) {
        coo.row_indices[i] = inserted->row_indices[i];
        coo.col_indices[i] = inserted->col_indices[i];
    }
    if (size && inserted->nnz) memcpy(coo.values, inserted->new_values, inserted->nnz * size);
    dcsr_status status = dcsr_matrix_from_coo(fresh, T->context, &coo, &options);
    dcsr_coo_free(&coo);
    return status;
}

dcsr_status dcsr_matrix_union(dcsr_matrix *T, dcsr_view *N, dcsr_matrix **fresh)
{
    static const char call[] = "matrix_union";
    if (fresh) *fresh = NULL;
    DCSR_TRY(dcsr_i_check_output(call, T, NULL, NULL));
    DCSR_TRY(dcsr_i_check_view(call, "N", N, T->context));
    if (T->policy != DCSR_POLICY_ANY)
        return dcsr_i_fail(
            DCSR_ERROR_INVALID_ARGUMENT,
            "%s: T's policy is %s; a union keeps what is stored, so create T with DCSR_POLICY_ANY", call,
            dcsr_policy_name(T->policy));
    if (T->queue.journal)
        return dcsr_i_fail(
            DCSR_ERROR_INVALID_ARGUMENT,
            "%s: T is durable; use dcsr_matrix_insert(), and dcsr_view_diff() of views before and after",
            call);
    entries e = {0};
    dcsr_diff *diff = NULL;
    dcsr_diff_entries found;
    uniting u = {.call = call, .e = &e, .rows = dcsr_i_view_rows(N), .compares = fresh != NULL};
    dcsr_status status = take_entries(&e, T->type, N);
    if (status == DCSR_OK) status = dcsr_i_result_turn(T, call, unite, &u);
    drop_entries(&e, T->context, T->type);
    if (status == DCSR_OK && fresh) status = dcsr_view_diff(&diff, u.before, u.after);
    if (status == DCSR_OK && fresh) status = dcsr_diff_get_entries(diff, &found);
    if (status == DCSR_OK && fresh) status = make_fresh(fresh, T, u.rows, &found.inserted);
    dcsr_diff_destroy(diff);
    dcsr_view_destroy(u.before);
    dcsr_view_destroy(u.after);
    return status;
}
