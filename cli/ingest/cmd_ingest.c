/* cmd_ingest.c: `dcsr ingest`: streams edges into a matrix in batches, and reads it meanwhile. */
#include "cli/ingest/ingest.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { SHELL_SIGNALS = 128 }; /* what shells add to a signal's number */

/* Type, policy and slack of a matrix that is stored already are its own. */
static int follow_target(cli_state *cli, ingest_plan *plan, const ingest_target *target)
{
    const dcsr_version_info *stored = &target->newest;
    if (!stored->version) return CLI_DONE;
    plan->type = stored->type;
    const double slack = plan->options.slack == DCSR_SLACK_NONE ? 0 : plan->options.slack;
    if (plan->options.slack != 0 && fabs(slack - stored->slack) > 1e-4)
        return cli_fail(cli,
                        "--slack %g: %s has been made with --slack %g, and keeps that; leave --slack out",
                        slack, ingest_given.into, stored->slack);
    if (!plan->options.policy || plan->options.policy == stored->policy) return CLI_DONE;
    return cli_fail(cli, "--op %s: %s has been made with --op %s, and keeps that; leave --op out",
                    dcsr_policy_name(plan->options.policy), ingest_given.into,
                    dcsr_policy_name(stored->policy));
}

static int make_plan(cli_state *cli, ingest_plan *plan, ingest_target *target)
{
    *plan = (ingest_plan){.batch = ingest_given.batch,
                          .rows = ingest_given.rows,
                          .cols = ingest_given.cols,
                          .options = {.policy = cli->op, .slack = ingest_given.slack},
                          .symmetric = ingest_given.symmetric,
                          .square = ingest_given.read == INGEST_READ_BFS || ingest_given.follow,
                          .every = ingest_given.every,
                          .lines = ingest_given.lines,
                          .described = ingest_given.described,
                          .window_edges = ingest_given.window_edges,
                          .window_seconds = ingest_given.window_seconds,
                          .first_delete = cli->argument_count};
    plan->lines_before = plan->lines;
    plan->lines_before.follow = false;
    if (ingest_given.delete) {
        plan->first_delete = ingest_given.delete_from < cli->argument_count ? ingest_given.delete_from : 0;
    }
    int status = ingest_check(cli);
    if (!status && ingest_given.into)
        status = cli_stored_parse(cli, &target->stored, ingest_given.into, CLI_STORE_NAME);
    if (!status && ingest_given.into) status = ingest_target_find(target);
    return status ? status : follow_target(cli, plan, target);
}

/* Descriptors for all the files that are looked at before the first is read. */
static void allow_open_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* Of several, only the last is followed: it has no end. */
static ingest_source *name_sources(const cli_state *cli, ingest_plan *plan)
{
    ingest_source *sources = calloc((size_t)cli->argument_count, sizeof *sources);
    for (int s = 0; sources && s < cli->argument_count; s++) {
        cli_source *from = &sources[s].from;
        from->name = cli->arguments[s];
        from->lines = !plan->described               ? NULL
                      : s + 1 == cli->argument_count ? &plan->lines
                                                     : &plan->lines_before;
        if (s >= plan->first_delete) continue;
        from->rows = plan->rows;
        from->cols = plan->cols;
    }
    return sources;
}

/* The type of a new matrix is the widest of the sources that are inserted. */
static int choose_type(cli_state *cli, ingest_plan *plan, ingest_source *sources)
{
    int status = CLI_DONE;
    const dcsr_line_format *lines = &plan->lines;
    const bool told = plan->described && (lines->row || lines->value || lines->time);
    if (told) plan->type = lines->value ? DCSR_FP64 : DCSR_PATTERN;
    if (plan->first_delete > 1) allow_open_files();
    for (int s = 0; s < plan->first_delete && plan->type != DCSR_FP64 && !told && !status; s++) {
        dcsr_type type;
        status = cli_source_look(cli, &sources[s].from, s + 1 == plan->first_delete, &type);
        if (!status && type > plan->type) plan->type = type;
    }
    return status;
}

static void free_sources(const cli_state *cli, ingest_source *sources)
{
    for (int s = 0; s < cli->argument_count; s++) ingest_source_close(&sources[s]);
    free(sources);
}

static void put_rates(cli_report *report, const ingest_stream *stream, const dcsr_matrix_info *info,
                      double seconds)
{
    char in[CLI_NUMBER], out[CLI_NUMBER], batches[CLI_NUMBER];
    const dcsr_matrix_info *before = &stream->before;
    uint64_t inserted = info->inserted - before->inserted, deleted = info->removed - before->removed;
    uint64_t changes = inserted + deleted;
    double busy = info->busy_seconds - before->busy_seconds, rate = busy > 0 ? (double)changes / busy : NAN;
    cli_put_line(report, "changes", "%s inserted, %s deleted, in %s batches", cli_grouped(in, inserted),
                 cli_grouped(out, deleted), cli_grouped(batches, stream->batches));
    cli_put_count(report, "inserted", NULL, inserted);
    cli_put_count(report, "deleted", NULL, deleted);
    cli_put_count(report, "batches", NULL, stream->batches);
    cli_put_count(report, "left_out", stream->left_out ? "left out" : NULL, stream->left_out);
    cli_put_count(report, "skipped", stream->skipped ? "lines skipped" : NULL, stream->skipped);
    if (stream->window) {
        const uint64_t late = ingest_window_late(stream->window);
        cli_put_count(report, "window", "in the window", ingest_window_size(stream->window));
        cli_put_count(report, "late", late ? "late edges" : NULL, late);
    }
    cli_put_seconds(report, "seconds", "wall time", seconds);
    cli_put_seconds(report, "busy_seconds", "store's time", busy);
    cli_put_real(report, "edges_per_second", NULL, rate, "");
    if (changes) cli_put_line(report, "store's rate", "%.4g million edges/s", rate * 1e-6);
}

