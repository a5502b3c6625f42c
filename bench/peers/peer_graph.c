/* peer_graph.c: graph algorithms over SuiteSparse:GraphBLAS. */
#include "bench/peers/peer_graph.h"
#include "bench/peers/peer_graph_many.h"

#ifdef DCSR_PEER_GRAPHBLAS
#include <GraphBLAS.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TRY(expression)                                                                            \
    do {                                                                                           \
        GrB_Info info_ = (expression);                                                             \
        if (info_ != GrB_SUCCESS) bench_die("GraphBLAS: %s returned %d", #expression, (int)info_); \
    } while (0)

/* The graph: its weights, its pattern as bool, out-degrees as int64, fp64 and fp32. */
static GrB_Matrix A, P;
static GrB_Vector degree, degree64, degree32;
static GrB_Index n;

static GrB_Vector new_vector(GrB_Type type)
{
    GrB_Vector v;
    TRY(GrB_Vector_new(&v, type, n));
    return v;
}

static void load(const bench_csr *csr, int threads)
{
    static bool started;
    if (!started) TRY(GrB_init(GrB_NONBLOCKING));
    started = true;
    TRY(GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, threads));
    TRY(GxB_Global_Option_set(GxB_FORMAT, GxB_BY_ROW));
    n = csr->rows;
    GrB_Index *columns = bench_alloc(csr->nnz, sizeof *columns);
    for (uint64_t k = 0; k < csr->nnz; k++) columns[k] = csr->columns[k];
    TRY(GrB_Matrix_import_FP64(&A, GrB_FP64, n, n, csr->offsets, columns, csr->values, n + 1, csr->nnz,
                               csr->nnz, GrB_CSR_FORMAT));
    free(columns);
    TRY(GrB_Matrix_new(&P, GrB_BOOL, n, n));
    TRY(GrB_Matrix_apply(P, NULL, NULL, GxB_ONE_BOOL, A, NULL));
    degree = new_vector(GrB_INT64);
    TRY(GrB_Vector_assign_INT64(degree, NULL, NULL, 0, GrB_ALL, n, NULL));
    GrB_Vector full = new_vector(GrB_INT64);
    TRY(GrB_Vector_assign_INT64(full, NULL, NULL, 0, GrB_ALL, n, NULL));
    TRY(GrB_mxv(degree, NULL, GrB_PLUS_INT64, GxB_PLUS_PAIR_INT64, P, full, NULL));
    degree64 = new_vector(GrB_FP64);
    degree32 = new_vector(GrB_FP32);
    TRY(GrB_Vector_assign(degree64, NULL, NULL, degree, GrB_ALL, n, NULL));
    TRY(GrB_Vector_assign(degree32, NULL, NULL, degree, GrB_ALL, n, NULL));
    TRY(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    TRY(GrB_Matrix_wait(P, GrB_MATERIALIZE));
    TRY(GrB_Vector_wait(degree, GrB_MATERIALIZE));
    TRY(GrB_Vector_wait(degree64, GrB_MATERIALIZE));
    TRY(GrB_Vector_wait(degree32, GrB_MATERIALIZE));
    TRY(GrB_Vector_free(&full));
}

static void unload(void)
{
    TRY(GrB_Matrix_free(&A));
    TRY(GrB_Matrix_free(&P));
    TRY(GrB_Vector_free(&degree));
    TRY(GrB_Vector_free(&degree64));
    TRY(GrB_Vector_free(&degree32));
}

/* Whether the next step of a search is pushed. As in LAGraph's, a growing frontier is pulled once its edges are an
 * eighth of those that are left, and a shrinking one pushed again once it has fewer than n / 512 vertices. */
static bool is_pushed(bool pushed, GrB_Vector frontier, GrB_Index size, GrB_Index size_before,
                      int64_t *edges_left)
{
    if (!pushed) return size < size_before && size <= n / 512;
    int64_t edges = 0;
    GrB_Vector degrees = new_vector(GrB_INT64);
    TRY(GrB_Vector_assign(degrees, frontier, NULL, degree, GrB_ALL, n, GrB_DESC_RS));
    TRY(GrB_Vector_reduce_INT64(&edges, NULL, GrB_PLUS_MONOID_INT64, degrees, NULL));
    TRY(GrB_Vector_free(&degrees));
    *edges_left -= edges;
    return size <= size_before || edges < *edges_left / 8;
}

/* level<frontier> = depth, frontier<not level> = frontier P, pushed, or P frontier, pulled; P is symmetric. */
static void search(int32_t *level, uint64_t source)
{
    GrB_Vector frontier = new_vector(GrB_BOOL), found = new_vector(GrB_INT32);
    GrB_Index size = 1, before = 0, reached = n, *index = bench_alloc(n, sizeof *index);
    int32_t *value = bench_alloc(n, sizeof *value);
    int64_t edges_left;
    bool pushed = true;
    TRY(GrB_Vector_reduce_INT64(&edges_left, NULL, GrB_PLUS_MONOID_INT64, degree, NULL));
    TRY(GxB_Vector_Option_set(found, GxB_SPARSITY_CONTROL, GxB_BITMAP + GxB_FULL));
    TRY(GrB_Vector_setElement_BOOL(frontier, true, source));
    for (int32_t depth = 0; size; depth++) {
        TRY(GrB_Vector_assign_INT32(found, frontier, NULL, depth, GrB_ALL, n, GrB_DESC_S));
        pushed = is_pushed(pushed, frontier, size, before, &edges_left);
        TRY(GxB_Vector_Option_set(frontier, GxB_SPARSITY_CONTROL, pushed ? GxB_SPARSE : GxB_BITMAP));
        if (pushed)
            TRY(GrB_vxm(frontier, found, NULL, GxB_ANY_PAIR_BOOL, frontier, P, GrB_DESC_RSC));
        else
            TRY(GrB_mxv(frontier, found, NULL, GxB_ANY_PAIR_BOOL, P, frontier, GrB_DESC_RSC));
        before = size;
        TRY(GrB_Vector_nvals(&size, frontier));
    }
    TRY(GrB_Vector_extractTuples_INT32(index, value, &reached, found));
    for (GrB_Index v = 0; v < n; v++) level[v] = -1;
    for (GrB_Index k = 0; k < reached; k++) level[index[k]] = value[k];
    free(index), free(value);
    TRY(GrB_Vector_free(&frontier));
    TRY(GrB_Vector_free(&found));
}

/* FastSV: each parent takes the least grandparent of its children's neighbours. */
static void components(uint32_t *component)
{
    GrB_Vector f = new_vector(GrB_UINT32), gp = NULL, mngp = NULL, differs = new_vector(GrB_BOOL);
    GrB_Index *index = bench_alloc(n, sizeof *index), *parent = bench_alloc(n, sizeof *parent), size = n;
    uint32_t *value = bench_alloc(n, sizeof *value), *near = bench_alloc(n, sizeof *near);
    for (GrB_Index v = 0; v < n; v++) index[v] = parent[v] = v, value[v] = (uint32_t)v;
    TRY(GrB_Vector_build_UINT32(f, index, value, n, GrB_FIRST_UINT32));
    TRY(GrB_Vector_dup(&gp, f));
    TRY(GrB_Vector_dup(&mngp, f));
    for (bool change = true; change;) {
        TRY(GrB_mxv(mngp, NULL, GrB_MIN_UINT32, GrB_MIN_SECOND_SEMIRING_UINT32, A, gp, NULL));
        /* f[parent] min= mngp, where several have one parent. */
        TRY(GrB_Vector_extractTuples_UINT32(NULL, near, &size, mngp));
        TRY(GrB_Vector_extractTuples_UINT32(NULL, value, &size, f));
        for (GrB_Index v = 0; v < n; v++)
            if (near[v] < value[parent[v]]) value[parent[v]] = near[v];
        TRY(GrB_Vector_clear(f));
        TRY(GrB_Vector_build_UINT32(f, index, value, n, GrB_FIRST_UINT32));
        TRY(GrB_eWiseAdd(f, NULL, GrB_MIN_UINT32, GrB_MIN_UINT32, mngp, gp, NULL));
        TRY(GrB_Vector_extractTuples_UINT32(NULL, value, &size, f));
        for (GrB_Index v = 0; v < n; v++) parent[v] = value[v];
        GrB_Vector next = new_vector(GrB_UINT32);
        TRY(GrB_Vector_extract(next, NULL, NULL, f, parent, n, NULL));
        TRY(GrB_eWiseMult(differs, NULL, NULL, GrB_NE_UINT32, next, gp, NULL));
        TRY(GrB_Vector_reduce_BOOL(&change, NULL, GrB_LOR_MONOID_BOOL, differs, NULL));
        TRY(GrB_Vector_free(&gp));
        gp = next;
    }
    memcpy(component, value, n * sizeof *component);
    TRY(GrB_Vector_free(&f));
    TRY(GrB_Vector_free(&gp));
    TRY(GrB_Vector_free(&mngp));
    TRY(GrB_Vector_free(&differs));
    free(index), free(parent), free(value), free(near);
}

/* r = chance + A' (d r / degree), and the chance of vertices without edges shared out. */
static int pagerank(double *rank, double tolerance, bool narrow)
{
    const double damping = 0.85;
    const GrB_Type type = narrow ? GrB_FP32 : GrB_FP64;
    const GrB_BinaryOp div = narrow ? GrB_DIV_FP32 : GrB_DIV_FP64,
                       plus = narrow ? GrB_PLUS_FP32 : GrB_PLUS_FP64,
                       minus = narrow ? GrB_MINUS_FP32 : GrB_MINUS_FP64;
    const GrB_Semiring plus_second = narrow ? GxB_PLUS_SECOND_FP32 : GxB_PLUS_SECOND_FP64;
    GrB_Vector r = new_vector(type), t = new_vector(type), w = new_vector(type), d = new_vector(type);
    GrB_Vector sink = new_vector(GrB_BOOL), lost = new_vector(type);
    TRY(GrB_apply(d, NULL, NULL, narrow ? GrB_DIV_FP32 : GrB_DIV_FP64, narrow ? degree32 : degree64, damping,
                  NULL));
    TRY(GrB_Vector_select_INT64(sink, NULL, NULL, GrB_VALUEEQ_INT64, degree, 0, NULL));
    GrB_Index sinks;
    TRY(GrB_Vector_nvals(&sinks, sink));
    TRY(GrB_Vector_assign_FP64(d, sink, NULL, 1, GrB_ALL, n, GrB_DESC_S));
    TRY(GrB_Vector_assign_FP64(r, NULL, NULL, 1.0 / (double)n, GrB_ALL, n, NULL));
    double change = 1;
    int iterations = 0;
    for (; iterations < 100 && change > tolerance; iterations++) {
        double handed = 0;
        if (sinks) {
            TRY(GrB_Vector_clear(lost));
            TRY(GrB_Vector_assign(lost, sink, NULL, r, GrB_ALL, n, GrB_DESC_S));
            TRY(GrB_Vector_reduce_FP64(&handed, NULL, GrB_PLUS_MONOID_FP64, lost, NULL));
        }
        GrB_Vector swap = t;
        t = r;
        r = swap;
        TRY(GrB_eWiseMult(w, NULL, NULL, div, t, d, NULL));
        TRY(GrB_Vector_assign_FP64(r, NULL, NULL, (1 - damping + damping * handed) / (double)n, GrB_ALL, n,
                                   NULL));
        TRY(GrB_mxv(r, NULL, plus, plus_second, A, w, NULL));
        TRY(GrB_Vector_assign(t, NULL, minus, r, GrB_ALL, n, NULL));
        TRY(GrB_Vector_apply(t, NULL, NULL, narrow ? GrB_ABS_FP32 : GrB_ABS_FP64, t, NULL));
        TRY(GrB_Vector_reduce_FP64(&change, NULL, GrB_PLUS_MONOID_FP64, t, NULL));
    }
    GrB_Index size = n;
    TRY(GrB_Vector_extractTuples_FP64(NULL, rank, &size, r));
    GrB_Vector *const all[] = {&r, &t, &w, &d, &sink, &lost};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) TRY(GrB_Vector_free(all[i]));
    return iterations;
}

