/* test_durable.c: durable matrices: what they are after they were closed and opened again. */
#include "persist/store_data.h"
#include "tests/support/support_durable.h"
#include "tests/support/support_store.h"
#include <dcsr/apply.h>
#include <dcsr/operators.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Opening ---- */

Test(durable, new_one_is_empty_and_there_at_once)
{
    durable_place p = durable_open_place();
    dcsr_recovery report;
    dcsr_version_info info;
    dcsr_matrix *matrix = durable_open_small(&p, "a", &report);
    cr_assert(report.created && report.version == 1 && !report.log_records && !report.log_entries);
    TEST_SHOWS_NOTHING(matrix);
    TEST_OK(dcsr_store_find(p.store, "a", 0, &info));
    cr_assert(info.version == 1 && info.rows == 10 && info.cols == 10 && info.type == DCSR_FP64 &&
              info.policy == DCSR_POLICY_SUM && !info.nnz && !info.log_position);
    dcsr_matrix_destroy(matrix);
    durable_close_place(&p);
}

/* Between the moment at which the name is found to be free and that at which it is taken, another thread
 * stores a matrix under it. */
static durable_place *place_between;
static void store_in_between(const char *point)
{
    if (strcmp(point, "recovery: not there") != 0) return;
    dcsr_i_store_point = NULL;
    dcsr_matrix *matrix = test_matrix(place_between->context, DCSR_FP64, 10, 10, DCSR_POLICY_SUM);
    TEST_INSERT(matrix, {1, 2, 3});
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_OK(dcsr_store_snapshot(place_between->store, "a", matrix, NULL));
    dcsr_matrix_destroy(matrix);
    place_between = NULL;
}

Test(durable, new_one_hides_no_snapshot_that_came_before)
{
    durable_place p = durable_open_place();
    dcsr_recovery report;
    dcsr_version_info info;
    place_between = &p;
    dcsr_i_store_point = store_in_between;
    dcsr_matrix *matrix = durable_open_small(&p, "a", &report);
    cr_assert(!place_between, "no snapshot was made");
    cr_assert(!report.created && report.version == 1);
    TEST_SHOWS(matrix, {1, 2, 3});
    TEST_INSERT(matrix, {1, 2, 4});
    TEST_SHOWS(matrix, {1, 2, 7});
    TEST_OK(dcsr_store_find(p.store, "a", 0, &info));
    cr_assert(info.version == 1 && info.nnz == 1);
    dcsr_matrix_destroy(matrix);
    matrix = durable_open_small(&p, "a", &report);
    cr_assert(!report.created && report.log_records == 1);
    TEST_SHOWS(matrix, {1, 2, 7});
    dcsr_matrix_destroy(matrix);
    durable_close_place(&p);
}

/* By insertions and by a call; what is opened again has the dimensions that it had come to, and goes on growing. */
Test(durable, grows)
{
    durable_place p = durable_open_place();
    const dcsr_durable_options options = {
        .type = DCSR_FP64, .rows = 2, .cols = 2, .matrix = {.policy = DCSR_POLICY_SUM, .grow = true}};
    dcsr_matrix *matrix;
    TEST_OK(dcsr_store_open_matrix(&matrix, p.context, p.store, "a", &options, NULL));
    TEST_INSERT(matrix, {1, 1, 1}, {5, 7, 2});
    TEST_OK(dcsr_matrix_grow(matrix, 20, 3, NULL));
    TEST_INSERT(matrix, {0, 0, 3});
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_matrix_destroy(matrix);
    durable_reopen(&p);
    TEST_OK(dcsr_store_open_matrix(&matrix, p.context, p.store, "a", &options, NULL));
    cr_assert(test_info(matrix).rows == 20 && test_info(matrix).cols == 8);
    TEST_INSERT(matrix, {30, 1, 4});
    cr_assert(test_info(matrix).rows == 31 && test_info(matrix).cols == 8);
    TEST_SHOWS(matrix, {0, 0, 3}, {1, 1, 1}, {5, 7, 2}, {30, 1, 4});
    dcsr_matrix_destroy(matrix);
    durable_close_place(&p);
}

