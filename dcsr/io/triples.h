/* triples.h: lines of `row column value`, parsed in parallel (internal).
 *
 * Matrix Market entries, edge lists and dense vectors are all lines of one form; what differs is said in
 * dcsr_i_lines. Lines of logs, which have these among other fields, are taken apart by fields.c. The text is cut
 * into chunks at line ends:
 *
 *      text     | chunk 0     | chunk 1   | chunk 2     |      1. count the lines of each, which bounds
 *                                                                 its entries
 *      arrays   | 0..a ....   | ..b ..... | ..c ......  |      2. parse each into its own part of the arrays
 *      arrays   | 0..a..b..c |                                 3. close the gaps that blank lines and
 *                                                                 comments left
 *
 * The cuts depend on the text alone, so entries stand in the order of the file and the error reported is the
 * first of the file, whatever the number of threads. */
#ifndef DCSR_TRIPLES_H
#define DCSR_TRIPLES_H

#include "dcsr/io/fields.h"

typedef enum dcsr_i_triangle {
    DCSR_I_WHOLE,
    DCSR_I_LOWER,         /* row >= column: symmetric files */
    DCSR_I_STRICTLY_LOWER /* row > column: skew-symmetric files */
} dcsr_i_triangle;

typedef struct dcsr_i_lines {
    const char *name;       /* the file, for messages */
    const char *text, *end; /* whole lines: empty, or end[-1] is '\n' */
    uint64_t first_line;    /* number of the first */
    bool indexed;           /* each line begins with a row and a column number */
    bool edges;             /* edge list: commas may separate, and # begins a comment as % does */
    bool relation;          /* edge list of a relation: two columns, and no other */
    dcsr_type type;         /* of the value: DCSR_PATTERN (none), DCSR_INT64 or DCSR_FP64 */
    uint64_t base;          /* the number of the first row and column: 0 or 1 */
    uint64_t rows, cols;    /* how many there may be */
    const char *bounded_by; /* what says so, for messages: "by the size line" */
    dcsr_i_triangle triangle;
    uint64_t announced;          /* entries there must be; UINT64_MAX: any number */
    const dcsr_i_fields *fields; /* where row, column and value are; NULL: they are the line */
    bool skip_bad;               /* lines that cannot be read are counted and passed over */
    uint64_t position;           /* of the text in its file */
} dcsr_i_lines;

/* Where a line ends in its file: the position behind it, and its number. */
typedef struct dcsr_i_place {
    uint64_t position, line;
} dcsr_i_place;

/* Arrays, each with one element an entry. */
typedef struct dcsr_i_target {
    uint64_t *row, *col; /* not touched unless lines->indexed, or where there are names */
    void *values;        /* not touched for DCSR_PATTERN */
    double *times;       /* not touched without fields that have a time */
    dcsr_text *names;    /* two an entry: of the row and of the column; lent by the text */
    dcsr_i_place *ends;  /* of the lines; NULL: not wanted */
} dcsr_i_target;

typedef struct dcsr_i_text_chunk dcsr_i_text_chunk;

typedef struct dcsr_i_chunks {
    dcsr_context *context;
    dcsr_i_text_chunk *chunk;
    uint64_t count;
    uint64_t capacity;         /* entries that the arrays must have room for while parsing */
    uint64_t entries;          /* after parsing: those found; of a text with an error, those before it */
    uint64_t skipped;          /* lines that could not be read */
    uint64_t max_row, max_col; /* the largest indices, counted from 0; 0 when there are no entries */
} dcsr_i_chunks;

/* Step 1. On success the chunks must be freed. Errors: OUT_OF_MEMORY. */
dcsr_status dcsr_i_chunks_split(dcsr_i_chunks *chunks, dcsr_context *context, const dcsr_i_lines *lines);
/* Steps 2 and 3, into arrays of chunks->capacity elements. Errors: FORMAT; the entries before the line that it
 * is about are there. */
dcsr_status dcsr_i_chunks_parse(dcsr_i_chunks *chunks, const dcsr_i_lines *lines, const dcsr_i_target *to);
void dcsr_i_chunks_free(dcsr_i_chunks *chunks);

/* The most entries that a text of so many bytes has room for. */
uint64_t dcsr_i_most_entries(const dcsr_i_lines *lines, uint64_t bytes);

/* Sets the bounds of the ids of an edge list: those asked for, or what a matrix can have; for both ids the same
 * where they share one set of vertices (edge_list.c). Errors: FORMAT. */
dcsr_status dcsr_i_edge_bounds(dcsr_i_lines *lines, uint64_t rows, uint64_t cols);
/* The first line with an entry; NULL when there is none. */
const char *dcsr_i_first_entry(const dcsr_i_lines *lines);
/* The number of value columns of the first entry of an edge list: 0 or 1; -1 when there is no entry. */
int dcsr_i_edge_values(const char *text, const char *end);

#endif
