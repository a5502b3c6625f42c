/* test_multi_paths.c: shortest paths and triangles on several devices, beside textbook loops and beside one device. */
#include "dcsr/base/alloc.h"
#include "tests/support/support_multi.h"
#include <dcsr/multi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(multi_paths, .init = set_devices);

/* The same graph on one device and on several, and as a list of edges. */
typedef struct graph {
    dcsr_context *context;
    dcsr_matrix *matrix;
    dcsr_view *view;
    dcsr_multi *devices;
    dcsr_multi_matrix *parts;
    dcsr_multi_view *multi;
    uint64_t n, count;
    uint64_t *from, *to;
    double *weight;
} graph;

static graph open_graph(dcsr_type type, uint64_t n, uint64_t most)
{
    graph g = {.context = test_context(2), .n = n};
    g.matrix = test_matrix(g.context, type, n, n, DCSR_POLICY_KEEP);
    g.from = test_allocate(most + 1, sizeof *g.from);
    g.to = test_allocate(most + 1, sizeof *g.to);
    g.weight = test_allocate(most + 1, sizeof *g.weight);
    return g;
}

static void edge(graph *g, uint64_t u, uint64_t v, double weight)
{
    g->from[g->count] = u, g->to[g->count] = v, g->weight[g->count++] = weight;
}

static void share(graph *g, dcsr_type type, uint64_t devices)
{
    char values[16];
    for (uint64_t e = 0; e < g->count; e++) {
        test_encode(type, g->weight[e], values);
        TEST_OK(dcsr_matrix_insert(g->matrix, 1, &g->from[e], &g->to[e], type == DCSR_PATTERN ? NULL : values,
                                   NULL));
    }
    TEST_OK(dcsr_matrix_wait(g->matrix));
    g->view = test_view(g->matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
    g->devices = test_devices((int)devices, 2);
    TEST_OK(dcsr_multi_matrix_from_view(&g->parts, g->devices, g->view,
                                        &(dcsr_matrix_options){.policy = DCSR_POLICY_KEEP}));
    TEST_OK(dcsr_multi_view_create(&g->multi, g->parts, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES));
}

static void close_graph(graph *g)
{
    dcsr_multi_view_destroy(g->multi);
    dcsr_multi_matrix_destroy(g->parts);
    dcsr_multi_destroy(g->devices);
    dcsr_view_destroy(g->view);
    dcsr_matrix_destroy(g->matrix);
    free(g->from), free(g->to), free(g->weight);
    test_close(g->context);
}

/* ---- Shortest paths ---- */

/* Bellman and Ford's method: as many rounds over all edges as there are vertices. */
static void find_distances(const graph *g, uint64_t source, double *distance)
{
    for (uint64_t v = 0; v < g->n; v++) distance[v] = INFINITY;
    distance[source] = 0;
    for (uint64_t round = 0; round < g->n; round++)
        for (uint64_t e = 0; e < g->count; e++)
            if (distance[g->from[e]] + g->weight[e] < distance[g->to[e]])
                distance[g->to[e]] = distance[g->from[e]] + g->weight[e];
}

static void compare_paths(graph *g, uint64_t source, double delta)
{
    double *expected = test_allocate(g->n, sizeof *expected), *one = test_allocate(g->n, sizeof *one),
           *many = test_allocate(g->n, sizeof *many);
    dcsr_sssp_result a, b;
    find_distances(g, source, expected);
    TEST_OK(dcsr_sssp(one, &a, g->view, source, NULL));
    TEST_OK(dcsr_multi_sssp(many, &b, g->multi, source, &(dcsr_sssp_options){.delta = delta}));
    cr_assert(!memcmp(expected, many, g->n * sizeof *many));
    cr_assert(!memcmp(one, many, g->n * sizeof *many));
    cr_assert(a.reached == b.reached && a.farthest == b.farthest && a.negative_cycle == b.negative_cycle);
    free(expected), free(one), free(many);
}

static graph random_graph(test_random *random, dcsr_type type, uint64_t devices, double least)
{
    const uint64_t n = 1 + test_random_below(random, 60),
                   count = test_random_below(random, 3) * n + test_random_below(random, 2 * n);
    graph g = open_graph(type, n, count);
    for (uint64_t i = 0; i < count; i++) {
        const double drawn = (double)test_random_below(random, 30) / 7, weight = type == DCSR_PATTERN ? 1
                                                                                 : type == DCSR_FP64
                                                                                     ? drawn
                                                                                     : floor(drawn);
        edge(&g, test_random_below(random, n), test_random_below(random, n), weight + least);
    }
    share(&g, type, devices);
    return g;
}

Test(multi_paths, distances_are_those_of_bellman_and_ford)
{
    static const dcsr_type types[] = {DCSR_FP64, DCSR_FP64, DCSR_INT32, DCSR_PATTERN, DCSR_UINT64};
    const test_seeds seeds =
        test_seeds_from_environment((uint64_t)TEST_SIZE(test_on_emulator() ? 16 : 60, 16, 8));
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.rounds; seed++) {
        test_seed_begins(seed);
        test_random random = {seed};
        graph g = random_graph(&random, types[seed % 5], 1 + test_random_below(&random, MOST_DEVICES), 0);
        compare_paths(&g, test_random_below(&random, g.n), 0);
        compare_paths(&g, test_random_below(&random, g.n), (double[]){0.1, 3, 1e9}[seed % 3]);
        close_graph(&g);
    }
}

