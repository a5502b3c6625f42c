/* test_amg_follow_device.c: after updates on a GPU each level is what the stages and products of a setup there make of
 * it (follow.cu, follow_products.cu, regroup.cu). */
#include "amg/amg_engine.h"
#include "dcsr/base/alloc.h"
#include "tests/amg/changing.h"
#include "tests/amg/device.h"
#include <dcsr/mxm.h>
#include <dcsr/transpose.h>

/* A GPU may contract products and sums in other ways in two kernels. */
static const double CLOSE = 1e-12;

/* ---- What a hierarchy has to be ---- */

static dcsr_view *sorted(dcsr_matrix *m)
{
    dcsr_view *view;
    TEST_OK(dcsr_view_create(&view, m, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED));
    return view;
}

static void expect_products(const changing *c, int l)
{
    const dcsr_desc desc = {.deterministic = true, .device = DCSR_DEVICE_CUDA};
    dcsr_view *A, *P, *R, *next;
    dcsr_matrix *t, *rap;
    dcsr_view_shape shape;
    TEST_OK(dcsr_amg_get_views(c->p.amg, (uint64_t)l, &A, &P, &R));
    TEST_OK(dcsr_amg_get_views(c->p.amg, (uint64_t)l + 1, &next, NULL, NULL));
    TEST_OK(dcsr_view_get_shape(P, &shape));
    TEST_OK(dcsr_matrix_create(&t, c->p.context, DCSR_FP64, shape.cols, shape.rows, NULL));
    TEST_OK(dcsr_matrix_transpose(t, NULL, NULL, P, &desc));
    TEST_OK(dcsr_matrix_create(&rap, c->p.context, DCSR_FP64, shape.cols, shape.cols, NULL));
    dcsr_view *T = sorted(t);
    TEST_OK(dcsr_rap(rap, T, A, P, &desc));
    dcsr_view *RAP = sorted(rap);
    expect_level(T, R, CLOSE, "R", l);
    expect_level(RAP, next, CLOSE, "R A P", l);
    dcsr_view_destroy(T);
    dcsr_view_destroy(RAP);
    dcsr_matrix_destroy(t);
    dcsr_matrix_destroy(rap);
}

static void expect_array(dcsr_i_amg_hierarchy *h, const dcsr_i_amg_array *expected,
                         const dcsr_i_amg_array *array, const char *what)
{
    double *x = test_allocate(expected->count, sizeof *x), *y = test_allocate(expected->count, sizeof *y);
    TEST_OK(h->engine->get(h, x, expected->data, expected->count * sizeof *x));
    TEST_OK(h->engine->get(h, y, array->data, expected->count * sizeof *y));
    cr_assert(expected->count == array->count && !memcmp(x, y, expected->count * sizeof *x), "%s", what);
    free(x);
    free(y);
}

/* T of nodes without an aggregate is never read. */
static void forget_others(dcsr_i_amg_hierarchy *h, const dcsr_i_amg_level *level, dcsr_i_amg_array *B)
{
    uint32_t *aggregate = test_allocate(level->rows, sizeof *aggregate);
    double *kept = test_allocate(level->rows, sizeof *kept), *T = test_allocate(level->rows, sizeof *T);
    TEST_OK(h->engine->get(h, aggregate, level->aggregate.data, level->rows * sizeof *aggregate));
    TEST_OK(h->engine->get(h, kept, level->T.data, level->rows * sizeof *kept));
    TEST_OK(h->engine->get(h, T, B->data, level->rows * sizeof *T));
    for (uint64_t i = 0; i < level->rows; i++)
        if (aggregate[i] == DCSR_I_AMG_NO_AGGREGATE) T[i] = kept[i];
    h->engine->put(h, B->data, T, level->rows * sizeof *T);
    free(aggregate);
    free(kept);
    free(T);
}

