/* assign.c: writing a matrix, one value or a vector to places of a matrix.
 *
 * Of a matrix, T is A with its rows and columns at the places that the lists name. Of one value, rows of T are
 * made at the places alone that a mask names, where there is one. Without an accumulator the driver keeps what C
 * has outside of the lists (dcsr_i_region).
 *
 * What a row or column becomes that a vector is written to is a matter of vectors: in C's turn it is read,
 * written as any vector is, and then takes the place of the old one. */
#include <dcsr/assign.h>
#include "ops/matrix/index_list.h"
#include <dcsr/extract.h>
#include "ops/matrix/matrix_ops_cuda.h"
#include "ops/matrix/write_matrix.h"
#include "ops/vector/write_vector.h"

/* ---- A matrix ---- */

/* The row of A that goes to a row of C, searched for from place *at of the list on; false when none does. */
static bool source_of(const dcsr_i_moving *x, uint64_t row, uint64_t *at, uint64_t *source)
{
    *source = row;
    if (x->rows.all) return true;
    *at = dcsr_i_selected_find(&x->rows, *at, row);
    if (*at == x->rows.n || x->rows.sorted[*at] != row) return false;
    *source = dcsr_i_selected_position(&x->rows, *at);
    return true;
}

static uint64_t most_of_a(void *user, uint64_t first, unsigned count)
{
    const dcsr_i_moving *x = user;
    uint64_t sum = 0, at = 0, source;
    for (unsigned r = 0; r < count; r++)
        if (source_of(x, first + r, &at, &source)) sum += dcsr_i_rows_length(x->a.rows, source);
    return sum;
}

static dcsr_status place_row(const dcsr_i_moving *x, dcsr_i_mover *t, uint64_t source, dcsr_i_room room,
                             uint64_t to, uint32_t *length)
{
    const dcsr_i_selected *cols = &x->cols;
    dcsr_i_row row;
    DCSR_TRY(dcsr_i_row_get(&t->a, source, &row));
    *length = (uint32_t)row.n;
    if (!cols->all && cols->position) {
        DCSR_TRY(dcsr_i_moved_room(&t->moved, x->context, row.n));
        for (uint64_t e = 0; e < row.n; e++)
            dcsr_i_moved_add(&t->moved, (uint32_t)cols->given[row.columns[e]], e);
        dcsr_i_moved_write(&t->moved, false, &row, x->a.value_size, room, to);
        return DCSR_OK;
    }
    size_t size = x->a.value_size;
    for (uint64_t e = 0; e < row.n; e++)
        room.columns[to + e] = cols->all ? row.columns[e] : cols->sorted[row.columns[e]];
    if (room.values && row.n) memcpy((char *)room.values + to * size, row.values, row.n * size);
    return DCSR_OK;
}

static dcsr_status place_rows(void *user, int thread, uint64_t first, unsigned count, dcsr_i_room room,
                              uint32_t *lengths)
{
    const dcsr_i_moving *x = user;
    uint64_t to = 0, at = 0, source;
    for (unsigned r = 0; r < count; to += lengths[r++]) {
        lengths[r] = 0;
        if (source_of(x, first + r, &at, &source))
            DCSR_TRY(place_row(x, &x->thread[thread], source, room, to, &lengths[r]));
    }
    return DCSR_OK;
}

static dcsr_status check_shape_of(const char *call, const dcsr_view *A, bool transposed,
                                  const dcsr_i_moving *x)
{
    const dcsr_i_rows *a = dcsr_i_view_rows(A);
    return dcsr_i_check_shape(call, "A", transposed ? a->cols : a->rows, transposed ? a->rows : a->cols,
                              "the region", x->rows.n, x->cols.n);
}

