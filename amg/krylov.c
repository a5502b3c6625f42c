/* krylov.c: the methods that a cycle preconditions.
 *
 * Each goes on from s->x and s->r = b - A x until every column has an outcome. The columns share the passes over A
 * and the cycles, but no numbers: each has its own scalars, and once it has its outcome its steps are 0, so that its
 * x stays. cg and bicgstab update r; the caller (solve.c) computes it anew from x at the end. */
#include "amg/kernels.h"
#include <math.h>

enum { MOST = DCSR_I_AMG_MOST_WIDTH };
static const double GROWTH = 1e6; /* of the residual, to call it divergence */

static bool goes_on(const dcsr_i_amg_solve *s, int c)
{
    return s->column[c].outcome == DCSR_AMG_NONE;
}

static bool any_goes_on(const dcsr_i_amg_solve *s)
{
    for (int c = 0; c < s->form.width; c++)
        if (goes_on(s, c)) return true;
    return false;
}

/* The next residual of a column, and its outcome if that is it. */
static void note(dcsr_i_amg_solve *s, int c, double norm)
{
    dcsr_i_amg_column *k = &s->column[c];
    double residual = norm / k->norm;
    k->residuals[++k->iterations] = residual;
    if (residual <= s->options->tolerance)
        k->outcome = DCSR_AMG_CONVERGED;
    else if (!isfinite(residual) || residual > GROWTH * fmax(k->residuals[0], 1))
        k->outcome = DCSR_AMG_DIVERGED;
    else if (k->iterations >= (uint64_t)s->options->iterations)
        k->outcome = DCSR_AMG_LIMIT;
}

/* Of all that go on, from |r|^2. Whether any still does. */
static bool note_all(dcsr_i_amg_solve *s, const double *squares)
{
    for (int c = 0; c < s->form.width; c++)
        if (goes_on(s, c)) note(s, c, sqrt(squares[c]));
    return any_goes_on(s);
}

static void precondition(dcsr_i_amg_solve *s, void *z, const void *r)
{
    double norms[MOST];
    for (int c = 0; c < s->form.width; c++) norms[c] = s->column[c].norm;
    s->precondition(s, norms, z, r);
}

/* x += step z and r -= step v; squares: r^T r */
static void advance(dcsr_i_amg_solve *s, const double *step, const void *z, const void *v, double *squares)
{
    double back[MOST];
    for (int c = 0; c < s->form.width; c++) back[c] = -step[c];
    s->form.run->add_norm(&s->form, s->A->rows, step, z, s->x, NULL);
    s->form.run->add_norm(&s->form, s->A->rows, back, v, s->r, squares);
}

void dcsr_i_amg_cycles(dcsr_i_amg_solve *s)
{
    const dcsr_i_amg_form *f = &s->form;
    double step[MOST], squares[MOST];
    void *z = s->vector[0];
    do {
        precondition(s, z, s->r);
        for (int c = 0; c < f->width; c++) step[c] = goes_on(s, c);
        f->run->combine(f, s->A->rows, step, z, dcsr_i_amg_one, s->x);
        f->run->residual(f, s->A, s->x, s->b, s->r, squares);
    } while (note_all(s, squares));
}

/* Hestenes, Stiefel 1952. A K-cycle is no fixed matrix: then beta is z^T (r - r of before) over r^T z of before, where
 * r - r of before is - step q, so that p stays conjugate to the last one (Notay: Flexible conjugate gradients,
 * 2000). */
