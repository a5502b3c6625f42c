/* divided_cycle.c: V- and W-cycles through levels that several devices have parts of: what cycle.c does on one device.
 *
 * Products with A, and with what P and R have across borders, are made by all devices together (dcsr_multi_spmv),
 * everything else by each for its rows, in passes between them: with s steps before and after, 2 s + 2 products and
 * 2 s + 3 passes a visit. A product and a pass each wait for all devices; the level on one device is in a pass in which
 * the others wait for the first. */
#include "amg/multi/levels.h"

/* Where b of a visit is: the caller's vector, or in own[k]->level[number]. */
typedef enum source { OF_CALLER, FROM_ABOVE, LEFT } source;

typedef struct pass pass;
typedef dcsr_status step(pass *p, dcsr_i_amg_hierarchy *own, uint64_t k);
struct pass {
    dcsr_i_divided *d;
    int number; /* of the level */
    dcsr_multi_vector *x, *r;
    source b;
    const dcsr_i_amg_smoothing *smoothing;
    step *run;
};

/* What a pass reads and writes on one device. */
typedef struct operands {
    dcsr_i_amg_level *level;
    dcsr_i_amg_form form;
    uint64_t rows;
    double *x, *q;
    const double *b;
} operands;

dcsr_status dcsr_i_divided_lend(double **values, dcsr_multi_vector *vector, const dcsr_i_amg_hierarchy *own,
                                uint64_t k, uint64_t rows)
{
    dcsr_vector *part;
    uint64_t first;
    void *found = NULL;
    *values = NULL;
    if (!rows) return DCSR_OK;
    DCSR_I_AMG_TRY(dcsr_multi_vector_get_part(vector, k, &part, &first));
    DCSR_I_AMG_TRY(own->engine->on_device ? dcsr_vector_get_values_on_device(part, &found)
                                          : dcsr_vector_get_values(part, &found));
    *values = found;
    return DCSR_OK;
}

static dcsr_status get_operands(operands *o, const pass *p, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    const dcsr_i_divided *d = p->d;
    double *b = NULL;
    *o = (operands){.level = &own->level[p->number],
                    .form = own->engine->form_of(own, DCSR_FP64, 1),
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

/* ---- Passes ---- */

static dcsr_status smooth_first(pass *p, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    operands o;
    DCSR_I_AMG_TRY(get_operands(&o, p, own, k));
    if (o.rows) o.form.run->smooth_first(&o.form, o.level, p->smoothing->add, o.b, o.x);
    return DCSR_OK;
}

static dcsr_status smooth_after(pass *p, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    operands o;
    DCSR_I_AMG_TRY(get_operands(&o, p, own, k));
    if (o.rows)
        own->engine->smooth_after(own, o.rows, p->smoothing, o.level->scale.data, o.b, o.q, o.level->d.data,
                                  o.x);
    return DCSR_OK;
}

static const double MINUS[DCSR_I_AMG_MOST_WIDTH] = {-1};

/* The first device alone: a cycle of its own. */
static dcsr_status solve_last(const dcsr_i_divided *d)
{
    dcsr_i_amg_hierarchy *h = d->last->hierarchy;
    dcsr_i_amg_level *first = &h->level[0];
    if (!dcsr_i_divided_all(d, d->count)) return DCSR_OK;
    DCSR_I_AMG_TRY(h->engine->open(h));
    if (d->count)
        dcsr_i_amg_visit(h);
    else
        dcsr_i_amg_precondition(h, 1, NULL, first->x.data, first->b.data);
    return h->engine->close(h, "multi amg");
}

/* x = the last level's solution for b, both the device's rows of it, which go to the first device and back. */
static dcsr_status go_to_last(const pass *p, dcsr_i_amg_hierarchy *own, uint64_t k, double *x,
                              const double *b)
{
    const dcsr_i_divided *d = p->d;
    const dcsr_i_amg_level *last = &d->last->hierarchy->level[0];
    const uint64_t first = d->border[d->count][k], rows = dcsr_i_divided_rows(d, d->count, k);
    const size_t bytes = rows * sizeof(double);
    dcsr_status status = DCSR_OK;
    if (rows)
        status = own->engine->hand(own, (double *)last->b.data + first, d->context, b, own->context, bytes);
    DCSR_I_AMG_TRY(dcsr_multi_meet(d->devices, status));
    if (!k) status = solve_last(d);
    DCSR_I_AMG_TRY(dcsr_multi_meet(d->devices, status));
    if (!rows) return DCSR_OK;
    return own->engine->hand(own, x, own->context, (const double *)last->x.data + first, d->context, bytes);
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
    const dcsr_i_amg_form form = own->engine->form_of(own, DCSR_FP64, 1);
    double *x, *y, *b = own->level[p->number + 1].b.data;
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
    double *e;
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

static dcsr_status multiply(const pass *p)
{
    const dcsr_i_divided_level *level = &p->d->level[p->number];
    return dcsr_multi_spmv(level->q, level->A, p->x, NULL);
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
    const dcsr_i_amg_level *level = &p->d->own[0]->level[p->number]; /* steps are the same on all */
    for (int s = first; s < level->step_count; s++) {
        p->smoothing = &level->steps[s];
        DCSR_I_AMG_TRY(multiply(p));
        DCSR_I_AMG_TRY(on_all(p, smooth_after));
    }
    return DCSR_OK;
}

static dcsr_status cycle(pass *p)
{
    const int next = p->number + 1;
    const bool again = p->d->own[0]->options.cycle == DCSR_I_AMG_W;
    p->smoothing = &p->d->own[0]->level[p->number].steps[0];
    DCSR_I_AMG_TRY(on_all(p, smooth_first));
    DCSR_I_AMG_TRY(smooth(p, 1));
    DCSR_I_AMG_TRY(multiply(p));
    DCSR_I_AMG_TRY(descend(p));
    if (next < p->d->count) {
        pass below = {.d = p->d, .number = next, .x = p->d->level[next].x, .b = FROM_ABOVE};
        DCSR_I_AMG_TRY(cycle(&below));
        if (again) {
            DCSR_I_AMG_TRY(multiply(&below));
            DCSR_I_AMG_TRY(on_all(&below, keep));
            below.b = LEFT;
            DCSR_I_AMG_TRY(cycle(&below));
            DCSR_I_AMG_TRY(on_all(&below, add_kept));
        }
    }
    DCSR_I_AMG_TRY(ascend(p));
    return smooth(p, 0);
}

dcsr_status dcsr_i_divided_cycle(dcsr_i_divided *d, dcsr_multi_vector *z, dcsr_multi_vector *r)
{
    pass first = {.d = d, .x = z, .r = r, .b = OF_CALLER};
    return d->count ? cycle(&first) : on_all(&first, at_once);
}
