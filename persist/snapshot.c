/* snapshot.c: a view of a matrix becomes the next version in the store.
 *
 *      view --chunks.c--> plan --groups of chunks--> filled, checked, packed by all threads
 *                                                        --> those that are new: into a transaction
 *      at the end, in the last one: the version's record, the matrix's, and the log is trimmed
 *
 * LMDB holds what a transaction writes in memory until it commits, so a large snapshot is written by several.
 * What the earlier ones write is named by no version yet: dcsr_i_matrix_record.named_chunks says from where
 * on. */
#include "persist/chunks.h"
#include "dcsr/alloc.h"
#include "dcsr/store.h"
#include <string.h>
#include <time.h>
#include <zstd.h>
#include <zstd_errors.h>

uint64_t dcsr_i_store_transaction_bytes = (uint64_t)256 << 20;
/* Chunks that are filled at once, for each thread. */
enum { CHUNKS_A_THREAD = 4 };

/* The data of one chunk on its way. */
typedef struct parcel {
    dcsr_i_planned *planned;
    char *data; /* room for the largest chunk, and for it compressed */
    const char *stored;
    uint64_t stored_bytes;
    bool failed;
} parcel;

typedef struct writing {
    dcsr_store *store;
    const char *name;
    dcsr_matrix *matrix;
    MDB_txn *txn; /* NULL between transactions */
    dcsr_i_matrix_record record;
    dcsr_i_version base; /* chunks NULL: none */
    dcsr_i_plan plan;
    uint64_t in_transaction, written, chunks_written;
    parcel *parcels;
    uint64_t parcel_count, room; /* of each: `room` bytes for data, as many as it takes compressed behind */
    int threads;
} writing;

/* ---- Chunks ---- */

static uint64_t room_compressed(const writing *w)
{
    return w->store->compression ? ZSTD_compressBound(w->room) : 0;
}

static dcsr_status make_parcels(writing *w)
{
    for (uint64_t c = 0; c < w->plan.count; c++) {
        uint64_t bytes = dcsr_i_planned_bytes(&w->plan, &w->plan.chunks[c]);
        if (w->plan.chunks[c].state != DCSR_I_CHUNK_STORED && bytes > w->room) w->room = bytes;
    }
    if (!w->room) return DCSR_OK;
    w->parcel_count = (uint64_t)w->threads * CHUNKS_A_THREAD;
    w->parcels = dcsr_i_calloc(NULL, DCSR_I_SCRATCH, w->parcel_count, sizeof *w->parcels);
    if (!w->parcels) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t p = 0; p < w->parcel_count; p++) {
        w->parcels[p].data = dcsr_i_alloc(NULL, DCSR_I_SCRATCH, w->room + room_compressed(w), 1);
        if (!w->parcels[p].data) return DCSR_ERROR_OUT_OF_MEMORY;
    }
    return DCSR_OK;
}

static void free_parcels(writing *w)
{
    for (uint64_t p = 0; w->parcels && p < w->parcel_count; p++)
        dcsr_i_free(NULL, DCSR_I_SCRATCH, w->parcels[p].data, w->room + room_compressed(w), 1);
    dcsr_i_free(NULL, DCSR_I_SCRATCH, w->parcels, w->parcel_count, sizeof *w->parcels);
}

/* Fills, compares and packs one chunk. Any thread. */
static void pack(const writing *w, parcel *p)
{
    dcsr_i_planned *planned = p->planned;
    uint64_t bytes = dcsr_i_planned_bytes(&w->plan, planned);
    dcsr_i_planned_fill(&w->plan, planned, p->data);
    uint64_t checksum = dcsr_i_checksum(p->data, bytes);
    p->failed = false;
    if (planned->state == DCSR_I_CHUNK_COMPARE && planned->chunk.checksum == checksum) {
        planned->state = DCSR_I_CHUNK_STORED;
        return;
    }
    planned->state = DCSR_I_CHUNK_NEW;
    planned->chunk.checksum = checksum;
    planned->chunk.flags &= ~(uint32_t)DCSR_I_COMPRESSED;
    p->stored = p->data;
    p->stored_bytes = bytes;
    if (!w->store->compression) return;
    char *to = p->data + w->room;
    size_t size = ZSTD_compress(to, room_compressed(w), p->data, bytes, w->store->compression);
    p->failed = ZSTD_isError(size) && ZSTD_getErrorCode(size) == ZSTD_error_memory_allocation;
    if (ZSTD_isError(size) || size >= bytes) return; /* it is stored as it is */
    planned->chunk.flags |= DCSR_I_COMPRESSED;
    p->stored = to;
    p->stored_bytes = size;
}

