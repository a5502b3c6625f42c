/* colour.cu: colours of the rows of a level, for Gauss-Seidel: what colour.c does for blocks of rows, with single rows,
 * by the same keys. There are no lists of the rows without a colour: a round reads the colour of every row, 4 bytes,
 * and more only of those that have none. */
#include "amg/cuda/stages_cuda.h"
#include "amg/amg_random.h"
#include "dcsr/device/reduce.cuh"

#define NO_COLOUR UINT32_MAX
#define LATER     (UINT32_MAX - 1) /* not in this window, which is full for the row */

typedef dcsr_i_amg_cuda_colouring colouring;
typedef unsigned long long word;

static __global__ void begin_colouring(colouring c)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < c.A.rows; i += dcsr_i_cuda_step()) {
        c.colour[i] = NO_COLOUR;
        c.number[i] = (uint32_t)i;
        c.waited[i] = 0;
    }
}

void dcsr_i_amg_cuda_begin_colouring(dcsr_i_cuda_stream *stream, const colouring *c)
{
    dcsr_i_cuda_launch(stream, begin_colouring, c->A.rows, *c);
}

static __global__ void begin_window(colouring c)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < c.A.rows; i += dcsr_i_cuda_step()) {
        c.taken[i] = 0;
        if (c.colour[i] == LATER) c.colour[i] = NO_COLOUR;
    }
}

void dcsr_i_amg_cuda_begin_window(dcsr_i_cuda_stream *stream, const colouring *c)
{
    dcsr_i_cuda_fill(stream, c->left, 0, sizeof *c->left);
    dcsr_i_cuda_launch(stream, begin_window, c->A.rows, *c);
}

DCSR_CUDA_INLINE uint32_t key_of(const colouring &c, uint64_t i)
{
    return (uint32_t)(dcsr_i_amg_random(c.seed, i) >> 32);
}

/* Of each pair of neighbours one has to wait. */
static __global__ void compare(colouring c, uint32_t round)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < c.A.rows; i += dcsr_i_cuda_step()) {
        if (c.colour[i] != NO_COLOUR) continue;
        const uint32_t key = key_of(c, i);
        bool waits = false;
        for (uint64_t e = c.A.begin[i]; e < c.A.end[i]; e++) {
            const uint32_t other = c.A.columns[e] - c.A.first;
            if (other == i || other >= c.A.rows || c.colour[other] != NO_COLOUR) continue;
            const uint32_t theirs = key_of(c, other);
            if (key != theirs ? key < theirs : i < other)
                waits = true;
            else
                atomicMax(&c.waited[other], round);
        }
        if (waits) atomicMax(&c.waited[i], round);
    }
}

/* A row that does not wait has no neighbour that gets a colour in the same round: so what it reads of them stays. */
static __global__ void choose(colouring c, uint32_t base, uint32_t round)
{
    uint64_t waiting = 0, later = 0;
    for (uint64_t i = dcsr_i_cuda_first(); i < c.A.rows; i += dcsr_i_cuda_step()) {
        if (c.colour[i] != NO_COLOUR) continue;
        if (c.waited[i] == round) {
            waiting++;
            continue;
        }
        uint64_t taken = c.taken[i];
        for (uint64_t e = c.A.begin[i]; e < c.A.end[i]; e++) {
            const uint32_t other = c.A.columns[e] - c.A.first,
                           colour = other < c.A.rows ? c.colour[other] : LATER;
            if (colour < LATER && colour >= base) taken |= UINT64_C(1) << (colour - base);
        }
        uint32_t free = 0;
        while (free < 64 && taken >> free & 1) free++;
        c.colour[i] = free < 64 ? base + free : LATER;
        later += free == 64;
        for (uint64_t e = c.A.begin[i]; e < c.A.end[i] && free < 64; e++) {
            const uint32_t other = c.A.columns[e] - c.A.first;
            if (other < c.A.rows) atomicOr((word *)&c.taken[other], (word)1 << free);
        }
    }
    waiting = dcsr_i_cuda_block_sum(waiting);
    later = dcsr_i_cuda_block_sum(later);
    if (threadIdx.x) return;
    if (waiting) atomicAdd((word *)&c.left->waiting, (word)waiting);
    if (later) atomicAdd((word *)&c.left->later, (word)later);
}

void dcsr_i_amg_cuda_colour_round(dcsr_i_cuda_stream *stream, const colouring *c, uint32_t base,
                                  uint32_t round)
{
    dcsr_i_cuda_fill(stream, &c->left->waiting, 0, sizeof c->left->waiting);
    dcsr_i_cuda_launch(stream, compare, c->A.rows, *c, round);
    dcsr_i_cuda_launch(stream, choose, c->A.rows, *c, base, round);
}
