/* hierarchy_follow.h: a hierarchy that follows its matrix as that changes (internal).
 *
 * An update goes down the levels. On each of them it has rows of A that may differ, and finds by the patterns of
 * A, P and R what these reach:
 *
 *      rows of A that differ, and the diagonals among them
 *      nodes whose strength may differ: those of these rows, and what reads a diagonal that differs
 *      aggregates of those of them that lost theirs, or have none yet (regroup.c)
 *      T of aggregates that got or lost a node, or whose vectors differ
 *      P of all these nodes, and of what reads nodes whose aggregate or T differs
 *      R, by the columns of the rows of P that differ
 *      rows of R A P in which a row of R, or of A P, differs: they are computed again
 *
 * Of all these only what differs, bit by bit, goes on. rho of each level is kept, as it would change all of P. So
 * each level is, bit for bit, what the stages of a setup make of A with these aggregates and rho. What reads a row is
 * told by the row itself if A is symmetric, else by a pass over all rows. The same steps on a device are in
 * cuda/follow_cuda.c. */
#ifndef DCSR_AMG_FOLLOW_H
#define DCSR_AMG_FOLLOW_H

#include "amg/hierarchy.h"

/* ---- undo.c: what an update changes, so that a failure can take it back ---- */

typedef struct dcsr_i_amg_undo {
    dcsr_context *context;
    dcsr_i_amg_array array; /* records: the bytes as they were, and behind them where and how many */
    uint64_t used;
} dcsr_i_amg_undo;
/* Notes bytes that are about to change. */
dcsr_status dcsr_i_amg_keep(dcsr_i_amg_undo *undo, void *at, size_t size);
/* Puts all of them back. */
void dcsr_i_amg_take_back(dcsr_i_amg_undo *undo);

/* Room for `more` bytes, or others, behind the `used` ones of an array, which may move. */
dcsr_status dcsr_i_amg_grow(dcsr_i_amg_array *array, dcsr_context *context, uint64_t used, uint64_t more,
                            size_t size);

/* Gives rows other entries: `from` has `count` rows, in any order. */
dcsr_status dcsr_i_amg_move_rows(dcsr_i_amg_matrix *m, dcsr_i_amg_undo *undo, uint64_t count,
                                 const uint32_t *rows, const dcsr_i_amg_span *spans);
/* Closes the gaps, if there are many; to be called when nothing can fail any more. */
void dcsr_i_amg_tidy(dcsr_i_amg_matrix *m, dcsr_i_amg_hierarchy *h);

/* ---- made.c: sets of numbers, and rows that are computed ---- */

/* The list is ascending after dcsr_i_amg_set_sort(). */
typedef struct dcsr_i_amg_set {
    uint32_t *list;
    uint64_t *bits;
    uint64_t count;
    dcsr_i_amg_array lists, words;
} dcsr_i_amg_set;

static inline bool dcsr_i_amg_set_has(const dcsr_i_amg_set *set, uint64_t i)
{
    return set->bits[i / 64] >> (i % 64) & 1;
}

static inline void dcsr_i_amg_set_add(dcsr_i_amg_set *set, uint64_t i)
{
    if (dcsr_i_amg_set_has(set, i)) return;
    set->bits[i / 64] |= (uint64_t)1 << (i % 64);
    set->list[set->count++] = (uint32_t)i;
}
void dcsr_i_amg_set_sort(dcsr_i_amg_set *set);
void dcsr_i_amg_set_clear(dcsr_i_amg_set *set);

/* What one thread has computed: rows, one after the other. */
typedef struct dcsr_i_amg_pile {
    dcsr_i_amg_array columns, values;
    uint64_t used, row; /* entries; the number of the next row in the list */
    uint64_t *length;   /* of all rows of the list */
} dcsr_i_amg_pile;

/* Rows by number, ascending. */
typedef struct dcsr_i_amg_made {
    uint64_t count;
    uint32_t *row;
    dcsr_i_amg_span *span;
    dcsr_i_amg_array rows, spans, lengths, piles;
} dcsr_i_amg_made;

/* What one thread computes with. `sum` and `norm` are zero between two rows; a mark that is not `stamp` is none. */
typedef struct dcsr_i_amg_worker {
    dcsr_i_amg_array array;
    uint32_t *strong; /* neighbours of a node */
    double *norm;     /* for the strength of nodes */
    double *sum;      /* of a row, by columns of the next level */
    uint32_t *mark;   /* the columns that it has */
    uint32_t stamp;
    dcsr_i_amg_reach reach;
} dcsr_i_amg_worker;

