/* test_writer.c: what is written, that reading gives it back, and that a failure leaves what was there. */
#include "dcsr/io/out_file.h"
#include <dcsr/generate.h>
#include <dcsr/reader.h>
#include "tests/support/support.h"
#include "tests/support/support_files.h"
#include <fcntl.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void check_content(const dcsr_coo *coo, const char *name, const char *content)
{
    const char *path = test_path(name);
    size_t length;
    TEST_OK(dcsr_coo_write(coo, path));
    char *data = test_read_file(path, &length);
    cr_assert_str_eq(data, content);
    free(data);
}

Test(writer, content_by_hand)
{
    dcsr_context *context = test_context(1);
    uint64_t row[] = {2, 0, 1, 0}, col[] = {0, 3, 3, 1};
    double real[] = {0.1, -2, 1e100, 0};
    int8_t small[] = {-128, 127, 0, 5};
    bool truth[] = {true, false, true, true};
    dcsr_coo coo = {3, 4, 4, DCSR_FP64, row, col, real, context};
    check_content(&coo, "a.mtx",
                  "%%MatrixMarket matrix coordinate real general\n3 4 4\n3 1 0.10000000000000001\n1 4 -2\n2 "
                  "4 1e+100\n1 2 0\n");
    check_content(&coo, "a.el", "2\t0\t0.10000000000000001\n0\t3\t-2\n1\t3\t1e+100\n0\t1\t0\n");
    coo.type = DCSR_INT8, coo.values = small;
    check_content(
        &coo, "a.mtx",
        "%%MatrixMarket matrix coordinate integer general\n3 4 4\n3 1 -128\n1 4 127\n2 4 0\n1 2 5\n");
    check_content(&coo, "a.csv", "2,0,-128\n0,3,127\n1,3,0\n0,1,5\n");
    coo.type = DCSR_BOOL, coo.values = truth;
    check_content(&coo, "a.tsv", "2\t0\t1\n0\t3\t0\n1\t3\t1\n0\t1\t1\n");
    coo.type = DCSR_PATTERN, coo.values = NULL;
    check_content(&coo, "a.mtx",
                  "%%MatrixMarket matrix coordinate pattern general\n3 4 4\n3 1\n1 4\n2 4\n1 2\n");
    check_content(&coo, "a.facts", "2\t0\n0\t3\n1\t3\n0\t1\n");
    coo.nnz = 0;
    check_content(&coo, "a.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 4 0\n");
    check_content(&coo, "a.txt", "");
    cr_assert_eq(test_scratch_bytes(context), 0);
    dcsr_context_destroy(context);
    cr_assert_eq(test_remove_files(), 6, "temporary files are left behind");
}

Test(writer, names_instead_of_numbers)
{
    dcsr_context *context = test_context(1);
    dcsr_names *names;
    uint64_t row[] = {0, 1, 2}, col[] = {3, 0, 1}, ids[6];
    int32_t values[] = {7, -8, 9};
    const dcsr_text texts[] = {{"a", 1}, {"b c", 3}, {"%", 1}, {"\"", 1}, {"no\nline", 7}};
    dcsr_coo coo = {5, 6, 3, DCSR_INT32, row, col, values, context};
    TEST_OK(dcsr_names_create(&names, context));
    TEST_OK(dcsr_names_add(names, 5, texts, ids));
    size_t length;
    const char *path = test_path("a.el");
    TEST_OK(dcsr_coo_write_named(&coo, names, path));
    char *data = test_read_file(path, &length);
    cr_assert_str_eq(data, "a\t\"\"\"\"\t7\n\"b c\"\ta\t-8\n\"%\"\t\"b c\"\t9\n");
    free(data);
    col[1] = 4;
    TEST_REFUSED(DCSR_ERROR_FORMAT, "name of vertex 4 holds the end",
                 dcsr_coo_write_named(&coo, names, path));
    col[1] = 5;
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "5", dcsr_coo_write_named(&coo, names, path));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "names is NULL", dcsr_coo_write_named(&coo, NULL, path));
    data = test_read_file(path, &length);
    cr_assert_eq(*data, 'a', "what was there is lost");
    free(data);
    dcsr_names_destroy(names);
    dcsr_context_destroy(context);
    cr_assert_eq(test_remove_files(), 1, "temporary files are left behind");
}

