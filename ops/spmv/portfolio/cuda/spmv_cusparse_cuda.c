/* spmv_cusparse_cuda.c: the kernels cusparse_csr1, cusparse_csr2, cusparse_coo1 and cusparse_coo2: algorithms of
 * cuSPARSE over the arrays of csr and coo, where that library is on the machine.
 *
 * What the algorithms prepare is done once, when the format is made, if its version can. Whether sums are grouped alike
 * each time is its affair: csr2 and coo2 say so, csr1 and coo1 do not. */
#include "ops/spmv/portfolio/cuda/cusparse_cuda.h"
#include "ops/spmv/portfolio/cuda/device_format.h"
#include "ops/spmv/portfolio/portfolio.h"
#include "dcsr/base/alloc.h"
#include "dcsr/base/error.h"
#include "dcsr/store/cuda/store_cuda.h"

static const double one = 1, zero = 0;
static const float one_float = 1, zero_float = 0;
static const char making_one[] = "making a format for spmv";

/* Where a recipe has rows (or their offsets), columns and values. */
typedef struct algorithm {
    int number;
    const dcsr_i_spmv_recipe *recipe;
    int rows, columns, values;
    bool lists_rows;
} algorithm;

typedef struct held {
    const dcsr_i_cusparse *library;
    dcsr_i_spmv_format *arrays;
    void *handle, *A, *x, *y;
    void *buffer; /* device memory */
    size_t buffer_bytes;
} held;

static dcsr_status check(const dcsr_i_cusparse *library, int status, const char *operation)
{
    if (!status) return DCSR_OK;
    return dcsr_i_fail(status == DCSR_CUSPARSE_ALLOC_FAILED ? DCSR_ERROR_OUT_OF_MEMORY : DCSR_ERROR_DEVICE,
                       "spmv: cuSPARSE failed in %s: %s; take another kernel", operation,
                       library->error_text(status));
}

static bool is_real(const dcsr_i_spmv_matrix *A)
{
    return A->info.type == DCSR_FP64 || A->info.type == DCSR_FP32;
}

static const char *refuses(const dcsr_i_spmv_matrix *A, const algorithm *how)
{
    if (!is_real(A)) return "multiplies fp64 and fp32";
    if (!dcsr_i_cusparse_find()) return "is cuSPARSE's, and there is no libcusparse.so on this machine";
    if (!A->info.nnz) return "has nothing to multiply, as the matrix has no entries";
    if (A->info.nnz > INT32_MAX || A->info.rows >= INT32_MAX || A->info.cols >= INT32_MAX)
        return "counts rows, columns and entries in 31 bits, and the matrix has more";
    return dcsr_i_spmv_format_refuses(A, how->recipe);
}

/* ---- What cuSPARSE knows of a matrix ---- */

static int type_of(const dcsr_i_spmv_matrix *A)
{
    return A->info.type == DCSR_FP64 ? DCSR_CUSPARSE_FP64 : DCSR_CUSPARSE_FP32;
}

static void close(held *h)
{
    if (h->A) h->library->destroy_matrix(h->A);
    if (h->x) h->library->destroy_vector(h->x);
    if (h->y) h->library->destroy_vector(h->y);
    if (h->handle) h->library->destroy(h->handle);
}

/* Where the arrays are is not looked at before a product; without them it is some place of the device's memory. */
static void *at(const held *h, int array, const dcsr_i_spmv_matrix *A)
{
    return h->arrays ? h->arrays->array[array].at : (void *)(uintptr_t)A->rows->device.columns;
}

static int describe(held *h, const dcsr_i_spmv_matrix *A, const algorithm *how, void *stream)
{
    const dcsr_i_cusparse *library = h->library;
    const int64_t rows = (int64_t)A->info.rows, cols = (int64_t)A->info.cols, nnz = (int64_t)A->info.nnz;
    const int type = type_of(A), index = DCSR_CUSPARSE_INDEX_32;
    void *row_array = at(h, how->rows, A), *columns = at(h, how->columns, A), *values = at(h, how->values, A);
    int status = library->create(&h->handle);
    if (!status) status = library->set_stream(h->handle, stream);
    if (!status)
        status = how->lists_rows
                     ? library->create_coo(&h->A, rows, cols, nnz, row_array, columns, values, index, 0, type)
                     : library->create_csr(&h->A, rows, cols, nnz, row_array, columns, values, index, index,
                                           0, type);
    if (!status) status = library->create_vector(&h->x, cols, values, type);
    return status ? status : library->create_vector(&h->y, rows, values, type);
}

/* The matrix described, and how large a buffer products take. */
static dcsr_status open(held *h, const dcsr_i_spmv_matrix *A, const algorithm *how, void *stream)
{
    const bool wide = A->info.type == DCSR_FP64;
    h->library = dcsr_i_cusparse_find();
    int status = describe(h, A, how, stream);
    if (!status)
        status = h->library->buffer_size(h->handle, 0, wide ? (const void *)&one : &one_float, h->A, h->x,
                                         wide ? (const void *)&zero : &zero_float, h->y, type_of(A),
                                         how->number, &h->buffer_bytes);
    return check(h->library, status, "describing a matrix");
}

static int call(dcsr_i_cusparse_product *what, const held *h, const dcsr_i_spmv_matrix *A,
                const algorithm *how)
{
    const bool wide = A->info.type == DCSR_FP64;
    return what(h->handle, 0, wide ? (const void *)&one : &one_float, h->A, h->x,
                wide ? (const void *)&zero : &zero_float, h->y, type_of(A), how->number, h->buffer);
}

