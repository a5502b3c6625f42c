/* vector.cu: vectors on a device: bits, lists, and from one to the other.
 *
 * A word of bits is a warp's: lane b has bit b. Where entries are taken by their bits, the words are counted,
 * the counts summed up, and each warp knows where its entries go: 12 bytes a word besides bits, indices and
 * values. Two lists are united by ranks: an index of a goes behind what is before it in a, and what in b is
 * before it and not in a. */
#include "dcsr/device/prim_cuda.h"
#include "dcsr/vector/vector_cuda.h"
#include "dcsr/device/value_word.cuh"

/* How many entries a sparse body has. */
DCSR_CUDA_INLINE uint64_t length_of(const dcsr_i_cuda_body &body)
{
    return body.count ? *body.count : body.nvals;
}

/* ---- Bits to a list ---- */

/* Word w of n bits; NULL: all are set. */
DCSR_CUDA_INLINE uint32_t word_of(const uint32_t *bits, uint64_t n, uint64_t w)
{
    if (bits) return bits[w];
    uint64_t left = n - w * 32;
    return left < 32 ? (1u << left) - 1 : UINT32_MAX;
}

static __global__ void count_words(uint32_t *counts, const uint32_t *bits, uint64_t n)
{
    for (uint64_t w = dcsr_i_cuda_first(); w * 32 < n; w += dcsr_i_cuda_step())
        counts[w] = (uint32_t)__popc(word_of(bits, n, w));
}

static __global__ void take(dcsr_i_cuda_body to, uint32_t size, const uint32_t *bits, uint64_t n,
                            const uint32_t *list, const void *values, const uint64_t *begin)
{
    unsigned lane = dcsr_i_cuda_lane();
    for (uint64_t w = dcsr_i_cuda_first_warp(); w * 32 < n; w += dcsr_i_cuda_warp_step()) {
        uint32_t word = word_of(bits, n, w);
        if (!(word >> lane & 1)) continue;
        uint64_t k = w * 32 + lane, at = begin[w] + (unsigned)__popc(word & ((1u << lane) - 1));
        to.indices[at] = list ? list[k] : (uint32_t)k;
        dcsr_i_cuda_store_word(to.values, size, at, dcsr_i_cuda_load_word(values, size, k));
    }
}

dcsr_status dcsr_i_cuda_compact(dcsr_i_cuda_body *to, dcsr_i_cuda_stream *stream, size_t value_size,
                                const uint32_t *bits, uint64_t n, const uint32_t *list, const void *values)
{
    uint64_t words = (n + 31) / 32;
    uint32_t *counts = (uint32_t *)dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, words, sizeof *counts);
    uint64_t *begin = nullptr;
    if (counts) begin = (uint64_t *)dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, words + 1, sizeof *begin);
    dcsr_status status = begin ? DCSR_OK : dcsr_i_no_memory();
    if (status == DCSR_OK) {
        dcsr_i_cuda_launch(stream, count_words, words, counts, bits, n);
        status = dcsr_i_cuda_scan_u32(stream, counts, begin, words);
    }
    if (status == DCSR_OK) {
        dcsr_i_cuda_launch_warps(stream, take, words, *to, (uint32_t)value_size, bits, n, list, values,
                                 begin);
        dcsr_i_cuda_copy(stream, to->count, begin + words, sizeof *to->count);
    }
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, begin, words + 1, sizeof *begin);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, counts, words, sizeof *counts);
    return status;
}

/* ---- A list to bits ---- */

static __global__ void spread(dcsr_i_cuda_body to, dcsr_i_cuda_body from, uint32_t size)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < length_of(from); k += dcsr_i_cuda_step()) {
        uint32_t i = from.indices[k];
        dcsr_i_cuda_store_word(to.values, size, i, dcsr_i_cuda_load_word(from.values, size, k));
        if (to.present) atomicOr(&to.present[i / 32], 1u << (i & 31));
    }
}

void dcsr_i_cuda_spread(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_body *to, const dcsr_i_cuda_body *from,
                        size_t value_size)
{
    if (to->present)
        dcsr_i_cuda_fill(stream, to->present, 0, dcsr_i_cuda_bit_words(to->size) * sizeof *to->present);
    dcsr_i_cuda_launch(stream, spread, from->nvals, *to, *from, (uint32_t)value_size);
}

