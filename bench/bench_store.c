/* bench_store.c: how fast do matrices go to the disk and come back, beside writing and reading plain files?
 *
 * Everything is in one folder, STORE_FOLDER or the current one. The plain file has the bytes of the snapshot;
 * it is written by one write() a megabyte and an fsync(), and read into memory that is touched already. What
 * restoring cannot be above is `bare`: the same file read by all threads into new memory in huge pages, with
 * a checksum of each megabyte, and nothing else.
 * Before each reading the pages of the files are dropped from the system's cache as far as it lets go of them
 * (posix_fadvise); `cached` is the same with them in the cache. */
#include "bench/inputs.h"
#include <dcsr/convert.h>
#include <dcsr/persist.h>

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { PIECE = 1 << 20, RUNS = 3, SNAPSHOTS = 7 };

static const char *folder(void)
{
    const char *named = getenv("STORE_FOLDER");
    return named ? named : ".";
}

static const char *path_of(char path[4096], const char *name)
{
    snprintf(path, 4096, "%s/bench_store.%d%s", folder(), (int)getpid(), name);
    return path;
}

static void remove_store(void)
{
    static const char *const files[] = {"/data.mdb", "/lock.mdb", "/writer"};
    char path[4096];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) unlink(path_of(path, files[i]));
    rmdir(path_of(path, ""));
}

static dcsr_store *new_store(int compression)
{
    char path[4096];
    dcsr_store *store;
    remove_store();
    BENCH_OK(dcsr_store_open(&store, path_of(path, ""), &(dcsr_store_options){.compression = compression}));
    return store;
}

/* ---- Plain files ---- */

static double write_plain(const char *path, const char *data, uint64_t bytes)
{
    unlink(path);
    double start = bench_now();
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    for (uint64_t done = 0; file >= 0 && done < bytes;) {
        uint64_t piece = bytes - done < PIECE ? bytes - done : PIECE;
        ssize_t written = write(file, data + done, piece);
        if (written <= 0) bench_die("writing %s failed", path);
        done += (uint64_t)written;
    }
    if (file < 0 || fsync(file) || close(file)) bench_die("writing %s failed", path);
    return bench_now() - start;
}

static double read_plain(const char *path, char *data, uint64_t bytes)
{
    double start = bench_now();
    int file = open(path, O_RDONLY);
    for (uint64_t done = 0; done < bytes;) {
        ssize_t got = read(file, data + done, bytes - done < PIECE ? bytes - done : PIECE);
        if (got <= 0) bench_die("reading %s failed", path);
        done += (uint64_t)got;
    }
    close(file);
    return bench_now() - start;
}

static volatile uint64_t kept; /* so that what is only added up is computed */

static double read_bare(const bench *b, const char *path, uint64_t bytes)
{
    const uint64_t huge = 2 << 20, room = (bytes / huge + 2) * huge;
    double start = bench_now();
    int file = open(path, O_RDONLY);
    char *map = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (file < 0 || map == MAP_FAILED) bench_die("opening %s failed", path);
    char *data = map + (huge - (uintptr_t)map % huge) % huge;
    madvise(data, bytes, MADV_HUGEPAGE);
    uint64_t sum = 0;
#pragma omp parallel for num_threads(b->threads) schedule(dynamic) reduction(^ : sum)
    for (uint64_t first = 0; first < bytes; first += PIECE) {
        uint64_t piece = bytes - first < PIECE ? bytes - first : PIECE;
        if (pread(file, data + first, piece, (off_t)first) != (ssize_t)piece)
            bench_die("reading %s failed", path);
        sum ^= XXH64(data + first, piece, 0);
    }
    const double seconds = bench_now() - start;
    kept = sum;
    munmap(map, room);
    close(file);
    return seconds;
}

static void drop_from_cache(const char *path)
{
    int file = open(path, O_RDONLY);
    if (file < 0) bench_die("opening %s failed", path);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    close(file);
}

static double file_bytes(const char *path)
{
    struct stat file;
    return stat(path, &file) ? 0 : (double)file.st_size;
}

