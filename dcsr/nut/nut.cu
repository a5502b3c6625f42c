/* nut.cu: kernels that make tiles (nut_cuda.h). */
#include "dcsr/device/stream.cuh"
#include "dcsr/device/value_word.cuh"
#include "dcsr/nut/nut_cuda.h"
#include "dcsr/nut/nut_place.h"
#include "dcsr/store/cuda/balanced_walk.cuh"

namespace
{
/* What of the entry that follows has been counted: runs up to an entry. */
DCSR_CUDA_INLINE uint32_t low_runs(uint64_t runs)
{
    return (uint32_t)runs;
}
DCSR_CUDA_INLINE uint32_t high_runs(uint64_t runs)
{
    return (uint32_t)(runs >> 32);
}
constexpr uint64_t PLACE = ((uint64_t)1 << DCSR_CUDA_NUT_PLACE_BITS) - 1;
} // namespace

static __global__ void DCSR_CUDA_WALK_BOUNDS number(dcsr_i_cuda_walk walk, dcsr_i_cuda_nut_panels panels,
                                                    uint64_t *keys, uint64_t *payload)
{
    struct entry {
        uint32_t column;
        uint64_t place;
    };
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &, const dcsr_i_cuda_source &source) {
            return entry{walk.rows.columns[source.place], source.place};
        },
        [&](const dcsr_i_cuda_entry &e, const entry &x) {
            const uint64_t row = dcsr_i_cuda_row_of(walk, e.i),
                           panel = dcsr_i_list_find(panels.first_row, 0, panels.count, row + 1) - 1;
            keys[e.e] = panel << panels.column_bits | x.column;
            payload[e.e] = (row - panels.first_row[panel]) << DCSR_CUDA_NUT_PLACE_BITS | x.place;
        });
}

void dcsr_i_cuda_nut_number(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t entries,
                            const dcsr_i_cuda_nut_panels *panels, uint64_t *keys, uint64_t *payload)
{
    dcsr_i_cuda_launch_walk(stream, number, entries, walk->count, *walk, *panels, keys, payload);
}

static __global__ void count(dcsr_i_cuda_nut_panels panels, const uint64_t *runs, uint64_t *first)
{
    for (uint64_t k = dcsr_i_cuda_first(); k <= panels.count; k += dcsr_i_cuda_step())
        first[k] = low_runs(runs[panels.first_entry[k]]);
}

void dcsr_i_cuda_nut_count(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_nut_panels *panels,
                           const uint64_t *runs, uint64_t *first)
{
    dcsr_i_cuda_launch(stream, count, panels->count + 1, *panels, runs, first);
}

static __global__ void turn(dcsr_i_cuda_nut_panels panels, const uint64_t *runs, uint64_t entries,
                            uint64_t *keys, uint64_t *payload, uint32_t *columns)
{
    for (uint64_t e = dcsr_i_cuda_first(); e < entries; e += dcsr_i_cuda_step()) {
        const uint64_t key = keys[e], panel = key >> panels.column_bits, word = payload[e];
        const uint32_t before = low_runs(runs[e]), run = low_runs(runs[e + 1]) - 1,
                       active = run - low_runs(runs[panels.first_entry[panel]]);
        const uint64_t tile = panels.first_tile[panel] + active / panels.columns;
        if (run == before) columns[run] = (uint32_t)(key & (((uint64_t)1 << panels.column_bits) - 1));
        keys[e] = tile << DCSR_CUDA_NUT_ROW_BITS | word >> DCSR_CUDA_NUT_PLACE_BITS;
        payload[e] = (uint64_t)(active % panels.columns) << DCSR_CUDA_NUT_PLACE_BITS | (word & PLACE);
    }
}

void dcsr_i_cuda_nut_turn(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_nut_panels *panels,
                          const uint64_t *runs, uint64_t entries, uint64_t *keys, uint64_t *payload,
                          uint32_t *columns)
{
    dcsr_i_cuda_launch(stream, turn, entries, *panels, runs, entries, keys, payload, columns);
}

