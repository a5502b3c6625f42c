/* test_amg_update.c: after updates each level is what the stages and products of a setup make of it. */
#include "amg/hierarchy_follow.h"
#include "amg/rebuild.h"
#include "dcsr/base/alloc.h"
#include "tests/amg/changing.h"
#include <dcsr/convert.h>
#include <dcsr/mxm.h>
#include <dcsr/transpose.h>

static const dcsr_status bad = DCSR_ERROR_INVALID_ARGUMENT;

/* ---- What a hierarchy has to be ---- */

static dcsr_view *product(dcsr_matrix **C, dcsr_context *context, dcsr_view *A, dcsr_view *B)
{
    dcsr_view_shape a, b;
    dcsr_view *view;
    TEST_OK(dcsr_view_get_shape(A, &a));
    TEST_OK(dcsr_view_get_shape(B, &b));
    TEST_OK(dcsr_matrix_create(C, context, DCSR_FP64, a.rows, b.cols, NULL));
    TEST_OK(dcsr_mxm(*C, NULL, NULL, dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64), A, B, NULL));
    TEST_OK(dcsr_view_create(&view, *C, DCSR_LAYOUT_CSR, 0));
    return view;
}

static void expect_products(const changing *c, int l)
{
    dcsr_view *A, *P, *R, *next, *AP, *RAP, *T;
    dcsr_matrix *ap, *rap, *t;
    dcsr_csr csr;
    TEST_OK(dcsr_amg_get_views(c->p.amg, (uint64_t)l, &A, &P, &R));
    TEST_OK(dcsr_amg_get_views(c->p.amg, (uint64_t)l + 1, &next, NULL, NULL));
    TEST_OK(dcsr_view_get_csr(P, &csr));
    TEST_OK(dcsr_matrix_create(&t, c->p.context, DCSR_FP64, csr.cols, csr.rows, NULL));
    TEST_OK(dcsr_matrix_transpose(t, NULL, NULL, P, NULL));
    TEST_OK(dcsr_view_create(&T, t, DCSR_LAYOUT_CSR, 0));
    expect_level(T, R, 0, "R", l);
    AP = product(&ap, c->p.context, A, P);
    RAP = product(&rap, c->p.context, R, AP);
    expect_level(RAP, next, 0, "R A P", l);
    dcsr_view *const views[] = {T, AP, RAP};
    dcsr_matrix *const matrices[] = {t, ap, rap};
    for (int k = 0; k < 3; k++) {
        dcsr_view_destroy(views[k]);
        dcsr_matrix_destroy(matrices[k]);
    }
}

/* The stages in full, with these aggregates and rho. */
static void expect_stages(const changing *c, int l)
{
    dcsr_i_amg_hierarchy *h = c->p.amg->hierarchy;
    dcsr_i_amg_level *level = &h->level[l], full = *level;
    dcsr_i_amg_graph graph;
    dcsr_i_amg_diagonal found;
    dcsr_i_amg_array T = {0}, coarse = {0};
    const uint64_t v = level->vectors;
    full.norms = full.diagonal = full.scale = (dcsr_i_amg_array){0};
    full.P = (dcsr_i_amg_matrix){0};
    TEST_OK(dcsr_i_amg_read_diagonal(&found, h, &full));
    cr_assert(!memcmp(full.diagonal.data, level->diagonal.data, full.rows * sizeof(double)));
    cr_assert(!memcmp(full.scale.data, level->scale.data, full.rows * sizeof(double)));
    TEST_OK(dcsr_i_amg_strength(&graph, h, &full, level->theta));
    TEST_OK(dcsr_i_amg_take(&T, c->p.context, full.rows * v, sizeof(double)));
    TEST_OK(dcsr_i_amg_take(&coarse, c->p.context, level->aggregates * v * v, sizeof(double)));
    if (level->B.data)
        memcpy(T.data, level->B.data, full.rows * v * sizeof(double));
    else
        for (uint64_t i = 0; i < full.rows; i++) ((double *)T.data)[i * v + i % v] = 1;
    dcsr_i_amg_partition parts = {level->aggregate.data, level->aggregates, NULL};
    for (uint64_t node = 0; node < graph.count; node++)
        cr_assert((parts.aggregate[node] == DCSR_I_AMG_NO_AGGREGATE) == !graph.length[node],
                  "node %llu of level %d", (unsigned long long)node, l);
    TEST_OK(dcsr_i_amg_prolongator(&full, T.data, coarse.data, h, &graph, &parts, v));
    dcsr_view *P, *again;
    TEST_OK(dcsr_amg_get_views(c->p.amg, (uint64_t)l, NULL, &P, NULL));
    TEST_OK(dcsr_i_amg_show(&again, &full.P, h));
    expect_level(again, P, 0, "P", l);
    if (level[1].B.data) cr_assert(!memcmp(coarse.data, level[1].B.data, coarse.count * sizeof(double)));
    dcsr_i_amg_matrix_free(&full.P, h);
    dcsr_i_amg_graph_free(&graph, h);
    dcsr_i_amg_array *const arrays[] = {&T, &coarse, &full.norms, &full.diagonal, &full.scale};
    for (int a = 0; a < 5; a++) dcsr_i_amg_drop(arrays[a], c->p.context);
}

