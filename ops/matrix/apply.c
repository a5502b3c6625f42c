/* apply.c: an operator on every entry of a matrix.
 *
 * The result has A's columns, which are copied; values go through the operator in long arrays where rows lie
 * one behind the other, and in chunks where they have to be cast or joined with a scalar before. */
#include <dcsr/apply.h>
#include "ops/matrix/matrix_ops_cuda.h"
#include "ops/matrix/write_matrix.h"
#include "ops/rows/row_block.h"

enum { WIDEST = 8 };

typedef struct apply {
    const char *call, *text; /* text: the operator's name */
    dcsr_i_input a;
    /* One of these. */
    const dcsr_unary_op *unary;
    const dcsr_binary_op *binary;
    const dcsr_index_op *index;
    dcsr_type ztype, xtype; /* of the operator: its result, and what A's values are cast to */
    bool scalar_is_first;
    const void *thunk;
    _Alignas(
        64) char scalars[DCSR_I_VALUES_AT_ONCE * WIDEST]; /* the scalar of a binary operator, over and over */
} apply;

static uint64_t most(void *user, uint64_t first, unsigned count)
{
    const apply *a = user;
    return dcsr_i_rows_sum(a->a.rows, first, count);
}

/* Values of consecutive entries in one piece, with columns and row numbers where the operator asks for them.
 */
static bool apply_chunk(const apply *a, void *z, const void *x, const dcsr_i_positions *at, size_t n)
{
    if (a->unary) return dcsr_i_apply_unary(a->unary, z, x, n);
    if (a->index) return dcsr_i_apply_index(a->index, z, x, at, a->thunk, n);
    return a->scalar_is_first ? dcsr_i_apply_binary(a->binary, z, a->scalars, x, n)
                              : dcsr_i_apply_binary(a->binary, z, x, a->scalars, n);
}

/* All values of a block to z. `columns` and `lengths` are the block's. */
static bool apply_block(const apply *a, const dcsr_i_row_block *b, uint64_t first, const uint32_t *columns,
                        const uint32_t *lengths, char *z)
{
    const dcsr_i_rows *rows = a->a.rows;
    _Alignas(64) char cast[DCSR_I_VALUES_AT_ONCE * WIDEST];
    uint32_t numbers[DCSR_I_VALUES_AT_ONCE];
    size_t size = a->a.value_size, zsize = dcsr_type_size(a->ztype);
    bool straight = rows->type == a->xtype, whole = straight && a->unary;
    unsigned row = 0;
    uint32_t left = lengths[0];
    for (unsigned s = 0; s < b->stretches; s++) {
        const char *x = size ? (const char *)rows->values + b->stretch[s].begin * size : NULL;
        for (uint64_t done = 0, n; done < b->stretch[s].length; done += n) {
            n = b->stretch[s].length - done;
            if (!whole && n > DCSR_I_VALUES_AT_ONCE) n = DCSR_I_VALUES_AT_ONCE;
            if (a->index) dcsr_i_row_numbers(numbers, n, first, lengths, &row, &left);
            if (!straight) dcsr_i_cast(a->xtype, cast, rows->type, x, n);
            if (!apply_chunk(a, z, straight ? x : cast, &(dcsr_i_positions){.i = numbers, .j = columns}, n))
                return false;
            columns += n;
            z += n * zsize;
            x = size ? x + n * size : NULL;
        }
    }
    return true;
}

static dcsr_status block(void *user, int thread, uint64_t first, unsigned count, dcsr_i_room room,
                         uint32_t *lengths)
{
    const apply *a = user;
    dcsr_i_row_block b;
    (void)thread;
    dcsr_i_row_block_of(&b, a->a.rows, first, count, lengths);
    dcsr_i_row_block_columns(&b, a->a.rows, room.columns);
    if (!room.values || apply_block(a, &b, first, room.columns, lengths, room.values)) return DCSR_OK;
    return dcsr_i_fail_callback(a->call, a->text);
}

static bool is_users(const apply *a)
{
    return (a->unary ? a->unary->name : a->binary ? a->binary->name : a->index->name) == DCSR_I_USERS;
}

