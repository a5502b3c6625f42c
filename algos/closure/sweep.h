/* sweep.h: which components reach which of 512 columns (internal).
 *
 * A column stands for a component; several may stand for the same. Each component has a cell of 512 bits, a bit
 * for each column that it reaches or is. Going through the components in topological order, each hands its cell
 * to its predecessors. Which components have a cell is in a bitmap: the others are not touched, and their cells
 * need not be cleared.
 *
 *      columns    0 ............ 511      the block
 *      cell[c]    0100000000000..010      by component
 *      active     ..1....1.....1...       one bit a component: reaches any of them; cleared on the way
 */
#ifndef DCSR_CLOSURE_SWEEP_H
#define DCSR_CLOSURE_SWEEP_H

#include "algos/closure/condense.h"
#include <string.h>

enum { DCSR_I_CELL_WORDS = 8, DCSR_I_CELL_BITS = 64 * DCSR_I_CELL_WORDS };

typedef struct dcsr_i_cell {
    uint64_t word[DCSR_I_CELL_WORDS];
} dcsr_i_cell;

/* What one thread works with. */
typedef struct dcsr_i_sweeper {
    dcsr_i_cell *cell; /* components */
    uint64_t *active;  /* a bit a component; all zero between sweeps */
} dcsr_i_sweeper;

/* Room for `threads` sweepers at least 1, or fewer where memory does not suffice: *threads tells. */
dcsr_status dcsr_i_sweepers_take(dcsr_i_sweeper **sweepers, int *threads, dcsr_i_work *work,
                                 const dcsr_i_condensed *g);
void dcsr_i_sweepers_drop(dcsr_i_sweeper *sweepers, dcsr_i_work *work);

/* How many threads there should be for so many columns. */
int dcsr_i_sweep_threads(const dcsr_context *context, const dcsr_i_condensed *g, uint64_t columns);

static inline uint64_t dcsr_i_sweep_blocks(uint64_t columns)
{
    return (columns + DCSR_I_CELL_BITS - 1) / DCSR_I_CELL_BITS;
}

static inline uint64_t dcsr_i_cell_count(const dcsr_i_cell *cell)
{
    uint64_t count = 0;
    for (int w = 0; w < DCSR_I_CELL_WORDS; w++) count += (uint64_t)__builtin_popcountll(cell->word[w]);
    return count;
}

/* Calls visit(user, component, cell) for every component that reaches one of the n columns, or is one, once its
 * cell is complete; visit may change the cell only for itself. `column` has the component of each. */
static inline __attribute__((always_inline)) void
dcsr_i_sweep(const dcsr_i_sweeper *s, const dcsr_i_condensed *g, const uint32_t *column, uint64_t n,
             void (*visit)(void *user, uint32_t component, const dcsr_i_cell *cell), void *user)
{
    uint64_t first = UINT64_MAX, last = 0;
    for (uint64_t j = 0; j < n; j++) {
        const uint32_t c = column[j];
        const uint64_t at = c / 64, bit = (uint64_t)1 << c % 64;
        if (!(s->active[at] & bit)) memset(&s->cell[c], 0, sizeof *s->cell);
        s->active[at] |= bit;
        s->cell[c].word[j / 64] |= (uint64_t)1 << j % 64;
        if (at < first) first = at;
        if (at > last) last = at;
    }
    for (uint64_t at = first; n && at <= last; at++) {
        while (s->active[at]) {
            const uint32_t c = (uint32_t)(at * 64 + (uint64_t)__builtin_ctzll(s->active[at]));
            const dcsr_i_cell cell = s->cell[c];
            s->active[at] &= s->active[at] - 1;
            for (uint64_t e = g->pred_begin[c]; e < g->pred_begin[c + 1]; e++) {
                const uint32_t p = g->pred[e];
                const uint64_t word = p / 64, bit = (uint64_t)1 << p % 64;
                if (s->active[word] & bit) {
                    for (int w = 0; w < DCSR_I_CELL_WORDS; w++) s->cell[p].word[w] |= cell.word[w];
                } else {
                    s->cell[p] = cell;
                    s->active[word] |= bit;
                    if (word > last) last = word;
                }
            }
            visit(user, c, &cell);
        }
    }
}

#endif
