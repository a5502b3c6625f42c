/* test_vectors.c: dense vectors from files, well-formed and malformed, and back. */
#include <dcsr/reader.h>
#include "tests/support/support.h"
#include "tests/support/support_files.h"

Test(vectors, well_formed)
{
    static const struct {
        const char *name, *text;
    } cases[] = {{"v.mtx", "%%MatrixMarket matrix array real general\n% c\n3 1\n1.5\n-2\n1e300\n"},
                 {"v.txt", "# c\n1.5\n-2\n\n1e300"},
                 {"v2.mtx", "%%MatrixMarket matrix ARRAY real general\r\n3 1\r\n1.5\r\n\r\n -2\r\n1e300"}};
    dcsr_context *context = test_context(1);
    for (int i = 0; i < 3; i++) {
        const char *path = test_write_file(cases[i].name, cases[i].text, strlen(cases[i].text));
        double *values;
        uint64_t length;
        TEST_OK(dcsr_read_vector(&values, &length, context, path));
        cr_assert(length == 3 && values[0] == 1.5 && values[1] == -2 && values[2] == 1e300);
        free(values);
    }
    const char *text = "%%MatrixMarket matrix array integer general\n2 3\n1\n2\n3\n4\n5\n-6\n";
    double *values;
    uint64_t rows, cols;
    TEST_OK(dcsr_read_dense(&values, &rows, &cols, context, test_write_file("d.mtx", text, strlen(text))));
    cr_assert(rows == 2 && cols == 3);
    for (int i = 0; i < 5; i++) cr_assert_eq(values[i], i + 1);
    cr_assert_eq(values[5], -6);
    free(values);
    text = "%%MatrixMarket matrix array real general\n0 1\n";
    TEST_OK(dcsr_read_vector(&values, &rows, context, test_write_file("e.mtx", text, strlen(text))));
    cr_assert(rows == 0 && values);
    free(values);
    cr_assert_eq(test_scratch_bytes(context), 0);
    dcsr_context_destroy(context);
    test_remove_files();
}

Test(vectors, real_near_nullspace)
{
    const char *path = "../shared/data/bar_B.mtx.gz";
    if (access(path, R_OK) != 0) cr_skip("%s is not there", path);
    dcsr_context *context = test_context(1);
    double *values;
    uint64_t rows, cols;
    TEST_OK(dcsr_read_dense(&values, &rows, &cols, context, path));
    cr_assert(rows == 600 && cols == 6);
    for (int i = 0; i < 600; i++)
        cr_assert_eq(values[i], i % 3 == 0, "the first mode moves every node along x");
    free(values);
    TEST_REFUSED(DCSR_ERROR_FORMAT, "6", dcsr_read_vector(&values, &rows, context, path));
    cr_assert(!values && !rows);
    dcsr_context_destroy(context);
}

Test(vectors, malformed)
{
    static const struct {
        const char *name, *text;
        const char *words;
    } cases[] = {
        {"v.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 0\n", "v.mtx:1: a coordinate file"},
        {"v.mtx", "%%MatrixMarket matrix array real symmetric\n1 1\n1\n",
         "v.mtx:1: a dense vector must be general"},
        {"v.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n", "one column, not 2"},
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
        double *values = (double *)context;
        uint64_t length;
        TEST_REFUSED(DCSR_ERROR_FORMAT, cases[i].words,
                     dcsr_read_vector(&values, &length, context,
                                      test_write_file(cases[i].name, cases[i].text, strlen(cases[i].text))));
        cr_assert(!values && !length);
    }
    double *values;
    uint64_t length;
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_read_vector(&values, NULL, context, "v.mtx"));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_read_vector(NULL, &length, context, "v.mtx"));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_read_vector(&values, &length, context, NULL));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_read_vector(&values, &length, NULL, "v.mtx"));
    TEST_STATUS(DCSR_ERROR_IO, dcsr_read_vector(&values, &length, context, test_path("none.mtx")));
    cr_assert_eq(test_scratch_bytes(context), 0);
    dcsr_context_destroy(context);
    test_remove_files();
}