static dcsr_status run_on_device(const apply *a, const dcsr_i_matrix_output *out, dcsr_view *A,
                                 const void *operand)
{
    if (a->unary) return dcsr_i_device_matrix_ops->apply(out, a->unary, A);
    if (a->index) return dcsr_i_device_matrix_ops->index(out, a->index, operand, A, false);
    return dcsr_i_device_matrix_ops->bound(out, a->binary, operand, A, a->scalar_is_first);
}

/* Carries it out; `operand` is the scalar or thunk that the operator takes, and must not be NULL. */
static dcsr_status apply_operator(apply *a, const dcsr_i_matrix_output *out, dcsr_view *A,
                                  const void *operand)
{
    a->call = out->call;
    DCSR_TRY(dcsr_i_check_output(a->call, out->C, out->mask, out->desc));
    DCSR_TRY(dcsr_i_check_view(a->call, "A", A, out->C->context));
    if (!a->text) return dcsr_i_fail_operator(a->call, "operator");
    if (!operand)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: the scalar is NULL; give the address of one",
                           a->call);
    if (dcsr_i_runs_on_device(out, is_users(a))) return run_on_device(a, out, A, operand);
    if (a->binary)
        dcsr_i_broadcast(a->scalar_is_first ? a->binary->xtype : a->binary->ytype, a->scalars, operand,
                         DCSR_I_VALUES_AT_ONCE);
    a->thunk = operand;
    dcsr_status status = dcsr_i_input_of(&a->a, A, out->desc && out->desc->transpose_a);
    if (status == DCSR_OK) {
        dcsr_i_rowwise driver = {.out = *out,
                                 .T = {.type = a->ztype,
                                       .rows = a->a.rows->rows,
                                       .cols = a->a.rows->cols,
                                       .work = dcsr_i_rows_stored(a->a.rows),
                                       .source = {a->a.rows}},
                                 .make = {.user = a, .most = most, .block = block}};
        status = dcsr_i_rowwise_run(&driver);
    }
    dcsr_i_input_free(&a->a);
    return status;
}

dcsr_status dcsr_matrix_apply(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                              const dcsr_unary_op *op, dcsr_view *A, const dcsr_desc *desc)
{
    const dcsr_i_matrix_output out = {
        .call = "matrix_apply", .C = C, .mask = mask, .accum = accum, .desc = desc};
    apply a = {.unary = op};
    if (op) a.text = op->text, a.ztype = op->ztype, a.xtype = op->xtype;
    return apply_operator(&a, &out, A, op);
}

static dcsr_status apply_scalar(const dcsr_i_matrix_output *out, const dcsr_binary_op *op, bool first,
                                const void *scalar, dcsr_view *A)
{
    apply a = {.binary = op, .scalar_is_first = first};
    if (op) a.text = op->text, a.ztype = op->ztype, a.xtype = first ? op->ytype : op->xtype;
    return apply_operator(&a, out, A, scalar);
}

dcsr_status dcsr_matrix_apply_first(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                                    const dcsr_binary_op *op, const void *x, dcsr_view *A,
                                    const dcsr_desc *desc)
{
    const dcsr_i_matrix_output out = {
        .call = "matrix_apply_first", .C = C, .mask = mask, .accum = accum, .desc = desc};
    return apply_scalar(&out, op, true, x, A);
}

dcsr_status dcsr_matrix_apply_second(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                                     const dcsr_binary_op *op, dcsr_view *A, const void *y,
                                     const dcsr_desc *desc)
{
    const dcsr_i_matrix_output out = {
        .call = "matrix_apply_second", .C = C, .mask = mask, .accum = accum, .desc = desc};
    return apply_scalar(&out, op, false, y, A);
}

dcsr_status dcsr_matrix_apply_index(dcsr_matrix *C, dcsr_view *mask, const dcsr_binary_op *accum,
                                    const dcsr_index_op *op, dcsr_view *A, const void *thunk,
                                    const dcsr_desc *desc)
{
    const dcsr_i_matrix_output out = {
        .call = "matrix_apply_index", .C = C, .mask = mask, .accum = accum, .desc = desc};
    apply a = {.index = op};
    if (op) a.text = op->text, a.ztype = op->ztype, a.xtype = op->xtype;
    return apply_operator(&a, &out, A, thunk);
}
