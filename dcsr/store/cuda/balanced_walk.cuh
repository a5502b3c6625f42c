/* balanced_walk.cuh: visiting the entries of a walk (gather_cuda.h), evenly shared among warps and lanes (internal; in
 * kernels).
 *
 * Rows may be empty or hold half the matrix, so neither rows nor entries alone are what to share. A row
 * weighs its entries and one more, and warps take tiles of equal weight; an item is an entry or the end of a
 * row:
 *
 *      rows      row 0: a b c, in two pieces     row 1: empty     row 2: d e f g
 *      items     a b c . . d e f g .
 *      tiles    [       |       |    )
 *      marks     x   x x x x     x x
 *
 * A lane for each row of a tile marks where in it pieces begin and rows end, and notes there what is known of
 * the piece. An item then belongs to the last mark up to it, which a bitmap tells. So what is looked up per
 * row is looked up once in a tile, and the work per entry does not depend on where the entries are. */
#ifndef DCSR_BALANCED_WALK_CUH
#define DCSR_BALANCED_WALK_CUH

#include "dcsr/store/cuda/gather_cuda.h"
#include "dcsr/device/stream.cuh"

/* Items that a lane has under way at once: few in the emulator, so that tests see many tiles. */
#ifdef DCSR_SIMT
enum { DCSR_CUDA_WALK_ITEMS = 2 };
#else
enum { DCSR_CUDA_WALK_ITEMS = 8 };
#endif
enum {
    DCSR_CUDA_WALK_THREADS = 256,
    DCSR_CUDA_TILE_ITEMS = 32 * DCSR_CUDA_WALK_ITEMS,
    DCSR_CUDA_TILE_WORDS = DCSR_CUDA_WALK_ITEMS
};
/* Four blocks on a multiprocessor have enough loads under way between them. */
#define DCSR_CUDA_WALK_BOUNDS __launch_bounds__(DCSR_CUDA_WALK_THREADS, 4)

/* An entry of a walk, and where it is. */
struct dcsr_i_cuda_entry {
    uint64_t i; /* which row of the list */
    uint64_t e; /* which entry of the walk: offsets[i] + its position in the row */
};
struct dcsr_i_cuda_source {
    uint64_t place; /* in columns and values */
    bool follows;   /* the entry before it in the row, which is there then, is at place - 1 */
};

/* What a warp knows of its tile, in shared memory. */
struct dcsr_i_cuda_tile {
    /* Where a piece is marked: what to add to the number of an item to get the entry's place. */
    uint64_t shift[DCSR_CUDA_TILE_ITEMS];
    uint64_t next; /* the row that the next tile begins with */
    /* Where one is marked: which row of the tile it is of; NONE: the item is the end of a row. */
    uint32_t row[DCSR_CUDA_TILE_ITEMS];
    uint32_t marks[DCSR_CUDA_TILE_WORDS]; /* a bit for each item */
    uint32_t last[DCSR_CUDA_TILE_WORDS];  /* the last mark before each word of bits */
};

/* The threads of a block, and how many blocks have a tile for each of their warps. */
inline unsigned dcsr_i_cuda_walk_threads()
{
    return dcsr_i_cuda_threads(dcsr_i_cuda_policy{DCSR_CUDA_WALK_THREADS, DCSR_CUDA_WALK_ITEMS});
}
inline uint64_t dcsr_i_cuda_walk_blocks(uint64_t entries, uint64_t rows)
{
    uint64_t items = (uint64_t)DCSR_CUDA_TILE_ITEMS * (dcsr_i_cuda_walk_threads() / 32);
    return (entries + rows + items - 1) / items;
}

/* Runs a kernel that calls dcsr_i_cuda_for_entries(), for a walk of so many entries at most. */
template <class... P, class... A>
void dcsr_i_cuda_launch_walk(dcsr_i_cuda_stream *stream, void (*kernel)(P...), uint64_t entries,
                             uint64_t rows, A... arguments)
{
    unsigned threads = dcsr_i_cuda_walk_threads();
    if (!entries) return;
    dcsr_i_cuda_launch_blocks(stream, kernel, dcsr_i_cuda_walk_blocks(entries, rows), (int)threads,
                              threads / 32 * sizeof(dcsr_i_cuda_tile), arguments...);
}

DCSR_CUDA_INLINE uint64_t dcsr_i_cuda_row_of(const dcsr_i_cuda_walk &walk, uint64_t i)
{
    return walk.list ? walk.list[i] : i;
}

