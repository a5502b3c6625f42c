/* result.c: rows that are computed go into the arena as they come, into pages of a new table; publishing it
 * leaves the old content to the grave, as whole defragmentation does. */
#include "dcsr/result.h"
#include <assert.h>
#include <string.h>

/* Threads of a large result take room for this many entries at once: some hundred kilobytes. */
enum { LARGE_SLAB = 1 << 15 };

static bool collects(const dcsr_matrix *matrix)
{
    return matrix->engine->replace != NULL;
}

dcsr_status dcsr_i_result_turn(dcsr_matrix *matrix, dcsr_status (*compute)(dcsr_matrix *matrix, void *user),
                               void *user)
{
    dcsr_i_operation *operation = dcsr_i_operation_create(matrix->context, DCSR_I_REPLACE);
    if (!operation) return DCSR_ERROR_OUT_OF_MEMORY;
    operation->replace = compute;
    operation->user = user;
    return dcsr_i_queue_run(matrix, operation);
}

/* ---- The old content ---- */

/* How many pages of a directory the table has. */
static uint64_t pages_in(const dcsr_i_table *table, uint64_t d)
{
    uint64_t left = dcsr_i_page_count(table) - (d << DCSR_I_DIRECTORY_SHIFT);
    return left < DCSR_I_DIRECTORY_PAGES ? left : DCSR_I_DIRECTORY_PAGES;
}

/* All of it goes: the blocks of the arena as a whole, and the parts of the table. */
static dcsr_status bury_home(dcsr_i_result *result)
{
    dcsr_matrix *matrix = result->matrix;
    const dcsr_i_table *base = matrix->current;
    DCSR_TRY(dcsr_i_arena_doom(&matrix->arena, &result->runs, &result->run_count));
    result->doomed = true;
    uint64_t parts = 2;
    for (uint64_t d = 0; d < base->directories; d++)
        if (base->directory[d]) parts += 1 + pages_in(base, d) * (1 + (uint64_t)matrix->segments_per_row);
    result->grave = dcsr_i_grave_create(matrix, parts);
    if (!result->grave) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t d = 0; d < base->directories; d++) {
        dcsr_i_directory *directory = base->directory[d];
        if (!directory) continue;
        for (uint64_t p = 0, n = pages_in(base, d); p < n; p++)
            if (directory->page[p]) dcsr_i_bury_page(result->grave, matrix, directory->page[p]);
        dcsr_i_bury(result->grave, DCSR_I_DIRECTORY, directory->born, directory, 0);
    }
    /* Born 0: some version may see any part of the runs, so they go after the last of them. */
    dcsr_i_bury(result->grave, DCSR_I_RUNS, 0, result->runs, result->run_count);
    return DCSR_OK;
}

/* ---- Beginning ---- */

static dcsr_status begin(dcsr_i_result *result)
{
    dcsr_matrix *matrix = result->matrix;
    const dcsr_i_table *base = matrix->current;
    result->thread =
        dcsr_i_calloc(matrix->context, DCSR_I_SCRATCH, (size_t)result->threads, sizeof *result->thread);
    if (!result->thread) return DCSR_ERROR_OUT_OF_MEMORY;
    for (int t = 0; t < result->threads; t++) result->thread[t].number = UINT64_MAX;
    if (collects(matrix)) return dcsr_i_collect_begin(result);
    DCSR_TRY(bury_home(result));
    result->table = dcsr_i_table_create(matrix, base->rows, base->cols, base->version + 1);
    return result->table ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}

dcsr_status dcsr_i_result_begin(dcsr_i_result *result, dcsr_matrix *matrix, int threads, uint64_t expected)
{
    *result = (dcsr_i_result){.matrix = matrix, .threads = threads};
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
    uint32_t *columns = matrix->arena.columns;
    char *values = matrix->arena.values;
    if (collects(matrix)) {
        DCSR_TRY(dcsr_i_collect_room(result, thread, entries));
        columns = t->columns;
        values = t->values;
    } else if (t->end - t->next < entries) {
        DCSR_TRY(take_places(result, t, entries));
    }
    *room =
        (dcsr_i_room){columns + t->next, matrix->value_size ? values + t->next * matrix->value_size : NULL};
    return DCSR_OK;
}

