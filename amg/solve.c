/* solve.c: a solve from its arguments to its report. */
#include "amg/amg_engine.h"
#include "amg/rebuild.h"
#include <math.h>
#include <string.h>

/* A method's own residual drifts away from b - A x by rounding. If it says that it has converged and b - A x
 * says otherwise, it begins anew from x, as long as that at least halves the residual. */
static const double PROGRESS = 0.5;

dcsr_i_amg_method dcsr_i_amg_method_of(const dcsr_i_amg_options *options, bool symmetric)
{
    int64_t solver = options->solver;
    if (solver == DCSR_I_AMG_AUTO) solver = symmetric ? DCSR_I_AMG_CG : DCSR_I_AMG_FGMRES;
    switch (solver) {
    case DCSR_I_AMG_CG:
        return (dcsr_i_amg_method){"cg", dcsr_i_amg_cg, 3};
    case DCSR_I_AMG_BICGSTAB:
        return (dcsr_i_amg_method){"bicgstab", dcsr_i_amg_bicgstab, 5};
    case DCSR_I_AMG_FGMRES:
        return (dcsr_i_amg_method){"fgmres", dcsr_i_amg_fgmres, 2 * (uint64_t)options->restart + 1};
    default:
        return (dcsr_i_amg_method){"none", dcsr_i_amg_cycles, 1};
    }
}

uint64_t dcsr_i_amg_small_numbers(const dcsr_i_amg_method *how, const dcsr_i_amg_options *options)
{
    const uint64_t restart = (uint64_t)options->restart;
    return how->run == dcsr_i_amg_fgmres ? (restart + 1) * (restart + 4) : 0;
}

/* All that a solve takes: vectors, pointers to them, fgmres's small arrays; x and b where they are not used in
 * place. */
typedef struct room {
    dcsr_i_amg_array vectors, r, pointers, small, x, b;
} room;

static void leave(room *m, dcsr_i_amg_hierarchy *h)
{
    dcsr_i_amg_array *const vectors[] = {&m->vectors, &m->r, &m->x, &m->b};
    for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++) h->engine->drop(vectors[v], h);
    dcsr_i_amg_drop(&m->pointers, h->context);
    dcsr_i_amg_drop(&m->small, h->context);
}

static uint64_t most_residuals(const dcsr_amg *amg)
{
    return (uint64_t)amg->options.iterations + 1;
}

dcsr_status dcsr_i_amg_take_residuals(dcsr_amg *amg, uint64_t columns)
{
    dcsr_context *context = amg->context;
    dcsr_i_amg_array residuals = {0}, counts = {0};
    DCSR_I_AMG_TRY(dcsr_i_amg_take(&counts, context, columns, sizeof(uint64_t)));
    dcsr_status status = dcsr_i_amg_take(&residuals, context, columns * most_residuals(amg), sizeof(double));
    if (status) {
        dcsr_i_amg_drop(&counts, context);
        return status;
    }
    dcsr_i_amg_drop(&amg->residuals, context);
    dcsr_i_amg_drop(&amg->residual_counts, context);
    amg->residuals = residuals;
    amg->residual_counts = counts;
    return DCSR_OK;
}

/* For `width` columns at a time, `columns` in all; `copied`: x and b are not used in place. */
static dcsr_status enter(room *m, dcsr_amg *amg, dcsr_i_amg_solve *s, const dcsr_i_amg_method *how,
                         uint64_t columns, bool copied)
{
    dcsr_context *context = amg->context;
    const uint64_t width = (uint64_t)s->form.width, numbers = s->A->rows * width,
                   small = width * dcsr_i_amg_small_numbers(how, s->options);
    DCSR_I_AMG_TRY(dcsr_i_amg_prepare(s->h));
    DCSR_I_AMG_TRY(dcsr_i_amg_make_wide(s->h, s->form.width));
    DCSR_I_AMG_TRY(s->h->engine->take(&m->vectors, s->h, numbers * how->vectors, sizeof(double)));
    DCSR_I_AMG_TRY(dcsr_i_amg_take(&m->pointers, context, how->vectors, sizeof(void *)));
    DCSR_I_AMG_TRY(s->h->engine->take(&m->r, s->h, numbers, sizeof(double)));
    if (small) DCSR_I_AMG_TRY(dcsr_i_amg_take(&m->small, context, small, sizeof(double)));
    if (copied) {
        DCSR_I_AMG_TRY(s->h->engine->take(&m->x, s->h, numbers, sizeof(double)));
        DCSR_I_AMG_TRY(s->h->engine->take(&m->b, s->h, numbers, sizeof(double)));
    }
    DCSR_I_AMG_TRY(dcsr_i_amg_take_residuals(amg, columns));
    s->vector = m->pointers.data;
    for (uint64_t v = 0; v < how->vectors; v++) s->vector[v] = (double *)m->vectors.data + v * numbers;
    s->r = m->r.data;
    s->small = m->small.data;
    return DCSR_OK;
}

