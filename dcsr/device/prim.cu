/* prim.cu: sorting, scanning and combining whole arrays: by CUB on a device, by plain loops in the emulator.
 */
#include "dcsr/device/prim_cuda.h"
#include "dcsr/device/combine.cuh"
#include "dcsr/device/prim.cuh"
#include "dcsr/device/reduce.cuh"
#include "dcsr/device/tile_sort.cuh"

#include <utility>
#ifdef DCSR_SIMT
#include <algorithm>
#include <vector>
#else
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#endif

/* ---- What the algorithms read ---- */

namespace
{
/* An array that goes on with one zero: the exclusive sums of its n + 1 elements end with the total of the n.
 */
template <class T> struct ended_by_zero {
    const T *in;
    uint64_t n;
    __host__ __device__ uint64_t operator[](uint64_t i) const { return i < n ? in[i] : 0; }
};

/* 1 in the low half where a run begins, and 1 in the high half where one of the coarser kind does. */
struct begins_of_runs {
    const uint64_t *keys, *count;
    uint64_t n;
    int low, high;
    __host__ __device__ uint64_t operator[](uint64_t i) const
    {
        if (i >= n || (count && i >= *count)) return 0;
        uint64_t key = keys[i], before = i ? keys[i - 1] : ~key;
        return (key >> low != before >> low) | static_cast<uint64_t>(key >> high != before >> high) << 32;
    }
};
} // namespace

namespace
{
/* Compares what radix sorts look at. */
template <class T> struct by_bits {
    int low;
    T mask;
    by_bits(int low_bit, int high_bit)
        : low(low_bit),
          mask(high_bit - low_bit < (int)sizeof(T) * 8 ? ((T)1 << (high_bit - low_bit)) - 1 : (T)-1)
    {
    }
    __device__ T of(T key) const { return key >> low & mask; }
};
} // namespace

/* ---- Up to some hundred thousand keys: by merging, in two or three launches ---- */

/* Tiles are sorted by a block of threads each. Then runs are merged, a group of many at once: each key finds its place
 * by itself, past those of its run before it, and by bisection past those of each other run of the group, which a few
 * lanes share. Neighbours look at the same places, which are in the first-level caches. A radix sort, and merging two
 * by two, take a launch of some 12 us for every 8 bits, or for each doubling. */
#ifdef DCSR_SIMT
enum { FEW_KEYS = 512, FEW_TILE = 5, FEW_GROUP = 4, MANY_KEYS = 1024, MANY_TILE = 6, MANY_GROUP = 2 };
#else
enum { FEW_KEYS = 1 << 14, FEW_TILE = 8, FEW_GROUP = 6, MANY_KEYS = 1 << 18, MANY_TILE = 10, MANY_GROUP = 4 };
#endif
enum { SEARCHERS = 4 }; /* the lanes */
static_assert(FEW_KEYS <= 1 << (FEW_TILE + FEW_GROUP), "one merging is enough");
static_assert(MANY_KEYS <= 1 << (MANY_TILE + 2 * MANY_GROUP), "two are");

namespace
{
template <class T> struct keys_with_payload {
    T *keys, *payload; /* NULL: none */
};
} // namespace

template <class T>
static __global__ void __launch_bounds__(1 << MANY_TILE)
    sort_tiles(keys_with_payload<T> in, uint64_t n, by_bits<T> bits, keys_with_payload<T> out)
{
    SIMT_SHARED(dcsr_i_cuda_tile_key, shared, 1 << MANY_TILE);
    const unsigned tile = blockDim.x;
    dcsr_i_cuda_await();
    for (uint64_t first = dcsr_i_cuda_first_block() * tile; first < n; first += dcsr_i_cuda_step()) {
        const uint64_t i = first + threadIdx.x;
        dcsr_i_cuda_tile_key own = {i < n ? bits.of(in.keys[i]) : UINT64_MAX, threadIdx.x};
        own = dcsr_i_cuda_sort_tile(own, shared, tile);
        if (i < n) out.keys[i] = in.keys[first + own.from];
        if (i < n && in.payload) out.payload[i] = in.payload[first + own.from];
        __syncthreads(); /* what is shared may be written again */
    }
}