static void expect_levels_of(const changing *c, dcsr_view *view)
{
    dcsr_view *A, *now;
    dcsr_matrix *copy;
    TEST_OK(dcsr_amg_get_views(c->p.amg, 0, &A, NULL, NULL));
    dcsr_view_shape shape;
    TEST_OK(dcsr_view_get_shape(view, &shape));
    TEST_OK(dcsr_matrix_create(&copy, c->p.context, DCSR_FP64, shape.rows, shape.rows, NULL));
    TEST_OK(dcsr_matrix_transpose(copy, NULL, NULL, view, &(dcsr_desc){.transpose_a = true}));
    TEST_OK(dcsr_view_create(&now, copy, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED));
    expect_level(now, A, 0, "A", 0);
    dcsr_view_destroy(now);
    dcsr_matrix_destroy(copy);
    for (int l = 0; l + 1 < c->p.amg->hierarchy->level_count; l++) {
        expect_stages(c, l);
        expect_products(c, l);
    }
}

static void expect_levels(const changing *c)
{
    expect_levels_of(c, c->view);
}

/* Random changes, some at a time. Iterations are compared with those of levels that are made anew. */
static void follows(problem p, bool symmetric, const char *settings, const dcsr_dense *B, int steps,
                    int most_more)
{
    changing c = changing_of(p, symmetric, DCSR_LAYOUT_SEGMENTS);
    uint64_t patched = 0;
    problem_set(&c.p, settings);
    problem_set(&c.p, "rebuild=never coarse_rows=20");
    if (B) TEST_OK(dcsr_amg_set_nullspace(c.p.amg, B));
    TEST_OK(dcsr_amg_setup(c.p.amg, c.view, NULL));
    cr_assert_geq(c.p.amg->hierarchy->level_count, 2);
    for (int step = 0; step < steps; step++) {
        for (uint64_t k = draw(&c, 6); k != UINT64_MAX; k--) change_once(&c);
        dcsr_amg_update_report report = follow(&c);
        patched += report.how == DCSR_AMG_PATCHED;
        cr_assert(report.how == DCSR_AMG_SET_UP || report.rows_touched >= report.rows_changed);
        expect_levels(&c);
    }
    cr_assert_gt(patched, (uint64_t)steps / 2, "%llu of %d were followed", (unsigned long long)patched,
                 steps);
    uint64_t iterations = iterations_of(&c, c.p.amg);
    TEST_OK(dcsr_amg_setup(c.p.amg, c.view, NULL));
    uint64_t anew = iterations_of(&c, c.p.amg);
    cr_assert_leq(iterations, anew + (uint64_t)most_more, "%llu iterations, anew %llu",
                  (unsigned long long)iterations, (unsigned long long)anew);
    changing_end(&c);
}

Test(amg_update, follows_a_plane)
{
    follows(problem_generated(2, "poisson2d5:24"), true, "", NULL, 40, 1);
}
Test(amg_update, follows_a_cube)
{
    follows(problem_generated(1, "poisson3d7:10"), true, "", NULL, 30, 1);
}
Test(amg_update, follows_across_weak_directions)
{
    follows(problem_diffusion(1, 20, mostly_across, 1, 0), true, "", NULL, 30, 1);
}
Test(amg_update, follows_where_coefficients_jump)
{
    follows(problem_diffusion(2, 20, jumping, 1, 0), true, "smoother=l1", NULL, 30, 1);
}
Test(amg_update, follows_without_smoothing)
{
    follows(problem_generated(1, "poisson2d9:16"), true, "omega=0", NULL, 20, 2);
}
Test(amg_update, follows_elasticity)
{
    dcsr_dense B;
    problem p = problem_elasticity(2, 14, 6, &B);
    follows(p, true, "block=2 strength=0", &B, 20, 2);
    free(B.values);
}
Test(amg_update, follows_nodes_of_three_rows)
{
    follows(problem_generated(1, "poisson3d7:9"), true, "block=3", NULL, 20, 2);
}
Test(amg_update, follows_a_flow)
{
    follows(problem_diffusion(1, 20, everywhere, 1, 0.5), false, "", NULL, 30, 1);
}

