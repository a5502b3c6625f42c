/* test_limits.c: the memory limit of a context, and changes that fail when they are applied: what was there
 * stays, and what was queued behind them is judged by it. */
#include "tests/support/support.h"

#include "dcsr/base/runtime.h"
#include <stdlib.h>

static dcsr_status waited(dcsr_status status, dcsr_ticket *ticket)
{
    if (status == DCSR_OK) status = dcsr_ticket_wait(ticket);
    dcsr_ticket_destroy(ticket);
    return status;
}

static dcsr_context *limited_context(uint64_t limit)
{
    dcsr_context *context = NULL;
    dcsr_context_options options = {.device = DCSR_DEVICE_CPU, .threads = 2, .memory_limit = limit};
    TEST_OK(dcsr_context_create(&context, &options));
    return context;
}

Test(limit, of_memory_is_told)
{
    dcsr_context *context = limited_context(12345678);
    dcsr_context_info info;
    TEST_OK(dcsr_context_get_info(context, &info));
    cr_assert(info.memory_limit == 12345678);
    test_close(context);
}

Test(limit, of_memory_stops_growth_and_loses_nothing)
{
    enum { LIMIT = 6 << 20, SIDE = 3000, ENTRIES = 400 };
    dcsr_context *context = limited_context(LIMIT);
    dcsr_matrix *ballast = test_matrix(context, DCSR_PATTERN, 1 << 24, 1, DCSR_POLICY_ANY);
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT64, SIDE, SIDE, DCSR_POLICY_SUM);
    oracle model;
    oracle_create(&model, DCSR_INT64, DCSR_POLICY_SUM, SIDE, SIDE);
    test_random random = {1};
    dcsr_context_info info;
    int refused = 0;
    TEST_INSERT(ballast, {1, 0, 1});
    for (int i = 0; i < 5000 && refused < 3; i++) {
        uint64_t row[ENTRIES], col[ENTRIES];
        int64_t value[ENTRIES];
        dcsr_ticket *ticket = NULL;
        for (int e = 0; e < ENTRIES; e++) {
            row[e] = test_random_below(&random, SIDE);
            col[e] = test_random_below(&random, SIDE);
            value[e] = e;
        }
        dcsr_status status = dcsr_matrix_insert(matrix, ENTRIES, row, col, value, &ticket);
        status = waited(status, ticket);
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
        if (status == DCSR_OK)
            oracle_insert(&model, ENTRIES, row, col, value);
        else
            refused++;
        TEST_OK(dcsr_context_get_info(context, &info));
        cr_assert(info.peak_bytes <= LIMIT, "%lu bytes of %d", (unsigned long)info.peak_bytes, LIMIT);
    }
    cr_assert(refused == 3, "two million entries do not fit");
    dcsr_matrix_destroy(ballast); /* makes room for the view */
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
    char why[TEST_WHY];
    cr_assert(test_view_matches(view, &model, DCSR_VIEW_DUPLICATES, why), "%s", why);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    oracle_destroy(&model);
    test_close(context);
}

