/* divided_cycle.c: V-, W- and K-cycles through levels that several devices have parts of: what cycle.c does on one
 * device.
 *
 * Products with A, and with what P and R have across borders, are made by all devices together (dcsr_multi_spmv),
 * everything else by each for its rows, in passes between them: with s steps before and after, 2 s + 2 products and
 * 2 s + 3 passes a visit. A product and a pass each wait for all devices; the level on one device is in a pass in which
 * the others wait for the first.
 *
 * Gauss-Seidel goes through the rows of each device by colours, with x of the others as it was before the sweep. */
#include "amg/multi/levels.h"
#include <math.h>

enum { SUMS = 5 };

/* Where b of a visit is: the caller's vector, or in own[k]->level[number]. */
typedef enum source { OF_CALLER, FROM_ABOVE, LEFT } source;

typedef struct pass pass;
typedef dcsr_status step(pass *p, dcsr_i_amg_hierarchy *own, uint64_t k);
struct pass {
    dcsr_i_divided *d;
    int number; /* of the level */
    dcsr_multi_vector *x, *r;
    source b;
    int step_number; /* of the smoother */
    bool backward;   /* sweeps */
    double factor[2];
    step *run;
    double sum[DCSR_MAX_DEVICES][SUMS]; /* of a pass that has some, by each device */
};

/* What a pass reads and writes on one device. */
typedef struct operands {
    dcsr_i_amg_level *level;
    dcsr_i_amg_form form;
    uint64_t rows;
    void *x, *q;
    const void *b;
} operands;

dcsr_status dcsr_i_divided_lend(void **values, dcsr_multi_vector *vector, const dcsr_i_amg_hierarchy *own,
                                uint64_t k, uint64_t rows)
{
    dcsr_vector *part;
    uint64_t first;
    *values = NULL;
    if (!rows) return DCSR_OK;
    DCSR_I_AMG_TRY(dcsr_multi_vector_get_part(vector, k, &part, &first));
    return own->engine->on_device ? dcsr_vector_get_values_on_device(part, values)
                                  : dcsr_vector_get_values(part, values);
}

static dcsr_status get_operands(operands *o, const pass *p, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    const dcsr_i_divided *d = p->d;
    void *b = NULL;
    *o = (operands){.level = &own->level[p->number],
                    .form = own->engine->form_of(own, d->type, 1),
                    .rows = dcsr_i_divided_rows(d, p->number, k)};
    DCSR_I_AMG_TRY(dcsr_i_divided_lend(&o->x, p->x, own, k, o->rows));
    if (p->number < d->count)
        DCSR_I_AMG_TRY(dcsr_i_divided_lend(&o->q, d->level[p->number].q, own, k, o->rows));
    if (p->b == OF_CALLER)
        DCSR_I_AMG_TRY(dcsr_i_divided_lend(&b, p->r, own, k, o->rows));
    else
        b = p->b == LEFT ? o->level->best[2].data : o->level->b.data;
    o->b = b;
    return DCSR_OK;
}

static const double MINUS[DCSR_I_AMG_MOST_WIDTH] = {-1};

/* ---- Passes ---- */

static bool in_sweeps(const dcsr_i_amg_hierarchy *own)
{
    return own->options.smoother == DCSR_I_AMG_GAUSS_SEIDEL;
}

static dcsr_status smooth_first(pass *p, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    operands o;
    DCSR_I_AMG_TRY(get_operands(&o, p, own, k));
    if (!o.rows) return DCSR_OK;
    if (in_sweeps(own)) {
        o.form.run->combine(&o.form, o.rows, dcsr_i_amg_zero, o.b, dcsr_i_amg_zero, o.x);
        o.form.run->sweep(&o.form, o.level, false, o.b, o.x);
    } else {
        o.form.run->smooth_first(&o.form, o.level, o.level->steps[0].add, o.b, o.x);
    }
    return DCSR_OK;
}