static dcsr_status assign_matrix(dcsr_i_moving *x, const dcsr_i_matrix_output *out, uint64_t rows,
                                 uint64_t cols)
{
    const dcsr_i_rows *a = x->a.rows;
    dcsr_i_region region = {dcsr_i_selected_list(&x->rows), dcsr_i_selected_list(&x->cols)};
    dcsr_i_rowwise driver = {.out = *out,
                             .T = {.type = a->type,
                                   .rows = rows,
                                   .cols = cols,
                                   .work = dcsr_i_rows_stored(a),
                                   .source = {x->rows.all ? a : NULL}},
                             .make = {.user = x,
                                      .begin = dcsr_i_moving_begin,
                                      .end = dcsr_i_moving_end,
                                      .most = most_of_a,
                                      .block = place_rows}};
    driver.out.region = x->rows.all && x->cols.all ? NULL : &region;
    return dcsr_i_rowwise_run(&driver);
}

static dcsr_status assign(const char *call, dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                          dcsr_view *A, const dcsr_index_list *rows, const dcsr_index_list *cols,
                          const dcsr_desc *desc)
{
    dcsr_i_moving x = {0};
    uint64_t c_rows, c_cols;
    DCSR_TRY(dcsr_i_check_output(call, C, mask, desc));
    DCSR_TRY(dcsr_i_check_view(call, "A", A, C->context));
    x.context = C->context;
    dcsr_i_shape_queued(C, &c_rows, &c_cols);
    dcsr_status status = dcsr_i_select_indices(
        &x.rows, x.context, &(dcsr_i_given){call, "row", rows, c_rows, true, rows ? rows->n : 0});
    if (status == DCSR_OK)
        status =
            dcsr_i_select_indices(&x.cols, x.context, &(dcsr_i_given){call, "column", cols, c_cols, true, 0});
    if (status == DCSR_OK) status = check_shape_of(call, A, desc && desc->transpose_a, &x);
    const dcsr_i_matrix_output out = {.call = call, .C = C, .mask = mask, .accum = accum, .desc = desc};
    if (dcsr_i_runs_on_device(&out, false)) {
        if (status == DCSR_OK) status = dcsr_i_device_matrix_moves->assign(&out, A, &x.rows, &x.cols);
        dcsr_i_moving_free(&x);
        return status;
    }
    if (status == DCSR_OK) status = dcsr_i_selected_mark(&x.rows);
    if (status == DCSR_OK) status = dcsr_i_selected_mark(&x.cols);
    if (status == DCSR_OK) status = dcsr_i_input_of(&x.a, A, desc && desc->transpose_a);
    if (status == DCSR_OK) status = assign_matrix(&x, &out, c_rows, c_cols);
    dcsr_i_moving_free(&x);
    return status;
}

dcsr_status dcsr_matrix_assign(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum, dcsr_view *A,
                               const dcsr_index_list *rows, const dcsr_index_list *cols,
                               const dcsr_desc *desc)
{
    return assign("matrix_assign", C, mask, accum, A, rows, cols, desc);
}

/* ---- Whole rows ---- */

static const char replace_call[] = "dcsr_matrix_replace_rows";

static bool ascends(const dcsr_csr *csr)
{
    for (uint64_t row = 0; row < csr->rows; row++)
        for (uint64_t e = csr->offsets[row] + 1; e < csr->offsets[row + 1]; e++)
            if (csr->col_indices[e - 1] >= csr->col_indices[e]) return false;
    return true;
}

/* From the caller's arrays, whose rows ascend strictly. */
static dcsr_status replace_by_arrays(dcsr_matrix *C, const dcsr_index_list *rows, const dcsr_csr *csr)
{
    const dcsr_i_rows from = {.type = csr->type,
                              .rows = csr->rows,
                              .cols = csr->cols,
                              .offsets = csr->offsets,
                              .columns = csr->col_indices,
                              .values = csr->values};
    const dcsr_i_matrix_output out = {.call = replace_call, .C = C};
    dcsr_i_moving x = {.context = C->context, .a = {.rows = &from, .value_size = C->value_size}};
    uint64_t c_rows, c_cols;
    dcsr_i_shape_queued(C, &c_rows, &c_cols);
    dcsr_status status = dcsr_i_select_indices(
        &x.rows, x.context, &(dcsr_i_given){replace_call, "row", rows, c_rows, true, rows->n});
    if (status == DCSR_OK)
        status = dcsr_i_select_indices(&x.cols, x.context,
                                       &(dcsr_i_given){replace_call, "column", NULL, c_cols, true, 0});
    if (status == DCSR_OK)
        status = dcsr_i_check_shape(replace_call, "the CSR", csr->rows, csr->cols, "the region", x.rows.n,
                                    x.cols.n);
    if (status == DCSR_OK) status = dcsr_i_selected_mark(&x.rows);
    if (status == DCSR_OK) status = assign_matrix(&x, &out, c_rows, c_cols);
    dcsr_i_moving_free(&x);
    return status;
}

