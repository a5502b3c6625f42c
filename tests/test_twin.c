/* test_twin.c: matrices that maintain their transpose. */
#include "tests/support_transposed.h"

#include "dcsr/alloc.h"
#include "dcsr/convert.h"
#include "dcsr/viewdata.h"
#include "ops/apply.h"
#include "ops/assign.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static dcsr_context *cpu_context(int threads)
{
    dcsr_context *context = NULL;
    TEST_OK(dcsr_context_create(&context,
                                &(dcsr_context_options){.device = DCSR_DEVICE_CPU, .threads = threads}));
    return context;
}

static dcsr_matrix *twin_matrix(dcsr_context *context, dcsr_type type, uint64_t rows, uint64_t cols,
                                dcsr_policy policy)
{
    dcsr_matrix *matrix = NULL;
    dcsr_matrix_options options = {
        .policy = policy, .defragmentation = DCSR_DEFRAGMENT_OFF, .maintain_transpose = true};
    TEST_OK(dcsr_matrix_create(&matrix, context, type, rows, cols, &options));
    return matrix;
}

/* Whether views have the twin, and not a CSC that is made for them. */
static bool has_twin(dcsr_matrix *matrix)
{
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    const dcsr_i_rows *rows;
    bool ready = dcsr_i_view_transpose_is_ready(view);
    TEST_OK(dcsr_i_view_transposed(&rows, view));
    cr_assert(ready == (rows->table != NULL));
    dcsr_view_destroy(view);
    return ready;
}

static const uint64_t places[2][6] = {{0, 5, 5, 70, 99, 2}, {1, 64, 3, 3, 90, 2}};
static const double numbers[] = {1, 2, 3, 4, 5, 6};

Test(twin, follows_every_change)
{
    dcsr_context *context = cpu_context(1);
    dcsr_matrix *matrix = twin_matrix(context, DCSR_FP64, 3, 4, DCSR_POLICY_SUM);
    oracle model;
    oracle_create(&model, DCSR_FP64, DCSR_POLICY_SUM, 3, 4);
    cr_assert(has_twin(matrix));
    TEST_TRANSPOSES(matrix, &model);
    uint64_t rows[] = {2, 0, 0, 2}, cols[] = {1, 3, 1, 3};
    double values[] = {21, 3, 1, 23};
    TEST_OK(dcsr_matrix_insert(matrix, 4, rows, cols, values, NULL));
    oracle_insert(&model, 4, rows, cols, values);
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_TRANSPOSES(matrix, &model);
    dcsr_view *before = test_view(matrix, DCSR_LAYOUT_CSR, 0);
    oracle old;
    oracle_copy(&old, &model);
    TEST_OK(dcsr_matrix_remove(matrix, 2, rows, cols, NULL));
    oracle_remove(&model, 2, rows, cols);
    TEST_OK(dcsr_matrix_insert(matrix, 2, rows + 1, cols + 1, values, NULL));
    oracle_insert(&model, 2, rows + 1, cols + 1, values);
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_TRANSPOSES(matrix, &model);
    TEST_OK(dcsr_matrix_resize(matrix, 100, 2, NULL));
    oracle_resize(&model, 100, 2);
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_TRANSPOSES(matrix, &model);
    TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_TRANSPOSES(matrix, &model);
    cr_assert(has_twin(matrix));
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
    TEST_OK(dcsr_matrix_assign_scalar(matrix, NULL, NULL, &five, DCSR_FP64, rows, 3, cols, ncols, NULL));
    for (int i = 0; i < 3; i++)
        for (uint64_t k = 0; k < ncols; k++) {
            oracle_remove(model, 1, &rows[i], cols ? &cols[k] : &k);
            oracle_insert(model, 1, &rows[i], cols ? &cols[k] : &k, &five);
        }
}

/* Rows that an operation writes are exchanged in the twin, whatever stood there; what writes all rows gives
 * it up, and it comes back. */
Test(twin, follows_results_that_keep_rows)
{
    enum { ROWS = 200, COLS = 30, ENTRIES = 600 };
    static const dcsr_policy policies[] = {DCSR_POLICY_SUM, DCSR_POLICY_LAST, DCSR_POLICY_MAX};
    static const uint64_t cols[] = {2, 5, 29};
    dcsr_context *context = cpu_context(2);
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
            cr_assert(has_twin(matrix), "the twin was given up");
            TEST_MATCHES(matrix, &model);
            TEST_TRANSPOSES(matrix, &model);
        }
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
        TEST_OK(dcsr_matrix_apply(matrix, NULL, NULL, dcsr_unary_op_of(DCSR_UNARY_IDENTITY, DCSR_FP64), view,
                                  NULL));
        cr_assert(!has_twin(matrix));
        TEST_OK(dcsr_matrix_wait(matrix));
        cr_assert(has_twin(matrix));
        TEST_TRANSPOSES(matrix, &model);
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
        oracle_destroy(&model);
    }
    test_close(context);
}

