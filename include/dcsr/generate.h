/* generate.h: generated matrices: the same on every machine for the same seed and any number of threads. */
#ifndef DCSR_GENERATE_H
#define DCSR_GENERATE_H

#include <dcsr/coo.h>

#ifdef __cplusplus
extern "C" {
#endif

/* R-MAT: a directed graph of 2^scale vertices, pattern-only; duplicates and loops are kept. a, b, c are the
 * probabilities of the upper left, upper right and lower left quadrants (Graph500: .57, .19, .19). Vertices
 * are relabelled by a random permutation that the seed determines. The call makes edges first_edge to
 * first_edge + edges - 1 of an endless stream, so that a stream can be made in batches. Errors:
 * INVALID_ARGUMENT (probabilities), TOO_LARGE. */
typedef struct dcsr_rmat {
    int scale;
    double a, b, c;
    uint64_t seed;
} dcsr_rmat;
DCSR_API dcsr_status dcsr_coo_generate_rmat(dcsr_coo *coo, dcsr_context *context, const dcsr_rmat *rmat,
                                            uint64_t first_edge, uint64_t edges);

/* Erdos-Renyi: nnz entries, row and column uniform and independent, pattern-only; duplicates are kept. */
DCSR_API dcsr_status dcsr_coo_generate_er(dcsr_coo *coo, dcsr_context *context, uint64_t rows, uint64_t cols,
                                          uint64_t nnz, uint64_t seed);

/* The Poisson problem on a grid of n points per side with Dirichlet boundary conditions: fp64, the diagonal
 * is the stencil's size - 1, other entries are -1. dimension 2 with points 5 or 9, dimension 3 with points 7
 * or 27. Rows are in lexicographic order, columns ascend. */
DCSR_API dcsr_status dcsr_coo_generate_poisson(dcsr_coo *coo, dcsr_context *context, int dimension,
                                               int points, uint64_t n);

/* The directed path 0 -> 1 -> ... -> n-1, pattern-only. */
DCSR_API dcsr_status dcsr_coo_generate_path(dcsr_coo *coo, dcsr_context *context, uint64_t n);

/* Generates what the text names: rmat:SCALE,EDGEFACTOR[,SEED] (Graph500 parameters), er:ROWS,NNZ[,SEED]
 * (square), poisson2d5:N, poisson2d9:N, poisson3d7:N, poisson3d27:N, path:N. The seed is 1 if it is left out.
 * Errors: INVALID_ARGUMENT (the message says what is wrong and gives an example); NOT_FOUND when the text
 * does not begin with the name of a generator and a colon. */
DCSR_API dcsr_status dcsr_coo_generate(dcsr_coo *coo, dcsr_context *context, const char *text);
/* The type of what the text names, without generating it. Errors: NOT_FOUND as above. */
DCSR_API dcsr_status dcsr_generator_get_type(const char *text, dcsr_type *type);

/* The generators that dcsr_coo_generate() knows: number 0, 1, ...; NULL beyond the last. The texts are
 * constant. */
typedef struct dcsr_generator {
    const char *name, *numbers, *example; /* "er", "ROWS,NNZ[,SEED]", "er:1000,5000" */
} dcsr_generator;
DCSR_API const dcsr_generator *dcsr_generator_at(uint64_t number);

#ifdef __cplusplus
}
#endif
#endif
