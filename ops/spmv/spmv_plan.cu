/* spmv_plan.cu: kernels that find the rows that SpMV cuts into parts. */
#include "ops/spmv/spmv_cuda.h"
#include "ops/spmv/spmv_rows.cuh"

DCSR_CUDA_INLINE uint64_t parts_of(uint64_t length)
{
    return length <= DCSR_CUDA_SPMV_LONG ? 0 : (length + DCSR_CUDA_SPMV_PART - 1) / DCSR_CUDA_SPMV_PART;
}

static __global__ void count_parts(dcsr_i_cuda_rows rows, dcsr_i_cuda_spmv_counts *counts)
{
    uint64_t longest = 0, in_use = 0;
    for (uint64_t row = dcsr_i_cuda_first(); row < rows.rows; row += dcsr_i_cuda_step()) {
        uint64_t length = dcsr_i_cuda_length(rows, row), parts = parts_of(length);
        if (length > longest) longest = length;
        in_use += length != 0;
        if (!parts) continue;
        atomicAdd(&counts->rows, 1);
        atomicAdd(&counts->parts, parts);
    }
    longest = dcsr_i_cuda_block_max(longest, (uint64_t)0);
    in_use = dcsr_i_cuda_block_sum(in_use);
    if (threadIdx.x != 0) return;
    atomicMax(&counts->longest, longest);
    atomicAdd(&counts->in_use, in_use);
}

static __global__ void list_rows(dcsr_i_cuda_rows rows, dcsr_i_cuda_spmv_row *list,
                                 dcsr_i_cuda_spmv_counts *counts)
{
    for (uint64_t row = dcsr_i_cuda_first(); row < rows.rows; row += dcsr_i_cuda_step()) {
        uint64_t parts = parts_of(dcsr_i_cuda_length(rows, row));
        if (parts) list[atomicAdd(&counts->rows, 1)] = {row, atomicAdd(&counts->parts, parts), parts};
    }
}

static __global__ void list_parts(dcsr_i_cuda_spmv_plan plan)
{
    for (uint64_t w = dcsr_i_cuda_first_warp(); w < plan.counts.rows; w += dcsr_i_cuda_warp_step())
        for (uint64_t k = dcsr_i_cuda_lane(); k < plan.row[w].parts; k += 32)
            plan.row_of_part[plan.row[w].first + k] = (uint32_t)w;
}

void dcsr_i_cuda_spmv_count(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows,
                            dcsr_i_cuda_spmv_counts *counts)
{
    dcsr_i_cuda_launch(stream, count_parts, rows->rows, *rows, counts);
}

static __global__ void mark_rows(dcsr_i_cuda_rows rows, uint32_t *in_use, uint64_t words)
{
    for (uint64_t w = dcsr_i_cuda_first_warp(); w < words; w += dcsr_i_cuda_warp_step()) {
        uint64_t row = w * 32 + dcsr_i_cuda_lane();
        bool used = row < rows.rows && dcsr_i_cuda_length(rows, row) != 0;
        uint32_t word = __ballot_sync(0xffffffffu, used);
        if (dcsr_i_cuda_lane() == 0) in_use[w] = word;
    }
}

void dcsr_i_cuda_spmv_mark(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows, uint32_t *in_use)
{
    uint64_t words = (rows->rows + 63) / 64 * 2;
    dcsr_i_cuda_launch_warps(stream, mark_rows, words, *rows, in_use, words);
}

void dcsr_i_cuda_spmv_cut(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows,
                          dcsr_i_cuda_spmv_plan *plan, dcsr_i_cuda_spmv_counts *counts)
{
    cudaEvent_t event = nullptr;
    dcsr_i_cuda_note(stream, cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    plan->part_is_free = event;
    dcsr_i_cuda_fill(stream, counts, 0, sizeof *counts);
    dcsr_i_cuda_launch(stream, list_rows, rows->rows, *rows, plan->row, counts);
    dcsr_i_cuda_launch_warps(stream, list_parts, plan->counts.rows, *plan);
}

void dcsr_i_cuda_spmv_forget(dcsr_i_cuda_stream *stream, dcsr_i_cuda_spmv_plan *plan)
{
    if (plan->part_is_free && dcsr_i_cuda_check(dcsr_i_cuda_device_of(stream)) == DCSR_OK)
        dcsr_i_cuda_note(stream, cudaEventDestroy((cudaEvent_t)plan->part_is_free));
}

size_t dcsr_i_cuda_spmv_sum_size(uint32_t type)
{
    return dcsr_i_cuda_with_kind(type, [](auto kind) { return sizeof(typename decltype(kind)::sum); });
}
