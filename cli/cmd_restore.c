/* cmd_restore.c: `dcsr restore`: a stored matrix becomes a file. */
#include "cli/stored.h"

static const struct argp_option options[] = {CLI_WRITE_OPTION, {0}};

static error_t take(cli_state *cli, int key, const char *value)
{
    (void)cli;
    (void)value;
    return cli_write_take(key);
}

static int run_restore(cli_state *cli)
{
    cli_stored stored;
    uint64_t version;
    dcsr_matrix *matrix;
    int status = cli_stored_parse(cli, &stored, cli->arguments[0], CLI_STORE_NAME_VERSION);
    if (!status) status = cli_stored_load(cli, &stored, &matrix, &version);
    if (status) return status;
    status = cli_write_matrix(cli, matrix, cli->arguments[1], version);
    dcsr_matrix_destroy(matrix);
    return status;
}

const cli_command cli_restore_command = {
    .name = "restore",
    .arguments = "STORE#NAME[@VERSION] FILE",
    .summary = "Write a version of a stored matrix to a file",
    .help = "Without a VERSION it is the newest; @live is that with what the log holds beyond. FILE is "
            "written as by `dcsr convert`: its ending decides the "
            "format, and it is replaced only when the new one is whole.\n\n"
            "Example:\n  dcsr restore graphs#web@3 web.mtx.gz\n",
    .least = 2,
    .most = 2,
    .options = options,
    .take = take,
    .run = run_restore,
};
