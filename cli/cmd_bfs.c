/* cmd_bfs.c: `dcsr bfs`: levels from one vertex, timed. */
#include "cli/stored.h"
#include <dcsr/bfs.h>
#include <stdlib.h>

enum { KEY_SOURCE = 1, KEY_REPEAT, MOST_REPEATS = 100000 };

static struct {
    uint64_t source, repeat;
    const char *word; /* the source, as it was given */
} settings = {.repeat = 3};

static const struct argp_option options[] = {
    {"source", KEY_SOURCE, "V", 0,
     "The vertex to start from, counted from 0, or its name where vertices have names (needed)", 0},
    {"repeat", KEY_REPEAT, "R", 0, "Search R times; seconds is the median (default 3)", 0},
    CLI_OP_OPTION,
    {0}};

static error_t take(cli_state *cli, int key, const char *value)
{
    switch (key) {
    case KEY_SOURCE:
        settings.word = value;
        return 0;
    case KEY_REPEAT:
        return cli_take_number(cli, "--repeat", value, 1, MOST_REPEATS, &settings.repeat);
    default:
        return cli_op_take(cli, key, value);
    }
}

typedef struct searching {
    dcsr_view *view;
    int32_t *level;
    dcsr_bfs_result *result;
} searching;

static dcsr_status search(void *user)
{
    const searching *s = user;
    return dcsr_bfs(s->level, s->result, s->view, settings.source);
}

static int print(cli_state *cli, const dcsr_bfs_result *result, const dcsr_names *names, double seconds)
{
    cli_report report;
    cli_report_begin(&report, cli);
    cli_put_count(&report, "source", names ? NULL : "source", settings.source);
    if (names) cli_put_text(&report, "source_name", "source", settings.word);
    cli_put_count(&report, "reached", "reached", result->reached);
    cli_put_count(&report, "max_level", "deepest level", result->max_level);
    cli_put_count(&report, "level_sum", "sum of levels", result->level_sum);
    cli_put_count(&report, "edges", "edges followed", result->edges);
    cli_put_seconds(&report, "seconds", "time", seconds);
    cli_put_real(&report, "mteps", "speed", (double)result->edges / seconds * 1e-6, "million edges/s");
    return cli_report_print(&report);
}

static int run_bfs(cli_state *cli)
{
    if (!settings.word) return cli_usage(cli, "bfs needs --source V, the vertex to start from");
    dcsr_matrix *matrix = NULL;
    dcsr_view *view = NULL;
    int32_t *level = NULL;
    dcsr_view_info info;
    dcsr_bfs_result result;
    double seconds = 0;
    dcsr_names *names = NULL;
    int status = cli_load_matrix(cli, &matrix, cli->arguments[0], NULL);
    if (status) return status;
    status = cli_names_open(cli, cli->arguments[0], &names);
    if (!status) status = cli_vertex_find(cli, names, "--source", settings.word, &settings.source);
    if (status) goto done;
    if (dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES) ||
        dcsr_view_get_info(view, &info)) {
        status = cli_fail_library(cli);
        goto done;
    }
    if (info.rows != info.cols) {
        status = cli_fail(cli, "%s: a graph needs a square matrix, this one is %llu x %llu",
                          cli->arguments[0], (unsigned long long)info.rows, (unsigned long long)info.cols);
        goto done;
    }
    if (settings.source >= info.rows) {
        status =
            cli_fail(cli, "%s: --source %llu is not a vertex; there are %llu, counted from 0",
                     cli->arguments[0], (unsigned long long)settings.source, (unsigned long long)info.rows);
        goto done;
    }
    level = malloc(info.rows * sizeof *level);
    if (!level) {
        status =
            cli_fail(cli, "out of memory for the levels of %llu vertices", (unsigned long long)info.rows);
        goto done;
    }
    status = cli_measure(
        cli, &(cli_measured){"search", settings.repeat, false, search, &(searching){view, level, &result}},
        &seconds);
    if (!status) status = print(cli, &result, names, seconds);
done:
    free(level);
    dcsr_names_destroy(names);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    return status;
}

const cli_command cli_bfs_command = {
    .name = "bfs",
    .arguments = "MATRIX",
    .summary = "Breadth-first search from a vertex",
    .help = "Follows entries from row to column; the matrix must be square. Reports how many vertices are "
            "reached "
            "(the source among them), the deepest level, the sum of all levels, and the edges followed a "
            "second.\n\n"
            "Example:\n  dcsr bfs rmat:16,16 --source 7\n",
    .least = 1,
    .most = 1,
    .options = options,
    .take = take,
    .run = run_bfs,
};
