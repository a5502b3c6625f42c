/* test_reader.c: matrices and vectors from well-formed texts and files. */
#include <dcsr/reader.h>
#include "tests/support/support.h"
#include "tests/support/support_files.h"
#include <inttypes.h>
#include <math.h>

typedef struct expected {
    dcsr_type type;
    uint64_t rows, cols, nnz;
    uint64_t row[8], col[8];
    double value[8];
} expected;

/* Reads the text, with `options`, and compares entry by entry. */
static void check_with(const char *name, const char *text, const dcsr_read_options *options,
                       const expected *e)
{
    dcsr_context *context = test_context(1);
    dcsr_coo coo;
    dcsr_status status = dcsr_coo_read_buffer(&coo, context, name, text, strlen(text), options);
    cr_assert_eq(status, DCSR_OK, "%s\n%s", dcsr_thread_error(), text);
    cr_assert_eq(coo.type, e->type, "%s", text);
    cr_assert(coo.rows == e->rows && coo.cols == e->cols && coo.nnz == e->nnz,
              "%" PRIu64 " x %" PRIu64 ", %" PRIu64 " entries from\n%s", coo.rows, coo.cols, coo.nnz, text);
    for (uint64_t i = 0; i < coo.nnz; i++) {
        cr_assert(coo.row_indices[i] == e->row[i] && coo.col_indices[i] == e->col[i],
                  "entry %" PRIu64 " of\n%s", i, text);
        if (coo.values)
            cr_assert_eq(test_decode(coo.type, (char *)coo.values + 8 * i), e->value[i], "%s", text);
    }
    cr_assert_eq(!coo.values, coo.type == DCSR_PATTERN);
    dcsr_coo_free(&coo);
    cr_assert_eq(test_scratch_bytes(context), 0);
    dcsr_context_destroy(context);
}

static void check(const char *name, const char *text, expected e)
{
    check_with(name, text, NULL, &e);
}

Test(reader, matrix_market_fields)
{
    check("a.mtx", "%%MatrixMarket matrix coordinate real general\n3 4 2\n1 2 0.5\n3 4 -1e3\n",
          (expected){DCSR_FP64, 3, 4, 2, {0, 2}, {1, 3}, {0.5, -1000}});
    check("a.mtx", "%%MatrixMarket matrix coordinate integer general\n3 4 2\n1 2 7\n3 4 -1\n",
          (expected){DCSR_INT64, 3, 4, 2, {0, 2}, {1, 3}, {7, -1}});
    check("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 4 3\n1 2\n3 4\n1 2\n",
          (expected){DCSR_PATTERN, 3, 4, 3, {0, 2, 0}, {1, 3, 1}, {0}});
    check("a.mtx", "%%MatrixMarket matrix coordinate real general\n0 0 0\n",
          (expected){DCSR_FP64, 0, 0, 0, {0}, {0}, {0}});
    check(
        "a.mtx",
        "%%MatrixMarket matrix coordinate pattern general\n4294967296 2147483648 1\n4294967296 2147483648\n",
        (expected){
            DCSR_PATTERN, DCSR_MAX_ROWS, DCSR_MAX_COLS, 1, {DCSR_MAX_ROWS - 1}, {DCSR_MAX_COLS - 1}, {0}});
}

Test(reader, matrix_market_symmetries)
{
    check("a.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 1\n2 1 2\n3 3 3\n3 1 4\n",
          (expected){DCSR_FP64, 3, 3, 6, {0, 1, 2, 2, 0, 0}, {0, 0, 2, 0, 1, 2}, {1, 2, 3, 4, 2, 4}});
    check("a.mtx", "%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 2\n2 1 5\n3 2 -6\n",
          (expected){DCSR_INT64, 3, 3, 4, {1, 2, 0, 1}, {0, 1, 1, 2}, {5, -6, -5, 6}});
    check("a.mtx", "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 5\n",
          (expected){DCSR_FP64, 2, 2, 2, {1, 0}, {0, 1}, {5, -5}});
    check("a.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n2 1\n2 2\n",
          (expected){DCSR_PATTERN, 2, 2, 3, {1, 1, 0}, {0, 1, 1}, {0}});
}

