/* peer_ops_graphblas.c: operations by SuiteSparse:GraphBLAS. */
#include "bench/peers/peer_ops.h"

#ifdef DCSR_PEER_GRAPHBLAS
#include <GraphBLAS.h>
#include <stdlib.h>
#include <string.h>

#define TRY(expression)                                                                            \
    do {                                                                                           \
        GrB_Info info_ = (expression);                                                             \
        if (info_ != GrB_SUCCESS) bench_die("GraphBLAS: %s returned %d", #expression, (int)info_); \
    } while (0)

static void start(int threads)
{
    static bool started;
    if (!started) TRY(GrB_init(GrB_NONBLOCKING));
    started = true;
    TRY(GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, threads));
    TRY(GxB_Global_Option_set(GxB_FORMAT, GxB_BY_ROW));
}

/* Objects */

static void *make_matrix(const bench_csr *csr, bool by_column)
{
    GrB_Matrix matrix;
    GrB_Index *columns = bench_alloc(csr->nnz, sizeof *columns);
    for (uint64_t k = 0; k < csr->nnz; k++) columns[k] = csr->columns[k];
    TRY(GrB_Matrix_import_FP64(&matrix, GrB_FP64, csr->rows, csr->cols, csr->offsets, columns, csr->values,
                               csr->rows + 1, csr->nnz, csr->nnz, GrB_CSR_FORMAT));
    free(columns);
    if (by_column) TRY(GxB_Matrix_Option_set(matrix, GxB_FORMAT, GxB_BY_COL));
    TRY(GrB_Matrix_wait(matrix, GrB_MATERIALIZE));
    return matrix;
}

static void *make_empty(uint64_t rows, uint64_t cols)
{
    GrB_Matrix matrix;
    TRY(GrB_Matrix_new(&matrix, GrB_FP64, rows, cols));
    return matrix;
}

static void *make_vector(uint64_t size, uint64_t n, const uint64_t *indices, const double *values)
{
    GrB_Vector vector;
    TRY(GrB_Vector_new(&vector, GrB_FP64, size));
    if (n == size && n) {
        void *array = bench_alloc(n, sizeof *values);
        memcpy(array, values, n * sizeof *values);
        TRY(GxB_Vector_pack_Full(vector, &array, n * sizeof *values, false, NULL));
    } else if (n) {
        TRY(GrB_Vector_build_FP64(vector, indices, values, n, GrB_SECOND_FP64));
    }
    TRY(GrB_Vector_wait(vector, GrB_MATERIALIZE));
    return vector;
}

static void *make_dense(uint64_t rows, uint64_t cols, const double *values)
{
    GrB_Matrix matrix;
    void *array = bench_alloc(rows * cols, sizeof *values);
    memcpy(array, values, rows * cols * sizeof *values);
    TRY(GrB_Matrix_new(&matrix, GrB_FP64, rows, cols));
    TRY(GxB_Matrix_pack_FullR(matrix, &array, rows * cols * sizeof *values, false, NULL));
    return matrix;
}

static void free_matrix(void *matrix)
{
    GrB_Matrix handle = matrix;
    TRY(GrB_Matrix_free(&handle));
}

static void free_vector(void *vector)
{
    GrB_Vector handle = vector;
    TRY(GrB_Vector_free(&handle));
}

/* Operators, by their names in dcsr. */

static bool is(const ops_call *call, const char *name)
{
    return call->op && !strcmp(call->op, name);
}

static GrB_Semiring semiring(const ops_call *call)
{
    if (is(call, "plus_times")) return GrB_PLUS_TIMES_SEMIRING_FP64;
    if (is(call, "min_plus")) return GrB_MIN_PLUS_SEMIRING_FP64;
    if (is(call, "plus_pair")) return GxB_PLUS_PAIR_FP64;
    if (is(call, "any_pair")) return GxB_ANY_PAIR_FP64;
    bench_die("GraphBLAS: no semiring '%s'", call->op);
}

static GrB_BinaryOp binary(const ops_call *call)
{
    if (is(call, "plus")) return GrB_PLUS_FP64;
    if (is(call, "times")) return GrB_TIMES_FP64;
    if (is(call, "min")) return GrB_MIN_FP64;
    bench_die("GraphBLAS: no binary operator '%s'", call->op);
}

static GrB_Monoid monoid(const ops_call *call)
{
    if (is(call, "plus")) return GrB_PLUS_MONOID_FP64;
    if (is(call, "min")) return GrB_MIN_MONOID_FP64;
    bench_die("GraphBLAS: no monoid '%s'", call->op);
}

static GrB_UnaryOp unary(const ops_call *call)
{
    if (is(call, "negate")) return GrB_AINV_FP64;
    if (is(call, "abs")) return GrB_ABS_FP64;
    bench_die("GraphBLAS: no unary operator '%s'", call->op);
}