/* Any bits of a double, the special ones often. */
static double random_double(test_random *random)
{
    static const double special[] = {0.0,
                                     -0.0,
                                     1.0,
                                     -1.0,
                                     INFINITY,
                                     -INFINITY,
                                     5e-324,
                                     1.7976931348623157e308,
                                     1e15,
                                     1e16,
                                     123456789012345680.0,
                                     0.1};
    uint64_t bits = test_random_next(random);
    if (test_random_once_in(random, 3)) return special[bits % (sizeof special / sizeof *special)];
    if (test_random_once_in(random, 3)) return (double)(int64_t)(bits >> test_random_below(random, 64));
    double value;
    memcpy(&value, &bits, sizeof value);
    return isnan(value) ? NAN : value; /* a NaN comes back with its sign, but without its other bits */
}

static void random_coo(dcsr_coo *coo, dcsr_context *context, dcsr_type type, test_random *random)
{
    uint64_t rows = 1 + test_random_below(random, 100000), cols = 1 + test_random_below(random, 100000);
    TEST_OK(dcsr_coo_allocate(coo, context, type, rows, cols, test_random_below(random, 3000)));
    for (uint64_t i = 0; i < coo->nnz; i++) {
        coo->row_indices[i] = test_random_below(random, rows);
        coo->col_indices[i] = test_random_below(random, cols);
        if (type == DCSR_FP64) ((double *)coo->values)[i] = random_double(random);
        if (type == DCSR_INT64)
            ((int64_t *)coo->values)[i] =
                (int64_t)(test_random_next(random) >> test_random_below(random, 64));
    }
}

Test(writer, reading_gives_it_back)
{
    test_seeds seeds = test_seeds_from_environment(30);
    static const dcsr_type types[] = {DCSR_PATTERN, DCSR_FP64, DCSR_INT64};
    static const char *const names[] = {"a.mtx", "a.mtx.gz", "a.el", "a.csv.gz"};
    dcsr_context *context = test_context(2);
    for (uint64_t s = 0; s < seeds.rounds; s++) {
        test_random random = {seeds.first + s};
        test_seed_begins(seeds.first + s);
        dcsr_type type = types[s % 3];
        dcsr_coo written, read;
        random_coo(&written, context, type, &random);
        for (int i = 0; i < (type == DCSR_INT64 ? 2 : 4);
             i++) { /* the values of edge lists are read as doubles */
            const char *path = test_path(names[i]);
            dcsr_read_options options = {.rows = written.rows, .cols = written.cols};
            TEST_OK(dcsr_coo_write(&written, path));
            TEST_OK(dcsr_coo_read(&read, context, path, &options));
            if (!written.nnz) read.type = type; /* an edge list without edges does not say */
            cr_assert(test_same_coo(&written, &read), "seed %" PRIu64 ", %s", seeds.first + s, names[i]);
            dcsr_coo_free(&read);
        }
        dcsr_coo_free(&written);
    }
    cr_assert_eq(test_scratch_bytes(context), 0);
    dcsr_context_destroy(context);
    test_remove_files();
}

