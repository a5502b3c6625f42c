/* extract.c: some rows and columns of a matrix as a matrix, or a row or a column as a vector.
 *
 * Of each chosen row, the entries whose columns are in the list get the positions there as columns. A list
 * that is a range cuts a piece out of the row. */
#include "dcsr/base/search.h"
#include <dcsr/extract.h>
#include "ops/matrix/index_list.h"
#include "ops/rows/row_reader.h"
#include "ops/matrix/matrix_ops_cuda.h"
#include "ops/matrix/write_matrix.h"
#include "ops/vector/write_vector.h"

/* ---- A matrix ---- */

static const char extract_call[] = "matrix_extract";

/* The most that a row of so many entries can become. */
static uint64_t row_most(const dcsr_i_moving *x, uint64_t length)
{
    uint64_t repeated = length * x->cols.repeats;
    return repeated < x->cols.n ? repeated : x->cols.n;
}

static uint64_t most(void *user, uint64_t first, unsigned count)
{
    const dcsr_i_moving *x = user;
    uint64_t sum = 0;
    for (unsigned r = 0; r < count; r++)
        sum += row_most(x, dcsr_i_rows_length(x->a.rows, dcsr_i_selected_at(&x->rows, first + r)));
    return sum;
}

/* Columns first .. first + n - 1 become 0 .. n - 1. */
static uint64_t cut(const dcsr_i_moving *x, const dcsr_i_row *row, dcsr_i_room room, uint64_t to)
{
    uint64_t first = x->cols.all ? 0 : x->cols.first;
    uint64_t from = first ? dcsr_i_list_find(row->columns, 0, row->n, first) : 0,
             behind = x->cols.all ? row->n : dcsr_i_list_find(row->columns, from, row->n, first + x->cols.n),
             n = behind - from;
    size_t size = x->a.value_size;
    for (uint64_t e = 0; e < n; e++) room.columns[to + e] = row->columns[from + e] - (uint32_t)first;
    if (room.values && n)
        memcpy((char *)room.values + to * size, (const char *)row->values + from * size, n * size);
    return n;
}

/* Each column becomes all its positions in the list. */
static dcsr_status pick(const dcsr_i_moving *x, dcsr_i_mover *t, const dcsr_i_row *row, dcsr_i_room room,
                        uint64_t to, uint32_t *length)
{
    const dcsr_i_selected *cols = &x->cols;
    DCSR_TRY(dcsr_i_moved_room(&t->moved, x->context, row_most(x, row->n)));
    for (uint64_t e = 0, k = 0; e < row->n; e++) {
        k = dcsr_i_selected_find(cols, k, row->columns[e]);
        for (; k < cols->n && cols->sorted[k] == row->columns[e]; k++)
            dcsr_i_moved_add(&t->moved, dcsr_i_selected_position(cols, k), e);
    }
    *length = (uint32_t)t->moved.n;
    dcsr_i_moved_write(&t->moved, !cols->position, row, x->a.value_size, room, to);
    return DCSR_OK;
}

static dcsr_status block(void *user, int thread, uint64_t first, unsigned count, dcsr_i_room room,
                         uint32_t *lengths)
{
    const dcsr_i_moving *x = user;
    dcsr_i_mover *t = &x->thread[thread];
    bool range = x->cols.all || x->cols.range;
    uint64_t to = 0;
    for (unsigned r = 0; r < count; r++) {
        dcsr_i_row row;
        DCSR_TRY(dcsr_i_row_get(&t->a, dcsr_i_selected_at(&x->rows, first + r), &row));
        if (range)
            lengths[r] = (uint32_t)cut(x, &row, room, to);
        else
            DCSR_TRY(pick(x, t, &row, room, to, &lengths[r]));
        to += lengths[r];
    }
    return DCSR_OK;
}

