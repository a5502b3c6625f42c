/* test_matrix_ops.c: operations that go entry by entry, with random operands and options, against the same
 * place by place. */
#include <dcsr/apply.h>
#include <dcsr/ewise.h>
#include <dcsr/select.h>
#include <dcsr/transpose.h>
#include "tests/support/support_cases.h"

static void ewise(random_case *f, uint64_t rows, uint64_t cols)
{
    dense_function function;
    dcsr_type x, z;
    bool add = pick_below(f, 2);
    f->desc.transpose_a = pick_below(f, 4) == 0, f->desc.transpose_b = pick_below(f, 4) == 0;
    operand a = pick_operand(f, rows, cols, f->desc.transpose_a),
            b = pick_operand(f, rows, cols, f->desc.transpose_b);
    const dcsr_binary_op *op = pick_binary(f, &function, &x, &z);
    case_set_up(f, add ? "ewise_add" : "ewise_mult", rows, cols);
    dense T = dense_create(z, rows, cols);
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t j = 0; j < cols; j++) {
            uint64_t at = dense_at(&T, i, j);
            bool in_a = a.shows.has[at], in_b = b.shows.has[at];
            if (in_a && in_b)
                dense_set(&T, i, j,
                          dense_cast(x, function(dense_cast(x, a.shows.value[at]),
                                                 dense_cast(x, b.shows.value[at]))));
            else if (add && (in_a || in_b))
                dense_set(&T, i, j, in_a ? a.shows.value[at] : b.shows.value[at]);
        }
    TEST_OK((add ? dcsr_matrix_ewise_add : dcsr_matrix_ewise_mult)(f->C, f->mask, f->accum, op, a.view,
                                                                   b.view, &f->desc));
    case_check(f, &T);
    operand_drop(&a);
    operand_drop(&b);
}

static void apply(random_case *f, uint64_t rows, uint64_t cols)
{
    dense_function function;
    dcsr_type x, z;
    uint64_t kind = pick_below(f, 4);
    char scalar[8];
    f->desc.transpose_a = pick_below(f, 4) == 0;
    operand a = pick_operand(f, rows, cols, f->desc.transpose_a);
    const dcsr_binary_op *op = pick_binary(f, &function, &x, &z);
    double number = (double)pick_below(f, 5) - 2;
    if (kind == 2) x = z = pick_types[pick_below(f, PICK_TYPES)];
    if (kind == 3) x = pick_types[pick_below(f, PICK_TYPES)], z = DCSR_INT64;
    test_encode(kind == 3 ? DCSR_INT64 : x, number, scalar);
    case_set_up(f, "apply", rows, cols);
    dense T = dense_create(z, rows, cols);
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t j = 0; j < cols; j++) {
            uint64_t at = dense_at(&T, i, j);
            if (!a.shows.has[at]) continue;
            double value = dense_cast(x, a.shows.value[at]);
            dense_set(&T, i, j,
                      kind == 0   ? dense_cast(x, function(number, value))
                      : kind == 1 ? dense_cast(x, function(value, number))
                      : kind == 2 ? -value
                                  : (double)j + number);
        }
    if (kind == 0) TEST_OK(dcsr_matrix_apply_first(f->C, f->mask, f->accum, op, scalar, a.view, &f->desc));
    if (kind == 1) TEST_OK(dcsr_matrix_apply_second(f->C, f->mask, f->accum, op, a.view, scalar, &f->desc));
    if (kind == 2)
        TEST_OK(dcsr_matrix_apply(f->C, f->mask, f->accum, dcsr_unary_op_of(DCSR_UNARY_NEGATE, x), a.view,
                                  &f->desc));
    if (kind == 3)
        TEST_OK(dcsr_matrix_apply_index(f->C, f->mask, f->accum, dcsr_index_op_of(DCSR_INDEX_COL_INDEX, x),
                                        a.view, scalar, &f->desc));
    case_check(f, &T);
    operand_drop(&a);
}

