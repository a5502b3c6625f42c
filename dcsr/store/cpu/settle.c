/* settle.c: resolving rows where they are.
 *
 * Resolving makes no row longer. So where nobody holds a version (dcsr_i_claim_briefly()) a row that is in one segment
 * is resolved into room beside it and written back: nothing moves, no page is copied, and nothing waits to be given
 * back. Rows of several segments are left to rewrite.c, which brings them together, and so are those that are so long
 * that the room would matter. */
#include "dcsr/store/store.h"
#include <omp.h>

/* A reader who asks for a version waits for so many entries or pages at most. */
enum { MOST_ENTRIES = 1 << 18, MOST_PAGES = 1 << 12, LONGEST = 1 << 16 };
/* A portion is of one in SHARE pages at most. */
enum { SHARE = 8, FEW_PAGES = 256 };

typedef struct page_work {
    dcsr_i_row_page *page;
    uint64_t mask; /* of the rows that are resolved */
} page_work;

typedef struct job {
    dcsr_matrix *matrix;
    page_work *work; /* MOST_PAGES of them */
    uint64_t pages, entries, longest;
    int threads;
    dcsr_i_resolver *resolvers;
    uint64_t room; /* places in the arena, `longest` for each thread */
} job;

/* Whether pages of this matrix may be changed at all, where nobody holds a version. */
static bool is_changeable(const dcsr_matrix *matrix)
{
    return !matrix->arena.in_heap && !matrix->transpose.owner && !matrix->transpose.maintained &&
           !matrix->origin.hold;
}

static bool is_resolving(const dcsr_i_selection *selection)
{
    return !selection->sorted && !selection->for_view &&
           (selection->kind == DCSR_I_UNRESOLVED_ROWS || selection->kind == DCSR_I_TOMBSTONE_ROWS ||
            selection->kind == DCSR_I_UNRESOLVED_OR_SPLIT_ROWS || selection->kind == DCSR_I_ALL_ROWS ||
            selection->kind == DCSR_I_UNTIDY_ROWS);
}

/* The rows of a page that can be resolved where they are. */
static uint64_t rows_to_settle(job *j, const dcsr_i_row_page *page, dcsr_i_rows_kind kind)
{
    uint64_t mask = 0, unresolved = page->tombstones;
    if (kind != DCSR_I_TOMBSTONE_ROWS) unresolved |= page->duplicates;
    for (unresolved &= ~page->fragmented; unresolved; unresolved &= unresolved - 1) {
        const unsigned r = (unsigned)__builtin_ctzll(unresolved);
        if (page->length[r] > LONGEST || dcsr_i_row_is_rounded(page, r)) continue;
        mask |= unresolved & -unresolved;
        j->entries += page->length[r];
        if (page->length[r] > j->longest) j->longest = page->length[r];
    }
    return mask;
}

/* Chooses the next pages from p on, before `end`, with up to about so many entries; returns where they end. */
static uint64_t choose(job *j, dcsr_i_rows_kind kind, uint64_t p, uint64_t end, uint64_t most)
{
    const dcsr_i_row_page *page;
    j->pages = j->entries = j->longest = 0;
    for (; j->pages < MOST_PAGES && j->entries < most && p < end; p++) {
        page = dcsr_i_next_page(j->matrix->versions.current, &p);
        if (!page || p >= end) return end;
        const uint64_t mask = rows_to_settle(j, page, kind);
        if (mask) j->work[j->pages++] = (page_work){(dcsr_i_row_page *)page, mask};
    }
    return p;
}

/* Room for all threads. */
static bool prepare(job *j)
{
    dcsr_matrix *matrix = j->matrix;
    bool ready = true;
    j->threads = dcsr_i_threads(matrix->context, j->entries);
    j->resolvers = dcsr_i_calloc(matrix->context, DCSR_I_SCRATCH, (uint64_t)j->threads, sizeof *j->resolvers);
    for (int t = 0; j->resolvers && t < j->threads; t++)
        ready &= dcsr_i_resolver_init(&j->resolvers[t], matrix->context, j->longest) == DCSR_OK;
    return ready && j->resolvers &&
           dcsr_i_arena_take_blocks(&matrix->arena, (uint64_t)j->threads * j->longest,
                                    matrix->versions.current->version, true, &j->room) == DCSR_OK;
}

