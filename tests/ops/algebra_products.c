/* algebra_products.c: the products, for the oracle. */
#include <dcsr/mxm.h>
#include <dcsr/mxv.h>
#include <dcsr/spmm.h>
#include "tests/ops/algebra.h"

#include <string.h>

/* What stands twice in a matrix counts twice. The oracle knows it as one entry, the sum; so it is to be the
 * same. */
static void draw_product(problem *p)
{
    p->semiring = draw_semiring(p);
    p->product = true;
    p->distributes = p->semiring->name == (int)DCSR_PLUS_TIMES;
}

static void draw_mxv(problem *p)
{
    const uint64_t rows = draw_size(p), cols = draw_once_in(p, 3) ? rows : draw_size(p);
    draw_product(p);
    draw_output_vector(p, rows);
    draw_input_matrix(p, &p->a, rows, cols, p->desc.transpose_a);
    draw_input_vector(p, &p->b, cols);
    p->u = p->v, p->v = NULL;
}
static dcsr_status call_mxv(problem *p)
{
    return dcsr_mxv(p->w, p->mask_vector, p->accum, p->semiring, p->A, p->u, &p->desc);
}
static grid define_mxv(problem *p)
{
    grid A = input_a(p), T = define_product(p->semiring, &A, &p->b.holds);
    grid_free(&A);
    return T;
}

/* The matrix is the second operand. */
static void draw_vxm(problem *p)
{
    const uint64_t cols = draw_size(p), rows = draw_once_in(p, 3) ? cols : draw_size(p);
    draw_product(p);
    draw_output_vector(p, cols);
    draw_input_vector(p, &p->a, rows);
    draw_input_matrix(p, &p->b, rows, cols, p->desc.transpose_b);
}
static dcsr_status call_vxm(problem *p)
{
    return dcsr_vxm(p->w, p->mask_vector, p->accum, p->semiring, p->u, p->B, &p->desc);
}
static grid define_vxm(problem *p)
{
    grid B = input_b(p), row = grid_transposed(&p->a.holds), T = define_product(p->semiring, &row, &B);
    grid column = grid_transposed(&T);
    grid_free(&B), grid_free(&row), grid_free(&T);
    return column;
}

static void draw_mxm(problem *p)
{
    const uint64_t rows = draw_size(p), inner = draw_once_in(p, 3) ? rows : draw_size(p);
    const uint64_t cols = draw_once_in(p, 3) ? rows : draw_size(p);
    draw_product(p);
    draw_output_matrix(p, rows, cols);
    draw_input_matrix(p, &p->a, rows, inner, p->desc.transpose_a);
    draw_input_matrix(p, &p->b, inner, cols, p->desc.transpose_b);
}
static dcsr_status call_mxm(problem *p)
{
    return dcsr_mxm(p->C, p->mask_view, p->accum, p->semiring, p->A, p->B, &p->desc);
}
static grid define_mxm(problem *p)
{
    grid A = input_a(p), B = input_b(p), T = define_product(p->semiring, &A, &B);
    grid_free(&A), grid_free(&B);
    return T;
}

/* Arrays have no shape that could be wrong: only the mask is checked. */
static void draw_spmm(problem *p)
{
    const uint64_t rows = draw_size(p), cols = draw_size(p);
    static const uint64_t widths[] = {0, 1, 2, 3, 4, 7, 8, 16, 17, 33};
    draw_product(p);
    p->columns = widths[draw_below(p, sizeof widths / sizeof *widths)];
    const dcsr_type type = p->semiring->multiply->ytype;
    const size_t bytes = dcsr_type_size(type);
    draw_output_array(p, dcsr_i_monoid_type(p->semiring->add), rows, p->columns);
    const int misfit = p->misfit;
    p->misfit = -1;
    draw_input_matrix(p, &p->a, rows, cols, p->desc.transpose_a);
    p->misfit = misfit;
    p->b.holds = grid_create(type, cols, p->columns);
    unsigned char *X = test_allocate(cols * p->columns, bytes);
    for (size_t c = 0; c < cols * p->columns; c++) {
        grid_set(&p->b.holds, c, draw_value(p, type));
        memcpy(X + c * bytes, &p->b.holds.value[c], bytes);
    }
    p->X = X;
    p->whole_mask = false;
    p->mask_rows = rows;
}
static dcsr_status call_spmm(problem *p)
{
    return dcsr_spmm(p->array, p->mask_vector, p->accum, p->semiring, p->A, p->X, p->columns, &p->desc);
}
/* The mask says for each row what it says of all its elements. What is not there is the identity, which is
 * not accumulated. */
static grid define_spmm(problem *p)
{
    const dcsr_monoid *add = p->semiring->add;
    grid A = input_a(p), T = define_product(p->semiring, &A, &p->b.holds), out = grid_copy(&p->out.holds);
    grid mask = grid_create(p->mask.holds.type, out.rows, out.cols);
    for (uint64_t i = 0; i < out.rows; i++)
        for (uint64_t j = 0; j < out.cols; j++) {
            const size_t c = grid_at(&out, i, j);
            if (!T.present[c] && !p->accum) grid_set(&T, c, add->identity);
            if (p->mask_vector && p->mask.holds.present[i]) grid_set(&mask, c, p->mask.holds.value[i]);
        }
    grid_write(&out, p->mask_vector ? &mask : NULL, p->accum, &p->desc, &T);
    for (size_t c = 0; c < out.rows * out.cols; c++)
        if (!out.present[c]) grid_set(&out, c, add->identity);
    grid_free(&A), grid_free(&T), grid_free(&mask);
    return out;
}

enum { USUAL = TAKES_MASK | TAKES_ACCUM };

const algebra_operation product_operations[] = {
    {"mxv", OUTPUT_VECTOR, USUAL | TAKES_TRANSPOSE_A | TAKES_DIRECTION, draw_mxv, call_mxv, define_mxv,
     false},
    {"vxm", OUTPUT_VECTOR, USUAL | TAKES_TRANSPOSE_B | TAKES_DIRECTION, draw_vxm, call_vxm, define_vxm,
     false},
    {"mxm", OUTPUT_MATRIX, USUAL | TAKES_TRANSPOSE_A | TAKES_TRANSPOSE_B, draw_mxm, call_mxm, define_mxm,
     false},
    {"spmm", OUTPUT_ARRAY, USUAL | TAKES_TRANSPOSE_A, draw_spmm, call_spmm, define_spmm, true},
    {0}};
