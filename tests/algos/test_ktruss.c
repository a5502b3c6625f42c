/* test_ktruss.c: k-trusses against taking edges away until none is left that is in too few triangles. */
#include <dcsr/generate.h>
#include <dcsr/graph.h>
#include "tests/support/support_graphs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Triangles of an edge in what is left: common neighbours. */
static uint32_t support(const bool *near, uint64_t n, uint64_t u, uint64_t v)
{
    uint32_t count = 0;
    for (uint64_t w = 0; w < n; w++) count += near[u * n + w] && near[v * n + w];
    return count;
}

/* Takes away what is in fewer than `enough` triangles, in any order; notes the truss number k of what goes. */
static bool take_away(bool *near, uint32_t *number, uint64_t n, uint32_t enough, uint32_t k)
{
    bool any = false, again = true;
    while (again) {
        again = any = false;
        for (uint64_t u = 0; u < n; u++)
            for (uint64_t v = 0; v < u; v++) {
                if (!near[u * n + v]) continue;
                if (support(near, n, u, v) < enough) {
                    near[u * n + v] = near[v * n + u] = false;
                    number[u * n + v] = number[v * n + u] = k;
                    again = true;
                }
                any = true;
            }
    }
    return any;
}

/* The truss number of each pair, 0 where there is no edge; then the support in the 4-truss and the 6-truss. */
static uint32_t *expect(const test_graph *g)
{
    const uint64_t n = g->vertices, pairs = n * n;
    uint32_t *number = calloc(3 * pairs + 1, sizeof *number);
    bool *near = calloc(pairs + 1, sizeof *near);
    cr_assert(number && near);
    for (uint64_t u = 0; u < n; u++)
        for (uint64_t k = g->offsets[u]; k < g->offsets[u + 1]; k++)
            if (g->ends[k] != u) near[u * n + g->ends[k]] = near[g->ends[k] * n + u] = true;
    bool any = true;
    for (uint32_t k = 2; any; k++) {
        for (uint64_t u = 0; u < n && (k == 4 || k == 6); u++)
            for (uint64_t v = 0; v < n; v++)
                if (near[u * n + v]) number[(k / 2 - 1) * pairs + u * n + v] = support(near, n, u, v);
        any = take_away(near, number, n, k - 1, k);
    }
    free(near);
    return number;
}

