/* spmv_plan.c: a kernel that has been chosen for a view, and its format.
 *
 * Where the caller does not say how many products there will be, the plan rents before it buys: it reads the store in
 * place until products have lost as much time to the better kernel as its format costs, so that it never spends twice
 * what would have been best. Where many products are expected, the one that is chosen is tried, and then
 * others as long as they promise more than it has kept: what is expected is off by some percent more often than not. */
#include "ops/spmv/portfolio/portfolio.h"
#include "dcsr/base/alloc.h"
#include "dcsr/base/error.h"
#include "dcsr/base/runtime.h"
#include "dcsr/view/view_data.h"
#include "ops/choice/choice.h"
#include "ops/spmv/portfolio/refresh_rule.h"
#include <dcsr/vector.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST_KERNELS = 64 };

struct dcsr_spmv_plan {
    dcsr_i_spmv_matrix A;
    const dcsr_i_spmv_kernel *kernel;
    void *format;
    const dcsr_i_spmv_kernel
        *later; /* whose format is built when `due` products have been made; NULL: none */
    uint64_t due;
    double
        promised; /* of the format that is built at once: a product, in products that read in place; else 0 */
    bool named;   /* the kernel was asked for by name */
    uint64_t expected, memory;
    bool for_energy;
    dcsr_spmv_refreshing refreshing; /* as the caller wants it */
    dcsr_i_refresh_rule rule;        /* of the format that there is */
    dcsr_spmv_plan_info info;
};

static void give_reason(dcsr_spmv_plan *plan, const char *form, ...) __attribute__((format(printf, 2, 3)));
static void give_reason(dcsr_spmv_plan *plan, const char *form, ...)
{
    va_list arguments;
    va_start(arguments, form);
    vsnprintf(plan->info.reason, sizeof plan->info.reason, form, arguments);
    va_end(arguments);
}

static dcsr_device device_of(const dcsr_i_spmv_matrix *A)
{
    return A->rows->on_device ? DCSR_DEVICE_CUDA : DCSR_DEVICE_CPU;
}

static const char *why_not(const dcsr_i_spmv_kernel *kernel, const dcsr_i_spmv_matrix *A)
{
    return kernel->refuses ? kernel->refuses(A) : NULL;
}

/* ---- Choosing ---- */

static dcsr_status no_such_kernel(dcsr_device device, const char *name)
{
    char names[512] = "";
    const dcsr_i_spmv_kernel *kernel;
    for (uint64_t k = 0; (kernel = dcsr_i_spmv_kernel_at(device, k)); k++) {
        const size_t length = strlen(names);
        snprintf(names + length, sizeof names - length, ", %s", kernel->told.name);
    }
    return dcsr_i_fail(DCSR_ERROR_NOT_FOUND,
                       "spmv: there is no kernel \"%s\" on this device; there are: auto%s", name, names);
}

static dcsr_status choose_named(const dcsr_i_spmv_kernel **kernel, dcsr_spmv_plan *plan, const char *name,
                                const dcsr_i_spmv_matrix *A)
{
    *kernel = dcsr_i_spmv_kernel_named(device_of(A), name);
    if (!*kernel) return no_such_kernel(device_of(A), name);
    const char *refusal = why_not(*kernel, A);
    if (refusal)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "spmv: kernel %s %s; take another, or auto", name,
                           refusal);
    give_reason(plan, "asked for by name");
    return DCSR_OK;
}

/* The kernels of the device, as a model may choose them; the number of them. Those that vary are for callers who ask
 * for them. Whether one can serve the matrix is asked when it is chosen, as some read all entries to tell. */
static uint32_t list_candidates(dcsr_i_candidate candidates[MOST_KERNELS], const dcsr_i_spmv_matrix *A)
{
    const dcsr_i_spmv_kernel *kernel;
    uint32_t n = 0;
    for (; n < MOST_KERNELS && (kernel = dcsr_i_spmv_kernel_at(device_of(A), n)); n++)
        candidates[n] = (dcsr_i_candidate){kernel->told.name, !kernel->told.varies, !kernel->measure};
    return n;
}

