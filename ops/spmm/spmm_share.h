/* spmm_share.h: sharing out the rows of a sparse matrix times dense matrix (internal).
 *
 * Work is counted in entries of A and rows of Y, so a share's place is a row and a position in it:
 *
 *      row          0     1 2        3           4
 *      entries      . . . |.|. . . . . . . . . . |. . |
 *      row split    |----------|------------------|---|       whole rows
 *      merge        |--------|---------|--------|-----|       of row 3 a part each, added up afterwards
 */
#ifndef DCSR_SPMM_SHARE_H
#define DCSR_SPMM_SHARE_H

#include "dcsr/store/rowtable.h"
#include <dcsr/spmm.h>
#include "ops/spmm/spmm_kernel.h"
#include "ops/vector/write_vector.h"

typedef struct dcsr_i_spmm_place {
    uint64_t row;
    uint64_t entry; /* of the row; never its length */
} dcsr_i_spmm_place;

/* One product that is being computed. */
typedef struct dcsr_i_spmm {
    const dcsr_semiring *semiring;
    dcsr_i_spmm_kernel *kernel;
    const dcsr_binary_op *accum;
    bool accum_adds; /* accum is the semiring's addition: sums go on from what is in Y */
    dcsr_type type;  /* of Y */
    size_t size, row_bytes;
    const dcsr_i_rows *rows;
    bool values, cast; /* whether the kernel gets values of A, and whether they are cast before */
    const dcsr_i_mask *mask;
    bool replace;
    const void *X;
    char *Y, *copy; /* where it is written; that, where it is not the caller's array */
    uint64_t width; /* columns of X and Y */
    /* What dcsr_i_spmm_share() makes. */
    int threads;
    uint64_t shares;
    dcsr_i_spmm_place *place; /* where each share begins, and the end */
    dcsr_i_spmm_place ends[2];
    char *parts; /* of merge: two rows a share */
    char *scratch;
    uint64_t scratch_bytes; /* of each thread */
} dcsr_i_spmm;

/* Chooses threads, shares and, where *mapping says so, the mapping; takes the memory for them. Errors:
 * OUT_OF_MEMORY. */
dcsr_status dcsr_i_spmm_share(dcsr_i_spmm *p, dcsr_context *context, dcsr_spmm_mapping *mapping);
/* Frees it. */
void dcsr_i_spmm_end(dcsr_i_spmm *p, dcsr_context *context);

/* A share's part of a row that an earlier one began, and of one that it begins and does not end. */
static inline char *dcsr_i_spmm_head(const dcsr_i_spmm *p, uint64_t share)
{
    return p->parts + 2 * share * p->row_bytes;
}
static inline char *dcsr_i_spmm_tail(const dcsr_i_spmm *p, uint64_t share)
{
    return p->parts + (2 * share + 1) * p->row_bytes;
}

/* Entries that the rows show, or a few more. */
static inline uint64_t dcsr_i_spmm_stored(const dcsr_i_rows *rows)
{
    return rows->offsets ? rows->offsets[rows->rows] : rows->table->stored;
}

#endif