Test(limit, of_address_space_stops_growth_and_loses_nothing)
{
    enum { SIDE = 1000 };
    dcsr_context *context = NULL;
    dcsr_matrix *matrix = NULL;
    TEST_OK(dcsr_context_create(&context, &(dcsr_context_options){.threads = 1, .reserve_bytes = 1 << 20}));
    matrix = test_matrix(context, DCSR_FP64, SIDE, 1 << 20, DCSR_POLICY_LAST);
    uint64_t rows[SIDE], cols[SIDE];
    double values[SIDE];
    dcsr_status status = DCSR_OK;
    int batches = 0;
    for (; batches < 10000 && status == DCSR_OK; batches++) {
        for (uint64_t r = 0; r < SIDE; r++) rows[r] = r, cols[r] = (uint64_t)batches, values[r] = batches;
        dcsr_ticket *ticket = NULL;
        status = dcsr_matrix_insert(matrix, SIDE, rows, cols, values, &ticket);
        status = waited(status, ticket);
    }
    cr_assert(status == DCSR_ERROR_OUT_OF_MEMORY, "%s after %d batches", dcsr_status_name(status), batches);
    cr_assert(batches > 20, "1 MiB holds more than %d entries", batches * SIDE);
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
    cr_assert(test_view_info(view).nnz == (uint64_t)(batches - 1) * SIDE);
    dcsr_view_destroy(view);
    TEST_OK(dcsr_matrix_resize(matrix, 0, 1 << 20, NULL));
    TEST_OK(dcsr_matrix_resize(matrix, SIDE, 1 << 20, NULL));
    TEST_INSERT(matrix, {0, 1 << 19, 1}, {7, 7, 7});
    TEST_SHOWS(matrix, {0, 1 << 19, 1}, {7, 7, 7});
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* Each would have a TiB, and there are 128. */
Test(limit, of_address_space_is_shared_by_any_number_of_matrices)
{
    if (TEST_THREAD_SANITIZER) cr_skip_test("ThreadSanitizer leaves two TiB of address space");
    enum { MATRICES = 400, SIDE = 4000 };
    /* On the cpu small ones would have none. */
    const uint64_t n = (uint64_t)test_size(SIDE);
    dcsr_context *context;
    static dcsr_matrix *matrix[MATRICES];
    static uint64_t rows[SIDE], cols[SIDE];
    static double values[SIDE];
    TEST_OK(dcsr_context_create(&context, &(dcsr_context_options){.threads = 1}));
    context->reserve_bytes = (uint64_t)1 << 40; /* as on a machine of half a TiB */
    for (int m = 0; m < MATRICES; m++) {
        matrix[m] = test_matrix(context, DCSR_FP64, n, n, DCSR_POLICY_LAST);
        for (uint64_t i = 0; i < n; i++) rows[i] = i, cols[i] = (i + (uint64_t)m) % n;
        TEST_OK(dcsr_matrix_insert(matrix[m], n, rows, cols, values, NULL));
    }
    for (int m = 0; m < MATRICES; m++) {
        TEST_OK(dcsr_matrix_wait(matrix[m]));
        cr_assert_eq(test_info(matrix[m]).stored, n);
        dcsr_matrix_destroy(matrix[m]);
    }
    test_close(context);
}

/* ---- At the limit ---- */

enum { FULL = 16 << 20, FULL_SIDE = 20000 };

/* A context that is full: a matrix that takes not even one entry more, and what it holds. */
typedef struct full {
    dcsr_context *context;
    dcsr_matrix *matrix;
    oracle model;
    test_random random;
} full;

/* Random entries, so many a batch, until three batches in a row are refused. */
static void fill_up(full *f, size_t batch)
{
    uint64_t row[4000], col[4000];
    int64_t value[4000];
    for (int refused = 0; refused < 3;) {
        for (size_t e = 0; e < batch; e++) {
            row[e] = test_random_below(&f->random, FULL_SIDE);
            col[e] = test_random_below(&f->random, 50);
            value[e] = (int64_t)test_random_below(&f->random, 1000);
        }
        dcsr_ticket *ticket = NULL;
        dcsr_status status = dcsr_matrix_insert(f->matrix, batch, row, col, value, &ticket);
        status = waited(status, ticket);
        if (status == DCSR_OK)
            oracle_insert(&f->model, batch, row, col, value);
        else
            TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY, status);
        refused = status == DCSR_OK ? 0 : refused + 1;
    }
}

static void set_up_full(full *f, dcsr_policy policy)
{
    *f = (full){.context = limited_context(FULL), .random = {3}};
    f->matrix = test_matrix(f->context, DCSR_INT64, FULL_SIDE, FULL_SIDE, policy);
    oracle_create(&f->model, DCSR_INT64, policy, FULL_SIDE, FULL_SIDE);
    for (size_t batch = 4000; batch; batch /= 20) fill_up(f, batch);
    fill_up(f, 1);
}