/* Whether the kernel serves the matrix, with a format of no more bytes than the caller allows. */
static dcsr_status is_allowed(bool *allowed, const dcsr_spmv_plan *plan, const dcsr_i_spmv_kernel *kernel,
                              const dcsr_i_spmv_matrix *A)
{
    uint64_t bytes = 0;
    *allowed = !why_not(kernel, A);
    if (!*allowed || !kernel->measure || !plan->memory) return DCSR_OK;
    DCSR_TRY(kernel->measure(&bytes, A));
    *allowed = bytes <= plan->memory;
    return DCSR_OK;
}

/* Asks the model, again as long as what it would have, now or later, is not allowed. */
static dcsr_status choose_freely(const dcsr_i_spmv_kernel **kernel, dcsr_spmv_plan *plan,
                                 const dcsr_i_spmv_matrix *A)
{
    dcsr_i_candidate candidates[MOST_KERNELS];
    const uint32_t n = list_candidates(candidates, A);
    dcsr_features features;
    dcsr_i_choice choice;
    bool allowed;
    DCSR_TRY(dcsr_view_get_features(&features, A->view, NULL));
    do {
        DCSR_TRY(dcsr_i_choose(&choice, A->context, &features, candidates, n, (double)plan->expected,
                               plan->for_energy ? DCSR_I_BY_ENERGY : DCSR_I_BY_TIME));
        const bool now = choice.candidate && (plan->expected || !choice.later);
        const uint32_t asked = now ? choice.candidate : choice.later;
        *kernel = dcsr_i_spmv_kernel_at(device_of(A), asked);
        DCSR_TRY(is_allowed(&allowed, plan, *kernel, A));
        candidates[asked].possible = false;
    } while (!allowed);
    plan->promised = plan->expected && choice.candidate ? choice.product : 0;
    const bool waits = !plan->expected && choice.later != choice.candidate;
    plan->later = waits ? *kernel : NULL;
    plan->due = waits ? plan->info.products + (uint64_t)choice.pays_after : 0;
    *kernel = dcsr_i_spmv_kernel_at(device_of(A), choice.candidate);
    give_reason(plan, "%s", choice.reason);
    return DCSR_OK;
}

/* ---- Formats ---- */

static void drop_format(dcsr_spmv_plan *plan)
{
    if (plan->format) plan->kernel->discard(plan->format, &plan->A);
    plan->format = NULL;
}

static double seconds_since(uint64_t start)
{
    return 1e-9 * (double)(dcsr_i_nanoseconds() - start);
}

/* A format, which may be NULL, its bytes, and the seconds that it took. */
typedef struct built {
    void *format;
    uint64_t bytes;
    double seconds;
} built;

static dcsr_status build_format(built *b, const dcsr_i_spmv_kernel *kernel, const dcsr_i_spmv_matrix *A)
{
    const uint64_t start = dcsr_i_nanoseconds();
    *b = (built){0};
    if (!kernel->measure) return DCSR_OK;
    DCSR_TRY(kernel->measure(&b->bytes, A));
    DCSR_TRY(kernel->build(&b->format, A));
    b->seconds = seconds_since(start);
    return DCSR_OK;
}

/* The format, of this kernel for the plan's matrix, takes the place of the plan's. */
static void take_format(dcsr_spmv_plan *plan, const dcsr_i_spmv_kernel *kernel, const built *b)
{
    if (kernel == plan->kernel && plan->format)
        dcsr_i_refresh_built(&plan->rule, b->seconds);
    else
        dcsr_i_refresh_begin(&plan->rule, b->seconds);
    drop_format(plan);
    plan->kernel = kernel;
    plan->format = b->format;
    plan->info.bytes = b->bytes;
}

/* The plan has this kernel for this matrix, whose format it builds; else it is as it was. */
static dcsr_status build(dcsr_spmv_plan *plan, const dcsr_i_spmv_kernel *kernel, const dcsr_i_spmv_matrix *A)
{
    built b;
    DCSR_TRY(build_format(&b, kernel, A));
    take_format(plan, kernel, &b);
    plan->A = *A;
    plan->info.build_seconds = b.seconds;
    plan->info.refreshed = false;
    return DCSR_OK;
}

