/* peer_closure.h: the transitive closure by another library. */
#ifndef DCSR_BENCH_PEER_CLOSURE_H
#define DCSR_BENCH_PEER_CLOSURE_H

#include "bench/inputs.h"

/* By SuiteSparse:GraphBLAS, semi-naive: D = D A, any-pair, where the closure has nothing yet, until that is
 * nothing. Gives up after so many seconds, at the end of a step: false. False, too, where it was not there when the
 * benchmarks were built. */
bool peer_closure_graphblas(const bench_csr *A, int threads, double limit, uint64_t *pairs, double *seconds);

#endif
