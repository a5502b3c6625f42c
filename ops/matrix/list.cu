/* list.cu: kernels that look at the order of lists of entries and choose from them.
 *
 * Bytes an entry: checking the order reads the key; choosing reads 4 + 8 beside the entry and writes it. */
#include "dcsr/base/search.h"
#include "dcsr/device/reduce.cuh"
#include "dcsr/device/value_word.cuh"
#include "ops/matrix/coo_kernels_cuda.h"
#include "ops/algebra/operators.cuh"

/* ---- Order ---- */

static __global__ void count_descents(const uint64_t *keys, uint64_t n, unsigned long long *count)
{
    uint64_t descents = 0;
    for (uint64_t k = dcsr_i_cuda_first() + 1; k < n; k += dcsr_i_cuda_step())
        descents += keys[k] <= keys[k - 1];
    descents = dcsr_i_cuda_block_sum(descents);
    if (threadIdx.x == 0 && descents) atomicAdd(count, (unsigned long long)descents);
}

void dcsr_i_cuda_coo_count_descents(dcsr_i_cuda_stream *stream, const uint64_t *keys, uint64_t n,
                                    unsigned long long *count)
{
    dcsr_i_cuda_launch(stream, count_descents, n, keys, n, count);
}

static __global__ void count_rows(const uint64_t *keys, uint64_t n, unsigned long long *count)
{
    uint64_t rows = 0;
    for (uint64_t k = dcsr_i_cuda_first(); k < n; k += dcsr_i_cuda_step())
        rows += !k || keys[k] >> 32 != keys[k - 1] >> 32;
    rows = dcsr_i_cuda_block_sum(rows);
    if (threadIdx.x == 0 && rows) atomicAdd(count, (unsigned long long)rows);
}

void dcsr_i_cuda_coo_count_rows(dcsr_i_cuda_stream *stream, const uint64_t *keys, uint64_t n,
                                unsigned long long *count)
{
    dcsr_i_cuda_launch(stream, count_rows, n, keys, n, count);
}

/* ---- Choosing ---- */

static __global__ void scatter_entries(dcsr_i_cuda_coo from, uint32_t size, const uint32_t *keep,
                                       const uint64_t *place, dcsr_i_cuda_coo to)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < from.n; k += dcsr_i_cuda_step()) {
        if (!keep[k]) continue;
        to.keys[place[k]] = from.keys[k];
        if (size)
            dcsr_i_cuda_store_word(to.values, size, place[k], dcsr_i_cuda_load_word(from.values, size, k));
    }
}

void dcsr_i_cuda_coo_scatter(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *from, const uint32_t *keep,
                             const uint64_t *place, const dcsr_i_cuda_coo *to)
{
    uint32_t size = (uint32_t)dcsr_type_size(from->type);
    dcsr_i_cuda_launch(stream, scatter_entries, from->n, *from, size, keep, place, *to);
}

static __global__ void mark_true(dcsr_i_cuda_coo list, uint32_t *keep)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < list.n; k += dcsr_i_cuda_step())
        keep[k] = dcsr_i_cuda_load<bool>(list.type, list.values, k);
}

void dcsr_i_cuda_coo_mark_true(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *list, uint32_t *keep)
{
    dcsr_i_cuda_launch(stream, mark_true, list->n, *list, keep);
}

static __global__ void mark_rows(dcsr_i_cuda_coo list, uint32_t *keep)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < list.n; k += dcsr_i_cuda_step())
        keep[k] = !k || list.keys[k - 1] >> 32 != list.keys[k] >> 32;
}

void dcsr_i_cuda_coo_mark_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *list, uint32_t *keep)
{
    dcsr_i_cuda_launch(stream, mark_rows, list->n, *list, keep);
}

static __global__ void name_rows(dcsr_i_cuda_coo list, const uint32_t *keep, const uint64_t *place,
                                 uint32_t *rows)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < list.n; k += dcsr_i_cuda_step())
        if (keep[k]) rows[place[k]] = (uint32_t)(list.keys[k] >> 32);
}

void dcsr_i_cuda_coo_name_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *list, const uint32_t *keep,
                               const uint64_t *place, uint32_t *rows)
{
    dcsr_i_cuda_launch(stream, name_rows, list->n, *list, keep, place, rows);
}

DCSR_CUDA_INLINE bool is_in(const uint32_t *bits, uint32_t i)
{
    return !bits || (bits[i / 32] >> (i & 31) & 1);
}

static __global__ void mark_duplicates(dcsr_i_cuda_coo list, uint32_t *keep)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < list.n; k += dcsr_i_cuda_step())
        keep[k] =
            (k && list.keys[k - 1] == list.keys[k]) || (k + 1 < list.n && list.keys[k + 1] == list.keys[k]);
}

void dcsr_i_cuda_coo_mark_duplicates(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *list, uint32_t *keep)
{
    dcsr_i_cuda_launch(stream, mark_duplicates, list->n, *list, keep);
}

DCSR_CUDA_INLINE bool has_key(const dcsr_i_cuda_coo &list, uint64_t key)
{
    const uint64_t at = dcsr_i_keys_below(list.keys, list.n, key);
    return at < list.n && list.keys[at] == key;
}

static __global__ void mark_missing(dcsr_i_cuda_coo list, dcsr_i_cuda_coo other, uint32_t *keep)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < list.n; k += dcsr_i_cuda_step())
        keep[k] = !has_key(other, list.keys[k]);
}

void dcsr_i_cuda_coo_mark_missing(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *list,
                                  const dcsr_i_cuda_coo *other, uint32_t *keep)
{
    dcsr_i_cuda_launch(stream, mark_missing, list->n, *list, *other, keep);
}

DCSR_CUDA_INLINE bool stays(const dcsr_i_cuda_staying &how, uint64_t key)
{
    if (how.masked && has_key(how.places, key) == how.complement) return !how.replace;
    if (how.accumulates) return !has_key(how.T, key);
    return how.region && (!is_in(how.rows, (uint32_t)(key >> 32)) || !is_in(how.cols, (uint32_t)key));
}

static __global__ void mark_staying(dcsr_i_cuda_coo list, dcsr_i_cuda_staying how, uint32_t *keep)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < list.n; k += dcsr_i_cuda_step())
        keep[k] = stays(how, list.keys[k]) != how.others;
}

void dcsr_i_cuda_coo_mark_staying(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_coo *list,
                                  const dcsr_i_cuda_staying *how, uint32_t *keep)
{
    dcsr_i_cuda_launch(stream, mark_staying, list->n, *list, *how, keep);
}

static __global__ void set_bits(uint32_t *bits, const uint32_t *indices, uint64_t n)
{
    for (uint64_t k = dcsr_i_cuda_first(); k < n; k += dcsr_i_cuda_step())
        atomicOr(&bits[indices[k] / 32], 1u << (indices[k] & 31));
}

void dcsr_i_cuda_coo_set_bits(dcsr_i_cuda_stream *stream, uint32_t *bits, const uint32_t *indices, uint64_t n)
{
    dcsr_i_cuda_launch(stream, set_bits, n, bits, indices, n);
}
