/* test_matrix_ops.c: operations whose result is a matrix, with random operands and options, against the same
 * place by place. */
#include "ops/apply.h"
#include "ops/assign.h"
#include "ops/ewise.h"
#include "ops/extract.h"
#include "ops/kronecker.h"
#include "ops/reduce.h"
#include "ops/select.h"
#include "ops/transpose.h"
#include "tests/support_dense.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- Operators, twice ---- */

static double plus(double x, double y)
{
    return x + y;
}
static double minus(double x, double y)
{
    return x - y;
}
static double times(double x, double y)
{
    return x * y;
}
static double first(double x, double y)
{
    (void)y;
    return x;
}
static double equal(double x, double y)
{
    return x == y;
}
static double twice_x_plus_y(double x, double y)
{
    return 2 * x + y;
}
static bool users_function(void *z, const void *x, const void *y, void *user)
{
    *(double *)z = 2 * *(const double *)x + *(const double *)y;
    return user == NULL;
}

static const struct {
    dcsr_binary_name name;
    dense_function function;
} binaries[] = {{DCSR_BINARY_PLUS, plus},   {DCSR_BINARY_MINUS, minus}, {DCSR_BINARY_TIMES, times},
                {DCSR_BINARY_FIRST, first}, {DCSR_BINARY_EQ, equal},    {DCSR_BINARY_NAMES, twice_x_plus_y}};
enum { BINARIES = sizeof binaries / sizeof *binaries };

static const dcsr_type types[] = {DCSR_FP64, DCSR_INT64, DCSR_INT32, DCSR_FP32, DCSR_INT16};
enum { TYPES = sizeof types / sizeof *types };

/* ---- One case ---- */

typedef struct fixture {
    test_random random;
    dcsr_context *context;
    dcsr_binary_op *users;
    char what[200];
    /* Output, mask, accumulator, description, each perhaps none. */
    dcsr_matrix *C, *M;
    dcsr_view *mask;
    dense before, truth;
    const dcsr_binary_op *accum;
    dense_function accumulate;
    dcsr_type accum_type; /* of its operands */
    dcsr_desc desc;
} fixture;

static uint64_t below(fixture *f, uint64_t n)
{
    return test_random_below(&f->random, n);
}

static dcsr_type any_type(fixture *f)
{
    return below(f, 4) ? types[below(f, TYPES)] : DCSR_PATTERN;
}

/* A binary operator on some type. */
static const dcsr_binary_op *any_binary(fixture *f, dense_function *function, dcsr_type *x, dcsr_type *z)
{
    uint64_t which = below(f, BINARIES);
    *x = binaries[which].name == DCSR_BINARY_NAMES ? DCSR_FP64 : types[below(f, TYPES)];
    *z = binaries[which].name == DCSR_BINARY_EQ ? DCSR_BOOL : *x;
    *function = binaries[which].function;
    return binaries[which].name == DCSR_BINARY_NAMES ? f->users : dcsr_binary_op_of(binaries[which].name, *x);
}

/* A matrix filled in a few batches, in any order, some of it deleted again. */
static dcsr_matrix *any_matrix(fixture *f, dcsr_type type, uint64_t rows, uint64_t cols)
{
    static const dcsr_policy policies[] = {DCSR_POLICY_LAST, DCSR_POLICY_SUM, DCSR_POLICY_KEEP};
    dcsr_matrix *matrix = test_matrix(f->context, type, rows, cols, policies[below(f, 3)]);
    uint64_t batches = below(f, 4), density = below(f, 4);
    for (uint64_t b = 0; b < batches && rows && cols; b++) {
        size_t n = (size_t)below(f, density ? rows * cols / (density * 2) + 2 : 8);
        test_entry *entries = test_allocate(n + 1, sizeof *entries);
        for (size_t i = 0; i < n; i++)
            entries[i] = (test_entry){below(f, rows), below(f, cols), (double)below(f, 4) - 1};
        if (b == 2)
            test_remove(matrix, n / 2, entries);
        else
            test_insert(matrix, n, entries);
        free(entries);
    }
    if (!below(f, 3)) TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    return matrix;
}

