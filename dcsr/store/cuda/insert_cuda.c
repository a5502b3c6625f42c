/* insert_cuda.c: applying a batch of insertions or deletions on a device, also in the transpose that a matrix
 * maintains.
 *
 *      entries on the device (stage_cuda.c)
 *        | sort by (row, column), combine equal places         prim.cu
 *        v
 *      rows and pages that are touched                         plan.cu
 *        | plan: is there room in the row's last segment?
 *        |       else how large a new one? or is the row to
 *        |       be moved, because its segments ran out?
 *      <-- the host waits: how many places, which pages
 *        | allocate: one bump of the arena, slots for pages    arena.c, table_cuda.c
 *        v
 *        | scatter: entries, table entries, lengths            scatter.cu; moved rows: gather.cu
 *      <-- the host waits
 *      publish                                                 version.c
 *
 * A batch is appended like this, which leaves duplicates and tombstones to be resolved; or, if they are to be
 * resolved on insertion (dcsr_i_resolves_on_insert), merged:
 *
 *        | look for each entry in its row                        merge.cu
 *        | plan: does anything change? is there room behind the
 *        |       row for what is new? else the row is moved      plan.cu
 *      <-- ...
 *        | write what is new; rows that move, merged             merge.cu
 *
 * Rows that move and may hold duplicates or tombstones are resolved first, as a version of its own which
 * shows the same entries; so a row that gets the same entries again and again does not grow for ever. Then
 * the batch is planned again. */
#include "dcsr/store/cuda/insert_cuda.h"
#include "dcsr/store/cuda/gather_cuda.h"
#include "dcsr/store/cuda/keys_cuda.h"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/store/cuda/stage_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"
#include "dcsr/store/maintained_transpose.h"
#include <assert.h>
#include <stddef.h>

/* What comes back from the device after planning. */
typedef struct report {
    dcsr_i_cuda_counts counts;
    dcsr_i_cuda_plan plan;
    dcsr_i_cuda_page_need needs[];
} report;

/* Temporary memory of a batch: arrays are parts of few blocks, as taking one costs as much as a small kernel.
 * In the emulator each is a block of its own, past whose end nothing may be touched. */
typedef struct block {
    char *memory;
    size_t bytes;
} block;

#ifdef DCSR_SIMT
enum { MOST_BLOCKS = 24, LEAST_BLOCK = 1, ALIGNMENT = 1, SHARED_BLOCKS = 0 };
#else
enum { MOST_BLOCKS = 8, LEAST_BLOCK = 1 << 16, ALIGNMENT = 256, SHARED_BLOCKS = 1 };
#endif

typedef struct batch {
    dcsr_matrix *matrix;
    dcsr_i_cuda_stream *stream;
    dcsr_i_operation *operation; /* the first of those that are applied together */
    uint64_t *keys, *words;      /* of all of them, on the device */
    const dcsr_i_table *base;
    const char *doing;        /* for messages */
    bool merges;              /* into what is stored */
    dcsr_i_cuda_batch device; /* what kernels get */
    report *summary;          /* on the device */
    uint64_t most_pages;
    const report *planned; /* in the landing area, until that is used for something else */
    dcsr_i_cuda_counts counts;
    dcsr_i_cuda_plan plan;
    dcsr_i_cuda_moves moves;
    dcsr_i_cuda_build build;
    block blocks[MOST_BLOCKS];
    int block_count;
    char *room; /* what is left of the last block */
    size_t room_bytes;
} batch;

static bool add_block(batch *b, size_t bytes)
{
    if (bytes < LEAST_BLOCK) bytes = LEAST_BLOCK;
    char *memory = dcsr_i_cuda_alloc(b->stream, DCSR_I_SCRATCH, bytes, 1);
    assert(b->block_count < MOST_BLOCKS);
    if (!memory) return false;
    b->blocks[b->block_count++] = (block){memory, bytes};
    b->room = memory;
    b->room_bytes = bytes;
    return true;
}

/* Device memory that is given back when the batch ends. */
static void *take(batch *b, size_t count, size_t size)
{
    size_t bytes = (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!bytes) bytes = ALIGNMENT;
    if (bytes > b->room_bytes && !add_block(b, bytes)) return NULL;
    void *memory = b->room;
    b->room += bytes;
    b->room_bytes -= bytes;
    return memory;
}