/* |b - A x| / |b| of all columns, from x. */
static void measure(dcsr_i_amg_solve *s)
{
    double squares[DCSR_I_AMG_MOST_WIDTH];
    s->form.run->residual(&s->form, s->A, s->x, s->b, s->r, squares);
    for (int c = 0; c < s->form.width; c++) {
        dcsr_i_amg_column *k = &s->column[c];
        k->residual = k->norm == 0 ? 0 : sqrt(squares[c]) / k->norm;
    }
}

/* The norms of b. Where that is 0, x = 0 is the solution of least norm, whatever A is. */
static void begin(dcsr_i_amg_solve *s)
{
    const dcsr_i_amg_form *f = &s->form;
    double squares[DCSR_I_AMG_MOST_WIDTH], kept[DCSR_I_AMG_MOST_WIDTH];
    f->run->dot(f, s->A->rows, s->b, s->b, squares);
    for (int c = 0; c < f->width; c++) {
        s->column[c].norm = sqrt(squares[c]);
        s->column[c].outcome = squares[c] == 0 ? DCSR_AMG_CONVERGED : DCSR_AMG_NONE;
        s->column[c].iterations = 0;
        kept[c] = squares[c] != 0;
    }
    f->run->combine(f, s->A->rows, dcsr_i_amg_zero, s->b, kept, s->x);
    measure(s);
    for (int c = 0; c < f->width; c++) s->column[c].residuals[0] = s->column[c].residual;
}

/* What to say of a column before the method goes on; `before`: its residual before the last round. */
static dcsr_amg_outcome judge(const dcsr_i_amg_solve *s, const dcsr_i_amg_column *k, bool first,
                              double before)
{
    if (k->residual <= s->options->tolerance) return DCSR_AMG_CONVERGED;
    if (!first && !(k->residual <= PROGRESS * before)) return DCSR_AMG_STAGNATED;
    if (k->iterations >= (uint64_t)s->options->iterations) return DCSR_AMG_LIMIT;
    return DCSR_AMG_NONE;
}

static void run(dcsr_i_amg_solve *s, const dcsr_i_amg_method *how)
{
    begin(s);
    bool open[DCSR_I_AMG_MOST_WIDTH], any = true;
    double before[DCSR_I_AMG_MOST_WIDTH] = {0};
    for (int c = 0; c < s->form.width; c++) open[c] = s->column[c].outcome == DCSR_AMG_NONE;
    for (bool first = true; any; first = false) {
        any = false;
        for (int c = 0; c < s->form.width; c++) {
            dcsr_i_amg_column *k = &s->column[c];
            if (!open[c]) continue;
            k->outcome = judge(s, k, first, before[c]);
            open[c] = k->outcome == DCSR_AMG_NONE;
            before[c] = k->residual;
            any |= open[c];
        }
        if (!any) return;
        how->run(s);
        measure(s);
        /* What converged by its own account is judged again. */
        for (int c = 0; c < s->form.width; c++) open[c] &= s->column[c].outcome == DCSR_AMG_CONVERGED;
    }
}

void dcsr_i_amg_run(dcsr_i_amg_solve *s, const dcsr_i_amg_method *how, dcsr_amg *amg, uint64_t first,
                    int count)
{
    double unused[2]; /* of columns that only fill the form */
    for (int c = 0; c < s->form.width; c++)
        s->column[c].residuals =
            c < count ? (double *)amg->residuals.data + (first + (uint64_t)c) * most_residuals(amg) : unused;
    run(s, how);
    for (int c = 0; c < count; c++)
        ((uint64_t *)amg->residual_counts.data)[first + (uint64_t)c] = s->column[c].iterations + 1;
}

/* ---- Arguments and columns ---- */

