/* peer_closure_graphblas.c: the transitive closure by SuiteSparse:GraphBLAS. */
#include "bench/peers/peer_closure.h"

#ifdef DCSR_PEER_GRAPHBLAS
#include <GraphBLAS.h>
#include <stdlib.h>

#define TRY(expression)                                                                            \
    do {                                                                                           \
        GrB_Info info_ = (expression);                                                             \
        if (info_ != GrB_SUCCESS) bench_die("GraphBLAS: %s returned %d", #expression, (int)info_); \
    } while (0)

static GrB_Matrix make(const bench_csr *A)
{
    GrB_Matrix matrix;
    GrB_Index *columns = bench_alloc(A->nnz + 1, sizeof *columns);
    bool *values = bench_alloc(A->nnz + 1, sizeof *values);
    for (uint64_t k = 0; k < A->nnz; k++) columns[k] = A->columns[k], values[k] = true;
    TRY(GrB_Matrix_import_BOOL(&matrix, GrB_BOOL, A->rows, A->cols, A->offsets, columns, values, A->rows + 1,
                               A->nnz, A->nnz, GrB_CSR_FORMAT));
    TRY(GrB_Matrix_wait(matrix, GrB_MATERIALIZE));
    free(columns), free(values);
    return matrix;
}

bool peer_closure_graphblas(const bench_csr *A, int threads, double limit, uint64_t *pairs, double *seconds)
{
    static bool started;
    GrB_Matrix edges, closure, fresh;
    GrB_Index found = 1;
    if (!started) TRY(GrB_init(GrB_NONBLOCKING));
    started = true;
    TRY(GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, threads));
    edges = make(A);
    const double start = bench_now();
    TRY(GrB_Matrix_dup(&closure, edges));
    TRY(GrB_Matrix_dup(&fresh, edges));
    while (found && bench_now() - start < limit) {
        TRY(GrB_mxm(fresh, closure, NULL, GxB_ANY_PAIR_BOOL, fresh, edges, GrB_DESC_RSC));
        TRY(GrB_Matrix_nvals(&found, fresh));
        if (found) TRY(GrB_Matrix_eWiseAdd_BinaryOp(closure, NULL, NULL, GxB_ANY_BOOL, closure, fresh, NULL));
    }
    TRY(GrB_Matrix_nvals(pairs, closure));
    *seconds = bench_now() - start;
    TRY(GrB_Matrix_free(&edges));
    TRY(GrB_Matrix_free(&closure));
    TRY(GrB_Matrix_free(&fresh));
    return !found;
}
#else
bool peer_closure_graphblas(const bench_csr *A, int threads, double limit, uint64_t *pairs, double *seconds)
{
    (void)A, (void)threads, (void)limit, (void)pairs, (void)seconds;
    return false;
}
#endif
