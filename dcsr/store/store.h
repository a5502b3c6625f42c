/* store.h: what a matrix is made of, and how a change goes through it (internal).
 *
 *      matrix.c       creates and destroys matrices; clone.c makes one that shares the version of another
 *      change.c       checks arguments, packs entries, queues operations
 *      queue.c        the queue and its worker thread; ticket.c: waiting for a change
 *      insert.c       applies insertions and deletions, with plan.c and scatter.c
 *      rewrite.c      moves rows; resolve.c combines duplicates and applies tombstones
 *      maintenance.c  resolving and defragmentation, and when they are worth it
 *      defragment.c   moves all rows together
 *      bulk.c         fills an empty matrix with triples
 *      compact.c      lays out rows contiguously; fills a matrix from CSR
 *      result.c       writes the result of an operation, which replaces the content: all, or some rows
 *      resize.c       changes the dimensions
 *      table.c        makes and frees the parts of row tables
 *      version.c      publishes versions, pins them, frees what no version can see any more
 *      lookup.c       single entries: reading; single.c: setting and removing, with an answer
 *      in_place.c     changes one entry of a version that nobody holds
 *      maintained_transpose.c  the transpose, if the matrix maintains it
 *
 * A change builds a new table beside the published one, which stays as it is (rowtable.h says what is shared),
 * allocates all that it needs before it writes anything that others can see, and publishes at the end. So a change that
 * fails leaves no trace. Where nobody holds a version in_place.c, and batches that claim it (insert.c), change the
 * published table itself; a batch that fails then takes back what it has written. */
#ifndef DCSR_STORE_H
#define DCSR_STORE_H

#include "dcsr/store/arena.h"
#include "dcsr/store/engine.h"
#include "dcsr/base/combine.h"
#include "dcsr/base/sort.h"
#include <string.h>

/* ---- What a version leaves behind ---- */

typedef enum dcsr_i_retired_kind {
    DCSR_I_TABLE,
    DCSR_I_TAIL,  /* a root, and all that it has from row `size` on, also in the arena */
    DCSR_I_PAGES, /* the same without what is in the arena */
    DCSR_I_SHELF,
    DCSR_I_DIRECTORY,
    DCSR_I_ROW_PAGE,
    DCSR_I_SEGMENT_PAGE,
    DCSR_I_RANGE,  /* places in the arena */
    DCSR_I_EXTENT, /* retired blocks of the arena */
    DCSR_I_ORIGIN, /* of a clone: the hold on what it no longer shares (clone.c) */
    /* On a device: slots of pages, and places of one block, just how many. */
    DCSR_I_ROW_SLOT,
    DCSR_I_SEGMENT_SLOT,
    DCSR_I_PLACES
} dcsr_i_retired_kind;

/* A retired object: it can be seen by the versions from `born` up to the one before its retirement. */
typedef struct dcsr_i_retired {
    dcsr_i_retired_kind kind;
    uint64_t born;
    union {
        void *pointer;
        uint64_t begin; /* place, slot, block */
    };
    uint64_t size; /* places, blocks; the first row */
} dcsr_i_retired;

/* The retired objects of one change, allocated with room for all of them before the change begins. */
typedef struct dcsr_i_limbo {
    struct dcsr_i_limbo *next;
    uint64_t count, capacity;
    bool has_root;   /* of the replaced version */
    bool has_origin; /* the next version shares nothing any more */
    dcsr_i_retired retired[];
} dcsr_i_limbo;

/* A version on which there is at least one hold. */
typedef struct dcsr_i_pin {
    uint64_t version;
    uint64_t count;
    dcsr_i_limbo *limbo_lists; /* of which this is the latest pinned version that can see them */
} dcsr_i_pin;

/* As many versions can be held without allocating memory. */
enum { DCSR_I_FEW_PINS = 4 };

/* ---- What views share ---- */

/* A held version, perhaps with rows resolved on top of it. */
typedef struct dcsr_i_held_version {
    dcsr_matrix *matrix;
    _Atomic uint64_t references;
    uint64_t version;
    const dcsr_i_table *base; /* as published */
    struct dcsr_i_held_version
        *twin;                       /* the transpose that belongs to the version; NULL: none is maintained */
    dcsr_i_table *own;               /* NULL, or a table that shares with base what was not resolved */
    uint64_t own_begin, own_entries; /* the places of the resolved rows */
    unsigned flags;                  /* of dcsr_view_create() that `own` was made for */
} dcsr_i_held_version;

