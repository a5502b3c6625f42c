/* test_multi_spmv.c: y = A x on several devices, beside sums of the triples: matrices whose parts need little of one
 * another, and such that need all; where vectors are; devices that are no peers, that have no memory, that fail. */
#include "dcsr/base/alloc.h"
#include "tests/support/support_multi.h"
#include <dcsr/convert.h>
#include <dcsr/vector_ops.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(multi_spmv, .init = set_devices);

/* ---- Problems ---- */

/* Triples, the matrix that they are, and the product of it with x. */
typedef struct problem {
    dcsr_type type;
    uint64_t rows, cols;
    size_t n;
    uint64_t *row, *col;
    double *value;        /* small whole numbers, so that sums are exact in each type */
    double *x, *expected; /* likewise */
    dcsr_multi *devices;
    dcsr_multi_matrix *matrix;
    dcsr_multi_view *view;
    dcsr_multi_vector *in, *out;
} problem;

/* band: how far from the diagonal entries are; 0: anywhere. */
static problem describe(test_random *random, dcsr_type type, uint64_t rows, uint64_t cols, size_t n,
                        uint64_t band)
{
    problem p = {.type = type, .rows = rows, .cols = cols};
    p.row = test_allocate(n, sizeof *p.row), p.col = test_allocate(n, sizeof *p.col);
    p.value = test_allocate(n, sizeof *p.value);
    bool *taken = test_allocate(rows * cols, sizeof *taken);
    memset(taken, 0, rows * cols * sizeof *taken);
    const uint64_t hub = test_random_below(random, rows);
    for (size_t i = 0; i < n; i++) {
        const uint64_t row = !band && test_random_once_in(random, 4) ? hub : test_random_below(random, rows);
        uint64_t col = test_random_below(random, cols);
        if (band) col = (row * cols / rows + col % (2 * band + 1) + cols - band) % cols;
        if (taken[row * cols + col]) continue;
        taken[row * cols + col] = true;
        p.row[p.n] = row, p.col[p.n] = col;
        p.value[p.n++] = type == DCSR_PATTERN || type == DCSR_BOOL ? 1 : (double)test_random_below(random, 3);
    }
    free(taken);
    p.x = test_allocate(cols, sizeof *p.x), p.expected = test_allocate(rows, sizeof *p.expected);
    for (uint64_t j = 0; j < cols; j++) p.x[j] = (double)test_random_below(random, type == DCSR_BOOL ? 2 : 4);
    return p;
}

static void compute(problem *p)
{
    memset(p->expected, 0, p->rows * sizeof *p->expected);
    for (size_t i = 0; i < p->n; i++) p->expected[p->row[i]] += p->value[i] * p->x[p->col[i]];
}

static dcsr_type type_of_vectors(const problem *p)
{
    return p->type == DCSR_PATTERN ? DCSR_FP64 : p->type;
}

/* Numbers as an array of the vectors' type. */
static void *encode(const problem *p, const double *numbers, uint64_t n)
{
    const dcsr_type type = type_of_vectors(p);
    const size_t size = dcsr_type_size(type);
    char *values = test_allocate(n, size);
    for (uint64_t i = 0; i < n; i++) test_encode(type, numbers[i], values + i * size);
    return values;
}

/* Puts the entries in, in so many batches: of several, rows have pieces. */
static void open_matrix(problem *p, int devices, int batches)
{
    p->devices = test_devices(devices, 2);
    char *values = encode(p, p->value, p->n);
    const size_t size = dcsr_type_size(type_of_vectors(p));
    TEST_OK(dcsr_multi_matrix_create(&p->matrix, p->devices, p->type, p->rows, p->cols, NULL));
    for (int b = 0; b < batches; b++) {
        const size_t first = p->n * (size_t)b / (size_t)batches,
                     end = p->n * (size_t)(b + 1) / (size_t)batches;
        TEST_OK(dcsr_multi_matrix_insert(p->matrix, end - first, p->row + first, p->col + first,
                                         p->type == DCSR_PATTERN ? NULL : values + first * size, NULL));
        TEST_OK(dcsr_multi_matrix_wait(p->matrix));
    }
    free(values);
}