/* Each type's values come back, as int64 or fp64. */
Test(writer, every_type_is_read_back)
{
    dcsr_context *context = test_context(1);
    for (int type = 1; type < DCSR_TYPE_COUNT; type++) {
        dcsr_coo written, read;
        TEST_OK(dcsr_coo_allocate(&written, context, (dcsr_type)type, 5, 5, 5));
        size_t size = dcsr_type_size((dcsr_type)type);
        for (int i = 0; i < 5; i++) {
            written.row_indices[i] = written.col_indices[i] = (uint64_t)i;
            test_encode((dcsr_type)type, i == 3 && type >= DCSR_FP32 ? 0.1 : i,
                        (char *)written.values + (size_t)i * size);
        }
        const char *path = test_path("a.mtx");
        TEST_OK(dcsr_coo_write(&written, path));
        TEST_OK(dcsr_coo_read(&read, context, path, NULL));
        cr_assert_eq(read.type, type >= DCSR_FP32 ? DCSR_FP64 : DCSR_INT64);
        for (size_t i = 0; i < 5; i++)
            cr_assert_eq(test_decode(read.type, (char *)read.values + 8 * i),
                         test_decode((dcsr_type)type, (char *)written.values + i * size));
        dcsr_coo_free(&read);
        dcsr_coo_free(&written);
    }
    dcsr_context_destroy(context);
    test_remove_files();
}

