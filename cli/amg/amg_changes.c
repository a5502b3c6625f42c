/* amg_changes.c: `dcsr amg --changes`. A file of steps: lines `row column value`, counted from 1, or `row column`
 * for an entry that is removed, one after the other; steps are separated by empty lines; lines that begin with % are
 * skipped. */
#include "cli/amg/cmd_amg.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The lines of one step: an entry is set, or removed. */
typedef struct step {
    uint64_t *rows, *cols;
    double *values;
    bool *removes;
    uint64_t count, room;
} step;

static bool add(step *to, uint64_t row, uint64_t col, double value, bool removes)
{
    if (to->count == to->room) {
        uint64_t room = to->room ? 2 * to->room : 64;
        uint64_t *rows = realloc(to->rows, room * sizeof *rows);
        if (rows) to->rows = rows;
        uint64_t *cols = realloc(to->cols, room * sizeof *cols);
        if (cols) to->cols = cols;
        double *values = realloc(to->values, room * sizeof *values);
        if (values) to->values = values;
        bool *flags = realloc(to->removes, room * sizeof *flags);
        if (flags) to->removes = flags;
        if (!rows || !cols || !values || !flags) return false;
        to->room = room;
    }
    to->rows[to->count] = row;
    to->cols[to->count] = col;
    to->values[to->count] = value;
    to->removes[to->count++] = removes;
    return true;
}

static void free_step(step *s)
{
    free(s->rows);
    free(s->cols);
    free(s->values);
    free(s->removes);
}

/* Lines that do the same are applied together. */
static dcsr_status apply(cli_amg_system *system, const step *s)
{
    dcsr_status status = DCSR_OK;
    for (uint64_t begin = 0, end; begin < s->count && !status; begin = end) {
        for (end = begin + 1; end < s->count && s->removes[end] == s->removes[begin];) end++;
        const uint64_t n = end - begin, *rows = s->rows + begin, *cols = s->cols + begin;
        status = s->removes[begin] ? cli_amg_remove(system, n, rows, cols)
                                   : cli_amg_insert(system, n, rows, cols, s->values + begin);
    }
    return status;
}

typedef struct reader {
    cli_state *cli;
    const char *name;
    FILE *file;
    char *line;
    size_t room;
    uint64_t number, rows; /* of the line; of the matrix */
} reader;

/* An index from 1 to rows, behind blanks; *text goes on behind it. */
static bool take_index(const reader *r, char **text, uint64_t *index)
{
    char *end;
    while (**text == ' ' || **text == '\t') (*text)++;
    if (!isdigit((unsigned char)**text)) return false;
    errno = 0;
    unsigned long long value = strtoull(*text, &end, 10);
    if (errno || !value || value > r->rows || (*end && !isspace((unsigned char)*end))) return false;
    *index = value - 1;
    *text = end;
    return true;
}

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n")] == 0;
}

static int take_line(const reader *r, step *s)
{
    uint64_t row, col;
    char *text = r->line, *end;
    if (!take_index(r, &text, &row) || !take_index(r, &text, &col))
        return cli_fail(r->cli, "%s:%llu: a row and a column from 1 to %llu are wanted, and a value or none",
                        r->name, (unsigned long long)r->number, (unsigned long long)r->rows);
    double value = 0;
    bool removed = is_blank(text);
    if (!removed) {
        value = strtod(text, &end);
        if (end == text || !is_blank(end))
            return cli_fail(r->cli, "%s:%llu: the value is no number", r->name,
                            (unsigned long long)r->number);
    }
    if (!add(s, row, col, value, removed))
        return cli_fail(r->cli, "%s: there is no memory for a step of it", r->name);
    return CLI_DONE;
}

