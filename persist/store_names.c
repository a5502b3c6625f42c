/* store_names.c: dictionaries: their records, and who has them open.
 *
 *      dcsr_names_add() --> memory, ids 0 1 2 ...
 *      a batch of the matrix --> log_write.c, and a snapshot --> snapshot.c:  dcsr_i_names_put(), in the same
 *                                transaction: all names that are in memory then, and not in the store
 *
 * A batch is queued after its names were added, and written after it was queued. So what is in memory when it
 * is written has all that it needs, and nobody has to remember what that is.
 *
 * Names are written to records of up to a megabyte, in order. A small record at the end is written again with
 * what comes behind it: LMDB writes its page anyway. */
#include "persist/store_iter.h"
#include "dcsr/names/dictionary.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Bytes of a record, for LMDB has to find room for it in one piece; of one that is written again with what comes
 * behind it: LMDB has such in its pages beside others. */
enum { RECORD_BYTES = (1 << 20) - 16, SMALL_RECORD = 2000 };

/* A dictionary that is open for writing. */
typedef struct dcsr_i_kept_names {
    struct dcsr_i_kept_names *next;
    dcsr_names *names;
    char name[DCSR_STORE_MAX_NAME + 1]; /* of the matrix */
} kept_names;

static kept_names *find(const dcsr_store *store, const char *name)
{
    kept_names *kept = store->names;
    while (kept && strcmp(kept->name, name) != 0) kept = kept->next;
    return kept;
}

bool dcsr_i_names_are_open(const dcsr_store *store, const char *name)
{
    return find(store, name) != NULL;
}

/* ---- Records ---- */

static size_t record_size(uint64_t names, uint64_t bytes)
{
    return dcsr_i_round_up(sizeof(dcsr_i_names_record) + names * sizeof(uint16_t) + bytes, 8) +
           sizeof(uint64_t);
}

/* What is wrong with a record; NULL: nothing. */
static const char *wrong_record(const dcsr_i_names_record *record, const MDB_val *value, uint32_t dictionary,
                                uint64_t first)
{
    static const size_t least = sizeof *record + sizeof(uint64_t);
    dcsr_i_numbers key = dcsr_i_numbers_key(dictionary, first);
    if (value->mv_size < least || !dcsr_i_is_sealed(value->mv_data, value->mv_size, &key, sizeof key))
        return "its checksum is wrong";
    if (record->first != first || !record->names || record->names > value->mv_size ||
        record->bytes > value->mv_size || record_size(record->names, record->bytes) != value->mv_size)
        return "it has room for other names than it says";
    const uint16_t *lengths = (const uint16_t *)((const char *)value->mv_data + sizeof *record);
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < record->names; i++) {
        if (!lengths[i]) return "a name is empty";
        bytes += lengths[i];
    }
    return bytes == record->bytes ? NULL : "its names have other lengths in total than it says";
}

/* The last record that begins with an id up to `id`. */
static dcsr_status find_record(const dcsr_store *store, MDB_txn *txn, uint32_t dictionary, uint64_t id,
                               uint64_t *first, size_t *size)
{
    MDB_cursor *cursor;
    dcsr_i_numbers number = dcsr_i_numbers_key(dictionary, id);
    MDB_val key = {sizeof number, &number}, value;
    uint32_t owner = 0;
    int code = mdb_cursor_open(txn, store->database[DCSR_I_DB_CHUNKS], &cursor);
    if (code) return dcsr_i_store_fail(store, code, "reading a dictionary");
    code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    if (code || key.mv_size != sizeof number || memcmp(key.mv_data, &number, sizeof number) != 0)
        code = mdb_cursor_get(cursor, &key, &value, code == MDB_NOTFOUND ? MDB_LAST : MDB_PREV);
    bool found = !code && dcsr_i_numbers_read(key.mv_data, key.mv_size, &owner, first) && owner == dictionary;
    if (found) *size = value.mv_size;
    mdb_cursor_close(cursor);
    if (code && code != MDB_NOTFOUND) return dcsr_i_store_fail(store, code, "reading a dictionary");
    return found ? DCSR_OK : DCSR_ERROR_NOT_FOUND;
}

