/* support_diff.h: what differs between two views, asserted to have been told. */
#ifndef DCSR_TESTS_SUPPORT_DIFF_H
#define DCSR_TESTS_SUPPORT_DIFF_H

#include "tests/support/support.h"
#include <dcsr/diff.h>

static inline dcsr_diff *diff_of(dcsr_view *from, dcsr_view *to)
{
    dcsr_diff *diff;
    TEST_OK(dcsr_view_diff(&diff, from, to));
    return diff;
}

static inline dcsr_diff_info info_of(const dcsr_diff *diff)
{
    dcsr_diff_info info;
    TEST_OK(dcsr_diff_get_info(diff, &info));
    return info;
}

static inline dcsr_diff_entries entries_of(const dcsr_diff *diff)
{
    dcsr_diff_entries entries;
    TEST_OK(dcsr_diff_get_entries(diff, &entries));
    return entries;
}

/* ---- Against oracles ---- */

/* The next entry of a list is this one; its values, where the list has them. */
static inline bool diff_comes(const dcsr_diff_list *list, uint64_t *next, uint64_t row, dcsr_type type,
                              const oracle_entry *old, const oracle_entry *new)
{
    uint64_t i = (*next)++, col = old ? old->column : new->column;
    return i < list->nnz && list->row_indices[i] == row && list->col_indices[i] == col &&
           (!list->old_values || oracle_value(type, list->old_values, i) == old->value) &&
           (!list->new_values || oracle_value(type, list->new_values, i) == new->value);
}

static inline oracle_row diff_row_of(const oracle *o, uint64_t row)
{
    return row < o->rows ? o->row[row] : (oracle_row){0};
}

/* Whether the row's differences come next in the lists; *differs tells if there are any. */
static inline bool diff_row_comes(const dcsr_diff_entries *e, uint64_t next[3], uint64_t row,
                                  const oracle_row *a, const oracle_row *b, bool *differs)
{
    size_t i = 0, j = 0;
    *differs = false;
    while (i < a->length || j < b->length) {
        const oracle_entry *old = i < a->length ? &a->entry[i] : NULL;
        const oracle_entry *new = j < b->length ? &b->entry[j] : NULL;
        if (old && new && old->column < new->column) new = NULL;
        if (old && new && old->column > new->column) old = NULL;
        i += old != NULL, j += new != NULL;
        if (old && new && (e->type == DCSR_PATTERN || old->value == new->value)) continue;
        *differs = true;
        const dcsr_diff_list *list = old && new ? &e->changed : old ? &e->removed : &e->inserted;
        if (!diff_comes(list,
                        &next[list == &e->changed   ? 0
                              : list == &e->removed ? 1
                                                    : 2],
                        row, e->type, old, new))
            return false;
    }
    return true;
}

/* Whether the diff tells what differs between what two oracles hold, in order, and nothing else. */
static inline bool test_diff_agrees(const dcsr_diff *diff, const oracle *from, const oracle *to)
{
    dcsr_diff_entries e = entries_of(diff);
    dcsr_index_list rows;
    uint64_t next[3] = {0}, listed = 0;
    TEST_OK(dcsr_diff_get_rows(diff, &rows));
    for (uint64_t row = 0; row < from->rows || row < to->rows; row++) {
        oracle_row a = diff_row_of(from, row), b = diff_row_of(to, row);
        bool differs;
        if (!diff_row_comes(&e, next, row, &a, &b, &differs)) return false;
        if (differs && (listed == rows.n || rows.indices[listed++] != row)) return false;
    }
    return listed == rows.n && next[0] == e.changed.nnz && next[1] == e.removed.nnz &&
           next[2] == e.inserted.nnz;
}

#endif
