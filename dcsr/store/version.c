/* version.c: publishing versions, holding them, giving back what nobody sees any more.
 *
 * Epoch-based reclamation (Fraser 2004), with versions as epochs: what a change replaces goes into a limbo
 * list. When the change is published the list is attached to the latest pinned version that can see something
 * in it; when that version is let go, to the next one down, until none is left and its contents are freed:
 *
 *      pins:        v3 (2 holders)     v9 (1 holder)         current v12
 *      limbo lists: [retired by v4..]   [retired by v10..12]
 *
 * A thing born after v3 and retired by v11 is freed as soon as v9 goes, however long v3 is held. */
#include "dcsr/store/maintained_transpose.h"
#include <assert.h>
#include <string.h>

/* ---- Limbo lists ---- */

static size_t limbo_size(uint64_t capacity)
{
    return sizeof(dcsr_i_limbo) + capacity * sizeof(dcsr_i_retired);
}

dcsr_i_limbo *dcsr_i_limbo_create(dcsr_matrix *matrix, uint64_t capacity)
{
    dcsr_i_limbo *limbo = dcsr_i_part_create(matrix, limbo_size(capacity));
    if (!limbo) return NULL;
    *limbo = (dcsr_i_limbo){.capacity = capacity};
    return limbo;
}

void dcsr_i_limbo_free(dcsr_matrix *matrix, dcsr_i_limbo *limbo)
{
    if (limbo) dcsr_i_part_free(matrix, limbo, limbo_size(limbo->capacity));
}

void dcsr_i_retire(dcsr_i_limbo *limbo, dcsr_i_retired_kind kind, uint64_t born, void *pointer, uint64_t size)
{
    assert(limbo->count < limbo->capacity);
    limbo->retired[limbo->count++] =
        (dcsr_i_retired){.kind = kind, .born = born, .pointer = pointer, .size = size};
}

void dcsr_i_retire_range(dcsr_i_limbo *limbo, dcsr_i_arena *arena, uint64_t begin, uint64_t entries)
{
    assert(limbo->count < limbo->capacity);
    limbo->retired[limbo->count++] = (dcsr_i_retired){.kind = DCSR_I_RANGE,
                                                      .born = dcsr_i_arena_born(arena, begin, entries),
                                                      .begin = begin,
                                                      .size = entries};
}

/* Nothing in an extent was stored before it was born, so a version before that sees nothing of it. */
void dcsr_i_retire_extents(dcsr_i_limbo *limbo, const dcsr_i_extent *extents, uint64_t count)
{
    assert(count <= limbo->capacity - limbo->count);
    for (uint64_t r = 0; r < count; r++)
        limbo->retired[limbo->count++] = (dcsr_i_retired){.kind = DCSR_I_EXTENT,
                                                          .born = extents[r].born,
                                                          .begin = extents[r].first,
                                                          .size = extents[r].count};
}

void dcsr_i_retire_page(dcsr_i_limbo *limbo, const dcsr_matrix *matrix, const dcsr_i_row_page *page)
{
    for (int k = 0; k < matrix->segments_per_row && page->segment[k]; k++)
        dcsr_i_retire(limbo, DCSR_I_SEGMENT_PAGE, page->moved, page->segment[k], 0);
    dcsr_i_retire(limbo, DCSR_I_ROW_PAGE, page->born, (void *)page, 0);
}

/* What is freed last: blocks, and the hold on an origin, in whose blocks others are. */
static bool comes_last(const dcsr_i_retired *retired)
{
    return retired->kind == DCSR_I_EXTENT || retired->kind == DCSR_I_ORIGIN;
}

/* Frees those retired objects (what comes last, or all else) that no pinned version can see: `keeper` is the latest
 * of those that could. With the lock of `spare`. */
static void thin_out(dcsr_matrix *matrix, dcsr_i_limbo *limbo, const dcsr_i_pin *keeper, bool last)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < limbo->count; i++) {
        const dcsr_i_retired *retired = &limbo->retired[i];
        bool other = comes_last(retired) != last;
        if (other || (keeper && retired->born <= keeper->version)) {
            if (retired->kind == DCSR_I_TAIL && !last) dcsr_i_thin_tail(matrix, retired, keeper->version);
            limbo->retired[kept++] = *retired;
        } else if (retired->kind == DCSR_I_ORIGIN) {
            dcsr_i_origin_release(retired->pointer);
        } else {
            matrix->engine->free_retired(matrix, retired);
        }
    }
    limbo->count = kept;
}

