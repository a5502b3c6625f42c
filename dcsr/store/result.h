/* result.h: rows that an operation computes, to replace what a matrix holds (internal).
 *
 *      dcsr_i_result_turn(matrix, compute)      the matrix's turn in its queue, in which compute() runs:
 *          dcsr_i_result_begin()
 *              threads:  dcsr_i_result_room()  ->  write entries  ->  dcsr_i_result_add()
 *          dcsr_i_result_publish()              or dcsr_i_result_drop() after a failure
 *
 * Each thread takes room for as many entries as its next rows may have, writes them, and says how many there
 * are; the rest of the room serves the rows that follow. So there is one pass, and nothing is copied: rows
 * are written where they stay. What is published is one new version.
 *
 * Rows that are not added are empty: of the old content nothing is left but what views see. Or they are kept
 * (dcsr_i_result.keeps): the new version shares them with the one before, as it does after an insertion. Then
 * a page of 64 rows costs something only if rows of it are added, and so does a row.
 *
 *      page of the version before     rows 0 .. 63 at places of the arena       pages to which no rows are
 *      its copy                       row 5: new places; all others the same    added are shared themselves
 *
 * Columns ascend in the rows that are added, strictly unless result.duplicates is set, which a matrix of
 * policy keep may have; so there is nothing to resolve in them.
 *
 * On a device the rows are collected in host memory, in order, and go there as CSR (result_collect.c). */
#ifndef DCSR_RESULT_H
#define DCSR_RESULT_H

#include "dcsr/store/store.h"

/* Where entries are to be written; values is NULL in a pattern-only matrix. */
typedef struct dcsr_i_room {
    uint32_t *columns;
    void *values;
} dcsr_i_room;

/* What the rows of a table that are kept no longer count for. */
typedef struct dcsr_i_replaced {
    uint64_t stored, extra_segments, duplicate_rows, tombstone_rows;
} dcsr_i_replaced;

/* What one thread has. */
typedef struct dcsr_i_result_thread {
    _Alignas(64) uint64_t stored; /* entries added */
    /* The room that is left: places in the arena; or, collecting, in arrays of the thread's own. */
    uint64_t next, end;
    uint64_t first; /* place of the first entry */
    bool gaps;      /* entries do not lie one behind the other from there on */
    uint32_t *columns;
    char *values;
    /* The page that rows are being added to, and pages for those that follow. */
    uint64_t number;
    dcsr_i_row_page *page;
    /* Where the table has its directory's pages, from number places_from on; NULL: not looked up yet. */
    dcsr_i_row_page **places;
    uint64_t places_from;
    unsigned stocked, portion; /* how many there are; how many come next */
    dcsr_i_row_page *stock[DCSR_I_PAGES_AT_ONCE];
    /* Where rows are kept: what those that are added replace. */
    dcsr_i_limbo *limbo;
    dcsr_i_replaced replaced;
} dcsr_i_result_thread;

typedef struct dcsr_i_result {
    dcsr_matrix *matrix;
    dcsr_i_result_thread *thread, alone; /* `threads` of them, or the one */
    int threads;
    uint64_t slab;          /* entries that a thread takes room for at once, at least */
    bool keeps;             /* rows that are not added stay as they are */
    atomic_bool duplicates; /* rows were added that have a column more than once: set by who adds them */
    /* On the cpu: */
    dcsr_i_table *table;
    dcsr_i_limbo *limbo;
    dcsr_i_extent *extents; /* the old home */
    uint64_t extent_count;
    bool retired;
    pthread_mutex_t lock; /* for directories and shelves of the table */
    /* Elsewhere: where the rows of each page of 64 were collected, and the CSR they become. */
    struct dcsr_i_collected *collected;
    dcsr_csr csr;
} dcsr_i_result;

/* Has compute(matrix, user) called with the matrix's turn in its queue: what is queued before is applied
 * first, what is queued meanwhile after. compute() builds a result of the shape that matrix->current has
 * then, and publishes it; or fails and leaves the matrix as it was. Returns what it returns;
 * DCSR_ERROR_DEADLOCK, naming `call`, where a function of the user's makes the call and the turn would never
 * come (turn.h).
 *
 * While the queue is idle the calling thread has the worker's turn meanwhile, so that little work wakes no
 * thread and makes no operation; but of a durable matrix, whose journal wants one, and elsewhere the worker
 * does it. */
