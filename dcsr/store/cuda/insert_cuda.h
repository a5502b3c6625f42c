/* insert_cuda.h: what the steps of applying a batch on a device share (internal): insert_cuda.c decides,
 * plan.cu, scatter.cu and merge.cu work.
 *
 *      entries  0 1 2 3 4 5 6 7 8 9     sorted keys
 *      rows     |0  |1|2      |3  |     the rows that the batch touches: first[], growth[], places[], offsets[]
 *      pages    |0    |1          |     and their pages: needs[]
 *
 * A batch is appended, which marks its rows, or merged, which keeps them resolved (merge.cu). */
#ifndef DCSR_INSERT_CUDA_H
#define DCSR_INSERT_CUDA_H

#include "dcsr/base/cuda.h"
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
    uint32_t done; /* blocks of threads */
} dcsr_i_cuda_counts;

/* What has been planned, summed up over rows. */
typedef struct dcsr_i_cuda_plan {
    uint64_t too_long;                              /* 2^32 - the first row that would be too long; 0: none */
    uint64_t places;                                /* needed for new segments */
    uint64_t stored, extra, duplicates, tombstones; /* what the table's counts grow by */
    uint64_t moving, moving_marked; /* rows that move, and those of them that are to be resolved first */
    uint64_t moved, left;           /* entries of rows that move, and the places that they leave */
    uint64_t tails;                 /* of the entries of rows that move, those in their tails */
    uint64_t listed, tails_listed;  /* while rows that move are listed */
    uint32_t done;                  /* blocks of threads */
} dcsr_i_cuda_plan;

/* One batch, for kernels. Arrays are in device memory. */
typedef struct dcsr_i_cuda_batch {
    const uint64_t *keys, *words; /* words NULL: no values */
    uint64_t most;                /* entries, before any were combined */
    uint64_t most_rows;           /* that are touched, at most */
    bool combined;                /* counts->entries is there already */
    int column_bits;
    uint32_t mark;   /* DCSR_CUDA_TOMBSTONE or 0 */
    bool duplicates; /* a row that has entries may then hold duplicates that are to be combined */
    bool bulk;       /* into an empty matrix: rows are laid out tight */
    uint32_t slack;  /* of new segments (segment.h) */

    dcsr_i_cuda_rows rows; /* what the matrix holds */
    dcsr_i_cuda_row_page *row_page;
    dcsr_i_cuda_segment_page *segment_page;

    dcsr_i_cuda_counters heads;   /* which row and page an entry is in (insert.cuh) */
    dcsr_i_cuda_counters counted; /* merging: entries that rows get, or those found that they lose */
    dcsr_i_cuda_counts *counts;
    dcsr_i_cuda_plan *plan;
    dcsr_i_cuda_page_need *needs; /* of each page */
    uint32_t *first;              /* entry of each row; and where they end */
    dcsr_i_cuda_growth *growth;   /* of each row */
    uint32_t *places;             /* of each row's new segment */
    uint64_t *offsets;            /* most_rows + 1: where they begin, behind `begin` */
    uint32_t *moving;             /* which rows move, counted from 0, in any order */

    bool merges;
    int policy;
    uint32_t *changes;         /* merging: of each row: not 0 if values change of entries that it has */
    uint32_t *tails;           /* columns of the tails of rows that move, ascending in each */
    dcsr_i_cuda_mover *movers; /* merging: of each row that moves, as they are listed */

    uint64_t begin;                        /* of the new places */
    const dcsr_i_cuda_page_change *copied; /* of each page */
} dcsr_i_cuda_batch;

/* The rows that move: a list for dcsr_i_cuda_gather(). */
typedef struct dcsr_i_cuda_moves {
    uint32_t *list;    /* their numbers */
    uint64_t *to;      /* where each goes, behind `begin` */
    uint64_t *offsets; /* of their entries, if they stood one behind the other; and the end */
    uint32_t *freed;   /* places that they leave, by block of the arena */
} dcsr_i_cuda_moves;

/* Finds the rows and pages: heads, counts; changes are zeros. */
void dcsr_i_cuda_group_entries(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch);

/* Finds the first entry of each row; merging, looks for each in its row: counted, changes. The plan comes as zeros. */
void dcsr_i_cuda_look_at_entries(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch);
/* Plans each row: growth, places, offsets, needs, moving, and the sums. The sums and needs come as zeros. If
 * the batch is merged, rows that have to be resolved before count as marked, and as moving. OUT_OF_MEMORY. */
dcsr_status dcsr_i_cuda_plan_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch);
/* Lists the numbers of those of the `rows` rows that move and are marked, ascending; places and offsets are
 * overwritten. OUT_OF_MEMORY. */
dcsr_status dcsr_i_cuda_coo_marked(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch, uint32_t rows,
                                   uint32_t *list);
/* Fills in the moves, of `moving` rows, and movers; freed comes as zeros, and a block of the arena is 2^shift places.
 * OUT_OF_MEMORY. */
dcsr_status dcsr_i_cuda_coo_moves(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch, uint32_t moving,
                                  int shift, const dcsr_i_cuda_moves *moves);

/* Writes the rows that move, merged with the batch's entries, and of the `entries` those that rows get. */
void dcsr_i_cuda_merge_entries(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch,
                               const dcsr_i_cuda_moves *moves, const dcsr_i_cuda_plan *plan,
                               uint64_t entries);

/* Writes the entries to their places, which the pages do not lead to yet. */
void dcsr_i_cuda_scatter_entries(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch,
                                 uint64_t entries);
/* Writes each row's part of its page. */
void dcsr_i_cuda_finish_rows(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_batch *batch, uint32_t rows);

#ifdef __cplusplus
}
#endif
#endif
