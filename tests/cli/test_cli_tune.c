/* test_cli_tune.c: `dcsr tune`: what it measures and keeps, what it trains, and what it says when it cannot. */
#include "tests/support/program.h"
#include "tests/support/support.h"
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char check_model[PATH_MAX];

static void begin(void)
{
    cr_assert(realpath("tools/check_model.py", check_model), "tests run in the root of the repository");
    program_begin();
}

TestSuite(cli_tune, .init = begin, .fini = program_end, .timeout = 120);

static bool can_train(void)
{
    return !system(
        "/usr/bin/python3 -c 'import importlib.util as u; assert u.find_spec(\"sklearn\")' 2>/dev/null");
}

static int lines_of(const char *name)
{
    char *text = program_read_file(name);
    int lines = 0;
    cr_assert_not_null(text, "there is no %s", name);
    for (const char *at = text; (at = strchr(at, '\n')); at++) lines++;
    free(text);
    return lines;
}

/* Measured once, kept, and gone on with: also behind a line that was cut off. */
Test(cli_tune, measures_and_goes_on)
{
    program_result r;
    program_write_file("a.el", "0 0 2\n0 1 3\n2 1 4\n3 4 1\n");
    PROGRAM_JSON(r, "--json --device cpu tune --table t.tsv --no-model --quick --matrices 2 a.el");
    PROGRAM_INTEGER(&r, "measured", 5);
    PROGRAM_INTEGER(&r, "matrices", 5);
    cr_assert_str_eq(program_string(&r, "table"), "t.tsv");
    cr_assert_null(json_object_get(r.json, "model"));
    program_free(&r);
    cr_assert_eq(lines_of("t.tsv"), 5 + 5);
    FILE *table = fopen("t.tsv", "a");
    cr_assert(table && fputs("half a li", table) >= 0 && !fclose(table));
    PROGRAM_JSON(r, "--json --device cpu tune --table t.tsv --no-model --quick --matrices 3 a.el");
    PROGRAM_INTEGER(&r, "measured", 1);
    PROGRAM_INTEGER(&r, "matrices", 6);
    program_free(&r);
    char *text = program_read_file("t.tsv");
    cr_assert(strstr(text, "a.el fp64, fewer columns, transposed\tuser's\t") && !strstr(text, "half a li"));
    cr_assert(strstr(text, "\tseconds:segments\t") && strstr(text, "\tbuild:csr\t"));
    free(text);
}

/* Two parts have each matrix once, and are trained on together. */
Test(cli_tune, measures_parts)
{
    program_result r;
    PROGRAM_JSON(r, "--json --device cpu tune --table p1.tsv --no-model --quick --matrices 9 --part 1/2");
    PROGRAM_INTEGER(&r, "measured", 6);
    program_free(&r);
    PROGRAM_JSON(r, "--json --device cpu tune --table p2.tsv --no-model --quick --matrices 9 --part 2/2");
    PROGRAM_INTEGER(&r, "measured", 3);
    program_free(&r);
    PROGRAM_JSON(r, "--json --device cpu tune --table p2.tsv --no-model --quick --matrices 9 --part 1/1");
    PROGRAM_INTEGER(&r, "measured", 6);
    PROGRAM_INTEGER(&r, "matrices", 9);
    program_free(&r);
    char *one = program_read_file("p1.tsv"), *all = program_read_file("p2.tsv");
    for (char *line = strstr(one, "\nmatrix\t") + 1; (line = strchr(line, '\n')) && line[1]; line++) {
        char name[200];
        snprintf(name, sizeof name, "%.*s\t", (int)strcspn(line, "\t"), line);
        cr_assert(strstr(all, name), "%s is in one part alone", name);
    }
    free(one), free(all);
    PROGRAM_FAILS(2, "--part 3/2", "--device cpu tune --part 3/2");
    PROGRAM_FAILS(2, "--part 0/2", "--device cpu tune --part 0/2");
    PROGRAM_FAILS(2, "--part half", "--device cpu tune --part half");
}