static __global__ void set_bits(uint32_t *present, uint64_t size, uint64_t words)
{
    for (uint64_t w = dcsr_i_cuda_first(); w < words; w += dcsr_i_cuda_step())
        present[w] = w * 32 < size ? word_of(nullptr, size, w) : 0;
}

void dcsr_i_cuda_set_bits(dcsr_i_cuda_stream *stream, uint32_t *present, uint64_t size)
{
    uint64_t words = dcsr_i_cuda_bit_words(size);
    dcsr_i_cuda_launch(stream, set_bits, words, present, size, words);
}

/* ---- Two lists ---- */

/* 1 for each index of b that a has not; 0 behind its end. */
static __global__ void find_new(uint32_t *is_new, dcsr_i_cuda_body a, dcsr_i_cuda_body b)
{
    uint64_t na = length_of(a), nb = length_of(b);
    for (uint64_t k = dcsr_i_cuda_first(); k < b.nvals; k += dcsr_i_cuda_step()) {
        uint64_t at = k < nb ? dcsr_i_list_find(a.indices, 0, na, b.indices[k]) : 0;
        is_new[k] = k < nb && (at == na || a.indices[at] != b.indices[k]);
    }
}

/* new_before[k] counts the new indices before entry k of b; the last of them is the number of all. */
static __global__ void unite(uint32_t *list, unsigned long long *count, dcsr_i_cuda_body a,
                             dcsr_i_cuda_body b, const uint64_t *new_before)
{
    uint64_t na = length_of(a), nb = length_of(b);
    for (uint64_t k = dcsr_i_cuda_first(); k < na + nb; k += dcsr_i_cuda_step()) {
        if (k < na) {
            uint32_t index = a.indices[k];
            list[k + new_before[dcsr_i_list_find(b.indices, 0, nb, index)]] = index;
        } else if (new_before[k - na] != new_before[k - na + 1]) {
            uint32_t index = b.indices[k - na];
            list[dcsr_i_list_find(a.indices, 0, na, index) + new_before[k - na]] = index;
        }
    }
    if (dcsr_i_cuda_first() == 0) *count = na + new_before[nb];
}

dcsr_status dcsr_i_cuda_unite(dcsr_i_cuda_body *to, dcsr_i_cuda_stream *stream, const dcsr_i_cuda_body *a,
                              const dcsr_i_cuda_body *b)
{
    uint64_t n = b->nvals, all = a->nvals + n;
    uint32_t *is_new = (uint32_t *)dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, n, sizeof *is_new);
    uint64_t *new_before = nullptr;
    if (is_new) new_before = (uint64_t *)dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, n + 1, sizeof *new_before);
    dcsr_status status = new_before ? DCSR_OK : dcsr_i_no_memory();
    if (status == DCSR_OK) {
        dcsr_i_cuda_launch(stream, find_new, n, is_new, *a, *b);
        status = dcsr_i_cuda_scan_u32(stream, is_new, new_before, n);
    }
    if (status == DCSR_OK)
        dcsr_i_cuda_launch(stream, unite, all ? all : 1, to->indices, to->count, *a, *b,
                           (const uint64_t *)new_before);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, new_before, n + 1, sizeof *new_before);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, is_new, n, sizeof *is_new);
    return status;
}

/* ---- Events ---- */

dcsr_status dcsr_i_cuda_mark_create(dcsr_i_cuda_stream *stream, void **event)
{
    cudaEvent_t place = nullptr;
    if (*event) return DCSR_OK;
    cudaError_t error = cudaEventCreateWithFlags(&place, cudaEventDisableTiming);
    if (error == cudaSuccess) *event = place;
    return dcsr_i_cuda_result(dcsr_i_cuda_device_of(stream), error, "creating an event");
}

void dcsr_i_cuda_mark_record(dcsr_i_cuda_stream *stream, void *event)
{
    dcsr_i_cuda_note(stream, cudaEventRecord(static_cast<cudaEvent_t>(event), dcsr_i_cuda_raw(stream)));
}

void dcsr_i_cuda_mark_wait(dcsr_i_cuda_stream *stream, void *event)
{
    dcsr_i_cuda_note(stream,
                     cudaStreamWaitEvent(dcsr_i_cuda_raw(stream), static_cast<cudaEvent_t>(event), 0));
}
