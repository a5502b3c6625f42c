/* test_multi_matrices.c: products with matrices and transposes on several devices, beside loops over all positions and
 * beside one device. */
#include "dcsr/base/alloc.h"
#include "tests/support/support_multi.h"
#include <dcsr/convert.h>
#include <dcsr/multi.h>
#include <dcsr/mxm.h>
#include <dcsr/spmm.h>
#include <dcsr/spmv.h>
#include <dcsr/transpose.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(multi_matrices, .init = set_devices);

typedef struct world {
    dcsr_context *context;
    dcsr_multi *devices;
    uint64_t count;
} world;

/* A matrix with a value for each position: NAN where there is no entry; and the same on several devices. */
typedef struct both {
    uint64_t rows, cols;
    double *cell;
    dcsr_matrix *matrix;
    dcsr_view *view;
    dcsr_multi_matrix *parts;
    dcsr_multi_view *multi;
} both;

static world open_world(uint64_t devices)
{
    return (world){.context = test_context(2), .count = devices, .devices = test_devices((int)devices, 4)};
}

static void close_world(world *w)
{
    dcsr_multi_destroy(w->devices);
    test_close(w->context);
}

static double number(test_random *random, bool exact)
{
    const double value = (double)test_random_below(random, 15) - 7;
    return exact ? value : value / 3 + 0.1;
}

static void view_both(both *b)
{
    b->view = test_view(b->matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED | DCSR_VIEW_LATEST);
    /* A view of CSR holds no version. */
    const dcsr_layout layout = test_info(b->matrix).stored % 2 ? DCSR_LAYOUT_CSR : DCSR_LAYOUT_SEGMENTS;
    TEST_OK(dcsr_multi_view_create(&b->multi, b->parts, layout, DCSR_VIEW_SORTED | DCSR_VIEW_LATEST));
}

/* n entries at random, a third of them in one row; in two batches, so that rows have several segments. */
static both random_both(const world *w, test_random *random, dcsr_type type, uint64_t rows, uint64_t cols,
                        uint64_t n, bool exact)
{
    both b = {.rows = rows, .cols = cols, .cell = test_allocate(rows * cols + 1, sizeof(double))};
    for (uint64_t i = 0; i < rows * cols; i++) b.cell[i] = NAN;
    b.matrix = test_matrix(w->context, type, rows, cols, DCSR_POLICY_LAST);
    TEST_OK(dcsr_multi_matrix_create(&b.parts, w->devices, type, rows, cols, NULL));
    const uint64_t hub = rows ? test_random_below(random, rows) : 0;
    for (uint64_t i = 0; i < n && rows && cols; i++) {
        const uint64_t row = test_random_once_in(random, 3) ? hub : test_random_below(random, rows),
                       col = test_random_below(random, cols);
        const double drawn = number(random, exact), value = type == DCSR_PATTERN ? 1
                                                            : type == DCSR_UINT8 ? fabs(drawn)
                                                                                 : drawn;
        char encoded[16];
        test_encode(type, value, encoded);
        const void *given = type == DCSR_PATTERN ? NULL : encoded;
        TEST_OK(dcsr_matrix_insert(b.matrix, 1, &row, &col, given, NULL));
        TEST_OK(dcsr_multi_matrix_insert(b.parts, 1, &row, &col, given, NULL));
        b.cell[row * cols + col] = value;
        if (i == n / 2 && test_random_once_in(random, 2)) TEST_OK(dcsr_multi_matrix_balance(b.parts, NULL));
    }
    view_both(&b);
    return b;
}

static void destroy_both(both *b)
{
    free(b->cell);
    dcsr_view_destroy(b->view);
    dcsr_matrix_destroy(b->matrix);
    dcsr_multi_view_destroy(b->multi);
    dcsr_multi_matrix_destroy(b->parts);
}

static double *new_cells(uint64_t count)
{
    double *cell = test_allocate(count + 1, sizeof *cell);
    for (uint64_t i = 0; i < count; i++) cell[i] = NAN;
    return cell;
}

