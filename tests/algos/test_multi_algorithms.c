/* test_multi_algorithms.c: algorithms on several devices beside those of one, on graphs of all shapes. */
#include "dcsr/base/alloc.h"
#include "tests/support/support_multi.h"
#include <dcsr/multi.h>
#include <dcsr/spmv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(multi_algorithms, .init = set_devices);

typedef enum shape { NO_EDGE, LOOPS, TWO, PATH, STAR, TO_CENTRE, APART, SPARSE, DENSE, GRID, SHAPES } shape;

static void edge(const test_both *p, uint64_t u, uint64_t v, double value)
{
    TEST_OK(dcsr_matrix_insert(p->matrix, 1, &u, &v, &value, NULL));
}

static double weight(test_random *random)
{
    return (double)(1 + test_random_below(random, 20)) / 4;
}

static void both_ways(const test_both *p, test_random *random, uint64_t u, uint64_t v)
{
    const double value = weight(random);
    edge(p, u, v, value);
    edge(p, v, u, value);
}

static void random_edges(const test_both *p, test_random *random, uint64_t count, uint64_t below,
                         bool symmetric)
{
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t u = test_random_below(random, below), v = test_random_below(random, below);
        if (symmetric)
            both_ways(p, random, u, v);
        else
            edge(p, u, v, weight(random));
    }
}

static void insert_shape(const test_both *p, test_random *random, shape which, bool symmetric)
{
    const uint64_t n = p->n;
    switch (which) {
    case LOOPS:
        for (uint64_t v = 0; v < n; v += 2) edge(p, v, v, 1);
        break;
    case TWO:
        both_ways(p, random, 0, 1);
        break;
    case PATH:
    case STAR:
    case TO_CENTRE:
        for (uint64_t v = 1; v < n; v++) {
            const uint64_t u = which == PATH ? v - 1 : 0;
            if (symmetric)
                both_ways(p, random, u, v);
            else
                edge(p, which == TO_CENTRE ? v : u, which == TO_CENTRE ? u : v, weight(random));
        }
        break;
    case APART:
        random_edges(p, random, n / 2, n / 2, symmetric);
        edge(p, n - 1, n - 2, 2);
        if (symmetric) edge(p, n - 2, n - 1, 2);
        break;
    case SPARSE:
    case DENSE:
        random_edges(p, random, which == DENSE ? 8 * n : n, n, symmetric);
        break;
    case GRID:
        for (uint64_t v = 0; v < n; v++) {
            if (v % 6 != 5 && v + 1 < n) both_ways(p, random, v, v + 1);
            if (v + 6 < n) both_ways(p, random, v, v + 6);
        }
        break;
    default:
        break;
    }
}

static test_both unshared(dcsr_type type, uint64_t rows, uint64_t cols)
{
    test_both p = {.context = test_context(2), .n = rows};
    p.matrix = test_matrix(p.context, type, rows, cols, DCSR_POLICY_LAST);
    return p;
}

static test_both open_both(test_random *random, shape which, bool symmetric, uint64_t devices)
{
    const uint64_t n = which == TWO ? 2 : 4 + test_random_below(random, 60);
    test_both p = unshared(DCSR_FP64, n, n);
    insert_shape(&p, random, which, symmetric);
    test_share_both(&p, (int)devices);
    return p;
}

/* Calls it for graphs of all shapes on all numbers of devices, directed ones and others in turns. */
static void for_all_graphs(void (*compare)(test_both *p, test_random *random, bool symmetric))
{
    test_random random = {21};
    for (int which = 0; which < SHAPES; which++) {
        for (uint64_t devices = 1; devices <= MOST_DEVICES; devices++) {
            const bool symmetric = which == GRID || (devices + (uint64_t)which) % 2;
            test_both p = open_both(&random, (shape)which, symmetric, devices);
            compare(&p, &random, symmetric || which == TWO || which == LOOPS || which == NO_EDGE);
            test_close_both(&p);
        }
    }
}

