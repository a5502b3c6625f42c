/* test_multi_matrix.c: partitioned matrices under random changes, beside readers, without memory, and where calls are
 * wrong. */
#include "dcsr/base/alloc.h"
#include "tests/support/support_multi.h"
#include <dcsr/convert.h>
#include <dcsr/multi.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 230, COLS = 190, BATCH = 600, HELD = 3 };

TestSuite(multi_matrix, .init = set_devices);

/* So many devices, with so much memory each; 0: all that there is. */
static dcsr_multi *open_devices(int count, uint64_t memory_limit)
{
    return test_devices_with(count, &(dcsr_multi_options){.threads = 2, .memory_limit = memory_limit});
}

/* ---- Comparing ---- */

/* Whether the parts show, row by row, what one oracle does. */
static void expect_view(dcsr_multi_view *view, const oracle *model, unsigned flags)
{
    dcsr_multi_view_info info;
    TEST_OK(dcsr_multi_view_get_info(view, &info));
    cr_assert(info.rows == model->rows && info.cols == model->cols && info.type == model->type);
    cr_assert(info.border[0] == 0 && info.border[info.parts] == info.rows);
    for (uint64_t k = 0; k < info.parts; k++) {
        /* The rows of a part, as an oracle of their own. */
        oracle part = *model;
        char why[TEST_WHY];
        dcsr_view *shown;
        part.rows = info.border[k + 1] - info.border[k];
        part.row = model->row + info.border[k];
        TEST_OK(dcsr_multi_view_get_part(view, k, &shown));
        cr_assert(test_view_matches(shown, &part, flags, why), "part %" PRIu64 ": %s", k, why);
    }
}

static dcsr_multi_view *view_of(dcsr_multi_matrix *matrix, dcsr_layout layout, unsigned flags)
{
    dcsr_multi_view *view;
    TEST_OK(dcsr_multi_view_create(&view, matrix, layout, flags));
    return view;
}

static void expect(dcsr_multi_matrix *matrix, const oracle *model)
{
    dcsr_multi_view *view = view_of(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST);
    expect_view(view, model, 0);
    dcsr_multi_view_destroy(view);
}

/* ---- Random histories ---- */

typedef struct kept {
    dcsr_multi_view *view;
    unsigned flags;
    oracle model;
} kept;

static void let_go(kept *h)
{
    if (!h->view) return;
    expect_view(h->view, &h->model, h->flags);
    dcsr_multi_view_destroy(h->view);
    oracle_destroy(&h->model);
    h->view = NULL;
}

typedef struct batch {
    uint64_t n, rows[BATCH], cols[BATCH];
    char values[BATCH * 8];
} batch;

/* Most entries in few rows, so that some parts grow faster than others. */
static void draw(test_random *random, dcsr_type type, batch *b)
{
    b->n = test_random_below(random, test_random_below(random, 3) ? 30 : BATCH);
    const uint64_t reach = test_random_below(random, 2) ? ROWS : ROWS / 4;
    for (uint64_t i = 0; i < b->n; i++) {
        b->rows[i] = test_random_below(random, reach);
        b->cols[i] = test_random_below(random, COLS);
        if (type != DCSR_PATTERN)
            test_encode(type, (double)test_random_below(random, 50), b->values + i * dcsr_type_size(type));
    }
}

