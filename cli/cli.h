/* cli.h: what the commands of the program `dcsr` share.
 *
 * A command is one file that defines one cli_command: its options, its help and a function that runs it. What
 * the command line accepts, the help, the manual page and the shells' completion all come from these
 * definitions. main.c finds the command in its table, options.c passes it its options, main.c runs it. The
 * function returns the exit status: 0 done, 1 failed, 2 wrong usage.
 *
 * Results go into a cli_report, which prints them either as aligned text or as one JSON object. Failures go
 * through cli_fail() and cli_usage(): one line on stderr, and with --json an object on stdout. */
#ifndef DCSR_CLI_H
#define DCSR_CLI_H

#include <dcsr/dcsr.h>
#include <dcsr/multi.h>
#include <argp.h>
#include <stdio.h>

enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_WRONG_USAGE = 2 };

typedef struct cli_state cli_state;

/* The words in `arguments`, and in the arguments of options, determine completion: MATRIX and EDGES, FILE,
 * GRAMMAR and GRAPH, what begins with STORE, COMMAND; alternatives are written a|b|c, and anything else is refused. */
typedef struct cli_command {
    const char *name;
    const char *arguments;             /* for the usage line */
    const char *summary;               /* one line for `dcsr --help` */
    const char *help;                  /* below the options: what is reported, and an example */
    int least, most;                   /* the number of arguments; most -1: any number */
    bool offline;                      /* it runs without a context */
    bool several;                      /* it runs on several devices, too */
    const struct argp_option *options; /* may be NULL */
    /* Handles one option; returns 0, or EINVAL after cli_usage() or cli_fail(). */
    error_t (*take)(cli_state *cli, int key, const char *value);
    /* The arguments that can be listed, number 0, 1, ...; NULL beyond the last. May be NULL. */
    const char *(*choice)(int number);
    int (*run)(cli_state *cli);
} cli_command;

struct cli_state {
    const cli_command *command;
    dcsr_device device;
    int device_number; /* of a GPU */
    const char
        *devices;   /* of --device where they may be several, as dcsr_multi_create() takes them; else NULL */
    uint64_t grain; /* of several: how many rows of a MATRIX belong together; 0: each is alone */
    int threads;
    bool json, quiet, progress, help, version;
    bool json_failures;   /* --json was given, though it may not have been parsed yet */
    struct json_t *error; /* what --json prints for the first failure; NULL: none yet */
    bool printed;         /* a JSON object has been printed */
    int exit_status;      /* of the last cli_usage() or cli_fail() */
    char **arguments;     /* of the command, in order */
    int argument_count;
    dcsr_context *context;         /* with several devices: one on the cpu, to load into */
    dcsr_multi *multi;             /* several devices; NULL: there is the context's alone */
    struct cli_open_store *stores; /* the open ones (stored.h) */
    bool from_store;               /* a MATRIX was a stored one; reports then include the next line */
    uint64_t pending, replayed;    /* later records in its log; changes that @live has replayed */
    dcsr_policy op;                /* of --op; DCSR_POLICY_DEFAULT: it was not given */
    bool loaded;                   /* a MATRIX was loaded as a matrix; reports then include the next line */
    uint64_t combined;             /* its entries that were combined with others during loading */
    double progress_last;          /* when progress was last shown */
    bool progress_shown;
};

/* All commands, terminated by NULL (main.c). */
extern const cli_command *const cli_commands[];
/* The command of that name; NULL after cli_usage() if there is none, or no name. */
const cli_command *cli_find_command(cli_state *cli, const char *name);

/* The command line (options.c). Parses argv[1..]: up to the command if that is not known yet, else all of it.
 * cli->arguments is then what is not an option. Returns the exit status. */
int cli_parse_options(cli_state *cli, int argc, char **argv);
extern const struct argp_option cli_common_options[];
/* Whether this row of a table of options ends it. Rows without a name are headings. */
bool cli_is_last_option(const struct argp_option *option);
/* The next of the alternatives a|b|c, of *length characters; *rest must first point to the first. NULL at the
 * end. A last one "..." is none: the values may be others, too. */
const char *cli_choice(const char **rest, size_t *length);
/* Finds the name that is most similar to a word: offer all names. `best` is NULL if none is similar. */
typedef struct cli_guess {
    const char *word, *best;
    size_t distance;
} cli_guess;
void cli_guess_offer(cli_guess *guess, const char *name);