enum { DCSR_I_AMG_MOST_SETS = 6 };
typedef struct dcsr_i_amg_follow {
    dcsr_i_amg_hierarchy *h;
    dcsr_context *context;
    dcsr_i_amg_undo undo;
    dcsr_i_amg_set set[DCSR_I_AMG_MOST_SETS];
    dcsr_i_amg_array workers, slots;
    uint32_t *slot; /* where in a list a row is */
    /* Of the level that is being looked at: */
    dcsr_i_amg_level *level;
    dcsr_i_amg_graph graph;        /* if A is not symmetric: else a row tells its node's strength */
    const dcsr_i_amg_made *source; /* rows that others are computed of */
    const struct inserts *inserts; /* what R gets that it had not */
} dcsr_i_amg_follow;
dcsr_status dcsr_i_amg_follow_begin(dcsr_i_amg_hierarchy *h);
void dcsr_i_amg_follow_end(dcsr_i_amg_hierarchy *h);

/* Computes `each` rows for every number of a list, shared among threads. `make` writes them with
 * dcsr_i_amg_pile_room() and dcsr_i_amg_pile_end(), and returns false without memory. */
typedef bool dcsr_i_amg_maker(dcsr_i_amg_follow *f, dcsr_i_amg_worker *w, uint64_t number,
                              dcsr_i_amg_pile *to);
dcsr_status dcsr_i_amg_make(dcsr_i_amg_made *made, dcsr_i_amg_follow *f, const dcsr_i_amg_set *numbers,
                            uint64_t each, dcsr_i_amg_maker *make);
bool dcsr_i_amg_pile_room(dcsr_i_amg_pile *pile, dcsr_context *context, uint64_t most, uint32_t **columns,
                          double **values);
void dcsr_i_amg_pile_end(dcsr_i_amg_pile *pile, uint64_t count);
void dcsr_i_amg_made_free(dcsr_i_amg_made *made, dcsr_context *context);
/* Leaves those rows alone that are not as in the matrix. */
void dcsr_i_amg_made_differing(dcsr_i_amg_made *made, const dcsr_i_amg_rows *rows);

/* ---- The steps ---- */

/* The strong neighbours of a node as A is now (follow.c). */
uint32_t dcsr_i_amg_strong_of(dcsr_i_amg_follow *f, dcsr_i_amg_worker *w, uint64_t node,
                              const uint32_t **strong);

/* regroup.c: gives the nodes of `looked` aggregates where they need others; `moved` gets the nodes that changed,
 * `parts` the aggregates that they left and joined. *why is set if a new aggregate were needed. */
dcsr_status dcsr_i_amg_regroup(dcsr_i_amg_follow *f, const dcsr_i_amg_set *looked, dcsr_i_amg_set *moved,
                               dcsr_i_amg_set *parts, const char **why);
/* regroup.c: T of these aggregates; `moved` gets the nodes whose T differs, `vectors` the aggregates whose
 * vectors on the next level do. */
dcsr_status dcsr_i_amg_retent(dcsr_i_amg_follow *f, dcsr_i_amg_set *parts, dcsr_i_amg_set *moved,
                              dcsr_i_amg_set *vectors);

/* follow_products.c: rows of A P, and of R times them. */
dcsr_i_amg_maker dcsr_i_amg_make_ap, dcsr_i_amg_make_rap;

/* follow.c, for all devices: the last level's inverse; nothing can fail after it. */
dcsr_status dcsr_i_amg_invert_again(dcsr_i_amg_hierarchy *h, dcsr_i_amg_level *last);
/* What an update leaves: gaps are closed, and what was shown of a level, or prepared, is that no more. */
void dcsr_i_amg_settle(dcsr_i_amg_hierarchy *h);

/* follow.c: all levels, from the rows of A that may differ on; of these, those that do are left. *why is NULL, or the
 * sentence that tells why the hierarchy has to be set up anew. On failure, and then, it is as it was. */
dcsr_status dcsr_i_amg_follow_rows(dcsr_i_amg_hierarchy *h, dcsr_i_amg_made *rows, const char **why);

#endif
