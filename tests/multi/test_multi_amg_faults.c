/* test_multi_amg_faults.c: multigrid on several devices: what it refuses, matrices that change, and what fails. */
#include "dcsr/base/alloc.h"
#include "tests/multi/multi_amg_world.h"

TestSuite(multi_amg_faults, .init = set_devices);

/* ---- Refusing ---- */

/* The message names the row of the whole matrix, on whichever device it is. */
static void refuse_row(uint64_t row, double value, bool empty, const char *words)
{
    enum { N = 60 };
    dcsr_context *context = on_host();
    dcsr_coo coo;
    char name[32];
    uint64_t used = 0;
    TEST_OK(dcsr_coo_allocate(&coo, context, DCSR_FP64, N, N, 3 * N));
    for (uint64_t i = 0; i < N; i++) {
        if (i == row && empty) continue;
        put(&coo, &used, i, i, i == row ? value : 4);
        if (i) put(&coo, &used, i, i - 1, -1);
        if (i + 1 < N) put(&coo, &used, i, i + 1, -1);
    }
    pad(&coo, used);
    world w = world_of(context, &coo, 3, 3);
    snprintf(name, sizeof name, "row %d ", (int)row);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, words, dcsr_multi_amg_setup(w.amg, w.A, NULL));
    cr_assert(test_says(name), "%s", dcsr_thread_error());
    close_world(&w);
}

Test(multi_amg_faults, rows_that_cannot_be_used_are_named)
{
    for (uint64_t row = 3; row < 60; row += 25) {
        refuse_row(row, 0, true, "no entries");
        refuse_row(row, 0, false, "zero on the diagonal");
        refuse_row(row, NAN, false, "not finite");
        refuse_row(row, INFINITY, false, "not finite");
    }
}

Test(multi_amg_faults, arguments_are_checked)
{
    world w = open_world("poisson2d5:12", 2, 2);
    dcsr_multi_vector *z, *r, *single;
    dcsr_amg_level level;
    dcsr_dense X = {.rows = 144, .cols = 2, .values = w.x}, B = {.rows = 144, .cols = 1, .values = w.b};
    TEST_OK(dcsr_multi_vector_create(&z, w.A, DCSR_FP64, false));
    TEST_OK(dcsr_multi_vector_create(&r, w.A, DCSR_FP64, false));
    TEST_OK(dcsr_multi_vector_create(&single, w.A, DCSR_FP32, false));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "amg is NULL", dcsr_multi_amg_create(NULL, w.devices));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "A is NULL", dcsr_multi_amg_setup(w.amg, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "call dcsr_multi_amg_setup", dcsr_multi_amg_apply(w.amg, z, r));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "call dcsr_multi_amg_setup",
                 dcsr_multi_amg_update(w.amg, w.A, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "call dcsr_multi_amg_setup",
                 dcsr_multi_amg_solve(w.amg, w.x, w.b, NULL));
    TEST_REFUSED(DCSR_ERROR_NOT_FOUND, "no option", dcsr_multi_amg_set(w.amg, "colour", "red"));
    TEST_REFUSED(DCSR_ERROR_NOT_FOUND, " smoother", dcsr_multi_amg_set(w.amg, "colour", "red"));
    TEST_REFUSED(DCSR_ERROR_NOT_FOUND, " one_device outside", dcsr_multi_amg_set(w.amg, "colour", "red"));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "whole number", dcsr_multi_amg_set(w.amg, "one_device", "0"));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "whole number", dcsr_multi_amg_set(w.amg, "one_device", "1.5"));
    TEST_OK(dcsr_multi_amg_set(w.amg, "block", "5"));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "no multiple of the option block",
                 dcsr_multi_amg_setup(w.amg, w.A, NULL));
    TEST_OK(dcsr_multi_amg_set(w.amg, "block", "48"));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "`grain` of 48", dcsr_multi_amg_setup(w.amg, w.A, NULL));
    TEST_OK(dcsr_multi_amg_set(w.amg, "block", "1"));
    TEST_OK(
        dcsr_multi_amg_set_nullspace(w.amg, &(dcsr_dense){.rows = 2, .cols = 1, .values = (double[]){1, 1}}));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "vectors have 2", dcsr_multi_amg_setup(w.amg, w.A, NULL));
    TEST_OK(dcsr_multi_amg_set_nullspace(w.amg, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "amg is NULL", dcsr_multi_amg_set_nullspace(NULL, NULL));
    TEST_OK(dcsr_multi_amg_setup(w.amg, w.A, NULL));
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "no number 50", dcsr_multi_amg_get_level(w.amg, 50, &level));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "144 elements of r are missing",
                 dcsr_multi_amg_apply(w.amg, z, r));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "same vector", dcsr_multi_amg_apply(w.amg, z, z));
    TEST_REFUSED(DCSR_ERROR_TYPE_MISMATCH, "z is fp32", dcsr_multi_amg_apply(w.amg, single, r));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "amg is NULL", dcsr_multi_amg_solve(NULL, w.x, w.b, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "x is NULL", dcsr_multi_amg_solve(w.amg, NULL, w.b, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "B is NULL", dcsr_multi_amg_solve_many(w.amg, &X, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "X is 144 x 2 and B is 144 x 1",
                 dcsr_multi_amg_solve_many(w.amg, &X, &B, NULL));
    w.b[143] = NAN;
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "b[143] is not finite",
                 dcsr_multi_amg_solve(w.amg, w.x, w.b, NULL));
    uint64_t count;
    const double *residuals;
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "had 0 columns, no number 1",
                 dcsr_multi_amg_get_residuals(w.amg, 1, &count, &residuals));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "amg is NULL",
                 dcsr_multi_amg_get_residuals(NULL, 0, &count, &residuals));
    dcsr_multi_vector_destroy(z);
    dcsr_multi_vector_destroy(r);
    dcsr_multi_vector_destroy(single);
    close_world(&w);
}

