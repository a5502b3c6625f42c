/* test_single.c: entries that are set, removed and inserted one by one: in place where nobody holds a version, as a
 * version of its own where somebody does. */
#include "dcsr/base/alloc.h"
#include "dcsr/store/store.h"
#include "tests/support/support_durable.h"
#include <dcsr/diff.h>

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

/* ---- Random sequences beside an oracle ---- */

enum { ROWS = 70, COLS = 150, HELD = 3 };

typedef struct held {
    dcsr_view *view;
    unsigned flags;
    oracle model;
} held;

typedef struct sequence {
    test_random random;
    dcsr_matrix *matrix;
    oracle now;
    held held[HELD];
    uint64_t seed, step;
} sequence;

#define CHECK(s, condition, what) \
    cr_assert(condition, "DCSR_TEST_SEED=%" PRIu64 ", step %" PRIu64 ": %s", (s)->seed, (s)->step, what)

static uint64_t below(sequence *s, uint64_t n)
{
    return test_random_below(&s->random, n);
}

/* Mostly in few rows, so that these grow long. */
static void draw_position(sequence *s, uint64_t *row, uint64_t *col)
{
    *row = below(s, 4) ? below(s, 3) * 33 : below(s, s->now.rows);
    if (*row >= s->now.rows) *row = 0;
    *col = below(s, s->now.cols);
}

static const void *draw_value(sequence *s, uint64_t *value)
{
    if (s->now.type == DCSR_PATTERN) return NULL;
    test_encode(s->now.type, (double)below(s, 100), value);
    return value;
}

static void set_one(sequence *s)
{
    uint64_t row, col, word;
    draw_position(s, &row, &col);
    const void *value = draw_value(s, &word);
    TEST_OK(dcsr_matrix_set(s->matrix, row, col, value));
    oracle_remove(&s->now, 1, &row, &col);
    oracle_insert(&s->now, 1, &row, &col, value);
}

static void remove_one(sequence *s)
{
    uint64_t row, col, word;
    bool removed = false;
    draw_position(s, &row, &col);
    TEST_OK(dcsr_matrix_remove_one(s->matrix, row, col, &removed));
    CHECK(s, removed == oracle_get(&s->now, row, col, &word), "what remove_one tells");
    oracle_remove(&s->now, 1, &row, &col);
}

static void get_one(sequence *s)
{
    uint64_t row, col, expected = 0, found = 0;
    bool stored;
    draw_position(s, &row, &col);
    TEST_OK(dcsr_matrix_get(s->matrix, row, col, &found, &stored));
    CHECK(s, stored == oracle_get(&s->now, row, col, &expected), "whether it is stored");
    if (s->now.policy != DCSR_POLICY_KEEP)
        CHECK(s, !stored || oracle_value(s->now.type, &found, 0) == expected, "its value");
}

static void insert_some(sequence *s, size_t n)
{
    uint64_t rows[8], cols[8], word;
    char values[8 * 8];
    size_t size = dcsr_type_size(s->now.type);
    for (size_t i = 0; i < n; i++) {
        draw_position(s, &rows[i], &cols[i]);
        const void *value = draw_value(s, &word);
        if (value) memcpy(values + i * size, value, size);
    }
    TEST_OK(dcsr_matrix_insert(s->matrix, n, rows, cols, size ? values : NULL, NULL));
    oracle_insert(&s->now, n, rows, cols, size ? values : NULL);
}

static void remove_some(sequence *s, size_t n)
{
    uint64_t rows[8], cols[8];
    for (size_t i = 0; i < n; i++) draw_position(s, &rows[i], &cols[i]);
    TEST_OK(dcsr_matrix_remove(s->matrix, n, rows, cols, NULL));
    oracle_remove(&s->now, n, rows, cols);
}

static void let_go(held *h)
{
    if (!h->view) return;
    dcsr_view_destroy(h->view);
    oracle_destroy(&h->model);
    h->view = NULL;
}

static void check_held(sequence *s)
{
    char why[TEST_WHY];
    for (int i = 0; i < HELD; i++)
        if (s->held[i].view)
            CHECK(s, test_view_matches(s->held[i].view, &s->held[i].model, s->held[i].flags, why), why);
}

