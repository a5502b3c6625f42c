/* test_result_room.c: results of a matrix that others read: the room of what they replace serves again, and
 * readers see one version. */
#include <dcsr/assign.h>
#include "tests/support/support.h"

#include <pthread.h>
#include <stdlib.h>

enum { ROWS = 250, COLS = 40 };

/* ---- Memory ---- */

/* What a change replaces serves the next, also while a view holds the version before all of them; whether it
 * touches few rows or all. */
static void memory_is_bounded(uint64_t touched)
{
    enum { SIZE = 3000, ENTRIES = 60000, CHANGES = 30 };
    dcsr_context *context = test_context(2);
    dcsr_matrix *C = test_matrix(context, DCSR_FP64, SIZE, SIZE, DCSR_POLICY_LAST);
    test_random random = {7};
    const double five = 5;
    test_entry *entries = test_allocate(ENTRIES, sizeof *entries);
    for (size_t i = 0; i < ENTRIES; i++)
        entries[i] = (test_entry){test_random_below(&random, SIZE), test_random_below(&random, SIZE), 1};
    test_insert(C, ENTRIES, entries);
    free(entries);
    dcsr_view *held = test_view(C, DCSR_LAYOUT_SEGMENTS, 0);
    uint64_t *rows = test_allocate(touched, sizeof *rows), cols[] = {5, 6}, entries_then = 0;
    for (uint64_t k = 0; k < touched; k++) rows[k] = k * (SIZE / touched);
    for (int i = 0; i < CHANGES; i++) {
        TEST_OK(dcsr_matrix_assign_scalar(C, NULL, NULL, &five, DCSR_FP64, &(dcsr_index_list){rows, touched},
                                          &(dcsr_index_list){cols, 2}, NULL));
        if (i == 3) entries_then = test_info(C).arena_entries;
    }
    cr_assert_leq(test_info(C).arena_entries, entries_then + entries_then / 4);
    dcsr_view_destroy(held);
    free(rows);
    dcsr_matrix_destroy(C);
    test_close(context);
}
Test(result_room, memory_is_used_again_few_rows, .timeout = 300)
{
    memory_is_bounded(100);
}
Test(result_room, memory_is_used_again_all_rows, .timeout = 300)
{
    memory_is_bounded(3000);
}

/* ---- Threads ---- */

typedef struct reader {
    dcsr_matrix *C;
    atomic_bool *stop;
} reader;

/* All entries of row 70 are of one assignment; row 71 stays. */
static void *read_rows(void *argument)
{
    reader *r = argument;
    while (!atomic_load(r->stop)) {
        dcsr_view *view;
        uint32_t columns[COLS];
        double values[COLS];
        uint64_t length;
        if (dcsr_view_create(&view, r->C, DCSR_LAYOUT_SEGMENTS, 0) != DCSR_OK) return "no view";
        bool read = dcsr_view_get_row(view, 70, COLS, columns, values, &length) == DCSR_OK && length == COLS;
        for (uint64_t e = 1; read && e < length; e++)
            if (values[e] != values[0]) read = false;
        read &= dcsr_view_get_row(view, 71, COLS, columns, values, &length) == DCSR_OK && length == 1 &&
                values[0] == 3;
        dcsr_view_destroy(view);
        if (!read) return "a view shows a mixture";
    }
    return NULL;
}

Test(result_room, others_read_meanwhile, .timeout = 300)
{
    enum { READERS = 2 };
    dcsr_context *context = test_context(2);
    dcsr_matrix *C = test_matrix(context, DCSR_FP64, ROWS, COLS, DCSR_POLICY_LAST);
    uint64_t row = 70;
    TEST_INSERT(C, {71, 8, 3});
    double value = 0;
    TEST_OK(
        dcsr_matrix_assign_scalar(C, NULL, NULL, &value, DCSR_FP64, &(dcsr_index_list){&row, 1}, NULL, NULL));
    atomic_bool stop = false;
    reader r = {C, &stop};
    pthread_t threads[READERS];
    for (int i = 0; i < READERS; i++) cr_assert(!pthread_create(&threads[i], NULL, read_rows, &r));
    for (int n = TEST_SIZE(2000, 500, 200); n; n--) {
        value = n;
        TEST_OK(dcsr_matrix_assign_scalar(C, NULL, NULL, &value, DCSR_FP64, &(dcsr_index_list){&row, 1}, NULL,
                                          NULL));
    }
    atomic_store(&stop, true);
    for (int i = 0; i < READERS; i++) {
        void *problem;
        pthread_join(threads[i], &problem);
        cr_assert(!problem, "%s", (const char *)problem);
    }
    dcsr_matrix_destroy(C);
    test_close(context);
}
