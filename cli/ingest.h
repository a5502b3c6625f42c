/* ingest.h: the parts of `dcsr ingest`: a writer that streams edges in batches, and a reader that queries
 * meanwhile.
 *
 *      sources --> ingest_stream.c: load, convert, mirror, cut into batches --insert/remove--> matrix --> its
 * worker
 *                                                                                               |
 *      ingest_reader.c, a thread: take a view, search or multiply, note the time, again  <------+
 */
#ifndef DCSR_CLI_INGEST_H
#define DCSR_CLI_INGEST_H

#include "cli/cli.h"

/* What is to be done; dimensions of 0 follow the edges. */
typedef struct ingest_plan {
    uint64_t batch;
    uint64_t rows, cols;
    dcsr_policy policy;
    bool symmetric;
    bool square;      /* the matrix must stay square (graph queries) */
    int first_delete; /* index of the first source that is deleted rather than inserted */
    dcsr_type type;
} ingest_plan;

typedef struct ingest_stream {
    cli_state *cli;
    const ingest_plan *plan;
    dcsr_matrix *matrix;   /* NULL until the first source is loaded */
    uint64_t rows, cols;   /* once all that is queued is applied */
    uint64_t first_source; /* the row with most entries in the first source */
    uint64_t batches, left_out;
    uint64_t max_segments; /* the most that was seen of one row */
    uint64_t *row, *col;   /* staging */
    void *values;
    uint64_t staging; /* entries that fit there */
} ingest_stream;

/* Loads source number s and creates the matrix (the first time) or grows it to fit. Exit status. */
int ingest_open(ingest_stream *stream, dcsr_coo *coo, int s);
/* Queues the triples of source number s in batches. Exit status. */
int ingest_send(ingest_stream *stream, const dcsr_coo *coo, int s);
/* Frees staging and matrix. */
void ingest_close(ingest_stream *stream);

typedef enum ingest_read { INGEST_READ_NONE = 0, INGEST_READ_BFS, INGEST_READ_SPMV } ingest_read;

typedef struct ingest_reader ingest_reader;

/* Starts a thread that reads in a loop, the last time after it was told to stop. Exit status; *reader is NULL
 * on failure.
 */
int ingest_reader_start(ingest_reader **reader, cli_state *cli, dcsr_matrix *matrix, ingest_read kind,
                        uint64_t source);
/* Ends the loop and waits for the thread. Exit status: what failed while reading is said here. */
int ingest_reader_stop(ingest_reader *reader);
void ingest_reader_put(const ingest_reader *reader, cli_report *report);
void ingest_reader_free(ingest_reader *reader);

#endif