/* Whether the matrix has these values, where they are not 0, and nothing else; counts edges. */
static uint64_t compare(const test_graph *g, dcsr_matrix *truss, const uint32_t *wanted, uint32_t k)
{
    const uint64_t n = g->vertices;
    uint64_t edges = 0;
    dcsr_view *view = test_view(truss, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    dcsr_csr csr;
    TEST_OK(dcsr_view_get_csr_on_host(view, &csr));
    cr_assert(csr.rows == n && csr.cols == n && csr.type == DCSR_UINT32);
    for (uint64_t u = 0; u < n; u++)
        for (uint64_t i = csr.offsets[u]; i < csr.offsets[u + 1]; i++) {
            const uint32_t v = csr.col_indices[i], value = ((const uint32_t *)csr.values)[i];
            cr_assert(value == wanted[u * n + v], "%s, k = %u: %u at %" PRIu64 ", %u, not %u", g->name, k,
                      value, u, v, wanted[u * n + v]);
        }
    for (uint64_t pair = 0; pair < n * n; pair++) edges += wanted[pair] != 0;
    cr_assert(csr.nnz == edges, "%s, k = %u: %" PRIu64 " entries, not %" PRIu64, g->name, k, csr.nnz, edges);
    dcsr_view_destroy(view);
    return edges / 2;
}

static void check(test_graph *g, dcsr_view *view)
{
    dcsr_view_shape shape;
    TEST_OK(dcsr_view_get_shape(view, &shape));
    if (test_on_emulator() && shape.layout != DCSR_LAYOUT_SEGMENTS)
        return; /* of all of them it gets a copy */
    if (!g->kept) g->kept = expect(g);
    const uint64_t n = g->vertices;
    const uint32_t *wanted = g->kept;
    for (int known = 0; known <= g->symmetric; known++)
        for (uint32_t k = 0; k <= 6; k += k ? 2 : 4) {
            const dcsr_ktruss_options options = {.symmetric = known, .k = k};
            dcsr_matrix *truss;
            dcsr_ktruss_result result, again;
            TEST_OK(dcsr_ktruss(&truss, &result, view, &options));
            TEST_OK(dcsr_ktruss(NULL, &again, view, &options));
            cr_assert(result.edges == compare(g, truss, wanted + (k ? k / 2 - 1 : 0) * n * n, k));
            cr_assert(result.edges == again.edges && result.largest == again.largest);
            uint64_t largest = 0, innermost = 0;
            for (uint64_t pair = 0; pair < n * n && !k; pair++) {
                if (wanted[pair] > largest) largest = wanted[pair], innermost = 0;
                innermost += wanted[pair] && wanted[pair] == largest;
            }
            cr_assert(result.largest == largest && result.innermost == innermost / 2);
            dcsr_matrix_destroy(truss);
        }
}

Test(ktruss, is_that_of_taking_edges_away)
{
    test_on_graphs(false, 520, check);
}

/* The truss of a graph that is large enough for several threads to share. */
static uint32_t *truss_of(int threads, uint32_t k, uint64_t *nnz)
{
    dcsr_context *context = test_context(threads);
    dcsr_coo coo;
    dcsr_matrix *matrix, *truss;
    dcsr_csr csr;
    TEST_OK(dcsr_coo_generate(&coo, context, test_on_emulator() ? "rmat:8,8" : "rmat:11,8"));
    TEST_OK(dcsr_matrix_from_coo(&matrix, context, &coo, NULL));
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_ktruss(&truss, NULL, view, &(dcsr_ktruss_options){.k = k}));
    dcsr_view_destroy(view);
    view = test_view(truss, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    TEST_OK(dcsr_view_get_csr_on_host(view, &csr));
    uint32_t *copy = test_allocate(2 * csr.nnz + 1, sizeof *copy);
    *nnz = csr.nnz;
    memcpy(copy, csr.col_indices, csr.nnz * sizeof *copy);
    memcpy(copy + csr.nnz, csr.values, csr.nnz * sizeof *copy);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(truss);
    dcsr_matrix_destroy(matrix);
    dcsr_coo_free(&coo);
    test_close(context);
    return copy;
}

Test(ktruss, is_the_same_for_any_number_of_threads)
{
    for (uint32_t k = 0; k <= 7; k += 7) {
        uint64_t ones, fours;
        uint32_t *one = truss_of(1, k, &ones), *four = truss_of(4, k, &fours);
        cr_assert(ones > 100 && ones == fours && !memcmp(one, four, 2 * ones * sizeof *one));
        free(one);
        free(four);
    }
}

static dcsr_status call(dcsr_view *view, void *output)
{
    dcsr_ktruss_result *result = output;
    dcsr_matrix **truss = (dcsr_matrix **)(result + 1);
    const dcsr_status status = dcsr_ktruss(truss, result, view, NULL);
    if (!status) dcsr_matrix_destroy(*truss);
    return status;
}

static dcsr_status call_for_one(dcsr_view *view, void *output)
{
    return dcsr_ktruss(NULL, output, view, &(dcsr_ktruss_options){.symmetric = true, .k = 3});
}

Test(ktruss, refuses_what_it_cannot_do)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *wide = test_matrix(context, DCSR_PATTERN, 2, 3, DCSR_POLICY_ANY);
    dcsr_matrix *empty = test_matrix(context, DCSR_FP32, 0, 0, DCSR_POLICY_ANY);
    dcsr_view *view = test_view(wide, DCSR_LAYOUT_CSR, 0), *nothing = test_view(empty, DCSR_LAYOUT_CSC, 0);
    dcsr_matrix *truss = wide;
    dcsr_ktruss_result result = {.edges = 5};
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "2 rows and 3 columns",
                 dcsr_ktruss(&truss, &result, view, NULL));
    cr_assert(truss == NULL);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "give one of them", dcsr_ktruss(NULL, NULL, nothing, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "k is 2",
                 dcsr_ktruss(NULL, &result, nothing, &(dcsr_ktruss_options){.k = 2}));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_ktruss(NULL, &result, NULL, NULL));
    cr_assert(result.edges == 5);
    TEST_OK(dcsr_ktruss(&truss, &result, nothing, NULL));
    cr_assert(result.edges == 0 && result.largest == 0 && truss);
    dcsr_matrix_destroy(truss);
    dcsr_view_destroy(nothing);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(wide);
    dcsr_matrix_destroy(empty);
    test_close(context);
    test_graph_failures(call, sizeof(dcsr_ktruss_result) + sizeof(dcsr_matrix *));
    test_graph_failures(call_for_one, sizeof(dcsr_ktruss_result));
}

static void note(void *user, uint64_t done, uint64_t total)
{
    uint64_t *told = user;
    cr_assert(done >= told[0] && done <= total);
    told[0] = done, told[1] = total;
}

Test(ktruss, tells_how_far_it_has_come)
{
    static const uint64_t rows[] = {0, 1, 2, 2}, cols[] = {1, 2, 0, 3};
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, 4, 4, DCSR_POLICY_ANY);
    TEST_OK(dcsr_matrix_insert(matrix, 4, rows, cols, NULL, NULL));
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST);
    dcsr_ktruss_result result;
    uint64_t told[2] = {0};
    TEST_OK(dcsr_ktruss(NULL, &result, view, &(dcsr_ktruss_options){.progress = note, .user = told}));
    cr_assert(told[0] == 4 && told[1] == 4);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}