typedef struct reading {
    const dcsr_store *store;
    const char *name;
    const dcsr_i_matrix_record *matrix;
    uint64_t next; /* id that the next record begins with */
    dcsr_i_names_visitor visit;
    void *user;
} reading;

static dcsr_status damaged(const reading *r, uint64_t first, const char *why)
{
    return dcsr_i_fail(
        DCSR_ERROR_CORRUPT,
        "%s#%s: the record of the names from id %llu on is damaged: %s; restore the store from a "
        "backup",
        r->store->path, r->name, (unsigned long long)first, why);
}

static dcsr_status read_record(void *user, MDB_cursor *cursor, uint64_t first, const MDB_val *value)
{
    (void)cursor;
    reading *r = user;
    dcsr_i_names_record record = {0};
    if (first != r->next) return damaged(r, r->next, "it is not there");
    dcsr_i_chunk_ask_for(value);
    if (value->mv_size >= sizeof record) memcpy(&record, value->mv_data, sizeof record);
    const char *why = wrong_record(&record, value, r->matrix->more.dictionary, first);
    if (why) return damaged(r, first, why);
    r->next = first + record.names;
    const uint16_t *lengths = (const uint16_t *)((const char *)value->mv_data + sizeof record);
    return r->visit(r->user, &record, lengths, (const char *)(lengths + record.names));
}

/* Those from the record on that has id `from`. */
static dcsr_status read_from(reading *r, MDB_txn *txn, uint64_t from)
{
    const dcsr_i_matrix_more *more = &r->matrix->more;
    size_t size;
    if (!more->dictionary || from == more->names) return DCSR_OK;
    dcsr_status status = find_record(r->store, txn, more->dictionary, from, &r->next, &size);
    if (status == DCSR_ERROR_NOT_FOUND) return damaged(r, from, "it is not there");
    DCSR_TRY(status);
    DCSR_TRY(dcsr_i_each_thing(r->store, txn, DCSR_I_DB_CHUNKS, more->dictionary, r->next, read_record, r));
    if (r->next == more->names) return DCSR_OK;
    return damaged(r, r->next, r->next < more->names ? "it is not there" : "the matrix knows fewer names");
}

dcsr_status dcsr_i_each_names(const dcsr_store *store, MDB_txn *txn, const char *name,
                              const dcsr_i_matrix_record *matrix, dcsr_i_names_visitor visit, void *user)
{
    return read_from(&(reading){store, name, matrix, 0, visit, user}, txn, 0);
}

/* ---- Writing ---- */

/* How many names from id `begin` on a record of up to so many bytes takes, of those before `end`; one at least. */
static uint64_t names_that_fit(const dcsr_names *names, uint64_t begin, uint64_t end, uint64_t bytes)
{
    uint64_t fit = 1, most = end - begin;
    while (fit < most) {
        uint64_t middle = fit + (most - fit + 1) / 2;
        if (record_size(middle, names->offset[begin + middle] - names->offset[begin]) <= bytes)
            fit = middle;
        else
            most = middle - 1;
    }
    return fit;
}

