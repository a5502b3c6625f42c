/* test_betweenness.c: betweenness against Brandes' method of the textbook, from one source after the other. */
#include <dcsr/graph.h>
#include "tests/support/support_graphs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* With a queue, which backwards is the stack. */
static void brandes(const test_graph *g, uint64_t source, double *centrality)
{
    const uint64_t n = g->vertices;
    double *paths = calloc(n, sizeof *paths), *dependence = calloc(n, sizeof *dependence);
    int64_t *level = test_allocate(n, sizeof *level);
    uint32_t *queue = test_allocate(n, sizeof *queue);
    uint64_t head = 0, tail = 0;
    cr_assert(paths && dependence);
    for (uint64_t v = 0; v < n; v++) level[v] = -1;
    level[source] = 0;
    paths[source] = 1;
    queue[tail++] = (uint32_t)source;
    while (head < tail) {
        const uint32_t u = queue[head++];
        for (uint64_t k = g->offsets[u]; k < g->offsets[u + 1]; k++) {
            const uint32_t v = g->ends[k];
            if (level[v] < 0) level[v] = level[u] + 1, queue[tail++] = v;
            if (level[v] == level[u] + 1) paths[v] += paths[u];
        }
    }
    while (tail--) {
        const uint32_t u = queue[tail];
        for (uint64_t k = g->offsets[u]; k < g->offsets[u + 1]; k++) {
            const uint32_t v = g->ends[k];
            if (level[v] == level[u] + 1) dependence[u] += paths[u] / paths[v] * (1 + dependence[v]);
        }
        if (u != source) centrality[u] += dependence[u];
    }
    free(paths);
    free(dependence);
    free(level);
    free(queue);
}

enum { SOURCES = 11 };

typedef struct expected {
    uint64_t sources[SOURCES]; /* two of them are the same */
    double *some, *all;
    double values[];
} expected;

static expected *expect(const test_graph *g)
{
    const uint64_t n = g->vertices;
    expected *e = calloc(1, sizeof *e + 2 * n * sizeof *e->values);
    test_random random = {n};
    cr_assert(e != NULL);
    e->some = e->values, e->all = e->values + n;
    for (int k = 0; k < SOURCES; k++) {
        e->sources[k] = k == 5 ? e->sources[2] : test_random_below(&random, n);
        brandes(g, e->sources[k], e->some);
    }
    for (uint64_t v = 0; v < n; v++) brandes(g, v, e->all);
    return e;
}

static void compare(const test_graph *g, const double *found, const double *wanted, const char *what)
{
    for (uint64_t v = 0; v < g->vertices; v++)
        cr_assert(fabs(found[v] - wanted[v]) <= 1e-9 * (1 + wanted[v]),
                  "%s, %s: %.17g at %" PRIu64 ", not %.17g", g->name, what, found[v], v, wanted[v]);
}

static void check(test_graph *g, dcsr_view *view)
{
    if (!g->kept) g->kept = expect(g);
    const expected *e = g->kept;
    const uint64_t n = g->vertices;
    double *centrality = test_allocate(n + 1, sizeof *centrality);
    dcsr_view_shape shape;
    TEST_OK(dcsr_view_get_shape(view, &shape));
    for (int known = 0; known <= g->symmetric; known++) {
        dcsr_betweenness_result result;
        dcsr_betweenness_options options = {
            .symmetric = known, .sources = e->sources, .source_count = SOURCES};
        centrality[n] = 77;
        TEST_OK(dcsr_betweenness(centrality, &result, view, &options));
        compare(g, centrality, e->some, "from some");
        cr_assert(result.sources == SOURCES && centrality[n] == 77);
        /* From all takes long. */
        if (known || shape.layout != DCSR_LAYOUT_CSR || (test_on_emulator() && n > 100)) continue;
        options.sources = NULL;
        TEST_OK(dcsr_betweenness(centrality, &result, view, &options));
        compare(g, centrality, e->all, "from all");
        cr_assert(result.sources == n && centrality[n] == 77, "written beyond the end");
    }
    free(centrality);
}

Test(betweenness, is_that_of_brandes)
{
    test_on_graphs(false, TEST_SIZE(600, 430, 430), check);
}

