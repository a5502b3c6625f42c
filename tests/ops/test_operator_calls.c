/* test_operator_calls.c: which calls of the library a user's operator may make, while the operation that
 * calls it has the turn of its output. What is refused here would hang. */
#include "dcsr/store/store.h"
#include <dcsr/apply.h>
#include <dcsr/assign.h>
#include <dcsr/ewise.h>
#include <dcsr/extract.h>
#include <dcsr/matrix_add.h>
#include <dcsr/mxm.h>
#include <dcsr/select.h>
#include <dcsr/transpose.h>
#include <dcsr/persist.h>
#include "tests/support/support_small.h"
#include "tests/support/support_store.h"
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

/* ---- Operators that make calls ---- */

/* What an operator does at its first call; calls after it compute only. */
typedef struct caller {
    dcsr_matrix *C, *D;
    dcsr_view *a;
    dcsr_ticket *ticket;
    dcsr_store *store;
    void (*calls)(struct caller *c);
    bool helpers_only; /* a thread of OpenMP's makes the calls, not the one that called the operation */
    atomic_bool made;
    char wrong[500]; /* not empty: what went otherwise than it should */
} caller;

static void make_calls(caller *c)
{
    if (c->helpers_only && !omp_get_thread_num()) {
        while (!atomic_load(&c->made)) sched_yield(); /* or this thread might take all rows */
        return;
    }
    if (!atomic_exchange(&c->made, true)) c->calls(c);
}

static bool unary(void *z, const void *x, void *user)
{
    *(double *)z = *(const double *)x;
    make_calls(user);
    return true;
}
static bool binary(void *z, const void *x, const void *y, void *user)
{
    *(double *)z = *(const double *)x + *(const double *)y;
    make_calls(user);
    return true;
}
static bool by_index(void *z, const void *x, uint64_t row, uint64_t col, const void *thunk, void *user)
{
    *(bool *)z = *(const double *)x != 0 || row < col;
    (void)thunk;
    make_calls(user);
    return true;
}

static void expect(caller *c, const char *call, dcsr_status status, dcsr_status expected, const char *words)
{
    if (!c->wrong[0] && (status != expected || !test_says(words)))
        snprintf(c->wrong, sizeof c->wrong, "%s is \"%s\" (%s)", call, dcsr_status_name(status),
                 dcsr_thread_error());
}
#define REFUSED(c, words, call) expect(c, #call, call, DCSR_ERROR_DEADLOCK, words)
#define ALLOWED(c, call)        expect(c, #call, call, DCSR_OK, "")

static dcsr_unary_op *operator_of(caller *c)
{
    dcsr_unary_op *op;
    TEST_OK(dcsr_unary_op_create(&op, "caller", DCSR_FP64, DCSR_FP64, unary, c));
    return op;
}

/* C = A, by an operator that makes the calls. */
static void run(fixture *f, caller *c, void (*calls)(caller *c))
{
    c->C = f->C;
    c->a = f->a;
    c->calls = calls;
    dcsr_unary_op *op = operator_of(c);
    TEST_OK(dcsr_matrix_apply(f->C, NULL, NULL, op, f->a, NULL));
    cr_assert(atomic_load(&c->made) && !c->wrong[0], "%s", c->wrong);
    dcsr_unary_op_destroy(op);
}

static dcsr_matrix *new_matrix(const fixture *f, const dcsr_matrix_options *options)
{
    dcsr_matrix *matrix;
    TEST_OK(dcsr_matrix_create(&matrix, f->context, DCSR_FP64, 3, 4, options));
    return matrix;
}

/* ---- On the output ---- */

