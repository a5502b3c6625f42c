/* peer_cusparse_matrices.cu: cuSPARSE's operations whose result is a matrix: sums (csrgeam2), transposes
 * (csr2csc), products (SpGEMM, and SpGEMMreuse for the values alone). */
#include "bench/peers/peers.h"

#if __has_include(<cusparse.h>)
#define PEER_FUNCTIONS(X)                 \
    X(cusparseCreateMatDescr)             \
    X(cusparseDestroyMatDescr)            \
    X(cusparseDcsrgeam2_bufferSizeExt)    \
    X(cusparseXcsrgeam2Nnz)               \
    X(cusparseDcsrgeam2)                  \
    X(cusparseCsr2cscEx2_bufferSize)      \
    X(cusparseCsr2cscEx2)                 \
    X(cusparseSpGEMM_createDescr)         \
    X(cusparseSpGEMM_destroyDescr)        \
    X(cusparseSpGEMM_workEstimation)      \
    X(cusparseSpGEMM_compute)             \
    X(cusparseSpGEMM_copy)                \
    X(cusparseSpGEMMreuse_workEstimation) \
    X(cusparseSpGEMMreuse_nnz)            \
    X(cusparseSpGEMMreuse_copy)           \
    X(cusparseSpGEMMreuse_compute)        \
    X(cusparseSpMatGetSize)               \
    X(cusparseCsrSetPointers)
#include "bench/peers/peer_cusparse.cuh"

