/* test_clone.c: what a clone shares with its origin, when either copies, and when they part. */
#include "dcsr/base/alloc.h"
#include "tests/support/support_diff.h"

#include <pthread.h>

enum { SIZE = 600 };

/* A matrix of some ten thousand entries, in rows of several lengths, and its oracle. */
static dcsr_matrix *large(dcsr_context *context, const dcsr_matrix_options *options, oracle *model)
{
    enum { ENTRIES = 12000 };
    test_random random = {7};
    uint64_t *rows = test_allocate(ENTRIES, sizeof *rows), *cols = test_allocate(ENTRIES, sizeof *cols);
    double *values = test_allocate(ENTRIES, sizeof *values);
    dcsr_matrix *matrix;
    for (int i = 0; i < ENTRIES; i++) {
        rows[i] = test_random_below(&random, test_random_below(&random, SIZE) + 1);
        cols[i] = test_random_below(&random, SIZE);
        values[i] = (double)i;
    }
    TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_FP64, SIZE, SIZE, options));
    oracle_create(model, DCSR_FP64, options ? options->policy : DCSR_POLICY_DEFAULT, SIZE, SIZE);
    for (int i = 0; i < ENTRIES; i += ENTRIES / 3) {
        TEST_OK(dcsr_matrix_insert(matrix, ENTRIES / 3, rows + i, cols + i, values + i, NULL));
        oracle_insert(model, ENTRIES / 3, rows + i, cols + i, values + i);
        TEST_OK(dcsr_matrix_wait(matrix)); /* or they may be one batch, whose rows are contiguous */
    }
    free(rows);
    free(cols);
    free(values);
    return matrix;
}

