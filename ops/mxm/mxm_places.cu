/* mxm_places.cu: sums of products at places that are known.
 *
 * Bytes, by tables: 12 a place to make a table of, the value, and 4 to say that there is a product; 4 a product and the
 * value of B, once from memory, then from the caches, as often as a row's places need tables. A product at no place
 * takes one look into shared memory, or a few. By dots: a place reads the shorter row, and log2 of the longer one's
 * length for each of its entries, mostly from the caches. */
#include "dcsr/store/cuda/balanced_walk.cuh"
#include "ops/mxm/mxm_places_cuda.h"
#include "ops/mxm/mxm_rows.cuh"

#define EMPTY   UINT32_MAX
#define NOWHERE UINT32_MAX
enum { MOST_THREADS = 512 };

/* ---- What is known of rows ---- */

static __global__ void DCSR_CUDA_WALK_BOUNDS count_disorder(dcsr_i_cuda_walk walk, unsigned long long *count)
{
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &entry, const dcsr_i_cuda_source &source) {
            const uint32_t *at = walk.rows.columns + source.place;
            const uint64_t position = entry.e - walk.offsets[entry.i];
            if (!position) return false;
            if (source.follows) return at[-1] >= at[0];
            /* The first of a piece, or of a tile. */
            const uint64_t before = dcsr_i_cuda_place_of(walk.rows, entry.i, position - 1);
            return before + 1 != source.place || at[-1] >= at[0];
        },
        [&](const dcsr_i_cuda_entry &, bool disorder) {
            if (disorder) atomicAdd(count, 1ull);
        });
}

void dcsr_i_cuda_mxm_count_disorder(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk,
                                    uint64_t entries, unsigned long long *count)
{
    dcsr_i_cuda_launch_walk(stream, count_disorder, entries, walk->count, *walk, count);
}

/* A row of many products is for as many threads as one of many places. */
static __global__ void size_rows(dcsr_i_cuda_mxm_places places, uint64_t rows, const uint32_t *products)
{
    for (uint64_t r = dcsr_i_cuda_first(); r < rows; r += dcsr_i_cuda_step()) {
        const uint64_t n = places.offsets[r + 1] - places.offsets[r], few = products[r] / 32;
        const uint64_t size = n < few ? few : n;
        places.size[r] = !n || !products[r] ? 0 : (uint32_t)size;
    }
}

void dcsr_i_cuda_mxm_size_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_places *places,
                               uint64_t rows, const uint32_t *products)
{
    dcsr_i_cuda_launch(stream, size_rows, rows, *places, rows, products);
}

/* ---- Dots ---- */

namespace
{
/* A row that is one piece. */
struct span {
    uint64_t begin, length;
};
} // namespace

DCSR_CUDA_INLINE span span_of(const dcsr_i_cuda_rows &rows, const uint64_t *heads, uint64_t row)
{
    span s = {0, 0};
    dcsr_i_cuda_for_row(rows, heads[row], row, [&](uint64_t begin, uint64_t length) { s = {begin, length}; });
    return s;
}

/* In the time of a product: an entry of the shorter row, and its search. */
DCSR_CUDA_INLINE uint64_t cost_of_dot(uint64_t a, uint64_t b)
{
    const uint64_t shorter = a < b ? a : b, longer = a < b ? b : a;
    return 2 + shorter * (uint64_t)(64 - __clzll((long long)(longer | 1))) / 2;
}

/* A warp for each row. */
static __global__ void weigh_dots(dcsr_i_cuda_mxm_job job, dcsr_i_cuda_mxm_places places,
                                  const uint32_t *products, unsigned long long *cost)
{
    uint64_t all = 0;
    for (uint64_t r = dcsr_i_cuda_first_warp(); r < job.a.rows; r += dcsr_i_cuda_warp_step()) {
        const uint64_t begin = places.offsets[r], end = places.offsets[r + 1];
        const uint64_t a = begin < end ? span_of(job.a, job.a_heads, r).length : 0;
        uint64_t mine = 0;
        for (uint64_t e = begin + dcsr_i_cuda_lane(); a && e < end; e += 32)
            mine += cost_of_dot(a, span_of(job.b, job.b_heads, (uint32_t)places.keys[e]).length);
        mine = dcsr_i_cuda_warp_sum(mine);
        all += mine;
        if (products && dcsr_i_cuda_lane() == 0 && places.size[r] && mine < products[r] + 2 * (end - begin))
            places.size[r] = DCSR_CUDA_MXM_DOTS;
    }
    if (dcsr_i_cuda_lane() == 0 && all) atomicAdd(cost, (unsigned long long)all);
}

