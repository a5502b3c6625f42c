/* maintenance.c: changes that leave the entries as they are - resolving and bringing together rows - and when they
 * are worth it. The work itself is the engine's.
 *
 *      readers, changes   count what they pay, and when that may be enough have the worker look
 *      worker             looks at the counts, decides what is due, and does it */
#include "dcsr/store/maintained_transpose.h"

/* Whether as much may have to be moved as is worth to be done in parts, or where it is: of rows to be resolved one a
 * page at least. */
static bool is_much(const dcsr_i_table *table, const dcsr_i_selection *selection)
{
    const uint64_t unresolved = table->duplicate_rows + table->tombstone_rows;
    return unresolved >= dcsr_i_page_count(table) || selection->kind == DCSR_I_ALL_ROWS ||
           selection->kind == DCSR_I_UNRESOLVED_OR_SPLIT_ROWS || selection->kind == DCSR_I_UNSORTED_ROWS;
}

/* Rewrites the selected rows, as a change; those that can be resolved where they are need not move. */
static dcsr_status rewrite_selected(dcsr_matrix *matrix, const dcsr_i_selection *selected)
{
    dcsr_i_rewritten result;
    dcsr_i_selection selection = *selected;
    if (matrix->engine->settle && is_much(matrix->versions.current, selected)) {
        const uint64_t settled = matrix->engine->settle(matrix, selected);
        if (selection.most && settled > selection.first_page) selection.end_page = settled;
    }
    const dcsr_i_table *base = matrix->versions.current;
    DCSR_TRY(matrix->engine->rewrite(&result, matrix, base, base->version + 1, &selection));
    if (selection.kind == DCSR_I_UNTIDY_ROWS)
        matrix->due.next_page = result.next_page;
    else
        atomic_fetch_add(&matrix->due.taken, result.entries);
    if (!result.table) return DCSR_OK;
    dcsr_i_twin_stays(matrix);
    dcsr_i_publish(matrix, result.table, result.limbo);
    return DCSR_OK;
}

/* In parts on the cpu, so that what one part leaves behind serves the next. */
static dcsr_status rewrite_in_parts(dcsr_matrix *matrix, const dcsr_i_selection *selection)
{
    enum { PARTS = 8, LEAST = 1 << 16 };
    const dcsr_i_table *table = matrix->versions.current;
    const uint64_t pages = dcsr_i_page_count(table),
                   parts = matrix->context->cuda || table->stored < LEAST || !is_much(table, selection)
                               ? 1
                               : PARTS;
    for (uint64_t k = 0; k < parts; k++) {
        dcsr_i_selection part = *selection;
        part.first_page = pages * k / parts;
        part.end_page = pages * (k + 1) / parts;
        DCSR_TRY(rewrite_selected(matrix, &part));
    }
    return DCSR_OK;
}

/* Those of a kind, with slack. A call's work is done as a whole or not at all; what nobody has asked for in parts. */
static dcsr_status rewrite(dcsr_matrix *matrix, dcsr_i_rows_kind kind, bool asked_for)
{
    const dcsr_i_selection selection = {.kind = kind, .column_limit = DCSR_MAX_COLS, .slack = true};
    return asked_for ? rewrite_selected(matrix, &selection) : rewrite_in_parts(matrix, &selection);
}

/* All rows are resolved. */
static void forget_unresolved(dcsr_matrix *matrix)
{
    atomic_store(&matrix->due.resolve_reads, 0);
    atomic_store(&matrix->due.deletions, 0);
}

static dcsr_status resolve(dcsr_matrix *matrix, bool asked_for)
{
    DCSR_TRY(rewrite(matrix, DCSR_I_UNRESOLVED_ROWS, asked_for));
    forget_unresolved(matrix);
    return DCSR_OK;
}

/* Whether batches are resolved as they come. */
static bool is_read_fresh(const dcsr_matrix *matrix)
{
    const dcsr_matrix *owner = matrix->transpose.owner ? matrix->transpose.owner : matrix;
    if (owner->resolve != DCSR_RESOLVE_AUTO) return owner->resolve == DCSR_RESOLVE_ON_INSERT;
    return atomic_load_explicit(&matrix->due.fresh, memory_order_relaxed) > 0;
}

