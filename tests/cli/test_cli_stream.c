/* test_cli_stream.c: `dcsr ingest` of what has no end, or lines of its own: logs, names, windows, files that
 * grow, and going on after a kill. */
#include "tests/support/program.h"
#include "tests/support/support_store.h"
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void begin(void)
{
    setenv("DCSR_DEVICE", "cpu", 1);
    program_begin();
}

TestSuite(cli_stream, .init = begin, .fini = program_end, .timeout = 300);

static void expect_end(pid_t process, int status)
{
    const int ended = program_wait(process);
    char *err = program_read_file("err");
    cr_assert(ended == status, "it ended with %d: %s", ended, err);
    free(err);
}

static void append(const char *name, const char *text)
{
    FILE *file = fopen(name, "a");
    cr_assert(file && fputs(text, file) >= 0 && !fclose(file));
}

/* What a key of `dcsr --json info` is; -1 while there is no such matrix. */
static int64_t info_of(const char *matrix, const char *key)
{
    program_result r = program_run("--json info %s", matrix);
    int64_t value = r.status ? -1 : program_integer(&r, key);
    program_free(&r);
    return value;
}

static void wait_for_entries(const char *matrix, int64_t nnz)
{
    for (int64_t found; (found = info_of(matrix, "nnz")) != nnz; store_pause(5))
        cr_assert(found < nnz, "%s has %lld entries, not %lld", matrix, (long long)found, (long long)nnz);
}

/* A matrix has these entries, as an edge list. */
static void expect_entries(const char *matrix, const char *expected)
{
    program_result r = program_run("restore %s found.el", matrix);
    program_expect_done(&r, "restore");
    program_free(&r);
    char *found = program_read_file("found.el");
    cr_assert_str_eq(found, expected);
    free(found);
}

/* ---- While it is written ---- */

Test(cli_stream, edges_are_in_while_the_pipe_is_open)
{
    cr_assert(!mkfifo("pipe", 0600));
    pid_t process = program_start("--json ingest - --into s#m --durable --every 10 <pipe");
    const int pipe = open("pipe", O_WRONLY);
    cr_assert(pipe >= 0 && write(pipe, "0 1\n1", 5) == 5);
    wait_for_entries("s#m@live", 1);
    cr_assert(write(pipe, " 2\n7 3\n", 7) == 7);
    wait_for_entries("s#m@live", 3);
    close(pipe);
    expect_end(process, 0);
    expect_entries("s#m", "0\t1\n1\t2\n7\t3\n");
}

Test(cli_stream, batches_are_cut_by_number)
{
    program_result r;
    cr_assert(system("seq 1 1000 | sed 's/$/ 1/' >lines") == 0);
    PROGRAM_JSON(r, "--json ingest - --batch 300 <lines");
    PROGRAM_INTEGER(&r, "batches", 4);
    PROGRAM_INTEGER(&r, "inserted", 1000);
    PROGRAM_INTEGER(&r, "rows", 1001);
    program_free(&r);
}

Test(cli_stream, versions_are_made_while_it_runs)
{
    cr_assert(!mkfifo("pipe", 0600));
    pid_t process = program_start("--json ingest pipe --into s#m --every 5ms --snapshot-every 20ms");
    const int pipe = open("pipe", O_WRONLY);
    cr_assert(pipe >= 0 && write(pipe, "0 1\n", 4) == 4);
    wait_for_entries("s#m", 1);
    cr_assert(write(pipe, "0 2\n", 4) == 4);
    wait_for_entries("s#m", 2);
    kill(process, SIGTERM);
    expect_end(process, 1000 + SIGTERM);
    close(pipe);
    wait_for_entries("s#m", 2);
}

Test(cli_stream, a_signal_ends_it_with_what_was_read)
{
    cr_assert(!mkfifo("pipe", 0600));
    pid_t process = program_start("--json ingest pipe --into s#m --every 1h");
    const int pipe = open("pipe", O_WRONLY);
    cr_assert(pipe >= 0 && write(pipe, "0 1\n1 2\n", 8) == 8);
    /* What is in the pipe when it is interrupted has not been read. */
    for (int left = 1; left; store_pause(5)) cr_assert(!ioctl(pipe, FIONREAD, &left));
    kill(process, SIGINT);
    const int how = program_wait(process);
    close(pipe);
    cr_assert(how == 1000 + SIGINT);
    char *err = program_read_file("err");
    if (*err) expect_entries("s#m", "0\t1\n1\t2\n");
    free(err);
}

