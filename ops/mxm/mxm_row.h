/* mxm_row.h: rows of sparse matrix times sparse matrix (internal).
 *
 * A row of A B is the sum of rows of B, one for each entry of the row of A. First its columns are found,
 * without looking at values, in one of several ways (the table in mxm_row.c); then the products are added,
 * each at the place of its column in an array of sums, by a kernel of the semiring.
 *
 *      A[i]   (k, a)  (l, b)               runs    B[k]  . x . . x .        places    0 . 1 . .
 *                                                  B[l]  . x x . . .                  0 2 ...
 *
 * Runs are looked up for a group of neighbouring rows at once, so that their misses are under way together. */
#ifndef DCSR_MXM_ROW_H
#define DCSR_MXM_ROW_H

#include "ops/matrix/merge_row.h"

/* Entries of a row of B in one piece, and the entry of A that multiplies them. */
typedef struct dcsr_i_mxm_run {
    const uint32_t *columns;
    const void *values;
    uint32_t n;
    uint32_t entry; /* among the values of the group of rows of A */
} dcsr_i_mxm_run;

/* For each run in turn z[at[k] - base] += x[run.entry] * run.values[k] for k < run.n, where `at` are the run's
 * columns or, unless `index` is NULL, the next run.n of that. Where `source` is not NULL, values[source[k]] are
 * taken, for the next run.n of that. No place is there twice in a run. x and the values are of the
 * multiplication's types, NULL where it does not look at them. False where a user's function said so. */
typedef bool dcsr_i_mxm_kernel(const dcsr_semiring *semiring, void *z, const void *x,
                               const dcsr_i_mxm_run *runs, uint64_t count, const uint32_t *index,
                               uint32_t base, const uint32_t *source);

/* The kernel of a semiring: one of its own, or the one that applies the semiring's operators to blocks. */
dcsr_i_mxm_kernel *dcsr_i_mxm_kernel_of(const dcsr_semiring *semiring);

/* The runs of some neighbouring rows of A. */
typedef struct dcsr_i_mxm_group {
    uint64_t first, count;               /* rows; count is set where they are asked for one by one */
    const dcsr_i_mxm_run *runs;          /* none of them empty */
    const char *a;                       /* values of A; NULL where they are not looked at */
    uint64_t end[DCSR_I_PAGE_ROWS];      /* of each row's runs */
    uint64_t products[DCSR_I_PAGE_ROWS]; /* of each row */
    uint64_t of_one;                     /* bit k: row k has one run at most */
} dcsr_i_mxm_group;

/* A row whose places are known. Where the next has the same columns but for a shift, as inside a grid, its
 * places are the same. */
typedef struct dcsr_i_mxm_shape {
    dcsr_i_scratch runs, places, columns;
    dcsr_i_scratch parts, ends; /* mxm_windows.c */
    uint64_t count, products;   /* count 0: none is known */
    uint32_t length;
    bool has_windows;
} dcsr_i_mxm_shape;

/* Rows of B that were computed for a group: row i begins at begin[i]; entry e of A has row which[e]. */
typedef struct dcsr_i_mxm_made {
    dcsr_i_scratch which, begin, columns, values;
} dcsr_i_mxm_made;

/* Memory of one thread. */
typedef struct dcsr_i_mxm_thread {
    _Alignas(64) dcsr_i_mxm_group group;
    dcsr_i_mxm_shape shape;
    dcsr_i_mxm_made made;
    dcsr_i_scratch a, b, columns;       /* values that were cast; columns of A that were put together */
    dcsr_i_scratch runs;                /* of a group */
    dcsr_i_scratch clean;               /* all zero between rows */
    dcsr_i_scratch sums;                /* what they begin with, between rows */
    dcsr_i_scratch keys, spare, places; /* of products that are sorted, or picked by a mask */
    dcsr_i_scratch in_order;            /* 0, 1, 2, ... */
    dcsr_i_old_reader old;              /* of C, where it has the columns already */
    uint64_t row;                       /* that is being computed */
    uint64_t taken;                     /* bytes of all of these */
} dcsr_i_mxm_thread;

