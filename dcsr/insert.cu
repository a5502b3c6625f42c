/* insert.cu: finding the rows and pages that a sorted batch touches (insert_cuda.h).
 *
 * Bytes an entry: 16 for its key and its neighbour's, mostly from cache, 8 for the head, 16 for the scan, and
 * 8 to find the rows by. */
#include "dcsr/insert_cuda.h"
#include "dcsr/prim_cuda.h"
#include "dcsr/stream.cuh"

/* Entry i begins a row: 1 in the low half; a page: 1 in the high half. */
static __global__ void mark_heads(dcsr_cuda_batch b)
{
    uint64_t n = b.combined ? b.counts->entries : b.most;
    for (uint64_t i = dcsr_cuda_first(); i < b.most; i += dcsr_cuda_step()) {
        uint64_t row = i < n ? b.keys[i] >> b.column_bits : 0;
        uint64_t before = i && i < n ? b.keys[i - 1] >> b.column_bits : 0;
        bool new_row = i < n && (!i || row != before);
        bool new_page = i < n && (!i || row >> DCSR_CUDA_PAGE_SHIFT != before >> DCSR_CUDA_PAGE_SHIFT);
        b.heads[i] = static_cast<uint64_t>(new_page) << 32 | new_row;
    }
}

/* After the scan: where each row begins, and how many of all there are. */
static __global__ void find_rows(dcsr_cuda_batch b)
{
    uint64_t n = b.combined ? b.counts->entries : b.most;
    for (uint64_t i = dcsr_cuda_first(); i < n; i += dcsr_cuda_step()) {
        uint64_t before = b.heads[i], upto = b.heads[i + 1];
        if (before != upto) b.growth[static_cast<uint32_t>(before)].first = static_cast<uint32_t>(i);
        if (i + 1 < n) continue;
        b.growth[static_cast<uint32_t>(upto)].first = static_cast<uint32_t>(n);
        b.counts->rows = static_cast<uint32_t>(upto);
        b.counts->pages = static_cast<uint32_t>(upto >> 32);
        if (!b.combined) b.counts->entries = n;
    }
}

dcsr_status dcsr_cuda_group_entries(dcsr_cuda_stream *stream, const dcsr_cuda_batch *batch)
{
    dcsr_cuda_launch(stream, mark_heads, batch->most, *batch);
    DCSR_TRY(dcsr_cuda_scan_u64(stream, batch->heads, batch->heads, batch->most));
    dcsr_cuda_launch(stream, find_rows, batch->most, *batch);
    return DCSR_OK;
}
