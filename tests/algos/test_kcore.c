/* test_kcore.c: core numbers against taking away vertices one by one. */
#include <dcsr/graph.h>
#include "tests/support/support_graphs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool has(const test_graph *g, uint32_t u, uint32_t v)
{
    for (uint64_t k = g->offsets[u]; k < g->offsets[u + 1]; k++)
        if (g->ends[k] == v) return true;
    return false;
}

/* Always the vertex of least degree goes next; the largest of these degrees so far is its core number. */
static uint32_t *expect(const test_graph *g)
{
    const uint32_t n = (uint32_t)g->vertices;
    uint32_t *core = test_allocate(n + 1, sizeof *core), *degree = calloc(n + 1, sizeof *degree), level = 0;
    bool *near = calloc((size_t)n * n + 1, 1), *gone = calloc(n + 1, 1);
    cr_assert(degree && near && gone);
    for (uint32_t u = 0; u < n; u++)
        for (uint32_t v = 0; v < u; v++)
            if (has(g, u, v) || has(g, v, u))
                near[(size_t)u * n + v] = near[(size_t)v * n + u] = true, degree[u]++, degree[v]++;
    for (uint32_t taken = 0; taken < n; taken++) {
        uint32_t least = n;
        for (uint32_t v = 0; v < n; v++)
            if (!gone[v] && (least == n || degree[v] < degree[least])) least = v;
        if (degree[least] > level) level = degree[least];
        core[least] = level;
        gone[least] = true;
        for (uint32_t v = 0; v < n; v++) degree[v] -= !gone[v] && near[(size_t)least * n + v];
    }
    free(near);
    free(gone);
    free(degree);
    return core;
}

static void check(test_graph *g, dcsr_view *view)
{
    if (!g->kept) g->kept = expect(g);
    const uint64_t n = g->vertices;
    const uint32_t *wanted = g->kept;
    uint32_t *core = test_allocate(n + 1, sizeof *core), largest = 0, vertices = 0;
    for (uint64_t v = 0; v < n; v++) {
        if (wanted[v] > largest) largest = wanted[v], vertices = 0;
        vertices += wanted[v] == largest;
    }
    for (int known = 0; known <= g->symmetric; known++) {
        dcsr_kcore_result result;
        core[n] = 77;
        TEST_OK(dcsr_kcore(core, &result, view, &(dcsr_graph_options){.symmetric = known}));
        for (uint64_t v = 0; v < n; v++)
            cr_assert(core[v] == wanted[v], "%s: %" PRIu64 " has %u, not %u", g->name, v, core[v], wanted[v]);
        cr_assert(core[n] == 77, "written beyond the end");
        cr_assert(result.largest == largest && result.vertices == vertices, "%s: %" PRIu64 " of %" PRIu64,
                  g->name, result.vertices, result.largest);
    }
    free(core);
}

Test(kcore, is_that_of_peeling)
{
    test_on_graphs(false, 600, check);
}

/* Levels of many vertices, for several threads: a torus, of which each vertex has four, with tails of two. */
Test(kcore, does_not_depend_on_the_number_of_threads)
{
    enum { SIDE = TEST_EMULATOR ? 20 : 250, TORUS = SIDE * SIDE, N = 3 * TORUS };
    uint64_t *from = test_allocate(4 * N, sizeof *from), *to = test_allocate(4 * N, sizeof *to);
    uint32_t *core = test_allocate(N, sizeof *core);
    size_t m = 0;
    for (uint64_t v = 0; v < TORUS; v++) {
        from[m] = v, to[m++] = v / SIDE * SIDE + (v + 1) % SIDE;
        from[m] = v, to[m++] = (v + SIDE) % TORUS;
        from[m] = TORUS + v, to[m++] = v;
        from[m] = 2 * TORUS + v, to[m++] = TORUS + v;
    }
    for (int threads = 1; threads <= 2; threads++) {
        dcsr_context *context = test_context(threads);
        dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, N, N, DCSR_POLICY_KEEP);
        TEST_OK(dcsr_matrix_insert(matrix, m, from, to, NULL, NULL));
        TEST_OK(dcsr_matrix_wait(matrix));
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
        dcsr_kcore_result result;
        TEST_OK(dcsr_kcore(core, &result, view, NULL));
        for (uint64_t v = 0; v < N; v++) cr_assert(core[v] == (v < TORUS ? 4 : 1));
        cr_assert(result.largest == 4 && result.vertices == TORUS);
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
        test_close(context);
    }
    free(from);
    free(to);
    free(core);
}

static dcsr_status call(dcsr_view *view, void *output)
{
    dcsr_kcore_result *result = output;
    return dcsr_kcore((uint32_t *)(result + 1), result, view, NULL);
}

static dcsr_status call_symmetric(dcsr_view *view, void *output)
{
    dcsr_kcore_result *result = output;
    return dcsr_kcore((uint32_t *)(result + 1), result, view, &(dcsr_graph_options){.symmetric = true});
}

Test(kcore, refuses_what_it_cannot_do)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *wide = test_matrix(context, DCSR_PATTERN, 2, 3, DCSR_POLICY_ANY);
    dcsr_matrix *empty = test_matrix(context, DCSR_FP32, 0, 0, DCSR_POLICY_ANY);
    dcsr_view *view = test_view(wide, DCSR_LAYOUT_CSR, 0),
              *nothing = test_view(empty, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_kcore_result result = {.largest = 5};
    const dcsr_graph_options symmetric = {.symmetric = true};
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "2 rows and 3 columns",
                 dcsr_kcore(NULL, &result, view, NULL));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "2 rows and 3 columns",
                 dcsr_kcore(NULL, &result, view, &symmetric));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "core", dcsr_kcore(NULL, NULL, nothing, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_kcore(NULL, &result, NULL, NULL));
    cr_assert(result.largest == 5);
    TEST_OK(dcsr_kcore(NULL, &result, nothing, NULL));
    cr_assert(result.largest == 0 && result.vertices == 0);
    dcsr_view_destroy(nothing);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(wide);
    dcsr_matrix_destroy(empty);
    test_close(context);
    test_graph_failures(call, sizeof(dcsr_kcore_result) + 9 * sizeof(uint32_t));
    test_graph_failures(call_symmetric, sizeof(dcsr_kcore_result) + 9 * sizeof(uint32_t));
}
