/* snapshot.h: a version on its way into the store (internal to snapshot.c and snapshot_chunks.c). */
#ifndef DCSR_SNAPSHOT_H
#define DCSR_SNAPSHOT_H

#include "persist/chunks.h"

typedef struct dcsr_i_new_version {
    dcsr_store *store;
    const char *name;
    dcsr_matrix *matrix;
    MDB_txn *txn; /* NULL between transactions */
    dcsr_i_matrix_record record;
    dcsr_i_version base; /* chunks NULL: none */
    dcsr_i_chunk_plan plan;
    int threads;
    uint64_t in_transaction;          /* bytes of chunks that the transaction holds */
    uint64_t written, chunks_written; /* bytes, chunks: by all of them */
} dcsr_i_new_version;

/* Commits what is there of a large snapshot, and begins the next transaction once the log has had its turn.
 */
dcsr_status dcsr_i_turn_transaction(dcsr_i_new_version *s);
/* Writes those chunks of the plan that the store does not have, and notes in the plan where they are. On
 * success a transaction is open. */
dcsr_status dcsr_i_write_chunks(dcsr_i_new_version *s);

#endif
