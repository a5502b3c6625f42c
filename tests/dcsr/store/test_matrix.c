/* test_matrix.c: contexts, types and the matrix by hand: what inserting, removing, resizing and reading mean.
 */
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

Test(context, has_the_threads_it_was_given)
{
    dcsr_context *context = test_context(3);
    dcsr_context_info info;
    TEST_OK(dcsr_context_get_info(context, &info));
    cr_assert(info.device == DCSR_DEVICE_CPU || info.device == DCSR_DEVICE_CUDA);
    cr_assert(info.threads == 3);
    cr_assert(info.device_name && info.device_name[0]);
    cr_assert(info.allocator && info.allocator[0]);
    cr_assert(info.memory_limit == 0);
    test_close(context);
}

Test(context, has_at_least_one_thread_by_default)
{
    dcsr_context *context = NULL;
    dcsr_context_info info;
    TEST_OK(dcsr_context_create(&context, NULL));
    TEST_OK(dcsr_context_get_info(context, &info));
    cr_assert(info.threads >= 1);
    cr_assert(info.device != DCSR_DEVICE_AUTO);
    test_close(context);
}

Test(context, counts_matrices_and_their_memory)
{
    dcsr_context *context = test_context(1);
    dcsr_context_info info;
    dcsr_matrix *a = test_matrix(context, DCSR_FP64, 1000, 1000, DCSR_POLICY_LAST);
    dcsr_matrix *b = test_matrix(context, DCSR_PATTERN, 10, 10, DCSR_POLICY_ANY);
    TEST_INSERT(a, {1, 2, 3}, {500, 4, 5});
    TEST_OK(dcsr_context_get_info(context, &info));
    cr_assert(info.matrices == 2);
    cr_assert(info.matrix_bytes > 0);
    cr_assert(info.peak_bytes >= info.matrix_bytes + info.scratch_bytes);
    dcsr_matrix_destroy(a);
    TEST_OK(dcsr_context_get_info(context, &info));
    cr_assert(info.matrices == 1);
    dcsr_matrix_destroy(b);
    test_close(context);
}

Test(context, keeps_the_sentence_of_the_last_failure)
{
    cr_assert(dcsr_thread_error()[0] == '\0', "nothing has failed yet");
    dcsr_context *context = NULL;
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT,
                dcsr_context_create(&context, &(dcsr_context_options){.threads = -1}));
    cr_assert(!context);
    cr_assert(strlen(dcsr_thread_error()) > 10);
}

Test(context, every_status_has_words)
{
    for (int status = 5; status > -50; status--) {
        const char *words = dcsr_status_name((dcsr_status)status);
        cr_assert(words && words[0]);
        for (int other = 0; other > status && status >= DCSR_ERROR_NOT_FOUND; other--)
            cr_assert(strcmp(words, dcsr_status_name((dcsr_status)other)), "%d and %d: %s", status, other,
                      words);
    }
    cr_assert(strcmp(dcsr_status_name(DCSR_ERROR_OUT_OF_MEMORY), "out of memory") == 0);
    int dots = 0;
    for (const char *c = dcsr_version(); *c; c++) dots += *c == '.';
    cr_assert(dots == 2, "%s", dcsr_version());
}

