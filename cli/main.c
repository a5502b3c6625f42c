/* main.c: the program `dcsr`: finds the command, lets it take its options, runs it.
 *
 *      dcsr [options of all commands] COMMAND [options of both kinds, arguments] */
#include "cli/stored.h"
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

const cli_command *const cli_commands[] = {&cli_info_command,
                                           &cli_convert_command,
                                           &cli_ingest_command,
                                           &cli_spmv_command,
                                           &cli_tune_command,
                                           &cli_spgemm_command,
                                           &cli_bfs_command,
                                           &cli_sssp_command,
                                           &cli_pagerank_command,
                                           &cli_bc_command,
                                           &cli_cc_command,
                                           &cli_scc_command,
                                           &cli_triangles_command,
                                           &cli_clustering_command,
                                           &cli_kcore_command,
                                           &cli_ktruss_command,
                                           &cli_mis_command,
                                           &cli_colouring_command,
                                           &cli_closure_command,
                                           &cli_samegen_command,
                                           &cli_cfl_command,
                                           &cli_cfa_command,
                                           &cli_row_command,
                                           &cli_watch_command,
                                           &cli_amg_command,
                                           &cli_cg_command,
                                           &cli_spy_command,
                                           &cli_bench_command,
                                           &cli_snapshot_command,
                                           &cli_restore_command,
                                           &cli_log_command,
                                           &cli_verify_command,
                                           &cli_gc_command,
                                           &cli_compact_command,
                                           &cli_backup_command,
                                           &cli_help_command,
                                           NULL};

static int show_version(cli_state *cli)
{
    printf("dcsr %s\n", dcsr_version());
    return cli_flush(cli);
}

const cli_command *cli_find_command(cli_state *cli, const char *name)
{
    char all[1024] = "";
    cli_guess guess = {.word = name};
    for (int c = 0; cli_commands[c]; c++) {
        const char *known = cli_commands[c]->name;
        size_t length = strlen(all);
        if (name && !strcmp(name, known)) return cli_commands[c];
        if (name) cli_guess_offer(&guess, known);
        snprintf(all + length, sizeof all - length, " %s", known);
    }
    if (!name)
        cli_usage(cli, "no command given; the commands are%s", all);
    else if (guess.best)
        cli_usage(cli, "unknown command '%s' (did you mean %s?); the commands are%s", name, guess.best, all);
    else
        cli_usage(cli, "unknown command '%s'; the commands are%s", name, all);
    return NULL;
}

static int check_argument_count(cli_state *cli)
{
    const cli_command *command = cli->command;
    int given = cli->argument_count;
    if (given < command->least) {
        return cli_usage(cli, "%s needs %s; %d given", command->name, command->arguments, given);
    }
    if (command->most >= 0 && given > command->most) {
        return cli_usage(cli, "%s takes %s; '%s' is too much", command->name,
                         command->most ? command->arguments : "no arguments", cli->arguments[command->most]);
    }
    return CLI_DONE;
}

static int refuse_several(cli_state *cli)
{
    char all[256] = "";
    for (int c = 0; cli_commands[c]; c++) {
        const size_t length = strlen(all);
        if (cli_commands[c]->several)
            snprintf(all + length, sizeof all - length, "%s%s", length ? ", " : "", cli_commands[c]->name);
    }
    return cli_usage(
        cli,
        "%s works on one device, not on %s: --device cpu, cuda, or cuda:1 for one GPU of several; those "
        "that work on several are %s",
        cli->command->name, cli->devices, all);
}

static int open_several(cli_state *cli)
{
    static const char function[] = "dcsr_multi_create: ";
    if (!cli->command->several) return refuse_several(cli);
    const dcsr_multi_options options = {.threads = cli->threads, .grain = cli->grain};
    const dcsr_status status = dcsr_multi_create(&cli->multi, cli->devices, &options);
    if (status != DCSR_ERROR_INVALID_ARGUMENT) return status ? cli_fail_library(cli) : CLI_DONE;
    const char *message = dcsr_thread_error();
    const size_t known = strlen(function);
    return cli_usage(cli, "--device %s", message + (strncmp(message, function, known) ? 0 : known));
}

static int open_devices(cli_state *cli)
{
    dcsr_context_options options = {
        .device = cli->device, .device_number = cli->device_number, .threads = cli->threads};
    if (cli->devices) {
        const int status = open_several(cli);
        if (status) return status;
        options.device = DCSR_DEVICE_CPU;
    }
    return dcsr_context_create(&cli->context, &options) ? cli_fail_library(cli) : CLI_DONE;
}

static int run_command(cli_state *cli)
{
    const cli_command *command = cli->command;
    if (command->offline) return command->run(cli);
    int status = open_devices(cli);
    if (!status) status = command->run(cli);
    cli_stores_close(cli);
    dcsr_context_destroy(cli->context);
    dcsr_multi_destroy(cli->multi);
    return status;
}

/* What stands before the command, the command, and what stands behind it. */
static int run_program(cli_state *cli, int argc, char **argv)
{
    int status = cli_parse_options(cli, argc, argv);
    if (status) return status;
    if (!cli->help && !cli->version) {
        cli->command = cli_find_command(cli, cli->argument_count ? cli->arguments[0] : NULL);
        if (!cli->command) return cli->exit_status;
        status = cli_parse_options(cli, cli->argument_count, cli->arguments);
        if (status) return status;
    }
    cli->json_failures = cli->json;
    if (cli->help) return cli_show_help(cli, cli->command);
    if (cli->version) return show_version(cli);
    status = check_argument_count(cli);
    return status ? status : run_command(cli);
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
    signal(SIGXFSZ, SIG_IGN); /* so that a write beyond `ulimit -f` is an error */
    cli_state cli = {0};
    for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
        if (!strcmp(argv[i], "--json")) cli.json_failures = true;
    int status = run_program(&cli, argc, argv);
    cli_end_failures(&cli);
    return status;
}
