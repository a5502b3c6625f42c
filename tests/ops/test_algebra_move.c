/* test_algebra_move.c: extract and assign of matrices against their definitions. */
#include "tests/ops/algebra.h"

Test(algebra_move, are_what_the_definitions_say)
{
    algebra_test_random(place_operations, (uint64_t)TEST_SIZE(200, 60, 20));
}

Test(algebra_move, leave_their_output_alone_when_they_fail)
{
    algebra_test_failures(place_operations, (uint64_t)TEST_SIZE(40, 12, 6));
}

Test(algebra_move, refuse_what_makes_no_sense)
{
    algebra_test_arguments(place_operations, (uint64_t)TEST_SIZE(40, 12, 6));
}
