/* ingest.h: the parts of `dcsr ingest`: a writer that streams edges in batches, a reader that queries
 * meanwhile, and the stored matrix that the edges go into.
 *
 *      EDGES --> ingest_source.c: the next batch, from a file, a pipe or triples
 *                    |
 *                ingest_stream.c: grow the matrix --> ingest_window.c: what has left the window, what stays
 *                    |                                        |
 *                    +------- ingest_stage.c: convert, mirror <
 *                    |
 *                    +--insert/remove--> matrix, worker
 *                    |                     |    |
 *      ingest_target.c: open; tickets of batches; versions while it runs and at the end
 *      ingest_metrics.c: counts, on the terminal, in a file, at SIGUSR1
 *      ingest_reader.c, a thread: take a view, search or multiply, note the time, again
 *      ingest_follow.c: take a view, bring results to it by what has changed
 *
 *      ingest_interrupt.c: SIGINT and SIGTERM end the sources early; all that follows is as ever
 */
#ifndef DCSR_CLI_INGEST_H
#define DCSR_CLI_INGEST_H

#include "cli/stored.h"

typedef enum ingest_read { INGEST_READ_NONE = 0, INGEST_READ_BFS, INGEST_READ_SPMV } ingest_read;

/* What the command line says (ingest_options.c). */
typedef struct ingest_settings {
    uint64_t batch, rows, cols, source;
    double every, window_seconds, snapshot_every;
    double slack; /* as dcsr_matrix_options.slack */
    uint64_t window_edges;
    ingest_read read;
    unsigned follow; /* a bit for each kind of ingest_follow.c */
    const char *into, *metrics;
    cli_new_store made;
    dcsr_line_format lines;
    bool described; /* lines says something */
    bool symmetric, delete, have_source, durable, names, resume;
    int delete_from; /* how many EDGES were named before --delete */
} ingest_settings;
extern ingest_settings ingest_given;
extern const struct argp_option ingest_options[];
error_t ingest_take(cli_state *cli, int key, const char *value);
/* What does not go together. Exit status, as everywhere below. */
int ingest_check(cli_state *cli);

/* What is to be done; dimensions of 0 follow the edges. */
typedef struct ingest_plan {
    uint64_t batch;
    double every; /* 0: one second, for what is waited for */
    uint64_t rows, cols;
    dcsr_matrix_options options; /* of a new matrix */
    bool symmetric;
    bool square;      /* the matrix must stay square (graph queries) */
    int first_delete; /* index of the first source that is deleted rather than inserted */
    dcsr_type type;
    dcsr_line_format lines, lines_before; /* of the last source; of those before it, which are not followed */
    bool described;                       /* files consist of such lines */
    uint64_t window_edges;
    double window_seconds; /* one of both, or none */
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
    bool late;                            /* a new store is made with the first version only */
    double seconds;                       /* that making the last version took */
    double every, next;                   /* versions while it runs: how often, and when; 0: none */
    uint64_t versions;                    /* made */
} ingest_target;

/* What there is under the name, before anything is read. Exit status, here and below. */
int ingest_target_find(ingest_target *target);
/* The dictionary of the matrix, or a new one in memory if target is NULL; the caller destroys it. */
int ingest_target_open_names(ingest_target *target, cli_state *cli, dcsr_names **names);
/* How much of what is ingested is stored; position 0: nothing is. */
int ingest_target_find_place(ingest_target *target, dcsr_input_place *place);
/* Opens it, or makes it with these dimensions. */
int ingest_target_open(ingest_target *target, dcsr_matrix **matrix, const ingest_plan *plan, uint64_t rows,
                       uint64_t cols);
/* Takes the ticket of a batch. That it is not safe on the disk is said, and no failure. */
int ingest_target_take(ingest_target *target, dcsr_ticket *ticket);
/* Waits until it is known of all batches whether they are safe. */
int ingest_target_wait(ingest_target *target, dcsr_matrix *matrix);
/* Makes a version while it runs, if it is time. That it fails is said, and no failure: there is the last one. */
void ingest_target_tick(ingest_target *target, dcsr_matrix *matrix);
/* Makes the version in the end. */
int ingest_target_store(ingest_target *target, dcsr_matrix *matrix);
void ingest_target_put(const ingest_target *target, cli_report *report);
/* Failure, with a line that says so, where a version has in the end what was not safe for a while. Before the
 * report, which tells of it too. */
