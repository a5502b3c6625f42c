/* differential.h: the same matrices and vectors in dcsr and in SuiteSparse:GraphBLAS.
 *
 * A differential test: pairs of objects go through a random sequence of changes and operations, once in each
 * library, and are compared after each step. It shares nothing with dcsr but its public headers, and nothing
 * with its other tests.
 *
 *      peer_values.c      types, operators, semirings: theirs for each of ours, by name; random values
 *      peer_objects.c     pairs of matrices and vectors: drawn, changed, compared
 *      peer_calls.c       what operations share: their objects, masks, descriptions; the list of operations
 *      peer_products.c    products and sums
 *      peer_elements.c    operations entry by entry
 *      peer_move.c      extracting, assigning, the Kronecker product, changes by the store
 *      differential.c     sessions, seeds, the summary
 *
 * A session is drawn from one seed. There are two kinds, as sums of floating-point numbers depend on their order:
 *
 *      exact   all numbers are small multiples of 1/4, so that sums are the same in any order; what grows out of that
 *              range is removed
 *      wild    NaN, infinities, the ends of the integers; without what adds up floating-point numbers, and without
 *              minima and maxima of many, where NaN is treated in a way of its own by either library
 *
 * The peer (7.4) has its oddities, which are avoided:
 *
 *      eWiseAdd into an empty hypersparse matrix       may leave it corrupt: there is none
 *      products and reductions over a dimension of 0   do not end, count an entry that is not there, or refuse: none
 *      C<M> = accum(C, T) in one step                  crashes, or forgets a mask that is the output: done in two
 *      a mask whose values are all 0                   need not be of the output's shape: masks always are
 *      the sum of what is empty, but once was not      may be any value: it is taken of what never had an entry
 *      GrB_Row_assign, GrB_Col_assign under a mask     misread zeros of a complemented one, and one that is u: the mask
 *                                                      is taken by structure there, and a copy
 *      eWiseAdd of a transposed input                  casts a lone entry to the operator's operand before its result:
 *                                                      no comparisons there
 *      pow(1, NaN)                                     is NaN, in C 1: not in wild sessions
 *      tril, triu at the ends of int64                 overflow: thunks are small
 *      a mask's -0.0                                   is true: -0.0 is removed
 *      GrB_Col_extract                                 crashes on some inputs: columns are taken out by hand
 *      the thunk of DIAGINDEX                          has the other sign: it is 0
 *      GrB_Matrix_resize of no entries to one row      writes 8 bytes past the end of a block of its own: made anew
 *      assigning a scalar to all places                without accumulator, where removeElement has left work to be
 *                                                      done: nvals leaves as many out as were removed, extractTuples
 *                                                      then says GrB_INSUFFICIENT_SPACE (-103): after GrB_*_wait
 */
#ifndef DCSR_TESTS_DIFFERENTIAL_H
#define DCSR_TESTS_DIFFERENTIAL_H

#include <dcsr/dcsr.h>
#include <dcsr/apply.h>
#include <dcsr/assign.h>
#include <dcsr/ewise.h>
#include <dcsr/extract.h>
#include <dcsr/matrix_add.h>
#include <dcsr/mxm.h>
#include <dcsr/mxv.h>
#include <dcsr/reduce.h>
#include <dcsr/select.h>
#include <dcsr/spmm.h>
#include <dcsr/transpose.h>
#include <dcsr/vector_ops.h>

#include <GraphBLAS.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Random numbers, values ---- */

typedef struct draw {
    uint64_t state;
    bool wild;
} draw;

uint64_t draw_bits(draw *d);
uint64_t draw_below(draw *d, uint64_t n);
static inline bool draw_once_in(draw *d, uint64_t n)
{
    return draw_below(d, n) == 0;
}

/* X(NAME) for each type that has values. */
#define FOR_TYPES(X) \
    X(BOOL) X(INT8) X(INT16) X(INT32) X(INT64) X(UINT8) X(UINT16) X(UINT32) X(UINT64) X(FP32) X(FP64)

/* Room for one value of any type. */
typedef union scalar {
    uint64_t bits;
    double fp64;
    float fp32;
    int64_t int64;
} scalar;

scalar draw_value(draw *d, dcsr_type type);
/* Whether the session may go on with the value: not -0.0, and in an exact session a small multiple of 1/4. */
bool value_may_stay(const draw *d, dcsr_type type, scalar value);
/* Equal; NaNs are, and 0 and -0; with `rounded` floating-point numbers that differ in their last bits. */
bool value_equal(dcsr_type type, scalar a, scalar b, bool rounded);
void value_print(char text[32], dcsr_type type, scalar value);

