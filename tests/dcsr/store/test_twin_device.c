/* test_twin_device.c: the transpose that a matrix on a device maintains, by batches that come in all the ways
 * that there are. */
#include "tests/support/support_batches.h"
#include "tests/support/support_transposed.h"

static dcsr_matrix *twin_matrix(dcsr_type type, dcsr_policy policy)
{
    dcsr_matrix *matrix = NULL;
    dcsr_matrix_options options = {
        .policy = policy, .defragmentation = DCSR_DEFRAGMENT_OFF, .maintain_transpose = true};
    TEST_OK(dcsr_matrix_create(&matrix, context, type, ROWS, COLS, &options));
    return matrix;
}

/* From arrays of the device, from the host at once, or from the host by small batches, which join. */
static void queue(dcsr_matrix *matrix, batch *b, dcsr_type type, bool insert, int way)
{
    if (way == 0) {
        send(b, type, stream);
        TEST_OK(give(matrix, b, type, insert, dcsr_i_cuda_handle(stream), NULL));
        spoil(b, stream);
        return;
    }
    size_t step = way == 1 ? b->n : 100, size = dcsr_type_size(type);
    for (size_t i = 0; i < b->n; i += step) {
        size_t n = b->n - i < step ? b->n - i : step;
        const void *values = size ? (const char *)b->values + i * size : NULL;
        TEST_OK(insert ? dcsr_matrix_insert(matrix, n, b->rows + i, b->cols + i, values, NULL)
                       : dcsr_matrix_remove(matrix, n, b->rows + i, b->cols + i, NULL));
    }
}

static void follow_batches(dcsr_type type, dcsr_policy policy, batch *b)
{
    enum { BATCHES = 8 };
    test_random random = {(uint64_t)type};
    dcsr_matrix *matrix = twin_matrix(type, policy);
    oracle model;
    oracle_create(&model, type, policy, ROWS, COLS);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < BATCHES; i++) {
            bool insert = !test_random_once_in(&random, 4);
            fill(&b[i], &random, type, 1 + test_random_below(&random, insert ? MOST : MOST / 8));
            queue(matrix, &b[i], type, insert, (int)test_random_below(&random, 3));
            follow(&model, &b[i], insert);
        }
        TEST_OK(dcsr_matrix_wait(matrix));
        TEST_OK(dcsr_i_cuda_wait(stream, "testing"));
        cr_assert(test_has_twin(matrix));
        TEST_TRANSPOSES(matrix, &model);
        TEST_MATCHES(matrix, &model);
    }
    oracle_destroy(&model);
    dcsr_matrix_destroy(matrix);
}

Test(twin_device, follows_batches_from_everywhere)
{
    static const dcsr_type types[] = {DCSR_PATTERN, DCSR_UINT8, DCSR_INT16, DCSR_INT32, DCSR_INT64};
    open_device();
    NEEDS_GPU();
    batch *b = test_allocate(8, sizeof *b);
    for (int t = 0; t < 5; t++) {
        if (!TEST_EMULATOR || t % 2 == 0)
            follow_batches(types[t], types[t] ? DCSR_POLICY_SUM : DCSR_POLICY_ANY, b);
        if (!TEST_EMULATOR || t % 2)
            follow_batches(types[t], types[t] ? DCSR_POLICY_LAST : DCSR_POLICY_KEEP, b);
    }
    free(b);
    close_device();
}

/* A batch that was checked against dimensions that did not come is checked again, against what there is:
 * once, for the matrix. The root of 2^31 rows takes 8 MiB here and 8 there, and 256 in the emulator. */
Test(twin_device, follows_behind_a_resize_that_fails)
{
    open_limited(24 << 20);
    NEEDS_GPU();
    test_random random = {1};
    dcsr_matrix *matrix = twin_matrix(DCSR_INT64, DCSR_POLICY_KEEP);
    oracle model;
    oracle_create(&model, DCSR_INT64, DCSR_POLICY_KEEP, ROWS, COLS);
    batch *before = test_allocate(2, sizeof *before), *behind = before + 1;
    *behind = (batch){.n = 3, .rows = {6, 5, 69}, .cols = {5, 5, 299}, .values = {3, 2, 4}};
    for (int way = 0; way < 3; way++) {
        dcsr_ticket *ticket;
        fill(before, &random, DCSR_INT64, MOST);
        queue(matrix, before, DCSR_INT64, true, 1); /* so that the resize has to wait */
        TEST_OK(dcsr_matrix_resize(matrix, DCSR_MAX_COLS, COLS, &ticket));
        queue(matrix, behind, DCSR_INT64, true, way);
        TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY, waited(DCSR_OK, ticket));
        TEST_OK(dcsr_matrix_wait(matrix));
        TEST_OK(dcsr_i_cuda_wait(stream, "testing"));
        follow(&model, before, true);
        follow(&model, behind, true);
        cr_assert(test_has_twin(matrix));
        TEST_TRANSPOSES(matrix, &model);
    }
    free(before);
    oracle_destroy(&model);
    dcsr_matrix_destroy(matrix);
    close_device();
}
