/* batch.h: what the steps of applying a batch share (internal): insert.c, plan.c, find_batch.c, merge_batch.c,
 * scatter.c. */
#ifndef DCSR_BATCH_H
#define DCSR_BATCH_H

#include "dcsr/store/store.h"

/* The entries for the rows of one page. */
typedef struct dcsr_i_group {
    uint64_t page;
    uint64_t first, end; /* entries */
    const dcsr_i_row_page *old;
    dcsr_i_row_page
        *fresh; /* NULL once it is known that nothing of the page changes; in place: the old one, unless all
                               its rows move */
    dcsr_i_row_page **slot; /* of the next version, where the fresh page is */
    uint64_t needed;        /* places */
    uint64_t places;        /* where they begin */
    uint64_t ranges;        /* segments that moved rows leave behind, at most */
    uint64_t replaced;      /* how much of the old page is, at most */
    uint64_t retired;       /* where in the limbo list that goes */
    bool whole;             /* merging: all rows of the page move, one behind the other */
    bool stays;             /* merging: nothing of the page changes any more; then `fresh` has no content */
    bool shifted;           /* ... but some rows have been, where they are */
    uint64_t born;          /* then: the version of the old page before */
} dcsr_i_group;

/* How a row that is kept resolved takes up its entries: it is as if they had come already; they are merged into
 * it at a new place; those that it does not have are appended, where readers of older versions do not look; it is
 * changed where it is, as there are no such readers. */
typedef enum dcsr_i_way { DCSR_I_LEAVE, DCSR_I_MERGE, DCSR_I_APPEND, DCSR_I_SHIFT } dcsr_i_way;

/* Where an entry that has been looked for is in its row, by position, or would be: behind so many others of the part
 * that ascends. */
typedef struct dcsr_i_finding {
    uint32_t there : 1;
    uint32_t position : 31; /* says nothing of one that is there behind that part */
} dcsr_i_finding;

/* How a row takes up its entries. */
typedef struct dcsr_i_growth {
    uint64_t tail;     /* where the free places of its last segment begin */
    uint32_t room;     /* how many there are */
    uint32_t entries;  /* of the batch for this row */
    uint32_t capacity; /* of the new segment that it needs; of the moved row; 0: there is room */
    uint32_t absent;   /* merging, once its entries have been looked for: those that it does not have */
    uint8_t segments;  /* that it has */
    uint8_t way;       /* merging: dcsr_i_way */
    bool searched;     /* merging: its entries are looked for */
    bool changes;      /* ... and one that it has is deleted, or gets another value */
    bool behind;       /* ... and all of them come behind those that it has, which ascend */
    bool slack;        /* merging: with room to grow, since it grows at its end */
    bool full;         /* it can have no further segment */
    bool moves;        /* which it needs: into one new segment */
    bool skipped;      /* nothing is to be deleted from an empty row */
    bool
        taken_out; /* in place: entries are deleted from a row that is not kept resolved, without a tombstone */
} dcsr_i_growth;

typedef struct dcsr_i_batch {
    dcsr_matrix *matrix;
    const dcsr_i_table *base;
    uint64_t *entries; /* sorted: the operation's or the spare array */
    uint64_t n;        /* after combining */
    int stride, column_bits;
    uint32_t mark; /* DCSR_I_TOMBSTONE or 0 */
    bool bulk;     /* into an empty matrix: rows are laid out tight */
    bool merges;   /* the rows that it touches are resolved (merge_batch.c) */
    bool
        in_place; /* nobody holds a version, and nobody can before it is published: the pages of the current one
                          are changed themselves */
    dcsr_i_finding *found; /* merging: of the entries that are looked for */
    uint32_t *columns;     /* merging: room for the columns and values of its entries */
    char *values;
    dcsr_i_growth *growth; /* n of them, of which those at the first entry of a row are used */
    dcsr_i_group *groups;
    uint64_t group_count, group_capacity;
    uint64_t stored;    /* entries more that rows have which have been changed where they are */
    uint64_t placed;    /* groups whose pages the next version has */
    uint64_t housed;    /* groups that have their places */
    uint64_t longest;   /* rows that move */
    uint64_t deletions; /* tombstones that were written */
    int threads;
    uint64_t version;   /* that it makes */
    dcsr_i_table *next; /* in place: the current one */
    dcsr_i_limbo *limbo;
} dcsr_i_batch;

/* What changes in a table. */
typedef struct dcsr_i_table_change {
    uint64_t stored, extra, duplicates, tombstones, rewrites, deletions;
} dcsr_i_table_change;

static inline uint64_t dcsr_i_key_at(const dcsr_i_batch *b, uint64_t i)
{
    return b->entries[i * (uint64_t)b->stride];
}

static inline unsigned dcsr_i_row_in_page(const dcsr_i_batch *b, uint64_t key)
{
    return (unsigned)(key >> b->column_bits) & (DCSR_I_PAGE_ROWS - 1);
}

