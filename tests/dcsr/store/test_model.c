/* test_model.c: random sequences of changes, each view compared with an oracle of its own version.
 *
 * A sequence draws a type, a policy, a number of segments and dimensions, then inserts, removes, resizes,
 * defragments, waits, reads and takes views at random. Two oracles follow it: `now` has every change that was
 * queued, `base` those that the last wait made certain; the changes between them are kept in a log. A view
 * taken right after a wait must show `now`; one taken while changes are pending must show `base` and some
 * first part of the log, no less than an earlier view or a ticket has shown to be in. Each view is compared
 * again while it is held, and after its matrix is gone.
 *
 * A failure names its seed: DCSR_TEST_SEED=n replays that sequence, DCSR_TEST_ROUNDS=n runs n of them. */
#include "tests/support/support.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HELD = 6, LOG = 24, BATCH = 5000 };

typedef struct change {
    enum { INSERTION, REMOVAL, RESIZE, DEFRAGMENTATION } kind;
    size_t n;
    uint64_t *rows, *cols; /* of a resize: one element each, the new dimensions */
    void *values;
    dcsr_ticket *ticket;
} change;

typedef struct held {
    dcsr_view *view;
    unsigned flags;
    oracle model;
} held;

typedef struct sequence {
    uint64_t seed;
    unsigned step;
    test_random random;
    dcsr_context *context;
    dcsr_matrix *matrix;
    dcsr_policy policy;
    int segments;
    bool tall; /* about 100 000 rows */
    bool big;  /* batches that several threads work on */
    oracle now, base;
    change log[LOG];
    size_t changes; /* in the log */
    size_t certain; /* of those, known to be applied */
    uint64_t version;
    held held[HELD];
} sequence;

static uint64_t below(sequence *s, uint64_t n)
{
    return test_random_below(&s->random, n);
}

static uint64_t random_dimension(sequence *s, bool cols)
{
    static const uint64_t edges[] = {0, 1, 2, 31, 32, 63, 64, 65, 127, 128, 129, 1000};
    if (s->tall && !cols) return 32766 + below(s, 4) + 32768 * below(s, 4);
    if (cols && below(s, 12) == 0) return DCSR_MAX_COLS - below(s, 2);
    if (below(s, 3) == 0) return edges[below(s, sizeof edges / sizeof *edges)];
    return 1 + below(s, below(s, 2) ? 200 : 1500);
}

static size_t random_length(sequence *s)
{
    uint64_t dice = below(s, 100);
    if (s->big && dice >= 80) return 30000 + below(s, 100000);
    if (dice < 5) return 0;
    if (dice < 20) return 1;
    if (dice < 50) return 1 + below(s, 8);
    if (dice < 85) return 1 + below(s, 100);
    return 1 + below(s, dice < 98 ? 600 : BATCH);
}

static double random_double(sequence *s)
{
    double small = (double)below(s, 201) - 100;
    if (s->policy == DCSR_POLICY_SUM || below(s, 4)) return small;
    uint64_t odd = below(s, 4);
    if (odd < 2) return odd ? (double)INFINITY : -(double)INFINITY;
    return odd == 2 ? (double)NAN : -0.0;
}

static void random_values(sequence *s, size_t n, char *values)
{
    dcsr_type type = s->now.type;
    size_t size = dcsr_type_size(type);
    for (size_t i = 0; i < n && size; i++) {
        uint64_t bits = test_random_next(&s->random);
        if (type == DCSR_BOOL)
            test_encode(type, (double)(bits & 1), values + i);
        else if (type == DCSR_FP32 || type == DCSR_FP64)
            test_encode(type, random_double(s), values + i * size);
        else if (bits >> 63)
            memcpy(values + i * size, &bits, size);
        else
            test_encode(type, (double)(bits % 16), values + i * size);
    }
}

/* Fills in places after one of several patterns; the last one takes stored entries where it finds them. */
static void random_places(sequence *s, size_t n, uint64_t *rows, uint64_t *cols, bool existing)
{
    if (!n) return;
    uint64_t height = s->now.rows, width = s->now.cols, pattern = existing ? 4 : below(s, 5);
    uint64_t hub = below(s, height), few = 1 + below(s, 8);
    for (size_t i = 0; i < n; i++) {
        rows[i] = below(s, height);
        cols[i] = below(s, width);
        if (pattern == 1) rows[i] = below(s, below(s, rows[i] + 1) + 1), cols[i] = below(s, cols[i] + 1);
        if (pattern == 2 && below(s, 5)) rows[i] = hub;
        if (pattern == 3) cols[i] %= few;
        if (pattern < 4) continue;
        const oracle_row *row = &s->now.row[rows[i]];
        if (row->length && below(s, 8)) cols[i] = row->entry[below(s, row->length)].column;
    }
}

