/* test_cli_into.c: `dcsr ingest --into`: edges that go into stored matrices, killed in the middle, on full
 * disks. */
#include "tests/support/program.h"
#include "tests/support/support_store.h"
#include <fcntl.h>
#include <limits.h>
#include <lmdb.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char program[PATH_MAX];

static void begin(void)
{
    const char *named = getenv("DCSR_PROGRAM");
    cr_assert(realpath(named ? named : "build/dcsr", program));
    program_begin();
}

TestSuite(cli_into, .init = begin, .fini = program_end);

/* Starts `dcsr ARGUMENTS`, which are separated by single blanks, and does not wait for it. What it prints
 * goes into these files. */
static pid_t start_into(const char *arguments, const char *out, const char *err)
{
    char copy[200], *argv[20] = {program};
    int argc = 1;
    pid_t process;
    snprintf(copy, sizeof copy, "%s", arguments);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) argv[argc++] = word;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (err)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    cr_assert(!posix_spawn(&process, program, &actions, NULL, argv, environ));
    posix_spawn_file_actions_destroy(&actions);
    return process;
}

static pid_t start(const char *arguments)
{
    return start_into(arguments, "/dev/null", NULL);
}

static bool has_ended(pid_t process, int *how)
{
    return waitpid(process, how, WNOHANG) == process;
}

/* ---- What goes in ---- */

Test(cli_into, makes_and_extends_a_stored_matrix)
{
    static const char *const ways[] = {"", "--durable"}, *const names[] = {"s#m", "s#durable"};
    for (int w = 0; w < 2; w++) {
        program_result r;
        const char *name = names[w];
        program_write_file("a.el", "0 1\n1 2\n0 1\n");
        program_write_file("b.el", "7 3\n1 2\n");
        program_write_file("c.el", "0 1\n50 60\n");
        PROGRAM_JSON(r, "--json ingest a.el --into %s %s --batch 2", name, ways[w]);
        PROGRAM_INTEGER(&r, "inserted", 3);
        PROGRAM_INTEGER(&r, "batches", 2);
        PROGRAM_INTEGER(&r, "nnz", 2);
        PROGRAM_INTEGER(&r, "rows", 3);
        PROGRAM_INTEGER(&r, "version", w + 1); /* a durable one begins with an empty version */
        PROGRAM_INTEGER(&r, "not_durable", 0);
        PROGRAM_INTEGER(&r, "recovered_version", 0);
        cr_assert(program_integer(&r, "bytes_written") > 0 && program_integer(&r, "chunks") >= 1);
        program_free(&r);
        PROGRAM_JSON(r, "--json ingest b.el --into %s %s", name, ways[w]); /* which grows */
        PROGRAM_INTEGER(&r, "inserted", 2);
        PROGRAM_INTEGER(&r, "nnz", 3);
        PROGRAM_INTEGER(&r, "rows", 8);
        PROGRAM_INTEGER(&r, "version", w + 2);
        PROGRAM_INTEGER(&r, "recovered_version", w ? 2 : 0);
        PROGRAM_INTEGER(&r, "recovered_records", 0);
        program_free(&r);
        PROGRAM_JSON(r, "--json ingest --delete c.el --into %s %s", name, ways[w]);
        PROGRAM_INTEGER(&r, "deleted", 1);
        PROGRAM_INTEGER(&r, "left_out", 1);
        PROGRAM_INTEGER(&r, "nnz", 2);
        PROGRAM_INTEGER(&r, "rows", 8);
        program_free(&r);
        PROGRAM_JSON(r, "--json ingest b.el --into %s %s", name, ways[w]); /* nothing new */
        PROGRAM_INTEGER(&r, "nnz", 2);
        PROGRAM_INTEGER(&r, "bytes_written", 0);
        program_free(&r);
        PROGRAM_JSON(r, "--json ingest a.el --symmetric --into %s %s --rows 9 --cols 9 --read bfs", name,
                     ways[w]);
        PROGRAM_INTEGER(&r, "nnz", 5);
        PROGRAM_INTEGER(&r, "rows", 9);
        program_free(&r);
        program_result text = program_run("restore %s x.el", name);
        program_expect_done(&text, "restore");
        program_free(&text);
        char *edges = program_read_file("x.el");
        cr_assert_str_eq(edges, "0\t1\n1\t0\n1\t2\n2\t1\n7\t3\n");
        free(edges);
    }
}

