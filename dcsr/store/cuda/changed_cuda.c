/* changed_cuda.c: rows that may differ between two versions, found on a device, and brought to the host.
 *
 * A version is a list of pages' slots, so one kernel sees which pages two versions share, and compares the pieces of
 * all rows of the others; the host waits once, and learns how many rows are elsewhere. Only if it wants them listed a
 * second kernel does so, on the same stream, where those who read the list put their work behind it. */
#include "dcsr/store/cuda/changed_cuda.h"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/store/cuda/rewrite_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"

static const char what[] = "comparing two versions";

static dcsr_i_cuda_versions versions_of(const dcsr_i_comparison *of)
{
    return (dcsr_i_cuda_versions){of->from.rows.device, of->to.rows.device, of->apart};
}

/* ---- Finding ---- */

static dcsr_status count_rows(dcsr_i_changed_there *c)
{
    const dcsr_i_cuda_versions versions = versions_of(c->of);
    dcsr_i_cuda_change_count all = {0, 0};
    c->shares = dcsr_i_cuda_change_shares(&versions);
    c->counts = dcsr_i_cuda_alloc(c->stream, DCSR_I_SCRATCH, c->shares + 1, sizeof *c->counts);
    if (!c->counts) return dcsr_i_no_memory();
    dcsr_i_cuda_count_changed(c->stream, &versions, &c->of->to.shown.device, c->counts, c->shares);
    DCSR_TRY(dcsr_i_cuda_read_back(c->stream, &all, c->counts, sizeof all, what));
    c->count = all.rows;
    c->entries = all.entries;
    return DCSR_OK;
}

static void drop_list(dcsr_i_changed_there *c)
{
    dcsr_i_cuda_free(c->stream, DCSR_I_SCRATCH, c->list, c->count, sizeof *c->list);
    dcsr_i_cuda_free(c->stream, DCSR_I_SCRATCH, c->offsets, c->count + 1, sizeof *c->offsets);
    c->list = NULL;
    c->offsets = NULL;
}

static void close_changed(dcsr_i_changed_there *c)
{
    if (!c->stream) return;
    dcsr_i_cuda_settle(c->stream, what);
    drop_list(c);
    dcsr_i_cuda_free(c->stream, DCSR_I_SCRATCH, c->counts, c->shares + 1, sizeof *c->counts);
    dcsr_i_stream_return(c->of->context, c->stream);
    c->stream = NULL;
}

static dcsr_status open_changed(dcsr_i_changed_there *c, const dcsr_i_comparison *of)
{
    *c = (dcsr_i_changed_there){.of = of, .stream = dcsr_i_stream_borrow(of->context)};
    if (!c->stream) return dcsr_i_no_memory();
    const dcsr_status status = count_rows(c);
    if (status) close_changed(c);
    return status;
}

static dcsr_status list_changed(dcsr_i_changed_there *c)
{
    const dcsr_i_cuda_versions versions = versions_of(c->of);
    if (c->offsets) return DCSR_OK;
    c->list = dcsr_i_cuda_alloc(c->stream, DCSR_I_SCRATCH, c->count, sizeof *c->list);
    if (c->list) c->offsets = dcsr_i_cuda_alloc(c->stream, DCSR_I_SCRATCH, c->count + 1, sizeof *c->offsets);
    if (!c->offsets) {
        drop_list(c);
        return dcsr_i_no_memory();
    }
    dcsr_i_cuda_list_changed(c->stream, &versions, &c->of->to.shown.device, c->counts, c->shares,
                             (dcsr_i_cuda_change_count){c->count, c->entries}, c->list, c->offsets);
    return DCSR_OK;
}

static dcsr_status bring_changed(uint64_t *rows, const dcsr_i_changed_there *c)
{
    uint32_t *landing = dcsr_i_cuda_landing(c->stream, c->count * sizeof *landing);
    if (landing) dcsr_i_cuda_copy(c->stream, landing, c->list, c->count * sizeof *landing);
    DCSR_TRY(dcsr_i_cuda_wait(c->stream, what));
    for (uint64_t i = 0; i < c->count; i++) rows[i] = landing[i];
    return DCSR_OK;
}

/* ---- Rows that have only moved ---- */

/* How many rows of the list both versions have. */
static dcsr_status count_in_both(uint64_t *count, const dcsr_i_changed_there *c)
{
    const uint64_t in_from = c->of->from.rows.rows, in_to = c->of->to.rows.rows,
                   in_both = in_from < in_to ? in_from : in_to;
    *count = c->count;
    if (in_from == in_to) return DCSR_OK;
    uint64_t *below = dcsr_i_cuda_alloc(c->stream, DCSR_I_SCRATCH, 1, sizeof *below);
    if (!below) return dcsr_i_no_memory();
    dcsr_i_cuda_count_below(c->stream, c->list, c->count, in_both, below);
    const dcsr_status status = dcsr_i_cuda_read_back(c->stream, count, below, sizeof *below, what);
    dcsr_i_cuda_free(c->stream, DCSR_I_SCRATCH, below, 1, sizeof *below);
    return status;
}

