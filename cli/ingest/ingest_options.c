/* ingest_options.c: what the command line of `dcsr ingest` says. */
#include "cli/ingest/ingest.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_BATCH = 1,
    KEY_EVERY,
    KEY_ROWS,
    KEY_COLS,
    KEY_SYMMETRIC,
    KEY_DELETE,
    KEY_WINDOW,
    KEY_READ,
    KEY_FOLLOW,
    KEY_SOURCE,
    KEY_COLUMNS,
    KEY_VALUE,
    KEY_TIME,
    KEY_SEPARATOR,
    KEY_HEADER,
    KEY_STRICT_TIME,
    KEY_SKIP_BAD,
    KEY_TAIL,
    KEY_NAMES,
    KEY_INTO,
    KEY_DURABLE,
    KEY_RESUME,
    KEY_SNAPSHOT_EVERY,
    KEY_METRICS,
    KEY_SLACK
};
enum { MOST_COLUMN = 255 };
static const uint64_t MOST_IN_BATCH = (uint64_t)1 << 31;

ingest_settings ingest_given = {.batch = 1000000};

const struct argp_option ingest_options[] = {
    {"batch", KEY_BATCH, "N", 0, "Edges a batch (default 1M)", 0},
    {"every", KEY_EVERY, "TIME", 0,
     "A batch is complete after TIME, even if it has fewer edges (default 1s for what is waited for)", 0},
    CLI_OP_OPTION,
    {"rows", KEY_ROWS, "N", 0, "Fix the number of rows; an edge beyond is an error (default: grow as needed)",
     0},
    {"cols", KEY_COLS, "N", 0, "The same for columns", 0},
    {"symmetric", KEY_SYMMETRIC, NULL, 0, "With each edge (i,j) also (j,i)", 0},
    {"delete", KEY_DELETE, NULL, 0,
     "Delete the EDGES named after this option, insert those before it; named last, it applies to all EDGES",
     0},
    {"window", KEY_WINDOW, "LENGTH", 0,
     "Keep the last so many edges, or those of the last 30s, 10m, 1h, by --time; one that is seen again "
     "stays",
     0},
    {"read", KEY_READ, "bfs|spmv", 0,
     "Meanwhile run bfs or spmv on snapshots all the time, and report how long each took", 0},
    {"follow", KEY_FOLLOW, "WHAT,...", 0,
     "Keep up to date, and tell as it changes: pagerank, cc (components), triangles, bfs, sssp, kcore, "
     "closure",
     0},
    {"source", KEY_SOURCE, "V", 0,
     "Where bfs and sssp of --read and --follow start (default: the vertex with most edges in the first "
     "batch)",
     0},
    {"slack", KEY_SLACK, "X", 0,
     "Room for growth of a new matrix's rows: 0 (none) to 1 of their length (default 0.5)", 0},
    {.doc = "What lines are, where they are no edge list:", .group = 0},
    {"columns", KEY_COLUMNS, "R,C", 0, "The columns that are row and column, from 1 on (default 1,2)", 0},
    {"value", KEY_VALUE, "N", 0, "The column that is the value", 0},
    {"time", KEY_TIME, "N", 0, "The column that is the time: seconds, or like 2026-01-31T23:59:59.5Z", 0},
    {"separator", KEY_SEPARATOR, "CHAR", 0,
     "What separates columns: a character, tab or space (default: blanks, tabs, with a comma among them)", 0},
    {"header", KEY_HEADER, "N", 0, "Pass over the first N lines", 0},
    {"strict-time", KEY_STRICT_TIME, NULL, 0,
     "A time before that of an earlier line is an error (default: it counts as the newest so far)", 0},
    {"names", KEY_NAMES, NULL, 0, "Rows and columns are names; they are numbered, and kept with the matrix",
     0},
    {"skip-bad", KEY_SKIP_BAD, NULL, 0, "Count lines that cannot be read, and go on", 0},
    {"tail", KEY_TAIL, NULL, 0, "Follow the last of the EDGES, a file that grows, also when it is rotated",
     0},
    {.doc = "Where they go:", .group = 0},
    {"into", KEY_INTO, "STORE#NAME", 0,
     "Ingest into a stored matrix, which grows as needed, and make a version of it in the end; where there "
     "is none "
     "it is made",
     0},
    {"durable", KEY_DURABLE, NULL, 0,
     "With --into: log each batch on the disk, so that a killed ingestion loses nothing that was logged", 0},
    {"resume", KEY_RESUME, NULL, 0,
     "With --into: go on behind what is stored of the EDGES, one file, or a stream that begins anew", 0},
    {"snapshot-every", KEY_SNAPSHOT_EVERY, "TIME", 0, "With --into: make versions while it runs, too", 0},
    CLI_NEW_STORE_OPTIONS,
    {"metrics", KEY_METRICS, "FILE", 0, "Write counts to FILE each second, for Prometheus", 0},
    {0}};

