/* bulk.c: filling an empty matrix with entries in any order, by counting.
 *
 * What inserting does - keys of 64 bits, sorted, planned, scattered - is made for rows that have entries already.
 * Here all entries are known at once, and a matrix needs them by row. They go there in two steps, as in csc.c:
 *
 *      entries          thread 0's, thread 1's, ...             count: entries per thread and bucket of rows
 *        | spread: in the order given
 *        v
 *      buckets          | rows 0..1023 | 1024..2047 | ...       the entries' numbers, or the entries
 *        | order: one thread a bucket, which fits the cache: fetches the entries, sorts them by column, then by row
 *        |        (both stable), combines those of one position in the order given
 *        v
 *      the arena        | rows 0..1023 | 1024..2047 | ...       a bucket goes behind what was left of the one before
 *
 * Buckets are few enough that their open cache lines stay in the cache. Where neighbouring entries are mostly of one
 * bucket, as where they come element by element of a mesh, only their numbers are spread, 4 bytes each: what they
 * stand for is fetched from where the caller has it, almost in order, and the arena is touched only for what is left
 * after combining. Elsewhere, fetching would take a cache miss or three for each entry, so the entries are spread
 * themselves: columns and values into the arena, and beside it rows, 4 bytes each. A bucket's place never reaches
 * into one that has not been fetched yet. What comes out does not depend on the number of threads. */
#include "dcsr/base/alloc.h"
#include "dcsr/store/entries.h"
#include "dcsr/store/maintained_transpose.h"
#include <string.h>

enum {
    BUCKET_ENTRIES = 16384, /* of a bucket, about, so that it fits the second-level cache */
    MOST_BUCKETS = 2048,
    ROWS_PER_ENTRY = 4 /* with more rows, their lengths would take more than the entries */
};

typedef struct bulk {
    dcsr_matrix *matrix;
    const dcsr_i_entries *e;
    uint64_t rows, cols;
    int threads, shift; /* row >> shift is the bucket */
    uint64_t buckets;
    uint64_t *next;    /* per thread and bucket: how many entries; then where the next one goes */
    uint64_t *begin;   /* of each bucket, and the number of entries */
    bool moves;        /* the entries are spread, not their numbers */
    uint32_t *number;  /* by bucket, of each entry: its number; its row within the bucket where it is moved */
    uint32_t *lengths; /* of all rows, in the end */
    uint32_t *columns; /* places for all entries; */
    char *values;
    _Atomic uint64_t taken, placed; /* buckets: that threads have begun with; that have their places */
    uint64_t end;                   /* of these places */
} bulk;

/* Of a thread, for one bucket at a time. */
typedef struct workspace {
    dcsr_context *context;
    size_t value_size;
    dcsr_i_combine combine;
    bool adds_doubles; /* which is what that does */
    uint64_t capacity, rows;
    uint32_t *next; /* of each row: how many entries; where the next one goes; where the row ends */
    uint64_t *entries,
        *spare; /* keys column << 32 | row in the bucket, each followed by its value, if there are any */
    uint32_t *columns; /* columns and values by row */
    void *values;
} workspace;

/* Words of an entry. */
static uint64_t words_of(const workspace *w)
{
    return w->value_size ? 2 : 1;
}

/* The first entry of a thread; the number of entries behind the last. */
static uint64_t first_of(const bulk *b, int thread)
{
    uint64_t first = (b->e->n / (unsigned)b->threads + 1) * (unsigned)thread;
    return first < b->e->n ? first : b->e->n;
}

/* What is known of a bucket's entries, in the order given. */
typedef struct seen {
    uint32_t least, most; /* columns */
    uint64_t last;        /* row << 32 | column, plus 1 */
    bool ascends;         /* these, strictly */
} seen;

/* Writes the key of an entry to word `at`. */
static inline void take(workspace *w, seen *s, uint64_t at, uint32_t row, uint32_t column)
{
    const uint64_t position = (uint64_t)row << 32 | column;
    w->entries[at] = (uint64_t)column << 32 | row;
    w->next[row]++;
    s->ascends &= position >= s->last;
    s->last = position + 1;
    s->least = column < s->least ? column : s->least;
    s->most = column > s->most ? column : s->most;
}

/* From how many entries each row has to where they go. */
static void sum_rows(workspace *w)
{
    uint32_t sum = 0;
    for (uint64_t r = 0; r < w->rows; r++) {
        uint32_t length = w->next[r];
        w->next[r] = sum;
        sum += length;
    }
}