/* Help texts (help.c). Return the exit status. */
int cli_show_help(cli_state *cli, const cli_command *command); /* NULL: of the program */
extern const char cli_about[], cli_exit_statuses[];
/* "A MATRIX is ..."; allocated, NULL if there is no memory. */
char *cli_describe_matrices(void);
/* The manual page, and the completion scripts of shells (manual.c, completion.c). */
void cli_write_manual(FILE *out);
void cli_write_bash_completion(FILE *out);
void cli_write_zsh_completion(FILE *out);

/* Failing (output.c). Both print one line "dcsr: ..." and return the exit status, 1 and 2; cli_usage() adds
 * where to find help. With --json the first failure is printed on stdout at the end, or with the results. */
__attribute__((format(printf, 2, 3))) int cli_fail(cli_state *cli, const char *format, ...);
__attribute__((format(printf, 2, 3))) int cli_usage(cli_state *cli, const char *format, ...);
/* cli_fail() with a status other than "failed" in JSON: that of the library's last failure, or one of the
 * program's own. */
__attribute__((format(printf, 2, 3))) int cli_fail_because(cli_state *cli, const char *format, ...);
__attribute__((format(printf, 4, 5))) int cli_fail_as(cli_state *cli, const char *status, int exit_status,
                                                      const char *format, ...);
/* With the library's sentence about this thread's last failure. */
int cli_fail_library(cli_state *cli);
/* Prints the failure for --json, unless it was printed with the results. */
void cli_end_failures(cli_state *cli);
/* Prints such a line about something that does not end the command. */
__attribute__((format(printf, 2, 3))) void cli_warn(cli_state *cli, const char *format, ...);
/* Flushes stdout; a failure to write is a failure of the command. */
int cli_flush(cli_state *cli);

/* Parses a whole number from least to most; k, M and G after it stand for thousands, millions and billions.
 * Returns 0, or EINVAL after a message. */
error_t cli_take_number(cli_state *cli, const char *option, const char *value, uint64_t least, uint64_t most,
                        uint64_t *number);

/* Parses a time: a number and ms, s, m, h or d; without one of these it counts units of so many seconds.
 * Returns 0, or EINVAL after a message. */
error_t cli_take_duration(cli_state *cli, const char *option, const char *value, double unit,
                          double *seconds);

/* Progress: on a terminal one line, updated a few times a second, which cli_progress_end() erases; elsewhere, with
 * --progress, as many lines. */
__attribute__((format(printf, 2, 3))) void cli_progress(cli_state *cli, const char *format, ...);
void cli_progress_end(cli_state *cli);
/* Of a call of the library, as a share or a number; `user` is a cli_doing. */
typedef struct cli_doing {
    cli_state *cli;
    const char *what;
} cli_doing;
void cli_show_progress(void *user, uint64_t done, uint64_t total);

/* Seconds on a clock that only goes forward. */
double cli_now(void);
int cli_compare_doubles(const void *a, const void *b);
/* The quantile q (0 to 1) of n ascending numbers, by nearest rank; NaN if n is 0. */
double cli_quantile(const double *ascending, size_t n, double q);
/* Runs something `repeat` times, after a warm-up if asked for; *seconds is the median. `name`, of one run, stands in
 * the progress. */
typedef struct cli_measured {
    const char *name;
    uint64_t repeat;
    bool warm_up;
    dcsr_status (*run)(void *user);
    void *user;
} cli_measured;
int cli_measure(cli_state *cli, const cli_measured *what, double *seconds);

/* Results. The text is built as the JSON object is; cli_report_print() prints one of the two, frees the
 * report and returns the exit status. A label of NULL puts a value into the JSON object only. A number that
 * is not finite becomes null. */
typedef struct cli_report {
    cli_state *cli;
    struct json_t *object, *item; /* item: the element of a list that is being filled, or NULL */
    FILE *stream;
    char *text;
    size_t length;
} cli_report;

void cli_report_begin(cli_report *report, cli_state *cli);
void cli_put_count(cli_report *report, const char *key, const char *label, uint64_t value);
void cli_put_integer(cli_report *report, const char *key, int64_t value);
void cli_put_real(cli_report *report, const char *key, const char *label, double value, const char *unit);
void cli_put_seconds(cli_report *report, const char *key, const char *label, double seconds);
void cli_put_bytes(cli_report *report, const char *key, const char *label, uint64_t bytes);
void cli_put_text(cli_report *report, const char *key, const char *label, const char *value);
/* A list of the numbers whose bits are set, in the JSON object only. */
void cli_put_numbers(cli_report *report, const char *key, uint64_t bits);
/* Adds an empty list to the JSON object. Between the other two calls, values go into a new object at the end
 * of that list. */
