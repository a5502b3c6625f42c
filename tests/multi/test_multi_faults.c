/* test_multi_faults.c: partitioned matrices on machines that fail: devices that are not there or differ, memory that is
 * gone on one of them, and one that is lost. Whatever happens, a batch is applied everywhere or nowhere, views that
 * were held stay as they were, and what the other devices have can be read and stored. */
#include "dcsr/base/alloc.h"
#include "tests/support/support_multi.h"
#include "tests/support/support_store.h"
#include <dcsr/convert.h>
#include <dcsr/extend.h>
#include <dcsr/multi.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 150, COLS = 170, BATCH = 200 };

TestSuite(multi_faults, .init = set_devices);

static dcsr_multi *open_devices(void)
{
    dcsr_multi *devices;
    const char *text = test_on_emulator()                          ? "cuda:0-2"
                       : test_device_of_auto() == DCSR_DEVICE_CUDA ? "cuda:all"
                                                                   : "cpu:3";
    TEST_OK(dcsr_multi_create(&devices, text, &(dcsr_multi_options){.threads = 2}));
    return devices;
}

/* ---- Comparing ---- */

/* Whether part k shows its rows of the oracle. */
static void expect_part(dcsr_multi_view *view, uint64_t k, const oracle *model)
{
    dcsr_multi_view_info info;
    dcsr_view *shown;
    char why[TEST_WHY];
    TEST_OK(dcsr_multi_view_get_info(view, &info));
    oracle part = *model;
    part.rows = info.border[k + 1] - info.border[k];
    part.row = model->row + info.border[k];
    TEST_OK(dcsr_multi_view_get_part(view, k, &shown));
    cr_assert(test_view_matches(shown, &part, 0, why), "part %" PRIu64 ": %s", k, why);
}

static void expect_view(dcsr_multi_view *view, const oracle *model)
{
    dcsr_multi_view_info info;
    TEST_OK(dcsr_multi_view_get_info(view, &info));
    for (uint64_t k = 0; k < info.parts; k++) expect_part(view, k, model);
}

static void expect(dcsr_multi_matrix *matrix, const oracle *model)
{
    dcsr_multi_view *view;
    TEST_OK(dcsr_multi_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST));
    expect_view(view, model);
    dcsr_multi_view_destroy(view);
}

/* ---- Batches ---- */

typedef struct batch {
    bool removes;
    uint64_t n, rows[BATCH], cols[BATCH];
    double values[BATCH];
} batch;

static void draw(test_random *random, batch *b)
{
    b->removes = test_random_once_in(random, 4);
    b->n = 1 + test_random_below(random, BATCH - 1);
    for (uint64_t i = 0; i < b->n; i++) {
        b->rows[i] = test_random_below(random, ROWS);
        b->cols[i] = test_random_below(random, COLS);
        b->values[i] = (double)test_random_below(random, 50);
    }
}

/* Applies it and waits. */
static dcsr_status give(dcsr_multi_matrix *matrix, const batch *b)
{
    dcsr_ticket *ticket = NULL;
    dcsr_status status = b->removes
                             ? dcsr_multi_matrix_remove(matrix, b->n, b->rows, b->cols, &ticket)
                             : dcsr_multi_matrix_insert(matrix, b->n, b->rows, b->cols, b->values, &ticket);
    if (status == DCSR_OK) status = dcsr_ticket_wait(ticket);
    dcsr_ticket_destroy(ticket);
    return status;
}

static void note(oracle *model, const batch *b)
{
    if (b->removes)
        oracle_remove(model, b->n, b->rows, b->cols);
    else
        oracle_insert(model, b->n, b->rows, b->cols, b->values);
}

/* A matrix and what it should hold. */
typedef struct subject {
    dcsr_multi *devices;
    dcsr_multi_matrix *matrix;
    oracle model;
} subject;

static void begin(subject *s, const dcsr_matrix_options *options)
{
    s->devices = open_devices();
    TEST_OK(dcsr_multi_matrix_create(&s->matrix, s->devices, DCSR_FP64, ROWS, COLS, options));
    oracle_create(&s->model, DCSR_FP64, options->policy, ROWS, COLS);
}