/* The lengths of a bucket's rows, in order, where nothing is combined. */
static void tell_lengths(const workspace *w, uint32_t *lengths, uint64_t rows)
{
    for (uint64_t r = 0; r < rows; r++) lengths[r] = w->next[r] - (r ? w->next[r - 1] : 0);
}

/* The most frequent of all combinations, in place of a call. */
static inline void add_doubles(void *into, const void *value)
{
    double a, b;
    memcpy(&a, into, sizeof a);
    memcpy(&b, value, sizeof b);
    a += b;
    memcpy(into, &a, sizeof a);
}

#define INCLUDED "dcsr/store/cpu/bulk.inc"
#include "dcsr/base/value_sizes.inc"

typedef struct passes {
    void (*move)(const bulk *b, int thread);
    uint64_t (*order)(const bulk *b, workspace *w, uint64_t bucket);
} passes;

static const passes *passes_of(size_t value_size)
{
    static const passes all[] = {[0] = {move_of_0, order_of_0},
                                 [1] = {move_of_1, order_of_1},
                                 [2] = {move_of_2, order_of_2},
                                 [4] = {move_of_4, order_of_4},
                                 [8] = {move_of_8, order_of_8}};
    return &all[value_size];
}

/* ---- Workspaces ---- */

/* Room for `capacity` entries, or none. */
static void workspace_drop(workspace *w)
{
    dcsr_i_free(w->context, DCSR_I_SCRATCH, w->values, w->capacity, w->value_size);
    dcsr_i_free(w->context, DCSR_I_SCRATCH, w->columns, w->capacity, sizeof *w->columns);
    dcsr_i_free(w->context, DCSR_I_SCRATCH, w->spare, w->capacity * words_of(w), sizeof *w->spare);
    dcsr_i_free(w->context, DCSR_I_SCRATCH, w->entries, w->capacity * words_of(w), sizeof *w->entries);
    w->values = NULL;
    w->columns = NULL;
    w->entries = w->spare = NULL;
    w->capacity = 0;
}

static bool workspace_fits(workspace *w, uint64_t entries)
{
    const uint64_t words = entries * words_of(w);
    if (w->capacity >= entries) return true;
    workspace_drop(w);
    w->capacity = entries;
    w->entries = dcsr_i_alloc(w->context, DCSR_I_SCRATCH, words, sizeof *w->entries);
    if (w->entries) w->spare = dcsr_i_alloc(w->context, DCSR_I_SCRATCH, words, sizeof *w->spare);
    if (w->spare) w->columns = dcsr_i_alloc(w->context, DCSR_I_SCRATCH, entries, sizeof *w->columns);
    if (w->columns) w->values = dcsr_i_alloc(w->context, DCSR_I_SCRATCH, entries, w->value_size);
    if (w->values) return true;
    workspace_drop(w);
    return false;
}

static bool workspace_open(workspace *w, const bulk *b)
{
    *w = (workspace){.context = b->matrix->context,
                     .value_size = b->matrix->value_size,
                     .combine = dcsr_i_combiner(b->matrix->type, b->matrix->policy),
                     .adds_doubles = b->matrix->type == DCSR_FP64 && b->matrix->policy == DCSR_POLICY_SUM,
                     .rows = (uint64_t)1 << b->shift};
    w->next = dcsr_i_alloc(w->context, DCSR_I_SCRATCH, w->rows, sizeof *w->next);
    return w->next != NULL;
}

static void workspace_close(workspace *w)
{
    workspace_drop(w);
    dcsr_i_free(w->context, DCSR_I_SCRATCH, w->next, w->rows, sizeof *w->next);
}

/* ---- Spreading ---- */

/* Counts a thread's entries by bucket; whether all of them are within the matrix. */
static bool count(const bulk *b, int thread)
{
    const uint64_t *rows = b->e->rows, *cols = b->e->cols;
    uint64_t *counts = b->next + (uint64_t)thread * b->buckets;
    uint64_t outside = 0, bucket = 0, run = 0; /* entries of one bucket that follow one another */
    memset(counts, 0, b->buckets * sizeof *counts);
    for (uint64_t i = first_of(b, thread), end = first_of(b, thread + 1); i < end; i++, run++) {
        outside |= cols[i] >= b->cols;
        if (rows[i] >= b->rows) return false;
        if (rows[i] >> b->shift == bucket) continue;
        counts[bucket] += run;
        bucket = rows[i] >> b->shift;
        run = 0;
    }
    counts[bucket] += run;
    return !outside;
}

