/* mxm_short.cu: rows of a product that have few products.
 *
 * A thread computes a row, in a hash table of its own in shared memory, which stands in the thread's own bank. Terms
 * are added in the order of A's entries, so sums are those of the cpu, bit for bit but for the sign of 0; entries stand
 * in the order in which they were met. Where rows are alike, as of stencils, neighbouring threads read neighbouring
 * rows of B.
 *
 * Bytes a row: its entries of A, the rows of B that they name, and its own entries, each once; B's from the cache where
 * rows of A name the same ones. What bounds it is how many tables fit shared memory. */
#include "ops/mxm/mxm_rows.cuh"

#define EMPTY UINT32_MAX
enum { AT_ONCE = 6 }; /* entries of B that a thread asks for at once */

/* Threads of a block: some 54 KB of tables, which all GPUs have. */
#define THREADS_FOR(bits) (4096 >> (bits))

namespace
{
/* The tables of a warp, by slot and lane; one sum more where there are values, else none. */
template <class Ring, int BITS> struct tables {
    typedef typename Ring::T T;
    static constexpr uint32_t SLOTS = 1u << BITS;
    T sum[Ring::VALUES ? SLOTS : 1][32];
    uint32_t key[SLOTS][32];
    uint8_t met[SLOTS][32]; /* slots in the order in which they were taken */

    /* Adds a term; `entries` are those of the row so far. False: the table is full. */
    __device__ bool add(const Ring &ring, uint32_t column, T term, uint32_t &entries)
    {
        const unsigned lane = dcsr_i_cuda_lane();
        uint32_t h = (column * 0x9e3779b1u) >> (32 - BITS), was;
        while ((was = key[h][lane]) != column) {
            if (was == EMPTY) break;
            h = (h + 1) % SLOTS;
        }
        if (was != EMPTY) {
            if (Ring::VALUES) sum[h][lane] = ring.add(sum[h][lane], term);
            return true;
        }
        if (entries == SLOTS - 1) return false; /* one stays empty, for others to find the end */
        key[h][lane] = column;
        met[entries++][lane] = (uint8_t)h;
        if (Ring::VALUES) sum[h][lane] = term;
        return true;
    }
};

/* Some entries of a row of B. */
template <class T> struct part {
    uint32_t column[AT_ONCE];
    T value[AT_ONCE];
};
} // namespace

template <class Ring>
DCSR_CUDA_INLINE void load_part(const dcsr_i_cuda_mxm_job &job, const Ring &ring, uint64_t head,
                                uint32_t first, part<typename Ring::T> &to)
{
    const uint64_t b = (head >> 24) + first;
    const uint32_t n = dcsr_i_cuda_head_length(head);
    for (uint32_t k = 0; k < AT_ONCE; k++)
        if (first + k < n) {
            to.column[k] = job.b.columns[b + k];
            if (Ring::VALUES) to.value[k] = ring.of_b(b + k);
        }
}

DCSR_CUDA_INLINE uint64_t head_of(const dcsr_i_cuda_mxm_job &job, uint64_t a, uint32_t e, uint32_t terms)
{
    return e < terms ? job.b_heads[job.a.columns[a + e]] : 0;
}

/* The lane's row. What follows is asked for before the terms of an entry of A are added: its row of B, and where that
 * of the entry after it begins. UINT32_MAX: the table is too small. */
template <class Ring, int BITS>
DCSR_CUDA_INLINE uint32_t add_up(const dcsr_i_cuda_mxm_job &job, const Ring &ring, tables<Ring, BITS> &table,
                                 uint64_t head)
{
    typedef typename Ring::T T;
    const uint64_t a = head >> 24;
    const uint32_t terms = dcsr_i_cuda_head_length(head);
    uint32_t entries = 0;
    bool fits = true;
    uint64_t b = head_of(job, a, 0, terms), next = head_of(job, a, 1, terms);
    T x = terms ? ring.of_a(a) : ring.none();
    part<T> now, then;
    load_part(job, ring, b, 0, now);
    for (uint32_t e = 0; e < terms; e++) {
        const uint32_t n = dcsr_i_cuda_head_length(b);
        load_part(job, ring, next, 0, then);
        const T next_x = e + 1 < terms ? ring.of_a(a + e + 1) : ring.none();
        const uint64_t after = head_of(job, a, e + 2, terms);
        for (uint32_t first = 0;;) {
            for (uint32_t k = 0; k < AT_ONCE; k++)
                if (first + k < n)
                    fits &= table.add(ring, now.column[k],
                                      Ring::VALUES ? ring.multiply(x, now.value[k]) : T(1), entries);
            first += AT_ONCE;
            if (first >= n) break;
            load_part(job, ring, b, first, now);
        }
        now = then, x = next_x, b = next, next = after;
    }
    return fits ? entries : UINT32_MAX;
}

