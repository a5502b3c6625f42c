/* rewrite.c: moving rows into one segment each, resolving them where need be.
 *
 * An insertion appends and never looks for what is stored already; the rows in which a column may stand
 * twice, or a tombstone stands, are marked in their page. Here such rows are rewritten.
 *
 * Two callers: the worker, whose result becomes the next version, and a reader whose view wants the rows
 * resolved, whose result is the view's own. A reader runs beside the writer, so it looks only at table
 * entries that its version's row lengths reach. */
#include "dcsr/store/store.h"
#include <string.h>

/* ---- Which rows ---- */

static bool row_ascends(const dcsr_i_rows *rows, const dcsr_i_row_page *page, unsigned r)
{
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    int count = dcsr_i_row_pieces(page, r, pieces);
    int64_t previous = -1;
    for (int k = 0; k < count; k++)
        for (uint64_t i = pieces[k].begin; i < pieces[k].begin + pieces[k].length; i++) {
            if (rows->columns[i] < previous) return false;
            previous = rows->columns[i];
        }
    return true;
}

static bool row_reaches(const dcsr_i_rows *rows, const dcsr_i_row_page *page, unsigned r, uint64_t limit)
{
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    int count = dcsr_i_row_pieces(page, r, pieces);
    for (int k = 0; k < count; k++)
        for (uint64_t i = pieces[k].begin; i < pieces[k].begin + pieces[k].length; i++)
            if ((rows->columns[i] & ~DCSR_I_TOMBSTONE) >= limit) return true;
    return false;
}

/* Whether a row should be brought together with others: one that has more than twice the room that it would be
 * given, or a segment in a block of which much is not in use. What fills whole blocks leaves whole blocks. With the
 * arena's lock. */
static bool is_untidy(const dcsr_matrix *matrix, const dcsr_i_row_page *page, unsigned r)
{
    const dcsr_i_arena *arena = &matrix->arena;
    const int shift = dcsr_i_arena_shift(arena);
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    uint64_t room = 0;
    bool sparse = false;
    const int count = dcsr_i_segments_of(matrix, page, r, pieces);
    for (int k = 0; k < count; room += pieces[k++].length)
        if (!sparse && !(pieces[k].length >> shift))
            sparse = dcsr_i_arena_is_sparse_locked(arena, pieces[k].begin >> shift);
    return sparse || room > 2 * (page->length[r] + dcsr_i_slack(matrix->slack / 2, page->length[r]));
}

static uint64_t entries_of(const dcsr_i_row_page *page, uint64_t mask)
{
    uint64_t entries = 0;
    for (; mask; mask &= mask - 1) entries += page->length[__builtin_ctzll(mask)];
    return entries;
}

/* Rows that have places, be it without entries. */
static uint64_t all_rows(const dcsr_i_row_page *page)
{
    uint64_t mask = 0;
    for (unsigned r = 0; page->segment[0] && r < DCSR_I_PAGE_ROWS; r++)
        mask |= (uint64_t)(dcsr_i_capacity_of(page, 0, r) != 0) << r;
    return mask;
}

/* Where half of a page's entries are in rows that are untidy, all of its rows move: the others would keep the blocks
 * that they share with these from being free. */
static uint64_t untidy_rows(dcsr_matrix *matrix, const dcsr_i_row_page *page)
{
    const uint64_t all = all_rows(page);
    uint64_t mask = page->duplicates | page->tombstones;
    pthread_mutex_lock(&matrix->arena.space->lock);
    for (uint64_t left = all & ~mask; left; left &= left - 1)
        if (is_untidy(matrix, page, (unsigned)__builtin_ctzll(left))) mask |= left & -left;
    pthread_mutex_unlock(&matrix->arena.space->lock);
    return 2 * entries_of(page, mask) >= entries_of(page, all) ? all : mask;
}