/* From how many entries each thread has for each bucket to where they go; returns the most that a bucket has. */
static uint64_t sum_counts(const bulk *b)
{
    uint64_t sum = 0, most = 0;
    for (uint64_t bucket = 0; bucket < b->buckets; bucket++) {
        b->begin[bucket] = sum;
        for (int thread = 0; thread < b->threads; thread++) {
            uint64_t *next = &b->next[(uint64_t)thread * b->buckets + bucket], entries = *next;
            *next = sum;
            sum += entries;
        }
        if (sum - b->begin[bucket] > most) most = sum - b->begin[bucket];
    }
    b->begin[b->buckets] = sum;
    return most;
}

static void spread(const bulk *b, int thread)
{
    uint64_t *next = b->next + (uint64_t)thread * b->buckets, bucket = 0, at = *next;
    for (uint64_t i = first_of(b, thread), end = first_of(b, thread + 1); i < end; i++) {
        if (b->e->rows[i] >> b->shift != bucket) {
            next[bucket] = at;
            bucket = b->e->rows[i] >> b->shift;
            at = next[bucket];
        }
        b->number[at++] = (uint32_t)i;
    }
}

/* Whether neighbouring entries are mostly of different buckets, by a sample. */
static bool is_scattered(const bulk *b)
{
    enum { SAMPLES = 1024 };
    const uint64_t *rows = b->e->rows, step = b->e->n / SAMPLES + 1;
    uint64_t same = 0, sampled = 0;
    for (uint64_t i = 1; i < b->e->n; i += step, sampled++)
        same += rows[i] >> b->shift == rows[i - 1] >> b->shift;
    return same < sampled / 2;
}

/* ---- Ordering buckets ---- */

/* Waits until those before it have their places, and gives a bucket the next ones. */
static uint64_t places_for(bulk *b, uint64_t bucket, uint64_t entries)
{
    while (atomic_load(&b->placed) != bucket) dcsr_i_pause();
    uint64_t begin = b->end;
    b->end += entries;
    atomic_store(&b->placed, bucket + 1);
    return begin;
}

/* Orders buckets, one by one, until there are no more; whether there was memory for all. */
static bool order_some(bulk *b)
{
    uint64_t (*order)(const bulk *, workspace *, uint64_t) = passes_of(b->matrix->value_size)->order;
    workspace w;
    bool ready = workspace_open(&w, b);
    for (uint64_t bucket; (bucket = atomic_fetch_add(&b->taken, 1)) < b->buckets;) {
        ready = ready && workspace_fits(&w, b->begin[bucket + 1] - b->begin[bucket]);
        uint64_t left = ready ? order(b, &w, bucket) : 0, to = places_for(b, bucket, left);
        if (!left) continue;
        memcpy(b->columns + to, w.columns, left * sizeof *w.columns);
        if (w.value_size) memcpy(b->values + to * w.value_size, w.values, left * w.value_size);
    }
    workspace_close(&w);
    return ready;
}

/* ---- The whole ---- */

/* Of a filling, whose threads are as many as have counted. */
static dcsr_status fill_places(void *user, int threads, uint32_t *columns, void *values)
{
    bulk *b = user;
    int failed = 0;
    threads = b->threads;
    b->columns = columns;
    b->values = values;
#pragma omp parallel for num_threads(threads) schedule(static, 1) if (threads > 1)
    for (int thread = 0; thread < threads; thread++) {
        if (b->moves)
            passes_of(b->matrix->value_size)->move(b, thread);
        else
            spread(b, thread);
    }
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(+ : failed) if (threads > 1)
    for (int thread = 0; thread < threads; thread++) failed += !order_some(b);
    /* The sentence may have been another thread's. */
    return failed ? dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY, "ordering entries: no memory for a bucket of them")
                  : DCSR_OK;
}

static void lengths_of_rows(const void *user, uint64_t p, uint32_t length[DCSR_I_PAGE_ROWS])
{
    const bulk *b = user;
    uint64_t row = p << DCSR_I_PAGE_SHIFT, left = b->rows - row;
    memcpy(length, b->lengths + row, (left < DCSR_I_PAGE_ROWS ? left : DCSR_I_PAGE_ROWS) * sizeof *length);
}

