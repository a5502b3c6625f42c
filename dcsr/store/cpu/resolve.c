/* resolve.c: combining the duplicates and applying the tombstones of one row.
 *
 * A row is mostly an ascending stretch that was resolved before and a few entries that have come since. Those
 * are sorted by column, stably, so that each column's entries stay in order of time, and merged into the
 * stretch with the matrix's policy (merge.c). */
#include "dcsr/store/cpu/merge.h"
#include "dcsr/base/search.h"
#include <assert.h>
#include <string.h>

enum {
    INSERTION_LENGTH = 24, /* up to here insertion sort */
    MERGE_RUNS = 16        /* up to here ascending runs are merged, beyond sorted by radix */
};

dcsr_status dcsr_i_resolver_init(dcsr_i_resolver *resolver, dcsr_context *context, uint64_t capacity)
{
    *resolver = (dcsr_i_resolver){.context = context, .capacity = capacity};
    if (!capacity) return DCSR_OK;
    resolver->keys = dcsr_i_alloc(context, DCSR_I_SCRATCH, capacity, sizeof *resolver->keys);
    if (resolver->keys)
        resolver->spare = dcsr_i_alloc(context, DCSR_I_SCRATCH, capacity, sizeof *resolver->keys);
    if (resolver->spare)
        resolver->columns = dcsr_i_alloc(context, DCSR_I_SCRATCH, capacity, sizeof *resolver->columns);
    if (resolver->columns) return DCSR_OK;
    dcsr_i_resolver_free(resolver);
    return DCSR_ERROR_OUT_OF_MEMORY;
}

void dcsr_i_resolver_free(dcsr_i_resolver *resolver)
{
    const uint64_t capacity = resolver->capacity;
    dcsr_i_free(resolver->context, DCSR_I_SCRATCH, resolver->keys, capacity, sizeof *resolver->keys);
    dcsr_i_free(resolver->context, DCSR_I_SCRATCH, resolver->spare, capacity, sizeof *resolver->keys);
    dcsr_i_free(resolver->context, DCSR_I_SCRATCH, resolver->columns, capacity, sizeof *resolver->columns);
    resolver->keys = resolver->spare = NULL;
    resolver->columns = NULL;
}

static void insertion_sort(uint64_t *keys, uint64_t n)
{
    for (uint64_t i = 1; i < n; i++) {
        uint64_t moving = keys[i], j = i;
        for (; j > 0 && keys[j - 1] > moving; j--) keys[j] = keys[j - 1];
        keys[j] = moving;
    }
}

static void merge(uint64_t *to, const uint64_t *a, uint64_t na, const uint64_t *b, uint64_t nb)
{
    uint64_t i = 0, j = 0, k = 0;
    while (i < na && j < nb) {
        bool second = b[j] < a[i];
        to[k++] = second ? b[j] : a[i];
        j += second;
        i += !second;
    }
    memcpy(to + k, a + i, (na - i) * sizeof *to);
    memcpy(to + k, b + j, (nb - j) * sizeof *to);
}

/* Merges neighbouring runs until one is left; ends[] are where they end. */
static uint64_t *merge_runs(uint64_t *keys, uint64_t *spare, uint64_t *ends, int runs)
{
    while (runs > 1) {
        uint64_t begin = 0;
        int made = 0;
        for (int r = 0; r < runs; r += 2) {
            uint64_t middle = ends[r], end = r + 1 < runs ? ends[r + 1] : middle;
            merge(spare + begin, keys + begin, middle - begin, keys + middle, end - middle);
            ends[made++] = begin = end;
        }
        uint64_t *swap = keys;
        keys = spare, spare = swap;
        runs = made;
    }
    return keys;
}

