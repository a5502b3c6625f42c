/* inputs.c: matrices and streams of entries for the benchmarks. */
#include "bench/inputs.h"
#include "bench/keysort.h"
#include "dcsr/generate.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

bench_entries bench_entries_allocate(size_t n)
{
    return (bench_entries){n, bench_alloc(n, sizeof(uint64_t)), bench_alloc(n, sizeof(uint64_t)),
                           bench_alloc(n, sizeof(double))};
}

void bench_entries_free(bench_entries *entries)
{
    free(entries->row);
    free(entries->col);
    free(entries->value);
    *entries = (bench_entries){0};
}

bench_entries bench_entries_slice(const bench_entries *entries, size_t first, size_t n)
{
    if (first > entries->n || n > entries->n - first) bench_die("a slice beyond the %zu entries", entries->n);
    return (bench_entries){n, entries->row + first, entries->col + first, entries->value + first};
}

void bench_entries_shuffle(bench_entries *entries, uint64_t seed)
{
    for (size_t i = entries->n; i > 1; i--) {
        size_t j = bench_below(seed + i, i), k = i - 1;
        uint64_t row = entries->row[j], col = entries->col[j];
        double value = entries->value[j];
        entries->row[j] = entries->row[k], entries->col[j] = entries->col[k],
        entries->value[j] = entries->value[k];
        entries->row[k] = row, entries->col[k] = col, entries->value[k] = value;
    }
}

/* Takes over the triples of a generator; what has no values gets some. */
static bench_entries entries_from_coo(const dcsr_coo *coo)
{
    bench_entries entries = bench_entries_allocate(coo->nnz);
#pragma omp parallel for
    for (size_t i = 0; i < entries.n; i++) {
        entries.row[i] = coo->row[i];
        entries.col[i] = coo->col[i];
        entries.value[i] = coo->values ? ((const double *)coo->values)[i]
                                       : 0.5 + 0x1p-32 * (double)bench_below(i, (uint64_t)1 << 32);
    }
    return entries;
}

bench_entries bench_entries_rmat(bench *b, int scale, uint64_t first, size_t n, uint64_t seed)
{
    dcsr_coo coo;
    BENCH_OK(dcsr_generate_rmat(&coo, b->context, &(dcsr_rmat){scale, .5, .1, .1, seed}, first, n));
    bench_entries entries = entries_from_coo(&coo);
    dcsr_coo_free(&coo);
    return entries;
}

bench_entries bench_entries_from_csr(const bench_csr *csr)
{
    bench_entries entries = bench_entries_allocate(csr->nnz);
#pragma omp parallel for schedule(dynamic, 1024)
    for (uint64_t row = 0; row < csr->rows; row++)
        for (uint64_t e = csr->offsets[row]; e < csr->offsets[row + 1]; e++) {
            entries.row[e] = row;
            entries.col[e] = csr->columns[e];
            entries.value[e] = csr->values[e];
        }
    return entries;
}

void bench_entries_symmetrise(bench_entries *entries)
{
    bench_entries both = bench_entries_allocate(2 * entries->n);
#pragma omp parallel for
    for (size_t i = 0; i < entries->n; i++) {
        both.row[2 * i] = both.col[2 * i + 1] = entries->row[i];
        both.col[2 * i] = both.row[2 * i + 1] = entries->col[i];
        both.value[2 * i] = both.value[2 * i + 1] = entries->value[i];
    }
    bench_entries_free(entries);
    *entries = both;
}

void bench_entries_only_new(bench_entries *entries, const bench_csr *csr, uint64_t seed)
{
    bench_csr distinct = bench_csr_from_entries(entries, csr->rows, csr->cols);
    bench_entries all = bench_entries_from_csr(&distinct);
    size_t n = 0;
    for (size_t i = 0; i < all.n; i++)
        if (!bench_csr_has(csr, all.row[i], all.col[i])) {
            all.row[n] = all.row[i], all.col[n] = all.col[i], all.value[n] = all.value[i];
            n++;
        }
    all.n = n;
    bench_entries_shuffle(&all, seed);
    bench_csr_free(&distinct);
    bench_entries_free(entries);
    *entries = all;
}

/* Splits the sorted keys, each place once, into rows. */
static bench_csr csr_from_sorted(const bench_keyed *sorted, size_t n, uint64_t rows, uint64_t cols,
                                 int col_bits)
{
    bench_csr csr = {.rows = rows, .cols = cols, .nnz = n};
    csr.offsets = bench_alloc(rows + 1, sizeof *csr.offsets);
    csr.columns = bench_alloc(n, sizeof *csr.columns);
    csr.values = bench_alloc(n, sizeof *csr.values);
    const uint64_t mask = ((uint64_t)1 << col_bits) - 1;
    uint64_t row = 0;
    for (size_t i = 0; i < n; i++) {
        for (; row <= sorted[i].key >> col_bits; row++) csr.offsets[row] = i;
        csr.columns[i] = (uint32_t)(sorted[i].key & mask);
        csr.values[i] = sorted[i].value;
    }
    for (; row <= rows; row++) csr.offsets[row] = n;
    return csr;
}

