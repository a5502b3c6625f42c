/* graph_options.c: what the command line of a graph command says. */
#include "cli/graph/graph_task.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { MOST_REPEATS = 100000 };

graph_settings graph_given = {.repeat = UINT64_MAX, .top = UINT64_MAX};

static error_t take_real(cli_state *cli, const char *option, const char *value, double most, double *number)
{
    char *end = NULL;
    const double parsed = strtod(value, &end);
    if (end == value || *end || !(parsed > 0) || parsed > most || isinf(parsed)) {
        char range[CLI_NUMBER] = "above 0";
        if (most < INFINITY) snprintf(range, sizeof range, "above 0, %g at most", most);
        cli_usage(cli, "%s must be a number %s, not '%s'", option, range, value);
        return EINVAL;
    }
    *number = parsed;
    return 0;
}

error_t graph_take(cli_state *cli, int key, const char *value)
{
    graph_settings *g = &graph_given;
    switch (key) {
    case GRAPH_KEY_OUT:
        return g->out = value, 0;
    case GRAPH_KEY_PLOT:
        return g->plot = value, 0;
    case GRAPH_KEY_TOP:
        return cli_take_number(cli, "--top", value, 0, DCSR_MAX_ROWS, &g->top);
    case GRAPH_KEY_REPEAT:
        return cli_take_number(cli, "--repeat", value, 1, MOST_REPEATS, &g->repeat);
    case GRAPH_KEY_SYMMETRIC:
        return g->symmetric = true, 0;
    case GRAPH_KEY_SOURCE:
        return g->source = value, 0;
    case GRAPH_KEY_SOURCES:
        return g->sources = value, 0;
    case GRAPH_KEY_PERSONAL:
        return g->personal = value, 0;
    case GRAPH_KEY_PARENTS:
        return g->parents = true, 0;
    case GRAPH_KEY_ADAPTIVE:
        return g->adaptive = true, 0;
    case GRAPH_KEY_DAMPING:
        return take_real(cli, "--damping", value, 1, &g->damping);
    case GRAPH_KEY_TOLERANCE:
        return take_real(cli, "--tol", value, INFINITY, &g->tolerance);
    case GRAPH_KEY_DELTA:
        return take_real(cli, "--delta", value, INFINITY, &g->delta);
    case GRAPH_KEY_ITERATIONS:
        return cli_take_number(cli, "--max-iterations", value, 1, INT32_MAX, &g->iterations);
    case GRAPH_KEY_SAMPLES:
        return cli_take_number(cli, "--samples", value, 1, DCSR_MAX_ROWS, &g->samples);
    case GRAPH_KEY_SEED:
        return cli_take_number(cli, "--seed", value, 0, UINT64_MAX, &g->seed);
    default:
        return cli_op_take(cli, key, value);
    }
}