static void run(uint64_t seed)
{
    test_random random = {seed};
    static const dcsr_type types[] = {DCSR_PATTERN, DCSR_FP64, DCSR_INT16};
    const dcsr_type type = types[test_random_below(&random, 3)];
    const dcsr_policy policy = type == DCSR_PATTERN
                                   ? DCSR_POLICY_ANY
                                   : (dcsr_policy)(DCSR_POLICY_KEEP + test_random_below(&random, 5));
    const dcsr_matrix_options options = {.policy = policy,
                                         .resolve = (dcsr_resolution)test_random_below(&random, 3),
                                         .maintain_transpose = test_random_below(&random, 3) == 0};
    dcsr_multi *devices = open_devices(1 + (int)(seed % MOST_DEVICES), 0);
    dcsr_multi_matrix *matrix;
    TEST_OK(dcsr_multi_matrix_create(&matrix, devices, type, ROWS, COLS, &options));
    oracle model;
    oracle_create(&model, type, policy, ROWS, COLS);
    kept held[HELD] = {{0}};
    static batch b;
    for (int step = 0; step < 30; step++) {
        const uint64_t dice = test_random_below(&random, 12);
        draw(&random, type, &b);
        const void *values = type == DCSR_PATTERN ? NULL : b.values;
        if (dice < 7) {
            TEST_OK(dcsr_multi_matrix_insert(matrix, b.n, b.rows, b.cols, values, NULL));
            oracle_insert(&model, b.n, b.rows, b.cols, values);
        } else if (dice < 10) {
            TEST_OK(dcsr_multi_matrix_remove(matrix, b.n, b.rows, b.cols, NULL));
            oracle_remove(&model, b.n, b.rows, b.cols);
        } else if (dice == 10) {
            TEST_OK(dcsr_multi_matrix_balance(matrix, NULL));
        } else {
            TEST_OK(dcsr_multi_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
        }
        if (test_random_below(&random, 5) == 0) expect(matrix, &model);
        if (test_random_below(&random, 5) == 0) {
            kept *h = &held[test_random_below(&random, HELD)];
            const dcsr_layout layout = (dcsr_layout)test_random_below(&random, DCSR_LAYOUT_NUT + 1);
            let_go(h);
            h->flags = (unsigned)test_random_below(&random, 4);
            h->view = view_of(matrix, layout, h->flags | DCSR_VIEW_LATEST);
            oracle_copy(&h->model, &model);
        }
    }
    TEST_OK(dcsr_multi_matrix_wait(matrix));
    expect(matrix, &model);
    dcsr_multi_matrix_destroy(matrix);
    for (int h = 0; h < HELD; h++) let_go(&held[h]);
    oracle_destroy(&model);
    dcsr_multi_destroy(devices);
}

Test(multi_matrix, follows_its_changes)
{
    test_seeds seeds = test_seeds_from_environment((uint64_t)TEST_SIZE(30, 10, 10));
    for (uint64_t i = 0; i < seeds.rounds; i++) {
        test_seed_begins(seeds.first + i);
        run(seeds.first + i);
    }
}

/* ---- The same as one device ---- */

Test(multi_matrix, is_made_of_csr_and_of_views)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *one = test_matrix(context, DCSR_FP64, ROWS, COLS, DCSR_POLICY_LAST);
    oracle model;
    oracle_create(&model, DCSR_FP64, DCSR_POLICY_LAST, ROWS, COLS);
    test_random random = {7};
    static batch b;
    for (int i = 0; i < 8; i++) {
        draw(&random, DCSR_FP64, &b);
        TEST_OK(dcsr_matrix_insert(one, b.n, b.rows, b.cols, b.values, NULL));
        oracle_insert(&model, b.n, b.rows, b.cols, b.values);
    }
    TEST_OK(dcsr_matrix_wait(one));
    for (int count = 1; count <= MOST_DEVICES; count += 2)
        for (int layout = 0; layout <= DCSR_LAYOUT_CSC; layout++) {
            dcsr_multi *devices = open_devices(count, 0);
            dcsr_view *view = test_view(one, (dcsr_layout)layout, 0);
            dcsr_multi_matrix *matrix;
            dcsr_csr csr;
            if (layout == DCSR_LAYOUT_CSR) {
                TEST_OK(dcsr_view_get_csr_on_host(view, &csr));
                TEST_OK(dcsr_multi_matrix_from_csr(&matrix, devices, &csr, NULL));
            } else {
                TEST_OK(dcsr_multi_matrix_from_view(&matrix, devices, view, NULL));
            }
            dcsr_view_destroy(view);
            expect(matrix, &model);
            dcsr_multi_matrix_info info;
            TEST_OK(dcsr_multi_matrix_get_info(matrix, &info));
            cr_assert(info.parts == (uint64_t)count && info.whole.rows == ROWS && info.whole.cols == COLS);
            cr_assert(info.whole.stored == oracle_nnz(&model));
            for (uint64_t k = 0; k < info.parts; k++) /* a row is not cut, and has COLS entries at most */
                cr_assert(info.stored[k] <= info.whole.stored / info.parts + COLS);
            dcsr_multi_matrix_destroy(matrix);
            dcsr_multi_destroy(devices);
        }
    oracle_destroy(&model);
    dcsr_matrix_destroy(one);
    test_close(context);
}

/* ---- Balance ---- */

