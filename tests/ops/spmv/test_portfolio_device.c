/* test_portfolio_device.c: what the portfolio's kernels on a device have besides right sums: products on callers'
 * streams with vectors in the device's memory, the same bits each time, arrays that are lent, and what is refused. */
#include <dcsr/spmv.h>
#include <dcsr/vector.h>
#include "ops/spmv/portfolio/cuda/device_format.h"
#include "ops/spmv/portfolio/portfolio.h"
#include "tests/support/support_device.h"
#include <math.h>
#include <string.h>

enum { ROWS = 600, COLS = 500 };

/* Rows of all lengths: most are short, row 7 has every column, every fifth is empty. In two portions, so that rows
 * are in pieces. */
static dcsr_matrix *make(dcsr_type type)
{
    enum { ENTRIES = 5000 };
    static uint64_t rows[ENTRIES + COLS], cols[ENTRIES + COLS];
    static double values[ENTRIES + COLS];
    test_random random = {11};
    dcsr_matrix *matrix = test_matrix(context, type, ROWS, COLS, DCSR_POLICY_LAST);
    for (int portion = 0; portion < 2; portion++) {
        uint64_t n = 0;
        for (; n < ENTRIES / 2; n++) {
            rows[n] = test_random_below(&random, 1 + test_random_below(&random, ROWS));
            rows[n] += rows[n] % 5 == 0;
            cols[n] = test_random_below(&random, COLS);
            values[n] = 1.0 / (double)(3 + n % 17);
        }
        for (uint64_t j = 0; portion && j < COLS; j++, n++) {
            rows[n] = 7;
            cols[n] = j;
            values[n] = 1.0 / (double)(7 + j);
        }
        TEST_OK(dcsr_matrix_insert(matrix, n, rows, cols, type == DCSR_PATTERN ? NULL : values, NULL));
        TEST_OK(dcsr_matrix_wait(matrix));
    }
    return matrix;
}

static dcsr_vector *vector_of(uint64_t size)
{
    dcsr_vector *vector;
    double *values;
    TEST_OK(dcsr_vector_create(&vector, context, DCSR_FP64, size));
    TEST_OK(dcsr_vector_fill(vector, &(double){0}));
    TEST_OK(dcsr_vector_get_values(vector, (void **)&values));
    for (uint64_t i = 0; i < size; i++) values[i] = 1.0 / (double)(1 + i % 13);
    return vector;
}

static void *there(dcsr_vector *vector)
{
    void *values;
    TEST_OK(dcsr_vector_get_values_on_device(vector, &values));
    return values;
}

static dcsr_spmv_plan *plan_of(dcsr_view *view, const char *kernel)
{
    dcsr_spmv_plan *plan;
    TEST_OK(dcsr_spmv_plan_create(&plan, view, &(dcsr_spmv_options){.kernel = kernel}));
    return plan;
}

static uint64_t format_bytes(dcsr_view *view, const char *kernel)
{
    dcsr_spmv_plan_info info;
    dcsr_spmv_plan *plan = plan_of(view, kernel);
    TEST_OK(dcsr_spmv_plan_get_info(plan, &info));
    dcsr_spmv_plan_destroy(plan);
    return info.bytes;
}

static bool serves(dcsr_view *view, const dcsr_i_spmv_kernel *kernel)
{
    dcsr_i_spmv_matrix A;
    TEST_OK(dcsr_i_spmv_matrix_of(&A, view));
    return !kernel->refuses || !kernel->refuses(&A);
}

/* Whether they are the same: to the bit, but for cuSPARSE, two algorithms of which add in another order each time. */
static bool same(const double *y, const double *expected, const char *kernel)
{
    if (strncmp(kernel, "cusparse", 8)) return !memcmp(y, expected, ROWS * sizeof *y);
    for (int i = 0; i < ROWS; i++)
        if (!(fabs(y[i] - expected[i]) <= 1e-12 * (1 + fabs(expected[i])))) return false;
    return true;
}

/* Products of one plan behind one another on a caller's stream: each is that of one that is waited for. */
Test(portfolio_device, products_follow_one_another_on_a_stream)
{
    enum { PRODUCTS = 3 };
    open_device();
    NEEDS_GPU();
    const dcsr_i_spmv_kernel *kernel;
    dcsr_matrix *matrix = make(DCSR_FP64);
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_vector *x = vector_of(COLS), *y[PRODUCTS];
    int served = 0;
    for (int i = 0; i < PRODUCTS; i++) y[i] = vector_of(ROWS);
    for (uint64_t k = 0; (kernel = dcsr_i_spmv_kernel_at(DCSR_DEVICE_CUDA, k)); k++) {
        if (!serves(view, kernel)) continue;
        served++;
        double expected[ROWS];
        void *values, *x_there = there(x);
        dcsr_spmv_plan *plan = plan_of(view, kernel->told.name);
        TEST_OK(dcsr_spmv_plan_run(expected, plan, x_there));
        for (int i = 0; i < PRODUCTS; i++)
            TEST_OK(dcsr_spmv_plan_run_on_stream(there(y[i]), plan, x_there, dcsr_i_cuda_handle(stream)));
        TEST_OK(dcsr_i_cuda_wait(stream, "a test"));
        for (int i = 0; i < PRODUCTS; i++) {
            TEST_OK(dcsr_vector_get_values(y[i], &values));
            cr_assert(same(values, expected, kernel->told.name), "%s, product %d", kernel->told.name, i);
        }
        dcsr_spmv_plan_destroy(plan);
    }
    cr_assert_geq(served, 12);
    for (int i = 0; i < PRODUCTS; i++) dcsr_vector_destroy(y[i]);
    dcsr_vector_destroy(x);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    close_device();
}