/* ---- Lines ---- */

typedef struct log_case {
    const char *text, *options;
    const char *expected; /* entries, or words of the error if that begins with '!' */
} log_case;

static const log_case logs[] = {
    {"0,1\n2,3\n", "--separator ,", "0\t1\n2\t3\n"},
    {"0,1,7\n2,3,8\n", "--separator ,", "0\t1\t7\n2\t3\t8\n"},
    {"a;5;6\nb;7;8;9\n", "--separator ';' --columns 2,3", "5\t6\n7\t8\n"},
    {"x\t5\t6\nx\t7\t8\n", "--separator tab --columns 3,2", "6\t5\n8\t7\n"},
    {"when who whom much\n9.5 1 2 0.25\n10 1 3 4e3\n", "--header 1 --columns 2,3 --value 4 --time 1",
     "1\t2\t0.25\n1\t3\t4000\n"},
    {"1|\"2\"|x\n \"3\" |4| \n", "--separator '|'", "!log:1: column 3: expected a value"},
    {"1|\"2\"|x\n \"3\" |4| \n", "--separator '|' --columns 1,2", "1\t2\n3\t4\n"},
    {"1,2\r\n3,4\r\n", "--separator ,", "1\t2\n3\t4\n"},
    {"# a comment\n\n1 2\n% another\n3 4\n", "--columns 1,2", "1\t2\n3\t4\n"},
    {"1,2\n,4\n", "--separator ,", "!log:2: column 1 is empty"},
    {"1,2\n3,\n", "--separator ,", "!log:2: column 2 is empty"},
    {"1,2\n3\n", "--separator ,", "!log:2: 1 column, but column 2 is wanted"},
    {"1,2\n3,\"4\n", "--separator ,", "!log:2: a quoted field does not end on its line"},
    {"1,2\n3,\"4\"5\n", "--separator ,", "!log:2: '5' after a quoted field"},
    {"1,2\n3,x\n", "--separator ,", "!log:2: column 2: expected a number from 0 on"},
    {"1 2 x\n", "--columns 1,2 --value 3", "!log:1: column 3: expected a value"},
    {"1 2 x\n", "--columns 1,2 --time 3", "!log:1: column 3: expected a time"},
    {"1 2 2026-02-30\n", "--columns 1,2 --time 3", "!log:1: column 3: expected a time"},
    {"1 2 2026-02-28T23:59:60.5+01:30\n", "--columns 1,2 --time 3", "1\t2\n"},
    {"1 2 5\n1 3 4\n", "--columns 1,2 --time 3 --strict-time", "!log:2: its time is 1 s before"},
    {"1 2 5\n1 3 4\n", "--columns 1,2 --time 3", "1\t2\n1\t3\n"},
    {"1 5000000000\n", "--columns 1,2", "!log:1: column 5000000000 is beyond"},
    {"1 2\nx y\n3\n4 5\n", "--skip-bad", "1\t2\n4\t5\n"},
    {"", "--columns 1,2", ""},
    {"h\n", "--header 2 --columns 1,2", ""},
};

Test(cli_stream, lines_are_what_they_are_said_to_be)
{
    for (size_t c = 0; c < sizeof logs / sizeof *logs; c++) {
        const log_case *log = &logs[c];
        program_write_file("log", log->text);
        if (*log->expected == '!') {
            PROGRAM_FAILS(1, log->expected + 1, "ingest log --into s#m %s", log->options);
        } else {
            program_result r;
            PROGRAM_JSON(r, "--json ingest log --into s#m %s", log->options);
            program_free(&r);
            expect_entries("s#m", log->expected);
        }
        cr_assert(system("rm -rf s") == 0);
    }
}