static void give_all(batch *b)
{
    while (b->block_count) {
        const block *last = &b->blocks[--b->block_count];
        dcsr_i_cuda_free(b->stream, DCSR_I_SCRATCH, last->memory, last->bytes, 1);
    }
}

static size_t report_size(uint64_t pages)
{
    return sizeof(report) + pages * sizeof(dcsr_i_cuda_page_need);
}

/* ---- Bring ---- */

static dcsr_i_operation *next_of(const batch *b, const dcsr_i_operation *operation)
{
    return operation == b->operation ? operation->joined : operation->next;
}

/* One block for what a batch needs in which no row moves. */
static dcsr_status make_room(batch *b)
{
    enum {
        ARRAYS = 16
    }; /* at most; the end of each may take a step of ALIGNMENT, and so may one more item */
    if (!SHARED_BLOCKS) return DCSR_OK;
    const size_t word = sizeof(uint64_t), words = b->operation->batch.value_size ? 2 : 1;
    const size_t of_entry = 2 * word + word * words * (b->operation->joined ? 2 : 1);
    const size_t of_row = sizeof(dcsr_i_cuda_growth) + word + 4 * sizeof(uint32_t);
    const size_t bytes =
        report_size(b->most_pages) + b->device.most * of_entry + b->device.most_rows * of_row;
    return add_block(b, bytes + (size_t)2 * ARRAYS * ALIGNMENT) ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}

/* Puts the entries of all operations one behind the other. */
static dcsr_status put_together(batch *b)
{
    uint64_t at = 0;
    const bool values = b->operation->batch.value_size != 0;
    b->keys = take(b, b->device.most, sizeof *b->keys);
    if (values) b->words = take(b, b->device.most, sizeof *b->words);
    if (!b->keys || (values && !b->words)) return DCSR_ERROR_OUT_OF_MEMORY;
    for (const dcsr_i_operation *o = b->operation; o; at += o->batch.n, o = next_of(b, o)) {
        dcsr_i_cuda_copy(b->stream, b->keys + at, o->batch.arrival.keys, o->batch.n * sizeof *b->keys);
        if (values)
            dcsr_i_cuda_copy(b->stream, b->words + at, o->batch.arrival.words, o->batch.n * sizeof *b->words);
    }
    return DCSR_OK;
}

static dcsr_status bring(batch *b)
{
    uint64_t rows = b->base->rows, pages = dcsr_i_cuda_page_count(rows), n = 0;
    for (dcsr_i_operation *o = b->operation; o; o = next_of(b, o)) {
        DCSR_TRY(dcsr_i_cuda_bring_arrival(b->matrix, o));
        n += o->batch.n;
    }
    b->device.most = n;
    b->device.most_rows = n < rows ? n : rows;
    b->most_pages = n < pages ? n : pages;
    b->keys = b->operation->batch.arrival.keys;
    b->words = b->operation->batch.arrival.words;
    DCSR_TRY(make_room(b));
    return b->operation->joined ? put_together(b) : DCSR_OK;
}

/* ---- Sort, combine, group ---- */

/* What a twin is given has been combined, and is in order but for its rows. */
static dcsr_status sort_and_combine(batch *b)
{
    const dcsr_i_packed *packed = &b->operation->batch;
    const dcsr_i_operation *operation = b->operation;
    uint64_t n = b->device.most, *keys = b->keys, *words = b->words;
    int low = packed->ordered_bits, bits = packed->row_bits + packed->column_bits;
    bool combine = !b->matrix->transpose.owner &&
                   (operation->kind == DCSR_I_REMOVE || b->matrix->policy != DCSR_POLICY_KEEP);
    /* Merging looks past equal keys that have no values; a twin gets each once. */
    if (b->merges && !words && !b->matrix->transpose.twin) combine = false;
    if (!packed->ascending || operation->joined) {
        uint64_t *keys_spare = take(b, n, sizeof *keys_spare), *words_spare = NULL;
        if (words) words_spare = take(b, n, sizeof *words_spare);
        if (!keys_spare || (words && !words_spare)) return DCSR_ERROR_OUT_OF_MEMORY;
        if (bits > low)
            DCSR_TRY(dcsr_i_cuda_sort(b->stream, &keys, &keys_spare, words ? &words : NULL,
                                      words ? &words_spare : NULL, n, low, bits));
        if (combine) {
            dcsr_policy policy = words ? b->matrix->policy : DCSR_POLICY_ANY;
            dcsr_i_cuda_keyed entries = {keys, words, n, words ? b->matrix->type : DCSR_PATTERN};
            DCSR_TRY(dcsr_i_cuda_combine(b->stream, &entries, policy, keys_spare, words_spare,
                                         &b->summary->counts.entries));
            keys = keys_spare;
            words = words_spare;
            b->device.combined = true;
        }
    }
    b->device.keys = b->keys = keys;
    b->device.words = b->words = words;
    return DCSR_OK;
}

