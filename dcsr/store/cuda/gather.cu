/* gather.cu: copying the entries of rows together.
 *
 * A copy of each entry, in tiles of equal work (balanced_walk.cuh): writing is in order, and so is reading within each
 * piece. n entries in r rows are 2 (4 + value size) n + 16 r bytes, and summing the rows' lengths before is
 * 28 r.
 */
#include "dcsr/store/cuda/gather_cuda.h"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/device/reduce.cuh"
#include "dcsr/store/cuda/balanced_walk.cuh"

namespace
{
template <class V> struct entry_copy {
    uint32_t column;
    V value;
};
} // namespace

template <class V>
static __global__ void DCSR_CUDA_WALK_BOUNDS gather(dcsr_i_cuda_walk walk, const uint64_t *to,
                                                    uint32_t *columns, V *values)
{
    const V *from = (const V *)walk.rows.values;
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &, const dcsr_i_cuda_source &source) {
            return entry_copy<V>{walk.rows.columns[source.place], values ? from[source.place] : V()};
        },
        [&](const dcsr_i_cuda_entry &entry, const entry_copy<V> &copy) {
            uint64_t at = to ? to[entry.i] + (entry.e - walk.offsets[entry.i]) : entry.e;
            columns[at] = copy.column;
            if (values) values[at] = copy.value;
        });
}

template <class V>
static void launch(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t entries,
                   const uint64_t *to, uint32_t *columns, char *values)
{
    dcsr_i_cuda_launch_walk(stream, gather<V>, entries, walk->count, *walk, to, columns, (V *)values);
}

void dcsr_i_cuda_gather(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t entries,
                        const uint64_t *to, uint32_t *columns, char *values)
{
    switch (walk->rows.value_size) {
    case 8:
        return launch<uint64_t>(stream, walk, entries, to, columns, values);
    case 4:
        return launch<uint32_t>(stream, walk, entries, to, columns, values);
    case 2:
        return launch<uint16_t>(stream, walk, entries, to, columns, values);
    default: /* also a pattern, whose values are NULL */
        return launch<uint8_t>(stream, walk, entries, to, columns, values);
    }
}

/* With `told` the sum of each block goes there. */
static __global__ void read_lengths(dcsr_i_cuda_rows rows, const uint32_t *list, const uint32_t *bits,
                                    uint64_t count, uint64_t *lengths, volatile uint64_t *told)
{
    uint64_t sum = 0;
    for (uint64_t i = dcsr_i_cuda_first(); i < count; i += dcsr_i_cuda_step()) {
        const bool counts = !bits || dcsr_i_cuda_bit(bits, static_cast<uint32_t>(i));
        const uint64_t length = counts ? dcsr_i_cuda_length(rows, list ? list[i] : i) : 0;
        if (lengths) lengths[i] = length;
        sum += length;
    }
    if (!told) return;
    sum = dcsr_i_cuda_block_sum(sum);
    if (threadIdx.x == 0) told[blockIdx.x] = sum + 1;
}

dcsr_status dcsr_i_cuda_sum_lengths(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows,
                                    const uint32_t *list, uint64_t count, uint64_t *offsets)
{
    const uint32_t *all = nullptr;
    uint64_t *nobody = nullptr;
    dcsr_i_cuda_launch(stream, read_lengths, count, *rows, list, all, count, offsets, nobody);
    return dcsr_i_cuda_scan_u64(stream, offsets, offsets, count);
}

uint64_t dcsr_i_cuda_tell_lengths(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows,
                                  const uint32_t *list, const uint32_t *bits, uint64_t count,
                                  uint64_t *lengths, uint64_t *told)
{
    const dcsr_i_cuda_policy large = {1024, 1};
    unsigned blocks = dcsr_i_cuda_blocks(stream, count, large);
    if (blocks > DCSR_CUDA_LENGTHS_TOLD) blocks = DCSR_CUDA_LENGTHS_TOLD;
    if (!blocks) return 0;
    simt::launch(read_lengths, dim3(blocks), dim3(dcsr_i_cuda_threads(large)), 0, dcsr_i_cuda_raw(stream),
                 *rows, list, bits, count, lengths, told);
    dcsr_i_cuda_launched(stream);
    return blocks;
}
