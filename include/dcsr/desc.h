/* desc.h: how an operation is to be carried out, and what it reports.
 *
 * Operations follow the GraphBLAS: with T what is computed from the inputs,
 *
 *      w<mask, desc> = accum(w, T)
 *
 * means
 *
 *      Z = T where accum is NULL; else w and T united, with accum(w[i], T[i]) where both have an entry;
 *      where the mask is true w gets what Z has there, an entry or none;
 *      where it is not w keeps what it has, or loses it with `replace`
 *
 * A mask that is NULL is true everywhere. A mask is true where it has an entry whose value is not 0; with
 * `mask_structure` where it has an entry; with `mask_complement` exactly where it else were not. The output
 * may be an input too, also the mask.
 *
 * A matrix of DCSR_POLICY_KEEP may have several entries at a place. As an input, and as w in accum(w, T),
 * such a place has their sum, but for products with vectors and dense matrices, in which each counts. Of an
 * output they stay as they are, each of them, wherever it keeps what it has: where the mask is false, where
 * there is an accumulator but no T[i], and outside of the rows and columns that an assignment names. Where it
 * gets what Z has, it has one entry or none afterwards. (assign_row and assign_column write all of their row
 * or column.)
 *
 * When an operation fails its output is as it was, but for DCSR_ERROR_NOT_DURABLE, which says that a durable
 * matrix has the result in memory and the disk has not (dcsr/persist.h).
 *
 * What operations on matrices say they cost is in entries: rows cost nothing on the host where 64 neighbours
 * have none, as long as views are of segments. A view of CSR is gone over by its rows. On a device each
 * matrix and list of rows that is looked at costs O(rows). */
#ifndef DCSR_DESC_H
#define DCSR_DESC_H

#include <dcsr/vector.h>
#include <dcsr/view.h>
#include <dcsr/operators.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which way a matrix is multiplied with a vector. */
typedef enum dcsr_direction {
    DCSR_DIRECTION_AUTO = 0, /* what costs less, by the entries of vector, mask and matrix */
    DCSR_DIRECTION_PUSH,     /* from the entries of the vector: columns of the matrix, scattered */
    DCSR_DIRECTION_PULL      /* into each element of the result: rows of the matrix, mask first */
} dcsr_direction;

/* What an operation did. */
typedef struct dcsr_report {
    dcsr_direction direction; /* of products with a vector: never AUTO; else AUTO */
    dcsr_device device;       /* where it ran */
    uint64_t entries;         /* entries of matrices that were looked at, as far as they were counted */
} dcsr_report;

/* Zero-initialise, then set what should differ from the default. NULL, where an operation takes one, is all
 * defaults. A direction or a device that is none of those named, and cuda in a context on the cpu, are
 * refused: INVALID_ARGUMENT. */
typedef struct dcsr_desc {
    bool transpose_a, transpose_b; /* the first, the second matrix of the inputs */
    bool mask_complement, mask_structure;
    bool replace;
    dcsr_direction direction;
    /* Of mxv and vxm whose mask is complemented, by structure, and of u's size: the caller knows that where
     * the mask lets a sum through, its terms are the same with the mask's vector in place of u. A product
     * that pulls and does not look at u's values may then read the mask, which is there in the form that it
     * needs, and spare bringing u into that form. It is so in a search, with what has been visited as the
     * mask and what was visited last as u: were there an edge from a vertex visited earlier, its end would
     * have been visited. Where it is not, the result has what either vector gives. */
    bool pull_from_mask;
    dcsr_device device;  /* where to run, on a cuda context; AUTO: the CPU where it is faster */
    dcsr_report *report; /* filled in by operations that succeed; may be NULL */
} dcsr_desc;

#ifdef __cplusplus
}
#endif
#endif