/* What a partitioned matrix holds is what the cells say, and its parts' borders are those of the view if given. */
static void assert_holds(dcsr_multi_matrix *matrix, const double *cell, uint64_t rows, uint64_t cols,
                         dcsr_multi_view *cut)
{
    dcsr_multi_view *view;
    dcsr_multi_view_info info, wanted;
    TEST_OK(dcsr_multi_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED));
    TEST_OK(dcsr_multi_view_get_info(view, &info));
    cr_assert(info.rows == rows && info.cols == cols);
    if (cut) {
        TEST_OK(dcsr_multi_view_get_info(cut, &wanted));
        cr_assert(!memcmp(info.border, wanted.border, (info.parts + 1) * sizeof *info.border));
    }
    uint32_t *at = test_allocate(cols + 1, sizeof *at);
    char *values = test_allocate(cols + 1, 16);
    for (uint64_t i = 0; i < rows; i++) {
        uint64_t length, expected = 0;
        TEST_OK(
            dcsr_multi_view_get_row(view, i, cols, at, info.type == DCSR_PATTERN ? NULL : values, &length));
        for (uint64_t j = 0; j < cols; j++) {
            if (isnan(cell[i * cols + j])) continue;
            cr_assert(expected < length && at[expected] == j, "entry (%d, %d) is not there", (int)i, (int)j);
            if (info.type != DCSR_PATTERN) {
                const double here = test_decode(info.type, values + expected * dcsr_type_size(info.type));
                cr_assert(here == cell[i * cols + j], "(%d, %d) is %g, not %g", (int)i, (int)j, here,
                          cell[i * cols + j]);
            }
            expected++;
        }
        cr_assert_eq(length, expected);
    }
    free(at), free(values);
    dcsr_multi_view_destroy(view);
}

/* ---- Transposes ---- */

Test(multi_matrices, a_transpose_has_what_its_matrix_has_and_even_parts)
{
    test_random random = {31};
    static const dcsr_type types[] = {DCSR_FP64, DCSR_PATTERN, DCSR_UINT8, DCSR_FP32, DCSR_INT32};
    for (int round = 0; round < TEST_SIZE(40, 15, 10); round++) {
        world w = open_world(1 + test_random_below(&random, MOST_DEVICES));
        const uint64_t rows = test_random_below(&random, 60), cols = test_random_below(&random, 60);
        const dcsr_type type = types[round % 5];
        both a = random_both(&w, &random, type, rows, cols, test_random_below(&random, 300), true);
        double *cell = new_cells(rows * cols);
        for (uint64_t i = 0; i < rows; i++)
            for (uint64_t j = 0; j < cols; j++) cell[j * rows + i] = a.cell[i * cols + j];
        dcsr_multi_matrix *transpose;
        dcsr_multi_report report;
        TEST_OK(dcsr_multi_transpose(&transpose, a.multi, &report));
        assert_holds(transpose, cell, cols, rows, NULL);
        cr_assert(w.count > 1 || report.bytes == 0);
        /* No border could be a row elsewhere and be nearer to its share. */
        dcsr_multi_matrix_info info;
        TEST_OK(dcsr_multi_matrix_get_info(transpose, &info));
        for (uint64_t k = 1, before = 0; k < w.count; k++) {
            before += info.stored[k - 1];
            uint64_t longest = 0;
            for (uint64_t i = 0; i < cols; i++) {
                uint64_t length = 0;
                for (uint64_t j = 0; j < rows; j++) length += !isnan(cell[i * rows + j]);
                if (length > longest) longest = length;
            }
            const uint64_t share = info.whole.stored * k / w.count;
            cr_assert((before > share ? before - share : share - before) <= longest);
        }
        dcsr_multi_matrix_destroy(transpose);
        free(cell);
        destroy_both(&a);
        close_world(&w);
    }
}

