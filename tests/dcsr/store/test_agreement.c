/* test_agreement.c: changes that are applied only where somebody else agrees. */
#include "tests/support/support_transposed.h"

#include "dcsr/base/alloc.h"
#include "dcsr/store/agreement.h"
#include <inttypes.h>
#include <pthread.h>

/* Batches of more than 512 entries go to the emulated device at once. */
enum { ROWS = 150, COLS = 130, BATCH = 700, HELD = 3 };

/* What an agreement is told, and what it answers. */
typedef struct answer {
    bool yes;
    int asked;
    bool ready;
} answer;

static bool give_answer(void *user, bool ready)
{
    answer *a = user;
    a->asked++;
    a->ready = ready;
    return a->yes;
}

/* A batch with an agreement that will give this answer. */
static dcsr_status change(dcsr_matrix *matrix, dcsr_i_entries e, answer *a, dcsr_ticket **ticket)
{
    const dcsr_i_agreement agreement = {give_answer, a};
    e.call = "test";
    e.agreement = &agreement;
    return dcsr_i_matrix_change(matrix, &e, ticket);
}

static dcsr_status end(dcsr_ticket *ticket)
{
    dcsr_status status = dcsr_ticket_wait(ticket);
    dcsr_ticket_destroy(ticket);
    return status;
}

/* ---- Random histories ---- */

typedef struct kept {
    dcsr_view *view;
    unsigned flags;
    oracle model;
} kept;

static void let_go(kept *h)
{
    if (!h->view) return;
    char why[TEST_WHY];
    cr_assert(test_view_matches(h->view, &h->model, h->flags, why), "%s", why);
    dcsr_view_destroy(h->view);
    oracle_destroy(&h->model);
    h->view = NULL;
}

static void hold(kept *h, dcsr_matrix *matrix, const oracle *model, unsigned flags)
{
    let_go(h);
    h->flags = flags;
    h->view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, flags);
    oracle_copy(&h->model, model);
}

/* Few or many entries, new ones and those that are stored. */
static dcsr_i_entries draw(test_random *random, const oracle *model, uint64_t *rows, uint64_t *cols,
                           char *values)
{
    const size_t size = dcsr_type_size(model->type);
    const uint64_t n = test_random_below(random, test_random_below(random, 3) ? 30 : BATCH);
    for (uint64_t i = 0; i < n; i++) {
        rows[i] = test_random_below(random, ROWS);
        cols[i] = test_random_below(random, COLS);
        const oracle_row *row = &model->row[rows[i]];
        if (row->length && test_random_below(random, 3) == 0)
            cols[i] = row->entry[test_random_below(random, row->length)].column;
        if (size) test_encode(model->type, (double)test_random_below(random, 50), values + i * size);
    }
    const bool inserts = test_random_below(random, 3) != 0;
    return (dcsr_i_entries){.kind = inserts ? DCSR_I_INSERT : DCSR_I_REMOVE,
                            .n = n,
                            .rows = rows,
                            .cols = cols,
                            .values = inserts && size ? values : NULL};
}

static void follow(oracle *model, const dcsr_i_entries *e)
{
    if (e->kind == DCSR_I_INSERT)
        oracle_insert(model, e->n, e->rows, e->cols, e->values);
    else
        oracle_remove(model, e->n, e->rows, e->cols);
}

