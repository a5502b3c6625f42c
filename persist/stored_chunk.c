/* stored_chunk.c: one chunk of a version: found, opened in the map, or read from the file to where its
 * entries go; and checked.
 *
 * LMDB's map is not read ahead (MDB_NORDAHEAD), for what it looks up lies here and there in the file, and the
 * system would read some megabytes around each page. So chunks that are read as a whole are asked for, or
 * read from the file as one reads files, which is the quickest way to a copy: the system reads ahead as the
 * disk needs it, and copies to the place where we would. A disk that cannot read is an error then, and not a
 * signal. */
#include "dcsr/base/alloc.h"
#include "persist/page_scan.h"
#include "persist/stored_rows.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>
#define XXH_STATIC_LINKING_ONLY /* a state on the stack */
#include <xxhash.h>

/* ---- In the map ---- */

void dcsr_i_chunk_ask_for(const MDB_val *value)
{
    if (!value->mv_size) return;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)value->mv_data / page * page;
    madvise((void *)begin, (uintptr_t)value->mv_data + value->mv_size - begin, MADV_WILLNEED);
}

static dcsr_status damaged(const dcsr_store *store, const char *name, const dcsr_i_version *version,
                           uint64_t c, const char *why)
{
    return dcsr_i_fail(DCSR_ERROR_CORRUPT, "%s#%s@%llu: chunk %llu, rows from %llu on: %s", store->path, name,
                       (unsigned long long)version->record.version,
                       (unsigned long long)version->chunks[c].number,
                       (unsigned long long)version->chunks[c].first_row, why);
}

dcsr_status dcsr_i_chunk_find(const dcsr_store *store, MDB_txn *txn, const char *name,
                              const dcsr_i_version *version, uint64_t c, MDB_val *value)
{
    const dcsr_i_chunk *chunk = &version->chunks[c];
    *value = (MDB_val){0, NULL};
    if (!chunk->entries) return DCSR_OK;
    dcsr_i_numbers number = dcsr_i_numbers_key(version->matrix.number, chunk->number);
    MDB_val key = {sizeof number, &number};
    int code = mdb_get(txn, store->database[DCSR_I_DB_CHUNKS], &key, value);
    if (code == MDB_NOTFOUND) return damaged(store, name, version, c, "it is not there");
    if (code) return dcsr_i_store_fail(store, code, "reading a chunk");
    return value->mv_size == chunk->stored ? DCSR_OK : damaged(store, name, version, c, "its size is wrong");
}

/* Where the data is that was stored: in the map; or in memory, where it was compressed, or is so little that
 * it stands in a leaf page, which aligns to two bytes. */
static dcsr_status unpack(const dcsr_store *store, const char *name, const dcsr_i_version *version,
                          uint64_t c, const MDB_val *value, dcsr_i_chunk_data *data)
{
    bool compressed = version->chunks[c].flags & DCSR_I_COMPRESSED;
    if (!compressed && value->mv_size != data->bytes)
        return damaged(store, name, version, c, "its size is wrong");
    if (!compressed && (uintptr_t)value->mv_data % _Alignof(uint64_t) == 0) return DCSR_OK;
    data->unpacked = dcsr_i_alloc(NULL, DCSR_I_SCRATCH, data->bytes, 1);
    if (!data->unpacked) return DCSR_ERROR_OUT_OF_MEMORY;
    if (!compressed) {
        memcpy(data->unpacked, value->mv_data, data->bytes);
        return DCSR_OK;
    }
    size_t size = ZSTD_decompress(data->unpacked, data->bytes, value->mv_data, value->mv_size);
    return size == data->bytes ? DCSR_OK : damaged(store, name, version, c, "it cannot be decompressed");
}

/* Offsets ascend from 0 to the number of entries. */
static bool offsets_are_right(const uint64_t *offsets, const dcsr_i_chunk *chunk)
{
    bool right = offsets[0] == 0 && offsets[chunk->rows] == chunk->entries;
    for (uint64_t r = 0; r < chunk->rows; r++) right &= offsets[r] <= offsets[r + 1];
    return right;
}

static bool columns_are_right(const uint32_t *columns, uint64_t entries, uint64_t cols)
{
    uint32_t largest = 0;
    for (uint64_t e = 0; e < entries; e++) largest = columns[e] > largest ? columns[e] : largest;
    return largest < cols;
}

static dcsr_status check(const dcsr_store *store, const char *name, const dcsr_i_version *version, uint64_t c,
                         uint64_t checksum, const uint32_t *columns)
{
    const dcsr_i_chunk *chunk = &version->chunks[c];
    if (checksum != chunk->checksum) return damaged(store, name, version, c, "its checksum is wrong");
    if (!columns_are_right(columns, chunk->entries, version->record.cols))
        return damaged(store, name, version, c, "a column is out of range");
    return DCSR_OK;
}

dcsr_status dcsr_i_chunk_check(const dcsr_store *store, const char *name, const dcsr_i_version *version,
                               uint64_t c, const dcsr_i_chunk_data *data)
{
    if (!version->chunks[c].entries) return DCSR_OK;
    return check(store, name, version, c, dcsr_i_checksum(data->offsets, data->bytes), data->columns);
}