Test(cli_into, takes_from_the_store_that_it_writes)
{
    program_result r;
    PROGRAM_JSON(r, "--json snapshot path:100 s#a");
    program_free(&r);
    PROGRAM_JSON(r, "--json ingest s#a path:200 ./s#a@1 --into s#b --durable --batch 10");
    PROGRAM_INTEGER(&r, "nnz", 199);
    PROGRAM_INTEGER(&r, "rows", 200);
    program_free(&r);
    PROGRAM_JSON(r, "--json ingest s#b --into s#a");
    PROGRAM_INTEGER(&r, "nnz", 199);
    program_free(&r);
}

Test(cli_into, keeps_the_slack)
{
    program_write_file("v.csv", "0,1,2.5\n");
    const char *given[] = {"0", "0.125", "1"};
    for (int i = 0; i < 3; i++)
        for (int durable = 0; durable < 2; durable++) {
            program_result r;
            PROGRAM_JSON(r, "--json ingest v.csv --into s#m%d%d --slack %s %s", i, durable, given[i],
                         durable ? "--durable" : "");
            program_free(&r);
            PROGRAM_JSON(r, "--json info s#m%d%d", i, durable);
            cr_assert(program_number(&r, "slack") == strtod(given[i], NULL));
            program_free(&r);
        }
    PROGRAM_FAILS(2, "--slack must be 0 to 1, not '1.5'", "ingest v.csv --slack 1.5");
    PROGRAM_FAILS(2, "--slack must be 0 to 1, not 'nan'", "ingest v.csv --slack nan");
    PROGRAM_FAILS(2, "--slack must be 0 to 1, not '-1'", "ingest v.csv --slack=-1");
    PROGRAM_FAILS(2, "--slack must be 0 to 1, not '.5x'", "ingest v.csv --slack .5x");
}

Test(cli_into, keeps_what_the_matrix_was_made_with)
{
    program_result r;
    program_write_file("v.csv", "0,1,2.5\n");
    PROGRAM_JSON(r, "--json ingest v.csv --into s#m --op sum");
    program_free(&r);
    PROGRAM_JSON(r, "--json ingest v.csv path:2 --into s#m --durable");
    cr_assert_str_eq(program_string(&r, "op"), "sum");
    cr_assert_str_eq(program_string(&r, "type"), "fp64");
    program_free(&r);
    PROGRAM_JSON(r, "--json spmv s#m");
    cr_assert(program_number(&r, "checksum") == 2 * (2.5 + 2.5 + 1));
    program_free(&r);
    PROGRAM_FAILS(1, "made with --op sum", "ingest v.csv --into s#m --op last");
    PROGRAM_FAILS(1, "made with --slack 0.5", "ingest v.csv --into s#m --slack 0.1");
    PROGRAM_JSON(r, "--json ingest v.csv --into s#m --slack .5");
    program_free(&r);
    PROGRAM_FAILS(1, "2 x 2 already", "ingest v.csv --into s#m --rows 1 --cols 2");
    PROGRAM_JSON(r, "--json snapshot path:9 s#p");
    program_free(&r);
    PROGRAM_FAILS(1, "v.csv: it has values of type fp64", "ingest v.csv --into s#p");
    PROGRAM_FAILS(1, "v.csv: it has values of type fp64", "ingest v.csv --into s#p --durable");
}

