/* stored_rows.h: a version in the store, its chunks found, as restoring and lending read it (internal). */
#ifndef DCSR_STORED_ROWS_H
#define DCSR_STORED_ROWS_H

#include "persist/store_data.h"

typedef struct dcsr_i_stored {
    const dcsr_store *store;
    const char *name;
    MDB_txn *txn; /* keeps what is read from being reused */
    dcsr_i_version version;
    MDB_val *values;         /* of each chunk, in the map */
    dcsr_i_chunk_data *data; /* of those that have been opened */
    uint64_t *first;         /* entries in the chunks before */

    /* dcsr_i_stored_source(): the data file, where the map of it begins, and its pages. */
    int file;
    const char *map;
    uint64_t page_bytes;
} dcsr_i_stored;

/* Finds the chunks, and reads none of them yet. */
dcsr_status dcsr_i_stored_open(dcsr_i_stored *stored, const dcsr_store *store, const char *name,
                               uint64_t version);
/* A matrix of it, for a call of the user's that messages name; what the chunks took up in memory is free
 * afterwards, record and transaction are left. */
dcsr_status dcsr_i_stored_restore(dcsr_matrix **matrix, const char *call, dcsr_context *context,
                                  dcsr_i_stored *stored, const dcsr_matrix_options *options);
void dcsr_i_stored_close(dcsr_i_stored *stored);

/* ---- stored_chunk.c: chunks from the file ---- */

/* Before the others. Errors: CORRUPT. */
dcsr_status dcsr_i_stored_source(dcsr_i_stored *stored);
/* Whether it lies in the file as it is in memory, neither compressed nor so small that it shares a page. Then
 * reads and checks it: its columns and values go where they are to be, where its rows begin to stored->data.
 * Any thread, one a chunk. Errors: CORRUPT, IO, OUT_OF_MEMORY. */
bool dcsr_i_chunk_can_be_read(const dcsr_i_stored *stored, uint64_t c);
dcsr_status dcsr_i_chunk_read(dcsr_i_stored *stored, uint64_t c, uint32_t *columns, void *values);

#endif