Test(multi_matrices, a_transpose_combines_what_is_kept_more_than_once)
{
    world w = open_world(2);
    dcsr_multi_matrix *matrix, *transpose;
    dcsr_multi_view *view;
    const uint64_t rows[] = {0, 3, 0, 3, 3}, cols[] = {1, 1, 1, 0, 1};
    const double values[] = {1, 10, 2, 5, 20};
    TEST_OK(dcsr_multi_matrix_create(&matrix, w.devices, DCSR_FP64, 4, 2,
                                     &(dcsr_matrix_options){.policy = DCSR_POLICY_KEEP}));
    TEST_OK(dcsr_multi_matrix_insert(matrix, 5, rows, cols, values, NULL));
    TEST_OK(dcsr_multi_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST));
    TEST_OK(dcsr_multi_transpose(&transpose, view, NULL));
    assert_holds(transpose, (double[]){NAN, NAN, NAN, 5, 3, NAN, NAN, 30}, 2, 4, NULL);
    /* It is a matrix as any other. */
    TEST_OK(dcsr_multi_matrix_insert(transpose, 1, (uint64_t[]){0}, (uint64_t[]){2}, (double[]){7}, NULL));
    TEST_OK(dcsr_multi_matrix_wait(transpose));
    assert_holds(transpose, (double[]){NAN, NAN, 7, 5, 3, NAN, NAN, 30}, 2, 4, NULL);
    dcsr_multi_matrix_destroy(transpose);
    dcsr_multi_view_destroy(view);
    dcsr_multi_matrix_destroy(matrix);
    close_world(&w);
}

/* ---- Products of matrices ---- */

static bool mask_is_true(const both *mask, uint64_t i, uint64_t j, const dcsr_desc *desc)
{
    if (!mask) return true;
    const double value = mask->cell[i * mask->cols + j];
    const bool is = !isnan(value) && (desc->mask_structure || value != 0);
    return is != desc->mask_complement;
}

/* C<mask> = A B over plus-times or min-plus. */
static double *multiply_cells(const both *a, const both *b, const both *mask, const dcsr_desc *desc,
                              bool min_plus)
{
    const uint64_t cols = desc->transpose_b ? b->rows : b->cols;
    double *cell = new_cells(a->rows * cols);
    for (uint64_t i = 0; i < a->rows; i++)
        for (uint64_t j = 0; j < cols; j++)
            for (uint64_t k = 0; k < a->cols && mask_is_true(mask, i, j, desc); k++) {
                const double x = a->cell[i * a->cols + k],
                             y = desc->transpose_b ? b->cell[j * b->cols + k] : b->cell[k * b->cols + j];
                if (isnan(x) || isnan(y)) continue;
                double *to = &cell[i * cols + j];
                const double term = min_plus ? x + y : x * y;
                if (isnan(*to))
                    *to = term;
                else
                    *to = !min_plus ? *to + term : term < *to ? term : *to;
            }
    return cell;
}

static void check_product(const world *w, test_random *random, const both *a, const both *b, const both *mask,
                          const dcsr_desc *desc, dcsr_type type)
{
    const bool min_plus = test_random_once_in(random, 3);
    const dcsr_semiring *semiring = dcsr_semiring_of(min_plus ? DCSR_MIN_PLUS : DCSR_PLUS_TIMES, type);
    const uint64_t cols = desc->transpose_b ? b->rows : b->cols;
    dcsr_multi_matrix *c;
    dcsr_multi_report report;
    TEST_OK(dcsr_multi_mxm(&c, type, mask ? mask->multi : NULL, semiring, a->multi, b->multi, desc, &report));
    cr_assert(report.seconds >= report.communication);
    cr_assert(w->count > 1 || report.bytes == 0);
    double *cell = multiply_cells(a, b, mask, desc, min_plus);
    assert_holds(c, cell, a->rows, cols, a->multi);
    free(cell);
    dcsr_multi_matrix_destroy(c);
}

