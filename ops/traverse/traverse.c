/* traverse.c: breadth-first search from some vertices with a queue, level by level, top-down.
 *
 * A vertex is reached once, by whoever sets its bit in `visited` first; the bits (rows / 8 bytes) stay in
 * cache where the levels would not. A long row is read in blocks: first the columns whose bit is not set are
 * picked without a branch (their bits are the cache misses, and many are under way at once), then those few
 * are claimed.
 *
 *      queue    | reached at 0 | 1 1 1 | 2 2 2 2 2 2 2 | . . . free          each vertex stands in it once
 *                                      head: frontier  tail
 *
 * A small frontier is walked by one thread, or, where its rows are long, by several that claim bits
 * atomically. While a large one is walked nothing is queued, and each thread claims in a copy of the bits,
 * since one bit set in a shared word costs every other thread the cache line. The next frontier is then read
 * off the bits that are new in any copy, in ascending order, so that rows and levels are visited in the order
 * in which they lie in memory. */
#include <dcsr/traverse.h>
#include "dcsr/base/alloc.h"
#include "dcsr/base/error.h"
#include "dcsr/store/rowtable.h"
#include "ops/rows/column_bits.h"
#include "ops/rows/row_prefetch.h"
#include "ops/traverse/traverse_cuda.h"
#include "ops/traverse/traverse_rows.h"
#include <omp.h>
#include <stdatomic.h>
#include <string.h>

enum {
    BLOCK = 256,       /* columns that are filtered before the unvisited ones are claimed */
    SHORT = 8,         /* pieces of at most this many entries are not filtered first */
    PART = 256,        /* the most vertices of the frontier that a thread takes at a time */
    MOST_THREADS = 32, /* each needs a bit a vertex */
    SCAN_WORDS = 512,  /* words of bits that a thread takes at a time */
    SAMPLE = 64,       /* rows whose length is looked at to guess the work of a frontier */
    DENSE_SHARE = 256  /* a frontier of more than 1/256 of the vertices is large */
};

typedef struct search {
    const dcsr_i_traverse_parts *parts;
    uint64_t vertices, stored; /* entries that the rows have */
    int32_t *level;
    uint32_t *queue;
    _Atomic uint64_t tail;
    _Atomic uint64_t *visited;
    _Atomic uint64_t *own; /* bits of each thread for itself, while a large frontier is walked */
    int owners;            /* threads there is room for in it */
    int walkers;           /* threads that took part in the last walk together */
    uint64_t words;        /* of bits, for all vertices */
    uint64_t frontier_end; /* in the queue */
    int32_t depth;         /* level of what is being found */
} search;

/* Where a walk puts the vertices it has claimed: straight into the queue, or, where threads share it, into a
 * buffer. */
typedef struct finds {
    _Atomic uint64_t *bits; /* what it claims in */
    uint32_t *vertex;
    uint64_t count;
    uint32_t buffer[BLOCK];
} finds;

/* How a walk goes: whether other threads claim in the same bits, and whether the next frontier will be
 * collected from the bits rather than queued. */
typedef struct manner {
    bool shared, dense;
} manner;

static void flush(search *s, finds *f)
{
    uint64_t at = atomic_fetch_add_explicit(&s->tail, f->count, memory_order_relaxed);
    memcpy(s->queue + at, f->buffer, f->count * sizeof *f->buffer);
    f->count = 0;
}

/* Sets the bit of v if it is clear, and keeps v. */
static inline void claim(search *s, finds *f, uint32_t v, manner how)
{
    _Atomic uint64_t *word = &f->bits[v >> 6];
    uint64_t bit = (uint64_t)1 << (v & 63);
    uint64_t old = atomic_load_explicit(word, memory_order_relaxed);
    if (old & bit) return;
    if (!how.shared)
        atomic_store_explicit(word, old | bit, memory_order_relaxed);
    else if (atomic_fetch_or_explicit(word, bit, memory_order_relaxed) & bit)
        return;
    if (how.dense) return;
    s->level[v] = s->depth;
    f->vertex[f->count++] = v;
}

