/* test_reader_errors.c: malformed inputs, each refused with the file, the line and the reason. */
#include "dcsr/io/gzip.h"
#include <dcsr/reader.h>
#include "tests/support/support.h"
#include "tests/support/support_files.h"
#include <inttypes.h>

typedef struct malformed {
    const char *text;
    int line;
    const char *words; /* of the message, after the line */
} malformed;

#define REAL    "%%MatrixMarket matrix coordinate real general\n"
#define INTEGER "%%MatrixMarket matrix coordinate integer general\n"
#define PATTERN "%%MatrixMarket matrix coordinate pattern general\n"
#define LOWER   "%%MatrixMarket matrix coordinate real symmetric\n"
#define SKEW    "%%MatrixMarket matrix coordinate integer skew-symmetric\n"

static const malformed matrix_market[] = {
    /* banner */
    {"", 1, "empty"},
    {"\n", 1, "not a Matrix Market file"},
    {"1 1 1\n1 1 1\n", 1, "not a Matrix Market file"},
    {"%MatrixMarket matrix coordinate real general\n", 1, "'%MatrixMarket'"},
    {"%%MatrixMarketx matrix coordinate real general\n", 1, "not a Matrix Market file"},
    {" " REAL "1 1 0\n", 1, "not a Matrix Market file"},
    {"%%MatrixMarket", 1, "object"},
    {"%%MatrixMarket vector coordinate real general\n", 1, "vector"},
    {"%%MatrixMarket matrix\n", 1, "layout of the matrix is the end of the line"},
    {"%%MatrixMarket matrix dense real general\n", 1, "coordinate, array"},
    {"%%MatrixMarket matrix coordinate float general\n", 1, "real, integer, pattern"},
    {"%%MatrixMarket matrix coordinate complex general\n1 1 0\n", 1, "complex"},
    {"%%MatrixMarket matrix coordinate complex hermitian\n1 1 0\n", 1, "complex"},
    {"%%MatrixMarket matrix coordinate real hermitian\n1 1 0\n", 1, "hermitian"},
    {"%%MatrixMarket matrix coordinate real\n1 1 0\n", 1, "symmetry"},
    {"%%MatrixMarket matrix coordinate real general x\n1 1 0\n", 1, "'x'"},
    {"%%MatrixMarket matrix coordinate pattern skew-symmetric\n1 1 0\n", 1, "signs"},
    {"%%MatrixMarket matrix array pattern general\n1 1\n", 1, "positions"},
    {"%%MatrixMarket matrix array real general\n2 1\n1\n2\n", 1, "dense"},
    /* size line */
    {REAL, 1, "before the size line"},
    {REAL "% c\n\n", 3, "before the size line"},
    {REAL "abc\n", 2, "number of rows, found 'abc'"},
    {REAL "% c\n\n3\n", 4, "number of columns, found the end of the line"},
    {REAL "3 3\n", 2, "number of entries, found the end of the line"},
    {REAL "3 3 -1\n", 2, "number of entries, found '-1'"},
    {REAL "3 3 1.0\n", 2, "number of entries, found '1.0'"},
    {REAL "3 3 1 1\n1 1 1\n", 2, "'1' after the end of the size line"},
    {REAL "4294967297 3 0\n", 2, "too large"},
    {REAL "3 2147483649 0\n", 2, "too large"},
    {REAL "99999999999999999999999999 3 0\n", 2, "too large"},
    {REAL "3 3 18446744073709551615\n1 1 1\n", 2, "room"},
    {REAL "3 3 1000000000000\n1 1 1\n", 2, "room"},
    {LOWER "3 4 0\n", 2, "square"},
    {SKEW "3 4 0\n", 2, "square"},
    /* number of entries */
    {REAL "3 3 1\n", 2, "room"},
    {REAL "3 3 2\n1 1 1\n% bye         \n\n", 5, "ends after 1 of the 2"},
    {REAL "3 3 1\n1 1 1\n\n2 2 2\n", 5, "more entries than the 1 announced"},
    {REAL "3 3 0\n% c\n2 2 2\n", 4, "more entries than the 0 announced"},
    {LOWER "3 3 1\n1 1 1\n2 1 2\n", 4, "more entries than the 1 announced"},
    /* indices */
    {REAL "3 3 1\n0 1 1\n", 3, "row 0"},
    {REAL "3 3 1\n1 0 1\n", 3, "column 0"},
    {REAL "3 3 1\n-1 1 1\n", 3, "row '-1' is negative"},
    {REAL "3 3 2\n1 1 1\n% c\n4 1 1\n", 5, "row '4' is beyond the last one, which is 3"},
    {REAL "3 3 1\n1 4 1\n", 3, "column '4' is beyond the last one, which is 3"},
    {REAL "3 3 1\n99999999999999999999999 1 1\n", 3, "beyond"},
    {REAL "0 3 1\n1 1 1\n", 3, "no rows"},
    {REAL "3 3 1\n1.0 1 1\n", 3, "expected a row number, found '1.0'"},
    {REAL "3 3 1\n1 x 1\n", 3, "expected a column number, found 'x'"},
    {REAL "3 3 1\n1\n 1 1 1", 3, "expected a column number, found the end of the line"},
    {REAL "3 3 1\n1,1,1\n", 3, "expected a row number"},
    {REAL "3 3 1\n# c\n1 1 1\n", 3, "expected a row number, found '#'"},
    {REAL "3 3 1\n1 1 1\n2 2", 4, "expected a number, found the end of the line"},
    /* values */
    {REAL "3 3 1\n1 1 \n     ", 3, "expected a number, found the end of the line"},
    {REAL "3 3 1\n1 1 x\n", 3, "expected a number, found 'x'"},
    {REAL "3 3 1\n1 1 1.5.2\n", 3, "expected a number, found '1.5.2'"},
    {REAL "3 3 1\n1 1 1e\n", 3, "expected a number, found '1e'"},
    {REAL "3 3 1\n1 1 1d5\n", 3, "'1d5'"},
    {REAL "3 3 1\n1 1 0x10\n", 3, "'0x10'"},
    {REAL "3 3 1\n1 1 1,5\n", 3, "'1'"},
    {REAL "3 3 1\n1 1 1e999\n", 3, "too large for a double"},
    {REAL "3 3 1\n1 1 1 2\n", 3, "'2' after the end of the entry"},
    {INTEGER "3 3 1\n1 1 1.5\n", 3, "expected an integer, found '1.5'"},
    {INTEGER "3 3 1\n1 1 9223372036854775808\n", 3, "too large for a 64-bit integer"},
    {INTEGER "3 3 1\n1 1 -9223372036854775809\n", 3, "too large for a 64-bit integer"},
    {INTEGER "3 3 1\n1 1 nan\n", 3, "expected an integer"},
    {PATTERN "3 3 1\n1 1 1\n", 3, "'1' after the end of the entry"},
    /* symmetry */
    {LOWER "3 3 2\n1 1 1\n1 2 1\n", 4, "(1, 2) is above the diagonal"},
    {SKEW "3 3 1\n2 2 1\n", 3, "(2, 2) is on the diagonal"},
    {SKEW "3 3 1\n2 3 1\n", 3, "(2, 3) is above the diagonal"},
    {SKEW "3 3 1\n2 1 -9223372036854775808\n", 3, "negative"},
};

