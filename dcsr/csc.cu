/* csc.cu: the transpose of a matrix on a device.
 *
 * Bytes an entry: making keys reads it and writes 8, or 16 with its value; a pass of the sort (8 bits of the
 * column each) reads and writes that; writing columns reads it and writes the entry. A column's begin is
 * looked up among the keys. */
#include "dcsr/csc_cuda.h"
#include "dcsr/walk.cuh"
#include "dcsr/word.cuh"

namespace
{
struct turned {
    uint64_t column, word;
};
} // namespace

static __global__ void DCSR_CUDA_WALK_BOUNDS turn(dcsr_cuda_walk walk, int row_bits, uint64_t *keys,
                                                  uint64_t *words)
{
    dcsr_cuda_for_entries(
        walk,
        [&](const dcsr_cuda_entry &, const dcsr_cuda_source &source) {
            turned t = {walk.rows.columns[source.place], 0};
            if (words) t.word = dcsr_cuda_load_word(walk.rows.values, walk.rows.value_size, source.place);
            return t;
        },
        [&](const dcsr_cuda_entry &entry, const turned &t) {
            keys[entry.e] = t.column << row_bits | entry.i;
            if (words) words[entry.e] = t.word;
        });
}

void dcsr_cuda_turn(dcsr_cuda_stream *stream, const dcsr_cuda_walk *walk, uint64_t entries, int row_bits,
                    uint64_t *keys, uint64_t *words)
{
    dcsr_cuda_launch_walk(stream, turn, entries, walk->count, *walk, row_bits, keys, words);
}

static __global__ void write_entries(const uint64_t *keys, const uint64_t *words, uint64_t n,
                                     uint64_t row_mask, uint32_t *rows, void *values, uint32_t value_size)
{
    for (uint64_t k = dcsr_cuda_first(); k < n; k += dcsr_cuda_step()) {
        rows[k] = (uint32_t)(keys[k] & row_mask);
        if (words) dcsr_cuda_store_word(values, value_size, k, words[k]);
    }
}

static __global__ void find_begins(const uint64_t *keys, uint64_t n, int row_bits, uint64_t cols,
                                   uint64_t *offsets)
{
    for (uint64_t c = dcsr_cuda_first(); c <= cols; c += dcsr_cuda_step()) {
        uint64_t low = 0, high = n;
        while (low < high) {
            uint64_t middle = low + (high - low) / 2;
            if (keys[middle] >> row_bits < c)
                low = middle + 1;
            else
                high = middle;
        }
        offsets[c] = low;
    }
}

void dcsr_cuda_write_columns(dcsr_cuda_stream *stream, const uint64_t *keys, const uint64_t *words,
                             uint64_t entries, int row_bits, uint64_t cols, uint64_t *offsets, uint32_t *rows,
                             void *values, uint32_t value_size)
{
    uint64_t row_mask = (static_cast<uint64_t>(1) << row_bits) - 1;
    dcsr_cuda_launch(stream, write_entries, entries, keys, words, entries, row_mask, rows, values,
                     value_size);
    dcsr_cuda_launch(stream, find_begins, cols + 1, keys, entries, row_bits, cols, offsets);
}
