/* test_cli_several.c: the program on several devices: the same results as on one, what it tells of the parts, and what
 * it refuses. */
#include "tests/support/program.h"
#include "tests/support/support.h"
#include <dcsr/context.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(cli_several, .init = program_begin, .fini = program_end);

/* Several devices of this build, as --device names them, and one of their kind; NULL behind the last. */
typedef struct choice {
    const char *several, *one;
    int count;
} choice;

static const choice *choices(void)
{
    static choice list[5];
    int n = 0, gpus = 0;
    list[n++] = (choice){"cpu:3", "cpu", 3};
    if (test_on_emulator()) {
        setenv("SIMT_DEVICES", "3", 1);
        gpus = 3;
    } else if (TEST_CUDA && dcsr_device_get_count(DCSR_DEVICE_CUDA, &gpus)) {
        gpus = 0;
    }
    if (gpus > 0) list[n++] = (choice){"cuda:0/2", "cuda", 2};
    if (gpus > 1) list[n++] = (choice){"cuda:0-1", "cuda", 2};
    if (gpus > 2) list[n++] = (choice){"cuda:0,2", "cuda:2", 2};
    return list;
}

static int scale(void)
{
    return test_on_emulator() ? 7 : 10;
}

/* ---- Results ---- */

static void assert_same_file(const char *a, const char *b)
{
    char *one = program_read_file(a), *other = program_read_file(b);
    cr_assert(one && other && *one && !strcmp(one, other), "%s and %s differ", a, b);
    free(one);
    free(other);
}

/* Runs both; the keys have to be the same integers. */
static void assert_same(const choice *c, const char *command, const char *const keys[])
{
    program_result one, several;
    PROGRAM_JSON(one, "--json --device %s %s --out one.tsv", c->one, command);
    PROGRAM_JSON(several, "--json --device %s %s --out several.tsv", c->several, command);
    for (int k = 0; keys[k]; k++) PROGRAM_INTEGER(&several, keys[k], program_integer(&one, keys[k]));
    PROGRAM_INTEGER(&several, "devices", c->count);
    cr_assert_geq(program_number(&several, "balance"), 1);
    program_free(&one);
    program_free(&several);
}

Test(cli_several, searches_and_components_are_those_of_one_device)
{
    static const char *const searched[] = {"reached", "max_level", "level_sum", "edges", NULL};
    static const char *const found[] = {"components", "largest", "largest_name", NULL};
    for (const choice *c = choices(); c->several; c++) {
        for (int edges = 1; edges <= 8; edges *= 8) {
            char command[64];
            snprintf(command, sizeof command, "bfs rmat:%d,%d --source 3", scale(), edges);
            assert_same(c, command, searched);
            assert_same_file("one.tsv", "several.tsv");
            snprintf(command, sizeof command, "cc rmat:%d,%d --top 4", scale(), edges);
            assert_same(c, command, found);
            assert_same_file("one.tsv", "several.tsv");
        }
        static const char *const near[] = {"reached", NULL}, *const counted[] = {"triangles", NULL};
        program_write_file("roads.el", "0 1 2.5\n1 2 1\n0 2 7\n2 3 0.25\n4 5 1\n3 0 1\n");
        assert_same(c, "sssp roads.el --source 0", near);
        assert_same_file("one.tsv", "several.tsv");
        assert_same(c, "sssp rmat:7,4 --source 3", near);
        assert_same_file("one.tsv", "several.tsv");
        assert_same(c, "triangles rmat:7,8 --top 3", counted);
        assert_same_file("one.tsv", "several.tsv");
        assert_same(c, "triangles roads.el", counted);
        assert_same(c, "bfs path:9 --source 0 --repeat 1", searched);
        assert_same_file("one.tsv", "several.tsv");
    }
}

/* Lines "vertex rank" of both, which agree. */
static void assert_close_ranks(void)
{
    FILE *one = fopen("one.tsv", "r"), *several = fopen("several.tsv", "r");
    unsigned long v[2];
    double rank[2], difference = 0;
    long lines = 0;
    cr_assert(one && several);
    while (fscanf(one, "%lu %lf", &v[0], &rank[0]) == 2) {
        cr_assert_eq(fscanf(several, "%lu %lf", &v[1], &rank[1]), 2);
        cr_assert_eq(v[0], v[1]);
        difference += fabs(rank[0] - rank[1]);
        lines++;
    }
    cr_assert(lines == 1L << scale() && difference < 1e-5, "%ld lines, ranks differ by %g", lines,
              difference);
    fclose(one);
    fclose(several);
}