static void wait_in_all_ways(caller *c)
{
    uint64_t row = 0, col = 0;
    double value = 1;
    bool stored;
    dcsr_ticket *ticket = NULL;
    const dcsr_unary_op *abs = dcsr_unary_op_of(DCSR_UNARY_ABS, DCSR_FP64);
    REFUSED(c, "dcsr_matrix_get: an operator", dcsr_matrix_get(c->C, 0, 0, &value, &stored));
    REFUSED(c, "dcsr_matrix_get_many: ", dcsr_matrix_get_many(c->C, 1, &row, &col, NULL, &stored));
    REFUSED(c, "dcsr_matrix_wait: ", dcsr_matrix_wait(c->C));
    dcsr_view *latest;
    REFUSED(c, "dcsr_view_create: ", dcsr_view_create(&latest, c->C, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST));
    REFUSED(c, "matrix_apply: ", dcsr_matrix_apply(c->C, NULL, NULL, abs, c->a, NULL));
    REFUSED(c, "matrix_transpose: ",
            dcsr_matrix_transpose(c->C, NULL, NULL, c->a, &(dcsr_desc){.transpose_a = true}));
    /* There is room for one batch. */
    ALLOWED(c, dcsr_matrix_insert(c->C, 1, &row, &col, &value, &ticket));
    REFUSED(c, "dcsr_ticket_wait: ", dcsr_ticket_wait(ticket));
    REFUSED(c, "dcsr_matrix_insert: ", dcsr_matrix_insert(c->C, 1, &row, &col, &value, NULL));
    REFUSED(c, "dcsr_matrix_remove: ", dcsr_matrix_remove(c->C, 1, &row, &col, NULL));
    dcsr_ticket_destroy(ticket);
    dcsr_matrix_destroy(c->C);
    expect(c, "destroying C", DCSR_OK, DCSR_OK, "dcsr_matrix_destroy: an operator");
    dcsr_context_destroy(c->C->context);
    expect(c, "destroying the context", DCSR_OK, DCSR_OK, "dcsr_context_destroy: an operator");
}

static fixture set_up_with_a_short_queue(void)
{
    fixture f = set_up(DCSR_FP64);
    dcsr_matrix_destroy(f.C);
    f.C = new_matrix(&f, &(dcsr_matrix_options){.queue_limit = 1});
    return f;
}

Test(operator_calls, that_would_wait_for_the_output_are_refused)
{
    fixture f = set_up_with_a_short_queue();
    caller c = {0};
    run(&f, &c, wait_in_all_ways);
    TEST_OK(dcsr_matrix_wait(f.C));
    TEST_SHOWS(f.C, {0, 0, 1}, {0, 2, 2}, {2, 0, 3}, {2, 1, 4}, {2, 3, 5});
    tear_down(&f);
}

/* Rows enough for several threads. */
static void become_large(fixture *f)
{
    enum { SIDE = 65536 };
    uint64_t *place = test_allocate(SIDE, sizeof *place);
    double *value = test_allocate(SIDE, sizeof *value);
    for (uint64_t i = 0; i < SIDE; i++) place[i] = i, value[i] = 1;
    TEST_OK(dcsr_matrix_resize(f->A, SIDE, SIDE, NULL));
    TEST_OK(dcsr_matrix_resize(f->C, SIDE, SIDE, NULL));
    TEST_OK(dcsr_matrix_insert(f->A, SIDE, place, place, value, NULL));
    TEST_OK(dcsr_matrix_wait(f->A));
    TEST_OK(dcsr_matrix_wait(f->C));
    dcsr_view_destroy(f->a);
    f->a = test_view(f->A, DCSR_LAYOUT_SEGMENTS, 0);
    free(place);
    free(value);
}

Test(operator_calls, are_refused_on_every_thread_of_the_operation)
{
    fixture f = set_up_with_a_short_queue();
    caller c = {.helpers_only = true};
    become_large(&f);
    run(&f, &c, wait_in_all_ways);
    tear_down(&f);
}

/* An operation that ends when another one is in its output's queue. */
typedef struct occupant {
    pthread_t thread;
    dcsr_matrix *M;
    dcsr_view *a;
    atomic_bool begun;
} occupant;

static bool wait_for_another(void *z, const void *x, void *user)
{
    occupant *o = user;
    uint64_t queued = atomic_load(&o->M->queue.queued);
    if (!atomic_exchange(&o->begun, true))
        while (atomic_load(&o->M->queue.queued) == queued) sched_yield();
    *(double *)z = *(const double *)x;
    return true;
}

static void *work_of_occupant(void *argument)
{
    occupant *o = argument;
    dcsr_unary_op *op;
    TEST_OK(dcsr_unary_op_create(&op, "occupant", DCSR_FP64, DCSR_FP64, wait_for_another, o));
    TEST_OK(dcsr_matrix_apply(o->M, NULL, NULL, op, o->a, NULL));
    dcsr_unary_op_destroy(op);
    return NULL;
}

/* The next operation into M is the worker's. */
static void occupy(occupant *o, dcsr_matrix *M, dcsr_view *a)
{
    o->M = M;
    o->a = a;
    atomic_init(&o->begun, false);
    cr_assert(!pthread_create(&o->thread, NULL, work_of_occupant, o));
    while (!atomic_load(&o->begun)) sched_yield();
}

