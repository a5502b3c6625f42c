/* test_parts.c: parts of a CSR, a CSC and a COO, and products with them, beside loops over entries. */
#include "dcsr/base/alloc.h"
#include "tests/support/support_multi.h"
#include <dcsr/convert.h>
#include <dcsr/multi.h>
#include <dcsr/spmv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(parts, .init = set_devices);

/* Entries sorted by row and column, and what shows them. */
typedef struct entries {
    dcsr_context *context;
    dcsr_matrix *matrix;
    dcsr_view *csr, *csc;
    dcsr_coo coo;
} entries;

/* n entries at random, `hub` of ten of them in one row or column. */
static entries random_entries(test_random *random, dcsr_type type, uint64_t rows, uint64_t cols, uint64_t n,
                              uint64_t hub)
{
    entries e = {.context = test_context(2)};
    e.matrix = test_matrix(e.context, type, rows, cols, DCSR_POLICY_LAST);
    const uint64_t row_hub = rows ? test_random_below(random, rows) : 0,
                   col_hub = cols ? test_random_below(random, cols) : 0;
    for (uint64_t i = 0; i < n && rows && cols; i++) {
        const bool to_hub = test_random_below(random, 10) < hub;
        uint64_t row = test_random_below(random, rows), col = test_random_below(random, cols);
        if (to_hub && i % 2) row = row_hub;
        if (to_hub && i % 2 == 0) col = col_hub;
        char value[16];
        test_encode(type, (double)test_random_below(random, type == DCSR_BOOL ? 2 : 7), value);
        TEST_OK(dcsr_matrix_insert(e.matrix, 1, &row, &col, type == DCSR_PATTERN ? NULL : value, NULL));
    }
    TEST_OK(dcsr_matrix_wait(e.matrix));
    e.csr = test_view(e.matrix, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    e.csc = test_view(e.matrix, DCSR_LAYOUT_CSC, DCSR_VIEW_SORTED);
    TEST_OK(dcsr_view_to_coo(&e.coo, e.csr));
    return e;
}

static void free_entries(entries *e)
{
    dcsr_coo_free(&e->coo);
    dcsr_view_destroy(e->csr), dcsr_view_destroy(e->csc);
    dcsr_matrix_destroy(e->matrix);
    test_close(e->context);
}

static dcsr_status create(dcsr_parts **parts, dcsr_multi *devices, const entries *e, dcsr_parts_format format,
                          dcsr_parts_balance balance)
{
    if (format == DCSR_PARTS_COO) return dcsr_parts_create_coo(parts, devices, &e->coo, balance);
    return dcsr_parts_create(parts, devices, format == DCSR_PARTS_CSR ? e->csr : e->csc, balance);
}

/* Entry `at` of the whole, in the order of the format: its line and the index across. */
static void place(const entries *e, dcsr_parts_format format, uint64_t at, uint64_t *line, uint64_t *across)
{
    if (format != DCSR_PARTS_CSC) {
        *line = e->coo.row_indices[at], *across = e->coo.col_indices[at];
        return;
    }
    dcsr_csc csc;
    TEST_OK(dcsr_view_get_csc_on_host(e->csc, &csc));
    *line = 0;
    while (csc.offsets[*line + 1] <= at) ++*line;
    *across = csc.row_indices[at];
}

/* Parts are one behind the other, even, and each of their entries is where their offsets say. */
static void check_parts(const dcsr_parts *parts, const entries *e, dcsr_parts_format format, bool by_lines)
{
    dcsr_parts_info info;
    dcsr_part part, before = {0};
    TEST_OK(dcsr_parts_get_info(parts, &info));
    cr_assert(info.format == format && info.type == e->coo.type && info.nnz == e->coo.nnz);
    cr_assert(info.rows == e->coo.rows && info.cols == e->coo.cols);
    const uint64_t lines = format == DCSR_PARTS_CSC ? info.cols : info.rows;
    for (uint64_t k = 0; k < info.parts; k++, before = part) {
        TEST_OK(dcsr_parts_get(parts, k, &part));
        cr_assert(part.first == before.end && part.end >= part.first);
        cr_assert_eq(part.shared_first, before.shared_last);
        cr_assert_eq(part.first_line, before.first_line + before.lines - part.shared_first);
        const uint64_t n = part.end - part.first, covered = part.lines;
        if (by_lines)
            cr_assert(!part.shared_last && covered >= lines / info.parts &&
                      covered <= lines / info.parts + 1);
        else
            cr_assert(n >= info.nnz / info.parts && n <= info.nnz / info.parts + 1);
        cr_assert(part.offsets[0] == 0 && part.offsets[part.lines] == n);
        for (uint64_t i = 0; i < part.lines; i++)
            for (uint64_t at = part.offsets[i]; at < part.offsets[i + 1]; at++) {
                uint64_t line, across;
                place(e, format, part.first + at, &line, &across);
                cr_assert(line == part.first_line + i && across == part.indices[at]);
            }
        if (part.shared_last) {
            uint64_t line, across;
            place(e, format, part.end, &line, &across);
            cr_assert(part.lines && line == part.first_line + part.lines - 1);
        }
    }
    cr_assert(before.end == info.nnz && before.first_line + before.lines == lines && !before.shared_last);
}

/* Sums of small whole numbers are exact, in any order. */
static void check_product(const dcsr_parts *parts, const entries *e, dcsr_parts_merge merge,
                          test_random *random)
{
    const dcsr_type type = e->coo.type == DCSR_PATTERN ? DCSR_FP64 : e->coo.type;
    const size_t size = dcsr_type_size(type);
    double *sum = test_allocate(e->coo.rows + 1, sizeof *sum),
           *from = test_allocate(e->coo.cols + 1, sizeof *from);
    char *x = test_allocate(e->coo.cols + 1, size), *y = test_allocate(e->coo.rows + 1, size);
    for (uint64_t i = 0; i < e->coo.rows; i++) sum[i] = 0;
    memset(y, 85, (e->coo.rows + 1) * size);
    for (uint64_t j = 0; j < e->coo.cols; j++) {
        from[j] = (double)test_random_below(random, type == DCSR_BOOL ? 2 : 3);
        test_encode(type, from[j], x + j * size);
    }
    for (uint64_t at = 0; at < e->coo.nnz; at++) {
        const double value =
            e->coo.values ? test_decode(e->coo.type, (const char *)e->coo.values + at * size) : 1;
        sum[e->coo.row_indices[at]] += value * from[e->coo.col_indices[at]];
    }
    dcsr_multi_report report;
    TEST_OK(dcsr_parts_spmv(y, parts, x, merge, &report));
    cr_assert(report.seconds >= report.communication);
    for (uint64_t i = 0; i < e->coo.rows; i++) {
        char expected[16];
        test_encode(type, type == DCSR_BOOL ? sum[i] != 0 : sum[i], expected);
        cr_assert(!memcmp(y + i * size, expected, size), "row %d is %g, not %g", (int)i,
                  test_decode(type, y + i * size), sum[i]);
    }
    cr_assert_eq((unsigned char)y[e->coo.rows * size], 85);
    free(sum), free(from), free(x), free(y);
}

Test(parts, are_even_and_multiply_as_the_whole)
{
    static const dcsr_type types[] = {DCSR_FP64, DCSR_FP32, DCSR_INT32, DCSR_PATTERN, DCSR_BOOL, DCSR_UINT64};
    const test_seeds seeds = test_seeds_from_environment((uint64_t)TEST_SIZE(80, 24, 8));
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.rounds; seed++) {
        test_seed_begins(seed);
        test_random random = {seed};
        dcsr_multi *devices = test_devices((int)(1 + test_random_below(&random, MOST_DEVICES)), 2);
        entries e = random_entries(&random, types[seed % 6], test_random_below(&random, 40),
                                   test_random_below(&random, 40), test_random_below(&random, 200),
                                   (uint64_t[]){0, 4, 10}[test_random_below(&random, 3)]);
        for (int format = 0; format < 3; format++)
            for (int balance = 0; balance < 2; balance++) {
                dcsr_parts *parts;
                TEST_OK(create(&parts, devices, &e, (dcsr_parts_format)format, (dcsr_parts_balance)balance));
                check_parts(parts, &e, (dcsr_parts_format)format, balance);
                for (int merge = 0; merge < 3; merge++)
                    check_product(parts, &e, (dcsr_parts_merge)merge, &random);
                dcsr_parts_destroy(parts);
            }
        free_entries(&e);
        dcsr_multi_destroy(devices);
    }
}

