/* test_cusparse_device.c: the kernels that are cuSPARSE's, on a stand-in for it: a library of the same functions, which
 * does its work on the host, and what they say where there is none, or it fails. */
#include <dcsr/spmv.h>
#include "dcsr/base/alloc.h"
#include "ops/spmv/portfolio/cuda/cusparse_cuda.h"
#include "tests/support/support.h"
#include <stdlib.h>
#include <string.h>

TestSuite(cusparse, .timeout = 120);

/* Of CUDA's runtime. */
int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
int cudaStreamSynchronize(void *stream);
enum { TO_DEVICE = 1, TO_HOST = 2 };

/* ---- The stand-in ---- */

enum { BUFFER = 40 };
typedef struct description {
    int64_t rows, cols, nnz;
    void *row_array, *columns, *values;
    bool lists_rows;
} description;
typedef struct vector {
    void *values;
} vector;
static struct {
    int fails_at;  /* the call of this number fails; 0: none */
    int calls;     /* so far */
    int objects;   /* that exist */
    int prepared;  /* matrices */
    void *stream;  /* of the products */
    int algorithm; /* of the last product */
} stand_in;

static int next_call(void)
{
    return ++stand_in.calls == stand_in.fails_at ? 7 : 0;
}

static int make_object(void **object, size_t bytes)
{
    *object = NULL;
    if (next_call()) return 7;
    *object = calloc(1, bytes);
    stand_in.objects++;
    return 0;
}

static int end_object(void *object)
{
    free(object);
    stand_in.objects--;
    return 0;
}

static int create(void **handle)
{
    return make_object(handle, 1);
}

static int set_stream(void *handle, void *stream)
{
    (void)handle;
    stand_in.stream = stream;
    return next_call();
}

static const char *error_text(int status)
{
    return status == 7 ? "made up" : "?";
}

static int create_csr(void **A, int64_t rows, int64_t cols, int64_t nnz, void *offsets, void *columns,
                      void *values, int offset_type, int column_type, int base, int type)
{
    const int status = make_object(A, sizeof(description));
    cr_assert(offset_type == 2 && column_type == 2 && base == 0 && (type == 0 || type == 1));
    if (!status) *(description *)*A = (description){rows, cols, nnz, offsets, columns, values, false};
    return status;
}

static int create_coo(void **A, int64_t rows, int64_t cols, int64_t nnz, void *row_indices, void *columns,
                      void *values, int index_type, int base, int type)
{
    const int status = make_object(A, sizeof(description));
    cr_assert(index_type == 2 && base == 0 && (type == 0 || type == 1));
    if (!status) *(description *)*A = (description){rows, cols, nnz, row_indices, columns, values, true};
    return status;
}

static int create_vector(void **x, int64_t size, void *values, int type)
{
    const int status = make_object(x, sizeof(vector));
    (void)size, (void)type;
    if (!status) ((vector *)*x)->values = values;
    return status;
}

static int set_values(void *x, void *values)
{
    ((vector *)x)->values = values;
    return next_call();
}

static int buffer_size(void *handle, int operation, const void *alpha, void *A, void *x, const void *beta,
                       void *y, int type, int algorithm, size_t *bytes)
{
    (void)handle, (void)operation, (void)alpha, (void)A, (void)x, (void)beta, (void)y, (void)type,
        (void)algorithm;
    *bytes = BUFFER;
    return next_call();
}

static int preprocess(void *handle, int operation, const void *alpha, void *A, void *x, const void *beta,
                      void *y, int type, int algorithm, void *buffer)
{
    (void)handle, (void)operation, (void)alpha, (void)A, (void)x, (void)beta, (void)y, (void)type,
        (void)algorithm;
    cr_assert_not_null(buffer);
    stand_in.prepared++;
    return next_call();
}

static void *fetch(const void *there, size_t bytes)
{
    void *here = malloc(bytes + 1);
    cr_assert(!cudaMemcpy(here, there, bytes, TO_HOST));
    return here;
}

static double number(const void *values, int type, int64_t i)
{
    return type ? ((const double *)values)[i] : (double)((const float *)values)[i];
}

