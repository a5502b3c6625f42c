/* rewrite_cuda.c: moving rows into one segment each on a device, resolving them where need be: what rewrite.c
 * does; and replacing rows by those of a result: what result_patch.c does.
 *
 * Three steps, after each of which the host waits for numbers: which rows (select_rows.cu); what they take up, so
 * that places and pages can be had (rewrite.cu); resolving (resolve.cu) and moving (gather.cu) them. Rows are
 * resolved in groups, so that sorting takes no more memory than a group needs; a group's rows are placed
 * behind those of the group before, so that the places taken for the most there can be are used up without
 * gaps, and the rest is given back.
 *
 * What a result replaces is surveyed and entered in the same way; its entries are there already, in order. */
#include "dcsr/store/cuda/keys_cuda.h"
#include "dcsr/store/cuda/rewrite_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"
#include "dcsr/store/maintained_transpose.h"

/* Entries to resolve at once, which takes 36 bytes each; a longer row is a group of its own. */
#ifdef DCSR_SIMT
enum { GROUP_ENTRIES = 1 << 13 };
#else
enum { GROUP_ENTRIES = 1 << 27 };
#endif

static const char moving[] = "moving rows";

typedef struct job {
    dcsr_matrix *matrix;
    dcsr_i_cuda_stream *stream;
    const dcsr_i_table *base;
    const dcsr_i_selection *selection;
    dcsr_i_cuda_rewriting work;
    dcsr_i_cuda_build build;
    dcsr_i_cuda_sums *sums;   /* on the device: of the rows as they are, and as they will be */
    dcsr_i_cuda_sums was;     /* the first, on the host */
    uint64_t resolved, moved; /* entries */
    uint64_t pages, blocks;   /* of base, of the arena */
    uint64_t begin;           /* the places taken: `places` of them */
    uint64_t places;
    bool taken;
    bool replaces; /* by a result's rows, whose lengths are known */
} job;

static void *take(job *j, uint64_t count, size_t size)
{
    return dcsr_i_cuda_alloc(j->stream, DCSR_I_SCRATCH, count, size);
}

static void drop(const job *j, void *block, uint64_t count, size_t size)
{
    dcsr_i_cuda_free(j->stream, DCSR_I_SCRATCH, block, count, size);
}

/* ---- What they take up ---- */

static dcsr_status make_plan(job *j)
{
    dcsr_i_cuda_rewriting *work = &j->work;
    work->resolved = take(j, work->count + 1, sizeof *work->resolved);
    work->moved = take(j, work->count + 1, sizeof *work->moved);
    work->begin = take(j, work->count + 1, sizeof *work->begin);
    work->length = take(j, work->count, sizeof *work->length);
    j->sums = take(j, 2, sizeof *j->sums);
    if (!work->resolved || !work->moved || !work->begin || !work->length || !j->sums)
        return dcsr_i_no_memory();
    dcsr_i_cuda_fill(j->stream, j->sums, 0, 2 * sizeof *j->sums);
    return dcsr_i_cuda_plan_rewriting(j->stream, work, j->sums);
}

/* What the host needs to know: numbers, then places freed by block, then pages touched. */
typedef struct survey {
    dcsr_i_cuda_sums was;
    uint64_t resolved, moved; /* entries; of rows that are replaced, none are counted */
    uint32_t freed[];
} survey;

/* *landing lasts until the stream's next one. */
static dcsr_status make_survey(job *j, survey **landing)
{
    const dcsr_i_cuda_rewriting *work = &j->work;
    uint32_t *freed = j->selection->for_view ? NULL : take(j, j->blocks, sizeof *freed);
    uint8_t *touched = take(j, j->pages, sizeof *touched);
    dcsr_status status = DCSR_OK;
    *landing = dcsr_i_cuda_landing(j->stream, sizeof **landing + j->blocks * sizeof *freed + j->pages);
    if (touched && *landing && (freed || j->selection->for_view)) {
        if (freed) dcsr_i_cuda_fill(j->stream, freed, 0, j->blocks * sizeof *freed);
        dcsr_i_cuda_fill(j->stream, touched, 0, j->pages);
        dcsr_i_cuda_count_rows(j->stream, &work->rows, work->list, 0, work->count, j->sums, freed,
                               dcsr_i_arena_shift(&j->matrix->arena));
        dcsr_i_cuda_touch_pages(j->stream, &work->rows, work->list, work->count,
                                j->replaces ? work->length : NULL, touched);
        dcsr_i_cuda_copy(j->stream, &(*landing)->was, j->sums, sizeof *j->sums);
        if (!j->replaces) {
            dcsr_i_cuda_copy(j->stream, &(*landing)->resolved, work->resolved + work->count,
                             sizeof(uint64_t));
            dcsr_i_cuda_copy(j->stream, &(*landing)->moved, work->moved + work->count, sizeof(uint64_t));
        }
        if (freed) dcsr_i_cuda_copy(j->stream, (*landing)->freed, freed, j->blocks * sizeof *freed);
        dcsr_i_cuda_copy(j->stream, (*landing)->freed + j->blocks, touched, j->pages);
        status = dcsr_i_cuda_wait(j->stream, moving);
    } else {
        status = dcsr_i_no_memory();
    }
    drop(j, freed, j->blocks, sizeof *freed);
    drop(j, touched, j->pages, sizeof *touched);
    return status;
}