/* Where the entry at a position of a row is. */
DCSR_CUDA_INLINE uint64_t dcsr_i_cuda_place_of(const dcsr_i_cuda_rows &rows, uint64_t row, uint64_t position)
{
    uint64_t place = 0, before = 0;
    dcsr_i_cuda_for_pieces(rows, row, [&](uint64_t begin, uint64_t length) {
        if (position >= before && position - before < length) place = begin + position - before;
        before += length;
    });
    return place;
}

/* The row that an item is of, by bisection of offsets[i] + i into 33 parts at a time; by a whole warp. */
DCSR_CUDA_INLINE uint64_t dcsr_i_cuda_find_row(const dcsr_i_cuda_walk &walk, uint64_t item)
{
    uint64_t low = 0, high = walk.count; /* it is low, or between the two */
    while (high - low > 1) {
        uint64_t part = (high - low + 32) / 33, probe = low + part * (dcsr_i_cuda_lane() + 1);
        bool up_to = probe < high && walk.offsets[probe] + probe <= item;
        low += part * (unsigned)__popc(__ballot_sync(0xffffffffu, up_to));
        if (high - low > part) high = low + part;
    }
    return low;
}

DCSR_CUDA_INLINE void dcsr_i_cuda_mark(dcsr_i_cuda_tile &tile, uint32_t at, uint32_t row, uint64_t shift)
{
    tile.row[at] = row;
    tile.shift[at] = shift;
    atomicOr(&tile.marks[at / 32], 1u << (at & 31));
}

/* Marks what the tile that begins with item d has of its rows, the first of which is given. */
DCSR_CUDA_INLINE void dcsr_i_cuda_mark_rows(const dcsr_i_cuda_walk &walk, dcsr_i_cuda_tile &tile,
                                            uint64_t first, uint64_t d, int64_t items)
{
    for (uint64_t i = first + dcsr_i_cuda_lane(); i < walk.count; i += 32) {
        bool fragmented;
        uint64_t row = dcsr_i_cuda_row_of(walk, i);
        const uint64_t *place = dcsr_i_cuda_place_of(walk.rows, row, &fragmented);
        /* Items of the tile; the row may begin before it and end behind it. */
        int64_t begin = (int64_t)(walk.offsets[i] + i - d), end = (int64_t)(walk.offsets[i + 1] + i - d);
        if (begin >= items) break;
        uint32_t n = (uint32_t)(i - first);
        if (end < items) dcsr_i_cuda_mark(tile, (uint32_t)end, DCSR_CUDA_NONE, 0);
        if (end + 1 >= items) tile.next = end + 1 > items ? i : i + 1;
        if (begin == end) continue;
        if (!fragmented) {
            if (end > 0)
                dcsr_i_cuda_mark(tile, begin > 0 ? (uint32_t)begin : 0, n,
                                 dcsr_i_segment_begin({*place}) - (uint64_t)begin);
            continue;
        }
        dcsr_i_cuda_for_pieces(walk.rows, row, [&](uint64_t at, uint64_t length) {
            int64_t from = begin;
            begin += (int64_t)length;
            if (begin > 0 && from < items)
                dcsr_i_cuda_mark(tile, from > 0 ? (uint32_t)from : 0, n, at - (uint64_t)from);
        });
    }
}

/* Finds the last mark before each word. */
DCSR_CUDA_INLINE void dcsr_i_cuda_find_last(dcsr_i_cuda_tile &tile)
{
    const uint32_t w = dcsr_i_cuda_lane(), bits = w < DCSR_CUDA_TILE_WORDS ? tile.marks[w] : 0;
    uint32_t last = bits ? w * 32 + 31 - (uint32_t)__clz((int)bits) : 0;
    for (unsigned distance = 1; distance < DCSR_CUDA_TILE_WORDS; distance *= 2) {
        uint32_t other = __shfl_up_sync(0xffffffffu, last, distance);
        if (w >= distance && other > last) last = other;
    }
    last = __shfl_up_sync(0xffffffffu, last, 1);
    if (w < DCSR_CUDA_TILE_WORDS) tile.last[w] = last;
}

/* The mark that item j belongs to. */
DCSR_CUDA_INLINE uint32_t dcsr_i_cuda_mark_of(const dcsr_i_cuda_tile &tile, uint32_t j)
{
    uint32_t bits = tile.marks[j / 32] & ((2u << (j & 31)) - 1);
    return bits ? (j | 31) - (uint32_t)__clz((int)bits) : tile.last[j / 32];
}