Test(reader, matrix_market_spellings)
{
    const expected e = {DCSR_FP64, 2, 2, 2, {0, 1}, {1, 0}, {3, 4}};
    static const char *const texts[] = {
        "%%MatrixMarket matrix coordinate real general\r\n% CRLF\r\n2 2 2\r\n1 2 3\r\n2 1 4\r\n",
        "%%matrixmarket MATRIX Coordinate REAL General\n2 2 2\n1 2 3\n2 1 4", /* no last newline */
        "%%MatrixMarket  matrix\tcoordinate real  general \n%\n \n 2\t2  2 \n\n 1 \t 2 3\n%\n2 1 4 \n\n",
        "%%MatrixMarket matrix coordinate real general\n2 2 2\n01 002 3.0\n2 1 +4e0\n"};
    for (int i = 0; i < 4; i++) {
        check("a.mtx", texts[i], e);
        check("some.folder/A.MTX", texts[i], e);
        check("a.mtx.gz", texts[i], e);
    }
}

Test(reader, special_values_are_kept)
{
    const char *text = "%%MatrixMarket matrix coordinate real general\n1 5 5\n1 1 nan\n1 2 inf\n1 3 -INF\n1 "
                       "4 -0\n1 5 -NaN\n";
    dcsr_context *context = test_context(1);
    dcsr_coo coo;
    TEST_OK(dcsr_coo_read_buffer(&coo, context, "a.mtx", text, strlen(text), NULL));
    const double *v = coo.values;
    cr_assert(isnan(v[0]) && !signbit(v[0]) && v[1] == INFINITY && v[2] == -INFINITY);
    cr_assert(v[3] == 0 && signbit(v[3]) && isnan(v[4]) && signbit(v[4]));
    dcsr_coo_free(&coo);
    text = "%%MatrixMarket matrix coordinate integer general\n1 1 2\n1 1 9223372036854775807\n1 1 "
           "-9223372036854775808\n";
    TEST_OK(dcsr_coo_read_buffer(&coo, context, "a.mtx", text, strlen(text), NULL));
    cr_assert(((int64_t *)coo.values)[0] == INT64_MAX && ((int64_t *)coo.values)[1] == INT64_MIN);
    dcsr_coo_free(&coo);
    dcsr_context_destroy(context);
}

Test(reader, edge_lists)
{
    const expected pattern = {DCSR_PATTERN, 8, 8, 3, {0, 7, 0}, {2, 1, 2}, {0}};
    static const char *const endings[] = {"a.el", "a.tsv", "a.csv", "a.txt", "a.facts", "a.CSV.GZ"};
    for (int i = 0; i < 6; i++) {
        check(endings[i], "0 2\n7 1\n0 2\n", pattern);
        check(endings[i], "0\t2\r\n7\t1\r\n0\t2", pattern);
        check(endings[i], "# c\n% d\n\n0,2\n 7 , 1\n  # e\n\r\n0 ,2\n\n", pattern);
        if (strcmp(endings[i], "a.facts")) /* which has two columns, and no other */
            check(endings[i], "0 2 1.5\n7,1,-2\n1\t1\t3\n",
                  (expected){DCSR_FP64, 8, 8, 3, {0, 7, 1}, {2, 1, 1}, {1.5, -2, 3}});
        check(endings[i], "", (expected){DCSR_PATTERN, 0, 0, 0, {0}, {0}, {0}});
        check(endings[i], "# nothing\n\n", (expected){DCSR_PATTERN, 0, 0, 0, {0}, {0}, {0}});
    }
}

