/* algebra_operators.c: operators of random problems.
 *
 * A user's operator is a function of the test's around a built-in one, with types of its own: it casts what
 * it gets to the other's types, and back. It counts its calls and can be told to fail at one of them. */
#include "tests/ops/algebra.h"

#include <stdlib.h>
#include <string.h>

typedef struct users_operator {
    problem *problem;
    const dcsr_unary_op *around_unary;
    const dcsr_binary_op *around_binary;
    const dcsr_index_op *around_index;
    dcsr_type ztype, xtype, ytype; /* as the library sees it; ytype also of a thunk */
    dcsr_unary_op *unary;
    dcsr_binary_op *binary;
    dcsr_index_op *index_op;
    dcsr_monoid *monoid;
    dcsr_semiring *semiring;
} users_operator;

static bool may_go_on(problem *p)
{
    if (atomic_load(&p->calls_left) < 0) return true;
    return atomic_fetch_sub(&p->calls_left, 1) > 0;
}

static dcsr_i_scalar taken(dcsr_type to, dcsr_type from, const void *value)
{
    dcsr_i_scalar scalar = {0};
    memcpy(&scalar, value, dcsr_type_size(from));
    return grid_cast(to, from, scalar);
}

static bool give(const users_operator *o, void *z, dcsr_type ztype, dcsr_i_scalar value)
{
    dcsr_i_scalar result = grid_cast(o->ztype, ztype, value);
    memcpy(z, &result, dcsr_type_size(o->ztype));
    return true;
}

static bool call_unary(void *z, const void *x, void *user)
{
    const users_operator *o = user;
    const dcsr_unary_op *op = o->around_unary;
    dcsr_i_scalar inner = taken(op->xtype, o->xtype, x), result = {0};
    return may_go_on(o->problem) && dcsr_i_apply_unary(op, &result, &inner, 1) &&
           give(o, z, op->ztype, result);
}

static bool call_binary(void *z, const void *x, const void *y, void *user)
{
    const users_operator *o = user;
    const dcsr_binary_op *op = o->around_binary;
    dcsr_i_scalar left = taken(op->xtype, o->xtype, x), right = taken(op->ytype, o->ytype, y), result = {0};
    return may_go_on(o->problem) && dcsr_i_apply_binary(op, &result, &left, &right, 1) &&
           give(o, z, op->ztype, result);
}

static bool call_index(void *z, const void *x, uint64_t row, uint64_t col, const void *thunk, void *user)
{
    const users_operator *o = user;
    const dcsr_index_op *op = o->around_index;
    dcsr_i_scalar inner = taken(op->xtype, o->xtype, x), t = taken(op->thunk, o->ytype, thunk), result = {0};
    return may_go_on(o->problem) &&
           dcsr_i_apply_index(op, &result, &inner, &(dcsr_i_positions){.i0 = row, .j0 = col}, &t, 1) &&
           give(o, z, op->ztype, result);
}

static users_operator *make(problem *p)
{
    cr_assert(p->made_count < MOST_OPERATORS);
    users_operator *o = test_allocate(1, sizeof *o);
    o->problem = p;
    return p->made[p->made_count++] = o;
}

static bool wants_users(problem *p)
{
    return draw_once_in(p, 6) || p->users;
}

const dcsr_unary_op *draw_unary(problem *p)
{
    const dcsr_unary_op *op = NULL;
    while (!op) op = dcsr_unary_op_of((dcsr_unary_name)draw_below(p, DCSR_UNARY_NAMES), draw_type(p));
    if (!wants_users(p)) return op;
    users_operator *o = make(p);
    o->around_unary = op;
    o->ztype = draw_type(p), o->xtype = draw_type(p);
    TEST_OK(dcsr_unary_op_create(&o->unary, "test's", o->ztype, o->xtype, call_unary, o));
    return o->unary;
}

static const dcsr_binary_op *around(problem *p, const dcsr_binary_op *op, dcsr_type ztype, dcsr_type xtype,
                                    dcsr_type ytype)
{
    users_operator *o = make(p);
    o->around_binary = op;
    o->ztype = ztype, o->xtype = xtype, o->ytype = ytype;
    TEST_OK(dcsr_binary_op_create(&o->binary, "test's", ztype, xtype, ytype, call_binary, o));
    return o->binary;
}

/* What a GPU's library rounds in another way than the host's. */
static bool differs_on_gpu(const problem *p, dcsr_binary_name name)
{
    return (name == DCSR_BINARY_POW || name == DCSR_BINARY_HYPOT) && !test_on_emulator() &&
           test_on_device(p->context);
}

/* What makes of the two zeros, which are equal, numbers that are not: which of them a sum is depends on the
 * way in which it is taken. */
static bool tells_zeros_apart(dcsr_binary_name name)
{
    return name == DCSR_BINARY_DIV || name == DCSR_BINARY_RDIV || name == DCSR_BINARY_POW;
}

