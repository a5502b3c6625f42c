/* test_cli_help.c: what the program says about itself: help, the manual page, completion in shells, and
 * docs/CLI.md, all held against the table that `dcsr help --json` prints; and that the commands take what the
 * table has. */
#include "tests/support/program.h"
#include "tests/support/support.h"
#include <dcsr/spmv.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char documentation[PATH_MAX];
static json_t *table; /* of `dcsr help --json` */

static void begin(void)
{
    cr_assert(realpath("docs/CLI.md", documentation));
    program_begin();
    program_result r;
    PROGRAM_JSON(r, "help --json");
    table = json_incref(r.json);
    program_free(&r);
}

static void end(void)
{
    json_decref(table);
    program_end();
}

TestSuite(cli_help, .init = begin, .fini = end);

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    cr_assert(text, "no %s", key);
    return text;
}

/* What the program prints. */
static char *printed(const char *arguments)
{
    program_result r = program_run("%s", arguments);
    program_expect_done(&r, arguments);
    char *text = strdup(r.out);
    program_free(&r);
    return text;
}

/* Whether a text has the option, and not only one that begins so. */
static bool has_option(const char *text, const char *name)
{
    char wanted[100];
    snprintf(wanted, sizeof wanted, "--%s", name);
    for (const char *at = text; (at = strstr(at, wanted)); at++)
        if (!strchr("abcdefghijklmnopqrstuvwxyz-", at[strlen(wanted)])) return true;
    return false;
}

/* What stands between a heading and the next like it; free() it. */
static char *section(const char *text, const char *heading, const char *next)
{
    const char *begin = strstr(text, heading);
    cr_assert(begin, "there is no \"%s\"", heading);
    const char *end = strstr(begin + strlen(heading), next);
    return strndup(begin, end ? (size_t)(end - begin) : strlen(begin));
}

/* Takes fonts and escapes out of a manual page. */
static char *without_roff(const char *manual)
{
    char *text = strdup(manual), *to = text;
    for (const char *from = manual; (*to = *from); from++) {
        if (*from != '\\')
            to++;
        else if (from[1] == 'f')
            from += 2;
    }
    return text;
}

/* ---- The table and what is made of it ---- */

/* Asserts that a text has all options of a list. */
static void expect_options(const char *text, const json_t *options, const char *where)
{
    size_t i;
    json_t *option;
    json_array_foreach(options, i, option)
        cr_assert(has_option(text, text_of(option, "name")), "%s lacks --%s", where, text_of(option, "name"));
}

Test(cli_help, help_manual_and_documentation_have_every_command_and_option)
{
    size_t c;
    json_t *command;
    char *all = printed("help --all"), *roff = printed("help --manual"), *manual = without_roff(roff),
         *pages = program_read_file(documentation);
    cr_assert(pages);
    char *common = section(pages, "\n## Common to all", "\n## ");
    expect_options(common, json_object_get(table, "options"), "docs/CLI.md");
    expect_options(manual, json_object_get(table, "options"), "the manual page");
    cr_assert(json_array_size(json_object_get(table, "commands")) >= 13);
    json_array_foreach(json_object_get(table, "commands"), c, command)
    {
        char line[100], heading[100];
        const char *name = text_of(command, "name"), *arguments = text_of(command, "arguments");
        const json_t *options = json_object_get(command, "options");
        snprintf(line, sizeof line, "help %s", name);
        char *help = printed(line);
        cr_assert(strstr(help, arguments) && strstr(all, help), "help --all lacks %s", name);
        expect_options(help, options, line);
        expect_options(help, json_object_get(table, "options"), line);
        snprintf(heading, sizeof heading, ".SS dcsr %s ", name);
        char *part = section(manual, heading, "\n.S");
        cr_assert(strstr(part, arguments) && strstr(part, text_of(command, "summary")), "%s", part);
        expect_options(part, options, heading);
        snprintf(heading, sizeof heading, "\n## %s\n", name);
        char *page = section(pages, heading, "\n## ");
        cr_assert(strstr(page, arguments), "docs/CLI.md says of %s other arguments than %s", name, arguments);
        expect_options(page, options, "docs/CLI.md");
        snprintf(heading, sizeof heading, "](#%s)", name);
        cr_assert(strstr(pages, heading), "the list of commands in docs/CLI.md lacks %s", name);
        free(page);
        free(part);
        free(help);
    }
    free(common);
    free(pages);
    free(manual);
    free(roff);
    free(all);
}