/* Commits what is there of a large snapshot, and begins the next transaction. */
static dcsr_status turn_transaction(writing *w)
{
    DCSR_TRY(dcsr_i_matrix_record_put(w->store, w->txn, w->name, &w->record));
    MDB_txn *txn = w->txn;
    w->txn = NULL;
    DCSR_I_POINT("snapshot: chunks written");
    DCSR_TRY(dcsr_i_txn_commit(txn, w->store));
    DCSR_I_POINT("snapshot: chunks committed");
    w->in_transaction = 0;
    return dcsr_i_txn_begin(&w->txn, w->store, true);
}

static dcsr_status put(writing *w, const parcel *p)
{
    dcsr_i_chunk *chunk = &p->planned->chunk;
    if (p->failed)
        return dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY, "%s#%s: compressing: out of memory", w->store->path,
                           w->name);
    if (w->in_transaction && w->in_transaction + p->stored_bytes > dcsr_i_store_transaction_bytes)
        DCSR_TRY(turn_transaction(w));
    chunk->number = w->record.next_chunk++;
    chunk->stored = p->stored_bytes;
    dcsr_i_numbers number = dcsr_i_numbers_key(w->record.number, chunk->number);
    MDB_val key = {sizeof number, &number}, value = {p->stored_bytes, NULL};
    int code = mdb_put(w->txn, w->store->database[DCSR_I_DB_CHUNKS], &key, &value, MDB_RESERVE);
    if (code) return dcsr_i_store_fail(w->store, code, "writing a chunk");
    memcpy(value.mv_data, p->stored, p->stored_bytes);
    p->planned->state = DCSR_I_CHUNK_STORED;
    w->in_transaction += p->stored_bytes;
    w->written += p->stored_bytes;
    w->chunks_written++;
    return DCSR_OK;
}

static dcsr_status write_chunks(writing *w)
{
    DCSR_TRY(make_parcels(w));
    for (uint64_t c = 0; c < w->plan.count;) {
        uint64_t n = 0;
        for (; c < w->plan.count && n < w->parcel_count; c++)
            if (w->plan.chunks[c].state != DCSR_I_CHUNK_STORED) w->parcels[n++].planned = &w->plan.chunks[c];
        if (!w->parcel_count) break;
#pragma omp parallel for num_threads(w->threads) schedule(dynamic) if (w->threads > 1 && n > 1)
        for (uint64_t p = 0; p < n; p++) pack(w, &w->parcels[p]);
        for (uint64_t p = 0; p < n; p++)
            if (w->parcels[p].planned->state == DCSR_I_CHUNK_NEW) DCSR_TRY(put(w, &w->parcels[p]));
    }
    return DCSR_OK;
}

/* ---- Records ---- */

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec;
}

/* The record of a matrix that is new in the store. */
static dcsr_status begin_matrix(writing *w)
{
    dcsr_i_store_record store;
    DCSR_TRY(dcsr_i_store_record_get(w->store, w->txn, &store));
    w->record = (dcsr_i_matrix_record){.number = store.next_matrix++,
                                       .next_chunk = 1,
                                       .named_chunks = 1,
                                       .next_position = 1,
                                       .created = now()};
    return dcsr_i_store_record_put(w->store, w->txn, &store);
}

