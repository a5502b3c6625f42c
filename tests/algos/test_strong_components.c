/* test_strong_components.c: strongly connected components against who reaches whom. */
#include <dcsr/graph.h>
#include "tests/support/support_graphs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* reached[v] for all that u leads to. */
static void reach(const test_graph *g, uint32_t u, bool *reached, uint32_t *stack)
{
    size_t top = 0;
    memset(reached, 0, g->vertices);
    stack[top++] = u;
    reached[u] = true;
    while (top) {
        const uint32_t v = stack[--top];
        for (uint64_t k = g->offsets[v]; k < g->offsets[v + 1]; k++)
            if (!reached[g->ends[k]]) reached[g->ends[k]] = true, stack[top++] = g->ends[k];
    }
}

static uint32_t *expect(const test_graph *g)
{
    const uint64_t n = g->vertices;
    bool *all = test_allocate(n * n + 1, 1);
    uint32_t *name = test_allocate(n + 1, sizeof *name), *stack = test_allocate(n + 1, sizeof *stack);
    for (uint32_t v = 0; v < n; v++) reach(g, v, all + v * n, stack);
    for (uint32_t v = 0; v < n; v++)
        for (name[v] = 0; !all[v * n + name[v]] || !all[name[v] * n + v];) name[v]++;
    free(all);
    free(stack);
    return name;
}

static void check(test_graph *g, dcsr_view *view)
{
    if (!g->kept) g->kept = expect(g);
    const uint64_t n = g->vertices;
    const uint32_t *wanted = g->kept;
    uint32_t *component = test_allocate(n + 1, sizeof *component);
    uint64_t components = 0, largest = 0, named = 0;
    dcsr_components_result result;
    for (uint64_t v = 0; v < n; v++) {
        uint64_t size = 0;
        for (uint64_t u = v; wanted[v] == v && u < n; u++) size += wanted[u] == v;
        components += wanted[v] == v;
        if (size > largest) largest = size, named = v;
    }
    component[n] = 77;
    TEST_OK(dcsr_strong_components(component, &result, view));
    for (uint64_t v = 0; v < n; v++)
        cr_assert(component[v] == wanted[v], "%s: vertex %" PRIu64 " in %u, not %u", g->name, v, component[v],
                  wanted[v]);
    cr_assert(component[n] == 77, "written beyond the end");
    cr_assert(result.components == components && result.largest == largest && result.largest_name == named);
    free(component);
}

Test(strong_components, lead_to_each_other)
{
    test_on_graphs(false, 600, check);
}

Test(strong_components, of_a_long_path_and_a_long_ring)
{
    enum { N = TEST_EMULATOR ? 1000 : 1000000 };
    uint64_t *from = test_allocate(N, sizeof *from), *to = test_allocate(N, sizeof *to);
    for (uint64_t v = 0; v < N; v++) from[v] = v, to[v] = (v + 1) % N;
    dcsr_context *context = test_context(2);
    for (uint64_t ring = 0; ring < 2; ring++) {
        dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, N, N, DCSR_POLICY_KEEP);
        TEST_OK(dcsr_matrix_insert(matrix, N - 1 + ring, from, to, NULL, NULL));
        TEST_OK(dcsr_matrix_wait(matrix));
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
        dcsr_components_result result;
        TEST_OK(dcsr_strong_components(NULL, &result, view));
        cr_assert(result.components == (ring ? 1 : N) && result.largest == (ring ? N : 1) &&
                  !result.largest_name);
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
    }
    test_close(context);
    free(from);
    free(to);
}

static dcsr_status call(dcsr_view *view, void *output)
{
    dcsr_components_result *result = output;
    return dcsr_strong_components((uint32_t *)(result + 1), result, view);
}

Test(strong_components, refuse_what_they_cannot_do)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *wide = test_matrix(context, DCSR_PATTERN, 2, 3, DCSR_POLICY_ANY);
    dcsr_matrix *empty = test_matrix(context, DCSR_FP32, 0, 0, DCSR_POLICY_ANY);
    dcsr_view *view = test_view(wide, DCSR_LAYOUT_CSR, 0),
              *nothing = test_view(empty, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_components_result result = {.components = 5};
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "2 rows and 3 columns",
                 dcsr_strong_components(NULL, &result, view));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "component", dcsr_strong_components(NULL, NULL, nothing));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_strong_components(NULL, &result, NULL));
    cr_assert(result.components == 5);
    TEST_OK(dcsr_strong_components(NULL, &result, nothing));
    cr_assert(result.components == 0 && result.largest == 0);
    dcsr_view_destroy(nothing);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(wide);
    dcsr_matrix_destroy(empty);
    test_close(context);
    test_graph_failures(call, sizeof(dcsr_components_result) + 9 * sizeof(uint32_t));
}

Test(strong_components, of_real_graphs_are_what_others_found)
{
    static const struct {
        const char *file;
        uint64_t components, largest;
    } graphs[] = {
        {"airfoil.mtx.gz", 1, 260}, {"cit-HepTh.mtx.gz", 20086, 7464}, {"email-Enron.mtx.gz", 1065, 33696}};
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
        test_graph g;
        dcsr_components_result result;
        if (!test_graph_read(&g, graphs[i].file, false)) cr_skip("%s is not there", graphs[i].file);
        dcsr_context *context = test_context(2);
        dcsr_matrix *matrix = test_graph_matrix(&g, context, DCSR_PATTERN);
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
        TEST_OK(dcsr_strong_components(NULL, &result, view));
        cr_assert(result.components == graphs[i].components && result.largest == graphs[i].largest,
                  "%s: %" PRIu64 ", %" PRIu64, graphs[i].file, result.components, result.largest);
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
        test_close(context);
        test_graph_free(&g);
    }
}
