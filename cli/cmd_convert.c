/* cmd_convert.c: `dcsr convert`: from any MATRIX to a file of any format. */
#include "cli/cli.h"

static const struct argp_option options[] = {CLI_OP_OPTION, CLI_WRITE_OPTION, {0}};

static error_t take(cli_state *cli, int key, const char *value)
{
    const error_t taken = cli_op_take(cli, key, value);
    return taken == ARGP_ERR_UNKNOWN ? cli_write_take(key) : taken;
}

static int run_convert(cli_state *cli)
{
    dcsr_matrix *matrix;
    int status = cli_load_matrix(cli, &matrix, cli->arguments[0], NULL);
    if (status) return status;
    status = cli_write_matrix(cli, matrix, NULL, cli->arguments[1], 0);
    dcsr_matrix_destroy(matrix);
    return status;
}

const cli_command cli_convert_command = {
    .name = "convert",
    .arguments = "MATRIX FILE",
    .summary = "Write a matrix to a file of another format",
    .help =
        "The ending of FILE decides the format: .mtx, or an edge list .el .tsv .csv .txt .facts, each "
        "also .gz. "
        "Symmetric inputs come out expanded, but a .mtx of a symmetric matrix says so and lists its lower "
        "triangle; equal entries combined as --op says, rows and columns "
        "ascending. An edge "
        "list does not "
        "tell its size: rows and columns that are empty at the end are lost. FILE is replaced only when "
        "the new one "
        "is whole. Into a pipe or a device, /dev/stdout or - too, it is written straight, as .mtx where the "
        "name has "
        "no ending.\n\n"
        "Example:\n  dcsr convert poisson2d5:100 grid.mtx.gz\n",
    .least = 2,
    .most = 2,
    .options = options,
    .take = take,
    .run = run_convert,
};
