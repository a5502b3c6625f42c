/* cmd_snapshot.c: `dcsr snapshot`: any MATRIX becomes the next version of a stored one. */
#include "cli/stored.h"

static cli_new_store made;

static const struct argp_option options[] = {CLI_OP_OPTION, CLI_NEW_STORE_OPTIONS, {0}};

static error_t take(cli_state *cli, int key, const char *value)
{
    error_t taken = cli_op_take(cli, key, value);
    return taken == ARGP_ERR_UNKNOWN ? cli_new_store_take(cli, &made, key, value) : taken;
}

static int print(cli_state *cli, const cli_stored *stored, const dcsr_version_info *info,
                 const dcsr_recovery *recovery, double seconds)
{
    char rows[CLI_NUMBER], cols[CLI_NUMBER];
    cli_report report;
    cli_report_begin(&report, cli);
    cli_put_recovery(&report, recovery);
    cli_put_version(&report, stored, info);
    cli_put_line(&report, "size", "%s x %s, %s", cli_grouped(rows, info->rows), cli_grouped(cols, info->cols),
                 dcsr_type_name(info->type));
    cli_put_count(&report, "rows", NULL, info->rows);
    cli_put_count(&report, "cols", NULL, info->cols);
    cli_put_text(&report, "type", NULL, dcsr_type_name(info->type));
    cli_put_count(&report, "nnz", "nonzeros", info->nnz);
    cli_put_seconds(&report, "seconds", "time", seconds);
    return cli_report_print(&report);
}

static int run_snapshot(cli_state *cli)
{
    cli_stored stored;
    dcsr_version_info info;
    dcsr_recovery recovery;
    dcsr_store *store;
    dcsr_matrix *matrix = NULL;
    dcsr_names *names = NULL, *kept = NULL;
    int status = cli_stored_parse(cli, &stored, cli->arguments[1], CLI_STORE_NAME);
    /* Before the MATRIX, which may be this very one; a new store is made when there is something for it. */
    if (!status) status = cli_stored_prepare(cli, &stored, &info, &recovery);
    if (!status) status = cli_load_matrix(cli, &matrix, cli->arguments[0], NULL);
    if (!status) status = cli_names_open(cli, cli->arguments[0], &names);
    if (!status) status = cli_new_store_open(cli, &store, stored.store, &made);
    if (!status) status = cli_names_keep(cli, store, &stored, names, &kept);
    if (!status) {
        cli_progress(cli, "writing %s", cli->arguments[1]);
        double start = cli_now();
        status = dcsr_store_snapshot(store, stored.name, matrix, &info)
                     ? cli_fail_library(cli)
                     : print(cli, &stored, &info, &recovery, cli_now() - start);
    }
    dcsr_names_destroy(kept);
    dcsr_names_destroy(names);
    dcsr_matrix_destroy(matrix);
    return status;
}

const cli_command cli_snapshot_command = {
    .name = "snapshot",
    .arguments = "MATRIX STORE#NAME",
    .summary = "Store a matrix as the next version of NAME",
    .help = "STORE is a folder, and made when it is not there. Only chunks whose rows have changed since the "
            "version before are written; where nothing has changed no version is made, and the one before is "
            "reported. Names of vertices come along. A version is there in whole or not at all, whatever "
            "happens meanwhile.\n\n"
            "Examples:\n"
            "  dcsr snapshot rmat:18,16 graphs#web\n"
            "  dcsr snapshot graphs#web@1 graphs#web      # version 1 is the newest again\n",
    .least = 2,
    .most = 2,
    .options = options,
    .take = take,
    .run = run_snapshot,
};