Test(cli_stream, says_what_does_not_go_together)
{
    program_write_file("log", "0 1\n");
    PROGRAM_FAILS(2, "two columns", "ingest log --columns 2,2");
    PROGRAM_FAILS(2, "needs --time", "ingest log --window 1h");
    PROGRAM_FAILS(2, "needs --time", "ingest log --strict-time");
    PROGRAM_FAILS(2, "--into", "ingest log --resume");
    PROGRAM_FAILS(2, "--into", "ingest log --snapshot-every 1s");
    PROGRAM_FAILS(2, "one file or pipe", "ingest log log --resume --into s#m");
    PROGRAM_FAILS(2, "files and pipes only", "ingest path:3 --names");
    PROGRAM_FAILS(2, "one character", "ingest log --separator 5");
    PROGRAM_FAILS(2, "must be a time", "ingest log --every soon");
    PROGRAM_FAILS(2, "leave --delete out", "ingest log --window 5 --delete");
    PROGRAM_FAILS(1, "only a file can be followed", "ingest - --tail <log");
}

Test(cli_stream, lines_that_cannot_be_read_are_counted)
{
    program_result r;
    program_write_file("log", "0 1\nbad\n1 2\n3 4 5 6\n5");
    PROGRAM_JSON(r, "--json ingest log --skip-bad");
    PROGRAM_INTEGER(&r, "skipped", 3);
    PROGRAM_INTEGER(&r, "nnz", 2);
    program_free(&r);
    PROGRAM_JSON(r, "--json ingest - --skip-bad <log");
    PROGRAM_INTEGER(&r, "skipped", 3);
    program_free(&r);
}

Test(cli_stream, compressed_streams_are_told_by_their_content)
{
    program_result r;
    program_write_file("x.el", "0 1\n5 6\n");
    cr_assert(system("gzip -k x.el; cat x.el.gz x.el.gz >two") == 0);
    PROGRAM_JSON(r, "--json ingest - <two");
    PROGRAM_INTEGER(&r, "inserted", 4);
    program_free(&r);
    PROGRAM_JSON(r, "--json ingest two --columns 1,2");
    PROGRAM_INTEGER(&r, "inserted", 4);
    program_free(&r);
}

/* ---- Names ---- */

Test(cli_stream, names_are_kept_with_the_matrix)
{
    program_result r;
    program_write_file("a.csv", "ann,bob\n\"b, \"\"ob\"\"\",ann\n");
    program_write_file("b.csv", "carl,bob\n#tag,ann\n%x,carl\n");
    PROGRAM_JSON(r, "--json ingest a.csv --names --separator , --into s#m --durable");
    PROGRAM_INTEGER(&r, "names", 3);
    program_free(&r);
    PROGRAM_JSON(r, "--json ingest b.csv --names --separator , --into s#m --durable");
    PROGRAM_INTEGER(&r, "names", 5);
    PROGRAM_INTEGER(&r, "rows", 5);
    program_free(&r);
    expect_entries("s#m", "0\t1\n2\t0\n3\t1\n4\t3\n");
    program_write_file("n.el", "0 1\n");
    PROGRAM_FAILS(1, "ingest them with --names", "ingest n.el --into s#m");
    PROGRAM_JSON(r, "--json ingest n.el --into s#numbers");
    program_free(&r);
    PROGRAM_FAILS(1, "leave it out", "ingest a.csv --names --into s#numbers");
    program_write_file("r.facts", "main\tcalls f\ncalls f\tg\n");
    PROGRAM_JSON(r, "--json ingest r.facts --names");
    PROGRAM_INTEGER(&r, "names", 3);
    PROGRAM_INTEGER(&r, "nnz", 2);
    program_free(&r);
    program_write_file("three.facts", "a\tb\tc\n");
    PROGRAM_FAILS(1, "expected a value", "ingest three.facts --names");
}

/* ---- Windows ---- */

enum { WINDOW_EDGES = 3000, VERTICES = 40 };

typedef struct timed_edge {
    int row, col;
    double time;
} timed_edge;

static void write_timed(const timed_edge *edges)
{
    FILE *file = fopen("edges.log", "w");
    cr_assert(file);
    for (int e = 0; e < WINDOW_EDGES; e++)
        fprintf(file, "%.17g %d %d\n", edges[e].time, edges[e].row, edges[e].col);
    cr_assert(!fclose(file));
}

