/* test_cli.c: how the program is called: commands, options, help, exit statuses, and what it says when
 * something is wrong. */
#include "tests/support/program.h"
#include "tests/support/support.h"
#include <dcsr/context.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(cli, .init = program_begin, .fini = program_end);

static const char *const commands[] = {
    "info",   "convert",   "ingest",     "spmv",  "bfs",      "amg", "spy",
    "bench",  "snapshot",  "restore",    "log",   "verify",   "gc",  "compact",
    "backup", "help",      "closure",    "sssp",  "pagerank", "bc",  "cc",
    "scc",    "triangles", "clustering", "kcore", "ktruss",   "mis", "colouring"};
enum { COMMANDS = sizeof commands / sizeof *commands };

/* A line of arguments, the words that its message must have. */
typedef struct refusal {
    const char *arguments, *words;
} refusal;

static void expect_refusals(int status, const refusal *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        program_result result = program_run("%s", list[i].arguments);
        program_expect_failure(&result, list[i].arguments, status, list[i].words);
        program_free(&result);
    }
}
#define EXPECT_REFUSALS(status, ...)                                              \
    do {                                                                          \
        static const refusal refusals_[] = {__VA_ARGS__};                         \
        expect_refusals(status, refusals_, sizeof refusals_ / sizeof *refusals_); \
    } while (0)

Test(cli, lists_its_commands_when_it_gets_none_or_an_unknown_one)
{
    for (int c = 0; c < COMMANDS; c++) {
        PROGRAM_FAILS(2, commands[c], " ");
        PROGRAM_FAILS(2, commands[c], "frobnicate");
        PROGRAM_FAILS(2, commands[c], "--json --threads 2");
    }
    PROGRAM_FAILS(2, "frobnicate", "frobnicate x.mtx");
    PROGRAM_FAILS(2, "unknown command ''", "''");
}

Test(cli, explains_itself)
{
    program_result result = program_run("--help");
    program_expect_done(&result, "--help");
    for (int c = 0; c < COMMANDS; c++)
        cr_assert(strstr(result.out, commands[c]), "--help lacks %s", commands[c]);
    cr_assert(strstr(result.out, "--device") && strstr(result.out, "--threads"));
    program_free(&result);
}

Test(cli, explains_each_command_with_an_example)
{
    for (int c = 0; c < COMMANDS; c++) {
        char example[64];
        snprintf(example, sizeof example, "  dcsr %s ", commands[c]);
        program_result result = program_run("%s --help", commands[c]);
        program_expect_done(&result, "COMMAND --help");
        cr_assert(strstr(result.out, "Example") && strstr(result.out, example), "%s: %s", commands[c],
                  result.out);
        cr_assert(strstr(result.out, "--json"));
        program_result before = program_run("--help %s", commands[c]);
        program_expect_done(&before, "--help COMMAND");
        program_free(&before);
        program_free(&result);
    }
}

Test(cli, tells_its_version)
{
    program_result result = program_run("--version");
    program_expect_done(&result, "--version");
    cr_assert(!strncmp(result.out, "dcsr ", 5) && strstr(result.out, dcsr_version()), "%s", result.out);
    program_result inner = program_run("bfs --version");
    program_expect_done(&inner, "bfs --version");
    cr_assert_str_eq(inner.out, result.out);
    program_free(&inner);
    program_free(&result);
}

Test(cli, takes_its_options_before_and_after_the_command)
{
    program_result result;
    PROGRAM_JSON(result, "--json --threads 1 --device cpu --quiet info path:5");
    PROGRAM_INTEGER(&result, "threads", 1);
    program_free(&result);
    PROGRAM_JSON(result, "info path:5 --threads=3 --json --device=cpu --quiet");
    PROGRAM_INTEGER(&result, "threads", 3);
    cr_assert_str_eq(program_string(&result, "device"), "cpu");
    program_free(&result);
    PROGRAM_JSON(result, "--threads 1 info --threads 2 --json path:5"); /* the later one holds */
    PROGRAM_INTEGER(&result, "threads", 2);
    program_free(&result);
}

Test(cli, tells_the_device_and_what_it_was_built_for)
{
    program_result result;
    PROGRAM_JSON(result, "--json --device cpu info");
    cr_assert_str_eq(program_string(&result, "device"), "cpu");
    cr_assert_str_eq(program_string(&result, "version"), dcsr_version());
    cr_assert(!strncmp(program_string(&result, "built_for"), "cpu", 3));
    PROGRAM_INTEGER(&result, "device_memory", 0);
    PROGRAM_INTEGER(&result, "device_free", 0);
    PROGRAM_INTEGER(&result, "driver", 0);
    PROGRAM_INTEGER(&result, "runtime", 0);
    cr_assert(!json_object_get(result.json, "rows"));
    program_free(&result);
    result = program_run("--device cpu info");
    program_expect_done(&result, "info");
    cr_assert(strstr(result.out, "built for") && !strstr(result.out, "nonzeros"), "%s", result.out);
    program_free(&result);
}

