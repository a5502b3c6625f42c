/* compact_cuda.c: rows one behind the other on a device: whole defragmentation, and filling a matrix from CSR:
 * what compact.c does. */
#include "dcsr/store/cuda/keys_cuda.h"
#include "dcsr/store/cuda/rewrite_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"
#include "dcsr/store/maintained_transpose.h"

/* A table in which row i has the places from first + offsets[i] on, in blocks of its own. */
typedef struct layout {
    dcsr_matrix *matrix;
    dcsr_i_cuda_stream *stream;
    uint64_t rows, cols, entries;
    uint64_t *offsets; /* rows + 1, on the device */
    dcsr_i_cuda_page_need *needs;
    uint64_t pages, used; /* of the table, of those that are made: `used` needs */
    /* Of each that is made, whether it has entries: on the device, NULL if all have; and in the landing area. */
    uint8_t *in_use, *found;
    uint64_t first;
    const uint32_t *old_root; /* of rows that only move, on the device */
    bool taken;
    dcsr_i_cuda_build build;
} layout;

static dcsr_status start(layout *l, bool with_offsets)
{
    dcsr_context *context = l->matrix->context;
    l->stream = l->build.stream = l->matrix->cuda->stream;
    l->build.matrix = l->matrix;
    l->build.laid_out = true;
    l->pages = dcsr_i_cuda_page_count(l->rows);
    l->needs = dcsr_i_alloc(context, DCSR_I_SCRATCH, l->pages, sizeof *l->needs);
    if (!l->needs) return dcsr_i_no_memory();
    if (!with_offsets) return DCSR_OK;
    l->offsets = dcsr_i_cuda_alloc(l->stream, DCSR_I_SCRATCH, l->rows + 1, sizeof *l->offsets);
    return l->offsets ? DCSR_OK : dcsr_i_no_memory();
}

static void need_page(layout *l, uint64_t page)
{
    l->needs[l->used++] = (dcsr_i_cuda_page_need){.page = (uint32_t)page, .levels = 1};
}

static dcsr_status take_places(layout *l)
{
    uint64_t version = l->matrix->versions.current->version + 1;
    DCSR_TRY(dcsr_i_arena_take_blocks(&l->matrix->arena, l->entries, version, false, &l->first));
    l->taken = true;
    return DCSR_OK;
}

static dcsr_i_cuda_new_pages new_pages(const layout *l)
{
    dcsr_i_cuda_store *store = l->matrix->cuda;
    return (dcsr_i_cuda_new_pages){l->build.changes,
                                   l->used,
                                   (dcsr_i_cuda_row_page *)store->row_pages.memory.start,
                                   (dcsr_i_cuda_segment_page *)store->segment_pages.memory.start,
                                   l->build.table->root->device,
                                   l->in_use,
                                   l->build.table->version - 1};
}

/* Makes the table, with room for `further` retired objects. */
static dcsr_status make_table(layout *l, uint64_t further)
{
    uint64_t version = l->matrix->versions.current->version + 1;
    DCSR_TRY(
        dcsr_i_cuda_build_begin(&l->build, l->needs, (uint32_t)l->used, l->rows, l->cols, version, further));
    const dcsr_i_cuda_new_pages pages = new_pages(l);
    dcsr_i_cuda_lay_out(l->stream, &pages, l->offsets, l->rows, l->first, l->old_root);
    l->build.table->stored = l->entries;
    l->build.table->contiguous = true;
    l->build.table->first = l->first;
    return DCSR_OK;
}

static char *values_at(const layout *l, uint64_t place)
{
    return l->matrix->value_size ? l->matrix->arena.values + place * l->matrix->value_size : NULL;
}

/* Frees what was for the building, and after a failure what was built. */
static void end(layout *l, dcsr_status status)
{
    if (status != DCSR_OK) {
        dcsr_i_cuda_build_undo(&l->build);
        dcsr_i_cuda_settle(l->stream, "taking back a change");
        if (l->taken) dcsr_i_arena_give(&l->matrix->arena, l->first, l->entries);
    } else {
        dcsr_i_cuda_build_end(&l->build);
    }
    dcsr_i_cuda_free(l->stream, DCSR_I_SCRATCH, l->offsets, l->rows + 1, sizeof *l->offsets);
    dcsr_i_cuda_free(l->stream, DCSR_I_SCRATCH, l->in_use, l->used, sizeof *l->in_use);
    dcsr_i_free(l->matrix->context, DCSR_I_SCRATCH, l->needs, l->pages, sizeof *l->needs);
}