Test(reader, edge_list_dimensions)
{
    const char *text = "1 5\n2 0\n";
    const expected e = {DCSR_PATTERN, 6, 6, 2, {1, 2}, {5, 0}, {0}};
    expected f = e;
    check_with("a.el", text, NULL, &f); /* square: as large as the largest id of both columns */
    dcsr_read_options options = {.rows = 10, .cols = 20};
    f.rows = 10, f.cols = 20;
    check_with("a.el", text, &options, &f);
    options = (dcsr_read_options){.rows = 3}; /* one given: the other is what its own column needs */
    f.rows = 3, f.cols = 6;
    check_with("a.el", text, &options, &f);
    options = (dcsr_read_options){.cols = 9};
    f.rows = 3, f.cols = 9;
    check_with("a.el", text, &options, &f);
    options = (dcsr_read_options){.rows = DCSR_MAX_ROWS, .cols = DCSR_MAX_COLS};
    check_with("a.el", "4294967295 2147483647\n", &options,
               &(expected){DCSR_PATTERN, DCSR_MAX_ROWS, DCSR_MAX_COLS, 1, {4294967295}, {2147483647}, {0}});
    check_with("a.el", "2147483647 0\n", NULL,
               &(expected){DCSR_PATTERN, DCSR_MAX_COLS, DCSR_MAX_COLS, 1, {2147483647}, {0}, {0}});
}

/* -- Large texts, in chunks ------------------------------------------------------------------------------ */

typedef struct buffer {
    char *data;
    size_t length;
} buffer;

/* Lines of an edge list with values, comments and blank lines of all lengths among them; *model gets the
 * entries. */
static buffer random_lines(dcsr_context *context, test_random *random, uint64_t entries, bool mtx,
                           dcsr_coo *model)
{
    buffer made = {test_allocate(entries, 120), 0};
    char *p = made.data;
    TEST_OK(dcsr_coo_allocate(model, context, DCSR_FP64, 1000, 1000, entries));
    if (mtx)
        p += sprintf(p, "%%%%MatrixMarket matrix coordinate real general\n1000 1000 %" PRIu64 "\n", entries);
    for (uint64_t i = 0; i < entries; i++) {
        if (test_random_once_in(random, 10))
            p += sprintf(p, "%%%*s\n", (int)test_random_below(random, 60), "comment");
        if (test_random_once_in(random, 10)) *p++ = '\n';
        model->row_indices[i] = i ? test_random_below(random, 1000) : 999; /* the largest id is there */
        model->col_indices[i] = test_random_below(random, 1000);
        double value =
            (double)(int64_t)test_random_next(random) / (double)(1 + test_random_below(random, 1000000));
        ((double *)model->values)[i] = value;
        p += sprintf(p, "%" PRIu64 " %" PRIu64 " %.17g\n", model->row_indices[i] + mtx,
                     model->col_indices[i] + mtx, value);
    }
    made.length = (size_t)(p - made.data);
    return made;
}

Test(reader, large_texts_whatever_the_threads)
{
    test_seeds seeds = test_seeds_from_environment(6);
    dcsr_context *one = test_context(1), *four = test_context(4);
    for (uint64_t s = 0; s < seeds.rounds; s++) {
        test_random random = {seeds.first + s};
        test_seed_begins(seeds.first + s);
        bool mtx = s % 2;
        dcsr_coo model, a, b;
        buffer made =
            random_lines(one, &random, 1 + test_random_below(&random, s % 3 ? 60000 : 300), mtx, &model);
        const char *name = mtx ? "a.mtx" : "a.el";
        TEST_OK(dcsr_coo_read_buffer(&a, one, name, made.data, made.length, NULL));
        TEST_OK(dcsr_coo_read_buffer(&b, four, name, made.data, made.length, NULL));
        cr_assert(test_same_coo(&a, &model), "seed %" PRIu64, seeds.first + s);
        cr_assert(test_same_coo(&b, &model), "seed %" PRIu64, seeds.first + s);
        free(made.data);
        dcsr_coo_free(&a);
        dcsr_coo_free(&b);
        dcsr_coo_free(&model);
    }
    cr_assert_eq(test_scratch_bytes(one) + test_scratch_bytes(four), 0);
    dcsr_context_destroy(one);
    dcsr_context_destroy(four);
}