static void end(subject *s)
{
    dcsr_multi_matrix_destroy(s->matrix);
    oracle_destroy(&s->model);
    dcsr_multi_destroy(s->devices);
}

/* ---- Memory ---- */

/* Allocations fail from a random one on, during some batches. */
static void lose_memory_at_random(uint64_t seed)
{
    test_random random = {seed};
    const dcsr_matrix_options options = {.policy = DCSR_POLICY_SUM,
                                         .maintain_transpose = test_random_once_in(&random, 2)};
    subject s;
    oracle before;
    dcsr_multi_view *held;
    int failures = 0;
    static batch b;
    begin(&s, &options);
    TEST_OK(dcsr_multi_view_create(&held, s.matrix, DCSR_LAYOUT_SEGMENTS, 0));
    oracle_copy(&before, &s.model);
    for (int step = 0; step < 60; step++) {
        draw(&random, &b);
        if (test_random_once_in(&random, 2))
            dcsr_i_fail_allocations_after((long)test_random_below(&random, 80));
        const dcsr_status status = give(s.matrix, &b);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
        if (status == DCSR_OK) note(&s.model, &b);
        failures += status != DCSR_OK;
        expect(s.matrix, &s.model);
        expect_view(held, &before);
        if (!test_random_once_in(&random, 5)) continue;
        dcsr_multi_view_destroy(held);
        oracle_destroy(&before);
        TEST_OK(dcsr_multi_view_create(&held, s.matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST));
        oracle_copy(&before, &s.model);
    }
    cr_assert_gt(failures, 0);
    dcsr_multi_view_destroy(held);
    oracle_destroy(&before);
    end(&s);
}

Test(multi_faults, batches_without_memory_are_refused_as_a_whole)
{
    test_seeds seeds = test_seeds_from_environment((uint64_t)TEST_SIZE(20, 5, 5));
    for (uint64_t i = 0; i < seeds.rounds; i++) {
        test_seed_begins(seeds.first + i);
        lose_memory_at_random(seeds.first + i);
    }
}

/* ---- Devices ---- */

Test(multi_faults, devices_that_are_not_there_are_named)
{
    dcsr_multi *devices = NULL;
    if (!TEST_CUDA) {
        TEST_REFUSED(DCSR_ERROR_NOT_BUILT, "not built with CUDA",
                     dcsr_multi_create(&devices, "cuda:0-1", NULL));
    } else {
        TEST_REFUSED(DCSR_ERROR_NO_DEVICE, "", dcsr_multi_create(&devices, "cuda:63", NULL));
    }
    cr_assert_null(devices);
#if TEST_EMULATOR
    TEST_REFUSED(DCSR_ERROR_NO_DEVICE, "no GPU of number 3: CUDA sees 3",
                 dcsr_multi_create(&devices, "cuda:0-3", NULL));
    cr_assert_null(devices);
    TEST_REFUSED(DCSR_ERROR_NO_DEVICE, "no GPU of number 7", dcsr_multi_create(&devices, "cuda:2,7,1", NULL));
    cr_assert_null(devices);
    end(&(subject){.devices = open_devices()});
#endif
}

#if TEST_EMULATOR

Test(multi_faults, gpus_of_two_kinds_are_refused)
{
    NEEDS_EMULATOR();
    dcsr_multi *devices = NULL;
    simt_set_another_kind(2);
    TEST_REFUSED(DCSR_ERROR_NO_DEVICE, "name GPUs of one kind",
                 dcsr_multi_create(&devices, "cuda:all", NULL));
    cr_assert(!devices && test_says("GPU 0 is a ") && test_says("GPU 2 a "), "%s", dcsr_thread_error());
    TEST_OK(dcsr_multi_create(&devices, "cuda:0-1", NULL));
    dcsr_multi_destroy(devices);
    cr_assert_eq(simt_live_bytes(), 0);
}

/* ---- Memory of one device ---- */

/* A batch that takes much memory on the device whose rows they are. */
enum { MANY = 1 << 19, WIDE = 1 << 20, LITTLE = 16 << 20 };

typedef struct large {
    uint64_t *rows, *cols;
    double *values;
} large;