static void tear_down_full(full *f)
{
    dcsr_context_info info;
    TEST_OK(dcsr_context_get_info(f->context, &info));
    cr_assert(info.peak_bytes <= FULL, "%lu bytes", (unsigned long)info.peak_bytes);
    dcsr_matrix_destroy(f->matrix);
    oracle_destroy(&f->model);
    test_close(f->context);
}

static void see_what_is_there(full *f)
{
    dcsr_matrix_info info;
    uint64_t nnz, value;
    TEST_OK(dcsr_matrix_get_info(f->matrix, &info));
    cr_assert(info.rows == f->model.rows && info.cols == f->model.cols);
    TEST_OK(dcsr_matrix_get_nnz(f->matrix, &nnz));
    cr_assert(nnz == oracle_nnz(&f->model), "%lu of %lu entries", (unsigned long)nnz,
              (unsigned long)oracle_nnz(&f->model));
    for (int i = 0; i < 500 && f->model.rows; i++) {
        uint64_t row = test_random_below(&f->random, f->model.rows), col = test_random_below(&f->random, 50);
        int64_t got = 0;
        bool stored, there = oracle_get(&f->model, row, col, &value);
        TEST_OK(dcsr_matrix_get(f->matrix, row, col, &got, &stored));
        cr_assert(stored == there && (!there || got == (int64_t)value));
    }
    TEST_OK(dcsr_matrix_wait(f->matrix));
}

static void shrink(full *f, uint64_t rows, uint64_t cols)
{
    dcsr_ticket *ticket = NULL;
    dcsr_status status = dcsr_matrix_resize(f->matrix, rows, cols, &ticket);
    TEST_OK(waited(status, ticket));
    oracle_resize(&f->model, rows, cols);
}

