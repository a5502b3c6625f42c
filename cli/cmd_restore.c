/* cmd_restore.c: `dcsr restore`: a stored matrix becomes a file. */
#include "cli/stored.h"

enum { KEY_NAMES = 1 };

static const struct argp_option options[] = {
    CLI_WRITE_OPTION,
    {"names", KEY_NAMES, NULL, 0, "Write the names of vertices instead of their numbers; an edge list only",
     0},
    {0}};

static bool named;

static error_t take(cli_state *cli, int key, const char *value)
{
    (void)cli;
    (void)value;
    if (key != KEY_NAMES) return cli_write_take(key);
    named = true;
    return 0;
}

static int run_restore(cli_state *cli)
{
    cli_stored stored;
    uint64_t version;
    dcsr_matrix *matrix;
    dcsr_names *names = NULL;
    int status = cli_stored_parse(cli, &stored, cli->arguments[0], CLI_STORE_NAME_VERSION);
    if (!status) status = cli_stored_load(cli, &stored, &matrix, &version);
    if (status) return status;
    if (named) status = cli_names_open(cli, cli->arguments[0], &names);
    if (!status && named && !names)
        status = cli_fail(cli, "--names: the vertices of %s have no names; leave it out", cli->arguments[0]);
    if (!status) status = cli_write_matrix(cli, matrix, names, cli->arguments[1], version);
    dcsr_names_destroy(names);
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
            "With --names it reads again with `dcsr ingest --names`.\n\n"
            "Example:\n  dcsr restore graphs#web@3 web.mtx.gz\n",
    .least = 2,
    .most = 2,
    .options = options,
    .take = take,
    .run = run_restore,
};
