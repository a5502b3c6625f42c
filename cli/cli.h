/* cli.h: what the commands of the program `dcsr` share.
 *
 * A command is one file that defines one cli_command: its options, its help and a function that runs it.
 * main.c parses the options that all commands have, finds the command in its table, lets it take its own
 * options, and runs it. The function returns the exit status: 0 done, 1 failed, 2 wrong usage.
 *
 * Results go into a cli_report, which prints them either as aligned text or as one JSON object. Failures go
 * through cli_fail() and cli_usage(): one line on stderr. */
#ifndef DCSR_CLI_H
#define DCSR_CLI_H

#include "dcsr/dcsr.h"
#include <argp.h>
#include <stdio.h>

enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_WRONG_USAGE = 2 };

typedef struct cli_state cli_state;

typedef struct cli_command {
    const char *name;
    const char *arguments;             /* for the usage line */
    const char *summary;               /* one line for `dcsr --help` */
    const char *help;                  /* below the options: what is reported, and an example */
    int least, most;                   /* how many arguments there may be; most -1: any number */
    const struct argp_option *options; /* may be NULL */
    /* Takes one option; returns 0, or EINVAL after cli_usage() or cli_fail(). */
    error_t (*take)(cli_state *cli, int key, const char *value);
    int (*run)(cli_state *cli);
} cli_command;

struct cli_state {
    const cli_command *command;
    dcsr_device device;
    int threads;
    bool json, quiet, help, version;
    int exit_status;  /* what cli_usage() or cli_fail() said while options were parsed */
    int stopped_at;   /* where in argv parsing failed */
    char **arguments; /* of the command, in order */
    int argument_count;
    dcsr_context *context;
    struct cli_open_store *stores; /* that are open (stored.h) */
    double progress_last;          /* when progress was last shown */
    bool progress_shown;
};

/* Failing (output.c). Both print one line "dcsr: ..." and return the exit status, 1 and 2; cli_usage() adds
 * where help is. */
__attribute__((format(printf, 2, 3))) int cli_fail(cli_state *cli, const char *format, ...);
__attribute__((format(printf, 2, 3))) int cli_usage(cli_state *cli, const char *format, ...);
/* The same with the library's sentence about this thread's last failure. */
int cli_fail_library(cli_state *cli);
/* Such a line about something that need not end the command. */
__attribute__((format(printf, 2, 3))) void cli_warn(cli_state *cli, const char *format, ...);
/* Pushes what has been printed out to stdout; a failure to write it is a failure of the command. */
int cli_flush(cli_state *cli);

/* A whole number from least to most; k, M and G after it stand for thousands, millions, milliards.
 * Returns 0, or EINVAL after the message. */
error_t cli_take_number(cli_state *cli, const char *option, const char *value, uint64_t least, uint64_t most,
                        uint64_t *number);

/* Progress on a terminal: one line that is overwritten, shown a few times a second; cli_progress_end() wipes
 * it. */
__attribute__((format(printf, 2, 3))) void cli_progress(cli_state *cli, const char *format, ...);
void cli_progress_end(cli_state *cli);

/* Seconds on a clock that only goes forward. */
double cli_now(void);
int cli_compare_doubles(const void *a, const void *b);
/* The quantile q (0 to 1) of n ascending numbers, the nearest rank; NaN of none. */
double cli_quantile(const double *ascending, size_t n, double q);

/* Results. The text is built as the JSON object is; cli_report_print() prints one of the two, frees the
 * report and returns the exit status. A label of NULL puts a value in the JSON object only. A number that is
 * not finite is null. */
typedef struct cli_report {
    cli_state *cli;
    struct json_t *object, *item; /* item: of a list, that is being filled; NULL: none */
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
/* A list in the JSON object, empty at first. Between the other two calls what is put goes into a new object
 * at the end of that list. */
void cli_put_list(cli_report *report, const char *key);
void cli_begin_item(cli_report *report, const char *key);
void cli_end_item(cli_report *report);
/* A line of the text alone; without a label it begins at the margin. */
__attribute__((format(printf, 3, 4))) void cli_put_line(cli_report *report, const char *label,
                                                        const char *format, ...);
int cli_report_print(cli_report *report);
/* Frees the report without printing it; returns the exit status that it is given. */
int cli_report_drop(cli_report *report, int status);

/* Numbers as people read them: 1,234,567; 1.5 MiB; 12.3 ms. The buffer is returned. */
enum { CLI_NUMBER = 40 };
const char *cli_grouped(char buffer[CLI_NUMBER], uint64_t value);
const char *cli_bytes(char buffer[CLI_NUMBER], uint64_t bytes);
const char *cli_duration(char buffer[CLI_NUMBER], double seconds);

/* MATRIX arguments (source.c). On failure these have printed the reason and return the exit status. */

/* The triples that a MATRIX argument names, of type pattern, int64 or fp64. rows and cols bound an edge list;
 * 0: as its ids need. */
int cli_load_coo(cli_state *cli, dcsr_coo *coo, const char *source, uint64_t rows, uint64_t cols);
/* The matrix that it names; of a stored one type, policy and options too. *seconds (may be NULL) gets the
 * time that inserting took, or restoring. */
int cli_load_matrix(cli_state *cli, dcsr_matrix **matrix, const char *source, double *seconds);
/* The type that the triples will have, from a look at the beginning of the file or at the version's record.
 */
int cli_peek_type(cli_state *cli, dcsr_type *type, const char *source);

/* Writes a matrix to a file and reports that (cmd_convert.c); `version` of a stored one, else 0. */
int cli_write_matrix(cli_state *cli, dcsr_matrix *matrix, const char *file, uint64_t version);

extern const cli_command cli_info_command;
extern const cli_command cli_convert_command;
extern const cli_command cli_snapshot_command;
extern const cli_command cli_restore_command;
extern const cli_command cli_log_command;
extern const cli_command cli_verify_command;
extern const cli_command cli_gc_command;
extern const cli_command cli_ingest_command;
extern const cli_command cli_spmv_command;
extern const cli_command cli_bfs_command;
extern const cli_command cli_spy_command;
extern const cli_command cli_bench_command;

#endif
