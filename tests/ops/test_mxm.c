/* test_mxm.c: sparse matrix times sparse matrix against literal loops over dense arrays. */
#include <dcsr/mxm.h>
#include "ops/algebra/operator.h"
#include "tests/support/support.h"
#include <stdio.h>

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
            if (TEST_EMULATOR && (name + (int)type) % 3) continue;
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
