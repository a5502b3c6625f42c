/* cmd_cg.c: `dcsr cg`: solves A x = b by conjugate gradients, on one device or several. */
#include "cli/cli.h"
#include <dcsr/extend.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_RHS = 1, KEY_TOLERANCE, KEY_ITERATIONS, KEY_JACOBI };

static struct {
    const char *rhs, *out;
    dcsr_multi_cg_options cg;
} settings = {.rhs = CLI_RHS_ONES};

static const struct argp_option options[] = {
    {"rhs", KEY_RHS, "FILE", 0, CLI_RHS_HELP, 0},
    {"tol", KEY_TOLERANCE, "T", 0, "Stop when ||b - A x|| is T ||b|| or less (default 1e-8)", 0},
    {"max-iterations", KEY_ITERATIONS, "N", 0, "Stop after N iterations (default 1000)", 0},
    {"jacobi", KEY_JACOBI, NULL, 0, "Precondition with the diagonal of A, which has to be above 0", 0},
    {"output", 'o', "FILE", 0, "Write x as a Matrix Market array", 0},
    CLI_OP_OPTION,
    {0}};

static error_t take(cli_state *cli, int key, const char *value)
{
    char *end;
    switch (key) {
    case KEY_RHS:
        settings.rhs = value;
        return 0;
    case KEY_TOLERANCE:
        settings.cg.tolerance = strtod(value, &end);
        if (end != value && !*end && settings.cg.tolerance > 0 && isfinite(settings.cg.tolerance)) return 0;
        cli_usage(cli, "--tol must be a number above 0, not '%s'", value);
        return EINVAL;
    case KEY_ITERATIONS:
        return cli_take_number(cli, "--max-iterations", value, 1, UINT64_MAX, &settings.cg.max_iterations);
    case KEY_JACOBI:
        settings.cg.jacobi = true;
        return 0;
    case 'o':
        settings.out = value;
        return 0;
    default:
        return cli_op_take(cli, key, value);
    }
}

/* One device is opened as several are. */
static int open_one(cli_state *cli)
{
    char text[CLI_NUMBER];
    const char *kind = cli->device == DCSR_DEVICE_CPU    ? "cpu"
                       : cli->device == DCSR_DEVICE_CUDA ? "cuda"
                                                         : "auto";
    if (cli->multi) return CLI_DONE;
    snprintf(text, sizeof text, cli->device_number ? "%s:%d" : "%s", kind, cli->device_number);
    return dcsr_multi_create(&cli->multi, text, &(dcsr_multi_options){.threads = cli->threads})
               ? cli_fail_library(cli)
               : CLI_DONE;
}

static int print(cli_state *cli, const dcsr_multi_cg_result *done, const dcsr_multi_view_info *info,
                 double seconds)
{
    cli_report report;
    cli_report_begin(&report, cli);
    cli_put_count(&report, "iterations", "iterations", done->iterations);
    cli_put_real(&report, "residual", NULL, done->residual, "");
    cli_put_line(&report, "residual", "%.3e", done->residual);
    cli_put_count(&report, "converged", NULL, done->converged);
    cli_put_seconds(&report, "seconds", "time", seconds);
    if (cli->devices) cli_put_parts(&report, info);
    if (settings.out) cli_put_text(&report, "file", "written", settings.out);
    return cli_report_print(&report);
}

/* Solves for the one column of b, from x = 0; writes a solution and reports. What is none is reported, too. */
static int solve(cli_state *cli, dcsr_multi_view *A, const dcsr_dense *b)
{
    dcsr_multi_view_info info;
    dcsr_multi_cg_result done;
    dcsr_dense x = {.rows = b->rows, .cols = 1, .context = cli->context};
    if (dcsr_multi_view_get_info(A, &info)) return cli_fail_library(cli);
    x.values = dcsr_context_allocate(cli->context, x.rows, sizeof *x.values);
    if (!x.values) return cli_fail_library(cli);
    for (uint64_t i = 0; i < x.rows; i++) x.values[i] = 0;
    cli_progress(cli, "solving");
    const double start = cli_now();
    int status = CLI_DONE;
    if (dcsr_multi_cg(x.values, &done, A, b->values, &settings.cg)) {
        status = cli_fail_because(cli, "%s: %s", cli->arguments[0], dcsr_thread_error());
    } else {
        const double seconds = cli_now() - start;
        if (!done.converged)
            status = cli_fail(cli, "%s after %llu iterations, residual %.3e: %s", cli->arguments[0],
                              (unsigned long long)done.iterations, done.residual,
                              done.indefinite
                                  ? "the matrix is not positive definite; 'dcsr amg' solves such systems"
                                  : "not converged; allow more --max-iterations, or try 'dcsr amg'");
        else if (settings.out && dcsr_dense_write(&x, settings.out))
            status = cli_fail_library(cli);
        if (status) settings.out = NULL;
        const int printed = print(cli, &done, &info, seconds);
        if (!status) status = printed;
    }
    dcsr_context_free(cli->context, x.values, x.rows, sizeof *x.values);
    return status;
}

/* Conjugate gradients are for symmetric matrices; that they are square is all that is looked at. */
static int check_square(cli_state *cli, dcsr_multi_view *view, uint64_t *rows)
{
    dcsr_multi_view_info info;
    if (dcsr_multi_view_get_info(view, &info)) return cli_fail_library(cli);
    *rows = info.rows;
    if (info.rows == info.cols) return CLI_DONE;
    return cli_fail(cli, "%s: a square matrix is needed, this one is %llu x %llu", cli->arguments[0],
                    (unsigned long long)info.rows, (unsigned long long)info.cols);
}

static int run_cg(cli_state *cli)
{
    dcsr_matrix *matrix = NULL;
    dcsr_multi_matrix *parts = NULL;
    dcsr_multi_view *view = NULL;
    dcsr_dense b = {0};
    uint64_t rows = 0;
    int status = open_one(cli);
    if (!status) status = cli_load_matrix(cli, &matrix, cli->arguments[0], NULL);
    if (!status) status = cli_to_fp64(cli, &matrix);
    if (!status) status = cli_parts_make(cli, &parts, &view, &matrix, 0);
    if (!status) status = check_square(cli, view, &rows);
    if (!status) status = cli_rhs_make(cli, &b, settings.rhs, rows);
    if (!status && b.cols != 1)
        status = cli_fail(cli, "%s: b has to be one column; 'dcsr amg' solves for several", settings.rhs);
    if (!status) status = solve(cli, view, &b);
    cli_rhs_free(&b, settings.rhs);
    dcsr_multi_view_destroy(view);
    dcsr_multi_matrix_destroy(parts);
    dcsr_matrix_destroy(matrix);
    return status;
}

const cli_command cli_cg_command = {
    .name = "cg",
    .arguments = "MATRIX",
    .summary = "Solve a linear system by conjugate gradients",
    .help = "Solves A x = b for the MATRIX A, which has to be symmetric and positive definite; symmetry is "
            "not checked. "
            "Reports the iterations, and ||b - A x|| / ||b|| as it was updated on the way. Fails, and writes "
            "no FILE, if "
            "that stays above T. On one device 'dcsr amg' is faster for most systems.\n\n"
            "Examples:\n  dcsr cg poisson3d7:64 --tol 1e-10\n"
            "  dcsr cg stiffness.mtx --rhs loads.mtx --jacobi --device cuda:all -o x.mtx\n",
    .least = 1,
    .most = 1,
    .several = true,
    .options = options,
    .take = take,
    .run = run_cg,
};