/* A value that an option takes, by what the table calls it. */
static const char *sample(const char *value, char room[40])
{
    static const char *const samples[][2] = {{"N", "7"},           {"V", "3"},
                                             {"R", "2"},           {"D", "0.5"},
                                             {"BYTES", "8k"},      {"LEVEL", "3"},
                                             {"PIXELS", "100"},    {"NAME", "plus_times"},
                                             {"MATRIX", "path:3"}, {"STORE#NAME", "s#m"},
                                             {"FILE", "x.mtx"},    {"FILE.png", "x.png"},
                                             {"T", "1e-6"},        {"NAME=VALUE", "cycle=V"},
                                             {"TIME", "10s"},      {"CHAR", ";"},
                                             {"R,C", "2,3"},       {"LENGTH", "100"},
                                             {"SYMBOL", "S"},      {"X", "0.5"},
                                             {"V,...", "0,2"},     {"WHAT,...", "cc,bfs"},
                                             {"K/N", "1/2"}};
    if (strchr(value, '|')) {
        snprintf(room, 40, "%.*s", (int)strcspn(value, "|"), value);
        return room;
    }
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        if (!strcmp(samples[i][0], value)) return samples[i][1];
    cr_assert_fail("there is no sample of %s", value);
    return NULL;
}

static void expect_taken(const char *command, const json_t *option)
{
    char line[200], room[40];
    const char *name = text_of(option, "name"), *value = json_string_value(json_object_get(option, "value"));
    if (!value) {
        snprintf(line, sizeof line, "%s --%s --help", command, name);
        free(printed(line));
        PROGRAM_FAILS(2, "takes none", "%s --%s=3", command, name);
        return;
    }
    snprintf(line, sizeof line, "%s --%s '%s' --help", command, name, sample(value, room));
    free(printed(line));
    snprintf(line, sizeof line, "%s --%s='%s' --help", command, name, sample(value, room));
    free(printed(line));
    PROGRAM_FAILS(2, "needs a value", "%s --%s", command, name);
    if (strchr(value, '|')) PROGRAM_FAILS(2, "must be", "%s --%s=nothing", command, name);
}

Test(cli_help, every_option_in_the_table_is_taken)
{
    /* A program with a sanitizer takes a tenth of a second to start: of commands and options every fifth. */
    const size_t step = TEST_VARIANT(1, 5, 5);
    size_t c, i;
    json_t *command, *option;
    json_array_foreach(json_object_get(table, "commands"), c, command)
    {
        json_array_foreach(json_object_get(command, "options"), i, option)
        {
            if ((c + i) % step == 0) expect_taken(text_of(command, "name"), option);
        }
        json_array_foreach(json_object_get(table, "options"), i, option)
        {
            if ((c + i) % step) continue;
            char line[200], room[40];
            const char *value = json_string_value(json_object_get(option, "value"));
            snprintf(line, sizeof line, "%s --%s%s%s --help", text_of(command, "name"),
                     text_of(option, "name"), value ? "=" : "", value ? sample(value, room) : "");
            free(printed(line));
        }
    }
    json_array_foreach(json_object_get(table, "options"), i, option) expect_taken("", option);
}

/* ---- Asking for help ---- */