Test(amg_update, follows_a_view_of_csr_and_other_types)
{
    problem p = problem_generated(1, "poisson2d5:20");
    changing c = changing_of(p, true, DCSR_LAYOUT_CSR);
    TEST_OK(dcsr_amg_setup(c.p.amg, c.view, NULL));
    cr_assert_eq(follow(&c).how, DCSR_AMG_UNCHANGED);
    for (int k = 0; k < 4; k++) change_once(&c);
    cr_assert_eq(follow(&c).how, DCSR_AMG_PATCHED);
    expect_levels(&c);
    changing_end(&c);

    p = problem_generated(1, "poisson2d5:20");
    dcsr_matrix *single;
    dcsr_view *before, *now, *A;
    const uint64_t at = 21;
    const float five = 5;
    bool stored;
    double value;
    TEST_OK(dcsr_matrix_create(&single, p.context, DCSR_FP32, 400, 400, NULL));
    TEST_OK(dcsr_matrix_transpose(single, NULL, NULL, p.A, &(dcsr_desc){.transpose_a = true}));
    TEST_OK(dcsr_view_create(&before, single, DCSR_LAYOUT_SEGMENTS, 0));
    TEST_OK(dcsr_amg_setup(p.amg, before, NULL));
    TEST_OK(dcsr_matrix_insert(single, 1, &at, &at, &five, NULL));
    TEST_OK(dcsr_matrix_wait(single));
    TEST_OK(dcsr_view_create(&now, single, DCSR_LAYOUT_SEGMENTS, 0));
    TEST_OK(dcsr_amg_update(p.amg, now, NULL));
    TEST_OK(dcsr_amg_get_views(p.amg, 0, &A, NULL, NULL));
    TEST_OK(dcsr_view_get_many(A, 1, &at, &at, &value, &stored));
    cr_assert_eq(value, 5);
    dcsr_view_destroy(before);
    dcsr_view_destroy(now);
    dcsr_matrix_destroy(single);
    problem_end(&p);
}

/* What is refused leaves the levels with the version before. */
Test(amg_update, refuses_and_goes_on)
{
    problem other = problem_generated(1, "poisson2d5:20");
    changing c = changing_of(problem_generated(1, "poisson2d5:20"), true, DCSR_LAYOUT_SEGMENTS);
    dcsr_view *view;
    const uint64_t row = 57, far = 3;
    const double wrong[] = {NAN, 0, INFINITY};
    static const char *const words[] = {"row 57 of A has a value that is not finite",
                                        "row 57 of A has a zero", "row 57 of A has a value"};
    TEST_REFUSED(bad, "A is NULL", dcsr_amg_update(c.p.amg, NULL, NULL));
    TEST_REFUSED(bad, "amg is NULL", dcsr_amg_update(NULL, c.view, NULL));
    TEST_REFUSED(bad, "no levels yet", dcsr_amg_update(c.p.amg, c.view, NULL));
    TEST_OK(dcsr_amg_setup(c.p.amg, c.view, NULL));
    const uint64_t iterations = iterations_of(&c, c.p.amg);
    TEST_REFUSED(bad, "another context", dcsr_amg_update(c.p.amg, other.A, NULL));
    for (int k = 0; k < 3; k++) {
        set(&c, row, row, wrong[k]);
        set(&c, far, far, 7);
        TEST_OK(dcsr_matrix_wait(c.matrix));
        TEST_OK(dcsr_view_create(&view, c.matrix, DCSR_LAYOUT_SEGMENTS, 0));
        TEST_REFUSED(bad, words[k], dcsr_amg_update(c.p.amg, view, NULL));
        dcsr_view_destroy(view);
        set(&c, far, far, 4);
        cr_assert_eq(iterations_of(&c, c.p.amg), iterations);
    }
    set(&c, row, row, 4);
    cr_assert_eq(follow(&c).how, DCSR_AMG_UNCHANGED);
    expect_levels(&c);
    uint32_t cols[9];
    uint64_t length;
    TEST_OK(dcsr_view_get_row(c.view, row, 9, cols, NULL, &length));
    c.symmetric = false;
    for (uint64_t k = 0; k < length; k++) unset(&c, row, cols[k]);
    TEST_OK(dcsr_matrix_wait(c.matrix));
    TEST_OK(dcsr_view_create(&view, c.matrix, DCSR_LAYOUT_SEGMENTS, 0));
    TEST_REFUSED(bad, "row 57 of A has no entries", dcsr_amg_update(c.p.amg, view, NULL));
    dcsr_view_destroy(view);
    cr_assert_eq(iterations_of(&c, c.p.amg), iterations);
    changing_end(&c);
    problem_end(&other);
}

