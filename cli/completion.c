/* completion.c: what bash and zsh complete the words of dcsr by, from the definitions of the commands;
 * `dcsr help --completion` prints it. */
#include "cli/cli.h"
#include <string.h>

/* What a word of cli_command.arguments, or the value of an option, is. */
typedef enum kind { ANYTHING, MATRICES, FILES, STORES, COMMANDS, CHOICES, LISTED } kind;

typedef struct word {
    char name[128]; /* without brackets and dots around it */
    kind kind;
    bool repeated;
} word;

static bool begins_with(const char *text, const char *beginning)
{
    return !strncmp(text, beginning, strlen(beginning));
}

/* `command` is NULL for an option's value. */
static word classify(const char *text, size_t length, const cli_command *command)
{
    word w = {.kind = ANYTHING};
    while (length && *text == '[') text++, length--;
    w.repeated = length > 3 && !memcmp(text + length - 3, "...", 3);
    if (w.repeated) length -= 3;
    while (length && text[length - 1] == ']' && !memchr(text, '[', length)) length--;
    snprintf(w.name, sizeof w.name, "%.*s", (int)length, text);
    if (begins_with(w.name, "MATRIX") || begins_with(w.name, "EDGES")) w.kind = MATRICES;
    if (begins_with(w.name, "FILE") || begins_with(w.name, "GRA")) w.kind = FILES; /* GRAMMAR, GRAPH */
    if (begins_with(w.name, "STORE") || begins_with(w.name, "FOLDER")) w.kind = STORES;
    if (begins_with(w.name, "COMMAND")) w.kind = COMMANDS;
    if (strchr(w.name, '|')) w.kind = CHOICES;
    if (command && command->choice) w.kind = LISTED;
    return w;
}

/* The next of a command's arguments; false behind the last. */
static bool next_argument(const char **rest, word *w, const cli_command *command)
{
    size_t length = strcspn(*rest, " ");
    if (!length) return false;
    *w = classify(*rest, length, command);
    *rest += length + ((*rest)[length] == ' ');
    return true;
}

/* Names, with a blank between them, and such a text for the colons in them. */
static void put_names(FILE *out, const word *w, const cli_command *command, const char *colon)
{
    const char *choice;
    size_t length;
    if (w->kind == COMMANDS)
        for (int c = 0; cli_commands[c]; c++) fprintf(out, "%s%s", c ? " " : "", cli_commands[c]->name);
    if (w->kind == CHOICES)
        for (const char *rest = w->name; (choice = cli_choice(&rest, &length));) {
            if (choice != w->name) fputc(' ', out);
            for (size_t i = 0; i < length; i++)
                fputs(choice[i] == ':' ? colon : (char[]){choice[i], '\0'}, out);
        }
    if (w->kind == LISTED)
        for (int i = 0; (choice = command->choice(i)); i++) fprintf(out, "%s%s", i ? " " : "", choice);
}

static void put_generators(FILE *out)
{
    const dcsr_generator *g;
    for (uint64_t i = 0; (g = dcsr_generator_at(i)); i++) fprintf(out, "%s%s:", i ? " " : "", g->name);
}

/* ---- bash ---- */

static void put_bash_word(FILE *out, const word *w, const cli_command *command)
{
    static const char *const functions[] = {[ANYTHING] = ":",
                                            [MATRICES] = "_dcsr_matrices",
                                            [FILES] = "_dcsr_files",
                                            [STORES] = "_dcsr_files -d"};
    if (w->kind <= STORES) {
        fprintf(out, "%s ;;\n", functions[w->kind]);
        return;
    }
    fputs("_dcsr_words '", out);
    put_names(out, w, command, ":");
    fputs("' ;;\n", out);
}

/* Values of options: "COMMAND,--OPTION)". */
static void put_bash_values(FILE *out, const struct argp_option *options, const char *command)
{
    for (const struct argp_option *o = options; o && !cli_is_last_option(o); o++) {
        if (!o->name || !o->arg) continue;
        word w = classify(o->arg, strlen(o->arg), NULL);
        fprintf(out, "    %s,--%s) ", command, o->name);
        put_bash_word(out, &w, NULL);
    }
}

static void put_bash_options(FILE *out, const struct argp_option *options)
{
    for (const struct argp_option *o = options; o && !cli_is_last_option(o); o++)
        if (o->name) fprintf(out, " --%s", o->name);
}

/* Whatever stands where: the kinds of a command's arguments do not contradict one another. */
static void put_bash_arguments(FILE *out, const cli_command *command)
{
    const char *rest = command->arguments;
    word w, first = {.kind = ANYTHING};
    while (next_argument(&rest, &w, command))
        if (first.kind == ANYTHING || w.kind == MATRICES || (first.kind == STORES && w.kind == FILES))
            first = w;
    fprintf(out, "    %s,*) ", command->name);
    put_bash_word(out, &first, command);
}

