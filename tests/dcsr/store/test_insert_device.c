/* test_insert_device.c: batches whose arrays are on a device: what they do, in which order they are read,
 * what is refused; and what only a device does with batches from the host. */
#include "tests/support/support_batches.h"
#include "tests/support/support_transposed.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- What they do ---- */

Test(arrays, do_what_those_of_the_host_do)
{
    static const size_t sizes[] = {0, 1, 31, 32, 33, 700, MOST};
    open_device();
    NEEDS_GPU();
    batch *b = test_allocate(1, sizeof *b);
    test_random random = {1};
    for (int type = 0; type < DCSR_TYPE_COUNT; type++) {
        /* All policies with one type, each type with one at least. */
        int first = type == DCSR_INT32 ? DCSR_POLICY_KEEP : DCSR_POLICY_KEEP + type % 6;
        int last = type == DCSR_INT32 ? DCSR_POLICY_ANY : first;
        for (int policy = first; policy <= last; policy++) {
            oracle model;
            dcsr_matrix *matrix = test_matrix(context, (dcsr_type)type, ROWS, COLS, (dcsr_policy)policy);
            oracle_create(&model, (dcsr_type)type, (dcsr_policy)policy, ROWS, COLS);
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                bool insert = i % 3 != 2;
                fill(b, &random, (dcsr_type)type, sizes[i]);
                TEST_OK(change(matrix, b, (dcsr_type)type, insert));
                follow(&model, b, insert);
            }
            TEST_MATCHES(matrix, &model);
            cr_assert(test_info(matrix).pending_bytes == 0);
            oracle_destroy(&model);
            dcsr_matrix_destroy(matrix);
        }
    }
    free(b);
    close_device();
}

Test(arrays, may_ascend_or_not)
{
    open_device();
    NEEDS_GPU();
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT64, ROWS, COLS, DCSR_POLICY_SUM);
    oracle model;
    oracle_create(&model, DCSR_INT64, DCSR_POLICY_SUM, ROWS, COLS);
    batch *b = test_allocate(1, sizeof *b);
    test_random random = {2};
    for (int order = 0; order < 4; order++) {
        fill(b, &random, DCSR_INT64, 500);
        for (size_t i = 0; i < b->n; i++) {
            size_t at = order == 1 ? b->n - 1 - i : i; /* ascending, descending, */
            b->rows[i] = at / 10, b->cols[i] = at % 10 * 3;
        }
        if (order == 2) b->cols[250] = b->cols[249], b->rows[250] = b->rows[249]; /* two of one place, */
        if (order == 3) b->cols[499] = 0, b->rows[499] = 0;                       /* the last one first */
        TEST_OK(change(matrix, b, DCSR_INT64, true));
        follow(&model, b, true);
        TEST_MATCHES(matrix, &model);
    }
    free(b);
    oracle_destroy(&model);
    dcsr_matrix_destroy(matrix);
    close_device();
}

/* ---- In which order they are read ---- */

Test(arrays, are_read_in_the_order_of_the_callers_stream)
{
    enum { BATCHES = 6 };
    open_device();
    NEEDS_GPU();
    dcsr_matrix *matrix = test_matrix(context, DCSR_UINT16, ROWS, COLS, DCSR_POLICY_LAST);
    oracle model;
    oracle_create(&model, DCSR_UINT16, DCSR_POLICY_LAST, ROWS, COLS);
    batch *b = test_allocate(BATCHES, sizeof *b);
    test_random random = {3};
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < BATCHES; i++) {
            void *callers = round ? NULL : dcsr_i_cuda_handle(stream); /* NULL: the legacy default stream */
            fill(&b[i], &random, DCSR_UINT16, 200);
            send(&b[i], DCSR_UINT16, stream); /* not there yet */
            if (round) dcsr_i_cuda_order_caller_after(callers, stream);
            TEST_OK(give(matrix, &b[i], DCSR_UINT16, i != 3, callers, NULL));
            if (round) dcsr_i_cuda_order_after_caller(stream, callers);
            spoil(&b[i], stream); /* before anybody has waited for anything */
        }
        for (int i = 0; i < BATCHES; i++) follow(&model, &b[i], i != 3);
        TEST_OK(dcsr_matrix_wait(matrix));
        TEST_OK(dcsr_i_cuda_wait(stream, "testing"));
        TEST_MATCHES(matrix, &model);
    }
    cr_assert(test_info(matrix).batches == 2 * BATCHES);
    free(b);
    oracle_destroy(&model);
    dcsr_matrix_destroy(matrix);
    close_device();
}