/* A pipe gets the file as it is, and nothing is put beside it. */
Test(writer, streams_are_written_straight)
{
    static const struct {
        const char *name, *content;
    } cases[] = {{"p.el", "0\t1\n1\t2\n"},
                 {"p.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n2 3\n"},
                 {"", "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n2 3\n"}};
    dcsr_context *context = test_context(1);
    dcsr_coo coo;
    TEST_OK(dcsr_coo_generate(&coo, context, "path:3"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int ends[2];
        char descriptor[40], content[200] = "";
        cr_assert_eq(pipe(ends), 0);
        snprintf(descriptor, sizeof descriptor, "/dev/fd/%d", ends[1]);
        const char *path = *cases[i].name ? test_path(cases[i].name) : descriptor;
        if (*cases[i].name) cr_assert_eq(symlink(descriptor, path), 0);
        TEST_OK(dcsr_coo_write(&coo, path));
        TEST_OK(dcsr_file_write(context, path, "end", 3));
        close(ends[1]);
        cr_assert(read(ends[0], content, sizeof content - 1) > 0);
        cr_assert(!strncmp(content, cases[i].content, strlen(cases[i].content)), "%s", content);
        cr_assert_str_eq(content + strlen(cases[i].content), "end");
        close(ends[0]);
    }
    TEST_REFUSED(DCSR_ERROR_IO, "/dev/full: cannot be written", dcsr_coo_write(&coo, "/dev/full"));
    cr_assert(!test_says("unchanged"));
    TEST_REFUSED(DCSR_ERROR_IO, "/dev/fd/999: cannot be written", dcsr_coo_write(&coo, "/dev/fd/999"));
    dcsr_coo_free(&coo);
    cr_assert_eq(test_scratch_bytes(context), 0);
    dcsr_context_destroy(context);
    cr_assert_eq(test_remove_files(), 2);
}

Test(writer, any_bytes)
{
    dcsr_context *context = test_context(1);
    const size_t length = 1000003;
    char *bytes = test_allocate(length, 1);
    for (size_t i = 0; i < length; i++) bytes[i] = (char)(i * i >> 3);
    for (size_t n = length;; n /= 2) {
        size_t found;
        const char *path = test_path("a.png");
        TEST_OK(dcsr_file_write(context, path, bytes, n));
        char *data = test_read_file(path, &found);
        cr_assert(found == n && !memcmp(data, bytes, n));
        free(data);
        if (!n) break;
    }
    free(bytes);
    cr_assert_eq(test_scratch_bytes(context), 0);
    dcsr_context_destroy(context);
    cr_assert_eq(test_remove_files(), 1);
}

Test(writer, large_files)
{
    dcsr_context *context = test_context(2);
    dcsr_coo written, read;
    TEST_OK(dcsr_coo_generate(&written, context, "poisson2d9:250"));
    for (int i = 0; i < 2; i++) {
        const char *path = test_path(i ? "a.mtx" : "a.mtx.gz");
        TEST_OK(dcsr_coo_write(&written, path));
        TEST_OK(dcsr_coo_read(&read, context, path, NULL));
        cr_assert(test_same_coo(&written, &read));
        dcsr_coo_free(&read);
    }
    dcsr_coo_free(&written);
    dcsr_context_destroy(context);
    test_remove_files();
}

Test(writer, dense_matrices_come_back)
{
    dcsr_context *context = test_context(1);
    test_random random = {11};
    double values[1000];
    for (int i = 0; i < 1000; i++) values[i] = random_double(&random);
    for (int i = 0; i < 4; i++) {
        const char *path = test_path(i % 2 ? "v.mtx" : "v.mtx.gz");
        const dcsr_dense written = {i < 2 ? 1000 : 250, i < 2 ? 1 : 4, values, context};
        dcsr_dense read;
        TEST_OK(dcsr_dense_write(&written, path));
        TEST_OK(dcsr_dense_read(&read, context, path));
        cr_assert(read.rows == written.rows && read.cols == written.cols);
        cr_assert(!memcmp(values, read.values, sizeof values));
        dcsr_dense_free(&read);
    }
    dcsr_dense five = {5, 1, values, context};
    const dcsr_status invalid = DCSR_ERROR_INVALID_ARGUMENT;
    TEST_OK(dcsr_dense_write(&(dcsr_dense){0, 1, NULL, context}, test_path("e.mtx")));
    TEST_REFUSED(DCSR_ERROR_FORMAT, ".mtx", dcsr_dense_write(&five, test_path("v.el")));
    TEST_STATUS(invalid, dcsr_dense_write(&five, NULL));
    TEST_STATUS(invalid, dcsr_dense_write(NULL, test_path("v.mtx")));
    TEST_STATUS(invalid, dcsr_dense_write(&(dcsr_dense){5, 1, NULL, context}, test_path("v.mtx")));
    TEST_STATUS(invalid, dcsr_dense_write(&(dcsr_dense){5, 1, values, NULL}, test_path("v.mtx")));
    five.rows = five.cols = UINT64_MAX;
    TEST_STATUS(DCSR_ERROR_TOO_LARGE, dcsr_dense_write(&five, test_path("v.mtx")));
    cr_assert_eq(test_scratch_bytes(context), 0);
    dcsr_context_destroy(context);
    test_remove_files();
}

/* Numbers have a point, whatever the locale has. */
Test(writer, locale_does_not_matter)
{
    static const char *const commas[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR", "ps_AF"};
    bool set = false;
    for (int i = 0; i < 5 && !set; i++) set = setlocale(LC_ALL, commas[i]) != NULL;
    if (!set) cr_skip("no locale with a decimal comma is installed");
    dcsr_context *context = test_context(1);
    uint64_t zero[] = {0};
    double value[] = {0.1};
    dcsr_dense read;
    dcsr_coo coo = {1, 1, 1, DCSR_FP64, zero, zero, value, context};
    check_content(&coo, "a.el", "0\t0\t0.10000000000000001\n");
    const char *text = "0.1\n0.10000000000000000555111512312578270211815834045410156250\n1.5e-300\n";
    TEST_OK(dcsr_dense_read(&read, context, test_write_file("v.txt", text, strlen(text))));
    cr_assert(read.values[0] == 0x1.999999999999ap-4 && read.values[1] == 0x1.999999999999ap-4 &&
              read.values[2] > 1e-300);
    dcsr_dense_free(&read);
    dcsr_context_destroy(context);
    test_remove_files();
}

/* -- Failures -------------------------------------------------------------------------------------------- */

Test(writer, bad_arguments)
{
    dcsr_context *context = test_context(1);
    uint64_t row[] = {0, 3}, col[] = {0, 0};
    uint64_t value[] = {1, UINT64_MAX};
    dcsr_coo coo = {4, 4, 2, DCSR_PATTERN, row, col, NULL, context};
    TEST_REFUSED(DCSR_ERROR_FORMAT, ".mtx", dcsr_coo_write(&coo, test_path("a.xyz")));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_coo_write(&coo, NULL));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_coo_write(NULL, test_path("a.mtx")));
    coo.rows = 3;
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "entry number 1 is (3, 0)",
                 dcsr_coo_write(&coo, test_path("a.mtx")));
    coo.rows = 4, coo.type = DCSR_UINT64;
    TEST_STATUS(DCSR_ERROR_TYPE_MISMATCH, dcsr_coo_write(&coo, test_path("a.mtx")));
    coo.values = value;
    TEST_REFUSED(DCSR_ERROR_TOO_LARGE, "18446744073709551615", dcsr_coo_write(&coo, test_path("a.mtx")));
    value[1] = INT64_MAX;
    TEST_REFUSED(DCSR_ERROR_IO, "No such file", dcsr_coo_write(&coo, test_path("no/folder/a.mtx")));
    coo.type = DCSR_INT64;
    TEST_REFUSED(DCSR_ERROR_FORMAT, "a relation has no place for the values",
                 dcsr_coo_write(&coo, test_path("a.facts")));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_file_write(context, test_path("a.png"), NULL, 1));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_file_write(context, NULL, "", 1));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_file_write(NULL, test_path("a.png"), "", 1));
    coo.type = DCSR_UINT64;
    cr_assert_eq(mkdir(test_path("a.mtx"), 0777), 0);
    TEST_REFUSED(DCSR_ERROR_IO, "not a plain file", dcsr_coo_write(&coo, test_path("a.mtx")));
    cr_assert_eq(rmdir(test_path("a.mtx")), 0);
    char *endless = test_allocate(6000, 1);
    memset(endless, 'a', 5000);
    strcpy(endless + 5000, ".mtx");
    TEST_STATUS(DCSR_ERROR_IO, dcsr_coo_write(&coo, endless));
    free(endless);
    cr_assert_eq(test_scratch_bytes(context), 0);
    dcsr_context_destroy(context);
    cr_assert_eq(test_remove_files(), 0);
}

