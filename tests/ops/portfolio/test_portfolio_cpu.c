/* test_portfolio_cpu.c: the portfolio's kernels on the cpu where their formats have cases of their own: stencils with
 * values that repeat and others, long rows, columns far apart, hot columns; for each level of instructions that the
 * processor has and several numbers of threads. Elements of x that no row reads are not numbers, so that what stands
 * behind the end of a row never gets into a sum. */
#include "ops/spmv/portfolio/arithmetics.h"
#include "ops/spmv/portfolio/portfolio.h"
#include "tests/support/support.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Matrices ---- */

typedef struct entries {
    uint64_t rows, cols, n, room;
    uint64_t *row, *col;
    double *value;
} entries;

static void add(entries *e, uint64_t row, uint64_t col, double value)
{
    if (e->n == e->room) {
        e->room = 2 * e->room + 1024;
        e->row = realloc(e->row, e->room * sizeof *e->row);
        e->col = realloc(e->col, e->room * sizeof *e->col);
        e->value = realloc(e->value, e->room * sizeof *e->value);
        cr_assert(e->row && e->col && e->value);
    }
    e->row[e->n] = row;
    e->col[e->n] = col;
    e->value[e->n++] = value;
}

/* Five points on a grid of 150 columns; column 0 is empty. Values: those of the stencil, or of rows some of 2, 200, or
 * 2000. */
static void make_grid(entries *e, test_random *random, uint64_t values)
{
    enum { SIDE = 150, LINES = 70 };
    static const int64_t shift[] = {-SIDE, -1, 0, 1, SIDE};
    *e = (entries){.rows = SIDE * LINES, .cols = SIDE * LINES + 1};
    for (uint64_t i = 0; i < e->rows; i++)
        for (uint64_t k = 0; k < sizeof shift / sizeof *shift; k++) {
            const int64_t j = (int64_t)i + shift[k];
            if (j < 0 || j >= (int64_t)e->rows || (k % 2 && i / SIDE != (uint64_t)j / SIDE)) continue;
            const bool varied = values && (i / SIDE) % 3; /* some lines keep the stencil's */
            add(e, i, (uint64_t)j + 1,
                varied ? (double)test_random_below(random, values) : 2.0 * (k == 2) - 1);
        }
}

static void make_stencil(entries *e, test_random *random)
{
    make_grid(e, random, 0);
}
static void make_two_values(entries *e, test_random *random)
{
    make_grid(e, random, 2);
}
static void make_some_values(entries *e, test_random *random)
{
    make_grid(e, random, 100);
}
static void make_many_values(entries *e, test_random *random)
{
    make_grid(e, random, 40000);
}

/* Rows of very different length, some empty, some longer than a part of a slice; columns all over. */
static void make_lengths(entries *e, test_random *random)
{
    *e = (entries){.rows = 9000, .cols = 20000};
    for (uint64_t i = 0; i < e->rows; i++) {
        const uint64_t n = i % 997 == 5 ? 1800 : i % 7 == 3 ? 0 : test_random_below(random, 1 + i % 40);
        for (uint64_t k = 0; k < n; k++)
            add(e, i,
                1 + (k * (e->cols / (n + 1)) + test_random_below(random, e->cols / (n + 1))) % (e->cols - 1),
                (double)test_random_below(random, 5) - 2);
    }
}

/* Columns for two tiles, and others; those of many entries are anywhere. */
static void make_hot(entries *e, test_random *random)
{
    *e = (entries){.rows = 8300, .cols = 300000};
    for (uint64_t i = 0; i < e->rows; i++)
        for (uint64_t k = 0; k < 40; k++) {
            const uint64_t drawn = test_random_below(random, 1 + test_random_below(random, e->cols - 1));
            const uint64_t col = k < 3 ? test_random_below(random, 500) : drawn;
            add(e, i, 1 + col * 1009 % (e->cols - 1), (double)test_random_below(random, 5) - 2);
        }
}

/* One row has nearly all. */
static void make_one_row(entries *e, test_random *random)
{
    *e = (entries){.rows = 40, .cols = 9000};
    for (uint64_t k = 1; k < e->cols; k += 2) add(e, 17, k, (double)test_random_below(random, 5) - 2);
    for (uint64_t i = 0; i < 30; i += 3) add(e, i, 5, 1);
}