void cli_write_bash_completion(FILE *out)
{
    const word names = {.kind = COMMANDS};
    fputs("# Completion of dcsr in bash, made by `dcsr help --completion bash`.\n"
          "_dcsr_words()\n{\n    mapfile -O ${#COMPREPLY[@]} -t COMPREPLY < <(compgen -W \"$1\" -- "
          "\"$cur\")\n}\n"
          "_dcsr_files()\n{\n    compopt -o filenames 2>/dev/null\n"
          "    mapfile -O ${#COMPREPLY[@]} -t COMPREPLY < <(compgen \"${1:--f}\" -- \"$cur\")\n}\n"
          "_dcsr_matrices()\n{\n    _dcsr_words '",
          out);
    put_generators(out);
    fputs(
        "'\n    if ((${#COMPREPLY[@]})); then compopt -o nospace 2>/dev/null; fi\n"
        "    mapfile -O ${#COMPREPLY[@]} -t COMPREPLY < <(compgen -f -- \"$cur\")\n}\n"
        "_dcsr()\n{\n"
        "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command='' options='' i\n"
        "    COMPREPLY=()\n"
        "    # '=' and ':' are words of their own.\n"
        "    if [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD - 2]}; fi\n"
        "    if [[ $cur == = ]]; then cur=''; fi\n"
        "    if [[ $cur == : || $prev == : ]]; then return; fi\n"
        "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
        "        case ${COMP_WORDS[i]} in\n",
        out);
    for (const struct argp_option *o = cli_common_options; !cli_is_last_option(o); o++)
        if (o->name && o->arg)
            fprintf(
                out,
                "        --%s) if [[ ${COMP_WORDS[i + 1]} == = ]]; then ((i += 2)); else ((i++)); fi ;;\n",
                o->name);
    fputs("        -*) ;;\n        *) command=${COMP_WORDS[i]}; break ;;\n        esac\n    done\n"
          "    case $command in\n",
          out);
    for (int c = 0; cli_commands[c]; c++) {
        if (!cli_commands[c]->options) continue;
        fprintf(out, "    %s) options='", cli_commands[c]->name);
        put_bash_options(out, cli_commands[c]->options);
        fputs("' ;;\n", out);
    }
    fputs("    esac\n    if [[ $cur == -* ]]; then\n        _dcsr_words \"$options", out);
    put_bash_options(out, cli_common_options);
    fputs("\"\n        return\n    fi\n    case $command,$prev in\n", out);
    put_bash_values(out, cli_common_options, "*");
    for (int c = 0; cli_commands[c]; c++)
        put_bash_values(out, cli_commands[c]->options, cli_commands[c]->name);
    for (int c = 0; cli_commands[c]; c++) put_bash_arguments(out, cli_commands[c]);
    fputs("    ,*) ", out);
    put_bash_word(out, &names, NULL);
    fputs("    esac\n}\ncomplete -F _dcsr dcsr\n", out);
}

/* ---- zsh ---- */

/* Within '...', as a description in brackets or before a colon. */
static void put_zsh_text(FILE *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (strchr("[]:\\", *c)) fputc('\\', out);
        fputs(*c == '\'' ? "'\\''" : (char[]){*c, '\0'}, out);
    }
}

/* ":what it is called:how it is completed" */
static void put_zsh_word(FILE *out, const word *w, const cli_command *command)
{
    static const char *const functions[] = {
        [ANYTHING] = " ", [MATRICES] = "_dcsr_matrices", [FILES] = "_files", [STORES] = "_files -/"};
    fputc(':', out);
    put_zsh_text(out, w->kind == CHOICES ? "value" : w->name);
    fputc(':', out);
    if (w->kind <= STORES) {
        fputs(functions[w->kind], out);
        return;
    }
    fputc('(', out);
    put_names(out, w, command, "\\:");
    fputc(')', out);
}

static void put_zsh_options(FILE *out, const struct argp_option *options)
{
    for (const struct argp_option *o = options; o && !cli_is_last_option(o); o++) {
        if (!o->name) continue;
        fprintf(out, " \\\n        '--%s%s[", o->name, o->arg ? "=" : "");
        put_zsh_text(out, o->doc);
        fputc(']', out);
        if (o->arg) {
            word w = classify(o->arg, strlen(o->arg), NULL);
            put_zsh_word(out, &w, NULL);
        }
        fputc('\'', out);
    }
}

static void put_zsh_command(FILE *out, const cli_command *command)
{
    const char *rest = command->arguments;
    word w;
    fprintf(out, "    %s) _arguments $common", command->name);
    put_zsh_options(out, command->options);
    for (int n = 1; next_argument(&rest, &w, command); n++) {
        if (w.repeated)
            fputs(" \\\n        '*", out);
        else
            fprintf(out, " \\\n        '%d", n);
        put_zsh_word(out, &w, command);
        fputc('\'', out);
    }
    fputs(" ;;\n", out);
}

void cli_write_zsh_completion(FILE *out)
{
    fputs("#compdef dcsr\n# Completion of dcsr in zsh, made by `dcsr help --completion zsh`.\n"
          "_dcsr_matrices() {\n    compadd -S '' -- ",
          out);
    put_generators(out);
    fputs("\n    _files\n}\n_dcsr() {\n    local curcontext=$curcontext state line\n    local -a common "
          "commands\n"
          "    common=(",
          out);
    put_zsh_options(out, cli_common_options);
    fputs("\n    )\n    commands=(\n", out);
    for (int c = 0; cli_commands[c]; c++) {
        fprintf(out, "        '%s:", cli_commands[c]->name);
        put_zsh_text(out, cli_commands[c]->summary);
        fputs("'\n", out);
    }
    fputs("    )\n    _arguments -C $common '1:command:->command' '*::argument:->argument'\n"
          "    if [[ $state == command ]]; then _describe command commands; return; fi\n"
          "    case $words[1] in\n",
          out);
    for (int c = 0; cli_commands[c]; c++) put_zsh_command(out, cli_commands[c]);
    fputs("    esac\n}\n_dcsr \"$@\"\n", out);
}
