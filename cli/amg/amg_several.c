/* amg_several.c: `dcsr amg` on several devices. */
#include "cli/amg/cmd_amg.h"
#include <dcsr/extend.h>
#include <dcsr/multi.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ITERATIONS = 200 };

static dcsr_status level_of(const void *amg, uint64_t number, dcsr_amg_level *level)
{
    return dcsr_multi_amg_get_level(amg, number, level);
}

/* The options of the method, which checks them; those of the solve are read here. */
static int configure(cli_state *cli, dcsr_multi_amg *amg, dcsr_multi_cg_options *cg,
                     const cli_amg_settings *settings)
{
    for (int s = 0; s < settings->count; s++) {
        const char *name = settings->name[s], *value = settings->value[s];
        if (dcsr_multi_amg_set(amg, name, value)) return cli_usage(cli, "%s", dcsr_thread_error());
        if (!strcmp(name, "tolerance")) cg->tolerance = strtod(value, NULL);
        if (!strcmp(name, "iterations")) cg->max_iterations = strtoull(value, NULL, 10);
        if (!strcmp(name, "solver") && strcmp(value, "auto") && strcmp(value, "cg"))
            return cli_parts_refuse(cli, "another solver than cg");
    }
    if (!settings->nullspace) return CLI_DONE;
    dcsr_dense B;
    if (dcsr_dense_read(&B, cli->context, settings->nullspace)) return cli_fail_library(cli);
    const int status = dcsr_multi_amg_set_nullspace(amg, &B) ? cli_fail_library(cli) : CLI_DONE;
    dcsr_dense_free(&B);
    return status;
}

static int print(cli_state *cli, const dcsr_multi_amg *amg, const dcsr_multi_amg_info *info,
                 const dcsr_multi_cg_result *done, const dcsr_multi_view_info *parts, double seconds)
{
    cli_report report;
    cli_report_begin(&report, cli);
    cli_amg_put_levels(&report, level_of, amg, info->levels);
    cli_put_count(&report, "levels", "levels", info->levels);
    cli_put_count(&report, "divided", "on all devices", info->divided);
    cli_put_real(&report, "outside", "outside", info->outside, "");
    cli_put_real(&report, "operator_complexity", "operator complexity", info->operator_complexity, "");
    cli_put_real(&report, "grid_complexity", "grid complexity", info->grid_complexity, "");
    cli_put_text(&report, "solver", "solver", "cg");
    cli_put_count(&report, "iterations", "iterations", done->iterations);
    cli_put_real(&report, "residual", NULL, done->residual, "");
    cli_put_line(&report, "residual", "%.3e", done->residual);
    cli_put_seconds(&report, "setup_seconds", "setup", info->setup_seconds);
    cli_put_seconds(&report, "solve_seconds", "solve", seconds);
    cli_put_parts(&report, parts);
    return cli_report_print(&report);
}

/* From x = 0; writes a solution and reports. What is none is reported, too. */
static int solve(cli_state *cli, dcsr_multi_amg *amg, dcsr_multi_view *A, const dcsr_dense *b,
                 dcsr_multi_cg_options *cg, const char *out)
{
    dcsr_multi_view_info parts;
    dcsr_multi_amg_info info;
    dcsr_multi_cg_result done;
    dcsr_dense x = {.rows = b->rows, .cols = 1, .context = cli->context};
    int status = CLI_DONE;
    cg->amg = amg;
    x.values = dcsr_context_allocate(cli->context, x.rows, sizeof *x.values);
    if (!x.values || dcsr_multi_view_get_info(A, &parts) || dcsr_multi_amg_get_info(amg, &info)) {
        status = cli_fail_library(cli);
    } else {
        for (uint64_t i = 0; i < x.rows; i++) x.values[i] = 0;
        cli_progress(cli, "solving");
        const double start = cli_now();
        if (dcsr_multi_cg(x.values, &done, A, b->values, cg)) {
            status = cli_fail_because(cli, "%s: %s", cli->arguments[0], dcsr_thread_error());
        } else {
            const double seconds = cli_now() - start;
            if (!done.converged)
                status =
                    cli_fail(cli, "%s after %llu iterations, residual %.3e: %s", cli->arguments[0],
                             (unsigned long long)done.iterations, done.residual,
                             dcsr_amg_outcome_text(done.indefinite ? DCSR_AMG_INDEFINITE : DCSR_AMG_LIMIT));
            else if (out && dcsr_dense_write(&x, out))
                status = cli_fail_library(cli);
            const int printed = print(cli, amg, &info, &done, &parts, seconds);
            if (!status) status = printed;
        }
    }
    dcsr_context_free(cli->context, x.values, x.rows, sizeof *x.values);
    return status;
}

int cli_amg_several(cli_state *cli, const cli_amg_settings *settings)
{
    dcsr_matrix *matrix = NULL;
    dcsr_multi_matrix *parts = NULL;
    dcsr_multi_view *segments = NULL, *view = NULL;
    dcsr_multi_amg *amg = NULL;
    dcsr_multi_view_info info;
    dcsr_dense b = {0};
    dcsr_multi_cg_options cg = {.max_iterations = MOST_ITERATIONS};
    int status = dcsr_multi_amg_create(&amg, cli->multi) ? cli_fail_library(cli) : CLI_DONE;
    if (!status) status = configure(cli, amg, &cg, settings);
    if (!status) status = cli_load_matrix(cli, &matrix, cli->arguments[0], NULL);
    if (!status) status = cli_to_fp64(cli, &matrix);
    if (!status) status = cli_parts_make(cli, &parts, &segments, &matrix, 0);
    if (!status && (dcsr_multi_view_create(&view, parts, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED) ||
                    dcsr_multi_view_get_info(view, &info)))
        status = cli_fail_library(cli);
    if (!status) status = cli_rhs_make(cli, &b, settings->rhs, info.rows);
    if (!status && b.cols != 1)
        status = cli_fail(cli, "%s: on several devices b has to be one column", settings->rhs);
    if (!status) {
        cli_progress(cli, "setting up the levels");
        if (dcsr_multi_amg_setup(amg, view, NULL))
            status = cli_fail_because(cli, "%s: %s", cli->arguments[0], dcsr_thread_error());
    }
    if (!status) status = solve(cli, amg, view, &b, &cg, settings->out);
    cli_rhs_free(&b, settings->rhs);
    dcsr_multi_amg_destroy(amg);
    dcsr_multi_view_destroy(view);
    dcsr_multi_view_destroy(segments);
    dcsr_multi_matrix_destroy(parts);
    dcsr_matrix_destroy(matrix);
    return status;
}