static int by_first(const void *a, const void *b)
{
    const GrB_Index x = ((const GrB_Index *)a)[0], y = ((const GrB_Index *)b)[0];
    return x < y ? -1 : x > y;
}

/* Sandia's: C<L> = L U', with vertices by ascending degree. */
static uint64_t triangles(void)
{
    GrB_Matrix T = NULL, L, U, C;
    GrB_Index(*order)[2] = bench_alloc(n, sizeof *order), *place = bench_alloc(n, sizeof *place), size = n;
    int64_t *degrees = bench_alloc(n, sizeof *degrees), count = 0;
    TRY(GrB_Vector_extractTuples_INT64(NULL, degrees, &size, degree));
    for (GrB_Index v = 0; v < n; v++) order[v][0] = (GrB_Index)degrees[v] << 32 | v, order[v][1] = v;
    qsort(order, n, sizeof *order, by_first);
    for (GrB_Index v = 0; v < n; v++) place[v] = order[v][1];
    TRY(GrB_Matrix_new(&T, GrB_BOOL, n, n));
    TRY(GrB_Matrix_new(&L, GrB_BOOL, n, n));
    TRY(GrB_Matrix_new(&U, GrB_BOOL, n, n));
    TRY(GrB_Matrix_new(&C, GrB_INT64, n, n));
    TRY(GrB_Matrix_extract(T, NULL, NULL, P, place, n, place, n, NULL));
    TRY(GrB_Matrix_select_INT64(L, NULL, NULL, GrB_TRIL, T, -1, NULL));
    TRY(GrB_Matrix_select_INT64(U, NULL, NULL, GrB_TRIU, T, 1, NULL));
    TRY(GrB_mxm(C, L, NULL, GxB_PLUS_PAIR_INT64, L, U, GrB_DESC_ST1));
    TRY(GrB_Matrix_reduce_INT64(&count, NULL, GrB_PLUS_MONOID_INT64, C, NULL));
    GrB_Matrix *const all[] = {&T, &L, &U, &C};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) TRY(GrB_Matrix_free(all[i]));
    free(order), free(place), free(degrees);
    return (uint64_t)count;
}