static dcsr_status take_counters(batch *b, dcsr_i_cuda_counters *counters)
{
    counters->within = take(b, b->device.most + 1, sizeof *counters->within);
    counters->before = take(b, b->device.most / DCSR_CUDA_TILE + 2, sizeof *counters->before);
    return counters->within && counters->before ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}

static dcsr_status group(batch *b)
{
    dcsr_i_cuda_batch *device = &b->device;
    b->summary = take(b, report_size(b->most_pages), 1);
    if (!b->summary) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_i_cuda_fill(b->stream, b->summary, 0, report_size(b->most_pages));
    DCSR_TRY(sort_and_combine(b));
    device->counts = &b->summary->counts;
    device->plan = &b->summary->plan;
    device->needs = b->summary->needs;
    DCSR_TRY(take_counters(b, &device->heads));
    if (b->merges) DCSR_TRY(take_counters(b, &device->counted));
    device->first = take(b, device->most_rows + 1, sizeof *device->first);
    device->changes = take(b, device->most_rows, sizeof *device->changes);
    device->growth = take(b, device->most_rows, sizeof *device->growth);
    device->places = take(b, device->most_rows, sizeof *device->places);
    device->offsets = take(b, device->most_rows + 1, sizeof *device->offsets);
    device->moving = take(b, device->most_rows, sizeof *device->moving);
    if (!device->first || !device->changes || !device->growth || !device->places || !device->offsets ||
        !device->moving)
        return DCSR_ERROR_OUT_OF_MEMORY;
    device->merges = b->merges;
    dcsr_i_cuda_group_entries(b->stream, device);
    return DCSR_OK;
}

/* ---- Plan ---- */

/* Plans the batch on the version that is current, and waits for the outcome. The sums are zeros. */
static dcsr_status plan(batch *b)
{
    size_t size = report_size(b->most_pages);
    b->base = b->matrix->versions.current;
    b->device.bulk = !b->base->stored && !b->device.mark && !b->merges;
    b->device.merges = b->merges;
    b->device.rows = dcsr_i_cuda_rows_of_table(b->matrix, b->base);
    dcsr_i_cuda_look_at_entries(b->stream, &b->device);
    DCSR_TRY(dcsr_i_cuda_plan_rows(b->stream, &b->device));
    report *landing = dcsr_i_cuda_landing(b->stream, size);
    if (!landing) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_i_cuda_copy(b->stream, landing, b->summary, size);
    DCSR_TRY(dcsr_i_cuda_wait(b->stream, b->doing));
    b->planned = landing;
    b->counts = landing->counts;
    b->plan = landing->plan;
    if (!b->plan.too_long) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_TOO_LARGE,
                       "row %llu would hold more than 2^31 entries; combine duplicates with another policy",
                       (unsigned long long)(((uint64_t)1 << 32) - b->plan.too_long));
}

static dcsr_status plan_again(batch *b)
{
    size_t sums = offsetof(report, plan);
    dcsr_i_cuda_fill(b->stream, &b->summary->plan, 0, report_size(b->most_pages) - sums);
    return plan(b);
}

/* Resolves the rows that move and are marked, with room for growth, and publishes that. Those into which the batch is
 * to be merged are put in order as well. */
