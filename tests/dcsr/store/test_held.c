/* test_held.c: versions that are held while batches change the matrix: each shows what it showed at first, whatever is
 * changed in place beside it, and what differs between two of them is told.
 *
 * A sequence draws a type, a policy and options. At random, versions are taken hold of, for some batches or for many;
 * mostly the current one is not held, so that batches change what no held version sees where it is. After each batch
 * every held version, and the current one, is compared with an oracle of its own. DCSR_TEST_SEED=n replays a sequence.
 */
#include "tests/support/support_diff.h"

#include <inttypes.h>
#include <stdlib.h>

/* Some pages of rows, on the cpu and in the emulator. */
enum { ROWS = 260, COLS = 300, MOST = 2500, HELD = 4, LONG = 30 };

typedef struct held {
    dcsr_view *view;  /* NULL: it is free */
    unsigned batches; /* for so many more */
    oracle model;
} held;

typedef struct sequence {
    uint64_t seed;
    unsigned step;
    test_random random;
    dcsr_context *context;
    dcsr_matrix *matrix;
    oracle now;
    held held[HELD];
    uint64_t rows[MOST], cols[MOST], values[MOST];
} sequence;

static uint64_t below(sequence *s, uint64_t n)
{
    return test_random_below(&s->random, n);
}

/* ---- Batches ---- */

static size_t random_length(sequence *s)
{
    const uint64_t dice = below(s, 100);
    if (dice < 15) return 1;
    if (dice < 45) return 1 + below(s, 60);
    return 1 + below(s, dice < 90 ? 600 : MOST);
}

/* Places anywhere, with a long row; mostly such as are stored, if they are to exist. */
static void random_places(sequence *s, size_t n, bool existing)
{
    const uint64_t from = below(s, ROWS), few = 1 + below(s, ROWS - from), hub = below(s, 3);
    for (size_t i = 0; i < n; i++) {
        s->rows[i] = below(s, 6) ? from + below(s, few) : hub;
        s->cols[i] = below(s, COLS);
        const oracle_row *row = &s->now.row[s->rows[i]];
        if (existing && row->length && below(s, 12)) s->cols[i] = row->entry[below(s, row->length)].column;
    }
}

static void random_values(sequence *s, size_t n)
{
    const dcsr_type type = s->now.type;
    for (size_t i = 0; i < n && dcsr_type_size(type); i++)
        test_encode(type, (double)below(s, type == DCSR_BOOL ? 2 : 40),
                    (char *)s->values + i * dcsr_type_size(type));
}

static void change(sequence *s)
{
    const size_t n = random_length(s);
    const uint64_t kind = below(s, 5); /* new, existing, deleted */
    dcsr_ticket *ticket;
    random_places(s, n, kind > 1);
    random_values(s, n);
    const void *values = s->now.type == DCSR_PATTERN ? NULL : s->values;
    if (kind < 3) {
        TEST_STEP_OK(s, dcsr_matrix_insert(s->matrix, n, s->rows, s->cols, values, &ticket));
        oracle_insert(&s->now, n, s->rows, s->cols, values);
    } else {
        TEST_STEP_OK(s, dcsr_matrix_remove(s->matrix, n, s->rows, s->cols, &ticket));
        oracle_remove(&s->now, n, s->rows, s->cols);
    }
    TEST_STEP_OK(s, dcsr_ticket_wait(ticket));
    dcsr_ticket_destroy(ticket);
}

/* One entry, by calls that do so at once. */
static void change_one(sequence *s)
{
    bool was_there;
    uint64_t value;
    random_places(s, 1, below(s, 2));
    random_values(s, 1);
    if (below(s, 2)) {
        const void *values = s->now.type == DCSR_PATTERN ? NULL : s->values;
        TEST_STEP_OK(s, dcsr_matrix_set(s->matrix, s->rows[0], s->cols[0], values));
        oracle_remove(&s->now, 1, s->rows, s->cols);
        oracle_insert(&s->now, 1, s->rows, s->cols, values);
    } else {
        const bool there = oracle_get(&s->now, s->rows[0], s->cols[0], &value);
        TEST_STEP_OK(s, dcsr_matrix_remove_one(s->matrix, s->rows[0], s->cols[0], &was_there));
        TEST_STEP(s, was_there == there, "removed: %d", was_there);
        oracle_remove(&s->now, 1, s->rows, s->cols);
    }
}