static void put_matrix(cli_report *report, const ingest_stream *stream, const dcsr_matrix_info *info,
                       uint64_t nnz)
{
    char rows[CLI_NUMBER], cols[CLI_NUMBER];
    uint64_t most = stream->max_segments > info->max_segments ? stream->max_segments : info->max_segments;
    cli_put_line(report, "matrix", "%s x %s, %s, duplicates: %s", cli_grouped(rows, info->rows),
                 cli_grouped(cols, info->cols), dcsr_type_name(info->type), dcsr_policy_name(info->policy));
    cli_put_count(report, "rows", NULL, info->rows);
    cli_put_count(report, "cols", NULL, info->cols);
    cli_put_text(report, "type", NULL, dcsr_type_name(info->type));
    cli_put_text(report, "op", NULL, dcsr_policy_name(info->policy));
    uint64_t names = 0;
    if (stream->names && !dcsr_names_get_count(stream->names, &names))
        cli_put_count(report, "names", "names", names);
    cli_put_count(report, "nnz", "live entries", nnz);
    cli_put_count(report, "stored", "stored entries", info->stored);
    const dcsr_matrix_info *before = &stream->before;
    cli_put_count(report, "versions", "versions", info->version - before->version);
    cli_put_count(report, "defragmentations", "defragmentations",
                  info->defragmentations - before->defragmentations);
    cli_put_count(report, "row_rewrites", "rows rewritten", info->row_rewrites - before->row_rewrites);
    cli_put_count(report, "segments", "segments", info->segments);
    cli_put_count(report, "max_segments", "most in a row", most);
    cli_put_bytes(report, "bytes", "memory", info->bytes);
}

static int stream_all(ingest_stream *stream)
{
    cli_state *cli = stream->cli;
    int status = CLI_DONE;
    for (int s = 0; s < cli->argument_count && !status && !stream->broken && !ingest_interrupted(); s++)
        status = ingest_send(stream, s);
    return status ? status : ingest_wait(stream);
}

/* What an interruption has left, which is said before the report; the exit status is that of a shell. */
static int tell_interruption(const ingest_stream *stream, const dcsr_matrix_info *info)
{
    char edges[CLI_NUMBER], batches[CLI_NUMBER];
    const ingest_target *target = stream->target;
    uint64_t done = info->inserted + info->removed - stream->before.inserted - stream->before.removed;
    cli_grouped(edges, done);
    cli_grouped(batches, stream->batches);
    int status = SHELL_SIGNALS + ingest_interrupted();
    if (!target)
        return cli_fail_as(stream->cli, "interrupted", status,
                           "interrupted: %s edges in %s batches were ingested", edges, batches);
    return cli_fail_as(stream->cli, "interrupted", status,
                       "interrupted: %s edges in %s batches are safe, in %s#%s@%llu", edges, batches,
                       target->stored.store, target->stored.name, (unsigned long long)target->newest.version);
}

static int print(const ingest_stream *stream, double seconds)
{
    cli_state *cli = stream->cli;
    dcsr_matrix_info info;
    uint64_t nnz;
    cli_report report;
    dcsr_multi_view_info parts = {0};
    if (ingest_matrix_get_info(stream, &info) || ingest_matrix_get_nnz(stream, &nnz, &parts))
        return cli_fail_library(cli);
    int status = stream->target ? ingest_target_verdict(stream->target) : CLI_DONE;
    if (ingest_interrupted()) status = tell_interruption(stream, &info);
    if (stream->broken) status = stream->broken;
    cli_report_begin(&report, cli);
    put_rates(&report, stream, &info, seconds);
    put_matrix(&report, stream, &info, nnz);
    if (stream->parts) cli_put_parts(&report, &parts);
    if (stream->target) ingest_target_put(stream->target, &report);
    if (stream->reader) ingest_reader_put(stream->reader, &report);
    if (stream->followers) ingest_followers_put(stream->followers, &report);
    int printed = cli_report_print(&report);
    return status ? status : printed;
}

static dcsr_status number_names(void *user, uint64_t n, const dcsr_text *names, uint64_t *ids)
{
    ingest_stream *stream = user;
    return dcsr_names_add(stream->names, n, names, ids);
}

