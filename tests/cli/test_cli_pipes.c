/* test_cli_pipes.c: MATRIX files that can be read only once: named pipes with writers that take their time,
 * and descriptors that the program was given. */
#include "tests/support/program.h"
#include "tests/support/support_store.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

/* How matrices come in is the same on any device. */
static void begin(void)
{
    setenv("DCSR_DEVICE", "cpu", 1);
    program_begin();
}

TestSuite(cli_pipes, .init = begin, .fini = program_end, .timeout = 300);

enum { EDGES = 60000, GZIP_WINDOW = 15 + 16, MOST_SLICE = 6000 };

typedef struct bytes {
    char *data;
    size_t length;
} bytes;

/* A path of so many edges, with values or without, behind a head. */
static bytes path_text(const char *head, int base, int edges, const char *value)
{
    bytes text;
    FILE *stream = open_memstream(&text.data, &text.length);
    cr_assert(stream);
    fputs(head, stream);
    for (int e = base; e < edges + base; e++) fprintf(stream, "%d %d%s\n", e, e + 1, value);
    cr_assert(fclose(stream) == 0);
    return text;
}

/* As gzip members of so many bytes of text each. */
static bytes pack(bytes text, size_t member)
{
    const size_t room = text.length + text.length / member * 100 + 1000;
    bytes packed = {malloc(room), 0};
    for (size_t at = 0; at < text.length; at += member) {
        z_stream stream = {0};
        cr_assert(deflateInit2(&stream, 6, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) == Z_OK);
        stream.next_in = (unsigned char *)text.data + at;
        stream.avail_in = (uInt)(text.length - at < member ? text.length - at : member);
        stream.next_out = (unsigned char *)packed.data + packed.length;
        stream.avail_out = (uInt)(room - packed.length);
        cr_assert(deflate(&stream, Z_FINISH) == Z_STREAM_END);
        packed.length += stream.total_out;
        deflateEnd(&stream);
    }
    return packed;
}

/* Writes all of it in pieces, small ones first, with pauses, and gives up when nobody reads. */
static void write_slowly(const char *name, bytes content)
{
    const int pipe = open(name, O_WRONLY);
    size_t piece = 1;
    for (size_t at = 0; pipe >= 0 && at < content.length;) {
        size_t part = content.length - at < piece ? content.length - at : piece;
        ssize_t done = write(pipe, content.data + at, part);
        if (done <= 0) _exit(1);
        at += (size_t)done;
        piece = 2 * piece + 1 < MOST_SLICE ? 2 * piece + 1 : MOST_SLICE;
        store_pause(1);
    }
    close(pipe);
}

/* A process that writes into pipes, which it makes, one after the other. */
static pid_t start_writer(int n, const char *const *names, const bytes *contents)
{
    for (int i = 0; i < n; i++) cr_assert(mkfifo(names[i], 0600) == 0);
    pid_t writer = fork();
    cr_assert(writer >= 0);
    if (writer) return writer;
    alarm(20);
    for (int i = 0; i < n; i++) write_slowly(names[i], contents[i]);
    _exit(0);
}

/* It has got rid of everything. */
static void expect_written(pid_t writer)
{
    int how;
    cr_assert(waitpid(writer, &how, 0) == writer && WIFEXITED(how) && !WEXITSTATUS(how),
              "the writer was cut off");
}

static void end_writer(pid_t writer)
{
    kill(writer, SIGKILL);
    waitpid(writer, NULL, 0);
}

static pid_t start_one(const char *name, bytes content)
{
    return start_writer(1, &name, &content);
}

/* ---- What arrives ---- */

static const char market[] = "%%MatrixMarket matrix coordinate real general\n60001 60001 60000\n";

/* Each in all of the ways to ingest. */
static void ingest_slowly(const char *pipe, bytes content)
{
    static const char *const ways[] = {"", "--into s#plain", "--into s#durable --durable --batch 10k"};
    for (int w = 0; w < 3; w++) {
        program_result r;
        pid_t writer = start_one(pipe, content);
        PROGRAM_JSON(r, "--json ingest %s %s", pipe, ways[w]);
        PROGRAM_INTEGER(&r, "inserted", EDGES);
        PROGRAM_INTEGER(&r, "nnz", EDGES);
        PROGRAM_INTEGER(&r, "rows", EDGES + 1);
        program_free(&r);
        expect_written(writer);
        cr_assert(unlink(pipe) == 0);
    }
    cr_assert(system("rm -rf s") == 0);
    free(content.data);
}