/* The mask of the rows of page p that are meant. */
static uint64_t selected_rows(const dcsr_i_selection *selection, const dcsr_i_rows *rows, uint64_t p)
{
    const dcsr_i_row_page *page = dcsr_i_page(rows->table, p);
    if (selection->end_page && (p < selection->first_page || p >= selection->end_page)) return 0;
    uint64_t mask = page->duplicates | page->tombstones;
    switch (selection->kind) {
    case DCSR_I_UNRESOLVED_ROWS:
        return mask;
    case DCSR_I_TOMBSTONE_ROWS:
        return page->tombstones;
    case DCSR_I_UNRESOLVED_OR_SPLIT_ROWS:
        return mask | page->fragmented;
    case DCSR_I_ALL_ROWS:
        return all_rows(page);
    case DCSR_I_UNSORTED_ROWS:
        for (uint64_t left = ~mask & (~page->ascending | page->fragmented); left; left &= left - 1)
            if (!row_ascends(rows, page, (unsigned)__builtin_ctzll(left))) mask |= left & -left;
        return mask;
    case DCSR_I_ROWS_BEYOND:
        mask = 0;
        for (unsigned r = 0; r < DCSR_I_PAGE_ROWS; r++)
            if (row_reaches(rows, page, r, selection->column_limit)) mask |= (uint64_t)1 << r;
        return mask;
    case DCSR_I_UNTIDY_ROWS:
        break; /* select_untidy_rows() */
    }
    return 0;
}

/* Whether telling which rows are meant takes reading their entries. */
static bool selection_reads_entries(const dcsr_i_selection *selection)
{
    return selection->kind == DCSR_I_UNSORTED_ROWS || selection->kind == DCSR_I_ROWS_BEYOND;
}

/* ---- Many rows ---- */

/* A page with selected rows. */
typedef struct page_work {
    uint64_t page, mask;
    const dcsr_i_row_page *old;
    dcsr_i_row_page *fresh;
    uint64_t needed;  /* places, at most */
    uint64_t places;  /* where they begin */
    uint64_t ranges;  /* segments that its rows leave */
    uint64_t portion; /* pages from here on whose places are one range; 0: those of an earlier page */
} page_work;

typedef struct job {
    dcsr_matrix *matrix;
    dcsr_matrix *into; /* whose arena has the entries: the matrix, or its stand-in (below) */
    const dcsr_i_selection *selection;
    const dcsr_i_table *base;
    uint64_t version;
    page_work *work;
    uint64_t pages, capacity; /* of work */
    uint64_t housed;          /* pages that have their places */
    uint64_t entries;         /* in the selected rows */
    uint64_t longest;         /* of those that must be sorted */
    bool apart;               /* the rows get a home of their own */
} job;

/* A row that has been there for a while is given half the room of one that a batch has just made longer. */
static uint64_t row_capacity(const job *j, uint64_t length)
{
    return j->selection->slack && length ? dcsr_i_capacity_for(length, j->matrix->slack / 2, length) : length;
}

/* Masks first, in parallel where they cost reading entries; then the list of pages that have any. */
static dcsr_status select_rows(job *j)
{
    dcsr_context *context = j->matrix->context;
    dcsr_i_rows rows = dcsr_i_rows_of(j->matrix, j->base);
    dcsr_i_page_list list;
    DCSR_TRY(dcsr_i_page_list_create(&list, context, &rows));
    uint64_t *mask = dcsr_i_alloc(context, DCSR_I_SCRATCH, list.count, sizeof *mask), selected = 0;
    int threads =
        dcsr_i_threads(context, selection_reads_entries(j->selection) ? j->base->stored : list.count);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 64) reduction(+ : selected) if (threads > 1)
    for (uint64_t i = 0; i < list.count; i++) {
        if (!mask) continue;
        mask[i] = selected_rows(j->selection, &rows, list.page[i]);
        selected += mask[i] != 0;
    }
    j->capacity = selected;
    if (mask) j->work = dcsr_i_calloc(context, DCSR_I_SCRATCH, selected, sizeof *j->work);
    for (uint64_t i = 0; j->work && i < list.count; i++)
        if (mask[i])
            j->work[j->pages++] =
                (page_work){.page = list.page[i], .mask = mask[i], .old = dcsr_i_page(j->base, list.page[i])};
    dcsr_i_free(context, DCSR_I_SCRATCH, mask, list.count, sizeof *mask);
    dcsr_i_page_list_free(&list, context);
    return j->work ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}

