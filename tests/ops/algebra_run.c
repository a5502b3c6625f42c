/* algebra_run.c: random problems of all operations: drawn, solved by the library and by the oracle, compared.
 */
#include "tests/ops/algebra.h"

#include "dcsr/base/alloc.h"
#include "dcsr/vector/vector_data.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DESCRIPTION = 700 };

typedef struct plan {
    bool users, misfit, applied, never_large;
} plan;

/* The numbers of an operation's problem do not depend on where it stands in its table. */
static uint64_t mixed(uint64_t seed, const char *name)
{
    for (; *name; name++) seed = (seed ^ (uint64_t)(unsigned char)*name) * 0x100000001b3u;
    return seed;
}

static void problem_begin(problem *p, const algebra_operation *operation, uint64_t seed, plan how)
{
    const unsigned takes = operation->takes;
    *p = (problem){.operation = operation, .seed = seed, .random = {mixed(seed, operation->name)}};
    test_seed_begins(seed);
    atomic_init(&p->calls_left, -1);
    p->context = test_context(draw_once_in(p, 2) ? 1 : 3);
    p->large = draw_once_in(p, TEST_SIZE(24, 200, 200)) && !how.never_large;
    p->type = DCSR_TYPE_COUNT;
    if (draw_once_in(p, 2)) p->type = draw_type(p);
    p->constant = draw_once_in(p, 6) && !how.users;
    p->odd = draw_once_in(p, 5) && !p->constant;
    if (p->odd) p->type = draw_once_in(p, 2) ? DCSR_FP32 : DCSR_FP64;
    p->users = how.users;
    p->misfit = how.misfit ? (int)draw_below(p, 6) : -1;
    p->whole_mask = true;
    p->desc.transpose_a = takes & TAKES_TRANSPOSE_A && draw_once_in(p, 3);
    p->desc.transpose_b = takes & TAKES_TRANSPOSE_B && draw_once_in(p, 3);
    if (takes & TAKES_DIRECTION) p->desc.direction = (dcsr_direction)draw_below(p, 3);
    if (draw_once_in(p, 2)) p->desc.report = &p->report;
    if (draw_once_in(p, 2))
        p->desc.device =
            draw_once_in(p, 2) || !test_on_device(p->context) ? DCSR_DEVICE_CPU : DCSR_DEVICE_CUDA;
    operation->draw(p);
    if (takes & TAKES_ACCUM && draw_once_in(p, 2)) p->accum = draw_binary(p);
    if (takes & TAKES_MASK) draw_mask(p);
    subject *const subjects[] = {&p->out, &p->mask, &p->a, &p->b};
    for (int k = 0; k < 4 && how.applied; k++)
        if (subjects[k]->matrix) TEST_OK(dcsr_matrix_wait(subjects[k]->matrix));
}

static void free_objects(problem *p)
{
    subject_free(p, &p->mask);
    subject_free(p, &p->a);
    subject_free(p, &p->b);
    subject_free(p, &p->out);
    operators_free(p);
    free(p->array);
    free((void *)(uintptr_t)p->X);
    free(p->rows.index);
    free(p->cols.index);
}

static void problem_end(problem *p)
{
    free_objects(p);
    test_close(p->context);
}

/* Appends to the description what an object is; nothing where there is none. */
static void describe_object(char text[DESCRIPTION], const char *name, const subject *s, const char *remark)
{
    uint64_t entries = 0;
    for (size_t c = 0; c < s->holds.rows * s->holds.cols; c++) entries += s->holds.present[c];
    if (!s->holds.present) return;
    const size_t used = strlen(text);
    snprintf(text + used, DESCRIPTION - used, "; %s %s %" PRIu64 " x %" PRIu64 ", %" PRIu64 " there%s%s%s",
             name, dcsr_type_name(s->holds.type), s->holds.rows, s->holds.cols, entries,
             s->vector && s->vector->body.dense ? ", dense" : "", s->borrowed ? ", the output" : "", remark);
}