/* By the book: each edge has when it was seen last; in the end those that are too old are not there. */
static char *textbook(const timed_edge *edges, int most, double seconds, bool symmetric)
{
    static double last[VERTICES][VERTICES];
    char *text = NULL;
    size_t length = 0;
    double newest = -1e300;
    for (int i = 0; i < VERTICES; i++)
        for (int j = 0; j < VERTICES; j++) last[i][j] = -1e300;
    for (int e = 0; e < WINDOW_EDGES; e++) {
        if (edges[e].time > newest) newest = edges[e].time;
        last[edges[e].row][edges[e].col] = most ? e : newest;
        if (symmetric) last[edges[e].col][edges[e].row] = most ? e : newest;
    }
    FILE *stream = open_memstream(&text, &length);
    cr_assert(stream);
    for (int i = 0; i < VERTICES; i++)
        for (int j = 0; j < VERTICES; j++)
            if (last[i][j] >= (most ? WINDOW_EDGES - most : newest - seconds))
                fprintf(stream, "%d\t%d\n", i, j);
    cr_assert(!fclose(stream));
    return text;
}

Test(cli_stream, windows_are_those_of_the_textbook)
{
    static timed_edge edges[WINDOW_EDGES];
    static const char *const batches[] = {"1", "7", "100", "1000000"};
    srand(7);
    int late = 0;
    double newest = 0;
    for (int e = 0; e < WINDOW_EDGES; e++) {
        edges[e] = (timed_edge){rand() % VERTICES, rand() % VERTICES, 1e9 + e / 8 * 0.25 - rand() % 3};
        late += e && edges[e].time < newest;
        if (edges[e].time > newest) newest = edges[e].time;
    }
    write_timed(edges);
    for (int b = 0; b < 4; b++) {
        for (int way = 0; way < 6; way++) {
            const bool timed = way / 3, symmetric = way % 3 == 2;
            const int most = timed ? 0 : way % 3 ? 500 : 3;
            const double seconds = way % 3 ? 12.5 : 0.25;
            char window[40];
            snprintf(window, sizeof window, timed ? "%gs" : "%.0f", timed ? seconds : (double)most);
            program_result r;
            PROGRAM_JSON(r,
                         "--json ingest edges.log --columns 2,3 --time 1 --batch %s --window %s --into s#m%s",
                         batches[b], window, symmetric ? " --symmetric" : "");
            PROGRAM_INTEGER(&r, "late", late);
            program_free(&r);
            char *expected = textbook(edges, most, seconds, symmetric);
            expect_entries("s#m", expected);
            free(expected);
            cr_assert(system("rm -r s") == 0);
        }
    }
}

/* ---- Killed, and going on ---- */

enum { SUMS = 200, SUM_EDGES = 30000 };

/* Edges whose sums tell how often each came. Returns what they are in the end. */
static char *write_sums(const char *name)
{
    static int count[SUMS][SUMS];
    char *text = NULL;
    size_t length = 0;
    FILE *file = fopen(name, "w"), *stream = open_memstream(&text, &length);
    cr_assert(file && stream);
    memset(count, 0, sizeof count);
    for (int e = 0; e < SUM_EDGES; e++) {
        const int i = rand() % SUMS, j = rand() % SUMS;
        count[i][j]++;
        fprintf(file, "%s%d,%d,1\n", e % 1000 ? "" : "# a comment\n", i, j);
    }
    for (int i = 0; i < SUMS; i++)
        for (int j = 0; j < SUMS; j++)
            if (count[i][j]) fprintf(stream, "%d\t%d\t%d\n", i, j, count[i][j]);
    cr_assert(!fclose(file) && !fclose(stream));
    return text;
}

/* How long it may run before it is killed: always longer by a third, so that the slowest comes to its end soon
 * and the fastest is killed as well. */
static int next_delay(int delay)
{
    return delay + delay / 3 + 1;
}

