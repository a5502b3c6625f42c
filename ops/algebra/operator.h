/* operator.h: what operators are made of, and how operations use them (internal).
 *
 * Operations work on arrays: values are gathered into blocks, and an operator is applied to a block with one
 * call. So what is not an inner loop of its own (products, see semiring kernels) needs no code per operator
 * or per type. */
#ifndef DCSR_OPERATOR_H
#define DCSR_OPERATOR_H

#include "dcsr/base/error.h"
#include <dcsr/operators.h>

/* A value of any type; its bytes from the first on, the rest zero. */
typedef union dcsr_i_scalar {
    uint64_t word;
#define DCSR_X(NAME, name, ctype, minimum, maximum) ctype as_##name;
#include <dcsr/types.def>
#undef DCSR_X
} dcsr_i_scalar;

/* z[k] = f(x[k]) and so on for k < n. z may be x or y where the types are of one size. */
typedef void dcsr_i_unary_loop(void *z, const void *x, size_t n);
typedef void dcsr_i_binary_loop(void *z, const void *x, const void *y, size_t n);
/* Entry k is at row i[k] or, where i is NULL, at i0; likewise its column. */
typedef struct dcsr_i_positions {
    const uint32_t *i, *j;
    uint64_t i0, j0;
} dcsr_i_positions;
typedef void dcsr_i_index_loop(void *z, const void *x, const dcsr_i_positions *at, const void *thunk,
                               size_t n);

enum { DCSR_I_USERS = -1 }; /* the name of what is not built in */
enum { DCSR_I_OPERATOR_NAME = 32 };

struct dcsr_unary_op {
    int name; /* dcsr_unary_name or DCSR_I_USERS */
    dcsr_type ztype, xtype;
    dcsr_i_unary_loop *loop;      /* of what is built in */
    dcsr_unary_function function; /* of a user's */
    void *user;
    char text[DCSR_I_OPERATOR_NAME];
};

struct dcsr_binary_op {
    int name; /* dcsr_binary_name or DCSR_I_USERS */
    dcsr_type ztype, xtype, ytype;
    dcsr_i_binary_loop *loop;
    dcsr_binary_function function;
    void *user;
    char text[DCSR_I_OPERATOR_NAME];
};

struct dcsr_index_op {
    int name; /* dcsr_index_name or DCSR_I_USERS */
    dcsr_type ztype, xtype, thunk;
    dcsr_i_index_loop *loop;
    dcsr_index_function function;
    void *user;
    char text[DCSR_I_OPERATOR_NAME];
};

typedef enum dcsr_i_terminal {
    DCSR_I_NO_TERMINAL,
    DCSR_I_TERMINAL,    /* one value */
    DCSR_I_ANY_TERMINAL /* the first value will do */
} dcsr_i_terminal;

struct dcsr_monoid {
    int name; /* dcsr_binary_name of what is built in, or DCSR_I_USERS */
    const dcsr_binary_op *op;
    dcsr_i_scalar identity, terminal;
    dcsr_i_scalar start; /* what sums of one term or more may begin with (operators.def) */
    dcsr_i_terminal terminal_kind;
};

struct dcsr_semiring {
    int name; /* dcsr_semiring_name, also of one that was created of the same parts; or DCSR_I_USERS */
    const dcsr_monoid *add;
    const dcsr_binary_op *multiply;
};

static inline dcsr_type dcsr_i_monoid_type(const dcsr_monoid *monoid)
{
    return monoid->op->ztype;
}

/* Whether a function of a user's is in it: it then runs on the host, and may fail. */
static inline bool dcsr_i_monoid_is_users(const dcsr_monoid *monoid)
{
    return !monoid->op->loop;
}
static inline bool dcsr_i_semiring_is_users(const dcsr_semiring *semiring)
{
    return !semiring->multiply->loop || !semiring->add->op->loop;
}

/* Whether the operator looks at its operands. */
static inline bool dcsr_i_reads_x(const dcsr_binary_op *op)
{
    return op->name != DCSR_BINARY_SECOND && op->name != DCSR_BINARY_PAIR;
}
static inline bool dcsr_i_reads_y(const dcsr_binary_op *op)
{
    return op->name != DCSR_BINARY_FIRST && op->name != DCSR_BINARY_PAIR && op->name != DCSR_BINARY_ANY;
}

/* Apply the operator to blocks of its own types. False when a user's function said so: the caller stops, and
 * the operation ends with dcsr_i_fail_callback(). */
bool dcsr_i_apply_unary(const dcsr_unary_op *op, void *z, const void *x, size_t n);
bool dcsr_i_apply_binary(const dcsr_binary_op *op, void *z, const void *x, const void *y, size_t n);
bool dcsr_i_apply_index(const dcsr_index_op *op, void *z, const void *x, const dcsr_i_positions *at,
                        const void *thunk, size_t n);
/* Fails with DCSR_ERROR_CALLBACK, naming the operation and the operator. */
dcsr_status dcsr_i_fail_callback(const char *call, const char *text);

/* Whether values of one type can be cast to another: all can, save that nothing can be cast to DCSR_PATTERN
 * but a pattern. z[k] = x[k] for k < n; of DCSR_PATTERN, x is not looked at and z[k] = 1. z may be x where
 * the types have one size. */
void dcsr_i_cast(dcsr_type ztype, void *z, dcsr_type xtype, const void *x, size_t n);
/* z[k] = *x for k < n, of one type. */
void dcsr_i_broadcast(dcsr_type type, void *z, const void *x, size_t n);

/* ---- Semirings that serve instead of others, in products ---- */

/* Both return the built-in semiring that serves instead of a built-in one; NULL where there is none, and for
 * a user's. */

/* That with the operands of multiply in the other order. */
const dcsr_semiring *dcsr_i_semiring_flipped(const dcsr_semiring *semiring);
/* That for a matrix, the first operand of multiply, whose values are all 1: it looks at the matrix's values
 * as little as it can, and is the semiring itself where that is best. */
const dcsr_semiring *dcsr_i_semiring_of_ones(const dcsr_semiring *semiring);

#endif
