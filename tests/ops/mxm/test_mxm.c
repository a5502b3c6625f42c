/* test_mxm.c: sparse matrix times sparse matrix against literal loops over dense arrays; and all ways in which
 * the host computes a row, with the borders between them, bit for bit against sorting all of its products. */
#include <dcsr/generate.h>
#include <dcsr/mxm.h>
#include "ops/algebra/operator.h"
#include "tests/support/support.h"
#include <stdio.h>
#include <stdlib.h>

static const dcsr_semiring *plus_times(void)
{
    return dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64);
}

/* A matrix of rows x cols places. */
typedef struct dense {
    dcsr_type type;
    uint64_t rows, cols;
    bool *there;
    dcsr_i_scalar *value;
} dense;

static dense dense_create(dcsr_type type, uint64_t rows, uint64_t cols)
{
    dense d = {type, rows, cols, test_allocate(rows * cols, sizeof(bool)),
               test_allocate(rows * cols, sizeof(dcsr_i_scalar))};
    memset(d.there, 0, rows * cols);
    memset(d.value, 0, rows * cols * sizeof *d.value);
    return d;
}

static void dense_destroy(dense *d)
{
    free(d->there);
    free(d->value);
}

/* A random one, a matrix that holds it in several segments a row, and a row that is full. */
static dcsr_matrix *make(dense *d, dcsr_context *context, test_random *random, dcsr_type type, uint64_t rows,
                         uint64_t cols)
{
    *d = dense_create(type, rows, cols);
    dcsr_matrix *matrix = test_matrix(context, type, rows, cols, DCSR_POLICY_LAST);
    for (int batch = 0; batch < 3; batch++)
        for (uint64_t k = 0; k < rows * cols / 12 + cols; k++) {
            uint64_t r = k < cols && batch == 1 ? rows / 2 : test_random_below(random, rows);
            uint64_t c = k < cols && batch == 1 ? k : test_random_below(random, cols);
            dcsr_i_scalar value = {0};
            test_encode(type, (double)(1 + test_random_below(random, 6)), &value);
            if (r == rows - 1) continue; /* and one that is empty */
            TEST_OK(dcsr_matrix_insert(matrix, 1, &r, &c, type == DCSR_PATTERN ? NULL : &value, NULL));
            d->there[r * cols + c] = true;
            d->value[r * cols + c] = value;
        }
    TEST_OK(dcsr_matrix_wait(matrix));
    return matrix;
}

static dense transpose(const dense *d)
{
    dense t = dense_create(d->type, d->cols, d->rows);
    for (uint64_t r = 0; r < d->rows; r++)
        for (uint64_t c = 0; c < d->cols; c++) {
            t.there[c * d->rows + r] = d->there[r * d->cols + c];
            t.value[c * d->rows + r] = d->value[r * d->cols + c];
        }
    return t;
}

/* One element of A B. */
static bool multiply_literally(dcsr_i_scalar *sum, const dcsr_semiring *semiring, const dense *a,
                               const dense *b, uint64_t r, uint64_t c)
{
    bool any = false;
    for (uint64_t k = 0; k < a->cols; k++) {
        if (!a->there[r * a->cols + k] || !b->there[k * b->cols + c]) continue;
        dcsr_i_scalar x = {0}, y = {0}, product = {0};
        dcsr_i_cast(semiring->multiply->xtype, &x, a->type, &a->value[r * a->cols + k], 1);
        dcsr_i_cast(semiring->multiply->ytype, &y, b->type, &b->value[k * b->cols + c], 1);
        dcsr_i_apply_binary(semiring->multiply, &product, &x, &y, 1);
        if (!any)
            *sum = product;
        else
            dcsr_i_apply_binary(semiring->add->op, sum, sum, &product, 1);
        any = true;
    }
    return any;
}

/* What C holds after C<mask> = accum(C, A B). */
static void expect(dense *c, const dense *mask, const dcsr_binary_op *accum, const dcsr_semiring *semiring,
                   const dense *a, const dense *b, const dcsr_desc *desc)
{
    for (uint64_t p = 0; p < c->rows * c->cols; p++) {
        dcsr_i_scalar t = {0}, z = {0};
        bool product = multiply_literally(&t, semiring, a, b, p / c->cols, p % c->cols), there = product;
        bool true_here = !mask || mask->there[p];
        if (mask && !desc->mask_structure && mask->type != DCSR_PATTERN)
            true_here = true_here && mask->value[p].word != 0;
        if (desc->mask_complement) true_here = !true_here;
        dcsr_i_cast(c->type, &z, dcsr_i_monoid_type(semiring->add), &t, 1);
        if (accum && c->there[p]) {
            there = true;
            if (product)
                dcsr_i_apply_binary(accum, &z, &c->value[p], &z, 1);
            else
                z = c->value[p];
        }
        if (true_here) {
            c->there[p] = there;
            c->value[p] = there ? z : (dcsr_i_scalar){0};
        } else if (desc->replace) {
            c->there[p] = false;
        }
    }
}