/* A portion of the untidy rows. Looking for them ends after LOOKED entries for each that is wanted, too. */
static dcsr_status select_untidy_rows(job *j, uint64_t *next_page)
{
    enum { SHARE = 8, FEW = 256, LOOKED = 8 };
    const uint64_t pages = dcsr_i_page_count(j->base), most = j->selection->most,
                   end = j->selection->end_page ? j->selection->end_page : pages;
    uint64_t entries = 0, looked = 0, p = j->selection->first_page < pages ? j->selection->first_page : 0;
    const dcsr_i_row_page *page;
    j->capacity = pages / SHARE + FEW;
    j->work = dcsr_i_calloc(j->matrix->context, DCSR_I_SCRATCH, j->capacity, sizeof *j->work);
    if (!j->work) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t looks = 0; looks < j->capacity && entries < most && looked < LOOKED * most; looks++, p++) {
        page = dcsr_i_next_page(j->base, &p);
        if (!page || p >= end) break;
        looked += entries_of(page, UINT64_MAX);
        const uint64_t mask = untidy_rows(j->matrix, page);
        if (mask) j->work[j->pages++] = (page_work){.page = p, .mask = mask, .old = page};
        entries += entries_of(page, mask);
    }
    *next_page = p < pages ? p : 0;
    return DCSR_OK;
}

static bool must_sort(const job *j, const page_work *work, unsigned r)
{
    const dcsr_i_row_page *old = work->old;
    /* A row whose entries come behind its ascending first segment stays one that ascends. */
    const bool tail = old->ascending & old->fragmented & (uint64_t)1 << r && !j->selection->slack;
    return tail || j->selection->sorted || j->selection->column_limit < DCSR_MAX_COLS ||
           ((old->duplicates | old->tombstones) >> r & 1);
}

static void measure(job *j)
{
    for (uint64_t w = 0; w < j->pages; w++) {
        page_work *work = &j->work[w];
        for (uint64_t mask = work->mask; mask; mask &= mask - 1) {
            unsigned r = (unsigned)__builtin_ctzll(mask);
            uint64_t length = work->old->length[r];
            dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
            work->needed += row_capacity(j, length);
            if (!j->selection->for_view)
                work->ranges += (uint64_t)dcsr_i_segments_of(j->matrix, work->old, r, pieces);
            if (must_sort(j, work, r) && length > j->longest) j->longest = length;
            j->entries += length;
        }
    }
}

/* A reader's copy of segment page 0: only what the row lengths reach. */
static void copy_for_view(dcsr_i_segment_page *to, const dcsr_i_row_page *page)
{
    for (unsigned r = 0; r < DCSR_I_PAGE_ROWS; r++)
        to->of[r] = page->length[r] ? page->segment[0]->of[r] : (dcsr_i_segment){0};
}

/* A page of its own with segment pages of its own: for a view the first, as resolved rows have no other; else all, as
 * batches will soon want the same again, but where it is tidied those that rows need which stay. */
static bool make_page(const job *j, page_work *work)
{
    dcsr_matrix *matrix = j->matrix;
    const dcsr_i_row_page *old = work->old;
    dcsr_i_row_page *fresh = work->fresh = dcsr_i_row_page_create(matrix, old, j->version);
    if (!fresh) return false;
    if (j->selection->for_view) {
        fresh->segment[0] = dcsr_i_segment_page_create(matrix);
        if (!fresh->segment[0]) return false;
        copy_for_view(fresh->segment[0], old);
        return true;
    }
    const bool tidies = j->selection->kind == DCSR_I_UNTIDY_ROWS || j->selection->kind == DCSR_I_ALL_ROWS;
    return dcsr_i_own_segment_pages(matrix, fresh, old, tidies ? ~work->mask : UINT64_MAX, j->version);
}

