/* plot.c: a picture that gnuplot draws.
 *
 * gnuplot reads a script with the data in it, in a folder of its own, and leaves the picture there; that is then
 * written as all files are, so that a picture that was there stays if anything fails. SIGINT and SIGTERM end gnuplot
 * first, and then, with the folder removed, the program. */
#include "cli/cli.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const cli_file_kind png = {"a PNG picture", ".png", "\x89PNG\r\n\x1a\n", 8};

/* ---- Signals ---- */

static const int stops[] = {SIGINT, SIGTERM};
enum { STOPS = sizeof stops / sizeof *stops };

static volatile sig_atomic_t stopped; /* the signal */
static volatile pid_t drawing;        /* gnuplot, while it runs; 0: it does not */

static void stop(int number)
{
    stopped = number;
    if (drawing > 0) kill(drawing, SIGTERM);
}

/* From here to stops_end() they are noted; who has one ignored wants no end. */
static void stops_begin(struct sigaction before[STOPS])
{
    for (int i = 0; i < STOPS; i++)
        if (!sigaction(stops[i], NULL, &before[i]) && before[i].sa_handler != SIG_IGN)
            sigaction(stops[i], &(struct sigaction){.sa_handler = stop, .sa_flags = SA_RESTART}, NULL);
}

static void stops_end(const struct sigaction before[STOPS])
{
    for (int i = 0; i < STOPS; i++) sigaction(stops[i], &before[i], NULL);
    if (stopped) raise(stopped);
}

/* ---- Drawing ---- */

/* Its exit status; while it can be signalled it has not been waited for. */
static int wait_for(pid_t child)
{
    siginfo_t ended;
    int status = 0;
    drawing = child;
    if (stopped) kill(child, SIGTERM);
    while (waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT) && errno == EINTR) continue;
    drawing = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return status;
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
    if (!failed && !posix_spawnp(&child, program, &actions, NULL, words, environ)) status = wait_for(child);
    posix_spawn_file_actions_destroy(&actions);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int cli_plot_check(cli_state *cli, const char *path)
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
    if (stopped)
        status = CLI_FAILED; /* the signal says it */
    else if (!bytes || length < png.magic_length || memcmp(bytes, png.magic, png.magic_length))
        status = cli_fail(cli, "%s: gnuplot drew nothing (exit status %d); it needs the terminal pngcairo",
                          path, failed);
    else if (dcsr_file_write(cli->context, path, bytes, length))
        status = cli_fail_library(cli);
    free(bytes);
    unlink(picture_path);
    unlink(script_path);
    return status;
}

static int draw_in_folder(cli_state *cli, const char *path, cli_plot_script *write, const void *user)
{
    const char *temporary = getenv("TMPDIR");
    char folder[400], script_path[420], picture_path[420];
    snprintf(folder, sizeof folder, "%s/dcsr-plot-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(folder)) return cli_fail(cli, "%s: cannot be made: %s; set TMPDIR", folder, strerror(errno));
    snprintf(script_path, sizeof script_path, "%s/script.gp", folder);
    snprintf(picture_path, sizeof picture_path, "%s/picture.png", folder);
    FILE *script = fopen(script_path, "w");
    int status = CLI_DONE;
    if (script) write(script, user);
    if (!script || ferror(script) | fclose(script)) {
        status = cli_fail(cli, "%s: cannot be written: %s; set TMPDIR", script_path, strerror(errno));
        unlink(script_path);
    }
    if (!status) status = draw(cli, folder, script_path, picture_path, path);
    rmdir(folder);
    return status;
}

int cli_plot(cli_state *cli, const char *path, cli_plot_script *write, const void *user)
{
    struct sigaction before[STOPS];
    stops_begin(before);
    const int status = draw_in_folder(cli, path, write, user);
    stops_end(before);
    return status;
}