/* The items of a walk, ends of rows among them. */
DCSR_CUDA_INLINE uint64_t dcsr_i_cuda_weight(const dcsr_i_cuda_walk &walk)
{
    return walk.offsets[walk.count] - walk.offsets[0] + walk.count;
}

/* How many items a tile should have where there are more warps than full tiles: each gets some. */
DCSR_CUDA_INLINE uint32_t dcsr_i_cuda_spread_items(const dcsr_i_cuda_walk &walk)
{
    const uint64_t lanes = dcsr_i_cuda_step(), of_lane = (dcsr_i_cuda_weight(walk) + lanes - 1) / lanes;
    return 32 *
           static_cast<uint32_t>(of_lane < DCSR_CUDA_WALK_ITEMS ? of_lane : (uint64_t)DCSR_CUDA_WALK_ITEMS);
}

/* For each tile of the calling warp, in order: visit(tile, first, d, left), where item d is the tile's first,
 * of row `first` of the list, and `left` items are to be visited. The warp's tiles are neighbours. All lanes
 * of all warps must call; launched with dcsr_i_cuda_launch_walk(). Tiles are of `items` items, whole warps of them. */
template <class Visit>
DCSR_CUDA_INLINE void dcsr_i_cuda_for_tiles(const dcsr_i_cuda_walk &walk, Visit visit,
                                            uint32_t items = DCSR_CUDA_TILE_ITEMS)
{
    SIMT_SHARED_DYN(dcsr_i_cuda_tile, tiles);
    dcsr_i_cuda_tile &tile = tiles[threadIdx.x / 32];
    const unsigned lane = dcsr_i_cuda_lane();

    /* Each warp takes neighbouring tiles, so that it has to look for a row only once. */
    const uint64_t weight = dcsr_i_cuda_weight(walk), warps = dcsr_i_cuda_warp_step();
    const uint64_t count = (weight + items - 1) / items;
    const uint64_t share = (count + warps - 1) / warps * items, skip = dcsr_i_cuda_first_warp() * share;
    if (skip >= weight) return;
    uint64_t d = walk.offsets[0] + skip, end = d + (weight - skip < share ? weight - skip : share);
    uint64_t first = dcsr_i_cuda_find_row(walk, d);
    for (; d < end; d += items) {
        if (lane < DCSR_CUDA_TILE_WORDS) tile.marks[lane] = 0;
        __syncwarp();
        dcsr_i_cuda_mark_rows(walk, tile, first, d, items);
        __syncwarp();
        dcsr_i_cuda_find_last(tile);
        __syncwarp();
        visit(tile, first, d, static_cast<uint32_t>(end - d < items ? end - d : items));
        first = tile.next;
        __syncwarp();
    }
}

/* For each entry of the walk: store(entry, load(entry, source)). A lane loads several before it stores the
 * first, since it is loads under way that keep the memory busy. To be called as dcsr_i_cuda_for_tiles(). */
template <class Load, class Store>
DCSR_CUDA_INLINE void dcsr_i_cuda_for_entries(const dcsr_i_cuda_walk &walk, Load load, Store store,
                                              uint32_t items = DCSR_CUDA_TILE_ITEMS)
{
    const unsigned lane = dcsr_i_cuda_lane();
    const auto visit = [&](const dcsr_i_cuda_tile &tile, uint64_t first, uint64_t d, uint32_t left) {
        decltype(load(dcsr_i_cuda_entry(), dcsr_i_cuda_source())) loaded[DCSR_CUDA_WALK_ITEMS];
        for (uint32_t k = 0; k < DCSR_CUDA_WALK_ITEMS; k++) {
            uint32_t j = k * 32 + lane, at = dcsr_i_cuda_mark_of(tile, j), n = tile.row[at];
            if (j < left && n != DCSR_CUDA_NONE)
                loaded[k] = load(dcsr_i_cuda_entry{first + n, d - first + (j - n)},
                                 dcsr_i_cuda_source{tile.shift[at] + j, at != j});
        }
        for (uint32_t k = 0; k < DCSR_CUDA_WALK_ITEMS; k++) {
            uint32_t j = k * 32 + lane, n = tile.row[dcsr_i_cuda_mark_of(tile, j)];
            if (j < left && n != DCSR_CUDA_NONE)
                store(dcsr_i_cuda_entry{first + n, d - first + (j - n)}, loaded[k]);
        }
    };
    dcsr_i_cuda_for_tiles(walk, visit, items);
}

#endif
