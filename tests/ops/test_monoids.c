/* test_monoids.c: the laws of every monoid, the parts of every semiring, and casts at the ends of every
 * range. */
#include <dcsr/mxm.h>
#include <dcsr/mxv.h>
#include <dcsr/reduce.h>
#include <dcsr/spmm.h>
#include <dcsr/vector_ops.h>
#include "tests/ops/algebra.h"
#include <math.h>

/* ---- Values of every type ---- */

enum { SAMPLES = 7 };

/* The ends of the range, and some between; NaN of floating-point types. */
static void samples_of(dcsr_type type, dcsr_i_scalar sample[SAMPLES])
{
    memset(sample, 0, SAMPLES * sizeof *sample);
    switch (type) {
#define DCSR_X(NAME, name, ctype, minimum, maximum)                                                       \
    case DCSR_##NAME:                                                                                     \
        sample[0].as_##name = minimum, sample[1].as_##name = maximum, sample[2].as_##name = (ctype)0;     \
        sample[3].as_##name = (ctype)1, sample[4].as_##name = (ctype)3, sample[5].as_##name = (ctype)100; \
        sample[6].as_##name = type >= DCSR_FP32 ? (ctype)-2.5f : (ctype)42;                               \
        break;
#include <dcsr/types.def>
#undef DCSR_X
    default:
        cr_assert(false, "no value type");
    }
}

/* A small number, or an end of the range, as a value of the type. */
typedef enum number { NOUGHT, UNIT, LEAST, MOST, ALL_BITS } number;

static dcsr_i_scalar value_of(dcsr_type type, number n)
{
    dcsr_i_scalar sample[SAMPLES];
    samples_of(type, sample);
    dcsr_i_scalar all = {0};
    memset(&all, 0xff, dcsr_type_size(type));
    return n == NOUGHT  ? sample[2]
           : n == UNIT  ? sample[3]
           : n == LEAST ? sample[0]
           : n == MOST  ? sample[1]
                        : all;
}

static bool equal(dcsr_type type, const dcsr_i_scalar *a, const dcsr_i_scalar *b)
{
    return !memcmp(a, b, dcsr_type_size(type));
}

static bool is_integer(dcsr_type type)
{
    return type >= DCSR_INT8 && type <= DCSR_UINT64;
}

/* ---- Monoids ---- */

/* Types that a row is about, or-ed. */
enum { BOOLS = 1, INTS = 2, REALS = 4, ALL = 7 };

static int kind_of(dcsr_type type)
{
    return type == DCSR_BOOL ? BOOLS : is_integer(type) ? INTS : REALS;
}

static const struct law {
    dcsr_binary_name name;
    int exists, ends; /* on which types there is one, and one with a terminal value */
    number identity, terminal;
} laws[] = {
    {DCSR_BINARY_PLUS, ALL, BOOLS, NOUGHT, UNIT},       {DCSR_BINARY_TIMES, ALL, BOOLS | INTS, UNIT, NOUGHT},
    {DCSR_BINARY_MIN, ALL, ALL, MOST, LEAST},           {DCSR_BINARY_MAX, ALL, ALL, LEAST, MOST},
    {DCSR_BINARY_LOR, BOOLS, BOOLS, NOUGHT, UNIT},      {DCSR_BINARY_LAND, BOOLS, BOOLS, UNIT, NOUGHT},
    {DCSR_BINARY_LXOR, BOOLS, 0, NOUGHT, NOUGHT},       {DCSR_BINARY_LXNOR, BOOLS, 0, UNIT, NOUGHT},
    {DCSR_BINARY_BIT_OR, INTS, INTS, NOUGHT, ALL_BITS}, {DCSR_BINARY_BIT_AND, INTS, INTS, ALL_BITS, NOUGHT},
    {DCSR_BINARY_BIT_XOR, INTS, 0, NOUGHT, NOUGHT}};