typedef struct worker {
    pthread_t thread;
    dcsr_matrix *matrix, *shared;
    uint64_t seed;
    oracle model;
} worker;

/* Fills a matrix of its own, and takes part in filling one with others. */
static void *fill_matrices(void *argument)
{
    enum { BATCHES = 5 };
    worker *w = argument;
    batch *b = test_allocate(1, sizeof *b);
    test_random random = {w->seed};
    dcsr_i_cuda_stream *own = dcsr_i_stream_borrow(context);
    cr_assert_not_null(own);
    for (int i = 0; i < BATCHES; i++) {
        fill(b, &random, DCSR_INT64, 100 + 50 * w->seed);
        send(b, DCSR_INT64, own);
        TEST_OK(give(w->matrix, b, DCSR_INT64, true, dcsr_i_cuda_handle(own), NULL));
        TEST_OK(give(w->shared, b, DCSR_INT64, true, dcsr_i_cuda_handle(own), NULL));
        spoil(b, own);
        TEST_OK(dcsr_i_cuda_wait(own, "testing")); /* the copies here may be reused */
        follow(&w->model, b, true);
    }
    dcsr_i_stream_return(context, own);
    TEST_OK(dcsr_matrix_wait(w->matrix));
    free(b);
    return NULL;
}

Test(arrays, of_many_streams_go_to_many_matrices_at_once)
{
    enum { WORKERS = 3, BATCHES = 5 };
    open_device();
    NEEDS_GPU();
    worker w[WORKERS];
    dcsr_matrix *shared = test_matrix(context, DCSR_INT64, ROWS, COLS, DCSR_POLICY_SUM);
    oracle all;
    oracle_create(&all, DCSR_INT64, DCSR_POLICY_SUM, ROWS, COLS);
    for (uint64_t i = 0; i < WORKERS; i++) {
        w[i] = (worker){.matrix = test_matrix(context, DCSR_INT64, ROWS, COLS, DCSR_POLICY_SUM),
                        .shared = shared,
                        .seed = 10 + i};
        oracle_create(&w[i].model, DCSR_INT64, DCSR_POLICY_SUM, ROWS, COLS);
        cr_assert(!pthread_create(&w[i].thread, NULL, fill_matrices, &w[i]));
    }
    batch *b = test_allocate(1, sizeof *b);
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(w[i].thread, NULL);
        test_random random = {w[i].seed};
        for (int k = 0; k < BATCHES; k++) {
            fill(b, &random, DCSR_INT64, 100 + 50 * w[i].seed);
            follow(&all, b, true); /* sums do not depend on the order */
        }
        TEST_MATCHES(w[i].matrix, &w[i].model);
        oracle_destroy(&w[i].model);
        dcsr_matrix_destroy(w[i].matrix);
    }
    TEST_OK(dcsr_matrix_wait(shared));
    TEST_MATCHES(shared, &all);
    free(b);
    oracle_destroy(&all);
    dcsr_matrix_destroy(shared);
    close_device();
}

/* ---- What is refused ---- */

