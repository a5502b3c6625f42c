/* test_cli_relations.c: the commands closure, samegen and cfl: what they report, and where they put it. */
#include "tests/support/program.h"
#include "tests/support/support.h"
#include <stdlib.h>
#include <string.h>

TestSuite(cli_relations, .init = program_begin, .fini = program_end);

static void expect_file(const char *name, const char *expected)
{
    char *text = program_read_file(name);
    cr_assert(text && !strcmp(text, expected), "%s has: %s", name, text ? text : "(it is not there)");
    free(text);
}

Test(cli_relations, closure_counts_and_writes)
{
    program_result r;
    program_write_file("edges.facts", "0\t1\n1\t2\n2\t0\n2\t3\n");
    PROGRAM_JSON(r, "--json closure edges.facts");
    PROGRAM_INTEGER(&r, "pairs", 12);
    PROGRAM_INTEGER(&r, "components", 2);
    PROGRAM_INTEGER(&r, "iterations", 1);
    cr_assert(program_number(&r, "seconds") >= 0 && program_integer(&r, "bytes") > 0);
    program_free(&r);
    program_write_file("path.facts", "0\t1\n1\t2\n");
    PROGRAM_JSON(r, "--json closure path.facts all.facts");
    cr_assert_str_eq(program_string(&r, "file"), "all.facts");
    program_free(&r);
    expect_file("all.facts", "0\t1\n0\t2\n1\t2\n");
    /* Where the edges were. */
    PROGRAM_JSON(r, "--json closure path.facts path.facts");
    PROGRAM_INTEGER(&r, "pairs", 3);
    program_free(&r);
    expect_file("path.facts", "0\t1\n0\t2\n1\t2\n");
}

Test(cli_relations, closure_is_stored_as_a_matrix)
{
    program_result r;
    program_write_file("path.facts", "0\t1\n1\t2\n");
    PROGRAM_JSON(r, "--json closure path.facts s#tc");
    PROGRAM_INTEGER(&r, "pairs", 3);
    PROGRAM_INTEGER(&r, "version", 1);
    program_free(&r);
    PROGRAM_JSON(r, "--json closure path.facts --into s#tc");
    PROGRAM_INTEGER(&r, "pairs", 3);
    program_free(&r);
    PROGRAM_JSON(r, "--json closure s#tc s#tc");
    PROGRAM_INTEGER(&r, "pairs", 3);
    program_free(&r);
    PROGRAM_JSON(r, "--json info s#tc");
    PROGRAM_INTEGER(&r, "nnz", 3);
    program_free(&r);
}

Test(cli_relations, samegen_finds_cousins)
{
    program_result r;
    /* 0 has the children 1 and 2; 3 is a child of 1, 4 of 2. */
    program_write_file("family.facts", "0\t1\n0\t2\n1\t3\n2\t4\n");
    PROGRAM_JSON(r, "--json samegen family.facts same.facts");
    PROGRAM_INTEGER(&r, "pairs", 4);
    cr_assert(program_integer(&r, "iterations") > 0 && program_number(&r, "seconds") >= 0);
    program_free(&r);
    expect_file("same.facts", "1\t2\n2\t1\n3\t4\n4\t3\n");
}

Test(cli_relations, cfl_matches_brackets)
{
    program_result r;
    program_write_file("brackets", "S a T\nT S b\nT b\n");
    program_write_file("graph", "0 1 a\n1 2 a\n2 3 b\n3 4 b\n");
    PROGRAM_JSON(r, "--json cfl brackets graph out.facts");
    PROGRAM_INTEGER(&r, "pairs", 2);
    PROGRAM_INTEGER(&r, "vertices", 5);
    json_t *entries = json_object_get(r.json, "entries"), *second = json_array_get(entries, 1);
    cr_assert(json_array_size(entries) == 2 && json_integer_value(json_object_get(second, "pairs")) == 3);
    cr_assert_str_eq(json_string_value(json_object_get(second, "nonterminal")), "T");
    program_free(&r);
    expect_file("out.facts", "0\t4\n1\t3\n");
    PROGRAM_JSON(r, "--json cfl brackets graph --count T");
    PROGRAM_INTEGER(&r, "pairs", 3);
    program_free(&r);
    program_write_file("fields", "S a_i b_i\nS\n");
    program_write_file("graph", "0 1 a_i 5\n1 2 b_i 5\n1 3 b_i 6\n");
    PROGRAM_JSON(r, "--json cfl fields graph");
    PROGRAM_INTEGER(&r, "pairs", 5);
    program_free(&r);
}