/* identity + x = x + identity = x, and terminal + x = x + terminal = terminal, for all x. */
static void check_law(const struct law *law, dcsr_type type, const dcsr_monoid *monoid)
{
    dcsr_i_scalar sample[SAMPLES], identity = value_of(type, law->identity),
                                   terminal = value_of(type, law->terminal);
    samples_of(type, sample);
    cr_assert(equal(type, &monoid->identity, &identity), "%s on %s", monoid->op->text, dcsr_type_name(type));
    bool ends = law->ends & kind_of(type);
    cr_assert_eq(monoid->terminal_kind, ends ? DCSR_I_TERMINAL : DCSR_I_NO_TERMINAL);
    if (ends) cr_assert(equal(type, &monoid->terminal, &terminal));
    for (int s = 0; s < SAMPLES; s++) {
        dcsr_i_scalar left = {0}, right = {0};
        dcsr_i_apply_binary(monoid->op, &left, &identity, &sample[s], 1);
        dcsr_i_apply_binary(monoid->op, &right, &sample[s], &identity, 1);
        cr_assert(equal(type, &left, &sample[s]) && equal(type, &right, &sample[s]), "%s on %s",
                  monoid->op->text, dcsr_type_name(type));
        if (!ends) continue;
        dcsr_i_apply_binary(monoid->op, &left, &terminal, &sample[s], 1);
        dcsr_i_apply_binary(monoid->op, &right, &sample[s], &terminal, 1);
        cr_assert(equal(type, &left, &terminal) && equal(type, &right, &terminal));
    }
}

Test(monoids, laws)
{
    for (dcsr_type type = DCSR_BOOL; type < DCSR_TYPE_COUNT; type++) {
        int monoids = 0;
        for (size_t k = 0; k < sizeof laws / sizeof *laws; k++) {
            const dcsr_monoid *monoid = dcsr_monoid_of(laws[k].name, type);
            cr_assert_eq(!monoid, !(laws[k].exists & kind_of(type)));
            if (!monoid) continue;
            cr_assert(monoid->op == dcsr_binary_op_of(laws[k].name, type));
            cr_assert(monoid == dcsr_monoid_named(monoid->op->text, type));
            check_law(&laws[k], type, monoid);
            monoids++;
        }
        const dcsr_monoid *any = dcsr_monoid_of(DCSR_BINARY_ANY, type);
        cr_assert(any && any->terminal_kind == DCSR_I_ANY_TERMINAL && dcsr_monoid_named("any", type) == any);
        for (int name = 0; name < (int)DCSR_BINARY_NAMES; name++)
            monoids -= dcsr_monoid_of((dcsr_binary_name)name, type) != NULL;
        cr_assert_eq(monoids, -1, "there are others than these, and any");
    }
}

/* NaN is added to numbers and multiplied with them, but is neither their minimum nor their maximum. */
Test(monoids, nan)
{
    const double nan = NAN, one = 1;
    double z;
    const dcsr_binary_name names[] = {DCSR_BINARY_PLUS, DCSR_BINARY_TIMES, DCSR_BINARY_MIN, DCSR_BINARY_MAX};
    for (int k = 0; k < 4; k++) {
        const dcsr_monoid *monoid = dcsr_monoid_of(names[k], DCSR_FP64);
        dcsr_i_apply_binary(monoid->op, &z, &nan, &one, 1);
        cr_assert(k < 2 ? isnan(z) : z == 1);
        dcsr_i_apply_binary(monoid->op, &z, &one, &nan, 1);
        cr_assert(k < 2 ? isnan(z) : z == 1);
    }
}

/* ---- NaN, whichever way a sum is taken ---- */

enum { ODD_SIZE = 70, ODD_COLUMNS = 17 };

/* A square matrix, its rows of 0 to 3 entries or full ones, and the first column as a vector; or, beside it,
 * a dense one. Half of the values are NaN, so that some sums have nothing else. */