Test(arrays, are_checked_on_the_device)
{
    const struct {
        size_t at, and_at;
        uint64_t row, col;
        const char *says;
    } cases[] = {{0, 90, ROWS, 5, "entry 0 of 100 is (70, 5), outside the 70 x 300 matrix"},
                 {99, 99, 5, COLS, "entry 99 of 100 is (5, 300)"},
                 {40, 41, (uint64_t)1 << 60, (uint64_t)1 << 61,
                  "entry 40 of 100 is (1152921504606846976, 2305843009213693952)"}};
    open_device();
    NEEDS_GPU();
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT64, ROWS, COLS, DCSR_POLICY_LAST);
    batch *b = test_allocate(1, sizeof *b);
    test_random random = {4};
    TEST_INSERT(matrix, {1, 1, 1});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int insert = 0; insert < 2; insert++) {
            fill(b, &random, DCSR_INT64, 100);
            b->rows[cases[i].at] = b->rows[cases[i].and_at] = cases[i].row;
            b->cols[cases[i].at] = b->cols[cases[i].and_at] = cases[i].col;
            TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, cases[i].says, change(matrix, b, DCSR_INT64, insert));
            cr_assert(test_says(insert ? "dcsr_matrix_insert_device" : "dcsr_matrix_remove_device"));
            TEST_OK(dcsr_matrix_wait(matrix)); /* the ticket has told */
            TEST_SHOWS(matrix, {1, 1, 1});
        }
    /* Without a ticket it is told by waiting, and what comes after is applied. */
    fill(b, &random, DCSR_INT64, 10);
    b->cols[3] = COLS;
    send(b, DCSR_INT64, stream);
    TEST_OK(give(matrix, b, DCSR_INT64, true, dcsr_i_cuda_handle(stream), NULL));
    spoil(b, stream);
    int64_t two = 2;
    TEST_OK(dcsr_matrix_insert(matrix, 1, &(uint64_t){2}, &(uint64_t){2}, &two, NULL));
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "entry 3 of 10", dcsr_matrix_wait(matrix));
    TEST_OK(dcsr_i_cuda_wait(stream, "testing"));
    TEST_SHOWS(matrix, {1, 1, 1}, {2, 2, 2});
    free(b);
    dcsr_matrix_destroy(matrix);
    close_device();
}

Test(arrays, must_be_where_the_call_expects_them)
{
    const dcsr_status refused = DCSR_ERROR_INVALID_ARGUMENT;
    open_device();
    NEEDS_GPU();
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT64, ROWS, COLS, DCSR_POLICY_LAST);
    uint64_t *there = (uint64_t *)on_device(sizeof *there), here = 0;
    uint64_t *pinned = dcsr_i_alloc(context, DCSR_I_PINNED, 1, sizeof *pinned);
    dcsr_ticket *ticket = (dcsr_ticket *)&here;
    TEST_REFUSED(refused,
                 "dcsr_matrix_insert_device: rows is in the memory of the host; call dcsr_matrix_insert",
                 dcsr_matrix_insert_device(matrix, 1, &here, there, there, NULL, &ticket));
    cr_assert_null(ticket);
    TEST_REFUSED(refused, "cols is in the memory of the host",
                 dcsr_matrix_insert_device(matrix, 1, there, &here, there, NULL, NULL));
    TEST_REFUSED(refused, "values is in the memory of the host",
                 dcsr_matrix_insert_device(matrix, 1, there, there, pinned, NULL, NULL));
    TEST_REFUSED(refused, "call dcsr_matrix_remove",
                 dcsr_matrix_remove_device(matrix, 1, there, &here, NULL, NULL));
    TEST_REFUSED(refused, "rows is in the memory of a device; call dcsr_matrix_insert_device",
                 dcsr_matrix_insert(matrix, 1, there, &here, &here, NULL));
    TEST_REFUSED(refused, "values is in the memory of a device",
                 dcsr_matrix_insert(matrix, 1, &here, &here, there, NULL));
    TEST_REFUSED(refused, "call dcsr_matrix_remove_device",
                 dcsr_matrix_remove(matrix, 1, &here, there, NULL));
    TEST_REFUSED(refused, "cols is NULL",
                 dcsr_matrix_insert_device(matrix, 1, there, NULL, there, NULL, NULL));
    TEST_REFUSED(refused, "rows is NULL", dcsr_matrix_remove_device(matrix, 1, NULL, there, NULL, NULL));
    TEST_STATUS(DCSR_ERROR_TYPE_MISMATCH,
                dcsr_matrix_insert_device(matrix, 1, there, there, NULL, NULL, NULL));
    TEST_STATUS(DCSR_ERROR_TOO_LARGE,
                dcsr_matrix_insert_device(matrix, (size_t)1 << 32, there, there, there, NULL, NULL));
    TEST_OK(dcsr_matrix_insert_device(matrix, 0, NULL, NULL, NULL, NULL, NULL));
    TEST_OK(dcsr_matrix_remove_device(matrix, 0, NULL, NULL, NULL, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_SHOWS_NOTHING(matrix);
    dcsr_i_free(context, DCSR_I_PINNED, pinned, 1, sizeof *pinned);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, there, sizeof *there, 1);
    dcsr_matrix_destroy(matrix);
    close_device();
}

