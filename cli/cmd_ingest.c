/* cmd_ingest.c: `dcsr ingest`: streams edges into a matrix in batches, and reads it meanwhile. */
#include "cli/ingest.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum {
    KEY_BATCH = 1,
    KEY_ROWS,
    KEY_COLS,
    KEY_SYMMETRIC,
    KEY_DELETE,
    KEY_READ,
    KEY_SOURCE,
    KEY_INTO,
    KEY_DURABLE
};
enum { SHELL_SIGNALS = 128 }; /* what shells add to a signal's number */
static const uint64_t MOST_IN_BATCH = (uint64_t)1 << 31;

static struct {
    uint64_t batch, rows, cols, source;
    ingest_read read;
    const char *into;
    cli_new_store made;
    bool symmetric, delete, have_source, durable;
    int delete_from; /* how many EDGES were named before --delete */
} settings = {.batch = 1000000};

static const struct argp_option options[] = {
    {"batch", KEY_BATCH, "N", 0, "Edges a batch (default 1M)", 0},
    CLI_OP_OPTION,
    {"rows", KEY_ROWS, "N", 0, "Fix the number of rows; an edge beyond is an error (default: grow as needed)",
     0},
    {"cols", KEY_COLS, "N", 0, "The same for columns", 0},
    {"symmetric", KEY_SYMMETRIC, NULL, 0, "With each edge (i,j) also (j,i)", 0},
    {"delete", KEY_DELETE, NULL, 0,
     "Delete the EDGES named after this option, insert those before it; named last, it applies to all EDGES",
     0},
    {"read", KEY_READ, "bfs|spmv", 0,
     "Meanwhile run bfs or spmv on snapshots all the time, and report how long each took", 0},
    {"source", KEY_SOURCE, "V", 0,
     "Where --read bfs starts (default: the vertex with most edges in the first EDGES)", 0},
    {"into", KEY_INTO, "STORE#NAME", 0,
     "Ingest into a stored matrix, which grows as needed, and make a version of it in the end; where there "
     "is none "
     "it is made",
     0},
    {"durable", KEY_DURABLE, NULL, 0,
     "With --into: log each batch on the disk, so that a killed ingestion loses nothing that was logged", 0},
    CLI_NEW_STORE_OPTIONS,
    {0}};

static error_t take(cli_state *cli, int key, const char *value)
{
    switch (key) {
    case KEY_BATCH:
        return cli_take_number(cli, "--batch", value, 1, MOST_IN_BATCH, &settings.batch);
    case CLI_KEY_OP:
        return cli_op_take(cli, key, value);
    case KEY_ROWS:
        return cli_take_number(cli, "--rows", value, 1, DCSR_MAX_ROWS, &settings.rows);
    case KEY_COLS:
        return cli_take_number(cli, "--cols", value, 1, DCSR_MAX_COLS, &settings.cols);
    case KEY_SYMMETRIC:
        settings.symmetric = true;
        return 0;
    case KEY_DELETE:
        if (!settings.delete) settings.delete_from = cli->argument_count;
        settings.delete = true;
        return 0;
    case KEY_READ:
        settings.read = strcmp(value, "bfs") ? INGEST_READ_SPMV : INGEST_READ_BFS;
        return 0;
    case KEY_SOURCE:
        settings.have_source = true;
        return cli_take_number(cli, "--source", value, 0, DCSR_MAX_ROWS - 1, &settings.source);
    case KEY_INTO:
        settings.into = value;
        return 0;
    case KEY_DURABLE:
        settings.durable = true;
        return 0;
    default:
        return cli_new_store_take(cli, &settings.made, key, value);
    }
}

static int check_settings(cli_state *cli)
{
    bool square = settings.symmetric || settings.read == INGEST_READ_BFS;
    if (square && settings.rows && settings.cols && settings.rows != settings.cols) {
        return cli_usage(cli, "--rows and --cols must be equal with --symmetric or --read bfs");
    }
    if (settings.have_source && settings.read != INGEST_READ_BFS) {
        return cli_usage(cli, "--source is where --read bfs starts; it says nothing without that");
    }
    const char *about = settings.durable      ? "--durable"
                        : settings.made.chunk ? "--chunk"
                        : settings.made.level ? "--compress"
                                              : NULL;
    if (about && !settings.into) {
        return cli_usage(cli, "%s is about a stored matrix; name one with --into STORE#NAME", about);
    }
    return CLI_DONE;
}

/* Type and policy of a matrix that is stored already are its own. */
static int follow_target(cli_state *cli, ingest_plan *plan, const ingest_target *target)
{
    const dcsr_version_info *stored = &target->newest;
    if (!stored->version) return CLI_DONE;
    plan->type = stored->type;
    if (!plan->policy || plan->policy == stored->policy) return CLI_DONE;
    return cli_fail(cli, "--op %s: %s has been made with --op %s, and keeps that; leave --op out",
                    dcsr_policy_name(plan->policy), settings.into, dcsr_policy_name(stored->policy));
}

