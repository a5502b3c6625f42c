/* simt_launch.cpp: runs the threads of a launch, in an order drawn from the seed.
 *
 * Some blocks are in flight at a time. The threads of all of them that can go on are in one list; who waits,
 * exits or is preempted takes the next from it: the first with seed 0, any otherwise. When the list is empty,
 * the stream's fiber takes the finished blocks away and starts others. */
#include "tests/simt/simt_launch.h"
#include <algorithm>
#include <map>
#include "tests/simt/simt_control.h"
#include "tests/simt/simt_grid.h"
#include "tests/simt/simt_queue.h"

namespace simt
{
const coordinates *here;
dimensions shape;

namespace
{
enum {
    MOST_THREADS = 1024,
    MOST_BLOCKS_YZ = 65535,
    SHARED_BYTES = 48 << 10,         /* without cudaFuncSetAttribute */
    SHARED_BYTES_OPT_IN = 227 << 10, /* with */
    /* ThreadSanitizer gets a fiber for each thread of a launch up to so many. Beyond, fibers of threads that
     * have exited are used again, and races between two threads on one fiber are not seen. */
    MOST_FIBERS = SIMT_TSAN ? 1024 : 0
};

struct grid_state {
    const kernel_call *call;
    engine *home; /* of the stream that the launch runs in */
    random_numbers random;
    bool seeded;
    unsigned yield_one_in; /* 0: never */
    uint64_t yields;       /* a generator of its own, see may_yield() */
    bool in_emulator;
    std::vector<cuda_thread *> runnable; /* from first on */
    size_t first;
    std::vector<block_state *> resident;
    char start_order, end_order; /* their addresses stand for the order that begin and end of a launch make */
};
grid_state *grid; /* the one that runs */
uint64_t launches;

/* Of a kernel on a device. */
typedef std::map<std::pair<const void *, int>, int> limits;
limits &shared_limits()
{
    static limits &instance = *new limits;
    return instance;
}

cuda_thread *next_thread()
{
    if (grid->first == grid->runnable.size()) {
        grid->runnable.clear();
        grid->first = 0;
        return nullptr;
    }
    if (grid->seeded) {
        const size_t chosen = grid->first + grid->random.below(grid->runnable.size() - grid->first);
        std::swap(grid->runnable[grid->first], grid->runnable[chosen]);
    }
    return grid->runnable[grid->first++];
}

/* This and the next are not inlined into the loop of a thread: the next launch may run on another host
 * thread, whose thread-local variables are others. */
__attribute__((noinline)) void exit_thread()
{
    enter_emulator();
    cuda_thread *const self = current_thread();
    order_release(&grid->end_order);
    self->state = EXITED;
    self->home->live--;
    warp_state *const warp = &self->home->warps[self->linear / 32];
    if (warp->passed >> self->linear % 32 & 1)
        die("a lane exits that others wait for; it was at a collective without them: they name different "
            "masks");
    warp->live &= ~(1u << self->linear % 32);
    complete_barrier(self->home);
    complete_collectives(self->home, self->linear / 32);
    run_others();
}

__attribute__((noinline)) void run_thread()
{
    order_acquire(&grid->start_order);
    leave_emulator();
    grid->call->run();
}

void thread_main()
{
    quiet_begin();
    for (;;) {
        run_thread();
        exit_thread();
    }
}

/* To ThreadSanitizer, each stream has an order of its own, and so its own threads; otherwise all share one
 * set. */
engine *owner_of_threads()
{
    static engine &all = *new engine;
    return SIMT_TSAN ? grid->home : &all;
}

cuda_thread *take_thread()
{
    engine *const owner = owner_of_threads();
    std::deque<cuda_thread *> &idle = owner->idle_threads;
    cuda_thread *thread = idle.empty() ? nullptr : SIMT_TSAN ? idle.front() : idle.back();
    if (!thread || (thread->launch == launches && owner->threads < MOST_FIBERS)) {
        thread = new cuda_thread;
        fiber_create(&thread->runner, options().stack_bytes, thread_main);
        owner->threads++;
    } else if (SIMT_TSAN) {
        idle.pop_front();
    } else {
        idle.pop_back(); /* its stack is in the caches still */
    }
    thread->launch = launches;
    thread->atomic = nullptr;
    thread->fenced = false;
    return thread;
}

void start_block(uint64_t number, size_t shared_bytes)
{
    block_state *const block = new block_state;
    const dim3 &blocks = shape.grid, &threads = shape.block;
    block->index = {static_cast<unsigned>(number % blocks.x),
                    static_cast<unsigned>(number / blocks.x % blocks.y),
                    static_cast<unsigned>(number / blocks.x / blocks.y)};
    block->live = threads.x * threads.y * threads.z;
    allocate_dynamic(block, shared_bytes);
    for (unsigned linear = 0; linear < block->live; linear++) {
        cuda_thread *const thread = take_thread();
        thread->thread = {linear % threads.x, linear / threads.x % threads.y, linear / threads.x / threads.y};
        thread->block = block->index;
        thread->linear = linear;
        thread->home = block;
        block->threads.push_back(thread);
        block->warps[linear / 32].live |= 1u << linear % 32;
        make_runnable(thread);
    }
    grid->resident.push_back(block);
}

bool remove_finished_blocks()
{
    std::vector<block_state *> &resident = grid->resident;
    const size_t before = resident.size();
    for (size_t i = 0; i < resident.size();) {
        block_state *const block = resident[i];
        if (block->live) {
            i++;
            continue;
        }
        for (cuda_thread *thread : block->threads) owner_of_threads()->idle_threads.push_back(thread);
        free_shared(block);
        delete block;
        resident[i] = resident.back();
        resident.pop_back();
    }
    return resident.size() < before;
}

/* Runs blocks until none is left; on the stream's fiber. */
void run_blocks(size_t shared_bytes, bool together)
{
    std::vector<uint64_t> order(uint64_t(shape.grid.x) * shape.grid.y * shape.grid.z);
    for (uint64_t i = 0; i < order.size(); i++) order[i] = i;
    size_t in_flight = options().resident_blocks;
    if (options().seed) {
        for (uint64_t i = order.size(); i > 1; i--) std::swap(order[i - 1], order[grid->random.below(i)]);
        if (!in_flight) in_flight = 1 + grid->random.below(4);
    }
    if (!in_flight) in_flight = 1;
    if (together) in_flight = order.size();
    for (size_t started = 0; started < order.size() || !grid->resident.empty();) {
        while (started < order.size() && grid->resident.size() < in_flight)
            start_block(order[started++], shared_bytes);
        here = next_thread();
        if (here) fiber_switch(&current_thread()->runner); /* back when no thread can go on */
        if (!remove_finished_blocks()) die("deadlock: no thread of the launch can go on");
    }
}

struct kernel_operation final : operation {
    std::unique_ptr<kernel_call> call;
    dim3 blocks, threads;
    size_t shared_bytes;
    bool together;
    uint64_t seed;
    bool faults;
    kernel_operation(const launch_blocks &at, dim3 threads_, size_t shared_bytes_, bool together_,
                     std::unique_ptr<kernel_call> call_)
        : operation("kernel", at.file, at.line), call(std::move(call_)), blocks(at.blocks), threads(threads_),
          shared_bytes(shared_bytes_), together(together_)
    {
        of_kernels = true;
    }
    void run() override;
};

void kernel_operation::run()
{
    if (faults) {
        set_device_fault(now().stream->device, cudaErrorIllegalAddress);
        return;
    }
    const bool seeded = options().seed != 0;
    const unsigned yield = seeded ? options().yield_one_in : 0;
    grid =
        new grid_state{call.get(), now().stream->engine, {seed}, seeded, yield, seed, true, {}, 0, {}, 0, 0};
    shape = {blocks, threads};
    launches++;
    order_release(&grid->start_order);
    run_blocks(shared_bytes, together);
    order_acquire(&grid->end_order);
    delete grid;
    grid = nullptr;
    call = nullptr; /* what the arguments hold is given back now: a stream keeps its last operation */
}

cudaError_t check_launch(const void *kernel, dim3 blocks, dim3 threads, size_t shared_bytes)
{
    const uint64_t block_threads = uint64_t(threads.x) * threads.y * threads.z;
    if (!block_threads || block_threads > MOST_THREADS || threads.z > 64)
        return cudaErrorInvalidConfiguration;
    if (!blocks.x || !blocks.y || !blocks.z || blocks.x > INT32_MAX || blocks.y > MOST_BLOCKS_YZ ||
        blocks.z > MOST_BLOCKS_YZ)
        return cudaErrorInvalidConfiguration;
    const auto limit = shared_limits().find({kernel, current_device()});
    const int most = limit == shared_limits().end() ? static_cast<int>(SHARED_BYTES) : limit->second;
    return shared_bytes > static_cast<size_t>(std::max(most, static_cast<int>(SHARED_BYTES)))
               ? cudaErrorInvalidValue
               : cudaSuccess;
}
} // namespace

void enter_emulator()
{
    quiet_begin();
    grid->in_emulator = true;
}

void leave_emulator()
{
    grid->in_emulator = false;
    quiet_end();
}

void make_runnable(cuda_thread *thread)
{
    thread->state = RUNNABLE;
    grid->runnable.push_back(thread);
}

void run_others()
{
    cuda_thread *const next = next_thread();
    here = next;
    fiber_switch(next ? &next->runner : &grid->home->runner);
}

/* Runs in the kernel's own code, so it may use nothing that ThreadSanitizer looks at, a generator included.
 */
SIMT_RAW void may_yield()
{
    if (!here || !grid->yield_one_in || grid->in_emulator) return;
    grid->yields = grid->yields * 6364136223846793005u + 1442695040888963407u;
    if ((grid->yields >> 33) % grid->yield_one_in) return;
    enter_emulator();
    make_runnable(current_thread());
    run_others();
    leave_emulator();
}

void let_others_run()
{
    enter_emulator();
    make_runnable(current_thread());
    run_others();
    leave_emulator();
}

#if SIMT_TSAN
/* ThreadSanitizer does not know fences. So that data can be handed over by fence and atomic, the first atomic after a
 * fence releases what came before it, and a fence acquires what others released at the word of the last atomic. In the
 * kernel's own code, as may_yield(). */
SIMT_RAW void fence()
{
    if (!here) return;
    cuda_thread *const self = current_thread();
    if (self->atomic) __tsan_acquire(self->atomic);
    self->fenced = true;
}

SIMT_RAW void order_atomic(void *at)
{
    if (!here) return;
    cuda_thread *const self = current_thread();
    if (self->fenced) __tsan_release(at);
    self->fenced = false;
    self->atomic = at;
}
#endif

const std::vector<block_state *> &resident_blocks()
{
    static const std::vector<block_state *> none;
    return grid ? grid->resident : none;
}

void launch_kernel(const void *kernel, const launch_blocks &at, dim3 threads, size_t shared_bytes,
                   cudaStream_t handle, bool together, std::unique_ptr<kernel_call> call)
{
    serve_on(handle, [&](held_lock &held, CUstream_st *stream) {
        if (stream->device != current_device()) return cudaErrorInvalidResourceHandle;
        if (!has_code()) return cudaErrorNoKernelImageForDevice;
        const cudaError_t error = check_launch(kernel, at.blocks, threads, shared_bytes);
        if (error) return error;
        const auto op =
            std::make_shared<kernel_operation>(at, threads, shared_bytes, together, std::move(call));
        op->seed = random_numbers{options().seed + (stream->id << 48) + (++stream->launches << 20)}.next();
        op->faults = launch_faults();
        enqueue_operation(held, stream, op);
        return cudaSuccess;
    });
}
} // namespace simt

using namespace simt;

cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute attribute, int value)
{
    return serve([&](held_lock &) {
        if (!kernel) return cudaErrorInvalidDeviceFunction;
        if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) return cudaSuccess;
        if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
            value > SHARED_BYTES_OPT_IN)
            return cudaErrorInvalidValue;
        shared_limits()[{kernel, current_device()}] = value;
        return cudaSuccess;
    });
}

/* Kernels that are compiled with -fsanitize-coverage=trace-pc can be preempted at each basic block. */
extern "C" SIMT_RAW __attribute__((used, weak)) void __sanitizer_cov_trace_pc()
{
    if (on_device) may_yield();
}