/* The processor's counter is in a folder of the test: it stands still. */
Test(cli_tune, measures_energy_where_it_is_told)
{
    program_result r;
    program_write_file("a.el", "0 0\n1 1\n");
    cr_assert(!mkdir("cap", 0777) && !mkdir("cap/intel-rapl:0", 0777));
    program_write_file("cap/intel-rapl:0/energy_uj", "5000000\n");
    setenv("DCSR_POWERCAP", "cap", 1);
    PROGRAM_JSON(r, "--json --device cpu tune --table t.tsv --no-model --matrices 0 a.el");
    cr_assert_str_eq(program_string(&r, "energy"), "measured");
    program_free(&r);
    setenv("DCSR_POWERCAP", "nowhere", 1);
    PROGRAM_JSON(r, "--json --device cpu tune --table u.tsv --no-model --matrices 0 a.el");
    cr_assert(strstr(program_string(&r, "energy"), "not measured"));
    program_free(&r);
    char *with = program_read_file("t.tsv"), *without = program_read_file("u.tsv");
    cr_assert(strstr(with, "\t0\t") && strstr(without, "\t-\t"));
    free(with);
    free(without);
}

/* What the first matrix of a table has in a column; NaN for "-". */
static double cell_of(const char *name, const char *column)
{
    char *text = program_read_file(name), *head = strstr(text, "\nmatrix\t") + 1,
         *line = strchr(head, '\n') + 1;
    const char *at = strstr(head, column);
    cr_assert(at && at < line, "there is no column %s", column);
    for (const char *c = head; c < at; c++)
        if (*c == '\t') line = strchr(line, '\t') + 1;
    const double number = *line == '-' ? NAN : strtod(line, NULL);
    free(text);
    return number;
}