/* The directory of page p, made by the first thread that needs it. */
static dcsr_i_directory *directory_of(dcsr_i_result *result, uint64_t p)
{
    dcsr_i_directory **slot = &result->table->directory[p >> DCSR_I_DIRECTORY_SHIFT];
    dcsr_i_directory *directory = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (directory) return directory;
    pthread_mutex_lock(&result->lock);
    directory = *slot;
    if (!directory) {
        directory = dcsr_i_directory_create(result->matrix, NULL, result->table->version);
        __atomic_store_n(slot, directory, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&result->lock);
    return directory;
}

/* Turns to page p: a new one, of empty rows. */
static dcsr_status turn_to(dcsr_i_result *result, dcsr_i_result_thread *t, uint64_t p)
{
    if (!t->stocked) {
        uint64_t pages = dcsr_i_page_count(result->table) - p,
                 n = pages < DCSR_I_PAGES_AT_ONCE ? pages : DCSR_I_PAGES_AT_ONCE;
        if (!dcsr_i_packed_pages_create(result->matrix, n, t->stock, result->table->version))
            return DCSR_ERROR_OUT_OF_MEMORY;
        t->stocked = (unsigned)n;
    }
    dcsr_i_directory *directory = directory_of(result, p);
    if (!directory) return DCSR_ERROR_OUT_OF_MEMORY;
    t->page = t->stock[--t->stocked];
    t->number = p;
    memset(t->page->segment[0]->begin, 0, sizeof t->page->segment[0]->begin);
    directory->page[p & (DCSR_I_DIRECTORY_PAGES - 1)] = t->page;
    return DCSR_OK;
}

dcsr_status dcsr_i_result_add(dcsr_i_result *result, int thread, uint64_t first, unsigned count,
                              const uint32_t *lengths)
{
    dcsr_i_result_thread *t = &result->thread[thread];
    uint64_t sum = 0, at = t->next;
    for (unsigned r = 0; r < count; r++) sum += lengths[r];
    if (!sum) return DCSR_OK;
    assert(sum <= t->end - t->next);
    if (collects(result->matrix)) {
        dcsr_i_collect_add(result, thread, first, count, lengths);
    } else {
        uint64_t p = first >> DCSR_I_PAGE_SHIFT;
        if (t->number != p) DCSR_TRY(turn_to(result, t, p));
        unsigned r = (unsigned)(first & (DCSR_I_PAGE_ROWS - 1));
        uint64_t *begin = t->page->segment[0]->begin + r;
        memcpy(t->page->length + r, lengths, count * sizeof *lengths);
        for (unsigned i = 0; i < count; at += lengths[i++]) begin[i] = at;
        if (!t->stored) t->first = t->next;
        t->gaps |= t->next != t->first + t->stored;
    }
    t->next += sum;
    t->stored += sum;
    return DCSR_OK;
}

/* ---- Ending ---- */

static void end(dcsr_i_result *result)
{
    dcsr_matrix *matrix = result->matrix;
    if (collects(matrix)) dcsr_i_collect_end(result);
    for (int t = 0; result->thread && t < result->threads; t++) {
        dcsr_i_result_thread *thread = &result->thread[t];
        if (!collects(matrix)) dcsr_i_arena_give(&matrix->arena, thread->next, thread->end - thread->next);
        while (thread->stocked) {
            dcsr_i_row_page *page = thread->stock[--thread->stocked];
            dcsr_i_segment_page_free(matrix, page->segment[0], true);
            dcsr_i_row_page_free(matrix, page);
        }
    }
    dcsr_i_free(matrix->context, DCSR_I_SCRATCH, result->thread, (size_t)result->threads,
                sizeof *result->thread);
    pthread_mutex_destroy(&result->lock);
}

dcsr_status dcsr_i_result_publish(dcsr_i_result *result)
{
    dcsr_matrix *matrix = result->matrix;
    dcsr_i_table *table = result->table;
    uint64_t version = matrix->current->version + 1;
    dcsr_status status = collects(matrix) ? dcsr_i_collect_publish(result) : DCSR_OK;
    if (table) {
        const dcsr_i_result_thread *t = result->thread;
        for (int i = 0; i < result->threads; i++) table->stored += t[i].stored;
        table->contiguous = result->threads == 1 && !t->gaps;
        table->first = t->first;
    }
    end(result);
    if (status != DCSR_OK) return status;
    atomic_store(&matrix->ascending, version);
    if (table) dcsr_i_publish(matrix, table, result->grave);
    return DCSR_OK;
}

/* The places of the rows that were added. */
static void give_rows(dcsr_matrix *matrix, const dcsr_i_table *table)
{
    for (uint64_t d = 0; d < table->directories; d++)
        for (int p = 0; table->directory[d] && p < DCSR_I_DIRECTORY_PAGES; p++) {
            const dcsr_i_row_page *page = table->directory[d]->page[p];
            for (unsigned r = 0; page && r < DCSR_I_PAGE_ROWS; r++)
                dcsr_i_arena_give(&matrix->arena, page->segment[0]->begin[r], page->length[r]);
        }
}

void dcsr_i_result_drop(dcsr_i_result *result)
{
    dcsr_matrix *matrix = result->matrix;
    if (result->table) give_rows(matrix, result->table);
    dcsr_i_free_unshared(matrix, result->table, NULL);
    dcsr_i_grave_free(matrix, result->grave);
    if (result->doomed) {
        dcsr_i_arena_spare(&matrix->arena, result->runs, result->run_count);
        dcsr_i_free(matrix->context, DCSR_I_MATRIX, result->runs, result->run_count, sizeof *result->runs);
    }
    end(result);
}
