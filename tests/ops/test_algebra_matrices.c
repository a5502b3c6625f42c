/* test_algebra_matrices.c: the operations on matrices against their definitions. */
#include "tests/ops/algebra.h"

Test(algebra_matrices, are_what_the_definitions_say)
{
    algebra_test_random(matrix_operations, (uint64_t)TEST_SIZE(160, 50, 20));
}

Test(algebra_matrices, leave_their_output_alone_when_they_fail)
{
    algebra_test_failures(matrix_operations, (uint64_t)TEST_SIZE(25, 10, 5));
}

Test(algebra_matrices, refuse_what_makes_no_sense)
{
    algebra_test_arguments(matrix_operations, (uint64_t)TEST_SIZE(25, 10, 5));
}