/* ---- Few entries, which the call applies ---- */

/* From the host's memory. */
static dcsr_status change_here(dcsr_matrix *matrix, batch *b, dcsr_type type, bool insert)
{
    dcsr_ticket *ticket = NULL;
    dcsr_status status = insert
                             ? dcsr_matrix_insert(matrix, b->n, b->rows, b->cols, values_of(b, type), &ticket)
                             : dcsr_matrix_remove(matrix, b->n, b->rows, b->cols, &ticket);
    return waited(status, ticket);
}

/* Batches around the limits between one launch, two and many, of which one in three deletes; a version is held over
 * every second. By turns from the host and from arrays on the device that are ready. */
static void change_by_few(dcsr_type type, dcsr_matrix_options options, uint64_t seed)
{
    static dcsr_status (*const change_from[])(dcsr_matrix *, batch *, dcsr_type,
                                              bool) = {change_here, change_when_ready, change_when_ready};
    static const size_t sizes[] = {1, 2, 1, 31, 40, 41, 1, 1, 63, 64, 65, 500, 7, 1, 300, 1, 33, 2, 299, 301};
    enum { ALL = sizeof sizes / sizeof *sizes };
    oracle model;
    char why[TEST_WHY];
    dcsr_matrix *matrix;
    batch *b = test_allocate(1, sizeof *b);
    test_random random = {seed};
    oracle_create(&model, type, options.policy, ROWS, COLS);
    TEST_OK(dcsr_matrix_create(&matrix, context, type, ROWS, COLS, &options));
    for (size_t i = 0; i < TEST_VARIANT(3 * ALL, ALL, ALL / 2); i++) {
        const bool insert = i % 3 != 2;
        dcsr_view *before = i % 2 ? test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES) : NULL;
        const bool compares = before && i % 4 == 1;
        oracle then;
        if (compares) oracle_copy(&then, &model);
        fill(b, &random, type, sizes[i % ALL]);
        TEST_OK(change_from[i / 2 % 3](matrix, b, type, insert));
        follow(&model, b, insert);
        if (compares) {
            cr_assert(test_view_matches(before, &then, DCSR_VIEW_DUPLICATES, why), "%s", why);
            oracle_destroy(&then);
        }
        dcsr_view_destroy(before);
        if (i % 4 == 3) TEST_MATCHES(matrix, &model);
    }
    TEST_MATCHES(matrix, &model);
    if (options.maintain_transpose) TEST_TRANSPOSES(matrix, &model);
    free(b);
    oracle_destroy(&model);
    dcsr_matrix_destroy(matrix);
}