/* One entry for the first device, all others for the last. */
static void make_large(large *l)
{
    l->rows = test_allocate(MANY, sizeof *l->rows);
    l->cols = test_allocate(MANY, sizeof *l->cols);
    l->values = test_allocate(MANY, sizeof *l->values);
    for (uint64_t i = 0; i < MANY; i++) {
        l->rows[i] = i ? ROWS - 1 : 0;
        l->cols[i] = i;
        l->values[i] = 1;
    }
}

Test(multi_faults, a_device_without_memory_holds_up_no_later_batch)
{
    NEEDS_EMULATOR();
    subject s = {.devices = open_devices()};
    large l;
    dcsr_ticket *ticket;
    make_large(&l);
    TEST_OK(dcsr_multi_matrix_create(&s.matrix, s.devices, DCSR_FP64, ROWS, WIDE,
                                     &(dcsr_matrix_options){.policy = DCSR_POLICY_SUM}));
    oracle_create(&s.model, DCSR_FP64, DCSR_POLICY_SUM, ROWS, WIDE);
    TEST_OK(dcsr_multi_matrix_insert(s.matrix, 2, l.rows, l.cols, l.values, NULL));
    oracle_insert(&s.model, 2, l.rows, l.cols, l.values);
    TEST_OK(dcsr_multi_matrix_wait(s.matrix));
    dcsr_multi_info info;
    TEST_OK(dcsr_multi_get_info(s.devices, &info));
    const dcsr_context_info last = test_context_info(info.context[2]);
    simt_set_device_memory(2, last.device_memory - last.device_free + LITTLE);
    TEST_OK(dcsr_multi_matrix_insert(s.matrix, MANY, l.rows, l.cols, l.values, &ticket));
    TEST_REFUSED(DCSR_ERROR_OUT_OF_MEMORY, "device 2 (cuda:2)", dcsr_ticket_wait(ticket));
    dcsr_ticket_destroy(ticket);
    expect(s.matrix, &s.model);
    simt_set_device_memory(2, (size_t)1 << 31);
    TEST_OK(dcsr_multi_matrix_insert(s.matrix, 3, l.rows, l.cols, l.values, NULL));
    oracle_insert(&s.model, 3, l.rows, l.cols, l.values);
    TEST_OK(dcsr_multi_matrix_wait(s.matrix));
    expect(s.matrix, &s.model);
    TEST_OK(dcsr_multi_matrix_insert(s.matrix, MANY, l.rows, l.cols, l.values, NULL));
    TEST_OK(dcsr_multi_matrix_wait(s.matrix));
    oracle_insert(&s.model, MANY, l.rows, l.cols, l.values);
    expect(s.matrix, &s.model);
    end(&s);
    free(l.rows);
    free(l.cols);
    free(l.values);
}

/* ---- A device that is lost ---- */

enum { LOST = 1, PARTS = 3 };

/* The rows of a device that works, one by one. */
static void expect_rows(dcsr_multi_view *view, uint64_t k, const oracle *model)
{
    dcsr_multi_view_info info;
    uint32_t cols[COLS];
    double values[COLS];
    TEST_OK(dcsr_multi_view_get_info(view, &info));
    for (uint64_t i = info.border[k]; i < info.border[k + 1]; i++) {
        uint64_t length, value;
        TEST_OK(dcsr_multi_view_get_row(view, i, COLS, cols, values, &length));
        for (uint64_t e = 0; e < length; e++)
            cr_assert(oracle_get(model, i, cols[e], &value) && value == oracle_value(DCSR_FP64, values, e));
    }
}

