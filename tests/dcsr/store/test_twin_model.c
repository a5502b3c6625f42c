/* test_twin_model.c: matrices that maintain their transpose, under random changes and beside readers.
 *
 * A failure names its seed: DCSR_TEST_SEED=n replays that sequence, DCSR_TEST_ROUNDS=n runs n of them. */
#include "tests/support/support_transposed.h"

#include "dcsr/base/alloc.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Batches of more than 512 entries go to the emulated device at once. */
enum { HELD = 4, BATCH = 800 };

typedef struct held {
    dcsr_view *view;
    unsigned flags;
    oracle model;
} held;

typedef struct sequence {
    uint64_t seed;
    test_random random;
    dcsr_matrix *matrix;
    oracle model;
    held held[HELD];
    int given_up; /* views that had no twin */
} sequence;

#define CHECK(s, condition, ...) \
    cr_assert(condition, "DCSR_TEST_SEED=%" PRIu64 ": %s", (s)->seed, __VA_ARGS__)
#define CHECK_OK(s, call) CHECK(s, (call) == DCSR_OK, dcsr_thread_error())

static uint64_t below(sequence *s, uint64_t n)
{
    return test_random_below(&s->random, n);
}

typedef struct change {
    enum { INSERTION, REMOVAL, RESIZE, DEFRAGMENTATION } kind;
    size_t n;
    uint64_t rows[BATCH], cols[BATCH]; /* of a resize: one each, the dimensions */
    char values[BATCH * 8];
    dcsr_defragment_scope scope;
} change;

static void draw(sequence *s, change *c)
{
    uint64_t dice = below(s, 20);
    c->kind = dice < 11 ? INSERTION : dice < 16 ? REMOVAL : dice < 18 ? RESIZE : DEFRAGMENTATION;
    c->n = c->kind == RESIZE ? 1 : 1 + below(s, below(s, 4) ? 30 : BATCH);
    c->scope = below(s, 2) ? DCSR_DEFRAGMENT_WHOLE : DCSR_DEFRAGMENT_SELECTED;
    if (!s->model.rows || !s->model.cols) c->kind = RESIZE;
    if (c->kind == RESIZE) {
        c->rows[0] = below(s, 10) ? 1 + below(s, 200) : 0;
        c->cols[0] = below(s, 10) ? 1 + below(s, 200) : 0;
        return;
    }
    size_t size = dcsr_type_size(s->model.type);
    uint64_t hub = below(s, s->model.cols);
    for (size_t i = 0; i < c->n; i++) {
        c->rows[i] = below(s, s->model.rows);
        c->cols[i] = below(s, 4) ? below(s, s->model.cols) : hub;
        const oracle_row *row = &s->model.row[c->rows[i]];
        if (row->length && below(s, 3) == 0) c->cols[i] = row->entry[below(s, row->length)].column;
        test_encode(s->model.type, (double)below(s, s->model.type == DCSR_BOOL ? 2 : 50),
                    c->values + i * size);
    }
}

static dcsr_status queue(sequence *s, const change *c, dcsr_ticket **ticket)
{
    const void *values = dcsr_type_size(s->model.type) ? c->values : NULL;
    if (c->kind == INSERTION) return dcsr_matrix_insert(s->matrix, c->n, c->rows, c->cols, values, ticket);
    if (c->kind == REMOVAL) return dcsr_matrix_remove(s->matrix, c->n, c->rows, c->cols, ticket);
    if (c->kind == RESIZE) return dcsr_matrix_resize(s->matrix, c->rows[0], c->cols[0], ticket);
    return dcsr_matrix_defragment(s->matrix, c->scope, ticket);
}

static void apply(oracle *model, const change *c)
{
    if (c->kind == INSERTION) oracle_insert(model, c->n, c->rows, c->cols, c->values);
    if (c->kind == REMOVAL) oracle_remove(model, c->n, c->rows, c->cols);
    if (c->kind == RESIZE) oracle_resize(model, c->rows[0], c->cols[0]);
}

/* A change while memory runs out, which may fail, and may cost the twin. */
static void change_without_memory(sequence *s, dcsr_context *context, const change *c)
{
    dcsr_ticket *ticket = NULL;
    CHECK_OK(s, dcsr_matrix_wait(s->matrix));
    /* A device takes more, in smaller parts. */
    dcsr_i_fail_allocations_after((long)below(s, test_on_device(context) ? 200 : 60));
    dcsr_status status = queue(s, c, &ticket);
    if (status == DCSR_OK) status = dcsr_ticket_wait(ticket);
    dcsr_i_fail_allocations_after(-1);
    dcsr_ticket_destroy(ticket);
    CHECK(s, status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, dcsr_thread_error());
    if (status == DCSR_OK) apply(&s->model, c);
}