/* ---- Matrices of parts ---- */

/* A partitioned matrix of two matrices shows their rows, one behind the other; what does not fit is refused, and stays
 * the caller's. */
Test(multi_amg_faults, parts_become_a_matrix)
{
    dcsr_multi *devices = test_devices(2, 2);
    dcsr_multi_info info;
    TEST_OK(dcsr_multi_get_info(devices, &info));
    dcsr_matrix *part[2], *other;
    dcsr_multi_matrix *matrix;
    dcsr_multi_view *view;
    for (uint64_t k = 0; k < info.devices; k++) {
        TEST_OK(dcsr_matrix_create(&part[k], info.context[k], DCSR_FP64, 3 + k, 9, NULL));
        TEST_OK(
            dcsr_matrix_insert(part[k], 1, (const uint64_t[]){k}, (const uint64_t[]){4}, &(double){7}, NULL));
        TEST_OK(dcsr_matrix_wait(part[k]));
    }
    if (info.devices == 2) {
        dcsr_matrix *swapped[] = {part[1], part[0]}, *narrow[] = {part[0], NULL};
        TEST_OK(dcsr_matrix_create(&other, info.context[1], DCSR_FP64, 2, 8, NULL));
        TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "part 1 is NULL",
                     dcsr_multi_matrix_from_parts(&matrix, devices, narrow, NULL));
        narrow[1] = other;
        TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "part 1 has 8 columns",
                     dcsr_multi_matrix_from_parts(&matrix, devices, narrow, NULL));
        TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "another context",
                     dcsr_multi_matrix_from_parts(&matrix, devices, swapped, NULL));
        TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "columns[2] is 8",
                     dcsr_multi_matrix_from_parts(&matrix, devices, part, (const uint64_t[]){0, 2, 8}));
        TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "columns[0] is 1",
                     dcsr_multi_matrix_from_parts(&matrix, devices, part, (const uint64_t[]){1, 2, 9}));
        dcsr_matrix_destroy(other);
    }
    TEST_OK(dcsr_multi_matrix_from_parts(&matrix, devices, part,
                                         info.devices == 2 ? (const uint64_t[]){0, 2, 9} : NULL));
    TEST_OK(dcsr_multi_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, 0));
    for (uint64_t row = 0; row < (info.devices == 2 ? 7 : 3); row++) {
        uint32_t column = 0;
        double value = 0;
        uint64_t length;
        TEST_OK(dcsr_multi_view_get_row(view, row, 1, &column, &value, &length));
        const bool there = row == 0 || row == 4;
        cr_assert_eq(length, there);
        cr_assert(!there || (column == 4 && value == 7));
    }
    dcsr_multi_view_destroy(view);
    dcsr_multi_matrix_destroy(matrix);
    dcsr_multi_destroy(devices);
}

/* ---- Changes ---- */

