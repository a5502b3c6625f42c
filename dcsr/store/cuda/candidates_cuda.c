/* candidates_cuda.c: rows that may differ between two versions, brought to the host.
 *
 * What is left of the rows that are elsewhere (changed_cuda.c), once their entries have been compared as they stand,
 * are those that a change has touched or that were resolved. They are gathered and copied: in which entries they differ
 * is found as on the cpu. */
#include "dcsr/store/cuda/store_cuda.h"

static dcsr_status bring_numbers(dcsr_i_candidates *candidates, const dcsr_i_changed_there *found)
{
    candidates->numbers =
        dcsr_i_alloc(found->of->context, DCSR_I_SCRATCH, found->count, sizeof *candidates->numbers);
    if (!candidates->numbers) return DCSR_ERROR_OUT_OF_MEMORY;
    candidates->count = found->count;
    dcsr_i_cuda_copy(found->stream, candidates->numbers, found->list,
                     found->count * sizeof *candidates->numbers);
    return dcsr_i_cuda_wait(found->stream, "comparing two versions");
}

static dcsr_status bring_rows(dcsr_i_csr **csr, const dcsr_i_candidates *candidates,
                              const dcsr_i_changed_there *found, const dcsr_i_rows *rows)
{
    uint64_t count = candidates->count;
    while (count && candidates->numbers[count - 1] >= rows->rows) count--;
    return dcsr_i_cuda_download_rows(csr, found->of->context, found->stream, rows, found->list, count);
}

static dcsr_status bring(dcsr_i_candidates *candidates, dcsr_i_changed_there *found)
{
    candidates->compared = found->count;
    DCSR_TRY(dcsr_i_cuda_finds_changed.drop_moved(found));
    DCSR_TRY(bring_numbers(candidates, found));
    DCSR_TRY(bring_rows(&candidates->from, candidates, found, &found->of->from.rows));
    return bring_rows(&candidates->to, candidates, found, &found->of->to.rows);
}

static void free_all(dcsr_i_candidates *candidates, dcsr_context *context)
{
    dcsr_i_csr_release(candidates->from);
    dcsr_i_csr_release(candidates->to);
    dcsr_i_free(context, DCSR_I_SCRATCH, candidates->numbers, candidates->count, sizeof *candidates->numbers);
    *candidates = (dcsr_i_candidates){0};
}

dcsr_status dcsr_i_cuda_find_candidates(dcsr_i_candidates *candidates, dcsr_context *context,
                                        const dcsr_i_rows *from, const dcsr_i_rows *to)
{
    const dcsr_i_comparison of = {.context = context, .from = {*from, *from}, .to = {*to, *to}};
    dcsr_i_changed_there found;
    *candidates = (dcsr_i_candidates){0};
    DCSR_TRY(dcsr_i_cuda_finds_changed.open(&found, &of));
    const dcsr_status status = bring(candidates, &found);
    dcsr_i_cuda_finds_changed.close(&found);
    if (status != DCSR_OK) free_all(candidates, context);
    return status;
}
