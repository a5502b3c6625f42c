/* amg_system.c: the A of `dcsr amg`, and multigrid for it, on one device or on several. */
#include "cli/amg/cmd_amg.h"
#include <dcsr/transpose.h>

int cli_amg_open(cli_amg_system *s, cli_state *cli)
{
    *s = (cli_amg_system){.cli = cli};
    const dcsr_status status = cli->multi ? dcsr_multi_amg_create(&s->multi_amg, cli->multi)
                                          : dcsr_amg_create(&s->amg, cli->context);
    return status ? cli_fail_library(cli) : CLI_DONE;
}

void cli_amg_close(cli_amg_system *s)
{
    dcsr_multi_amg_destroy(s->multi_amg);
    dcsr_multi_view_destroy(s->multi_view);
    dcsr_multi_matrix_destroy(s->parts);
    dcsr_amg_destroy(s->amg);
    dcsr_view_destroy(s->view);
    dcsr_matrix_destroy(s->matrix);
}

/* ---- The solver ---- */

dcsr_status cli_amg_set(cli_amg_system *s, const char *name, const char *value)
{
    return s->amg ? dcsr_amg_set(s->amg, name, value) : dcsr_multi_amg_set(s->multi_amg, name, value);
}

dcsr_status cli_amg_set_nullspace(cli_amg_system *s, const dcsr_dense *B)
{
    return s->amg ? dcsr_amg_set_nullspace(s->amg, B) : dcsr_multi_amg_set_nullspace(s->multi_amg, B);
}

dcsr_status cli_amg_setup(cli_amg_system *s)
{
    return s->amg ? dcsr_amg_setup(s->amg, s->view, NULL)
                  : dcsr_multi_amg_setup(s->multi_amg, s->multi_view, NULL);
}

dcsr_status cli_amg_solve(cli_amg_system *s, dcsr_dense *X, const dcsr_dense *B, dcsr_amg_report *reports)
{
    return s->amg ? dcsr_amg_solve_many(s->amg, X, B, reports)
                  : dcsr_multi_amg_solve_many(s->multi_amg, X, B, reports);
}

dcsr_status cli_amg_get_level(const cli_amg_system *s, uint64_t number, dcsr_amg_level *level)
{
    return s->amg ? dcsr_amg_get_level(s->amg, number, level)
                  : dcsr_multi_amg_get_level(s->multi_amg, number, level);
}

dcsr_status cli_amg_get_residuals(const cli_amg_system *s, uint64_t column, uint64_t *count,
                                  const double **residuals)
{
    return s->amg ? dcsr_amg_get_residuals(s->amg, column, count, residuals)
                  : dcsr_multi_amg_get_residuals(s->multi_amg, column, count, residuals);
}

void cli_amg_put_devices(cli_report *report, const cli_amg_system *s)
{
    dcsr_multi_amg_info info;
    dcsr_multi_view_info parts;
    if (s->amg || dcsr_multi_amg_get_info(s->multi_amg, &info) ||
        dcsr_multi_view_get_info(s->multi_view, &parts))
        return;
    cli_put_count(report, "divided", "on all devices", info.divided);
    cli_put_real(report, "outside", "outside", info.outside, "");
    cli_put_parts(report, &parts);
}

/* ---- The matrix ---- */

/* Of fp64, where the value that is inserted last stays. */
static dcsr_status make_changing(dcsr_matrix **matrix, dcsr_context *context)
{
    dcsr_matrix *made = NULL;
    dcsr_view *view = NULL;
    dcsr_view_shape shape;
    const dcsr_matrix_options options = {.policy = DCSR_POLICY_LAST};
    dcsr_status status = dcsr_view_create(&view, *matrix, DCSR_LAYOUT_SEGMENTS, 0);
    if (!status) status = dcsr_view_get_shape(view, &shape);
    if (!status) status = dcsr_matrix_create(&made, context, DCSR_FP64, shape.rows, shape.cols, &options);
    if (!status) status = dcsr_matrix_transpose(made, NULL, NULL, view, &(dcsr_desc){.transpose_a = true});
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(status ? made : *matrix);
    if (!status) *matrix = made;
    return status;
}