/* Where q = A x: a sweep over b - q from 0, which is added to x. */
static void sweep_after(const operands *o, bool backward)
{
    void *d = o->level->d.data;
    o->form.run->combine(&o->form, o->rows, dcsr_i_amg_one, o->b, MINUS, o->q);
    o->form.run->combine(&o->form, o->rows, dcsr_i_amg_zero, o->q, dcsr_i_amg_zero, d);
    o->form.run->sweep(&o->form, o->level, backward, o->q, d);
    o->form.run->combine(&o->form, o->rows, dcsr_i_amg_one, d, dcsr_i_amg_one, o->x);
}

static dcsr_status smooth_after(pass *p, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    operands o;
    DCSR_I_AMG_TRY(get_operands(&o, p, own, k));
    if (!o.rows) return DCSR_OK;
    if (in_sweeps(own))
        sweep_after(&o, p->backward);
    else
        o.form.run->smooth_after(&o.form, o.level, &o.level->steps[p->step_number], o.b, o.q, o.x);
    return DCSR_OK;
}

/* The first device alone: a cycle of its own. */
static dcsr_status solve_last(const dcsr_i_divided *d)
{
    dcsr_i_amg_hierarchy *h = d->last->hierarchy;
    if (!dcsr_i_divided_all(d, d->count)) return DCSR_OK;
    DCSR_I_AMG_TRY(h->engine->open(h));
    dcsr_i_amg_visit(h, d->count > 0);
    return h->engine->close(h, "multi amg");
}

/* x = the last level's solution for b, both the device's rows of it, which go to the first device and back. */
static dcsr_status go_to_last(const pass *p, dcsr_i_amg_hierarchy *own, uint64_t k, void *x, const void *b)
{
    const dcsr_i_divided *d = p->d;
    const dcsr_i_amg_level *last = &d->last->hierarchy->level[0];
    const uint64_t first = d->border[d->count][k], rows = dcsr_i_divided_rows(d, d->count, k);
    const size_t size = dcsr_type_size(d->type), bytes = rows * size;
    dcsr_status status = DCSR_OK;
    if (rows)
        status =
            own->engine->hand(own, (char *)last->b.data + first * size, d->context, b, own->context, bytes);
    DCSR_I_AMG_TRY(dcsr_multi_meet(d->devices, status));
    if (!k) status = solve_last(d);
    DCSR_I_AMG_TRY(dcsr_multi_meet(d->devices, status));
    if (!rows) return DCSR_OK;
    return own->engine->hand(own, x, own->context, (const char *)last->x.data + first * size, d->context,
                             bytes);
}

/* q = b - q, and R q of its own rows as b of the next level. */
static dcsr_status restrict_own(pass *p, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    operands o;
    DCSR_I_AMG_TRY(get_operands(&o, p, own, k));
    if (o.rows) o.form.run->combine(&o.form, o.rows, dcsr_i_amg_one, o.b, MINUS, o.q);
    if (dcsr_i_divided_rows(p->d, p->number + 1, k))
        o.form.run->multiply(&o.form, &o.level->R.rows, o.q, own->level[p->number + 1].b.data);
    return DCSR_OK;
}

/* Adds what comes across borders; where the next level is the last, its x too. */
static dcsr_status restrict_across(pass *p, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    const dcsr_i_divided_level *level = &p->d->level[p->number];
    const uint64_t coarse = dcsr_i_divided_rows(p->d, p->number + 1, k);
    const dcsr_i_amg_form form = own->engine->form_of(own, p->d->type, 1);
    void *x, *y, *b = own->level[p->number + 1].b.data;
    if (level->R.view && coarse) {
        DCSR_I_AMG_TRY(dcsr_i_divided_lend(&y, level->y, own, k, coarse));
        form.run->combine(&form, coarse, dcsr_i_amg_one, y, dcsr_i_amg_one, b);
    }
    if (p->number + 1 < p->d->count) return DCSR_OK;
    DCSR_I_AMG_TRY(dcsr_i_divided_lend(&x, level[1].x, own, k, coarse));
    return go_to_last(p, own, k, x, b);
}