/* C<A> = A A', its rows added up, over degree (degree - 1). */
static void clustering(double *coefficient)
{
    GrB_Matrix C;
    GrB_Vector sums = new_vector(GrB_FP64), pairs = new_vector(GrB_FP64);
    TRY(GrB_Matrix_new(&C, GrB_FP64, n, n));
    TRY(GrB_mxm(C, P, NULL, GxB_PLUS_PAIR_FP64, P, P, GrB_DESC_ST1));
    TRY(GrB_Matrix_reduce_Monoid(sums, NULL, NULL, GrB_PLUS_MONOID_FP64, C, NULL));
    TRY(GrB_Vector_apply_BinaryOp2nd_FP64(pairs, NULL, NULL, GrB_MINUS_FP64, degree64, 1, NULL));
    TRY(GrB_eWiseMult(pairs, NULL, NULL, GrB_TIMES_FP64, pairs, degree64, NULL));
    TRY(GrB_eWiseMult(sums, NULL, NULL, GrB_DIV_FP64, sums, pairs, NULL));
    TRY(GrB_Vector_wait(sums, GrB_MATERIALIZE));
    memset(coefficient, 0, n * sizeof *coefficient);
    GrB_Index size = n, *index = bench_alloc(n, sizeof *index);
    double *value = bench_alloc(n, sizeof *value);
    TRY(GrB_Vector_extractTuples_FP64(index, value, &size, sums));
    for (GrB_Index k = 0; k < size; k++) coefficient[index[k]] = value[k];
    free(index), free(value);
    TRY(GrB_Matrix_free(&C));
    TRY(GrB_Vector_free(&sums));
    TRY(GrB_Vector_free(&pairs));
}

