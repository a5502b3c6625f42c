/* test_twin.c: matrices that maintain their transpose. */
#include "tests/support/support_transposed.h"

#include <dcsr/convert.h>
#include "dcsr/view/view_data.h"
#include <dcsr/apply.h>
#include <dcsr/assign.h>
#include <dcsr/mxv.h>
#include <string.h>

static dcsr_matrix *twin_matrix(dcsr_context *context, dcsr_type type, uint64_t rows, uint64_t cols,
                                dcsr_policy policy)
{
    dcsr_matrix *matrix = NULL;
    dcsr_matrix_options options = {
        .policy = policy, .defragmentation = DCSR_DEFRAGMENT_OFF, .maintain_transpose = true};
    TEST_OK(dcsr_matrix_create(&matrix, context, type, rows, cols, &options));
    return matrix;
}

Test(twin, follows_every_change)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = twin_matrix(context, DCSR_FP64, 3, 4, DCSR_POLICY_SUM);
    oracle model;
    oracle_create(&model, DCSR_FP64, DCSR_POLICY_SUM, 3, 4);
    cr_assert(test_has_twin(matrix));
    TEST_TRANSPOSES(matrix, &model);
    uint64_t rows[] = {2, 0, 0, 2}, cols[] = {1, 3, 1, 3};
    double values[] = {21, 3, 1, 23};
    TEST_OK(dcsr_matrix_insert(matrix, 4, rows, cols, values, NULL));
    oracle_insert(&model, 4, rows, cols, values);
    TEST_OK(dcsr_matrix_wait(matrix));
    cr_assert(test_has_twin(matrix));
    TEST_TRANSPOSES(matrix, &model);
    dcsr_view *before = test_view(matrix, DCSR_LAYOUT_CSR, 0);
    oracle old;
    oracle_copy(&old, &model);
    TEST_OK(dcsr_matrix_remove(matrix, 2, rows, cols, NULL));
    oracle_remove(&model, 2, rows, cols);
    TEST_OK(dcsr_matrix_insert(matrix, 2, rows + 1, cols + 1, values, NULL));
    oracle_insert(&model, 2, rows + 1, cols + 1, values);
    TEST_OK(dcsr_matrix_wait(matrix));
    cr_assert(test_has_twin(matrix));
    TEST_TRANSPOSES(matrix, &model);
    TEST_OK(dcsr_matrix_resize(matrix, 100, 2, NULL));
    oracle_resize(&model, 100, 2);
    TEST_OK(dcsr_matrix_wait(matrix));
    cr_assert(test_has_twin(matrix));
    TEST_TRANSPOSES(matrix, &model);
    TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    cr_assert(test_has_twin(matrix));
    TEST_TRANSPOSES(matrix, &model);
    TEST_MATCHES(matrix, &model);
    TEST_TRANSPOSE_MATCHES(before, &old, 0);
    dcsr_matrix_destroy(matrix);
    TEST_TRANSPOSE_MATCHES(before, &old, 0);
    dcsr_view_destroy(before);
    oracle_destroy(&old);
    oracle_destroy(&model);
    test_close(context);
}

/* Rows 3, 70 and 99 become five everywhere, or in the columns that are given; the model too. */
static void assign_rows(dcsr_matrix *matrix, oracle *model, const uint64_t *cols, uint64_t ncols)
{
    static const uint64_t rows[] = {3, 70, 99};
    double five = 5;
    TEST_OK(dcsr_matrix_assign_scalar(matrix, NULL, NULL, &five, DCSR_FP64, &(dcsr_index_list){rows, 3},
                                      TEST_LIST(cols, ncols), NULL));
    for (int i = 0; i < 3; i++)
        for (uint64_t k = 0; k < ncols; k++) {
            oracle_remove(model, 1, &rows[i], cols ? &cols[k] : &k);
            oracle_insert(model, 1, &rows[i], cols ? &cols[k] : &k, &five);
        }
}

/* Rows that an operation writes are exchanged in the twin, whatever stood there; what writes all rows gives it up, and
 * it comes back. */
