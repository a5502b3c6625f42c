/* place.c: arrays and products on either device. */
#include "bench/place.h"
#include "bench/gpu/gpu.h"
#include <dcsr/spmv.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

void *bench_place(bench *b, const void *array, size_t bytes)
{
    void *placed = b->gpu ? bench_gpu_alloc(bytes) : bench_alloc(bytes, 1);
    if (array && b->gpu) bench_gpu_copy(placed, array, bytes);
    if (array && !b->gpu) memcpy(placed, array, bytes);
    return placed;
}

void bench_fetch(bench *b, void *to, const void *placed, size_t bytes)
{
    if (b->gpu)
        bench_gpu_copy(to, placed, bytes);
    else
        memcpy(to, placed, bytes);
}

void bench_release(bench *b, void *placed)
{
    if (b->gpu)
        bench_gpu_free(placed);
    else
        free(placed);
}

void *bench_place_values(bench *b, const double *values, uint64_t n, dcsr_type type)
{
    float *narrow = bench_narrow(values, n, type);
    void *placed = bench_place(b, narrow ? (const void *)narrow : values, n * dcsr_type_size(type));
    free(narrow);
    return placed;
}

void bench_fetch_values(bench *b, double *values, const void *placed, uint64_t n, dcsr_type type)
{
    if (type != DCSR_FP32) {
        bench_fetch(b, values, placed, n * sizeof *values);
        return;
    }
    float *narrow = bench_alloc(n, sizeof *narrow);
    bench_fetch(b, narrow, placed, n * sizeof *narrow);
#pragma omp parallel for
    for (uint64_t i = 0; i < n; i++) values[i] = (double)narrow[i];
    free(narrow);
}

void bench_multiply(bench *b, void *y, dcsr_view *A, const void *x)
{
    if (b->gpu)
        BENCH_OK(dcsr_spmv_on_stream(y, A, x, bench_gpu_stream()));
    else
        BENCH_OK(dcsr_spmv(y, A, x));
}

static void nothing(void *argument)
{
    (void)argument;
}

void bench_finish(bench *b)
{
    if (b->gpu) bench_gpu_seconds(nothing, NULL, 1);
}

bench_stat bench_time(bench *b, void (*work)(void *), void *argument, size_t least, double seconds)
{
    if (!b->gpu) return bench_repeat(work, argument, least, seconds);
    /* A sample is to last about two milliseconds, so that neither the clock nor the first launch counts. */
    bench_samples samples = {0};
    bench_gpu_seconds(work, argument, 1);
    const double wanted = 2e-3 / bench_gpu_seconds(work, argument, 1);
    const size_t times = wanted < 1 ? 1 : wanted > 500 ? 500 : (size_t)wanted;
    for (double start = bench_now(); samples.count < least || bench_now() - start < seconds;)
        bench_samples_add(&samples, bench_gpu_seconds(work, argument, times));
    return bench_samples_stat(&samples);
}

double bench_time_cold(bench *b, void (*work)(void *), void *argument, size_t least)
{
    if (!b->gpu) return NAN;
    bench_samples samples = {0};
    for (size_t i = 0; i < least; i++) bench_samples_add(&samples, bench_gpu_cold_seconds(work, argument));
    return bench_samples_stat(&samples).median;
}

static void *on_gpu(const void *array, size_t bytes)
{
    void *copy = bench_gpu_alloc(bytes);
    bench_gpu_copy(copy, array, bytes);
    return copy;
}

bench_entries bench_entries_on_gpu(const bench_entries *entries, dcsr_type type)
{
    const size_t n = entries->n;
    return (bench_entries){n, on_gpu(entries->row, n * sizeof *entries->row),
                           on_gpu(entries->col, n * sizeof *entries->col),
                           type == DCSR_PATTERN ? NULL : on_gpu(entries->value, n * sizeof *entries->value)};
}

void bench_entries_free_on_gpu(bench_entries *entries)
{
    bench_gpu_free(entries->row);
    bench_gpu_free(entries->col);
    if (entries->value) bench_gpu_free(entries->value);
    *entries = (bench_entries){0};
}

void bench_queue(dcsr_matrix *matrix, dcsr_type type, bool remove, const bench_entries *batch, bool on_gpu,
                 dcsr_ticket **ticket)
{
    const double *values = type == DCSR_PATTERN ? NULL : batch->value;
    if (on_gpu && remove)
        BENCH_OK(
            dcsr_matrix_remove_device(matrix, batch->n, batch->row, batch->col, bench_gpu_stream(), ticket));
    else if (on_gpu)
        BENCH_OK(dcsr_matrix_insert_device(matrix, batch->n, batch->row, batch->col, values,
                                           bench_gpu_stream(), ticket));
    else if (remove)
        BENCH_OK(dcsr_matrix_remove(matrix, batch->n, batch->row, batch->col, ticket));
    else
        BENCH_OK(dcsr_matrix_insert(matrix, batch->n, batch->row, batch->col, values, ticket));
}
