/* peer_ops.c: operations of the library for the benchmarks, and the objects that both competitors hold. */
#include "bench/peers/peer_ops.h"
#include <dcsr/convert.h>
#include <dcsr/apply.h>
#include <dcsr/assign.h>
#include <dcsr/ewise.h>
#include <dcsr/extract.h>
#include <dcsr/mxm.h>
#include <dcsr/mxv.h>
#include <dcsr/reduce.h>
#include <dcsr/select.h>
#include <dcsr/spmm.h>
#include <dcsr/transpose.h>
#include <dcsr/vector_ops.h>

#include <stdlib.h>
#include <string.h>

/* Operations */

/* A list that may be of all: then without an array. */
#define LIST(indices, n) ((indices) ? &(dcsr_index_list){indices, n} : NULL)

static const dcsr_semiring *semiring(const ops_call *call)
{
    return dcsr_semiring_named(call->op, DCSR_FP64);
}

static const dcsr_binary_op *binary(const ops_call *call)
{
    return dcsr_binary_op_named(call->op, DCSR_FP64);
}

static dcsr_status run_vector(ops_call *call)
{
    dcsr_vector *w = call->out->vector;
    const dcsr_vector *mask = call->mask ? call->mask->vector : NULL, *u = call->a ? call->a->vector : NULL;
    const dcsr_vector *v = call->b ? call->b->vector : NULL;
    const dcsr_desc *desc = &call->desc;
    switch (call->kind) {
    case OPS_MXV:
        return dcsr_mxv(w, mask, NULL, semiring(call), call->a->view, v, desc);
    case OPS_VXM:
        return dcsr_vxm(w, mask, NULL, semiring(call), u, call->b->view, desc);
    case OPS_EWISE_ADD:
        return dcsr_vector_ewise_add(w, mask, NULL, binary(call), u, v, desc);
    case OPS_EWISE_MULT:
        return dcsr_vector_ewise_mult(w, mask, NULL, binary(call), u, v, desc);
    case OPS_APPLY:
        return dcsr_vector_apply(w, mask, NULL, dcsr_unary_op_named(call->op, DCSR_FP64), u, desc);
    case OPS_APPLY_SECOND:
        return dcsr_vector_apply_second(w, mask, NULL, binary(call), u, &call->scalar, desc);
    case OPS_SELECT:
        return dcsr_vector_select(w, mask, NULL, dcsr_index_op_named(call->op, DCSR_FP64), u, &call->scalar,
                                  desc);
    case OPS_REDUCE_ROWS:
        return dcsr_matrix_reduce_rows(w, mask, NULL, dcsr_monoid_named(call->op, DCSR_FP64), call->a->view,
                                       desc);
    case OPS_EXTRACT:
        return dcsr_vector_extract(w, mask, NULL, u, LIST(call->rows, call->nrows), desc);
    case OPS_ASSIGN:
        return dcsr_vector_assign(w, mask, NULL, u, LIST(call->rows, call->nrows), desc);
    case OPS_ASSIGN_SCALAR:
        return dcsr_vector_assign_scalar(w, mask, NULL, &call->scalar, DCSR_FP64,
                                         LIST(call->rows, call->nrows), desc);
    default:
        bench_die("no such operation on vectors");
    }
}

static dcsr_status run_matrix(ops_call *call)
{
    dcsr_matrix *C = call->out->matrix;
    dcsr_view *mask = call->mask ? call->mask->view : NULL, *A = call->a ? call->a->view : NULL;
    dcsr_view *B = call->b ? call->b->view : NULL;
    const dcsr_desc *desc = &call->desc;
    const int64_t diagonal = (int64_t)call->scalar;
    switch (call->kind) {
    case OPS_MXM:
        return dcsr_mxm(C, mask, NULL, semiring(call), A, B, desc);
    case OPS_EWISE_ADD:
        return dcsr_matrix_ewise_add(C, mask, NULL, binary(call), A, B, desc);
    case OPS_EWISE_MULT:
        return dcsr_matrix_ewise_mult(C, mask, NULL, binary(call), A, B, desc);
    case OPS_APPLY:
        return dcsr_matrix_apply(C, mask, NULL, dcsr_unary_op_named(call->op, DCSR_FP64), A, desc);
    case OPS_APPLY_SECOND:
        return dcsr_matrix_apply_second(C, mask, NULL, binary(call), A, &call->scalar, desc);
    case OPS_SELECT:
        return dcsr_matrix_select(C, mask, NULL, dcsr_index_op_named(call->op, DCSR_FP64), A,
                                  !strcmp(call->op, "tril") ? (const void *)&diagonal : &call->scalar, desc);
    case OPS_TRANSPOSE:
        return dcsr_matrix_transpose(C, mask, NULL, A, desc);
    case OPS_EXTRACT:
        return dcsr_matrix_extract(C, mask, NULL, A, LIST(call->rows, call->nrows),
                                   LIST(call->cols, call->ncols), desc);
    case OPS_ASSIGN:
        return dcsr_matrix_assign(C, mask, NULL, A, LIST(call->rows, call->nrows),
                                  LIST(call->cols, call->ncols), desc);
    case OPS_ASSIGN_SCALAR:
        return dcsr_matrix_assign_scalar(C, mask, NULL, &call->scalar, DCSR_FP64,
                                         LIST(call->rows, call->nrows), LIST(call->cols, call->ncols), desc);
    default:
        bench_die("no such operation on matrices");
    }
}