static void insert_one(dcsr_matrix *matrix, oracle *model, uint64_t row, uint64_t col, double value)
{
    TEST_OK(dcsr_matrix_insert(matrix, 1, &row, &col, &value, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    oracle_insert(model, 1, &row, &col, &value);
}

static uint64_t views_of(dcsr_matrix *matrix)
{
    return test_info(matrix).views;
}

/* ---- By hand ---- */

Test(clone, of_a_small_matrix_is_a_matrix_of_its_own)
{
    dcsr_context *context = test_context(2);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 100, 100, DCSR_POLICY_SUM), *clone, *second;
    TEST_INSERT(matrix, {1, 2, 3}, {70, 8, 9});
    TEST_INSERT(matrix, {1, 2, 1});
    TEST_REMOVE(matrix, {70, 8, 0});
    TEST_OK(dcsr_matrix_clone(&clone, matrix));
    cr_assert_eq(views_of(matrix), 0);
    TEST_INSERT(matrix, {5, 5, 5});
    TEST_INSERT(clone, {1, 2, 4}, {99, 99, 1});
    TEST_OK(dcsr_matrix_clone(&second, clone));
    TEST_SHOWS(matrix, {1, 2, 4}, {5, 5, 5});
    dcsr_matrix_destroy(matrix);
    TEST_REMOVE(clone, {1, 2, 0});
    TEST_SHOWS(clone, {99, 99, 1});
    dcsr_matrix_destroy(clone);
    TEST_SHOWS(second, {1, 2, 8}, {99, 99, 1});
    dcsr_matrix_destroy(second);
    test_close(context);
}

Test(clone, has_what_was_queued_and_the_options)
{
    dcsr_context *context = test_context(2);
    const dcsr_matrix_options options = {
        .policy = DCSR_POLICY_MIN, .segments = 3, .resolve = DCSR_RESOLVE_ON_INSERT, .grow = true};
    const dcsr_tag tag = {17, 4};
    oracle model;
    dcsr_matrix *matrix = large(context, &options, &model), *clone;
    uint64_t row = 3, col = 4;
    double value = -5;
    TEST_OK(dcsr_matrix_insert_tagged(matrix, 1, &row, &col, &value, &tag, NULL));
    oracle_insert(&model, 1, &row, &col, &value);
    TEST_OK(dcsr_matrix_clone(&clone, matrix));
    TEST_MATCHES(clone, &model);
    const dcsr_matrix_info info = test_info(clone);
    cr_assert(info.type == DCSR_FP64 && info.policy == DCSR_POLICY_MIN && info.rows == SIZE);
    /* It grows, and keeps the least. */
    row = SIZE + 10;
    TEST_OK(dcsr_matrix_insert(clone, 1, &row, &col, &value, NULL));
    TEST_OK(dcsr_matrix_wait(clone));
    cr_assert_eq(test_info(clone).rows, row + 1);
    dcsr_matrix_destroy(clone);
    dcsr_matrix_destroy(matrix);
    oracle_destroy(&model);
    test_close(context);
}

/* On the cpu it takes no entries of its own before it changes, and then little more than what has changed. */
Test(clone, shares_until_it_changes)
{
    dcsr_context *context = test_context(2);
    oracle model, changed;
    const dcsr_matrix_options options = {.defragmentation = DCSR_DEFRAGMENT_OFF};
    dcsr_matrix *matrix = large(context, &options, &model), *clone;
    const bool device = test_on_device(context);
    const uint64_t bytes = test_info(matrix).bytes;
    TEST_OK(dcsr_matrix_clone(&clone, matrix));
    cr_assert_eq(views_of(matrix), device ? 0 : 1);
    if (!device) cr_assert(!test_info(clone).arena_entries && test_info(clone).bytes < bytes / 10);
    oracle_copy(&changed, &model);
    insert_one(clone, &changed, 599, 7, 1);
    insert_one(clone, &changed, 0, 599, 2);
    if (!device) cr_assert_lt(test_info(clone).arena_entries, 2000);
    TEST_MATCHES(clone, &changed);
    TEST_MATCHES(matrix, &model);
    dcsr_matrix_destroy(clone);
    cr_assert_eq(views_of(matrix), 0);
    dcsr_matrix_destroy(matrix);
    oracle_destroy(&model);
    oracle_destroy(&changed);
    test_close(context);
}

/* All rows have moved: the matrix need not keep the version any more, unless somebody still sees it. */
Test(clone, lets_go_when_it_is_defragmented_whole)
{
    dcsr_context *context = test_context(2);
    oracle model;
    dcsr_matrix *matrix = large(context, NULL, &model), *clone, *second;
    TEST_OK(dcsr_matrix_clone(&clone, matrix));
    TEST_OK(dcsr_matrix_clone(&second, clone));
    dcsr_view *view = test_view(clone, DCSR_LAYOUT_SEGMENTS, 0);
    insert_one(clone, &model, 1, 1, 1);
    TEST_OK(dcsr_matrix_defragment(clone, DCSR_DEFRAGMENT_WHOLE, NULL));
    TEST_OK(dcsr_matrix_wait(clone));
    if (!test_on_device(context)) cr_assert_eq(views_of(matrix), 1);
    dcsr_view_destroy(view);
    if (!test_on_device(context)) cr_assert_eq(views_of(matrix), 1, "the clone's clone sees it still");
    TEST_OK(dcsr_matrix_defragment(second, DCSR_DEFRAGMENT_WHOLE, NULL));
    TEST_OK(dcsr_matrix_wait(second));
    cr_assert_eq(views_of(matrix), 0);
    dcsr_matrix_destroy(matrix);
    TEST_MATCHES(clone, &model);
    dcsr_matrix_destroy(second);
    insert_one(clone, &model, 2, 2, 2);
    TEST_MATCHES(clone, &model);
    dcsr_matrix_destroy(clone);
    oracle_destroy(&model);
    test_close(context);
}

/* A page in which all rows are in one segment, with room that is the origin's. */
Test(clone, that_sets_an_entry_leaves_the_room_of_its_neighbours)
{
    enum { ROWS = 64, EACH = 20 };
    dcsr_context *context = test_context(2);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, ROWS, 100, DCSR_POLICY_LAST), *clone;
    oracle model, changed;
    oracle_create(&model, DCSR_FP64, DCSR_POLICY_LAST, ROWS, 100);
    for (uint64_t row = 0; row < ROWS; row++) {
        uint64_t rows[EACH], cols[EACH];
        double values[EACH];
        for (uint64_t i = 0; i < EACH; i++) rows[i] = row, cols[i] = i, values[i] = 1;
        TEST_OK(dcsr_matrix_insert(matrix, EACH, rows, cols, values, NULL));
        TEST_OK(dcsr_matrix_wait(matrix));
        oracle_insert(&model, EACH, rows, cols, values);
    }
    TEST_OK(dcsr_matrix_clone(&clone, matrix));
    oracle_copy(&changed, &model);
    const uint64_t row = 3, col = 0;
    const double value = 7;
    TEST_OK(dcsr_matrix_set(clone, row, col, &value));
    oracle_insert(&changed, 1, &row, &col, &value);
    for (uint64_t i = 0; i < 3; i++) {
        insert_one(clone, &changed, 5, 50 + i, 2);
        insert_one(matrix, &model, 5, 60 + i, 3);
    }
    TEST_MATCHES(matrix, &model);
    TEST_MATCHES(clone, &changed);
    dcsr_matrix_destroy(matrix);
    TEST_MATCHES(clone, &changed);
    dcsr_matrix_destroy(clone);
    oracle_destroy(&model);
    oracle_destroy(&changed);
    test_close(context);
}