static __global__ void measure(const uint64_t *runs, uint64_t entries, uint64_t tiles, uint64_t *first_entry,
                               uint64_t *first_row)
{
    for (uint64_t e = dcsr_i_cuda_first(); e <= entries; e += dcsr_i_cuda_step()) {
        const uint32_t tile = high_runs(runs[e]);
        if (e < entries && high_runs(runs[e + 1]) == tile) continue;
        first_entry[e < entries ? tile : tiles] = e;
        first_row[e < entries ? tile : tiles] = low_runs(runs[e]);
    }
}

void dcsr_i_cuda_nut_measure(dcsr_i_cuda_stream *stream, const uint64_t *runs, uint64_t entries,
                             uint64_t tiles, uint64_t *first_entry, uint64_t *first_row)
{
    dcsr_i_cuda_launch(stream, measure, entries + 1, runs, entries, tiles, first_entry, first_row);
}

/* A block for each panel. */
static __global__ void open_panels(const dcsr_i_cuda_nut_target *targets, uint64_t panels,
                                   uint32_t value_size, const dcsr_nut_tile *tiles, const uint32_t *columns)
{
    for (uint64_t p = dcsr_i_cuda_first_block(); p < panels; p += dcsr_i_cuda_block_step()) {
        const dcsr_i_cuda_nut_target to = targets[p];
        for (uint64_t k = threadIdx.x; k < to.tile_count; k += blockDim.x)
            to.tiles[k] = tiles[to.first_tile + k];
        for (uint64_t k = threadIdx.x; k < to.column_count; k += blockDim.x)
            to.columns[k] = columns[to.first_column + k];
        for (uint64_t k = threadIdx.x; k < to.elements; k += blockDim.x) {
            to.indices[k] = -1;
            if (value_size) dcsr_i_cuda_store_word(to.values, value_size, k, 0);
        }
    }
}

void dcsr_i_cuda_nut_open_panels(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_nut_target *targets,
                                 uint64_t panels, uint32_t value_size, const dcsr_nut_tile *tiles,
                                 const uint32_t *columns)
{
    dcsr_i_cuda_launch_blocks(stream, open_panels, panels,
                              (int)dcsr_i_cuda_threads(dcsr_i_cuda_policy{256, 1}), 0, targets, panels,
                              value_size, tiles, columns);
}

/* Item i of a tile; returns the element that it has become. */
DCSR_CUDA_INLINE uint64_t put(const dcsr_i_cuda_nut_open &tile, uint32_t lanes, uint64_t i, int16_t index,
                              int16_t marker)
{
    bool first;
    const uint64_t element = dcsr_i_nut_place(lanes, tile.items, i, &first);
    tile.indices[element] = index;
    if (first) tile.indices[element % lanes] = marker;
    return element;
}

static __global__ void scatter(dcsr_i_cuda_nut_entries x, const dcsr_i_cuda_nut_open *tiles)
{
    for (uint64_t e = dcsr_i_cuda_first(); e < x.count; e += dcsr_i_cuda_step()) {
        const uint64_t key = x.keys[e], word = x.payload[e], runs = x.runs[e + 1];
        const dcsr_i_cuda_nut_open tile = tiles[key >> DCSR_CUDA_NUT_ROW_BITS];
        const int16_t marker = (int16_t) ~(key & ((1 << DCSR_CUDA_NUT_ROW_BITS) - 1));
        const uint64_t item = e - tile.first_entry + (low_runs(runs) - tile.first_row);
        if (low_runs(x.runs[e]) != low_runs(runs)) put(tile, x.lanes, item - 1, marker, marker);
        const uint64_t element =
            put(tile, x.lanes, item, (int16_t)(word >> DCSR_CUDA_NUT_PLACE_BITS), marker);
        if (x.value_size)
            dcsr_i_cuda_store_word(tile.values, x.value_size, element,
                                   dcsr_i_cuda_load_word(x.values, x.value_size, word & PLACE));
    }
}

void dcsr_i_cuda_nut_scatter(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_nut_entries *entries,
                             const dcsr_i_cuda_nut_open *tiles)
{
    dcsr_i_cuda_launch(stream, scatter, entries->count, *entries, tiles);
}