/* Builds the root, directories and pages of the result, which still hold the old rows. */
static dcsr_status make_table(job *j, dcsr_i_table **table)
{
    dcsr_matrix *matrix = j->matrix;
    *table = dcsr_i_table_copy(matrix, j->base, j->base->rows, j->base->cols);
    if (!*table) return DCSR_ERROR_OUT_OF_MEMORY;
    (*table)->version = j->version;
    for (uint64_t w = 0; w < j->pages; w++) {
        page_work *work = &j->work[w];
        dcsr_i_row_page **slot = dcsr_i_page_slot(matrix, *table, j->base, work->page, NULL);
        if (!slot) return DCSR_ERROR_OUT_OF_MEMORY;
        bool made = make_page(j, work);
        if (work->fresh) *slot = work->fresh;
        if (!made) return DCSR_ERROR_OUT_OF_MEMORY;
    }
    return DCSR_OK;
}

typedef struct change {
    int64_t stored, extra, duplicates, tombstones;
} change;

/* Moves row r of a page to place `to`, resolved where it must be; returns how many entries are left. */
static uint64_t move_row(const job *j, const page_work *work, dcsr_i_resolver *resolver, unsigned r,
                         uint64_t to, change *sum)
{
    dcsr_i_row_page *fresh = work->fresh;
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    const int count = dcsr_i_row_pieces(work->old, r, pieces);
    uint64_t left = 0;
    bool ascends = work->old->ascending >> r & 1;
    if (must_sort(j, work, r)) {
        left = dcsr_i_resolve_row(resolver, j->into, &(dcsr_i_stretch){pieces, count, ascends},
                                  j->selection->column_limit, to);
        ascends = j->matrix->policy != DCSR_POLICY_KEEP;
    } else {
        for (int k = 0; k < count; left += pieces[k++].length)
            dcsr_i_copy_entries(j->into, to + left, pieces[k].begin, pieces[k].length);
        ascends &= count < 2;
    }
    fresh->ascending = (fresh->ascending & ~((uint64_t)1 << r)) | (uint64_t)ascends << r;
    sum->stored += (int64_t)left - (int64_t)work->old->length[r];
    sum->extra -= count > 1 ? count - 1 : 0;
    return left;
}

/* Rewrites the selected rows of one page, one behind the other from place `to` on; returns where they end. */
static uint64_t rewrite_page(const job *j, const page_work *work, dcsr_i_resolver *resolver, uint64_t to,
                             change *sum)
{
    dcsr_i_row_page *fresh = work->fresh;
    for (uint64_t mask = work->mask; mask; mask &= mask - 1) {
        const unsigned r = (unsigned)__builtin_ctzll(mask);
        const uint64_t left = move_row(j, work, resolver, r, to, sum), capacity = row_capacity(j, left);
        fresh->length[r] = (uint32_t)left;
        fresh->segment[0]->of[r] = dcsr_i_segment_of(to, capacity);
        if (!j->selection->for_view) dcsr_i_clear_segments(fresh, 1, r, j->matrix->segments_per_row);
        to += capacity;
    }
    sum->duplicates -= __builtin_popcountll(fresh->duplicates & work->mask);
    sum->tombstones -= __builtin_popcountll(fresh->tombstones & work->mask);
    fresh->fragmented &= ~work->mask;
    fresh->duplicates &= ~work->mask;
    fresh->tombstones &= ~work->mask;
    return to;
}

/* Rewrites the pages of a portion. What resolving has made of no use is given back in one piece, behind them, so that
 * whole blocks of it are free; a view gives back all of its places together. */
static void rewrite_portion(const job *j, const page_work *first, dcsr_i_resolver *resolver, change *sum)
{
    const page_work *last = first + first->portion - 1;
    const uint64_t end = last->places + last->needed;
    uint64_t to = first->places;
    for (const page_work *work = first; work <= last; work++) to = rewrite_page(j, work, resolver, to, sum);
    if (!j->selection->for_view) dcsr_i_arena_give(&j->matrix->arena, to, end - to);
}