static GrB_Descriptor descriptor(const dcsr_desc *d)
{
    static GrB_Descriptor table[32];
    const int key = (d->replace ? 1 : 0) | (d->mask_structure ? 2 : 0) | (d->mask_complement ? 4 : 0) |
                    (d->transpose_a ? 8 : 0) | (d->transpose_b ? 16 : 0);
    if (!key) return NULL;
    if (!table[key]) {
        TRY(GrB_Descriptor_new(&table[key]));
        if (d->replace) TRY(GrB_Descriptor_set(table[key], GrB_OUTP, GrB_REPLACE));
        if (d->mask_structure) TRY(GrB_Descriptor_set(table[key], GrB_MASK, GrB_STRUCTURE));
        if (d->mask_complement) TRY(GrB_Descriptor_set(table[key], GrB_MASK, GrB_COMP));
        if (d->transpose_a) TRY(GrB_Descriptor_set(table[key], GrB_INP0, GrB_TRAN));
        if (d->transpose_b) TRY(GrB_Descriptor_set(table[key], GrB_INP1, GrB_TRAN));
    }
    return table[key];
}

/* Products */

static void *form(const ops_object *object, peer_ops_way way)
{
    return way == PEER_BY_COLUMN ? object->by_column : object->peer;
}

static bool is_full(const ops_object *vector)
{
    GrB_Index n;
    TRY(GrB_Vector_nvals(&n, vector->peer));
    return n == vector->rows;
}

static bool can(const ops_call *call, peer_ops_way way)
{
    const bool product = call->kind <= OPS_SPMM;
    const ops_object *matrix = call->kind == OPS_VXM ? call->b : call->a;
    if (way == PEER_BY_ROW) return true;
    if (way == PEER_UNSORTED) return call->kind == OPS_MXM;
    if (way == PEER_BY_COLUMN) return product && matrix->by_column;
    return is(call, "plus_times") &&
           (call->kind == OPS_SPMM || (call->kind == OPS_MXV && !call->mask && is_full(call->b)));
}

static void run_product(const ops_call *call, peer_ops_way way, GrB_Vector mask)
{
    GrB_Descriptor d = descriptor(&call->desc);
    if (call->kind == OPS_VXM) {
        TRY(GrB_vxm(call->out->peer, mask, NULL, semiring(call), call->a->peer, form(call->b, way), d));
    } else if (call->kind == OPS_MXV) {
        if (way == PEER_IN_PLACE)
            TRY(GrB_Vector_assign_FP64(call->out->peer, NULL, NULL, 0, GrB_ALL, call->out->rows, NULL));
        TRY(GrB_mxv(call->out->peer, mask, way == PEER_IN_PLACE ? GrB_PLUS_FP64 : NULL, semiring(call),
                    form(call->a, way), call->b->peer, d));
    } else {
        if (way == PEER_IN_PLACE)
            TRY(GrB_Matrix_assign_FP64(call->out->peer, NULL, NULL, 0, GrB_ALL, call->out->rows, GrB_ALL,
                                       call->out->cols, NULL));
        TRY(GrB_mxm(call->out->peer, NULL, way == PEER_IN_PLACE ? GrB_PLUS_FP64 : NULL, semiring(call),
                    form(call->a, way), call->b->peer, d));
    }
}

/* Operations on vectors */

static void run_vector(ops_call *call, peer_ops_way way)
{
    GrB_Vector w = call->out->peer, mask = call->mask ? call->mask->peer : NULL,
               u = call->a ? call->a->peer : NULL;
    GrB_Descriptor d = descriptor(&call->desc);
    const GrB_Index *indices = call->rows ? call->rows : GrB_ALL;
    switch (call->kind) {
    case OPS_EWISE_ADD:
        TRY(GrB_Vector_eWiseAdd_BinaryOp(w, mask, NULL, binary(call), u, call->b->peer, d));
        break;
    case OPS_EWISE_MULT:
        TRY(GrB_Vector_eWiseMult_BinaryOp(w, mask, NULL, binary(call), u, call->b->peer, d));
        break;
    case OPS_APPLY:
        TRY(GrB_Vector_apply(w, mask, NULL, unary(call), u, d));
        break;
    case OPS_APPLY_SECOND:
        TRY(GrB_Vector_apply_BinaryOp2nd_FP64(w, mask, NULL, binary(call), u, call->scalar, d));
        break;
    case OPS_SELECT:
        TRY(GrB_Vector_select_FP64(w, mask, NULL, GrB_VALUEGT_FP64, u, call->scalar, d));
        break;
    case OPS_REDUCE_ROWS:
        TRY(GrB_Matrix_reduce_Monoid(w, mask, NULL, monoid(call), form(call->a, way), d));
        break;
    case OPS_EXTRACT:
        TRY(GrB_Vector_extract(w, mask, NULL, u, indices, call->nrows, d));
        break;
    case OPS_ASSIGN:
        TRY(GrB_Vector_assign(w, mask, NULL, u, indices, call->nrows, d));
        break;
    case OPS_ASSIGN_SCALAR:
        TRY(GrB_Vector_assign_FP64(w, mask, NULL, call->scalar, indices, call->nrows, d));
        break;
    default:
        run_product(call, way, mask);
        break;
    }
    TRY(GrB_Vector_wait(w, GrB_MATERIALIZE));
}