/* Rows that lie one behind the other are read where they are: the format is offsets. */
Test(portfolio_device, arrays_of_csr_are_lent)
{
    open_device();
    NEEDS_GPU();
    const uint64_t offsets = sizeof(dcsr_i_spmv_format) + (ROWS + 1) * sizeof(uint32_t);
    dcsr_matrix *matrix = make(DCSR_FP64);
    dcsr_view *segments = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0),
              *csr = test_view(matrix, DCSR_LAYOUT_CSR, 0);
    dcsr_view_info info;
    TEST_OK(dcsr_view_get_info(segments, &info));
    cr_assert_eq(format_bytes(segments, "csr_scalar"), offsets + info.nnz * 12);
    cr_assert_eq(format_bytes(csr, "csr_scalar"), offsets);
    TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_view *tight = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    cr_assert_eq(format_bytes(tight, "csr_vector8"), offsets);
    double expected[ROWS], found[ROWS];
    dcsr_vector *x = vector_of(COLS);
    dcsr_view *views[] = {segments, csr, tight};
    for (int v = 0; v < 3; v++) {
        dcsr_spmv_plan *plan = plan_of(views[v], "csr_vector4");
        if (v == 2) /* a plan keeps what it was lent while the matrix goes on */
            TEST_OK(dcsr_matrix_resize(matrix, 1, 1, NULL));
        TEST_OK(dcsr_matrix_wait(matrix));
        TEST_OK(dcsr_spmv_plan_run(v ? found : expected, plan, there(x)));
        cr_assert(!v || !memcmp(found, expected, sizeof found));
        dcsr_spmv_plan_destroy(plan);
        dcsr_view_destroy(views[v]);
    }
    dcsr_vector_destroy(x);
    dcsr_matrix_destroy(matrix);
    close_device();
}

Test(portfolio_device, refusals_say_why)
{
    open_device();
    NEEDS_GPU();
    const dcsr_status refused = DCSR_ERROR_INVALID_ARGUMENT;
    dcsr_matrix *matrix = make(DCSR_FP64), *truths = test_matrix(context, DCSR_BOOL, 9, 9, DCSR_POLICY_LAST),
                *hollow = test_matrix(context, DCSR_FP32, 1 << 28, 9, DCSR_POLICY_LAST);
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0),
              *small = test_view(truths, DCSR_LAYOUT_SEGMENTS, 0),
              *empty = test_view(hollow, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_spmv_plan *plan;
    double here[ROWS > COLS ? ROWS : COLS] = {0};
    dcsr_vector *x = vector_of(COLS);
    TEST_REFUSED(refused, "ell would pad rows",
                 dcsr_spmv_plan_create(&plan, view, &(dcsr_spmv_options){.kernel = "ell"}));
    TEST_REFUSED(refused, "dictionary numbers up to 256",
                 dcsr_spmv_plan_create(&plan, view, &(dcsr_spmv_options){.kernel = "dictionary"}));
    TEST_REFUSED(refused, "merge multiplies fp64",
                 dcsr_spmv_plan_create(&plan, small, &(dcsr_spmv_options){.kernel = "merge"}));
    TEST_REFUSED(refused, "coo needs a number for each row",
                 dcsr_spmv_plan_create(&plan, empty, &(dcsr_spmv_options){.kernel = "coo"}));
    plan = plan_of(view, "merge");
    TEST_REFUSED(refused, "y is not in the memory",
                 dcsr_spmv_plan_run_on_stream(here, plan, there(x), dcsr_i_cuda_handle(stream)));
    TEST_REFUSED(refused, "use dcsr_spmv_plan_run()",
                 dcsr_spmv_plan_run_on_stream(here, plan, here, dcsr_i_cuda_handle(stream)));
    TEST_REFUSED(refused, "x is NULL",
                 dcsr_spmv_plan_run_on_stream(here, plan, NULL, dcsr_i_cuda_handle(stream)));
    TEST_REFUSED(refused, "plan is NULL", dcsr_spmv_plan_run_on_stream(here, NULL, here, NULL));
    dcsr_spmv_plan_destroy(plan);
    dcsr_vector_destroy(x);
    dcsr_view_destroy(view);
    dcsr_view_destroy(small);
    dcsr_view_destroy(empty);
    dcsr_matrix_destroy(matrix);
    dcsr_matrix_destroy(truths);
    dcsr_matrix_destroy(hollow);
    close_device();
}

Test(portfolio_device, a_cpu_has_no_streams)
{
    dcsr_context *cpu;
    dcsr_spmv_plan *plan;
    TEST_OK(dcsr_context_create(&cpu, &(dcsr_context_options){.device = DCSR_DEVICE_CPU, .threads = 1}));
    dcsr_matrix *matrix = test_matrix(cpu, DCSR_FP64, 2, 2, DCSR_POLICY_LAST);
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    double x[2] = {0}, y[2];
    TEST_OK(dcsr_spmv_plan_create(&plan, view, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "has no streams",
                 dcsr_spmv_plan_run_on_stream(y, plan, x, NULL));
    dcsr_spmv_plan_destroy(plan);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(cpu);
}