static dcsr_view *any_view(fixture *f, dcsr_matrix *matrix)
{
    return test_view(matrix, below(f, 2) ? DCSR_LAYOUT_SEGMENTS : DCSR_LAYOUT_CSR, (unsigned)below(f, 4));
}

/* An operand: its view, and what that shows, or the transpose. */
typedef struct operand {
    dcsr_matrix *matrix;
    dcsr_view *view;
    dense shows;
} operand;

static operand any_operand(fixture *f, uint64_t rows, uint64_t cols, bool transposed)
{
    operand o;
    o.matrix = transposed ? any_matrix(f, any_type(f), cols, rows) : any_matrix(f, any_type(f), rows, cols);
    o.view = any_view(f, o.matrix);
    o.shows = dense_of_matrix(o.matrix);
    if (!transposed) return o;
    dense shows = dense_transpose(&o.shows);
    dense_free(&o.shows);
    o.shows = shows;
    return o;
}

static void drop(operand *o)
{
    dcsr_view_destroy(o->view);
    dcsr_matrix_destroy(o->matrix);
    dense_free(&o->shows);
}

/* Output, mask, and so on for a result of this shape. */
static void set_up(fixture *f, const char *name, uint64_t rows, uint64_t cols)
{
    dcsr_type z;
    f->C = any_matrix(f, any_type(f), rows, cols);
    f->before = dense_of_matrix(f->C);
    f->M = below(f, 2) ? any_matrix(f, any_type(f), rows, cols) : NULL;
    f->mask = f->M ? any_view(f, f->M) : NULL;
    if (f->M) f->truth = dense_of_matrix(f->M);
    f->accum = any_binary(f, &f->accumulate, &f->accum_type, &z);
    if (below(f, 2)) f->accum = NULL, f->accumulate = NULL;
    f->desc.replace = below(f, 2);
    f->desc.mask_structure = below(f, 2);
    f->desc.mask_complement = below(f, 3) == 0;
    snprintf(f->what, sizeof f->what, "seed %llu: %s %dx%d, C %s, mask %s%s%s, accum %d%s%s%s",
             (unsigned long long)f->random.state, name, (int)rows, (int)cols, dcsr_type_name(f->before.type),
             f->M ? dcsr_type_name(f->truth.type) : "none", f->desc.mask_structure ? " structure" : "",
             f->desc.mask_complement ? " complement" : "", f->accum != NULL,
             f->desc.replace ? " replace" : "", f->desc.transpose_a ? " A^T" : "",
             f->desc.transpose_b ? " B^T" : "");
}