Test(multi_matrices, products_are_what_they_are_defined_as)
{
    const test_seeds seeds = test_seeds_from_environment((uint64_t)TEST_SIZE(60, 16, 10));
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.rounds; seed++) {
        test_seed_begins(seed);
        test_random random = {seed};
        world w = open_world(1 + test_random_below(&random, MOST_DEVICES));
        const uint64_t rows = test_random_below(&random, 50), inner = test_random_below(&random, 50),
                       cols = test_random_below(&random, 50);
        dcsr_desc desc = {.transpose_b = test_random_once_in(&random, 2),
                          .mask_complement = test_random_once_in(&random, 3),
                          .mask_structure = test_random_once_in(&random, 2),
                          .replace = test_random_once_in(&random, 2),
                          .same_pattern = false};
        const dcsr_type type = test_random_once_in(&random, 2) ? DCSR_INT64 : DCSR_FP64;
        both a = random_both(&w, &random, type, rows, inner, test_random_below(&random, 200), true);
        both b = random_both(&w, &random, type, desc.transpose_b ? cols : inner,
                             desc.transpose_b ? inner : cols, test_random_below(&random, 200), true);
        both mask = random_both(&w, &random, type, rows, cols, test_random_below(&random, 300), true);
        const bool masked = test_random_once_in(&random, 2);
        if (!masked) desc.mask_complement = false;
        check_product(&w, &random, &a, &b, masked ? &mask : NULL, &desc, type);
        destroy_both(&a), destroy_both(&b), destroy_both(&mask);
        close_world(&w);
    }
}

Test(multi_matrices, a_matrix_may_be_multiplied_with_itself_under_itself)
{
    test_random random = {8};
    for (uint64_t devices = 1; devices <= MOST_DEVICES; devices++) {
        world w = open_world(devices);
        both a = random_both(&w, &random, DCSR_INT32, 40, 40, 400, true);
        check_product(&w, &random, &a, &a, &a, &(dcsr_desc){.mask_structure = true}, DCSR_INT32);
        check_product(&w, &random, &a, &a, &a, &(dcsr_desc){.mask_structure = true, .transpose_b = true},
                      DCSR_INT32);
        destroy_both(&a);
        close_world(&w);
    }
}

Test(multi_matrices, products_on_the_cpu_have_the_bits_of_one_device)
{
    test_random random = {77};
    for (int round = 0; round < TEST_SIZE(20, 8, 6); round++) {
        world w = open_world(1 + test_random_below(&random, MOST_DEVICES));
        if (test_on_device(w.context)) {
            close_world(&w);
            continue;
        }
        both a = random_both(&w, &random, DCSR_FP64, 60, 50, 500, false),
             b = random_both(&w, &random, DCSR_FP64, 50, 70, 600, false);
        dcsr_matrix *one = test_matrix(w.context, DCSR_FP64, 60, 70, DCSR_POLICY_LAST);
        dcsr_multi_matrix *many;
        const dcsr_semiring *semiring = dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64);
        TEST_OK(dcsr_mxm(one, NULL, NULL, semiring, a.view, b.view, NULL));
        TEST_OK(dcsr_multi_mxm(&many, DCSR_FP64, NULL, semiring, a.multi, b.multi, NULL, NULL));
        test_parts_are(w.context, many, one);
        dcsr_multi_matrix_destroy(many);
        dcsr_matrix_destroy(one);
        destroy_both(&a), destroy_both(&b);
        close_world(&w);
    }
}

