/* test_multi_amg.c: multigrid on several devices: conjugate gradients with it beside residuals that loops over the
 * entries compute and beside one device's multigrid; and matrices that are not grids. */
#include "tests/multi/multi_amg_world.h"

TestSuite(multi_amg, .init = set_devices);

/* ---- Solving ---- */

/* Grids, on as many devices as there are, take a few iterations more than on one. */
static void compare_with_one(const char *text, int more)
{
    for (int count = 1; count <= MOST_DEVICES; count++) {
        world w = open_world(text, count, count);
        const uint64_t alone = iterations_alone(&w, NULL);
        const dcsr_amg_report found = set_up_and_solve(&w);
        cr_assert_geq(w.info.divided, 1, "%s has %d rows", text, (int)w.csr.rows);
        cr_assert_gt(w.info.levels, w.info.divided);
        cr_assert(w.info.symmetric);
        cr_assert_leq(found.iterations, alone + (uint64_t)more, "%s on %d devices: %d iterations, alone %d",
                      text, count, (int)found.iterations, (int)alone);
        close_world(&w);
    }
}

Test(multi_amg, plane_grids_take_few_iterations_more_than_on_one_device)
{
    char text[32];
    snprintf(text, sizeof text, "poisson2d5:%d", test_on_emulator() ? 20 : TEST_VARIANT(60, 40, 24));
    compare_with_one(text, 2);
}

Test(multi_amg, space_grids_do_too)
{
    char text[32];
    snprintf(text, sizeof text, "poisson3d7:%d", test_on_emulator() ? 6 : TEST_VARIANT(16, 12, 8));
    compare_with_one(text, 2);
}

/* With all of it on one device the levels are that device's own. */
Test(multi_amg, levels_of_a_small_matrix_are_those_of_one_device)
{
    world w = open_world("poisson2d5:30", 2, 2);
    TEST_OK(dcsr_multi_amg_set(w.amg, "one_device", "1000000"));
    const dcsr_amg_report found = set_up_and_solve(&w);
    dcsr_amg_level level;
    cr_assert_eq(found.iterations, iterations_alone(&w, NULL));
    TEST_OK(dcsr_multi_amg_get_level(w.amg, 0, &level));
    cr_assert_eq(level.rows, w.csr.rows);
    cr_assert_eq(level.nnz, w.csr.nnz);
    close_world(&w);
}

Test(multi_amg, levels_add_up)
{
    world w = open_world("poisson2d5:40", 3, 3);
    double entries = 0, rows = 0, shares = 0;
    uint64_t before = UINT64_MAX;
    TEST_OK(dcsr_multi_amg_setup(w.amg, w.A, &w.info));
    for (uint64_t l = 0; l < w.info.levels; l++) {
        dcsr_amg_level level;
        TEST_OK(dcsr_multi_amg_get_level(w.amg, l, &level));
        cr_assert_lt(level.rows, before);
        before = level.rows;
        entries += (double)level.nnz;
        rows += (double)level.rows;
        shares += level.share;
    }
    cr_assert_float_eq(entries / (double)w.csr.nnz, w.info.operator_complexity, 1e-12);
    cr_assert_float_eq(rows / (double)w.csr.rows, w.info.grid_complexity, 1e-12);
    cr_assert_float_eq(shares, 1, 1e-12);
    dcsr_multi_amg_info again;
    TEST_OK(dcsr_multi_amg_get_info(w.amg, &again));
    cr_assert(!memcmp(&again, &w.info, sizeof again));
    close_world(&w);
}

/* ---- Matrices that are not grids ---- */

/* A path of n vertices, as a Laplacian with `shift` added to the diagonal; every `cut`th edge is missing. */
static world path_world(uint64_t n, uint64_t cut, double shift, int count)
{
    dcsr_context *context = on_host();
    dcsr_coo coo;
    uint64_t used = 0;
    TEST_OK(dcsr_coo_allocate(&coo, context, DCSR_FP64, n, n, 5 * n));
    for (uint64_t i = 0; i < n; i++) {
        put(&coo, &used, i, i, shift);
        if (i + 1 == n || (i + 1) % cut == 0) continue;
        put(&coo, &used, i, i, 1);
        put(&coo, &used, i + 1, i + 1, 1);
        put(&coo, &used, i, i + 1, -1);
        put(&coo, &used, i + 1, i, -1);
    }
    pad(&coo, used);
    return world_of(context, &coo, count, count);
}