static const malformed edge_lists[] = {
    {"0 1\n# c\n\n-1 2\n", 4, "row '-1' is negative; the first is 0"},
    {"0 1\n1 -2\n", 2, "column '-2' is negative"},
    {"4294967296 0\n", 1, "row '4294967296' is beyond the last one, which is 2147483647"},
    {"2147483648 0\n", 1, "that a square matrix can have"},
    {"0 2147483648\n", 1, "column '2147483648' is beyond the last one, which is 2147483647"},
    {"0 99999999999999999999999\n", 1, "beyond"},
    {"source,target\n0,1\n", 1, "expected a row number, found 'source'"},
    {"0 1\n1\n", 2, "expected a column number, found the end of the line"},
    {"0 1\n1,\n", 2, "expected a column number, found the end of the line"},
    {"0,,1\n", 1, "expected a column number, found ','"},
    {"0 1,\n", 1, "',' after the column"},
    {"0;1\n", 1, "expected a row number, found '0;1'"},
    {"0 1\n1 2 5\n", 2, "'5' after the column, but the first entry of the file has no value"},
    {"# c\n0 1 5\n\n1 2\n", 4, "no value, which the first entry of the file has"},
    {"0 1 5\n1 2 x\n", 2, "expected a number, found 'x'"},
    {"0 1 5 6\n", 1, "'6' after the end of the entry"},
    {"0 1 5,\n", 1, "',' after the end of the entry"},
    {"0 1 1e999\n", 1, "too large for a double"},
    {"0 1\n\x01\x02\n", 2,
     "'?"
     "?'"},
};

