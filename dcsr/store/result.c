/* result.c: rows that are computed go into the arena as they come, into pages of a new table. Where nothing
 * is kept, publishing it leaves the old content to the limbo list, as whole defragmentation does. */
#include "dcsr/store/result.h"
#include "dcsr/base/turn.h"
#include "dcsr/store/maintained_transpose.h"
#include <assert.h>
#include <string.h>

/* Threads of a large result take room for this many entries at once: some hundred kilobytes. */
enum { LARGE_SLAB = 1 << 15 };

/* ---- The turn ---- */

/* By the worker, once all that is queued has been applied. */
static dcsr_status turn_of_worker(dcsr_matrix *matrix, dcsr_i_replace *replace, void *user)
{
    dcsr_i_operation *operation = dcsr_i_operation_create(matrix, DCSR_I_REPLACE);
    if (!operation) return DCSR_ERROR_OUT_OF_MEMORY;
    operation->replace.call = replace;
    operation->replace.user = user;
    operation->outcome.watched = true;
    atomic_fetch_add(&operation->references, 1);
    pthread_mutex_lock(&matrix->queue.lock);
    dcsr_status status = dcsr_i_enqueue_locked(matrix, operation);
    pthread_mutex_unlock(&matrix->queue.lock);
    if (status == DCSR_OK)
        status = dcsr_i_operation_wait(operation);
    else
        dcsr_i_operation_release(operation);
    dcsr_i_operation_release(operation);
    return status;
}

/* Takes the turn of a matrix whose queue is idle; with a journal only for what that does not keep. */
static bool take_turn(dcsr_matrix *matrix, bool journaled)
{
    pthread_mutex_lock(&matrix->queue.lock);
    if (!journaled) dcsr_i_queue_await_look(matrix);
    bool here = !(journaled && matrix->queue.journal) && dcsr_i_queue_begin_turn(matrix, NULL);
    pthread_mutex_unlock(&matrix->queue.lock);
    return here;
}

/* In the turn that the calling thread has taken, which then ends. */
static dcsr_status use_turn(dcsr_matrix *matrix, dcsr_i_replace *replace, void *user)
{
    dcsr_status status = dcsr_i_queue_replace(matrix, replace, user);
    pthread_mutex_lock(&matrix->queue.lock);
    dcsr_i_queue_end_turn(matrix);
    pthread_mutex_unlock(&matrix->queue.lock);
    return status;
}

dcsr_status dcsr_i_result_turn(dcsr_matrix *matrix, const char *call, dcsr_i_replace *replace, void *user)
{
    dcsr_i_turn_wait wait;
    DCSR_TRY(dcsr_i_turn_wait_begin(&wait, call, matrix->serial));
    bool here = take_turn(matrix, true);
    dcsr_status status = here ? DCSR_OK : turn_of_worker(matrix, replace, user);
    dcsr_i_turn_wait_end(&wait);
    return here ? use_turn(matrix, replace, user) : status;
}

dcsr_status dcsr_i_idle_turn(dcsr_matrix *matrix, dcsr_i_replace *replace, void *user)
{
    return take_turn(matrix, false) ? use_turn(matrix, replace, user) : DCSR_OK;
}

/* ---- The old content ---- */

/* Whether a table has few pages, and of the arena its entries alone, in one stretch; *born is the version
 * that they were stored for. */
static bool is_small(const dcsr_matrix *matrix, const dcsr_i_table *base, uint64_t *born)
{
    enum { FEW_PAGES = 16 };
    const dcsr_i_row_page *page;
    uint64_t pages = 0;
    *born = UINT64_MAX;
    if (!base->contiguous) return false;
    for (uint64_t p = 0; (page = dcsr_i_next_page(base, &p)); p++) {
        if (++pages > FEW_PAGES || !dcsr_i_page_is_tight(matrix, page)) return false;
        if (page->moved < *born) *born = page->moved;
    }
    return true;
}

/* All of it goes: the blocks of the arena as a whole, or the places of a small table; and the parts of the
 * table. */
