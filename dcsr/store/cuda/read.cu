/* read.cu: kernels that look up single entries, find the pieces of a row, and measure rows. */
#include "dcsr/store/cuda/read_cuda.h"
#include "dcsr/device/combine.cuh"
#include "dcsr/device/reduce.cuh"
#include "dcsr/device/value_word.cuh"

namespace
{
const dcsr_i_cuda_policy of_a_block = {256, 1};

/* What has been seen of a place so far; the same in all lanes. */
struct finding {
    bool stored;
    uint64_t word;
};

/* Takes the next entry in order of time that stands in the place. */
DCSR_CUDA_INLINE void take(finding &found, const dcsr_i_cuda_rows &rows, int policy, bool tombstone,
                           uint64_t word)
{
    if (tombstone)
        found.stored = false;
    else if (!found.stored)
        found = {true, word};
    else if (rows.values)
        found.word = dcsr_i_cuda_combine_words((int)rows.type, policy, found.word, word);
}
} // namespace

/* A warp looks for one place at 32 entries at a time; the few that match are folded in the order in which
 * they were stored. */
static __global__ void answer(dcsr_i_cuda_rows rows, int policy, dcsr_i_cuda_question *questions, uint64_t n)
{
    for (uint64_t w = dcsr_i_cuda_first_warp(); w < n; w += dcsr_i_cuda_warp_step()) {
        uint32_t wanted = questions[w].column;
        finding found = {false, 0};
        dcsr_i_cuda_for_pieces(rows, questions[w].row, [&](uint64_t begin, uint64_t length) {
            for (uint64_t first = 0; first < length; first += 32) {
                uint64_t e = first + dcsr_i_cuda_lane();
                uint32_t column = e < length ? rows.columns[begin + e] : 0;
                bool here = e < length && (column & ~DCSR_CUDA_TOMBSTONE) == wanted;
                unsigned hits = __ballot_sync(DCSR_CUDA_ALL_LANES, here);
                if (!hits) continue;
                unsigned tombstones = __ballot_sync(DCSR_CUDA_ALL_LANES, (column & DCSR_CUDA_TOMBSTONE) != 0);
                uint64_t word =
                    here && rows.values ? dcsr_i_cuda_load_word(rows.values, rows.value_size, begin + e) : 0;
                for (; hits; hits &= hits - 1) {
                    int lane = __ffs((int)hits) - 1;
                    take(found, rows, policy, tombstones >> lane & 1,
                         __shfl_sync(DCSR_CUDA_ALL_LANES, word, lane));
                }
            }
        });
        __syncwarp(); /* every lane has read the question */
        if (dcsr_i_cuda_lane() != 0) continue;
        questions[w].stored = found.stored;
        questions[w].word = found.word;
    }
}

/* By one block of threads. */
static __global__ void find_row(dcsr_i_cuda_rows rows, uint64_t row, uint64_t entries, dcsr_i_cuda_row *found)
{
    const uint64_t size = rows.value_size;
    uint64_t count = 0, before = 0;
    dcsr_i_cuda_for_pieces(rows, row, [&](uint64_t begin, uint64_t length) {
        const uint64_t left = before < entries ? entries - before : 0, here = length < left ? length : left;
        for (uint64_t i = threadIdx.x; i < here; i += blockDim.x)
            found->columns[before + i] = rows.columns[begin + i];
        for (uint64_t i = threadIdx.x; i < here * size; i += blockDim.x)
            found->values[before * size + i] = rows.values[begin * size + i];
        if (threadIdx.x == 0) {
            found->pieces.begin[count] = begin;
            found->pieces.length[count] = length;
        }
        before += length;
        count++;
    });
    if (threadIdx.x) return;
    found->pieces.count = count;
    for (; count < DCSR_MAX_SEGMENTS; count++) found->pieces.begin[count] = found->pieces.length[count] = 0;
}

/* ---- Measures ---- */

/* Calls visit(row) for each row of a share that is this thread's. */
template <class Visit>
DCSR_CUDA_INLINE void for_rows_of_share(const dcsr_i_cuda_rows &rows, uint64_t share, uint32_t shares,
                                        Visit visit)
{
    uint64_t rows_each = (rows.rows + shares - 1) / shares, first = share * rows_each,
             end = first + rows_each;
    if (end > rows.rows) end = rows.rows;
    for (uint64_t row = first + threadIdx.x; row < end; row += blockDim.x) visit(row);
}