dcsr_status dcsr_i_resolve_for_all(dcsr_matrix *matrix, const dcsr_i_selection *selection)
{
    dcsr_i_selection with_slack = *selection;
    with_slack.for_view = false;
    with_slack.slack = !is_read_fresh(matrix);
    DCSR_TRY(rewrite_in_parts(matrix, &with_slack));
    forget_unresolved(matrix);
    dcsr_matrix *owner = matrix->transpose.owner;
    /* A view may hold a twin that its owner has given up since. */
    if (owner && owner->transpose.twin == matrix) dcsr_i_twin_show(owner);
    return DCSR_OK;
}

static void forget_reads(dcsr_matrix *matrix)
{
    atomic_store(&matrix->due.extra_reads, 0);
    atomic_store(&matrix->due.reads_seen, 0);
}

/* Places in use beyond what is stored. */
static uint64_t places_beyond(dcsr_matrix *matrix)
{
    const uint64_t held = dcsr_i_arena_held(&matrix->arena), stored = matrix->versions.current->stored;
    return held > stored ? held - stored : 0;
}

/* All rows have been moved: what is in use beyond what is stored now is held by views or clones. */
static void note_kept(dcsr_matrix *matrix)
{
    matrix->due.kept = places_beyond(matrix);
    atomic_store(&matrix->due.taken, 0);
}

static dcsr_status defragment(dcsr_matrix *matrix, dcsr_defragment_scope scope, bool asked_for)
{
    if (scope == DCSR_DEFRAGMENT_WHOLE && !asked_for && !matrix->context->cuda) {
        /* In parts, so that not all is in memory twice: rows are as tight, but not all one behind the other. */
        DCSR_TRY(rewrite_in_parts(
            matrix, &(dcsr_i_selection){.kind = DCSR_I_ALL_ROWS, .column_limit = DCSR_MAX_COLS}));
        forget_unresolved(matrix);
        note_kept(matrix);
    } else if (scope == DCSR_DEFRAGMENT_WHOLE) {
        /* Lengths must be final before they can be summed. */
        DCSR_TRY(resolve(matrix, asked_for));
        DCSR_TRY(matrix->engine->tighten(matrix));
        note_kept(matrix);
    } else {
        DCSR_TRY(rewrite(matrix, DCSR_I_UNRESOLVED_OR_SPLIT_ROWS, asked_for));
    }
    forget_reads(matrix);
    atomic_fetch_add(&matrix->counts.defragmentations, 1);
    return DCSR_OK;
}

dcsr_status dcsr_i_apply_defragment(dcsr_matrix *matrix, dcsr_defragment_scope scope)
{
    dcsr_status status = defragment(matrix, scope, true);
    /* A twin that stays as it is is right all the same. */
    dcsr_matrix *twin = matrix->transpose.twin;
    if (twin && defragment(twin, scope, true) == DCSR_OK) dcsr_i_twin_show(matrix);
    return status;
}

/* ---- When it is worth it ----
 *
 * Costs are counted in entries read in passing. Walking a further segment of a row costs a jump to another
 * place and a loop that starts anew; moving an entry reads and writes it. When what readers have paid for
 * jumps has reached what moving costs, moving pays from then on; paying as much again at most is the price of
 * not knowing the future. */
enum { JUMP_COST = 12, MOVE_COST = 4 };

/* Space may be taken by slack, deleted entries and what moved rows left in blocks still in use: up to so many halves
 * of what is stored, beyond a small matrix's worth. Of what is stored, one in TOMBSTONE_SHARE may be a tombstone. With
 * more of either, rows are tidied a portion at a time, behind the changes: when batches have taken one PORTIONS-th of
 * what is stored, or a slice, so that small ones are not delayed, and MOVES entries for each place that they took, so
 * that it keeps up; MOVES_OF_MERGED where batches are merged, which take as many places as the rows that they touch.
 * That is done in slices between which other changes come, unless there are too many tombstones or HURRY_HALVES of what
 * is stored are taken. Where MOST_SPACE times what is stored is taken all rows are moved at once. */
enum {
    MOST_HALVES = 3,
    HURRY_HALVES = 4,
    SMALL_SPACE = 1 << 18,
    TOMBSTONE_SHARE = 6,
    PORTIONS = 64,
    SLICE = 1 << 16,
    MOVES = 3,
    MOVES_OF_MERGED = 2
};
enum { MOST_SPACE = 3, TOMBSTONE_SHARE_ON_DEVICE = 4 };

