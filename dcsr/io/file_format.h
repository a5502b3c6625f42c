/* file_format.h: which format a name means, and the readers behind dcsr_coo_read() (internal). */
#ifndef DCSR_FILE_FORMAT_H
#define DCSR_FILE_FORMAT_H

#include <dcsr/reader.h>

typedef enum dcsr_i_format {
    DCSR_I_UNKNOWN,
    DCSR_I_MATRIX_MARKET, /* .mtx */
    DCSR_I_EDGE_LIST,     /* .el .tsv .csv */
    DCSR_I_RELATION,      /* .facts: an edge list without values */
    DCSR_I_PLAIN_TEXT     /* .txt: an edge list, or a vector of one number a line */
} dcsr_i_format;

typedef enum dcsr_i_packing { DCSR_I_PLAIN, DCSR_I_GZIP, DCSR_I_ZSTD } dcsr_i_packing;

/* By the end of the name, in any case; *packing tells whether .gz or .zst follows. */
dcsr_i_format dcsr_i_format_of(const char *path, dcsr_i_packing *packing);

/* The descriptor that /dev/stdin, /dev/stdout, /dev/stderr, /dev/fd/N or /proc/self/fd/N stands for; -1 for
 * other names. Opening such a name would begin a file anew, and fails for a socket; the descriptor is to be
 * duplicated. */
int dcsr_i_descriptor_of(const char *path);

/* FORMAT, for a name that dcsr_i_format_of() does not know. */
dcsr_status dcsr_i_unknown_format(const char *path);

/* What a text is called and where it is: whole lines. */
typedef struct dcsr_i_file_input {
    dcsr_context *context;
    const char *name;
    const char *text, *end; /* empty, or end[-1] is '\n' */
} dcsr_i_file_input;

typedef enum dcsr_i_field { DCSR_I_REAL, DCSR_I_INTEGER, DCSR_I_NO_FIELD } dcsr_i_field;
typedef enum dcsr_i_symmetry { DCSR_I_GENERAL, DCSR_I_SYMMETRIC, DCSR_I_SKEW_SYMMETRIC } dcsr_i_symmetry;

/* The head of a Matrix Market file: banner, comments, size line. */
typedef struct dcsr_i_mtx_head {
    bool array; /* else coordinate */
    dcsr_i_field field;
    dcsr_i_symmetry symmetry;
    uint64_t rows, cols;
    uint64_t entries;   /* announced */
    uint64_t size_line; /* number of the line that says so */
    const char *body;   /* the line after it */
} dcsr_i_mtx_head;
dcsr_status dcsr_i_mtx_read_head(dcsr_i_mtx_head *head, const dcsr_i_file_input *input);

/* The readers proper. On failure *coo is all zero. */
dcsr_status dcsr_i_read_mtx(dcsr_coo *coo, const dcsr_i_file_input *input);
dcsr_status dcsr_i_read_edges(dcsr_coo *coo, const dcsr_i_file_input *input,
                              const dcsr_read_options *options);

/* The type that the values will have, by the banner alone. Errors: FORMAT. */
dcsr_status dcsr_i_mtx_type(dcsr_type *type, const dcsr_i_file_input *input);

#endif