/* How many of m keys that ascend, `most` at most, which is a power of two, are below one; or not above it. */
template <class T>
DCSR_CUDA_INLINE uint32_t count_before(const T *sorted, uint32_t m, uint32_t most, const by_bits<T> &bits,
                                       T key, bool equal_too)
{
    uint32_t n = 0;
    for (uint32_t more = most; more; more /= 2) {
        if (n + more > m) continue;
        const T other = bits.of(sorted[n + more - 1]);
        if (other < key || (equal_too && other == key)) n += more;
    }
    return n;
}

/* Runs of 2^run keys become runs of 2^(run + group). */
template <class T>
static __global__ void merge_runs(keys_with_payload<T> in, uint64_t n, int run, int group, by_bits<T> bits,
                                  keys_with_payload<T> out)
{
    const uint64_t runs = (n + ((uint64_t)1 << run) - 1) >> run;
    const uint64_t lanes = (n * SEARCHERS + 31) / 32 * 32; /* whole warps */
    dcsr_i_cuda_await();
    for (uint64_t x = dcsr_i_cuda_first(); x < lanes; x += dcsr_i_cuda_step()) {
        const uint64_t i = x / SEARCHERS, own = i >> run, first = own >> group << group,
                       behind = first + ((uint64_t)1 << group), end = behind < runs ? behind : runs;
        const uint32_t searcher = x % SEARCHERS, most = 1u << run;
        const T key = i < n ? bits.of(in.keys[i]) : 0;
        uint32_t before = 0;
#pragma unroll 4
        for (uint64_t t = first + searcher; t < end; t += SEARCHERS) {
            const uint64_t begin = t << run, left = n - begin;
            const uint32_t there = left < most ? static_cast<uint32_t>(left) : most,
                           m = t == own || i >= n ? 0 : there;
            before += count_before(in.keys + begin, m, most, bits, key, t < own);
        }
        for (unsigned distance = 1; distance < SEARCHERS; distance *= 2)
            before += __shfl_xor_sync(DCSR_CUDA_ALL_LANES, before, distance);
        if (searcher || i >= n) continue;
        const uint64_t at = (first << run) + (i & (most - 1)) + before;
        out.keys[at] = in.keys[i];
        if (in.payload) out.payload[at] = in.payload[i];
    }
}

static bool is_merged(uint64_t n)
{
    return n > (uint64_t)1 << FEW_TILE && n <= MANY_KEYS;
}

template <class T>
static void sort_by_merging(dcsr_i_cuda_stream *stream, T **keys, T **keys_spare, T **payload,
                            T **payload_spare, uint64_t n, int low_bit, int high_bit)
{
    const by_bits<T> bits(low_bit, high_bit);
    const int tile = n <= FEW_KEYS ? FEW_TILE : MANY_TILE, group = n <= FEW_KEYS ? FEW_GROUP : MANY_GROUP;
    keys_with_payload<T> from = {*keys, payload ? *payload : nullptr},
                         to = {*keys_spare, payload ? *payload_spare : nullptr};
    dcsr_i_cuda_chain_blocks(stream, sort_tiles<T>, ((n - 1) >> tile) + 1, 1 << tile, 0, from, n, bits, to);
    for (int run = tile; (n - 1) >> run; run += group) {
        std::swap(from, to);
        dcsr_i_cuda_chain(stream, merge_runs<T>, n * SEARCHERS, from, n, run, group, bits, to);
    }
    *keys = to.keys;
    *keys_spare = from.keys;
    if (!payload) return;
    *payload = to.payload;
    *payload_spare = from.payload;
}

/* ---- Short arrays: one block, in one launch ---- */

#ifdef DCSR_SIMT
enum { SHORT = 200 };
#else
enum { SHORT = 4096 };
#endif