Test(parts, of_one_row_share_it_all)
{
    test_random random = {4};
    dcsr_multi *devices = test_devices(3, 2);
    entries e = random_entries(&random, DCSR_FP64, 1, 100, 300, 0);
    dcsr_parts *parts;
    dcsr_part part;
    TEST_OK(dcsr_parts_create(&parts, devices, e.csr, DCSR_PARTS_BY_ENTRIES));
    check_parts(parts, &e, DCSR_PARTS_CSR, false);
    TEST_OK(dcsr_parts_get(parts, 1, &part));
    cr_assert(part.shared_first && part.shared_last && part.first_line == 0 && part.lines == 1);
    check_product(parts, &e, DCSR_MERGE_RANGES, &random);
    dcsr_parts_destroy(parts);
    free_entries(&e);
    /* More parts than entries. */
    e = random_entries(&random, DCSR_FP64, 9, 9, 2, 0);
    for (int format = 0; format < 3; format++) {
        TEST_OK(create(&parts, devices, &e, (dcsr_parts_format)format, DCSR_PARTS_BY_ENTRIES));
        check_parts(parts, &e, (dcsr_parts_format)format, false);
        check_product(parts, &e, DCSR_MERGE_TREE, &random);
        dcsr_parts_destroy(parts);
    }
    free_entries(&e);
    dcsr_multi_destroy(devices);
}