/* ---- Pins ---- */

/* Hands limbo lists to the latest of the first `below` pins, freeing what that one cannot see. Extents
 * come last: the blocks they free may still be named by ranges, in this limbo list or another of the list, that earlier
 * changes gave up. */
static void hand_down(dcsr_matrix *matrix, dcsr_i_limbo *limbo_lists, uint64_t below)
{
    dcsr_i_pin *keeper = below ? &matrix->versions.pins[below - 1] : NULL;
    if (!limbo_lists) return;
    pthread_mutex_lock(&matrix->spare.lock);
    for (dcsr_i_limbo *limbo = limbo_lists; limbo; limbo = limbo->next)
        thin_out(matrix, limbo, keeper, false);
    while (limbo_lists) {
        dcsr_i_limbo *limbo = limbo_lists;
        limbo_lists = limbo->next;
        thin_out(matrix, limbo, keeper, true);
        if (!limbo->count) {
            dcsr_i_limbo_free(matrix, limbo);
            continue;
        }
        limbo->next = keeper->limbo_lists;
        keeper->limbo_lists = limbo;
    }
    pthread_mutex_unlock(&matrix->spare.lock);
}

/* Pins the current version, or one that is pinned already. */
static dcsr_status pin_locked(dcsr_matrix *matrix, uint64_t version)
{
    uint64_t i = matrix->versions.pin_count;
    while (i && matrix->versions.pins[i - 1].version > version) i--;
    if (i && matrix->versions.pins[i - 1].version == version) {
        matrix->versions.pins[i - 1].count++;
        return DCSR_OK;
    }
    if (matrix->versions.pin_count == matrix->versions.pin_capacity) {
        uint64_t capacity = 2 * matrix->versions.pin_capacity;
        dcsr_i_pin *few = matrix->versions.few_pins,
                   *held = matrix->versions.pins == few ? NULL : matrix->versions.pins,
                   *pins = dcsr_i_realloc(matrix->context, DCSR_I_MATRIX, held, held ? capacity / 2 : 0,
                                          capacity, sizeof *pins);
        if (!pins) return DCSR_ERROR_OUT_OF_MEMORY;
        if (!held) memcpy(pins, few, sizeof matrix->versions.few_pins);
        matrix->versions.pins = pins;
        matrix->versions.pin_capacity = capacity;
    }
    matrix->versions.pins[matrix->versions.pin_count++] = (dcsr_i_pin){.version = version, .count = 1};
    return DCSR_OK;
}

/* Returns whether that may have freed something. */
static bool unpin_locked(dcsr_matrix *matrix, uint64_t version)
{
    uint64_t i = matrix->versions.pin_count;
    while (matrix->versions.pins[i - 1].version != version) i--;
    if (--matrix->versions.pins[--i].count) return false;
    dcsr_i_limbo *limbo_lists = matrix->versions.pins[i].limbo_lists;
    memmove(&matrix->versions.pins[i], &matrix->versions.pins[i + 1],
            (--matrix->versions.pin_count - i) * sizeof matrix->versions.pins[0]);
    hand_down(matrix, limbo_lists, i);
    return limbo_lists != NULL;
}

/* ---- Publishing and holding ---- */

void dcsr_i_publish(dcsr_matrix *matrix, dcsr_i_table *next, dcsr_i_limbo *limbo)
{
    pthread_mutex_lock(&matrix->versions.lock);
    dcsr_i_table *old = matrix->versions.current;
    if (!limbo->has_root) dcsr_i_retire(limbo, DCSR_I_TABLE, old->version, old, 0);
    const dcsr_tag *tag = matrix->versions.tag;
    next->tagged = tag || old->tagged;
    next->tag = tag ? *tag : old->tag;
    matrix->versions.current = next;
    if (limbo->has_origin) matrix->origin.hold = NULL;
    dcsr_i_csr *cached[DCSR_I_CACHED];
    memcpy(cached, matrix->versions.cached, sizeof cached);
    memset(matrix->versions.cached, 0, sizeof matrix->versions.cached);
    memset(matrix->versions.resolved, 0, sizeof matrix->versions.resolved);
    dcsr_i_held_version *shown = matrix->transpose.shown;
    dcsr_matrix *lost = matrix->transpose.next_shown ? NULL : matrix->transpose.twin;
    if (lost) matrix->transpose.twin = NULL;
    matrix->transpose.shown = matrix->transpose.next_shown;
    matrix->transpose.next_shown = NULL;
    bool pinned = matrix->versions.pin_count > 0;
    if (pinned) hand_down(matrix, limbo, matrix->versions.pin_count);
    pthread_mutex_unlock(&matrix->versions.lock);
    /* Nobody holds an older version and nobody can get at one any more, so the common case frees outside the
     * lock. */
    if (!pinned) {
        hand_down(matrix, limbo, 0);
        dcsr_i_arena_drop_left(&matrix->arena);
    }
    for (int i = 0; i < DCSR_I_CACHED; i++) dcsr_i_csr_release(cached[i]);
    dcsr_i_held_version_release(shown);
    dcsr_i_twin_leave(lost);
}

