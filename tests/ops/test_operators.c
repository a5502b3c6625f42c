/* test_operators.c: every built-in operator, monoid and semiring on every type against what is written out
 * here, and operators that a user makes. */
#include "dcsr/base/alloc.h"
#include "ops/algebra/operator.h"
#include "tests/support/support.h"
#include <math.h>

/* ---- Numbers of any type ---- */

/* Wide enough for the results of all operators on 64 bits. */
__extension__ typedef __int128 wide;

static const struct range {
    dcsr_type type;
    int bits;
    bool is_signed;
} integers[] = {{DCSR_INT8, 8, true},     {DCSR_INT16, 16, true},  {DCSR_INT32, 32, true},
                {DCSR_INT64, 64, true},   {DCSR_UINT8, 8, false},  {DCSR_UINT16, 16, false},
                {DCSR_UINT32, 32, false}, {DCSR_UINT64, 64, false}};
enum { INTEGERS = sizeof integers / sizeof integers[0] };

static wide least(const struct range *r)
{
    return r->is_signed ? -((wide)1 << (r->bits - 1)) : 0;
}
static wide most(const struct range *r)
{
    return ((wide)1 << (r->bits - r->is_signed)) - 1;
}
/* What is left of a number in the type's bits. */
static wide wrap(const struct range *r, wide x)
{
    wide modulus = (wide)1 << r->bits, rest = x % modulus;
    if (rest < 0) rest += modulus;
    return rest > most(r) ? rest - modulus : rest;
}
static dcsr_i_scalar encode(const struct range *r, wide x)
{
    dcsr_i_scalar s = {.word = (uint64_t)x};
    if (r->bits < 64) s.word &= ((uint64_t)1 << r->bits) - 1;
    return s;
}
static wide decode(const struct range *r, const dcsr_i_scalar *s)
{
    return wrap(r, s->word);
}
/* Values to try: the ends of the range, the neighbourhood of 0, and some between. */
enum { SAMPLES = 10 };
static void samples_of(const struct range *r, wide sample[SAMPLES])
{
    wide all[SAMPLES] = {least(r), least(r) + 1, wrap(r, -1), 0, 1, 2, 7, most(r) / 2, most(r) - 1, most(r)};
    memcpy(sample, all, sizeof all);
}

static const double floats[] = {-INFINITY, -1e30, -2.5, -1, -0.0, 0, 0.5, 1, 3, 1e30, INFINITY, NAN};
enum { FLOATS = sizeof floats / sizeof floats[0] };

/* A number of either floating-point type as a double and back. */
static dcsr_i_scalar encode_float(dcsr_type type, double x)
{
    dcsr_i_scalar s = {0};
    if (type == DCSR_FP32)
        s.as_fp32 = (float)x;
    else
        s.as_fp64 = x;
    return s;
}
static double decode_float(dcsr_type type, const dcsr_i_scalar *s)
{
    return type == DCSR_FP32 ? (double)s->as_fp32 : s->as_fp64;
}
static bool same(double a, double b)
{
    return (a == b && signbit(a) == signbit(b)) || (a != a && b != b);
}

/* ---- What the operators are; true where there is one of that name ---- */

/* A truth table, for (x, y) = 00 01 10 11. */
static const char *const bool_binary[DCSR_BINARY_NAMES] = {
    [DCSR_BINARY_FIRST] = "0011",  [DCSR_BINARY_SECOND] = "0101", [DCSR_BINARY_PAIR] = "1111",
    [DCSR_BINARY_ANY] = "0011",    [DCSR_BINARY_PLUS] = "0111",   [DCSR_BINARY_MINUS] = "0110",
    [DCSR_BINARY_RMINUS] = "0110", [DCSR_BINARY_TIMES] = "0001",  [DCSR_BINARY_DIV] = "0011",
    [DCSR_BINARY_RDIV] = "0101",   [DCSR_BINARY_MIN] = "0001",    [DCSR_BINARY_MAX] = "0111",
    [DCSR_BINARY_EQ] = "1001",     [DCSR_BINARY_NE] = "0110",     [DCSR_BINARY_LT] = "0100",
    [DCSR_BINARY_LE] = "1101",     [DCSR_BINARY_GT] = "0010",     [DCSR_BINARY_GE] = "1011",
    [DCSR_BINARY_LOR] = "0111",    [DCSR_BINARY_LAND] = "0001",   [DCSR_BINARY_LXOR] = "0110",
    [DCSR_BINARY_LXNOR] = "1001"};
