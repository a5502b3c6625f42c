/* ingest.h: the parts of `dcsr ingest`: a writer that streams edges in batches, a reader that queries
 * meanwhile, and the stored matrix that the edges go into.
 *
 *      sources --> ingest_stream.c: load, convert, mirror, cut into batches --insert/remove--> matrix, worker
 *                                                        |                                        |    |
 *      ingest_target.c: open; tickets of batches <-------+    at the end a version  <-------------+    |
 *      ingest_reader.c, a thread: take a view, search or multiply, note the time, again  <-------------+
 *
 *      ingest_interrupt.c: SIGINT and SIGTERM end the sources early; all that follows is as ever
 */
#ifndef DCSR_CLI_INGEST_H
#define DCSR_CLI_INGEST_H

#include "cli/stored.h"

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

/* Batches on their way to the log, of which the oldest is asked first. */
enum { INGEST_TICKETS = 4096 };

/* The stored matrix of --into. */
typedef struct ingest_target {
    cli_state *cli;
    cli_stored stored;
    cli_new_store made;
    bool durable;
    dcsr_version_info newest; /* before; in the end the version that was made. version 0: none yet */
    dcsr_recovery recovery;
    dcsr_store *store;
    dcsr_ticket *tickets[INGEST_TICKETS]; /* of batch b at b % INGEST_TICKETS */
    uint64_t sent, told;                  /* batches: told ones have come to an end */
    uint64_t lost;                        /* of these in memory alone */
    bool broken;                          /* that has been said */
    double seconds;                       /* that making the version took */
} ingest_target;

/* What there is under the name, before anything is read. Exit status, here and below. */
int ingest_target_find(ingest_target *target);
/* Opens it, or makes it with these dimensions. */
int ingest_target_open(ingest_target *target, dcsr_matrix **matrix, const ingest_plan *plan, uint64_t rows,
                       uint64_t cols);
/* Takes the ticket of a batch. That it is not safe on the disk is said, and no failure. */
int ingest_target_take(ingest_target *target, dcsr_ticket *ticket);
/* Waits until it is known of all batches whether they are safe. */
int ingest_target_wait(ingest_target *target, dcsr_matrix *matrix);
/* Makes the version in the end. */
int ingest_target_store(ingest_target *target, dcsr_matrix *matrix);
void ingest_target_put(const ingest_target *target, cli_report *report);
/* Failure, with a line that says so, where a version has in the end what was not safe for a while. Before the
 * report, which tells of it too. */
int ingest_target_verdict(const ingest_target *target);
void ingest_target_free(ingest_target *target);

typedef struct ingest_stream {
    cli_state *cli;
    const ingest_plan *plan;
    ingest_target *target;   /* NULL: in memory alone */
    cli_source *sources;     /* one an argument */
    dcsr_matrix *matrix;     /* NULL until the first source is loaded */
    dcsr_matrix_info before; /* what a stored matrix was when it was opened */
    uint64_t rows, cols;     /* once all that is queued is applied */
    uint64_t first_source;   /* the row with most entries in the first source */
    uint64_t batches, left_out;
    uint64_t max_segments; /* the most that was seen of one row */
    double next_look;      /* when to look again how many they are */
    uint64_t *row, *col;   /* staging */
    void *values;
    uint64_t staging; /* entries that fit there */
} ingest_stream;

/* Loads source number s, and creates or opens the matrix (the first time) or grows it to fit. Nothing is
 * loaded where that is interrupted. Exit status. */
int ingest_open(ingest_stream *stream, dcsr_coo *coo, int s);
/* Queues the triples of source number s in batches, until it is interrupted. Exit status. */
int ingest_send(ingest_stream *stream, const dcsr_coo *coo, int s);
/* Waits for all of it. Exit status. */
int ingest_wait(ingest_stream *stream);
/* Frees staging and matrix. */
void ingest_close(ingest_stream *stream);

/* From here on the first SIGINT or SIGTERM is noted and the second ends the process; before, both do. */
void ingest_interrupt_begin(void);
/* The signal, or 0. */
int ingest_interrupted(void);
/* Does the work in a thread of its own. False when that is interrupted: the thread is left alone then, and
 * what it uses must be left to it. */
bool ingest_interruptible(void (*work)(void *user), void *user);
/* Ends the process as the signal does. */
void ingest_interrupt_end(void);

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