static void apply(oracle *model, const change *c)
{
    if (c->kind == INSERTION) oracle_insert(model, c->n, c->rows, c->cols, c->values);
    if (c->kind == REMOVAL) oracle_remove(model, c->n, c->rows, c->cols);
    if (c->kind == RESIZE) oracle_resize(model, c->rows[0], c->cols[0]);
}

/* Takes the log into `base`; every ticket must say that its change is in. */
static void certain(sequence *s)
{
    for (size_t i = 0; i < s->changes; i++) {
        change *c = &s->log[i];
        bool done = false;
        apply(&s->base, c);
        if (c->ticket) {
            TEST_STEP_OK(s, dcsr_ticket_poll(c->ticket, &done));
            TEST_STEP(s, done, "the ticket of change %zu is not done after a wait", i);
            TEST_STEP_OK(s, dcsr_ticket_wait(c->ticket));
            dcsr_ticket_destroy(c->ticket);
        }
        free(c->rows);
        free(c->cols);
        free(c->values);
    }
    s->changes = s->certain = 0;
}

static void check_info(sequence *s)
{
    uint64_t nnz = 0, wanted = oracle_nnz(&s->now);
    dcsr_matrix_info info;
    TEST_STEP_OK(s, dcsr_matrix_get_info(s->matrix, &info));
    TEST_STEP(s, info.type == s->now.type && info.policy == s->now.policy, "type or policy");
    TEST_STEP(s, info.rows == s->now.rows && info.cols == s->now.cols, "dimensions");
    TEST_STEP(s, info.stored >= wanted, "%" PRIu64 " stored of %" PRIu64, info.stored, wanted);
    TEST_STEP(s, info.arena_entries >= info.stored, "an arena of %" PRIu64 " entries", info.arena_entries);
    TEST_STEP(s, info.pending_bytes == 0, "%" PRIu64 " bytes pending after a wait", info.pending_bytes);
    TEST_STEP(s, info.max_segments <= (uint64_t)s->segments, "max_segments %" PRIu64, info.max_segments);
    TEST_STEP(s, info.version >= s->version, "version %" PRIu64 " after %" PRIu64, info.version, s->version);
    s->version = info.version;
    TEST_STEP_OK(s, dcsr_matrix_get_nnz(s->matrix, &nnz));
    TEST_STEP(s, nnz == wanted, "nnz %" PRIu64 ", not %" PRIu64, nnz, wanted);
}

static void wait_for_all(sequence *s)
{
    TEST_STEP_OK(s, dcsr_matrix_wait(s->matrix));
    certain(s);
    check_info(s);
}

/* Queues the change, from copies that are spoilt as soon as the call returns, and logs it. */
static void queue(sequence *s, change c)
{
    if (s->changes == LOG) wait_for_all(s);
    size_t size = dcsr_type_size(s->now.type), places = c.kind == RESIZE ? 1 : c.n;
    uint64_t *rows = test_copy(c.rows, places * sizeof *rows),
             *cols = test_copy(c.cols, places * sizeof *cols);
    void *values = test_copy(c.values, c.n * size);
    dcsr_ticket **ticket = below(s, 2) ? &c.ticket : NULL;
    if (c.kind == INSERTION)
        TEST_STEP_OK(s, dcsr_matrix_insert(s->matrix, c.n, rows, cols, size ? values : NULL, ticket));
    else if (c.kind == REMOVAL)
        TEST_STEP_OK(s, dcsr_matrix_remove(s->matrix, c.n, rows, cols, ticket));
    else if (c.kind == RESIZE)
        TEST_STEP_OK(s, dcsr_matrix_resize(s->matrix, rows[0], cols[0], ticket));
    else
        TEST_STEP_OK(s, dcsr_matrix_defragment(s->matrix, (dcsr_defragment_scope)below(s, 2), ticket));
    TEST_STEP(s, !ticket || c.ticket, "no ticket");
    memset(rows, 0xff, places * sizeof *rows);
    memset(cols, 0xff, places * sizeof *cols);
    memset(values, 0xff, c.n * size);
    free(rows);
    free(cols);
    free(values);
    apply(&s->now, &c);
    s->log[s->changes++] = c;
}

static void change_entries(sequence *s, bool insert)
{
    size_t n = s->now.rows && s->now.cols ? random_length(s) : 0;
    change c = {.kind = insert ? INSERTION : REMOVAL, .n = n};
    c.rows = test_allocate(n, sizeof *c.rows);
    c.cols = test_allocate(n, sizeof *c.cols);
    c.values = test_allocate(n, 8);
    if (n) random_places(s, n, c.rows, c.cols, !insert && below(s, 3));
    if (insert) random_values(s, n, c.values);
    queue(s, c);
}

