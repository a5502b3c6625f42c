/* readers.h: who reads a store, as its writer has to know (internal).
 *
 * LMDB's writer finds the oldest transaction that is still read in a table in lock.mdb, and leaves the pages
 * of that one and of all newer ones alone. A process has to write that file to be in the table. One that
 * cannot - on a read-only mount, without the permission - is not listed there; LMDB then reads without
 * telling anybody, and the writer overwrites what it reads. Nor can a process be listed whose number another
 * has, in another container: only those are whose numbers are counted where the writer's are, which the file
 * `writer` tells.
 *
 * A reader that is not listed locks what it reads: one byte of data.mdb, that whose offset is the number of
 * the transaction. It is a shared lock of an open file (F_OFD_SETLK), which needs no more than the permission
 * to read, and which the system takes back when the process ends, however it does. The writer asks for the
 * lowest such lock before each of its transactions, and where there is one it keeps a transaction of its own
 * in the table, a pin, which keeps the pages for it:
 *
 *      locks on data.mdb     17 (reader)   19 (reader)
 *      pins in lock.mdb        18                20          18 may go when no lock is left below 19
 *
 * Why that is enough: transaction N uses the pages that those before N-1 have freed, so what N-2 and later
 * ones show stays whole. A reader that locks after the writer has asked reads N-1 or later. One that had
 * locked before has been seen when N-1 began, and been given a pin, or reads N-2 or later and gets one now:
 * the pin P keeps all from P-1 on.
 *
 * Pins end with their process. A process that begins to write therefore waits until nobody reads anything
 * that is older than the transaction before the newest. */
#ifndef DCSR_READERS_H
#define DCSR_READERS_H

#include "dcsr/base/error.h"
#include <lmdb.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct dcsr_store;

/* A transaction that reads and is not listed. */
typedef struct dcsr_i_unlisted {
    struct dcsr_i_unlisted *next;
    const MDB_txn *txn;
    uint64_t number; /* which is locked */
} dcsr_i_unlisted;

typedef struct dcsr_i_readers {
    pthread_mutex_t lock; /* innermost; of `unlisted` */
    dcsr_i_unlisted *unlisted;
    MDB_txn *pins[2]; /* of a writer, the older first; under `writing` */
} dcsr_i_readers;

dcsr_i_readers *dcsr_i_readers_create(void); /* NULL: out of memory */
/* Ends the pins and gives up the locks; not those of another process, which this one was forked from. */
void dcsr_i_readers_free(struct dcsr_store *store, bool ours);

/* ---- A process that reads ---- */

/* Whether this process has a place in LMDB's table: it may write the table, and nobody else there has its
 * number. */
bool dcsr_i_readers_can_be_listed(const struct dcsr_store *store);

/* Begins and ends a transaction that is not listed. Whoever has LMDB begin one by itself - mdb_env_copy()
 * does - must be within one of these. Errors: IO (the file system has no locks), OUT_OF_MEMORY. */
dcsr_status dcsr_i_unlisted_begin(MDB_txn **txn, const struct dcsr_store *store);
int dcsr_i_unlisted_end(MDB_txn *txn, const struct dcsr_store *store, bool commit); /* LMDB's code */

/* ---- The process that writes ---- */

/* Writes down where the process numbers of this process are counted, for those that read. */
void dcsr_i_readers_note_writer(const struct dcsr_store *store);
/* Before its first transaction: waits for unlisted readers that no pin can help, or refuses (BUSY). */
dcsr_status dcsr_i_readers_wait(const struct dcsr_store *store, bool refuse);
/* The lowest state that a reader without a slot, of any other process, has locked; false: there is none. */
bool dcsr_i_readers_find_lowest(const struct dcsr_store *store, uint64_t *number);
/* Before each transaction that writes, with `writing`. Errors: those of LMDB. */
dcsr_status dcsr_i_readers_pin(const struct dcsr_store *store);
void dcsr_i_readers_unpin(const struct dcsr_store *store);

#endif