/* What the problem is, for messages. */
static const char *describe(const problem *p, char text[DESCRIPTION])
{
    const dcsr_monoid *monoid = p->semiring ? p->semiring->add : p->monoid;
    const char *op = p->semiring   ? p->semiring->multiply->text
                     : p->binary   ? p->binary->text
                     : p->unary    ? p->unary->text
                     : p->index_op ? p->index_op->text
                                   : "-";
    snprintf(text, DESCRIPTION,
             "%s, DCSR_TEST_SEED=%" PRIu64 ": op %s, monoid %s, accum %s%s%s%s, direction %d, places %" PRIu64
             "%s %" PRIu64 "%s",
             p->operation->name, p->seed, op, monoid ? monoid->op->text : "-",
             p->accum ? p->accum->text : "-", p->desc.mask_structure ? ", structure" : "",
             p->desc.mask_complement ? ", complement" : "", p->desc.replace ? ", replace" : "",
             (int)p->desc.direction, p->rows.n, p->rows.index ? "" : " (all)", p->cols.n,
             p->cols.index ? "" : " (all)");
    describe_object(text, "out", &p->out, "");
    describe_object(text, "mask", &p->mask, "");
    describe_object(text, "a", &p->a, p->desc.transpose_a ? ", transposed" : "");
    describe_object(text, "b", &p->b, p->desc.transpose_b ? ", transposed" : "");
    return text;
}

static grid expected(problem *p)
{
    grid T = p->operation->define(p);
    if (p->operation->writes) return T;
    grid out = grid_copy(&p->out.holds);
    grid_write(&out, p->mask_view || p->mask_vector ? &p->mask.holds : NULL, p->accum, &p->desc, &T);
    grid_free(&T);
    return out;
}

static bool read_output(const problem *p, grid *g, char why[TEST_WHY])
{
    if (p->operation->output == OUTPUT_VECTOR) return grid_of_vector(g, p->out.vector, why);
    if (p->operation->output == OUTPUT_MATRIX) return grid_of_matrix(g, p->out.matrix, why);
    const size_t bytes = dcsr_type_size(p->out.holds.type);
    *g = grid_create(p->out.holds.type, p->out.holds.rows, p->out.holds.cols);
    for (size_t c = 0; c < g->rows * g->cols; c++) {
        g->present[c] = true;
        memcpy(&g->value[c], (const unsigned char *)p->array + c * bytes, bytes);
    }
    return true;
}

static void assert_output(const problem *p, const grid *wanted, const char *when)
{
    grid got;
    char why[TEST_WHY] = "", text[DESCRIPTION];
    bool good = read_output(p, &got, why) && grid_equal(&got, wanted, why);
    cr_assert(good, "%s%s: %s", describe(p, text), when, why);
    grid_free(&got);
}

static void assert_status(const problem *p, dcsr_status got, dcsr_status wanted, const char *when)
{
    char text[DESCRIPTION];
    cr_assert(got == wanted, "%s%s: \"%s\" (%s), not \"%s\"", describe(p, text), when, dcsr_status_name(got),
              got ? dcsr_thread_error() : "", dcsr_status_name(wanted));
    cr_assert(got == DCSR_OK || dcsr_thread_error()[0], "%s%s: no sentence", describe(p, text), when);
}

/* An input is not changed by being read, unless it is the output. */
static void assert_inputs(const problem *p)
{
    const subject *const inputs[] = {&p->mask, &p->a, &p->b};
    char why[TEST_WHY] = "", text[DESCRIPTION];
    for (int k = 0; k < 3; k++) {
        if (!inputs[k]->view && (!inputs[k]->vector || inputs[k]->borrowed)) continue;
        grid got;
        bool good = inputs[k]->view
                        ? grid_of_view(&got, inputs[k]->view, test_info(inputs[k]->matrix).policy, why)
                        : grid_of_vector(&got, inputs[k]->vector, why);
        cr_assert(good && grid_equal(&got, &inputs[k]->holds, why), "%s: input %d: %s", describe(p, text), k,
                  why);
        grid_free(&got);
    }
}

static void assert_report(const problem *p)
{
    char text[DESCRIPTION];
    if (!p->desc.report || !(p->operation->takes & TAKES_DIRECTION)) return;
    const dcsr_direction done = p->report.direction, asked = p->desc.direction;
    cr_assert(done != DCSR_DIRECTION_AUTO && (!asked || asked == done), "%s: the report has direction %d",
              describe(p, text), (int)done);
}

static void solve(const algebra_operation *operation, uint64_t seed)
{
    problem p;
    problem_begin(&p, operation, seed, (plan){0});
    grid wanted = expected(&p);
    assert_status(&p, operation->call(&p), DCSR_OK, "");
    assert_output(&p, &wanted, "");
    assert_inputs(&p);
    assert_report(&p);
    grid_free(&wanted);
    problem_end(&p);
}

