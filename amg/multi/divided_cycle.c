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
typedef struct operands operands;
/* What a device does in a pass: in general, and to its rows, where it has some. */
typedef dcsr_status step(pass *p, dcsr_i_amg_hierarchy *own, uint64_t k);
typedef void row_step(const pass *p, const operands *o);
struct pass {
    dcsr_i_divided *d;
    int number; /* of the level */
    dcsr_multi_vector *x, *r;
    source b;
    int step_number; /* of the smoother */
    bool backward;   /* sweeps */
    double factor[2];
    step *run;
    row_step *run_on_rows;
    double sum[DCSR_MAX_DEVICES][SUMS]; /* of a pass that has some, by each device */
};

/* What a pass reads and writes on one device. */
struct operands {
    dcsr_i_amg_hierarchy *own;
    dcsr_i_amg_level *level;
    dcsr_i_amg_form form;
    uint64_t rows;
    void *x, *q;
    const void *b;
    double *sum;
};

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

static dcsr_status get_operands(operands *o, pass *p, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    const dcsr_i_divided *d = p->d;
    void *b = NULL;
    *o = (operands){.own = own,
                    .level = &own->level[p->number],
                    .form = own->engine->form_of(own, d->type, 1),
                    .rows = dcsr_i_divided_rows(d, p->number, k),
                    .sum = p->sum[k]};
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

/* ---- Steps on the rows of a device ---- */

static dcsr_status on_rows(pass *p, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    operands o;
    DCSR_I_AMG_TRY(get_operands(&o, p, own, k));
    if (o.rows) p->run_on_rows(p, &o);
    return DCSR_OK;
}

/* y = a x + b y */
static void combine(const operands *o, const double *a, const void *x, const double *b, void *y)
{
    o->form.run->combine(&o->form, o->rows, a, x, b, y);
}

static void copy(const operands *o, const void *from, void *to)
{
    combine(o, dcsr_i_amg_one, from, dcsr_i_amg_zero, to);
}

static void dot(const operands *o, const void *x, const void *y, int sum)
{
    o->form.run->dot(&o->form, o->rows, x, y, &o->sum[sum]);
}

static bool in_sweeps(const operands *o)
{
    return o->own->options.smoother == DCSR_I_AMG_GAUSS_SEIDEL;
}

/* A sweep over b from x = 0. */
static void sweep_from_zero(const operands *o, bool backward, const void *b, void *x)
{
    combine(o, dcsr_i_amg_zero, b, dcsr_i_amg_zero, x);
    o->form.run->sweep(&o->form, o->level, backward, b, x);
}

static void smooth_first(const pass *p, const operands *o)
{
    (void)p;
    if (in_sweeps(o))
        sweep_from_zero(o, false, o->b, o->x);
    else
        o->form.run->smooth_first(&o->form, o->level, o->level->steps[0].add, o->b, o->x);
}

/* From q = A x. A sweep is over what is left, and what it makes of that is added to x. */
static void smooth_after(const pass *p, const operands *o)
{
    void *d = o->level->d.data;
    if (!in_sweeps(o)) {
        o->form.run->smooth_after(&o->form, o->level, &o->level->steps[p->step_number], o->b, o->q, o->x);
        return;
    }
    combine(o, dcsr_i_amg_one, o->b, dcsr_i_amg_minus, o->q);
    sweep_from_zero(o, p->backward, o->q, d);
    combine(o, dcsr_i_amg_one, d, dcsr_i_amg_one, o->x);
}

/* Between two visits, where q = A x: keeps c = x of the first, for K also v = q, and r = b - factor q for the second.
 */
static void leave(const pass *p, const operands *o)
{
    const double back = -p->factor[0];
    void *c = o->level->best[0].data, *v = o->level->best[1].data, *r = o->level->best[2].data;
    copy(o, o->x, c);
    if (v) copy(o, o->q, v);
    copy(o, o->b, r);
    combine(o, &back, o->q, dcsr_i_amg_one, r);
}

/* After both: x = factor c + factor x. */
static void join(const pass *p, const operands *o)
{
    combine(o, &p->factor[0], o->level->best[0].data, &p->factor[1], o->x);
}

/* After one alone: x = factor x. */
static void scale(const pass *p, const operands *o)
{
    combine(o, dcsr_i_amg_zero, o->b, &p->factor[0], o->x);
}

/* Of the first visit of K: c.v, c.b, b.b, v.b and v.v. */
static void look_at_first(const pass *p, const operands *o)
{
    (void)p;
    dot(o, o->x, o->q, 0);
    dot(o, o->x, o->b, 1);
    dot(o, o->b, o->b, 2);
    dot(o, o->q, o->b, 3);
    dot(o, o->q, o->q, 4);
}

/* Of the second: x.v, x.r and x.q. */
static void look_at_second(const pass *p, const operands *o)
{
    (void)p;
    dot(o, o->x, o->level->best[1].data, 0);
    dot(o, o->x, o->level->best[2].data, 1);
    dot(o, o->x, o->q, 2);
}

/* For cycles in fp32, of the caller's r: r.r; and r over its norm, as b of level 0. */
static void measure(const pass *p, const operands *o)
{
    const dcsr_i_amg_form form = o->own->engine->form_of(o->own, DCSR_FP64, 1);
    (void)p;
    form.run->dot(&form, o->rows, o->b, o->b, &o->sum[0]);
}

static void narrow(const pass *p, const operands *o)
{
    o->own->engine->narrow(&o->form, o->rows, p->factor, o->b, o->level->b.data);
}

/* ---- Steps between devices and levels ---- */

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
    if (o.rows) combine(&o, dcsr_i_amg_one, o.b, dcsr_i_amg_minus, o.q);
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
    if (level->P.view && o.rows) combine(&o, dcsr_i_amg_one, o.q, dcsr_i_amg_one, o.x);
    return DCSR_OK;
}