static dcsr_status take_places(job *j, uint64_t places, uint64_t version)
{
    dcsr_i_arena *arena = &j->matrix->arena;
    dcsr_status status = j->selection->for_view
                             ? dcsr_i_arena_take_blocks(arena, places, version, true, &j->begin)
                             : dcsr_i_arena_take(arena, places, version, &j->begin);
    j->places = places;
    j->taken = status == DCSR_OK;
    j->work.start = j->begin;
    return status;
}

/* The pages that have rows of the list. */
static uint64_t count_pages(const job *j, const survey *landing)
{
    const uint8_t *touched = (const uint8_t *)(landing->freed + j->blocks);
    uint64_t count = 0;
    for (uint64_t p = 0; p < j->pages; p++) count += touched[p];
    return count;
}

/* Makes the table, still with the old rows, and retires what it does not share with base. */
static dcsr_status make_table(job *j, uint64_t version, const survey *landing)
{
    dcsr_context *context = j->matrix->context;
    const uint8_t *touched = (const uint8_t *)(landing->freed + j->blocks);
    uint64_t count = count_pages(j, landing), further = 0;
    for (uint64_t b = 0; b < j->blocks; b++) further += landing->freed[b] != 0;
    dcsr_i_cuda_page_need *needs = dcsr_i_alloc(context, DCSR_I_SCRATCH, count, sizeof *needs);
    if (!needs) return dcsr_i_no_memory();
    for (uint64_t p = 0, n = 0; p < j->pages; p++)
        if (touched[p])
            needs[n++] =
                (dcsr_i_cuda_page_need){.page = (uint32_t)p, .levels = 1, .moves = DCSR_CUDA_ALL_LEVELS};
    dcsr_status status = dcsr_i_cuda_build_begin(&j->build, needs, (uint32_t)count, j->base->rows,
                                                 j->base->cols, version, further);
    if (status == DCSR_OK && j->build.limbo)
        dcsr_i_cuda_retire_places(j->build.limbo, j->matrix, landing->freed, j->blocks);
    dcsr_i_free(context, DCSR_I_SCRATCH, needs, count, sizeof *needs);
    return status;
}

/* ---- Resolving and moving ---- */

static dcsr_status rewrite_group(job *j, dcsr_i_cuda_group *group, void *user)
{
    uint64_t rows = group->end - group->first, *words, *rank, *scratch = take(j, rows + 1, sizeof *scratch);
    (void)user;
    if (!scratch) return dcsr_i_no_memory();
    dcsr_status status = dcsr_i_cuda_resolve_group(j->stream, &j->work, group, &words, &rank);
    if (status == DCSR_OK)
        status = dcsr_i_cuda_place_rows(j->stream, &j->work, group->first, group->end, rank, scratch);
    if (status == DCSR_OK) dcsr_i_cuda_write_group(j->stream, &j->work, group, words, rank);
    drop(j, scratch, rows + 1, sizeof *scratch);
    return status;
}

/* What is done with each group. */
typedef dcsr_status do_group(job *j, dcsr_i_cuda_group *group, void *user);

