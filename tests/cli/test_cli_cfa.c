/* test_cli_cfa.c: the command cfa: what it reports, what it writes, and what it says of code that it cannot read. */
#include "tests/support/program.h"
#include "tests/support/support.h"
#include <stdlib.h>
#include <string.h>

TestSuite(cli_cfa, .init = program_begin, .fini = program_end);

static const char twice[] = "(define (twice f) (lambda (x) (f (f x))))\n"
                            "(define inc (lambda (n) (+ n 1)))\n"
                            "((twice inc) 5)\n";

static void expect_in_file(const char *name, const char *expected)
{
    char *text = program_read_file(name);
    cr_assert(text && strstr(text, expected), "%s has: %s", name, text ? text : "(it is not there)");
    free(text);
}

Test(cli_cfa, reports_and_writes)
{
    program_result r;
    program_write_file("p.scm", twice);
    PROGRAM_JSON(r, "--json cfa p.scm --calls calls --flows flows --dot graph.dot");
    PROGRAM_INTEGER(&r, "states", 8);
    PROGRAM_INTEGER(&r, "reachable", 8);
    cr_assert(program_integer(&r, "addresses") > program_integer(&r, "values"));
    cr_assert(program_integer(&r, "store_nnz") >= program_integer(&r, "values"));
    cr_assert(program_integer(&r, "iterations") > 0 && program_number(&r, "seconds") >= 0);
    cr_assert_str_eq(program_string(&r, "dot"), "graph.dot");
    cr_assert(json_array_size(json_object_get(r.json, "unbound")) == 0);
    program_free(&r);
    expect_in_file("calls", "p.scm:3:2\ttwice\ttwice p.scm:1:1\n");
    expect_in_file("calls", "p.scm:1:31\tf\tinc p.scm:2:13\n");
    expect_in_file("flows", "f p.scm:1:16\tinc p.scm:2:13\n");
    expect_in_file("graph.dot", "\"lambda p.scm:1:19\" -> \"inc p.scm:2:13\";\n");
}

/* Several files are one program, whether they are named together or added later. */
Test(cli_cfa, goes_on_from_the_solution)
{
    program_result together, later;
    program_write_file("p.scm", twice);
    program_write_file("edit.scm", "(define dec (lambda (m) (- m 1)))\n((twice dec) 7)\n");
    PROGRAM_JSON(together, "--json cfa p.scm edit.scm --calls together");
    PROGRAM_JSON(later, "--json cfa p.scm --add edit.scm --calls later");
    json_t *steps = json_object_get(later.json, "steps"), *step = json_array_get(steps, 0);
    cr_assert(json_array_size(steps) == 1);
    cr_assert_str_eq(json_string_value(json_object_get(step, "file")), "edit.scm");
    cr_assert_eq(json_integer_value(json_object_get(step, "reachable")),
                 program_integer(&together, "reachable"));
    cr_assert_eq(json_integer_value(json_object_get(step, "store_nnz")),
                 program_integer(&together, "store_nnz"));
    cr_assert(json_integer_value(json_object_get(step, "inserted")) < program_integer(&together, "inserted"));
    program_free(&together);
    program_free(&later);
    char *a = program_read_file("together"), *b = program_read_file("later");
    cr_assert(a && b && !strcmp(a, b), "%s\n%s", a ? a : "", b ? b : "");
    free(a);
    free(b);
}

Test(cli_cfa, names_what_nothing_binds)
{
    program_result r;
    program_write_file("p.scm", "(define (f x) (g x))\n(f 1)\n");
    r = program_run("--json cfa p.scm");
    cr_assert(r.status == 0 && r.json, "%s", r.err);
    json_t *unbound = json_object_get(r.json, "unbound"), *first = json_array_get(unbound, 0);
    cr_assert(json_array_size(unbound) == 1 && json_integer_value(json_object_get(first, "line")) == 1);
    cr_assert_str_eq(json_string_value(json_object_get(first, "name")), "g");
    cr_assert(strstr(r.err, "p.scm:1:16: nothing binds g"), "%s", r.err);
    program_free(&r);
}

Test(cli_cfa, says_what_is_wrong)
{
    program_write_file("open.scm", "(let ((x 1)\n");
    program_write_file("good.scm", twice);
    PROGRAM_FAILS(1, "open.scm:1:6: the list that begins here is not closed", "cfa open.scm");
    PROGRAM_FAILS(1, "open.scm:1:6", "cfa good.scm --add open.scm --calls calls");
    PROGRAM_FAILS(1, "nowhere.scm", "cfa nowhere.scm");
    PROGRAM_FAILS(1, "no/such/folder", "cfa good.scm --dot no/such/folder");
    PROGRAM_FAILS(1, "standard output", "--json cfa good.scm --calls -");
    PROGRAM_FAILS(1, "another result", "cfa good.scm --calls - --flows -");
    PROGRAM_FAILS(2, "FILE", "cfa");
    cr_assert(program_folder_holds(2), "a failure left a file");
}
