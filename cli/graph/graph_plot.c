/* graph_plot.c: a picture of how the answer of a graph algorithm is distributed. */
#include "cli/graph/graph_task.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* More would not be told apart. */
enum { MOST_BARS = 200, MOST_POINTS = 1000 };

typedef struct drawing {
    const graph_algorithm *algorithm;
    const double *value; /* ascending */
    uint64_t count;
} drawing;

/* How many have each number; of many numbers, several together. */
static void write_bars(FILE *script, const drawing *d)
{
    const uint64_t most = d->count ? (uint64_t)d->value[d->count - 1] : 0, width = most / MOST_BARS + 1;
    uint64_t i = 0;
    for (uint64_t from = 0; from <= most; from += width) {
        const uint64_t first = i;
        while (i < d->count && d->value[i] < (double)(from + width)) i++;
        fprintf(script, "%g %" PRIu64 "\n", (double)from + (double)(width - 1) / 2, i - first);
    }
}

static void write_within(FILE *script, const drawing *d)
{
    const uint64_t step = d->count / MOST_POINTS + 1;
    for (uint64_t i = 0; i < d->count; i += step) fprintf(script, "%.9g %" PRIu64 "\n", d->value[i], i + 1);
    if (d->count) fprintf(script, "%.9g %" PRIu64 "\n", d->value[d->count - 1], d->count);
}

/* From the largest on, each number once, in steps that grow. */
static void write_tail(FILE *script, const drawing *d)
{
    for (uint64_t rank = 1; rank <= d->count; rank += rank / (MOST_POINTS / 16) + 1) {
        const double value = d->value[d->count - rank];
        while (rank < d->count && d->value[d->count - rank - 1] >= value) rank++;
        if (value > 0) fprintf(script, "%.9g %" PRIu64 "\n", value, rank);
    }
}

static void write_script(FILE *script, const void *user)
{
    static const struct {
        void (*data)(FILE *script, const drawing *d);
        const char *style, *of;
    } pictures[] = {
        [GRAPH_BARS] = {write_bars,
                        "set style fill solid 0.85\nset boxwidth 0.9 relative\nset yrange [0:*]\n", "boxes"},
        [GRAPH_WITHIN] = {write_within, "set yrange [0:*]\n", "steps lw 2"},
        [GRAPH_TAIL] = {write_tail, "set logscale xy\nset format xy '10^{%T}'\nset yrange [0.8:*]\n",
                        "points pt 7 ps 0.6"}};
    const drawing *d = user;
    const graph_algorithm *a = d->algorithm;
    static const char *const how[] = {[GRAPH_BARS] = "with this",
                                      [GRAPH_WITHIN] = "with at most this",
                                      [GRAPH_TAIL] = "with at least this"};
    fprintf(script, "$data << end\n");
    pictures[a->picture].data(script, d);
    fprintf(script,
            "end\nset terminal pngcairo size 800,600 font ',11'\nset output 'picture.png'\n"
            "set grid back lc rgb '#dddddd'\nunset key\nset xlabel '%s'\nset ylabel '%s %s'\n%s"
            "plot $data using 1:2 with %s\n",
            a->counted, a->rank ? "components" : "vertices", how[a->picture], pictures[a->picture].style,
            pictures[a->picture].of);
}

int graph_draw(const graph_task *t)
{
    double *value = calloc(t->vertices + 1, sizeof *value);
    drawing d = {.algorithm = t->algorithm, .value = value};
    if (!value) return cli_fail(t->cli, "%s: out of memory for the picture", graph_given.plot);
    if (t->algorithm->rank) t->algorithm->rank(value, t);
    for (uint64_t v = 0; v < t->vertices; v++) {
        const double number = t->algorithm->rank ? value[v] : graph_number(t, 0, v);
        if (isfinite(number) && (number > 0 || !t->algorithm->rank)) value[d.count++] = number;
    }
    qsort(value, d.count, sizeof *value, cli_compare_doubles);
    int status =
        d.count ? cli_plot(t->cli, graph_given.plot, write_script, &d)
                : cli_fail(t->cli, "%s: there is nothing to draw: no vertex has an answer that is finite",
                           graph_given.plot);
    free(value);
    return status;
}
