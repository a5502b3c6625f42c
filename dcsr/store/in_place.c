/* in_place.c: changing one entry of a version that nobody holds. */
#include "dcsr/store/in_place.h"
#include <string.h>

/* An insertion looks for its column in a row of so many entries at most, or in one that ascends, and combines; in
 * others it is appended unseen, as by any batch. A batch that removes looks in rows of so many; in longer ones a
 * tombstone costs less. Rows of so many are moved. Other changes have to look, and do so here up to the last number:
 * the lock is held. */
enum { LOOKED_THROUGH = 64, REMOVED_FROM = 1024, MOVED = 4096, MOST_LOOKED_THROUGH = 1 << 16 };

/* A segment that a row gives up can be used again only when its whole block is free. So each time that this many places
 * have been taken, the worker checks whether to move rows together. */
enum { LOOKED_AT = 1 << 15 };

/* The row of an entry. */
typedef struct place {
    dcsr_matrix *matrix;
    dcsr_i_table *table;
    dcsr_i_row_page *page;
    unsigned r;
    uint64_t bit; /* of the row in masks */
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    int count;
    uint64_t length;
    bool stays; /* there was nothing to change, and no version is made */
    bool looks; /* the worker is to see whether rows should be moved */
} place;

/* The entries of a column: how many, whether any is a tombstone, and where the first is and the last one. */
typedef struct found {
    uint64_t count, first, last; /* places */
    bool tombstones;
} found;

/* ---- Looking ---- */

/* Whether no column stands in the row twice, or is deleted. */
static bool is_resolved(const place *at)
{
    return at->matrix->policy != DCSR_POLICY_KEEP &&
           !((at->page->duplicates | at->page->tombstones) & at->bit);
}

/* The first place of a column; false: it is not there. */
static inline bool find_first(const place *at, uint32_t column, uint64_t *i)
{
    return dcsr_i_find_in_pieces(at->matrix->arena.columns, at->pieces, at->count,
                                 at->page->ascending & at->bit, column, i);
}

static found find(const place *at, uint32_t column)
{
    found result = {0};
    const uint32_t *columns = at->matrix->arena.columns;
    if (is_resolved(at)) {
        result.count = find_first(at, column, &result.first);
        result.last = result.first;
        return result;
    }
    for (int k = 0; k < at->count; k++) {
        const uint64_t end = at->pieces[k].begin + at->pieces[k].length;
        uint64_t i =
            dcsr_i_first_place(columns, &at->pieces[k], !k && (at->page->ascending & at->bit), column);
        for (; (i = dcsr_i_find_column(columns, i, end, column)) < end; i++) {
            if (!result.count++) result.first = i;
            result.last = i;
            result.tombstones |= (columns[i] & DCSR_I_TOMBSTONE) != 0;
        }
    }
    return result;
}

/* ---- The row grows ---- */

/* A column comes behind the others of the row's first segment, or as the first of all. */
static void note_order(place *at, uint64_t to, uint32_t column)
{
    const bool keep = at->matrix->policy == DCSR_POLICY_KEEP;
    if (!at->length && !keep)
        at->page->ascending |= at->bit;
    else if (!at->length || at->matrix->arena.columns[to - 1] >= column)
        at->page->ascending &= ~at->bit;
}

/* Gives the row a segment of so many entries, and of some to come. */
static bool take_segment(place *at, int k, uint64_t entries)
{
    uint64_t capacity = dcsr_i_capacity_for(entries, at->matrix->slack, at->length + 1), begin;
    if (dcsr_i_arena_take(&at->matrix->arena, capacity, at->table->version + 1, &begin) != DCSR_OK)
        return false;
    const uint64_t taken = atomic_fetch_add(&at->matrix->due.taken, capacity);
    at->looks |= (taken + capacity) / LOOKED_AT != taken / LOOKED_AT;
    at->page->segment[k]->of[at->r] = dcsr_i_segment_of(begin, capacity);
    return true;
}

