/* kronecker.c: the Kronecker product, row by row: row i m + k of it is row k of B once for each entry of row
 * i of A. */
#include <dcsr/mxm.h>
#include "ops/matrix/matrix_ops_cuda.h"
#include "ops/matrix/write_matrix.h"
#include "ops/rows/row_block.h"

static const char call[] = "kronecker";

enum { WIDEST = 8 };

typedef struct thread_state {
    _Alignas(64) dcsr_i_row_reader a, b;
} thread_state;

typedef struct product {
    dcsr_context *context;
    const dcsr_binary_op *op;
    dcsr_i_input a, b;
    uint64_t b_rows, b_cols;
    size_t size; /* of the operator's result */
    thread_state *threads;
    int count;
} product;

static dcsr_status begin(void *user, int threads)
{
    product *p = user;
    p->threads = dcsr_i_alloc(p->context, DCSR_I_SCRATCH, (size_t)threads, sizeof *p->threads);
    if (!p->threads) return DCSR_ERROR_OUT_OF_MEMORY;
    p->count = threads;
    for (int t = 0; t < threads; t++) {
        p->threads[t].a = dcsr_i_row_reader_of(p->context, p->a.rows);
        p->threads[t].b = dcsr_i_row_reader_of(p->context, p->b.rows);
    }
    return DCSR_OK;
}

static void end(void *user)
{
    product *p = user;
    for (int t = 0; t < p->count; t++) {
        dcsr_i_row_reader_free(&p->threads[t].a);
        dcsr_i_row_reader_free(&p->threads[t].b);
    }
    dcsr_i_free(p->context, DCSR_I_SCRATCH, p->threads, (size_t)p->count, sizeof *p->threads);
}

static uint64_t most(void *user, uint64_t first, unsigned count)
{
    const product *p = user;
    uint64_t sum = 0;
    for (uint64_t row = first; row < first + count; row++)
        sum +=
            dcsr_i_rows_length(p->a.rows, row / p->b_rows) * dcsr_i_rows_length(p->b.rows, row % p->b_rows);
    return sum;
}

/* The first row from `row` on that has entries; the number of rows if there is none. */
static uint64_t next_row(const dcsr_i_rows *rows, uint64_t row)
{
    while ((row = dcsr_i_rows_skip(rows, row)) < rows->rows && !dcsr_i_rows_length(rows, row)) row++;
    return row;
}

/* Row i m + k has entries where row i of A and row k of B have. */
static uint64_t next_page(void *user, uint64_t page)
{
    const product *p = user;
    const uint64_t first = page << DCSR_I_PAGE_SHIFT, none = UINT64_MAX >> DCSR_I_PAGE_SHIFT;
    if (!p->b_rows) return none;
    uint64_t i = first / p->b_rows, from = next_row(p->a.rows, i),
             k = next_row(p->b.rows, from == i ? first % p->b_rows : 0);
    if (from == i && k == p->b_rows) {
        from = next_row(p->a.rows, i + 1);
        k = next_row(p->b.rows, 0);
    }
    if (from >= p->a.rows->rows || k == p->b_rows) return none;
    return (from * p->b_rows + k) >> DCSR_I_PAGE_SHIFT;
}

/* The values of one entry of A with those of a row of B. */
static bool multiply(const product *p, const void *x, const dcsr_i_row *b, char *z)
{
    const dcsr_binary_op *op = p->op;
    _Alignas(64) char xs[DCSR_I_VALUES_AT_ONCE * WIDEST], ys[DCSR_I_VALUES_AT_ONCE * WIDEST];
    size_t size = p->b.value_size;
    dcsr_i_scalar value = dcsr_i_scalar_as(op->xtype, p->a.rows->type, x);
    dcsr_i_broadcast(op->xtype, xs, &value, b->n < DCSR_I_VALUES_AT_ONCE ? b->n : DCSR_I_VALUES_AT_ONCE);
    for (uint64_t done = 0, n; done < b->n; done += n) {
        n = b->n - done < DCSR_I_VALUES_AT_ONCE ? b->n - done : DCSR_I_VALUES_AT_ONCE;
        dcsr_i_cast(op->ytype, ys, p->b.rows->type, size ? (const char *)b->values + done * size : NULL, n);
        if (!dcsr_i_apply_binary(op, z + done * p->size, xs, ys, n)) return false;
    }
    return true;
}