/* ---- Breadth-first search ---- */

static void compare_bfs(test_both *p, test_random *random, bool symmetric)
{
    int32_t *one = test_allocate(p->n, sizeof *one), *many = test_allocate(p->n, sizeof *many);
    (void)symmetric;
    for (int i = 0; i < 3; i++) {
        const uint64_t source = i ? test_random_below(random, p->n) : 0;
        dcsr_bfs_result a, b;
        TEST_OK(dcsr_bfs(one, &a, p->view, source));
        TEST_OK(dcsr_multi_bfs(many, &b, p->multi, source));
        cr_assert(!memcmp(one, many, p->n * sizeof *one));
        cr_assert_eq(a.reached, b.reached);
        cr_assert_eq(a.max_level, b.max_level);
        cr_assert_eq(a.level_sum, b.level_sum);
        cr_assert_eq(a.edges, b.edges);
    }
    free(one), free(many);
}

Test(multi_algorithms, bfs_has_the_levels_of_one_device)
{
    for_all_graphs(compare_bfs);
}

Test(multi_algorithms, bfs_out_of_memory_leaves_levels_as_they_were)
{
    test_random random = {4};
    test_both p = open_both(&random, GRID, true, 3);
    int32_t *level = test_allocate(p.n, sizeof *level);
    for (uint64_t v = 0; v < p.n; v++) level[v] = 77;
    dcsr_bfs_result result = {.reached = 99};
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    for (long n = 0; status != DCSR_OK; n += TEST_SIZE(1, 7, 31)) {
        cr_assert_lt(n, 50000);
        for (uint64_t v = 0; v < p.n; v++) cr_assert_eq(level[v], 77);
        cr_assert_eq(result.reached, 99);
        dcsr_i_fail_allocations_after(n);
        status = dcsr_multi_bfs(level, &result, p.multi, 1);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
    }
    cr_assert_eq(level[1], 0);
    free(level);
    test_close_both(&p);
}

/* ---- PageRank ---- */

static void compare_pagerank(test_both *p, test_random *random, bool symmetric)
{
    double *one = test_allocate(p->n, sizeof *one), *many = test_allocate(p->n, sizeof *many),
           *personal = test_allocate(p->n, sizeof *personal);
    for (uint64_t v = 0; v < p->n; v++) personal[v] = (double)test_random_below(random, 3);
    personal[p->n - 1] = 1;
    for (int i = 0; i < 3; i++) {
        const dcsr_pagerank_options o = {.symmetric = symmetric && i != 1,
                                         .damping = i == 2 ? 0.6 : 0,
                                         .tolerance = 1e-11,
                                         .max_iterations = 500,
                                         .personal = i ? personal : NULL};
        dcsr_pagerank_result a, b;
        double sum = 0;
        TEST_OK(dcsr_pagerank(one, &a, p->view, &o));
        TEST_OK(dcsr_multi_pagerank(many, &b, p->multi, &o));
        cr_assert(a.converged && b.converged && b.change <= o.tolerance);
        cr_assert_eq(a.dangling, b.dangling);
        for (uint64_t v = 0; v < p->n; v++) {
            cr_assert_lt(fabs(one[v] - many[v]), 1e-9);
            sum += many[v];
        }
        cr_assert_lt(fabs(sum - 1), 1e-9);
    }
    free(one), free(many), free(personal);
}

Test(multi_algorithms, pagerank_has_the_ranks_of_one_device)
{
    for_all_graphs(compare_pagerank);
}

Test(multi_algorithms, pagerank_stops_after_as_many_iterations_as_it_may)
{
    test_random random = {8};
    test_both p = open_both(&random, PATH, false, 2);
    double *rank = test_allocate(p.n, sizeof *rank);
    dcsr_pagerank_result result;
    TEST_OK(dcsr_multi_pagerank(rank, &result, p.multi,
                                &(dcsr_pagerank_options){.tolerance = 1e-12, .max_iterations = 2}));
    cr_assert(result.iterations == 2 && !result.converged && result.change > 1e-12);
    free(rank);
    test_close_both(&p);
}

