/* cycle.c: V-, W- and K-cycles.
 *
 *      smooth x from 0      r = b - A x      b' = R r      x' = visit the next level      x += P x'      smooth x
 *
 * Bytes that a V-cycle moves at least, on a level of n rows with e entries, where P has p of them, and the
 * smoother makes s steps: 2 s passes over A (the first step from zero reads none, the residual does), that is
 * 2 s (12 e + 8 n); R and P, 24 p; and per pass over A five vectors at most, 2 s 40 n. So it is the entries that
 * count: 60 million entries at 20 GB/s and s = 2 are 150 ms, whatever the arithmetic.
 *
 * On a device these bytes are the same, and each pass is a launch: 2 s + 3 on a level, three more where W visits it
 * again, one on the last, none of which waits. A V-cycle for 7 points on 128^3, s = 2, moves 1.1 GB in some 25
 * launches, of which those for all but the first level take as long as launching them. Cycles in fp32 move two thirds
 * of that, with two launches more. A sweep of Gauss-Seidel is a launch for each colour: 6 on the first level, 20 to 30
 * below; on small levels one for all. */
#include "amg/amg_engine.h"
#include <math.h>

enum { LAST_SWEEPS = 8 }; /* of the smoother, on a last level that is not inverted */
void dcsr_i_amg_plan_smoothing(dcsr_i_amg_level *level, const dcsr_i_amg_options *options)
{
    const double rho = level->told.rho > 0 ? level->told.rho : 1;
    const double middle = rho * (1 + 1 / options->interval) / 2, half = rho - middle;
    double before = half / middle;
    level->step_count = (int)options->steps;
    for (int s = 0; s < level->step_count; s++) {
        dcsr_i_amg_smoothing *step = &level->steps[s];
        switch (options->smoother) {
        case DCSR_I_AMG_JACOBI:
            *step = (dcsr_i_amg_smoothing){0, 4 / (3 * rho)};
            break;
        case DCSR_I_AMG_L1:
            *step = (dcsr_i_amg_smoothing){0, 1};
            break;
        default: /* the recurrence of Chebyshev polynomials (Saad, Iterative methods, algorithm 12.1) */
            if (!s) {
                *step = (dcsr_i_amg_smoothing){0, 1 / middle};
            } else {
                double next = 1 / (2 * middle / half - before);
                *step = (dcsr_i_amg_smoothing){next * before, 2 * next / half};
                before = next;
            }
        }
    }
}

dcsr_status dcsr_i_amg_take_vectors(dcsr_i_amg_hierarchy *h, int number, int width)
{
    dcsr_i_amg_level *level = &h->level[number];
    dcsr_i_amg_array *const taken[] = {&level->r, &level->d,       &level->y,       &level->x,
                                       &level->b, &level->best[0], &level->best[1], &level->best[2]};
    /* x and b of level 0 are the caller's, if they are fp64; only levels below are visited twice. */
    const bool below = number || h->lower;
    int count = below && h->options.cycle != DCSR_I_AMG_V          ? 8
                : below || h->options.precision == DCSR_I_AMG_FP32 ? 5
                                                                   : 3;
    for (int v = 0; v < count; v++) {
        dcsr_i_amg_array array;
        DCSR_I_AMG_TRY(h->engine->take(&array, h, level->rows * (uint64_t)width, sizeof(double)));
        h->engine->drop(taken[v], h);
        *taken[v] = array;
    }
    return DCSR_OK;
}

dcsr_status dcsr_i_amg_make_wide(dcsr_i_amg_hierarchy *h, int width)
{
    if (width <= h->width) return DCSR_OK;
    for (int l = 0; l < h->level_count; l++) DCSR_I_AMG_TRY(dcsr_i_amg_take_vectors(h, l, width));
    h->width = width;
    return DCSR_OK;
}

/* ---- Smoothing ---- */

/* Where a smoothing of all steps has to begin, so that it ends in x. */
static void *beginning(const dcsr_i_amg_level *level, void *x, int steps)
{
    return steps % 2 ? level->y.data : x;
}

/* The steps from number `first` on, from the x in beginning() to x. */
static void take_steps(const dcsr_i_amg_form *f, const dcsr_i_amg_level *level, int first, void *x,
                       const void *b)
{
    void *from = beginning(level, x, level->step_count - first), *to = from == x ? level->y.data : x;
    for (int s = first; s < level->step_count; s++) {
        f->run->smooth_step(f, level, &level->steps[s], b, from, to);
        void *swapped = from;
        from = to;
        to = swapped;
    }
}