static void compare(dcsr_matrix *matrix, const dense *d, const char *what)
{
    for (uint64_t r = 0; r < d->rows; r++)
        for (uint64_t c = 0; c < d->cols; c++) {
            dcsr_i_scalar value = {0};
            bool there;
            TEST_OK(dcsr_matrix_get(matrix, r, c, &value, &there));
            const dcsr_i_scalar *expected = &d->value[r * d->cols + c];
            cr_assert_eq(there, d->there[r * d->cols + c], "%s at (%d, %d)", what, (int)r, (int)c);
            cr_assert(!there || value.word == expected->word, "%s at (%d, %d): %g, not %g", what, (int)r,
                      (int)c, test_decode(d->type, &value), test_decode(d->type, expected));
        }
}

typedef struct types {
    dcsr_type a, b, c, mask;
} types;

/* One product of random matrices; bits of `how`: transpose a, b, complement, structure, replace, mask, accum.
 */
static void check_random(dcsr_context *context, test_random *random, const dcsr_semiring *semiring, types t,
                         unsigned how, uint64_t size)
{
    uint64_t rows = size, inner = size + 3, cols = size * 2 - 5;
    dcsr_desc desc = {.transpose_a = how & 1,
                      .transpose_b = how & 2,
                      .mask_complement = how & 4,
                      .mask_structure = how & 8,
                      .replace = how & 16};
    dense a, b, c, m;
    dcsr_matrix *ma =
        make(&a, context, random, t.a, desc.transpose_a ? inner : rows, desc.transpose_a ? rows : inner);
    dcsr_matrix *mb =
        make(&b, context, random, t.b, desc.transpose_b ? cols : inner, desc.transpose_b ? inner : cols);
    dcsr_matrix *mc = make(&c, context, random, t.c, rows, cols),
                *mm = make(&m, context, random, t.mask, rows, cols);
    if (t.mask == DCSR_BOOL) /* some values of the mask are false */
        for (uint64_t p = 0; p < rows * cols; p += 3) {
            uint64_t r = p / cols, col = p % cols;
            if (!m.there[p]) continue;
            TEST_OK(dcsr_matrix_insert(mm, 1, &r, &col, &(bool){false}, NULL));
            m.value[p].word = 0;
        }
    TEST_OK(dcsr_matrix_wait(mm));
    dcsr_view *A = test_view(ma, DCSR_LAYOUT_SEGMENTS, 0), *B = test_view(mb, DCSR_LAYOUT_CSR, 0);
    dcsr_view *M = test_view(mm, DCSR_LAYOUT_SEGMENTS, 0);
    const dcsr_binary_op *accum = how & 64 ? dcsr_binary_op_of(DCSR_BINARY_PLUS, t.c) : NULL;
    TEST_OK(dcsr_mxm(mc, how & 32 ? M : NULL, accum, semiring, A, B, &desc));
    dense at = desc.transpose_a ? transpose(&a) : a, bt = desc.transpose_b ? transpose(&b) : b;
    expect(&c, how & 32 ? &m : NULL, accum, semiring, &at, &bt, &desc);
    char what[100];
    snprintf(what, sizeof what, "%s_%s on %s, how %u", semiring->add->op->text, semiring->multiply->text,
             dcsr_type_name(dcsr_i_monoid_type(semiring->add)), how);
    compare(mc, &c, what);
    dcsr_view *views[] = {A, B, M};
    dcsr_matrix *matrices[] = {ma, mb, mc, mm};
    for (int k = 0; k < 3; k++) dcsr_view_destroy(views[k]);
    for (int k = 0; k < 4; k++) dcsr_matrix_destroy(matrices[k]);
    if (desc.transpose_a) dense_destroy(&at);
    if (desc.transpose_b) dense_destroy(&bt);
    dense *all[] = {&a, &b, &c, &m};
    for (int k = 0; k < 4; k++) dense_destroy(all[k]);
}