/* Operations on matrices */

static void run_select(const ops_call *call, GrB_Matrix C, GrB_Matrix mask, GrB_Descriptor d)
{
    if (is(call, "tril"))
        TRY(GrB_Matrix_select_INT64(C, mask, NULL, GrB_TRIL, call->a->peer, (int64_t)call->scalar, d));
    else
        TRY(GrB_Matrix_select_FP64(C, mask, NULL, GrB_VALUEGT_FP64, call->a->peer, call->scalar, d));
}

static void run_matrix(ops_call *call, peer_ops_way way)
{
    GrB_Matrix C = call->out->peer, mask = call->mask ? call->mask->peer : NULL,
               A = call->a ? call->a->peer : NULL;
    GrB_Descriptor d = descriptor(&call->desc);
    const GrB_Index *rows = call->rows ? call->rows : GrB_ALL, *cols = call->cols ? call->cols : GrB_ALL;
    switch (call->kind) {
    case OPS_MXM:
        TRY(GrB_mxm(C, mask, NULL, semiring(call), A, call->b->peer, d));
        break;
    case OPS_EWISE_ADD:
        TRY(GrB_Matrix_eWiseAdd_BinaryOp(C, mask, NULL, binary(call), A, call->b->peer, d));
        break;
    case OPS_EWISE_MULT:
        TRY(GrB_Matrix_eWiseMult_BinaryOp(C, mask, NULL, binary(call), A, call->b->peer, d));
        break;
    case OPS_APPLY:
        TRY(GrB_Matrix_apply(C, mask, NULL, unary(call), A, d));
        break;
    case OPS_APPLY_SECOND:
        TRY(GrB_Matrix_apply_BinaryOp2nd_FP64(C, mask, NULL, binary(call), A, call->scalar, d));
        break;
    case OPS_SELECT:
        run_select(call, C, mask, d);
        break;
    case OPS_TRANSPOSE:
        TRY(GrB_transpose(C, mask, NULL, A, d));
        break;
    case OPS_EXTRACT:
        TRY(GrB_Matrix_extract(C, mask, NULL, A, rows, call->nrows, cols, call->ncols, d));
        break;
    case OPS_ASSIGN:
        TRY(GrB_Matrix_assign(C, mask, NULL, A, rows, call->nrows, cols, call->ncols, d));
        break;
    case OPS_ASSIGN_SCALAR:
        TRY(GrB_Matrix_assign_FP64(C, mask, NULL, call->scalar, rows, call->nrows, cols, call->ncols, d));
        break;
    default:
        run_product(call, way, NULL);
        break;
    }
    if (way != PEER_UNSORTED) TRY(GrB_Matrix_wait(C, GrB_MATERIALIZE));
}

static void run(ops_call *call, peer_ops_way way)
{
    if (call->kind == OPS_REDUCE && call->a->vector)
        TRY(GrB_Vector_reduce_FP64(&call->peer_total, NULL, monoid(call), call->a->peer, NULL));
    else if (call->kind == OPS_REDUCE)
        TRY(GrB_Matrix_reduce_FP64(&call->peer_total, NULL, monoid(call), call->a->peer, NULL));
    else if (call->out->vector)
        run_vector(call, way);
    else
        run_matrix(call, way);
}

static uint64_t entries(const ops_call *call, uint64_t **rows, uint64_t **cols, double **values)
{
    GrB_Index n = 0;
    if (call->out->vector)
        TRY(GrB_Vector_nvals(&n, call->out->peer));
    else
        TRY(GrB_Matrix_wait(call->out->peer, GrB_MATERIALIZE)); /* puts rows in order */
    if (!call->out->vector) TRY(GrB_Matrix_nvals(&n, call->out->peer));
    *rows = bench_alloc(n, sizeof **rows);
    *cols = bench_alloc(n, sizeof **cols);
    *values = bench_alloc(n, sizeof **values);
    if (call->out->vector)
        TRY(GrB_Vector_extractTuples_FP64(*rows, *values, &n, call->out->peer));
    else
        TRY(GrB_Matrix_extractTuples_FP64(*rows, *cols, *values, &n, call->out->peer));
    return n;
}

const peer_ops *peer_ops_get(void)
{
    static const peer_ops graphblas = {start,       make_matrix, make_empty, make_vector, make_dense,
                                       free_matrix, free_vector, can,        run,         entries};
    return &graphblas;
}

#else

const peer_ops *peer_ops_get(void)
{
    return NULL;
}

#endif