static dcsr_status resolve_moving(batch *b)
{
    uint64_t count = b->plan.moving_marked;
    uint32_t *list = take(b, count, sizeof *list);
    if (!list) return DCSR_ERROR_OUT_OF_MEMORY;
    DCSR_TRY(dcsr_i_cuda_coo_marked(b->stream, &b->device, b->counts.rows, list));
    dcsr_i_selection selection = {
        .kind = DCSR_I_UNRESOLVED_ROWS, .column_limit = DCSR_MAX_COLS, .slack = true, .sorted = b->merges};
    dcsr_i_rewritten result;
    DCSR_TRY(
        dcsr_i_cuda_rewrite_rows(&result, b->matrix, b->base, b->base->version + 1, &selection, list, count));
    dcsr_i_twin_stays(b->matrix);
    const dcsr_tag *tag = b->matrix->versions.tag; /* of the batch, which this version does not have yet */
    b->matrix->versions.tag = NULL;
    dcsr_i_publish(b->matrix, result.table, result.limbo);
    b->matrix->versions.tag = tag;
    atomic_fetch_add(&b->matrix->counts.row_rewrites, count);
    return DCSR_OK;
}

/* ---- Allocate, scatter, publish ---- */

/* What remains of the rows that move: at most so many blocks of the arena, of `blocks`, get places back. */
static uint64_t blocks_freed(const batch *b, uint64_t blocks)
{
    /* A segment lies in one block more than its length in blocks, or two. */
    uint64_t pieces = b->plan.moving * (uint64_t)b->matrix->segments_per_row;
    uint64_t most = 2 * pieces + (b->plan.left >> dcsr_i_arena_shift(&b->matrix->arena));
    return most < blocks ? most : blocks;
}

static dcsr_status list_moves(batch *b, uint64_t blocks)
{
    uint64_t moving = b->plan.moving;
    if (!moving) return DCSR_OK;
    const size_t of_row = sizeof(dcsr_i_cuda_mover) + 3 * sizeof(uint64_t), of_tail = sizeof(uint32_t);
    if (SHARED_BLOCKS &&
        !add_block(b, moving * of_row + (b->plan.tails + blocks) * of_tail + (size_t)8 * ALIGNMENT))
        return DCSR_ERROR_OUT_OF_MEMORY;
    b->moves = (dcsr_i_cuda_moves){.list = take(b, moving, sizeof *b->moves.list),
                                   .to = take(b, moving, sizeof *b->moves.to),
                                   .offsets = take(b, moving + 1, sizeof *b->moves.offsets),
                                   .freed = take(b, blocks, sizeof *b->moves.freed)};
    if (!b->moves.list || !b->moves.to || !b->moves.offsets || !b->moves.freed)
        return DCSR_ERROR_OUT_OF_MEMORY;
    if (b->plan.tails) {
        b->device.tails = take(b, b->plan.tails, sizeof *b->device.tails);
        if (!b->device.tails) return DCSR_ERROR_OUT_OF_MEMORY;
    }
    if (b->device.merges) {
        b->device.movers = take(b, moving, sizeof *b->device.movers);
        if (!b->device.movers) return DCSR_ERROR_OUT_OF_MEMORY;
    }
    dcsr_i_cuda_fill(b->stream, b->moves.freed, 0, blocks * sizeof *b->moves.freed);
    return dcsr_i_cuda_coo_moves(b->stream, &b->device, (uint32_t)moving,
                                 dcsr_i_arena_shift(&b->matrix->arena), &b->moves);
}

/* Writes the entries, and those of rows that move. Nobody looks at these places yet, whatever becomes of the
 * batch. */
static void scatter(batch *b)
{
    const dcsr_i_arena *arena = &b->matrix->arena;
    uint64_t begin = b->device.begin;
    if (b->device.merges) {
        dcsr_i_cuda_merge_entries(b->stream, &b->device, &b->moves, &b->plan, b->counts.entries);
        return;
    }
    dcsr_i_cuda_scatter_entries(b->stream, &b->device, b->counts.entries);
    if (!b->plan.moving) return;
    dcsr_i_cuda_walk walk = {
        .rows = b->device.rows, .list = b->moves.list, .count = b->plan.moving, .offsets = b->moves.offsets};
    dcsr_i_cuda_gather(b->stream, &walk, b->plan.moved, b->moves.to, arena->columns + begin,
                       arena->value_size ? arena->values + begin * arena->value_size : NULL);
}

/* Brings the new table up to date, and waits for all that was written; *freed gets what moved rows leave, by
 * block. */
static dcsr_status finish(batch *b, uint32_t *freed, uint64_t blocks)
{
    b->device.copied = b->build.changes;
    dcsr_i_cuda_finish_rows(b->stream, &b->device, b->counts.rows);
    if (b->plan.moving) dcsr_i_cuda_copy(b->stream, freed, b->moves.freed, blocks * sizeof *freed);
    return dcsr_i_cuda_wait(b->stream, b->doing);
}