/* By way of a matrix, which combines what stands twice, and is where the output is. */
static dcsr_status replace_by_matrix(dcsr_matrix *C, const dcsr_index_list *rows, const dcsr_csr *csr)
{
    dcsr_matrix *A;
    dcsr_view *view;
    const dcsr_matrix_options options = {.policy = C->policy, .defragmentation = DCSR_DEFRAGMENT_OFF};
    DCSR_TRY(dcsr_i_matrix_from_csr(&A, replace_call, C->context, csr, &options));
    dcsr_status status = dcsr_view_create(&view, A, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED);
    if (status == DCSR_OK) {
        status = assign(replace_call, C, NULL, NULL, view, rows, NULL, NULL);
        dcsr_view_destroy(view);
    }
    dcsr_matrix_destroy(A);
    return status;
}

dcsr_status dcsr_matrix_replace_rows(dcsr_matrix *matrix, uint64_t n, const uint64_t *rows,
                                     const dcsr_csr *csr)
{
    DCSR_TRY(dcsr_i_matrix_check(matrix));
    if (!csr || (n && !rows))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", replace_call, csr ? "rows" : "csr");
    if (csr->rows != n)
        return dcsr_i_fail(DCSR_ERROR_DIMENSION_MISMATCH, "%s: the CSR has %llu rows, for %llu row numbers",
                           replace_call, (unsigned long long)csr->rows, (unsigned long long)n);
    if (csr->type != matrix->type)
        return dcsr_i_fail(DCSR_ERROR_TYPE_MISMATCH, "%s: the CSR has values of type %d, the matrix %d (%s)",
                           replace_call, (int)csr->type, (int)matrix->type, dcsr_type_name(matrix->type));
    const dcsr_index_list list = {rows, n};
    DCSR_TRY(dcsr_i_csr_check(csr, matrix->context));
    return matrix->context->cuda || !ascends(csr) ? replace_by_matrix(matrix, &list, csr)
                                                  : replace_by_arrays(matrix, &list, csr);
}

/* ---- One value ---- */

static const char scalar_call[] = "matrix_assign_scalar";

typedef struct thread_state {
    _Alignas(64) dcsr_i_scratch columns, values;
    uint64_t ready; /* values that are there */
} thread_state;

typedef struct filling {
    dcsr_context *context;
    dcsr_i_selected rows, cols;
    dcsr_type type;
    const void *value;
    bool values;                  /* are wanted */
    thread_state *threads, alone; /* `count` of them, or the one */
    dcsr_i_few few;
    int count;
} filling;

static dcsr_status begin_filling(void *user, int threads)
{
    filling *x = user;
    x->threads = &x->alone;
    x->alone.values = dcsr_i_scratch_of(&x->few);
    x->count = threads;
    if (threads > 1)
        x->threads = dcsr_i_calloc(x->context, DCSR_I_SCRATCH, (size_t)threads, sizeof *x->threads);
    return x->threads ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}

static void end_filling(void *user)
{
    filling *x = user;
    for (int t = 0; t < x->count; t++) {
        dcsr_i_scratch_free(&x->threads[t].columns, x->context);
        dcsr_i_scratch_free(&x->threads[t].values, x->context);
    }
    if (x->count > 1)
        dcsr_i_free(x->context, DCSR_I_SCRATCH, x->threads, (size_t)x->count, sizeof *x->threads);
}

