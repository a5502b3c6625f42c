/* new_store.c: makes the file of a store.
 *
 * LMDB makes its file in steps, of which each may be the last before the power fails, and takes an empty file
 * for a new one. So the file is made in a folder beside, whole and synced, and then gets its name. */
#include "persist/store_data.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Enough for a map of a file that has next to nothing in it. */
static const uint64_t addresses = (uint64_t)1 << 26;

static dcsr_status make_databases(dcsr_store *store, MDB_txn *txn)
{
    for (int d = 0; d < DCSR_I_DATABASES; d++) {
        int code = mdb_dbi_open(txn, dcsr_i_database_names[d], MDB_CREATE, &store->database[d]);
        if (code) return dcsr_i_store_fail(store, code, "making its databases");
    }
    dcsr_i_store_record record = {.format = DCSR_I_FIRST_FORMAT,
                                  .compression = (uint32_t)store->compression,
                                  .chunk_bytes = store->chunk_bytes,
                                  .next_matrix = 1};
    memcpy(record.magic, DCSR_I_STORE_MAGIC, sizeof record.magic);
    return dcsr_i_store_record_put(store, txn, &record);
}

static dcsr_status make_environment(dcsr_store *store, const char *folder)
{
    MDB_txn *txn;
    DCSR_TRY(dcsr_i_store_open_env(store, folder, addresses));
    dcsr_status status = dcsr_i_txn_begin(&txn, store, true);
    if (status == DCSR_OK) {
        status = make_databases(store, txn);
        if (status == DCSR_OK)
            status = dcsr_i_txn_commit(txn, store);
        else
            dcsr_i_txn_abort(txn, store);
    }
    mdb_env_close(store->env);
    store->env = NULL;
    return status;
}

dcsr_status dcsr_i_store_make(dcsr_store *store)
{
    char folder[DCSR_I_LONGEST_PATH], data[DCSR_I_LONGEST_PATH], lock[DCSR_I_LONGEST_PATH],
        whole[DCSR_I_LONGEST_PATH];
    bool there;
    DCSR_TRY(dcsr_i_store_look(store, &there)); /* another process may have made it before we had the lock */
    if (there) return DCSR_OK;
    if (!dcsr_i_store_path(folder, store, DCSR_I_UNFINISHED) ||
        !dcsr_i_store_path(data, store, DCSR_I_UNFINISHED "/data.mdb") ||
        !dcsr_i_store_path(lock, store, DCSR_I_UNFINISHED "/lock.mdb") ||
        !dcsr_i_store_path(whole, store, "data.mdb"))
        return dcsr_i_fail(DCSR_ERROR_IO, "%s: %s", store->path, strerror(errno));
    unlink(data);
    unlink(lock);
    if (mkdir(folder, DCSR_I_STORE_FOLDER_MODE) && errno != EEXIST)
        return dcsr_i_fail(DCSR_ERROR_IO, "%s: %s", folder, strerror(errno));
    dcsr_status status = make_environment(store, folder);
    if (status == DCSR_OK && (rename(data, whole) || !dcsr_i_sync_folder(store->path, ".") ||
                              !dcsr_i_sync_folder(store->path, "..")))
        status = dcsr_i_fail(DCSR_ERROR_IO, "%s: making a store: %s", store->path, strerror(errno));
    unlink(data);
    unlink(lock);
    rmdir(folder);
    return status;
}