Test(multi_matrix, moves_borders_as_it_grows)
{
    enum { PARTS = 3, ENTRIES = 20000, WIDE = 4000 };
    dcsr_multi *devices = open_devices(PARTS, 0);
    dcsr_multi_matrix *matrix;
    TEST_OK(dcsr_multi_matrix_create(&matrix, devices, DCSR_PATTERN, ROWS, WIDE, NULL));
    uint64_t *rows = test_allocate(ENTRIES, sizeof *rows), *cols = test_allocate(ENTRIES, sizeof *cols);
    test_random random = {3};
    for (uint64_t i = 0; i < ENTRIES; i++) {
        rows[i] = test_random_below(&random, ROWS / PARTS); /* all of the first part */
        cols[i] = test_random_below(&random, WIDE);
    }
    oracle model;
    oracle_create(&model, DCSR_PATTERN, DCSR_POLICY_ANY, ROWS, WIDE);
    oracle_insert(&model, ENTRIES, rows, cols, NULL);
    dcsr_multi_view *before = view_of(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_multi_matrix_insert(matrix, ENTRIES, rows, cols, NULL, NULL));
    TEST_OK(dcsr_multi_matrix_wait(matrix));
    dcsr_multi_matrix_info info;
    TEST_OK(dcsr_multi_matrix_get_info(matrix, &info));
    cr_assert(info.balances == 1, "%" PRIu64 " times", info.balances);
    dcsr_multi_view *after = view_of(matrix, DCSR_LAYOUT_CSR, 0);
    dcsr_multi_view_info seen;
    TEST_OK(dcsr_multi_view_get_info(after, &seen));
    cr_assert(seen.balance < 1.1, "%g", seen.balance);
    expect_view(after, &model, 0);
    TEST_OK(dcsr_multi_view_get_info(before, &seen));
    cr_assert(seen.nnz == 0 && seen.border[1] == ROWS / PARTS);
    /* Even already: nothing moves. */
    TEST_OK(dcsr_multi_matrix_balance(matrix, NULL));
    TEST_OK(dcsr_multi_matrix_wait(matrix));
    TEST_OK(dcsr_multi_matrix_get_info(matrix, &info));
    cr_assert(info.balances == 1);
    dcsr_multi_view_destroy(before);
    dcsr_multi_view_destroy(after);
    oracle_destroy(&model);
    dcsr_multi_matrix_destroy(matrix);
    dcsr_multi_destroy(devices);
    free(rows);
    free(cols);
}

/* ---- Snapshots ---- */

/* Each batch writes its number into one entry of every part. */
typedef struct writing {
    dcsr_multi_matrix *matrix;
    int batches;
    atomic_bool done;
} writing;

enum { MARKED = 8 };

static void *write_numbers(void *user)
{
    writing *w = user;
    uint64_t rows[MARKED], cols[MARKED];
    double values[MARKED];
    for (int i = 1; i <= w->batches; i++) {
        for (uint64_t m = 0; m < MARKED; m++) {
            rows[m] = ROWS * m / MARKED;
            cols[m] = m;
            values[m] = i;
        }
        dcsr_ticket *ticket = NULL;
        TEST_OK(dcsr_multi_matrix_insert(w->matrix, MARKED, rows, cols, values, i % 4 ? NULL : &ticket));
        if (i % 7 == 0) TEST_OK(dcsr_multi_matrix_balance(w->matrix, NULL));
        if (ticket) TEST_OK(dcsr_ticket_wait(ticket));
        dcsr_ticket_destroy(ticket);
    }
    atomic_store(&w->done, true);
    return NULL;
}

Test(multi_matrix, shows_one_version_of_all_parts)
{
    dcsr_multi *devices = open_devices(3, 0);
    dcsr_multi_matrix *matrix;
    TEST_OK(dcsr_multi_matrix_create(&matrix, devices, DCSR_FP64, ROWS, COLS, NULL));
    writing w = {.matrix = matrix, .batches = TEST_SIZE(400, 80, 80)};
    pthread_t thread;
    cr_assert(!pthread_create(&thread, NULL, write_numbers, &w));
    double last = 0;
    uint64_t version = 0;
    bool done;
    do {
        done = atomic_load(&w.done);
        dcsr_multi_view *view = view_of(matrix, DCSR_LAYOUT_SEGMENTS, done ? DCSR_VIEW_LATEST : 0);
        double number = -1;
        for (uint64_t m = 0; m < MARKED; m++) {
            uint32_t col;
            double value = 0;
            uint64_t length;
            TEST_OK(dcsr_multi_view_get_row(view, ROWS * m / MARKED, 1, &col, &value, &length));
            cr_assert(length < 2 && (!length || col == m));
            if (number < 0) number = value;
            cr_assert(value == number, "%g in one part, %g in another", number, value);
        }
        dcsr_multi_view_info info;
        TEST_OK(dcsr_multi_view_get_info(view, &info));
        cr_assert(number >= last && info.version >= version, "back from %g to %g", last, number);
        last = number;
        version = info.version;
        dcsr_multi_view_destroy(view);
    } while (!done);
    cr_assert(last == w.batches);
    pthread_join(thread, NULL);
    dcsr_multi_matrix_destroy(matrix);
    dcsr_multi_destroy(devices);
}