/* A's twin gets the batch, whose entries are sorted and combined and needed no more: their keys are overwritten.
 * The twin's stream need not be ordered behind A's, which has nothing left to do; and applying the batch
 * waits for all that reads the entries, whether it works out or not. */
static dcsr_status apply_entries(dcsr_matrix *matrix, dcsr_i_operation *operation, bool merges);
static void follow(const batch *b)
{
    dcsr_matrix *twin = b->matrix->transpose.twin;
    const dcsr_i_packed *packed = &b->operation->batch;
    const uint64_t n = b->counts.entries;
    if (!twin) return;
    dcsr_i_operation swapped = dcsr_i_twin_batch(b->matrix, b->operation, n);
    swapped.batch.arrival = (dcsr_i_arrival){.keys = b->keys, .words = b->words};
    dcsr_i_cuda_swap_keys(twin->cuda->stream, b->keys, n, packed->row_bits, packed->column_bits);
    dcsr_i_twin_follow(b->matrix, apply_entries(twin, &swapped, b->merges));
}

static void publish(batch *b, const uint32_t *freed, uint64_t blocks)
{
    dcsr_i_table *table = b->build.table;
    table->stored += b->plan.stored;
    table->extra_segments += b->plan.extra;
    table->duplicate_rows += b->plan.duplicates;
    table->tombstone_rows += b->plan.tombstones;
    table->contiguous = b->device.bulk && b->plan.places == b->counts.entries;
    table->first = b->device.begin;
    if (b->plan.moving) dcsr_i_cuda_retire_places(b->build.limbo, b->matrix, freed, blocks);
    atomic_fetch_add(&b->matrix->counts.row_rewrites, b->plan.moving);
    atomic_fetch_add(&b->matrix->due.taken, b->plan.places);
    follow(b);
    dcsr_i_publish(b->matrix, table, b->build.limbo);
    dcsr_i_cuda_build_end(&b->build);
}

static dcsr_status scatter_and_publish(batch *b)
{
    dcsr_matrix *matrix = b->matrix;
    uint64_t blocks = dcsr_i_arena_blocks(&matrix->arena), version = b->base->version + 1;
    uint32_t *freed = NULL;
    b->build.base = b->base;
    DCSR_TRY(dcsr_i_arena_take(&matrix->arena, b->plan.places, version, &b->device.begin));
    dcsr_status status = list_moves(b, blocks);
    if (status == DCSR_OK) {
        scatter(b); /* the device works while the host looks after pages */
        status =
            dcsr_i_cuda_build_begin(&b->build, b->planned->needs, b->counts.pages, b->base->rows,
                                    b->base->cols, version, b->plan.moving ? blocks_freed(b, blocks) : 0);
    }
    if (status == DCSR_OK) {
        freed = dcsr_i_cuda_landing(b->stream, b->plan.moving ? blocks * sizeof *freed : 0);
        status = freed ? finish(b, freed, blocks) : DCSR_ERROR_OUT_OF_MEMORY;
    }
    if (status == DCSR_OK) {
        publish(b, freed, blocks);
    } else {
        dcsr_i_cuda_wait(b->stream, b->doing); /* the places may be written still */
        dcsr_i_cuda_build_undo(&b->build);
        dcsr_i_arena_give(&matrix->arena, b->device.begin, b->plan.places);
    }
    return status;
}

/* ---- The whole ---- */

static dcsr_status apply(batch *b)
{
    DCSR_TRY(bring(b));
    DCSR_TRY(group(b));
    DCSR_TRY(dcsr_i_cuda_bring_next(b->matrix, b->operation));
    DCSR_TRY(plan(b));
    if (b->plan.moving_marked) {
        DCSR_TRY(resolve_moving(b));
        DCSR_TRY(plan_again(b));
    }
    return scatter_and_publish(b);
}

