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
 * Where nobody holds the current version, values are changed where they are, and rows that lose entries close up,
 * unless they are long or would have too much room, or a version that is held sees them: that moves nothing, and leaves
 * no holes. It is planned so; before anything is written the version is claimed, and if somebody holds it by then the
 * batch is planned again. Pages that are missing, or that a held version sees, are made as they always are, but for the
 * current root.
 *
 * Rows that move and may hold duplicates or tombstones are resolved first, as a version of its own which
 * shows the same entries; so a row that gets the same entries again and again does not grow for ever. Then
 * the batch is planned again. */
#include "dcsr/store/cuda/insert_cuda.h"
#include "dcsr/store/agreement.h"
#include "dcsr/store/cuda/keys_cuda.h"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/store/maintained_transpose.h"
#include <assert.h>
#include <stddef.h>

/* ---- Bring ---- */

static dcsr_i_operation *next_of(const dcsr_i_cuda_insertion *b, const dcsr_i_operation *operation)
{
    return operation == b->operation ? operation->joined : operation->next;
}

/* One block for what a batch needs in which few rows move. */
static dcsr_status make_room(dcsr_i_cuda_insertion *b)
{
    enum { ARRAYS = 20 };
    const size_t word = sizeof(uint64_t), words = b->operation->batch.value_size ? 2 : 1;
    const bool copied = b->operation->joined || b->operation->batch.arrival.rows;
    const size_t of_entry =
        2 * word + word * words * (copied ? 2 : 1) + (b->device.in_place ? sizeof *b->device.positions : 0);
    const size_t of_row = sizeof(dcsr_i_cuda_growth) + word + 3 * sizeof(uint32_t);
    const size_t bytes = dcsr_i_cuda_report_size(b->device.most_pages) + b->device.most * of_entry +
                         b->device.most_rows * of_row +
                         dcsr_i_arena_blocks(&b->matrix->arena) * sizeof(uint32_t);
    return dcsr_i_cuda_scratch_expect(&b->scratch, bytes, ARRAYS);
}

/* Puts the entries of all operations one behind the other. */
static dcsr_status put_together(dcsr_i_cuda_insertion *b)
{
    uint64_t at = 0;
    const bool values = b->operation->batch.value_size != 0;
    b->keys = dcsr_i_cuda_insertion_take(b, b->device.most, sizeof *b->keys);
    if (values) b->words = dcsr_i_cuda_insertion_take(b, b->device.most, sizeof *b->words);
    if (!b->keys || (values && !b->words)) return dcsr_i_no_memory();
    for (const dcsr_i_operation *o = b->operation; o; at += o->batch.n, o = next_of(b, o)) {
        dcsr_i_cuda_copy(b->stream, b->keys + at, o->batch.arrival.keys, o->batch.n * sizeof *b->keys);
        if (values)
            dcsr_i_cuda_copy(b->stream, b->words + at, o->batch.arrival.words, o->batch.n * sizeof *b->words);
    }
    return DCSR_OK;
}

/* Whether kernels read the entries where the host has packed them: few of them, in the matrix as it is now. */
static bool is_read_in_place(const dcsr_i_cuda_insertion *b)
{
    const dcsr_i_packed *packed = &b->operation->batch;
    return b->few && packed->entries && !b->operation->joined && !packed->arrival.keys &&
           packed->rows <= b->base->rows && packed->cols <= b->base->cols;
}

/* Brings what was not given where kernels can read it. */
static dcsr_status bring_all(dcsr_i_cuda_insertion *b)
{
    const dcsr_i_packed *packed = &b->operation->batch;
    for (dcsr_i_operation *o = b->operation; o; o = next_of(b, o))
        DCSR_TRY(dcsr_i_cuda_bring_arrival(b->matrix, o));
    b->keys = packed->arrival.keys;
    b->words = packed->arrival.words;
    if (b->operation->joined) DCSR_TRY(put_together(b));
    b->given = (dcsr_i_cuda_given){.keys = b->keys, .values = b->words, .value_size = sizeof *b->words};
    return DCSR_OK;
}

/* Whether it is tried in place: there is nothing that might still ask for it to be taken back, and no transpose follows
 * while the versions are closed. */
static bool is_in_place(dcsr_i_cuda_insertion *b)
{
    const dcsr_matrix *matrix = b->matrix;
    return b->merges && b->device.most <= DCSR_CUDA_MOST_IN_PLACE && !b->device.apart &&
           !matrix->transpose.owner && !matrix->transpose.maintained &&
           dcsr_i_may_claim_version(b->matrix, &b->device.seen);
}

