/* store_cuda.h: what the cuda engine keeps of a matrix, and how a change makes a version there (internal).
 *
 *      engine_cuda.c    the engine's table of functions; opening and closing
 *      page_pool_cuda.c     slots for pages
 *      table_cuda.c     roots and pages, building a version; table.cu copies and cuts pages
 *      insert_cuda.c    applies insertions and deletions, to the maintained transpose too; insert.cu
 *      rewrite_cuda.c   moves and resolves rows, and replaces them by those of a result; rewrite.cu, resolve.cu
 *      compact_cuda.c     rows one behind the other: defragmentation, filling from CSR, CSR views; gather.cu
 *      resize_cuda.c    changes the dimensions
 *      read_cuda.c      single entries, rows, measures; read.cu
 *
 * C decides and takes memory, kernels work. A change runs on the matrix's own stream in a few steps; after each the
 * host waits for the numbers that it needs for the next (how many pages, how many places); a batch is one step, as the
 * host takes what it is likely to need ahead. All that can fail has happened before the first kernel writes what others
 * can see. When a change has been published, everything it wrote has arrived: readers need no event. */
#ifndef DCSR_STORE_CUDA_H
#define DCSR_STORE_CUDA_H

#include "dcsr/base/cuda.h"
#include "dcsr/store/rowtable_cuda.h"
#include "dcsr/store/store.h"

/* Pages of one kind on the device: an array that grows in place, and the slots of it that are free. Guarded
 * by the lock of the matrix's `spare`. */
typedef struct dcsr_i_cuda_slots {
    dcsr_i_mapping memory;
    size_t page_size; /* bytes */
    bool of_rows;
    uint32_t top; /* slots ever in use */
    uint32_t *free;
    uint32_t free_count, capacity; /* `capacity` slots have room in the host's arrays */
    uint64_t *born;                /* by slot: the version that it was made for */
    /* By slot, of row pages only: the slots of their segment pages, as on the device. */
    uint32_t (*segment)[DCSR_MAX_SEGMENTS];
} dcsr_i_cuda_slots;

/* What a batch needs for each of its entries. */
typedef struct dcsr_i_cuda_needs {
    double places, moving, tails, pages;
} dcsr_i_cuda_needs;

typedef struct dcsr_i_cuda_store {
    dcsr_i_cuda_stream *stream;    /* the worker's */
    dcsr_i_cuda_stream *transfers; /* the worker's too: entries that come from the host ahead of time; NULL
                                    before the first */
    dcsr_i_cuda_slots row_pages, segment_pages;
    dcsr_i_cuda_needs seen[2]; /* what insertions and deletions have needed of late */
} dcsr_i_cuda_store;

/* The slots of a version's row pages, NONE for pages of empty rows. */
typedef struct dcsr_i_cuda_root {
    uint64_t pages;
    uint32_t *host, *device;
} dcsr_i_cuda_root;

/* Of dcsr_i_cuda_page_need.moves. */
#define DCSR_CUDA_ALL_LEVELS UINT32_MAX

static inline uint64_t dcsr_i_cuda_page_count(uint64_t rows)
{
    return (rows + DCSR_CUDA_PAGE_ROWS - 1) >> DCSR_CUDA_PAGE_SHIFT;
}

/* ---- page_pool_cuda.c ---- */
dcsr_status dcsr_i_cuda_slots_init(dcsr_i_cuda_slots *slots, dcsr_matrix *matrix, size_t page_size,
                                   bool rows);
void dcsr_i_cuda_slots_destroy(dcsr_i_cuda_slots *slots, dcsr_matrix *matrix);
/* Takes n slots for pages of a version: all or none. */
dcsr_status dcsr_i_cuda_slots_take(dcsr_i_cuda_slots *slots, dcsr_matrix *matrix, uint32_t n,
                                   uint64_t version, uint32_t *taken);
/* Those that can be taken without growing. */
uint32_t dcsr_i_cuda_slots_idle(const dcsr_i_cuda_slots *slots, dcsr_matrix *matrix);
/* Gives one back. The caller holds the lock of `spare`. */
void dcsr_i_cuda_slot_give(dcsr_i_cuda_slots *slots, uint32_t slot);
/* Returns the memory of the slots behind the last one in use. */
void dcsr_i_cuda_slots_trim(dcsr_i_cuda_slots *slots, dcsr_matrix *matrix);