void cli_put_list(cli_report *report, const char *key);
void cli_begin_item(cli_report *report, const char *key);
/* Values go into a new object under that key, until cli_end_item(). */
void cli_begin_object(cli_report *report, const char *key);
void cli_end_item(cli_report *report);
/* Appends [vertex, score], and the name of the vertex if there is one, to that list; a score that is not real is
 * whole. */
void cli_put_scored(cli_report *report, const char *key, const char *label, uint64_t vertex, double score,
                    bool real, const char *name);
/* Adds a line to the text only; without a label it begins at the margin. */
__attribute__((format(printf, 3, 4))) void cli_put_line(cli_report *report, const char *label,
                                                        const char *format, ...);
/* Which model chooses kernels in the program's context, and why the user's does not (output.c). */
void cli_put_model(cli_report *report);
int cli_report_print(cli_report *report);
/* Frees the report without printing it; returns `status`. */
int cli_report_drop(cli_report *report, int status);

/* Numbers as people read them: 1,234,567; 1.5 MiB; 12.3 ms. The buffer is returned. */
enum { CLI_NUMBER = 40 };
const char *cli_grouped(char buffer[CLI_NUMBER], uint64_t value);
const char *cli_bytes(char buffer[CLI_NUMBER], uint64_t bytes);
const char *cli_duration(char buffer[CLI_NUMBER], double seconds);

/* MATRIX arguments (source.c). On failure these print the reason and return the exit status. A file is opened
 * once and read from front to back, so it may be a pipe. */

/* A MATRIX that is inspected before it is read. Set the fields before `input`, leave the others zero. */
typedef struct cli_source {
    const char *name;
    uint64_t rows, cols; /* of an edge list; 0: as its ids require */
    const dcsr_line_format
        *lines;        /* of a file to be read in batches; NULL: its name, or its beginning, tells */
    dcsr_input *input; /* a file that is open */
    dcsr_coo coo;      /* what has been read so far */
    bool loaded;
} cli_source;

/* The file that a MATRIX names: standard input for "-". */
const char *cli_source_file(const char *name);
/* Whether it is a file, and no generator or stored matrix. */
bool cli_source_is_file(const char *name);
/* Opens a file, unless it is open. */
int cli_source_open(cli_state *cli, cli_source *source);

/* The type that its triples will have. If several sources are inspected, a pipe that is not the last is read
 * to its end, since one process may write to one pipe after another. */
int cli_source_look(cli_state *cli, cli_source *source, bool last, dcsr_type *type);
/* Reads its triples, of type pattern, int64 or fp64. To be called once. */
int cli_source_load(cli_state *cli, cli_source *source, dcsr_coo *coo);
/* Frees what has not been loaded. */
void cli_source_close(cli_source *source);

/* Loads the matrix that a MATRIX names; a stored one with its type, policy and options. Sets cli->combined,
 * and says on stderr what happened to repeated entries of a file. *seconds (may be NULL) gets the time that
 * inserting or restoring took. */
int cli_load_matrix(cli_state *cli, dcsr_matrix **matrix, const char *source, double *seconds);

/* Several devices (source.c). */

/* Gives the entries of a matrix to the devices, in parts, and destroys it; *view is of these, to be taken with the
 * flags. The caller destroys all three, also after a failure. Exit status. */
int cli_parts_make(cli_state *cli, dcsr_multi_matrix **parts, dcsr_multi_view **view, dcsr_matrix **matrix,
                   unsigned flags);
/* Has the matrix in fp64, as solvers on several devices want it; a pattern's entries are 1. Exit status. */
int cli_to_fp64(cli_state *cli, dcsr_matrix **matrix);
/* How many devices there are, and how evenly entries are shared. */
void cli_put_parts(cli_report *report, const dcsr_multi_view_info *info);
/* Fails for an option that there is for one device alone. Exit status. */
int cli_parts_refuse(cli_state *cli, const char *option);

/* What repeated entries of a MATRIX mean. CLI_OP_OPTION goes into the table of a command's options, and its
 * take() ends with cli_op_take(), which may be take() itself. */