/* The same, but where the choice is free and there is no memory for the format, the store is read in place. */
static dcsr_status build_or_read_in_place(dcsr_spmv_plan *plan, const dcsr_i_spmv_kernel *kernel,
                                          const dcsr_i_spmv_matrix *A)
{
    const dcsr_status status = build(plan, kernel, A);
    if (status != DCSR_ERROR_OUT_OF_MEMORY || plan->named || !kernel->measure) return status;
    give_reason(plan, "there is no memory for the format of %s", kernel->told.name);
    return build(plan, dcsr_i_spmv_kernel_at(device_of(A), 0), A);
}

/* The format that has become due, or why it is not built. */
static dcsr_status build_later(dcsr_spmv_plan *plan)
{
    const dcsr_i_spmv_kernel *kernel = plan->later;
    plan->later = NULL;
    const dcsr_status status = build(plan, kernel, &plan->A);
    if (status == DCSR_OK)
        give_reason(plan, "after %llu products the format pays", (unsigned long long)plan->info.products);
    else if (status == DCSR_ERROR_OUT_OF_MEMORY)
        give_reason(plan, "there is no memory for the format of %s", kernel->told.name);
    return status == DCSR_ERROR_OUT_OF_MEMORY ? DCSR_OK : status;
}

/* ---- Trials ---- */

/* What a trial of kernels that are expected to be alike gains on average, in shares of a product; what one costs, in
 * products; from which share of votes on a kernel is tried for these. Of those tried, these are the best for a few
 * thousand products (docs/SELECTION.md). */
static const double doubt = 0.03, trial_cost = 10, least_votes = 0.2;
enum { MOST_TRIALS = 3 };

typedef struct trial {
    dcsr_vector *x, *y;
    void *x_values, *y_values; /* where the matrix is */
    bool tried[MOST_KERNELS];
    double in_place, least; /* seconds of a product: of the first kernel, of the plan's */
    const char *other;      /* the best of those that the plan does not have */
    double of_other;
} trial;

static dcsr_status make_vector(dcsr_vector **vector, void **values, const dcsr_i_spmv_matrix *A,
                               uint64_t size)
{
    static const uint64_t zero;
    DCSR_TRY(dcsr_vector_create(vector, A->context, A->vector_type, size));
    DCSR_TRY(dcsr_vector_set_format(*vector, DCSR_VECTOR_DENSE));
    DCSR_TRY(dcsr_vector_fill(*vector, &zero));
    return A->rows->on_device ? dcsr_vector_get_values_on_device(*vector, values)
                              : dcsr_vector_get_values(*vector, values);
}

/* The least time of a product, of some. */
static dcsr_status time_kernel(double *least, const trial *t, const dcsr_i_spmv_kernel *kernel,
                               const void *format, const dcsr_i_spmv_matrix *A)
{
    enum { BATCHES = 3, PRODUCTS = 2 };
    *least = INFINITY;
    for (int batch = 0; batch < BATCHES; batch++) {
        double seconds;
        DCSR_TRY(dcsr_i_spmv_time(&seconds, t->y_values, kernel, A, format, t->x_values, PRODUCTS));
        if (seconds < *least) *least = seconds;
    }
    return DCSR_OK;
}

/* What the model says of those that have not been tried. */
static dcsr_status choose_untried(dcsr_i_choice *choice, const trial *t, const dcsr_spmv_plan *plan)
{
    dcsr_i_candidate candidates[MOST_KERNELS];
    const uint32_t n = list_candidates(candidates, &plan->A);
    dcsr_features features;
    for (uint32_t k = 0; k < n; k++) candidates[k].possible = candidates[k].possible && !t->tried[k];
    DCSR_TRY(dcsr_view_get_features(&features, plan->A.view, NULL));
    return dcsr_i_choose(choice, plan->A.context, &features, candidates, n, (double)plan->expected,
                         DCSR_I_BY_TIME);
}