static void look_at(sequence *s, held *h)
{
    char why[TEST_WHY];
    CHECK(s, test_transpose_matches(h->view, &h->model, h->flags, why), why);
    CHECK(s, test_view_matches(h->view, &h->model, h->flags, why), why);
}

static void let_go(sequence *s, held *h)
{
    if (!h->view) return;
    look_at(s, h);
    dcsr_view_destroy(h->view);
    oracle_destroy(&h->model);
    h->view = NULL;
}

/* Takes a view of what there is now, which is looked at now or only when it is let go. */
static void take_view(sequence *s)
{
    held *h = &s->held[below(s, HELD)];
    let_go(s, h);
    CHECK_OK(s, dcsr_matrix_wait(s->matrix));
    h->flags = (unsigned)below(s, 4);
    CHECK_OK(s, dcsr_view_create(&h->view, s->matrix, (dcsr_layout)below(s, 3), h->flags));
    oracle_copy(&h->model, &s->model);
    s->given_up += !test_transpose_is_ready(h->view);
    if (below(s, 2)) look_at(s, h);
}

static void run(sequence *s, dcsr_context *context, int steps)
{
    static const dcsr_type types[] = {DCSR_PATTERN, DCSR_BOOL, DCSR_UINT8, DCSR_INT16, DCSR_FP32, DCSR_FP64};
    dcsr_type type = types[below(s, sizeof types / sizeof *types)];
    dcsr_policy policy =
        type == DCSR_PATTERN
            ? (below(s, 2) ? DCSR_POLICY_ANY : DCSR_POLICY_KEEP)
            : (dcsr_policy)(DCSR_POLICY_KEEP + below(s, DCSR_POLICY_COUNT - DCSR_POLICY_KEEP));
    dcsr_matrix_options options = {.policy = policy,
                                   .segments = (int)(2 + below(s, 3)),
                                   .defragmentation =
                                       below(s, 2) ? DCSR_DEFRAGMENT_AUTO : DCSR_DEFRAGMENT_OFF,
                                   .resolve = (dcsr_resolution)below(s, 3),
                                   .maintain_transpose = true};
    uint64_t rows = 1 + below(s, 200), cols = 1 + below(s, 200);
    CHECK_OK(s, dcsr_matrix_create(&s->matrix, context, type, rows, cols, &options));
    oracle_create(&s->model, type, policy, rows, cols);
    static change c;
    for (int step = 0; step < steps; step++) {
        draw(s, &c);
        if (below(s, 12) == 0) {
            change_without_memory(s, context, &c);
        } else {
            CHECK_OK(s, queue(s, &c, NULL));
            apply(&s->model, &c);
        }
        if (below(s, 5) == 0) take_view(s);
    }
    if (below(s, 2)) CHECK_OK(s, dcsr_matrix_wait(s->matrix));
    dcsr_matrix_destroy(s->matrix);
    for (int i = 0; i < HELD; i++) let_go(s, &s->held[i]);
    oracle_destroy(&s->model);
}

Test(twin, follows_random_changes)
{
    test_seeds seeds = test_seeds_from_environment((uint64_t)TEST_SIZE(150, 40, 20));
    int given_up = 0;
    for (uint64_t i = 0; i < seeds.rounds; i++) {
        sequence s = {.seed = seeds.first + i, .random = {seeds.first + i}};
        test_seed_begins(s.seed);
        dcsr_context *context = test_context(1 + (int)(i % 2));
        run(&s, context, 60);
        given_up += s.given_up;
        test_close(context);
    }
    cr_assert(seeds.rounds < 20 || given_up, "no twin was ever given up");
}

/* ---- Beside readers ---- */

enum { CORNER = 300 };

typedef struct reader {
    dcsr_matrix *matrix;
    atomic_bool *done;
    uint64_t views, wrong, without;
} reader;