/* On a device rows are tidied where the holes - places that nobody has in blocks in use - are more than one HOLES-th of
 * what is stored and a few blocks; where batches are appended, more. Moving is cheap there and starting is not: so in
 * larger portions, when batches have taken one DEVICE_PORTIONS-th of what is stored, or so many places. */
enum { HOLES = 8, HOLES_OF_APPENDED = 2, FEW_BLOCKS = 4, DEVICE_PORTIONS = 8, LARGE_PORTION = 1 << 23 };

typedef enum due { NOTHING, TRIMMING, TIDYING_A_SLICE, TIDYING, RESOLVING, MOVING_SELECTED, MOVING_ALL } due;

/* Whether readers have paid enough: `table` is the version that they have read, or the current one. */
static bool is_worth_moving(const dcsr_i_table *table, uint64_t reads)
{
    return table->extra_segments && reads * JUMP_COST >= table->stored * MOVE_COST;
}

/* Whether it is worth it to empty blocks of a device. */
static bool has_holes(dcsr_matrix *matrix)
{
    dcsr_i_arena *arena = &matrix->arena;
    const uint64_t stored = matrix->versions.current->stored, portion = stored / DEVICE_PORTIONS,
                   least = portion < LARGE_PORTION ? portion : LARGE_PORTION,
                   few = (uint64_t)FEW_BLOCKS << dcsr_i_arena_shift(arena);
    if (atomic_load(&matrix->due.taken) <= least) return false;
    const uint64_t most = stored / (is_read_fresh(matrix) ? HOLES : HOLES_OF_APPENDED) + few;
    return dcsr_i_arena_held(arena) > dcsr_i_arena_used(arena) + most;
}

/* Places of free blocks for which memory is kept, as clearing it costs more than filling it: a batch that is merged may
 * take as many as there are entries. On a device mapping costs more yet. */
static uint64_t kept_places(const dcsr_matrix *matrix)
{
    const uint64_t stored = matrix->versions.current->stored;
    return matrix->context->cuda || is_read_fresh(matrix) ? stored : stored / 16;
}

/* The most idle places that may keep their memory, by the entries stored. */
static uint64_t idle_allowed(const dcsr_matrix *matrix, uint64_t stored)
{
    if (is_read_fresh(matrix)) return 2 * stored + SMALL_SPACE;
    return stored / (matrix->context->cuda ? 2 : 8) + SMALL_SPACE;
}

/* Whether memory of free blocks is to go back to the system. */
static bool has_idle_memory(dcsr_matrix *matrix)
{
    const uint64_t idle = dcsr_i_arena_idle_memory(&matrix->arena);
    if (idle < matrix->due.stuck) matrix->due.stuck = idle;
    return idle > idle_allowed(matrix, matrix->versions.current->stored) &&
           idle > matrix->due.stuck + SMALL_SPACE;
}

/* Places in use, but for those that moving rows again would not give back: views or clones hold what is there. */
static uint64_t movable_places(dcsr_matrix *matrix)
{
    const uint64_t held = dcsr_i_arena_held(&matrix->arena);
    if (!matrix->due.kept) return held;
    pthread_mutex_lock(&matrix->versions.lock);
    if (!matrix->versions.pin_count) matrix->due.kept = 0;
    pthread_mutex_unlock(&matrix->versions.lock);
    const uint64_t beyond = places_beyond(matrix);
    if (matrix->due.kept > beyond) matrix->due.kept = beyond; /* some of it was let go */
    return held > matrix->due.kept ? held - matrix->due.kept : 0;
}

/* How many entries are moved for each place that batches take, at most. */
static uint64_t moves_for_place(const dcsr_matrix *matrix)
{
    return is_read_fresh(matrix) ? MOVES_OF_MERGED : MOVES;
}

