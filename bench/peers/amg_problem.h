/* amg_problem.h: the linear systems of bench_amg, which its peers make for themselves in processes of their own. */
#ifndef DCSR_BENCH_AMG_PROBLEM_H
#define DCSR_BENCH_AMG_PROBLEM_H

#include <dcsr/reader.h>

/* The triples of A, which add up where they meet. `name`: a generator's (poisson3d7:64), a file's, or
 *
 *      anisotropic:N   2D 5-point grid of N x N, diffusion a thousand times weaker in one direction
 *      jumps:N         3D 7-point grid of N^3, of cubes of 8^3 points in which the coefficient is 1 or 10^4 in turn */
dcsr_status amg_problem_read(dcsr_coo *coo, dcsr_context *context, const char *name);
#endif
