/* test_cli_row.c: `dcsr row`, vertices by their names, and matrices on standard output. */
#include "tests/support/program.h"
#include <stdlib.h>
#include <string.h>

TestSuite(cli_row, .init = program_begin, .fini = program_end, .timeout = 300);

Test(cli_row, a_row_is_printed_by_number_or_name)
{
    program_write_file("v.csv", "ann,bob,2.5\nann,carl,-1\nbob,ann,3\n");
    program_result r = program_run("row poisson2d5:3 4");
    program_expect_done(&r, "row");
    cr_assert_str_eq(r.out, "1\t-1\n3\t-1\n4\t4\n5\t-1\n7\t-1\n");
    program_free(&r);
    r = program_run("row path:3 0 --limit 0");
    cr_assert_str_eq(r.out, "and 1 more; see --limit\n");
    program_free(&r);
    PROGRAM_FAILS(1, "there is no row 3", "row path:3 3");
    PROGRAM_FAILS(2, "must be a whole number", "row path:3 x");
    PROGRAM_JSON(r, "--json ingest v.csv --names --separator , --into s#m");
    program_free(&r);
    r = program_run("row s#m ann");
    cr_assert_str_eq(r.out, "bob\t2.5\ncarl\t-1\n");
    program_free(&r);
    PROGRAM_FAILS(1, "no vertex has the name '0'", "row s#m 0");
    PROGRAM_JSON(r, "--json bfs s#m --source bob");
    cr_assert_str_eq(program_string(&r, "source_name"), "bob");
    PROGRAM_INTEGER(&r, "source", 1);
    PROGRAM_INTEGER(&r, "reached", 3);
    program_free(&r);
    PROGRAM_FAILS(1, "no vertex has the name 'dora'", "bfs s#m --source dora");
}

Test(cli_row, what_has_names_is_written_with_them)
{
    program_result r;
    program_write_file("v.csv", "ann,\"x, y\"\nann,\"say \"\"hi\"\"\"\n\"#1\",ann\n");
    PROGRAM_JSON(r, "--json ingest v.csv --names --separator , --into s#m");
    program_free(&r);
    PROGRAM_JSON(r, "--json info s#m");
    PROGRAM_INTEGER(&r, "names", 4);
    program_free(&r);
    static const char *const files[][2] = {{"w.csv", "ann,\"x, y\"\nann,\"say \"\"hi\"\"\"\n\"#1\",ann\n"},
                                           {"w.el", "ann\t\"x, y\"\nann\t\"say \"\"hi\"\"\"\n\"#1\"\tann\n"},
                                           {"w.facts", "ann\tx, y\nann\tsay \"hi\"\n#1\tann\n"}};
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        PROGRAM_JSON(r, "--json restore s#m %s --names", files[f][0]);
        PROGRAM_INTEGER(&r, "nnz", 3);
        program_free(&r);
        char *text = program_read_file(files[f][0]);
        cr_assert_str_eq(text, files[f][1]);
        free(text);
        PROGRAM_JSON(r, "--json ingest %s --names --into s#again%zu", files[f][0], f);
        PROGRAM_INTEGER(&r, "names", 4);
        program_free(&r);
        r = program_run("row s#again%zu '#1'", f);
        cr_assert_str_eq(r.out, "ann\n");
        program_free(&r);
    }
    PROGRAM_FAILS(1, "only an edge list has names", "restore s#m w.mtx --names");
    PROGRAM_JSON(r, "--json snapshot path:3 s#p");
    program_free(&r);
    PROGRAM_FAILS(1, "have no names", "restore s#p w.el --names");
}

Test(cli_row, a_symmetric_matrix_is_written_as_one)
{
    program_result r = program_run("convert poisson2d5:2 -");
    program_expect_done(&r, "convert");
    cr_assert_str_eq(r.out,
                     "%%MatrixMarket matrix coordinate real symmetric\n4 4 8\n1 1 4\n2 1 -1\n2 2 4\n3 1 -1\n"
                     "3 3 4\n4 2 -1\n4 3 -1\n4 4 4\n");
    program_free(&r);
    static const char *const files[][2] = {{"0 1 2\n1 0 2\n", "symmetric"}, {"0 1 2\n1 0 3\n", "general"},
                                           {"0 1\n1 0\n", "symmetric"},     {"0 1\n", "general"},
                                           {"0 1\n1 2\n", "general"},       {"", "symmetric"}};
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        program_write_file("a.el", files[f][0]);
        PROGRAM_JSON(r, "--json convert a.el a.mtx");
        PROGRAM_INTEGER(&r, "symmetric", *files[f][1] == 's');
        program_free(&r);
        char *text = program_read_file("a.mtx");
        cr_assert(strstr(text, files[f][1]), "%s", text);
        free(text);
        PROGRAM_JSON(r, "--json convert a.el a.mtx --general");
        PROGRAM_INTEGER(&r, "symmetric", 0);
        program_free(&r);
    }
    PROGRAM_JSON(r, "--json snapshot poisson2d5:9 s#m");
    program_free(&r);
    r = program_run("restore s#m - >a.mtx");
    program_expect_done(&r, "restore");
    program_free(&r);
    PROGRAM_JSON(r, "--json spmv - <a.mtx");
    PROGRAM_INTEGER(&r, "nnz", 369);
    program_free(&r);
}
