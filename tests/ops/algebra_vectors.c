/* algebra_vectors.c: the operations on vectors, for the oracle. */
#include <dcsr/vector_ops.h>
#include "tests/ops/algebra.h"

#define OUT p->w, p->mask_vector, p->accum

static void draw_one(problem *p)
{
    const uint64_t size = draw_length(p);
    draw_output_vector(p, size);
    draw_input_vector(p, &p->a, size);
}

static void draw_two(problem *p)
{
    p->binary = draw_binary(p);
    draw_one(p);
    draw_input_vector(p, &p->b, p->out.holds.rows);
}

static dcsr_status call_ewise_add(problem *p)
{
    return dcsr_vector_ewise_add(OUT, p->binary, p->u, p->v, &p->desc);
}
static grid define_ewise_add(problem *p)
{
    return define_ewise(p->binary, &p->a.holds, &p->b.holds, true);
}

static dcsr_status call_ewise_mult(problem *p)
{
    return dcsr_vector_ewise_mult(OUT, p->binary, p->u, p->v, &p->desc);
}
static grid define_ewise_mult(problem *p)
{
    return define_ewise(p->binary, &p->a.holds, &p->b.holds, false);
}

static void draw_apply(problem *p)
{
    p->unary = draw_unary(p);
    draw_one(p);
}
static dcsr_status call_apply(problem *p)
{
    return dcsr_vector_apply(OUT, p->unary, p->u, &p->desc);
}
static grid define_apply_(problem *p)
{
    return define_apply(p->unary, &p->a.holds);
}

static void draw_apply_first(problem *p)
{
    p->binary = draw_binary(p);
    p->scalar = draw_value(p, p->binary->xtype);
    draw_one(p);
}
static dcsr_status call_apply_first(problem *p)
{
    return dcsr_vector_apply_first(OUT, p->binary, &p->scalar, p->u, &p->desc);
}
static grid define_apply_first_(problem *p)
{
    return define_apply_first(p->binary, &p->scalar, &p->a.holds);
}

static void draw_apply_second(problem *p)
{
    p->binary = draw_binary(p);
    p->scalar = draw_value(p, p->binary->ytype);
    draw_one(p);
}
static dcsr_status call_apply_second(problem *p)
{
    return dcsr_vector_apply_second(OUT, p->binary, p->u, &p->scalar, &p->desc);
}
static grid define_apply_second_(problem *p)
{
    return define_apply_second(p->binary, &p->a.holds, &p->scalar);
}

static void draw_index(problem *p)
{
    p->index_op = draw_index_op(p);
    draw_one(p);
}
static dcsr_status call_apply_index(problem *p)
{
    return dcsr_vector_apply_index(OUT, p->index_op, p->u, &p->scalar, &p->desc);
}
static grid define_apply_index_(problem *p)
{
    return define_apply_index(p->index_op, &p->a.holds, &p->scalar);
}

static dcsr_status call_select(problem *p)
{
    return dcsr_vector_select(OUT, p->index_op, p->u, &p->scalar, &p->desc);
}
static grid define_select_(problem *p)
{
    return define_select(p->index_op, &p->a.holds, &p->scalar);
}

static void draw_reduce(problem *p)
{
    p->monoid = draw_monoid(p);
    draw_output_array(p, dcsr_i_monoid_type(p->monoid), 1, 1);
    p->misfit = -1; /* every vector has a sum */
    draw_input_vector(p, &p->a, draw_length(p));
}
static dcsr_status call_reduce(problem *p)
{
    return dcsr_vector_reduce(p->array, p->accum, p->monoid, p->u);
}
static grid define_reduce_(problem *p)
{
    grid T = grid_create(dcsr_i_monoid_type(p->monoid), 1, 1);
    grid_set(&T, 0, define_reduce(p->monoid, &p->a.holds));
    return T;
}