/* Compares C with what it should be, T being computed, and cleans up. */
static void check(fixture *f, dense *T)
{
    dense expected = dense_create(f->before.type, f->before.rows, f->before.cols);
    for (uint64_t at = 0; at < expected.rows * expected.cols; at++)
        expected.has[at] = f->before.has[at], expected.value[at] = f->before.value[at];
    dense_write(&expected, f->M ? &f->truth : NULL, f->accumulate, f->accum_type, &f->desc, T);
    dense found = dense_of_matrix(f->C);
    dense_compare(&found, &expected, f->what);
    dcsr_view *sorted = test_view(f->C, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    dense again = dense_of_view(sorted);
    dense_compare(&again, &expected, f->what);
    dcsr_view_destroy(sorted);
    dense_free(&again);
    dense_free(&found);
    dense_free(&expected);
    dense_free(T);
    dense_free(&f->before);
    dense_free(&f->truth);
    dcsr_view_destroy(f->mask);
    if (f->M) dcsr_matrix_destroy(f->M);
    dcsr_matrix_destroy(f->C);
    f->mask = NULL, f->M = NULL;
}

/* ---- The operations ---- */

static void ewise(fixture *f, uint64_t rows, uint64_t cols)
{
    dense_function function;
    dcsr_type x, z;
    bool add = below(f, 2);
    f->desc.transpose_a = below(f, 4) == 0, f->desc.transpose_b = below(f, 4) == 0;
    operand a = any_operand(f, rows, cols, f->desc.transpose_a),
            b = any_operand(f, rows, cols, f->desc.transpose_b);
    const dcsr_binary_op *op = any_binary(f, &function, &x, &z);
    set_up(f, add ? "ewise_add" : "ewise_mult", rows, cols);
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
    check(f, &T);
    drop(&a);
    drop(&b);
}

static void apply(fixture *f, uint64_t rows, uint64_t cols)
{
    dense_function function;
    dcsr_type x, z;
    uint64_t kind = below(f, 4);
    char scalar[8];
    f->desc.transpose_a = below(f, 4) == 0;
    operand a = any_operand(f, rows, cols, f->desc.transpose_a);
    const dcsr_binary_op *op = any_binary(f, &function, &x, &z);
    double number = (double)below(f, 5) - 2;
    if (kind == 2) x = z = types[below(f, TYPES)];
    if (kind == 3) x = types[below(f, TYPES)], z = DCSR_INT64;
    test_encode(kind == 3 ? DCSR_INT64 : x, number, scalar);
    set_up(f, "apply", rows, cols);
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
    check(f, &T);
    drop(&a);
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

static void selects(fixture *f, uint64_t rows, uint64_t cols)
{
    static const dcsr_index_name names[] = {DCSR_INDEX_TRIL,     DCSR_INDEX_TRIU,    DCSR_INDEX_DIAG,
                                            DCSR_INDEX_OFF_DIAG, DCSR_INDEX_ROW_LE,  DCSR_INDEX_ROW_GT,
                                            DCSR_INDEX_COL_LE,   DCSR_INDEX_COL_GT,  DCSR_INDEX_COL_INDEX,
                                            DCSR_INDEX_VALUE_GT, DCSR_INDEX_VALUE_EQ};
    dcsr_index_name name = names[below(f, sizeof names / sizeof *names)];
    dcsr_type x = types[below(f, TYPES)];
    bool of_value = name == DCSR_INDEX_VALUE_GT || name == DCSR_INDEX_VALUE_EQ;
    int64_t t = of_value ? (int64_t)below(f, 3) - 1 : (int64_t)below(f, 2 * cols + 1) - (int64_t)cols;
    if (!below(f, 20) && !of_value && name != DCSR_INDEX_COL_INDEX)
        t = below(f, 2) ? INT64_MAX / 2 : -INT64_MAX / 2;
    char thunk[8];
    test_encode(of_value ? x : DCSR_INT64, (double)t, thunk);
    f->desc.transpose_a = below(f, 4) == 0;
    operand a = any_operand(f, rows, cols, f->desc.transpose_a);
    set_up(f, "select", rows, cols);
    dense T = dense_create(a.shows.type, rows, cols);
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t j = 0; j < cols; j++) {
            uint64_t at = dense_at(&T, i, j);
            if (a.shows.has[at] && chosen(name, dense_cast(x, a.shows.value[at]), (int64_t)i, (int64_t)j, t))
                dense_set(&T, i, j, a.shows.value[at]);
        }
    TEST_OK(dcsr_matrix_select(f->C, f->mask, f->accum, dcsr_index_op_of(name, x), a.view, thunk, &f->desc));
    check(f, &T);
    drop(&a);
}

static void transposes(fixture *f, uint64_t rows, uint64_t cols)
{
    bool copied = f->desc.transpose_a = below(f, 4) == 0;
    operand a = any_operand(f, rows, cols, !copied);
    set_up(f, "transpose", rows, cols);
    dense T = dense_create(a.shows.type, rows, cols);
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t j = 0; j < cols; j++)
            if (a.shows.has[dense_at(&T, i, j)]) dense_set(&T, i, j, a.shows.value[dense_at(&T, i, j)]);
    TEST_OK(dcsr_matrix_transpose(f->C, f->mask, f->accum, a.view, &f->desc));
    check(f, &T);
    drop(&a);
}

