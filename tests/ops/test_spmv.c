/* test_spmv.c: sparse matrix times dense vector, against sums taken entry by entry from an oracle. */
#include <dcsr/spmv.h>
#include "tests/support/support.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* On the emulator one is enough: threads are the host's. */
enum { CONTEXTS = TEST_EMULATOR ? 1 : 2, GUARD = 16 };
static const int threads_of[] = {1, 4}; /* of each context */

/* The same matrix in contexts of different numbers of threads, and what it should hold. */
typedef struct subject {
    dcsr_context *context[CONTEXTS];
    dcsr_matrix *matrix[CONTEXTS];
    oracle model;
    dcsr_type vector; /* of x and y */
    size_t size;
    char *x;
    test_random random;
    bool special; /* x and the values may be NaN, infinite or -0 */
} subject;

static dcsr_type vector_type(dcsr_type type)
{
    return type == DCSR_PATTERN ? DCSR_FP64 : type;
}

static bool is_float(dcsr_type type)
{
    return type == DCSR_FP32 || type == DCSR_FP64;
}

/* Integers of all bits; fractions in (-1, 1) whose sums round differently in another order, or, where the
 * matrix sums, do not round. */
static void random_value(subject *s, dcsr_type type, void *value)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0};
    uint64_t bits = test_random_next(&s->random);
    double number = (double)(int64_t)bits / 9223372036854775808.0;
    if (s->model.policy == DCSR_POLICY_SUM) number = (double)((int64_t)bits >> 58) / 64;
    if (s->special && test_random_once_in(&s->random, 40)) number = odd[bits % 4];
    if (type == DCSR_BOOL)
        *(bool *)value = bits & 1;
    else if (is_float(type))
        test_encode(type, number, value);
    else
        memcpy(value, &bits, dcsr_type_size(type));
}

static void set_up(subject *s, dcsr_type type, dcsr_policy policy, uint64_t rows, uint64_t cols,
                   uint64_t seed, bool special)
{
    *s = (subject){.vector = vector_type(type), .random = {seed}, .special = special};
    s->size = dcsr_type_size(s->vector);
    oracle_create(&s->model, type, policy, rows, cols);
    for (int i = 0; i < CONTEXTS; i++) {
        s->context[i] = test_context(threads_of[i]);
        s->matrix[i] = test_matrix(s->context[i], type, rows, cols, policy);
    }
    s->x = test_allocate(cols, s->size);
    for (uint64_t j = 0; j < cols; j++) random_value(s, s->vector, s->x + j * s->size);
}

static void tear_down(subject *s)
{
    for (int i = 0; i < CONTEXTS; i++) {
        dcsr_matrix_destroy(s->matrix[i]);
        test_close(s->context[i]);
    }
    oracle_destroy(&s->model);
    free(s->x);
}

static void change(subject *s, bool insert, size_t n, const uint64_t *rows, const uint64_t *cols)
{
    dcsr_type type = s->model.type;
    size_t size = dcsr_type_size(type);
    char *values = size ? test_allocate(n, size) : NULL;
    for (size_t k = 0; values && k < n; k++) random_value(s, type, values + k * size);
    for (int i = 0; i < CONTEXTS; i++) {
        if (insert)
            TEST_OK(dcsr_matrix_insert(s->matrix[i], n, rows, cols, values, NULL));
        else
            TEST_OK(dcsr_matrix_remove(s->matrix[i], n, rows, cols, NULL));
        TEST_OK(dcsr_matrix_wait(s->matrix[i]));
    }
    if (insert)
        oracle_insert(&s->model, n, rows, cols, values);
    else
        oracle_remove(&s->model, n, rows, cols);
    free(values);
}

/* A batch of which a quarter goes to one row. */
static void random_change(subject *s, bool insert, size_t n)
{
    oracle *m = &s->model;
    if (!m->rows || !m->cols) return;
    uint64_t *rows = test_allocate(n, sizeof *rows), *cols = test_allocate(n, sizeof *cols);
    uint64_t spread = 1 + test_random_below(&s->random, m->rows);
    for (size_t k = 0; k < n; k++) {
        rows[k] = test_random_once_in(&s->random, 4) ? m->rows / 2 : test_random_below(&s->random, spread);
        cols[k] = test_random_below(&s->random, m->cols);
    }
    change(s, insert, n, rows, cols);
    free(rows);
    free(cols);
}