static int make_plan(cli_state *cli, ingest_plan *plan, ingest_target *target)
{
    *plan = (ingest_plan){.batch = settings.batch,
                          .rows = settings.rows,
                          .cols = settings.cols,
                          .policy = cli->op,
                          .symmetric = settings.symmetric,
                          .square = settings.read == INGEST_READ_BFS,
                          .first_delete = cli->argument_count};
    if (settings.delete) {
        plan->first_delete = settings.delete_from < cli->argument_count ? settings.delete_from : 0;
    }
    int status = check_settings(cli);
    if (!status && settings.into)
        status = cli_stored_parse(cli, &target->stored, settings.into, CLI_STORE_NAME);
    if (!status && settings.into) status = ingest_target_find(target);
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

static cli_source *name_sources(const cli_state *cli, const ingest_plan *plan)
{
    cli_source *sources = calloc((size_t)cli->argument_count, sizeof *sources);
    for (int s = 0; sources && s < cli->argument_count; s++) {
        sources[s].name = cli->arguments[s];
        if (s >= plan->first_delete) continue;
        sources[s].rows = plan->rows;
        sources[s].cols = plan->cols;
    }
    return sources;
}

/* The type of a new matrix is the widest of the sources that are inserted. */
static int choose_type(cli_state *cli, ingest_plan *plan, cli_source *sources)
{
    int status = CLI_DONE;
    if (plan->first_delete > 1) allow_open_files();
    for (int s = 0; s < plan->first_delete && plan->type != DCSR_FP64 && !status; s++) {
        dcsr_type type;
        status = cli_source_look(cli, &sources[s], s + 1 == plan->first_delete, &type);
        if (!status && type > plan->type) plan->type = type;
    }
    return status;
}

static void free_sources(const cli_state *cli, cli_source *sources)
{
    for (int s = 0; s < cli->argument_count; s++) cli_source_close(&sources[s]);
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

static int stream_all(ingest_stream *stream, ingest_reader **reader)
{
    cli_state *cli = stream->cli;
    int status = CLI_DONE;
    for (int s = 0; s < cli->argument_count && !status && !ingest_interrupted(); s++) {
        dcsr_coo coo = {0};
        status = ingest_open(stream, &coo, s);
        if (!status && !s) ingest_interrupt_begin();
        if (!status && settings.read && !*reader) {
            uint64_t source = settings.have_source ? settings.source : stream->first_source;
            status = ingest_reader_start(reader, cli, stream->matrix, settings.read, source);
        }
        if (!status) status = ingest_send(stream, &coo, s);
        dcsr_coo_free(&coo);
    }
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

static int print(const ingest_stream *stream, const ingest_reader *reader, double seconds)
{
    cli_state *cli = stream->cli;
    dcsr_matrix_info info;
    uint64_t nnz;
    cli_report report;
    if (dcsr_matrix_get_info(stream->matrix, &info) || dcsr_matrix_get_nnz(stream->matrix, &nnz))
        return cli_fail_library(cli);
    int status = stream->target ? ingest_target_verdict(stream->target) : CLI_DONE;
    if (ingest_interrupted()) status = tell_interruption(stream, &info);
    cli_report_begin(&report, cli);
    put_rates(&report, stream, &info, seconds);
    put_matrix(&report, stream, &info, nnz);
    if (stream->target) ingest_target_put(stream->target, &report);
    if (reader) ingest_reader_put(reader, &report);
    int printed = cli_report_print(&report);
    return status ? status : printed;
}

static int run_ingest(cli_state *cli)
{
    ingest_plan plan;
    ingest_target target = {.cli = cli, .made = settings.made, .durable = settings.durable};
    int status = make_plan(cli, &plan, &target);
    if (status) return status;
    ingest_stream stream = {.cli = cli, .plan = &plan, .target = settings.into ? &target : NULL};
    ingest_reader *reader = NULL;
    double start = cli_now();
    stream.sources = name_sources(cli, &plan);
    if (!stream.sources) return cli_fail(cli, "out of memory for %d names", cli->argument_count);
    if (!target.newest.version) status = choose_type(cli, &plan, stream.sources);
    if (!status) status = stream_all(&stream, &reader);
    double seconds = cli_now() - start;
    int reading = reader ? ingest_reader_stop(reader) : CLI_DONE;
    if (!status && stream.target) status = ingest_target_store(&target, stream.matrix);
    if (!status) status = reading;
    if (!status && settings.have_source && settings.source >= stream.rows && !ingest_interrupted()) {
        status = cli_fail(cli, "--source %llu is not a vertex; there are %llu, counted from 0",
                          (unsigned long long)settings.source, (unsigned long long)stream.rows);
    }
    if (!status) status = print(&stream, reader, seconds);
    ingest_reader_free(reader);
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
        "EDGES are MATRIX arguments, taken in order into one matrix, in memory or stored. It grows as they "
        "need, also while earlier batches are pending. The type of a new one is the widest of the EDGES that "
        "are inserted (pattern, int64, "
        "fp64); entries without a value have the "
        "value 1. Edges to delete that lie outside the matrix are left out.\n\n"
        "SIGINT (Ctrl-C) and SIGTERM end the EDGES early: what was sent by then is kept and reported. A "
        "second "
        "one ends at once.\n\n"
        "edges/s counts the time that the store spent applying changes, wall time also reading or "
        "generating.\n\n"
        "Examples:\n"
        "  dcsr ingest rmat:18,16 --batch 100k --read bfs\n"
        "  dcsr ingest all.el.gz --symmetric --delete expired.el.gz\n"
        "  dcsr ingest today.el --into graphs#web --durable\n",
    .least = 1,
    .most = -1,
    .options = options,
    .take = take,
    .run = run_ingest,
};