Test(durable, comes_back_with_every_batch)
{
    durable_place p = durable_open_place();
    dcsr_recovery report;
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
    TEST_INSERT(matrix, {1, 2, 3}, {9, 9, 1}, {4, 4, 4});
    TEST_INSERT(matrix, {1, 2, 5});
    TEST_REMOVE(matrix, {4, 4, 0});
    dcsr_matrix_destroy(matrix);
    for (int i = 0; i < 2; i++) {
        if (i) durable_reopen(&p);
        matrix = durable_open_small(&p, "a", &report);
        cr_assert(!report.created && report.version == 1 && report.log_records == 3 &&
                  report.log_entries == 5);
        TEST_SHOWS(matrix, {1, 2, 8}, {9, 9, 1});
        dcsr_matrix_destroy(matrix);
    }
    durable_close_place(&p);
}

Test(durable, goes_on_where_it_was)
{
    durable_place p = durable_open_place();
    for (uint64_t i = 0; i < 5; i++) {
        dcsr_recovery report;
        dcsr_matrix *matrix = durable_open_small(&p, "a", &report);
        cr_assert(report.log_records == i);
        TEST_INSERT(matrix, {3, 3, 1});
        TEST_SHOWS(matrix, {3, 3, (double)i + 1});
        dcsr_matrix_destroy(matrix);
        durable_reopen(&p);
    }
    durable_close_place(&p);
}

Test(durable, has_every_type_and_policy, .timeout = 600)
{
    durable_place p = durable_open_place();
    for (dcsr_type type = 0; type < DCSR_TYPE_COUNT; type++)
        for (dcsr_policy policy = DCSR_POLICY_KEEP; policy < DCSR_POLICY_COUNT; policy++) {
            char name[40];
            snprintf(name, sizeof name, "%s-%s", dcsr_type_name(type), dcsr_policy_name(policy));
            plan changes = plan_new(100 * (uint64_t)type + (uint64_t)policy, type, true);
            oracle model;
            plan_oracle(&changes, &model, policy);
            for (int round = 0; round < 2; round++) {
                dcsr_matrix *matrix = plan_open(&changes, p.context, p.store, name, policy, NULL);
                TEST_MATCHES(matrix, &model);
                plan_run(&changes, TEST_SIZE(20, 10, 8), matrix, &model);
                TEST_MATCHES(matrix, &model);
                dcsr_matrix_destroy(matrix);
            }
            dcsr_matrix *matrix = plan_open(&changes, p.context, p.store, name, policy, NULL);
            TEST_MATCHES(matrix, &model);
            dcsr_matrix_destroy(matrix);
            oracle_destroy(&model);
        }
    durable_close_place(&p);
}

Test(durable, keeps_its_options)
{
    durable_place p = durable_open_place();
    dcsr_matrix_options options = {.policy = DCSR_POLICY_MAX, .segments = 3, .queue_limit = 12345};
    dcsr_matrix *matrix;
    TEST_OK(dcsr_store_open_matrix(
        &matrix, p.context, p.store, "a",
        &(dcsr_durable_options){.type = DCSR_INT16, .rows = 7, .cols = 9, .matrix = options}, NULL));
    dcsr_matrix_destroy(matrix);
    /* Those of a call that opens it again are for a new one. */
    TEST_OK(dcsr_store_open_matrix(&matrix, p.context, p.store, "a",
                                   &(dcsr_durable_options){.type = DCSR_INT16, .rows = 1, .cols = 1}, NULL));
    dcsr_matrix_info info = test_info(matrix);
    cr_assert(info.policy == DCSR_POLICY_MAX && info.rows == 7 && info.cols == 9 && info.type == DCSR_INT16);
    dcsr_matrix_destroy(matrix);
    /* Without any, the name has to exist. */
    TEST_OK(dcsr_store_open_matrix(&matrix, p.context, p.store, "a", NULL, NULL));
    cr_assert(test_info(matrix).type == DCSR_INT16 && test_info(matrix).rows == 7);
    dcsr_matrix_destroy(matrix);
    TEST_REFUSED(DCSR_ERROR_NOT_FOUND, "b",
                 dcsr_store_open_matrix(&matrix, p.context, p.store, "b", NULL, NULL));
    cr_assert(!matrix);
    TEST_STATUS(DCSR_ERROR_NOT_FOUND, dcsr_store_find(p.store, "b", 0, &(dcsr_version_info){0}));
    durable_close_place(&p);
}