DCSR_CUDA_INLINE void measure_row(dcsr_i_cuda_share &sum, const dcsr_i_cuda_rows &rows, uint64_t row)
{
    uint64_t length = dcsr_i_cuda_length(rows, row), segments = 0;
    sum.nnz += length;
    sum.rows_in_use += length != 0;
    if (length > sum.longest) sum.longest = length;
    if (length && UINT32_MAX - length > sum.below) sum.below = UINT32_MAX - length;
    if (rows.offsets || !length) return;
    const dcsr_i_cuda_row_page *page = dcsr_i_cuda_page_of(rows, row);
    uint32_t r = row & (DCSR_CUDA_PAGE_ROWS - 1);
    dcsr_i_cuda_for_pieces(rows, row, [&](uint64_t, uint64_t) { segments++; });
    if (segments > sum.max_segments) sum.max_segments = segments;
    sum.unresolved_rows += dcsr_i_cuda_bit(page->duplicates, r) || dcsr_i_cuda_bit(page->tombstones, r);
}

static __global__ void measure_shares(dcsr_i_cuda_rows rows, dcsr_i_cuda_share *share, uint32_t shares)
{
    for (uint64_t i = dcsr_i_cuda_first_block(); i < shares; i += dcsr_i_cuda_block_step()) {
        dcsr_i_cuda_share own = {};
        for_rows_of_share(rows, i, shares, [&](uint64_t row) { measure_row(own, rows, row); });
        dcsr_i_cuda_share all = {dcsr_i_cuda_block_sum(own.nnz),
                                 dcsr_i_cuda_block_sum(own.rows_in_use),
                                 dcsr_i_cuda_block_max(own.longest, (uint64_t)0),
                                 dcsr_i_cuda_block_max(own.max_segments, (uint64_t)0),
                                 dcsr_i_cuda_block_sum(own.unresolved_rows),
                                 dcsr_i_cuda_block_max(own.below, (uint64_t)0)};
        if (threadIdx.x == 0) share[i] = all;
    }
}

static __global__ void measure_squares(dcsr_i_cuda_rows rows, double mean, double *squares, uint32_t shares)
{
    for (uint64_t i = dcsr_i_cuda_first_block(); i < shares; i += dcsr_i_cuda_block_step()) {
        double own = 0;
        for_rows_of_share(rows, i, shares, [&](uint64_t row) {
            double away = (double)dcsr_i_cuda_length(rows, row) - mean;
            own += away * away;
        });
        own = dcsr_i_cuda_block_sum(own);
        if (threadIdx.x == 0) squares[i] = own;
    }
}

/* ---- Launching ---- */

void dcsr_i_cuda_answer(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows, dcsr_policy policy,
                        dcsr_i_cuda_question *questions, uint64_t n)
{
    /* Of duplicates that are kept the last is given. */
    dcsr_policy fold = policy == DCSR_POLICY_KEEP ? DCSR_POLICY_LAST : policy;
    dcsr_i_cuda_launch_warps(stream, answer, n, *rows, (int)fold, questions, n);
}

void dcsr_i_cuda_find_row(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows, uint64_t row,
                          uint64_t entries, dcsr_i_cuda_row *found)
{
    dcsr_i_cuda_launch_blocks(stream, find_row, 1, (int)dcsr_i_cuda_threads(of_a_block), 0, *rows, row,
                              entries, found);
}

void dcsr_i_cuda_measure_shares(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows,
                                dcsr_i_cuda_share *share, uint32_t shares)
{
    dcsr_i_cuda_launch_blocks(stream, measure_shares, shares, (int)dcsr_i_cuda_threads(of_a_block), 0, *rows,
                              share, shares);
}

void dcsr_i_cuda_measure_squares(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows, double mean,
                                 double *squares, uint32_t shares)
{
    dcsr_i_cuda_launch_blocks(stream, measure_squares, shares, (int)dcsr_i_cuda_threads(of_a_block), 0, *rows,
                              mean, squares, shares);
}
