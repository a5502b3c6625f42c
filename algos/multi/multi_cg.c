/* multi_cg.c: the method of conjugate gradients on several devices (Hestenes, Stiefel 1952), with the diagonal of A as
 * a preconditioner if that is wanted. An iteration is one product, three sums over all devices, and updates of vectors
 * part by part. */
#include "algos/multi/multi_work.h"
#include <dcsr/extend.h>
#include <dcsr/reduce.h>
#include <dcsr/select.h>
#include <dcsr/vector_ops.h>
#include <math.h>

typedef struct solver {
    dcsr_i_multi_work w;
    dcsr_multi_vector *x, *r, *z, *p, *q, *diagonal, *scratch; /* z is r, without preconditioner */
} solver;

static const dcsr_binary_op *binary(dcsr_binary_name name)
{
    return dcsr_binary_op_of(name, DCSR_FP64);
}

/* to = op(a, b), element by element; `to` may be either. */
static void combine(dcsr_i_multi_work *w, dcsr_multi_vector *to, dcsr_binary_name op, dcsr_multi_vector *a,
                    dcsr_multi_vector *b)
{
    for (uint64_t k = 0; k < w->parts; k++) {
        dcsr_vector *to_k = dcsr_i_multi_part(w, to, k), *a_k = dcsr_i_multi_part(w, a, k),
                    *b_k = dcsr_i_multi_part(w, b, k);
        if (!w->status) w->status = dcsr_vector_ewise_mult(to_k, NULL, NULL, binary(op), a_k, b_k, NULL);
    }
}

/* to += factor v. */
static void add(dcsr_i_multi_work *w, dcsr_multi_vector *to, double factor, dcsr_multi_vector *v)
{
    for (uint64_t k = 0; k < w->parts; k++) {
        dcsr_vector *to_k = dcsr_i_multi_part(w, to, k), *v_k = dcsr_i_multi_part(w, v, k);
        if (!w->status)
            w->status = dcsr_vector_apply_first(to_k, NULL, binary(DCSR_BINARY_PLUS),
                                                binary(DCSR_BINARY_TIMES), &factor, v_k, NULL);
    }
}

/* p = z + beta p. */
static void turn(solver *s, double beta)
{
    dcsr_i_multi_work *w = &s->w;
    for (uint64_t k = 0; k < w->parts; k++) {
        dcsr_vector *p = dcsr_i_multi_part(w, s->p, k);
        if (!w->status)
            w->status = dcsr_vector_apply_first(p, NULL, NULL, binary(DCSR_BINARY_TIMES), &beta, p, NULL);
    }
    combine(w, s->p, DCSR_BINARY_PLUS, s->p, s->z);
}

static double dot(solver *s, dcsr_multi_vector *a, dcsr_multi_vector *b)
{
    combine(&s->w, s->scratch, DCSR_BINARY_TIMES, a, b);
    return dcsr_i_multi_sum(&s->w, s->scratch);
}

/* The diagonal of part k, whose row i is row `first` + i of A. */
static dcsr_status take_diagonal(dcsr_vector *to, dcsr_view *part, uint64_t first)
{
    const int64_t shift = (int64_t)first;
    dcsr_view_shape shape;
    dcsr_matrix *alone = NULL;
    dcsr_view *view = NULL;
    dcsr_status status = dcsr_view_get_shape(part, &shape);
    if (!status && !shape.rows) return DCSR_OK;
    if (!status) status = dcsr_matrix_create(&alone, shape.context, DCSR_FP64, shape.rows, shape.cols, NULL);
    if (!status)
        status = dcsr_matrix_select(alone, NULL, NULL, dcsr_index_op_of(DCSR_INDEX_DIAG, DCSR_FP64), part,
                                    &shift, NULL);
    if (!status) status = dcsr_view_create(&view, alone, DCSR_LAYOUT_SEGMENTS, 0);
    if (!status)
        status =
            dcsr_matrix_reduce_rows(to, NULL, NULL, dcsr_monoid_of(DCSR_BINARY_PLUS, DCSR_FP64), view, NULL);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(alone);
    return status;
}

