/* peer_values.c: types, values and operators of both libraries. */
#include "tests/peers/differential.h"

#include <math.h>
#include <string.h>

/* splitmix64, after Steele, Lea, Flood: Fast splittable pseudorandom number generators (2014). */
uint64_t draw_bits(draw *d)
{
    uint64_t z = d->state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

uint64_t draw_below(draw *d, uint64_t n)
{
    return draw_bits(d) % n;
}

#define INTEGERS(X)   \
    X(INT8, int8_t)   \
    X(INT16, int16_t) \
    X(INT32, int32_t) \
    X(INT64, int64_t) X(UINT8, uint8_t) X(UINT16, uint16_t) X(UINT32, uint32_t) X(UINT64, uint64_t)
#define TYPES(X) X(BOOL, bool) INTEGERS(X) X(FP32, float) X(FP64, double)

/* ---- Values ---- */

static scalar from_double(dcsr_type type, double number)
{
    scalar value = {0};
    switch (type) {
#define X(NAME, ctype)                        \
    case DCSR_##NAME: {                       \
        ctype typed = (ctype)number;          \
        memcpy(&value, &typed, sizeof typed); \
        break;                                \
    }
        TYPES(X)
#undef X
    default:
        break;
    }
    return value;
}

static double to_double(dcsr_type type, scalar value)
{
    switch (type) {
#define X(NAME, ctype)                        \
    case DCSR_##NAME: {                       \
        ctype typed;                          \
        memcpy(&typed, &value, sizeof typed); \
        return (double)typed;                 \
    }
        TYPES(X)
#undef X
    default:
        return 1;
    }
}

static bool is_floating(dcsr_type type)
{
    return type == DCSR_FP32 || type == DCSR_FP64;
}

static bool is_signed(dcsr_type type)
{
    return (type >= DCSR_INT8 && type <= DCSR_INT64) || is_floating(type);
}

static scalar draw_wild(draw *d, dcsr_type type)
{
    static const double odd[] = {NAN,  INFINITY, -INFINITY, 1e300,  -1e-30, 3e9,
                                 -3e9, 1e19,     127.5,     -128.5, 0.1};
    if (is_floating(type)) return from_double(type, odd[draw_below(d, sizeof odd / sizeof *odd)]);
    scalar value = {.bits = draw_bits(d)};
    if (draw_once_in(d, 2))
        value.bits = draw_once_in(d, 2) ? UINT64_MAX : (uint64_t)1 << (8 * dcsr_type_size(type) - 1);
    scalar narrow = {0};
    memcpy(&narrow, &value, dcsr_type_size(type));
    return narrow;
}

scalar draw_value(draw *d, dcsr_type type)
{
    if (type == DCSR_PATTERN) return (scalar){0};
    if (type == DCSR_BOOL) return from_double(type, (double)draw_below(d, 2));
    if (d->wild && draw_once_in(d, 3)) return draw_wild(d, type);
    double number = draw_once_in(d, 5) ? 0 : (double)draw_below(d, 7);
    if (is_floating(type) && draw_once_in(d, 3)) number += 0.25;
    if (is_signed(type) && number != 0 && draw_once_in(d, 2)) number = -number;
    return from_double(type, number);
}

bool value_may_stay(const draw *d, dcsr_type type, scalar value)
{
    const double number = to_double(type, value);
    if (number == 0 && signbit(number)) return false;
    return d->wild || (fabs(number) <= 24 && number * 4 == floor(number * 4));
}

bool value_equal(dcsr_type type, scalar a, scalar b, bool rounded)
{
    if (!is_floating(type)) return type == DCSR_PATTERN || !memcmp(&a, &b, dcsr_type_size(type));
    const double x = to_double(type, a), y = to_double(type, b), least = type == DCSR_FP32 ? 1e-5 : 1e-13;
    return x == y || (x != x && y != y) || (rounded && fabs(x - y) <= least * fmax(fabs(x), fabs(y)));
}

void value_print(char text[32], dcsr_type type, scalar value)
{
    if (type == DCSR_INT64 || type == DCSR_UINT64)
        snprintf(text, 32, "%#llx", (unsigned long long)value.bits);
    else
        snprintf(text, 32, "%.17g", to_double(type, value));
}

