/* mxm_hash.cu: rows of a product that are added up in a hash table in shared memory.
 *
 * Open addressing with linear probing. A warp has a table of its own, or all warps of a block share one. An entry of A
 * is for 4 to 32 lanes, as rows of B are long, each of which takes entries of the row of B. Columns of the result come
 * out in the order of the table.
 *
 * Bytes a product: 4 and the value of B, once from memory, then from the caches; an exchange and an addition in shared
 * memory, which bound it. */
#include "ops/mxm/mxm_rows.cuh"
#include "ops/mxm/rap_cuda.h"

#define EMPTY UINT32_MAX
enum { MOST_PROBES = 64, MOST_THREADS = 512 };

namespace
{
/* A table is empty before and after each row. */
template <class Ring> struct hash_table {
    typedef typename Ring::T T;
    T *sums;
    uint32_t *keys;
    uint32_t *count; /* slots that are taken */
    uint16_t *met;   /* which, in the order in which they were */
    int bits;

    static __host__ __device__ size_t bytes(int table_bits)
    {
        return (((Ring::VALUES ? sizeof(T) : 0) + sizeof(uint32_t) + sizeof(uint16_t)) << table_bits) +
               sizeof(uint64_t);
    }
    __device__ hash_table(void *memory, int table_bits)
        : sums((T *)memory), keys((uint32_t *)(sums + (Ring::VALUES ? 1u << table_bits : 0))),
          count(keys + (1u << table_bits)), met((uint16_t *)(count + 2)), bits(table_bits)
    {
    }
    __device__ void clear_all(const Ring &ring, unsigned first, unsigned step) const
    {
        for (unsigned k = first; k < 1u << bits; k += step) {
            keys[k] = EMPTY;
            if (Ring::VALUES) sums[k] = ring.none();
        }
        if (first == 0) *count = 0;
    }
    /* The slot of a column, which is taken if it has none yet; EMPTY: the table is too full. */
    __device__ uint32_t slot_of(uint32_t column) const
    {
        uint32_t h = (column * 0x9e3779b1u) >> (32 - bits);
        for (int probes = 0; probes < MOST_PROBES; probes++, h = (h + 1) & ((1u << bits) - 1)) {
            uint32_t was = dcsr_i_cuda_peek(&keys[h]);
            if (was == column) return h;
            if (was == EMPTY) was = atomicCAS(&keys[h], EMPTY, column);
            if (was == EMPTY) met[atomicAdd(count, 1u)] = (uint16_t)h;
            if (was == EMPTY || was == column) return h;
        }
        return EMPTY;
    }
    /* Adds a term, if `exists`; `full` tells where the table is too full. Where the columns that are added at a time
     * differ (`ALONE`), nothing else adds to the same sum, and all lanes of the warp call. */
    template <bool ALONE>
    __device__ void add(const Ring &ring, bool exists, uint32_t column, T term, bool &full) const
    {
        const uint32_t h = exists ? slot_of(column) : 0;
        if (h == EMPTY) full = true, exists = false;
        if (!Ring::VALUES) return;
        if (ALONE) {
            __syncwarp();
            if (exists) sums[h] = ring.add(sums[h], term);
        } else if (exists) {
            ring.add_to(&sums[h], term);
        }
    }
    /* Writes what is there to place `to` on, if `fits`, and empties it. */
    __device__ void take_out(const dcsr_i_cuda_mxm_job &job, const Ring &ring, uint64_t to, bool fits,
                             unsigned first, unsigned step) const
    {
        for (uint32_t k = first, n = *count; k < n; k += step) {
            const uint32_t h = met[k];
            if (fits) job.columns[to + k] = keys[h];
            if (fits && job.values) ring.write(job.values, to + k, Ring::VALUES ? sums[h] : T(1));
            keys[h] = EMPTY;
            if (Ring::VALUES) sums[h] = ring.none();
        }
    }
};
} // namespace

template <bool ALONE, class Ring>
DCSR_CUDA_INLINE bool add_up(const dcsr_i_cuda_mxm_job &job, const Ring &ring, const hash_table<Ring> &table,
                             uint64_t row, const dcsr_i_cuda_mxm_share &part)
{
    typedef typename Ring::T T;
    bool full = false;
    dcsr_i_cuda_mxm_for_products<Ring::VALUES>(
        job, ring, row, part, [&](bool exists, uint32_t column, T x, T y) {
            table.template add<ALONE>(ring, exists, column, Ring::VALUES ? ring.multiply(x, y) : T(1), full);
        });
    return __any_sync(DCSR_CUDA_ALL_LANES, full);
}