/* Copies the unvisited ones of n <= BLOCK columns to `fresh`; returns how many. */
static inline unsigned pick_unvisited(_Atomic uint64_t *visited, uint32_t fresh[BLOCK + 16],
                                      const uint32_t *columns, uint64_t n)
{
    unsigned count = 0;
#ifdef DCSR_I_AVX512
    for (uint64_t k = 0; k < n; k += 16) {
        dcsr_i_columns16 c = dcsr_i_columns16_load(columns + k, n - k);
        __mmask16 seen = dcsr_i_columns16_set(c, (const void *)visited);
        count += dcsr_i_columns16_store(fresh + count, c, c.live & (__mmask16)~seen);
    }
#else
    for (uint64_t k = 0; k < n; k++) {
        uint64_t bits = atomic_load_explicit(&visited[columns[k] >> 6], memory_order_relaxed);
        fresh[count] = columns[k];
        count += !(bits >> (columns[k] & 63) & 1);
    }
#endif
    return count;
}

/* Claims what is unvisited among n <= BLOCK columns. */
static inline void visit_block(search *s, finds *f, const uint32_t *columns, uint64_t n, manner how)
{
    if (n <= SHORT) {
        if (how.shared && f->count + n > BLOCK) flush(s, f);
        for (uint64_t k = 0; k < n; k++) claim(s, f, columns[k], how);
        return;
    }
    uint32_t fresh[BLOCK + 16];
    unsigned count = pick_unvisited(f->bits, fresh, columns, n);
    if (how.shared && f->count + count > BLOCK) flush(s, f);
    for (unsigned k = 0; k < count; k++) claim(s, f, fresh[k], how);
}

/* The rows that have a vertex, and which of them is its. */
static inline const dcsr_i_rows *rows_of(const search *s, uint64_t *vertex)
{
    const dcsr_i_traverse_parts *parts = s->parts;
    uint64_t low = 0, high = parts->count;
    while (high - low > 1) {
        const uint64_t middle = (low + high) / 2;
        if (parts->begin[middle] <= *vertex)
            low = middle;
        else
            high = middle;
    }
    *vertex -= parts->begin[low];
    return parts->rows[low];
}

/* Walks the rows of queue[first .. last-1]; returns how many entries they have. */
DCSR_I_PREFETCH uint64_t walk(search *s, finds *f, uint64_t first, uint64_t last, manner how)
{
    const bool whole = s->parts->count == 1;
    uint64_t edges = 0;
    for (uint64_t i = first; i < last; i++) {
        if (whole) dcsr_i_rows_prefetch(s->parts->rows[0], s->queue, i, s->frontier_end, 0);
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        uint64_t row = s->queue[i];
        const dcsr_i_rows *rows = rows_of(s, &row);
        int count = dcsr_i_rows_pieces(rows, row, pieces);
        for (int k = 0; k < count; k++) {
            const uint32_t *columns = rows->columns + pieces[k].begin;
            uint64_t left = pieces[k].length;
            edges += left;
            for (; left > BLOCK; left -= BLOCK, columns += BLOCK) visit_block(s, f, columns, BLOCK, how);
            visit_block(s, f, columns, left, how);
        }
    }
    return edges;
}

/* Walks the frontier queue[head .. tail-1] with one thread. */
static uint64_t walk_alone(search *s, uint64_t head, uint64_t tail)
{
    finds f;
    f.bits = s->visited;
    f.vertex = s->queue + tail;
    f.count = 0;
    uint64_t edges = walk(s, &f, head, tail, (manner){false, false});
    atomic_store_explicit(&s->tail, tail + f.count, memory_order_relaxed);
    return edges;
}

/* The same with several threads; a dense walk claims in bits of the thread's own, which are those visited so
 * far to begin with. */
static uint64_t walk_together(search *s, uint64_t head, uint64_t tail, bool dense, int threads)
{
    uint64_t edges = 0, part = (tail - head) / ((uint64_t)threads * 8);
    part = part < 1 ? 1 : part > PART ? PART : part;
    uint64_t parts = (tail - head + part - 1) / part;
#pragma omp parallel num_threads(threads) reduction(+ : edges)
    {
        finds f;
        f.bits = dense ? s->own + (uint64_t)omp_get_thread_num() * s->words : s->visited;
        f.vertex = f.buffer;
        f.count = 0;
        if (dense) memcpy((void *)f.bits, (const void *)s->visited, s->words * sizeof *f.bits);
        if (omp_get_thread_num() == 0) s->walkers = omp_get_num_threads();
#pragma omp for schedule(dynamic, 1)
        for (uint64_t p = 0; p < parts; p++) {
            uint64_t first = head + p * part, last = first + part < tail ? first + part : tail;
            edges += dense ? walk(s, &f, first, last, (manner){false, true})
                           : walk(s, &f, first, last, (manner){true, false});
        }
        flush(s, &f);
    }
    return edges;
}

