/* operators.h: what an operation does with values: operators, monoids, semirings.
 *
 *      unary operator      z = f(x)
 *      binary operator     z = f(x, y)
 *      index operator      z = f(x, i, j, t)       x at row i, column j; the caller gives t, the "thunk"
 *      monoid              an associative and commutative binary operator on one type, its identity, and
 *                          perhaps a terminal value, which absorbs what is added to it (0 for min on uint8)
 *      semiring            a monoid that adds, and a binary operator that multiplies
 *
 * Each has fixed types for its operands and its result. An operation casts the values of its inputs to the
 * operator's types and the result to the type of its output, as C does, except that a floating-point number
 * that does not fit an integer becomes the nearest that does, and NaN becomes 0; a number becomes true if it
 * is not 0. The entries of a pattern-only matrix have the value 1.
 *
 * The built-in ones (operators.def lists them) are constants of the library. On bool, plus and max are "or",
 * times and min are "and", minus is "exclusive or". Integers wrap around; dividing one by zero gives 0 for 0
 * / 0, else the least or the greatest number of the type.
 *
 * min and max of a number and NaN are the number; of NaN alone they are NaN. The same holds for sums of any
 * number of terms, in every operation and however it is carried out: the result is NaN only if every term is.
 * The identities, the sums of no terms, are still plus and minus infinity.
 *
 * A user's operators are functions on the host. Several threads call them at once, and operations that use
 * them run on the CPU, whatever the device.
 *
 * They may call the library, except for calls that would wait for the very operation that calls them. An
 * operation into a matrix C keeps C's queue waiting until it has ended, so its operators
 *
 *      may         create views of C (of the version before the operation), dcsr_matrix_get_info(),
 *                  _get_nnz(); queue changes of C (insert, remove, resize, defragment, add), which come
 *                  after the operation, and poll their tickets
 *      may not     read or wait through C's queue: dcsr_matrix_get(), _get_many(), _wait(),
 *                  dcsr_ticket_wait() on a change of C; insert or remove where the queue is full and they
 *                  would wait for room; run another operation into C
 *
 * What they may not do fails with DCSR_ERROR_DEADLOCK, on whatever thread the operation calls them; the
 * operation goes on. dcsr_matrix_destroy(C), dcsr_context_destroy() and, if C is durable, dcsr_store_close()
 * leave the same message and do nothing. All calls may be made on other matrices; but if operators of two
 * operations wait for each other's outputs, the call that comes last is refused in the same way. Threads that
 * an operator starts itself are not recognised as the operation's: on these, such calls hang.
 *
 * Threads: these objects never change, so any number of threads may use one. */
#ifndef DCSR_OPERATORS_H
#define DCSR_OPERATORS_H

#include <dcsr/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dcsr_unary_op dcsr_unary_op;
typedef struct dcsr_binary_op dcsr_binary_op;
typedef struct dcsr_index_op dcsr_index_op;
typedef struct dcsr_monoid dcsr_monoid;
typedef struct dcsr_semiring dcsr_semiring;

/* DCSR_UNARY_ABS, DCSR_BINARY_PLUS, DCSR_INDEX_TRIL, DCSR_PLUS_TIMES, ... A monoid is named by its operator.
 */
typedef enum dcsr_unary_name {
#define DCSR_UNARY(NAME, name, RESULT, b, i, f)    DCSR_UNARY_##NAME,
#define DCSR_UNARY_INTEGER(NAME, name, RESULT, i)  DCSR_UNARY_##NAME,
#define DCSR_UNARY_FLOATING(NAME, name, RESULT, f) DCSR_UNARY_##NAME,
#include <dcsr/operators.def>
    DCSR_UNARY_NAMES
} dcsr_unary_name;

typedef enum dcsr_binary_name {
#define DCSR_BINARY(NAME, name, RESULT, b, i, f)    DCSR_BINARY_##NAME,
#define DCSR_BINARY_BOOL(NAME, name, RESULT, b)     DCSR_BINARY_##NAME,
#define DCSR_BINARY_INTEGER(NAME, name, RESULT, i)  DCSR_BINARY_##NAME,
#define DCSR_BINARY_FLOATING(NAME, name, RESULT, f) DCSR_BINARY_##NAME,
#include <dcsr/operators.def>
    DCSR_BINARY_NAMES
} dcsr_binary_name;

typedef enum dcsr_index_name {
#define DCSR_INDEX(NAME, name, RESULT, THUNK, expression) DCSR_INDEX_##NAME,
#include <dcsr/operators.def>
    DCSR_INDEX_NAMES
} dcsr_index_name;

