/* test_mxv_random.c: products with a vector against a literal loop over all entries: every semiring and type,
 * every way, masks, accumulation, casts. */
#include <dcsr/mxv.h>
#include "ops/algebra/operator.h"
#include "tests/support/support.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A vector that is too simple to be wrong. */
typedef struct plain {
    dcsr_type type;
    uint64_t size;
    bool *has;
    dcsr_i_scalar *value;
} plain;

typedef struct subject {
    dcsr_context *context;
    dcsr_matrix *matrix;
    dcsr_type type;
    uint64_t rows, cols, n;
    uint64_t *row, *col; /* of the entries, each place once */
    dcsr_i_scalar *value;
    bool alike; /* all entries, and all elements, have one value: so any term is as good as another */
    test_random random;
} subject;

/* What is called. */
typedef struct product {
    const dcsr_semiring *semiring;
    const dcsr_binary_op *accum;
    dcsr_desc desc;
    bool vxm, transposed; /* rows of the result are columns of the matrix */
    plain u, w, mask;
    bool masked;
    int same; /* 0: three vectors; 1: w is u; 2: w is the mask; 3: u is the mask */
} product;

static plain plain_create(dcsr_type type, uint64_t size)
{
    return (plain){type, size, calloc(size + 1, sizeof(bool)), calloc(size + 1, sizeof(dcsr_i_scalar))};
}

static void plain_destroy(plain *p)
{
    free(p->has);
    free(p->value);
}

/* Small whole numbers, with which sums are exact in any order. */
static dcsr_i_scalar small_value(subject *s, dcsr_type type, double alike)
{
    dcsr_i_scalar value = {0};
    if (type != DCSR_PATTERN)
        test_encode(type, s->alike ? alike : (double)test_random_below(&s->random, 4), &value);
    return value;
}

static plain random_plain(subject *s, dcsr_type type, uint64_t size, uint64_t one_in)
{
    plain p = plain_create(type, size);
    for (uint64_t i = 0; i < size; i++) {
        p.has[i] = one_in && test_random_once_in(&s->random, one_in);
        if (p.has[i]) p.value[i] = small_value(s, type, 3);
    }
    return p;
}

static dcsr_vector *vector_of(subject *s, const plain *p)
{
    static const dcsr_vector_format formats[] = {DCSR_VECTOR_AUTO, DCSR_VECTOR_DENSE, DCSR_VECTOR_SPARSE};
    dcsr_vector *vector;
    size_t size = dcsr_type_size(p->type), n = 0;
    uint64_t *indices = test_allocate(p->size + 1, sizeof *indices);
    char *values = test_allocate(p->size + 1, size);
    for (uint64_t i = 0; i < p->size; i++) {
        if (!p->has[i]) continue;
        memcpy(values + n * size, &p->value[i], size);
        indices[n++] = i;
    }
    TEST_OK(dcsr_vector_create(&vector, s->context, p->type, p->size));
    TEST_OK(dcsr_vector_set_format(vector, formats[test_random_below(&s->random, 3)]));
    TEST_OK(dcsr_vector_build(vector, n, indices, values, DCSR_POLICY_LAST));
    free(indices);
    free(values);
    return vector;
}

/* ---- What the result should be ---- */

static void apply(const dcsr_binary_op *op, dcsr_i_scalar *z, dcsr_i_scalar x, dcsr_i_scalar y)
{
    dcsr_i_scalar result = {0};
    cr_assert(dcsr_i_apply_binary(op, &result, &x, &y, 1));
    *z = result;
}

static dcsr_i_scalar cast(dcsr_type to, dcsr_type from, dcsr_i_scalar value)
{
    dcsr_i_scalar result = {0};
    dcsr_i_cast(to, &result, from, &value, 1);
    return result;
}

/* Every entry, one after the other. */
static plain sum_up(const subject *s, const product *p)
{
    const dcsr_binary_op *multiply = p->semiring->multiply, *add = p->semiring->add->op;
    plain t = plain_create(add->ztype, p->w.size);
    for (uint64_t k = 0; k < s->n; k++) {
        uint64_t i = p->transposed ? s->col[k] : s->row[k], j = p->transposed ? s->row[k] : s->col[k];
        if (!p->u.has[j]) continue;
        dcsr_i_scalar term;
        if (p->vxm)
            apply(multiply, &term, cast(multiply->xtype, p->u.type, p->u.value[j]),
                  cast(multiply->ytype, s->type, s->value[k]));
        else
            apply(multiply, &term, cast(multiply->xtype, s->type, s->value[k]),
                  cast(multiply->ytype, p->u.type, p->u.value[j]));
        if (t.has[i]) apply(add, &term, t.value[i], term);
        t.has[i] = true;
        t.value[i] = term;
    }
    return t;
}

