/* candidates_cuda.c: rows that may differ between two versions, brought to the host.
 *
 * The host compares the slots of pages, of which it has copies. Of pages that differ, a lane for each row compares
 * the pieces; of the rows that are elsewhere, a walk compares the entries as they stand. What is left are the rows
 * that a change has touched or that were resolved, which are gathered and copied: in which entries they differ
 * is found as on the cpu. */
#include "dcsr/store/cuda/candidates_cuda.h"
#include "dcsr/store/cuda/rewrite_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"

/* Numbers in device memory. */
typedef struct list {
    uint32_t *at;
    uint64_t count;
} list;

typedef struct search {
    dcsr_context *context;
    dcsr_i_cuda_stream *stream;
    dcsr_i_cuda_versions versions;
    uint64_t rows_in_both;
    list pages;     /* that differ */
    list unshared;  /* rows at other places */
    list differing; /* those of them with other entries, or in another order */
} search;

static const char what[] = "comparing two versions";

static bool take(list *l, dcsr_i_cuda_stream *stream, uint64_t count)
{
    l->count = count;
    l->at = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, count, sizeof *l->at);
    return l->at != NULL;
}

static void drop(list *l, dcsr_i_cuda_stream *stream)
{
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, l->at, l->count, sizeof *l->at);
}

/* The number, once the stream has come to it. */
static dcsr_status fetch(uint64_t *number, dcsr_i_cuda_stream *stream, const uint64_t *there)
{
    uint64_t *landing = dcsr_i_cuda_landing(stream, sizeof *landing);
    if (landing) dcsr_i_cuda_copy(stream, landing, there, sizeof *landing);
    DCSR_TRY(dcsr_i_cuda_wait(stream, what));
    *number = *landing;
    return DCSR_OK;
}

/* ---- Pages, on the host ---- */

static uint32_t slot_of(const dcsr_i_table *table, uint64_t p)
{
    return p < table->root->pages ? table->root->host[p] : DCSR_CUDA_NONE;
}

/* Lists them, unless `pages` is NULL; returns how many they are. */
static uint64_t compare_slots(uint32_t *pages, const dcsr_i_rows *from, const dcsr_i_rows *to)
{
    const uint64_t all = dcsr_i_cuda_page_count(from->rows > to->rows ? from->rows : to->rows);
    /* Clones have slots of their own. */
    const bool known = from->table && to->table && from->device.row_page == to->device.row_page;
    uint64_t count = 0;
    for (uint64_t p = 0; p < all; p++) {
        if (known && slot_of(from->table, p) == slot_of(to->table, p)) continue;
        if (pages) pages[count] = (uint32_t)p;
        count++;
    }
    return count;
}

static dcsr_status find_pages(search *s, const dcsr_i_rows *from, const dcsr_i_rows *to)
{
    const uint64_t count = compare_slots(NULL, from, to);
    uint32_t *pages = dcsr_i_alloc(s->context, DCSR_I_PINNED, count, sizeof *pages);
    if (!pages) return DCSR_ERROR_OUT_OF_MEMORY;
    compare_slots(pages, from, to);
    dcsr_status status = take(&s->pages, s->stream, count) ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
    if (status == DCSR_OK) {
        dcsr_i_cuda_copy(s->stream, s->pages.at, pages, count * sizeof *pages);
        status = dcsr_i_cuda_wait(s->stream, what);
    }
    dcsr_i_free(s->context, DCSR_I_PINNED, pages, count, sizeof *pages);
    return status;
}

/* ---- Rows ---- */

static dcsr_status list_bits(list *numbers, dcsr_i_cuda_stream *stream, const uint32_t *bitmap,
                             uint64_t words)
{
    uint64_t count, *before = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, words + 1, sizeof *before);
    if (!before) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_status status = dcsr_i_cuda_count_bits(stream, bitmap, words, before);
    if (status == DCSR_OK) status = fetch(&count, stream, before + words);
    if (status == DCSR_OK && !take(numbers, stream, count)) status = DCSR_ERROR_OUT_OF_MEMORY;
    if (status == DCSR_OK) dcsr_i_cuda_coo_rows(stream, bitmap, words, before, numbers->at);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, before, words + 1, sizeof *before);
    return status;
}

static dcsr_status find_unshared(search *s)
{
    const uint64_t words = s->pages.count * DCSR_CUDA_MASK_WORDS;
    uint32_t *bitmap = dcsr_i_cuda_alloc(s->stream, DCSR_I_SCRATCH, words, sizeof *bitmap);
    if (!bitmap) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_i_cuda_mark_unshared(s->stream, &s->versions, s->pages.at, s->pages.count, bitmap);
    dcsr_status status = list_bits(&s->unshared, s->stream, bitmap, words);
    if (status == DCSR_OK) dcsr_i_cuda_number_rows(s->stream, s->pages.at, s->unshared.at, s->unshared.count);
    dcsr_i_cuda_free(s->stream, DCSR_I_SCRATCH, bitmap, words, sizeof *bitmap);
    return status;
}

