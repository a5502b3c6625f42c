/* diff_data.h: what differs between two versions: how it is found (internal). */
#ifndef DCSR_DIFF_DATA_H
#define DCSR_DIFF_DATA_H

#include "dcsr/store/store.h"
#include <dcsr/diff.h>

/* The entries that only `to` has, that only `from` has, and those with two values. */
enum { DCSR_I_INSERTED, DCSR_I_REMOVED, DCSR_I_CHANGED, DCSR_I_DIFFERENCES };

/* The arrays of a list; those of values that it has none of are NULL. */
typedef struct dcsr_i_differences {
    uint64_t nnz;
    uint32_t *rows, *cols;
    char *old, *new;
} dcsr_i_differences;

struct dcsr_diff {
    dcsr_context *context;
    size_t value_size;
    dcsr_diff_info info;
    uint64_t *rows; /* info.rows_differing of them */
    dcsr_i_differences list[DCSR_I_DIFFERENCES];
};

/* Rows of two versions in host memory, perhaps of different dimensions, each of them as published or as a CSR.
 * Row i of either has the number numbers[i], or i if that is NULL. Places of `apart` versions are of two arenas; where
 * `all` may differ, places and pages that both share tell nothing. */
typedef struct dcsr_i_row_pairs {
    dcsr_policy policy;
    const dcsr_i_rows *from, *to;
    const uint32_t *numbers;
    bool apart, all;
} dcsr_i_row_pairs;

/* ---- diff_pages.c ---- */

/* Of the version that has more. */
uint64_t dcsr_i_diff_most_rows(const dcsr_i_row_pairs *pairs);
/* The pages that the versions do not share. */
dcsr_status dcsr_i_diff_list_pages(dcsr_i_page_list *list, dcsr_context *context,
                                   const dcsr_i_row_pairs *pairs);
/* Which rows of page[n] of `count` may differ, a bit each: not those that both versions have at the same places, but
 * perhaps some behind the last. None beyond the last page. Asks for what is known of the pages behind it, so that
 * memory is waited for many times at once. */
uint64_t dcsr_i_diff_candidates(const dcsr_i_row_pairs *pairs, const uint32_t *page, uint64_t n,
                                uint64_t count);
/* Asks for the entries of some rows of a page, likewise. */
void dcsr_i_diff_fetch(const dcsr_i_row_pairs *pairs, size_t value_size, uint32_t page, uint64_t rows);

/* ---- diff_rows.c ---- */

/* Fills the diff's arrays, and counts in its info. Those of a diff that fails are freed with it. */
dcsr_status dcsr_i_diff_fill(dcsr_diff *diff, const dcsr_i_row_pairs *pairs);

#endif