/* Where the levels cannot follow they are set up anew. */
Test(amg_update, sets_up_anew_where_it_has_to)
{
    changing c = changing_of(problem_generated(1, "poisson2d5:20"), true, DCSR_LAYOUT_SEGMENTS);
    problem_set(&c.p, "rebuild=never");
    TEST_OK(dcsr_amg_setup(c.p.amg, c.view, NULL));
    c.symmetric = false;
    set(&c, 20, 21, -3);
    dcsr_amg_update_report report = follow(&c);
    cr_assert(report.how == DCSR_AMG_SET_UP && strstr(report.why, "symmetric"), "%s", report.why);
    cr_assert(!c.p.amg->hierarchy->symmetric);
    set(&c, 20, 21, -1);
    cr_assert_eq(follow(&c).how, DCSR_AMG_PATCHED);
    expect_levels(&c);
    TEST_OK(dcsr_matrix_resize(c.matrix, 401, 401, NULL));
    set(&c, 400, 400, 1);
    report = follow(&c);
    cr_assert(report.how == DCSR_AMG_SET_UP && strstr(report.why, "dimensions"), "%s", report.why);
    /* Two rows that were alone, and are beside each other and nothing else. */
    TEST_OK(dcsr_matrix_resize(c.matrix, 402, 402, NULL));
    set(&c, 401, 401, 1);
    cr_assert_eq(follow(&c).how, DCSR_AMG_SET_UP);
    set(&c, 400, 401, -0.5);
    set(&c, 401, 400, -0.5);
    report = follow(&c);
    cr_assert(report.how == DCSR_AMG_SET_UP && strstr(report.why, "no aggregate is near"), "%s", report.why);
    changing_end(&c);
    /* A long chain of rows that were alone. */
    c = changing_of(problem_generated(1, "poisson2d5:50"), true, DCSR_LAYOUT_SEGMENTS);
    for (uint64_t i = 50; i < 100; i++) {
        if (i < 99) unset(&c, i, i + 1);
        unset(&c, i, i - 50);
        unset(&c, i, i + 50);
    }
    TEST_OK(dcsr_amg_setup(c.p.amg, c.view, NULL));
    follow(&c);
    for (uint64_t i = 50; i < 99; i++) set(&c, i, i + 1, -1);
    set(&c, 50, 0, -1);
    report = follow(&c);
    cr_assert(report.how == DCSR_AMG_SET_UP && strstr(report.why, "no aggregate is near"), "%s", report.why);
    for (uint64_t i = 50; i < 99; i++) unset(&c, i, i + 1);
    follow(&c);
    for (uint64_t i = 50; i < 60; i++) set(&c, i, i + 1, -1);
    cr_assert_eq(follow(&c).how, DCSR_AMG_PATCHED);
    expect_levels(&c);
    changing_end(&c);
}