/* Room for a row, and the row is entered; UINT64_MAX where it is left. A warp calls. */
DCSR_CUDA_INLINE uint64_t place_row(const dcsr_i_cuda_mxm_job &job, uint64_t row, uint32_t entries, bool full)
{
    if (!entries) return UINT64_MAX;
    uint64_t at = full ? job.room + 1 : dcsr_i_cuda_mxm_take(job, 0, entries);
    bool fits = dcsr_i_cuda_lane() == 0 && dcsr_i_cuda_mxm_enter(job, row, at, entries);
    return __any_sync(DCSR_CUDA_ALL_LANES, fits) ? job.first + at : UINT64_MAX;
}

/* ---- A warp for each row ---- */

enum { ROWS_AT_ONCE = 8 }; /* that a warp takes, so that the counter of rows is not what it waits for */

template <class Ring>
static __global__ void __launch_bounds__(128, 5)
    multiply_by_warps(dcsr_i_cuda_mxm_job job, dcsr_i_cuda_mxm_table how)
{
    SIMT_SHARED_DYN(uint64_t, memory);
    const Ring ring(job);
    const unsigned lane = dcsr_i_cuda_lane();
    const hash_table<Ring> table((char *)memory + threadIdx.x / 32 * hash_table<Ring>::bytes(how.bits),
                                 how.bits);
    const dcsr_i_cuda_mxm_share whole = {0, 1, job.ordered ? 32u : (unsigned)how.lanes};
    table.clear_all(ring, lane, 32);
    for (;;) {
        uint64_t first = lane == 0 ? atomicAdd(job.ticket, (unsigned long long)ROWS_AT_ONCE) : 0;
        first = __shfl_sync(DCSR_CUDA_ALL_LANES, first, 0);
        if (first >= job.count) return;
        const uint64_t end = first + ROWS_AT_ONCE < job.count ? first + ROWS_AT_ONCE : job.count;
        for (uint64_t x = first; x < end; x++) {
            const uint64_t row = job.row[x];
            __syncwarp();
            const bool full = whole.lanes == 32 ? add_up<true>(job, ring, table, row, whole)
                                                : add_up<false>(job, ring, table, row, whole);
            __syncwarp();
            const uint32_t entries = *table.count;
            const uint64_t to = place_row(job, row, entries, full);
            table.take_out(job, ring, to, to != UINT64_MAX, lane, 32);
            __syncwarp();
            if (lane == 0) *table.count = 0;
        }
    }
}