/* out[i] = all[0] + ... + all[i - 1] for i = 0 .. n; all[n] is 0. */
template <class Source> static __global__ void scan_short(Source all, uint64_t *out, uint64_t n)
{
    SIMT_SHARED(uint64_t, of_warp, 32);
    const unsigned lane = dcsr_i_cuda_lane(), warp = threadIdx.x / 32, warps = blockDim.x / 32;
    uint64_t before = 0;
    for (uint64_t tile = 0; tile <= n; tile += blockDim.x) {
        uint64_t i = tile + threadIdx.x, here = i <= n ? all[i] : 0, sum = here;
        for (unsigned distance = 1; distance < 32; distance *= 2) {
            uint64_t lower = __shfl_up_sync(DCSR_CUDA_ALL_LANES, sum, distance);
            if (lane >= distance) sum += lower;
        }
        if (lane == 31) of_warp[warp] = sum;
        __syncthreads();
        uint64_t other = lane < warps ? of_warp[lane] : 0;
        uint64_t earlier = dcsr_i_cuda_warp_sum(lane < warp ? other : 0);
        __syncthreads(); /* of_warp is written again */
        if (i <= n) out[i] = before + earlier + sum - here;
        before += dcsr_i_cuda_warp_sum(other);
    }
}

template <class Source>
static dcsr_status scan_any(dcsr_i_cuda_stream *stream, Source all, uint64_t *out, uint64_t n);

template <class Source>
static dcsr_status scan(dcsr_i_cuda_stream *stream, Source all, uint64_t *out, uint64_t n)
{
    if (n > SHORT) return scan_any(stream, all, out, n);
    dcsr_i_cuda_launch_blocks(stream, scan_short<Source>, 1, (int)dcsr_i_cuda_threads({1024, 1}), 0, all, out,
                              n);
    return DCSR_OK;
}

#ifdef DCSR_SIMT

/* ---- In the emulator: plain loops, as kernels of one thread ---- */

/* The result lands in the spare arrays, so that nobody relies on where it is. */
template <class T>
static dcsr_status sort_pairs(dcsr_i_cuda_stream *stream, T **keys, T **keys_spare, T **payload,
                              T **payload_spare, uint64_t n, int low_bit, int high_bit)
{
    uint64_t mask = high_bit - low_bit < 64 ? ((uint64_t)1 << (high_bit - low_bit)) - 1 : UINT64_MAX;
    T *from = *keys, *to = *keys_spare;
    T *from_payload = payload ? *payload : nullptr, *to_payload = payload ? *payload_spare : nullptr;
    dcsr_i_cuda_enqueue(stream, [=] {
        std::vector<uint64_t> order(n);
        for (uint64_t i = 0; i < n; i++) order[i] = i;
        std::stable_sort(order.begin(), order.end(), [=](uint64_t a, uint64_t b) {
            return (from[a] >> low_bit & mask) < (from[b] >> low_bit & mask);
        });
        for (uint64_t i = 0; i < n; i++) to[i] = from[order[i]];
        for (uint64_t i = 0; to_payload && i < n; i++) to_payload[i] = from_payload[order[i]];
    });
    std::swap(*keys, *keys_spare);
    if (payload) std::swap(*payload, *payload_spare);
    return DCSR_OK;
}

static dcsr_status sort_keys(dcsr_i_cuda_stream *stream, uint64_t **keys, uint64_t **keys_spare, uint64_t n,
                             int low_bit, int high_bit)
{
    uint64_t **none = nullptr;
    return sort_pairs(stream, keys, keys_spare, none, none, n, low_bit, high_bit);
}

template <class Source>
static dcsr_status scan_any(dcsr_i_cuda_stream *stream, Source all, uint64_t *out, uint64_t n)
{
    dcsr_i_cuda_enqueue(stream, [=] {
        uint64_t sum = 0;
        for (uint64_t i = 0; i <= n; i++) {
            uint64_t here = all[i];
            out[i] = sum;
            sum += here;
        }
    });
    return DCSR_OK;
}