dcsr_status dcsr_i_chunk_open(const dcsr_store *store, const char *name, const dcsr_i_version *version,
                              uint64_t c, const MDB_val *value, dcsr_i_chunk_data *data)
{
    const dcsr_i_chunk *chunk = &version->chunks[c];
    size_t size = dcsr_type_size((dcsr_type)version->record.type);
    dcsr_i_chunk_layout layout = dcsr_i_chunk_layout_of(chunk->rows, chunk->entries, size);
    *data = (dcsr_i_chunk_data){.bytes = layout.bytes};
    if (!chunk->entries) return DCSR_OK;
    dcsr_status status = unpack(store, name, version, c, value, data);
    const char *bytes = data->unpacked ? data->unpacked : value->mv_data;
    data->offsets = (const uint64_t *)bytes;
    data->columns = (const uint32_t *)(bytes + layout.columns);
    data->values = size ? bytes + layout.values : NULL;
    if (status == DCSR_OK && !offsets_are_right(data->offsets, chunk))
        status = damaged(store, name, version, c, "its rows overlap");
    if (status != DCSR_OK) dcsr_i_chunk_close(data);
    return status;
}

void dcsr_i_chunk_close(dcsr_i_chunk_data *data)
{
    dcsr_i_free(NULL, DCSR_I_SCRATCH, data->unpacked, data->bytes, 1);
    *data = (dcsr_i_chunk_data){0};
}

/* ---- From the file ---- */

dcsr_status dcsr_i_stored_source(dcsr_i_stored *stored)
{
    const dcsr_store *store = stored->store;
    MDB_val key = {strlen(stored->name), (void *)stored->name}, record;
    MDB_stat stat;
    dcsr_i_page_head head;
    int code = mdb_env_get_fd(store->env, &stored->file);
    if (!code) code = mdb_env_stat(store->env, &stat);
    if (!code) code = mdb_get(stored->txn, store->database[DCSR_I_DB_MATRICES], &key, &record);
    if (code) return dcsr_i_store_fail(store, code, "reading the record of a matrix");
    /* It stands in a leaf page, which has its number, and was looked at on opening. */
    const char *page = (const char *)record.mv_data - (uintptr_t)record.mv_data % stat.ms_psize;
    memcpy(&head, page, sizeof head);
    stored->map = page - head.number * stat.ms_psize;
    stored->page_bytes = stat.ms_psize;
    return DCSR_OK;
}

/* A large value stands behind the head of a run of pages. */
bool dcsr_i_chunk_can_be_read(const dcsr_i_stored *stored, uint64_t c)
{
    return stored->version.chunks[c].entries && !(stored->version.chunks[c].flags & DCSR_I_COMPRESSED) &&
           (uintptr_t)stored->values[c].mv_data % stored->page_bytes == sizeof(dcsr_i_page_head);
}

/* A place in the file, and the checksum of what has been read up to it. */
typedef struct reading {
    int file;
    off_t at;
    XXH64_state_t checksum;
    int error; /* -1: the file ends */
} reading;

/* Piece by piece, so that it is in the cache when its checksum is computed. */
static bool read_on(reading *r, void *to, uint64_t bytes)
{
    static const uint64_t most = (uint64_t)256 << 10;
    for (uint64_t done = 0; done < bytes;) {
        ssize_t n = pread(r->file, (char *)to + done, bytes - done < most ? bytes - done : most, r->at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            r->error = n ? errno : -1;
            return false;
        }
        XXH64_update(&r->checksum, (char *)to + done, (size_t)n);
        r->at += n;
        done += (uint64_t)n;
    }
    return true;
}

static dcsr_status cannot_read(const dcsr_i_stored *stored, uint64_t c, int error)
{
    if (error < 0) return damaged(stored->store, stored->name, &stored->version, c, "the file ends in it");
    return dcsr_i_fail(DCSR_ERROR_IO, "%s#%s@%llu: reading chunk %llu: %s", stored->store->path, stored->name,
                       (unsigned long long)stored->version.record.version,
                       (unsigned long long)stored->version.chunks[c].number, strerror(error));
}

dcsr_status dcsr_i_chunk_read(dcsr_i_stored *stored, uint64_t c, uint32_t *columns, void *values)
{
    const dcsr_i_version *version = &stored->version;
    const dcsr_i_chunk *chunk = &version->chunks[c];
    size_t size = dcsr_type_size((dcsr_type)version->record.type);
    dcsr_i_chunk_layout layout = dcsr_i_chunk_layout_of(chunk->rows, chunk->entries, size);
    uint64_t column_bytes = chunk->entries * sizeof *columns, padding;
    if (layout.bytes != stored->values[c].mv_size)
        return damaged(stored->store, stored->name, version, c, "its size is wrong");
    uint64_t *offsets = dcsr_i_alloc(NULL, DCSR_I_SCRATCH, layout.columns, 1);
    if (!offsets) return DCSR_ERROR_OUT_OF_MEMORY;
    reading r = {.file = stored->file, .at = (const char *)stored->values[c].mv_data - stored->map};
    XXH64_reset(&r.checksum, 0);
    bool read = read_on(&r, offsets, layout.columns) && read_on(&r, columns, column_bytes);
    if (read && size)
        read = read_on(&r, &padding, layout.values - layout.columns - column_bytes) &&
               read_on(&r, values, chunk->entries * size);
    dcsr_status status =
        read ? check(stored->store, stored->name, version, c, XXH64_digest(&r.checksum), columns)
             : cannot_read(stored, c, r.error);
    if (status == DCSR_OK && !offsets_are_right(offsets, chunk))
        status = damaged(stored->store, stored->name, version, c, "its rows overlap");
    if (status == DCSR_OK)
        stored->data[c] =
            (dcsr_i_chunk_data){.offsets = offsets, .unpacked = offsets, .bytes = layout.columns};
    else
        dcsr_i_free(NULL, DCSR_I_SCRATCH, offsets, layout.columns, 1);
    return status;
}