typedef enum dcsr_semiring_name {
#define DCSR_SEMIRING(NAME, name, ADD, MULTIPLY)      DCSR_##NAME,
#define DCSR_SEMIRING_BOOL(NAME, name, ADD, MULTIPLY) DCSR_##NAME,
#include <dcsr/operators.def>
    DCSR_SEMIRING_NAMES
} dcsr_semiring_name;

/* The built-in one of that name on that type; NULL if there is none (the square root of an integer, anything
 * on DCSR_PATTERN). Operations refuse NULL with a message, so the result may be passed on unchecked. It is a
 * constant of the library, not to be freed. */
DCSR_API const dcsr_unary_op *dcsr_unary_op_of(dcsr_unary_name name, dcsr_type type);
DCSR_API const dcsr_binary_op *dcsr_binary_op_of(dcsr_binary_name name, dcsr_type type);
DCSR_API const dcsr_index_op *dcsr_index_op_of(dcsr_index_name name, dcsr_type type);
DCSR_API const dcsr_monoid *dcsr_monoid_of(dcsr_binary_name name, dcsr_type type);
DCSR_API const dcsr_semiring *dcsr_semiring_of(dcsr_semiring_name name, dcsr_type type);

/* The same, named by a text: "abs", "plus", "tril", "plus_times"; NULL if there is none. */
DCSR_API const dcsr_unary_op *dcsr_unary_op_named(const char *name, dcsr_type type);
DCSR_API const dcsr_binary_op *dcsr_binary_op_named(const char *name, dcsr_type type);
DCSR_API const dcsr_index_op *dcsr_index_op_named(const char *name, dcsr_type type);
DCSR_API const dcsr_monoid *dcsr_monoid_named(const char *name, dcsr_type type);
DCSR_API const dcsr_semiring *dcsr_semiring_named(const char *name, dcsr_type type);

/* A user's functions. They write *z and return true; if one returns false the operation fails with
 * DCSR_ERROR_CALLBACK, its output as it was. `user` is what was given at creation. z never overlaps x or
 * y. */
typedef bool (*dcsr_unary_function)(void *z, const void *x, void *user);
typedef bool (*dcsr_binary_function)(void *z, const void *x, const void *y, void *user);
typedef bool (*dcsr_index_function)(void *z, const void *x, uint64_t row, uint64_t col, const void *thunk,
                                    void *user);

/* Operators of the user's. The name is for messages; it is copied, and may be NULL. Types are value types,
 * not DCSR_PATTERN. *op is NULL on failure. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
DCSR_API dcsr_status dcsr_unary_op_create(dcsr_unary_op **op, const char *name, dcsr_type ztype,
                                          dcsr_type xtype, dcsr_unary_function function, void *user);
DCSR_API dcsr_status dcsr_binary_op_create(dcsr_binary_op **op, const char *name, dcsr_type ztype,
                                           dcsr_type xtype, dcsr_type ytype, dcsr_binary_function function,
                                           void *user);
DCSR_API dcsr_status dcsr_index_op_create(dcsr_index_op **op, const char *name, dcsr_type ztype,
                                          dcsr_type xtype, dcsr_type thunk, dcsr_index_function function,
                                          void *user);

/* A monoid of any operator z = f(x, y) on one type, built-in or not. The caller promises that it is
 * associative and commutative, and that adding the identity changes no value: sums of a user's operator may
 * begin with it. identity and terminal point to values of the type; terminal may be NULL. The operator must
 * outlive it. Errors: INVALID_ARGUMENT, TYPE_MISMATCH (three types that differ), OUT_OF_MEMORY. */
DCSR_API dcsr_status dcsr_monoid_create(dcsr_monoid **monoid, const dcsr_binary_op *op, const void *identity,
                                        const void *terminal);
/* A semiring of any monoid and any operator whose result has the monoid's type. Both must outlive it. If it
 * equals a built-in semiring it is as fast as that. Errors: as above. */
DCSR_API dcsr_status dcsr_semiring_create(dcsr_semiring **semiring, const dcsr_monoid *add,
                                          const dcsr_binary_op *multiply);

/* Destroy what was created. NULL and built-in objects do nothing. */
DCSR_API void dcsr_unary_op_destroy(dcsr_unary_op *op);
DCSR_API void dcsr_binary_op_destroy(dcsr_binary_op *op);
DCSR_API void dcsr_index_op_destroy(dcsr_index_op *op);
DCSR_API void dcsr_monoid_destroy(dcsr_monoid *monoid);
DCSR_API void dcsr_semiring_destroy(dcsr_semiring *semiring);

#ifdef __cplusplus
}
#endif
#endif