/* The kernel that is expected to be the best, if trying it will pay; 0: none. */
static uint32_t next_expected(const dcsr_i_choice *choice, const trial *t, const dcsr_spmv_plan *plan)
{
    const double saved = t->least / t->in_place - (1 - doubt) * choice->product;
    return saved * (double)plan->expected >= choice->build + trial_cost ? choice->candidate : 0;
}

/* The kernel with the most votes, if trying it costs no more than being in doubt; 0: none. Expectations are means:
 * where a kernel is far ahead on some of the matrices that look alike and far behind on others, votes tell more. */
static uint32_t next_voted(const dcsr_i_choice *choice, const trial *t, const dcsr_spmv_plan *plan)
{
    const double in_doubt = doubt * t->least / t->in_place * (double)plan->expected;
    return choice->votes >= least_votes && choice->voted_build + trial_cost <= in_doubt ? choice->voted : 0;
}

/* The plan has this kernel if its products are faster than those of its own; else it is as it was. */
static dcsr_status try_kernel(dcsr_spmv_plan *plan, trial *t, const dcsr_i_spmv_kernel *kernel)
{
    double seconds;
    built b;
    DCSR_TRY(build_format(&b, kernel, &plan->A));
    const dcsr_status status = time_kernel(&seconds, t, kernel, b.format, &plan->A);
    const bool better = !status && seconds < t->least;
    const double slower = better ? t->least : seconds;
    if (!status && (!t->other || slower < t->of_other)) {
        t->other = (better ? plan->kernel : kernel)->told.name;
        t->of_other = slower;
    }
    if (!better) {
        if (b.format) kernel->discard(b.format, &plan->A);
        return status;
    }
    take_format(plan, kernel, &b);
    t->least = seconds;
    return DCSR_OK;
}

/* Tries what has been built, others as long as that pays, and one for its votes. What takes longer than reading in
 * place is dropped. */
static dcsr_status run_trials(dcsr_spmv_plan *plan, trial *t)
{
    const dcsr_device device = device_of(&plan->A);
    const dcsr_i_spmv_kernel *in_place = dcsr_i_spmv_kernel_at(device, 0), *kernel;
    for (uint32_t k = 0; (kernel = dcsr_i_spmv_kernel_at(device, k)); k++)
        t->tried[k] = kernel == plan->kernel;
    DCSR_TRY(time_kernel(&t->in_place, t, in_place, NULL, &plan->A));
    DCSR_TRY(time_kernel(&t->least, t, plan->kernel, plan->format, &plan->A));
    for (int trials = 0; trials <= MOST_TRIALS;) {
        dcsr_i_choice choice;
        DCSR_TRY(choose_untried(&choice, t, plan));
        uint32_t next = trials < MOST_TRIALS ? next_expected(&choice, t, plan) : 0;
        const bool last = !next;
        if (last) next = next_voted(&choice, t, plan);
        if (!next) break;
        t->tried[next] = true;
        kernel = dcsr_i_spmv_kernel_at(device, next);
        if (why_not(kernel, &plan->A)) continue;
        DCSR_TRY(try_kernel(plan, t, kernel));
        trials = last ? MOST_TRIALS + 1 : trials + 1;
    }
    return t->least > t->in_place ? try_kernel(plan, t, in_place) : DCSR_OK;
}

/* Without memory for trials there are none. */
static dcsr_status try_kernels(dcsr_spmv_plan *plan)
{
    const uint64_t start = dcsr_i_nanoseconds();
    trial t = {0};
    if (plan->named || !plan->format || plan->for_energy || plan->memory ||
        doubt * plan->promised * (double)plan->expected < 2 * trial_cost)
        return DCSR_OK;
    dcsr_status status = make_vector(&t.x, &t.x_values, &plan->A, plan->A.info.cols);
    if (!status) status = make_vector(&t.y, &t.y_values, &plan->A, plan->A.info.rows);
    if (!status) status = run_trials(plan, &t);
    dcsr_vector_destroy(t.x);
    dcsr_vector_destroy(t.y);
    plan->info.build_seconds += seconds_since(start);
    if (t.other)
        give_reason(plan, "tried: a product took %.3g us, of %s %.3g us, in place %.3g us", 1e6 * t.least,
                    t.other, 1e6 * t.of_other, 1e6 * t.in_place);
    return status == DCSR_ERROR_OUT_OF_MEMORY ? DCSR_OK : status;
}