Test(twin, is_walked_in_place_and_lent)
{
    dcsr_context *context = cpu_context(1);
    dcsr_matrix *matrix = twin_matrix(context, DCSR_FP64, 10, 10, DCSR_POLICY_LAST);
    TEST_INSERT(matrix, {1, 5, 1}, {2, 5, 2});
    TEST_INSERT(matrix, {3, 5, 3}, {9, 0, 4});
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_CSR, 0);
    const dcsr_i_rows *rows;
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    cr_assert(dcsr_i_view_transpose_is_ready(view));
    TEST_OK(dcsr_i_view_transposed(&rows, view));
    cr_assert(rows->table && dcsr_i_rows_length(rows, 5) == 3);
    dcsr_view_destroy(view);
    view = test_view(matrix, DCSR_LAYOUT_CSC, 0);
    cr_assert(!test_view_info(view).lent);
    dcsr_view_destroy(view);
    /* Tidied, both are lent. */
    TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    view = test_view(matrix, DCSR_LAYOUT_CSC, 0);
    cr_assert(test_view_info(view).lent);
    TEST_OK(dcsr_i_view_transposed(&rows, view));
    cr_assert(dcsr_i_rows_pieces(rows, 5, pieces) == 1 && pieces[0].length == 3);
    dcsr_csc_arrays csc;
    TEST_OK(dcsr_view_csc(view, &csc));
    cr_assert(csc.nnz == 4 && !memcmp(csc.row, (uint32_t[]){9, 1, 2, 3}, 4 * sizeof(uint32_t)));
    cr_assert(!memcmp(csc.values, (double[]){4, 1, 2, 3}, 4 * sizeof(double)));
    dcsr_view *again = test_view(matrix, DCSR_LAYOUT_CSC, DCSR_VIEW_SORTED);
    dcsr_csc_arrays other;
    TEST_OK(dcsr_view_csc(again, &other));
    cr_assert(other.offsets == csc.offsets, "views of one version share the offsets");
    dcsr_view_destroy(again);
    dcsr_matrix_destroy(matrix);
    dcsr_view_destroy(view);
    test_close(context);
}

Test(twin, counts_in_the_bytes)
{
    dcsr_context *context = cpu_context(1);
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
    if (test_on_device(context)) {
        TEST_REFUSED(DCSR_ERROR_NOT_BUILT, "maintain its transpose",
                     dcsr_matrix_create(&matrix, context, DCSR_FP64, 4, 4, &options));
        cr_assert_null(matrix);
    } else {
        TEST_REFUSED(DCSR_ERROR_TOO_LARGE, "at most 2^31",
                     dcsr_matrix_create(&matrix, context, DCSR_FP64, DCSR_MAX_COLS + 1, 4, &options));
        cr_assert_null(matrix);
        TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_FP64, DCSR_MAX_COLS, DCSR_MAX_COLS, &options));
        TEST_REFUSED(DCSR_ERROR_TOO_LARGE, "dcsr_matrix_resize",
                     dcsr_matrix_resize(matrix, DCSR_MAX_COLS + 1, 4, NULL));
        TEST_OK(
            dcsr_matrix_insert(matrix, 1, (uint64_t[]){DCSR_MAX_COLS - 1}, (uint64_t[]){3}, numbers, NULL));
        TEST_OK(dcsr_matrix_wait(matrix));
        cr_assert(has_twin(matrix));
        dcsr_matrix_destroy(matrix);
    }
    test_close(context);
}

Test(twin, of_a_matrix_from_csr)
{
    dcsr_context *context = cpu_context(2);
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
    cr_assert(has_twin(matrix));
    TEST_TRANSPOSES(matrix, &model);
    dcsr_matrix_destroy(matrix);
    oracle_destroy(&model);
    test_close(context);
}

