/* cmd_help.c: `dcsr help`: explains the commands, to people and to programs. */
#include "cli/cli.h"
#include <jansson.h>
#include <string.h>

enum { KEY_ALL = 1, KEY_MANUAL, KEY_COMPLETION };

static struct {
    bool all, manual;
    const char *shell; /* NULL: not given */
} settings;

static const struct argp_option options[] = {
    {"all", KEY_ALL, NULL, 0, "Explain all commands", 0},
    {"manual", KEY_MANUAL, NULL, 0, "Print the manual page, for man(1)", 0},
    {"completion", KEY_COMPLETION, "bash|zsh", 0, "Print what this shell completes the words of dcsr by", 0},
    {0}};

static error_t take(cli_state *cli, int key, const char *value)
{
    (void)cli;
    switch (key) {
    case KEY_ALL:
        settings.all = true;
        return 0;
    case KEY_MANUAL:
        settings.manual = true;
        return 0;
    case KEY_COMPLETION:
        settings.shell = value;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- As JSON ---- */

static json_t *describe_options(const struct argp_option *table)
{
    json_t *list = json_array();
    for (const struct argp_option *o = table; o && !cli_is_last_option(o); o++)
        if (o->name)
            json_array_append_new(
                list, json_pack("{s:s, s:s?, s:s}", "name", o->name, "value", o->arg, "help", o->doc));
    return list;
}

/* A list for each command is more than a cli_report has. */
static int print_json(cli_state *cli)
{
    json_t *commands = json_array();
    for (int c = 0; cli_commands[c]; c++) {
        const cli_command *command = cli_commands[c];
        json_array_append_new(commands,
                              json_pack("{s:s, s:s, s:s, s:s, s:o}", "name", command->name, "arguments",
                                        command->arguments, "summary", command->summary, "help",
                                        command->help, "options", describe_options(command->options)));
    }
    json_t *object = json_pack("{s:s, s:o, s:o}", "version", dcsr_version(), "options",
                               describe_options(cli_common_options), "commands", commands);
    if (!object) return cli_fail(cli, "out of memory");
    json_dumpf(object, stdout, 0);
    putchar('\n');
    cli->printed = true;
    json_decref(object);
    return cli_flush(cli);
}

/* ---- As text ---- */

static int show_all(cli_state *cli)
{
    int status = cli_show_help(cli, NULL);
    for (int c = 0; cli_commands[c] && !status; c++) {
        printf("\n%s\n\n", cli_commands[c]->name);
        status = cli_show_help(cli, cli_commands[c]);
    }
    return status;
}

static int show_one(cli_state *cli, const char *name)
{
    const cli_command *command = cli_find_command(cli, name);
    return command ? cli_show_help(cli, command) : cli->exit_status;
}

static int run_help(cli_state *cli)
{
    const char *name = cli->argument_count ? cli->arguments[0] : NULL;
    int wanted = settings.all + settings.manual + (settings.shell != NULL) + (name != NULL) + cli->json;
    if (wanted > 1)
        return cli_usage(cli,
                         "help takes one of COMMAND, --all, --manual, --completion and --json at a time");
    if (cli->json) return print_json(cli);
    if (settings.all) return show_all(cli);
    if (name) return show_one(cli, name);
    if (settings.manual)
        cli_write_manual(stdout);
    else if (settings.shell)
        (strcmp(settings.shell, "bash") ? cli_write_zsh_completion : cli_write_bash_completion)(stdout);
    else
        return cli_show_help(cli, NULL);
    return cli_flush(cli);
}

const cli_command cli_help_command = {
    .name = "help",
    .arguments = "[COMMAND]",
    .summary = "Explain the program, or a command",
    .help = "With --json it prints the names, arguments and options of all commands.\n\n"
            "Examples:\n"
            "  dcsr help ingest\n"
            "  source <(dcsr help --completion bash)\n",
    .least = 0,
    .most = 1,
    .offline = true,
    .options = options,
    .take = take,
    .run = run_help,
};
