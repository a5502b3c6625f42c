/* spectrum.c: the spectral radius of D^-1 A, estimated by Lanczos steps.
 *
 * D^-1 A is symmetric in the inner product of D, if A is symmetric and D positive. k steps from a random vector
 * give a tridiagonal matrix whose largest eigenvalue is a few percent below the radius. On the way the second
 * step tells whether A is symmetric: only then is v_0^T A v_1 the norm of the first remainder. */
#include "amg/amg_engine.h"
#include "amg/lapack.h"
#include <math.h>

enum { MOST_STEPS = DCSR_I_AMG_MOST_LANCZOS };
/* By what the estimate is enlarged; how different two sums may be that are equal but for rounding. */
static const double ENLARGED = 1.05, SAME = DCSR_I_AMG_SAME;

typedef struct lanczos {
    double *before, *v, *w;
    const double *diagonal;
} lanczos;

/* w = D^-1 A v; returns v^T A v, and sets *cross to before^T A v. */
static double apply(dcsr_i_amg_hierarchy *h, const dcsr_i_amg_rows *A, const lanczos *l, double *cross)
{
    const dcsr_i_amg_form f = h->engine->form_of(h, DCSR_FP64, 1);
    double square;
    f.run->multiply_dot(&f, A, l->v, l->w, l->v, &square, NULL);
    f.run->dot(&f, A->rows, l->before, l->w, cross);
    return square;
}

/* Returns |v| in the norm of D, and makes that 1 unless it is 0. */
static double normalise(dcsr_i_amg_hierarchy *h, uint64_t n, double *v, const double *Dv)
{
    const dcsr_i_amg_form f = h->engine->form_of(h, DCSR_FP64, 1);
    double square;
    f.run->dot(&f, n, v, Dv, &square);
    const double norm = sqrt(square), factor = 1 / norm;
    if (norm > 0) f.run->combine(&f, n, dcsr_i_amg_zero, v, &factor, v);
    return norm;
}

/* w = D^-1 w - alpha v - beta before; then before = v and v = w / |w|. Returns |w| in the norm of D. */
static double advance(dcsr_i_amg_hierarchy *h, uint64_t n, lanczos *l, double alpha, double beta)
{
    double *w = l->w, *r = l->before;
    h->engine->lanczos_step(h, n, l->diagonal, alpha, beta, l->v, w, r);
    *l = (lanczos){.before = l->v, .v = w, .w = l->before, .diagonal = l->diagonal};
    return normalise(h, n, w, r);
}

static void start(dcsr_i_amg_hierarchy *h, uint64_t n, lanczos *l)
{
    const dcsr_i_amg_form f = h->engine->form_of(h, DCSR_FP64, 1);
    double *v = l->v, *w = l->w;
    h->engine->lanczos_start(h, 0, n, l->diagonal, v, w);
    f.run->combine(&f, n, dcsr_i_amg_zero, v, dcsr_i_amg_zero, l->before);
    normalise(h, n, v, w);
}

double dcsr_i_amg_largest(int steps, double *alpha, double *beta, double bound)
{
    int failed;
    dsterf_(&steps, alpha, beta, &failed); /* ascending */
    double rho = failed ? bound : ENLARGED * alpha[steps - 1];
    return rho > 0 && rho < bound ? rho : bound;
}

double dcsr_i_amg_estimate_rho(dcsr_i_amg_hierarchy *h, dcsr_i_amg_level *level,
                               const dcsr_i_amg_diagonal *found, bool *symmetric)
{
    double alpha[MOST_STEPS], beta[MOST_STEPS], cross;
    int steps = (int)h->options.lanczos, done = 0;
    const dcsr_i_amg_rows *A = &level->A.rows;
    if (!found->positive) *symmetric = false;
    if (!*symmetric) return found->gershgorin;
    lanczos l = {level->r.data, level->d.data, level->y.data, level->diagonal.data};
    start(h, A->rows, &l);
    while (done < steps) {
        alpha[done] = apply(h, A, &l, &cross);
        if (done && fabs(cross - beta[done - 1]) > SAME * found->gershgorin) {
            *symmetric = false;
            return found->gershgorin;
        }
        beta[done] = advance(h, A->rows, &l, alpha[done], done ? beta[done - 1] : 0);
        if (beta[done++] <= SAME * found->gershgorin) break; /* an invariant subspace: exact */
    }
    return dcsr_i_amg_largest(done, alpha, beta, found->gershgorin);
}
