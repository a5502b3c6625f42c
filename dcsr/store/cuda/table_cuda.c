/* table_cuda.c: tables on a device (rowtable_cuda.h): roots, sharing and retiring pages, building a version.
 */
#include "dcsr/store/cuda/store_cuda.h"
#include "dcsr/store/cuda/table_cuda.h"

/* Stands in a page that is planned for a segment page of its own. */
#define OWN_SEGMENT (DCSR_CUDA_NONE - 1)

/* ---- Tables ---- */

/* A table whose root is yet to be written. */
static dcsr_i_table *create_table(dcsr_matrix *matrix, dcsr_i_cuda_stream *stream, uint64_t rows,
                                  uint64_t cols, uint64_t version)
{
    dcsr_i_table *table = dcsr_i_part_create(matrix, sizeof *table);
    dcsr_i_cuda_root *root = table ? dcsr_i_part_create(matrix, sizeof *root) : NULL;
    if (!root) {
        dcsr_i_part_free(matrix, table, sizeof *table);
        return NULL;
    }
    *table = (dcsr_i_table){.version = version,
                            .rows = rows,
                            .cols = cols,
                            .segments_per_row = matrix->segments_per_row,
                            .root = root};
    *root = (dcsr_i_cuda_root){.pages = dcsr_i_cuda_page_count(rows)};
    root->host = dcsr_i_part_create(matrix, root->pages * sizeof *root->host);
    if (root->host)
        root->device = dcsr_i_cuda_alloc(stream, DCSR_I_MATRIX, root->pages, sizeof *root->device);
    if (root->device) return table;
    dcsr_i_cuda_table_free(matrix, table);
    return NULL;
}

void dcsr_i_cuda_table_free(dcsr_matrix *matrix, dcsr_i_table *table)
{
    if (!table) return;
    dcsr_i_cuda_root *root = table->root;
    if (root->device)
        dcsr_i_cuda_free(matrix->cuda->stream, DCSR_I_MATRIX, root->device, root->pages,
                         sizeof *root->device);
    dcsr_i_part_free(matrix, root->host, root->pages * sizeof *root->host);
    dcsr_i_part_free(matrix, root, sizeof *root);
    dcsr_i_part_free(matrix, table, sizeof *table);
}

static uint32_t slot_of(const dcsr_i_table *table, uint64_t page)
{
    return table && page < table->root->pages ? table->root->host[page] : DCSR_CUDA_NONE;
}

/* What is done with the slots that one table uses and another does not. */
typedef void visit_slot(void *user, dcsr_i_retired_kind kind, uint32_t slot);

/* Visits the slots of a page that base's page does not use. With the lock of `spare`. */
static void visit_page(dcsr_matrix *matrix, uint32_t own, uint32_t base, visit_slot *visit, void *user)
{
    const dcsr_i_cuda_slots *rows = &matrix->cuda->row_pages;
    if (own == DCSR_CUDA_NONE || own == base) return;
    for (int k = 0; k < matrix->segments_per_row; k++) {
        uint32_t segment = rows->segment[own][k];
        if (segment == DCSR_CUDA_NONE) continue;
        if (base == DCSR_CUDA_NONE || rows->segment[base][k] != segment)
            visit(user, DCSR_I_SEGMENT_SLOT, segment);
    }
    visit(user, DCSR_I_ROW_SLOT, own);
}

/* The same for all pages of a table from `first` on. */
static void visit_table(dcsr_matrix *matrix, const dcsr_i_table *own, const dcsr_i_table *base,
                        uint64_t first, visit_slot *visit, void *user)
{
    for (uint64_t p = first; p < own->root->pages; p++)
        visit_page(matrix, slot_of(own, p), slot_of(base, p), visit, user);
}

static void give(void *user, dcsr_i_retired_kind kind, uint32_t slot)
{
    dcsr_i_cuda_store *store = user;
    dcsr_i_cuda_slot_give(kind == DCSR_I_ROW_SLOT ? &store->row_pages : &store->segment_pages, slot);
}

void dcsr_i_cuda_free_unshared(dcsr_matrix *matrix, dcsr_i_table *own, const dcsr_i_table *base)
{
    if (!own) return;
    pthread_mutex_lock(&matrix->spare.lock);
    visit_table(matrix, own, base, 0, give, matrix->cuda);
    pthread_mutex_unlock(&matrix->spare.lock);
    dcsr_i_cuda_table_free(matrix, own);
}

