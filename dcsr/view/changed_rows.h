/* changed_rows.h: which rows may differ between what two views of a matrix show (internal).
 *
 * Coarser than a diff (dcsr/diff.h), and cheaper: rows are told apart by the places of their entries in the store,
 * which are not read, and on a device their list stays there. What is not listed shows the same entries in the same
 * order in both, bit for bit; but on a device a floating-point sum of duplicates that each view has resolved for itself
 * may differ in rounding. What is listed may show the same, too: it has been rewritten, or moved.
 *
 *      open()         counts them                            O(pages), and the rows of pages that were changed
 *      drop_moved()   leaves those with other entries        O(entries of the listed rows); where many have moved
 *      list()         their numbers                          O(listed rows), and the rows of these pages on a device
 */
#ifndef DCSR_CHANGED_ROWS_H
#define DCSR_CHANGED_ROWS_H

#include "dcsr/view/view_data.h"

typedef struct dcsr_i_changed_rows {
    const dcsr_i_engine *engine;
    dcsr_i_comparison of;
    uint64_t count;
    /* In host memory, ascending; on a device only once they are brought. */
    uint64_t *rows;
    dcsr_i_changed_there there; /* on a device */
    dcsr_i_page_list pages;     /* else: those that the versions do not share */
    uint64_t *bits;             /* which of their 64 rows */
} dcsr_i_changed_rows;

/* Views of one matrix and of the same shape, which must last until it is closed, by the same thread; it may not be
 * moved meanwhile. On failure it is closed. Errors: OUT_OF_MEMORY, on a device DEVICE; of the other calls too, which
 * leave all as it was. */
dcsr_status dcsr_i_changed_rows_open(dcsr_i_changed_rows *changed, const dcsr_view *from,
                                     const dcsr_view *to);
/* Before they are listed. */
dcsr_status dcsr_i_changed_rows_drop_moved(dcsr_i_changed_rows *changed);
dcsr_status dcsr_i_changed_rows_list(dcsr_i_changed_rows *changed);
/* Makes `rows` where they are listed on a device. Waits. */
dcsr_status dcsr_i_changed_rows_bring(dcsr_i_changed_rows *changed);
void dcsr_i_changed_rows_close(dcsr_i_changed_rows *changed);

#endif
