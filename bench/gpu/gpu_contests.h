/* gpu_contests.h: what the benchmarks of operations measure besides where their context is on a GPU. */
#ifndef DCSR_BENCH_GPU_CONTESTS_H
#define DCSR_BENCH_GPU_CONTESTS_H

#include "bench/inputs.h"

/* Tables of products with these matrices (the list ends with NULL): beside cuSPARSE, and with vectors of few
 * elements beside those of all (gpu_products.c). */
void gpu_contest_products(bench *b, const char *const *matrices);

/* A table of operations whose result is a matrix, with these matrices, beside cuSPARSE where it has them
 * (gpu_matrices.c). */
void gpu_contest_matrices(bench *b, const char *const *matrices);

/* A table of calls that are made to run on the host, or on the device, over sizes; it tells what
 * DCSR_I_WORTH_DEVICE and DCSR_I_WORTH_STAYING of ops/algebra/dispatch.h ought to be (gpu_placing.c). */
void gpu_contest_placing(bench *b);

#endif