/* ---- Snapshots and restoring ---- */

static dcsr_matrix *stored_matrix(const bench *b, const bench_csr *A, dcsr_type type)
{
    dcsr_matrix *matrix;
    dcsr_csr csr = {.rows = A->rows,
                    .cols = A->cols,
                    .nnz = A->nnz,
                    .type = type,
                    .offsets = A->offsets,
                    .col_indices = A->columns,
                    .values = type == DCSR_PATTERN ? NULL : A->values};
    BENCH_OK(dcsr_matrix_from_csr(&matrix, b->context, &csr, NULL));
    return matrix;
}

/* What else the machine and its disk do only adds to a time. */
static double least(bench_samples *times)
{
    return bench_percentile(times, 0);
}

static void measure_snapshots(bench *b, bench_table *table, const char *name, dcsr_type type)
{
    if (!bench_has_time(b, name)) return;
    char plain[4096], data[4096];
    bench_csr A = bench_csr_make(b, name);
    dcsr_matrix *matrix = stored_matrix(b, &A, type), *restored;
    const uint64_t raw = A.nnz * (sizeof(uint32_t) + dcsr_type_size(type)) + (A.rows + 1) * sizeof(uint64_t);
    char *bytes = bench_alloc(raw, 1);
    memset(bytes, 7, raw);
    for (int level = 0; level <= 3; level += 3) {
        bench_samples to = {0}, from = {0}, cached = {0}, plain_to = {0}, plain_from = {0},
                      plain_cached = {0}, bare = {0};
        dcsr_version_info version;
        for (int run = 0; run < SNAPSHOTS; run++) {
            dcsr_store *store = new_store(level);
            double start = bench_now();
            BENCH_OK(dcsr_store_snapshot(store, "m", matrix, &version));
            bench_samples_add(&to, bench_now() - start);
            path_of(plain, ".plain");
            path_of(data, "/data.mdb");
            bench_samples_add(&plain_to, write_plain(plain, bytes, raw));
            for (int warm = 0; warm < 2; warm++) {
                if (!warm) drop_from_cache(plain);
                bench_samples_add(warm ? &plain_cached : &plain_from, read_plain(plain, bytes, raw));
                if (!warm) drop_from_cache(data);
                start = bench_now();
                BENCH_OK(dcsr_store_restore(&restored, b->context, store, "m", 0, NULL));
                bench_samples_add(warm ? &cached : &from, bench_now() - start);
                dcsr_matrix_destroy(restored);
            }
            drop_from_cache(plain);
            bench_samples_add(&bare, read_bare(b, plain, raw));
            dcsr_store_close(store);
        }
        const double mega = (double)raw * 1e-6;
        char compression[32];
        snprintf(compression, sizeof compression, level ? "zstd_%d" : "none", level);
        const double write_s = least(&to), plain_write_s = least(&plain_to), read_s = least(&from),
                     plain_read_s = least(&plain_from), cached_s = least(&cached),
                     plain_cached_s = least(&plain_cached);
        bench_row(table, BENCH_LABELS(name, dcsr_type_name(type), compression), mega,
                  (double)version.stored_bytes / (double)raw, mega / write_s, mega / plain_write_s,
                  plain_write_s / write_s, mega / read_s, mega / plain_read_s, plain_read_s / read_s,
                  plain_read_s / least(&bare), mega / cached_s, plain_cached_s / cached_s);
        bench_samples *all[] = {&to, &from, &cached, &plain_to, &plain_from, &plain_cached, &bare};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) bench_samples_free(all[i]);
        unlink(plain);
    }
    remove_store();
    free(bytes);
    dcsr_matrix_destroy(matrix);
    bench_csr_free(&A);
}