Test(cli_several, ranks_are_those_of_one_device)
{
    static const char *const dangling[] = {"dangling", "converged", NULL};
    for (const choice *c = choices(); c->several; c++) {
        char command[80];
        snprintf(command, sizeof command, "pagerank rmat:%d,4 --tol 1e-8", scale());
        assert_same(c, command, dangling);
        assert_close_ranks();
        snprintf(command, sizeof command, "pagerank rmat:%d,4 --tol 1e-8 --personal 1,5", scale());
        assert_same(c, command, dangling);
        assert_close_ranks();
    }
}

Test(cli_several, products_are_those_of_one_device)
{
    program_write_file("small.mtx",
                       "%%MatrixMarket matrix coordinate integer general\n3 5 4\n1 1 2\n3 5 -7\n3 2 1\n"
                       "3 1 1\n");
    program_write_file("real.mtx",
                       "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 0.5\n2 1 2\n2 2 4\n");
    for (const choice *c = choices(); c->several; c++) {
        const char *const matrices[] = {"rmat:7,8", "small.mtx", "real.mtx", "poisson2d5:9"};
        for (int m = 0; m < 4; m++) {
            program_result one, several;
            PROGRAM_JSON(one, "--json --device %s spmv %s --repeat 2", c->one, matrices[m]);
            PROGRAM_JSON(several, "--json --device %s spmv %s --repeat 2", c->several, matrices[m]);
            cr_assert_eq(program_number(&one, "checksum"), program_number(&several, "checksum"));
            PROGRAM_INTEGER(&several, "nnz", program_integer(&one, "nnz"));
            PROGRAM_INTEGER(&several, "devices", c->count);
            cr_assert_str_eq(program_string(&several, "kernel"), "segments");
            program_free(&one);
            program_free(&several);
        }
    }
}

Test(cli_several, products_of_matrices_are_those_of_one_device)
{
    static const char *const keys[] = {"rows", "cols", "nnz", "products", "checksum"};
    program_write_file("wide.mtx",
                       "%%MatrixMarket matrix coordinate integer general\n3 5 4\n1 1 2\n3 5 -7\n3 2 1\n"
                       "3 1 1\n");
    program_write_file("tall.mtx",
                       "%%MatrixMarket matrix coordinate real general\n5 2 3\n1 1 0.5\n2 1 2\n5 2 4\n");
    for (const choice *c = choices(); c->several; c++) {
        const char *const factors[] = {"rmat:7,8", "wide.mtx tall.mtx", "poisson2d5:9"};
        for (int m = 0; m < 3; m++) {
            program_result one, several;
            PROGRAM_JSON(one, "--json --device %s spgemm %s --repeat 2", c->one, factors[m]);
            PROGRAM_JSON(several, "--json --device %s spgemm %s --repeat 2", c->several, factors[m]);
            for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
                cr_assert_eq(program_number(&one, keys[k]), program_number(&several, keys[k]), "%s of %s",
                             keys[k], factors[m]);
            PROGRAM_INTEGER(&several, "devices", c->count);
            program_free(&one);
            program_free(&several);
        }
        PROGRAM_FAILS(1, "A is 3 x 5, B 3 x 5", "--device %s spgemm wide.mtx", c->several);
    }
}

/* ---- Conjugate gradients ---- */

Test(cli_several, conjugate_gradients_solve)
{
    program_write_file("A.mtx",
                       "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 4\n2 1 1\n2 2 3\n");
    program_write_file("b.txt", "1\n2\n");
    for (const choice *c = choices(); c->several; c++) {
        const char *const devices[] = {c->one, c->several};
        for (int d = 0; d < 2; d++) {
            program_result result;
            PROGRAM_JSON(result, "--json --device %s cg A.mtx --rhs b.txt --tol 1e-12 --jacobi -o x.mtx",
                         devices[d]);
            cr_assert_leq(program_integer(&result, "iterations"), 2);
            PROGRAM_INTEGER(&result, "converged", 1);
            cr_assert_eq(!json_object_get(result.json, "devices"), d == 0);
            program_free(&result);
            char *x = program_read_file("x.mtx"), *at = x ? strstr(x, "2 1\n") : NULL;
            double first, second;
            cr_assert(at && sscanf(at + 4, "%lf %lf", &first, &second) == 2, "%s", x);
            cr_assert(fabs(first - 1 / 11.0) < 1e-12 && fabs(second - 7 / 11.0) < 1e-12);
            free(x);
            cr_assert_eq(remove("x.mtx"), 0);
            PROGRAM_JSON(result, "--json --device %s cg poisson2d5:12", devices[d]);
            cr_assert_leq(program_number(&result, "residual"), 1e-8);
            program_free(&result);
        }
    }
}

