/* peer_cusparse.cuh: finding cuSPARSE, and a CSR as it has it (internal to the files of this peer).
 *
 * The library is large, and so is looked for when a program starts, on the loader's usual paths: it is no
 * part of the programs. A file says in PEER_FUNCTIONS(X), before it includes this, which functions it calls
 * besides those that are used here. Offsets are 32-bit, as cuSPARSE is fastest with. */
#ifndef DCSR_BENCH_PEER_CUSPARSE_CUH
#define DCSR_BENCH_PEER_CUSPARSE_CUH

#include "bench/peers/peers.h"

#include <cusparse.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#define STRING_(x) #x
#define STRING(x)  STRING_(x)

namespace
{
/* The functions that are used, and their addresses. */
#define FUNCTIONS(X)          \
    X(cusparseCreate)         \
    X(cusparseDestroy)        \
    X(cusparseGetProperty)    \
    X(cusparseGetErrorString) \
    X(cusparseSetStream)      \
    X(cusparseCreateCsr)      \
    X(cusparseDestroySpMat)   \
    PEER_FUNCTIONS(X)

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
} // namespace

#endif