/* ---- Without memory ---- */

static const uint64_t places[2][6] = {{0, 200, 5, 120, 229, 2}, {1, 64, 3, 3, 90, 2}};
static const double numbers[] = {1, 2, 3, 4, 5, 6};

typedef struct attempt {
    const char *name;
    dcsr_status (*change)(dcsr_multi_matrix *matrix, dcsr_ticket **ticket);
    bool inserts, removes;
} attempt;

static dcsr_status insertion(dcsr_multi_matrix *matrix, dcsr_ticket **ticket)
{
    return dcsr_multi_matrix_insert(matrix, 6, places[0], places[1], numbers, ticket);
}
static dcsr_status removal(dcsr_multi_matrix *matrix, dcsr_ticket **ticket)
{
    return dcsr_multi_matrix_remove(matrix, 6, places[0], places[1], ticket);
}
static dcsr_status defragmentation(dcsr_multi_matrix *matrix, dcsr_ticket **ticket)
{
    return dcsr_multi_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, ticket);
}
static dcsr_status view_and_destroy(dcsr_multi_matrix *matrix, dcsr_ticket **ticket)
{
    dcsr_multi_view *view;
    *ticket = NULL;
    dcsr_status status = dcsr_multi_view_create(&view, matrix, DCSR_LAYOUT_CSR, 0);
    cr_assert((status == DCSR_OK) == (view != NULL));
    dcsr_multi_view_destroy(view);
    return status;
}

static const attempt attempts[] = {{"insert", insertion, true, false},
                                   {"remove", removal, false, true},
                                   {"balance", dcsr_multi_matrix_balance, false, false},
                                   {"defragment", defragmentation, false, false},
                                   {"view", view_and_destroy, false, false}};

/* One change while every allocation from the n-th on fails; returns whether it was too late to fail. All of it is
 * applied, or nothing anywhere. */
static bool try_without_memory(dcsr_multi *devices, const attempt *a, long n)
{
    dcsr_multi_matrix *matrix;
    oracle model;
    TEST_OK(dcsr_multi_matrix_create(&matrix, devices, DCSR_FP64, ROWS, COLS,
                                     &(dcsr_matrix_options){.policy = DCSR_POLICY_SUM}));
    oracle_create(&model, DCSR_FP64, DCSR_POLICY_SUM, ROWS, COLS);
    for (int i = 0; i < 2; i++) {
        TEST_OK(insertion(matrix, NULL));
        oracle_insert(&model, 6, places[0], places[1], numbers);
    }
    TEST_OK(dcsr_multi_matrix_wait(matrix));
    dcsr_ticket *ticket = NULL;
    const uint64_t begin = dcsr_i_allocations();
    dcsr_i_fail_allocations_after(n);
    dcsr_status status = a->change(matrix, &ticket);
    if (status == DCSR_OK && ticket) status = dcsr_ticket_wait(ticket);
    dcsr_i_fail_allocations_after(-1);
    const bool enough = dcsr_i_allocations() - begin <= (uint64_t)n;
    dcsr_ticket_destroy(ticket);
    cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s, %ld: %s", a->name, n,
              dcsr_thread_error());
    if (status == DCSR_OK && a->inserts) oracle_insert(&model, 6, places[0], places[1], numbers);
    if (status == DCSR_OK && a->removes) oracle_remove(&model, 6, places[0], places[1]);
    expect(matrix, &model);
    TEST_OK(insertion(matrix, NULL));
    oracle_insert(&model, 6, places[0], places[1], numbers);
    expect(matrix, &model);
    dcsr_multi_matrix_destroy(matrix);
    oracle_destroy(&model);
    return enough;
}

Test(multi_matrix, is_changed_by_all_devices_or_by_none)
{
    dcsr_multi *devices = open_devices(3, 0);
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
        long n = 0, step = test_on_emulator() ? 5 : 1;
        while (!try_without_memory(devices, &attempts[i], n)) n += step;
        cr_assert(n > 4, "%s: only %ld allocations", attempts[i].name, n);
    }
    dcsr_multi_destroy(devices);
}

