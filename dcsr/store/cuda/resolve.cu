/* resolve.cu: combining the duplicates of rows and applying their tombstones.
 *
 * All entries of the rows are sorted by row and column, stably, so that those of one place stand side by side
 * in order of time: a run. A tombstone erases what is before it in its run, and the policy combines what is
 * after it.
 *
 * Moved per entry: 20 bytes to make its key, 32 per pass of the sort (a pass for each 8 bits of row and
 * column), 28 and the value to fold it, 12 to rank it, and 24, its column and its value to write it. */
#include "dcsr/device/combine.cuh"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/store/cuda/rewrite_cuda.h"
#include "dcsr/store/cuda/balanced_walk.cuh"
#include "dcsr/device/value_word.cuh"

/* In `from`: the entry is a tombstone. */
#define ERASES ((uint64_t)1 << 63)

enum {
    LONG_RUN = 64 /* from here on a run is folded by a warp */
};

/* ---- Keys ---- */

static __global__ void DCSR_CUDA_WALK_BOUNDS make_keys(dcsr_i_cuda_walk walk, int column_bits, uint64_t *keys,
                                                       uint64_t *from)
{
    const uint64_t first = walk.offsets[0];
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &entry, const dcsr_i_cuda_source &source) {
            uint32_t column = walk.rows.columns[source.place];
            from[entry.e - first] = source.place | (column & DCSR_CUDA_TOMBSTONE ? ERASES : 0);
            return column & ~DCSR_CUDA_TOMBSTONE;
        },
        [&](const dcsr_i_cuda_entry &entry, uint32_t column) {
            keys[entry.e - first] = entry.i << column_bits | column;
        });
}

/* ---- Folding runs ---- */

namespace
{
/* What a stretch of a run comes to. */
struct stretch {
    uint64_t first; /* entry behind its last tombstone; its first if there is none */
    uint64_t word;  /* all entries from there on, combined */
    bool any;       /* there are some */
    bool erases;    /* what is before the stretch */
};

/* What folding works on, by value. */
struct fold_work {
    const uint64_t *keys, *from;
    uint64_t n, column_limit, column_mask;
    const char *values; /* NULL for pattern */
    uint32_t type, value_size;
    int policy;
    bool keep;
    uint32_t *stays;
    uint64_t *words; /* NULL for pattern */
};
} // namespace

DCSR_CUDA_INLINE uint64_t word_of(const fold_work &work, uint64_t x)
{
    return work.values ? dcsr_i_cuda_load_word(work.values, work.value_size, work.from[x]) : 0;
}

DCSR_CUDA_INLINE uint64_t combine(const fold_work &work, uint64_t into, uint64_t word)
{
    return dcsr_i_cuda_combine_words((int)work.type, work.policy, into, word);
}

DCSR_CUDA_INLINE stretch fold(const fold_work &work, uint64_t begin, uint64_t end)
{
    stretch s = {begin, 0, false, false};
    for (uint64_t x = begin; x < end; x++) {
        if (work.from[x] & ERASES) {
            s = {x + 1, 0, false, true};
            continue;
        }
        uint64_t word = word_of(work, x);
        s.word = s.any ? combine(work, s.word, word) : word;
        s.any = true;
    }
    return s;
}

/* One stretch and the next. */
DCSR_CUDA_INLINE stretch join(const fold_work &work, const stretch &a, const stretch &b)
{
    if (b.erases) return b;
    stretch s = a;
    if (b.any) s.word = a.any ? combine(work, a.word, b.word) : b.word;
    s.any = a.any || b.any;
    return s;
}

/* The same by a whole warp, for which each lane folds a part; all lanes get it. */
DCSR_CUDA_INLINE stretch fold_by_warp(const fold_work &work, uint64_t begin, uint64_t end)
{
    const unsigned all = 0xffffffffu;
    uint64_t part = (end - begin + 31) / 32, from = begin + dcsr_i_cuda_lane() * part;
    if (from > end) from = end;
    stretch s = fold(work, from, end - from < part ? end : from + part);
    for (unsigned distance = 1; distance < 32; distance *= 2) {
        stretch next = {__shfl_down_sync(all, s.first, distance), __shfl_down_sync(all, s.word, distance),
                        __shfl_down_sync(all, (int)s.any, distance) != 0,
                        __shfl_down_sync(all, (int)s.erases, distance) != 0};
        s = join(work, s, next); /* right in lanes 0, 2 distance, ...; in lane 0 at the end */
    }
    return {__shfl_sync(all, s.first, 0), __shfl_sync(all, s.word, 0), __shfl_sync(all, (int)s.any, 0) != 0,
            __shfl_sync(all, (int)s.erases, 0) != 0};
}

/* Notes for entries begin, begin + step, ... of a run that ends at `end` which of them stay: those behind the
 * last tombstone, or the first for all of these. Columns from the limit on do not. */
DCSR_CUDA_INLINE void finish_stretch(const fold_work &work, const stretch &s, uint64_t begin, uint64_t end,
                                     unsigned offset, unsigned step)
{
    bool within = (work.keys[begin] & work.column_mask) < work.column_limit;
    for (uint64_t x = begin + offset; x < end; x += step) {
        bool stays = within && (work.keep ? x >= s.first : x == begin && s.any);
        work.stays[x] = stays;
        if (stays && work.words) work.words[x] = work.keep ? word_of(work, x) : s.word;
    }
}

