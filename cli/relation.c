/* relation.c: commands that compute a relation: what of, and where they put it. */
#include "cli/stored.h"
#include <stdlib.h>
#include <string.h>

error_t cli_relation_take(cli_state *cli, cli_relation_options *options, int key, const char *value)
{
    if (key == CLI_KEY_MEMORY)
        return cli_take_number(cli, "--memory", value, 1, UINT64_MAX, &options->memory);
    if (key == CLI_KEY_NAMED) return options->names = true, 0;
    if (key != CLI_KEY_INTO) return ARGP_ERR_UNKNOWN;
    options->into = value;
    return 0;
}

int cli_relation_prepare(cli_state *cli, cli_relation_target *target, const cli_relation_options *options,
                         int argument)
{
    dcsr_version_info info;
    *target = (cli_relation_target){.name = options->into};
    if (cli->argument_count > argument) {
        if (target->name)
            return cli_usage(cli, "--into %s: the result already goes to %s; leave one of them out",
                             target->name, cli->arguments[argument]);
        target->name = cli->arguments[argument];
        if (!strcmp(target->name, "-")) target->name = "/dev/stdout";
    }
    if (target->name && cli->json && cli_is_standard_output(target->name))
        return cli_fail(cli, "%s: it is standard output, where --json puts its object; leave one of them out",
                        target->name);
    target->stored = options->into || (target->name && strchr(target->name, '#'));
    if (!target->stored) return CLI_DONE;
    int status = cli_stored_parse(cli, &target->where, target->name, CLI_STORE_NAME);
    return status ? status : cli_stored_prepare(cli, &target->where, &info, &target->recovery);
}

int cli_relation_load(cli_state *cli, cli_relation_target *target, const cli_relation_options *options,
                      dcsr_matrix **matrix)
{
    const char *source = cli->arguments[0];
    if (options->names) return cli_names_read(cli, source, matrix, &target->names);
    int status = cli_load_matrix(cli, matrix, source, NULL);
    return status ? status : cli_names_open(cli, source, &target->names);
}

static int put_stored(cli_report *report, const cli_relation_target *target, dcsr_matrix *matrix)
{
    static const cli_new_store as_usual;
    cli_state *cli = report->cli;
    dcsr_store *store;
    dcsr_names *kept = NULL;
    dcsr_version_info info;
    int status = cli_new_store_open(cli, &store, target->where.store, &as_usual);
    if (!status) status = cli_names_keep(cli, store, &target->where, target->names, &kept);
    if (!status && dcsr_store_snapshot(store, target->where.name, matrix, &info))
        status = cli_fail_library(cli);
    dcsr_names_destroy(kept);
    if (status) return status;
    cli_put_recovery(report, &target->recovery);
    cli_put_version(report, &target->where, &info);
    return CLI_DONE;
}

static int put_file(cli_report *report, const cli_relation_target *target, dcsr_matrix *matrix)
{
    dcsr_view *view = NULL;
    dcsr_coo coo = {0};
    dcsr_status failed = dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED);
    if (!failed) failed = dcsr_view_to_coo(&coo, view);
    /* Matrix Market has numbers only. */
    const bool named = target->names && !strstr(target->name, ".mtx");
    if (!failed && cli_is_standard_output(target->name)) cli_progress_end(report->cli);
    if (!failed)
        failed = named ? dcsr_coo_write_named(&coo, target->names, target->name)
                       : dcsr_coo_write(&coo, target->name);
    dcsr_coo_free(&coo);
    dcsr_view_destroy(view);
    if (failed) return cli_fail_library(report->cli);
    cli_put_text(report, "file", "written", target->name);
    return CLI_DONE;
}

int cli_relation_report(cli_report *report, const cli_relation_target *target, dcsr_matrix *matrix)
{
    int status = CLI_DONE;
    if (!target->name) return cli_report_print(report);
    cli_progress(report->cli, "writing %s", target->name);
    status = target->stored ? put_stored(report, target, matrix) : put_file(report, target, matrix);
    if (status || cli_is_standard_output(target->name)) return cli_report_drop(report, status);
    return cli_report_print(report);
}

/* Later points of a round take the place of the first. Where there is no memory the picture has fewer. */
static void note_growth(cli_growth *g, uint64_t done, uint64_t pairs)
{
    if (g->count && g->done[g->count - 1] == done) {
        g->pairs[g->count - 1] = pairs;
        return;
    }
    if (g->count == g->room) {
        const uint64_t room = 2 * g->room + 64;
        uint64_t *numbers = realloc(g->done, room * sizeof *numbers);
        if (numbers) g->done = numbers;
        uint64_t *more = numbers ? realloc(g->pairs, room * sizeof *more) : NULL;
        if (!more) return;
        g->pairs = more;
        g->room = room;
    }
    g->done[g->count] = done;
    g->pairs[g->count++] = pairs;
}

void cli_relation_show(void *user, uint64_t done, uint64_t total, uint64_t pairs)
{
    cli_growth *g = user;
    char number[CLI_NUMBER], round[CLI_NUMBER];
    if (g->noted && (!g->count || pairs > g->pairs[g->count - 1] || done <= g->done[g->count - 1]))
        note_growth(g, done, pairs);
    cli_grouped(number, pairs);
    if (total)
        cli_progress(g->cli, "%3.0f%%, %s pairs", 100 * (double)done / (double)total, number);
    else
        cli_progress(g->cli, "round %s, %s pairs", cli_grouped(round, done), number);
}