/* The stand-in for NVML: beside this program, or beside that of the plain build. Whether it was built. */
static bool find_nvml(char library[PATH_MAX])
{
    char program[PATH_MAX], path[2 * PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    cr_assert(length > 0);
    program[length] = 0;
    const char *folder = dirname(program);
    snprintf(path, sizeof path, "%s/nvml.so", folder);
    if (realpath(path, library)) return true;
    snprintf(path, sizeof path, "%s/../../tests/nvml.so", folder);
    return realpath(path, library);
}

/* On a GPU; its energy is told by a library of the test, or by none. */
Test(cli_tune, measures_kernels_of_a_gpu)
{
    char nvml[PATH_MAX];
    if (TEST_EMULATOR && !test_on_emulator()) cr_skip_test("the emulator is not asked for");
    program_result r = program_run("--device cuda info path:2");
    const bool there = !r.status;
    program_free(&r);
    if (!there) cr_skip_test("there is no GPU");
    program_write_file("a.el", "0 0 2\n0 1 3\n2 1 4\n3 4 1\n");
    setenv("DCSR_NVML", "/nowhere/nvml.so", 1);
    PROGRAM_JSON(r, "--json --device cuda tune --table t.tsv --no-model --quick --matrices 0 a.el");
    PROGRAM_INTEGER(&r, "measured", 3);
    cr_assert(strstr(program_string(&r, "energy"), "not measured: this machine"));
    program_free(&r);
    char *text = program_read_file("t.tsv");
    cr_assert(strstr(text, "# device cuda\n") == text &&
              strstr(text, "# varies cusparse_csr1,cusparse_coo1\n"));
    cr_assert(strstr(text, "\tseconds:hubs\t"));
    free(text);
    if (!find_nvml(nvml)) cr_skip_test("tests/preload/nvml.c was not built beside this program");
    setenv("DCSR_NVML", nvml, 1);
    PROGRAM_JSON(r, "--json --device cuda tune --table u.tsv --no-model --quick --matrices 0 a.el");
    cr_assert_str_eq(program_string(&r, "energy"), "measured");
    program_free(&r);
    PROGRAM_JSON(r,
                 "--json --device cuda tune --table v.tsv --no-model --quick --matrices 0 --energy 0 a.el");
    cr_assert_str_eq(program_string(&r, "energy"), "not measured");
    program_free(&r);
    /* 100 watts. */
    const double seconds = cell_of("u.tsv", "seconds:segments"), joules = cell_of("u.tsv", "joules:segments");
    cr_assert(seconds > 0 && joules > 50 * seconds && joules < 200 * seconds, "%g J, %g s", joules, seconds);
    cr_assert(isnan(cell_of("v.tsv", "joules:segments")));
}

/* No time is left for any matrix. */
Test(cli_tune, measures_no_longer_than_it_may)
{
    program_result r;
    PROGRAM_JSON(r, "--json --device cpu tune --table t.tsv --no-model --quick --limit 0.000001");
    cr_assert(program_number(&r, "measured") <= 1);
    program_free(&r);
    PROGRAM_FAILS(2, "--limit", "--device cpu tune --limit soon");
}

/* A table of made-up costs: the head of one that was measured, and matrices by the number of their entries. */
static void write_table(const char *name, int matrices, double small_csr)
{
    program_result r;
    program_write_file("a.el", "0 0\n1 1\n");
    PROGRAM_JSON(r, "--json --device cpu tune --table head.tsv --no-model --matrices 0 a.el");
    program_free(&r);
    char *text = program_read_file("head.tsv"), *head = strstr(text, "\nmatrix\t") + 1;
    int words = 1, features;
    for (const char *at = head; *at != '\n'; at++) words += *at == '\t';
    const char *costs = strstr(head, "\tseconds:");
    features = -1;
    for (const char *at = head; at < costs; at++) features += *at == '\t';
    /* Of products: seconds of three directions and by itself, which is taken, and three numbers of the work. */
    enum { PRODUCTS = 21, DENSITIES = 8, OF_EACH = 8 };
    const int kernels = (words - 2 - features - OF_EACH * PRODUCTS) / 3;
    char *table = malloc(1 << 20), *to = table;
    to += sprintf(to, "%.*s\n", (int)(strchr(head, '\n') - text), text);
    for (int m = 0; m < matrices; m++) {
        const double nnz = 100 * (m + 1);
        to += sprintf(to, "m%d\tmade up", m);
        for (int f = 0; f < features; f++) to += sprintf(to, "\t%g", nnz);
        /* In place one second; csr the same or less; others are slow. */
        for (int k = 0; k < kernels; k++)
            to += sprintf(to, "\t%g", k == 0 ? 1 : k > 1 ? 3 : m < matrices / 2 ? small_csr : 0.5);
        for (int k = 0; k < kernels; k++) to += sprintf(to, "\t%g", k == 0 ? 0. : 2.);
        for (int k = 0; k < kernels; k++) to += sprintf(to, "\t-");
        /* By columns while the vector has few entries, else by rows or tiles; of a large matrix not measured. */
        const bool large = m == matrices - 1;
        for (int p = 0; p < OF_EACH * PRODUCTS && large; p++) to += sprintf(to, "\t-");
        for (int p = 0; p < PRODUCTS && !large; p++) to += sprintf(to, "\t%d", 1 + p % DENSITIES);
        for (int p = 0; p < 3 * PRODUCTS && !large; p++) to += sprintf(to, "\t%d", 4);
        for (int p = 0; p < PRODUCTS && !large; p++) to += sprintf(to, "\t%d", p % DENSITIES > 3);
        for (int p = 0; p < 3 * PRODUCTS && !large; p++) to += sprintf(to, "\t%d", 10 * (1 + p % DENSITIES));
        to += sprintf(to, "\n");
    }
    program_write_file(name, table);
    free(table);
    free(text);
}

Test(cli_tune, trains_a_model_that_is_used)
{
    program_result r;
    if (!can_train()) cr_skip_test("there is no scikit-learn");
    if (TEST_VARIANT(test_on_emulator(), 1, 1)) cr_skip_test("runs plain, on the cpu: most of it is Python");
    write_table("t.tsv", 40, 2);
    PROGRAM_JSON(r, "--json --device cpu tune --table t.tsv --model m.model --matrices 0");
    cr_assert_str_eq(program_string(&r, "model"), "m.model");
    program_free(&r);
    char *model = program_read_file("m.model");
    cr_assert(strstr(model, "dcsr-model 1\n") == model && strstr(model, "40 matrices") &&
              strstr(model, "\nend\n"));
    free(model);
    PROGRAM_JSON(r, "--json --device cpu tune --table t.tsv --no-model --matrices 0 --report");
    const json_t *time = json_object_get(r.json, "time"), *choices = json_object_get(time, "choices");
    cr_assert(json_number_value(json_object_get(json_object_get(choices, "trees, by class"), "accuracy")) >
              0.9);
    cr_assert(json_number_value(json_object_get(json_object_get(choices, "best"), "R")) == 1);
    cr_assert(json_number_value(json_object_get(json_object_get(choices, "always csr"), "R")) > 1.3);
    cr_assert(json_object_get(json_object_get(time, "ablations"), "without nnz"));
    cr_assert(json_object_get(json_object_get(time, "totals"), "1000"));
    const json_t *machine = json_object_get(json_object_get(r.json, "vectors"), "machine");
    cr_assert(json_number_value(json_object_get(machine, "within5")) > 0.9);
    const json_t *directions = json_object_get(json_object_get(r.json, "directions"), "estimates, early");
    cr_assert(json_number_value(json_object_get(directions, "R")) >= 1);
    program_free(&r);
    char command[2 * PATH_MAX];
    snprintf(command, sizeof command,
             "/usr/bin/python3 %s m.model t.tsv | grep 'the model *100.0%%' >/dev/null", check_model);
    cr_assert_eq(system(command), 0);
    /* The same matrices are known already; of another machine there is a complaint. */
    PROGRAM_JSON(r, "--json --device cpu tune --table t.tsv --also t.tsv --no-model --matrices 0 --report");
    PROGRAM_INTEGER(&r, "matrices", 40);
    program_free(&r);
    write_table("more.tsv", 45, 2);
    PROGRAM_JSON(r,
                 "--json --device cpu tune --table t.tsv --also more.tsv --no-model --matrices 0 --report");
    PROGRAM_INTEGER(&r, "matrices", 45);
    program_free(&r);
    program_write_file("other.tsv", "# device cpu\n# machine another\n");
    PROGRAM_FAILS(1, "other.tsv is of another machine",
                  "--device cpu tune --table t.tsv --also other.tsv --no-model --matrices 0 --report");
    r = program_run("--device cpu tune --table t.tsv --no-model --matrices 0 --report");
    cr_assert(!r.status && strstr(r.out, "R_T") && strstr(r.out, "always csr") &&
              strstr(r.out, "energy: not measured"));
    program_free(&r);
}

Test(cli_tune, says_why_there_is_no_model)
{
    write_table("few.tsv", 5, 2);
    setenv("DCSR_PYTHON", "/nowhere/python", 1);
    if (can_train()) {
        PROGRAM_FAILS(1, "the table has 5 matrices, and 20 at least",
                      "--device cpu tune --table few.tsv --model m.model --matrices 0");
        write_table("same.tsv", 30, 0.5);
        PROGRAM_FAILS(1, "csr is the fastest kernel for all",
                      "--device cpu tune --table same.tsv --model m.model --matrices 0");
        cr_assert_null(program_read_file("m.model"));
    }
    program_write_file("other.tsv", "# device cpu\n# machine another\n");
    PROGRAM_FAILS(1, "of another machine", "--device cpu tune --table other.tsv --matrices 0");
    PROGRAM_FAILS(1, "cannot be", "--device cpu tune --table /dev/null/t.tsv --matrices 0");
    PROGRAM_FAILS(2, "--matrices", "--device cpu tune --matrices x");
    PROGRAM_FAILS(1, "nothere", "--device cpu tune --table t.tsv --no-model --matrices 0 nothere.mtx");
}

/* SIGINT ends it behind the matrix that is being measured; what there is stays. */
Test(cli_tune, stops_when_it_is_told)
{
    program_result r = program_run("--device cpu tune --table t.tsv --no-model --quick --progress 2>err & "
                                   "while ! grep -q '^poisson' t.tsv 2>/dev/null; do sleep 0.02; done; "
                                   "kill -INT $! && wait $!; echo \"status $?\"; cat err");
    cr_assert(strstr(r.out, "status 1") && strstr(r.out, "goes on from there"), "%s", r.out);
    cr_assert(lines_of("t.tsv") >= 6);
    program_free(&r);
}
