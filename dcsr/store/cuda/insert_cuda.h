/* insert_cuda.h: what the steps of applying a batch on a device share (internal): insert_cuda.c decides and takes
 * memory, insert.cu launches the steps, which are in plan.cuh, pages.cuh, merge.cuh and scatter.cuh.
 *
 *      entries  0 1 2 3 4 5 6 7 8 9     sorted keys
 *      rows     |0  |1|2      |3  |     the rows that the batch touches: first[], growth[], places[], offsets[]
 *      pages    |0    |1          |     and their pages: needs[]
 *
 * A batch is appended, which marks its rows, or merged, which keeps them resolved (merge.cuh). */
#ifndef DCSR_INSERT_CUDA_H
#define DCSR_INSERT_CUDA_H

#include "dcsr/base/cuda.h"
#include "dcsr/base/search.h"
#include "dcsr/store/cuda/stage_cuda.h"
#include "dcsr/store/rowtable_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Running counts over the entries and their end (tile_scan.cuh). */
#ifdef DCSR_SIMT
enum { DCSR_CUDA_TILE = 64 };
#else
enum { DCSR_CUDA_TILE = 1024 };
#endif
typedef struct dcsr_i_cuda_counters {
    uint32_t *within; /* of each entry */
    uint64_t *before; /* of each tile, and one more */
} dcsr_i_cuda_counters;

/* How a row takes up its entries. */
typedef struct dcsr_i_cuda_growth {
    uint64_t tail;   /* where the free places of its last segment begin */
    uint64_t begin;  /* merging: where its entries are */
    uint32_t room;   /* free places in its last segment; not merging, and if it moves: 0 */
    uint32_t lead;   /* entries that stand before the batch's in its new segment: all it has, if it moves */
    uint32_t length; /* what it has */
    uint32_t ordered,
        sorted;      /* merging: so many of these ascend; where in `tails` the rest is, if it moves */
    uint8_t segment; /* which one the new segment is */
    bool moves;      /* its segments have run out: into one new segment */
    bool marked;     /* it may hold duplicates, or a tombstone */
    bool skipped;    /* nothing is to be deleted from an empty row; merging: nothing changes */
    bool in_place;   /* merging: what it has is changed, or deleted, where it stands */
} dcsr_i_cuda_growth;

/* A row that moves, for its entries. */
typedef struct dcsr_i_cuda_mover {
    uint64_t to;       /* where it begins */
    uint32_t first, n; /* the batch's entries in it */
    uint32_t ordered, length, sorted;
    uint32_t rank; /* of the first, modulo 2^32 */
    uint64_t begin;
    bool all; /* of the batch's entries count */
} dcsr_i_cuda_mover;

/* What has been counted. */
typedef struct dcsr_i_cuda_counts {
    uint64_t entries; /* after combining */
    uint32_t rows, pages;
} dcsr_i_cuda_counts;

/* What has been planned, summed up over rows. */
typedef struct dcsr_i_cuda_plan {
    uint64_t too_long;                              /* 2^32 - the first row that would be too long; 0: none */
    uint64_t places;                                /* needed for new segments */
    uint64_t stored, extra, duplicates, tombstones; /* what the table's counts grow by */
    uint64_t moving, moving_marked; /* rows that move, and those of them that are to be resolved first */
    uint64_t moved, left;           /* entries of rows that move, and the places that they leave */
    uint64_t tails;                 /* of the entries of rows that move, those in their tails */
    uint64_t copying;               /* in place: rows whose pages are copied, or made */
    uint64_t listed, tails_listed;  /* while rows that move are listed */
    uint32_t ended;                 /* blocks of threads of the last kernel */
    uint32_t pages, segments;       /* pages that are made, and segment pages that they need of their own */
    uint32_t done;                  /* blocks of threads */
} dcsr_i_cuda_plan;

/* The most rows that move for which there may be room before it is known how many do. */
#ifdef DCSR_SIMT
enum { DCSR_CUDA_MOST_CLAIMED = 20 };
#else
enum { DCSR_CUDA_MOST_CLAIMED = 1 << 27 };
#endif

/* What the host has taken for a batch before it knows what it needs: at most so many of each. */
typedef struct dcsr_i_cuda_room_for {
    uint64_t places, moving, tails;
    uint32_t pages, segments;
} dcsr_i_cuda_room_for;

/* Whether the room suffices, and nothing has to be done before: else what follows does nothing. */
static inline DCSR_CUDA_BOTH_SIDES bool dcsr_i_cuda_fits(const dcsr_i_cuda_room_for *room,
                                                         const dcsr_i_cuda_plan *plan)
{
    return !plan->too_long && !plan->moving_marked && plan->places <= room->places &&
           plan->moving <= room->moving && plan->tails <= room->tails && plan->pages <= room->pages &&
           plan->segments <= room->segments;
}

/* The rows that move: a list for a walk (gather_cuda.h). */
typedef struct dcsr_i_cuda_moves {
    uint32_t *list;    /* their numbers; merging: NULL */
    uint64_t *to;      /* where each goes, behind `begin`; merging: where it is */
    uint64_t *offsets; /* of their entries, if they stood one behind the other; and the end */
    uint32_t *freed;   /* places that they leave, by block of the arena */
    uint64_t blocks;   /* of these */
    int shift;         /* a block is 2^shift places */
} dcsr_i_cuda_moves;

