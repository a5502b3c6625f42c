/* test_multi_amg_ways.c: the options of multigrid on several devices: each beside one device with the same; what
 * conjugate gradients want of a cycle; Gauss-Seidel of parts that hang together; the limits of fp32. */
#include "tests/multi/multi_amg_world.h"
#include "tests/support/elasticity.h"

TestSuite(multi_amg_ways, .init = set_devices);

/* A plane grid, which is smaller on the emulator. */
static world open_with(int side, int count, const char *options)
{
    char text[32];
    snprintf(text, sizeof text, "poisson2d5:%d", test_on_emulator() ? side / 2 : side);
    world w = open_world(text, count, count);
    set_options(w.amg, NULL, options);
    return w;
}

/* ---- Solving ---- */

static const char *const ways[] = {"cycle=V",
                                   "cycle=W",
                                   "cycle=K",
                                   "precision=fp32",
                                   "smoother=jacobi",
                                   "smoother=l1",
                                   "smoother=gauss-seidel",
                                   "smoother=gauss-seidel steps=1",
                                   "steps=1",
                                   "steps=3",
                                   "strength=0",
                                   "omega=0",
                                   "seed=7",
                                   "cycle=V precision=fp32",
                                   "cycle=K precision=fp32 steps=1",
                                   "cycle=K smoother=gauss-seidel",
                                   "smoother=gauss-seidel precision=fp32 steps=3"};

Test(multi_amg_ways, each_takes_few_iterations_more_than_on_one_device)
{
    for (size_t o = 0; o < sizeof ways / sizeof *ways; o++) {
        world w = open_with(24, 3, ways[o]);
        const dcsr_amg_report found = set_up_and_solve(&w);
        const uint64_t alone = iterations_alone(&w, ways[o]);
        cr_assert_geq(w.info.divided, 1);
        cr_assert_leq(found.iterations, alone + 3, "%s: %d iterations, alone %d", ways[o],
                      (int)found.iterations, (int)alone);
        close_world(&w);
    }
}

/* Few levels, or borders between those of all devices and the others elsewhere; with all on one device, that one's
 * iterations, but for Gauss-Seidel, which goes by blocks of rows on the cpu alone. */
Test(multi_amg_ways, levels_are_where_options_say)
{
    static const char *const where[] = {"one_device=60",
                                        "levels=2",
                                        "levels=3",
                                        "one_device=100000",
                                        "one_device=100000 precision=fp32",
                                        "one_device=100000 cycle=W",
                                        "one_device=100000 smoother=gauss-seidel cycle=V",
                                        "one_device=60 cycle=K precision=fp32"};
    for (size_t o = 0; o < sizeof where / sizeof *where; o++) {
        world w = open_with(24, 3, where[o]);
        const dcsr_amg_report found = set_up_and_solve(&w);
        cr_assert_leq(found.iterations, 60, "%s: %d iterations", where[o], (int)found.iterations);
        cr_assert_eq(w.info.divided == 0, strstr(where[o], "100000") != NULL);
        if (!w.info.divided && !strstr(where[o], "gauss"))
            cr_assert_eq(found.iterations, iterations_alone(&w, where[o]), "%s", where[o]);
        close_world(&w);
    }
}

/* A grid whose rows are numbered in any order. */
static world scattered_world(uint64_t side, int count)
{
    dcsr_context *context = on_host();
    const uint64_t n = side * side;
    dcsr_coo coo;
    char text[32];
    snprintf(text, sizeof text, "poisson2d5:%d", (int)side);
    TEST_OK(dcsr_coo_generate(&coo, context, text));
    uint64_t *number = test_allocate(n, sizeof *number);
    test_random random = {.state = 3};
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t j = test_random_below(&random, i + 1);
        number[i] = number[j];
        number[j] = i;
    }
    for (uint64_t e = 0; e < coo.nnz; e++) {
        coo.row_indices[e] = number[coo.row_indices[e]];
        coo.col_indices[e] = number[coo.col_indices[e]];
    }
    free(number);
    return world_of(context, &coo, count, count);
}

/* Where neighbours have numbers far apart, most of a row is in columns of other devices: then one device has all levels
 * and its iterations, unless the caller wants them divided, which takes more. */