typedef struct odd_values {
    grid a, u, x, total;
    dcsr_matrix *A, *C;
    dcsr_view *view;
    dcsr_vector *vector, *w;
    char X[ODD_SIZE * ODD_COLUMNS * 8], Y[ODD_SIZE * ODD_COLUMNS * 8];
    dcsr_desc desc;
} odd_values;

static dcsr_i_scalar odd_value(dcsr_type type, uint64_t k)
{
    static const double numbers[] = {NAN, INFINITY, NAN, 3, NAN, -INFINITY, NAN, 2, NAN, NAN, -1, 7};
    dcsr_i_scalar value = {0};
    test_encode(type, numbers[(k ^ k >> 3) % (sizeof numbers / sizeof *numbers)], &value);
    return value;
}

static void open_odd(odd_values *o, dcsr_context *context, dcsr_type type)
{
    const size_t size = dcsr_type_size(type);
    *o = (odd_values){.a = grid_create(type, ODD_SIZE, ODD_SIZE),
                      .u = grid_create(type, ODD_SIZE, 1),
                      .x = grid_create(type, ODD_SIZE, ODD_COLUMNS)};
    o->A = test_matrix(context, type, ODD_SIZE, ODD_SIZE, DCSR_POLICY_LAST);
    o->C = test_matrix(context, type, ODD_SIZE, ODD_SIZE, DCSR_POLICY_LAST);
    TEST_OK(dcsr_vector_create(&o->vector, context, type, ODD_SIZE));
    TEST_OK(dcsr_vector_create(&o->w, context, type, ODD_SIZE));
    for (uint64_t row = 0; row < ODD_SIZE; row++) {
        for (uint64_t col = 0; col < ODD_SIZE; col++) {
            const uint64_t cell = row * ODD_SIZE + col;
            if (row % 9 != 4 && (col * 7 + row) % ODD_SIZE >= row % 4) continue;
            grid_set(&o->a, cell, odd_value(type, cell));
            TEST_OK(dcsr_matrix_insert(o->A, 1, &row, &col, &o->a.value[cell], NULL));
        }
        grid_set(&o->u, row, odd_value(type, row + 5));
        TEST_OK(dcsr_vector_set(o->vector, row, &o->u.value[row]));
    }
    for (uint64_t c = 0; c < ODD_SIZE * ODD_COLUMNS; c++) {
        grid_set(&o->x, c, odd_value(type, c / 3));
        memcpy(o->X + c * size, &o->x.value[c], size);
    }
    TEST_OK(dcsr_matrix_wait(o->A));
    o->view = test_view(o->A, DCSR_LAYOUT_SEGMENTS, 0);
}

static void close_odd(odd_values *o)
{
    grid_free(&o->a), grid_free(&o->u), grid_free(&o->x);
    dcsr_view_destroy(o->view);
    dcsr_matrix_destroy(o->A), dcsr_matrix_destroy(o->C);
    dcsr_vector_destroy(o->vector), dcsr_vector_destroy(o->w);
}

/* Frees both grids. */
static void assert_grid(grid got, grid wanted, const dcsr_monoid *add, const char *way)
{
    char why[TEST_WHY];
    cr_assert(grid_equal(&got, &wanted, why), "%s by %s: %s", add->op->text, way, why);
    grid_free(&got), grid_free(&wanted);
}
static grid holds_of_vector(const dcsr_vector *vector)
{
    grid g;
    char why[TEST_WHY];
    cr_assert(grid_of_vector(&g, vector, why), "%s", why);
    return g;
}
static grid holds_of_matrix(dcsr_matrix *matrix)
{
    grid g;
    char why[TEST_WHY];
    cr_assert(grid_of_matrix(&g, matrix, why), "%s", why);
    return g;
}

