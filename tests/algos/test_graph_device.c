/* test_graph_device.c: graph algorithms on a device: what the cpu finds, for vertices with more edges than a warp or a
 * block takes, and for more of them than a block alone does; what they refuse; lack of memory. */
#include <dcsr/bfs.h>
#include <dcsr/convert.h>
#include <dcsr/graph.h>
#include "dcsr/base/alloc.h"
#include "tests/support/support_device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct graph {
    uint64_t vertices;
    size_t edges, most;
    uint64_t *from, *to;
} graph;

static void edge(graph *g, uint64_t u, uint64_t v, bool both)
{
    if (g->edges + 2 > g->most) {
        g->most = 2 * g->most + 64;
        g->from = realloc(g->from, g->most * sizeof *g->from);
        g->to = realloc(g->to, g->most * sizeof *g->to);
        cr_assert(g->from && g->to);
    }
    g->from[g->edges] = u, g->to[g->edges++] = v;
    if (both) g->from[g->edges] = v, g->to[g->edges++] = u;
}

/* A hub with edges to all of a ring; cliques, linked by a path; edges at random, from some vertices none. */
enum { WHEEL, CLIQUES, RANDOM, SHAPES };

static graph make(int shape)
{
    enum { RIM = TEST_EMULATOR ? 300 : 40000, CLIQUE = TEST_EMULATOR ? 30 : 150, COPIES = 5, LOOSE = 70 };
    graph g = {0};
    test_random random = {7};
    if (shape == WHEEL) {
        g.vertices = RIM + 1;
        for (uint64_t v = 1; v <= RIM; v++) edge(&g, 0, v, true), edge(&g, v, v % RIM + 1, true);
    }
    if (shape == CLIQUES) {
        g.vertices = COPIES * CLIQUE + LOOSE;
        for (uint64_t c = 0; c < COPIES; c++)
            for (uint64_t v = 0; v < CLIQUE; v++)
                for (uint64_t u = 0; u < v; u++) edge(&g, c * CLIQUE + u, c * CLIQUE + v, true);
        for (uint64_t c = 2; c < COPIES; c++) edge(&g, c * CLIQUE, (c - 1) * CLIQUE, true);
        for (uint64_t v = COPIES * CLIQUE; v + 9 < g.vertices; v++) edge(&g, v, v + 1, true);
        edge(&g, 3, 3, false);
    }
    if (shape == RANDOM) {
        g.vertices = TEST_EMULATOR ? 500 : 20000;
        for (uint64_t k = 0; k < 3 * g.vertices; k++)
            edge(&g, test_random_below(&random, g.vertices / 2), test_random_below(&random, g.vertices),
                 false);
    }
    return g;
}

/* In two batches, so that rows are in pieces; policy LAST, so that none is there twice. */
static dcsr_matrix *store(const graph *g, dcsr_context *where, dcsr_type type)
{
    dcsr_matrix *matrix = test_matrix(where, type, g->vertices, g->vertices, DCSR_POLICY_LAST);
    const size_t size = dcsr_type_size(type);
    char *values = test_allocate(g->edges, 8);
    for (size_t e = 0; e < g->edges; e++)
        test_encode(type, (double)(1 + (g->from[e] + g->to[e]) % 90), values + e * size);
    for (size_t half = 0; half < 2; half++) {
        const size_t first = half * (g->edges / 2), count = half ? g->edges - first : g->edges / 2;
        TEST_OK(dcsr_matrix_insert(matrix, count, g->from + first, g->to + first,
                                   size ? values + first * size : NULL, NULL));
        TEST_OK(dcsr_matrix_wait(matrix));
    }
    free(values);
    return matrix;
}

/* Everything that is found of one view, with bytes that are the same where the results are. */
typedef struct findings {
    uint32_t *component, *core, *strong, *parent, *colour;
    double *distance, *coefficient, *rank, *between;
    uint64_t *triangles;
    bool *member;
    dcsr_coo numbers, truss; /* of edges; of a k */
    dcsr_components_result components;
    dcsr_sssp_result paths, wide_paths;
    dcsr_triangles_result count;
    dcsr_clustering_result clustering;
    dcsr_pagerank_result walk;
    dcsr_kcore_result cores;
    dcsr_components_result strongly;
    dcsr_betweenness_result paths_between;
    dcsr_independent_set_result members;
    dcsr_colouring_result colours;
    dcsr_ktruss_result all_trusses, one_truss;
} findings;

