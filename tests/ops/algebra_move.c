/* algebra_move.c: extract and assign of matrices, for the oracle. */
#include <dcsr/assign.h>
#include <dcsr/extract.h>
#include "tests/ops/algebra.h"

#define OUT p->C, p->mask_view, p->accum

/* An input of which any shape will do as long as it has the places. */
static void draw_source(problem *p, uint64_t rows, uint64_t cols)
{
    const int misfit = p->misfit;
    p->misfit = -1;
    draw_input_matrix(p, &p->a, rows, cols, p->desc.transpose_a);
    p->misfit = misfit;
}

static void draw_extract(problem *p)
{
    const uint64_t rows = draw_size(p), cols = draw_once_in(p, 3) ? rows : draw_size(p);
    draw_places(p, &p->rows, rows, false);
    draw_places(p, &p->cols, cols, false);
    draw_output_matrix(p, p->rows.n, p->cols.n);
    draw_source(p, rows, cols);
}
static dcsr_status call_extract(problem *p)
{
    return dcsr_matrix_extract(OUT, p->A, TEST_LIST(p->rows.index, p->rows.n),
                               TEST_LIST(p->cols.index, p->cols.n), &p->desc);
}
static grid define_extract_(problem *p)
{
    grid A = input_a(p), T = define_extract(&A, &p->rows, &p->cols);
    grid_free(&A);
    return T;
}

/* One row or column; matrices here have at least one of each. */
static void draw_extract_row(problem *p)
{
    const uint64_t rows = 1 + draw_size(p), cols = 1 + draw_size(p);
    p->line = true;
    p->index = draw_below(p, rows);
    draw_output_vector(p, cols);
    draw_source(p, rows, cols);
}
static dcsr_status call_extract_row(problem *p)
{
    return dcsr_matrix_extract_row(p->w, p->mask_vector, p->accum, p->A, p->index, &p->desc);
}
static grid define_extract_row(problem *p)
{
    grid A = input_a(p), row = define_extract(&A, &(places){&p->index, 1}, &(places){NULL, A.cols});
    grid T = grid_transposed(&row);
    grid_free(&A), grid_free(&row);
    return T;
}

static void draw_extract_column(problem *p)
{
    const uint64_t rows = 1 + draw_size(p), cols = 1 + draw_size(p);
    p->line = true;
    p->index = draw_below(p, cols);
    draw_output_vector(p, rows);
    draw_source(p, rows, cols);
}
static dcsr_status call_extract_column(problem *p)
{
    return dcsr_matrix_extract_column(p->w, p->mask_vector, p->accum, p->A, p->index, &p->desc);
}
static grid define_extract_column(problem *p)
{
    grid A = input_a(p), T = define_extract(&A, &(places){NULL, A.rows}, &(places){&p->index, 1});
    grid_free(&A);
    return T;
}

/* What has been assigned, written through the mask, without accumulating again. */
static grid through_mask(problem *p, grid Z)
{
    grid out = grid_copy(&p->out.holds);
    grid_write(&out, p->mask_view ? &p->mask.holds : NULL, NULL, &p->desc, &Z);
    grid_free(&Z);
    return out;
}

static void draw_assign(problem *p)
{
    const uint64_t rows = draw_size(p), cols = draw_once_in(p, 3) ? rows : draw_size(p);
    draw_output_matrix(p, rows, cols);
    draw_places(p, &p->rows, rows, true);
    draw_places(p, &p->cols, cols, true);
    draw_input_matrix(p, &p->a, p->rows.n, p->cols.n, p->desc.transpose_a);
}
static dcsr_status call_assign(problem *p)
{
    return dcsr_matrix_assign(OUT, p->A, TEST_LIST(p->rows.index, p->rows.n),
                              TEST_LIST(p->cols.index, p->cols.n), &p->desc);
}
static grid define_assign_(problem *p)
{
    grid A = input_a(p), Z = define_assign(&p->out.holds, p->accum, &A, &p->rows, &p->cols);
    grid_free(&A);
    return through_mask(p, Z);
}

