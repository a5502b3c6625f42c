/* vector_binary.cu: binary operators on the elements of two vectors, or of one and a scalar.
 *
 * Bytes moved: both operands, the result, their bits; 4 an entry for each list that is searched, and more
 * where the cache does not hold the way there. */
#include "ops/vector/vector_elements.cuh"

namespace
{
template <class T> struct operands {
    T x, y;
    bool has_x, has_y;
};
} // namespace

template <class T> static __global__ void run_binary(dcsr_i_cuda_binary_pass p)
{
    const bool to_bool = p.ztype == DCSR_BOOL;
    dcsr_i_cuda_pass_over(
        p.pass,
        [&](uint64_t k, uint64_t i) {
            operands<T> a;
            uint64_t x, y;
            a.has_x = dcsr_i_cuda_find(p.x, k, i, &x);
            a.has_y = dcsr_i_cuda_find(p.y, k, i, &y);
            a.x = a.y = T(0);
            if (a.has_x && (p.either || a.has_y)) a.x = dcsr_i_cuda_value_at<T>(p.x, x);
            if (a.has_y && (p.either || a.has_x)) a.y = dcsr_i_cuda_value_at<T>(p.y, y);
            /* What only one has is cast to the type of the result, from its own. */
            if (to_bool && a.has_x && !a.has_y && p.either) a.x = T(dcsr_i_cuda_value_at<bool>(p.x, x));
            if (to_bool && a.has_y && !a.has_x && p.either) a.y = T(dcsr_i_cuda_value_at<bool>(p.y, y));
            return a;
        },
        [&](uint64_t k, uint64_t, const operands<T> &a) {
            bool both = a.has_x && a.has_y;
            if (!both && !(p.either && (a.has_x || a.has_y))) return false;
            T z = both ? dcsr_i_cuda_operate<T>(p.name, a.x, a.y) : a.has_x ? a.x : a.y;
            dcsr_i_cuda_store(p.out, p.pass.values, k, z);
            return true;
        });
}

void dcsr_i_cuda_run_binary(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_binary_pass *pass)
{
    dcsr_i_cuda_with_type(pass->type, [=](auto zero) {
        dcsr_i_cuda_launch_pass(stream, run_binary<decltype(zero)>, pass->pass, *pass);
    });
}
