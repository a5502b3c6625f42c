/* csc.cu: the transpose of rows on a device, by counting.
 *
 *      number     entries 0, 1, ... as they stand in the rows: the row of each, and its column counted
 *      scan       counts become the offsets of the columns                                        (prim_cuda.h)
 *      scatter    the number of each entry goes to its column, to the next place there
 *      order      numbers ascend in each column again: threads run in no order. Most do already.
 *      gather     rows and values of the entries, by their numbers
 *
 * Numbers are 4 bytes, so little is moved while nothing stands where it belongs; and with them ascending rows do, and
 * equal ones stand as they stood. Bytes an entry: 4 its column, 4 its row written; 4 and 4 to scatter; 4 to see the
 * order; 4 and the row and value, both at random, and both written: some 44 for a value of 8 bytes, and 12 more each
 * way where rows do not stand as CSR. Sorting pairs takes 160. */
#include "dcsr/device/reduce.cuh"
#include "dcsr/device/value_word.cuh"
#include "dcsr/store/cuda/balanced_walk.cuh"
#include "dcsr/view/csc_cuda.h"

/* ---- Numbers ---- */

namespace
{
struct entry_of_row {
    uint32_t column;
    uint64_t word;
};
} // namespace

static __global__ void DCSR_CUDA_WALK_BOUNDS number(dcsr_i_cuda_walk walk, dcsr_i_cuda_numbered to)
{
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &, const dcsr_i_cuda_source &source) {
            entry_of_row x = {walk.rows.columns[source.place], 0};
            if (to.own_values)
                x.word = dcsr_i_cuda_load_word(walk.rows.values, walk.rows.value_size, source.place);
            return x;
        },
        [&](const dcsr_i_cuda_entry &entry, const entry_of_row &x) {
            to.row[entry.e] = (uint32_t)entry.i;
            atomicAdd(&to.count[x.column], 1u);
            if (to.own_columns) to.own_columns[entry.e] = x.column;
            if (to.own_values) dcsr_i_cuda_store_word(to.own_values, walk.rows.value_size, entry.e, x.word);
        });
}

void dcsr_i_cuda_number(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t entries,
                        const dcsr_i_cuda_numbered *to)
{
    dcsr_i_cuda_launch_walk(stream, number, entries, walk->count, *walk, *to);
}

static __global__ void scatter(dcsr_i_cuda_numbered x, const uint64_t *offsets, uint32_t *order)
{
    for (uint64_t e = dcsr_i_cuda_first(); e < x.entries; e += dcsr_i_cuda_step()) {
        const uint32_t column = x.columns[e];
        order[offsets[column] + atomicAdd(&x.count[column], 1u)] = (uint32_t)e;
    }
}

void dcsr_i_cuda_scatter_numbers(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_numbered *x,
                                 const uint64_t *offsets, uint32_t *order)
{
    dcsr_i_cuda_launch(stream, scatter, x->entries, *x, offsets, order);
}

static __global__ void gather(dcsr_i_cuda_numbered x, const uint32_t *order, uint32_t value_size,
                              uint32_t *rows, void *values)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < x.entries; k += dcsr_i_cuda_step()) {
        const uint32_t e = order[k];
        rows[k] = x.row[e];
        if (value_size)
            dcsr_i_cuda_store_word(values, value_size, k, dcsr_i_cuda_load_word(x.values, value_size, e));
    }
}

void dcsr_i_cuda_gather_numbered(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_numbered *x,
                                 const uint32_t *order, uint32_t value_size, uint32_t *rows, void *values)
{
    dcsr_i_cuda_launch(stream, gather, x->entries, *x, order, value_size, rows, values);
}

/* ---- Order ---- */

#ifdef DCSR_SIMT
enum { SHORT = 8, LONG = 64, THREADS = 32 };
#else
enum { SHORT = 32, LONG = 8192, THREADS = 256 };
#endif

/* A thread for each column: short ones are sorted by insertion, which for numbers that ascend reads them once; others
 * are listed, those for blocks from the beginning of the list on, those that are too long for them from its end. */