static void take_view(sequence *s)
{
    held *h = &s->held[below(s, HELD)];
    let_go(h);
    h->flags = below(s, 2) ? DCSR_VIEW_SORTED : 0;
    TEST_OK(dcsr_matrix_wait(s->matrix));
    TEST_OK(dcsr_view_create(&h->view, s->matrix, below(s, 2) ? DCSR_LAYOUT_CSR : DCSR_LAYOUT_SEGMENTS,
                             h->flags));
    oracle_copy(&h->model, &s->now);
    check_held(s);
}

static void resize(sequence *s)
{
    uint64_t rows = ROWS - 20 + below(s, 40), cols = COLS - 10 + below(s, 20);
    TEST_OK(dcsr_matrix_resize(s->matrix, rows, cols, NULL));
    oracle_resize(&s->now, rows, cols);
}

static void act(sequence *s)
{
    switch (below(s, 40)) {
    case 0:
        take_view(s);
        break;
    case 1:
    case 2:
        for (int i = 0; i < HELD; i++) let_go(&s->held[i]);
        break;
    case 3:
        if (!below(s, 8)) resize(s);
        break;
    case 4:
        if (!below(s, 4))
            TEST_OK(dcsr_matrix_defragment(s->matrix, (dcsr_defragment_scope)below(s, 2), NULL));
        break;
    case 5:
        insert_some(s, 1 + below(s, 8));
        break;
    case 6:
        remove_some(s, 1 + below(s, 8));
        break;
    case 7:
        TEST_OK(dcsr_matrix_wait(s->matrix));
        break;
    default:
        switch (below(s, 6)) {
        case 0:
            remove_one(s);
            break;
        case 1:
            insert_some(s, 1);
            break;
        case 2:
            remove_some(s, 1);
            break;
        case 3:
            get_one(s);
            break;
        default:
            set_one(s);
        }
    }
}

static void run_sequence(dcsr_context *context, uint64_t seed)
{
    static const dcsr_type types[] = {DCSR_FP64, DCSR_PATTERN, DCSR_FP32, DCSR_INT8, DCSR_INT16};
    sequence s = {.random = {seed}, .seed = seed};
    const dcsr_matrix_options options = {
        .policy = (dcsr_policy)(DCSR_POLICY_DEFAULT + 1 + below(&s, DCSR_POLICY_COUNT - 1)),
        .segments = DCSR_MIN_SEGMENTS + (int)below(&s, 3),
        .resolve = (dcsr_resolution)below(&s, 3)};
    dcsr_type type = types[below(&s, sizeof types / sizeof *types)];
    TEST_OK(dcsr_matrix_create(&s.matrix, context, type, ROWS, COLS, &options));
    oracle_create(&s.now, type, options.policy, ROWS, COLS);
    for (s.step = 0; s.step < (uint64_t)TEST_SIZE(1200, 600, 300); s.step++) act(&s);
    check_held(&s);
    TEST_OK(dcsr_matrix_wait(s.matrix));
    TEST_MATCHES(s.matrix, &s.now);
    for (int i = 0; i < HELD; i++) let_go(&s.held[i]);
    TEST_MATCHES(s.matrix, &s.now);
    dcsr_matrix_destroy(s.matrix);
    oracle_destroy(&s.now);
}

Test(single, sequences_match_the_oracle)
{
    dcsr_context *context = test_context(1);
    test_seeds seeds = test_seeds_from_environment((uint64_t)TEST_SIZE(60, 30, 20));
    for (uint64_t i = 0; i < seeds.rounds; i++) {
        test_seed_begins(seeds.first + i);
        run_sequence(context, seeds.first + i);
    }
    test_close(context);
}

/* ---- What is told, and what is refused ---- */