/* ---- Taking ---- */

static error_t take_column(cli_state *cli, const char *option, const char *value, uint32_t *column)
{
    uint64_t number;
    error_t wrong = cli_take_number(cli, option, value, 1, MOST_COLUMN, &number);
    if (!wrong) *column = (uint32_t)number;
    ingest_given.described = true;
    return wrong;
}

static error_t take_columns(cli_state *cli, const char *value)
{
    char first[32];
    const char *comma = strchr(value, ',');
    if (!comma || (size_t)(comma - value) >= sizeof first) {
        cli_usage(cli, "--columns must be two numbers, such as 2,3, not '%s'", value);
        return EINVAL;
    }
    memcpy(first, value, (size_t)(comma - value));
    first[comma - value] = 0;
    error_t wrong = take_column(cli, "--columns", first, &ingest_given.lines.row);
    return wrong ? wrong : take_column(cli, "--columns", comma + 1, &ingest_given.lines.col);
}

static error_t take_separator(cli_state *cli, const char *value)
{
    static const struct {
        const char *word;
        char c;
    } words[] = {{"tab", '\t'}, {"\\t", '\t'}, {"space", ' '}, {"comma", ','}};
    ingest_given.described = true;
    ingest_given.lines.separator = *value;
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        if (strcmp(value, words[w].word)) continue;
        ingest_given.lines.separator = words[w].c;
        return 0;
    }
    if (*value && !value[1] && !strchr("\"#.-\r\n0123456789", *value)) return 0;
    cli_usage(cli, "--separator must be one character that columns do not contain, tab or space, not '%s'",
              value);
    return EINVAL;
}

static error_t take_slack(cli_state *cli, const char *value)
{
    char *end;
    const double slack = strtod(value, &end);
    if (end == value || *end || !(slack >= 0 && slack <= 1)) {
        cli_usage(cli, "--slack must be 0 to 1, not '%s'", value);
        return EINVAL;
    }
    ingest_given.slack = slack > 0 ? slack : DCSR_SLACK_NONE;
    return 0;
}

/* Edges, or a time, which ends in its unit. */
static error_t take_window(cli_state *cli, const char *value)
{
    const size_t length = strlen(value);
    if (length && strchr("smhd", value[length - 1]))
        return cli_take_duration(cli, "--window", value, 1, &ingest_given.window_seconds);
    return cli_take_number(cli, "--window", value, 1, UINT64_C(1) << 40, &ingest_given.window_edges);
}

static error_t take_line_option(cli_state *cli, int key, const char *value)
{
    dcsr_line_format *lines = &ingest_given.lines;
    switch (key) {
    case KEY_COLUMNS:
        return take_columns(cli, value);
    case KEY_VALUE:
        return take_column(cli, "--value", value, &lines->value);
    case KEY_TIME:
        return take_column(cli, "--time", value, &lines->time);
    case KEY_SEPARATOR:
        return take_separator(cli, value);
    case KEY_HEADER:
        ingest_given.described = true;
        return cli_take_number(cli, "--header", value, 0, UINT64_C(1) << 40, &lines->header);
    case KEY_STRICT_TIME:
        lines->ascending_times = true;
        return 0;
    case KEY_NAMES:
        ingest_given.described = ingest_given.names = true;
        return 0;
    case KEY_SKIP_BAD:
        ingest_given.described = lines->skip_bad = true;
        return 0;
    default: /* --tail */
        ingest_given.described = lines->follow = true;
        return 0;
    }
}