Test(reader, large_symmetric_text)
{
    enum { N = 30000 };
    char *made = test_allocate(3 * N, 40), *p = made;
    p += sprintf(p, "%%%%MatrixMarket matrix coordinate integer skew-symmetric\n%d %d %d\n", N, N, 2 * N - 3);
    for (int i = 2; i <= N; i++) {
        p += sprintf(p, "%d %d %d\n", i, i - 1, i);
        if (i > 2) p += sprintf(p, "%d %d %d\n", i, i - 2, -i);
    }
    for (int threads = 1; threads <= 4; threads += 3) {
        dcsr_context *context = test_context(threads);
        dcsr_coo coo;
        TEST_OK(dcsr_coo_read_buffer(&coo, context, "a.mtx", made, (size_t)(p - made), NULL));
        uint64_t listed = 2 * N - 3;
        cr_assert_eq(coo.nnz, 2 * listed);
        const int64_t *v = coo.values;
        for (uint64_t i = 0; i < listed; i++) {
            cr_assert(coo.row_indices[i] > coo.col_indices[i]);
            cr_assert(coo.row_indices[i + listed] == coo.col_indices[i] &&
                      coo.col_indices[i + listed] == coo.row_indices[i] && v[i + listed] == -v[i]);
        }
        dcsr_coo_free(&coo);
        dcsr_context_destroy(context);
    }
    free(made);
}

/* -- Files ----------------------------------------------------------------------------------------------- */

static uint64_t reports, last_done, last_total;

static void on_progress(void *user, uint64_t done, uint64_t total)
{
    cr_assert_eq(user, &reports);
    cr_assert(done >= last_done && done <= total);
    reports++;
    last_done = done;
    last_total = total;
}

Test(reader, progress_is_reported)
{
    dcsr_context *context = test_context(1);
    size_t length = (size_t)10 << 20;
    char *data = test_allocate(length, 1);
    memset(data, '\n', length);
    memcpy(data, "0 1\n", 4);
    const char *path = test_write_file("a.el", data, length);
    dcsr_read_options options = {.progress = on_progress, .user = &reports};
    dcsr_coo coo;
    TEST_OK(dcsr_coo_read(&coo, context, path, &options));
    cr_assert_eq(coo.nnz, 1);
    cr_assert(reports >= 3 && last_done == length && last_total == length);
    dcsr_coo_free(&coo);
    free(data);
    dcsr_context_destroy(context);
    test_remove_files();
}

Test(reader, a_pipe_can_be_read)
{
    dcsr_context *context = test_context(1);
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(write(ends[1], "0 1\n2 3", 7), 7);
    close(ends[1]);
    char descriptor[40];
    snprintf(descriptor, sizeof descriptor, "/dev/fd/%d", ends[0]);
    const char *path = test_path("pipe.el");
    cr_assert_eq(symlink(descriptor, path), 0);
    dcsr_coo coo;
    TEST_OK(dcsr_coo_read(&coo, context, path, NULL));
    cr_assert(coo.nnz == 2 && coo.rows == 4);
    dcsr_coo_free(&coo);
    close(ends[0]);
    dcsr_context_destroy(context);
    test_remove_files();
}

/* Rows and entries as expected.json has them: after expanding, as a pattern (an entry that stands twice
 * counts once). */