/* Moves a row whose segments have run out into one that is larger. */
static bool move_row(place *at)
{
    dcsr_i_row_page *page = at->page;
    const int last = at->count;
    const uint64_t capacity = dcsr_i_capacity_of(page, 0, at->r);
    if (!take_segment(at, 0, at->length + 1)) return false;
    uint64_t to = dcsr_i_begin_of(page, 0, at->r);
    for (int k = 0; k < last; to += at->pieces[k++].length) {
        dcsr_i_copy_entries(at->matrix, to, at->pieces[k].begin, at->pieces[k].length);
        dcsr_i_arena_give(&at->matrix->arena, at->pieces[k].begin,
                          k ? dcsr_i_capacity_of(page, k, at->r) : capacity);
    }
    dcsr_i_clear_segments(page, 1, at->r, at->matrix->segments_per_row);
    if (last > 1) page->ascending &= ~at->bit;
    at->table->extra_segments -= (uint64_t)last - 1;
    page->fragmented &= ~at->bit;
    at->pieces[0] = (dcsr_i_piece){dcsr_i_begin_of(page, 0, at->r), at->length};
    at->count = 1;
    atomic_fetch_add(&at->matrix->counts.row_rewrites, 1);
    return true;
}

/* Room in a segment for one entry behind the row's last; false: there is none that can be had here. */
static bool make_room(place *at, uint32_t column, uint64_t *to)
{
    dcsr_i_row_page *page = at->page;
    const int segments = dcsr_i_row_is_rounded(page, at->r) ? 0 : at->matrix->segments_per_row;
    uint64_t total = 0;
    for (int k = 0; k < segments; k++) {
        if (!page->segment[k]) page->segment[k] = dcsr_i_segment_page_create(at->matrix);
        if (!page->segment[k]) return false;
        if (!dcsr_i_capacity_of(page, k, at->r) && !take_segment(at, k, 1)) return false;
        const uint64_t capacity = dcsr_i_capacity_of(page, k, at->r);
        if (at->length < total + capacity) {
            *to = dcsr_i_begin_of(page, k, at->r) + at->length - total;
            if (!k) note_order(at, *to, column);
            if (k && at->length == total) {
                page->fragmented |= at->bit;
                at->table->extra_segments++;
            }
            return true;
        }
        total += capacity;
    }
    /* One that is to be resolved is left to a batch, which does it as it moves the row. */
    if (at->length >= MOVED || (page->duplicates | page->tombstones) & at->bit || !move_row(at)) return false;
    *to = at->pieces[0].begin + at->length;
    note_order(at, *to, column);
    return true;
}

static void write_value(const place *at, uint64_t to, const void *value)
{
    size_t size = at->matrix->value_size;
    if (value) dcsr_i_copy_one(at->matrix->arena.values + to * size, value, size);
}

static bool append(place *at, uint32_t column, const void *value)
{
    uint64_t to;
    if (!make_room(at, column, &to)) return false;
    at->matrix->arena.columns[to] = column;
    write_value(at, to, value);
    at->page->length[at->r]++;
    at->table->stored++;
    at->table->contiguous = false;
    return true;
}

static void note_duplicates(place *at)
{
    at->table->duplicate_rows += !(at->page->duplicates & at->bit);
    at->page->duplicates |= at->bit;
}

/* A row without entries holds neither. */
static void note_emptiness(place *at)
{
    at->table->duplicate_rows -= (at->page->duplicates & at->bit) != 0;
    at->table->tombstone_rows -= (at->page->tombstones & at->bit) != 0;
    at->page->duplicates &= ~at->bit;
    at->page->tombstones &= ~at->bit;
}

/* ---- The row shrinks ---- */

/* Moves entries that follow one another in a segment; the ranges may overlap. */
static void move_entries(const dcsr_matrix *matrix, uint64_t to, uint64_t from, uint64_t entries)
{
    size_t size = matrix->value_size;
    memmove(matrix->arena.columns + to, matrix->arena.columns + from,
            entries * sizeof *matrix->arena.columns);
    if (size) memmove(matrix->arena.values + to * size, matrix->arena.values + from * size, entries * size);
}

/* Takes out one entry: those behind it move up, so that they stay in the order in which they came. A last segment that
 * becomes empty is given back. */