/* What there is under that name. */
static dcsr_status find_base(writing *w)
{
    dcsr_status status = dcsr_i_matrix_record_get(w->store, w->txn, w->name, &w->record);
    if (status == DCSR_OK && !w->record.newest) {
        status = dcsr_i_sweep_matrix(w->store, w->txn, w->name, &w->record);
        if (status == DCSR_OK) status = DCSR_ERROR_NOT_FOUND;
    }
    if (status == DCSR_ERROR_NOT_FOUND) {
        DCSR_TRY(dcsr_i_store_check_new(w->store, w->txn, w->name));
        return begin_matrix(w);
    }
    DCSR_TRY(status);
    DCSR_TRY(dcsr_i_sweep_matrix(w->store, w->txn, w->name, &w->record));
    DCSR_TRY(dcsr_i_version_get(w->store, w->txn, w->name, 0, &w->base));
    uint64_t pending = w->record.next_position - 1 - w->base.record.log_position;
    if (pending && dcsr_i_journal_matrix(w->store, w->name) != w->matrix)
        return dcsr_i_fail(
            DCSR_ERROR_BUSY,
            "%s#%s: its log has %llu changes that are in no version yet, and this would drop them; "
            "open it with dcsr_store_open_matrix() and make a snapshot of that, or delete it",
            w->store->path, w->name, (unsigned long long)pending);
    if (w->base.record.type == (uint32_t)w->matrix->type) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_TYPE_MISMATCH,
                       "%s#%s: the stored matrix is of type %s, this one of type %s; use another name",
                       w->store->path, w->name, dcsr_type_name((dcsr_type)w->base.record.type),
                       dcsr_type_name(w->matrix->type));
}

/* The version of the matrix in memory that the base shows; 0 where that is not known. */
static uint64_t known_version(const writing *w)
{
    for (const dcsr_i_base *base = w->store->bases; base; base = base->next)
        if (base->number == w->record.number)
            return base->stored_version == w->record.newest && base->serial == w->matrix->serial
                       ? base->version
                       : 0;
    return 0;
}

static void remember_base(const writing *w, uint64_t version)
{
    dcsr_i_base *base = w->store->bases;
    while (base && base->number != w->record.number) base = base->next;
    if (!base) {
        base = dcsr_i_calloc(NULL, DCSR_I_MATRIX, 1, sizeof *base);
        if (!base) return; /* the next snapshot compares */
        base->next = w->store->bases;
        base->number = w->record.number;
        w->store->bases = base;
    }
    base->stored_version = w->record.newest;
    base->serial = w->matrix->serial;
    base->version = version;
}

static dcsr_i_version_record describe(const writing *w, const dcsr_i_rows *rows, uint64_t log_position)
{
    const dcsr_matrix *matrix = w->matrix;
    dcsr_i_version_record record = {.version = w->record.newest + 1,
                                    .rows = rows->rows,
                                    .cols = rows->cols,
                                    .created = now(),
                                    .log_position = log_position,
                                    .chunks = w->plan.count,
                                    .written = w->written,
                                    .type = (uint32_t)matrix->type,
                                    .policy = (uint32_t)matrix->policy,
                                    .segments = (uint32_t)matrix->segments_per_row,
                                    .queue_limit = matrix->queue_limit};
    if (matrix->defragmentation == DCSR_DEFRAGMENT_OFF) record.flags |= DCSR_I_TIDY_ON_DEMAND;
    if (matrix->refuse_when_full) record.flags |= DCSR_I_REFUSE_WHEN_FULL;
    if (matrix->maintain_transpose) record.flags |= DCSR_I_MAINTAIN_TRANSPOSE;
    for (uint64_t c = 0; c < w->plan.count; c++) {
        record.nnz += w->plan.chunks[c].chunk.entries;
        record.stored += w->plan.chunks[c].chunk.stored;
    }
    return record;
}

/* Whether the base is this very version, but for when it was made. */
static bool is_base(const writing *w, const dcsr_i_version_record *record)
{
    const dcsr_i_version_record *base = &w->base.record;
    if (!w->base.chunks || w->chunks_written || base->chunks != record->chunks) return false;
    for (uint64_t c = 0; c < record->chunks; c++)
        if (memcmp(&w->base.chunks[c], &w->plan.chunks[c].chunk, sizeof(dcsr_i_chunk)) != 0) return false;
    dcsr_i_version_record same = *record;
    same.version = base->version;
    same.created = base->created;
    same.written = base->written;
    return !memcmp(&same, base, sizeof same);
}

