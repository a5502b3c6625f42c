/* rowtable_cuda.h: where the entries of each row are, on a device (internal; for C and for kernels).
 *
 * The same idea as rowtable.h with larger pages, so that the host can still look after each page while the
 * device looks after each row. Pages are slots of two arrays that grow in place; a version is its root:
 *
 *      root (version v)       row page: 1024 rows         segment page
 *      +----------------+     +--------------------+      +-----------------+
 *      | slot of page 0 |---->| length[1024]       |   +->| of[1024]: begin |
 *      | slot of page 1 |     | bit masks          |   |  | and capacity    |
 *      | ...            |     | segment[0] (slot) -|---+  +-----------------+
 *      +----------------+     | segment[1] ...     |
 *                             +--------------------+
 *
 * The host keeps a copy of each root, the version each slot was made for, and the lists of free slots; so
 * sharing, publishing and giving back are the same code as on the cpu (version.c). A batch copies the row
 * pages it touches, unless no version that is held sees them and it changes them (insert_cuda.c); segment pages are
 * shared between versions and appended to in place, and copied when a row of theirs moves: a version never
 * looks at an entry of a segment page that its length of that row does not reach.
 *
 * Row r of a page holds length[r] entries: in segment 0 first, then 1, ..., each filled to its capacity
 * before the next is used. A slot DCSR_CUDA_NONE in the root stands for a page of empty rows. */
#ifndef DCSR_ROWTABLE_CUDA_H
#define DCSR_ROWTABLE_CUDA_H

#include "dcsr/base/search.h"
#include "dcsr/store/segment.h"
#include <dcsr/matrix.h>

#ifdef DCSR_SIMT
/* Small pages, so that tests see many of them. */
enum { DCSR_CUDA_PAGE_SHIFT = 6 };
#else
enum { DCSR_CUDA_PAGE_SHIFT = 10 };
#endif
enum { DCSR_CUDA_PAGE_ROWS = 1 << DCSR_CUDA_PAGE_SHIFT, DCSR_CUDA_MASK_WORDS = DCSR_CUDA_PAGE_ROWS / 32 };

#define DCSR_CUDA_NONE      UINT32_MAX
#define DCSR_CUDA_TOMBSTONE 0x80000000u

typedef struct dcsr_i_cuda_row_page {
    uint32_t length[DCSR_CUDA_PAGE_ROWS];
    /* So many of its entries, the first ones, ascend strictly by column. Holds for rows without marks; not where the
     * policy keeps duplicates. What is behind them is the row's tail. */
    uint32_t ordered[DCSR_CUDA_PAGE_ROWS];
    /* Bit r % 32 of word r / 32: the row has entries in more than one segment; may hold a column more than
     * once; holds a tombstone. */
    uint32_t fragmented[DCSR_CUDA_MASK_WORDS];
    uint32_t duplicates[DCSR_CUDA_MASK_WORDS];
    uint32_t tombstones[DCSR_CUDA_MASK_WORDS];
    uint32_t segment[DCSR_MAX_SEGMENTS]; /* slots of segment pages; NONE where no row of the page has got that
                                            far */
    /* No version up to this one sees the page or its first segment page, nor the entries of the rows in `own`, as
     * masks: where no later one is held these may be changed where they are. */
    uint64_t unseen;
    uint32_t own[DCSR_CUDA_MASK_WORDS];
} dcsr_i_cuda_row_page;

typedef struct dcsr_i_cuda_segment_page {
    dcsr_i_segment of[DCSR_CUDA_PAGE_ROWS];
} dcsr_i_cuda_segment_page;

/* What kernels get by value to read a version, or the arrays of a CSR view: exactly one of root and offsets
 * is not NULL. All pointers are to device memory. Index columns and values with what dcsr_i_cuda_pieces() says.
 */
typedef struct dcsr_i_cuda_rows {
    uint64_t rows, cols;
    uint64_t stored;     /* entries */
    uint32_t type;       /* dcsr_type */
    uint32_t value_size; /* 0 for pattern */
    int segments_per_row;
    const uint32_t *root;
    const dcsr_i_cuda_row_page *row_page;         /* by slot */
    const dcsr_i_cuda_segment_page *segment_page; /* by slot */
    const uint64_t *offsets;
    uint32_t *columns; /* the arena's, or the CSR's */
    char *values;      /* NULL for pattern */
} dcsr_i_cuda_rows;

/* A page that a change touches, and what it must have of its own. */
typedef struct dcsr_i_cuda_page_need {
    uint32_t page;
    uint32_t levels; /* bit k: segment page k is needed, new and empty where the page has none */
    uint32_t moves;  /* bit k: rows leave segment k, so that segment page k must be copied if there is one */
    uint32_t slots;  /* once they are given out: the first of those for its own segment pages */
    uint32_t slot;   /* and that for itself */
} dcsr_i_cuda_page_need;

/* The levels on which the page gets a segment page of its own, as bits, if it has some on the levels `there`. */
static inline DCSR_CUDA_BOTH_SIDES uint32_t dcsr_i_cuda_own_levels(const dcsr_i_cuda_page_need *need,
                                                                   uint32_t there)
{
    return (there & need->moves) | (need->levels & ~there);
}

/* A page that a change copies, for kernels. */
typedef struct dcsr_i_cuda_page_change {
    uint32_t page;
    uint32_t old;                            /* slot in the base version, or NONE */
    uint32_t fresh;                          /* slot in the next one */
    uint32_t old_segment[DCSR_MAX_SEGMENTS]; /* of the base version's page */
    uint32_t segment[DCSR_MAX_SEGMENTS];     /* of the fresh page: equal to the old one where it is shared */
} dcsr_i_cuda_page_change;