static void take_out(place *at, uint64_t i)
{
    dcsr_i_arena *arena = &at->matrix->arena;
    dcsr_i_row_page *page = at->page;
    const bool rounded = dcsr_i_row_is_rounded(page, at->r);
    int k = 0, last = at->count - 1;
    while (i < at->pieces[k].begin || i >= at->pieces[k].begin + at->pieces[k].length) k++;
    for (;; k++, i = at->pieces[k].begin) {
        uint64_t end = at->pieces[k].begin + at->pieces[k].length - 1;
        move_entries(at->matrix, i, i + 1, end - i);
        if (k == last) break;
        move_entries(at->matrix, end, at->pieces[k + 1].begin, 1);
        at->page->ascending &= ~at->bit;
    }
    at->length = --page->length[at->r];
    at->table->stored--;
    at->table->contiguous = false;
    uint64_t begin = at->pieces[last].begin, left = --at->pieces[last].length;
    if (rounded) {
        dcsr_i_arena_give(arena, begin + left, 1);
        page->segment[0]->of[at->r] = dcsr_i_segment_of(begin, left);
    }
    if (left) return;
    at->count--;
    if (!last) return;
    dcsr_i_arena_give(arena, begin, dcsr_i_capacity_of(page, last, at->r));
    dcsr_i_clear_segments(page, last, at->r, at->matrix->segments_per_row);
    at->table->extra_segments--;
    if (last == 1) page->fragmented &= ~at->bit;
}

/* Takes out all entries of a column but the first `keep`. */
static void take_out_all(place *at, uint32_t column, uint64_t keep)
{
    for (found f; (f = find(at, column)).count > keep;) take_out(at, f.last);
    if (!at->length) note_emptiness(at);
}

/* ---- The changes ---- */

/* Whether some entries of a row are those of the matrix's origin. */
static bool is_shared(const place *at)
{
    if (dcsr_i_is_shared(at->matrix, at->page->born)) return true;
    for (int k = 0; k < at->count && at->matrix->origin.hold; k++)
        if (!dcsr_i_arena_owns(&at->matrix->arena, at->pieces[k].begin)) return true;
    return false;
}

/* Finds the row, with the lock; false where it is not to be changed here. */
static bool open(place *at, dcsr_matrix *matrix, uint64_t row, uint64_t col)
{
    dcsr_i_table *table = matrix->versions.current;
    if (matrix->versions.pin_count || row >= table->rows || col >= table->cols) return false;
    dcsr_i_directory *directory = dcsr_i_directory_of(table, row >> DCSR_I_PAGE_SHIFT);
    dcsr_i_row_page *page =
        directory ? directory->page[row >> DCSR_I_PAGE_SHIFT & (DCSR_I_DIRECTORY_PAGES - 1)] : NULL;
    if (!page) return false;
    const unsigned r = row & (DCSR_I_PAGE_ROWS - 1);
    /* One by one: clearing the room for pieces would take as long as all else. */
    at->matrix = matrix;
    at->table = table;
    at->page = page;
    at->r = r;
    at->bit = (uint64_t)1 << r;
    at->length = page->length[r];
    at->count = dcsr_i_row_pieces(page, r, at->pieces);
    at->stays = at->looks = false;
    return at->length < MOST_LOOKED_THROUGH && !is_shared(at);
}

static bool insert(place *at, uint32_t column, const void *value)
{
    const dcsr_policy policy = at->matrix->policy;
    const bool looks = policy != DCSR_POLICY_KEEP && at->matrix->resolve != DCSR_RESOLVE_ON_READ;
    const bool bisects = at->count == 1 && (at->page->ascending & at->bit);
    if (looks && (bisects || at->length <= LOOKED_THROUGH)) {
        found f = find(at, column);
        if (!f.count) return append(at, column, value);
        if (f.count == 1 && !f.tombstones) {
            dcsr_i_combine combine = dcsr_i_combiner(at->matrix->type, policy);
            if (combine) combine(at->matrix->arena.values + f.first * at->matrix->value_size, value);
            return true;
        }
    } else if (looks && at->matrix->resolve == DCSR_RESOLVE_ON_INSERT) {
        return false;
    }
    const bool first = !at->length;
    if (!append(at, column, value)) return false;
    if (policy != DCSR_POLICY_KEEP && !first) note_duplicates(at);
    return true;
}