/* Changes that are agreed to, refused, or need no agreement. */
static void run(uint64_t seed)
{
    test_random random = {seed};
    static const dcsr_type types[] = {DCSR_PATTERN, DCSR_FP64, DCSR_INT32};
    const dcsr_type type = types[test_random_below(&random, 3)];
    const dcsr_policy policy = type == DCSR_PATTERN
                                   ? DCSR_POLICY_ANY
                                   : (dcsr_policy)(DCSR_POLICY_KEEP + test_random_below(&random, 5));
    const dcsr_matrix_options options = {.policy = policy,
                                         .segments = 2 + (int)test_random_below(&random, 3),
                                         .resolve = (dcsr_resolution)test_random_below(&random, 3),
                                         .defragmentation =
                                             (dcsr_defragmentation)test_random_below(&random, 2),
                                         .maintain_transpose = test_random_below(&random, 2)};
    dcsr_context *context = test_context(1 + (int)test_random_below(&random, 2));
    dcsr_matrix *matrix;
    TEST_OK(dcsr_matrix_create(&matrix, context, type, ROWS, COLS, &options));
    oracle model;
    oracle_create(&model, type, policy, ROWS, COLS);
    kept held[HELD] = {{0}};
    static uint64_t rows[BATCH], cols[BATCH];
    static char values[BATCH * 8];
    for (int step = 0; step < 24; step++) {
        const dcsr_i_entries e = draw(&random, &model, rows, cols, values);
        answer a = {.yes = test_random_below(&random, 2)};
        dcsr_ticket *ticket;
        TEST_OK(change(matrix, e, &a, &ticket));
        dcsr_status status = end(ticket);
        cr_assert(a.asked == 1 && a.ready, "seed %" PRIu64 ", step %d: asked %d times", seed, step, a.asked);
        TEST_STATUS(a.yes ? DCSR_OK : DCSR_ERROR_CANCELLED, status);
        if (a.yes) follow(&model, &e);
        if (test_random_below(&random, 4) == 0) TEST_MATCHES(matrix, &model);
        if (test_random_below(&random, 4) == 0)
            hold(&held[test_random_below(&random, HELD)], matrix, &model,
                 (unsigned)test_random_below(&random, 4));
    }
    TEST_MATCHES(matrix, &model);
    if (options.maintain_transpose) TEST_TRANSPOSES(matrix, &model);
    for (int h = 0; h < HELD; h++) let_go(&held[h]);
    oracle_destroy(&model);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(agreement, decides_whether_a_change_is_applied)
{
    test_seeds seeds = test_seeds_from_environment((uint64_t)TEST_SIZE(60, 12, 12));
    for (uint64_t i = 0; i < seeds.rounds; i++) {
        test_seed_begins(seeds.first + i);
        run(seeds.first + i);
    }
}

/* ---- Without memory ---- */

static const uint64_t places[2][6] = {{0, 5, 5, 70, 99, 2}, {1, 64, 3, 3, 90, 2}};
static const double numbers[] = {1, 2, 3, 4, 5, 6};

/* One change while every allocation from the n-th on fails. Returns whether it was too late to fail. */
static bool try_without_memory(dcsr_context *context, bool inserts, bool yes, dcsr_resolution resolve, long n)
{
    const dcsr_matrix_options options = {.policy = DCSR_POLICY_SUM, .segments = 2, .resolve = resolve};
    dcsr_matrix *matrix;
    TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_FP64, ROWS, COLS, &options));
    oracle model;
    oracle_create(&model, DCSR_FP64, DCSR_POLICY_SUM, ROWS, COLS);
    for (int i = 0; i < 3; i++) {
        TEST_OK(dcsr_matrix_insert(matrix, 6 - (uint64_t)i, places[0], places[1], numbers, NULL));
        oracle_insert(&model, 6 - (uint64_t)i, places[0], places[1], numbers);
    }
    TEST_OK(dcsr_matrix_wait(matrix));
    const dcsr_i_entries e = {.kind = inserts ? DCSR_I_INSERT : DCSR_I_REMOVE,
                              .n = 4,
                              .rows = places[0] + 1,
                              .cols = places[1] + 1,
                              .values = inserts ? numbers : NULL};
    answer a = {.yes = yes};
    dcsr_ticket *ticket = NULL;
    const uint64_t begin = dcsr_i_allocations();
    dcsr_i_fail_allocations_after(n);
    dcsr_status status = change(matrix, e, &a, &ticket);
    const bool queued = status == DCSR_OK;
    if (queued) status = end(ticket);
    dcsr_i_fail_allocations_after(-1);
    const bool enough = dcsr_i_allocations() - begin <= (uint64_t)n;
    cr_assert(a.asked == queued, "asked %d times at allocation %ld", a.asked, n);
    cr_assert(!queued || a.ready == (status != DCSR_ERROR_OUT_OF_MEMORY));
    cr_assert(status == (!a.ready ? DCSR_ERROR_OUT_OF_MEMORY
                         : yes    ? DCSR_OK
                                  : DCSR_ERROR_CANCELLED),
              "%s", dcsr_thread_error());
    if (status == DCSR_OK) follow(&model, &e);
    TEST_MATCHES(matrix, &model);
    TEST_OK(dcsr_matrix_insert(matrix, 6, places[0], places[1], numbers, NULL));
    oracle_insert(&model, 6, places[0], places[1], numbers);
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_MATCHES(matrix, &model);
    dcsr_matrix_destroy(matrix);
    oracle_destroy(&model);
    return enough;
}

