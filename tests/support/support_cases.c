/* support_cases.c: random cases for operations whose result is a matrix. */
#include "tests/support/support_cases.h"

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

const dcsr_type pick_types[PICK_TYPES] = {DCSR_FP64, DCSR_INT64, DCSR_INT32, DCSR_FP32, DCSR_INT16};

/* ---- One case ---- */

uint64_t pick_below(random_case *f, uint64_t n)
{
    return test_random_below(&f->random, n);
}

dcsr_type pick_type(random_case *f)
{
    return pick_below(f, 4) ? pick_types[pick_below(f, PICK_TYPES)] : DCSR_PATTERN;
}

/* A binary operator on some type. */
const dcsr_binary_op *pick_binary(random_case *f, dense_function *function, dcsr_type *x, dcsr_type *z)
{
    uint64_t which = pick_below(f, BINARIES);
    *x = binaries[which].name == DCSR_BINARY_NAMES ? DCSR_FP64 : pick_types[pick_below(f, PICK_TYPES)];
    *z = binaries[which].name == DCSR_BINARY_EQ ? DCSR_BOOL : *x;
    *function = binaries[which].function;
    return binaries[which].name == DCSR_BINARY_NAMES ? f->users : dcsr_binary_op_of(binaries[which].name, *x);
}

/* A matrix filled in a few batches, in any order, some of it deleted again. */
dcsr_matrix *pick_matrix(random_case *f, dcsr_type type, uint64_t rows, uint64_t cols)
{
    static const dcsr_policy policies[] = {DCSR_POLICY_LAST, DCSR_POLICY_SUM, DCSR_POLICY_KEEP};
    dcsr_matrix *matrix = test_matrix(f->context, type, rows, cols, policies[pick_below(f, 3)]);
    uint64_t batches = pick_below(f, 4), density = pick_below(f, 4);
    for (uint64_t b = 0; b < batches && rows && cols; b++) {
        size_t n = (size_t)pick_below(f, density ? rows * cols / (density * 2) + 2 : 8);
        test_entry *entries = test_allocate(n + 1, sizeof *entries);
        for (size_t i = 0; i < n; i++)
            entries[i] = (test_entry){pick_below(f, rows), pick_below(f, cols), (double)pick_below(f, 4) - 1};
        if (b == 2)
            test_remove(matrix, n / 2, entries);
        else
            test_insert(matrix, n, entries);
        free(entries);
    }
    if (!pick_below(f, 3)) TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    return matrix;
}

dcsr_view *pick_view(random_case *f, dcsr_matrix *matrix)
{
    return test_view(matrix, pick_below(f, 2) ? DCSR_LAYOUT_SEGMENTS : DCSR_LAYOUT_CSR,
                     (unsigned)pick_below(f, 4));
}

operand pick_operand(random_case *f, uint64_t rows, uint64_t cols, bool transposed)
{
    operand o;
    o.matrix =
        transposed ? pick_matrix(f, pick_type(f), cols, rows) : pick_matrix(f, pick_type(f), rows, cols);
    o.view = pick_view(f, o.matrix);
    o.shows = dense_of_matrix(o.matrix);
    if (!transposed) return o;
    dense shows = dense_transpose(&o.shows);
    dense_free(&o.shows);
    o.shows = shows;
    return o;
}

void operand_drop(operand *o)
{
    dcsr_view_destroy(o->view);
    dcsr_matrix_destroy(o->matrix);
    dense_free(&o->shows);
}

/* Output, mask, and so on for a result of this shape. */
void case_set_up(random_case *f, const char *name, uint64_t rows, uint64_t cols)
{
    dcsr_type z;
    f->C = pick_matrix(f, pick_type(f), rows, cols);
    f->before = dense_of_matrix(f->C);
    f->M = pick_below(f, 2) ? pick_matrix(f, pick_type(f), rows, cols) : NULL;
    f->mask = f->M ? pick_view(f, f->M) : NULL;
    if (f->M) f->truth = dense_of_matrix(f->M);
    f->accum = pick_binary(f, &f->accumulate, &f->accum_type, &z);
    if (pick_below(f, 2)) f->accum = NULL, f->accumulate = NULL;
    f->desc.replace = pick_below(f, 2);
    f->desc.mask_structure = pick_below(f, 2);
    f->desc.mask_complement = pick_below(f, 3) == 0;
    snprintf(f->what, sizeof f->what, "seed %llu: %s %dx%d, C %s, mask %s%s%s, accum %d%s%s%s",
             (unsigned long long)f->random.state, name, (int)rows, (int)cols, dcsr_type_name(f->before.type),
             f->M ? dcsr_type_name(f->truth.type) : "none", f->desc.mask_structure ? " structure" : "",
             f->desc.mask_complement ? " complement" : "", f->accum != NULL,
             f->desc.replace ? " replace" : "", f->desc.transpose_a ? " A^T" : "",
             f->desc.transpose_b ? " B^T" : "");
}

/* Compares C with what it should be, T being computed, and cleans up. */
void case_check(random_case *f, dense *T)
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

void run_cases(void (*operation)(random_case *f, uint64_t rows, uint64_t cols), uint64_t rounds)
{
    test_seeds seeds = test_seeds_from_environment(rounds);
    dcsr_context *context = test_context(2);
    for (uint64_t s = 0; s < seeds.rounds; s++) {
        test_seed_begins(seeds.first + s);
        random_case f = {.random = {seeds.first + s}, .context = context};
        TEST_OK(dcsr_binary_op_create(&f.users, "twice x plus y", DCSR_FP64, DCSR_FP64, DCSR_FP64,
                                      users_function, NULL));
        bool large = pick_below(&f, 8) == 0;
        operation(&f, pick_below(&f, large ? 200 : 12), pick_below(&f, large ? 150 : 12));
        dcsr_binary_op_destroy(f.users);
    }
    test_close(context);
}
