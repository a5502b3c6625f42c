/* main.c: the program `dcsr`: finds the command, parses its options, runs it.
 *
 *      dcsr [options of all commands] COMMAND [options of both kinds, arguments]
 *
 * Options are parsed twice with argp: up to the command with those that all commands have, then from the
 * command on with those and its own. argp's own messages take several lines, so it is kept silent and the
 * program words the errors. */
#include "cli/stored.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const cli_command *const commands[] = {&cli_info_command,  &cli_convert_command,  &cli_ingest_command,
                                              &cli_spmv_command,  &cli_bfs_command,      &cli_spy_command,
                                              &cli_bench_command, &cli_snapshot_command, &cli_restore_command,
                                              &cli_log_command,   &cli_verify_command,   &cli_gc_command};
enum { COMMANDS = sizeof commands / sizeof *commands };

enum { KEY_DEVICE = 1000, KEY_THREADS, KEY_JSON, KEY_QUIET, KEY_HELP, KEY_VERSION };

static const struct argp_option common_options[] = {
    {.doc = "Options of all commands:", .group = 100},
    {"device", KEY_DEVICE, "DEVICE", 0, "auto, cpu or cuda (default auto: cuda where a usable GPU is there)",
     0},
    {"threads", KEY_THREADS, "N", 0, "Threads to use (default: OMP_NUM_THREADS, else one a core)", 0},
    {"json", KEY_JSON, NULL, 0, "Print one JSON object on standard output and nothing else", 0},
    {"quiet", KEY_QUIET, NULL, 0, "Show no progress", 0},
    {"help", KEY_HELP, NULL, 0, "Show this help", 0},
    {"version", KEY_VERSION, NULL, 0, "Show the version", 0},
    {0}};

static error_t take_device(cli_state *cli, const char *value)
{
    static const char *const names[] = {
        [DCSR_DEVICE_AUTO] = "auto", [DCSR_DEVICE_CPU] = "cpu", [DCSR_DEVICE_CUDA] = "cuda"};
    for (int d = 0; d < (int)(sizeof names / sizeof *names); d++) {
        if (strcmp(value, names[d])) continue;
        cli->device = (dcsr_device)d;
        return 0;
    }
    cli_usage(cli, "--device must be auto, cpu or cuda, not '%s'", value);
    return EINVAL;
}

static error_t take_common(int key, char *value, struct argp_state *state)
{
    cli_state *cli = state->input;
    uint64_t number = 0;
    switch (key) {
    case KEY_DEVICE:
        return take_device(cli, value);
    case KEY_THREADS:
        if (cli_take_number(cli, "--threads", value, 1, 4096, &number)) return EINVAL;
        cli->threads = (int)number;
        return 0;
    case KEY_JSON:
        cli->json = true;
        return 0;
    case KEY_QUIET:
        cli->quiet = true;
        return 0;
    case KEY_HELP:
        cli->help = true;
        break;
    case KEY_VERSION:
        cli->version = true;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    state->next = state->argc; /* nothing after --help or --version matters */
    return 0;
}

static const struct argp common_argp = {.options = common_options, .parser = take_common};
static const struct argp_child common_child[] = {{&common_argp, 0, NULL, 100}, {0}};

/* The first argument is the command; parsing stops there. */
static error_t take_command(int key, char *value, struct argp_state *state)
{
    cli_state *cli = state->input;
    if (key == ARGP_KEY_INIT) state->child_inputs[0] = cli;
    if (key == ARGP_KEY_ERROR) cli->stopped_at = state->next;
    if (key != ARGP_KEY_ARG) return key == ARGP_KEY_INIT ? 0 : ARGP_ERR_UNKNOWN;
    for (int c = 0; c < COMMANDS; c++) {
        if (!strcmp(value, commands[c]->name)) cli->command = commands[c];
    }
    cli->arguments = state->argv + state->next - 1;
    cli->argument_count = state->argc - (state->next - 1);
    state->next = state->argc;
    return 0;
}

/* Options of the command; arguments are collected in place, in front of what has been parsed. */
static error_t take_option(int key, char *value, struct argp_state *state)
{
    cli_state *cli = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = cli;
        return 0;
    case ARGP_KEY_ARG:
        cli->arguments[cli->argument_count++] = value;
        return 0;
    case ARGP_KEY_ERROR:
        cli->stopped_at = state->next;
        return 0;
    case ARGP_KEY_END:
    case ARGP_KEY_NO_ARGS:
    case ARGP_KEY_SUCCESS:
    case ARGP_KEY_FINI:
    case ARGP_KEY_ARGS:
        return ARGP_ERR_UNKNOWN;
    default:
        return cli->command->take ? cli->command->take(cli, key, value) : ARGP_ERR_UNKNOWN;
    }
}

