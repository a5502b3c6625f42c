/* support_graphs.c: graphs for the tests of algorithms. */
#include "tests/support/support_graphs.h"
#include "dcsr/base/alloc.h"
#include <dcsr/convert.h>
#include <dcsr/generate.h>
#include <dcsr/reader.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

test_graph test_graph_from(const char *name, bool symmetric, uint64_t vertices, size_t n,
                           const uint64_t *from, const uint64_t *to)
{
    test_graph g = {.symmetric = symmetric, .vertices = vertices};
    snprintf(g.name, sizeof g.name, "%s%s", name, symmetric ? ", symmetric" : "");
    uint64_t *key = test_allocate(2 * n + 1, sizeof *key);
    size_t keys = 0;
    for (size_t k = 0; k < n; k++) {
        key[keys++] = from[k] << 32 | to[k];
        if (symmetric) key[keys++] = to[k] << 32 | from[k];
    }
    qsort(key, keys, sizeof *key, by_number);
    g.offsets = calloc(vertices + 1, sizeof *g.offsets);
    g.ends = test_allocate(keys + 1, sizeof *g.ends);
    g.weights = test_allocate(keys + 1, sizeof *g.weights);
    cr_assert(g.offsets != NULL);
    for (size_t k = 0; k < keys; k++) {
        if (k && key[k] == key[k - 1]) continue;
        uint64_t u = key[k] >> 32, v = key[k] & UINT32_MAX;
        test_random random = {u < v ? u << 32 | v : v << 32 | u};
        g.offsets[u + 1]++;
        g.weights[g.edges] = (double)(1 + test_random_below(&random, 100));
        g.ends[g.edges++] = (uint32_t)v;
    }
    for (uint64_t v = 0; v < vertices; v++) g.offsets[v + 1] += g.offsets[v];
    free(key);
    return g;
}

void test_graph_free(test_graph *g)
{
    free(g->offsets);
    free(g->ends);
    free(g->weights);
    free(g->kept);
}

void test_same_for_all_views(test_graph *g, const void *result, size_t bytes)
{
    if (!g->kept) g->kept = memcpy(test_allocate(bytes + 1, 1), result, bytes);
    cr_assert(!memcmp(g->kept, result, bytes), "%s: it depends on threads or views", g->name);
}

static test_graph from_coo(const char *name, bool symmetric, dcsr_coo *coo)
{
    test_graph g = test_graph_from(name, symmetric, coo->rows, coo->nnz, coo->row_indices, coo->col_indices);
    dcsr_coo_free(coo);
    return g;
}

bool test_graph_read(test_graph *g, const char *file, bool symmetric)
{
    char path[200];
    dcsr_coo coo;
    snprintf(path, sizeof path, "../shared/data/%s", file);
    if (access(path, R_OK)) return false;
    dcsr_context *context = test_context(2);
    TEST_OK(dcsr_coo_read(&coo, context, path, NULL));
    *g = from_coo(file, symmetric, &coo);
    test_close(context);
    return true;
}