/* One entry in each of so many places, evenly over the rows. */
static void touch(dcsr_matrix *matrix, uint64_t rows, uint64_t places, dcsr_type type)
{
    uint64_t *row = bench_alloc(places, sizeof *row), *col = bench_alloc(places, sizeof *col);
    double *value = bench_alloc(places, sizeof *value);
    for (uint64_t i = 0; i < places; i++) {
        row[i] = i * (rows / places);
        col[i] = row[i];
        value[i] = (double)i + bench_now();
    }
    BENCH_OK(dcsr_matrix_insert(matrix, places, row, col, type == DCSR_PATTERN ? NULL : value, NULL));
    BENCH_OK(dcsr_matrix_wait(matrix));
    free(row);
    free(col);
    free(value);
}

static void measure_changes(bench *b, bench_table *table, const char *name)
{
    static const double shares[] = {0, 0.001, 0.01, 0.1, 1};
    if (!bench_has_time(b, name)) return;
    bench_csr A = bench_csr_make(b, name);
    dcsr_matrix *matrix = stored_matrix(b, &A, DCSR_FP64);
    dcsr_store *store = new_store(0);
    dcsr_version_info version;
    double start = bench_now();
    BENCH_OK(dcsr_store_snapshot(store, "m", matrix, &version));
    const double full = bench_now() - start, chunks = (double)version.chunks;
    for (size_t s = 0; s < sizeof shares / sizeof *shares; s++) {
        bench_samples times = {0};
        double written = 0;
        for (int run = 0; run < RUNS; run++) {
            if (shares[s] > 0) touch(matrix, A.rows, (uint64_t)(shares[s] * chunks + 1), DCSR_FP64);
            start = bench_now();
            BENCH_OK(dcsr_store_snapshot(store, "m", matrix, &version));
            bench_samples_add(&times, bench_now() - start);
            written = (double)version.written_bytes;
        }
        const double seconds = bench_median(&times);
        bench_row(table, BENCH_LABELS(name), shares[s], chunks, written * 1e-6, seconds * 1e3,
                  seconds / full);
        bench_samples_free(&times);
    }
    dcsr_store_close(store);
    dcsr_matrix_destroy(matrix);
    bench_csr_free(&A);
    remove_store();
}

/* ---- The log ---- */

/* How batches come: into memory; into a log; with the position in their input; with names instead of numbers. */
typedef enum log_way { VOLATILE, DURABLE, TAGGED, NAMED, LOG_WAYS } log_way;

/* Entries whose vertices have names: where each name begins, rows and columns in turn. */
typedef struct named_entries {
    dcsr_text *text; /* 2 n */
    uint64_t *id;
    char *bytes;
} named_entries;

static named_entries name_entries(const bench_entries *all)
{
    enum { LONGEST = 24 };
    named_entries named = {.text = bench_alloc(2 * all->n, sizeof *named.text),
                           .id = bench_alloc(2 * all->n, sizeof *named.id),
                           .bytes = bench_alloc(2 * all->n, LONGEST)};
    char *to = named.bytes;
    for (size_t i = 0; i < 2 * all->n; i++) {
        const uint64_t vertex = i % 2 ? all->col[i / 2] : all->row[i / 2];
        const int length = snprintf(to, LONGEST, "v%llu", (unsigned long long)vertex);
        named.text[i] = (dcsr_text){to, (size_t)length};
        to += length;
    }
    return named;
}

/* The same entries by the numbers that the dictionary gives their vertices. */
static void number_entries(bench_entries *part, size_t first, const named_entries *named, dcsr_names *names)
{
    BENCH_OK(dcsr_names_add(names, 2 * part->n, named->text + 2 * first, named->id + 2 * first));
    for (size_t i = 0; i < part->n; i++) {
        part->row[i] = named->id[2 * (first + i)];
        part->col[i] = named->id[2 * (first + i) + 1];
    }
}

static double stream(dcsr_matrix *matrix, const bench_entries *all, size_t batch, bool tagged,
                     const named_entries *named, dcsr_names *names)
{
    double start = bench_now();
    for (size_t first = 0; first < all->n; first += batch) {
        bench_entries part = bench_entries_slice(all, first, all->n - first < batch ? all->n - first : batch);
        const dcsr_tag tag = {.position = first + part.n};
        if (names) number_entries(&part, first, named, names);
        BENCH_OK(
            dcsr_matrix_insert_tagged(matrix, part.n, part.row, part.col, NULL, tagged ? &tag : NULL, NULL));
    }
    BENCH_OK(dcsr_matrix_wait(matrix));
    return bench_now() - start;
}

