/* test_traverse.c: traversals from any number of vertices, against the definition; what they refuse. */
#include <dcsr/traverse.h>
#include "dcsr/base/alloc.h"
#include "tests/support/support.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A graph as a list of edges, and as matrices in contexts of one thread and of several. On the emulator one is
 * enough: threads are the host's. */
enum { CONTEXTS = TEST_EMULATOR ? 1 : 2 };
typedef struct graph {
    uint64_t vertices;
    size_t edges;
    uint64_t *from, *to;
    dcsr_context *context[CONTEXTS];
    dcsr_matrix *matrix[CONTEXTS];
} graph;

static graph open_graph(uint64_t vertices, size_t most_edges)
{
    graph g = {.vertices = vertices};
    g.from = test_allocate(most_edges, sizeof *g.from);
    g.to = test_allocate(most_edges, sizeof *g.to);
    return g;
}

static void edge(graph *g, uint64_t from, uint64_t to)
{
    g->from[g->edges] = from;
    g->to[g->edges++] = to;
}

/* The edges in two batches, so that rows have several pieces. */
static void store(graph *g)
{
    size_t half = g->edges / 2;
    for (int i = 0; i < CONTEXTS; i++) {
        g->context[i] = test_context(i ? 4 : 1);
        g->matrix[i] = test_matrix(g->context[i], DCSR_PATTERN, g->vertices, g->vertices, DCSR_POLICY_KEEP);
        TEST_OK(dcsr_matrix_insert(g->matrix[i], half, g->from, g->to, NULL, NULL));
        TEST_OK(dcsr_matrix_wait(g->matrix[i]));
        TEST_OK(dcsr_matrix_insert(g->matrix[i], g->edges - half, g->from + half, g->to + half, NULL, NULL));
        TEST_OK(dcsr_matrix_wait(g->matrix[i]));
    }
}

static void close_graph(graph *g)
{
    for (int i = 0; i < CONTEXTS; i++) {
        dcsr_matrix_destroy(g->matrix[i]);
        test_close(g->context[i]);
    }
    free(g->from);
    free(g->to);
}

/* The definition: all edges are looked at for each level, until one finds nothing. */
static dcsr_traverse_result expect(int32_t *level, const graph *g, size_t n, const uint64_t *sources)
{
    dcsr_traverse_result result = {0};
    bool found = true;
    for (uint64_t v = 0; v < g->vertices; v++) level[v] = -1;
    for (size_t k = 0; k < n; k++) level[sources[k]] = 0;
    for (int32_t depth = 0; found; depth++) {
        found = false;
        for (size_t e = 0; e < g->edges; e++) {
            if (level[g->from[e]] != depth) continue;
            result.edges++;
            if (level[g->to[e]] >= 0) continue;
            level[g->to[e]] = depth + 1;
            found = true;
        }
    }
    for (uint64_t v = 0; v < g->vertices; v++) {
        if (level[v] < 0) continue;
        result.reached++;
        result.level_sum += (uint64_t)level[v];
        if ((uint64_t)level[v] > result.max_level) result.max_level = (uint64_t)level[v];
    }
    return result;
}

static void check(const graph *g, size_t n, const uint64_t *sources)
{
    size_t bytes = (g->vertices + 1) * sizeof(int32_t);
    int32_t *right = test_allocate(g->vertices + 1, sizeof *right), *level = test_copy(right, bytes);
    dcsr_traverse_result wanted = expect(right, g, n, sources), result;
    for (int i = 0; i < CONTEXTS; i++)
        for (dcsr_layout layout = DCSR_LAYOUT_SEGMENTS; layout <= DCSR_LAYOUT_CSC; layout++) {
            dcsr_view *view = test_view(g->matrix[i], layout, DCSR_VIEW_DUPLICATES);
            memset(level, 0x77, bytes);
            TEST_OK(dcsr_traverse(level, &result, view, n, sources));
            for (uint64_t v = 0; v < g->vertices; v++)
                cr_assert(level[v] == right[v],
                          "level of %" PRIu64 " from %zu sources (context %d, layout %d) is %d, not %d", v, n,
                          i, (int)layout, (int)level[v], (int)right[v]);
            cr_assert(level[g->vertices] == 0x77777777, "written beyond the end of level");
            cr_assert_eq(result.reached, wanted.reached);
            cr_assert_eq(result.max_level, wanted.max_level);
            cr_assert_eq(result.level_sum, wanted.level_sum);
            cr_assert_eq(result.edges, wanted.edges);
            dcsr_view_destroy(view);
        }
    free(right);
    free(level);
}