/* ---- Changes in the current version itself ---- */

/* Where a reader has had to wait so many changes leave the way to others free; more, where versions are held meanwhile,
 * as who holds one after the other has to wait again and again. */
enum { CROWDED = 64, CROWDED_WITH_READERS = 1024 };

/* The latest version that is held; 0: none is. */
static uint64_t latest_held(const dcsr_i_versions *versions)
{
    return versions->pin_count ? versions->pins[versions->pin_count - 1].version : 0;
}

/* Nobody holds a version after `seen`; nor are there tiles, which are kept without one, and ask of pages how old they
 * are. */
static bool is_unseen(const dcsr_i_versions *versions, uint64_t seen)
{
    bool unseen = latest_held(versions) <= seen;
    for (int i = 0; i < DCSR_I_NUTS; i++) unseen = unseen && !versions->nut[i];
    return unseen;
}

bool dcsr_i_may_claim_version(dcsr_matrix *matrix, uint64_t *seen)
{
    const bool crowded = atomic_load_explicit(&matrix->versions.crowded, memory_order_relaxed) > 0;
    if (crowded) atomic_fetch_sub_explicit(&matrix->versions.crowded, 1, memory_order_relaxed);
    pthread_mutex_lock(&matrix->versions.lock);
    *seen = latest_held(&matrix->versions);
    const bool may = *seen < matrix->versions.current->version && is_unseen(&matrix->versions, *seen);
    pthread_mutex_unlock(&matrix->versions.lock);
    return may && !crowded;
}

bool dcsr_i_claim_briefly(dcsr_matrix *matrix, uint64_t seen)
{
    pthread_mutex_lock(&matrix->versions.lock);
    if (is_unseen(&matrix->versions, seen)) return true;
    pthread_mutex_unlock(&matrix->versions.lock);
    return false;
}

bool dcsr_i_claim_version(dcsr_matrix *matrix, uint64_t seen)
{
    if (!dcsr_i_claim_briefly(matrix, seen)) return false;
    atomic_store(&matrix->versions.claimed, seen ? CROWDED_WITH_READERS : CROWDED);
    return true;
}

void dcsr_i_unclaim_version(dcsr_matrix *matrix)
{
    atomic_store(&matrix->versions.claimed, 0);
    pthread_mutex_unlock(&matrix->versions.lock);
}

void dcsr_i_publish_claimed(dcsr_matrix *matrix, dcsr_i_limbo *limbo)
{
    dcsr_i_table *table = matrix->versions.current;
    const dcsr_tag *tag = matrix->versions.tag;
    dcsr_i_csr *cached[DCSR_I_CACHED];
    table->version++;
    if (tag) {
        table->tagged = true;
        table->tag = *tag;
    }
    memcpy(cached, matrix->versions.cached, sizeof cached);
    memset(matrix->versions.cached, 0, sizeof matrix->versions.cached);
    const bool pinned = matrix->versions.pin_count > 0;
    if (pinned) hand_down(matrix, limbo, matrix->versions.pin_count);
    dcsr_i_unclaim_version(matrix);
    if (!pinned) hand_down(matrix, limbo, 0);
    for (int i = 0; i < DCSR_I_CACHED; i++) dcsr_i_csr_release(cached[i]);
}

/* Whoever wants to hold a version, or to let one go, says so, if the current one is being changed. */
static void lock_for_reader(dcsr_matrix *matrix)
{
    const int claimed = atomic_load(&matrix->versions.claimed);
    if (claimed) atomic_store_explicit(&matrix->versions.crowded, claimed, memory_order_relaxed);
    pthread_mutex_lock(&matrix->versions.lock);
}

void dcsr_i_matrix_tag(dcsr_matrix *matrix, const dcsr_tag *tag)
{
    pthread_mutex_lock(&matrix->versions.lock);
    matrix->versions.current->tagged = true;
    matrix->versions.current->tag = *tag;
    pthread_mutex_unlock(&matrix->versions.lock);
}