/* The stages in full, with these aggregates and rho; and with T as it is where B of several vectors is not kept. */
static void expect_stages(const changing *c, int l)
{
    dcsr_i_amg_hierarchy *h = c->p.amg->hierarchy;
    dcsr_i_amg_level *level = &h->level[l], full = *level;
    dcsr_i_amg_graph graph;
    dcsr_i_amg_diagonal found;
    dcsr_i_amg_array B = {0}, coarse = {0};
    dcsr_view *A, *P;
    dcsr_csr csr;
    const uint64_t v = level->vectors, nodes = level->rows / level->block;
    TEST_OK(dcsr_amg_get_views(c->p.amg, (uint64_t)l, &A, &P, NULL));
    TEST_OK(dcsr_view_get_csr(A, &csr));
    full.norms = full.diagonal = full.scale = (dcsr_i_amg_array){0};
    full.P = full.A = (dcsr_i_amg_matrix){0};
    full.A.rows = dcsr_i_amg_rows_of(&csr);
    TEST_OK(h->engine->open(h));
    TEST_OK(h->engine->read_diagonal(&found, h, &full));
    expect_array(h, &full.diagonal, &level->diagonal, "diagonal");
    expect_array(h, &full.scale, &level->scale, "scale");
    TEST_OK(h->engine->strength(&graph, h, &full, level->theta));
    if (full.norms.data) expect_array(h, &full.norms, &level->norms, "norms");
    uint32_t *length = test_allocate(nodes, sizeof *length),
             *aggregate = test_allocate(nodes, sizeof *length);
    TEST_OK(h->engine->get(h, length, graph.length, nodes * sizeof *length));
    TEST_OK(h->engine->get(h, aggregate, level->aggregate.data, nodes * sizeof *length));
    for (uint64_t node = 0; node < nodes; node++)
        cr_assert((aggregate[node] == DCSR_I_AMG_NO_AGGREGATE) == !length[node], "node %llu of level %d",
                  (unsigned long long)node, l);
    free(length);
    free(aggregate);
    TEST_OK(h->engine->take(&B, h, full.rows * v, sizeof(double)));
    TEST_OK(h->engine->take(&coarse, h, level->aggregates * v * v, sizeof(double)));
    const dcsr_i_amg_array *from = level->B.data || v == 1 ? &level->B : &level->T;
    if (from->data)
        dcsr_i_cuda_copy(h->stream, B.data, from->data, full.rows * v * sizeof(double));
    else
        h->engine->fill_constants(h, B.data, full.rows, full.block);
    dcsr_i_amg_partition parts = {level->aggregate.data, level->aggregates, NULL};
    TEST_OK(h->engine->prolongator(&full, B.data, coarse.data, h, &graph, &parts, v));
    expect_level(full.P.view, P, CLOSE, "P", l);
    if (v == 1) {
        forget_others(h, level, &B);
        expect_array(h, &B, &level->T, "T");
    }
    if (level[1].B.data) expect_array(h, &coarse, &level[1].B, "B of the next level");
    dcsr_i_amg_graph_free(&graph, h);
    dcsr_i_amg_array *const arrays[] = {&B, &coarse, &full.norms, &full.diagonal, &full.scale};
    for (int a = 0; a < 5; a++) h->engine->drop(arrays[a], h);
    TEST_OK(h->engine->close(h, "comparing"));
    dcsr_i_amg_matrix_free(&full.P, h);
}

static void expect_levels_of(const changing *c, dcsr_view *view)
{
    dcsr_view *A;
    dcsr_matrix *copy;
    dcsr_view_shape shape;
    TEST_OK(dcsr_amg_get_views(c->p.amg, 0, &A, NULL, NULL));
    TEST_OK(dcsr_view_get_shape(view, &shape));
    TEST_OK(dcsr_matrix_create(&copy, c->p.context, DCSR_FP64, shape.rows, shape.rows, NULL));
    TEST_OK(dcsr_matrix_transpose(copy, NULL, NULL, view, &(dcsr_desc){.transpose_a = true}));
    dcsr_view *now = sorted(copy);
    expect_level(now, A, CLOSE, "A", 0);
    dcsr_view_destroy(now);
    dcsr_matrix_destroy(copy);
    for (int l = 0; l + 1 < c->p.amg->hierarchy->level_count; l++) {
        if (c->p.amg->hierarchy->symmetric) expect_stages(c, l);
        expect_products(c, l);
    }
}

