/* peer_cusparse.cu: cuSPARSE's products of a CSR with a vector, by its default algorithm and by ALG2, which
 * is deterministic, and with a dense matrix by CSR_ALG2, its fastest for row-major ones.
 *
 * The preprocessing has been done. */
#include "bench/peers/peers.h"

#if __has_include(<cusparse.h>)
#define PEER_FUNCTIONS(X)      \
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
#include "bench/peers/peer_cusparse.cuh"

namespace
{
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