/* Counts, then fills; *filled stays false where a bucket is too large. */
static dcsr_status fill(bulk *b, bool *filled)
{
    dcsr_context *context = b->matrix->context;
    const uint64_t pages = dcsr_i_page_count(b->matrix->versions.current);
    int outside = 0;
#pragma omp parallel for num_threads(b->threads) schedule(static, 1) reduction(+ : outside) if (b->threads > 1)
    for (int thread = 0; thread < b->threads; thread++) outside += !count(b, thread);
    if (outside) return dcsr_i_entries_fail(&(dcsr_i_packed){.rows = b->rows, .cols = b->cols}, b->e);
    if (sum_counts(b) > UINT32_MAX / 2) return DCSR_OK;
    dcsr_i_page_list list = {.count = pages, .capacity = pages};
    list.page = dcsr_i_alloc(context, DCSR_I_SCRATCH, pages, sizeof *list.page);
    if (!list.page) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t p = 0; p < pages; p++) list.page[p] = (uint32_t)p;
    dcsr_status status = dcsr_i_fill_rows(
        b->matrix, &(dcsr_i_filling){.entries = b->e->n,
                                     .copy = fill_places,
                                     .lengths = {.pages = &list, .lengths_of = lengths_of_rows, .user = b}});
    dcsr_i_page_list_free(&list, context);
    *filled = status == DCSR_OK;
    return status;
}

static void choose_buckets(bulk *b)
{
    uint64_t wanted = b->e->n / BUCKET_ENTRIES + 1;
    if (wanted > MOST_BUCKETS) wanted = MOST_BUCKETS;
    while ((b->rows - 1) >> b->shift >= wanted) b->shift++;
    b->buckets = ((b->rows - 1) >> b->shift) + 1;
}

/* With the arrays that it takes. */
static dcsr_status fill_with_arrays(bulk *b, bool *filled)
{
    dcsr_context *context = b->matrix->context;
    const uint64_t counters = (uint64_t)b->threads * b->buckets;
    b->next = dcsr_i_alloc(context, DCSR_I_SCRATCH, counters, sizeof *b->next);
    b->begin = dcsr_i_alloc(context, DCSR_I_SCRATCH, b->buckets + 1, sizeof *b->begin);
    b->number = dcsr_i_alloc(context, DCSR_I_SCRATCH, b->e->n, sizeof *b->number);
    b->lengths = dcsr_i_alloc(context, DCSR_I_SCRATCH, b->rows, sizeof *b->lengths);
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    if (b->next && b->begin && b->number && b->lengths) status = fill(b, filled);
    dcsr_i_free(context, DCSR_I_SCRATCH, b->lengths, b->rows, sizeof *b->lengths);
    dcsr_i_free(context, DCSR_I_SCRATCH, b->number, b->e->n, sizeof *b->number);
    dcsr_i_free(context, DCSR_I_SCRATCH, b->begin, b->buckets + 1, sizeof *b->begin);
    dcsr_i_free(context, DCSR_I_SCRATCH, b->next, counters, sizeof *b->next);
    return status;
}

dcsr_status dcsr_i_fill_entries(dcsr_matrix *matrix, const dcsr_i_entries *e, bool *filled)
{
    bulk b = {.matrix = matrix,
              .e = e,
              .rows = matrix->versions.current->rows,
              .cols = matrix->versions.current->cols,
              .threads = dcsr_i_threads(matrix->context, e->n)};
    *filled = false;
    DCSR_TRY(dcsr_i_entries_check(matrix, e));
    if (matrix->engine != &dcsr_i_cpu_engine || !e->n || e->n > UINT32_MAX || !b.rows ||
        b.rows / ROWS_PER_ENTRY > e->n)
        return DCSR_OK;
    choose_buckets(&b);
    b.moves = is_scattered(&b);
    DCSR_TRY(fill_with_arrays(&b, filled));
    if (!*filled) return DCSR_OK;
    if (matrix->policy != DCSR_POLICY_KEEP)
        atomic_store(&matrix->versions.ascending, matrix->versions.current->version);
    dcsr_i_arena_trim(&matrix->arena); /* of what combining has left over */
    atomic_fetch_add(&matrix->counts.inserted, e->n);
    atomic_fetch_add(&matrix->counts.batches, 1);
    dcsr_i_request_twin(matrix);
    return DCSR_OK;
}
