/* support_small.h: a matrix, a view of it, and an output, for cases by hand. */
#ifndef DCSR_TESTS_SUPPORT_SMALL_H
#define DCSR_TESTS_SUPPORT_SMALL_H

#include <dcsr/operators.h>
#include "tests/support/support.h"

typedef struct fixture {
    dcsr_context *context;
    dcsr_matrix *A, *C;
    dcsr_view *a;
} fixture;

/*      A =  1 . 2 .        C =  9 9 . .
 *           . . . .             . . . .
 *           3 4 . 5             . . 9 .        */
static inline fixture set_up(dcsr_type type)
{
    fixture f = {.context = test_context(2)};
    f.A = test_matrix(f.context, type, 3, 4, DCSR_POLICY_LAST);
    f.C = test_matrix(f.context, DCSR_FP64, 3, 4, DCSR_POLICY_LAST);
    TEST_INSERT(f.A, {2, 3, 5}, {0, 2, 2}, {0, 0, 1});
    TEST_INSERT(f.A, {2, 1, 4}, {2, 0, 3});
    TEST_INSERT(f.C, {0, 0, 9}, {0, 1, 9}, {2, 2, 9});
    f.a = test_view(f.A, DCSR_LAYOUT_SEGMENTS, 0);
    return f;
}

static inline void tear_down(fixture *f)
{
    dcsr_view_destroy(f->a);
    dcsr_matrix_destroy(f->A);
    dcsr_matrix_destroy(f->C);
    test_close(f->context);
}

static inline const dcsr_binary_op *plus(void)
{
    return dcsr_binary_op_of(DCSR_BINARY_PLUS, DCSR_FP64);
}
static inline const dcsr_monoid *sum(void)
{
    return dcsr_monoid_of(DCSR_BINARY_PLUS, DCSR_FP64);
}

#endif