static dcsr_status retire_home(dcsr_i_result *result)
{
    dcsr_matrix *matrix = result->matrix;
    dcsr_i_table *base = matrix->versions.current;
    uint64_t born;
    bool small = is_small(matrix, base, &born);
    if (!small) {
        DCSR_TRY(dcsr_i_arena_retire(&matrix->arena, &result->extents, &result->extent_count));
        result->retired = true;
    }
    result->limbo = dcsr_i_limbo_create(matrix, result->extent_count + 1 + dcsr_i_count_of_table(matrix));
    if (!result->limbo) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_i_retire_table(result->limbo, matrix, base);
    if (small && base->stored)
        result->limbo->retired[result->limbo->count++] =
            (dcsr_i_retired){.kind = DCSR_I_RANGE, .born = born, .begin = base->first, .size = base->stored};
    dcsr_i_retire_extents(result->limbo, result->extents, result->extent_count);
    return DCSR_OK;
}

/* ---- Beginning ---- */

static dcsr_status begin(dcsr_i_result *result)
{
    dcsr_matrix *matrix = result->matrix;
    const dcsr_i_table *base = matrix->versions.current;
    result->thread = &result->alone;
    if (result->threads > 1)
        result->thread =
            dcsr_i_calloc(matrix->context, DCSR_I_SCRATCH, (size_t)result->threads, sizeof *result->thread);
    if (!result->thread) return DCSR_ERROR_OUT_OF_MEMORY;
    for (int t = 0; t < result->threads; t++) result->thread[t].number = UINT64_MAX;
    if (dcsr_i_result_collects(matrix)) return dcsr_i_collect_begin(result);
    if (result->threads > 1) DCSR_TRY(dcsr_i_arena_leave_heap(&matrix->arena));
    if (result->keeps) return dcsr_i_patch_begin(result);
    DCSR_TRY(retire_home(result));
    result->table = dcsr_i_table_create(matrix, base->rows, base->cols, base->version + 1);
    return result->table ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}

dcsr_status dcsr_i_result_begin(dcsr_i_result *result, dcsr_matrix *matrix, int threads, uint64_t expected,
                                bool keep)
{
    *result = (dcsr_i_result){.matrix = matrix, .threads = threads, .keeps = keep};
    assert(!keep || !dcsr_i_result_collects(matrix));
    pthread_mutex_init(&result->lock, NULL);
    result->slab = expected / (uint64_t)threads < LARGE_SLAB ? expected / (uint64_t)threads : LARGE_SLAB;
    dcsr_status status = begin(result);
    if (status != DCSR_OK) dcsr_i_result_drop(result);
    return status;
}

/* ---- Adding rows ---- */

/* New places mostly lie behind the old ones, unless another thread took some in between; then they make one
 * room, else what is left of the old is given back. */
static dcsr_status take_places(dcsr_i_result *result, dcsr_i_result_thread *t, uint64_t entries)
{
    dcsr_i_arena *arena = &result->matrix->arena;
    uint64_t begin, taken = entries > result->slab ? entries : result->slab;
    DCSR_TRY(dcsr_i_arena_take(arena, taken, result->table->version, &begin));
    if (begin != t->end || t->next == t->end) {
        dcsr_i_arena_give(arena, t->next, t->end - t->next);
        t->next = begin;
    }
    t->end = begin + taken;
    return DCSR_OK;
}

dcsr_status dcsr_i_result_room(dcsr_i_result *result, int thread, uint64_t entries, dcsr_i_room *room)
{
    dcsr_i_result_thread *t = &result->thread[thread];
    dcsr_matrix *matrix = result->matrix;
    const bool collects = dcsr_i_result_collects(matrix);
    if (collects)
        DCSR_TRY(dcsr_i_collect_room(result, thread, entries));
    else if (t->end - t->next < entries)
        DCSR_TRY(take_places(result, t, entries));
    uint32_t *columns = collects ? t->columns : matrix->arena.columns;
    char *values = collects ? t->values : matrix->arena.values;
    *room =
        (dcsr_i_room){columns + t->next, matrix->value_size ? values + t->next * matrix->value_size : NULL};
    return DCSR_OK;
}

