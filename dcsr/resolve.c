/* resolve.c: combining the duplicates and applying the tombstones of one row.
 *
 * The row's entries are sorted by column, stably, so that each column's entries stay in order of time, and
 * folded with the matrix's policy. */
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

/* Sorts keys column << 32 | position. A row is mostly a few ascending runs: one of what was resolved before,
 * one per batch. */
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

uint64_t dcsr_i_resolve_row(dcsr_i_resolver *resolver, dcsr_matrix *matrix, const dcsr_i_piece *pieces,
                            int count, uint64_t column_limit, uint64_t to)
{
    uint32_t *columns = matrix->arena.columns;
    char *values = matrix->arena.values;
    size_t size = matrix->value_size;
    dcsr_i_combine combine = dcsr_i_combiner(matrix->type, matrix->policy);
    bool keep = matrix->policy == DCSR_POLICY_KEEP;

    /* Positions count along the row; `place` finds them again. */
    uint64_t n = 0, base[DCSR_MAX_SEGMENTS + 1];
    for (int k = 0; k < count; k++) {
        base[k] = pieces[k].begin - n;
        for (uint64_t e = 0; e < pieces[k].length; e++, n++)
            resolver->keys[n] = (uint64_t)(columns[pieces[k].begin + e] & ~DCSR_I_TOMBSTONE) << 32 | n;
    }
    assert(n <= resolver->capacity);
    const uint64_t *keys = sort_keys(resolver, n);

    uint64_t out = to, group = to; /* where the entries of the current column begin */
    uint64_t previous = UINT64_MAX;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t column = keys[i] >> 32, position = keys[i] & UINT32_MAX;
        if (column >= column_limit) break;
        if (column != previous) group = out, previous = column;
        int k = 0;
        for (uint64_t end = pieces[0].length; position >= end; end += pieces[k].length) k++;
        uint64_t at = base[k] + position;
        if (columns[at] & DCSR_I_TOMBSTONE) {
            out = group;
        } else if (out > group && !keep) {
            if (combine) combine(values + group * size, values + at * size);
        } else {
            columns[out] = (uint32_t)column;
            if (size) memcpy(values + out * size, values + at * size, size);
            out++;
        }
    }
    return out - to;
}

void dcsr_i_copy_entries(dcsr_matrix *matrix, uint64_t to, uint64_t from, uint64_t entries)
{
    size_t size = matrix->value_size;
    memcpy(matrix->arena.columns + to, matrix->arena.columns + from, entries * sizeof *matrix->arena.columns);
    if (size) memcpy(matrix->arena.values + to * size, matrix->arena.values + from * size, entries * size);
}
