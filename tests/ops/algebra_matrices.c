/* algebra_matrices.c: the operations on matrices one by one, for the oracle. */
#include <dcsr/apply.h>
#include <dcsr/ewise.h>
#include <dcsr/mxm.h>
#include <dcsr/matrix_add.h>
#include <dcsr/reduce.h>
#include <dcsr/select.h>
#include <dcsr/transpose.h>
#include "tests/ops/algebra.h"

#define OUT p->C, p->mask_view, p->accum

static void draw_one(problem *p)
{
    const uint64_t rows = draw_size(p), cols = draw_once_in(p, 3) ? rows : draw_size(p);
    draw_output_matrix(p, rows, cols);
    draw_input_matrix(p, &p->a, rows, cols, p->desc.transpose_a);
}

/* T of an operation on the first input. */
#define OF_A(expression)                 \
    grid A = input_a(p), T = expression; \
    grid_free(&A);                       \
    return T

static void draw_two(problem *p)
{
    p->binary = draw_binary(p);
    draw_one(p);
    draw_input_matrix(p, &p->b, p->out.holds.rows, p->out.holds.cols, p->desc.transpose_b);
}
static dcsr_status call_ewise_add(problem *p)
{
    return dcsr_matrix_ewise_add(OUT, p->binary, p->A, p->B, &p->desc);
}
static dcsr_status call_ewise_mult(problem *p)
{
    return dcsr_matrix_ewise_mult(OUT, p->binary, p->A, p->B, &p->desc);
}
static grid ewise(problem *p, bool add)
{
    grid A = input_a(p), B = input_b(p), T = define_ewise(p->binary, &A, &B, add);
    grid_free(&A), grid_free(&B);
    return T;
}
static grid define_ewise_add(problem *p)
{
    return ewise(p, true);
}
static grid define_ewise_mult(problem *p)
{
    return ewise(p, false);
}

static void draw_apply(problem *p)
{
    p->unary = draw_unary(p);
    draw_one(p);
}
static dcsr_status call_apply(problem *p)
{
    return dcsr_matrix_apply(OUT, p->unary, p->A, &p->desc);
}
static grid define_apply_(problem *p)
{
    OF_A(define_apply(p->unary, &A));
}

static void draw_apply_first(problem *p)
{
    p->binary = draw_binary(p);
    p->scalar = draw_value(p, p->binary->xtype);
    draw_one(p);
}
static dcsr_status call_apply_first(problem *p)
{
    return dcsr_matrix_apply_first(OUT, p->binary, &p->scalar, p->A, &p->desc);
}
static grid define_apply_first_(problem *p)
{
    OF_A(define_apply_first(p->binary, &p->scalar, &A));
}

static void draw_apply_second(problem *p)
{
    p->binary = draw_binary(p);
    p->scalar = draw_value(p, p->binary->ytype);
    draw_one(p);
}
static dcsr_status call_apply_second(problem *p)
{
    return dcsr_matrix_apply_second(OUT, p->binary, p->A, &p->scalar, &p->desc);
}
static grid define_apply_second_(problem *p)
{
    OF_A(define_apply_second(p->binary, &A, &p->scalar));
}

static void draw_index(problem *p)
{
    p->index_op = draw_index_op(p);
    draw_one(p);
}
static dcsr_status call_apply_index(problem *p)
{
    return dcsr_matrix_apply_index(OUT, p->index_op, p->A, &p->scalar, &p->desc);
}
static grid define_apply_index_(problem *p)
{
    OF_A(define_apply_index(p->index_op, &A, &p->scalar));
}
static dcsr_status call_select(problem *p)
{
    return dcsr_matrix_select(OUT, p->index_op, p->A, &p->scalar, &p->desc);
}
static grid define_select_(problem *p)
{
    OF_A(define_select(p->index_op, &A, &p->scalar));
}

static dcsr_status call_transpose(problem *p)
{
    return dcsr_matrix_transpose(OUT, p->A, &p->desc);
}
static void draw_transpose(problem *p)
{
    const uint64_t rows = draw_size(p), cols = draw_once_in(p, 3) ? rows : draw_size(p);
    draw_output_matrix(p, rows, cols);
    draw_input_matrix(p, &p->a, cols, rows, p->desc.transpose_a);
}
static grid define_transpose(problem *p)
{
    OF_A(grid_transposed(&A));
}

static void draw_reduce(problem *p)
{
    p->monoid = draw_monoid(p);
    draw_output_array(p, dcsr_i_monoid_type(p->monoid), 1, 1);
    p->misfit = -1; /* every matrix has a sum */
    const uint64_t rows = draw_size(p);
    draw_input_matrix(p, &p->a, rows, draw_size(p), false);
}
static dcsr_status call_reduce(problem *p)
{
    return dcsr_matrix_reduce(p->array, p->accum, p->monoid, p->A);
}
static grid define_reduce_(problem *p)
{
    grid T = grid_create(dcsr_i_monoid_type(p->monoid), 1, 1);
    grid_set(&T, 0, define_reduce(p->monoid, &p->a.holds));
    return T;
}

