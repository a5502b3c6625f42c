/* cmd_cfa.c: `dcsr cfa`: which functions the calls of a program in Scheme may reach. */
#include "cli/cli.h"
#include <dcsr/cfa.h>
#include <errno.h>
#include <string.h>

enum { KEY_CALLS = 1, KEY_FLOWS, KEY_DOT, KEY_ADD };

typedef dcsr_status writer(dcsr_cfa *cfa, const char *path);

/* The files that the solution can be written to, in the order of their keys. */
static struct output {
    const char *key, *label, *path;
    writer *write;
} outputs[] = {{"calls", "calls", NULL, dcsr_cfa_write_calls},
               {"flows", "flows", NULL, dcsr_cfa_write_flows},
               {"dot", "call graph", NULL, dcsr_cfa_write_dot}};
enum { OUTPUTS = sizeof outputs / sizeof *outputs };

enum { MOST_ADDED = 64 };
static const char *added[MOST_ADDED];
static int added_count;

static const struct argp_option options[] = {
    {"calls", KEY_CALLS, "FILE", 0, "Write each call and the functions that it may be of", 0},
    {"flows", KEY_FLOWS, "FILE", 0, "Write each variable and the values that may flow there", 0},
    {"dot", KEY_DOT, "FILE", 0, "Write the call graph, for Graphviz", 0},
    {"add", KEY_ADD, "FILE", 0, "Then add this code, and go on from the solution; may be given again", 0},
    {0}};

static error_t take(cli_state *cli, int key, const char *value)
{
    if (key >= KEY_CALLS && key <= KEY_DOT) {
        outputs[key - KEY_CALLS].path = value;
        return 0;
    }
    if (key != KEY_ADD) return ARGP_ERR_UNKNOWN;
    if (added_count == MOST_ADDED) {
        cli_usage(cli, "--add may be given %d times", MOST_ADDED);
        return EINVAL;
    }
    added[added_count++] = value;
    return 0;
}

/* At most one thing goes to standard output. */
static int check_outputs(cli_state *cli)
{
    const char *taken = cli->json ? "--json puts its object" : NULL;
    for (int o = 0; o < OUTPUTS; o++) {
        if (outputs[o].path && !strcmp(outputs[o].path, "-")) outputs[o].path = "/dev/stdout";
        if (!outputs[o].path || !cli_is_standard_output(outputs[o].path)) continue;
        if (taken)
            return cli_fail(cli, "--%s %s: it is standard output, where %s; leave one of them out",
                            outputs[o].key, outputs[o].path, taken);
        taken = "another result goes";
    }
    return CLI_DONE;
}

/* ---- What is told ---- */

/* Of variables that nothing binds, the first ones, since results rest on what they are taken for. */
static void warn_of_unbound(cli_state *cli, const dcsr_cfa *cfa, uint64_t count)
{
    enum { SHOWN = 5 };
    const char *name, *file;
    uint64_t line, column;
    for (uint64_t u = 0; u < count && u < SHOWN; u++)
        if (!dcsr_cfa_get_unbound(cfa, u, &name, &file, &line, &column))
            cli_warn(
                cli,
                "%s:%llu:%llu: nothing binds %s; it is taken as unknown: any constant, or a function of any",
                file, (unsigned long long)line, (unsigned long long)column, name);
    if (count > SHOWN)
        cli_warn(cli, "%llu more variables are not bound", (unsigned long long)(count - SHOWN));
}

static void put_unbound(cli_report *report, const dcsr_cfa *cfa, uint64_t count)
{
    const char *name, *file;
    uint64_t line, column;
    cli_put_list(report, "unbound");
    for (uint64_t u = 0; u < count; u++) {
        if (dcsr_cfa_get_unbound(cfa, u, &name, &file, &line, &column)) continue;
        cli_begin_item(report, "unbound");
        cli_put_text(report, "name", NULL, name);
        cli_put_text(report, "file", NULL, file);
        cli_put_count(report, "line", NULL, line);
        cli_put_count(report, "column", NULL, column);
        cli_end_item(report);
    }
}

