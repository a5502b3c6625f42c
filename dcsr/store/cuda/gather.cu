/* gather.cu: copying the entries of rows together.
 *
 * A copy of each entry, in tiles of equal work (balanced_walk.cuh): writing is in order, and so is reading within each
 * piece. n entries in r rows are 2 (4 + value size) n + 16 r bytes, and summing the rows' lengths before is
 * 28 r.
 */
#include "dcsr/store/cuda/gather_cuda.h"
#include "dcsr/device/prim_cuda.h"
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

static __global__ void read_lengths(dcsr_i_cuda_rows rows, const uint32_t *list, uint64_t count,
                                    uint64_t *lengths)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < count; i += dcsr_i_cuda_step())
        lengths[i] = dcsr_i_cuda_length(rows, list ? list[i] : i);
}

dcsr_status dcsr_i_cuda_sum_lengths(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows,
                                    const uint32_t *list, uint64_t count, uint64_t *offsets)
{
    dcsr_i_cuda_launch(stream, read_lengths, count, *rows, list, count, offsets);
    return dcsr_i_cuda_scan_u64(stream, offsets, offsets, count);
}