/* Delta-stepping over min-plus, with light and heavy edges apart. */
static void sssp(double *distance, uint64_t source, double delta)
{
    GrB_Matrix light, heavy;
    GrB_Vector t = new_vector(GrB_FP64), step = new_vector(GrB_FP64), reached = new_vector(GrB_FP64),
               less = new_vector(GrB_BOOL), done = new_vector(GrB_BOOL);
    GrB_Index left;
    TRY(GrB_Matrix_new(&light, GrB_FP64, n, n));
    TRY(GrB_Matrix_new(&heavy, GrB_FP64, n, n));
    TRY(GrB_Matrix_select_FP64(light, NULL, NULL, GrB_VALUELE_FP64, A, delta, NULL));
    TRY(GrB_Matrix_select_FP64(heavy, NULL, NULL, GrB_VALUEGT_FP64, A, delta, NULL));
    TRY(GrB_Vector_assign_FP64(t, NULL, NULL, INFINITY, GrB_ALL, n, NULL));
    TRY(GrB_Vector_setElement_FP64(t, 0, source));
    TRY(GrB_Vector_setElement_FP64(step, 0, source));
    for (double limit = delta;; limit += delta) {
        TRY(GrB_Vector_clear(done));
        for (;;) {
            TRY(GrB_Vector_nvals(&left, step));
            if (!left) break;
            TRY(GrB_Vector_assign_BOOL(done, step, NULL, true, GrB_ALL, n, GrB_DESC_S));
            TRY(GrB_vxm(reached, NULL, NULL, GrB_MIN_PLUS_SEMIRING_FP64, step, light, NULL));
            TRY(GrB_eWiseMult(less, NULL, NULL, GrB_LT_FP64, reached, t, GrB_DESC_R));
            TRY(GrB_Vector_select_BOOL(less, NULL, NULL, GrB_VALUEEQ_BOOL, less, true, NULL));
            TRY(GrB_Vector_assign(t, less, NULL, reached, GrB_ALL, n, GrB_DESC_S));
            TRY(GrB_Vector_assign(step, less, NULL, reached, GrB_ALL, n, GrB_DESC_RS));
            TRY(GrB_Vector_select_FP64(step, NULL, NULL, GrB_VALUELT_FP64, step, limit, NULL));
        }
        TRY(GrB_Vector_assign(step, done, NULL, t, GrB_ALL, n, GrB_DESC_RS));
        TRY(GrB_vxm(reached, NULL, NULL, GrB_MIN_PLUS_SEMIRING_FP64, step, heavy, NULL));
        TRY(GrB_eWiseMult(less, NULL, NULL, GrB_LT_FP64, reached, t, GrB_DESC_R));
        TRY(GrB_Vector_select_BOOL(less, NULL, NULL, GrB_VALUEEQ_BOOL, less, true, NULL));
        TRY(GrB_Vector_assign(t, less, NULL, reached, GrB_ALL, n, GrB_DESC_S));
        /* The next bucket that is not empty. */
        double least;
        TRY(GrB_Vector_select_FP64(step, NULL, NULL, GrB_VALUEGE_FP64, t, limit, NULL));
        TRY(GrB_Vector_reduce_FP64(&least, NULL, GrB_MIN_MONOID_FP64, step, NULL));
        if (isinf(least)) break;
        limit = floor(least / delta) * delta;
        TRY(GrB_Vector_select_FP64(step, NULL, NULL, GrB_VALUELT_FP64, step, limit + delta, NULL));
    }
    GrB_Index size = n;
    TRY(GrB_Vector_extractTuples_FP64(NULL, distance, &size, t));
    GrB_Vector *const all[] = {&t, &step, &reached, &less, &done};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) TRY(GrB_Vector_free(all[i]));
    TRY(GrB_Matrix_free(&light));
    TRY(GrB_Matrix_free(&heavy));
}

