/* user_operators.c: operators, monoids and semirings that a user makes, and applying operators to blocks. */
#include "dcsr/base/alloc.h"
#include "ops/algebra/operator.h"
#include <stdio.h>
#include <string.h>

static bool is_value_type(dcsr_type type)
{
    return dcsr_type_size(type) != 0;
}

/* Memory for an object whose pointer goes to `out`; `valid` says whether its other arguments are. */
static dcsr_status make(void *out, size_t size, bool valid, const char *call)
{
    if (!out || !valid)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s: an argument is NULL, or a type is none of the value types", call);
    void *object = dcsr_i_calloc(NULL, DCSR_I_MATRIX, 1, size);
    memcpy(out, &object, sizeof object);
    return object ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}

static void keep_text(char text[DCSR_I_OPERATOR_NAME], const char *name)
{
    snprintf(text, DCSR_I_OPERATOR_NAME, "%s", name && name[0] ? name : "the caller's operator");
}

dcsr_status dcsr_unary_op_create(dcsr_unary_op **op, const char *name, dcsr_type ztype, dcsr_type xtype,
                                 dcsr_unary_function function, void *user)
{
    if (op) *op = NULL;
    DCSR_TRY(make(op, sizeof **op, function && is_value_type(ztype) && is_value_type(xtype),
                  "dcsr_unary_op_create"));
    **op = (dcsr_unary_op){
        .name = DCSR_I_USERS, .ztype = ztype, .xtype = xtype, .function = function, .user = user};
    keep_text((*op)->text, name);
    return DCSR_OK;
}

dcsr_status dcsr_binary_op_create(dcsr_binary_op **op, const char *name, dcsr_type ztype, dcsr_type xtype,
                                  dcsr_type ytype, dcsr_binary_function function, void *user)
{
    if (op) *op = NULL;
    DCSR_TRY(make(op, sizeof **op,
                  function && is_value_type(ztype) && is_value_type(xtype) && is_value_type(ytype),
                  "dcsr_binary_op_create"));
    **op = (dcsr_binary_op){.name = DCSR_I_USERS,
                            .ztype = ztype,
                            .xtype = xtype,
                            .ytype = ytype,
                            .function = function,
                            .user = user};
    keep_text((*op)->text, name);
    return DCSR_OK;
}

dcsr_status dcsr_index_op_create(dcsr_index_op **op, const char *name, dcsr_type ztype, dcsr_type xtype,
                                 dcsr_type thunk, dcsr_index_function function, void *user)
{
    if (op) *op = NULL;
    DCSR_TRY(make(op, sizeof **op,
                  function && is_value_type(ztype) && is_value_type(xtype) && is_value_type(thunk),
                  "dcsr_index_op_create"));
    **op = (dcsr_index_op){.name = DCSR_I_USERS,
                           .ztype = ztype,
                           .xtype = xtype,
                           .thunk = thunk,
                           .function = function,
                           .user = user};
    keep_text((*op)->text, name);
    return DCSR_OK;
}

dcsr_status dcsr_monoid_create(dcsr_monoid **monoid, const dcsr_binary_op *op, const void *identity,
                               const void *terminal)
{
    if (monoid) *monoid = NULL;
    if (op && (op->ztype != op->xtype || op->ztype != op->ytype))
        return dcsr_i_fail(
            DCSR_ERROR_TYPE_MISMATCH,
            "dcsr_monoid_create: %s has operands and a result of several types; a monoid has one", op->text);
    DCSR_TRY(make(monoid, sizeof **monoid, op && identity, "dcsr_monoid_create"));
    **monoid = (dcsr_monoid){.name = DCSR_I_USERS, .op = op};
    memcpy(&(*monoid)->identity, identity, dcsr_type_size(op->ztype));
    const dcsr_monoid *known = op->loop ? dcsr_monoid_of((dcsr_binary_name)op->name, op->ztype) : NULL;
    (*monoid)->start = known ? known->start : (*monoid)->identity;
    if (terminal) {
        memcpy(&(*monoid)->terminal, terminal, dcsr_type_size(op->ztype));
        (*monoid)->terminal_kind = DCSR_I_TERMINAL;
    }
    return DCSR_OK;
}

