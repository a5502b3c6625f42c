/* cycle.c: V-, W- and K-cycles.
 *
 *      smooth x from 0      r = b - A x      b' = R r      x' = visit the next level      x += P x'      smooth x
 *
 * Bytes that a V-cycle moves at least, on a level of n rows with e entries, where P has p of them, and the
 * smoother makes s steps: 2 s passes over A (the first step from zero reads none, the residual does), that is
 * 2 s (12 e + 8 n); R and P, 24 p; and per pass over A five vectors at most, 2 s 40 n. So it is the entries that
 * count: 60 million entries at 20 GB/s and s = 2 are 150 ms, whatever the arithmetic. */
#include "amg/kernels.h"
#include <math.h>

enum { LAST_SWEEPS = 8 }; /* of the smoother, on a last level that is not inverted */
/* A K-cycle's second visit is left out where the first has reduced the residual by that (Notay 2008). */
static const double GOOD_ENOUGH = 0.25;

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

/* Where a smoothing of all steps has to begin, so that it ends in x. */
static double *beginning(const dcsr_i_amg_level *level, double *x, int steps)
{
    return steps % 2 ? level->y.data : x;
}

/* The steps from number `first` on, from the x in beginning() to x. */
static void smooth(const dcsr_i_amg_hierarchy *h, const dcsr_i_amg_level *level, int first, double *x,
                   const double *b)
{
    double *from = beginning(level, x, level->step_count - first), *to = from == x ? level->y.data : x;
    for (int s = first; s < level->step_count; s++) {
        dcsr_i_amg_smooth_step(h, level, &level->steps[s], b, from, to);
        double *swapped = from;
        from = to;
        to = swapped;
    }
}

static void smooth_from_zero(const dcsr_i_amg_hierarchy *h, const dcsr_i_amg_level *level, double *x,
                             const double *b)
{
    dcsr_i_amg_smooth_first(h, level, level->steps[0].add, b, beginning(level, x, level->step_count - 1));
    smooth(h, level, 1, x, b);
}

static void solve_last(const dcsr_i_amg_hierarchy *h, const dcsr_i_amg_level *level, double *x,
                       const double *b)
{
    const double *inverse = level->inverse.data;
    const uint64_t n = level->rows;
    if (!level->told.direct) {
        smooth_from_zero(h, level, x, b);
        for (int sweep = 1; sweep < LAST_SWEEPS; sweep++) {
            if (level->step_count % 2)
                dcsr_i_amg_combine(h, n, 1, x, 0, level->y.data); /* where smoothing begins */
            smooth(h, level, 0, x, b);
        }
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        double sum = 0;
        for (uint64_t j = 0; j < n; j++) sum += inverse[i * n + j] * b[j];
        x[i] = sum;
    }
}

static void cycle(dcsr_i_amg_hierarchy *h, int number, double *x, const double *b);

/* The second visit of W and K. x comes with the result c of the first, and becomes c + the second's, each times
 * the step that is best in the norm of A if K is asked for (Notay, Recursive Krylov-based multigrid cycles,
 * 2008). */
static void visit_again(dcsr_i_amg_hierarchy *h, int number, double *x, const double *b)
{
    dcsr_i_amg_level *level = &h->level[number];
    const dcsr_i_amg_rows *A = &level->A.rows;
    const uint64_t n = level->rows;
    double *c = level->best[0].data, *v = level->best[1].data, *r = level->best[2].data;
    dcsr_i_amg_combine(h, n, 1, x, 0, c);
    double cv = dcsr_i_amg_multiply_dot(h, A, c, v, c, NULL);
    bool best = h->options.cycle == DCSR_I_AMG_K && cv > 0;
    double step = best ? dcsr_i_amg_dot(h, n, c, b) / cv : 1;
    dcsr_i_amg_combine(h, n, 1, b, 0, r);
    double square = dcsr_i_amg_dot(h, n, b, b), left = dcsr_i_amg_add_norm(h, n, -step, v, r);
    if (best && left <= GOOD_ENOUGH * GOOD_ENOUGH * square) {
        dcsr_i_amg_combine(h, n, step, c, 0, x);
        return;
    }
    cycle(h, number, x, r);
    double again = 1;
    if (best) {
        double xv = dcsr_i_amg_dot(h, n, x, v), xr = dcsr_i_amg_dot(h, n, x, r);
        double *w = level->r.data;
        double rest = dcsr_i_amg_multiply_dot(h, A, x, w, x, NULL) - xv * xv / cv;
        again = rest > 0 ? xr / rest : 0;
        step -= xv / cv * again;
    }
    dcsr_i_amg_combine(h, n, step, c, again, x);
}

static void cycle(dcsr_i_amg_hierarchy *h, int number, double *x, const double *b)
{
    dcsr_i_amg_level *level = &h->level[number], *next = level + 1;
    if (number + 1 == h->level_count) {
        solve_last(h, level, x, b);
        return;
    }
    smooth_from_zero(h, level, x, b);
    dcsr_i_amg_residual(h, &level->A.rows, x, b, level->r.data);
    dcsr_i_amg_multiply(h, &level->R.rows, level->r.data, next->b.data);
    cycle(h, number + 1, next->x.data, next->b.data);
    if (h->options.cycle != DCSR_I_AMG_V && number + 2 < h->level_count)
        visit_again(h, number + 1, next->x.data, next->b.data);
    double *begin = beginning(level, x, level->step_count);
    dcsr_i_amg_add_product(h, begin, x, &level->P.rows, next->x.data);
    smooth(h, level, 0, x, b);
}

void dcsr_i_amg_precondition(dcsr_i_amg_hierarchy *h, double *x, const double *b)
{
    cycle(h, 0, x, b);
}
