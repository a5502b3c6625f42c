/* snapshot.c: a view of a matrix becomes the next version in the store.
 *
 *      view --chunks.c--> plan --snapshot_chunks.c--> new chunks, in one or several transactions
 *      in the last one: the version's record, the matrix's, and the log is trimmed
 */
#include "persist/snapshot.h"
#include "persist/store_iter.h"
#include "dcsr/base/alloc.h"
#include "dcsr/store/store.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- Records ---- */

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec;
}

/* The record of a matrix that is new in the store. */
static dcsr_status begin_matrix(dcsr_i_new_version *s)
{
    dcsr_i_store_record store;
    DCSR_TRY(dcsr_i_store_record_get(s->store, s->txn, &store));
    s->record = (dcsr_i_matrix_record){.number = store.next_matrix++,
                                       .next_chunk = 1,
                                       .named_chunks = 1,
                                       .next_position = 1,
                                       .created = now()};
    return dcsr_i_store_record_put(s->store, s->txn, &store);
}

/* What there is under that name. */
static dcsr_status find_base(dcsr_i_new_version *s)
{
    dcsr_status status = dcsr_i_matrix_record_get(s->store, s->txn, s->name, &s->record);
    if (status == DCSR_ERROR_NOT_FOUND) {
        DCSR_TRY(dcsr_i_store_check_new(s->store, s->txn, s->name));
        return begin_matrix(s);
    }
    DCSR_TRY(status);
    DCSR_TRY(dcsr_i_version_get(s->store, s->txn, s->name, 0, &s->base));
    uint64_t pending = s->record.next_position - 1 - s->base.record.log_position;
    if (pending && dcsr_i_journal_matrix(s->store, s->name) != s->matrix)
        return dcsr_i_fail(
            DCSR_ERROR_BUSY,
            "%s#%s: its log has %llu changes that are in no version yet, and this would drop them; "
            "open it with dcsr_store_open_matrix() and make a snapshot of that, or delete it",
            s->store->path, s->name, (unsigned long long)pending);
    if (s->base.record.type == (uint32_t)s->matrix->type) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_TYPE_MISMATCH,
                       "%s#%s: the stored matrix is of type %s, this one of type %s; use another name",
                       s->store->path, s->name, dcsr_type_name((dcsr_type)s->base.record.type),
                       dcsr_type_name(s->matrix->type));
}

