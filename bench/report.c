/* report.c: the tables of a benchmark, as text that gnuplot reads and as JSON. */
#include "bench/report.h"
#include "bench/peers/peers.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { MAX_COLUMNS = 24, LABEL_WIDTH = 18, NUMBER_WIDTH = 10 };

struct bench_table {
    bench_table *next;
    bench *b;
    json_t *rows;
    size_t labels, columns;
    char *text; /* the names and formats below point into it */
    const char *name[MAX_COLUMNS], *format[MAX_COLUMNS];
};

static const char *const page_names[] = {"huge", "small", "system"};

/* The text behind `key` in the first line of a file of /proc that has it, without the blanks; "" when there
 * is none. */
static void proc_line(const char *path, const char *key, char *text, size_t capacity)
{
    char line[256];
    FILE *file = fopen(path, "r");
    *text = '\0';
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, key, strlen(key))) {
            const char *start = line + strlen(key) + strspn(line + strlen(key), " \t:");
            snprintf(text, capacity, "%.*s", (int)strcspn(start, "\n"), start);
            break;
        }
    if (file) fclose(file);
}

static void sample_huge_pages(bench *b)
{
    if (bench_now() - b->sampled < 0.5) return;
    char huge[64], resident[64];
    proc_line("/proc/self/smaps_rollup", "AnonHugePages", huge, sizeof huge);
    proc_line("/proc/self/smaps_rollup", "Rss", resident, sizeof resident);
    double share = atof(resident) > 0 ? atof(huge) / atof(resident) : 0;
    if (share > b->huge_share) b->huge_share = share;
    b->sampled = bench_now();
}

/* "NVIDIA H200: copy 4300 GB/s, ...": what the figures of a table are to be held against. */
static void describe_gpu(const bench *b, char *text, size_t capacity)
{
    const bench_gpu_rates *r = &b->rates;
    dcsr_context_info info;
    BENCH_OK(dcsr_context_get_info(b->context, &info));
    snprintf(text, capacity,
             "%s: copy %.0f GB/s (read and written), read %.0f GB/s, cache %zu MB; pinned memory: to it %.1f "
             "GB/s, "
             "from it %.1f GB/s",
             info.device_name, 1e-9 * r->copy, 1e-9 * r->read, r->cache >> 20, 1e-9 * r->upload,
             1e-9 * r->fetch);
}

static void report_gpu(const bench *b)
{
    char text[256];
    const bench_gpu_rates *r = &b->rates;
    dcsr_context_info info;
    BENCH_OK(dcsr_context_get_info(b->context, &info));
    describe_gpu(b, text, sizeof text);
    printf("# on %s\n# %.0f GiB; CUDA %d.%d, driver for %d.%d; dcsr is built for %s\n", text,
           (double)info.device_memory / (1 << 30), info.runtime_version / 1000,
           info.runtime_version % 1000 / 10, info.driver_version / 1000, info.driver_version % 1000 / 10,
           info.built_for);
    json_t *gpu = json_pack("{s:s, s:f, s:i, s:i, s:f, s:f, s:f, s:f, s:f}", "name", info.device_name,
                            "memory", (double)info.device_memory, "runtime", info.runtime_version, "driver",
                            info.driver_version, "copy", r->copy, "read", r->read, "upload", r->upload,
                            "fetch", r->fetch, "cache", (double)r->cache);
    if (!gpu || json_object_set_new(b->document, "gpu", gpu))
        bench_die("cannot add the GPU to the JSON document");
}

void bench_report_begin(bench *b)
{
    char processor[128], memory[64], peers[256];
    struct utsname system = {0};
    dcsr_context_info info;
    proc_line("/proc/cpuinfo", "model name", processor, sizeof processor);
    proc_line("/proc/meminfo", "MemTotal", memory, sizeof memory);
    peer_versions(b->gpu, peers, sizeof peers);
    uname(&system);
    BENCH_OK(dcsr_context_get_info(b->context, &info));
    int cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    b->document = json_pack(
        "{s:s, s:s, s:b, s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:{s:s, s:i, s:s, s:s}, s:[], s:{}}", "benchmark",
        b->name, "question", b->question, "quick", (int)b->quick, "device", b->gpu ? "cuda" : "cpu",
        "threads", b->threads, "pages", page_names[b->pages], "version", dcsr_version(), "compiler",
        __VERSION__, "peers", peers, "allocator", info.allocator, "machine", "processor", processor, "cores",
        cores, "memory", memory, "kernel", system.release, "notes", "tables");
    if (!b->document) bench_die("cannot make the JSON document");
    printf("# %s: %s\n", b->name, b->question);
    printf("# %s, %d cores, %s; %d threads; %s pages; %s inputs\n", processor, cores, memory, b->threads,
           page_names[b->pages], b->quick ? "quick" : "full");
    printf("# dcsr %s (%s; compiler %s); peers: %s\n", dcsr_version(), info.allocator, __VERSION__,
           *peers ? peers : "none");
    if (b->gpu) report_gpu(b);
    fflush(stdout);
}

