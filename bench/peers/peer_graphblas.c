/* peer_graphblas.c: SuiteSparse:GraphBLAS, for products and for changing matrices.
 *
 * The product is y += A x into a dense y that was zeroed before: GraphBLAS then works in place, which was at
 * least as fast as y = A x, whose result it allocates anew each time. */
#include "bench/peers/peers.h"

#ifdef DCSR_PEER_GRAPHBLAS
#include <GraphBLAS.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRING_(x) #x
#define STRING(x)  STRING_(x)
#define TRY(call)                                                                            \
    do {                                                                                     \
        GrB_Info info_ = (call);                                                             \
        if (info_ != GrB_SUCCESS) bench_die("GraphBLAS: %s returned %d", #call, (int)info_); \
    } while (0)

struct peer_graph {
    GrB_Matrix matrix;
    GrB_Vector x, y;
    bool pattern;
};

static void start(int threads)
{
    static bool started;
    if (!started) TRY(GrB_init(GrB_NONBLOCKING));
    started = true;
    TRY(GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, threads));
    TRY(GxB_Global_Option_set(GxB_FORMAT, GxB_BY_ROW));
}

bool peer_graph_available(void)
{
    return true;
}

/* A matrix of the batch. Of entries with the same place the last stays. */
static GrB_Matrix build(const bench_entries *batch, uint64_t rows, uint64_t cols, bool pattern,
                        GrB_BinaryOp combine)
{
    GrB_Matrix matrix;
    TRY(GrB_Matrix_new(&matrix, pattern ? GrB_BOOL : GrB_FP64, rows, cols));
    if (pattern) {
        GrB_Scalar one;
        TRY(GrB_Scalar_new(&one, GrB_BOOL));
        TRY(GrB_Scalar_setElement_BOOL(one, true));
        TRY(GxB_Matrix_build_Scalar(matrix, batch->row, batch->col, one, batch->n));
        TRY(GrB_Scalar_free(&one));
    } else {
        TRY(GrB_Matrix_build_FP64(matrix, batch->row, batch->col, batch->value, batch->n, combine));
    }
    TRY(GrB_Matrix_wait(matrix, GrB_MATERIALIZE));
    return matrix;
}

peer_graph *peer_graph_create(uint64_t rows, uint64_t cols, bool pattern, const bench_entries *entries,
                              int threads)
{
    start(threads);
    peer_graph *graph = bench_alloc(1, sizeof *graph);
    *graph = (peer_graph){.pattern = pattern, .matrix = build(entries, rows, cols, pattern, GrB_SECOND_FP64)};
    TRY(GrB_Vector_new(&graph->x, GrB_FP64, cols));
    TRY(GrB_Vector_new(&graph->y, GrB_FP64, rows));
    return graph;
}

void peer_graph_destroy(peer_graph *graph)
{
    GrB_Matrix_free(&graph->matrix);
    GrB_Vector_free(&graph->x);
    GrB_Vector_free(&graph->y);
    free(graph);
}

static void size_of(peer_graph *graph, GrB_Index *rows, GrB_Index *cols)
{
    TRY(GrB_Matrix_nrows(rows, graph->matrix));
    TRY(GrB_Matrix_ncols(cols, graph->matrix));
}

static void add_matrix(peer_graph *graph, const bench_entries *batch, GrB_BinaryOp combine)
{
    GrB_Index rows, cols;
    size_of(graph, &rows, &cols);
    GrB_Matrix more = build(batch, rows, cols, graph->pattern, combine);
    TRY(GrB_Matrix_eWiseAdd_BinaryOp(graph->matrix, NULL, NULL, combine, graph->matrix, more, NULL));
    TRY(GrB_Matrix_wait(graph->matrix, GrB_MATERIALIZE));
    TRY(GrB_Matrix_free(&more));
}

void peer_graph_insert(peer_graph *graph, const bench_entries *batch, peer_way way)
{
    if (way == PEER_BUILD) {
        add_matrix(graph, batch, graph->pattern ? GxB_ANY_BOOL : GrB_SECOND_FP64);
        return;
    }
    if (graph->pattern)
        for (size_t i = 0; i < batch->n; i++)
            TRY(GrB_Matrix_setElement_BOOL(graph->matrix, true, batch->row[i], batch->col[i]));
    else
        for (size_t i = 0; i < batch->n; i++)
            TRY(GrB_Matrix_setElement_FP64(graph->matrix, batch->value[i], batch->row[i], batch->col[i]));
    TRY(GrB_Matrix_wait(graph->matrix, GrB_MATERIALIZE));
}

void peer_graph_add(peer_graph *graph, const bench_entries *batch)
{
    add_matrix(graph, batch, GrB_PLUS_FP64);
}