Test(types, have_sizes_and_names)
{
#define DCSR_X(NAME, name, ctype, minimum, maximum)          \
    cr_assert(dcsr_type_size(DCSR_##NAME) == sizeof(ctype)); \
    cr_assert(strcmp(dcsr_type_name(DCSR_##NAME), #name) == 0);
#include <dcsr/types.def>
#undef DCSR_X
    cr_assert(dcsr_type_size(DCSR_PATTERN) == 0);
    cr_assert(strcmp(dcsr_type_name(DCSR_PATTERN), "pattern") == 0);
    cr_assert(dcsr_type_size(DCSR_TYPE_COUNT) == 0 && dcsr_type_size((dcsr_type)-1) == 0);
    cr_assert(!dcsr_type_name(DCSR_TYPE_COUNT) && !dcsr_type_name((dcsr_type)-1));
    cr_assert(strcmp(dcsr_policy_name(DCSR_POLICY_KEEP), "keep") == 0);
    cr_assert(strcmp(dcsr_policy_name(DCSR_POLICY_LAST), "last") == 0);
}

Test(matrix, starts_empty)
{
    dcsr_context *context = test_context(2);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 7, 9, DCSR_POLICY_LAST);
    dcsr_matrix_info info = test_info(matrix);
    cr_assert(info.type == DCSR_FP64 && info.policy == DCSR_POLICY_LAST && info.rows == 7 && info.cols == 9);
    cr_assert(info.stored == 0 && info.segments == 0 && info.max_segments == 0 && info.unresolved_rows == 0);
    cr_assert(info.batches == 0 && info.inserted == 0 && info.removed == 0 && info.views == 0);
    TEST_SHOWS_NOTHING(matrix);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(matrix, takes_the_default_policy_from_its_type)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *pattern = test_matrix(context, DCSR_PATTERN, 1, 1, DCSR_POLICY_DEFAULT);
    dcsr_matrix *valued = test_matrix(context, DCSR_INT8, 1, 1, DCSR_POLICY_DEFAULT);
    cr_assert(test_info(pattern).policy == DCSR_POLICY_ANY);
    cr_assert(test_info(valued).policy == DCSR_POLICY_LAST);
    dcsr_matrix_destroy(pattern);
    dcsr_matrix_destroy(valued);
    test_close(context);
}

Test(matrix, may_be_as_large_as_the_format_addresses)
{
    dcsr_context *context = test_context(1);
    /* The emulator's pages are a sixteenth of a GPU's, so that it needs as many for fewer rows. */
    uint64_t rows = test_on_emulator() ? DCSR_MAX_ROWS / 16 : DCSR_MAX_ROWS;
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT32, rows, DCSR_MAX_COLS, DCSR_POLICY_LAST);
    uint64_t row = rows - 1, col = DCSR_MAX_COLS - 1;
    int32_t value = 0;
    bool stored = false;
    TEST_INSERT(matrix, {0, 0, 1}, {row, col, 2}, {row / 2, 5, 3});
    TEST_OK(dcsr_matrix_get(matrix, row, col, &value, &stored));
    cr_assert(stored && value == 2);
    TEST_OK(dcsr_matrix_get(matrix, row, 0, &value, &stored));
    cr_assert(!stored);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(matrix, may_have_no_rows_or_no_columns)
{
    dcsr_context *context = test_context(1);
    const uint64_t sides[][2] = {{0, 0}, {0, 5}, {5, 0}};
    for (int i = 0; i < 3; i++) {
        dcsr_matrix *matrix = test_matrix(context, DCSR_FP32, sides[i][0], sides[i][1], DCSR_POLICY_LAST);
        TEST_OK(dcsr_matrix_insert(matrix, 0, NULL, NULL, NULL, NULL));
        TEST_OK(dcsr_matrix_remove(matrix, 0, NULL, NULL, NULL));
        TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
        TEST_OK(dcsr_matrix_wait(matrix));
        TEST_SHOWS_NOTHING(matrix);
        dcsr_matrix_destroy(matrix);
    }
    test_close(context);
}

Test(insert, takes_entries_in_any_order)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 4, 4, DCSR_POLICY_LAST);
    TEST_INSERT(matrix, {3, 1, 31}, {0, 2, 2}, {3, 0, 30}, {0, 0, 0.5}, {1, 3, 13});
    TEST_SHOWS(matrix, {0, 0, 0.5}, {0, 2, 2}, {1, 3, 13}, {3, 0, 30}, {3, 1, 31});
    TEST_INSERT(matrix, {0, 1, 1});
    TEST_SHOWS(matrix, {0, 0, 0.5}, {0, 1, 1}, {0, 2, 2}, {1, 3, 13}, {3, 0, 30}, {3, 1, 31});
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* What 5, then 2, then 7 at one place become. */
typedef struct policy_case {
    dcsr_policy policy;
    double value;
} policy_case;

static const policy_case policy_cases[] = {{DCSR_POLICY_SUM, 14},
                                           {DCSR_POLICY_MIN, 2},
                                           {DCSR_POLICY_MAX, 7},
                                           {DCSR_POLICY_LAST, 7},
                                           {DCSR_POLICY_ANY, 5}};

Test(policy, holds_within_a_batch_and_between_batches)
{
    dcsr_context *context = test_context(1);
    for (int type = DCSR_INT8; type < DCSR_TYPE_COUNT; type++) {
        for (int i = 0; i < 5; i++) {
            dcsr_matrix *one = test_matrix(context, (dcsr_type)type, 2, 2, policy_cases[i].policy);
            dcsr_matrix *three = test_matrix(context, (dcsr_type)type, 2, 2, policy_cases[i].policy);
            TEST_INSERT(one, {1, 1, 5}, {0, 0, 1}, {1, 1, 2}, {1, 1, 7});
            TEST_INSERT(three, {1, 1, 5}, {0, 0, 1});
            TEST_INSERT(three, {1, 1, 2});
            TEST_INSERT(three, {1, 1, 7});
            TEST_SHOWS(one, {0, 0, 1}, {1, 1, policy_cases[i].value});
            TEST_SHOWS(three, {0, 0, 1}, {1, 1, policy_cases[i].value});
            dcsr_matrix_destroy(one);
            dcsr_matrix_destroy(three);
        }
    }
    test_close(context);
}

Test(policy, keep_lets_duplicates_stand_side_by_side)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 2, 2, DCSR_POLICY_KEEP);
    double value = 0;
    bool stored = false;
    uint64_t nnz = 0;
    TEST_INSERT(matrix, {1, 1, 5}, {1, 1, 5}, {0, 1, 3});
    TEST_INSERT(matrix, {1, 1, 2});
    TEST_SHOWS(matrix, {0, 1, 3}, {1, 1, 2}, {1, 1, 5}, {1, 1, 5});
    TEST_OK(dcsr_matrix_get_nnz(matrix, &nnz));
    cr_assert(nnz == 4);
    TEST_OK(dcsr_matrix_get(matrix, 1, 1, &value, &stored));
    cr_assert(stored && value == 2, "the one stored last is read");
    TEST_REMOVE(matrix, {1, 1, 0});
    TEST_SHOWS(matrix, {0, 1, 3});
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(policy, of_bool_is_or_for_sum_and_max_and_for_min)
{
    dcsr_context *context = test_context(1);
    const dcsr_policy policies[] = {DCSR_POLICY_SUM, DCSR_POLICY_MAX, DCSR_POLICY_MIN};
    for (int i = 0; i < 3; i++) {
        dcsr_matrix *matrix = test_matrix(context, DCSR_BOOL, 1, 4, policies[i]);
        TEST_INSERT(matrix, {0, 0, 0}, {0, 1, 0}, {0, 2, 1}, {0, 3, 1});
        TEST_INSERT(matrix, {0, 0, 0}, {0, 1, 1}, {0, 2, 0}, {0, 3, 1});
        double mixed = policies[i] == DCSR_POLICY_MIN ? 0 : 1;
        TEST_SHOWS(matrix, {0, 0, 0}, {0, 1, mixed}, {0, 2, mixed}, {0, 3, 1});
        dcsr_matrix_destroy(matrix);
    }
    test_close(context);
}

Test(policy, sums_of_integers_wrap_around)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *bytes = test_matrix(context, DCSR_UINT8, 1, 1, DCSR_POLICY_SUM);
    dcsr_matrix *words = test_matrix(context, DCSR_INT32, 1, 1, DCSR_POLICY_SUM);
    TEST_INSERT(bytes, {0, 0, 200}, {0, 0, 100});
    TEST_SHOWS(bytes, {0, 0, 44});
    TEST_INSERT(words, {0, 0, INT32_MAX});
    TEST_INSERT(words, {0, 0, 1});
    TEST_SHOWS(words, {0, 0, INT32_MIN});
    dcsr_matrix_destroy(bytes);
    dcsr_matrix_destroy(words);
    test_close(context);
}

Test(insert, stores_nan_and_infinities_like_any_value)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP32, 1, 3, DCSR_POLICY_LAST);
    TEST_INSERT(matrix, {0, 0, NAN}, {0, 1, INFINITY}, {0, 2, -0.0});
    TEST_SHOWS(matrix, {0, 0, NAN}, {0, 1, INFINITY}, {0, 2, -0.0});
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(insert, copies_its_arguments)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT64, 3, 3, DCSR_POLICY_LAST);
    uint64_t rows[] = {0, 1, 2}, cols[] = {2, 1, 0};
    int64_t values[] = {10, 20, 30};
    TEST_OK(dcsr_matrix_insert(matrix, 3, rows, cols, values, NULL));
    memset(rows, 0xff, sizeof rows);
    memset(cols, 0xff, sizeof cols);
    memset(values, 0xff, sizeof values);
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_SHOWS(matrix, {0, 2, 10}, {1, 1, 20}, {2, 0, 30});
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(remove, takes_out_what_is_stored_and_only_that)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 3, 3, DCSR_POLICY_SUM);
    TEST_INSERT(matrix, {0, 0, 1}, {0, 1, 2}, {2, 2, 3});
    TEST_REMOVE(matrix, {0, 1, 0}, {1, 1, 0}, {0, 1, 0});
    TEST_SHOWS(matrix, {0, 0, 1}, {2, 2, 3});
    TEST_REMOVE(matrix, {2, 2, 0}, {0, 0, 0});
    TEST_SHOWS_NOTHING(matrix);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(remove, then_inserting_gives_the_new_value_under_every_policy)
{
    dcsr_context *context = test_context(1);
    for (int policy = DCSR_POLICY_KEEP; policy < DCSR_POLICY_COUNT; policy++) {
        dcsr_matrix *matrix = test_matrix(context, DCSR_INT16, 2, 3, (dcsr_policy)policy);
        TEST_INSERT(matrix, {0, 1, 5}, {1, 1, 5});
        TEST_REMOVE(matrix, {0, 1, 0});
        TEST_INSERT(matrix, {0, 1, 9});
        TEST_SHOWS(matrix, {0, 1, 9}, {1, 1, 5});
        TEST_REMOVE(matrix, {0, 1, 0});
        TEST_INSERT(matrix, {0, 1, 3});
        TEST_SHOWS(matrix, {0, 1, 3}, {1, 1, 5});
        dcsr_matrix_destroy(matrix);
    }
    test_close(context);
}