/* One device has less memory than the batch takes there: the ticket says which. */
Test(multi_matrix, names_the_device_that_has_no_memory)
{
    /* So many can be packed, but not applied; on the cpu twice as many cannot be packed. */
    enum { WIDE = 1 << 23 };
    const bool gpus = test_device_of_auto() == DCSR_DEVICE_CUDA;
    const uint64_t entries = !gpus ? 1 << 16 : test_on_emulator() ? 1 << 19 : 1 << 22;
    dcsr_multi *devices = open_devices(2, entries * 32);
    dcsr_multi_matrix *matrix;
    dcsr_ticket *ticket;
    TEST_OK(dcsr_multi_matrix_create(&matrix, devices, DCSR_FP64, ROWS, WIDE, NULL));
    uint64_t *rows = test_allocate(2 * entries, sizeof *rows),
             *cols = test_allocate(2 * entries, sizeof *cols);
    double *values = test_allocate(2 * entries, sizeof *values);
    for (uint64_t i = 0; i < 2 * entries; i++) {
        rows[i] = i ? ROWS - 1 : 0; /* one for the first device, all others for the second */
        cols[i] = i;
        values[i] = 1;
    }
    TEST_OK(dcsr_multi_matrix_insert(matrix, entries, rows, cols, values, &ticket));
    /* On GPUs the first splits it. */
    TEST_REFUSED(DCSR_ERROR_OUT_OF_MEMORY, gpus ? "device 0 (" : "device 1 (", dcsr_ticket_wait(ticket));
    dcsr_ticket_destroy(ticket);
    if (!gpus)
        TEST_REFUSED(DCSR_ERROR_OUT_OF_MEMORY, "device 1 (",
                     dcsr_multi_matrix_insert(matrix, 2 * entries, rows, cols, values, NULL));
    oracle model;
    oracle_create(&model, DCSR_FP64, DCSR_POLICY_LAST, ROWS, WIDE);
    expect(matrix, &model);
    TEST_OK(dcsr_multi_matrix_insert(matrix, 2, rows, cols, values, NULL));
    oracle_insert(&model, 2, rows, cols, values);
    TEST_OK(dcsr_multi_matrix_wait(matrix));
    expect(matrix, &model);
    oracle_destroy(&model);
    dcsr_multi_matrix_destroy(matrix);
    dcsr_multi_destroy(devices);
    free(rows);
    free(cols);
    free(values);
}

/* ---- The queue ---- */

Test(multi_matrix, has_a_limit_for_what_waits)
{
    enum { BATCHES = 200 };
    dcsr_multi *devices = open_devices(2, 0);
    for (int refuses = 0; refuses < 2; refuses++) {
        dcsr_multi_matrix *matrix;
        oracle model;
        const dcsr_matrix_options options = {
            .policy = DCSR_POLICY_SUM, .queue_limit = 1, .refuse_when_full = refuses};
        TEST_OK(dcsr_multi_matrix_create(&matrix, devices, DCSR_FP64, ROWS, COLS, &options));
        oracle_create(&model, DCSR_FP64, DCSR_POLICY_SUM, ROWS, COLS);
        for (int i = 0; i < BATCHES; i++) {
            dcsr_status status = insertion(matrix, NULL);
            if (status == DCSR_OK) oracle_insert(&model, 6, places[0], places[1], numbers);
            cr_assert(status == DCSR_OK || (refuses && status == DCSR_ERROR_BUSY && test_says("try again")));
        }
        TEST_OK(dcsr_multi_matrix_wait(matrix));
        expect(matrix, &model);
        oracle_destroy(&model);
        dcsr_multi_matrix_destroy(matrix);
    }
    dcsr_multi_destroy(devices);
}