static void defragment(subject *s, dcsr_defragment_scope scope)
{
    for (int i = 0; i < CONTEXTS; i++) {
        TEST_OK(dcsr_matrix_defragment(s->matrix[i], scope, NULL));
        TEST_OK(dcsr_matrix_wait(s->matrix[i]));
    }
}

/* Whether y[row] is the sum over the row of the oracle. */
static bool is_right(const subject *s, uint64_t row, const char *y)
{
    const oracle_row *r = &s->model.row[row];
    uint64_t sum = 0, mask = s->size == 8 ? UINT64_MAX : ((uint64_t)1 << 8 * s->size) - 1;
    long double exact = 0, magnitude = 0;
    bool any = false;
    for (size_t k = 0; k < r->length; k++) {
        const char *x = s->x + r->entry[k].column * s->size;
        uint64_t bits = oracle_value(s->vector, x, 0);
        sum += r->entry[k].value * bits;
        any |= r->entry[k].value && bits;
        double product =
            (s->model.type ? test_decode(s->model.type, &r->entry[k].value) : 1) * test_decode(s->vector, x);
        exact += (long double)product;
        magnitude += fabsl((long double)product);
    }
    uint64_t got = oracle_value(s->vector, y, row);
    if (s->vector == DCSR_BOOL) return got == any;
    if (!is_float(s->vector)) return got == (sum & mask);
    double found = test_decode(s->vector, y + row * s->size);
    if (!isfinite(exact)) return isnan(exact) ? isnan(found) : found == (double)exact;
    double epsilon = s->vector == DCSR_FP32 ? 0x1p-23 : 0x1p-52;
    return fabs(found - (double)exact) <= (double)(r->length + 1) * epsilon * (double)magnitude;
}

/* The same bits, or both not a number. */
static bool is_same(const subject *s, uint64_t row, const char *y, const char *other)
{
    if (oracle_value(s->vector, y, row) == oracle_value(s->vector, other, row)) return true;
    return is_float(s->vector) && isnan(test_decode(s->vector, y + row * s->size)) &&
           isnan(test_decode(s->vector, other + row * s->size));
}

static void check_view(subject *s, int i, dcsr_layout layout, unsigned flags, char *y, const char *other)
{
    uint64_t rows = s->model.rows;
    dcsr_view *view = test_view(s->matrix[i], layout, flags);
    memset(y, 0x5a, rows * s->size + GUARD);
    TEST_OK(dcsr_spmv(y, view, s->x));
    for (uint64_t row = 0; row < rows; row++) {
        cr_assert(is_right(s, row, y), "row %" PRIu64 " of %s, %d threads, layout %d, flags %u: wrong sum %g",
                  row, dcsr_type_name(s->model.type), threads_of[i], (int)layout, flags,
                  test_decode(s->vector, y + row * s->size));
        cr_assert(!other || is_same(s, row, y, other),
                  "row %" PRIu64 " of %s, %d threads, layout %d, flags %u: other bits than before", row,
                  dcsr_type_name(s->model.type), threads_of[i], (int)layout, flags);
    }
    for (size_t k = 0; k < GUARD; k++)
        cr_assert(y[rows * s->size + k] == 0x5a, "written beyond the end of y");
    dcsr_view_destroy(view);
}

/* Every kind of view of the newest version, in every context. Views that show a row's entries in the same
 * order give the same bits; so does the order that `before` was computed from, if it is not NULL. Returns y.
 */
static char *check(subject *s, const char *before)
{
    /* Where leaving duplicates alone makes no difference. */
    bool duplicates = s->model.policy == DCSR_POLICY_KEEP ||
                      (s->model.policy == DCSR_POLICY_SUM && s->model.type != DCSR_PATTERN && !s->special);
    char *y = test_allocate(s->model.rows * s->size + GUARD, 1), *first = NULL;
    for (int i = 0; i < CONTEXTS; i++) {
        for (dcsr_layout layout = DCSR_LAYOUT_SEGMENTS; layout <= DCSR_LAYOUT_CSR; layout++) {
            check_view(s, i, layout, 0, y, first ? first : before);
            if (!first) first = test_copy(y, s->model.rows * s->size + GUARD);
            check_view(s, i, layout, DCSR_VIEW_SORTED, y, NULL);
            if (duplicates) check_view(s, i, layout, DCSR_VIEW_DUPLICATES, y, NULL);
        }
    }
    free(y);
    return first;
}

