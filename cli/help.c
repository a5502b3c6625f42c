/* help.c: what `dcsr --help` and `dcsr COMMAND --help` print. */
#include "cli/cli.h"
#include <stdlib.h>

const char cli_about[] = "Dynamic sparse matrices: matrices that grow and change while they are read.";
const char cli_exit_statuses[] =
    "0 done, 1 failed, 2 wrong usage; 130 and 143 interrupted (SIGINT, SIGTERM).";

static const struct argp common = {.options = cli_common_options};
static const struct argp_child children[] = {{&common, 0, NULL, 100}, {0}};

char *cli_describe_matrices(void)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    if (!stream) return NULL;
    fputs("A MATRIX is a file (.mtx, or an edge list .el .tsv .csv .txt .facts with ids from 0, each also "
          ".gz or .zst; - is standard input), a "
          "stored matrix STORE#NAME[@VERSION|@live], or a generator:",
          stream);
    const dcsr_generator *generator;
    for (uint64_t g = 0; (generator = dcsr_generator_at(g)); g++)
        fprintf(stream, "%s %s:%s", g ? "," : "", generator->name, generator->numbers);
    fputc('.', stream);
    return fclose(stream) ? free(text), NULL : text;
}

/* "Commands:" and what each does. */
static char *list_commands(void)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    if (!stream) return NULL;
    for (int c = 0; cli_commands[c]; c++)
        fprintf(stream, "  %-9s %s\n", cli_commands[c]->name, cli_commands[c]->summary);
    return fclose(stream) ? free(text), NULL : text;
}

static char *describe_program(void)
{
    char *commands = list_commands(), *matrices = cli_describe_matrices(), *doc = NULL;
    if (commands && matrices &&
        asprintf(&doc, "%s\vCommands:\n%s\n%s\n\nExit status: %s\n\n'dcsr help COMMAND' explains a command.",
                 cli_about, commands, matrices, cli_exit_statuses) < 0)
        doc = NULL;
    free(matrices);
    free(commands);
    return doc;
}

static char *describe_command(const cli_command *command)
{
    char *doc;
    return asprintf(&doc, "%s\v%s", command->summary, command->help) < 0 ? NULL : doc;
}

int cli_show_help(cli_state *cli, const cli_command *command)
{
    char name[64] = "dcsr", *doc = command ? describe_command(command) : describe_program();
    if (!doc) return cli_fail(cli, "out of memory");
    struct argp argp = {.options = command ? command->options : NULL,
                        .args_doc = command ? command->arguments : "COMMAND [ARGUMENT...]",
                        .doc = doc,
                        .children = children};
    if (command) snprintf(name, sizeof name, "dcsr %s", command->name);
    argp_help(&argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, name);
    free(doc);
    return cli_flush(cli);
}