/* All rows, in parallel; each thread sorts in room of its own. None begins before all have theirs: rows that
 * have been rewritten have given places back, and a failure could not undo that. */
static dcsr_status rewrite(const job *j, dcsr_i_table *table)
{
    int threads = dcsr_i_threads(j->matrix->context, j->entries);
    atomic_bool failed = false;
    int64_t stored = 0, extra = 0, duplicates = 0, tombstones = 0;
#pragma omp parallel num_threads(threads) reduction(+ : stored, extra, duplicates, tombstones) if (threads > 1)
    {
        dcsr_i_resolver resolver;
        change sum = {0};
        if (dcsr_i_resolver_init(&resolver, j->matrix->context, j->longest) != DCSR_OK)
            atomic_store(&failed, true);
#pragma omp barrier
        bool ready = !atomic_load(&failed);
#pragma omp for schedule(dynamic, 16)
        for (uint64_t w = 0; w < j->pages; w++)
            if (ready && j->work[w].portion) rewrite_portion(j, &j->work[w], &resolver, &sum);
        stored += sum.stored, extra += sum.extra, duplicates += sum.duplicates, tombstones += sum.tombstones;
        dcsr_i_resolver_free(&resolver);
    }
    if (failed) return dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY, "resolving rows: no memory for sorting them");
    table->stored += (uint64_t)stored;
    table->extra_segments += (uint64_t)extra;
    table->duplicate_rows += (uint64_t)duplicates;
    table->tombstone_rows += (uint64_t)tombstones;
    return DCSR_OK;
}

/* What the store no longer needs: directories, pages, their segment pages, the rows' old places. */
static dcsr_status retire(const job *j, const dcsr_i_table *table, dcsr_i_limbo **limbo)
{
    uint64_t count = 1;
    for (uint64_t w = 0; w < j->pages; w++)
        count += 1 + (uint64_t)j->matrix->segments_per_row + j->work[w].ranges;
    *limbo = dcsr_i_limbo_create(j->matrix, count + dcsr_i_count_replaced(j->base, table));
    if (!*limbo) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_i_retire_replaced(*limbo, j->base, table);
    for (uint64_t w = 0; w < j->pages; w++) {
        const dcsr_i_row_page *old = j->work[w].old;
        for (uint64_t mask = j->work[w].mask; mask; mask &= mask - 1) {
            dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
            int n = dcsr_i_segments_of(j->matrix, old, (unsigned)__builtin_ctzll(mask), pieces);
            for (int k = 0; k < n; k++)
                dcsr_i_retire_range(*limbo, &j->matrix->arena, pieces[k].begin, pieces[k].length);
        }
        dcsr_i_retire_page(*limbo, j->matrix, old);
    }
    return DCSR_OK;
}

/* ---- Apart ----
 *
 * Where the arena is in the heap only the one who changes the matrix may take places in it, since it moves as it grows
 * (arena.h). There a view that resolves rows for itself has a home of its own: with what the version's rows hold, at
 * the same places, and behind that the rows that are resolved. */

/* Visits the pieces of a version: the place behind the last of them; with a home, copies them there. */
static uint64_t visit_pieces(const dcsr_matrix *matrix, const dcsr_i_table *base, dcsr_i_home *home)
{
    const dcsr_i_rows rows = dcsr_i_rows_of(matrix, base);
    const size_t size = matrix->value_size;
    const dcsr_i_row_page *page;
    uint64_t end = 0;
    for (uint64_t p = 0; (page = dcsr_i_next_page(base, &p)); p++)
        for (unsigned r = 0; r < DCSR_I_PAGE_ROWS; r++) {
            dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
            for (int k = dcsr_i_row_pieces(page, r, pieces); k-- > 0;) {
                uint64_t begin = pieces[k].begin, n = pieces[k].length;
                if (begin + n > end) end = begin + n;
                if (!home) continue;
                memcpy(home->columns + begin, rows.columns + begin, n * sizeof *rows.columns);
                if (size)
                    memcpy(home->values + begin * size, (const char *)rows.values + begin * size, n * size);
            }
        }
    return end;
}