Test(few, do_what_many_do)
{
    open_device();
    NEEDS_GPU();
    for (int resolve = DCSR_RESOLVE_ON_INSERT; resolve <= DCSR_RESOLVE_ON_READ; resolve++) {
        dcsr_matrix_options options = {.resolve = (dcsr_resolution)resolve, .segments = 2};
        options.policy = DCSR_POLICY_ANY;
        change_by_few(DCSR_PATTERN, options, 20);
        options.policy = DCSR_POLICY_SUM;
        change_by_few(DCSR_FP64, options, 21);
        options.policy = DCSR_POLICY_KEEP;
        change_by_few(DCSR_INT16, options, 22);
        options.policy = DCSR_POLICY_LAST;
        options.maintain_transpose = true;
        change_by_few(DCSR_UINT8, options, 23);
    }
    close_device();
}

/* What the call has applied is there when it returns, whoever waits for it. */
Test(few, are_applied_by_the_call)
{
    open_device();
    NEEDS_GPU();
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT64, ROWS, COLS, DCSR_POLICY_LAST);
    batch b = {.n = 2, .rows = {5, 6}, .cols = {5, 5}, .values = {2, 3}};
    void *const callers[] = {dcsr_i_cuda_handle(stream), NULL};
    for (int legacy = 0; legacy < 2; legacy++) { /* what is left of the default stream cannot be told */
        const dcsr_matrix_info before = test_info(matrix);
        send(&b, DCSR_INT64, stream);
        TEST_OK(dcsr_i_cuda_wait(stream, "testing"));
        TEST_OK(give(matrix, &b, DCSR_INT64, true, callers[legacy], NULL));
        if (!legacy) cr_assert_eq(test_info(matrix).version, before.version + 1);
        TEST_OK(dcsr_matrix_wait(matrix));
        cr_assert_eq(test_info(matrix).version, before.version + 1);
        spoil(&b, stream);
        TEST_SHOWS(matrix, {5, 5, 2}, {6, 5, 3});
    }
    dcsr_matrix_destroy(matrix);
    close_device();
}

/* An entry out of range is reported by the ticket, as of those that are queued, and nothing of the batch is done. */
Test(few, are_checked_where_they_are_applied)
{
    static const size_t sizes[] = {1, 30, 60, 100, 300};
    open_device();
    NEEDS_GPU();
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT64, ROWS, COLS, DCSR_POLICY_LAST),
                *empty = test_matrix(context, DCSR_INT64, 0, 0, DCSR_POLICY_LAST);
    batch *b = test_allocate(1, sizeof *b);
    test_random random = {6};
    TEST_INSERT(matrix, {1, 1, 1});
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int insert = 0; insert < 2; insert++) {
            const size_t n = sizes[i], at = (size_t)test_random_below(&random, n);
            char says[64];
            fill(b, &random, DCSR_INT64, n);
            b->rows[at] = insert ? ROWS : (uint64_t)1 << 60, b->cols[at] = insert ? 5 : COLS;
            b->rows[n - 1] = b->rows[at], b->cols[n - 1] = b->cols[at];
            snprintf(says, sizeof says, "entry %zu of %zu is (%llu, %llu), outside the 70 x 300 matrix", at,
                     n, (unsigned long long)b->rows[at], (unsigned long long)b->cols[at]);
            TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, says,
                         change_when_ready(matrix, b, DCSR_INT64, insert));
            cr_assert(test_says(insert ? "dcsr_matrix_insert_device" : "dcsr_matrix_remove_device"));
            TEST_SHOWS(matrix, {1, 1, 1});
            TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "entry 0 of",
                         change_when_ready(empty, b, DCSR_INT64, insert));
        }
    free(b);
    dcsr_matrix_destroy(empty);
    dcsr_matrix_destroy(matrix);
    close_device();
}