Test(cli_several, conjugate_gradients_say_what_is_no_solution)
{
    program_write_file("minus.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 -1\n2 2 1\n");
    program_write_file("wide.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 5 1\n1 5\n");
    program_write_file("b.txt", "1\n2\n3\n");
    PROGRAM_FAILS(1, "diagonal above 0", "--device cpu:2 cg minus.mtx --jacobi");
    PROGRAM_FAILS(1, "square matrix", "--device cpu:2 cg wide.mtx");
    PROGRAM_FAILS(1, "b needs a column of 2", "--device cpu:2 cg minus.mtx --rhs b.txt");
    PROGRAM_FAILS(2, "--tol must be", "cg minus.mtx --tol 0");
    PROGRAM_FAILS(2, "--tol must be", "cg minus.mtx --tol x");
    program_result result = program_run("--json --device cpu:2 cg minus.mtx -o x.mtx");
    cr_assert(result.status == 1 && strstr(result.err, "not positive definite"), "%s", result.err);
    PROGRAM_INTEGER(&result, "converged", 0);
    program_free(&result);
    result = program_run("--json --device cpu:2 cg poisson2d5:20 --max-iterations 3 -o x.mtx");
    cr_assert(result.status == 1 && strstr(result.err, "not converged"), "%s", result.err);
    PROGRAM_INTEGER(&result, "iterations", 3);
    program_free(&result);
    cr_assert_null(program_read_file("x.mtx"));
}

/* ---- Multigrid ---- */

Test(cli_several, multigrid_solves)
{
    for (const choice *c = choices(); c->several; c++) {
        program_result one, several;
        PROGRAM_JSON(one, "--json --device %s amg poisson2d5:24", c->one);
        PROGRAM_JSON(several, "--json --device %s amg poisson2d5:24 --set one_device=100 --tol 1e-9 -o x.mtx",
                     c->several);
        PROGRAM_INTEGER(&several, "devices", c->count);
        PROGRAM_INTEGER(&several, "divided", 1);
        cr_assert_str_eq(program_string(&several, "solver"), "cg");
        cr_assert_leq(program_number(&several, "residual"), 1e-9);
        cr_assert_leq(program_integer(&several, "iterations"), program_integer(&one, "iterations") + 4);
        const json_t *levels = json_object_get(several.json, "hierarchy");
        cr_assert_eq(json_array_size(levels), (size_t)program_integer(&several, "levels"));
        cr_assert_eq(json_integer_value(json_object_get(json_array_get(levels, 0), "rows")), 576);
        program_free(&one);
        program_free(&several);
        cr_assert_eq(remove("x.mtx"), 0);
    }
}

/* As on one device: other methods, several columns, a picture, and a matrix that changes. */
Test(cli_several, multigrid_does_what_it_does_on_one_device)
{
    program_write_file("b.mtx", "%%MatrixMarket matrix array real general\n4 2\n1\n1\n1\n1\n2\n0\n-1\n5\n");
    program_write_file("steps.txt", "1 1 5\n401 401 6.5\n\n402 403\n403 402\n401 401 4\n");
    for (const choice *c = choices(); c->several; c++) {
        program_result one, several;
        PROGRAM_JSON(several, "--json --device %s amg poisson2d5:2 --rhs b.mtx -o x.mtx", c->several);
        cr_assert_eq(json_array_size(json_object_get(several.json, "columns")), 2);
        program_free(&several);
        char *x = program_read_file("x.mtx");
        cr_assert(x && strstr(x, "\n4 2\n"), "%s", x);
        free(x);
        PROGRAM_JSON(one, "--json --device %s amg poisson2d5:30 --changes steps.txt", c->one);
        PROGRAM_JSON(several,
                     "--json --device %s amg poisson2d5:30 --changes steps.txt --set one_device=100 --set "
                     "solver=fgmres",
                     c->several);
        cr_assert_str_eq(program_string(&several, "solver"), "fgmres");
        cr_assert_geq(program_integer(&several, "divided"), 1);
        const json_t *steps = json_object_get(several.json, "steps"),
                     *alone = json_object_get(one.json, "steps");
        cr_assert_eq(json_array_size(steps), 2);
        for (size_t s = 0; s < 2; s++) {
            const json_t *step = json_array_get(steps, s);
            cr_assert_leq(json_number_value(json_object_get(step, "residual")), 1e-8);
            cr_assert_leq(json_integer_value(json_object_get(step, "iterations")),
                          json_integer_value(json_object_get(json_array_get(alone, s), "iterations")) + 4);
        }
        program_free(&one);
        program_free(&several);
        if (system("gnuplot --version >/dev/null 2>&1")) continue;
        PROGRAM_JSON(several, "--json --device %s amg poisson2d5:20 --plot amg.png", c->several);
        program_free(&several);
        cr_assert_eq(remove("amg.png"), 0);
    }
}