static dcsr_status put_version(writing *w, const dcsr_i_version_record *record)
{
    size_t bytes = sizeof *record + record->chunks * sizeof(dcsr_i_chunk) + sizeof(uint64_t);
    char *block = dcsr_i_alloc(NULL, DCSR_I_SCRATCH, 1, bytes);
    if (!block) return DCSR_ERROR_OUT_OF_MEMORY;
    memcpy(block, record, sizeof *record);
    for (uint64_t c = 0; c < record->chunks; c++)
        memcpy(block + sizeof *record + c * sizeof(dcsr_i_chunk), &w->plan.chunks[c].chunk,
               sizeof(dcsr_i_chunk));
    dcsr_i_numbers number = dcsr_i_numbers_key(w->record.number, record->version);
    dcsr_i_seal(block, bytes, &number, sizeof number);
    MDB_val key = {sizeof number, &number}, value = {bytes, block};
    int code = mdb_put(w->txn, w->store->database[DCSR_I_DB_VERSIONS], &key, &value, 0);
    dcsr_i_free(NULL, DCSR_I_SCRATCH, block, 1, bytes);
    if (code) return dcsr_i_store_fail(w->store, code, "writing the record of a version");
    w->record.newest = record->version;
    w->record.named_chunks = w->record.next_chunk;
    return dcsr_i_matrix_record_put(w->store, w->txn, w->name, &w->record);
}

/* ---- The whole ---- */

static dcsr_status write_view(writing *w, dcsr_view *view, dcsr_version_info *info)
{
    const dcsr_i_rows *rows;
    DCSR_TRY(dcsr_i_view_host_rows(&rows, view));
    DCSR_TRY(dcsr_i_txn_begin(&w->txn, w->store, true));
    DCSR_TRY(find_base(w));
    dcsr_view_info seen;
    DCSR_TRY(dcsr_view_get_info(view, &seen));
    w->threads = dcsr_i_threads(w->matrix->context, seen.nnz);
    DCSR_TRY(dcsr_i_plan_make(&w->plan, rows, w->store->chunk_bytes, w->base.chunks ? &w->base : NULL,
                              rows == dcsr_i_view_rows(view) ? known_version(w) : 0));
    DCSR_TRY(write_chunks(w));
    /* The view was taken with `writing` held, so it has all that is in the log. */
    uint64_t position = w->record.next_position - 1;
    dcsr_i_version_record record = describe(w, rows, position);
    if (is_base(w, &record)) {
        *info = dcsr_i_version_describe(&w->base.record);
        info->written_bytes = 0;
    } else {
        DCSR_TRY(put_version(w, &record));
        DCSR_TRY(dcsr_i_things_delete(w->store, w->txn, DCSR_I_DB_LOG, w->record.number, position + 1));
        MDB_txn *txn = w->txn;
        w->txn = NULL;
        DCSR_I_POINT("snapshot: version written");
        DCSR_TRY(dcsr_i_txn_commit(txn, w->store));
        DCSR_I_POINT("snapshot: version committed");
        *info = dcsr_i_version_describe(&record);
    }
    remember_base(w, seen.version);
    dcsr_i_journal_trimmed(w->store, w->name, seen.version);
    return DCSR_OK;
}

dcsr_status dcsr_i_store_write_version(dcsr_store *store, const char *name, dcsr_matrix *matrix,
                                       dcsr_version_info *info)
{
    writing w = {.store = store, .name = name, .matrix = matrix};
    dcsr_view *view;
    DCSR_TRY(dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, 0));
    dcsr_status status = write_view(&w, view, info);
    if (w.txn) mdb_txn_abort(w.txn);
    free_parcels(&w);
    dcsr_i_plan_free(&w.plan);
    dcsr_i_version_free(&w.base);
    dcsr_view_destroy(view);
    return status;
}

dcsr_status dcsr_store_snapshot(dcsr_store *store, const char *name, dcsr_matrix *matrix,
                                dcsr_version_info *info)
{
    dcsr_version_info version;
    DCSR_TRY(dcsr_i_store_check("dcsr_store_snapshot", store, true));
    DCSR_TRY(dcsr_i_store_check_name("dcsr_store_snapshot", name));
    dcsr_i_store_lock(store);
    const dcsr_matrix *durable = dcsr_i_journal_matrix(store, name);
    dcsr_status status =
        durable && durable != matrix
            ? dcsr_i_fail(
                  DCSR_ERROR_BUSY,
                  "%s#%s: it is open as a durable matrix, and this is another; destroy that first, or use "
                  "another name",
                  store->path, name)
            : dcsr_i_store_write_version(store, name, matrix, &version);
    dcsr_i_store_unlock(store);
    if (status == DCSR_OK && info) *info = version;
    return status;
}
