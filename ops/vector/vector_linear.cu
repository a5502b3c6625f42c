/* vector_linear.cu: kernels for sums of products and combinations of full vectors. Each block adds up what it meets, in
 * a fixed order; one more block adds up the sums of all. */
#include "ops/vector/vector_linear.h"
#include "dcsr/device/reduce.cuh"

namespace
{
/* STEPS: loads of a thread that are on their way at once. */
constexpr int STEPS = 4;
constexpr dcsr_i_cuda_policy POLICY = {256, STEPS};

template <class T> struct dot_of {
    const T *u, *v;
    struct terms {
        T u, v;
    };
    __device__ terms load(uint64_t i) const { return {u[i], v[i]}; }
    __device__ double finish(uint64_t, const terms &t) const { return (double)t.u * (double)t.v; }
};

template <class T> struct axpby_of {
    T *w;
    const T *u;
    T a, b;
    struct terms {
        T u, w;
    };
    __device__ terms load(uint64_t i) const { return {u[i], b != T(0) ? w[i] : T(0)}; }
    __device__ double finish(uint64_t i, const terms &t) const
    {
        const T value = a * t.u + b * t.w;
        w[i] = value;
        return (double)value * (double)value;
    }
};

/* Elements in steps; returns the sum of what they give. */
template <class Pass> __device__ double go_through(const Pass &pass, uint64_t n)
{
    double sum = 0;
    const uint64_t step = dcsr_i_cuda_step();
    for (uint64_t first = dcsr_i_cuda_first(); first < n; first += step * STEPS) {
        typename Pass::terms t[STEPS];
#pragma unroll
        for (int j = 0; j < STEPS; j++)
            if (first + j * step < n) t[j] = pass.load(first + j * step);
#pragma unroll
        for (int j = 0; j < STEPS; j++)
            if (first + j * step < n) sum += pass.finish(first + j * step, t[j]);
    }
    return sum;
}

template <class Pass> __global__ void sum_up(Pass pass, uint64_t n, double *sums)
{
    const double sum = dcsr_i_cuda_block_sum(go_through(pass, n));
    if (sums && threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void add_sums(double *sums, uint64_t count)
{
    double sum = 0;
    for (uint64_t i = threadIdx.x; i < count; i += blockDim.x) sum += sums[i];
    sum = dcsr_i_cuda_block_sum(sum);
    if (threadIdx.x == 0) sums[0] = sum;
}

template <class Pass> void launch(dcsr_i_cuda_stream *stream, const Pass &pass, uint64_t n, double *sums)
{
    dcsr_i_cuda_launch_with(POLICY, stream, sum_up<Pass>, n, pass, n, sums);
    if (sums)
        dcsr_i_cuda_launch_blocks(stream, add_sums, 1, (int)dcsr_i_cuda_threads(POLICY), 0, sums,
                                  dcsr_i_cuda_linear_sums(stream, n));
}
} // namespace

uint64_t dcsr_i_cuda_linear_sums(dcsr_i_cuda_stream *stream, uint64_t n)
{
    return dcsr_i_cuda_blocks(stream, n ? n : 1, POLICY);
}

void dcsr_i_cuda_run_dot(dcsr_i_cuda_stream *stream, double *sums, dcsr_type type, const void *u,
                         const void *v, uint64_t n)
{
    if (type == DCSR_FP32)
        launch(stream, dot_of<float>{(const float *)u, (const float *)v}, n, sums);
    else
        launch(stream, dot_of<double>{(const double *)u, (const double *)v}, n, sums);
}

void dcsr_i_cuda_run_axpby(dcsr_i_cuda_stream *stream, double *sums, dcsr_type type, void *w, double a,
                           const void *u, double b, uint64_t n)
{
    if (type == DCSR_FP32)
        launch(stream, axpby_of<float>{(float *)w, (const float *)u, (float)a, (float)b}, n, sums);
    else
        launch(stream, axpby_of<double>{(double *)w, (const double *)u, a, b}, n, sums);
}