void dcsr_i_cuda_free_retired(dcsr_matrix *matrix, const dcsr_i_retired *retired)
{
    switch (retired->kind) {
    case DCSR_I_TABLE:
        dcsr_i_cuda_table_free(matrix, retired->pointer);
        break;
    case DCSR_I_ROW_SLOT:
    case DCSR_I_SEGMENT_SLOT:
        give(matrix->cuda, retired->kind, (uint32_t)retired->begin);
        break;
    case DCSR_I_PLACES:
        dcsr_i_arena_give_counts(&matrix->arena, retired->begin, retired->size);
        break;
    default:
        dcsr_i_free_retired(matrix, retired);
    }
}

/* ---- Retiring ---- */

typedef struct retirement {
    const dcsr_i_cuda_store *store;
    dcsr_i_limbo *limbo;
} retirement;

static void retire_slot(void *user, dcsr_i_retired_kind kind, uint32_t slot)
{
    const retirement *b = user;
    const dcsr_i_cuda_slots *slots =
        kind == DCSR_I_ROW_SLOT ? &b->store->row_pages : &b->store->segment_pages;
    dcsr_i_retire(b->limbo, kind, slots->born[slot], NULL, 0);
    b->limbo->retired[b->limbo->count - 1].begin = slot;
}

void dcsr_i_cuda_retire_pages(dcsr_i_limbo *limbo, dcsr_matrix *matrix, const dcsr_i_table *table)
{
    retirement b = {matrix->cuda, limbo};
    pthread_mutex_lock(&matrix->spare.lock);
    visit_table(matrix, table, NULL, 0, retire_slot, &b);
    pthread_mutex_unlock(&matrix->spare.lock);
}

uint64_t dcsr_i_cuda_most_to_retire(const dcsr_i_table *table, uint64_t first)
{
    uint64_t used = 0;
    for (uint64_t p = first; p < table->root->pages; p++) used += table->root->host[p] != DCSR_CUDA_NONE;
    return used * (1 + (uint64_t)table->segments_per_row);
}

void dcsr_i_cuda_retire_places(dcsr_i_limbo *limbo, dcsr_matrix *matrix, const uint32_t *freed,
                               uint64_t blocks)
{
    dcsr_i_arena *arena = &matrix->arena;
    int shift = dcsr_i_arena_shift(arena);
    if (!limbo) {
        for (uint64_t b = 0; b < blocks; b++) dcsr_i_arena_give_counts(arena, b, freed[b]);
        return;
    }
    pthread_mutex_lock(&arena->space->lock);
    for (uint64_t b = 0; b < blocks; b++) {
        if (!freed[b]) continue;
        dcsr_i_retire(limbo, DCSR_I_PLACES, dcsr_i_arena_born_locked(arena, b << shift, 1), NULL, freed[b]);
        limbo->retired[limbo->count - 1].begin = b;
    }
    pthread_mutex_unlock(&arena->space->lock);
}

/* ---- Building ---- */

/* The levels on which a page gets a segment page of its own, as bits. */
static uint32_t own_levels(const dcsr_i_cuda_build *build, const dcsr_i_cuda_page_need *need,
                           const uint32_t *old_segment)
{
    uint32_t there = 0;
    for (int k = 0; k < build->matrix->segments_per_row; k++)
        there |= (uint32_t)(old_segment[k] != DCSR_CUDA_NONE) << k;
    return build->for_view ? 1 : dcsr_i_cuda_own_levels(need, there);
}

/* Notes what a page is made from. With the lock of `spare`. */
static void begin_change(const dcsr_i_cuda_build *build, uint32_t page, dcsr_i_cuda_page_change *change)
{
    const dcsr_i_cuda_slots *rows = &build->matrix->cuda->row_pages;
    change->page = page;
    change->old = slot_of(build->base, page);
    if (change->old == DCSR_CUDA_NONE)
        memset(change->old_segment, 0xff, sizeof change->old_segment);
    else
        memcpy(change->old_segment, rows->segment[change->old], sizeof change->old_segment);
    memcpy(change->segment, change->old_segment, sizeof change->segment);
}

/* Notes what the pages are made from and which slots they need; returns how many segment pages those are. */
static uint64_t plan_pages(dcsr_i_cuda_build *build, const dcsr_i_cuda_page_need *needs)
{
    uint64_t segments = 0;
    pthread_mutex_lock(&build->matrix->spare.lock);
    for (uint32_t i = 0; i < build->count; i++) {
        dcsr_i_cuda_page_change *change = &build->staged[i];
        begin_change(build, needs[i].page, change);
        for (uint32_t own = own_levels(build, &needs[i], change->old_segment); own; own &= own - 1) {
            change->segment[__builtin_ctz(own)] = OWN_SEGMENT;
            segments++;
        }
    }
    pthread_mutex_unlock(&build->matrix->spare.lock);
    return segments;
}