/* A row with a longer tail is put in order before a batch is merged into it: a batch's entries are looked for in a tail
 * one by one. */
enum { DCSR_CUDA_LONGEST_TAIL = 32 };

#ifdef __cplusplus
#include "dcsr/device/device.cuh"

typedef struct dcsr_i_cuda_piece {
    uint64_t begin, length;
} dcsr_i_cuda_piece;

DCSR_CUDA_INLINE bool dcsr_i_cuda_bit(const uint32_t *mask, uint32_t r)
{
    return mask[r >> 5] >> (r & 31) & 1;
}

/* The page of a row; NULL when its rows are empty. */
DCSR_CUDA_INLINE const dcsr_i_cuda_row_page *dcsr_i_cuda_page_of(const dcsr_i_cuda_rows &rows, uint64_t row)
{
    uint32_t slot = rows.root[row >> DCSR_CUDA_PAGE_SHIFT];
    return slot == DCSR_CUDA_NONE ? nullptr : &rows.row_page[slot];
}

/* The length of a row, whatever the layout. */
DCSR_CUDA_INLINE uint64_t dcsr_i_cuda_length(const dcsr_i_cuda_rows &rows, uint64_t row)
{
    if (rows.offsets) return rows.offsets[row + 1] - rows.offsets[row];
    const dcsr_i_cuda_row_page *page = dcsr_i_cuda_page_of(rows, row);
    return page ? page->length[row & (DCSR_CUDA_PAGE_ROWS - 1)] : 0;
}

/* Where it is written where a row's first piece begins, and whether the row has others; NULL where none has
 * been. This does not depend on the row's length, so that both can be on their way at once. */
DCSR_CUDA_INLINE const uint64_t *dcsr_i_cuda_place_of(const dcsr_i_cuda_rows &rows, uint64_t row,
                                                      bool *fragmented)
{
    *fragmented = false;
    if (rows.offsets) return &rows.offsets[row];
    const dcsr_i_cuda_row_page *page = dcsr_i_cuda_page_of(rows, row);
    if (!page) return nullptr;
    uint32_t r = row & (DCSR_CUDA_PAGE_ROWS - 1), slot = page->segment[0];
    *fragmented = dcsr_i_cuda_bit(page->fragmented, r);
    return slot == DCSR_CUDA_NONE ? nullptr : &rows.segment_page[slot].of[r].word;
}

/* Piece k of row r of a page, `left` entries of which are in pieces k and up. */
DCSR_CUDA_INLINE dcsr_i_cuda_piece dcsr_i_cuda_piece_of(const dcsr_i_cuda_rows &rows,
                                                        const dcsr_i_cuda_row_page *page, uint32_t r, int k,
                                                        uint64_t left)
{
    const dcsr_i_segment segment = rows.segment_page[page->segment[k]].of[r];
    const uint64_t capacity = dcsr_i_segment_capacity(segment);
    const bool ends = !dcsr_i_cuda_bit(page->fragmented, r) || capacity >= left;
    return {dcsr_i_segment_begin(segment), ends ? left : capacity};
}

/* The places of segment k of row r of a page, which has its page; 0: it has none. */
DCSR_CUDA_INLINE uint64_t dcsr_i_cuda_capacity_of(const dcsr_i_cuda_segment_page *pages,
                                                  const dcsr_i_cuda_row_page *page, uint32_t r, int k)
{
    const dcsr_i_segment segment = pages[page->segment[k]].of[r];
    return k || dcsr_i_cuda_bit(page->fragmented, r) ? dcsr_i_segment_capacity(segment)
                                                     : dcsr_i_only_capacity(segment, page->length[r]);
}

/* Whether a batch can be merged into row r of a page, which may be NULL: nothing in it is to be resolved, and it is one
 * piece, most of which ascends. */
DCSR_CUDA_INLINE bool dcsr_i_cuda_is_mergeable(const dcsr_i_cuda_row_page *page, uint32_t r)
{
    if (!page) return true;
    /* All is read at once, whatever the first is. */
    const uint32_t marks = page->duplicates[r >> 5] | page->tombstones[r >> 5] | page->fragmented[r >> 5];
    return (~marks >> (r & 31) & 1) & (page->length[r] <= page->ordered[r] + DCSR_CUDA_LONGEST_TAIL);
}

/* Calls visit(begin, length) for each piece of a row in the order in which its entries were stored. */
template <class Visit>
DCSR_CUDA_INLINE void dcsr_i_cuda_for_pieces(const dcsr_i_cuda_rows &rows, uint64_t row, Visit visit)
{
    if (rows.offsets) {
        if (rows.offsets[row] != rows.offsets[row + 1])
            visit(rows.offsets[row], rows.offsets[row + 1] - rows.offsets[row]);
        return;
    }
    const dcsr_i_cuda_row_page *page = dcsr_i_cuda_page_of(rows, row);
    if (!page) return;
    uint32_t r = row & (DCSR_CUDA_PAGE_ROWS - 1);
    uint64_t left = page->length[r];
    for (int k = 0; left; k++) {
        dcsr_i_cuda_piece piece = dcsr_i_cuda_piece_of(rows, page, r, k, left);
        visit(piece.begin, piece.length);
        left -= piece.length;
    }
}

#endif
#endif