/* What has not begun is cancelled; what the devices' end finds is still applied. */
Test(multi_matrix, ends_with_changes_that_wait)
{
    enum { BATCHES = 50 };
    for (int ways = 0; ways < 2; ways++) {
        dcsr_multi *devices = open_devices(2, 0);
        dcsr_multi_matrix *matrix;
        dcsr_ticket *tickets[BATCHES];
        TEST_OK(dcsr_multi_matrix_create(&matrix, devices, DCSR_FP64, ROWS, COLS, NULL));
        for (int i = 0; i < BATCHES; i++) TEST_OK(insertion(matrix, &tickets[i]));
        if (ways)
            dcsr_multi_destroy(devices);
        else
            dcsr_multi_matrix_destroy(matrix);
        bool cancelled = false;
        for (int i = 0; i < BATCHES; i++) {
            dcsr_status status = dcsr_ticket_wait(tickets[i]);
            cr_assert(status == DCSR_OK ? !cancelled : !ways && status == DCSR_ERROR_CANCELLED);
            cancelled = status != DCSR_OK;
            dcsr_ticket_destroy(tickets[i]);
        }
        if (ways) {
            TEST_STATUS(DCSR_ERROR_CONTEXT_DESTROYED, insertion(matrix, NULL));
            dcsr_multi_matrix_destroy(matrix);
        } else {
            dcsr_multi_destroy(devices);
        }
    }
}

/* ---- Wrong calls ---- */

Test(multi_matrix, refuses_what_is_wrong)
{
    dcsr_multi *devices = open_devices(3, 0);
    dcsr_multi_matrix *matrix = NULL;
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "matrix is NULL",
                 dcsr_multi_matrix_create(NULL, devices, DCSR_FP64, 1, 1, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "devices are NULL",
                 dcsr_multi_matrix_create(&matrix, NULL, DCSR_FP64, 1, 1, NULL));
    TEST_REFUSED(DCSR_ERROR_TOO_LARGE, "largest matrix",
                 dcsr_multi_matrix_create(&matrix, devices, DCSR_FP64, DCSR_MAX_ROWS + 1, 1, NULL));
    TEST_REFUSED(
        DCSR_ERROR_INVALID_ARGUMENT, "does not grow",
        dcsr_multi_matrix_create(&matrix, devices, DCSR_FP64, 1, 1, &(dcsr_matrix_options){.grow = true}));
    TEST_REFUSED(
        DCSR_ERROR_INVALID_ARGUMENT, "segments",
        dcsr_multi_matrix_create(&matrix, devices, DCSR_FP64, 1, 1, &(dcsr_matrix_options){.segments = 99}));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "csr is NULL",
                 dcsr_multi_matrix_from_csr(&matrix, devices, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "view is NULL",
                 dcsr_multi_matrix_from_view(&matrix, devices, NULL, NULL));
    cr_assert(!matrix);
    TEST_OK(dcsr_multi_matrix_create(&matrix, devices, DCSR_FP64, ROWS, COLS, NULL));
    const uint64_t rows[] = {0, ROWS - 1, ROWS, ROWS + 1}, cols[] = {0, COLS - 1, 0, COLS};
    dcsr_ticket *ticket = (dcsr_ticket *)&matrix;
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "entry 2 of 4 is (230, 0)",
                 dcsr_multi_matrix_insert(matrix, 4, rows, cols, numbers, &ticket));
    cr_assert(!ticket);
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "dcsr_multi_matrix_remove",
                 dcsr_multi_matrix_remove(matrix, 4, rows, cols, NULL));
    TEST_REFUSED(DCSR_ERROR_TYPE_MISMATCH, "needs values",
                 dcsr_multi_matrix_insert(matrix, 1, rows, cols, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "rows is NULL",
                 dcsr_multi_matrix_remove(matrix, 1, NULL, cols, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "scope",
                 dcsr_multi_matrix_defragment(matrix, (dcsr_defragment_scope)9, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "the matrix is NULL", dcsr_multi_matrix_balance(NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "info is NULL", dcsr_multi_matrix_get_info(matrix, NULL));
    dcsr_multi_view *view = NULL;
    dcsr_view *part;
    uint64_t length;
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "layout 77",
                 dcsr_multi_view_create(&view, matrix, (dcsr_layout)77, 0));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "the matrix is NULL",
                 dcsr_multi_view_create(&view, NULL, DCSR_LAYOUT_CSR, 0));
    view = view_of(matrix, DCSR_LAYOUT_CSR, 0);
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "part 3 of 3", dcsr_multi_view_get_part(view, 3, &part));
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "row 230 of 230",
                 dcsr_multi_view_get_row(view, ROWS, 0, NULL, NULL, &length));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "info is NULL", dcsr_multi_view_get_info(view, NULL));
    dcsr_multi_view_destroy(view);
    dcsr_multi_view_destroy(NULL);
    dcsr_multi_matrix_destroy(matrix);
    dcsr_multi_matrix_destroy(NULL);
    dcsr_multi_destroy(devices);
}