const dcsr_binary_op *draw_binary(problem *p)
{
    const dcsr_binary_op *op = NULL;
    while (!op) {
        dcsr_binary_name name = (dcsr_binary_name)draw_below(p, DCSR_BINARY_NAMES);
        if (!differs_on_gpu(p, name) && !(p->product && tells_zeros_apart(name)))
            op = dcsr_binary_op_of(name, draw_type(p));
    }
    if (!wants_users(p)) return op;
    const dcsr_type ztype = draw_type(p), xtype = draw_type(p);
    return around(p, op, ztype, xtype, draw_type(p));
}

const dcsr_index_op *draw_index_op(problem *p)
{
    const dcsr_index_op *op = NULL;
    while (!op) op = dcsr_index_op_of((dcsr_index_name)draw_below(p, DCSR_INDEX_NAMES), draw_type(p));
    if (wants_users(p)) {
        users_operator *o = make(p);
        o->around_index = op;
        o->ztype = draw_type(p), o->xtype = draw_type(p), o->ytype = draw_type(p);
        TEST_OK(dcsr_index_op_create(&o->index_op, "test's", o->ztype, o->xtype, o->ytype, call_index, o));
        op = o->index_op;
    }
    p->scalar = draw_value(p, op->thunk);
    return op;
}

/* A monoid whose sums are the same in any order: no floating-point products, which are rounded. */
static const dcsr_monoid *draw_plain_monoid(problem *p, dcsr_type type)
{
    const dcsr_monoid *monoid = NULL;
    while (!monoid) {
        const dcsr_binary_name name = (dcsr_binary_name)draw_below(p, DCSR_BINARY_NAMES);
        if (name == DCSR_BINARY_ANY || (name == DCSR_BINARY_TIMES && type >= DCSR_FP32)) continue;
        monoid = dcsr_monoid_of(name, type);
    }
    return monoid;
}

/* The same with a function of the test's. Beside NaN, what gives way to it is an identity of min and max. */
static const dcsr_monoid *users_monoid(problem *p, const dcsr_monoid *monoid)
{
    const dcsr_type type = dcsr_i_monoid_type(monoid);
    const dcsr_binary_op *op = around(p, monoid->op, type, type, type);
    users_operator *o = p->made[p->made_count - 1];
    const bool ends = monoid->terminal_kind == DCSR_I_TERMINAL && draw_once_in(p, 2);
    const dcsr_i_scalar *identity = p->odd ? &monoid->start : &monoid->identity;
    TEST_OK(dcsr_monoid_create(&o->monoid, op, identity, ends ? &monoid->terminal : NULL));
    return o->monoid;
}

const dcsr_monoid *draw_monoid(problem *p)
{
    if (p->constant) return dcsr_monoid_of(DCSR_BINARY_ANY, draw_type(p));
    const dcsr_monoid *monoid = draw_plain_monoid(p, draw_type(p));
    return wants_users(p) ? users_monoid(p, monoid) : monoid;
}

/* A product that is exact in floating point, and no NaN. */
static bool is_exact(dcsr_binary_name name)
{
    return name <= DCSR_BINARY_TIMES || name == DCSR_BINARY_MIN || name == DCSR_BINARY_MAX;
}

/* A semiring that is not built in: a monoid, and any operator with such a result, built in or not. */
static const dcsr_semiring *create_semiring(problem *p)
{
    const dcsr_monoid *add = draw_plain_monoid(p, draw_type(p));
    const dcsr_type type = dcsr_i_monoid_type(add);
    const dcsr_binary_op *multiply = NULL;
    while (!multiply || multiply->ztype != type) {
        const dcsr_binary_name name = (dcsr_binary_name)draw_below(p, DCSR_BINARY_NAMES);
        if (is_exact(name) || type == DCSR_BOOL)
            multiply = dcsr_binary_op_of(
                name, draw_once_in(p, 2) ? type : (dcsr_type)(1 + draw_below(p, DCSR_TYPE_COUNT - 1)));
    }
    const bool users = wants_users(p);
    if (users && (p->users || draw_once_in(p, 2))) {
        const dcsr_type xtype = draw_type(p);
        multiply = around(p, multiply, type, xtype, draw_type(p));
    }
    if (users && draw_once_in(p, 2)) add = users_monoid(p, add);
    users_operator *o = make(p);
    TEST_OK(dcsr_semiring_create(&o->semiring, add, multiply));
    return o->semiring;
}

const dcsr_semiring *draw_semiring(problem *p)
{
    if (!p->constant && (p->users || draw_once_in(p, 5))) return create_semiring(p);
    for (;;) {
        const dcsr_semiring *semiring =
            dcsr_semiring_of((dcsr_semiring_name)draw_below(p, DCSR_SEMIRING_NAMES), draw_type(p));
        const bool any = semiring && semiring->add->terminal_kind == DCSR_I_ANY_TERMINAL;
        if (semiring && any == p->constant) return semiring;
    }
}

void operators_free(problem *p)
{
    while (p->made_count) {
        users_operator *o = p->made[--p->made_count];
        dcsr_semiring_destroy(o->semiring);
        dcsr_monoid_destroy(o->monoid);
        dcsr_unary_op_destroy(o->unary);
        dcsr_binary_op_destroy(o->binary);
        dcsr_index_op_destroy(o->index_op);
        free(o);
    }
}