/* ---- As the portfolio asks ---- */

static dcsr_status measure(uint64_t *bytes, const dcsr_i_spmv_matrix *A, const algorithm *how)
{
    held h = {0};
    DCSR_TRY(dcsr_i_spmv_format_measure(bytes, A, how->recipe));
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(A->context);
    if (!stream) return dcsr_i_no_memory();
    dcsr_status status = open(&h, A, how, dcsr_i_cuda_handle(stream));
    close(&h);
    dcsr_i_stream_return(A->context, stream);
    *bytes += sizeof h + h.buffer_bytes;
    return status;
}

static dcsr_status prepare(held *h, const dcsr_i_spmv_matrix *A, const algorithm *how)
{
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(A->context);
    if (!stream) return dcsr_i_no_memory();
    dcsr_status status = open(h, A, how, dcsr_i_cuda_handle(stream));
    if (!status) {
        h->buffer = dcsr_i_cuda_alloc(stream, DCSR_I_MATRIX, h->buffer_bytes, 1);
        if (!h->buffer) status = dcsr_i_no_memory();
    }
    if (!status && h->library->preprocess)
        status = check(h->library, call(h->library->preprocess, h, A, how), "preparing products");
    const dcsr_status waited = dcsr_i_cuda_wait(stream, making_one);
    dcsr_i_stream_return(A->context, stream);
    return status ? status : waited;
}

/* Products have been waited for. */
static void discard(void *format, const dcsr_i_spmv_matrix *A)
{
    held *h = format;
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(A->context); /* so that the device is current */
    close(h);
    if (stream) dcsr_i_stream_return(A->context, stream);
    if (h->buffer) dcsr_i_cuda_free_idle(A->context->cuda, DCSR_I_MATRIX, h->buffer, h->buffer_bytes, 1);
    if (h->arrays) dcsr_i_spmv_format_discard(h->arrays, A);
    dcsr_i_free(A->context, DCSR_I_MATRIX, h, 1, sizeof *h);
}

static dcsr_status build(void **format, const dcsr_i_spmv_matrix *A, const algorithm *how)
{
    void *arrays;
    *format = NULL;
    held *h = dcsr_i_calloc(A->context, DCSR_I_MATRIX, 1, sizeof *h);
    if (!h) return dcsr_i_no_memory();
    dcsr_status status = dcsr_i_spmv_format_build(&arrays, A, how->recipe);
    h->arrays = arrays;
    if (!status) status = prepare(h, A, how);
    if (status)
        discard(h, A);
    else
        *format = h;
    return status;
}

static dcsr_status run(const dcsr_i_spmv_product *product, const dcsr_i_spmv_matrix *A, const void *format,
                       const algorithm *how)
{
    const held *h = format;
    int status = h->library->set_stream(h->handle, product->on);
    if (!status) status = h->library->set_values(h->x, (void *)(uintptr_t)product->x);
    if (!status) status = h->library->set_values(h->y, product->y);
    if (!status) status = call(h->library->multiply, h, A, how);
    return check(h->library, status, "a product");
}

/* ---- The kernels ---- */

#define KERNEL(NAME, VARIES, SUMMARY, ...)                                                         \
    static const algorithm NAME = {__VA_ARGS__};                                                   \
    static const char *refuses_##NAME(const dcsr_i_spmv_matrix *A)                                 \
    {                                                                                              \
        return refuses(A, &NAME);                                                                  \
    }                                                                                              \
    static dcsr_status measure_##NAME(uint64_t *bytes, const dcsr_i_spmv_matrix *A)                \
    {                                                                                              \
        return measure(bytes, A, &NAME);                                                           \
    }                                                                                              \
    static dcsr_status build_##NAME(void **format, const dcsr_i_spmv_matrix *A)                    \
    {                                                                                              \
        return build(format, A, &NAME);                                                            \
    }                                                                                              \
    static dcsr_status run_##NAME(const dcsr_i_spmv_product *product, const dcsr_i_spmv_matrix *A, \
                                  const void *format)                                              \
    {                                                                                              \
        return run(product, A, format, &NAME);                                                     \
    }                                                                                              \
    const dcsr_i_spmv_kernel dcsr_i_cuda_spmv_##NAME = {                                           \
        .told = {.name = #NAME, .summary = SUMMARY, .varies = VARIES},                             \
        .refuses = refuses_##NAME,                                                                 \
        .measure = measure_##NAME,                                                                 \
        .build = build_##NAME,                                                                     \
        .run = run_##NAME,                                                                         \
        .discard = discard};

KERNEL(cusparse_csr1, true, "cuSPARSE's algorithm CSR 1, its default", DCSR_CUSPARSE_CSR1,
       &dcsr_i_spmv_recipe_lanes[0], 0, 1, 2, false)
KERNEL(cusparse_csr2, false, "cuSPARSE's algorithm CSR 2, which is deterministic", DCSR_CUSPARSE_CSR2,
       &dcsr_i_spmv_recipe_lanes[0], 0, 1, 2, false)
KERNEL(cusparse_coo1, true, "cuSPARSE's algorithm COO 1", DCSR_CUSPARSE_COO1, &dcsr_i_spmv_recipe_coo, 3, 4,
       5, true)
KERNEL(cusparse_coo2, false, "cuSPARSE's algorithm COO 2, which is deterministic", DCSR_CUSPARSE_COO2,
       &dcsr_i_spmv_recipe_coo, 3, 4, 5, true)
