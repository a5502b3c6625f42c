/* bench_operations.c: the operations that `dcsr bench` measures. */
#include "cli/bench.h"
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

static const dcsr_binary_op *plus(const bench_operands *o)
{
    return dcsr_binary_op_of(DCSR_BINARY_PLUS, o->type);
}

static const dcsr_binary_op *times(const bench_operands *o)
{
    return dcsr_binary_op_of(DCSR_BINARY_TIMES, o->type);
}

static const dcsr_monoid *sum(const bench_operands *o)
{
    return dcsr_monoid_of(DCSR_BINARY_PLUS, o->type);
}

/* Products */

static dcsr_status run_mxv(bench_operands *o)
{
    return dcsr_mxv(o->w, o->mask, NULL, o->semiring, o->A, o->u, &o->desc);
}

static dcsr_status run_vxm(bench_operands *o)
{
    return dcsr_vxm(o->w, o->mask, NULL, o->semiring, o->u, o->A, &o->desc);
}

static dcsr_status run_mxm(bench_operands *o)
{
    o->desc.transpose_b = true;
    return dcsr_mxm(o->C, NULL, NULL, o->semiring, o->A, o->A, &o->desc);
}

static dcsr_status run_mxm_masked(bench_operands *o)
{
    o->desc.mask_structure = true;
    return dcsr_mxm(o->C, o->A, NULL, o->semiring, o->A, o->A, &o->desc);
}

static dcsr_status run_spmm(bench_operands *o)
{
    return dcsr_spmm(o->Y, o->mask, NULL, o->semiring, o->A, o->X, o->columns, &o->desc);
}

/* Matrices */

static dcsr_status run_ewise_add(bench_operands *o)
{
    return dcsr_matrix_ewise_add(o->C, NULL, NULL, plus(o), o->A, o->A, &o->desc);
}

static dcsr_status run_ewise_mult(bench_operands *o)
{
    return dcsr_matrix_ewise_mult(o->C, NULL, NULL, times(o), o->A, o->A, &o->desc);
}

static dcsr_status run_apply(bench_operands *o)
{
    return dcsr_matrix_apply(o->C, NULL, NULL, dcsr_unary_op_of(DCSR_UNARY_NEGATE, o->type), o->A, &o->desc);
}

static dcsr_status run_select(bench_operands *o)
{
    const int64_t diagonal = 0;
    return dcsr_matrix_select(o->C, NULL, NULL, dcsr_index_op_of(DCSR_INDEX_TRIL, o->type), o->A, &diagonal,
                              &o->desc);
}

static dcsr_status run_reduce(bench_operands *o)
{
    return dcsr_matrix_reduce(o->scalar, NULL, sum(o), o->A);
}

static dcsr_status run_reduce_rows(bench_operands *o)
{
    return dcsr_matrix_reduce_rows(o->w, o->mask, NULL, sum(o), o->A, &o->desc);
}

static dcsr_status run_transpose(bench_operands *o)
{
    return dcsr_matrix_transpose(o->C, NULL, NULL, o->A, &o->desc);
}

static dcsr_status run_extract(bench_operands *o)
{
    return dcsr_matrix_extract(o->C, NULL, NULL, o->A, &(dcsr_index_list){o->places, o->places_n}, NULL,
                               &o->desc);
}

static dcsr_status run_assign(bench_operands *o)
{
    return dcsr_matrix_assign(o->C, NULL, NULL, o->A, NULL, NULL, &o->desc);
}

/* Vectors */

static dcsr_status run_vector_ewise_add(bench_operands *o)
{
    return dcsr_vector_ewise_add(o->w, o->mask, NULL, plus(o), o->u, o->v, &o->desc);
}

static dcsr_status run_vector_ewise_mult(bench_operands *o)
{
    return dcsr_vector_ewise_mult(o->w, o->mask, NULL, times(o), o->u, o->v, &o->desc);
}

static dcsr_status run_vector_apply(bench_operands *o)
{
    return dcsr_vector_apply(o->w, o->mask, NULL, dcsr_unary_op_of(DCSR_UNARY_NEGATE, o->type), o->u,
                             &o->desc);
}

static dcsr_status run_vector_select(bench_operands *o)
{
    const int64_t last = (int64_t)(o->info.rows / 2);
    return dcsr_vector_select(o->w, o->mask, NULL, dcsr_index_op_of(DCSR_INDEX_ROW_LE, o->type), o->u, &last,
                              &o->desc);
}

static dcsr_status run_vector_reduce(bench_operands *o)
{
    return dcsr_vector_reduce(o->scalar, NULL, sum(o), o->u);
}

static dcsr_status run_vector_extract(bench_operands *o)
{
    return dcsr_vector_extract(o->w, NULL, NULL, o->u, &(dcsr_index_list){o->places, o->places_n}, &o->desc);
}

static dcsr_status run_vector_assign(bench_operands *o)
{
    return dcsr_vector_assign(o->w, o->mask, NULL, o->u, NULL, &o->desc);
}

enum {
    PRODUCT = BENCH_A | BENCH_U | BENCH_W | BENCH_MASK | BENCH_SEMIRING,
    MATRIX = BENCH_A | BENCH_C,
    VECTOR = BENCH_U | BENCH_W | BENCH_MASK
};

const bench_operation bench_operations[] = {
    {"mxv", "w = A u", PRODUCT | BENCH_U_COLUMNS, run_mxv},
    {"vxm", "w = u A", PRODUCT | BENCH_W_COLUMNS, run_vxm},
    {"mxm", "C = A A^T", MATRIX | BENCH_SEMIRING | BENCH_C_SQUARE, run_mxm},
    {"mxm_masked", "C = A A, where A has an entry", MATRIX | BENCH_SEMIRING, run_mxm_masked},
    {"spmm", "Y = A X, X dense with 16 columns", BENCH_A | BENCH_DENSE | BENCH_MASK | BENCH_SEMIRING,
     run_spmm},
    {"ewise_add", "C = A + A, entry by entry", MATRIX, run_ewise_add},
    {"ewise_mult", "C = A .* A, entry by entry", MATRIX, run_ewise_mult},
    {"apply", "C = -A", MATRIX, run_apply},
    {"select", "C = A on and below the diagonal", MATRIX, run_select},
    {"reduce", "the sum of all entries of A", BENCH_A, run_reduce},
    {"reduce_rows", "w = the sum of each row of A", BENCH_A | BENCH_W | BENCH_MASK, run_reduce_rows},
    {"transpose", "C = A^T; after the first time A's view has its transpose", MATRIX | BENCH_C_TRANSPOSED,
     run_transpose},
    {"extract", "C = every second row of A", MATRIX | BENCH_PLACES, run_extract},
    {"assign", "C(all, all) = A", MATRIX, run_assign},
    {"vector_ewise_add", "w = u + v", VECTOR | BENCH_V, run_vector_ewise_add},
    {"vector_ewise_mult", "w = u .* v", VECTOR | BENCH_V, run_vector_ewise_mult},
    {"vector_apply", "w = -u", VECTOR, run_vector_apply},
    {"vector_select", "w = the first half of u", VECTOR, run_vector_select},
    {"vector_reduce", "the sum of u", BENCH_U, run_vector_reduce},
    {"vector_extract", "w = every second element of u", BENCH_U | BENCH_W | BENCH_PLACES, run_vector_extract},
    {"vector_assign", "w(all) = u", VECTOR, run_vector_assign},
    {0}};
