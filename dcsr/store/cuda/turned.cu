/* turned.cu: the entries of rows as keys of their columns.
 *
 * Bytes an entry: making keys reads it and writes 8, or 16 with its value; a pass of the sort (8 bits of the
 * column each) reads and writes that; writing columns reads it and writes the entry. A column's begin is
 * looked up among the keys. */
#include "dcsr/store/cuda/turned_cuda.h"
#include "dcsr/store/cuda/balanced_walk.cuh"
#include "dcsr/device/value_word.cuh"

namespace
{
struct turned {
    uint64_t column, word;
};
} // namespace

static __global__ void DCSR_CUDA_WALK_BOUNDS turn(dcsr_i_cuda_walk walk, int row_bits, uint64_t *keys,
                                                  uint64_t *words)
{
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &, const dcsr_i_cuda_source &source) {
            turned t = {walk.rows.columns[source.place], 0};
            if (words) t.word = dcsr_i_cuda_load_word(walk.rows.values, walk.rows.value_size, source.place);
            return t;
        },
        [&](const dcsr_i_cuda_entry &entry, const turned &t) {
            keys[entry.e] = t.column << row_bits | entry.i;
            if (words) words[entry.e] = t.word;
        });
}

void dcsr_i_cuda_turn(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t entries,
                      int row_bits, uint64_t *keys, uint64_t *words)
{
    dcsr_i_cuda_launch_walk(stream, turn, entries, walk->count, *walk, row_bits, keys, words);
}

static __global__ void swap_keys(uint64_t *keys, uint64_t n, int row_bits, int column_bits)
{
    uint64_t column_mask = (static_cast<uint64_t>(1) << column_bits) - 1;
    for (uint64_t k = dcsr_i_cuda_first(); k < n; k += dcsr_i_cuda_step())
        keys[k] = (keys[k] & column_mask) << row_bits | keys[k] >> column_bits;
}

void dcsr_i_cuda_swap_keys(dcsr_i_cuda_stream *stream, uint64_t *keys, uint64_t n, int row_bits,
                           int column_bits)
{
    dcsr_i_cuda_launch(stream, swap_keys, n, keys, n, row_bits, column_bits);
}