Test(multi_matrices, only_rows_that_are_read_are_fetched)
{
    world w = open_world(2);
    dcsr_multi_matrix *a, *b, *c;
    dcsr_multi_view *va, *vb;
    dcsr_multi_report report;
    /* Row 0 reads row 0 and row 3 reads row 3, which is on its own device but for row 2's, which has two entries. */
    const uint64_t rows[] = {0, 1, 2, 3}, cols[] = {0, 2, 2, 3}, b_rows[] = {0, 1, 2, 2, 3},
                   b_cols[] = {0, 1, 2, 0, 3};
    const double values[] = {1, 2, 3, 4, 5};
    TEST_OK(dcsr_multi_matrix_create(&a, w.devices, DCSR_FP64, 4, 4, NULL));
    TEST_OK(dcsr_multi_matrix_create(&b, w.devices, DCSR_FP64, 4, 4, NULL));
    TEST_OK(dcsr_multi_matrix_insert(a, 4, rows, cols, values, NULL));
    TEST_OK(dcsr_multi_matrix_insert(b, 5, b_rows, b_cols, values, NULL));
    TEST_OK(dcsr_multi_view_create(&va, a, DCSR_LAYOUT_CSR, DCSR_VIEW_LATEST));
    TEST_OK(dcsr_multi_view_create(&vb, b, DCSR_LAYOUT_CSC, DCSR_VIEW_LATEST));
    TEST_OK(dcsr_multi_mxm(&c, DCSR_FP64, NULL, dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64), va, vb, NULL,
                           &report));
    cr_assert_eq(report.bytes, 2 * (sizeof(uint32_t) + sizeof(double)));
    const double N = NAN;
    assert_holds(c, (double[]){1, N, N, N, 8, N, 6, N, 12, N, 9, N, N, N, N, 20}, 4, 4, va);
    dcsr_multi_matrix_destroy(c);
    dcsr_multi_view_destroy(va), dcsr_multi_view_destroy(vb);
    dcsr_multi_matrix_destroy(a), dcsr_multi_matrix_destroy(b);
    close_world(&w);
}

/* ---- Dense matrices ---- */

Test(multi_matrices, products_with_dense_ones_are_what_they_are_defined_as)
{
    test_random random = {19};
    for (int round = 0; round < TEST_SIZE(40, 15, 8); round++) {
        world w = open_world(1 + test_random_below(&random, MOST_DEVICES));
        const uint64_t rows = test_random_below(&random, 50), cols = 1 + test_random_below(&random, 50),
                       columns = test_random_below(&random, 9);
        both a = random_both(&w, &random, DCSR_INT64, rows, cols, test_random_below(&random, 300), true);
        int64_t *x = test_allocate(cols * columns + 1, sizeof *x),
                *y = test_allocate(rows * columns + 1, sizeof *y),
                *before = test_allocate(rows * columns + 1, sizeof *y);
        for (uint64_t i = 0; i < cols * columns; i++) x[i] = (int64_t)test_random_below(&random, 9) - 4;
        for (uint64_t i = 0; i < rows * columns; i++)
            y[i] = before[i] = (int64_t)test_random_below(&random, 9) - 4;
        const bool accum = test_random_once_in(&random, 2), masked = test_random_once_in(&random, 2);
        const dcsr_desc desc = {.mask_complement = masked && test_random_once_in(&random, 2),
                                .replace = test_random_once_in(&random, 2)};
        dcsr_multi_vector *mask;
        TEST_OK(dcsr_multi_vector_create(&mask, a.multi, DCSR_BOOL, false));
        for (uint64_t i = 0; i < rows; i += 2) TEST_OK(dcsr_multi_vector_set(mask, i, &(bool){i % 4 == 0}));
        TEST_OK(dcsr_multi_spmm(y, masked ? mask : NULL,
                                accum ? dcsr_binary_op_of(DCSR_BINARY_PLUS, DCSR_INT64) : NULL,
                                dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_INT64), a.multi, x, columns, &desc));
        for (uint64_t i = 0; i < rows; i++)
            for (uint64_t c = 0; c < columns; c++) {
                int64_t sum = 0, was = before[i * columns + c];
                for (uint64_t j = 0; j < cols; j++)
                    if (!isnan(a.cell[i * cols + j]))
                        sum += (int64_t)a.cell[i * cols + j] * x[j * columns + c];
                const bool is = !masked || (i % 4 == 0) != desc.mask_complement;
                const int64_t expected = is ? (accum ? was + sum : sum) : desc.replace ? 0 : was;
                cr_assert_eq(y[i * columns + c], expected);
            }
        dcsr_multi_vector_destroy(mask);
        free(x), free(y), free(before);
        destroy_both(&a);
        close_world(&w);
    }
}

/* ---- Nodes of memory ---- */

/* The same matrix on devices that a text names. */
static dcsr_multi_view *open_view(const char *text, dcsr_view *from, dcsr_multi **devices,
                                  dcsr_multi_matrix **matrix)
{
    dcsr_multi_view *view;
    TEST_OK(dcsr_multi_create(devices, text, &(dcsr_multi_options){.threads = 4}));
    TEST_OK(dcsr_multi_matrix_from_view(matrix, *devices, from, NULL));
    TEST_OK(dcsr_multi_view_create(&view, *matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED));
    return view;
}