/* What the origin has kept goes with the last that shares it, and its blocks serve again. */
Test(clone, outlives_its_origin)
{
    dcsr_context *context = test_context(2);
    oracle model;
    dcsr_matrix *matrix = large(context, NULL, &model), *clone;
    const uint64_t bytes = test_info(matrix).bytes;
    for (int i = 0; i < 20; i++) {
        TEST_OK(dcsr_matrix_clone(&clone, matrix));
        dcsr_matrix_destroy(matrix);
        matrix = clone;
        insert_one(matrix, &model, (uint64_t)i * 30, 5, i);
        TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
        TEST_OK(dcsr_matrix_wait(matrix));
    }
    TEST_MATCHES(matrix, &model);
    cr_assert_lt(test_info(matrix).bytes, 4 * bytes);
    dcsr_matrix_destroy(matrix);
    oracle_destroy(&model);
    test_close(context);
}

/* A program that goes on with a clone, over and over, does not keep all that it has left. */
Test(clone, of_a_clone_and_so_on_keeps_a_bounded_number)
{
    dcsr_context *context = test_context(2);
    const dcsr_matrix_options options = {.defragmentation = DCSR_DEFRAGMENT_OFF};
    oracle model;
    dcsr_matrix *matrix = large(context, &options, &model), *clone;
    uint64_t first = 0, last = 0;
    for (int i = 0; i < 200; i++) {
        TEST_OK(dcsr_matrix_clone(&clone, matrix));
        dcsr_matrix_destroy(matrix);
        matrix = clone;
        insert_one(matrix, &model, (uint64_t)i, 5, i);
        last = test_context_info(context).matrix_bytes;
        if (i == 70) first = last;
    }
    cr_assert_lt(last, 2 * first);
    TEST_MATCHES(matrix, &model);
    dcsr_matrix_destroy(matrix);
    oracle_destroy(&model);
    test_close(context);
}

/* ---- Diffs ---- */

Test(clone, is_compared_in_proportion_to_what_differs)
{
    dcsr_context *context = test_context(2);
    oracle model, changed;
    dcsr_matrix *matrix = large(context, NULL, &model), *clone, *other;
    TEST_OK(dcsr_matrix_clone(&clone, matrix));
    dcsr_view *before = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES),
              *same = test_view(clone, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
    dcsr_diff *diff = diff_of(before, same);
    cr_assert_eq(info_of(diff).rows_differing, 0);
    if (!test_on_device(context)) cr_assert_eq(info_of(diff).rows_compared, 0);
    dcsr_diff_destroy(diff);
    oracle_copy(&changed, &model);
    insert_one(clone, &changed, 300, 599, 8);
    insert_one(matrix, &model, 301, 599, 8);
    dcsr_view *to = test_view(clone, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES),
              *from = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
    diff = diff_of(from, to);
    cr_assert(test_diff_agrees(diff, &model, &changed));
    if (!test_on_device(context)) cr_assert_leq(info_of(diff).rows_compared, 64);
    dcsr_diff_destroy(diff);
    TEST_OK(dcsr_matrix_create(&other, context, DCSR_FP64, SIZE, SIZE, NULL));
    dcsr_view *unrelated = test_view(other, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "or of clones", dcsr_view_diff(&diff, from, unrelated));
    dcsr_view *views[] = {before, same, from, to, unrelated};
    for (int i = 0; i < 5; i++) dcsr_view_destroy(views[i]);
    dcsr_matrix_destroy(other);
    dcsr_matrix_destroy(clone);
    dcsr_matrix_destroy(matrix);
    oracle_destroy(&model);
    oracle_destroy(&changed);
    test_close(context);
}

