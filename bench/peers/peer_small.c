/* peer_small.c: small matrices of SuiteSparse:GraphBLAS. */
#include "bench/peers/peer_small.h"

#ifdef DCSR_PEER_GRAPHBLAS
#include <GraphBLAS.h>

#define TRY(call)                                                                            \
    do {                                                                                     \
        GrB_Info info_ = (call);                                                             \
        if (info_ != GrB_SUCCESS) bench_die("GraphBLAS: %s returned %d", #call, (int)info_); \
    } while (0)

static void *create(uint64_t rows, uint64_t cols)
{
    GrB_Matrix matrix;
    TRY(GrB_Matrix_new(&matrix, GrB_FP64, rows, cols));
    return matrix;
}

static void finish(void *matrix)
{
    TRY(GrB_Matrix_wait(matrix, GrB_MATERIALIZE));
}

static void fill(void *matrix, const bench_entries *entries)
{
    TRY(GrB_Matrix_build_FP64(matrix, entries->row, entries->col, entries->value, entries->n,
                              GrB_SECOND_FP64));
    finish(matrix);
}

static void set(void *matrix, uint64_t row, uint64_t col, double value)
{
    TRY(GrB_Matrix_setElement_FP64(matrix, value, row, col));
}

static double get(void *matrix, uint64_t row, uint64_t col)
{
    double value = 0;
    TRY(GrB_Matrix_extractElement_FP64(&value, matrix, row, col));
    return value;
}

static void destroy(void *matrix)
{
    GrB_Matrix freed = matrix;
    TRY(GrB_Matrix_free(&freed));
}

const peer_small *peer_small_graphblas(int threads)
{
    static const peer_small graphblas = {"graphblas", create, fill, set, get, set, finish, destroy};
    static bool started;
    if (!started) TRY(GrB_init(GrB_NONBLOCKING));
    started = true;
    TRY(GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, threads));
    TRY(GxB_Global_Option_set(GxB_FORMAT, GxB_BY_ROW));
    return &graphblas;
}

#else

const peer_small *peer_small_graphblas(int threads)
{
    (void)threads;
    return NULL;
}

#endif
