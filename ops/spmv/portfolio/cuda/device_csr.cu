/* device_csr.cu: CSR with offsets of 32 bits, and how rows are cut into tiles of equal work.
 *
 * Where the rows of the view lie one behind the other, as in a CSR view or after a defragmentation as a whole, its
 * columns and values are lent: the format is 4 bytes a row. */
#include "ops/spmv/portfolio/cuda/device_format.cuh"
#include "dcsr/store/cuda/gather_cuda.h"

namespace
{
using namespace dcsr_portfolio;

__global__ void find_tiles(const uint32_t *ends, uint64_t rows, uint64_t items, uint32_t *start,
                           uint64_t tiles)
{
    for (uint64_t k = dcsr_i_cuda_first(); k <= tiles; k += dcsr_i_cuda_step()) {
        uint64_t low = 0, high = rows;
        while (low < high) {
            const uint64_t middle = (low + high) / 2;
            if (ends[middle] + middle < k * items)
                low = middle + 1;
            else
                high = middle;
        }
        start[k] = (uint32_t)low;
    }
}

/* Where the rows of a list begin in the format; *differ is raised where one has another length there. */
__global__ void find_rows(dcsr_i_cuda_walk walk, const uint32_t *offsets, uint64_t *begin, uint32_t *differ)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < walk.count; i += dcsr_i_cuda_step()) {
        const uint32_t row = walk.list[i];
        begin[i] = offsets[row];
        if (walk.offsets[i + 1] - walk.offsets[i] != offsets[row + 1] - offsets[row]) *differ = 1;
    }
}

__global__ void empty_if_raised(uint64_t *offsets, uint64_t n, const uint32_t *flag)
{
    if (!*flag) return;
    for (uint64_t i = dcsr_i_cuda_first(); i < n; i += dcsr_i_cuda_step()) offsets[i] = 0;
}
} // namespace

void dcsr_i_spmv_find_tiles(dcsr_i_cuda_stream *stream, const uint32_t *ends, uint64_t rows, uint64_t items,
                            uint32_t *start, uint64_t tiles)
{
    dcsr_i_cuda_launch(stream, find_tiles, tiles + 1, ends, rows, items, start, tiles);
}

dcsr_status dcsr_i_spmv_csr_plan(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *making)
{
    dcsr_i_spmv_say(format, 0, format->rows + 1, sizeof(uint32_t));
    dcsr_i_spmv_say(format, 1, format->nnz, sizeof(uint32_t));
    dcsr_i_spmv_say(format, 2, format->nnz, format->value_size);
    if (!making->contiguous) return DCSR_OK;
    format->array[1].lent = format->array[2].lent = true;
    format->array[1].at = making->rows.columns + making->first;
    format->array[2].at =
        format->value_size ? making->rows.values + making->first * format->value_size : nullptr;
    return DCSR_OK;
}

void dcsr_i_spmv_stop_if_raised(const dcsr_i_spmv_making *making, const dcsr_i_spmv_changed *changed)
{
    const uint64_t count = changed->walk.count + 1;
    dcsr_i_cuda_launch(making->stream, empty_if_raised, count, changed->offsets, count,
                       (const uint32_t *)changed->differ);
}

bool dcsr_i_spmv_csr_may_refresh(const dcsr_i_spmv_format *format, const dcsr_i_spmv_making *making,
                                 const dcsr_i_spmv_format *now)
{
    return dcsr_i_spmv_list_may_refresh(format, making, now) && !making->contiguous && !format->array[1].lent;
}

dcsr_status dcsr_i_spmv_csr_refresh(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *making,
                                    const dcsr_i_spmv_changed *changed)
{
    const dcsr_i_cuda_walk &walk = changed->walk;
    uint64_t *begin =
        (uint64_t *)dcsr_i_cuda_alloc(making->stream, DCSR_I_SCRATCH, walk.count, sizeof *begin);
    if (!begin) return dcsr_i_no_memory();
    dcsr_i_cuda_launch(making->stream, find_rows, walk.count, walk, (const uint32_t *)format->array[0].at,
                       begin, changed->differ);
    dcsr_i_spmv_stop_if_raised(making, changed);
    dcsr_i_cuda_gather(making->stream, &walk, changed->entries, begin, (uint32_t *)format->array[1].at,
                       (char *)format->array[2].at);
    dcsr_i_cuda_free(making->stream, DCSR_I_SCRATCH, begin, walk.count, sizeof *begin);
    return DCSR_OK;
}

dcsr_status dcsr_i_spmv_csr_fill(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *making)
{
    dcsr_i_cuda_launch(making->stream, narrow<uint64_t>, format->rows + 1, making->offsets,
                       (uint32_t *)format->array[0].at, format->rows + 1);
    if (making->contiguous) return DCSR_OK;
    const dcsr_i_cuda_walk walk = {making->rows, nullptr, format->rows, making->offsets};
    dcsr_i_cuda_gather(making->stream, &walk, format->nnz, nullptr, (uint32_t *)format->array[1].at,
                       (char *)format->array[2].at);
    return DCSR_OK;
}