dcsr_status dcsr_i_cuda_combine(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_keyed *entries,
                                dcsr_policy policy, uint64_t *keys_out, uint64_t *words_out, uint64_t *count)
{
    const uint64_t *keys = entries->keys, *words = entries->words, n = entries->n;
    const dcsr_type type = entries->type;
    dcsr_i_cuda_enqueue(stream, [=] {
        uint64_t runs = 0;
        for (uint64_t i = 0; i < n; i++) {
            bool first = !i || keys[i] != keys[i - 1];
            if (first) keys_out[runs++] = keys[i];
            if (!words) continue;
            uint64_t *into = &words_out[runs - 1];
            *into = first ? words[i] : dcsr_i_cuda_combine_words(type, policy, *into, words[i]);
        }
        *count = runs;
    });
    return DCSR_OK;
}

#else

/* ---- On a device: CUB ---- */

namespace
{
/* An iterator over what a source's [] gives, as CUB wants one. */
template <class Source> struct reading {
    typedef ptrdiff_t difference_type;
    typedef uint64_t value_type;
    typedef uint64_t reference;
    typedef const uint64_t *pointer;
    typedef std::random_access_iterator_tag iterator_category;

    Source source;
    uint64_t at;
    __host__ __device__ uint64_t operator*() const { return source[at]; }
    __host__ __device__ uint64_t operator[](ptrdiff_t i) const { return source[at + i]; }
    __host__ __device__ reading operator+(ptrdiff_t i) const { return {source, at + i}; }
    __host__ __device__ reading operator-(ptrdiff_t i) const { return {source, at - i}; }
    __host__ __device__ ptrdiff_t operator-(const reading &other) const { return (ptrdiff_t)(at - other.at); }
    __host__ __device__ reading &operator+=(ptrdiff_t i)
    {
        at += i;
        return *this;
    }
    __host__ __device__ reading &operator++() { return *this += 1; }
    __host__ __device__ bool operator==(const reading &other) const { return at == other.at; }
    __host__ __device__ bool operator!=(const reading &other) const { return at != other.at; }
};

struct combining {
    int type, policy;
    /* Inlined wherever CUB applies it, its cases would take minutes to compile. */
    __device__ __noinline__ uint64_t operator()(uint64_t into, uint64_t value) const
    {
        return dcsr_i_cuda_combine_words(type, policy, into, value);
    }
};
} // namespace

static dcsr_status sort_keys(dcsr_i_cuda_stream *stream, uint64_t **keys, uint64_t **keys_spare, uint64_t n,
                             int low_bit, int high_bit)
{
    cub::DoubleBuffer<uint64_t> k(*keys, *keys_spare);
    DCSR_TRY(dcsr_i_cuda_with_memory(stream, [&](void *memory, size_t &bytes) {
        return cub::DeviceRadixSort::SortKeys(memory, bytes, k, n, low_bit, high_bit,
                                              dcsr_i_cuda_raw(stream));
    }));
    *keys = k.Current();
    *keys_spare = k.Alternate();
    return DCSR_OK;
}

template <class T>
static dcsr_status sort_pairs(dcsr_i_cuda_stream *stream, T **keys, T **keys_spare, T **payload,
                              T **payload_spare, uint64_t n, int low_bit, int high_bit)
{
    cub::DoubleBuffer<T> k(*keys, *keys_spare), p(*payload, *payload_spare);
    DCSR_TRY(dcsr_i_cuda_with_memory(stream, [&](void *memory, size_t &bytes) {
        return cub::DeviceRadixSort::SortPairs(memory, bytes, k, p, n, low_bit, high_bit,
                                               dcsr_i_cuda_raw(stream));
    }));
    *keys = k.Current();
    *keys_spare = k.Alternate();
    *payload = p.Current();
    *payload_spare = p.Alternate();
    return DCSR_OK;
}

template <class Source>
static dcsr_status scan_any(dcsr_i_cuda_stream *stream, Source source, uint64_t *out, uint64_t n)
{
    reading<Source> all = {source, 0};
    return dcsr_i_cuda_with_memory(stream, [&](void *memory, size_t &bytes) {
        return cub::DeviceScan::ExclusiveSum(memory, bytes, all, out, n + 1, dcsr_i_cuda_raw(stream));
    });
}