/* x += P e, e of the next level; q has what comes across borders. */
static dcsr_status prolong(pass *p, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    operands o;
    const dcsr_i_divided_level *level = &p->d->level[p->number];
    const uint64_t coarse = dcsr_i_divided_rows(p->d, p->number + 1, k);
    void *e;
    DCSR_I_AMG_TRY(get_operands(&o, p, own, k));
    DCSR_I_AMG_TRY(dcsr_i_divided_lend(&e, level[1].x, own, k, coarse));
    if (coarse && o.rows) o.form.run->add_product(&o.form, &o.level->P.rows, e, o.x, o.x);
    if (level->P.view && o.rows)
        o.form.run->combine(&o.form, o.rows, dcsr_i_amg_one, o.q, dcsr_i_amg_one, o.x);
    return DCSR_OK;
}

/* Keeps x of the first visit, and b - q for the second one. */
static dcsr_status keep(pass *p, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    operands o;
    DCSR_I_AMG_TRY(get_operands(&o, p, own, k));
    if (!o.rows) return DCSR_OK;
    o.form.run->combine(&o.form, o.rows, dcsr_i_amg_one, o.x, dcsr_i_amg_zero, o.level->best[0].data);
    o.form.run->combine(&o.form, o.rows, dcsr_i_amg_one, o.b, dcsr_i_amg_zero, o.level->best[2].data);
    o.form.run->combine(&o.form, o.rows, MINUS, o.q, dcsr_i_amg_one, o.level->best[2].data);
    return DCSR_OK;
}

/* Adds it to x of the second. */
static dcsr_status add_kept(pass *p, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    operands o;
    DCSR_I_AMG_TRY(get_operands(&o, p, own, k));
    if (o.rows)
        o.form.run->combine(&o.form, o.rows, dcsr_i_amg_one, o.level->best[0].data, dcsr_i_amg_one, o.x);
    return DCSR_OK;
}

/* For K: keeps c and v of the first visit, x and q; c.v, c.b, b.b, v.b and v.v. */
static dcsr_status keep_for_best(pass *p, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    operands o;
    double *sum = p->sum[k];
    DCSR_I_AMG_TRY(get_operands(&o, p, own, k));
    if (!o.rows) return DCSR_OK;
    o.form.run->combine(&o.form, o.rows, dcsr_i_amg_one, o.x, dcsr_i_amg_zero, o.level->best[0].data);
    o.form.run->combine(&o.form, o.rows, dcsr_i_amg_one, o.q, dcsr_i_amg_zero, o.level->best[1].data);
    o.form.run->dot(&o.form, o.rows, o.x, o.q, &sum[0]);
    o.form.run->dot(&o.form, o.rows, o.x, o.b, &sum[1]);
    o.form.run->dot(&o.form, o.rows, o.b, o.b, &sum[2]);
    o.form.run->dot(&o.form, o.rows, o.q, o.b, &sum[3]);
    o.form.run->dot(&o.form, o.rows, o.q, o.q, &sum[4]);
    return DCSR_OK;
}

/* b - factor v for the second one. */
static dcsr_status leave_for_best(pass *p, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    operands o;
    const double back = -p->factor[0];
    DCSR_I_AMG_TRY(get_operands(&o, p, own, k));
    if (!o.rows) return DCSR_OK;
    void *v = o.level->best[1].data, *r = o.level->best[2].data;
    o.form.run->combine(&o.form, o.rows, dcsr_i_amg_one, o.b, dcsr_i_amg_zero, r);
    o.form.run->combine(&o.form, o.rows, &back, v, dcsr_i_amg_one, r);
    return DCSR_OK;
}

/* Of the second: x.v, x.r and x.q. */
static dcsr_status look_for_best(pass *p, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    operands o;
    double *sum = p->sum[k];
    DCSR_I_AMG_TRY(get_operands(&o, p, own, k));
    if (!o.rows) return DCSR_OK;
    o.form.run->dot(&o.form, o.rows, o.x, o.level->best[1].data, &sum[0]);
    o.form.run->dot(&o.form, o.rows, o.x, o.level->best[2].data, &sum[1]);
    o.form.run->dot(&o.form, o.rows, o.x, o.q, &sum[2]);
    return DCSR_OK;
}