Test(cli_into, makes_a_store_as_asked)
{
    program_result r;
    PROGRAM_JSON(r, "--json ingest path:20000 --into s#m --chunk 8k --compress 3");
    cr_assert(program_integer(&r, "chunks") > 20);
    cr_assert(program_integer(&r, "stored_bytes") < 20000 * 12 / 2);
    program_free(&r);
    PROGRAM_JSON(r, "--json log s");
    PROGRAM_INTEGER(&r, "chunk_bytes", 8000);
    PROGRAM_INTEGER(&r, "compression", 3);
    program_free(&r);
    PROGRAM_FAILS(1, "leave --chunk out", "ingest path:3 --into s#m --chunk 1M --durable");
    PROGRAM_FAILS(1, "leave --compress out", "ingest path:3 --into s#m --compress 1");
    PROGRAM_JSON(r, "--json ingest path:3 --into s#m --chunk 8k --compress 3");
    PROGRAM_INTEGER(&r, "bytes_written", 0);
    program_free(&r);
    PROGRAM_FAILS(2, "--chunk is about a stored matrix", "ingest path:3 --chunk 8k");
    PROGRAM_FAILS(2, "--compress is about a stored matrix", "ingest path:3 --compress 3");
}

Test(cli_into, says_what_is_wrong)
{
    program_write_file("bad.el", "0 1\n1 two\n");
    PROGRAM_FAILS(2, "--into", "ingest path:3 --durable");
    PROGRAM_FAILS(2, "STORE#NAME", "ingest path:3 --into s");
    PROGRAM_FAILS(2, "no name of a matrix", "ingest path:3 --into s#");
    PROGRAM_FAILS(2, "a version is not wanted", "ingest path:3 --into s#m@1");
    PROGRAM_FAILS(1, "bad.el:2", "ingest bad.el --into s#m");
    PROGRAM_FAILS(1, "this is a file", "ingest path:3 --into bad.el#m");
    PROGRAM_FAILS(1, "/proc/s", "ingest path:3 --into /proc/s#m --durable");
    cr_assert(program_folder_holds(1), "a command that failed has made a store");
    PROGRAM_FAILS(1, "bad.el:2", "ingest path:3 bad.el --into s#m"); /* all or nothing */
    PROGRAM_FAILS(1, "there is no store", "info s#m");
    program_result r;
    PROGRAM_FAILS(1, "bad.el:2", "ingest path:3 bad.el --into s#m --durable"); /* what was sent is kept */
    PROGRAM_JSON(r, "--json ingest path:2 --into s#m --durable");
    PROGRAM_INTEGER(&r, "recovered_entries", 3);
    PROGRAM_INTEGER(&r, "nnz", 2);
    program_free(&r);
}

/* ---- Others that write, being killed, full disks: where there is much, on the cpu ---- */

Test(cli_into, waits_for_another_process_that_writes)
{
    program_result r;
    int how;
    PROGRAM_JSON(r, "--json snapshot path:3 s#m");
    program_free(&r);
    int writer = open("s/writer", O_RDWR | O_CLOEXEC);
    cr_assert(writer >= 0 && !flock(writer, LOCK_EX));
    pid_t process = start("ingest path:9 --into s#m");
    store_pause(300);
    cr_assert(!has_ended(process, &how), "it did not wait");
    PROGRAM_JSON(r, "--json info s#m"); /* reading needs not wait */
    PROGRAM_INTEGER(&r, "nnz", 2);
    program_free(&r);
    close(writer);
    cr_assert(waitpid(process, &how, 0) == process && WIFEXITED(how) && !WEXITSTATUS(how));
    PROGRAM_JSON(r, "--json info s#m");
    PROGRAM_INTEGER(&r, "nnz", 8);
    program_free(&r);
}

/* What `dcsr verify` counts in the store; 0 where there is none yet. */
static int64_t count_in_store(const char *what)
{
    program_result r = program_run("--json --device cpu verify s");
    int64_t count = json_object_get(r.json, what) ? program_integer(&r, what) : 0;
    program_free(&r);
    return count;
}

/* Kills a durable ingestion of a path once its log has records, and before it makes a version of them. */
static void kill_in_the_middle(void)
{
    int how;
    do {
        cr_assert(system("rm -rf s") == 0);
        pid_t process = start("--device cpu ingest path:3000000 --batch 100 --into s#m --durable");
        bool ended = false;
        while (count_in_store("log_records") < 3 && !(ended = has_ended(process, &how))) continue;
        if (ended) continue; /* too fast for us; once more */
        kill(process, SIGKILL);
        cr_assert(waitpid(process, &how, 0) == process);
    } while (!WIFSIGNALED(how) || count_in_store("versions") != 1);
}

