/* mxm_hash.cu: rows of a product that are added up in a hash table in shared memory.
 *
 * Open addressing with linear probing. A warp has a table of its own, or all warps of a block share one. An entry of A
 * is for 4 to 32 lanes, as rows of B are long, each of which takes entries of the row of B. Columns of the result come
 * out in the order of the table.
 *
 * The rows of a stencil are shifts of one another: product k falls on the same entry of the result in all of them. So a
 * warp keeps the pattern of a row, and tries it on those that follow: the entry of each product is looked up rather
 * than searched, and its column is only compared. Where that fails it tries less often.
 *
 * Bytes a product: 4 and the value of B, once from memory, then from the caches; an exchange and an addition in shared
 * memory, which bound it. */
#include "ops/mxm/mxm_rows.cuh"

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

/* ---- Rows of one pattern ---- */

namespace
{
/* The pattern of a row whose entries of A, and those of each row of B that it needs, are one for a lane at most.
 * Columns count from that of the first product. */
template <class T> struct pattern {
    static constexpr uint32_t MOST_ENTRIES = 256;
    struct term {
        uint64_t begin; /* of the row of B */
        T x;
    } term[32]; /* of the row that is being added up */
    uint32_t column[MOST_ENTRIES + 32];
    uint16_t
        entry[32][32]; /* of the products of each entry of A; where there is none, the entries and the lane */
};

/* What a warp knows of the pattern that it keeps. */
struct kept_pattern {
    uint32_t terms;   /* of it; 0: it keeps none */
    uint32_t entries; /* of it */
    uint32_t length;  /* of the row of B that is named by the entry of A for this lane */
    uint32_t score;   /* how often it has fitted of late; where that is 0 it is given up */
    uint32_t rest;    /* rows to go before another is made */
    uint32_t next_rest;
};
} // namespace

/* The row of B that is named by the lane's entry of A. False: the row is not for patterns. All lanes call. */
DCSR_CUDA_INLINE bool open_terms(const dcsr_i_cuda_mxm_job &job, uint64_t head, uint64_t *b)
{
    const uint32_t terms = dcsr_i_cuda_head_length(head), lane = dcsr_i_cuda_lane();
    *b = terms <= 32 && lane < terms ? job.b_heads[job.a.columns[(head >> 24) + lane]] : 0;
    return terms <= 32 && __all_sync(DCSR_CUDA_ALL_LANES, dcsr_i_cuda_head_length(*b) <= 32);
}

/* Makes the pattern of a row, with the keys of a table, which is empty before and after. */
template <class Ring>
DCSR_CUDA_INLINE void make_pattern(const dcsr_i_cuda_mxm_job &job, const hash_table<Ring> &table,
                                   uint64_t head, pattern<typename Ring::T> &to, kept_pattern *kept)
{
    const uint32_t lane = dcsr_i_cuda_lane(), terms = dcsr_i_cuda_head_length(head);
    uint64_t b;
    kept->terms = 0;
    if (!open_terms(job, head, &b)) return;
    uint32_t first = 0;
    bool full = false;
    for (uint32_t t = 0; t < terms; t++) {
        const uint64_t its = __shfl_sync(DCSR_CUDA_ALL_LANES, b, (int)t);
        const bool exists = lane < dcsr_i_cuda_head_length(its);
        const uint32_t column = exists ? job.b.columns[(its >> 24) + lane] : 0;
        const uint32_t h = exists ? table.slot_of(column) : 0;
        if (t == 0) first = __shfl_sync(DCSR_CUDA_ALL_LANES, column, 0);
        to.entry[t][lane] = (uint16_t)h;
        full |= h == EMPTY;
    }
    __syncwarp();
    const uint32_t entries = *table.count;
    full = __any_sync(DCSR_CUDA_ALL_LANES, full) || entries > pattern<typename Ring::T>::MOST_ENTRIES ||
           entries + 32 > 1u << table.bits;
    for (uint32_t k = lane; k < entries && !full; k += 32) {
        to.column[k] = table.keys[table.met[k]] - first;
        table.keys[table.met[k]] = k;
    }
    __syncwarp();
    for (uint32_t t = 0; t < terms && !full; t++) {
        const uint64_t its = __shfl_sync(DCSR_CUDA_ALL_LANES, b, (int)t);
        const bool exists = lane < dcsr_i_cuda_head_length(its);
        to.entry[t][lane] = (uint16_t)(exists ? table.keys[to.entry[t][lane]] : entries + lane);
    }
    __syncwarp();
    for (uint32_t k = lane; k < entries; k += 32) table.keys[table.met[k]] = EMPTY;
    __syncwarp();
    if (lane == 0) *table.count = 0;
    if (full) return;
    kept->terms = terms;
    kept->entries = entries;
    kept->length = dcsr_i_cuda_head_length(b);
}

