/* place.h: arrays and products where the matrices of a program are, on the host or on a GPU.
 *
 *      double *x = bench_place(&b, host_x, bytes);             a copy where products can read it fast
 *      bench_multiply(&b, y, view, x);
 *      bench_stat time = bench_time(&b, work, argument, 5, 0.5);
 *      bench_fetch(&b, host_y, y, bytes);
 */
#ifndef DCSR_BENCH_PLACE_H
#define DCSR_BENCH_PLACE_H

#include "bench/inputs.h"
#include <dcsr/view.h>

/* A copy of the array on the device of b->context; without contents when `array` is NULL. */
void *bench_place(bench *b, const void *array, size_t bytes);
void bench_fetch(bench *b, void *to, const void *placed, size_t bytes);
void bench_release(bench *b, void *placed);
/* The same with the numbers of a host array of double as values of the type, fp64 or fp32, and back. */
void *bench_place_values(bench *b, const double *values, uint64_t n, dcsr_type type);
void bench_fetch_values(bench *b, double *values, const void *placed, uint64_t n, dcsr_type type);

/* y = A x with placed vectors: on a GPU put on the stream of gpu.h, on the host done. */
void bench_multiply(bench *b, void *y, dcsr_view *A, const void *x);
/* Waits for what is on that stream; nothing on the host. */
void bench_finish(bench *b);

/* bench_repeat() of work of that kind. On a GPU by its clock, where a sample is the mean of some calls back
 * to back. cold: each call finds nothing of use in the GPU's cache; on the host there is no such thing, and
 * not a number. */
bench_stat bench_time(bench *b, void (*work)(void *), void *argument, size_t least, double seconds);
double bench_time_cold(bench *b, void (*work)(void *), void *argument, size_t least);

/* A copy of the entries on the GPU, in the form in which dcsr_matrix_insert_device() takes them; their values
 * only where the type is not pattern. */
bench_entries bench_entries_on_gpu(const bench_entries *entries, dcsr_type type);
void bench_entries_free_on_gpu(bench_entries *entries);

/* What a CSR of so many entries would take: the live data that the memory of a matrix is held against. */
static inline double bench_csr_bytes(uint64_t nnz, uint64_t rows, dcsr_type type)
{
    return (double)(nnz * (sizeof(uint32_t) + dcsr_type_size(type)) + rows * sizeof(uint64_t));
}

/* Queues a batch for insertion or removal; its arrays are on the GPU or the host's. `ticket` may be NULL. */
void bench_queue(dcsr_matrix *matrix, dcsr_type type, bool remove, const bench_entries *batch, bool on_gpu,
                 dcsr_ticket **ticket);

#endif
