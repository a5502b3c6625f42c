/* cmd_convert.c: `dcsr convert`: from any MATRIX to a file of any format. */
#include "cli/cli.h"

int cli_write_matrix(cli_state *cli, dcsr_matrix *matrix, const char *file, uint64_t version)
{
    dcsr_view *view = NULL;
    dcsr_coo coo = {0};
    int status;
    cli_progress(cli, "writing %s", file);
    if (dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED) ||
        dcsr_view_to_coo(&coo, view) || dcsr_write_matrix(&coo, file)) {
        status = cli_fail_library(cli);
    } else {
        char number[CLI_NUMBER], cols[CLI_NUMBER];
        cli_report report;
        cli_report_begin(&report, cli);
        cli_put_text(&report, "file", "written", file);
        if (version) cli_put_count(&report, "version", "version", version);
        cli_put_line(&report, "size", "%s x %s, %s", cli_grouped(number, coo.rows),
                     cli_grouped(cols, coo.cols), dcsr_type_name(coo.type));
        cli_put_count(&report, "rows", NULL, coo.rows);
        cli_put_count(&report, "cols", NULL, coo.cols);
        cli_put_text(&report, "type", NULL, dcsr_type_name(coo.type));
        cli_put_count(&report, "nnz", "nonzeros", coo.nnz);
        status = cli_report_print(&report);
    }
    dcsr_coo_free(&coo);
    dcsr_view_destroy(view);
    return status;
}

static int run(cli_state *cli)
{
    dcsr_matrix *matrix;
    int status = cli_load_matrix(cli, &matrix, cli->arguments[0], NULL);
    if (status) return status;
    status = cli_write_matrix(cli, matrix, cli->arguments[1], 0);
    dcsr_matrix_destroy(matrix);
    return status;
}

const cli_command cli_convert_command = {
    .name = "convert",
    .arguments = "MATRIX FILE",
    .summary = "Write a matrix to a file of another format",
    .help = "The ending of FILE decides the format: .mtx, or an edge list .el .tsv .csv .txt .facts, each "
            "also .gz. "
            "Symmetric inputs come out expanded, duplicates combined, rows and columns ascending. An edge "
            "list does not "
            "tell its size: rows and columns that are empty at the end are lost. FILE is replaced only when "
            "the new one "
            "is whole.\n\n"
            "Example:\n  dcsr convert poisson2d5:100 grid.mtx.gz\n",
    .least = 2,
    .most = 2,
    .run = run,
};
