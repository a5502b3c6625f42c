/* reader.h: matrices and vectors from files, and back.
 *
 * Formats, by the end of the name, each also with .gz after it:
 *   .mtx                          Matrix Market: coordinate real|integer|pattern,
 * general|symmetric|skew-symmetric; array real|integer for vectors .el .tsv .csv .txt .facts     edge lists:
 * `row col [value]` a line, ids from 0, separated by blanks, tabs or commas; lines that start with # or % and
 * empty lines are skipped
 *
 * A malformed file is refused with DCSR_ERROR_FORMAT and a message of the form "FILE:LINE: what is wrong". */
#ifndef DCSR_READER_H
#define DCSR_READER_H

#include "dcsr/coo.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reports progress: bytes of the file read so far, and in all (of the compressed file for .gz). */
typedef void (*dcsr_progress)(void *user, uint64_t done, uint64_t total);

typedef struct dcsr_read_options {
    uint64_t rows,
        cols; /* dimensions of an edge list; 0: as large as its largest id needs. An id beyond is an error */
    dcsr_progress progress; /* may be NULL */
    void *user;
} dcsr_read_options;

/* Reads a matrix; symmetric files come expanded (each off-diagonal entry twice, the mirror negated for
 * skew-symmetric). Types: real -> fp64, integer -> int64, pattern -> pattern. An edge list with a third
 * column is fp64 (every line must have it), without it pattern. options may be NULL. The file is parsed in
 * parallel, in memory. On failure *coo is all zero. Errors: IO, FORMAT (also an unknown name ending, fewer or
 * more entries than announced, an index out of range, dimensions beyond the maxima), OUT_OF_MEMORY. */
DCSR_API dcsr_status dcsr_read_matrix(dcsr_coo *coo, dcsr_context *context, const char *path,
                                      const dcsr_read_options *options);

/* The same from a buffer in memory (not compressed); `name` decides the format and stands in messages. */
DCSR_API dcsr_status dcsr_read_matrix_buffer(dcsr_coo *coo, dcsr_context *context, const char *name,
                                             const char *text, size_t length,
                                             const dcsr_read_options *options);

/* Writes a matrix to .mtx (general) or an edge list, .gz when the name says so, through a temporary file that
 * is renamed when it is whole, so that a failure leaves what was there before. Reading it back gives the same
 * triples. Errors: IO, FORMAT (unknown ending). */
DCSR_API dcsr_status dcsr_write_matrix(const dcsr_coo *coo, const char *path);

/* Reads a dense vector: Matrix Market array (rows x 1), or one number a line in a .txt. *values is allocated
 * with malloc() and is the caller's to free(). On failure *values is NULL. */
DCSR_API dcsr_status dcsr_read_vector(double **values, uint64_t *length, dcsr_context *context,
                                      const char *path);
/* The same for a dense matrix of any number of columns, stored column after column: entry (i, j) is values[i
 * + j * rows]. */
DCSR_API dcsr_status dcsr_read_dense(double **values, uint64_t *rows, uint64_t *cols, dcsr_context *context,
                                     const char *path);
/* Writes a dense vector as Matrix Market array real general. */
DCSR_API dcsr_status dcsr_write_vector(const double *values, uint64_t length, dcsr_context *context,
                                       const char *path);

#ifdef __cplusplus
}
#endif
#endif