/* Arrays of a CSR view. */
typedef struct dcsr_i_csr {
    _Atomic uint64_t references;
    dcsr_context *context;
    const dcsr_i_engine *engine; /* whose memory the arrays are in */
    uint64_t version;
    unsigned flags;
    dcsr_type type;
    uint64_t rows, cols, nnz;
    uint64_t *offsets;
    uint32_t *columns; /* the store's when hold is not NULL */
    void *values;
    size_t value_size;
    dcsr_i_held_version *hold; /* of a CSR that lends the store's entries */
    void *lender; /* whose the arrays are that the engine's csr_free() gives back to somebody else */
} dcsr_i_csr;

/* What a matrix caches of its current version, for views to share: its rows as stored and sorted; those of
 * its transpose, without and with duplicates, if there are any. */
enum { DCSR_I_CSR, DCSR_I_SORTED_CSR, DCSR_I_CSC, DCSR_I_CSC_DUPLICATES, DCSR_I_CACHED };
enum { DCSR_I_NUT, DCSR_I_NUT_DUPLICATES, DCSR_I_NUTS }; /* likewise of tiles */

/* More threads than this do not speed up one batch. Size classes of spare parts: four per doubling, from the
 * least size to some kilobytes. */
enum { DCSR_I_MAX_BATCH_THREADS = 64, DCSR_I_LEAST_PART = 64, DCSR_I_SPARE_PARTS = 28 };

/* ---- The matrix ---- */

/* Versions. `current` is replaced only by the worker, or by the caller that has its turn. */
typedef struct dcsr_i_versions {
    pthread_mutex_t lock;
    dcsr_i_table *current;
    const dcsr_tag *tag; /* of the batch being applied; NULL: the next version has that of the current */
    dcsr_i_pin *pins;    /* ascending by version; in few_pins while these suffice: asking takes no memory */
    dcsr_i_pin few_pins[DCSR_I_FEW_PINS];
    uint64_t pin_count, pin_capacity;
    dcsr_i_held_version *resolved[4];    /* by flags: the newest, shared while a view holds it; not counted */
    dcsr_i_csr *cached[DCSR_I_CACHED];   /* of the current version; counted */
    struct dcsr_i_nut *nut[DCSR_I_NUTS]; /* of the newest version of which they were asked for; counted */
    struct dcsr_i_facts *facts;          /* likewise */
    bool closed;                         /* the owner has released the matrix: nothing is cached any more */
    /* crowded: so many of the next changes leave the current version as it is, as a reader had to wait while it was
     * being changed, with the lock. claimed: while it is, how many these are to be in that case; else 0. */
    _Atomic int claimed, crowded;
    /* The last version of which it is known that columns ascend strictly in all rows, so there is nothing
     * to resolve or sort; 0: none. */
    _Atomic uint64_t ascending;
} dcsr_i_versions;

typedef struct dcsr_i_spare_parts {
    _Atomic(void *) part[DCSR_I_SPARE_PARTS];
} dcsr_i_spare_parts;

/* What was freed and is reused; the allocator would cost as much as all else that is done to a page. */
typedef struct dcsr_i_spare {
    pthread_mutex_t lock;    /* held while retired objects are freed */
    dcsr_i_row_page **pages; /* row pages, on the cpu, for the next batch */
    uint64_t page_count, page_capacity;
    /* Parts, one of each size class: small results that replace one another allocate none. NULL: there has been none
     * yet. */
    _Atomic(dcsr_i_spare_parts *) parts;
    bool ends; /* the matrix is being freed: no part is kept any more */
} dcsr_i_spare;

/* The transpose, if it is maintained (maintained_transpose.h). `twin` and `shown` are replaced in the
 * worker's turn, under the lock of the versions. */
typedef struct dcsr_i_transpose {
    bool maintained;
    atomic_bool wanted;         /* somebody needed a twin where there was none */
    struct dcsr_matrix *owner;  /* of a twin: whose it is and whose queue it has; not counted, lives longer */
    struct dcsr_matrix *twin;   /* NULL when it is given up */
    dcsr_i_held_version *shown; /* of the twin: what belongs to the current version; held */
    dcsr_i_held_version
        *next_shown; /* what belongs to the version that is about to be published; the worker's */
} dcsr_i_transpose;

/* What a clone shares with the matrix that it was made from: parts of the row table that were made for that matrix's
 * version of this number or before, which are never freed here, and places of its arena. Without one `version` is 0. */
typedef struct dcsr_i_origin {
    uint64_t version;
    dcsr_i_held_version
        *hold; /* NULL: nothing is shared any more; changes in the turn, under the versions' lock */
    unsigned
        depth; /* of clones, each made from the one before, of which this is the last; each keeps the one before */
} dcsr_i_origin;

/* Totals for dcsr_matrix_get_info(). */
typedef struct dcsr_i_counts {
    _Atomic uint64_t batches, inserted, removed, row_rewrites, defragmentations, busy_nanoseconds;
} dcsr_i_counts;