/* Changes values, or with `pattern` adds edges between far rows, and updates; x is that of the new matrix. */
static void change_and_update(bool pattern)
{
    world w = open_world("poisson2d5:24", 3, 3);
    const uint64_t n = w.csr.rows;
    dcsr_amg_update_report report;
    set_up_and_solve(&w);
    double *values = (double *)(uintptr_t)w.csr.values;
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t e = w.csr.offsets[i]; e < w.csr.offsets[i + 1]; e++)
            values[e] *= 1 + 0.1 * (double)((i + w.csr.col_indices[e]) % 5);
    for (uint64_t i = 0; i < n; i++) {
        double sum = 0.01;
        for (uint64_t e = w.csr.offsets[i]; e < w.csr.offsets[i + 1]; e++)
            if (w.csr.col_indices[e] != i) sum += fabs(values[e]);
        for (uint64_t e = w.csr.offsets[i]; e < w.csr.offsets[i + 1]; e++)
            if (w.csr.col_indices[e] == i) values[e] = sum + (pattern ? 1 : 0);
    }
    dcsr_multi_matrix *matrix;
    dcsr_multi_view *A;
    TEST_OK(dcsr_multi_matrix_from_csr(&matrix, w.devices, &w.csr, NULL));
    if (pattern) {
        const uint64_t rows[] = {3, n - 5}, cols[] = {n - 5, 3};
        TEST_OK(dcsr_multi_matrix_insert(matrix, 2, rows, cols, (const double[]){-0.5, -0.5}, NULL));
    }
    TEST_OK(dcsr_multi_view_create(&A, matrix, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED | DCSR_VIEW_LATEST));
    TEST_OK(dcsr_multi_amg_update(w.amg, A, &report));
    const bool gpus = test_device_of_auto() == DCSR_DEVICE_CUDA;
    cr_assert_eq(report.how, gpus ? DCSR_AMG_SET_UP : DCSR_AMG_RECOMPUTED, "%s", report.why);
    cr_assert_eq(report.why != NULL, gpus);
    dcsr_multi_view_destroy(w.A);
    dcsr_multi_matrix_destroy(w.matrix);
    w.A = A;
    w.matrix = matrix;
    dcsr_amg_report solved;
    memset(w.x, 0, n * sizeof *w.x);
    TEST_OK(dcsr_multi_amg_solve(w.amg, w.x, w.b, &solved));
    cr_assert_eq(solved.outcome, DCSR_AMG_CONVERGED);
    cr_assert_lt(solved.iterations, 30);
    if (!pattern) cr_assert_leq(residual_of(&w), 1.1e-8);
    close_world(&w);
}

Test(multi_amg_faults, updates_follow_values)
{
    change_and_update(false);
}

Test(multi_amg_faults, updates_follow_a_pattern)
{
    change_and_update(true);
}

/* A cycle for r, with a z that fits A. */
static dcsr_status apply_from(dcsr_multi_amg *amg, dcsr_multi_view *A, dcsr_multi_vector *r)
{
    dcsr_multi_vector *z;
    TEST_OK(dcsr_multi_vector_create(&z, A, DCSR_FP64, false));
    const dcsr_status status = dcsr_multi_amg_apply(amg, z, r);
    dcsr_multi_vector_destroy(z);
    return status;
}

/* Of another size, all is set up anew. */
Test(multi_amg_faults, an_update_for_other_rows_sets_up)
{
    world w = open_world("poisson2d5:20", 2, 2), larger = open_world("poisson2d5:24", 2, 2);
    dcsr_amg_update_report report;
    dcsr_multi_matrix *matrix;
    dcsr_multi_view *A;
    set_up_and_solve(&w);
    TEST_OK(dcsr_multi_matrix_from_csr(&matrix, w.devices, &larger.csr, NULL));
    TEST_OK(dcsr_multi_view_create(&A, matrix, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED));
    TEST_OK(dcsr_multi_amg_update(w.amg, A, &report));
    cr_assert_eq(report.how, DCSR_AMG_SET_UP);
    cr_assert_not_null(report.why);
    dcsr_multi_vector *r;
    TEST_OK(dcsr_multi_amg_solve(w.amg, larger.x, larger.b, NULL));
    cr_assert_leq(residual_of(&larger), 1.1e-8);
    TEST_OK(dcsr_multi_vector_create(&r, w.A, DCSR_FP64, false));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "other borders", apply_from(w.amg, A, r));
    dcsr_multi_vector_destroy(r);
    dcsr_multi_amg_destroy(w.amg);
    w.amg = NULL;
    dcsr_multi_view_destroy(A);
    dcsr_multi_matrix_destroy(matrix);
    close_world(&larger);
    close_world(&w);
}

/* ---- Failures ---- */

/* A call takes a GPU some milliseconds, and the emulator more: there some allocations are left out. */
static long step_of(long less)
{
    return test_device_of_auto() == DCSR_DEVICE_CUDA ? less : 1;
}