Test(cli_help, is_asked_for_in_several_ways)
{
    char *help = printed("--help"), *of_bfs = printed("bfs --help");
    static const char *const ways[] = {"-h", "help", "-h bfs", "--json -h"},
                             *const ways_of_bfs[] = {"bfs -h", "help bfs", "bfs path:3 -h --no-such-option"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char *same = printed(ways[i]);
        cr_assert_str_eq(same, help);
        free(same);
    }
    for (size_t i = 0; i < sizeof ways_of_bfs / sizeof *ways_of_bfs; i++) {
        char *same = printed(ways_of_bfs[i]);
        cr_assert_str_eq(same, of_bfs);
        free(same);
    }
    free(of_bfs);
    free(help);
    PROGRAM_FAILS(2, "unknown command 'bsf' (did you mean bfs?)", "help bsf");
    PROGRAM_FAILS(2, "help takes one of", "help bfs --all");
    PROGRAM_FAILS(2, "'x' is too much", "help bfs x");
    PROGRAM_FAILS(2, "bash or zsh", "help --completion fish");
    PROGRAM_FAILS(1, "standard output", "help --manual > /dev/full");
    PROGRAM_FAILS(1, "standard output", "help --json > /dev/full");
}

/* ---- Manual page, completion ---- */

static bool is_there(const char *tool)
{
    char command[100];
    snprintf(command, sizeof command, "command -v %s >/dev/null", tool);
    return system(command) == 0;
}

/* What a shell command prints, both streams; asserts that it succeeds. */
static char *shell(const char *command)
{
    char line[4000];
    snprintf(line, sizeof line, "{ %s\n} >shell.out 2>&1", command);
    int status = system(line);
    char *text = program_read_file("shell.out");
    cr_assert(!status, "%s: %s", command, text);
    return text;
}

Test(cli_help, manual_page_has_no_warnings)
{
    free(printed("help --manual >dcsr.1"));
    if (!is_there("man") && !is_there("mandoc")) cr_skip("there is neither man nor mandoc");
    char *warnings = shell(is_there("man") ? "LC_ALL=C.UTF-8 man --warnings -l dcsr.1 2>&1 >/dev/null"
                                           : "mandoc -T lint -W error dcsr.1");
    cr_assert(!*warnings, "%s", warnings);
    free(warnings);
}

/* What bash completes the last of the words to, one a line. */
static char *completions(const char *words, int count)
{
    char script[2000];
    snprintf(script, sizeof script,
             "bash -c 'source ./dcsr.bash; COMP_WORDS=(dcsr %s); COMP_CWORD=%d; _dcsr; printf \"%%s\\n\" "
             "\"${COMPREPLY[@]}\"'",
             words, count);
    return shell(script);
}