/* What is the same for all rows. */
typedef struct dcsr_i_mxm {
    const char *call; /* for messages */
    dcsr_context *context;
    const struct dcsr_i_mxm
        *inner; /* the product that is B; of that m->b has the shape and type alone; or NULL */
    const dcsr_semiring *semiring;
    dcsr_i_mxm_kernel *kernel;
    const dcsr_i_rows *a, *b;
    const dcsr_i_rows *bt; /* the columns of B, in a product by dot products; else NULL */
    bool values;           /* whether values of the result are wanted */
    bool reads_a, reads_b; /* whether the multiplication looks at them */
    bool cast_b;           /* whether those of B are of another type than it takes */
    bool has_windows;      /* whether short rows of a known shape are added up by mxm_windows.c */
    bool known;            /* whether C has the columns already */
    dcsr_i_old holds;      /* what C holds, if so */
    dcsr_matrix *C;
    uint64_t limit, share; /* of memory beside the result: for all, for a thread; UINT64_MAX: none */
    bool aside;            /* whether rows are merged with C, or cast, before they are written there */
    uint64_t most_entries,
        most_products; /* rows are taken together as long as they have fewer, of A and in all */
    size_t size;       /* of a value of the result */
    dcsr_i_mxm_thread *thread, alone; /* `threads` of them, or the one */
    int threads;
    struct dcsr_i_mxm_few *few; /* the first thread's memory, to begin with */
} dcsr_i_mxm;

/* Memory for a few short rows, which is not worth taking. */
typedef struct dcsr_i_mxm_few {
    dcsr_i_few clean, sums, others[6];
} dcsr_i_mxm_few;

/* The row that is being computed. */
typedef struct dcsr_i_mxm_row {
    const dcsr_i_mxm *m;
    dcsr_i_mxm_thread *t;
    const dcsr_i_mxm_run *runs, *before; /* and those of the row before; NULL: there is none in the group */
    uint64_t count, count_before;
    uint64_t products;
    dcsr_i_row known; /* the row of C, where that has the columns already */
    uint32_t first,
        last; /* the least and the largest column of the runs, once dcsr_i_mxm_bounds() was called */
} dcsr_i_mxm_row;

/* Looks up the runs of rows first to first + *count - 1 of A, which are of one page, or of fewer rows where
 * these have many: *count says of how many then. */
dcsr_status dcsr_i_mxm_group_open(const dcsr_i_mxm *m, dcsr_i_mxm_thread *t, uint64_t first, unsigned *count);
/* Row k of the group. */
void dcsr_i_mxm_row_of(dcsr_i_mxm_row *r, const dcsr_i_mxm *m, dcsr_i_mxm_thread *t, unsigned k);

/* How many entries row k of the group has at most. */
static inline uint64_t dcsr_i_mxm_most(const dcsr_i_mxm *m, const dcsr_i_mxm_thread *t, unsigned k)
{
    return t->group.products[k] < m->b->cols ? t->group.products[k] : m->b->cols;
}
/* Writes the first `count` rows of the group one behind the other to `room`, which holds as many as they have at
 * most, and their lengths. */
dcsr_status dcsr_i_mxm_group_write(const dcsr_i_mxm *m, dcsr_i_mxm_thread *t, unsigned count,
                                   dcsr_i_room room, uint32_t *lengths);
/* A row where the mask lets it through, for mask->n entries; mask->complement is false. */
dcsr_status dcsr_i_mxm_row_masked(dcsr_i_mxm_row *r, const dcsr_i_row_mask *mask, dcsr_i_room room,
                                  uint32_t *length);

/* ---- mxm.c: for who multiplies ---- */