int ingest_target_verdict(const ingest_target *target);
void ingest_target_free(ingest_target *target);

/* ---- Sources ---- */

/* One of the EDGES, in batches. */
typedef struct ingest_source {
    cli_source from; /* a file that is open; or its triples */
    dcsr_coo coo;    /* those */
    uint64_t next;   /* of them, the first that has not been handed out */
    bool waits;      /* a pipe, or a file that is followed: what came through it cannot be had again */
} ingest_source;

/* Opens it, or makes its triples, until it is interrupted; `late` where there is something that could be. */
int ingest_source_open(cli_state *cli, ingest_source *source, bool late);
/* Goes on behind a place, which becomes 0; where a file that is followed has become another one, from its
 * beginning. `again`: what is before the place is to be read again; then it stays. */
int ingest_source_resume(cli_state *cli, ingest_source *source, dcsr_input_place *place, bool again);
/* The next batch. It may have no edges, where none came for a while, and is empty in the end. */
int ingest_source_next(cli_state *cli, ingest_source *source, const dcsr_batch_limits *limits,
                       dcsr_edge_batch *batch);
void ingest_source_close(ingest_source *source);

/* ---- Windows ---- */

typedef struct ingest_window ingest_window;

/* NULL: no memory. */
ingest_window *ingest_window_create(const ingest_plan *plan);
void ingest_window_destroy(ingest_window *window);
/* Takes the edges of a batch into the window. stays[e] tells of each of them whether it is still there after the
 * last one; *rows and *cols, which are lent, are the `gone` edges that are to be removed before those are
 * inserted. False: no memory. */
bool ingest_window_take(ingest_window *window, const dcsr_edge_batch *batch, bool *stays,
                        const uint64_t **rows, const uint64_t **cols, uint64_t *gone);
/* Edges whose time was before that of an earlier one, and edges that are in the window. */
uint64_t ingest_window_late(const ingest_window *window);
uint64_t ingest_window_size(const ingest_window *window);

/* ---- Batches ---- */

/* Entries for the matrix. */
typedef struct ingest_staging {
    uint64_t *row, *col;
    void *values;
    uint64_t room;
} ingest_staging;

typedef struct ingest_stream {
    cli_state *cli;
    const ingest_plan *plan;
    ingest_target *target;  /* NULL: in memory alone */
    ingest_source *sources; /* one an argument */
    ingest_window *window;  /* NULL: none */
    struct ingest_metrics *metrics;
    struct ingest_reader *reader;       /* NULL until the matrix is there */
    struct ingest_followers *followers; /* the same */
    dcsr_matrix *matrix;                /* NULL until the first edges are */
    dcsr_multi_matrix *parts;           /* on several devices, in its place */
    dcsr_matrix_info before;            /* what a stored matrix was when it was opened */
    uint64_t rows, cols;                /* once all that is queued is applied */
    uint64_t edges, batches, left_out, skipped;
    uint64_t skipped_before; /* in the sources before this one */
    uint64_t max_segments;   /* the most that was seen of one row */
    double next_look;        /* when to look again how many they are */
    uint64_t stored, bytes;  /* of the matrix, at the last look */
    dcsr_names *names;       /* NULL: vertices are numbers */
    bool tagged;             /* the place goes with the batches */
    dcsr_input_place resume; /* what is stored of the source; position 0: nothing */
    dcsr_input_place place;  /* in the source, behind what was sent */
    ingest_staging staging;
    bool *stays; /* with a window, of each edge of a batch */
    uint64_t stays_room;
    int broken; /* exit status: a source that waits has failed, and what came before is kept */
} ingest_stream;

