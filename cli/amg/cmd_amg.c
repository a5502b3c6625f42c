/* cmd_amg.c: `dcsr amg`: solves A x = b by algebraic multigrid. */
#include "cli/amg/cmd_amg.h"
#include <dcsr/extend.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    KEY_RHS = 1,
    KEY_TOLERANCE,
    KEY_ITERATIONS,
    KEY_NULLSPACE,
    KEY_SET,
    KEY_VERBOSE,
    KEY_PLOT,
    KEY_CHANGES,
    MOST_SETTINGS = 64
};

/* What --changes names, and came of it. */
static cli_amg_changes changes;

/* Options of the solver as they were given, name and value. */
static struct {
    const char *rhs, *nullspace, *out, *plot;
    const char *name[MOST_SETTINGS], *value[MOST_SETTINGS];
    int count;
    bool verbose;
} settings = {.rhs = CLI_RHS_ONES};

static const struct argp_option options[] = {
    {"rhs", KEY_RHS, "FILE", 0, CLI_RHS_HELP "; several columns are solved for at once", 0},
    {"tol", KEY_TOLERANCE, "T", 0, "Stop when ||b - A x|| is T ||b|| or less (default 1e-8)", 0},
    {"max-iterations", KEY_ITERATIONS, "N", 0, "Stop after N iterations (default 200)", 0},
    {"nullspace", KEY_NULLSPACE, "FILE", 0,
     "Near-nullspace vectors of A, one a column: for elasticity the rigid-body modes (default: constants)",
     0},
    {"set", KEY_SET, "NAME=VALUE", 0, "Set an option of the method; may be given several times", 0},
    {"changes", KEY_CHANGES, "FILE", 0,
     "Solve again after each step of FILE: lines 'row column value', from 1, without a value for an entry "
     "that "
     "is removed; empty lines separate steps",
     0},
    {"output", 'o', "FILE", 0, "Write x as a Matrix Market array", 0},
    {"plot", KEY_PLOT, "FILE.png", 0, "Draw the levels, what they took, and the residuals (needs gnuplot)",
     0},
    {"verbose", KEY_VERBOSE, NULL, 0, "Print the residual after each iteration, as on a terminal", 0},
    CLI_OP_OPTION,
    {0}};

static error_t add_setting(cli_state *cli, const char *name, const char *value)
{
    if (settings.count == MOST_SETTINGS) {
        cli_usage(cli, "more than %d options of the method are set", MOST_SETTINGS);
        return EINVAL;
    }
    settings.name[settings.count] = name;
    settings.value[settings.count++] = value;
    return 0;
}

/* NAME=VALUE; the name is cut off in a copy that lasts as long as the program. */
static error_t take_setting(cli_state *cli, const char *text)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text) {
        cli_usage(cli, "--set takes NAME=VALUE, not '%s'", text);
        return EINVAL;
    }
    static char names[MOST_SETTINGS][32];
    char *name = names[settings.count % MOST_SETTINGS];
    snprintf(name, sizeof *names, "%.*s", (int)(equals - text), text);
    if (!strcmp(name, "block"))
        cli->grain = strtoull(equals + 1, NULL, 10); /* what is none the method refuses */
    return add_setting(cli, name, equals + 1);
}

static error_t take(cli_state *cli, int key, const char *value)
{
    switch (key) {
    case KEY_RHS:
        settings.rhs = value;
        return 0;
    case KEY_TOLERANCE:
        return add_setting(cli, "tolerance", value);
    case KEY_ITERATIONS:
        return add_setting(cli, "iterations", value);
    case KEY_NULLSPACE:
        settings.nullspace = value;
        return 0;
    case KEY_SET:
        return take_setting(cli, value);
    case 'o':
        settings.out = value;
        return 0;
    case KEY_PLOT:
        settings.plot = value;
        return 0;
    case KEY_CHANGES:
        changes.file = value;
        return 0;
    case KEY_VERBOSE:
        settings.verbose = true;
        return 0;
    default:
        return cli_op_take(cli, key, value);
    }
}

static int configure(cli_amg_system *s)
{
    cli_state *cli = s->cli;
    for (int i = 0; i < settings.count; i++)
        if (cli_amg_set(s, settings.name[i], settings.value[i]))
            return cli_usage(cli, "%s", dcsr_thread_error());
    if (!settings.nullspace) return CLI_DONE;
    dcsr_dense B;
    if (dcsr_dense_read(&B, cli->context, settings.nullspace)) return cli_fail_library(cli);
    int status = cli_amg_set_nullspace(s, &B) ? cli_fail_library(cli) : CLI_DONE;
    dcsr_dense_free(&B);
    return status;
}

