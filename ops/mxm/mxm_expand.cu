/* mxm_expand.cu: kernels that write down the products of two sparse matrices.
 *
 * The entries of B's rows, one row for each entry of A, are gone through in tiles of equal length (balanced_walk.cuh).
 * Where a mask names the places that are wanted, each product is looked up among those of its row, twice: to
 * count, and to write those that are wanted, one behind the other.
 *
 * Bytes a product: 4 and B's value are read, in pieces as long as rows of B, 8 and the value written. With
 * places 4 more are read, and the way to its place in the list twice, mostly from the cache; what is not
 * wanted is neither multiplied nor written. */
#include "dcsr/device/reduce.cuh"
#include "dcsr/store/cuda/balanced_walk.cuh"
#include "ops/mxm/mxm_cuda.h"
#include "ops/algebra/semiring.cuh"

DCSR_CUDA_INLINE uint64_t row_of(uint64_t key)
{
    return key >> 32;
}

/* ---- A's entries ---- */

static __global__ void mark(const uint64_t *keys, uint64_t n, const uint64_t *place_offsets, uint32_t *keep)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < n; k += dcsr_i_cuda_step()) {
        uint64_t row = row_of(keys[k]);
        keep[k] = place_offsets[row] != place_offsets[row + 1];
    }
}

void dcsr_i_cuda_mxm_mark(dcsr_i_cuda_stream *stream, const uint64_t *keys, uint64_t n,
                          const uint64_t *place_offsets, uint32_t *keep)
{
    dcsr_i_cuda_launch(stream, mark, n, keys, n, place_offsets, keep);
}

/* ---- Portions ---- */

/* The first k from `from` on, up to n, for which is_behind(k) holds; it then does for all after it. */
template <class Is> DCSR_CUDA_INLINE uint64_t find_first(uint64_t from, uint64_t n, Is is_behind)
{
    while (from < n) {
        uint64_t middle = from + (n - from) / 2;
        if (is_behind(middle))
            n = middle;
        else
            from = middle + 1;
    }
    return from;
}

/* One thread: as many rows as fit, or one. */
static __global__ void find_cut(dcsr_i_cuda_cut *cut, const uint64_t *keys, const uint64_t *offsets,
                                uint64_t n, uint64_t begin, uint64_t most)
{
    const uint64_t last = offsets[begin] + most;
    uint64_t end = find_first(begin, n, [=](uint64_t k) { return offsets[k + 1] > last; });
    if (end < n) { /* that entry is too much, and so is its row */
        uint64_t row = row_of(keys[end]);
        if (row == row_of(keys[begin])) row++;
        end = find_first(begin, n, [=](uint64_t k) { return row_of(keys[k]) >= row; });
    }
    *cut = {end, offsets[end]};
}

void dcsr_i_cuda_mxm_cut(dcsr_i_cuda_stream *stream, dcsr_i_cuda_cut *cut, const uint64_t *keys,
                         const uint64_t *offsets, uint64_t n, uint64_t begin, uint64_t most)
{
    dcsr_i_cuda_launch_with({1, 1}, stream, find_cut, 1, cut, keys, offsets, n, begin, most);
}

/* ---- Products ---- */

namespace
{
template <class T> struct factors {
    uint64_t key; /* of the product */
    T x, y;
};
} // namespace

DCSR_CUDA_INLINE uint64_t key_of(const dcsr_i_cuda_products &p, uint64_t i, uint64_t place)
{
    return row_of(p.keys[i]) << 32 | p.walk.rows.columns[place];
}

/* Of entry i of A and the entry of B that stands at a place. */
template <class T>
DCSR_CUDA_INLINE factors<T> load_factors(const dcsr_i_cuda_products &p, uint64_t i, uint64_t place)
{
    factors<T> f = {key_of(p, i, place), T(1), T(1)};
    const dcsr_i_cuda_rows &b = p.walk.rows;
    if (p.x) f.x = ((const T *)p.x)[i];
    if (p.reads_y)
        f.y = b.type == (uint32_t)p.type ? ((const T *)b.values)[place]
                                         : dcsr_i_cuda_load_cast<T>(b.type, b.values, place);
    return f;
}

template <class T>
DCSR_CUDA_INLINE void store_product(const dcsr_i_cuda_products &p, const dcsr_i_cuda_coo &to, uint64_t at,
                                    const factors<T> &f)
{
    to.keys[at] = f.key;
    if (!to.values) return;
    T product = dcsr_i_cuda_operate<T>(p.multiply, f.x, f.y);
    if (to.type == p.type)
        ((T *)to.values)[at] = product;
    else
        ((bool *)to.values)[at] = product != T(0);
}

