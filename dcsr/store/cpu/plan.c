/* plan.c: deciding what each row of a batch needs, and copying the pages that will change. */
#include "dcsr/store/cpu/batch.h"
#include <string.h>

bool dcsr_i_make_segment_pages(const dcsr_i_batch *b, dcsr_i_group *g, bool moves, unsigned levels)
{
    const bool packed = g->old && g->old->packed;
    /* Segments that a clone shares with its origin get no entries. */
    if (g->old && dcsr_i_is_shared(b->matrix, g->old->born)) moves = true;
    if (moves || packed) g->fresh->moved = b->base->version + 1;
    g->fresh->packed = 0;
    for (int k = 0; k < b->matrix->segments_per_row; k++) {
        dcsr_i_segment_page *old = g->old ? g->old->segment[k] : NULL;
        if (old && !moves && !packed) continue;
        g->fresh->segment[k] = NULL;
        if (!old && !(levels >> k & 1)) continue;
        g->fresh->segment[k] =
            old ? dcsr_i_segment_page_copy(b->matrix, g->old, k) : dcsr_i_segment_page_create(b->matrix);
        if (!g->fresh->segment[k]) return false;
    }
    return true;
}

void dcsr_i_find_room(const dcsr_i_batch *b, const dcsr_i_row_page *page, unsigned r, dcsr_i_growth *grows)
{
    if (page->packed || dcsr_i_is_shared(b->matrix, page->born)) {
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        grows->segments = (uint8_t)dcsr_i_row_pieces(page, r, pieces);
        return;
    }
    /* A row that is not fragmented has no second segment, and there is no need to look. */
    int k = 0, most = page->fragmented >> r & 1 ? b->matrix->segments_per_row : 1;
    uint64_t total = 0;
    for (; k < most && page->segment[k]; k++) {
        uint64_t capacity = page->segment[k]->capacity[r];
        if (!capacity) break;
        grows->tail = page->segment[k]->begin[r] + page->length[r] - total;
        total += capacity;
    }
    grows->segments = (uint8_t)k;
    grows->room = (uint32_t)(total - page->length[r]);
}

dcsr_status dcsr_i_check_length(const dcsr_i_batch *b, uint64_t i, uint64_t length)
{
    if (length <= UINT32_MAX / 2) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_TOO_LARGE,
                       "row %llu would hold more than 2^31 entries; combine duplicates with another policy",
                       (unsigned long long)(dcsr_i_key_at(b, i) >> b->column_bits));
}

static dcsr_status plan_row(const dcsr_i_batch *b, const dcsr_i_group *g, uint64_t i, uint64_t end)
{
    dcsr_i_growth grows = {0};
    unsigned r = dcsr_i_row_in_page(b, dcsr_i_key_at(b, i));
    uint64_t length = g->old ? g->old->length[r] : 0, n = end - i;
    DCSR_TRY(dcsr_i_check_length(b, i, length + n));
    grows.entries = (uint32_t)n;
    grows.skipped = b->mark && !length;
    if (!grows.skipped && g->old) dcsr_i_find_room(b, g->old, r, &grows);
    if (!grows.skipped && n > grows.room) {
        uint64_t slack = b->bulk ? 0 : dcsr_i_slack(length + n);
        grows.moves = grows.segments == b->matrix->segments_per_row;
        grows.capacity = (uint32_t)((grows.moves ? length + n : n - grows.room) + slack);
    }
    b->growth[i] = grows;
    return DCSR_OK;
}

