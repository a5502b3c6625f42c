/* krylov.c: the methods that a cycle preconditions.
 *
 * Each goes on from s->x and s->r = b - A x until dcsr_i_amg_note() says so. cg and bicgstab update r; the caller
 * (solve.c) computes it anew from x at the end. */
#include "amg/kernels.h"
#include <math.h>

static const double GROWTH = 1e6; /* of the residual, to call it divergence */

bool dcsr_i_amg_note(dcsr_i_amg_solve *s, double norm)
{
    double residual = norm / s->norm;
    s->residuals[++s->iterations] = residual;
    if (residual <= s->options->tolerance)
        s->outcome = DCSR_AMG_CONVERGED;
    else if (!isfinite(residual) || residual > GROWTH * fmax(s->residuals[0], 1))
        s->outcome = DCSR_AMG_DIVERGED;
    else if (s->iterations >= (uint64_t)s->options->iterations)
        s->outcome = DCSR_AMG_LIMIT;
    return s->outcome != DCSR_AMG_NONE;
}

void dcsr_i_amg_cycles(dcsr_i_amg_solve *s)
{
    const uint64_t n = s->A->rows;
    double *z = s->vector[0];
    do {
        dcsr_i_amg_precondition(s->h, z, s->r);
        dcsr_i_amg_combine(s->h, n, 1, z, 1, s->x);
    } while (!dcsr_i_amg_note(s, sqrt(dcsr_i_amg_residual(s->h, s->A, s->x, s->b, s->r))));
}

/* Hestenes, Stiefel 1952. */
void dcsr_i_amg_cg(dcsr_i_amg_solve *s)
{
    dcsr_i_amg_hierarchy *h = s->h;
    const uint64_t n = s->A->rows;
    double *z = s->vector[0], *p = s->vector[1], *q = s->vector[2], before = 0;
    for (bool first = true;; first = false) {
        dcsr_i_amg_precondition(h, z, s->r);
        double rz = dcsr_i_amg_dot(h, n, s->r, z);
        if (rz == 0 || !isfinite(rz)) {
            s->outcome = rz == 0 ? DCSR_AMG_BREAKDOWN : DCSR_AMG_DIVERGED;
            return;
        }
        dcsr_i_amg_combine(h, n, 1, z, first ? 0 : rz / before, p);
        before = rz;
        double pq = dcsr_i_amg_multiply_dot(h, s->A, p, q, p, NULL);
        if (pq <= 0 || rz < 0) {
            s->outcome = DCSR_AMG_INDEFINITE;
            return;
        }
        dcsr_i_amg_add_norm(h, n, rz / pq, p, s->x);
        if (dcsr_i_amg_note(s, sqrt(dcsr_i_amg_add_norm(h, n, -rz / pq, q, s->r)))) return;
    }
}

/* van der Vorst 1992, preconditioned from the right. */
void dcsr_i_amg_bicgstab(dcsr_i_amg_solve *s)
{
    dcsr_i_amg_hierarchy *h = s->h;
    const uint64_t n = s->A->rows;
    double *z = s->vector[0], *p = s->vector[1], *v = s->vector[2], *t = s->vector[3], *shadow = s->vector[4];
    double rho = 1, alpha = 1, omega = 1, tt;
    dcsr_i_amg_combine(h, n, 1, s->r, 0, shadow);
    for (bool first = true;; first = false) {
        double before = rho;
        rho = dcsr_i_amg_dot(h, n, shadow, s->r);
        if (rho == 0 || omega == 0 || before == 0) break;
        if (!first) dcsr_i_amg_combine(h, n, -omega, v, 1, p); /* p = r + beta (p - omega v) */
        dcsr_i_amg_combine(h, n, 1, s->r, first ? 0 : rho / before * alpha / omega, p);
        dcsr_i_amg_precondition(h, z, p);
        double sv = dcsr_i_amg_multiply_dot(h, s->A, z, v, shadow, NULL);
        if (sv == 0) break;
        alpha = rho / sv;
        dcsr_i_amg_add_norm(h, n, alpha, z, s->x);
        double half = sqrt(dcsr_i_amg_add_norm(h, n, -alpha, v, s->r));
        if (half <= s->options->tolerance * s->norm) {
            dcsr_i_amg_note(s, half);
            return;
        }
        dcsr_i_amg_precondition(h, z, s->r);
        double tr = dcsr_i_amg_multiply_dot(h, s->A, z, t, s->r, &tt);
        if (tt == 0) break;
        omega = tr / tt;
        dcsr_i_amg_add_norm(h, n, omega, z, s->x);
        if (dcsr_i_amg_note(s, sqrt(dcsr_i_amg_add_norm(h, n, -omega, t, s->r)))) return;
    }
    s->outcome = DCSR_AMG_BREAKDOWN;
}