void dcsr_i_amg_cg(dcsr_i_amg_solve *s)
{
    const dcsr_i_amg_form *f = &s->form;
    const uint64_t n = s->A->rows;
    bool first = true;
    void *z = s->vector[0], *p = s->vector[1], *q = s->vector[2];
    double rz[MOST], qz[MOST], pq[MOST], before[MOST], beta[MOST], step[MOST], squares[MOST];
    do {
        precondition(s, z, s->r);
        f->run->dot(f, n, s->r, z, rz);
        if (s->flexible && !first) f->run->dot(f, n, q, z, qz);
        for (int c = 0; c < f->width; c++) {
            if (goes_on(s, c) && (rz[c] == 0 || !isfinite(rz[c])))
                s->column[c].outcome = rz[c] == 0 ? DCSR_AMG_BREAKDOWN : DCSR_AMG_DIVERGED;
            beta[c] = goes_on(s, c) && !first ? (s->flexible ? -step[c] * qz[c] : rz[c]) / before[c] : 0;
            before[c] = rz[c];
        }
        first = false;
        if (!any_goes_on(s)) return;
        f->run->combine(f, n, dcsr_i_amg_one, z, beta, p);
        f->run->multiply_dot(f, s->A, p, q, p, pq, NULL);
        for (int c = 0; c < f->width; c++) {
            if (goes_on(s, c) && (pq[c] <= 0 || rz[c] < 0)) s->column[c].outcome = DCSR_AMG_INDEFINITE;
            step[c] = goes_on(s, c) ? rz[c] / pq[c] : 0;
        }
        if (!any_goes_on(s)) return;
        advance(s, step, p, q, squares);
    } while (note_all(s, squares));
}

/* van der Vorst 1992, preconditioned from the right. */
void dcsr_i_amg_bicgstab(dcsr_i_amg_solve *s)
{
    const dcsr_i_amg_form *f = &s->form;
    const uint64_t n = s->A->rows;
    void *z = s->vector[0], *p = s->vector[1], *v = s->vector[2], *t = s->vector[3], *shadow = s->vector[4];
    double rho[MOST], before[MOST], alpha[MOST], omega[MOST], beta[MOST], back[MOST];
    double sv[MOST], tr[MOST], tt[MOST], squares[MOST];
    f->run->combine(f, n, dcsr_i_amg_one, s->r, dcsr_i_amg_zero, shadow);
    for (bool first = true;; first = false) {
        f->run->dot(f, n, shadow, s->r, rho);
        for (int c = 0; c < f->width; c++) {
            if (goes_on(s, c) && (rho[c] == 0 || (!first && omega[c] == 0)))
                s->column[c].outcome = DCSR_AMG_BREAKDOWN;
            beta[c] = goes_on(s, c) && !first ? rho[c] / before[c] * alpha[c] / omega[c] : 0;
            back[c] = goes_on(s, c) && !first ? -omega[c] : 0;
            before[c] = rho[c];
        }
        if (!any_goes_on(s)) return;
        if (!first) f->run->combine(f, n, back, v, dcsr_i_amg_one, p); /* p = r + beta (p - omega v) */
        f->run->combine(f, n, dcsr_i_amg_one, s->r, beta, p);
        precondition(s, z, p);
        f->run->multiply_dot(f, s->A, z, v, shadow, sv, NULL);
        for (int c = 0; c < f->width; c++) {
            if (goes_on(s, c) && sv[c] == 0) s->column[c].outcome = DCSR_AMG_BREAKDOWN;
            alpha[c] = goes_on(s, c) ? rho[c] / sv[c] : 0;
        }
        advance(s, alpha, z, v, squares);
        for (int c = 0; c < f->width; c++)
            if (goes_on(s, c) && sqrt(squares[c]) <= s->options->tolerance * s->column[c].norm)
                note(s, c, sqrt(squares[c]));
        if (!any_goes_on(s)) return;
        precondition(s, z, s->r);
        f->run->multiply_dot(f, s->A, z, t, s->r, tr, tt);
        for (int c = 0; c < f->width; c++) {
            if (goes_on(s, c) && tt[c] == 0) s->column[c].outcome = DCSR_AMG_BREAKDOWN;
            omega[c] = goes_on(s, c) ? tr[c] / tt[c] : 0;
        }
        advance(s, omega, z, t, squares);
        if (!note_all(s, squares)) return;
    }
}

/* ---- Flexible GMRES (Saad 1993) ---- */