Test(twin, follows_results_that_keep_rows)
{
    enum { ROWS = 200, COLS = 30, ENTRIES = 600 };
    static const dcsr_policy policies[] = {DCSR_POLICY_SUM, DCSR_POLICY_LAST, DCSR_POLICY_MAX};
    static const uint64_t cols[] = {2, 5, 29};
    dcsr_context *context = test_context(2);
    test_random random = {1};
    for (int p = 0; p < 3; p++) {
        dcsr_matrix *matrix = twin_matrix(context, DCSR_FP64, ROWS, COLS, policies[p]);
        oracle model;
        oracle_create(&model, DCSR_FP64, policies[p], ROWS, COLS);
        for (int round = 0; round < 3; round++) {
            uint64_t row[ENTRIES], col[ENTRIES];
            double value[ENTRIES];
            for (int k = 0; k < ENTRIES; k++) {
                row[k] = test_random_below(&random, ROWS), col[k] = test_random_below(&random, COLS);
                value[k] = (double)test_random_below(&random, 9);
            }
            TEST_OK(dcsr_matrix_insert(matrix, ENTRIES, row, col, value, NULL));
            TEST_OK(dcsr_matrix_remove(matrix, ENTRIES / 8, row, col, NULL));
            oracle_insert(&model, ENTRIES, row, col, value);
            oracle_remove(&model, ENTRIES / 8, row, col);
            assign_rows(matrix, &model, round ? cols : NULL, round ? 3 : COLS);
            cr_assert(test_has_twin(matrix));
            TEST_OK(dcsr_matrix_wait(matrix));
            TEST_MATCHES(matrix, &model);
            TEST_TRANSPOSES(matrix, &model);
        }
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
        TEST_OK(dcsr_matrix_apply(matrix, NULL, NULL, dcsr_unary_op_of(DCSR_UNARY_IDENTITY, DCSR_FP64), view,
                                  NULL));
        cr_assert(!test_has_twin(matrix));
        TEST_OK(dcsr_matrix_wait(matrix));
        cr_assert(test_has_twin(matrix));
        TEST_TRANSPOSES(matrix, &model);
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
        oracle_destroy(&model);
    }
    test_close(context);
}

Test(twin, is_walked_in_place_and_lent)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = twin_matrix(context, DCSR_FP64, 10, 10, DCSR_POLICY_LAST);
    TEST_INSERT(matrix, {1, 5, 1}, {2, 5, 2});
    TEST_INSERT(matrix, {3, 5, 3}, {9, 0, 4});
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_CSR, 0);
    const dcsr_i_rows *rows;
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    cr_assert(test_transpose_is_ready(view));
    cr_assert(dcsr_i_view_transpose_is_ready(view) != test_on_device(context),
              "a copy would have to be made");
    TEST_OK(dcsr_i_view_transposed(&rows, view));
    cr_assert((rows->table != NULL) != test_on_device(context) && dcsr_i_rows_length(rows, 5) == 3);
    dcsr_view_destroy(view);
    view = test_view(matrix, DCSR_LAYOUT_CSC, 0);
    cr_assert(!test_view_info(view).lent);
    dcsr_view_destroy(view);
    /* Defragmented, both are lent. */
    TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    view = test_view(matrix, DCSR_LAYOUT_CSC, 0);
    cr_assert(test_view_info(view).lent);
    TEST_OK(dcsr_i_view_transposed(&rows, view));
    cr_assert(dcsr_i_rows_pieces(rows, 5, pieces) == 1 && pieces[0].length == 3);
    dcsr_csc csc;
    TEST_OK(dcsr_view_get_csc_on_host(view, &csc));
    cr_assert(csc.nnz == 4 && !memcmp(csc.row_indices, (uint32_t[]){9, 1, 2, 3}, 4 * sizeof(uint32_t)));
    cr_assert(!memcmp(csc.values, (double[]){4, 1, 2, 3}, 4 * sizeof(double)));
    dcsr_view *again = test_view(matrix, DCSR_LAYOUT_CSC, DCSR_VIEW_SORTED);
    dcsr_csc other;
    TEST_OK(dcsr_view_get_csc(view, &csc));
    TEST_OK(dcsr_view_get_csc(again, &other));
    cr_assert(other.offsets == csc.offsets, "views of one version share the offsets");
    dcsr_view_destroy(again);
    dcsr_matrix_destroy(matrix);
    dcsr_view_destroy(view);
    test_close(context);
}

