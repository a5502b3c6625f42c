/* peer_small.h: small matrices, of the store and of SuiteSparse:GraphBLAS, behind one interface (bench_small.c). */
#ifndef DCSR_BENCH_PEER_SMALL_H
#define DCSR_BENCH_PEER_SMALL_H

#include "bench/inputs.h"

typedef struct peer_small {
    const char *name;
    void *(*create)(uint64_t rows, uint64_t cols); /* empty, of fp64 */
    /* Entries for an empty matrix, and all that has been left for later. */
    void (*fill)(void *matrix, const bench_entries *entries);
    void (*set)(void *matrix, uint64_t row, uint64_t col, double value);
    double (*get)(void *matrix, uint64_t row, uint64_t col);
    /* As set(), but it may be left for later; finish() is when it has been done. */
    void (*insert)(void *matrix, uint64_t row, uint64_t col, double value);
    void (*finish)(void *matrix);
    void (*destroy)(void *matrix);
} peer_small;

/* NULL where GraphBLAS was not found when the benchmarks were built. */
const peer_small *peer_small_graphblas(int threads);

#endif
