/* simt_grid.h: the launch that runs: its blocks, its threads, and which thread goes on next (internal). */
#ifndef DCSR_TESTS_SIMT_GRID_H
#define DCSR_TESTS_SIMT_GRID_H

#include <vector>
#include "tests/simt/simt_fiber.h"
#include "tests/simt/simt_internal.h"
#include "tests/simt/simt_warp.h"

namespace simt
{
enum thread_state { RUNNABLE, AT_BARRIER, AT_COLLECTIVE, EXITED };

struct shared_block {
    const void *key;
    char *memory;
    size_t bytes;
};

struct cuda_thread;

struct warp_state {
    unsigned live = 0, here = 0; /* lanes that have not exited; of them, those at a collective */
    unsigned masks[32];          /* with which these have come */
    unsigned alike = 0;          /* the one with which all of these have come, as they mostly do; or 0 */
    unsigned passed = 0;         /* lanes that others waited for when they had a collective without them */
    char order = 0;              /* its address stands for the order that __syncwarp makes */
};

/* One thread block. */
struct block_state {
    uint3 index;
    std::vector<cuda_thread *> threads;
    /* One piece of heap for each shared array, so that red zones lie between them. */
    std::vector<shared_block> arrays;
    unsigned live = 0, waiting = 0; /* threads that have not exited; of them, those at the barrier */
    int votes[3] = {0, 1, 0};       /* of the barrier that fills: count, and, or */
    int results[3] = {0, 1, 0};     /* of the last one */
    char barrier_order = 0;         /* its address stands for the order that barriers make */
    warp_state warps[32];
};

struct cuda_thread : coordinates {
    fiber runner;
    block_state *home = nullptr;
    thread_state state = EXITED;
    uint64_t launch = 0;        /* the last one that it was used in */
    const char *file = nullptr; /* where it waits, or waited last */
    int line = 0;
    warp_operation collective = SYNC; /* what it waits for, with its arguments and result */
    int source = 0;
    uint64_t value = 0, result = 0;
    void *atomic = nullptr; /* what its last atomic changed */
    bool fenced = false;    /* it has passed a fence since */
};

inline cuda_thread *current_thread()
{
    return static_cast<cuda_thread *>(const_cast<coordinates *>(here));
}

/* Code of a kernel calls the emulator, and gets back to its own. */
void enter_emulator();
void leave_emulator();
/* The thread may go on, in its turn. */
void make_runnable(cuda_thread *thread);
/* Lets other threads run; returns when somebody made this one runnable and it is its turn. */
void run_others();
/* Completes what the block's threads wait for, if all are there; called when one arrives or exits. */
void complete_barrier(block_state *block);
void complete_collectives(block_state *block, unsigned warp_number);
void allocate_dynamic(block_state *block, size_t bytes);
void free_shared(block_state *block);

/* The blocks in flight. */
const std::vector<block_state *> &resident_blocks();
} // namespace simt

#endif