/* ---- Random changes ---- */

/* Values that leave strength as it is, of rows side by side. */
static void scale_some(changing *c)
{
    uint32_t cols[2000];
    double values[2000];
    uint64_t length, first = draw(c, c->p.csr.rows), count = 1 + draw(c, 3);
    for (uint64_t i = first; i < first + count && i < c->p.csr.rows; i++) {
        TEST_OK(dcsr_matrix_wait(c->matrix));
        dcsr_view *view;
        TEST_OK(dcsr_view_create(&view, c->matrix, DCSR_LAYOUT_SEGMENTS, 0));
        TEST_OK(dcsr_view_get_row(view, i, 2000, cols, values, &length));
        dcsr_view_destroy(view);
        for (uint64_t e = 0; e < length; e++)
            if (cols[e] >= i)
                set(c, i, cols[e], values[e] * (1 + (double)draw(c, 100) * (cols[e] == i ? 1e-3 : -1e-5)));
    }
}

static void change_some(changing *c)
{
    for (uint64_t k = draw(c, 5); k != UINT64_MAX; k--) change_once(c);
}

/* Returns how many of the updates were not followed. */
static uint64_t follows(problem p, const char *settings, const dcsr_dense *B, int steps,
                        void (*change)(changing *))
{
    changing c = changing_of(p, true, DCSR_LAYOUT_SEGMENTS);
    uint64_t others = 0;
    problem_set(&c.p, settings);
    problem_set(&c.p, "rebuild=never coarse_rows=12");
    if (B) TEST_OK(dcsr_amg_set_nullspace(c.p.amg, B));
    TEST_OK(dcsr_amg_setup(c.p.amg, c.view, NULL));
    cr_assert_geq(c.p.amg->hierarchy->level_count, 2);
    steps = TEST_VARIANT(steps, (steps + 1) / 2, steps);
    for (int step = 0; step < steps; step++) {
        change(&c);
        dcsr_amg_update_report report = follow(&c);
        others += report.how == DCSR_AMG_SET_UP;
        cr_assert(report.how == DCSR_AMG_SET_UP || report.rows_touched >= report.rows_changed);
        expect_levels_of(&c, c.view);
    }
    iterations_of(&c, c.p.amg);
    changing_end(&c);
    return others;
}

Test(amg_follow_device, follows_values)
{
    NEEDS_GPU();
    cr_assert_eq(follows(problem_generated(ON_DEVICE, "poisson2d5:16"), "", NULL, 6, scale_some), 0);
    cr_assert_eq(follows(problem_generated(ON_DEVICE, "poisson3d7:6"), "smoother=l1", NULL, 4, scale_some),
                 0);
    cr_assert_eq(follows(problem_generated(ON_DEVICE, "poisson2d9:10"), "omega=0", NULL, 4, scale_some), 0);
}

/* Strength changes, nodes leave aggregates and join others. */
Test(amg_follow_device, follows_patterns)
{
    NEEDS_GPU();
    cr_assert_leq(follows(problem_generated(ON_DEVICE, "poisson2d5:20"), "", NULL, 8, change_some), 2);
    cr_assert_leq(follows(problem_diffusion(ON_DEVICE, 20, jumping, 1, 0), "", NULL, 5, change_some), 2);
    cr_assert_leq(follows(problem_diffusion(ON_DEVICE, 20, mostly_across, 1, 0), "", NULL, 4, change_some),
                  2);
}

Test(amg_follow_device, follows_nodes_of_several_rows)
{
    NEEDS_GPU();
    dcsr_dense B;
    problem p = problem_elasticity(ON_DEVICE, 24, 8, &B);
    cr_assert_eq(follows(p, "block=2 strength=0", &B, 4, scale_some), 0);
    free(B.values);
}