void peer_graph_remove(peer_graph *graph, const bench_entries *batch, peer_way way)
{
    if (way == PEER_BUILD) {
        GrB_Index rows, cols;
        size_of(graph, &rows, &cols);
        GrB_Matrix mask = build(batch, rows, cols, true, NULL);
        TRY(GrB_Matrix_assign(graph->matrix, mask, NULL, graph->matrix, GrB_ALL, rows, GrB_ALL, cols,
                              GrB_DESC_RSC));
        TRY(GrB_Matrix_free(&mask));
    } else {
        for (size_t i = 0; i < batch->n; i++)
            TRY(GrB_Matrix_removeElement(graph->matrix, batch->row[i], batch->col[i]));
    }
    TRY(GrB_Matrix_wait(graph->matrix, GrB_MATERIALIZE));
}

uint64_t peer_graph_nnz(peer_graph *graph)
{
    GrB_Index nnz;
    TRY(GrB_Matrix_nvals(&nnz, graph->matrix));
    return nnz;
}

double peer_graph_bytes(peer_graph *graph)
{
    size_t bytes;
    TRY(GxB_Matrix_memoryUsage(&bytes, graph->matrix));
    return (double)bytes;
}

/* Lends an array to a vector, and takes it back. Both cost the same whatever the length. */
static void lend(GrB_Vector vector, const double *values, uint64_t length)
{
    void *block = (void *)(uintptr_t)values;
    TRY(GxB_Vector_pack_Full(vector, &block, length * sizeof *values, false, NULL));
}

static void *take_back(GrB_Vector vector)
{
    void *block = NULL;
    GrB_Index bytes;
    bool iso;
    TRY(GxB_Vector_unpack_Full(vector, &block, &bytes, &iso, NULL));
    return block;
}

void peer_graph_multiply(peer_graph *graph, double *y, const double *x)
{
    GrB_Index rows, cols;
    size_of(graph, &rows, &cols);
    lend(graph->x, x, cols);
    memset(y, 0, rows * sizeof *y);
    lend(graph->y, y, rows);
    TRY(GrB_mxv(graph->y, NULL, GrB_PLUS_FP64, GrB_PLUS_TIMES_SEMIRING_FP64, graph->matrix, graph->x, NULL));
    if (take_back(graph->y) != y) bench_die("GraphBLAS did not work in place");
    take_back(graph->x);
}

/* The product. */
static void *product_create(const bench_csr *A, int threads, bool quick, char note[PEER_NOTE])
{
    (void)quick;
    bench_entries entries = bench_entries_from_csr(A);
    peer_graph *graph = peer_graph_create(A->rows, A->cols, false, &entries, threads);
    bench_entries_free(&entries);
    snprintf(note, PEER_NOTE, "in place, by rows, 64-bit columns");
    return graph;
}

static void product_multiply(void *self, void *y, const void *x)
{
    peer_graph_multiply(self, y, x);
}

static void product_destroy(void *self)
{
    peer_graph_destroy(self);
}

static const char *product_version(void)
{
    return "SuiteSparse:GraphBLAS " STRING(GxB_IMPLEMENTATION_MAJOR) "." STRING(
        GxB_IMPLEMENTATION_MINOR) "." STRING(GxB_IMPLEMENTATION_SUB);
}

const peer_product peer_graphblas_product = {
    "graphblas", false, DCSR_FP64, product_version, product_create, product_multiply, product_destroy};

#else

const peer_product peer_graphblas_product = {.name = "graphblas"};

bool peer_graph_available(void)
{
    return false;
}

peer_graph *peer_graph_create(uint64_t rows, uint64_t cols, bool pattern, const bench_entries *entries,
                              int threads)
{
    (void)rows, (void)cols, (void)pattern, (void)entries, (void)threads;
    return NULL;
}

/* Without GraphBLAS there is no graph to call these with. */
void peer_graph_insert(peer_graph *graph, const bench_entries *batch, peer_way way)
{
    (void)graph, (void)batch, (void)way;
}

void peer_graph_add(peer_graph *graph, const bench_entries *batch)
{
    (void)graph, (void)batch;
}

void peer_graph_remove(peer_graph *graph, const bench_entries *batch, peer_way way)
{
    (void)graph, (void)batch, (void)way;
}

uint64_t peer_graph_nnz(peer_graph *graph)
{
    (void)graph;
    return 0;
}

double peer_graph_bytes(peer_graph *graph)
{
    (void)graph;
    return 0;
}

void peer_graph_multiply(peer_graph *graph, double *y, const double *x)
{
    (void)graph, (void)y, (void)x;
}

void peer_graph_destroy(peer_graph *graph)
{
    (void)graph;
}

#endif
