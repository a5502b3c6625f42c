/* rewrite.cu: planning which places rows get when they are rewritten, and entering those into the row table.
 *
 * A thread per row. For each, its length, marks and segments are read (some 20 bytes, 8 more per further
 * segment), 44 bytes of plan are written and read again, and 24 bytes entered. Sums are taken per block
 * before they meet. */
#include "dcsr/base/search.h"
#include "dcsr/store/arena_slots.cuh"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/device/reduce.cuh"
#include "dcsr/store/cuda/rewrite_cuda.h"

/* ---- What rows take up ---- */

/* Adds up over the threads of the block what is to be added to *sum. */
DCSR_CUDA_INLINE void add_up(uint64_t *sum, uint64_t value)
{
    value = dcsr_i_cuda_block_sum(value);
    if (threadIdx.x == 0 && value) atomicAdd((unsigned long long *)sum, (unsigned long long)value);
}

static __global__ void count_rows(dcsr_i_cuda_rows rows, const uint32_t *list, uint64_t first, uint64_t count,
                                  dcsr_i_cuda_sums *sums, uint32_t *freed, int shift)
{
    dcsr_i_cuda_sums own = {};
    for (uint64_t i = dcsr_i_cuda_first(); i < count; i += dcsr_i_cuda_step()) {
        uint64_t row = list ? list[i] : first + i, pieces = 0;
        uint32_t r = row & (DCSR_CUDA_PAGE_ROWS - 1);
        const dcsr_i_cuda_row_page *page = dcsr_i_cuda_page_of(rows, row);
        if (!page) continue;
        own.stored += page->length[r];
        dcsr_i_cuda_for_pieces(rows, row, [&](uint64_t, uint64_t) { pieces++; });
        own.extra += pieces > 1 ? pieces - 1 : 0;
        own.duplicates += dcsr_i_cuda_bit(page->duplicates, r);
        own.tombstones += dcsr_i_cuda_bit(page->tombstones, r);
        for (int k = 0; freed && k < rows.segments_per_row && page->segment[k] != DCSR_CUDA_NONE; k++) {
            dcsr_i_cuda_free_places(freed, shift,
                                    dcsr_i_segment_begin(rows.segment_page[page->segment[k]].of[r]),
                                    dcsr_i_cuda_capacity_of(rows.segment_page, page, r, k));
        }
    }
    add_up(&sums->stored, own.stored);
    add_up(&sums->extra, own.extra);
    add_up(&sums->duplicates, own.duplicates);
    add_up(&sums->tombstones, own.tombstones);
}

void dcsr_i_cuda_count_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows, const uint32_t *list,
                            uint64_t first, uint64_t count, dcsr_i_cuda_sums *sums, uint32_t *freed,
                            int shift)
{
    dcsr_i_cuda_launch(stream, count_rows, count, *rows, list, first, count, sums, freed, shift);
}

/* Threads may set the same flag. */
DCSR_CUDA_INLINE void set_flag(uint8_t *flag)
{
#ifdef DCSR_SIMT
    __atomic_store_n(flag, 1, __ATOMIC_RELAXED);
#else
    *(volatile uint8_t *)flag = 1;
#endif
}

static __global__ void touch_pages(dcsr_i_cuda_rows rows, const uint32_t *list, uint64_t count,
                                   const uint32_t *length, uint8_t *touched)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < count; i += dcsr_i_cuda_step())
        if ((length && length[i]) || dcsr_i_cuda_length(rows, list[i]))
            set_flag(&touched[list[i] >> DCSR_CUDA_PAGE_SHIFT]);
}

void dcsr_i_cuda_touch_pages(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows, const uint32_t *list,
                             uint64_t count, const uint32_t *length, uint8_t *touched)
{
    dcsr_i_cuda_launch(stream, touch_pages, count, *rows, list, count, length, touched);
}

/* ---- Planning ---- */

DCSR_CUDA_INLINE uint64_t capacity_for(const dcsr_i_cuda_rewriting &work, uint64_t length)
{
    return work.slack && length ? dcsr_i_capacity_for(length, work.slack, length) : length;
}

static __global__ void plan_rewriting(dcsr_i_cuda_rewriting work, dcsr_i_cuda_sums *sums)
{
    uint64_t most = 0;
    for (uint64_t i = dcsr_i_cuda_first(); i < work.count; i += dcsr_i_cuda_step()) {
        uint32_t r = work.list[i] & (DCSR_CUDA_PAGE_ROWS - 1);
        const dcsr_i_cuda_row_page *page = dcsr_i_cuda_page_of(work.rows, work.list[i]);
        uint64_t length = page ? page->length[r] : 0;
        bool resolve =
            work.resolve_all ||
            (page && (dcsr_i_cuda_bit(page->duplicates, r) || dcsr_i_cuda_bit(page->tombstones, r)));
        work.resolved[i] = resolve ? length : 0;
        work.moved[i] = resolve ? 0 : length;
        most += capacity_for(work, length);
    }
    add_up(&sums->most, most);
}

dcsr_status dcsr_i_cuda_plan_rewriting(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rewriting *work,
                                       dcsr_i_cuda_sums *sums)
{
    dcsr_i_cuda_launch(stream, plan_rewriting, work->count, *work, sums);
    DCSR_TRY(dcsr_i_cuda_scan_u64(stream, work->resolved, work->resolved, work->count));
    return dcsr_i_cuda_scan_u64(stream, work->moved, work->moved, work->count);
}

