/* block_walk.cuh: visiting the entries of as many rows as a block has threads, where launching a walk would take longer
 * than the visit (internal; in kernels).
 *
 * A thread knows its row, or two. The block notes in shared memory where each of their entries is, a window of entries
 * at a time, so that entries are shared evenly among the threads, and those of a row are read together:
 *
 *      rows      thread 0: a b c      thread 1: d      thread 2: e f
 *      offset             0                     3                4
 *      place     [ a b c d ] [ e f ]            windows of 4 */
#ifndef DCSR_BLOCK_WALK_CUH
#define DCSR_BLOCK_WALK_CUH

#include "dcsr/device/tile_scan.cuh"
#include "dcsr/store/rowtable_cuda.h"

/* A thread notes the places of a row of so many entries alone, of a longer one its warp does. */
enum { DCSR_CUDA_SERIAL = 32 };

/* A row, as the thread knows it that has it. */
struct dcsr_i_cuda_row_share {
    uint64_t begin;
    uint32_t row, offset, length; /* offset: of its entries among those of the block */
    bool fragmented;
};

DCSR_CUDA_INLINE dcsr_i_cuda_row_share dcsr_i_cuda_look_up(const dcsr_i_cuda_rows &rows, uint32_t row)
{
    bool fragmented;
    const uint64_t *place = dcsr_i_cuda_place_of(rows, row, &fragmented);
    const uint32_t length = (uint32_t)dcsr_i_cuda_length(rows, row);
    return {place ? dcsr_i_segment_begin({*place}) : 0, row, 0, length, fragmented};
}

/* The entries that are noted at a time, in shared memory. */
struct dcsr_i_cuda_window {
    uint64_t *place;
    uint32_t *from;       /* which row of the block each is of; NULL if nobody asks */
    uint64_t first, size; /* entries of the block */
};

/* Notes one piece, whose first entry is number `first` of the block's, as far as it is in the window; by one thread, or
 * by all lanes of a warp. */
DCSR_CUDA_INLINE void dcsr_i_cuda_note_piece(const dcsr_i_cuda_window &window, uint32_t number,
                                             uint64_t first, uint64_t begin, uint64_t length, unsigned lane,
                                             unsigned lanes)
{
    const uint64_t end = window.first + window.size, from = first < window.first ? window.first - first : 0,
                   to = first + length > end ? end - first : length;
    if (first >= end) return;
    for (uint64_t k = from + lane; k < to; k += lanes) {
        window.place[first + k - window.first] = begin + k;
        if (window.from) window.from[first + k - window.first] = number;
    }
}

DCSR_CUDA_INLINE void dcsr_i_cuda_note_row(const dcsr_i_cuda_rows &rows, const dcsr_i_cuda_window &window,
                                           uint32_t number, const dcsr_i_cuda_row_share &row, unsigned lane,
                                           unsigned lanes)
{
    if (!row.fragmented) {
        dcsr_i_cuda_note_piece(window, number, row.offset, row.begin, row.length, lane, lanes);
        return;
    }
    uint64_t first = row.offset;
    dcsr_i_cuda_for_pieces(rows, row.row, [&](uint64_t begin, uint64_t length) {
        dcsr_i_cuda_note_piece(window, number, first, begin, length, lane, lanes);
        first += length;
    });
}

/* Notes what a thread's row has in the window; `number` is what `from` will say. All threads of a block must call,
 * and __syncthreads() afterwards. */
DCSR_CUDA_INLINE void dcsr_i_cuda_note_places(const dcsr_i_cuda_rows &rows, const dcsr_i_cuda_window &window,
                                              uint32_t number, const dcsr_i_cuda_row_share &row)
{
    const bool here =
        row.length && row.offset < window.first + window.size && row.offset + row.length > window.first;
    const bool is_long = here && row.length > DCSR_CUDA_SERIAL;
    if (here && !is_long) dcsr_i_cuda_note_row(rows, window, number, row, 0, 1);
    for (unsigned left = __ballot_sync(DCSR_CUDA_ALL_LANES, is_long); left; left &= left - 1) {
        const int lane = __ffs((int)left) - 1;
        const dcsr_i_cuda_row_share other = {
            __shfl_sync(DCSR_CUDA_ALL_LANES, row.begin, lane),
            __shfl_sync(DCSR_CUDA_ALL_LANES, row.row, lane),
            __shfl_sync(DCSR_CUDA_ALL_LANES, row.offset, lane),
            __shfl_sync(DCSR_CUDA_ALL_LANES, row.length, lane),
            __shfl_sync(DCSR_CUDA_ALL_LANES, (unsigned)row.fragmented, lane) != 0};
        dcsr_i_cuda_note_row(rows, window, __shfl_sync(DCSR_CUDA_ALL_LANES, number, lane), other,
                             dcsr_i_cuda_lane(), 32);
    }
}

/* Places for what each lane has found, `mine`, in a list that is `*count` long; by a whole warp. */
template <class C> DCSR_CUDA_INLINE uint64_t dcsr_i_cuda_take_places(C *count, uint32_t mine)
{
    const unsigned lane = dcsr_i_cuda_lane();
    uint32_t sum = mine;
    for (unsigned distance = 1; distance < 32; distance *= 2) {
        const uint32_t lower = __shfl_up_sync(DCSR_CUDA_ALL_LANES, sum, distance);
        if (lane >= distance) sum += lower;
    }
    C first = 0;
    if (lane == 31 && sum) first = atomicAdd(count, (C)sum);
    return __shfl_sync(DCSR_CUDA_ALL_LANES, first, 31) + sum - mine;
}

#endif