static const char *const bool_unary[DCSR_UNARY_NAMES] = {
    [DCSR_UNARY_IDENTITY] = "01",  [DCSR_UNARY_ONE] = "11", [DCSR_UNARY_NEGATE] = "01",
    [DCSR_UNARY_INVERT] = "11",    [DCSR_UNARY_ABS] = "01", [DCSR_UNARY_NOT] = "10",
    [DCSR_UNARY_IS_NONZERO] = "01"};

static wide quotient(const struct range *r, wide x, wide y)
{
    return y ? x / y : x > 0 ? most(r) : x < 0 ? least(r) : 0;
}

/* Whether the result is a truth value. */
static bool compares(dcsr_binary_name name)
{
    return name >= DCSR_BINARY_EQ && name <= DCSR_BINARY_GE;
}

static bool integer_binary(dcsr_binary_name name, const struct range *r, wide x, wide y, wide *z)
{
#define IS(NAME, expression) \
    if (name == DCSR_BINARY_##NAME) return *z = (expression), true
    IS(FIRST, x);
    IS(ANY, x);
    IS(SECOND, y);
    IS(PAIR, 1);
    IS(PLUS, x + y);
    IS(MINUS, x - y);
    IS(RMINUS, y - x);
    IS(TIMES, (uint64_t)x * (uint64_t)y);
    IS(DIV, quotient(r, x, y));
    IS(RDIV, quotient(r, y, x));
    IS(MIN, y < x ? y : x);
    IS(MAX, y > x ? y : x);
    IS(EQ, x == y);
    IS(NE, x != y);
    IS(LT, x < y);
    IS(LE, x <= y);
    IS(GT, x > y);
    IS(GE, x >= y);
    IS(BIT_OR, x | y);
    IS(BIT_AND, x & y);
    IS(BIT_XOR, x ^ y);
#undef IS
    return false;
}

static bool integer_unary(dcsr_unary_name name, const struct range *r, wide x, wide *z)
{
#define IS(NAME, expression) \
    if (name == DCSR_UNARY_##NAME) return *z = (expression), true
    IS(IDENTITY, x);
    IS(ONE, 1);
    IS(NEGATE, -x);
    IS(INVERT, quotient(r, 1, x));
    IS(ABS, x < 0 ? -x : x);
    IS(NOT, !x);
    IS(IS_NONZERO, !!x);
    IS(BIT_NOT, ~x);
#undef IS
    return false;
}

/* Each result is rounded once, by the operation itself: a double's is the float's where it is rounded again,
 * but for the functions of math.h. */
static bool float_binary(dcsr_binary_name name, bool narrow, double x, double y, double *z)
{
#define IS(NAME, expression) \
    if (name == DCSR_BINARY_##NAME) return *z = (expression), true
    IS(FIRST, x);
    IS(ANY, x);
    IS(SECOND, y);
    IS(PAIR, 1);
    IS(PLUS, x + y);
    IS(MINUS, x - y);
    IS(RMINUS, y - x);
    IS(TIMES, x * y);
    IS(DIV, x / y);
    IS(RDIV, y / x);
    IS(MIN, x != x ? y : y != y || x < y ? x : y);
    IS(MAX, x != x ? y : y != y || x > y ? x : y);
    IS(EQ, x == y);
    IS(NE, x != y);
    IS(LT, x < y);
    IS(LE, x <= y);
    IS(GT, x > y);
    IS(GE, x >= y);
    IS(POW, narrow ? (double)powf((float)x, (float)y) : pow(x, y));
    IS(HYPOT, narrow ? (double)hypotf((float)x, (float)y) : hypot(x, y));
#undef IS
    return false;
}

static bool float_unary(dcsr_unary_name name, bool narrow, double x, double *z)
{
#define IS(NAME, expression) \
    if (name == DCSR_UNARY_##NAME) return *z = (expression), true
    IS(IDENTITY, x);
    IS(ONE, 1);
    IS(NEGATE, -x);
    IS(INVERT, 1 / x);
    IS(ABS, fabs(x));
    IS(NOT, x == 0);
    IS(IS_NONZERO, x != 0);
    IS(SQRT, sqrt(x));
    IS(EXP, narrow ? (double)expf((float)x) : exp(x));
    IS(LOG, narrow ? (double)logf((float)x) : log(x));
    IS(FLOOR, floor(x));
    IS(CEIL, ceil(x));
    IS(ROUND, round(x));
    IS(IS_NAN, isnan(x));
    IS(IS_FINITE, isfinite(x));
#undef IS
    return false;
}

/* ---- Operators ---- */

static bool has_bool_result(dcsr_unary_name name)
{
    return name == DCSR_UNARY_IS_NONZERO || name == DCSR_UNARY_IS_NAN || name == DCSR_UNARY_IS_FINITE;
}

Test(operators, unary)
{
    for (int i = 0; i < (int)DCSR_UNARY_NAMES; i++) {
        dcsr_unary_name name = (dcsr_unary_name)i;
        const dcsr_unary_op *op = dcsr_unary_op_of(name, DCSR_BOOL);
        cr_assert_eq(!op, !bool_unary[i], "%d on bool", i);
        for (int x = 0; op && x < 2; x++) {
            bool in = x, out;
            cr_assert(dcsr_i_apply_unary(op, &out, &in, 1));
            cr_assert_eq(out, bool_unary[i][x] == '1', "%s(%d)", op->text, x);
        }
        for (int t = 0; t < INTEGERS; t++) {
            const struct range *r = &integers[t];
            wide sample[SAMPLES], expected = 0;
            samples_of(r, sample);
            op = dcsr_unary_op_of(name, r->type);
            cr_assert_eq(!op, !integer_unary(name, r, 1, &expected));
            for (int s = 0; op && s < SAMPLES; s++) {
                dcsr_i_scalar x = encode(r, sample[s]), z = {0};
                integer_unary(name, r, sample[s], &expected);
                cr_assert(dcsr_i_apply_unary(op, &z, &x, 1));
                wide found = op->ztype == DCSR_BOOL ? z.as_bool : decode(r, &z);
                cr_assert(found == wrap(r, expected), "%s on %s, sample %d", op->text,
                          dcsr_type_name(r->type), s);
            }
        }
        for (dcsr_type type = DCSR_FP32; type <= DCSR_FP64; type++) {
            double expected = 0;
            op = dcsr_unary_op_of(name, type);
            cr_assert_eq(!op, !float_unary(name, false, 1, &expected));
            for (int s = 0; op && s < FLOATS; s++) {
                dcsr_i_scalar x = encode_float(type, floats[s]), z = {0};
                float_unary(name, type == DCSR_FP32, decode_float(type, &x), &expected);
                dcsr_i_scalar rounded = encode_float(type, expected);
                cr_assert(dcsr_i_apply_unary(op, &z, &x, 1));
                cr_assert_eq(op->ztype == DCSR_BOOL, has_bool_result(name));
                double found = op->ztype == DCSR_BOOL ? z.as_bool : decode_float(type, &z);
                cr_assert(same(found, decode_float(type, &rounded)), "%s(%g) is %g", op->text, floats[s],
                          found);
            }
        }
    }
}

static void check_integer_binary(dcsr_binary_name name, const struct range *r)
{
    const dcsr_binary_op *op = dcsr_binary_op_of(name, r->type);
    wide sample[SAMPLES], expected = 0;
    samples_of(r, sample);
    cr_assert_eq(!op, !integer_binary(name, r, 1, 1, &expected));
    if (!op) return;
    cr_assert(op->xtype == r->type && op->ytype == r->type &&
              op->ztype == (compares(name) ? DCSR_BOOL : r->type));
    for (int s = 0; s < SAMPLES * SAMPLES; s++) {
        wide a = sample[s / SAMPLES], b = sample[s % SAMPLES];
        dcsr_i_scalar x = encode(r, a), y = encode(r, b), z = {0};
        integer_binary(name, r, a, b, &expected);
        cr_assert(dcsr_i_apply_binary(op, &z, &x, &y, 1));
        wide found = compares(name) ? z.as_bool : decode(r, &z);
        cr_assert(found == wrap(r, expected), "%s(%lld, %lld) on %s is %lld", op->text, (long long)a,
                  (long long)b, dcsr_type_name(r->type), (long long)found);
    }
}

static void check_float_binary(dcsr_binary_name name, dcsr_type type)
{
    const dcsr_binary_op *op = dcsr_binary_op_of(name, type);
    double expected = 0;
    cr_assert_eq(!op, !float_binary(name, false, 1, 1, &expected));
    for (int s = 0; op && s < FLOATS * FLOATS; s++) {
        dcsr_i_scalar x = encode_float(type, floats[s / FLOATS]), y = encode_float(type, floats[s % FLOATS]),
                      z = {0};
        double a = decode_float(type, &x), b = decode_float(type, &y);
        float_binary(name, type == DCSR_FP32, a, b, &expected);
        dcsr_i_scalar rounded = encode_float(type, expected);
        cr_assert(dcsr_i_apply_binary(op, &z, &x, &y, 1));
        double found = compares(name) ? z.as_bool : decode_float(type, &z);
        cr_assert(same(found, decode_float(type, &rounded)), "%s(%g, %g) on %s is %g", op->text, a, b,
                  dcsr_type_name(type), found);
    }
}

Test(operators, binary)
{
    for (int i = 0; i < (int)DCSR_BINARY_NAMES; i++) {
        const dcsr_binary_op *op = dcsr_binary_op_of((dcsr_binary_name)i, DCSR_BOOL);
        cr_assert_eq(!op, !bool_binary[i], "%d on bool", i);
        for (int k = 0; op && k < 4; k++) {
            bool x = k >> 1, y = k & 1, z;
            cr_assert(dcsr_i_apply_binary(op, &z, &x, &y, 1));
            cr_assert_eq(z, bool_binary[i][k] == '1', "%s(%d, %d)", op->text, x, y);
        }
        for (int t = 0; t < INTEGERS; t++) check_integer_binary((dcsr_binary_name)i, &integers[t]);
        check_float_binary((dcsr_binary_name)i, DCSR_FP32);
        check_float_binary((dcsr_binary_name)i, DCSR_FP64);
    }
}

/* At rows and columns on all sides of the diagonal, with thunks and values below, at and above what they are
 * compared with. */
static void check_index(dcsr_index_name name, dcsr_type type, int64_t i, int64_t j, int64_t t, double x)
{
    const dcsr_index_op *op = dcsr_index_op_of(name, type);
    cr_assert(op && op->xtype == type);
    int64_t expected = 0;
#define IS(NAME, expression) \
    if (name == DCSR_INDEX_##NAME) expected = (expression)
    IS(ROW_INDEX, i + t);
    IS(COL_INDEX, j + t);
    IS(DIAG_INDEX, j - i + t);
    IS(TRIL, j <= i + t);
    IS(TRIU, j >= i + t);
    IS(DIAG, j == i + t);
    IS(OFF_DIAG, j != i + t);
    IS(ROW_LE, i <= t);
    IS(ROW_GT, i > t);
    IS(COL_LE, j <= t);
    IS(COL_GT, j > t);
    IS(VALUE_EQ, x == (double)t);
    IS(VALUE_NE, x != (double)t);
    IS(VALUE_LT, x < (double)t);
    IS(VALUE_LE, x <= (double)t);
    IS(VALUE_GT, x > (double)t);
    IS(VALUE_GE, x >= (double)t);
#undef IS
    bool counts = name <= DCSR_INDEX_DIAG_INDEX, values = name >= DCSR_INDEX_VALUE_EQ;
    cr_assert(op->ztype == (counts ? DCSR_INT64 : DCSR_BOOL) && op->thunk == (values ? type : DCSR_INT64));
    dcsr_i_scalar thunk = {0}, value = {0}, z[2] = {{0}, {0}};
    test_encode(values ? type : DCSR_INT64, (double)t, &thunk);
    test_encode(type, x, &value);
    uint32_t row = (uint32_t)i, col = (uint32_t)j;
    cr_assert(dcsr_i_apply_index(op, &z[0], &value, &(dcsr_i_positions){.i = &row, .j = &col}, &thunk, 1));
    cr_assert(dcsr_i_apply_index(op, &z[1], &value, &(dcsr_i_positions){.i0 = (uint64_t)i, .j0 = (uint64_t)j},
                                 &thunk, 1));
    for (int k = 0; k < 2; k++)
        cr_assert_eq(counts ? z[k].as_int64 : z[k].as_bool, expected, "%s on %s at (%d, %d), t = %d, x = %g",
                     op->text, dcsr_type_name(type), (int)i, (int)j, (int)t, x);
}

Test(operators, index)
{
    for (int name = 0; name < (int)DCSR_INDEX_NAMES; name++)
        for (dcsr_type type = DCSR_BOOL; type < DCSR_TYPE_COUNT; type++)
            for (int k = 0; k < 27; k++) {
                bool values = name >= DCSR_INDEX_VALUE_EQ;
                int64_t t = values ? k / 9 % 2 : k / 9 - 1; /* values of bool are 0 and 1 */
                check_index((dcsr_index_name)name, type, 4 + k % 3, 5 - k / 3 % 3, t, k % 2);
                if (!values) check_index((dcsr_index_name)name, type, 4 + k % 3, 5 - k / 3 % 3, 4 + t, k % 2);
            }
}
