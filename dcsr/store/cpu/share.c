/* share.c: a matrix that begins as a version of another, on the cpu: its clone (clone.c).
 *
 *      origin   v7 ---- v8 -- ... -- v12                   v7 is pinned as long as the clone may share
 *                \                                         anything with it
 *      clone      v8' -- v9' -- ... -- v20'                first the tables of v7, root excepted, and the places
 *
 * What was made for v7 or before is the origin's: it is never freed here (dcsr_i_is_shared()), and places are taken
 * back by the arena that owns their block alone (arena.h). Whatever a clone does not share any more is simply
 * forgotten. As versions of the clone are numbered on from that of the origin, all it makes itself is younger.
 *
 * What a row of v7 has not filled of its segments is the origin's too, which goes on to append there, and enters new
 * segments in the same segment pages. So a clone neither writes there nor reads it: a page that it changes gets
 * segment pages of its own, with what the rows have filled as capacities (dcsr_i_segment_page_copy()). From then on
 * such rows are full, and grow into segments of the clone; or move there, where what they have filled of their last
 * segment cannot be written as a capacity (segment.h).
 *
 * When all rows have moved the hold on v7 is given up with the last version that needs it (dcsr_i_retire_table()). */
#include "dcsr/store/store.h"
#include <string.h>

/* ---- Sharing ---- */

/* How many clones, each made from the one before and still sharing something with it, end with a matrix. */
static unsigned depth_of(dcsr_matrix *matrix)
{
    pthread_mutex_lock(&matrix->versions.lock);
    const unsigned depth = matrix->origin.hold ? matrix->origin.depth : 0;
    pthread_mutex_unlock(&matrix->versions.lock);
    return depth;
}

static dcsr_status share(dcsr_matrix *clone, dcsr_i_held_version *hold, unsigned depth)
{
    const dcsr_i_table *base = hold->base;
    dcsr_i_table *table = dcsr_i_table_copy(clone, base, base->rows, base->cols);
    if (!table) return DCSR_ERROR_OUT_OF_MEMORY;
    table->contiguous = base->contiguous;
    table->first = base->first;
    dcsr_i_free_unshared(clone, clone->versions.current, NULL);
    clone->versions.current = table;
    dcsr_i_arena_share(&clone->arena, &hold->matrix->arena);
    clone->origin = (dcsr_i_origin){.version = base->version, .hold = hold, .depth = depth};
    return DCSR_OK;
}

/* ---- Copying ----
 *
 * A matrix in the heap may move its few entries at any time, and changes them in place where nobody holds a version.
 * So its clone has a copy of them. And so has the last of a long chain of clones, as each clone keeps the matrix that
 * it was made from, which may have been destroyed: a program that goes on with a clone, over and over, is not to keep
 * them all. */

static void lengths_of_page(const void *user, uint64_t p, uint32_t length[DCSR_I_PAGE_ROWS])
{
    memcpy(length, dcsr_i_page(user, p)->length, DCSR_I_PAGE_ROWS * sizeof *length);
}

/* The rows of a page, one behind the other, as they are: marks of what is to be resolved included. */
static void copy_page(dcsr_matrix *clone, const dcsr_i_rows *from, const dcsr_i_table *to, uint64_t p)
{
    const dcsr_i_row_page *old = dcsr_i_page(from->table, p);
    dcsr_i_row_page *page = (dcsr_i_row_page *)dcsr_i_page(to, p);
    const size_t size = clone->value_size;
    if (!page) return; /* no row of it has entries */
    uint64_t at = dcsr_i_begin_of(page, 0, 0);
    for (unsigned r = 0; r < DCSR_I_PAGE_ROWS; r++) {
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        const int count = dcsr_i_row_pieces(old, r, pieces);
        for (int k = 0; k < count; at += pieces[k++].length) {
            memcpy(clone->arena.columns + at, from->columns + pieces[k].begin,
                   pieces[k].length * sizeof *from->columns);
            if (size)
                memcpy(clone->arena.values + at * size, (const char *)from->values + pieces[k].begin * size,
                       pieces[k].length * size);
        }
    }
    page->duplicates = old->duplicates;
    page->tombstones = old->tombstones;
    page->ascending = old->ascending & ~old->fragmented;
}

static dcsr_status copy(dcsr_matrix *clone, const dcsr_i_held_version *hold)
{
    const dcsr_i_table *base = hold->base;
    const dcsr_i_rows rows = dcsr_i_rows_of(hold->matrix, base);
    dcsr_i_table *table;
    dcsr_i_page_list list;
    dcsr_i_limbo *limbo = dcsr_i_limbo_create(clone, 1);
    if (!limbo) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_status status = dcsr_i_page_list_create(&list, clone->context, &rows);
    if (status == DCSR_OK)
        status = dcsr_i_tight_table(
            &table, clone, base->version + 1,
            &(dcsr_i_lengths){.pages = &list, .lengths_of = lengths_of_page, .user = (void *)base});
    if (status == DCSR_OK) {
        const int threads = dcsr_i_threads(clone->context, base->stored);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 32) if (threads > 1)
        for (uint64_t i = 0; i < list.count; i++) copy_page(clone, &rows, table, list.page[i]);
        table->duplicate_rows = base->duplicate_rows;
        table->tombstone_rows = base->tombstone_rows;
        dcsr_i_publish(clone, table, limbo);
    } else {
        dcsr_i_limbo_free(clone, limbo);
    }
    dcsr_i_page_list_free(&list, clone->context);
    return status;
}

dcsr_status dcsr_i_share(dcsr_matrix *clone, dcsr_i_held_version *hold)
{
    enum { LONGEST_CHAIN = 64 };
    const unsigned depth = depth_of(hold->matrix) + 1;
    const bool copies = hold->matrix->arena.in_heap || depth == LONGEST_CHAIN;
    return copies ? copy(clone, hold) : share(clone, hold, depth);
}
