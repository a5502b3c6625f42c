/* bandwidth.h: what the machine's memory gives, measured in the same run and with the same page setting as
 * the rest. */
#ifndef DCSR_BENCH_BANDWIDTH_H
#define DCSR_BENCH_BANDWIDTH_H

#include <stddef.h>

typedef struct bench_bandwidth {
    double triad; /* a[i] = b[i] + s c[i], 24 bytes an element (STREAM's way of counting) */
    double read;  /* s += a[i], 8 bytes an element */
    double copy;  /* memcpy() by all threads, read and written bytes counted */
} bench_bandwidth;

/* Bytes a second, each the best of several rounds over arrays of `bytes` in all. */
bench_bandwidth bench_measure_bandwidth(size_t bytes);

#endif