/* What has accumulated since rows were last moved or resolved (maintenance.c). */
typedef struct dcsr_i_due {
    _Atomic uint64_t extra_reads;   /* segments beyond the first of a row that readers have read */
    _Atomic uint64_t reads_seen;    /* so many when the worker last looked, and they were not enough */
    _Atomic uint64_t deletions;     /* tombstones written */
    _Atomic uint64_t resolve_reads; /* entries that views have had to resolve */
    _Atomic uint64_t resolved_last; /* by the last of these views */
    _Atomic uint64_t taken;         /* places that batches took since rows were last tidied */
    _Atomic uint64_t latest;        /* entries of the latest batch */
    uint64_t next_page;             /* from which on to tidy next; in the matrix's turn */
    uint64_t kept; /* places that whole defragmentation has left to versions that are held; likewise */
    uint64_t
        stuck; /* free places whose memory could not be given back, as it comes in larger pieces; likewise */
    _Atomic int
        unread; /* batches since a reader has asked for a version without duplicates; not more than a few */
    _Atomic int fresh; /* so many of the next batches are resolved as they are inserted (DCSR_RESOLVE_AUTO) */
} dcsr_i_due;

struct dcsr_matrix {
    dcsr_i_member member;
    dcsr_context *context;
    const dcsr_i_engine *engine;
    struct dcsr_i_cuda_store *cuda; /* what the cuda engine keeps beside the arena; NULL on the cpu */
    _Atomic uint64_t references;    /* the owner, holds, views */
    uint64_t serial;                /* no other matrix of this process has or had it */
    uint64_t family;                /* the serial of the first of its clones' ancestors */
    size_t value_size;
    dcsr_type type;
    dcsr_policy policy;
    int segments_per_row;
    uint32_t slack; /* of new segments (segment.h) */
    dcsr_defragmentation defragmentation;
    dcsr_resolution resolve;
    uint32_t inner_bytes; /* behind this structure, for its first table (dcsr_i_first_table_bytes()) */
    bool grow;            /* for insertions */

    dcsr_i_arena arena;
    dcsr_i_space space;           /* of the arena, unless that is in the space of the matrix's origin */
    _Atomic uint64_t table_bytes; /* row tables and limbo lists, of all versions */
    dcsr_i_versions versions;
    dcsr_i_spare spare;
    dcsr_i_origin origin;
    dcsr_i_transpose transpose;
    dcsr_i_queue queue;
    dcsr_i_counts counts;
    dcsr_i_due due;
};

/* Whether a part of the matrix's tables is its origin's: made for this version, or at most as old. */
static inline bool dcsr_i_is_shared(const dcsr_matrix *matrix, uint64_t born)
{
    return born <= matrix->origin.version;
}

/* ---- Rewriting rows: an engine's rewrite() ---- */

/* Which rows. */
typedef enum dcsr_i_rows_kind {
    DCSR_I_UNRESOLVED_ROWS, /* that may hold duplicates, or a tombstone */
    DCSR_I_TOMBSTONE_ROWS,
    DCSR_I_UNRESOLVED_OR_SPLIT_ROWS, /* unresolved ones and those of several segments */
    DCSR_I_UNSORTED_ROWS,            /* unresolved ones and those whose columns do not ascend */
    DCSR_I_ROWS_BEYOND,              /* with a column from column_limit on */
    DCSR_I_ALL_ROWS,                 /* that have entries */
    DCSR_I_UNTIDY_ROWS /* unresolved ones, those of several segments or with much more room than they
                                        need, and those in blocks of which less than most is in use; on a
                                        device those in the blocks of which least is in use */
} dcsr_i_rows_kind;

/* Rows to be rewritten into one segment each; those that may hold duplicates or tombstones are also
 * resolved. */
typedef struct dcsr_i_selection {
    dcsr_i_rows_kind kind;
    uint64_t column_limit; /* entries from this column on are dropped; DCSR_MAX_COLS: none */
    bool sorted;           /* sort the columns even of rows that need no resolving */
    bool slack;            /* leave room for growth */
    bool for_view; /* beside a running writer: use separate blocks, and do not read what it may be writing */
    uint64_t first_page,
        end_page; /* on the cpu: only rows of pages from first_page to end_page - 1; 0: of all */
    uint64_t
        most; /* DCSR_I_UNTIDY_ROWS: from first_page on, until so many entries are selected, or a share of the
                      pages have been looked at */
} dcsr_i_selection;

typedef struct dcsr_i_rewritten {
    dcsr_i_table *table;     /* NULL when no row was selected */
    dcsr_i_limbo *limbo;     /* what it no longer needs of base, unless for_view; room for one more */
    uint64_t begin, entries; /* the places taken; for a view in one piece */
    uint64_t next_page;      /* DCSR_I_UNTIDY_ROWS: where to go on; 0: that was the last page */
} dcsr_i_rewritten;          /* all zero on failure */