/* ---- Which pages have entries ---- */

/* By the offsets, or by the lengths of rows that stand anywhere. Waits. */
static dcsr_status find_used_pages(layout *l, const uint32_t *length)
{
    uint8_t *used = dcsr_i_cuda_alloc(l->stream, DCSR_I_SCRATCH, l->pages, sizeof *used),
            *found = dcsr_i_cuda_landing(l->stream, l->pages);
    dcsr_status status = used && found ? DCSR_OK : dcsr_i_no_memory();
    if (status == DCSR_OK && length)
        dcsr_i_cuda_find_pages_of_rows(l->stream, length, l->rows, used);
    else if (status == DCSR_OK)
        dcsr_i_cuda_find_used_pages(l->stream, l->offsets, l->rows, used);
    if (status == DCSR_OK) dcsr_i_cuda_copy(l->stream, found, used, l->pages);
    dcsr_i_cuda_free(l->stream, DCSR_I_SCRATCH, used, l->pages, sizeof *used);
    if (status == DCSR_OK) status = dcsr_i_cuda_wait(l->stream, "looking for pages in use");
    for (uint64_t p = 0; status == DCSR_OK && p < l->pages; p++)
        if (found[p]) need_page(l, p);
    return status;
}

/* Those of the version before: one of them may have none any more, which is told with all else. */
static dcsr_status keep_pages(layout *l, const dcsr_i_cuda_root *root)
{
    for (uint64_t p = 0; p < root->pages; p++)
        if (root->host[p] != DCSR_CUDA_NONE) need_page(l, p);
    l->in_use = dcsr_i_cuda_alloc(l->stream, DCSR_I_SCRATCH, l->used, sizeof *l->in_use);
    l->found = dcsr_i_cuda_landing(l->stream, l->used);
    return l->in_use && l->found ? DCSR_OK : dcsr_i_no_memory();
}

static void drop_empty_pages(layout *l)
{
    for (uint64_t i = 0; i < l->used; i++)
        if (!l->found[i]) dcsr_i_cuda_build_drop(&l->build, l->needs[i].page);
}

/* ---- Defragmentation ---- */

/* The old home: blocks of the arena that are freed as a whole once the rows have moved out. */
typedef struct home {
    dcsr_i_extent *extents;
    uint64_t count;
    bool retired;
} home;

static dcsr_status leave_home(layout *l, home *old)
{
    DCSR_TRY(dcsr_i_arena_retire(&l->matrix->arena, &old->extents, &old->count));
    old->retired = true;
    return take_places(l);
}

/* What make_table() must leave room for, and what then goes into the limbo list. */
static uint64_t retired_home(const layout *l, const home *old)
{
    return dcsr_i_cuda_most_to_retire(l->matrix->versions.current, 0) + old->count;
}
static void retire_home(layout *l, const home *old)
{
    dcsr_i_cuda_retire_pages(l->build.limbo, l->matrix, l->matrix->versions.current);
    dcsr_i_retire_extents(l->build.limbo, old->extents, old->count);
}

/* Ends the change: publishes what was built, or takes all back. */
static void end_move(layout *l, const home *old, dcsr_status status)
{
    dcsr_matrix *matrix = l->matrix;
    dcsr_i_table *next = l->build.table;
    dcsr_i_limbo *limbo = l->build.limbo;
    end(l, status);
    if (status == DCSR_OK) {
        dcsr_i_publish(matrix, next, limbo);
    } else if (old->retired) {
        dcsr_i_arena_spare(&matrix->arena, old->extents, old->count);
    }
    dcsr_i_free(matrix->context, DCSR_I_MATRIX, old->extents, old->count, sizeof *old->extents);
}

/* While the device sums up lengths, the host maps memory for the rows; while it moves entries, the host sees to the
 * pages. It waits once. */
