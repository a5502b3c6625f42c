/* peers.h: other people's matrices, and a rebuilt CSR of our own, measured beside the store.
 *
 * A peer that was not found when the benchmarks were built has no create function, and its name is in no
 * list. */
#ifndef DCSR_BENCH_PEERS_H
#define DCSR_BENCH_PEERS_H

#include "bench/inputs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The peers that are there for matrices on the host or on a GPU, "Eigen 3.4.0, librsb 1.3.0"; "" for none. */
void peer_versions(bool gpu, char *text, size_t capacity);

/* Products y = A x. */
enum { PEER_NOTE = 64 };
typedef struct peer_product {
    const char *name;
    bool gpu;       /* works on a GPU */
    dcsr_type type; /* of the values, of x and of y */
    /* "Eigen 3.4.0"; NULL when the peer is looked for as the program runs and is not there. */
    const char *(*version)(void);
    /* Makes the peer's own form of the matrix and tunes it for `threads` threads; `note` says how it was set
     * up. `quick` saves on tuning. */
    void *(*create)(const bench_csr *A, int threads, bool quick, char note[PEER_NOTE]);
    /* x and y are where the peer works; on a GPU the product is put on the stream of gpu.h. */
    void (*multiply)(void *self, void *y, const void *x);
    void (*destroy)(void *self);
} peer_product;

extern const peer_product peer_graphblas_product, peer_eigen_product, peer_rsb_product;
/* cuSPARSE with two of its algorithms, of builds with CUDA. */
extern const peer_product peer_cusparse_fp64, peer_cusparse_alg2_fp64, peer_cusparse_fp32,
    peer_cusparse_alg2_fp32;
/* The i-th of those that are there, for such values in such a place; NULL behind the last. */
const peer_product *peer_products(bool gpu, dcsr_type type, size_t i);

/* Products Y = A X with row-major X and Y of some columns, which stay where they are, on a GPU; put on the
 * stream of gpu.h. */
typedef struct peer_block_product {
    const char *name;
    const char *(*version)(void); /* as of peer_product */
    void *(*create)(const bench_csr *A, dcsr_type type, uint64_t columns, void *Y, void *X);
    void (*multiply)(void *self);
    void (*destroy)(void *self);
} peer_block_product;
/* NULL where there is none. */
const peer_block_product *peer_block_products(void);
extern const peer_block_product peer_cusparse_block; /* of builds with CUDA */

/* Operations on fp64 matrices whose result is a matrix: of each the peer has the fastest form, on a GPU with memory
 * that it has had before. */
typedef enum peer_matrix_kind {
    PEER_ADD,
    PEER_TRANSPOSE,
    PEER_MULTIPLY,
    PEER_REPEAT
} peer_matrix_kind; /* A + B, A^T, A A; A A once more, where its pattern is known */
typedef struct peer_matrices {
    const char *name;
    const char *(*version)(void); /* as of peer_product */
    void *(*create)(peer_matrix_kind kind, const bench_csr *A, const bench_csr *B);
    /* On a GPU puts it on the stream of gpu.h; returns how many entries the result has. */
    uint64_t (*run)(void *self);
    void (*destroy)(void *self);
    uint64_t (*bytes)(void *self); /* on a GPU: the memory that run() has taken, for the result too */
} peer_matrices;
/* On a GPU. NULL where there is none. */
const peer_matrices *peer_matrix_operations(void);
extern const peer_matrices peer_cusparse_matrices; /* of builds with CUDA */
/* On the host, by one thread: A A alone, with rows in order. */
extern const peer_matrices peer_eigen_matrices;

/* An fp64 matrix made of triples in any order, those of one position added up; on the host, by one thread. */
typedef struct peer_build {
    const char *name;
    const char *(*version)(void); /* as of peer_product; NULL: it is not there */
    void *(*create)(const bench_entries *entries, uint64_t rows,
                    uint64_t cols); /* the triples, as the peer has them */
    uint64_t (*run)(void *self);    /* makes the matrix and drops it; returns how many entries it had */
    void (*destroy)(void *self);
} peer_build;
extern const peer_build peer_eigen_build;

/* SuiteSparse:GraphBLAS as a matrix that changes. Two ways of changing it: */
typedef enum peer_way {
    PEER_SET,   /* GrB_Matrix_setElement or removeElement for each entry, then GrB_wait */
    PEER_BUILD, /* a matrix is built of the batch, then added to the large one, or its pattern masked out of
                   it */
    PEER_WAYS
} peer_way;
typedef struct peer_graph peer_graph;
bool peer_graph_available(void);
/* Pattern-only matrices are iso-valued bool, the others fp64. */
peer_graph *peer_graph_create(uint64_t rows, uint64_t cols, bool pattern, const bench_entries *entries,
                              int threads);
/* A new value replaces the old one. Finished when it returns: the matrix holds no pending work. */
void peer_graph_insert(peer_graph *graph, const bench_entries *batch, peer_way way);
/* The values of entries that stand already are added to (fp64 only). */
void peer_graph_add(peer_graph *graph, const bench_entries *batch);
void peer_graph_remove(peer_graph *graph, const bench_entries *batch, peer_way way);
uint64_t peer_graph_nnz(peer_graph *graph);
/* Bytes of the matrix, as GraphBLAS itself counts them. */
double peer_graph_bytes(peer_graph *graph);
/* fp64 only. */
void peer_graph_multiply(peer_graph *graph, double *y, const double *x);
void peer_graph_destroy(peer_graph *graph);

/* A CSR that is made anew for each batch: the new entries are sorted, then merged with the old arrays into a
 * second set of arrays by all threads, the runs of old entries between two new ones by memcpy(). Both sets
 * are kept, so that no rebuild pays for fresh memory. 32-bit columns, 64-bit offsets. */
typedef struct peer_csr peer_csr;
peer_csr *peer_csr_create(const bench_csr *A);
/* The values of entries that stand already are added to. */
void peer_csr_add(peer_csr *csr, const bench_entries *batch);
const bench_csr *peer_csr_get(const peer_csr *csr);
void peer_csr_destroy(peer_csr *csr);
/* The plain product of a CSR: rows shared out by entries, four partial sums in a row that is long enough. */
void peer_csr_multiply(const bench_csr *csr, double *y, const double *x);

#ifdef __cplusplus
}
#endif
#endif