/* b, of a column or more. */
static int make_rhs(cli_state *cli, dcsr_dense *b, uint64_t rows)
{
    const int status = cli_rhs_make(cli, b, settings.rhs, rows);
    if (status || !changes.file || b->cols == 1) return status;
    return cli_fail(cli, "%s: with --changes b has to be one column", settings.rhs);
}

/* Levels, as a table, in JSON as a list. */
static void put_levels(cli_report *report, const cli_amg_system *s, uint64_t levels)
{
    dcsr_amg_level level;
    cli_put_list(report, "hierarchy");
    cli_put_line(report, NULL, "level %12s %14s %7s %10s", "rows", "entries", "share", "setup");
    for (uint64_t l = 0; l < levels && !cli_amg_get_level(s, l, &level); l++) {
        double seconds = level.strength_seconds + level.aggregate_seconds + level.prolongator_seconds +
                         level.product_seconds + level.smoother_seconds;
        char rows[CLI_NUMBER], entries[CLI_NUMBER], time[CLI_NUMBER];
        cli_begin_item(report, "hierarchy");
        cli_put_count(report, "rows", NULL, level.rows);
        cli_put_count(report, "nnz", NULL, level.nnz);
        cli_put_real(report, "share", NULL, level.share, "");
        cli_put_seconds(report, "seconds", NULL, seconds);
        cli_end_item(report);
        cli_put_line(report, NULL, "%5llu %12s %14s %6.1f%% %10s", (unsigned long long)l,
                     cli_grouped(rows, level.rows), cli_grouped(entries, level.nnz), 100 * level.share,
                     cli_duration(time, seconds));
    }
}

static void put_residuals(cli_report *report, const cli_amg_system *s, uint64_t column, uint64_t columns)
{
    uint64_t count;
    const double *residuals;
    if (cli_amg_get_residuals(s, column, &count, &residuals)) return;
    if (columns > 1) cli_put_line(report, NULL, "column %llu", (unsigned long long)column + 1);
    cli_put_line(report, NULL, "iteration    residual");
    for (uint64_t i = 0; i < count; i++)
        cli_put_line(report, NULL, "%9llu %11.3e", (unsigned long long)i, residuals[i]);
}

/* Each column as a line, in JSON in a list. */
static void put_columns(cli_report *report, const dcsr_amg_report *done, uint64_t columns)
{
    cli_put_list(report, "columns");
    cli_put_line(report, NULL, "column iterations    residual");
    for (uint64_t c = 0; c < columns; c++) {
        cli_begin_item(report, "columns");
        cli_put_count(report, "iterations", NULL, done[c].iterations);
        cli_put_real(report, "residual", NULL, done[c].residual, "");
        cli_put_text(report, "outcome", NULL, dcsr_amg_outcome_text(done[c].outcome));
        cli_end_item(report);
        cli_put_line(report, NULL, "%6llu %10llu %11.3e", (unsigned long long)c + 1,
                     (unsigned long long)done[c].iterations, done[c].residual);
    }
}

/* The column that took the most iterations, and of these the largest residual; one that did not converge comes
 * before all that did. */
static const dcsr_amg_report *hardest(const dcsr_amg_report *done, uint64_t columns)
{
    const dcsr_amg_report *found = done;
    for (const dcsr_amg_report *r = done; r < done + columns; r++) {
        const bool failed = r->outcome != DCSR_AMG_CONVERGED, before = found->outcome != DCSR_AMG_CONVERGED;
        if (failed != before ? failed
                             : r->iterations > found->iterations ||
                                   (r->iterations == found->iterations && r->residual > found->residual))
            found = r;
    }
    return found;
}

static int print(const cli_amg_system *s, const dcsr_amg_report *all, uint64_t columns)
{
    cli_report report;
    const dcsr_amg_report *done = hardest(all, columns);
    cli_report_begin(&report, s->cli);
    put_levels(&report, s, done->levels);
    for (uint64_t c = 0; c < columns && (settings.verbose || isatty(STDOUT_FILENO)); c++)
        put_residuals(&report, s, c, columns);
    if (columns > 1) put_columns(&report, all, columns);
    cli_put_count(&report, "levels", "levels", done->levels);
    cli_amg_put_devices(&report, s);
    cli_put_real(&report, "operator_complexity", "operator complexity", done->operator_complexity, "");
    cli_put_real(&report, "grid_complexity", "grid complexity", done->grid_complexity, "");
    cli_put_text(&report, "solver", "solver", done->solver);
    cli_put_count(&report, "iterations", "iterations", done->iterations);
    cli_put_real(&report, "residual", NULL, done->residual, "");
    cli_put_line(&report, "residual", "%.3e", done->residual);
    cli_put_seconds(&report, "setup_seconds", "setup", done->setup_seconds);
    cli_put_seconds(&report, "solve_seconds", "solve", all[columns - 1].solve_seconds);
    if (settings.plot) cli_put_text(&report, "plot", "picture", settings.plot);
    cli_amg_changes_put(&report, &changes);
    return cli_report_print(&report);
}

