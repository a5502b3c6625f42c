/* cmd_verify.c: `dcsr verify`: reads all that a store holds and compares every checksum. */
#include "cli/stored.h"

static void show_damage(void *user, const char *text)
{
    cli_warn(user, "%s", text);
}

static int run_verify(cli_state *cli)
{
    cli_stored stored;
    dcsr_store *store;
    dcsr_store_check check;
    cli_report report;
    int status = cli_stored_parse(cli, &stored, cli->arguments[0], CLI_STORE_OR_NAME);
    if (status) return status;
    if (*stored.name)
        return cli_usage(cli, "verify reads a whole store: '%s' without '#%s'", stored.store, stored.name);
    status = cli_store_open(cli, &store, stored.store, &(dcsr_store_options){.read_only = true});
    if (status) return status;
    cli_progress(cli, "reading %s", stored.store);
    double start = cli_now();
    if (dcsr_store_verify(store, show_damage, cli, &check)) return cli_fail_library(cli);
    double seconds = cli_now() - start;
    cli_report_begin(&report, cli);
    cli_put_text(&report, "store", NULL, stored.store);
    cli_put_count(&report, "matrices", "matrices", check.matrices);
    cli_put_count(&report, "versions", "versions", check.versions);
    cli_put_count(&report, "chunks", "chunks", check.chunks);
    cli_put_count(&report, "log_records", "log records", check.log_records);
    cli_put_bytes(&report, "bytes", "read", check.bytes);
    cli_put_seconds(&report, "seconds", "time", seconds);
    cli_put_count(&report, "corrupt", "damaged", check.corrupt);
    if (check.corrupt)
        cli_fail_as(cli, "corrupt", CLI_FAILED, "%s: damaged things in the store: %llu", stored.store,
                    (unsigned long long)check.corrupt);
    status = cli_report_print(&report);
    return check.corrupt ? CLI_FAILED : status;
}

const cli_command cli_verify_command = {
    .name = "verify",
    .arguments = "STORE",
    .summary = "Read a store and compare every checksum",
    .help =
        "Each thing that is damaged is a line on standard error, and the exit status is 1 then. What is not "
        "damaged can be read all the same.\n\n"
        "Example:\n  dcsr verify graphs\n",
    .least = 1,
    .most = 1,
    .run = run_verify,
};
