/* test_cli_amg.c: `dcsr amg`. */
#include "tests/support/program.h"
#include "tests/support/support.h"
#include <stdlib.h>
#include <string.h>

TestSuite(cli_amg, .init = program_begin, .fini = program_end);

/* On the cpu, whatever the build has. */
#define AMG "--device cpu amg "

Test(cli_amg, reports_the_levels_and_what_was_reached)
{
    program_result result;
    PROGRAM_JSON(result, "--json " AMG "poisson3d7:20");
    cr_assert_leq(program_integer(&result, "iterations"), 12);
    cr_assert_leq(program_number(&result, "residual"), 1e-8);
    cr_assert(program_number(&result, "operator_complexity") > 1 &&
              program_number(&result, "grid_complexity") > 1);
    cr_assert(program_number(&result, "setup_seconds") > 0 && program_number(&result, "solve_seconds") > 0);
    cr_assert_str_eq(program_string(&result, "solver"), "cg");
    const json_t *levels = json_object_get(result.json, "hierarchy"), *level;
    size_t l;
    double share = 0;
    cr_assert_eq((int64_t)json_array_size(levels), program_integer(&result, "levels"));
    json_array_foreach((json_t *)levels, l, level) share +=
        json_number_value(json_object_get(level, "share"));
    cr_assert_float_eq(share, 1, 1e-12);
    cr_assert_eq(json_integer_value(json_object_get(json_array_get(levels, 0), "rows")), 8000);
    program_free(&result);
    result = program_run(AMG "poisson2d5:20 --verbose");
    program_expect_done(&result, "--verbose");
    cr_assert(strstr(result.out, "iteration    residual\n        0   1.000e+00"), "%s", result.out);
    program_free(&result);
}

Test(cli_amg, takes_b_and_near_nullspace_vectors_from_files_and_writes_x)
{
    program_result result;
    program_write_file("b.txt", "1\n0\n0\n1\n");
    program_write_file("ones.mtx", "%%MatrixMarket matrix array real general\n4 1\n1\n1\n1\n1\n");
    program_write_file("a.mtx", "%%MatrixMarket matrix coordinate integer symmetric\n4 4 7\n"
                                "1 1 2\n2 2 2\n3 3 2\n4 4 2\n2 1 -1\n3 2 -1\n4 3 -1\n");
    PROGRAM_JSON(result, "--json " AMG "a.mtx --rhs b.txt --nullspace ones.mtx --tol 1e-12 -o x.mtx");
    program_free(&result);
    char *x = program_read_file("x.mtx");
    double value[4] = {0};
    cr_assert_eq(sscanf(x, "%%%%MatrixMarket matrix array real general 4 1 %lf %lf %lf %lf", &value[0],
                        &value[1], &value[2], &value[3]),
                 4, "%s", x);
    for (int i = 0; i < 4; i++) cr_assert_float_eq(value[i], 1, 1e-9);
    free(x);
}

/* All at once; the report is of the hardest column, and of each. */
Test(cli_amg, takes_several_columns)
{
    program_result result;
    program_write_file("b.mtx", "%%MatrixMarket matrix array real general\n4 3\n1\n0\n0\n1\n0\n0\n0\n0\n"
                                "2\n-1\n0\n0\n");
    program_write_file("a.mtx", "%%MatrixMarket matrix coordinate integer symmetric\n4 4 7\n"
                                "1 1 2\n2 2 2\n3 3 2\n4 4 2\n2 1 -1\n3 2 -1\n4 3 -1\n");
    PROGRAM_JSON(result, "--json " AMG "a.mtx --rhs b.mtx --tol 1e-12 -o x.mtx");
    cr_assert_eq(json_array_size(json_object_get(result.json, "columns")), 3);
    cr_assert(program_integer(&result, "iterations") > 0 && program_number(&result, "residual") <= 1e-12);
    program_free(&result);
    static const double expected[12] = {1, 1, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0};
    char *text = program_read_file("x.mtx"), *rest = strstr(text, "4 3\n");
    cr_assert(rest, "%s", text);
    rest += 4;
    for (int i = 0; i < 12; i++) {
        const double value = strtod(rest, &rest);
        cr_assert_float_eq(value, expected[i], 1e-9, "%s", text);
    }
    free(text);
    result = program_run(AMG "a.mtx --rhs b.mtx --verbose");
    program_expect_done(&result, "--verbose");
    cr_assert(strstr(result.out, "column 3\niteration") &&
                  strstr(result.out, "column iterations    residual"),
              "%s", result.out);
    program_free(&result);
    result = program_run(AMG "a.mtx --rhs b.mtx --max-iterations 0 -o y.mtx");
    cr_assert(result.status == 1 && strstr(result.err, "not converged"), "%s", result.err);
    program_free(&result);
    cr_assert(!program_read_file("y.mtx"));
}

