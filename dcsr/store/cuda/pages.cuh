/* pages.cuh: the pages that a planned batch makes (insert_cuda.h; internal, in kernels: insert.cu): which slots they
 * get of those that the host has taken, as table_cuda.c gives them out for other changes. */
#ifndef DCSR_PAGES_CUH
#define DCSR_PAGES_CUH

#include "dcsr/store/cuda/plan.cuh"
#include "dcsr/store/cuda/table_cuda.h"

/* What page i is made from, and which of its segment pages it must have of its own, as bits. */
DCSR_CUDA_INLINE uint32_t look_at_page(const dcsr_i_cuda_batch &b, const dcsr_i_cuda_page_need &need,
                                       dcsr_i_cuda_page_change &change)
{
    uint32_t there = 0;
    change.page = need.page;
    change.old = b.rows.root[need.page];
    for (int k = 0; k < DCSR_MAX_SEGMENTS; k++) {
        const uint32_t slot =
            change.old == DCSR_CUDA_NONE ? DCSR_CUDA_NONE : b.rows.row_page[change.old].segment[k];
        change.old_segment[k] = change.segment[k] = slot;
        if (k < b.rows.segments_per_row) there |= static_cast<uint32_t>(slot != DCSR_CUDA_NONE) << k;
    }
    return dcsr_i_cuda_own_levels(&need, there);
}

/* Whether a page is made: in place only one that is not to be changed itself. */
DCSR_CUDA_INLINE bool is_made(const dcsr_i_cuda_batch &b, const dcsr_i_cuda_page_need &need)
{
    return !b.in_place || need.levels;
}

/* Gives slots to the pages that are made, and counts what is needed, be there enough or not. The needs of a page then
 * say what it got. */
DCSR_CUDA_INLINE void assign_pages(const dcsr_i_cuda_batch &b)
{
    const uint32_t pages = b.counts->pages;
    for (uint64_t tile = (uint64_t)blockIdx.x * blockDim.x; tile < pages; tile += dcsr_i_cuda_step()) {
        const uint64_t i = tile + threadIdx.x;
        const bool made = i < pages && is_made(b, b.needs[i]);
        dcsr_i_cuda_page_change change;
        uint64_t made_here, total;
        const uint32_t own = made ? look_at_page(b, b.needs[i], change) : 0,
                       count = static_cast<uint32_t>(__popc(own));
        const uint64_t made_before = dcsr_i_cuda_block_scan(made, &made_here),
                       before = dcsr_i_cuda_block_scan(count, &total),
                       m = claim(&b.plan->pages, static_cast<uint32_t>(made_here)) + made_before,
                       at = claim(&b.plan->segments, static_cast<uint32_t>(total)) + before;
        if (!made || m >= b.room.pages || at + count > b.room.segments) continue;
        b.needs[i].levels = own;
        b.needs[i].slots = static_cast<uint32_t>(at);
        b.needs[i].slot = static_cast<uint32_t>(m);
        change.fresh = b.slots[m];
        const uint32_t *slot = b.slots + b.room.pages + at;
        for (int k = 0; k < DCSR_MAX_SEGMENTS; k++)
            if (own >> k & 1) change.segment[k] = *slot++;
        b.copied[m] = change;
    }
}

/* The root is like that of the version before, but for the pages that are made. */
DCSR_CUDA_INLINE void share_root(const dcsr_i_cuda_batch &b)
{
    for (uint64_t p = dcsr_i_cuda_first(); p < b.root_pages; p += dcsr_i_cuda_step())
        b.root[p] = b.rows.root[p];
}

/* A page that has its first segment page for itself is not seen by any version that is held; nor are rows that move
 * now, or that are yet to come. What is known already of an older version is kept if no later one is held. */
DCSR_CUDA_INLINE void note_unseen(const dcsr_i_cuda_batch &b, const dcsr_i_cuda_page_change &change)
{
    dcsr_i_cuda_row_page &page = b.row_page[change.fresh];
    const bool fresh = change.old == DCSR_CUDA_NONE;
    __syncthreads();
    const bool known = page.unseen >= b.seen;
    __syncthreads();
    if ((known && !fresh) || change.segment[0] == change.old_segment[0]) return;
    for (unsigned w = threadIdx.x; w < DCSR_CUDA_MASK_WORDS; w += blockDim.x)
        page.own[w] = fresh ? UINT32_MAX : 0;
    if (threadIdx.x == 0) page.unseen = b.seen;
}

DCSR_CUDA_INLINE void copy_pages(const dcsr_i_cuda_batch &b)
{
    for (uint64_t i = dcsr_i_cuda_first_block(); i < b.plan->pages; i += dcsr_i_cuda_block_step()) {
        make_page(b.root, b.row_page, b.segment_page, b.copied[i], false);
        note_unseen(b, b.copied[i]);
    }
}

#endif
