/* load.h: a matrix made from arrays of another format, in batches (internal).
 *
 * Indices are widened a batch at a time, so that no second copy of all of them is held; afterwards the matrix
 * is defragmented, and each row is one tight segment. */
#ifndef DCSR_LOAD_H
#define DCSR_LOAD_H

#include <dcsr/view.h>

struct dcsr_i_home;

enum { DCSR_I_LOAD_ENTRIES = 1 << 20 };

typedef struct dcsr_i_loader {
    const char *call; /* the user's, for messages */
    dcsr_context *context;
    dcsr_matrix *matrix;
    dcsr_type type;
    uint64_t *row, *col; /* for a batch of DCSR_I_LOAD_ENTRIES */
    void *values;        /* NULL for pattern */
} dcsr_i_loader;

/* DCSR_OK when neither is NULL; *matrix is NULL afterwards. */
dcsr_status dcsr_i_load_check(dcsr_matrix **matrix, const void *arrays, const char *function);

/* Creates the matrix. On success close must follow. */
dcsr_status dcsr_i_loader_open(dcsr_i_loader *loader, const char *call, dcsr_context *context, dcsr_type type,
                               uint64_t rows, uint64_t cols, const dcsr_matrix_options *options);
/* Queues a batch of n entries (none is fine), and waits where the queue is full. */
dcsr_status dcsr_i_loader_insert(dcsr_i_loader *loader, uint64_t n, const uint64_t *row, const uint64_t *col,
                                 const void *values);
/* With DCSR_OK, waits for all and defragments; *matrix is the caller's then. With a failure, or one on the
 * way, there is no matrix. */
dcsr_status dcsr_i_loader_close(dcsr_i_loader *loader, dcsr_status status, dcsr_matrix **matrix);

/* A matrix from a CSR whose rows have to ascend strictly, with the columns and values of `given` in place of copies;
 * what cannot be taken over, or is NULL, is copied: then *taken is false. */
dcsr_status dcsr_i_matrix_adopt_csr(dcsr_matrix **matrix, const char *call, dcsr_context *context,
                                    const dcsr_csr *csr, const struct dcsr_i_home *given, bool *taken,
                                    const dcsr_matrix_options *options);

#endif
