/* vector_unary.cu: operators on each element of a vector, and choosing elements.
 *
 * Bytes moved: the operand, the result, their bits. */
#include "ops/vector/vector_elements.cuh"

namespace
{
template <class T> struct operand {
    T x;
    bool has;
    uint64_t place;
};
} // namespace

template <class T>
DCSR_CUDA_INLINE operand<T> load_operand(const dcsr_i_cuda_write_source &x, uint64_t k, uint64_t i)
{
    operand<T> a;
    a.x = T(0);
    a.has = dcsr_i_cuda_find(x, k, i, &a.place);
    if (a.has) a.x = dcsr_i_cuda_value_at<T>(x, a.place);
    return a;
}

template <class T> static __global__ void run_unary(dcsr_i_cuda_unary_pass p)
{
    dcsr_i_cuda_pass_over(
        p.pass, [&](uint64_t k, uint64_t i) { return load_operand<T>(p.x, k, i); },
        [&](uint64_t k, uint64_t, const operand<T> &a) {
            if (a.has) dcsr_i_cuda_store(p.out, p.pass.values, k, dcsr_i_cuda_operate_unary(p.name, a.x));
            return a.has;
        });
}

void dcsr_i_cuda_run_unary(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_unary_pass *pass)
{
    dcsr_i_cuda_with_type(pass->type, [=](auto zero) {
        dcsr_i_cuda_launch_pass(stream, run_unary<decltype(zero)>, pass->pass, *pass);
    });
}

template <class T> static __global__ void run_index(dcsr_i_cuda_index_pass p, uint32_t value_size)
{
    dcsr_i_cuda_pass_over(
        p.pass, [&](uint64_t k, uint64_t i) { return load_operand<T>(p.x, k, i); },
        [&](uint64_t k, uint64_t i, const operand<T> &a) {
            if (!a.has) return false;
            int64_t z = dcsr_i_cuda_operate_index(p.name, a.x, (int64_t)i, 0, p.thunk);
            if (!p.select)
                dcsr_i_cuda_store(p.out, p.pass.values, k, z);
            else if (z)
                dcsr_i_cuda_store_word(p.pass.values, value_size, k,
                                       dcsr_i_cuda_load_word(p.x.values, value_size, a.place));
            return !p.select || z != 0;
        });
}

void dcsr_i_cuda_run_index(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_index_pass *pass)
{
    uint32_t value_size = (uint32_t)dcsr_type_size(pass->out);
    dcsr_i_cuda_with_type(pass->type, [=](auto zero) {
        dcsr_i_cuda_launch_pass(stream, run_index<decltype(zero)>, pass->pass, *pass, value_size);
    });
}
