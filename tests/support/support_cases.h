/* support_cases.h: random cases for operations whose result is a matrix: operands of any type, policy and
 * state, an output, perhaps a mask and an accumulator, and a description; and comparing with the same done
 * place by place. */
#ifndef DCSR_TESTS_SUPPORT_CASES_H
#define DCSR_TESTS_SUPPORT_CASES_H

#include "tests/support/support_dense.h"

typedef struct random_case {
    test_random random;
    dcsr_context *context;
    dcsr_binary_op *users;
    char what[200];
    /* Output, mask, accumulator, description, each perhaps none. */
    dcsr_matrix *C, *M;
    dcsr_view *mask;
    dense before, truth;
    const dcsr_binary_op *accum;
    dense_function accumulate;
    dcsr_type accum_type; /* of its operands */
    dcsr_desc desc;
} random_case;

enum { PICK_TYPES = 5 };
extern const dcsr_type pick_types[PICK_TYPES];

uint64_t pick_below(random_case *f, uint64_t n);
/* One of pick_types, or a pattern. */
dcsr_type pick_type(random_case *f);
/* A binary operator, the same on numbers, and the types of its operands and its result. */
const dcsr_binary_op *pick_binary(random_case *f, dense_function *function, dcsr_type *x, dcsr_type *z);
/* A matrix filled in a few batches, in any order, some of it deleted again; a view of any layout and flags.
 */
dcsr_matrix *pick_matrix(random_case *f, dcsr_type type, uint64_t rows, uint64_t cols);
dcsr_view *pick_view(random_case *f, dcsr_matrix *matrix);

/* An operand: its view, and what that shows, or the transpose. */
typedef struct operand {
    dcsr_matrix *matrix;
    dcsr_view *view;
    dense shows;
} operand;
operand pick_operand(random_case *f, uint64_t rows, uint64_t cols, bool transposed);
void operand_drop(operand *o);

/* Output, mask, and so on for a result of this shape. */
void case_set_up(random_case *f, const char *name, uint64_t rows, uint64_t cols);
/* Compares C with what it should be, T being computed, and cleans up. */
void case_check(random_case *f, dense *T);

/* Runs an operation on random cases. */
void run_cases(void (*operation)(random_case *f, uint64_t rows, uint64_t cols), uint64_t rounds);

#endif