/* After a dense walk, for one stretch of words: queues the vertices whose bits are new in any thread's, in
 * ascending order, and gives them their level. */
static void collect_words(search *s, uint64_t first, uint64_t last)
{
    uint64_t count = 0;
    for (uint64_t w = first; w < last; w++) {
        uint64_t bits = 0;
        for (int t = 0; t < s->walkers; t++)
            bits |= atomic_load_explicit(&s->own[(uint64_t)t * s->words + w], memory_order_relaxed);
        atomic_store_explicit(&s->own[w], bits, memory_order_relaxed);
        count += (uint64_t)__builtin_popcountll(bits &
                                                ~atomic_load_explicit(&s->visited[w], memory_order_relaxed));
    }
    if (!count) return;
    uint32_t *to = s->queue + atomic_fetch_add_explicit(&s->tail, count, memory_order_relaxed);
    for (uint64_t w = first; w < last; w++) {
        uint64_t bits = atomic_load_explicit(&s->own[w], memory_order_relaxed);
        uint64_t fresh = bits & ~atomic_load_explicit(&s->visited[w], memory_order_relaxed);
        atomic_store_explicit(&s->visited[w], bits, memory_order_relaxed);
        for (; fresh; fresh &= fresh - 1) {
            uint32_t v = (uint32_t)(w << 6 | (unsigned)__builtin_ctzll(fresh));
            s->level[v] = s->depth;
            *to++ = v;
        }
    }
}

static void collect(search *s, int threads)
{
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (uint64_t w = 0; w < s->words; w += SCAN_WORDS)
        collect_words(s, w, w + SCAN_WORDS < s->words ? w + SCAN_WORDS : s->words);
}

/* Entries in the rows of the frontier, about: by the mean row where it is large, else by a sample. */
static uint64_t work_ahead(const search *s, uint64_t head, uint64_t tail, bool dense)
{
    if (dense) return (tail - head) * (1 + s->stored / s->vertices);
    uint64_t work = 0, stride = 1 + (tail - head) / SAMPLE;
    for (uint64_t i = head; i < tail; i += stride) {
        uint64_t row = s->queue[i];
        const dcsr_i_rows *rows = rows_of(s, &row);
        work += 1 + dcsr_i_rows_length(rows, row);
    }
    return work * stride;
}

/* Queues the sources, each once; returns how many they are. */
static uint64_t begin(search *s, uint64_t n, const uint64_t *sources)
{
    finds f;
    f.bits = s->visited;
    f.vertex = s->queue;
    f.count = 0;
    for (uint64_t k = 0; k < n; k++) claim(s, &f, (uint32_t)sources[k], (manner){false, false});
    return f.count;
}

static void search_levels(search *s, uint64_t n, const uint64_t *sources, dcsr_traverse_result *result)
{
    uint64_t head = 0, tail = begin(s, n, sources);
    *result = (dcsr_traverse_result){.reached = tail};
    atomic_init(&s->tail, tail);
    for (s->depth = 1; head < tail; s->depth++) {
        bool dense = tail - head > s->vertices / DENSE_SHARE;
        int threads = dcsr_i_threads(s->parts->team, work_ahead(s, head, tail, dense));
        if (threads > s->owners) threads = s->owners;
        s->frontier_end = tail;
        result->edges +=
            threads > 1 || dense ? walk_together(s, head, tail, dense, threads) : walk_alone(s, head, tail);
        if (dense) collect(s, threads);
        head = tail;
        tail = atomic_load_explicit(&s->tail, memory_order_relaxed);
        if (head == tail) break;
        result->reached = tail;
        result->max_level = (uint64_t)s->depth;
        result->level_sum += (uint64_t)s->depth * (tail - head);
    }
}