Test(multi_amg_ways, levels_with_much_outside_are_on_one_device)
{
    world w = scattered_world(20, 3);
    const dcsr_amg_report divided = set_up_and_solve(&w);
    cr_assert_geq(w.info.divided, 1);
    cr_assert(w.info.outside > 0.5 && w.info.outside <= 1, "%g", w.info.outside);
    set_options(w.amg, NULL, "outside=0.25");
    const dcsr_amg_report found = set_up_and_solve(&w);
    cr_assert_eq(w.info.divided, 0);
    cr_assert_eq(found.iterations, iterations_alone(&w, NULL));
    cr_assert_gt(divided.iterations, found.iterations);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "a number from 0 to 1",
                 dcsr_multi_amg_set(w.amg, "outside", "1.5"));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "a number from 0 to 1",
                 dcsr_multi_amg_set(w.amg, "outside", "nan"));
    close_world(&w);
    w = open_world("poisson2d5:20", 3, 3); /* four borders of 20 rows of 400, each with a quarter beyond it */
    set_options(w.amg, NULL, "outside=0.25");
    set_up_and_solve(&w);
    cr_assert_geq(w.info.divided, 1);
    cr_assert(w.info.outside > 0.03 && w.info.outside < 0.07, "%g", w.info.outside);
    close_world(&w);
}

/* ---- Nodes of several rows ---- */

/* Elasticity in parts, whose borders are between points. */
static world elastic_world(dcsr_dense *B, int count)
{
    dcsr_context *context = on_host();
    const bool small = test_on_emulator();
    dcsr_coo coo;
    test_elasticity(&coo, B, context, small ? 12 : 40, small ? 5 : 12);
    world w = world_with(context, &coo, count, &(dcsr_multi_options){.threads = count, .grain = 2});
    set_options(w.amg, NULL, "block=2");
    return w;
}

/* Iterations of one device of the cpu with these vectors. */
static uint64_t elastic_alone(const world *w, const dcsr_dense *B)
{
    dcsr_amg *amg;
    dcsr_amg_report report;
    double *x = test_allocate(w->csr.rows, sizeof *x);
    memset(x, 0, w->csr.rows * sizeof *x);
    TEST_OK(dcsr_amg_create(&amg, w->context));
    set_options(NULL, amg, "coarse_rows=20 block=2");
    TEST_OK(dcsr_amg_set_nullspace(amg, B));
    TEST_OK(dcsr_amg_setup(amg, w->entries, NULL));
    TEST_OK(dcsr_amg_solve(amg, x, w->b, &report));
    dcsr_amg_destroy(amg);
    free(x);
    return report.iterations;
}

/* With constants for each direction, and with the rigid-body modes, which take fewer iterations. One part has the
 * iterations of one device, several have a few more. */
Test(multi_amg_ways, elasticity_wants_its_rigid_body_modes)
{
    for (int count = 1; count <= MOST_DEVICES; count += test_on_emulator() ? 2 : 1) {
        dcsr_dense B;
        world w = elastic_world(&B, count);
        const uint64_t constants = set_up_and_solve(&w).iterations, alone = elastic_alone(&w, NULL);
        cr_assert_geq(w.info.divided, 1);
        cr_assert(constants <= alone + 4 && (count > 1 || constants == alone), "%d and %d", (int)constants,
                  (int)alone);
        TEST_OK(dcsr_multi_amg_set_nullspace(w.amg, &B));
        const uint64_t modes = set_up_and_solve(&w).iterations, modes_alone = elastic_alone(&w, &B);
        cr_assert(modes < constants && modes <= modes_alone + 4 && (count > 1 || modes == modes_alone),
                  "%d and %d", (int)modes, (int)modes_alone);
        set_options(w.amg, NULL, "cycle=K smoother=gauss-seidel precision=fp32");
        cr_assert_leq(set_up_and_solve(&w).iterations, modes + 10);
        set_options(w.amg, NULL, "one_device=100000 cycle=W smoother=chebyshev precision=fp64");
        cr_assert_eq(set_up_and_solve(&w).iterations, modes_alone);
        close_world(&w);
        free(B.values);
    }
}

/* An update keeps aggregates of nodes; with other vectors than before it does not. */
Test(multi_amg_ways, updates_follow_nodes)
{
    dcsr_dense B;
    world w = elastic_world(&B, 3);
    dcsr_amg_update_report report;
    const bool gpus = test_device_of_auto() == DCSR_DEVICE_CUDA;
    TEST_OK(dcsr_multi_amg_set_nullspace(w.amg, &B));
    const uint64_t before = set_up_and_solve(&w).iterations;
    TEST_OK(dcsr_multi_amg_update(w.amg, w.A, &report));
    cr_assert_eq(report.how, gpus ? DCSR_AMG_SET_UP : DCSR_AMG_RECOMPUTED, "%s", report.why);
    cr_assert_eq(solve(&w).iterations, before);
    TEST_OK(dcsr_multi_amg_set_nullspace(w.amg, NULL));
    TEST_OK(dcsr_multi_amg_update(w.amg, w.A, &report));
    cr_assert(report.how == DCSR_AMG_SET_UP && (gpus || strstr(report.why, "near-nullspace")));
    solve(&w);
    close_world(&w);
    free(B.values);
}