static void draw_extract(problem *p)
{
    const uint64_t size = draw_length(p);
    draw_places(p, &p->rows, size, false);
    draw_output_vector(p, p->rows.n);
    const int misfit = p->misfit; /* a longer vector has all the places as well, unless all are meant */
    if (p->rows.index) p->misfit = -1;
    draw_input_vector(p, &p->a, size);
    p->misfit = misfit;
}
static dcsr_status call_extract(problem *p)
{
    return dcsr_vector_extract(OUT, p->u, TEST_LIST(p->rows.index, p->rows.n), &p->desc);
}
static grid define_extract_(problem *p)
{
    return define_extract(&p->a.holds, &p->rows, &(places){NULL, 1});
}

static void draw_assign(problem *p)
{
    const uint64_t size = draw_length(p);
    draw_output_vector(p, size);
    draw_places(p, &p->rows, size, true);
    draw_input_vector(p, &p->a, p->rows.n);
}

/* What has been assigned, written through the mask, without accumulating again. */
static grid through_mask(problem *p, grid Z)
{
    grid out = grid_copy(&p->out.holds);
    grid_write(&out, p->mask_vector ? &p->mask.holds : NULL, NULL, &p->desc, &Z);
    grid_free(&Z);
    return out;
}
static dcsr_status call_assign(problem *p)
{
    return dcsr_vector_assign(OUT, p->u, TEST_LIST(p->rows.index, p->rows.n), &p->desc);
}
static grid define_assign_(problem *p)
{
    return through_mask(p, define_assign(&p->out.holds, p->accum, &p->a.holds, &p->rows, &(places){NULL, 1}));
}

static void draw_assign_scalar(problem *p)
{
    const uint64_t size = draw_length(p);
    draw_output_vector(p, size);
    draw_places(p, &p->rows, size, true);
    p->scalar_type = draw_type(p);
    p->scalar = draw_value(p, p->scalar_type);
}
static dcsr_status call_assign_scalar(problem *p)
{
    return dcsr_vector_assign_scalar(OUT, &p->scalar, p->scalar_type, TEST_LIST(p->rows.index, p->rows.n),
                                     &p->desc);
}
static grid define_assign_scalar(problem *p)
{
    grid all = grid_create(p->scalar_type, p->rows.n, 1);
    for (uint64_t k = 0; k < p->rows.n; k++) grid_set(&all, k, p->scalar);
    grid Z = define_assign(&p->out.holds, p->accum, &all, &p->rows, &(places){NULL, 1});
    grid_free(&all);
    return through_mask(p, Z);
}

enum { USUAL = TAKES_MASK | TAKES_ACCUM };

const algebra_operation vector_operations[] = {
    {"vector_ewise_add", OUTPUT_VECTOR, USUAL, draw_two, call_ewise_add, define_ewise_add, false},
    {"vector_ewise_mult", OUTPUT_VECTOR, USUAL, draw_two, call_ewise_mult, define_ewise_mult, false},
    {"vector_apply", OUTPUT_VECTOR, USUAL, draw_apply, call_apply, define_apply_, false},
    {"vector_apply_first", OUTPUT_VECTOR, USUAL, draw_apply_first, call_apply_first, define_apply_first_,
     false},
    {"vector_apply_second", OUTPUT_VECTOR, USUAL, draw_apply_second, call_apply_second, define_apply_second_,
     false},
    {"vector_apply_index", OUTPUT_VECTOR, USUAL, draw_index, call_apply_index, define_apply_index_, false},
    {"vector_select", OUTPUT_VECTOR, USUAL, draw_index, call_select, define_select_, false},
    {"vector_reduce", OUTPUT_ARRAY, TAKES_ACCUM, draw_reduce, call_reduce, define_reduce_, false},
    {"vector_extract", OUTPUT_VECTOR, USUAL, draw_extract, call_extract, define_extract_, false},
    {"vector_assign", OUTPUT_VECTOR, USUAL, draw_assign, call_assign, define_assign_, true},
    {"vector_assign_scalar", OUTPUT_VECTOR, USUAL, draw_assign_scalar, call_assign_scalar,
     define_assign_scalar, true},
    {0}};