static dcsr_status move_rows(layout *l, home *old)
{
    dcsr_matrix *matrix = l->matrix;
    const dcsr_i_table *base = matrix->versions.current;
    DCSR_TRY(start(l, true));
    DCSR_TRY(keep_pages(l, base->root));
    dcsr_i_cuda_walk walk = {dcsr_i_cuda_rows_of_table(matrix, base), NULL, base->rows, l->offsets};
    DCSR_TRY(dcsr_i_cuda_sum_lengths(l->stream, &walk.rows, NULL, l->rows, l->offsets));
    DCSR_TRY(leave_home(l, old));
    dcsr_i_cuda_gather(l->stream, &walk, l->entries, NULL, matrix->arena.columns + l->first,
                       values_at(l, l->first));
    DCSR_TRY(make_table(l, retired_home(l, old)));
    dcsr_i_cuda_copy(l->stream, l->found, l->in_use, l->used);
    retire_home(l, old);
    DCSR_TRY(dcsr_i_cuda_wait(l->stream, "defragmenting"));
    drop_empty_pages(l);
    return DCSR_OK;
}

/* Only what is made here is contiguous, and leaves no room between rows. */
dcsr_status dcsr_i_cuda_tighten(dcsr_matrix *matrix)
{
    const dcsr_i_table *base = matrix->versions.current;
    if (base->contiguous) return DCSR_OK;
    layout l = {.matrix = matrix,
                .rows = base->rows,
                .cols = base->cols,
                .entries = base->stored,
                .old_root = base->root->device};
    home old = {0};
    dcsr_i_cuda_enter(matrix->cuda->stream);
    dcsr_status status = move_rows(&l, &old);
    if (status == DCSR_OK) dcsr_i_twin_stays(matrix);
    end_move(&l, &old, status);
    dcsr_i_cuda_step_out(matrix->cuda->stream);
    return status;
}

/* ---- From CSR ---- */

/* Marks the rows whose columns do not ascend strictly, for some may stand more than once. */
static dcsr_status mark_rows(layout *l, uint64_t *marked)
{
    dcsr_matrix *matrix = l->matrix;
    uint64_t words = dcsr_i_cuda_bitmap_words(l->rows);
    uint32_t *bitmap = dcsr_i_cuda_alloc(l->stream, DCSR_I_SCRATCH, words, sizeof *bitmap);
    uint64_t *count = bitmap ? dcsr_i_cuda_alloc(l->stream, DCSR_I_SCRATCH, 1, sizeof *count) : NULL,
             *landing = dcsr_i_cuda_landing(l->stream, sizeof *landing);
    dcsr_status status = count && landing ? DCSR_OK : dcsr_i_no_memory();
    if (status == DCSR_OK) {
        dcsr_i_cuda_walk walk = {
            .rows = {.rows = l->rows, .offsets = l->offsets, .columns = matrix->arena.columns + l->first},
            .count = l->rows,
            .offsets = l->offsets};
        dcsr_i_cuda_fill(l->stream, bitmap, 0, words * sizeof *bitmap);
        dcsr_i_cuda_fill(l->stream, count, 0, sizeof *count);
        dcsr_i_cuda_select_unsorted(l->stream, &walk, l->entries, true, bitmap);
        dcsr_i_cuda_mark_duplicates(l->stream, l->build.changes, l->used,
                                    (dcsr_i_cuda_row_page *)matrix->cuda->row_pages.memory.start, bitmap,
                                    l->rows, count);
        dcsr_i_cuda_copy(l->stream, landing, count, sizeof *landing);
        status = dcsr_i_cuda_wait(l->stream, "filling a matrix");
    }
    if (status == DCSR_OK) l->build.table->duplicate_rows = *marked = *landing;
    dcsr_i_cuda_free(l->stream, DCSR_I_SCRATCH, count, 1, sizeof *count);
    dcsr_i_cuda_free(l->stream, DCSR_I_SCRATCH, bitmap, words, sizeof *bitmap);
    return status;
}

/* The pages that have entries, and the row offsets. */
static dcsr_status start_from_csr(layout *l, const dcsr_csr *csr)
{
    DCSR_TRY(start(l, true));
    for (uint64_t p = 0; p < l->pages; p++) {
        uint64_t row = p << DCSR_CUDA_PAGE_SHIFT, last = row + DCSR_CUDA_PAGE_ROWS;
        if (csr->offsets[row] != csr->offsets[last < l->rows ? last : l->rows]) need_page(l, p);
    }
    dcsr_i_cuda_copy(l->stream, l->offsets, csr->offsets, (l->rows + 1) * sizeof *l->offsets);
    return DCSR_OK;
}

