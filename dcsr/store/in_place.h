/* in_place.h: changes of one entry in the current version itself (internal).
 *
 * A change makes a new version beside the current one because somebody may hold that. Where nobody holds any
 * version, no reader can tell the difference, and a change of one entry is written where the entry is:
 *
 *      versions' lock     nobody holds a version, and nobody can begin to; nothing is queued that has not been
 *                         applied, so nobody has the turn, and who takes it waits for the lock first
 *        find the row, look for the column, write; the version's number is one more
 *
 * So there is nothing to copy, to retire or to publish, and no turn to take: one lock, which reading one entry takes
 * too. The page keeps the version of its last
 * change (`born`), by which snapshots know what has changed; what is cached by number is given up.
 *
 * Everything else goes the usual way: where a version is held, the transpose is maintained, a page or a segment page
 * is missing, or the row is long; so do matrices on a device (engine.h: in_place), which
 * change rows in place where they merge batches (merge.cuh). */
#ifndef DCSR_IN_PLACE_H
#define DCSR_IN_PLACE_H

#include "dcsr/store/entries.h"
#include "dcsr/store/store.h"

/* One entry that is to be set, or removed. */
typedef struct dcsr_i_single {
    const char *call;
    uint64_t row, col;
    const void *value; /* NULL: none, or it is to be removed */
    bool removes;
    bool was_there; /* the outcome, of a removal */
} dcsr_i_single;

/* Inserts or removes the batch's entry, its only one, as the policy says. False: it was not done, and is to be done the
 * usual way; what is wrong with it is told there. */
bool dcsr_i_apply_in_place(dcsr_matrix *matrix, const dcsr_i_entries *e);
/* Makes the value that of the position, whatever the policy; or removes the entry. Likewise. */
bool dcsr_i_set_in_place(dcsr_matrix *matrix, dcsr_i_single *one);

#endif
