/* algebra_define.c: what operations compute, by definition: loops over all cells. */
#include "tests/ops/algebra.h"

#include <string.h>

/* z = f(x, y) of single values that are cast to the operator's types. */
static dcsr_i_scalar binary(const dcsr_binary_op *op, dcsr_i_scalar x, dcsr_i_scalar y)
{
    dcsr_i_scalar z = {0};
    cr_assert(dcsr_i_apply_binary(op, &z, &x, &y, 1));
    return z;
}

static dcsr_i_scalar scalar_of(dcsr_type type, const void *value)
{
    dcsr_i_scalar scalar = {0};
    memcpy(&scalar, value, dcsr_type_size(type));
    return scalar;
}

/* T(i,j) = sum over k of A(i,k) * B(k,j). */
grid define_product(const dcsr_semiring *semiring, const grid *A, const grid *B)
{
    const dcsr_binary_op *multiply = semiring->multiply, *add = semiring->add->op;
    grid T = grid_create(add->ztype, A->rows, B->cols);
    for (uint64_t i = 0; i < A->rows; i++)
        for (uint64_t k = 0; k < A->cols; k++) {
            const size_t a = grid_at(A, i, k);
            if (!A->present[a]) continue;
            const dcsr_i_scalar x = grid_as(A, a, multiply->xtype);
            for (uint64_t j = 0; j < B->cols; j++) {
                const size_t b = grid_at(B, k, j), t = grid_at(&T, i, j);
                if (!B->present[b]) continue;
                const dcsr_i_scalar z = binary(multiply, x, grid_as(B, b, multiply->ytype));
                grid_set(&T, t, T.present[t] ? binary(add, T.value[t], z) : z);
            }
        }
    return T;
}

grid define_ewise(const dcsr_binary_op *op, const grid *A, const grid *B, bool add)
{
    grid T = grid_create(op->ztype, A->rows, A->cols);
    for (size_t c = 0; c < T.rows * T.cols; c++) {
        if (A->present[c] && B->present[c])
            grid_set(&T, c, binary(op, grid_as(A, c, op->xtype), grid_as(B, c, op->ytype)));
        else if (add && A->present[c])
            grid_set(&T, c, grid_as(A, c, op->ztype));
        else if (add && B->present[c])
            grid_set(&T, c, grid_as(B, c, op->ztype));
    }
    return T;
}

grid define_apply(const dcsr_unary_op *op, const grid *A)
{
    grid T = grid_create(op->ztype, A->rows, A->cols);
    for (size_t c = 0; c < T.rows * T.cols; c++) {
        if (!A->present[c]) continue;
        dcsr_i_scalar x = grid_as(A, c, op->xtype), z = {0};
        cr_assert(dcsr_i_apply_unary(op, &z, &x, 1));
        grid_set(&T, c, z);
    }
    return T;
}

grid define_apply_first(const dcsr_binary_op *op, const void *x, const grid *A)
{
    grid T = grid_create(op->ztype, A->rows, A->cols);
    for (size_t c = 0; c < T.rows * T.cols; c++)
        if (A->present[c]) grid_set(&T, c, binary(op, scalar_of(op->xtype, x), grid_as(A, c, op->ytype)));
    return T;
}

grid define_apply_second(const dcsr_binary_op *op, const grid *A, const void *y)
{
    grid T = grid_create(op->ztype, A->rows, A->cols);
    for (size_t c = 0; c < T.rows * T.cols; c++)
        if (A->present[c]) grid_set(&T, c, binary(op, grid_as(A, c, op->xtype), scalar_of(op->ytype, y)));
    return T;
}

static dcsr_i_scalar index_value(const dcsr_index_op *op, const grid *A, uint64_t i, uint64_t j,
                                 const void *thunk)
{
    dcsr_i_scalar x = grid_as(A, grid_at(A, i, j), op->xtype), z = {0};
    cr_assert(dcsr_i_apply_index(op, &z, &x, &(dcsr_i_positions){.i0 = i, .j0 = j}, thunk, 1));
    return z;
}