/* All of the edges, or every other one, and for those that are to go again edges from v to v + 1. */
static void insert_some(const test_graph *g, dcsr_matrix *matrix, dcsr_type type, int portion, bool remove)
{
    size_t n = 0, most = g->edges + g->vertices;
    uint64_t *rows = test_allocate(most + 1, sizeof *rows), *cols = test_allocate(most + 1, sizeof *cols);
    char *values = test_allocate(most + 1, 8);
    const size_t size = dcsr_type_size(type);
    for (uint64_t v = 0; v < g->vertices; v++) {
        for (uint64_t k = g->offsets[v]; k < g->offsets[v + 1] && !remove; k++) {
            if (portion < 2 && k % 2 != (uint64_t)portion) continue;
            if (portion == 2 && k % 3) continue;
            test_encode(type, g->weights[k], values + n * size);
            rows[n] = v, cols[n++] = g->ends[k];
        }
        const uint64_t next = (v + 1) % g->vertices;
        const uint32_t *end = g->ends + g->offsets[v], *last = g->ends + g->offsets[v + 1];
        while (end < last && *end != next) end++;
        if (v % 3 || end < last || (portion && !remove)) continue;
        test_encode(type, 7, values + n * size);
        rows[n] = v, cols[n++] = next;
    }
    if (remove)
        TEST_OK(dcsr_matrix_remove(matrix, n, rows, cols, NULL));
    else
        TEST_OK(dcsr_matrix_insert(matrix, n, rows, cols, size ? values : NULL, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    free(rows);
    free(cols);
    free(values);
}

dcsr_matrix *test_graph_matrix(const test_graph *g, dcsr_context *context, dcsr_type type)
{
    dcsr_matrix *matrix = test_matrix(context, type, g->vertices, g->vertices, DCSR_POLICY_DEFAULT);
    for (int portion = 0; portion < 3; portion++) insert_some(g, matrix, type, portion, false);
    insert_some(g, matrix, type, 0, true);
    return matrix;
}

void test_on_graph(test_graph *g, test_graph_check check)
{
    static const dcsr_type types[] = {DCSR_PATTERN, DCSR_FP64, DCSR_INT32, DCSR_FP32, DCSR_UINT8, DCSR_INT64};
    /* On the emulator threads are the host's: there one number of them is enough, of each graph another. */
    const int most = test_on_emulator() ? 1 + (int)(g->edges % 2) : 2;
    for (int threads = test_on_emulator() ? most : 1; threads <= most; threads++) {
        dcsr_context *context = test_context(threads);
        /* Weights count where there are any: of types enough that each graph has another. */
        dcsr_type type = types[(g->edges + (uint64_t)threads) % (sizeof types / sizeof *types)];
        dcsr_matrix *matrix = test_graph_matrix(g, context, type);
        for (dcsr_layout layout = DCSR_LAYOUT_SEGMENTS; layout <= DCSR_LAYOUT_CSC; layout++)
            for (unsigned flags = 0; flags <= DCSR_VIEW_DUPLICATES; flags += DCSR_VIEW_DUPLICATES) {
                dcsr_view *view = test_view(matrix, layout, flags);
                check(g, view);
                dcsr_view_destroy(view);
            }
        dcsr_matrix_destroy(matrix);
        test_close(context);
    }
}

/* Edges of one shape; returns how many. */
static size_t structured(int shape, uint64_t n, uint64_t *from, uint64_t *to)
{
    size_t k = 0;
    test_random random = {n};
    for (uint64_t v = 0; v < n; v++) {
        if (shape == 0 && v) from[k] = 0, to[k++] = v;                    /* star */
        if (shape == 1 && v % 32) from[k] = v - 1, to[k++] = v;           /* grid */
        if (shape == 1 && v >= 32) from[k] = v - 32, to[k++] = v;         /* */
        if (shape == 2 && v % 7) from[k] = v, to[k++] = v - 1;            /* paths */
        if (shape == 3) from[k] = v, to[k++] = v;                         /* loops */
        if (shape == 3 && v % 5) from[k] = v, to[k++] = (v * 7) % n;      /* */
        if (shape == 4) from[k] = v, to[k++] = v - v % 10 + (v + 1) % 10; /* rings of ten */
        for (uint64_t u = v / 12 * 12; shape == 5 && u < v; u++)          /* cliques of twelve, and links */
            from[k] = v, to[k++] = u;
        if (shape == 5 && v % 24 == 0) from[k] = v, to[k++] = test_random_below(&random, n);
    }
    return k;
}

void test_on_graphs(bool symmetric, uint64_t most, test_graph_check check)
{
    enum { SHAPES = 6, N = 420 };
    static const char *const names[] = {"star", "grid", "paths", "loops", "rings", "cliques"};
    static const char *const random[] = {"er:1,0",     "er:2,0",      "er:2,1",     "er:65,40",
                                         "er:500,900", "er:300,3000", "rmat:9,6,5", "rmat:11,16,3"};
    uint64_t *from = test_allocate(12 * N, sizeof *from), *to = test_allocate(12 * N, sizeof *to);
    dcsr_context *context = test_context(1);
    for (int both = symmetric; both < 2; both++) {
        for (int s = 0; s < SHAPES; s++) {
            size_t n = structured(s, N, from, to);
            test_graph g = test_graph_from(names[s], both, N, n, from, to);
            test_on_graph(&g, check);
            test_graph_free(&g);
        }
        for (size_t r = 0; r < sizeof random / sizeof *random; r++) {
            dcsr_coo coo;
            TEST_OK(dcsr_coo_generate(&coo, context, random[r]));
            test_graph g = from_coo(random[r], both, &coo);
            if (g.vertices <= most && (!test_on_emulator() || g.edges < 2000)) test_on_graph(&g, check);
            test_graph_free(&g);
        }
    }
    test_close(context);
    free(from);
    free(to);
}

void test_graph_failures(dcsr_status (*call)(dcsr_view *view, void *output), size_t bytes)
{
    static const uint64_t from[] = {0, 1, 2, 3, 4, 5, 5, 6}, to[] = {1, 2, 0, 1, 2, 6, 7, 7};
    test_graph g = test_graph_from("a small graph", true, 9, 8, from, to);
    char *output = test_allocate(bytes, 1), *zeros = test_allocate(bytes, 1);
    memset(zeros, 0, bytes);
    for (dcsr_layout layout = DCSR_LAYOUT_SEGMENTS; layout <= DCSR_LAYOUT_CSC; layout++) {
        dcsr_context *context = test_context(2);
        dcsr_matrix *matrix = test_graph_matrix(&g, context, DCSR_FP64);
        dcsr_view *view = test_view(matrix, layout, 0);
        dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
        long n = 0;
        memset(output, 0, bytes);
        for (; status; n++) {
            cr_assert(!memcmp(output, zeros, bytes), "a call that failed has written");
            dcsr_i_fail_allocations_after(n);
            status = call(view, output);
            dcsr_i_fail_allocations_after(-1);
            cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
        }
        cr_assert(n > 1);
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
        test_close(context);
    }
    free(output);
    free(zeros);
    test_graph_free(&g);
}
