/* spmm_accum.cu: what a product has computed into a dense matrix, where the types of accum are not those of
 * the product. */
#include "ops/spmm/spmm.cuh"

namespace
{
DCSR_CUDA_INLINE void copy_value(void *to, const void *from, uint64_t i, size_t size)
{
    switch (size) {
    case 1:
        ((uint8_t *)to)[i] = ((const uint8_t *)from)[i];
        break;
    case 2:
        ((uint16_t *)to)[i] = ((const uint16_t *)from)[i];
        break;
    case 4:
        ((uint32_t *)to)[i] = ((const uint32_t *)from)[i];
        break;
    default:
        ((uint64_t *)to)[i] = ((const uint64_t *)from)[i];
        break;
    }
}

/* T is accum's type. */
template <class T>
__global__ void accumulate(dcsr_i_cuda_spmm x, bool replace, uint32_t ytype, size_t size, void *Y,
                           const void *product, int accum)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < x.rows.rows * x.width; i += dcsr_i_cuda_step()) {
        uint64_t row = i / x.width;
        if (!dcsr_i_cuda_wants(x.wanted, row)) {
            if (replace) copy_value(Y, product, i, size);
        } else if (dcsr_i_cuda_length(x.rows, row)) {
            T sum = dcsr_i_cuda_operate<T>(accum, dcsr_i_cuda_load<T>(ytype, Y, i),
                                           dcsr_i_cuda_load<T>(ytype, product, i));
            dcsr_i_cuda_store(ytype, Y, i, sum);
        }
    }
}
} // namespace

void dcsr_i_cuda_spmm_accumulate(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_spmm *x, bool replace,
                                 dcsr_type ytype, void *Y, const void *T, const dcsr_binary_op *accum)
{
    dcsr_i_cuda_with_type(accum->xtype, [=](auto value) {
        dcsr_i_cuda_launch(stream, accumulate<decltype(value)>, x->rows.rows * x->width, *x, replace, ytype,
                           dcsr_type_size(ytype), Y, T, accum->name);
    });
}