/* ---- table_cuda.c ---- */

/* A table that is being built. */
typedef struct dcsr_i_cuda_build {
    dcsr_matrix *matrix;
    dcsr_i_cuda_stream *stream;
    const dcsr_i_table *base; /* what it shares pages with; NULL: nothing */
    bool for_view;            /* the base's segment pages may be written meanwhile, beyond its row lengths */
    bool laid_out;            /* the caller makes the pages, and enters them into the device's root */
    bool in_place, held;      /* base itself is to become the next version; while others are held */
    dcsr_i_table *table;      /* counts and dimensions as in base; all rows as in base. In place: base */
    dcsr_i_limbo *limbo;      /* what base alone uses of what has been replaced; NULL for views */
    uint32_t count;
    dcsr_i_cuda_page_change *changes; /* on the device: the pages in the order in which they were given */
    dcsr_i_cuda_page_change *staged;  /* the same in pinned memory */
    /* Where the device chooses the pages: slots for them, and behind these for `segments` segment pages; else NULL. */
    uint32_t *slots, segments;
} dcsr_i_cuda_build;

/* Begins: takes slots for the pages that are named, in ascending order, makes root and table of `version`
 * with rows x cols, and puts the making of the pages onto the stream. Rows of a new page are empty, new
 * segment pages have capacities of 0. `further` is how many retired objects the caller adds (one for the
 * old table is counted already). A base of more or fewer rows is cut or extended at page borders; pages
 * beyond are retired. For views only segment page 0 is copied, as far as row lengths reach. On failure nothing
 * is left behind. `base` NULL (a table that shares nothing) makes a limbo list all the same. */
dcsr_status dcsr_i_cuda_build_begin(dcsr_i_cuda_build *build, const dcsr_i_cuda_page_need *needs,
                                    uint32_t count, uint64_t rows, uint64_t cols, uint64_t version,
                                    uint64_t further);
/* Takes a page out again, which the device's root does not have. */
void dcsr_i_cuda_build_drop(dcsr_i_cuda_build *build, uint64_t page);
/* The same as dcsr_i_cuda_build_begin() where the device is going to choose the pages, and to make them and its root,
 * with the dimensions of base: takes slots for so many pages and segment pages, which are written to the caller's
 * pinned memory. In place there is a limbo list only where versions are held, or pages are taken. */
dcsr_status dcsr_i_cuda_build_ahead(dcsr_i_cuda_build *build, uint32_t pages, uint32_t segments,
                                    uint32_t *slots, uint64_t version, uint64_t further);
/* Enters what the device has chosen, `count` pages with what each got, and gives back the other slots. In place by a
 * caller who has claimed the version. */
void dcsr_i_cuda_build_enter(dcsr_i_cuda_build *build, const dcsr_i_cuda_page_need *needs, uint32_t count);
/* Ends: frees what only building needed. The table and the limbo list are the caller's. */
void dcsr_i_cuda_build_end(dcsr_i_cuda_build *build);
/* Gives up: waits for the stream and frees all of it. Places in the arena are the caller's. */
void dcsr_i_cuda_build_undo(dcsr_i_cuda_build *build);

/* Retires all row and segment pages of a table. */
void dcsr_i_cuda_retire_pages(dcsr_i_limbo *limbo, dcsr_matrix *matrix, const dcsr_i_table *table);
/* The most that those of the pages from `first` on can be. */
uint64_t dcsr_i_cuda_most_to_retire(const dcsr_i_table *table, uint64_t first);
/* Retires freed[b] places of each block b below `blocks`; without a limbo list gives them back, as nobody sees them. */
void dcsr_i_cuda_retire_places(dcsr_i_limbo *limbo, dcsr_matrix *matrix, const uint32_t *freed,
                               uint64_t blocks);