/* Many rows change: now, beside, and never; solves meanwhile are right. */
Test(amg_update, sets_up_where_that_is_better)
{
    static const char *const ways[] = {"rebuild=now", "rebuild=auto", "rebuild=never"};
    static const dcsr_amg_updated done[] = {DCSR_AMG_SET_UP, DCSR_AMG_SETTING_UP, DCSR_AMG_RECOMPUTED};
    for (int way = 0; way < 3; way++) {
        changing c = changing_of(problem_generated(2, "poisson2d5:40"), true, DCSR_LAYOUT_SEGMENTS);
        problem_set(&c.p, ways[way]);
        TEST_OK(dcsr_amg_setup(c.p.amg, c.view, NULL));
        for (uint64_t i = 0; i < 1600; i += 4) set(&c, i, i, 5);
        dcsr_amg_update_report report = follow(&c);
        cr_assert_eq(report.how, done[way], "%s", ways[way]);
        cr_assert_eq(report.rows_changed, 400);
        cr_assert(way == 2 ? !report.why : !!strstr(report.why, "tenth"));
        expect_levels(&c);
        for (uint64_t step = 0; step < 3 || c.p.amg->rebuild; step++) {
            const uint64_t row = 500 + step % 1000;
            cr_assert_lt(step, 100000);
            set(&c, row, row, 6 + (double)(step / 1000));
            report = follow(&c);
            cr_assert(report.how == DCSR_AMG_PATCHED && report.rows_changed == 1);
            iterations_of(&c, c.p.amg);
            expect_levels(&c);
        }
        const dcsr_i_amg_level *first = c.p.amg->hierarchy->level;
        cr_assert_eq(first->told.aggregate_seconds == 0, way == 2, "%s", ways[way]);
        changing_end(&c);
    }
}

/* Computing all again finds out, too, that A is not symmetric any more. */
Test(amg_update, many_rows_may_lose_symmetry)
{
    changing c = changing_of(problem_generated(1, "poisson2d5:20"), false, DCSR_LAYOUT_SEGMENTS);
    problem_set(&c.p, "rebuild=never");
    TEST_OK(dcsr_amg_setup(c.p.amg, c.view, NULL));
    for (uint64_t i = 0; i < 300; i++) set(&c, i, i + 20, -1.3);
    dcsr_amg_update_report report = follow(&c);
    cr_assert_eq(report.how, DCSR_AMG_RECOMPUTED);
    cr_assert(!c.p.amg->hierarchy->symmetric);
    iterations_of(&c, c.p.amg);
    expect_levels(&c);
    changing_end(&c);
}

/* Gives entries a factor each: `between` where the nodes are of different aggregates and a number drawn says so. */
static void scale_values(changing *c, double factor, double between)
{
    const uint64_t nnz = c->p.csr.nnz;
    const uint32_t *aggregate = c->p.amg->hierarchy->level[0].aggregate.data;
    const uint64_t block = c->p.amg->hierarchy->level[0].block;
    uint64_t *rows = calloc(nnz, sizeof *rows), *cols = calloc(nnz, sizeof *cols);
    double *values = calloc(nnz, sizeof *values);
    for (uint64_t i = 0; i < c->p.csr.rows; i++)
        for (uint64_t e = c->p.csr.offsets[i]; e < c->p.csr.offsets[i + 1]; e++) {
            const uint64_t j = c->p.csr.col_indices[e], low = i < j ? i : j, high = i < j ? j : i;
            const bool apart = aggregate[i / block] != aggregate[j / block];
            const bool weak = apart && dcsr_i_amg_random(low, high) % 16 == 0;
            rows[e] = i;
            cols[e] = j;
            values[e] = ((const double *)c->p.csr.values)[e] * (weak ? between : factor);
        }
    TEST_OK(dcsr_matrix_insert(c->matrix, nnz, rows, cols, values, NULL));
    free(rows);
    free(cols);
    free(values);
}

/* All rows change, in values alone or so that P gets another pattern: each level is what the stages make of it. */
static void recomputes(problem p, const char *settings)
{
    changing c = changing_of(p, true, DCSR_LAYOUT_SEGMENTS);
    problem_set(&c.p, settings);
    problem_set(&c.p, "rebuild=never coarse_rows=20");
    TEST_OK(dcsr_amg_setup(c.p.amg, c.view, NULL));
    static const double between[] = {1.5, 0.75, 1e-9, 1e-9, 1, 2.5};
    for (int step = 0; step < 6; step++) {
        const uint64_t P = c.p.amg->hierarchy->level[0].P.rows.nnz;
        scale_values(&c, 1.25 + step / 8.0, between[step]);
        dcsr_amg_update_report report = follow(&c);
        cr_assert_eq(report.how, DCSR_AMG_RECOMPUTED);
        cr_assert_eq(report.rows_changed, c.p.csr.rows);
        expect_levels(&c);
        cr_assert((c.p.amg->hierarchy->level[0].P.rows.nnz != P) == (step == 2 || step == 4), "step %d",
                  step);
    }
    set(&c, 5, 5, 40);
    cr_assert_eq(follow(&c).how, DCSR_AMG_PATCHED);
    expect_levels(&c);
    changing_end(&c);
}