static dcsr_status put_record(const dcsr_store *store, MDB_txn *txn, uint32_t dictionary,
                              const dcsr_names *names, const dcsr_i_names_record *record)
{
    dcsr_i_numbers number = dcsr_i_numbers_key(dictionary, record->first);
    MDB_val key = {sizeof number, &number}, value = {record_size(record->names, record->bytes), NULL};
    dcsr_i_file_signal signal = dcsr_i_file_signal_hold(); /* where it makes room for a large one */
    int code = mdb_put(txn, store->database[DCSR_I_DB_CHUNKS], &key, &value, MDB_RESERVE);
    dcsr_i_file_signal_release(&signal);
    if (code) return dcsr_i_store_fail(store, code, "writing a dictionary");
    char *to = value.mv_data;
    memset(to + value.mv_size - 2 * sizeof(uint64_t), 0, 2 * sizeof(uint64_t));
    memcpy(to, record, sizeof *record);
    const uint64_t *offset = names->offset + record->first;
    uint16_t *lengths = (uint16_t *)(to + sizeof *record);
    for (uint64_t i = 0; i < record->names; i++) lengths[i] = (uint16_t)(offset[i + 1] - offset[i]);
    memcpy(lengths + record->names, names->bytes + offset[0], record->bytes);
    dcsr_i_seal(to, value.mv_size, &number, sizeof number);
    return DCSR_OK;
}

/* The number of a new dictionary is one that no matrix has, and gets. */
static dcsr_status begin_dictionary(const dcsr_store *store, MDB_txn *txn, dcsr_i_matrix_record *matrix)
{
    dcsr_i_store_record record;
    DCSR_TRY(dcsr_i_store_record_get(store, txn, &record));
    matrix->more.dictionary = record.next_matrix++;
    return dcsr_i_store_record_put(store, txn, &record);
}

/* Where writing goes on: with a small record at the end, or behind it. */
static dcsr_status find_end(const dcsr_store *store, MDB_txn *txn, const dcsr_i_matrix_record *matrix,
                            uint64_t *begin)
{
    uint64_t first;
    size_t size;
    *begin = matrix->more.names;
    if (!*begin) return DCSR_OK;
    dcsr_status status = find_record(store, txn, matrix->more.dictionary, *begin - 1, &first, &size);
    if (status == DCSR_OK && size < SMALL_RECORD) *begin = first;
    return status == DCSR_ERROR_NOT_FOUND ? DCSR_OK : status; /* damage is found where it is read */
}

dcsr_status dcsr_i_names_put(const dcsr_store *store, MDB_txn *txn, const char *name,
                             dcsr_i_matrix_record *matrix, uint64_t *put, bool *all)
{
    const kept_names *kept = find(store, name);
    uint64_t end = kept ? atomic_load(&kept->names->count) : 0, bytes = 0, begin;
    *put = 0;
    *all = true;
    if (end <= matrix->more.names) return DCSR_OK;
    if (!matrix->more.dictionary) DCSR_TRY(begin_dictionary(store, txn, matrix));
    DCSR_TRY(find_end(store, txn, matrix, &begin));
    *put = end - matrix->more.names;
    for (; begin < end && bytes < dcsr_i_store_transaction_bytes; begin = matrix->more.names) {
        uint64_t left = dcsr_i_store_transaction_bytes - bytes;
        dcsr_i_names_record record = {.first = begin};
        record.names = names_that_fit(kept->names, begin, end, left < RECORD_BYTES ? left : RECORD_BYTES);
        if (begin + record.names <= matrix->more.names) continue; /* the small record can take no more */
        record.bytes = kept->names->offset[begin + record.names] - kept->names->offset[begin];
        DCSR_TRY(put_record(store, txn, matrix->more.dictionary, kept->names, &record));
        bytes += record_size(record.names, record.bytes);
        matrix->more.names = begin + record.names;
    }
    *all = begin == end;
    return DCSR_OK;
}

/* ---- Reading into memory ---- */

typedef struct loading {
    const dcsr_store *store;
    const char *name;
    dcsr_names *names;
    uint64_t from; /* id of the first that is not there yet */
} loading;

static dcsr_status load_record(void *user, const dcsr_i_names_record *record, const uint16_t *lengths,
                               const char *bytes)
{
    const loading *l = user;
    uint64_t skip = l->from > record->first ? l->from - record->first : 0, known;
    if (skip > record->names) skip = record->names;
    for (uint64_t i = 0; i < skip; i++) bytes += lengths[i];
    DCSR_TRY(dcsr_i_names_append(l->names, record->names - skip, lengths + skip, bytes, &known));
    if (!known) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_CORRUPT, "%s#%s: a name has two ids; restore the store from a backup",
                       l->store->path, l->name);
}