dcsr_i_held_version *dcsr_i_held_version_hold(dcsr_i_held_version *hold)
{
    if (hold) atomic_fetch_add(&hold->references, 1);
    return hold;
}

/* Holds the version that `held` holds, or the current one; with the twin's, or without. */
static dcsr_status open_snapshot(dcsr_i_held_version *hold, dcsr_matrix *matrix,
                                 const dcsr_i_held_version *held, bool twin)
{
    *hold = (dcsr_i_held_version){.matrix = matrix};
    atomic_init(&hold->references, 1);
    dcsr_i_queue_is_awaited(&matrix->queue);
    lock_for_reader(matrix);
    hold->base = held ? held->base : matrix->versions.current;
    hold->version = hold->base->version;
    dcsr_status status = pin_locked(matrix, hold->version);
    if (status == DCSR_OK && twin)
        hold->twin = dcsr_i_held_version_hold(held ? held->twin : matrix->transpose.shown);
    pthread_mutex_unlock(&matrix->versions.lock);
    return status;
}

static dcsr_status create_snapshot(dcsr_i_held_version **hold, dcsr_matrix *matrix,
                                   const dcsr_i_held_version *held)
{
    dcsr_i_held_version *created = dcsr_i_alloc(matrix->context, DCSR_I_MATRIX, 1, sizeof *created);
    *hold = NULL;
    if (!created) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_status status = open_snapshot(created, matrix, held, true);
    if (status != DCSR_OK) {
        dcsr_i_free(matrix->context, DCSR_I_MATRIX, created, 1, sizeof *created);
        return status;
    }
    dcsr_i_matrix_retain(matrix);
    *hold = created;
    return DCSR_OK;
}

dcsr_status dcsr_i_held_version_open(dcsr_i_held_version *hold, dcsr_matrix *matrix)
{
    return open_snapshot(hold, matrix, NULL, false);
}

dcsr_status dcsr_i_held_version_create(dcsr_i_held_version **hold, dcsr_matrix *matrix)
{
    return create_snapshot(hold, matrix, NULL);
}

dcsr_status dcsr_i_held_version_again(dcsr_i_held_version **hold, const dcsr_i_held_version *held)
{
    return create_snapshot(hold, held->matrix, held);
}

void dcsr_i_held_version_close(dcsr_i_held_version *hold)
{
    dcsr_matrix *matrix = hold->matrix;
    if (hold->own) {
        if (!hold->own->home) dcsr_i_arena_give(&matrix->arena, hold->own_begin, hold->own_entries);
        matrix->engine->free_unshared(matrix, hold->own, hold->base);
    }
    lock_for_reader(matrix);
    bool freed = unpin_locked(matrix, hold->version) || hold->own;
    const uint64_t stored = matrix->versions.current->stored;
    pthread_mutex_unlock(&matrix->versions.lock);
    /* The next change will use the space again; where none comes, or it is far more than that, the worker returns it,
     * while it runs. */
    if (freed && dcsr_i_queue_is_asleep(matrix))
        dcsr_i_matrix_trim(matrix);
    else if (freed)
        dcsr_i_was_let_go(matrix, stored);
    dcsr_i_held_version_release(hold->twin);
}

void dcsr_i_held_version_release(dcsr_i_held_version *hold)
{
    if (!hold) return;
    dcsr_matrix *matrix = hold->matrix;
    pthread_mutex_lock(&matrix->versions.lock);
    /* Under the lock, since views that are being created look for resolved holds to share. */
    bool last = atomic_fetch_sub(&hold->references, 1) == 1;
    if (last && matrix->versions.resolved[hold->flags] == hold) matrix->versions.resolved[hold->flags] = NULL;
    pthread_mutex_unlock(&matrix->versions.lock);
    if (!last) return;
    dcsr_i_held_version_close(hold);
    dcsr_i_free(matrix->context, DCSR_I_MATRIX, hold, 1, sizeof *hold);
    dcsr_i_matrix_release(matrix);
}

void dcsr_i_csr_release(dcsr_i_csr *csr)
{
    if (!csr || atomic_fetch_sub(&csr->references, 1) != 1) return;
    csr->engine->csr_free(csr);
    dcsr_i_held_version_release(csr->hold);
    dcsr_i_free(csr->context, DCSR_I_MATRIX, csr, 1, sizeof *csr);
}