static void draw_reduce_rows(problem *p)
{
    const uint64_t rows = draw_size(p);
    p->monoid = draw_monoid(p);
    draw_output_vector(p, rows);
    const int misfit = p->misfit;
    if (misfit == 1) p->misfit = -1; /* the columns are as many as there are */
    draw_input_matrix(p, &p->a, rows, draw_size(p), p->desc.transpose_a);
    p->misfit = misfit;
}
static dcsr_status call_reduce_rows(problem *p)
{
    return dcsr_matrix_reduce_rows(p->w, p->mask_vector, p->accum, p->monoid, p->A, &p->desc);
}
static grid define_reduce_rows_(problem *p)
{
    OF_A(define_reduce_rows(p->monoid, &A));
}

/* Kronecker products of small matrices. */
static void draw_kronecker(problem *p)
{
    const uint64_t rows = draw_below(p, 9), cols = draw_below(p, 9), more = 1 + draw_below(p, 12);
    const uint64_t across = 1 + draw_below(p, 12);
    p->binary = draw_binary(p);
    if (!rows || !cols) p->misfit = -1;
    draw_output_matrix(p, rows * more, cols * across);
    draw_input_matrix(p, &p->a, rows, cols, p->desc.transpose_a);
    draw_input_matrix(p, &p->b, more, across, p->desc.transpose_b);
}
static dcsr_status call_kronecker(problem *p)
{
    return dcsr_kronecker(OUT, p->binary, p->A, p->B, &p->desc);
}
static grid define_kronecker_(problem *p)
{
    grid A = input_a(p), B = input_b(p), T = define_kronecker(p->binary, &A, &B);
    grid_free(&A), grid_free(&B);
    return T;
}

/* Adding is inserting: what it means where both have an entry is for C's policy to say. */
static void draw_add(problem *p)
{
    const uint64_t rows = draw_size(p), cols = draw_size(p);
    p->product = true; /* each entry of the view counts, so none may stand twice */
    draw_output_matrix(p, rows, cols);
    draw_input_matrix(p, &p->a, rows, cols, false);
}
static dcsr_status call_add(problem *p)
{
    dcsr_ticket *ticket = NULL;
    dcsr_status status = dcsr_matrix_add(p->C, p->A, &ticket);
    if (!status) status = dcsr_ticket_wait(ticket);
    dcsr_ticket_destroy(ticket);
    return status;
}
static grid define_add(problem *p)
{
    const dcsr_policy policy = test_info(p->out.matrix).policy;
    grid out = grid_copy(&p->out.holds);
    for (size_t c = 0; c < out.rows * out.cols; c++) {
        if (!p->a.holds.present[c]) continue;
        dcsr_i_scalar value = grid_as(&p->a.holds, c, out.type);
        if (out.present[c]) value.word = oracle_combine(out.type, policy, out.value[c].word, value.word);
        grid_set(&out, c, value);
    }
    return out;
}

enum { USUAL = TAKES_MASK | TAKES_ACCUM, ONE = USUAL | TAKES_TRANSPOSE_A, TWO = ONE | TAKES_TRANSPOSE_B };

const algebra_operation matrix_operations[] = {
    {"matrix_ewise_add", OUTPUT_MATRIX, TWO, draw_two, call_ewise_add, define_ewise_add, false},
    {"matrix_ewise_mult", OUTPUT_MATRIX, TWO, draw_two, call_ewise_mult, define_ewise_mult, false},
    {"matrix_apply", OUTPUT_MATRIX, ONE, draw_apply, call_apply, define_apply_, false},
    {"matrix_apply_first", OUTPUT_MATRIX, ONE, draw_apply_first, call_apply_first, define_apply_first_,
     false},
    {"matrix_apply_second", OUTPUT_MATRIX, ONE, draw_apply_second, call_apply_second, define_apply_second_,
     false},
    {"matrix_apply_index", OUTPUT_MATRIX, ONE, draw_index, call_apply_index, define_apply_index_, false},
    {"matrix_select", OUTPUT_MATRIX, ONE, draw_index, call_select, define_select_, false},
    {"matrix_transpose", OUTPUT_MATRIX, ONE, draw_transpose, call_transpose, define_transpose, false},
    {"matrix_reduce", OUTPUT_ARRAY, TAKES_ACCUM, draw_reduce, call_reduce, define_reduce_, false},
    {"matrix_reduce_rows", OUTPUT_VECTOR, ONE, draw_reduce_rows, call_reduce_rows, define_reduce_rows_,
     false},
    {"matrix_add", OUTPUT_MATRIX, 0, draw_add, call_add, define_add, true},
    {"kronecker", OUTPUT_MATRIX, TWO, draw_kronecker, call_kronecker, define_kronecker_, false},
    {0}};
