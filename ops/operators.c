/* operators.c: the built-in operators, monoids and semirings, made from operators.def, and finding them. */
#include "ops/operator.h"
#include <math.h>
#include <string.h>

/* ---- What the rows are made of ---- */

#define OP_BOOL     0
#define OP_INTEGER  1
#define OP_FLOATING 2
/* What operators.def says of a terminal value. */
#define OP_NONE  DCSR_I_NO_TERMINAL
#define OP_VALUE DCSR_I_TERMINAL
#define OP_ANY   DCSR_I_ANY_TERMINAL

#define DCSR_DIVIDE(a, b)  OP(divide)(a, b)
#define DCSR_LESSER(a, b)  (a < b || b != b ? a : b)
#define DCSR_GREATER(a, b) (a > b || b != b ? a : b)

#define T        bool
#define U        bool
#define OP_TYPE  DCSR_BOOL
#define OP(name) name##_bool
#define OP_CLASS OP_BOOL
#define LEAST    false
#define MOST     true
#include "ops/operators.inc"

#define T        int8_t
#define U        uint32_t
#define OP_TYPE  DCSR_INT8
#define OP(name) name##_int8
#define OP_CLASS OP_INTEGER
#define LEAST    INT8_MIN
#define MOST     INT8_MAX
#include "ops/operators.inc"

#define T        int16_t
#define U        uint32_t
#define OP_TYPE  DCSR_INT16
#define OP(name) name##_int16
#define OP_CLASS OP_INTEGER
#define LEAST    INT16_MIN
#define MOST     INT16_MAX
#include "ops/operators.inc"

#define T        int32_t
#define U        uint32_t
#define OP_TYPE  DCSR_INT32
#define OP(name) name##_int32
#define OP_CLASS OP_INTEGER
#define LEAST    INT32_MIN
#define MOST     INT32_MAX
#include "ops/operators.inc"

#define T        int64_t
#define U        uint64_t
#define OP_TYPE  DCSR_INT64
#define OP(name) name##_int64
#define OP_CLASS OP_INTEGER
#define LEAST    INT64_MIN
#define MOST     INT64_MAX
#include "ops/operators.inc"

#define T        uint8_t
#define U        uint32_t
#define OP_TYPE  DCSR_UINT8
#define OP(name) name##_uint8
#define OP_CLASS OP_INTEGER
#define LEAST    0
#define MOST     UINT8_MAX
#include "ops/operators.inc"

#define T        uint16_t
#define U        uint32_t
#define OP_TYPE  DCSR_UINT16
#define OP(name) name##_uint16
#define OP_CLASS OP_INTEGER
#define LEAST    0
#define MOST     UINT16_MAX
#include "ops/operators.inc"

#define T        uint32_t
#define U        uint32_t
#define OP_TYPE  DCSR_UINT32
#define OP(name) name##_uint32
#define OP_CLASS OP_INTEGER
#define LEAST    0
#define MOST     UINT32_MAX
#include "ops/operators.inc"

#define T        uint64_t
#define U        uint64_t
#define OP_TYPE  DCSR_UINT64
#define OP(name) name##_uint64
#define OP_CLASS OP_INTEGER
#define LEAST    0
#define MOST     UINT64_MAX
#include "ops/operators.inc"

#define T                   float
#define U                   float
#define OP_TYPE             DCSR_FP32
#define OP(name)            name##_fp32
#define OP_CLASS            OP_FLOATING
#define LEAST               -INFINITY
#define MOST                INFINITY
#define DCSR_MATH(function) function##f
#include "ops/operators.inc"

#define T                   double
#define U                   double
#define OP_TYPE             DCSR_FP64
#define OP(name)            name##_fp64
#define OP_CLASS            OP_FLOATING
#define LEAST               -INFINITY
#define MOST                INFINITY
#define DCSR_MATH(function) function
#include "ops/operators.inc"

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
#include "ops/operators.def"
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
