/* test_segment.c: segments in a word, and rows whose lengths are capacities that cannot be written, also in clones. */
#include "tests/support/support.h"

#include "dcsr/store/store.h"
#include <math.h>
#include <stdlib.h>

enum { MANTISSA = 1 << DCSR_I_SEGMENT_MANTISSA_BITS, EXACT = 2 * MANTISSA };

static const uint64_t longest_row = UINT32_MAX / 2;

Test(segment, keeps_begin_and_capacity)
{
    test_random random = {1};
    for (int i = 0; i < 100000; i++) {
        uint64_t begin = test_random_below(&random, DCSR_I_MOST_PLACES);
        if (i == 0) begin = DCSR_I_MOST_PLACES - 1;
        uint64_t capacity = test_random_below(&random, (uint64_t)1 << test_random_below(&random, 32));
        capacity = dcsr_i_fitting_capacity(i == 1 ? longest_row : capacity);
        dcsr_i_segment segment = dcsr_i_segment_of(begin, capacity);
        cr_assert(dcsr_i_segment_begin(segment) == begin);
        cr_assert(dcsr_i_segment_capacity(segment) == capacity, "%lu", (unsigned long)capacity);
    }
}

Test(segment, without_a_capacity_is_none)
{
    cr_assert(dcsr_i_segment_capacity((dcsr_i_segment){0}) == 0);
    cr_assert(dcsr_i_segment_capacity(dcsr_i_segment_of(DCSR_I_MOST_PLACES - 1, 0)) == 0);
    cr_assert(dcsr_i_segment_capacity(dcsr_i_segment_of(0, 1)) == 1);
}

/* All of them, or around the powers of two and the limits. */
Test(segment, capacities_are_exact_as_far_as_they_fit)
{
    for (uint64_t capacity = 0; capacity <= EXACT; capacity++) {
        cr_assert(dcsr_i_fitting_capacity(capacity) == capacity);
        cr_assert(dcsr_i_segment_capacity(dcsr_i_segment_of(7, capacity)) == capacity);
    }
    cr_assert(dcsr_i_fitting_capacity(EXACT + 1) == EXACT + 2);
    cr_assert(dcsr_i_segment_capacity(dcsr_i_segment_of(7, EXACT + 1)) == EXACT);
    cr_assert(dcsr_i_fitting_capacity(4 * (uint64_t)MANTISSA - 1) == 4 * (uint64_t)MANTISSA);
}

Test(segment, capacities_that_fit_are_near)
{
    test_random random = {2};
    for (int i = 0; i < 100000; i++) {
        uint64_t capacity = test_random_below(&random, (uint64_t)1 << test_random_below(&random, 32)) + 1;
        uint64_t fitting = dcsr_i_fitting_capacity(capacity);
        uint64_t written = dcsr_i_segment_capacity(dcsr_i_segment_of(0, capacity));
        cr_assert(written <= capacity && capacity <= fitting);
        cr_assert(fitting - written <= capacity / MANTISSA, "%lu", (unsigned long)capacity);
        cr_assert((fitting == capacity) == (written == capacity));
        cr_assert(dcsr_i_fitting_capacity(fitting) == fitting);
        cr_assert(dcsr_i_fitting_capacity(capacity - 1) <= fitting);
    }
}

Test(segment, a_row_that_fills_one_has_its_length)
{
    const uint64_t length = EXACT + 1;
    const dcsr_i_segment segment = dcsr_i_segment_of(5, length);
    cr_assert(dcsr_i_is_rounded(segment, length));
    cr_assert(dcsr_i_only_capacity(segment, length) == length);
    cr_assert(!dcsr_i_is_rounded(dcsr_i_segment_of(5, EXACT + 2), length));
    cr_assert(dcsr_i_only_capacity(dcsr_i_segment_of(5, EXACT + 2), length) == EXACT + 2);
}

/* ---- Rows of such lengths ---- */

enum { ROWS = 70, LONG = 5 };

typedef struct fixture {
    dcsr_context *context;
    dcsr_matrix *matrix;
    oracle model;
} fixture;