static dcsr_status check(const dcsr_amg *amg, const void *x, const void *b)
{
    dcsr_context_info info;
    if (!amg || !x || !b)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "amg solve: %s is NULL",
                                !amg ? "amg"
                                : !x ? "x"
                                     : "b");
    DCSR_I_AMG_TRY(dcsr_context_get_info(amg->context, &info));
    if (!amg->hierarchy)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                "amg solve: there are no levels yet; call dcsr_amg_setup() first");
    return DCSR_OK;
}

dcsr_status dcsr_i_amg_check_values(dcsr_context *context, const double *x, const double *b, uint64_t rows,
                                    uint64_t columns)
{
    const uint64_t n = rows * columns;
    const int threads = dcsr_context_threads(context, n);
    uint64_t wild = n; /* the first that is not finite */
#pragma omp parallel for schedule(static) num_threads(threads) reduction(min : wild) if (threads > 1)
    for (uint64_t i = 0; i < n; i++)
        if ((!isfinite(x[i]) || !isfinite(b[i])) && i < wild) wild = i;
    if (wild == n) return DCSR_OK;
    return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "amg solve: %s[%llu] is not finite (column %llu)",
                            isfinite(x[wild]) ? "b" : "x", (unsigned long long)(wild % rows),
                            (unsigned long long)(wild / rows));
}

dcsr_status dcsr_i_amg_check_dense(const dcsr_dense *X, const dcsr_dense *B, uint64_t rows)
{
    if (X->rows == rows && B->rows == rows && X->cols == B->cols) return DCSR_OK;
    return dcsr_thread_fail(
        DCSR_ERROR_DIMENSION_MISMATCH, "amg solve: A has %llu rows, X is %llu x %llu and B is %llu x %llu",
        (unsigned long long)rows, (unsigned long long)X->rows, (unsigned long long)X->cols,
        (unsigned long long)B->rows, (unsigned long long)B->cols);
}

static void precondition(dcsr_i_amg_solve *s, const double *norms, void *z, const void *r)
{
    dcsr_i_amg_precondition(s->h, s->form.width, norms, z, r);
}

/* To where the method has x and b, their columns side by side, and x back: to and from a device by way of the method's
 * vectors, which are not in use then. */
static void bring_one(dcsr_i_amg_solve *s, void *to, const double *from, int columns)
{
    if (s->h->engine->on_device) {
        s->h->engine->put(s->h, s->vector[0], from, s->A->rows * (uint64_t)columns * sizeof *from);
        from = s->vector[0];
    }
    s->h->engine->gather(&s->form, to, from, s->A->rows, columns);
}

static void bring(dcsr_i_amg_solve *s, const room *m, double *x, const double *b, int columns)
{
    s->x = m->x.data ? m->x.data : x;
    s->b = m->b.data ? m->b.data : b;
    if (!m->x.data) return;
    bring_one(s, m->x.data, x, columns);
    bring_one(s, m->b.data, b, columns);
}

static dcsr_status take_back(dcsr_i_amg_solve *s, const room *m, double *x, int columns)
{
    const uint64_t rows = s->A->rows;
    if (s->h->failed || !m->x.data) return s->h->failed;
    double *to = s->h->engine->on_device ? s->vector[0] : x;
    s->h->engine->scatter(&s->form, to, m->x.data, rows, columns);
    return to == x ? DCSR_OK : s->h->engine->get(s->h, x, to, rows * (uint64_t)columns * sizeof *x);
}

/* Solves for so many columns from number `first` on, which the form is wide enough for. */
static dcsr_status solve_group(dcsr_amg *amg, dcsr_i_amg_solve *s, const dcsr_i_amg_method *how,
                               const room *m, uint64_t first, int columns, double *x, const double *b)
{
    const uint64_t rows = s->A->rows;
    bring(s, m, x + first * rows, b + first * rows, columns);
    dcsr_i_amg_run(s, how, amg, first, columns);
    return take_back(s, m, x + first * rows, columns);
}

void dcsr_i_amg_tell_column(dcsr_amg_report *report, const dcsr_i_amg_column *column,
                            const dcsr_i_amg_method *how, double start)
{
    report->outcome = column->outcome;
    report->solver = how->name;
    report->iterations = column->iterations;
    report->residual = column->residual;
    report->solve_seconds = dcsr_i_amg_now() - start;
}

/* The least width for so many columns. */
static int width_for(uint64_t columns)
{
    int width = 1;
    while ((uint64_t)width < columns && width < DCSR_I_AMG_MOST_WIDTH) width *= 2;
    return width;
}

