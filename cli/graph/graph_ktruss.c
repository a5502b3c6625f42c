/* graph_ktruss.c: `dcsr ktruss`: the k-truss of a graph as a matrix. */
#include "cli/stored.h"
#include <dcsr/graph.h>

enum { KEY_K = 1, KEY_SYMMETRIC };

static cli_relation_options target_options;
static dcsr_ktruss_options settings;

static const struct argp_option options[] = {
    {"k", KEY_K, "N", 0, "The N-truss alone, N from 3 on (default: the truss number of each edge)", 0},
    {"symmetric", KEY_SYMMETRIC, NULL, 0,
     "Trust that with each edge there is the one back, which saves looking for it; if it is not so, the "
     "answer "
     "is wrong",
     0},
    {"into", CLI_KEY_INTO, "STORE#NAME", 0, "Store the result as the next version of NAME", 0},
    CLI_NAMED_OPTION,
    CLI_OP_OPTION,
    {0}};

static error_t take(cli_state *cli, int key, const char *value)
{
    uint64_t k = 0;
    error_t taken = 0;
    switch (key) {
    case KEY_K:
        taken = cli_take_number(cli, "--k", value, 3, UINT32_MAX, &k);
        settings.k = (uint32_t)k;
        return taken;
    case KEY_SYMMETRIC:
        return settings.symmetric = true, 0;
    default:
        taken = cli_relation_take(cli, &target_options, key, value);
        return taken == ARGP_ERR_UNKNOWN ? cli_op_take(cli, key, value) : taken;
    }
}

static int print(cli_state *cli, const cli_relation_target *target, dcsr_matrix *truss,
                 const dcsr_ktruss_result *found, double seconds)
{
    cli_report report;
    cli_report_begin(&report, cli);
    cli_put_count(&report, "edges", "edges", found->edges);
    if (settings.k) {
        cli_put_count(&report, "k", NULL, settings.k);
    } else {
        cli_put_count(&report, "largest", "largest truss", found->largest);
        cli_put_count(&report, "innermost", "edges in it", found->innermost);
    }
    cli_put_seconds(&report, "seconds", "time", seconds);
    return cli_relation_report(&report, target, truss);
}

static int run(cli_state *cli)
{
    cli_relation_target target = {0};
    dcsr_matrix *matrix = NULL, *truss = NULL;
    dcsr_view *view = NULL;
    dcsr_ktruss_result found;
    int status = cli_relation_prepare(cli, &target, &target_options, 1);
    if (!status) status = cli_relation_load(cli, &target, &target_options, &matrix);
    if (!status && dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES))
        status = cli_fail_library(cli);
    if (!status) {
        const double start = cli_now();
        cli_doing doing = {cli, "taking away edges"};
        cli_progress(cli, "counting the triangles of %s", cli->arguments[0]);
        settings.progress = cli_show_progress;
        settings.user = &doing;
        if (dcsr_ktruss(target.name ? &truss : NULL, &found, view, &settings)) status = cli_fail_library(cli);
        const double seconds = cli_now() - start;
        if (!status) status = print(cli, &target, truss, &found, seconds);
    }
    dcsr_matrix_destroy(truss);
    dcsr_names_destroy(target.names);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    return status;
}

const cli_command cli_ktruss_command = {
    .name = "ktruss",
    .arguments = "MATRIX [FILE]",
    .summary = "k-trusses: edges that are in many triangles together",
    .help =
        "The k-truss is the largest part of the graph of which each edge, of any direction, is in at least "
        "k - 2 triangles of it. Its edges are counted, or also written to FILE, whose name says its format "
        "(.el, .mtx, ...), or stored as a matrix, both ways and with the number of triangles as value. "
        "Without --k that is every edge, with its truss number: the largest k whose truss has it.\n\n"
        "Examples:\n"
        "  dcsr ktruss rmat:14,8 --k 20 dense.el\n"
        "  dcsr ktruss graphs#web graphs#truss\n",
    .least = 1,
    .most = 2,
    .options = options,
    .take = take,
    .run = run,
};
