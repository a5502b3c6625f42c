/* plan.c: deciding what each row of a batch needs, and copying the pages that will change. */
#include "dcsr/store/cpu/batch.h"
#include <string.h>

bool dcsr_i_make_segment_pages(const dcsr_i_batch *b, dcsr_i_group *g, bool moves, unsigned levels)
{
    /* Segments that a clone shares with its origin get no entries. */
    if (g->old && dcsr_i_is_shared(b->matrix, g->old->born)) moves = true;
    if (g->fresh == g->old) moves = false;
    if (moves) g->fresh->moved = b->version;
    for (int k = 0; k < b->matrix->segments_per_row; k++) {
        dcsr_i_segment_page *old = g->old ? g->old->segment[k] : NULL;
        if (old && !moves) continue;
        g->fresh->segment[k] = NULL;
        if (!old && !(levels >> k & 1)) continue;
        g->fresh->segment[k] =
            old ? dcsr_i_segment_page_copy(b->matrix, g->old, k) : dcsr_i_segment_page_create(b->matrix);
        if (!g->fresh->segment[k]) return false;
    }
    return true;
}

/* A row of a page that a clone shares with its origin: what it has not filled is the origin's. It gets a further
 * segment where what it has filled can be written as capacities; else it moves. */
static void find_shared(const dcsr_i_batch *b, const dcsr_i_row_page *page, unsigned r, dcsr_i_growth *grows)
{
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    const int count = dcsr_i_row_pieces(page, r, pieces);
    const uint64_t last = count ? pieces[count - 1].length : 0;
    grows->segments = (uint8_t)count;
    grows->full = count == b->matrix->segments_per_row || dcsr_i_fitting_capacity(last) != last;
}

/* Whether a clone has noted a last segment of its origin's with more than its row has filled of it, as that cannot be
 * written: only where the capacity is large. */
static bool is_origins(const dcsr_matrix *matrix, dcsr_i_segment segment)
{
    return matrix->origin.hold && dcsr_i_segment_capacity(segment) > DCSR_I_SEGMENT_EXACT &&
           !dcsr_i_arena_owns(&matrix->arena, dcsr_i_segment_begin(segment));
}

void dcsr_i_find_room(const dcsr_i_batch *b, const dcsr_i_row_page *page, unsigned r, dcsr_i_growth *grows)
{
    if (dcsr_i_is_shared(b->matrix, page->born)) {
        find_shared(b, page, r, grows);
        return;
    }
    if (dcsr_i_row_is_rounded(page, r)) {
        grows->segments = 1;
        grows->full = true;
        return;
    }
    /* A row that is not fragmented has no second segment, and there is no need to look. */
    int k = 0, most = page->fragmented >> r & 1 ? b->matrix->segments_per_row : 1;
    uint64_t total = 0;
    for (; k < most && page->segment[k]; k++) {
        const dcsr_i_segment segment = page->segment[k]->of[r];
        const uint64_t capacity = dcsr_i_segment_capacity(segment);
        if (!capacity) break;
        grows->tail = dcsr_i_segment_begin(segment) + page->length[r] - total;
        total += capacity;
    }
    grows->segments = (uint8_t)k;
    grows->full = k == b->matrix->segments_per_row;
    grows->room = (uint32_t)(total - page->length[r]);
    if (!grows->room || !is_origins(b->matrix, page->segment[k - 1]->of[r])) return;
    grows->full = true;
    grows->room = 0;
}

dcsr_status dcsr_i_check_length(const dcsr_i_batch *b, uint64_t i, uint64_t length)
{
    if (length <= UINT32_MAX / 2) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_TOO_LARGE,
                       "row %llu would hold more than 2^31 entries; combine duplicates with another policy",
                       (unsigned long long)(dcsr_i_key_at(b, i) >> b->column_bits));
}

/* In place entries are deleted from a row by looking for them, if it has so few for each of them. */
enum { LOOKED_THROUGH = 256 };

/* That takes longer than writing tombstones, so it is done where nothing would ever tidy these away. */
static bool takes_out(const dcsr_i_batch *b, uint64_t length, uint64_t n)
{
    return b->mark && b->in_place && b->matrix->defragmentation == DCSR_DEFRAGMENT_OFF &&
           length * n <= LOOKED_THROUGH;
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
    grows.taken_out = length && takes_out(b, length, n);
    if (!grows.skipped && !grows.taken_out && n > grows.room) {
        uint64_t needed = grows.full ? length + n : n - grows.room;
        grows.moves = grows.full;
        /* In a bulk a row has the places that it fills. */
        if (!b->bulk || grows.segments)
            needed = dcsr_i_capacity_for(needed, b->bulk ? 0 : b->matrix->slack, length + n);
        grows.capacity = (uint32_t)needed;
    }
    b->growth[i] = grows;
    return DCSR_OK;
}

bool dcsr_i_copy_page(const dcsr_i_batch *b, dcsr_i_group *g)
{
    if (!g->fresh)
        g->fresh = dcsr_i_row_page_create(b->matrix, g->old, b->version);
    else
        dcsr_i_row_page_init(b->matrix, g->fresh, g->old, b->version);
    return g->fresh != NULL;
}

bool dcsr_i_make_page(const dcsr_i_batch *b, dcsr_i_group *g)
{
    if (!b->in_place || !g->old) return dcsr_i_copy_page(b, g);
    g->fresh = (dcsr_i_row_page *)g->old;
    return true;
}