/* Any thread may do it. */
void dcsr_i_cuda_table_free(dcsr_matrix *matrix, dcsr_i_table *table);
void dcsr_i_cuda_free_unshared(dcsr_matrix *matrix, dcsr_i_table *own, const dcsr_i_table *base);
void dcsr_i_cuda_free_retired(dcsr_matrix *matrix, const dcsr_i_retired *retired);

/* What kernels read a version through. */
dcsr_i_cuda_rows dcsr_i_cuda_rows_of_table(const dcsr_matrix *matrix, const dcsr_i_table *table);
dcsr_i_rows dcsr_i_cuda_rows_of(const dcsr_matrix *matrix, const dcsr_i_table *table);
dcsr_i_rows dcsr_i_cuda_rows_of_csr(const dcsr_i_csr *csr);

/* ---- The engine's functions ---- */
dcsr_status dcsr_i_cuda_apply_entries(dcsr_matrix *matrix, dcsr_i_operation *operation);
dcsr_status dcsr_i_cuda_insert_transposed(dcsr_matrix *twin, dcsr_i_operation *operation,
                                          const dcsr_i_rows *rows);
dcsr_status dcsr_i_cuda_apply_resize(dcsr_matrix *matrix, uint64_t rows, uint64_t cols);
dcsr_status dcsr_i_cuda_tighten(dcsr_matrix *matrix);
dcsr_status dcsr_i_cuda_fill_matrix(dcsr_matrix *matrix, const dcsr_csr *csr, uint64_t *marked);
dcsr_status dcsr_i_cuda_fill_from_device(dcsr_matrix *matrix, const dcsr_csr *csr, void *stream,
                                         uint64_t *marked);
dcsr_status dcsr_i_cuda_replace(dcsr_matrix *matrix, const dcsr_csr *csr);
/* Makes n entries on the device the content of a matrix, and publishes that: keys row << 32 | column, which
 * ascend, `strictly` but for duplicates that the policy keeps, and values of its type. By whoever has the
 * matrix's turn, and has entered its stream, on which they are ready. */
dcsr_status dcsr_i_cuda_replace_entries(dcsr_matrix *matrix, const uint64_t *keys, const void *values,
                                        uint64_t n, bool strictly);

typedef struct dcsr_i_cuda_room {
    uint64_t first, entries;
} dcsr_i_cuda_room;

/* Rows that kernels write straight into the arena of a matrix, to become its content (compact_cuda.c). */
typedef struct dcsr_i_cuda_sink {
    dcsr_matrix *matrix;
    dcsr_i_cuda_stream *stream;
    /* On the device, for each row: the place at which it begins, and its entries; 0 at first. */
    uint64_t *begin;
    uint32_t *length;
    uint64_t stored; /* the sum of the lengths */
    bool contiguous; /* rows stand in order without gaps, and the first begins where the only room does */
    bool ascending;  /* columns ascend strictly in each row; else they are at least distinct */
    dcsr_i_cuda_room *room;
    uint64_t room_count, room_capacity;
} dcsr_i_cuda_sink;
typedef dcsr_status dcsr_i_cuda_produce(dcsr_i_cuda_sink *sink, void *user);
/* Takes room for so many entries. OUT_OF_MEMORY, TOO_LARGE. */
dcsr_status dcsr_i_cuda_sink_room(dcsr_i_cuda_sink *sink, uint64_t entries, uint64_t *first);
/* Gives the end of the latest room back, of which only `used` entries are wanted. */
void dcsr_i_cuda_sink_cut(dcsr_i_cuda_sink *sink, uint64_t used);
/* Calls produce(), which puts its work on sink->stream, and publishes what it has made. Called like
 * dcsr_i_cuda_replace_entries(). */
dcsr_status dcsr_i_cuda_replace_rows(dcsr_matrix *matrix, dcsr_i_cuda_produce *produce, void *user);

/* Entries of some rows on the device: keys row << 32 | column in order of rows, and values, NULL for pattern. */
typedef struct dcsr_i_cuda_held {
    uint64_t n, capacity; /* entries, and those that there is room for */
    uint64_t *keys;
    void *values;
    bool resolved; /* of those that are read: they were, and ascend; else each stands as it was stored */
} dcsr_i_cuda_held;
/* What rows hold whose numbers are given in device memory, ascending; called like dcsr_i_cuda_replace_entries().
 * Where one of them is unresolved all are resolved; equal keys are left of a policy that keeps duplicates alone.
 * The arrays are the caller's to free (DCSR_I_SCRATCH). Waits. */