static dcsr_status extract_matrix(dcsr_i_moving *x, const dcsr_i_matrix_output *out,
                                  const dcsr_index_list *rows, const dcsr_index_list *cols)
{
    const dcsr_i_rows *a = x->a.rows;
    uint64_t stored = dcsr_i_rows_stored(a), work = 0;
    DCSR_TRY(dcsr_i_select_indices(&x->rows, x->context,
                                   &(dcsr_i_given){extract_call, "row", rows, a->rows, false, 0}));
    DCSR_TRY(dcsr_i_select_indices(&x->cols, x->context,
                                   &(dcsr_i_given){extract_call, "column", cols, a->cols, false, stored}));
    for (uint64_t k = 0; rows && k < rows->n; k++) work += dcsr_i_rows_length(a, rows->indices[k]);
    dcsr_i_rowwise driver = {
        .out = *out,
        .T = {.type = a->type,
              .rows = x->rows.n,
              .cols = x->cols.n,
              .work = rows ? work : stored,
              .source = {rows ? NULL : a}},
        .make = {
            .user = x, .begin = dcsr_i_moving_begin, .end = dcsr_i_moving_end, .most = most, .block = block}};
    return dcsr_i_rowwise_run(&driver);
}

static dcsr_status run_on_device(dcsr_i_moving *x, const dcsr_i_matrix_output *out, dcsr_view *A,
                                 const dcsr_index_list *rows, const dcsr_index_list *cols)
{
    const dcsr_i_rows *a = dcsr_i_view_rows(A);
    bool turned = out->desc && out->desc->transpose_a;
    DCSR_TRY(dcsr_i_select_indices(
        &x->rows, x->context,
        &(dcsr_i_given){extract_call, "row", rows, turned ? a->cols : a->rows, false, 0}));
    DCSR_TRY(dcsr_i_select_indices(
        &x->cols, x->context,
        &(dcsr_i_given){extract_call, "column", cols, turned ? a->rows : a->cols, false, 0}));
    return dcsr_i_device_matrix_moves->extract(out, A, &x->rows, &x->cols);
}

dcsr_status dcsr_matrix_extract(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum, dcsr_view *A,
                                const dcsr_index_list *rows, const dcsr_index_list *cols,
                                const dcsr_desc *desc)
{
    dcsr_i_moving x = {0};
    DCSR_TRY(dcsr_i_check_output(extract_call, C, mask, desc));
    DCSR_TRY(dcsr_i_check_view(extract_call, "A", A, C->context));
    x.context = C->context;
    const dcsr_i_matrix_output out = {
        .call = extract_call, .C = C, .mask = mask, .accum = accum, .desc = desc};
    if (dcsr_i_runs_on_device(&out, false)) {
        dcsr_status status = run_on_device(&x, &out, A, rows, cols);
        dcsr_i_moving_free(&x);
        return status;
    }
    dcsr_status status = dcsr_i_input_of(&x.a, A, desc && desc->transpose_a);
    if (status == DCSR_OK) status = extract_matrix(&x, &out, rows, cols);
    dcsr_i_moving_free(&x);
    return status;
}

/* ---- A vector ---- */

/* What T's values are: a vector always has some. */
static dcsr_type type_of(const dcsr_i_rows *rows)
{
    return rows->type == DCSR_PATTERN ? DCSR_BOOL : rows->type;
}

static dcsr_status read_row(dcsr_i_body *T, dcsr_context *context, const dcsr_i_rows *rows, uint64_t number)
{
    dcsr_i_row_reader reader = dcsr_i_row_reader_of(context, rows);
    dcsr_i_row row;
    dcsr_type type = type_of(rows);
    dcsr_status status = dcsr_i_row_get(&reader, number, &row);
    if (status == DCSR_OK) status = dcsr_i_body_sparse(T, context, dcsr_type_size(type), row.n);
    if (status == DCSR_OK && row.n) {
        memcpy(T->indices, row.columns, row.n * sizeof *row.columns);
        dcsr_i_cast(type, T->values, rows->type, row.values, row.n);
        T->nvals = row.n;
    }
    dcsr_i_row_reader_free(&reader);
    return status;
}

/* The place of a column in a row whose columns ascend over its pieces; UINT64_MAX when it is not there. */
static uint64_t place_of(const dcsr_i_rows *rows, uint64_t row, uint64_t column)
{
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    int count = dcsr_i_rows_pieces(rows, row, pieces);
    for (int k = 0; k < count; k++) {
        uint64_t low = pieces[k].begin, end = low + pieces[k].length;
        if (rows->columns[end - 1] < column) continue;
        low = dcsr_i_list_find(rows->columns, low, end, column);
        return rows->columns[low] == column ? low : UINT64_MAX;
    }
    return UINT64_MAX;
}