/* DCSR_TEST_OPERATION names the only one to be tested. */
static bool is_wanted(const algebra_operation *operation)
{
    const char *only = getenv("DCSR_TEST_OPERATION");
    return !only || !strcmp(only, operation->name);
}

void algebra_test_random(const algebra_operation *operations, uint64_t rounds)
{
    const test_seeds seeds = test_seeds_from_environment(rounds);
    for (uint64_t s = 0; s < seeds.rounds; s++)
        for (const algebra_operation *o = operations; o->name; o++)
            if (is_wanted(o)) solve(o, seeds.first + s);
}

/* Failures */

static void fail_allocations(const algebra_operation *operation, uint64_t seed)
{
    problem p;
    problem_begin(&p, operation, seed, (plan){.applied = true, .never_large = true});
    grid wanted = expected(&p);
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    for (long n = 0; status != DCSR_OK; n++) {
        dcsr_i_fail_allocations_after(n);
        status = operation->call(&p);
        dcsr_i_fail_allocations_after(-1);
        char when[60];
        snprintf(when, sizeof when, ", allocation %ld failing", n);
        if (status == DCSR_OK) break;
        assert_status(&p, status, DCSR_ERROR_OUT_OF_MEMORY, when);
        assert_output(&p, &p.out.holds, when);
        cr_assert(n < 10000, "%s never succeeds", operation->name);
    }
    assert_output(&p, &wanted, " after memory ran out");
    assert_inputs(&p);
    grid_free(&wanted);
    problem_end(&p);
}

static void fail_callbacks(const algebra_operation *operation, uint64_t seed)
{
    problem p;
    problem_begin(&p, operation, seed, (plan){.applied = true, .never_large = true, .users = true});
    grid wanted = expected(&p);
    for (long n = 0;; n = n < 4 ? n + 1 : 2 * n) {
        atomic_store(&p.calls_left, n);
        dcsr_status status = operation->call(&p);
        atomic_store(&p.calls_left, -1);
        char when[60];
        snprintf(when, sizeof when, ", call %ld of a user's function failing", n);
        if (status == DCSR_OK) break;
        assert_status(&p, status, DCSR_ERROR_CALLBACK, when);
        cr_assert(test_says("test's"), "%s names no operator: %s", operation->name, dcsr_thread_error());
        assert_output(&p, &p.out.holds, when);
    }
    assert_output(&p, &wanted, " after callbacks failed");
    grid_free(&wanted);
    problem_end(&p);
}

void algebra_test_failures(const algebra_operation *operations, uint64_t rounds)
{
    const test_seeds seeds = test_seeds_from_environment(rounds);
    for (uint64_t s = 0; s < seeds.rounds; s++)
        for (const algebra_operation *o = operations; o->name; o++) {
            if (!is_wanted(o)) continue;
            fail_allocations(o, seeds.first + s);
            fail_callbacks(o, seeds.first + s);
        }
}

/* Arguments */

static void refuse(problem *p, dcsr_status status, const char *when)
{
    assert_status(p, p->operation->call(p), status, when);
    cr_assert(test_says(p->operation->name), "%s%s: the message does not name it: %s", p->operation->name,
              when, dcsr_thread_error());
    assert_output(p, &p->out.holds, when);
}

/* Each pointer that must be there is NULL in turn. */
static void refuse_null(problem *p)
{
    const bool cells = p->out.holds.rows && p->out.holds.cols && p->a.holds.rows && p->a.holds.cols;
    const struct {
        const char *name;
        void *pointer;
    } arguments[] = {{", the output NULL", &p->w},
                     {", the output NULL", &p->C},
                     {", u NULL", &p->u},
                     {", v NULL", &p->v},
                     {", A NULL", &p->A},
                     {", B NULL", &p->B},
                     {", the operator NULL", &p->unary},
                     {", the operator NULL", &p->binary},
                     {", the operator NULL", &p->index_op},
                     {", the monoid NULL", &p->monoid},
                     {", the semiring NULL", &p->semiring},
                     {", X NULL", cells ? &p->X : NULL},
                     {", the array NULL", cells ? &p->array : NULL}};
    for (size_t k = 0; k < sizeof arguments / sizeof *arguments; k++) {
        void *kept, *none = NULL;
        if (!arguments[k].pointer) continue;
        memcpy(&kept, arguments[k].pointer, sizeof kept);
        if (!kept) continue;
        memcpy(arguments[k].pointer, &none, sizeof none);
        dcsr_status status = p->operation->call(p);
        memcpy(arguments[k].pointer, &kept, sizeof kept);
        assert_status(p, status, DCSR_ERROR_INVALID_ARGUMENT, arguments[k].name);
        assert_output(p, &p->out.holds, arguments[k].name);
    }
}