void ops_run(ops_call *call)
{
    const dcsr_monoid *sum = dcsr_monoid_named("plus", DCSR_FP64);
    if (call->kind == OPS_REDUCE && call->a->vector)
        BENCH_OK(dcsr_vector_reduce(&call->total, NULL, sum, call->a->vector));
    else if (call->kind == OPS_REDUCE)
        BENCH_OK(dcsr_matrix_reduce(&call->total, NULL, sum, call->a->view));
    else if (call->kind == OPS_SPMM)
        BENCH_OK(dcsr_spmm(call->out->dense, NULL, NULL, semiring(call), call->a->view, call->b->dense,
                           call->out->cols, &call->desc));
    else if (call->out->vector)
        BENCH_OK(run_vector(call));
    else
        BENCH_OK(run_matrix(call));
}

/* Objects */

ops_object ops_matrix(bench *b, const bench_csr *csr, dcsr_layout layout)
{
    const peer_ops *peer = peer_ops_get();
    const dcsr_csr arrays = {csr->rows,    csr->cols,    csr->nnz,   DCSR_FP64,
                             csr->offsets, csr->columns, csr->values};
    ops_object object = {.rows = csr->rows, .cols = csr->cols};
    BENCH_OK(dcsr_matrix_from_csr(&object.matrix, b->context, &arrays, NULL));
    BENCH_OK(dcsr_matrix_wait(object.matrix));
    BENCH_OK(dcsr_view_create(&object.view, object.matrix, layout, 0));
    if (!peer) return object;
    object.peer = peer->matrix(csr, false);
    object.by_column = peer->matrix(csr, true);
    return object;
}

ops_object ops_empty_matrix(bench *b, uint64_t rows, uint64_t cols)
{
    ops_object object = {.rows = rows, .cols = cols};
    object.matrix = bench_matrix(b, NULL, NULL, rows, cols, DCSR_FP64, NULL);
    if (peer_ops_get()) object.peer = peer_ops_get()->empty(rows, cols);
    return object;
}

static uint64_t choose(uint64_t *indices, uint64_t size, double share, uint64_t seed)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < size; i++)
        if (share >= 1 || (double)(bench_mix(i + seed * 0x10001) >> 11) * 0x1p-53 < share) indices[n++] = i;
    if (!n && size && share > 0) indices[n++] = seed % size;
    return n;
}

ops_object ops_vector(bench *b, uint64_t size, double share, uint64_t seed)
{
    ops_object object = {.rows = size, .cols = 1};
    uint64_t *indices = bench_alloc(size, sizeof *indices);
    double *values = bench_alloc(size, sizeof *values);
    const uint64_t n = choose(indices, size, share, seed);
    for (uint64_t k = 0; k < n; k++) values[k] = 1 + (double)(indices[k] % 7);
    BENCH_OK(dcsr_vector_create(&object.vector, b->context, DCSR_FP64, size));
    BENCH_OK(dcsr_vector_build(object.vector, n, indices, values, DCSR_POLICY_DEFAULT));
    if (peer_ops_get()) object.peer = peer_ops_get()->vector(size, n, indices, values);
    free(indices);
    free(values);
    return object;
}

ops_object ops_dense(bench *b, uint64_t rows, uint64_t cols)
{
    (void)b;
    ops_object object = {.rows = rows, .cols = cols, .dense = bench_vector(rows * cols)};
    if (peer_ops_get()) object.peer = peer_ops_get()->dense(rows, cols, object.dense);
    return object;
}

void ops_free(ops_object *object)
{
    const peer_ops *peer = peer_ops_get();
    if (object->peer) (object->vector ? peer->free_vector : peer->free_matrix)(object->peer);
    if (object->by_column) peer->free_matrix(object->by_column);
    dcsr_view_destroy(object->view);
    dcsr_matrix_destroy(object->matrix);
    dcsr_vector_destroy(object->vector);
    free(object->dense);
    *object = (ops_object){0};
}
