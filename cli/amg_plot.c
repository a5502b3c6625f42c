/* amg_plot.c: one picture of the levels and the residuals, drawn by gnuplot.
 *
 * gnuplot reads a script with the data in it, in a folder of its own, and leaves the picture there; that is then
 * written as all files are, so that a picture that was there stays if anything fails. */
#include "cli/cmd_amg.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_LINES = 8 }; /* residuals that are drawn; more would not be told apart */

static const cli_file_kind png = {"a PNG picture", ".png", "\x89PNG\r\n\x1a\n", 8};

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

static void put_data(FILE *script, const dcsr_amg *amg, uint64_t columns)
{
    dcsr_amg_level level;
    fprintf(script, "$levels << end\n");
    for (uint64_t l = 0; !dcsr_amg_get_level(amg, l, &level); l++)
        fprintf(script, "%llu %llu %llu %.9g %.9g %.9g %.9g %.9g %.9g\n", (unsigned long long)l,
                (unsigned long long)level.rows, (unsigned long long)level.nnz, level.share,
                level.smoother_seconds, level.strength_seconds, level.aggregate_seconds,
                level.prolongator_seconds, level.product_seconds);
    fprintf(script, "end\n$residuals << end\n");
    for (uint64_t c = 0; c < columns; c++) {
        uint64_t count;
        const double *residuals;
        if (dcsr_amg_get_residuals(amg, c, &count, &residuals)) continue;
        for (uint64_t i = 0; i < count; i++)
            if (residuals[i] > 0) fprintf(script, "%llu %.9g\n", (unsigned long long)i, residuals[i]);
        fprintf(script, "\n\n");
    }
    fprintf(script, "end\ncolumns = %llu\n", (unsigned long long)columns);
}

/* Runs gnuplot quietly in the folder; its exit status, or 127 if it is not there. */
static int run_gnuplot(const char *folder, const char *argument)
{
    extern char **environ;
    char program[] = "gnuplot", text[64];
    char *const words[] = {program, text, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = 127 << 8;
    snprintf(text, sizeof text, "%s", argument);
    if (posix_spawn_file_actions_init(&actions)) return 127;
    int failed = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (!failed) failed = posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    if (!failed && folder) failed = posix_spawn_file_actions_addchdir_np(&actions, folder);
    if (!failed && !posix_spawnp(&child, program, &actions, NULL, words, environ))
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    posix_spawn_file_actions_destroy(&actions);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int cli_amg_check_plot(cli_state *cli, const char *path)
{
    int status = cli_check_target(cli, path, &png);
    if (!status && run_gnuplot(NULL, "--version"))
        status = cli_fail(cli, "--plot needs gnuplot; install it (on Debian: apt-get install gnuplot-nox)");
    return status;
}

/* All of a file, allocated; NULL if it cannot be read. */
static char *read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    char *bytes = NULL;
    if (!file) return NULL;
    if (!fseek(file, 0, SEEK_END)) {
        long size = ftell(file);
        rewind(file);
        if (size > 0) bytes = malloc((size_t)size);
        *length = bytes ? fread(bytes, 1, (size_t)size, file) : 0;
    }
    fclose(file);
    return bytes;
}

static int draw(cli_state *cli, const char *folder, const char *script_path, const char *picture_path,
                const char *path)
{
    size_t length = 0;
    int failed = run_gnuplot(folder, "script.gp");
    char *bytes = failed ? NULL : read_file(picture_path, &length);
    int status = CLI_DONE;
    if (!bytes || length < png.magic_length || memcmp(bytes, png.magic, png.magic_length))
        status = cli_fail(cli, "%s: gnuplot drew nothing (exit status %d); it needs the terminal pngcairo",
                          path, failed);
    else if (dcsr_file_write(cli->context, path, bytes, length))
        status = cli_fail_library(cli);
    free(bytes);
    unlink(picture_path);
    unlink(script_path);
    return status;
}

int cli_amg_plot(cli_state *cli, const dcsr_amg *amg, uint64_t columns, const char *path)
{
    const char *temporary = getenv("TMPDIR");
    char folder[400], script_path[420], picture_path[420];
    snprintf(folder, sizeof folder, "%s/dcsr-plot-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(folder)) return cli_fail(cli, "%s: cannot be made: %s; set TMPDIR", folder, strerror(errno));
    snprintf(script_path, sizeof script_path, "%s/script.gp", folder);
    snprintf(picture_path, sizeof picture_path, "%s/picture.png", folder);
    FILE *script = fopen(script_path, "w");
    int status = CLI_DONE;
    if (script) {
        put_data(script, amg, columns < MOST_LINES ? columns : MOST_LINES);
        fputs(layout, script);
    }
    if (!script || ferror(script) | fclose(script)) {
        status = cli_fail(cli, "%s: cannot be written: %s; set TMPDIR", script_path, strerror(errno));
        unlink(script_path);
    }
    if (!status) status = draw(cli, folder, script_path, picture_path, path);
    rmdir(folder);
    return status;
}