Test(amg_update, all_values_may_change)
{
    recomputes(problem_generated(2, "poisson3d7:20"), "");
    recomputes(problem_generated(1, "poisson2d5:30"), "");
    recomputes(problem_generated(2, "poisson3d7:18"), "precision=fp32");
}

/* T is kept, unless it is to be made of other vectors. */
Test(amg_update, other_vectors_are_taken_with_all_rows)
{
    changing c = changing_of(problem_generated(2, "poisson2d5:80"), true, DCSR_LAYOUT_SEGMENTS);
    problem_set(&c.p, "rebuild=never");
    TEST_OK(dcsr_amg_setup(c.p.amg, c.view, NULL));
    for (uint64_t cols = 1; cols <= 2; cols++) {
        dcsr_dense B = {.context = c.p.context, .rows = 6400, .cols = cols};
        B.values = calloc(6400 * cols, sizeof *B.values);
        for (uint64_t v = 0; v < 6400 * cols; v++) B.values[v] = 1 + (double)(v % 80) / 100 * (double)cols;
        TEST_OK(dcsr_amg_set_nullspace(c.p.amg, &B));
        scale_values(&c, 2 * (double)cols, 2 * (double)cols);
        cr_assert_eq(follow(&c).how, DCSR_AMG_RECOMPUTED);
        expect_levels(&c);
        cr_assert_eq(c.p.amg->hierarchy->level[0].vectors, cols);
        cr_assert(!memcmp(c.p.amg->hierarchy->level[0].B.data, B.values, 6400 * sizeof(double)) || cols > 1);
        free(B.values);
    }
    scale_values(&c, 3, 3);
    cr_assert_eq(follow(&c).how, DCSR_AMG_RECOMPUTED);
    expect_levels(&c);
    changing_end(&c);
}

/* As below, where all rows have changed. */
Test(amg_update, failures_of_recomputing_leave_the_levels_as_they_were)
{
    changing c = changing_of(problem_generated(1, "poisson2d5:66"), true, DCSR_LAYOUT_SEGMENTS);
    problem_set(&c.p, "rebuild=never");
    TEST_OK(dcsr_amg_setup(c.p.amg, c.view, NULL));
    dcsr_view *view;
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    scale_values(&c, 2, 1e-9);
    TEST_OK(dcsr_matrix_wait(c.matrix));
    TEST_OK(dcsr_view_create(&view, c.matrix, DCSR_LAYOUT_SEGMENTS, 0));
    for (long n = 0; status; n++) {
        cr_assert_lt(n, 1000);
        dcsr_i_fail_allocations_after(n);
        status = dcsr_amg_update(c.p.amg, view, NULL);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(!status || status == DCSR_ERROR_OUT_OF_MEMORY);
        if (status && n % 16 == 0) expect_levels_of(&c, c.view);
    }
    dcsr_view_destroy(c.view);
    c.view = view;
    expect_levels(&c);
    changing_end(&c);
}

/* Out of memory at any allocation: the levels are as they were, and follow when there is memory again. */
Test(amg_update, failures_leave_the_levels_as_they_were)
{
    changing c = changing_of(problem_generated(1, "poisson2d5:16"), true, DCSR_LAYOUT_SEGMENTS);
    problem_set(&c.p, "coarse_rows=10");
    TEST_OK(dcsr_amg_setup(c.p.amg, c.view, NULL));
    const uint64_t iterations = iterations_of(&c, c.p.amg);
    dcsr_view *view;
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    unset(&c, 40, 41);
    set(&c, 90, 91, -0.5);
    set(&c, 7, 7, 9);
    TEST_OK(dcsr_matrix_wait(c.matrix));
    TEST_OK(dcsr_view_create(&view, c.matrix, DCSR_LAYOUT_SEGMENTS, 0));
    for (long n = 0; status; n++) {
        cr_assert_lt(n, 3000);
        dcsr_i_fail_allocations_after(n);
        status = dcsr_amg_update(c.p.amg, view, NULL);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(!status || status == DCSR_ERROR_OUT_OF_MEMORY);
        if (status && n % 8 == 0) {
            cr_assert_eq(iterations_of(&c, c.p.amg), iterations);
            expect_levels_of(&c, c.view);
        }
    }
    dcsr_view_destroy(c.view);
    c.view = view;
    expect_levels(&c);
    changing_end(&c);
}