grid define_apply_index(const dcsr_index_op *op, const grid *A, const void *thunk)
{
    grid T = grid_create(op->ztype, A->rows, A->cols);
    for (uint64_t i = 0; i < A->rows; i++)
        for (uint64_t j = 0; j < A->cols; j++)
            if (A->present[grid_at(A, i, j)]) grid_set(&T, grid_at(A, i, j), index_value(op, A, i, j, thunk));
    return T;
}

grid define_select(const dcsr_index_op *op, const grid *A, const void *thunk)
{
    grid T = grid_copy(A);
    for (uint64_t i = 0; i < A->rows; i++)
        for (uint64_t j = 0; j < A->cols; j++)
            if (A->present[grid_at(A, i, j)])
                T.present[grid_at(A, i, j)] =
                    grid_cast(DCSR_BOOL, op->ztype, index_value(op, A, i, j, thunk)).as_bool;
    return T;
}

grid define_reduce_rows(const dcsr_monoid *monoid, const grid *A)
{
    const dcsr_binary_op *add = monoid->op;
    grid T = grid_create(add->ztype, A->rows, 1);
    for (uint64_t i = 0; i < A->rows; i++)
        for (uint64_t j = 0; j < A->cols; j++) {
            const size_t c = grid_at(A, i, j);
            if (!A->present[c]) continue;
            const dcsr_i_scalar x = grid_as(A, c, add->ztype);
            grid_set(&T, i, T.present[i] ? binary(add, T.value[i], x) : x);
        }
    return T;
}

dcsr_i_scalar define_reduce(const dcsr_monoid *monoid, const grid *A)
{
    dcsr_i_scalar total = monoid->identity;
    bool any = false;
    for (size_t c = 0; c < A->rows * A->cols; c++) {
        if (!A->present[c]) continue;
        const dcsr_i_scalar x = grid_as(A, c, monoid->op->ztype);
        total = any ? binary(monoid->op, total, x) : x;
        any = true;
    }
    return total;
}

grid define_kronecker(const dcsr_binary_op *op, const grid *A, const grid *B)
{
    grid T = grid_create(op->ztype, A->rows * B->rows, A->cols * B->cols);
    for (uint64_t i = 0; i < T.rows; i++)
        for (uint64_t j = 0; j < T.cols; j++) {
            const size_t a = grid_at(A, i / B->rows, j / B->cols), b = grid_at(B, i % B->rows, j % B->cols);
            if (A->present[a] && B->present[b])
                grid_set(&T, grid_at(&T, i, j),
                         binary(op, grid_as(A, a, op->xtype), grid_as(B, b, op->ytype)));
        }
    return T;
}

grid define_extract(const grid *A, const places *rows, const places *cols)
{
    grid T = grid_create(A->type, rows->n, cols->n);
    for (uint64_t i = 0; i < rows->n; i++)
        for (uint64_t j = 0; j < cols->n; j++) {
            const size_t a = grid_at(A, place_of(rows, i), place_of(cols, j));
            if (A->present[a]) grid_set(&T, grid_at(&T, i, j), A->value[a]);
        }
    return T;
}

grid define_assign(const grid *C, const dcsr_binary_op *accum, const grid *A, const places *rows,
                   const places *cols)
{
    grid Z = grid_copy(C);
    for (uint64_t i = 0; i < rows->n; i++)
        for (uint64_t j = 0; j < cols->n; j++) {
            const size_t a = grid_at(A, i, j), z = grid_at(C, place_of(rows, i), place_of(cols, j));
            if (A->present[a] && accum && C->present[z]) {
                const dcsr_i_scalar x = grid_as(C, z, accum->xtype), y = grid_as(A, a, accum->ytype);
                grid_set(&Z, z, grid_cast(C->type, accum->ztype, binary(accum, x, y)));
            } else if (A->present[a]) {
                grid_set(&Z, z, grid_as(A, a, C->type));
            } else if (!accum) {
                Z.present[z] = false;
            }
        }
    return Z;
}