Test(multi_paths, weights_of_zero_and_infinity_are_weights)
{
    for (uint64_t devices = 1; devices <= MOST_DEVICES; devices++) {
        graph g = open_graph(DCSR_FP64, 6, 10);
        edge(&g, 0, 1, 0), edge(&g, 1, 2, 0), edge(&g, 2, 0, 0);
        share(&g, DCSR_FP64, devices);
        compare_paths(&g, 0, 0);
        close_graph(&g);
        g = open_graph(DCSR_FP64, 6, 10);
        edge(&g, 0, 1, INFINITY), edge(&g, 0, 2, 3), edge(&g, 2, 3, 0.5), edge(&g, 3, 2, INFINITY);
        edge(&g, 4, 5, 1), edge(&g, 2, 5, -0.0);
        share(&g, DCSR_FP64, devices);
        compare_paths(&g, 0, 0);
        compare_paths(&g, 4, 2);
        close_graph(&g);
    }
}

Test(multi_paths, negative_weights_are_weights_and_cycles_of_them_are_told)
{
    test_random random = {5};
    for (int round = 0; round < TEST_SIZE(12, 6, 4); round++) {
        /* Edges to higher vertices alone: no cycle. */
        graph g = open_graph(DCSR_FP64, 40, 120);
        for (int i = 0; i < 120; i++) {
            const uint64_t u = test_random_below(&random, 39);
            edge(&g, u, u + 1 + test_random_below(&random, 39 - u),
                 (double)test_random_below(&random, 20) - 8);
        }
        share(&g, DCSR_FP64, 1 + (uint64_t)round % MOST_DEVICES);
        compare_paths(&g, 0, 0);
        close_graph(&g);
    }
    graph g = open_graph(DCSR_FP64, 6, 10);
    edge(&g, 0, 1, 1), edge(&g, 1, 2, -3), edge(&g, 2, 1, 2), edge(&g, 2, 3, 7), edge(&g, 0, 4, 2);
    share(&g, DCSR_FP64, 2);
    double distance[6];
    dcsr_sssp_result result;
    TEST_OK(dcsr_multi_sssp(distance, &result, g.multi, 0, NULL));
    const double expected[] = {0, -INFINITY, -INFINITY, -INFINITY, 2, INFINITY};
    cr_assert(!memcmp(distance, expected, sizeof expected));
    cr_assert(result.negative_cycle && (result.on_cycle == 1 || result.on_cycle == 2));
    close_graph(&g);
}

Test(multi_paths, out_of_memory_leaves_results_as_they_were)
{
    test_random random = {2};
    graph g = random_graph(&random, DCSR_FP64, 2, 0);
    double *distance = test_allocate(g.n, sizeof *distance);
    uint64_t *triangles = test_allocate(g.n, sizeof *triangles);
    for (int kind = 0; kind < 2; kind++) {
        dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
        dcsr_sssp_result found = {.reached = 99};
        dcsr_triangles_result counted = {.triangles = 99};
        for (uint64_t v = 0; v < g.n; v++) distance[v] = -7, triangles[v] = 77;
        for (long n = 0; status != DCSR_OK; n += test_on_emulator() ? (kind ? 61 : 3) : TEST_SIZE(1, 7, 31)) {
            cr_assert_lt(n, 50000);
            for (uint64_t v = 0; v < g.n; v++) cr_assert(distance[v] == -7 && triangles[v] == 77);
            cr_assert(found.reached == 99 && counted.triangles == 99);
            dcsr_i_fail_allocations_after(n);
            status = kind ? dcsr_multi_triangles(triangles, &counted, g.multi, NULL)
                          : dcsr_multi_sssp(distance, &found, g.multi, 0, NULL);
            dcsr_i_fail_allocations_after(-1);
            cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
        }
        cr_assert(kind ? counted.triangles != 99 : found.reached != 99);
        for (uint64_t v = 0; v < g.n; v++) distance[v] = -7;
    }
    free(distance), free(triangles);
    close_graph(&g);
}

