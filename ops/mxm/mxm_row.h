/* mxm_row.h: one row of sparse matrix times sparse matrix (internal).
 *
 * A row of A B is the sum of rows of B, one for each entry of the row of A. First its columns are found,
 * without looking at values, in one of several ways (the table in mxm_row.c); then the products are added,
 * each at the place of its column in an array of sums, by a kernel of the semiring.
 *
 *      A[i]   (k, a)  (l, b)               runs    B[k]  . x . . x .        places    0 . 1 . .
 *                                                  B[l]  . x x . . .                  0 2 ...
 */
#ifndef DCSR_MXM_ROW_H
#define DCSR_MXM_ROW_H

#include "ops/matrix/write_matrix.h"

/* z[index[k] - base] += *a * b[source[k]] for k < n; source NULL: b[k]. No index is there twice. a and b are
 * of the multiplication's types, NULL where it does not look at them. False where a user's function said so.
 */
typedef bool dcsr_i_mxm_kernel(const dcsr_semiring *semiring, void *z, const uint32_t *index, uint32_t base,
                               const void *a, const void *b, const uint32_t *source, size_t n);

/* The kernel of a semiring: one of its own, or the one that applies the semiring's operators to blocks. */
dcsr_i_mxm_kernel *dcsr_i_mxm_kernel_of(const dcsr_semiring *semiring);

/* Entries of a row of B in one piece, and the entry of A that multiplies them. */
typedef struct dcsr_i_mxm_run {
    const uint32_t *columns;
    const void *values;
    uint32_t n;
    uint32_t entry; /* position in the row of A */
} dcsr_i_mxm_run;

/* Memory of one thread. */
typedef struct dcsr_i_mxm_thread {
    _Alignas(64) dcsr_i_row_reader reader;
    dcsr_i_scratch a, b;                /* values that were cast */
    dcsr_i_scratch runs;                /* of a row */
    dcsr_i_scratch clean;               /* all zero between rows */
    dcsr_i_scratch sums;                /* what they begin with, between rows */
    dcsr_i_scratch keys, spare, places; /* of products that are sorted, or picked by a mask */
} dcsr_i_mxm_thread;

/* What is the same for all rows. */
typedef struct dcsr_i_mxm {
    dcsr_context *context;
    const dcsr_semiring *semiring;
    dcsr_i_mxm_kernel *kernel;
    const dcsr_i_rows *a, *b;
    bool values;                      /* whether values of the result are wanted */
    bool reads_a, reads_b;            /* whether the multiplication looks at them */
    bool cast_b;                      /* whether those of B are of another type than it takes */
    size_t x_size;                    /* of a value of its first operand */
    size_t size;                      /* of a value of the result */
    dcsr_i_mxm_thread *thread, alone; /* `threads` of them, or the one */
    int threads;
    struct dcsr_i_mxm_few *few; /* the first thread's memory, to begin with */
} dcsr_i_mxm;

/* Memory for a few short rows, which is not worth taking. */
typedef struct dcsr_i_mxm_few {
    dcsr_i_few clean, sums, others[5];
} dcsr_i_mxm_few;

/* The row that is being computed. */
typedef struct dcsr_i_mxm_row {
    const dcsr_i_mxm *m;
    dcsr_i_mxm_thread *t;
    const dcsr_i_mxm_run *runs; /* none of them empty */
    uint64_t count;
    uint64_t products;
    uint32_t first, last; /* the least and the largest column of the runs */
    const char *a;        /* the values of the row of A; NULL where they are not looked at */
} dcsr_i_mxm_row;

/* The runs of row `row` of A; in memory of thread t. */
dcsr_status dcsr_i_mxm_open(dcsr_i_mxm_row *r, const dcsr_i_mxm *m, dcsr_i_mxm_thread *t, uint64_t row);

/* Writes the row to `room`, which holds r->products entries, or as many as there are columns if these are
 * fewer. */
dcsr_status dcsr_i_mxm_row_write(const dcsr_i_mxm_row *r, dcsr_i_room room, uint32_t *length);
/* The same where the mask lets it through, for mask->n entries; mask->complement is false. */
dcsr_status dcsr_i_mxm_row_masked(const dcsr_i_mxm_row *r, const dcsr_i_row_mask *mask, dcsr_i_room room,
                                  uint32_t *length);

#endif