dcsr_status dcsr_i_cuda_read_rows(dcsr_i_cuda_held *held, dcsr_matrix *matrix, const uint32_t *rows,
                                  uint64_t count);
/* Makes entries, which are of these rows alone, all that they hold, and publishes that; called like
 * dcsr_i_cuda_replace_entries(), with such keys, which are overwritten. The other rows stay what and where they are:
 * pages without any of these are shared with the version before. If the rows are empty and have been, there is no new
 * version. */
dcsr_status dcsr_i_cuda_replace_some(dcsr_matrix *matrix, const uint32_t *rows, uint64_t count,
                                     const dcsr_i_cuda_held *entries, bool strictly);
/* Inserts entries of rows of A into its twin, or removes them from it, on the twin's stream; keys are overwritten. */
dcsr_status dcsr_i_cuda_apply_transposed(dcsr_matrix *matrix, dcsr_i_kind kind,
                                         const dcsr_i_cuda_held *entries);
dcsr_status dcsr_i_cuda_rewrite(dcsr_i_rewritten *result, dcsr_matrix *matrix, const dcsr_i_table *base,
                                uint64_t version, const dcsr_i_selection *selection);
/* The same for the rows whose numbers are given in device memory, ascending: for insertion, whose moving rows
 * must be resolved first. */
dcsr_status dcsr_i_cuda_rewrite_rows(dcsr_i_rewritten *result, dcsr_matrix *matrix, const dcsr_i_table *base,
                                     uint64_t version, const dcsr_i_selection *selection,
                                     const uint32_t *rows, uint64_t count);
/* Lists the rows of a version that have entries, ascending: *count of them in *list, which the caller frees
 * (DCSR_I_SCRATCH), NULL for none. Takes 12 bytes for each 32 rows. Waits. select_rows_cuda.c. */
dcsr_status dcsr_i_cuda_rows_in_use(uint32_t **list, uint64_t *count, dcsr_i_cuda_stream *stream,
                                    const dcsr_i_cuda_rows *rows);
dcsr_status dcsr_i_cuda_measure(dcsr_i_measures *result, dcsr_context *context, const dcsr_i_rows *rows);
dcsr_status dcsr_i_cuda_look_up(dcsr_context *context, const dcsr_i_rows *rows, dcsr_policy policy, size_t n,
                                const uint64_t *row, const uint64_t *col, void *values, bool *stored);
dcsr_status dcsr_i_cuda_read_row(dcsr_context *context, const dcsr_i_rows *rows, uint64_t row,
                                 uint64_t capacity, uint32_t *columns, void *values, uint64_t *length);
dcsr_status dcsr_i_cuda_csr_fill(dcsr_i_csr *csr, dcsr_matrix *matrix, const dcsr_i_table *table);
void dcsr_i_cuda_csr_free(dcsr_i_csr *csr);
dcsr_status dcsr_i_cuda_csc_create(dcsr_i_csr **csc, dcsr_context *context, const dcsr_i_rows *rows,
                                   uint64_t version);
dcsr_status dcsr_i_cuda_download(dcsr_i_csr **csr, dcsr_context *context, const dcsr_i_rows *rows);
/* The same of the rows whose numbers are given in device memory, as they stand. */
dcsr_status dcsr_i_cuda_download_rows(dcsr_i_csr **csr, dcsr_context *context, dcsr_i_cuda_stream *stream,
                                      const dcsr_i_rows *rows, const uint32_t *list, uint64_t count);
extern const dcsr_i_finds_changed dcsr_i_cuda_finds_changed; /* changed_cuda.c */
dcsr_status dcsr_i_cuda_find_candidates(dcsr_i_candidates *candidates, dcsr_context *context,
                                        const dcsr_i_rows *from, const dcsr_i_rows *to);

#endif
