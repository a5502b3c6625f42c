/* coo_merge.cu: union, intersection and difference of two lists of entries.
 *
 *      x     2 5 9                     merged:  2 | 3 5(both) | 7 9
 *      y     3 5 7                     parts of about equal length, one for each block
 *
 * Where a part begins in both lists is found by bisection of the keys, for all parts at once; entries of
 * equal keys are in one part. A block brings its part into shared memory, where its threads do the same once
 * more, each with a few entries: they note what is kept, in order, and the block writes it one behind the
 * other. This is done twice: to count, and to write where the sum of the counts before says.
 *
 * Bytes an entry of either list: 8 of its key each time, its value once; 8 + value size an entry that is
 * kept. */
#include "dcsr/device/tile_scan.cuh"
#include "dcsr/device/value_word.cuh"
#include "ops/matrix/coo_kernels_cuda.h"
#include "ops/algebra/operators.cuh"

/* Threads of a block, entries of a thread; few in the emulator, so that small lists have several parts. */
#ifdef DCSR_SIMT
enum { THREADS = 32, ITEMS = 3 };
#else
enum { THREADS = 256, ITEMS = 8 };
#endif
/* A part may have one more, that of a key which its last entry has. */
enum { PART = THREADS * ITEMS - 1, NOWHERE = 0xffff };

namespace
{
/* Places in both lists. */
struct places {
    uint64_t x, y;
};

/* Where what is kept stands in the part of each list; NOWHERE: not there. */
struct kept {
    uint16_t x, y;
};
} // namespace

/* Behind the first `at` entries of both lists together, or behind one more where that has an equal key. */
DCSR_CUDA_INLINE places split(const uint64_t *xk, uint64_t xn, const uint64_t *yk, uint64_t yn, uint64_t at)
{
    uint64_t i = at > yn ? at - yn : 0, high = at < xn ? at : xn;
    while (i < high) {
        uint64_t middle = i + (high - i) / 2;
        if (xk[middle] <= yk[at - 1 - middle])
            i = middle + 1;
        else
            high = middle;
    }
    uint64_t j = at - i;
    if (i && j < yn && xk[i - 1] == yk[j]) j++;
    return {i, j};
}

/* For each merged entry from begin to end: keep(where), if it is to be kept. */
template <class Keep>
DCSR_CUDA_INLINE void go_through(const dcsr_i_cuda_merge &m, const uint64_t *xk, const uint64_t *yk,
                                 places begin, places end, Keep keep)
{
    uint64_t i = begin.x, j = begin.y;
    while (i < end.x || j < end.y) {
        const bool has_x = i < end.x && (j >= end.y || xk[i] <= yk[j]),
                   has_y = j < end.y && (i >= end.x || yk[j] <= xk[i]);
        if (has_x && has_y ? m.keep_both : has_x ? m.keep_x : m.keep_y)
            keep(kept{has_x ? (uint16_t)i : (uint16_t)NOWHERE, has_y ? (uint16_t)j : (uint16_t)NOWHERE});
        i += has_x;
        j += has_y;
    }
}

uint64_t dcsr_i_cuda_merge_parts(const dcsr_i_cuda_merge *merge)
{
    return (merge->x.n + merge->y.n + PART - 1) / PART;
}

/* ---- Parts ---- */

static __global__ void find_parts(dcsr_i_cuda_merge m, uint64_t parts)
{
    for (uint64_t p = dcsr_i_cuda_first(); p <= parts; p += dcsr_i_cuda_step()) {
        const uint64_t all = m.x.n + m.y.n;
        const places begin = split(m.x.keys, m.x.n, m.y.keys, m.y.n, p < parts ? p * PART : all);
        m.begins[2 * p] = begin.x;
        m.begins[2 * p + 1] = begin.y;
    }
}

DCSR_CUDA_INLINE places begin_of(const dcsr_i_cuda_merge &m, uint64_t p)
{
    return {m.begins[2 * p], m.begins[2 * p + 1]};
}

/* The keys of a part, x's and then y's, and what each thread has of it. By a whole block. */
struct dcsr_i_cuda_merge_part {
    places begin; /* in the lists */
    uint32_t xn, yn;
    const uint64_t *xk, *yk; /* in shared memory */
    places from, to;         /* of the thread, there */
};

