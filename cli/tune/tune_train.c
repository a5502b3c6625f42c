/* tune_train.c: trains by a script for Python and scikit-learn, which is part of the program. */
#include "cli/tune/tune.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__asm__(".section .rodata\n"
        "train_script:\n"
        ".incbin \"cli/tune/train.py\"\n"
        "train_script_end:\n"
        ".previous\n");
extern const char train_script[], train_script_end[];

enum { PATH = 4200, NUMBER = 24, LINE = 400 };

/* Runs Python with these arguments (NULL at the end), the script as its input; its exit status, or -1. What it
 * says on stderr goes to the file, which is emptied first. */
static int run_python(const char *const *arguments, const char *text, size_t length, FILE *errors)
{
    int ends[2];
    if (pipe(ends)) return -1;
    fflush(stdout);
    if (!ftruncate(fileno(errors), 0)) rewind(errors);
    const pid_t child = fork();
    if (!child) {
        dup2(ends[0], STDIN_FILENO);
        dup2(fileno(errors), STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        execvp(arguments[0], (char *const *)(uintptr_t)arguments);
        _exit(127);
    }
    close(ends[0]);
    /* Of a child that has gone the end status tells. */
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    for (size_t done = 0; child > 0 && done < length;) {
        const ssize_t n = write(ends[1], text + done, length - done);
        if (n < 0 && errno != EINTR) break;
        if (n > 0) done += (size_t)n;
    }
    close(ends[1]);
    signal(SIGPIPE, before);
    int status = -1;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A Python that has scikit-learn: DCSR_PYTHON, or what is found; NULL: there is none. */
static const char *find_python(FILE *errors)
{
    const char *const tried[] = {getenv("DCSR_PYTHON"), "python3", "/usr/bin/python3"};
    static const char look[] =
        "import importlib.util, sys\nsys.exit(not importlib.util.find_spec('sklearn'))\n";
    for (size_t k = 0; k < sizeof tried / sizeof *tried; k++)
        if (tried[k] &&
            !run_python((const char *const[]){tried[k], "-", NULL}, look, sizeof look - 1, errors))
            return tried[k];
    return NULL;
}

/* The last line of what Python said. */
static void read_reason(char line[LINE], FILE *errors)
{
    char next[LINE];
    strcpy(line, "Python could not be run");
    rewind(errors);
    while (fgets(next, sizeof next, errors))
        if (*next != '\n') strcpy(line, next);
    line[strcspn(line, "\n")] = 0;
}

static int train(cli_state *cli, const char *const *tables, const char *model, bool report, uint64_t seed,
                 FILE *errors)
{
    char made[64], number[NUMBER], reason[LINE];
    const char *python = find_python(errors);
    if (!python)
        return cli_fail(
            cli,
            "training needs Python with scikit-learn (on Debian: apt-get install python3-sklearn; "
            "DCSR_PYTHON names another Python); what was measured is kept in %s",
            tables[0]);
    snprintf(made, sizeof made, "dcsr %s", dcsr_version());
    snprintf(number, sizeof number, "%llu", (unsigned long long)seed);
    const char *arguments[TUNE_TABLES + 16] = {python, "-", "--made", made, "--seed", number};
    int n = 6;
    if (model) arguments[n++] = "--model", arguments[n++] = model;
    if (report) arguments[n++] = "--report";
    if (report && cli->json) arguments[n++] = "--json";
    arguments[n++] = "--";
    for (int t = 0; tables[t]; t++) arguments[n++] = tables[t];
    cli_progress(cli, "training");
    const int status = run_python(arguments, train_script, (size_t)(train_script_end - train_script), errors);
    cli_progress_end(cli);
    read_reason(reason, errors);
    return status ? cli_fail(cli, "%s: no model was trained on it: %s", tables[0], reason) : CLI_DONE;
}

int tune_train(cli_state *cli, const char *const *tables, const char *path, bool report, uint64_t seed)
{
    char trained[PATH];
    dcsr_model_info info;
    FILE *errors = tmpfile();
    if (!errors) return cli_fail(cli, "a temporary file cannot be made: %s", strerror(errno));
    snprintf(trained, sizeof trained, "%s.new", path ? path : "");
    int status = train(cli, tables, path ? trained : NULL, report, seed, errors);
    fclose(errors);
    if (status || !path) return status;
    if (dcsr_model_check(&info, cli->context, trained))
        status = cli_fail_library(cli);
    else if (rename(trained, path))
        status = cli_fail(cli, "%s: cannot be made: %s", path, strerror(errno));
    if (status) unlink(trained);
    return status;
}