/* ---- Components ---- */

static void compare_components(test_both *p, test_random *random, bool symmetric)
{
    uint32_t *one = test_allocate(p->n, sizeof *one), *many = test_allocate(p->n, sizeof *many);
    (void)random;
    for (int i = 0; i < 2; i++) {
        const dcsr_graph_options o = {.symmetric = symmetric && i};
        dcsr_components_result a, b;
        TEST_OK(dcsr_components(one, &a, p->view, &o));
        TEST_OK(dcsr_multi_components(many, i ? NULL : &b, p->multi, i ? &o : NULL));
        if (i) TEST_OK(dcsr_multi_components(NULL, &b, p->multi, &o));
        cr_assert(!memcmp(one, many, p->n * sizeof *one));
        cr_assert_eq(a.components, b.components);
        cr_assert_eq(a.largest, b.largest);
        cr_assert_eq(a.largest_name, b.largest_name);
    }
    free(one), free(many);
}

Test(multi_algorithms, components_are_those_of_one_device)
{
    for_all_graphs(compare_components);
}

/* ---- Conjugate gradients ---- */

/* Weights of the graph as conductances: row sums on the diagonal, and something more. */
static test_both laplacian(test_random *random, uint64_t n, uint64_t devices)
{
    test_both p = unshared(DCSR_FP64, n, n);
    double *diagonal = test_allocate(n, sizeof *diagonal);
    for (uint64_t v = 0; v < n; v++) diagonal[v] = 0.1 + weight(random);
    for (uint64_t i = 0; i < 2 * n; i++) {
        const uint64_t u = test_random_below(random, n), v = (u + 1 + i % 7) % n;
        double stored = 0;
        bool there;
        TEST_OK(dcsr_matrix_get(p.matrix, u, v, &stored, &there));
        if (u == v || there) continue;
        const double value = weight(random);
        edge(&p, u, v, -value);
        edge(&p, v, u, -value);
        diagonal[u] += value, diagonal[v] += value;
    }
    for (uint64_t v = 0; v < n; v++) edge(&p, v, v, diagonal[v]);
    free(diagonal);
    test_share_both(&p, (int)devices);
    return p;
}

Test(multi_algorithms, cg_finds_the_solution)
{
    test_random random = {6};
    for (uint64_t devices = 1; devices <= MOST_DEVICES; devices++) {
        const uint64_t n = (uint64_t[]){1, 2, 3, 50, 70}[devices - 1];
        test_both p = laplacian(&random, n, devices);
        double *x = test_allocate(n, sizeof *x), *b = test_allocate(n, sizeof *b),
               *solution = test_allocate(n, sizeof *x);
        for (uint64_t v = 0; v < n; v++) solution[v] = weight(&random) - 2;
        TEST_OK(dcsr_spmv(b, p.view, solution));
        for (int i = 0; i < 4; i++) {
            const dcsr_multi_cg_options o = {.tolerance = 1e-12, .jacobi = i % 2};
            dcsr_multi_cg_result result;
            /* From nothing, from anywhere. */
            for (uint64_t v = 0; v < n; v++) x[v] = i < 2 ? 0 : weight(&random);
            TEST_OK(dcsr_multi_cg(x, &result, p.multi, b, &o));
            cr_assert(result.converged && result.residual <= 1e-12 && !result.indefinite);
            cr_assert_leq(result.iterations, 3 * n);
            for (uint64_t v = 0; v < n; v++) cr_assert_lt(fabs(x[v] - solution[v]), 1e-8);
            /* There already. */
            TEST_OK(dcsr_multi_cg(x, &result, p.multi, b, NULL));
            cr_assert(result.converged && result.iterations == 0);
        }
        free(x), free(b), free(solution);
        test_close_both(&p);
    }
}