/* The program keeps nodes whole; for a grid these mean nothing, but each is on one device. */
Test(cli_several, multigrid_has_nodes_of_several_rows)
{
    FILE *modes = fopen("modes.mtx", "w");
    cr_assert(modes && fputs("%%MatrixMarket matrix array real general\n441 2\n", modes) >= 0);
    for (int column = 0; column < 2; column++)
        for (int i = 0; i < 441; i++) fprintf(modes, "%d\n", column ? i % 7 : 1);
    cr_assert_eq(fclose(modes), 0);
    for (const choice *c = choices(); c->several; c++) {
        program_result r;
        for (int given = 0; given < 2; given++) {
            PROGRAM_JSON(r, "--json --device %s amg poisson2d5:21 --set block=7 --set one_device=60 %s",
                         c->several, given ? "--nullspace modes.mtx" : "");
            PROGRAM_INTEGER(&r, "devices", c->count);
            cr_assert_geq(program_integer(&r, "divided"), 1);
            cr_assert_leq(program_number(&r, "residual"), 1e-8);
            program_free(&r);
        }
    }
    cr_assert_eq(remove("modes.mtx"), 0);
}

Test(cli_several, multigrid_says_what_it_cannot_do)
{
    program_write_file("empty.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1\n3 3 1\n");
    program_write_file("b.mtx", "%%MatrixMarket matrix array real general\n4 2\n1\n1\n1\n1\n1\n1\n1\n1\n");
    PROGRAM_FAILS(1, "row 1 of A has no entries", "--device cpu:2 amg empty.mtx");
    PROGRAM_FAILS(1, "no multiple of the option block", "--device cpu:2 amg poisson2d5:4 --set block=3");
    PROGRAM_FAILS(1, "vectors have 4", "--device cpu:2 amg poisson2d5:4 --nullspace b.mtx");
    PROGRAM_FAILS(1, "one column", "--device cpu:2 amg poisson2d5:2 --rhs b.mtx --changes steps.txt");
    PROGRAM_FAILS(1, "picture.gif", "--device cpu:2 amg poisson2d5:4 --plot picture.gif");
    PROGRAM_FAILS(2, "no value of the option solver", "--device cpu:2 amg poisson2d5:4 --set solver=minres");
    PROGRAM_FAILS(2, "no option 'colour'", "--device cpu:2 amg poisson2d5:4 --set colour=red");
    program_result result =
        program_run("--json --device cpu:2 amg poisson2d5:20 --max-iterations 1 -o x.mtx");
    cr_assert(result.status == 1 && strstr(result.err, "not converged"), "%s", result.err);
    PROGRAM_INTEGER(&result, "iterations", 1);
    program_free(&result);
    cr_assert_null(program_read_file("x.mtx"));
}

/* ---- Streams ---- */