Test(cli_amg, draws_levels_and_residuals)
{
    if (system("gnuplot --version >/dev/null 2>&1")) cr_skip_test("there is no gnuplot");
    program_result result;
    PROGRAM_JSON(result, "--json " AMG "poisson2d5:30 --plot amg.png");
    cr_assert_str_eq(program_string(&result, "plot"), "amg.png");
    program_free(&result);
    char *picture = program_read_file("amg.png");
    cr_assert(picture && !strncmp(picture, "\x89PNG\r\n", 6));
    free(picture);
    program_write_file("text.png", "mine");
    PROGRAM_FAILS(1, "text.png", AMG "poisson2d5:4 --plot text.png");
    PROGRAM_FAILS(1, "amg.gif", AMG "poisson2d5:4 --plot amg.gif");
    PROGRAM_FAILS(1, "no/such", AMG "poisson2d5:4 --plot no/such/amg.png");
    const char *path = getenv("PATH");
    char *kept = strdup(path ? path : "");
    setenv("PATH", "/nowhere", 1);
    result = program_run(AMG "poisson2d5:4 --plot amg.png");
    setenv("PATH", kept, 1);
    free(kept);
    cr_assert(result.status && strstr(result.err, "gnuplot-nox"), "%s", result.err);
    program_free(&result);
}

Test(cli_amg, sets_options_by_name)
{
    program_result v, w;
    PROGRAM_JSON(v, "--json " AMG "poisson2d5:60 --set coarse_rows=10 --set solver=none --set cycle=V");
    PROGRAM_JSON(w, "--json " AMG "poisson2d5:60 --set coarse_rows=10 --set solver=none --set cycle=W");
    cr_assert_lt(program_integer(&w, "iterations"), program_integer(&v, "iterations"));
    cr_assert_str_eq(program_string(&w, "solver"), "none");
    program_free(&v);
    program_free(&w);
    PROGRAM_FAILS(2, "there is no option 'theta'", AMG "poisson2d5:4 --set theta=1");
    PROGRAM_FAILS(2, "V|W|K", AMG "poisson2d5:4 --set cycle=X");
    PROGRAM_FAILS(2, "NAME=VALUE", AMG "poisson2d5:4 --set cycle");
    PROGRAM_FAILS(2, "tolerance", AMG "poisson2d5:4 --tol 7");
    PROGRAM_FAILS(2, "-o needs a value", AMG "poisson2d5:4 -o");
}

/* The line says why, and no x is written. */
Test(cli_amg, fails_where_it_does_not_converge)
{
    program_result result = program_run("--json " AMG "poisson2d5:40 --max-iterations 2 -o x.mtx");
    cr_assert_eq(result.status, 1);
    cr_assert(strstr(result.err, "not converged within the iterations allowed"), "%s", result.err);
    cr_assert_eq(program_integer(&result, "iterations"), 2);
    cr_assert_not_null(strstr(program_error(&result, "message"), "not converged"));
    program_free(&result);
    cr_assert(program_folder_holds(0));
}

Test(cli_amg, refuses_what_it_cannot_use)
{
    program_write_file("b.txt", "1\n2\n");
    program_write_file("oblong.mtx", "%%MatrixMarket matrix coordinate pattern general\n1 2 1\n1 1\n");
    PROGRAM_FAILS(1, "zero on the diagonal", AMG "path:9");
    PROGRAM_FAILS(1, "not square", AMG "oblong.mtx");
    PROGRAM_FAILS(1, "a column of 16 numbers, or more than one; this is 2 x 1",
                  AMG "poisson2d5:4 --rhs b.txt");
    PROGRAM_FAILS(1, "nowhere.txt", AMG "poisson2d5:4 --rhs nowhere.txt");
    PROGRAM_FAILS(1, "vectors have 2", AMG "poisson2d5:4 --nullspace b.txt");
    program_write_file("short.mtx", "%%MatrixMarket matrix array real general\n16 1\n1\n2\n");
    program_write_file("long.mtx", "%%MatrixMarket matrix array real general\n1 1\n1\n2\n");
    program_write_file("none.mtx", "%%MatrixMarket matrix array real general\n16 0\n");
    program_write_file("word.mtx", "%%MatrixMarket matrix array real general\n1 2\n1\nx\n");
    PROGRAM_FAILS(1, "short.mtx", AMG "poisson2d5:4 --rhs short.mtx");
    PROGRAM_FAILS(1, "long.mtx", AMG "poisson2d5:4 --rhs long.mtx");
    PROGRAM_FAILS(1, "none.mtx", AMG "poisson2d5:4 --rhs none.mtx");
    PROGRAM_FAILS(1, "word.mtx:4", AMG "poisson2d5:4 --rhs word.mtx");
    PROGRAM_FAILS(1, "word.mtx:4", AMG "poisson2d5:4 --nullspace word.mtx");
}

Test(cli_amg, runs_on_a_device)
{
    dcsr_context *context;
    const dcsr_context_options there = {.device = DCSR_DEVICE_CUDA};
    if (dcsr_context_create(&context, &there) != DCSR_OK) cr_skip_test("there is no other device");
    test_close(context);
    program_result result;
    PROGRAM_JSON(result, "--json --device cuda amg poisson2d5:14 --set coarse_rows=10 -o x.mtx");
    cr_assert(program_integer(&result, "levels") > 1 && program_number(&result, "residual") <= 1e-8);
    program_free(&result);
}