/* The name of the built-in semiring that has these parts, if any. */
static int known_semiring(const dcsr_monoid *add, const dcsr_binary_op *multiply)
{
    for (int name = 0; name < (int)DCSR_SEMIRING_NAMES; name++) {
        const dcsr_semiring *known = dcsr_semiring_of((dcsr_semiring_name)name, dcsr_i_monoid_type(add));
        if (known && known->add == add && known->multiply == multiply) return name;
    }
    return DCSR_I_USERS;
}

dcsr_status dcsr_semiring_create(dcsr_semiring **semiring, const dcsr_monoid *add,
                                 const dcsr_binary_op *multiply)
{
    if (semiring) *semiring = NULL;
    if (add && multiply && dcsr_i_monoid_type(add) != multiply->ztype)
        return dcsr_i_fail(DCSR_ERROR_TYPE_MISMATCH,
                           "dcsr_semiring_create: %s gives %s, but %s adds %s; take operators of one type",
                           multiply->text, dcsr_type_name(multiply->ztype), add->op->text,
                           dcsr_type_name(dcsr_i_monoid_type(add)));
    DCSR_TRY(make(semiring, sizeof **semiring, add && multiply, "dcsr_semiring_create"));
    **semiring = (dcsr_semiring){.name = known_semiring(add, multiply), .add = add, .multiply = multiply};
    return DCSR_OK;
}

/* What is built in has no memory of its own: it is found again under its name. */
#define DESTROY(object, key, type)                                                                    \
    void object##_destroy(object *victim)                                                             \
    {                                                                                                 \
        if (!victim || (victim->name >= 0 && victim == object##_of((key)victim->name, type))) return; \
        dcsr_i_free(NULL, DCSR_I_MATRIX, victim, 1, sizeof *victim);                                  \
    }
DESTROY(dcsr_unary_op, dcsr_unary_name, victim->xtype)
DESTROY(dcsr_binary_op, dcsr_binary_name, victim->xtype)
DESTROY(dcsr_index_op, dcsr_index_name, victim->xtype)
DESTROY(dcsr_monoid, dcsr_binary_name, dcsr_i_monoid_type(victim))
DESTROY(dcsr_semiring, dcsr_semiring_name, dcsr_i_monoid_type(victim->add))

/* ---- Applying them ---- */

bool dcsr_i_apply_unary(const dcsr_unary_op *op, void *z, const void *x, size_t n)
{
    if (op->loop) {
        op->loop(z, x, n);
        return true;
    }
    size_t zsize = dcsr_type_size(op->ztype), xsize = dcsr_type_size(op->xtype);
    for (size_t k = 0; k < n; k++) {
        dcsr_i_scalar result = {0};
        if (!op->function(&result, (const char *)x + k * xsize, op->user)) return false;
        memcpy((char *)z + k * zsize, &result, zsize);
    }
    return true;
}

bool dcsr_i_apply_binary(const dcsr_binary_op *op, void *z, const void *x, const void *y, size_t n)
{
    if (op->loop) {
        op->loop(z, x, y, n);
        return true;
    }
    size_t zsize = dcsr_type_size(op->ztype), xsize = dcsr_type_size(op->xtype),
           ysize = dcsr_type_size(op->ytype);
    for (size_t k = 0; k < n; k++) {
        dcsr_i_scalar result = {0};
        if (!op->function(&result, (const char *)x + k * xsize, (const char *)y + k * ysize, op->user))
            return false;
        memcpy((char *)z + k * zsize, &result, zsize);
    }
    return true;
}

bool dcsr_i_apply_index(const dcsr_index_op *op, void *z, const void *x, const dcsr_i_positions *at,
                        const void *thunk, size_t n)
{
    if (op->loop) {
        op->loop(z, x, at, thunk, n);
        return true;
    }
    size_t zsize = dcsr_type_size(op->ztype), xsize = dcsr_type_size(op->xtype);
    for (size_t k = 0; k < n; k++) {
        dcsr_i_scalar result = {0};
        if (!op->function(&result, (const char *)x + k * xsize, at->i ? at->i[k] : at->i0,
                          at->j ? at->j[k] : at->j0, thunk, op->user))
            return false;
        memcpy((char *)z + k * zsize, &result, zsize);
    }
    return true;
}

dcsr_status dcsr_i_fail_callback(const char *call, const char *text)
{
    return dcsr_i_fail(DCSR_ERROR_CALLBACK, "%s: %s returned false; nothing was changed", call, text);
}