Test(limit, leaves_room_to_ask_and_to_shrink)
{
    full f;
    set_up_full(&f, DCSR_POLICY_LAST);
    see_what_is_there(&f);
    dcsr_view *view[100];
    char why[TEST_WHY];
    oracle before;
    oracle_copy(&before, &f.model);
    for (int i = 0; i < 100; i++) view[i] = test_view(f.matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
    for (uint64_t row = 0; row < 20; row++) {
        uint64_t col = 7;
        dcsr_ticket *ticket = NULL;
        dcsr_status status = dcsr_matrix_remove(f.matrix, 1, &row, &col, &ticket);
        TEST_OK(waited(status, ticket));
        oracle_remove(&f.model, 1, &row, &col);
    }
    see_what_is_there(&f);
    /* To the middle of a page, to the end of one, and to nothing, with views that see what goes. */
    shrink(&f, FULL_SIDE - 100, FULL_SIDE);
    see_what_is_there(&f);
    shrink(&f, FULL_SIDE / 128 * 64, FULL_SIDE);
    see_what_is_there(&f);
    shrink(&f, 0, 0);
    see_what_is_there(&f);
    cr_assert(test_view_matches(view[7], &before, DCSR_VIEW_DUPLICATES, why), "%s", why);
    for (int i = 0; i < 100; i++) dcsr_view_destroy(view[i]);
    shrink(&f, FULL_SIDE, FULL_SIDE); /* grows */
    for (int i = 0; i < 3; i++) fill_up(&f, 4000 >> 5 * i);
    see_what_is_there(&f);
    oracle_destroy(&before);
    tear_down_full(&f);
}

Test(limit, leaves_room_to_shrink_what_nobody_looks_at)
{
    full f;
    dcsr_context_info info;
    set_up_full(&f, DCSR_POLICY_KEEP);
    see_what_is_there(&f);
    TEST_OK(dcsr_context_get_info(f.context, &info));
    uint64_t bytes = info.matrix_bytes;
    shrink(&f, 10, FULL_SIDE);
    see_what_is_there(&f);
    TEST_OK(dcsr_matrix_defragment(f.matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
    TEST_OK(dcsr_matrix_wait(f.matrix));
    see_what_is_there(&f);
    TEST_OK(dcsr_context_get_info(f.context, &info));
    cr_assert(info.matrix_bytes < bytes);
    tear_down_full(&f);
}

/* Defragmentation needs room for what it moves: it is done, or nothing happens. */
Test(limit, lets_defragmentation_fail_without_harm)
{
    full f;
    set_up_full(&f, DCSR_POLICY_LAST);
    for (int scope = DCSR_DEFRAGMENT_WHOLE; scope <= DCSR_DEFRAGMENT_SELECTED; scope++) {
        dcsr_ticket *ticket = NULL;
        dcsr_status status = dcsr_matrix_defragment(f.matrix, (dcsr_defragment_scope)scope, &ticket);
        status = waited(status, ticket);
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY);
        see_what_is_there(&f);
    }
    tear_down_full(&f);
}

/* On a device asking takes memory, which is set aside; what is unresolved has to be resolved to be counted.
 */
Test(limit, leaves_room_on_a_device_too)
{
    enum { LIMIT = 10 << 20, SIDE = 3000, ENTRIES = 4000 };
    dcsr_context *context = NULL;
    dcsr_matrix_info info;
    TEST_OK(dcsr_context_create(&context, &(dcsr_context_options){.threads = 2, .memory_limit = LIMIT}));
    if (!test_on_device(context)) cr_skip_test("there is no device");
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT64, SIDE, SIDE, DCSR_POLICY_KEEP);
    test_random random = {1};
    uint64_t row[ENTRIES], col[ENTRIES], stored = 0;
    int64_t value[ENTRIES] = {0};
    for (int refused = 0; refused < 3;) {
        dcsr_ticket *ticket = NULL;
        for (int e = 0; e < ENTRIES; e++) {
            row[e] = test_random_below(&random, SIDE);
            col[e] = test_random_below(&random, SIDE);
        }
        dcsr_status status = dcsr_matrix_insert(matrix, ENTRIES, row, col, value, &ticket);
        status = waited(status, ticket);
        if (status != DCSR_OK) TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY, status);
        refused = status == DCSR_OK ? 0 : refused + 1;
        stored += status == DCSR_OK ? ENTRIES : 0;
    }
    TEST_OK(dcsr_matrix_get_info(matrix, &info));
    cr_assert(stored && info.stored == stored, "%lu entries", (unsigned long)stored);
    bool there;
    TEST_OK(dcsr_matrix_get(matrix, row[0], col[0], NULL, &there));
    TEST_OK(dcsr_matrix_resize(matrix, SIDE / 2, SIDE, NULL));
    TEST_OK(dcsr_matrix_resize(matrix, 0, 0, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_OK(dcsr_matrix_get_info(matrix, &info));
    cr_assert(info.stored == 0 && info.rows == 0);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(asking, takes_no_memory)
{
    dcsr_context *context = limited_context(FULL);
    for (int policy = DCSR_POLICY_KEEP; policy < DCSR_POLICY_COUNT; policy++) {
        dcsr_matrix *matrix = test_matrix(context, DCSR_INT64, 100, 100, (dcsr_policy)policy);
        TEST_INSERT(matrix, {5, 5, 1}, {5, 7, 2}, {99, 3, 3});
        TEST_INSERT(matrix, {5, 5, 2}, {5, 1, 2});
        dcsr_view *held = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
        TEST_REMOVE(matrix, {5, 7, 0}, {99, 3, 0}); /* leaves tombstones behind a view that is held */
        dcsr_view_destroy(held);
        TEST_INSERT(matrix, {5, 7, 2}, {5, 7, 5});
        dcsr_matrix_info info;
        int64_t value;
        uint64_t nnz, before = dcsr_i_allocations();
        bool stored;
        TEST_OK(dcsr_matrix_get_info(matrix, &info));
        TEST_OK(dcsr_matrix_get_nnz(matrix, &nnz));
        TEST_OK(dcsr_matrix_get(matrix, 5, 7, &value, &stored));
        TEST_OK(dcsr_matrix_wait(matrix));
        cr_assert_eq(dcsr_i_allocations(), before);
        cr_assert_eq(nnz, policy == DCSR_POLICY_KEEP ? 5 : 3);
        cr_assert(stored && info.unresolved_rows == 2);
        dcsr_matrix_destroy(matrix);
    }
    test_close(context);
}

/* Rows whose entries behind the ascending beginning are too many to be sorted in passing, over more columns
 * than are looked at at once. */
Test(nnz, of_long_unresolved_rows)
{
    enum { LENGTH = 4000, BATCHES = 6 };
    const uint64_t spread[] = {100, 3000, 800000, DCSR_MAX_COLS};
    dcsr_context *context = test_context(2);
    for (int s = 0; s < 4; s++)
        for (int policy = DCSR_POLICY_KEEP; policy <= DCSR_POLICY_SUM; policy++) {
            dcsr_matrix *matrix = NULL;
            dcsr_matrix_options options = {.policy = (dcsr_policy)policy,
                                           .defragmentation = DCSR_DEFRAGMENT_OFF};
            TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_INT64, 3, DCSR_MAX_COLS, &options));
            test_random random = {17};
            for (int b = 0; b < BATCHES; b++) {
                static uint64_t row[LENGTH], col[LENGTH];
                static int64_t value[LENGTH];
                for (int e = 0; e < LENGTH; e++) {
                    row[e] = test_random_below(&random, 3);
                    col[e] = test_random_below(&random, spread[s]);
                }
                TEST_OK(b % 3 == 2 ? dcsr_matrix_remove(matrix, LENGTH, row, col, NULL)
                                   : dcsr_matrix_insert(matrix, LENGTH, row, col, value, NULL));
                TEST_OK(dcsr_matrix_wait(matrix));
                uint64_t nnz;
                dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
                TEST_OK(dcsr_matrix_get_nnz(matrix, &nnz));
                cr_assert_eq(nnz, test_view_info(view).nnz);
                if (!test_on_device(context)) dcsr_i_fail_allocations_after(0);
                TEST_OK(dcsr_matrix_get_nnz(matrix, &nnz));
                dcsr_i_fail_allocations_after(-1);
                cr_assert_eq(nnz, test_view_info(view).nnz);
                dcsr_view_destroy(view);
            }
            dcsr_matrix_destroy(matrix);
        }
    test_close(context);
}

Test(wait, names_the_first_failure_once)
{
    enum { ENTRIES = 100000 };
    dcsr_context *context = limited_context(4 << 20);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, ENTRIES, 1, DCSR_POLICY_LAST);
    uint64_t *rows = test_allocate(ENTRIES, sizeof *rows), *cols = test_allocate(ENTRIES, sizeof *cols);
    double *values = test_allocate(ENTRIES, sizeof *values);
    for (uint64_t i = 0; i < ENTRIES; i++) rows[i] = i * 7919 % ENTRIES;
    dcsr_status status = dcsr_matrix_insert(matrix, ENTRIES, rows, cols, values, NULL);
    if (status == DCSR_OK) status = dcsr_matrix_wait(matrix);
    cr_assert(status == DCSR_ERROR_OUT_OF_MEMORY, "they do not fit with what it takes to sort them");
    cr_assert(dcsr_thread_error()[0]);
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_SHOWS_NOTHING(matrix);
    TEST_INSERT(matrix, {7, 0, 70});
    TEST_SHOWS(matrix, {7, 0, 70});
    free(rows);
    free(cols);
    free(values);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* Resizes with allocations failing from the first point on that the worker reaches, so that the call succeeds
 * and the change fails. */
static dcsr_status resize_in_vain(dcsr_matrix *matrix, uint64_t rows, uint64_t cols)
{
    dcsr_ticket *ticket = NULL;
    dcsr_status status = DCSR_OK;
    for (long n = 0; !ticket; n++) {
        dcsr_i_fail_allocations_after(n);
        status = dcsr_matrix_resize(matrix, rows, cols, &ticket);
        if (ticket) status = dcsr_ticket_wait(ticket);
        dcsr_i_fail_allocations_after(-1);
    }
    dcsr_ticket_destroy(ticket);
    return status;
}

Test(resize, that_fails_leaves_the_bounds_as_they_were)
{
    const uint64_t to[][2] = {{200000, 50000}, {70, 100}, {100, 50}};
    dcsr_context *context = test_context(1);
    for (int i = 0; i < 3; i++) {
        dcsr_matrix *matrix = test_matrix(context, DCSR_INT64, 100, 100, DCSR_POLICY_LAST);
        TEST_INSERT(matrix, {0, 0, 1}, {0, 99, 2}, {80, 80, 3}, {80, 10, 4}, {99, 99, 5});
        TEST_INSERT(matrix, {0, 0, 10}, {80, 80, 30}, {80, 20, 40});
        TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY, resize_in_vain(matrix, to[i][0], to[i][1]));
        TEST_SHOWS(matrix, {0, 0, 10}, {0, 99, 2}, {80, 10, 4}, {80, 20, 40}, {80, 80, 30}, {99, 99, 5});
        uint64_t outside = 100, inside = 99;
        int64_t value = 50;
        const dcsr_status refused = DCSR_ERROR_INDEX_OUT_OF_RANGE;
        TEST_STATUS(refused, dcsr_matrix_insert(matrix, 1, &outside, &inside, &value, NULL));
        TEST_STATUS(refused, dcsr_matrix_remove(matrix, 1, &inside, &outside, NULL));
        TEST_INSERT(matrix, {99, 99, 50}, {80, 99, 6});
        TEST_REMOVE(matrix, {80, 10, 0});
        TEST_SHOWS(matrix, {0, 0, 10}, {0, 99, 2}, {80, 20, 40}, {80, 80, 30}, {80, 99, 6}, {99, 99, 50});
        dcsr_matrix_destroy(matrix);
    }
    test_close(context);
}