dcsr_status dcsr_i_result_turn(dcsr_matrix *matrix, const char *call, dcsr_i_replace *compute, void *user);
/* The same for what leaves the entries as they are, if the queue is idle; else compute() is not called, and DCSR_OK
 * returned. Waits for maintenance that is under way, where no change does, and for nothing else. */
dcsr_status dcsr_i_idle_turn(dcsr_matrix *matrix, dcsr_i_replace *compute, void *user);

/* Begins a result that `threads` threads, numbered from 0, add rows to, of some `expected` entries: a guess
 * that decides in which portions room is taken. `keep`: rows that are not added stay as they are; not for a
 * matrix whose results are collected. On failure nothing is left behind. */
dcsr_status dcsr_i_result_begin(dcsr_i_result *result, dcsr_matrix *matrix, int threads, uint64_t expected,
                                bool keep);
/* Room for so many entries. A thread that has asked for more room may use that alone. */
dcsr_status dcsr_i_result_room(dcsr_i_result *result, int thread, uint64_t entries, dcsr_i_room *room);
/* Rows first to first + count - 1, of one page of 64 rows, stand one behind the other at the beginning of the
 * room that was taken last; what is behind them is room still. A page belongs to one thread, which adds its
 * rows in order, each once. */
dcsr_status dcsr_i_result_add(dcsr_i_result *result, int thread, uint64_t first, unsigned count,
                              const uint32_t *lengths);
/* The same, where rows are kept, for some of a page's rows: first + i for each bit i of `rows`, whose length
 * is lengths[i]. */
dcsr_status dcsr_i_result_add_some(dcsr_i_result *result, int thread, uint64_t first, uint64_t rows,
                                   const uint32_t *lengths);

/* Publishes, unless rows were to be kept and none was added. On failure, which on the cpu does not happen,
 * the matrix is as it was. Ends the result. */
dcsr_status dcsr_i_result_publish(dcsr_i_result *result);
/* Gives all back. */
void dcsr_i_result_drop(dcsr_i_result *result);

/* Whether results are collected in host memory, for an engine that has replace(). */
static inline bool dcsr_i_result_collects(const dcsr_matrix *matrix)
{
    return matrix->engine->replace != NULL;
}

/* ---- For result_patch.c ---- */
/* A page that does not belong to the table yet, of empty rows whose segments are to be written. NULL:
 * no memory. */
dcsr_i_row_page *dcsr_i_result_page(dcsr_i_result *result, dcsr_i_result_thread *t);
/* Where the table has page p, in a directory of its own, made by the first thread that needs it; where rows
 * are kept that thread retires what it replaces, two parts at most. NULL: no memory. */
dcsr_i_row_page **dcsr_i_result_slot(dcsr_i_result *result, dcsr_i_result_thread *t, uint64_t p);

/* ---- result_patch.c: adding rows where the others are kept ---- */
dcsr_status dcsr_i_patch_begin(dcsr_i_result *result);
dcsr_status dcsr_i_patch_add(dcsr_i_result *result, int thread, uint64_t first, uint64_t rows,
                             const uint32_t *lengths);
/* Subtracts from the table what was replaced, and puts together what that leaves behind; false when nothing
 * was added. */
bool dcsr_i_patch_end(dcsr_i_result *result);
void dcsr_i_patch_drop(dcsr_i_result *result);

/* ---- result_collect.c: collecting ---- */
dcsr_status dcsr_i_collect_begin(dcsr_i_result *result);
dcsr_status dcsr_i_collect_room(dcsr_i_result *result, int thread, uint64_t entries);
void dcsr_i_collect_add(dcsr_i_result *result, int thread, uint64_t first, unsigned count,
                        const uint32_t *lengths);
dcsr_status dcsr_i_collect_publish(dcsr_i_result *result);
void dcsr_i_collect_end(dcsr_i_result *result);

#endif
