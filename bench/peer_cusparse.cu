/* peer_cusparse.cu: cuSPARSE's products of a CSR with a vector, by its default algorithm and by ALG2, which
 * is deterministic, and with a dense matrix by CSR_ALG2, its fastest for row-major ones.
 *
 * The offsets are 32-bit, as cuSPARSE is fastest with, and the preprocessing has been done. The library is
 * large, and so is looked for when a program starts, on the loader's usual paths: it is no part of the
 * programs. */
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
    X(cusparseSpMV)            \
    X(cusparseCreateDnMat)     \
    X(cusparseDestroyDnMat)    \
    X(cusparseSpMM_bufferSize) \
    X(cusparseSpMM_preprocess) \
    X(cusparseSpMM)

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

/* A CSR on the GPU, as cuSPARSE has it. */
struct matrix {
    cusparseHandle_t handle;
    cusparseSpMatDescr_t csr;
    cudaDataType type;
    void *offsets, *columns, *values;
};

void *upload(const void *array, size_t bytes)
{
    void *copy = bench_gpu_alloc(bytes);
    bench_gpu_copy(copy, array, bytes);
    return copy;
}

void open_matrix(matrix *m, const bench_csr *A, dcsr_type type)
{
    if (A->nnz > INT32_MAX) bench_die("too many entries for offsets of 32 bits");
    int32_t *offsets = static_cast<int32_t *>(bench_alloc(A->rows + 1, sizeof *offsets));
    for (uint64_t row = 0; row <= A->rows; row++) offsets[row] = static_cast<int32_t>(A->offsets[row]);
    float *narrow = bench_narrow(A->values, A->nnz, type);
    m->type = type == DCSR_FP32 ? CUDA_R_32F : CUDA_R_64F;
    m->offsets = upload(offsets, (A->rows + 1) * sizeof *offsets);
    m->columns = upload(A->columns, A->nnz * sizeof *A->columns);
    m->values = upload(narrow ? static_cast<void *>(narrow) : A->values, A->nnz * dcsr_type_size(type));
    std::free(narrow);
    std::free(offsets);
    TRY(cusparseCreate(&m->handle));
    TRY(cusparseSetStream(m->handle, static_cast<cudaStream_t>(bench_gpu_stream())));
    TRY(cusparseCreateCsr(&m->csr, static_cast<int64_t>(A->rows), static_cast<int64_t>(A->cols),
                          static_cast<int64_t>(A->nnz), m->offsets, m->columns, m->values, CUSPARSE_INDEX_32I,
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, m->type));
}

void close_matrix(matrix *m)
{
    TRY(cusparseDestroySpMat(m->csr));
    TRY(cusparseDestroy(m->handle));
    for (void *block : {m->offsets, m->columns, m->values}) bench_gpu_free(block);
}

/* 1 and 0 as cuSPARSE takes them: result = 1 A x + 0 result. */
const double one_fp64 = 1, zero_fp64 = 0;
const float one_fp32 = 1, zero_fp32 = 0;

const void *one_of(cudaDataType type)
{
    return type == CUDA_R_64F ? static_cast<const void *>(&one_fp64) : &one_fp32;
}

const void *zero_of(cudaDataType type)
{
    return type == CUDA_R_64F ? static_cast<const void *>(&zero_fp64) : &zero_fp32;
}

/* ---- With a vector ---- */

struct product {
    matrix A;
    cusparseDnVecDescr_t x, y;
    cusparseSpMVAlg_t algorithm;
    void *some_x, *some_y, *buffer;
};

/* What the three functions of the product take first. */
#define ARGUMENTS(p)                                                                          \
    (p)->A.handle, CUSPARSE_OPERATION_NON_TRANSPOSE, one_of((p)->A.type), (p)->A.csr, (p)->x, \
        zero_of((p)->A.type), (p)->y, (p)->A.type, (p)->algorithm

void *create(const bench_csr *A, dcsr_type type, cusparseSpMVAlg_t algorithm, char note[PEER_NOTE])
{
    product *p = new product{};
    p->algorithm = algorithm;
    open_matrix(&p->A, A, type);
    p->some_x = bench_gpu_alloc(A->cols * dcsr_type_size(type));
    p->some_y = bench_gpu_alloc(A->rows * dcsr_type_size(type));
    TRY(cusparseCreateDnVec(&p->x, static_cast<int64_t>(A->cols), p->some_x, p->A.type));
    TRY(cusparseCreateDnVec(&p->y, static_cast<int64_t>(A->rows), p->some_y, p->A.type));
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
    close_matrix(&p->A);
    for (void *block : {p->some_x, p->some_y, p->buffer}) bench_gpu_free(block);
    delete p;
}

/* ---- With a dense matrix ---- */

struct block_product {
    matrix A;
    cusparseDnMatDescr_t X, Y;
    void *buffer;
};

#define BLOCK_ARGUMENTS(p)                                                                                  \
    (p)->A.handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, one_of((p)->A.type), \
        (p)->A.csr, (p)->X, zero_of((p)->A.type), (p)->Y, (p)->A.type, CUSPARSE_SPMM_CSR_ALG2

void *create_block(const bench_csr *A, dcsr_type type, uint64_t columns, void *Y, void *X)
{
    const int64_t rows = static_cast<int64_t>(A->rows), cols = static_cast<int64_t>(A->cols),
                  width = static_cast<int64_t>(columns);
    block_product *p = new block_product{};
    open_matrix(&p->A, A, type);
    TRY(cusparseCreateDnMat(&p->X, cols, width, width, X, p->A.type, CUSPARSE_ORDER_ROW));
    TRY(cusparseCreateDnMat(&p->Y, rows, width, width, Y, p->A.type, CUSPARSE_ORDER_ROW));
    size_t bytes;
    TRY(cusparseSpMM_bufferSize(BLOCK_ARGUMENTS(p), &bytes));
    p->buffer = bench_gpu_alloc(bytes);
    TRY(cusparseSpMM_preprocess(BLOCK_ARGUMENTS(p), p->buffer));
    return p;
}

void multiply_block(void *self)
{
    const block_product *p = static_cast<const block_product *>(self);
    TRY(cusparseSpMM(BLOCK_ARGUMENTS(p), p->buffer));
}

void destroy_block(void *self)
{
    block_product *p = static_cast<block_product *>(self);
    TRY(cusparseDestroyDnMat(p->X));
    TRY(cusparseDestroyDnMat(p->Y));
    close_matrix(&p->A);
    bench_gpu_free(p->buffer);
    delete p;
}
} // namespace

#define PRODUCT(suffix, name, type)                         \
    extern "C" const peer_product peer_cusparse##suffix = { \
        name, true, type, product_version, create##suffix, multiply, destroy};
extern "C" const peer_block_product peer_cusparse_block = {"cusparse_alg2", product_version, create_block,
                                                           multiply_block, destroy_block};
#else
#define PRODUCT(suffix, name, type) extern "C" const peer_product peer_cusparse##suffix = {name, true, type};
extern "C" const peer_block_product peer_cusparse_block = {"cusparse_alg2"};
#endif

PRODUCT(_fp64, "cusparse", DCSR_FP64)
PRODUCT(_alg2_fp64, "cusparse_alg2", DCSR_FP64)
PRODUCT(_fp32, "cusparse", DCSR_FP32)
PRODUCT(_alg2_fp32, "cusparse_alg2", DCSR_FP32)