static bool set(place *at, uint32_t column, const void *value)
{
    if (is_resolved(at)) {
        uint64_t i;
        if (!find_first(at, column, &i)) return append(at, column, value);
        write_value(at, i, value);
        return true;
    }
    found f = find(at, column);
    if (!f.count) return append(at, column, value);
    at->matrix->arena.columns[f.first] = column;
    write_value(at, f.first, value);
    if (f.count > 1) take_out_all(at, column, 1);
    return true;
}

static bool removes(place *at, uint32_t column, bool *was_there)
{
    found f = find(at, column);
    *was_there = f.count && !(at->matrix->arena.columns[f.last] & DCSR_I_TOMBSTONE);
    take_out_all(at, column, 0);
    return true;
}

/* One batch of one entry more. Who counts batches has the turn, or is here, with the lock: so two additions suffice
 * that are not atomic. */
static void count_one(dcsr_matrix *matrix, bool removes)
{
    _Atomic uint64_t *entries = removes ? &matrix->counts.removed : &matrix->counts.inserted,
                     *totals[] = {&matrix->counts.batches, entries};
    for (int i = 0; i < 2; i++)
        atomic_store_explicit(totals[i], atomic_load_explicit(totals[i], memory_order_relaxed) + 1,
                              memory_order_relaxed);
}

/* What is cached of the version as it was. Without the lock. */
static void forget(dcsr_i_csr *cached[DCSR_I_CACHED])
{
    for (int i = 0; i < DCSR_I_CACHED; i++) dcsr_i_csr_release(cached[i]);
}

/* Whether the matrix is one that is changed here at all. */
static bool is_simple(const dcsr_matrix *matrix)
{
    return matrix->engine->in_place && !matrix->transpose.maintained && !matrix->queue.journal;
}

/* The lock, and what is shared with publishing a version (version.c). */
typedef bool change(place *at, void *user);

static inline bool apply(dcsr_matrix *matrix, uint64_t row, uint64_t col, bool removes, change *does,
                         void *user)
{
    if (!is_simple(matrix)) return false;
    dcsr_i_versions *versions = &matrix->versions;
    dcsr_i_csr *cached[DCSR_I_CACHED];
    bool caches = false;
    place at;
    at.looks = false;
    pthread_mutex_lock(&versions->lock);
    bool done = dcsr_i_queue_is_idle(&matrix->queue) && open(&at, matrix, row, col) && does(&at, user);
    if (done) {
        count_one(matrix, removes);
        if (!at.stays) at.page->born = ++at.table->version;
        for (int i = 0; !at.stays && i < DCSR_I_CACHED; i++) caches |= versions->cached[i] != NULL;
        if (caches) {
            memcpy(cached, versions->cached, sizeof cached);
            memset(versions->cached, 0, sizeof versions->cached);
        }
        if (matrix->arena.left) dcsr_i_arena_drop_left(&matrix->arena);
    }
    pthread_mutex_unlock(&versions->lock);
    if (caches) forget(cached);
    if (at.looks && matrix->defragmentation != DCSR_DEFRAGMENT_OFF) dcsr_i_queue_look_later(matrix);
    return done;
}

static bool apply_batch(place *at, void *user)
{
    const dcsr_i_entries *e = user;
    bool was_there;
    if (e->kind == DCSR_I_INSERT) return insert(at, (uint32_t)*e->cols, e->values);
    return at->length <= REMOVED_FROM && removes(at, (uint32_t)*e->cols, &was_there);
}

static bool apply_single(place *at, void *user)
{
    dcsr_i_single *one = user;
    if (!one->removes) return set(at, (uint32_t)one->col, one->value);
    const uint64_t before = at->length;
    bool done = removes(at, (uint32_t)one->col, &one->was_there);
    at->stays = at->length == before;
    return done;
}

bool dcsr_i_apply_in_place(dcsr_matrix *matrix, const dcsr_i_entries *e)
{
    return apply(matrix, *e->rows, *e->cols, e->kind == DCSR_I_REMOVE, apply_batch, (void *)e);
}

bool dcsr_i_set_in_place(dcsr_matrix *matrix, dcsr_i_single *one)
{
    if (!one->removes && !one->value != !matrix->value_size) return false;
    return apply(matrix, one->row, one->col, one->removes, apply_single, one);
}