GrB_Scalar their_scalar(dcsr_type type, scalar value)
{
    GrB_Scalar made;
    THEIRS(GrB_Scalar_new(&made, their_type(type)));
    if (type == DCSR_PATTERN) THEIRS(GrB_Scalar_setElement_BOOL(made, true));
    switch (type) {
#define X(NAME, ctype)                                     \
    case DCSR_##NAME: {                                    \
        ctype typed;                                       \
        memcpy(&typed, &value, sizeof typed);              \
        THEIRS(GrB_Scalar_setElement_##NAME(made, typed)); \
        break;                                             \
    }
        TYPES(X)
#undef X
    default:
        break;
    }
    return made;
}

/* ---- Theirs by name. Each row has their operator for every type of dcsr, in its order; DCSR_PATTERN has
 * none ---- */

#define INTEGER_OPS(P) \
    P##_INT8, P##_INT16, P##_INT32, P##_INT64, P##_UINT8, P##_UINT16, P##_UINT32, P##_UINT64
#define NO_INTEGERS NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
#define ALL(P)                                             \
    {                                                      \
        NULL, P##_BOOL, INTEGER_OPS(P), P##_FP32, P##_FP64 \
    }
#define BOOL_ONLY(op)                     \
    {                                     \
        NULL, op, NO_INTEGERS, NULL, NULL \
    }
#define INTEGER(P)                             \
    {                                          \
        NULL, NULL, INTEGER_OPS(P), NULL, NULL \
    }
#define FLOATING(P)                                 \
    {                                               \
        NULL, NULL, NO_INTEGERS, P##_FP32, P##_FP64 \
    }
#define ONE_FOR_ALL(o)                        \
    {                                         \
        NULL, o, o, o, o, o, o, o, o, o, o, o \
    }
#define MONOIDS(P, b)                                                                                     \
    {                                                                                                     \
        NULL, b, P##_MONOID_INT8, P##_MONOID_INT16, P##_MONOID_INT32, P##_MONOID_INT64, P##_MONOID_UINT8, \
            P##_MONOID_UINT16, P##_MONOID_UINT32, P##_MONOID_UINT64, P##_MONOID_FP32, P##_MONOID_FP64     \
    }

GrB_Type their_type(dcsr_type type)
{
    const GrB_Type table[DCSR_TYPE_COUNT] = {GrB_BOOL,   GrB_BOOL,   GrB_INT8,  GrB_INT16,
                                             GrB_INT32,  GrB_INT64,  GrB_UINT8, GrB_UINT16,
                                             GrB_UINT32, GrB_UINT64, GrB_FP32,  GrB_FP64};
    return table[type];
}

#define ROWS_OF(TYPE)             \
    const struct {                \
        const char *name;         \
        TYPE of[DCSR_TYPE_COUNT]; \
    } rows[]
#define FIND(name, type)                                          \
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)       \
        if (!strcmp(rows[k].name, name)) return rows[k].of[type]; \
    return NULL

GrB_UnaryOp their_unary(const char *name, dcsr_type type)
{
    ROWS_OF(GrB_UnaryOp) = {
        {"identity", ALL(GrB_IDENTITY)},
        {"one", ALL(GxB_ONE)},
        {"negate", ALL(GrB_AINV)},
        {"invert", ALL(GrB_MINV)},
        {"abs", ALL(GrB_ABS)},
        {"not", ALL(GxB_LNOT)},
        {"bit_not", INTEGER(GrB_BNOT)},
        {"sqrt", FLOATING(GxB_SQRT)},
        {"exp", FLOATING(GxB_EXP)},
        {"log", FLOATING(GxB_LOG)},
        {"floor", FLOATING(GxB_FLOOR)},
        {"ceil", FLOATING(GxB_CEIL)},
        {"round", FLOATING(GxB_ROUND)},
        {"is_nan", FLOATING(GxB_ISNAN)},
        {"is_finite", FLOATING(GxB_ISFINITE)},
    };
    FIND(name, type);
}