static dcsr_status bring(dcsr_i_cuda_insertion *b)
{
    const dcsr_i_packed *packed = &b->operation->batch;
    const dcsr_i_arrival *arrival = &packed->arrival;
    uint64_t rows = b->base->rows, pages = dcsr_i_cuda_page_count(rows), n = 0;
    for (dcsr_i_operation *o = b->operation; o; o = next_of(b, o)) n += o->batch.n;
    b->device.most = n;
    b->device.most_rows = n < rows ? n : rows;
    b->device.most_pages = n < pages ? n : pages;
    b->device.in_place = is_in_place(b);
    b->few = n <= DCSR_CUDA_FEW_ENTRIES;
    b->very_few = n <= DCSR_CUDA_VERY_FEW && b->device.most_pages <= DCSR_CUDA_FEW_PAGES &&
                  pages <= DCSR_CUDA_SHORT_ROOT &&
                  !b->matrix->transpose.twin; /* which wants the entries, too */
    if (!b->very_few) DCSR_TRY(make_room(b));
    const uint32_t size = (uint32_t)packed->value_size;
    if (arrival->rows)
        b->given = (dcsr_i_cuda_given){
            .rows = arrival->rows, .cols = arrival->cols, .values = arrival->values, .value_size = size};
    else if (is_read_in_place(b))
        b->given = (dcsr_i_cuda_given){
            .keys = packed->entries, .values = size ? dcsr_i_values(packed) : NULL, .value_size = size};
    else
        return bring_all(b);
    return DCSR_OK;
}

/* Packs entries that are read where the caller has them. */
static dcsr_status pack(dcsr_i_cuda_insertion *b)
{
    const dcsr_i_packed *packed = &b->operation->batch;
    const dcsr_i_cuda_given *given = &b->given;
    const dcsr_i_cuda_arrays arrays = {given->rows, given->cols, given->values, packed->n, given->value_size};
    b->keys = dcsr_i_cuda_insertion_take(b, packed->n, sizeof *b->keys);
    if (given->values) b->words = dcsr_i_cuda_insertion_take(b, packed->n, sizeof *b->words);
    if (!b->keys || (given->values && !b->words)) return dcsr_i_no_memory();
    const dcsr_i_cuda_packing packing = {packed->rows, packed->cols, packed->column_bits,
                                         b->keys,      b->words,     b->device.found};
    dcsr_i_cuda_pack(b->stream, dcsr_i_cuda_handle(b->stream), &arrays, &packing, b->device.found);
    return DCSR_OK;
}

/* ---- Sort, combine, group ---- */

/* Whether entries of one place are combined. What a twin is given has been. */
static bool combines(const dcsr_i_cuda_insertion *b)
{
    if (b->matrix->transpose.owner) return false;
    /* Merging looks past equal keys that have no values; a twin gets each once. */
    if (b->merges && !b->given.values && !b->matrix->transpose.twin) return false;
    return b->operation->kind == DCSR_I_REMOVE || b->matrix->policy != DCSR_POLICY_KEEP;
}