/* The log holds the first batches and nothing else, so a search from the beginning of the path gets as far as
 * there are entries. */
static void expect_first_batches(const char *name, int64_t entries, int64_t batch)
{
    program_result r;
    cr_assert(entries > 0 && entries < 2999999 && entries % batch == 0);
    PROGRAM_JSON(r, "--json --device cpu bfs %s --source 0 --repeat 1", name);
    PROGRAM_INTEGER(&r, "reached", entries + 1);
    program_free(&r);
}

/* A command that reads the newest version says what the log holds beyond; @live shows it. Returns the
 * entries. */
static int64_t look_without_recovering(void)
{
    int64_t records = count_in_store("log_records");
    program_result r = program_run("--json --device cpu bfs s#m --source 0 --repeat 1");
    cr_assert(!r.status && r.json && !strncmp(r.err, "dcsr: s#m: this is version 1; ", 30), "%s", r.err);
    cr_assert(strstr(r.err, "records of the log came after it: s#m@live shows all\n"), "%s", r.err);
    PROGRAM_INTEGER(&r, "reached", 1);
    PROGRAM_INTEGER(&r, "pending", records);
    PROGRAM_INTEGER(&r, "replayed", 0);
    program_free(&r);
    PROGRAM_JSON(r, "--json --device cpu info s#m@1"); /* as it was asked for */
    PROGRAM_INTEGER(&r, "pending", 0);
    program_free(&r);
    PROGRAM_JSON(r, "--json --device cpu restore s#m@live x.mtx");
    int64_t entries = program_integer(&r, "nnz");
    PROGRAM_INTEGER(&r, "version", 1);
    PROGRAM_INTEGER(&r, "pending", 0);
    cr_assert(program_integer(&r, "replayed") > 0);
    program_free(&r);
    expect_first_batches("s#m@live", entries, 100);
    cr_assert_eq(count_in_store("log_records"), records, "looking has changed the store");
    return entries;
}

Test(cli_into, goes_on_after_being_killed, .timeout = 300)
{
    program_result r;
    kill_in_the_middle();
    int64_t seen = look_without_recovering();
    cr_assert(system("cp -r s again && cp -r s other") == 0);
    PROGRAM_JSON(r, "--json log s#m");
    json_t *newest = json_array_get(json_object_get(r.json, "versions"), 0);
    cr_assert_eq(json_integer_value(json_object_get(newest, "log_records")), count_in_store("log_records"));
    program_free(&r);
    PROGRAM_JSON(r, "--json --device cpu ingest path:2 --into s#m --durable");
    int64_t entries = program_integer(&r, "recovered_entries");
    cr_assert_eq(entries, seen);
    PROGRAM_INTEGER(&r, "recovered_version", 1);
    cr_assert(program_integer(&r, "recovered_records") > 0);
    PROGRAM_INTEGER(&r, "inserted", 1); /* what was recovered is not counted */
    PROGRAM_INTEGER(&r, "nnz", entries);
    program_free(&r);
    expect_first_batches("s#m", entries, 100);
    PROGRAM_JSON(r, "--json --device cpu ingest path:3000000 --into s#m --durable");
    PROGRAM_INTEGER(&r, "nnz", 2999999);
    PROGRAM_INTEGER(&r, "recovered_records", 0);
    program_free(&r);
    /* Without --durable, and by a snapshot of something else, what the log holds becomes a version first. */
    PROGRAM_JSON(r, "--json --device cpu ingest path:2 --into again#m");
    PROGRAM_INTEGER(&r, "recovered_entries", entries);
    PROGRAM_INTEGER(&r, "nnz", entries);
    program_free(&r);
    PROGRAM_JSON(r, "--json --device cpu snapshot path:5 other#m");
    PROGRAM_INTEGER(&r, "recovered_entries", entries);
    PROGRAM_INTEGER(&r, "version", 3);
    program_free(&r);
    expect_first_batches("other#m@2", entries, 100);
}