/* ---- maintenance.c: changes that leave the entries as they are. ---- */
/* By the worker: defragments the matrix and its twin, as a call asks for. */
dcsr_status dcsr_i_apply_defragment(dcsr_matrix *matrix, dcsr_defragment_scope scope);
/* In the matrix's turn: rewrites rows that a view wants resolved, for all views. Of a twin in its owner's turn. */
dcsr_status dcsr_i_resolve_for_all(dcsr_matrix *matrix, const dcsr_i_selection *selection);
/* By the worker: does what is due, in the matrix and in its twin, or builds the twin that is wanted. */
void dcsr_i_maintain(dcsr_matrix *matrix);
/* These count, and have the worker look when that may be due: */
/* A reader has read all rows of this table, which is the current one or an earlier one. */
void dcsr_i_was_read(dcsr_matrix *matrix, const dcsr_i_table *table);
/* A reader has had to resolve rows of so many entries. */
void dcsr_i_was_resolved(dcsr_matrix *matrix, uint64_t entries);
/* A reader has let go of a version, and something was freed by that. `stored`: the entries of the current version. */
void dcsr_i_was_let_go(dcsr_matrix *matrix, uint64_t stored);
/* A reader has asked for a version without duplicates and tombstones. */
void dcsr_i_wanted_fresh(dcsr_matrix *matrix);
/* In the matrix's turn, once a batch: whether it is to be resolved as it is inserted. */
bool dcsr_i_resolves_on_insert(dcsr_matrix *matrix);
/* In the matrix's turn: a change has been applied, with so many deletions. */
void dcsr_i_changed(dcsr_matrix *matrix, uint64_t deletions);

/* ---- The cpu's engine: entries.c, insert.c, resize.c, defragment.c, compact.c, rewrite.c, table.c ---- */
dcsr_status dcsr_i_check_arrays(const dcsr_matrix *matrix, const struct dcsr_i_entries *e);
dcsr_status dcsr_i_apply_entries(dcsr_matrix *matrix, dcsr_i_operation *operation);
dcsr_status dcsr_i_apply_resize(dcsr_matrix *matrix, uint64_t rows, uint64_t cols);
/* Growing, for any engine. How many rows and columns the entries need, where the matrix grows for them: written to *e;
 * INDEX_OUT_OF_RANGE where no matrix has them. */
dcsr_status dcsr_i_grow_for(const dcsr_matrix *matrix, struct dcsr_i_entries *e);
/* The dimensions that a batch is packed for: those that the queue leads to, or what it needs beyond. With the queue's
 * lock. */
void dcsr_i_grown(const dcsr_matrix *matrix, const struct dcsr_i_entries *e, uint64_t *rows, uint64_t *cols);
/* Queues, ahead of a batch, what makes the matrix as large as the batch was packed for. With the queue's lock. */
dcsr_status dcsr_i_grow_ahead(dcsr_matrix *matrix, const dcsr_i_packed *batch);
/* In the matrix's turn: a resize that only grows leaves what is larger already. */
void dcsr_i_settle_growth(const dcsr_matrix *matrix, dcsr_i_operation *operation);
dcsr_status dcsr_i_tighten(dcsr_matrix *matrix);
dcsr_status dcsr_i_fill(dcsr_matrix *matrix, const dcsr_csr *csr, uint64_t *marked);
dcsr_status dcsr_i_adopt(dcsr_matrix *matrix, const dcsr_csr *csr, const dcsr_i_home *given);
dcsr_status dcsr_i_rewrite(dcsr_i_rewritten *result, dcsr_matrix *matrix, const dcsr_i_table *base,
                           uint64_t version, const dcsr_i_selection *selection);
/* Resolves such of the selected rows as can be where they are: those of some pages from first_page on; returns the page
 * behind the last of these. None where somebody holds a version, or there is no memory. */
uint64_t dcsr_i_settle(dcsr_matrix *matrix, const dcsr_i_selection *selection);
void dcsr_i_free_unshared(dcsr_matrix *matrix, dcsr_i_table *own, const dcsr_i_table *base);
void dcsr_i_free_retired(dcsr_matrix *matrix, const dcsr_i_retired *retired);
dcsr_i_rows dcsr_i_rows_of(const dcsr_matrix *matrix, const dcsr_i_table *table);
dcsr_i_rows dcsr_i_rows_of_csr(const dcsr_i_csr *csr);
dcsr_status dcsr_i_csr_fill(dcsr_i_csr *csr, dcsr_matrix *matrix, const dcsr_i_table *table);
void dcsr_i_csr_free(dcsr_i_csr *csr);
dcsr_status dcsr_i_measure(dcsr_i_measures *result, dcsr_context *context, const dcsr_i_rows *rows);
uint64_t dcsr_i_count_live(dcsr_matrix *matrix, const dcsr_i_table *table, uint64_t *unresolved);
dcsr_status dcsr_i_look_up(dcsr_context *context, const dcsr_i_rows *rows, dcsr_policy policy, size_t n,
                           const uint64_t *row, const uint64_t *col, void *values, bool *stored);
