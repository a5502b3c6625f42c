/* list.cu: kernels that make lists of entries and choose from them.
 *
 * Bytes an entry: out of rows, it is read and 8 + value size written; checking the order reads the key;
 * choosing reads 4 + 8 beside the entry and writes it. */
#include "dcsr/device/reduce.cuh"
#include "dcsr/store/cuda/balanced_walk.cuh"
#include "dcsr/device/value_word.cuh"
#include "ops/matrix/coo_kernels_cuda.h"
#include "ops/algebra/operators.cuh"

/* ---- Out of rows ---- */

namespace
{
struct gathered {
    uint64_t column, word;
};
} // namespace

static __global__ void DCSR_CUDA_WALK_BOUNDS gather_entries(dcsr_i_cuda_walk walk, uint64_t *keys,
                                                            void *values)
{
    const uint32_t size = walk.rows.value_size;
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &, const dcsr_i_cuda_source &source) {
            gathered g = {walk.rows.columns[source.place], 0};
            if (values) g.word = dcsr_i_cuda_load_word(walk.rows.values, size, source.place);
            return g;
        },
        [&](const dcsr_i_cuda_entry &entry, const gathered &g) {
            keys[entry.e] = entry.i << 32 | g.column;
            if (values) dcsr_i_cuda_store_word(values, size, entry.e, g.word);
        });
}

void dcsr_i_cuda_coo_gather(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t entries,
                            uint64_t *keys, void *values)
{
    dcsr_i_cuda_launch_walk(stream, gather_entries, entries, walk->count, *walk, keys, values);
}

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
    uint64_t low = 0, high = list.n;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (list.keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < list.n && list.keys[low] == key;
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
        keep[k] = stays(how, list.keys[k]);
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