static dcsr_status do_groups(job *j, const dcsr_i_cuda_border *borders, uint64_t groups, do_group *each,
                             void *user)
{
    uint64_t most = 0;
    for (uint64_t g = 0; g < groups; g++) {
        uint64_t n = borders[g + 1].entry - borders[g].entry;
        if (n > most) most = n;
    }
    dcsr_i_cuda_group group = {.keys = take(j, most + 1, sizeof(uint64_t)),
                               .keys_spare = take(j, most + 1, sizeof(uint64_t)),
                               .from = take(j, most + 1, sizeof(uint64_t)),
                               .from_spare = take(j, most + 1, sizeof(uint64_t)),
                               .stays = take(j, most + 1, sizeof(uint32_t))};
    bool made = group.keys && group.keys_spare && group.from && group.from_spare && group.stays;
    dcsr_status status = made ? DCSR_OK : dcsr_i_no_memory();
    for (uint64_t g = 0; g < groups && status == DCSR_OK; g++) {
        group.first = borders[g].row;
        group.end = borders[g + 1].row;
        group.n = borders[g + 1].entry - borders[g].entry;
        if (group.first != group.end) status = each(j, &group, user);
    }
    drop(j, group.keys, most + 1, sizeof(uint64_t));
    drop(j, group.keys_spare, most + 1, sizeof(uint64_t));
    drop(j, group.from, most + 1, sizeof(uint64_t));
    drop(j, group.from_spare, most + 1, sizeof(uint64_t));
    drop(j, group.stays, most + 1, sizeof(uint32_t));
    return status;
}

/* The groups in which the rows of the list are rewritten; one is known without asking the device. */
static dcsr_status find_borders(job *j, dcsr_i_cuda_border *borders, uint64_t groups)
{
    borders[0] = (dcsr_i_cuda_border){0, 0};
    borders[groups] = (dcsr_i_cuda_border){j->work.count, j->resolved};
    if (groups == 1) return DCSR_OK;
    size_t bytes = (groups + 1) * sizeof *borders;
    dcsr_i_cuda_border *landing = dcsr_i_cuda_landing(j->stream, bytes),
                       *found = take(j, groups + 1, sizeof *found);
    dcsr_status status = landing && found ? DCSR_OK : dcsr_i_no_memory();
    if (status == DCSR_OK) {
        dcsr_i_cuda_find_borders(j->stream, &j->work, GROUP_ENTRIES, groups, found);
        dcsr_i_cuda_copy(j->stream, landing, found, bytes);
        status = dcsr_i_cuda_wait(j->stream, moving);
        memcpy(borders, landing, bytes);
    }
    drop(j, found, groups + 1, sizeof *found);
    return status;
}

/* The rows to be resolved, group by group. */
static dcsr_status in_groups(job *j, do_group *each, void *user)
{
    uint64_t groups = j->resolved ? (j->resolved + GROUP_ENTRIES - 1) / GROUP_ENTRIES : 1;
    dcsr_context *context = j->matrix->context;
    dcsr_i_cuda_border *borders = dcsr_i_alloc(context, DCSR_I_SCRATCH, groups + 1, sizeof *borders);
    if (!borders) return dcsr_i_no_memory();
    dcsr_status status = find_borders(j, borders, groups);
    if (status == DCSR_OK) status = do_groups(j, borders, groups, each, user);
    dcsr_i_free(context, DCSR_I_SCRATCH, borders, groups + 1, sizeof *borders);
    return status;
}

/* Rows that only move are placed at once. */
static dcsr_status place_all(job *j)
{
    const dcsr_i_cuda_rewriting *work = &j->work;
    uint64_t *scratch = take(j, work->count + 1, sizeof *scratch);
    dcsr_status status =
        scratch ? dcsr_i_cuda_place_rows(j->stream, work, 0, work->count, NULL, scratch) : dcsr_i_no_memory();
    drop(j, scratch, work->count + 1, sizeof *scratch);
    return status;
}

static dcsr_status write_rows(job *j)
{
    const dcsr_i_cuda_rewriting *work = &j->work;
    DCSR_TRY(j->resolved ? in_groups(j, rewrite_group, NULL) : place_all(j));
    dcsr_i_cuda_walk walk = {work->rows, work->list, work->count, work->moved};
    dcsr_i_cuda_gather(j->stream, &walk, j->moved, work->begin, j->matrix->arena.columns,
                       j->matrix->arena.values);
    return DCSR_OK;
}

/* The rows are written. */
static void enter_places(job *j)
{
    dcsr_i_cuda_store *store = j->matrix->cuda;
    dcsr_i_cuda_enter_places(j->stream, &j->work, j->build.table->root->device,
                             (dcsr_i_cuda_row_page *)store->row_pages.memory.start,
                             (dcsr_i_cuda_segment_page *)store->segment_pages.memory.start,
                             j->selection->for_view, j->sums + 1);
}