/* Kills it again and again until it comes to its end. */
static int ingest_with_kills(const char *arguments)
{
    int kills = 0;
    for (int delay = 1;; delay = next_delay(delay)) {
        int how;
        pid_t process =
            program_start("--json ingest %s --into s#m --durable --resume --batch 50 --op sum", arguments);
        store_pause(delay);
        if (waitpid(process, &how, WNOHANG) == process) {
            char *err = program_read_file("err");
            cr_assert(WIFEXITED(how) && !WEXITSTATUS(how), "%s", err);
            free(err);
            return kills;
        }
        kill(process, SIGKILL);
        program_wait(process);
        kills++;
    }
}

Test(cli_stream, after_kills_each_edge_is_there_once)
{
    static const char *const ways[] = {"sums.csv", "sums.csv.gz", "- <sums.csv", "- <sums.csv.gz"};
    srand(11);
    char *expected = write_sums("sums.csv");
    cr_assert(system("gzip -k sums.csv") == 0);
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        cr_assert(ingest_with_kills(ways[w]) >= 1);
        expect_entries("s#m", expected);
        program_result r;
        PROGRAM_JSON(r, "--json ingest %s --into s#m --resume --durable", ways[w]); /* all of it is there */
        PROGRAM_INTEGER(&r, "inserted", 0);
        program_free(&r);
        cr_assert(system("rm -r s") == 0);
    }
    free(expected);
}

Test(cli_stream, a_window_goes_on_after_kills)
{
    static timed_edge edges[WINDOW_EDGES];
    srand(5);
    for (int e = 0; e < WINDOW_EDGES; e++)
        edges[e] = (timed_edge){rand() % VERTICES, rand() % VERTICES, 1e9 + e * 0.1};
    write_timed(edges);
    for (int way = 0; way < 2; way++) {
        int how;
        for (int delay = 1;; delay = next_delay(delay)) {
            pid_t process = program_start(
                "--json ingest %s --columns 2,3 --time 1 --window 20s --into s#m --durable --resume "
                "--batch 10",
                way ? "- <edges.log" : "edges.log");
            store_pause(delay);
            if (waitpid(process, &how, WNOHANG) == process) break;
            kill(process, SIGKILL);
            program_wait(process);
        }
        char *err = program_read_file("err");
        cr_assert(WIFEXITED(how) && !WEXITSTATUS(how), "%s", err);
        free(err);
        char *expected = textbook(edges, 0, 20, false);
        expect_entries("s#m", expected);
        free(expected);
        cr_assert(system("rm -r s") == 0);
    }
}

Test(cli_stream, goes_on_in_the_same_text_only)
{
    program_result r;
    program_write_file("a.el", "0 1\n1 2\n");
    program_write_file("b.el", "0 2\n1 2\n2 2\n");
    program_write_file("short.el", "0 1\n");
    PROGRAM_JSON(r, "--json ingest a.el --into s#m");
    program_free(&r);
    PROGRAM_FAILS(1, "begins otherwise", "ingest b.el --into s#m --resume");
    PROGRAM_FAILS(1, "is shorter", "ingest short.el --into s#m --resume");
    append("a.el", "x\n");
    PROGRAM_FAILS(1, "a.el:3: expected", "ingest a.el --into s#m --resume");
    program_write_file("a.el", "0 1\n1 2\n2 3\n");
    PROGRAM_JSON(r, "--json ingest a.el --into s#m --resume");
    PROGRAM_INTEGER(&r, "inserted", 1);
    program_free(&r);
}

/* ---- Files that grow ---- */