static void open_view(problem *p, dcsr_layout layout)
{
    TEST_OK(dcsr_multi_view_create(&p->view, p->matrix, layout, 0));
    TEST_OK(dcsr_multi_vector_create(&p->in, p->view, type_of_vectors(p), true));
    TEST_OK(dcsr_multi_vector_create(&p->out, p->view, type_of_vectors(p), false));
}

static void set_x(problem *p)
{
    void *x = encode(p, p->x, p->cols);
    TEST_OK(dcsr_multi_vector_from_array(p->in, x));
    free(x);
    compute(p);
}

static void close_view(problem *p)
{
    dcsr_multi_vector_destroy(p->in), dcsr_multi_vector_destroy(p->out);
    dcsr_multi_view_destroy(p->view);
}

static void close_problem(problem *p)
{
    close_view(p);
    dcsr_multi_matrix_destroy(p->matrix);
    dcsr_multi_destroy(p->devices);
    free(p->row), free(p->col), free(p->value), free(p->x), free(p->expected);
}

/* Whether a vector is what is expected; of bools, whether a sum is above 0. */
static void assert_product(const problem *p, const dcsr_multi_vector *y)
{
    const dcsr_type type = type_of_vectors(p);
    const size_t size = dcsr_type_size(type);
    char missing[8] = {0}, *got = test_allocate(p->rows, size), wanted[8];
    uint64_t nvals;
    TEST_OK(dcsr_multi_vector_get_nvals(y, &nvals));
    cr_assert_eq(nvals, p->rows);
    TEST_OK(dcsr_multi_vector_to_array(y, missing, got));
    for (uint64_t i = 0; i < p->rows; i++) {
        test_encode(type, type == DCSR_BOOL ? p->expected[i] > 0 : p->expected[i], wanted);
        cr_assert(!memcmp(got + i * size, wanted, size), "row %d of %d, %d entries", (int)i, (int)p->rows,
                  (int)p->n);
    }
    free(got);
}

static void multiply_and_check(problem *p)
{
    dcsr_multi_report report;
    TEST_OK(dcsr_multi_spmv(p->out, p->view, p->in, &report));
    assert_product(p, p->out);
    cr_assert(report.seconds >= report.communication && report.communication >= 0);
}

/* ---- All kinds of matrices ---- */

static const dcsr_type types[] = {DCSR_FP64, DCSR_PATTERN, DCSR_FP32, DCSR_INT8, DCSR_BOOL, DCSR_UINT16};

