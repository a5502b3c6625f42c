/* cmd_backup.c: `dcsr backup` and `dcsr compact`: a checked copy of a store, elsewhere or in its own place.
 */
#include "cli/stored.h"

static void show_progress(void *user, const char *doing, uint64_t bytes, uint64_t of)
{
    cli_progress(user, "%s: %3.0f%%", doing, of ? 100 * (double)bytes / (double)of : 100);
}

/* The folder that an argument names, where a matrix in it is not wanted. */
static int parse_folder(cli_state *cli, cli_stored *stored)
{
    int status = cli_stored_parse(cli, stored, cli->arguments[0], CLI_STORE_OR_NAME);
    if (status || !*stored->name) return status;
    return cli_usage(cli, "%s copies a whole store: '%s' without '#%s'", cli->command->name, stored->store,
                     stored->name);
}

static int print(cli_state *cli, const char *store, const char *backup, const dcsr_store_copied *copied,
                 double seconds)
{
    cli_report report;
    cli_report_begin(&report, cli);
    cli_put_text(&report, "store", NULL, store);
    if (backup) cli_put_text(&report, "backup", "backup", backup);
    cli_put_count(&report, "matrices", "matrices", copied->check.matrices);
    cli_put_count(&report, "versions", "versions", copied->check.versions);
    cli_put_count(&report, "chunks", "chunks", copied->check.chunks);
    cli_put_count(&report, "log_records", "log records", copied->check.log_records);
    cli_put_bytes(&report, "bytes_before", "the file", copied->bytes_before);
    cli_put_bytes(&report, "bytes_after", backup ? "the copy" : "  now", copied->bytes_after);
    cli_put_seconds(&report, "seconds", "time", seconds);
    return cli_report_print(&report);
}

static int run_backup(cli_state *cli)
{
    cli_stored stored;
    dcsr_store *store;
    dcsr_store_copied copied;
    int status = parse_folder(cli, &stored);
    if (!status) status = cli_store_open(cli, &store, stored.store, &(dcsr_store_options){.read_only = true});
    if (status) return status;
    double start = cli_now();
    if (dcsr_store_backup(store, cli->arguments[1], show_progress, cli, &copied))
        return cli_fail_library(cli);
    return print(cli, stored.store, cli->arguments[1], &copied, cli_now() - start);
}

static int run_compact(cli_state *cli)
{
    cli_stored stored;
    dcsr_store_copied copied;
    int status = parse_folder(cli, &stored);
    if (status) return status;
    double start = cli_now();
    if (dcsr_store_compact(stored.store, show_progress, cli, &copied)) return cli_fail_library(cli);
    return print(cli, stored.store, NULL, &copied, cli_now() - start);
}

const cli_command cli_backup_command = {
    .name = "backup",
    .arguments = "STORE FOLDER",
    .summary = "Copy a store, also while it is written",
    .help =
        "FOLDER must not be there, or be empty. The copy is a store by itself, with all versions of all "
        "matrices and what the log of a durable one holds, as one moment has them. Every checksum in it is "
        "compared: of a damaged store there is no backup. A backup that was killed leaves a FOLDER that is "
        "no store, and that may be given again.\n\n"
        "Examples:\n"
        "  dcsr backup graphs /backup/graphs-monday\n"
        "  dcsr log /backup/graphs-monday\n",
    .least = 2,
    .most = 2,
    .run = run_backup,
};

const cli_command cli_compact_command = {
    .name = "compact",
    .arguments = "STORE",
    .summary = "Make the file of a store as small as it can be",
    .help = "Gives back the room that deleted versions have left ('gc' deletes them). A checked copy takes "
            "the place of the file, so the disk needs room for both. Nobody else may have the store open; "
            "who opens it meanwhile waits. Whenever it is killed, the store is whole.\n\n"
            "Example:\n  dcsr gc graphs --keep 2\n  dcsr compact graphs\n",
    .least = 1,
    .most = 1,
    .run = run_compact,
};
