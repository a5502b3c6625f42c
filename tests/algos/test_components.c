/* test_components.c: weakly connected components against the textbook's union-find. */
#include <dcsr/graph.h>
#include "tests/support/support_graphs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static uint32_t root_of(uint32_t *parent, uint32_t v)
{
    while (parent[v] != v) v = parent[v] = parent[parent[v]];
    return v;
}

static uint32_t *expect(const test_graph *g)
{
    uint32_t *parent = test_allocate(g->vertices + 1, sizeof *parent);
    for (uint64_t v = 0; v < g->vertices; v++) parent[v] = (uint32_t)v;
    for (uint64_t v = 0; v < g->vertices; v++)
        for (uint64_t k = g->offsets[v]; k < g->offsets[v + 1]; k++) {
            uint32_t p = root_of(parent, (uint32_t)v), q = root_of(parent, g->ends[k]);
            parent[p > q ? p : q] = p > q ? q : p;
        }
    for (uint64_t v = 0; v < g->vertices; v++) parent[v] = root_of(parent, (uint32_t)v);
    return parent;
}

static void check(test_graph *g, dcsr_view *view)
{
    if (!g->kept) g->kept = expect(g);
    const uint32_t *wanted = g->kept;
    uint32_t *component = test_allocate(g->vertices + 1, sizeof *component);
    dcsr_components_result result;
    uint64_t components = 0, largest = 0;
    for (uint64_t v = 0; v < g->vertices; v++) {
        uint64_t size = 0;
        for (uint64_t u = v; wanted[v] == v && u < g->vertices; u++) size += wanted[u] == v;
        components += wanted[v] == v;
        if (size > largest) largest = size;
    }
    for (int known = 0; known <= g->symmetric; known++) {
        const dcsr_graph_options options = {.symmetric = known};
        memset(component, 0x55, (g->vertices + 1) * sizeof *component);
        TEST_OK(dcsr_components(component, &result, view, known ? &options : NULL));
        for (uint64_t v = 0; v < g->vertices; v++)
            cr_assert(component[v] == wanted[v], "%s: vertex %" PRIu64 " in %u, not %u", g->name, v,
                      component[v], wanted[v]);
        cr_assert(component[g->vertices] == 0x55555555, "written beyond the end");
        cr_assert(result.components == components && result.largest == largest, "%s", g->name);
        if (result.largest) cr_assert(wanted[result.largest_name] == result.largest_name);
    }
    free(component);
}

Test(components, are_those_of_union_find)
{
    test_on_graphs(false, UINT64_MAX, check);
}

Test(components, of_a_long_path)
{
    enum { N = TEST_EMULATOR ? 1000 : 1000000 };
    uint64_t *from = test_allocate(N, sizeof *from), *to = test_allocate(N, sizeof *to);
    /* Backwards, so that every link lowers a root. */
    for (uint64_t v = 0; v + 1 < N; v++) from[v] = v + 1, to[v] = v;
    test_graph g = test_graph_from("path", false, N, N - 1, from, to);
    dcsr_context *context = test_context(2);
    dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, N, N, DCSR_POLICY_KEEP);
    TEST_OK(dcsr_matrix_insert(matrix, N - 1, from, to, NULL, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_components_result result;
    TEST_OK(dcsr_components(NULL, &result, view, NULL));
    cr_assert(result.components == 1 && result.largest == N && result.largest_name == 0);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
    test_graph_free(&g);
    free(from);
    free(to);
}

static dcsr_status call(dcsr_view *view, void *output)
{
    dcsr_components_result *result = output;
    return dcsr_components((uint32_t *)(result + 1), result, view, NULL);
}

Test(components, refuses_what_it_cannot_do)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *wide = test_matrix(context, DCSR_PATTERN, 2, 3, DCSR_POLICY_ANY);
    dcsr_matrix *empty = test_matrix(context, DCSR_FP32, 0, 0, DCSR_POLICY_ANY);
    dcsr_view *view = test_view(wide, DCSR_LAYOUT_CSR, 0),
              *nothing = test_view(empty, DCSR_LAYOUT_SEGMENTS, 0);
    uint32_t component[2] = {5, 5};
    dcsr_components_result result = {.components = 5};
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "2 rows and 3 columns",
                 dcsr_components(component, &result, view, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_components(component, &result, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "component", dcsr_components(NULL, NULL, view, NULL));
    cr_assert(component[0] == 5 && result.components == 5);
    TEST_OK(dcsr_components(component, &result, nothing, NULL));
    cr_assert(component[0] == 5 && result.components == 0 && result.largest == 0);
    dcsr_view_destroy(nothing);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(wide);
    dcsr_matrix_destroy(empty);
    test_close(context);
    test_graph_failures(call, sizeof(dcsr_components_result) + 9 * sizeof(uint32_t));
}

Test(components, of_real_graphs_are_what_others_found)
{
    static const struct {
        const char *file;
        uint64_t components;
    } graphs[] = {{"airfoil.mtx.gz", 1}, {"cit-HepTh.mtx.gz", 143}, {"email-Enron.mtx.gz", 1065}};
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
        test_graph g;
        dcsr_components_result result;
        if (!test_graph_read(&g, graphs[i].file, false)) cr_skip("%s is not there", graphs[i].file);
        dcsr_context *context = test_context(2);
        dcsr_matrix *matrix = test_graph_matrix(&g, context, DCSR_PATTERN);
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
        TEST_OK(dcsr_components(NULL, &result, view, NULL));
        cr_assert(result.components == graphs[i].components, "%s: %" PRIu64, graphs[i].file,
                  result.components);
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
        test_close(context);
        test_graph_free(&g);
    }
}