/* ---- Plans ---- */

/* Of the view, which the plan shares; all zero on failure. */
static dcsr_status open_matrix(dcsr_i_spmv_matrix *A, dcsr_view *view)
{
    dcsr_view *shared;
    DCSR_TRY(dcsr_view_share(&shared, view));
    const dcsr_status status = dcsr_i_spmv_matrix_unmeasured(A, shared);
    if (!status) return DCSR_OK;
    dcsr_view_destroy(shared);
    *A = (dcsr_i_spmv_matrix){0};
    return status;
}

/* For choosing and building. Where a kernel may be chosen by features these come first, as they count the lengths of
 * rows, too. */
static dcsr_status measure_matrix(const dcsr_spmv_plan *plan, dcsr_i_spmv_matrix *A)
{
    dcsr_features features;
    if (!plan->named && (!plan->format || !plan->expected))
        DCSR_TRY(dcsr_view_get_features(&features, A->view, NULL));
    return dcsr_i_spmv_measure_matrix(A);
}

/* Chooses and builds for the first time. */
static dcsr_status begin(dcsr_spmv_plan *plan, const char *name, dcsr_i_spmv_matrix *A)
{
    const dcsr_i_spmv_kernel *kernel;
    DCSR_TRY(measure_matrix(plan, A));
    DCSR_TRY(plan->named ? choose_named(&kernel, plan, name, A) : choose_freely(&kernel, plan, A));
    DCSR_TRY(build_or_read_in_place(plan, kernel, A));
    const dcsr_status status = try_kernels(plan);
    if (status) drop_format(plan);
    return status;
}

dcsr_status dcsr_spmv_plan_create(dcsr_spmv_plan **plan, dcsr_view *A, const dcsr_spmv_options *options)
{
    static const dcsr_spmv_options none;
    if (!plan) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "spmv_plan_create: plan is NULL");
    *plan = NULL;
    DCSR_TRY(dcsr_i_view_check(A));
    if (!options) options = &none;
    dcsr_context *context = dcsr_i_view_context(A);
    dcsr_spmv_plan *made = dcsr_i_calloc(context, DCSR_I_MATRIX, 1, sizeof *made);
    if (!made) return DCSR_ERROR_OUT_OF_MEMORY;
    made->expected = options->products;
    made->memory = options->memory;
    made->for_energy = options->for_energy;
    made->refreshing = options->refreshing;
    dcsr_i_spmv_matrix matrix = {0};
    made->named = options->kernel && strcmp(options->kernel, "auto") != 0;
    dcsr_status status = open_matrix(&matrix, A);
    if (!status) status = begin(made, options->kernel, &matrix);
    if (status) {
        dcsr_i_free(context, DCSR_I_MATRIX, made, 1, sizeof *made);
        dcsr_view_destroy(matrix.view);
        return status;
    }
    *plan = made;
    return DCSR_OK;
}

void dcsr_spmv_plan_destroy(dcsr_spmv_plan *plan)
{
    if (!plan) return;
    dcsr_view *view = plan->A.view; /* which keeps the context */
    drop_format(plan);
    dcsr_i_free(plan->A.context, DCSR_I_MATRIX, plan, 1, sizeof *plan);
    dcsr_view_destroy(view);
}

/* Whether the plan can multiply; what has become due is built. `call` is for messages. */
static dcsr_status prepare(const char *call, const void *y, dcsr_spmv_plan *plan, const void *x)
{
    if (!plan) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: plan is NULL", call);
    const dcsr_view_info *info = &plan->A.info;
    DCSR_TRY(dcsr_i_view_check(plan->A.view));
    if ((!y && info->rows) || (!x && info->cols))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is NULL; give it %s elements", call,
                           !y && info->rows ? "y" : "x", !y && info->rows ? "rows" : "cols");
    return plan->later && plan->info.products >= plan->due ? build_later(plan) : DCSR_OK;
}

