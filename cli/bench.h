/* bench.h: what `dcsr bench` measures: a table of operations, and the objects they work on. */
#ifndef DCSR_CLI_BENCH_H
#define DCSR_CLI_BENCH_H

#include "cli/cli.h"
#include <dcsr/desc.h>

/* The operands of all operations; those that one does not take are NULL. */
typedef struct bench_operands {
    dcsr_type type;
    const dcsr_semiring *semiring;
    dcsr_matrix *matrix, *C; /* the input, and an output of the shape that the operation has */
    dcsr_view *A;
    dcsr_view_info info; /* of A */
    dcsr_vector *u, *v, *w, *mask;
    void *X, *Y; /* of spmm, row-major */
    uint64_t columns;
    uint64_t *places; /* every second row or element, in ascending order */
    uint64_t places_n;
    double scalar[1]; /* room for one value of any type: a total, a thunk, a second operand */
    dcsr_desc desc;
    dcsr_report report;
} bench_operands;

/* What an operation takes. */
enum {
    BENCH_A = 1,         /* the matrix */
    BENCH_U = 2,         /* a vector with --density of its elements */
    BENCH_V = 4,         /* another one */
    BENCH_W = 8,         /* a vector for the result */
    BENCH_C = 16,        /* a matrix for the result */
    BENCH_MASK = 32,     /* --mask-density */
    BENCH_SEMIRING = 64, /* --semiring */
    BENCH_DENSE = 128,   /* X and Y */
    BENCH_PLACES = 256,
    BENCH_U_COLUMNS = 512, /* u is as long as the matrix has columns, not rows; likewise w */
    BENCH_W_COLUMNS = 1024,
    BENCH_C_TRANSPOSED = 2048, /* C has the shape of A^T, or of A A^T, not that of A */
    BENCH_C_SQUARE = 4096
};

typedef struct bench_operation {
    const char *name, *summary;
    unsigned takes;
    dcsr_status (*run)(bench_operands *o);
} bench_operation;

/* Ends with a row without a name. */
extern const bench_operation bench_operations[];

#endif