Test(cli_pipes, every_edge_arrives)
{
    ingest_slowly("edges.el", path_text("# a comment\n", 0, EDGES, ""));
    ingest_slowly("values.csv", path_text("", 0, EDGES, ",0.5"));
    ingest_slowly("market.mtx", path_text(market, 1, EDGES, " 0.5"));
}

Test(cli_pipes, every_edge_arrives_compressed)
{
    bytes edges = path_text("# a comment\n", 0, EDGES, ""), values = path_text(market, 1, EDGES, " 0.5");
    ingest_slowly("edges.el.gz", pack(edges, edges.length));
    ingest_slowly("members.el.gz", pack(edges, 70000));
    ingest_slowly("market.mtx.gz", pack(values, values.length));
    free(edges.data);
    free(values.data);
}

Test(cli_pipes, what_a_pipe_without_an_ending_holds_tells_what_it_is)
{
    bytes edges = path_text("", 0, EDGES, ""), values = path_text(market, 1, EDGES, " 0.5");
    const bytes contents[] = {edges, values, pack(edges, edges.length), pack(values, values.length)};
    for (int i = 0; i < 4; i++) {
        program_result r;
        pid_t writer = start_one("pipe", contents[i]);
        PROGRAM_JSON(r, "--json info pipe");
        PROGRAM_INTEGER(&r, "nnz", EDGES);
        cr_assert_str_eq(program_string(&r, "type"), i % 2 ? "fp64" : "pattern");
        program_free(&r);
        expect_written(writer);
        unlink("pipe");
        free(contents[i].data);
    }
}

Test(cli_pipes, every_command_reads_them)
{
    static const char *const lines[] = {"info p.el",         "spmv p.el",
                                        "convert p.el x.el", "snapshot p.el s#m",
                                        "spy p.el x.png",    "bench mxv --repeat 1 --matrix p.el"};
    bytes content = path_text("", 0, EDGES, "");
    program_result r;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        pid_t writer = start_one("p.el", content);
        PROGRAM_JSON(r, "--json %s", lines[i]);
        PROGRAM_INTEGER(&r, "nnz", EDGES);
        program_free(&r);
        expect_written(writer);
        unlink("p.el");
    }
    pid_t writer = start_one("p.el", content);
    PROGRAM_JSON(r, "--json bfs p.el --source 1 --repeat 1");
    PROGRAM_INTEGER(&r, "reached", EDGES);
    program_free(&r);
    expect_written(writer);
    free(content.data);
}

/* The writer opens the second pipe when the first has been read. */
Test(cli_pipes, several_are_read_in_their_order)
{
    static const char *const names[] = {"a.el", "b.csv", "c.el"};
    const bytes contents[] = {path_text("", 0, EDGES, ""), path_text("", 0, EDGES, ",2"),
                              path_text("", 7, EDGES, "")};
    program_result r;
    pid_t writer = start_writer(3, names, contents);
    PROGRAM_JSON(r, "--json ingest a.el b.csv path:5 --delete c.el");
    PROGRAM_INTEGER(&r, "inserted", 2 * EDGES + 4);
    PROGRAM_INTEGER(&r, "nnz", 7);
    cr_assert_str_eq(program_string(&r, "type"), "fp64");
    program_free(&r);
    expect_written(writer);
    for (int i = 0; i < 3; i++) free(contents[i].data);
}