static bool mask_allows(const product *p, uint64_t i)
{
    if (!p->masked) return !p->desc.mask_complement;
    dcsr_i_scalar zero = {0};
    bool set = p->mask.has[i] &&
               (p->desc.mask_structure || memcmp(&p->mask.value[i], &zero, dcsr_type_size(p->mask.type)));
    return set != p->desc.mask_complement;
}

/* w<mask> = accum(w, T) */
static void expect(const subject *s, product *p)
{
    plain t = sum_up(s, p);
    plain z = plain_create(p->w.type, p->w.size);
    for (uint64_t i = 0; i < z.size; i++) {
        bool both = p->accum && t.has[i] && p->w.has[i];
        if (both) {
            dcsr_i_scalar sum;
            apply(p->accum, &sum, cast(p->accum->xtype, p->w.type, p->w.value[i]),
                  cast(p->accum->ytype, t.type, t.value[i]));
            z.value[i] = cast(p->w.type, p->accum->ztype, sum);
        } else if (t.has[i]) {
            z.value[i] = cast(p->w.type, t.type, t.value[i]);
        } else {
            z.value[i] = p->w.value[i];
        }
        z.has[i] = t.has[i] || (p->accum && p->w.has[i]);
    }
    for (uint64_t i = 0; i < z.size; i++) {
        if (mask_allows(p, i)) continue;
        z.has[i] = p->w.has[i] && !p->desc.replace;
        z.value[i] = p->w.value[i];
    }
    plain_destroy(&t);
    plain_destroy(&p->w);
    p->w = z;
}

static void compare(const dcsr_vector *w, const plain *expected, const char *what)
{
    uint64_t n, next = 0, *indices = test_allocate(expected->size + 1, sizeof *indices);
    size_t size = dcsr_type_size(expected->type);
    char *values = test_allocate(expected->size + 1, size);
    TEST_OK(dcsr_vector_get_entries(w, expected->size, indices, values, &n));
    for (uint64_t i = 0; i < expected->size; i++) {
        if (!expected->has[i]) continue;
        cr_assert(next < n && indices[next] == i, "%s: element %" PRIu64 " of %" PRIu64 " is missing", what,
                  i, expected->size);
        cr_assert(!memcmp(values + next * size, &expected->value[i], size),
                  "%s: element %" PRIu64 " is %g, not %g", what, i,
                  test_decode(expected->type, values + next * size),
                  test_decode(expected->type, &expected->value[i]));
        next++;
    }
    cr_assert(next == n, "%s: %" PRIu64 " elements too many, the first at %" PRIu64, what, n - next,
              indices[next]);
    free(indices);
    free(values);
}

/* ---- Matrices ---- */