static __global__ void order_short(const uint64_t *offsets, uint64_t columns, uint32_t *order, uint32_t *list,
                                   unsigned long long *counts)
{
    for (uint64_t c = dcsr_i_cuda_first(); c < columns; c += dcsr_i_cuda_step()) {
        uint32_t *a = order + offsets[c];
        const uint64_t n = offsets[c + 1] - offsets[c];
        if (n > SHORT) {
            const bool is_long = n > LONG;
            const uint64_t k = atomicAdd(&counts[is_long], 1ull);
            list[is_long ? columns - 1 - k : k] = (uint32_t)c;
            if (is_long) atomicAdd(&counts[2], (unsigned long long)n);
            continue;
        }
        uint32_t last = n ? a[0] : 0;
        for (uint64_t k = 1; k < n; k++) {
            const uint32_t x = a[k];
            uint64_t j = k;
            for (uint32_t before = last; before > x; before = a[j - 1]) {
                a[j] = before;
                if (--j == 0) break;
            }
            if (j < k)
                a[j] = x;
            else
                last = x;
        }
    }
}

void dcsr_i_cuda_order_short(dcsr_i_cuda_stream *stream, const uint64_t *offsets, uint64_t columns,
                             uint32_t *order, uint32_t *list, unsigned long long *counts)
{
    dcsr_i_cuda_launch(stream, order_short, columns, offsets, columns, order, list, counts);
}

/* A block for each column: a bitonic sort in shared memory, unless the numbers ascend. */
static __global__ void order_by_blocks(const uint64_t *offsets, const uint32_t *list, uint64_t count,
                                       uint32_t *order)
{
    SIMT_SHARED(uint32_t, x, LONG);
    for (uint64_t i = dcsr_i_cuda_first_block(); i < count; i += dcsr_i_cuda_block_step()) {
        uint32_t *a = order + offsets[list[i]];
        const uint32_t n = (uint32_t)(offsets[list[i] + 1] - offsets[list[i]]);
        uint32_t slots = SHORT;
        while (slots < n) slots *= 2;
        for (uint32_t k = threadIdx.x; k < slots; k += blockDim.x) x[k] = k < n ? a[k] : UINT32_MAX;
        __syncthreads();
        bool descends = false;
        for (uint32_t k = threadIdx.x + 1; k < n; k += blockDim.x) descends |= x[k - 1] > x[k];
        if (!__syncthreads_or(descends)) continue;
        for (uint32_t size = 2; size <= slots; size *= 2)
            for (uint32_t distance = size / 2; distance; distance /= 2) {
                for (uint32_t k = threadIdx.x; k < slots / 2; k += blockDim.x) {
                    const uint32_t low = k / distance * distance * 2 + k % distance, high = low + distance;
                    const uint32_t p = x[low], q = x[high];
                    if ((p > q) == !(low & size)) x[low] = q, x[high] = p;
                }
                __syncthreads();
            }
        for (uint32_t k = threadIdx.x; k < n; k += blockDim.x) a[k] = x[k];
        __syncthreads();
    }
}

void dcsr_i_cuda_order_by_blocks(dcsr_i_cuda_stream *stream, const uint64_t *offsets, const uint32_t *list,
                                 uint64_t count, uint32_t *order)
{
    dcsr_i_cuda_launch_blocks(stream, order_by_blocks, count, THREADS, 0, offsets, list, count, order);
}

/* The long columns' numbers become keys below the column's place in the list, and come back. */
static __global__ void DCSR_CUDA_WALK_BOUNDS move_long(dcsr_i_cuda_walk walk, uint64_t *keys, bool back)
{
    dcsr_i_cuda_for_entries(
        walk, [&](const dcsr_i_cuda_entry &, const dcsr_i_cuda_source &source) { return source.place; },
        [&](const dcsr_i_cuda_entry &entry, uint64_t place) {
            if (back)
                walk.rows.columns[place] = (uint32_t)keys[entry.e];
            else
                keys[entry.e] = entry.i << 32 | walk.rows.columns[place];
        });
}

void dcsr_i_cuda_move_long(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t entries,
                           uint64_t *keys, bool back)
{
    dcsr_i_cuda_launch_walk(stream, move_long, entries, walk->count, *walk, keys, back);
}

/* ---- Rows of a table ---- */

static __global__ void split_offsets(const uint64_t *offsets, uint64_t rows, uint64_t first, uint64_t *begin,
                                     uint32_t *length)
{
    for (uint64_t r = dcsr_i_cuda_first(); r < rows; r += dcsr_i_cuda_step()) {
        begin[r] = first + offsets[r];
        length[r] = (uint32_t)(offsets[r + 1] - offsets[r]);
    }
}

void dcsr_i_cuda_split_offsets(dcsr_i_cuda_stream *stream, const uint64_t *offsets, uint64_t rows,
                               uint64_t first, uint64_t *begin, uint32_t *length)
{
    dcsr_i_cuda_launch(stream, split_offsets, rows, offsets, rows, first, begin, length);
}