static dcsr_coo find_truss(dcsr_view *view, dcsr_ktruss_result *result, uint32_t k, bool symmetric)
{
    dcsr_matrix *matrix;
    dcsr_coo coo;
    TEST_OK(dcsr_ktruss(&matrix, result, view, &(dcsr_ktruss_options){.symmetric = symmetric, .k = k}));
    dcsr_view *found = test_view(matrix, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    TEST_OK(dcsr_view_to_coo(&coo, found));
    dcsr_view_destroy(found);
    dcsr_matrix_destroy(matrix);
    return coo;
}

static bool same_entries(const dcsr_coo *a, const dcsr_coo *b)
{
    return a->nnz == b->nnz && !memcmp(a->row_indices, b->row_indices, a->nnz * sizeof *a->row_indices) &&
           !memcmp(a->col_indices, b->col_indices, a->nnz * sizeof *a->col_indices) &&
           !memcmp(a->values, b->values, a->nnz * sizeof(uint32_t));
}

static findings find(dcsr_view *view, uint64_t n, bool symmetric)
{
    const dcsr_graph_options known = {.symmetric = symmetric};
    findings f = {.component = test_allocate(n, 4),
                  .core = test_allocate(n, 4),
                  .distance = test_allocate(n, 8),
                  .coefficient = test_allocate(n, 8),
                  .rank = test_allocate(n, 8),
                  .triangles = test_allocate(n, 8),
                  .strong = test_allocate(n, 4),
                  .parent = test_allocate(n, 4),
                  .colour = test_allocate(n, 4),
                  .between = test_allocate(n, 8),
                  .member = test_allocate(n, 1)};
    const dcsr_random_options order = {.symmetric = symmetric, .seed = 5};
    const uint64_t sources[] = {n / 3, 0, n - 1, n / 2, n / 5, n / 7, 1, 2, n / 3, n / 4};
    int32_t *level = test_allocate(n, sizeof *level);
    TEST_OK(dcsr_bfs(level, NULL, view, n / 3));
    TEST_OK(dcsr_bfs_parents(f.parent, level, view));
    free(level);
    TEST_OK(dcsr_strong_components(f.strong, &f.strongly, view));
    TEST_OK(dcsr_betweenness(f.between, &f.paths_between, view,
                             &(dcsr_betweenness_options){.symmetric = symmetric,
                                                         .sources = sources,
                                                         .source_count = sizeof sources / sizeof *sources}));
    TEST_OK(dcsr_independent_set(f.member, &f.members, view, &order));
    TEST_OK(dcsr_colouring(f.colour, &f.colours, view, &order));
    f.numbers = find_truss(view, &f.all_trusses, 0, symmetric);
    f.truss = find_truss(view, &f.one_truss, 4, symmetric);
    TEST_OK(dcsr_components(f.component, &f.components, view, &known));
    TEST_OK(dcsr_kcore(f.core, &f.cores, view, &known));
    TEST_OK(dcsr_sssp(f.distance, &f.wide_paths, view, n / 3, &(dcsr_sssp_options){.delta = 1e6}));
    TEST_OK(dcsr_sssp(f.distance, &f.paths, view, n / 3, &(dcsr_sssp_options){.delta = 7}));
    TEST_OK(dcsr_triangles(f.triangles, &f.count, view, &known));
    TEST_OK(dcsr_clustering(f.coefficient, &f.clustering, view, &known));
    TEST_OK(dcsr_pagerank(
        f.rank, &f.walk, view,
        &(dcsr_pagerank_options){.symmetric = symmetric, .tolerance = 1e-13, .max_iterations = 400}));
    return f;
}

static void release(findings *f)
{
    free(f->component), free(f->core), free(f->distance), free(f->coefficient), free(f->rank),
        free(f->triangles), free(f->strong), free(f->parent), free(f->colour), free(f->between),
        free(f->member);
    dcsr_coo_free(&f->numbers);
    dcsr_coo_free(&f->truss);
}

static void compare(const findings *f, const findings *wanted, uint64_t n)
{
    double difference = 0;
    cr_assert(!memcmp(f->component, wanted->component, n * 4) && f->components.components &&
              !memcmp(&f->components, &wanted->components, sizeof f->components));
    cr_assert(!memcmp(f->core, wanted->core, n * 4) && !memcmp(&f->cores, &wanted->cores, sizeof f->cores));
    cr_assert(!memcmp(f->distance, wanted->distance, n * 8));
    cr_assert(f->paths.reached == wanted->paths.reached && f->paths.farthest == wanted->paths.farthest);
    cr_assert(f->wide_paths.reached == wanted->paths.reached &&
              f->wide_paths.farthest == wanted->paths.farthest);
    cr_assert(!memcmp(f->triangles, wanted->triangles, n * 8) &&
              f->count.triangles == wanted->count.triangles);
    cr_assert(!memcmp(f->coefficient, wanted->coefficient, n * 8) &&
              !memcmp(&f->clustering, &wanted->clustering, sizeof f->clustering));
    cr_assert(!memcmp(f->strong, wanted->strong, n * 4) &&
              !memcmp(&f->strongly, &wanted->strongly, sizeof f->strongly));
    cr_assert(!memcmp(f->parent, wanted->parent, n * 4));
    cr_assert(!memcmp(f->member, wanted->member, n) && f->members.vertices == wanted->members.vertices);
    cr_assert(!memcmp(f->colour, wanted->colour, n * 4) && f->colours.colours == wanted->colours.colours);
    cr_assert(same_entries(&f->numbers, &wanted->numbers) && same_entries(&f->truss, &wanted->truss));
    cr_assert(!memcmp(&f->all_trusses, &wanted->all_trusses, sizeof f->all_trusses) &&
              !memcmp(&f->one_truss, &wanted->one_truss, sizeof f->one_truss));
    cr_assert(!memcmp(&f->paths_between, &wanted->paths_between, sizeof f->paths_between));
    for (uint64_t v = 0; v < n; v++)
        cr_assert(fabs(f->between[v] - wanted->between[v]) <= 1e-9 * (1 + wanted->between[v]));
    for (uint64_t v = 0; v < n; v++) difference += fabs(f->rank[v] - wanted->rank[v]);
    cr_assert(difference < 1e-12, "ranks differ by %g", difference);
    /* The cpu hands ranks on as fp32 until the last iterations, of which there may be some more or fewer. */
    cr_assert(f->walk.converged && wanted->walk.converged && f->walk.dangling == wanted->walk.dangling);
    cr_assert(abs(f->walk.iterations - wanted->walk.iterations) <= 5, "%d iterations, %d", f->walk.iterations,
              wanted->walk.iterations);
}

Test(graph_device, finds_what_the_cpu_finds)
{
    static const dcsr_type types[SHAPES] = {DCSR_FP64, DCSR_INT32, DCSR_FP32};
    open_device();
    NEEDS_GPU();
    dcsr_context *cpu;
    TEST_OK(dcsr_context_create(&cpu, &(dcsr_context_options){.device = DCSR_DEVICE_CPU, .threads = 1}));
    for (int shape = 0; shape < SHAPES; shape++) {
        graph g = make(shape);
        dcsr_matrix *there = store(&g, context, types[shape]), *here = store(&g, cpu, types[shape]);
        dcsr_view *model = test_view(here, DCSR_LAYOUT_CSR, 0);
        findings wanted = find(model, g.vertices, false);
        for (dcsr_layout layout = DCSR_LAYOUT_SEGMENTS; layout <= DCSR_LAYOUT_CSC; layout++) {
            dcsr_view *view = test_view(there, layout, 0);
            for (int symmetric = 0; symmetric <= (shape != RANDOM); symmetric++) {
                findings f = find(view, g.vertices, symmetric);
                compare(&f, &wanted, g.vertices);
                release(&f);
            }
            dcsr_view_destroy(view);
        }
        release(&wanted);
        dcsr_view_destroy(model);
        dcsr_matrix_destroy(there);
        dcsr_matrix_destroy(here);
        free(g.from), free(g.to);
    }
    test_close(cpu);
    close_device();
}

/* What is asked of weights and of portions is asked on the device; the messages are the cpu's. */
Test(graph_device, refuses_what_the_cpu_refuses)
{
    open_device();
    NEEDS_GPU();
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 4, 4, DCSR_POLICY_LAST);
    const double none[4] = {0};
    double distance[4] = {5, 5, 5, 5};
    dcsr_sssp_result result;
    TEST_INSERT(matrix, {0, 1, 2}, {1, 2, -5}, {2, 3, 1});
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_sssp(distance, &result, view, 0, NULL));
    cr_assert(distance[1] == 2 && distance[2] == -3 && distance[3] == -2 && result.reached == 4);
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "source 4 of 4", dcsr_sssp(distance, NULL, view, 4, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "the sum of personal is 0",
                 dcsr_pagerank(distance, NULL, view, &(dcsr_pagerank_options){.personal = none}));
    dcsr_view_destroy(view);
    TEST_INSERT(matrix, {3, 0, NAN});
    view = test_view(matrix, DCSR_LAYOUT_CSR, 0);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "vertex 3 has the weight NaN",
                 dcsr_sssp(distance, NULL, view, 0, NULL));
    cr_assert(distance[1] == 2 && distance[3] == -2, "a call that failed has written");
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    close_device();
}