Test(multi_algorithms, cg_tells_why_it_stopped)
{
    test_random random = {16};
    test_both p = laplacian(&random, 60, 3), q = unshared(DCSR_FP64, 2, 2);
    double x[60] = {0}, b[60] = {0};
    dcsr_multi_cg_result result;
    x[3] = 4;
    TEST_OK(dcsr_multi_cg(x, &result, p.multi, b, NULL));
    cr_assert(result.converged && result.residual == 0 && x[3] == 0);
    b[7] = 1;
    TEST_OK(dcsr_multi_cg(x, &result, p.multi, b,
                          &(dcsr_multi_cg_options){.tolerance = 1e-14, .max_iterations = 2}));
    cr_assert(!result.converged && result.iterations == 2 && result.residual > 1e-14);
    edge(&q, 0, 0, 1);
    edge(&q, 1, 1, -1);
    test_share_both(&q, 2);
    b[0] = 0, b[1] = 1, x[0] = x[1] = 0;
    TEST_OK(dcsr_multi_cg(x, &result, q.multi, b, NULL));
    cr_assert(result.indefinite && !result.converged && result.iterations == 0);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "2 of 2 entries are there, the least is -1",
                 dcsr_multi_cg(x, &result, q.multi, b, &(dcsr_multi_cg_options){.jacobi = true}));
    test_close_both(&p);
    test_close_both(&q);
}

Test(multi_algorithms, cg_out_of_memory_leaves_x_as_it_was)
{
    test_random random = {5};
    test_both p = laplacian(&random, 12, 2);
    double x[12] = {0}, b[12];
    for (int i = 0; i < 12; i++) b[i] = i;
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    for (long n = 0; status != DCSR_OK; n += TEST_SIZE(1, 7, 31)) {
        cr_assert_lt(n, 50000);
        for (int i = 0; i < 12; i++) cr_assert(x[i] == 0);
        dcsr_i_fail_allocations_after(n);
        status =
            dcsr_multi_cg(x, NULL, p.multi, b, &(dcsr_multi_cg_options){.jacobi = true, .max_iterations = 3});
        dcsr_i_fail_allocations_after(-1);
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
    }
    test_close_both(&p);
}

Test(multi_algorithms, components_out_of_memory_leave_names_as_they_were)
{
    test_random random = {6};
    test_both p = open_both(&random, SPARSE, true, 3);
    uint32_t *component = test_allocate(p.n, sizeof *component);
    for (int symmetric = 0; symmetric < 2; symmetric++) {
        dcsr_components_result result = {.components = 99};
        dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
        for (uint64_t v = 0; v < p.n; v++) component[v] = 77;
        for (long n = 0; status != DCSR_OK; n += test_on_emulator() ? 1 : TEST_SIZE(1, 7, 31)) {
            cr_assert_lt(n, 50000);
            for (uint64_t v = 0; v < p.n; v++) cr_assert_eq(component[v], 77);
            cr_assert_eq(result.components, 99);
            dcsr_i_fail_allocations_after(n);
            status = dcsr_multi_components(component, &result, p.multi,
                                           &(dcsr_graph_options){.symmetric = symmetric});
            dcsr_i_fail_allocations_after(-1);
            cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
        }
        cr_assert_eq(component[0], 0);
    }
    free(component);
    test_close_both(&p);
}

#if TEST_EMULATOR
/* A device that is lost stops all: nobody waits for it, and the error names it, unless what the others were told first
 * was that there is no memory. A process cannot use it again, so each case has one of its own. */