static double log_once(bench *b, log_way way, uint64_t size, const bench_entries *all, size_t batch,
                       const named_entries *named)
{
    dcsr_matrix *matrix;
    dcsr_names *names = NULL;
    dcsr_store *store = NULL;
    if (way == VOLATILE) {
        matrix = bench_matrix(b, b->context, NULL, size, size, DCSR_PATTERN, NULL);
    } else {
        store = new_store(0);
        const dcsr_durable_options options = {.type = DCSR_PATTERN, .rows = size, .cols = size};
        BENCH_OK(dcsr_store_open_matrix(&matrix, b->context, store, "m", &options, NULL));
        if (way == NAMED) BENCH_OK(dcsr_store_open_names(&names, b->context, store, "m"));
    }
    const double seconds = stream(matrix, all, batch, way >= TAGGED, named, names);
    dcsr_matrix_destroy(matrix);
    dcsr_names_destroy(names);
    if (store) dcsr_store_close(store);
    return seconds;
}

static void measure_log(bench *b, bench_table *table, const char *name, size_t batch)
{
    if (!bench_has_time(b, name)) return;
    char text[32];
    bench_csr A = bench_csr_make(b, name);
    bench_entries all = bench_entries_from_csr(&A);
    bench_entries_shuffle(&all, 1);
    const size_t least = 4000000, most = batch * 200 > least ? batch * 200 : least;
    if (all.n > most) all.n = most;
    named_entries named = name_entries(&all);
    bench_samples samples[LOG_WAYS] = {0};
    double meps[LOG_WAYS];
    for (int run = 0; run < RUNS; run++)
        for (log_way way = VOLATILE; way < LOG_WAYS; way++) /* the last one numbers the vertices anew */
            bench_samples_add(&samples[way], log_once(b, way, A.rows, &all, batch, &named));
    for (log_way way = VOLATILE; way < LOG_WAYS; way++) {
        meps[way] = (double)all.n * 1e-6 / bench_median(&samples[way]);
        bench_samples_free(&samples[way]);
    }
    snprintf(text, sizeof text, "%zu", batch);
    bench_row(table, BENCH_LABELS(name, text), meps[VOLATILE], meps[DURABLE], meps[TAGGED], meps[NAMED],
              meps[DURABLE] / meps[VOLATILE]);
    free(named.text), free(named.id), free(named.bytes);
    bench_entries_free(&all);
    bench_csr_free(&A);
    remove_store();
}

/* ---- Both at the same time ---- */

typedef struct making {
    dcsr_store *store;
    dcsr_matrix *matrix;
    double seconds;
    atomic_bool done;
} making;

static void *make_snapshot(void *argument)
{
    making *m = argument;
    double start = bench_now();
    BENCH_OK(dcsr_store_snapshot(m->store, "large", m->matrix, NULL));
    m->seconds = bench_now() - start;
    atomic_store(&m->done, true);
    return NULL;
}

/* Single changes of a durable matrix, one after the other, while a snapshot of another is made. */
static void measure_beside(bench *b, bench_table *table, const char *name)
{
    if (!bench_has_time(b, name)) return;
    bench_csr A = bench_csr_make(b, name);
    bench_samples snapshots = {0}, waits = {0};
    making m = {.matrix = stored_matrix(b, &A, DCSR_FP64)};
    for (int run = 0; run < RUNS; run++) {
        dcsr_matrix *durable;
        pthread_t thread;
        m.store = new_store(0);
        BENCH_OK(dcsr_store_open_matrix(
            &durable, b->context, m.store, "small",
            &(dcsr_durable_options){.type = DCSR_PATTERN, .rows = 1 << 20, .cols = 1 << 20}, NULL));
        atomic_store(&m.done, false);
        if (pthread_create(&thread, NULL, make_snapshot, &m)) bench_die("starting a thread failed");
        for (uint64_t i = 0; !atomic_load(&m.done); i = (i + 1) % (1 << 20)) {
            double start = bench_now();
            BENCH_OK(dcsr_matrix_insert(durable, 1, &i, &i, NULL, NULL));
            BENCH_OK(dcsr_matrix_wait(durable));
            bench_samples_add(&waits, bench_now() - start);
        }
        pthread_join(thread, NULL);
        bench_samples_add(&snapshots, m.seconds);
        dcsr_matrix_destroy(durable);
        dcsr_store_close(m.store);
    }
    bench_row(table, BENCH_LABELS(name), bench_median(&snapshots) * 1e3, (double)waits.count / RUNS,
              bench_median(&waits) * 1e3, bench_percentile(&waits, 1) * 1e3);
    bench_samples_free(&snapshots);
    bench_samples_free(&waits);
    dcsr_matrix_destroy(m.matrix);
    bench_csr_free(&A);
    remove_store();
}