dcsr_status dcsr_i_read_row(dcsr_context *context, const dcsr_i_rows *rows, uint64_t row, uint64_t capacity,
                            uint32_t *columns, void *values, uint64_t *length);

/* ---- compact.c ---- */
/* Writes the lengths of the rows of page p, which come as zeros. */
typedef void (*dcsr_i_lengths_of)(const void *user, uint64_t p, uint32_t length[DCSR_I_PAGE_ROWS]);
/* The lengths of rows, and the pages that have rows which are not empty; other pages may be listed, too. */
typedef struct dcsr_i_lengths {
    const dcsr_i_page_list *pages;
    dcsr_i_lengths_of lengths_of;
    void *user;
} dcsr_i_lengths;
/* A table of the current one's dimensions, whose rows are contiguous in separate blocks, from place
 * (*table)->first on; the entries are yet to be written. */
dcsr_status dcsr_i_tight_table(dcsr_i_table **table, dcsr_matrix *matrix, uint64_t version,
                               const dcsr_i_lengths *of);

/* Rows without duplicates, to fill an empty matrix that no other thread has access to: copy() writes their
 * entries in order, with so many threads, `entries` at most; their lengths are read after that. */
typedef struct dcsr_i_filling {
    uint64_t entries;
    dcsr_status (*copy)(void *user, int threads, uint32_t *columns, void *values);
    dcsr_i_lengths lengths; /* its user is that of copy() too */
} dcsr_i_filling;
dcsr_status dcsr_i_fill_rows(dcsr_matrix *matrix, const dcsr_i_filling *filling);

/* What dcsr_matrix_options.slack is for a share (segment.h). */
static inline double dcsr_i_slack_option(uint32_t share)
{
    return share ? (double)share / DCSR_I_SLACK_UNIT : DCSR_SLACK_NONE;
}

/* ---- rewrite.c, resolve.c ---- */

/* Room for resolving rows of up to `capacity` entries; one per thread. */
typedef struct dcsr_i_resolver {
    dcsr_context *context;
    uint64_t *keys, *spare;
    uint32_t *columns;
    uint64_t capacity;
} dcsr_i_resolver;
dcsr_status dcsr_i_resolver_init(dcsr_i_resolver *resolver, dcsr_context *context, uint64_t capacity);
void dcsr_i_resolver_free(dcsr_i_resolver *resolver);
/* Sorts the keys column << 32 | position of a row's entries, mostly a few ascending runs, one per batch. Returns which
 * of the two arrays holds the result. */
uint64_t *dcsr_i_keys_sort(uint64_t *keys, uint64_t *spare, uint64_t n);
/* A stored row: its pieces, in order of insertion, and whether the first one ascends strictly, as far as is
 * known. */
typedef struct dcsr_i_stretch {
    const dcsr_i_piece *pieces;
    int count;
    bool ascends;
} dcsr_i_stretch;
/* Resolves a row into the arena from place `to` on, where there is room for all its entries, and which must not
 * overlap them; returns how many are left. */
uint64_t dcsr_i_resolve_row(dcsr_i_resolver *resolver, dcsr_matrix *matrix, const dcsr_i_stretch *stretch,
                            uint64_t column_limit, uint64_t to);
/* Copies entries within the arena; the two ranges do not overlap. Most pieces are a few entries, for which
 * calling memcpy costs more than copying. */
static inline void dcsr_i_copy_entries(const dcsr_matrix *matrix, uint64_t to, uint64_t from,
                                       uint64_t entries)
{
    enum { FEW = 16 };
    size_t size = matrix->value_size;
    uint32_t *columns = matrix->arena.columns;
    char *values = matrix->arena.values;
    if (entries > FEW || (size != 0 && size != sizeof(uint64_t))) {
        memcpy(columns + to, columns + from, entries * sizeof *columns);
        if (size) memcpy(values + to * size, values + from * size, entries * size);
        return;
    }
    for (uint64_t e = 0; e < entries; e++) columns[to + e] = columns[from + e];
    if (!size) return;
    for (uint64_t e = 0; e < entries; e++)
        ((uint64_t *)values)[to + e] = ((const uint64_t *)values)[from + e];
}