static void resize(sequence *s)
{
    uint64_t rows = below(s, 3) ? random_dimension(s, false) : s->now.rows;
    uint64_t cols = below(s, 3) ? random_dimension(s, true) : s->now.cols;
    change c = {.kind = RESIZE, .rows = test_copy(&rows, sizeof rows), .cols = test_copy(&cols, sizeof cols)};
    queue(s, c);
}

/* A batch with one place outside, or of the wrong kind, is refused whole. */
static void refuse(sequence *s)
{
    uint64_t rows[8] = {0}, cols[8] = {0}, values[8] = {0};
    size_t n = 1 + below(s, 8), bad = below(s, n), size = dcsr_type_size(s->now.type);
    dcsr_ticket *ticket = NULL;
    if (s->now.rows && s->now.cols) random_places(s, n, rows, cols, false);
    if (below(s, 2))
        rows[bad] = s->now.rows + below(s, 3);
    else
        cols[bad] = s->now.cols + (below(s, 2) ? 0 : (uint64_t)1 << 40);
    dcsr_status status = dcsr_matrix_insert(s->matrix, n, rows, cols, size ? values : NULL, &ticket);
    TEST_STEP(s, status == DCSR_ERROR_INDEX_OUT_OF_RANGE && !ticket, "insert outside: %s",
              dcsr_status_name(status));
    status = dcsr_matrix_remove(s->matrix, n, rows, cols, &ticket);
    TEST_STEP(s, status == DCSR_ERROR_INDEX_OUT_OF_RANGE && !ticket, "remove outside: %s",
              dcsr_status_name(status));
}

/* Compares a view that was taken while changes were pending with each version it may show. */
static void match_some_version(sequence *s, held *h)
{
    char why[TEST_WHY];
    oracle_copy(&h->model, &s->base);
    for (size_t i = 0; i < s->certain; i++) apply(&h->model, &s->log[i]);
    while (!test_view_matches(h->view, &h->model, h->flags, why)) {
        TEST_STEP(s, s->certain < s->changes, "no version matches; the last one: %s", why);
        apply(&h->model, &s->log[s->certain++]);
    }
}

static void take_view(sequence *s, bool wait)
{
    held *h = &s->held[below(s, HELD)];
    dcsr_layout layout = (dcsr_layout)below(s, 2);
    char why[TEST_WHY];
    if (h->view) {
        TEST_STEP(s, test_view_matches(h->view, &h->model, h->flags, why), "held: %s", why);
        dcsr_view_destroy(h->view);
        oracle_destroy(&h->model);
    }
    h->flags = (unsigned)below(s, 4);
    if (wait) wait_for_all(s);
    for (size_t i = s->certain; i < s->changes; i++) {
        bool done = false;
        if (s->log[i].ticket) TEST_STEP_OK(s, dcsr_ticket_poll(s->log[i].ticket, &done));
        if (done) s->certain = i + 1;
    }
    TEST_STEP_OK(s, dcsr_view_create(&h->view, s->matrix, layout, h->flags));
    match_some_version(s, h);
    dcsr_view_info info = test_view_info(h->view);
    TEST_STEP(s, info.layout == layout, "layout");
    TEST_STEP(s, info.version >= s->version, "version %" PRIu64 " after %" PRIu64, info.version, s->version);
    s->version = info.version;
}

static void recheck(sequence *s)
{
    char why[TEST_WHY];
    held *h = &s->held[below(s, HELD)];
    if (h->view) TEST_STEP(s, test_view_matches(h->view, &h->model, h->flags, why), "held: %s", why);
}

/* Reads single places; these wait for what was queued before. */
static void get(sequence *s)
{
    uint64_t rows[20], cols[20], values[20];
    bool stored[20];
    size_t n = below(s, 21), size = dcsr_type_size(s->now.type);
    if (!s->now.rows || !s->now.cols) n = 0;
    random_places(s, n, rows, cols, n != 0);
    bool many = below(s, 2), with_values = below(s, 4);
    memset(values, 0, sizeof values);
    if (many)
        TEST_STEP_OK(s, dcsr_matrix_get_many(s->matrix, n, rows, cols, with_values ? values : NULL, stored));
    for (size_t i = 0; i < n; i++) {
        uint64_t value = 0;
        void *to = (char *)values + i * size;
        if (!many)
            TEST_STEP_OK(s,
                         dcsr_matrix_get(s->matrix, rows[i], cols[i], with_values ? to : NULL, &stored[i]));
        bool there = oracle_get(&s->now, rows[i], cols[i], &value);
        TEST_STEP(s, stored[i] == there, "(%" PRIu64 ", %" PRIu64 ") is %d", rows[i], cols[i], stored[i]);
        uint64_t got = oracle_value(s->now.type, values, i);
        TEST_STEP(s, !with_values || got == value,
                  "%#" PRIx64 " at (%" PRIu64 ", %" PRIu64 "), not %#" PRIx64, got, rows[i], cols[i], value);
    }
    if (n) s->certain = s->changes;
}

