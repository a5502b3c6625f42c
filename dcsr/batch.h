/* batch.h: what the steps of applying a batch share (internal): insert.c, plan.c, scatter.c. */
#ifndef DCSR_BATCH_H
#define DCSR_BATCH_H

#include "dcsr/store.h"

/* The entries for the rows of one page. */
typedef struct dcsr_i_group {
    uint64_t page;
    uint64_t first, end; /* entries */
    const dcsr_i_row_page *old;
    dcsr_i_row_page *fresh;
    uint64_t places;  /* needed, then where they begin */
    uint64_t ranges;  /* segments that moved rows leave behind */
    uint64_t remains; /* how much of the old page is replaced, then where in the grave that goes */
    uint64_t tail;    /* where its first row ends, to be fetched ahead */
} dcsr_i_group;

typedef struct dcsr_i_batch {
    dcsr_matrix *matrix;
    const dcsr_i_table *base;
    dcsr_i_operation *operation;
    uint64_t *entries; /* sorted: the operation's or the spare array */
    uint64_t n;        /* after combining */
    int stride, column_bits;
    uint32_t mark; /* DCSR_I_TOMBSTONE or 0 */
    bool bulk;     /* into an empty matrix: rows are laid out tight */
    dcsr_i_group *groups;
    uint64_t group_count, group_capacity;
    uint64_t longest; /* rows that move */
    int threads;
    dcsr_i_table *next;
    dcsr_i_grave *grave;
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

/* The end of the entries of the row that entry i is of. */
static inline uint64_t dcsr_i_row_end(const dcsr_i_batch *b, const dcsr_i_group *g, uint64_t i)
{
    uint64_t row = dcsr_i_key_at(b, i) >> b->column_bits;
    do i++;
    while (i < g->end && dcsr_i_key_at(b, i) >> b->column_bits == row);
    return i;
}

/* How a row takes up n more entries. */
typedef struct dcsr_i_growth {
    uint64_t room;     /* free places in its last segment */
    uint64_t tail;     /* where they begin */
    uint64_t capacity; /* of a new segment; of the moved row; 0: there is room */
    int segments;      /* that it has */
    bool moves;        /* its segments have run out: into one new segment */
} dcsr_i_growth;

static inline dcsr_i_growth dcsr_i_grow_row(const dcsr_i_batch *b, const dcsr_i_row_page *page, unsigned r,
                                            uint64_t n)
{
    dcsr_i_growth grows = {0};
    uint64_t length = page ? page->length[r] : 0, total = 0;
    if (page && page->packed) {
        grows.segments = length != 0;
    } else if (page) {
        /* A row that is not fragmented has no second segment, and there is no need to look. */
        int k = 0, most = page->fragmented >> r & 1 ? b->matrix->segments_per_row : 1;
        for (; k < most && page->segment[k]; k++) {
            uint64_t capacity = page->segment[k]->capacity[r];
            if (!capacity) break;
            grows.tail = page->segment[k]->begin[r] + length - total;
            total += capacity;
        }
        grows.segments = k;
        grows.room = total - length;
    }
    if (n <= grows.room) return grows;
    grows.moves = grows.segments == b->matrix->segments_per_row;
    uint64_t slack = b->bulk ? 0 : dcsr_i_slack(length + n);
    grows.capacity = (grows.moves ? length + n : n - grows.room) + slack;
    return grows;
}

/* Nothing is to be deleted from an empty row. */
static inline bool dcsr_i_skips(const dcsr_i_batch *b, const dcsr_i_row_page *page, unsigned r)
{
    return b->mark && !(page && page->length[r]);
}

/* Fills in, for each group, its fresh page and how many places its rows need. Nothing that a reader sees
 * changes. */
dcsr_status dcsr_i_plan(dcsr_i_batch *b);
/* Writes entries, table entries and lengths, as planned; b->begin is where the new places are. `resolvers`:
 * one per thread. */
void dcsr_i_scatter(dcsr_i_batch *b, dcsr_i_resolver *resolvers);

/* Rows are found ahead of time so that their cache lines are on the way: groups to look ahead for pages, and
 * for what they point to. */
enum { DCSR_I_PAGES_AHEAD = 12, DCSR_I_SEGMENTS_AHEAD = 5, DCSR_I_ENTRIES_AHEAD = 8 };

#endif