/* The places of a column in the rows of the listed pages, 64 a page; returns how many there are. */
static uint64_t find_column(uint64_t *place, dcsr_context *context, const dcsr_i_rows *rows,
                            const dcsr_i_page_list *pages, uint64_t column)
{
    uint64_t n = 0;
    int threads = dcsr_i_threads(context, pages->count * DCSR_I_PAGE_ROWS);
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : n) if (threads > 1)
    for (uint64_t i = 0; i < pages->count; i++)
        for (uint64_t r = 0; r < DCSR_I_PAGE_ROWS; r++) {
            uint64_t row = (uint64_t)pages->page[i] << DCSR_I_PAGE_SHIFT | r,
                     at = row < rows->rows ? place_of(rows, row, column) : UINT64_MAX;
            place[i * DCSR_I_PAGE_ROWS + r] = at;
            n += at != UINT64_MAX;
        }
    return n;
}

static dcsr_status read_column(dcsr_i_body *T, dcsr_context *context, const dcsr_i_rows *rows,
                               uint64_t column)
{
    dcsr_type type = type_of(rows);
    size_t size = dcsr_type_size(type), from = dcsr_type_size(rows->type);
    dcsr_i_page_list pages;
    DCSR_TRY(dcsr_i_page_list_create(&pages, context, rows));
    uint64_t all = pages.count * DCSR_I_PAGE_ROWS;
    uint64_t *place = dcsr_i_alloc(context, DCSR_I_SCRATCH, all, sizeof *place);
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    if (place)
        status = dcsr_i_body_sparse(T, context, size, find_column(place, context, rows, &pages, column));
    for (uint64_t k = 0; k < all && status == DCSR_OK; k++) {
        if (place[k] == UINT64_MAX) continue;
        T->indices[T->nvals] =
            pages.page[k / DCSR_I_PAGE_ROWS] << DCSR_I_PAGE_SHIFT | (uint32_t)(k % DCSR_I_PAGE_ROWS);
        dcsr_i_cast(type, (char *)T->values + T->nvals++ * size, rows->type,
                    from ? (const char *)rows->values + place[k] * from : NULL, 1);
    }
    dcsr_i_free(context, DCSR_I_SCRATCH, place, all, sizeof *place);
    dcsr_i_page_list_free(&pages, context);
    return status;
}

static dcsr_status extract(const char *call, dcsr_vector *w, const dcsr_vector *mask,
                           const dcsr_binary_op *accum, dcsr_view *A, bool column, uint64_t index,
                           const dcsr_desc *desc)
{
    DCSR_TRY(dcsr_i_vector_check_output(call, w, mask, desc));
    DCSR_TRY(dcsr_i_check_view(call, "A", A, w->context));
    if (desc && desc->transpose_a) column = !column;
    const dcsr_i_rows *shape = dcsr_i_view_rows(A);
    uint64_t lines = column ? shape->cols : shape->rows, size = column ? shape->rows : shape->cols;
    if (index >= lines)
        return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE, "%s: %s %llu of %llu", call,
                           column ? "column" : "row", (unsigned long long)index, (unsigned long long)lines);
    if (w->size != size)
        return dcsr_i_fail(DCSR_ERROR_DIMENSION_MISMATCH, "%s: w has %llu elements, but a %s of A has %llu",
                           call, (unsigned long long)w->size, column ? "column" : "row",
                           (unsigned long long)size);
    dcsr_i_input a;
    dcsr_i_body T = {0};
    bool ready = column && dcsr_i_view_transpose_is_ready(A);
    dcsr_status status = dcsr_i_input_of(&a, A, ready);
    if (status == DCSR_OK)
        status = column && !ready ? read_column(&T, w->context, a.rows, index)
                                  : read_row(&T, w->context, a.rows, index);
    if (status == DCSR_OK) status = dcsr_i_vector_write(call, w, mask, accum, desc, type_of(a.rows), &T);
    dcsr_i_input_free(&a);
    return status;
}

dcsr_status dcsr_matrix_extract_row(dcsr_vector *w, const dcsr_vector *mask, const dcsr_binary_op *accum,
                                    dcsr_view *A, uint64_t row, const dcsr_desc *desc)
{
    return extract("matrix_extract_row", w, mask, accum, A, false, row, desc);
}

dcsr_status dcsr_matrix_extract_column(dcsr_vector *w, const dcsr_vector *mask, const dcsr_binary_op *accum,
                                       dcsr_view *A, uint64_t col, const dcsr_desc *desc)
{
    return extract("matrix_extract_column", w, mask, accum, A, true, col, desc);
}