/* Allocations are made to fail in turn: what was set up before still solves, and nothing is left behind. */
static void fail_allocations_of_setups(const char *options, long less)
{
    world w = open_world("poisson2d5:14", 2, 2);
    set_options(w.amg, NULL, options);
    set_up_and_solve(&w);
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    for (long n = 0; status; n += step_of(less)) {
        dcsr_i_fail_allocations_after(n);
        status = dcsr_multi_amg_setup(w.amg, w.A, NULL);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(!status || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
    }
    solve(&w);
    close_world(&w);
}

static const char most_options[] = "cycle=K smoother=gauss-seidel precision=fp32";

Test(multi_amg_faults, a_setup_survives_failing_allocations)
{
    fail_allocations_of_setups("cycle=W", 23);
}

Test(multi_amg_faults, a_setup_of_all_that_there_is_does_too)
{
    fail_allocations_of_setups(most_options, 61);
}

static void fail_allocations_of_solves(const char *options, long less)
{
    world w = open_world("poisson2d5:14", 2, 2);
    set_options(w.amg, NULL, options);
    TEST_OK(dcsr_multi_amg_setup(w.amg, w.A, NULL));
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    for (long n = 0; status; n += step_of(less)) {
        memset(w.x, 0, w.csr.rows * sizeof *w.x);
        dcsr_i_fail_allocations_after(n);
        status = dcsr_multi_amg_solve(w.amg, w.x, w.b, NULL);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(!status || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
        for (uint64_t i = 0; status && i < w.csr.rows; i++) cr_assert_eq(w.x[i], 0);
    }
    cr_assert_leq(residual_of(&w), 1.1e-8);
    close_world(&w);
}

Test(multi_amg_faults, a_solve_survives_failing_allocations)
{
    fail_allocations_of_solves("cycle=W", 7);
}

Test(multi_amg_faults, a_solve_with_fgmres_does_too)
{
    fail_allocations_of_solves("solver=fgmres restart=4", 31);
}

#if TEST_EMULATOR
/* A device that is lost: the call fails and names one, nobody waits for ever, and all can be destroyed. */
static void lose_device(const char *options, bool set_up, long after)
{
    NEEDS_EMULATOR();
    world w = open_world("poisson2d5:14", 3, 3);
    set_options(w.amg, NULL, options);
    if (set_up) TEST_OK(dcsr_multi_amg_setup(w.amg, w.A, NULL));
    simt_fail_device_after(1, after);
    dcsr_status status = set_up ? DCSR_OK : dcsr_multi_amg_setup(w.amg, w.A, NULL);
    if (!status) {
        memset(w.x, 0, w.csr.rows * sizeof *w.x);
        status = dcsr_multi_amg_solve(w.amg, w.x, w.b, NULL);
    }
    if (status || set_up) {
        cr_assert_eq(status, DCSR_ERROR_DEVICE, "%s", dcsr_thread_error());
        cr_assert(test_says("cuda:"), "%s", dcsr_thread_error());
    } else {
        cr_assert_leq(residual_of(&w), 1.1e-8);
    }
    close_world(&w);
}

/* A process that has lost a device has lost it for good. LATER: once there are levels, in a solve with visits that wait
 * for sums of all, and sweeps. */
#define LOSES(operations)                                                      \
    Test(multi_amg_faults, a_device_lost_after_##operations##_operations)      \
    {                                                                          \
        if (!TEST_THREAD_SANITIZER) lose_device("cycle=W", false, operations); \
    }
#define LOSES_LATER(operations)                                                      \
    Test(multi_amg_faults, a_device_lost_after_##operations##_operations_of_a_solve) \
    {                                                                                \
        if (!TEST_THREAD_SANITIZER) lose_device(most_options, true, operations);     \
    }
LOSES(0)
LOSES(40)
LOSES(300)
LOSES(900)
LOSES(2000)
LOSES_LATER(20)
LOSES_LATER(150)
LOSES_LATER(400)

/* By way of the host, where devices may not touch each other's memory, the result is the same. */
Test(multi_amg_faults, devices_without_peers_have_the_same_result)
{
    double *first = NULL;
    for (int peers = 1; peers >= 0; peers--) {
        simt_set_peers(peers);
        world w = open_world("poisson2d5:24", 3, 3);
        set_up_and_solve(&w);
        if (!first)
            first = test_allocate(w.csr.rows, sizeof *first), memcpy(first, w.x, w.csr.rows * sizeof *w.x);
        cr_assert(!memcmp(first, w.x, w.csr.rows * sizeof *w.x));
        close_world(&w);
    }
    free(first);
}
#endif