static void change(fixture *f, bool inserts, uint64_t row, uint64_t first, size_t n)
{
    uint64_t *rows = test_allocate(n, sizeof *rows), *cols = test_allocate(n, sizeof *cols);
    float *values = test_allocate(n, sizeof *values);
    for (size_t i = 0; i < n; i++) {
        rows[i] = row;
        cols[i] = first + i;
        values[i] = (float)((row + i) % 1000);
    }
    if (inserts) {
        TEST_OK(dcsr_matrix_insert(f->matrix, n, rows, cols, values, NULL));
        oracle_insert(&f->model, n, rows, cols, values);
    } else {
        TEST_OK(dcsr_matrix_remove(f->matrix, n, rows, cols, NULL));
        oracle_remove(&f->model, n, rows, cols);
    }
    TEST_OK(dcsr_matrix_wait(f->matrix));
    free(rows);
    free(cols);
    free(values);
}

/* A matrix whose rows lie one behind the other, the long one of them of a length that cannot be written. */
static void set_up(fixture *f, int segments, dcsr_resolution resolve)
{
    const dcsr_matrix_options options = {.policy = DCSR_POLICY_LAST,
                                         .segments = segments,
                                         .resolve = resolve,
                                         .defragmentation = DCSR_DEFRAGMENT_OFF};
    f->context = test_context(2);
    TEST_OK(dcsr_matrix_create(&f->matrix, f->context, DCSR_FP32, ROWS, 3 * EXACT, &options));
    oracle_create(&f->model, DCSR_FP32, DCSR_POLICY_LAST, ROWS, 3 * EXACT);
    for (uint64_t row = 0; row < ROWS; row += 3) change(f, true, row, 0, row % 7 + 1);
    change(f, true, LONG, 0, EXACT + 1);
    TEST_OK(dcsr_matrix_defragment(f->matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
    TEST_OK(dcsr_matrix_wait(f->matrix));
    cr_assert(test_info(f->matrix).arena_entries == oracle_nnz(&f->model));
}

/* All places are given back at the end. */
static void tear_down(fixture *f)
{
    TEST_MATCHES(f->matrix, &f->model);
    TEST_OK(dcsr_matrix_defragment(f->matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
    TEST_OK(dcsr_matrix_wait(f->matrix));
    TEST_MATCHES(f->matrix, &f->model);
    cr_assert(test_info(f->matrix).arena_entries == oracle_nnz(&f->model));
    dcsr_matrix_destroy(f->matrix);
    oracle_destroy(&f->model);
    test_close(f->context);
}

static const struct {
    int segments;
    dcsr_resolution resolve;
} kinds[] = {{DCSR_MIN_SEGMENTS, DCSR_RESOLVE_ON_READ},
             {DCSR_MIN_SEGMENTS, DCSR_RESOLVE_ON_INSERT},
             {4, DCSR_RESOLVE_ON_READ},
             {4, DCSR_RESOLVE_ON_INSERT}};
enum { KINDS = sizeof kinds / sizeof *kinds };

Test(rounded_row, lets_its_neighbours_grow)
{
    for (int k = 0; k < KINDS; k++) {
        fixture f;
        set_up(&f, kinds[k].segments, kinds[k].resolve);
        for (uint64_t i = 0; i < 4; i++) {
            change(&f, true, LONG - 1, 10 * i, 10);
            change(&f, true, LONG + 1, 10 * i, 10);
            change(&f, i % 2, LONG + 2, 3, 1);
        }
        tear_down(&f);
    }
}

Test(rounded_row, grows)
{
    for (int k = 0; k < KINDS; k++) {
        fixture f;
        set_up(&f, kinds[k].segments, kinds[k].resolve);
        dcsr_view *before = test_view(f.matrix, DCSR_LAYOUT_SEGMENTS, 0);
        oracle model;
        oracle_copy(&model, &f.model);
        change(&f, true, LONG, EXACT + 1, 3);
        change(&f, true, LONG, EXACT - 20, 50);
        change(&f, false, LONG, EXACT / 4, 30);
        char why[TEST_WHY];
        cr_assert(test_view_matches(before, &model, 0, why), "%s", why);
        dcsr_view_destroy(before);
        oracle_destroy(&model);
        tear_down(&f);
    }
}

Test(rounded_row, changes_by_single_entries)
{
    for (int k = 0; k < KINDS; k++) {
        fixture f;
        set_up(&f, kinds[k].segments, kinds[k].resolve);
        for (uint64_t i = 0; i < 5; i++) {
            change(&f, i % 2 == 0, LONG, EXACT - 3 * i, 1);
            change(&f, i % 2 != 0, LONG, i, 1);
            change(&f, true, LONG, 2 * EXACT + i, 1);
        }
        tear_down(&f);
    }
}

Test(rounded_row, is_cut_off)
{
    fixture f;
    set_up(&f, 4, DCSR_RESOLVE_ON_READ);
    TEST_OK(dcsr_matrix_resize(f.matrix, LONG, 3 * EXACT, NULL));
    TEST_OK(dcsr_matrix_resize(f.matrix, ROWS, 3 * EXACT, NULL));
    TEST_OK(dcsr_matrix_wait(f.matrix));
    oracle_resize(&f.model, LONG, 3 * EXACT);
    oracle_resize(&f.model, ROWS, 3 * EXACT);
    change(&f, true, LONG, 0, EXACT + 3);
    tear_down(&f);
}

/* ---- In clones ---- */

/* The long row of the origin has a last segment with so much in it as cannot be written as a capacity, and mostly with
 * room: behind a first one with the `head`, or as its only one. With few bits for capacities there is a head that is
 * long enough for a row that is resolved as it grows to have a tail. */
#ifdef DCSR_SIMT
static const uint64_t heads[] = {0, 12, 4 * EXACT};
#else
static const uint64_t heads[] = {0, 12};
#endif
enum { HEADS = sizeof heads / sizeof *heads };
enum { FILLED = 3 * MANTISSA + 1, HEAD_COLS = 2 * EXACT, BEHIND = 7 * EXACT, CLONE_COLS = 8 * EXACT };

static uint64_t last_filled(const fixture *f)
{
    const dcsr_i_table *table = f->matrix->versions.current;
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    return pieces[dcsr_i_row_pieces(dcsr_i_page(table, 0), LONG, pieces) - 1].length;
}

static void set_up_origin(fixture *f, int kind, uint64_t head)
{
    const dcsr_matrix_options options = {.policy = DCSR_POLICY_LAST,
                                         .segments = kinds[kind].segments,
                                         .resolve = kinds[kind].resolve,
                                         .defragmentation = DCSR_DEFRAGMENT_OFF};
    TEST_OK(
        dcsr_context_create(&f->context, &(dcsr_context_options){.device = DCSR_DEVICE_CPU, .threads = 2}));
    TEST_OK(dcsr_matrix_create(&f->matrix, f->context, DCSR_FP32, ROWS, CLONE_COLS, &options));
    oracle_create(&f->model, DCSR_FP32, DCSR_POLICY_LAST, ROWS, CLONE_COLS);
    for (uint64_t row = 0; row < ROWS; row += 3) change(f, true, row, 0, row % 7 + 1);
    if (head) change(f, true, LONG, HEAD_COLS, head);
    change(f, true, LONG, 0, FILLED);
    cr_assert(dcsr_i_fitting_capacity(last_filled(f)) != last_filled(f) || head > 12);
}

static void set_one(fixture *f, uint64_t row, uint64_t col)
{
    const float value = 4;
    TEST_OK(dcsr_matrix_set(f->matrix, row, col, &value));
    oracle_remove(&f->model, 1, &row, &col);
    oracle_insert(&f->model, 1, &row, &col, &value);
}

static void check_clone(int kind, uint64_t head, int before)
{
    fixture f, clone;
    set_up_origin(&f, kind, head);
    clone.context = f.context;
    TEST_OK(dcsr_matrix_clone(&clone.matrix, f.matrix));
    oracle_copy(&clone.model, &f.model);
    /* The page that the two share becomes the clone's own, or not. */
    if (before == 1) change(&clone, true, LONG + 1, 0, 2);
    if (before == 2) set_one(&clone, LONG + 1, 3);
    change(&clone, true, LONG, BEHIND, 1);
    change(&f, true, LONG, BEHIND - 2, 9);
    change(&clone, true, LONG, BEHIND + 3, 3);
    change(&clone, true, LONG, 3, 1);
    set_one(&f, LONG, BEHIND + 20);
    set_one(&clone, LONG, BEHIND + 30);
    TEST_MATCHES(f.matrix, &f.model);
    TEST_MATCHES(clone.matrix, &clone.model);
    dcsr_matrix_destroy(f.matrix);
    oracle_destroy(&f.model);
    f.matrix = clone.matrix;
    f.model = clone.model;
    tear_down(&f);
}

Test(rounded_row, of_a_clone_grows_apart_from_its_origin)
{
    for (int k = 0; k < KINDS; k++)
        for (int h = 0; h < HEADS; h++) check_clone(k, heads[h], (k + 2 * h) % 3);
}

/* ---- Slack ---- */

Test(slack, is_a_share_of_the_row)
{
    for (uint64_t length = 0; length < 1000; length++) {
        cr_assert(dcsr_i_slack(DCSR_I_SLACK_DEFAULT, length) == length / 2 + 2);
        cr_assert(dcsr_i_slack(0, length) == 0);
        cr_assert(dcsr_i_slack(DCSR_I_SLACK_UNIT, length) == length + 4);
    }
    cr_assert(dcsr_i_slack(DCSR_I_SLACK_UNIT, longest_row) == 0);
    cr_assert(dcsr_i_slack(DCSR_I_SLACK_UNIT, longest_row - 5) == 5);
    cr_assert(dcsr_i_capacity_for(longest_row, DCSR_I_SLACK_UNIT, longest_row) <= UINT32_MAX);
}

/* The room that a row has which got 99 entries. The first change of all, into an empty matrix, leaves none. */
static uint64_t room_with(double slack)
{
    fixture f = {.context = test_context(1)};
    const dcsr_matrix_options options = {
        .policy = DCSR_POLICY_LAST, .slack = slack, .defragmentation = DCSR_DEFRAGMENT_OFF};
    TEST_OK(dcsr_matrix_create(&f.matrix, f.context, DCSR_FP32, 3, 1000, &options));
    oracle_create(&f.model, DCSR_FP32, DCSR_POLICY_LAST, 3, 1000);
    change(&f, true, 0, 0, 1);
    change(&f, true, 1, 0, 99);
    TEST_MATCHES(f.matrix, &f.model);
    const uint64_t room = test_info(f.matrix).arena_entries - 100;
    dcsr_matrix_destroy(f.matrix);
    oracle_destroy(&f.model);
    test_close(f.context);
    return room;
}

Test(slack, is_what_the_option_says)
{
    cr_assert(room_with(DCSR_SLACK_NONE) == 0);
    cr_assert(room_with(0.1) == 10);
    cr_assert(room_with(0) == 51);
    cr_assert(room_with(0.5) == 51);
    cr_assert(room_with(1) == 103);
}

Test(slack, that_cannot_be_is_refused)
{
    static const double wrong[] = {-0.5, -2, 1.01, NAN, INFINITY, -INFINITY};
    dcsr_context *context = test_context(1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        dcsr_matrix *matrix = NULL;
        const dcsr_matrix_options options = {.slack = wrong[i]};
        TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "options.slack",
                     dcsr_matrix_create(&matrix, context, DCSR_FP64, 1, 1, &options));
        cr_assert(!matrix);
    }
    test_close(context);
}

Test(slack, is_told)
{
    static const double given[] = {0, DCSR_SLACK_NONE, 0.25, 1}, told[] = {0.5, 0, 0.25, 1};
    dcsr_context *context = test_context(1);
    for (int i = 0; i < 4; i++) {
        dcsr_matrix *matrix;
        const dcsr_matrix_options options = {.slack = given[i], .maintain_transpose = i % 2};
        TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_FP64, 1, 1, &options));
        cr_assert(test_info(matrix).slack == told[i]);
        dcsr_matrix *clone;
        TEST_OK(dcsr_matrix_clone(&clone, matrix));
        cr_assert(test_info(clone).slack == told[i]);
        dcsr_matrix_destroy(clone);
        dcsr_matrix_destroy(matrix);
    }
    test_close(context);
}