GrB_BinaryOp their_binary(const char *name, dcsr_type type)
{
    ROWS_OF(GrB_BinaryOp) = {
        {"first", ALL(GrB_FIRST)},
        {"second", ALL(GrB_SECOND)},
        {"pair", ALL(GrB_ONEB)},
        {"plus", ALL(GrB_PLUS)},
        {"minus", ALL(GrB_MINUS)},
        {"rminus", ALL(GxB_RMINUS)},
        {"times", ALL(GrB_TIMES)},
        {"div", ALL(GrB_DIV)},
        {"rdiv", ALL(GxB_RDIV)},
        {"min", ALL(GrB_MIN)},
        {"max", ALL(GrB_MAX)},
        {"eq", ALL(GrB_EQ)},
        {"ne", ALL(GrB_NE)},
        {"lt", ALL(GrB_LT)},
        {"le", ALL(GrB_LE)},
        {"gt", ALL(GrB_GT)},
        {"ge", ALL(GrB_GE)},
        {"lor", BOOL_ONLY(GrB_LOR)},
        {"land", BOOL_ONLY(GrB_LAND)},
        {"lxor", BOOL_ONLY(GrB_LXOR)},
        {"lxnor", BOOL_ONLY(GrB_LXNOR)},
        {"bit_or", INTEGER(GrB_BOR)},
        {"bit_and", INTEGER(GrB_BAND)},
        {"bit_xor", INTEGER(GrB_BXOR)},
        {"pow", FLOATING(GxB_POW)},
        {"hypot", FLOATING(GxB_HYPOT)},
    };
    FIND(name, type);
}

GrB_IndexUnaryOp their_index(const char *name, dcsr_type type)
{
    ROWS_OF(GrB_IndexUnaryOp) = {
        {"row_index", ONE_FOR_ALL(GrB_ROWINDEX_INT64)},
        {"col_index", ONE_FOR_ALL(GrB_COLINDEX_INT64)},
        {"diag_index", ONE_FOR_ALL(GrB_DIAGINDEX_INT64)},
        {"tril", ONE_FOR_ALL(GrB_TRIL)},
        {"triu", ONE_FOR_ALL(GrB_TRIU)},
        {"diag", ONE_FOR_ALL(GrB_DIAG)},
        {"off_diag", ONE_FOR_ALL(GrB_OFFDIAG)},
        {"row_le", ONE_FOR_ALL(GrB_ROWLE)},
        {"row_gt", ONE_FOR_ALL(GrB_ROWGT)},
        {"col_le", ONE_FOR_ALL(GrB_COLLE)},
        {"col_gt", ONE_FOR_ALL(GrB_COLGT)},
        {"value_eq", ALL(GrB_VALUEEQ)},
        {"value_ne", ALL(GrB_VALUENE)},
        {"value_lt", ALL(GrB_VALUELT)},
        {"value_le", ALL(GrB_VALUELE)},
        {"value_gt", ALL(GrB_VALUEGT)},
        {"value_ge", ALL(GrB_VALUEGE)},
    };
    FIND(name, type);
}

GrB_Monoid their_monoid(const char *name, dcsr_type type)
{
    ROWS_OF(GrB_Monoid) = {
        {"plus", MONOIDS(GrB_PLUS, GrB_LOR_MONOID_BOOL)}, {"times", MONOIDS(GrB_TIMES, GrB_LAND_MONOID_BOOL)},
        {"min", MONOIDS(GrB_MIN, GrB_LAND_MONOID_BOOL)},  {"max", MONOIDS(GrB_MAX, GrB_LOR_MONOID_BOOL)},
        {"lor", BOOL_ONLY(GrB_LOR_MONOID_BOOL)},          {"land", BOOL_ONLY(GrB_LAND_MONOID_BOOL)},
        {"lxor", BOOL_ONLY(GrB_LXOR_MONOID_BOOL)},        {"lxnor", BOOL_ONLY(GrB_LXNOR_MONOID_BOOL)},
    };
    FIND(name, type);
}

GrB_BinaryOp their_policy(dcsr_policy policy, dcsr_type type)
{
    static const char *const names[DCSR_POLICY_COUNT] = {[DCSR_POLICY_SUM] = "plus",
                                                         [DCSR_POLICY_MIN] = "min",
                                                         [DCSR_POLICY_MAX] = "max",
                                                         [DCSR_POLICY_LAST] = "second",
                                                         [DCSR_POLICY_ANY] = "first"};
    return their_binary(names[policy], type == DCSR_PATTERN ? DCSR_BOOL : type);
}

/* ---- Drawing operators ---- */

static const char *const unaries[] = {"identity", "one",     "negate", "invert", "abs",
                                      "not",      "bit_not", "sqrt",   "exp",    "log",
                                      "floor",    "ceil",    "round",  "is_nan", "is_finite"};