/* Writes a part into a store, and compares what that has. */
static void expect_stored(dcsr_multi_view *view, uint64_t k, const oracle *model)
{
    char *folder = store_new_folder(), why[TEST_WHY];
    dcsr_context *context;
    dcsr_store *store;
    dcsr_matrix *copy, *restored;
    dcsr_multi_view_info info;
    dcsr_view *part;
    dcsr_coo coo;
    TEST_OK(dcsr_context_create(&context, &(dcsr_context_options){.device = DCSR_DEVICE_CPU}));
    TEST_OK(dcsr_multi_view_get_info(view, &info));
    TEST_OK(dcsr_multi_view_get_part(view, k, &part));
    TEST_OK(dcsr_view_to_coo(&coo, part));
    TEST_OK(dcsr_matrix_from_coo(&copy, context, &coo, &(dcsr_matrix_options){.policy = DCSR_POLICY_SUM}));
    TEST_OK(dcsr_store_open(&store, folder, NULL));
    TEST_OK(dcsr_store_snapshot(store, "part", copy, NULL));
    TEST_OK(dcsr_store_restore(&restored, context, store, "part", 0, NULL));
    oracle rows = *model;
    rows.rows = info.border[k + 1] - info.border[k];
    rows.row = model->row + info.border[k];
    dcsr_view *shown = test_view(restored, DCSR_LAYOUT_SEGMENTS, 0);
    cr_assert(test_view_matches(shown, &rows, 0, why), "%s", why);
    dcsr_view_destroy(shown);
    dcsr_matrix_destroy(restored);
    dcsr_store_close(store);
    dcsr_matrix_destroy(copy);
    dcsr_coo_free(&coo);
    dcsr_context_destroy(context);
    store_remove_folder(folder);
}

/* What can still be asked of a view that was held when the device was lost. */
static void expect_others(dcsr_multi_view *held, const oracle *model)
{
    dcsr_view *part;
    dcsr_coo coo;
    for (uint64_t k = 0; k < PARTS; k++) {
        if (k == LOST) continue;
        expect_part(held, k, model);
        expect_rows(held, k, model);
    }
    expect_stored(held, 2, model);
    TEST_OK(dcsr_multi_view_get_part(held, LOST, &part));
    TEST_STATUS(DCSR_ERROR_DEVICE, dcsr_view_to_coo(&coo, part));
}

/* Device LOST goes after so many operations, while batches are applied. */
static void lose_device(long after)
{
    NEEDS_EMULATOR();
    static batch b;
    test_random random = {(uint64_t)after + 1};
    subject s;
    oracle before;
    dcsr_multi_view *held, *view;
    dcsr_status status = DCSR_OK;
    begin(&s, &(dcsr_matrix_options){.policy = DCSR_POLICY_SUM});
    for (int i = 0; i < 3; i++) {
        draw(&random, &b);
        TEST_OK(give(s.matrix, &b));
        note(&s.model, &b);
    }
    TEST_OK(dcsr_multi_view_create(&held, s.matrix, DCSR_LAYOUT_SEGMENTS, 0));
    oracle_copy(&before, &s.model);
    simt_fail_device_after(LOST, after);
    for (int i = 0; i < 200 && status == DCSR_OK; i++) {
        draw(&random, &b);
        status = give(s.matrix, &b);
        if (status == DCSR_OK) note(&s.model, &b);
    }
    cr_assert(status == DCSR_ERROR_DEVICE, "%s: %s", dcsr_status_name(status), dcsr_thread_error());
    cr_assert(test_says("device 1 (cuda:1)"), "%s", dcsr_thread_error());
    expect_others(held, &before);
    /* There are no further changes and no views of them, and each says why. */
    TEST_REFUSED(DCSR_ERROR_DEVICE, "device 1 (cuda:1)", give(s.matrix, &b));
    TEST_REFUSED(DCSR_ERROR_DEVICE, "device 1 (cuda:1)",
                 dcsr_multi_view_create(&view, s.matrix, DCSR_LAYOUT_SEGMENTS, 0));
    expect_others(held, &before);
    dcsr_multi_matrix_destroy(s.matrix);
    expect_part(held, 0, &before);
    dcsr_multi_view_destroy(held);
    dcsr_multi_destroy(s.devices);
    oracle_destroy(&before);
    oracle_destroy(&s.model);
}

/* A process that has lost a device has lost it for good. */
#define LOST_AFTER(operations)                                                          \
    Test(multi_faults, a_device_lost_after_##operations##_operations_leaves_the_others) \
    {                                                                                   \
        lose_device(operations);                                                        \
    }
LOST_AFTER(0)
LOST_AFTER(3)
LOST_AFTER(7)
LOST_AFTER(12)
LOST_AFTER(18)
LOST_AFTER(25)
LOST_AFTER(33)
LOST_AFTER(60)
LOST_AFTER(101)
LOST_AFTER(237)

#endif
