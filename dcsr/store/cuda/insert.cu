/* insert.cu: finding the rows and pages that a sorted batch touches (insert_cuda.h).
 *
 * Bytes an entry: 8 for its key, its neighbour's comes from cache, 8 for the head, and 8 to find the rows by.
 */
#include "dcsr/store/cuda/insert_cuda.h"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/device/stream.cuh"

/* Where each row begins, and how many of all there are. */
static __global__ void find_rows(dcsr_i_cuda_batch b)
{
    uint64_t n = b.combined ? b.counts->entries : b.most;
    for (uint64_t i = dcsr_i_cuda_first(); i < n; i += dcsr_i_cuda_step()) {
        uint64_t before = b.heads[i], upto = b.heads[i + 1];
        if (before != upto) b.growth[static_cast<uint32_t>(before)].first = static_cast<uint32_t>(i);
        if (i + 1 < n) continue;
        b.growth[static_cast<uint32_t>(upto)].first = static_cast<uint32_t>(n);
        b.counts->rows = static_cast<uint32_t>(upto);
        b.counts->pages = static_cast<uint32_t>(upto >> 32);
        if (!b.combined) b.counts->entries = n;
    }
}

dcsr_status dcsr_i_cuda_group_entries(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch)
{
    DCSR_TRY(dcsr_i_cuda_scan_runs(stream, batch->keys, batch->combined ? &batch->counts->entries : nullptr,
                                   batch->most, batch->column_bits, batch->column_bits + DCSR_CUDA_PAGE_SHIFT,
                                   batch->heads));
    dcsr_i_cuda_launch(stream, find_rows, batch->most, *batch);
    return DCSR_OK;
}