/* A row with entries in most aggregates: tables grow until it fits. */
Test(amg_follow_device, follows_a_long_row)
{
    NEEDS_GPU();
    changing c = changing_of(problem_generated(ON_DEVICE, "poisson2d5:50"), true, DCSR_LAYOUT_SEGMENTS);
    problem_set(&c.p, "rebuild=never coarse_rows=20");
    uint64_t rows[800], cols[800];
    double values[800];
    for (uint64_t k = 0; k < 400; k++) {
        rows[k] = cols[k + 400] = 1275;
        cols[k] = rows[k + 400] = 6 * k;
        values[k] = values[k + 400] = -1e-3;
    }
    TEST_OK(dcsr_matrix_insert(c.matrix, 800, rows, cols, values, NULL));
    TEST_OK(dcsr_matrix_wait(c.matrix));
    dcsr_view_destroy(c.view);
    TEST_OK(dcsr_view_create(&c.view, c.matrix, DCSR_LAYOUT_SEGMENTS, 0));
    TEST_OK(dcsr_amg_setup(c.p.amg, c.view, NULL));
    set(&c, 1275, 1275, 5);
    const dcsr_amg_update_report report = follow(&c);
    cr_assert(report.how == DCSR_AMG_PATCHED && report.rows_changed == 1, "%s", report.why);
    expect_levels_of(&c, c.view);
    changing_end(&c);
}

/* ---- What goes wrong ---- */

/* Out of memory at any allocation: the levels are as they were, and follow when there is memory again. */
Test(amg_follow_device, failures_leave_the_levels_as_they_were)
{
    NEEDS_GPU();
    changing c = changing_of(problem_generated(ON_DEVICE, "poisson2d5:12"), true, DCSR_LAYOUT_SEGMENTS);
    problem_set(&c.p, "coarse_rows=10 rebuild=never");
    TEST_OK(dcsr_amg_setup(c.p.amg, c.view, NULL));
    const uint64_t iterations = iterations_of(&c, c.p.amg);
    dcsr_view *view;
    dcsr_amg_update_report report;
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    set(&c, 90, 91, -0.9);
    const uint64_t beside[] = {28, 39, 41, 52}; /* of a node that leaves its aggregate */
    for (int k = 0; k < 4; k++) unset(&c, 40, beside[k]);
    set(&c, 7, 7, 5);
    TEST_OK(dcsr_matrix_wait(c.matrix));
    TEST_OK(dcsr_view_create(&view, c.matrix, DCSR_LAYOUT_SEGMENTS, 0));
    for (long n = 0, tries = 0; status; n += 1 + n / 64) {
        cr_assert_lt(n, 3000);
        dcsr_i_fail_allocations_after(n);
        status = dcsr_amg_update(c.p.amg, view, &report);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(!status || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
        if (status && tries++ % 48 == 0) {
            cr_assert_eq(iterations_of(&c, c.p.amg), iterations);
            expect_levels_of(&c, c.view);
        }
    }
    cr_assert_eq(report.how, DCSR_AMG_PATCHED, "%s", report.why);
    dcsr_view_destroy(c.view);
    c.view = view;
    expect_levels_of(&c, c.view);
    changing_end(&c);
}

/* What is refused leaves the levels with the version before. */
Test(amg_follow_device, refuses_and_goes_on)
{
    NEEDS_GPU();
    changing c = changing_of(problem_generated(ON_DEVICE, "poisson2d5:12"), true, DCSR_LAYOUT_SEGMENTS);
    const double wrong[] = {NAN, 0};
    static const char *const words[] = {"row 57 of A has a value that is not finite",
                                        "row 57 of A has a zero"};
    problem_set(&c.p, "coarse_rows=10");
    TEST_OK(dcsr_amg_setup(c.p.amg, c.view, NULL));
    const uint64_t iterations = iterations_of(&c, c.p.amg);
    cr_assert_eq(follow(&c).how, DCSR_AMG_UNCHANGED);
    for (int k = 0; k < 2; k++) {
        dcsr_view *view;
        set(&c, 57, 57, wrong[k]);
        set(&c, 3, 3, 7);
        TEST_OK(dcsr_matrix_wait(c.matrix));
        TEST_OK(dcsr_view_create(&view, c.matrix, DCSR_LAYOUT_SEGMENTS, 0));
        TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, words[k], dcsr_amg_update(c.p.amg, view, NULL));
        dcsr_view_destroy(view);
        set(&c, 3, 3, 4);
        cr_assert_eq(iterations_of(&c, c.p.amg), iterations);
    }
    set(&c, 57, 57, 4);
    cr_assert_eq(follow(&c).how, DCSR_AMG_UNCHANGED);
    expect_levels_of(&c, c.view);
    changing_end(&c);
}