/* What does not depend on where the matrix is (ingest_matrix.c). Exit status, or that of the library. */
bool ingest_matrix_is_open(const ingest_stream *stream);
int ingest_matrix_create(ingest_stream *stream, uint64_t rows, uint64_t cols);
int ingest_matrix_resize(ingest_stream *stream, uint64_t rows, uint64_t cols);
struct ingest_staged;
dcsr_status ingest_matrix_change(ingest_stream *stream, const struct ingest_staged *staged,
                                 const uint64_t *row, const uint64_t *col, const void *values,
                                 dcsr_ticket **ticket);
dcsr_status ingest_matrix_wait(ingest_stream *stream);
dcsr_status ingest_matrix_get_info(const ingest_stream *stream, dcsr_matrix_info *info);
/* Live entries; of several devices also what their last view shows. */
dcsr_status ingest_matrix_get_nnz(const ingest_stream *stream, uint64_t *nnz, dcsr_multi_view_info *parts);
void ingest_matrix_destroy(ingest_stream *stream);

/* Ingests source number s, until it ends or is interrupted. */
int ingest_send(ingest_stream *stream, int s);
/* Waits for all of it; the matrix is there then. */
int ingest_wait(ingest_stream *stream);
/* Frees staging, window and matrix. */
void ingest_close(ingest_stream *stream);

/* Some entries of a batch on their way into the matrix: which ones, NULL for all, and whether to be deleted. */
typedef struct ingest_staged {
    const dcsr_edge_batch *batch;
    const char *source;
    const bool *chosen;
    bool deleting;
    uint64_t n;          /* entries in staging */
    const dcsr_tag *tag; /* may be NULL */
} ingest_staged;

/* Puts entries and their mirrors into staging, in the type of the matrix. Edges outside the matrix are left out
 * when deleting: they are not stored (ingest_stage.c). */
int ingest_stage(ingest_stream *stream, ingest_staged *staged);
/* Whether values of such a batch can become values of the matrix; single ones may be too large for it. */
bool ingest_holds(dcsr_type matrix, dcsr_type batch);

/* ---- Being told ---- */

/* From here on the first SIGINT or SIGTERM is noted and the second ends the process; before, both do. */
void ingest_interrupt_begin(void);
/* The signal, or 0. */
int ingest_interrupted(void);
/* From here on SIGUSR1 is a question; whether it has come since the last call. */
void ingest_questions_begin(void);
bool ingest_asked(void);
/* Does the work in a thread of its own. False when that is interrupted: the thread is left alone then, and
 * what it uses must be left to it. */
bool ingest_interruptible(void (*work)(void *user), void *user);
/* Ends the process as the signal does. */
void ingest_interrupt_end(void);

/* ---- Telling ---- */

typedef struct ingest_metrics ingest_metrics;

/* Writes them to the file each second from now on (NULL: only tells progress). NULL: no memory. */
ingest_metrics *ingest_metrics_create(cli_state *cli, const char *file);
/* Tells how far it is, if it is time, or was asked for. `source` is what is being read. */
void ingest_metrics_tick(ingest_metrics *metrics, const ingest_stream *stream, const char *source);
/* The last time. */
void ingest_metrics_end(ingest_metrics *metrics, const ingest_stream *stream);
void ingest_metrics_destroy(ingest_metrics *metrics);

/* ---- Reading meanwhile ---- */

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

/* ---- Following ---- */

typedef struct ingest_followers ingest_followers;

/* Takes the words of --follow. */
error_t ingest_follow_take(cli_state *cli, const char *value, unsigned *wanted);
/* Whether some of these begin at a source. */
bool ingest_follow_has_source(unsigned wanted);
/* NULL: no memory. */
ingest_followers *ingest_followers_create(cli_state *cli, unsigned wanted, uint64_t source);
/* Follows the version that was published last, if it is time; tells what is new on stderr. */
void ingest_followers_tick(ingest_followers *all, dcsr_matrix *matrix);
/* Follows all that was sent. Exit status: failure if one of them has failed on the way, which has been said. */
int ingest_followers_end(ingest_followers *all, dcsr_matrix *matrix);
void ingest_followers_put(const ingest_followers *all, cli_report *report);
void ingest_followers_destroy(ingest_followers *all);

#endif
