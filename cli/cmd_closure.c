/* cmd_closure.c: `dcsr closure` and `dcsr samegen`: which vertices reach which, and which are of one generation. */
#include "cli/stored.h"
#include <dcsr/closure.h>
#include <inttypes.h>
#include <stdlib.h>

static cli_relation_options settings;

static const char *plot;
static bool blocks; /* iterations are blocks of columns, not rounds */

enum { KEY_PLOT = 1 };

static const struct argp_option options[] = {
    {"plot", KEY_PLOT, "FILE.png", 0, "Draw how the number of pairs grows, by blocks of columns or rounds",
     0},
    CLI_RELATION_OPTIONS,
    CLI_OP_OPTION,
    {0}};

static error_t take(cli_state *cli, int key, const char *value)
{
    if (key == KEY_PLOT) return plot = value, 0;
    error_t taken = cli_relation_take(cli, &settings, key, value);
    return taken == ARGP_ERR_UNKNOWN ? cli_op_take(cli, key, value) : taken;
}

static void write_script(FILE *script, const void *user)
{
    const cli_growth *g = user;
    fprintf(script, "$data << end\n0 0\n");
    for (uint64_t i = 0; i < g->count; i++)
        fprintf(script, "%" PRIu64 " %" PRIu64 "\n", g->done[i], g->pairs[i]);
    fprintf(script,
            "end\nset terminal pngcairo size 800,600 font ',11'\nset output 'picture.png'\n"
            "set grid back lc rgb '#dddddd'\nunset key\nset xlabel '%s'\nset ylabel 'pairs'\n"
            "set yrange [0:*]\nset format y '%%.3s%%c'\nplot $data using 1:2 with linespoints pt 7 ps 0.4\n",
            blocks ? "blocks of columns" : "rounds");
}

static int print(cli_state *cli, const cli_relation_target *target, dcsr_matrix *pairs,
                 const dcsr_closure_result *result, const cli_growth *growth, double seconds)
{
    cli_report report;
    cli_report_begin(&report, cli);
    cli_put_count(&report, "pairs", "pairs", result->pairs);
    if (result->components) cli_put_count(&report, "components", "components", result->components);
    cli_put_count(&report, "iterations", result->components ? "column blocks" : "rounds", result->iterations);
    cli_put_seconds(&report, "seconds", "time", seconds);
    cli_put_bytes(&report, "bytes", "memory", result->bytes);
    if (plot) {
        int status = cli_plot(cli, plot, write_script, growth);
        if (status) return cli_report_drop(&report, status);
        cli_put_text(&report, "plot", "picture", plot);
    }
    return cli_relation_report(&report, target, pairs);
}

typedef dcsr_status computation(dcsr_matrix **pairs, dcsr_closure_result *result, dcsr_view *A,
                                const dcsr_closure_options *options);

static int run(cli_state *cli, computation *compute)
{
    cli_relation_target target = {0};
    dcsr_matrix *matrix = NULL, *pairs = NULL;
    dcsr_view *view = NULL;
    dcsr_closure_result result;
    cli_growth growth = {.cli = cli, .noted = plot};
    int status = plot ? cli_plot_check(cli, plot) : CLI_DONE;
    if (!status) status = cli_relation_prepare(cli, &target, &settings, 1);
    if (!status) status = cli_relation_load(cli, &target, &settings, &matrix);
    if (!status && dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES))
        status = cli_fail_library(cli);
    if (!status) {
        const dcsr_closure_options limits = {
            .memory_limit = settings.memory, .progress = cli_relation_show, .user = &growth};
        const double start = cli_now();
        cli_progress(cli, "computing the pairs of %s", cli->arguments[0]);
        status =
            compute(target.name ? &pairs : NULL, &result, view, &limits) ? cli_fail_library(cli) : CLI_DONE;
        const double seconds = cli_now() - start;
        if (!status) status = print(cli, &target, pairs, &result, &growth, seconds);
    }
    free(growth.done);
    free(growth.pairs);
    dcsr_matrix_destroy(pairs);
    dcsr_names_destroy(target.names);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    return status;
}

static int run_closure(cli_state *cli)
{
    blocks = true;
    return run(cli, dcsr_closure);
}

static int run_samegen(cli_state *cli)
{
    return run(cli, dcsr_same_generation);
}

const cli_command cli_closure_command = {
    .name = "closure",
    .arguments = "MATRIX [FILE]",
    .summary = "Transitive closure: which vertices reach which",
    .help =
        "Pairs of vertices with a path of one or more edges from the first to the second, along entries from "
        "row to column. They are counted, or also written to a file, whose name says its format "
        "(.facts, .el, .mtx, ...), or stored as a matrix. seconds is the time of computing them, and of "
        "making "
        "the matrix, without reading and writing.\n\n"
        "Examples:\n"
        "  dcsr closure rmat:12,4\n"
        "  dcsr closure edges.facts reaches.facts\n"
        "  dcsr closure graphs#web graphs#reaches\n",
    .least = 1,
    .most = 2,
    .options = options,
    .take = take,
    .run = run_closure,
};

const cli_command cli_samegen_command = {
    .name = "samegen",
    .arguments = "MATRIX [FILE]",
    .summary = "Same generation: vertices that descend alike",
    .help = "Entries lead from parent to child. Two vertices are of one generation if they have a parent in "
            "common, "
            "or parents of one generation:\n\n"
            "  sg(x,y) :- edge(p,x), edge(p,y), x != y.\n"
            "  sg(x,y) :- edge(a,x), sg(a,b), edge(b,y).\n\n"
            "The pairs are counted, or also written to FILE, whose name says its format; STORE#NAME, there "
            "or with --into, stores them as a matrix.\n\n"
            "Examples:\n"
            "  dcsr samegen family.facts\n"
            "  dcsr samegen family.facts generations.facts\n",
    .least = 1,
    .most = 2,
    .options = options,
    .take = take,
    .run = run_samegen,
};