Test(single, set_replaces_whatever_the_policy)
{
    dcsr_context *context = test_context(1);
    for (int policy = DCSR_POLICY_DEFAULT + 1; policy < DCSR_POLICY_COUNT; policy++) {
        dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 10, 10, (dcsr_policy)policy);
        for (int viewed = 0; viewed < 2; viewed++) {
            TEST_INSERT(matrix, {3, 4, 5}, {3, 4, 6}, {3, 7, 1});
            dcsr_view *view = viewed ? test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0) : NULL;
            TEST_OK(dcsr_matrix_set(matrix, 3, 4, &(double){5.5}));
            TEST_OK(dcsr_matrix_set(matrix, 3, 7, &(double){2}));
            TEST_OK(dcsr_matrix_set(matrix, 0, 9, &(double){3}));
            TEST_SHOWS(matrix, {0, 9, 3}, {3, 4, 5.5}, {3, 7, 2});
            bool removed = true;
            TEST_OK(dcsr_matrix_remove_one(matrix, 3, 5, &removed));
            cr_assert_not(removed);
            TEST_OK(dcsr_matrix_remove_one(matrix, 3, 4, &removed));
            cr_assert(removed);
            TEST_OK(dcsr_matrix_remove_one(matrix, 3, 7, NULL));
            TEST_SHOWS(matrix, {0, 9, 3});
            dcsr_view_destroy(view);
        }
        dcsr_matrix_destroy(matrix);
    }
    test_close(context);
}

Test(single, refuses_what_lies_outside_and_what_has_no_value)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 10, 20, DCSR_POLICY_LAST);
    double one = 1;
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "dcsr_matrix_set", dcsr_matrix_set(matrix, 10, 0, &one));
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "(0, 20)", dcsr_matrix_set(matrix, 0, 20, &one));
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "dcsr_matrix_remove_one",
                 dcsr_matrix_remove_one(matrix, 10, 0, NULL));
    TEST_REFUSED(DCSR_ERROR_TYPE_MISMATCH, "dcsr_matrix_set", dcsr_matrix_set(matrix, 1, 1, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_matrix_set(NULL, 1, 1, &one));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "stored", dcsr_matrix_get(matrix, 1, 1, &one, NULL));
    TEST_SHOWS_NOTHING(matrix);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* Each change has a number, so that what is kept by number is never taken for something else. */
