/* test_nut.c: tiles on the cpu: what they are made of, refreshing them, views that show them. */
#include "dcsr/base/alloc.h"
#include "dcsr/view/view_data.h"
#include "tests/support/support_nut.h"
#include <dcsr/spmv.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static dcsr_context *cpu(int threads)
{
    dcsr_context *context;
    TEST_OK(dcsr_context_create(&context,
                                &(dcsr_context_options){.device = DCSR_DEVICE_CPU, .threads = threads}));
    return context;
}

/* n entries at random, half of them in one row. */
static void insert_random(dcsr_matrix *matrix, test_random *random, size_t n)
{
    dcsr_matrix_info info;
    TEST_OK(dcsr_matrix_get_info(matrix, &info));
    const size_t size = dcsr_type_size(info.type);
    uint64_t *rows = test_allocate(n + 1, sizeof *rows), *cols = test_allocate(n + 1, sizeof *cols);
    char *values = test_allocate(n + 1, 8);
    for (size_t i = 0; i < n; i++) {
        rows[i] = test_random_once_in(random, 2) ? info.rows / 2 : test_random_below(random, info.rows);
        cols[i] = test_random_below(random, info.cols);
        if (size) test_encode(info.type, (double)(1 + test_random_below(random, 9)), values + i * size);
    }
    TEST_OK(dcsr_matrix_insert(matrix, n, rows, cols, size ? values : NULL, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    free(rows);
    free(cols);
    free(values);
}

static void check_tiles(const dcsr_nut *nut, dcsr_view *view)
{
    char why[TEST_WHY];
    cr_assert(test_nut_matches(nut, view, why), "%s", why);
}

static dcsr_i_nut *make(dcsr_context *context, dcsr_view *view, dcsr_i_nut_budget budget, dcsr_i_nut *last,
                        bool (*changed)(const void *, uint64_t, uint64_t), const void *user)
{
    dcsr_i_nut *nut;
    const dcsr_i_nut_order order = {.context = context,
                                    .rows = dcsr_i_view_rows(view),
                                    .budget = budget,
                                    .last = last,
                                    .changed = changed,
                                    .user = user};
    TEST_OK(dcsr_i_nut_create(&nut, &order));
    return nut;
}

/* Whether both are the same, bit for bit. */
static void check_equal(const dcsr_i_nut *a, const dcsr_i_nut *b)
{
    cr_assert(a->shown.panel_count == b->shown.panel_count && a->shown.nnz == b->shown.nnz &&
              a->shown.bytes == b->shown.bytes);
    for (uint64_t p = 0; p < a->shown.panel_count; p++)
        cr_assert(test_panels_are_equal(&a->shown, &a->panels[p], &b->panels[p]), "panel %d", (int)p);
}

static const dcsr_i_nut_budget budgets[] = {{.lanes = 4, .rows = 7, .columns = 5, .panels = 3},
                                            {.lanes = 1, .rows = 64, .columns = 1, .panels = 1},
                                            {.lanes = 32, .rows = 3, .columns = 64, .panels = 1000},
                                            {.lanes = 8, .rows = 100, .columns = 300, .panels = 1}};
enum { BUDGETS = sizeof budgets / sizeof *budgets };

Test(nut, has_every_entry_once)
{
    static const struct {
        uint64_t rows, cols, n;
    } shapes[] = {{1, 1, 1}, {1, 500, 400}, {300, 1, 100}, {40, 40, 0}, {70, 90, 900}, {5, 4000, 3000}};
    dcsr_context *context = cpu(2);
    test_random random = {11};
    for (int type = 0; type < DCSR_TYPE_COUNT; type++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            /* Entries that stand twice count twice where they are kept. */
            const dcsr_policy policy = s % 2 ? DCSR_POLICY_KEEP : DCSR_POLICY_LAST;
            dcsr_matrix *matrix =
                test_matrix(context, (dcsr_type)type, shapes[s].rows, shapes[s].cols, policy);
            for (int b = 0; b < 3; b++) insert_random(matrix, &random, shapes[s].n / 3);
            for (int layout = DCSR_LAYOUT_SEGMENTS; layout <= DCSR_LAYOUT_CSR; layout++) {
                dcsr_view *view = test_view(matrix, (dcsr_layout)layout, 0);
                const dcsr_i_nut_budget budget = budgets[((size_t)type + s) % BUDGETS];
                dcsr_i_nut *nut = make(context, view, budget, NULL, NULL, NULL);
                check_tiles(&nut->shown, view);
                dcsr_i_nut_release(nut);
                dcsr_view_destroy(view);
            }
            dcsr_matrix_destroy(matrix);
        }
    test_close(context);
}

Test(nut, numbers_more_columns_than_16_bits_hold)
{
    enum { COLUMNS = 150000 };
    dcsr_context *context = cpu(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 3, COLUMNS, DCSR_POLICY_LAST);
    uint64_t *rows = test_allocate(COLUMNS, sizeof *rows), *cols = test_allocate(COLUMNS, sizeof *cols);
    double *values = test_allocate(COLUMNS, sizeof *values), sum = 0, y[3];
    for (uint64_t i = 0; i < COLUMNS; i++) {
        rows[i] = 1, cols[i] = COLUMNS - 1 - i, values[i] = (double)(i % 3);
        sum += values[i];
    }
    TEST_OK(dcsr_matrix_insert(matrix, COLUMNS, rows, cols, values, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_NUT, 0);
    const dcsr_nut nut = test_nut_of(view);
    check_tiles(&nut, view);
    for (uint64_t i = 0; i < COLUMNS; i++) values[i] = 1;
    TEST_OK(dcsr_spmv(y, view, values));
    cr_assert(y[0] == 0 && y[1] == sum && y[2] == 0);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    free(rows);
    free(cols);
    free(values);
    test_close(context);
}

/* ---- Refreshing ---- */

Test(nut, takes_over_panels_without_changed_rows)
{
    dcsr_context *context = cpu(2);
    test_random random = {5};
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT32, 100, 80, DCSR_POLICY_SUM);
    insert_random(matrix, &random, 2000);
    dcsr_view *before = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    const dcsr_i_nut_budget budget = {.lanes = 4, .rows = 9, .columns = 16, .panels = 2};
    dcsr_i_nut *old = make(context, before, budget, NULL, NULL, NULL);
    cr_assert(old->shown.panel_count == 13 && !old->kept);
    TEST_INSERT(matrix, {35, 3, 7}, {36, 9, 1}, {99, 79, 4});
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    const dcsr_index_list list = {(uint64_t[]){35, 36, 99}, 3};
    dcsr_i_nut *refreshed = make(context, view, budget, old, dcsr_i_nut_list_changed, &list),
               *rebuilt = make(context, view, budget, NULL, NULL, NULL);
    cr_assert(refreshed->kept == 11 && !rebuilt->kept);
    cr_assert(refreshed->block[3] == old->block[3] && refreshed->block[4] != old->block[4]);
    check_equal(refreshed, rebuilt);
    check_tiles(&refreshed->shown, view);
    /* The old ones are as they were. */
    check_tiles(&old->shown, before);
    dcsr_i_nut_release(old);
    check_tiles(&refreshed->shown, view);
    dcsr_i_nut_release(refreshed);
    dcsr_i_nut_release(rebuilt);
    dcsr_view_destroy(before);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* One of many kinds of change. */
static void change(dcsr_matrix *matrix, test_random *random)
{
    dcsr_matrix_info info;
    TEST_OK(dcsr_matrix_get_info(matrix, &info));
    const uint64_t row = test_random_below(random, info.rows), col = test_random_below(random, info.cols);
    switch (test_random_below(random, 7)) {
    case 0:
        insert_random(matrix, random, 200);
        break;
    case 1: { /* a row is emptied */
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
        uint64_t length;
        TEST_OK(dcsr_view_get_row(view, row, 0, NULL, NULL, &length));
        uint32_t *columns = test_allocate(length + 1, sizeof *columns);
        TEST_OK(dcsr_view_get_row(view, row, length, columns, NULL, &length));
        for (uint64_t e = 0; e < length; e++) TEST_REMOVE(matrix, {row, columns[e], 0});
        dcsr_view_destroy(view);
        free(columns);
        break;
    }
    case 2:
        TEST_OK(dcsr_matrix_resize(matrix, info.rows + 1 + row / 4, info.cols + 1 + col / 4, NULL));
        break;
    case 3:
        TEST_OK(dcsr_matrix_resize(matrix, info.rows - row / 8, info.cols - col / 8, NULL));
        break;
    case 4:
        TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
        break;
    default:
        TEST_INSERT(matrix, {row, col, 3});
        break;
    }
    TEST_OK(dcsr_matrix_wait(matrix));
}

Test(nut, is_the_same_refreshed_as_made_anew)
{
    dcsr_context *context = cpu(2);
    test_seeds seeds = test_seeds_from_environment((uint64_t)TEST_SIZE(12, 4, 3));
    uint64_t kept = 0;
    for (uint64_t i = 0; i < seeds.rounds; i++) {
        test_random random = {seeds.first + i};
        test_seed_begins(random.state);
        const dcsr_type type = (dcsr_type)test_random_below(&random, DCSR_TYPE_COUNT);
        const dcsr_policy policy = test_random_once_in(&random, 3) ? DCSR_POLICY_KEEP : DCSR_POLICY_LAST;
        dcsr_matrix *matrix = test_matrix(context, type, 3000, 500, policy);
        insert_random(matrix, &random, 20000);
        for (int round = 0; round < 20; round++) {
            const unsigned flags = test_random_once_in(&random, 4) ? DCSR_VIEW_DUPLICATES : 0;
            dcsr_view *view = test_view(matrix, DCSR_LAYOUT_NUT, flags);
            check_tiles(&view->nut->shown, view);
            dcsr_i_nut *anew = make(context, view, view->nut->budget, NULL, NULL, NULL);
            check_equal(view->nut, anew);
            kept += view->nut->kept;
            dcsr_i_nut_release(anew);
            dcsr_view_destroy(view);
            change(matrix, &random);
        }
        dcsr_matrix_destroy(matrix);
    }
    cr_assert(kept, "no panel was ever taken over");
    test_close(context);
}

/* ---- Views ---- */

Test(nut, is_kept_for_a_version)
{
    dcsr_context *context = cpu(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 4, 16, DCSR_POLICY_LAST);
    TEST_INSERT(matrix, {0, 0, 1}, {0, 2, 2}, {1, 3, 3}, {2, 15, 4});
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_NUT, 0), *again = test_view(matrix, DCSR_LAYOUT_NUT, 0);
    cr_assert(view->nut == again->nut);
    TEST_VIEW_SHOWS(view, {0, 0, 1}, {0, 2, 2}, {1, 3, 3}, {2, 15, 4});
    dcsr_view_info info;
    TEST_OK(dcsr_view_get_info(view, &info));
    cr_assert(info.layout == DCSR_LAYOUT_NUT && info.nnz == 4);
    TEST_INSERT(matrix, {3, 3, 3});
    dcsr_view *next = test_view(matrix, DCSR_LAYOUT_NUT, 0);
    cr_assert(next->nut != view->nut && next->nut->shown.nnz == 5 && view->nut->shown.nnz == 4);
    check_tiles(&view->nut->shown, view);
    check_tiles(&next->nut->shown, next);
    dcsr_view_destroy(view);
    dcsr_view_destroy(again);
    dcsr_matrix_destroy(matrix);
    check_tiles(&next->nut->shown, next);
    dcsr_view_destroy(next);
    test_close(context);
}

Test(nut, refuses)
{
    dcsr_context *context = cpu(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 4, 4, DCSR_POLICY_LAST);
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_NUT, 0),
              *segments = test_view(matrix, DCSR_LAYOUT_CSR, 0);
    dcsr_nut nut;
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_view_get_nut(view, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_view_get_nut(NULL, &nut));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "DCSR_LAYOUT_NUT", dcsr_view_get_nut(segments, &nut));
    dcsr_view_destroy(view);
    dcsr_view_destroy(segments);
    dcsr_matrix_destroy(matrix);
    for (int wide = 0; wide < 2; wide++) {
        const uint64_t many = UINT64_C(1) << 31;
        matrix = test_matrix(context, DCSR_PATTERN, wide ? 5 : many, wide ? many : 5, DCSR_POLICY_LAST);
        TEST_REFUSED(DCSR_ERROR_TOO_LARGE, "entries", dcsr_view_create(&view, matrix, DCSR_LAYOUT_NUT, 0));
        cr_assert_null(view);
        dcsr_matrix_destroy(matrix);
    }
    test_close(context);
}