Test(twin, counts_in_the_bytes)
{
    dcsr_context *context = test_context(1);
    enum { N = 20000 };
    static uint64_t rows[N], cols[N];
    for (size_t i = 0; i < N; i++) rows[i] = i % 200, cols[i] = i / 200 + i % 7 * 100;
    uint64_t bytes[2];
    for (int i = 0; i < 2; i++) {
        dcsr_matrix *matrix;
        dcsr_matrix_options options = {.maintain_transpose = i};
        TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_PATTERN, 1000, 1000, &options));
        TEST_OK(dcsr_matrix_insert(matrix, N, rows, cols, NULL, NULL));
        TEST_OK(dcsr_matrix_wait(matrix));
        bytes[i] = test_info(matrix).bytes;
        dcsr_context_info info;
        TEST_OK(dcsr_context_get_info(context, &info));
        cr_assert(info.matrices == 1 && info.matrix_bytes >= bytes[i]);
        dcsr_matrix_destroy(matrix);
    }
    cr_assert(bytes[1] > bytes[0] + bytes[0] / 2, "%lu, %lu", (unsigned long)bytes[0],
              (unsigned long)bytes[1]);
    test_close(context);
}

Test(twin, is_refused_where_it_cannot_be)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix;
    dcsr_matrix_options options = {.maintain_transpose = true};
    TEST_REFUSED(DCSR_ERROR_TOO_LARGE, "at most 2^31",
                 dcsr_matrix_create(&matrix, context, DCSR_FP64, DCSR_MAX_COLS + 1, 4, &options));
    cr_assert_null(matrix);
    TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_FP64, DCSR_MAX_COLS, DCSR_MAX_COLS, &options));
    TEST_REFUSED(DCSR_ERROR_TOO_LARGE, "dcsr_matrix_resize",
                 dcsr_matrix_resize(matrix, DCSR_MAX_COLS + 1, 4, NULL));
    TEST_OK(
        dcsr_matrix_insert(matrix, 1, (uint64_t[]){DCSR_MAX_COLS - 1}, (uint64_t[]){3}, &(double){1}, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    cr_assert(test_has_twin(matrix));
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(twin, of_a_matrix_from_csr)
{
    dcsr_context *context = test_context(2);
    uint64_t offsets[] = {0, 2, 2, 5};
    uint32_t columns[] = {3, 1, 0, 1, 1};
    float values[] = {1, 2, 3, 4, 5};
    dcsr_csr csr = {3, 4, 5, DCSR_FP32, offsets, columns, values};
    dcsr_matrix *matrix;
    dcsr_matrix_options options = {.policy = DCSR_POLICY_SUM, .maintain_transpose = true};
    TEST_OK(dcsr_matrix_from_csr(&matrix, context, &csr, &options));
    oracle model;
    oracle_create(&model, DCSR_FP32, DCSR_POLICY_SUM, 3, 4);
    oracle_insert(&model, 5, (uint64_t[]){0, 0, 2, 2, 2}, (uint64_t[]){3, 1, 0, 1, 1}, values);
    TEST_OK(dcsr_matrix_wait(matrix));
    cr_assert(test_has_twin(matrix));
    TEST_TRANSPOSES(matrix, &model);
    dcsr_matrix_destroy(matrix);
    oracle_destroy(&model);
    test_close(context);
}

/* Readers of the twin have it defragmented, without a change of the matrix. */
Test(twin, is_defragmented_when_it_is_read)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix;
    dcsr_matrix_options options = {.maintain_transpose = true};
    TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_PATTERN, 4000, 4, &options));
    for (uint64_t batch = 0; batch < 4; batch++) {
        uint64_t rows[400], cols[400];
        for (uint64_t i = 0; i < 400; i++) rows[i] = 10 * i + batch, cols[i] = i % 4;
        TEST_OK(dcsr_matrix_insert(matrix, 400, rows, cols, NULL, NULL));
        TEST_OK(dcsr_matrix_wait(matrix));
    }
    uint64_t version = test_info(matrix).version;
    bool moved = false;
    for (int reads = 0; reads < 2000 && !moved; reads++) {
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
        const dcsr_i_rows *rows;
        TEST_OK(dcsr_i_view_transposed(&rows, view));
        moved = view->form[DCSR_I_TRANSPOSED].hold->base->extra_segments == 0;
        cr_assert(reads || !moved);
        dcsr_view_destroy(view);
        TEST_OK(dcsr_matrix_wait(matrix));
    }
    cr_assert(moved && test_info(matrix).version == version);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* A u, or u A, of few elements or sums: whether it goes along the rows of the transpose, which are there or
 * not, and is right. */