/* ---- The twin ---- */

/* It is shared too: no CSC has to be made. */
Test(clone, has_a_twin_if_its_origin_has)
{
    dcsr_context *context = test_context(2);
    const dcsr_matrix_options options = {.maintain_transpose = true};
    oracle model;
    dcsr_matrix *matrix = large(context, &options, &model), *clone, *second;
    TEST_OK(dcsr_matrix_clone(&clone, matrix));
    TEST_OK(dcsr_matrix_clone(&second, clone));
    TEST_OK(dcsr_matrix_defragment(clone, DCSR_DEFRAGMENT_WHOLE, NULL));
    TEST_OK(dcsr_matrix_wait(clone));
    dcsr_matrix_destroy(matrix);
    insert_one(clone, &model, 9, 8, 7);
    dcsr_view *view = test_view(clone, DCSR_LAYOUT_CSC, 0);
    char why[TEST_WHY];
    cr_assert(test_view_matches(view, &model, 0, why), "%s", why);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(clone);
    insert_one(second, &model, 9, 8, 7);
    view = test_view(second, DCSR_LAYOUT_CSC, 0);
    cr_assert(test_view_matches(view, &model, 0, why), "%s", why);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(second);
    oracle_destroy(&model);
    test_close(context);
}

/* ---- Errors ---- */

Test(clone, refuses_nothing_but_what_is_no_matrix)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, 0, 0, DCSR_POLICY_ANY), *clone = matrix;
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "clone is NULL", dcsr_matrix_clone(NULL, matrix));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_matrix_clone(&clone, NULL));
    cr_assert_null(clone);
    TEST_OK(dcsr_matrix_clone(&clone, matrix));
    TEST_SHOWS_NOTHING(clone);
    dcsr_matrix_destroy(clone);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

static uint64_t held(dcsr_context *context)
{
    return test_context_info(context).matrix_bytes;
}

/* Clones it with each allocation failing in turn, then has the clone changed likewise. */
static void survive(dcsr_context *context, dcsr_matrix *matrix, const oracle *model)
{
    dcsr_matrix *clone = NULL;
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    const uint64_t before = held(context);
    for (long n = 0; status != DCSR_OK; n++) {
        dcsr_i_fail_allocations_after(n);
        status = dcsr_matrix_clone(&clone, matrix);
        dcsr_i_fail_allocations_after(-1);
        if (status == DCSR_OK) break;
        cr_assert(status == DCSR_ERROR_OUT_OF_MEMORY && !clone, "%s", dcsr_thread_error());
        cr_assert_eq(views_of(matrix), 0);
        if (!test_on_device(context)) cr_assert_eq(held(context), before, "failure %ld leaks", n);
    }
    uint64_t rows[] = {0, 63, 64, 5}, cols[] = {3, 3, 3, 3};
    double values[] = {1, 2, 3, 4};
    for (long n = 0;; n++) {
        dcsr_i_fail_allocations_after(n);
        status = dcsr_matrix_insert(clone, 4, rows, cols, values, NULL);
        if (status == DCSR_OK) status = dcsr_matrix_wait(clone);
        dcsr_i_fail_allocations_after(-1);
        if (status == DCSR_OK) break;
        cr_assert_eq(status, DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
    }
    TEST_MATCHES(matrix, model);
    oracle changed;
    oracle_copy(&changed, model);
    oracle_insert(&changed, 4, rows, cols, values);
    TEST_MATCHES(clone, &changed);
    for (long n = 0;; n++) {
        dcsr_i_fail_allocations_after(n);
        status = dcsr_matrix_defragment(clone, DCSR_DEFRAGMENT_WHOLE, NULL);
        if (status == DCSR_OK) status = dcsr_matrix_wait(clone);
        dcsr_i_fail_allocations_after(-1);
        if (status == DCSR_OK) break;
    }
    cr_assert_eq(views_of(matrix), 0);
    TEST_MATCHES(clone, &changed);
    oracle_destroy(&changed);
    dcsr_matrix_destroy(clone);
    TEST_MATCHES(matrix, model);
}

Test(clone, survives_every_allocation_failing)
{
    dcsr_context *context = test_context(2);
    for (int twin = 0; twin < 2; twin++) {
        const dcsr_matrix_options options = {.policy = DCSR_POLICY_LAST,
                                             .defragmentation = DCSR_DEFRAGMENT_OFF,
                                             .resolve = DCSR_RESOLVE_ON_READ,
                                             .maintain_transpose = twin};
        oracle model;
        dcsr_matrix *matrix = large(context, &options, &model);
        survive(context, matrix, &model);
        dcsr_matrix_destroy(matrix);
        oracle_destroy(&model);
        TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_FP64, 90, 90, &options));
        oracle_create(&model, DCSR_FP64, DCSR_POLICY_LAST, 90, 90);
        insert_one(matrix, &model, 1, 2, 3);
        insert_one(matrix, &model, 80, 2, 3);
        survive(context, matrix, &model);
        dcsr_matrix_destroy(matrix);
        oracle_destroy(&model);
    }
    test_close(context);
}

