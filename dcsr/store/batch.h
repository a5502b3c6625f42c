/* batch.h: what the steps of applying a batch share (internal): insert.c, plan.c, scatter.c. */
#ifndef DCSR_BATCH_H
#define DCSR_BATCH_H

#include "dcsr/store/store.h"

/* The entries for the rows of one page. */
typedef struct dcsr_i_group {
    uint64_t page;
    uint64_t first, end; /* entries */
    const dcsr_i_row_page *old;
    dcsr_i_row_page *fresh;
    uint64_t places;  /* needed, then where they begin */
    uint64_t ranges;  /* segments that moved rows leave behind */
    uint64_t retired; /* how much of the old page is replaced, then where in the limbo list that goes */
} dcsr_i_group;

/* How a row takes up its entries. */
typedef struct dcsr_i_growth {
    uint64_t tail;     /* where the free places of its last segment begin */
    uint32_t room;     /* how many there are */
    uint32_t entries;  /* of the batch for this row */
    uint32_t capacity; /* of the new segment that it needs; of the moved row; 0: there is room */
    uint8_t segments;  /* that it has */
    bool moves;        /* its segments have run out: into one new segment */
    bool skipped;      /* nothing is to be deleted from an empty row */
} dcsr_i_growth;

typedef struct dcsr_i_batch {
    dcsr_matrix *matrix;
    const dcsr_i_table *base;
    uint64_t *entries; /* sorted: the operation's or the spare array */
    uint64_t n;        /* after combining */
    int stride, column_bits;
    uint32_t mark;         /* DCSR_I_TOMBSTONE or 0 */
    bool bulk;             /* into an empty matrix: rows are laid out tight */
    dcsr_i_growth *growth; /* n of them, of which those at the first entry of a row are used */
    dcsr_i_group *groups;
    uint64_t group_count, group_capacity;
    uint64_t placed;  /* groups whose pages the next version has */
    uint64_t longest; /* rows that move */
    int threads;
    dcsr_i_table *next;
    dcsr_i_limbo *limbo;
    uint64_t begin, places;
} dcsr_i_batch;

static inline uint64_t dcsr_i_key_at(const dcsr_i_batch *b, uint64_t i)
{
    return b->entries[i * (uint64_t)b->stride];
}

static inline unsigned dcsr_i_row_in_page(const dcsr_i_batch *b, uint64_t key)
{
    return (unsigned)(key >> b->column_bits) & (DCSR_I_PAGE_ROWS - 1);
}

/* Fills in, for each group, its fresh page and how many places its rows need. Nothing that a reader sees
 * changes. */
dcsr_status dcsr_i_plan_batch(dcsr_i_batch *b);
/* Writes entries, table entries and lengths, as planned; b->begin is where the new places are. `resolvers`:
 * one per thread. */
void dcsr_i_scatter_batch(dcsr_i_batch *b, dcsr_i_resolver *resolvers);

/* Rows are found ahead of time so that their cache lines are on the way: groups to look ahead for pages, and
 * for what they point to. */
enum { DCSR_I_PAGES_AHEAD = 12, DCSR_I_SEGMENTS_AHEAD = 5, DCSR_I_ENTRIES_AHEAD = 8 };

#endif