void dcsr_i_count_replaced_by(const dcsr_i_batch *b, dcsr_i_group *g)
{
    const dcsr_i_row_page *old = g->old;
    g->replaced = g->ranges + (old && old != g->fresh);
    for (int k = 0; old && k < b->matrix->segments_per_row; k++)
        g->replaced += old->segment[k] && old->segment[k] != g->fresh->segment[k];
}

static dcsr_status plan_group(const dcsr_i_batch *b, dcsr_i_group *g, uint64_t *longest, uint64_t *stored)
{
    if (b->merges) return dcsr_i_plan_merging(b, g, stored);
    if (!dcsr_i_make_page(b, g)) return DCSR_ERROR_OUT_OF_MEMORY;
    unsigned levels = 0;
    bool moves = false;
    for (uint64_t i = g->first, end; i < g->end; i = end) {
        end = dcsr_i_row_end(b, g, i);
        DCSR_TRY(plan_row(b, g, i, end));
        const dcsr_i_growth *grows = &b->growth[i];
        g->needed += grows->capacity;
        if (grows->taken_out && grows->segments > 1) g->ranges += grows->segments - 1u;
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
    dcsr_i_count_replaced_by(b, g);
    return DCSR_OK;
}

/* The pages of a small batch lie anywhere and each is used for a row or two, so planning is bound by the
 * latency of memory: pages are fetched well ahead, and what they point to a little later; not of groups from `end` on,
 * which another thread may be changing in place. */
DCSR_I_PREFETCH void fetch_ahead(const dcsr_i_batch *b, uint64_t g, uint64_t end)
{
    if (g + DCSR_I_PAGES_AHEAD < b->group_count) {
        const char *page = (const char *)b->groups[g + DCSR_I_PAGES_AHEAD].old;
        for (size_t line = 0; page && line < sizeof(dcsr_i_row_page) + 64; line += 64)
            __builtin_prefetch(page + line);
    }
    if (g + DCSR_I_SEGMENTS_AHEAD < end) {
        const dcsr_i_group *soon = &b->groups[g + DCSR_I_SEGMENTS_AHEAD];
        const dcsr_i_row_page *page = soon->old;
        for (uint64_t i = soon->first; page && i < soon->end && i < soon->first + DCSR_I_ENTRIES_AHEAD; i++) {
            unsigned r = dcsr_i_row_in_page(b, dcsr_i_key_at(b, i));
            int levels = page->fragmented >> r & 1 ? b->matrix->segments_per_row : 1;
            for (int k = 0; k < levels && page->segment[k]; k++) {
                __builtin_prefetch(&page->segment[k]->of[r]);
            }
        }
    }
}

/* Plans groups first to end - 1, all of them even where one cannot be. */
static dcsr_status plan_groups(const dcsr_i_batch *b, uint64_t first, uint64_t end, uint64_t *longest,
                               uint64_t *stored)
{
    dcsr_status status = DCSR_OK;
    if (b->merges) status = dcsr_i_find_entries(b, &b->groups[first], &b->groups[end], longest);
    const bool found = status == DCSR_OK;
    for (uint64_t g = first; g < end; g++) {
        b->groups[g].stays = !found;
        if (!found) continue;
        if (!b->merges) fetch_ahead(b, g, end);
        dcsr_status here = plan_group(b, &b->groups[g], longest, stored);
        if (status == DCSR_OK) status = here;
    }
    return status;
}

/* Gives back the pages that were taken for groups of which nothing changes. */
static void give_pages(const dcsr_i_batch *b)
{
    pthread_mutex_lock(&b->matrix->spare.lock);
    for (dcsr_i_group *g = b->groups; g < b->groups + b->group_count; g++) {
        if (!g->stays || !g->fresh) continue;
        dcsr_i_row_page_free_locked(b->matrix, g->fresh);
        g->fresh = NULL;
    }
    pthread_mutex_unlock(&b->matrix->spare.lock);
}

dcsr_status dcsr_i_plan_batch(dcsr_i_batch *b)
{
    enum { TOGETHER = 64 };
    dcsr_status status = DCSR_OK;
    uint64_t longest = 0, stored = 0;
    char message[200] = "";
    if (!b->in_place)
        dcsr_i_row_pages_take(b->matrix, b->group_count, &b->groups[0].fresh, sizeof b->groups[0]);
#pragma omp parallel for num_threads(b->threads) schedule(dynamic) reduction(max : longest) \
    reduction(+ : stored) if (b->threads > 1)
    for (uint64_t first = 0; first < b->group_count; first += TOGETHER) {
        const uint64_t end = first + TOGETHER < b->group_count ? first + TOGETHER : b->group_count;
        dcsr_status here = plan_groups(b, first, end, &longest, &stored);
        if (here == DCSR_OK) continue;
#pragma omp critical(dcsr_insert_plan)
        {
            status = here;
            dcsr_i_error_format(message, sizeof message, "%s", dcsr_i_error_text());
        }
    }
    b->longest = longest;
    b->stored = stored;
    if (b->merges) give_pages(b);
    /* The sentence may have been another thread's. */
    return status == DCSR_OK ? DCSR_OK : dcsr_i_fail(status, "%s", message);
}