/* ---- Triangles ---- */

/* All three vertices with an edge between each two. */
static uint64_t count_triangles(const graph *g, uint64_t *of)
{
    bool *near = calloc(g->n * g->n + 1, sizeof *near);
    uint64_t all = 0;
    for (uint64_t e = 0; e < g->count; e++)
        near[g->from[e] * g->n + g->to[e]] = near[g->to[e] * g->n + g->from[e]] = true;
    for (uint64_t v = 0; v < g->n; v++) of[v] = 0;
    for (uint64_t a = 0; a < g->n; a++)
        for (uint64_t b = a + 1; b < g->n; b++)
            for (uint64_t c = b + 1; c < g->n && near[a * g->n + b]; c++)
                if (near[a * g->n + c] && near[b * g->n + c]) all++, of[a]++, of[b]++, of[c]++;
    free(near);
    return all;
}

static void compare_triangles(graph *g, bool symmetric)
{
    uint64_t *expected = test_allocate(g->n, sizeof *expected), *one = test_allocate(g->n, sizeof *one),
             *many = test_allocate(g->n, sizeof *many);
    const dcsr_graph_options o = {.symmetric = symmetric};
    dcsr_triangles_result a, b;
    const uint64_t all = count_triangles(g, expected);
    TEST_OK(dcsr_triangles(one, &a, g->view, &o));
    TEST_OK(dcsr_multi_triangles(many, &b, g->multi, &o));
    cr_assert(a.triangles == all && b.triangles == all, "%d triangles, not %d", (int)b.triangles, (int)all);
    cr_assert(!memcmp(expected, many, g->n * sizeof *many));
    cr_assert(!memcmp(one, many, g->n * sizeof *many));
    b.triangles = 0;
    TEST_OK(dcsr_multi_triangles(NULL, &b, g->multi, &o));
    cr_assert_eq(b.triangles, all);
    memset(many, 255, g->n * sizeof *many);
    TEST_OK(dcsr_multi_triangles(many, NULL, g->multi, &o));
    cr_assert(!memcmp(expected, many, g->n * sizeof *many));
    free(expected), free(one), free(many);
}

/* The same edges, each once, in rows that ascend: on GPUs lists are made there. */
static void compare_sorted(graph *g, bool symmetric)
{
    uint64_t *expected = test_allocate(g->n, sizeof *expected), *many = test_allocate(g->n, sizeof *many);
    const uint64_t all = count_triangles(g, expected);
    const dcsr_graph_options o = {.symmetric = symmetric};
    dcsr_triangles_result found = {0};
    dcsr_multi_matrix *parts;
    dcsr_multi_view *sorted;
    TEST_OK(dcsr_multi_matrix_from_view(&parts, g->devices, g->view,
                                        &(dcsr_matrix_options){.policy = DCSR_POLICY_LAST}));
    TEST_OK(dcsr_multi_view_create(&sorted, parts, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED));
    TEST_OK(dcsr_multi_triangles(many, &found, sorted, &o));
    cr_assert_eq(found.triangles, all);
    cr_assert(!memcmp(expected, many, g->n * sizeof *many));
    found.triangles = 0;
    TEST_OK(dcsr_multi_triangles(NULL, &found, sorted, &o));
    cr_assert_eq(found.triangles, all);
    dcsr_multi_view_destroy(sorted);
    dcsr_multi_matrix_destroy(parts);
    free(expected), free(many);
}

