/* test_colouring.c: colourings: that neighbours differ, that each colour is the least, and how many there are. On a GPU
 * by algos/graph/cuda/greedy.cu. */
#include <dcsr/convert.h>
#include <dcsr/generate.h>
#include <dcsr/graph.h>
#include "tests/support/support_graphs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Whether neighbours differ, and each vertex has neighbours of all lesser colours; the largest degree. */
static uint64_t check_colours(const test_graph *g, const uint32_t *colour, uint64_t colours)
{
    const uint64_t n = g->vertices;
    bool *seen = calloc(n * colours + 1, sizeof *seen);
    uint64_t *degree = calloc(n + 1, sizeof *degree), most = 0;
    cr_assert(seen && degree);
    for (uint32_t u = 0; u < n; u++)
        for (uint64_t k = g->offsets[u]; k < g->offsets[u + 1]; k++) {
            const uint32_t v = g->ends[k];
            if (u == v) continue;
            cr_assert(colour[u] != colour[v], "%s: both %u and %u have the colour %u", g->name, u, v,
                      colour[u]);
            seen[u * colours + colour[v]] = seen[v * colours + colour[u]] = true;
            degree[u]++, degree[v]++; /* twice, where there is an edge both ways */
        }
    for (uint64_t v = 0; v < n; v++) {
        cr_assert(colour[v] < colours);
        for (uint32_t c = 0; c < colour[v]; c++)
            cr_assert(seen[v * colours + c], "%s: %" PRIu64 " could have the colour %u", g->name, v, c);
        if (degree[v] > most) most = degree[v];
    }
    free(seen);
    free(degree);
    return g->symmetric ? most / 2 : most;
}

static void check(test_graph *g, dcsr_view *view)
{
    const uint64_t n = g->vertices;
    uint32_t *colour = test_allocate(n + 1, sizeof *colour);
    for (int known = 0; known <= g->symmetric; known++) {
        dcsr_colouring_result result;
        colour[n] = 77;
        TEST_OK(dcsr_colouring(colour, &result, view, &(dcsr_random_options){.symmetric = known, .seed = 3}));
        cr_assert(result.colours <= 1 + check_colours(g, colour, result.colours));
        cr_assert(colour[n] == 77, "written beyond the end");
        test_same_for_all_views(g, colour, n * sizeof *colour);
    }
    free(colour);
}

Test(colouring, gives_each_vertex_the_least_that_is_left)
{
    test_on_graphs(false, UINT64_MAX, check);
}

/* How many colours graphs take whose number is known. */
Test(colouring, takes_few_colours)
{
    static const struct {
        const char *name;
        uint64_t least, most;
    } graphs[] = {{"path:3000", 2, 3}, {"poisson2d5:30", 2, 5}, {"poisson2d9:30", 4, 8}};
    dcsr_context *context = test_context(1);
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
        dcsr_coo coo;
        dcsr_matrix *matrix;
        dcsr_colouring_result result;
        TEST_OK(dcsr_coo_generate(&coo, context, graphs[i].name));
        TEST_OK(dcsr_matrix_from_coo(&matrix, context, &coo, NULL));
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
        TEST_OK(dcsr_colouring(NULL, &result, view, NULL));
        cr_assert(result.colours >= graphs[i].least && result.colours <= graphs[i].most, "%s: %" PRIu64,
                  graphs[i].name, result.colours);
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
        dcsr_coo_free(&coo);
    }
    test_close(context);
}

static dcsr_status call(dcsr_view *view, void *output)
{
    dcsr_colouring_result *result = output;
    return dcsr_colouring((uint32_t *)(result + 1), result, view, NULL);
}

Test(colouring, refuses_what_it_cannot_do)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *wide = test_matrix(context, DCSR_PATTERN, 2, 3, DCSR_POLICY_ANY);
    dcsr_matrix *empty = test_matrix(context, DCSR_FP32, 0, 0, DCSR_POLICY_ANY);
    dcsr_view *view = test_view(wide, DCSR_LAYOUT_CSR, 0), *nothing = test_view(empty, DCSR_LAYOUT_CSC, 0);
    dcsr_colouring_result result = {.colours = 5};
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "2 rows and 3 columns",
                 dcsr_colouring(NULL, &result, view, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "colour", dcsr_colouring(NULL, NULL, nothing, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_colouring(NULL, &result, NULL, NULL));
    cr_assert(result.colours == 5);
    TEST_OK(dcsr_colouring(NULL, &result, nothing, NULL));
    cr_assert(result.colours == 0);
    dcsr_view_destroy(nothing);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(wide);
    dcsr_matrix_destroy(empty);
    test_close(context);
    test_graph_failures(call, sizeof(dcsr_colouring_result) + 9 * sizeof(uint32_t));
}
