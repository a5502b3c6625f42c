/* demo.c: a graph that is asked questions while it grows: the packages of this machine and what depends on
 * what.
 *
 * usage: demo EDGES NAMES [PACKAGE]     (made by tools/package-graph.sh; `make demo` runs it)
 *
 * One thread streams the dependencies into a matrix R with R[b][a] set when package a depends on b. Two
 * others work on snapshots all the time: one asks by breadth-first search what depends on PACKAGE, directly
 * or not; one ranks all packages by PageRank over the dependencies. Neither ever waits for the stream, nor
 * the stream for them. In the end it says what the machine's software rests on. */
#include <dcsr/dcsr.h>
#include <dcsr/bfs.h>
#include <dcsr/spmv.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCHES = 48, LINES = 12, TOP = 10, RANKED = 200, ITERATIONS = 30, MOST_READS = 1 << 20, LEVELS = 64 };
static const double BATCH_INTERVAL = 0.1; /* seconds from batch to batch, so that one can watch */
static const double DAMPING = 0.85;

/* What one reader has found last, and how long its reads took. */
typedef struct reader {
    pthread_t thread;
    struct demo *demo;
    uint64_t version, answer; /* of the last read: packages reached, or the package ranked first */
    double last_ms;
    double *ms;
    size_t reads;
    int32_t *level; /* working memory */
    double *rank, *spread, *next;
} reader;

typedef struct demo {
    dcsr_context *context;
    dcsr_matrix *matrix;
    uint64_t packages;
    char **name;
    dcsr_coo edges; /* a depends on b: row a, column b */
    uint64_t package;
    pthread_mutex_t lock; /* of the readers' answers */
    atomic_bool stop;
    reader search, ranking;
} demo;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "demo: %s\n", what);
    exit(1);
}

static void check(dcsr_status status)
{
    if (status) die(dcsr_thread_error());
}

static void *allocate(size_t count, size_t size)
{
    void *block = calloc(count ? count : 1, size);
    if (!block) die("out of memory");
    return block;
}

/* Reads the names, one a line. */
static void read_names(demo *d, const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file) die("cannot open the file of names; tools/package-graph.sh makes it");
    size_t capacity = 0, room = 0;
    ssize_t length;
    char *line = NULL;
    while ((length = getline(&line, &room, file)) >= 0) {
        if (d->packages == capacity) {
            capacity = capacity ? 2 * capacity : 4096;
            d->name = realloc(d->name, capacity * sizeof *d->name);
            if (!d->name) die("out of memory");
        }
        line[strcspn(line, "\n")] = '\0';
        d->name[d->packages++] = line;
        line = NULL;
    }
    free(line);
    fclose(file);
    if (!d->packages) die("there are no packages");
}

static uint64_t find_package(const demo *d, const char *name)
{
    for (uint64_t p = 0; p < d->packages; p++) {
        if (!strcmp(d->name[p], name)) return p;
    }
    return d->packages;
}

/* PageRank on one snapshot: rank flows from each package to what it depends on, in equal parts, so one step
 * is a product of R with rank / (number of dependencies). Packages without dependencies spread theirs over
 * all. */
static uint64_t rank_packages(reader *r, dcsr_view *view)
{
    dcsr_csr csr;
    check(dcsr_view_get_csr(view, &csr));
    uint64_t n = csr.rows, best = 0;
    double *needs = r->spread; /* dependencies of each package; the space is used again below */
    memset(needs, 0, n * sizeof *needs);
    for (uint64_t e = 0; e < csr.nnz; e++) needs[csr.col_indices[e]] += 1;
    double *share = allocate(n, sizeof *share);
    for (uint64_t p = 0; p < n; p++) {
        share[p] = needs[p] > 0 ? 1 / needs[p] : 0;
        r->rank[p] = 1 / (double)n;
    }
    for (int i = 0; i < ITERATIONS; i++) {
        double idle = 0;
        for (uint64_t p = 0; p < n; p++) {
            r->spread[p] = r->rank[p] * share[p];
            if (share[p] <= 0) idle += r->rank[p];
        }
        check(dcsr_spmv(r->next, view, r->spread));
        best = 0;
        for (uint64_t p = 0; p < n; p++) {
            r->rank[p] = (1 - DAMPING) / (double)n + DAMPING * (r->next[p] + idle / (double)n);
            if (r->rank[p] > r->rank[best]) best = p;
        }
    }
    free(share);
    return best;
}

static void note(reader *r, dcsr_view *view, double start, uint64_t answer)
{
    dcsr_view_info info;
    check(dcsr_view_get_info(view, &info));
    pthread_mutex_lock(&r->demo->lock);
    r->version = info.version;
    r->answer = answer;
    r->last_ms = 1e3 * (now() - start);
    if (r->reads < MOST_READS) r->ms[r->reads++] = r->last_ms;
    pthread_mutex_unlock(&r->demo->lock);
}

static void *keep_searching(void *user)
{
    reader *r = user;
    demo *d = r->demo;
    while (!atomic_load(&d->stop)) {
        double start = now();
        dcsr_view *view;
        dcsr_bfs_result result;
        check(dcsr_view_create(&view, d->matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES));
        check(dcsr_bfs(r->level, &result, view, d->package));
        note(r, view, start, result.reached - 1);
        dcsr_view_destroy(view);
    }
    return NULL;
}