/* The product of a and b, whose other members are set: its semiring is replaced by the simplest that does. */
void dcsr_i_mxm_factors(dcsr_i_mxm *m, const dcsr_i_rows *a, const dcsr_i_rows *b);
/* Of a producer by blocks, whose user is the product. */
dcsr_status dcsr_i_mxm_begin(void *m, int threads);
void dcsr_i_mxm_end(void *m);
dcsr_status dcsr_i_mxm_plan(void *m, int thread, uint64_t first, unsigned *count, uint64_t *entries);
dcsr_status dcsr_i_mxm_block(void *m, int thread, uint64_t first, unsigned count, dcsr_i_room room,
                             uint32_t *lengths);

/* ---- mxm_dots.c: a masked product by dot products ---- */

/* Whether that takes less than sums of rows of B; of B's columns, the rows of bt. `b_is_there`: its rows too. */
bool dcsr_i_mxm_dots_are_cheaper(const dcsr_i_rows *a, const dcsr_i_rows *bt, const dcsr_i_rows *mask,
                                 bool b_is_there);
/* Where neighbouring rows may be written: their columns one behind the other. */
typedef struct dcsr_i_mxm_positions {
    const uint32_t *columns, *lengths;
} dcsr_i_mxm_positions;
/* Rows first to first + count - 1, of one page, there: one behind the other to `room`, which holds as many entries as
 * there are positions, and their lengths. */
dcsr_status dcsr_i_mxm_dots(const dcsr_i_mxm *m, dcsr_i_mxm_thread *t, uint64_t first, unsigned count,
                            const dcsr_i_mxm_positions *where, dcsr_i_room room, uint32_t *lengths);

/* ---- For the ways of computing a row ---- */

/* Names the function that said no. */
dcsr_status dcsr_i_mxm_refused(const dcsr_i_mxm *m);

/* Finds first and last. */
void dcsr_i_mxm_bounds(dcsr_i_mxm_row *r);
/* Adds the products of a run that `source` picks, n of them. */
dcsr_status dcsr_i_mxm_add_some(const dcsr_i_mxm_row *r, const dcsr_i_mxm_run *run, void *z,
                                const uint32_t *index, const uint32_t *source, size_t n);
/* Room in one of the thread's arrays; OUT_OF_MEMORY also where the limit does not allow for it. */
dcsr_status dcsr_i_mxm_room(const dcsr_i_mxm *m, dcsr_i_mxm_thread *t, dcsr_i_scratch *scratch, size_t bytes);
/* Fails as it does not allow for so many bytes. */
dcsr_status dcsr_i_mxm_exceeds(const dcsr_i_mxm *m, const dcsr_i_mxm_thread *t, uint64_t bytes);
/* At least so many bytes of t->clean, all zero. NULL: no memory. */
void *dcsr_i_mxm_clean(const dcsr_i_mxm_row *r, uint64_t bytes);
/* Of t->sums, n that are what sums begin with. NULL: no memory. */
void *dcsr_i_mxm_sums(const dcsr_i_mxm_row *r, uint64_t n);
/* z[k] = sums[at[k] - base], which begin anew, for k < n. */
void dcsr_i_mxm_take(const dcsr_i_mxm_row *r, void *z, void *sums, const uint32_t *at, uint32_t base,
                     uint64_t n);

/* mxm_windows.c: rows whose shape is known. Whether it knows the semiring; what is made of a shape whose other parts
 * are there; and the values of a row of that shape. */
bool dcsr_i_mxm_has_windows(const dcsr_i_mxm *m);
dcsr_status dcsr_i_mxm_make_windows(const dcsr_i_mxm_row *r);
void dcsr_i_mxm_add_windows(const dcsr_i_mxm_row *r, double *values);

/* mxm_few.c: rows of few products. Whether this row is one. */
bool dcsr_i_mxm_is_few(const dcsr_i_mxm_row *r);
/* Finds the row's columns, and the place of each product among them, of which there is room for 16 more.
 * Returns how many there are. */
uint32_t dcsr_i_mxm_sort_few(const dcsr_i_mxm_row *r, uint32_t *columns, uint32_t *places);

#endif
