/* write_vector.cu: kernels that write what was computed into a vector, through mask and accum.
 *
 * Bytes moved: bits of T, w, mask and region; values of T, of w where there is an accum, of the mask where
 * they count; what changes in w. */
#include "ops/vector/vector_elements.cuh"

namespace
{
/* What is known of an element of w. */
template <class A> struct element {
    A x, y; /* to be accumulated, where both are there */
    uint64_t word;
    bool was, take, keep;
};
} // namespace

/* Whether w has the element. Of a list in place, other threads change other bits of the word meanwhile. */
DCSR_CUDA_INLINE bool find_own(const dcsr_i_cuda_write_pass &p, uint64_t k, uint64_t i, uint64_t *place)
{
    if (!p.bits) return dcsr_i_cuda_find(p.w, k, i, place);
    *place = i;
    return atomicOr(&p.bits[i / 32], 0u) >> (i & 31) & 1;
}

template <class A, bool ACCUM>
DCSR_CUDA_INLINE element<A> load_element(const dcsr_i_cuda_write_pass &p, uint32_t size, uint64_t k,
                                         uint64_t i)
{
    element<A> e;
    uint64_t w, t;
    e.x = e.y = A(0);
    e.word = 0;
    bool inside = dcsr_i_cuda_mask_has(p.mask, k, i), stays = p.region && !dcsr_i_cuda_has_bit(p.region, i);
    e.was = find_own(p, k, i, &w);
    e.take = inside && !stays && dcsr_i_cuda_find(p.t, k, i, &t);
    e.keep = e.was && (inside ? ACCUM || stays : !p.replace);
    if (e.take && ACCUM && e.was) {
        e.x = dcsr_i_cuda_load<A>(p.w.type, p.w.values, w);
        e.y = dcsr_i_cuda_value_at<A>(p.t, t);
    } else if (e.take) {
        e.word = p.fresh ? dcsr_i_cuda_load_word(p.fresh, size, t) : p.one.word;
    } else if (e.keep && !p.in_place) {
        e.word = dcsr_i_cuda_load_word(p.w.values, size, w);
    }
    return e;
}

template <class A, bool ACCUM>
DCSR_CUDA_INLINE bool write_element(const dcsr_i_cuda_write_pass &p, uint32_t size, uint64_t k, uint64_t i,
                                    const element<A> &e)
{
    uint64_t at = p.in_place ? i : k;
    bool is = e.take || e.keep;
    if (e.take && ACCUM && e.was)
        dcsr_i_cuda_store(p.w.type, p.pass.values, at, dcsr_i_cuda_operate<A>(p.name, e.x, e.y));
    else if (e.take || (e.keep && !p.in_place))
        dcsr_i_cuda_store_word(p.pass.values, size, at, e.word);
    if (p.bits && is && !e.was) atomicOr(&p.bits[i / 32], 1u << (i & 31));
    if (p.bits && !is && e.was) atomicAnd(&p.bits[i / 32], ~(1u << (i & 31)));
    return is;
}

template <class A, bool ACCUM> static __global__ void run_write(dcsr_i_cuda_write_pass p, uint32_t size)
{
    uint64_t were = 0;
    dcsr_i_cuda_pass_over(
        p.pass, [&](uint64_t k, uint64_t i) { return load_element<A, ACCUM>(p, size, k, i); },
        [&](uint64_t k, uint64_t i, const element<A> &e) {
            were += e.was;
            return write_element<A, ACCUM>(p, size, k, i, e);
        });
    if (!p.bits) return;
    /* The count is of all of w, and goes on from what it was. */
    were = dcsr_i_cuda_block_sum(were);
    if (threadIdx.x == 0 && were) atomicAdd(p.pass.count, (unsigned long long)(0 - were));
}

void dcsr_i_cuda_run_write(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_write_pass *pass)
{
    uint32_t size = (uint32_t)dcsr_type_size((dcsr_type)pass->w.type);
    if (!pass->accum) {
        dcsr_i_cuda_launch_pass(stream, run_write<uint8_t, false>, pass->pass, *pass, size);
        return;
    }
    dcsr_i_cuda_with_type(pass->type, [=](auto zero) {
        dcsr_i_cuda_launch_pass(stream, run_write<decltype(zero), true>, pass->pass, *pass, size);
    });
}

/* ---- Casts ---- */

template <class T> static __global__ void cast_values(T *z, uint32_t type, dcsr_i_cuda_body x)
{
    /* What is behind the entries of a list has never been written. */
    uint64_t n = x.dense ? x.size : x.count ? *x.count : x.nvals;
    for (uint64_t k = dcsr_i_cuda_first(); k < n; k += dcsr_i_cuda_step())
        z[k] = dcsr_i_cuda_load<T>(type, x.values, k);
}

void dcsr_i_cuda_run_cast(dcsr_i_cuda_stream *stream, dcsr_type ztype, void *z, dcsr_type xtype,
                          const dcsr_i_cuda_body *x)
{
    dcsr_i_cuda_with_type(ztype, [=](auto zero) {
        typedef decltype(zero) T;
        dcsr_i_cuda_launch(stream, cast_values<T>, x->capacity, (T *)z, xtype, *x);
    });
}
