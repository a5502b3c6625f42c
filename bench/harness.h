/* harness.h: what the benchmark programs share: options, timing, tables, JSON, inputs of the system.
 *
 * A program reads
 *
 *      bench_begin(&b, argc, argv, "spmv", "How fast is ...?");
 *      bench_table *table = bench_table_begin(&b, "spmv", "title",
 *                                             "matrix kernel | seconds:%.2e gflops:%.2f");
 *      bench_row(table, BENCH_LABELS("er", "csr"), seconds, gflops);
 *      return bench_end(&b);
 *
 * A row is printed as soon as it is there. The text is also what the plots are made from: each table is a
 * gnuplot data set of its own (a comment line with its name, one line of column names, two empty lines
 * behind), a missing number is "-". With --json FILE the same tables and a description of the machine are
 * written as one JSON document.
 *
 * Benchmarks give up on the first error: the message goes to stderr and the exit status is 1. */
#ifndef DCSR_BENCH_HARNESS_H
#define DCSR_BENCH_HARNESS_H

#include "bench/gpu/gpu.h"
#include <dcsr/multi.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum bench_pages {
    BENCH_PAGES_HUGE,  /* everybody gets 2 MiB pages: malloc asks for them, as the store does */
    BENCH_PAGES_SMALL, /* nobody does: transparent huge pages are turned off for the process */
    BENCH_PAGES_SYSTEM /* nothing is changed: the store asks for huge pages, malloc does what it does */
} bench_pages;

typedef struct bench_table bench_table;

typedef struct bench {
    const char *name, *question;
    bool quick;
    int threads;
    bench_pages pages;
    dcsr_device device;
    const char *data, *only; /* a folder of matrices to measure; what is in the names of what is; or NULL */
    double limit;            /* seconds after which nothing more is begun */
    dcsr_context *context;   /* of `threads` threads, on the device asked for */
    dcsr_context *host;      /* on the cpu, where inputs are made; the same one if that was asked for */
    bool gpu;                /* the context is on a GPU */
    bench_gpu_rates rates;   /* of that GPU */
    const char *json_path;
    void *document; /* the JSON document so far */
    double started, sampled;
    double huge_share; /* the largest share of resident memory that was in huge pages */
    bench_table *tables;
} bench;

/* Parses the options, brings about the page setting (which may run the program anew), creates the context and
 * prints what is measured and where. */
void bench_begin(bench *b, int argc, char **argv, const char *name, const char *question);
/* Writes the JSON document if one was asked for, frees everything and returns the exit status. */
int bench_end(bench *b);
/* The quick or the full value of a size. */
#define BENCH_SIZE(b, small, full) ((b)->quick ? (small) : (full))
/* The quick value, or the full one for the host or for a GPU, which needs more to be busy. */
#define BENCH_SIZE_ON(b, small, host, on_gpu) ((b)->quick ? (small) : (b)->gpu ? (on_gpu) : (host))
/* Whether `what` is to be measured, and there is time left; a remark says that it was left out if there is none. */
bool bench_has_time(bench *b, const char *what);

/* Prints and exits with status 1. */
void bench_die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* Dies unless the call of the library succeeded. */
#define BENCH_OK(call) bench_check((call), #call)
void bench_check(dcsr_status status, const char *call);
/* malloc() of count objects of size bytes that cannot fail, and free(). */
void *bench_alloc(size_t count, size_t size);

/* Another context on the same device, with its own number of threads. */
dcsr_context *bench_context(const bench *b, int threads);

/* Seconds since some moment, monotonic. */
double bench_now(void);
/* Bytes of memory that are resident in this process. */
double bench_resident(void);

/* Samples of a quantity. Zero-initialise; bench_samples_free() when done. */
typedef struct bench_samples {
    double *value;
    size_t count, capacity;
} bench_samples;
void bench_samples_add(bench_samples *samples, double value);
/* The value below which the fraction p of the samples lie (0.5: the median); NaN when there are none. */
double bench_percentile(bench_samples *samples, double p);
double bench_median(bench_samples *samples);
/* The distance of the quartiles over the median, in percent; NaN for fewer than three samples. */
double bench_spread(bench_samples *samples);
void bench_samples_free(bench_samples *samples);

typedef struct bench_stat {
    double median, low, high, spread; /* seconds, seconds, seconds, percent as bench_spread() */
    size_t count;
} bench_stat;
/* Of samples in seconds, which are freed. */
bench_stat bench_samples_stat(bench_samples *samples);
/* Calls work(argument) once to warm up, then for `seconds`, at least `least` times; the seconds that a call
 * took. */
bench_stat bench_repeat(void (*work)(void *), void *argument, size_t least, double seconds);

/* Begins a table. `columns` names the label columns, then "|", then the number columns as name:format, all
 * separated by blanks. The table belongs to the benchmark. */
bench_table *bench_table_begin(bench *b, const char *name, const char *title, const char *columns);
#define BENCH_LABELS(...)  ((const char *const[]){__VA_ARGS__})
#define BENCH_NUMBERS(...) ((const double[]){__VA_ARGS__})
#define bench_row(table, labels, ...)                              \
    bench_table_row((table), (labels), BENCH_NUMBERS(__VA_ARGS__), \
                    sizeof BENCH_NUMBERS(__VA_ARGS__) / sizeof(double))
/* Prints and keeps a row; a number that is not a number is missing. */
void bench_table_row(bench_table *table, const char *const *labels, const double *numbers, size_t count);
/* A remark: a line in the text ("# ...") and in the JSON document. */
void bench_note(bench *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Opens K devices, for a benchmark of one matrix on several: GPUs, or on the cpu devices with a K-th of the threads
 * each. Their name goes to `text`, of `size` bytes. And the most devices that a benchmark takes. */
dcsr_multi *bench_open_devices(const bench *b, int count, char *text, size_t size);
int bench_most_devices(const bench *b);

#ifdef __cplusplus
}
#endif
#endif
