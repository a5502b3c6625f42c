/* test_algebra_vectors.c: the operations on vectors against their definitions. */
#include "tests/ops/algebra.h"

Test(algebra_vectors, are_what_the_definitions_say)
{
    algebra_test_random(vector_operations, (uint64_t)TEST_SIZE(400, 100, 40));
}

Test(algebra_vectors, leave_their_output_alone_when_they_fail)
{
    algebra_test_failures(vector_operations, (uint64_t)TEST_SIZE(60, 20, 10));
}

Test(algebra_vectors, refuse_what_makes_no_sense)
{
    algebra_test_arguments(vector_operations, (uint64_t)TEST_SIZE(60, 20, 10));
}