static int multiply(void *handle, int operation, const void *alpha, void *A, void *x, const void *beta,
                    void *y, int type, int algorithm, void *buffer)
{
    const description *a = A;
    const size_t size = type ? sizeof(double) : sizeof(float);
    cr_assert(handle && !operation && buffer && number(alpha, type, 0) == 1 && number(beta, type, 0) == 0);
    if (next_call()) return 7;
    stand_in.algorithm = algorithm;
    cr_assert(!cudaStreamSynchronize(stand_in.stream));
    const size_t in_rows = (size_t)(a->lists_rows ? a->nnz : a->rows + 1);
    uint32_t *rows = fetch(a->row_array, in_rows * 4), *columns = fetch(a->columns, (size_t)a->nnz * 4);
    void *values = fetch(a->values, (size_t)a->nnz * size),
         *in = fetch(((vector *)x)->values, (size_t)a->cols * size);
    double *sums = calloc((size_t)a->rows + 1, sizeof *sums);
    for (int64_t row = 0, k = 0; k < a->nnz; k++) {
        if (a->lists_rows) row = rows[k];
        while (!a->lists_rows && rows[row + 1] <= k) row++;
        sums[row] += number(values, type, k) * number(in, type, columns[k]);
    }
    char *out = malloc((size_t)a->rows * size + 1);
    for (int64_t i = 0; i < a->rows; i++)
        test_encode(type ? DCSR_FP64 : DCSR_FP32, sums[i], out + (size_t)i * size);
    cr_assert(!cudaMemcpy(((vector *)y)->values, out, (size_t)a->rows * size, TO_DEVICE));
    cr_assert(!cudaStreamSynchronize(NULL)); /* the copy may still be on its way from where it was staged */
    free(rows), free(columns), free(values), free(in), free(sums), free(out);
    return 0;
}

static const dcsr_i_cusparse library = {create,      end_object, set_stream,    error_text, create_csr,
                                        create_coo,  end_object, create_vector, end_object, set_values,
                                        buffer_size, multiply,   preprocess};

/* ---- Tests ---- */

static const struct {
    const char *name;
    int number;
} kernels[] = {{"cusparse_csr1", 2}, {"cusparse_csr2", 3}, {"cusparse_coo1", 1}, {"cusparse_coo2", 4}};
enum { KERNELS = sizeof kernels / sizeof *kernels, ROWS = 300, COLS = 250, ENTRIES = 4000 };

/* In two portions; values are small integers, so that sums are exact. */
static dcsr_view *make(dcsr_context *context, dcsr_matrix **matrix, dcsr_type type, uint64_t entries)
{
    test_random random = {5};
    dcsr_view *view;
    *matrix = test_matrix(context, type, ROWS, COLS, DCSR_POLICY_LAST);
    for (int portion = 0; portion < 2 && entries; portion++) {
        static uint64_t rows[ENTRIES], cols[ENTRIES];
        static double values[ENTRIES];
        for (uint64_t e = 0; e < entries; e++) {
            rows[e] = test_random_below(&random, 1 + test_random_below(&random, ROWS));
            cols[e] = test_random_below(&random, COLS);
            const double value = (double)test_random_below(&random, 7) - 3;
            test_encode(type, value, (char *)values + e * dcsr_type_size(type));
        }
        TEST_OK(dcsr_matrix_insert(*matrix, entries, rows, cols, type == DCSR_PATTERN ? NULL : values, NULL));
        TEST_OK(dcsr_matrix_wait(*matrix));
    }
    TEST_OK(dcsr_view_create(&view, *matrix, DCSR_LAYOUT_SEGMENTS, 0));
    return view;
}

static dcsr_status plan_for(dcsr_spmv_plan **plan, dcsr_view *view, int k)
{
    return dcsr_spmv_plan_create(plan, view, &(dcsr_spmv_options){.kernel = kernels[k].name});
}