/* ---- table.c ---- */
dcsr_i_table *dcsr_i_table_create(dcsr_matrix *matrix, uint64_t rows, uint64_t cols, uint64_t version);
/* The first table of a matrix, of version 1. That of few rows stands behind the matrix, as part of its memory, of so
 * many bytes; 0: it does not. */
size_t dcsr_i_first_table_bytes(uint64_t rows);
dcsr_i_table *dcsr_i_first_table(dcsr_matrix *matrix, uint64_t rows, uint64_t cols);
/* A copy of the root alone, for the next version; with other dimensions also of a shelf, if that cannot be
 * shared. */
dcsr_i_table *dcsr_i_table_copy(dcsr_matrix *matrix, const dcsr_i_table *table, uint64_t rows, uint64_t cols);
void dcsr_i_table_free(dcsr_matrix *matrix, dcsr_i_table *table); /* the root alone */
/* Where `table`, which is being built beside `base` (NULL: from nothing), has page p: in a directory on a
 * shelf of its own, which are made if it shares base's or has none. The parts of base that these replace, two
 * at most, go into the limbo list, unless that is NULL. Returns NULL if there is no memory. */
dcsr_i_row_page **dcsr_i_page_slot(dcsr_matrix *matrix, dcsr_i_table *table, const dcsr_i_table *base,
                                   uint64_t p, dcsr_i_limbo *limbo);
/* The shelves and directories of base that the table does not share: counts them, and puts them into the
 * limbo list. */
uint64_t dcsr_i_retire_replaced(dcsr_i_limbo *limbo, const dcsr_i_table *base, const dcsr_i_table *table);
static inline uint64_t dcsr_i_count_replaced(const dcsr_i_table *base, const dcsr_i_table *table)
{
    return dcsr_i_retire_replaced(NULL, base, table);
}
/* Allocation of the other parts, counted in table_bytes. */
dcsr_i_row_page *dcsr_i_row_page_create(dcsr_matrix *matrix, const dcsr_i_row_page *from, uint64_t version);
/* For many at once: makes room for n spare pages; takes up to n of them into pages[0], pages[stride bytes
 * on], ..., to be set up with init, and returns how many. */
void dcsr_i_row_pages_expect(dcsr_matrix *matrix, uint64_t n);
uint64_t dcsr_i_row_pages_take(dcsr_matrix *matrix, uint64_t n, dcsr_i_row_page **pages, size_t stride);
void dcsr_i_row_page_init(const dcsr_matrix *matrix, dcsr_i_row_page *page, const dcsr_i_row_page *from,
                          uint64_t version);
/* Frees the spare pages. */
void dcsr_i_row_pages_drain(dcsr_matrix *matrix);
/* A segment page without segments. */
dcsr_i_segment_page *dcsr_i_segment_page_create(dcsr_matrix *matrix);
/* Writes segments k of a page's rows to another segment page. What the origin has too is written there meanwhile: of
 * that only what the rows have filled is copied, so that they have no room there (share.c). */
void dcsr_i_segments_copy(dcsr_i_segment_page *to, const dcsr_matrix *matrix, const dcsr_i_row_page *page,
                          int k);
/* A copy of segment page k of a page, likewise. */
dcsr_i_segment_page *dcsr_i_segment_page_copy(dcsr_matrix *matrix, const dcsr_i_row_page *page, int k);
/* n row pages, DCSR_I_PAGES_AT_ONCE at most, of empty rows, each with a segment page that is yet to be written; all or
 * none. */
enum { DCSR_I_PAGES_AT_ONCE = 64 };
bool dcsr_i_pages_create(dcsr_matrix *matrix, size_t n, dcsr_i_row_page **pages, uint64_t version);
/* Whether all rows of a page are in one segment each, which they fill. */
bool dcsr_i_page_is_tight(const dcsr_matrix *matrix, const dcsr_i_row_page *page);
/* Frees a row page and those of its segment pages that it does not share with `base`, which may be NULL. */
void dcsr_i_page_free(dcsr_matrix *matrix, dcsr_i_row_page *page, const dcsr_i_row_page *base);
void dcsr_i_row_page_free(dcsr_matrix *matrix, dcsr_i_row_page *page);
void dcsr_i_row_page_free_locked(dcsr_matrix *matrix, dcsr_i_row_page *page);
void dcsr_i_segment_page_free(dcsr_matrix *matrix, dcsr_i_segment_page *page);