/* ---- Threads ---- */

/* One of those who change a matrix of their own, which all began as one; read it; and clone it at times. */
typedef struct user {
    dcsr_matrix *matrix;
    dcsr_view *first; /* of the origin, shared */
    oracle model;
    uint64_t seed;
} user;

static void *use(void *argument)
{
    user *u = argument;
    test_random random = {u->seed};
    char why[TEST_WHY];
    const int steps = TEST_SIZE(120, 50, 30);
    for (int step = 0; step < steps; step++) {
        enum { ENTRIES = 40 };
        uint64_t rows[ENTRIES], cols[ENTRIES];
        double values[ENTRIES];
        for (int e = 0; e < ENTRIES; e++) {
            rows[e] = test_random_below(&random, SIZE);
            cols[e] = test_random_below(&random, SIZE);
            values[e] = (double)step;
        }
        const size_t n = step % 7 ? ENTRIES : 1;
        if (step % 5 == 4) {
            TEST_OK(dcsr_matrix_remove(u->matrix, n, rows, cols, NULL));
            oracle_remove(&u->model, n, rows, cols);
        } else {
            TEST_OK(dcsr_matrix_insert(u->matrix, n, rows, cols, values, NULL));
            oracle_insert(&u->model, n, rows, cols, values);
        }
        if (step % 20 == 10) {
            dcsr_matrix *clone;
            TEST_OK(dcsr_matrix_clone(&clone, u->matrix));
            dcsr_matrix_destroy(u->matrix);
            u->matrix = clone;
        }
        if (step == steps / 2) TEST_OK(dcsr_matrix_defragment(u->matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
        if (step % 10) continue;
        dcsr_view *view = test_view(u->matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST);
        cr_assert(test_view_matches(view, &u->model, 0, why), "%s", why);
        dcsr_diff_destroy(diff_of(u->first, view));
        dcsr_view_destroy(view);
    }
    return NULL;
}

Test(clone, is_changed_beside_its_origin)
{
    enum { USERS = 3 };
    dcsr_context *context = test_context(2);
    const dcsr_matrix_options options = {.policy = DCSR_POLICY_LAST};
    user users[USERS];
    pthread_t thread[USERS];
    users[0].matrix = large(context, &options, &users[0].model);
    dcsr_view *first = test_view(users[0].matrix, DCSR_LAYOUT_SEGMENTS, 0);
    for (int i = 0; i < USERS; i++) {
        if (i) TEST_OK(dcsr_matrix_clone(&users[i].matrix, users[0].matrix));
        if (i) oracle_copy(&users[i].model, &users[0].model);
        users[i].seed = (uint64_t)i;
        users[i].first = first;
    }
    for (int i = 0; i < USERS; i++) cr_assert(!pthread_create(&thread[i], NULL, use, &users[i]));
    for (int i = 0; i < USERS; i++) pthread_join(thread[i], NULL);
    dcsr_view_destroy(first);
    for (int i = 0; i < USERS; i++) {
        TEST_OK(dcsr_matrix_wait(users[i].matrix));
        TEST_MATCHES(users[i].matrix, &users[i].model);
        dcsr_matrix_destroy(users[i].matrix);
        oracle_destroy(&users[i].model);
    }
    test_close(context);
}