static bool has_line(const char *text, const char *line)
{
    size_t length = strlen(line);
    for (const char *at = text; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (!strncmp(at, line, length) && (at[length] == '\n' || !at[length])) return true;
    return false;
}

/* Whether there is a kernel for products of this name, or it stands for none. */
static bool is_kernel(const char *name)
{
    const dcsr_spmv_kernel *kernel;
    for (int device = 0; device < 2; device++)
        for (uint64_t k = 0; (kernel = dcsr_spmv_kernel_at(device ? DCSR_DEVICE_CUDA : DCSR_DEVICE_CPU, k));
             k++)
            if (!strcmp(kernel->name, name)) return true;
    return !strcmp(name, "auto") || !strcmp(name, "list");
}

/* `--kernel` of `dcsr spmv` takes the names of the library's kernels, those of a GPU too, and no others. */
Test(cli_help, spmv_takes_every_kernel)
{
    const bool all_devices =
        dcsr_spmv_kernel_at(DCSR_DEVICE_CUDA, 0); /* else those of a GPU are not known here */
    const dcsr_spmv_kernel *kernel;
    size_t c;
    json_t *command;
    char *names = NULL;
    json_array_foreach(json_object_get(table, "commands"), c,
                       command) if (!strcmp(text_of(command, "name"), "spmv"))
        cr_assert(asprintf(&names, "|%s|",
                           text_of(json_array_get(json_object_get(command, "options"), 0), "value")) > 0);
    cr_assert(names);
    for (int device = 0; device < 2; device++)
        for (uint64_t k = 0; (kernel = dcsr_spmv_kernel_at(device ? DCSR_DEVICE_CUDA : DCSR_DEVICE_CPU, k));
             k++) {
            char wanted[60];
            snprintf(wanted, sizeof wanted, "|%s|", kernel->name);
            cr_assert(strstr(names, wanted), "--kernel %s lacks %s", names, kernel->name);
        }
    for (char *name = strtok(names, "|"); name; name = strtok(NULL, "|"))
        cr_assert(!all_devices || is_kernel(name), "--kernel takes %s, which no device has", name);
    free(names);
}

Test(cli_help, bash_completes)
{
    /* The words after dcsr, how many they are, what is offered, and what is not. */
    static const struct {
        const char *words;
        int count;
        const char *has, *lacks;
    } lines[] = {{"\"\"", 1, "snapshot", "path.el"},
                 {"i", 1, "ingest", "bfs"},
                 {"-", 1, "--device", "--batch"},
                 {"--th", 1, "--threads", "--json"},
                 {"--threads 3 sn", 3, "snapshot", "spmv"},
                 {"--threads = 3 sn", 4, "snapshot", "spmv"},
                 {"ingest --o", 2, "--op", "--batch"},
                 {"ingest --", 2, "--durable", "--kernel"},
                 {"ingest --op \"\"", 3, "keep", "path.el"},
                 {"ingest --op = s", 4, "sum", "keep"},
                 {"ingest --op =", 3, "last", "path.el"},
                 {"ingest path.el --read b", 4, "bfs", "spmv"},
                 {"info \"\"", 2, "rmat:", "info"},
                 {"info pat", 2, "path.el", "rmat:"},
                 {"info pat", 2, "path:", "rmat:"},
                 {"info rmat :", 3, "", "path.el"},
                 {"info rmat : 1", 4, "", "path.el"},
                 {"bench \"\"", 2, "mxv", "path.el"},
                 {"bench mxv --type = i", 5, "int8", "uint8"},
                 {"bench mxv --matrix er", 4, "er:", "path:"},
                 {"--device = c", 3, "cuda", "auto"},
                 {"spmv path.el --kernel \"\"", 4, "csr", "path.el"},
                 {"log f", 2, "folder", "path.el"},
                 {"help sp", 2, "spy", "bfs"},
                 {"help --completion \"\"", 3, "zsh", "bfs"}};
    program_write_file("path.el", "0 1\n");
    cr_assert(!system("mkdir folder"));
    free(printed("help --completion bash >dcsr.bash"));
    free(shell("bash -n dcsr.bash"));
    char *known = shell("bash -c 'source ./dcsr.bash; complete -p dcsr'");
    cr_assert(strstr(known, "-F _dcsr dcsr"), "%s", known);
    free(known);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char *offered = completions(lines[i].words, lines[i].count);
        cr_assert(has_line(offered, lines[i].has), "%s: no %s in %s", lines[i].words, lines[i].has, offered);
        cr_assert(!has_line(offered, lines[i].lacks), "%s: %s", lines[i].words, offered);
        free(offered);
    }
}

Test(cli_help, completions_have_every_command_and_option)
{
    size_t c, i;
    json_t *command, *option;
    char *zsh = printed("help --completion zsh");
    free(printed("help --completion bash >dcsr.bash"));
    json_array_foreach(json_object_get(table, "commands"), c, command)
    {
        char line[200];
        const char *name = text_of(command, "name");
        snprintf(line, sizeof line, "%s --", name);
        char *offered = completions(line, 2);
        snprintf(line, sizeof line, "\n    %s) _arguments", name);
        char *arguments = section(zsh, line, ";;");
        json_array_foreach(json_object_get(command, "options"), i, option)
        {
            snprintf(line, sizeof line, "--%s", text_of(option, "name"));
            cr_assert(has_line(offered, line), "%s in bash: no %s", name, line);
            cr_assert(has_option(arguments, text_of(option, "name")), "%s in zsh: no %s", name, line);
        }
        json_array_foreach(json_object_get(table, "options"), i, option)
        {
            snprintf(line, sizeof line, "--%s", text_of(option, "name"));
            cr_assert(has_line(offered, line), "%s in bash: no %s", name, line);
            cr_assert(has_option(zsh, text_of(option, "name")), "in zsh: no %s", line);
        }
        free(arguments);
        free(offered);
    }
    free(zsh);
}