Test(parts, read_the_arrays_of_the_whole_where_they_are)
{
    test_random random = {6};
    dcsr_multi *devices = test_devices(2, 2);
    entries e = random_entries(&random, DCSR_FP64, 30, 30, 200, 3);
    dcsr_parts *rows, *cols, *list;
    dcsr_part part;
    dcsr_csr csr;
    dcsr_csc csc;
    TEST_OK(dcsr_view_get_csr_on_host(e.csr, &csr));
    TEST_OK(dcsr_view_get_csc_on_host(e.csc, &csc));
    TEST_OK(create(&rows, devices, &e, DCSR_PARTS_CSR, DCSR_PARTS_BY_ENTRIES));
    TEST_OK(create(&cols, devices, &e, DCSR_PARTS_CSC, DCSR_PARTS_BY_ENTRIES));
    TEST_OK(create(&list, devices, &e, DCSR_PARTS_COO, DCSR_PARTS_BY_ENTRIES));
    TEST_OK(dcsr_parts_get(rows, 1, &part));
    cr_assert(part.indices == csr.col_indices + part.first);
    cr_assert(part.values == (const double *)csr.values + part.first);
    TEST_OK(dcsr_parts_get(cols, 1, &part));
    cr_assert(part.indices == csc.row_indices + part.first);
    cr_assert(part.values == (const double *)csc.values + part.first);
    TEST_OK(dcsr_parts_get(list, 1, &part));
    cr_assert(part.values == (const double *)e.coo.values + part.first);
    /* They hold the views. */
    dcsr_view_destroy(e.csr), dcsr_view_destroy(e.csc);
    e.csr = e.csc = NULL;
    check_product(rows, &e, DCSR_MERGE_RANGES, &random);
    check_product(cols, &e, DCSR_MERGE_TREE, &random);
    dcsr_parts_destroy(rows), dcsr_parts_destroy(cols), dcsr_parts_destroy(list);
    free_entries(&e);
    dcsr_multi_destroy(devices);
}

Test(parts, memory_gone_leaves_all_as_it_was)
{
    test_random random = {3};
    dcsr_multi *devices = test_devices(2, 2);
    entries e = random_entries(&random, DCSR_FP64, 20, 25, 120, 3);
    double x[25] = {1, 2, 3}, y[20];
    for (int format = 0; format < 3; format++) {
        dcsr_parts *parts = NULL;
        for (int step = 0; step < 2; step++) {
            dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
            for (int i = 0; i < 20; i++) y[i] = -5;
            for (long n = 0; status != DCSR_OK; n++) {
                cr_assert_lt(n, 2000);
                for (int i = 0; i < 20; i++) cr_assert_eq(y[i], -5);
                dcsr_i_fail_allocations_after(n);
                status = step ? dcsr_parts_spmv(y, parts, x, (dcsr_parts_merge)format, NULL)
                              : create(&parts, devices, &e, (dcsr_parts_format)format, DCSR_PARTS_BY_ENTRIES);
                dcsr_i_fail_allocations_after(-1);
                cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
                cr_assert((parts != NULL) == (step || status == DCSR_OK));
            }
        }
        dcsr_parts_destroy(parts);
    }
    free_entries(&e);
    dcsr_multi_destroy(devices);
}

