/* test_cli_files.c: files that commands read and write: what is told of their content, and what may be
 * replaced. */
#include "tests/support/program.h"
#include "dcsr/io/gzip.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(cli_files, .init = program_begin, .fini = program_end);

static void expect_content(const char *name, const char *content)
{
    char *found = program_read_file(name);
    cr_assert(found && !strcmp(found, content), "%s holds: %s", name, found);
    free(found);
}

static bool is_picture(const char *name)
{
    char *found = program_read_file(name);
    bool is = found && !strncmp(found, "\x89PNG\r\n", 6);
    free(found);
    return is;
}

/* Succeeds with one line on stderr, or none, that has the words in it. */
static program_result told(const char *words, const char *line)
{
    program_result r = program_run("%s", line);
    const char *newline = strchr(r.err, '\n');
    cr_assert(r.status == 0 && r.json, "%s ended with %d: %s", line, r.status, r.err);
    cr_assert(!words == !newline && (!newline || !newline[1]), "%s said: %s", line, r.err);
    cr_assert(!words || (!strncmp(r.err, "dcsr: ", 6) && strstr(r.err, words)), "%s said: %s", line, r.err);
    return r;
}

/* ---- Entries that stand more than once ---- */

Test(cli_files, what_becomes_of_equal_entries_is_told)
{
    static const struct {
        const char *line, *words;
        int64_t nnz, combined;
        double sum;
    } cases[] = {
        {"spmv v.el",
         "v.el: 3 of 5 entries repeat an earlier one and were combined with it: the last value stays", 2, 3,
         3 + 10},
        {"spmv v.el --op last", "(--op last)", 2, 3, 3 + 10},
        {"spmv v.el --op sum", "values were added (--op sum)", 2, 3, 10 + 10},
        {"spmv v.el --op min", "the least value stays", 2, 3, 1 + 10},
        {"spmv v.el --op max", "the largest value stays", 2, 3, 4 + 10},
        {"spmv v.el --op any", "one of them stays", 2, 3, 2 + 10},
        {"spmv v.el --op keep",
         "3 of 5 entries repeat an earlier one; with --op keep they stand side by side", 5, 0, 10 + 10},
        {"spmv p.el",
         "2 of 4 entries repeat an earlier one and were combined with it: one of them stays (--op any)", 2, 2,
         3},
        {"spmv p.el --op sum", "one of them stays (--op sum)", 2, 2, 3},
        {"spmv p.el --op keep", "2 of 4 entries", 4, 0, 5},
        {"spmv s.mtx", "2 of 5 entries repeat an earlier one", 3, 2, 7 + 2 + 1},
        {"spmv once.el --op sum", NULL, 2, 0, 3}};
    program_write_file("v.el", "0 0 2\n1 1 5\n0 0 4\n0 0 1\n0 0 3\n");
    program_write_file("p.el", "0 0\n0 1\n0 0\n0 0\n");
    program_write_file("once.el", "0 0\n0 1\n");
    program_write_file("s.mtx",
                       "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n2 1 3\n1 1 7\n2 1 1\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[100];
        snprintf(line, sizeof line, "--json %s", cases[i].line);
        program_result r = told(cases[i].words, line);
        PROGRAM_INTEGER(&r, "nnz", cases[i].nnz);
        PROGRAM_INTEGER(&r, "combined", cases[i].combined);
        cr_assert(program_number(&r, "checksum") == cases[i].sum, "%s gives %g", line,
                  program_number(&r, "checksum"));
        program_free(&r);
    }
}

Test(cli_files, every_command_tells_it)
{
    static const char *const lines[] = {"info p.el",
                                        "convert p.el x.el",
                                        "snapshot p.el s#m",
                                        "spmv p.el",
                                        "bfs p.el --source 0",
                                        "spy p.el x.png",
                                        "bench mxv --repeat 1 --matrix p.el"};
    program_write_file("p.el", "0 0\n0 1\n0 0\n0 0\n");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char line[100];
        snprintf(line, sizeof line, "--json %s", lines[i]);
        program_result r = told("p.el: 2 of 4 entries repeat an earlier one", line);
        PROGRAM_INTEGER(&r, "combined", 2);
        program_free(&r);
        snprintf(line, sizeof line, "--json %s --op keep", lines[i]);
        if (i == 2) strcpy(line, "--json snapshot p.el s#kept --op keep");
        r = told("stand side by side", line);
        PROGRAM_INTEGER(&r, "combined", 0);
        program_free(&r);
        PROGRAM_FAILS(2, "--op must be keep", "%s --op mean", lines[i]);
    }
    expect_content("x.el", "0\t0\n0\t0\n0\t0\n0\t1\n");
}