/* A full disk, as the system shows it for a limit on the size of files. */
Test(writer, a_full_disk_leaves_the_old_file)
{
    dcsr_context *context = test_context(1);
    dcsr_coo coo;
    TEST_OK(dcsr_coo_generate(&coo, context, "rmat:14,16"));
    signal(SIGXFSZ, SIG_IGN);
    static const char *const names[] = {"a.mtx", "a.el.gz"};
    for (int i = 0; i < 4; i++) {
        const char *path = test_write_file(names[i % 2], "old", 3);
        dcsr_i_output_use_names(i < 2);
        struct rlimit limit, old;
        getrlimit(RLIMIT_FSIZE, &old);
        limit = old;
        limit.rlim_cur = 300000;
        cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
        dcsr_status status = dcsr_coo_write(&coo, path);
        setrlimit(RLIMIT_FSIZE, &old);
        cr_assert_eq(status, DCSR_ERROR_IO);
        cr_assert(test_says("File too large"));
        size_t length;
        char *data = test_read_file(path, &length);
        cr_assert_str_eq(data, "old");
        free(data);
    }
    dcsr_coo_free(&coo);
    cr_assert_eq(test_scratch_bytes(context), 0);
    dcsr_context_destroy(context);
    cr_assert_eq(test_remove_files(), 2, "temporary files are left behind");
}

