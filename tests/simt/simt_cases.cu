/* simt_cases.cu: the program that runs a case; and the cases about kernels, correct ones and, in one place,
 * wrong. */
#include "tests/simt/simt_cases.h"

/* -- Correct kernels
 * ----------------------------------------------------------------------------------------------- */

/* The sum of an array; without FIRST_BARRIER the tree may begin before all values are there. */
template <int BLOCK, bool FIRST_BARRIER>
__global__ void reduce(const unsigned *in, unsigned n, unsigned long long *out)
{
    SIMT_SHARED(unsigned long long, sums, BLOCK);
    const unsigned i = blockIdx.x * BLOCK + threadIdx.x;
    sums[threadIdx.x] = i < n ? in[i] : 0;
    if (FIRST_BARRIER) __syncthreads();
    for (unsigned half = BLOCK / 2; half; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(out, sums[0]);
}

template <bool FIRST_BARRIER> static void run_reduce()
{
    const unsigned n = 1000;
    std::vector<unsigned> values(n);
    unsigned long long sum = 0;
    for (unsigned i = 0; i < n; i++) sum += values[i] = i * 2654435761u >> 8;
    const device_array<unsigned> in(values);
    const device_array<unsigned long long> out(std::vector<unsigned long long>(1, 0));
    simt::launch(reduce<64, FIRST_BARRIER>, (n + 63) / 64, 64, 0, nullptr, in.data, n, out.data);
    CHECK(out.values()[0] == sum);
}

__device__ __forceinline__ unsigned warp_scan(unsigned value)
{
    const unsigned lane = threadIdx.x % warpSize;
    for (unsigned distance = 1; distance < 32; distance *= 2) {
        const unsigned below = __shfl_up_sync(0xffffffffu, value, distance);
        if (lane >= distance) value += below;
    }
    return value;
}

/* Inclusive sums over each block; one shared element for each warp. */
__global__ void block_scan(const unsigned *in, unsigned *out, unsigned n)
{
    SIMT_SHARED_DYN(unsigned, sums);
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, warp = threadIdx.x / 32,
                   lane = threadIdx.x % 32;
    const unsigned value = warp_scan(i < n ? in[i] : 0);
    if (lane == 31) sums[warp] = value;
    __syncthreads();
    if (warp == 0) {
        const unsigned sum = warp_scan(lane < blockDim.x / 32 ? sums[lane] : 0);
        if (lane < blockDim.x / 32) sums[lane] = sum;
    }
    __syncthreads();
    if (i < n) out[i] = value + (warp ? sums[warp - 1] : 0);
}

static void run_scan()
{
    const unsigned n = 500, block = 128;
    std::vector<unsigned> values(n), sums(n);
    for (unsigned i = 0; i < n; i++) {
        values[i] = i % 7;
        sums[i] = values[i] + (i % block ? sums[i - 1] : 0);
    }
    const device_array<unsigned> in(values), out(n);
    simt::launch(block_scan, (n + block - 1) / block, block, block / 32 * sizeof(unsigned), nullptr, in.data,
                 out.data, n);
    CHECK(out.values() == sums);
}

/* Groups of four lanes take what is to be done one by one, at collectives of their own, until nothing is
 * left; the warp's comes last. */
__global__ void take_in_groups(const unsigned *in, unsigned n, unsigned *out)
{
    SIMT_SHARED(unsigned, taken, 1);
    const unsigned first = threadIdx.x & ~3u;
    if (threadIdx.x == 0) taken[0] = 0;
    __syncwarp();
    for (unsigned sum = 0;; sum = 0) {
        unsigned next = threadIdx.x == first ? atomicAdd(&taken[0], 1u) : 0;
        next = __shfl_sync(0xfu << first, next, 0, 4);
        if (next >= n) break;
        for (unsigned k = threadIdx.x - first; k < in[next]; k += 4) sum += k;
        for (int distance = 1; distance < 4; distance *= 2)
            sum += __shfl_xor_sync(0xfu << first, sum, distance);
        if (threadIdx.x == first) out[next] = sum;
    }
    __syncwarp();
    if (threadIdx.x == 31) out[n] = taken[0];
}

static void run_groups()
{
    const unsigned n = 50;
    std::vector<unsigned> values(n), sums(n + 1);
    for (unsigned i = 0; i < n; i++) {
        values[i] = i % 17;
        sums[i] = values[i] ? values[i] * (values[i] - 1) / 2 : 0;
    }
    sums[n] = n + 8; /* each group also asks once in vain */
    const device_array<unsigned> in(values), out(n + 1);
    simt::launch(take_in_groups, 1, 32, 0, nullptr, in.data, n, out.data);
    CHECK(out.values() == sums);
}

/* Row r gets want[r] slots of a pool, and fills them with r. */
enum allocator { ATOMIC, LOAD_AND_STORE, ONE_TOO_MANY };
template <allocator KIND>
__global__ void allocate_rows(unsigned *cursor, unsigned capacity, unsigned *pool, unsigned *begins,
                              const unsigned *want, unsigned rows)
{
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    unsigned begin, n = want[row];
    if (KIND == LOAD_AND_STORE) {
        begin = *cursor;
        *cursor = begin + n;
    } else {
        begin = atomicAdd(cursor, n);
    }
    if (begin + n > capacity) return;
    begins[row] = begin;
    if (KIND == ONE_TOO_MANY && begin + n == capacity) n++;
    for (unsigned k = 0; k < n; k++) pool[begin + k] = row;
}

template <allocator KIND> static void run_allocator()
{
    const unsigned rows = 300;
    std::vector<unsigned> want(rows);
    unsigned capacity = 0;
    for (unsigned row = 0; row < rows; row++) capacity += want[row] = 1 + row % 5;
    const device_array<unsigned> wanted(want), pool(capacity), begins(rows),
        cursor(std::vector<unsigned>(1, 0));
    simt::launch(allocate_rows<KIND>, (rows + 63) / 64, 64, 0, nullptr, cursor.data, capacity, pool.data,
                 begins.data, wanted.data, rows);
    const std::vector<unsigned> at = begins.values(), filled = pool.values();
    CHECK(cursor.values()[0] == capacity);
    for (unsigned row = 0; row < rows; row++) {
        for (unsigned k = 0; k < want[row]; k++) CHECK(at[row] + k < capacity && filled[at[row] + k] == row);
    }
}

__global__ void warp_votes(const unsigned *keys, unsigned *leaders, unsigned *odd, unsigned *sums)
{
    const unsigned i = threadIdx.x, key = keys[i], all = 0xffffffffu;
    leaders[i] = static_cast<unsigned>(__ffs(static_cast<int>(__match_any_sync(all, key)))) - 1;
    const unsigned ballot = __ballot_sync(all, key % 2);
    int same;
    __match_all_sync(all, i / 32, &same);
    if (i % 32 == 0) odd[i / 32] = ballot;
    unsigned sum = key;
    for (int bit = 1; bit < 32; bit *= 2) sum += __shfl_xor_sync(all, sum, bit);
    const bool agree = __all_sync(all, same && __shfl_sync(all, sum, 31) == sum) &&
                       !__any_sync(all, sum != __shfl_down_sync(all, sum, 1));
    sums[i] = agree ? sum : 0;
}

static void run_votes()
{
    std::vector<unsigned> values(64);
    for (unsigned i = 0; i < 64; i++) values[i] = i * i % 5;
    const device_array<unsigned> keys(values), leaders(64), odd(2), sums(64);
    simt::launch(warp_votes, 1, 64, 0, nullptr, keys.data, leaders.data, odd.data, sums.data);
    const std::vector<unsigned> leader = leaders.values(), ballots = odd.values(), totals = sums.values();
    for (unsigned i = 0; i < 64; i++) {
        const unsigned first = i & ~31u;
        unsigned lowest = first, sum = 0;
        while (values[lowest] != values[i]) lowest++;
        for (unsigned k = first; k < first + 32; k++) sum += values[k];
        CHECK(leader[i] == lowest - first && totals[i] == sum);
        CHECK((ballots[i / 32] >> (i % 32) & 1) == values[i] % 2);
    }
}

__global__ void barrier_votes(int *results)
{
    const int third = threadIdx.x % 3 == 0;
    const int count = __syncthreads_count(third), every = __syncthreads_and(third),
              any = __syncthreads_or(third);
    if (threadIdx.x == 0 && threadIdx.y == 0) results[blockIdx.x] = count == 18 && !every && any;
}

__global__ void all_atomics(int *i, unsigned *u, unsigned long long *w, long long *s, float *f, double *d)
{
    const int me = static_cast<int>(threadIdx.x);
    const unsigned mine = threadIdx.x;
    atomicAdd(&i[0], me);
    atomicSub(&i[1], me);
    atomicMin(&i[2], -me);
    atomicMax(&i[3], me);
    atomicOr(&u[0], 1u << mine);
    atomicAnd(&u[1], ~(1u << mine));
    atomicXor(&u[2], 1u << mine);
    atomicMax(&u[3], mine);
    atomicAdd(&w[0], 1ull << 32);
    for (unsigned long long old = 0, seen; (seen = atomicCAS(&w[1], old, old + 2)) != old;) old = seen;
    atomicMin(&s[0], -static_cast<long long>(mine));
    atomicAdd(&f[0], 0.5f);
    atomicAdd(&d[0], 0.25);
}

static void run_atomics()
{
    const device_array<int> i(std::vector<int>(4, 0)), votes(2);
    const device_array<unsigned> u(std::vector<unsigned>{0, ~0u, 0, 0});
    const device_array<unsigned long long> w(std::vector<unsigned long long>(2, 0));
    const device_array<long long> s(std::vector<long long>(1, 0));
    const device_array<float> f(std::vector<float>(1, 0));
    const device_array<double> d(std::vector<double>(1, 0));
    simt::launch(all_atomics, 1, 32, 0, nullptr, i.data, u.data, w.data, s.data, f.data, d.data);
    simt::launch(barrier_votes, 2, dim3(8, 6), 0, nullptr, votes.data);
    CHECK(i.values() == (std::vector<int>{496, -496, -31, 31}));
    CHECK(u.values() == (std::vector<unsigned>{~0u, 0, ~0u, 31}));
    CHECK(w.values() == (std::vector<unsigned long long>{32ull << 32, 64}));
    CHECK(s.values()[0] == -31 && f.values()[0] == 16 && d.values()[0] == 8);
    CHECK(votes.values() == (std::vector<int>{1, 1}));
}

/* Blocks that are in flight together meet after each round, in which each takes on what its neighbour has. */
template <bool FENCED> __global__ void take_on(unsigned *numbers, unsigned *arrived, unsigned rounds)
{
    for (unsigned round = 0; round < rounds; round++) {
        const unsigned *from = numbers + round % 2 * gridDim.x;
        unsigned *to = numbers + (round + 1) % 2 * gridDim.x;
        if (threadIdx.x == 1) to[blockIdx.x] = from[(blockIdx.x + 1) % gridDim.x] + 1;
        __syncthreads();
        if (threadIdx.x == 0) {
            if (FENCED) __threadfence();
            atomicAdd(arrived, 1u);
            while (atomicAdd(arrived, 0u) < (round + 1) * gridDim.x) __nanosleep(0);
            if (FENCED) __threadfence();
        }
        __syncthreads();
    }
}

template <bool FENCED> static void run_meetings()
{
    const unsigned blocks = 7, rounds = 12;
    std::vector<unsigned> initial(2 * blocks), expected(blocks);
    for (unsigned b = 0; b < blocks; b++) {
        initial[b] = 100 * b;
        expected[b] = 100 * ((b + rounds) % blocks) + rounds;
    }
    const device_array<unsigned> numbers(initial), arrived(std::vector<unsigned>(1, 0));
    simt::launch_together(take_on<FENCED>, blocks, 32, 0, nullptr, numbers.data, arrived.data, rounds);
    std::vector<unsigned> found = numbers.values();
    found.resize(blocks);
    CHECK(found == expected);
}

/* Prints in which order threads came: the same for the same seed. */
__global__ void take_numbers(unsigned *next, unsigned *order)
{
    order[atomicAdd(next, 1u)] = blockIdx.x * blockDim.x + threadIdx.x;
}

static void run_schedule()
{
    const device_array<unsigned> next(std::vector<unsigned>(1, 0)), order(128);
    simt::launch(take_numbers, 4, 32, 0, nullptr, next.data, order.data);
    for (unsigned thread : order.values()) printf("%u ", thread);
    printf("\n");
}

extern const simt_case KERNEL_CASES[] = {{"clean_reduce", run_reduce<true>},
                                         {"clean_scan", run_scan},
                                         {"clean_groups", run_groups},
                                         {"clean_allocator", run_allocator<ATOMIC>},
                                         {"clean_votes", run_votes},
                                         {"clean_atomics", run_atomics},
                                         {"clean_meetings", run_meetings<true>},
                                         {"meetings_without_fences", run_meetings<false>},
                                         {"schedule", run_schedule},
                                         {"first_barrier_missing", run_reduce<false>},
                                         {"load_and_store_for_atomic", run_allocator<LOAD_AND_STORE>},
                                         {"beyond_array", run_allocator<ONE_TOO_MANY>},
                                         {nullptr, nullptr}};

/* -- The program
 * --------------------------------------------------------------------------------------------------- */

__global__ void add_kernel(unsigned *to, const unsigned *from, unsigned add, size_t n)
{
    const size_t step = size_t(gridDim.x) * blockDim.x;
    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) to[i] = from[i] + add;
}

__global__ void set_kernel(unsigned *to, unsigned value, size_t n)
{
    const size_t step = size_t(gridDim.x) * blockDim.x;
    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) to[i] = value;
}

bool all_are(const std::vector<unsigned> &values, unsigned value)
{
    for (unsigned each : values) {
        if (each != value) return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    for (const simt_case *cases :
         {KERNEL_CASES, WRONG_KERNEL_CASES, STREAM_CASES, MEMORY_CASES, DEVICE_CASES, PEER_CASES}) {
        for (; cases->name; cases++) {
            if (argc < 2) puts(cases->name);
            if (argc < 2 || strcmp(argv[1], cases->name) != 0) continue;
            cases->run();
            OK(cudaDeviceSynchronize());
            return 0;
        }
    }
    if (argc < 2) return 0;
    fprintf(stderr, "simt_cases: there is no case %s\n", argv[1]);
    return 2;
}