/* What all pages go through at once: they move, some are cut off and come again. */
static void change_all(sequence *s)
{
    if (below(s, 2)) {
        TEST_STEP_OK(s, dcsr_matrix_defragment(s->matrix, (dcsr_defragment_scope)below(s, 2), NULL));
    } else {
        const uint64_t rows = ROWS - below(s, 90);
        TEST_STEP_OK(s, dcsr_matrix_resize(s->matrix, rows, COLS, NULL));
        TEST_STEP_OK(s, dcsr_matrix_resize(s->matrix, ROWS, COLS, NULL));
        oracle_resize(&s->now, rows, COLS);
        oracle_resize(&s->now, ROWS, COLS);
    }
    TEST_STEP_OK(s, dcsr_matrix_wait(s->matrix));
}

/* ---- Versions ---- */

static void compare(sequence *s, const held *h)
{
    char why[TEST_WHY];
    TEST_STEP(s, test_view_matches(h->view, &h->model, 0, why), "%s: %s", h->batches ? "held" : "now", why);
}

static void hold(sequence *s)
{
    held *h = &s->held[below(s, HELD)];
    if (h->view) return;
    h->batches = 1 + (unsigned)below(s, below(s, 3) ? 4 : LONG);
    TEST_STEP_OK(s, dcsr_view_create(&h->view, s->matrix, DCSR_LAYOUT_SEGMENTS, 0));
    oracle_copy(&h->model, &s->now);
}

static void let_go(held *h)
{
    dcsr_view_destroy(h->view);
    oracle_destroy(&h->model);
    h->view = NULL;
}

/* The current version, as a reader sees it who is done before the next batch; what differs to those that are held. */
static void look(sequence *s)
{
    held now = {.model = s->now};
    TEST_STEP_OK(s, dcsr_view_create(&now.view, s->matrix, DCSR_LAYOUT_SEGMENTS, 0));
    compare(s, &now);
    for (held *h = s->held; h < s->held + HELD; h++) {
        if (!h->view) continue;
        compare(s, h);
        dcsr_diff *diff = diff_of(h->view, now.view);
        TEST_STEP(s, test_diff_agrees(diff, &h->model, &s->now), "what differs to version %" PRIu64,
                  test_view_info(h->view).version);
        dcsr_diff_destroy(diff);
    }
    dcsr_view_destroy(now.view);
}

/* ---- Sequences ---- */

static void step(sequence *s)
{
    const uint64_t dice = below(s, 40);
    if (dice < 34)
        change(s);
    else if (dice < 38)
        change_one(s);
    else
        change_all(s);
    look(s);
    for (held *h = s->held; h < s->held + HELD; h++)
        if (h->view && !--h->batches) let_go(h);
    if (!below(s, 5)) hold(s);
}

static void run(sequence *s, uint64_t seed)
{
    static const double slacks[] = {0, DCSR_SLACK_NONE, 0.1, 1};
    *s = (sequence){.seed = seed, .random = {seed}};
    test_seed_begins(seed);
    dcsr_matrix_options options = {0};
    options.policy = (dcsr_policy)(DCSR_POLICY_SUM + below(s, DCSR_POLICY_COUNT - DCSR_POLICY_SUM));
    const dcsr_type type = below(s, 3) ? (dcsr_type)below(s, DCSR_TYPE_COUNT) : DCSR_PATTERN;
    options.resolve = below(s, 6) ? DCSR_RESOLVE_ON_INSERT : DCSR_RESOLVE_AUTO;
    options.defragmentation = (dcsr_defragmentation)below(s, 2);
    options.slack = slacks[below(s, 4)];
    s->context = test_context(1 + (int)below(s, 2));
    TEST_STEP_OK(s, dcsr_matrix_create(&s->matrix, s->context, type, ROWS, COLS, &options));
    oracle_create(&s->now, type, options.policy, ROWS, COLS);
    const unsigned steps = 20 + (unsigned)below(s, 60);
    for (s->step = 1; s->step <= steps; s->step++) step(s);
    if (below(s, 2)) dcsr_matrix_destroy(s->matrix), s->matrix = NULL;
    for (held *h = s->held; h < s->held + HELD; h++) {
        if (!h->view) continue;
        compare(s, h);
        let_go(h);
    }
    dcsr_matrix_destroy(s->matrix);
    oracle_destroy(&s->now);
    test_close(s->context);
}

Test(held, versions_stay_as_they_are)
{
    test_seeds seeds = test_seeds_from_environment(TEST_SIZE(300, 60, 40));
    static sequence s;
    for (uint64_t i = 0; i < seeds.rounds; i++) run(&s, seeds.first + i);
}