uint64_t *dcsr_i_keys_sort(uint64_t *keys, uint64_t *spare, uint64_t n)
{
    uint64_t ends[MERGE_RUNS];
    int runs = 0;
    if (n <= INSERTION_LENGTH) {
        insertion_sort(keys, n);
        return keys;
    }
    for (uint64_t i = 1; i < n; i++) {
        if (keys[i - 1] < keys[i]) continue;
        if (runs == MERGE_RUNS - 1) return dcsr_i_sort(keys, spare, n, 1, 32, 31, 1);
        ends[runs++] = i;
    }
    ends[runs++] = n;
    return merge_runs(keys, spare, ends, runs);
}

/* A row being resolved: where its entries are, by position along the row. */
typedef struct row {
    dcsr_matrix *matrix;
    const dcsr_i_piece *pieces;
    uint64_t ends[DCSR_MAX_SEGMENTS]; /* position behind each piece */
    uint64_t length;
    uint64_t head; /* entries of the ascending beginning */
} row;

/* The arena index of a position. */
static inline uint64_t place_of(const row *w, uint64_t position)
{
    int k = 0;
    while (position >= w->ends[k]) k++;
    return w->pieces[k].begin + position - (k ? w->ends[k - 1] : 0);
}

static inline uint32_t column_at(const row *w, uint64_t position)
{
    return w->matrix->arena.columns[place_of(w, position)];
}

/* How many entries from the beginning ascend and hold no tombstone: what was resolved or inserted before,
 * mostly all but the last few. Equal neighbours may be among them where duplicates are kept. */
static uint64_t ascending_head(const row *w, bool keep)
{
    const uint32_t *columns = w->matrix->arena.columns;
    uint64_t position = 0, least = 0; /* the next column must be at least this */
    for (int k = 0; position < w->length; k++)
        for (uint64_t i = w->pieces[k].begin; i < w->pieces[k].begin + w->pieces[k].length; i++, position++) {
            if (columns[i] < least || (columns[i] & DCSR_I_TOMBSTONE)) return position;
            least = columns[i] + (uint64_t)!keep;
        }
    return position;
}

/* The first position from `from` on in the head whose column is not below `column`, by doubling steps and
 * bisection: the next one is mostly near. */
