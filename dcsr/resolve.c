/* resolve.c: combining the duplicates and applying the tombstones of one row.
 *
 * A row is mostly an ascending stretch that was resolved before and a few entries that have come since. Those
 * are sorted by column, stably, so that each column's entries stay in order of time, and folded into the
 * stretch with the matrix's policy. */
#include "dcsr/store.h"
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
    if (resolver->spare) return DCSR_OK;
    dcsr_i_resolver_free(resolver);
    return DCSR_ERROR_OUT_OF_MEMORY;
}

void dcsr_i_resolver_free(dcsr_i_resolver *resolver)
{
    dcsr_i_free(resolver->context, DCSR_I_SCRATCH, resolver->keys, resolver->capacity,
                sizeof *resolver->keys);
    dcsr_i_free(resolver->context, DCSR_I_SCRATCH, resolver->spare, resolver->capacity,
                sizeof *resolver->keys);
    resolver->keys = resolver->spare = NULL;
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

/* Sorts n keys column << 32 | position: mostly a few ascending runs, one per batch. */
static uint64_t *sort_keys(dcsr_i_resolver *resolver, uint64_t n)
{
    uint64_t ends[MERGE_RUNS];
    int runs = 0;
    uint64_t *keys = resolver->keys;
    if (n <= INSERTION_LENGTH) {
        insertion_sort(keys, n);
        return keys;
    }
    for (uint64_t i = 1; i < n; i++) {
        if (keys[i - 1] < keys[i]) continue;
        if (runs == MERGE_RUNS - 1) return dcsr_i_sort(keys, resolver->spare, n, 1, 32, 31, 1);
        ends[runs++] = i;
    }
    ends[runs++] = n;
    return merge_runs(keys, resolver->spare, ends, runs);
}

/* A row being resolved: where its entries are, by position along the row, and where the result goes. */
typedef struct row {
    dcsr_matrix *matrix;
    const dcsr_i_piece *pieces;
    uint64_t ends[DCSR_MAX_SEGMENTS]; /* position behind each piece */
    uint64_t length;
    uint64_t head; /* entries of the ascending beginning */
    uint64_t out;  /* the next place of the result */
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

/* Copies the entries at positions first to end - 1 of the head to the result. */
static void copy_head(row *w, uint64_t first, uint64_t end)
{
    for (int k = 0; first < end; k++) {
        if (first >= w->ends[k]) continue;
        uint64_t stop = w->ends[k] < end ? w->ends[k] : end;
        dcsr_i_copy_entries(w->matrix, w->out, place_of(w, first), stop - first);
        w->out += stop - first;
        first = stop;
    }
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

/* Adds the entry at arena index `at` to the result, whose entries of the same column begin at `group`. */
static inline void fold(row *w, uint64_t group, uint64_t at, uint32_t column, dcsr_i_combine combine,
                        bool keep)
{
    size_t size = w->matrix->value_size;
    char *values = w->matrix->arena.values;
    if (w->matrix->arena.columns[at] & DCSR_I_TOMBSTONE) {
        w->out = group;
    } else if (w->out > group && !keep) {
        if (combine) combine(values + group * size, values + at * size);
    } else {
        w->matrix->arena.columns[w->out] = column;
        if (size) memcpy(values + w->out * size, values + at * size, size);
        w->out++;
    }
}

/* The ascending head is copied in stretches; only what came after it is sorted, and folded in where its
 * columns belong. */
uint64_t dcsr_i_resolve_row(dcsr_i_resolver *resolver, dcsr_matrix *matrix, const dcsr_i_piece *pieces,
                            int count, uint64_t column_limit, uint64_t to)
{
    bool keep = matrix->policy == DCSR_POLICY_KEEP;
    dcsr_i_combine combine = dcsr_i_combiner(matrix->type, matrix->policy);
    row w = {.matrix = matrix, .pieces = pieces, .out = to};
    for (int k = 0; k < count; k++) w.ends[k] = w.length += pieces[k].length;
    assert(w.length <= resolver->capacity);
    w.head = ascending_head(&w, keep);

    uint64_t tail = 0;
    for (uint64_t position = w.head; position < w.length; position++)
        resolver->keys[tail++] = (uint64_t)(column_at(&w, position) & ~DCSR_I_TOMBSTONE) << 32 | position;
    const uint64_t *keys = sort_keys(resolver, tail);

    uint64_t next = 0; /* of the head */
    for (uint64_t i = 0; i < tail && keys[i] >> 32 < column_limit;) {
        uint64_t column = keys[i] >> 32, found = seek(&w, next, column);
        copy_head(&w, next, found);
        uint64_t group = w.out;
        for (next = found; next < w.head && column_at(&w, next) == column; next++)
            fold(&w, group, place_of(&w, next), (uint32_t)column, combine, keep);
        for (; i < tail && keys[i] >> 32 == column; i++)
            fold(&w, group, place_of(&w, keys[i] & UINT32_MAX), (uint32_t)column, combine, keep);
    }
    copy_head(&w, next, column_limit < DCSR_MAX_COLS ? seek(&w, next, column_limit) : w.head);
    return w.out - to;
}