/* Names that the store has and the dictionary does not, as of one transaction. With the lock `adding`. */
static dcsr_status load(const loading *l, MDB_txn *txn)
{
    dcsr_i_matrix_record matrix;
    dcsr_names *names = l->names;
    dcsr_status status = dcsr_i_matrix_record_get(l->store, txn, l->name, &matrix);
    if (status == DCSR_ERROR_NOT_FOUND)
        return dcsr_i_fail(status, "%s: there is no matrix '%s'", l->store->path, l->name);
    DCSR_TRY(status);
    if ((names->kept_as && names->kept_as != matrix.more.dictionary) || matrix.more.names < l->from)
        return dcsr_i_fail(
            DCSR_ERROR_NOT_FOUND,
            "%s#%s: the matrix was deleted, and with it this dictionary; open that of the new one",
            l->store->path, l->name);
    names->kept_as = matrix.more.dictionary;
    DCSR_TRY(dcsr_i_names_expect(names, matrix.more.names));
    return read_from(&(reading){l->store, l->name, &matrix, 0, load_record, (void *)l}, txn, l->from);
}

static dcsr_status load_now(const dcsr_store *store, const char *name, dcsr_names *names)
{
    MDB_txn *txn;
    DCSR_TRY(dcsr_i_txn_begin(&txn, store, false));
    pthread_mutex_lock(&names->adding);
    dcsr_status status = load(&(loading){store, name, names, atomic_load(&names->count)}, txn);
    pthread_mutex_unlock(&names->adding);
    dcsr_i_txn_abort(txn, store);
    return status;
}

/* ---- Who has it ---- */

static void unlink_and_release(dcsr_store *store, kept_names *kept)
{
    kept_names **link = &store->names;
    while (*link != kept) link = &(*link)->next;
    *link = kept->next;
    dcsr_i_names_release(kept->names);
    dcsr_i_free(NULL, DCSR_I_MATRIX, kept, 1, sizeof *kept);
}

/* As long as the matrix is open, batches may wait that need the names. */
static void abandon(void *keeper, dcsr_names *names)
{
    dcsr_store *store = keeper;
    dcsr_i_store_begin_writing(store);
    kept_names *kept = store->names;
    while (kept && kept->names != names) kept = kept->next;
    if (kept && !atomic_load(&names->callers) && !dcsr_i_journal_matrix(store, kept->name))
        unlink_and_release(store, kept);
    dcsr_i_store_end_writing(store);
}

void dcsr_i_names_let_go(dcsr_store *store, const char *name)
{
    kept_names *kept = find(store, name);
    if (kept && !atomic_load(&kept->names->callers)) unlink_and_release(store, kept);
}

void dcsr_i_names_close(dcsr_store *store)
{
    while (store->names) {
        store->names->names->abandoned = NULL;
        store->names->names->refusal = "its store was closed";
        unlink_and_release(store, store->names);
    }
}

static dcsr_status keep(dcsr_store *store, const char *name, dcsr_names *names)
{
    kept_names *kept = dcsr_i_calloc(NULL, DCSR_I_MATRIX, 1, sizeof *kept);
    if (!kept) return DCSR_ERROR_OUT_OF_MEMORY;
    kept->names = names;
    snprintf(kept->name, sizeof kept->name, "%s", name);
    atomic_fetch_add(&names->references, 1);
    names->abandoned = abandon;
    names->keeper = store;
    dcsr_i_store_begin_writing(store);
    kept->next = store->names;
    store->names = kept;
    dcsr_i_store_end_writing(store);
    return DCSR_OK;
}

