/* test_bfs_many.c: breadth-first search from many vertices against one search after the other, with a queue. */
#include <dcsr/bfs.h>
#include "tests/support/support_graphs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static dcsr_bfs_result search(const test_graph *g, uint64_t source, int32_t *level, uint32_t *queue)
{
    dcsr_bfs_result found = {0};
    uint64_t head = 0, tail = 0;
    for (uint64_t v = 0; v < g->vertices; v++) level[v] = -1;
    level[source] = 0;
    queue[tail++] = (uint32_t)source;
    while (head < tail) {
        const uint32_t u = queue[head++];
        found.reached++;
        found.level_sum += (uint64_t)level[u];
        found.max_level = (uint64_t)level[u];
        found.edges += g->offsets[u + 1] - g->offsets[u];
        for (uint64_t k = g->offsets[u]; k < g->offsets[u + 1]; k++)
            if (level[g->ends[k]] < 0) level[g->ends[k]] = level[u] + 1, queue[tail++] = g->ends[k];
    }
    return found;
}

/* More than one word of sources, some of them twice. */
enum { MOST_SOURCES = 70 };

typedef struct expected {
    uint64_t count, sources[MOST_SOURCES];
    dcsr_bfs_result results[MOST_SOURCES];
    int32_t level[];
} expected;

static expected *expect(const test_graph *g)
{
    const uint64_t n = g->vertices;
    expected *all = test_allocate(sizeof *all + MOST_SOURCES * n * sizeof *all->level, 1);
    uint32_t *queue = test_allocate(n, sizeof *queue);
    test_random random = {g->edges};
    all->count = n % 3 ? MOST_SOURCES : 1 + n % 64;
    for (uint64_t k = 0; k < all->count; k++) {
        all->sources[k] = test_random_below(&random, n);
        all->results[k] = search(g, all->sources[k], all->level + k * n, queue);
    }
    free(queue);
    return all;
}

static void check(test_graph *g, dcsr_view *view)
{
    if (!g->kept) g->kept = expect(g);
    const expected *wanted = g->kept;
    const uint64_t n = g->vertices, count = wanted->count;
    int32_t *level = test_allocate(count * n + 1, sizeof *level);
    dcsr_bfs_result results[MOST_SOURCES + 1], again[MOST_SOURCES];
    dcsr_view_shape shape;
    TEST_OK(dcsr_view_get_shape(view, &shape));
    for (int known = 0; known <= g->symmetric; known++) {
        const dcsr_graph_options options = {.symmetric = known};
        level[count * n] = 77;
        results[count].reached = 77;
        TEST_OK(dcsr_bfs_many(level, results, view, count, wanted->sources, &options));
        TEST_OK(dcsr_bfs_many(NULL, again, view, count, wanted->sources, &options));
        for (uint64_t k = 0; k < count; k++) {
            const dcsr_bfs_result *a = &results[k], *b = &wanted->results[k];
            cr_assert(a->reached == b->reached && a->max_level == b->max_level &&
                          a->level_sum == b->level_sum,
                      "%s: %" PRIu64 " reached from %" PRIu64 ", not %" PRIu64, g->name, a->reached,
                      wanted->sources[k], b->reached);
            /* Rows may show duplicates. */
            cr_assert(shape.nnz != g->edges || a->edges == b->edges);
            cr_assert(!memcmp(a, &again[k], sizeof *a));
            for (uint64_t v = 0; v < n; v++)
                cr_assert(level[k * n + v] == wanted->level[k * n + v],
                          "%s: %" PRIu64 " from %" PRIu64 " has level %d, not %d", g->name, v,
                          wanted->sources[k], level[k * n + v], wanted->level[k * n + v]);
        }
        cr_assert(level[count * n] == 77 && results[count].reached == 77, "written beyond the end");
    }
    free(level);
}

Test(bfs_many, is_that_from_each_source)
{
    test_on_graphs(false, TEST_SIZE(2000, 500, 500), check);
}

Test(bfs_many, along_a_long_path)
{
    const uint64_t n = (uint64_t)TEST_SIZE(1000000, 100000, 20000), sources[] = {n / 2, 1};
    uint64_t *from = test_allocate(n, sizeof *from), *to = test_allocate(n, sizeof *to);
    int32_t *level = test_allocate(2 * n, sizeof *level);
    for (uint64_t v = 0; v + 1 < n; v++) from[v] = v, to[v] = v + 1;
    dcsr_context *context = test_context(2);
    dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, n, n, DCSR_POLICY_KEEP);
    TEST_OK(dcsr_matrix_insert(matrix, n - 1, from, to, NULL, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_CSC, 0);
    TEST_OK(dcsr_bfs_many(level, NULL, view, 2, sources, NULL));
    for (uint64_t v = 0; v < n; v++) {
        cr_assert(level[v] == (v < n / 2 ? -1 : (int32_t)(v - n / 2)));
        cr_assert(level[n + v] == (v < 1 ? -1 : (int32_t)(v - 1)));
    }
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
    free(from);
    free(to);
    free(level);
}

static dcsr_status call(dcsr_view *view, void *output)
{
    static const uint64_t sources[] = {0, 5};
    dcsr_bfs_result *results = output;
    return dcsr_bfs_many((int32_t *)(results + 2), results, view, 2, sources, NULL);
}

Test(bfs_many, refuses_what_it_cannot_do)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *wide = test_matrix(context, DCSR_PATTERN, 2, 3, DCSR_POLICY_ANY);
    dcsr_matrix *pair = test_matrix(context, DCSR_PATTERN, 2, 2, DCSR_POLICY_ANY);
    dcsr_view *view = test_view(wide, DCSR_LAYOUT_CSR, 0), *two = test_view(pair, DCSR_LAYOUT_CSC, 0);
    const uint64_t sources[] = {1, 0, 2};
    int32_t level[6] = {5, 5, 5, 5, 5, 5};
    dcsr_bfs_result results[3] = {{.reached = 5}};
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "2 rows and 3 columns",
                 dcsr_bfs_many(level, results, view, 2, sources, NULL));
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "source 2 is 2; there are 2 vertices",
                 dcsr_bfs_many(level, results, two, 3, sources, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "give one of them",
                 dcsr_bfs_many(NULL, NULL, two, 2, sources, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "sources is NULL",
                 dcsr_bfs_many(level, NULL, two, 2, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_bfs_many(level, NULL, NULL, 2, sources, NULL));
    cr_assert(level[0] == 5 && results[0].reached == 5);
    TEST_OK(dcsr_bfs_many(level, results, two, 0, NULL, NULL));
    cr_assert(level[0] == 5 && results[0].reached == 5);
    TEST_OK(dcsr_bfs_many(level, results, two, 2, sources, NULL));
    cr_assert(level[0] == -1 && level[1] == 0 && level[2] == 0 && level[3] == -1 && level[4] == 5);
    dcsr_view_destroy(two);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(wide);
    dcsr_matrix_destroy(pair);
    test_close(context);
    test_graph_failures(call, 2 * sizeof(dcsr_bfs_result) + 18 * sizeof(int32_t));
}
