/* cmd_cfl.c: `dcsr cfl`: which vertices are joined by a path that spells a word of a grammar. */
#include "cli/stored.h"
#include <dcsr/cfl.h>
#include <stdlib.h>

static cli_relation_options settings;
static const char *nonterminal;

enum { KEY_COUNT = 1 };

static const struct argp_option options[] = {
    {"count", KEY_COUNT, "SYMBOL", 0, "Which one's pairs are wanted (default: what the grammar says)", 0},
    CLI_RELATION_OPTIONS,
    {0}};

static error_t take(cli_state *cli, int key, const char *value)
{
    if (key != KEY_COUNT) return cli_relation_take(cli, &settings, key, value);
    nonterminal = value;
    return 0;
}

static int print(cli_state *cli, const cli_relation_target *target, dcsr_matrix *pairs,
                 const dcsr_cfl_result *result, const dcsr_grammar *grammar, const uint64_t *entries,
                 double seconds)
{
    cli_report report;
    const char *name;
    cli_report_begin(&report, cli);
    cli_put_count(&report, "vertices", "vertices", result->vertices);
    cli_put_count(&report, "edges", "edges", result->edges);
    cli_put_count(&report, "pairs", "pairs", result->pairs);
    cli_put_count(&report, "iterations", "rounds", result->iterations);
    cli_put_seconds(&report, "seconds", "time", seconds);
    cli_put_bytes(&report, "bytes", "memory", result->bytes);
    cli_put_list(&report, "entries");
    for (uint32_t k = 0; (name = dcsr_grammar_nonterminal_at(grammar, k)); k++) {
        char number[CLI_NUMBER];
        cli_begin_item(&report, "entries");
        cli_put_text(&report, "nonterminal", NULL, name);
        cli_put_count(&report, "pairs", NULL, entries[k]);
        cli_end_item(&report);
        cli_put_line(&report, name, "%s", cli_grouped(number, entries[k]));
    }
    return cli_relation_report(&report, target, pairs);
}

static int run(cli_state *cli, const cli_relation_target *target, const dcsr_grammar *grammar,
               const dcsr_labelled *graph)
{
    dcsr_matrix *pairs = NULL;
    dcsr_cfl_result result;
    uint32_t nonterminals = 0;
    while (dcsr_grammar_nonterminal_at(grammar, nonterminals)) nonterminals++;
    uint64_t *entries = calloc(nonterminals, sizeof *entries);
    if (!entries) return cli_fail(cli, "out of memory for %u nonterminals", nonterminals);
    cli_growth shown = {.cli = cli};
    const dcsr_cfl_options wanted = {.memory_limit = settings.memory,
                                     .nonterminal = nonterminal,
                                     .progress = cli_relation_show,
                                     .user = &shown};
    const double start = cli_now();
    cli_progress(cli, "searching %s", cli->arguments[1]);
    int status = dcsr_cfl(target->name ? &pairs : NULL, &result, entries, grammar, graph, &wanted)
                     ? cli_fail_library(cli)
                     : CLI_DONE;
    const double seconds = cli_now() - start;
    if (!status) status = print(cli, target, pairs, &result, grammar, entries, seconds);
    dcsr_matrix_destroy(pairs);
    free(entries);
    return status;
}

static int read_graph(cli_state *cli, cli_relation_target *target, dcsr_labelled **graph)
{
    const char *path = cli_source_file(cli->arguments[1]);
    dcsr_status failed;
    if (settings.names) {
        failed = dcsr_names_create(&target->names, cli->context);
        if (!failed) failed = dcsr_labelled_read_named(graph, cli->context, target->names, path);
    } else {
        failed = dcsr_labelled_read(graph, cli->context, path);
    }
    return failed ? cli_fail_library(cli) : CLI_DONE;
}

static int run_cfl(cli_state *cli)
{
    cli_relation_target target = {0};
    dcsr_grammar *grammar = NULL;
    dcsr_labelled *graph = NULL;
    int status = cli_relation_prepare(cli, &target, &settings, 2);
    if (!status && dcsr_grammar_read(&grammar, cli->context, cli->arguments[0]))
        status = cli_fail_library(cli);
    if (!status) {
        cli_progress(cli, "reading %s", cli->arguments[1]);
        status = read_graph(cli, &target, &graph);
    }
    if (!status) status = run(cli, &target, grammar, graph);
    dcsr_labelled_destroy(graph);
    dcsr_names_destroy(target.names);
    dcsr_grammar_destroy(grammar);
    return status;
}

const cli_command cli_cfl_command = {
    .name = "cfl",
    .arguments = "GRAMMAR GRAPH [FILE]",
    .summary = "Context-free reachability over a labelled graph",
    .help = "The grammar has a production a line: the left side, and none, one or two symbols; none stands "
            "for the "
            "empty word. A symbol that ends in _i is a family with an index, the same in the whole "
            "production. After "
            "a line `Count:` stands the nonterminal whose pairs are wanted; otherwise it is the first. The "
            "graph has "
            "lines `from to label [index]`, or is a folder with a file LABEL.facts for each label, as "
            "Souffle has "
            "them.\n\n"
            "The pairs are counted, or also written to FILE, whose name says its format; STORE#NAME, there "
            "or with --into, stores them as a matrix. "
            "Reported are also the entries of every nonterminal.\n\n"
            "Examples:\n"
            "  dcsr cfl alias.grammar program.graph\n"
            "  dcsr cfl alias.grammar facts/ alias.facts\n",
    .least = 2,
    .most = 3,
    .options = options,
    .take = take,
    .run = run_cfl,
};