/* Generators make them on purpose; what is stored has its rule. */
Test(cli_files, op_is_for_what_is_read)
{
    program_result r = told(NULL, "--json snapshot er:10,1000 s#m --op keep");
    PROGRAM_INTEGER(&r, "nnz", 1000);
    program_free(&r);
    r = told(NULL, "--json info er:10,1000");
    PROGRAM_INTEGER(&r, "combined", 1000 - program_integer(&r, "nnz"));
    program_free(&r);
    r = told(NULL, "--json info s#m --op keep");
    PROGRAM_INTEGER(&r, "nnz", 1000);
    cr_assert_str_eq(program_string(&r, "op"), "keep");
    program_free(&r);
    PROGRAM_FAILS(1, "s#m has been made with --op keep, and keeps that", "info s#m --op sum");
    r = told(NULL, "--json ingest s#m --op max"); /* a new matrix */
    cr_assert_str_eq(program_string(&r, "op"), "max");
    program_free(&r);
}

/* ---- Relations ---- */

Test(cli_files, a_relation_has_two_columns)
{
    program_result r;
    program_write_file("edge.facts", "0\t1\n5\t2\n");
    program_write_file("call.facts", "0\t1\n5\t2\t7\n");
    program_write_file("name.facts", "0\t1\nmain\tf\n");
    PROGRAM_JSON(r, "--json convert edge.facts copy.facts");
    PROGRAM_INTEGER(&r, "nnz", 2);
    program_free(&r);
    expect_content("copy.facts", "0\t1\n5\t2\n");
    PROGRAM_FAILS(1, "call.facts:2: a relation of 3 columns; an edge has two", "info call.facts");
    PROGRAM_FAILS(1, "call.facts:2: a relation of 3 columns; an edge has two", "ingest call.facts");
    PROGRAM_FAILS(1, "name.facts:2: 'main' is no row number: symbols must be numbered", "spmv name.facts");
    PROGRAM_FAILS(1, "x.facts: a relation has no place for the values", "convert poisson2d5:3 x.facts");
    cr_assert(program_folder_holds(4));
}

/* ---- Compressed files ---- */