/* Those of the list with other entries, or in another order. */
static dcsr_status mark_differing(const dcsr_i_changed_there *c, uint32_t *bitmap)
{
    const dcsr_i_cuda_versions shown = {c->of->from.shown.device, c->of->to.shown.device, false};
    uint64_t count;
    dcsr_i_cuda_mark_lengths(c->stream, &shown, c->list, c->count, bitmap);
    DCSR_TRY(count_in_both(&count, c));
    uint64_t *offsets = dcsr_i_cuda_alloc(c->stream, DCSR_I_SCRATCH, count + 1, sizeof *offsets);
    if (!offsets) return dcsr_i_no_memory();
    dcsr_status status = dcsr_i_cuda_sum_lengths(c->stream, &shown.from, c->list, count, offsets);
    if (status == DCSR_OK) {
        const dcsr_i_cuda_walk walk = {shown.from, c->list, count, offsets};
        dcsr_i_cuda_mark_entries(c->stream, &walk, shown.from.stored, &shown.to, bitmap);
    }
    dcsr_i_cuda_free(c->stream, DCSR_I_SCRATCH, offsets, count + 1, sizeof *offsets);
    return status;
}

/* The rows of `c` whose bits are set, of which `left` knows the number. */
static dcsr_status list_differing(dcsr_i_changed_there *left, const dcsr_i_changed_there *c,
                                  const uint32_t *bitmap, uint64_t words, const uint64_t *before)
{
    left->list = dcsr_i_cuda_alloc(c->stream, DCSR_I_SCRATCH, left->count, sizeof *left->list);
    left->offsets = dcsr_i_cuda_alloc(c->stream, DCSR_I_SCRATCH, left->count + 1, sizeof *left->offsets);
    if (!left->list || !left->offsets) return dcsr_i_no_memory();
    dcsr_i_cuda_coo_rows(c->stream, bitmap, words, before, left->list);
    dcsr_i_cuda_number_listed(c->stream, c->list, left->list, left->count);
    dcsr_i_cuda_changed_lengths(c->stream, &c->of->to.shown.device, left->list, left->count, left->offsets);
    return dcsr_i_cuda_scan_u64(c->stream, left->offsets, left->offsets, left->count);
}

/* The list becomes what the bits leave of it. */
static dcsr_status keep_marked(dcsr_i_changed_there *c, const uint32_t *bitmap, uint64_t words)
{
    dcsr_i_changed_there left = *c;
    left.list = NULL;
    left.offsets = NULL;
    uint64_t *before = dcsr_i_cuda_alloc(c->stream, DCSR_I_SCRATCH, words + 1, sizeof *before);
    if (!before) return dcsr_i_no_memory();
    dcsr_status status = dcsr_i_cuda_count_bits(c->stream, bitmap, words, before);
    if (!status)
        status = dcsr_i_cuda_read_back(c->stream, &left.count, before + words, sizeof left.count, what);
    if (!status) status = list_differing(&left, c, bitmap, words, before);
    dcsr_i_cuda_free(c->stream, DCSR_I_SCRATCH, before, words + 1, sizeof *before);
    drop_list(status ? &left : c);
    if (!status) *c = left;
    return status;
}

static dcsr_status drop_moved(dcsr_i_changed_there *c)
{
    DCSR_TRY(list_changed(c));
    const uint64_t words = dcsr_i_cuda_bitmap_words(c->count);
    uint32_t *bitmap = dcsr_i_cuda_alloc(c->stream, DCSR_I_SCRATCH, words, sizeof *bitmap);
    if (!bitmap) return dcsr_i_no_memory();
    dcsr_status status = mark_differing(c, bitmap);
    if (!status) status = keep_marked(c, bitmap, words);
    dcsr_i_cuda_free(c->stream, DCSR_I_SCRATCH, bitmap, words, sizeof *bitmap);
    return status;
}

const dcsr_i_finds_changed dcsr_i_cuda_finds_changed = {.open = open_changed,
                                                        .list = list_changed,
                                                        .drop_moved = drop_moved,
                                                        .bring = bring_changed,
                                                        .close = close_changed};

/* ---- To the host ----
 *
 * What is left once entries have been compared as they stand are rows that a change has touched or that were resolved.
 * They are gathered and copied: in which entries they differ is found as on the cpu. */

static dcsr_status bring_numbers(dcsr_i_candidates *candidates, const dcsr_i_changed_there *found)
{
    candidates->numbers =
        dcsr_i_alloc(found->of->context, DCSR_I_SCRATCH, found->count, sizeof *candidates->numbers);
    if (!candidates->numbers) return dcsr_i_no_memory();
    candidates->count = found->count;
    dcsr_i_cuda_copy(found->stream, candidates->numbers, found->list,
                     found->count * sizeof *candidates->numbers);
    return dcsr_i_cuda_wait(found->stream, what);
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
    DCSR_TRY(drop_moved(found));
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
    DCSR_TRY(open_changed(&found, &of));
    const dcsr_status status = bring(candidates, &found);
    close_changed(&found);
    if (status != DCSR_OK) free_all(candidates, context);
    return status;
}