static inline uint32_t dcsr_i_column_at(const dcsr_i_batch *b, uint64_t i)
{
    return (uint32_t)(dcsr_i_key_at(b, i) & (((uint64_t)1 << b->column_bits) - 1));
}

/* Fills in, for each group, its fresh page and how many places its rows need. Nothing that a reader sees
 * changes. */
dcsr_status dcsr_i_plan_batch(dcsr_i_batch *b);
/* Writes entries, table entries and lengths, as planned. `resolvers`: one per thread. */
void dcsr_i_scatter_batch(dcsr_i_batch *b, dcsr_i_resolver *resolvers);

/* What planning and scattering share with merging. The end of the entries of the row that entry i is of. */
static inline uint64_t dcsr_i_row_end(const dcsr_i_batch *b, const dcsr_i_group *g, uint64_t i)
{
    uint64_t row = dcsr_i_key_at(b, i) >> b->column_bits;
    do i++;
    while (i < g->end && dcsr_i_key_at(b, i) >> b->column_bits == row);
    return i;
}
/* TOO_LARGE, if the row of entry i cannot be so long. */
dcsr_status dcsr_i_check_length(const dcsr_i_batch *b, uint64_t i, uint64_t length);
/* Where row r of a page that is there has room, and how much. */
void dcsr_i_find_room(const dcsr_i_batch *b, const dcsr_i_row_page *page, unsigned r, dcsr_i_growth *grows);
/* Gives the fresh page the segment pages that it cannot share: all of them when a row moves, or when the first
 * has no capacities yet; and those that no row of the page had before. In place only these. */
bool dcsr_i_make_segment_pages(const dcsr_i_batch *b, dcsr_i_group *g, bool moves, unsigned levels);
/* Writes n of the batch's entries, from the i-th on, to place `to`. */
void dcsr_i_store_entries(const dcsr_i_batch *b, uint64_t i, uint64_t n, uint64_t to);
/* In place: makes the group's page, which is about to be written, part of the current version. */
void dcsr_i_enter_page(const dcsr_i_batch *b, const dcsr_i_group *g);
/* How much of the old page is replaced, at most. */
void dcsr_i_count_replaced_by(const dcsr_i_batch *b, dcsr_i_group *g);
/* Notes the old row page, and those of its segment pages that were replaced, from `to` on, unless it is changed in
 * place; returns where they end. */
dcsr_i_retired *dcsr_i_retire_pages(const dcsr_i_batch *b, const dcsr_i_group *g, dcsr_i_retired *to);

/* Makes the fresh page of a group, a copy of the old one, in one that was taken before or a new one; in place, the old
 * one itself. And one that is a copy in any case. */
bool dcsr_i_make_page(const dcsr_i_batch *b, dcsr_i_group *g);
bool dcsr_i_copy_page(const dcsr_i_batch *b, dcsr_i_group *g);

/* merge_batch.c, find_batch.c: planning and scattering groups whose rows are kept resolved. First the rows of a group
 * are found, and it is decided in which of them entries are looked for; that is done for some groups together; then
 * each is planned. */
dcsr_status dcsr_i_find_rows(const dcsr_i_batch *b, dcsr_i_group *g, uint64_t *longest);
dcsr_status dcsr_i_find_entries(const dcsr_i_batch *b, dcsr_i_group *first, const dcsr_i_group *end,
                                uint64_t *longest);
dcsr_status dcsr_i_plan_merging(const dcsr_i_batch *b, dcsr_i_group *g, uint64_t *stored);
/* Takes back what planning has done to rows in place, where the batch has failed. */
void dcsr_i_unshift_rows(const dcsr_i_batch *b, const dcsr_i_group *g);
void dcsr_i_merge_group(const dcsr_i_batch *b, dcsr_i_group *g, dcsr_i_resolver *resolver,
                        dcsr_i_table_change *sum);

/* shift.c: the row of entry i takes up its entries, or gives them up, where it is; returns how many more it has. All
 * have been looked for, it is in one piece, and has room. And takes that back. */
uint64_t dcsr_i_shift_row(const dcsr_i_batch *b, dcsr_i_row_page *page, uint64_t i);
void dcsr_i_unshift_row(const dcsr_i_batch *b, dcsr_i_row_page *page, uint64_t i);
/* Deletes the entries of the row of entry i, of whatever order, where they are. Notes segments that it needs no more
 * from `to` on, all but one of them at most, and returns where that ends. */
dcsr_i_retired *dcsr_i_take_out(const dcsr_i_batch *b, dcsr_i_row_page *page, uint64_t i, dcsr_i_retired *to,
                                dcsr_i_table_change *sum);

/* Rows are found ahead of time so that their cache lines are on the way: groups to look ahead for pages, and
 * for what they point to. */
enum { DCSR_I_PAGES_AHEAD = 12, DCSR_I_SEGMENTS_AHEAD = 5, DCSR_I_ENTRIES_AHEAD = 8 };

#endif