DCSR_CUDA_INLINE dcsr_i_cuda_merge_part bring_part(const dcsr_i_cuda_merge &m, uint64_t p, uint64_t *keys)
{
    const places end = begin_of(m, p + 1);
    dcsr_i_cuda_merge_part part;
    part.begin = begin_of(m, p);
    part.xn = (uint32_t)(end.x - part.begin.x);
    part.yn = (uint32_t)(end.y - part.begin.y);
    part.xk = keys;
    part.yk = keys + part.xn;
    __syncthreads(); /* what the block had before has been read */
    for (uint32_t k = threadIdx.x; k < part.xn + part.yn; k += THREADS)
        keys[k] = k < part.xn ? m.x.keys[part.begin.x + k] : m.y.keys[part.begin.y + (k - part.xn)];
    __syncthreads();
    const uint64_t all = part.xn + part.yn, at = (uint64_t)threadIdx.x * ITEMS;
    part.from = split(part.xk, part.xn, part.yk, part.yn, at < all ? at : all);
    part.to = split(part.xk, part.xn, part.yk, part.yn, at + ITEMS < all ? at + ITEMS : all);
    return part;
}

DCSR_CUDA_INLINE uint32_t count_of(const dcsr_i_cuda_merge &m, const dcsr_i_cuda_merge_part &part)
{
    uint32_t count = 0;
    go_through(m, part.xk, part.yk, part.from, part.to, [&](kept) { count++; });
    return count;
}

/* ---- Counting ---- */

static __global__ void count_kept(dcsr_i_cuda_merge m, uint64_t parts, uint32_t *counts)
{
    SIMT_SHARED(uint64_t, keys, PART + 1);
    for (uint64_t p = dcsr_i_cuda_first_block(); p < parts; p += dcsr_i_cuda_block_step()) {
        const dcsr_i_cuda_merge_part part = bring_part(m, p, keys);
        const uint32_t count = dcsr_i_cuda_block_sum(count_of(m, part));
        if (threadIdx.x == 0) counts[p] = count;
    }
}

void dcsr_i_cuda_merge_count(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_merge *merge, uint32_t *counts)
{
    const uint64_t parts = dcsr_i_cuda_merge_parts(merge);
    dcsr_i_cuda_launch(stream, find_parts, parts + 1, *merge, parts);
    dcsr_i_cuda_launch_blocks(stream, count_kept, parts, THREADS, 0, *merge, parts, counts);
}

/* ---- Writing ---- */

/* T: of the operator's operands. */
template <class T>
DCSR_CUDA_INLINE void write_value(const dcsr_i_cuda_merge &m, uint32_t size, const places &begin,
                                  const kept &e, uint64_t to)
{
    const uint64_t i = begin.x + e.x, j = begin.y + e.y;
    if (m.operate && e.x != NOWHERE && e.y != NOWHERE) {
        T a = dcsr_i_cuda_load<T>(m.x.type, m.x.values, i), b = dcsr_i_cuda_load<T>(m.y.type, m.y.values, j);
        dcsr_i_cuda_store(m.z.type, m.z.values, to, dcsr_i_cuda_operate<T>(m.name, a, b));
    } else {
        uint64_t word = e.x != NOWHERE ? dcsr_i_cuda_load_word(m.x_values, size, i)
                                       : dcsr_i_cuda_load_word(m.y_values, size, j);
        dcsr_i_cuda_store_word(m.z.values, size, to, word);
    }
}

template <class T>
static __global__ void write_kept(dcsr_i_cuda_merge m, uint32_t size, uint64_t parts, const uint64_t *to)
{
    SIMT_SHARED(uint64_t, keys, PART + 1);
    SIMT_SHARED(kept, result, PART + 1);
    for (uint64_t p = dcsr_i_cuda_first_block(); p < parts; p += dcsr_i_cuda_block_step()) {
        const dcsr_i_cuda_merge_part part = bring_part(m, p, keys);
        uint32_t all, at = dcsr_i_cuda_block_scan(count_of(m, part), &all);
        go_through(m, part.xk, part.yk, part.from, part.to, [&](kept where) { result[at++] = where; });
        __syncthreads();
        for (uint32_t k = threadIdx.x; k < all; k += THREADS) {
            const kept where = result[k];
            m.z.keys[to[p] + k] = where.x != NOWHERE ? part.xk[where.x] : part.yk[where.y];
            if (size) write_value<T>(m, size, part.begin, where, to[p] + k);
        }
    }
}

void dcsr_i_cuda_merge_write(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_merge *merge,
                             const uint64_t *places)
{
    uint32_t size = (uint32_t)dcsr_type_size(merge->z.type);
    uint64_t parts = dcsr_i_cuda_merge_parts(merge);
    dcsr_i_cuda_with_type(merge->operate ? merge->type : DCSR_UINT8, [=](auto zero) {
        dcsr_i_cuda_launch_blocks(stream, write_kept<decltype(zero)>, parts, THREADS, 0, *merge, size, parts,
                                  places);
    });
}