Test(traverse, by_hand)
{
    /* Two parts, a loop, an edge twice, and a vertex without edges. */
    graph g = open_graph(8, 9);
    edge(&g, 0, 1), edge(&g, 1, 2), edge(&g, 1, 2), edge(&g, 2, 3), edge(&g, 3, 3);
    edge(&g, 5, 6), edge(&g, 6, 5), edge(&g, 6, 4), edge(&g, 4, 0);
    store(&g);
    static const int32_t wanted[] = {0, 1, 2, 3, 2, 0, 1, -1};
    int32_t level[8];
    dcsr_traverse_result result;
    dcsr_view *view = test_view(g.matrix[0], DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
    TEST_OK(dcsr_traverse(level, &result, view, 4, (uint64_t[]){5, 0, 5, 0}));
    cr_assert(!memcmp(level, wanted, sizeof level));
    cr_assert(result.reached == 7 && result.max_level == 3 && result.level_sum == 9 && result.edges == 9);
    TEST_OK(dcsr_traverse(level, NULL, view, 1, (uint64_t[]){7}));
    cr_assert(level[7] == 0 && level[0] == -1 && level[6] == -1, "a vertex that leads nowhere");
    dcsr_view_destroy(view);
    check(&g, 2, (uint64_t[]){3, 7});
    close_graph(&g);
}

Test(traverse, from_nowhere_and_everywhere)
{
    enum { N = 1000 };
    graph g = open_graph(N, N);
    uint64_t all[N];
    for (uint64_t v = 0; v < N; v++) {
        edge(&g, v, (v + 1) % N);
        all[v] = N - 1 - v;
    }
    store(&g);
    check(&g, 0, NULL);
    check(&g, N, all);
    check(&g, N / 2, all);
    check(&g, 1, all);
    close_graph(&g);
    graph empty = open_graph(0, 0);
    store(&empty);
    dcsr_view *view = test_view(empty.matrix[0], DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_traverse_result result = {.reached = 5};
    TEST_OK(dcsr_traverse(NULL, &result, view, 0, NULL));
    cr_assert(result.reached == 0 && result.edges == 0);
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "source 0",
                 dcsr_traverse(NULL, &result, view, 1, (uint64_t[]){0}));
    dcsr_view_destroy(view);
    close_graph(&empty);
}

/* Of few edges and of many, short ones and any, in one part and in many. */
Test(traverse, agrees_with_the_definition)
{
    static const uint64_t sizes[] = {1, 2, 31, 32, 33, 63, 64, 65, 300, 2000}, degrees[] = {0, 1, 3, 20};
    test_seeds seeds = test_seeds_from_environment(TEST_SIZE(100, 30, 15));
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.rounds; seed++) {
        test_seed_begins(seed);
        test_random random = {seed};
        uint64_t n = sizes[test_random_below(&random, sizeof sizes / sizeof *sizes)];
        uint64_t edges = n * degrees[test_random_below(&random, sizeof degrees / sizeof *degrees)];
        uint64_t reach = test_random_once_in(&random, 2) ? n : 1 + n / 50;
        graph g = open_graph(n, edges);
        for (uint64_t e = 0; e < edges; e++) {
            uint64_t from = test_random_below(&random, n);
            edge(&g, from, (from + test_random_below(&random, reach)) % n);
        }
        store(&g);
        for (int k = 0; k < 3; k++) {
            uint64_t sources[300];
            size_t count = k ? (size_t)test_random_below(&random, 300) : 1;
            for (size_t i = 0; i < count; i++) sources[i] = test_random_below(&random, n);
            check(&g, count, sources);
        }
        close_graph(&g);
    }
}

