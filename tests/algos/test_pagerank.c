/* test_pagerank.c: PageRank against the power method as the textbook has it. */
#include <dcsr/graph.h>
#include "tests/support/support_graphs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Ranks after so many iterations. */
static double *expect(const test_graph *g, double damping, const double *personal, int iterations)
{
    const uint64_t n = g->vertices;
    double *rank = test_allocate(n + 1, sizeof *rank), *next = test_allocate(n + 1, sizeof *next), all = 0;
    for (uint64_t v = 0; personal && v < n; v++) all += personal[v];
    for (uint64_t v = 0; v < n; v++) rank[v] = personal ? personal[v] / all : 1.0 / (double)n;
    for (int i = 0; i < iterations; i++) {
        double lost = 0;
        for (uint64_t v = 0; v < n; v++)
            if (g->offsets[v] == g->offsets[v + 1]) lost += rank[v];
        for (uint64_t v = 0; v < n; v++)
            next[v] = (1 - damping + damping * lost) * (personal ? personal[v] / all : 1.0 / (double)n);
        for (uint64_t v = 0; v < n; v++)
            for (uint64_t k = g->offsets[v]; k < g->offsets[v + 1]; k++)
                next[g->ends[k]] += damping * rank[v] / (double)(g->offsets[v + 1] - g->offsets[v]);
        memcpy(rank, next, n * sizeof *rank);
    }
    free(next);
    return rank;
}

static void compare(const test_graph *g, const double *rank, const double *wanted, double tolerance)
{
    double difference = 0, sum = 0;
    for (uint64_t v = 0; v < g->vertices; v++) difference += fabs(rank[v] - wanted[v]), sum += rank[v];
    cr_assert(difference <= tolerance, "%s: ranks differ by %g", g->name, difference);
    cr_assert(fabs(sum - 1) < 1e-9, "%s: the sum is %g", g->name, sum);
}

static void check(test_graph *g, dcsr_view *view)
{
    dcsr_view_shape shape;
    TEST_OK(dcsr_view_get_shape(view, &shape));
    if (shape.nnz != g->edges) return; /* duplicates count */
    const uint64_t n = g->vertices;
    double *rank = test_allocate(n, sizeof *rank), *personal = test_allocate(n, sizeof *personal);
    for (uint64_t v = 0; v < n; v++) personal[v] = (double)(v % 3);
    personal[0] = 1;
    if (!g->kept) {
        double *plain = expect(g, 0.85, NULL, 300), *weighted = expect(g, 0.5, personal, 100);
        g->kept = calloc(4 * n, sizeof *plain); /* and below, what the first call gave */
        memcpy(g->kept, plain, n * sizeof *plain);
        memcpy((double *)g->kept + n, weighted, n * sizeof *plain);
        free(plain);
        free(weighted);
    }
    double *wanted = g->kept, *first = wanted + 2 * n;
    dcsr_pagerank_result result;
    for (int known = 0; known <= g->symmetric; known++) {
        dcsr_pagerank_options o = {.symmetric = known, .tolerance = 1e-10, .max_iterations = 1000};
        TEST_OK(dcsr_pagerank(rank, &result, view, &o));
        cr_assert(result.converged && result.change <= 1e-10 && result.iterations > 0);
        compare(g, rank, wanted, 1e-9);
        if (first[0] == 0) memcpy(first, rank, n * sizeof *rank);
        /* The rows of a symmetric graph are its columns, but perhaps in another order. */
        if (!known) cr_assert(!memcmp(first, rank, n * sizeof *rank), "%s: other bits", g->name);
        o.adaptive = true;
        TEST_OK(dcsr_pagerank(rank, &result, view, &o));
        cr_assert(result.converged && result.change <= 1e-10);
        compare(g, rank, wanted, 1e-8);
        o = (dcsr_pagerank_options){
            .symmetric = known, .damping = 0.5, .tolerance = 1e-12, .personal = personal};
        TEST_OK(dcsr_pagerank(rank, &result, view, &o));
        compare(g, rank, wanted + n, 1e-10);
        const int step = test_on_emulator() ? 4 : TEST_VARIANT(1, 1, 4);
        int iterations = 2 * 15;
        for (int digits = 2; digits < 15; digits += step) {
            o = (dcsr_pagerank_options){
                .symmetric = known, .tolerance = pow(10, -digits), .max_iterations = 1000};
            TEST_OK(dcsr_pagerank(rank, &result, view, &o));
            cr_assert(result.converged && result.change <= o.tolerance,
                      "%s: %d digits: changed by %g in iteration %d", g->name, digits, result.change,
                      result.iterations);
            compare(g, rank, wanted, o.tolerance * 0.85 / 0.15 + 1e-14);
            /* A digit takes no more iterations than damping says, and those by which the last one is known. */
            cr_assert(result.iterations <= iterations + 15 * step + 2,
                      "%s: %d digits take %d iterations, after %d", g->name, digits, (int)result.iterations,
                      iterations);
            iterations = (int)result.iterations;
        }
        uint64_t dangling = 0;
        for (uint64_t v = 0; v < n; v++) dangling += g->offsets[v] == g->offsets[v + 1];
        cr_assert_eq(result.dangling, dangling);
    }
    free(rank);
    free(personal);
}

