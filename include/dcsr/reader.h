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
 * .zst (zstd) stands for .gz everywhere but in names of files to be written.
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
#include <dcsr/names.h>

#ifdef __cplusplus
extern "C" {
#endif

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
    /* Bytes of the file read so far, and in total (of the compressed file for .gz). May be NULL; called by the calling
     * thread, every few MiB and at the end. */
    dcsr_progress progress;
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

/* The same in batches, which are parsed in parallel as the file is read: memory is bounded by the size of a
 * batch, so the file may have no end.
 *
 * What the lines are may be said, as people's logs are not all edge lists. All zero: an edge list, as above.
 * As soon as columns, a separator or numbering of names is said, a field may be quoted ("a, b"; two double
 * quotes in it stand for one), blanks around others are left out, and an empty field that is wanted is an error.
 * Where there are names, a line that begins with % is no comment. */
typedef struct dcsr_line_format {
    /* Numbers of columns, from 1 to 255. row and col both 0: 1 and 2, and the value 3 if the first entry has
     * three; then there may be no others. value 0: there is none. time 0: there is none. Values are numbers;
     * times are seconds, or ISO 8601 such as 2026-01-31T23:59:59.25+01:00 (UTC where no zone is told). */
    uint32_t row, col, value, time;
    /* 0: blanks and tabs, with a comma among them, as in edge lists; in .facts with names, tabs, and then all between
     * two of them is the name: quotes, blanks and # are part of it. Any other character separates each time, so that
     * two of them hold an empty field. */
    char separator;
    uint64_t header; /* lines at the beginning that are not looked at */
    /* Rows and columns are names, and this gives them their numbers: those of `n` names, in the order of the
     * file, row and column in turn; the same name has the same number always (dcsr_names_add()). Its failure is that
     * of the call. NULL: they are numbers. */
    dcsr_status (*number)(void *user, uint64_t n, const dcsr_text *names, uint64_t *ids);
    void *user;
    bool skip_bad;        /* lines that cannot be read are counted, and are no error */
    bool ascending_times; /* a time before that of an earlier line is an error */
    /* At its end, wait for the file to grow; where another file gets its name, go on with that (log rotation),
     * and where it becomes shorter, from its beginning. Not for streams and compressed files. */
    bool follow;
} dcsr_line_format;

/* Opens a file of any name whose lines are so; the format is copied. Errors: as dcsr_input_open();
 * INVALID_ARGUMENT (columns beyond 255, one column for two things, a separator that is a quote or a digit). */
DCSR_API dcsr_status dcsr_input_open_lines(dcsr_input **input, dcsr_context *context, const char *path,
                                           const dcsr_line_format *format);

/* A place between two lines, from which a later process can go on. */
typedef struct dcsr_input_place {
    uint64_t position; /* bytes of text before it, of a compressed file inflated ones */
    uint64_t mark; /* the number of lines before it, whether they have values, a checksum of the beginning */
} dcsr_input_place;

/* What has happened to a file that is followed; told by a batch without entries. */
typedef enum dcsr_input_event {
    DCSR_INPUT_NOTHING,
    DCSR_INPUT_ROTATED,  /* its name is that of another file, which is read from its beginning */
    DCSR_INPUT_TRUNCATED /* it is shorter than it was, and is read again from its beginning */
} dcsr_input_event;

/* Some entries, lent until the next call for the input. */
typedef struct dcsr_edge_batch {
    uint64_t n;
    uint64_t rows, cols; /* dimensions that they need, or that the file says: as for dcsr_coo_read() */
    const uint64_t *row_indices, *col_indices;
    dcsr_type type; /* of the values: pattern or fp64, of a Matrix Market file also int64 */
    const void *values;
    const double *times;    /* NULL where no column is a time */
    dcsr_input_place place; /* behind its last line */
    uint64_t skipped;       /* lines that could not be read, in all so far */
    dcsr_input_event event;
    bool ended;              /* nothing comes after it */
    dcsr_read_report report; /* of the last batch: what was ignored behind compressed data */
} dcsr_edge_batch;

/* When a batch is complete, and how long a call may take. */
typedef struct dcsr_batch_limits {
    uint64_t most; /* entries; at least 1 */
    double every; /* seconds after the batch before it (or the first call), it is complete with what there is;
                      0: it has `most` entries, or the input has ended */
    double wait;  /* seconds after which a call ends with no entries where none is complete; 0: it waits. A
                      signal ends waiting as well */
    uint64_t rows,
        cols;       /* dimensions of an edge list, as in dcsr_read_options; the same for all its batches */
    uint64_t until; /* a batch does not go beyond this position, and ends there; 0: it may go anywhere */
} dcsr_batch_limits;

/* Reads the next batch. Matrix Market files come in batches too, but are read whole before the first. An error
 * comes after all entries before it. A stream that ends within a line is an error (FORMAT).
 * Errors: as dcsr_coo_read(); those of format.number; INVALID_ARGUMENT (limits; it was read whole). */
DCSR_API dcsr_status dcsr_input_read_batch(dcsr_edge_batch *batch, dcsr_input *input,
                                           const dcsr_batch_limits *limits);

/* Before the first batch: goes on behind a place that an earlier input of the same text told. A plain file is
 * read from there; others are read and passed over up to there. Errors: INVALID_ARGUMENT (the text begins
 * otherwise, or is shorter: it is another one), and those of reading. */
DCSR_API dcsr_status dcsr_input_seek(dcsr_input *input, const dcsr_input_place *place);

/* As dcsr_coo_read(), from a buffer in memory (not compressed); `name` decides the format and appears in
 * messages; .gz at its end is ignored. */
DCSR_API dcsr_status dcsr_coo_read_buffer(dcsr_coo *coo, dcsr_context *context, const char *name,
                                          const char *text, size_t length, const dcsr_read_options *options);

/* Writes a matrix as .mtx (general) or an edge list (tabs, commas for .csv), compressed if the name ends in
 * .gz, in a file that gets its name when it is complete and on the disk, so that a failure leaves
 * what was there before. Reading it back gives the same triples, bit for bit, with these exceptions: of a NaN
 * only the sign is kept, integers and bool come back as int64, fp32 as fp64, values of edge lists always as
 * fp64, and an edge list does not tell its dimensions. A stream (a pipe, a device, /dev/stdout, /dev/fd/N) is
 * written directly, as .mtx if its name has no ending. Errors: IO, FORMAT (unknown ending, values into
 * .facts), INDEX_OUT_OF_RANGE (a triple beyond the dimensions), TOO_LARGE (a uint64 beyond int64),
 * OUT_OF_MEMORY. */
DCSR_API dcsr_status dcsr_coo_write(const dcsr_coo *coo, const char *path);
/* The same, but where the file is Matrix Market and the matrix is symmetric, values bit for bit, the file says so
 * and lists only what is on the diagonal and below. That is looked for only in triples in order, by rows and then
 * columns, of which none is repeated (as those of a sorted view are); others are written as they are.
 * *symmetric (may be NULL) tells which. Memory and time: also 8 bytes an entry and a column, O(nnz + columns). */
DCSR_API dcsr_status dcsr_coo_write_symmetric(const dcsr_coo *coo, const char *path, bool *symmetric);
/* Writes an edge list as dcsr_coo_write() does, with names instead of the numbers of rows and columns: in quotes where
 * they would not be one field of a line, so that an input with format.number reads them again; into .facts as they
 * are. A stream is an edge list if its name has no ending. Errors: also INVALID_ARGUMENT (names is NULL), FORMAT (no
 * edge list; a name that holds the end of a line, in .facts a tab), INDEX_OUT_OF_RANGE (a row or column that has no
 * name). */
DCSR_API dcsr_status dcsr_coo_write_named(const dcsr_coo *coo, dcsr_names *names, const char *path);

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