/* ---- Being interrupted ---- */

/* Waits for a process that ends by this signal, and takes what it has printed. */
static program_result interrupted_by(int number, pid_t process)
{
    int how;
    cr_assert(waitpid(process, &how, 0) == process);
    program_result r = {.out = program_read_file("out"), .err = program_read_file("err")};
    cr_assert(WIFSIGNALED(how) && WTERMSIG(how) == number, "%#x: %s%s", how, r.out, r.err);
    r.json = json_loads(r.out, 0, NULL);
    return r;
}

/* Between batches, in the middle of a source. What is reported is stored, and goes on from there. */
Test(cli_into, an_interrupted_ingestion_keeps_what_was_sent, .timeout = 300)
{
    int how;
    bool ended = false;
    program_result r;
    pid_t process;
    do {
        cr_assert(system("rm -rf s") == 0);
        process = start_into("--json --device cpu ingest path:3000000 --batch 10 --into s#m --durable", "out",
                             "err");
        while (count_in_store("log_records") < 3 && !(ended = has_ended(process, &how))) continue;
    } while (ended);
    PROGRAM_JSON(r,
                 "--json --device cpu bfs s#m@live --source 0 --repeat 1"); /* beside the one that writes */
    cr_assert(program_integer(&r, "reached") % 10 == 1 && program_integer(&r, "replayed") >= 1);
    program_free(&r);
    kill(process, SIGINT);
    r = interrupted_by(SIGINT, process);
    int64_t entries = program_integer(&r, "inserted");
    PROGRAM_INTEGER(&r, "batches", entries / 10);
    PROGRAM_INTEGER(&r, "version", 2);
    cr_assert_str_eq(program_error(&r, "status"), "interrupted");
    cr_assert(strstr(r.err, "dcsr: interrupted: ") && strstr(r.err, " batches are safe, in s#m@2\n"), "%s",
              r.err);
    cr_assert(strstr(r.err, program_error(&r, "message")));
    program_free(&r);
    expect_first_batches("s#m", entries, 10);
    cr_assert(count_in_store("log_records") == 0 && count_in_store("versions") == 2);
}

/* While it waits for a source: a pipe into which nobody writes. */
Test(cli_into, is_interrupted_while_it_waits_for_edges, .timeout = 300)
{
    static const struct {
        const char *into, *said;
        int number;
    } ways[] = {
        {"", "interrupted: 999 edges in 10 batches were ingested\n", SIGINT},
        {"--into s#m", "interrupted: 999 edges in 10 batches are safe, in s#m@1\n", SIGTERM},
        {"--into s#d --durable", "interrupted: 999 edges in 10 batches are safe, in s#d@2\n", SIGINT}};
    cr_assert(!mkfifo("pipe.el", 0666));
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        char line[200];
        snprintf(line, sizeof line,
                 "--json --device cpu ingest path:1000 --batch 100 --read bfs %s%s--delete pipe.el",
                 ways[w].into, *ways[w].into ? " " : "");
        pid_t process = start_into(line, "out", "err");
        int pipe = open("pipe.el", O_WRONLY | O_CLOEXEC); /* once it is open for reading */
        cr_assert(pipe >= 0);
        kill(process, ways[w].number);
        program_result r = interrupted_by(ways[w].number, process);
        close(pipe);
        cr_assert(strstr(r.err, ways[w].said), "%s", r.err);
        PROGRAM_INTEGER(&r, "nnz", 999);
        PROGRAM_INTEGER(&r, "read_reached", 1000);
        cr_assert_eq(json_integer_value(json_object_get(json_object_get(r.json, "error"), "exit_status")),
                     128 + ways[w].number);
        program_free(&r);
    }
    PROGRAM_FAILS(1, "s: this is a store", "info s");
    program_result r;
    PROGRAM_JSON(r, "--json --device cpu info s#m");
    PROGRAM_INTEGER(&r, "nnz", 999);
    program_free(&r);
}