static void sweep(const dcsr_i_amg_form *f, const dcsr_i_amg_level *level, bool backward, void *x,
                  const void *b)
{
    for (int s = 0; s < level->step_count; s++) f->run->sweep(f, level, backward, b, x);
}

static bool in_sweeps(const dcsr_i_amg_hierarchy *h)
{
    return h->options.smoother == DCSR_I_AMG_GAUSS_SEIDEL;
}

static void smooth_from_zero(const dcsr_i_amg_hierarchy *h, const dcsr_i_amg_form *f,
                             const dcsr_i_amg_level *level, void *x, const void *b)
{
    if (in_sweeps(h)) {
        f->run->combine(f, level->rows, dcsr_i_amg_zero, b, dcsr_i_amg_zero, x);
        sweep(f, level, false, x, b);
    } else {
        f->run->smooth_first(f, level, level->steps[0].add, b, beginning(level, x, level->step_count - 1));
        take_steps(f, level, 1, x, b);
    }
}

/* From x + P e, e of the next level. Sweeps go backward, so that all of a cycle is symmetric. */
static void smooth_from(const dcsr_i_amg_hierarchy *h, const dcsr_i_amg_form *f,
                        const dcsr_i_amg_level *level, const void *e, void *x, const void *b)
{
    void *begin = in_sweeps(h) ? x : beginning(level, x, level->step_count);
    f->run->add_product(f, &level->P.rows, e, x, begin);
    if (in_sweeps(h))
        sweep(f, level, true, x, b);
    else
        take_steps(f, level, 0, x, b);
}

/* A last level that is not inverted. */
static void smooth_last(const dcsr_i_amg_hierarchy *h, const dcsr_i_amg_form *f,
                        const dcsr_i_amg_level *level, void *x, const void *b)
{
    smooth_from_zero(h, f, level, x, b);
    for (int time = 1; time < LAST_SWEEPS; time++) {
        if (in_sweeps(h)) {
            sweep(f, level, time % 2, x, b);
            continue;
        }
        void *begin = beginning(level, x, level->step_count);
        if (begin != x) f->run->combine(f, level->rows, dcsr_i_amg_one, x, dcsr_i_amg_zero, begin);
        take_steps(f, level, 0, x, b);
    }
}

/* ---- Cycles ---- */

static void cycle(dcsr_i_amg_hierarchy *h, const dcsr_i_amg_form *f, int number, void *x, const void *b);

/* From x = c of the first visit to a level: a second one for what c leaves, which W adds to it. */
static void visit_again(dcsr_i_amg_hierarchy *h, const dcsr_i_amg_form *f, int number, void *x, const void *b)
{
    dcsr_i_amg_level *level = &h->level[number];
    void *c = level->best[0].data, *r = level->best[2].data;
    f->run->combine(f, level->rows, dcsr_i_amg_one, x, dcsr_i_amg_zero, c);
    f->run->residual(f, &level->A.rows, c, b, r, NULL);
    cycle(h, f, number, x, r);
    f->run->combine(f, level->rows, dcsr_i_amg_one, c, dcsr_i_amg_one, x);
}

/* A second visit is left out where the first has reduced the residual to a quarter (Notay 2008). */
dcsr_i_amg_best dcsr_i_amg_best_of_one(double cv, double cb, double bb, double vb, double vv)
{
    static const double GOOD_ENOUGH = 0.25;
    const double step = cv > 0 ? cb / cv : 1, left = bb + step * (step * vv - 2 * vb);
    const bool enough = cv > 0 ? left <= GOOD_ENOUGH * GOOD_ENOUGH * bb : bb == 0;
    return (dcsr_i_amg_best){step, enough ? 0 : 1};
}

dcsr_i_amg_best dcsr_i_amg_best_of_two(dcsr_i_amg_best one, double cv, double xv, double xr, double xw)
{
    if (!(cv > 0) || one.again == 0) return one;
    const double rest = xw - xv * xv / cv, again = rest > 0 ? xr / rest : 0;
    return (dcsr_i_amg_best){one.step - xv / cv * again, again};
}

