/* assign_scalar.c: writing one value to some rows and columns of a matrix.
 *
 * With a mask that names places, rows of T are made at those alone. */
#include <dcsr/assign.h>
#include "ops/matrix/index_list.h"
#ifdef DCSR_CUDA
#include "ops/matrix/matrix_ops_cuda.h"
#endif

static const char call[] = "matrix_assign_scalar";

typedef struct thread_state {
    _Alignas(64) dcsr_i_scratch columns, values;
    uint64_t ready; /* values that are there */
} thread_state;

typedef struct assignment {
    dcsr_context *context;
    dcsr_i_selected rows, cols;
    dcsr_type type;
    const void *value;
    bool values;                  /* are wanted */
    thread_state *threads, alone; /* `count` of them, or the one */
    dcsr_i_few few;
    int count;
} assignment;

static dcsr_status begin(void *user, int threads)
{
    assignment *x = user;
    x->threads = &x->alone;
    x->alone.values = dcsr_i_scratch_of(&x->few);
    x->count = threads;
    if (threads > 1)
        x->threads = dcsr_i_calloc(x->context, DCSR_I_SCRATCH, (size_t)threads, sizeof *x->threads);
    return x->threads ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}

static void end(void *user)
{
    assignment *x = user;
    for (int t = 0; t < x->count; t++) {
        dcsr_i_scratch_free(&x->threads[t].columns, x->context);
        dcsr_i_scratch_free(&x->threads[t].values, x->context);
    }
    if (x->count > 1)
        dcsr_i_free(x->context, DCSR_I_SCRATCH, x->threads, (size_t)x->count, sizeof *x->threads);
}

/* The value n times over. */
static dcsr_status repeat_value(const assignment *x, thread_state *t, uint64_t n, const void **values)
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
static dcsr_status choose(const assignment *x, thread_state *t, const dcsr_i_row_mask *mask, dcsr_i_row *T)
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

static dcsr_status row(void *user, int thread, uint64_t number, const dcsr_i_row_mask *mask, dcsr_i_row *T)
{
    const assignment *x = user;
    thread_state *t = &x->threads[thread];
    (void)number;
    *T = (dcsr_i_row){0};
    DCSR_TRY(choose(x, t, mask, T));
    return x->values ? repeat_value(x, t, T->n, &T->values) : DCSR_OK;
}

static dcsr_status assign_scalar(assignment *x, dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                                 uint64_t rows, uint64_t cols, const dcsr_desc *desc)
{
    dcsr_i_region region = {dcsr_i_selected_list(&x->rows), dcsr_i_selected_list(&x->cols)};
    bool named = mask && !(desc && desc->mask_complement);
    dcsr_i_rowwise driver = {.call = call,
                             .C = C,
                             .mask = mask,
                             .accum = accum,
                             .desc = desc,
                             .type = x->type,
                             .rows = rows,
                             .cols = cols,
                             .work =
                                 named ? dcsr_i_rows_stored(dcsr_i_view_rows(mask)) : x->rows.n * x->cols.n,
                             .user = x,
                             .begin = begin,
                             .end = end,
                             .row = row,
                             .scalar = x->rows.all && x->cols.all ? x->value : NULL,
                             .region = x->rows.all && x->cols.all ? NULL : &region};
    x->values = dcsr_i_rowwise_wants_values(&driver);
    return dcsr_i_rowwise_run(&driver);
}

/* Carries it out on the device or here. */
static dcsr_status place(assignment *x, dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                         uint64_t rows, uint64_t cols, const dcsr_desc *desc)
{
#ifdef DCSR_CUDA
    const dcsr_i_cuda_matrix_output there = {
        .call = call, .C = C, .mask = mask, .accum = accum, .desc = desc};
    if (dcsr_i_cuda_matrix_takes(&there, false))
        return dcsr_i_cuda_matrix_assign_scalar(&there, x->value, x->type, &x->rows, &x->cols);
#endif
    DCSR_TRY(dcsr_i_selected_mark(&x->rows));
    DCSR_TRY(dcsr_i_selected_mark(&x->cols));
    return assign_scalar(x, C, mask, accum, rows, cols, desc);
}

dcsr_status dcsr_matrix_assign_scalar(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                                      const void *value, dcsr_type type, const uint64_t *rows, uint64_t nrows,
                                      const uint64_t *cols, uint64_t ncols, const dcsr_desc *desc)
{
    assignment x = {.type = type, .value = value};
    uint64_t c_rows, c_cols;
    DCSR_TRY(dcsr_i_check_output(call, C, mask, desc));
    if ((unsigned)type >= DCSR_TYPE_COUNT)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: type is %d; use one of dcsr_type", call,
                           (int)type);
    if (!value && type != DCSR_PATTERN)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: value is NULL; give the address of one", call);
    x.context = C->context;
    dcsr_i_shape_queued(C, &c_rows, &c_cols);
    dcsr_status status = dcsr_i_select_indices(&x.rows, x.context, call, "row", rows, nrows, c_rows, true, 0);
    if (status == DCSR_OK)
        status = dcsr_i_select_indices(&x.cols, x.context, call, "column", cols, ncols, c_cols, true, 0);
    if (status == DCSR_OK) status = place(&x, C, mask, accum, c_rows, c_cols, desc);
    dcsr_i_selected_free(&x.rows);
    dcsr_i_selected_free(&x.cols);
    return status;
}
