/* snapshot_chunks.c: writes the chunks of a snapshot that the store does not have.
 *
 *      the plan --> a group of chunks --> by all threads: filled, checksum, compared or compressed
 *                                            |                              |
 *                    in LMDB's pages, where a chunk that is new and         in memory; what turns
 *                    stored as it is gets its place before                  out to be new is copied
 *
 * A chunk that is filled in its place is not copied again before LMDB writes it to the file.
 *
 * LMDB holds what a transaction writes in memory until it commits, so a large snapshot is written by several,
 * which use the same memory one after the other. What the earlier ones write is named by no version yet:
 * dcsr_i_matrix_record.named_chunks says from where on. */
#include "persist/snapshot.h"
#include "dcsr/base/alloc.h"
#include "dcsr/base/runtime.h"
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

uint64_t dcsr_i_store_transaction_bytes = (uint64_t)32 << 20;

/* The data of one chunk on its way. */
typedef struct parcel {
    dcsr_i_planned *planned;
    uint64_t bytes; /* of its data */
    bool in_place;  /* which is in LMDB's pages */
    char *data;     /* else in the group's room, and what it is compressed to behind it */
    const char *stored;
    uint64_t stored_bytes;
    bool failed;
} parcel;

/* Chunks that are filled at the same time: as many as a transaction should hold, one at least. */
enum { MOST_IN_GROUP = 1024 };
typedef struct group {
    parcel parcels[MOST_IN_GROUP];
    uint64_t count;
    uint64_t bytes; /* of their data */
    char *room;     /* for those that are not in place */
    uint64_t room_bytes;
} group;

/* ---- A group ---- */

/* LMDB keeps a value of more than half a page in pages of its own. They stay where they are until the
 * transaction commits, or has some hundred thousand such values. */
static bool can_be_in_place(const dcsr_i_new_version *s, const dcsr_i_planned *planned, uint64_t bytes)
{
    MDB_stat stat;
    return planned->state == DCSR_I_CHUNK_NEW && !s->store->compression &&
           !mdb_env_stat(s->store->env, &stat) && bytes > stat.ms_psize / 2;
}

static size_t compressed_room(const dcsr_i_new_version *s, const parcel *p)
{
    return s->store->compression ? ZSTD_compressBound(p->bytes) : 0;
}

/* In the group's room: a multiple of the size of an offset, with which the data begins. */
static uint64_t room_for(const dcsr_i_new_version *s, const parcel *p)
{
    return p->in_place ? 0 : (p->bytes + compressed_room(s, p) + 7) & ~(uint64_t)7;
}

/* Makes a group of the chunks from number *c on that may have to be written, and finds room for those that
 * are not filled in their place; *c is the one after them then. */
static dcsr_status gather(const dcsr_i_new_version *s, group *g, uint64_t *c)
{
    uint64_t room = 0;
    g->count = g->bytes = 0;
    for (; *c < s->plan.count && g->count < MOST_IN_GROUP; ++*c) {
        dcsr_i_planned *planned = &s->plan.chunks[*c];
        if (planned->state == DCSR_I_CHUNK_STORED) continue;
        uint64_t bytes = dcsr_i_planned_bytes(&s->plan, planned);
        if (g->count && g->bytes + bytes > dcsr_i_store_transaction_bytes) break;
        parcel *p = &g->parcels[g->count++];
        *p = (parcel){.planned = planned, .bytes = bytes, .in_place = can_be_in_place(s, planned, bytes)};
        g->bytes += bytes;
        room += room_for(s, p);
    }
    if (room > g->room_bytes) {
        dcsr_i_free(NULL, DCSR_I_SCRATCH, g->room, g->room_bytes, 1);
        g->room = dcsr_i_alloc(NULL, DCSR_I_SCRATCH, room, 1);
        g->room_bytes = g->room ? room : 0;
        if (!g->room) return DCSR_ERROR_OUT_OF_MEMORY;
    }
    char *at = g->room;
    for (uint64_t i = 0; i < g->count; i++) {
        g->parcels[i].data = at;
        at += room_for(s, &g->parcels[i]);
    }
    return DCSR_OK;
}

/* Fills, compares and compresses one chunk. Any thread. */
static void pack(const dcsr_i_new_version *s, parcel *p)
{
    dcsr_i_planned *planned = p->planned;
    dcsr_i_planned_fill(&s->plan, planned, p->data);
    uint64_t checksum = dcsr_i_checksum(p->data, p->bytes);
    if (planned->state == DCSR_I_CHUNK_COMPARE && planned->chunk.checksum == checksum) {
        planned->state = DCSR_I_CHUNK_STORED;
        return;
    }
    planned->state = DCSR_I_CHUNK_NEW;
    planned->chunk.checksum = checksum;
    planned->chunk.flags &= ~(uint32_t)DCSR_I_COMPRESSED;
    p->stored = p->data;
    p->stored_bytes = p->bytes;
    if (!s->store->compression) return;
    char *to = p->data + p->bytes;
    size_t size = ZSTD_compress(to, compressed_room(s, p), p->data, p->bytes, s->store->compression);
    p->failed = ZSTD_isError(size) && ZSTD_getErrorCode(size) == ZSTD_error_memory_allocation;
    if (ZSTD_isError(size) || size >= p->bytes) return; /* it is stored as it is */
    planned->chunk.flags |= DCSR_I_COMPRESSED;
    p->stored = to;
    p->stored_bytes = size;
}