static void clean_up(const job *j, bool has_room)
{
    dcsr_matrix *matrix = j->matrix;
    if (has_room) dcsr_i_arena_give(&matrix->arena, j->room, (uint64_t)j->threads * j->longest);
    for (int t = 0; j->resolvers && t < j->threads; t++) dcsr_i_resolver_free(&j->resolvers[t]);
    dcsr_i_free(matrix->context, DCSR_I_SCRATCH, j->resolvers, (uint64_t)j->threads, sizeof *j->resolvers);
}

/* Returns how many entries less the rows have. */
static uint64_t settle_page(const job *j, const page_work *work, dcsr_i_resolver *resolver, uint64_t room)
{
    dcsr_i_row_page *page = work->page;
    uint64_t gone = 0;
    for (uint64_t mask = work->mask; mask; mask &= mask - 1) {
        const unsigned r = (unsigned)__builtin_ctzll(mask);
        const dcsr_i_piece piece = {dcsr_i_begin_of(page, 0, r), page->length[r]};
        const uint64_t capacity = dcsr_i_capacity_of(page, 0, r);
        const uint64_t left = dcsr_i_resolve_row(
            resolver, j->matrix, &(dcsr_i_stretch){&piece, 1, page->ascending >> r & 1}, DCSR_MAX_COLS, room);
        dcsr_i_copy_entries(j->matrix, piece.begin, room, left);
        page->length[r] = (uint32_t)left;
        gone += piece.length - left;
        if (left) continue;
        dcsr_i_arena_give(&j->matrix->arena, piece.begin, capacity);
        dcsr_i_clear_segments(page, 0, r, j->matrix->segments_per_row);
    }
    page->duplicates &= ~work->mask;
    page->tombstones &= ~work->mask;
    page->ascending &= ~work->mask;
    if (j->matrix->policy != DCSR_POLICY_KEEP) page->ascending |= work->mask;
    page->born = j->matrix->versions.current->version + 1;
    dcsr_i_drop_segment_pages(j->matrix, page);
    return gone;
}

/* With the version claimed. */
static void settle_pages(const job *j)
{
    dcsr_i_table *table = j->matrix->versions.current;
    uint64_t gone = 0, duplicates = 0, tombstones = 0;
#pragma omp parallel for num_threads(j->threads) schedule(dynamic, 16) \
    reduction(+ : gone, duplicates, tombstones) if (j->threads > 1)
    for (uint64_t w = 0; w < j->pages; w++) {
        const page_work *work = &j->work[w];
        const int t = j->threads > 1 ? omp_get_thread_num() : 0;
        duplicates += (uint64_t)__builtin_popcountll(work->page->duplicates & work->mask);
        tombstones += (uint64_t)__builtin_popcountll(work->page->tombstones & work->mask);
        gone += settle_page(j, work, &j->resolvers[t], j->room + (uint64_t)t * j->longest);
    }
    table->stored -= gone;
    table->duplicate_rows -= duplicates;
    table->tombstone_rows -= tombstones;
    table->contiguous = table->contiguous && !gone;
}

/* Those that are chosen; false: somebody holds a version, or there is no memory. */
static bool settle(job *j)
{
    dcsr_matrix *matrix = j->matrix;
    const bool ready = prepare(j), claimed = ready && dcsr_i_claim_briefly(matrix, 0);
    if (claimed) {
        settle_pages(j);
        dcsr_i_publish_claimed(matrix, NULL);
    }
    clean_up(j, ready);
    return claimed;
}

uint64_t dcsr_i_settle(dcsr_matrix *matrix, const dcsr_i_selection *selection)
{
    const uint64_t pages = dcsr_i_page_count(matrix->versions.current),
                   first = selection->first_page < pages ? selection->first_page : 0;
    uint64_t end = selection->end_page ? selection->end_page : pages, settled = first, left = selection->most;
    if (!is_resolving(selection) || !is_changeable(matrix)) return first;
    /* A portion. */
    if (left && end - first > pages / SHARE + FEW_PAGES) end = first + pages / SHARE + FEW_PAGES;
    dcsr_context *context = matrix->context;
    job j = {.matrix = matrix, .work = dcsr_i_alloc(context, DCSR_I_SCRATCH, MOST_PAGES, sizeof *j.work)};
    while (j.work && settled < end) {
        const uint64_t next =
            choose(&j, selection->kind, settled, end, left && left < MOST_ENTRIES ? left : MOST_ENTRIES);
        if (j.pages && !settle(&j)) break;
        settled = next;
        if (left && left <= j.entries) break;
        if (left) left -= j.entries;
    }
    dcsr_i_free(context, DCSR_I_SCRATCH, j.work, MOST_PAGES, sizeof *j.work);
    return settled;
}
