/* graph_task.h: the parts of the commands that run one graph algorithm on a MATRIX.
 *
 *      graph_commands.c   a row of the table for each: what it computes, and what its answer is
 *      graph_options.c    what the command line says
 *      graph_run.c        loads the MATRIX, runs the algorithm, reports
 *      graph_answer.c     the answer itself: --out FILE, --top N
 *      graph_plot.c       how it is distributed: --plot FILE.png
 *
 * An answer is one or two numbers a vertex: the columns of the file that --out names. */
#ifndef DCSR_CLI_GRAPH_TASK_H
#define DCSR_CLI_GRAPH_TASK_H

#include "cli/stored.h"
#include <dcsr/bfs.h>
#include <dcsr/graph.h>

enum { GRAPH_COLUMNS = 2 };

/* One element of the answer per vertex. */
typedef struct graph_column {
    const char *name; /* NULL: there is none */
    dcsr_type type;   /* BOOL, INT32, UINT32, UINT64 or FP64 */
    bool vertex;      /* elements are vertices */
} graph_column;

/* What the command line says; of options that a command does not have, the default. */
typedef struct graph_settings {
    const char *out, *plot;
    uint64_t repeat, top;
    bool symmetric, parents, adaptive;
    const char *source, *sources, *personal; /* words for vertices, of the last two separated by commas */
    double damping, tolerance, delta;        /* 0: the library's default */
    uint64_t iterations, samples, seed;
} graph_settings;
extern graph_settings graph_given;

/* Keys of options, and how each is taken. */
enum {
    GRAPH_KEY_OUT = 1,
    GRAPH_KEY_PLOT,
    GRAPH_KEY_TOP,
    GRAPH_KEY_REPEAT,
    GRAPH_KEY_SYMMETRIC,
    GRAPH_KEY_SOURCE,
    GRAPH_KEY_SOURCES,
    GRAPH_KEY_PERSONAL,
    GRAPH_KEY_PARENTS,
    GRAPH_KEY_ADAPTIVE,
    GRAPH_KEY_DAMPING,
    GRAPH_KEY_TOLERANCE,
    GRAPH_KEY_DELTA,
    GRAPH_KEY_ITERATIONS,
    GRAPH_KEY_SAMPLES,
    GRAPH_KEY_SEED
};
error_t graph_take(cli_state *cli, int key, const char *value);

typedef struct graph_task {
    cli_state *cli;
    const struct graph_algorithm *algorithm;
    dcsr_names *names; /* NULL: vertices have none */
    dcsr_view *view;
    dcsr_multi_matrix *parts; /* on several devices; view is NULL then */
    dcsr_multi_view *on_parts;
    uint64_t vertices, source;
    uint64_t *sources; /* of --sources or --personal */
    uint64_t source_count;
    double *personal; /* a weight for each vertex */
    void *answer[GRAPH_COLUMNS];
    double seconds;
    union {
        dcsr_bfs_result bfs;
        dcsr_sssp_result sssp;
        dcsr_components_result components;
        dcsr_pagerank_result pagerank;
        dcsr_betweenness_result betweenness;
        dcsr_triangles_result triangles;
        dcsr_clustering_result clustering;
        dcsr_kcore_result kcore;
        dcsr_independent_set_result mis;
        dcsr_colouring_result colouring;
    } result;
} graph_task;

/* A picture of how the first column is distributed. */
typedef enum graph_picture {
    GRAPH_BARS,   /* how many have each number, which is whole */
    GRAPH_WITHIN, /* how many have at most so much */
    GRAPH_TAIL    /* how many have at least so much, both as powers of ten */
} graph_picture;

typedef struct graph_algorithm {
    const cli_command *command;
    graph_column columns[GRAPH_COLUMNS];
    bool needs_source;
    unsigned flags; /* of the view */
    uint64_t repeat, top;
    dcsr_status (*compute)(graph_task *t);
    void (*put)(cli_report *report, const graph_task *t);
    graph_picture picture;
    const char *counted; /* the label of the numbers in it; NULL: there is no picture */
    /* What --top ranks vertices by, those with 0 left out, and what is drawn; NULL: the first column. */
    void (*rank)(double *score, const graph_task *t);
} graph_algorithm;

/* The row of a command. */
const graph_algorithm *graph_find(const cli_command *command);
/* The one run() of all of these commands. */
int graph_run(cli_state *cli);

/* Refuses an --out to which the answer must not be written. Exit status. */
int graph_check_out(cli_state *cli);
/* Writes the answer, a line for each vertex that has one. Exit status. */
int graph_write_out(const graph_task *t);
/* The best vertices, as a list of [vertex, score] and as text. Exit status. */
int graph_put_top(cli_report *report, graph_task *t);
/* Draws the picture that --plot wants. Exit status. */
int graph_draw(const graph_task *t);
/* An element of the answer as a number; NaN where the vertex has none. */
double graph_number(const graph_task *t, int column, uint64_t v);

#endif