Test(operator_calls, are_refused_on_the_worker)
{
    for (int large = 0; large < 2; large++) {
        fixture f = set_up_with_a_short_queue();
        caller c = {.helpers_only = large};
        occupant other;
        if (large) become_large(&f);
        occupy(&other, f.C, f.a);
        run(&f, &c, wait_in_all_ways);
        pthread_join(other.thread, NULL);
        tear_down(&f);
    }
}

static void get_from_output(caller *c)
{
    bool stored;
    REFUSED(c, "dcsr_matrix_get: ", dcsr_matrix_get(c->C, 0, 0, NULL, &stored));
}

Test(operator_calls, are_refused_in_every_operation)
{
    fixture f = set_up(DCSR_FP64);
    caller c = {.calls = get_from_output};
    dcsr_binary_op *plus_op;
    dcsr_index_op *index;
    dcsr_monoid *monoid;
    dcsr_semiring *semiring;
    dcsr_vector *u;
    dcsr_matrix *square = test_matrix(f.context, DCSR_FP64, 3, 3, DCSR_POLICY_LAST),
                *outer = test_matrix(f.context, DCSR_FP64, 9, 16, DCSR_POLICY_LAST);
    const double zero = 0, one = 1;
    const dcsr_desc copied = {.transpose_a = true}, by_transpose = {.transpose_b = true};
    TEST_OK(dcsr_binary_op_create(&plus_op, "caller", DCSR_FP64, DCSR_FP64, DCSR_FP64, binary, &c));
    TEST_OK(dcsr_index_op_create(&index, "caller", DCSR_BOOL, DCSR_FP64, DCSR_FP64, by_index, &c));
    TEST_OK(dcsr_monoid_create(&monoid, plus_op, &zero, NULL));
    TEST_OK(dcsr_semiring_create(&semiring, monoid, plus_op));
    TEST_OK(dcsr_vector_create(&u, f.context, DCSR_FP64, 4));
    TEST_OK(dcsr_vector_fill(u, &one));
    dcsr_unary_op *op = operator_of(&c);
#define MAKES_CALLS(output, operation)                                                      \
    do {                                                                                    \
        c.C = output;                                                                       \
        atomic_store(&c.made, false);                                                       \
        TEST_OK(operation);                                                                 \
        cr_assert(atomic_load(&c.made) && !c.wrong[0], "%s, from %s", c.wrong, #operation); \
    } while (0)
    MAKES_CALLS(f.C, dcsr_matrix_apply(f.C, NULL, NULL, op, f.a, NULL));
    MAKES_CALLS(f.C, dcsr_matrix_apply_first(f.C, NULL, NULL, plus_op, &one, f.a, NULL));
    MAKES_CALLS(f.C, dcsr_matrix_apply_second(f.C, NULL, NULL, plus_op, f.a, &one, NULL));
    MAKES_CALLS(f.C, dcsr_matrix_select(f.C, NULL, NULL, index, f.a, &zero, NULL));
    MAKES_CALLS(f.C, dcsr_matrix_ewise_add(f.C, NULL, NULL, plus_op, f.a, f.a, NULL));
    MAKES_CALLS(f.C, dcsr_matrix_ewise_mult(f.C, NULL, NULL, plus_op, f.a, f.a, NULL));
    MAKES_CALLS(f.C, dcsr_matrix_transpose(f.C, NULL, plus_op, f.a, &copied));
    MAKES_CALLS(f.C, dcsr_matrix_extract(f.C, NULL, plus_op, f.a, NULL, NULL, NULL));
    MAKES_CALLS(f.C, dcsr_matrix_assign(f.C, NULL, plus_op, f.a, NULL, NULL, NULL));
    MAKES_CALLS(f.C, dcsr_matrix_assign_row(f.C, NULL, plus_op, u, 0, NULL));
    MAKES_CALLS(f.C, dcsr_matrix_assign_scalar(f.C, NULL, plus_op, &one, DCSR_FP64, NULL, NULL, NULL));
    MAKES_CALLS(square, dcsr_mxm(square, NULL, NULL, semiring, f.a, f.a, &by_transpose));
    MAKES_CALLS(outer, dcsr_kronecker(outer, NULL, NULL, plus_op, f.a, f.a, NULL));
#undef MAKES_CALLS
    dcsr_unary_op_destroy(op);
    dcsr_vector_destroy(u);
    dcsr_semiring_destroy(semiring);
    dcsr_monoid_destroy(monoid);
    dcsr_index_op_destroy(index);
    dcsr_binary_op_destroy(plus_op);
    dcsr_matrix_destroy(square);
    dcsr_matrix_destroy(outer);
    tear_down(&f);
}

static void close_store(caller *c)
{
    get_from_output(c);
    dcsr_store_close(c->store);
    expect(c, "closing the store", DCSR_OK, DCSR_OK, "dcsr_store_close: an operator");
}

Test(operator_calls, on_the_store_of_a_durable_output_are_refused)
{
    fixture f = set_up(DCSR_FP64);
    caller c = {0};
    char *folder = store_new_folder();
    dcsr_recovery report;
    dcsr_matrix_destroy(f.C);
    TEST_OK(dcsr_store_open(&c.store, folder, NULL));
    TEST_OK(dcsr_store_open_matrix(&f.C, f.context, c.store, "C",
                                   &(dcsr_durable_options){.type = DCSR_FP64, .rows = 3, .cols = 4},
                                   &report));
    run(&f, &c, close_store);
    dcsr_matrix_destroy(f.C);
    TEST_OK(dcsr_store_open_matrix(&f.C, f.context, c.store, "C",
                                   &(dcsr_durable_options){.type = DCSR_FP64, .rows = 3, .cols = 4},
                                   &report));
    TEST_SHOWS(f.C, {0, 0, 1}, {0, 2, 2}, {2, 0, 3}, {2, 1, 4}, {2, 3, 5});
    dcsr_matrix_destroy(f.C);
    f.C = NULL;
    dcsr_store_close(c.store);
    store_remove_folder(folder);
    tear_down(&f);
}

/* None of these waits. */
static void look_and_queue(caller *c)
{
    uint64_t nnz = 0, row = 2, col = 2;
    double value = 7;
    bool done = false;
    dcsr_view *view;
    dcsr_matrix_info info;
    ALLOWED(c, dcsr_view_create(&view, c->C, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED));
    ALLOWED(c, dcsr_view_get_many(view, 1, &row, &col, &value, &done));
    expect(c, "what the view shows", done && value == 9 ? DCSR_OK : DCSR_ERROR_NOT_FOUND, DCSR_OK, "");
    dcsr_view_destroy(view);
    ALLOWED(c, dcsr_matrix_get_info(c->C, &info));
    ALLOWED(c, dcsr_matrix_get_nnz(c->C, &nnz));
    expect(c, "the entries", nnz == 3 ? DCSR_OK : DCSR_ERROR_NOT_FOUND, DCSR_OK, "");
    row = col = 1;
    ALLOWED(c, dcsr_matrix_insert(c->C, 1, &row, &col, &value, &c->ticket));
    ALLOWED(c, dcsr_ticket_poll(c->ticket, &done));
    expect(c, "the ticket", done ? DCSR_ERROR_NOT_FOUND : DCSR_OK, DCSR_OK, "");
    row = col = 0;
    ALLOWED(c, dcsr_matrix_remove(c->C, 1, &row, &col, NULL));
    ALLOWED(c, dcsr_matrix_defragment(c->C, DCSR_DEFRAGMENT_WHOLE, NULL));
    ALLOWED(c, dcsr_matrix_resize(c->C, 4, 4, NULL));
}

Test(operator_calls, that_do_not_wait_for_the_output_are_made)
{
    fixture f = set_up(DCSR_FP64);
    caller c = {0};
    run(&f, &c, look_and_queue);
    TEST_OK(dcsr_ticket_wait(c.ticket));
    dcsr_ticket_destroy(c.ticket);
    TEST_OK(dcsr_matrix_wait(f.C));
    TEST_SHOWS(f.C, {0, 2, 2}, {1, 1, 9}, {2, 0, 3}, {2, 1, 4}, {2, 3, 5});
    cr_assert_eq(test_info(f.C).rows, 4);
    tear_down(&f);
}

/* ---- On other matrices ---- */

static void use_another(caller *c)
{
    uint64_t row = 1, col = 1;
    double value = 7;
    bool stored;
    dcsr_ticket *ticket;
    dcsr_matrix *made;
    const dcsr_unary_op *abs = dcsr_unary_op_of(DCSR_UNARY_ABS, DCSR_FP64);
    ALLOWED(c, dcsr_matrix_insert(c->D, 1, &row, &col, &value, &ticket));
    ALLOWED(c, dcsr_ticket_wait(ticket));
    dcsr_ticket_destroy(ticket);
    ALLOWED(c, dcsr_matrix_get(c->D, 1, 1, &value, &stored));
    ALLOWED(c, dcsr_matrix_wait(c->D));
    ALLOWED(c, dcsr_matrix_apply(c->D, NULL, plus(), abs, c->a, NULL));
    ALLOWED(c, dcsr_matrix_create(&made, c->D->context, DCSR_FP64, 3, 4, NULL));
    ALLOWED(c, dcsr_matrix_add(made, c->a, NULL));
    dcsr_matrix_destroy(made);
}

Test(operator_calls, on_another_matrix_are_made)
{
    fixture f = set_up(DCSR_FP64);
    caller c = {.D = new_matrix(&f, NULL)};
    run(&f, &c, use_another);
    TEST_SHOWS(c.D, {0, 0, 1}, {0, 2, 2}, {1, 1, 7}, {2, 0, 3}, {2, 1, 4}, {2, 3, 5});
    dcsr_matrix_destroy(c.D);
    tear_down(&f);
}

/* An operation into D, whose operator asks for what the outer operation writes. */
static void operate_on_another(caller *c)
{
    caller inner = {.C = c->C, .a = c->a, .calls = get_from_output};
    occupant other;
    if (c->helpers_only) occupy(&other, c->D, c->a);
    dcsr_unary_op *op = operator_of(&inner);
    ALLOWED(c, dcsr_matrix_apply(c->D, NULL, NULL, op, c->a, NULL));
    dcsr_unary_op_destroy(op);
    if (c->helpers_only) pthread_join(other.thread, NULL);
    if (!c->wrong[0]) memcpy(c->wrong, inner.wrong, sizeof c->wrong);
}

Test(operator_calls, on_the_output_are_refused_in_operations_within_operations)
{
    for (int by_worker = 0; by_worker < 2; by_worker++) {
        fixture f = set_up(DCSR_FP64);
        caller c = {.D = new_matrix(&f, NULL), .helpers_only = by_worker};
        if (by_worker) become_large(&f);
        TEST_OK(dcsr_matrix_resize(c.D, by_worker ? 65536 : 3, by_worker ? 65536 : 4, NULL));
        TEST_OK(dcsr_matrix_wait(c.D));
        run(&f, &c, operate_on_another);
        dcsr_matrix_destroy(c.D);
        tear_down(&f);
    }
}

/* ---- On each other's outputs ---- */

enum { MOST = 3 };

/* Operations in threads of their own, each of whose operators asks for the next one's output, once all of
 * them have their turns. */
typedef struct ring {
    int n;
    bool closed; /* the last asks for the first */
    bool write;  /* into the output, instead of reading it */
    atomic_int in_turn, answered, refused;
    dcsr_matrix *output[MOST];
    dcsr_view *a;
} ring;

typedef struct member {
    ring *r;
    int number;
    pthread_t thread;
    atomic_bool asked;
} member;

static dcsr_status ask(const ring *r, dcsr_matrix *next)
{
    bool stored;
    if (!r->write) return dcsr_matrix_get(next, 0, 0, NULL, &stored);
    return dcsr_matrix_apply(next, NULL, NULL, dcsr_unary_op_of(DCSR_UNARY_ABS, DCSR_FP64), r->a, NULL);
}

static bool ask_the_next(void *z, const void *x, void *user)
{
    member *m = user;
    ring *r = m->r;
    *(double *)z = *(const double *)x;
    if (atomic_exchange(&m->asked, true)) return true;
    atomic_fetch_add(&r->in_turn, 1);
    while (atomic_load(&r->in_turn) < r->n) sched_yield();
    if (m->number == r->n - 1 && !r->closed) return true;
    dcsr_status status = ask(r, r->output[(m->number + 1) % r->n]);
    if (status == DCSR_OK) atomic_fetch_add(&r->answered, 1);
    if (status == DCSR_ERROR_DEADLOCK && test_says("waits for the operation that this one belongs to"))
        atomic_fetch_add(&r->refused, 1);
    return true;
}

static void *work_of_member(void *argument)
{
    member *m = argument;
    dcsr_unary_op *op;
    TEST_OK(dcsr_unary_op_create(&op, "member", DCSR_FP64, DCSR_FP64, ask_the_next, m));
    TEST_OK(dcsr_matrix_apply(m->r->output[m->number], NULL, NULL, op, m->r->a, NULL));
    dcsr_unary_op_destroy(op);
    return NULL;
}

static void go_round(int n, bool closed, bool write)
{
    fixture f = set_up(DCSR_FP64);
    ring r = {.n = n, .closed = closed, .write = write, .a = f.a};
    member m[MOST];
    for (int i = 0; i < n; i++) r.output[i] = new_matrix(&f, NULL);
    for (int i = 0; i < n; i++) {
        m[i] = (member){.r = &r, .number = i};
        cr_assert(!pthread_create(&m[i].thread, NULL, work_of_member, &m[i]));
    }
    for (int i = 0; i < n; i++) pthread_join(m[i].thread, NULL);
    cr_assert(r.answered == n - 1 && r.refused == closed, "%d operators: %d answered, %d refused", n,
              r.answered, r.refused);
    for (int i = 0; i < n; i++) {
        TEST_SHOWS(r.output[i], {0, 0, 1}, {0, 2, 2}, {2, 0, 3}, {2, 1, 4}, {2, 3, 5});
        dcsr_matrix_destroy(r.output[i]);
    }
    tear_down(&f);
}

/* The one that would close the ring is refused; all others are answered when its operation has ended. */
Test(operator_calls, of_two_on_each_others_outputs_end)
{
    for (int round = 0; round < TEST_SIZE(50, 20, 10); round++) go_round(2, true, round % 2);
}

Test(operator_calls, of_three_in_a_ring_end)
{
    for (int round = 0; round < TEST_SIZE(50, 20, 10); round++) go_round(3, true, round % 2);
}

Test(operator_calls, of_three_in_a_row_are_answered)
{
    for (int round = 0; round < TEST_SIZE(50, 20, 10); round++) go_round(3, false, round % 2);
}

/* ---- Batches that wait meanwhile ---- */

enum { WAITING = 20, WAITING_ENTRIES = 50000 };

/* Batch b gives the first rows one value more than the batch before. */
static void insert_large_batches(caller *c)
{
    uint64_t *rows = test_allocate(WAITING_ENTRIES, sizeof *rows),
             *cols = test_allocate(WAITING_ENTRIES, sizeof *cols);
    double *values = test_allocate(WAITING_ENTRIES, sizeof *values);
    for (int b = 0; b < WAITING; b++) {
        for (uint64_t i = 0; i < WAITING_ENTRIES; i++) {
            rows[i] = WAITING_ENTRIES - 1 - i;
            cols[i] = i % 3;
            values[i] = (double)b + (double)i;
        }
        ALLOWED(c, dcsr_matrix_insert(c->C, WAITING_ENTRIES, rows, cols, values, NULL));
    }
    free(rows);
    free(cols);
    free(values);
}

Test(operator_calls, large_batches_that_wait_are_joined)
{
    fixture f = set_up(DCSR_FP64);
    caller c = {0};
    TEST_OK(dcsr_matrix_resize(f.C, WAITING_ENTRIES, 4, NULL));
    TEST_OK(dcsr_matrix_resize(f.A, WAITING_ENTRIES, 4, NULL));
    TEST_OK(dcsr_matrix_wait(f.A));
    TEST_OK(dcsr_matrix_wait(f.C));
    dcsr_view_destroy(f.a);
    f.a = test_view(f.A, DCSR_LAYOUT_SEGMENTS, 0);
    const dcsr_matrix_info before = test_info(f.C);
    run(&f, &c, insert_large_batches);
    TEST_OK(dcsr_matrix_wait(f.C));
    const dcsr_matrix_info info = test_info(f.C);
    cr_assert(info.inserted - before.inserted == (uint64_t)WAITING * WAITING_ENTRIES);
    cr_assert(info.version - before.version == 2, "the operation, and all batches together: %lu versions",
              (unsigned long)(info.version - before.version));
    for (uint64_t i = 0; i < WAITING_ENTRIES; i += 997) {
        double value;
        bool stored;
        TEST_OK(dcsr_matrix_get(f.C, WAITING_ENTRIES - 1 - i, i % 3, &value, &stored));
        cr_assert(stored && value == (double)(WAITING - 1) + (double)i);
    }
    tear_down(&f);
}
