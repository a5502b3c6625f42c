/* device_slices.cu: how wide the slices of 32 rows are, of formats that pad rows to the longest of their slice. */
#include "ops/spmv/portfolio/cuda/device_format.cuh"
#include "dcsr/device/prim_cuda.h"

namespace
{
using namespace dcsr_portfolio;

__global__ void measure_slices(const uint64_t *offsets, uint64_t rows, uint64_t slices, uint64_t *widths)
{
    for (uint64_t s = dcsr_i_cuda_first_warp(); s < slices; s += dcsr_i_cuda_warp_step()) {
        const uint64_t row = s * SLICE + dcsr_i_cuda_lane();
        const uint64_t width = dcsr_i_cuda_warp_max(row < rows ? offsets[row + 1] - offsets[row] : 0);
        if (dcsr_i_cuda_lane() == 0) widths[s] = width;
    }
}

} // namespace

uint64_t *dcsr_i_spmv_scanned(const dcsr_i_spmv_making *making, uint64_t *counts, uint64_t n)
{
    if (counts && dcsr_i_cuda_scan_u64(making->stream, counts, counts, n) == DCSR_OK) return counts;
    dcsr_i_cuda_free(making->stream, DCSR_I_SCRATCH, counts, n + 1, sizeof *counts);
    return nullptr;
}

uint64_t *dcsr_i_spmv_slice_starts(const dcsr_i_spmv_format *format, const dcsr_i_spmv_making *making)
{
    const uint64_t slices = slices_of(format);
    uint64_t *widths =
        (uint64_t *)dcsr_i_cuda_alloc(making->stream, DCSR_I_SCRATCH, slices + 1, sizeof *widths);
    if (widths)
        dcsr_i_cuda_launch_warps(making->stream, measure_slices, slices, making->offsets, format->rows,
                                 slices, widths);
    return dcsr_i_spmv_scanned(making, widths, slices);
}

dcsr_status dcsr_i_spmv_total(const dcsr_i_spmv_making *making, uint64_t *starts, uint64_t n, uint64_t *total)
{
    if (!starts) return dcsr_i_no_memory();
    const dcsr_status status =
        dcsr_i_cuda_read_back(making->stream, total, starts + n, sizeof *total, "making a format for spmv");
    dcsr_i_cuda_free(making->stream, DCSR_I_SCRATCH, starts, n + 1, sizeof *starts);
    return status;
}
