/* vector_move.cu: kernels that move elements of vectors to other places, and that add them up.
 *
 * A sum is taken in two steps: each thread adds up every so many-th element, several of which are under way
 * at once, the threads of a block are added by halves, and one block adds up what the blocks have. */
#include "ops/vector/vector_elements.cuh"

/* ---- Places ---- */

static __global__ void mark(uint32_t *bits, const uint64_t *indices, uint64_t n)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < n; k += dcsr_i_cuda_step())
        atomicOr(&bits[indices[k] / 32], 1u << (indices[k] & 31));
}

void dcsr_i_cuda_run_mark(dcsr_i_cuda_stream *stream, uint32_t *bits, const uint64_t *indices, uint64_t n)
{
    dcsr_i_cuda_launch(stream, mark, n, bits, indices, n);
}

static __global__ void number_places(uint32_t *number, dcsr_i_cuda_write_source x, const uint64_t *indices,
                                     uint64_t n)
{
    uint64_t place;
    for (uint64_t k = dcsr_i_cuda_first(); k < n; k += dcsr_i_cuda_step())
        if (dcsr_i_cuda_find(x, k, k, &place)) atomicMax(&number[indices[k]], (unsigned)k + 1);
}

void dcsr_i_cuda_run_number(dcsr_i_cuda_stream *stream, uint32_t *number, const dcsr_i_cuda_write_source *x,
                            const uint64_t *indices, uint64_t n)
{
    dcsr_i_cuda_launch(stream, number_places, n, number, *x, indices, n);
}

namespace
{
struct moved {
    uint64_t word;
    bool has;
};
} // namespace

static __global__ void gather(dcsr_i_cuda_pass pass, dcsr_i_cuda_write_source x, uint32_t size,
                              const uint64_t *indices)
{
    dcsr_i_cuda_pass_over(
        pass,
        [&](uint64_t k, uint64_t i) {
            moved a = {0, false};
            uint64_t place;
            a.has = dcsr_i_cuda_find(x, k, indices ? indices[i] : i, &place);
            if (a.has) a.word = dcsr_i_cuda_load_word(x.values, size, place);
            return a;
        },
        [&](uint64_t k, uint64_t, const moved &a) {
            if (a.has) dcsr_i_cuda_store_word(pass.values, size, k, a.word);
            return a.has;
        });
}

void dcsr_i_cuda_run_gather(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_pass *pass,
                            const dcsr_i_cuda_write_source *x, const uint64_t *indices)
{
    uint32_t size = (uint32_t)dcsr_type_size((dcsr_type)x->type);
    dcsr_i_cuda_launch_pass(stream, gather, *pass, *pass, *x, size, indices);
}

/* ---- Sums ---- */

namespace
{
constexpr dcsr_i_cuda_policy POLICY = {256, 8};
constexpr int STEPS = 4; /* elements that a thread has under way at once */

template <class T> struct sum {
    T value;
    bool any;
};
} // namespace

template <class T> DCSR_CUDA_INLINE void add(sum<T> &a, int name, T value, bool any)
{
    if (a.any && any)
        a.value = dcsr_i_cuda_operate<T>(name, a.value, value);
    else if (any)
        a.value = value;
    a.any |= any;
}

/* The sum of the block's threads, for the first of them; there are 256 at most, a power of two. */
template <class T> DCSR_CUDA_INLINE sum<T> add_block(sum<T> a, int name)
{
    SIMT_SHARED(T, values, 256);
    SIMT_SHARED(bool, any, 256);
    unsigned t = threadIdx.x;
    values[t] = a.value;
    any[t] = a.any;
    for (unsigned half = blockDim.x / 2; half; half /= 2) {
        __syncthreads();
        if (t >= half) continue;
        add(a, name, values[t + half], any[t + half]);
        values[t] = a.value;
        any[t] = a.any;
    }
    return a;
}

template <class T> DCSR_CUDA_INLINE void store_sum(dcsr_i_cuda_sum_of_vector *to, const sum<T> &a)
{
    to->value.word = 0;
    memcpy(&to->value, &a.value, sizeof a.value);
    to->any = a.any;
}

template <class T>
static __global__ void add_elements(dcsr_i_cuda_sum_of_vector *sums, int name, dcsr_i_cuda_write_source x,
                                    uint64_t n)
{
    sum<T> a = {T(0), false};
    for (uint64_t first = dcsr_i_cuda_first(); first < n; first += dcsr_i_cuda_step() * STEPS) {
        T value[STEPS];
        bool has[STEPS];
        for (int j = 0; j < STEPS; j++) {
            uint64_t k = first + j * dcsr_i_cuda_step(), place;
            has[j] = k < n && dcsr_i_cuda_find(x, k, k, &place);
            value[j] = has[j] ? dcsr_i_cuda_value_at<T>(x, place) : T(0);
        }
        for (int j = 0; j < STEPS; j++) add(a, name, value[j], has[j]);
    }
    a = add_block(a, name);
    if (threadIdx.x == 0) store_sum(&sums[blockIdx.x], a);
}

template <class T> static __global__ void add_sums(dcsr_i_cuda_sum_of_vector *sums, int name, uint64_t n)
{
    sum<T> a = {T(0), false};
    for (uint64_t k = threadIdx.x; k < n; k += blockDim.x)
        add(a, name, dcsr_i_cuda_value_of<T>(sums[k].value), sums[k].any != 0);
    a = add_block(a, name);
    if (threadIdx.x == 0) store_sum(&sums[0], a);
}

uint64_t dcsr_i_cuda_partial_sums(dcsr_i_cuda_stream *stream, uint64_t n)
{
    return dcsr_i_cuda_blocks(stream, n ? n : 1, POLICY);
}

void dcsr_i_cuda_run_reduce(dcsr_i_cuda_stream *stream, dcsr_i_cuda_sum_of_vector *sums, int name,
                            dcsr_type type, const dcsr_i_cuda_write_source *x, uint64_t n)
{
    uint64_t count = dcsr_i_cuda_partial_sums(stream, n);
    dcsr_i_cuda_with_type(type, [=](auto zero) {
        typedef decltype(zero) T;
        dcsr_i_cuda_launch_with(POLICY, stream, add_elements<T>, n, sums, name, *x, n);
        dcsr_i_cuda_launch_blocks(stream, add_sums<T>, 1, (int)dcsr_i_cuda_threads(POLICY), 0, sums, name,
                                  count);
    });
}