Test(cusparse, multiplies_with_what_it_is_given)
{
    dcsr_context *context = test_context(1);
    dcsr_i_cusparse_stand_in(&library);
    for (int t = 0; t < 2; t++) {
        const dcsr_type type = t ? DCSR_FP32 : DCSR_FP64;
        const size_t size = dcsr_type_size(type);
        dcsr_matrix *matrix;
        dcsr_view *view = make(context, &matrix, type, ENTRIES);
        char x[COLS * sizeof(double)], y[ROWS * sizeof(double)], expected[ROWS * sizeof(double)];
        for (int j = 0; j < COLS; j++) test_encode(type, j % 5 - 2, x + (size_t)j * size);
        TEST_OK(dcsr_spmv(expected, view, x));
        for (int k = 0; k < KERNELS; k++) {
            dcsr_spmv_plan *plan;
            dcsr_spmv_plan_info info;
            const int objects = stand_in.objects, prepared = stand_in.prepared;
            TEST_OK(plan_for(&plan, view, k));
            TEST_OK(dcsr_spmv_plan_get_info(plan, &info));
            cr_assert(info.bytes >= BUFFER + ENTRIES / 2 * size && stand_in.prepared == prepared + 1);
            for (int time = 0; time < 2; time++) {
                memset(y, 0x5a, sizeof y);
                TEST_OK(dcsr_spmv_plan_run(y, plan, x));
                cr_assert(!memcmp(y, expected, ROWS * size) && stand_in.algorithm == kernels[k].number);
            }
            dcsr_spmv_plan_destroy(plan);
            cr_assert_eq(stand_in.objects, objects);
        }
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
    }
    dcsr_i_cusparse_stand_in(NULL);
    test_close(context);
}

Test(cusparse, says_what_it_does_not_serve)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix;
    dcsr_spmv_plan *plan;
    dcsr_view *view = make(context, &matrix, DCSR_FP64, ENTRIES);
#ifdef DCSR_SIMT
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "cusparse_csr2 is cuSPARSE's, and there is no libcusparse.so",
                 plan_for(&plan, view, 1));
#endif
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    dcsr_i_cusparse_stand_in(&library);
    view = make(context, &matrix, DCSR_INT32, ENTRIES);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "multiplies fp64 and fp32", plan_for(&plan, view, 0));
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    view = make(context, &matrix, DCSR_FP64, 0);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "has nothing to multiply", plan_for(&plan, view, 2));
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    dcsr_i_cusparse_stand_in(NULL);
    test_close(context);
}

/* Each of its calls fails in turn, then each allocation: an error is told, and nothing stays. */
Test(cusparse, failures_are_told)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix;
    double x[COLS] = {0}, y[ROWS];
    dcsr_view *view = make(context, &matrix, DCSR_FP64, ENTRIES);
    dcsr_i_cusparse_stand_in(&library);
    for (int n = 1, more = 1; more; n++) {
        dcsr_spmv_plan *plan;
        stand_in.calls = 0;
        stand_in.fails_at = n;
        dcsr_status status = plan_for(&plan, view, n % KERNELS);
        if (!status) status = dcsr_spmv_plan_run(y, plan, x);
        stand_in.fails_at = 0;
        more = status != DCSR_OK;
        cr_assert(!more || (status == DCSR_ERROR_DEVICE && strstr(dcsr_thread_error(), "made up")), "%d: %s",
                  n, dcsr_thread_error());
        dcsr_spmv_plan_destroy(plan);
        cr_assert_eq(stand_in.objects, 0);
        cr_assert(more || n > 15);
    }
    for (long n = 0, more = 1; more; n++) {
        dcsr_spmv_plan *plan;
        dcsr_i_fail_allocations_after(n);
        dcsr_status status = plan_for(&plan, view, (int)(n % KERNELS));
        if (!status) status = dcsr_spmv_plan_run(y, plan, x);
        dcsr_i_fail_allocations_after(-1);
        more = status != DCSR_OK;
        cr_assert(!more || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
        dcsr_spmv_plan_destroy(plan);
        cr_assert_eq(stand_in.objects, 0);
    }
    dcsr_i_cusparse_stand_in(NULL);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}