static void draw_assign_scalar(problem *p)
{
    const uint64_t rows = draw_size(p), cols = draw_once_in(p, 3) ? rows : draw_size(p);
    draw_output_matrix(p, rows, cols);
    draw_places(p, &p->rows, rows, true);
    draw_places(p, &p->cols, cols, true);
    p->scalar_type = draw_type(p);
    p->scalar = draw_value(p, p->scalar_type);
}
static dcsr_status call_assign_scalar(problem *p)
{
    return dcsr_matrix_assign_scalar(OUT, &p->scalar, p->scalar_type, TEST_LIST(p->rows.index, p->rows.n),
                                     TEST_LIST(p->cols.index, p->cols.n), &p->desc);
}
static grid define_assign_scalar(problem *p)
{
    grid all = grid_create(p->scalar_type, p->rows.n, p->cols.n);
    for (size_t c = 0; c < all.rows * all.cols; c++) grid_set(&all, c, p->scalar);
    grid Z = define_assign(&p->out.holds, p->accum, &all, &p->rows, &p->cols);
    grid_free(&all);
    return through_mask(p, Z);
}

/* A row or column gets a vector; mask and replace are about that row or column alone. */
static void draw_assign_line(problem *p, bool column)
{
    const uint64_t rows = 1 + draw_size(p), cols = 1 + draw_size(p);
    p->line = true;
    p->index = draw_below(p, column ? cols : rows);
    draw_output_matrix(p, rows, cols);
    draw_input_vector(p, &p->a, column ? rows : cols);
    p->whole_mask = false;
    p->mask_rows = column ? rows : cols;
}
static grid assigned_line(problem *p, bool column)
{
    grid out = column ? grid_copy(&p->out.holds) : grid_transposed(&p->out.holds);
    grid line = define_extract(&out, &(places){NULL, out.rows}, &(places){&p->index, 1});
    grid_write(&line, p->mask_vector ? &p->mask.holds : NULL, p->accum, &p->desc, &p->a.holds);
    for (uint64_t i = 0; i < out.rows; i++) {
        out.present[grid_at(&out, i, p->index)] = line.present[i];
        out.value[grid_at(&out, i, p->index)] = line.value[i];
    }
    grid_free(&line);
    if (column) return out;
    grid turned = grid_transposed(&out);
    grid_free(&out);
    return turned;
}

static void draw_assign_row(problem *p)
{
    draw_assign_line(p, false);
}
static dcsr_status call_assign_row(problem *p)
{
    return dcsr_matrix_assign_row(p->C, p->mask_vector, p->accum, p->u, p->index, &p->desc);
}
static grid define_assign_row(problem *p)
{
    return assigned_line(p, false);
}

static void draw_assign_column(problem *p)
{
    draw_assign_line(p, true);
}
static dcsr_status call_assign_column(problem *p)
{
    return dcsr_matrix_assign_column(p->C, p->mask_vector, p->accum, p->u, p->index, &p->desc);
}
static grid define_assign_column(problem *p)
{
    return assigned_line(p, true);
}

enum { USUAL = TAKES_MASK | TAKES_ACCUM, ONE = USUAL | TAKES_TRANSPOSE_A };

const algebra_operation place_operations[] = {
    {"matrix_extract", OUTPUT_MATRIX, ONE, draw_extract, call_extract, define_extract_, false},
    {"matrix_extract_row", OUTPUT_VECTOR, ONE, draw_extract_row, call_extract_row, define_extract_row, false},
    {"matrix_extract_column", OUTPUT_VECTOR, ONE, draw_extract_column, call_extract_column,
     define_extract_column, false},
    {"matrix_assign", OUTPUT_MATRIX, ONE, draw_assign, call_assign, define_assign_, true},
    {"matrix_assign_scalar", OUTPUT_MATRIX, USUAL, draw_assign_scalar, call_assign_scalar,
     define_assign_scalar, true},
    {"matrix_assign_row", OUTPUT_MATRIX, USUAL, draw_assign_row, call_assign_row, define_assign_row, true},
    {"matrix_assign_column", OUTPUT_MATRIX, USUAL, draw_assign_column, call_assign_column,
     define_assign_column, true},
    {0}};
