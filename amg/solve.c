/* solve.c: a solve from its arguments to its report. */
#include "amg/kernels.h"
#include <math.h>
#include <string.h>

/* A method's own residual drifts away from b - A x by rounding. If it says that it has converged and b - A x
 * says otherwise, it begins anew from x, as long as that at least halves the residual. */
static const double PROGRESS = 0.5;

typedef struct method {
    const char *name; /* as the option has it */
    void (*run)(dcsr_i_amg_solve *);
    uint64_t vectors;
} method;

static method method_of(const dcsr_i_amg_options *options, int64_t solver)
{
    switch (solver) {
    case DCSR_I_AMG_CG:
        return (method){"cg", dcsr_i_amg_cg, 3};
    case DCSR_I_AMG_BICGSTAB:
        return (method){"bicgstab", dcsr_i_amg_bicgstab, 5};
    case DCSR_I_AMG_FGMRES:
        return (method){"fgmres", dcsr_i_amg_fgmres, 2 * (uint64_t)options->restart + 1};
    default:
        return (method){"none", dcsr_i_amg_cycles, 1};
    }
}

/* All that a solve takes: vectors, pointers to them, residuals, fgmres's small arrays. */
typedef struct room {
    dcsr_i_amg_array vectors, r, pointers, small;
} room;

static void leave(room *m, dcsr_context *context)
{
    dcsr_i_amg_array *const arrays[] = {&m->vectors, &m->r, &m->pointers, &m->small};
    for (size_t a = 0; a < sizeof arrays / sizeof *arrays; a++) dcsr_i_amg_drop(arrays[a], context);
}

static dcsr_status enter(room *m, dcsr_amg *amg, dcsr_i_amg_solve *s, const method *how)
{
    dcsr_context *context = amg->context;
    const uint64_t n = s->A->rows, restart = (uint64_t)s->options->restart;
    DCSR_I_AMG_TRY(dcsr_i_amg_take(&m->vectors, context, n * how->vectors, sizeof(double)));
    DCSR_I_AMG_TRY(dcsr_i_amg_take(&m->pointers, context, how->vectors, sizeof(double *)));
    DCSR_I_AMG_TRY(dcsr_i_amg_take(&m->r, context, n, sizeof(double)));
    if (how->run == dcsr_i_amg_fgmres)
        DCSR_I_AMG_TRY(dcsr_i_amg_take(&m->small, context, (restart + 1) * (restart + 4), sizeof(double)));
    dcsr_i_amg_array residuals = {0};
    DCSR_I_AMG_TRY(
        dcsr_i_amg_take(&residuals, context, (uint64_t)s->options->iterations + 1, sizeof(double)));
    dcsr_i_amg_drop(&amg->residuals, context);
    amg->residuals = residuals;
    s->residuals = residuals.data;
    s->vector = m->pointers.data;
    for (uint64_t v = 0; v < how->vectors; v++) s->vector[v] = (double *)m->vectors.data + v * n;
    s->r = m->r.data;
    s->small = m->small.data;
    return DCSR_OK;
}

/* *residual is |b - A x| / |b| at the end. */
static void run(dcsr_i_amg_solve *s, const method *how, double *residual)
{
    const uint64_t n = s->A->rows;
    s->norm = sqrt(dcsr_i_amg_dot(s->h, n, s->b, s->b));
    if (s->norm == 0) { /* whatever A is, that is the solution of least norm */
        memset(s->x, 0, n * sizeof *s->x);
        s->outcome = DCSR_AMG_CONVERGED;
        s->residuals[0] = *residual = 0;
        return;
    }
    *residual = sqrt(dcsr_i_amg_residual(s->h, s->A, s->x, s->b, s->r)) / s->norm;
    s->residuals[0] = *residual;
    for (bool first = true;; first = false) {
        double before = *residual;
        if (before <= s->options->tolerance)
            s->outcome = DCSR_AMG_CONVERGED;
        else if (!s->options->iterations || s->iterations >= (uint64_t)s->options->iterations)
            s->outcome = DCSR_AMG_LIMIT;
        else if (!first && !(before <= PROGRESS * s->residuals[0]))
            s->outcome = DCSR_AMG_STAGNATED;
        if (s->outcome) return;
        how->run(s);
        *residual = sqrt(dcsr_i_amg_residual(s->h, s->A, s->x, s->b, s->r)) / s->norm;
        if (s->outcome != DCSR_AMG_CONVERGED) return;
        s->outcome = DCSR_AMG_NONE;
        if (*residual > s->options->tolerance && !(*residual <= PROGRESS * before)) {
            s->outcome = DCSR_AMG_STAGNATED;
            return;
        }
    }
}

static dcsr_status check(const dcsr_amg *amg, const double *x, const double *b)
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
    for (uint64_t i = 0; i < amg->hierarchy->level[0].rows; i++)
        if (!isfinite(x[i]) || !isfinite(b[i]))
            return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "amg solve: %s[%llu] is not finite",
                                    isfinite(x[i]) ? "b" : "x", (unsigned long long)i);
    return DCSR_OK;
}

/* A cycle that is no fixed matrix (K) and a matrix that is not symmetric need fgmres. */
static int64_t choose(const dcsr_amg *amg)
{
    if (amg->options.solver != DCSR_I_AMG_AUTO) return amg->options.solver;
    bool fixed = amg->hierarchy->options.cycle != DCSR_I_AMG_K;
    return amg->hierarchy->symmetric && fixed ? DCSR_I_AMG_CG : DCSR_I_AMG_FGMRES;
}

dcsr_status dcsr_amg_solve(dcsr_amg *amg, double *x, const double *b, dcsr_amg_report *report)
{
    DCSR_I_AMG_TRY(check(amg, x, b));
    double start = dcsr_i_amg_now();
    dcsr_i_amg_hierarchy *h = amg->hierarchy;
    dcsr_i_amg_solve s = {.h = h, .A = &h->level[0].A.rows, .options = &amg->options, .x = x, .b = b};
    const method how = method_of(&amg->options, choose(amg));
    room m = {0};
    dcsr_status status = enter(&m, amg, &s, &how);
    if (!status) {
        run(&s, &how, &h->report.residual);
        amg->residual_count = s.iterations + 1;
        h->report.outcome = s.outcome;
        h->report.solver = how.name;
        h->report.iterations = s.iterations;
        h->report.solve_seconds = dcsr_i_amg_now() - start;
        if (report) *report = h->report;
    }
    leave(&m, amg->context);
    return status;
}