dcsr_status dcsr_spmv_plan_run(void *y, dcsr_spmv_plan *plan, const void *x)
{
    DCSR_TRY(prepare("spmv_plan_run", y, plan, x));
    DCSR_TRY(dcsr_i_spmv_run(y, plan->kernel, &plan->A, plan->format, x));
    plan->info.products++;
    return DCSR_OK;
}

dcsr_status dcsr_spmv_plan_time(double *seconds, void *y, dcsr_spmv_plan *plan, const void *x,
                                uint64_t products)
{
    if (!seconds) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "spmv_plan_time: seconds is NULL");
    *seconds = 0;
    if (!products)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "spmv_plan_time: products is 0; time one at least");
    DCSR_TRY(prepare("spmv_plan_time", y, plan, x));
    double measured = 0;
    DCSR_TRY(dcsr_i_spmv_time(&measured, y, plan->kernel, &plan->A, plan->format, x, products));
    plan->info.products += products;
    *seconds = measured;
    return DCSR_OK;
}

dcsr_status dcsr_spmv_plan_run_on_stream(void *y, dcsr_spmv_plan *plan, const void *x, void *stream)
{
    if (plan && !plan->A.rows->on_device)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "spmv_plan_run_on_stream: the plan is of a cpu "
                                                        "context, which has no streams; use "
                                                        "dcsr_spmv_plan_run()");
    DCSR_TRY(prepare("spmv_plan_run_on_stream", y, plan, x));
    DCSR_TRY(dcsr_i_spmv_run_on_stream(y, plan->kernel, &plan->A, plan->format, x, stream));
    plan->info.products++;
    return DCSR_OK;
}

/* ---- Following a matrix ---- */

/* Why a format cannot be brought up to date, whatever has changed; NULL: it may be possible. */
static const char *why_no_refresh(const dcsr_spmv_plan *plan, const dcsr_i_spmv_matrix *A)
{
    const dcsr_i_spmv_kernel *kernel = plan->kernel;
    if (!plan->format) return "there was no format";
    if (plan->refreshing == DCSR_SPMV_NEVER_REFRESH) return "as the options ask for";
    if (!kernel->refresh) return "the kernel has no other way";
    if (A->info.rows != plan->A.info.rows || A->info.cols != plan->A.info.cols)
        return "the matrix has other dimensions";
    if (kernel->may_refresh && !kernel->may_refresh(plan->format, A, &plan->A))
        return "the format has no room for what has changed";
    return NULL;
}

static const char no_room[] = "the format has no room for rows that have changed";

/* Why building is to be preferred; NULL: it is not. */
static const char *why_build(dcsr_i_refresh_advice advice)
{
    switch (advice) {
    case DCSR_I_BUILD_AS_MOST_CHANGED:
        return "most rows have changed";
    case DCSR_I_BUILD_AS_FOUND_CHEAPER:
        return "bringing as many rows up to date has taken longer";
    case DCSR_I_BUILD_AS_FOUND_UNFIT:
        return "the format had no room for rows that had changed before";
    default:
        return NULL;
    }
}

/* The format becomes that of A where rows have changed, unless building is to be preferred: then *why says so, and the
 * plan is as it was. Where most rows are elsewhere, many may only have moved. */
