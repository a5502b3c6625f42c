/* test_cli_bench.c: `dcsr bench`: every operation that it lists, on small matrices of which all is known. */
#include "tests/support/program.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(cli_bench, .init = program_begin, .fini = program_end);

/* 3 x 4, five entries. */
static const char small[] =
    "%%MatrixMarket matrix coordinate real general\n3 4 5\n1 1 1\n1 4 2\n2 2 3\n3 1 4\n3 3 5\n";

Test(cli_bench, lists_operations_and_runs_each)
{
    program_write_file("square.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 1\n1 3 2\n2 "
                                     "2 3\n3 1 4\n");
    program_result names;
    PROGRAM_JSON(names, "--json bench list");
    cr_assert(json_object_size(names.json) >= 20);
    const char *name;
    json_t *summary;
    json_object_foreach(names.json, name, summary)
    {
        program_result r;
        cr_assert(*json_string_value(summary), "%s has no summary", name);
        PROGRAM_JSON(r, "--json bench %s --matrix square.mtx --repeat 2 --mask-density 0.5", name);
        cr_assert_str_eq(program_string(&r, "operation"), name);
        cr_assert_str_eq(program_string(&r, "type"), "fp64");
        PROGRAM_INTEGER(&r, "nnz", 4);
        PROGRAM_INTEGER(&r, "repeat", 2);
        cr_assert(program_number(&r, "seconds") > 0 && program_number(&r, "entries_per_second") > 0);
        cr_assert(program_number(&r, "gbytes_per_second") > 0, "%s", name);
        program_free(&r);
    }
    program_free(&names);
}

Test(cli_bench, counts_what_was_read_and_written)
{
    static const struct {
        const char *name;
        int entries, out, bytes; /* of fp64 */
    } known[] = {{"ewise_add", 10, 5, 10 * 12 + 5 * 12},
                 {"select", 5, 4, 5 * 12 + 4 * 12},
                 {"reduce", 5, 1, 5 * 12},
                 {"reduce_rows", 5, 3, 5 * 12 + 3 * 8},
                 {"transpose", 5, 5, 5 * 12 + 5 * 12},
                 {"extract", 4, 4, 4 * 12 + 4 * 12},
                 {"vector_reduce", 3, 1, 3 * 8},
                 {"vector_ewise_add", 6, 3, 9 * 8}};
    program_write_file("small.mtx", small);
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        program_result r;
        PROGRAM_JSON(r, "--json bench %s --matrix small.mtx --repeat 1", known[k].name);
        PROGRAM_INTEGER(&r, "rows", 3);
        PROGRAM_INTEGER(&r, "cols", 4);
        PROGRAM_INTEGER(&r, "entries", known[k].entries);
        PROGRAM_INTEGER(&r, "out", known[k].out);
        PROGRAM_INTEGER(&r, "bytes", known[k].bytes);
        program_free(&r);
    }
}

Test(cli_bench, takes_types_semirings_and_densities)
{
    static const char *const types[] = {"bool", "int8", "int64", "uint16", "fp32", "fp64"};
    program_result r;
    program_write_file("small.mtx", small);
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        PROGRAM_JSON(r, "--json bench mxv --matrix small.mtx --type %s --semiring any_pair", types[k]);
        cr_assert_str_eq(program_string(&r, "type"), types[k]);
        cr_assert_str_eq(program_string(&r, "semiring"), "any_pair");
        PROGRAM_INTEGER(&r, "out", 3);
        program_free(&r);
    }
    PROGRAM_JSON(r, "--json --device cpu bench mxv --matrix path:50000 --density 0.0001");
    cr_assert_str_eq(program_string(&r, "direction"), "push");
    program_free(&r);
    PROGRAM_JSON(r, "--json --device cpu bench mxv --matrix path:50000 --mask-density 0.0001");
    cr_assert_str_eq(program_string(&r, "direction"), "pull");
    cr_assert(program_integer(&r, "out") < 100);
    program_free(&r);
}

Test(cli_bench, refuses_what_it_does_not_know)
{
    PROGRAM_FAILS(2, "NAME", "bench");
    PROGRAM_FAILS(2, "no operation 'fft'", "bench fft");
    PROGRAM_FAILS(2, "bench list", "bench fft");
    PROGRAM_FAILS(2, "no semiring 'plus_log' on fp64", "bench mxv --semiring plus_log");
    PROGRAM_FAILS(2, "no semiring 'lor_land' on fp32", "bench mxv --type fp32 --semiring lor_land");
    PROGRAM_FAILS(2, "--type", "bench mxv --type pattern");
    PROGRAM_FAILS(2, "--density", "bench mxv --density 0");
    PROGRAM_FAILS(2, "--density", "bench mxv --density 1.5");
    PROGRAM_FAILS(2, "--mask-density", "bench mxv --mask-density much");
    PROGRAM_FAILS(2, "--repeat", "bench mxv --repeat 0");
    PROGRAM_FAILS(1, "no/such.mtx", "bench mxv --matrix no/such.mtx");
    program_write_file("small.mtx", small);
    PROGRAM_FAILS(1, "mxm", "bench mxm_masked --matrix small.mtx");
}

Test(cli_bench, explains_itself)
{
    program_result r = program_run("bench --help");
    cr_assert(r.status == 0 && strstr(r.out, "Example") && strstr(r.out, "  dcsr bench "), "%s", r.out);
    program_free(&r);
    r = program_run("--help");
    cr_assert(strstr(r.out, "  bench "), "%s", r.out);
    program_free(&r);
}
