/* test_sssp.c: shortest paths against the textbook's Dijkstra and Bellman-Ford. */
#include <dcsr/graph.h>
#include "tests/support/support_graphs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SOURCES = 2 };

static uint64_t source_of(const test_graph *g, int s)
{
    return s ? g->vertices / 2 : 0;
}

/* Dijkstra's method, without a heap; `plain`: every edge weighs 1. */
static void dijkstra(const test_graph *g, uint64_t source, bool plain, double *distance)
{
    bool *done = calloc(g->vertices, sizeof *done);
    for (uint64_t v = 0; v < g->vertices; v++) distance[v] = INFINITY;
    distance[source] = 0;
    for (;;) {
        uint64_t u = g->vertices;
        for (uint64_t v = 0; v < g->vertices; v++)
            if (!done[v] && distance[v] < INFINITY && (u == g->vertices || distance[v] < distance[u])) u = v;
        if (u == g->vertices) break;
        done[u] = true;
        for (uint64_t k = g->offsets[u]; k < g->offsets[u + 1]; k++)
            distance[g->ends[k]] = fmin(distance[g->ends[k]], distance[u] + (plain ? 1 : g->weights[k]));
    }
    free(done);
}

static void check(test_graph *g, dcsr_view *view)
{
    const uint64_t n = g->vertices;
    dcsr_view_shape shape;
    TEST_OK(dcsr_view_get_shape(view, &shape));
    const bool plain = shape.type == DCSR_PATTERN;
    if (!g->kept) {
        double *all = g->kept = test_allocate(2 * SOURCES * n, sizeof *all);
        for (int s = 0; s < 2 * SOURCES; s++) dijkstra(g, source_of(g, s / 2), s % 2, all + (uint64_t)s * n);
    }
    double *distance = test_allocate(n + 1, sizeof *distance);
    static const double deltas[] = {0, 1, 40, 1e9};
    for (int s = 0; s < SOURCES; s++)
        for (size_t d = 0; d < sizeof deltas / sizeof *deltas; d++) {
            const double *wanted = (double *)g->kept + (2 * (uint64_t)s + plain) * n;
            uint64_t reached = 0;
            double farthest = 0;
            dcsr_sssp_result result;
            distance[n] = 77;
            TEST_OK(dcsr_sssp(distance, &result, view, source_of(g, s), &(dcsr_sssp_options){deltas[d]}));
            for (uint64_t v = 0; v < n; v++) {
                cr_assert(distance[v] == wanted[v], "%s: %" PRIu64 " is at %g, not %g", g->name, v,
                          distance[v], wanted[v]);
                if (wanted[v] == INFINITY) continue;
                reached++;
                farthest = fmax(farthest, wanted[v]);
            }
            cr_assert(distance[n] == 77, "written beyond the end");
            cr_assert(result.reached == reached && result.farthest == farthest && !result.negative_cycle);
        }
    free(distance);
}

Test(sssp, is_that_of_dijkstra)
{
    test_on_graphs(false, UINT64_MAX, check);
}

/* Edges of any weight, Bellman-Ford's rounds, and what a cycle leads to. */
static void bellman_ford(size_t n, size_t m, const uint64_t *from, const uint64_t *to, const double *weight,
                         double *distance)
{
    for (size_t v = 0; v < n; v++) distance[v] = v ? INFINITY : 0;
    for (size_t round = 0; round < 2 * n; round++)
        for (size_t k = 0; k < m; k++) {
            const double there = distance[from[k]] + weight[k];
            if (there < distance[to[k]]) distance[to[k]] = round < n ? there : -INFINITY;
        }
}

/* Weights of all magnitudes, none, all or few of them 0 or without end: buckets have a width all the same. */
Test(sssp, takes_weights_of_all_magnitudes)
{
    enum { N = 60, M = 200 };
    uint64_t from[M], to[M];
    double weight[M], wanted[N], distance[N];
    dcsr_context *context = test_context(2);
    for (uint64_t seed = 0; seed < (test_on_emulator() ? 8 : 80); seed++) {
        test_random random = {seed};
        const double spread[] = {0, 1, 12, 300};
        for (size_t k = 0; k < M; k++) {
            from[k] = test_random_below(&random, N), to[k] = test_random_below(&random, N);
            weight[k] = pow(10, spread[seed % 4] * ((double)test_random_below(&random, 200) / 100 - 1));
            if (seed % 8 > 5 && test_random_once_in(&random, 3)) weight[k] = 0;
            if (seed % 8 == 5 && test_random_once_in(&random, 3)) weight[k] = INFINITY;
            if (seed % 8 == 4) weight[k] = 0;
        }
        dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, N, N, DCSR_POLICY_KEEP);
        TEST_OK(dcsr_matrix_insert(matrix, M, from, to, weight, NULL));
        TEST_OK(dcsr_matrix_wait(matrix));
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
        bellman_ford(N, M, from, to, weight, wanted);
        TEST_OK(dcsr_sssp(distance, NULL, view, 0, NULL));
        for (size_t v = 0; v < N; v++)
            cr_assert(distance[v] == wanted[v], "seed %" PRIu64 ": %zu is at %g, not %g", seed, v,
                      distance[v], wanted[v]);
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
    }
    test_close(context);
}

