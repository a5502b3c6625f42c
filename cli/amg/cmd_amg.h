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

/* ---- Several devices ---- */

typedef struct cli_amg_settings {
    const char *rhs, *nullspace, *out;
    const char *const *name, *const *value; /* of the options of the method */
    int count;
} cli_amg_settings;

/* Solves by conjugate gradients with multigrid on the devices of --device, and reports. Exit status. */
int cli_amg_several(cli_state *cli, const cli_amg_settings *settings);

/* ---- Levels, as a table, in JSON as a list ---- */

typedef dcsr_status cli_amg_level_of(const void *amg, uint64_t number, dcsr_amg_level *level);
void cli_amg_put_levels(cli_report *report, cli_amg_level_of *get, const void *amg, uint64_t levels);

/* ---- --plot: a picture ---- */

/* Draws the levels of the last setup, and the residuals of so many columns of the last solve. */
int cli_amg_plot(cli_state *cli, const dcsr_amg *amg, uint64_t columns, const char *path);

#endif
