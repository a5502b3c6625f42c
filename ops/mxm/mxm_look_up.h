/* mxm_look_up.h: looking up rows of B, or of B^T, as runs (internal).
 *
 * Rows that are looked up one after the other are often of one page, as those of a grid are, so what leads to the
 * rows of a page is kept until another one is needed. */
#ifndef DCSR_MXM_LOOK_UP_H
#define DCSR_MXM_LOOK_UP_H

#include "ops/mxm/mxm_row.h"
#include "ops/rows/row_block.h"

/* The rows, and the page of the one that was looked up last. */
typedef struct dcsr_i_mxm_rows {
    const dcsr_i_rows *rows;
    size_t size; /* of a value; 0: none is looked at */
    uint64_t number, fragmented;
    const dcsr_i_row_page *page;
    const uint32_t *length;
    const dcsr_i_segment *segment;
} dcsr_i_mxm_rows; /* number: UINT64_MAX to begin with */

/* For dcsr_i_mxm_look_up(). */
static inline void dcsr_i_mxm_turn_to(dcsr_i_mxm_rows *b, uint64_t number)
{
    static const uint32_t no_lengths[DCSR_I_PAGE_ROWS];
    b->number = number;
    b->page = dcsr_i_page(b->rows->table, number);
    b->length = b->page ? b->page->length : no_lengths;
    b->segment = b->page && b->page->segment[0] ? b->page->segment[0]->of : NULL;
    b->fragmented = b->page ? b->page->fragmented : 0;
}

/* A run of n entries from place `at` on, which are asked for. */
static inline dcsr_i_mxm_run *dcsr_i_mxm_append_run(const dcsr_i_mxm_rows *b, uint64_t at, uint64_t n,
                                                    uint32_t entry, dcsr_i_mxm_run *run)
{
    run->columns = b->rows->columns + at;
    run->values = b->size ? (const char *)b->rows->values + at * b->size : NULL;
    run->n = (uint32_t)n;
    run->entry = entry;
    __builtin_prefetch(run->columns);
    __builtin_prefetch(run->values);
    return run + 1;
}

static inline dcsr_i_mxm_run *dcsr_i_mxm_append_pieces(const dcsr_i_mxm_rows *b, unsigned r, uint32_t entry,
                                                       dcsr_i_mxm_run *run)
{
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    int count = dcsr_i_row_pieces(b->page, r, pieces);
    for (int k = 0; k < count; k++)
        run = dcsr_i_mxm_append_run(b, pieces[k].begin, pieces[k].length, entry, run);
    return run;
}

/* Appends the runs of rows columns[entry] to columns[end - 1], none for one that is empty, and more than one for one
 * of several pieces; *products grows by their lengths. Returns their end. */
static inline dcsr_i_mxm_run *dcsr_i_mxm_look_up(dcsr_i_mxm_rows *b, const uint32_t *columns, uint32_t entry,
                                                 uint32_t end, dcsr_i_mxm_run *run, uint64_t *products)
{
    for (; entry < end; entry++) {
        uint32_t row = columns[entry], r = row & (DCSR_I_PAGE_ROWS - 1);
        if (row >> DCSR_I_PAGE_SHIFT != b->number) dcsr_i_mxm_turn_to(b, row >> DCSR_I_PAGE_SHIFT);
        uint32_t n = b->length[r];
        if (!n) continue;
        *products += n;
        run = b->fragmented >> r & 1
                  ? dcsr_i_mxm_append_pieces(b, r, entry, run)
                  : dcsr_i_mxm_append_run(b, dcsr_i_segment_begin(b->segment[r]), n, entry, run);
    }
    return run;
}

/* The same where the rows are a CSR. */
static inline dcsr_i_mxm_run *dcsr_i_mxm_look_up_offsets(const dcsr_i_mxm_rows *b, const uint32_t *columns,
                                                         uint32_t entry, uint32_t end, dcsr_i_mxm_run *run,
                                                         uint64_t *products)
{
    const uint64_t *offsets = b->rows->offsets;
    for (; entry < end; entry++) {
        uint64_t at = offsets[columns[entry]], n = offsets[columns[entry] + 1] - at;
        if (!n) continue;
        *products += n;
        run = dcsr_i_mxm_append_run(b, at, n, entry, run);
    }
    return run;
}

/* The columns of the rows of A of a block, in one piece, and as t->group.a its values as the multiplication takes
 * them (mxm_group.c). */
dcsr_status dcsr_i_mxm_read_a(const dcsr_i_mxm *m, dcsr_i_mxm_thread *t, const dcsr_i_row_block *block,
                              const uint32_t **columns);

#endif