void dcsr_i_cuda_mxm_weigh_dots(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job,
                                const dcsr_i_cuda_mxm_places *places, const uint32_t *products,
                                unsigned long long *cost)
{
    dcsr_i_cuda_launch_warps(stream, weigh_dots, job->a.rows, *job, *places, products, cost);
}

/* The sum of a lane's part, entries first, first + step, ... of the shorter row, in their order. */
template <class Ring>
DCSR_CUDA_INLINE bool add_dot(const dcsr_i_cuda_mxm_job &job, const Ring &ring, const span &a, const span &b,
                              unsigned first, unsigned step, typename Ring::T &sum)
{
    const bool a_is_shorter = a.length < b.length;
    const span &few = a_is_shorter ? a : b, &many = a_is_shorter ? b : a;
    const uint32_t *columns = (a_is_shorter ? job.a : job.b).columns + few.begin,
                   *among = (a_is_shorter ? job.b : job.a).columns + many.begin;
    const bool one_is_enough = !Ring::VALUES || job.ring.any;
    bool found = false;
    uint64_t low = 0;
    for (uint64_t k = first; k < few.length && low < many.length; k += step) {
        const uint32_t column = columns[k];
        for (uint64_t high = many.length; low < high;) {
            const uint64_t middle = (low + high) / 2;
            if (among[middle] < column)
                low = middle + 1;
            else
                high = middle;
        }
        if (low == many.length || among[low] != column) continue;
        const uint64_t of_few = few.begin + k, of_many = many.begin + low;
        if (Ring::VALUES)
            sum = ring.add(sum, ring.multiply(ring.of_a(a_is_shorter ? of_few : of_many),
                                              ring.of_b(a_is_shorter ? of_many : of_few)));
        found = true;
        if (one_is_enough) break;
    }
    return found;
}

template <class Ring>
static __global__ void compute_dots(dcsr_i_cuda_mxm_job job, dcsr_i_cuda_mxm_places places, unsigned lanes,
                                    bool all)
{
    typedef typename Ring::T T;
    const Ring ring(job);
    const unsigned groups = 32 / lanes, group = dcsr_i_cuda_lane() / lanes, l = dcsr_i_cuda_lane() % lanes;
    for (uint64_t first = dcsr_i_cuda_first_warp() * groups; first < places.n;
         first += dcsr_i_cuda_warp_step() * groups) {
        const uint64_t e = first + group, key = e < places.n ? places.keys[e] : 0;
        const bool mine = e < places.n && (all || places.size[key >> 32] == DCSR_CUDA_MXM_DOTS);
        T sum = ring.none();
        bool found = false;
        if (mine)
            found = add_dot(job, ring, span_of(job.a, job.a_heads, key >> 32),
                            span_of(job.b, job.b_heads, (uint32_t)key), l, lanes, sum);
        __syncwarp();
        for (unsigned d = lanes / 2; d; d /= 2) {
            const T other = __shfl_xor_sync(DCSR_CUDA_ALL_LANES, sum, (int)d);
            const bool others = __shfl_xor_sync(DCSR_CUDA_ALL_LANES, (int)found, (int)d) != 0;
            if (others) sum = found ? ring.add(sum, other) : other;
            found |= others;
        }
        if (l || !found) continue;
        places.found[e] = 1;
        if (places.values) ring.write(places.values, e, sum);
    }
}

void dcsr_i_cuda_mxm_dots(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job,
                          const dcsr_i_cuda_mxm_places *places, int lanes, bool all)
{
    dcsr_i_cuda_mxm_with_ring(*job, [=](auto *which) {
        typedef typename std::remove_pointer<decltype(which)>::type Ring;
        dcsr_i_cuda_launch(stream, compute_dots<Ring>, (places->n + 31) / 32 * 32 * (unsigned)lanes, *job,
                           *places, (unsigned)lanes, all);
    });
}

/* ---- Tables ---- */