/* Peels off all vertices of at most k edges, and lowers the degrees of those beside them, until there are none; then k
 * is the least degree that is left. */
static void kcore(uint32_t *core)
{
    GrB_Vector left, peeled = new_vector(GrB_INT64), lost = new_vector(GrB_INT64),
                     found = new_vector(GrB_UINT32);
    TRY(GrB_Vector_dup(&left, degree));
    for (GrB_Index vertices = n; vertices;) {
        int64_t k = 0;
        TRY(GrB_Vector_reduce_INT64(&k, NULL, GrB_MIN_MONOID_INT64, left, NULL));
        for (;;) {
            GrB_Index size;
            TRY(GrB_Vector_select_INT64(peeled, NULL, NULL, GrB_VALUELE_INT64, left, k, NULL));
            TRY(GrB_Vector_nvals(&size, peeled));
            if (!size) break;
            TRY(GrB_Vector_assign_UINT32(found, peeled, NULL, (uint32_t)k, GrB_ALL, n, GrB_DESC_S));
            TRY(GrB_Vector_assign(left, peeled, NULL, left, GrB_ALL, n, GrB_DESC_RSC));
            /* With a mask this product does not end in 7.4.0. */
            TRY(GrB_vxm(lost, NULL, NULL, GxB_PLUS_PAIR_INT64, peeled, P, NULL));
            TRY(GrB_eWiseAdd(left, left, NULL, GrB_MINUS_INT64, left, lost, GrB_DESC_RS));
        }
        TRY(GrB_Vector_nvals(&vertices, left));
    }
    GrB_Index size = n;
    TRY(GrB_Vector_extractTuples_UINT32(NULL, core, &size, found));
    GrB_Vector *const all[] = {&left, &peeled, &lost, &found};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) TRY(GrB_Vector_free(all[i]));
}

static void search_many(double *level_sum, const uint64_t *sources, uint64_t count)
{
    peer_graph_search_many(level_sum, P, sources, count);
}

static void betweenness(double *centrality, const uint64_t *sources, uint64_t count)
{
    peer_graph_betweenness(centrality, P, sources, count);
}

static uint64_t ktruss(uint32_t k)
{
    return peer_graph_ktruss(P, k);
}

static const peer_graph graphblas = {.load = load,
                                     .unload = unload,
                                     .search = search,
                                     .components = components,
                                     .pagerank = pagerank,
                                     .triangles = triangles,
                                     .clustering = clustering,
                                     .sssp = sssp,
                                     .search_many = search_many,
                                     .betweenness = betweenness,
                                     .ktruss = ktruss,
                                     .kcore = kcore};

const peer_graph *peer_graph_get(void)
{
    return &graphblas;
}
#else
const peer_graph *peer_graph_get(void)
{
    return NULL;
}
#endif
