/* insert_cuda.c: applying a batch of insertions or deletions on a device, also in the transpose that a matrix
 * maintains.
 *
 *      host                                       device
 *
 *      launch                  ------------->     prepare:  sort by (row, column), combine equal places
 *                                                           rows and pages that are touched
 *      take room: places, slots for pages,                  plan: is there room in the row's last segment?
 *      a root, lists; as much as is likely                        else how large a new one? or is the row
 *      to suffice                                                 to be moved, because its segments ran out?
 *      launch                  ------------->     complete: give slots to pages, make them
 *                                                           write entries, table entries, lengths
 *      wait                    <-------------     what was needed, what each page got
 *      publish; give back the rest
 *
 * So the host waits once. If the plan does not fit the room nothing is completed; the host then takes what is needed,
 * and completes again. The room is what costs nothing: free slots, the open extent of the arena (arena.h), what batches
 * before took. Few entries are prepared, and completed if they are of few pages, by one block of threads each, which
 * read them from the host's memory (insert.cu).
 *
 * A batch is appended like this, which leaves duplicates and tombstones to be resolved; or, if they are to be
 * resolved on insertion (dcsr_i_resolves_on_insert), merged:
 *
 *        | look for each entry in its row                        merge.cuh
 *        | plan: does anything change? is there room behind the
 *        |       row for what is new? else the row is moved      plan.cuh
 *        | write what is new; rows that move, merged             merge.cuh
 *
 * Rows that move and may hold duplicates or tombstones are resolved first, as a version of its own which
 * shows the same entries; so a row that gets the same entries again and again does not grow for ever. Then
 * the batch is planned again. */
#include "dcsr/store/cuda/insert_cuda.h"
#include "dcsr/store/cuda/keys_cuda.h"
#include "dcsr/device/scratch_cuda.h"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/store/cuda/stage_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"
#include "dcsr/store/maintained_transpose.h"
#include <assert.h>
#include <stddef.h>

typedef struct batch {
    dcsr_matrix *matrix;
    dcsr_i_cuda_stream *stream;
    dcsr_i_operation *operation; /* the first of those that are applied together */
    uint64_t *keys, *words;      /* of all of them, on the device */
    const dcsr_i_table *base;
    const char *doing;  /* for messages */
    bool merges;        /* into what is stored */
    bool few, very_few; /* entries: one block of threads prepares them, or applies them */
    dcsr_i_cuda_given given;
    dcsr_i_cuda_batch device;    /* what kernels get */
    dcsr_i_cuda_report *summary; /* on the device */
    dcsr_i_cuda_report *told; /* what came back, in the landing area until that is used for something else */
    dcsr_i_cuda_counts counts;
    dcsr_i_cuda_plan plan;
    dcsr_i_cuda_build build;
    dcsr_i_cuda_scratch scratch;
} batch;

/* Device memory that is given back when the batch ends. */
static void *take(batch *b, uint64_t count, size_t size)
{
    return dcsr_i_cuda_scratch_take(&b->scratch, count, size);
}

static size_t report_size(uint64_t pages)
{
    return sizeof(dcsr_i_cuda_report) + pages * sizeof(dcsr_i_cuda_page_need);
}

/* ---- Bring ---- */

static dcsr_i_operation *next_of(const batch *b, const dcsr_i_operation *operation)
{
    return operation == b->operation ? operation->joined : operation->next;
}