/* n indices below size: a range, ascending ones, or any; NULL for all, with n changed to size. Without
 * `repeats` none stands twice. */
static uint64_t *any_indices(fixture *f, uint64_t *n, uint64_t size, bool repeats)
{
    uint64_t kind = below(f, 4);
    if (kind == 0 || !size) {
        *n = size;
        return NULL;
    }
    if (!repeats && *n > size) *n = size;
    uint64_t *list = test_allocate(*n + 1, sizeof *list), from = below(f, size > *n ? size - *n + 1 : 1);
    for (uint64_t k = 0; k < *n; k++)
        list[k] = kind == 1 && *n <= size ? from + k : repeats ? below(f, size) : k;
    if (repeats || kind == 1) return list;
    /* The first n of a shuffled pack; in order, for one kind of three. */
    uint64_t *pack = test_allocate(size, sizeof *pack), taken = 0;
    for (uint64_t i = 0; i < size; i++) pack[i] = i;
    for (uint64_t i = size - 1; i > 0; i--) {
        uint64_t other = below(f, i + 1), swap = pack[i];
        pack[i] = pack[other], pack[other] = swap;
    }
    if (kind == 2)
        for (uint64_t k = 0; k < *n; k++) list[k] = pack[k];
    else
        for (uint64_t i = 0; i < size; i++)
            for (uint64_t k = 0; k < *n; k++)
                if (pack[k] == i) list[taken++] = i;
    free(pack);
    return list;
}

static void extracts(fixture *f, uint64_t rows, uint64_t cols)
{
    uint64_t nrows = below(f, 2 * rows + 1), ncols = below(f, 2 * cols + 1);
    f->desc.transpose_a = below(f, 4) == 0;
    operand a = any_operand(f, rows, cols, f->desc.transpose_a);
    uint64_t *I = any_indices(f, &nrows, rows, true), *J = any_indices(f, &ncols, cols, true);
    set_up(f, "extract", nrows, ncols);
    dense T = dense_create(a.shows.type, nrows, ncols);
    for (uint64_t i = 0; i < nrows; i++)
        for (uint64_t j = 0; j < ncols; j++) {
            uint64_t at = dense_at(&a.shows, I ? I[i] : i, J ? J[j] : j);
            if (a.shows.has[at]) dense_set(&T, i, j, a.shows.value[at]);
        }
    TEST_OK(dcsr_matrix_extract(f->C, f->mask, f->accum, a.view, I, nrows, J, ncols, &f->desc));
    check(f, &T);
    free(I);
    free(J);
    drop(&a);
}