Test(cli_relations, say_what_is_wrong)
{
    program_write_file("wide.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 3 1\n1 3\n");
    program_write_file("bad", "S a b c\n");
    program_write_file("missing", "S a Missing\n");
    program_write_file("graph", "0 1 a\n");
    program_write_file("torn", "0 1\n");
    PROGRAM_FAILS(1, "square", "closure wide.mtx");
    PROGRAM_FAILS(1, "square", "samegen wide.mtx");
    PROGRAM_FAILS(1, "only count them", "closure path:100 x.facts --memory 40k");
    PROGRAM_FAILS(2, "--memory", "closure path:100 --memory nothing");
    PROGRAM_FAILS(2, "leave one of them out", "closure path:3 x.facts --into s#x");
    PROGRAM_FAILS(1, "standard output", "--json closure path:3 /dev/stdout");
    PROGRAM_FAILS(1, "bad:1: the right side", "cfl bad graph");
    PROGRAM_FAILS(1, "missing:1: nothing produces Missing", "cfl missing graph");
    PROGRAM_FAILS(1, "torn:1: the line has 2 words", "cfl missing torn");
    PROGRAM_FAILS(1, "nowhere", "cfl nowhere graph");
    cr_assert(program_folder_holds(5));
}

/* Facts of symbols as Souffle has them: all between two tabs is one. */
static const char calls[] = "main\tcalls f\ncalls f\t\"g\"\n\"g\"\t#h\n";
static const char called[] = "main\tcalls f\nmain\t\"g\"\nmain\t#h\ncalls f\t\"g\"\ncalls f\t#h\n\"g\"\t#h\n";

Test(cli_relations, names_are_read_and_written)
{
    program_result r;
    program_write_file("calls.facts", calls);
    PROGRAM_JSON(r, "--json closure calls.facts --names called.facts");
    PROGRAM_INTEGER(&r, "pairs", 6);
    program_free(&r);
    expect_file("called.facts", called);
    PROGRAM_JSON(r, "--json closure called.facts --names again.facts");
    program_free(&r);
    expect_file("again.facts", called);
    r = program_run("closure calls.facts --names -");
    cr_assert(!r.status && !strncmp(r.out, "main\t\"calls f\"\nmain\t\"\"\"g\"\"\"\n", 27), "%s", r.out);
    program_free(&r);
    /* Matrix Market has no names. */
    PROGRAM_JSON(r, "--json closure calls.facts --names called.mtx");
    program_free(&r);
    PROGRAM_JSON(r, "--json info called.mtx");
    PROGRAM_INTEGER(&r, "nnz", 6);
    program_free(&r);
    program_write_file("family.facts", "Ann Lee\tbob\nAnn Lee\tcarl\n");
    PROGRAM_JSON(r, "--json samegen family.facts --names same.facts");
    program_free(&r);
    expect_file("same.facts", "bob\tcarl\ncarl\tbob\n");
    program_write_file("triangle.facts", "a\tb\nb\tc\nc\ta\n");
    PROGRAM_JSON(r, "--json ktruss triangle.facts --names truss.tsv");
    program_free(&r);
    expect_file("truss.tsv", "a\tb\t3\na\tc\t3\nb\ta\t3\nb\tc\t3\nc\ta\t3\nc\tb\t3\n");
    program_write_file("grammar", "S e e\n");
    program_write_file("graph", "ann bob e\nbob carl e\n");
    PROGRAM_JSON(r, "--json cfl grammar graph --names pairs.facts");
    PROGRAM_INTEGER(&r, "pairs", 1);
    program_free(&r);
    expect_file("pairs.facts", "ann\tcarl\n");
    PROGRAM_JSON(r, "--json cfl grammar graph --names s#pairs");
    program_free(&r);
    r = program_run("row s#pairs ann");
    cr_assert_str_eq(r.out, "carl\n");
    program_free(&r);
    program_write_file("none.facts", "");
    PROGRAM_JSON(r, "--json closure none.facts --names");
    PROGRAM_INTEGER(&r, "pairs", 0);
    program_free(&r);
    PROGRAM_FAILS(1, "read as names", "closure triangle.facts");
    program_write_file("torn.facts", "a\tb\na\n");
    PROGRAM_FAILS(1, "torn.facts:2: 1 column", "closure --names torn.facts");
}