/* Follows the changes, writes x if it is a solution, draws and prints, also the steps before one that fails. */
static int finish(cli_amg_system *s, dcsr_dense *x, const dcsr_dense *b, const dcsr_amg_report *all)
{
    cli_state *cli = s->cli;
    const dcsr_amg_report *done = hardest(all, x->cols);
    const bool converged = done->outcome == DCSR_AMG_CONVERGED;
    int status = CLI_DONE;
    if (!converged)
        cli_fail(cli, "%s after %llu iterations, residual %.3e: %s", cli->arguments[0],
                 (unsigned long long)done->iterations, done->residual, dcsr_amg_outcome_text(done->outcome));
    const int followed = converged ? cli_amg_changes_follow(&changes, s, x, b) : CLI_FAILED;
    if (!followed && settings.out && dcsr_dense_write(x, settings.out)) status = cli_fail_library(cli);
    if (!status && settings.plot) status = cli_amg_plot(s, x->cols, settings.plot);
    if (!status) status = print(s, all, x->cols);
    return status ? status : followed;
}

/* Solves from x = 0. */
static int solve(cli_amg_system *s, const dcsr_dense *b)
{
    cli_state *cli = s->cli;
    const uint64_t numbers = b->rows * b->cols;
    dcsr_dense x = {.rows = b->rows, .cols = b->cols, .context = cli->context};
    dcsr_amg_report *reports = dcsr_context_allocate(cli->context, b->cols, sizeof *reports);
    int status = CLI_DONE;
    x.values = reports ? dcsr_context_allocate(cli->context, numbers, sizeof *x.values) : NULL;
    cli_progress(cli, "solving");
    if (!x.values || cli_amg_solve(s, &x, b, reports)) {
        status = cli_fail_library(cli);
    } else {
        cli_progress_end(cli);
        status = finish(s, &x, b, reports);
    }
    dcsr_context_free(cli->context, x.values, numbers, sizeof *x.values);
    dcsr_context_free(cli->context, reports, b->cols, sizeof *reports);
    return status;
}

static int run_amg(cli_state *cli)
{
    cli_amg_system s = {0};
    dcsr_dense b = {0};
    int status = settings.plot ? cli_plot_check(cli, settings.plot) : CLI_DONE;
    if (!status) status = cli_amg_open(&s, cli);
    if (!status) status = configure(&s);
    if (!status) status = cli_amg_load(&s, cli->arguments[0], changes.file);
    if (!status) status = make_rhs(cli, &b, s.rows);
    if (!status) {
        cli_progress(cli, "setting up the levels");
        if (cli_amg_setup(&s))
            status = cli_fail_because(cli, "%s: %s", cli->arguments[0], dcsr_thread_error());
    }
    if (!status) status = solve(&s, &b);
    cli_rhs_free(&b, settings.rhs);
    cli_amg_changes_free(&changes);
    cli_amg_close(&s);
    return status;
}

const cli_command cli_amg_command = {
    .name = "amg",
    .arguments = "MATRIX",
    .summary = "Solve a linear system by algebraic multigrid",
    .help =
        "Solves A x = b for the square MATRIX A by smoothed aggregation, as the preconditioner of a Krylov "
        "method: "
        "conjugate gradients for symmetric matrices, flexible GMRES for others. Reports the levels, the "
        "iterations, "
        "and ||b - A x|| / ||b||. Fails, and writes no FILE, if that stays above T. The options of the "
        "method and "
        "their defaults are in docs/AMG.md; 'dcsr amg MATRIX --set x=' lists their names. On several devices "
        "--set one_device=N says how few rows a level has that one of them has alone.\n\n"
        "Examples:\n  dcsr amg poisson3d7:64 --tol 1e-10 --set cycle=V\n"
        "  dcsr amg stiffness.mtx --rhs loads.mtx --device cuda:0-3 -o x.mtx\n",
    .least = 1,
    .most = 1,
    .several = true,
    .options = options,
    .take = take,
    .run = run_amg,
};