Test(sssp, takes_negative_weights)
{
    enum { N = 60, M = 200 };
    uint64_t from[M], to[M], cycles = 0;
    double weight[M], wanted[N], distance[N];
    dcsr_context *context = test_context(2);
    for (uint64_t seed = 0; seed < (test_on_emulator() ? 5 : 60); seed++) {
        test_random random = {seed};
        const size_t m = 60 + test_random_below(&random, M - 60);
        for (size_t k = 0; k < m; k++) {
            from[k] = test_random_below(&random, N), to[k] = test_random_below(&random, N);
            weight[k] = (double)test_random_below(&random, 40) - (double)(seed % 8);
        }
        dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, N, N, DCSR_POLICY_KEEP);
        TEST_OK(dcsr_matrix_insert(matrix, m, from, to, weight, NULL));
        TEST_OK(dcsr_matrix_wait(matrix));
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
        dcsr_sssp_result result;
        bellman_ford(N, m, from, to, weight, wanted);
        bool cycle = false;
        TEST_OK(dcsr_sssp(distance, &result, view, 0, NULL));
        for (size_t v = 0; v < N; v++) {
            cr_assert(distance[v] == wanted[v], "seed %" PRIu64 ": %zu is at %g, not %g", seed, v,
                      distance[v], wanted[v]);
            cycle |= wanted[v] == -INFINITY;
        }
        cr_assert(result.negative_cycle == cycle);
        cr_assert(!cycle || wanted[result.on_cycle] == -INFINITY);
        cycles += cycle;
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
    }
    cr_assert(test_on_emulator() || (cycles > 5 && cycles < 55));
    test_close(context);
}

Test(sssp, names_a_vertex_of_a_negative_cycle)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT32, 7, 7, DCSR_POLICY_LAST);
    TEST_INSERT(matrix, {0, 1, 5}, {1, 2, 1}, {2, 3, -4}, {3, 1, 2}, {3, 4, 10}, {0, 5, 1}, {6, 6, -1});
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_CSR, 0);
    double distance[7];
    dcsr_sssp_result result;
    TEST_OK(dcsr_sssp(distance, &result, view, 0, NULL));
    cr_assert(result.negative_cycle && result.on_cycle >= 1 && result.on_cycle <= 3);
    for (int v = 1; v < 5; v++) cr_assert(distance[v] == -INFINITY);
    cr_assert(distance[0] == 0 && distance[5] == 1 && distance[6] == INFINITY);
    cr_assert(result.reached == 6 && result.farthest == 1);
    TEST_OK(dcsr_sssp(distance, &result, view, 5, NULL));
    cr_assert(!result.negative_cycle && result.reached == 1);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(sssp, along_a_long_path)
{
    enum { N = TEST_EMULATOR ? 2000 : 1000000 };
    uint64_t *from = test_allocate(N, sizeof *from), *to = test_allocate(N, sizeof *to);
    double *distance = test_allocate(N, sizeof *distance);
    for (uint64_t v = 0; v + 1 < N; v++) from[v] = v, to[v] = v + 1;
    dcsr_context *context = test_context(2);
    dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, N, N, DCSR_POLICY_KEEP);
    TEST_OK(dcsr_matrix_insert(matrix, N - 1, from, to, NULL, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_sssp(distance, NULL, view, 0, NULL));
    for (uint64_t v = 0; v < N; v++) cr_assert(distance[v] == (double)v);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
    free(from);
    free(to);
    free(distance);
}

static dcsr_status call(dcsr_view *view, void *output)
{
    dcsr_sssp_result *result = output;
    return dcsr_sssp((double *)(result + 1), result, view, 1, NULL);
}

Test(sssp, refuses_what_it_cannot_do)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *wide = test_matrix(context, DCSR_PATTERN, 2, 3, DCSR_POLICY_ANY);
    dcsr_matrix *pair = test_matrix(context, DCSR_FP32, 2, 2, DCSR_POLICY_ANY);
    TEST_INSERT(pair, {0, 0, 1}, {1, 0, (double)NAN});
    dcsr_view *view = test_view(wide, DCSR_LAYOUT_CSR, 0), *two = test_view(pair, DCSR_LAYOUT_CSR, 0);
    double distance[2] = {5, 5};
    dcsr_sssp_result result = {.reached = 5};
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "2 rows and 3 columns",
                 dcsr_sssp(distance, &result, view, 0, NULL));
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "source 2 of 2", dcsr_sssp(distance, &result, two, 2, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "vertex 1 has the weight NaN",
                 dcsr_sssp(distance, &result, two, 0, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "delta",
                 dcsr_sssp(distance, &result, two, 0, &(dcsr_sssp_options){-1}));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "delta",
                 dcsr_sssp(distance, &result, two, 0, &(dcsr_sssp_options){NAN}));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "distance", dcsr_sssp(NULL, &result, two, 0, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_sssp(distance, &result, NULL, 0, NULL));
    cr_assert(distance[0] == 5 && result.reached == 5);
    dcsr_view_destroy(two);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(wide);
    dcsr_matrix_destroy(pair);
    test_close(context);
    test_graph_failures(call, sizeof(dcsr_sssp_result) + 9 * sizeof(double));
}