/* The next step; of no entries at the end of the file. */
static int read_step(reader *r, step *s)
{
    s->count = 0;
    errno = 0;
    while (getline(&r->line, &r->room, r->file) > 0) {
        r->number++;
        if (*r->line == '%') continue;
        if (is_blank(r->line) && !s->count) continue;
        if (is_blank(r->line)) return CLI_DONE;
        int status = take_line(r, s);
        if (status) return status;
    }
    return ferror(r->file) ? cli_fail(r->cli, "%s: %s", r->name, strerror(errno)) : CLI_DONE;
}

/* Applies a step, lets the levels follow it, and solves. */
static int take_step(cli_amg_changes *changes, cli_amg_system *system, const step *s, dcsr_dense *x,
                     const dcsr_dense *b)
{
    cli_state *cli = system->cli;
    cli_amg_step *done = realloc(changes->step, (changes->count + 1) * sizeof *done);
    if (!done) return cli_fail(cli, "%s: there is no memory for another step", changes->file);
    changes->step = done;
    done += changes->count;
    if (apply(system, s) || cli_amg_update(system, &done->update))
        return cli_fail_because(cli, "%s: step %zu: %s", changes->file, changes->count + 1,
                                dcsr_thread_error());
    memset(x->values, 0, x->rows * sizeof *x->values);
    if (cli_amg_solve(system, x, b, &done->solve)) return cli_fail_library(cli);
    changes->count++;
    if (done->solve.outcome == DCSR_AMG_CONVERGED) return CLI_DONE;
    return cli_fail(cli, "%s: step %zu: %s after %llu iterations, residual %.3e", changes->file,
                    changes->count, dcsr_amg_outcome_text(done->solve.outcome),
                    (unsigned long long)done->solve.iterations, done->solve.residual);
}

int cli_amg_changes_follow(cli_amg_changes *changes, cli_amg_system *system, dcsr_dense *x,
                           const dcsr_dense *b)
{
    cli_state *cli = system->cli;
    step s = {0};
    if (!changes->file) return CLI_DONE;
    reader r = {.cli = cli, .name = changes->file, .rows = system->rows, .file = fopen(changes->file, "r")};
    if (!r.file) return cli_fail(cli, "%s: %s", changes->file, strerror(errno));
    int status;
    while (!(status = read_step(&r, &s)) && s.count) {
        cli_progress(cli, "step %zu", changes->count + 1);
        status = take_step(changes, system, &s, x, b);
        if (status) break;
    }
    cli_progress_end(cli);
    free_step(&s);
    free(r.line);
    fclose(r.file);
    return status;
}

void cli_amg_changes_put(cli_report *report, const cli_amg_changes *changes)
{
    if (!changes->file) return;
    cli_put_list(report, "steps");
    cli_put_line(report, NULL, "step  %12s %12s %10s %10s    residual", "rows changed", "touched", "setup",
                 "iterations");
    for (size_t k = 0; k < changes->count; k++) {
        const cli_amg_step *s = &changes->step[k];
        char changed[CLI_NUMBER], touched[CLI_NUMBER], time[CLI_NUMBER];
        cli_begin_item(report, "steps");
        cli_put_count(report, "rows_changed", NULL, s->update.rows_changed);
        cli_put_count(report, "rows_touched", NULL, s->update.rows_touched);
        cli_put_seconds(report, "setup_seconds", NULL, s->update.seconds);
        cli_put_count(report, "iterations", NULL, s->solve.iterations);
        cli_put_real(report, "residual", NULL, s->solve.residual, "");
        if (s->update.why) cli_put_text(report, "set_up_because", NULL, s->update.why);
        cli_end_item(report);
        cli_put_line(report, NULL, "%4zu  %12s %12s %10s %10llu %11.3e%s%s", k + 1,
                     cli_grouped(changed, s->update.rows_changed),
                     cli_grouped(touched, s->update.rows_touched), cli_duration(time, s->update.seconds),
                     (unsigned long long)s->solve.iterations, s->solve.residual,
                     s->update.why ? "  set up: " : "", s->update.why ? s->update.why : "");
    }
}

void cli_amg_changes_free(cli_amg_changes *changes)
{
    free(changes->step);
    changes->step = NULL;
}