/* x = factor c + factor x */
static dcsr_status take_best(pass *p, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    operands o;
    DCSR_I_AMG_TRY(get_operands(&o, p, own, k));
    if (o.rows)
        o.form.run->combine(&o.form, o.rows, &p->factor[0], o.level->best[0].data, &p->factor[1], o.x);
    return DCSR_OK;
}

/* r.r of the caller's r. */
static dcsr_status measure(pass *p, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    const dcsr_i_amg_form form = own->engine->form_of(own, DCSR_FP64, 1);
    const uint64_t rows = dcsr_i_divided_rows(p->d, 0, k);
    void *r;
    DCSR_I_AMG_TRY(dcsr_i_divided_lend(&r, p->r, own, k, rows));
    if (rows) form.run->dot(&form, rows, r, r, &p->sum[k][0]);
    return DCSR_OK;
}

/* The caller's r over its norm, in fp32, as b of level 0; and x of level 0 back, as the caller's. */
static dcsr_status narrow(pass *p, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    const dcsr_i_amg_form form = own->engine->form_of(own, DCSR_FP32, 1);
    const uint64_t rows = dcsr_i_divided_rows(p->d, 0, k);
    void *r;
    DCSR_I_AMG_TRY(dcsr_i_divided_lend(&r, p->r, own, k, rows));
    if (rows) own->engine->narrow(&form, rows, p->factor, r, own->level[0].b.data);
    return DCSR_OK;
}

static dcsr_status widen(pass *p, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    const dcsr_i_amg_form form = own->engine->form_of(own, DCSR_FP32, 1);
    const uint64_t rows = dcsr_i_divided_rows(p->d, 0, k);
    void *x, *z;
    DCSR_I_AMG_TRY(dcsr_i_divided_lend(&x, p->d->level[0].x, own, k, rows));
    DCSR_I_AMG_TRY(dcsr_i_divided_lend(&z, p->x, own, k, rows));
    if (rows) own->engine->widen(&form, rows, p->factor, x, z);
    return DCSR_OK;
}

/* All levels are on one device. */
static dcsr_status at_once(pass *p, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    operands o;
    DCSR_I_AMG_TRY(get_operands(&o, p, own, k));
    return go_to_last(p, own, k, o.x, o.b);
}

/* ---- Cycles ---- */

static dcsr_status run_pass(void *user, uint64_t k)
{
    pass *p = user;
    dcsr_i_amg_hierarchy *own = p->d->own[k];
    DCSR_I_AMG_TRY(own->engine->open(own));
    dcsr_status status = p->run(p, own, k), closed = own->engine->close(own, "multi amg");
    return status ? status : closed;
}

static dcsr_status on_all(pass *p, step *run)
{
    p->run = run;
    return dcsr_multi_run(p->d->devices, run_pass, p);
}

/* With its sums over all devices, in their order. */
static dcsr_status on_all_summed(pass *p, step *run, double *sums)
{
    for (uint64_t k = 0; k < p->d->parts; k++)
        for (int s = 0; s < SUMS; s++) p->sum[k][s] = 0;
    DCSR_I_AMG_TRY(on_all(p, run));
    for (int s = 0; s < SUMS; s++) sums[s] = 0;
    for (uint64_t k = 0; k < p->d->parts; k++)
        for (int s = 0; s < SUMS; s++) sums[s] += p->sum[k][s];
    return DCSR_OK;
}

/* q = A x */
static dcsr_status multiply(const pass *p)
{
    const dcsr_i_divided_level *level = &p->d->level[p->number];
    return dcsr_multi_spmv(level->q, level->narrow_A ? level->narrow_A : level->A, p->x, NULL);
}

/* b of the next level, and if that is the last its x. */
static dcsr_status descend(pass *p)
{
    const dcsr_i_divided_level *level = &p->d->level[p->number];
    DCSR_I_AMG_TRY(on_all(p, restrict_own));
    if (level->R.view) DCSR_I_AMG_TRY(dcsr_multi_spmv(level->y, level->R.view, level->q, NULL));
    return level->R.view || p->number + 1 == p->d->count ? on_all(p, restrict_across) : DCSR_OK;
}