static uint64_t seek(const row *w, uint64_t from, uint64_t column)
{
    uint64_t step = 1, low = from, high = from;
    while (high < w->head && column_at(w, high) < column) {
        low = high + 1;
        high += step;
        step *= 2;
    }
    if (high > w->head) high = w->head;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (column_at(w, middle) < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static row row_of(dcsr_matrix *matrix, const dcsr_i_piece *pieces, int count, bool keep)
{
    row w = {.matrix = matrix, .pieces = pieces};
    for (int k = 0; k < count; k++) w.ends[k] = w.length += pieces[k].length;
    w.head = ascending_head(&w, keep);
    return w;
}

/* The entries behind the head as keys, column and position; returns how many they are. */
static uint64_t tail_keys(const row *w, uint64_t *keys)
{
    uint64_t tail = 0;
    for (uint64_t position = w->head; position < w->length; position++)
        keys[tail++] = (uint64_t)(column_at(w, position) & ~DCSR_I_TOMBSTONE) << 32 | position;
    return tail;
}

/* ---- Merging ---- */

/* The columns and values of `n` sorted keys: stored entries, by their position, and behind those of the row the
 * ones of `more`. The values are written into the array that sorting has left free. */
static dcsr_i_later gather(const row *w, const uint64_t *keys, uint64_t n, const dcsr_i_later *more,
                           uint32_t *columns, char *values)
{
    const size_t size = w->matrix->value_size;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t position = keys[i] & UINT32_MAX;
        bool stored = position < w->length;
        uint64_t at = stored ? place_of(w, position) : position - w->length;
        columns[i] = stored ? w->matrix->arena.columns[at] : more->columns[at];
        if (size)
            memcpy(values + i * size, (stored ? w->matrix->arena.values : more->values) + at * size, size);
    }
    return (dcsr_i_later){columns, values, n};
}

/* What comes after the head, sorted: entries of the row and those of `more`. */
static dcsr_i_later sorted_rest(dcsr_i_resolver *resolver, const row *w, const dcsr_i_later *more)
{
    uint64_t n = tail_keys(w, resolver->keys);
    for (uint64_t i = 0; i < more->n; i++)
        resolver->keys[n++] = (uint64_t)(more->columns[i] & ~DCSR_I_TOMBSTONE) << 32 | (w->length + i);
    assert(n <= resolver->capacity);
    const uint64_t *keys = dcsr_i_keys_sort(resolver->keys, resolver->spare, n);
    return gather(w, keys, n, more, resolver->columns,
                  (char *)(keys == resolver->keys ? resolver->spare : resolver->keys));
}

dcsr_i_merge_result dcsr_i_resolve_with(dcsr_i_resolver *resolver, dcsr_matrix *matrix,
                                        const dcsr_i_stretch *stretch, const dcsr_i_later *more, uint64_t to)
{
    const bool keep = matrix->policy == DCSR_POLICY_KEEP;
    const size_t size = matrix->value_size;
    const uint64_t begin = stretch->count ? stretch->pieces[0].begin : 0;
    row w = {.matrix = matrix, .pieces = stretch->pieces};
    for (int k = 0; k < stretch->count; k++) w.ends[k] = w.length += stretch->pieces[k].length;
    if (stretch->count) w.head = stretch->ascends ? w.ends[0] : ascending_head(&w, keep);
    if (stretch->count && w.head > w.ends[0]) w.head = w.ends[0];
    return dcsr_i_merge(&(dcsr_i_merge_job){
        .head_columns = matrix->arena.columns + begin,
        .head_values = matrix->arena.values + begin * size,
        .head = w.head,
        .later = w.head < w.length ? sorted_rest(resolver, &w, more) : *more,
        .columns = matrix->arena.columns + to,
        .values = matrix->arena.values + to * size,
        .size = size,
        .combine = dcsr_i_combiner(matrix->type, matrix->policy),
        .keep = keep,
    });
}

/* How many entries of a row that ascends have a column below the limit. */
static uint64_t below(const uint32_t *columns, uint64_t n, uint64_t limit)
{
    return limit < DCSR_MAX_COLS ? dcsr_i_list_find(columns, 0, n, limit) : n;
}

uint64_t dcsr_i_resolve_row(dcsr_i_resolver *resolver, dcsr_matrix *matrix, const dcsr_i_stretch *stretch,
                            uint64_t column_limit, uint64_t to)
{
    uint64_t left = dcsr_i_resolve_with(resolver, matrix, stretch, &(dcsr_i_later){0}, to).length;
    return below(matrix->arena.columns + to, left, column_limit);
}

/* ---- Counting ---- */

/* The most entries behind the head that are sorted in memory of the stack; the columns that one round of
 * counting without sorting looks at. */
enum { FEW_SORTED = 512, WINDOW = 1 << 18 };

/* How many entries of a column are left, of so many in the head and of those that came after them: keys[0] to
 * keys[n - 1]. */
static uint64_t count_column(const row *w, uint64_t in_head, const uint64_t *keys, uint64_t n, bool keep)
{
    uint64_t left = in_head;
    for (uint64_t i = 0; i < n; i++) {
        bool deletes = column_at(w, keys[i] & UINT32_MAX) & DCSR_I_TOMBSTONE;
        left = deletes ? 0 : keep ? left + 1 : 1;
    }
    return left;
}

/* With what came after the head sorted. */
static uint64_t count_sorted(dcsr_i_resolver *resolver, const row *w, bool keep)
{
    const uint64_t tail = tail_keys(w, resolver->keys),
                   *keys = dcsr_i_keys_sort(resolver->keys, resolver->spare, tail);
    uint64_t left = w->head, next = 0;
    for (uint64_t i = 0, n; i < tail; i += n) {
        uint64_t column = keys[i] >> 32, in_head = 0;
        for (n = 0; i + n < tail && keys[i + n] >> 32 == column;) n++;
        next = seek(w, next, column);
        while (next + in_head < w->head && column_at(w, next + in_head) == column) in_head++;
        left += count_column(w, in_head, keys + i, n, keep) - in_head;
        next += in_head;
    }
    return left;
}

/* Where there is no memory for sorting: from the last entry to the first, in rounds of as many columns as
 * there are bits for. A column's bit says that what stands earlier does not count. */
static uint64_t count_in_windows(const uint32_t *columns, const dcsr_i_piece *pieces, int count, bool keep)
{
    uint64_t done[WINDOW / 64], left = 0;
    for (uint64_t base = 0, beyond; base != UINT64_MAX; base = beyond) {
        beyond = UINT64_MAX;
        memset(done, 0, sizeof done);
        for (int k = count; k-- > 0;)
            for (const uint32_t *at = columns + pieces[k].begin + pieces[k].length;
                 at-- > columns + pieces[k].begin;) {
                uint64_t column = *at & ~DCSR_I_TOMBSTONE, place = column - base;
                if (column < base) continue;
                if (place >= WINDOW) {
                    if (column < beyond) beyond = column;
                    continue;
                }
                uint64_t bit = (uint64_t)1 << place % 64;
                if (done[place / 64] & bit) continue;
                left += !(*at & DCSR_I_TOMBSTONE);
                if (!keep || *at & DCSR_I_TOMBSTONE) done[place / 64] |= bit;
            }
    }
    return left;
}

/* How many entries of a row would be left if it were resolved. Needs no memory, but is faster with some if
 * the row is long and does not ascend. */
static uint64_t count_row(dcsr_matrix *matrix, const dcsr_i_piece *pieces, int count)
{
    bool keep = matrix->policy == DCSR_POLICY_KEEP;
    row w = row_of(matrix, pieces, count, keep);
    uint64_t few[2][FEW_SORTED], tail = w.length - w.head;
    if (tail <= FEW_SORTED)
        return count_sorted(&(dcsr_i_resolver){.keys = few[0], .spare = few[1], .capacity = FEW_SORTED}, &w,
                            keep);
    dcsr_i_resolver resolver;
    dcsr_status status = dcsr_i_resolver_init(&resolver, matrix->context, tail);
    uint64_t left = status == DCSR_OK ? count_sorted(&resolver, &w, keep)
                                      : count_in_windows(matrix->arena.columns, pieces, count, keep);
    dcsr_i_resolver_free(&resolver);
    return left;
}

/* Of the rows of pages first to end - 1 that are not resolved. */
static uint64_t count_gone(dcsr_matrix *matrix, const dcsr_i_table *table, uint64_t first, uint64_t end,
                           uint64_t *unresolved)
{
    const dcsr_i_row_page *page;
    uint64_t gone = 0;
    for (uint64_t p = first; (page = dcsr_i_next_page(table, &p)) && p < end; p++)
        for (uint64_t mask = page->duplicates | page->tombstones; mask; mask &= mask - 1) {
            dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
            unsigned r = (unsigned)__builtin_ctzll(mask);
            int count = dcsr_i_row_pieces(page, r, pieces);
            gone += page->length[r] - count_row(matrix, pieces, count);
            *unresolved += page->length[r];
        }
    return gone;
}

uint64_t dcsr_i_count_live(dcsr_matrix *matrix, const dcsr_i_table *table, uint64_t *unresolved)
{
    *unresolved = 0;
    if (!table->duplicate_rows && !table->tombstone_rows) return table->stored;
    if (atomic_load(&matrix->versions.ascending) == table->version) return table->stored;
    const uint64_t pages = dcsr_i_page_count(table);
    int threads = dcsr_i_threads(matrix->context, table->stored);
    const uint64_t parts = threads > 1 ? 16 * (uint64_t)threads : 1;
    uint64_t gone = 0, entries = 0;
#pragma omp parallel for num_threads(threads) schedule(dynamic) reduction(+ : gone, entries) if (threads > 1)
    for (uint64_t t = 0; t < parts; t++) {
        uint64_t here = 0;
        gone += count_gone(matrix, table, pages * t / parts, pages * (t + 1) / parts, &here);
        entries += here;
    }
    *unresolved = entries;
    return table->stored - gone;
}