/* What belongs to the stored matrix, or to one in memory, besides entries. */
static int open_company(ingest_stream *stream, ingest_plan *plan)
{
    int status = CLI_DONE;
    if (ingest_given.names) {
        status = ingest_target_open_names(stream->target, stream->cli, &stream->names);
        plan->lines.number = plan->lines_before.number = number_names;
        plan->lines.user = plan->lines_before.user = stream;
    }
    if (!status && ingest_given.resume) status = ingest_target_find_place(stream->target, &stream->resume);
    return status;
}

static int prepare(ingest_stream *stream, ingest_plan *plan)
{
    cli_state *cli = stream->cli;
    const bool window = plan->window_edges || plan->window_seconds > 0;
    ingest_questions_begin();
    stream->metrics = ingest_metrics_create(cli, ingest_given.metrics);
    stream->window = window ? ingest_window_create(plan) : NULL;
    if (!stream->metrics || (window && !stream->window)) return cli_fail(cli, "out of memory to begin with");
    int status = open_company(stream, plan);
    if (!status && !(stream->target && stream->target->newest.version))
        status = choose_type(cli, plan, stream->sources);
    return status;
}

/* All that is to be done with the sources open. */
static int ingest(ingest_stream *stream, ingest_plan *plan)
{
    cli_state *cli = stream->cli;
    double start = cli_now();
    int status = prepare(stream, plan);
    if (!status) status = stream_all(stream);
    int following =
        !status && stream->followers ? ingest_followers_end(stream->followers, stream->matrix) : CLI_DONE;
    double seconds = cli_now() - start;
    int reading = stream->reader ? ingest_reader_stop(stream->reader) : CLI_DONE;
    if (!status && stream->target) status = ingest_target_store(stream->target, stream->matrix);
    if (stream->metrics) ingest_metrics_end(stream->metrics, stream);
    if (!status) status = reading;
    if (!status && stream->reader && ingest_given.have_source && ingest_given.source >= stream->rows &&
        !ingest_interrupted())
        status = cli_fail(cli, "--source %llu is not a vertex; there are %llu, counted from 0",
                          (unsigned long long)ingest_given.source, (unsigned long long)stream->rows);
    if (status) return status;
    status = print(stream, seconds);
    return status ? status : following;
}

static int run_ingest(cli_state *cli)
{
    ingest_plan plan;
    ingest_target target = {.cli = cli,
                            .made = ingest_given.made,
                            .durable = ingest_given.durable,
                            .every = ingest_given.snapshot_every};
    int status = make_plan(cli, &plan, &target);
    if (status) return status;
    ingest_stream stream = {.cli = cli, .plan = &plan, .target = ingest_given.into ? &target : NULL};
    stream.sources = name_sources(cli, &plan);
    if (!stream.sources) return cli_fail(cli, "out of memory for %d names", cli->argument_count);
    status = ingest(&stream, &plan);
    ingest_metrics_destroy(stream.metrics);
    ingest_reader_free(stream.reader);
    ingest_followers_destroy(stream.followers);
    ingest_close(&stream);
    free_sources(cli, stream.sources);
    ingest_target_free(&target);
    if (ingest_interrupted()) {
        cli_end_failures(cli);
        ingest_interrupt_end();
    }
    return status;
}

const cli_command cli_ingest_command = {
    .name = "ingest",
    .arguments = "EDGES...",
    .summary = "Stream edges into a matrix in batches, and read it meanwhile",
    .help =
        "EDGES are MATRIX arguments, or - for standard input, taken in order into one matrix, in memory or "
        "stored. Files and pipes are inserted as they are read, in batches, whatever their length. It grows "
        "as they "
        "need, also while earlier batches are pending. The type of a new one is the widest of the EDGES that "
        "are inserted (pattern, int64, "
        "fp64); entries without a value have the "
        "value 1. Edges to delete that lie outside the matrix are left out.\n\n"
        "On several devices (--device cuda:0-3, say) the matrix is in memory, and for files --rows and "
        "--cols are "
        "needed, as it does not grow.\n\n"
        "SIGINT (Ctrl-C) and SIGTERM end the EDGES early: what was sent by then is kept and reported. A "
        "second "
        "one ends at once. SIGUSR1 prints how far it is.\n\n"
        "edges/s counts the time that the store spent applying changes, wall time also reading or "
        "generating.\n\n"
        "Examples:\n"
        "  dcsr ingest rmat:18,16 --batch 100k --read bfs\n"
        "  dcsr ingest all.el.gz --symmetric --delete expired.el.gz\n"
        "  dcsr ingest today.el --into graphs#web --durable\n"
        "  tail -f edges.log | dcsr ingest - --time 3 --window 1h --follow cc,pagerank\n"
        "  tail -F access.csv | dcsr ingest - --columns 2,3 --separator , --skip-bad --window 1M\n"
        "  dcsr ingest flows.log --tail --columns 3,5 --time 1 --window 1h --metrics flows.prom\n",
    .least = 1,
    .most = -1,
    .several = true,
    .options = ingest_options,
    .take = ingest_take,
    .run = run_ingest,
};