static void assert_product(dcsr_matrix *matrix, const oracle *model, bool pulls, bool kept)
{
    enum { WANTED = 17 };
    static const uint64_t few[] = {3, 40, 64};
    const double two = 2;
    dcsr_context *context = matrix->context;
    const dcsr_semiring *semiring = dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64);
    dcsr_vector *u, *w, *mask;
    TEST_OK(dcsr_vector_create(&u, context, DCSR_FP64, model->rows));
    TEST_OK(dcsr_vector_create(&w, context, DCSR_FP64, model->rows));
    TEST_OK(dcsr_vector_create(&mask, context, DCSR_FP64, model->rows));
    for (int k = 0; k < 3 && !pulls; k++) TEST_OK(dcsr_vector_set(u, few[k], &two));
    if (pulls) TEST_OK(dcsr_vector_fill(u, &two));
    TEST_OK(dcsr_vector_set(mask, WANTED, &two));
    dcsr_report report;
    dcsr_desc desc = {.device = test_on_device(context) ? DCSR_DEVICE_CUDA : DCSR_DEVICE_CPU,
                      .report = &report};
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(pulls ? dcsr_vxm(w, mask, NULL, semiring, u, view, &desc)
                  : dcsr_mxv(w, NULL, NULL, semiring, view, u, &desc));
    cr_assert_eq(report.device, desc.device);
    /* A GPU takes least by rows where matrices are as small as this one. */
    const bool pulled = pulls == kept || (kept && desc.device == DCSR_DEVICE_CUDA);
    const bool transposed = kept && pulled == pulls;
    cr_assert_eq(report.direction, pulled ? DCSR_DIRECTION_PULL : DCSR_DIRECTION_PUSH);
    cr_assert(!view->form[DCSR_I_TRANSPOSED].csr && !view->form[DCSR_I_TRANSPOSED | DCSR_I_ON_HOST].csr &&
              (view->form[DCSR_I_TRANSPOSED].hold != NULL) == transposed);
    double sum[2] = {0}, got = 0;
    for (uint64_t row = 0; row < model->rows; row++)
        for (size_t e = 0; e < model->row[row].length; e++) {
            const oracle_entry *entry = &model->row[row].entry[e];
            double value;
            memcpy(&value, &entry->value, sizeof value);
            if (entry->column == WANTED) sum[true] += 2 * value;
            for (int k = 0; k < 3; k++)
                if (row == WANTED && entry->column == few[k]) sum[false] += 2 * value;
        }
    bool stored;
    TEST_OK(dcsr_vector_get(w, WANTED, &got, &stored));
    cr_assert(stored && sum[pulls] != 0 && got == sum[pulls], "%g, not %g", got, sum[pulls]);
    dcsr_view_destroy(view);
    dcsr_vector_destroy(mask), dcsr_vector_destroy(w), dcsr_vector_destroy(u);
}

Test(twin, is_what_products_choose)
{
    enum { SIZE = 100, ENTRIES = 1500 };
    dcsr_context *context = test_context(1);
    for (int kept = 0; kept < 2; kept++) {
        test_random random = {1};
        dcsr_matrix *matrix = kept ? twin_matrix(context, DCSR_FP64, SIZE, SIZE, DCSR_POLICY_SUM)
                                   : test_matrix(context, DCSR_FP64, SIZE, SIZE, DCSR_POLICY_SUM);
        oracle model;
        oracle_create(&model, DCSR_FP64, DCSR_POLICY_SUM, SIZE, SIZE);
        for (int round = 0; round < 3; round++) {
            uint64_t row[ENTRIES], col[ENTRIES];
            double value[ENTRIES];
            for (int k = 0; k < ENTRIES; k++) {
                row[k] = test_random_below(&random, SIZE), col[k] = test_random_below(&random, SIZE);
                value[k] = 1 + (double)test_random_below(&random, 9);
            }
            TEST_OK(dcsr_matrix_insert(matrix, ENTRIES, row, col, value, NULL));
            TEST_OK(dcsr_matrix_remove(matrix, ENTRIES / 8, row, col, NULL));
            TEST_OK(dcsr_matrix_wait(matrix));
            oracle_insert(&model, ENTRIES, row, col, value);
            oracle_remove(&model, ENTRIES / 8, row, col);
            for (int pulls = 0; pulls < 2; pulls++) assert_product(matrix, &model, pulls, kept);
        }
        dcsr_matrix_destroy(matrix);
        oracle_destroy(&model);
    }
    test_close(context);
}
