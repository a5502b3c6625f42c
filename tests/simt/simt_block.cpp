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

/* Some lanes of a warp. */
struct lane_list {
    unsigned lanes[WARP];
    unsigned n = 0;
    void add(unsigned lane) { lanes[n++] = lane; }
    const unsigned *begin() const { return lanes; }
    const unsigned *end() const { return lanes + n; }
};

/* Gives the members of a group, all of which have come, their results. */
void compute_results(cuda_thread *const *lanes, const lane_list &members, unsigned group)
{
    const uint64_t first = lanes[members.lanes[0]]->value;
    unsigned ballot = 0;
    bool equal = true;
    for (unsigned lane : members) {
        if (lanes[lane]->value) ballot |= bit(lane);
        equal = equal && lanes[lane]->value == first;
    }
    for (unsigned lane : members) {
        cuda_thread *const self = lanes[lane];
        switch (self->collective) {
        case SYNC:
            break;
        case SHUFFLE:
            self->result = self->source < 0            ? self->value
                           : group >> self->source & 1 ? lanes[self->source]->value
                                                       : UNDEFINED;
            break;
        case BALLOT:
            self->result = ballot;
            break;
        case MATCH_ALL:
            self->result = equal ? group : 0;
            break;
        case MATCH_ANY:
            self->result = 0;
            for (unsigned other : members) {
                if (lanes[other]->value == self->value) self->result |= bit(other);
            }
            break;
        }
    }
}

/* All live lanes that a mask names have come. Those of them that name none of the lanes with this mask are at
 * a collective of their own, and come to this one later. */
void complete_group(block_state *block, unsigned warp_number, unsigned mask)
{
    warp_state *const warp = &block->warps[warp_number];
    cuda_thread *const *const lanes = block->threads.data() + warp_number * WARP;
    const unsigned group = mask & warp->live;
    unsigned same = 0;
    for (unsigned lane = 0; lane < WARP; lane++)
        if ((group & bit(lane)) && warp->masks[lane] == mask) same |= bit(lane);
    lane_list members;
    fiber *fibers[WARP];
    for (unsigned lane = 0; lane < WARP; lane++) {
        if (!(same & bit(lane))) continue;
        fibers[members.n] = &lanes[lane]->runner;
        members.add(lane);
    }
    const warp_operation operation = lanes[members.lanes[0]]->collective;
    for (unsigned lane = 0; lane < WARP; lane++) {
        if (!(group & bit(lane))) continue;
        if ((warp->masks[lane] != mask || lanes[lane]->collective != operation) &&
            warp->masks[lane] & same & ~bit(lane))
            die("lanes that name each other in their masks are at different collectives, or name different "
                "masks");
    }
    if (same != group) return;
    compute_results(lanes, members, group);
    if (operation == SYNC) fibers_join(fibers, members.n, &warp->order);
    for (unsigned lane : members) make_runnable(lanes[lane]);
    warp->here &= ~group;
    warp->passed &= ~group;
    for (unsigned lane = 0; lane < WARP; lane++)
        if (warp->here & bit(lane)) warp->passed |= warp->masks[lane] & group;
}
} // namespace

void complete_barrier(block_state *block)
{
    if (!block->live || block->waiting != block->live) return;
    std::vector<cuda_thread *> arrived;
    std::vector<fiber *> fibers;
    arrived.reserve(block->live);
    fibers.reserve(block->live);
    for (cuda_thread *thread : block->threads) {
        if (thread->state != AT_BARRIER) continue;
        arrived.push_back(thread);
        fibers.push_back(&thread->runner);
        if (thread->line != arrived[0]->line ||
            (thread->file != arrived[0]->file && strcmp(thread->file, arrived[0]->file) != 0))
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

void complete_collectives(block_state *block, unsigned warp_number)
{
    const warp_state &warp = block->warps[warp_number];
    if (!warp.here) return;
    if (warp.alike) {
        if (!(warp.alike & warp.live & ~warp.here)) complete_group(block, warp_number, warp.alike);
        return;
    }
    unsigned done = 0; /* the mask that was looked at last */
    for (unsigned lane = 0; lane < WARP; lane++) {
        if (!(warp.here & bit(lane)) || warp.masks[lane] == done) continue;
        done = warp.masks[lane];
        if (!(done & warp.live & ~warp.here)) complete_group(block, warp_number, done);
    }
}

uint64_t warp_collective(warp_operation operation, unsigned mask, uint64_t value, int source,
                         const char *file, int line)
{
    cuda_thread *const self = current_thread();
    if (!self) die("a warp's collective outside of a kernel, at %s:%d", file, line);
    enter_emulator();
    const unsigned lane = self->linear % WARP;
    warp_state *const warp = &self->home->warps[self->linear / WARP];
    self->collective = operation;
    self->value = value;
    self->source = source;
    self->file = file;
    self->line = line;
    if (!(mask & bit(lane))) die("a lane calls a collective with a mask that it is not in");
    self->state = AT_COLLECTIVE;
    warp->alike = !warp->here || warp->alike == mask ? mask : 0;
    warp->here |= bit(lane);
    warp->masks[lane] = mask;
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
