/* keys.cu: keys of entries, made of rows and taken apart, and the words that go with them.
 *
 * Bytes: 12 a key, 8 + value size a word; 8 a row beside the keys that its bisection reads, of which
 * neighbours share most. */
#include "dcsr/store/cuda/keys_cuda.h"
#include "dcsr/device/value_word.cuh"
#include "dcsr/store/cuda/balanced_walk.cuh"

static __global__ void take_low(const uint64_t *keys, uint64_t n, uint64_t mask, uint32_t *low)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < n; k += dcsr_i_cuda_step())
        low[k] = (uint32_t)(keys[k] & mask);
}

void dcsr_i_cuda_take_low(dcsr_i_cuda_stream *stream, const uint64_t *keys, uint64_t n, int shift,
                          uint32_t *low)
{
    dcsr_i_cuda_launch(stream, take_low, n, keys, n, ((uint64_t)1 << shift) - 1, low);
}

/* ---- Words ---- */

static __global__ void widen(const void *values, uint32_t size, uint64_t n, uint64_t *words)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < n; k += dcsr_i_cuda_step())
        words[k] = dcsr_i_cuda_load_word(values, size, k);
}

void dcsr_i_cuda_widen(dcsr_i_cuda_stream *stream, const void *values, uint32_t size, uint64_t n,
                       uint64_t *words)
{
    dcsr_i_cuda_launch(stream, widen, n, values, size, n, words);
}

static __global__ void narrow(const uint64_t *words, uint64_t n, void *values, uint32_t size)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < n; k += dcsr_i_cuda_step())
        dcsr_i_cuda_store_word(values, size, k, words[k]);
}

void dcsr_i_cuda_narrow(dcsr_i_cuda_stream *stream, const uint64_t *words, uint64_t n, void *values,
                        uint32_t size)
{
    dcsr_i_cuda_launch(stream, narrow, n, words, n, values, size);
}

/* ---- Entries of rows as a list ---- */

namespace
{
struct gathered {
    uint64_t column, word;
};
} // namespace

static __global__ void DCSR_CUDA_WALK_BOUNDS list_entries(dcsr_i_cuda_walk walk, const uint32_t *names,
                                                          uint64_t *keys, void *values)
{
    const uint32_t size = walk.rows.value_size;
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &, const dcsr_i_cuda_source &source) {
            gathered g = {walk.rows.columns[source.place], 0};
            if (values) g.word = dcsr_i_cuda_load_word(walk.rows.values, size, source.place);
            return g;
        },
        [&](const dcsr_i_cuda_entry &entry, const gathered &g) {
            uint64_t row = names ? names[entry.i] : entry.i;
            keys[entry.e] = row << 32 | g.column;
            if (values) dcsr_i_cuda_store_word(values, size, entry.e, g.word);
        });
}

void dcsr_i_cuda_list_entries(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t entries,
                              const uint32_t *names, uint64_t *keys, void *values)
{
    dcsr_i_cuda_launch_walk(stream, list_entries, entries, walk->count, *walk, names, keys, values);
}

/* ---- Keys of rows ----
 *
 * Bytes an entry: making keys reads it and writes 8, or 16 with its value; a pass of the sort (8 bits of the
 * column each) reads and writes that; writing columns reads it and writes the entry. */

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

dcsr_status dcsr_i_cuda_turn_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows, int row_bits,
                                  uint64_t **keys, uint64_t **words)
{
    const bool values = rows->value_size != 0;
    const uint64_t entries = rows->stored;
    *keys = static_cast<uint64_t *>(dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, entries, sizeof **keys));
    *words = nullptr;
    if (values)
        *words = static_cast<uint64_t *>(dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, entries, sizeof **words));
    if (!*keys || (values && !*words)) return dcsr_i_no_memory();
    uint64_t *offsets =
        static_cast<uint64_t *>(dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, rows->rows + 1, sizeof *offsets));
    if (!offsets) return dcsr_i_no_memory();
    dcsr_status status = dcsr_i_cuda_sum_lengths(stream, rows, nullptr, rows->rows, offsets);
    dcsr_i_cuda_walk walk = {*rows, nullptr, rows->rows, offsets};
    if (status == DCSR_OK) dcsr_i_cuda_turn(stream, &walk, entries, row_bits, *keys, *words);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, offsets, rows->rows + 1, sizeof *offsets);
    return status;
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
