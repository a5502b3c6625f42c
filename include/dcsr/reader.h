/* reader.h: matrices and vectors from files, and back.
 *
 * Formats, by the end of the name (in any case), each also with .gz after it:
 *   .mtx                          Matrix Market: coordinate real|integer|pattern,
 *                                 general|symmetric|skew-symmetric; array real|integer general for vectors
 *   .el .tsv .csv .txt            edge lists: `row col [value]` a line, ids from 0, separated by blanks, tabs
 *                                 or one comma; empty lines and lines that begin with # or % are skipped
 *   .facts                        a binary relation: an edge list without values. More than two columns are
 *                                 refused, whatever they are
 *
 * A file is opened once and read once, from front to back. So it may be a stream: a pipe, a device, or one of
 * /dev/stdin, /dev/fd/N and /proc/self/fd/N, which stand for a descriptor that the process has open and are
 * read from where that is. A stream needs no ending: without one, what its first bytes are decides whether
 * it is compressed, and whether it is Matrix Market (it begins with %%MatrixMarket) or an edge list.
 *
 * A malformed file is refused with DCSR_ERROR_FORMAT and a message of the form "FILE:LINE: what is wrong",
 * which is about the first thing wrong in the file. Refused are also: complex and hermitian files; an entry
 * above the diagonal of a symmetric file, or on that of a skew-symmetric one (such a file lists what is
 * below); an array where a matrix is wanted and coordinates where a vector is; a finite number beyond the
 * largest double. Values may be nan and inf; lines may end in CR LF, and the last one without. */
#ifndef DCSR_READER_H
#define DCSR_READER_H

#include <dcsr/coo.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reports progress: bytes of the file read so far, and in all (of the compressed file for .gz); `total` is 0
 * as long as nobody knows it, of a stream. */
typedef void (*dcsr_progress)(void *user, uint64_t done, uint64_t total);

/* What is worth telling of a file that was read. */
typedef struct dcsr_read_report {
    /* Bytes behind the compressed data that are no part of them and were ignored, and where in the file they
     * begin. */
    uint64_t ignored_bytes, ignored_from;
} dcsr_read_report;

typedef struct dcsr_read_options {
    /* Dimensions of an edge list; an id beyond is an error. Both 0: the matrix is square, since it is a
     * graph, and as large as the largest id in either column needs. One 0: what its own column needs. */
    uint64_t rows, cols;
    dcsr_progress progress; /* may be NULL; called by the calling thread, every few MiB and at the end */
    void *user;
    /* A stream that is not compressed (nor a file on a disk, as /dev/stdin may be) must end with a newline,
     * else FORMAT: where its writer has stopped in the middle of a number, nothing else tells. */
    bool whole_lines;
    /* May be NULL; filled once the file has been read. Without it, what would have to be reported is an
     * error: bytes behind compressed data that are neither those of another member nor zeros. */
    dcsr_read_report *report;
} dcsr_read_options;

/* Reads a matrix. Entries stand in the order of the file, whatever the number of threads. Symmetric files
 * come expanded: behind all that the file lists, each off-diagonal entry has its mirror, negated for
 * skew-symmetric. Types: real -> fp64, integer -> int64, pattern -> pattern. An edge list whose first entry
 * has a value is fp64, and every line must have one; otherwise it is pattern. options may be NULL. The file
 * is parsed in parallel, in memory: 16 to 24 bytes an entry on top of the text. On failure *coo is all zero.
 * Errors: IO, FORMAT (also an unknown name ending, fewer or more entries than announced, an index out of
 * range, dimensions beyond the maxima, damaged .gz), OUT_OF_MEMORY. */
DCSR_API dcsr_status dcsr_read_matrix(dcsr_coo *coo, dcsr_context *context, const char *path,
                                      const dcsr_read_options *options);

/* The same in steps, for a file that is to be looked at before it is read: what was looked at is kept, so
 * that a stream loses nothing. An input is used by one thread at a time, and closed before its context is
 * destroyed. */
typedef struct dcsr_input dcsr_input;
/* *input is NULL on failure. Opening a pipe waits until it has a writer. Errors: as dcsr_read_matrix(). */
DCSR_API dcsr_status dcsr_input_open(dcsr_input **input, dcsr_context *context, const char *path);
/* Tells the type of the values to come, and whether it is a stream; either may be NULL. For the type it reads
 * as far as the first entry (of Matrix Market, the first line), which of a stream it waits for; pattern where
 * there is no entry. Errors: as dcsr_read_matrix(), as far as it got; INVALID_ARGUMENT (it was read). */
DCSR_API dcsr_status dcsr_input_look(dcsr_input *input, dcsr_type *type, bool *stream);
/* Reads it to the end, once, as dcsr_read_matrix() does. */
DCSR_API dcsr_status dcsr_input_read(dcsr_coo *coo, dcsr_input *input, const dcsr_read_options *options);
DCSR_API void dcsr_input_close(dcsr_input *input);

/* The same from a buffer in memory (not compressed); `name` decides the format and stands in messages; .gz at
 * its end counts for nothing. */
DCSR_API dcsr_status dcsr_read_matrix_buffer(dcsr_coo *coo, dcsr_context *context, const char *name,
                                             const char *text, size_t length,
                                             const dcsr_read_options *options);

/* Writes a matrix to .mtx (general) or an edge list (tabs, commas for .csv), .gz when the name says so,
 * through a temporary file that is renamed when it is whole and on the disk, so that a failure leaves what
 * was there before. Reading it back gives the same triples, bit for bit; of a NaN only the sign is kept,
 * integers and bool come back as int64, fp32 as fp64, values of edge lists always as fp64, and an edge list
 * does not tell its dimensions. A stream (a pipe, a device, /dev/stdout, /dev/fd/N) is written straight, as
 * .mtx where its name has no ending. Errors: IO, FORMAT (unknown ending, values into .facts),
 * INDEX_OUT_OF_RANGE (triples that contradict themselves), TOO_LARGE (a uint64 beyond int64), OUT_OF_MEMORY.
 */
DCSR_API dcsr_status dcsr_write_matrix(const dcsr_coo *coo, const char *path);

/* Reads a dense vector: Matrix Market array (rows x 1), or one number a line in a .txt. *values is allocated
 * with malloc() and is the caller's to free(). On failure *values is NULL and *length 0. */
DCSR_API dcsr_status dcsr_read_vector(double **values, uint64_t *length, dcsr_context *context,
                                      const char *path);
/* The same for a dense matrix of any number of columns (near-nullspace vectors, say), stored column after
 * column: entry (i, j) is values[i + j * rows]. */
DCSR_API dcsr_status dcsr_read_dense(double **values, uint64_t *rows, uint64_t *cols, dcsr_context *context,
                                     const char *path);
/* Writes a dense vector as Matrix Market array real general, as dcsr_write_matrix() does. */
DCSR_API dcsr_status dcsr_write_vector(const double *values, uint64_t length, dcsr_context *context,
                                       const char *path);
/* Writes any bytes (a picture, say) in the same way: whole or not at all, through gzip where the name ends in
 * .gz. Errors: IO, OUT_OF_MEMORY. */
DCSR_API dcsr_status dcsr_write_file(const void *bytes, size_t length, dcsr_context *context,
                                     const char *path);

#ifdef __cplusplus
}
#endif
#endif
