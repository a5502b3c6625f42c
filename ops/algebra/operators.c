/* operators.c: the built-in operators, monoids and semirings, made from operators.def, and finding them. */
#include "ops/algebra/operator.h"
#include <math.h>
#include <string.h>

/* ---- What the rows are made of ---- */

/* What operators.def says of a terminal value. */
#define OP_NONE  DCSR_I_NO_TERMINAL
#define OP_VALUE DCSR_I_TERMINAL
#define OP_ANY   DCSR_I_ANY_TERMINAL

#define EACH_SIGNED
#define EACH_UNSIGNED
#define EACH_OTHER
#define EACH_TYPE_BODY "ops/algebra/operators.inc"
#include "ops/algebra/each_type.inc"

/* ---- Finding them ---- */

#define TABLE(object, kind)                                                                          \
    static const object *const kind##_tables[DCSR_TYPE_COUNT] = {                                    \
        [DCSR_BOOL] = kind##_bool,     [DCSR_INT8] = kind##_int8,     [DCSR_INT16] = kind##_int16,   \
        [DCSR_INT32] = kind##_int32,   [DCSR_INT64] = kind##_int64,   [DCSR_UINT8] = kind##_uint8,   \
        [DCSR_UINT16] = kind##_uint16, [DCSR_UINT32] = kind##_uint32, [DCSR_UINT64] = kind##_uint64, \
        [DCSR_FP32] = kind##_fp32,     [DCSR_FP64] = kind##_fp64};

static const char *const semiring_texts[DCSR_SEMIRING_NAMES] = {
#define DCSR_SEMIRING(NAME, name, ADD, MULTIPLY)      [DCSR_##NAME] = #name,
#define DCSR_SEMIRING_BOOL(NAME, name, ADD, MULTIPLY) [DCSR_##NAME] = #name,
#include <dcsr/operators.def>
};

/* The functions that find a row by name and by text. `present` and `text` are of a row r; a type's table has
 * empty rows where a name means nothing on the type. */
#define FIND(object, kind, key, names, present, text)                                       \
    TABLE(object, kind)                                                                     \
    const object *object##_of(key name, dcsr_type type)                                     \
    {                                                                                       \
        const object *rows = (unsigned)type < DCSR_TYPE_COUNT ? kind##_tables[type] : NULL; \
        if (!rows || (unsigned)name >= (names)) return NULL;                                \
        const object *r = &rows[name];                                                      \
        return (present) ? r : NULL;                                                        \
    }                                                                                       \
    const object *object##_named(const char *name, dcsr_type type)                          \
    {                                                                                       \
        for (int i = 0; name && i < (int)(names); i++) {                                    \
            const object *r = object##_of((key)i, type);                                    \
            if (r && !strcmp(text, name)) return r;                                         \
        }                                                                                   \
        return NULL;                                                                        \
    }
FIND(dcsr_unary_op, unary, dcsr_unary_name, DCSR_UNARY_NAMES, r->loop, r->text)
FIND(dcsr_binary_op, binary, dcsr_binary_name, DCSR_BINARY_NAMES, r->loop, r->text)
FIND(dcsr_index_op, index, dcsr_index_name, DCSR_INDEX_NAMES, r->loop, r->text)
FIND(dcsr_monoid, monoid, dcsr_binary_name, DCSR_BINARY_NAMES, r->op, r->op->text)
FIND(dcsr_semiring, semiring, dcsr_semiring_name, DCSR_SEMIRING_NAMES, r->add, semiring_texts[r->name])

/* ---- Those that serve instead of others ---- */

/* The built-in semiring of a monoid and an operator, both by name. */
static const dcsr_semiring *semiring_with(int add, int multiply, dcsr_type type)
{
    for (int name = 0; name < (int)DCSR_SEMIRING_NAMES; name++) {
        const dcsr_semiring *known = dcsr_semiring_of((dcsr_semiring_name)name, type);
        if (known && known->add->name == add && known->multiply->name == multiply) return known;
    }
    return NULL;
}

/* The operator with its operands in the other order. */
static int flipped_name(int multiply)
{
    switch (multiply) {
    case DCSR_BINARY_FIRST:
        return DCSR_BINARY_SECOND;
    case DCSR_BINARY_SECOND:
        return DCSR_BINARY_FIRST;
    default: /* the others that built-in semirings multiply with commute */
        return multiply;
    }
}

const dcsr_semiring *dcsr_i_semiring_flipped(const dcsr_semiring *semiring)
{
    if (semiring->name < 0) return NULL;
    int multiply = flipped_name(semiring->multiply->name);
    if (multiply == semiring->multiply->name) return semiring;
    return semiring_with(semiring->add->name, multiply, dcsr_i_monoid_type(semiring->add));
}

const dcsr_semiring *dcsr_i_semiring_of_ones(const dcsr_semiring *semiring)
{
    if (semiring->name < 0) return NULL;
    int add = semiring->add->name, multiply = semiring->multiply->name;
    if (multiply == DCSR_BINARY_TIMES || multiply == DCSR_BINARY_LAND) multiply = DCSR_BINARY_SECOND;
    if (multiply == DCSR_BINARY_FIRST) multiply = DCSR_BINARY_PAIR;
    if (add == DCSR_BINARY_LOR) add = DCSR_BINARY_PLUS; /* the same on bool */
    const dcsr_semiring *known = semiring_with(add, multiply, dcsr_i_monoid_type(semiring->add));
    return known ? known : semiring;
}