Test(single, every_change_makes_a_version)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 10, 10, DCSR_POLICY_LAST);
    TEST_INSERT(matrix, {1, 1, 1}, {2, 2, 2});
    for (int i = 0; i < 10; i++) {
        dcsr_view *before = test_view(matrix, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
        uint64_t version = test_view_info(before).version;
        dcsr_view_destroy(before);
        TEST_OK(dcsr_matrix_set(matrix, 1, 1, &(double){i + 2}));
        dcsr_view *after = test_view(matrix, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
        cr_assert_gt(test_view_info(after).version, version);
        TEST_VIEW_SHOWS(after, {1, 1, i + 2}, {2, 2, 2});
        dcsr_view_destroy(after);
    }
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* ---- Without memory ---- */

static void fail_one_by_one(dcsr_context *context, dcsr_policy policy, bool removes)
{
    bool enough = false;
    for (long n = 0; !enough; n++) {
        dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 200, 200, policy);
        TEST_INSERT(matrix, {1, 1, 1}, {1, 2, 2}, {1, 3, 3}, {100, 2, 2});
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
        uint64_t begin = dcsr_i_allocations();
        dcsr_i_fail_allocations_after(n);
        dcsr_status status = removes ? dcsr_matrix_remove_one(matrix, 1, 2, NULL)
                                     : dcsr_matrix_set(matrix, 1, 2, &(double){7});
        dcsr_i_fail_allocations_after(-1);
        enough = dcsr_i_allocations() - begin <= (uint64_t)n;
        TEST_VIEW_SHOWS(view, {1, 1, 1}, {1, 2, 2}, {1, 3, 3}, {100, 2, 2});
        if (status != DCSR_OK) {
            cr_assert_eq(status, DCSR_ERROR_OUT_OF_MEMORY);
            TEST_SHOWS(matrix, {1, 1, 1}, {1, 2, 2}, {1, 3, 3}, {100, 2, 2});
        } else if (removes) {
            TEST_SHOWS(matrix, {1, 1, 1}, {1, 3, 3}, {100, 2, 2});
        } else {
            TEST_SHOWS(matrix, {1, 1, 1}, {1, 2, 7}, {1, 3, 3}, {100, 2, 2});
        }
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
    }
}

Test(single, stands_or_falls_as_a_whole)
{
    dcsr_context *context = test_context(1);
    fail_one_by_one(context, DCSR_POLICY_SUM, false);
    fail_one_by_one(context, DCSR_POLICY_LAST, false);
    fail_one_by_one(context, DCSR_POLICY_LAST, true);
    test_close(context);
}

/* ---- Small matrices that grow ---- */

enum { STEPS = 9 };

/* Entries of 2^step rows; each step doubles what the arena holds, from its first home to the mapping. */
static void grow(dcsr_matrix *matrix, oracle *model, int step)
{
    for (uint64_t i = (uint64_t)1 << step; i < (uint64_t)2 << step; i++) {
        uint64_t rows[4] = {i % 40, i % 40, i, i}, cols[4] = {i, i, 3, i % 7};
        double values[4] = {1, (double)i, 2, 3};
        size_t n = i % 3 ? 4 : 1;
        TEST_OK(dcsr_matrix_insert(matrix, n, rows, cols, values, NULL));
        oracle_insert(model, n, rows, cols, values);
    }
    TEST_OK(dcsr_matrix_wait(matrix));
}

typedef struct kept {
    dcsr_view *view;
    oracle model;
    unsigned flags;
} kept;

static kept keep(dcsr_matrix *matrix, const oracle *model, dcsr_layout layout, unsigned flags)
{
    kept k = {.view = test_view(matrix, layout, flags), .flags = flags};
    oracle_copy(&k.model, model);
    return k;
}

static void check_kept(kept *k, size_t n)
{
    char why[TEST_WHY];
    for (size_t i = 0; i < n; i++)
        cr_assert(test_view_matches(k[i].view, &k[i].model, k[i].flags, why), "view %zu: %s", i, why);
}

static void drop_kept(kept *k)
{
    dcsr_view_destroy(k->view);
    oracle_destroy(&k->model);
}

/* Views of each step, whose entries are in homes that were left, or in one of their own. */
static void grow_with_views(dcsr_context *context, dcsr_policy policy, dcsr_resolution resolve, bool twin)
{
    enum { EACH = 4 };
    kept k[EACH * STEPS];
    oracle model;
    dcsr_matrix *matrix;
    dcsr_matrix_options options = {.policy = policy, .resolve = resolve, .maintain_transpose = twin};
    TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_FP64, 1 << STEPS, 1 << STEPS, &options));
    oracle_create(&model, DCSR_FP64, policy, 1 << STEPS, 1 << STEPS);
    for (int step = 0; step < STEPS; step++) {
        grow(matrix, &model, step);
        cr_assert(step || matrix->arena.in_heap == !test_on_device(context));
        if (step == 4) TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_SELECTED, NULL));
        if (step == 7) TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
        TEST_OK(dcsr_matrix_wait(matrix));
        k[EACH * step] = keep(matrix, &model, DCSR_LAYOUT_SEGMENTS, 0);
        k[EACH * step + 1] = keep(matrix, &model, DCSR_LAYOUT_CSR, 0);
        k[EACH * step + 2] = keep(matrix, &model, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED);
        k[EACH * step + 3] = keep(matrix, &model, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
        check_kept(k, EACH * ((size_t)step + 1));
    }
    cr_assert_not(matrix->arena.in_heap);
    /* Down again, and what is held stays; from the oldest to the newest they go. */
    TEST_OK(dcsr_matrix_resize(matrix, 20, 20, NULL));
    oracle_resize(&model, 20, 20);
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_MATCHES(matrix, &model);
    for (size_t i = 0; i < EACH * STEPS; i++) {
        check_kept(k + i, EACH * STEPS - i);
        drop_kept(&k[i]);
    }
    TEST_MATCHES(matrix, &model);
    dcsr_matrix_destroy(matrix);
    oracle_destroy(&model);
}

Test(single, views_see_their_version_while_a_small_matrix_grows)
{
    dcsr_context *context = test_context(2);
    grow_with_views(context, DCSR_POLICY_SUM, DCSR_RESOLVE_ON_READ, false);
    grow_with_views(context, DCSR_POLICY_LAST, DCSR_RESOLVE_AUTO, true);
    grow_with_views(context, DCSR_POLICY_KEEP, DCSR_RESOLVE_AUTO, false);
    test_close(context);
}

/* A reader takes views, which resolve rows for themselves, while the arena moves from home to home. */
static void *read_on(void *argument)
{
    test_writer *writer = argument;
    while (!atomic_load(&writer->done)) {
        dcsr_view *view = test_view(writer->matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED);
        uint64_t nnz, again = test_view_info(view).nnz;
        cr_assert_eq(test_view_info(view).nnz, again);
        dcsr_view_destroy(view);
        TEST_OK(dcsr_matrix_get_nnz(writer->matrix, &nnz));
    }
    return NULL;
}

