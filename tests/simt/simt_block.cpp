/* simt_block.cpp: what the threads of a block do together: barriers, collectives of a warp, shared memory.
 *
 * A thread that comes to one of them waits. The last to come completes it for all: checks that all came to
 * the same one, computes the results, tells ThreadSanitizer about the order that it makes, and lets all go
 * on. A thread that exits completes what now waits for nobody else. */
#include "tests/simt/simt_grid.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace simt
{
namespace
{
/* The red zone behind an array is AddressSanitizer's, or our own, which is looked at when the block has
 * finished. */
enum { WARP = 32, SHARED_PATTERN = 0xA5, RED_ZONE_PATTERN = 0xFB, RED_ZONE = SIMT_ASAN ? 0 : 256 };
const uint64_t UNDEFINED = 0xDEADDEADDEADDEADu; /* what a lane gets from one that takes no part */

shared_block allocate_shared(const void *key, size_t bytes)
{
    char *const memory = static_cast<char *>(malloc(bytes + std::max<size_t>(RED_ZONE, 1)));
    if (!memory) die("no memory for a shared array of %zu bytes", bytes);
    memset(memory, SHARED_PATTERN, bytes);
    memset(memory + bytes, RED_ZONE_PATTERN, RED_ZONE);
    return {key, memory, bytes};
}

unsigned bit(unsigned lane)
{
    return 1u << lane;
}

/* The lanes of a warp in some state. */
struct warp_view {
    cuda_thread *const *lanes;
    unsigned count, live, here;
    warp_view(const block_state *block, unsigned warp)
        : lanes(block->threads.data() + warp * WARP), live(0), here(0)
    {
        const size_t rest = block->threads.size() - warp * WARP;
        count = rest < WARP ? static_cast<unsigned>(rest) : static_cast<unsigned>(WARP);
        for (unsigned lane = 0; lane < count; lane++) {
            if (lanes[lane]->state != EXITED) live |= bit(lane);
            if (lanes[lane]->state == AT_COLLECTIVE) here |= bit(lane);
        }
    }
};

/* Gives the lanes of a group, all of which have come, their results. */
void compute_results(const warp_view &warp, unsigned group)
{
    unsigned ballot = 0, first = UINT32_MAX;
    bool equal = true;
    for (unsigned lane = 0; lane < warp.count; lane++) {
        if (!(group & bit(lane))) continue;
        if (first == UINT32_MAX) first = lane;
        if (warp.lanes[lane]->value) ballot |= bit(lane);
        equal = equal && warp.lanes[lane]->value == warp.lanes[first]->value;
    }
    for (unsigned lane = 0; lane < warp.count; lane++) {
        if (!(group & bit(lane))) continue;
        cuda_thread *const thread = warp.lanes[lane];
        switch (thread->collective) {
        case SYNC:
            break;
        case SHUFFLE:
            if (thread->source < 0)
                thread->result = thread->value;
            else
                thread->result = group & bit(static_cast<unsigned>(thread->source))
                                     ? warp.lanes[thread->source]->value
                                     : UNDEFINED;
            break;
        case BALLOT:
            thread->result = ballot;
            break;
        case MATCH_ALL:
            thread->result = equal ? group : 0;
            break;
        case MATCH_ANY:
            thread->result = 0;
            for (unsigned other = 0; other < warp.count; other++) {
                if (group & bit(other) && warp.lanes[other]->value == thread->value)
                    thread->result |= bit(other);
            }
            break;
        }
    }
}
} // namespace

void complete_barrier(block_state *block)
{
    if (!block->live || block->waiting != block->live) return;
    std::vector<cuda_thread *> arrived;
    std::vector<fiber *> fibers;
    for (cuda_thread *thread : block->threads) {
        if (thread->state != AT_BARRIER) continue;
        arrived.push_back(thread);
        fibers.push_back(&thread->runner);
        if (thread->line != arrived[0]->line || strcmp(thread->file, arrived[0]->file) != 0)
            die("threads of one block wait at different __syncthreads()");
    }
    fibers_join(fibers.data(), fibers.size(), &block->barrier_order);
    memcpy(block->results, block->votes, sizeof block->results);
    block->waiting = 0;
    block->votes[COUNT] = 0;
    block->votes[AND] = 1;
    block->votes[OR] = 0;
    for (cuda_thread *thread : arrived) make_runnable(thread);
}

int block_barrier(block_vote vote, bool predicate, const char *file, int line)
{
    cuda_thread *const self = current_thread();
    if (!self) die("__syncthreads() outside of a kernel, at %s:%d", file, line);
    enter_emulator();
    block_state *const block = self->home;
    self->file = file;
    self->line = line;
    block->votes[COUNT] += predicate;
    block->votes[AND] &= predicate;
    block->votes[OR] |= predicate;
    self->state = AT_BARRIER;
    block->waiting++;
    complete_barrier(block);
    run_others();
    const int result =
        block->results[vote]; /* before this thread can be preempted, and the next barrier be completed */
    leave_emulator();
    return result;
}

/* A group is the live lanes of a mask; it is complete when all of them have come. */
void complete_collectives(block_state *block, unsigned warp_number)
{
    warp_view warp(block, warp_number);
    for (unsigned lane = 0; lane < warp.count; lane++) {
        if (!(warp.here & bit(lane))) continue;
        const cuda_thread *const first = warp.lanes[lane];
        const unsigned group = first->mask & warp.live;
        if ((group & warp.here) != group) continue;
        fiber *fibers[WARP];
        size_t members = 0;
        for (unsigned other = 0; other < warp.count; other++) {
            if (!(group & bit(other))) continue;
            const cuda_thread *const thread = warp.lanes[other];
            if (thread->mask != first->mask || thread->collective != first->collective)
                die("lanes that name each other in their masks are at different collectives, or name "
                    "different masks");
            fibers[members++] = &warp.lanes[other]->runner;
        }
        compute_results(warp, group);
        if (first->collective == SYNC) fibers_join(fibers, members, &block->warp_order[warp_number]);
        for (unsigned other = 0; other < warp.count; other++) {
            if (group & bit(other)) make_runnable(warp.lanes[other]);
        }
        warp.here &= ~group;
    }
}

uint64_t warp_collective(warp_operation operation, unsigned mask, uint64_t value, int source,
                         const char *file, int line)
{
    cuda_thread *const self = current_thread();
    if (!self) die("a warp's collective outside of a kernel, at %s:%d", file, line);
    enter_emulator();
    self->collective = operation;
    self->mask = mask;
    self->value = value;
    self->source = source;
    self->file = file;
    self->line = line;
    if (!(mask & bit(self->linear % WARP))) die("a lane calls a collective with a mask that it is not in");
    self->state = AT_COLLECTIVE;
    complete_collectives(self->home, self->linear / WARP);
    run_others();
    const uint64_t result = self->result;
    leave_emulator();
    return result;
}

void *shared_array(const void *key, size_t bytes)
{
    if (!here) die("a shared array outside of a kernel");
    enter_emulator();
    block_state *const block = current_thread()->home;
    char *memory = nullptr;
    for (const shared_block &array : block->arrays) {
        if (array.key == key) memory = array.memory;
    }
    if (!memory) {
        block->arrays.push_back(allocate_shared(key, bytes));
        memory = block->arrays.back().memory;
    }
    leave_emulator();
    return memory;
}

/* The launch's own array is always there, and the first. */
void *shared_dynamic()
{
    if (!here) die("a shared array outside of a kernel");
    return current_thread()->home->arrays[0].memory;
}

void allocate_dynamic(block_state *block, size_t bytes)
{
    block->arrays.push_back(allocate_shared(nullptr, bytes));
}

void free_shared(block_state *block)
{
    for (const shared_block &array : block->arrays) {
        for (size_t i = 0; i < RED_ZONE; i++) {
            if (static_cast<unsigned char>(array.memory[array.bytes + i]) == RED_ZONE_PATTERN) continue;
            die("a shared array of %zu bytes was written to beyond its end, at byte %zu", array.bytes,
                array.bytes + i);
        }
        free(array.memory);
    }
}
} // namespace simt