/* Parses argv[1..]; on failure the message has been printed. */
static int parse(cli_state *cli, const struct argp *argp, int argc, char **argv)
{
    cli->exit_status = CLI_DONE;
    error_t error =
        argp_parse(argp, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP | ARGP_NO_EXIT | ARGP_IN_ORDER, NULL, cli);
    if (!error || cli->exit_status) return cli->exit_status;
    if (error == ENOMEM) return cli_fail(cli, "out of memory while the options were parsed");
    int last = cli->stopped_at > 1 && cli->stopped_at <= argc ? cli->stopped_at - 1 : argc - 1;
    return cli_usage(cli, "the option '%s' is unknown here, ambiguous, or its value is missing or not wanted",
                     argv[last]);
}

/* The names of all commands with what separates them. */
static char *list_commands(const char *format)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    if (!stream) return NULL;
    for (int c = 0; c < COMMANDS; c++) fprintf(stream, format, commands[c]->name, commands[c]->summary);
    return fclose(stream) == 0 ? text : NULL;
}

static int show_help(cli_state *cli, const struct argp *argp, const char *name)
{
    char program[64];
    snprintf(program, sizeof program, "%s", name);
    argp_help(argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, program);
    return cli_flush(cli);
}

static int show_version(cli_state *cli)
{
    printf("dcsr %s\n", dcsr_version());
    return cli_flush(cli);
}

static int show_commands(cli_state *cli, struct argp *argp)
{
    char *list = list_commands("  %-9s %s\n"), *doc = NULL;
    if (!list ||
        asprintf(&doc,
                 "Dynamic sparse matrices: matrices that grow and change while they are read.\v"
                 "Commands:\n%s\n"
                 "A MATRIX is a file (.mtx, or an edge list .el .tsv .csv .txt .facts with ids from 0, each "
                 "also .gz), a stored matrix STORE#NAME[@VERSION], or a generator: "
                 "rmat:SCALE,EDGEFACTOR[,SEED], er:ROWS,NNZ[,SEED], poisson2d5:N, "
                 "poisson2d9:N, poisson3d7:N, poisson3d27:N, path:N.\n\n"
                 "Exit status: 0 done, 1 failed, 2 wrong usage. 'dcsr COMMAND --help' explains a command.",
                 list) < 0) {
        free(list);
        return cli_fail(cli, "out of memory");
    }
    argp->doc = doc;
    int status = show_help(cli, argp, "dcsr");
    argp->doc = NULL;
    free(doc);
    free(list);
    return status;
}

static int refuse_command(cli_state *cli)
{
    char *list = list_commands(" %s");
    if (cli->argument_count) {
        cli_usage(cli, "unknown command '%s'; the commands are%s", cli->arguments[0], list ? list : "");
    } else {
        cli_usage(cli, "no command given; the commands are%s", list ? list : "");
    }
    free(list);
    return CLI_WRONG_USAGE;
}

static int check_argument_count(cli_state *cli)
{
    const cli_command *command = cli->command;
    int given = cli->argument_count;
    if (given < command->least) {
        return cli_usage(cli, "%s needs %s; %d given", command->name, command->arguments, given);
    }
    if (command->most >= 0 && given > command->most) {
        return cli_usage(cli, "%s takes %s; '%s' is too much", command->name, command->arguments,
                         cli->arguments[command->most]);
    }
    return CLI_DONE;
}

static int run_command(cli_state *cli)
{
    const cli_command *command = cli->command;
    char name[64], *doc = NULL;
    if (asprintf(&doc, "%s\v%s", command->summary, command->help) < 0) return cli_fail(cli, "out of memory");
    struct argp argp = {command->options, take_option, command->arguments, doc, common_child, NULL, NULL};
    snprintf(name, sizeof name, "dcsr %s", command->name);
    char **argv = cli->arguments;
    int argc = cli->argument_count;
    argv[0] = name;
    cli->arguments = argv + 1;
    cli->argument_count = 0;
    int status = parse(cli, &argp, argc, argv);
    if (status) goto done;
    if (cli->help) {
        status = show_help(cli, &argp, name);
        goto done;
    }
    if (cli->version) {
        status = show_version(cli);
        goto done;
    }
    status = check_argument_count(cli);
    if (status) goto done;
    dcsr_context_options options = {.device = cli->device, .threads = cli->threads};
    if (dcsr_context_create(&cli->context, &options)) {
        status = cli_fail_library(cli);
        goto done;
    }
    status = command->run(cli);
    cli_stores_close(cli);
    dcsr_context_destroy(cli->context);
done:
    free(doc);
    return status;
}

/* Where a standard stream was closed, puts something in its place that fails when it is used, so that no file
 * that is opened later gets its number and then what is printed. */
static void fill_closed_streams(void)
{
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor++) {
        if (fcntl(descriptor, F_GETFD) != -1) continue;
        if (open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
    }
}

int main(int argc, char **argv)
{
    fill_closed_streams();
    cli_state cli = {0};
    struct argp root = {NULL, take_command, "COMMAND [ARGUMENT...]", NULL, common_child, NULL, NULL};
    int status = parse(&cli, &root, argc, argv);
    if (status) return status;
    if (cli.help) return show_commands(&cli, &root);
    if (cli.version) return show_version(&cli);
    if (!cli.command) return refuse_command(&cli);
    return run_command(&cli);
}