/* ---- What is refused ---- */

Test(durable, is_opened_once)
{
    durable_place p = durable_open_place();
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL), *again = matrix;
    TEST_REFUSED(DCSR_ERROR_BUSY, "a: it is open",
                 dcsr_store_open_matrix(&again, p.context, p.store, "a",
                                        &(dcsr_durable_options){.type = DCSR_FP64, .rows = 10, .cols = 10},
                                        NULL));
    cr_assert(!again);
    TEST_STATUS(DCSR_ERROR_BUSY, dcsr_store_delete(p.store, "a"));
    dcsr_matrix *other = test_matrix(p.context, DCSR_FP64, 10, 10, DCSR_POLICY_SUM);
    TEST_STATUS(DCSR_ERROR_BUSY, dcsr_store_snapshot(p.store, "a", other, NULL));
    dcsr_matrix_destroy(other);
    dcsr_matrix_destroy(matrix);
    TEST_OK(dcsr_store_delete(p.store, "a"));
    matrix = durable_open_small(&p, "a", NULL);
    TEST_SHOWS_NOTHING(matrix);
    dcsr_matrix_destroy(matrix);
    durable_close_place(&p);
}

Test(durable, refuses_bad_arguments)
{
    durable_place p = durable_open_place();
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
    dcsr_matrix_destroy(matrix);
    const dcsr_status bad = DCSR_ERROR_INVALID_ARGUMENT;
    const dcsr_durable_options one = {.type = DCSR_FP64, .rows = 1, .cols = 1};
    TEST_STATUS(bad, dcsr_store_open_matrix(NULL, p.context, p.store, "a", &one, NULL));
    TEST_STATUS(bad, dcsr_store_open_matrix(&matrix, NULL, p.store, "a", &one, NULL));
    TEST_STATUS(bad, dcsr_store_open_matrix(&matrix, p.context, NULL, "a", &one, NULL));
    TEST_STATUS(bad, dcsr_store_open_matrix(&matrix, p.context, p.store, NULL, &one, NULL));
    TEST_STATUS(bad, dcsr_store_open_matrix(&matrix, p.context, p.store, "a#b", &one, NULL));
    TEST_STATUS(bad, dcsr_store_open_matrix(
                         &matrix, p.context, p.store, "b",
                         &(dcsr_durable_options){.type = (dcsr_type)99, .rows = 1, .cols = 1}, NULL));
    cr_assert(!matrix);
    TEST_STATUS(DCSR_ERROR_TOO_LARGE,
                dcsr_store_open_matrix(
                    &matrix, p.context, p.store, "b",
                    &(dcsr_durable_options){.type = DCSR_FP64, .rows = 1, .cols = DCSR_MAX_COLS + 1}, NULL));
    TEST_REFUSED(DCSR_ERROR_TYPE_MISMATCH, "fp64, not int8",
                 dcsr_store_open_matrix(&matrix, p.context, p.store, "a",
                                        &(dcsr_durable_options){.type = DCSR_INT8, .rows = 1, .cols = 1},
                                        NULL));
    TEST_STATUS(DCSR_ERROR_NOT_FOUND, dcsr_store_find(p.store, "b", 0, &(dcsr_version_info){0}));
    /* None of these has left the name taken. */
    matrix = durable_open_small(&p, "a", NULL);
    dcsr_matrix_destroy(matrix);
    dcsr_store_close(p.store);
    TEST_OK(dcsr_store_open(&p.store, p.path, &(dcsr_store_options){.read_only = true}));
    TEST_STATUS(bad, dcsr_store_open_matrix(&matrix, p.context, p.store, "a", &one, NULL));
    durable_close_place(&p);
}