/* How many rows of the list both versions have. */
static dcsr_status count_in_both(uint64_t *count, const search *s, const list *rows)
{
    *count = rows->count;
    if (s->versions.from.rows == s->versions.to.rows) return DCSR_OK;
    uint64_t *below = dcsr_i_cuda_alloc(s->stream, DCSR_I_SCRATCH, 1, sizeof *below);
    if (!below) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_i_cuda_count_below(s->stream, rows->at, rows->count, s->rows_in_both, below);
    dcsr_status status = fetch(count, s->stream, below);
    dcsr_i_cuda_free(s->stream, DCSR_I_SCRATCH, below, 1, sizeof *below);
    return status;
}

static dcsr_status mark_differing(search *s, uint32_t *bitmap)
{
    const dcsr_i_cuda_rows *from = &s->versions.from;
    uint64_t count;
    dcsr_i_cuda_mark_lengths(s->stream, &s->versions, s->unshared.at, s->unshared.count, bitmap);
    DCSR_TRY(count_in_both(&count, s, &s->unshared));
    uint64_t *offsets = dcsr_i_cuda_alloc(s->stream, DCSR_I_SCRATCH, count + 1, sizeof *offsets);
    if (!offsets) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_status status = dcsr_i_cuda_sum_lengths(s->stream, from, s->unshared.at, count, offsets);
    if (status == DCSR_OK) {
        dcsr_i_cuda_walk walk = {*from, s->unshared.at, count, offsets};
        dcsr_i_cuda_mark_entries(s->stream, &walk, from->stored, &s->versions.to, bitmap);
    }
    dcsr_i_cuda_free(s->stream, DCSR_I_SCRATCH, offsets, count + 1, sizeof *offsets);
    return status;
}

static dcsr_status find_differing(search *s)
{
    const uint64_t words = dcsr_i_cuda_bitmap_words(s->unshared.count);
    uint32_t *bitmap = dcsr_i_cuda_alloc(s->stream, DCSR_I_SCRATCH, words, sizeof *bitmap);
    if (!bitmap) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_status status = mark_differing(s, bitmap);
    if (status == DCSR_OK) status = list_bits(&s->differing, s->stream, bitmap, words);
    if (status == DCSR_OK)
        dcsr_i_cuda_number_listed(s->stream, s->unshared.at, s->differing.at, s->differing.count);
    dcsr_i_cuda_free(s->stream, DCSR_I_SCRATCH, bitmap, words, sizeof *bitmap);
    return status;
}

/* ---- To the host ---- */

static dcsr_status bring_numbers(dcsr_i_candidates *candidates, search *s)
{
    candidates->compared = s->unshared.count;
    candidates->count = s->differing.count;
    candidates->numbers =
        dcsr_i_alloc(s->context, DCSR_I_SCRATCH, candidates->count, sizeof *candidates->numbers);
    if (!candidates->numbers) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_i_cuda_copy(s->stream, candidates->numbers, s->differing.at,
                     candidates->count * sizeof *candidates->numbers);
    return dcsr_i_cuda_wait(s->stream, what);
}

static dcsr_status bring_rows(dcsr_i_csr **csr, const dcsr_i_candidates *candidates, search *s,
                              const dcsr_i_rows *rows)
{
    uint64_t count = candidates->count;
    while (count && candidates->numbers[count - 1] >= rows->rows) count--;
    return dcsr_i_cuda_download_rows(csr, s->context, s->stream, rows, s->differing.at, count);
}

static dcsr_status find(dcsr_i_candidates *candidates, search *s, const dcsr_i_rows *from,
                        const dcsr_i_rows *to)
{
    DCSR_TRY(find_pages(s, from, to));
    DCSR_TRY(find_unshared(s));
    DCSR_TRY(find_differing(s));
    DCSR_TRY(bring_numbers(candidates, s));
    DCSR_TRY(bring_rows(&candidates->from, candidates, s, from));
    return bring_rows(&candidates->to, candidates, s, to);
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
    search s = {.context = context,
                .stream = dcsr_i_stream_borrow(context),
                .versions = {from->device, to->device},
                .rows_in_both = from->rows < to->rows ? from->rows : to->rows};
    *candidates = (dcsr_i_candidates){0};
    if (!s.stream) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_status status = find(candidates, &s, from, to);
    drop(&s.differing, s.stream);
    drop(&s.unshared, s.stream);
    drop(&s.pages, s.stream);
    dcsr_status waited = dcsr_i_cuda_wait(s.stream, what);
    dcsr_i_stream_return(context, s.stream);
    if (status == DCSR_OK) status = waited;
    if (status != DCSR_OK) free_all(candidates, context);
    return status;
}