/* Appends one gzip member with the text. */
static void append_member(const char *name, const char *text)
{
    unsigned char packed[1000];
    z_stream stream = {.next_in = (unsigned char *)(uintptr_t)text, .avail_in = (uInt)strlen(text)};
    stream.next_out = packed;
    stream.avail_out = sizeof packed;
    cr_assert(deflateInit2(&stream, 6, Z_DEFLATED, DCSR_I_GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    cr_assert(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    FILE *file = fopen(name, "ab");
    cr_assert(file && fwrite(packed, 1, stream.total_out, file) == stream.total_out && fclose(file) == 0);
    deflateEnd(&stream);
}

Test(cli_files, what_is_behind_compressed_data_is_ignored_and_told)
{
    static const char *const lines[] = {"--json info a.el.gz", "--json convert a.el.gz x.el",
                                        "--json ingest a.el.gz"};
    append_member("a.el.gz", "0 1\n1 2");
    append_member("a.el.gz", "3\n2 3\n");
    program_result r = told(NULL, lines[0]);
    PROGRAM_INTEGER(&r, "nnz", 3);
    PROGRAM_INTEGER(&r, "rows", 24);
    program_free(&r);
    cr_assert(system("printf 'a signature' >>a.el.gz") == 0);
    for (int i = 0; i < 3; i++) {
        r = told("a.el.gz: 11 bytes behind the compressed data, from byte ", lines[i]);
        PROGRAM_INTEGER(&r, "nnz", 3);
        program_free(&r);
    }
    cr_assert(system("truncate -s 40 a.el.gz") == 0);
    PROGRAM_FAILS(1, "truncated at byte 40", "info a.el.gz");
}

/* ---- What is written ---- */

Test(cli_files, a_picture_replaces_pictures_alone)
{
    static const char matrix[] = "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n";
    static const char *const taken[] = {"B.mtx", "B", "B.png.gz", ".png", "/dev/null"};
    program_result r;
    program_write_file("B.mtx", matrix);
    program_write_file("matrix.png", matrix);
    program_write_file("edges.png", "0 1\n");
    program_write_file("empty.png", "");
    cr_assert(symlink("B.mtx", "link.png") == 0);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        PROGRAM_FAILS(1, "give it a name that ends in .png", "spy path:3 %s", taken[i]);
    PROGRAM_FAILS(1, "is not a PNG picture; remove it", "spy path:3 matrix.png");
    PROGRAM_FAILS(1, "is not a PNG picture; remove it", "spy path:3 edges.png");
    PROGRAM_FAILS(1, "is not a PNG picture; remove it", "spy path:3 link.png");
    PROGRAM_FAILS(1, "B.mtx", "spy missing.el B.mtx"); /* before anything is read */
    expect_content("B.mtx", matrix);
    expect_content("matrix.png", matrix);
    expect_content("edges.png", "0 1\n");
    for (int i = 0; i < 2; i++) {
        PROGRAM_JSON(r, "--json spy path:%d new.PNG", 3 + i);
        program_free(&r);
        cr_assert(is_picture("new.PNG"));
    }
    PROGRAM_JSON(r, "--json spy path:3 empty.png");
    program_free(&r);
    cr_assert(is_picture("empty.png") && program_folder_holds(6));
}

/* As on a disk that is full. */
Test(cli_files, a_picture_that_cannot_be_written_leaves_the_old_one)
{
    program_result r;
    struct rlimit limit;
    struct stat before, after;
    PROGRAM_JSON(r, "--json spy path:3 p.png --size 16");
    program_free(&r);
    cr_assert(stat("p.png", &before) == 0);
    signal(SIGXFSZ, SIG_IGN);
    cr_assert(!getrlimit(RLIMIT_FSIZE, &limit));
    limit.rlim_cur = 2000;
    cr_assert(!setrlimit(RLIMIT_FSIZE, &limit));
    PROGRAM_FAILS(1, "p.png: cannot be written: File too large; what was there before is unchanged",
                  "--device cpu spy er:300,9000 p.png");
    cr_assert(stat("p.png", &after) == 0 && after.st_ino == before.st_ino && after.st_size == before.st_size);
    cr_assert(is_picture("p.png") && program_folder_holds(1));
}

Test(cli_files, a_matrix_may_replace_itself)
{
    program_result r;
    program_write_file("a.el", "5 1\n0 2\n");
    for (int i = 0; i < 2; i++) {
        PROGRAM_JSON(r, "--json convert a.el a.el");
        program_free(&r);
        expect_content("a.el", "0\t2\n5\t1\n");
    }
    cr_assert(program_folder_holds(1));
}

Test(cli_files, matrices_go_into_pipes_and_to_standard_output)
{
    static const char content[] = "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n2 3\n";
    program_result r = program_run("convert path:3 /dev/stdout");
    program_expect_done(&r, "convert to /dev/stdout");
    cr_assert_str_eq(r.out, content);
    program_free(&r);
    r = program_run("convert path:3 /dev/stdout >x.mtx");
    program_expect_done(&r, "convert to /dev/stdout");
    program_free(&r);
    expect_content("x.mtx", content);
    PROGRAM_FAILS(1, "--json puts its object", "--json convert path:3 /dev/stdout");
    PROGRAM_FAILS(1, "/dev/full: cannot be written: No space left on device", "convert path:3 /dev/full");
    PROGRAM_JSON(r, "--json snapshot path:3 s#m");
    program_free(&r);
    cr_assert(mkfifo("p.el", 0600) == 0 && system("cat p.el >copy & exit") == 0);
    PROGRAM_JSON(r, "--json restore s#m p.el");
    PROGRAM_INTEGER(&r, "nnz", 2);
    program_free(&r);
    struct stat there;
    while (stat("copy", &there) || !there.st_size) usleep(1000);
    expect_content("copy", "0\t1\n1\t2\n");
    cr_assert(stat("p.el", &there) == 0 && S_ISFIFO(there.st_mode));
}