/* ---- Bits ---- */

/* Two runs, and on the cpu any number of threads, have the same bits. */
static void expect_the_same_bits(const char *options)
{
    double *first = NULL;
    for (int run = 0; run < 3; run++) {
        world w = open_world("poisson2d5:32", 2, run == 1 ? 4 : 2);
        set_options(w.amg, NULL, options);
        set_up_and_solve(&w);
        if (!first)
            first = test_allocate(w.csr.rows, sizeof *first), memcpy(first, w.x, w.csr.rows * sizeof *w.x);
        cr_assert(!memcmp(first, w.x, w.csr.rows * sizeof *w.x), "%s, run %d", options, run);
        close_world(&w);
    }
    free(first);
}

Test(multi_amg_ways, results_are_the_same_bit_for_bit)
{
    expect_the_same_bits("cycle=W");
    expect_the_same_bits("cycle=K smoother=gauss-seidel precision=fp32");
}

/* ---- The cycle ---- */

static double apply_dot(world *w, dcsr_multi_vector *z, dcsr_multi_vector *r, const double *from,
                        const double *with, double *to)
{
    double sum = 0;
    TEST_OK(dcsr_multi_vector_from_array(r, from));
    TEST_OK(dcsr_multi_amg_apply(w->amg, z, r));
    TEST_OK(dcsr_multi_vector_to_array(z, &(double){NAN}, to));
    for (uint64_t i = 0; i < w->csr.rows; i++) sum += with[i] * to[i];
    return sum;
}

/* u.(M^-1 v) = v.(M^-1 u), and u.(M^-1 u) > 0: what conjugate gradients want of it. */
static void expect_symmetric(const char *options, double rounding)
{
    world w = open_with(28, 3, options);
    const uint64_t n = w.csr.rows;
    double *u = test_allocate(n, sizeof *u), *v = test_allocate(n, sizeof *v),
           *z = test_allocate(n, sizeof *z);
    dcsr_multi_vector *Z, *R;
    TEST_OK(dcsr_multi_amg_setup(w.amg, w.A, NULL));
    TEST_OK(dcsr_multi_vector_create(&Z, w.A, DCSR_FP64, false));
    TEST_OK(dcsr_multi_vector_create(&R, w.A, DCSR_FP64, false));
    test_random random = {.state = 5};
    for (int time = 0; time < 3; time++) {
        for (uint64_t i = 0; i < n; i++) {
            u[i] = (double)test_random_below(&random, 2001) / 1000 - 1;
            v[i] = (double)test_random_below(&random, 2001) / 1000 - 1;
        }
        const double uv = apply_dot(&w, Z, R, v, u, z), vu = apply_dot(&w, Z, R, u, v, z),
                     uu = apply_dot(&w, Z, R, u, u, z);
        cr_assert_gt(uu, 0);
        cr_assert_leq(fabs(uv - vu), rounding * uu, "%s: %g and %g", options, uv, vu);
    }
    dcsr_multi_vector_destroy(Z);
    dcsr_multi_vector_destroy(R);
    free(u), free(v), free(z);
    close_world(&w);
}

Test(multi_amg_ways, a_cycle_is_symmetric_and_positive)
{
    expect_symmetric("cycle=W", 1e-10);
    expect_symmetric("cycle=V smoother=jacobi", 1e-10);
    expect_symmetric("cycle=W smoother=gauss-seidel", 1e-10);
    expect_symmetric("cycle=W precision=fp32", 1e-5);
}