/* Masks of all kinds, with what else a description says. */
Test(mxm, every_description)
{
    dcsr_context *context = test_context(2);
    test_random random = {5};
    for (unsigned how = 0; how < 128; how++)
        check_random(context, &random, plus_times(),
                     (types){DCSR_FP64, DCSR_FP64, DCSR_FP64, how & 1 ? DCSR_BOOL : DCSR_PATTERN}, how, 14);
    test_close(context);
}

Test(mxm, every_semiring)
{
    dcsr_context *context = test_context(2);
    test_random random = {6};
    for (dcsr_type type = DCSR_BOOL; type < DCSR_TYPE_COUNT; type++)
        for (int name = 0; name < (int)DCSR_SEMIRING_NAMES; name++) {
            const dcsr_semiring *semiring = dcsr_semiring_of((dcsr_semiring_name)name, type);
            /* Whose value ANY takes is open, unless all are the same. */
            if (!semiring || name == DCSR_ANY_FIRST || name == DCSR_ANY_SECOND) continue;
            if (test_on_emulator() && (name + (int)type) % 7) continue;
            check_random(context, &random, semiring, (types){type, type, type, DCSR_PATTERN}, 0, 9);
            check_random(context, &random, semiring, (types){type, type, type, DCSR_BOOL}, 32, 9);
            check_random(context, &random, semiring, (types){DCSR_PATTERN, DCSR_INT8, DCSR_FP32, DCSR_BOOL},
                         0, 9);
            check_random(context, &random, semiring, (types){DCSR_UINT16, DCSR_PATTERN, type, DCSR_BOOL},
                         32 | 16, 9);
            check_random(context, &random, semiring, (types){DCSR_PATTERN, DCSR_PATTERN, type, DCSR_BOOL}, 64,
                         9);
        }
    test_close(context);
}

/* Large enough for threads, marked by bytes and by bits. */
Test(mxm, larger)
{
    dcsr_context *context = test_context(3);
    test_random random = {7};
    int size = TEST_SIZE(150, 60, 60);
    check_random(context, &random, plus_times(), (types){DCSR_FP64, DCSR_FP64, DCSR_FP64, DCSR_PATTERN}, 0,
                 (uint64_t)size);
    check_random(context, &random, plus_times(), (types){DCSR_FP64, DCSR_FP64, DCSR_FP64, DCSR_PATTERN}, 32,
                 (uint64_t)size);
    test_close(context);
}

/* ---- All ways of computing a row ---- */

static dcsr_context *host(int threads, uint64_t limit)
{
    dcsr_context *context;
    TEST_OK(dcsr_context_create(
        &context,
        &(dcsr_context_options){.device = DCSR_DEVICE_CPU, .threads = threads, .memory_limit = limit}));
    return context;
}

/* ---- What it should be ---- */

typedef struct product {
    uint32_t column, number;
    double value;
} product;

static int compare_products(const void *x, const void *y)
{
    const product *a = x, *b = y;
    return a->column != b->column ? (a->column < b->column ? -1 : 1)
                                  : (a->number > b->number) - (a->number < b->number);
}

/* Asserts that c is a b, each sum taken in the order of a's columns. */
static void check_product(dcsr_matrix *c, dcsr_matrix *a, dcsr_matrix *b)
{
    dcsr_csr A, B, C;
    dcsr_view *view[3] = {test_view(a, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED),
                          test_view(b, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED),
                          test_view(c, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED)};
    TEST_OK(dcsr_view_get_csr(view[0], &A));
    TEST_OK(dcsr_view_get_csr(view[1], &B));
    TEST_OK(dcsr_view_get_csr(view[2], &C));
    const double *a_value = A.values, *b_value = B.values, *c_value = C.values;
    product *list = NULL;
    for (uint64_t i = 0; i < A.rows; i++) {
        uint64_t n = 0, at = C.offsets[i];
        for (uint64_t k = A.offsets[i]; k < A.offsets[i + 1]; k++)
            n += B.offsets[A.col_indices[k] + 1] - B.offsets[A.col_indices[k]];
        list = realloc(list, (n + 1) * sizeof *list);
        n = 0;
        for (uint64_t k = A.offsets[i]; k < A.offsets[i + 1]; k++)
            for (uint64_t e = B.offsets[A.col_indices[k]]; e < B.offsets[A.col_indices[k] + 1]; e++, n++)
                list[n] = (product){B.col_indices[e], (uint32_t)n, a_value[k] * b_value[e]};
        qsort(list, n, sizeof *list, compare_products);
        for (uint64_t k = 0; k < n; at++) {
            double sum = 0;
            uint32_t column = list[k].column;
            for (; k < n && list[k].column == column; k++) sum += list[k].value;
            cr_assert(at < C.offsets[i + 1] && C.col_indices[at] == column &&
                          !memcmp(&c_value[at], &sum, sizeof sum),
                      "row %llu of %llu products, column %u", (unsigned long long)i, (unsigned long long)n,
                      column);
        }
        cr_assert_eq(at, C.offsets[i + 1]);
    }
    free(list);
    for (int k = 0; k < 3; k++) dcsr_view_destroy(view[k]);
}