Test(agreement, is_told_once_of_a_failure)
{
    dcsr_context *context = test_context(1);
    for (int ways = 0; ways < 8; ways++) {
        const dcsr_resolution resolve = ways & 4 ? DCSR_RESOLVE_ON_INSERT : DCSR_RESOLVE_ON_READ;
        long n = 0, step = test_on_emulator() ? 3 : 1;
        while (!try_without_memory(context, ways & 1, ways & 2, resolve, n)) n += step;
        cr_assert(n > 2, "only %ld allocations", n);
    }
    test_close(context);
}

/* ---- Beside others ---- */

/* The matrix is destroyed while the first change is being agreed to, and the second waits. */
typedef struct destruction {
    dcsr_matrix *matrix;
    atomic_bool asked, begins;
} destruction;

static bool agree_when_destroyed(void *user, bool ready)
{
    destruction *d = user;
    atomic_store(&d->asked, true);
    while (!atomic_load(&d->begins)) dcsr_i_pause();
    return ready;
}

static void *destroy(void *user)
{
    destruction *d = user;
    while (!atomic_load(&d->asked)) dcsr_i_pause();
    atomic_store(&d->begins, true);
    dcsr_matrix_destroy(d->matrix);
    return NULL;
}

Test(agreement, is_told_of_a_change_that_is_cancelled)
{
    dcsr_context *context = test_context(1);
    for (int i = 0; i < 20; i++) {
        destruction d = {.matrix = test_matrix(context, DCSR_FP64, ROWS, COLS, DCSR_POLICY_LAST)};
        const dcsr_i_agreement agreement = {agree_when_destroyed, &d};
        dcsr_i_entries e = {.call = "test",
                            .kind = DCSR_I_INSERT,
                            .n = 6,
                            .rows = places[0],
                            .cols = places[1],
                            .values = numbers,
                            .agreement = &agreement};
        answer a = {.yes = true};
        dcsr_ticket *first, *second;
        TEST_OK(dcsr_i_matrix_change(d.matrix, &e, &first));
        TEST_OK(change(d.matrix, e, &a, &second));
        pthread_t thread;
        cr_assert(!pthread_create(&thread, NULL, destroy, &d));
        pthread_join(thread, NULL);
        TEST_OK(end(first));
        /* The worker may have come to the second before. */
        TEST_STATUS(a.ready ? DCSR_OK : DCSR_ERROR_CANCELLED, end(second));
        cr_assert(a.asked == 1);
    }
    test_close(context);
}

/* They stay apart, while plain batches that wait are joined. */
Test(agreement, is_of_one_batch_alone)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, ROWS, COLS, DCSR_POLICY_SUM);
    enum { BATCHES = 30 };
    answer answers[BATCHES] = {{0}};
    dcsr_ticket *tickets[BATCHES];
    oracle model;
    oracle_create(&model, DCSR_FP64, DCSR_POLICY_SUM, ROWS, COLS);
    const dcsr_i_entries e = {
        .kind = DCSR_I_INSERT, .n = 6, .rows = places[0], .cols = places[1], .values = numbers};
    for (int i = 0; i < BATCHES; i++) {
        answers[i].yes = i % 3 == 1;
        if (i % 3)
            TEST_OK(change(matrix, e, &answers[i], &tickets[i]));
        else
            TEST_OK(dcsr_matrix_insert(matrix, e.n, e.rows, e.cols, e.values, &tickets[i]));
        if (i % 3 < 2) follow(&model, &e);
    }
    for (int i = 0; i < BATCHES; i++) {
        TEST_STATUS(i % 3 < 2 ? DCSR_OK : DCSR_ERROR_CANCELLED, end(tickets[i]));
        cr_assert(answers[i].asked == (i % 3 != 0));
    }
    TEST_MATCHES(matrix, &model);
    oracle_destroy(&model);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}
