/* test_bfs_parents.c: the tree of a breadth-first search against looking at all edges. */
#include <dcsr/bfs.h>
#include "tests/support/support_graphs.h"

#include <inttypes.h>
#include <stdlib.h>

/* The queue of the textbook, then for each vertex the first one above it. */
static void expect(const test_graph *g, uint64_t source, int32_t *level, uint32_t *parent)
{
    uint32_t *queue = test_allocate(g->vertices, sizeof *queue);
    uint64_t head = 0, tail = 0;
    for (uint64_t v = 0; v < g->vertices; v++) level[v] = -1, parent[v] = DCSR_NO_VERTEX;
    level[source] = 0;
    queue[tail++] = (uint32_t)source;
    while (head < tail) {
        const uint32_t u = queue[head++];
        for (uint64_t k = g->offsets[u]; k < g->offsets[u + 1]; k++) {
            const uint32_t v = g->ends[k];
            if (level[v] < 0) level[v] = level[u] + 1, queue[tail++] = v;
        }
    }
    for (uint32_t u = 0; u < g->vertices; u++)
        for (uint64_t k = g->offsets[u]; level[u] >= 0 && k < g->offsets[u + 1]; k++) {
            const uint32_t v = g->ends[k];
            if (level[v] == level[u] + 1 && parent[v] == DCSR_NO_VERTEX) parent[v] = u;
        }
    free(queue);
}

static void check(test_graph *g, dcsr_view *view)
{
    const uint64_t n = g->vertices, source = n / 3;
    int32_t *level = test_allocate(n, sizeof *level), *found = test_allocate(n, sizeof *found);
    uint32_t *parent = test_allocate(n, sizeof *parent), *made = test_allocate(n + 1, sizeof *made);
    expect(g, source, level, parent);
    made[n] = 77;
    TEST_OK(dcsr_bfs(found, NULL, view, source));
    TEST_OK(dcsr_bfs_parents(made, found, view));
    for (uint64_t v = 0; v < n; v++) {
        cr_assert(found[v] == level[v], "%s: %" PRIu64 " has level %d", g->name, v, found[v]);
        cr_assert(made[v] == parent[v], "%s: the parent of %" PRIu64 " is %u, not %u", g->name, v, made[v],
                  parent[v]);
    }
    cr_assert(made[n] == 77, "written beyond the end");
    free(level);
    free(found);
    free(parent);
    free(made);
}

Test(bfs_parents, are_the_least_of_those_one_level_above)
{
    test_on_graphs(false, UINT64_MAX, check);
}

static dcsr_status call(dcsr_view *view, void *output)
{
    /* From 0, in the graph of test_graph_failures(). */
    static const int32_t level[9] = {0, 1, 1, 2, -1, -1, -1, -1, -1};
    return dcsr_bfs_parents(output, level, view);
}

Test(bfs_parents, refuse_what_they_cannot_do)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *wide = test_matrix(context, DCSR_PATTERN, 2, 3, DCSR_POLICY_ANY);
    dcsr_matrix *path = test_matrix(context, DCSR_PATTERN, 3, 3, DCSR_POLICY_ANY);
    TEST_INSERT(path, {0, 1, 1}, {1, 2, 1});
    const int32_t right[] = {0, 1, 2}, wrong[] = {0, 1, 3}, least[] = {INT32_MIN, 0, 1};
    uint32_t parent[3] = {5, 5, 5};
    for (dcsr_layout layout = DCSR_LAYOUT_SEGMENTS; layout <= DCSR_LAYOUT_CSC; layout++) {
        dcsr_view *two = test_view(wide, layout, 0), *three = test_view(path, layout, 0);
        TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "2 rows and 3 columns",
                     dcsr_bfs_parents(parent, right, two));
        TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "parent is NULL", dcsr_bfs_parents(NULL, right, three));
        TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "level is NULL", dcsr_bfs_parents(parent, NULL, three));
        TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "vertex 2 has the level 3",
                     dcsr_bfs_parents(parent, wrong, three));
        cr_assert(parent[0] == 5 && parent[1] == 5 && parent[2] == 5);
        TEST_OK(dcsr_bfs_parents(parent, least, three));
        cr_assert(parent[0] == DCSR_NO_VERTEX && parent[1] == DCSR_NO_VERTEX && parent[2] == 1);
        parent[0] = parent[1] = parent[2] = 5;
        dcsr_view_destroy(two);
        dcsr_view_destroy(three);
    }
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_bfs_parents(parent, right, NULL));
    dcsr_matrix_destroy(wide);
    dcsr_matrix_destroy(path);
    test_close(context);
    test_graph_failures(call, 9 * sizeof(uint32_t));
}