Test(durable, takes_no_batches_from_a_device)
{
    durable_place p = durable_open_place();
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
    uint64_t one = 1;
    double value = 1;
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "the matrix is durable",
                 dcsr_matrix_insert_device(matrix, 1, &one, &one, &value, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "the matrix is durable",
                 dcsr_matrix_remove_device(matrix, 1, &one, &one, NULL, NULL));
    dcsr_matrix_destroy(matrix);
    durable_close_place(&p);
}

/* ---- Changes of all kinds ---- */

Test(durable, knows_its_dimensions)
{
    durable_place p = durable_open_place();
    dcsr_recovery report;
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
    TEST_INSERT(matrix, {1, 1, 1}, {8, 2, 2}, {2, 8, 3});
    TEST_OK(dcsr_matrix_resize(matrix, 5, 5, NULL));
    TEST_OK(dcsr_matrix_resize(matrix, 300, 70000, NULL));
    TEST_INSERT(matrix, {299, 69999, 4});
    dcsr_matrix_destroy(matrix);
    matrix = durable_open_small(&p, "a", &report);
    cr_assert(report.log_records == 4 && report.log_entries == 4);
    cr_assert(test_info(matrix).rows == 300 && test_info(matrix).cols == 70000);
    TEST_SHOWS(matrix, {1, 1, 1}, {299, 69999, 4});
    dcsr_matrix_destroy(matrix);
    durable_close_place(&p);
}

Test(durable, tells_of_what_changes_nothing)
{
    durable_place p = durable_open_place();
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
    dcsr_ticket *ticket[4];
    TEST_OK(dcsr_matrix_insert(matrix, 0, NULL, NULL, NULL, &ticket[0]));
    TEST_OK(dcsr_matrix_remove(matrix, 0, NULL, NULL, &ticket[1]));
    TEST_OK(dcsr_matrix_resize(matrix, 10, 10, &ticket[2]));
    TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, &ticket[3]));
    for (int i = 0; i < 4; i++) {
        TEST_OK(dcsr_ticket_wait(ticket[i]));
        dcsr_ticket_destroy(ticket[i]);
    }
    dcsr_matrix_destroy(matrix);
    matrix = durable_open_small(&p, "a", NULL);
    TEST_SHOWS_NOTHING(matrix);
    dcsr_matrix_destroy(matrix);
    durable_close_place(&p);
}

/* The result of an operation is not in the log: a version holds it, and what came before. */
Test(durable, keeps_what_an_operation_puts_in_its_place)
{
    durable_place p = durable_open_place();
    dcsr_recovery report;
    dcsr_version_info info;
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
    TEST_INSERT(matrix, {1, 1, 1}, {2, 2, 2});
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(
        dcsr_matrix_apply(matrix, NULL, NULL, dcsr_unary_op_of(DCSR_UNARY_NEGATE, DCSR_FP64), view, NULL));
    dcsr_view_destroy(view);
    TEST_OK(dcsr_store_find(p.store, "a", 0, &info));
    cr_assert(info.version == 2 && info.nnz == 2 && info.log_position == 1);
    TEST_INSERT(matrix, {1, 1, 5});
    dcsr_matrix_destroy(matrix);
    matrix = durable_open_small(&p, "a", &report);
    cr_assert(report.version == 2 && report.log_records == 1);
    TEST_SHOWS(matrix, {1, 1, 4}, {2, 2, -2});
    dcsr_matrix_destroy(matrix);
    durable_close_place(&p);
}

