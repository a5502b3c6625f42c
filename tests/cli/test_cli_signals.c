/* test_cli_signals.c: SIGINT and SIGTERM while the program follows results, draws, or fills several devices: it ends by
 * the signal, with all that was acknowledged, and leaves nothing behind. */
#include "tests/support/program.h"
#include "tests/support/support_store.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static void begin(void)
{
    setenv("DCSR_DEVICE", "cpu", 1);
    program_begin();
}

TestSuite(cli_signals, .init = begin, .fini = program_end, .timeout = 300);

static const int signals[] = {SIGINT, SIGTERM};

/* Waits until a file of the folder has these words. */
static void wait_for_words(const char *name, const char *words)
{
    for (bool there = false; !there; store_pause(5)) {
        char *text = program_read_file(name);
        there = text && strstr(text, words);
        free(text);
    }
}

/* What a process that ended by this signal has printed. */
static program_result ended_by(int number, pid_t process)
{
    program_result r = {.status = program_wait(process)};
    r.out = program_read_file("out");
    r.err = program_read_file("err");
    cr_assert(r.status == 1000 + number, "%d: %s%s", r.status, r.out, r.err);
    r.json = json_loads(r.out, 0, NULL);
    return r;
}

/* ---- Following ---- */

/* What was followed is what the stored version gives anew. */
static void expect_followed(const program_result *r)
{
    static const struct {
        const char *command, *key, *followed;
    } results[] = {
        {"cc s#m", "components", "components"},           {"cc s#m", "largest", "largest_component"},
        {"triangles s#m", "triangles", "triangles"},      {"bfs s#m --source 0", "reached", "bfs_reached"},
        {"bfs s#m --source 0", "max_level", "max_level"}, {"kcore s#m", "largest", "degeneracy"}};
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        program_result anew;
        PROGRAM_JSON(anew, "--json %s", results[i].command);
        PROGRAM_INTEGER(r, results[i].followed, program_integer(&anew, results[i].key));
        program_free(&anew);
    }
}

static const char followed[] = "--every 10 --follow cc,triangles,bfs,kcore --source 0 --into s#m";

/* From a pipe, between what comes through it. */
Test(cli_signals, what_is_followed_is_complete_when_a_pipe_is_interrupted)
{
    static const char *const durable[] = {"", " --durable"};
    for (int way = 0; way < 4; way++) {
        cr_assert(!mkfifo("pipe", 0600));
        pid_t process = program_start("--json ingest pipe %s%s", followed, durable[way / 2]);
        const int pipe = open("pipe", O_WRONLY);
        cr_assert(pipe >= 0 && write(pipe, "0 1\n1 2\n", 8) == 8);
        wait_for_words("err", "1 components, the largest of 3");
        cr_assert(write(pipe, "2 0\n5 6\n", 8) == 8);
        /* What is in the pipe when it is interrupted may not have been read, and is not acknowledged. */
        for (int left = 1; left; store_pause(1)) cr_assert(!ioctl(pipe, FIONREAD, &left));
        kill(process, signals[way % 2]);
        program_result r = ended_by(signals[way % 2], process);
        close(pipe);
        cr_assert(strstr(r.err, "edges in ") && strstr(r.err, " are safe, in s#m@"), "%s", r.err);
        cr_assert_str_eq(program_error(&r, "status"), "interrupted");
        expect_followed(&r);
        program_result stored;
        PROGRAM_JSON(stored, "--json info s#m");
        PROGRAM_INTEGER(&stored, "nnz", program_integer(&r, "nnz"));
        program_free(&stored);
        program_free(&r);
        cr_assert(system("rm -rf s pipe err out") == 0);
    }
}

/* In the middle of many batches. */
Test(cli_signals, what_is_followed_is_complete_when_a_source_is_interrupted)
{
    for (int i = 0; i < 2; i++) {
        pid_t process = program_start("--json ingest rmat:15,32 --batch 500 %s --durable", followed);
        wait_for_words("err", "version ");
        kill(process, signals[i]);
        program_result r = ended_by(signals[i], process);
        cr_assert_str_eq(program_error(&r, "status"), "interrupted");
        /* All are of 500 but the last one of the graph, should it come that far. */
        PROGRAM_INTEGER(&r, "batches", (program_integer(&r, "inserted") + 499) / 500);
        expect_followed(&r);
        program_free(&r);
        cr_assert(system("rm -rf s err out") == 0);
    }
}