static dcsr_status block(void *user, int thread, uint64_t first, unsigned count, dcsr_i_room room,
                         uint32_t *lengths)
{
    const product *p = user;
    thread_state *t = &p->threads[thread];
    size_t size = p->a.value_size;
    uint64_t to = 0;
    for (unsigned r = 0; r < count; r++) {
        dcsr_i_row a, b;
        DCSR_TRY(dcsr_i_row_get(&t->a, (first + r) / p->b_rows, &a));
        DCSR_TRY(dcsr_i_row_get(&t->b, (first + r) % p->b_rows, &b));
        lengths[r] = (uint32_t)(a.n * b.n);
        for (uint64_t i = 0; i < a.n; i++, to += b.n) {
            uint32_t column = (uint32_t)(a.columns[i] * p->b_cols);
            for (uint64_t j = 0; j < b.n; j++) room.columns[to + j] = column + b.columns[j];
            const char *x = size ? (const char *)a.values + i * size : NULL;
            if (room.values && !multiply(p, x, &b, (char *)room.values + to * p->size))
                return dcsr_i_fail_callback(call, p->op->text);
        }
    }
    return DCSR_OK;
}

static dcsr_status multiply_matrices(product *p, const dcsr_i_matrix_output *out)
{
    const dcsr_i_rows *a = p->a.rows, *b = p->b.rows;
    uint64_t work;
    if (__builtin_mul_overflow(dcsr_i_rows_stored(a), dcsr_i_rows_stored(b), &work)) work = UINT64_MAX >> 1;
    p->b_rows = b->rows;
    p->b_cols = b->cols;
    p->size = dcsr_type_size(p->op->ztype);
    dcsr_i_rowwise driver = {
        .out = *out,
        .T = {.type = p->op->ztype, .rows = a->rows * b->rows, .cols = a->cols * b->cols, .work = work},
        .make = {
            .next_page = next_page, .user = p, .begin = begin, .end = end, .most = most, .block = block}};
    return dcsr_i_rowwise_run(&driver);
}

/* Whether there are matrices as large as the product. */
static dcsr_status check_size(const dcsr_view *A, const dcsr_view *B, const dcsr_desc *desc)
{
    const dcsr_i_rows *a = dcsr_i_view_rows(A), *b = dcsr_i_view_rows(B);
    bool turn_a = desc && desc->transpose_a, turn_b = desc && desc->transpose_b;
    uint64_t rows, cols;
    if (__builtin_mul_overflow(turn_a ? a->cols : a->rows, turn_b ? b->cols : b->rows, &rows) ||
        __builtin_mul_overflow(turn_a ? a->rows : a->cols, turn_b ? b->rows : b->cols, &cols))
        return dcsr_i_fail(DCSR_ERROR_TOO_LARGE, "%s: the product is beyond the largest matrix, 2^32 x 2^31",
                           call);
    return dcsr_i_check_dimensions(call, rows, cols);
}

dcsr_status dcsr_kronecker(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                           const dcsr_binary_op *op, dcsr_view *A, dcsr_view *B, const dcsr_desc *desc)
{
    product p = {.op = op};
    DCSR_TRY(dcsr_i_check_output(call, C, mask, desc));
    p.context = C->context;
    DCSR_TRY(dcsr_i_check_view(call, "A", A, p.context));
    DCSR_TRY(dcsr_i_check_view(call, "B", B, p.context));
    if (!op) return dcsr_i_fail_operator(call, "operator");
    DCSR_TRY(check_size(A, B, desc));
    const dcsr_i_matrix_output out = {.call = call, .C = C, .mask = mask, .accum = accum, .desc = desc};
    if (dcsr_i_runs_on_device(&out, !op->loop)) return dcsr_i_device_matrix_ops->kronecker(&out, op, A, B);
    dcsr_status status = dcsr_i_input_of(&p.a, A, desc && desc->transpose_a);
    if (status == DCSR_OK) status = dcsr_i_input_of(&p.b, B, desc && desc->transpose_b);
    if (status == DCSR_OK) status = multiply_matrices(&p, &out);
    dcsr_i_input_free(&p.a);
    dcsr_i_input_free(&p.b);
    return status;
}