static void copy_entries(const layout *l, const dcsr_csr *csr)
{
    dcsr_matrix *matrix = l->matrix;
    dcsr_i_cuda_copy(l->stream, matrix->arena.columns + l->first, csr->col_indices,
                     l->entries * sizeof *csr->col_indices);
    if (matrix->value_size)
        dcsr_i_cuda_copy(l->stream, values_at(l, l->first), csr->values, l->entries * matrix->value_size);
}

static dcsr_status fail_csr(const dcsr_csr *csr, const dcsr_i_cuda_csr_verdict *v)
{
    const unsigned long long row = v->row, entry = v->entry, nnz = csr->nnz, cols = csr->cols;
    if (v->first || v->last != csr->nnz)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "CSR: the offsets go from %llu to %llu; they must go from 0 to nnz, %llu",
                           (unsigned long long)v->first, (unsigned long long)v->last, nnz);
    if (v->row != UINT64_MAX)
        return dcsr_i_fail(
            DCSR_ERROR_INVALID_ARGUMENT,
            "CSR: offsets[%llu] and the next must ascend, to nnz (%llu) at most, by 2^31 at most", row, nnz);
    return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE,
                       "CSR: the column of entry %llu is out of range; there are %llu columns", entry, cols);
}

/* The same for CSR on the device, which is checked there. */
static dcsr_status start_from_csr_device(layout *l, const dcsr_csr *csr)
{
    DCSR_TRY(start(l, true));
    dcsr_i_cuda_csr_verdict *found = dcsr_i_cuda_alloc(l->stream, DCSR_I_SCRATCH, 1, sizeof *found),
                            *verdict = dcsr_i_cuda_landing(l->stream, sizeof *verdict);
    if (found && verdict) {
        dcsr_i_cuda_check_csr(l->stream, csr, found);
        dcsr_i_cuda_copy(l->stream, verdict, found, sizeof *verdict);
    }
    dcsr_i_cuda_free(l->stream, DCSR_I_SCRATCH, found, 1, sizeof *found);
    if (!found || !verdict) return dcsr_i_no_memory();
    DCSR_TRY(dcsr_i_cuda_wait(l->stream, "reading a CSR"));
    if (verdict->first || verdict->last != csr->nnz || verdict->row != UINT64_MAX ||
        verdict->entry != UINT64_MAX)
        return fail_csr(csr, verdict);
    dcsr_i_cuda_copy(l->stream, l->offsets, csr->offsets, (l->rows + 1) * sizeof *l->offsets);
    return find_used_pages(l, NULL);
}

static dcsr_status copy_rows(layout *l, const dcsr_csr *csr, bool on_device, uint64_t *marked)
{
    DCSR_TRY(on_device ? start_from_csr_device(l, csr) : start_from_csr(l, csr));
    DCSR_TRY(take_places(l));
    DCSR_TRY(make_table(l, 0));
    copy_entries(l, csr);
    if (l->matrix->policy != DCSR_POLICY_KEEP) return mark_rows(l, marked);
    return dcsr_i_cuda_wait(l->stream, "filling a matrix");
}

/* No worker runs yet: its stream is the caller's for now. */
static dcsr_status fill_matrix(dcsr_matrix *matrix, const dcsr_csr *csr, bool on_device, uint64_t *marked)
{
    layout l = {.matrix = matrix, .rows = csr->rows, .cols = csr->cols, .entries = csr->nnz};
    *marked = 0;
    dcsr_i_cuda_enter(matrix->cuda->stream);
    dcsr_status status = copy_rows(&l, csr, on_device, marked);
    dcsr_i_table *next = l.build.table;
    dcsr_i_limbo *limbo = l.build.limbo;
    end(&l, status);
    dcsr_i_cuda_leave(matrix->cuda->stream);
    if (status == DCSR_OK) dcsr_i_publish(matrix, next, limbo);
    return status;
}

dcsr_status dcsr_i_cuda_fill_matrix(dcsr_matrix *matrix, const dcsr_csr *csr, uint64_t *marked)
{
    return fill_matrix(matrix, csr, false, marked);
}

static dcsr_status check_place(const dcsr_matrix *matrix, const char *name, const void *array)
{
    dcsr_i_cuda_memory_kind where = dcsr_i_cuda_where(matrix->context->cuda, array);
    if (where == DCSR_CUDA_ON_DEVICE || where == DCSR_CUDA_PINNED) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                       where == DCSR_CUDA_HOST
                           ? "CSR: %s is in the memory of the host; call dcsr_matrix_from_csr()"
                           : "CSR: %s is in the memory of another GPU than the context's",
                       name);
}