/* ---- Into the store ---- */

dcsr_status dcsr_i_turn_transaction(dcsr_i_new_version *s)
{
    dcsr_i_matrix_record now;
    DCSR_TRY(dcsr_i_matrix_record_put(s->store, s->txn, s->name, &s->record));
    MDB_txn *txn = s->txn;
    s->txn = NULL;
    DCSR_I_POINT("snapshot: chunks written");
    DCSR_TRY(dcsr_i_txn_commit_early(txn, s->store));
    DCSR_I_POINT("snapshot: chunks committed");
    s->in_transaction = 0;
    dcsr_i_store_end_writing(s->store);
    dcsr_i_store_begin_writing(s->store);
    DCSR_TRY(dcsr_i_txn_begin(&s->txn, s->store, true));
    DCSR_TRY(dcsr_i_matrix_record_again(s->store, s->txn, s->name, &now));
    s->record.next_position = now.next_position;
    s->record.more = now.more;
    return DCSR_OK;
}

/* Gives a chunk its number, and so many bytes in LMDB's pages. */
static dcsr_status reserve(dcsr_i_new_version *s, dcsr_i_chunk *chunk, uint64_t bytes, char **data)
{
    chunk->number = s->record.next_chunk++;
    chunk->stored = bytes;
    dcsr_i_numbers number = dcsr_i_numbers_key(s->record.number, chunk->number);
    MDB_val key = {sizeof number, &number}, value = {bytes, NULL};
    dcsr_i_file_signal signal = dcsr_i_file_signal_hold(); /* where it makes room for a large one */
    int code = mdb_put(s->txn, s->store->database[DCSR_I_DB_CHUNKS], &key, &value, MDB_RESERVE);
    dcsr_i_file_signal_release(&signal);
    if (code) return dcsr_i_store_fail(s->store, code, "writing a chunk");
    *data = value.mv_data;
    s->in_transaction += bytes;
    s->written += bytes;
    s->chunks_written++;
    return DCSR_OK;
}

/* A chunk that was filled in the group's room. */
static dcsr_status copy_in(dcsr_i_new_version *s, const parcel *p)
{
    char *data = NULL;
    if (p->failed)
        return dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY, "%s#%s: compressing: out of memory", s->store->path,
                           s->name);
    DCSR_TRY(reserve(s, &p->planned->chunk, p->stored_bytes, &data));
    memcpy(data, p->stored, p->stored_bytes);
    return DCSR_OK;
}

/* Each transaction costs two syncs. Where no matrix is durable nobody waits for the end of one. */
static uint64_t most_in_transaction(const dcsr_store *store)
{
    enum { WITHOUT_LOG = 4 };
    return dcsr_i_store_transaction_bytes * (store->durable ? 1 : WITHOUT_LOG);
}

static dcsr_status write_group(dcsr_i_new_version *s, group *g)
{
    static const uint64_t large = (uint64_t)4 << 20;
    if (g->bytes >= large) dcsr_i_writeback_start(s->store);
    if (s->in_transaction && s->in_transaction + g->bytes > most_in_transaction(s->store))
        DCSR_TRY(dcsr_i_turn_transaction(s));
    for (uint64_t i = 0; i < g->count; i++) {
        parcel *p = &g->parcels[i];
        if (p->in_place) DCSR_TRY(reserve(s, &p->planned->chunk, p->bytes, &p->data));
    }
#pragma omp parallel for num_threads(s->threads) schedule(dynamic) if (s->threads > 1 && g->count > 1)
    for (uint64_t i = 0; i < g->count; i++) pack(s, &g->parcels[i]);
    for (uint64_t i = 0; i < g->count; i++) {
        parcel *p = &g->parcels[i];
        if (p->planned->state == DCSR_I_CHUNK_NEW && !p->in_place) DCSR_TRY(copy_in(s, p));
        p->planned->state = DCSR_I_CHUNK_STORED;
    }
    return DCSR_OK;
}

dcsr_status dcsr_i_write_chunks(dcsr_i_new_version *s)
{
    group *g = dcsr_i_calloc(NULL, DCSR_I_SCRATCH, 1, sizeof *g);
    if (!g) return DCSR_ERROR_OUT_OF_MEMORY;
    /* What LMDB allocates for its pages is huge pages then, and serves one transaction after the other. */
    unsigned before = dcsr_i_allocator_enter(DCSR_I_SCRATCH);
    uint64_t c = 0;
    dcsr_status status = gather(s, g, &c);
    while (status == DCSR_OK && g->count) {
        status = write_group(s, g);
        if (status == DCSR_OK) status = gather(s, g, &c);
    }
    dcsr_i_allocator_leave(before);
    dcsr_i_free(NULL, DCSR_I_SCRATCH, g->room, g->room_bytes, 1);
    dcsr_i_free(NULL, DCSR_I_SCRATCH, g, 1, sizeof *g);
    return status;
}