/* Makes the host's root like base's. */
static void share_root(dcsr_i_cuda_build *build)
{
    dcsr_i_cuda_root *root = build->table->root;
    uint64_t shared = build->base ? build->base->root->pages : 0;
    if (shared > root->pages) shared = root->pages;
    if (shared) memcpy(root->host, build->base->root->host, shared * sizeof *root->host);
    memset(root->host + shared, 0xff, (root->pages - shared) * sizeof *root->host);
}

/* Gives slots to a page, segment pages first, enters it into the host's root, and notes what it replaces. Returns the
 * next slot for a segment page. With the lock of `spare`. */
static const uint32_t *enter_page(dcsr_i_cuda_build *build, dcsr_i_cuda_page_change *change, uint32_t fresh,
                                  const uint32_t *segment_slots)
{
    dcsr_matrix *matrix = build->matrix;
    retirement b = {matrix->cuda, build->limbo};
    change->fresh = fresh;
    build->table->root->host[change->page] = fresh;
    for (int k = 0; k < matrix->segments_per_row; k++) {
        if (change->segment[k] != OWN_SEGMENT) continue;
        change->segment[k] = *segment_slots++;
        if (build->limbo && change->old_segment[k] != DCSR_CUDA_NONE)
            retire_slot(&b, DCSR_I_SEGMENT_SLOT, change->old_segment[k]);
    }
    memcpy(matrix->cuda->row_pages.segment[fresh], change->segment, sizeof change->segment);
    if (build->limbo && change->old != DCSR_CUDA_NONE) retire_slot(&b, DCSR_I_ROW_SLOT, change->old);
    return segment_slots;
}

/* Hands out the slots, to the pages and to the host's root, and notes what they replace. */
static void assign_slots(dcsr_i_cuda_build *build, const uint32_t *row_slots, const uint32_t *segment_slots)
{
    dcsr_matrix *matrix = build->matrix;
    share_root(build);
    retirement b = {matrix->cuda, build->limbo};
    pthread_mutex_lock(&matrix->spare.lock);
    for (uint32_t i = 0; i < build->count; i++)
        segment_slots = enter_page(build, &build->staged[i], row_slots[i], segment_slots);
    if (build->limbo && build->base)
        visit_table(matrix, build->base, NULL, build->table->root->pages, retire_slot, &b);
    pthread_mutex_unlock(&matrix->spare.lock);
}

/* Puts the making of the device's root and pages onto the stream. */
static void make_pages(dcsr_i_cuda_build *build)
{
    dcsr_i_cuda_store *store = build->matrix->cuda;
    dcsr_i_cuda_root *root = build->table->root;
    const dcsr_i_cuda_root *base = build->base ? build->base->root : NULL;
    uint64_t shared = !base ? 0 : base->pages < root->pages ? base->pages : root->pages;
    dcsr_i_cuda_copy(build->stream, build->changes, build->staged, build->count * sizeof *build->changes);
    if (shared) dcsr_i_cuda_copy(build->stream, root->device, base->device, shared * sizeof *root->device);
    dcsr_i_cuda_fill(build->stream, root->device + shared, 0xff,
                     (root->pages - shared) * sizeof *root->device);
    if (build->laid_out) return;
    dcsr_i_cuda_make_pages(build->stream, root->device, (dcsr_i_cuda_row_page *)store->row_pages.memory.start,
                           (dcsr_i_cuda_segment_page *)store->segment_pages.memory.start, build->changes,
                           build->count, build->for_view);
}

static dcsr_status make_table(dcsr_i_cuda_build *build, uint64_t rows, uint64_t cols, uint64_t version)
{
    build->table = create_table(build->matrix, build->stream, rows, cols, version);
    if (!build->table) return dcsr_i_no_memory();
    if (!build->base) return DCSR_OK;
    build->table->stored = build->base->stored;
    build->table->extra_segments = build->base->extra_segments;
    build->table->duplicate_rows = build->base->duplicate_rows;
    build->table->tombstone_rows = build->base->tombstone_rows;
    return DCSR_OK;
}

static dcsr_status make_limbo(dcsr_i_cuda_build *build, uint64_t segments, uint64_t further)
{
    if (build->for_view) return DCSR_OK;
    uint64_t beyond = build->base ? dcsr_i_cuda_most_to_retire(build->base, build->table->root->pages) : 0;
    /* A page that is copied leaves its row page, and a segment page for each that it got of its own. */
    build->limbo = dcsr_i_limbo_create(build->matrix, build->count + segments + beyond + further + 1);
    return build->limbo ? DCSR_OK : dcsr_i_no_memory();
}

