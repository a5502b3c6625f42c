/* test_matrix_indices.c: extraction, assignment and Kronecker products, with random operands, lists and
 * options, against the same place by place. */
#include <dcsr/assign.h>
#include <dcsr/extract.h>
#include <dcsr/mxm.h>
#include "tests/support/support_cases.h"

#include <stdlib.h>

/* n indices pick_below size: a range, ascending ones, or any; NULL for all, with n changed to size. Without
 * `repeats` none stands twice. */
static uint64_t *any_indices(random_case *f, uint64_t *n, uint64_t size, bool repeats)
{
    uint64_t kind = pick_below(f, 4);
    if (kind == 0 || !size) {
        *n = size;
        return NULL;
    }
    if (!repeats && *n > size) *n = size;
    uint64_t *list = test_allocate(*n + 1, sizeof *list), from = pick_below(f, size > *n ? size - *n + 1 : 1);
    for (uint64_t k = 0; k < *n; k++)
        list[k] = kind == 1 && *n <= size ? from + k : repeats ? pick_below(f, size) : k;
    if (repeats || kind == 1) return list;
    /* The first n of a shuffled pack; in order, for one kind of three. */
    uint64_t *pack = test_allocate(size, sizeof *pack), taken = 0;
    for (uint64_t i = 0; i < size; i++) pack[i] = i;
    for (uint64_t i = size - 1; i > 0; i--) {
        uint64_t other = pick_below(f, i + 1), swap = pack[i];
        pack[i] = pack[other], pack[other] = swap;
    }
    if (kind == 2)
        for (uint64_t k = 0; k < *n; k++) list[k] = pack[k];
    else
        for (uint64_t i = 0; i < size; i++)
            for (uint64_t k = 0; k < *n; k++)
                if (pack[k] == i) list[taken++] = i;
    free(pack);
    return list;
}

static void extracts(random_case *f, uint64_t rows, uint64_t cols)
{
    uint64_t nrows = pick_below(f, 2 * rows + 1), ncols = pick_below(f, 2 * cols + 1);
    f->desc.transpose_a = pick_below(f, 4) == 0;
    operand a = pick_operand(f, rows, cols, f->desc.transpose_a);
    uint64_t *I = any_indices(f, &nrows, rows, true), *J = any_indices(f, &ncols, cols, true);
    case_set_up(f, "extract", nrows, ncols);
    dense T = dense_create(a.shows.type, nrows, ncols);
    for (uint64_t i = 0; i < nrows; i++)
        for (uint64_t j = 0; j < ncols; j++) {
            uint64_t at = dense_at(&a.shows, I ? I[i] : i, J ? J[j] : j);
            if (a.shows.has[at]) dense_set(&T, i, j, a.shows.value[at]);
        }
    TEST_OK(dcsr_matrix_extract(f->C, f->mask, f->accum, a.view, TEST_LIST(I, nrows), TEST_LIST(J, ncols),
                                &f->desc));
    case_check(f, &T);
    free(I);
    free(J);
    operand_drop(&a);
}

/* What is not in the region is as it was before mask and accumulator: T has what C has there. */
static void assigns(random_case *f, uint64_t rows, uint64_t cols)
{
    uint64_t nrows = pick_below(f, rows + 1), ncols = pick_below(f, cols + 1);
    bool scalar = pick_below(f, 2);
    uint64_t *I = any_indices(f, &nrows, rows, false), *J = any_indices(f, &ncols, cols, false);
    f->desc.transpose_a = !scalar && pick_below(f, 4) == 0;
    operand a = pick_operand(f, nrows, ncols, f->desc.transpose_a);
    case_set_up(f, scalar ? "assign_scalar" : "assign", rows, cols);
    dcsr_type type = scalar ? pick_type(f) : a.shows.type;
    double number = (double)pick_below(f, 5) - 2;
    /* The region's content, in a type that holds both C's and A's numbers. */
    dense T = dense_create(DCSR_FP64, rows, cols);
    for (uint64_t i = 0; i < rows && !f->accum; i++)
        for (uint64_t j = 0; j < cols; j++)
            if (f->before.has[dense_at(&T, i, j)]) dense_set(&T, i, j, f->before.value[dense_at(&T, i, j)]);
    for (uint64_t i = 0; i < nrows; i++)
        for (uint64_t j = 0; j < ncols; j++) {
            uint64_t to = dense_at(&T, I ? I[i] : i, J ? J[j] : j), at = dense_at(&a.shows, i, j);
            T.has[to] = scalar || a.shows.has[at];
            T.value[to] = dense_cast(type, scalar ? number : a.shows.value[at]);
        }
    char value[8];
    if (type != DCSR_PATTERN) test_encode(type, number, value);
    if (scalar)
        TEST_OK(dcsr_matrix_assign_scalar(f->C, f->mask, f->accum, type == DCSR_PATTERN ? NULL : value, type,
                                          TEST_LIST(I, nrows), TEST_LIST(J, ncols), &f->desc));
    else
        TEST_OK(dcsr_matrix_assign(f->C, f->mask, f->accum, a.view, TEST_LIST(I, nrows), TEST_LIST(J, ncols),
                                   &f->desc));
    case_check(f, &T);
    free(I);
    free(J);
    operand_drop(&a);
}