/* Written for the host. The needs of new pages, and the slots assigned to them, follow it in memory. */
typedef struct dcsr_i_cuda_report {
    dcsr_i_cuda_counts counts;
    dcsr_i_cuda_verdict found; /* of entries that come straight from a caller's arrays on the device */
    dcsr_i_cuda_plan plan;
    uint64_t complete; /* on the host: 1 once all is written */
} dcsr_i_cuda_report;

static inline DCSR_CUDA_BOTH_SIDES dcsr_i_cuda_page_need *dcsr_i_cuda_needs_in(dcsr_i_cuda_report *report)
{
    return (dcsr_i_cuda_page_need *)(report + 1);
}

/* One batch, for kernels. Arrays are in device memory. */
typedef struct dcsr_i_cuda_batch {
    const uint64_t *keys, *words;   /* words NULL: no values */
    uint64_t most;                  /* entries, before any were combined */
    uint64_t most_rows, most_pages; /* that are touched, at most */
    bool combined;                  /* counts->entries is there already */
    int column_bits;
    uint32_t mark;   /* DCSR_CUDA_TOMBSTONE or 0 */
    bool duplicates; /* a row that has entries may then hold duplicates that are to be combined */
    bool bulk;       /* into an empty matrix: rows are laid out tight */
    uint32_t slack;  /* of new segments (segment.h) */
    /* It may be taken back when it has been completed: new segments are entered in segment pages of its own. Else they
     * are written where pages of the versions before have nothing, which the next batch would take for theirs. */
    bool apart;
    /* Merging: the current version is changed, which nobody holds: its pages, and rows in these, where no version that
     * is held sees them; `seen` is the latest of those, 0: there is none. Other pages are copied, with the first
     * segment page. */
    bool in_place;
    uint64_t seen;

    dcsr_i_cuda_rows rows; /* what the matrix holds */
    dcsr_i_cuda_row_page *row_page;
    dcsr_i_cuda_segment_page *segment_page;

    dcsr_i_cuda_counters heads; /* which row and page an entry is in (insert.cuh) */
    dcsr_i_cuda_counters
        counted; /* merging: entries that rows get, or those found that they lose; values that change */
    uint32_t *positions; /* in place: of those found, where in their rows they are */
    dcsr_i_cuda_counts *counts;
    dcsr_i_cuda_plan *plan;
    dcsr_i_cuda_verdict *found;   /* NULL: the entries have been checked */
    dcsr_i_cuda_page_need *needs; /* of each page */
    uint32_t *first;              /* entry of each row; and where they end */
    dcsr_i_cuda_growth *growth;   /* of each row */
    uint32_t *places;             /* of each row's new segment */
    uint64_t *offsets;            /* most_rows + 1: where they begin, behind `begin` */
    uint32_t *moving;             /* which rows move, counted from 0, in any order */

    bool merges;
    int policy;
    uint32_t *tails;           /* columns of the tails of rows that move, ascending in each */
    dcsr_i_cuda_mover *movers; /* merging: of each row that moves, as they are listed */

    dcsr_i_cuda_room_for room;
    uint64_t begin;                  /* of the new places */
    const uint32_t *slots;           /* for row pages, room.pages of them, and then for segment pages */
    dcsr_i_cuda_page_change *copied; /* pages that are made */
    uint32_t *root;                  /* of the version that is made; in place: that which there is */
    uint64_t root_pages;
    dcsr_i_cuda_moves moves;
    dcsr_i_cuda_report *told;
    uint32_t *told_freed; /* as `freed` */
} dcsr_i_cuda_batch;

/* Entries as they were given; values have value_size bytes each. May be in pinned memory. */
typedef struct dcsr_i_cuda_given {
    const uint64_t *keys;        /* or NULL, and the following, which are to be checked */
    const uint64_t *rows, *cols; /* a caller's, on the device */
    const void *values;          /* NULL: none */
    uint32_t value_size;
    bool combine; /* those of one place */
} dcsr_i_cuda_given;

/* The longest root that one block of threads copies. */
enum { DCSR_CUDA_SHORT_ROOT = 4096 };
/* So many entries are merged in place at most: a reader that comes meanwhile waits, for a millisecond. A row that loses
 * some is put together by few threads, so a longer one moves. */
#ifdef DCSR_SIMT
enum { DCSR_CUDA_MOST_IN_PLACE = 2000, DCSR_CUDA_LONGEST_IN_PLACE = 60 };
#else
enum { DCSR_CUDA_MOST_IN_PLACE = 1 << 20, DCSR_CUDA_LONGEST_IN_PLACE = 1024 };
#endif
/* Few entries are prepared by one block of threads; very few, of few pages, and moving rows with few entries in their
 * tails, are applied by it. */
