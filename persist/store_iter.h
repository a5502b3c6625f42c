/* store_iter.h: going through what a store holds (internal). */
#ifndef DCSR_STORE_ITER_H
#define DCSR_STORE_ITER_H

#include "persist/store_data.h"
#include "dcsr/base/alloc.h"

/* Called for each matrix, by ascending name, until it fails; NULL for one whose name is damaged, with the
 * sentence set. It may write or delete the matrix's record. */
typedef dcsr_status (*dcsr_i_matrix_visitor)(void *user, const dcsr_store *store, MDB_txn *txn,
                                             const char *name);
dcsr_status dcsr_i_each_matrix(const dcsr_store *store, MDB_txn *txn, dcsr_i_matrix_visitor visit,
                               void *user);

/* Called for each version, chunk or log record of a matrix, by ascending number from `first` on, until it
 * fails. The cursor stands on it, and it may be deleted. */
typedef dcsr_status (*dcsr_i_thing_visitor)(void *user, MDB_cursor *cursor, uint64_t number,
                                            const MDB_val *value);
dcsr_status dcsr_i_each_thing(const dcsr_store *store, MDB_txn *txn, dcsr_i_database database,
                              uint32_t matrix, uint64_t first, dcsr_i_thing_visitor visit, void *user);

/* Where a list of `count` items has room for one more: it is made larger where it has not. NULL when there is
 * no memory; the list is as it was then. */
void *dcsr_i_room_for_one(void *items, uint64_t count, uint64_t *capacity, size_t size, dcsr_i_pool pool);

/* Numbers of things. Zero-initialise. */
typedef struct dcsr_i_number_list {
    uint64_t *numbers, count, capacity;
    uint64_t sorted; /* so many of them ascend */
} dcsr_i_number_list;
dcsr_status dcsr_i_number_list_append(dcsr_i_number_list *list, uint64_t number);
void dcsr_i_number_list_sort(dcsr_i_number_list *list);
/* Whether it is among those that were there at the last sorting. */
bool dcsr_i_number_list_has(const dcsr_i_number_list *list, uint64_t number);
void dcsr_i_number_list_free(dcsr_i_number_list *list);

#endif