/* ---- parts.c ---- */
/* Memory of the row table and its history, counted in table_bytes. */
void *dcsr_i_part_create(dcsr_matrix *matrix, size_t size);
bool dcsr_i_parts_create(dcsr_matrix *matrix, size_t n, size_t size, void **parts);
void dcsr_i_part_free(dcsr_matrix *matrix, void *part, size_t size);
/* Frees the spare parts, when the matrix ends. */
void dcsr_i_parts_drain(dcsr_matrix *matrix);
/* Gives a page that was copied from `old` separate segment pages, so that rows can be moved: those that rows of the
 * mask `kept` need, or all. On failure, what was allocated is freed with the page. */
bool dcsr_i_own_segment_pages(dcsr_matrix *matrix, dcsr_i_row_page *page, const dcsr_i_row_page *old,
                              uint64_t kept, uint64_t version);
/* Frees those segment pages of a page, which nobody else sees, that no row needs any more. */
void dcsr_i_drop_segment_pages(dcsr_matrix *matrix, dcsr_i_row_page *page);
/* The segments of a row with their capacities, including a last segment that is not in use yet; of a page that the
 * origin has too, what is filled. For the writer. */
int dcsr_i_segments_of(const dcsr_matrix *matrix, const dcsr_i_row_page *page, unsigned r,
                       dcsr_i_piece pieces[DCSR_MAX_SEGMENTS]);

/* ---- version.c ---- */
dcsr_i_limbo *dcsr_i_limbo_create(dcsr_matrix *matrix, uint64_t capacity);
void dcsr_i_limbo_free(dcsr_matrix *matrix, dcsr_i_limbo *limbo);
void dcsr_i_retire(dcsr_i_limbo *limbo, dcsr_i_retired_kind kind, uint64_t born, void *pointer,
                   uint64_t size);
/* Retires what a table has behind the last row of the next one, which has fewer rows: in the arena, pages,
 * their directories and shelves, and the root. `next` shares no page, directory or shelf of that. All of it
 * is freed as one, when no version can see any of it; so it takes at most this many retired objects, however
 * much is dropped. */
enum { DCSR_I_MOST_OF_TAIL = 2 };
void dcsr_i_retire_tail(dcsr_i_limbo *limbo, dcsr_matrix *matrix, dcsr_i_table *table,
                        const dcsr_i_table *next);
/* Frees that part of it in the arena which versions from 1 to `seen` cannot see; the rest is freed with the
 * retired objects. (Blocks of the arena must not be held longer than the extent that they belong to.) The caller
 * holds the lock of the spare parts. */
void dcsr_i_thin_tail(dcsr_matrix *matrix, const dcsr_i_retired *retired, uint64_t seen);
/* Retires all of a table, except for what is in the arena, as one object likewise; in a clone also the hold on its
 * origin, as the next version shares nothing. */
static inline uint64_t dcsr_i_count_of_table(const dcsr_matrix *matrix)
{
    return matrix->origin.hold ? 2 : 1;
}
void dcsr_i_retire_table(dcsr_i_limbo *limbo, dcsr_matrix *matrix, dcsr_i_table *table);
/* Retire a row page and its segment pages, but not its rows' places; places; blocks. */
void dcsr_i_retire_page(dcsr_i_limbo *limbo, const dcsr_matrix *matrix, const dcsr_i_row_page *page);
void dcsr_i_retire_range(dcsr_i_limbo *limbo, dcsr_i_arena *arena, uint64_t begin, uint64_t entries);
void dcsr_i_retire_extents(dcsr_i_limbo *limbo, const dcsr_i_extent *extents, uint64_t count);

/* Makes `next` the current version; what is in the limbo list, and in those linked to it, is freed as soon as
 * no hold can see it. The first limbo list must have room for one more object, unless it has the old
 * table. Cannot fail. */
void dcsr_i_publish(dcsr_matrix *matrix, dcsr_i_table *next, dcsr_i_limbo *limbo);

/* In the matrix's turn, for a batch that changes what the current version shows, which is allowed where nobody holds
 * that, nor tiles are kept; what a version that is held sees, too, has to stay. Whether that is likely, and fair to
 * readers, and which is the latest version that is held, 0: none is; then claiming makes sure that none after that is
 * until the change is published, which makes the version the next one, or the claim is given up: who asks for a version
 * meanwhile waits, and so does who lets one go. False: it is not allowed. What is published may leave retired objects,
 * limbo may be NULL. */
bool dcsr_i_may_claim_version(dcsr_matrix *matrix, uint64_t *seen);
bool dcsr_i_claim_version(dcsr_matrix *matrix, uint64_t seen);
/* The same for so short a time that whoever has to wait need not be counted. */
bool dcsr_i_claim_briefly(dcsr_matrix *matrix, uint64_t seen);
void dcsr_i_unclaim_version(dcsr_matrix *matrix);
void dcsr_i_publish_claimed(dcsr_matrix *matrix, dcsr_i_limbo *limbo);