/* Singular, with b in its range: the residual is what counts. Coarse rows become zero where a piece of the path is one
 * aggregate. */
Test(multi_amg, singular_matrices_are_solved_where_b_is_in_their_range)
{
    for (uint64_t cut = 3; cut <= 1000; cut = cut * 7) {
        world w = path_world(600, cut, 0, 3);
        for (uint64_t i = 0; i < w.csr.rows; i++) w.b[i] = 0;
        for (uint64_t i = 0; i < w.csr.rows; i++)
            for (uint64_t e = w.csr.offsets[i]; e < w.csr.offsets[i + 1]; e++)
                w.b[i] +=
                    ((const double *)w.csr.values)[e] * (double)(w.csr.col_indices[e] * 2654435761u % 1000);
        set_up_and_solve(&w);
        close_world(&w);
    }
}

/* Of a diagonal no row has a neighbour: there is nothing to aggregate. */
Test(multi_amg, a_diagonal_is_solved)
{
    world w = path_world(500, 1, 3, 3);
    const dcsr_amg_report found = set_up_and_solve(&w);
    cr_assert_leq(found.iterations, 2);
    for (uint64_t i = 0; i < w.csr.rows; i++) cr_assert_float_eq(w.x[i], 1.0 / 3, 1e-9);
    close_world(&w);
}

/* Fewer rows than devices; some devices have none. */
Test(multi_amg, tiny_matrices_are_solved)
{
    for (uint64_t n = 0; n <= 7; n++) {
        world w = path_world(n, 100, 0.5, MOST_DEVICES);
        TEST_OK(dcsr_multi_amg_set(w.amg, "one_device", "1"));
        if (n) set_up_and_solve(&w);
        close_world(&w);
    }
}

/* All entries are in few rows, so that borders leave devices without rows, or with rows of no strong neighbour. */
Test(multi_amg, devices_without_rows_do_no_harm)
{
    enum { N = 90 };
    dcsr_context *context = on_host();
    dcsr_coo coo;
    uint64_t used = 0;
    TEST_OK(dcsr_coo_allocate(&coo, context, DCSR_FP64, N, N, 3 * N));
    for (uint64_t i = 0; i < N; i++) put(&coo, &used, i, i, i ? 1 : N);
    for (uint64_t i = 1; i < N; i++) {
        put(&coo, &used, 0, i, -0.9);
        put(&coo, &used, i, 0, -0.9);
    }
    pad(&coo, used);
    world w = world_of(context, &coo, MOST_DEVICES, MOST_DEVICES);
    set_up_and_solve(&w);
    close_world(&w);
}

/* What is not symmetric is told, and a cycle still lowers the residual. */
Test(multi_amg, matrices_that_are_not_symmetric_are_told)
{
    enum { N = 400 };
    dcsr_context *context = on_host();
    dcsr_coo coo;
    uint64_t used = 0;
    TEST_OK(dcsr_coo_allocate(&coo, context, DCSR_FP64, N, N, 3 * N));
    for (uint64_t i = 0; i < N; i++) {
        put(&coo, &used, i, i, 2.5);
        if (i) put(&coo, &used, i, i - 1, -1.6);
        if (i + 1 < N) put(&coo, &used, i, i + 1, -0.4);
    }
    pad(&coo, used);
    world w = world_of(context, &coo, 3, 3);
    dcsr_multi_vector *z, *r;
    TEST_OK(dcsr_multi_amg_setup(w.amg, w.A, &w.info));
    cr_assert_not(w.info.symmetric);
    TEST_OK(dcsr_multi_vector_create(&z, w.A, DCSR_FP64, false));
    TEST_OK(dcsr_multi_vector_create(&r, w.A, DCSR_FP64, false));
    TEST_OK(dcsr_multi_vector_from_array(r, w.b));
    TEST_OK(dcsr_multi_amg_apply(w.amg, z, r));
    TEST_OK(dcsr_multi_vector_to_array(z, &(double){NAN}, w.x));
    cr_assert_lt(residual_of(&w), 0.5);
    dcsr_multi_vector_destroy(z);
    dcsr_multi_vector_destroy(r);
    close_world(&w);
}