Test(single, readers_do_not_mind_that_it_moves)
{
    dcsr_context *context = test_context(2);
    for (int round = 0; round < TEST_SIZE(40, 20, 10); round++) {
        dcsr_matrix *matrix;
        oracle model;
        dcsr_matrix_options options = {.policy = DCSR_POLICY_SUM, .resolve = DCSR_RESOLVE_ON_READ};
        TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_FP64, 1 << STEPS, 1 << STEPS, &options));
        oracle_create(&model, DCSR_FP64, DCSR_POLICY_SUM, 1 << STEPS, 1 << STEPS);
        test_writer writer = {.matrix = matrix};
        pthread_t thread;
        cr_assert_eq(pthread_create(&thread, NULL, read_on, &writer), 0);
        for (int step = 0; step < STEPS; step++) grow(matrix, &model, step);
        atomic_store(&writer.done, true);
        pthread_join(thread, NULL);
        TEST_MATCHES(matrix, &model);
        dcsr_matrix_destroy(matrix);
        oracle_destroy(&model);
    }
    test_close(context);
}

/* With every allocation failing in turn, a batch that makes a small matrix grow stands or falls. */
Test(single, grows_or_stays_as_it_was)
{
    dcsr_context *context = test_context(1);
    bool enough = false;
    for (long n = 0; !enough; n++) {
        oracle model;
        dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 1 << STEPS, 1 << STEPS, DCSR_POLICY_SUM);
        oracle_create(&model, DCSR_FP64, DCSR_POLICY_SUM, 1 << STEPS, 1 << STEPS);
        for (int step = 0; step < 4; step++) grow(matrix, &model, step);
        kept k = keep(matrix, &model, DCSR_LAYOUT_SEGMENTS, 0);
        uint64_t rows[600], cols[600], begin = dcsr_i_allocations();
        double values[600];
        for (uint64_t i = 0; i < 600; i++) rows[i] = i % 50, cols[i] = i % 500, values[i] = 1;
        dcsr_i_fail_allocations_after(n);
        dcsr_ticket *ticket = NULL;
        dcsr_status status = dcsr_matrix_insert(matrix, 600, rows, cols, values, &ticket);
        if (status == DCSR_OK) status = dcsr_ticket_wait(ticket);
        dcsr_i_fail_allocations_after(-1);
        enough = dcsr_i_allocations() - begin <= (uint64_t)n;
        dcsr_ticket_destroy(ticket);
        if (status == DCSR_OK) oracle_insert(&model, 600, rows, cols, values);
        check_kept(&k, 1);
        TEST_MATCHES(matrix, &model);
        grow(matrix, &model, 4);
        check_kept(&k, 1);
        TEST_MATCHES(matrix, &model);
        drop_kept(&k);
        dcsr_matrix_destroy(matrix);
        oracle_destroy(&model);
    }
    test_close(context);
}

/* ---- On disk ---- */

/* A snapshot writes what has changed since the last one, by the versions of pages. */
Test(single, snapshots_show_what_was_set_in_place)
{
    durable_place place = durable_open_place();
    dcsr_matrix *matrix = test_matrix(place.context, DCSR_FP64, 500, 500, DCSR_POLICY_LAST), *back;
    for (uint64_t i = 0; i < 500; i++) TEST_INSERT(matrix, {i, i, (double)i});
    for (int round = 0; round < 4; round++) {
        TEST_OK(dcsr_store_snapshot(place.store, "single", matrix, NULL));
        TEST_OK(dcsr_matrix_set(matrix, 300, 300, &(double){round + 0.5}));
        TEST_OK(dcsr_matrix_remove_one(matrix, (uint64_t)round, (uint64_t)round, NULL));
    }
    TEST_OK(dcsr_store_snapshot(place.store, "single", matrix, NULL));
    TEST_OK(dcsr_store_restore(&back, place.context, place.store, "single", 0, NULL));
    double value;
    bool stored;
    TEST_OK(dcsr_matrix_get(back, 300, 300, &value, &stored));
    cr_assert(stored && value == 3.5);
    TEST_OK(dcsr_matrix_get(back, 3, 3, &value, &stored));
    cr_assert_not(stored);
    dcsr_matrix_destroy(back);
    dcsr_matrix_destroy(matrix);
    durable_close_place(&place);
}