static void check_products(odd_values *o, const dcsr_semiring *semiring)
{
    const dcsr_monoid *add = semiring->add;
    for (int way = DCSR_DIRECTION_PUSH; way <= DCSR_DIRECTION_PULL; way++) {
        o->desc.direction = (dcsr_direction)way;
        TEST_OK(dcsr_mxv(o->w, NULL, NULL, semiring, o->view, o->vector, &o->desc));
        assert_grid(holds_of_vector(o->w), define_product(semiring, &o->a, &o->u), add,
                    way == DCSR_DIRECTION_PUSH ? "push" : "pull");
    }
    TEST_OK(dcsr_mxm(o->C, NULL, NULL, semiring, o->view, o->view, &o->desc));
    assert_grid(holds_of_matrix(o->C), define_product(semiring, &o->a, &o->a), add, "mxm");
    dcsr_desc masked = o->desc;
    masked.mask_structure = masked.replace = true;
    grid product = define_product(semiring, &o->a, &o->a);
    for (size_t c = 0; c < ODD_SIZE * ODD_SIZE; c++) product.present[c] &= o->a.present[c];
    TEST_OK(dcsr_mxm(o->C, o->view, NULL, semiring, o->view, o->view, &masked));
    assert_grid(holds_of_matrix(o->C), product, add, "mxm with a mask");
    for (int way = DCSR_SPMM_ROW_SPLIT; way <= DCSR_SPMM_MERGE; way++) {
        o->desc.mapping = (dcsr_spmm_mapping)way;
        grid y = grid_create(o->a.type, ODD_SIZE, ODD_COLUMNS),
             wanted = define_product(semiring, &o->a, &o->x);
        TEST_OK(dcsr_spmm(o->Y, NULL, NULL, semiring, o->view, o->X, ODD_COLUMNS, &o->desc));
        for (size_t c = 0; c < ODD_SIZE * ODD_COLUMNS; c++) {
            dcsr_i_scalar value = {0};
            memcpy(&value, o->Y + c * dcsr_type_size(o->a.type), dcsr_type_size(o->a.type));
            grid_set(&y, c, value);
            if (!wanted.present[c]) grid_set(&wanted, c, add->identity);
        }
        assert_grid(y, wanted, add, way == DCSR_SPMM_MERGE ? "spmm, merged" : "spmm, rows");
    }
}

static void check_reductions(odd_values *o, const dcsr_monoid *monoid)
{
    grid total = grid_create(o->a.type, 1, 1), wanted = grid_create(o->a.type, 1, 1);
    dcsr_i_scalar sum = {0};
    TEST_OK(dcsr_matrix_reduce_rows(o->w, NULL, NULL, monoid, o->view, &o->desc));
    assert_grid(holds_of_vector(o->w), define_reduce_rows(monoid, &o->a), monoid, "rows");
    dcsr_desc turned = o->desc;
    turned.transpose_a = true;
    grid columns = grid_transposed(&o->a);
    TEST_OK(dcsr_matrix_reduce_rows(o->w, NULL, NULL, monoid, o->view, &turned));
    assert_grid(holds_of_vector(o->w), define_reduce_rows(monoid, &columns), monoid, "columns");
    TEST_OK(dcsr_matrix_reduce(&sum, NULL, monoid, o->view));
    grid_set(&total, 0, sum), grid_set(&wanted, 0, define_reduce(monoid, &o->a));
    assert_grid(grid_copy(&total), grid_copy(&wanted), monoid, "reduction");
    sum = (dcsr_i_scalar){0};
    TEST_OK(dcsr_vector_reduce(&sum, NULL, monoid, o->vector));
    grid_set(&total, 0, sum), grid_set(&wanted, 0, define_reduce(monoid, &o->u));
    assert_grid(total, wanted, monoid, "reduction of a vector");
    grid_free(&columns);
}