Test(cli, shows_the_gpu_or_says_why_there_is_none)
{
    if (!TEST_CUDA) cr_skip_test("this build has no CUDA");
    program_result result = program_run("--json --device cuda info path:5");
    if (result.status && !TEST_EMULATOR) {
        program_expect_failure(&result, "--device cuda", 1, "");
        program_free(&result);
        return;
    }
    program_expect_done(&result, "--device cuda");
    cr_assert_str_eq(program_string(&result, "device"), "cuda");
    cr_assert(strstr(program_string(&result, "built_for"), "cuda"));
    int64_t memory = program_integer(&result, "device_memory"),
            unused = program_integer(&result, "device_free");
    cr_assert(0 < unused && unused <= memory);
    cr_assert(program_integer(&result, "driver") >= 10000 && program_integer(&result, "runtime") >= 10000);
    PROGRAM_INTEGER(&result, "nnz", 4);
    program_free(&result);
    result = program_run("--device cuda info");
    program_expect_done(&result, "--device cuda info");
    cr_assert(strstr(result.out, "CUDA") && strstr(result.out, "its memory"), "%s", result.out);
    program_free(&result);
}

Test(cli, says_that_it_was_not_built_with_cuda)
{
    if (TEST_CUDA) cr_skip_test("this build has it");
    static const char *const lines[] = {"info",
                                        "info path:9",
                                        "spmv path:9",
                                        "ingest path:9",
                                        "bfs path:9 --source 0",
                                        "convert path:9 x.el",
                                        "spy path:9 x.png"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        PROGRAM_FAILS(1, "not built with CUDA", "--device cuda %s", lines[i]);
    cr_assert(program_folder_holds(0));
}

Test(cli, wants_the_right_number_of_arguments)
{
    EXPECT_REFUSALS(2, {"info path:3 path:4", "path:4"}, {"convert path:3", "FILE"}, {"convert a b c", "'c'"},
                    {"ingest", "EDGES"}, {"ingest --delete", "EDGES"}, {"spmv", "MATRIX"},
                    {"spmv path:3 10", "'10'"}, {"bfs --source 0", "MATRIX"},
                    {"bfs path:3 path:4 --source 0", "path:4"}, {"spy path:3", "FILE.png"});
}

Test(cli, refuses_options_it_does_not_know)
{
    for (int c = 0; c < COMMANDS; c++) {
        PROGRAM_FAILS(2, "--no-such-option", "%s path:3 --no-such-option", commands[c]);
        PROGRAM_FAILS(2, "see 'dcsr", "%s -Z path:3", commands[c]);
    }
    EXPECT_REFUSALS(2, {"--no-such-option info path:3", "--no-such-option"}, {"-Z info path:3", "-Z"},
                    {"info path:3 --json=yes", "--json=yes"}, {"info path:3 --threads", "--threads"},
                    {"--device", "--device"}, {"info path:3 --batch 5", "--batch"},
                    {"spmv path:3 --source 1", "--source"});
}

Test(cli, refuses_values_that_make_no_sense)
{
    EXPECT_REFUSALS(
        2, {"--device gpu info path:3", "gpu"}, {"--threads 0 info path:3", "--threads"},
        {"--threads -2 info path:3", "--threads"}, {"--threads two info path:3", "two"},
        {"--threads 99999999999999999999999 info path:3", "--threads"}, {"--threads 2x info path:3", "2x"},
        {"--threads '' info path:3", "--threads"},
        {"--threads 18446744073709551615G info path:3", "--threads"},
        {"spmv path:3 --kernel fast", "segments"}, {"spmv path:3 --repeat 0", "--repeat"},
        {"spmv path:3 --repeat 1.5", "--repeat"}, {"bfs path:3", "--source"},
        {"bfs path:3 --source one", "--source"}, {"bfs path:3 --source -1", "--source"},
        {"bfs path:3 --source 0 --repeat x", "--repeat"}, {"ingest path:3 --batch 0", "--batch"},
        {"ingest path:3 --op multiply", "keep, sum, min, max, last or any"},
        {"ingest path:3 --op ''", "--op"}, {"ingest path:3 --rows 0", "--rows"},
        {"ingest path:3 --rows 5000000000", "--rows"}, {"ingest path:3 --cols 3000000000", "--cols"},
        {"ingest path:3 --read pagerank", "bfs or spmv"}, {"ingest path:3 --source 1", "--read and --follow"},
        {"ingest path:3 --read spmv --source 1", "--read and --follow"},
        {"ingest path:3 --symmetric --rows 3 --cols 4", "equal"}, {"spy path:3 x.png --size 2", "--size"},
        {"spy path:3 x.png --size 1000000", "--size"});
    cr_assert(program_folder_holds(0));
}

Test(cli, refuses_generators_that_are_not_well_formed)
{
    EXPECT_REFUSALS(2, {"info rmat:", "rmat"}, {"info rmat:4", "rmat"}, {"info path:x", "path"},
                    {"info poisson2d5:3,4", "poisson2d5"}, {"info er:10,20,1,7", "er"},
                    {"info er:10,-3", "er"});
    EXPECT_REFUSALS(1, {"info rmat:40,16", ""}, {"info path:99999999999999", ""},
                    {"info hilbert:7", "hilbert:7"});
}

Test(cli, says_which_file_is_wrong_and_where)
{
    program_write_file("word.el", "0 1\n# fine\n1 two\n");
    program_write_file("short.tsv", "0\t1\n7\n");
    program_write_file("mixed.csv", "0,1,2.5\n1,2\n");
    program_write_file("negative.txt", "0 1\n1 -2\n");
    program_write_file("header.mtx", "%%MatrixMarket nonsense\n1 1 0\n");
    program_write_file("range.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n3 1\n");
    program_write_file("few.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n");
    program_write_file("broken.el.gz", "\x1f\x8b\x08 this is not gzip");
    program_write_file("a.xyz", "0 1\n");
    EXPECT_REFUSALS(
        1, {"info word.el", "word.el:3"}, {"info short.tsv", "short.tsv:2"},
        {"info mixed.csv", "mixed.csv:2"}, {"info negative.txt", "negative.txt:2"},
        {"info header.mtx", "header.mtx:1"}, {"info range.mtx", "range.mtx:3"}, {"info few.mtx", "few.mtx"},
        {"info broken.el.gz", "broken.el.gz"}, {"info a.xyz", "a.xyz"}, {"info missing.el", "missing.el"},
        {"info missing", "missing"}, {"info ''", ""}, {"info .", "."}, {"spmv word.el", "word.el:3"},
        {"bfs word.el --source 0", "word.el:3"}, {"convert word.el x.el", "word.el:3"},
        {"spy word.el x.png", "word.el:3"}, {"ingest word.el", "word.el:3"},
        {"ingest path:3 word.el", "word.el:3"}, {"ingest path:3 --read bfs missing.el", "missing.el"});
    cr_assert(program_folder_holds(9), "a failed command left a file behind");
}

Test(cli, keeps_control_characters_out_of_its_messages)
{
    PROGRAM_FAILS(1, "one?two", "info \"$(printf 'one\\ntwo.el')\"");
}

Test(cli, takes_a_file_that_is_named_like_a_stored_matrix)
{
    program_write_file("a#b.el", "0 1\n");
    program_result result;
    PROGRAM_JSON(result, "--json info 'a#b.el'");
    PROGRAM_INTEGER(&result, "nnz", 1);
    program_free(&result);
}

Test(cli, says_that_graphs_are_square_and_sources_are_vertices)
{
    program_write_file("wide.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 3 1\n1 3\n");
    EXPECT_REFUSALS(1, {"bfs wide.mtx --source 0", "2 x 3"}, {"bfs path:3 --source 3", "--source 3"},
                    {"ingest path:3 --read bfs --source 9", "--source 9"},
                    {"ingest path:9 --rows 4 --cols 9", ""}, {"ingest path:9 --cols 4", ""});
}

Test(cli, leaves_no_output_behind_when_it_cannot_be_written)
{
    program_write_file("old.mtx", "kept");
    cr_assert(system("mkdir folder.mtx folder.png") == 0);
    EXPECT_REFUSALS(1, {"convert path:3 no/such/folder/x.mtx", "no/such/folder"},
                    {"convert path:3 folder.mtx", "folder.mtx"}, {"convert path:3 x.xyz", "x.xyz"},
                    {"convert missing.el old.mtx", "missing.el"},
                    {"spy path:3 no/such/folder/x.png", "no/such/folder"},
                    {"spy path:3 folder.png", "folder.png"}, {"spy path:3 /dev/null", "/dev/null"});
    cr_assert(program_folder_holds(3));
    char *kept = program_read_file("old.mtx");
    cr_assert_str_eq(kept, "kept");
    free(kept);
}

Test(cli, fails_when_its_result_cannot_be_written)
{
    static const char *const lines[] = {"info",
                                        "info path:9",
                                        "info path:9 --json",
                                        "spmv path:9",
                                        "bfs path:9 --source 0",
                                        "ingest path:9",
                                        "ingest path:9 --json",
                                        "--help",
                                        "--version",
                                        "bfs --help"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        PROGRAM_FAILS(1, "standard output", "%s > /dev/full", lines[i]);
        PROGRAM_FAILS(1, "standard output", "%s >&-", lines[i]);
    }
}

Test(cli, prints_text_for_people_and_one_object_for_programs)
{
    static const char *const lines[] = {"info path:9",   "spmv path:9",         "bfs path:9 --source 0",
                                        "ingest path:9", "convert path:9 x.el", "spy path:9 x.png"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        program_result text = program_run("%s", lines[i]);
        program_expect_done(&text, lines[i]);
        cr_assert(*text.out && !text.json, "%s printed JSON unasked", lines[i]);
        cr_assert(!strchr(text.out, '\r') && !strchr(text.out, '\033'));
        program_result object;
        PROGRAM_JSON(object, "--json %s", lines[i]);
        program_free(&object);
        program_free(&text);
    }
}
