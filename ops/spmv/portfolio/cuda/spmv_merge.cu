/* spmv_merge.cu: the kernel merge (Merrill and Garland, SC 2016): merge_walk.cuh over a CSR.
 *
 * Bytes: 4 + value an entry, 4 a row, x and y, and for each tile 4 and a sum; two launches. */
#include "ops/spmv/portfolio/cuda/merge_walk.cuh"

namespace
{
using namespace dcsr_portfolio;
enum { START = 3, CARRY = 4 };

dcsr_status plan(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *making)
{
    format->tiles = (format->rows + format->nnz + merge_path::TILE - 1) / merge_path::TILE;
    dcsr_i_spmv_say(format, START, format->tiles + 1, sizeof(uint32_t));
    dcsr_i_spmv_say(format, CARRY, format->tiles, format->sum_size);
    return dcsr_i_spmv_csr_plan(format, making);
}

dcsr_status fill(dcsr_i_spmv_format *format, const dcsr_i_spmv_making *making)
{
    const dcsr_status status = dcsr_i_spmv_csr_fill(format, making);
    if (status) return status;
    dcsr_i_spmv_find_tiles(making->stream, array_of<const uint32_t>(format, 0) + 1, format->rows,
                           merge_path::TILE, array_of<uint32_t>(format, START), format->tiles);
    return DCSR_OK;
}

void run(const dcsr_i_spmv_format *format, const dcsr_i_cuda_rows *, const dcsr_i_spmv_put *put)
{
    with_kind(format->type, [=](auto kind) {
        typedef decltype(kind) Kind;
        const merge_path::path path = {array_of<const uint32_t>(format, 0),
                                       array_of<const uint32_t>(format, 1), format->rows, format->nnz,
                                       array_of<const uint32_t>(format, START)};
        merge_path::put(put, product_of<Kind>(put, format, 1, 2), path,
                        array_of<typename Kind::sum>(format, CARRY));
    });
}
} // namespace

const dcsr_i_spmv_recipe dcsr_i_spmv_recipe_merge = {nullptr, nullptr, plan,  fill,
                                                     run,     0,       false, dcsr_i_spmv_csr_refresh};