/* level and *found are written only when nothing can fail any more. */
dcsr_status dcsr_i_traverse_rows(int32_t *level, dcsr_traverse_result *found,
                                 const dcsr_i_traverse_parts *parts, uint64_t n, const uint64_t *sources)
{
    dcsr_context *context = parts->context;
    uint64_t vertices = parts->begin[parts->count], words = (vertices + 63) / 64;
    uint32_t *queue = dcsr_i_alloc(context, DCSR_I_SCRATCH, vertices, sizeof *queue);
    int owners = dcsr_i_threads(parts->team, UINT64_MAX);
    if (owners > MOST_THREADS) owners = MOST_THREADS;
    uint64_t own_words = words * (uint64_t)owners;
    _Atomic uint64_t *own = queue ? dcsr_i_alloc(context, DCSR_I_SCRATCH, own_words, sizeof *own) : NULL;
    _Atomic uint64_t *visited = own ? dcsr_i_calloc(context, DCSR_I_SCRATCH, words, sizeof *visited) : NULL;
    dcsr_status status = visited ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
    if (status == DCSR_OK) {
        memset(level, 0xff, vertices * sizeof *level);
        search s = {.parts = parts,
                    .vertices = vertices,
                    .level = level,
                    .queue = queue,
                    .visited = visited,
                    .own = own,
                    .owners = owners,
                    .words = words};
        for (uint64_t k = 0; k < parts->count; k++) s.stored += dcsr_i_rows_stored(parts->rows[k]);
        search_levels(&s, n, sources, found);
    }
    dcsr_i_free(context, DCSR_I_SCRATCH, (void *)visited, words, sizeof *visited);
    dcsr_i_free(context, DCSR_I_SCRATCH, (void *)own, own_words, sizeof *own);
    dcsr_i_free(context, DCSR_I_SCRATCH, queue, vertices, sizeof *queue);
    return status;
}

static dcsr_status traverse_on_host(int32_t *level, dcsr_traverse_result *found, dcsr_view *A, uint64_t n,
                                    const uint64_t *sources)
{
    const dcsr_i_rows *rows = dcsr_i_view_rows(A);
    const uint64_t begin[] = {0, rows->rows};
    dcsr_context *context = dcsr_i_view_context(A);
    return dcsr_i_traverse_rows(level, found, &(dcsr_i_traverse_parts){1, &rows, begin, context, context}, n,
                                sources);
}

static dcsr_i_traverse *const device_traverse = DCSR_I_IN_CUDA(dcsr_i_cuda_traverse);

static dcsr_status traverse(int32_t *level, dcsr_traverse_result *found, dcsr_view *A, uint64_t n,
                            const uint64_t *sources)
{
    bool there = dcsr_i_view_rows(A)->on_device;
    return (there ? device_traverse : traverse_on_host)(level, found, A, n, sources);
}

static dcsr_status check(const int32_t *level, const dcsr_view *A, uint64_t n, const uint64_t *sources)
{
    DCSR_TRY(dcsr_i_view_check(A));
    const dcsr_i_rows *rows = dcsr_i_view_rows(A);
    if (rows->rows != rows->cols)
        return dcsr_i_fail(
            DCSR_ERROR_DIMENSION_MISMATCH,
            "traverse: the matrix has %llu rows and %llu columns; a graph needs as many of both",
            (unsigned long long)rows->rows, (unsigned long long)rows->cols);
    if (!sources && n)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "traverse: sources is NULL, but n is %zu", n);
    for (uint64_t k = 0; k < n; k++)
        if (sources[k] >= rows->rows)
            return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE,
                               "traverse: source %llu is no vertex; the graph has %llu, counted from 0",
                               (unsigned long long)sources[k], (unsigned long long)rows->rows);
    if (!level && rows->rows)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "traverse: level is NULL; give it rows elements");
    return DCSR_OK;
}

dcsr_status dcsr_traverse(int32_t *level, dcsr_traverse_result *result, dcsr_view *A, uint64_t n,
                          const uint64_t *sources)
{
    DCSR_TRY(check(level, A, n, sources));
    const dcsr_i_rows *rows = dcsr_i_view_rows(A);
    dcsr_traverse_result found = {0};
    if (rows->rows) DCSR_TRY(traverse(level, &found, A, n, sources));
    if (result) *result = found;
    /* The cost model counts readings of all rows. */
    if (found.edges >= dcsr_i_rows_stored(rows) / 2) dcsr_i_view_was_read(A);
    return DCSR_OK;
}