/* Whether an operator of this name is true, by its definition. */
static bool chosen(dcsr_index_name name, double value, int64_t i, int64_t j, int64_t t)
{
    switch ((int)name) {
    case DCSR_INDEX_TRIL:
        return j - i <= t;
    case DCSR_INDEX_TRIU:
        return j - i >= t;
    case DCSR_INDEX_DIAG:
        return j - i == t;
    case DCSR_INDEX_OFF_DIAG:
        return j - i != t;
    case DCSR_INDEX_ROW_LE:
        return i <= t;
    case DCSR_INDEX_ROW_GT:
        return i > t;
    case DCSR_INDEX_COL_LE:
        return j <= t;
    case DCSR_INDEX_COL_GT:
        return j > t;
    case DCSR_INDEX_COL_INDEX:
        return j + t != 0;
    case DCSR_INDEX_VALUE_GT:
        return value > (double)t;
    default:
        return value == (double)t;
    }
}

static void selects(random_case *f, uint64_t rows, uint64_t cols)
{
    static const dcsr_index_name names[] = {DCSR_INDEX_TRIL,     DCSR_INDEX_TRIU,    DCSR_INDEX_DIAG,
                                            DCSR_INDEX_OFF_DIAG, DCSR_INDEX_ROW_LE,  DCSR_INDEX_ROW_GT,
                                            DCSR_INDEX_COL_LE,   DCSR_INDEX_COL_GT,  DCSR_INDEX_COL_INDEX,
                                            DCSR_INDEX_VALUE_GT, DCSR_INDEX_VALUE_EQ};
    dcsr_index_name name = names[pick_below(f, sizeof names / sizeof *names)];
    dcsr_type x = pick_types[pick_below(f, PICK_TYPES)];
    bool of_value = name == DCSR_INDEX_VALUE_GT || name == DCSR_INDEX_VALUE_EQ;
    int64_t t =
        of_value ? (int64_t)pick_below(f, 3) - 1 : (int64_t)pick_below(f, 2 * cols + 1) - (int64_t)cols;
    if (!pick_below(f, 20) && !of_value && name != DCSR_INDEX_COL_INDEX)
        t = pick_below(f, 2) ? INT64_MAX / 2 : -INT64_MAX / 2;
    char thunk[8];
    test_encode(of_value ? x : DCSR_INT64, (double)t, thunk);
    f->desc.transpose_a = pick_below(f, 4) == 0;
    operand a = pick_operand(f, rows, cols, f->desc.transpose_a);
    case_set_up(f, "select", rows, cols);
    dense T = dense_create(a.shows.type, rows, cols);
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t j = 0; j < cols; j++) {
            uint64_t at = dense_at(&T, i, j);
            if (a.shows.has[at] && chosen(name, dense_cast(x, a.shows.value[at]), (int64_t)i, (int64_t)j, t))
                dense_set(&T, i, j, a.shows.value[at]);
        }
    TEST_OK(dcsr_matrix_select(f->C, f->mask, f->accum, dcsr_index_op_of(name, x), a.view, thunk, &f->desc));
    case_check(f, &T);
    operand_drop(&a);
}

static void transposes(random_case *f, uint64_t rows, uint64_t cols)
{
    bool copied = f->desc.transpose_a = pick_below(f, 4) == 0;
    operand a = pick_operand(f, rows, cols, !copied);
    case_set_up(f, "transpose", rows, cols);
    dense T = dense_create(a.shows.type, rows, cols);
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t j = 0; j < cols; j++)
            if (a.shows.has[dense_at(&T, i, j)]) dense_set(&T, i, j, a.shows.value[dense_at(&T, i, j)]);
    TEST_OK(dcsr_matrix_transpose(f->C, f->mask, f->accum, a.view, &f->desc));
    case_check(f, &T);
    operand_drop(&a);
}

#define RANDOM(name, operation)                                  \
    Test(matrix_ops, name, .timeout = 600)                       \
    {                                                            \
        run_cases(operation, (uint64_t)TEST_SIZE(400, 150, 40)); \
    }
RANDOM(ewise, ewise)
RANDOM(apply, apply)
RANDOM(selects, selects)
RANDOM(transpose, transposes)