/* Writes the entries of the warp's rows side by side, to place `to` on; up_to are those of the lanes up to this. */
template <class Ring, int BITS>
DCSR_CUDA_INLINE void write_rows(const dcsr_i_cuda_mxm_job &job, const Ring &ring,
                                 const tables<Ring, BITS> &table, uint32_t up_to, uint32_t entries,
                                 uint64_t to)
{
    typedef typename Ring::T T;
    const unsigned lane = dcsr_i_cuda_lane();
    const uint32_t all = __shfl_sync(DCSR_CUDA_ALL_LANES, up_to, 31), before = up_to - entries;
    for (uint32_t first = 0; first < all; first += 32) {
        const uint32_t k = first + lane;
        unsigned of = 0; /* the lane whose row it is: the first that k is below */
        for (unsigned d = 16; d; d /= 2)
            of += __shfl_sync(DCSR_CUDA_ALL_LANES, up_to, (int)(of + d - 1)) <= k ? d : 0;
        const uint32_t begin = __shfl_sync(DCSR_CUDA_ALL_LANES, before, (int)(of & 31));
        if (k >= all || to + k >= job.room) continue;
        const uint32_t slot = table.met[k - begin][of];
        job.columns[job.first + to + k] = table.key[slot][of];
        if (job.values) ring.write(job.values, job.first + to + k, Ring::VALUES ? table.sum[slot][of] : T(1));
    }
}

template <class Ring, int BITS>
static __global__ void __launch_bounds__(THREADS_FOR(BITS)) multiply_short(dcsr_i_cuda_mxm_job job)
{
    constexpr uint64_t THREADS = THREADS_FOR(BITS);
    SIMT_SHARED_DYN(uint64_t, memory);
    SIMT_SHARED(unsigned long long, shared, 2); /* the tile, and where its entries begin */
    const Ring ring(job);
    const unsigned lane = dcsr_i_cuda_lane();
    tables<Ring, BITS> &table = ((tables<Ring, BITS> *)memory)[threadIdx.x / 32];
    const uint64_t tiles = (job.count + THREADS - 1) / THREADS;
    if (threadIdx.x == 0) shared[0] = atomicAdd(job.ticket, 1ull);
    for (;;) {
        __syncthreads();
        const uint64_t tile = shared[0];
        if (tile >= tiles) return;
        unsigned long long next = 0;
        if (threadIdx.x == 0) next = atomicAdd(job.ticket, 1ull);
        const uint64_t x = tile * THREADS + threadIdx.x;
        const uint64_t row = x < job.count ? (job.row ? job.row[x] : x) : 0;
        for (uint32_t k = 0; k < 1u << BITS; k++) table.key[k][lane] = EMPTY;
        uint32_t entries = x < job.count ? add_up(job, ring, table, job.a_heads[row]) : 0;
        const bool full = entries == UINT32_MAX;
        if (full) entries = 0;
        uint32_t all, before = dcsr_i_cuda_scan_block(entries, &all);
        if (threadIdx.x < 32) {
            uint64_t begin = dcsr_i_cuda_mxm_take(job, tile, all);
            if (lane == 0) shared[1] = begin, shared[0] = next;
        }
        __syncthreads();
        if (entries || full)
            dcsr_i_cuda_mxm_enter(job, row, full ? job.room + 1 : shared[1] + before, entries);
        const uint32_t of_warp = __shfl_sync(DCSR_CUDA_ALL_LANES, before, 0);
        write_rows(job, ring, table, before - of_warp + entries, entries, shared[1] + of_warp);
    }
}

uint64_t dcsr_i_cuda_mxm_short_tiles(uint64_t rows, int bits)
{
    uint64_t threads = (uint64_t)THREADS_FOR(bits);
    return (rows + threads - 1) / threads;
}

template <int BITS> static void launch(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job)
{
    dcsr_i_cuda_mxm_with_ring(*job, [=](auto *which) {
        typedef typename std::remove_pointer<decltype(which)>::type Ring;
        const int threads = THREADS_FOR(BITS);
        dcsr_i_cuda_launch_blocks(stream, multiply_short<Ring, BITS>,
                                  dcsr_i_cuda_mxm_short_tiles(job->count, BITS), threads,
                                  (size_t)threads / 32 * sizeof(tables<Ring, BITS>), *job);
    });
}

void dcsr_i_cuda_mxm_short(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job, int bits)
{
    if (bits == 5)
        launch<5>(stream, job);
    else
        launch<6>(stream, job);
}