Test(cli_several, streams_end_as_on_one_device)
{
    static const char *const same[] = {"inserted", "deleted", "left_out", "nnz", "rows", "cols", "batches"};
    static const char *const streams[] = {"rmat:9,8 --batch 500",
                                          "rmat:7,8 --symmetric --batch 100",
                                          "rmat:7,8 --delete rmat:7,4 --batch 100",
                                          "log.el --rows 70 --cols 60 --window 5 --batch 3",
                                          "a.el b.el --rows 9 --cols 9 --delete",
                                          "log.el --rows 61 --symmetric --op sum",
                                          "rmat:7,8 --metrics m.prom"};
    program_write_file("log.el", "0 1 3\n60 2 4\n0 1 5\n7 7 1\n8 9 -2\n9 8 2\n1 0 1\n");
    program_write_file("a.el", "0 1\n8 8\n");
    program_write_file("b.el", "0 1\n");
    for (const choice *c = choices(); c->several; c++)
        for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
            program_result one, several;
            PROGRAM_JSON(one, "--json --device %s ingest %s", c->one, streams[i]);
            PROGRAM_JSON(several, "--json --device %s ingest %s", c->several, streams[i]);
            for (size_t k = 0; k < sizeof same / sizeof *same; k++)
                PROGRAM_INTEGER(&several, same[k], program_integer(&one, same[k]));
            PROGRAM_INTEGER(&several, "devices", c->count);
            program_free(&one);
            program_free(&several);
        }
}

Test(cli_several, streams_say_what_they_cannot)
{
    program_write_file("a.el", "0 1\n8 8\n");
    PROGRAM_FAILS(2, "--into is there on one device", "--device cpu:2 ingest rmat:5,2 --into store#a");
    PROGRAM_FAILS(2, "--read is there on one device", "--device cpu:2 ingest rmat:5,2 --read bfs");
    PROGRAM_FAILS(2, "--follow is there on one device", "--device cpu:2 ingest rmat:5,2 --follow cc");
    PROGRAM_FAILS(2, "does not grow", "--device cpu:2 ingest a.el --rows 9");
    PROGRAM_FAILS(1, "does not grow", "--device cpu:2 ingest rmat:5,2 rmat:6,2");
    PROGRAM_FAILS(1, "a.el:2", "--device cpu:2 ingest a.el --rows 8 --cols 9");
}

/* ---- What info tells ---- */

static int64_t item(const program_result *result, int k, const char *key)
{
    const json_t *part = json_array_get(json_object_get(result->json, "parts"), (size_t)k);
    const json_t *value = json_object_get(part, key);
    cr_assert(json_is_integer(value), "part %d has no %s", k, key);
    return json_integer_value(value);
}

/* Parts follow one another and make up the whole; each reaches all others or none. */
static void assert_parts(const program_result *result, const choice *c, int peers)
{
    int64_t row = 0, nnz = 0;
    const json_t *parts = json_object_get(result->json, "parts");
    cr_assert_eq(json_array_size(parts), (size_t)c->count);
    for (int k = 0; k < c->count; k++) {
        cr_assert_eq(item(result, k, "first_row"), row);
        row += item(result, k, "rows");
        nnz += item(result, k, "nnz");
        const json_t *reached = json_object_get(json_array_get(parts, (size_t)k), "peers");
        if (peers >= 0) cr_assert_eq(json_array_size(reached), (size_t)(peers ? c->count - 1 : 0));
        for (size_t p = 0; p < json_array_size(reached); p++)
            cr_assert_neq(json_integer_value(json_array_get(reached, p)), k);
    }
    PROGRAM_INTEGER(result, "rows", row);
    PROGRAM_INTEGER(result, "nnz", nnz);
}

Test(cli_several, info_tells_of_parts_and_links)
{
    static const char *const same[] = {"rows", "cols", "nnz", "max_row", "stored"};
    for (const choice *c = choices(); c->several; c++) {
        program_result one, several;
        PROGRAM_JSON(one, "--json --device %s info rmat:9,8", c->one);
        PROGRAM_JSON(several, "--json --device %s info rmat:9,8", c->several);
        for (size_t k = 0; k < sizeof same / sizeof *same; k++)
            PROGRAM_INTEGER(&several, same[k], program_integer(&one, same[k]));
        cr_assert_float_eq(program_number(&several, "mean_row"), program_number(&one, "mean_row"), 1e-12);
        cr_assert_float_eq(program_number(&several, "row_std"), program_number(&one, "row_std"), 1e-9);
        cr_assert_str_eq(program_string(&several, "device"), program_string(&one, "device"));
        assert_parts(&several, c, TEST_EMULATOR || !strncmp(c->several, "cpu", 3) ? 1 : -1);
        program_free(&one);
        program_free(&several);
        PROGRAM_JSON(several, "--json --device %s info", c->several);
        PROGRAM_INTEGER(&several, "devices", c->count);
        cr_assert_eq(json_array_size(json_object_get(several.json, "parts")), (size_t)c->count);
        program_free(&several);
        several = program_run("--device %s info rmat:9,8", c->several);
        program_expect_done(&several, "info");
        cr_assert(strstr(several.out, c->several) && strstr(several.out, "its part"), "%s", several.out);
        program_free(&several);
    }
}

