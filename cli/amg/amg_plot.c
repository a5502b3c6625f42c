/* amg_plot.c: one picture of the levels and the residuals, drawn by gnuplot. */
#include "cli/amg/cmd_amg.h"

enum { MOST_LINES = 8 }; /* residuals that are drawn; more would not be told apart */

static const char layout[] =
    "set terminal pngcairo size 1200,800 font ',11'\n"
    "set output 'picture.png'\n"
    "set multiplot layout 2,2\n"
    "set grid back lc rgb '#dddddd'\n"
    "set style fill solid 0.85 border rgb '#444444'\n"
    "set style data histograms\n"
    "set style histogram clustered gap 1\n"
    "set key noenhanced top right\n"
    "set xlabel 'level'\n"
    "set title 'rows and entries'\n"
    "set logscale y\n"
    "set format y '10^{%T}'\n"
    "set yrange [1:*]\n"
    "plot $levels using 2:xtic(1) title 'rows', '' using 3 title 'entries'\n"
    "unset logscale y\n"
    "set format y '%g'\n"
    "set yrange [0:100]\n"
    "set title 'share of all entries, percent'\n"
    "plot $levels using (100 * $4):xtic(1) notitle, '' using 0:(100 * $4):(sprintf('%.1f', 100 * $4)) "
    "with labels offset 0,0.7 notitle\n"
    "set yrange [0:*]\n"
    "set style histogram rowstacked\n"
    "set boxwidth 0.6 relative\n"
    "set title 'setup, seconds'\n"
    "plot $levels using 5:xtic(1) title 'smoother', '' using 6 title 'strength', '' using 7 title "
    "'aggregates', "
    "'' using 8 title 'prolongator', '' using 9 title 'products'\n"
    "set title 'residual, relative to b'\n"
    "set xlabel 'iteration'\n"
    "set logscale y\n"
    "set format y '10^{%T}'\n"
    "set autoscale y\n"
    "set xtics auto\n"
    "plot for [c = 0:columns - 1] $residuals index c using 1:2 with linespoints pt 7 ps 0.6 title "
    "columns > 1 ? sprintf('column %d', c + 1) : 'b'\n"
    "unset multiplot\n";

typedef struct drawing {
    const cli_amg_system *system;
    uint64_t columns;
} drawing;

static void put_data(FILE *script, const cli_amg_system *s, uint64_t columns)
{
    dcsr_amg_level level;
    fprintf(script, "$levels << end\n");
    for (uint64_t l = 0; !cli_amg_get_level(s, l, &level); l++)
        fprintf(script, "%llu %llu %llu %.9g %.9g %.9g %.9g %.9g %.9g\n", (unsigned long long)l,
                (unsigned long long)level.rows, (unsigned long long)level.nnz, level.share,
                level.smoother_seconds, level.strength_seconds, level.aggregate_seconds,
                level.prolongator_seconds, level.product_seconds);
    fprintf(script, "end\n$residuals << end\n");
    for (uint64_t c = 0; c < columns; c++) {
        uint64_t count;
        const double *residuals;
        if (cli_amg_get_residuals(s, c, &count, &residuals)) continue;
        for (uint64_t i = 0; i < count; i++)
            if (residuals[i] > 0) fprintf(script, "%llu %.9g\n", (unsigned long long)i, residuals[i]);
        fprintf(script, "\n\n");
    }
    fprintf(script, "end\ncolumns = %llu\n", (unsigned long long)columns);
}

static void write_script(FILE *script, const void *user)
{
    const drawing *d = user;
    put_data(script, d->system, d->columns < MOST_LINES ? d->columns : MOST_LINES);
    fputs(layout, script);
}

int cli_amg_plot(const cli_amg_system *s, uint64_t columns, const char *path)
{
    return cli_plot(s->cli, path, write_script, &(drawing){s, columns});
}
