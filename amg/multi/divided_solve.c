/* divided_solve.c: the methods of krylov.c on several devices, which get kernels whose vectors are dcsr_multi_vector:
 * products are dcsr_multi_spmv(), the rest passes of each device over its own rows. Sums are added up in the order of
 * the devices.
 *
 * After a failure passes do nothing and sums are NaN, so that a method ends. */
#include "amg/multi/levels.h"
#include <math.h>

typedef struct dcsr_i_divided_solve {
    dcsr_i_divided *d;
    dcsr_status failed;
} solving;

/* ---- Passes ---- */

typedef struct pass pass;
/* The rows of one device: y may change, x does not. */
typedef struct operands {
    dcsr_i_amg_form form;
    uint64_t rows;
    void *x, *y;
    double *sum;
} operands;
typedef void step(const pass *p, const operands *o);

struct pass {
    const dcsr_i_divided *d;
    step *run;
    dcsr_multi_vector *x, *y;
    const double *a, *b; /* factors */
    bool sums_up;
    double sum[DCSR_MAX_DEVICES][DCSR_I_AMG_SUMS]; /* by each device */
};

static dcsr_multi_vector *lent(const void *vector)
{
    return (dcsr_multi_vector *)(uintptr_t)vector; /* to be read */
}

static dcsr_status run_open(pass *p, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    operands o = {.form = own->engine->form_of(own, DCSR_FP64, 1),
                  .rows = dcsr_i_divided_rows(p->d, 0, k),
                  .sum = p->sum[k]};
    DCSR_I_AMG_TRY(dcsr_i_divided_lend(&o.x, p->x, own, k, o.rows));
    DCSR_I_AMG_TRY(dcsr_i_divided_lend(&o.y, p->y, own, k, o.rows));
    if (o.rows) p->run(p, &o);
    return DCSR_OK;
}

static dcsr_status run_pass(void *user, uint64_t k)
{
    pass *p = user;
    dcsr_i_amg_hierarchy *own = p->d->own[k];
    DCSR_I_AMG_TRY(own->engine->open(own));
    dcsr_status status = run_open(p, own, k), closed = own->engine->close(own, "multi amg solve");
    return status ? status : closed;
}

/* All devices; `sums` are those of the pass, or NULL. */
static void run(const dcsr_i_amg_form *f, pass *p, double *const sums[DCSR_I_AMG_SUMS])
{
    solving *s = f->divided;
    p->d = s->d;
    for (uint64_t k = 0; k < s->d->parts; k++)
        for (int i = 0; i < DCSR_I_AMG_SUMS; i++) p->sum[k][i] = 0;
    if (!s->failed) s->failed = dcsr_multi_run(s->d->devices, run_pass, p);
    for (int i = 0; i < DCSR_I_AMG_SUMS; i++) {
        if (!sums || !sums[i]) continue;
        *sums[i] = s->failed ? NAN : 0;
        for (uint64_t k = 0; k < s->d->parts; k++) *sums[i] += p->sum[k][i];
    }
}

/* ---- Kernels ---- */

static void dot_own(const pass *p, const operands *o)
{
    (void)p;
    o->form.run->dot(&o->form, o->rows, o->x, o->y, &o->sum[0]);
}

static void dot(const dcsr_i_amg_form *f, uint64_t n, const void *x, const void *y, double *xy)
{
    (void)n;
    run(f, &(pass){.run = dot_own, .x = lent(x), .y = lent(y)}, (double *[]){xy, NULL});
}

static void combine_own(const pass *p, const operands *o)
{
    o->form.run->combine(&o->form, o->rows, p->a, o->x, p->b, o->y);
}

static void combine(const dcsr_i_amg_form *f, uint64_t n, const double *a, const void *x, const double *b,
                    void *y)
{
    (void)n;
    run(f, &(pass){.run = combine_own, .x = lent(x), .y = y, .a = a, .b = b}, NULL);
}

static void add_own(const pass *p, const operands *o)
{
    o->form.run->add_norm(&o->form, o->rows, p->a, o->x, o->y, p->sums_up ? &o->sum[0] : NULL);
}

