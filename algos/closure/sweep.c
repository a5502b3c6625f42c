/* sweep.c: what the threads of a sweep work with. */
#include "algos/closure/sweep.h"

static uint64_t bitmap_words(const dcsr_i_condensed *g)
{
    return g->components / 64 + 1;
}

int dcsr_i_sweep_threads(const dcsr_context *context, const dcsr_i_condensed *g, uint64_t columns)
{
    const uint64_t blocks = dcsr_i_sweep_blocks(columns);
    const int threads =
        dcsr_context_threads(context, blocks * (g->components + g->pred_begin[g->components]));
    return (uint64_t)threads <= blocks ? threads : blocks ? (int)blocks : 1;
}

dcsr_status dcsr_i_sweepers_take(dcsr_i_sweeper **sweepers, int *threads, dcsr_i_work *work,
                                 const dcsr_i_condensed *g)
{
    const uint64_t words = bitmap_words(g);
    const uint64_t each = g->components * sizeof(dcsr_i_cell) + words * sizeof(uint64_t);
    dcsr_i_cell *cells;
    uint64_t *bitmaps;
    while (*threads > 1 && !dcsr_i_work_has(work, each * (uint64_t)*threads)) --*threads;
    const uint64_t n = (uint64_t)*threads;
    DCSR_I_WORK_TRY(dcsr_i_work_take(work, sweepers, n, sizeof **sweepers, "threads"));
    DCSR_I_WORK_TRY(dcsr_i_work_take(work, &cells, n * g->components, sizeof *cells,
                                     "what each component reaches of 512 columns"));
    DCSR_I_WORK_TRY(
        dcsr_i_work_take(work, &bitmaps, n * words, sizeof *bitmaps, "which components reach any"));
    for (uint64_t t = 0; t < n; t++)
        (*sweepers)[t] = (dcsr_i_sweeper){cells + t * g->components, bitmaps + t * words};
    return DCSR_OK;
}

void dcsr_i_sweepers_drop(dcsr_i_sweeper *sweepers, dcsr_i_work *work)
{
    dcsr_i_work_drop(work, sweepers[0].cell);
    dcsr_i_work_drop(work, sweepers[0].active);
    dcsr_i_work_drop(work, sweepers);
}
