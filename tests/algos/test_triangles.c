/* test_triangles.c: triangles and clustering coefficients against looking at all pairs of neighbours. */
#include <dcsr/graph.h>
#include "tests/support/support_graphs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool has(const test_graph *g, uint32_t u, uint32_t v)
{
    for (uint64_t k = g->offsets[u]; k < g->offsets[u + 1]; k++)
        if (g->ends[k] == v) return true;
    return false;
}

/* Of each vertex: triangles, and neighbours. */
static uint64_t *expect(const test_graph *g)
{
    uint64_t *found = calloc(2 * g->vertices + 1, sizeof *found);
    uint32_t *near = test_allocate(g->vertices, sizeof *near);
    cr_assert(found != NULL);
    for (uint32_t v = 0; v < g->vertices; v++) {
        uint32_t count = 0;
        for (uint32_t u = 0; u < g->vertices; u++)
            if (u != v && (has(g, u, v) || has(g, v, u))) near[count++] = u;
        for (uint32_t a = 0; a < count; a++)
            for (uint32_t b = 0; b < a; b++) found[v] += has(g, near[a], near[b]) || has(g, near[b], near[a]);
        found[g->vertices + v] = count;
    }
    free(near);
    return found;
}

static void check(test_graph *g, dcsr_view *view)
{
    if (!g->kept) g->kept = expect(g);
    const uint64_t n = g->vertices, *wanted = g->kept;
    uint64_t *triangles = test_allocate(n + 1, sizeof *triangles), sum = 0, pairs = 0;
    double *coefficient = test_allocate(n + 1, sizeof *coefficient), mean = 0;
    for (uint64_t v = 0; v < n; v++) sum += wanted[v], pairs += wanted[n + v] * (wanted[n + v] - 1) / 2;
    for (int known = 0; known <= g->symmetric; known++) {
        const dcsr_graph_options options = {.symmetric = known};
        dcsr_triangles_result all, again;
        dcsr_clustering_result clustering;
        triangles[n] = 77, coefficient[n] = 77, mean = 0;
        TEST_OK(dcsr_triangles(triangles, &all, view, &options));
        TEST_OK(dcsr_triangles(NULL, &again, view, &options));
        TEST_OK(dcsr_clustering(coefficient, &clustering, view, &options));
        cr_assert(all.triangles == sum / 3 && again.triangles == sum / 3,
                  "%s: %" PRIu64 " triangles, not %" PRIu64, g->name, all.triangles, sum / 3);
        cr_assert(clustering.triangles == sum / 3 && clustering.pairs == pairs);
        for (uint64_t v = 0; v < n; v++) {
            const uint64_t d = wanted[n + v];
            const double right = d > 1 ? 2.0 * (double)wanted[v] / (double)(d * (d - 1)) : 0;
            cr_assert(triangles[v] == wanted[v], "%s: %" PRIu64 " at %" PRIu64 ", not %" PRIu64, g->name,
                      triangles[v], v, wanted[v]);
            cr_assert(fabs(coefficient[v] - right) < 1e-15);
            mean += right / (double)n;
        }
        cr_assert(fabs(clustering.mean - mean) < 1e-12);
        cr_assert(fabs(clustering.transitivity - (pairs ? (double)sum / (double)pairs : 0)) < 1e-15);
        cr_assert(triangles[n] == 77 && coefficient[n] == 77, "written beyond the end");
    }
    free(triangles);
    free(coefficient);
}

Test(triangles, are_those_among_pairs_of_neighbours)
{
    test_on_graphs(false, TEST_SIZE(600, 500, 500), check);
}

static dcsr_status call(dcsr_view *view, void *output)
{
    dcsr_triangles_result *result = output;
    return dcsr_triangles((uint64_t *)(result + 1), result, view, NULL);
}

static dcsr_status call_clustering(dcsr_view *view, void *output)
{
    dcsr_clustering_result *result = output;
    return dcsr_clustering((double *)(result + 1), result, view, &(dcsr_graph_options){.symmetric = true});
}

Test(triangles, refuse_what_they_cannot_do)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *wide = test_matrix(context, DCSR_PATTERN, 2, 3, DCSR_POLICY_ANY);
    dcsr_matrix *empty = test_matrix(context, DCSR_FP32, 0, 0, DCSR_POLICY_ANY);
    dcsr_view *view = test_view(wide, DCSR_LAYOUT_CSR, 0),
              *nothing = test_view(empty, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_triangles_result result = {5};
    dcsr_clustering_result clustering = {.pairs = 5};
    const dcsr_graph_options symmetric = {.symmetric = true};
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "dcsr_triangles: the view has 2 rows and 3 columns",
                 dcsr_triangles(NULL, &result, view, NULL));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "dcsr_clustering: the view has 2 rows and 3 columns",
                 dcsr_clustering(NULL, &clustering, view, &symmetric));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "triangles", dcsr_triangles(NULL, NULL, nothing, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "coefficient", dcsr_clustering(NULL, NULL, nothing, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_triangles(NULL, &result, NULL, NULL));
    cr_assert(result.triangles == 5 && clustering.pairs == 5);
    TEST_OK(dcsr_triangles(NULL, &result, nothing, NULL));
    TEST_OK(dcsr_clustering(NULL, &clustering, nothing, &symmetric));
    cr_assert(result.triangles == 0 && clustering.pairs == 0 && clustering.mean == 0);
    dcsr_view_destroy(nothing);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(wide);
    dcsr_matrix_destroy(empty);
    test_close(context);
    test_graph_failures(call, sizeof(dcsr_triangles_result) + 9 * sizeof(uint64_t));
    test_graph_failures(call_clustering, sizeof(dcsr_clustering_result) + 9 * sizeof(double));
}

Test(triangles, of_real_graphs_are_what_others_found)
{
    static const struct {
        const char *file;
        uint64_t triangles;
    } graphs[] = {{"airfoil.mtx.gz", 451},
                  {"bcsstk13.mtx.gz", 342300},
                  {"cit-HepTh.mtx.gz", 1478735},
                  {"email-Enron.mtx.gz", 727044}};
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
        test_graph g;
        dcsr_triangles_result result;
        if (!test_graph_read(&g, graphs[i].file, false)) cr_skip("%s is not there", graphs[i].file);
        if (test_on_emulator() && g.vertices > 1000) {
            test_graph_free(&g);
            continue;
        }
        dcsr_context *context = test_context(2);
        dcsr_matrix *matrix = test_graph_matrix(&g, context, DCSR_PATTERN);
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
        TEST_OK(dcsr_triangles(NULL, &result, view, NULL));
        cr_assert(result.triangles == graphs[i].triangles, "%s: %" PRIu64, graphs[i].file, result.triangles);
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
        test_close(context);
        test_graph_free(&g);
    }
}
