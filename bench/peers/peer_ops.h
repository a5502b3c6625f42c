/* peer_ops.h: one operation of the library beside the same of SuiteSparse:GraphBLAS (bench_ops_*.c).
 *
 * An ops_object is one matrix or vector of fp64 that both hold. An ops_call is one operation on such;
 * ops_measure() runs it in turns by both, on the same entries in the same process, compares what they
 * compute, and prints a row.
 *
 * GraphBLAS is given the best of what it can do in several ways: matrices by row or by column, and for
 * results of which every element is there, setting them to zero first and accumulating, which it does in
 * place. All are tried, and the fastest is the one that is measured. It finishes its work inside the time
 * that is measured (GrB_wait), but for the order of a product's rows where that is the fastest. */
#ifndef DCSR_BENCH_PEER_OPS_H
#define DCSR_BENCH_PEER_OPS_H

#include "bench/inputs.h"
#include <dcsr/desc.h>

typedef struct ops_object {
    uint64_t rows, cols; /* a vector has one column */
    dcsr_matrix *matrix;
    dcsr_view *view;
    dcsr_vector *vector;
    double *dense;          /* of SpMM: row-major */
    void *peer, *by_column; /* a GrB_Matrix or GrB_Vector; a copy of the matrix by column */
} ops_object;

/* Matrices and vectors are told apart by the output. */
typedef enum ops_kind {
    OPS_MXV,
    OPS_VXM,
    OPS_SPMM,
    OPS_MXM,
    OPS_EWISE_ADD,
    OPS_EWISE_MULT,
    OPS_APPLY,
    OPS_APPLY_SECOND,
    OPS_SELECT,
    OPS_REDUCE,      /* to call->total */
    OPS_REDUCE_ROWS, /* to a vector */
    OPS_TRANSPOSE,
    OPS_EXTRACT,
    OPS_ASSIGN,
    OPS_ASSIGN_SCALAR
} ops_kind;

typedef struct ops_call {
    ops_kind kind;
    const char *op; /* of the operator, monoid or semiring */
    ops_object *out, *mask, *a, *b;
    dcsr_desc desc;
    double scalar; /* thunk, second operand, value */
    const uint64_t *rows, *cols;
    uint64_t nrows, ncols;
    bool fresh; /* before each call the matrix gets a new version, so that nothing is kept from the last call
                 */
    double total, peer_total;
} ops_call;

/* The operation by the library; dies when it fails. */
void ops_run(ops_call *call);

/* Objects. Empty ones are outputs. Of a matrix the library gets the layout, the peer a copy by row and one by
 * column. */
ops_object ops_matrix(bench *b, const bench_csr *csr, dcsr_layout layout);
ops_object ops_empty_matrix(bench *b, uint64_t rows, uint64_t cols);
/* A vector with this share of its elements, chosen by the seed; 1: every element, 0: none. At least one where
 * the share is not 0. */
ops_object ops_vector(bench *b, uint64_t size, double share, uint64_t seed);
ops_object ops_dense(bench *b, uint64_t rows, uint64_t cols);
void ops_free(ops_object *object);

/* Ratios of the peer's time to ours, per group of rows. */
typedef struct ops_contest {
    bench *b;
    bench_table *table;
    struct ops_group *groups;
    int group_count;
} ops_contest;

void ops_contest_begin(ops_contest *c, bench *b, const char *name, const char *title);
/* Measures one row. `group` gathers rows for the summary; `input` names what it ran on; share is that of the
 * vector or mask the row is about, or not a number. */
void ops_measure(ops_contest *c, const char *group, const char *input, double share, ops_call call);
/* Prints, per group and over all rows, the geometric mean and the least of the ratios. */
void ops_contest_end(ops_contest *c);

/* The peer (peer_ops_graphblas.c); NULL where it was not there when the benchmarks were built. */
typedef enum peer_ops_way {
    PEER_BY_ROW,
    PEER_BY_COLUMN,
    PEER_IN_PLACE,
    PEER_UNSORTED, /* of a product of matrices: its rows are not in order yet, and who reads them sorts them */
    PEER_OPS_WAYS
} peer_ops_way;
typedef struct peer_ops {
    void (*start)(int threads);
    void *(*matrix)(const bench_csr *csr, bool by_column);
    void *(*empty)(uint64_t rows, uint64_t cols);
    /* A vector of these elements; every one where n is the size. */
    void *(*vector)(uint64_t size, uint64_t n, const uint64_t *indices, const double *values);
    void *(*dense)(uint64_t rows, uint64_t cols, const double *values);
    void (*free_matrix)(void *matrix);
    void (*free_vector)(void *vector);
    bool (*can)(const ops_call *call, peer_ops_way way);
    void (*run)(ops_call *call, peer_ops_way way);
    /* The entries of an output, ascending; arrays to be freed. rows and cols may be NULL. */
    uint64_t (*entries)(const ops_call *call, uint64_t **rows, uint64_t **cols, double **values);
} peer_ops;
const peer_ops *peer_ops_get(void);

#endif
