/* csc.cu: the transpose of rows on a device.
 *
 *      number     entries 0, 1, ... as they stand in the rows: the row and column of each
 *      sort       numbers by column, stably: rows then ascend, and equal ones stand as they stood    (prim_cuda.h)
 *      begins     where each column begins, by binary search
 *      gather     rows and values of the entries, by their numbers
 *
 * Bytes an entry: 4 its column read, 12 written; 16 for each 8 bits of a column number to sort; 4 and the row and
 * value, both at random, and both written: some 110 for a value of 8 bytes and 24 bits, and 16 more where rows do not
 * stand as CSR. Scattering the numbers by counts of the columns moves half of that, but waits for atomics on long
 * columns, and these must be brought into order afterwards: twice as slow on R-MAT graphs. */
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
            to.column[entry.e] = x.column;
            to.number[entry.e] = (uint32_t)entry.e;
            if (to.own_values) dcsr_i_cuda_store_word(to.own_values, walk.rows.value_size, entry.e, x.word);
        });
}

void dcsr_i_cuda_number(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t entries,
                        const dcsr_i_cuda_numbered *to)
{
    dcsr_i_cuda_launch_walk(stream, number, entries, walk->count, *walk, *to);
}

static __global__ void gather(dcsr_i_cuda_numbered x, uint32_t value_size, uint32_t *rows, void *values)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < x.entries; k += dcsr_i_cuda_step()) {
        const uint32_t e = x.number[k];
        rows[k] = x.row[e];
        if (value_size)
            dcsr_i_cuda_store_word(values, value_size, k, dcsr_i_cuda_load_word(x.values, value_size, e));
    }
}

void dcsr_i_cuda_gather_numbered(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_numbered *x,
                                 uint32_t value_size, uint32_t *rows, void *values)
{
    dcsr_i_cuda_launch(stream, gather, x->entries, *x, value_size, rows, values);
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
