/* column_order.cuh: the columns of a matrix by how many entries they have, the most first (internal; for .cu files
 * here). Which of those with equally many comes first is decided by their numbers, as the sort is stable. */
#ifndef DCSR_COLUMN_ORDER_CUH
#define DCSR_COLUMN_ORDER_CUH

#include "dcsr/device/prim_cuda.h"
#include "dcsr/store/cuda/balanced_walk.cuh"
#include "ops/spmv/portfolio/cuda/device_format.cuh"

namespace
{
using namespace dcsr_portfolio;

__global__ void DCSR_CUDA_WALK_BOUNDS count_columns(dcsr_i_cuda_walk walk, uint32_t *counts)
{
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &, const dcsr_i_cuda_source &source) {
            return walk.rows.columns[source.place];
        },
        [&](const dcsr_i_cuda_entry &, uint32_t column) { atomicAdd(&counts[column], 1u); });
}

/* Keys that ascend where counts descend. */
__global__ void make_keys(uint32_t *counts, uint32_t *numbers, uint64_t cols)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < cols; i += dcsr_i_cuda_step()) {
        counts[i] = ~counts[i];
        numbers[i] = (uint32_t)i;
    }
}

/* Columns in their new order, in scratch memory. */
struct ordered {
    uint32_t *keys, *keys_spare, *numbers, *numbers_spare;
    uint64_t cols;
};

inline void free_ordered(const dcsr_i_spmv_making *m, ordered *o)
{
    for (uint32_t *block : {o->keys, o->keys_spare, o->numbers, o->numbers_spare})
        dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, block, o->cols, sizeof *block);
    *o = {};
}

inline dcsr_i_cuda_walk walk_of(const dcsr_i_spmv_format *format, const dcsr_i_spmv_making *m)
{
    return {m->rows, nullptr, format->rows, m->offsets};
}

inline dcsr_status order_columns(ordered *o, const dcsr_i_spmv_format *format, const dcsr_i_spmv_making *m)
{
    *o = {};
    o->cols = format->cols;
    for (uint32_t **block : {&o->keys, &o->keys_spare, &o->numbers, &o->numbers_spare}) {
        *block = (uint32_t *)dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, o->cols, sizeof **block);
        if (!*block) return DCSR_ERROR_OUT_OF_MEMORY;
    }
    dcsr_i_cuda_fill(m->stream, o->keys, 0, o->cols * sizeof *o->keys);
    dcsr_i_cuda_launch_walk(m->stream, count_columns, format->nnz, format->rows, walk_of(format, m), o->keys);
    dcsr_i_cuda_launch(m->stream, make_keys, o->cols, o->keys, o->numbers, o->cols);
    return dcsr_i_cuda_sort_u32(m->stream, &o->keys, &o->keys_spare, &o->numbers, &o->numbers_spare, o->cols,
                                32);
}
} // namespace

#endif