static const struct {
    const char *name;
    void (*make)(entries *e, test_random *random);
} matrices[] = {{"stencil", make_stencil},         {"two values", make_two_values},
                {"some values", make_some_values}, {"many values", make_many_values},
                {"lengths", make_lengths},         {"hot columns", make_hot},
                {"one row", make_one_row}};
enum { MATRICES = sizeof matrices / sizeof *matrices };

static void release(entries *e)
{
    free(e->row);
    free(e->col);
    free(e->value);
}

/* Values and sums are small integers, which all of these types have. */
static const dcsr_type types[] = {DCSR_FP64, DCSR_FP32, DCSR_PATTERN, DCSR_INT32};
enum { TYPES = sizeof types / sizeof *types };

/* Of the cpu, whichever device tests are about. */
static dcsr_context *cpu_context(int threads)
{
    dcsr_context *context = NULL;
    TEST_OK(dcsr_context_create(&context,
                                &(dcsr_context_options){.device = DCSR_DEVICE_CPU, .threads = threads}));
    return context;
}

static dcsr_matrix *make_matrix(dcsr_context *context, dcsr_type type, const entries *e)
{
    const size_t size = dcsr_type_size(type);
    dcsr_matrix *matrix = test_matrix(context, type, e->rows, e->cols, DCSR_POLICY_LAST);
    char *values = size ? malloc(e->n * size + 1) : NULL;
    for (uint64_t k = 0; values && k < e->n; k++) test_encode(type, e->value[k], values + k * size);
    TEST_OK(dcsr_matrix_insert(matrix, e->n, e->row, e->col, values, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    free(values);
    return matrix;
}

/* ---- Products ---- */

typedef struct problem {
    const char *name;
    dcsr_type type, vector;
    uint64_t rows;
    void *x;
    double *expected;
} problem;

/* x_j = j mod 5 - 2 where a row reads it; else not a number, or as far from one as the type has. The sums are of the
 * rows that the view shows, in which an entry that was inserted twice is once. */
static problem pose(const char *name, dcsr_type type, dcsr_view *view, const entries *e)
{
    problem p = {name, type, type == DCSR_PATTERN ? DCSR_FP64 : type, e->rows, NULL, NULL};
    const size_t size = dcsr_type_size(p.vector);
    p.x = malloc(e->cols * size);
    p.expected = calloc(e->rows, sizeof *p.expected);
    cr_assert(p.x && p.expected);
    for (uint64_t j = 0; j < e->cols; j++)
        test_encode(p.vector, type == DCSR_INT32 ? 1e9 : (double)NAN, (char *)p.x + j * size);
    for (uint64_t i = 0; i < e->rows; i++) {
        dcsr_piece pieces[DCSR_MAX_SEGMENTS];
        int count;
        TEST_OK(dcsr_view_get_pieces(view, i, pieces, &count));
        for (int k = 0; k < count; k++)
            for (uint64_t at = 0; at < pieces[k].length; at++) {
                const uint32_t col = pieces[k].cols[at];
                const double x = (double)(col % 5) - 2;
                const size_t stored = dcsr_type_size(type);
                test_encode(p.vector, x, (char *)p.x + col * size);
                p.expected[i] +=
                    x * (stored ? test_decode(type, (const char *)pieces[k].values + at * stored) : 1);
            }
    }
    return p;
}

static void check_run(const problem *p, const dcsr_i_spmv_kernel *kernel, const dcsr_i_spmv_matrix *A,
                      const void *format, int threads)
{
    const size_t size = dcsr_type_size(p->vector);
    char *y = malloc(2 * p->rows * size), *again = y + p->rows * size;
    cr_assert(y);
    memset(y, 0x5a, 2 * p->rows * size);
    TEST_OK(kernel->run(&(dcsr_i_spmv_product){.y = y, .x = p->x, .threads = threads}, A, format));
    TEST_OK(kernel->run(&(dcsr_i_spmv_product){.y = again, .x = p->x, .threads = threads}, A, format));
    cr_assert(!memcmp(y, again, p->rows * size), "%s, %s, %d threads: another result", kernel->told.name,
              p->name, threads);
    for (uint64_t i = 0; i < p->rows; i++)
        cr_assert(test_decode(p->vector, y + i * size) == p->expected[i],
                  "%s, %s, type %d, level %d, %d threads: y[%llu] is %g, not %g", kernel->told.name, p->name,
                  (int)p->type, (int)dcsr_i_spmv_level_now(), threads, (unsigned long long)i,
                  test_decode(p->vector, y + i * size), p->expected[i]);
    free(y);
}

/* All kernels that can serve the matrix, at each level of instructions. */
static void check_kernels(const problem *p, dcsr_view *view)
{
    static const int threads[] = {1, 2, 3};
    dcsr_i_spmv_matrix A;
    const dcsr_i_spmv_kernel *kernel;
    TEST_OK(dcsr_i_spmv_matrix_of(&A, view));
    for (uint64_t k = 0; (kernel = dcsr_i_spmv_kernel_at(DCSR_DEVICE_CPU, k)); k++) {
        void *format = NULL;
        if (kernel->refuses && kernel->refuses(&A)) continue;
        if (kernel->build) TEST_OK(kernel->build(&format, &A));
        for (int level = 0; level < DCSR_I_SPMV_LEVELS; level++) {
            dcsr_i_spmv_ask_for_level(level);
            if ((int)dcsr_i_spmv_level_now() < level) continue; /* the processor has not got it */
            for (size_t t = 0; t < sizeof threads / sizeof *threads; t++)
                check_run(p, kernel, &A, format, threads[t]);
        }
        if (kernel->build) kernel->discard(format, &A);
    }
    dcsr_i_spmv_ask_for_level(-1);
}

Test(portfolio_cpu, formats_have_their_cases)
{
    dcsr_context *context = cpu_context(2);
    for (int m = 0; m < MATRICES; m++) {
        entries e;
        test_random random = {11 + (uint64_t)m};
        matrices[m].make(&e, &random);
        for (int t = 0; t < TYPES; t++) {
            if (TEST_VARIANT(false, true, true) && (m + t) % TYPES) continue; /* slow: one type of each */
            dcsr_matrix *matrix = make_matrix(context, types[t], &e);
            dcsr_view *view;
            TEST_OK(dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, 0));
            problem p = pose(matrices[m].name, types[t], view, &e);
            check_kernels(&p, view);
            free(p.x);
            free(p.expected);
            dcsr_view_destroy(view);
            dcsr_matrix_destroy(matrix);
        }
        release(&e);
    }
    test_close(context);
}

/* Bytes that the format of a kernel takes for a matrix of fp64. */
static uint64_t bytes_of(const char *kernel, dcsr_view *view)
{
    dcsr_i_spmv_matrix A;
    uint64_t bytes = 0;
    TEST_OK(dcsr_i_spmv_matrix_of(&A, view));
    TEST_OK(dcsr_i_spmv_kernel_named(DCSR_DEVICE_CPU, kernel)->measure(&bytes, &A));
    return bytes;
}

/* What formats are for: fewer bytes than CSR where there is something to gain. */
Test(portfolio_cpu, formats_take_few_bytes)
{
    static const struct {
        int matrix;
        const char *kernel;
        double of_csr; /* at most */
    } cases[] = {{0, "shifts", 0.05}, {0, "dictionary", 0.4}, {1, "dictionary", 0.4}, {2, "dictionary", 0.4},
                 {3, "shifts", 0.75}, {4, "sell", 1.1},       {4, "hyb", 1.4}};
    dcsr_context *context = cpu_context(1);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        entries e;
        test_random random = {11};
        dcsr_view *view;
        matrices[cases[k].matrix].make(&e, &random);
        dcsr_matrix *matrix = make_matrix(context, DCSR_FP64, &e);
        TEST_OK(dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, 0));
        const double taken = (double)bytes_of(cases[k].kernel, view) / (double)bytes_of("csr", view);
        cr_assert_leq(taken, cases[k].of_csr, "%s, %s: %g of csr", cases[k].kernel,
                      matrices[cases[k].matrix].name, taken);
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
        release(&e);
    }
    test_close(context);
}