Test(multi_paths, triangles_are_those_of_three_loops)
{
    const test_seeds seeds =
        test_seeds_from_environment((uint64_t)TEST_SIZE(test_on_emulator() ? 12 : 40, 12, 6));
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.rounds; seed++) {
        test_seed_begins(seed);
        test_random random = {seed};
        const uint64_t n = 1 + test_random_below(&random, 40), count = test_random_below(&random, 8 * n);
        const bool symmetric = test_random_once_in(&random, 2);
        const dcsr_type type = test_random_once_in(&random, 2) ? DCSR_PATTERN : DCSR_FP32;
        graph g = open_graph(type, n, 2 * count);
        for (uint64_t i = 0; i < count; i++) {
            /* Loops, edges that are there more than once, and a hub are among them. */
            const uint64_t u = test_random_below(&random, n),
                           v = test_random_once_in(&random, 3) ? 0 : test_random_below(&random, n);
            edge(&g, u, v, 0);
            if (symmetric) edge(&g, v, u, 0);
        }
        share(&g, type, 1 + test_random_below(&random, MOST_DEVICES));
        compare_triangles(&g, symmetric);
        compare_sorted(&g, symmetric);
        close_graph(&g);
    }
}

Test(multi_paths, lists_out_of_memory_leave_triangles_as_they_were)
{
    enum { N = 12 };
    test_random random = {4};
    graph g = open_graph(DCSR_PATTERN, N, 200);
    for (uint64_t u = 0; u < N; u++)
        for (uint64_t v = u + 1; v < N; v++)
            if (test_random_once_in(&random, 2)) edge(&g, u, v, 0), edge(&g, v, u, 0);
    share(&g, DCSR_PATTERN, 3);
    uint64_t expected[N], many[N];
    const uint64_t all = count_triangles(&g, expected);
    dcsr_multi_matrix *parts;
    dcsr_multi_view *sorted;
    TEST_OK(dcsr_multi_matrix_from_view(&parts, g.devices, g.view,
                                        &(dcsr_matrix_options){.policy = DCSR_POLICY_LAST}));
    TEST_OK(dcsr_multi_view_create(&sorted, parts, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED));
    dcsr_triangles_result found = {.triangles = 99};
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    for (int v = 0; v < N; v++) many[v] = 77;
    for (long n = 0; status != DCSR_OK; n += test_on_emulator() ? 1 : TEST_SIZE(1, 7, 31)) {
        cr_assert_lt(n, 50000);
        for (int v = 0; v < N; v++) cr_assert_eq(many[v], 77);
        cr_assert_eq(found.triangles, 99);
        dcsr_i_fail_allocations_after(n);
        status = dcsr_multi_triangles(many, &found, sorted, &(dcsr_graph_options){.symmetric = true});
        dcsr_i_fail_allocations_after(-1);
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
    }
    cr_assert_eq(found.triangles, all);
    cr_assert(!memcmp(expected, many, sizeof many));
    dcsr_multi_view_destroy(sorted);
    dcsr_multi_matrix_destroy(parts);
    close_graph(&g);
}

/* ---- Bad input ---- */

Test(multi_paths, bad_arguments_are_refused)
{
    graph g = open_graph(DCSR_FP64, 3, 4);
    double distance[3];
    edge(&g, 0, 1, NAN), edge(&g, 1, 2, 1);
    share(&g, DCSR_FP64, 2);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "distance is NULL",
                 dcsr_multi_sssp(NULL, NULL, g.multi, 0, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "A is NULL", dcsr_multi_sssp(distance, NULL, NULL, 0, NULL));
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "source 3 of 3",
                 dcsr_multi_sssp(distance, NULL, g.multi, 3, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "delta",
                 dcsr_multi_sssp(distance, NULL, g.multi, 0, &(dcsr_sssp_options){.delta = -1}));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NaN", dcsr_multi_sssp(distance, NULL, g.multi, 0, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "give one of them",
                 dcsr_multi_triangles(NULL, NULL, g.multi, NULL));
    dcsr_triangles_result result;
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "A is NULL", dcsr_multi_triangles(NULL, &result, NULL, NULL));
    close_graph(&g);
    dcsr_multi *devices;
    dcsr_multi_matrix *wide;
    dcsr_multi_view *view;
    TEST_OK(dcsr_multi_create(&devices, test_on_emulator() ? "cuda:0" : "cpu:2", NULL));
    TEST_OK(dcsr_multi_matrix_create(&wide, devices, DCSR_FP64, 2, 3, NULL));
    TEST_OK(dcsr_multi_view_create(&view, wide, DCSR_LAYOUT_SEGMENTS, 0));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "2 x 3", dcsr_multi_sssp(distance, NULL, view, 0, NULL));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "2 x 3", dcsr_multi_triangles(NULL, &result, view, NULL));
    dcsr_multi_view_destroy(view);
    dcsr_multi_matrix_destroy(wide);
    dcsr_multi_destroy(devices);
}