Test(resize, may_grow_while_work_is_pending)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT32, 2, 2, DCSR_POLICY_LAST);
    uint64_t row = 1000, col = 99;
    int32_t value = 7;
    TEST_STATUS(DCSR_ERROR_INDEX_OUT_OF_RANGE, dcsr_matrix_insert(matrix, 1, &row, &col, &value, NULL));
    TEST_OK(dcsr_matrix_resize(matrix, 1001, 100, NULL));
    TEST_OK(dcsr_matrix_insert(matrix, 1, &row, &col, &value, NULL));
    TEST_OK(dcsr_matrix_resize(matrix, 1000, 100, NULL));
    TEST_STATUS(DCSR_ERROR_INDEX_OUT_OF_RANGE, dcsr_matrix_insert(matrix, 1, &row, &col, &value, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_SHOWS_NOTHING(matrix);
    cr_assert(test_info(matrix).rows == 1000 && test_info(matrix).cols == 100);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(resize, drops_what_lies_outside_for_good)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 200, 200, DCSR_POLICY_SUM);
    TEST_INSERT(matrix, {0, 0, 1}, {0, 150, 2}, {70, 3, 3}, {130, 3, 4}, {199, 199, 5});
    TEST_OK(dcsr_matrix_resize(matrix, 130, 150, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_SHOWS(matrix, {0, 0, 1}, {70, 3, 3});
    TEST_OK(dcsr_matrix_resize(matrix, 200, 200, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_SHOWS(matrix, {0, 0, 1}, {70, 3, 3});
    TEST_INSERT(matrix, {0, 150, 20}, {130, 3, 40});
    TEST_SHOWS(matrix, {0, 0, 1}, {0, 150, 20}, {70, 3, 3}, {130, 3, 40});
    TEST_OK(dcsr_matrix_resize(matrix, 0, 0, NULL));
    TEST_OK(dcsr_matrix_resize(matrix, 200, 200, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_SHOWS_NOTHING(matrix);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(resize, drops_within_a_page_of_rows)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, 64, 10, DCSR_POLICY_ANY);
    TEST_INSERT(matrix, {9, 1, 1}, {10, 2, 1}, {11, 3, 1}, {63, 4, 1});
    TEST_OK(dcsr_matrix_resize(matrix, 11, 10, NULL));
    TEST_OK(dcsr_matrix_resize(matrix, 64, 10, NULL));
    TEST_INSERT(matrix, {11, 5, 1});
    TEST_SHOWS(matrix, {9, 1, 1}, {10, 2, 1}, {11, 5, 1});
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(get, waits_for_what_was_queued)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_INT64, 10, 10, DCSR_POLICY_SUM);
    uint64_t row = 4, col = 5;
    for (int64_t i = 1, sum = 0, value; i <= 100; i++) {
        bool stored = false;
        sum += i;
        TEST_OK(dcsr_matrix_insert(matrix, 1, &row, &col, &i, NULL));
        TEST_OK(dcsr_matrix_get(matrix, row, col, &value, &stored));
        cr_assert(stored && value == sum);
    }
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(get, many_leaves_alone_the_values_of_what_is_not_stored)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 10, 10, DCSR_POLICY_LAST);
    uint64_t rows[] = {3, 3, 9, 0}, cols[] = {4, 5, 9, 0};
    double values[] = {-1, -1, -1, -1};
    bool stored[4];
    TEST_INSERT(matrix, {3, 4, 34}, {9, 9, 99});
    TEST_OK(dcsr_matrix_get_many(matrix, 4, rows, cols, values, stored));
    cr_assert(stored[0] && !stored[1] && stored[2] && !stored[3]);
    cr_assert(values[0] == 34 && values[1] == -1 && values[2] == 99 && values[3] == -1);
    TEST_OK(dcsr_matrix_get_many(matrix, 4, rows, cols, NULL, stored));
    TEST_OK(dcsr_matrix_get_many(matrix, 0, NULL, NULL, NULL, NULL));
    rows[2] = 10;
    TEST_STATUS(DCSR_ERROR_INDEX_OUT_OF_RANGE, dcsr_matrix_get_many(matrix, 4, rows, cols, values, stored));
    TEST_STATUS(DCSR_ERROR_INDEX_OUT_OF_RANGE, dcsr_matrix_get(matrix, 0, 10, NULL, stored));
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(arrays, on_a_device_are_refused_on_the_cpu)
{
    dcsr_context *cpu;
    TEST_OK(dcsr_context_create(&cpu, &(dcsr_context_options){.device = DCSR_DEVICE_CPU, .threads = 1}));
    dcsr_matrix *matrix = test_matrix(cpu, DCSR_FP64, 4, 4, DCSR_POLICY_LAST);
    uint64_t row = 1, col = 2;
    double value = 3;
    dcsr_ticket *ticket = (dcsr_ticket *)&row;
    const dcsr_status refused = TEST_CUDA ? DCSR_ERROR_INVALID_ARGUMENT : DCSR_ERROR_NOT_BUILT;
    const char *why =
        TEST_CUDA ? "the matrix is on the cpu; call dcsr_matrix_insert with" : "not built with CUDA";
    TEST_REFUSED(refused, why, dcsr_matrix_insert_device(matrix, 1, &row, &col, &value, NULL, &ticket));
    cr_assert_null(ticket);
    TEST_STATUS(refused, dcsr_matrix_insert_device(matrix, 0, NULL, NULL, NULL, NULL, NULL));
    TEST_STATUS(refused, dcsr_matrix_remove_device(matrix, 1, &row, &col, NULL, NULL));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT,
                dcsr_matrix_insert_device(NULL, 1, &row, &col, &value, NULL, NULL));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_matrix_remove_device(NULL, 1, &row, &col, NULL, NULL));
    TEST_SHOWS_NOTHING(matrix);
    dcsr_matrix_destroy(matrix);
    test_close(cpu);
}