/* An input, and the mask, from another context in turn. */
static void refuse_strangers(problem *p)
{
    dcsr_context *elsewhere = test_context(1);
    dcsr_matrix *matrix =
        test_matrix(elsewhere, DCSR_INT32, p->a.holds.rows, p->a.holds.cols, DCSR_POLICY_LAST);
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_vector *vector = NULL;
    TEST_OK(dcsr_vector_create(&vector, elsewhere, DCSR_INT32, p->a.holds.rows));
    const dcsr_vector *const u = p->u;
    dcsr_view *const A = p->A;
    if (A && p->operation->output != OUTPUT_ARRAY) {
        p->A = view;
        refuse(p, DCSR_ERROR_INVALID_ARGUMENT, ", A of another context");
        p->A = A;
    } else if (u && !A && p->operation->output != OUTPUT_ARRAY) {
        p->u = vector;
        refuse(p, DCSR_ERROR_INVALID_ARGUMENT, ", u of another context");
        p->u = u;
    }
    dcsr_vector_destroy(vector);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(elsewhere);
}

/* Places beyond the last. */
static void refuse_places(problem *p)
{
    uint64_t *const lists[] = {p->rows.n ? p->rows.index : NULL, p->cols.n ? p->cols.index : NULL,
                               p->line ? &p->index : NULL};
    const uint64_t counts[] = {p->rows.n, p->cols.n, 1};
    for (int k = 0; k < 3; k++) {
        if (!lists[k]) continue;
        uint64_t *place = &lists[k][draw_below(p, counts[k])], kept = *place;
        *place = draw_once_in(p, 2) ? UINT64_MAX : 1000000;
        refuse(p, DCSR_ERROR_INDEX_OUT_OF_RANGE, ", with a place that is not there");
        *place = kept;
    }
}

/* Descriptions that mean nothing, or want what the context has not. */
static void refuse_descriptions(problem *p)
{
    const dcsr_desc desc = p->desc;
    const char *const values[] = {"DCSR_DIRECTION_AUTO", "DCSR_DEVICE_AUTO", "context is on the cpu"};
    if (!(p->operation->takes & TAKES_MASK)) return; /* nor a description */
    for (int k = 0; k < (test_on_device(p->context) ? 2 : 3); k++) {
        if (k == 0)
            p->desc.direction = (dcsr_direction)9;
        else
            p->desc.device = k == 1 ? (dcsr_device)9 : DCSR_DEVICE_CUDA;
        refuse(p, DCSR_ERROR_INVALID_ARGUMENT, ", with a description that means nothing");
        cr_assert(test_says(values[k]), "%s: %s", p->operation->name, dcsr_thread_error());
        p->desc = desc;
    }
}

static void refuse_all(const algebra_operation *operation, uint64_t seed)
{
    problem p;
    problem_begin(&p, operation, seed, (plan){.applied = true, .never_large = true});
    refuse_null(&p);
    refuse_strangers(&p);
    refuse_places(&p);
    refuse_descriptions(&p);
    dcsr_context_destroy(p.context);
    assert_status(&p, operation->call(&p), DCSR_ERROR_CONTEXT_DESTROYED, ", without its context");
    free_objects(&p);
    problem_begin(&p, operation, seed, (plan){.applied = true, .never_large = true, .misfit = true});
    if (p.misfits) refuse(&p, DCSR_ERROR_DIMENSION_MISMATCH, ", of shapes that do not fit");
    problem_end(&p);
}

void algebra_test_arguments(const algebra_operation *operations, uint64_t rounds)
{
    const test_seeds seeds = test_seeds_from_environment(rounds);
    for (uint64_t s = 0; s < seeds.rounds; s++)
        for (const algebra_operation *o = operations; o->name; o++)
            if (is_wanted(o)) refuse_all(o, seeds.first + s);
}