static dcsr_status apply_entries(dcsr_matrix *matrix, dcsr_i_operation *operation, bool merges)
{
    dcsr_i_cuda_store *store = matrix->cuda;
    bool insert = operation->kind == DCSR_I_INSERT;
    batch b = {.matrix = matrix,
               .stream = store->stream,
               .operation = operation,
               .base = matrix->versions.current,
               .doing = insert ? "inserting" : "deleting",
               .merges = merges && matrix->versions.current->stored,
               .device = {.column_bits = operation->batch.column_bits,
                          .mark = insert ? 0 : DCSR_CUDA_TOMBSTONE,
                          .duplicates = matrix->policy != DCSR_POLICY_KEEP,
                          .policy = matrix->policy,
                          .row_page = (dcsr_i_cuda_row_page *)store->row_pages.memory.start,
                          .segment_page = (dcsr_i_cuda_segment_page *)store->segment_pages.memory.start},
               .build = {.matrix = matrix, .stream = store->stream}};
    dcsr_status status = apply(&b);
    give_all(&b);
    /* The operations' memory may be in use still. */
    if (status != DCSR_OK) dcsr_i_cuda_wait(b.stream, b.doing);
    /* What could not be applied together is going to be applied alone; a twin's entries are its owner's. */
    bool keep = matrix->transpose.owner || (status != DCSR_OK && operation->joined);
    for (dcsr_i_operation *o = keep ? NULL : operation; o; o = next_of(&b, o))
        dcsr_i_cuda_drop_arrival(b.stream, o);
    if (status == DCSR_OK) dcsr_i_changed(matrix, insert || b.device.merges ? 0 : b.counts.entries);
    return status;
}

dcsr_status dcsr_i_cuda_apply_entries(dcsr_matrix *matrix, dcsr_i_operation *operation)
{
    /* Where duplicates are kept there is nothing to merge, and what is deleted is left to be resolved. */
    return apply_entries(matrix, operation,
                         matrix->policy != DCSR_POLICY_KEEP && dcsr_i_resolves_on_insert(matrix));
}

dcsr_status dcsr_i_cuda_insert_transposed(dcsr_matrix *twin, dcsr_i_operation *operation,
                                          const dcsr_i_rows *rows)
{
    dcsr_i_packed *packed = &operation->batch;
    dcsr_i_cuda_stream *stream = twin->cuda->stream;
    dcsr_i_arrival *arrival = &packed->arrival;
    packed->n = rows->device.stored;
    if (!packed->n) return DCSR_OK;
    if (packed->n > DCSR_CUDA_MOST_ENTRIES)
        return dcsr_i_fail(DCSR_ERROR_TOO_LARGE, "the transpose of %llu entries cannot be built as one batch",
                           (unsigned long long)packed->n);
    dcsr_status status =
        dcsr_i_cuda_turn_rows(stream, &rows->device, packed->column_bits, &arrival->keys, &arrival->words);
    if (status == DCSR_OK) status = dcsr_i_cuda_apply_entries(twin, operation);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, arrival->words, packed->n, sizeof *arrival->words);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, arrival->keys, packed->n, sizeof *arrival->keys);
    return status;
}

dcsr_status dcsr_i_cuda_apply_transposed(dcsr_matrix *matrix, dcsr_i_kind kind,
                                         const dcsr_i_cuda_held *entries)
{
    dcsr_matrix *twin = matrix->transpose.twin;
    dcsr_i_cuda_stream *stream = twin->cuda->stream;
    const dcsr_i_table *now = matrix->versions.current;
    const size_t size = kind == DCSR_I_INSERT ? matrix->value_size : 0;
    const dcsr_i_operation given = {.kind = kind,
                                    .batch = {.stride = size ? 2 : 1,
                                              .row_bits = dcsr_i_bits_for(now->rows),
                                              .column_bits = dcsr_i_bits_for(now->cols),
                                              .value_size = size}};
    dcsr_i_operation swapped = dcsr_i_twin_batch(matrix, &given, entries->n);
    uint64_t n = entries->n, *words = NULL;
    if (!n) return DCSR_OK;
    if (n > DCSR_CUDA_MOST_ENTRIES) return DCSR_ERROR_TOO_LARGE;
    if (size) {
        words = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, n, sizeof *words);
        if (!words) return DCSR_ERROR_OUT_OF_MEMORY;
        dcsr_i_cuda_widen(stream, entries->values, (uint32_t)size, n, words);
    }
    dcsr_i_cuda_swap_keys(stream, entries->keys, n, given.batch.row_bits, 32);
    swapped.batch.arrival = (dcsr_i_arrival){.keys = entries->keys, .words = words};
    dcsr_status status = dcsr_i_cuda_apply_entries(twin, &swapped);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, words, n, sizeof *words);
    return status;
}