static void kroneckers(random_case *f, uint64_t rows, uint64_t cols)
{
    dense_function function;
    dcsr_type x, z;
    uint64_t m = pick_below(f, 4) + 1, n = pick_below(f, 4) + 1, arows = rows / m, acols = cols / n;
    f->desc.transpose_a = pick_below(f, 4) == 0, f->desc.transpose_b = pick_below(f, 4) == 0;
    operand a = pick_operand(f, arows, acols, f->desc.transpose_a),
            b = pick_operand(f, m, n, f->desc.transpose_b);
    const dcsr_binary_op *op = pick_binary(f, &function, &x, &z);
    case_set_up(f, "kronecker", arows * m, acols * n);
    dense T = dense_create(z, arows * m, acols * n);
    for (uint64_t i = 0; i < T.rows; i++)
        for (uint64_t j = 0; j < T.cols; j++) {
            uint64_t p = dense_at(&a.shows, i / m, j / n), q = dense_at(&b.shows, i % m, j % n);
            if (a.shows.has[p] && b.shows.has[q])
                dense_set(&T, i, j,
                          dense_cast(
                              x, function(dense_cast(x, a.shows.value[p]), dense_cast(x, b.shows.value[q]))));
        }
    TEST_OK(dcsr_kronecker(f->C, f->mask, f->accum, op, a.view, b.view, &f->desc));
    case_check(f, &T);
    operand_drop(&a);
    operand_drop(&b);
}

#define RANDOM(name, operation)                                  \
    Test(matrix_indices, name, .timeout = 600)                   \
    {                                                            \
        run_cases(operation, (uint64_t)TEST_SIZE(400, 150, 40)); \
    }
RANDOM(extract, extracts)
RANDOM(assign, assigns)
RANDOM(kronecker, kroneckers)

/* ---- One value where a mask says so ---- */

enum { PAGES_ROWS = 4 * 64, COLUMNS = 20 };

/* Pages of 64 rows: C has what the mask has; one entry more; nothing; and the mask has nothing. */
static dense draw_beside(dcsr_type type, bool mask)
{
    dense d = dense_create(type, PAGES_ROWS, COLUMNS);
    for (uint64_t i = 0; i < PAGES_ROWS; i++)
        for (uint64_t j = 0; j < COLUMNS; j++)
            if ((i * 7 + j * 3) % 5 == 0 && i / 64 != (mask ? 3 : 2)) dense_set(&d, i, j, mask ? 1 : 3);
    if (!mask) dense_set(&d, 70, 1, 4);
    return d;
}

static dcsr_matrix *matrix_of(dcsr_context *context, const dense *d)
{
    dcsr_matrix *matrix = test_matrix(context, d->type, d->rows, d->cols, DCSR_POLICY_LAST);
    test_entry *entries = test_allocate(d->rows * d->cols, sizeof *entries);
    size_t n = 0;
    for (uint64_t i = 0; i < d->rows; i++)
        for (uint64_t j = 0; j < d->cols; j++)
            if (d->has[dense_at(d, i, j)]) entries[n++] = (test_entry){i, j, d->value[dense_at(d, i, j)]};
    test_insert(matrix, n, entries);
    TEST_OK(dcsr_matrix_defragment(matrix, DCSR_DEFRAGMENT_WHOLE, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    free(entries);
    return matrix;
}

Test(matrix_indices, scalar_where_the_mask_is_what_is_there)
{
    static const dcsr_type types[] = {DCSR_FP64, DCSR_INT8, DCSR_PATTERN};
    dcsr_context *context = test_context(2);
    for (int type = 0; type < 3; type++)
        for (int how = 0; how < 4; how++) {
            const dcsr_desc desc = {.mask_structure = how & 1, .replace = how & 2};
            dense mask = draw_beside(DCSR_INT32, true), C = draw_beside(types[type], false),
                  T = dense_create(DCSR_FP32, PAGES_ROWS, COLUMNS);
            for (uint64_t i = 0; i < PAGES_ROWS; i++)
                for (uint64_t j = 0; j < COLUMNS; j++) dense_set(&T, i, j, 7);
            dcsr_matrix *M = matrix_of(context, &mask), *matrix = matrix_of(context, &C);
            dcsr_view *m = test_view(M, DCSR_LAYOUT_SEGMENTS, 0);
            float seven = 7;
            for (int again = 0; again < 2; again++) {
                TEST_OK(dcsr_matrix_assign_scalar(matrix, m, NULL, &seven, DCSR_FP32, NULL, NULL, &desc));
                dense_write(&C, &mask, NULL, DCSR_FP32, &desc, &T);
                dense found = dense_of_matrix(matrix);
                dense_compare(&found, &C, "a scalar through a mask");
                dense_free(&found);
            }
            dcsr_view_destroy(m);
            dcsr_matrix_destroy(M), dcsr_matrix_destroy(matrix);
            dense_free(&mask), dense_free(&C), dense_free(&T);
        }
    test_close(context);
}
