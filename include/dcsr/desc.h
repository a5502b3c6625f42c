/* desc.h: options of an operation, and what it reports.
 *
 * Operations follow the GraphBLAS: where T is what is computed from the inputs,
 *
 *      w<mask, desc> = accum(w, T)
 *
 * means
 *
 *      Z = T if accum is NULL; else the union of w and T, with accum(w[i], T[i]) where both have an entry;
 *      where the mask is true, w gets what Z has there, an entry or none;
 *      where it is not, w keeps what it has, or loses it with `replace`
 *
 * A mask that is NULL is true everywhere. A mask is true where it has an entry whose value is not 0, or, with
 * `mask_structure`, wherever it has an entry; `mask_complement` inverts it. The output may also be an input,
 * or the mask.
 *
 * A matrix of DCSR_POLICY_KEEP may have several entries at one position. As an input, and as w in accum(w,
 * T), the position has their sum, except in products with vectors and dense matrices, where each entry
 * counts. In an output all of them stay as they are wherever it keeps what it has: where the mask is false,
 * where there is an accumulator but no T[i], and outside the rows and columns that an assignment names. Where
 * the output gets what Z has, it has one entry or none afterwards. (assign_row and assign_column write all of
 * their row or column.)
 *
 * When an operation fails its output is as it was, except with DCSR_ERROR_NOT_DURABLE, which says that a
 * durable matrix holds the result in memory but not on the disk (dcsr/persist.h).
 *
 * Costs of operations on matrices are given in entries: on the host, 64 neighbouring rows without entries
 * cost nothing, as long as views are of segments. For a CSR view, add O(rows). On a device each matrix and
 * list of rows that is read costs O(rows). */
#ifndef DCSR_DESC_H
#define DCSR_DESC_H

#include <dcsr/vector.h>
#include <dcsr/view.h>
#include <dcsr/operators.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Some rows, columns or elements, in the order in which they are to be taken. Calls take all of them if they
 * are given NULL in place of a list. An empty list names none. */
typedef struct dcsr_index_list {
    const uint64_t *indices; /* n; may be NULL if n is 0 */
    uint64_t n;
} dcsr_index_list;

/* Which way a matrix is multiplied by a vector. */
typedef enum dcsr_direction {
    DCSR_DIRECTION_AUTO = 0, /* whichever costs less, estimated from the entries of vector, mask and matrix */
    DCSR_DIRECTION_PUSH,     /* from the entries of the vector: columns of the matrix, scattered */
    DCSR_DIRECTION_PULL,     /* into each element of the result: rows of the matrix, mask first */
    DCSR_DIRECTION_TILES     /* as PULL, but by the tiles of a view of DCSR_LAYOUT_NUT, all of them */
} dcsr_direction;

/* How the work of a product with a dense matrix is shared among threads. */
typedef enum dcsr_spmm_mapping {
    DCSR_SPMM_AUTO = 0,
    DCSR_SPMM_ROW_SPLIT, /* whole rows, in shares of about equally many entries */
    DCSR_SPMM_MERGE      /* equal numbers of entries and rows: a long row is split, and its parts are added */
} dcsr_spmm_mapping;

/* What an operation did. */
typedef struct dcsr_report {
    dcsr_direction direction;  /* of products with a vector: never AUTO; else AUTO */
    dcsr_spmm_mapping mapping; /* of products with a dense matrix: never AUTO; else AUTO */
    dcsr_device device;        /* where it ran */
    uint64_t entries;          /* entries of matrices that were read, as far as they were counted */
} dcsr_report;

/* Zero-initialise, then set what should differ from the default. An operation that is given NULL uses the
 * defaults. An unknown direction, mapping or device, and cuda in a context on the cpu, are refused:
 * INVALID_ARGUMENT. */
typedef struct dcsr_desc {
    bool transpose_a, transpose_b; /* of the first, the second input matrix */
    bool mask_complement, mask_structure;
    bool replace;
    dcsr_direction direction;
    /* For mxv and vxm whose mask is complemented, structural, and of u's size: the caller promises that
     * wherever the mask lets a sum through, its terms would be the same with the mask's vector in place of u.
     * A product that pulls and does not read u's values may then read the mask instead, which already has the
     * form that it needs, and need not convert u. This holds in a search, with the visited vertices as the
     * mask and the frontier as u: the neighbours of a vertex visited before the frontier have all been
     * visited. If it does not hold, each element of the result is what either vector gives. */
    bool pull_from_mask;
    dcsr_spmm_mapping mapping; /* of dcsr_spmm() */
    bool deterministic; /* mxm: sums come out the same, bit for bit, each time; on the CPU they always do */
    /* mxm: bytes that a product may take beside its result, 0: as much as there is. Where a row wants more
     * than that: OUT_OF_MEMORY, and the message names the row and its bytes. */
    uint64_t memory_limit;
    /* mxm without mask and accumulator: the caller promises that C has the product's pattern already, from the
     * same product of other values, say. Only values are computed then. Where C has another pattern the call
     * fails (INVALID_ARGUMENT) or gives the product nevertheless; it never gives anything else. */
    bool same_pattern;
    dcsr_device device;  /* where to run, in a cuda context; AUTO: on the CPU where that is faster */
    dcsr_report *report; /* filled in when the operation succeeds; may be NULL */
} dcsr_desc;

#ifdef __cplusplus
}
#endif
#endif