static dcsr_status multiply(dcsr_matrix *c, dcsr_matrix *a, dcsr_matrix *b, const dcsr_desc *desc)
{
    dcsr_view *A = test_view(a, DCSR_LAYOUT_SEGMENTS, 0), *B = test_view(b, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_status status = dcsr_mxm(c, NULL, NULL, plus_times(), A, B, desc);
    dcsr_view_destroy(A);
    dcsr_view_destroy(B);
    return status;
}

/* ---- Inputs ---- */

static void put(dcsr_matrix *matrix, test_random *random, uint64_t row, uint64_t col)
{
    double value = (double)test_random_below(random, 2000) / 7 - 140;
    TEST_OK(dcsr_matrix_insert(matrix, 1, &row, &col, &value, NULL));
}

enum { SINGLE = 700, LONG = 60 };

/* SINGLE rows of one entry, LONG rows of up to 60, in the first `width` columns. */
static dcsr_matrix *make_b(dcsr_context *context, test_random *random, uint64_t cols, uint64_t width,
                           uint64_t lengths[LONG])
{
    dcsr_matrix *b = test_matrix(context, DCSR_FP64, SINGLE + LONG, cols, DCSR_POLICY_LAST);
    for (uint64_t r = 0; r < SINGLE; r++) put(b, random, r, test_random_below(random, width));
    for (uint64_t r = 0; r < LONG; r++) {
        uint64_t step = width / 61 ? width / 61 : 1;
        lengths[r] = 2 + test_random_below(random, width / step < 59 ? width / step - 2 : 57);
        for (uint64_t k = 0; k < lengths[r]; k++)
            put(b, random, SINGLE + r, k * step + test_random_below(random, step));
    }
    TEST_OK(dcsr_matrix_wait(b));
    return b;
}

/* Row by row, so many products. */
static dcsr_matrix *make_a(dcsr_context *context, test_random *random, const uint64_t *products,
                           uint64_t rows, const uint64_t lengths[LONG])
{
    dcsr_matrix *a = test_matrix(context, DCSR_FP64, rows, SINGLE + LONG, DCSR_POLICY_LAST);
    for (uint64_t i = 0; i < rows; i++) {
        uint64_t left = products[i];
        for (uint64_t r = test_random_below(random, 8); r < LONG; r += 1 + test_random_below(random, 3)) {
            if (lengths[r] > left) continue;
            put(a, random, i, SINGLE + r);
            left -= lengths[r];
        }
        for (uint64_t r = 0; r < left; r++) put(a, random, i, r);
    }
    TEST_OK(dcsr_matrix_wait(a));
    return a;
}

Test(mxm_ways, borders)
{
    static const uint64_t products[] = {1,   2,   15,  16,  17,  0,   31,  32,  33,  47,  48,   63,  64, 65,
                                        127, 128, 129, 255, 256, 257, 300, 511, 512, 513, 1200, 600, 0,  3};
    static const uint64_t widths[] = {61, 700, 100000, (1 << 23) - 1, 1 << 28, DCSR_MAX_COLS};
    const uint64_t rows = sizeof products / sizeof *products;
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        test_random random = {w};
        dcsr_context *context = host(2, 0);
        uint64_t lengths[LONG];
        dcsr_matrix *b = make_b(context, &random, widths[w], widths[w], lengths);
        dcsr_matrix *a = make_a(context, &random, products, rows, lengths);
        dcsr_matrix *c = test_matrix(context, DCSR_FP64, rows, widths[w], DCSR_POLICY_LAST);
        TEST_OK(multiply(c, a, b, NULL));
        check_product(c, a, b);
        TEST_OK(multiply(c, a, b, &(dcsr_desc){.same_pattern = true}));
        check_product(c, a, b);
        TEST_OK(multiply(c, a, b, &(dcsr_desc){.memory_limit = 1 << 20}));
        check_product(c, a, b);
        dcsr_matrix_destroy(a);
        dcsr_matrix_destroy(b);
        dcsr_matrix_destroy(c);
        test_close(context);
    }
}