/* Behind the last entry of the run that begins with x. */
DCSR_CUDA_INLINE uint64_t run_end(const fold_work &work, uint64_t x)
{
    uint64_t key = work.keys[x], low = x, step = 1;
    while (low + step < work.n && work.keys[low + step] == key) {
        low += step;
        step *= 2;
    }
    uint64_t high = low + step < work.n ? low + step : work.n;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (work.keys[middle] == key)
            low = middle;
        else
            high = middle;
    }
    return high;
}

static __global__ void fold_runs(fold_work work)
{
    for (uint64_t chunk = dcsr_i_cuda_first_warp(); chunk * 32 < work.n; chunk += dcsr_i_cuda_warp_step()) {
        uint64_t x = chunk * 32 + dcsr_i_cuda_lane(), end = x;
        if (x < work.n && (x == 0 || work.keys[x - 1] != work.keys[x])) end = run_end(work, x);
        bool is_long = end - x >= LONG_RUN;
        if (end > x && !is_long) finish_stretch(work, fold(work, x, end), x, end, 0, 1);
        for (unsigned mask = __ballot_sync(0xffffffffu, is_long); mask; mask &= mask - 1) {
            int lane = __ffs((int)mask) - 1;
            uint64_t begin = chunk * 32 + (unsigned)lane, its_end = __shfl_sync(0xffffffffu, end, lane);
            stretch s = fold_by_warp(work, begin, its_end);
            finish_stretch(work, s, begin, its_end, dcsr_i_cuda_lane(), 32);
        }
    }
}

/* ---- A group ---- */

static int bits_of(uint64_t largest)
{
    int bits = 0;
    for (; largest; largest >>= 1) bits++;
    return bits;
}

dcsr_status dcsr_i_cuda_resolve_group(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rewriting *work,
                                      dcsr_i_cuda_group *group, uint64_t **words, uint64_t **rank)
{
    uint64_t count = group->end - group->first;
    dcsr_i_cuda_walk walk = {work->rows, work->list + group->first, count, work->resolved + group->first};
    dcsr_i_cuda_launch_walk(stream, make_keys, group->n, count, walk, work->column_bits, group->keys,
                            group->from);
    DCSR_TRY(dcsr_i_cuda_sort(stream, &group->keys, &group->keys_spare, &group->from, &group->from_spare,
                              group->n, 0, work->column_bits + bits_of(count - 1)));
    *words = work->rows.value_size ? group->keys_spare : NULL;
    *rank = group->from_spare;
    fold_work folding = {group->keys,
                         group->from,
                         group->n,
                         work->column_limit,
                         ((uint64_t)1 << work->column_bits) - 1,
                         work->rows.values,
                         work->rows.type,
                         work->rows.value_size,
                         work->policy,
                         work->keep,
                         group->stays,
                         *words};
    dcsr_i_cuda_launch_warps(stream, fold_runs, (group->n + 31) / 32, folding);
    return dcsr_i_cuda_scan_u32(stream, group->stays, *rank, group->n);
}

static __global__ void write_group(dcsr_i_cuda_rewriting work, dcsr_i_cuda_group group, const uint64_t *words,
                                   const uint64_t *rank)
{
    const uint64_t column_mask = ((uint64_t)1 << work.column_bits) - 1, first = work.resolved[group.first];
    for (uint64_t x = dcsr_i_cuda_first(); x < group.n; x += dcsr_i_cuda_step()) {
        if (rank[x] == rank[x + 1]) continue;
        uint64_t i = group.first + (group.keys[x] >> work.column_bits);
        uint64_t at = work.begin[i] + rank[x] - rank[work.resolved[i] - first];
        work.rows.columns[at] = (uint32_t)(group.keys[x] & column_mask);
        if (words) dcsr_i_cuda_store_word(work.rows.values, work.rows.value_size, at, words[x]);
    }
}

void dcsr_i_cuda_write_group(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rewriting *work,
                             const dcsr_i_cuda_group *group, const uint64_t *words, const uint64_t *rank)
{
    dcsr_i_cuda_launch(stream, write_group, group->n, *work, *group, words, rank);
}

static __global__ void list_group(dcsr_i_cuda_rewriting work, dcsr_i_cuda_group group, const uint64_t *words,
                                  const uint64_t *rank, uint64_t *keys, void *values)
{
    const uint64_t column_mask = ((uint64_t)1 << work.column_bits) - 1;
    for (uint64_t x = dcsr_i_cuda_first(); x < group.n; x += dcsr_i_cuda_step()) {
        if (rank[x] == rank[x + 1]) continue;
        uint64_t row = work.list[group.first + (group.keys[x] >> work.column_bits)];
        keys[rank[x]] = row << 32 | (group.keys[x] & column_mask);
        if (words) dcsr_i_cuda_store_word(values, work.rows.value_size, rank[x], words[x]);
    }
}

void dcsr_i_cuda_list_group(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rewriting *work,
                            const dcsr_i_cuda_group *group, const uint64_t *words, const uint64_t *rank,
                            uint64_t *keys, void *values)
{
    dcsr_i_cuda_launch(stream, list_group, group->n, *work, *group, words, rank, keys, values);
}