Test(nut, survives_every_failing_allocation)
{
    for (int refreshed = 0; refreshed < 2; refreshed++) {
        dcsr_context *context = cpu(1);
        test_random random = {3};
        dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 500, 500, DCSR_POLICY_LAST);
        insert_random(matrix, &random, 5000);
        if (refreshed) dcsr_view_destroy(test_view(matrix, DCSR_LAYOUT_NUT, 0));
        TEST_INSERT(matrix, {7, 7, 7});
        dcsr_view_destroy(test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0));
        dcsr_view *view = NULL;
        long n = 0;
        for (; !view; n++) {
            dcsr_i_fail_allocations_after(n);
            dcsr_status status = dcsr_view_create(&view, matrix, DCSR_LAYOUT_NUT, 0);
            dcsr_i_fail_allocations_after(-1);
            cr_assert(status == (view ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY), "%s", dcsr_thread_error());
        }
        cr_assert(n > 5);
        check_tiles(&view->nut->shown, view);
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
        test_close(context);
    }
}

static void *view_and_check(void *user)
{
    dcsr_matrix *matrix = user;
    for (int i = 0; i < TEST_SIZE(30, 10, 8); i++) {
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_NUT, 0);
        check_tiles(&view->nut->shown, view);
        dcsr_view_destroy(view);
    }
    return NULL;
}

Test(nut, is_viewed_by_many_threads_while_it_changes)
{
    dcsr_context *context = cpu(2);
    test_random random = {9};
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT64, 400, 300, DCSR_POLICY_LAST);
    insert_random(matrix, &random, 3000);
    pthread_t threads[3];
    for (int t = 0; t < 3; t++) pthread_create(&threads[t], NULL, view_and_check, matrix);
    for (int i = 0; i < TEST_SIZE(60, 20, 16); i++) insert_random(matrix, &random, 5);
    for (int t = 0; t < 3; t++) pthread_join(threads[t], NULL);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}