Test(spmv, every_row_length_in_every_number_of_pieces)
{
    for (dcsr_type type = DCSR_PATTERN; type < DCSR_TYPE_COUNT; type++) {
        enum { COLS = 150 };
        uint64_t most = 150, each = (uint64_t)TEST_SIZE(4, 2, 2), count = each * most;
        subject s;
        set_up(&s, type, DCSR_POLICY_KEEP, count, COLS, 7, false);
        /* `each` rows of each length, which grow in steps that are longer each time, as new segments are. */
        uint64_t *rows = test_allocate(count * most, sizeof *rows),
                 *cols = test_allocate(count * most, sizeof *cols);
        static const unsigned tenths[] = {0, 1, 3, 6, 10};
        for (int b = 0; b < 4; b++) {
            size_t n = 0;
            for (uint64_t r = 0; r < count; r++)
                for (uint64_t e = r / each * tenths[b] / 10; e < r / each * tenths[b + 1] / 10; e++, n++) {
                    rows[n] = r;
                    cols[n] = (e * 37 + r) % COLS;
                }
            change(&s, true, n, rows, cols);
        }
        cr_assert(test_info(s.matrix[0]).max_segments >= 3,
                  "the rows are in too few pieces to test anything");
        char *before = check(&s, NULL);
        defragment(&s, DCSR_DEFRAGMENT_WHOLE);
        cr_assert(test_info(s.matrix[0]).max_segments == 1);
        free(check(&s, before));
        free(before);
        free(rows);
        free(cols);
        tear_down(&s);
    }
}

/* y = A x for a matrix whose products are all too small for a number, and negative. */
static void multiply_tiny(dcsr_matrix *matrix, double *y)
{
    double x[64];
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = 1e-200;
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
    TEST_OK(dcsr_spmv(y, view, x));
    dcsr_view_destroy(view);
}

/* Sums of -0: which partial sums +0 is added to, where a vector is not full, depends on the pieces. */
Test(spmv, sums_that_vanish_have_the_same_sign_in_every_layout)
{
    enum { SIDE = 64 };
    dcsr_context *context = test_context(1);
    for (uint64_t portions = 2; portions <= 4; portions++) {
        dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, SIDE, SIDE, DCSR_POLICY_KEEP);
        for (uint64_t b = 0; b < portions; b++) {
            uint64_t rows[SIDE * SIDE], cols[SIDE * SIDE], n = 0;
            double values[SIDE * SIDE];
            for (uint64_t r = 0; r < SIDE; r++)
                for (uint64_t e = r * b / portions; e < r * (b + 1) / portions; e++, n++) {
                    rows[n] = r;
                    cols[n] = e;
                    values[n] = -1e-200;
                }
            TEST_OK(dcsr_matrix_insert(matrix, n, rows, cols, values, NULL));
            TEST_OK(dcsr_matrix_wait(matrix));
        }
        double in_pieces[SIDE], whole[SIDE];
        cr_assert_geq(test_info(matrix).max_segments, 2);
        multiply_tiny(matrix, in_pieces);
        TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
        TEST_OK(dcsr_matrix_wait(matrix));
        multiply_tiny(matrix, whole);
        cr_assert_arr_eq(in_pieces, whole, sizeof whole, "%d portions", (int)portions);
        dcsr_matrix_destroy(matrix);
    }
    test_close(context);
}