/* Of 0 a cycle makes 0, in fp32, too, where it divides by the norm. */
Test(multi_amg_ways, a_cycle_for_zero_is_zero)
{
    for (size_t o = 0; o < sizeof ways / sizeof *ways; o += test_on_emulator() ? 5 : 1) {
        world w = open_with(16, 2, ways[o]);
        dcsr_multi_vector *z, *r;
        TEST_OK(dcsr_multi_amg_setup(w.amg, w.A, NULL));
        TEST_OK(dcsr_multi_vector_create(&z, w.A, DCSR_FP64, false));
        TEST_OK(dcsr_multi_vector_create(&r, w.A, DCSR_FP64, false));
        TEST_OK(dcsr_multi_vector_fill(r, &(double){0}));
        TEST_OK(dcsr_multi_amg_apply(w.amg, z, r));
        TEST_OK(dcsr_multi_vector_to_array(z, &(double){NAN}, w.x));
        for (uint64_t i = 0; i < w.csr.rows; i++) cr_assert_eq(w.x[i], 0, "%s", ways[o]);
        dcsr_multi_vector_destroy(z);
        dcsr_multi_vector_destroy(r);
        close_world(&w);
    }
}

/* A = I / 2 + s s^T with s = 1, -1, 1, ...: all rows hang together across borders, and the next level, of means, knows
 * nothing of s. There Gauss-Seidel that divides by the diagonal alone diverges from three devices on: a sweep on each
 * takes away all of s. */
Test(multi_amg_ways, sweeps_of_parts_that_hang_together_do_not_diverge)
{
    const int count = MOST_DEVICES;
    const uint64_t n = 8 * (uint64_t)count;
    dcsr_context *context = on_host();
    dcsr_coo coo;
    uint64_t used = 0;
    TEST_OK(dcsr_coo_allocate(&coo, context, DCSR_FP64, n, n, n * n));
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t j = 0; j < n; j++) put(&coo, &used, i, j, i == j ? 1.5 : (i + j) % 2 ? -1 : 1);
    world w = world_of(context, &coo, count, count);
    set_options(w.amg, NULL, "smoother=gauss-seidel steps=1 cycle=V omega=0 one_device=1 levels=2");
    TEST_OK(dcsr_multi_amg_setup(w.amg, w.A, &w.info));
    cr_assert_eq(w.info.divided, 1);
    dcsr_multi_vector *z, *r;
    TEST_OK(dcsr_multi_vector_create(&z, w.A, DCSR_FP64, false));
    TEST_OK(dcsr_multi_vector_create(&r, w.A, DCSR_FP64, false));
    memset(w.x, 0, n * sizeof *w.x);
    for (uint64_t i = 0; i < n; i++) w.b[i] = i % 2 ? -1 : 1;
    double *left = test_allocate(n, sizeof *left), *change = test_allocate(n, sizeof *change);
    for (int time = 0; time < 40; time++) {
        for (uint64_t i = 0; i < n; i++) {
            left[i] = w.b[i];
            for (uint64_t e = w.csr.offsets[i]; e < w.csr.offsets[i + 1]; e++)
                left[i] -= ((const double *)w.csr.values)[e] * w.x[w.csr.col_indices[e]];
        }
        apply_dot(&w, z, r, left, left, change);
        for (uint64_t i = 0; i < n; i++) w.x[i] += change[i];
    }
    cr_assert_leq(residual_of(&w), 0.1, "%g", residual_of(&w));
    dcsr_multi_vector_destroy(z);
    dcsr_multi_vector_destroy(r);
    free(left);
    free(change);
    close_world(&w);
}

/* ---- What fails ---- */

/* Values that fp32 cannot hold are refused, by the number that their row has among all. */
Test(multi_amg_ways, rows_beyond_fp32_are_named)
{
    enum { N = 90 };
    for (uint64_t row = 4; row < N; row += 80) {
        dcsr_context *context = on_host();
        dcsr_coo coo;
        uint64_t used = 0;
        char name[32];
        TEST_OK(dcsr_coo_allocate(&coo, context, DCSR_FP64, N, N, 3 * N));
        for (uint64_t i = 0; i < N; i++) {
            put(&coo, &used, i, i, i == row ? 1e30 : 2);
            if (i) put(&coo, &used, i, i - 1, -1);
            if (i + 1 < N) put(&coo, &used, i, i + 1, -1);
        }
        pad(&coo, used);
        world w = world_of(context, &coo, 3, 3);
        set_options(w.amg, NULL, "precision=fp32");
        snprintf(name, sizeof name, "row %d ", (int)row);
        TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "precision=fp32", dcsr_multi_amg_setup(w.amg, w.A, NULL));
        cr_assert(test_says(name), "%s", dcsr_thread_error());
        set_options(w.amg, NULL, "precision=fp64");
        TEST_OK(dcsr_multi_amg_setup(w.amg, w.A, NULL));
        close_world(&w);
    }
}