Test(cli_relations, names_are_kept_in_a_store)
{
    program_result r;
    program_write_file("calls.facts", calls);
    PROGRAM_JSON(r, "--json ingest calls.facts --names --into s#calls");
    program_free(&r);
    static const char *const ways[] = {"closure s#calls s#called", "closure s#calls t#called",
                                       "closure s#called s#called", "closure calls.facts --names t#again",
                                       "snapshot s#called u#called"};
    static const char *const made[] = {"s#called", "t#called", "s#called", "t#again", "u#called"};
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        PROGRAM_JSON(r, "--json %s", ways[w]);
        program_free(&r);
        PROGRAM_JSON(r, "--json restore %s out.facts --names", made[w]);
        program_free(&r);
        expect_file("out.facts", called);
    }
    /* Names stay with what they name. */
    program_write_file("other.facts", "x\ty\n");
    PROGRAM_FAILS(1, "vertex 0 has another name", "closure other.facts --names s#called");
    PROGRAM_FAILS(1, "its vertices have names", "closure path:3 s#called");
    PROGRAM_FAILS(1, "its vertices have names", "snapshot path:3 s#called");
    PROGRAM_JSON(r, "--json snapshot path:3 s#path");
    program_free(&r);
    PROGRAM_FAILS(1, "have no names", "closure s#calls s#path");
    PROGRAM_FAILS(2, "a stored matrix has its names", "closure s#calls --names");
    PROGRAM_JSON(r, "--json restore s#called out.facts --names");
    program_free(&r);
    expect_file("out.facts", called);
}

Test(cli_relations, growth_is_drawn)
{
    program_result r = program_run("closure er:2000,3000 --plot growth.png");
    if (r.status && strstr(r.err, "needs gnuplot")) cr_skip("gnuplot is not installed");
    program_expect_done(&r, "closure --plot");
    program_free(&r);
    PROGRAM_JSON(r, "--json samegen er:300,400 --plot rounds.png");
    cr_assert_str_eq(program_string(&r, "plot"), "rounds.png");
    program_free(&r);
    static const char *const pictures[] = {"growth.png", "rounds.png"};
    for (int k = 0; k < 2; k++) {
        char *bytes = program_read_file(pictures[k]);
        cr_assert(bytes && !memcmp(bytes, "\x89PNG", 4));
        free(bytes);
    }
    PROGRAM_FAILS(1, "PNG", "closure path:3 --plot growth.jpg");
}

Test(cli_relations, progress_is_shown_where_it_is_wanted)
{
    program_result r = program_run("closure path:3 --progress");
    cr_assert(!r.status && strstr(r.err, "dcsr: loading path:3\n"), "%s", r.err);
    program_free(&r);
    r = program_run("closure path:3");
    cr_assert(!r.status && !*r.err, "%s", r.err);
    program_free(&r);
}
