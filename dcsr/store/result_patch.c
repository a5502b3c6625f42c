/* result_patch.c: results that keep the rows which are not added: their pages are those of the version before,
 * or copies that say where the new rows are. */
#include "dcsr/store/result.h"
#include <assert.h>
#include <string.h>

dcsr_status dcsr_i_patch_begin(dcsr_i_result *result)
{
    const dcsr_i_table *base = result->matrix->versions.current;
    result->table = dcsr_i_table_copy(result->matrix, base, base->rows, base->cols);
    return result->table ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}

/* ---- What is replaced ---- */

/* Room for n retired objects in the thread's limbo list; of each there is room for one more, which publishing needs. */
static dcsr_status limbo_room(dcsr_i_result *result, dcsr_i_result_thread *t, uint64_t n)
{
    enum { FEW = 15 };
    dcsr_i_limbo *limbo = t->limbo;
    if (limbo && limbo->capacity - limbo->count > n) return DCSR_OK;
    uint64_t twice = limbo ? 2 * limbo->capacity : 0, capacity = twice > n + FEW ? twice : n + FEW;
    dcsr_i_limbo *larger = dcsr_i_limbo_create(result->matrix, capacity);
    if (!larger) return DCSR_ERROR_OUT_OF_MEMORY;
    larger->next = limbo;
    t->limbo = larger;
    return DCSR_OK;
}

/* Whether the places are all of one block, number `block`. */
static bool lies_in(uint64_t begin, uint64_t length, int shift, uint64_t block)
{
    return begin >> shift == block && (begin + length - 1) >> shift == block;
}

/* Places that go; mostly they are of the block that those of the row before are of. */
static void retire_places(dcsr_i_limbo *limbo, dcsr_i_arena *arena, const dcsr_i_piece *piece)
{
    dcsr_i_retired *last = limbo->count ? &limbo->retired[limbo->count - 1] : NULL;
    int shift = dcsr_i_arena_shift(arena);
    uint64_t block = piece->begin >> shift;
    if (!last || last->kind != DCSR_I_RANGE || !lies_in(last->begin, last->size, shift, block) ||
        !lies_in(piece->begin, piece->length, shift, block))
        dcsr_i_retire_range(limbo, arena, piece->begin, piece->length);
    else if (last->begin + last->size == piece->begin)
        last->size += piece->length;
    else
        limbo->retired[limbo->count++] = (dcsr_i_retired){
            .kind = DCSR_I_RANGE, .born = last->born, .begin = piece->begin, .size = piece->length};
}

static void retire_row(dcsr_matrix *matrix, dcsr_i_result_thread *t, const dcsr_i_row_page *old, unsigned r)
{
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    int n = dcsr_i_segments_of(matrix, old, r, pieces);
    for (int k = 0; k < n; k++) retire_places(t->limbo, &matrix->arena, &pieces[k]);
    n = dcsr_i_row_pieces(old, r, pieces);
    t->replaced.stored += old->length[r];
    t->replaced.extra_segments += n > 1 ? (uint64_t)n - 1 : 0;
    t->replaced.duplicate_rows += old->duplicates >> r & 1;
    t->replaced.tombstone_rows += old->tombstones >> r & 1;
}

/* ---- Adding rows ---- */

static bool has_further_segments(const dcsr_matrix *matrix, const dcsr_i_row_page *page)
{
    return page && matrix->segments_per_row > 1 && page->segment[1];
}

/* A copy of a page, which may be NULL, in which rows can be replaced. One whose rows have never had entries
 * has no segment pages. */
static dcsr_status copy_page(dcsr_i_result *result, dcsr_i_result_thread *t, const dcsr_i_row_page *old,
                             dcsr_i_row_page **slot)
{
    dcsr_matrix *matrix = result->matrix;
    uint64_t version = result->table->version;
    if (has_further_segments(matrix, old)) {
        dcsr_i_row_page *page = dcsr_i_row_page_create(matrix, old, version);
        if (!page) return DCSR_ERROR_OUT_OF_MEMORY;
        *slot = page;
        return dcsr_i_own_segment_pages(matrix, page, old, UINT64_MAX, version) ? DCSR_OK
                                                                                : DCSR_ERROR_OUT_OF_MEMORY;
    }
    dcsr_i_row_page *page = dcsr_i_result_page(result, t);
    if (!page) return DCSR_ERROR_OUT_OF_MEMORY;
    *slot = page;
    if (!old || !old->segment[0]) {
        memset(page->segment[0], 0, sizeof *page->segment[0]);
        return DCSR_OK;
    }
    memcpy(page->length, old->length, sizeof page->length);
    dcsr_i_segments_copy(page->segment[0], matrix, old, 0);
    page->duplicates = old->duplicates;
    page->tombstones = old->tombstones;
    page->ascending = old->ascending;
    return DCSR_OK;
}