static const malformed relations[] = {
    {"0 1\n# c\n1\t2\t3\n", 3, "a relation of 3 columns; an edge has two"},
    {"0 1 2.5\n", 1, "a relation of 3 columns; an edge has two"},
    {"a\tb\tc\td\n", 1, "a relation of 4 columns; an edge has two"},
    {"0 1\n2\n", 2, "a relation of 1 column; an edge has two"},
    {"0 1\nalice bob\n", 2, "'alice' is no row number: symbols must be numbered first"},
    {"0\tbob\n", 1, "'bob' is no column number: symbols must be numbered first"},
    {"0 1x\n", 1, "'1x' is no column number"},
    {"0 1\n-1 2\n", 2, "row '-1' is negative"},
    {"0 1,\n", 1, "',' after the end of the entry"},
};

static void check_refused(const char *name, const malformed *m, const dcsr_read_options *options)
{
    dcsr_context *context = test_context(1);
    dcsr_coo coo;
    char place[100];
    TEST_STATUS(DCSR_ERROR_FORMAT,
                dcsr_coo_read_buffer(&coo, context, name, m->text, strlen(m->text), options));
    snprintf(place, sizeof place, "%s:%d: ", name, m->line);
    const char *message = dcsr_thread_error();
    cr_assert(!strncmp(message, place, strlen(place)), "the message\n%s\ndoes not begin with %s for\n%s",
              message, place, m->text);
    cr_assert(strstr(message, m->words), "the message\n%s\nlacks \"%s\" for\n%s", message, m->words, m->text);
    cr_assert(test_is_zero(&coo));
    cr_assert_eq(test_scratch_bytes(context), 0);
    dcsr_context_destroy(context);
}

Test(reader_errors, matrix_market)
{
    for (size_t i = 0; i < sizeof matrix_market / sizeof *matrix_market; i++)
        check_refused("folder/a.mtx", &matrix_market[i], NULL);
}

Test(reader_errors, edge_lists)
{
    for (size_t i = 0; i < sizeof edge_lists / sizeof *edge_lists; i++)
        check_refused("a.el", &edge_lists[i], NULL);
}

Test(reader_errors, relations)
{
    for (size_t i = 0; i < sizeof relations / sizeof *relations; i++) {
        check_refused("a.facts", &relations[i], NULL);
        check_refused("A.FACTS.gz", &relations[i], NULL);
    }
}

Test(reader_errors, edge_list_dimensions)
{
    dcsr_read_options options = {.rows = 3, .cols = 5};
    check_refused(
        "a.csv",
        &(malformed){"2,4\n3,0\n", 2, "row '3' is beyond the last one, which is 2 by the dimensions"},
        &options);
    check_refused("a.csv", &(malformed){"2,4\n0,5\n", 2, "column '5' is beyond the last one, which is 4"},
                  &options);
    options = (dcsr_read_options){.cols = 5};
    check_refused("a.csv", &(malformed){"4294967296,4\n", 1, "row '4294967296' is beyond"}, &options);
    dcsr_context *context = test_context(1);
    dcsr_coo coo;
    options.cols = DCSR_MAX_COLS + 1;
    TEST_REFUSED(DCSR_ERROR_FORMAT, "too large",
                 dcsr_coo_read_buffer(&coo, context, "a.el", "0 1\n", 4, &options));
    dcsr_context_destroy(context);
}

/* Two wrong lines far apart in a text of many chunks: the first is reported, with its number, whatever the
 * threads. */
