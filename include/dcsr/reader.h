/* reader.h: reading matrices, sparse or dense, from files, and writing them.
 *
 * Formats, by the ending of the name (upper or lower case), each also with .gz after it:
 *   .mtx                          Matrix Market: coordinate real|integer|pattern,
 *                                 general|symmetric|skew-symmetric; array real|integer general for dense ones
 *   .el .tsv .csv .txt            edge lists: lines of `row col [value]`, ids from 0, separated by blanks,
 *                                 tabs or one comma; empty lines and lines that begin with # or % are skipped
 *   .facts                        a binary relation: an edge list without values; more than two columns are
 *                                 refused
 *
 * A file is opened once and read once, from front to back. So it may be a stream: a pipe, a device, or one of
 * /dev/stdin, /dev/fd/N and /proc/self/fd/N, which stand for an open descriptor of the process and are read
 * from its current position. A stream needs no ending: without one, its first bytes decide whether it is
 * compressed, and whether it is Matrix Market (it begins with %%MatrixMarket) or an edge list.
 *
 * A malformed file is refused with DCSR_ERROR_FORMAT and a message of the form "FILE:LINE: what is wrong",
 * which is about the first error in the file. Also refused: complex and hermitian files; an entry above the
 * diagonal of a symmetric file, or on or above that of a skew-symmetric one (such files list what is below);
 * an array where a sparse matrix is wanted and coordinates where a dense one is; a finite number beyond the
 * largest double. Values may be nan and inf; lines may end in CR LF, and the last line need not end with a
 * newline. */
#ifndef DCSR_READER_H
#define DCSR_READER_H

#include <dcsr/coo.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reports progress: bytes of the file read so far, and in total (of the compressed file for .gz); `total` is
 * 0 while it is not known, as for a stream. */
typedef void (*dcsr_progress)(void *user, uint64_t done, uint64_t total);

/* What a caller may want to know about a file that was read. */
typedef struct dcsr_read_report {
    /* Bytes after the compressed data that were ignored, and where in the file they begin. */
    uint64_t ignored_bytes, ignored_from;
} dcsr_read_report;

typedef struct dcsr_read_options {
    /* Dimensions of an edge list; a larger id is an error. Both 0: the matrix is square, since it is a graph,
     * and as large as the largest id in either column requires. One 0: as large as its own column
     * requires. */
    uint64_t rows, cols;
    dcsr_progress progress; /* may be NULL; called by the calling thread, every few MiB and at the end */
    void *user;
    /* An uncompressed stream (unless it is a file on a disk, as /dev/stdin may be) must end with a newline,
     * else FORMAT: nothing else tells that its writer stopped in the middle of a number. */
    bool whole_lines;
    /* May be NULL; filled in once the file has been read. Without it, what would be reported is an error:
     * bytes after compressed data that are neither another member nor zeros. */
    dcsr_read_report *report;
} dcsr_read_options;

/* Reads a matrix. Entries are in the order of the file, whatever the number of threads. Symmetric files are
 * expanded: after all entries that the file lists come the mirrors of those off the diagonal, negated for
 * skew-symmetric. Types: real -> fp64, integer -> int64, pattern -> pattern. An edge list whose first entry
 * has a value is fp64, and every line must have one; otherwise it is pattern. options may be NULL. The file
 * is parsed in parallel, in memory: 16 to 24 bytes per entry in addition to the text. On failure *coo is all
 * zero.
 * Errors: IO, FORMAT (also an unknown ending of the name, fewer or more entries than announced, an index out
 * of range, dimensions beyond the maxima, damaged .gz), OUT_OF_MEMORY. */
DCSR_API dcsr_status dcsr_coo_read(dcsr_coo *coo, dcsr_context *context, const char *path,
                                   const dcsr_read_options *options);

/* The same in steps, for a file that is to be inspected before it is read: what was read ahead is kept, so
 * that a stream loses nothing. An input may be used by one thread at a time, and must be closed before its
 * context is destroyed. */
typedef struct dcsr_input dcsr_input;
/* Opens a file. *input is NULL on failure. Opening a pipe waits until it has a writer. Errors: as
 * dcsr_coo_read(). */
DCSR_API dcsr_status dcsr_input_open(dcsr_input **input, dcsr_context *context, const char *path);
/* Tells the type of the values to come, and whether the file is a stream; either may be NULL. For the type it
 * reads as far as the first entry (in Matrix Market, the first line), waiting for it if the file is a stream;
 * a file without entries is of type pattern. Errors: as dcsr_coo_read(), for what was read;
 * INVALID_ARGUMENT (the input was read before). */
DCSR_API dcsr_status dcsr_input_look(dcsr_input *input, dcsr_type *type, bool *stream);
/* Reads the file to its end, once, as dcsr_coo_read() does. */
DCSR_API dcsr_status dcsr_input_read(dcsr_coo *coo, dcsr_input *input, const dcsr_read_options *options);
DCSR_API void dcsr_input_close(dcsr_input *input);

/* As dcsr_coo_read(), from a buffer in memory (not compressed); `name` decides the format and appears in
 * messages; .gz at its end is ignored. */
DCSR_API dcsr_status dcsr_coo_read_buffer(dcsr_coo *coo, dcsr_context *context, const char *name,
                                          const char *text, size_t length, const dcsr_read_options *options);

/* Writes a matrix as .mtx (general) or an edge list (tabs, commas for .csv), compressed if the name ends in
 * .gz, through a temporary file that is renamed when it is complete and on the disk, so that a failure leaves
 * what was there before. Reading it back gives the same triples, bit for bit, with these exceptions: of a NaN
 * only the sign is kept, integers and bool come back as int64, fp32 as fp64, values of edge lists always as
 * fp64, and an edge list does not tell its dimensions. A stream (a pipe, a device, /dev/stdout, /dev/fd/N) is
 * written directly, as .mtx if its name has no ending. Errors: IO, FORMAT (unknown ending, values into
 * .facts), INDEX_OUT_OF_RANGE (a triple beyond the dimensions), TOO_LARGE (a uint64 beyond int64),
 * OUT_OF_MEMORY. */
DCSR_API dcsr_status dcsr_coo_write(const dcsr_coo *coo, const char *path);

/* A dense matrix in memory, column after column: element (i, j) is values[i + j * rows]. A vector is a matrix
 * of one column. A plain structure: the array belongs to it and dcsr_dense_free() frees it, which has to be
 * called before the context is destroyed. */
typedef struct dcsr_dense {
    uint64_t rows, cols;
    double *values;
    dcsr_context *context; /* the context that its memory counts towards */
} dcsr_dense;
/* Reads a dense matrix (near-nullspace vectors, for example): a Matrix Market array, or a .txt with one
 * number per line, which is one column. On failure *dense is all zero. Errors: as dcsr_coo_read(). */
DCSR_API dcsr_status dcsr_dense_read(dcsr_dense *dense, dcsr_context *context, const char *path);
/* Writes it as Matrix Market array real general, in the way of dcsr_coo_write(). */
DCSR_API dcsr_status dcsr_dense_write(const dcsr_dense *dense, const char *path);
/* Frees the array and zeroes the structure. NULL and an all-zero structure do nothing. */
DCSR_API void dcsr_dense_free(dcsr_dense *dense);

/* Writes any bytes (a picture, for example) in the same way: completely or not at all, through gzip if the
 * name ends in .gz. Errors: IO, OUT_OF_MEMORY. */
DCSR_API dcsr_status dcsr_file_write(dcsr_context *context, const char *path, const void *bytes,
                                     size_t length);

#ifdef __cplusplus
}
#endif
#endif