dcsr_status dcsr_i_cuda_fill_from_device(dcsr_matrix *matrix, const dcsr_csr *csr, void *stream,
                                         uint64_t *marked)
{
    DCSR_TRY(check_place(matrix, "offsets", csr->offsets));
    if (csr->nnz) DCSR_TRY(check_place(matrix, "col_indices", csr->col_indices));
    if (csr->nnz && matrix->value_size) DCSR_TRY(check_place(matrix, "values", csr->values));
    dcsr_i_cuda_enter(matrix->cuda->stream);
    dcsr_i_cuda_order_after_caller(matrix->cuda->stream, stream);
    dcsr_i_cuda_leave(matrix->cuda->stream);
    return fill_matrix(matrix, csr, true, marked);
}

static dcsr_status replace_rows(layout *l, home *old, const dcsr_csr *csr)
{
    DCSR_TRY(start_from_csr(l, csr));
    DCSR_TRY(leave_home(l, old));
    DCSR_TRY(make_table(l, retired_home(l, old)));
    copy_entries(l, csr);
    retire_home(l, old);
    return dcsr_i_cuda_wait(l->stream, "writing a result");
}

dcsr_status dcsr_i_cuda_replace(dcsr_matrix *matrix, const dcsr_csr *csr)
{
    layout l = {.matrix = matrix, .rows = csr->rows, .cols = csr->cols, .entries = csr->nnz};
    home old = {0};
    /* The caller may have the matrix's turn, and so its stream. */
    dcsr_i_cuda_enter(matrix->cuda->stream);
    dcsr_status status = replace_rows(&l, &old, csr);
    end_move(&l, &old, status);
    dcsr_i_cuda_leave(matrix->cuda->stream);
    return status;
}

/* ---- From entries on the device ---- */

enum { KEY_SHIFT = 32 };

static dcsr_status take_entries(layout *l, home *old, const uint64_t *keys, const void *values)
{
    dcsr_matrix *matrix = l->matrix;
    DCSR_TRY(start(l, true));
    dcsr_i_cuda_find_begins(l->stream, keys, l->entries, KEY_SHIFT, l->rows, l->offsets);
    DCSR_TRY(find_used_pages(l, NULL));
    DCSR_TRY(leave_home(l, old));
    dcsr_i_cuda_take_low(l->stream, keys, l->entries, KEY_SHIFT, matrix->arena.columns + l->first);
    if (matrix->value_size)
        dcsr_i_cuda_copy(l->stream, values_at(l, l->first), values, l->entries * matrix->value_size);
    DCSR_TRY(make_table(l, retired_home(l, old)));
    retire_home(l, old);
    return dcsr_i_cuda_wait(l->stream, "writing a result");
}

dcsr_status dcsr_i_cuda_replace_entries(dcsr_matrix *matrix, const uint64_t *keys, const void *values,
                                        uint64_t n, bool strictly)
{
    const dcsr_i_table *base = matrix->versions.current;
    layout l = {.matrix = matrix, .rows = base->rows, .cols = base->cols, .entries = n};
    home old = {0};
    dcsr_status status = take_entries(&l, &old, keys, values);
    end_move(&l, &old, status);
    if (status == DCSR_OK && strictly)
        atomic_store(&matrix->versions.ascending, matrix->versions.current->version);
    return status;
}

/* ---- From rows that kernels write ---- */

static dcsr_status grow_rooms(dcsr_i_cuda_sink *sink)
{
    dcsr_context *context = sink->matrix->context;
    const uint64_t capacity = sink->room_capacity * 2 + 4;
    dcsr_i_cuda_room *room = dcsr_i_alloc(context, DCSR_I_SCRATCH, capacity, sizeof *room);
    if (!room) return dcsr_i_no_memory();
    if (sink->room_count) memcpy(room, sink->room, sink->room_count * sizeof *room);
    dcsr_i_free(context, DCSR_I_SCRATCH, sink->room, sink->room_capacity, sizeof *room);
    sink->room = room;
    sink->room_capacity = capacity;
    return DCSR_OK;
}