static void lose(long operations)
{
    NEEDS_EMULATOR();
    /* Nobody waits for the streams of a device that is lost, so what another copies of it may be freed meanwhile. */
    if (TEST_THREAD_SANITIZER) cr_skip_test("devices are not lost under ThreadSanitizer");
    test_random random = {9};
    test_both p = open_both(&random, DENSE, true, 3);
    uint32_t *component = test_allocate(p.n, sizeof *component);
    double *distance = test_allocate(p.n, sizeof *distance);
    dcsr_status status = DCSR_OK;
    simt_fail_device_after(1, operations);
    for (int i = 0; i < 300 && status == DCSR_OK; i++) {
        dcsr_multi_matrix *transposed = NULL;
        status = dcsr_multi_components(component, NULL, p.multi, &(dcsr_graph_options){.symmetric = i % 2});
        if (status == DCSR_OK) status = dcsr_multi_sssp(distance, NULL, p.multi, 1, NULL);
        if (status == DCSR_OK) status = dcsr_multi_transpose(&transposed, p.multi, NULL);
        dcsr_multi_matrix_destroy(transposed);
    }
    simt_fail_device_after(1, -1);
    cr_assert(status == DCSR_ERROR_DEVICE || status == DCSR_ERROR_OUT_OF_MEMORY, "%s: %s",
              dcsr_status_name(status), dcsr_thread_error());
    if (status == DCSR_ERROR_DEVICE) cr_assert(test_says("device 1 (cuda:1)"), "%s", dcsr_thread_error());
    free(component), free(distance);
    test_close_both(&p);
}

#define LOST(n)                                     \
    Test(multi_algorithms, lose_a_device_after_##n) \
    {                                               \
        lose(n);                                    \
    }
LOST(0)
LOST(5)
LOST(14)
LOST(23)
LOST(37)
LOST(60)
LOST(85)
LOST(120)
LOST(170)
LOST(260)
LOST(376)
LOST(388)
LOST(400)
#endif

/* ---- Bad input ---- */

Test(multi_algorithms, bad_arguments_are_refused)
{
    test_both wide = unshared(DCSR_FP64, 2, 3), p = unshared(DCSR_INT32, 3, 3);
    int32_t level[3];
    double rank[3] = {0}, weights[3] = {1, -1, 1};
    test_share_both(&wide, 2);
    test_share_both(&p, 2);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "level is NULL", dcsr_multi_bfs(NULL, NULL, p.multi, 0));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "A is NULL", dcsr_multi_bfs(level, NULL, NULL, 0));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "2 x 3", dcsr_multi_bfs(level, NULL, wide.multi, 0));
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "source 3 of 3", dcsr_multi_bfs(level, NULL, p.multi, 3));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "rank is NULL", dcsr_multi_pagerank(NULL, NULL, p.multi, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "damping",
                 dcsr_multi_pagerank(rank, NULL, p.multi, &(dcsr_pagerank_options){.damping = 2}));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "tolerance",
                 dcsr_multi_pagerank(rank, NULL, p.multi, &(dcsr_pagerank_options){.tolerance = NAN}));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "max_iterations",
                 dcsr_multi_pagerank(rank, NULL, p.multi, &(dcsr_pagerank_options){.max_iterations = -1}));
    const dcsr_pagerank_options personal = {.personal = weights};
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "personal[1] is -1",
                 dcsr_multi_pagerank(rank, NULL, p.multi, &personal));
    memset(weights, 0, sizeof weights);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "sum of personal is 0",
                 dcsr_multi_pagerank(rank, NULL, p.multi, &personal));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "give one of them",
                 dcsr_multi_components(NULL, NULL, p.multi, NULL));
    TEST_REFUSED(DCSR_ERROR_TYPE_MISMATCH, "A is int32", dcsr_multi_cg(rank, NULL, p.multi, weights, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "b is NULL", dcsr_multi_cg(rank, NULL, p.multi, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "tolerance",
                 dcsr_multi_cg(rank, NULL, p.multi, weights, &(dcsr_multi_cg_options){.tolerance = -1}));
    test_close_both(&wide);
    test_close_both(&p);
}