Test(multi_matrices, two_groups_for_nodes_give_the_bits_of_one_device)
{
    test_random random = {12};
    dcsr_context *context;
    TEST_OK(dcsr_context_create(&context, &(dcsr_context_options){.device = DCSR_DEVICE_CPU, .threads = 2}));
    world w = {.context = context};
    TEST_OK(dcsr_multi_create(&w.devices, "cpu", NULL));
    both a = random_both(&w, &random, DCSR_FP64, 90, 90, 900, false);
    dcsr_multi *devices;
    dcsr_multi_matrix *parts, *product;
    dcsr_multi_view *multi = open_view("cpu:2x2", a.view, &devices, &parts);
    dcsr_multi_vector *x, *y;
    double values[90], expected[90], got[90], none = 0;
    for (int i = 0; i < 90; i++) values[i] = number(&random, false);
    TEST_OK(dcsr_spmv(expected, a.view, values));
    TEST_OK(dcsr_multi_vector_create(&x, multi, DCSR_FP64, true));
    TEST_OK(dcsr_multi_vector_create(&y, multi, DCSR_FP64, false));
    TEST_OK(dcsr_multi_vector_from_array(x, values));
    TEST_OK(dcsr_multi_spmv(y, multi, x, NULL));
    TEST_OK(dcsr_multi_vector_to_array(y, &none, got));
    cr_assert(!memcmp(expected, got, sizeof got));
    dcsr_matrix *one = test_matrix(context, DCSR_FP64, 90, 90, DCSR_POLICY_LAST);
    const dcsr_semiring *semiring = dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64);
    TEST_OK(dcsr_mxm(one, NULL, NULL, semiring, a.view, a.view, NULL));
    TEST_OK(dcsr_multi_mxm(&product, DCSR_FP64, NULL, semiring, multi, multi, NULL, NULL));
    test_parts_are(context, product, one);
    dcsr_multi_matrix_destroy(product);
    dcsr_matrix_destroy(one);
    dcsr_multi_vector_destroy(x), dcsr_multi_vector_destroy(y);
    dcsr_multi_view_destroy(multi);
    dcsr_multi_matrix_destroy(parts);
    dcsr_multi_destroy(devices);
    destroy_both(&a);
    close_world(&w);
}

/* ---- Failures ---- */

Test(multi_matrices, memory_gone_leaves_all_as_it_was)
{
    test_random random = {3};
    world w = open_world(test_on_emulator() ? 2 : 3);
    both a = random_both(&w, &random, DCSR_INT64, 30, 30, 150, true);
    const dcsr_semiring *semiring = dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_INT64);
    int64_t x[60], y[60];
    for (int i = 0; i < 60; i++) x[i] = i, y[i] = -5;
    for (int kind = 0; kind < 5; kind++) {
        dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
        for (long n = 0; status != DCSR_OK; n++) {
            dcsr_multi_matrix *made = (dcsr_multi_matrix *)&w;
            dcsr_matrix *one = NULL;
            const dcsr_desc desc = {.transpose_b = kind == 1};
            cr_assert_lt(n, 5000);
            dcsr_i_fail_allocations_after(n);
            if (kind < 2)
                status = dcsr_multi_mxm(&made, DCSR_INT64, kind ? a.multi : NULL, semiring, a.multi, a.multi,
                                        &desc, NULL);
            else if (kind == 2)
                status = dcsr_multi_transpose(&made, a.multi, NULL);
            else if (kind == 3)
                status = dcsr_multi_spmm(y, NULL, NULL, semiring, a.multi, x, 2, NULL);
            else
                status = dcsr_multi_view_to_matrix(&one, w.context, a.multi, NULL);
            dcsr_i_fail_allocations_after(-1);
            cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
            if (kind < 3) {
                cr_assert((status == DCSR_OK) == (made != NULL));
                dcsr_multi_matrix_destroy(made);
            }
            cr_assert((kind == 4 && status == DCSR_OK) == (one != NULL));
            dcsr_matrix_destroy(one);
            for (int i = 0; i < 60 && kind == 3 && status != DCSR_OK; i++) cr_assert_eq(y[i], -5);
        }
    }
    destroy_both(&a);
    close_world(&w);
}