Test(parts, bad_arguments_are_refused)
{
    test_random random = {5};
    dcsr_multi *devices = test_devices(2, 2);
    entries e = random_entries(&random, DCSR_FP64, 10, 12, 50, 0);
    dcsr_parts *parts = (dcsr_parts *)&e;
    dcsr_part part;
    dcsr_parts_info info;
    double x[12] = {0}, y[10];
    dcsr_view *segments = test_view(e.matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "DCSR_LAYOUT_CSR",
                 dcsr_parts_create(&parts, devices, segments, DCSR_PARTS_BY_ENTRIES));
    cr_assert_null(parts);
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_parts_create(&parts, devices, NULL, DCSR_PARTS_BY_ENTRIES));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_parts_create(&parts, NULL, e.csr, DCSR_PARTS_BY_ENTRIES));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "parts is NULL",
                 dcsr_parts_create(NULL, devices, e.csr, DCSR_PARTS_BY_ENTRIES));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "balance is 7",
                 dcsr_parts_create(&parts, devices, e.csr, (dcsr_parts_balance)7));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "coo is NULL",
                 dcsr_parts_create_coo(&parts, devices, NULL, DCSR_PARTS_BY_ENTRIES));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "parts is NULL",
                 dcsr_parts_create_coo(NULL, devices, &e.coo, DCSR_PARTS_BY_ENTRIES));
    const uint64_t kept = e.coo.row_indices[3], kept_col = e.coo.col_indices[4];
    e.coo.row_indices[3] = 9;
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "entry 4 of",
                 dcsr_parts_create_coo(&parts, devices, &e.coo, DCSR_PARTS_BY_ENTRIES));
    e.coo.row_indices[3] = kept;
    e.coo.col_indices[4] = 12;
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "10 x 12",
                 dcsr_parts_create_coo(&parts, devices, &e.coo, DCSR_PARTS_BY_ENTRIES));
    e.coo.col_indices[4] = kept_col;
    void *values = e.coo.values;
    e.coo.values = NULL;
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "array of the COO is NULL",
                 dcsr_parts_create_coo(&parts, devices, &e.coo, DCSR_PARTS_BY_ENTRIES));
    e.coo.values = values;
    cr_assert_null(parts);
    TEST_OK(dcsr_parts_create_coo(&parts, devices, &e.coo, DCSR_PARTS_BY_ENTRIES));
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "part 2 of 2", dcsr_parts_get(parts, 2, &part));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_parts_get(NULL, 0, &part));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_parts_get_info(parts, NULL));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_parts_get_info(NULL, &info));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "y is NULL",
                 dcsr_parts_spmv(NULL, parts, x, DCSR_MERGE_RANGES, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "x is NULL",
                 dcsr_parts_spmv(y, parts, NULL, DCSR_MERGE_RANGES, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "merge is 5",
                 dcsr_parts_spmv(y, parts, x, (dcsr_parts_merge)5, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "parts are NULL",
                 dcsr_parts_spmv(y, NULL, x, DCSR_MERGE_RANGES, NULL));
    dcsr_parts_destroy(parts);
    dcsr_parts_destroy(NULL);
    /* Entries that are kept twice. */
    dcsr_matrix *keep = test_matrix(e.context, DCSR_FP64, 4, 4, DCSR_POLICY_KEEP);
    TEST_INSERT(keep, {1, 1, 2}, {1, 1, 3}, {2, 0, 1});
    dcsr_view *twice = test_view(keep, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_parts_create(&parts, devices, twice, DCSR_PARTS_BY_LINES));
    dcsr_view_destroy(twice);
    dcsr_matrix_destroy(keep);
    dcsr_view_destroy(segments);
    free_entries(&e);
    dcsr_multi_destroy(devices);
}