Test(cli_help, zsh_reads_its_completion)
{
    free(printed("help --completion zsh >_dcsr"));
    if (!is_there("zsh")) cr_skip("there is no zsh");
    free(shell("zsh -n _dcsr"));
}

/* ---- Near misses ---- */

Test(cli_help, guesses_what_was_meant)
{
    static const char *const misses[][2] = {
        {"ignest x", "did you mean ingest?"},
        {"inof", "did you mean info?"},
        {"snap", "did you mean snapshot?"},
        {"blorp x", "the commands are info"},
        {"x", "unknown command 'x'; "},
        {"info --thread=", "--threads"},
        {"ingest x --bach 5", "'--bach' (did you mean --batch?)"},
        {"spmv x --repaet=3", "'--repaet=3' (did you mean --repeat?)"},
        {"--jsno info", "'--jsno' before the command (did you mean --json?)"}};
    for (size_t i = 0; i < sizeof misses / sizeof *misses; i++)
        PROGRAM_FAILS(2, misses[i][1], "%s", misses[i][0]);
}

Test(cli_help, says_what_is_wrong_with_an_option)
{
    PROGRAM_FAILS(2, "info has no option '--batch'; ingest has it", "info --batch 5");
    PROGRAM_FAILS(2, "dcsr has no option '--batch' before the command; ingest has it", "--batch 5 ingest");
    PROGRAM_FAILS(2, "gc has no option '--frobnicate'; it has --keep, --delete, --device",
                  "gc s --frobnicate");
    PROGRAM_FAILS(2, "gc has no option '-k'", "gc s -k 3");
    PROGRAM_FAILS(2, "gc has no option '-k'", "gc -kh3 s");
    PROGRAM_FAILS(2, "gc: --keep needs a value: --keep=N; see 'dcsr gc --help'", "gc s --keep");
    PROGRAM_FAILS(2, "gc: '--delete=all' has a value, and --delete takes none", "gc s --delete=all");
    PROGRAM_FAILS(2, "ingest: '--s' is ambiguous: --symmetric or --source", "ingest path:3 --s");
    PROGRAM_FAILS(2, "--keep must be a whole number from 1 to", "gc s --keep none");
    PROGRAM_FAILS(2, "--op must be keep, sum, min, max, last or any, not 'product'", "ingest x --op product");
    PROGRAM_FAILS(1, "-x", "info -- -x");
    program_result r;
    PROGRAM_JSON(r, "--js info path:3 --thr 2"); /* shortened where that is clear */
    PROGRAM_INTEGER(&r, "threads", 2);
    program_free(&r);
}

/* ---- Failures as JSON ---- */

Test(cli_help, failures_are_json_where_that_is_asked_for)
{
    static const struct {
        const char *line, *status;
        int exit_status;
    } failures[] = {{"--json info no.el", "io", 1},
                    {"--json info no.xyz", "format", 1},
                    {"info no#m --json", "not_found", 1},
                    {"--json info rmat:40,16", "too_large", 1},
                    {"--json bfs path:3 --source 5", "failed", 1},
                    {"--json bfs path:3", "usage", 2},
                    {"--json info rmat:", "usage", 2},
                    {"info --no-such-option --json", "usage", 2},
                    {"info --threads 0 --json", "usage", 2},
                    {"--json blorp", "usage", 2},
                    {"--json", "usage", 2},
                    {"--json info \"$(printf 'no\\377name.el')\"", "io", 1}};
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        program_result r = program_run("%s", failures[i].line);
        cr_assert(r.status == failures[i].exit_status && r.json, "%s: %d %s", failures[i].line, r.status,
                  r.out);
        cr_assert_str_eq(program_error(&r, "status"), failures[i].status);
        cr_assert(*program_error(&r, "message"));
        cr_assert(json_object_size(r.json) == 1);
        program_free(&r);
    }
    program_result r = program_run("info no.el -- --json"); /* a MATRIX */
    program_expect_failure(&r, "-- --json", 2, "too much");
    program_free(&r);
}
