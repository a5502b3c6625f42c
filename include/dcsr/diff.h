/* diff.h: what differs between two versions of one matrix, or of its clones, in time that follows the change.
 *
 * For algorithms that follow a matrix as it changes, instead of beginning anew: the rows that differ, and the
 * entries that were inserted or removed, or have another value.
 *
 *      dcsr_view *before, *now;
 *      dcsr_view_create(&before, matrix, DCSR_LAYOUT_SEGMENTS, 0);
 *      ...                                                     the matrix changes
 *      dcsr_view_create(&now, matrix, DCSR_LAYOUT_SEGMENTS, 0);
 *      dcsr_diff *diff;
 *      dcsr_diff_entries entries;
 *      dcsr_view_diff(&diff, before, now);
 *      dcsr_diff_get_entries(diff, &entries);
 *      for (uint64_t i = 0; i < entries.inserted.nnz; i++)
 *          link(entries.inserted.row_indices[i], entries.inserted.col_indices[i]);
 *      dcsr_diff_destroy(diff);
 *      dcsr_view_destroy(before);
 *
 * Versions are compared as they are when resolved: duplicates are combined by the matrix's policy and deletions
 * applied, whatever flags the views have. Entries that have only moved do not differ. Values are compared bit
 * by bit: a NaN equals itself, and 0.0 differs from -0.0. If the policy is DCSR_POLICY_KEEP, the entries of a
 * position are compared in the order in which they were inserted: the first with the first, and so on; those
 * that one version has more are inserted or removed. Positions that only one version has, since rows or
 * columns were added or dropped, are empty in the other.
 *
 * On a device floating-point sums are grouped freely. So a value that is a sum of duplicates may differ in
 * rounding from what a view shows, and from itself in a version in which its row was not resolved yet.
 *
 * Threads: any number may read one diff. dcsr_diff_destroy() must be the last call on it. */
#ifndef DCSR_DIFF_H
#define DCSR_DIFF_H

#include <dcsr/desc.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dcsr_diff dcsr_diff;

/* Compares two views of one matrix, or of matrices that are clones of one another or of a third (dcsr_matrix_clone());
 * `from` may show the later version, and both the same. The diff needs neither of them afterwards. *diff is NULL on
 * failure. Errors: INVALID_ARGUMENT (views of different matrices, as are two versions in a store), OUT_OF_MEMORY.
 *
 * Cost: rows whose entries are at the same places in both versions are skipped, together with all their
 * neighbours where that is so for a whole page of 64 rows (1024 on a device), or for thousands of pages. What
 * remains is read, O(entries of these rows): rows that changes have touched, and rows that have moved. A CSR
 * view with arrays of its own (dcsr_view_info.lent is false) no longer knows the places; then all rows of both
 * are compared. Views of segments or CSC always know them. Of clones, places are the same as long as they are shared:
 * where a clone has been a copy from the beginning (a small one, one on a device) all rows of both are compared. */
DCSR_API dcsr_status dcsr_view_diff(dcsr_diff **diff, dcsr_view *from, dcsr_view *to);

/* The same as if both versions were patterns: which positions come and go, whatever their values. The diff's type is
 * DCSR_PATTERN, and nothing is `changed`. Values are not read, which are most of the bytes of a row. */
DCSR_API dcsr_status dcsr_view_diff_positions(dcsr_diff **diff, dcsr_view *from, dcsr_view *to);

/* NULL does nothing. */
DCSR_API void dcsr_diff_destroy(dcsr_diff *diff);

typedef struct dcsr_diff_info {
    dcsr_type type;
    uint64_t from_version, to_version;
    uint64_t rows_differing;
    uint64_t rows_compared; /* rows with entries at other places, which therefore were read */
} dcsr_diff_info;
DCSR_API dcsr_status dcsr_diff_get_info(const dcsr_diff *diff, dcsr_diff_info *info);

/* The numbers of the rows that differ, ascending. The array is lent by the diff, in host memory. */
DCSR_API dcsr_status dcsr_diff_get_rows(const dcsr_diff *diff, dcsr_index_list *rows);

/* Some entries, by row and, within a row, by column. The arrays are lent by the diff, in host memory. */
typedef struct dcsr_diff_list {
    uint64_t nnz;
    const uint32_t *row_indices, *col_indices; /* nnz */
    const void *old_values;                    /* nnz values in `from`; NULL if inserted, and for pattern */
    const void *new_values;                    /* nnz values in `to`; NULL if removed, and for pattern */
} dcsr_diff_list;

typedef struct dcsr_diff_entries {
    dcsr_type type;
    dcsr_diff_list inserted; /* stored in `to` alone */
    dcsr_diff_list removed;  /* stored in `from` alone */
    dcsr_diff_list changed;  /* stored in both, with different values */
} dcsr_diff_entries;
DCSR_API dcsr_status dcsr_diff_get_entries(const dcsr_diff *diff, dcsr_diff_entries *entries);

#ifdef __cplusplus
}
#endif
#endif