/* Grids, whose rows are alike, with some that are not. */
Test(mxm_ways, alike)
{
    static const char *const grids[] = {"poisson2d5:21", "poisson3d27:7", "poisson3d7:9", "path:200"};
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) {
        test_random random = {g};
        dcsr_context *context = host(1 + (int)g % 2, 0);
        dcsr_coo coo;
        TEST_OK(dcsr_coo_generate(&coo, context, grids[g]));
        dcsr_matrix *a = test_matrix(context, DCSR_FP64, coo.rows, coo.cols, DCSR_POLICY_LAST),
                    *c = test_matrix(context, DCSR_FP64, coo.rows, coo.cols, DCSR_POLICY_LAST);
        for (uint64_t k = 0; k < coo.nnz; k++) put(a, &random, coo.row_indices[k], coo.col_indices[k]);
        for (int round = 0; round < 3; round++) {
            TEST_OK(dcsr_matrix_wait(a));
            TEST_OK(multiply(c, a, a, NULL));
            check_product(c, a, a);
            TEST_OK(multiply(c, a, a, &(dcsr_desc){.same_pattern = true}));
            check_product(c, a, a);
            for (int k = 0; k < 9; k++)
                put(a, &random, test_random_below(&random, coo.rows), test_random_below(&random, coo.cols));
        }
        dcsr_coo_free(&coo);
        dcsr_matrix_destroy(a);
        dcsr_matrix_destroy(c);
        test_close(context);
    }
}

/* A row with everything, empty rows beside it, and sums that cancel: their entries stay. */
Test(mxm_ways, extremes)
{
    enum { N = 3000 };
    test_random random = {5};
    dcsr_context *context = host(2, 0);
    dcsr_matrix *a = test_matrix(context, DCSR_FP64, N, N, DCSR_POLICY_LAST),
                *c = test_matrix(context, DCSR_FP64, N, N, DCSR_POLICY_LAST);
    for (uint64_t k = 0; k < N; k++) put(a, &random, 70, k);
    for (uint64_t k = 0; k < N; k += 7) put(a, &random, k, test_random_below(&random, N));
    TEST_INSERT(a, {64, 1, 1}, {64, 2, -1}, {64, 71, 0}, {1, 5, 3}, {1, 9, 4}, {2, 5, 3}, {2, 9, 4});
    TEST_OK(multiply(c, a, a, NULL));
    check_product(c, a, a);
    dcsr_matrix_destroy(a);
    dcsr_matrix_destroy(c);
    test_close(context);
}

/* ---- Limits ---- */

Test(mxm_ways, memory_limit)
{
    enum { N = 20000 };
    test_random random = {6};
    dcsr_context *context = host(1, 0);
    dcsr_matrix *a = test_matrix(context, DCSR_FP64, 3, 2, DCSR_POLICY_LAST),
                *b = test_matrix(context, DCSR_FP64, 2, N, DCSR_POLICY_LAST),
                *c = test_matrix(context, DCSR_FP64, 3, N, DCSR_POLICY_LAST);
    for (uint64_t k = 0; k < N; k++) put(b, &random, 1, k);
    TEST_INSERT(a, {0, 0, 2}, {1, 0, 1}, {1, 1, 3});
    TEST_INSERT(b, {0, 3, 2});
    TEST_INSERT(c, {2, 2, 9});
    TEST_REFUSED(DCSR_ERROR_OUT_OF_MEMORY, "row 1 takes",
                 multiply(c, a, b, &(dcsr_desc){.memory_limit = 20000}));
    TEST_SHOWS(c, {2, 2, 9});
    TEST_REFUSED(DCSR_ERROR_OUT_OF_MEMORY, "memory_limit leaves 1 ",
                 multiply(c, a, b, &(dcsr_desc){.memory_limit = 1}));
    TEST_SHOWS(c, {2, 2, 9});
    TEST_OK(multiply(c, a, b, &(dcsr_desc){.memory_limit = 400000}));
    check_product(c, a, b);
    dcsr_view *A = test_view(a, DCSR_LAYOUT_SEGMENTS, 0), *B = test_view(b, DCSR_LAYOUT_SEGMENTS, 0);
    const dcsr_binary_op *plus = dcsr_binary_op_of(DCSR_BINARY_PLUS, DCSR_FP64);
    TEST_REFUSED(DCSR_ERROR_OUT_OF_MEMORY, "row 1 takes",
                 dcsr_mxm(c, NULL, plus, plus_times(), A, B, &(dcsr_desc){.memory_limit = 400000}));
    check_product(c, a, b);
    dcsr_view_destroy(A);
    dcsr_view_destroy(B);
    dcsr_matrix_destroy(a);
    dcsr_matrix_destroy(b);
    dcsr_matrix_destroy(c);
    test_close(context);
}