Test(reader_errors, the_first_of_several_is_reported)
{
    enum { LINES = 60000 };
    test_seeds seeds = test_seeds_from_environment(20);
    for (uint64_t s = 0; s < seeds.rounds; s++) {
        test_random random = {seeds.first + s};
        test_seed_begins(seeds.first + s);
        uint64_t first = test_random_below(&random, LINES), second = test_random_below(&random, LINES);
        bool surplus = test_random_once_in(&random, 2); /* the first error: one entry too many */
        char *data = test_allocate(LINES + 10, 20), *p = data;
        p += sprintf(p, "%%%%MatrixMarket matrix coordinate pattern general\n%d 9 %" PRIu64 "\n", LINES,
                     surplus ? (first < second ? first : second) : LINES);
        for (uint64_t i = 0; i < LINES; i++) {
            if (i == second || (i == first && !surplus))
                p += sprintf(p, "wrong\n");
            else
                p += sprintf(p, "%" PRIu64 " %d\n", i + 1, 1 + (int)test_random_below(&random, 9));
        }
        char place[60];
        snprintf(place, sizeof place, "a.mtx:%" PRIu64 ": %s", (first < second ? first : second) + 3,
                 surplus && first < second ? "more" : "expected");
        for (int threads = 1; threads <= 4; threads += 3) {
            dcsr_context *context = test_context(threads);
            dcsr_coo coo;
            TEST_REFUSED(DCSR_ERROR_FORMAT, place,
                         dcsr_coo_read_buffer(&coo, context, "a.mtx", data, (size_t)(p - data), NULL));
            cr_assert_eq(test_scratch_bytes(context), 0);
            dcsr_context_destroy(context);
        }
        free(data);
    }
}

Test(reader_errors, arguments)
{
    dcsr_context *context = test_context(1);
    dcsr_coo coo;
    TEST_REFUSED(DCSR_ERROR_FORMAT, ".mtx", dcsr_coo_read(&coo, context, "a.xyz", NULL));
    TEST_REFUSED(DCSR_ERROR_FORMAT, ".mtx", dcsr_coo_read(&coo, context, "mtx", NULL));
    TEST_REFUSED(DCSR_ERROR_FORMAT, ".mtx", dcsr_coo_read(&coo, context, "", NULL));
    TEST_REFUSED(DCSR_ERROR_FORMAT, ".mtx", dcsr_coo_read_buffer(&coo, context, "a.gz", "", 0, NULL));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_coo_read(NULL, context, "a.mtx", NULL));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_coo_read(&coo, NULL, "a.mtx", NULL));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_coo_read(&coo, context, NULL, NULL));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_coo_read_buffer(&coo, context, "a.el", NULL, 5, NULL));
    TEST_REFUSED(DCSR_ERROR_IO, "No such file", dcsr_coo_read(&coo, context, test_path("none.mtx"), NULL));
    TEST_STATUS(DCSR_ERROR_IO, dcsr_coo_read(&coo, context, test_path("none.el.gz"), NULL));
    dcsr_input *input;
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_input_open(NULL, context, "a.mtx"));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_input_open(&input, NULL, "a.mtx"));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_input_open(&input, context, NULL));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_input_look(NULL, NULL, NULL));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_input_read(&coo, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_IO, "/dev/fd/999: cannot be opened",
                 dcsr_input_open(&input, context, "/dev/fd/999"));
    TEST_REFUSED(DCSR_ERROR_FORMAT, ".mtx", dcsr_input_open(&input, context, "/tmp"));
    cr_assert(!input);
    dcsr_input_close(NULL);
    const char *folder = test_path("folder.el");
    cr_assert_eq(symlink("/tmp", folder), 0);
    TEST_REFUSED(DCSR_ERROR_IO, "irectory", dcsr_coo_read(&coo, context, folder, NULL));
    cr_assert(test_is_zero(&coo));
    dcsr_context_destroy(context);
    test_remove_files();
}

/* -- Compressed files ------------------------------------------------------------------------------------ */

/* One gzip member. */
static size_t pack(const char *data, unsigned char *packed, size_t room)
{
    z_stream stream = {0};
    deflateInit2(&stream, 6, Z_DEFLATED, DCSR_I_GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY);
    stream.next_in = (unsigned char *)(uintptr_t)data;
    stream.avail_in = (uInt)strlen(data);
    stream.next_out = packed;
    stream.avail_out = (uInt)room;
    cr_assert_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    deflateEnd(&stream);
    return room - stream.avail_out;
}

/* Two edges with something behind them, which is reported to who asks. */
static void check_report(dcsr_context *context, const unsigned char *packed, size_t length, uint64_t from,
                         uint64_t ignored)
{
    dcsr_coo coo;
    dcsr_read_report report = {7, 7};
    const dcsr_read_options options = {.report = &report};
    const char *path = test_write_file("tail.el.gz", packed, length);
    TEST_OK(dcsr_coo_read(&coo, context, path, &options));
    cr_assert(coo.nnz == 2 && report.ignored_bytes == ignored && report.ignored_from == from);
    dcsr_coo_free(&coo);
    TEST_REFUSED(DCSR_ERROR_FORMAT, "something after", dcsr_coo_read(&coo, context, path, NULL));
}