static int compare_places(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* About n entries, one in `hub` of them in one row and as many in one column, in several batches. */
static void set_up(subject *s, dcsr_context *context, uint64_t seed, dcsr_type type, uint64_t rows,
                   uint64_t cols, uint64_t n, uint64_t hub, bool alike)
{
    *s = (subject){
        .context = context, .type = type, .rows = rows, .cols = cols, .alike = alike, .random = {seed}};
    s->matrix = test_matrix(context, type, rows, cols, DCSR_POLICY_LAST);
    uint64_t *place = test_allocate(n + 1, sizeof *place);
    for (uint64_t k = 0; k < n; k++) {
        uint64_t row = test_random_below(&s->random, rows), col = test_random_below(&s->random, cols);
        if (hub && test_random_once_in(&s->random, hub)) row = rows / 2;
        if (hub && test_random_once_in(&s->random, hub)) col = cols / 3;
        place[k] = row * cols + col;
    }
    qsort(place, n, sizeof *place, compare_places);
    s->row = test_allocate(n + 1, sizeof *s->row);
    s->col = test_allocate(n + 1, sizeof *s->col);
    s->value = test_allocate(n + 1, sizeof *s->value);
    for (uint64_t k = 0; k < n; k++) {
        if (k && place[k] == place[k - 1]) continue;
        s->row[s->n] = place[k] / cols;
        s->col[s->n] = place[k] % cols;
        s->value[s->n++] = small_value(s, type, 2);
    }
    free(place);
    size_t size = dcsr_type_size(type);
    for (uint64_t batch = 0; batch < 3; batch++) {
        uint64_t count = 0, *r = test_allocate(s->n + 1, sizeof *r), *c = test_allocate(s->n + 1, sizeof *c);
        char *values = test_allocate(s->n + 1, size);
        for (uint64_t k = batch; k < s->n; k += 3) {
            r[count] = s->row[k], c[count] = s->col[k];
            if (size) memcpy(values + count * size, &s->value[k], size);
            count++;
        }
        TEST_OK(dcsr_matrix_insert(s->matrix, count, r, c, size ? values : NULL, NULL));
        free(r);
        free(c);
        free(values);
    }
    TEST_OK(dcsr_matrix_wait(s->matrix));
}

static void tear_down(subject *s)
{
    dcsr_matrix_destroy(s->matrix);
    free(s->row);
    free(s->col);
    free(s->value);
}

/* ---- Products ---- */

static dcsr_type random_type(subject *s)
{
    return (dcsr_type)(1 + test_random_below(&s->random, DCSR_TYPE_COUNT - 1));
}

static void random_product(subject *s, product *p, const dcsr_semiring *semiring, uint64_t one_in)
{
    test_random *random = &s->random;
    static const uint64_t shares[] = {1, 2, 10, 100};
    bool transpose = test_random_once_in(random, 2);
    dcsr_type type = semiring->add->op->ztype;
    *p = (product){.semiring = semiring, .vxm = test_random_once_in(random, 2)};
    p->transposed = p->vxm != transpose;
    *(p->vxm ? &p->desc.transpose_b : &p->desc.transpose_a) = transpose;
    p->desc.direction = (dcsr_direction)test_random_below(random, 1 + DCSR_DIRECTION_TILES);
    p->desc.replace = test_random_once_in(random, 3);
    p->desc.mask_structure = test_random_once_in(random, 2);
    p->masked = test_random_once_in(random, 2);
    p->desc.mask_complement = test_random_once_in(random, p->masked ? 2 : 20);
    if (test_random_once_in(random, 3)) p->accum = dcsr_binary_op_of(DCSR_BINARY_PLUS, random_type(s));
    uint64_t out = p->transposed ? s->cols : s->rows, in = p->transposed ? s->rows : s->cols;
    bool casts = test_random_once_in(random, 3);
    p->u = random_plain(s, casts ? random_type(s) : type, in, one_in);
    p->w = random_plain(s, casts ? random_type(s) : type, out, shares[test_random_below(random, 4)]);
    p->mask = random_plain(s, random_type(s), out, shares[test_random_below(random, 4)]);
    p->same = (int)test_random_below(random, 6);
}

static dcsr_status multiply(const product *p, dcsr_vector *w, const dcsr_vector *mask, const dcsr_vector *u,
                            dcsr_view *view)
{
    return p->vxm ? dcsr_vxm(w, mask, p->accum, p->semiring, u, view, &p->desc)
                  : dcsr_mxv(w, mask, p->accum, p->semiring, view, u, &p->desc);
}

/* The same, by tiles only where these serve: over the matrix's type, and where the vector comes last. */
static void multiply_as_can_be(product *p, dcsr_vector *w, const dcsr_vector *mask, const dcsr_vector *u,
                               dcsr_view *view, dcsr_layout layout, dcsr_type type)
{
    const bool serve = layout == DCSR_LAYOUT_NUT && !p->vxm && p->semiring->add->op->ztype == type;
    const dcsr_status status = multiply(p, w, mask, u, view);
    if (status == DCSR_OK) return;
    cr_assert(p->desc.direction == DCSR_DIRECTION_TILES && !serve && status == DCSR_ERROR_INVALID_ARGUMENT &&
                  test_says("DCSR_DIRECTION_TILES"),
              "%s", dcsr_thread_error());
    p->desc.direction = DCSR_DIRECTION_AUTO;
    TEST_OK(multiply(p, w, mask, u, view));
}

/* One random product, against what it should be; one in so many elements of u is there. */
static void check(subject *s, const dcsr_semiring *semiring, uint64_t one_in, const char *what)
{
    product made, *p = &made;
    random_product(s, p, semiring, one_in);
    static const dcsr_layout layouts[] = {DCSR_LAYOUT_CSR, DCSR_LAYOUT_SEGMENTS, DCSR_LAYOUT_NUT};
    const dcsr_layout layout = layouts[test_random_below(&s->random, 3)];
    dcsr_view *view = test_view(s->matrix, layout, 0);
    dcsr_report report;
    p->desc.report = &report;
    plain *from = p->same == 1 && s->rows == s->cols ? &p->u : p->same == 2 ? &p->mask : NULL;
    if (from) {
        plain_destroy(&p->w);
        p->w = plain_create(from->type, from->size);
        memcpy(p->w.has, from->has, from->size * sizeof *from->has);
        memcpy(p->w.value, from->value, from->size * sizeof *from->value);
    }
    dcsr_vector *u = vector_of(s, &p->u), *mask = p->masked ? vector_of(s, &p->mask) : NULL;
    bool is_u = from == &p->u, is_mask = from == &p->mask && mask;
    dcsr_vector *w = is_u ? u : is_mask ? mask : vector_of(s, &p->w);
    expect(s, p);
    multiply_as_can_be(p, w, mask, u, view, layout, s->type);
    compare(w, &p->w, what);
    cr_assert(report.direction == p->desc.direction || report.direction);
    if (!is_u && !is_mask) dcsr_vector_destroy(w);
    dcsr_vector_destroy(u);
    dcsr_vector_destroy(mask);
    dcsr_view_destroy(view);
    plain_destroy(&p->u);
    plain_destroy(&p->w);
    plain_destroy(&p->mask);
}

static const dcsr_semiring *random_semiring(test_random *random)
{
    for (;;) {
        const dcsr_semiring *semiring =
            dcsr_semiring_of((dcsr_semiring_name)test_random_below(random, DCSR_SEMIRING_NAMES),
                             (dcsr_type)test_random_below(random, DCSR_TYPE_COUNT));
        if (semiring) return semiring;
    }
}

Test(mxv_random, every_semiring_on_every_type)
{
    dcsr_context *context = test_context(1);
    for (int type = 1; type < DCSR_TYPE_COUNT; type++) {
        for (int name = 0; name < (int)DCSR_SEMIRING_NAMES; name++) {
            const dcsr_semiring *semiring = dcsr_semiring_of((dcsr_semiring_name)name, (dcsr_type)type);
            if (!semiring) continue;
            for (int pattern = 0; pattern < 2; pattern++) {
                subject s;
                char what[100];
                snprintf(what, sizeof what, "semiring %d on %s", name, dcsr_type_name((dcsr_type)type));
                set_up(&s, context, (uint64_t)(type * 100 + name), pattern ? DCSR_PATTERN : (dcsr_type)type,
                       70, 70, 700, 10, semiring->add->name == DCSR_BINARY_ANY);
                for (int round = 0; round < TEST_SIZE(12, 4, 2); round++)
                    check(&s, semiring, 1 + (uint64_t)round % 4, what);
                tear_down(&s);
            }
        }
    }
    test_close(context);
}

/* Random everything: `most` entries. */
static void random_rounds(int threads, uint64_t most_rows, uint64_t most, uint64_t rounds)
{
    dcsr_context *context = test_context(threads);
    test_seeds seeds = test_seeds_from_environment(rounds);
    for (uint64_t i = 0; i < seeds.rounds; i++) {
        test_random random = {seeds.first + i};
        test_seed_begins(random.state);
        const dcsr_semiring *semiring = random_semiring(&random);
        dcsr_type type = test_random_once_in(&random, 2)
                             ? semiring->add->op->ztype
                             : (dcsr_type)test_random_below(&random, DCSR_TYPE_COUNT);
        uint64_t rows = 1 + test_random_below(&random, most_rows),
                 cols = 1 + test_random_below(&random, most_rows);
        if (test_random_once_in(&random, 2)) cols = rows;
        subject s;
        char what[100];
        snprintf(what, sizeof what, "seed %" PRIu64, seeds.first + i);
        static const uint64_t shares[] = {0, 1, 2, 30, 1000, 20000};
        set_up(&s, context, test_random_next(&random), type, rows, cols, test_random_below(&random, most),
               test_random_once_in(&random, 2) ? 3 : 0, semiring->add->name == DCSR_BINARY_ANY);
        for (int k = 0; k < 6; k++) check(&s, semiring, shares[k], what);
        tear_down(&s);
    }
    test_close(context);
}

Test(mxv_random, small_ones)
{
    random_rounds(1, 300, 2000, (uint64_t)TEST_SIZE(150, 30, 10));
}

Test(mxv_random, long_vectors_of_few_elements)
{
    random_rounds(1, 200000, 30000, (uint64_t)TEST_SIZE(15, 4, 2));
}

Test(mxv_random, by_several_threads)
{
    random_rounds(4, 20000, 300000, (uint64_t)TEST_SIZE(15, 4, 2));
}

Test(mxv_random, a_row_and_a_column_of_most_entries)
{
    dcsr_context *context = test_context(4);
    test_random random = {7};
    for (int round = 0; round < TEST_SIZE(6, 2, 1); round++) {
        const dcsr_semiring *semiring =
            round ? random_semiring(&random) : dcsr_semiring_of(DCSR_MIN_PLUS, DCSR_INT32);
        subject s;
        set_up(&s, context, (uint64_t)round + 1, semiring->add->op->ztype, 3000, 400000, 500000, 2,
               semiring->add->name == DCSR_BINARY_ANY);
        for (uint64_t k = 0; k < 4; k++) check(&s, semiring, 1 + k, "a long row");
        tear_down(&s);
    }
    test_close(context);
}