/* Rows of up to 8 entries that come one by one. */
Test(spmv, short_rows_in_many_pieces)
{
    static const dcsr_type types[] = {DCSR_PATTERN, DCSR_FP64, DCSR_FP32, DCSR_INT8};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        enum { ROWS = 200, MOST = 8 };
        uint64_t rows[ROWS], cols[ROWS];
        subject s;
        set_up(&s, types[t], DCSR_POLICY_KEEP, ROWS, 50, 3 + t, false);
        for (uint64_t e = 0; e < MOST; e++) {
            size_t n = 0;
            for (uint64_t r = 0; r < ROWS; r++)
                if (r % (MOST + 1) > e) rows[n] = r, cols[n++] = (e * 11 + r) % 50;
            change(&s, true, n, rows, cols);
        }
        cr_assert(test_info(s.matrix[0]).max_segments >= 3);
        char *before = check(&s, NULL);
        defragment(&s, DCSR_DEFRAGMENT_WHOLE);
        free(check(&s, before));
        free(before);
        tear_down(&s);
    }
}

static void random_case(dcsr_type type, test_random *random, uint64_t seed)
{
    static const uint64_t sizes[] = {0, 1, 2, 31, 32, 33, 63, 64, 65, 128, 500};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    dcsr_policy policy = (dcsr_policy)test_random_below(random, DCSR_POLICY_COUNT);
    subject s;
    set_up(&s, type, policy, sizes[test_random_below(random, SIZES)], sizes[test_random_below(random, SIZES)],
           seed, test_random_once_in(random, 3));
    uint64_t steps = 1 + test_random_below(random, 6), most = 4 * s.model.rows + 40;
    free(check(&s, NULL));
    for (uint64_t k = 0; k < steps; k++) {
        random_change(&s, !test_random_once_in(random, 4), test_random_below(random, most));
        free(check(&s, NULL));
    }
    defragment(&s, test_random_once_in(random, 2) ? DCSR_DEFRAGMENT_SELECTED : DCSR_DEFRAGMENT_WHOLE);
    random_change(&s, true, test_random_below(random, most));
    free(check(&s, NULL));
    tear_down(&s);
}

Test(spmv, agrees_with_sums_by_entry)
{
    test_seeds seeds = test_seeds_from_environment(TEST_SIZE(30, 8, 4));
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.rounds; seed++) {
        test_seed_begins(seed);
        test_random random = {seed};
        for (dcsr_type type = DCSR_PATTERN; type < DCSR_TYPE_COUNT; type++) random_case(type, &random, seed);
    }
}

/* Large enough that several threads take part, with a row that has a fifth of all entries. */
Test(spmv, does_not_depend_on_the_number_of_threads)
{
    static const dcsr_type types[] = {DCSR_PATTERN, DCSR_FP64, DCSR_FP32, DCSR_UINT16};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        subject s;
        set_up(&s, types[t], DCSR_POLICY_KEEP, (uint64_t)TEST_SIZE(9000, 9000, 9000), 3000, 11 + t, false);
        for (int b = 0; b < 3; b++) random_change(&s, true, TEST_SIZE(60000, 30000, 30000));
        cr_assert(test_info(s.matrix[0]).max_segments > 1);
        char *before = check(&s, NULL);
        defragment(&s, DCSR_DEFRAGMENT_WHOLE);
        free(check(&s, before));
        free(before);
        tear_down(&s);
    }
}

Test(spmv, gives_the_same_while_the_matrix_changes)
{
    subject s;
    set_up(&s, DCSR_FP64, DCSR_POLICY_KEEP, 700, 700, 5, false);
    for (int b = 0; b < 3; b++) random_change(&s, true, 3000);
    double first[700], y[700];
    dcsr_view *view = test_view(s.matrix[0], DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_spmv(first, view, s.x));
    test_writer w = {.matrix = s.matrix[0],
                     .size = 700,
                     .entries = 500,
                     .batches = TEST_SIZE(150, 50, 50),
                     .values = true};
    pthread_t thread;
    cr_assert(pthread_create(&thread, NULL, test_write_batches, &w) == 0);
    for (int k = 0; !atomic_load(&w.done); k++) {
        dcsr_view *fresh = test_view(s.matrix[0], DCSR_LAYOUT_SEGMENTS, 0);
        TEST_OK(dcsr_spmv(y, fresh, s.x));
        dcsr_view_destroy(fresh);
        TEST_OK(dcsr_spmv(y, view, s.x));
        cr_assert(memcmp(first, y, sizeof y) == 0, "product %d differs", k);
    }
    cr_assert(pthread_join(thread, NULL) == 0);
    dcsr_view_destroy(view);
    tear_down(&s);
}