/* More files than a process may have open unless it asks; all are looked at before the first is read. */
Test(cli_pipes, many_files_can_be_open)
{
    program_result r;
    struct rlimit limit;
    cr_assert(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = 40;
    cr_assert(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    cr_assert(system("i=0; while [ $i -lt 60 ]; do echo $i 7 >$i.el; i=$((i+1)); done") == 0);
    PROGRAM_JSON(r, "--json ingest *.el");
    PROGRAM_INTEGER(&r, "nnz", 60);
    program_free(&r);
}

/* ---- Descriptors ---- */

Test(cli_pipes, standard_input_and_descriptors_are_read_where_they_are)
{
    program_write_file("x.el", "0 1\n1 2\n");
    program_result r;
    PROGRAM_JSON(r, "--json info /dev/stdin <x.el");
    PROGRAM_INTEGER(&r, "nnz", 2);
    program_free(&r);
    program_write_file("open.el", "0 1\n1 2"); /* a file is as long as it is */
    PROGRAM_JSON(r, "--json info /dev/stdin <open.el");
    PROGRAM_INTEGER(&r, "nnz", 2);
    program_free(&r);
    PROGRAM_JSON(r, "--json ingest /dev/fd/7 x.el 7<x.el");
    PROGRAM_INTEGER(&r, "inserted", 4);
    program_free(&r);
    PROGRAM_FAILS(1, "/dev/fd/8: cannot be opened", "info /dev/fd/8 8<&-");
    PROGRAM_JSON(r, "--json info /dev/null");
    PROGRAM_INTEGER(&r, "nnz", 0);
    program_free(&r);
    int ends[2];
    cr_assert(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    cr_assert(write(ends[1], "0 1\n5 6\n", 8) == 8 && shutdown(ends[1], SHUT_WR) == 0);
    PROGRAM_JSON(r, "--json info /dev/fd/%d", ends[0]);
    PROGRAM_INTEGER(&r, "rows", 7);
    program_free(&r);
    close(ends[0]);
    close(ends[1]);
}

/* ---- What breaks off ---- */

/* What comes before the end of the content is in, in a version. */
static void expect_broken_off(const char *pipe, bytes content, size_t length, const char *words,
                              int64_t least)
{
    pid_t writer = start_one(pipe, (bytes){content.data, length});
    program_result r = program_run("--json ingest path:3 %s --into s#m --durable", pipe);
    cr_assert(r.status == 1 && r.json && strstr(r.err, words), "%s%s", r.out, r.err);
    cr_assert(strstr(program_error(&r, "message"), words));
    const int64_t nnz = program_integer(&r, "nnz");
    cr_assert(nnz == (least < 2 ? 2 : least) || least < 0, "%lld edges", (long long)nnz);
    PROGRAM_INTEGER(&r, "version", 2);
    program_free(&r);
    PROGRAM_JSON(r, "--json bfs s#m --source 0");
    PROGRAM_INTEGER(&r, "reached", nnz + 1);
    program_free(&r);
    end_writer(writer);
    cr_assert(unlink(pipe) == 0 && system("rm -r s") == 0);
}

Test(cli_pipes, a_writer_that_stops_is_noticed_and_all_before_is_in)
{
    bytes edges = path_text("", 0, EDGES, ""), packed = pack(edges, edges.length);
    char *line = strstr(edges.data, "\n59998 59999\n");
    const size_t before = (size_t)(line + 1 - edges.data);
    expect_broken_off("p.el", edges, before + 6, "p.el:59999: the input stops within this line", 59998);
    expect_broken_off("p.el", edges, before + 9, "p.el:59999: the input stops within this line", 59998);
    expect_broken_off("pipe", edges, edges.length - 1, "pipe:60000: the input stops within this line", 59999);
    expect_broken_off("p.el.gz", packed, packed.length / 2, "truncated at byte", -1);
    expect_broken_off("p.el.gz", packed, packed.length - 1, "truncated at byte", EDGES);
    pid_t writer = start_one("pipe", (bytes){packed.data, 5}); /* nothing at all: it is not begun with */
    PROGRAM_FAILS(1, "truncated at byte 5", "ingest path:3 pipe --into s#m --durable");
    end_writer(writer);
    line[3] = 'x';
    expect_broken_off("p.el", edges, edges.length, "p.el:59999: expected a row number", 59998);
    free(edges.data);
    free(packed.data);
}

Test(cli_pipes, a_compressed_text_may_end_anywhere)
{
    bytes text = {"0 1\n1 2", 7}, packed = pack(text, 7);
    program_result r;
    pid_t writer = start_one("p.el.gz", packed);
    PROGRAM_JSON(r, "--json info p.el.gz");
    PROGRAM_INTEGER(&r, "nnz", 2);
    program_free(&r);
    expect_written(writer);
    free(packed.data);
}