static dcsr_status turn_to(dcsr_i_result *result, dcsr_i_result_thread *t, uint64_t p,
                           const dcsr_i_row_page *old)
{
    DCSR_TRY(limbo_room(result, t, 3 + DCSR_MAX_SEGMENTS));
    dcsr_i_row_page **slot = dcsr_i_result_slot(result, t, p);
    if (!slot) return DCSR_ERROR_OUT_OF_MEMORY;
    DCSR_TRY(copy_page(result, t, old, slot));
    if (old) dcsr_i_retire_page(t->limbo, result->matrix, old);
    t->page = *slot;
    t->number = p;
    return DCSR_OK;
}

/* Row r of the page stands at these places, in one segment. */
static void place_row(const dcsr_matrix *matrix, dcsr_i_row_page *page, unsigned r, uint64_t begin,
                      uint32_t length)
{
    uint64_t bit = (uint64_t)1 << r;
    page->length[r] = length;
    page->fragmented &= ~bit;
    page->duplicates &= ~bit;
    page->tombstones &= ~bit;
    page->ascending &= ~bit;
    page->segment[0]->of[r] = dcsr_i_segment_of(begin, length);
    dcsr_i_clear_segments(page, 1, r, matrix->segments_per_row);
}

/* Whether one of the rows has entries; `lengths` is that of the first. */
static bool any_entries(const uint32_t *lengths, uint64_t rows)
{
    uint32_t any = 0;
    for (; rows; rows &= rows - 1) any |= lengths[__builtin_ctzll(rows)];
    return any != 0;
}

dcsr_status dcsr_i_patch_add(dcsr_i_result *result, int thread, uint64_t first, uint64_t rows,
                             const uint32_t *lengths)
{
    dcsr_i_result_thread *t = &result->thread[thread];
    dcsr_matrix *matrix = result->matrix;
    uint64_t p = first >> DCSR_I_PAGE_SHIFT, at = t->next;
    const dcsr_i_row_page *old = dcsr_i_page(matrix->versions.current, p);
    unsigned r = (unsigned)(first & (DCSR_I_PAGE_ROWS - 1));
    uint64_t count = (uint64_t)__builtin_popcountll(rows),
             most = has_further_segments(matrix, old) ? count * (uint64_t)matrix->segments_per_row : count;
    if (!any_entries(lengths, rows) && !(old && any_entries(old->length + r, rows))) return DCSR_OK;
    if (t->number != p) DCSR_TRY(turn_to(result, t, p, old));
    DCSR_TRY(limbo_room(result, t, most));
    /* Nothing fails from here on, so either all rows have their places or none has. */
    for (; rows; rows &= rows - 1) {
        unsigned i = (unsigned)__builtin_ctzll(rows);
        if (old && old->segment[0]) retire_row(matrix, t, old, r + i);
        place_row(matrix, t->page, r + i, at, lengths[i]);
        at += lengths[i];
    }
    return DCSR_OK;
}

/* ---- Ending ---- */

bool dcsr_i_patch_end(dcsr_i_result *result)
{
    const dcsr_i_table *base = result->matrix->versions.current;
    dcsr_i_table *table = result->table;
    bool added = false;
    for (int i = 0; i < result->threads; i++) {
        dcsr_i_result_thread *t = &result->thread[i];
        added |= t->number != UINT64_MAX;
        table->stored -= t->replaced.stored;
        table->extra_segments -= t->replaced.extra_segments;
        table->duplicate_rows -= t->replaced.duplicate_rows;
        table->tombstone_rows -= t->replaced.tombstone_rows;
        if (!t->limbo) continue;
        dcsr_i_limbo *last = t->limbo;
        while (last->next) last = last->next;
        last->next = result->limbo;
        result->limbo = t->limbo;
        t->limbo = NULL;
    }
    table->contiguous &= !base->stored;
    return added;
}

/* Gives back the places of rows that were added. */
static void give_page(dcsr_matrix *matrix, const dcsr_i_row_page *page, const dcsr_i_row_page *old)
{
    if (!page || page == old || !page->segment[0]) return; /* none; shared; one that was not completed */
    for (unsigned r = 0; r < DCSR_I_PAGE_ROWS; r++) {
        uint64_t begin = dcsr_i_begin_of(page, 0, r);
        bool kept = old && old->length[r] && dcsr_i_begin_of(old, 0, r) == begin;
        if (!kept) dcsr_i_arena_give(&matrix->arena, begin, page->length[r]);
    }
}

void dcsr_i_patch_drop(dcsr_i_result *result)
{
    dcsr_matrix *matrix = result->matrix;
    const dcsr_i_table *base = matrix->versions.current;
    const dcsr_i_row_page *page;
    for (uint64_t p = 0; result->table && (page = dcsr_i_next_page(result->table, &p)); p++)
        give_page(matrix, page, dcsr_i_page(base, p));
    dcsr_i_free_unshared(matrix, result->table, base);
    for (int i = 0; result->thread && i < result->threads; i++)
        while (result->thread[i].limbo) {
            dcsr_i_limbo *limbo = result->thread[i].limbo;
            result->thread[i].limbo = limbo->next;
            dcsr_i_limbo_free(matrix, limbo);
        }
}
