/* store_iter.c: through all matrices of a store, through all that belongs to one; and lists of numbers that are
 * met. */
#include "persist/store_iter.h"
#include <stdlib.h>
#include <string.h>

dcsr_status dcsr_i_each_matrix(const dcsr_store *store, MDB_txn *txn, dcsr_i_matrix_visitor visit, void *user)
{
    MDB_cursor *cursor;
    int code = mdb_cursor_open(txn, store->database[DCSR_I_DB_MATRICES], &cursor);
    if (code) return dcsr_i_store_fail(store, code, "listing its matrices");
    dcsr_status status = DCSR_OK;
    MDB_val key, value;
    char name[DCSR_STORE_MAX_NAME + 1];
    for (code = mdb_cursor_get(cursor, &key, &value, MDB_FIRST); status == DCSR_OK && !code;) {
        dcsr_status named = dcsr_i_name_of(store, &key, name);
        status = visit(user, store, txn, named == DCSR_OK ? name : NULL);
        /* The record may have been written, or deleted: its place is found again. */
        MDB_val visited = {strlen(name), name};
        if (status == DCSR_OK && named == DCSR_OK) {
            key = visited;
            code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
            if (code || key.mv_size != visited.mv_size || memcmp(key.mv_data, name, key.mv_size) != 0)
                continue;
        }
        if (status == DCSR_OK) code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    if (status == DCSR_OK && code && code != MDB_NOTFOUND)
        return dcsr_i_store_fail(store, code, "listing its matrices");
    return status;
}

dcsr_status dcsr_i_each_thing(const dcsr_store *store, MDB_txn *txn, dcsr_i_database database,
                              uint32_t matrix, uint64_t first, dcsr_i_thing_visitor visit, void *user)
{
    MDB_cursor *cursor;
    int code = mdb_cursor_open(txn, store->database[database], &cursor);
    if (code) return dcsr_i_store_fail(store, code, "reading what it holds");
    dcsr_i_numbers begin = dcsr_i_numbers_key(matrix, first);
    MDB_val key = {sizeof begin, &begin}, value;
    uint32_t owner;
    uint64_t number;
    dcsr_status status = DCSR_OK;
    for (code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
         status == DCSR_OK && !code && dcsr_i_numbers_read(key.mv_data, key.mv_size, &owner, &number) &&
         owner == matrix;
         code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT))
        status = visit(user, cursor, number, &value);
    mdb_cursor_close(cursor);
    if (status == DCSR_OK && code && code != MDB_NOTFOUND)
        return dcsr_i_store_fail(store, code, "reading what it holds");
    return status;
}

/* ---- Lists ---- */

void *dcsr_i_room_for_one(void *items, uint64_t count, uint64_t *capacity, size_t size, dcsr_i_pool pool)
{
    enum { FIRST = 64 };
    if (count < *capacity) return items;
    uint64_t larger = *capacity ? 2 * *capacity : FIRST;
    void *moved = dcsr_i_realloc(NULL, pool, items, *capacity, larger, size);
    if (moved) *capacity = larger;
    return moved;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

dcsr_status dcsr_i_number_list_append(dcsr_i_number_list *list, uint64_t number)
{
    uint64_t *numbers = dcsr_i_room_for_one(list->numbers, list->count, &list->capacity,
                                            sizeof *list->numbers, DCSR_I_SCRATCH);
    if (!numbers) return DCSR_ERROR_OUT_OF_MEMORY;
    list->numbers = numbers;
    list->numbers[list->count++] = number;
    return DCSR_OK;
}

void dcsr_i_number_list_sort(dcsr_i_number_list *list)
{
    if (list->count) qsort(list->numbers, list->count, sizeof *list->numbers, compare);
    list->sorted = list->count;
}

bool dcsr_i_number_list_has(const dcsr_i_number_list *list, uint64_t number)
{
    return list->sorted && bsearch(&number, list->numbers, list->sorted, sizeof number, compare);
}

void dcsr_i_number_list_free(dcsr_i_number_list *list)
{
    dcsr_i_free(NULL, DCSR_I_SCRATCH, list->numbers, list->capacity, sizeof *list->numbers);
    *list = (dcsr_i_number_list){0};
}