void bench_report_end(bench *b)
{
    double seconds = bench_now() - b->started;
    sample_huge_pages(b);
    printf("\n# %.1f s; at most %.0f%% of the resident memory was in huge pages\n", seconds,
           100 * b->huge_share);
    json_object_set_new(b->document, "seconds", json_real(seconds));
    json_object_set_new(b->document, "huge_page_share", json_real(b->huge_share));
    if (b->json_path && json_dump_file(b->document, b->json_path, JSON_INDENT(1) | JSON_REAL_PRECISION(6)))
        bench_die("cannot write %s", b->json_path);
    json_decref(b->document);
    for (bench_table *table = b->tables, *next; table; table = next) {
        next = table->next;
        free(table->text);
        free(table);
    }
}

/* Cuts "label label | name:format name:format" into the table's columns. */
static void parse_columns(bench_table *table, const char *columns)
{
    char *rest;
    table->text = strdup(columns);
    if (!table->text) bench_die("no memory for a table");
    for (char *word = strtok_r(table->text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (!strcmp(word, "|")) {
            table->labels = table->columns;
            continue;
        }
        if (table->columns == MAX_COLUMNS) bench_die("too many columns: %s", columns);
        char *colon = strchr(word, ':');
        if (colon) *colon = '\0';
        table->name[table->columns] = word;
        table->format[table->columns++] = colon ? colon + 1 : NULL;
    }
}

bench_table *bench_table_begin(bench *b, const char *name, const char *title, const char *columns)
{
    bench_table *table = bench_alloc(1, sizeof *table);
    *table = (bench_table){.next = b->tables, .b = b, .rows = json_array()};
    b->tables = table;
    parse_columns(table, columns);
    json_t *entry = json_pack("{s:s, s:o}", "title", title, "rows", table->rows);
    if (!entry || json_object_set_new(json_object_get(b->document, "tables"), name, entry))
        bench_die("cannot add table %s to the JSON document", name);
    printf("\n\n# %s: %s\n", name, title);
    if (b->gpu) {
        char text[256];
        describe_gpu(b, text, sizeof text);
        printf("# on %s\n", text);
    }
    for (size_t i = 0; i < table->columns; i++)
        printf(i < table->labels ? "%-*s " : "%*s ", i < table->labels ? LABEL_WIDTH : NUMBER_WIDTH,
               table->name[i]);
    putchar('\n');
    fflush(stdout);
    return table;
}

void bench_table_row(bench_table *table, const char *const *labels, const double *numbers, size_t count)
{
    if (count != table->columns - table->labels)
        bench_die("a row of %zu numbers for %zu columns", count, table->columns - table->labels);
    json_t *row = json_object();
    for (size_t i = 0; i < table->labels; i++) {
        printf("%-*s ", LABEL_WIDTH, labels[i]);
        json_object_set_new(row, table->name[i], json_string(labels[i]));
    }
    for (size_t i = 0; i < count; i++) {
        char text[64] = "-";
        if (isfinite(numbers[i])) snprintf(text, sizeof text, table->format[table->labels + i], numbers[i]);
        int width = (int)strlen(table->name[table->labels + i]);
        printf("%*s ", width > NUMBER_WIDTH ? width : NUMBER_WIDTH, text);
        json_object_set_new(row, table->name[table->labels + i],
                            isfinite(numbers[i]) ? json_real(numbers[i]) : json_null());
    }
    putchar('\n');
    fflush(stdout);
    if (json_array_append_new(table->rows, row)) bench_die("no memory for a row");
    sample_huge_pages(table->b);
}

void bench_note(bench *b, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    printf("# %s\n", text);
    fflush(stdout);
    json_array_append_new(json_object_get(b->document, "notes"), json_string(text));
}