/* x += P e */
static dcsr_status ascend(pass *p)
{
    const dcsr_i_divided_level *level = &p->d->level[p->number];
    if (level->P.view) DCSR_I_AMG_TRY(dcsr_multi_spmv(level->q, level->P.view, level[1].x, NULL));
    return on_all(p, prolong);
}

static dcsr_status smooth(pass *p, int first)
{
    const int steps = p->d->own[0]->level[p->number].step_count; /* the same on all */
    for (p->step_number = first; p->step_number < steps; p->step_number++) {
        DCSR_I_AMG_TRY(multiply(p));
        DCSR_I_AMG_TRY(on_all(p, smooth_after));
    }
    return DCSR_OK;
}

static dcsr_status cycle(pass *p);

/* The second visit of W: for what x of the first leaves. */
static dcsr_status visit_again(pass *p)
{
    DCSR_I_AMG_TRY(multiply(p));
    DCSR_I_AMG_TRY(on_all(p, keep));
    p->b = LEFT;
    DCSR_I_AMG_TRY(cycle(p));
    return on_all(p, add_kept);
}

static void set_factors(pass *p, dcsr_i_amg_best best)
{
    p->factor[0] = best.step;
    p->factor[1] = best.again;
}

/* That of K, unless the first will do (dcsr_i_amg_best). */
static dcsr_status visit_for_best(pass *p)
{
    double one[SUMS], two[SUMS];
    DCSR_I_AMG_TRY(multiply(p));
    DCSR_I_AMG_TRY(on_all_summed(p, keep_for_best, one));
    dcsr_i_amg_best best = dcsr_i_amg_best_of_one(one[0], one[1], one[2], one[3], one[4]);
    set_factors(p, best);
    if (best.again != 0) {
        DCSR_I_AMG_TRY(on_all(p, leave_for_best));
        p->b = LEFT;
        DCSR_I_AMG_TRY(cycle(p));
        DCSR_I_AMG_TRY(multiply(p));
        DCSR_I_AMG_TRY(on_all_summed(p, look_for_best, two));
        set_factors(p, dcsr_i_amg_best_of_two(best, one[0], two[0], two[1], two[2]));
    }
    return on_all(p, take_best);
}

/* All visits of the next level that one of this makes. */
static dcsr_status visit(dcsr_i_divided *d, int number)
{
    pass below = {.d = d, .number = number, .x = d->level[number].x, .b = FROM_ABOVE};
    const int64_t kind = d->own[0]->options.cycle;
    DCSR_I_AMG_TRY(cycle(&below));
    return kind == DCSR_I_AMG_W   ? visit_again(&below)
           : kind == DCSR_I_AMG_K ? visit_for_best(&below)
                                  : DCSR_OK;
}

/* Sweeps before go forward, those after back, so that all of a cycle is symmetric. */
static dcsr_status cycle(pass *p)
{
    p->backward = false;
    DCSR_I_AMG_TRY(on_all(p, smooth_first));
    DCSR_I_AMG_TRY(smooth(p, 1));
    DCSR_I_AMG_TRY(multiply(p));
    DCSR_I_AMG_TRY(descend(p));
    if (p->number + 1 < p->d->count) DCSR_I_AMG_TRY(visit(p->d, p->number + 1));
    DCSR_I_AMG_TRY(ascend(p));
    p->backward = true;
    return smooth(p, 0);
}

/* The cycle's x and b of level 0. */
static dcsr_status cycle_of(dcsr_i_divided *d, pass first)
{
    return d->count ? cycle(&first) : on_all(&first, at_once);
}

dcsr_status dcsr_i_divided_cycle(dcsr_i_divided *d, dcsr_multi_vector *z, dcsr_multi_vector *r)
{
    pass all = {.d = d, .x = z, .r = r, .b = OF_CALLER};
    double square[SUMS];
    if (d->type == DCSR_FP64) return cycle_of(d, all);
    DCSR_I_AMG_TRY(on_all_summed(&all, measure, square));
    all.factor[0] = sqrt(square[0]);
    DCSR_I_AMG_TRY(on_all(&all, narrow));
    DCSR_I_AMG_TRY(cycle_of(d, (pass){.d = d, .x = d->level[0].x, .b = FROM_ABOVE}));
    return on_all(&all, widen);
}
