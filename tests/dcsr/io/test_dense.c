/* test_dense.c: dense matrices from files, well-formed and malformed. */
#include <dcsr/reader.h>
#include "tests/support/support.h"
#include "tests/support/support_files.h"

Test(dense, well_formed)
{
    static const struct {
        const char *name, *text;
    } cases[] = {{"v.mtx", "%%MatrixMarket matrix array real general\n% c\n3 1\n1.5\n-2\n1e300\n"},
                 {"v.txt", "# c\n1.5\n-2\n\n1e300"},
                 {"v2.mtx", "%%MatrixMarket matrix ARRAY real general\r\n3 1\r\n1.5\r\n\r\n -2\r\n1e300"}};
    dcsr_context *context = test_context(1);
    for (int i = 0; i < 3; i++) {
        const char *path = test_write_file(cases[i].name, cases[i].text, strlen(cases[i].text));
        dcsr_dense v;
        TEST_OK(dcsr_dense_read(&v, context, path));
        cr_assert(v.rows == 3 && v.cols == 1 && v.values[0] == 1.5 && v.values[1] == -2 &&
                  v.values[2] == 1e300);
        dcsr_dense_free(&v);
    }
    const char *text = "%%MatrixMarket matrix array integer general\n2 3\n1\n2\n3\n4\n5\n-6\n";
    dcsr_dense d;
    TEST_OK(dcsr_dense_read(&d, context, test_write_file("d.mtx", text, strlen(text))));
    cr_assert(d.rows == 2 && d.cols == 3);
    for (int i = 0; i < 5; i++) cr_assert_eq(d.values[i], i + 1);
    cr_assert_eq(d.values[5], -6);
    cr_assert_eq(test_scratch_bytes(context), 6 * sizeof *d.values);
    dcsr_dense_free(&d);
    text = "%%MatrixMarket matrix array real general\n0 1\n";
    TEST_OK(dcsr_dense_read(&d, context, test_write_file("e.mtx", text, strlen(text))));
    cr_assert(d.rows == 0 && d.cols == 1);
    dcsr_dense_free(&d);
    dcsr_dense_free(&d);
    dcsr_dense_free(NULL);
    cr_assert_eq(test_scratch_bytes(context), 0);
    dcsr_context_destroy(context);
    test_remove_files();
}

Test(dense, real_near_nullspace)
{
    const char *path = "../shared/data/bar_B.mtx.gz";
    if (access(path, R_OK) != 0) cr_skip("%s is not there", path);
    dcsr_context *context = test_context(1);
    dcsr_dense modes;
    TEST_OK(dcsr_dense_read(&modes, context, path));
    cr_assert(modes.rows == 600 && modes.cols == 6);
    for (int i = 0; i < 600; i++)
        cr_assert_eq(modes.values[i], i % 3 == 0, "the first mode moves every node along x");
    dcsr_dense_free(&modes);
    dcsr_context_destroy(context);
}

Test(dense, malformed)
{
    static const struct {
        const char *name, *text;
        const char *words;
    } cases[] = {
        {"v.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 0\n", "v.mtx:1: a coordinate file"},
        {"v.mtx", "%%MatrixMarket matrix array real symmetric\n1 1\n1\n",
         "v.mtx:1: a dense matrix must be general"},
        {"v.mtx", "%%MatrixMarket matrix array real general\n3 1\n1\n2\n     \n",
         "v.mtx:5: the file ends after 2 of the 3"},
        {"v.mtx", "%%MatrixMarket matrix array real general\n1 1\n1\n2\n", "v.mtx:4: more entries"},
        {"v.mtx", "%%MatrixMarket matrix array real general\n1 1\nx\n",
         "v.mtx:3: expected a number, found 'x'"},
        {"v.mtx", "%%MatrixMarket matrix array integer general\n1 1\n1.5\n", "v.mtx:3: expected an integer"},
        {"v.mtx", "%%MatrixMarket matrix array real general\n2 1\n1 2\n  ", "v.mtx:3: '2' after the end"},
        {"v.mtx", "%%MatrixMarket matrix array real general\n18446744073709551615 2\n1\n", "v.mtx:2: "},
        {"v.mtx", "%%MatrixMarket matrix array real general\n1000000 1\n1\n",
         "v.mtx:2: 1000000 entries are announced"},
        {"v.txt", "1\n2\nthree\n", "v.txt:3: expected a number, found 'three'"},
        {"v.txt", "1 2\n", "v.txt:1: '2' after the end"},
        {"v.el", "1\n", ".mtx or .txt"},
    };
    dcsr_context *context = test_context(1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dcsr_dense dense = {.rows = 1};
        TEST_REFUSED(DCSR_ERROR_FORMAT, cases[i].words,
                     dcsr_dense_read(&dense, context,
                                     test_write_file(cases[i].name, cases[i].text, strlen(cases[i].text))));
        cr_assert(!dense.values && !dense.rows && !dense.context);
    }
    dcsr_dense dense;
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_dense_read(NULL, context, "v.mtx"));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_dense_read(&dense, context, NULL));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_dense_read(&dense, NULL, "v.mtx"));
    TEST_STATUS(DCSR_ERROR_IO, dcsr_dense_read(&dense, context, test_path("none.mtx")));
    cr_assert_eq(test_scratch_bytes(context), 0);
    dcsr_context_destroy(context);
    test_remove_files();
}
