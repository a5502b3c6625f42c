/* test_defragment.c: segments, their slack, and moving rows: what a matrix does about being fragmented, and
 * what its counters say. */
#include "tests/support/support.h"

#include "dcsr/base/alloc.h"
#include "dcsr/store/result.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static dcsr_matrix *matrix_with(dcsr_context *context, uint64_t rows, int segments, dcsr_defragmentation when)
{
    dcsr_matrix *matrix = NULL;
    dcsr_matrix_options options = {.policy = DCSR_POLICY_LAST, .segments = segments, .defragmentation = when};
    TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_FP64, rows, 10000, &options));
    return matrix;
}

/* Inserts `count` new entries into each of the rows from `first` up to `last`, columns from `col` on, as one
 * batch. */
static void fill(dcsr_matrix *matrix, uint64_t first, uint64_t last, uint64_t col, uint64_t count)
{
    size_t n = (last - first) * count, i = 0;
    uint64_t *rows = test_allocate(n, sizeof *rows), *cols = test_allocate(n, sizeof *cols);
    double *values = test_allocate(n, sizeof *values);
    for (uint64_t r = first; r < last; r++) {
        for (uint64_t c = col; c < col + count; c++, i++) {
            rows[i] = r;
            cols[i] = c;
            values[i] = (double)(r * 10000 + c);
        }
    }
    TEST_OK(dcsr_matrix_insert(matrix, n, rows, cols, values, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    free(rows);
    free(cols);
    free(values);
}

/* Whether the view shows rows first..last-1 with the columns 0..count-1, as fill() makes them, and nothing
 * else. */
static void check_filled(dcsr_view *view, uint64_t first, uint64_t last, uint64_t count)
{
    dcsr_view_info info = test_view_info(view);
    cr_assert(info.nnz == (last - first) * count, "%lu entries", (unsigned long)info.nnz);
    uint32_t *columns = test_allocate(count, sizeof *columns);
    double *values = test_allocate(count, sizeof *values);
    for (uint64_t r = first; r < last; r++) {
        uint64_t length = 0;
        TEST_OK(dcsr_view_get_row(view, r, count, columns, values, &length));
        cr_assert(length == count);
        for (uint64_t c = 0; c < count; c++)
            cr_assert(columns[c] == c && values[c] == (double)(r * 10000 + c), "row %lu", (unsigned long)r);
    }
    free(columns);
    free(values);
}

static void check_matrix_filled(dcsr_matrix *matrix, uint64_t first, uint64_t last, uint64_t count)
{
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED);
    check_filled(view, first, last, count);
    dcsr_view_destroy(view);
}

static void defragment(dcsr_matrix *matrix, dcsr_defragment_scope scope)
{
    TEST_OK(dcsr_matrix_defragment(matrix, scope, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
}

Test(store, counts_what_was_done)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = matrix_with(context, 10, 0, DCSR_DEFRAGMENT_OFF);
    uint64_t version = test_info(matrix).version;
    TEST_INSERT(matrix, {1, 1, 1}, {1, 2, 2}, {3, 1, 3});
    dcsr_matrix_info info = test_info(matrix);
    cr_assert(info.version > version && info.batches == 1 && info.inserted == 3 && info.removed == 0);
    cr_assert(info.stored == 3 && info.segments == 2 && info.max_segments == 1);
    cr_assert(info.unresolved_rows == 0, "rows that were empty hold nothing twice");
    cr_assert(info.arena_entries >= 3 && info.bytes > 0 && info.pending_bytes == 0);
    dcsr_view *held = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
    TEST_REMOVE(matrix, {1, 2, 0}, {5, 5, 0}); /* leaves a tombstone behind a view that is held */
    dcsr_view_destroy(held);
    info = test_info(matrix);
    cr_assert(info.batches == 2 && info.inserted == 3 && info.removed == 2);
    cr_assert(info.unresolved_rows >= 1);
    uint64_t nnz = 0;
    TEST_OK(dcsr_matrix_get_nnz(matrix, &nnz));
    cr_assert(nnz == 2);
    cr_assert(info.busy_seconds >= 0 && info.defragmentations == 0 && info.row_rewrites == 0);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(store, leaves_slack_so_that_single_entries_share_segments)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = matrix_with(context, 3, 4, DCSR_DEFRAGMENT_OFF);
    uint64_t many = test_on_emulator() ? 500 : 2000;
    for (uint64_t c = 0; c < many; c++) fill(matrix, 1, 2, c, 1);
    dcsr_matrix_info info = test_info(matrix);
    cr_assert(info.max_segments <= 4);
    cr_assert(info.row_rewrites < 20, "%lu rewrites: slack must grow with the row",
              (unsigned long)info.row_rewrites);
    cr_assert(info.arena_entries < 10 * many, "%lu entries handed out for %lu",
              (unsigned long)info.arena_entries, (unsigned long)many);
    check_matrix_filled(matrix, 1, 2, many);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(store, rewrites_a_row_whose_segments_ran_out)
{
    dcsr_context *context = test_context(1);
    for (int k = DCSR_MIN_SEGMENTS; k <= DCSR_MAX_SEGMENTS; k++) {
        dcsr_matrix *matrix = matrix_with(context, 130, k, DCSR_DEFRAGMENT_OFF);
        uint64_t most = 0, count = 0;
        fill(matrix, 2, 3, 0, 3);
        while (count < 4000) { /* each batch is more than the slack, so it opens a segment */
            fill(matrix, 1, 2, count, count + 3);
            count += count + 3;
            dcsr_matrix_info info = test_info(matrix);
            if (info.max_segments > most) most = info.max_segments;
        }
        cr_assert(most == (uint64_t)k, "%lu segments of %d", (unsigned long)most, k);
        cr_assert(test_info(matrix).row_rewrites >= 1);
        cr_assert(test_info(matrix).defragmentations == 0);
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
        uint64_t length = 0;
        TEST_OK(dcsr_view_get_row(view, 1, 0, NULL, NULL, &length));
        cr_assert(length == count);
        TEST_OK(dcsr_view_get_row(view, 2, 0, NULL, NULL, &length));
        cr_assert(length == 3, "its neighbour is as it was");
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
    }
    test_close(context);
}

Test(store, does_not_defragment_when_that_is_off)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = matrix_with(context, 500, 8, DCSR_DEFRAGMENT_OFF);
    for (uint64_t c = 0; c < 30; c++) {
        fill(matrix, 0, 500, c, 1);
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
        for (int i = 0; i < 20; i++) dcsr_i_view_was_read(view);
        dcsr_view_destroy(view);
    }
    TEST_OK(dcsr_matrix_wait(matrix));
    cr_assert(test_info(matrix).defragmentations == 0);
    check_matrix_filled(matrix, 0, 500, 30);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(store, defragments_by_itself_when_reading_has_cost_enough)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = matrix_with(context, 500, 8, DCSR_DEFRAGMENT_AUTO);
    uint64_t count = 0;
    for (uint64_t add = 1; add < 700; add *= 3, count += add / 3) fill(matrix, 0, 500, count, add);
    /* Reading a fragmented matrix over and over makes moving it worth while at some time. */
    for (int i = 0; i < 10000 && !test_info(matrix).defragmentations; i++) {
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
        for (int j = 0; j < 100; j++) dcsr_i_view_was_read(view);
        dcsr_view_destroy(view);
        TEST_OK(dcsr_matrix_wait(matrix));
    }
    cr_assert(test_info(matrix).defragmentations > 0);
    cr_assert(test_info(matrix).max_segments == 1);
    check_matrix_filled(matrix, 0, 500, count);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

static dcsr_matrix *fragmented(dcsr_context *context)
{
    dcsr_matrix *matrix = matrix_with(context, 100, 8, DCSR_DEFRAGMENT_AUTO);
    uint64_t count = 0;
    for (uint64_t add = 1; add < 100; add *= 3, count += add / 3) fill(matrix, 0, 100, count, add);
    cr_assert(test_info(matrix).max_segments > 1 && !test_info(matrix).defragmentations);
    return matrix;
}

/* So often that moving is worth it for sure. */
static void read_often(dcsr_view *view)
{
    for (int i = 0; i < 1000; i++) dcsr_i_view_was_read(view);
}

Test(store, is_not_defragmented_for_readers_of_a_version_that_is_gone)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = fragmented(context);
    dcsr_view *before = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
    defragment(matrix, DCSR_DEFRAGMENT_WHOLE);
    uint64_t version = test_info(matrix).version;
    read_often(before);
    TEST_OK(dcsr_matrix_wait(matrix));
    cr_assert(test_info(matrix).defragmentations == 1 && test_info(matrix).version == version);
    dcsr_view_destroy(before);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

static dcsr_status read_in_turn(dcsr_matrix *matrix, void *view)
{
    uint64_t queued = atomic_load(&matrix->queue.queued);
    read_often(view);
    cr_assert(atomic_load(&matrix->queue.queued) == queued + 1, "asked for more than once");
    return DCSR_OK;
}

Test(store, is_asked_once_however_many_readers_have_paid_enough)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = fragmented(context);
    for (int round = 0; round < 2; round++) {
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
        TEST_OK(dcsr_i_result_turn(matrix, "test", read_in_turn, view));
        dcsr_view_destroy(view);
        if (round) break; /* and goes while the worker is asked */
        TEST_OK(dcsr_matrix_wait(matrix));
        cr_assert(test_info(matrix).defragmentations == 1 && test_info(matrix).max_segments == 1);
        fill(matrix, 0, 100, 200, 100);
    }
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

static bool has_worker(dcsr_matrix *matrix)
{
    pthread_mutex_lock(&matrix->queue.lock);
    bool runs = matrix->queue.worker_runs;
    pthread_mutex_unlock(&matrix->queue.lock);
    return runs;
}

Test(store, is_defragmented_though_the_worker_has_ended)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = fragmented(context);
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
    while (has_worker(matrix)) usleep(10000);
    read_often(view);
    TEST_OK(dcsr_matrix_wait(matrix));
    cr_assert(test_info(matrix).defragmentations == 1 && test_info(matrix).max_segments == 1);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(defragment, whole_puts_each_row_into_one_tight_segment)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = matrix_with(context, 300, 4, DCSR_DEFRAGMENT_OFF);
    for (uint64_t c = 0, add = 1; c < 40; c += add, add *= 3) fill(matrix, 10, 210, c, add);
    fill(matrix, 10, 210, 0, 2); /* duplicates */
    TEST_REMOVE(matrix, {20, 5, 0}, {20, 500, 0}, {299, 1, 0});
    cr_assert(test_info(matrix).max_segments > 1 && test_info(matrix).unresolved_rows > 0);
    defragment(matrix, DCSR_DEFRAGMENT_WHOLE);
    dcsr_matrix_info info = test_info(matrix);
    uint64_t nnz = 0;
    TEST_OK(dcsr_matrix_get_nnz(matrix, &nnz));
    cr_assert(nnz == 200 * 40 - 1);
    cr_assert(info.stored == nnz, "%lu stored", (unsigned long)info.stored);
    cr_assert(info.arena_entries == nnz, "%lu entries handed out", (unsigned long)info.arena_entries);
    cr_assert(info.segments == 200 && info.max_segments == 1 && info.unresolved_rows == 0);
    cr_assert(info.defragmentations == 1);
    double value = 0;
    bool stored = true;
    TEST_OK(dcsr_matrix_get(matrix, 20, 5, &value, &stored));
    cr_assert(!stored);
    TEST_INSERT(matrix, {20, 5, 20 * 10000 + 5});
    check_matrix_filled(matrix, 10, 210, 40);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(defragment, whole_lets_csr_views_lend_the_store)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = matrix_with(context, 1000, 4, DCSR_DEFRAGMENT_OFF);
    dcsr_csr csr, readable;
    for (uint64_t c = 0, add = 1; c < 40; c += add, add *= 3) fill(matrix, 500, 1000, c, add);
    dcsr_view *gathered = test_view(matrix, DCSR_LAYOUT_CSR, 0);
    cr_assert(!test_view_info(gathered).lent, "rows of several segments cannot be lent");
    check_filled(gathered, 500, 1000, 40);
    defragment(matrix, DCSR_DEFRAGMENT_WHOLE);
    dcsr_view *lent = test_view(matrix, DCSR_LAYOUT_CSR, 0),
              *segments = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    cr_assert(test_view_info(lent).lent);
    cr_assert(!test_view_info(segments).lent);
    TEST_OK(dcsr_view_get_csr(lent, &csr));
    TEST_OK(dcsr_view_get_csr_on_host(lent, &readable));
    for (uint64_t r = 500; r < 1000; r++) {
        const uint32_t *columns;
        cr_assert(test_pieces(segments, r, &columns) == 1);
        cr_assert(columns == csr.col_indices + readable.offsets[r], "row %lu was copied", (unsigned long)r);
    }
    fill(matrix, 0, 1000, 40, 100);
    defragment(matrix, DCSR_DEFRAGMENT_WHOLE);
    check_filled(lent, 500, 1000, 40);
    check_filled(segments, 500, 1000, 40);
    dcsr_view_destroy(segments);
    dcsr_view_destroy(gathered);
    dcsr_matrix_destroy(matrix);
    check_filled(lent, 500, 1000, 40);
    dcsr_view_destroy(lent);
    test_close(context);
}

Test(defragment, selected_moves_only_rows_of_several_segments)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = matrix_with(context, 200, 8, DCSR_DEFRAGMENT_OFF);
    fill(matrix, 0, 200, 0, 13);
    fill(matrix, 50, 60, 13, 30);
    fill(matrix, 50, 60, 43, 90);
    cr_assert(test_info(matrix).segments > 200);
    dcsr_view *before = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
    defragment(matrix, DCSR_DEFRAGMENT_SELECTED);
    dcsr_view *after = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
    dcsr_matrix_info info = test_info(matrix);
    cr_assert(info.segments == 200 && info.max_segments == 1 && info.defragmentations == 1);
    for (uint64_t r = 0; r < 200; r++) {
        const uint32_t *from, *to;
        test_pieces(before, r, &from);
        cr_assert(test_pieces(after, r, &to) == 1);
        cr_assert((from != to) == (r >= 50 && r < 60), "row %lu", (unsigned long)r);
    }
    fill(matrix, 50, 60, 133, 1);
    cr_assert(test_info(matrix).segments == 200, "a row that moved has slack");
    dcsr_view_destroy(before);
    dcsr_view_destroy(after);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(defragment, keeps_duplicates_that_the_policy_keeps)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT32, 3, 3, DCSR_POLICY_KEEP);
    for (int scope = DCSR_DEFRAGMENT_WHOLE; scope <= DCSR_DEFRAGMENT_SELECTED; scope++) {
        TEST_REMOVE(matrix, {1, 1, 0}, {1, 2, 0});
        TEST_INSERT(matrix, {1, 1, 5}, {1, 2, 7});
        TEST_INSERT(matrix, {1, 1, 5}, {1, 1, 4}, {1, 0, 1}, {1, 1, 3});
        TEST_INSERT(matrix, {1, 1, 6}, {1, 1, 2});
        TEST_REMOVE(matrix, {1, 0, 0});
        defragment(matrix, (dcsr_defragment_scope)scope);
        TEST_SHOWS(matrix, {1, 1, 2}, {1, 1, 3}, {1, 1, 4}, {1, 1, 5}, {1, 1, 5}, {1, 1, 6}, {1, 2, 7});
        int32_t value = 0;
        bool stored = false;
        TEST_OK(dcsr_matrix_get(matrix, 1, 1, &value, &stored));
        cr_assert(stored && value == 2, "%d is not the one stored last", value);
    }
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(defragment, gives_back_the_old_places)
{
    dcsr_context *context = test_context(1);
    const uint64_t rows = test_on_emulator() ? 400 : 2000;
    dcsr_matrix *matrix = matrix_with(context, rows, 4, DCSR_DEFRAGMENT_OFF);
    fill(matrix, 0, rows, 0, 100);
    uint64_t bytes = 0;
    for (int i = 0; i < (test_on_emulator() ? 6 : 20); i++) {
        fill(matrix, 0, rows, 0, 100); /* the same entries again */
        defragment(matrix, DCSR_DEFRAGMENT_WHOLE);
        if (!i) bytes = test_info(matrix).bytes; /* with what is free after moving all rows once */
    }
    dcsr_matrix_info info = test_info(matrix);
    cr_assert(info.arena_entries == rows * 100);
    /* A GPU's memory comes in units of 2 MiB for each of the arrays, and blocks of 65536 entries. */
    uint64_t units = test_on_device(context) ? 16 << 20 : 0;
    cr_assert(info.bytes < 2 * bytes + units, "%lu bytes became %lu", (unsigned long)bytes,
              (unsigned long)info.bytes);
    check_matrix_filled(matrix, 0, rows, 100);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* ---- Memory of changes one by one, on the cpu ---- */

/* Entries that come and go where they are, while nobody holds a version: rows give up segments that lie anywhere. */
Test(defragment, keeps_up_with_changes_in_place)
{
    enum { SIDE = 5000, LIVE = 50000, ROUNDS = 1000000, MOST_BYTES = 8 << 20 };
    static uint64_t row[LIVE], col[LIVE];
    if (test_on_emulator()) cr_skip_test("nothing of the device takes part");
    dcsr_context *context;
    TEST_OK(dcsr_context_create(&context, &(dcsr_context_options){.device = DCSR_DEVICE_CPU, .threads = 1}));
    dcsr_matrix *matrix = matrix_with(context, SIDE, 4, DCSR_DEFRAGMENT_AUTO);
    test_random random = {.state = 12};
    for (uint64_t i = 0; i < ROUNDS; i++) {
        const uint64_t k = i % LIVE;
        if (i >= LIVE) TEST_OK(dcsr_matrix_remove_one(matrix, row[k], col[k], NULL));
        row[k] = test_random_below(&random, SIDE);
        col[k] = test_random_below(&random, SIDE);
        TEST_OK(dcsr_matrix_set(matrix, row[k], col[k], &(double){1}));
    }
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_matrix_info info = test_info(matrix);
    cr_assert(info.stored > LIVE - LIVE / 50 && info.stored <= LIVE);
    cr_assert(info.bytes < MOST_BYTES, "%lu bytes", (unsigned long)info.bytes);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* A view holds most of what the matrix had: moving rows again gives nothing of it back. */
Test(defragment, does_not_begin_again_while_a_view_holds_the_places)
{
    enum { LONG = 500, CHANGES = 100 };
    if (test_on_emulator()) cr_skip_test("nothing of the device takes part");
    dcsr_context *context;
    TEST_OK(dcsr_context_create(&context, &(dcsr_context_options){.device = DCSR_DEVICE_CPU, .threads = 1}));
    dcsr_matrix *matrix = matrix_with(context, 1000, 4, DCSR_DEFRAGMENT_AUTO);
    fill(matrix, 0, 1000, 0, LONG);
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
    uint64_t *rows = test_allocate(1000 * LONG, sizeof *rows),
             *cols = test_allocate(1000 * LONG, sizeof *cols);
    for (uint64_t i = 0; i < 1000 * LONG; i++) rows[i] = i / LONG, cols[i] = i % LONG;
    TEST_OK(dcsr_matrix_remove(matrix, 990 * LONG, rows, cols, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    for (uint64_t i = 0; i < CHANGES; i++) {
        TEST_OK(dcsr_matrix_set(matrix, i, 7000, &(double){1}));
        TEST_OK(dcsr_matrix_wait(matrix));
    }
    cr_assert_leq(test_info(matrix).defragmentations, 5);
    check_filled(view, 0, 1000, LONG);
    dcsr_view_destroy(view);
    free(rows), free(cols);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* Large enough for several threads, each of which needs memory of its own: when only some get it, none may
 * have begun, or places would be given back twice. */
Test(defragment, that_runs_out_of_memory_in_one_thread_changes_nothing)
{
    enum { ROWS = TEST_EMULATOR ? 100 : 1000, PER_ROW = 60 };
    dcsr_context *context = test_context(4);
    dcsr_matrix *matrix = matrix_with(context, ROWS, 4, DCSR_DEFRAGMENT_OFF);
    fill(matrix, 0, ROWS, 0, PER_ROW);
    fill(matrix, 0, ROWS, PER_ROW / 2, PER_ROW);
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    int failures = 0;
    for (long n = 2; status != DCSR_OK; n++, failures++) {
        dcsr_ticket *ticket = NULL;
        TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_SELECTED, NULL));
        TEST_OK(dcsr_matrix_wait(matrix));
        fill(matrix, 0, ROWS, PER_ROW / 2, PER_ROW);
        TEST_OK(dcsr_matrix_wait(matrix));
        uint64_t stored = test_info(matrix).stored, held = test_info(matrix).arena_entries;
        dcsr_i_fail_allocations_after(n);
        dcsr_status queued = dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_SELECTED, &ticket);
        status = queued == DCSR_OK ? dcsr_ticket_wait(ticket) : queued;
        dcsr_i_fail_allocations_after(-1);
        dcsr_ticket_destroy(ticket);
        if (status == DCSR_OK) break;
        cr_assert(status == DCSR_ERROR_OUT_OF_MEMORY);
        cr_assert(test_info(matrix).stored == stored && test_info(matrix).arena_entries == held, "after %ld",
                  n);
    }
    uint64_t nnz = 0;
    TEST_OK(dcsr_matrix_get_nnz(matrix, &nnz));
    cr_assert(nnz == ROWS * (PER_ROW + PER_ROW / 2) && failures > 0);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}