/* In the matrix's turn. */
static due what_is_due(dcsr_matrix *matrix)
{
    const dcsr_i_table *table = matrix->versions.current;
    if (matrix->defragmentation == DCSR_DEFRAGMENT_OFF) return NOTHING;
    /* With few rows fragmented only those are moved. */
    const bool device = matrix->context->cuda;
    const uint64_t held = movable_places(matrix);
    if (held > MOST_SPACE * table->stored + SMALL_SPACE) return MOVING_ALL;
    const bool space = held > MOST_HALVES * table->stored / 2 + SMALL_SPACE;
    if (is_worth_moving(table, atomic_load(&matrix->due.extra_reads)))
        return table->extra_segments * 8 < table->rows ? MOVING_SELECTED : MOVING_ALL;
    uint64_t deletions = atomic_load(&matrix->due.deletions), last = atomic_load(&matrix->due.resolved_last);
    bool tombstones = deletions > SMALL_SPACE / 16 &&
                      deletions > table->stored / (device ? TOMBSTONE_SHARE_ON_DEVICE : TOMBSTONE_SHARE);
    /* The second view that has to do the same work is one too many: the store should. */
    bool twice = last && atomic_load(&matrix->due.resolve_reads) / 2 >= last;
    if (twice || (tombstones && device)) return RESOLVING;
    if (device) return has_holes(matrix) ? TIDYING : has_idle_memory(matrix) ? TRIMMING : NOTHING;
    const uint64_t taken = atomic_load(&matrix->due.taken);
    if ((taken <= table->stored / PORTIONS && taken <= SLICE / moves_for_place(matrix)) ||
        !(tombstones || space))
        return has_idle_memory(matrix) ? TRIMMING : NOTHING;
    return tombstones || held > HURRY_HALVES * table->stored / 2 + SMALL_SPACE ? TIDYING : TIDYING_A_SLICE;
}

/* Moves a portion of the rows that lie apart, are unresolved, or have much room left: for all that batches have taken,
 * or a slice of it. */
static dcsr_status tidy(dcsr_matrix *matrix, bool all)
{
    const uint64_t moves = moves_for_place(matrix);
    uint64_t taken = atomic_load(&matrix->due.taken), slice = atomic_load(&matrix->due.latest);
    if (slice < SLICE / moves) slice = SLICE / moves;
    if (!all && taken > slice) taken = slice;
    atomic_fetch_sub(&matrix->due.taken, taken);
    const dcsr_i_selection selection = {.kind = DCSR_I_UNTIDY_ROWS,
                                        .column_limit = DCSR_MAX_COLS,
                                        .slack = !is_read_fresh(matrix),
                                        .first_page = matrix->due.next_page,
                                        .most = moves * taken};
    DCSR_TRY(rewrite_selected(matrix, &selection));
    /* Tombstones that have come since the first page was tidied are for the next time. */
    if (!matrix->due.next_page) forget_unresolved(matrix);
    /* The rest behind what has been queued meanwhile. */
    if (what_is_due(matrix) != NOTHING) dcsr_i_queue_look_later(matrix);
    return DCSR_OK;
}

/* Moves the rows out of the emptiest blocks, so many entries as batches have taken places, and as many again. What the
 * next batches will take is kept. */
static dcsr_status tidy_device(dcsr_matrix *matrix)
{
    const uint64_t taken = atomic_exchange(&matrix->due.taken, 0);
    const dcsr_i_selection selection = {.kind = DCSR_I_UNTIDY_ROWS,
                                        .column_limit = DCSR_MAX_COLS,
                                        .slack = !is_read_fresh(matrix),
                                        .most = 2 * taken};
    DCSR_TRY(rewrite_selected(matrix, &selection));
    dcsr_i_arena_trim_to(&matrix->arena, taken + matrix->versions.current->stored / 4);
    return DCSR_OK;
}

/* Returns whether that has made another version. What fails leaves the matrix as it was, and is due still. */
static bool do_what_is_due(dcsr_matrix *matrix)
{
    uint64_t version = matrix->versions.current->version;
    const due what = what_is_due(matrix);
    switch (what) {
    case NOTHING:
        if (!matrix->versions.current->extra_segments)
            forget_reads(matrix);
        else
            atomic_store(&matrix->due.reads_seen, atomic_load(&matrix->due.extra_reads));
        break;
    case TRIMMING:
        break; /* below */
    case TIDYING_A_SLICE:
    case TIDYING:
        if (matrix->context->cuda)
            tidy_device(matrix);
        else
            tidy(matrix, what == TIDYING);
        break;
    case RESOLVING:
        resolve(matrix, false);
        break;
    case MOVING_SELECTED:
        defragment(matrix, DCSR_DEFRAGMENT_SELECTED, false);
        break;
    case MOVING_ALL:
        defragment(matrix, DCSR_DEFRAGMENT_WHOLE, false);
        break;
    }
    if (what != NOTHING && has_idle_memory(matrix)) {
        dcsr_i_arena_trim_to(&matrix->arena, kept_places(matrix));
        matrix->due.stuck = dcsr_i_arena_idle_memory(&matrix->arena);
    }
    return matrix->versions.current->version != version;
}

