/* cmd_amg.h: the parts of `dcsr amg` (internal). */
#ifndef DCSR_CLI_CMD_AMG_H
#define DCSR_CLI_CMD_AMG_H

#include "cli/cli.h"
#include <dcsr/amg.h>
#include <dcsr/multi.h>

/* ---- A, and multigrid for it, on the devices of --device (amg_system.c) ---- */

typedef struct cli_amg_system {
    cli_state *cli;
    uint64_t rows;
    bool changes;
    /* On one device; amg is NULL: on several. */
    dcsr_amg *amg;
    dcsr_matrix *matrix;
    dcsr_view *view; /* of the version that amg has levels for */
    dcsr_multi_amg *multi_amg;
    dcsr_multi_matrix *parts;
    dcsr_multi_view *multi_view;
} cli_amg_system;

/* A solver without a matrix. Close it also after a failure. */
int cli_amg_open(cli_amg_system *s, cli_state *cli);
void cli_amg_close(cli_amg_system *s);
/* The matrix that `source` names; `changes`: it is to change. */
int cli_amg_load(cli_amg_system *s, const char *source, bool changes);
/* What dcsr/amg.h and dcsr/multi.h have of these names. */
dcsr_status cli_amg_set(cli_amg_system *s, const char *name, const char *value);
dcsr_status cli_amg_set_nullspace(cli_amg_system *s, const dcsr_dense *B);
dcsr_status cli_amg_setup(cli_amg_system *s);
dcsr_status cli_amg_solve(cli_amg_system *s, dcsr_dense *X, const dcsr_dense *B, dcsr_amg_report *reports);
dcsr_status cli_amg_get_level(const cli_amg_system *s, uint64_t number, dcsr_amg_level *level);
dcsr_status cli_amg_get_residuals(const cli_amg_system *s, uint64_t column, uint64_t *count,
                                  const double **residuals);
dcsr_status cli_amg_insert(cli_amg_system *s, uint64_t n, const uint64_t *rows, const uint64_t *cols,
                           const double *values);
dcsr_status cli_amg_remove(cli_amg_system *s, uint64_t n, const uint64_t *rows, const uint64_t *cols);
/* Waits for what was inserted and removed, and lets the levels follow. */
dcsr_status cli_amg_update(cli_amg_system *s, dcsr_amg_update_report *report);
/* Of several devices: what is divided, and their shares. */
void cli_amg_put_devices(cli_report *report, const cli_amg_system *s);

/* ---- --changes: a matrix that changes in steps, and is solved with after each ---- */

typedef struct cli_amg_step {
    dcsr_amg_update_report update;
    dcsr_amg_report solve;
} cli_amg_step;

typedef struct cli_amg_changes {
    const char *file; /* NULL: none */
    cli_amg_step *step;
    size_t count;
} cli_amg_changes;

/* Applies the steps of the file and solves after each, from x = 0. Stops at a malformed line, or where a solve does
 * not converge; the steps before are there. */
int cli_amg_changes_follow(cli_amg_changes *changes, cli_amg_system *s, dcsr_dense *x, const dcsr_dense *b);
/* The steps as a table, in JSON as a list. */
void cli_amg_changes_put(cli_report *report, const cli_amg_changes *changes);
void cli_amg_changes_free(cli_amg_changes *changes);

/* ---- --plot: a picture ---- */

/* Draws the levels of the last setup, and the residuals of so many columns of the last solve. */
int cli_amg_plot(const cli_amg_system *s, uint64_t columns, const char *path);

#endif