/* Slots for `pages` row pages, and behind them for segment pages: all or none. */
static dcsr_status take_slots(dcsr_i_cuda_build *build, uint32_t pages, uint32_t segments, uint64_t version,
                              uint32_t *taken)
{
    dcsr_matrix *matrix = build->matrix;
    DCSR_TRY(dcsr_i_cuda_slots_take(&matrix->cuda->row_pages, matrix, pages, version, taken));
    dcsr_status status =
        dcsr_i_cuda_slots_take(&matrix->cuda->segment_pages, matrix, segments, version, taken + pages);
    if (status == DCSR_OK) return DCSR_OK;
    pthread_mutex_lock(&matrix->spare.lock);
    for (uint32_t i = 0; i < pages; i++) dcsr_i_cuda_slot_give(&matrix->cuda->row_pages, taken[i]);
    pthread_mutex_unlock(&matrix->spare.lock);
    return status;
}

static dcsr_status take_and_assign(dcsr_i_cuda_build *build, uint32_t segments)
{
    dcsr_context *context = build->matrix->context;
    uint32_t *taken = dcsr_i_alloc(context, DCSR_I_SCRATCH, (size_t)build->count + segments, sizeof *taken);
    if (!taken) return dcsr_i_no_memory();
    dcsr_status status = take_slots(build, build->count, segments, build->table->version, taken);
    if (status == DCSR_OK) assign_slots(build, taken, taken + build->count);
    dcsr_i_free(context, DCSR_I_SCRATCH, taken, (size_t)build->count + segments, sizeof *taken);
    return status;
}

/* What a build that could not begin has taken. */
static void drop_begun(dcsr_i_cuda_build *build)
{
    if (build->table)
        dcsr_i_cuda_settle(build->stream, "taking back a change"); /* its root is freed elsewhere */
    dcsr_i_limbo_free(build->matrix, build->limbo);
    if (!build->in_place) dcsr_i_cuda_table_free(build->matrix, build->table);
    build->limbo = NULL;
    build->table = NULL;
    dcsr_i_cuda_build_end(build);
}

dcsr_status dcsr_i_cuda_build_begin(dcsr_i_cuda_build *build, const dcsr_i_cuda_page_need *needs,
                                    uint32_t count, uint64_t rows, uint64_t cols, uint64_t version,
                                    uint64_t further)
{
    dcsr_context *context = build->matrix->context;
    build->count = count;
    build->table = NULL;
    build->limbo = NULL;
    build->staged = NULL;
    build->changes = NULL;
    if (count) build->staged = dcsr_i_alloc(context, DCSR_I_PINNED, count, sizeof *build->staged);
    if (build->staged)
        build->changes = dcsr_i_cuda_alloc(build->stream, DCSR_I_SCRATCH, count, sizeof *build->changes);
    dcsr_status status =
        build->changes || !count ? make_table(build, rows, cols, version) : dcsr_i_no_memory();
    if (status == DCSR_OK) {
        uint64_t segments = plan_pages(build, needs);
        status = segments < UINT32_MAX - count
                     ? make_limbo(build, segments, further)
                     : dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY, "a change of more than 2^32 pages");
        if (status == DCSR_OK) status = take_and_assign(build, (uint32_t)segments);
    }
    if (status == DCSR_OK) {
        make_pages(build);
        return DCSR_OK;
    }
    drop_begun(build);
    return status;
}

void dcsr_i_cuda_build_drop(dcsr_i_cuda_build *build, uint64_t page)
{
    dcsr_matrix *matrix = build->matrix;
    uint32_t *slot = &build->table->root->host[page];
    pthread_mutex_lock(&matrix->spare.lock);
    visit_page(matrix, *slot, DCSR_CUDA_NONE, give, matrix->cuda);
    pthread_mutex_unlock(&matrix->spare.lock);
    *slot = DCSR_CUDA_NONE;
}

/* ---- Building where the device chooses ---- */

dcsr_status dcsr_i_cuda_build_ahead(dcsr_i_cuda_build *build, uint32_t pages, uint32_t segments,
                                    uint32_t *slots, uint64_t version, uint64_t further)
{
    const dcsr_i_table *base = build->base;
    build->count = pages;
    build->segments = segments;
    build->table = build->in_place ? build->matrix->versions.current : NULL;
    build->limbo = NULL;
    dcsr_status status = build->in_place ? DCSR_OK : make_table(build, base->rows, base->cols, version);
    const bool retires = !build->in_place || build->held || pages;
    if (status == DCSR_OK && retires) status = make_limbo(build, segments, further);
    if (status == DCSR_OK) status = take_slots(build, pages, segments, version, slots);
    if (status != DCSR_OK) {
        drop_begun(build);
        return status;
    }
    build->slots = slots;
    if (!build->in_place) share_root(build);
    return DCSR_OK;
}