static void *keep_ranking(void *user)
{
    reader *r = user;
    demo *d = r->demo;
    while (!atomic_load(&d->stop)) {
        double start = now();
        dcsr_view *view;
        check(dcsr_view_create(&view, d->matrix, DCSR_LAYOUT_CSR, 0));
        note(r, view, start, rank_packages(r, view));
        dcsr_view_destroy(view);
    }
    return NULL;
}

static void start_reader(demo *d, reader *r, void *(*loop)(void *))
{
    r->demo = d;
    r->ms = allocate(MOST_READS, sizeof *r->ms);
    r->level = allocate(d->packages, sizeof *r->level);
    r->rank = allocate(d->packages, sizeof *r->rank);
    r->spread = allocate(d->packages, sizeof *r->spread);
    r->next = allocate(d->packages, sizeof *r->next);
    if (pthread_create(&r->thread, NULL, loop, r)) die("the system refused a thread");
}

static void free_reader(reader *r)
{
    free(r->ms);
    free(r->level);
    free(r->rank);
    free(r->spread);
    free(r->next);
}

static void print_progress(demo *d, int batch, uint64_t edges)
{
    dcsr_matrix_info info;
    check(dcsr_matrix_get_info(d->matrix, &info));
    pthread_mutex_lock(&d->lock);
    printf("%7d %9llu %9llu | %8llu %9llu %7.2f ms | %8llu  %-16.16s %7.2f ms\n", batch,
           (unsigned long long)edges, (unsigned long long)info.version, (unsigned long long)d->search.version,
           (unsigned long long)d->search.answer, d->search.last_ms, (unsigned long long)d->ranking.version,
           d->ranking.reads ? d->name[d->ranking.answer] : "", d->ranking.last_ms);
    pthread_mutex_unlock(&d->lock);
    fflush(stdout);
}

static void pause_until(double when)
{
    double left = when - now();
    if (left <= 0) return;
    struct timespec t = {(time_t)left, (long)((left - floor(left)) * 1e9)};
    nanosleep(&t, NULL);
}

/* Streams all edges; *half gets a snapshot taken half way. Returns the edges a second of the store's own
 * time. */
static double stream(demo *d, dcsr_view **half)
{
    uint64_t n = d->edges.nnz, sent = 0;
    printf("  batch  edges in   version | searched    needed       took |   ranked  first                  "
           "took\n");
    double start = now();
    for (int b = 1; b <= BATCHES; b++) {
        uint64_t end = n * (uint64_t)b / BATCHES;
        check(dcsr_matrix_insert(d->matrix, end - sent, d->edges.col_indices + sent,
                                 d->edges.row_indices + sent, NULL, NULL));
        sent = end;
        if (b == BATCHES / 2) {
            check(dcsr_matrix_wait(d->matrix));
            check(dcsr_view_create(half, d->matrix, DCSR_LAYOUT_SEGMENTS, 0));
        }
        pause_until(start + b * BATCH_INTERVAL);
        if (b % (BATCHES / LINES) == 0) print_progress(d, b, sent);
    }
    check(dcsr_matrix_wait(d->matrix));
    dcsr_matrix_info info;
    check(dcsr_matrix_get_info(d->matrix, &info));
    return (double)info.inserted / info.busy_seconds;
}

/* A package with what the tables say about it. */
typedef struct ranked {
    uint64_t package, direct, all;
    double rank;
} ranked;

static int by_rank(const void *a, const void *b)
{
    double x = ((const ranked *)a)->rank, y = ((const ranked *)b)->rank;
    return (x < y) - (x > y);
}

static int by_reach(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->all != y->all) return x->all < y->all ? 1 : -1;
    return by_rank(a, b);
}

static void print_table(const demo *d, const ranked *list, uint64_t n)
{
    printf("       package                             rank    named by     needed by      of all\n");
    for (uint64_t i = 0; i < n; i++) {
        const ranked *p = &list[i];
        printf("  %3d. %-32.32s %7.4f%% %11llu %13llu %10.1f%%\n", (int)i + 1, d->name[p->package],
               100 * p->rank, (unsigned long long)p->direct, (unsigned long long)p->all,
               100 * (double)p->all / (double)d->packages);
    }
}

/* The packages that most rests on: ten by rank, and ten by how many need them among the best ranked. */
static void print_foundations(demo *d, dcsr_view *view)
{
    ranked *list = allocate(d->packages, sizeof *list);
    rank_packages(&d->ranking, view);
    for (uint64_t p = 0; p < d->packages; p++) list[p] = (ranked){.package = p, .rank = d->ranking.rank[p]};
    qsort(list, d->packages, sizeof *list, by_rank);
    uint64_t n = d->packages < RANKED ? d->packages : RANKED, top = n < TOP ? n : TOP;
    for (uint64_t i = 0; i < n; i++) {
        dcsr_bfs_result result;
        check(dcsr_bfs(d->search.level, &result, view, list[i].package));
        check(dcsr_view_get_row(view, list[i].package, 0, NULL, NULL, &list[i].direct));
        list[i].all = result.reached - 1;
    }
    printf("\nWhat does most of the system rest on? By rank (PageRank over the dependencies):\n");
    print_table(d, list, top);
    qsort(list, n, sizeof *list, by_reach);
    printf("\nAnd of the %llu ranked highest, those that most packages need, directly or not:\n",
           (unsigned long long)n);
    print_table(d, list, top);
    free(list);
}