void dcsr_i_maintain(dcsr_matrix *matrix)
{
    dcsr_i_set_aside before = dcsr_i_use_set_aside(DCSR_I_HALF_SET_ASIDE);
    do_what_is_due(matrix);
    if (matrix->transpose.twin && do_what_is_due(matrix->transpose.twin)) dcsr_i_twin_show(matrix);
    dcsr_i_use_set_aside(before);
    if (atomic_exchange(&matrix->transpose.wanted, false)) dcsr_i_twin_build(matrix);
}

/* ---- Counting ---- */

void dcsr_i_was_read(dcsr_matrix *matrix, const dcsr_i_table *table)
{
    if (!table->extra_segments || matrix->defragmentation == DCSR_DEFRAGMENT_OFF) return;
    uint64_t reads =
        atomic_fetch_add(&matrix->due.extra_reads, table->extra_segments) + table->extra_segments;
    /* Readers of an old version may think earlier than the worker that it is enough. */
    if (is_worth_moving(table, reads) && reads / 2 >= atomic_load(&matrix->due.reads_seen))
        dcsr_i_queue_look_later(matrix);
}

void dcsr_i_was_resolved(dcsr_matrix *matrix, uint64_t entries)
{
    if (matrix->defragmentation == DCSR_DEFRAGMENT_OFF) return;
    atomic_store(&matrix->due.resolved_last, entries);
    if (atomic_fetch_add(&matrix->due.resolve_reads, entries) >= entries) dcsr_i_queue_look_later(matrix);
}

/* A reader that comes after no more batches than OFTEN comes as soon again: the next batches are resolved as they are
 * inserted, until so many have come without one. After more batches it may be the first of several reads, or one
 * that does not come again: one batch will tell. */
enum { OFTEN = 4 };

void dcsr_i_wanted_fresh(dcsr_matrix *matrix)
{
    /* Relaxed: a number that is one off costs a batch that is resolved, or is not. */
    int batches = atomic_load_explicit(&matrix->due.unread, memory_order_relaxed);
    if (!batches) return;
    atomic_store_explicit(&matrix->due.unread, 0, memory_order_relaxed);
    atomic_store_explicit(&matrix->due.fresh, batches <= OFTEN ? OFTEN : 1, memory_order_relaxed);
}

bool dcsr_i_resolves_on_insert(dcsr_matrix *matrix)
{
    const dcsr_matrix *owner = matrix->transpose.owner ? matrix->transpose.owner : matrix;
    int batches = atomic_load_explicit(&matrix->due.unread, memory_order_relaxed);
    if (batches <= OFTEN) atomic_fetch_add_explicit(&matrix->due.unread, 1, memory_order_relaxed);
    if (owner->resolve != DCSR_RESOLVE_AUTO) return owner->resolve == DCSR_RESOLVE_ON_INSERT;
    int fresh = atomic_load_explicit(&matrix->due.fresh, memory_order_relaxed);
    /* A reader may set it anew meanwhile, which must not be lost. */
    if (fresh > 0) atomic_compare_exchange_strong(&matrix->due.fresh, &fresh, fresh - 1);
    return fresh > 0;
}

/* On a device giving memory back stalls what runs there: the next change decides. */
void dcsr_i_was_let_go(dcsr_matrix *matrix, uint64_t stored)
{
    if (matrix->defragmentation == DCSR_DEFRAGMENT_OFF || matrix->context->cuda) return;
    if (dcsr_i_arena_idle_memory(&matrix->arena) > idle_allowed(matrix, stored))
        dcsr_i_queue_look_later(matrix);
}

void dcsr_i_changed(dcsr_matrix *matrix, uint64_t deletions)
{
    atomic_fetch_add(&matrix->due.deletions, deletions);
    if (what_is_due(matrix) != NOTHING) dcsr_i_queue_look_later(matrix);
}
