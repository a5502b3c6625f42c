/* amg_plot.h: the picture of `dcsr amg` (internal). */
#ifndef DCSR_CLI_AMG_PLOT_H
#define DCSR_CLI_AMG_PLOT_H

#include "cli/cli.h"
#include <dcsr/amg.h>

/* Whether a picture can be written to that file, with what is here. */
int cli_amg_check_plot(cli_state *cli, const char *path);
/* Draws the levels of the last setup, and the residuals of so many columns of the last solve. */
int cli_amg_plot(cli_state *cli, const dcsr_amg *amg, uint64_t columns, const char *path);
#endif