Test(reader_errors, compressed_files)
{
    dcsr_context *context = test_context(1);
    dcsr_coo coo;
    unsigned char packed[4096];
    size_t first = pack("0 1\n1 ", packed, sizeof packed), whole = first + pack("2\n", packed + first, 1000);
    TEST_OK(dcsr_coo_read(&coo, context, test_write_file("two.el.gz", packed, whole), NULL));
    cr_assert(coo.nnz == 2 && coo.row_indices[1] == 1 && coo.col_indices[1] == 2);
    dcsr_coo_free(&coo);

    for (size_t length = 1; length < whole; length++) { /* broken off anywhere but between the members */
        const char *path = test_write_file("cut.el.gz", packed, length);
        if (length == first) continue;
        TEST_REFUSED(DCSR_ERROR_FORMAT, length < 2 ? "not a gzip file" : "truncated",
                     dcsr_coo_read(&coo, context, path, NULL));
    }
    for (size_t i = 0; i < whole;
         i++) { /* any byte changed is noticed, but for the time and the system in the header */
        size_t in_member = i < first ? i : i - first;
        packed[i] ^= 0x55;
        dcsr_status status = dcsr_coo_read(&coo, context, test_write_file("bad.el.gz", packed, whole), NULL);
        if (in_member < 4 || in_member > 9) cr_assert_eq(status, DCSR_ERROR_FORMAT, "byte %zu", i);
        if (status == DCSR_OK) dcsr_coo_free(&coo);
        packed[i] ^= 0x55;
    }
    memset(packed + whole, 0, 100); /* padding is skipped; anything after it is not */
    TEST_OK(dcsr_coo_read(&coo, context, test_write_file("pad.el.gz", packed, whole + 100), NULL));
    cr_assert_eq(coo.nnz, 2);
    dcsr_coo_free(&coo);
    packed[whole + 50] = 'x';
    TEST_REFUSED(DCSR_ERROR_FORMAT, "something after",
                 dcsr_coo_read(&coo, context, test_write_file("tail.el.gz", packed, whole + 100), NULL));
    check_report(context, packed, whole + 100, whole + 50, 50);
    packed[whole] = 'x';
    check_report(context, packed, whole + 100, whole, 100);
    check_report(context, packed, whole + 1, whole, 1);
    packed[whole] = 0x1f; /* one byte of a member more */
    TEST_REFUSED(DCSR_ERROR_FORMAT, "truncated",
                 dcsr_coo_read(&coo, context, test_write_file("tail.el.gz", packed, whole + 1), NULL));
    memmove(packed + whole + 7, packed, first); /* a member behind padding counts */
    memset(packed + whole, 0, 7);
    TEST_OK(dcsr_coo_read(&coo, context, test_write_file("more.el.gz", packed, whole + 7), NULL));
    dcsr_coo_free(&coo);
    TEST_REFUSED(
        DCSR_ERROR_FORMAT, "more.el.gz:4: expected a column",
        dcsr_coo_read(&coo, context, test_write_file("more.el.gz", packed, whole + 7 + first), NULL));
    TEST_REFUSED(DCSR_ERROR_FORMAT, "not a gzip file",
                 dcsr_coo_read(&coo, context, test_write_file("plain.el.gz", "0 1\n", 4), NULL));
    TEST_REFUSED(DCSR_ERROR_FORMAT, "not a gzip file",
                 dcsr_coo_read(&coo, context, test_write_file("empty.el.gz", "", 0), NULL));
    TEST_REFUSED(DCSR_ERROR_FORMAT, ".gz",
                 dcsr_coo_read(&coo, context, test_write_file("a.el", packed, whole), NULL));
    TEST_REFUSED(DCSR_ERROR_FORMAT, "compressed",
                 dcsr_coo_read_buffer(&coo, context, "a.el.gz", (char *)packed, whole, NULL));
    cr_assert(test_is_zero(&coo));
    cr_assert_eq(test_scratch_bytes(context), 0);
    dcsr_context_destroy(context);
    test_remove_files();
}