static const char *const binaries[] = {"first",  "second",  "pair",    "plus", "minus", "rminus", "times",
                                       "div",    "rdiv",    "min",     "max",  "eq",    "ne",     "lt",
                                       "le",     "gt",      "ge",      "lor",  "land",  "lxor",   "lxnor",
                                       "bit_or", "bit_and", "bit_xor", "pow",  "hypot"};
static const char *const indices[] = {"row_index", "col_index", "diag_index", "tril",     "triu",
                                      "diag",      "off_diag",  "row_le",     "row_gt",   "col_le",
                                      "col_gt",    "value_eq",  "value_ne",   "value_lt", "value_le",
                                      "value_gt",  "value_ge"};
static const char *const monoids[] = {"plus", "times", "min", "max", "lor", "land", "lxor", "lxnor"};
#define ONE_OF(d, names) (names)[draw_below(d, sizeof(names) / sizeof *(names))]

operator_pair draw_unary(draw *d, dcsr_type type)
{
    operator_pair op = {.type = type};
    do {
        op.name = ONE_OF(d, unaries);
        op.their_unary = their_unary(op.name, type);
    } while (!op.their_unary);
    op.unary = dcsr_unary_op_named(op.name, type);
    op.rounds = !strcmp(op.name, "exp") || !strcmp(op.name, "log");
    return op;
}

operator_pair draw_binary(draw *d, dcsr_type type)
{
    operator_pair op = {.type = type};
    do {
        op.name = ONE_OF(d, binaries);
        op.their_binary = their_binary(op.name, type);
    } while (!op.their_binary || (d->wild && !strcmp(op.name, "pow")));
    op.binary = dcsr_binary_op_named(op.name, type);
    op.rounds = !strcmp(op.name, "pow") || !strcmp(op.name, "hypot");
    return op;
}

operator_pair draw_index(draw *d, dcsr_type type, bool selects)
{
    operator_pair op = {.type = type};
    const size_t values = 3; /* the first ones give an index, not a truth */
    do {
        const size_t k = selects ? values + draw_below(d, sizeof indices / sizeof *indices - values)
                                 : draw_below(d, sizeof indices / sizeof *indices);
        op.name = indices[k];
        op.their_index = their_index(op.name, type);
    } while (!op.their_index);
    op.int64_thunk = strncmp(op.name, "value", 5) != 0;
    op.index = dcsr_index_op_named(op.name, type);
    return op;
}

/* No product of many floating-point numbers, whose rounding depends on the order; and in wild sessions no
 * sums of such. */
static bool monoid_is_fit(const draw *d, const char *name, dcsr_type type)
{
    return !is_floating(type) || (!d->wild && strcmp(name, "times") != 0);
}

operator_pair draw_monoid(draw *d, dcsr_type type)
{
    if (d->wild && is_floating(type)) type = DCSR_INT32;
    operator_pair op = {.type = type};
    do {
        op.name = ONE_OF(d, monoids);
        op.their_monoid = their_monoid(op.name, type);
    } while (!op.their_monoid || !monoid_is_fit(d, op.name, type));
    op.monoid = dcsr_monoid_named(op.name, type);
    return op;
}

/* Any monoid with any operator of its type whose result is exact: some are built in as semirings, the others
 * are not. */
operator_pair draw_semiring(draw *d, dcsr_type type)
{
    operator_pair op = draw_monoid(d, type), multiply;
    do {
        multiply = draw_binary(d, op.type);
    } while (multiply.rounds || strstr(multiply.name, "div") ||
             (op.type != DCSR_BOOL && strlen(multiply.name) == 2));
    THEIRS(GrB_Semiring_new(&op.their_semiring, op.their_monoid, multiply.their_binary));
    static _Thread_local char name[40];
    snprintf(name, sizeof name, "%s_%s", op.name, multiply.name);
    op.semiring = dcsr_semiring_named(name, op.type);
    if (!op.semiring || draw_once_in(d, 4)) {
        OURS(dcsr_semiring_create(&op.made, op.monoid, multiply.binary));
        op.semiring = op.made;
    }
    op.name = name;
    return op;
}

void operator_free(operator_pair *op)
{
    dcsr_semiring_destroy(op->made);
    if (op->their_semiring) THEIRS(GrB_Semiring_free(&op->their_semiring));
}
