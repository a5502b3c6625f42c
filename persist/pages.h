/* pages.h: whether the pages of LMDB's file are as LMDB leaves them (internal).
 *
 * LMDB has no checksums. It believes every number in a page that it reads: on a damaged file it crashes,
 * stops the process, or shows something else than was stored. So before it is let loose on a file, and
 * whenever a store is verified, these functions follow all of its numbers with every step checked.
 *
 * What is looked at is all that LMDB follows: data of values is not, it has checksums of its own. The file is
 * mapped a second time for it and read up to its end at most, whatever the numbers say. */
#ifndef DCSR_PAGES_H
#define DCSR_PAGES_H

#include "persist/store_data.h"

/* The metas of `path`/data.mdb, to be called before LMDB opens it: that there are two, from one transaction
 * and from the one before. LMDB takes the one with the higher number, so a damaged number would silently
 * bring back the state before the last transaction. DCSR_OK when there is no such file, or an empty one.
 * Errors: FORMAT (it has never been such a file, or of another version of LMDB's format), CORRUPT, IO. */
dcsr_status dcsr_i_pages_check_file(const char *path);

/* All trees that the transaction sees. A reader's transaction may be renewed: call it first thing in it.
 * In a store that is open for writing the heads of runs are looked at as well, which LMDB believes when it
 * frees them; that reads a page of each run.
 * Errors: CORRUPT (the message names the page and what is wrong with it), IO, OUT_OF_MEMORY.
 * Cost: one read of the trees' pages, which are some thousandths of a store, and a bit of memory a page. */
dcsr_status dcsr_i_pages_check(const dcsr_store *store, MDB_txn *txn);
/* The same with the heads of runs, however the store was opened. */
dcsr_status dcsr_i_pages_check_all(const dcsr_store *store, MDB_txn *txn);

#endif
