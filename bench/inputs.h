/* inputs.h: the matrices and the streams of entries that the benchmarks work on.
 *
 * bench_csr is a plain CSR, each column once in a row and ascending: what every competitor is given, so that
 * all hold the same entries. bench_entries is a list of triples in any order, in the form in which
 * dcsr_matrix_insert() takes them. Everything is the same in every run. */
#ifndef DCSR_BENCH_INPUTS_H
#define DCSR_BENCH_INPUTS_H

#include "bench/harness.h"
#include <dcsr/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bench_csr {
    uint64_t rows, cols, nnz;
    uint64_t *offsets; /* rows + 1 */
    uint32_t *columns;
    double *values;
} bench_csr;

typedef struct bench_entries {
    size_t n;
    uint64_t *row, *col;
    double *value;
} bench_entries;

/* Pseudo-random numbers: a good mix of the bits of i, and a number below bound from it. */
static inline uint64_t bench_mix(uint64_t i)
{
    i += 0x9e3779b97f4a7c15u;
    i = (i ^ i >> 30) * 0xbf58476d1ce4e5b9u;
    i = (i ^ i >> 27) * 0x94d049bb133111ebu;
    return i ^ i >> 31;
}
__extension__ typedef unsigned __int128 bench_product;
static inline uint64_t bench_below(uint64_t i, uint64_t bound)
{
    return (uint64_t)(((bench_product)bench_mix(i) * bound) >> 64);
}

/* The values as fp32 where that is the type, to be freed; else NULL. */
float *bench_narrow(const double *values, uint64_t n, dcsr_type type);

/* Lists of triples. */
bench_entries bench_entries_allocate(size_t n);
void bench_entries_free(bench_entries *entries);
/* A slice that points into the list. */
bench_entries bench_entries_slice(const bench_entries *entries, size_t first, size_t n);
void bench_entries_shuffle(bench_entries *entries, uint64_t seed);
/* Edges first .. first + n - 1 of the endless R-MAT stream of the seed with a=.5, b=.1, c=.1, as graph stores
 * are measured. */
bench_entries bench_entries_rmat(bench *b, int scale, uint64_t first, size_t n, uint64_t seed);
/* The entries of a matrix, row by row. */
bench_entries bench_entries_from_csr(const bench_csr *csr);
/* Those of rows [begin, end). */
bench_entries bench_entries_from_rows(const bench_csr *csr, uint64_t begin, uint64_t end);
/* Each entry and its mirror. */
void bench_entries_symmetrise(bench_entries *entries);
/* Drops what is in the matrix and what stands in the list more than once; shuffles the rest. */
void bench_entries_only_new(bench_entries *entries, const bench_csr *csr, uint64_t seed);

/* Matrices. Of entries with the same place the first stays. */
bench_csr bench_csr_from_entries(const bench_entries *entries, uint64_t rows, uint64_t cols);
/* The matrix that a text names, as dcsr_coo_generate(); the values of pattern-only ones lie in [0.5, 1.5). */
bench_csr bench_csr_make(bench *b, const char *text);
/* The Laplacian of a grid of `side` points in each of two or three dimensions, made by all threads. */
bench_csr bench_csr_grid(int dimensions, uint64_t side);
/* The same arrays for calls of the library. */
dcsr_csr bench_csr_lent(const bench_csr *A);
/* Calls use(argument, name, A) with the matrix of each file of the folder --data, as long as there is time; a pattern
 * has the same values as one that is made. Files that hold no matrix are left out, with a remark; dies where there is
 * none that may. */
typedef void bench_use_matrix(void *argument, const char *name, const bench_csr *A);
void bench_for_files(bench *b, bench_use_matrix *use, void *argument);
/* One of the same shape, of which a third of the entries, about, are at the same places; notes both. */
bench_csr bench_csr_sibling(bench *b, const char *name, const bench_csr *A);
void bench_csr_free(bench_csr *csr);
/* Whether (row, col) is stored. */
bool bench_csr_has(const bench_csr *csr, uint64_t row, uint64_t col);

/* The store's matrix with these entries, queued and waited for in one batch; pattern-only when type is
 * DCSR_PATTERN, else fp64 or fp32. */
dcsr_matrix *bench_matrix(bench *b, dcsr_context *context, const bench_entries *entries, uint64_t rows,
                          uint64_t cols, dcsr_type type, const dcsr_matrix_options *options);
/* The same with the entries of each row inserted in `portions` random parts, one after the other, and no
 * defragmentation: a row of enough entries ends up in as many segments, unless the slack of one takes in the
 * next. */
dcsr_matrix *bench_fragmented(bench *b, const bench_csr *csr, int portions, dcsr_type type,
                              dcsr_policy policy);
/* The same with the slack that an option says. */
dcsr_matrix *bench_fragmented_with(bench *b, const bench_csr *csr, int portions, dcsr_type type,
                                   dcsr_policy policy, double slack);
/* Segments over rows that are not empty. */
double bench_segments_per_row(dcsr_matrix *matrix, const bench_csr *csr);
/* Waits for the ticket and destroys it; dies when the change failed. */
void bench_wait(dcsr_ticket *ticket);
/* Inserts, removes or defragments and waits until that is applied. */
void bench_insert_now(dcsr_matrix *matrix, const bench_entries *entries, dcsr_type type);
void bench_remove_now(dcsr_matrix *matrix, const bench_entries *entries);
void bench_defragment_now(dcsr_matrix *matrix, dcsr_defragment_scope scope);

/* The vector x_j = 1 + (j mod 7), and the largest difference of two vectors relative to the largest element
 * of the first. */
double *bench_vector(uint64_t length);
double bench_difference(const double *left, const double *right, uint64_t length);

#ifdef __cplusplus
}
#endif
#endif