/* Gives back the slots that no page got. */
static void give_rest(dcsr_i_cuda_build *build, uint32_t pages, uint32_t segments)
{
    dcsr_i_cuda_store *store = build->matrix->cuda;
    for (uint32_t i = build->count; i-- > pages;) dcsr_i_cuda_slot_give(&store->row_pages, build->slots[i]);
    for (uint32_t i = build->segments; i-- > segments;)
        dcsr_i_cuda_slot_give(&store->segment_pages, build->slots[build->count + i]);
}

void dcsr_i_cuda_build_enter(dcsr_i_cuda_build *build, const dcsr_i_cuda_page_need *needs, uint32_t count)
{
    uint32_t segments = 0;
    pthread_mutex_lock(&build->matrix->spare.lock);
    for (uint32_t i = 0; i < count; i++) {
        dcsr_i_cuda_page_change change;
        begin_change(build, needs[i].page, &change);
        for (uint32_t own = needs[i].levels; own; own &= own - 1) {
            change.segment[__builtin_ctz(own)] = OWN_SEGMENT;
            segments++;
        }
        enter_page(build, &change, build->slots[needs[i].slot], build->slots + build->count + needs[i].slots);
    }
    give_rest(build, count, segments);
    pthread_mutex_unlock(&build->matrix->spare.lock);
}

/* ---- Ending it ---- */

void dcsr_i_cuda_build_end(dcsr_i_cuda_build *build)
{
    dcsr_context *context = build->matrix->context;
    build->slots = NULL;
    if (build->changes)
        dcsr_i_cuda_free(build->stream, DCSR_I_SCRATCH, build->changes, build->count, sizeof *build->changes);
    dcsr_i_free(context, DCSR_I_PINNED, build->staged, build->count, sizeof *build->staged);
    build->changes = build->staged = NULL;
}

void dcsr_i_cuda_build_undo(dcsr_i_cuda_build *build)
{
    if (!build->table) return;
    /* What the stream still does with the pages does not matter, but it must be over. */
    dcsr_i_cuda_settle(build->stream, "taking back a change");
    if (build->slots) {
        pthread_mutex_lock(&build->matrix->spare.lock);
        give_rest(build, 0, 0);
        pthread_mutex_unlock(&build->matrix->spare.lock);
    }
    if (!build->in_place) dcsr_i_cuda_free_unshared(build->matrix, build->table, build->base);
    dcsr_i_limbo_free(build->matrix, build->limbo);
    dcsr_i_cuda_build_end(build);
    build->table = NULL;
    build->limbo = NULL;
}

/* ---- What readers work on ---- */

dcsr_i_cuda_rows dcsr_i_cuda_rows_of_table(const dcsr_matrix *matrix, const dcsr_i_table *table)
{
    return (dcsr_i_cuda_rows){.rows = table->rows,
                              .cols = table->cols,
                              .stored = table->stored,
                              .type = matrix->type,
                              .value_size = (uint32_t)matrix->value_size,
                              .segments_per_row = matrix->segments_per_row,
                              .root = table->root->device,
                              .row_page = (const dcsr_i_cuda_row_page *)matrix->cuda->row_pages.memory.start,
                              .segment_page =
                                  (const dcsr_i_cuda_segment_page *)matrix->cuda->segment_pages.memory.start,
                              .columns = matrix->arena.columns,
                              .values = matrix->arena.values};
}

dcsr_i_rows dcsr_i_cuda_rows_of(const dcsr_matrix *matrix, const dcsr_i_table *table)
{
    return (dcsr_i_rows){.on_device = true,
                         .device = dcsr_i_cuda_rows_of_table(matrix, table),
                         .type = matrix->type,
                         .rows = table->rows,
                         .cols = table->cols,
                         .table = table};
}

dcsr_i_rows dcsr_i_cuda_rows_of_csr(const dcsr_i_csr *csr)
{
    return (dcsr_i_rows){.on_device = true,
                         .device = {.rows = csr->rows,
                                    .cols = csr->cols,
                                    .stored = csr->nnz,
                                    .type = csr->type,
                                    .value_size = (uint32_t)csr->value_size,
                                    .offsets = csr->offsets,
                                    .columns = csr->columns,
                                    .values = csr->values},
                         .type = csr->type,
                         .rows = csr->rows,
                         .cols = csr->cols,
                         .offsets = csr->offsets};
}