Test(multi_matrices, bad_arguments_are_refused)
{
    test_random random = {9};
    world w = open_world(2), elsewhere = open_world(1);
    both a = random_both(&w, &random, DCSR_FP64, 10, 20, 30, true),
         b = random_both(&w, &random, DCSR_FP64, 20, 5, 30, true),
         other = random_both(&elsewhere, &random, DCSR_FP64, 20, 5, 30, true);
    const dcsr_semiring *s = dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64);
    dcsr_multi_matrix *c = (dcsr_multi_matrix *)&w;
    dcsr_matrix *one;
    const dcsr_desc transposed = {.transpose_a = true};
    double x[100] = {0}, y[100] = {0};
    dcsr_multi_vector *mask;
    TEST_OK(dcsr_multi_vector_create(&mask, a.multi, DCSR_BOOL, true));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "A is 10 x 20, B 10 x 20",
                 dcsr_multi_mxm(&c, DCSR_FP64, NULL, s, a.multi, a.multi, NULL, NULL));
    cr_assert_null(c);
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "the mask is 10 x 20, the product 10 x 5",
                 dcsr_multi_mxm(&c, DCSR_FP64, a.multi, s, a.multi, b.multi, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "B is of other devices",
                 dcsr_multi_mxm(&c, DCSR_FP64, NULL, s, a.multi, other.multi, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "the mask is of other devices",
                 dcsr_multi_mxm(&c, DCSR_FP64, other.multi, s, a.multi, b.multi, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_multi_transpose",
                 dcsr_multi_mxm(&c, DCSR_FP64, NULL, s, b.multi, b.multi, &transposed, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "semiring",
                 dcsr_multi_mxm(&c, DCSR_FP64, NULL, NULL, a.multi, b.multi, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "A is NULL",
                 dcsr_multi_mxm(&c, DCSR_FP64, NULL, s, NULL, b.multi, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "B is NULL",
                 dcsr_multi_mxm(&c, DCSR_FP64, NULL, s, a.multi, NULL, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "C is NULL",
                 dcsr_multi_mxm(NULL, DCSR_FP64, NULL, s, a.multi, b.multi, NULL, NULL));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT,
                dcsr_multi_mxm(&c, (dcsr_type)99, NULL, s, a.multi, b.multi, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "B is NULL", dcsr_multi_transpose(NULL, a.multi, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "A is NULL", dcsr_multi_transpose(&c, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "matrix is NULL",
                 dcsr_multi_view_to_matrix(NULL, w.context, a.multi, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "view is NULL",
                 dcsr_multi_view_to_matrix(&one, w.context, NULL, NULL));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_multi_view_to_matrix(&one, NULL, a.multi, NULL));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "the mask has 20",
                 dcsr_multi_spmm(y, mask, NULL, s, a.multi, x, 3, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_multi_transpose",
                 dcsr_multi_spmm(y, NULL, NULL, s, a.multi, x, 3, &transposed));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "X is NULL",
                 dcsr_multi_spmm(y, NULL, NULL, s, a.multi, NULL, 3, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "Y is NULL",
                 dcsr_multi_spmm(NULL, NULL, NULL, s, a.multi, x, 3, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "semiring is NULL",
                 dcsr_multi_spmm(y, NULL, NULL, NULL, a.multi, x, 3, NULL));
    TEST_STATUS(DCSR_ERROR_TOO_LARGE, dcsr_multi_spmm(y, NULL, NULL, s, a.multi, x, UINT64_MAX / 8, NULL));
    dcsr_multi_vector_destroy(mask);
    destroy_both(&other);
    destroy_both(&a), destroy_both(&b);
    close_world(&elsewhere);
    close_world(&w);
}