/* A view of its version of now; the one before is there until *before is destroyed. */
static dcsr_status show(cli_amg_system *s, dcsr_view **before)
{
    *before = s->view;
    const dcsr_status status =
        dcsr_view_create(&s->view, s->matrix, s->changes ? DCSR_LAYOUT_SEGMENTS : DCSR_LAYOUT_CSR, 0);
    if (status) s->view = *before, *before = NULL;
    return status;
}

static dcsr_status show_parts(cli_amg_system *s, dcsr_multi_view **before)
{
    *before = s->multi_view;
    const dcsr_status status =
        dcsr_multi_view_create(&s->multi_view, s->parts, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    if (status) s->multi_view = *before, *before = NULL;
    return status;
}

static int load_parts(cli_amg_system *s)
{
    dcsr_multi_view *segments = NULL, *before;
    dcsr_multi_view_info info;
    int status = cli_to_fp64(s->cli, &s->matrix);
    if (!status) status = cli_parts_make(s->cli, &s->parts, &segments, &s->matrix, 0);
    dcsr_multi_view_destroy(segments);
    if (status) return status;
    if (show_parts(s, &before) || dcsr_multi_view_get_info(s->multi_view, &info))
        return cli_fail_library(s->cli);
    s->rows = info.rows;
    return CLI_DONE;
}

int cli_amg_load(cli_amg_system *s, const char *source, bool changes)
{
    dcsr_view *before;
    dcsr_view_shape shape;
    s->changes = changes;
    const int status = cli_load_matrix(s->cli, &s->matrix, source, NULL);
    if (status) return status;
    if (changes && make_changing(&s->matrix, s->cli->context)) return cli_fail_library(s->cli);
    if (s->multi_amg) return load_parts(s);
    if (show(s, &before) || dcsr_view_get_shape(s->view, &shape)) return cli_fail_library(s->cli);
    s->rows = shape.rows;
    return CLI_DONE;
}

dcsr_status cli_amg_insert(cli_amg_system *s, uint64_t n, const uint64_t *rows, const uint64_t *cols,
                           const double *values)
{
    return s->amg ? dcsr_matrix_insert(s->matrix, n, rows, cols, values, NULL)
                  : dcsr_multi_matrix_insert(s->parts, n, rows, cols, values, NULL);
}

dcsr_status cli_amg_remove(cli_amg_system *s, uint64_t n, const uint64_t *rows, const uint64_t *cols)
{
    return s->amg ? dcsr_matrix_remove(s->matrix, n, rows, cols, NULL)
                  : dcsr_multi_matrix_remove(s->parts, n, rows, cols, NULL);
}

dcsr_status cli_amg_update(cli_amg_system *s, dcsr_amg_update_report *report)
{
    dcsr_view *before = NULL;
    dcsr_multi_view *parts_before = NULL;
    dcsr_status status = s->amg ? dcsr_matrix_wait(s->matrix) : dcsr_multi_matrix_wait(s->parts);
    if (!status) status = s->amg ? show(s, &before) : show_parts(s, &parts_before);
    if (status) return status;
    status = s->amg ? dcsr_amg_update(s->amg, s->view, report)
                    : dcsr_multi_amg_update(s->multi_amg, s->multi_view, report);
    if (status && s->amg) { /* the levels are for the version before */
        dcsr_view_destroy(s->view);
        s->view = before;
    } else if (status) {
        dcsr_multi_view_destroy(s->multi_view);
        s->multi_view = parts_before;
    } else {
        dcsr_view_destroy(before);
        dcsr_multi_view_destroy(parts_before);
    }
    return status;
}