Test(betweenness, along_a_long_path)
{
    const uint64_t n = (uint64_t)TEST_SIZE(300000, 30000, 10000), source = 0;
    uint64_t *from = test_allocate(n, sizeof *from), *to = test_allocate(n, sizeof *to);
    double *centrality = test_allocate(n, sizeof *centrality);
    for (uint64_t v = 0; v + 1 < n; v++) from[v] = v, to[v] = v + 1;
    dcsr_context *context = test_context(2);
    dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, n, n, DCSR_POLICY_KEEP);
    TEST_OK(dcsr_matrix_insert(matrix, n - 1, from, to, NULL, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_betweenness_result result;
    TEST_OK(dcsr_betweenness(centrality, &result, view,
                             &(dcsr_betweenness_options){.sources = &source, .source_count = 1}));
    cr_assert(result.max_level == n - 1);
    for (uint64_t v = 0; v < n; v++) cr_assert(centrality[v] == (double)(v ? n - 1 - v : 0));
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
    free(from);
    free(to);
    free(centrality);
}

/* Diamonds in a row, each of which doubles the number of paths: a, by way of b or c, to the next a. */
Test(betweenness, takes_any_number_of_paths)
{
    enum { DIAMONDS = 1500, N = 3 * DIAMONDS + 1, FROM = 3 };
    uint64_t from[4 * DIAMONDS], to[4 * DIAMONDS];
    double *centrality = test_allocate(N, sizeof *centrality);
    size_t m = 0;
    for (uint64_t a = 0; a + 1 < N; a += 3) {
        from[m] = a, to[m++] = a + 1;
        from[m] = a, to[m++] = a + 2;
        from[m] = a + 1, to[m++] = a + 3;
        from[m] = a + 2, to[m++] = a + 3;
    }
    dcsr_context *context = test_context(2);
    dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, N, N, DCSR_POLICY_KEEP);
    TEST_OK(dcsr_matrix_insert(matrix, m, from, to, NULL, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_CSR, 0);
    /* Sources on different levels: their paths become large on different ones. */
    const uint64_t sources[FROM] = {0, 3 * 100, 3 * 200};
    dcsr_betweenness_result result;
    TEST_OK(dcsr_betweenness(centrality, &result, view,
                             &(dcsr_betweenness_options){.sources = sources, .source_count = FROM}));
    cr_assert(result.max_level == 2 * DIAMONDS);
    for (uint64_t v = 0; v < N; v++) {
        double wanted = 0;
        for (int k = 0; k < FROM; k++) {
            const uint64_t a = v / 3 * 3;
            if (v <= sources[k]) continue;
            /* All that is behind passes a; half of what is behind b passes it. */
            wanted += v == a ? (double)(N - 1 - v) : (double)(N - 3 - a) / 2;
        }
        cr_assert(fabs(centrality[v] - wanted) <= 1e-9 * (1 + wanted), "%" PRIu64 ": %.17g, not %.17g", v,
                  centrality[v], wanted);
    }
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
    free(centrality);
}

Test(betweenness, is_estimated_from_a_sample)
{
    enum { N = 40 };
    dcsr_context *context = test_context(1);
    uint64_t from[N - 1], to[N - 1];
    double exact[N], estimate[N], again[N], mean[N] = {0};
    dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, N, N, DCSR_POLICY_ANY);
    for (uint64_t v = 0; v + 1 < N; v++) from[v] = v, to[v] = v + 1;
    TEST_OK(dcsr_matrix_insert(matrix, N - 1, from, to, NULL, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_betweenness_result result;
    TEST_OK(dcsr_betweenness(exact, NULL, view, NULL));
    /* Samples that are larger vary less, and so fewer of them will do. */
    const uint64_t seeds = test_on_emulator() ? 75 : 300, samples = test_on_emulator() ? 20 : 10;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        const dcsr_betweenness_options options = {.samples = samples, .seed = seed};
        TEST_OK(dcsr_betweenness(estimate, &result, view, &options));
        TEST_OK(dcsr_betweenness(again, NULL, view, &options));
        cr_assert(result.sources == samples && !memcmp(estimate, again, sizeof again));
        for (int v = 0; v < N; v++) mean[v] += estimate[v] / (double)seeds;
    }
    for (int v = 0; v < N; v++)
        cr_assert(fabs(mean[v] - exact[v]) <= 0.1 * (exact[v] + 40), "%d: %g, not %g", v, mean[v], exact[v]);
    TEST_OK(dcsr_betweenness(estimate, &result, view, &(dcsr_betweenness_options){.samples = N + 1}));
    cr_assert(result.sources == N && !memcmp(estimate, exact, sizeof exact));
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

static dcsr_status call(dcsr_view *view, void *output)
{
    dcsr_betweenness_result *result = output;
    return dcsr_betweenness((double *)(result + 1), result, view, NULL);
}

Test(betweenness, refuses_what_it_cannot_do)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *wide = test_matrix(context, DCSR_PATTERN, 2, 3, DCSR_POLICY_ANY);
    dcsr_matrix *empty = test_matrix(context, DCSR_FP32, 0, 0, DCSR_POLICY_ANY);
    dcsr_view *view = test_view(wide, DCSR_LAYOUT_CSR, 0), *nothing = test_view(empty, DCSR_LAYOUT_CSC, 0);
    double centrality[3] = {5};
    dcsr_betweenness_result result = {.sources = 5};
    const uint64_t zero = 0;
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "2 rows and 3 columns",
                 dcsr_betweenness(centrality, &result, view, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "centrality", dcsr_betweenness(NULL, &result, nothing, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_betweenness(centrality, &result, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "source 0 is 0; there are 0 vertices",
                 dcsr_betweenness(centrality, &result, nothing,
                                  &(dcsr_betweenness_options){.sources = &zero, .source_count = 1}));
    cr_assert(centrality[0] == 5 && result.sources == 5);
    TEST_OK(dcsr_betweenness(centrality, &result, nothing, NULL));
    cr_assert(centrality[0] == 5 && result.sources == 0 && result.max_level == 0);
    dcsr_view_destroy(nothing);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(wide);
    dcsr_matrix_destroy(empty);
    test_close(context);
    test_graph_failures(call, sizeof(dcsr_betweenness_result) + 9 * sizeof(double));
}

static void note(void *user, uint64_t done, uint64_t total)
{
    uint64_t *told = user;
    cr_assert(done > told[0] && done <= total);
    told[0] = done, told[1] = total;
}

Test(betweenness, tells_how_far_it_has_come)
{
    enum { N = 100 };
    uint64_t rows[N - 1], cols[N - 1], told[2] = {0};
    double centrality[N];
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, N, N, DCSR_POLICY_ANY);
    for (uint64_t v = 0; v + 1 < N; v++) rows[v] = v, cols[v] = v + 1;
    TEST_OK(dcsr_matrix_insert(matrix, N - 1, rows, cols, NULL, NULL));
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST);
    TEST_OK(dcsr_betweenness(centrality, NULL, view,
                             &(dcsr_betweenness_options){.progress = note, .user = told}));
    cr_assert(told[0] == N && told[1] == N);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}