/* ---- Room ---- */

static void measure_room(bench *b, bench_table *table, const char *name)
{
    enum { REWRITES = 10 };
    if (!bench_has_time(b, name)) return;
    char path[4096];
    bench_csr A = bench_csr_make(b, name);
    dcsr_matrix *matrix = stored_matrix(b, &A, DCSR_FP64);
    dcsr_store *store = new_store(0);
    dcsr_version_info version;
    for (int i = 0; i <= REWRITES; i++) {
        if (i) touch(matrix, A.rows, A.rows, DCSR_FP64);
        BENCH_OK(dcsr_store_snapshot(store, "m", matrix, &version));
        BENCH_OK(dcsr_store_gc(store, NULL, 1, NULL));
    }
    const double live = (double)version.stored_bytes, file = file_bytes(path_of(path, "/data.mdb"));
    bench_row(table, BENCH_LABELS(name), (double)REWRITES, live * 1e-6, file * 1e-6, file / live);
    dcsr_store_close(store);
    dcsr_matrix_destroy(matrix);
    bench_csr_free(&A);
    remove_store();
}

int main(int argc, char **argv)
{
    bench b;
    bench_begin(&b, argc, argv, "store", "How fast do matrices go to the disk and come back?");
    const char *grid = BENCH_SIZE(&b, "poisson3d27:20", "poisson3d27:100"),
               *graph = BENCH_SIZE(&b, "rmat:12,16", "rmat:20,16");
    bench_table *table =
        bench_table_begin(&b, "snapshots", "whole versions; ratios: the plain file's time over ours",
                          "matrix type compression | mb:%.0f of_csr:%.2f write_mb_s:%.0f plain_write:%.0f "
                          "ratio:%.2f read_mb_s:%.0f "
                          "plain_read:%.0f ratio_read:%.2f bare:%.2f cached_mb_s:%.0f ratio_cached:%.2f");
    measure_snapshots(&b, table, grid, DCSR_FP64);
    measure_snapshots(&b, table, graph, DCSR_PATTERN);
    table = bench_table_begin(&b, "changes", "versions after a change in a share of the chunks",
                              "matrix | share:%.3f chunks:%.0f written_mb:%.1f ms:%.2f of_full:%.3f");
    measure_changes(&b, table, grid);
    table =
        bench_table_begin(&b, "log", "insertion, million edges a second, streamed and waited for at the end",
                          "matrix batch | volatile:%.2f durable:%.2f tagged:%.2f named:%.2f ratio:%.2f");
    static const size_t batches[] = {1000, 10000, 100000, 1000000};
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) measure_log(&b, table, graph, batches[i]);
    table = bench_table_begin(&b, "beside", "single durable changes while a snapshot of another is made",
                              "matrix | snapshot_ms:%.0f changes:%.0f median_ms:%.2f longest_ms:%.1f");
    measure_beside(&b, table, grid);
    table = bench_table_begin(&b, "room", "the file after rewriting everything, old versions freed each time",
                              "matrix | rewrites:%.0f live_mb:%.0f file_mb:%.0f ratio:%.2f");
    measure_room(&b, table, grid);
    return bench_end(&b);
}
