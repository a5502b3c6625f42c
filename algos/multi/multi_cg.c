/* multi_cg.c: the method of conjugate gradients on several devices (Hestenes, Stiefel 1952), with the diagonal of A as
 * a preconditioner M if that is wanted. An iteration is one product and three passes over vectors, each by all devices
 * at once, whose sums over parts are added up in their order:
 *
 *      q = A p, p.q        x += a p, r -= a q, r.r        z = M^-1 r, r.z        p = z + b p
 *
 * On a GPU it waits for these sums alone; vectors stay where they are. */
#include "algos/multi/multi_work.h"
#include <dcsr/extend.h>
#include <dcsr/multi.h>
#include <dcsr/reduce.h>
#include <dcsr/select.h>
#include <dcsr/vector_ops.h>
#include <math.h>

/* The terms of a sum, on a line each, as the devices write them at the same time. */
typedef struct term {
    _Alignas(64) double value;
} term;

typedef struct solver {
    dcsr_i_multi_work w;
    dcsr_multi_vector *x, *r, *z, *p, *q, *diagonal; /* z is r, without preconditioner */
    double factor;                                   /* of the pass */
    term term[DCSR_MAX_DEVICES];                     /* of its sum, by each device */
} solver;

/* The parts of device k. */
typedef struct own {
    dcsr_vector *x, *r, *z, *p, *q, *diagonal;
} own;

static dcsr_status lend(own *to, const solver *s, uint64_t k)
{
    const struct {
        dcsr_multi_vector *from;
        dcsr_vector **to;
    } each[] = {{s->x, &to->x}, {s->r, &to->r}, {s->z, &to->z},
                {s->p, &to->p}, {s->q, &to->q}, {s->diagonal, &to->diagonal}};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        uint64_t first;
        *each[i].to = NULL;
        dcsr_status status =
            each[i].from ? dcsr_multi_vector_get_part(each[i].from, k, each[i].to, &first) : DCSR_OK;
        if (status) return status;
    }
    return DCSR_OK;
}

/* Runs a pass on all devices; returns the sum of their terms, 0 after a failure. */
static double pass(solver *s, dcsr_multi_task *task, double factor)
{
    double sum = 0;
    s->factor = factor;
    for (uint64_t k = 0; k < s->w.parts; k++) s->term[k].value = 0;
    if (!s->w.status) s->w.status = dcsr_multi_run(s->w.devices, task, s);
    for (uint64_t k = 0; k < s->w.parts && !s->w.status; k++) sum += s->term[k].value;
    return sum;
}

/* p.q */
static dcsr_status curve(void *user, uint64_t k)
{
    solver *s = user;
    own v;
    dcsr_status status = lend(&v, s, k);
    return status ? status : dcsr_vector_dot(&s->term[k].value, v.p, v.q);
}

/* x += factor p, r -= factor q, r.r */
static dcsr_status advance(void *user, uint64_t k)
{
    solver *s = user;
    own v;
    dcsr_status status = lend(&v, s, k);
    if (!status) status = dcsr_vector_axpby(v.x, s->factor, v.p, 1, NULL);
    return status ? status : dcsr_vector_axpby(v.r, -s->factor, v.q, 1, &s->term[k].value);
}

/* r -= q, r.r: what is left of b, which r is. */
static dcsr_status begin(void *user, uint64_t k)
{
    solver *s = user;
    own v;
    dcsr_status status = lend(&v, s, k);
    return status ? status : dcsr_vector_axpby(v.r, -1, v.q, 1, &s->term[k].value);
}

/* r.r, of b. */
static dcsr_status measure(void *user, uint64_t k)
{
    solver *s = user;
    own v;
    dcsr_status status = lend(&v, s, k);
    return status ? status : dcsr_vector_dot(&s->term[k].value, v.r, v.r);
}

/* z = r / diagonal, r.z */
static dcsr_status divide(void *user, uint64_t k)
{
    solver *s = user;
    own v;
    dcsr_status status = lend(&v, s, k);
    if (!status)
        status = dcsr_vector_ewise_mult(v.z, NULL, NULL, dcsr_binary_op_of(DCSR_BINARY_DIV, DCSR_FP64), v.r,
                                        v.diagonal, NULL);
    return status ? status : dcsr_vector_dot(&s->term[k].value, v.r, v.z);
}

/* p = z + factor p */
static dcsr_status turn(void *user, uint64_t k)
{
    solver *s = user;
    own v;
    dcsr_status status = lend(&v, s, k);
    return status ? status : dcsr_vector_axpby(v.p, 1, v.z, s->factor, NULL);
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

/* z = M^-1 r; returns r.z, which is r.r without a preconditioner. */
static double precondition(solver *s, double rr)
{
    return s->diagonal ? pass(s, divide, 0) : rr;
}

/* From r, with r.r given. */
static void iterate(solver *s, dcsr_multi_cg_result *found, double rr, double goal, uint64_t most)
{
    dcsr_i_multi_work *w = &s->w;
    found->residual = sqrt(rr);
    found->converged = found->residual <= goal;
    if (found->converged) return;
    double rz = precondition(s, rr);
    pass(s, turn, 0);
    while (!w->status && !found->converged && found->iterations < most) {
        w->status = dcsr_multi_spmv(s->q, w->A, s->p, NULL);
        const double curvature = pass(s, curve, 0);
        found->indefinite = !(curvature > 0);
        if (w->status || found->indefinite) return;
        const double step = rz / curvature, before = rz;
        rr = pass(s, advance, step);
        found->residual = sqrt(rr);
        found->iterations++;
        found->converged = found->residual <= goal;
        if (found->converged) return;
        rz = precondition(s, rr);
        pass(s, turn, rz / before);
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
    dcsr_multi_vector **const each[] = {&s.x, &s.r, &s.p, &s.q};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) *each[i] = dcsr_i_multi_take(&s.w, DCSR_FP64);
    s.z = s.r;
    if (o.jacobi) {
        s.z = dcsr_i_multi_take(&s.w, DCSR_FP64);
        s.diagonal = dcsr_i_multi_take(&s.w, DCSR_FP64);
        make_jacobi(&s);
    }
    if (s.z != s.r && !s.w.status) s.w.status = dcsr_multi_vector_fill(s.z, &(double){0});
    if (!s.w.status) s.w.status = dcsr_multi_vector_from_array(s.x, x);
    if (!s.w.status) s.w.status = dcsr_multi_vector_from_array(s.r, b);
    if (!s.w.status) s.w.status = dcsr_multi_vector_fill(s.p, &(double){0});
    const double norm = sqrt(pass(&s, measure, 0));
    if (!s.w.status) s.w.status = dcsr_multi_spmv(s.q, A, s.x, NULL);
    const double rr = pass(&s, begin, 0);
    if (norm > 0 || s.w.status)
        iterate(&s, &found, rr, (o.tolerance > 0 ? o.tolerance : 1e-8) * norm,
                o.max_iterations ? o.max_iterations : 1000);
    else
        found.converged = true, s.w.status = dcsr_multi_vector_fill(s.x, &(double){0});
    found.residual /= norm > 0 ? norm : 1;
    if (!s.w.status) s.w.status = dcsr_multi_vector_to_array(s.x, &(double){0}, x);
    if (!s.w.status && result) *result = found;
    return dcsr_i_multi_work_close(&s.w);
}