static void add_norm(const dcsr_i_amg_form *f, uint64_t n, const double *a, const void *x, void *y,
                     double *squares)
{
    (void)n;
    run(f, &(pass){.run = add_own, .x = lent(x), .y = y, .a = a, .sums_up = squares},
        (double *[]){squares, NULL});
}

static void multiply(const dcsr_i_amg_form *f, const dcsr_i_amg_rows *A, const void *x, void *y)
{
    solving *s = f->divided;
    (void)A;
    if (!s->failed) s->failed = dcsr_multi_spmv(y, s->d->level[0].A, x, NULL);
}

/* x.y and y.y */
static void dots_own(const pass *p, const operands *o)
{
    o->form.run->dot(&o->form, o->rows, o->x, o->y, &o->sum[0]);
    if (p->sums_up) o->form.run->dot(&o->form, o->rows, o->y, o->y, &o->sum[1]);
}

static void multiply_dot(const dcsr_i_amg_form *f, const dcsr_i_amg_rows *A, const void *x, void *y,
                         const void *w, double *wy, double *yy)
{
    multiply(f, A, x, y);
    run(f, &(pass){.run = dots_own, .x = lent(w), .y = y, .sums_up = yy}, (double *[]){wy, yy});
}

/* r = b - r, r.r */
static void residual_own(const pass *p, const operands *o)
{
    o->form.run->combine(&o->form, o->rows, dcsr_i_amg_one, o->x, dcsr_i_amg_minus, o->y);
    if (p->sums_up) o->form.run->dot(&o->form, o->rows, o->y, o->y, &o->sum[0]);
}

static void residual(const dcsr_i_amg_form *f, const dcsr_i_amg_rows *A, const void *x, const void *b,
                     void *r, double *squares)
{
    multiply(f, A, x, r);
    run(f, &(pass){.run = residual_own, .x = lent(b), .y = r, .sums_up = squares},
        (double *[]){squares, NULL});
}

/* What krylov.c and solve.c ask for. */
static const dcsr_i_amg_kernels on_several = {.multiply = multiply,
                                              .multiply_dot = multiply_dot,
                                              .residual = residual,
                                              .dot = dot,
                                              .combine = combine,
                                              .add_norm = add_norm};

static void precondition(dcsr_i_amg_solve *s, const double *norms, void *z, const void *r)
{
    solving *on = s->form.divided;
    (void)norms;
    if (!on->failed) on->failed = dcsr_i_divided_cycle(on->d, z, lent(r));
}

/* ---- Solving ---- */

/* What a solve takes: r, x, b, and the method's vectors; pointers to these; fgmres's small arrays. */
typedef struct room {
    dcsr_multi_vector *x, *b, *r;
    dcsr_i_amg_array vectors, small;
} room;

static void leave(room *m, dcsr_context *context)
{
    dcsr_multi_vector **vector = m->vectors.data;
    for (uint64_t v = 0; v < m->vectors.count; v++) dcsr_multi_vector_destroy(vector[v]);
    dcsr_multi_vector_destroy(m->x);
    dcsr_multi_vector_destroy(m->b);
    dcsr_multi_vector_destroy(m->r);
    dcsr_i_amg_drop(&m->vectors, context);
    dcsr_i_amg_drop(&m->small, context);
}

static dcsr_status enter(room *m, dcsr_multi_amg *amg, const dcsr_i_amg_method *how, uint64_t columns)
{
    dcsr_amg *first = amg->solver[0];
    dcsr_multi_view *A = amg->levels->level[0].A;
    const uint64_t small = dcsr_i_amg_small_numbers(how, &first->options);
    DCSR_I_AMG_TRY(dcsr_i_amg_take(&m->vectors, first->context, how->vectors, sizeof(void *)));
    for (uint64_t v = 0; v < how->vectors; v++)
        DCSR_I_AMG_TRY(dcsr_i_divided_make_vector((dcsr_multi_vector **)m->vectors.data + v, A, DCSR_FP64));
    dcsr_multi_vector **const each[] = {&m->x, &m->b, &m->r};
    for (size_t v = 0; v < sizeof each / sizeof *each; v++)
        DCSR_I_AMG_TRY(dcsr_i_divided_make_vector(each[v], A, DCSR_FP64));
    if (small) DCSR_I_AMG_TRY(dcsr_i_amg_take(&m->small, first->context, small, sizeof(double)));
    return dcsr_i_amg_take_residuals(first, columns);
}