/* ---- Drawing ---- */

/* A gnuplot that says it draws, and then takes its time. */
static void be_slow(void)
{
    char path[4000], here[2000];
    cr_assert(getcwd(here, sizeof here) && !mkdir("bin", 0700) && !mkdir("temporary", 0700));
    program_write_file("bin/gnuplot", "#!/bin/sh\n[ \"$1\" = --version ] && exit 0\necho $$ >../../drawing\n"
                                      "exec sleep 100\n");
    cr_assert(!chmod("bin/gnuplot", 0700));
    snprintf(path, sizeof path, "%s/bin:%s", here, getenv("PATH"));
    setenv("PATH", path, 1);
    snprintf(path, sizeof path, "%s/temporary", here);
    setenv("TMPDIR", path, 1);
}

static bool is_empty(const char *name)
{
    DIR *folder = opendir(name);
    int n = 0;
    cr_assert(folder);
    while (readdir(folder)) n++;
    closedir(folder);
    return n == 2;
}

Test(cli_signals, a_picture_is_given_up_with_all_that_was_for_it)
{
    static const char *const lines[] = {"cc path:9 --plot p.png", "--json bfs path:9 --source 0 --plot p.png",
                                        "amg poisson2d5:9 --plot p.png"};
    be_slow();
    for (int i = 0; i < 6; i++) {
        pid_t process = program_start("%s", lines[i / 2]);
        wait_for_words("drawing", "\n");
        char *text = program_read_file("drawing");
        kill(process, signals[i % 2]);
        program_result r = ended_by(signals[i % 2], process);
        cr_assert(!*r.out && !*r.err, "%s%s", r.out, r.err);
        cr_assert(kill((pid_t)atol(text), 0), "gnuplot still runs");
        cr_assert(is_empty("temporary"), "the folder of the script is left behind");
        cr_assert_neq(access("p.png", F_OK), 0);
        cr_assert(!unlink("drawing"));
        free(text);
        program_free(&r);
    }
}

/* ---- Several devices ---- */

Test(cli_signals, several_devices_keep_whole_batches)
{
    for (int i = 0; i < 2; i++) {
        cr_assert(!mkfifo("pipe", 0600));
        pid_t process =
            program_start("--json --device cpu:3 ingest pipe --rows 3000 --cols 9 --batch 10 --every 1h");
        const int pipe = open("pipe", O_WRONLY);
        char line[20];
        for (int e = 0; e < 2000; e++) {
            const int length = snprintf(line, sizeof line, "%d %d\n", e, e % 9);
            cr_assert(pipe >= 0 && write(pipe, line, (size_t)length) == length);
        }
        for (int left = 1; left; store_pause(1)) cr_assert(!ioctl(pipe, FIONREAD, &left));
        kill(process, signals[i]);
        program_result r = ended_by(signals[i], process);
        close(pipe);
        cr_assert(strstr(r.err, "edges in ") && strstr(r.err, " batches were ingested"), "%s", r.err);
        cr_assert_str_eq(program_error(&r, "status"), "interrupted");
        PROGRAM_INTEGER(&r, "devices", 3);
        PROGRAM_INTEGER(&r, "nnz", program_integer(&r, "inserted"));
        program_free(&r);
        cr_assert(!unlink("pipe"));
    }
}

Test(cli_signals, several_devices_end_at_once_when_they_are_killed)
{
    pid_t process = program_start("--device cpu:3 ingest rmat:20,16 --batch 1k --metrics m.prom");
    wait_for_words("m.prom", "dcsr_ingest_edges_total ");
    kill(process, SIGKILL);
    program_result r = {.status = program_wait(process)};
    cr_assert_eq(r.status, 1000 + SIGKILL);
}