void dcsr_i_cuda_mxm_warp(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job,
                          const dcsr_i_cuda_mxm_table *table)
{
    dcsr_i_cuda_mxm_with_ring(*job, [=](auto *which) {
        typedef typename std::remove_pointer<decltype(which)>::type Ring;
        dcsr_i_cuda_launch_blocks(
            stream, multiply_by_warps<Ring>,
            (job->count + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE / (unsigned)table->warps + 1, table->warps * 32,
            (unsigned)table->warps * hash_table<Ring>::bytes(table->bits), *job, *table);
    });
}

/* ---- A block for each row ---- */

/* Rows from the end of the list on, where those with the most products are. */
template <class Ring>
static __global__ void __launch_bounds__(MOST_THREADS)
    multiply_by_blocks(dcsr_i_cuda_mxm_job job, dcsr_i_cuda_mxm_table how)
{
    typedef typename Ring::T T;
    SIMT_SHARED_DYN(uint64_t, memory);
    SIMT_SHARED(unsigned long long, shared, 2); /* the row, and where its entries begin */
    const Ring ring(job);
    const dcsr_i_cuda_mxm_terms<T> terms(memory);
    const hash_table<Ring> table((char *)memory + dcsr_i_cuda_mxm_terms<T>::bytes(blockDim.x), how.bits);
    table.clear_all(ring, threadIdx.x, blockDim.x);
    for (;;) {
        if (threadIdx.x == 0) shared[0] = atomicAdd(job.ticket, 1ull);
        __syncthreads();
        const uint64_t x = shared[0];
        if (x >= job.count) return;
        const uint64_t row = job.row[job.count - 1 - x];
        bool full = false;
        if (!job.ordered)
            dcsr_i_cuda_mxm_for_products_of_block<Ring::VALUES>(
                job, ring, row, terms, [&](bool exists, uint32_t column, T x_of_a, T y) {
                    table.template add<false>(ring, exists, column, ring.multiply(x_of_a, y), full);
                });
        else if (threadIdx.x < 32)
            full = add_up<true>(job, ring, table, row, {0, 1, 32});
        full = __syncthreads_or(full);
        if (threadIdx.x < 32) {
            uint64_t to = place_row(job, row, *table.count, full);
            if (threadIdx.x == 0) shared[1] = to;
        }
        __syncthreads();
        table.take_out(job, ring, shared[1], shared[1] != UINT64_MAX, threadIdx.x, blockDim.x);
        __syncthreads();
        if (threadIdx.x == 0) *table.count = 0;
    }
}

size_t dcsr_i_cuda_mxm_block_bytes(const dcsr_i_cuda_mxm_table *table)
{
    return dcsr_i_cuda_mxm_terms<double>::bytes((unsigned)table->warps * 32) +
           hash_table<dcsr_i_cuda_plus_times<double>>::bytes(table->bits);
}

void dcsr_i_cuda_mxm_block(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job,
                           const dcsr_i_cuda_mxm_table *table)
{
    dcsr_i_cuda_mxm_with_ring(*job, [=](auto *which) {
        typedef typename std::remove_pointer<decltype(which)>::type Ring;
        typedef typename Ring::T T;
        dcsr_i_cuda_launch_blocks(stream, multiply_by_blocks<Ring>, job->count, table->warps * 32,
                                  dcsr_i_cuda_mxm_terms<T>::bytes((unsigned)table->warps * 32) +
                                      hash_table<Ring>::bytes(table->bits),
                                  *job, *table);
    });
}

/* ---- Three factors ---- */

static __global__ void make_heads(const uint32_t *products, uint64_t rows, uint64_t *heads)
{
    for (uint64_t r = dcsr_i_cuda_first(); r < rows; r += dcsr_i_cuda_step())
        heads[r] = products[r] < DCSR_CUDA_HEAD_MOST ? products[r] : DCSR_CUDA_HEAD_MOST;
}

void dcsr_i_cuda_rap_heads(dcsr_i_cuda_stream *stream, const uint32_t *products, uint64_t rows,
                           uint64_t *heads)
{
    dcsr_i_cuda_launch(stream, make_heads, rows, products, rows, heads);
}

/* The terms of a row of R A P: some lanes for each entry of R, a lane for each entry of A that it names. */
template <class Ring>
DCSR_CUDA_INLINE bool add_three(const dcsr_i_cuda_rap_job &job, const Ring &ring, const Ring &ring_of_r,
                                const hash_table<Ring> &table, uint64_t row,
                                const dcsr_i_cuda_mxm_share &part)
{
    typedef typename Ring::T T;
    const dcsr_i_cuda_mxm_job &inner = job.inner;
    const unsigned groups = 32 / part.lanes, group = part.w * groups + dcsr_i_cuda_lane() / part.lanes,
                   l = dcsr_i_cuda_lane() % part.lanes;
    bool full = false;
    dcsr_i_cuda_for_row(job.outer.a, job.outer.a_heads[row], row, [&](uint64_t begin, uint64_t terms) {
        for (uint64_t e = group; e < terms; e += (uint64_t)part.warps * groups) {
            const uint32_t i = job.outer.a.columns[begin + e];
            const T r = ring_of_r.of_a(begin + e);
            dcsr_i_cuda_for_row(inner.a, inner.a_heads[i], i, [&](uint64_t of_a, uint64_t n) {
                for (uint64_t k = of_a + l; k < of_a + n; k += part.lanes) {
                    const uint32_t j = inner.a.columns[k];
                    const T a = ring.of_a(k);
                    dcsr_i_cuda_for_row(inner.b, inner.b_heads[j], j, [&](uint64_t of_p, uint64_t m) {
                        for (uint64_t q = of_p; q < of_p + m; q++)
                            table.template add<false>(ring, true, inner.b.columns[q],
                                                      ring.multiply(r, ring.multiply(a, ring.of_b(q))), full);
                    });
                }
            });
        }
    });
    return full;
}

template <class Ring>
static __global__ void __launch_bounds__(128, 5)
    multiply_three_by_warps(dcsr_i_cuda_rap_job job, dcsr_i_cuda_mxm_table how)
{
    SIMT_SHARED_DYN(uint64_t, memory);
    const dcsr_i_cuda_mxm_job &to = job.inner;
    const Ring ring(to), ring_of_r(job.outer);
    const unsigned lane = dcsr_i_cuda_lane();
    const hash_table<Ring> table((char *)memory + threadIdx.x / 32 * hash_table<Ring>::bytes(how.bits),
                                 how.bits);
    table.clear_all(ring, lane, 32);
    for (;;) {
        uint64_t first = lane == 0 ? atomicAdd(to.ticket, (unsigned long long)ROWS_AT_ONCE) : 0;
        first = __shfl_sync(DCSR_CUDA_ALL_LANES, first, 0);
        if (first >= to.count) return;
        const uint64_t end = first + ROWS_AT_ONCE < to.count ? first + ROWS_AT_ONCE : to.count;
        for (uint64_t x = first; x < end; x++) {
            const uint64_t row = to.row[x];
            __syncwarp();
            bool full = add_three(job, ring, ring_of_r, table, row, {0, 1, (unsigned)how.lanes});
            full = __any_sync(DCSR_CUDA_ALL_LANES, full);
            __syncwarp();
            const uint64_t at = place_row(to, row, *table.count, full);
            table.take_out(to, ring, at, at != UINT64_MAX, lane, 32);
            __syncwarp();
            if (lane == 0) *table.count = 0;
        }
    }
}

/* Rows from the end of the list on, where those with the most terms are. */
template <class Ring>
static __global__ void __launch_bounds__(256, 3)
    multiply_three_by_blocks(dcsr_i_cuda_rap_job job, dcsr_i_cuda_mxm_table how)
{
    SIMT_SHARED_DYN(uint64_t, memory);
    SIMT_SHARED(unsigned long long, shared, 2); /* the row, and where its entries begin */
    const dcsr_i_cuda_mxm_job &to = job.inner;
    const Ring ring(to), ring_of_r(job.outer);
    const hash_table<Ring> table(memory, how.bits);
    table.clear_all(ring, threadIdx.x, blockDim.x);
    for (;;) {
        if (threadIdx.x == 0) shared[0] = atomicAdd(to.ticket, 1ull);
        __syncthreads();
        const uint64_t x = shared[0];
        if (x >= to.count) return;
        const uint64_t row = to.row[to.count - 1 - x];
        const bool full = __syncthreads_or(add_three(
            job, ring, ring_of_r, table, row, {threadIdx.x / 32, blockDim.x / 32, (unsigned)how.lanes}));
        if (threadIdx.x < 32) {
            const uint64_t at = place_row(to, row, *table.count, full);
            if (threadIdx.x == 0) shared[1] = at;
        }
        __syncthreads();
        table.take_out(to, ring, shared[1], shared[1] != UINT64_MAX, threadIdx.x, blockDim.x);
        __syncthreads();
        if (threadIdx.x == 0) *table.count = 0;
    }
}

void dcsr_i_cuda_rap_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rap_job *job,
                          const dcsr_i_cuda_mxm_table *table, bool by_blocks)
{
    dcsr_i_cuda_mxm_with_ring(job->inner, [=](auto *which) {
        typedef typename std::remove_pointer<decltype(which)>::type Ring;
        const uint64_t count = job->inner.count;
        const unsigned warps = (unsigned)table->warps;
        const size_t bytes = hash_table<Ring>::bytes(table->bits);
        if (by_blocks)
            dcsr_i_cuda_launch_blocks(stream, multiply_three_by_blocks<Ring>, count, (int)warps * 32, bytes,
                                      *job, *table);
        else
            dcsr_i_cuda_launch_blocks(stream, multiply_three_by_warps<Ring>, count / ROWS_AT_ONCE / warps + 1,
                                      (int)warps * 32, warps * bytes, *job, *table);
    });
}