Test(pagerank, is_that_of_the_power_method)
{
    test_on_graphs(false, UINT64_MAX, check);
}

static dcsr_status call(dcsr_view *view, void *output)
{
    dcsr_pagerank_result *result = output;
    static const double personal[9] = {1};
    return dcsr_pagerank((double *)(result + 1), result, view,
                         &(dcsr_pagerank_options){.personal = personal, .adaptive = true});
}

Test(pagerank, refuses_what_it_cannot_do)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *wide = test_matrix(context, DCSR_PATTERN, 2, 3, DCSR_POLICY_ANY);
    dcsr_matrix *two = test_matrix(context, DCSR_FP32, 2, 2, DCSR_POLICY_ANY);
    dcsr_matrix *empty = test_matrix(context, DCSR_FP32, 0, 0, DCSR_POLICY_ANY);
    dcsr_view *view = test_view(wide, DCSR_LAYOUT_CSR, 0),
              *nothing = test_view(empty, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_view *pair = test_view(two, DCSR_LAYOUT_CSR, 0);
    double rank[2] = {5, 5};
    dcsr_pagerank_result result = {.iterations = 5};
    const struct {
        dcsr_pagerank_options options;
        const char *words;
    } wrong[] = {{{.damping = -1}, "damping"},
                 {{.damping = 1.5}, "damping"},
                 {{.damping = NAN}, "damping"},
                 {{.tolerance = -1e-3}, "tolerance"},
                 {{.tolerance = NAN}, "tolerance"},
                 {{.max_iterations = -1}, "max_iterations"},
                 {{.personal = (double[]){0, 0}}, "sum"},
                 {{.personal = (double[]){0, -1}}, "personal[1] is -1"},
                 {{.personal = (double[]){NAN, 1}}, "personal[0]"},
                 {{.personal = (double[]){1, INFINITY}}, "personal[1]"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, wrong[i].words,
                     dcsr_pagerank(rank, &result, pair, &wrong[i].options));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "2 rows and 3 columns",
                 dcsr_pagerank(rank, &result, view, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "rank", dcsr_pagerank(NULL, &result, pair, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_pagerank(rank, &result, NULL, NULL));
    cr_assert(rank[0] == 5 && result.iterations == 5);
    TEST_OK(dcsr_pagerank(rank, &result, nothing, NULL));
    cr_assert(rank[0] == 5 && result.iterations == 0 && result.converged);
    TEST_OK(dcsr_pagerank(rank, &result, pair, NULL));
    cr_assert(rank[0] == 0.5 && rank[1] == 0.5 && result.dangling == 2);
    TEST_INSERT(two, {0, 1, 1}, {1, 0, 1}, {0, 0, 1});
    dcsr_view *now = test_view(two, DCSR_LAYOUT_CSR, 0);
    TEST_OK(dcsr_pagerank(rank, &result, now, &(dcsr_pagerank_options){.max_iterations = 1}));
    cr_assert(!result.converged && result.iterations == 1);
    dcsr_view_destroy(now);
    dcsr_view_destroy(pair);
    dcsr_view_destroy(nothing);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(wide);
    dcsr_matrix_destroy(two);
    dcsr_matrix_destroy(empty);
    test_close(context);
    test_graph_failures(call, sizeof(dcsr_pagerank_result) + 9 * sizeof(double));
}

Test(pagerank, of_real_graphs_is_what_others_found)
{
    static const struct {
        const char *file;
        uint32_t top[2];
        double rank[2];
    } graphs[] = {{"airfoil.mtx.gz", {190, 60}, {0.005300743051218559, 0.005275736253317068}},
                  {"bar.mtx.gz", {90, 138}, {0.0022136418221623544, 0.0022136418221623544}},
                  {"ca-AstroPh-cc.mtx.gz", {2594, 298}, {0.0007949524534806613, 0.0007545303678181243}},
                  {"cit-HepTh.mtx.gz", {109, 7}, {0.006229132714356135, 0.006084355194182811}}};
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
        test_graph g;
        if (!test_graph_read(&g, graphs[i].file, false)) cr_skip("%s is not there", graphs[i].file);
        if (test_on_emulator() && g.vertices > 5000) {
            test_graph_free(&g);
            continue;
        }
        double *rank = test_allocate(g.vertices, sizeof *rank);
        dcsr_context *context = test_context(2);
        dcsr_matrix *matrix = test_graph_matrix(&g, context, DCSR_PATTERN);
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
        TEST_OK(dcsr_pagerank(rank, NULL, view, &(dcsr_pagerank_options){.tolerance = 1e-12}));
        for (int k = 0; k < 2; k++)
            cr_assert(fabs(rank[graphs[i].top[k]] - graphs[i].rank[k]) < 1e-9, "%s: rank of %u is %.17g",
                      graphs[i].file, graphs[i].top[k], rank[graphs[i].top[k]]);
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
        test_close(context);
        test_graph_free(&g);
        free(rank);
    }
}