/* The same for K, with the combination of both that is best in the norm of A. Each column has its own. */
static void visit_for_best(dcsr_i_amg_hierarchy *h, const dcsr_i_amg_form *f, int number, void *x,
                           const void *b)
{
    enum { MOST = DCSR_I_AMG_MOST_WIDTH };
    dcsr_i_amg_level *level = &h->level[number];
    const dcsr_i_amg_rows *A = &level->A.rows;
    const uint64_t n = level->rows;
    const int width = f->width;
    void *c = level->best[0].data, *v = level->best[1].data, *r = level->best[2].data;
    double cv[MOST], cb[MOST], bb[MOST], vb[MOST], vv[MOST], step[MOST], back[MOST], again[MOST], xv[MOST],
        xr[MOST], xw[MOST];
    dcsr_i_amg_best best[MOST];
    int enough = 0;
    f->run->combine(f, n, dcsr_i_amg_one, x, dcsr_i_amg_zero, c);
    f->run->multiply_dot(f, A, c, v, c, cv, vv);
    f->run->dot(f, n, c, b, cb);
    f->run->dot(f, n, b, b, bb);
    f->run->dot(f, n, v, b, vb);
    for (int k = 0; k < width; k++) {
        best[k] = dcsr_i_amg_best_of_one(cv[k], cb[k], bb[k], vb[k], vv[k]);
        step[k] = best[k].step;
        back[k] = -step[k];
        enough += best[k].again == 0;
    }
    if (enough == width) {
        f->run->combine(f, n, step, c, dcsr_i_amg_zero, x);
        return;
    }
    f->run->combine(f, n, dcsr_i_amg_one, b, dcsr_i_amg_zero, r);
    f->run->combine(f, n, back, v, dcsr_i_amg_one, r);
    cycle(h, f, number, x, r);
    f->run->dot(f, n, x, v, xv);
    f->run->dot(f, n, x, r, xr);
    f->run->multiply_dot(f, A, x, level->r.data, x, xw, NULL);
    for (int k = 0; k < width; k++) {
        best[k] = dcsr_i_amg_best_of_two(best[k], cv[k], xv[k], xr[k], xw[k]);
        step[k] = best[k].step;
        again[k] = best[k].again;
    }
    f->run->combine(f, n, step, c, again, x);
}

/* From x of the first visit, to all that the cycle makes of it. */
static void visit_more(dcsr_i_amg_hierarchy *h, const dcsr_i_amg_form *f, int number, void *x, const void *b)
{
    if (number + 1 == h->level_count || h->options.cycle == DCSR_I_AMG_V) return;
    (h->options.cycle == DCSR_I_AMG_K ? visit_for_best : visit_again)(h, f, number, x, b);
}

static void cycle(dcsr_i_amg_hierarchy *h, const dcsr_i_amg_form *f, int number, void *x, const void *b)
{
    dcsr_i_amg_level *level = &h->level[number], *next = level + 1;
    if (number + 1 == h->level_count) {
        if (level->told.direct)
            f->run->dense(f, level->rows, level->inverse.data, b, x);
        else
            smooth_last(h, f, level, x, b);
        return;
    }
    smooth_from_zero(h, f, level, x, b);
    f->run->residual(f, &level->A.rows, x, b, level->r.data, NULL);
    f->run->multiply(f, &level->R.rows, level->r.data, next->b.data);
    cycle(h, f, number + 1, next->x.data, next->b.data);
    visit_more(h, f, number + 1, next->x.data, next->b.data);
    smooth_from(h, f, level, next->x.data, x, b);
}

void dcsr_i_amg_precondition(dcsr_i_amg_hierarchy *h, int width, const double *norms, double *x,
                             const double *b)
{
    const bool narrow = h->options.precision == DCSR_I_AMG_FP32;
    const dcsr_i_amg_form f = h->engine->form_of(h, narrow ? DCSR_FP32 : DCSR_FP64, width);
    dcsr_i_amg_level *first = &h->level[0];
    if (!narrow) {
        cycle(h, &f, 0, x, b);
        return;
    }
    h->engine->narrow(&f, first->rows, norms, b, first->b.data);
    cycle(h, &f, 0, first->x.data, first->b.data);
    h->engine->widen(&f, first->rows, norms, first->x.data, x);
}

void dcsr_i_amg_visit(dcsr_i_amg_hierarchy *h, bool more)
{
    const bool narrow = h->options.precision == DCSR_I_AMG_FP32;
    const dcsr_i_amg_form f = h->engine->form_of(h, narrow ? DCSR_FP32 : DCSR_FP64, 1);
    dcsr_i_amg_level *first = &h->level[0];
    cycle(h, &f, 0, first->x.data, first->b.data);
    if (more) visit_more(h, &f, 0, first->x.data, first->b.data);
}