error_t ingest_take(cli_state *cli, int key, const char *value)
{
    ingest_settings *given = &ingest_given;
    switch (key) {
    case KEY_BATCH:
        return cli_take_number(cli, "--batch", value, 1, MOST_IN_BATCH, &given->batch);
    case KEY_EVERY:
        return cli_take_duration(cli, "--every", value, 1e-3, &given->every);
    case CLI_KEY_OP:
        return cli_op_take(cli, key, value);
    case KEY_SLACK:
        return take_slack(cli, value);
    case KEY_ROWS:
        return cli_take_number(cli, "--rows", value, 1, DCSR_MAX_ROWS, &given->rows);
    case KEY_COLS:
        return cli_take_number(cli, "--cols", value, 1, DCSR_MAX_COLS, &given->cols);
    case KEY_SYMMETRIC:
        given->symmetric = true;
        return 0;
    case KEY_DELETE:
        if (!given->delete) given->delete_from = cli->argument_count;
        given->delete = true;
        return 0;
    case KEY_WINDOW:
        return take_window(cli, value);
    case KEY_READ:
        given->read = strcmp(value, "bfs") ? INGEST_READ_SPMV : INGEST_READ_BFS;
        return 0;
    case KEY_FOLLOW:
        return ingest_follow_take(cli, value, &given->follow);
    case KEY_SOURCE:
        given->have_source = true;
        return cli_take_number(cli, "--source", value, 0, DCSR_MAX_ROWS - 1, &given->source);
    case KEY_INTO:
        given->into = value;
        return 0;
    case KEY_DURABLE:
        given->durable = true;
        return 0;
    case KEY_RESUME:
        given->resume = true;
        return 0;
    case KEY_SNAPSHOT_EVERY:
        return cli_take_duration(cli, "--snapshot-every", value, 1, &given->snapshot_every);
    case KEY_METRICS:
        given->metrics = value;
        return 0;
    default:
        return key >= KEY_COLUMNS && key <= KEY_NAMES ? take_line_option(cli, key, value)
                                                      : cli_new_store_take(cli, &given->made, key, value);
    }
}

/* ---- What does not go together ---- */

static int check_lines(cli_state *cli)
{
    const ingest_settings *given = &ingest_given;
    const dcsr_line_format *lines = &given->lines;
    if (lines->row && lines->row == lines->col)
        return cli_usage(cli, "--columns %u,%u: row and column of an edge are two columns", lines->row,
                         lines->col);
    if (given->window_seconds > 0 && !lines->time)
        return cli_usage(cli, "--window of a time needs --time N, the column that tells it");
    if (given->window_edges && given->window_seconds > 0)
        return cli_usage(cli, "--window is a number of edges or a time; give it once");
    if ((given->window_edges || given->window_seconds > 0) && given->delete)
        return cli_usage(cli, "--window removes edges by itself; leave --delete out");
    if (lines->ascending_times && !lines->time)
        return cli_usage(cli, "--strict-time needs --time N, the column that tells it");
    if (given->described)
        for (int a = 0; a < cli->argument_count; a++)
            if (!cli_source_is_file(cli->arguments[a]))
                return cli_usage(cli, "%s: what lines are can be said of files and pipes only",
                                 cli->arguments[a]);
    return CLI_DONE;
}

/* On several devices the matrix is in memory, and as large as is known before the first batch. */
static int check_parts(cli_state *cli)
{
    const ingest_settings *given = &ingest_given;
    const char *option = given->into ? "--into" : given->read ? "--read" : given->follow ? "--follow" : NULL;
    if (option) return cli_parts_refuse(cli, option);
    const bool fixed = given->symmetric ? given->rows || given->cols : given->rows && given->cols;
    for (int a = 0; cli->multi && !fixed && a < cli->argument_count; a++)
        if (cli_source_is_file(cli->arguments[a]))
            return cli_usage(
                cli,
                "%s: on several devices a matrix does not grow; say with --rows and --cols how large "
                "it gets",
                cli->arguments[a]);
    return CLI_DONE;
}

int ingest_check(cli_state *cli)
{
    const ingest_settings *given = &ingest_given;
    const int refused = check_parts(cli);
    if (refused) return refused;
    bool square = given->symmetric || given->read == INGEST_READ_BFS || given->follow;
    if (square && given->rows && given->cols && given->rows != given->cols) {
        return cli_usage(cli, "--rows and --cols must be equal with --symmetric, --read bfs or --follow");
    }
    if (given->have_source && given->read != INGEST_READ_BFS && !ingest_follow_has_source(given->follow)) {
        return cli_usage(cli, "--source is where bfs and sssp of --read and --follow start; it says nothing "
                              "without one of them");
    }
    const char *about = given->durable              ? "--durable"
                        : given->resume             ? "--resume"
                        : given->snapshot_every > 0 ? "--snapshot-every"
                        : given->made.chunk         ? "--chunk"
                        : given->made.level         ? "--compress"
                                                    : NULL;
    if (about && !given->into) {
        return cli_usage(cli, "%s is about a stored matrix; name one with --into STORE#NAME", about);
    }
    if (given->resume && (cli->argument_count != 1 || !cli_source_is_file(cli->arguments[0])))
        return cli_usage(cli,
                         "--resume goes on in one file or pipe, of which it is known how much is stored");
    return check_lines(cli);
}