/* Column after column, from x to x. */
static dcsr_status solve(dcsr_multi_amg *amg, double *x, const double *b, uint64_t columns,
                         dcsr_amg_report *reports)
{
    const double start = dcsr_i_amg_now();
    const uint64_t rows = dcsr_i_divided_all(amg->levels, 0);
    const dcsr_multi_amg_info *info = &amg->levels->info;
    dcsr_amg *first = amg->solver[0];
    const dcsr_i_amg_method how = dcsr_i_amg_method_of(&first->options, info->symmetric);
    const dcsr_i_amg_rows A = {.rows = rows, .cols = rows};
    solving on = {.d = amg->levels};
    dcsr_multi_info devices;
    room m = {0};
    DCSR_I_AMG_TRY(dcsr_multi_get_info(amg->devices, &devices));
    DCSR_I_AMG_TRY(dcsr_i_amg_check_values(devices.host, x, b, rows, columns));
    dcsr_status status = enter(&m, amg, &how, columns);
    dcsr_i_amg_solve s = {.form = {.divided = &on, .type = DCSR_FP64, .width = 1, .run = &on_several},
                          .A = &A,
                          .options = &first->options,
                          .flexible = amg->levels->own[0]->options.cycle == DCSR_I_AMG_K,
                          .precondition = precondition,
                          .x = m.x,
                          .b = m.b,
                          .r = m.r,
                          .vector = m.vectors.data,
                          .small = m.small.data};
    for (uint64_t c = 0; c < columns && !status; c++) {
        status = dcsr_multi_vector_from_array(m.x, x + c * rows);
        if (!status) status = dcsr_multi_vector_from_array(m.b, b + c * rows);
        if (status) break;
        dcsr_i_amg_run(&s, &how, first, c, 1);
        status = on.failed;
        if (!status) status = dcsr_multi_vector_to_array(m.x, dcsr_i_amg_zero, x + c * rows);
        if (status || !reports) continue;
        reports[c] = (dcsr_amg_report){.levels = info->levels,
                                       .operator_complexity = info->operator_complexity,
                                       .grid_complexity = info->grid_complexity,
                                       .symmetric = info->symmetric,
                                       .setup_seconds = info->setup_seconds};
        dcsr_i_amg_tell_column(&reports[c], &s.column[0], &how, start);
    }
    leave(&m, first->context);
    return status;
}

dcsr_status dcsr_multi_amg_solve(dcsr_multi_amg *amg, double *x, const double *b, dcsr_amg_report *report)
{
    static const char call[] = "multi amg solve";
    DCSR_I_AMG_TRY(dcsr_i_divided_check(amg, call));
    if (!x || !b)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is NULL; give an array", call,
                                x ? "b" : "x");
    return solve(amg, x, b, 1, report);
}

dcsr_status dcsr_multi_amg_solve_many(dcsr_multi_amg *amg, dcsr_dense *X, const dcsr_dense *B,
                                      dcsr_amg_report *reports)
{
    static const char call[] = "multi amg solve";
    DCSR_I_AMG_TRY(dcsr_i_divided_check(amg, call));
    if (!X || !B) return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", call, X ? "B" : "X");
    DCSR_I_AMG_TRY(dcsr_i_amg_check_dense(X, B, dcsr_i_divided_all(amg->levels, 0)));
    return solve(amg, X->values, B->values, B->cols, reports);
}

dcsr_status dcsr_multi_amg_get_residuals(const dcsr_multi_amg *amg, uint64_t column, uint64_t *count,
                                         const double **residuals)
{
    if (!amg) return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "multi amg get residuals: amg is NULL");
    return dcsr_amg_get_residuals(amg->solver[0], column, count, residuals);
}