dcsr_status dcsr_i_cuda_combine(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_keyed *entries,
                                dcsr_policy policy, uint64_t *keys_out, uint64_t *words_out, uint64_t *count)
{
    const uint64_t *keys = entries->keys, *words = entries->words, n = entries->n;
    const dcsr_type type = entries->type;
    cudaStream_t raw = dcsr_i_cuda_raw(stream);
    if (!n) {
        dcsr_i_cuda_fill(stream, count, 0, sizeof *count);
        return DCSR_OK;
    }
    if (!words)
        return dcsr_i_cuda_with_memory(stream, [&](void *memory, size_t &bytes) {
            return cub::DeviceSelect::Unique(memory, bytes, keys, keys_out, count, n, raw);
        });
    return dcsr_i_cuda_with_memory(stream, [&](void *memory, size_t &bytes) {
        return cub::DeviceReduce::ReduceByKey(memory, bytes, keys, keys_out, words, words_out, count,
                                              combining{type, policy}, n, raw);
    });
}

#endif

dcsr_status dcsr_i_cuda_sort(dcsr_i_cuda_stream *stream, uint64_t **keys, uint64_t **keys_spare,
                             uint64_t **payload, uint64_t **payload_spare, uint64_t n, int low_bit,
                             int high_bit)
{
    if (n < 2 || low_bit >= high_bit) return DCSR_OK;
    if (is_merged(n)) {
        sort_by_merging(stream, keys, keys_spare, payload, payload_spare, n, low_bit, high_bit);
        return DCSR_OK;
    }
    return payload ? sort_pairs(stream, keys, keys_spare, payload, payload_spare, n, low_bit, high_bit)
                   : sort_keys(stream, keys, keys_spare, n, low_bit, high_bit);
}

dcsr_status dcsr_i_cuda_sort_u32(dcsr_i_cuda_stream *stream, uint32_t **keys, uint32_t **keys_spare,
                                 uint32_t **numbers, uint32_t **numbers_spare, uint64_t n, int high_bit)
{
    if (n < 2 || !high_bit) return DCSR_OK;
    if (is_merged(n)) {
        sort_by_merging(stream, keys, keys_spare, numbers, numbers_spare, n, 0, high_bit);
        return DCSR_OK;
    }
    return sort_pairs(stream, keys, keys_spare, numbers, numbers_spare, n, 0, high_bit);
}

dcsr_status dcsr_i_cuda_scan_u32(dcsr_i_cuda_stream *stream, const uint32_t *in, uint64_t *out, uint64_t n)
{
    return scan(stream, ended_by_zero<uint32_t>{in, n}, out, n);
}

dcsr_status dcsr_i_cuda_scan_u64(dcsr_i_cuda_stream *stream, const uint64_t *in, uint64_t *out, uint64_t n)
{
    return scan(stream, ended_by_zero<uint64_t>{in, n}, out, n);
}

dcsr_status dcsr_i_cuda_scan_runs(dcsr_i_cuda_stream *stream, const uint64_t *keys, const uint64_t *count,
                                  uint64_t n, int low, int high, uint64_t *out)
{
    return scan(stream, begins_of_runs{keys, count, n, low, high}, out, n);
}

/* ---- Where keys begin ---- */

template <class Key>
static __global__ void find_begins(const Key *keys, uint64_t n, int shift, uint64_t count, uint64_t *begins)
{
    for (uint64_t i = dcsr_i_cuda_first(); i <= count; i += dcsr_i_cuda_step()) {
        uint64_t low = 0, high = n;
        while (low < high) {
            uint64_t middle = low + (high - low) / 2;
            if (keys[middle] >> shift < i)
                low = middle + 1;
            else
                high = middle;
        }
        begins[i] = low;
    }
}

void dcsr_i_cuda_find_begins(dcsr_i_cuda_stream *stream, const uint64_t *keys, uint64_t n, int shift,
                             uint64_t count, uint64_t *begins)
{
    dcsr_i_cuda_launch(stream, find_begins<uint64_t>, count + 1, keys, n, shift, count, begins);
}

void dcsr_i_cuda_find_begins_u32(dcsr_i_cuda_stream *stream, const uint32_t *keys, uint64_t n, uint64_t count,
                                 uint64_t *begins)
{
    dcsr_i_cuda_launch(stream, find_begins<uint32_t>, count + 1, keys, n, 0, count, begins);
}