/* Vertex 0 leads to a few vertices with long rows (a small frontier with much work), these to most others (a
 * large one), each of which leads to a few more; then a long tail. Enough for several threads. */
Test(traverse, does_not_depend_on_the_number_of_threads)
{
    enum { N = TEST_EMULATOR ? 4000 : 24000, HUBS = 60, LONG = N / 20, TAIL = 40 };
    test_random random = {3};
    graph g = open_graph(N, HUBS + HUBS * LONG + 3 * N + TAIL);
    for (uint64_t h = 1; h <= HUBS; h++) edge(&g, 0, h);
    for (uint64_t h = 1; h <= HUBS; h++)
        for (int k = 0; k < LONG; k++) edge(&g, h, 1 + test_random_below(&random, N - TAIL - 1));
    for (uint64_t k = 0; k < 3 * N; k++)
        edge(&g, HUBS + 1 + test_random_below(&random, N - TAIL - HUBS - 1),
             1 + test_random_below(&random, N - TAIL));
    for (uint64_t k = N - TAIL; k + 1 < N; k++) edge(&g, k, k + 1);
    store(&g);
    check(&g, 1, (uint64_t[]){0});
    check(&g, 3, (uint64_t[]){HUBS + 5, N - 3, 0});
    uint64_t many[N / 100];
    for (uint64_t k = 0; k < N / 100; k++) many[k] = (k * 7919) % N;
    check(&g, N / 100, many);
    close_graph(&g);
}

Test(traverse, refuses_what_it_cannot_do)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *wide = test_matrix(context, DCSR_PATTERN, 2, 3, DCSR_POLICY_ANY);
    dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, 3, 3, DCSR_POLICY_ANY);
    TEST_INSERT(matrix, {1, 2, 0});
    dcsr_view *wide_view = test_view(wide, DCSR_LAYOUT_CSR, 0), *view = test_view(matrix, DCSR_LAYOUT_CSR, 0);
    int32_t level[] = {5, 5, 5};
    dcsr_traverse_result result = {.reached = 5};
    const uint64_t sources[] = {1, 0, 3};
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "2 rows and 3 columns",
                 dcsr_traverse(level, &result, wide_view, 1, sources));
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "source 3", dcsr_traverse(level, &result, view, 3, sources));
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "source",
                 dcsr_traverse(level, &result, view, 1, (uint64_t[]){UINT64_MAX}));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "sources is NULL, but n is 2",
                 dcsr_traverse(level, &result, view, 2, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "level", dcsr_traverse(NULL, &result, view, 1, sources));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "view", dcsr_traverse(level, &result, NULL, 1, sources));
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    long n = 0;
    for (; status != DCSR_OK; n++) {
        cr_assert(level[0] == 5 && level[1] == 5 && level[2] == 5 && result.reached == 5,
                  "a failed call has written");
        dcsr_i_fail_allocations_after(n);
        status = dcsr_traverse(level, &result, view, 1, sources);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY);
    }
    cr_assert(n > 1 && level[0] == -1 && level[1] == 0 && level[2] == 1 && result.reached == 2);
    dcsr_view_destroy(wide_view);
    dcsr_matrix_destroy(wide);
    dcsr_matrix_destroy(matrix);
    dcsr_context_destroy(context);
    TEST_REFUSED(DCSR_ERROR_CONTEXT_DESTROYED, "context", dcsr_traverse(level, &result, view, 1, sources));
    dcsr_view_destroy(view);
}