static dcsr_status refresh_changed(dcsr_spmv_plan *plan, const char **why, const dcsr_i_spmv_matrix *A,
                                   dcsr_i_changed_rows *changed, uint64_t start)
{
    const bool always = plan->refreshing == DCSR_SPMV_ALWAYS_REFRESH;
    const uint64_t rows = A->info.rows < A->info.nnz ? A->info.rows : A->info.nnz, found = changed->count;
    uint64_t bytes = 0;
    bool done = false;
    *why = always ? NULL : why_build(dcsr_i_refresh_rows(&plan->rule, found, rows));
    if (*why) return DCSR_OK;
    if (found > rows / 2) DCSR_TRY(dcsr_i_changed_rows_drop_moved(changed));
    DCSR_TRY(dcsr_i_changed_rows_list(changed));
    DCSR_TRY(plan->kernel->refresh(&plan->format, &done, &bytes, A, changed));
    if (!done) {
        dcsr_i_refresh_did_not_fit(&plan->rule);
        *why = no_room;
        return DCSR_OK;
    }
    plan->A = *A;
    plan->info.bytes = bytes;
    plan->info.build_seconds = seconds_since(start);
    plan->info.refreshed = true;
    snprintf(plan->info.refresh_reason, sizeof plan->info.refresh_reason,
             "brought up to date: %llu of %llu rows have changed", (unsigned long long)changed->count,
             (unsigned long long)A->info.rows);
    dcsr_i_refresh_took(&plan->rule, found, plan->info.build_seconds);
    return DCSR_OK;
}

static dcsr_status bring_up_to_date(dcsr_spmv_plan *plan, const char **why, const dcsr_i_spmv_matrix *A)
{
    const uint64_t start = dcsr_i_nanoseconds();
    dcsr_i_changed_rows changed;
    *why = why_no_refresh(plan, A);
    if (!*why && plan->refreshing != DCSR_SPMV_ALWAYS_REFRESH)
        *why = why_build(dcsr_i_refresh_at_all(&plan->rule));
    if (*why) return DCSR_OK;
    DCSR_TRY(dcsr_i_changed_rows_open(&changed, plan->A.view, A->view));
    const dcsr_status status = refresh_changed(plan, why, A, &changed, start);
    dcsr_i_changed_rows_close(&changed);
    return status;
}

/* What shows the version of A from now on: the format brought up to date or built anew; or, where nobody has said that
 * building pays, the store again. */
static dcsr_status follow(dcsr_spmv_plan *plan, dcsr_i_spmv_matrix *A)
{
    const dcsr_i_spmv_kernel *kernel = plan->kernel;
    const char *why;
    if (kernel->by_longest) DCSR_TRY(dcsr_i_spmv_measure_matrix(A));
    DCSR_TRY(bring_up_to_date(plan, &why, A));
    if (!why) return DCSR_OK;
    DCSR_TRY(measure_matrix(plan, A));
    const char *refusal = why_not(kernel, A);
    if (refusal && plan->named)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "spmv: kernel %s %s; take another, or auto",
                           kernel->told.name, refusal);
    if (!plan->named && (refusal || !plan->format || !plan->expected))
        DCSR_TRY(choose_freely(&kernel, plan, A));
    DCSR_TRY(build_or_read_in_place(plan, kernel, A));
    snprintf(plan->info.refresh_reason, sizeof plan->info.refresh_reason, "%s: %s",
             plan->format ? "built anew" : "read in place", why);
    return DCSR_OK;
}

dcsr_status dcsr_spmv_plan_refresh(dcsr_spmv_plan *plan, dcsr_view *A)
{
    if (!plan) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "spmv_plan_refresh: plan is NULL");
    DCSR_TRY(dcsr_i_view_check(A));
    if (dcsr_i_view_matrix(A) != dcsr_i_view_matrix(plan->A.view))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "spmv_plan_refresh: the view is of another matrix; create a plan for that");
    dcsr_i_spmv_matrix matrix = {0};
    dcsr_view *before = plan->A.view;
    dcsr_status status = open_matrix(&matrix, A);
    if (!status) status = follow(plan, &matrix);
    dcsr_view_destroy(status ? matrix.view : before);
    return status;
}

dcsr_status dcsr_spmv_plan_get_info(const dcsr_spmv_plan *plan, dcsr_spmv_plan_info *info)
{
    if (!plan || !info)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "spmv_plan_get_info: plan or info is NULL");
    DCSR_TRY(dcsr_i_view_check(plan->A.view));
    *info = plan->info;
    info->kernel = plan->kernel->told.name;
    info->version = plan->A.info.version;
    return DCSR_OK;
}