static void check_odd(dcsr_context *context, dcsr_type type, dcsr_binary_name name, dcsr_device device)
{
    const dcsr_monoid *monoid = dcsr_monoid_of(name, type);
    odd_values o;
    dcsr_monoid *created;
    dcsr_semiring *with_div;
    open_odd(&o, context, type);
    o.desc.device = device;
    for (int s = 0; s < DCSR_SEMIRING_NAMES; s++) {
        const dcsr_semiring *semiring = dcsr_semiring_of((dcsr_semiring_name)s, type);
        if (semiring && semiring->add == monoid) check_products(&o, semiring);
    }
    /* Not built in: an operator that no built-in one multiplies with, an identity that NaN is lost in. */
    TEST_OK(dcsr_monoid_create(&created, monoid->op, &monoid->identity, NULL));
    TEST_OK(dcsr_semiring_create(&with_div, created, dcsr_binary_op_of(DCSR_BINARY_DIV, type)));
    check_products(&o, with_div);
    check_reductions(&o, monoid);
    dcsr_semiring_destroy(with_div), dcsr_monoid_destroy(created);
    close_odd(&o);
}

/* A sum with a number in it is a number, one of NaN alone NaN: by every way of taking it. */
Test(monoids, of_numbers_and_nan_the_numbers_count_whichever_way_is_taken)
{
    for (int threads = 1; threads <= 3; threads += 2) {
        dcsr_context *context = test_context(threads);
        const int devices = test_on_device(context) ? 2 : 1;
        for (int device = 0; device < devices; device++)
            for (int type = DCSR_FP32; type <= DCSR_FP64; type++) {
                check_odd(context, (dcsr_type)type, DCSR_BINARY_MIN,
                          device ? DCSR_DEVICE_CUDA : DCSR_DEVICE_CPU);
                check_odd(context, (dcsr_type)type, DCSR_BINARY_MAX,
                          device ? DCSR_DEVICE_CUDA : DCSR_DEVICE_CPU);
            }
        test_close(context);
    }
}

/* ---- Semirings ---- */

static const char *const parts[][3] = {
    {"plus_times", "plus", "times"}, {"plus_first", "plus", "first"}, {"plus_second", "plus", "second"},
    {"plus_pair", "plus", "pair"},   {"plus_min", "plus", "min"},     {"plus_max", "plus", "max"},
    {"min_plus", "min", "plus"},     {"min_times", "min", "times"},   {"min_max", "min", "max"},
    {"min_first", "min", "first"},   {"min_second", "min", "second"}, {"max_plus", "max", "plus"},
    {"max_times", "max", "times"},   {"max_min", "max", "min"},       {"max_first", "max", "first"},
    {"max_second", "max", "second"}, {"any_first", "any", "first"},   {"any_second", "any", "second"},
    {"any_pair", "any", "pair"},     {"lor_land", "lor", "land"},     {"lxor_land", "lxor", "land"}};

Test(semirings, parts)
{
    size_t n = sizeof parts / sizeof *parts;
    cr_assert_eq(n, DCSR_SEMIRING_NAMES);
    for (dcsr_type type = DCSR_PATTERN; type < DCSR_TYPE_COUNT; type++)
        for (size_t k = 0; k < n; k++) {
            const dcsr_semiring *semiring = dcsr_semiring_named(parts[k][0], type);
            bool exists = type == DCSR_BOOL || (type != DCSR_PATTERN && k < n - 2);
            cr_assert_eq(!semiring, !exists, "%s on %s", parts[k][0], dcsr_type_name(type));
            if (!semiring) continue;
            cr_assert(semiring == dcsr_semiring_of((dcsr_semiring_name)semiring->name, type));
            cr_assert(semiring->add == dcsr_monoid_named(parts[k][1], type));
            cr_assert(semiring->multiply == dcsr_binary_op_named(parts[k][2], type));
        }
}

/* ---- Names ---- */