/* What the first signal asks for is kept from coming to its end; another one ends the process. */
Test(cli_into, a_second_signal_ends_it_at_once, .timeout = 300)
{
    int how, given = 0;
    MDB_env *environment;
    MDB_txn *holds_the_log;
    pid_t process =
        start_into("--device cpu ingest path:3000000 --batch 10 --into s#m --durable", "out", "err");
    while (count_in_store("log_records") < 3) cr_assert(!has_ended(process, &how));
    cr_assert(!mdb_env_create(&environment) && !mdb_env_set_mapsize(environment, (size_t)1 << 32) &&
              !mdb_env_open(environment, "s", 0, 0666) &&
              !mdb_txn_begin(environment, NULL, 0, &holds_the_log));
    for (; !has_ended(process, &how); given++) {
        kill(process, SIGINT);
        store_pause(100);
    }
    mdb_txn_abort(holds_the_log);
    mdb_env_close(environment);
    program_result r = {.out = program_read_file("out"), .err = program_read_file("err")};
    cr_assert(WIFSIGNALED(how) && WTERMSIG(how) == SIGINT && given >= 2, "%#x after %d", how, given);
    cr_assert(!*r.out && !*r.err, "%s%s", r.out, r.err);
    program_free(&r);
    cr_assert(count_in_store("log_records") >= 3 && count_in_store("corrupt") == 0);
}

/* ---- Full disks ---- */

/* Files may not grow beyond so many bytes, as on a disk that is full then. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN); /* the program inherits that: it gets an error */
    cr_assert(!getrlimit(RLIMIT_FSIZE, &limit));
    limit.rlim_cur = bytes;
    cr_assert(!setrlimit(RLIMIT_FSIZE, &limit));
}

static size_t count_lines(const char *text)
{
    size_t lines = 0;
    for (; *text; text++) lines += *text == '\n';
    return lines;
}

Test(cli_into, says_what_becomes_of_the_edges_on_a_full_disk)
{
    program_result r;
    PROGRAM_JSON(r, "--json snapshot path:1000 s#m");
    program_free(&r);
    limit_files(1 << 20);
    r = program_run("--device cpu ingest path:400000 --into s#m --durable --batch 10k");
    cr_assert(r.status == 1 && !*r.out && count_lines(r.err) == 2, "%d: %s%s", r.status, r.out, r.err);
    cr_assert(strstr(r.err, "going on in memory") && strstr(r.err, "of 40 batches are lost"), "%s", r.err);
    program_free(&r);
    PROGRAM_FAILS(
        1, "s#m: ", "--device cpu ingest path:400000 --into s#m"); /* with what is in the log, if any */
    PROGRAM_FAILS(1, "nothing of this was stored", "--device cpu ingest path:400000 --into s#n");
    limit_files(RLIM_INFINITY);
    PROGRAM_JSON(r, "--json verify s");
    PROGRAM_INTEGER(&r, "corrupt", 0);
    program_free(&r);
    PROGRAM_JSON(r, "--json info s#m@1");
    PROGRAM_INTEGER(&r, "nnz", 999);
    program_free(&r);
}

Test(cli_into, a_version_in_the_end_saves_what_the_log_could_not)
{
    program_result r;
    FILE *file = fopen("same.el", "w"); /* much to log, little to store */
    cr_assert(file);
    for (int i = 0; i < 100000; i++) fputs("0 1\n", file);
    fclose(file);
    limit_files(1 << 19);
    r = program_run("--json --device cpu ingest same.el --into s#m --durable --batch 10k");
    cr_assert_str_eq(program_error(&r, "status"), "not_durable");
    cr_assert(r.status == 1 && r.json && count_lines(r.err) == 2, "%d: %s%s", r.status, r.out, r.err);
    cr_assert(strstr(r.err, "going on in memory") && strstr(r.err, "version 2 has them all"), "%s", r.err);
    cr_assert(program_integer(&r, "not_durable") > 0);
    program_free(&r);
    limit_files(RLIM_INFINITY);
    PROGRAM_JSON(r, "--json info s#m@2");
    PROGRAM_INTEGER(&r, "nnz", 1);
    program_free(&r);
}