namespace
{
/* Memory that is kept from call to call. */
struct room {
    void *block;
    size_t bytes;
};

void *of_size(room *r, size_t bytes)
{
    if (bytes > r->bytes) {
        bench_gpu_free(r->block);
        r->block = bench_gpu_alloc(bytes);
        r->bytes = bytes;
    }
    return r->block;
}

struct operation {
    peer_matrix_kind kind;
    int rows, cols, nnz, other_nnz;
    matrix A, B;
    cusparseMatDescr_t description;
    room offsets, columns, values, first, second;
    /* Of a product whose pattern is known: */
    cusparseSpGEMMDescr_t plan;
    cusparseSpMatDescr_t C;
    room kept[3];
    uint64_t entries;
};

template <class T> T *array_of(void *block)
{
    return static_cast<T *>(block);
}

uint64_t add(operation *o)
{
    size_t bytes;
    int nnz;
    int *offsets = array_of<int>(of_size(&o->offsets, (static_cast<size_t>(o->rows) + 1) * sizeof(int)));
    const int *ao = array_of<int>(o->A.offsets), *ac = array_of<int>(o->A.columns),
              *bo = array_of<int>(o->B.offsets), *bc = array_of<int>(o->B.columns);
    const double *av = array_of<double>(o->A.values), *bv = array_of<double>(o->B.values);
    TRY(cusparseDcsrgeam2_bufferSizeExt(o->A.handle, o->rows, o->cols, &one_fp64, o->description, o->nnz, av,
                                        ao, ac, &one_fp64, o->description, o->other_nnz, bv, bo, bc,
                                        o->description, nullptr, offsets, nullptr, &bytes));
    void *buffer = of_size(&o->first, bytes);
    TRY(cusparseXcsrgeam2Nnz(o->A.handle, o->rows, o->cols, o->description, o->nnz, ao, ac, o->description,
                             o->other_nnz, bo, bc, o->description, offsets, &nnz, buffer));
    const size_t n = static_cast<size_t>(nnz);
    TRY(cusparseDcsrgeam2(o->A.handle, o->rows, o->cols, &one_fp64, o->description, o->nnz, av, ao, ac,
                          &one_fp64, o->description, o->other_nnz, bv, bo, bc, o->description,
                          array_of<double>(of_size(&o->values, n * sizeof(double))), offsets,
                          array_of<int>(of_size(&o->columns, n * sizeof(int))), buffer));
    return n;
}

uint64_t transpose(operation *o)
{
    size_t bytes;
    const size_t n = static_cast<size_t>(o->nnz);
    int *offsets = array_of<int>(of_size(&o->offsets, (static_cast<size_t>(o->cols) + 1) * sizeof(int))),
        *columns = array_of<int>(of_size(&o->columns, n * sizeof(int)));
    void *values = of_size(&o->values, n * sizeof(double));
#define TRANSPOSE                                                                                   \
    o->A.handle, o->rows, o->cols, o->nnz, o->A.values, array_of<int>(o->A.offsets),                \
        array_of<int>(o->A.columns), values, offsets, columns, CUDA_R_64F, CUSPARSE_ACTION_NUMERIC, \
        CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG1
    TRY(cusparseCsr2cscEx2_bufferSize(TRANSPOSE, &bytes));
    TRY(cusparseCsr2cscEx2(TRANSPOSE, of_size(&o->first, bytes)));
    return n;
}

uint64_t multiply_matrices(operation *o)
{
    cusparseSpGEMMDescr_t plan;
    cusparseSpMatDescr_t C;
    size_t bytes;
    int64_t rows, cols, nnz;
    void *offsets = of_size(&o->offsets, (static_cast<size_t>(o->rows) + 1) * sizeof(int));
    TRY(cusparseCreateCsr(&C, o->rows, o->cols, 0, offsets, nullptr, nullptr, CUSPARSE_INDEX_32I,
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
    TRY(cusparseSpGEMM_createDescr(&plan));
#define MULTIPLY                                                                                          \
    o->A.handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one_fp64, o->A.csr, \
        o->A.csr, &zero_fp64, C, CUDA_R_64F, CUSPARSE_SPGEMM_DEFAULT, plan
    TRY(cusparseSpGEMM_workEstimation(MULTIPLY, &bytes, nullptr));
    void *estimate = of_size(&o->first, bytes);
    TRY(cusparseSpGEMM_workEstimation(MULTIPLY, &bytes, estimate));
    TRY(cusparseSpGEMM_compute(MULTIPLY, &bytes, nullptr));
    void *buffer = of_size(&o->second, bytes);
    TRY(cusparseSpGEMM_compute(MULTIPLY, &bytes, buffer));
    TRY(cusparseSpMatGetSize(C, &rows, &cols, &nnz));
    const size_t n = static_cast<size_t>(nnz);
    TRY(cusparseCsrSetPointers(C, offsets, of_size(&o->columns, n * sizeof(int)),
                               of_size(&o->values, n * sizeof(double))));
    TRY(cusparseSpGEMM_copy(MULTIPLY));
    TRY(cusparseSpGEMM_destroyDescr(plan));
    TRY(cusparseDestroySpMat(C));
    return n;
}

#define REUSE                                                                                            \
    o->A.handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, o->A.csr, o->A.csr, \
        o->C, CUSPARSE_SPGEMM_DEFAULT, o->plan

/* Finds the pattern. */
void prepare(operation *o)
{
    size_t bytes[3];
    int64_t rows, cols, nnz;
    void *offsets = of_size(&o->offsets, (static_cast<size_t>(o->rows) + 1) * sizeof(int));
    TRY(cusparseCreateCsr(&o->C, o->rows, o->cols, 0, offsets, nullptr, nullptr, CUSPARSE_INDEX_32I,
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
    TRY(cusparseSpGEMM_createDescr(&o->plan));
    TRY(cusparseSpGEMMreuse_workEstimation(REUSE, bytes, nullptr));
    TRY(cusparseSpGEMMreuse_workEstimation(REUSE, bytes, of_size(&o->first, bytes[0])));
    TRY(cusparseSpGEMMreuse_nnz(REUSE, &bytes[0], nullptr, &bytes[1], nullptr, &bytes[2], nullptr));
    void *second = of_size(&o->second, bytes[0]), *third = of_size(&o->kept[0], bytes[1]),
         *fourth = of_size(&o->kept[1], bytes[2]);
    TRY(cusparseSpGEMMreuse_nnz(REUSE, &bytes[0], second, &bytes[1], third, &bytes[2], fourth));
    TRY(cusparseSpMatGetSize(o->C, &rows, &cols, &nnz));
    o->entries = static_cast<uint64_t>(nnz);
    TRY(cusparseCsrSetPointers(o->C, offsets, of_size(&o->columns, o->entries * sizeof(int)),
                               of_size(&o->values, o->entries * sizeof(double))));
    TRY(cusparseSpGEMMreuse_copy(REUSE, bytes, nullptr));
    TRY(cusparseSpGEMMreuse_copy(REUSE, bytes, of_size(&o->kept[2], bytes[0])));
}

/* The values alone; the first call finds the pattern. */
uint64_t repeat(operation *o)
{
    if (!o->plan) prepare(o);
    TRY(cusparseSpGEMMreuse_compute(o->A.handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                    CUSPARSE_OPERATION_NON_TRANSPOSE, &one_fp64, o->A.csr, o->A.csr,
                                    &zero_fp64, o->C, CUDA_R_64F, CUSPARSE_SPGEMM_DEFAULT, o->plan));
    return o->entries;
}

void *create_operation(peer_matrix_kind kind, const bench_csr *A, const bench_csr *B)
{
    operation *o = new operation{};
    o->kind = kind;
    o->rows = static_cast<int>(A->rows);
    o->cols = static_cast<int>(A->cols);
    o->nnz = static_cast<int>(A->nnz);
    o->other_nnz = static_cast<int>(B->nnz);
    open_matrix(&o->A, A, DCSR_FP64);
    open_matrix(&o->B, B, DCSR_FP64);
    TRY(cusparseCreateMatDescr(&o->description));
    return o;
}

uint64_t run_operation(void *self)
{
    operation *o = static_cast<operation *>(self);
    return o->kind == PEER_ADD         ? add(o)
           : o->kind == PEER_TRANSPOSE ? transpose(o)
           : o->kind == PEER_REPEAT    ? repeat(o)
                                       : multiply_matrices(o);
}

void destroy_operation(void *self)
{
    operation *o = static_cast<operation *>(self);
    TRY(cusparseDestroyMatDescr(o->description));
    if (o->plan) {
        TRY(cusparseSpGEMM_destroyDescr(o->plan));
        TRY(cusparseDestroySpMat(o->C));
    }
    for (room &r : o->kept) bench_gpu_free(r.block);
    close_matrix(&o->A);
    close_matrix(&o->B);
    for (room *r : {&o->offsets, &o->columns, &o->values, &o->first, &o->second}) bench_gpu_free(r->block);
    delete o;
}

uint64_t bytes_of_operation(void *self)
{
    const operation *o = static_cast<const operation *>(self);
    uint64_t bytes = 0;
    for (const room *r : {&o->offsets, &o->columns, &o->values, &o->first, &o->second}) bytes += r->bytes;
    for (const room &r : o->kept) bytes += r.bytes;
    return bytes;
}
} // namespace

extern "C" const peer_matrices peer_cusparse_matrices = {
    "cusparse", product_version, create_operation, run_operation, destroy_operation, bytes_of_operation};
#else
extern "C" const peer_matrices peer_cusparse_matrices = {"cusparse"};
#endif