/* One block for what a batch needs in which few rows move. */
static dcsr_status make_room(batch *b)
{
    enum { ARRAYS = 20 };
    const size_t word = sizeof(uint64_t), words = b->operation->batch.value_size ? 2 : 1;
    const size_t of_entry = 2 * word + word * words * (b->operation->joined ? 2 : 1);
    const size_t of_row = sizeof(dcsr_i_cuda_growth) + word + 4 * sizeof(uint32_t);
    const size_t bytes =
        report_size(b->device.most_pages) + b->device.most * of_entry + b->device.most_rows * of_row;
    return dcsr_i_cuda_scratch_expect(&b->scratch, bytes, ARRAYS);
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

/* Whether kernels read the entries where the host has packed them: few of them, in the matrix as it is now. */
static bool is_read_in_place(const batch *b)
{
    const dcsr_i_packed *packed = &b->operation->batch;
    return b->few && packed->entries && !b->operation->joined && !packed->arrival.keys &&
           packed->rows <= b->base->rows && packed->cols <= b->base->cols;
}

static dcsr_status bring(batch *b)
{
    const dcsr_i_packed *packed = &b->operation->batch;
    uint64_t rows = b->base->rows, pages = dcsr_i_cuda_page_count(rows), n = 0;
    for (dcsr_i_operation *o = b->operation; o; o = next_of(b, o)) n += o->batch.n;
    b->device.most = n;
    b->device.most_rows = n < rows ? n : rows;
    b->device.most_pages = n < pages ? n : pages;
    b->few = n <= DCSR_CUDA_FEW_ENTRIES;
    b->very_few = n <= DCSR_CUDA_VERY_FEW && b->device.most_pages <= DCSR_CUDA_FEW_PAGES &&
                  pages <= DCSR_CUDA_SHORT_ROOT &&
                  !b->matrix->transpose.twin; /* which wants the entries, too */
    if (!b->very_few) DCSR_TRY(make_room(b));
    if (is_read_in_place(b)) {
        b->given = (dcsr_i_cuda_given){.keys = packed->entries,
                                       .values = packed->value_size ? dcsr_i_values(packed) : NULL,
                                       .value_size = (uint32_t)packed->value_size};
        return DCSR_OK;
    }
    for (dcsr_i_operation *o = b->operation; o; o = next_of(b, o))
        DCSR_TRY(dcsr_i_cuda_bring_arrival(b->matrix, o));
    b->keys = packed->arrival.keys;
    b->words = packed->arrival.words;
    if (b->operation->joined) DCSR_TRY(put_together(b));
    b->given = (dcsr_i_cuda_given){.keys = b->keys, .values = b->words, .value_size = sizeof *b->words};
    return DCSR_OK;
}

/* ---- Sort, combine, group ---- */

/* Whether entries of one place are combined. What a twin is given has been. */
static bool combines(const batch *b)
{
    if (b->matrix->transpose.owner) return false;
    /* Merging looks past equal keys that have no values; a twin gets each once. */
    if (b->merges && !b->given.values && !b->matrix->transpose.twin) return false;
    return b->operation->kind == DCSR_I_REMOVE || b->matrix->policy != DCSR_POLICY_KEEP;
}

/* What a twin is given is in order but for its rows. */
static dcsr_status sort_and_combine(batch *b)
{
    const dcsr_i_packed *packed = &b->operation->batch;
    const dcsr_i_operation *operation = b->operation;
    uint64_t n = b->device.most, *keys = b->keys, *words = b->words;
    int low = packed->ordered_bits, bits = packed->row_bits + packed->column_bits;
    if (!packed->ascending || operation->joined) {
        uint64_t *keys_spare = take(b, n, sizeof *keys_spare), *words_spare = NULL;
        if (words) words_spare = take(b, n, sizeof *words_spare);
        if (!keys_spare || (words && !words_spare)) return DCSR_ERROR_OUT_OF_MEMORY;
        if (bits > low)
            DCSR_TRY(dcsr_i_cuda_sort(b->stream, &keys, &keys_spare, words ? &words : NULL,
                                      words ? &words_spare : NULL, n, low, bits));
        if (combines(b)) {
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

static dcsr_status take_arrays(batch *b)
{
    dcsr_i_cuda_batch *device = &b->device;
    b->summary = take(b, report_size(device->most_pages), 1);
    if (!b->summary) return DCSR_ERROR_OUT_OF_MEMORY;
    device->counts = &b->summary->counts;
    device->plan = &b->summary->plan;
    device->needs = dcsr_i_cuda_needs_in(b->summary);
    DCSR_TRY(take_counters(b, &device->heads));
    if (b->merges) DCSR_TRY(take_counters(b, &device->counted));
    device->first = take(b, device->most_rows + 1, sizeof *device->first);
    device->changes = take(b, device->most_rows, sizeof *device->changes);
    device->growth = take(b, device->most_rows, sizeof *device->growth);
    device->places = take(b, device->most_rows, sizeof *device->places);
    device->offsets = take(b, device->most_rows + 1, sizeof *device->offsets);
    device->moving = take(b, device->most_rows, sizeof *device->moving);
    return device->first && device->changes && device->growth && device->places && device->offsets &&
                   device->moving
               ? DCSR_OK
               : DCSR_ERROR_OUT_OF_MEMORY;
}

/* ---- Plan ---- */

/* The batch is planned on the version that is current. */
static void look_at_base(batch *b)
{
    b->base = b->matrix->versions.current;
    b->build.base = b->base;
    b->device.bulk = !b->base->stored && !b->device.mark && !b->merges;
    b->device.merges = b->merges;
    b->device.rows = dcsr_i_cuda_rows_of_table(b->matrix, b->base);
}

static dcsr_status prepare_few(batch *b)
{
    uint64_t *keys = take(b, b->device.most, sizeof *keys), *words = NULL;
    if (b->given.values) words = take(b, b->device.most, sizeof *words);
    if (!keys || (b->given.values && !words)) return DCSR_ERROR_OUT_OF_MEMORY;
    b->device.keys = b->keys = keys;
    b->device.words = b->words = words;
    b->device.combined = true;
    b->given.combine = combines(b);
    dcsr_i_cuda_prepare_few(b->stream, &b->device, keys, words, &b->given);
    return DCSR_OK;
}

static dcsr_status prepare(batch *b)
{
    look_at_base(b);
    DCSR_TRY(take_arrays(b));
    if (b->few) return prepare_few(b);
    dcsr_i_cuda_fill(b->stream, b->summary, 0, report_size(b->device.most_pages));
    DCSR_TRY(sort_and_combine(b));
    dcsr_i_cuda_group_entries(b->stream, &b->device);
    return dcsr_i_cuda_plan_rows(b->stream, &b->device);
}

static dcsr_status plan_again(batch *b)
{
    size_t sums = offsetof(dcsr_i_cuda_report, plan);
    look_at_base(b);
    dcsr_i_cuda_fill(b->stream, &b->summary->plan, 0, report_size(b->device.most_pages) - sums);
    return dcsr_i_cuda_plan_rows(b->stream, &b->device);
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

/* ---- Room ---- */

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The slots that are free, or some more, up to `most`. */
static uint32_t likely_slots(const batch *b, const dcsr_i_cuda_slots *slots, uint64_t most)
{
    enum { SOME = 64 };
    const uint32_t idle = dcsr_i_cuda_slots_idle(slots, b->matrix);
    return (uint32_t)least_of(most, idle > SOME ? idle : SOME);
}

/* As many as batches needed of late and a quarter more; `first` for each entry where there has been none. */
static uint64_t likely(const batch *b, double needed, double first)
{
    enum { SOME = 64 };
    return (uint64_t)((double)b->device.most * (needed > 0 ? 1.25 * needed : first)) + SOME;
}

/* What is likely to suffice, and costs nothing to take. */
static dcsr_i_cuda_room_for likely_room(const batch *b)
{
    const dcsr_i_cuda_store *store = b->matrix->cuda;
    const dcsr_i_cuda_needs *seen = &store->seen[b->operation->kind == DCSR_I_REMOVE];
    const uint64_t pages = b->device.most_pages, segments = (uint64_t)b->matrix->segments_per_row;
    const uint64_t rows = least_of(b->device.most_rows, DCSR_CUDA_MOST_CLAIMED);
    dcsr_i_cuda_room_for room = {.places = b->device.most,
                                 .pages = likely_slots(b, &store->row_pages, pages),
                                 .segments = likely_slots(b, &store->segment_pages, pages * segments)};
    if (b->device.bulk) return room;
    /* What is merged has no slack: all rows may move, and no more than that. */
    const uint64_t all = (b->base->stored + b->device.most) * (b->merges ? 1 : 2);
    room.places = least_of(likely(b, seen->places, 3), all);
    room.moving = least_of(rows, likely(b, seen->moving, 1));
    if (b->merges) room.tails = least_of(rows * DCSR_CUDA_LONGEST_TAIL, likely(b, seen->tails, 4));
    if (b->very_few) room.tails = least_of(room.tails, DCSR_CUDA_FEW_TAILS);
    return room;
}

/* The most of late, which is forgotten by and by. */
static void note(double *seen, uint64_t needed, uint64_t entries)
{
    const double now = (double)needed / (double)entries;
    *seen = now > 0.9 * *seen ? now : 0.9 * *seen;
}

static void note_needs(batch *b)
{
    dcsr_i_cuda_needs *seen = &b->matrix->cuda->seen[b->operation->kind == DCSR_I_REMOVE];
    note(&seen->places, b->plan.places, b->device.most);
    note(&seen->moving, b->plan.moving, b->device.most);
    note(&seen->tails, b->plan.tails, b->device.most);
}

/* What is needed, now that it is known. */
static dcsr_i_cuda_room_for needed_room(const batch *b)
{
    return (dcsr_i_cuda_room_for){.places = b->plan.places,
                                  .moving = b->plan.moving,
                                  .tails = b->plan.tails,
                                  .pages = b->counts.pages,
                                  .segments = b->plan.segments};
}

/* For rows that move. */
static dcsr_status take_moves(batch *b)
{
    dcsr_i_cuda_batch *device = &b->device;
    dcsr_i_cuda_moves *moves = &device->moves;
    const uint64_t moving = device->room.moving;
    *moves = (dcsr_i_cuda_moves){.blocks = dcsr_i_arena_blocks(&b->matrix->arena),
                                 .shift = dcsr_i_arena_shift(&b->matrix->arena)};
    if (!moving || b->very_few) return DCSR_OK;
    const size_t of_row = sizeof(dcsr_i_cuda_mover) + 3 * sizeof(uint64_t), of_tail = sizeof(uint32_t);
    DCSR_TRY(dcsr_i_cuda_scratch_expect(&b->scratch,
                                        moving * of_row + (device->room.tails + moves->blocks) * of_tail, 6));
    moves->list = take(b, moving, sizeof *moves->list);
    moves->to = take(b, moving, sizeof *moves->to);
    moves->offsets = take(b, moving + 1, sizeof *moves->offsets);
    moves->freed = take(b, moves->blocks, sizeof *moves->freed);
    if (!moves->list || !moves->to || !moves->offsets || !moves->freed) return DCSR_ERROR_OUT_OF_MEMORY;
    if (b->merges) {
        device->tails = take(b, device->room.tails, sizeof *device->tails);
        device->movers = take(b, moving, sizeof *device->movers);
        if (!device->tails || !device->movers) return DCSR_ERROR_OUT_OF_MEMORY;
    }
    return DCSR_OK;
}

/* What is told, behind it what is freed of each block, and slots. */
static uint32_t *freed_of(const batch *b)
{
    return (uint32_t *)((char *)b->told + report_size(b->device.room.pages));
}

static size_t freed_size(const batch *b)
{
    return b->device.room.moving ? b->device.moves.blocks * sizeof(uint32_t) : 0;
}

static dcsr_status take_landing(batch *b, uint32_t **slots)
{
    const dcsr_i_cuda_room_for *room = &b->device.room;
    const size_t told = report_size(room->pages) + freed_size(b);
    b->told = dcsr_i_cuda_landing(b->stream, told + ((size_t)room->pages + room->segments) * sizeof **slots);
    if (!b->told) return DCSR_ERROR_OUT_OF_MEMORY;
    *slots = (uint32_t *)((char *)b->told + told);
    return DCSR_OK;
}

/* Takes the room: more places, if they are there, and nobody knows how many are needed. */
static dcsr_status take_room(batch *b, const dcsr_i_cuda_room_for *room, bool likely)
{
    enum { SOME = 1 << 16 };
    dcsr_i_arena *arena = &b->matrix->arena;
    const uint64_t version = b->base->version + 1, places = room->places;
    b->device.room = *room;
    DCSR_TRY(dcsr_i_arena_take_some(arena, places, likely ? 2 * places + SOME : places, version,
                                    &b->device.begin, &b->device.room.places));
    uint32_t *slots;
    dcsr_status status = take_moves(b);
    if (status == DCSR_OK && !b->very_few) {
        b->device.copied = take(b, room->pages, sizeof *b->device.copied);
        if (!b->device.copied) status = DCSR_ERROR_OUT_OF_MEMORY;
    }
    if (status == DCSR_OK) status = take_landing(b, &slots);
    if (status == DCSR_OK)
        status = dcsr_i_cuda_build_ahead(&b->build, room->pages, room->segments, slots, version,
                                         room->moving ? b->device.moves.blocks : 0);
    if (status != DCSR_OK) dcsr_i_arena_untake(arena, b->device.begin, b->device.room.places, 0);
    return status;
}

/* The device has nothing to do with it any more, or its wait has failed. */
static void give_room(batch *b)
{
    dcsr_i_cuda_build_undo(&b->build);
    dcsr_i_arena_untake(&b->matrix->arena, b->device.begin, b->device.room.places, 0);
}

/* ---- Complete, publish ---- */

static dcsr_status launch(batch *b)
{
    dcsr_i_cuda_batch *device = &b->device;
    device->slots = b->build.slots;
    device->root = b->build.table->root->device;
    device->root_pages = b->build.table->root->pages;
    device->told = b->told;
    device->told_freed = freed_of(b);
    if (b->very_few) {
        dcsr_i_cuda_apply_very_few(b->stream, device, &b->given);
        return DCSR_OK;
    }
    dcsr_i_cuda_fill(b->stream, device->moves.freed, 0, freed_size(b));
    return dcsr_i_cuda_complete(b->stream, device);
}

/* Completes the batch if it fits the room, and waits for what becomes of it. On failure the room has been given back.
 */
static dcsr_status complete(batch *b, const dcsr_i_cuda_room_for *room, bool likely, bool *fits)
{
    DCSR_TRY(take_room(b, room, likely));
    dcsr_status status = launch(b), waited = dcsr_i_cuda_wait(b->stream, b->doing);
    if (status == DCSR_OK) status = waited;
    if (status == DCSR_OK) {
        b->counts = b->told->counts;
        b->plan = b->told->plan;
        *fits = dcsr_i_cuda_fits(&b->device.room, &b->counts, &b->plan);
        if (*fits) return DCSR_OK;
    }
    give_room(b);
    if (status == DCSR_OK && b->plan.too_long)
        status =
            dcsr_i_fail(DCSR_ERROR_TOO_LARGE,
                        "row %llu would hold more than 2^31 entries; combine duplicates with another policy",
                        (unsigned long long)(((uint64_t)1 << 32) - b->plan.too_long));
    return status;
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

static void publish(batch *b)
{
    dcsr_matrix *matrix = b->matrix;
    dcsr_i_table *table = b->build.table;
    const dcsr_i_cuda_plan *plan = &b->plan;
    dcsr_i_arena_untake(&matrix->arena, b->device.begin, b->device.room.places, plan->places);
    dcsr_i_cuda_build_enter(&b->build, dcsr_i_cuda_needs_in(b->told), b->counts.pages);
    table->stored += plan->stored;
    table->extra_segments += plan->extra;
    table->duplicate_rows += plan->duplicates;
    table->tombstone_rows += plan->tombstones;
    table->contiguous = b->device.bulk && plan->places == b->counts.entries;
    table->first = b->device.begin;
    if (plan->moving) dcsr_i_cuda_retire_places(b->build.limbo, matrix, freed_of(b), b->device.moves.blocks);
    atomic_fetch_add(&matrix->counts.row_rewrites, plan->moving);
    atomic_fetch_add(&matrix->due.taken, plan->places);
    note_needs(b);
    follow(b);
    dcsr_i_publish(matrix, table, b->build.limbo);
    dcsr_i_cuda_build_end(&b->build);
}

/* ---- The whole ---- */

/* Very few entries, in one launch; *fits: it has been done. */
static dcsr_status try_at_once(batch *b, bool *fits)
{
    *fits = false;
    if (!b->very_few) return DCSR_OK;
    look_at_base(b);
    b->device.combined = true;
    b->given.combine = combines(b);
    const dcsr_i_cuda_room_for room = likely_room(b);
    DCSR_TRY(complete(b, &room, true, fits));
    b->very_few = false;
    return *fits ? DCSR_OK : make_room(b);
}

/* What has been prepared is completed; where the room does not suffice, in what it needs; where rows have to be
 * resolved, after that. */
static dcsr_status complete_all(batch *b)
{
    bool fits, guess = true;
    dcsr_i_cuda_room_for room = likely_room(b);
    for (;;) {
        DCSR_TRY(complete(b, &room, guess, &fits));
        if (fits) return DCSR_OK;
        guess = b->plan.moving_marked;
        if (b->plan.moving_marked) {
            DCSR_TRY(resolve_moving(b));
            DCSR_TRY(plan_again(b));
            room = likely_room(b);
        } else {
            const size_t begin = offsetof(dcsr_i_cuda_plan, listed), end = offsetof(dcsr_i_cuda_plan, done);
            dcsr_i_cuda_fill(b->stream, (char *)&b->summary->plan + begin, 0, end - begin);
            room = needed_room(b);
        }
    }
}

static dcsr_status apply(batch *b)
{
    bool done;
    DCSR_TRY(bring(b));
    DCSR_TRY(try_at_once(b, &done));
    if (!done) DCSR_TRY(prepare(b));
    DCSR_TRY(dcsr_i_cuda_bring_next(b->matrix, b->operation));
    if (!done) DCSR_TRY(complete_all(b));
    publish(b);
    return DCSR_OK;
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
                          .slack = matrix->slack,
                          .row_page = (dcsr_i_cuda_row_page *)store->row_pages.memory.start,
                          .segment_page = (dcsr_i_cuda_segment_page *)store->segment_pages.memory.start},
               .build = {.matrix = matrix, .stream = store->stream},
               .scratch = {.stream = store->stream}};
    dcsr_i_cuda_enter(b.stream); /* the caller's thread may be anybody's (change.c) */
    dcsr_status status = apply(&b);
    dcsr_i_cuda_scratch_drop(&b.scratch);
    /* The operations' memory may be in use still. */
    if (status != DCSR_OK) dcsr_i_cuda_wait(b.stream, b.doing);
    /* What could not be applied together is going to be applied alone; a twin's entries are its owner's. */
    bool keep = matrix->transpose.owner || (status != DCSR_OK && operation->joined);
    for (dcsr_i_operation *o = keep ? NULL : operation; o; o = next_of(&b, o))
        dcsr_i_cuda_drop_arrival(b.stream, o);
    dcsr_i_cuda_step_out(b.stream);
    if (status == DCSR_OK) dcsr_i_changed(matrix, insert || b.device.merges ? 0 : b.counts.entries);
    return status;
}

dcsr_status dcsr_i_cuda_apply_entries(dcsr_matrix *matrix, dcsr_i_operation *operation)
{
    /* Where duplicates are kept there is nothing to merge, and what is deleted is left to be resolved. */
    return apply_entries(matrix, operation,
                         matrix->policy != DCSR_POLICY_KEEP && dcsr_i_resolves_on_insert(matrix));
}