/* Readers of the twin have it tidied, without a change of the matrix. */
Test(twin, is_tidied_when_it_is_read)
{
    dcsr_context *context = cpu_context(1);
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
    bool tidy = false;
    for (int reads = 0; reads < 2000 && !tidy; reads++) {
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
        const dcsr_i_rows *rows;
        TEST_OK(dcsr_i_view_transposed(&rows, view));
        tidy = rows->table->extra_segments == 0;
        cr_assert(reads || !tidy);
        dcsr_view_destroy(view);
        TEST_OK(dcsr_matrix_wait(matrix));
    }
    cr_assert(tidy && test_info(matrix).version == version);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* ---- Without memory ---- */

typedef struct attempt {
    const char *name;
    dcsr_status (*change)(dcsr_matrix *matrix, dcsr_ticket **ticket);
    void (*expect)(oracle *model);
} attempt;

static dcsr_status insertion(dcsr_matrix *matrix, dcsr_ticket **ticket)
{
    return dcsr_matrix_insert(matrix, 6, places[0], places[1], numbers, ticket);
}
static void inserted(oracle *model)
{
    oracle_insert(model, 6, places[0], places[1], numbers);
}
static dcsr_status removal(dcsr_matrix *matrix, dcsr_ticket **ticket)
{
    return dcsr_matrix_remove(matrix, 2, places[0] + 1, places[1] + 1, ticket);
}
static void removed(oracle *model)
{
    oracle_remove(model, 2, places[0] + 1, places[1] + 1);
}
static dcsr_status shrinking(dcsr_matrix *matrix, dcsr_ticket **ticket)
{
    return dcsr_matrix_resize(matrix, 66, 65, ticket);
}
static void shrunk(oracle *model)
{
    oracle_resize(model, 66, 65);
}
static dcsr_status tidying(dcsr_matrix *matrix, dcsr_ticket **ticket)
{
    return dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, ticket);
}
static void tidied(oracle *model)
{
    (void)model;
}

static const uint64_t assigned[2][4] = {{5, 5, 99, 99}, {3, 40, 3, 40}};
static dcsr_status assignment(dcsr_matrix *matrix, dcsr_ticket **ticket)
{
    double three = 3;
    (void)ticket;
    return dcsr_matrix_assign_scalar(matrix, NULL, NULL, &three, DCSR_FP64, assigned[0] + 1, 2, assigned[1],
                                     2, NULL);
}
static void is_assigned(oracle *model)
{
    oracle_remove(model, 4, assigned[0], assigned[1]);
    oracle_insert(model, 4, assigned[0], assigned[1], (const double[]){3, 3, 3, 3});
}

static const attempt attempts[] = {{"insert", insertion, inserted},
                                   {"remove", removal, removed},
                                   {"resize", shrinking, shrunk},
                                   {"defragment", tidying, tidied},
                                   {"assign", assignment, is_assigned}};

/* One change while every allocation from the n-th on fails. Returns whether it was too late to fail. */
static bool try_without_memory(dcsr_context *context, const attempt *a, long n, int *lost)
{
    oracle model;
    oracle_create(&model, DCSR_FP64, DCSR_POLICY_SUM, 100, 100);
    dcsr_matrix *matrix = twin_matrix(context, DCSR_FP64, 100, 100, DCSR_POLICY_SUM);
    for (int i = 0; i < 2; i++) {
        TEST_OK(insertion(matrix, NULL));
        inserted(&model);
        TEST_OK(dcsr_matrix_wait(matrix));
    }
    dcsr_view *held = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    oracle old;
    oracle_copy(&old, &model);
    dcsr_ticket *ticket = NULL;
    uint64_t begin = dcsr_i_allocations();
    dcsr_i_fail_allocations_after(n);
    dcsr_status status = a->change(matrix, &ticket);
    if (status == DCSR_OK && ticket) status = dcsr_ticket_wait(ticket);
    dcsr_i_fail_allocations_after(-1);
    bool enough = dcsr_i_allocations() - begin <= (uint64_t)n;
    dcsr_ticket_destroy(ticket);
    cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s, %ld: %s", a->name, n,
              dcsr_context_error(NULL));
    if (status == DCSR_OK) a->expect(&model);
    TEST_TRANSPOSE_MATCHES(held, &old, 0);
    bool twin = has_twin(matrix);
    *lost += status == DCSR_OK && !twin;
    cr_assert(twin || status == DCSR_OK, "a change that fails leaves the twin as it was");
    TEST_TRANSPOSES(matrix, &model);
    /* One that was given up is back. */
    TEST_OK(dcsr_matrix_wait(matrix));
    cr_assert(has_twin(matrix));
    TEST_TRANSPOSES(matrix, &model);
    TEST_OK(removal(matrix, NULL));
    removed(&model);
    TEST_OK(dcsr_matrix_wait(matrix));
    TEST_TRANSPOSES(matrix, &model);
    TEST_MATCHES(matrix, &model);
    dcsr_view_destroy(held);
    dcsr_matrix_destroy(matrix);
    oracle_destroy(&old);
    oracle_destroy(&model);
    return enough;
}

Test(twin, is_given_up_rather_than_the_change)
{
    dcsr_context *context = cpu_context(1);
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
        int lost = 0;
        long n = 0;
        while (!try_without_memory(context, &attempts[i], n, &lost)) n++;
        cr_assert(n > 4, "%s: only %ld allocations", attempts[i].name, n);
        /* Tidying changes nothing that the twin would have to follow. */
        cr_assert((lost > 0) == (attempts[i].change != tidying), "%s: %d", attempts[i].name, lost);
    }
    test_close(context);
}
