/* coo.h: coordinate triples in memory, the form in which files are read and matrices are generated.
 *
 * A plain structure: the arrays belong to it and dcsr_coo_free() frees them, which has to be called before
 * the context is destroyed. Entries may come in any order and more than once; the policy of the matrix into
 * which they are inserted decides what that means. */
#ifndef DCSR_COO_H
#define DCSR_COO_H

#include <dcsr/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dcsr_coo {
    uint64_t rows, cols; /* every index is below these */
    uint64_t nnz;        /* entries in the arrays */
    dcsr_type type;
    uint64_t *row_indices;
    uint64_t *col_indices;
    void *values;          /* nnz values of the type; NULL for DCSR_PATTERN */
    dcsr_context *context; /* the context that its memory counts towards */
} dcsr_coo;

/* Gives *coo arrays of `nnz` entries (uninitialised) and sets its fields. On failure *coo is all zero.
 * Errors: TOO_LARGE (nnz x bytes overflows, or dimensions beyond the maxima), OUT_OF_MEMORY. */
DCSR_API dcsr_status dcsr_coo_allocate(dcsr_coo *coo, dcsr_context *context, dcsr_type type, uint64_t rows,
                                       uint64_t cols, uint64_t nnz);

/* Changes the length of the arrays, keeping the entries that fit. On failure *coo is as it was. */
DCSR_API dcsr_status dcsr_coo_resize(dcsr_coo *coo, uint64_t nnz);

/* Frees the arrays and zeroes the structure. NULL and an all-zero structure do nothing. */
DCSR_API void dcsr_coo_free(dcsr_coo *coo);

/* Creates a matrix that holds the triples, those of one position combined by its policy in the order given, as one
 * insertion does; its rows lie one behind the other with ascending columns. options may be NULL. Errors: as
 * dcsr_matrix_create() and dcsr_matrix_insert(). Cost: on the cpu O(rows + nnz), by counting: 4 bytes an entry and a
 * row, and what each thread needs to sort some ten thousand entries, beside what the matrix takes, or would take were
 * nothing combined; on a device, and where there are four times as many rows as entries, that of an insertion. */
DCSR_API dcsr_status dcsr_matrix_from_coo(dcsr_matrix **matrix, dcsr_context *context, const dcsr_coo *coo,
                                          const dcsr_matrix_options *options);

#ifdef __cplusplus
}
#endif
#endif