/* All of them. */
template <class T>
static __global__ void DCSR_CUDA_WALK_BOUNDS expand_all(dcsr_i_cuda_products p, dcsr_i_cuda_coo to)
{
    const uint64_t before = p.walk.offsets[0];
    dcsr_i_cuda_for_entries(
        p.walk,
        [&](const dcsr_i_cuda_entry &entry, const dcsr_i_cuda_source &source) {
            return load_factors<T>(p, entry.i, source.place);
        },
        [&](const dcsr_i_cuda_entry &entry, const factors<T> &f) {
            store_product(p, to, entry.e - before, f);
        });
}

/* ---- Those that are wanted ---- */

DCSR_CUDA_INLINE bool is_wanted(const dcsr_i_cuda_products &p, uint64_t key)
{
    uint64_t row = row_of(key), end = p.place_offsets[row + 1];
    uint64_t k = find_first(p.place_offsets[row], end, [&](uint64_t i) { return p.places[i] >= key; });
    return k < end && p.places[k] == key;
}

/* Calls each(part, number, i, place) for the products that are wanted, which are numbered in each part, and
 * end(part, count), with one lane, for each part. A part is a tile of the walk. */
template <class Each, class End>
DCSR_CUDA_INLINE void for_wanted(const dcsr_i_cuda_products &p, Each each, End end)
{
    const uint64_t before = p.walk.offsets[0];
    const unsigned lane = dcsr_i_cuda_lane();
    dcsr_i_cuda_for_tiles(
        p.walk, [&](const dcsr_i_cuda_tile &tile, uint64_t first, uint64_t d, uint32_t left) {
            uint64_t part = (d - before) / DCSR_CUDA_TILE_ITEMS;
            uint32_t count = 0;
            for (uint32_t k = 0; k < DCSR_CUDA_WALK_ITEMS; k++) {
                uint32_t j = k * 32 + lane, at = dcsr_i_cuda_mark_of(tile, j), n = tile.row[at];
                bool is_entry = j < left && n != DCSR_CUDA_NONE;
                uint64_t i = first + n, place = tile.shift[at] + j;
                bool wanted = is_entry && is_wanted(p, key_of(p, i, place));
                uint32_t all = __ballot_sync(DCSR_CUDA_ALL_LANES, wanted);
                if (wanted) each(part, count + (uint32_t)__popc(all & ((1u << lane) - 1)), i, place);
                count += (uint32_t)__popc(all);
            }
            if (lane == 0) end(part, count);
        });
}

static __global__ void DCSR_CUDA_WALK_BOUNDS count_wanted(dcsr_i_cuda_products p, uint64_t *counts)
{
    for_wanted(
        p, [](uint64_t, uint32_t, uint64_t, uint64_t) {},
        [=](uint64_t part, uint32_t count) { counts[part] = count; });
}

template <class T>
static __global__ void DCSR_CUDA_WALK_BOUNDS expand_wanted(dcsr_i_cuda_products p, const uint64_t *starts,
                                                           dcsr_i_cuda_coo to)
{
    for_wanted(
        p,
        [&](uint64_t part, uint32_t number, uint64_t i, uint64_t place) {
            store_product(p, to, starts[part] + number, load_factors<T>(p, i, place));
        },
        [](uint64_t, uint32_t) {});
}

uint64_t dcsr_i_cuda_mxm_parts(const dcsr_i_cuda_products *p)
{
    return (p->count + p->walk.count + DCSR_CUDA_TILE_ITEMS - 1) / DCSR_CUDA_TILE_ITEMS;
}

void dcsr_i_cuda_mxm_count(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_products *p, uint64_t *counts)
{
    dcsr_i_cuda_launch_walk(stream, count_wanted, p->count, p->walk.count, *p, counts);
}

void dcsr_i_cuda_mxm_expand(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_products *p, const uint64_t *starts,
                            const dcsr_i_cuda_coo *to)
{
    dcsr_i_cuda_with_type(p->type, [=](auto value) {
        typedef decltype(value) T;
        if (starts)
            dcsr_i_cuda_launch_walk(stream, expand_wanted<T>, p->count, p->walk.count, *p, starts, *to);
        else
            dcsr_i_cuda_launch_walk(stream, expand_all<T>, p->count, p->walk.count, *p, *to);
    });
}