/* The value n times over. */
static dcsr_status repeat_value(const filling *x, thread_state *t, uint64_t n, const void **values)
{
    size_t size = dcsr_type_size(x->type);
    if (n > t->ready) {
        DCSR_TRY(dcsr_i_scratch_room(&t->values, x->context, n * size));
        t->ready = t->values.size / size;
        dcsr_i_broadcast(x->type, t->values.bytes, x->value, t->ready);
    }
    *values = t->values.bytes;
    return DCSR_OK;
}

/* The columns of the list that the mask names, or of the whole list. */
static dcsr_status choose(const filling *x, thread_state *t, const dcsr_i_row_mask *mask, dcsr_i_row *T)
{
    const dcsr_i_selected *cols = &x->cols;
    bool masked = mask && !mask->complement;
    if (masked && cols->all) {
        T->columns = mask->columns;
        T->n = mask->n;
        return DCSR_OK;
    }
    if (!masked && !cols->all) {
        T->columns = cols->sorted;
        T->n = cols->n;
        return DCSR_OK;
    }
    DCSR_TRY(dcsr_i_scratch_room(&t->columns, x->context, (masked ? mask->n : cols->n) * sizeof(uint32_t)));
    uint32_t *columns = t->columns.bytes;
    T->columns = columns;
    if (masked) {
        for (uint64_t e = 0, k = 0; e < mask->n; e++) {
            k = dcsr_i_selected_find(cols, k, mask->columns[e]);
            if (k < cols->n && cols->sorted[k] == mask->columns[e]) columns[T->n++] = mask->columns[e];
        }
    } else {
        for (; T->n < cols->n; T->n++) columns[T->n] = (uint32_t)T->n;
    }
    return DCSR_OK;
}

static dcsr_status fill_row(void *user, int thread, uint64_t number, const dcsr_i_row_mask *mask,
                            dcsr_i_row *T)
{
    const filling *x = user;
    thread_state *t = &x->threads[thread];
    (void)number;
    *T = (dcsr_i_row){0};
    DCSR_TRY(choose(x, t, mask, T));
    return x->values ? repeat_value(x, t, T->n, &T->values) : DCSR_OK;
}

static dcsr_status fill(filling *x, const dcsr_i_matrix_output *out, uint64_t rows, uint64_t cols)
{
    dcsr_i_region region = {dcsr_i_selected_list(&x->rows), dcsr_i_selected_list(&x->cols)};
    bool named = out->mask && !(out->desc && out->desc->mask_complement);
    dcsr_i_rowwise driver = {
        .out = *out,
        .T = {.type = x->type,
              .rows = rows,
              .cols = cols,
              .work = named ? dcsr_i_rows_stored(dcsr_i_view_rows(out->mask)) : x->rows.n * x->cols.n},
        .make = {.user = x,
                 .begin = begin_filling,
                 .end = end_filling,
                 .row = fill_row,
                 .scalar = x->rows.all && x->cols.all ? x->value : NULL}};
    driver.out.region = x->rows.all && x->cols.all ? NULL : &region;
    x->values = dcsr_i_rowwise_wants_values(&driver);
    return dcsr_i_rowwise_run(&driver);
}

/* Carries it out on the device or here. */
static dcsr_status fill_places(filling *x, const dcsr_i_matrix_output *out, uint64_t rows, uint64_t cols)
{
    if (dcsr_i_runs_on_device(out, false))
        return dcsr_i_device_matrix_moves->assign_scalar(out, x->value, x->type, &x->rows, &x->cols);
    DCSR_TRY(dcsr_i_selected_mark(&x->rows));
    DCSR_TRY(dcsr_i_selected_mark(&x->cols));
    return fill(x, out, rows, cols);
}