Test(cli_stream, a_file_is_followed_when_it_is_rotated_and_truncated)
{
    program_write_file("a.log", "0 1\n");
    pid_t process = program_start("--json ingest a.log --tail --into s#m --durable --every 10ms");
    wait_for_entries("s#m@live", 1);
    append("a.log", "0 2\n0");
    wait_for_entries("s#m@live", 2);
    append("a.log", " 3\n");
    wait_for_entries("s#m@live", 3);
    cr_assert(!rename("a.log", "a.log.1"));
    append("a.log.1", "0 4\n");
    wait_for_entries("s#m@live", 4);
    program_write_file("b.log", "0 5\n0 6\n");
    cr_assert(!rename("b.log", "a.log"));
    wait_for_entries("s#m@live", 6);
    cr_assert(!truncate("a.log", 0));
    store_pause(200);
    append("a.log", "0 7\n");
    wait_for_entries("s#m@live", 7);
    kill(process, SIGTERM);
    expect_end(process, 1000 + SIGTERM);
    char *err = program_read_file("err");
    cr_assert(strstr(err, "a.log: another file has this name now") &&
                  strstr(err, "a.log: it has become shorter"),
              "%s", err);
    free(err);
    append("a.log", "0 8\n");
    process = program_start("--json ingest a.log --tail --into s#m --durable --every 10ms --resume");
    wait_for_entries("s#m@live", 8);
    kill(process, SIGKILL);
    program_wait(process);
    program_write_file("a.log", "1 0\n1 1\n1 2\n1 3\n"); /* another one, meanwhile */
    process = program_start("--json ingest a.log --tail --into s#m --durable --every 10ms --resume");
    wait_for_entries("s#m@live", 12);
    kill(process, SIGINT);
    expect_end(process, 1000 + SIGINT);
}

/* ---- Being told ---- */

Test(cli_stream, metrics_and_questions_are_answered)
{
    cr_assert(!mkfifo("pipe", 0600));
    pid_t process = program_start("ingest pipe --metrics m.prom --every 5ms");
    const int pipe = open("pipe", O_WRONLY);
    char *text = NULL;
    cr_assert(pipe >= 0 && write(pipe, "0 1\n1 2\n", 8) == 8);
    while (!text || !strstr(text, "\ndcsr_ingest_edges_total 2\n")) {
        store_pause(5);
        free(text);
        text = program_read_file("m.prom");
    }
    cr_assert(strstr(text, "# TYPE dcsr_ingest_edges_total counter\ndcsr_ingest_edges_total 2\n"), "%s",
              text);
    free(text);
    for (bool answered = false; !answered; free(text)) {
        kill(process, SIGUSR1);
        store_pause(10);
        text = program_read_file("err");
        answered = strstr(text, "dcsr: 2 edges in ");
    }
    close(pipe);
    expect_end(process, 0);
}

Test(cli_stream, metrics_that_cannot_be_written_are_told_once)
{
    program_write_file("a.el", "0 1\n1 2\n");
    program_result r = program_run("ingest a.el --batch 1 --metrics /dev/full");
    cr_assert(!r.status && strstr(r.err, "dcsr: /dev/full: cannot be written") &&
                  !strchr(strchr(r.err, '\n') + 1, '\n'),
              "%s", r.err);
    program_free(&r);
    r = program_run("ingest a.el --metrics nowhere/m.prom");
    cr_assert(!r.status && strstr(r.err, "nowhere/m.prom") && strstr(r.out, "2 inserted"), "%s", r.err);
    program_free(&r);
}

/* ---- Being watched ---- */

Test(cli_stream, a_store_that_is_filled_can_be_watched)
{
    program_write_file("a.el", "0 1\n1 2\n");
    PROGRAM_FAILS(1, "no store", "watch s#m --count 1");
    cr_assert(!mkfifo("pipe", 0600));
    pid_t process = program_start("--json ingest pipe --into s#m --durable --every 5ms --metrics m.prom");
    const int pipe = open("pipe", O_WRONLY);
    cr_assert(pipe >= 0 && write(pipe, "0 1\n", 4) == 4);
    wait_for_entries("s#m@live", 1);
    program_result r;
    PROGRAM_JSON(r, "--json watch s#m --count 1");
    cr_assert(program_integer(&r, "log_records") >= 1 && program_number(&r, "latency_ms") >= 0);
    PROGRAM_INTEGER(&r, "position", 4);
    program_free(&r);
    r = program_run("watch s#m --count 3 --every 10ms");
    program_expect_done(&r, "watch");
    size_t lines = 0;
    for (const char *c = r.out; *c; c++) lines += *c == '\n';
    cr_assert(lines == 4, "%s", r.out);
    program_free(&r);
    close(pipe);
    expect_end(process, 0);
    PROGRAM_FAILS(1, "no matrix", "watch s#none --count 1");
}