/* A number that depends on all entries, in any order, of rows or of the rows of their transpose. */
static uint64_t digest(const dcsr_i_rows *rows, bool transposed)
{
    uint64_t sum = 0;
    for (uint64_t r = 0; r < rows->rows; r++) {
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        int count = dcsr_i_rows_pieces(rows, r, pieces);
        for (int k = 0; k < count; k++)
            for (uint64_t i = pieces[k].begin; i < pieces[k].begin + pieces[k].length; i++) {
                uint64_t row = transposed ? rows->columns[i] : r, col = transposed ? r : rows->columns[i];
                test_random random = {row << 32 | col};
                sum += test_random_next(&random) * (oracle_value(rows->type, rows->values, i) | 1);
            }
    }
    return sum;
}

static void *read_both(void *argument)
{
    reader *r = argument;
    for (uint64_t i = 0; !atomic_load(r->done) || i < 20; i++) {
        dcsr_view *view;
        const dcsr_i_rows *rows, *transposed;
        unsigned flags = i & 1 ? DCSR_VIEW_SORTED : 0;
        dcsr_layout layout = i % 5 == 4   ? DCSR_LAYOUT_CSC
                             : i % 5 == 3 ? DCSR_LAYOUT_CSR
                                          : DCSR_LAYOUT_SEGMENTS;
        if (dcsr_view_create(&view, r->matrix, layout, flags) != DCSR_OK) abort();
        r->without += !test_transpose_is_ready(view);
        if (dcsr_i_view_host_rows(&rows, view) != DCSR_OK) abort();
        if (dcsr_i_view_transposed(&transposed, view) != DCSR_OK) abort();
        r->wrong += digest(rows, false) != digest(transposed, true);
        r->views++;
        dcsr_view_destroy(view);
    }
    return NULL;
}

Test(twin, belongs_to_the_version_that_readers_see)
{
    enum { READERS = 2 };
    dcsr_context *context = test_context(2);
    dcsr_matrix *matrix;
    dcsr_matrix_options options = {.policy = DCSR_POLICY_SUM, .maintain_transpose = true};
    TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_FP64, CORNER, CORNER, &options));
    test_writer writer = {.matrix = matrix,
                          .size = CORNER,
                          .entries = 200,
                          .batches = (size_t)TEST_SIZE(400, 150, 60),
                          .values = true};
    reader readers[READERS];
    pthread_t threads[READERS + 1];
    for (int i = 0; i < READERS; i++) {
        readers[i] = (reader){.matrix = matrix, .done = &writer.done};
        cr_assert(!pthread_create(&threads[i], NULL, read_both, &readers[i]));
    }
    cr_assert(!pthread_create(&threads[READERS], NULL, test_write_batches, &writer));
    /* Changes that leave the entries as they are, meanwhile. */
    for (int i = 0; i < 20; i++) {
        TEST_OK(dcsr_matrix_defragment(matrix, (dcsr_defragment_scope)(i & 1), NULL));
        TEST_OK(dcsr_matrix_wait(matrix));
    }
    for (int i = 0; i <= READERS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < READERS; i++)
        cr_assert(readers[i].views && !readers[i].wrong && !readers[i].without,
                  "of %" PRIu64 " views %" PRIu64 " wrong, %" PRIu64 " without a twin", readers[i].views,
                  readers[i].wrong, readers[i].without);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* The matrix, or the whole context, goes while much is queued. */
Test(twin, is_destroyed_with_work_pending)
{
    enum { N = 3000 };
    static uint64_t rows[N], cols[N];
    for (size_t i = 0; i < N; i++) rows[i] = i * 7 % 1000, cols[i] = i * 13 % 1000;
    for (int whole = 0; whole < 2; whole++) {
        dcsr_context *context = test_context(1);
        dcsr_matrix *matrix;
        dcsr_matrix_options options = {.maintain_transpose = true};
        TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_PATTERN, 1000, 1000, &options));
        for (int i = 0; i < 20; i++) {
            TEST_OK(dcsr_matrix_insert(matrix, N, rows, cols, NULL, NULL));
            TEST_OK(dcsr_matrix_resize(matrix, 1000 + (uint64_t)i % 3, 1000, NULL));
        }
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
        const dcsr_i_rows *here, *transposed;
        TEST_OK(dcsr_i_view_host_rows(&here, view));
        TEST_OK(dcsr_i_view_transposed(&transposed, view));
        cr_assert(digest(here, false) == digest(transposed, true));
        if (whole) dcsr_context_destroy(context);
        dcsr_matrix_destroy(matrix);
        cr_assert(digest(here, false) == digest(transposed, true));
        dcsr_view_destroy(view);
        if (!whole) test_close(context);
    }
}
