/* fetch_rows.cu: rows that come from other GPUs: which, their lengths, and their places behind one another. Bytes:
 * marking reads 4 for each entry, adding lengths 8 for each row of each matrix, and placing rows writes as many. */
#include "dcsr/store/cuda/balanced_walk.cuh"
#include "multi/fetch_rows_cuda.h"

/* ---- Which rows are wanted ---- */

/* Most bits are set already when they are looked at: reading them first spares atomics. */
static __global__ void DCSR_CUDA_WALK_BOUNDS mark_columns(dcsr_i_cuda_walk walk, uint32_t *bits)
{
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &, const dcsr_i_cuda_source &source) {
            return walk.rows.columns[source.place];
        },
        [&](const dcsr_i_cuda_entry &, uint32_t column) {
            const uint32_t bit = 1u << (column & 31);
            if (!(dcsr_i_cuda_peek(&bits[column / 32]) & bit)) atomicOr(&bits[column / 32], bit);
        });
}

void dcsr_i_cuda_fetch_mark(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t entries,
                            uint32_t *bits)
{
    dcsr_i_cuda_launch_walk(stream, mark_columns, entries, walk->count, *walk, bits);
}

static __global__ void rank_bits(const uint32_t *bits, const uint64_t *before, dcsr_i_cuda_fetch_ranks ranks,
                                 uint64_t *at)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < ranks.count; i += dcsr_i_cuda_step()) {
        const uint64_t of = ranks.of[i];
        at[i] = before[of / 32] + (unsigned)__popc(bits[of / 32] & ((1u << (of & 31)) - 1));
    }
}

void dcsr_i_cuda_fetch_rank(dcsr_i_cuda_stream *stream, const uint32_t *bits, const uint64_t *before,
                            const dcsr_i_cuda_fetch_ranks *ranks, uint64_t *at)
{
    dcsr_i_cuda_launch(stream, rank_bits, ranks->count, bits, before, *ranks, at);
}

static __global__ void count_up(uint32_t *list, uint64_t n, uint32_t first)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < n; i += dcsr_i_cuda_step()) list[i] = first + (uint32_t)i;
}

void dcsr_i_cuda_fetch_count_up(dcsr_i_cuda_stream *stream, uint32_t *list, uint64_t n, uint32_t first)
{
    if (n) dcsr_i_cuda_launch(stream, count_up, n, list, n, first);
}

/* ---- Lengths ---- */

static __global__ void place_lengths(uint64_t *lengths, const uint64_t *offsets, const uint32_t *list,
                                     uint64_t first, uint64_t n)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < n; i += dcsr_i_cuda_step())
        lengths[first + (list ? list[i] : i)] = offsets[i + 1] - offsets[i];
}

void dcsr_i_cuda_fetch_lengths(dcsr_i_cuda_stream *stream, uint64_t *lengths, const uint64_t *offsets,
                               const uint32_t *list, uint64_t first, uint64_t n)
{
    if (n) dcsr_i_cuda_launch(stream, place_lengths, n, lengths, offsets, list, first, n);
}

/* ---- For transposes ---- */

static __global__ void sample(const uint64_t *offsets, uint64_t n, uint64_t step, uint64_t count,
                              uint64_t *out)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < count; i += dcsr_i_cuda_step())
        out[i] = offsets[i * step < n ? i * step : n];
}

void dcsr_i_cuda_sample_offsets(dcsr_i_cuda_stream *stream, const uint64_t *offsets, uint64_t n,
                                uint64_t step, uint64_t count, uint64_t *out)
{
    dcsr_i_cuda_launch(stream, sample, count, offsets, n, step, count, out);
}

static __global__ void add_lengths(const uint64_t *offsets, uint64_t matrices, uint64_t n, uint64_t *lengths)
{
    for (uint64_t r = dcsr_i_cuda_first(); r < n; r += dcsr_i_cuda_step()) {
        uint64_t sum = 0;
        for (uint64_t j = 0; j < matrices; j++)
            sum += offsets[j * (n + 1) + r + 1] - offsets[j * (n + 1) + r];
        lengths[r] = sum;
    }
}

void dcsr_i_cuda_add_lengths(dcsr_i_cuda_stream *stream, const uint64_t *offsets, uint64_t matrices,
                             uint64_t n, uint64_t *lengths)
{
    if (n) dcsr_i_cuda_launch(stream, add_lengths, n, offsets, matrices, n, lengths);
}

static __global__ void place_rows(const uint64_t *offsets, uint64_t matrices, uint64_t n,
                                  const uint64_t *begins, uint64_t *to)
{
    for (uint64_t r = dcsr_i_cuda_first(); r < n; r += dcsr_i_cuda_step()) {
        uint64_t at = begins[r];
        for (uint64_t j = 0; j < matrices; j++) {
            to[j * n + r] = at;
            at += offsets[j * (n + 1) + r + 1] - offsets[j * (n + 1) + r];
        }
    }
}

void dcsr_i_cuda_place_shares(dcsr_i_cuda_stream *stream, const uint64_t *offsets, uint64_t matrices,
                              uint64_t n, const uint64_t *begins, uint64_t *to)
{
    if (n) dcsr_i_cuda_launch(stream, place_rows, n, offsets, matrices, n, begins, to);
}