/* Which changes are in the log alone can be seen without opening the matrix. */
Test(durable, tells_how_much_is_in_the_log_alone)
{
    durable_place p = durable_open_place();
    dcsr_version_info found, *versions;
    uint64_t count;
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL);
    TEST_OK(dcsr_store_find(p.store, "a", 0, &found));
    cr_assert_eq(found.log_records, 0);
    TEST_INSERT(matrix, {1, 1, 1});
    TEST_INSERT(matrix, {2, 2, 2});
    TEST_OK(dcsr_store_find(p.store, "a", 0, &found));
    cr_assert(found.log_records == 2 && found.version == 1);
    TEST_OK(dcsr_store_snapshot(p.store, "a", matrix, &found));
    cr_assert(found.log_records == 0 && found.version == 2);
    TEST_INSERT(matrix, {3, 3, 3});
    dcsr_matrix_destroy(matrix);
    TEST_OK(dcsr_store_get_versions(p.store, "a", &versions, &count));
    cr_assert(count == 2 && versions[0].log_records == 0 && versions[1].log_records == 1);
    dcsr_store_list_free(versions);
    durable_close_place(&p);
}

/* ---- Looking without opening ---- */

/* What dcsr_store_recover() gives, which leaves the store as it is. */
static dcsr_matrix *recovered(const durable_place *p, const char *name, dcsr_recovery *report)
{
    dcsr_matrix *matrix;
    dcsr_version_info before, after;
    TEST_OK(dcsr_store_find(p->store, name, 0, &before));
    TEST_OK(dcsr_store_recover(&matrix, p->context, p->store, name, NULL, report));
    TEST_OK(dcsr_store_find(p->store, name, 0, &after));
    cr_assert(before.version == after.version && before.log_records == after.log_records);
    return matrix;
}

Test(durable, recover_shows_version_and_log_and_changes_nothing)
{
    durable_place p = durable_open_place();
    dcsr_recovery report;
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL), *seen;
    TEST_INSERT(matrix, {1, 2, 3}, {9, 9, 1});
    TEST_OK(dcsr_store_snapshot(p.store, "a", matrix, NULL));
    TEST_INSERT(matrix, {1, 2, 5}, {4, 4, 4});
    TEST_REMOVE(matrix, {9, 9, 0});
    for (int i = 0; i < 3; i++) { /* beside the durable one, without it, in a store that is open read_only */
        if (i == 1) dcsr_matrix_destroy(matrix);
        if (i == 2) {
            dcsr_store_close(p.store);
            TEST_OK(dcsr_store_open(&p.store, p.path, &(dcsr_store_options){.read_only = true}));
        }
        seen = recovered(&p, "a", &report);
        cr_assert(!report.created && report.version == 2 && report.log_records == 2 &&
                  report.log_entries == 3);
        TEST_SHOWS(seen, {1, 2, 8}, {4, 4, 4});
        TEST_INSERT(seen, {7, 7, 7}); /* it is the caller's own */
        dcsr_matrix_destroy(seen);
    }
    dcsr_store_close(p.store);
    TEST_OK(dcsr_store_open(&p.store, p.path, NULL));
    matrix = durable_open_small(&p, "a", &report);
    cr_assert(report.version == 2 && report.log_records == 2);
    TEST_SHOWS(matrix, {1, 2, 8}, {4, 4, 4});
    dcsr_matrix_destroy(matrix);
    durable_close_place(&p);
}

Test(durable, recover_gives_what_opening_gives)
{
    static const dcsr_type types[] = {DCSR_PATTERN, DCSR_FP64, DCSR_UINT8};
    durable_place p = durable_open_place();
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const char *name = dcsr_type_name(types[t]);
        plan changes = plan_new(70 + t, types[t], true);
        oracle model;
        plan_oracle(&changes, &model, DCSR_POLICY_LAST);
        dcsr_matrix *matrix = plan_open(&changes, p.context, p.store, name, DCSR_POLICY_LAST, NULL);
        for (int round = 0; round < 3; round++) {
            plan_run(&changes, TEST_SIZE(20, 10, 8), matrix, &model);
            dcsr_matrix *seen = recovered(&p, name, NULL);
            TEST_MATCHES(seen, &model);
            cr_assert_eq(test_info(seen).policy, DCSR_POLICY_LAST);
            dcsr_matrix_destroy(seen);
            if (round == 1) TEST_OK(dcsr_store_snapshot(p.store, name, matrix, NULL));
        }
        dcsr_matrix_destroy(matrix);
        oracle_destroy(&model);
    }
    durable_close_place(&p);
}