dcsr_status dcsr_i_cuda_sink_room(dcsr_i_cuda_sink *sink, uint64_t entries, uint64_t *first)
{
    dcsr_matrix *matrix = sink->matrix;
    uint64_t version = matrix->versions.current->version + 1;
    if (sink->room_count == sink->room_capacity) DCSR_TRY(grow_rooms(sink));
    DCSR_TRY(dcsr_i_arena_take_blocks(&matrix->arena, entries, version, false, first));
    sink->room[sink->room_count].first = *first;
    sink->room[sink->room_count++].entries = entries;
    return DCSR_OK;
}

void dcsr_i_cuda_sink_cut(dcsr_i_cuda_sink *sink, uint64_t used)
{
    uint64_t k = sink->room_count - 1, rest = sink->room[k].entries - used;
    if (rest) dcsr_i_arena_give(&sink->matrix->arena, sink->room[k].first + used, rest);
    sink->room[k].entries = used;
}

static dcsr_status open_sink(dcsr_i_cuda_sink *sink, uint64_t rows)
{
    sink->begin = dcsr_i_cuda_alloc(sink->stream, DCSR_I_SCRATCH, rows, sizeof *sink->begin);
    sink->length = dcsr_i_cuda_alloc(sink->stream, DCSR_I_SCRATCH, rows, sizeof *sink->length);
    if (!sink->begin || !sink->length) return dcsr_i_no_memory();
    dcsr_i_cuda_fill(sink->stream, sink->length, 0, rows * sizeof *sink->length);
    return DCSR_OK;
}

static void close_sink(dcsr_i_cuda_sink *sink, uint64_t rows, dcsr_status status)
{
    if (status != DCSR_OK) {
        dcsr_i_cuda_settle(sink->stream, "taking back a change");
        for (uint64_t k = 0; k < sink->room_count; k++)
            dcsr_i_arena_give(&sink->matrix->arena, sink->room[k].first, sink->room[k].entries);
    }
    dcsr_i_cuda_free(sink->stream, DCSR_I_SCRATCH, sink->begin, rows, sizeof *sink->begin);
    dcsr_i_cuda_free(sink->stream, DCSR_I_SCRATCH, sink->length, rows, sizeof *sink->length);
    dcsr_i_free(sink->matrix->context, DCSR_I_SCRATCH, sink->room, sink->room_capacity, sizeof *sink->room);
}

/* The table of what was produced. */
static dcsr_status enter_rows(layout *l, const home *old, const dcsr_i_cuda_sink *sink)
{
    uint64_t version = l->matrix->versions.current->version + 1;
    DCSR_TRY(find_used_pages(l, sink->length));
    DCSR_TRY(dcsr_i_cuda_build_begin(&l->build, l->needs, (uint32_t)l->used, l->rows, l->cols, version,
                                     retired_home(l, old)));
    const dcsr_i_cuda_new_pages pages = new_pages(l);
    dcsr_i_cuda_lay_out_rows(l->stream, &pages, sink->begin, sink->length, l->rows, sink->ascending);
    l->build.table->stored = sink->stored;
    l->build.table->contiguous = sink->contiguous;
    l->build.table->first = sink->room_count ? sink->room[0].first : 0;
    retire_home(l, old);
    return dcsr_i_cuda_wait(l->stream, "writing a result");
}

static dcsr_status produce_rows(layout *l, home *old, dcsr_i_cuda_sink *sink, dcsr_i_cuda_produce *produce,
                                void *user)
{
    DCSR_TRY(start(l, false));
    DCSR_TRY(open_sink(sink, l->rows));
    DCSR_TRY(dcsr_i_arena_retire(&l->matrix->arena, &old->extents, &old->count));
    old->retired = true;
    DCSR_TRY(produce(sink, user));
    return enter_rows(l, old, sink);
}

dcsr_status dcsr_i_cuda_replace_rows(dcsr_matrix *matrix, dcsr_i_cuda_produce *produce, void *user)
{
    const dcsr_i_table *base = matrix->versions.current;
    layout l = {.matrix = matrix, .rows = base->rows, .cols = base->cols};
    dcsr_i_cuda_sink sink = {.matrix = matrix, .stream = matrix->cuda->stream};
    home old = {0};
    dcsr_status status = produce_rows(&l, &old, &sink, produce, user);
    close_sink(&sink, l.rows, status);
    end_move(&l, &old, status);
    if (status == DCSR_OK && sink.ascending)
        atomic_store(&matrix->versions.ascending, matrix->versions.current->version);
    return status;
}
