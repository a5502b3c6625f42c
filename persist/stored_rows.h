/* stored_rows.h: a version in the store, its chunks found, as restoring and lending read it (internal). */
#ifndef DCSR_STORED_ROWS_H
#define DCSR_STORED_ROWS_H

#include "persist/store_data.h"

typedef struct dcsr_i_stored {
    const dcsr_store *store;
    const char *name;
    MDB_txn *txn; /* keeps what is read from being reused */
    dcsr_i_version version;
    dcsr_i_chunk_data *data; /* of each chunk */
    uint64_t *first;         /* entries in the chunks before */
    uint64_t damaged;        /* the first chunk of which copying found that; UINT64_MAX: none */
} dcsr_i_stored;

dcsr_status dcsr_i_stored_open(dcsr_i_stored *stored, dcsr_context *context, const dcsr_store *store,
                               const char *name, uint64_t version);
void dcsr_i_stored_close(dcsr_i_stored *stored);

#endif