Test(cli_several, info_tells_where_gpus_are_no_peers)
{
    if (!TEST_EMULATOR) cr_skip_test("the emulator alone can be told that there are no peers");
    const choice c = {"cuda:0-2", "cuda", 3};
    program_result result;
    setenv("SIMT_DEVICES", "3", 1);
    setenv("SIMT_PEERS", "0", 1);
    PROGRAM_JSON(result, "--json --device cuda:0-2 info rmat:7,8");
    assert_parts(&result, &c, 0);
    cr_assert_eq(item(&result, 2, "device_number"), 2);
    program_free(&result);
    result = program_run("--device cuda:0-2 info rmat:7,8");
    program_expect_done(&result, "info");
    cr_assert(strstr(result.out, "by way of the host"), "%s", result.out);
    program_free(&result);
}

/* ---- What is refused ---- */

Test(cli_several, says_what_works_on_one_device_alone)
{
    static const char *const lines[] = {"bc path:4",        "scc path:4",   "clustering path:4",
                                        "kcore path:4",     "mis path:4",   "convert path:4 x.mtx",
                                        "spy path:4 x.png", "row path:4 0", "closure path:4"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        PROGRAM_FAILS(2, "works on one device", "--device cpu:2 %s", lines[i]);
    PROGRAM_FAILS(2, "those that work on several are info, ", "--device cuda:0-1 bc path:4");
    PROGRAM_FAILS(2, "--parents is there on one device alone",
                  "--device cpu:2 bfs path:4 --source 0 --parents");
    PROGRAM_FAILS(2, "--kernel is there on one device alone", "--device cpu:2 spmv path:4 --kernel csr");
    program_write_file("wide.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 5 1\n1 5\n");
    PROGRAM_FAILS(1, "a graph needs a square matrix", "--device cpu:2 cc wide.mtx");
    PROGRAM_FAILS(2, "--features is there on one device alone", "--device cpu:2 info path:4 --features");
}

Test(cli_several, says_what_names_no_devices)
{
    PROGRAM_FAILS(2, "--device must be auto, cpu or cuda", "--device gpu info path:4");
    PROGRAM_FAILS(2, "--device must be auto, cpu or cuda", "--device '' info path:4");
    PROGRAM_FAILS(2, "--device must be auto, cpu or cuda", "--device auto:2 info path:4");
    PROGRAM_FAILS(2, "--device must be auto, cpu or cuda", "--device cudas:0 info path:4");
    PROGRAM_FAILS(2, "at character 5: a number of devices", "--device cpu: info path:4");
    PROGRAM_FAILS(2, "at character 5: 1 to 64", "--device cpu:65 info path:4");
    PROGRAM_FAILS(2, "at character 8: a range ends before it begins", "--device cuda:3-1 info path:4");
    PROGRAM_FAILS(2, "named before", "--device cuda:1,1 info path:4");
    PROGRAM_FAILS(1, TEST_CUDA ? "GPU" : "not built with CUDA", "--device cuda:61 info path:4");
    PROGRAM_FAILS(1, TEST_CUDA ? "" : "not built with CUDA", "--device cuda:0,61 info path:4");
}

Test(cli_several, one_gpu_of_several_is_one_device)
{
    if (!TEST_EMULATOR) cr_skip_test("needs GPUs that are there for sure");
    program_result result;
    setenv("SIMT_DEVICES", "3", 1);
    PROGRAM_JSON(result, "--json --device cuda:2 info path:5");
    cr_assert(!json_object_get(result.json, "parts"));
    PROGRAM_INTEGER(&result, "nnz", 4);
    program_free(&result);
    PROGRAM_JSON(result, "--json --device cuda:1 sssp path:5 --source 0");
    PROGRAM_INTEGER(&result, "reached", 5);
    program_free(&result);
    PROGRAM_FAILS(1, "there is no GPU of number 3", "--device cuda:3 info path:5");
}