Test(resize, that_fails_fails_the_entries_that_need_it)
{
    enum { LONG = 16000, STEP = 500 };
    dcsr_context *context = limited_context(640 << 10);
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT64, 10, LONG, DCSR_POLICY_LAST);
    for (uint64_t j = 0; j < LONG; j += STEP) {
        uint64_t rows[STEP] = {0}, cols[STEP];
        int64_t values[STEP] = {0};
        for (uint64_t k = 0; k < STEP; k++) cols[k] = j + k;
        TEST_OK(dcsr_matrix_insert(matrix, STEP, rows, cols, values, NULL));
        TEST_OK(dcsr_matrix_wait(matrix));
    }
    for (int i = 0; i < 100; i++) {
        uint64_t inside = 5, outside = DCSR_MAX_ROWS - 1;
        int64_t value = i;
        dcsr_ticket *ticket[3] = {NULL};
        /* The long row would have to move, for which there is no room. */
        TEST_OK(dcsr_matrix_resize(matrix, DCSR_MAX_ROWS, LONG - 1, &ticket[0]));
        dcsr_status needs = dcsr_matrix_insert(matrix, 1, &outside, &inside, &value, &ticket[1]);
        dcsr_status may = dcsr_matrix_insert(matrix, 1, &inside, &inside, &value, &ticket[2]);
        TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY, waited(DCSR_OK, ticket[0]));
        TEST_STATUS(DCSR_ERROR_INDEX_OUT_OF_RANGE, waited(needs, ticket[1]));
        TEST_OK(waited(may, ticket[2]));
        bool stored = false;
        TEST_OK(dcsr_matrix_get(matrix, inside, inside, &value, &stored));
        cr_assert(stored && value == i);
    }
    dcsr_matrix_destroy(matrix);
    test_close(context);
}