static void step(sequence *s)
{
    uint64_t dice = below(s, 100);
    if (dice < 38)
        change_entries(s, true);
    else if (dice < 55)
        change_entries(s, false);
    else if (dice < 61)
        resize(s);
    else if (dice < 66)
        queue(s, (change){.kind = DEFRAGMENTATION});
    else if (dice < 70)
        wait_for_all(s);
    else if (dice < 80)
        take_view(s, true);
    else if (dice < 86)
        take_view(s, false);
    else if (dice < 92)
        recheck(s);
    else if (dice < 97)
        get(s);
    else
        refuse(s);
}

static void begin(sequence *s, uint64_t seed)
{
    *s = (sequence){.seed = seed, .random = {seed}};
    test_seed_begins(seed);
    s->tall = below(s, 100) == 0;
    s->big = below(s, 100) == 0;
    dcsr_matrix_options options = {.policy = (dcsr_policy)below(s, DCSR_POLICY_COUNT)};
    dcsr_type type = (dcsr_type)below(s, DCSR_TYPE_COUNT);
    options.segments = below(s, 3) ? DCSR_MIN_SEGMENTS + (int)below(s, 7) : 0;
    options.defragmentation = (dcsr_defragmentation)below(s, 2);
    options.resolve = (dcsr_resolution)below(s, 3);
    static const double slacks[] = {0, DCSR_SLACK_NONE, 0.1, 1};
    options.slack = slacks[below(s, 4)];
    options.queue_limit = below(s, 3) ? 0 : 1 + below(s, 4096);
    s->segments = options.segments ? options.segments : DCSR_DEFAULT_SEGMENTS;
    uint64_t rows = random_dimension(s, false), cols = random_dimension(s, true);
    s->context = test_context(1 + (int)below(s, 3));
    TEST_STEP_OK(s, dcsr_matrix_create(&s->matrix, s->context, type, rows, cols, &options));
    oracle_create(&s->now, type, options.policy, rows, cols);
    oracle_create(&s->base, type, options.policy, rows, cols);
    s->policy = s->now.policy;
}

/* Destroys the matrix, after a wait or with work pending, then the views, and looks for what was left behind.
 */
static void finish(sequence *s)
{
    bool wait = below(s, 2), cancelled = false;
    char why[TEST_WHY];
    if (wait) wait_for_all(s);
    dcsr_matrix_destroy(s->matrix);
    for (size_t i = 0; i < s->changes; i++) {
        change *c = &s->log[i];
        dcsr_status status = c->ticket ? dcsr_ticket_wait(c->ticket) : DCSR_OK;
        TEST_STEP(s, status == DCSR_OK || status == DCSR_ERROR_CANCELLED, "%s", dcsr_status_name(status));
        TEST_STEP(s, !cancelled || !c->ticket || status == DCSR_ERROR_CANCELLED,
                  "applied after a cancelled one");
        cancelled |= status == DCSR_ERROR_CANCELLED;
        dcsr_ticket_destroy(c->ticket);
        free(c->rows);
        free(c->cols);
        free(c->values);
    }
    for (held *h = s->held; h < s->held + HELD; h++) {
        if (!h->view) continue;
        TEST_STEP(s, test_view_matches(h->view, &h->model, h->flags, why), "after the matrix: %s", why);
        dcsr_view_destroy(h->view);
        oracle_destroy(&h->model);
    }
    oracle_destroy(&s->now);
    oracle_destroy(&s->base);
    TEST_STEP(s, test_context_is_as_new(s->context, why), "%s", why);
    dcsr_context_destroy(s->context);
}

Test(model, random_sequences)
{
    test_seeds seeds = test_seeds_from_environment(TEST_SIZE(2000, 500, 400));
    static sequence s;
    for (uint64_t i = 0; i < seeds.rounds; i++) {
        begin(&s, seeds.first + i);
        unsigned steps = s.tall || s.big ? 30 : 20 + (unsigned)below(&s, 80);
        for (s.step = 1; s.step <= steps; s.step++) step(&s);
        finish(&s);
    }
}