Test(reader, real_files)
{
    static const struct {
        const char *name;
        dcsr_type type;
        uint64_t rows, nnz;
    } files[] = {{"airfoil.mtx.gz", DCSR_FP64, 260, 1682},
                 {"bar.mtx.gz", DCSR_FP64, 600, 23402},
                 {"bcsstk13.mtx.gz", DCSR_FP64, 2003, 83883},
                 {"ca-AstroPh-cc.mtx.gz", DCSR_PATTERN, 17903, 394003},
                 {"cit-HepTh.mtx.gz", DCSR_PATTERN, 27770, 352807},
                 {"cryg2500.mtx.gz", DCSR_FP64, 2500, 12349},
                 {"ego-Twitter.mtx.gz", DCSR_PATTERN, 81306, 2684606},
                 {"email-Enron.mtx.gz", DCSR_PATTERN, 36692, 367662},
                 {"jagmesh7.mtx.gz", DCSR_PATTERN, 1138, 7450},
                 {"recirc_flow.mtx.gz", DCSR_FP64, 225, 1849},
                 {"unit_square.mtx.gz", DCSR_FP64, 191, 1243},
                 {"OL.cedge.el.gz", DCSR_PATTERN, 0, 7035},
                 {"wiki-Vote.el.gz", DCSR_PATTERN, 0, 103689},
                 {"CA-HepTh.el.gz", DCSR_PATTERN, 0, 51971}};
    dcsr_context *context = test_context(2);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[100];
        snprintf(path, sizeof path, "../shared/data/%s", files[i].name);
        if (access(path, R_OK) != 0) {
            cr_skip("%s is not there", path);
            return;
        }
        dcsr_coo coo;
        dcsr_matrix *matrix;
        uint64_t nnz;
        TEST_OK(dcsr_coo_read(&coo, context, path, NULL));
        cr_assert_eq(coo.type, files[i].type, "%s", path);
        cr_assert_eq(coo.rows, coo.cols);
        if (files[i].rows) {
            cr_assert_eq(coo.rows, files[i].rows, "%s has %" PRIu64 " rows", path, coo.rows);
            TEST_OK(dcsr_matrix_from_coo(&matrix, context, &coo, NULL));
            TEST_OK(dcsr_matrix_get_nnz(matrix, &nnz));
            dcsr_matrix_destroy(matrix);
        } else {
            nnz = coo.nnz; /* lines of the file */
        }
        cr_assert_eq(nnz, files[i].nnz, "%s has %" PRIu64 " entries", path, nnz);
        dcsr_coo_free(&coo);
    }
    dcsr_context_destroy(context);
}

Test(reader, survives_allocation_failures)
{
    static const struct {
        const char *name, *text;
    } cases[] = {{"a.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 1\n\n3 3 2"},
                 {"a.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 1\n2 1\n\n"},
                 {"a.el", "0 1 5\n\n1 2 6\n"}};
    dcsr_context *context = test_context(1);
    dcsr_coo coo;
    for (int i = 0; i < 3; i++) {
        const char *name = cases[i].name, *data = cases[i].text;
        size_t length = strlen(data);
        TEST_SURVIVES_ALLOCATION_FAILURES(context, &coo,
                                          dcsr_coo_read_buffer(&coo, context, name, data, length, NULL));
        dcsr_coo_free(&coo);
        const char *path = test_write_file(name, data, length);
        TEST_SURVIVES_ALLOCATION_FAILURES(context, &coo, dcsr_coo_read(&coo, context, path, NULL));
        dcsr_coo packed = coo;
        path = test_path(i ? "b.el.gz" : "b.mtx.gz");
        TEST_OK(dcsr_coo_write(&packed, path));
        dcsr_coo_free(&packed);
        TEST_SURVIVES_ALLOCATION_FAILURES(context, &coo, dcsr_coo_read(&coo, context, path, NULL));
        dcsr_coo_free(&coo);
    }
    cr_assert_eq(test_scratch_bytes(context), 0);
    dcsr_context_destroy(context);
    test_remove_files();
}

Test(reader, the_memory_limit_is_kept)
{
    dcsr_context *context;
    dcsr_context_options options = {.device = DCSR_DEVICE_CPU, .threads = 1, .memory_limit = 1 << 20};
    TEST_OK(dcsr_context_create(&context, &options));
    size_t length = 4 * 100000;
    char *data = test_allocate(length, 1);
    for (size_t i = 0; i < length; i += 4) memcpy(data + i, "1 2\n", 4);
    dcsr_coo coo;
    TEST_REFUSED(DCSR_ERROR_OUT_OF_MEMORY, "limit",
                 dcsr_coo_read_buffer(&coo, context, "a.el", data, length, NULL));
    cr_assert(test_is_zero(&coo));
    cr_assert_eq(test_scratch_bytes(context), 0);
    free(data);
    dcsr_context_destroy(context);
}