/* Back from fp32: x of level 0, times the norm, as the caller's. */
static dcsr_status widen(pass *p, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    operands o;
    void *x;
    DCSR_I_AMG_TRY(get_operands(&o, p, own, k));
    DCSR_I_AMG_TRY(dcsr_i_divided_lend(&x, p->d->level[0].x, own, k, o.rows));
    if (o.rows) own->engine->widen(&o.form, o.rows, p->factor, x, o.x);
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

static dcsr_status on_all_rows(pass *p, row_step *run)
{
    p->run_on_rows = run;
    return on_all(p, on_rows);
}

/* With its sums over all devices, in their order. */
static dcsr_status sum_up(pass *p, row_step *run, double *sums)
{
    for (uint64_t k = 0; k < p->d->parts; k++)
        for (int s = 0; s < SUMS; s++) p->sum[k][s] = 0;
    DCSR_I_AMG_TRY(on_all_rows(p, run));
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
        DCSR_I_AMG_TRY(on_all_rows(p, smooth_after));
    }
    return DCSR_OK;
}

static dcsr_status cycle(pass *p);

static void set_factors(pass *p, dcsr_i_amg_best best)
{
    p->factor[0] = best.step;
    p->factor[1] = best.again;
}

/* A second visit, for what x of the first leaves: with W all of both, with K what is best of both (dcsr_i_amg_best),
 * where the first alone may do. */
static dcsr_status visit_again(pass *p)
{
    const bool best_of_both = p->d->own[0]->options.cycle == DCSR_I_AMG_K;
    dcsr_i_amg_best best = {1, 1};
    double one[SUMS], two[SUMS];
    DCSR_I_AMG_TRY(multiply(p));
    if (best_of_both) {
        DCSR_I_AMG_TRY(sum_up(p, look_at_first, one));
        best = dcsr_i_amg_best_of_one(one[0], one[1], one[2], one[3], one[4]);
    }
    set_factors(p, best);
    if (best.again == 0) return on_all_rows(p, scale);
    DCSR_I_AMG_TRY(on_all_rows(p, leave));
    p->b = LEFT;
    DCSR_I_AMG_TRY(cycle(p));
    if (best_of_both) {
        DCSR_I_AMG_TRY(multiply(p));
        DCSR_I_AMG_TRY(sum_up(p, look_at_second, two));
        set_factors(p, dcsr_i_amg_best_of_two(best, one[0], two[0], two[1], two[2]));
    }
    return on_all_rows(p, join);
}

/* All visits of the next level that one of this makes. */
static dcsr_status visit(dcsr_i_divided *d, int number)
{
    pass below = {.d = d, .number = number, .x = d->level[number].x, .b = FROM_ABOVE};
    DCSR_I_AMG_TRY(cycle(&below));
    return d->own[0]->options.cycle == DCSR_I_AMG_V ? DCSR_OK : visit_again(&below);
}

/* Sweeps before go forward, those after back, so that all of a cycle is symmetric. */
static dcsr_status cycle(pass *p)
{
    p->backward = false;
    DCSR_I_AMG_TRY(on_all_rows(p, smooth_first));
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
    DCSR_I_AMG_TRY(sum_up(&all, measure, square));
    all.factor[0] = sqrt(square[0]);
    DCSR_I_AMG_TRY(on_all_rows(&all, narrow));
    DCSR_I_AMG_TRY(cycle_of(d, (pass){.d = d, .x = d->level[0].x, .b = FROM_ABOVE}));
    return on_all(&all, widen);
}
