/* vector_elements.cuh: elements of vectors and masks, and passes over them (internal; in kernels). */
#ifndef DCSR_VECTOR_ELEMENTS_CUH
#define DCSR_VECTOR_ELEMENTS_CUH

#include "dcsr/base/search.h"
#include "dcsr/device/reduce.cuh"
#include "dcsr/device/value_word.cuh"
#include "ops/algebra/operators.cuh"
#include "ops/vector/vector_pass_cuda.h"

/* Words of bits that a warp has under way at once, so that enough loads are: few in the emulator, which then
 * sees several rounds. */
#ifdef DCSR_SIMT
enum { DCSR_CUDA_PASS_WORDS = 2 };
#else
enum { DCSR_CUDA_PASS_WORDS = 4 };
#endif

/* ---- Elements ---- */

DCSR_CUDA_INLINE bool dcsr_i_cuda_has_bit(const uint32_t *bits, uint64_t i)
{
    return bits[i / 32] >> (i & 31) & 1;
}

/* Whether the source has element i, and where; k is the place in the pass. */
DCSR_CUDA_INLINE bool dcsr_i_cuda_find(const dcsr_i_cuda_write_source &source, uint64_t k, uint64_t i,
                                       uint64_t *place)
{
    *place = i;
    switch (source.how) {
    case DCSR_CUDA_BY_BITS:
        return !source.present || dcsr_i_cuda_has_bit(source.present, i);
    case DCSR_CUDA_BY_ORDER:
        *place = k;
        return true;
    case DCSR_CUDA_BY_SEARCH: {
        const uint64_t n = source.count ? *source.count : source.n;
        *place = dcsr_i_list_find(source.indices, 0, n, i);
        return *place < n && source.indices[*place] == i;
    }
    case DCSR_CUDA_BY_NUMBER:
        *place = source.number[i] - 1;
        return source.number[i] != 0;
    default:
        return false;
    }
}

/* The value there, cast; `one` is of type T as it is. */
template <class T>
DCSR_CUDA_INLINE T dcsr_i_cuda_value_at(const dcsr_i_cuda_write_source &source, uint64_t place)
{
    return source.values ? dcsr_i_cuda_load<T>(source.type, source.values, place)
                         : dcsr_i_cuda_value_of<T>(source.one);
}

DCSR_CUDA_INLINE bool dcsr_i_cuda_mask_has(const dcsr_i_cuda_mask &mask, uint64_t k, uint64_t i)
{
    uint64_t place;
    if (mask.whole) return !mask.complement;
    bool has = dcsr_i_cuda_find(mask.source, k, i, &place);
    if (has && !mask.structure) has = dcsr_i_cuda_load<bool>(mask.source.type, mask.source.values, place);
    return has != mask.complement;
}

/* ---- Passes ---- */

/* For each place: finish(k, i, load(k, i)) says whether an element is there. A lane loads several before it
 * finishes the first, and what a warp finishes may be where it has loaded from. All threads of all blocks
 * must call; launched with dcsr_i_cuda_launch_pass(). */
template <class Load, class Finish>
DCSR_CUDA_INLINE void dcsr_i_cuda_pass_over(const dcsr_i_cuda_pass &pass, Load load, Finish finish)
{
    const unsigned lane = dcsr_i_cuda_lane();
    const uint64_t n = pass.length ? *pass.length : pass.n;
    const uint64_t words = pass.present ? dcsr_i_cuda_bit_words(pass.n) : (n + 31) / 32;
    uint64_t there = 0;
    for (uint64_t w = dcsr_i_cuda_first_warp() * DCSR_CUDA_PASS_WORDS; w < words;
         w += dcsr_i_cuda_warp_step() * DCSR_CUDA_PASS_WORDS) {
        uint64_t index[DCSR_CUDA_PASS_WORDS];
        decltype(load(0, 0)) loaded[DCSR_CUDA_PASS_WORDS];
        for (int j = 0; j < DCSR_CUDA_PASS_WORDS; j++) {
            uint64_t k = (w + j) * 32 + lane;
            if (k < n) index[j] = pass.list ? pass.list[k] : k;
        }
        for (int j = 0; j < DCSR_CUDA_PASS_WORDS; j++) {
            uint64_t k = (w + j) * 32 + lane;
            if (k < n) loaded[j] = load(k, index[j]);
        }
        __syncwarp();
        for (int j = 0; j < DCSR_CUDA_PASS_WORDS; j++) {
            uint64_t k = (w + j) * 32 + lane;
            unsigned bits = __ballot_sync(DCSR_CUDA_ALL_LANES, k < n && finish(k, index[j], loaded[j]));
            if (lane != 0) continue;
            if (pass.present && w + j < words) pass.present[w + j] = bits;
            there += (unsigned)__popc(bits);
        }
    }
    if (!pass.count) return;
    there = dcsr_i_cuda_block_sum(there);
    if (threadIdx.x == 0 && there) atomicAdd(pass.count, (unsigned long long)there);
}

template <class... P, class... A>
void dcsr_i_cuda_launch_pass(dcsr_i_cuda_stream *stream, void (*kernel)(P...), const dcsr_i_cuda_pass &pass,
                             A... arguments)
{
    uint64_t words = dcsr_i_cuda_bit_words(pass.n);
    dcsr_i_cuda_launch_warps(stream, kernel, (words + DCSR_CUDA_PASS_WORDS - 1) / DCSR_CUDA_PASS_WORDS,
                             arguments...);
}

#endif