/* ---- Theirs for ours ---- */

GrB_Type their_type(dcsr_type type);
GrB_UnaryOp their_unary(const char *name, dcsr_type type);
GrB_BinaryOp their_binary(const char *name, dcsr_type type);
GrB_IndexUnaryOp their_index(const char *name, dcsr_type type);
GrB_Monoid their_monoid(const char *name, dcsr_type type);
GrB_BinaryOp their_policy(dcsr_policy policy, dcsr_type type);

/* One operator of each kind, in both libraries. */
typedef struct operator_pair {
    const char *name;
    dcsr_type type;
    const dcsr_unary_op *unary;
    const dcsr_binary_op *binary;
    const dcsr_index_op *index;
    const dcsr_monoid *monoid;
    const dcsr_semiring *semiring;
    dcsr_semiring *made; /* to be destroyed */
    GrB_UnaryOp their_unary;
    GrB_BinaryOp their_binary;
    GrB_IndexUnaryOp their_index;
    GrB_Monoid their_monoid;
    GrB_Semiring their_semiring; /* made for the call */
    bool int64_thunk;
    bool rounds; /* its results may differ in their last bits */
} operator_pair;

operator_pair draw_unary(draw *d, dcsr_type type);
operator_pair draw_binary(draw *d, dcsr_type type);
operator_pair draw_index(draw *d, dcsr_type type, bool selects);
operator_pair draw_monoid(draw *d, dcsr_type type);
operator_pair draw_semiring(draw *d, dcsr_type type);
void operator_free(operator_pair *op);

GrB_Scalar their_scalar(dcsr_type type, scalar value);

/* ---- Pairs ---- */

typedef struct matrix_pair {
    dcsr_matrix *ours;
    GrB_Matrix theirs;
    dcsr_type type;
    dcsr_policy policy;
    uint64_t rows, cols;
} matrix_pair;

typedef struct vector_pair {
    dcsr_vector *ours;
    GrB_Vector theirs;
    dcsr_type type;
    uint64_t size;
} vector_pair;

enum { MATRICES = 5, VECTORS = 5, SIZES = 3 };

typedef struct session {
    draw draw;
    uint64_t seed, step;
    const char *name; /* of the operation */
    char what[400];   /* the step, for messages */
    dcsr_context *context;
    dcsr_type type; /* of all objects, or DCSR_TYPE_COUNT */
    uint64_t sizes[SIZES];
    matrix_pair matrices[MATRICES];
    vector_pair vectors[VECTORS];
    bool failed;
    bool verbose;
} session;

__attribute__((format(printf, 2, 3))) void complain(session *s, const char *format, ...);
/* Calls that only fail where the test is wrong, or memory is short. */
#define OURS(call)                                                                              \
    do {                                                                                        \
        dcsr_status status_ = (call);                                                           \
        if (status_) {                                                                          \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, dcsr_thread_error()); \
            abort();                                                                            \
        }                                                                                       \
    } while (0)
#define THEIRS(call)                                                                            \
    do {                                                                                        \
        GrB_Info info_ = (call);                                                                \
        if (info_ != GrB_SUCCESS && info_ != GrB_NO_VALUE) {                                    \
            fprintf(stderr, "%s:%d: %s: GrB_Info %d\n", __FILE__, __LINE__, #call, (int)info_); \
            abort();                                                                            \
        }                                                                                       \
    } while (0)

dcsr_type draw_type(session *s);
void matrix_make(session *s, matrix_pair *m, uint64_t rows, uint64_t cols);
void matrix_free(matrix_pair *m);
void vector_make(session *s, vector_pair *v, uint64_t size);
void vector_free(vector_pair *v);
/* A batch of insertions or removals, a resize, a defragmentation. */
void matrix_change(session *s, matrix_pair *m);
void vector_change(session *s, vector_pair *v);
/* Complains about the first difference. Then removes, from both, values that may not stay. */
void matrix_compare(session *s, matrix_pair *m, bool rounded);
void vector_compare(session *s, vector_pair *v, bool rounded);

/* ---- Operations ---- */

typedef struct operation {
    const char *name;
    void (*run)(session *s);
} operation;
extern const operation operations[];
extern const size_t operation_count;

#endif