/* Writes some of a file in another process, which is killed then. */
static void write_and_die(const char *path, bool names)
{
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (!child) {
        static const char some[DCSR_I_OUTPUT_BUFFER] = "new";
        dcsr_context *context;
        dcsr_i_output out;
        dcsr_i_output_use_names(names);
        if (dcsr_context_create(&context, &(dcsr_context_options){.device = DCSR_DEVICE_CPU}) ||
            dcsr_i_output_open(&out, context, path))
            _exit(1);
        for (int i = 0; i < 3; i++) dcsr_i_output_put(&out, some, sizeof some);
        raise(SIGKILL);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Whether files of the tests' folder can have no name; then nothing but the old file is left. */
static bool can_be_nameless(void)
{
    const int descriptor = open(test_folder, O_WRONLY | O_TMPFILE, 0600);
    if (descriptor >= 0) close(descriptor);
    return descriptor >= 0;
}

Test(writer, a_kill_leaves_the_old_file)
{
    const char *path = test_write_file("a.mtx", "old", 3), *new = test_path("b.mtx");
    for (int i = 0; i < 4; i++) {
        const bool names = i >= 2 || !can_be_nameless();
        size_t length;
        write_and_die(i % 2 ? new : path, names);
        char *data = test_read_file(path, &length);
        cr_assert_str_eq(data, "old");
        free(data);
        cr_assert_neq(access(new, F_OK), 0);
        if (i == 1 && !names) {
            cr_assert_eq(test_remove_files(), 1, "a file without a name is left behind");
            path = test_write_file("a.mtx", "old", 3), new = test_path("b.mtx");
        }
    }
    cr_assert_geq(test_remove_files(), 3); /* temporary ones are left */
}

/* What is made under the same name meanwhile is replaced, as what was there before. */
Test(writer, the_last_to_end_is_there)
{
    dcsr_context *context = test_context(1);
    for (int names = 0; names < 2; names++) {
        const char *path = test_path("a.mtx");
        dcsr_i_output first, second;
        size_t length;
        dcsr_i_output_use_names(names);
        TEST_OK(dcsr_i_output_open(&first, context, path));
        TEST_OK(dcsr_i_output_open(&second, context, path));
        dcsr_i_output_put(&first, "first", 5);
        dcsr_i_output_put(&second, "second", 6);
        TEST_OK(dcsr_i_output_close(&second));
        TEST_OK(dcsr_i_output_close(&first));
        char *data = test_read_file(path, &length);
        cr_assert_str_eq(data, "first");
        free(data);
        cr_assert_eq(unlink(path), 0);
    }
    dcsr_context_destroy(context);
    cr_assert_eq(test_remove_files(), 0);
}

Test(writer, allocation_failures_leave_the_old_file)
{
    dcsr_context *context = test_context(1);
    dcsr_coo coo;
    TEST_OK(dcsr_coo_generate(&coo, context, "path:10"));
    uint64_t before = test_scratch_bytes(context);
    static const char *const names[] = {"a.mtx", "a.el.gz"};
    for (int i = 0; i < 2; i++) {
        const char *path = test_write_file(names[i], "old", 3);
        size_t length;
        for (long n = 0;; n++) {
            dcsr_i_fail_allocations_after(n);
            dcsr_status status = dcsr_coo_write(&coo, path);
            dcsr_i_fail_allocations_after(-1);
            cr_assert_eq(test_scratch_bytes(context), before);
            char *data = test_read_file(path, &length);
            cr_assert_eq(!strcmp(data, "old"), status != DCSR_OK);
            free(data);
            if (status == DCSR_OK) {
                cr_assert_gt(n, 0);
                break;
            }
            cr_assert_eq(status, DCSR_ERROR_OUT_OF_MEMORY);
        }
    }
    dcsr_coo_free(&coo);
    dcsr_context_destroy(context);
    cr_assert_eq(test_remove_files(), 2, "temporary files are left behind");
}

Test(writer, modes_and_links_are_kept)
{
    dcsr_context *context = test_context(1);
    dcsr_coo coo;
    struct stat status;
    TEST_OK(dcsr_coo_generate(&coo, context, "path:10"));
    umask(027);
    for (int names = 0; names < 2; names++) {
        const char *path = test_path("a.mtx"), *link = test_path("link.mtx");
        dcsr_i_output_use_names(names);
        TEST_OK(dcsr_coo_write(&coo, path));
        cr_assert(stat(path, &status) == 0 && (status.st_mode & 0777) == 0640);
        chmod(path, 0604);
        cr_assert_eq(symlink(path, link), 0);
        TEST_OK(dcsr_coo_write(&coo, link));
        cr_assert(stat(path, &status) == 0 && (status.st_mode & 0777) == 0604);
        cr_assert(lstat(link, &status) == 0 && S_ISLNK(status.st_mode));
        if (!names) cr_assert(unlink(path) == 0 && unlink(link) == 0);
    }
    dcsr_coo_free(&coo);
    dcsr_context_destroy(context);
    cr_assert_eq(test_remove_files(), 2);
}