/* Waits until all is written; notes what it comes to, and gives back the places that were not needed. */
static dcsr_status finish(job *j, dcsr_i_rewritten *result)
{
    struct {
        dcsr_i_cuda_sums is;
        uint64_t end;
    } *landing = dcsr_i_cuda_landing(j->stream, sizeof *landing);
    if (!landing) return dcsr_i_no_memory();
    dcsr_i_cuda_copy(j->stream, &landing->is, j->sums + 1, sizeof landing->is);
    dcsr_i_cuda_copy(j->stream, &landing->end, j->work.begin + j->work.count, sizeof landing->end);
    DCSR_TRY(dcsr_i_cuda_wait(j->stream, moving));
    dcsr_i_table *table = j->build.table;
    table->stored += landing->is.stored - j->was.stored;
    table->extra_segments -= j->was.extra;
    table->duplicate_rows -= j->was.duplicates;
    table->tombstone_rows -= j->was.tombstones;
    uint64_t used = landing->end - j->begin;
    dcsr_i_arena_give(&j->matrix->arena, j->begin + used, j->places - used);
    *result = (dcsr_i_rewritten){.table = table, .limbo = j->build.limbo, .begin = j->begin, .entries = used};
    dcsr_i_cuda_build_end(&j->build);
    return DCSR_OK;
}

/* ---- All of it ---- */

static job job_of(dcsr_matrix *matrix, dcsr_i_cuda_stream *stream, const dcsr_i_table *base,
                  const dcsr_i_selection *selection)
{
    bool cuts = selection->column_limit < DCSR_MAX_COLS;
    /* Of a matrix that is losing columns the dimensions say nothing about the columns that are stored. */
    uint64_t cols = cuts ? DCSR_MAX_COLS : base->cols;
    int column_bits = 1;
    while (column_bits < 31 && (cols - 1) >> column_bits) column_bits++;
    return (job){.matrix = matrix,
                 .stream = stream,
                 .base = base,
                 .selection = selection,
                 .work = {.rows = dcsr_i_cuda_rows_of_table(matrix, base),
                          .resolve_all = selection->sorted || cuts,
                          .slack = selection->slack ? matrix->slack : 0,
                          .keep = matrix->policy == DCSR_POLICY_KEEP,
                          .column_limit = selection->column_limit,
                          .column_bits = column_bits,
                          .policy = matrix->policy},
                 .build = {.matrix = matrix, .stream = stream, .base = base, .for_view = selection->for_view},
                 .pages = dcsr_i_cuda_page_count(base->rows),
                 .blocks = selection->for_view ? 0 : dcsr_i_arena_blocks(&matrix->arena)};
}

/* Frees what it has taken, and after a failure what it has built. */
static void end(job *j, dcsr_status status)
{
    const dcsr_i_cuda_rewriting *work = &j->work;
    if (status != DCSR_OK) {
        dcsr_i_cuda_build_undo(&j->build);
        dcsr_i_cuda_settle(j->stream, moving);
        if (j->taken) dcsr_i_arena_give(&j->matrix->arena, j->begin, j->places);
    }
    drop(j, work->resolved, work->count + 1, sizeof *work->resolved);
    drop(j, work->moved, work->count + 1, sizeof *work->moved);
    drop(j, work->begin, work->count + 1, sizeof *work->begin);
    drop(j, work->length, work->count, sizeof *work->length);
    drop(j, j->sums, 2, sizeof *j->sums);
}

static dcsr_status rewrite_list(dcsr_i_rewritten *result, job *j, uint64_t version, const uint32_t *list,
                                uint64_t count)
{
    survey *landing;
    j->work.list = list;
    j->work.count = count;
    dcsr_status status = make_plan(j);
    if (status == DCSR_OK) status = make_survey(j, &landing);
    if (status == DCSR_OK) {
        j->was = landing->was;
        j->resolved = landing->resolved;
        j->moved = landing->moved;
        status = take_places(j, j->was.most, version);
    }
    if (status == DCSR_OK) status = make_table(j, version, landing);
    if (status == DCSR_OK) status = write_rows(j);
    if (status == DCSR_OK) enter_places(j);
    if (status == DCSR_OK) status = finish(j, result);
    end(j, status);
    return status;
}

