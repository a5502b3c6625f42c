/* peer_eigen.cpp: Eigen's row-major sparse matrix, whose product with a vector runs on OpenMP threads. */
#include "bench/peers/peers.h"

#ifdef DCSR_PEER_EIGEN
#include <Eigen/SparseCore>
#include <cstdio>

#define STRING_(x) #x
#define STRING(x)  STRING_(x)

namespace
{
typedef Eigen::SparseMatrix<double, Eigen::RowMajor, int> matrix;

void *product_create(const bench_csr *A, int threads, bool, char note[PEER_NOTE])
{
    Eigen::setNbThreads(threads);
    const Eigen::Index rows = static_cast<Eigen::Index>(A->rows), cols = static_cast<Eigen::Index>(A->cols);
    matrix *M = new matrix(rows, cols);
    M->resizeNonZeros(static_cast<Eigen::Index>(A->nnz));
    for (uint64_t row = 0; row <= A->rows; row++) M->outerIndexPtr()[row] = static_cast<int>(A->offsets[row]);
    for (uint64_t e = 0; e < A->nnz; e++) {
        M->innerIndexPtr()[e] = static_cast<int>(A->columns[e]);
        M->valuePtr()[e] = A->values[e];
    }
    std::snprintf(note, PEER_NOTE, "row-major, 32-bit indices");
    return M;
}

void product_multiply(void *self, void *y, const void *x)
{
    const matrix *M = static_cast<const matrix *>(self);
    Eigen::Map<Eigen::VectorXd> result(static_cast<double *>(y), M->rows());
    const Eigen::Map<const Eigen::VectorXd> vector(static_cast<const double *>(x), M->cols());
    result.noalias() = *M * vector;
}

void product_destroy(void *self)
{
    delete static_cast<matrix *>(self);
}

const char *product_version()
{
    return "Eigen " STRING(EIGEN_WORLD_VERSION) "." STRING(EIGEN_MAJOR_VERSION) "." STRING(
        EIGEN_MINOR_VERSION);
}
} // namespace

extern "C" const peer_product peer_eigen_product = {
    "eigen", false, DCSR_FP64, product_version, product_create, product_multiply, product_destroy};
#else
extern "C" const peer_product peer_eigen_product = {"eigen", false,   DCSR_FP64, nullptr,
                                                    nullptr, nullptr, nullptr};
#endif
