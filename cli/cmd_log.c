/* cmd_log.c: `dcsr log`: the versions that a store has. */
#include "cli/stored.h"
#include <string.h>
#include <time.h>

enum { LEAST_NAME = 4, TIME_TEXT = 32 };

/* What goes into each line. */
typedef struct table {
    cli_report *report;
    dcsr_store *store;
    int name_width;
} table;

static const char *local_time(char text[TIME_TEXT], uint64_t seconds)
{
    time_t when = (time_t)seconds;
    struct tm parts;
    if (!localtime_r(&when, &parts) || !strftime(text, TIME_TEXT, "%Y-%m-%d %H:%M:%S", &parts))
        snprintf(text, TIME_TEXT, "-");
    return text;
}

static void put_version(const table *t, const char *name, const dcsr_version_info *v)
{
    char when[TIME_TEXT], rows[CLI_NUMBER], cols[CLI_NUMBER], nnz[CLI_NUMBER], bytes[CLI_NUMBER];
    cli_report *report = t->report;
    cli_put_line(report, NULL, "%-*s %7llu  %19s  %-7s %13s %13s %15s %7llu %11s %6llu", t->name_width, name,
                 (unsigned long long)v->version, local_time(when, v->created), dcsr_type_name(v->type),
                 cli_grouped(rows, v->rows), cli_grouped(cols, v->cols), cli_grouped(nnz, v->nnz),
                 (unsigned long long)v->chunks, cli_bytes(bytes, v->stored_bytes),
                 (unsigned long long)v->log_records);
    cli_begin_item(report, "versions");
    cli_put_version_keys(report, name, v);
    cli_put_count(report, "log_records", NULL, v->log_records);
    cli_put_count(report, "created", NULL, v->created);
    cli_put_text(report, "type", NULL, dcsr_type_name(v->type));
    cli_put_text(report, "op", NULL, dcsr_policy_name(v->policy));
    cli_put_count(report, "rows", NULL, v->rows);
    cli_put_count(report, "cols", NULL, v->cols);
    cli_put_count(report, "nnz", NULL, v->nnz);
    cli_end_item(report);
}

static dcsr_status put_matrix(const table *t, const char *name)
{
    dcsr_version_info *versions;
    uint64_t count;
    dcsr_status status = dcsr_store_get_versions(t->store, name, &versions, &count);
    if (status) return status;
    for (uint64_t v = 0; v < count; v++) put_version(t, name, &versions[v]);
    dcsr_store_list_free(versions);
    return DCSR_OK;
}

static dcsr_status put_readers(cli_report *report, dcsr_store *store)
{
    char held[CLI_NUMBER];
    dcsr_store_readers readers;
    dcsr_status status = dcsr_store_get_readers(store, &readers);
    if (status) return status;
    if (readers.count)
        cli_put_line(report, NULL, "read by process %llu, state %llu of %llu, which holds back %s",
                     (unsigned long long)readers.process, (unsigned long long)readers.state,
                     (unsigned long long)readers.newest_state, cli_bytes(held, readers.held_bytes));
    cli_put_count(report, "readers", NULL, readers.count);
    cli_put_count(report, "reader_process", NULL, readers.process);
    cli_put_count(report, "reader_state", NULL, readers.state);
    cli_put_count(report, "newest_state", NULL, readers.newest_state);
    cli_put_count(report, "held_bytes", NULL, readers.held_bytes);
    return DCSR_OK;
}

static dcsr_status put_store(cli_report *report, dcsr_store *store, const char *path)
{
    char all[CLI_NUMBER], unused[CLI_NUMBER];
    dcsr_store_info info;
    dcsr_status status = dcsr_store_get_info(store, &info);
    if (status) return status;
    cli_put_line(report, NULL, "%s: %llu %s, %s, of which %s are free", path,
                 (unsigned long long)info.matrices, info.matrices == 1 ? "matrix" : "matrices",
                 cli_bytes(all, info.file_bytes), cli_bytes(unused, info.free_bytes));
    cli_put_text(report, "store", NULL, path);
    cli_put_count(report, "format", NULL, info.format);
    cli_put_count(report, "matrices", NULL, info.matrices);
    cli_put_count(report, "file_bytes", NULL, info.file_bytes);
    cli_put_count(report, "free_bytes", NULL, info.free_bytes);
    cli_put_count(report, "chunk_bytes", NULL, info.chunk_bytes);
    cli_put_integer(report, "compression", info.compression);
    return put_readers(report, store);
}

/* All matrices, or the one that is named. */
static dcsr_status put_table(cli_report *report, dcsr_store *store, const cli_stored *stored)
{
    const char *one = stored->name;
    char **names = NULL;
    uint64_t count = 1;
    dcsr_status status = *one ? DCSR_OK : dcsr_store_get_names(store, &names, &count);
    if (status) return status;
    table t = {.report = report, .store = store, .name_width = LEAST_NAME};
    for (uint64_t n = 0; n < count; n++) {
        int length = (int)strlen(*one ? one : names[n]);
        if (length > t.name_width) t.name_width = length;
    }
    cli_put_line(report, NULL, "%-*s %7s  %-19s  %-7s %13s %13s %15s %7s %11s %6s", t.name_width, "name",
                 "version", "made", "type", "rows", "columns", "nonzeros", "chunks", "bytes", "log");
    cli_put_list(report, "versions");
    for (uint64_t n = 0; n < count && !status; n++) status = put_matrix(&t, *one ? one : names[n]);
    dcsr_store_list_free(names);
    return status;
}

static int run_log(cli_state *cli)
{
    cli_stored stored;
    dcsr_store *store;
    cli_report report;
    int status = cli_stored_parse(cli, &stored, cli->arguments[0], CLI_STORE_OR_NAME);
    if (!status) status = cli_store_open(cli, &store, stored.store, &(dcsr_store_options){.read_only = true});
    if (status) return status;
    cli_report_begin(&report, cli);
    if (put_store(&report, store, stored.store) || put_table(&report, store, &stored))
        return cli_report_drop(&report, cli_fail_library(cli));
    return cli_report_print(&report);
}

const cli_command cli_log_command = {
    .name = "log",
    .arguments = "STORE[#NAME]",
    .summary = "List the versions of stored matrices",
    .help =
        "Matrices by their names, versions oldest first. bytes are those of the chunks that a version "
        "consists of, on the disk; versions share those that have not changed. log counts records that a "
        "killed 'ingest --durable' has left behind the newest version, or one that runs has written: "
        "STORE#NAME@live shows them, and the next command that writes under the name brings them back. Where "
        "processes read the store, the one that reads its oldest state is shown: what was deleted since is "
        "not used again before it ends, so that the file grows.\n\n"
        "Example:\n  dcsr log graphs#web\n",
    .least = 1,
    .most = 1,
    .run = run_log,
};