namespace
{
/* The columns of some places, and their sums in the order of the places. */
template <class Ring> struct place_table {
    typedef typename Ring::T T;
    T *sums;
    uint32_t *keys, *found; /* found: a bit for each place */
    uint16_t *place;        /* of the key in a slot */
    int bits;

    static __host__ __device__ size_t bytes(int bits)
    {
        const size_t places = dcsr_i_cuda_mxm_capacity(bits), slots = (size_t)1 << bits;
        const size_t all = (Ring::VALUES ? places * sizeof(T) : 0) + (places + 31) / 32 * sizeof(uint32_t) +
                           slots * (sizeof(uint32_t) + sizeof(uint16_t));
        return (all + 7) / 8 * 8;
    }
    __device__ place_table(void *memory, int table_bits) : sums((T *)memory), bits(table_bits)
    {
        const uint32_t places = dcsr_i_cuda_mxm_capacity(bits);
        keys = (uint32_t *)(sums + (Ring::VALUES ? places : 0));
        found = keys + (1u << bits);
        place = (uint16_t *)(found + (places + 31) / 32);
    }
    __device__ void clear(const Ring &ring, uint32_t n, unsigned first, unsigned step) const
    {
        for (unsigned k = first; k < 1u << bits; k += step) keys[k] = EMPTY;
        for (unsigned k = first; k < (n + 31) / 32; k += step) found[k] = 0;
        for (unsigned k = first; k < n && Ring::VALUES; k += step) sums[k] = ring.none();
    }
    __device__ uint32_t slot_of(uint32_t column) const { return (column * 0x9e3779b1u) >> (32 - bits); }
    __device__ void enter(uint32_t column, uint32_t k) const
    {
        uint32_t h = slot_of(column);
        while (atomicCAS(&keys[h], EMPTY, column) != EMPTY) h = (h + 1) & ((1u << bits) - 1);
        place[h] = (uint16_t)k;
    }
    __device__ uint32_t find(uint32_t column) const
    {
        for (uint32_t h = slot_of(column);; h = (h + 1) & ((1u << bits) - 1)) {
            if (keys[h] == column) return place[h];
            if (keys[h] == EMPTY) return NOWHERE;
        }
    }
    /* Adds x y, if it exists and its column has a place. `ALONE` as in mxm_hash.cu. */
    template <bool ALONE> __device__ void add(const Ring &ring, bool exists, uint32_t column, T x, T y) const
    {
        const uint32_t k = exists ? find(column) : NOWHERE;
        if (k != NOWHERE && !(dcsr_i_cuda_peek(&found[k / 32]) >> k % 32 & 1))
            atomicOr(&found[k / 32], 1u << k % 32);
        if (!Ring::VALUES) return;
        if (ALONE) {
            __syncwarp();
            if (k != NOWHERE) sums[k] = ring.add(sums[k], ring.multiply(x, y));
        } else if (k != NOWHERE) {
            ring.add_to(&sums[k], ring.multiply(x, y));
        }
    }
};
} // namespace

template <bool BLOCK> DCSR_CUDA_INLINE void join()
{
    if (BLOCK)
        __syncthreads();
    else
        __syncwarp();
}

/* The products of a row, to the table: those that meet its places. */
template <bool BLOCK, class Ring>
DCSR_CUDA_INLINE void
add_products(const dcsr_i_cuda_mxm_job &job, const Ring &ring, const place_table<Ring> &table,
             const dcsr_i_cuda_mxm_terms<typename Ring::T> &terms, uint64_t row, unsigned lanes)
{
    typedef typename Ring::T T;
    auto add = [&](bool exists, uint32_t column, T x, T y) {
        table.template add<false>(ring, exists, column, x, y);
    };
    auto add_alone = [&](bool exists, uint32_t column, T x, T y) {
        table.template add<true>(ring, exists, column, x, y);
    };
    if (BLOCK && !job.ordered)
        dcsr_i_cuda_mxm_for_products_of_block<Ring::VALUES>(job, ring, row, terms, add);
    else if (lanes < 32)
        dcsr_i_cuda_mxm_for_products<Ring::VALUES>(job, ring, row, {0, 1, lanes}, add);
    else if (threadIdx.x < 32 || !BLOCK)
        dcsr_i_cuda_mxm_for_products<Ring::VALUES>(job, ring, row, {0, 1, 32}, add_alone);
}