dcsr_i_row_page **dcsr_i_result_slot(dcsr_i_result *result, dcsr_i_result_thread *t, uint64_t p)
{
    uint64_t slot = p & (DCSR_I_DIRECTORY_PAGES - 1), first = p - slot;
    if (t->places && t->places_from == first) return t->places + slot;
    const dcsr_i_table *base = result->keeps ? result->matrix->versions.current : NULL;
    if (result->threads > 1) pthread_mutex_lock(&result->lock);
    t->places = dcsr_i_page_slot(result->matrix, result->table, base, first, t->limbo);
    if (result->threads > 1) pthread_mutex_unlock(&result->lock);
    t->places_from = first;
    return t->places ? t->places + slot : NULL;
}

dcsr_i_row_page *dcsr_i_result_page(dcsr_i_result *result, dcsr_i_result_thread *t)
{
    if (!t->stocked) {
        unsigned n = t->portion ? t->portion : 1;
        if (!dcsr_i_pages_create(result->matrix, n, t->stock, result->table->version)) return NULL;
        t->stocked = n;
        t->portion = 2 * n < DCSR_I_PAGES_AT_ONCE ? 2 * n : DCSR_I_PAGES_AT_ONCE;
    }
    return t->stock[--t->stocked];
}

/* The page that comes next will be written. */
DCSR_I_PREFETCH void prefetch(const dcsr_i_row_page *page)
{
    enum { LINE = 64 };
    const char *segments = (const char *)page->segment[0];
    for (size_t at = 0; at < sizeof page->length; at += LINE)
        __builtin_prefetch((const char *)page->length + at, 1);
    for (size_t at = 0; at < sizeof *page->segment[0]; at += LINE) __builtin_prefetch(segments + at, 1);
}

/* Turns to page p: a new one, of empty rows. */
static dcsr_status turn_to(dcsr_i_result *result, dcsr_i_result_thread *t, uint64_t p)
{
    dcsr_i_row_page **place = dcsr_i_result_slot(result, t, p);
    if (!place) return DCSR_ERROR_OUT_OF_MEMORY;
    t->page = dcsr_i_result_page(result, t);
    if (!t->page) return DCSR_ERROR_OUT_OF_MEMORY;
    t->number = p;
    if (t->stocked) prefetch(t->stock[t->stocked - 1]);
    memset(t->page->segment[0], 0, sizeof *t->page->segment[0]);
    *place = t->page;
    return DCSR_OK;
}

/* Rows of which some have entries. */
static dcsr_status add(dcsr_i_result *result, dcsr_i_result_thread *t, uint64_t first, unsigned count,
                       const uint32_t *lengths)
{
    uint64_t p = first >> DCSR_I_PAGE_SHIFT, at = t->next;
    if (t->number != p) DCSR_TRY(turn_to(result, t, p));
    unsigned r = (unsigned)(first & (DCSR_I_PAGE_ROWS - 1));
    dcsr_i_segment *segment = t->page->segment[0]->of + r;
    memcpy(t->page->length + r, lengths, count * sizeof *lengths);
    for (unsigned i = 0; i < count; at += lengths[i++]) segment[i] = dcsr_i_segment_of(at, lengths[i]);
    return DCSR_OK;
}

/* So many entries at the beginning of the thread's room belong to rows. */
static void advance(dcsr_i_result_thread *t, uint64_t sum)
{
    if (!t->stored) t->first = t->next;
    t->gaps |= t->next != t->first + t->stored;
    t->next += sum;
    t->stored += sum;
}

dcsr_status dcsr_i_result_add(dcsr_i_result *result, int thread, uint64_t first, unsigned count,
                              const uint32_t *lengths)
{
    dcsr_i_result_thread *t = &result->thread[thread];
    uint64_t sum = 0;
    if (result->keeps)
        return dcsr_i_result_add_some(result, thread, first, UINT64_MAX >> (DCSR_I_PAGE_ROWS - count),
                                      lengths);
    for (unsigned r = 0; r < count; r++) sum += lengths[r];
    assert(sum <= t->end - t->next);
    if (sum && dcsr_i_result_collects(result->matrix))
        dcsr_i_collect_add(result, thread, first, count, lengths);
    else if (sum)
        DCSR_TRY(add(result, t, first, count, lengths));
    advance(t, sum);
    return DCSR_OK;
}