static void print_removal(demo *d, dcsr_view *view)
{
    dcsr_bfs_result result;
    check(dcsr_bfs(d->search.level, &result, view, d->package));
    printf("\nWhat would go if %s went? %llu of %llu packages (%.1f%%), by the number of steps away:\n ",
           d->name[d->package], (unsigned long long)result.reached - 1, (unsigned long long)d->packages,
           100 * (double)(result.reached - 1) / (double)d->packages);
    uint64_t at[LEVELS] = {0};
    for (uint64_t p = 0; p < d->packages; p++) {
        if (d->search.level[p] > 0 && d->search.level[p] < LEVELS) at[d->search.level[p]]++;
    }
    for (int level = 1; level < LEVELS && at[level]; level++) {
        printf("%s%d: %llu",
               level == 1       ? " "
               : level % 8 == 1 ? "\n  "
                                : "   ",
               level, (unsigned long long)at[level]);
    }
    printf("\n");
}

static int ascending(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static void print_latency(const char *what, reader *r)
{
    if (!r->reads) return;
    qsort(r->ms, r->reads, sizeof *r->ms, ascending);
    printf("  %-10s %7zu on snapshots meanwhile: median %.3f ms, 99%% %.3f ms, worst %.3f ms\n", what,
           r->reads, r->ms[r->reads / 2], r->ms[r->reads * 99 / 100], r->ms[r->reads - 1]);
}

static void print_summary(demo *d, dcsr_view *half, double rate)
{
    dcsr_view_info held;
    dcsr_matrix_info info;
    dcsr_bfs_result result;
    check(dcsr_view_get_info(half, &held));
    check(dcsr_bfs(d->search.level, &result, half, d->package));
    check(dcsr_matrix_get_info(d->matrix, &info));
    printf("\nIn figures\n");
    print_latency("searches", &d->search);
    print_latency("rankings", &d->ranking);
    printf("  the store  took %.2f million edges/s for its own part, in batches of %llu\n", rate * 1e-6,
           (unsigned long long)(d->edges.nnz / BATCHES));
    printf(
        "  snapshot   held since version %llu still shows its %llu edges, and %llu packages that need %s\n",
        (unsigned long long)held.version, (unsigned long long)held.nnz,
        (unsigned long long)result.reached - 1, d->name[d->package]);
    printf("  memory     %.1f MiB for %llu edges, the snapshot included\n", (double)info.bytes / 1048576,
           (unsigned long long)info.stored);
}

static void run(demo *d)
{
    dcsr_view *half = NULL, *last = NULL;
    check(dcsr_matrix_create(&d->matrix, d->context, DCSR_PATTERN, d->packages, d->packages, NULL));
    printf("%llu packages, %llu dependencies, in %d batches of which ten come a second.\n"
           "needed: packages that need %s, directly or not; first: the package ranked highest so far.\n\n",
           (unsigned long long)d->packages, (unsigned long long)d->edges.nnz, BATCHES, d->name[d->package]);
    start_reader(d, &d->search, keep_searching);
    start_reader(d, &d->ranking, keep_ranking);
    double rate = stream(d, &half);
    atomic_store(&d->stop, true);
    pthread_join(d->search.thread, NULL);
    pthread_join(d->ranking.thread, NULL);
    check(dcsr_view_create(&last, d->matrix, DCSR_LAYOUT_CSR, 0));
    print_foundations(d, last);
    print_removal(d, last);
    print_summary(d, half, rate);
    dcsr_view_destroy(last);
    dcsr_view_destroy(half);
    free_reader(&d->search);
    free_reader(&d->ranking);
    dcsr_matrix_destroy(d->matrix);
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 4) die("usage: demo EDGES NAMES [PACKAGE]");
    demo d = {.lock = PTHREAD_MUTEX_INITIALIZER};
    check(dcsr_context_create(&d.context, NULL));
    read_names(&d, argv[2]);
    dcsr_read_options square = {.rows = d.packages, .cols = d.packages};
    check(dcsr_coo_read(&d.edges, d.context, argv[1], &square));
    if (!d.edges.nnz) die("there are no dependencies");
    d.package = find_package(&d, argc > 3 ? argv[3] : "libc6");
    if (d.package == d.packages) {
        if (argc > 3) die("there is no such package; names as in `apt-cache pkgnames`");
        d.package = d.edges.col_indices[0];
    }
    run(&d);
    for (uint64_t p = 0; p < d.packages; p++) free(d.name[p]);
    free(d.name);
    dcsr_coo_free(&d.edges);
    dcsr_context_destroy(d.context);
    if (fflush(stdout)) die("cannot write to standard output");
    return 0;
}