/* More than 2^32 products, and as many entries, which the context has no memory for. */
Test(mxm_ways, too_many)
{
    enum { N = 1 << 17 };
    dcsr_context *context = host(2, (uint64_t)96 << 20);
    dcsr_matrix *a = test_matrix(context, DCSR_FP64, N, 1, DCSR_POLICY_LAST),
                *b = test_matrix(context, DCSR_FP64, 1, N, DCSR_POLICY_LAST),
                *c = test_matrix(context, DCSR_FP64, N, N, DCSR_POLICY_LAST);
    uint64_t *index = malloc(N * sizeof *index), *none = calloc(N, sizeof *none);
    double *value = calloc(N, sizeof *value);
    for (uint64_t k = 0; k < N; k++) index[k] = k;
    TEST_OK(dcsr_matrix_insert(a, N, index, none, value, NULL));
    TEST_OK(dcsr_matrix_insert(b, N, none, index, value, NULL));
    TEST_INSERT(c, {2, 2, 9});
    TEST_OK(dcsr_matrix_wait(a));
    TEST_OK(dcsr_matrix_wait(b));
    TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY, multiply(c, a, b, NULL));
    TEST_SHOWS(c, {2, 2, 9});
    free(index), free(none), free(value);
    dcsr_matrix_destroy(a);
    dcsr_matrix_destroy(b);
    dcsr_matrix_destroy(c);
    test_close(context);
}

/* ---- Patterns that are promised ---- */

Test(mxm_ways, other_pattern)
{
    dcsr_context *context = host(1, 0);
    const dcsr_desc promise = {.same_pattern = true};
    dcsr_matrix *a = test_matrix(context, DCSR_FP64, 4, 4, DCSR_POLICY_LAST),
                *b = test_matrix(context, DCSR_FP64, 4, 40, DCSR_POLICY_LAST),
                *c = test_matrix(context, DCSR_FP64, 4, 40, DCSR_POLICY_LAST);
    TEST_INSERT(a, {0, 0, 2}, {1, 0, 1}, {1, 1, 3}, {3, 2, 1}, {3, 3, 1});
    TEST_INSERT(b, {0, 3, 2}, {0, 30, 1}, {1, 2, 1}, {1, 30, 1}, {2, 0, 1}, {3, 39, 5});
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "row 0 of C", multiply(c, a, b, &promise));
    TEST_SHOWS_NOTHING(c);
    TEST_OK(multiply(c, a, b, NULL));
    TEST_INSERT(b, {0, 3, 20});
    TEST_OK(multiply(c, a, b, &promise));
    TEST_SHOWS(c, {0, 3, 40}, {0, 30, 2}, {1, 2, 3}, {1, 3, 20}, {1, 30, 4}, {3, 0, 1}, {3, 39, 5});
    TEST_INSERT(c, {1, 4, 7});
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "row 1 of C", multiply(c, a, b, &promise));
    TEST_REMOVE(c, {1, 4, 0}, {1, 2, 0});
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "row 1 of C", multiply(c, a, b, &promise));
    TEST_INSERT(c, {1, 2, 0}, {2, 2, 1});
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "row 2 of C", multiply(c, a, b, &promise));
    TEST_SHOWS(c, {0, 3, 40}, {0, 30, 2}, {1, 2, 0}, {1, 3, 20}, {1, 30, 4}, {2, 2, 1}, {3, 0, 1},
               {3, 39, 5});
    dcsr_view *A = test_view(a, DCSR_LAYOUT_SEGMENTS, 0), *B = test_view(b, DCSR_LAYOUT_SEGMENTS, 0),
              *mask = test_view(c, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "without mask",
                 dcsr_mxm(c, mask, NULL, plus_times(), A, B, &promise));
    dcsr_view_destroy(A);
    dcsr_view_destroy(B);
    dcsr_view_destroy(mask);
    dcsr_matrix_destroy(a);
    dcsr_matrix_destroy(b);
    dcsr_matrix_destroy(c);
    test_close(context);
}
