/* bandwidth.c: STREAM-like loops. */
#include "bench/bandwidth.h"
#include "bench/harness.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

static void triad(double *a, const double *b, const double *c, size_t n, double s)
{
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < n; i++) a[i] = b[i] + s * c[i];
}

static double sum(const double *a, size_t n)
{
    double s = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : s)
    for (size_t i = 0; i < n; i++) s += a[i];
    return s;
}

static void copy(double *a, const double *b, size_t n)
{
#pragma omp parallel
    {
        size_t thread = (size_t)omp_get_thread_num(), threads = (size_t)omp_get_num_threads();
        size_t begin = n * thread / threads, end = n * (thread + 1) / threads;
        memcpy(a + begin, b + begin, (end - begin) * sizeof *a);
    }
}

bench_bandwidth bench_measure_bandwidth(size_t bytes)
{
    const size_t n = bytes / (3 * sizeof(double)), all = 3 * n;
    double *a = bench_alloc(all, sizeof *a), *b = a + n, *c = b + n;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < all; i++) a[i] = 1;
    double best[3] = {0}, kept = 0;
    const double start = bench_now();
    for (int round = 0; round < 3 || (round < 1000 && bench_now() - start < 0.5); round++) {
        double times[4] = {bench_now()};
        triad(a, b, c, n, 1e-9);
        times[1] = bench_now();
        kept += sum(a, all);
        times[2] = bench_now();
        copy(a, b, n);
        times[3] = bench_now();
        const double moved[3] = {24.0 * (double)n, 8.0 * (double)all, 16.0 * (double)n};
        for (int i = 0; i < 3; i++) {
            double rate = moved[i] / (times[i + 1] - times[i]);
            if (rate > best[i]) best[i] = rate;
        }
    }
    if (!(kept > 0)) bench_die("the bandwidth loops lost their sum");
    free(a);
    return (bench_bandwidth){best[0], best[1], best[2]};
}