dcsr_status dcsr_i_cuda_rewrite_rows(dcsr_i_rewritten *result, dcsr_matrix *matrix, const dcsr_i_table *base,
                                     uint64_t version, const dcsr_i_selection *selection,
                                     const uint32_t *rows, uint64_t count)
{
    *result = (dcsr_i_rewritten){0};
    job j = job_of(matrix, matrix->cuda->stream, base, selection);
    return rewrite_list(result, &j, version, rows, count);
}

dcsr_status dcsr_i_cuda_rewrite(dcsr_i_rewritten *result, dcsr_matrix *matrix, const dcsr_i_table *base,
                                uint64_t version, const dcsr_i_selection *selection)
{
    *result = (dcsr_i_rewritten){0};
    dcsr_i_cuda_stream *stream =
        selection->for_view ? dcsr_i_stream_borrow(matrix->context) : matrix->cuda->stream;
    if (!stream) return dcsr_i_no_memory();
    /* A reader may do it for the store, in the matrix's turn. */
    if (!selection->for_view) dcsr_i_cuda_enter(stream);
    job j = job_of(matrix, stream, base, selection);
    uint32_t *list;
    uint64_t count;
    dcsr_status status =
        dcsr_i_cuda_select_rows(&list, &count, stream, matrix, base, &j.work.rows, selection);
    if (status == DCSR_OK && count) status = rewrite_list(result, &j, version, list, count);
    drop(&j, list, count, sizeof *list);
    if (selection->for_view)
        dcsr_i_stream_return(matrix->context, stream);
    else
        dcsr_i_cuda_leave(stream);
    return status;
}

/* ---- Rows that a result replaces ---- */

static const dcsr_i_selection of_result = {.column_limit = DCSR_MAX_COLS, .sorted = true};

static job job_of_rows(dcsr_matrix *matrix, const uint32_t *rows, uint64_t count)
{
    job j = job_of(matrix, matrix->cuda->stream, matrix->versions.current, &of_result);
    j.work.list = rows;
    j.work.count = count;
    j.replaces = true;
    return j;
}

/* How many entries they have, and of which kinds. */
static dcsr_status count_entries(job *j)
{
    dcsr_i_cuda_rewriting *work = &j->work;
    work->resolved = take(j, work->count + 1, sizeof *work->resolved);
    j->sums = take(j, 2, sizeof *j->sums);
    if (!work->resolved || !j->sums) return dcsr_i_no_memory();
    dcsr_i_cuda_fill(j->stream, j->sums, 0, 2 * sizeof *j->sums);
    dcsr_i_cuda_count_rows(j->stream, &work->rows, work->list, 0, work->count, j->sums, NULL, 0);
    DCSR_TRY(dcsr_i_cuda_sum_lengths(j->stream, &work->rows, work->list, work->count, work->resolved));
    return dcsr_i_cuda_read_back(j->stream, &j->was, j->sums, sizeof j->was, "reading rows");
}

static void close_held(dcsr_i_cuda_held *held, const job *j)
{
    drop(j, held->keys, held->capacity, sizeof *held->keys);
    drop(j, held->values, held->capacity, j->matrix->value_size);
    *held = (dcsr_i_cuda_held){0};
}

static dcsr_status open_held(dcsr_i_cuda_held *held, job *j)
{
    uint64_t n = held->capacity = j->was.stored;
    size_t size = j->matrix->value_size;
    held->keys = take(j, n, sizeof *held->keys);
    if (held->keys && size) held->values = take(j, n, size);
    return held->keys && (held->values || !size) ? DCSR_OK : dcsr_i_no_memory();
}

/* Puts a group's entries behind those of the groups before. */
static dcsr_status list_group(job *j, dcsr_i_cuda_group *group, void *user)
{
    dcsr_i_cuda_held *held = user;
    const size_t size = j->matrix->value_size;
    uint64_t n, *words, *rank;
    DCSR_TRY(dcsr_i_cuda_resolve_group(j->stream, &j->work, group, &words, &rank));
    dcsr_i_cuda_list_group(j->stream, &j->work, group, words, rank, held->keys + held->n,
                           size ? (char *)held->values + held->n * size : NULL);
    DCSR_TRY(dcsr_i_cuda_read_back(j->stream, &n, rank + group->n, sizeof n, "resolving rows"));
    held->n += n;
    return DCSR_OK;
}