/* Adds up a row into the first sums of the table. False: it is of another pattern. *first is its first column. */
template <class Ring>
DCSR_CUDA_INLINE bool replay_row(const dcsr_i_cuda_mxm_job &job, const Ring &ring,
                                 const hash_table<Ring> &table, uint64_t head, pattern<typename Ring::T> &its,
                                 const kept_pattern &kept, uint32_t *first)
{
    typedef typename Ring::T T;
    enum { AT_ONCE = 4 }; /* entries of A whose rows of B are asked for together */
    const uint32_t lane = dcsr_i_cuda_lane();
    uint64_t b;
    if (dcsr_i_cuda_head_length(head) != kept.terms || !open_terms(job, head, &b)) return false;
    if (!__all_sync(DCSR_CUDA_ALL_LANES, dcsr_i_cuda_head_length(b) == kept.length)) return false;
    its.term[lane].begin = b >> 24;
    if (Ring::VALUES && lane < kept.terms) its.term[lane].x = ring.of_a((head >> 24) + lane);
    __syncwarp();
    bool same = true;
    for (uint32_t group = 0; group < kept.terms; group += AT_ONCE) {
        uint32_t entry[AT_ONCE], column[AT_ONCE];
        T y[AT_ONCE];
        for (uint32_t k = 0; k < AT_ONCE; k++) {
            entry[k] = group + k < kept.terms ? its.entry[group + k][lane] : kept.entries + lane;
            const uint64_t place = its.term[(group + k) % 32].begin + lane;
            column[k] = entry[k] < kept.entries ? job.b.columns[place] : 0;
            y[k] = Ring::VALUES && entry[k] < kept.entries ? ring.of_b(place) : T(0);
        }
        if (group == 0) *first = __shfl_sync(DCSR_CUDA_ALL_LANES, column[0], 0);
        for (uint32_t k = 0; k < AT_ONCE; k++) {
            same &= column[k] - *first == its.column[entry[k]] || entry[k] >= kept.entries;
            if (Ring::VALUES)
                table.sums[entry[k]] =
                    ring.add(table.sums[entry[k]], ring.multiply(its.term[(group + k) % 32].x, y[k]));
            __syncwarp(); /* the next ones may add to the same sums */
        }
    }
    if (Ring::VALUES) table.sums[kept.entries + lane] = ring.none();
    same = __all_sync(DCSR_CUDA_ALL_LANES, same);
    if (Ring::VALUES && !same)
        for (uint32_t k = lane; k < kept.entries; k += 32) table.sums[k] = ring.none();
    __syncwarp();
    return same;
}

/* Computes a row by the pattern that is kept, or by a new one if that has failed for some rows. False: it is for the
 * table. */
template <class Ring>
DCSR_CUDA_INLINE bool multiply_alike(const dcsr_i_cuda_mxm_job &job, const Ring &ring,
                                     const hash_table<Ring> &table, uint64_t row,
                                     pattern<typename Ring::T> &its, kept_pattern *kept)
{
    typedef typename Ring::T T;
    enum { BEST_SCORE = 64, MOST_REST = 256 };
    const uint64_t head = job.a_heads[row];
    uint32_t first = 0;
    if (kept->rest) {
        kept->rest--;
        return false;
    }
    if (!kept->score) {
        make_pattern(job, table, head, its, kept);
        kept->score = kept->terms ? 2 : 1;
    }
    if (!kept->terms || !replay_row(job, ring, table, head, its, *kept, &first)) {
        if (--kept->score) return false;
        kept->rest = kept->next_rest;
        kept->next_rest = kept->rest < MOST_REST / 2 ? 2 * kept->rest + 1 : (uint32_t)MOST_REST;
        return false;
    }
    if (kept->score < BEST_SCORE) kept->score++;
    if (kept->score > BEST_SCORE / 4) kept->next_rest = 0;
    const uint64_t to = place_row(job, row, kept->entries, false);
    for (uint32_t k = dcsr_i_cuda_lane(); k < kept->entries; k += 32) {
        if (to != UINT64_MAX) {
            job.columns[to + k] = first + its.column[k];
            if (job.values) ring.write(job.values, to + k, Ring::VALUES ? table.sums[k] : T(1));
        }
        if (Ring::VALUES) table.sums[k] = ring.none();
    }
    __syncwarp();
    return true;
}

/* ---- A warp for each row ---- */

enum { ROWS_AT_ONCE = 8 }; /* that a warp takes, so that the counter of rows is not what it waits for */

/* Bytes of shared memory of a warp. */
template <class Ring> static __host__ __device__ size_t warp_bytes(int bits)
{
    return hash_table<Ring>::bytes(bits) + sizeof(pattern<typename Ring::T>);
}

template <class Ring>
static __global__ void __launch_bounds__(128, 5)
    multiply_by_warps(dcsr_i_cuda_mxm_job job, dcsr_i_cuda_mxm_table how)
{
    SIMT_SHARED_DYN(uint64_t, memory);
    const Ring ring(job);
    const unsigned lane = dcsr_i_cuda_lane();
    char *own = (char *)memory + threadIdx.x / 32 * warp_bytes<Ring>(how.bits);
    pattern<typename Ring::T> &its = *(pattern<typename Ring::T> *)own;
    const hash_table<Ring> table(own + sizeof its, how.bits);
    kept_pattern kept = {};
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
            if (multiply_alike(job, ring, table, row, its, &kept)) continue;
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
        dcsr_i_cuda_launch_blocks(stream, multiply_by_warps<Ring>,
                                  (job->count + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE / (unsigned)table->warps + 1,
                                  table->warps * 32, (unsigned)table->warps * warp_bytes<Ring>(table->bits),
                                  *job, *table);
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