Test(operators, names)
{
    cr_assert(dcsr_unary_op_named("abs", DCSR_INT8) == dcsr_unary_op_of(DCSR_UNARY_ABS, DCSR_INT8));
    cr_assert(dcsr_binary_op_named("rminus", DCSR_FP32) == dcsr_binary_op_of(DCSR_BINARY_RMINUS, DCSR_FP32));
    cr_assert(dcsr_index_op_named("tril", DCSR_BOOL) == dcsr_index_op_of(DCSR_INDEX_TRIL, DCSR_BOOL));
    cr_assert(dcsr_semiring_named("min_plus", DCSR_INT32) == dcsr_semiring_of(DCSR_MIN_PLUS, DCSR_INT32));
    const char *const none[] = {"", "Plus", "plus ", "nonsense", NULL};
    for (int k = 0; k < 5; k++)
        cr_assert(!dcsr_unary_op_named(none[k], DCSR_FP64) && !dcsr_binary_op_named(none[k], DCSR_FP64) &&
                  !dcsr_index_op_named(none[k], DCSR_FP64) && !dcsr_monoid_named(none[k], DCSR_FP64) &&
                  !dcsr_semiring_named(none[k], DCSR_FP64));
    cr_assert(!dcsr_monoid_named("minus", DCSR_FP64), "an operator, but no monoid");
    const dcsr_type types[] = {DCSR_PATTERN, DCSR_TYPE_COUNT, (dcsr_type)-1};
    for (int k = 0; k < 3; k++)
        cr_assert(
            !dcsr_unary_op_of(DCSR_UNARY_ABS, types[k]) && !dcsr_binary_op_of(DCSR_BINARY_PLUS, types[k]) &&
            !dcsr_index_op_of(DCSR_INDEX_TRIL, types[k]) && !dcsr_monoid_of(DCSR_BINARY_PLUS, types[k]) &&
            !dcsr_semiring_of(DCSR_PLUS_TIMES, types[k]));
    cr_assert(!dcsr_unary_op_of(DCSR_UNARY_NAMES, DCSR_FP64) &&
              !dcsr_binary_op_of((dcsr_binary_name)-1, DCSR_FP64));
    cr_assert(!dcsr_index_op_of(DCSR_INDEX_NAMES, DCSR_FP64) &&
              !dcsr_semiring_of(DCSR_SEMIRING_NAMES, DCSR_FP64));
}

/* ---- Casts ---- */