#ifdef DCSR_SIMT
enum {
    DCSR_CUDA_FEW_ENTRIES = DCSR_CUDA_TILE,
    DCSR_CUDA_VERY_FEW = 40,
    DCSR_CUDA_FEW_PAGES = 4,
    DCSR_CUDA_FEW_TAILS = 100
};
#else
enum {
    DCSR_CUDA_FEW_ENTRIES = DCSR_CUDA_TILE,
    DCSR_CUDA_VERY_FEW = 64,
    DCSR_CUDA_FEW_PAGES = 16,
    DCSR_CUDA_FEW_TAILS = 512
};
#endif

/* ---- Preparing: the rows and pages, and the plan. Sums and needs come as zeros. ---- */

/* Finds the rows and pages of sorted entries: heads, counts; and merging, looks for each in its row: counted. Clears
 * moves.freed. */
void dcsr_i_cuda_group_entries(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch);
/* Plans each row: first, growth, places, offsets, needs, moving, and the sums. If the batch is merged, rows that have
 * to be resolved before count as marked, and as moving. OUT_OF_MEMORY. */
dcsr_status dcsr_i_cuda_plan_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch);
/* All of this, and before it sorting the entries into `keys` and `words`, and combining them: for few of them, in one
 * launch. Sums and needs need not be zeros. */
void dcsr_i_cuda_prepare_few(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch, uint64_t *keys,
                             uint64_t *words, const dcsr_i_cuda_given *given);

/* Lists the numbers of those of the `rows` rows that move and are marked, ascending; places and offsets are
 * overwritten. OUT_OF_MEMORY. */
dcsr_status dcsr_i_cuda_coo_marked(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch, uint32_t rows,
                                   uint32_t *list);

/* ---- Completing, if it fits the room ---- */

/* Makes the root, gives slots to the pages and makes these, lists and moves the rows that move, writes the entries,
 * which the pages do not lead to yet, and each row's part of its page; tells the host. `freed` comes as zeros, and so
 * does plan->segments. If it does not fit, it is only told. OUT_OF_MEMORY. */
dcsr_status dcsr_i_cuda_complete(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch);

/* ---- Both, for very few entries of few pages, in one launch ---- */

/* What the batch has on the way is in shared memory: its arrays are not looked at. */
void dcsr_i_cuda_apply_very_few(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch,
                                const dcsr_i_cuda_given *given);

#ifndef __cplusplus
#include "dcsr/device/scratch_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"

/* ---- A batch as the host sees it ---- */

/* A batch that is being applied. */
typedef struct dcsr_i_cuda_insertion {
    dcsr_matrix *matrix;
    dcsr_i_cuda_stream *stream;
    dcsr_i_operation *operation; /* the first of those that are applied together */
    uint64_t *keys, *words;      /* of all of them, on the device */
    const dcsr_i_table *base;
    const char *doing;  /* for messages */
    bool merges;        /* into what is stored */
    bool few, very_few; /* entries: one block of threads prepares them, or applies them */
    bool claimed;       /* the current version is: until the batch is published, or given up */
    bool overtaken;     /* it has been planned in place, which cannot be: it is to be planned again */
    dcsr_i_cuda_given given;
    dcsr_i_cuda_batch device;    /* what kernels get */
    dcsr_i_cuda_report *summary; /* on the device */
    dcsr_i_cuda_report *told; /* what came back, in the landing area until that is used for something else */
    dcsr_i_cuda_counts counts;
    dcsr_i_cuda_plan plan;
    dcsr_i_cuda_build build;
    dcsr_i_cuda_scratch scratch;
} dcsr_i_cuda_insertion;

/* Device memory that is given back when the batch ends. */
static inline void *dcsr_i_cuda_insertion_take(dcsr_i_cuda_insertion *b, uint64_t count, size_t size)
{
    return dcsr_i_cuda_scratch_take(&b->scratch, count, size);
}

static inline size_t dcsr_i_cuda_report_size(uint64_t pages)
{
    return sizeof(dcsr_i_cuda_report) + pages * sizeof(dcsr_i_cuda_page_need);
}

/* ---- The room that is taken for it ahead: insert_room_cuda.c ---- */

/* What is likely to suffice, and costs nothing to take. */
dcsr_i_cuda_room_for dcsr_i_cuda_likely_room(const dcsr_i_cuda_insertion *b);
/* What is needed, now that it is known; and that for later batches. */
dcsr_i_cuda_room_for dcsr_i_cuda_needed_room(const dcsr_i_cuda_insertion *b);
void dcsr_i_cuda_note_needs(dcsr_i_cuda_insertion *b);

/* Takes the room: more places, if they are there, and nobody knows how many are needed. OUT_OF_MEMORY. */
dcsr_status dcsr_i_cuda_take_room(dcsr_i_cuda_insertion *b, const dcsr_i_cuda_room_for *room, bool likely);
/* The device has nothing to do with it any more, or its wait has failed. */
void dcsr_i_cuda_give_room(dcsr_i_cuda_insertion *b);
/* What is told, behind it what is freed of each block. */
uint32_t *dcsr_i_cuda_freed_of(const dcsr_i_cuda_insertion *b);
#endif

#ifdef __cplusplus
}
#endif
#endif
