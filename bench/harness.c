/* harness.c: options, page setting, clocks and statistics of the benchmark programs. */
#include "bench/harness.h"
#include "bench/report.h"

#include <argp.h>
#include <math.h>
#include <omp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static const struct argp_option options[] = {
    {"json", 'j', "FILE", 0, "write the results as one JSON document to FILE", 0},
    {"quick", 'q', NULL, 0, "small inputs, few repetitions", 0},
    {"threads", 't', "N", 0, "threads of every competitor (default: as many as OpenMP would use)", 0},
    {"pages", 'p', "huge|small|system", 0,
     "huge: 2 MiB pages for everybody (the default); small: for nobody; system: change nothing", 0},
    {"device", 'd', "auto|cpu|cuda", 0,
     "where the matrices are (default auto: what DCSR_DEVICE says, else cuda where a usable GPU is there)",
     0},
    {"data", 'm', "FOLDER", 0,
     "measure the matrices in the files of FOLDER (portfolio, levels, graph), in place of generated ones", 0},
    {"only", 'o', "TEXT", 0, "measure only what has TEXT in its name", 0},
    {"seconds", 's', "S", 0, "begin nothing more after S seconds, and say what was left out", 0},
    {0}};

static error_t parse_device(bench *b, const char *text, struct argp_state *state)
{
    static const char *const names[] = {
        [DCSR_DEVICE_AUTO] = "auto", [DCSR_DEVICE_CPU] = "cpu", [DCSR_DEVICE_CUDA] = "cuda"};
    for (int d = 0; d < (int)(sizeof names / sizeof *names); d++)
        if (!strcmp(text, names[d])) {
            b->device = (dcsr_device)d;
            return 0;
        }
    argp_error(state, "--device takes auto, cpu or cuda, not '%s'", text);
    return 0;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    bench *b = state->input;
    switch (key) {
    case 'j':
        b->json_path = text;
        return 0;
    case 'q':
        b->quick = true;
        return 0;
    case 't':
        b->threads = atoi(text);
        if (b->threads < 1) argp_error(state, "--threads takes a number from 1 up, not '%s'", text);
        return 0;
    case 'p':
        if (!strcmp(text, "huge"))
            b->pages = BENCH_PAGES_HUGE;
        else if (!strcmp(text, "small"))
            b->pages = BENCH_PAGES_SMALL;
        else if (!strcmp(text, "system"))
            b->pages = BENCH_PAGES_SYSTEM;
        else
            argp_error(state, "--pages takes huge, small or system, not '%s'", text);
        return 0;
    case 'd':
        return parse_device(b, text, state);
    case 'm':
        b->data = text;
        return 0;
    case 'o':
        b->only = text;
        return 0;
    case 's':
        b->limit = atof(text);
        if (!(b->limit > 0)) argp_error(state, "--seconds takes a number above 0, not '%s'", text);
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument '%s'", text);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The allocators read their settings before main(), so the program is run anew with them in the environment:
 * glibc's own, and jemalloc's, which replaces malloc() in programs that are linked with it. */
static void ask_for_huge_pages(char **argv)
{
    if (getenv("DCSR_BENCH_PAGES")) return;
    setenv("DCSR_BENCH_PAGES", "huge", 1);
    setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1", 0);
    setenv("MALLOC_CONF", "thp:always", 0);
    execv("/proc/self/exe", argv);
    bench_die("cannot run the program anew with huge pages; use --pages system");
}

static dcsr_context *context_on(dcsr_device device, int threads)
{
    dcsr_context *context;
    const dcsr_context_options wanted = {.device = device, .threads = threads};
    BENCH_OK(dcsr_context_create(&context, &wanted));
    return context;
}

static void open_device(bench *b)
{
    dcsr_context_info info;
    b->context = b->host = context_on(b->device, b->threads);
    BENCH_OK(dcsr_context_get_info(b->context, &info));
    b->gpu = info.device == DCSR_DEVICE_CUDA;
    if (!b->gpu) return;
    b->host = context_on(DCSR_DEVICE_CPU, b->threads);
    bench_gpu_start(&b->rates, b->quick);
}

void bench_begin(bench *b, int argc, char **argv, const char *name, const char *question)
{
    *b = (bench){.name = name,
                 .question = question,
                 .threads = omp_get_max_threads(),
                 .pages = BENCH_PAGES_HUGE,
                 .limit = INFINITY};
    const struct argp parser = {options, parse_option, NULL, question, NULL, NULL, NULL};
    argp_parse(&parser, argc, argv, 0, NULL, b);
    if (b->pages == BENCH_PAGES_HUGE) ask_for_huge_pages(argv);
    if (b->pages == BENCH_PAGES_SMALL && prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
        bench_die("cannot turn huge pages off for this process (prctl PR_SET_THP_DISABLE)");
    omp_set_num_threads(b->threads);
    b->started = bench_now();
    open_device(b);
    bench_report_begin(b);
}

int bench_end(bench *b)
{
    bench_report_end(b);
    if (b->host != b->context) dcsr_context_destroy(b->host);
    dcsr_context_destroy(b->context);
    if (b->gpu) bench_gpu_stop();
    return EXIT_SUCCESS;
}

bool bench_has_time(bench *b, const char *what)
{
    if (b->only && !strstr(what, b->only)) return false;
    if (bench_now() - b->started < b->limit) return true;
    bench_note(b, "left out after %g s: %s", b->limit, what);
    return false;
}

void bench_die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fputs("bench: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(EXIT_FAILURE);
}

void bench_check(dcsr_status status, const char *call)
{
    if (status != DCSR_OK) bench_die("%s: %s: %s", call, dcsr_status_name(status), dcsr_thread_error());
}

void *bench_alloc(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) bench_die("%zu x %zu bytes overflow", count, size);
    void *block = malloc(bytes ? bytes : 1);
    if (!block) bench_die("no memory for %zu bytes; try --quick", bytes);
    return block;
}

dcsr_context *bench_context(const bench *b, int threads)
{
    return context_on(b->gpu ? DCSR_DEVICE_CUDA : DCSR_DEVICE_CPU, threads);
}

double bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double bench_resident(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long size = 0, resident = 0;
    if (file) {
        if (fscanf(file, "%lu %lu", &size, &resident) != 2) resident = 0;
        fclose(file);
    }
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

void bench_samples_add(bench_samples *samples, double value)
{
    if (samples->count == samples->capacity) {
        samples->capacity = samples->capacity ? 2 * samples->capacity : 64;
        samples->value = realloc(samples->value, samples->capacity * sizeof *samples->value);
        if (!samples->value) bench_die("no memory for %zu samples", samples->capacity);
    }
    samples->value[samples->count++] = value;
}

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

double bench_percentile(bench_samples *samples, double p)
{
    if (!samples->count) return NAN;
    qsort(samples->value, samples->count, sizeof *samples->value, compare_doubles);
    double place = p * (double)(samples->count - 1);
    size_t below = (size_t)place;
    if (below + 1 >= samples->count) return samples->value[samples->count - 1];
    double weight = place - (double)below;
    return (1 - weight) * samples->value[below] + weight * samples->value[below + 1];
}

double bench_median(bench_samples *samples)
{
    return bench_percentile(samples, 0.5);
}

double bench_spread(bench_samples *samples)
{
    if (samples->count < 3) return NAN;
    return 100 * (bench_percentile(samples, 0.75) - bench_percentile(samples, 0.25)) / bench_median(samples);
}

void bench_samples_free(bench_samples *samples)
{
    free(samples->value);
    *samples = (bench_samples){0};
}

bench_stat bench_samples_stat(bench_samples *samples)
{
    bench_stat stat = {bench_median(samples), bench_percentile(samples, 0), bench_percentile(samples, 1),
                       bench_spread(samples), samples->count};
    bench_samples_free(samples);
    return stat;
}

bench_stat bench_repeat(void (*work)(void *), void *argument, size_t least, double seconds)
{
    bench_samples samples = {0};
    work(argument);
    for (double start = bench_now(); samples.count < least || bench_now() - start < seconds;) {
        double before = bench_now();
        work(argument);
        bench_samples_add(&samples, bench_now() - before);
    }
    return bench_samples_stat(&samples);
}

/* ---- Several devices ---- */

dcsr_multi *bench_open_devices(const bench *b, int count, char *text, size_t size)
{
    dcsr_multi *devices;
    snprintf(text, size, b->gpu ? "cuda:0-%d" : "cpu:%d", count - b->gpu);
    BENCH_OK(dcsr_multi_create(&devices, text, &(dcsr_multi_options){.threads = b->threads}));
    return devices;
}

int bench_most_devices(const bench *b)
{
    enum { MOST = 8 };
    int count = b->threads;
    if (b->gpu) BENCH_OK(dcsr_device_get_count(DCSR_DEVICE_CUDA, &count));
    return count < MOST ? count : MOST;
}