static void check_one(test_random *random, bool peers)
{
    const dcsr_layout layouts[] = {DCSR_LAYOUT_SEGMENTS, DCSR_LAYOUT_SEGMENTS, DCSR_LAYOUT_CSR,
                                   DCSR_LAYOUT_CSC};
    const bool square = test_random_once_in(random, 2), banded = test_random_once_in(random, 2);
    const uint64_t rows = 1 + test_random_below(random, banded ? 900 : 300),
                   cols = square ? rows : 1 + test_random_below(random, 500);
    const uint64_t band = banded && cols > 20 ? 1 + test_random_below(random, 9) : 0;
#if TEST_EMULATOR
    simt_set_peers(peers);
#else
    (void)peers;
#endif
    problem p = describe(random, types[test_random_below(random, 6)], rows, cols,
                         test_random_below(random, 5 * rows), band);
    open_matrix(&p, 1 + (int)test_random_below(random, MOST_DEVICES), 1 + (int)test_random_below(random, 3));
    if (test_random_once_in(random, 2)) TEST_OK(dcsr_multi_matrix_balance(p.matrix, NULL));
    if (test_random_once_in(random, 3))
        TEST_OK(dcsr_multi_matrix_defragment(p.matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
    TEST_OK(dcsr_multi_matrix_wait(p.matrix));
    open_view(&p, layouts[test_random_below(random, 4)]);
    set_x(&p);
    multiply_and_check(&p);
    /* The exchange is there now, and y has memory. */
    for (uint64_t j = 0; j < p.cols; j++) p.x[j] = (double)((j + 1) % (p.type == DCSR_BOOL ? 2 : 3));
    set_x(&p);
    multiply_and_check(&p);
    close_problem(&p);
}

Test(multi_spmv, gives_the_sums_of_the_triples)
{
    const test_seeds seeds =
        test_seeds_from_environment((uint64_t)TEST_SIZE(60, 30, 20) * (test_on_emulator() ? 8 : 1));
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.rounds; seed++) {
        test_seed_begins(seed);
        test_random random = {seed};
        check_one(&random, seed % 3 != 0);
    }
}

/* What parts need of one another is a few blocks where entries are near the diagonal. */
Test(multi_spmv, of_a_band_sends_only_what_is_looked_at)
{
    test_random random = {4};
    problem p = describe(&random, DCSR_FP64, 1200, 1200, 9000, 3);
    open_matrix(&p, 3, 1);
    open_view(&p, DCSR_LAYOUT_SEGMENTS);
    set_x(&p);
    dcsr_multi_report report;
    dcsr_multi_view_info info;
    TEST_OK(dcsr_multi_view_get_info(p.view, &info));
    TEST_OK(dcsr_multi_spmv(p.out, p.view, p.in, &report));
    assert_product(&p, p.out);
    /* At each end of a part two blocks at most. */
    if (test_device_of_auto() == DCSR_DEVICE_CUDA && info.parts > 1)
        cr_assert(report.bytes > 0 && report.bytes <= info.parts * 2 * 2 * 32 * sizeof(double), "%d bytes",
                  (int)report.bytes);
    close_problem(&p);
}

/* ---- Vectors ---- */

Test(multi_spmv, may_write_into_its_input)
{
    test_random random = {6};
    problem p = describe(&random, DCSR_FP64, 400, 400, 2500, 0);
    open_matrix(&p, 3, 2);
    open_view(&p, DCSR_LAYOUT_SEGMENTS);
    set_x(&p);
    TEST_OK(dcsr_multi_spmv(p.in, p.view, p.in, NULL));
    assert_product(&p, p.in);
    memcpy(p.x, p.expected, p.cols * sizeof *p.x);
    compute(&p);
    TEST_OK(dcsr_multi_spmv(p.in, p.view, p.in, NULL));
    assert_product(&p, p.in);
    close_problem(&p);
}

/* Written element by element, by operations on parts, read on the host in between, emptied. */
Test(multi_spmv, takes_vectors_wherever_their_newest_elements_are)
{
    test_random random = {7};
    problem p = describe(&random, DCSR_FP64, 500, 500, 3000, 5);
    open_matrix(&p, 2, 1);
    open_view(&p, DCSR_LAYOUT_SEGMENTS);
    for (uint64_t j = 0; j < p.cols; j++) TEST_OK(dcsr_multi_vector_set(p.in, j, &p.x[j]));
    compute(&p);
    multiply_and_check(&p);
    p.x[0] = 9, p.x[p.cols - 1] = 8;
    compute(&p);
    TEST_OK(dcsr_multi_vector_set(p.in, 0, &p.x[0]));
    TEST_OK(dcsr_multi_vector_set(p.in, p.cols - 1, &p.x[p.cols - 1]));
    multiply_and_check(&p);
    double value = -1;
    bool stored;
    TEST_OK(dcsr_multi_vector_get(p.out, 3, &value, &stored));
    cr_assert(stored && value == p.expected[3]);
    TEST_OK(dcsr_multi_vector_set(p.out, 3, &(double){77}));
    multiply_and_check(&p);
    TEST_OK(dcsr_multi_vector_clear(p.out));
    multiply_and_check(&p);
    dcsr_multi_view_info info;
    TEST_OK(dcsr_multi_view_get_info(p.view, &info));
    for (uint64_t k = 0; k < info.parts; k++) {
        dcsr_vector *part;
        uint64_t first;
        const double two = 2;
        TEST_OK(dcsr_multi_vector_get_part(p.in, k, &part, &first));
        TEST_OK(dcsr_vector_apply_first(part, NULL, NULL, dcsr_binary_op_of(DCSR_BINARY_TIMES, DCSR_FP64),
                                        &two, part, NULL));
    }
    for (uint64_t j = 0; j < p.cols; j++) p.x[j] *= 2;
    compute(&p);
    multiply_and_check(&p);
    TEST_OK(dcsr_multi_vector_fill(p.in, &(double){3}));
    for (uint64_t j = 0; j < p.cols; j++) p.x[j] = 3;
    compute(&p);
    multiply_and_check(&p);
    close_problem(&p);
}

Test(multi_spmv, moves_vectors_of_an_older_view)
{
    test_random random = {8};
    problem p = describe(&random, DCSR_FP64, 300, 300, 2500, 40);
    open_matrix(&p, 3, 1);
    open_view(&p, DCSR_LAYOUT_SEGMENTS);
    set_x(&p);
    dcsr_multi_vector *in = p.in, *out = p.out;
    TEST_OK(dcsr_multi_spmv(out, p.view, in, NULL));
    assert_product(&p, out);
    /* Many entries in the last rows move the borders. */
    enum { MORE = 4000 };
    uint64_t *row = test_allocate(MORE, sizeof *row), *col = test_allocate(MORE, sizeof *col);
    double *one = test_allocate(MORE, sizeof *one);
    for (size_t i = 0; i < MORE; i++) row[i] = 280 + i % 20, col[i] = i / 20, one[i] = 0;
    TEST_OK(dcsr_multi_matrix_insert(p.matrix, MORE, row, col, one, NULL));
    for (size_t i = 0; i < p.n; i++)
        if (p.row[i] >= 280 && p.col[i] < MORE / 20) p.value[i] = 0; /* the last counts */
    TEST_OK(dcsr_multi_matrix_balance(p.matrix, NULL));
    TEST_OK(dcsr_multi_matrix_wait(p.matrix));
    dcsr_multi_view_info before, after;
    TEST_OK(dcsr_multi_view_get_info(p.view, &before));
    dcsr_multi_view_destroy(p.view);
    open_view(&p, DCSR_LAYOUT_SEGMENTS);
    TEST_OK(dcsr_multi_view_get_info(p.view, &after));
    if (before.parts > 1) cr_assert_neq(before.border[1], after.border[1]);
    compute(&p);
    TEST_OK(dcsr_multi_spmv(out, p.view, in, NULL));
    assert_product(&p, out);
    dcsr_multi_vector_destroy(in), dcsr_multi_vector_destroy(out);
    free(row), free(col), free(one);
    close_problem(&p);
}

/* ---- Threads ---- */

typedef struct multiplier {
    problem *p;
    dcsr_multi_vector *y;
} multiplier;

static void *multiply_often(void *user)
{
    const multiplier *m = user;
    for (int i = 0; i < 5; i++) {
        TEST_OK(dcsr_multi_spmv(m->y, m->p->view, m->p->in, NULL));
        assert_product(m->p, m->y);
    }
    return NULL;
}

/* The first product of a view makes what is kept with it, once. */
Test(multi_spmv, may_be_made_by_several_threads_with_one_view)
{
    test_random random = {10};
    problem p = describe(&random, DCSR_INT32, 500, 500, 3000, 6);
    open_matrix(&p, 2, 1);
    open_view(&p, DCSR_LAYOUT_SEGMENTS);
    set_x(&p);
    multiplier each[3];
    pthread_t thread[3];
    for (int i = 0; i < 3; i++) {
        each[i].p = &p;
        TEST_OK(dcsr_multi_vector_create(&each[i].y, p.view, DCSR_INT32, false));
        cr_assert_eq(pthread_create(&thread[i], NULL, multiply_often, &each[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(thread[i], NULL);
        dcsr_multi_vector_destroy(each[i].y);
    }
    close_problem(&p);
}

/* ---- Without memory, and devices that fail ---- */

/* The elements of y before a call that may fail, and whether they are there after it. */
static void mark(const problem *p, dcsr_multi_vector *y)
{
    double *values = test_allocate(p->rows, sizeof *values);
    for (uint64_t i = 0; i < p->rows; i++) values[i] = -(double)i;
    TEST_OK(dcsr_multi_vector_from_array(y, values));
    free(values);
}

static void assert_marked(const problem *p, const dcsr_multi_vector *y)
{
    double *values = test_allocate(p->rows, sizeof *values);
    TEST_OK(dcsr_multi_vector_to_array(y, &(double){0}, values));
    for (uint64_t i = 0; i < p->rows; i++) cr_assert_eq(values[i], -(double)i);
    free(values);
}

static void fail_after(bool on_devices, long n)
{
#if TEST_EMULATOR
    if (on_devices)
        simt_fail_allocations_after(n);
    else
        dcsr_i_fail_allocations_after(n);
#else
    (void)on_devices;
    dcsr_i_fail_allocations_after(n);
#endif
}

Test(multi_spmv, memory_gone_leaves_y_as_it_was)
{
    test_random random = {12};
    problem p = describe(&random, DCSR_FP64, 500, 500, 3000, 6);
    open_matrix(&p, 3, 1);
    for (int on_devices = 0; on_devices <= test_on_emulator(); on_devices++) {
        dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
        open_view(&p, DCSR_LAYOUT_SEGMENTS);
        set_x(&p);
        mark(&p, p.out);
        for (long n = 0; status != DCSR_OK; n += TEST_SIZE(1, 1, 40)) {
            cr_assert_lt(n, 5000);
            assert_marked(&p, p.out);
            fail_after(on_devices, n);
            status = dcsr_multi_spmv(p.out, p.view, p.in, NULL);
            fail_after(on_devices, -1);
            cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
        }
        assert_product(&p, p.out);
        close_view(&p);
        p.in = p.out = NULL, p.view = NULL;
    }
    open_view(&p, DCSR_LAYOUT_SEGMENTS);
    close_problem(&p);
}

#if TEST_EMULATOR
/* In a process of its own, as a device that is lost stays so: device 1 after n of its operations, and with it those
 * that read its memory. The calls say so, and what is left can be destroyed. Returns whether nothing failed. */
static bool lose_device(long n)
{
    test_random random = {13};
    problem p = describe(&random, DCSR_FP64, 400, 400, 2500, n % 2 ? 5 : 0);
    open_matrix(&p, 3, 1);
    open_view(&p, DCSR_LAYOUT_SEGMENTS);
    set_x(&p);
    simt_fail_device_after(1, n);
    dcsr_status status = dcsr_multi_spmv(p.out, p.view, p.in, NULL);
    if (status == DCSR_OK) status = dcsr_multi_spmv(p.out, p.view, p.in, NULL);
    if (status != DCSR_OK) {
        /* Memory that the caller's thread takes on the device is refused like any other. */
        cr_assert(status == DCSR_ERROR_DEVICE || status == DCSR_ERROR_OUT_OF_MEMORY);
        cr_assert(test_says("has failed"), "%s", dcsr_thread_error());
        TEST_REFUSED(DCSR_ERROR_DEVICE, " (cuda:", dcsr_multi_spmv(p.out, p.view, p.in, NULL));
    }
    close_problem(&p);
    return status == DCSR_OK;
}

Test(multi_spmv, tells_of_a_device_that_has_failed)
{
    int losses = 0;
    NEEDS_EMULATOR();
    /* What a lost device still had to write is no race with what frees the place, which ThreadSanitizer cannot know. */
    if (TEST_VARIANT(false, false, true)) cr_skip_test("devices are not lost under ThreadSanitizer");
    for (long n = 0;; n += 1 + n / 8, losses++) {
        int state = 0;
        const pid_t child = fork();
        if (!child) _exit(lose_device(n) ? 2 : 3);
        cr_assert_eq(waitpid(child, &state, 0), child);
        cr_assert(WIFEXITED(state) && (WEXITSTATUS(state) == 2 || WEXITSTATUS(state) == 3), "%ld operations",
                  n);
        if (WEXITSTATUS(state) == 2) break;
    }
    cr_assert_gt(losses, 10);
}
#endif
