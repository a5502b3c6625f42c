/* peer_eigen.cpp: Eigen's row-major sparse matrix, whose product with a vector runs on OpenMP threads, and with
 * itself on one. */
#include "bench/peers/peers.h"

#ifdef DCSR_PEER_EIGEN
#include <Eigen/SparseCore>
#include <cstdio>
#include <vector>

#define STRING_(x) #x
#define STRING(x)  STRING_(x)

namespace
{
typedef Eigen::SparseMatrix<double, Eigen::RowMajor, int> matrix;

matrix *matrix_of(const bench_csr *A)
{
    const Eigen::Index rows = static_cast<Eigen::Index>(A->rows), cols = static_cast<Eigen::Index>(A->cols);
    matrix *M = new matrix(rows, cols);
    M->resizeNonZeros(static_cast<Eigen::Index>(A->nnz));
    for (uint64_t row = 0; row <= A->rows; row++) M->outerIndexPtr()[row] = static_cast<int>(A->offsets[row]);
    for (uint64_t e = 0; e < A->nnz; e++) {
        M->innerIndexPtr()[e] = static_cast<int>(A->columns[e]);
        M->valuePtr()[e] = A->values[e];
    }
    return M;
}

void *product_create(const bench_csr *A, int threads, bool, char note[PEER_NOTE])
{
    Eigen::setNbThreads(threads);
    std::snprintf(note, PEER_NOTE, "row-major, 32-bit indices");
    return matrix_of(A);
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

struct square {
    matrix *A, C;
};

void *square_create(peer_matrix_kind, const bench_csr *A, const bench_csr *)
{
    return new square{matrix_of(A), matrix()};
}

/* Nothing is pruned; Eigen sorts the rows by going to columns and back. */
uint64_t square_run(void *self)
{
    square *s = static_cast<square *>(self);
    s->C = *s->A * *s->A;
    return static_cast<uint64_t>(s->C.nonZeros());
}

void square_destroy(void *self)
{
    square *s = static_cast<square *>(self);
    delete s->A;
    delete s;
}

struct build {
    std::vector<Eigen::Triplet<double, int>> triples;
    Eigen::Index rows, cols;
};

void *build_create(const bench_entries *entries, uint64_t rows, uint64_t cols)
{
    build *b = new build{{}, static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(cols)};
    b->triples.reserve(entries->n);
    for (size_t i = 0; i < entries->n; i++)
        b->triples.emplace_back(static_cast<int>(entries->row[i]), static_cast<int>(entries->col[i]),
                                entries->value[i]);
    return b;
}

uint64_t build_run(void *self)
{
    const build *b = static_cast<const build *>(self);
    matrix M(b->rows, b->cols);
    M.setFromTriplets(b->triples.begin(), b->triples.end());
    return static_cast<uint64_t>(M.nonZeros());
}

void build_destroy(void *self)
{
    delete static_cast<build *>(self);
}

const char *product_version()
{
    return "Eigen " STRING(EIGEN_WORLD_VERSION) "." STRING(EIGEN_MAJOR_VERSION) "." STRING(
        EIGEN_MINOR_VERSION);
}
} // namespace

extern "C" const peer_product peer_eigen_product = {
    "eigen", false, DCSR_FP64, product_version, product_create, product_multiply, product_destroy};
extern "C" const peer_matrices peer_eigen_matrices = {"eigen",    product_version, square_create,
                                                      square_run, square_destroy,  nullptr};
extern "C" const peer_build peer_eigen_build = {"eigen", product_version, build_create, build_run,
                                                build_destroy};
#else
extern "C" const peer_product peer_eigen_product = {"eigen", false,   DCSR_FP64, nullptr,
                                                    nullptr, nullptr, nullptr};
extern "C" const peer_matrices peer_eigen_matrices = {"eigen", nullptr, nullptr, nullptr, nullptr, nullptr};
extern "C" const peer_build peer_eigen_build = {"eigen", nullptr, nullptr, nullptr, nullptr};
#endif
