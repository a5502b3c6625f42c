/* ewise_merge.h: merging two rows entry by entry (internal).
 *
 * The values of the places that both rows have are collected in blocks, to which the operator is applied. So
 * one loop per size of values serves all types and operators. */
#ifndef DCSR_EWISE_MERGE_H
#define DCSR_EWISE_MERGE_H

#include "ops/matrix/write_matrix.h"

enum { DCSR_I_MEETINGS = 512, DCSR_I_WIDEST = 8 };

/* Places that both rows have, so many as there is room for: their values, and where the result goes. */
typedef struct dcsr_i_meetings {
    size_t n;
    uint64_t at[DCSR_I_MEETINGS];
    _Alignas(64) char x[DCSR_I_MEETINGS * DCSR_I_WIDEST], y[DCSR_I_MEETINGS * DCSR_I_WIDEST];
} dcsr_i_meetings;

/* Two rows being merged, and the result being written: entry k of it comes next. Its values, like those of
 * both rows, have one size; or there are none. */
typedef struct dcsr_i_merge {
    dcsr_i_row a, b;
    uint64_t i, j, k;
    dcsr_i_room z;
} dcsr_i_merge;

/* Merges until one of the rows ends or the meetings are full. In a union the values of meetings are left to
 * be written; in an intersection all are. */
typedef void dcsr_i_merge_loop(dcsr_i_merge *merge, dcsr_i_meetings *meetings);
/* By the size of values: 0, 1, 2, 4, 8. */
dcsr_i_merge_loop *dcsr_i_intersection_loop(size_t size);

/* Appends the union of both rows to the result; values of the operator's one type have `size` bytes, 0 where
 * none are wanted. Meetings are left over, for more rows to come, until they are combined. False: a user's
 * operator said so. */
bool dcsr_i_unite_rows(dcsr_i_merge *merge, dcsr_i_meetings *meetings, const dcsr_binary_op *op, size_t size);
bool dcsr_i_combine_union(dcsr_i_meetings *meetings, const dcsr_binary_op *op, size_t size, void *values);
/* The same where the entry of b stands for both. */
void dcsr_i_overlay_rows(dcsr_i_merge *merge, size_t size);
/* The same where b is all that the result has in some columns, a bit set for each, and a all elsewhere. */
void dcsr_i_replace_rows(dcsr_i_merge *merge, const uint64_t *bits, size_t size);

#endif
