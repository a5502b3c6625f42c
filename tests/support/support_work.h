/* support_work.h: work on a store that can be ended at any moment, and the check of what is left of it.
 *
 * Three matrices are worked on: "plain", of which snapshots are made, and the durable "first" and "second",
 * each with a thread that inserts. Batch j of a matrix is drawn from the number j alone, so that the oracle
 * of the matrix after j batches can be made anew at any time. Each batch that inserts counts at place (0, 0),
 * which so says how many a stored matrix has seen; policies are sum and last, so that a batch that is
 * missing, is there twice or out of its turn shows. The durable ones have dictionaries, to which each batch adds
 * a name, and tags, which are its number. From time to time the store is backed up to FOLDER/backup, and closed,
 * compacted and opened again.
 *
 * What is about to be done, and what has been acknowledged by the library, is written into a file beside the
 * store, FOLDER/acknowledged, with a write for each change. The check compares with it:
 *
 *      acknowledged <= what is found <= issued        nothing acknowledged is lost, nothing is made up
 *      what is found == the oracle after so many      nothing is torn */
#ifndef DCSR_TESTS_SUPPORT_WORK_H
#define DCSR_TESTS_SUPPORT_WORK_H

#include "tests/support/support_store.h"

enum { WORK_DURABLE = 2 };

typedef struct work_state {
    uint64_t opened;                                           /* the store has been there */
    uint64_t issued[WORK_DURABLE], acknowledged[WORK_DURABLE]; /* batches of the durable matrices */
    uint64_t begun, done; /* batches in the last snapshot of "plain" that was begun, and that succeeded */
    uint64_t version;     /* the newest that was acknowledged */
    uint64_t oldest;      /* versions from this one on have not been given to gc */
    uint64_t round;       /* so that each goes another way */
    uint64_t backup;      /* 0: none was acknowledged; else the version that it has at least, and 1 */
    uint64_t backed_up[WORK_DURABLE]; /* batches that had been acknowledged when it was begun */
} work_state;

/* Reads and writes FOLDER/acknowledged; all zero where there is none. */
work_state work_read_state(const char *folder);
void work_write_state(const char *folder, const work_state *state);

/* The three matrices, by number: the durable ones first. Their names, the oracle of one after j batches, and
 * queueing its batches after `from` up to `to`. */
enum { WORK_PLAIN = WORK_DURABLE, WORK_ROWS = 150, WORK_COLS = 200 };
extern const char *const work_names[WORK_DURABLE + 1];
extern const dcsr_policy work_policies[WORK_DURABLE + 1];
void work_make_oracle(oracle *model, int which, uint64_t j);
dcsr_status work_queue(dcsr_matrix *matrix, int which, uint64_t from, uint64_t to);

/* Works on FOLDER/store from where the state says that it is, for `steps` steps of the calling thread; then
 * closes all. Fails the child where the library fails. */
void work_run(const char *folder, uint64_t steps, store_child *child);

/* Opens FOLDER/store, verifies it, and compares all that is in it with the state and the oracle; fails the
 * child where they differ. The state becomes what was found, so that work can go on. */
void work_check(const char *folder, store_child *child);

#endif
