/* graph_run.c: loads the graph, runs the algorithm on it, reports what it found. */
#include "cli/graph/graph_task.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int check_graph(graph_task *t)
{
    cli_state *cli = t->cli;
    const char *matrix = cli->arguments[0];
    dcsr_view_shape shape = {0};
    dcsr_multi_view_info info = {0};
    if (t->on_parts ? dcsr_multi_view_get_info(t->on_parts, &info) : dcsr_view_get_shape(t->view, &shape))
        return cli_fail_library(cli);
    const uint64_t rows = t->on_parts ? info.rows : shape.rows, cols = t->on_parts ? info.cols : shape.cols;
    t->vertices = rows;
    if (rows == cols) return CLI_DONE;
    return cli_fail(cli, "%s: a graph needs a square matrix, this one is %" PRIu64 " x %" PRIu64, matrix,
                    rows, cols);
}

static int find_vertex(graph_task *t, const char *option, const char *word, uint64_t *vertex)
{
    int status = cli_vertex_find(t->cli, t->names, option, word, vertex);
    if (status || *vertex < t->vertices) return status;
    return cli_fail(t->cli, "%s: %s %" PRIu64 " is not a vertex; there are %" PRIu64 ", counted from 0",
                    t->cli->arguments[0], option, *vertex, t->vertices);
}

/* Vertices separated by commas. */
static int find_vertices(graph_task *t, const char *option, const char *words)
{
    char *copy = strdup(words), *rest = copy;
    int status = CLI_DONE;
    t->sources = calloc(strlen(words) + 1, sizeof *t->sources);
    if (!copy || !t->sources) status = cli_fail(t->cli, "out of memory for the vertices of %s", option);
    while (!status && rest) {
        const char *word = strsep(&rest, ",");
        status = find_vertex(t, option, word, &t->sources[t->source_count++]);
    }
    free(copy);
    return status;
}

static int find_start(graph_task *t)
{
    const graph_settings *g = &graph_given;
    if (g->source) return find_vertex(t, "--source", g->source, &t->source);
    if (g->sources) return find_vertices(t, "--sources", g->sources);
    if (!g->personal) return CLI_DONE;
    int status = find_vertices(t, "--personal", g->personal);
    if (status) return status;
    t->personal = calloc(t->vertices + 1, sizeof *t->personal);
    if (!t->personal) return cli_fail(t->cli, "out of memory for %" PRIu64 " weights", t->vertices);
    for (uint64_t i = 0; i < t->source_count; i++) t->personal[t->sources[i]] = 1;
    return CLI_DONE;
}

static int allocate_answer(graph_task *t)
{
    const graph_column *columns = t->algorithm->columns;
    for (int c = 0; c < GRAPH_COLUMNS && columns[c].name; c++) {
        if (c && !graph_given.parents) continue; /* the second one only if it is asked for */
        t->answer[c] = malloc((t->vertices + 1) * dcsr_type_size(columns[c].type));
        if (!t->answer[c])
            return cli_fail(t->cli, "out of memory for the %s of %" PRIu64 " vertices", columns[c].name,
                            t->vertices);
    }
    return CLI_DONE;
}

static dcsr_status compute(void *user)
{
    graph_task *t = user;
    return t->algorithm->compute(t);
}

static int report(graph_task *t)
{
    cli_report report;
    int status = CLI_DONE;
    cli_report_begin(&report, t->cli);
    if (graph_given.source) {
        cli_put_count(&report, "source", t->names ? NULL : "source", t->source);
        if (t->names) cli_put_text(&report, "source_name", "source", graph_given.source);
    }
    t->algorithm->put(&report, t);
    cli_put_seconds(&report, "seconds", "time", t->seconds);
    if (t->on_parts) {
        dcsr_multi_view_info info;
        if (dcsr_multi_view_get_info(t->on_parts, &info))
            return cli_report_drop(&report, cli_fail_library(t->cli));
        cli_put_parts(&report, &info);
    }
    if (graph_given.top) status = graph_put_top(&report, t);
    if (!status && graph_given.plot) {
        status = graph_draw(t);
        cli_put_text(&report, "plot", "picture", graph_given.plot);
    }
    if (!status && graph_given.out) {
        status = graph_write_out(t);
        if (cli_is_standard_output(graph_given.out)) return cli_report_drop(&report, status);
        cli_put_text(&report, "file", "written", graph_given.out);
    }
    return status ? cli_report_drop(&report, status) : cli_report_print(&report);
}

/* The graph as the algorithm sees it; in parts it is no longer the matrix. */
static int view_graph(graph_task *t, dcsr_matrix **matrix)
{
    const unsigned flags = t->algorithm->flags;
    if (t->cli->multi) return cli_parts_make(t->cli, &t->parts, &t->on_parts, matrix, flags);
    return dcsr_view_create(&t->view, *matrix, DCSR_LAYOUT_SEGMENTS, flags) ? cli_fail_library(t->cli)
                                                                            : CLI_DONE;
}

static int solve(graph_task *t, dcsr_matrix **matrix)
{
    cli_state *cli = t->cli;
    const graph_algorithm *a = t->algorithm;
    int status = cli_names_open(cli, cli->arguments[0], &t->names);
    if (!status) status = view_graph(t, matrix);
    if (!status) status = check_graph(t);
    if (!status) status = find_start(t);
    if (!status) status = allocate_answer(t);
    if (!status)
        status = cli_measure(cli, &(cli_measured){a->command->name, graph_given.repeat, false, compute, t},
                             &t->seconds);
    return status ? status : report(t);
}

int graph_run(cli_state *cli)
{
    graph_task t = {.cli = cli, .algorithm = graph_find(cli->command)};
    dcsr_matrix *matrix = NULL;
    if (graph_given.repeat == UINT64_MAX) graph_given.repeat = t.algorithm->repeat;
    if (graph_given.top == UINT64_MAX) graph_given.top = t.algorithm->top;
    if (t.algorithm->needs_source && !graph_given.source)
        return cli_usage(cli, "%s needs --source V, the vertex to start from", cli->command->name);
    int status = graph_given.parents ? cli_parts_refuse(cli, "--parents") : CLI_DONE;
    if (!status) status = graph_check_out(cli);
    if (!status && graph_given.plot) status = cli_plot_check(cli, graph_given.plot);
    if (!status) status = cli_load_matrix(cli, &matrix, cli->arguments[0], NULL);
    if (!status) status = solve(&t, &matrix);
    for (int c = 0; c < GRAPH_COLUMNS; c++) free(t.answer[c]);
    free(t.sources);
    free(t.personal);
    dcsr_names_destroy(t.names);
    dcsr_multi_view_destroy(t.on_parts);
    dcsr_multi_matrix_destroy(t.parts);
    dcsr_view_destroy(t.view);
    dcsr_matrix_destroy(matrix);
    return status;
}