/* Many updates: what rows leave behind is given back, and cycles read rows where they are then. */
Test(amg_follow_device, closes_gaps)
{
    NEEDS_GPU();
    changing c = changing_of(problem_generated(ON_DEVICE, "poisson2d5:40"), true, DCSR_LAYOUT_SEGMENTS);
    uint64_t most = 0, tidied = 0;
    problem_set(&c.p, "rebuild=never precision=fp32");
    TEST_OK(dcsr_amg_setup(c.p.amg, c.view, NULL));
    for (int step = 0; step < 16; step++) {
        uint64_t rows[150];
        double values[150];
        for (uint64_t i = 0; i < 150; i++) rows[i] = i, values[i] = 4 + (double)(step + 1) / 100;
        TEST_OK(dcsr_matrix_insert(c.matrix, 150, rows, rows, values, NULL));
        cr_assert_eq(follow(&c).how, DCSR_AMG_PATCHED);
        const dcsr_i_amg_matrix *first = &c.p.amg->hierarchy->level[0].A;
        tidied += first->used < most;
        most = first->used > most ? first->used : most;
        cr_assert_leq(first->used, 2 * first->rows.nnz + 8192);
    }
    cr_assert_gt(tidied, 0);
    cr_assert_leq(iterations_of(&c, c.p.amg), 12);
    expect_levels_of(&c, c.view);
    changing_end(&c);
}

/* Where the levels cannot follow they are set up anew. */
Test(amg_follow_device, sets_up_anew_where_it_has_to)
{
    NEEDS_GPU();
    changing c = changing_of(problem_generated(ON_DEVICE, "poisson2d5:12"), true, DCSR_LAYOUT_SEGMENTS);
    problem_set(&c.p, "coarse_rows=10");
    TEST_OK(dcsr_amg_setup(c.p.amg, c.view, NULL));
    for (uint64_t i = 0; i < 20; i++) set(&c, i, i, 5);
    dcsr_amg_update_report report = follow(&c);
    cr_assert(report.how == DCSR_AMG_SET_UP && report.rows_changed == 20 && strstr(report.why, "tenth"));
    /* Two rows that were alone, and are beside each other and nothing else. */
    for (uint64_t i = 0; i < 2; i++) {
        if (!i) unset(&c, 0, 1);
        unset(&c, i, i + 12);
    }
    unset(&c, 1, 2);
    cr_assert_eq(follow(&c).how, DCSR_AMG_PATCHED);
    expect_levels_of(&c, c.view);
    TEST_OK(dcsr_amg_setup(c.p.amg, c.view, NULL));
    set(&c, 0, 1, -1);
    report = follow(&c);
    cr_assert(report.how == DCSR_AMG_SET_UP && strstr(report.why, "no aggregate is near"), "%s", report.why);
    c.symmetric = false;
    set(&c, 50, 51, -3);
    report = follow(&c);
    cr_assert(report.how == DCSR_AMG_SET_UP && strstr(report.why, "not symmetric any more"), "%s",
              report.why);
    set(&c, 50, 50, 9);
    report = follow(&c);
    cr_assert(report.how == DCSR_AMG_SET_UP && strstr(report.why, "symmetric matrices alone"), "%s",
              report.why);
    changing_end(&c);
}