static dcsr_status read_held(dcsr_i_cuda_held *held, job *j)
{
    DCSR_TRY(count_entries(j));
    DCSR_TRY(open_held(held, j));
    held->resolved = j->was.duplicates || j->was.tombstones;
    j->resolved = j->was.stored;
    if (held->resolved) return in_groups(j, list_group, held);
    const dcsr_i_cuda_walk walk = {j->work.rows, j->work.list, j->work.count, j->work.resolved};
    dcsr_i_cuda_list_entries(j->stream, &walk, j->was.stored, j->work.list, held->keys, held->values);
    held->n = j->was.stored;
    return DCSR_OK;
}

dcsr_status dcsr_i_cuda_read_rows(dcsr_i_cuda_held *held, dcsr_matrix *matrix, const uint32_t *rows,
                                  uint64_t count)
{
    job j = job_of_rows(matrix, rows, count);
    *held = (dcsr_i_cuda_held){0};
    dcsr_status status = read_held(held, &j);
    if (status != DCSR_OK) close_held(held, &j);
    end(&j, status);
    return status;
}

/* The rows' new lengths and places, and what they leave. */
static dcsr_status survey_replaced(job *j, const dcsr_i_cuda_held *entries, survey **landing)
{
    dcsr_i_cuda_rewriting *work = &j->work;
    DCSR_TRY(take_places(j, entries->n, j->base->version + 1));
    work->begin = take(j, work->count + 1, sizeof *work->begin);
    work->length = take(j, work->count, sizeof *work->length);
    j->sums = take(j, 2, sizeof *j->sums);
    if (!work->begin || !work->length || !j->sums) return dcsr_i_no_memory();
    dcsr_i_cuda_fill(j->stream, j->sums, 0, 2 * sizeof *j->sums);
    dcsr_i_cuda_place_keys(j->stream, work, entries->keys, entries->n);
    DCSR_TRY(make_survey(j, landing));
    j->was = (*landing)->was;
    return DCSR_OK;
}

static void write_entries(job *j, const dcsr_i_cuda_held *entries)
{
    const dcsr_i_arena *arena = &j->matrix->arena;
    const size_t size = j->matrix->value_size;
    dcsr_i_cuda_take_low(j->stream, entries->keys, entries->n, 32, arena->columns + j->begin);
    if (size)
        dcsr_i_cuda_copy(j->stream, arena->values + j->begin * size, entries->values, entries->n * size);
}

/* The table of the next version; none where the rows have no entries, nor had any. */
static dcsr_status make_replaced(dcsr_i_rewritten *result, job *j, const dcsr_i_cuda_held *entries)
{
    survey *landing;
    DCSR_TRY(survey_replaced(j, entries, &landing));
    if (!count_pages(j, landing)) return DCSR_OK;
    DCSR_TRY(make_table(j, j->base->version + 1, landing));
    write_entries(j, entries);
    enter_places(j);
    return finish(j, result);
}

/* The twin loses what the rows hold, and gets the new entries. */
static void follow(const job *j, const dcsr_i_cuda_held *entries)
{
    dcsr_matrix *matrix = j->matrix, *twin = matrix->transpose.twin;
    dcsr_i_cuda_held before;
    if (!twin) return;
    dcsr_i_cuda_enter(twin->cuda->stream);
    dcsr_status status = dcsr_i_cuda_read_rows(&before, matrix, j->work.list, j->work.count);
    dcsr_i_cuda_order(twin->cuda->stream, j->stream);
    if (status == DCSR_OK) status = dcsr_i_cuda_apply_transposed(matrix, DCSR_I_REMOVE, &before);
    if (status == DCSR_OK) status = dcsr_i_cuda_apply_transposed(matrix, DCSR_I_INSERT, entries);
    dcsr_i_twin_follow(matrix, status);
    close_held(&before, j);
    dcsr_i_cuda_leave(twin->cuda->stream);
}

dcsr_status dcsr_i_cuda_replace_some(dcsr_matrix *matrix, const uint32_t *rows, uint64_t count,
                                     const dcsr_i_cuda_held *entries, bool strictly)
{
    job j = job_of_rows(matrix, rows, count);
    dcsr_i_rewritten result = {0};
    dcsr_status status = make_replaced(&result, &j, entries);
    if (status == DCSR_OK && result.table) follow(&j, entries);
    end(&j, status);
    if (status != DCSR_OK || !result.table) return status;
    _Atomic uint64_t *ascending = &matrix->versions.ascending;
    if (strictly && atomic_load(ascending) == j.base->version) atomic_store(ascending, result.table->version);
    dcsr_i_publish(matrix, result.table, result.limbo);
    dcsr_i_changed(matrix, 0);
    return DCSR_OK;
}