/* Another caller gets the one that is open; NULL: none is. */
static dcsr_names *share(dcsr_store *store, const char *name)
{
    dcsr_i_store_begin_writing(store);
    const kept_names *kept = find(store, name);
    if (kept) dcsr_i_names_retain(kept->names);
    dcsr_i_store_end_writing(store);
    return kept ? kept->names : NULL;
}

/* The same for writing: of a matrix that is to be made it is empty. */
static dcsr_status load_or_begin(dcsr_store *store, const char *name, dcsr_names *names)
{
    MDB_txn *txn;
    dcsr_status status = load_now(store, name, names);
    if (status != DCSR_ERROR_NOT_FOUND || store->read_only) return status;
    dcsr_i_store_begin_writing(store);
    status = dcsr_i_txn_begin(&txn, store, false);
    if (status == DCSR_OK) {
        status = dcsr_i_store_check_new(store, txn, name);
        dcsr_i_txn_abort(txn, store);
    }
    dcsr_i_store_end_writing(store);
    return status;
}

/* With `changing`, so that it is read and kept once. */
static dcsr_status open_names(dcsr_names **names, dcsr_context *context, dcsr_store *store, const char *name)
{
    dcsr_names *opened = share(store, name);
    if (!opened) {
        DCSR_TRY(dcsr_names_create(&opened, context));
        if (store->read_only) opened->refusal = "the dictionary is of a store that is open for reading only";
        dcsr_status status = load_or_begin(store, name, opened);
        if (status == DCSR_OK && !store->read_only) status = keep(store, name, opened);
        if (status != DCSR_OK) {
            dcsr_names_destroy(opened);
            return status;
        }
    }
    *names = opened;
    return DCSR_OK;
}

/* ---- What persist.h says ---- */

dcsr_status dcsr_store_open_names(dcsr_names **names, dcsr_context *context, dcsr_store *store,
                                  const char *name)
{
    if (!names) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_store_open_names: names is NULL");
    *names = NULL;
    DCSR_TRY(dcsr_i_context_check(context));
    DCSR_TRY(dcsr_i_store_check("dcsr_store_open_names", store, false));
    DCSR_TRY(dcsr_i_store_check_name("dcsr_store_open_names", name));
    pthread_mutex_lock(&store->changing);
    dcsr_status status = open_names(names, context, store, name);
    pthread_mutex_unlock(&store->changing);
    return status;
}

dcsr_status dcsr_store_follow_names(dcsr_store *store, const char *name, dcsr_names *names)
{
    DCSR_TRY(dcsr_i_store_check("dcsr_store_follow_names", store, false));
    DCSR_TRY(dcsr_i_store_check_name("dcsr_store_follow_names", name));
    uint64_t count;
    DCSR_TRY(dcsr_names_get_count(names, &count));
    if (!store->read_only) return DCSR_OK; /* nobody else adds */
    if (names->refusal) return load_now(store, name, names);
    return dcsr_i_fail(
        DCSR_ERROR_INVALID_ARGUMENT,
        "dcsr_store_follow_names: the dictionary may have names that are not those of %s#%s; open "
        "it by dcsr_store_open_names()",
        store->path, name);
}

dcsr_status dcsr_store_get_name_count(dcsr_store *store, const char *name, uint64_t *names)
{
    DCSR_TRY(dcsr_i_store_check("dcsr_store_get_name_count", store, false));
    DCSR_TRY(dcsr_i_store_check_name("dcsr_store_get_name_count", name));
    if (!names) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_store_get_name_count: names is NULL");
    MDB_txn *txn;
    dcsr_i_version newest;
    DCSR_TRY(dcsr_i_txn_begin(&txn, store, false));
    dcsr_status status = dcsr_i_version_get(store, txn, name, 0, &newest);
    *names = status == DCSR_OK ? newest.matrix.more.names : 0;
    dcsr_i_version_free(&newest);
    dcsr_i_txn_abort(txn, store);
    return status;
}