/* ---- Flexible GMRES (Saad 1993) ---- */

/* Of k + 1 rows and k columns; a column is made upper triangular by the rotations of those before it and one
 * more. */
typedef struct hessenberg {
    int restart;
    double *column, *cosine, *sine, *right; /* restart x (restart + 1); restart; restart; restart + 1 */
} hessenberg;

static hessenberg hessenberg_in(double *memory, int restart)
{
    hessenberg g = {.restart = restart, .column = memory};
    g.cosine = memory + (size_t)restart * (size_t)(restart + 1);
    g.sine = g.cosine + restart;
    g.right = g.sine + restart;
    return g;
}

static double *column_of(const hessenberg *g, int k)
{
    return g->column + (size_t)k * (size_t)(g->restart + 1);
}

/* Rotates column k; returns the norm of the residual. */
static double rotate(hessenberg *g, int k)
{
    double *c = column_of(g, k);
    for (int i = 0; i < k; i++) {
        double upper = g->cosine[i] * c[i] + g->sine[i] * c[i + 1];
        c[i + 1] = g->cosine[i] * c[i + 1] - g->sine[i] * c[i];
        c[i] = upper;
    }
    double length = hypot(c[k], c[k + 1]);
    g->cosine[k] = length > 0 ? c[k] / length : 1;
    g->sine[k] = length > 0 ? c[k + 1] / length : 0;
    c[k] = length;
    g->right[k + 1] = -g->sine[k] * g->right[k];
    g->right[k] *= g->cosine[k];
    return fabs(g->right[k + 1]);
}

/* x += Z y, where y solves the triangle of k columns. */
static void update(dcsr_i_amg_solve *s, const hessenberg *g, int k)
{
    double *y = g->right;
    for (int i = k - 1; i >= 0; i--) {
        for (int j = i + 1; j < k; j++) y[i] -= column_of(g, j)[i] * y[j];
        y[i] = column_of(g, i)[i] != 0 ? y[i] / column_of(g, i)[i] : 0;
    }
    for (int i = 0; i < k; i++)
        dcsr_i_amg_add_norm(s->h, s->A->rows, y[i], s->vector[g->restart + 1 + i], s->x);
}

void dcsr_i_amg_fgmres(dcsr_i_amg_solve *s)
{
    dcsr_i_amg_hierarchy *h = s->h;
    const uint64_t n = s->A->rows;
    const int restart = (int)s->options->restart;
    double **v = s->vector, **z = s->vector + restart + 1;
    hessenberg g = hessenberg_in(s->small, restart);
    double norm = sqrt(dcsr_i_amg_dot(h, n, s->r, s->r));
    while (!s->outcome) {
        int k = 0;
        g.right[0] = norm;
        dcsr_i_amg_combine(h, n, 1 / norm, s->r, 0, v[0]);
        while (k < restart && !s->outcome) {
            double *c = column_of(&g, k), *w = v[k + 1];
            dcsr_i_amg_precondition(h, z[k], v[k]);
            dcsr_i_amg_multiply(h, s->A, z[k], w);
            for (int i = 0; i <= k; i++) {
                c[i] = dcsr_i_amg_dot(h, n, v[i], w);
                dcsr_i_amg_add_norm(h, n, -c[i], v[i], w);
            }
            c[k + 1] = sqrt(dcsr_i_amg_dot(h, n, w, w));
            bool exhausted = c[k + 1] == 0; /* the space is invariant: x is as good as it gets */
            if (!exhausted) dcsr_i_amg_combine(h, n, 0, w, 1 / c[k + 1], w);
            norm = rotate(&g, k++);
            if (!dcsr_i_amg_note(s, norm) && exhausted) s->outcome = DCSR_AMG_BREAKDOWN;
        }
        update(s, &g, k);
        norm = sqrt(dcsr_i_amg_residual(h, s->A, s->x, s->b, s->r));
        if (norm == 0 && !s->outcome) s->outcome = DCSR_AMG_CONVERGED;
    }
}