/* Of one right-hand side: k + 1 rows and k columns; a column is made upper triangular by the rotations of those
 * before it and one more. */
typedef struct hessenberg {
    int restart, steps;                     /* of this round, until the outcome */
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

/* right becomes the solution of the triangle. */
static void solve_triangle(hessenberg *g)
{
    double *y = g->right;
    for (int i = g->steps - 1; i >= 0; i--) {
        for (int j = i + 1; j < g->steps; j++) y[i] -= column_of(g, j)[i] * y[j];
        y[i] = column_of(g, i)[i] != 0 ? y[i] / column_of(g, i)[i] : 0;
    }
}

/* v_(k+1) = A z_k, orthogonal to those before it and of length 1; 0 for columns that have their outcome. */
static void extend(dcsr_i_amg_solve *s, hessenberg *g, int k, void **v, void **z)
{
    const dcsr_i_amg_form *f = &s->form;
    const uint64_t n = s->A->rows;
    double product[MOST], back[MOST], squares[MOST], inverse[MOST];
    void *w = v[k + 1];
    s->precondition(s, dcsr_i_amg_one, z[k], v[k]);
    f->run->multiply(f, s->A, z[k], w);
    for (int i = 0; i <= k; i++) {
        f->run->dot(f, n, v[i], w, product);
        for (int c = 0; c < f->width; c++) {
            column_of(&g[c], k)[i] = product[c];
            back[c] = -product[c];
        }
        f->run->add_norm(f, n, back, v[i], w, i == k ? squares : NULL);
    }
    for (int c = 0; c < f->width; c++) {
        if (!goes_on(s, c)) {
            inverse[c] = 0;
            continue;
        }
        double length = column_of(&g[c], k)[k + 1] = sqrt(squares[c]);
        g[c].steps = k + 1;
        note(s, c, rotate(&g[c], k));
        /* An invariant space: x is as good as it gets. */
        if (length == 0 && goes_on(s, c)) s->column[c].outcome = DCSR_AMG_BREAKDOWN;
        inverse[c] = goes_on(s, c) ? 1 / length : 0;
    }
    f->run->combine(f, n, dcsr_i_amg_zero, w, inverse, w);
}

void dcsr_i_amg_fgmres(dcsr_i_amg_solve *s)
{
    const dcsr_i_amg_form *f = &s->form;
    const uint64_t n = s->A->rows;
    const int restart = (int)s->options->restart;
    void **v = s->vector, **z = s->vector + restart + 1;
    double squares[MOST], factor[MOST];
    hessenberg g[MOST];
    for (int c = 0; c < f->width; c++)
        g[c] = hessenberg_in(s->small + (size_t)c * (size_t)(restart + 1) * (size_t)(restart + 4), restart);
    f->run->dot(f, n, s->r, s->r, squares);
    while (any_goes_on(s)) {
        for (int c = 0; c < f->width; c++) {
            g[c].steps = 0;
            g[c].right[0] = sqrt(squares[c]);
            factor[c] = goes_on(s, c) ? 1 / g[c].right[0] : 0;
        }
        f->run->combine(f, n, factor, s->r, dcsr_i_amg_zero, v[0]);
        for (int k = 0; k < restart && any_goes_on(s); k++) extend(s, g, k, v, z);
        for (int c = 0; c < f->width; c++) solve_triangle(&g[c]);
        for (int k = 0; k < restart; k++) { /* x += Z y */
            bool any = false;
            for (int c = 0; c < f->width; c++) {
                factor[c] = k < g[c].steps ? g[c].right[k] : 0;
                any |= k < g[c].steps;
            }
            if (any) f->run->add_norm(f, n, factor, z[k], s->x, NULL);
        }
        f->run->residual(f, s->A, s->x, s->b, s->r, squares);
        for (int c = 0; c < f->width; c++)
            if (squares[c] == 0 && goes_on(s, c)) s->column[c].outcome = DCSR_AMG_CONVERGED;
    }
}