static __global__ void find_borders(dcsr_i_cuda_rewriting work, uint64_t share, uint64_t groups,
                                    dcsr_i_cuda_border *borders)
{
    for (uint64_t g = dcsr_i_cuda_first(); g <= groups; g += dcsr_i_cuda_step()) {
        uint64_t low = 0, high = work.count;
        while (g < groups && low < high) {
            uint64_t middle = low + (high - low) / 2;
            if (work.resolved[middle] < g * share)
                low = middle + 1;
            else
                high = middle;
        }
        borders[g] = {high, work.resolved[high]};
    }
}

void dcsr_i_cuda_find_borders(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rewriting *work, uint64_t share,
                              uint64_t groups, dcsr_i_cuda_border *borders)
{
    dcsr_i_cuda_launch(stream, find_borders, groups + 1, *work, share, groups, borders);
}

/* ---- Placing ---- */

static __global__ void find_capacities(dcsr_i_cuda_rewriting work, uint64_t first, uint64_t end,
                                       const uint64_t *rank, uint64_t *capacity)
{
    for (uint64_t i = first + dcsr_i_cuda_first(); i < end; i += dcsr_i_cuda_step()) {
        uint64_t from = work.resolved[i] - work.resolved[first],
                 to = work.resolved[i + 1] - work.resolved[first];
        uint64_t length = from == to ? work.moved[i + 1] - work.moved[i] : rank[to] - rank[from];
        work.length[i] = (uint32_t)length;
        capacity[i - first] = capacity_for(work, length);
    }
}

static __global__ void place_rows(dcsr_i_cuda_rewriting work, uint64_t first, uint64_t end,
                                  const uint64_t *before)
{
    const uint64_t start = first ? work.begin[first] : work.start;
    for (uint64_t i = first + dcsr_i_cuda_first(); i < end; i += dcsr_i_cuda_step()) {
        work.begin[i + 1] = start + before[i + 1 - first];
        if (i == 0) work.begin[0] = start;
    }
}

dcsr_status dcsr_i_cuda_place_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rewriting *work,
                                   uint64_t first, uint64_t end, const uint64_t *rank, uint64_t *scratch)
{
    dcsr_i_cuda_launch(stream, find_capacities, end - first, *work, first, end, rank, scratch);
    DCSR_TRY(dcsr_i_cuda_scan_u64(stream, scratch, scratch, end - first));
    dcsr_i_cuda_launch(stream, place_rows, end - first, *work, first, end, (const uint64_t *)scratch);
    return DCSR_OK;
}

static __global__ void place_keys(dcsr_i_cuda_rewriting work, const uint64_t *keys, uint64_t n)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < work.count; i += dcsr_i_cuda_step()) {
        uint64_t from = dcsr_i_keys_below(keys, n, (uint64_t)work.list[i] << 32),
                 to = i + 1 < work.count ? dcsr_i_keys_below(keys, n, (uint64_t)work.list[i + 1] << 32) : n;
        work.begin[i] = work.start + from;
        work.length[i] = (uint32_t)(to - from);
        if (i + 1 == work.count) work.begin[work.count] = work.start + n;
    }
}

void dcsr_i_cuda_place_keys(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rewriting *work,
                            const uint64_t *keys, uint64_t n)
{
    dcsr_i_cuda_launch(stream, place_keys, work->count, *work, keys, n);
}

/* ---- Entering ---- */

static __global__ void enter_places(dcsr_i_cuda_rewriting work, const uint32_t *root,
                                    dcsr_i_cuda_row_page *row_page, dcsr_i_cuda_segment_page *segment_page,
                                    bool for_view, dcsr_i_cuda_sums *sums)
{
    uint64_t stored = 0;
    for (uint64_t i = dcsr_i_cuda_first(); i < work.count; i += dcsr_i_cuda_step()) {
        uint32_t slot = root[work.list[i] >> DCSR_CUDA_PAGE_SHIFT];
        if (slot == DCSR_CUDA_NONE) continue;
        dcsr_i_cuda_row_page *page = &row_page[slot];
        uint32_t r = work.list[i] & (DCSR_CUDA_PAGE_ROWS - 1), others = ~(1u << (r & 31));
        page->length[r] = work.length[i];
        /* A row that is only moved keeps its order. */
        if (!work.resolved || work.resolved[i] != work.resolved[i + 1] || !work.length[i])
            page->ordered[r] = work.length[i];
        atomicAnd(&page->fragmented[r / 32], others);
        atomicAnd(&page->duplicates[r / 32], others);
        atomicAnd(&page->tombstones[r / 32], others);
        atomicOr(&page->own[r / 32], ~others);
        segment_page[page->segment[0]].of[r] =
            dcsr_i_segment_of(work.begin[i], work.begin[i + 1] - work.begin[i]);
        /* A view's row is one piece; the further segment pages are the store's. */
        for (int k = 1; !for_view && k < work.rows.segments_per_row && page->segment[k] != DCSR_CUDA_NONE;
             k++)
            segment_page[page->segment[k]].of[r] = {0};
        stored += work.length[i];
    }
    add_up(&sums->stored, stored);
}

void dcsr_i_cuda_enter_places(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rewriting *work,
                              const uint32_t *root, dcsr_i_cuda_row_page *row_page,
                              dcsr_i_cuda_segment_page *segment_page, bool for_view, dcsr_i_cuda_sums *sums)
{
    dcsr_i_cuda_launch(stream, enter_places, work->count, *work, root, row_page, segment_page, for_view,
                       sums);
}
