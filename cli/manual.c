/* manual.c: the manual page dcsr(1), from the definitions of the commands; `dcsr help --manual` prints it. */
#include "cli/cli.h"
#include <stdlib.h>
#include <string.h>

/* Text on the line that has been begun, as roff reads it: no character means anything but itself. */
static void put(FILE *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\\')
            fputs("\\e", out);
        else if (text[i] == '-')
            fputs("\\-", out);
        else
            fputc(text[i], out);
    }
}

/* Lines that are filled; those that begin with blanks stand as they are, and paragraphs are set apart. */
static void put_text(FILE *out, const char *text)
{
    bool example = false, gap = false;
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        bool indented = !strncmp(line, "  ", 2);
        if (example != indented) fputs(indented ? ".RS 2\n.nf\n" : ".fi\n.RE\n", out);
        if (gap && !indented && length) fputs(".PP\n", out);
        if (length) {
            fputs("\\&", out);
            put(out, line + (indented ? 2 : 0), length - (indented ? 2 : 0));
            fputc('\n', out);
        }
        example = indented;
        gap = !length;
        line += length + (line[length] == '\n');
    }
    if (example) fputs(".fi\n.RE\n", out);
}

/* Alternatives, "a|b|c", between which a line may break. */
static void put_alternatives(FILE *out, const char *text)
{
    for (size_t length; *text; text += length) {
        length = strcspn(text, "|");
        length += text[length] == '|';
        put(out, text, length);
        if (text[length]) fputs("\\:", out);
    }
}

static void put_options(FILE *out, const struct argp_option *options)
{
    for (const struct argp_option *o = options; o && !cli_is_last_option(o); o++) {
        if (!o->name) continue;
        fputs(".TP\n", out);
        if (o->key > ' ' && o->key < 0x7f) fprintf(out, "\\fB\\-%c\\fR, ", o->key);
        fputs("\\fB\\-\\-", out);
        put(out, o->name, strlen(o->name));
        fputs("\\fR", out);
        if (o->arg) {
            fputs("=\\fI", out);
            put_alternatives(out, o->arg);
            fputs("\\fR", out);
        }
        fputc('\n', out);
        put_text(out, o->doc);
    }
}

static void put_command(FILE *out, const cli_command *command)
{
    fprintf(out, ".SS dcsr %s ", command->name);
    if (command->options) fputs("[OPTION...] ", out);
    put(out, command->arguments, strlen(command->arguments));
    fputc('\n', out);
    put_text(out, command->summary);
    put_options(out, command->options);
    fputs(".PP\n", out);
    put_text(out, command->help);
}

void cli_write_manual(FILE *out)
{
    char *matrices = cli_describe_matrices();
    fprintf(out, ".TH DCSR 1 \"\" \"dcsr %s\" \"User Commands\"\n.SH NAME\ndcsr \\- ", dcsr_version());
    put(out, cli_about, strlen(cli_about));
    fputc('\n', out);
    fputs(".SH SYNOPSIS\n\\fBdcsr\\fR [\\fIOPTION\\fR...] \\fICOMMAND\\fR [\\fIARGUMENT\\fR...]\n.SH "
          "DESCRIPTION\n",
          out);
    put_text(out, matrices ? matrices : "");
    fputs(".SH OPTIONS OF ALL COMMANDS\n", out);
    put_options(out, cli_common_options);
    fputs(".SH COMMANDS\n.ad l\n", out); /* names of options are too long to fill lines */
    for (int c = 0; cli_commands[c]; c++) put_command(out, cli_commands[c]);
    fputs(".SH EXIT STATUS\n", out);
    put_text(out, cli_exit_statuses);
    free(matrices);
}