dcsr_status dcsr_i_result_add_some(dcsr_i_result *result, int thread, uint64_t first, uint64_t rows,
                                   const uint32_t *lengths)
{
    dcsr_i_result_thread *t = &result->thread[thread];
    uint64_t sum = 0;
    for (uint64_t left = rows; left; left &= left - 1) sum += lengths[__builtin_ctzll(left)];
    assert(sum <= t->end - t->next);
    DCSR_TRY(dcsr_i_patch_add(result, thread, first, rows, lengths));
    advance(t, sum);
    return DCSR_OK;
}

/* ---- Ending ---- */

static void end(dcsr_i_result *result)
{
    dcsr_matrix *matrix = result->matrix;
    if (dcsr_i_result_collects(matrix)) dcsr_i_collect_end(result);
    dcsr_i_free(matrix->context, DCSR_I_MATRIX, result->extents, result->extent_count,
                sizeof *result->extents);
    for (int t = 0; result->thread && t < result->threads; t++) {
        dcsr_i_result_thread *thread = &result->thread[t];
        if (!dcsr_i_result_collects(matrix))
            dcsr_i_arena_give(&matrix->arena, thread->next, thread->end - thread->next);
        while (thread->stocked) {
            dcsr_i_row_page *page = thread->stock[--thread->stocked];
            dcsr_i_segment_page_free(matrix, page->segment[0]);
            dcsr_i_row_page_free(matrix, page);
        }
    }
    if (result->threads > 1)
        dcsr_i_free(matrix->context, DCSR_I_SCRATCH, result->thread, (size_t)result->threads,
                    sizeof *result->thread);
    pthread_mutex_destroy(&result->lock);
}

/* Makes the table the next version. */
static void publish(dcsr_i_result *result)
{
    dcsr_matrix *matrix = result->matrix;
    dcsr_i_table *table = result->table;
    const dcsr_i_result_thread *t = result->thread;
    for (int i = 0; i < result->threads; i++) table->stored += t[i].stored;
    table->contiguous = result->threads == 1 && !t->gaps;
    table->first = t->first;
    bool ascends = !result->duplicates;
    if (result->keeps) {
        ascends = ascends && atomic_load(&matrix->versions.ascending) == matrix->versions.current->version;
        if (!dcsr_i_patch_end(result)) {
            dcsr_i_table_free(matrix, table);
            return;
        }
        dcsr_i_twin_rows(matrix, table);
    }
    if (ascends) atomic_store(&matrix->versions.ascending, table->version);
    dcsr_i_publish(matrix, table, result->limbo);
    if (result->keeps) dcsr_i_changed(matrix, 0);
}

dcsr_status dcsr_i_result_publish(dcsr_i_result *result)
{
    dcsr_matrix *matrix = result->matrix;
    dcsr_status status = DCSR_OK;
    if (dcsr_i_result_collects(matrix)) {
        uint64_t version = matrix->versions.current->version + 1;
        status = dcsr_i_collect_publish(result);
        if (status == DCSR_OK && !result->duplicates) atomic_store(&matrix->versions.ascending, version);
    } else {
        publish(result);
    }
    end(result);
    return status;
}

/* The places of the rows that were added. */
static void give_rows(dcsr_matrix *matrix, const dcsr_i_table *table)
{
    const dcsr_i_row_page *page;
    for (uint64_t p = 0; (page = dcsr_i_next_page(table, &p)); p++)
        for (unsigned r = 0; r < DCSR_I_PAGE_ROWS; r++)
            dcsr_i_arena_give(&matrix->arena, dcsr_i_begin_of(page, 0, r), page->length[r]);
}

void dcsr_i_result_drop(dcsr_i_result *result)
{
    dcsr_matrix *matrix = result->matrix;
    if (result->keeps) {
        dcsr_i_patch_drop(result);
    } else {
        if (result->table) give_rows(matrix, result->table);
        dcsr_i_free_unshared(matrix, result->table, NULL);
        dcsr_i_limbo_free(matrix, result->limbo);
        if (result->retired) dcsr_i_arena_spare(&matrix->arena, result->extents, result->extent_count);
    }
    end(result);
}
