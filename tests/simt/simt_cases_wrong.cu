/* simt_cases_wrong.cu: kernels with planted bugs. */
#include "tests/simt/simt_cases.h"

/* The tile is overwritten while slower threads still read it. */
__global__ void overwrite_tile(const unsigned *in, unsigned *out, unsigned tiles)
{
    SIMT_SHARED(unsigned, tile, 65);
    unsigned sum = 0;
    for (unsigned k = 0; k < tiles; k++) {
        tile[threadIdx.x] = in[k * 64 + threadIdx.x];
        if (threadIdx.x == 0) tile[64] = 0;
        __syncthreads();
        sum += tile[threadIdx.x + 1];
    }
    out[threadIdx.x] = sum;
}

static void barrier_missing_before_reuse()
{
    std::vector<unsigned> values(256);
    for (unsigned i = 0; i < 256; i++) values[i] = i * i;
    const device_array<unsigned> in(values), out(64);
    simt::launch(overwrite_tile, 1, 64, 0, nullptr, in.data, out.data, 4);
    const std::vector<unsigned> sums = out.values();
    for (unsigned i = 0; i < 64; i++) {
        unsigned sum = 0;
        for (unsigned k = 0; i < 63 && k < 4; k++) sum += values[k * 64 + i + 1];
        CHECK(sums[i] == sum);
    }
}

/* Code that takes it that a warp runs in step. With SHUFFLE it has the lanes meet, but only __syncwarp orders
 * memory. */
template <bool SHUFFLE> __global__ void reverse_without_syncwarp(unsigned *out)
{
    SIMT_SHARED(unsigned, values, 32);
    values[threadIdx.x] = threadIdx.x;
    const unsigned zero = SHUFFLE ? __shfl_sync(0xffffffffu, threadIdx.x, 0) : 0;
    out[threadIdx.x] = values[31 - threadIdx.x] + zero;
}

template <bool SHUFFLE> static void syncwarp_missing()
{
    const device_array<unsigned> out(32);
    simt::launch(reverse_without_syncwarp<SHUFFLE>, 1, 32, 0, nullptr, out.data);
    const std::vector<unsigned> reversed = out.values();
    for (unsigned i = 0; i < 32; i++) CHECK(reversed[i] == 31 - i);
}

__global__ void write_beyond_shared()
{
    SIMT_SHARED(int, values, 33);
    values[threadIdx.x] = 1;
}

static void beyond_shared_array()
{
    simt::launch(write_beyond_shared, 1, 34, 0, nullptr);
}

__global__ void write_dynamic_shared()
{
    SIMT_SHARED_DYN(int, values);
    values[threadIdx.x] = 1;
}

static void beyond_dynamic_shared_array()
{
    simt::launch(write_dynamic_shared, 1, 64, 63 * sizeof(int), nullptr);
}

__global__ void two_barriers()
{
    if (threadIdx.x < 16)
        __syncthreads();
    else
        __syncthreads();
}

static void divergent_barrier()
{
    simt::launch(two_barriers, 1, 32, 0, nullptr);
}

/* Half of the block goes away without the rest of a collective that names it. */
__global__ void barrier_and_shuffle(int *out)
{
    if (threadIdx.x == 3)
        __syncthreads();
    else
        out[threadIdx.x] = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x), 3);
}

static void named_lane_stays_away()
{
    const device_array<int> out(32);
    simt::launch(barrier_and_shuffle, 1, 32, 0, nullptr, out.data);
    out.values();
}

/* Lane 16 is in both masks. */
__global__ void overlapping_syncwarp()
{
    if (threadIdx.x < 16)
        __syncwarp(0x0001ffffu);
    else
        __syncwarp(0xffff0000u);
}

static void overlapping_masks()
{
    simt::launch(overlapping_syncwarp, 1, 32, 0, nullptr);
}

__global__ void foreign_ballot(unsigned *out)
{
    out[threadIdx.x] = __ballot_sync(0x0000ffffu, 1);
}

static void lane_not_in_its_mask()
{
    const device_array<unsigned> out(32);
    simt::launch(foreign_ballot, 1, 32, 0, nullptr, out.data);
}

/* Two blocks write to one place. */
__global__ void write_block_number(unsigned *out)
{
    out[threadIdx.x] = blockIdx.x;
}

static void blocks_race()
{
    const device_array<unsigned> out(32);
    simt::launch(write_block_number, 2, 32, 0, nullptr, out.data);
    CHECK(all_are(out.values(), 1));
}

/* The block that comes last adds what the others have written. */
template <bool FENCED> __global__ void add_what_blocks_wrote(unsigned *sums, unsigned *done)
{
    SIMT_SHARED(bool, last, 1);
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = blockIdx.x + 1;
        if (FENCED) __threadfence();
        last[0] = atomicAdd(done, 1u) == gridDim.x - 1;
        if (FENCED) __threadfence();
    }
    __syncthreads();
    if (!last[0] || threadIdx.x != 1) return;
    for (unsigned i = 0; i < gridDim.x; i++) {
        sums[gridDim.x] += *(volatile unsigned *)&sums[i];
    }
}

template <bool FENCED> static void hand_over()
{
    const device_array<unsigned> sums(std::vector<unsigned>(9)), done(std::vector<unsigned>(1));
    simt::launch(add_what_blocks_wrote<FENCED>, 8, 32, 0, nullptr, sums.data, done.data);
    CHECK(sums.values()[8] == 36);
}

__device__ void recurse(unsigned depth, unsigned *out)
{
    volatile unsigned frame[1024];
    frame[depth % 1024] = depth;
    if (depth) recurse(depth - 1, out);
    *out += frame[depth % 1024];
}

__global__ void recurse_from(unsigned depth, unsigned *out)
{
    recurse(depth, out);
}

static void stack_overflow()
{
    const device_array<unsigned> out(1);
    simt::launch(recurse_from, 1, 1, 0, nullptr, 10000, out.data);
    out.values();
}

extern const simt_case WRONG_KERNEL_CASES[] = {{"barrier_missing_before_reuse", barrier_missing_before_reuse},
                                               {"syncwarp_missing", syncwarp_missing<false>},
                                               {"shuffle_for_syncwarp", syncwarp_missing<true>},
                                               {"beyond_shared_array", beyond_shared_array},
                                               {"beyond_dynamic_shared_array", beyond_dynamic_shared_array},
                                               {"divergent_barrier", divergent_barrier},
                                               {"named_lane_stays_away", named_lane_stays_away},
                                               {"overlapping_masks", overlapping_masks},
                                               {"lane_not_in_its_mask", lane_not_in_its_mask},
                                               {"blocks_race", blocks_race},
                                               {"clean_hand_over", hand_over<true>},
                                               {"fences_missing", hand_over<false>},
                                               {"stack_overflow", stack_overflow},
                                               {nullptr, nullptr}};
