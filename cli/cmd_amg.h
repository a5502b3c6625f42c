/* cmd_amg.h: the parts of `dcsr amg` (internal). */
#ifndef DCSR_CLI_CMD_AMG_H
#define DCSR_CLI_CMD_AMG_H

#include "cli/cli.h"
#include <dcsr/amg.h>

/* ---- --changes: a matrix that changes in steps, and is solved with after each ---- */

typedef struct cli_amg_step {
    dcsr_amg_update_report update;
    dcsr_amg_report solve;
} cli_amg_step;

typedef struct cli_amg_changes {
    const char *file; /* NULL: none */
    dcsr_matrix *matrix;
    dcsr_view *view; /* of its version that amg has; both are freed by cli_amg_changes_free() */
    cli_amg_step *step;
    size_t count;
} cli_amg_changes;

/* A matrix of fp64 that can change, and a view of it for the first setup. */
int cli_amg_changes_begin(cli_state *cli, cli_amg_changes *changes, dcsr_matrix *matrix);
/* Applies the steps of the file and solves after each, from x = 0. Stops at a malformed line, or where a solve does
 * not converge; the steps before are there. */
int cli_amg_changes_follow(cli_state *cli, cli_amg_changes *changes, dcsr_amg *amg, double *x,
                           const double *b);
/* The steps as a table, in JSON as a list. */
void cli_amg_changes_put(cli_report *report, const cli_amg_changes *changes);
void cli_amg_changes_free(cli_amg_changes *changes);

/* ---- --plot: a picture ---- */

/* Draws the levels of the last setup, and the residuals of so many columns of the last solve. */
int cli_amg_plot(cli_state *cli, const dcsr_amg *amg, uint64_t columns, const char *path);

#endif
