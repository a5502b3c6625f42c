/* cmd_restore.c: `dcsr restore`: a stored matrix becomes a file. */
#include "cli/stored.h"

static int run(cli_state *cli)
{
    cli_stored stored;
    dcsr_version_info info;
    dcsr_matrix *matrix;
    int status = cli_stored_parse(cli, &stored, cli->arguments[0], CLI_STORE_NAME_VERSION);
    if (!status) status = cli_stored_find(cli, &stored, &info);
    if (status) return status;
    if (info.version) stored.version = info.version; /* though another process may be making versions */
    status = cli_stored_restore(cli, &stored, &matrix);
    if (status) return status;
    status = cli_write_matrix(cli, matrix, cli->arguments[1], info.version);
    dcsr_matrix_destroy(matrix);
    return status;
}

const cli_command cli_restore_command = {
    .name = "restore",
    .arguments = "STORE#NAME[@VERSION] FILE",
    .summary = "Write a version of a stored matrix to a file",
    .help =
        "Without a VERSION it is the newest. FILE is written as by `dcsr convert`: its ending decides the "
        "format, and it is replaced only when the new one is whole.\n\n"
        "Example:\n  dcsr restore graphs#web@3 web.mtx.gz\n",
    .least = 2,
    .most = 2,
    .run = run,
};