/* What a twin is given is in order but for its rows. */
static dcsr_status sort_and_combine(dcsr_i_cuda_insertion *b)
{
    const dcsr_i_packed *packed = &b->operation->batch;
    const dcsr_i_operation *operation = b->operation;
    uint64_t n = b->device.most, *keys = b->keys, *words = b->words;
    int low = packed->ordered_bits, bits = packed->row_bits + packed->column_bits;
    if (!packed->ascending || operation->joined) {
        uint64_t *keys_spare = dcsr_i_cuda_insertion_take(b, n, sizeof *keys_spare), *words_spare = NULL;
        if (words) words_spare = dcsr_i_cuda_insertion_take(b, n, sizeof *words_spare);
        if (!keys_spare || (words && !words_spare)) return dcsr_i_no_memory();
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

static dcsr_status take_counters(dcsr_i_cuda_insertion *b, dcsr_i_cuda_counters *counters)
{
    counters->within = dcsr_i_cuda_insertion_take(b, b->device.most + 1, sizeof *counters->within);
    counters->before =
        dcsr_i_cuda_insertion_take(b, b->device.most / DCSR_CUDA_TILE + 2, sizeof *counters->before);
    return counters->within && counters->before ? DCSR_OK : dcsr_i_no_memory();
}

/* For what rows that move leave, in the blocks that there are now. */
static dcsr_status take_freed(dcsr_i_cuda_insertion *b)
{
    dcsr_i_cuda_moves *moves = &b->device.moves;
    moves->blocks = dcsr_i_arena_blocks(&b->matrix->arena);
    moves->freed = dcsr_i_cuda_insertion_take(b, moves->blocks, sizeof *moves->freed);
    return moves->freed ? DCSR_OK : dcsr_i_no_memory();
}

static dcsr_status take_arrays(dcsr_i_cuda_insertion *b)
{
    dcsr_i_cuda_batch *device = &b->device;
    b->summary = dcsr_i_cuda_insertion_take(b, dcsr_i_cuda_report_size(device->most_pages), 1);
    if (!b->summary) return dcsr_i_no_memory();
    device->counts = &b->summary->counts;
    device->plan = &b->summary->plan;
    device->found = b->given.rows ? &b->summary->found : NULL;
    device->needs = dcsr_i_cuda_needs_in(b->summary);
    DCSR_TRY(take_freed(b));
    DCSR_TRY(take_counters(b, &device->heads));
    if (b->merges) DCSR_TRY(take_counters(b, &device->counted));
    device->first = dcsr_i_cuda_insertion_take(b, device->most_rows + 1, sizeof *device->first);
    device->growth = dcsr_i_cuda_insertion_take(b, device->most_rows, sizeof *device->growth);
    device->places = dcsr_i_cuda_insertion_take(b, device->most_rows, sizeof *device->places);
    device->offsets = dcsr_i_cuda_insertion_take(b, device->most_rows + 1, sizeof *device->offsets);
    device->moving = dcsr_i_cuda_insertion_take(b, device->most_rows, sizeof *device->moving);
    if (device->in_place)
        device->positions = dcsr_i_cuda_insertion_take(b, device->most, sizeof *device->positions);
    if (device->in_place && !device->positions) return dcsr_i_no_memory();
    return device->first && device->growth && device->places && device->offsets && device->moving
               ? DCSR_OK
               : dcsr_i_no_memory();
}

/* ---- Plan ---- */

/* The batch is planned on the version that is current. */
static void look_at_base(dcsr_i_cuda_insertion *b)
{
    b->base = b->matrix->versions.current;
    b->build.base = b->base;
    b->device.bulk = !b->base->stored && !b->device.mark && !b->merges;
    b->device.merges = b->merges;
    b->device.rows = dcsr_i_cuda_rows_of_table(b->matrix, b->base);
}

static dcsr_status prepare_few(dcsr_i_cuda_insertion *b)
{
    uint64_t *keys = dcsr_i_cuda_insertion_take(b, b->device.most, sizeof *keys), *words = NULL;
    if (b->given.values) words = dcsr_i_cuda_insertion_take(b, b->device.most, sizeof *words);
    if (!keys || (b->given.values && !words)) return dcsr_i_no_memory();
    b->device.keys = b->keys = keys;
    b->device.words = b->words = words;
    b->device.combined = true;
    b->given.combine = combines(b);
    dcsr_i_cuda_prepare_few(b->stream, &b->device, keys, words, &b->given);
    return DCSR_OK;
}

static dcsr_status prepare(dcsr_i_cuda_insertion *b)
{
    look_at_base(b);
    DCSR_TRY(take_arrays(b));
    if (b->few) return prepare_few(b);
    dcsr_i_cuda_fill(b->stream, b->summary, 0, dcsr_i_cuda_report_size(b->device.most_pages));
    if (b->given.rows) DCSR_TRY(pack(b));
    DCSR_TRY(sort_and_combine(b));
    dcsr_i_cuda_group_entries(b->stream, &b->device);
    return dcsr_i_cuda_plan_rows(b->stream, &b->device);
}

static dcsr_status plan_again(dcsr_i_cuda_insertion *b)
{
    size_t sums = offsetof(dcsr_i_cuda_report, plan);
    look_at_base(b);
    DCSR_TRY(take_freed(b));
    dcsr_i_cuda_fill(b->stream, &b->summary->plan, 0, dcsr_i_cuda_report_size(b->device.most_pages) - sums);
    dcsr_i_cuda_group_entries(b->stream, &b->device);
    return dcsr_i_cuda_plan_rows(b->stream, &b->device);
}

/* Resolves the rows that move and are marked, with room for growth, and publishes that. Those into which the batch is
 * to be merged are put in order as well. */
static dcsr_status resolve_moving(dcsr_i_cuda_insertion *b)
{
    uint64_t count = b->plan.moving_marked;
    uint32_t *list = dcsr_i_cuda_insertion_take(b, count, sizeof *list);
    if (!list) return dcsr_i_no_memory();
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

/* ---- Complete, publish ---- */

static dcsr_status launch(dcsr_i_cuda_insertion *b)
{
    dcsr_i_cuda_batch *device = &b->device;
    const dcsr_i_cuda_root *root = b->build.table->root;
    device->slots = b->build.slots;
    device->root = root->device;
    device->root_pages = device->in_place ? 0 : root->pages;
    device->told = b->told;
    device->told->complete = 0;
    device->told_freed = dcsr_i_cuda_freed_of(b);
    if (b->very_few) {
        dcsr_i_cuda_apply_very_few(b->stream, device, &b->given);
        return DCSR_OK;
    }
    return dcsr_i_cuda_complete(b->stream, device);
}

/* Why the batch cannot be applied at all, for what the device has told. */
static dcsr_status judge(const dcsr_i_cuda_insertion *b)
{
    const dcsr_i_cuda_verdict *found = &b->told->found;
    if (b->given.rows && found->outside != UINT64_MAX) return dcsr_i_cuda_fail_outside(b->operation, found);
    if (!b->plan.too_long) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_TOO_LARGE,
                       "row %llu would hold more than 2^31 entries; combine duplicates with another policy",
                       (unsigned long long)(((uint64_t)1 << 32) - b->plan.too_long));
}

static void give_up(dcsr_i_cuda_insertion *b)
{
    if (b->claimed) dcsr_i_unclaim_version(b->matrix);
    b->claimed = false;
    dcsr_i_cuda_give_room(b);
}

/* If it is to be in place, sees to it that nobody holds a version of which it was not known. False: it has been planned
 * so, and cannot be. */
static bool claim_version(dcsr_i_cuda_insertion *b)
{
    if (!b->device.in_place) return true;
    b->claimed = b->device.in_place = dcsr_i_claim_version(b->matrix, b->device.seen);
    b->overtaken = !b->claimed;
    return b->claimed;
}

/* Completes the batch if it fits the room, and waits for what becomes of it. If not, or on failure, the room has been
 * given back. */
static dcsr_status complete(dcsr_i_cuda_insertion *b, const dcsr_i_cuda_room_for *room, bool likely,
                            bool *fits)
{
    DCSR_TRY(dcsr_i_cuda_take_room(b, room, likely));
    *fits = false;
    if (!claim_version(b)) {
        give_up(b);
        return DCSR_OK;
    }
    dcsr_status status = launch(b),
                waited = dcsr_i_cuda_wait_told(b->stream, &b->told->complete, status == DCSR_OK, b->doing);
    if (status == DCSR_OK) status = waited;
    if (status == DCSR_OK) {
        assert(b->told->complete);
        b->counts = b->told->counts;
        b->plan = b->told->plan;
        status = judge(b);
        *fits = status == DCSR_OK && dcsr_i_cuda_fits(&b->device.room, &b->plan);
        if (*fits) return DCSR_OK;
    }
    give_up(b);
    return status;
}

/* A's twin gets the batch, whose entries are sorted and combined and needed no more: their keys are overwritten.
 * The twin's stream need not be ordered behind A's, which has nothing left to do; and applying the batch
 * waits for all that reads the entries, whether it works out or not. */
static dcsr_status apply_entries(dcsr_matrix *matrix, dcsr_i_operation *operation, bool merges);
static void follow(const dcsr_i_cuda_insertion *b)
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

/* In place what has changed the current version makes it the next one. */
static void publish(dcsr_i_cuda_insertion *b)
{
    dcsr_matrix *matrix = b->matrix;
    dcsr_i_table *table = b->build.table;
    const dcsr_i_cuda_plan *plan = &b->plan;
    dcsr_i_arena_untake(&matrix->arena, b->device.begin, b->device.room.places, plan->places);
    dcsr_i_cuda_build_enter(&b->build, dcsr_i_cuda_needs_in(b->told), plan->pages);
    table->stored += plan->stored;
    table->extra_segments += plan->extra;
    table->duplicate_rows += plan->duplicates;
    table->tombstone_rows += plan->tombstones;
    table->contiguous = b->device.bulk && plan->places == b->counts.entries;
    table->first = b->device.begin;
    if (plan->moving)
        dcsr_i_cuda_retire_places(b->build.limbo, matrix, dcsr_i_cuda_freed_of(b), b->device.moves.blocks);
    if (b->claimed) {
        dcsr_i_publish_claimed(matrix, b->build.limbo);
    } else {
        follow(b);
        dcsr_i_publish(matrix, table, b->build.limbo);
    }
    dcsr_i_cuda_build_end(&b->build);
}

/* ---- The whole ---- */

/* Very few entries, in one launch; *fits: it has been done. */
static dcsr_status try_at_once(dcsr_i_cuda_insertion *b, bool *fits)
{
    *fits = false;
    if (!b->very_few) return DCSR_OK;
    look_at_base(b);
    b->device.combined = true;
    b->given.combine = combines(b);
    do {
        b->overtaken = false;
        const dcsr_i_cuda_room_for room = dcsr_i_cuda_likely_room(b);
        DCSR_TRY(complete(b, &room, true, fits));
    } while (b->overtaken);
    b->very_few = false;
    return *fits ? DCSR_OK : make_room(b);
}

/* What has been prepared is completed; where the room does not suffice, in what it needs; where rows have to be
 * resolved, after that. */
static dcsr_status complete_all(dcsr_i_cuda_insertion *b)
{
    bool fits, guess = true;
    dcsr_i_cuda_room_for room = dcsr_i_cuda_likely_room(b);
    for (;;) {
        DCSR_TRY(complete(b, &room, guess, &fits));
        if (fits) return DCSR_OK;
        guess = b->overtaken || b->plan.moving_marked;
        if (guess) {
            if (!b->overtaken) DCSR_TRY(resolve_moving(b));
            b->overtaken = false;
            DCSR_TRY(plan_again(b));
            room = dcsr_i_cuda_likely_room(b);
        } else {
            const size_t begin = offsetof(dcsr_i_cuda_plan, listed), end = offsetof(dcsr_i_cuda_plan, done);
            dcsr_i_cuda_fill(b->stream, (char *)&b->summary->plan + begin, 0, end - begin);
            dcsr_i_cuda_fill(b->stream, b->device.moves.freed, 0,
                             b->device.moves.blocks * sizeof *b->device.moves.freed);
            room = dcsr_i_cuda_needed_room(b);
        }
    }
}

static dcsr_status apply(dcsr_i_cuda_insertion *b)
{
    bool done;
    DCSR_TRY(bring(b));
    DCSR_TRY(try_at_once(b, &done));
    if (!done) DCSR_TRY(prepare(b));
    DCSR_TRY(dcsr_i_cuda_bring_next(b->matrix, b->operation));
    if (!done) DCSR_TRY(complete_all(b));
    dcsr_status status = dcsr_i_agree(b->operation);
    if (status != DCSR_OK) {
        give_up(b);
        return status;
    }
    atomic_fetch_add(&b->matrix->counts.row_rewrites, b->plan.moving);
    atomic_fetch_add(&b->matrix->due.taken, b->plan.places);
    dcsr_i_cuda_note_needs(b);
    publish(b);
    return DCSR_OK;
}

static dcsr_status apply_entries(dcsr_matrix *matrix, dcsr_i_operation *operation, bool merges)
{
    dcsr_i_cuda_store *store = matrix->cuda;
    bool insert = operation->kind == DCSR_I_INSERT;
    dcsr_i_cuda_insertion b = {
        .matrix = matrix,
        .stream = store->stream,
        .operation = operation,
        .base = matrix->versions.current,
        .doing = insert ? "inserting" : "deleting",
        .merges = merges && matrix->versions.current->stored,
        .device = {.column_bits = operation->batch.column_bits,
                   .mark = insert ? 0 : DCSR_CUDA_TOMBSTONE,
                   .duplicates = matrix->policy != DCSR_POLICY_KEEP,
                   .apart = operation->agreement.agree != NULL,
                   .policy = operation->replaces ? DCSR_POLICY_LAST : matrix->policy,
                   .slack = matrix->slack,
                   .moves = {.blocks = dcsr_i_arena_blocks(&matrix->arena),
                             .shift = dcsr_i_arena_shift(&matrix->arena)},
                   .row_page = (dcsr_i_cuda_row_page *)store->row_pages.memory.start,
                   .segment_page = (dcsr_i_cuda_segment_page *)store->segment_pages.memory.start},
        .build = {.matrix = matrix, .stream = store->stream},
        .scratch = {.stream = store->stream}};
    dcsr_i_cuda_enter(b.stream); /* the caller's thread may be anybody's (change.c) */
    dcsr_status status = apply(&b);
    dcsr_i_cuda_scratch_drop(&b.scratch);
    /* The operations' memory may be in use still. */
    if (status != DCSR_OK) dcsr_i_cuda_settle(b.stream, b.doing);
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
                         operation->replaces ||
                             (matrix->policy != DCSR_POLICY_KEEP && dcsr_i_resolves_on_insert(matrix)));
}