enum { CLI_KEY_OP = 600 };
#define CLI_OP_OPTION                                                                                 \
    {                                                                                                 \
        "op", CLI_KEY_OP, "keep|sum|min|max|last|any", 0,                                             \
            "What an entry means that is there already; with keep both stand side by side and count " \
            "(default any for pattern matrices, last for valued ones)",                               \
            0                                                                                         \
    }
error_t cli_op_take(cli_state *cli, int key, const char *value);

/* The right side of an equation, from what --rhs names (source.c). */
#define CLI_RHS_ONES "ones"
#define CLI_RHS_HELP "b: 'ones' (the default), a Matrix Market array, or a .txt with a number a line"
/* With that many rows and at least one column. The caller frees it with the same name, even on failure. Exit status. */
int cli_rhs_make(cli_state *cli, dcsr_dense *b, const char *name, uint64_t rows);
void cli_rhs_free(dcsr_dense *b, const char *name);

/* Output files (files.c): the library puts them in place when they are complete; pipes and devices are written
 * directly. */

/* Writes a matrix to a file ("-": standard output) and reports that, unless it went to standard output;
 * `names`, instead of the numbers of vertices, may be NULL; `version` is that of a stored one, else 0. */
int cli_write_matrix(cli_state *cli, dcsr_matrix *matrix, dcsr_names *names, const char *file,
                     uint64_t version);

/* Whether that is where standard output goes. */
bool cli_is_standard_output(const char *file);

/* CLI_WRITE_OPTION stands in the table of such a command, and its take() ends with cli_write_take(). */
enum { CLI_KEY_GENERAL = 700 };
#define CLI_WRITE_OPTION                                                                             \
    {                                                                                                \
        "general", CLI_KEY_GENERAL, NULL, 0,                                                         \
            "Write a symmetric matrix as any other (default: a .mtx lists what is on and below its " \
            "diagonal)",                                                                             \
            0                                                                                        \
    }
error_t cli_write_take(int key);

/* A kind of file that is not a matrix. */
typedef struct cli_file_kind {
    const char *name;   /* "a PNG picture" */
    const char *ending; /* of the names of such files, ".png" */
    const char *magic;  /* their first bytes */
    size_t magic_length;
} cli_file_kind;
/* Refuses a name without that ending, and the name of an existing file of another kind. */
int cli_check_target(cli_state *cli, const char *file, const cli_file_kind *kind);

/* Pictures that gnuplot draws (plot.c). The first refuses a file that is no place for one, and says if there is no
 * gnuplot; the other has the script written, which leaves picture.png in its folder. Exit status. */
int cli_plot_check(cli_state *cli, const char *path);
typedef void cli_plot_script(FILE *script, const void *user);
int cli_plot(cli_state *cli, const char *path, cli_plot_script *write, const void *user);

extern const cli_command cli_info_command;
extern const cli_command cli_convert_command;
extern const cli_command cli_snapshot_command;
extern const cli_command cli_restore_command;
extern const cli_command cli_log_command;
extern const cli_command cli_verify_command;
extern const cli_command cli_gc_command;
extern const cli_command cli_compact_command;
extern const cli_command cli_backup_command;
extern const cli_command cli_ingest_command;
extern const cli_command cli_spmv_command;
extern const cli_command cli_tune_command;
extern const cli_command cli_spgemm_command;
extern const cli_command cli_bfs_command;
extern const cli_command cli_sssp_command;
extern const cli_command cli_pagerank_command;
extern const cli_command cli_bc_command;
extern const cli_command cli_cc_command;
extern const cli_command cli_scc_command;
extern const cli_command cli_triangles_command;
extern const cli_command cli_clustering_command;
extern const cli_command cli_kcore_command;
extern const cli_command cli_ktruss_command;
extern const cli_command cli_mis_command;
extern const cli_command cli_colouring_command;
extern const cli_command cli_row_command;
extern const cli_command cli_watch_command;
extern const cli_command cli_closure_command;
extern const cli_command cli_samegen_command;
extern const cli_command cli_cfl_command;
extern const cli_command cli_cfa_command;
extern const cli_command cli_amg_command;
extern const cli_command cli_cg_command;
extern const cli_command cli_spy_command;
extern const cli_command cli_bench_command;
extern const cli_command cli_help_command;

#endif
