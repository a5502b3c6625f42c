/* divided_spectrum.c: the spectral radius of D^-1 A by Lanczos steps, of a level that several devices have parts of:
 * what spectrum.c does on one device, from the same random vector. */
#include "amg/multi/levels.h"
#include <math.h>
#include <stdio.h>

enum { MOST_STEPS = DCSR_I_AMG_MOST_LANCZOS };

/* Three vectors, which change places; D is in own[k]->level. */
typedef struct lanczos {
    dcsr_i_divided *d;
    int number;
    dcsr_multi_vector *before, *v, *w;
    double alpha, beta, factor;
    double sum[DCSR_MAX_DEVICES][2];
    dcsr_status (*run)(struct lanczos *l, dcsr_i_amg_hierarchy *own, uint64_t k);
} lanczos;

typedef struct operands {
    dcsr_i_amg_form form;
    uint64_t rows;
    const double *D;
    void *before, *v, *w;
} operands;

static dcsr_status get_operands(operands *o, const lanczos *l, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    *o = (operands){.form = own->engine->form_of(own, DCSR_FP64, 1),
                    .rows = dcsr_i_divided_rows(l->d, l->number, k),
                    .D = own->level[l->number].diagonal.data};
    DCSR_I_AMG_TRY(dcsr_i_divided_lend(&o->before, l->before, own, k, o->rows));
    DCSR_I_AMG_TRY(dcsr_i_divided_lend(&o->v, l->v, own, k, o->rows));
    return dcsr_i_divided_lend(&o->w, l->w, own, k, o->rows);
}

/* v = random, w = D v, before = 0; v.w */
static dcsr_status start(lanczos *l, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    operands o;
    DCSR_I_AMG_TRY(get_operands(&o, l, own, k));
    if (!o.rows) return DCSR_OK;
    own->engine->lanczos_start(own, l->d->border[l->number][k], o.rows, o.D, o.v, o.w);
    o.form.run->combine(&o.form, o.rows, dcsr_i_amg_zero, o.v, dcsr_i_amg_zero, o.before);
    o.form.run->dot(&o.form, o.rows, o.v, o.w, &l->sum[k][0]);
    return DCSR_OK;
}

/* v *= factor */
static dcsr_status scale(lanczos *l, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    operands o;
    DCSR_I_AMG_TRY(get_operands(&o, l, own, k));
    if (o.rows) o.form.run->combine(&o.form, o.rows, dcsr_i_amg_zero, o.v, &l->factor, o.v);
    return DCSR_OK;
}

/* v.w and before.w, where w = A v */
static dcsr_status look(lanczos *l, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    operands o;
    DCSR_I_AMG_TRY(get_operands(&o, l, own, k));
    if (!o.rows) return DCSR_OK;
    o.form.run->dot(&o.form, o.rows, o.v, o.w, &l->sum[k][0]);
    o.form.run->dot(&o.form, o.rows, o.before, o.w, &l->sum[k][1]);
    return DCSR_OK;
}

/* w = D^-1 w - alpha v - beta before, before = D w; w.before */
static dcsr_status advance(lanczos *l, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    operands o;
    DCSR_I_AMG_TRY(get_operands(&o, l, own, k));
    if (!o.rows) return DCSR_OK;
    own->engine->lanczos_step(own, o.rows, o.D, l->alpha, l->beta, o.v, o.w, o.before);
    o.form.run->dot(&o.form, o.rows, o.w, o.before, &l->sum[k][0]);
    return DCSR_OK;
}

static dcsr_status run_pass(void *user, uint64_t k)
{
    lanczos *l = user;
    dcsr_i_amg_hierarchy *own = l->d->own[k];
    DCSR_I_AMG_TRY(own->engine->open(own));
    dcsr_status status = l->run(l, own, k), closed = own->engine->close(own, "multi amg setup");
    return status ? status : closed;
}

/* Runs a pass; its sums over all devices, in their order, if they are wanted. */
static dcsr_status on_all(lanczos *l, dcsr_status (*run)(lanczos *, dcsr_i_amg_hierarchy *, uint64_t),
                          double *first, double *second)
{
    double sums[2] = {0, 0};
    l->run = run;
    for (uint64_t k = 0; k < l->d->parts; k++) l->sum[k][0] = l->sum[k][1] = 0;
    DCSR_I_AMG_TRY(dcsr_multi_run(l->d->devices, run_pass, l));
    for (uint64_t k = 0; k < l->d->parts; k++)
        for (int s = 0; s < 2; s++) sums[s] += l->sum[k][s];
    if (first) *first = sums[0];
    if (second) *second = sums[1];
    return DCSR_OK;
}

/* v becomes 1 in the norm of D, unless it is 0; *norm is what it was, from its square. */
static dcsr_status normalise(lanczos *l, double square, double *norm)
{
    *norm = sqrt(square);
    l->factor = 1 / *norm;
    return *norm > 0 ? on_all(l, scale, NULL, NULL) : DCSR_OK;
}

static dcsr_status estimate(double *rho, lanczos *l, double bound)
{
    dcsr_i_divided *d = l->d;
    double alpha[MOST_STEPS], beta[MOST_STEPS], cross, square, norm;
    const int steps = (int)d->own[0]->options.lanczos;
    int done = 0;
    DCSR_I_AMG_TRY(on_all(l, start, &square, NULL));
    DCSR_I_AMG_TRY(normalise(l, square, &norm));
    while (done < steps) {
        DCSR_I_AMG_TRY(dcsr_multi_spmv(l->w, d->level[l->number].A, l->v, NULL));
        DCSR_I_AMG_TRY(on_all(l, look, &alpha[done], &cross));
        if (done && fabs(cross - beta[done - 1]) > DCSR_I_AMG_SAME * bound) {
            d->symmetric = false;
            return DCSR_OK;
        }
        l->alpha = alpha[done];
        l->beta = done ? beta[done - 1] : 0;
        DCSR_I_AMG_TRY(on_all(l, advance, &square, NULL));
        dcsr_multi_vector *before = l->before;
        l->before = l->v;
        l->v = l->w;
        l->w = before;
        DCSR_I_AMG_TRY(normalise(l, square, &beta[done]));
        if (beta[done++] <= DCSR_I_AMG_SAME * bound) break; /* an invariant subspace: exact */
    }
    *rho = dcsr_i_amg_largest(done, alpha, beta, bound);
    return DCSR_OK;
}

dcsr_status dcsr_i_divided_rho(double *rho, dcsr_i_divided *d, int number, double gershgorin)
{
    dcsr_i_divided_level *level = &d->level[number];
    lanczos l = {.d = d, .number = number, .w = level->q};
    *rho = gershgorin;
    if (!d->symmetric) return DCSR_OK;
    dcsr_status status = dcsr_i_divided_make_vector(&l.v, level->A, DCSR_FP64);
    if (!status) status = dcsr_i_divided_make_vector(&l.before, level->A, DCSR_FP64);
    dcsr_multi_vector *const taken[] = {l.v, l.before, l.w};
    if (!status) status = estimate(rho, &l, gershgorin);
    char said[512];
    snprintf(said, sizeof said, "%s", status ? dcsr_thread_error() : "");
    dcsr_multi_vector_destroy(taken[0]);
    dcsr_multi_vector_destroy(taken[1]);
    return status ? dcsr_thread_fail(status, "%s", said) : DCSR_OK;
}