/* Finite elements of the PyAMG gallery. */
Test(cli_amg, real_matrices)
{
    const char *folder = program_real_inputs();
    if (!folder) cr_skip_test("there are no real inputs");
    static const struct {
        const char *line;
        int most;
    } cases[] = {{"airfoil.mtx.gz", 12},
                 {"bar.mtx.gz --set block=3 --nullspace", 30},
                 {"recirc_flow.mtx.gz", 70},
                 {"recirc_flow.mtx.gz --set smoother=gauss-seidel", 25}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        program_result result;
        bool modes = strstr(cases[c].line, "--nullspace");
        PROGRAM_JSON(result, "--json " AMG "%s/%s %s%s", folder, cases[c].line, modes ? folder : "",
                     modes ? "/bar_B.mtx.gz" : "");
        cr_assert_leq(program_integer(&result, "iterations"), cases[c].most, "%s", cases[c].line);
        program_free(&result);
    }
    /* A Neumann problem, for which b = 1 is not in the range. */
    program_result result = program_run(AMG "%s/unit_square.mtx.gz", folder);
    cr_assert(result.status == 1 && strstr(result.err, "if A is singular, b has to be in its range"), "%s",
              result.err);
    program_free(&result);
}

Test(cli_amg, follows_changes_step_by_step)
{
    program_result result;
    program_write_file("steps.txt", "% two steps\n1 1 5\n401 401 6.5\n\n\n402 403\n403 402\n401 401 4\n\n");
    PROGRAM_JSON(result, "--json " AMG "poisson2d5:40 --changes steps.txt");
    const json_t *steps = json_object_get(result.json, "steps"), *step;
    cr_assert_eq(json_array_size(steps), 2);
    size_t s;
    json_array_foreach((json_t *)steps, s, step)
    {
        cr_assert_eq(json_integer_value(json_object_get(step, "rows_changed")), s ? 3 : 2);
        cr_assert_gt(json_integer_value(json_object_get(step, "rows_touched")), 3);
        cr_assert(json_number_value(json_object_get(step, "setup_seconds")) > 0);
        cr_assert(json_number_value(json_object_get(step, "residual")) <= 1e-8);
        cr_assert_leq(json_integer_value(json_object_get(step, "iterations")),
                      program_integer(&result, "iterations") + 1);
    }
    program_free(&result);
    result = program_run(AMG "poisson2d5:40 --changes steps.txt");
    program_expect_done(&result, "--changes");
    cr_assert(strstr(result.out, "rows changed"), "%s", result.out);
    program_free(&result);
}

/* The last line on an entry counts: set, then removed; removed, then set to what it was. */
Test(cli_amg, applies_the_lines_of_a_step_one_after_the_other)
{
    program_result result;
    program_write_file("order.txt",
                       "1 3 -7\n3 1 -7\n3 1\n1 3\n1 1\n1 1 4\n\n2 2 5\n2 2 6\n2 2 4\n\n1 3 -1\n3 1 -1\n");
    PROGRAM_JSON(result, "--json " AMG "poisson2d5:40 --changes order.txt");
    const json_t *steps = json_object_get(result.json, "steps");
    const json_int_t changed[] = {0, 0, 2};
    cr_assert_eq(json_array_size(steps), 3);
    for (size_t s = 0; s < 3; s++)
        cr_assert_eq(json_integer_value(json_object_get(json_array_get(steps, s), "rows_changed")),
                     changed[s]);
    program_free(&result);
}

/* The line says where, and what was reached before it is printed. */
static void expect_refused(const char *text, const char *words)
{
    if (text) program_write_file("bad.txt", text);
    program_result result = program_run("--json " AMG "poisson2d5:40 --changes bad.txt");
    cr_assert_eq(result.status, 1);
    cr_assert(strstr(result.err, words), "%s", result.err);
    cr_assert_not_null(strstr(program_error(&result, "message"), words));
    cr_assert_eq(json_array_size(json_object_get(result.json, "steps")),
                 text && strstr(text, "\n\n") ? 1 : 0);
    cr_assert_gt(program_integer(&result, "iterations"), 1);
    program_free(&result);
}

Test(cli_amg, refuses_changes_that_are_malformed)
{
    static const char *const wrong[] = {"1 x 2", "0 1 2", "1 1601 2", "1", "1.5 1 2", "-1 1 2"};
    char text[40];
    expect_refused(NULL, "bad.txt: No such file");
    for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
        snprintf(text, sizeof text, "1 1 5\n\n%s\n", wrong[w]);
        expect_refused(text, "bad.txt:3: a row and a column from 1 to 1600");
    }
    expect_refused("% a value\n1 1 4z\n", "bad.txt:2: the value is no number");
    expect_refused("1 1 5\n\n1 1 nan\n", "bad.txt: step 2: amg update: row 0 of A has a value");
}
