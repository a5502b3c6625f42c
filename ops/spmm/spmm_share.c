/* spmm_share.c: sharing out the rows of a sparse matrix times dense matrix.
 *
 * One pass over the lengths of all rows, 64 at a time, gives the work before each block of rows and the
 * longest row; a share's place is then found by bisection over the blocks and by counting within one. */
#include "ops/spmm/spmm_share.h"

/* Shares for each thread: so many that one which is held up by something else leaves little to wait for. */
enum { SHARES_PER_THREAD = 16, LEAST_SHARE = 256 };

/* Merge is chosen when the longest row is more than this part of what each thread has to do. */
enum { LONG_PART = 8 };

static uint64_t blocks_of(const dcsr_i_rows *rows)
{
    return (rows->rows + DCSR_I_PAGE_ROWS - 1) >> DCSR_I_PAGE_SHIFT;
}

/* Work of a row: its entries, where the mask lets it through, and 1 for the row. */
static uint64_t work_of(const dcsr_i_spmm *p, uint64_t row)
{
    return 1 + (dcsr_i_mask_has(p->mask, row) ? dcsr_i_rows_length(p->rows, row) : 0);
}

/* before[b] becomes the work of the rows before block b; returns the longest row. */
static uint64_t measure(const dcsr_i_spmm *p, uint64_t *before)
{
    const dcsr_i_rows *rows = p->rows;
    uint64_t blocks = blocks_of(rows), longest = 0;
#pragma omp parallel for num_threads(p->threads) reduction(max : longest) if (p->threads > 1)
    for (uint64_t b = 0; b < blocks; b++) {
        uint64_t first = b << DCSR_I_PAGE_SHIFT, sum = 0;
        uint64_t n = rows->rows - first < DCSR_I_PAGE_ROWS ? rows->rows - first : DCSR_I_PAGE_ROWS;
        for (uint64_t row = first; row < first + n; row++) {
            uint64_t work = work_of(p, row);
            sum += work;
            if (work > longest) longest = work;
        }
        before[b + 1] = sum;
    }
    before[0] = 0;
    for (uint64_t b = 0; b < blocks; b++) before[b + 1] += before[b];
    return longest;
}

/* The place before which there is `work`, or, with whole rows, the beginning of the row in which it is. */
static dcsr_i_spmm_place place_at(const dcsr_i_spmm *p, const uint64_t *before, uint64_t work,
                                  bool whole_rows)
{
    uint64_t low = 0, high = blocks_of(p->rows);
    if (work >= before[high]) return (dcsr_i_spmm_place){p->rows->rows, 0};
    while (high - low > 1) {
        uint64_t middle = (low + high) / 2;
        *(before[middle] <= work ? &low : &high) = middle;
    }
    uint64_t row = low << DCSR_I_PAGE_SHIFT, left = work - before[low], here;
    for (; (here = work_of(p, row)) <= left; row++) left -= here;
    if (whole_rows || !left) return (dcsr_i_spmm_place){row, 0};
    return left < here - 1 ? (dcsr_i_spmm_place){row, left} : (dcsr_i_spmm_place){row + 1, 0};
}

/* For so many threads as the work deserves. */
static dcsr_status share_out(dcsr_i_spmm *p, dcsr_context *context, uint64_t threads,
                             dcsr_spmm_mapping *mapping)
{
    uint64_t blocks = blocks_of(p->rows),
             *before = dcsr_i_alloc(context, DCSR_I_SCRATCH, blocks + 1, sizeof *before);
    if (!before) return DCSR_ERROR_OUT_OF_MEMORY;
    uint64_t longest = measure(p, before), work = before[blocks];
    if (*mapping == DCSR_SPMM_AUTO)
        *mapping = longest > work / threads / LONG_PART ? DCSR_SPMM_MERGE : DCSR_SPMM_ROW_SPLIT;
    uint64_t shares = threads * SHARES_PER_THREAD;
    if (shares > work / LEAST_SHARE) shares = work / LEAST_SHARE + 1;
    p->place = dcsr_i_alloc(context, DCSR_I_SCRATCH, shares + 1, sizeof *p->place);
    if (p->place) {
        p->shares = shares;
        for (uint64_t s = 0; s <= shares; s++)
            p->place[s] = place_at(p, before, work / shares * s + work % shares * s / shares,
                                   *mapping == DCSR_SPMM_ROW_SPLIT);
        if (*mapping == DCSR_SPMM_MERGE)
            p->parts = dcsr_i_alloc(context, DCSR_I_SCRATCH, 2 * shares, p->row_bytes);
    }
    dcsr_i_free(context, DCSR_I_SCRATCH, before, blocks + 1, sizeof *before);
    return p->place && (p->parts || *mapping == DCSR_SPMM_ROW_SPLIT) ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}

dcsr_status dcsr_i_spmm_share(dcsr_i_spmm *p, dcsr_context *context, dcsr_spmm_mapping *mapping)
{
    uint64_t work = (dcsr_i_spmm_stored(p->rows) + p->rows->rows) * (p->width / 8 + 1);
    int deserved = dcsr_i_shares(context, work);
    p->threads = dcsr_i_threads(context, work);
    if (p->accum && !p->accum_adds) {
        p->scratch_bytes = (p->row_bytes + 63) / 64 * 64;
        p->scratch = dcsr_i_alloc(context, DCSR_I_SCRATCH, (size_t)p->threads, p->scratch_bytes);
        if (!p->scratch) return DCSR_ERROR_OUT_OF_MEMORY;
    }
    if (deserved > 1) return share_out(p, context, (uint64_t)deserved, mapping);
    p->shares = 1;
    p->ends[1].row = p->rows->rows;
    p->place = p->ends;
    *mapping = DCSR_SPMM_ROW_SPLIT;
    return DCSR_OK;
}

void dcsr_i_spmm_end(dcsr_i_spmm *p, dcsr_context *context)
{
    if (p->scratch) dcsr_i_free(context, DCSR_I_SCRATCH, p->scratch, (size_t)p->threads, p->scratch_bytes);
    if (p->parts) dcsr_i_free(context, DCSR_I_SCRATCH, p->parts, 2 * p->shares, p->row_bytes);
    if (p->place != p->ends && p->place)
        dcsr_i_free(context, DCSR_I_SCRATCH, p->place, p->shares + 1, sizeof *p->place);
}
