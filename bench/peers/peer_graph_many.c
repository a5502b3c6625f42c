/* peer_graph_many.c: graph algorithms over SuiteSparse:GraphBLAS whose frontiers are matrices, and trusses. */
#include "bench/peers/peer_graph_many.h"

#ifdef DCSR_PEER_GRAPHBLAS
#include <GraphBLAS.h>
#include <stdlib.h>

#define TRY(expression)                                                                            \
    do {                                                                                           \
        GrB_Info info_ = (expression);                                                             \
        if (info_ != GrB_SUCCESS) bench_die("GraphBLAS: %s returned %d", #expression, (int)info_); \
    } while (0)

static GrB_Matrix new_matrix(GrB_Type type, GrB_Index rows, GrB_Index cols)
{
    GrB_Matrix matrix;
    TRY(GrB_Matrix_new(&matrix, type, rows, cols));
    return matrix;
}

/* level<frontier> = depth, frontier<not level> = frontier P: a row for each source. */
void peer_graph_search_many(double *level_sum, GrB_Matrix P, const uint64_t *sources, uint64_t count)
{
    GrB_Index n, left = count;
    TRY(GrB_Matrix_nrows(&n, P));
    GrB_Matrix frontier = new_matrix(GrB_BOOL, count, n), level = new_matrix(GrB_INT32, count, n);
    GrB_Vector sums;
    TRY(GrB_Vector_new(&sums, GrB_FP64, count));
    for (GrB_Index k = 0; k < count; k++) TRY(GrB_Matrix_setElement_BOOL(frontier, true, k, sources[k]));
    for (int32_t depth = 0; left; depth++) {
        TRY(GrB_Matrix_assign_INT32(level, frontier, NULL, depth, GrB_ALL, count, GrB_ALL, n, GrB_DESC_S));
        TRY(GrB_mxm(frontier, level, NULL, GxB_ANY_PAIR_BOOL, frontier, P, GrB_DESC_RSC));
        TRY(GrB_Matrix_nvals(&left, frontier));
    }
    TRY(GrB_Matrix_reduce_Monoid(sums, NULL, NULL, GrB_PLUS_MONOID_FP64, level, NULL));
    for (GrB_Index k = 0; k < count; k++) TRY(GrB_Vector_extractElement_FP64(&level_sum[k], sums, k));
    TRY(GrB_Matrix_free(&frontier));
    TRY(GrB_Matrix_free(&level));
    TRY(GrB_Vector_free(&sums));
}

/* Backwards over the levels: what depends on a vertex, from what depends on those below it. */
static void add_dependences(GrB_Matrix update, GrB_Matrix paths, GrB_Matrix *levels, uint64_t depth,
                            GrB_Matrix P)
{
    GrB_Index n, count;
    TRY(GrB_Matrix_nrows(&count, paths));
    TRY(GrB_Matrix_ncols(&n, paths));
    GrB_Matrix W = new_matrix(GrB_FP64, count, n);
    TRY(GrB_Matrix_assign_FP64(update, NULL, NULL, 1, GrB_ALL, count, GrB_ALL, n, NULL));
    for (uint64_t d = depth - 1; d > 0; d--) {
        TRY(GrB_eWiseMult(W, levels[d], NULL, GrB_DIV_FP64, update, paths, GrB_DESC_RS));
        TRY(GrB_mxm(W, levels[d - 1], NULL, GxB_PLUS_FIRST_FP64, W, P, GrB_DESC_RS));
        TRY(GrB_eWiseMult(update, NULL, GrB_PLUS_FP64, GrB_TIMES_FP64, W, paths, NULL));
    }
    TRY(GrB_Matrix_free(&W));
}

/* LAGraph's batched Brandes; P is symmetric. */
void peer_graph_betweenness(double *centrality, GrB_Matrix P, const uint64_t *sources, uint64_t count)
{
    GrB_Index n, left = 1, size;
    TRY(GrB_Matrix_nrows(&n, P));
    GrB_Matrix paths = new_matrix(GrB_FP64, count, n), frontier = new_matrix(GrB_FP64, count, n),
               update = new_matrix(GrB_FP64, count, n), *levels = bench_alloc(n, sizeof *levels);
    GrB_Vector sums;
    uint64_t depth = 0;
    TRY(GrB_Vector_new(&sums, GrB_FP64, n));
    TRY(GxB_set(paths, GxB_SPARSITY_CONTROL, GxB_BITMAP + GxB_FULL));
    for (GrB_Index k = 0; k < count; k++) TRY(GrB_Matrix_setElement_FP64(paths, 1, k, sources[k]));
    TRY(GrB_Matrix_extract(frontier, paths, NULL, P, sources, count, GrB_ALL, n, GrB_DESC_RSC));
    for (;; depth++) {
        TRY(GrB_Matrix_nvals(&left, frontier));
        if (!left) break;
        levels[depth] = new_matrix(GrB_BOOL, count, n);
        TRY(GrB_Matrix_apply(levels[depth], NULL, NULL, GxB_ONE_BOOL, frontier, NULL));
        TRY(GrB_Matrix_assign(paths, NULL, GrB_PLUS_FP64, frontier, GrB_ALL, count, GrB_ALL, n, NULL));
        TRY(GrB_mxm(frontier, paths, NULL, GxB_PLUS_FIRST_FP64, frontier, P, GrB_DESC_RSC));
    }
    if (depth) add_dependences(update, paths, levels, depth, P);
    TRY(GrB_Vector_assign_FP64(sums, NULL, NULL, depth ? -(double)count : 0, GrB_ALL, n, NULL));
    TRY(GrB_Matrix_reduce_Monoid(sums, NULL, GrB_PLUS_FP64, GrB_PLUS_MONOID_FP64, update, GrB_DESC_T0));
    size = n;
    TRY(GrB_Vector_extractTuples_FP64(NULL, centrality, &size, sums));
    while (depth--) TRY(GrB_Matrix_free(&levels[depth]));
    free(levels);
    GrB_Matrix *const all[] = {&paths, &frontier, &update};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) TRY(GrB_Matrix_free(all[i]));
    TRY(GrB_Vector_free(&sums));
}

/* C<C> = C C' over plus-pair, without what has too little, until nothing goes. */
uint64_t peer_graph_ktruss(GrB_Matrix P, uint32_t k)
{
    GrB_Index n, before = 0, left;
    TRY(GrB_Matrix_nrows(&n, P));
    GrB_Matrix C = new_matrix(GrB_UINT32, n, n);
    TRY(GrB_Matrix_assign(C, NULL, NULL, P, GrB_ALL, n, GrB_ALL, n, NULL));
    TRY(GrB_Matrix_nvals(&left, C));
    while (left != before) {
        before = left;
        TRY(GrB_mxm(C, C, NULL, GxB_PLUS_PAIR_UINT32, C, C, GrB_DESC_RST1));
        TRY(GrB_Matrix_select_UINT32(C, NULL, NULL, GrB_VALUEGE_UINT32, C, k - 2, NULL));
        TRY(GrB_Matrix_nvals(&left, C));
    }
    TRY(GrB_Matrix_free(&C));
    return left / 2;
}
#endif
