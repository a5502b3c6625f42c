/* store_info.c: what a store tells about itself: its size, and who reads it. */
#include "persist/store_data.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* LMDB keeps a list of free pages, in database 0, by the transaction that freed them: how many, then which.
 * Pages that were freed by transactions from `first` to before `end`. */
static uint64_t free_pages(MDB_txn *txn, uint64_t first, uint64_t end)
{
    MDB_cursor *cursor;
    MDB_val key, value;
    uint64_t pages = 0;
    if (mdb_cursor_open(txn, 0, &cursor)) return 0;
    while (!mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
        size_t freed, count;
        memcpy(&freed, key.mv_data, sizeof freed);
        memcpy(&count, value.mv_data, sizeof count);
        if (freed >= first && freed < end) pages += count;
    }
    mdb_cursor_close(cursor);
    return pages;
}

dcsr_status dcsr_store_get_info(dcsr_store *store, dcsr_store_info *info)
{
    DCSR_TRY(dcsr_i_store_check("dcsr_store_get_info", store, false));
    if (!info) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_store_get_info: info is NULL");
    MDB_txn *txn;
    MDB_stat stat;
    mdb_filehandle_t file;
    struct stat data;
    uint64_t matrices;
    if (mdb_env_get_fd(store->env, &file) || fstat(file, &data))
        return dcsr_i_fail(DCSR_ERROR_IO, "%s/data.mdb: %s", store->path, strerror(errno));
    DCSR_TRY(dcsr_i_txn_begin(&txn, store, false));
    mdb_env_stat(store->env, &stat);
    dcsr_i_store_record record;
    dcsr_status status = dcsr_i_store_record_get(store, txn, &record);
    if (status == DCSR_OK) status = dcsr_i_store_count(store, txn, &matrices);
    uint64_t pages = free_pages(txn, 0, UINT64_MAX);
    dcsr_i_txn_abort(txn, store);
    DCSR_TRY(status);
    *info = (dcsr_store_info){.matrices = matrices,
                              .file_bytes = (uint64_t)data.st_size,
                              .free_bytes = pages * stat.ms_psize,
                              .chunk_bytes = store->chunk_bytes,
                              .compression = store->compression,
                              .read_only = store->read_only,
                              .format = record.format};
    return DCSR_OK;
}

/* ---- Readers ---- */

/* A line of LMDB's about one that reads: process, thread, transaction. Others are headings, or about slots
 * that are not in use. */
static int note_reader(const char *line, void *user)
{
    dcsr_store_readers *readers = user;
    int process;
    size_t thread, state;
    if (sscanf(line, "%d %zx %zu", &process, &thread, &state) != 3) return 0;
    if (!readers->count++ || state < readers->state) {
        readers->process = (uint64_t)process;
        readers->state = state;
    }
    return 0;
}

dcsr_status dcsr_store_get_readers(dcsr_store *store, dcsr_store_readers *readers)
{
    DCSR_TRY(dcsr_i_store_check("dcsr_store_get_readers", store, false));
    if (!readers) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_store_get_readers: readers is NULL");
    *readers = (dcsr_store_readers){0};
    MDB_txn *txn;
    MDB_stat stat;
    uint64_t lowest;
    int code = mdb_reader_check(store->env, NULL);
    if (!code) code = mdb_reader_list(store->env, note_reader, readers) < 0 ? EIO : 0;
    if (!code) code = mdb_env_stat(store->env, &stat);
    if (code) return dcsr_i_store_fail(store, code, "looking at its readers");
    DCSR_TRY(dcsr_i_txn_begin(&txn, store, false));
    readers->newest_state = mdb_txn_id(txn);
    /* For one that is not listed the writer keeps a place in the list. */
    if (dcsr_i_readers_find_lowest(store, &lowest) && (!readers->count || lowest <= readers->state)) {
        readers->count += !readers->count;
        readers->process = 0;
        readers->state = lowest;
    }
    /* What the newest transaction has freed could be used by none yet. */
    if (readers->count)
        readers->held_bytes = free_pages(txn, readers->state, readers->newest_state) * stat.ms_psize;
    dcsr_i_txn_abort(txn, store);
    return DCSR_OK;
}