/* The place of a matrix among the bases, which ascend: where it is, or would be. */
static uint64_t place_of_base(const dcsr_store *store, uint32_t number)
{
    uint64_t low = 0, high = store->base_count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (store->bases[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static dcsr_i_base *find_known(const dcsr_store *store, uint32_t number)
{
    uint64_t place = place_of_base(store, number);
    return place < store->base_count && store->bases[place].number == number ? &store->bases[place] : NULL;
}

/* The version of the matrix in memory that the base shows; 0 where that is not known. */
static uint64_t known_version(const dcsr_i_new_version *s)
{
    const dcsr_i_base *base = find_known(s->store, s->record.number);
    return base && base->stored_version == s->record.newest && base->serial == s->matrix->serial
               ? base->version
               : 0;
}

/* Where there is no memory for it, the next snapshot compares. */
static void remember_base(const dcsr_i_new_version *s, uint64_t version)
{
    dcsr_store *store = s->store;
    dcsr_i_base *base = find_known(store, s->record.number);
    if (!base) {
        dcsr_i_base *bases = dcsr_i_room_for_one(store->bases, store->base_count, &store->base_capacity,
                                                 sizeof *bases, DCSR_I_MATRIX);
        if (!bases) return;
        store->bases = bases;
        base = bases + place_of_base(store, s->record.number);
        memmove(base + 1, base, (size_t)(bases + store->base_count++ - base) * sizeof *base);
    }
    *base = (dcsr_i_base){s->record.number, s->record.newest, s->matrix->serial, version};
}

void dcsr_i_base_forget(dcsr_store *store, uint32_t number)
{
    dcsr_i_base *base = find_known(store, number);
    if (base) memmove(base, base + 1, (size_t)(store->bases + store->base_count-- - base - 1) * sizeof *base);
}

static dcsr_i_version_record describe(const dcsr_i_new_version *s, const dcsr_i_rows *rows,
                                      const dcsr_tag *tag, uint64_t log_position)
{
    const dcsr_matrix *matrix = s->matrix;
    dcsr_i_version_record record = {.version = s->record.newest + 1,
                                    .rows = rows->rows,
                                    .cols = rows->cols,
                                    .created = now(),
                                    .log_position = log_position,
                                    .chunks = s->plan.count,
                                    .written = s->written,
                                    .type = (uint32_t)matrix->type,
                                    .policy = (uint32_t)matrix->policy,
                                    .segments = (uint32_t)matrix->segments_per_row,
                                    .queue_limit = matrix->queue.limit};
    if (matrix->defragmentation == DCSR_DEFRAGMENT_OFF) record.flags |= DCSR_I_DEFRAGMENT_ON_DEMAND;
    if (matrix->queue.refuse_when_full) record.flags |= DCSR_I_REFUSE_WHEN_FULL;
    if (matrix->transpose.maintained) record.flags |= DCSR_I_MAINTAIN_TRANSPOSE;
    if (matrix->grow) record.flags |= DCSR_I_GROW;
    if (matrix->resolve == DCSR_RESOLVE_ON_INSERT) record.flags |= DCSR_I_RESOLVED_ON_INSERT;
    if (matrix->slack != DCSR_I_SLACK_DEFAULT) record.slack = matrix->slack + 1;
    if (matrix->resolve == DCSR_RESOLVE_ON_READ) record.flags |= DCSR_I_RESOLVED_ON_READ;
    if (tag) {
        record.flags |= DCSR_I_VERSION_TAGGED;
        record.tag = *tag;
    }
    for (uint64_t c = 0; c < s->plan.count; c++) {
        record.nnz += s->plan.chunks[c].chunk.entries;
        record.stored += s->plan.chunks[c].chunk.stored;
    }
    return record;
}

/* Whether the base is this very version, but for when it was made. */
static bool is_base(const dcsr_i_new_version *s, const dcsr_i_version_record *record)
{
    const dcsr_i_version_record *base = &s->base.record;
    if (!s->base.chunks || s->chunks_written || base->chunks != record->chunks) return false;
    for (uint64_t c = 0; c < record->chunks; c++)
        if (memcmp(&s->base.chunks[c], &s->plan.chunks[c].chunk, sizeof(dcsr_i_chunk)) != 0) return false;
    dcsr_i_version_record same = *record;
    same.version = base->version;
    same.created = base->created;
    same.written = base->written;
    return !memcmp(&same, base, sizeof same);
}

static dcsr_status put_version(dcsr_i_new_version *s, const dcsr_i_version_record *record)
{
    size_t bytes = sizeof *record + record->chunks * sizeof(dcsr_i_chunk) + sizeof(uint64_t);
    char *block = dcsr_i_alloc(NULL, DCSR_I_SCRATCH, 1, bytes);
    if (!block) return DCSR_ERROR_OUT_OF_MEMORY;
    memcpy(block, record, sizeof *record);
    for (uint64_t c = 0; c < record->chunks; c++)
        memcpy(block + sizeof *record + c * sizeof(dcsr_i_chunk), &s->plan.chunks[c].chunk,
               sizeof(dcsr_i_chunk));
    dcsr_i_numbers number = dcsr_i_numbers_key(s->record.number, record->version);
    dcsr_i_seal(block, bytes, &number, sizeof number);
    MDB_val key = {sizeof number, &number}, value = {bytes, block};
    int code = mdb_put(s->txn, s->store->database[DCSR_I_DB_VERSIONS], &key, &value, 0);
    dcsr_i_free(NULL, DCSR_I_SCRATCH, block, 1, bytes);
    if (code) return dcsr_i_store_fail(s->store, code, "writing the record of a version");
    s->record.newest = record->version;
    s->record.named_chunks = s->record.next_chunk;
    return dcsr_i_matrix_record_put(s->store, s->txn, s->name, &s->record);
}

/* ---- The whole ---- */

static uint64_t entries_to_pack(const dcsr_i_chunk_plan *plan)
{
    uint64_t entries = 0;
    for (uint64_t c = 0; c < plan->count; c++)
        if (plan->chunks[c].state != DCSR_I_CHUNK_STORED) entries += plan->chunks[c].chunk.entries;
    return entries;
}

/* Writes the names that the version may need, and more; *put is how many of them are not committed yet. */
static dcsr_status put_names(dcsr_i_new_version *s, uint64_t *put)
{
    bool all;
    DCSR_TRY(dcsr_i_names_put(s->store, s->txn, s->name, &s->record, put, &all));
    while (!all) {
        DCSR_TRY(dcsr_i_turn_transaction(s));
        DCSR_TRY(dcsr_i_names_put(s->store, s->txn, s->name, &s->record, put, &all));
    }
    return DCSR_OK;
}

/* Nothing but names is new. */
static dcsr_status commit_names(dcsr_i_new_version *s)
{
    DCSR_TRY(dcsr_i_matrix_record_put(s->store, s->txn, s->name, &s->record));
    MDB_txn *txn = s->txn;
    s->txn = NULL;
    return dcsr_i_txn_commit_early(txn, s->store);
}

static dcsr_status write_view(dcsr_i_new_version *s, dcsr_view *view, dcsr_version_info *info)
{
    const dcsr_i_rows *rows;
    DCSR_TRY(dcsr_i_view_host_rows(&rows, view));
    DCSR_TRY(dcsr_i_txn_begin(&s->txn, s->store, true));
    DCSR_TRY(find_base(s));
    uint64_t seen = dcsr_i_view_version(view);
    /* The view was taken with `writing` held, so it has all that is in the log. */
    s->store->on_its_way = (dcsr_i_on_its_way){s->name, seen, s->record.next_position - 1};
    DCSR_TRY(dcsr_i_plan_make(&s->plan, rows, s->store->chunk_bytes, s->base.chunks ? &s->base : NULL,
                              rows == dcsr_i_view_rows(view) ? known_version(s) : 0));
    s->threads = dcsr_i_threads(s->matrix->context, entries_to_pack(&s->plan));
    DCSR_TRY(dcsr_i_write_chunks(s));
    uint64_t position, names;
    DCSR_TRY(put_names(s, &names));
    position = s->store->on_its_way.position;
    const dcsr_tag *tag = dcsr_i_view_tag(view);
    dcsr_i_version_record record = describe(s, rows, tag, position);
    if (is_base(s, &record)) {
        if (names) DCSR_TRY(commit_names(s));
        *info = dcsr_i_version_describe(&s->record, &s->base.record);
        info->written_bytes = 0;
    } else {
        if (position + 1 == s->record.next_position) dcsr_i_matrix_record_tag(&s->record, tag);
        DCSR_TRY(put_version(s, &record));
        DCSR_TRY(dcsr_i_things_delete(s->store, s->txn, DCSR_I_DB_LOG, s->record.number, position + 1));
        MDB_txn *txn = s->txn;
        s->txn = NULL;
        DCSR_I_POINT("snapshot: version written");
        DCSR_TRY(dcsr_i_txn_commit_early(txn, s->store));
        DCSR_I_POINT("snapshot: version committed");
        *info = dcsr_i_version_describe(&s->record, &record);
    }
    remember_base(s, seen);
    dcsr_i_journal_trimmed(s->store, s->name, seen);
    return DCSR_OK;
}

/* What dcsr_i_store_write_version() was asked for. */
typedef struct request {
    const char *name;
    dcsr_matrix *matrix;
    dcsr_version_info *info;
} request;

/* What a version that has failed has written is freed, for others that write, too. */
static void give_back(dcsr_store *store, const char *name, dcsr_status status)
{
    char reason[DCSR_I_ERROR_BYTES];
    snprintf(reason, sizeof reason, "%s", dcsr_i_error_text());
    dcsr_i_store_sweep(store, name);
    dcsr_i_fail(status, "%s", reason);
}

static dcsr_status make_version(dcsr_store *store, void *user)
{
    const request *r = user;
    dcsr_i_new_version s = {.store = store, .name = r->name, .matrix = r->matrix};
    dcsr_view *view;
    DCSR_TRY(dcsr_i_store_sweep(store, r->name));
    DCSR_TRY(dcsr_view_create(&view, r->matrix, DCSR_LAYOUT_SEGMENTS, 0));
    dcsr_status status = write_view(&s, view, r->info);
    if (s.txn) dcsr_i_txn_abort(s.txn, store);
    store->on_its_way = (dcsr_i_on_its_way){0};
    dcsr_i_plan_free(&s.plan);
    dcsr_i_version_free(&s.base);
    dcsr_view_destroy(view);
    if (status != DCSR_OK) give_back(store, r->name, status);
    return status;
}

dcsr_status dcsr_i_store_write_version(dcsr_store *store, const char *name, dcsr_matrix *matrix,
                                       dcsr_version_info *info)
{
    request r = {name, matrix, info};
    return dcsr_i_store_offer_gc(dcsr_i_store_with_room(store, make_version, &r));
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