/* A row: as many of its places at a time as the table holds. */
template <bool BLOCK, class Ring>
DCSR_CUDA_INLINE void compute_row(const dcsr_i_cuda_mxm_job &job, const dcsr_i_cuda_mxm_places &places,
                                  const Ring &ring, const place_table<Ring> &table,
                                  const dcsr_i_cuda_mxm_terms<typename Ring::T> &terms, uint64_t row,
                                  unsigned lanes)
{
    typedef typename Ring::T T;
    const unsigned first = BLOCK ? threadIdx.x : dcsr_i_cuda_lane(), step = BLOCK ? blockDim.x : 32;
    const uint64_t begin = places.offsets[row], end = places.offsets[row + 1];
    const uint32_t most = dcsr_i_cuda_mxm_capacity(table.bits);
    for (uint64_t at = begin; at < end; at += most) {
        const uint32_t n = end - at < most ? (uint32_t)(end - at) : most;
        table.clear(ring, n, first, step);
        join<BLOCK>();
        for (uint32_t k = first; k < n; k += step) table.enter((uint32_t)places.keys[at + k], k);
        join<BLOCK>();
        add_products<BLOCK>(job, ring, table, terms, row, lanes);
        join<BLOCK>();
        for (uint32_t k = first; k < n; k += step) {
            if (!(table.found[k / 32] >> k % 32 & 1)) continue;
            places.found[at + k] = 1;
            if (places.values) ring.write(places.values, at + k, Ring::VALUES ? table.sums[k] : T(1));
        }
        join<BLOCK>();
    }
}

/* Rows from the end of the list on, where those with the most to do are; a warp takes several at a time. */
template <bool BLOCK, class Ring>
static __global__ void __launch_bounds__(MOST_THREADS)
    compute_rows(dcsr_i_cuda_mxm_job job, dcsr_i_cuda_mxm_places places, dcsr_i_cuda_mxm_table how)
{
    typedef typename Ring::T T;
    SIMT_SHARED_DYN(uint64_t, memory);
    SIMT_SHARED(unsigned long long, next, 1);
    constexpr uint64_t AT_ONCE = BLOCK ? 1 : 8;
    const Ring ring(job);
    const dcsr_i_cuda_mxm_terms<T> terms(memory);
    const size_t own = BLOCK ? dcsr_i_cuda_mxm_terms<T>::bytes(blockDim.x)
                             : threadIdx.x / 32 * place_table<Ring>::bytes(how.bits);
    const place_table<Ring> table((char *)memory + own, how.bits);
    const unsigned lanes = BLOCK || job.ordered ? 32u : (unsigned)how.lanes;
    for (;;) {
        unsigned long long x = 0;
        if (BLOCK ? threadIdx.x == 0 : dcsr_i_cuda_lane() == 0) x = atomicAdd(job.ticket, AT_ONCE);
        if (BLOCK) {
            if (threadIdx.x == 0) *next = x;
            __syncthreads();
            x = *next;
            __syncthreads();
        } else {
            x = __shfl_sync(DCSR_CUDA_ALL_LANES, x, 0);
        }
        if (x >= job.count) return;
        for (uint64_t k = x; k < x + AT_ONCE && k < job.count; k++)
            compute_row<BLOCK>(job, places, ring, table, terms, job.row[job.count - 1 - k], lanes);
    }
}

size_t dcsr_i_cuda_mxm_place_bytes(int bits, int warps)
{
    typedef dcsr_i_cuda_plus_times<double> Ring;
    return dcsr_i_cuda_mxm_terms<double>::bytes((unsigned)warps * 32) + place_table<Ring>::bytes(bits);
}

void dcsr_i_cuda_mxm_place_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_mxm_job *job,
                                const dcsr_i_cuda_mxm_places *places, const dcsr_i_cuda_mxm_table *table,
                                bool by_blocks)
{
    dcsr_i_cuda_mxm_with_ring(*job, [=](auto *which) {
        typedef typename std::remove_pointer<decltype(which)>::type Ring;
        typedef typename Ring::T T;
        const unsigned warps = (unsigned)table->warps;
        const size_t bytes = place_table<Ring>::bytes(table->bits);
        if (by_blocks)
            dcsr_i_cuda_launch_blocks(stream, compute_rows<true, Ring>, job->count, (int)warps * 32,
                                      dcsr_i_cuda_mxm_terms<T>::bytes(warps * 32) + bytes, *job, *places,
                                      *table);
        else
            dcsr_i_cuda_launch_blocks(stream, compute_rows<false, Ring>, job->count / 8 / warps + 1,
                                      (int)warps * 32, warps * bytes, *job, *places, *table);
    });
}