static void put_solution(cli_report *report, const dcsr_cfa_result *result, double seconds)
{
    cli_put_count(report, "states", "states", result->states);
    cli_put_count(report, "reachable", "reachable", result->reachable);
    cli_put_count(report, "addresses", "addresses", result->addresses);
    cli_put_count(report, "values", "values", result->values);
    cli_put_count(report, "store_nnz", "store entries", result->store_nnz);
    cli_put_count(report, "inserted", "inserted", result->inserted);
    cli_put_count(report, "iterations", "rounds", result->iterations);
    cli_put_seconds(report, "seconds", "time", seconds);
}

/* ---- What is done ---- */

/* Solves for what has been added, and puts that into the report. */
static int solve(cli_report *report, dcsr_cfa *cfa, dcsr_cfa_result *result, const char *doing)
{
    const double start = cli_now();
    cli_doing shown = {report->cli, doing};
    cli_progress(report->cli, "%s", doing);
    if (dcsr_cfa_set_progress(cfa, cli_show_progress, &shown) || dcsr_cfa_solve(cfa, result))
        return cli_fail_library(report->cli);
    put_solution(report, result, cli_now() - start);
    return CLI_DONE;
}

static int add(cli_report *report, dcsr_cfa *cfa, dcsr_cfa_result *result, const char *name)
{
    const char *file = cli_source_file(name);
    if (dcsr_cfa_add_file(cfa, file)) return cli_fail_library(report->cli);
    cli_begin_item(report, "steps");
    cli_put_line(report, "then", "%s", name);
    cli_put_text(report, "file", NULL, name);
    const int status = solve(report, cfa, result, name);
    cli_end_item(report);
    return status;
}

static int write_outputs(cli_report *report, dcsr_cfa *cfa, bool *on_output)
{
    for (int o = 0; o < OUTPUTS; o++) {
        if (!outputs[o].path) continue;
        const bool here = cli_is_standard_output(outputs[o].path);
        *on_output |= here;
        if (here) cli_progress_end(report->cli);
        if (outputs[o].write(cfa, outputs[o].path)) return cli_fail_library(report->cli);
        if (!here) cli_put_text(report, outputs[o].key, outputs[o].label, outputs[o].path);
    }
    return CLI_DONE;
}

static int analyse(cli_report *report, dcsr_cfa *cfa)
{
    cli_state *cli = report->cli;
    dcsr_cfa_result result;
    bool on_output = false;
    int status = CLI_DONE;
    for (int f = 0; f < cli->argument_count && !status; f++) {
        cli_progress(cli, "reading %s", cli->arguments[f]);
        if (dcsr_cfa_add_file(cfa, cli_source_file(cli->arguments[f]))) status = cli_fail_library(cli);
    }
    if (!status) status = solve(report, cfa, &result, "solving");
    if (added_count) cli_put_list(report, "steps");
    for (int a = 0; a < added_count && !status; a++) status = add(report, cfa, &result, added[a]);
    if (!status) warn_of_unbound(cli, cfa, result.unbound);
    if (!status) put_unbound(report, cfa, result.unbound);
    if (!status) status = write_outputs(report, cfa, &on_output);
    return status || on_output ? cli_report_drop(report, status) : cli_report_print(report);
}

static int run(cli_state *cli)
{
    dcsr_cfa *cfa;
    cli_report report;
    int status = check_outputs(cli);
    if (status) return status;
    if (dcsr_cfa_create(&cfa, cli->context)) return cli_fail_library(cli);
    cli_report_begin(&report, cli);
    status = analyse(&report, cfa);
    dcsr_cfa_destroy(cfa);
    return status;
}

const cli_command cli_cfa_command = {
    .name = "cfa",
    .arguments = "FILE...",
    .summary = "Control-flow analysis of Scheme: which functions calls may reach",
    .help = "FILEs are programs in Scheme, or in continuation-passing style; several are one program. Each "
            "variable has one set of values for the whole run (0-CFA). states are calls, primitive calls, "
            "ifs and "
            "set!s; store_nnz counts the pairs of an address and a value that may flow there. What nothing "
            "binds is named, and taken as unknown.\n\n"
            "Examples:\n"
            "  dcsr cfa program.scm\n"
            "  dcsr cfa program.scm --calls calls.tsv --flows flows.tsv --dot calls.dot\n"
            "  dcsr cfa program.scm --add edit.scm\n",
    .least = 1,
    .most = -1,
    .options = options,
    .take = take,
    .run = run,
};
