/* spmv_nut_cuda.c: the kernel `nut` on a device. */
#include "dcsr/nut/nut_tiles.h"
#include "ops/algebra/operator.h"
#include "ops/nut/nut_multiply_cuda.h"
#include "ops/spmv/portfolio/spmv_nut.h"

static dcsr_status run(const dcsr_i_spmv_product *product, const dcsr_i_spmv_matrix *A, const void *format)
{
    const dcsr_i_nut *nut = format;
    dcsr_i_cuda_nut_product tiles = {
        .nut = nut->shown, .panels = nut->device_panels, .u = product->x, .t = product->y};
    /* Of plus-times there is one for every type. */
    dcsr_i_cuda_semiring_of(&tiles.semiring, dcsr_semiring_of(DCSR_PLUS_TIMES, A->vector_type), false,
                            A->info.type);
    dcsr_i_cuda_nut_multiply(product->stream, product->on, &tiles);
    return DCSR_OK;
}

const dcsr_i_spmv_kernel dcsr_i_cuda_spmv_nut = {
    .told = {.name = "nut",
             .summary = "tiles within which x stays in shared memory, with indices of 16 bits"},
    .refuses = dcsr_i_spmv_nut_refuses,
    .measure = dcsr_i_spmv_nut_measure,
    .build = dcsr_i_spmv_nut_build,
    .refresh = dcsr_i_spmv_nut_refresh,
    .run = run,
    .discard = dcsr_i_spmv_nut_discard,
};
