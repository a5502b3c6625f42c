/* peer_cusparse.cu: cuSPARSE's product with a CSR, by its default algorithm and by ALG2, which is
 * deterministic.
 *
 * The offsets are 32-bit, as cuSPARSE is fastest with, and cusparseSpMV_preprocess() has been called. The
 * library is large, and so is looked for when a program starts, on the loader's usual paths: it is no part of
 * the programs. */
#include "bench/peers.h"

#if __has_include(<cusparse.h>)
#include <cusparse.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#define STRING_(x) #x
#define STRING(x)  STRING_(x)

namespace
{
/* The functions that are used, and their addresses. */
#define FUNCTIONS(X)           \
    X(cusparseCreate)          \
    X(cusparseDestroy)         \
    X(cusparseGetProperty)     \
    X(cusparseGetErrorString)  \
    X(cusparseSetStream)       \
    X(cusparseCreateCsr)       \
    X(cusparseDestroySpMat)    \
    X(cusparseCreateDnVec)     \
    X(cusparseDnVecSetValues)  \
    X(cusparseDestroyDnVec)    \
    X(cusparseSpMV_bufferSize) \
    X(cusparseSpMV_preprocess) \
    X(cusparseSpMV)

#define DECLARE(name) decltype(&::name) name;
struct {
    FUNCTIONS(DECLARE)
} library;

bool load()
{
    void *handle = dlopen("libcusparse.so." STRING(CUSPARSE_VER_MAJOR), RTLD_NOW | RTLD_LOCAL);
    if (!handle) return false;
#define FIND(name)                                                            \
    library.name = reinterpret_cast<decltype(&::name)>(dlsym(handle, #name)); \
    if (!library.name) return false;
    FUNCTIONS(FIND)
    return true;
}

#define TRY(call)                                                                          \
    do {                                                                                   \
        cusparseStatus_t status_ = (library.call);                                         \
        if (status_ != CUSPARSE_STATUS_SUCCESS)                                            \
            bench_die("cuSPARSE: %s: %s", #call, library.cusparseGetErrorString(status_)); \
    } while (0)

const char *product_version()
{
    static const bool loaded = load();
    static char text[32];
    if (loaded && !*text) {
        int major, minor, patch;
        TRY(cusparseGetProperty(MAJOR_VERSION, &major));
        TRY(cusparseGetProperty(MINOR_VERSION, &minor));
        TRY(cusparseGetProperty(PATCH_LEVEL, &patch));
        std::snprintf(text, sizeof text, "cuSPARSE %d.%d.%d", major, minor, patch);
    }
    return loaded ? text : nullptr;
}

struct product {
    cusparseHandle_t handle;
    cusparseSpMatDescr_t matrix;
    cusparseDnVecDescr_t x, y;
    cusparseSpMVAlg_t algorithm;
    cudaDataType type;
    void *offsets, *columns, *values, *some_x, *some_y, *buffer;
};

void *upload(const void *array, size_t bytes)
{
    void *copy = bench_gpu_alloc(bytes);
    bench_gpu_copy(copy, array, bytes);
    return copy;
}

void upload_matrix(product *p, const bench_csr *A, dcsr_type type)
{
    if (A->nnz > INT32_MAX) bench_die("too many entries for offsets of 32 bits");
    int32_t *offsets = static_cast<int32_t *>(bench_alloc(A->rows + 1, sizeof *offsets));
    for (uint64_t row = 0; row <= A->rows; row++) offsets[row] = static_cast<int32_t>(A->offsets[row]);
    float *narrow = bench_narrow(A->values, A->nnz, type);
    p->offsets = upload(offsets, (A->rows + 1) * sizeof *offsets);
    p->columns = upload(A->columns, A->nnz * sizeof *A->columns);
    p->values = upload(narrow ? static_cast<void *>(narrow) : A->values, A->nnz * dcsr_type_size(type));
    p->some_x = bench_gpu_alloc(A->cols * dcsr_type_size(type));
    p->some_y = bench_gpu_alloc(A->rows * dcsr_type_size(type));
    std::free(narrow);
    std::free(offsets);
}

/* y = 1 A x + 0 y, as the three functions of the product take it. */
const double one_fp64 = 1, zero_fp64 = 0;
const float one_fp32 = 1, zero_fp32 = 0;
#define ARGUMENTS(p)                                                                        \
    (p)->handle, CUSPARSE_OPERATION_NON_TRANSPOSE,                                          \
        (p)->type == CUDA_R_64F ? (const void *)&one_fp64 : &one_fp32, (p)->matrix, (p)->x, \
        (p)->type == CUDA_R_64F ? (const void *)&zero_fp64 : &zero_fp32, (p)->y, (p)->type, (p)->algorithm

void *create(const bench_csr *A, dcsr_type type, cusparseSpMVAlg_t algorithm, char note[PEER_NOTE])
{
    const int64_t rows = static_cast<int64_t>(A->rows), cols = static_cast<int64_t>(A->cols);
    product *p = new product{};
    p->algorithm = algorithm;
    p->type = type == DCSR_FP32 ? CUDA_R_32F : CUDA_R_64F;
    upload_matrix(p, A, type);
    TRY(cusparseCreate(&p->handle));
    TRY(cusparseSetStream(p->handle, static_cast<cudaStream_t>(bench_gpu_stream())));
    TRY(cusparseCreateCsr(&p->matrix, rows, cols, static_cast<int64_t>(A->nnz), p->offsets, p->columns,
                          p->values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                          p->type));
    TRY(cusparseCreateDnVec(&p->x, cols, p->some_x, p->type));
    TRY(cusparseCreateDnVec(&p->y, rows, p->some_y, p->type));
    size_t bytes;
    TRY(cusparseSpMV_bufferSize(ARGUMENTS(p), &bytes));
    p->buffer = bench_gpu_alloc(bytes);
    TRY(cusparseSpMV_preprocess(ARGUMENTS(p), p->buffer));
    std::snprintf(note, PEER_NOTE, "32-bit offsets, preprocessed, buffer of %zu bytes", bytes);
    return p;
}

void *create_fp64(const bench_csr *A, int, bool, char note[PEER_NOTE])
{
    return create(A, DCSR_FP64, CUSPARSE_SPMV_ALG_DEFAULT, note);
}

void *create_alg2_fp64(const bench_csr *A, int, bool, char note[PEER_NOTE])
{
    return create(A, DCSR_FP64, CUSPARSE_SPMV_CSR_ALG2, note);
}

void *create_fp32(const bench_csr *A, int, bool, char note[PEER_NOTE])
{
    return create(A, DCSR_FP32, CUSPARSE_SPMV_ALG_DEFAULT, note);
}

void *create_alg2_fp32(const bench_csr *A, int, bool, char note[PEER_NOTE])
{
    return create(A, DCSR_FP32, CUSPARSE_SPMV_CSR_ALG2, note);
}

void multiply(void *self, void *y, const void *x)
{
    const product *p = static_cast<const product *>(self);
    TRY(cusparseDnVecSetValues(p->x, const_cast<void *>(x)));
    TRY(cusparseDnVecSetValues(p->y, y));
    TRY(cusparseSpMV(ARGUMENTS(p), p->buffer));
}

void destroy(void *self)
{
    product *p = static_cast<product *>(self);
    TRY(cusparseDestroyDnVec(p->x));
    TRY(cusparseDestroyDnVec(p->y));
    TRY(cusparseDestroySpMat(p->matrix));
    TRY(cusparseDestroy(p->handle));
    for (void *block : {p->offsets, p->columns, p->values, p->some_x, p->some_y, p->buffer})
        bench_gpu_free(block);
    delete p;
}
} // namespace

#define PRODUCT(suffix, name, type)                         \
    extern "C" const peer_product peer_cusparse##suffix = { \
        name, true, type, product_version, create##suffix, multiply, destroy};
#else
#define PRODUCT(suffix, name, type) extern "C" const peer_product peer_cusparse##suffix = {name, true, type};
#endif

PRODUCT(_fp64, "cusparse", DCSR_FP64)
PRODUCT(_alg2_fp64, "cusparse_alg2", DCSR_FP64)
PRODUCT(_fp32, "cusparse", DCSR_FP32)
PRODUCT(_alg2_fp32, "cusparse_alg2", DCSR_FP32)