/* A batch of a few entries that needs far more places than any before: its row moves. */
Test(few, may_need_more_room_than_was_likely)
{
    open_device();
    NEEDS_GPU();
    for (int resolve = DCSR_RESOLVE_ON_INSERT; resolve <= DCSR_RESOLVE_ON_READ; resolve++) {
        oracle model;
        dcsr_matrix_options options = {
            .policy = DCSR_POLICY_KEEP, .resolve = (dcsr_resolution)resolve, .segments = 2};
        dcsr_matrix *matrix;
        batch *b = test_allocate(1, sizeof *b);
        oracle_create(&model, DCSR_INT64, options.policy, ROWS, COLS);
        TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_INT64, ROWS, COLS, &options));
        static const size_t sizes[] = {MOST, MOST / 2, 1, 1, MOST, 2, 1, 1};
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            b->n = sizes[i];
            for (size_t k = 0; k < b->n; k++)
                b->rows[k] = k % 5 ? 7 : k % ROWS, b->cols[k] = (k * 7 + i) % COLS, b->values[k] = k;
            TEST_OK(change_here(matrix, b, DCSR_INT64, true));
            follow(&model, b, true);
            TEST_MATCHES(matrix, &model);
        }
        free(b);
        oracle_destroy(&model);
        dcsr_matrix_destroy(matrix);
    }
    close_device();
}

/* ---- When something is lacking ---- */

/* A matrix with a long row, and batches that make it move. */
static dcsr_matrix *matrix_with_hub(dcsr_policy policy, oracle *model, batch *b, test_random *random)
{
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT64, ROWS, COLS, policy);
    oracle_create(model, DCSR_INT64, policy, ROWS, COLS);
    for (int i = 0; i < 4; i++) {
        fill(b, random, DCSR_INT64, 20);
        TEST_OK(change(matrix, b, DCSR_INT64, true));
        follow(model, b, true);
    }
    return matrix;
}

/* One view of all that can be made: each is compared row by row. */
static void check_one_view(dcsr_matrix *matrix, const oracle *model)
{
    char why[TEST_WHY];
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
    cr_assert(test_view_matches(view, model, DCSR_VIEW_DUPLICATES, why), "%s", why);
    dcsr_view_destroy(view);
}

typedef enum source { HOST, READY, LATE } source;

/* Few that are ready are applied by the call; of the legacy default stream that cannot be told. */
static dcsr_status give_from(source from, dcsr_matrix *matrix, const batch *b, bool insert,
                             dcsr_ticket **ticket)
{
    if (from != HOST)
        return give(matrix, b, DCSR_INT64, insert, from == READY ? dcsr_i_cuda_handle(stream) : NULL, ticket);
    return insert ? dcsr_matrix_insert(matrix, b->n, b->rows, b->cols, b->values, ticket)
                  : dcsr_matrix_remove(matrix, b->n, b->rows, b->cols, ticket);
}

/* Lets the n-th allocation and all later ones fail, for n = 0, 1, ..., until the batch is applied. */
static void run_short(void (*fail_after)(long n), source from, dcsr_policy policy, bool insert, size_t size)
{
    oracle model;
    batch *b = test_allocate(1, sizeof *b);
    test_random random = {5};
    dcsr_matrix *matrix = matrix_with_hub(policy, &model, b, &random);
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    for (long n = 0; status != DCSR_OK; n++) {
        dcsr_ticket *ticket = NULL;
        cr_assert(n < 1000, "it never succeeds");
        fill(b, &random, DCSR_INT64, size);
        send(b, DCSR_INT64, stream);
        TEST_OK(dcsr_i_cuda_wait(stream, "testing"));
        fail_after(n);
        status = give_from(from, matrix, b, insert, &ticket);
        cr_assert((status == DCSR_OK) == (ticket != NULL));
        status = waited(status, ticket);
        cr_assert(status == DCSR_OK || (status == DCSR_ERROR_OUT_OF_MEMORY && dcsr_thread_error()[0]),
                  "after %ld: %s", n, dcsr_thread_error());
        fail_after(-1);
        spoil(b, stream);
        TEST_OK(dcsr_i_cuda_wait(stream, "testing"));
        TEST_OK(dcsr_matrix_wait(matrix));
        if (status == DCSR_OK) follow(&model, b, insert);
        check_one_view(matrix, &model);
    }
    TEST_MATCHES(matrix, &model);
    free(b);
    oracle_destroy(&model);
    dcsr_matrix_destroy(matrix);
}