/* A number of one integer type in the bits of another. */
#define CHECK_WRAP(r, NAME, name, ctype, minimum, maximum)                                            \
    if (DCSR_##NAME != DCSR_BOOL && is_integer(DCSR_##NAME)) {                                        \
        dcsr_i_scalar z = {0};                                                                        \
        dcsr_i_cast(DCSR_##NAME, &z, r, &x, 1);                                                       \
        uint64_t mask = sizeof(ctype) < 8 ? ((uint64_t)1 << 8 * sizeof(ctype) % 64) - 1 : UINT64_MAX; \
        cr_assert_eq(z.word, extended &mask, "%s to %s", dcsr_type_name(r), #name);                   \
    }

Test(casts, integers_keep_the_bits_that_fit)
{
    for (dcsr_type from = DCSR_INT8; from <= DCSR_UINT64; from++) {
        dcsr_i_scalar sample[SAMPLES];
        samples_of(from, sample);
        for (int s = 0; s < SAMPLES; s++) {
            dcsr_i_scalar x = sample[s], y = {0};
            uint64_t extended = from == DCSR_INT8    ? (uint64_t)(int64_t)x.as_int8
                                : from == DCSR_INT16 ? (uint64_t)(int64_t)x.as_int16
                                : from == DCSR_INT32 ? (uint64_t)(int64_t)x.as_int32
                                                     : x.word;
#define DCSR_X(NAME, name, ctype, minimum, maximum) CHECK_WRAP(from, NAME, name, ctype, minimum, maximum)
#include <dcsr/types.def>
#undef DCSR_X
            dcsr_i_cast(DCSR_BOOL, &y, from, &x, 1);
            cr_assert_eq(y.word, extended != 0);
            dcsr_i_cast(DCSR_FP64, &y, from, &x, 1);
            cr_assert_eq(y.as_fp64, from == DCSR_UINT64 ? (double)extended : (double)(int64_t)extended);
            dcsr_i_cast(DCSR_FP32, &y, from, &x, 1);
            cr_assert_eq(y.as_fp32, from == DCSR_UINT64 ? (float)extended : (float)(int64_t)extended);
        }
    }
}

/* Each pair: a double, and what it becomes, for one integer type. */
#define CHECK_ENDS(NAME, name, ctype, minimum, maximum)                      \
    if (is_integer(DCSR_##NAME)) {                                           \
        const struct {                                                       \
            double x;                                                        \
            ctype z;                                                         \
        } cases[] = {{-INFINITY, (ctype)(minimum)},                          \
                     {INFINITY, (ctype)(maximum)},                           \
                     {NAN, 0},                                               \
                     {(double)(minimum), (ctype)(minimum)},                  \
                     {(double)(minimum)*2 - 1, (ctype)(minimum)},            \
                     {(double)(maximum) + 1, (ctype)(maximum)},              \
                     {(double)(maximum)*4, (ctype)(maximum)},                \
                     {-0.75, 0},                                             \
                     {0.75, 0},                                              \
                     {2.75, 2},                                              \
                     {100, 100},                                             \
                     {-1e300, (ctype)(minimum)},                             \
                     {1e300, (ctype)(maximum)}};                             \
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {          \
            ctype z;                                                         \
            float narrow = (float)cases[k].x;                                \
            dcsr_i_cast(DCSR_##NAME, &z, DCSR_FP64, &cases[k].x, 1);         \
            cr_assert(z == cases[k].z, "%g to %s", cases[k].x, #name);       \
            dcsr_i_cast(DCSR_##NAME, &z, DCSR_FP32, &narrow, 1);             \
            cr_assert(z == cases[k].z, "float %g to %s", cases[k].x, #name); \
        }                                                                    \
    }

Test(casts, numbers_beyond_the_range_become_its_ends)
{
#define DCSR_X(NAME, name, ctype, minimum, maximum) CHECK_ENDS(NAME, name, ctype, minimum, maximum)
#include <dcsr/types.def>
#undef DCSR_X
    const double x[] = {0, -0.0, 1e-300, NAN, INFINITY, -3};
    bool z[6];
    dcsr_i_cast(DCSR_BOOL, z, DCSR_FP64, x, 6);
    cr_assert(!z[0] && !z[1] && z[2] && z[3] && z[4] && z[5]);
    float narrow[6];
    dcsr_i_cast(DCSR_FP32, narrow, DCSR_FP64, x, 6);
    cr_assert(narrow[2] == 0 && isnan(narrow[3]) && narrow[4] == INFINITY && narrow[5] == -3);
}

Test(casts, patterns_count_as_one)
{
    for (dcsr_type type = DCSR_BOOL; type < DCSR_TYPE_COUNT; type++) {
        dcsr_i_scalar one = value_of(type, UNIT), z[2] = {{0}, {0}};
        dcsr_i_cast(type, z, DCSR_PATTERN, NULL, 1);
        cr_assert(equal(type, z, &one));
        dcsr_i_cast(DCSR_PATTERN, NULL, type, z, 1);
        char values[16 * 8];
        dcsr_i_broadcast(type, values, &one, 16);
        for (size_t k = 0; k < 16; k++)
            cr_assert(!memcmp(values + k * dcsr_type_size(type), &one, dcsr_type_size(type)));
        /* Truth is 0 or 1 in every type. */
        bool truth = true;
        dcsr_i_cast(type, &z[1], DCSR_BOOL, &truth, 1);
        cr_assert(equal(type, &z[1], &one));
    }
}