dcsr_status dcsr_matrix_assign_scalar(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                                      const void *value, dcsr_type type, const dcsr_index_list *rows,
                                      const dcsr_index_list *cols, const dcsr_desc *desc)
{
    filling x = {.type = type, .value = value};
    uint64_t c_rows, c_cols;
    DCSR_TRY(dcsr_i_check_output(scalar_call, C, mask, desc));
    if ((unsigned)type >= DCSR_TYPE_COUNT)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: type is %d; use one of dcsr_type", scalar_call,
                           (int)type);
    if (!value && type != DCSR_PATTERN)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: value is NULL; give the address of one",
                           scalar_call);
    x.context = C->context;
    dcsr_i_shape_queued(C, &c_rows, &c_cols);
    dcsr_status status =
        dcsr_i_select_indices(&x.rows, x.context, &(dcsr_i_given){scalar_call, "row", rows, c_rows, true, 0});
    if (status == DCSR_OK)
        status = dcsr_i_select_indices(&x.cols, x.context,
                                       &(dcsr_i_given){scalar_call, "column", cols, c_cols, true, 0});
    const dcsr_i_matrix_output out = {
        .call = scalar_call, .C = C, .mask = mask, .accum = accum, .desc = desc};
    if (status == DCSR_OK) status = fill_places(&x, &out, c_rows, c_cols);
    dcsr_i_selected_free(&x.rows);
    dcsr_i_selected_free(&x.cols);
    return status;
}

/* ---- A vector, to a row or a column ---- */

typedef struct line_assignment {
    const char *call;
    dcsr_matrix *C;
    bool column;
    uint64_t index;
    const dcsr_vector *mask, *u;
    const dcsr_binary_op *accum;
    const dcsr_desc *desc;
    dcsr_type type;   /* of the line: C's, or bool for a pattern */
    dcsr_i_body line; /* what the row or column becomes, sparse */
} line_assignment;

/* The line as it is in C, whose turn it is. */
static dcsr_status read_line(const line_assignment *x, dcsr_vector *w)
{
    dcsr_view *view;
    DCSR_TRY(dcsr_view_create(&view, x->C, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED));
    dcsr_status status = x->column ? dcsr_matrix_extract_column(w, NULL, NULL, view, x->index, NULL)
                                   : dcsr_matrix_extract_row(w, NULL, NULL, view, x->index, NULL);
    dcsr_view_destroy(view);
    return status;
}

static dcsr_status write_line(line_assignment *x, dcsr_vector *w)
{
    const dcsr_vector *u = x->u;
    dcsr_i_body T;
    DCSR_TRY(dcsr_i_vector_check_output(x->call, w, x->mask, x->desc));
    DCSR_TRY(read_line(x, w));
    DCSR_TRY(dcsr_i_body_to_sparse(&T, &u->body, u->context, u->value_size, u->size));
    DCSR_TRY(dcsr_i_vector_write(x->call, w, x->mask, x->accum, x->desc, u->type, &T));
    return dcsr_i_body_to_sparse(&x->line, &w->body, w->context, w->value_size, w->size);
}

static dcsr_status begin_line(void *user, int threads)
{
    line_assignment *x = user;
    dcsr_vector *w;
    (void)threads;
    DCSR_TRY(dcsr_vector_create(&w, x->C->context, x->type, x->u->size));
    dcsr_status status = write_line(x, w);
    dcsr_vector_destroy(w);
    return status;
}

static void end_line(void *user)
{
    line_assignment *x = user;
    dcsr_i_body_free(&x->line, x->C->context, dcsr_type_size(x->type));
}

/* The first element of the line from an index on. */
static uint64_t line_from(const line_assignment *x, uint64_t index)
{
    return dcsr_i_list_find(x->line.indices, 0, x->line.nvals, index);
}

static uint64_t most_of_line(void *user, uint64_t first, unsigned count)
{
    const line_assignment *x = user;
    if (x->column) return line_from(x, first + count) - line_from(x, first);
    return x->index >= first && x->index < first + count ? x->line.nvals : 0;
}

static uint64_t next_page_of_line(void *user, uint64_t page)
{
    const line_assignment *x = user;
    uint64_t row = x->index, at = x->column ? line_from(x, page << DCSR_I_PAGE_SHIFT) : 0;
    if (x->column && at < x->line.nvals) row = x->line.indices[at];
    bool any = at < x->line.nvals && row >> DCSR_I_PAGE_SHIFT >= page;
    return any ? row >> DCSR_I_PAGE_SHIFT : UINT64_MAX;
}