/* x and b have so many columns, one after the other, in the memory of the engine, or of the host. The engine is open.
 */
static dcsr_status solve(dcsr_amg *amg, double *x, const double *b, uint64_t columns, bool there,
                         dcsr_amg_report *reports)
{
    double start = dcsr_i_amg_now();
    dcsr_i_amg_hierarchy *h = amg->hierarchy;
    dcsr_i_amg_solve s = {.h = h,
                          .A = &h->level[0].A.rows,
                          .options = &amg->options,
                          .flexible = h->options.cycle == DCSR_I_AMG_K,
                          .precondition = precondition};
    const dcsr_i_amg_method how = dcsr_i_amg_method_of(&amg->options, h->symmetric);
    room m = {0};
    s.form = h->engine->form_of(h, DCSR_FP64, width_for(columns));
    dcsr_status status =
        enter(&m, amg, &s, &how, columns, s.form.width > 1 || (h->engine->on_device && !there));
    for (uint64_t first = 0; first < columns && !status;) {
        const uint64_t left = columns - first, width = (uint64_t)s.form.width;
        const int now = (int)(left < width ? left : width);
        status = solve_group(amg, &s, &how, &m, first, now, x, b);
        for (int c = 0; c < now && !status; c++) {
            if (!h->first_iterations) h->first_iterations = s.column[c].iterations;
            dcsr_i_amg_tell_column(&h->report, &s.column[c], &how, start);
            if (reports) reports[first + (uint64_t)c] = h->report;
        }
        first += (uint64_t)now;
    }
    leave(&m, h);
    return status;
}

/* With arrays of the host. */
static dcsr_status solve_here(dcsr_amg *amg, double *x, const double *b, uint64_t columns,
                              dcsr_amg_report *reports)
{
    dcsr_i_amg_rebuild_take(amg, false);
    dcsr_i_amg_hierarchy *h = amg->hierarchy;
    DCSR_I_AMG_TRY(dcsr_i_amg_check_values(amg->context, x, b, h->level[0].rows, columns));
    dcsr_status status = h->engine->open(h);
    if (!status) status = solve(amg, x, b, columns, false, reports);
    dcsr_status closed = h->engine->close(h, "amg solve");
    return status ? status : closed;
}

dcsr_status dcsr_amg_solve(dcsr_amg *amg, double *x, const double *b, dcsr_amg_report *report)
{
    DCSR_I_AMG_TRY(check(amg, x, b));
    return solve_here(amg, x, b, 1, report);
}

dcsr_status dcsr_amg_solve_many(dcsr_amg *amg, dcsr_dense *X, const dcsr_dense *B, dcsr_amg_report *reports)
{
    DCSR_I_AMG_TRY(check(amg, X, B));
    DCSR_I_AMG_TRY(dcsr_i_amg_check_dense(X, B, amg->hierarchy->level[0].rows));
    return solve_here(amg, X->values, B->values, B->cols, reports);
}

/* ---- With arrays of a device ---- */

static dcsr_status check_there(dcsr_i_amg_hierarchy *h, const char *name, const double *values)
{
    const uint64_t n = h->level[0].rows, wild = h->engine->find_wild(h, n, values);
    if (h->failed) return h->failed;
    if (wild == n) return DCSR_OK;
    return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "amg solve: %s[%llu] is not finite", name,
                            (unsigned long long)wild);
}

dcsr_status dcsr_amg_solve_device(dcsr_amg *amg, double *x, const double *b, dcsr_amg_report *report)
{
    DCSR_I_AMG_TRY(check(amg, x, b));
    dcsr_i_amg_hierarchy *h = amg->hierarchy;
    if (!h->engine->on_device)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                "amg solve: the context is on the cpu; call dcsr_amg_solve()");
    if (!h->engine->has(h, x) || !h->engine->has(h, b))
        return dcsr_thread_fail(
            DCSR_ERROR_INVALID_ARGUMENT,
            "amg solve: %s is not in the memory of the context's GPU; call dcsr_amg_solve()",
            h->engine->has(h, x) ? "b" : "x");
    dcsr_status status = h->engine->open(h);
    if (!status) status = check_there(h, "x", x);
    if (!status) status = check_there(h, "b", b);
    if (!status) status = solve(amg, x, b, 1, true, report);
    dcsr_status closed = h->engine->close(h, "amg solve");
    return status ? status : closed;
}