/* What is not in the region is as it was before mask and accumulator: T has what C has there. */
static void assigns(fixture *f, uint64_t rows, uint64_t cols)
{
    uint64_t nrows = below(f, rows + 1), ncols = below(f, cols + 1);
    bool scalar = below(f, 2);
    uint64_t *I = any_indices(f, &nrows, rows, false), *J = any_indices(f, &ncols, cols, false);
    f->desc.transpose_a = !scalar && below(f, 4) == 0;
    operand a = any_operand(f, nrows, ncols, f->desc.transpose_a);
    set_up(f, scalar ? "assign_scalar" : "assign", rows, cols);
    dcsr_type type = scalar ? any_type(f) : a.shows.type;
    double number = (double)below(f, 5) - 2;
    /* The region's content, in a type that holds both C's and A's numbers. */
    dense T = dense_create(DCSR_FP64, rows, cols);
    for (uint64_t i = 0; i < rows && !f->accum; i++)
        for (uint64_t j = 0; j < cols; j++)
            if (f->before.has[dense_at(&T, i, j)]) dense_set(&T, i, j, f->before.value[dense_at(&T, i, j)]);
    for (uint64_t i = 0; i < nrows; i++)
        for (uint64_t j = 0; j < ncols; j++) {
            uint64_t to = dense_at(&T, I ? I[i] : i, J ? J[j] : j), at = dense_at(&a.shows, i, j);
            T.has[to] = scalar || a.shows.has[at];
            T.value[to] = dense_cast(type, scalar ? number : a.shows.value[at]);
        }
    char value[8];
    if (type != DCSR_PATTERN) test_encode(type, number, value);
    if (scalar)
        TEST_OK(dcsr_matrix_assign_scalar(f->C, f->mask, f->accum, type == DCSR_PATTERN ? NULL : value, type,
                                          I, nrows, J, ncols, &f->desc));
    else
        TEST_OK(dcsr_matrix_assign(f->C, f->mask, f->accum, a.view, I, nrows, J, ncols, &f->desc));
    check(f, &T);
    free(I);
    free(J);
    drop(&a);
}

static void kroneckers(fixture *f, uint64_t rows, uint64_t cols)
{
    dense_function function;
    dcsr_type x, z;
    uint64_t m = below(f, 4) + 1, n = below(f, 4) + 1, arows = rows / m, acols = cols / n;
    f->desc.transpose_a = below(f, 4) == 0, f->desc.transpose_b = below(f, 4) == 0;
    operand a = any_operand(f, arows, acols, f->desc.transpose_a),
            b = any_operand(f, m, n, f->desc.transpose_b);
    const dcsr_binary_op *op = any_binary(f, &function, &x, &z);
    set_up(f, "kronecker", arows * m, acols * n);
    dense T = dense_create(z, arows * m, acols * n);
    for (uint64_t i = 0; i < T.rows; i++)
        for (uint64_t j = 0; j < T.cols; j++) {
            uint64_t p = dense_at(&a.shows, i / m, j / n), q = dense_at(&b.shows, i % m, j % n);
            if (a.shows.has[p] && b.shows.has[q])
                dense_set(&T, i, j,
                          dense_cast(
                              x, function(dense_cast(x, a.shows.value[p]), dense_cast(x, b.shows.value[q]))));
        }
    TEST_OK(dcsr_kronecker(f->C, f->mask, f->accum, op, a.view, b.view, &f->desc));
    check(f, &T);
    drop(&a);
    drop(&b);
}

/* ---- Tests ---- */

static void run_random(void (*operation)(fixture *f, uint64_t rows, uint64_t cols), uint64_t rounds)
{
    test_seeds seeds = test_seeds_from_environment(rounds);
    dcsr_context *context = test_context(2);
    for (uint64_t s = 0; s < seeds.rounds; s++) {
        test_seed_begins(seeds.first + s);
        fixture f = {.random = {seeds.first + s}, .context = context};
        TEST_OK(dcsr_binary_op_create(&f.users, "twice x plus y", DCSR_FP64, DCSR_FP64, DCSR_FP64,
                                      users_function, NULL));
        bool large = below(&f, 8) == 0;
        operation(&f, below(&f, large ? 200 : 12), below(&f, large ? 150 : 12));
        dcsr_binary_op_destroy(f.users);
    }
    test_close(context);
}

#define RANDOM(name, operation)                                   \
    Test(matrix_ops, name, .timeout = 600)                        \
    {                                                             \
        run_random(operation, (uint64_t)TEST_SIZE(400, 150, 40)); \
    }
RANDOM(ewise, ewise)
RANDOM(apply, apply)
RANDOM(selects, selects)
RANDOM(transpose, transposes)
RANDOM(extract, extracts)
RANDOM(assign, assigns)
RANDOM(kronecker, kroneckers)