bench_csr bench_csr_from_entries(const bench_entries *entries, uint64_t rows, uint64_t cols)
{
    const int col_bits = bench_bits(cols);
    bench_keyed *sorted = bench_alloc(entries->n, sizeof *sorted),
                *spare = bench_alloc(entries->n, sizeof *spare);
#pragma omp parallel for
    for (size_t i = 0; i < entries->n; i++)
        sorted[i] = (bench_keyed){entries->row[i] << col_bits | entries->col[i], entries->value[i]};
    bench_keysort(sorted, spare, entries->n, col_bits + bench_bits(rows));
    free(spare);
    size_t n = 0;
    for (size_t i = 0; i < entries->n; i++)
        if (!n || sorted[n - 1].key != sorted[i].key) sorted[n++] = sorted[i];
    bench_csr csr = csr_from_sorted(sorted, n, rows, cols, col_bits);
    free(sorted);
    return csr;
}

bench_csr bench_csr_make(bench *b, const char *text)
{
    dcsr_coo coo;
    BENCH_OK(dcsr_generate(&coo, b->context, text));
    bench_entries entries = entries_from_coo(&coo);
    bench_csr csr = bench_csr_from_entries(&entries, coo.rows, coo.cols);
    dcsr_coo_free(&coo);
    bench_entries_free(&entries);
    return csr;
}

void bench_csr_free(bench_csr *csr)
{
    free(csr->offsets);
    free(csr->columns);
    free(csr->values);
    *csr = (bench_csr){0};
}

bool bench_csr_has(const bench_csr *csr, uint64_t row, uint64_t col)
{
    uint64_t low = csr->offsets[row], high = csr->offsets[row + 1];
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (csr->columns[middle] < col)
            low = middle + 1;
        else
            high = middle;
    }
    return low < csr->offsets[row + 1] && csr->columns[low] == col;
}

dcsr_matrix *bench_matrix(bench *b, dcsr_context *context, const bench_entries *entries, uint64_t rows,
                          uint64_t cols, dcsr_type type, const dcsr_matrix_options *options)
{
    dcsr_matrix *matrix;
    BENCH_OK(dcsr_matrix_create(&matrix, context ? context : b->context, type, rows, cols, options));
    if (entries) bench_insert_now(matrix, entries, type);
    return matrix;
}

dcsr_matrix *bench_fragmented(bench *b, const bench_csr *csr, int portions, dcsr_type type,
                              dcsr_policy policy)
{
    const dcsr_matrix_options options = {.policy = policy,
                                         .segments = portions > DCSR_DEFAULT_SEGMENTS ? portions : 0,
                                         .defragmentation = DCSR_DEFRAGMENT_OFF};
    bench_entries all = bench_entries_from_csr(csr), part = bench_entries_allocate(all.n);
    dcsr_matrix *matrix = bench_matrix(b, NULL, NULL, csr->rows, csr->cols, type, &options);
    for (int portion = 0; portion < portions; portion++) {
        part.n = 0;
        for (size_t i = 0; i < all.n; i++)
            if ((int)bench_below(i, (uint64_t)portions) == portion) {
                part.row[part.n] = all.row[i], part.col[part.n] = all.col[i],
                part.value[part.n] = all.value[i];
                part.n++;
            }
        bench_insert_now(matrix, &part, type);
    }
    bench_entries_free(&all);
    bench_entries_free(&part);
    return matrix;
}

double bench_segments_per_row(dcsr_matrix *matrix, const bench_csr *csr)
{
    dcsr_matrix_info info;
    uint64_t filled = 0;
    BENCH_OK(dcsr_matrix_get_info(matrix, &info));
    for (uint64_t row = 0; row < csr->rows; row++) filled += csr->offsets[row] < csr->offsets[row + 1];
    return filled ? (double)info.segments / (double)filled : 0;
}

void bench_wait(dcsr_ticket *ticket)
{
    BENCH_OK(dcsr_ticket_wait(ticket));
    dcsr_ticket_destroy(ticket);
}

void bench_insert_now(dcsr_matrix *matrix, const bench_entries *entries, dcsr_type type)
{
    dcsr_ticket *ticket;
    BENCH_OK(dcsr_matrix_insert(matrix, entries->n, entries->row, entries->col,
                                type == DCSR_PATTERN ? NULL : entries->value, &ticket));
    bench_wait(ticket);
}

void bench_remove_now(dcsr_matrix *matrix, const bench_entries *entries)
{
    dcsr_ticket *ticket;
    BENCH_OK(dcsr_matrix_remove(matrix, entries->n, entries->row, entries->col, &ticket));
    bench_wait(ticket);
}

void bench_defragment_now(dcsr_matrix *matrix, dcsr_defragment_scope scope)
{
    dcsr_ticket *ticket;
    BENCH_OK(dcsr_matrix_defragment(matrix, scope, &ticket));
    bench_wait(ticket);
}

double *bench_vector(uint64_t length)
{
    double *x = bench_alloc(length, sizeof *x);
#pragma omp parallel for
    for (uint64_t j = 0; j < length; j++) x[j] = 1 + (double)(j % 7);
    return x;
}

double bench_difference(const double *left, const double *right, uint64_t length)
{
    double difference = 0, largest = 0;
#pragma omp parallel for reduction(max : difference, largest)
    for (uint64_t i = 0; i < length; i++) {
        difference = fmax(difference, fabs(left[i] - right[i]));
        largest = fmax(largest, fabs(left[i]));
    }
    return largest > 0 ? difference / largest : difference;
}
