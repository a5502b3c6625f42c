/* test_csr_device.c: matrices from CSR that is in the memory of a device. */
#include <dcsr/convert.h>
#include "dcsr/base/alloc.h"
#include "tests/support/support_device.h"

enum { ROWS = 2100, COLS = 60, MOST = 4000 };

/* A CSR on the host, and a copy of it there. */
typedef struct both {
    uint64_t offsets[ROWS + 1];
    uint32_t columns[MOST];
    int64_t values[MOST];
    dcsr_csr there;
} both;

static void *bring(const void *from, size_t bytes)
{
    char *to = on_device(bytes);
    dcsr_i_cuda_copy(stream, to, from, bytes);
    TEST_OK(dcsr_i_cuda_wait(stream, "bringing"));
    return to;
}

/* Rows of no or some entries, in any order, with duplicates; many rows in the middle are empty. */
static void draw(both *b, oracle *model)
{
    test_random random = {3};
    uint64_t n = 0;
    for (uint64_t row = 0; row < ROWS; row++) {
        uint64_t length = row > 900 && row < 2080 ? 0 : test_random_below(&random, 5);
        b->offsets[row] = n;
        for (uint64_t k = 0; k < length; k++, n++) {
            uint64_t col = test_random_below(&random, COLS);
            b->columns[n] = (uint32_t)col;
            b->values[n] = (int64_t)test_random_below(&random, 100);
            oracle_insert(model, 1, &row, &col, &b->values[n]);
        }
    }
    b->offsets[ROWS] = n;
    b->there = (dcsr_csr){ROWS,
                          COLS,
                          n,
                          DCSR_INT64,
                          bring(b->offsets, sizeof b->offsets),
                          bring(b->columns, sizeof b->columns),
                          bring(b->values, sizeof b->values)};
}

static void drop(both *b)
{
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, (void *)b->there.offsets, sizeof b->offsets, 1);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, (void *)b->there.col_indices, sizeof b->columns, 1);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, (void *)b->there.values, sizeof b->values, 1);
}

Test(csr_device, becomes_a_matrix)
{
    open_device();
    NEEDS_GPU();
    both *b = test_allocate(1, sizeof *b);
    oracle model;
    oracle_create(&model, DCSR_INT64, DCSR_POLICY_SUM, ROWS, COLS);
    draw(b, &model);
    dcsr_matrix *matrix, *again;
    dcsr_view *view;
    dcsr_csr csr;
    const dcsr_matrix_options sum = {.policy = DCSR_POLICY_SUM};
    TEST_OK(dcsr_matrix_from_csr_device(&matrix, context, &b->there, NULL, &sum));
    TEST_MATCHES(matrix, &model);
    /* What a view lends can be taken as it is. */
    TEST_OK(dcsr_view_create(&view, matrix, DCSR_LAYOUT_CSR, 0));
    TEST_OK(dcsr_view_get_csr(view, &csr));
    TEST_OK(dcsr_matrix_from_csr_device(&again, context, &csr, dcsr_i_cuda_handle(stream), &sum));
    TEST_MATCHES(again, &model);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(again);
    dcsr_matrix_destroy(matrix);
    oracle_destroy(&model);
    drop(b);
    free(b);
    close_device();
}

Test(csr_device, may_be_empty)
{
    static const uint64_t zeros[4] = {0};
    open_device();
    NEEDS_GPU();
    dcsr_matrix *matrix;
    uint64_t *there = bring(zeros, sizeof zeros), nnz;
    TEST_OK(dcsr_matrix_from_csr_device(&matrix, context, &(dcsr_csr){3, 3, 0, DCSR_FP64, there, NULL, NULL},
                                        NULL, NULL));
    TEST_OK(dcsr_matrix_get_nnz(matrix, &nnz));
    cr_assert(nnz == 0);
    dcsr_matrix_destroy(matrix);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, there, sizeof zeros, 1);
    close_device();
}

static void refused(both *b, dcsr_status status, const char *words)
{
    dcsr_matrix *matrix = (dcsr_matrix *)b;
    TEST_REFUSED(status, words, dcsr_matrix_from_csr_device(&matrix, context, &b->there, NULL, NULL));
    cr_assert_null(matrix);
}

static void put(const void *to, const void *from, size_t bytes)
{
    dcsr_i_cuda_copy(stream, (void *)to, from, bytes);
    TEST_OK(dcsr_i_cuda_wait(stream, "bringing"));
}

Test(csr_device, is_checked)
{
    open_device();
    NEEDS_GPU();
    both *b = test_allocate(1, sizeof *b);
    oracle model;
    oracle_create(&model, DCSR_INT64, DCSR_POLICY_LAST, ROWS, COLS);
    draw(b, &model);
    const uint64_t huge = UINT64_MAX;
    const uint32_t out = COLS;
    put(b->there.offsets + 7, &huge, sizeof huge);
    refused(b, DCSR_ERROR_INVALID_ARGUMENT, "offsets[6] and the next must ascend");
    put(b->there.offsets + 7, &b->offsets[7], sizeof huge);
    b->there.nnz--;
    refused(b, DCSR_ERROR_INVALID_ARGUMENT, "must go from 0 to nnz");
    b->there.nnz++;
    put(b->there.col_indices + 11, &out, sizeof out);
    refused(b, DCSR_ERROR_INDEX_OUT_OF_RANGE, "column of entry 11");
    put(b->there.col_indices + 11, &b->columns[11], sizeof out);
    const uint64_t *offsets = b->there.offsets;
    b->there.offsets = b->offsets;
    refused(b, DCSR_ERROR_INVALID_ARGUMENT, "offsets is in the memory of the host");
    b->there.offsets = NULL;
    refused(b, DCSR_ERROR_INVALID_ARGUMENT, "offsets is NULL");
    b->there.offsets = offsets;
    const void *values = b->there.values;
    b->there.values = NULL;
    refused(b, DCSR_ERROR_TYPE_MISMATCH, "values must be given");
    b->there.values = values;
    oracle_destroy(&model);
    drop(b);
    free(b);
    close_device();
}

Test(csr_device, may_lack_memory)
{
    open_device();
    NEEDS_GPU();
    both *b = test_allocate(1, sizeof *b);
    oracle model;
    oracle_create(&model, DCSR_INT64, DCSR_POLICY_SUM, ROWS, COLS);
    draw(b, &model);
    dcsr_matrix *matrix = NULL;
    const dcsr_matrix_options sum = {.policy = DCSR_POLICY_SUM};
    for (int first = 0; !matrix; first++) {
        cr_assert(first < 200);
        dcsr_i_fail_allocations_after(first);
        dcsr_status status = dcsr_matrix_from_csr_device(&matrix, context, &b->there, NULL, &sum);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(!matrix == (status == DCSR_ERROR_OUT_OF_MEMORY), "%s", dcsr_thread_error());
    }
    TEST_MATCHES(matrix, &model);
    dcsr_matrix_destroy(matrix);
    oracle_destroy(&model);
    drop(b);
    free(b);
    close_device();
}

Test(csr_device, is_of_a_device)
{
    dcsr_context *host;
    dcsr_matrix *matrix;
    static const uint64_t zeros[2] = {0};
    const dcsr_csr csr = {1, 1, 0, DCSR_FP64, zeros, NULL, NULL};
    TEST_OK(dcsr_context_create(&host, &(dcsr_context_options){.device = DCSR_DEVICE_CPU}));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "the context is on the cpu",
                 dcsr_matrix_from_csr_device(&matrix, host, &csr, NULL, NULL));
    test_close(host);
}