Test(memory, may_be_lacking_at_every_step)
{
    open_device();
    NEEDS_GPU();
    run_short(dcsr_i_fail_allocations_after, LATE, DCSR_POLICY_SUM, true, 300);
    if (!TEST_THREAD_SANITIZER) run_short(dcsr_i_fail_allocations_after, LATE, DCSR_POLICY_KEEP, true, 300);
    run_short(dcsr_i_fail_allocations_after, LATE, DCSR_POLICY_SUM, false, 300);
    run_short(dcsr_i_fail_allocations_after, LATE, DCSR_POLICY_SUM, true, 60);
    run_short(dcsr_i_fail_allocations_after, LATE, DCSR_POLICY_SUM, true, 9);
    close_device();
}

#ifdef DCSR_SIMT
Test(memory, may_be_refused_by_the_device_at_every_step)
{
    open_device();
    NEEDS_GPU();
    run_short(simt_fail_allocations_after, LATE, DCSR_POLICY_KEEP, true, 300);
    run_short(simt_fail_allocations_after, LATE, DCSR_POLICY_SUM, true, 300);
    run_short(simt_fail_allocations_after, LATE, DCSR_POLICY_SUM, true, 9);
    run_short(simt_fail_allocations_after, READY, DCSR_POLICY_SUM, true, 300);
    run_short(simt_fail_allocations_after, READY, DCSR_POLICY_SUM, true, 9);
    run_short(simt_fail_allocations_after, HOST, DCSR_POLICY_SUM, true, 9);
    close_device();
}
#endif

Test(memory, may_be_lacking_where_the_call_applies_few)
{
    open_device();
    NEEDS_GPU();
    static const struct {
        source from;
        size_t size;
    } cases[] = {{READY, 300}, {READY, 60}, {READY, 9}, {HOST, 60}, {HOST, 9}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int insert = 0; insert < 2; insert++)
            run_short(dcsr_i_fail_allocations_after, cases[i].from, DCSR_POLICY_SUM, insert, cases[i].size);
    close_device();
}

/* The root of 2^32 rows takes 16 MiB. */
Test(resize, that_fails_fails_the_arrays_that_need_it)
{
    open_limited(24 << 20);
    NEEDS_GPU();
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT64, 10, 10, DCSR_POLICY_LAST);
    batch *outside = test_allocate(2, sizeof *outside), *inside = outside + 1;
    *outside = (batch){.n = 2, .rows = {5, DCSR_MAX_ROWS - 1}, .cols = {5, 5}, .values = {1, 1}};
    *inside = (batch){.n = 2, .rows = {5, 6}, .cols = {5, 5}, .values = {2, 3}};
    for (int i = 0; i < 2; i++) {
        dcsr_ticket *ticket[3] = {NULL};
        send(outside, DCSR_INT64, stream);
        send(inside, DCSR_INT64, stream);
        void *callers = dcsr_i_cuda_handle(stream);
        TEST_OK(dcsr_matrix_resize(matrix, DCSR_MAX_ROWS, 10, &ticket[0]));
        dcsr_status needs = give(matrix, outside, DCSR_INT64, true, callers, &ticket[1]);
        dcsr_status may = give(matrix, inside, DCSR_INT64, true, callers, &ticket[2]);
        TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY, waited(DCSR_OK, ticket[0]));
        TEST_STATUS(DCSR_ERROR_INDEX_OUT_OF_RANGE, waited(needs, ticket[1]));
        TEST_OK(waited(may, ticket[2]));
        spoil(outside, stream);
        spoil(inside, stream);
        TEST_OK(dcsr_i_cuda_wait(stream, "testing"));
        TEST_SHOWS(matrix, {5, 5, 2}, {6, 5, 3});
    }
    free(outside);
    dcsr_matrix_destroy(matrix);
    close_device();
}