static dcsr_status plan_group(const dcsr_i_batch *b, dcsr_i_group *g, uint64_t *longest)
{
    if (!g->fresh)
        g->fresh = dcsr_i_row_page_create(b->matrix, g->old, b->base->version + 1);
    else
        dcsr_i_row_page_init(b->matrix, g->fresh, g->old, b->base->version + 1);
    if (!g->fresh) return DCSR_ERROR_OUT_OF_MEMORY;
    if (b->merges) return dcsr_i_plan_merging(b, g, longest);
    unsigned levels = 0;
    bool moves = false;
    for (uint64_t i = g->first, end; i < g->end; i = end) {
        end = dcsr_i_row_end(b, g, i);
        DCSR_TRY(plan_row(b, g, i, end));
        const dcsr_i_growth *grows = &b->growth[i];
        g->needed += grows->capacity;
        if (grows->moves) {
            uint64_t length = g->old->length[dcsr_i_row_in_page(b, dcsr_i_key_at(b, i))];
            moves = true;
            g->ranges += grows->segments;
            if (length > *longest) *longest = length;
        } else if (grows->capacity) {
            levels |= 1u << grows->segments;
        }
    }
    if (!dcsr_i_make_segment_pages(b, g, moves, levels)) return DCSR_ERROR_OUT_OF_MEMORY;
    g->replaced = g->ranges + (g->old != NULL);
    for (int k = 0; g->old && k < b->matrix->segments_per_row; k++)
        g->replaced += g->old->segment[k] && g->old->segment[k] != g->fresh->segment[k];
    return DCSR_OK;
}

/* The pages of a small batch lie anywhere and each is used for a row or two, so planning is bound by the
 * latency of memory: pages are fetched well ahead, and what they point to a little later. */
static inline void fetch_ahead(const dcsr_i_batch *b, uint64_t g)
{
    if (g + DCSR_I_PAGES_AHEAD < b->group_count) {
        const char *page = (const char *)b->groups[g + DCSR_I_PAGES_AHEAD].old;
        for (size_t line = 0; page && line < sizeof(dcsr_i_row_page) + 64; line += 64)
            __builtin_prefetch(page + line);
    }
    if (g + DCSR_I_SEGMENTS_AHEAD < b->group_count) {
        const dcsr_i_group *soon = &b->groups[g + DCSR_I_SEGMENTS_AHEAD];
        const dcsr_i_row_page *page = soon->old;
        for (uint64_t i = soon->first; page && i < soon->end && i < soon->first + DCSR_I_ENTRIES_AHEAD; i++) {
            unsigned r = dcsr_i_row_in_page(b, dcsr_i_key_at(b, i));
            int levels = page->fragmented >> r & 1 ? b->matrix->segments_per_row : 1;
            for (int k = 0; k < levels && page->segment[k]; k++) {
                __builtin_prefetch(&page->segment[k]->begin[r]);
                if (!page->packed) __builtin_prefetch(&page->segment[k]->capacity[r]);
            }
        }
    }
}

/* Where entries are looked for in rows, and whether they come behind these. */
static inline void fetch_columns(const dcsr_i_batch *b, uint64_t g)
{
    if (g + DCSR_I_COLUMNS_AHEAD >= b->group_count) return;
    const dcsr_i_group *soon = &b->groups[g + DCSR_I_COLUMNS_AHEAD];
    const dcsr_i_row_page *page = soon->old;
    for (uint64_t i = soon->first; page && i < soon->end && i < soon->first + DCSR_I_ENTRIES_AHEAD; i++) {
        unsigned r = dcsr_i_row_in_page(b, dcsr_i_key_at(b, i));
        if (!page->length[r]) continue;
        const uint32_t *columns = b->matrix->arena.columns + page->segment[0]->begin[r];
        __builtin_prefetch(columns);
        __builtin_prefetch(columns + page->length[r] - 1);
    }
}

dcsr_status dcsr_i_plan_batch(dcsr_i_batch *b)
{
    dcsr_status status = DCSR_OK;
    uint64_t longest = 0;
    char message[200] = "";
    dcsr_i_row_pages_take(b->matrix, b->group_count, &b->groups[0].fresh, sizeof b->groups[0]);
#pragma omp parallel for num_threads(b->threads) schedule(dynamic, 64) \
    reduction(max                                                      \
              : longest) if (b->threads > 1)
    for (uint64_t g = 0; g < b->group_count; g++) {
        fetch_ahead(b, g);
        if (b->merges) fetch_columns(b, g);
        dcsr_status here = plan_group(b, &b->groups[g], &longest);
        if (here == DCSR_OK) continue;
#pragma omp critical(dcsr_insert_plan)
        {
            status = here;
            dcsr_i_error_format(message, sizeof message, "%s", dcsr_i_error_text());
        }
    }
    b->longest = longest;
    /* The sentence may have been another thread's. */
    return status == DCSR_OK ? DCSR_OK : dcsr_i_fail(status, "%s", message);
}