/* Gives the current version a tag. */
void dcsr_i_matrix_tag(dcsr_matrix *matrix, const dcsr_tag *tag);

/* Holds the current version for the time of a call, in the caller's memory; without the twin's. */
dcsr_status dcsr_i_held_version_open(dcsr_i_held_version *hold, dcsr_matrix *matrix);
void dcsr_i_held_version_close(dcsr_i_held_version *hold);
/* Holds the current version. */
dcsr_status dcsr_i_held_version_create(dcsr_i_held_version **hold, dcsr_matrix *matrix);
/* Adds a reference, which has to be released as well; NULL gives NULL. */
dcsr_i_held_version *dcsr_i_held_version_hold(dcsr_i_held_version *hold);
/* Another hold on the version that `held` holds, as published. */
dcsr_status dcsr_i_held_version_again(dcsr_i_held_version **hold, const dcsr_i_held_version *held);
void dcsr_i_held_version_release(dcsr_i_held_version *hold);

/* ---- csr.c ---- */
/* The slot of the cache for what the flags ask for; -1: none. */
int dcsr_i_csr_slot(unsigned flags);
/* The cached arrays of this version, held for the caller, or NULL. */
dcsr_i_csr *dcsr_i_csr_cached(dcsr_matrix *matrix, int slot, uint64_t version);
/* Caches the arrays if their version is still the current one. */
void dcsr_i_csr_cache(dcsr_matrix *matrix, int slot, dcsr_i_csr *csr);
/* Empties the cache, for good. */
void dcsr_i_csr_forget(dcsr_matrix *matrix);
/* Offsets of n rows or columns, as `lines` says; NULL with a message that says what would need no offsets. */
uint64_t *dcsr_i_offsets_create(dcsr_context *context, const char *lines, uint64_t n);
dcsr_status dcsr_i_csr_create(dcsr_i_csr **csr, dcsr_matrix *matrix, dcsr_i_held_version *hold,
                              unsigned flags);
void dcsr_i_csr_release(dcsr_i_csr *csr);

/* ---- clone.c ---- */
/* Releases a clone's hold on what it has shared. */
void dcsr_i_origin_release(dcsr_i_held_version *hold);
/* The cpu's engine: makes an empty matrix that nobody else knows one that shows the held version of another. */
dcsr_status dcsr_i_share(dcsr_matrix *clone, dcsr_i_held_version *hold);

/* ---- matrix.c ---- */

void dcsr_i_matrix_retain(dcsr_matrix *matrix);
void dcsr_i_matrix_release(dcsr_matrix *matrix);
dcsr_status dcsr_i_matrix_check(const dcsr_matrix *matrix);
/* The options of a matrix, none of which is default. */
dcsr_matrix_options dcsr_i_matrix_options_of(const dcsr_matrix *matrix);
/* An empty matrix of the same context, type and options, which the context does not know yet. */
dcsr_status dcsr_i_matrix_open_like(dcsr_matrix **matrix, const dcsr_matrix *like, uint64_t rows,
                                    uint64_t cols);
/* An empty matrix of the same context and type, which has no queue of its own. */
dcsr_status dcsr_i_matrix_open_inner(dcsr_matrix **inner, const dcsr_matrix *matrix, uint64_t rows,
                                     uint64_t cols, dcsr_policy policy, dcsr_defragmentation defragmentation);
/* Frees what was kept for later changes, for the twin too. */
void dcsr_i_matrix_trim(dcsr_matrix *matrix);
/* What public calls delegate to, so that messages name the call that the user made. */
dcsr_status dcsr_i_matrix_create(dcsr_matrix **matrix, const char *call, dcsr_context *context,
                                 dcsr_type type, uint64_t rows, uint64_t cols,
                                 const dcsr_matrix_options *options);
/* Whether the arrays of a CSR in host memory, whose type is one, are there and fit its dimensions. */
dcsr_status dcsr_i_csr_check(const dcsr_csr *csr, dcsr_context *context);
dcsr_status dcsr_i_matrix_from_csr(dcsr_matrix **matrix, const char *call, dcsr_context *context,
                                   const dcsr_csr *csr, const dcsr_matrix_options *options);
dcsr_status dcsr_i_matrix_insert(dcsr_matrix *matrix, const char *call, size_t n, const uint64_t *rows,
                                 const uint64_t *cols, const void *values, dcsr_ticket **ticket);
dcsr_status dcsr_i_matrix_insert_device(dcsr_matrix *matrix, const char *call, size_t n, const uint64_t *rows,
                                        const uint64_t *cols, const void *values, void *stream,
                                        dcsr_ticket **ticket);
dcsr_status dcsr_i_check_dimensions(const char *call, uint64_t rows, uint64_t cols);

#endif