Test(durable, recover_refuses_bad_arguments)
{
    durable_place p = durable_open_place();
    dcsr_matrix *matrix = durable_open_small(&p, "a", NULL), *seen = matrix;
    dcsr_recovery report = {.version = 7};
    const dcsr_status bad = DCSR_ERROR_INVALID_ARGUMENT;
    TEST_STATUS(bad, dcsr_store_recover(NULL, p.context, p.store, "a", NULL, NULL));
    TEST_STATUS(bad, dcsr_store_recover(&seen, NULL, p.store, "a", NULL, NULL));
    TEST_STATUS(bad, dcsr_store_recover(&seen, p.context, NULL, "a", NULL, NULL));
    TEST_STATUS(bad, dcsr_store_recover(&seen, p.context, p.store, "a#b", NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_NOT_FOUND, "no matrix 'b'",
                 dcsr_store_recover(&seen, p.context, p.store, "b", NULL, &report));
    cr_assert(!seen && !report.version);
    dcsr_matrix_destroy(matrix);
    durable_close_place(&p);
}

/* ---- Large batches ---- */

/* Sums depend on the order of additions, and so on where a batch ends: a large one goes into several records.
 */
Test(durable, replays_a_large_batch_as_one)
{
    enum { N = 300000, SIDE = 40 };
    durable_place p = durable_open_place();
    dcsr_recovery report;
    test_random random = {7};
    uint64_t *row = test_allocate(N, sizeof *row), *col = test_allocate(N, sizeof *col);
    double *value = test_allocate(N, sizeof *value);
    for (int i = 0; i < N; i++) {
        row[i] = test_random_below(&random, SIDE);
        col[i] = test_random_below(&random, SIDE);
        value[i] = 1.0 / (double)(1 + test_random_below(&random, 1000000));
    }
    uint64_t place_row[SIDE * SIDE], place_col[SIDE * SIDE];
    double before[SIDE * SIDE], after[SIDE * SIDE];
    bool stored[SIDE * SIDE];
    for (uint64_t i = 0; i < SIDE * SIDE; i++) place_row[i] = i / SIDE, place_col[i] = i % SIDE;
    dcsr_matrix_options options = {.policy = DCSR_POLICY_SUM};
    dcsr_matrix *matrix;
    TEST_OK(dcsr_store_open_matrix(
        &matrix, p.context, p.store, "a",
        &(dcsr_durable_options){.type = DCSR_FP64, .rows = SIDE, .cols = SIDE, .matrix = options}, NULL));
    TEST_OK(dcsr_matrix_insert(matrix, N, row, col, value, NULL));
    TEST_OK(dcsr_matrix_wait(matrix)); /* or the two might be joined */
    TEST_OK(dcsr_matrix_insert(matrix, N / 2, row, col, value, NULL));
    TEST_OK(dcsr_matrix_remove(matrix, N / 3, row, col, NULL));
    TEST_OK(dcsr_matrix_insert(matrix, N / 3, col, row, value, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_OK(dcsr_matrix_get_many(matrix, SIDE * SIDE, place_row, place_col, before, stored));
    dcsr_matrix_destroy(matrix);
    TEST_OK(dcsr_store_open_matrix(&matrix, p.context, p.store, "a",
                                   &(dcsr_durable_options){.type = DCSR_FP64, .rows = SIDE, .cols = SIDE},
                                   &report));
    cr_assert(report.log_records == 4 && report.log_entries == N + N / 2 + 2 * (N / 3));
    TEST_OK(dcsr_matrix_get_many(matrix, SIDE * SIDE, place_row, place_col, after, stored));
    cr_assert(!memcmp(before, after, sizeof before), "the sums differ in their last bits");
    dcsr_matrix_destroy(matrix);
    free(row);
    free(col);
    free(value);
    durable_close_place(&p);
}