static void make_jacobi(solver *s)
{
    dcsr_i_multi_work *w = &s->w;
    double least = INFINITY;
    for (uint64_t k = 0; k < w->parts; k++) {
        dcsr_vector *part = NULL;
        dcsr_view *rows = NULL;
        uint64_t first = 0;
        if (!w->status) w->status = dcsr_multi_vector_get_part(s->diagonal, k, &part, &first);
        if (!w->status) w->status = dcsr_multi_view_get_part(w->A, k, &rows);
        if (!w->status) w->status = take_diagonal(part, rows, first);
    }
    const uint64_t there = dcsr_i_multi_count_of(w, s->diagonal);
    if (!w->status)
        w->status = dcsr_multi_vector_reduce(&least, dcsr_monoid_of(DCSR_BINARY_MIN, DCSR_FP64), s->diagonal);
    if (!w->status && (there < w->n || !(least > 0)))
        w->status = dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                     "dcsr_multi_cg: jacobi wants a diagonal above 0; %llu of %llu entries "
                                     "are there, the least is %g",
                                     (unsigned long long)there, (unsigned long long)w->n, least);
}

/* z from r. */
static void precondition(solver *s)
{
    if (s->diagonal) combine(&s->w, s->z, DCSR_BINARY_DIV, s->r, s->diagonal);
}

static void iterate(solver *s, dcsr_multi_cg_result *found, double goal, uint64_t most)
{
    dcsr_i_multi_work *w = &s->w;
    precondition(s);
    double rz = dot(s, s->r, s->z);
    turn(s, 0);
    found->residual = sqrt(dot(s, s->r, s->r));
    found->converged = found->residual <= goal;
    while (!w->status && !found->converged && found->iterations < most) {
        if (!w->status) w->status = dcsr_multi_spmv(s->q, w->A, s->p, NULL);
        const double curvature = dot(s, s->p, s->q);
        found->indefinite = !(curvature > 0);
        if (w->status || found->indefinite) return;
        add(w, s->x, rz / curvature, s->p);
        add(w, s->r, -(rz / curvature), s->q);
        found->residual = sqrt(dot(s, s->r, s->r));
        found->iterations++;
        found->converged = found->residual <= goal;
        if (found->converged) return;
        const double before = rz;
        precondition(s);
        rz = dot(s, s->r, s->z);
        turn(s, rz / before);
    }
}

dcsr_status dcsr_multi_cg(double *x, dcsr_multi_cg_result *result, dcsr_multi_view *A, const double *b,
                          const dcsr_multi_cg_options *options)
{
    const dcsr_multi_cg_options o = options ? *options : (dcsr_multi_cg_options){0};
    dcsr_multi_cg_result found = {0};
    solver s = {0};
    if (!x || !b)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_multi_cg: %s is NULL; give an array",
                                x ? "b" : "x");
    if (!(o.tolerance >= 0))
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                "dcsr_multi_cg: tolerance is negative or not a number");
    dcsr_i_multi_work_open(&s.w, A, "dcsr_multi_cg");
    if (!s.w.status && s.w.type != DCSR_FP64)
        s.w.status = dcsr_thread_fail(DCSR_ERROR_TYPE_MISMATCH, "dcsr_multi_cg: A is %s; it must be fp64",
                                      dcsr_type_name(s.w.type));
    dcsr_multi_vector **const each[] = {&s.x, &s.r, &s.p, &s.q, &s.scratch};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) *each[i] = dcsr_i_multi_take(&s.w, DCSR_FP64);
    s.z = s.r;
    if (o.jacobi) {
        s.z = dcsr_i_multi_take(&s.w, DCSR_FP64);
        s.diagonal = dcsr_i_multi_take(&s.w, DCSR_FP64);
        make_jacobi(&s);
        if (!s.w.status) s.w.status = dcsr_multi_vector_fill(s.z, &(double){0});
    }
    if (!s.w.status) s.w.status = dcsr_multi_vector_from_array(s.x, x);
    if (!s.w.status) s.w.status = dcsr_multi_vector_from_array(s.r, b);
    if (!s.w.status) s.w.status = dcsr_multi_vector_fill(s.p, &(double){0});
    const double norm = sqrt(dot(&s, s.r, s.r));
    if (!s.w.status) s.w.status = dcsr_multi_spmv(s.q, A, s.x, NULL);
    add(&s.w, s.r, -1, s.q);
    if (norm > 0 || s.w.status)
        iterate(&s, &found, (o.tolerance > 0 ? o.tolerance : 1e-8) * norm,
                o.max_iterations ? o.max_iterations : 1000);
    else
        found.converged = true, s.w.status = dcsr_multi_vector_fill(s.x, &(double){0});
    found.residual /= norm > 0 ? norm : 1;
    if (!s.w.status) s.w.status = dcsr_multi_vector_to_array(s.x, &(double){0}, x);
    if (!s.w.status && result) *result = found;
    return dcsr_i_multi_work_close(&s.w);
}