static dcsr_status line_block(void *user, int thread, uint64_t first, unsigned count, dcsr_i_room room,
                              uint32_t *lengths)
{
    const line_assignment *x = user;
    uint64_t n = most_of_line(user, first, count), from = x->column ? line_from(x, first) : 0;
    size_t size = dcsr_type_size(x->type);
    (void)thread;
    memset(lengths, 0, count * sizeof *lengths);
    for (uint64_t e = 0; e < n; e++) {
        uint32_t at = x->line.indices[from + e];
        room.columns[e] = x->column ? (uint32_t)x->index : at;
        lengths[x->column ? at - first : x->index - first]++;
    }
    if (room.values && n) memcpy(room.values, (const char *)x->line.values + from * size, n * size);
    return DCSR_OK;
}

static dcsr_status assign_line(line_assignment *x)
{
    uint32_t index = (uint32_t)x->index;
    dcsr_i_index_list one = {.indices = &index, .n = 1}, all = {0};
    dcsr_i_region region = {x->column ? all : one, x->column ? one : all};
    uint64_t rows, cols;
    DCSR_TRY(dcsr_i_check_output(x->call, x->C, NULL, x->desc));
    DCSR_TRY(dcsr_i_vector_admit(x->u, "matrix_assign_row, matrix_assign_column: u"));
    if (x->u->context != x->C->context)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: u is of another context than C", x->call);
    dcsr_i_shape_queued(x->C, &rows, &cols);
    uint64_t lines = x->column ? cols : rows, size = x->column ? rows : cols;
    if (x->index >= lines)
        return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE, "%s: %llu of %llu", x->call,
                           (unsigned long long)x->index, (unsigned long long)lines);
    if (x->u->size != size)
        return dcsr_i_fail(DCSR_ERROR_DIMENSION_MISMATCH, "%s: u has %llu elements; %llu are needed", x->call,
                           (unsigned long long)x->u->size, (unsigned long long)size);
    const dcsr_i_matrix_output out = {
        .call = x->call, .C = x->C, .accum = x->accum, .desc = x->desc, .region = &region};
    if (dcsr_i_runs_on_device(&out, false)) {
        DCSR_TRY(dcsr_i_vector_admit_output(x->call, x->u, x->mask, x->desc));
        return dcsr_i_device_matrix_moves->assign_line(&out, x->mask, x->u, x->index, x->column);
    }
    DCSR_TRY(dcsr_i_vector_check(x->u, "u"));
    x->type = x->C->type == DCSR_PATTERN ? DCSR_BOOL : x->C->type;
    dcsr_i_rowwise driver = {.out = {.call = x->call, .C = x->C, .region = &region},
                             .T = {.type = x->type, .rows = rows, .cols = cols, .work = x->u->body.nvals},
                             .make = {.next_page = next_page_of_line,
                                      .user = x,
                                      .begin = begin_line,
                                      .end = end_line,
                                      .most = most_of_line,
                                      .block = line_block}};
    DCSR_TRY(dcsr_i_rowwise_run(&driver));
    dcsr_i_report(x->desc, x->u->body.nvals);
    return DCSR_OK;
}

dcsr_status dcsr_matrix_assign_row(dcsr_matrix *C, const dcsr_vector *mask, const dcsr_binary_op *accum,
                                   const dcsr_vector *u, uint64_t row, const dcsr_desc *desc)
{
    return assign_line(&(line_assignment){.call = "matrix_assign_row",
                                          .C = C,
                                          .index = row,
                                          .mask = mask,
                                          .u = u,
                                          .accum = accum,
                                          .desc = desc});
}

dcsr_status dcsr_matrix_assign_column(dcsr_matrix *C, const dcsr_vector *mask, const dcsr_binary_op *accum,
                                      const dcsr_vector *u, uint64_t col, const dcsr_desc *desc)
{
    return assign_line(&(line_assignment){.call = "matrix_assign_column",
                                          .C = C,
                                          .column = true,
                                          .index = col,
                                          .mask = mask,
                                          .u = u,
                                          .accum = accum,
                                          .desc = desc});
}