Test(single, durable_matrices_keep_what_was_set)
{
    durable_place place = durable_open_place();
    dcsr_matrix *matrix = durable_open_small(&place, "kept", NULL);
    bool removed = false;
    TEST_OK(dcsr_matrix_set(matrix, 1, 2, &(double){3}));
    TEST_OK(dcsr_matrix_set(matrix, 1, 2, &(double){4}));
    TEST_OK(dcsr_matrix_set(matrix, 5, 5, &(double){5}));
    TEST_OK(dcsr_matrix_remove_one(matrix, 5, 5, &removed));
    cr_assert(removed);
    TEST_OK(dcsr_matrix_remove_one(matrix, 5, 6, &removed));
    cr_assert_not(removed);
    dcsr_matrix_destroy(matrix);
    durable_reopen(&place);
    matrix = durable_open_small(&place, "kept", NULL);
    TEST_SHOWS(matrix, {1, 2, 4});
    dcsr_matrix_destroy(matrix);
    durable_close_place(&place);
}

/* ---- Several threads ---- */

enum { THREADS = 4 };

typedef struct adder {
    dcsr_matrix *matrix;
    uint64_t row;
    int times;
} adder;

/* Inserts ones that add up, and sets and removes what is its own. */
static void *add_ones(void *argument)
{
    const adder *a = argument;
    uint64_t shared[2] = {5, 5};
    for (int i = 0; i < a->times; i++) {
        double value = i, found = -1;
        bool stored = false;
        TEST_OK(dcsr_matrix_insert(a->matrix, 1, &shared[0], &shared[1], &(double){1}, NULL));
        TEST_OK(dcsr_matrix_set(a->matrix, a->row, 7, &value));
        TEST_OK(dcsr_matrix_get(a->matrix, a->row, 7, &found, &stored));
        cr_assert(stored && found == value);
        if (i % 7 == 0) TEST_OK(dcsr_matrix_remove_one(a->matrix, a->row, 7, &stored));
        cr_assert(stored);
        if (i % 50 == 3) {
            dcsr_view *view = test_view(a->matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED);
            dcsr_view_destroy(view);
        }
    }
    return NULL;
}

/* Takes the turn meanwhile, in its own thread or the worker's, for batches and for moving all rows. */
static void *take_turns(void *argument)
{
    const adder *a = argument;
    const uint64_t rows[] = {a->row, a->row + 1}, cols[] = {5, 6};
    for (int i = 0; i < a->times; i++) {
        TEST_OK(dcsr_matrix_insert(a->matrix, 2, rows, cols, (double[]){1, 1}, NULL));
        if (i % 5 == 0) TEST_OK(dcsr_matrix_wait(a->matrix));
        if (i % 20 == 9) TEST_OK(dcsr_matrix_defragment(a->matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
    }
    return NULL;
}

Test(single, threads_see_what_they_wrote)
{
    dcsr_context *context = test_context(2);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 100, 100, DCSR_POLICY_SUM);
    const int times = TEST_SIZE(2000, 1000, 300);
    pthread_t threads[THREADS + 1];
    adder adders[THREADS + 1];
    for (int t = 0; t <= THREADS; t++) {
        adders[t] = (adder){matrix, 10 + (uint64_t)t * 20, times};
        cr_assert_eq(pthread_create(&threads[t], NULL, t < THREADS ? add_ones : take_turns, &adders[t]), 0);
    }
    for (int t = 0; t <= THREADS; t++) pthread_join(threads[t], NULL);
    double sum = 0, sum_of_turns = 0;
    bool stored;
    dcsr_matrix_info info;
    TEST_OK(dcsr_matrix_get(matrix, 5, 5, &sum, &stored));
    TEST_OK(dcsr_matrix_get(matrix, 91, 6, &sum_of_turns, &stored));
    cr_assert_eq(sum, (double)THREADS * times);
    cr_assert_eq(sum_of_turns, times);
    TEST_OK(dcsr_matrix_get_info(matrix, &info));
    cr_assert_eq(info.inserted, (uint64_t)(THREADS + 1) * 2 * (uint64_t)times);
    cr_assert_eq(info.removed, (uint64_t)THREADS * (uint64_t)((times + 6) / 7));
    dcsr_matrix_destroy(matrix);
    test_close(context);
}