/* Gives a view's table, which is like `base`, a home of its own for what that holds and so many entries more, which are
 * to be written from place *begin on. */
static dcsr_status set_apart(dcsr_i_table *table, dcsr_matrix *matrix, const dcsr_i_table *base,
                             uint64_t entries, uint64_t *begin)
{
    *begin = visit_pieces(matrix, base, NULL);
    table->home = dcsr_i_home_create(matrix->context, *begin + entries, matrix->value_size);
    if (!table->home) return DCSR_ERROR_OUT_OF_MEMORY;
    visit_pieces(matrix, base, table->home);
    return DCSR_OK;
}

/* Something like the matrix whose arena is that home, to resolve rows in; it has nothing else. */
static dcsr_matrix *make_stand_in(dcsr_matrix *stand_in, const dcsr_matrix *matrix, const dcsr_i_home *home)
{
    *stand_in = (dcsr_matrix){.context = matrix->context,
                              .type = matrix->type,
                              .value_size = matrix->value_size,
                              .policy = matrix->policy,
                              .arena = {.columns = home->columns, .values = home->values}};
    return stand_in;
}

/* ---- The whole ---- */

/* Places for all rows: a view's in blocks of their own, else in portions, for which there is room where blocks are
 * free here and there. */
static dcsr_status take_places(job *j, dcsr_i_rewritten *result)
{
    enum { PORTION = 1 << 16 };
    dcsr_i_arena *arena = &j->matrix->arena;
    const bool for_view = j->selection->for_view;
    while (j->housed < j->pages) {
        const uint64_t first = j->housed;
        uint64_t end = first, needed = 0, to;
        while (end < j->pages && (for_view || needed < PORTION)) needed += j->work[end++].needed;
        DCSR_TRY(j->apart   ? set_apart(result->table, j->matrix, j->base, needed, &to)
                 : for_view ? dcsr_i_arena_take_blocks(arena, needed, j->version, true, &to)
                            : dcsr_i_arena_take(arena, needed, j->version, &to));
        if (!first) result->begin = to;
        result->entries += needed;
        for (; j->housed < end; j->housed++) {
            page_work *work = &j->work[j->housed];
            work->places = to;
            work->portion = for_view ? 1 : j->housed == first ? end - first : 0;
            to += work->needed;
        }
    }
    return DCSR_OK;
}

dcsr_status dcsr_i_rewrite(dcsr_i_rewritten *result, dcsr_matrix *matrix, const dcsr_i_table *base,
                           uint64_t version, const dcsr_i_selection *selection)
{
    *result = (dcsr_i_rewritten){0};
    job j = {.matrix = matrix, .into = matrix, .selection = selection, .base = base, .version = version};
    j.apart = selection->for_view && matrix->arena.in_heap;
    dcsr_status status =
        selection->kind == DCSR_I_UNTIDY_ROWS ? select_untidy_rows(&j, &result->next_page) : select_rows(&j);
    if (status == DCSR_OK && j.pages) {
        measure(&j);
        status = make_table(&j, &result->table);
        if (status == DCSR_OK) status = take_places(&j, result);
        if (status == DCSR_OK && !selection->for_view) status = retire(&j, result->table, &result->limbo);
        dcsr_matrix stand_in;
        if (status == DCSR_OK && j.apart) j.into = make_stand_in(&stand_in, matrix, result->table->home);
        if (status == DCSR_OK) status = rewrite(&j, result->table);
    }
    if (status != DCSR_OK) {
        dcsr_i_free_unshared(matrix, result->table, base);
        dcsr_i_limbo_free(matrix, result->limbo);
        for (uint64_t w = 0; w < j.housed && !j.apart; w++)
            dcsr_i_arena_give(&matrix->arena, j.work[w].places, j.work[w].needed);
        *result = (dcsr_i_rewritten){0};
    }
    dcsr_i_free(matrix->context, DCSR_I_SCRATCH, j.work, j.capacity, sizeof *j.work);
    return status;
}
