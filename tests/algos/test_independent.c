/* test_independent.c: maximal independent sets: that they are. On a GPU by algos/graph/cuda/greedy.cu. */
#include <dcsr/graph.h>
#include "tests/support/support_graphs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Whether no edge has two members, and whoever is none has a neighbour that is. */
static void check_set(const test_graph *g, const bool *member)
{
    bool *beside = calloc(g->vertices, sizeof *beside);
    cr_assert(beside != NULL);
    for (uint32_t u = 0; u < g->vertices; u++)
        for (uint64_t k = g->offsets[u]; k < g->offsets[u + 1]; k++) {
            const uint32_t v = g->ends[k];
            if (u == v) continue;
            cr_assert(!member[u] || !member[v], "%s: both %u and %u", g->name, u, v);
            beside[u] |= member[v];
            beside[v] |= member[u];
        }
    for (uint64_t v = 0; v < g->vertices; v++)
        cr_assert(member[v] != beside[v], "%s: %" PRIu64 " could be a member", g->name, v);
    free(beside);
}

static void check(test_graph *g, dcsr_view *view)
{
    const uint64_t n = g->vertices;
    bool *member = calloc(n + 1, sizeof *member), *other = calloc(n + 1, sizeof *other);
    cr_assert(member && other);
    for (int known = 0; known <= g->symmetric; known++) {
        dcsr_independent_set_result result;
        uint64_t count = 0;
        TEST_OK(dcsr_independent_set(member, &result, view, &(dcsr_random_options){.symmetric = known}));
        check_set(g, member);
        for (uint64_t v = 0; v < n; v++) count += member[v];
        cr_assert(result.vertices == count && !member[n]);
        test_same_for_all_views(g, member, n * sizeof *member);
        TEST_OK(
            dcsr_independent_set(other, NULL, view, &(dcsr_random_options){.symmetric = known, .seed = 5}));
        check_set(g, other);
    }
    free(member);
    free(other);
}

Test(independent, sets_are_maximal)
{
    test_on_graphs(false, UINT64_MAX, check);
}

Test(independent, sets_depend_on_the_seed)
{
    enum { N = 64 };
    uint64_t from[N], to[N], different = 0;
    bool member[2][N];
    for (uint64_t v = 0; v < N; v++) from[v] = v, to[v] = (v + 1) % N;
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, N, N, DCSR_POLICY_ANY);
    TEST_OK(dcsr_matrix_insert(matrix, N, from, to, NULL, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    for (uint64_t seed = 1; seed < 20; seed++) {
        TEST_OK(dcsr_independent_set(member[0], NULL, view, NULL));
        TEST_OK(dcsr_independent_set(member[1], NULL, view, &(dcsr_random_options){.seed = seed}));
        different += memcmp(member[0], member[1], sizeof *member) != 0;
    }
    cr_assert(different == 19);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

static dcsr_status call(dcsr_view *view, void *output)
{
    dcsr_independent_set_result *result = output;
    return dcsr_independent_set((bool *)(result + 1), result, view, NULL);
}

Test(independent, sets_are_refused_for_what_is_no_graph)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *wide = test_matrix(context, DCSR_PATTERN, 2, 3, DCSR_POLICY_ANY);
    dcsr_matrix *empty = test_matrix(context, DCSR_FP32, 0, 0, DCSR_POLICY_ANY);
    dcsr_view *view = test_view(wide, DCSR_LAYOUT_CSR, 0), *nothing = test_view(empty, DCSR_LAYOUT_CSC, 0);
    dcsr_independent_set_result result = {.vertices = 5};
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "2 rows and 3 columns",
                 dcsr_independent_set(NULL, &result, view, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "member", dcsr_independent_set(NULL, NULL, nothing, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_independent_set(NULL, &result, NULL, NULL));
    cr_assert(result.vertices == 5);
    TEST_OK(dcsr_independent_set(NULL, &result, nothing, NULL));
    cr_assert(result.vertices == 0);
    dcsr_view_destroy(nothing);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(wide);
    dcsr_matrix_destroy(empty);
    test_close(context);
    test_graph_failures(call, sizeof(dcsr_independent_set_result) + 9 * sizeof(bool));
}
