/* test_user_operators.c: operators, monoids and semirings that a user makes. */
#include "dcsr/base/alloc.h"
#include "ops/algebra/operator.h"
#include "tests/support/support.h"

static bool half(void *z, const void *x, void *user)
{
    ++*(int *)user;
    *(float *)z = (float)*(const int32_t *)x / 2;
    return *(const int32_t *)x >= 0;
}
static bool length2(void *z, const void *x, const void *y, void *user)
{
    (void)user;
    *(double *)z = *(const double *)x * *(const double *)x + (double)*(const float *)y;
    return *(const double *)x != 13;
}
static bool at_least(void *z, const void *x, uint64_t row, uint64_t col, const void *thunk, void *user)
{
    (void)user;
    *(bool *)z = *(const int64_t *)x + (int64_t)(row * 10 + col) >= *(const int16_t *)thunk;
    return row != 7;
}
static bool gcd(void *z, const void *x, const void *y, void *user)
{
    (void)user;
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    while (b) {
        uint32_t rest = a % b;
        a = b, b = rest;
    }
    return *(uint32_t *)z = a, true;
}

Test(user, operators)
{
    int calls = 0;
    dcsr_unary_op *unary;
    TEST_OK(dcsr_unary_op_create(&unary, "half", DCSR_FP32, DCSR_INT32, half, &calls));
    int32_t x[] = {3, 4, -1, 5};
    float z[] = {0, 0, 0, 9};
    cr_assert(dcsr_i_apply_unary(unary, z, x, 2) && z[0] == 1.5f && z[1] == 2 && calls == 2);
    cr_assert(!dcsr_i_apply_unary(unary, z, x, 4) && calls == 5 && z[3] == 9,
              "it stops where the function says so");
    TEST_REFUSED(DCSR_ERROR_CALLBACK, "apply: half returned false",
                 dcsr_i_fail_callback("apply", unary->text));

    dcsr_binary_op *binary;
    TEST_OK(dcsr_binary_op_create(&binary, NULL, DCSR_FP64, DCSR_FP64, DCSR_FP32, length2, NULL));
    double a[] = {3, 13}, c[] = {0, 0};
    float b[] = {16, 0};
    cr_assert(dcsr_i_apply_binary(binary, c, a, b, 1) && c[0] == 25 &&
              !dcsr_i_apply_binary(binary, c, a, b, 2));
    cr_assert_str_eq(binary->text, "the caller's operator");

    dcsr_index_op *index;
    TEST_OK(dcsr_index_op_create(&index, "a name that is longer than there is room for", DCSR_BOOL,
                                 DCSR_INT64, DCSR_INT16, at_least, NULL));
    int64_t values[] = {1, 2};
    uint32_t rows[] = {1, 7}, columns[] = {2, 3};
    int16_t limit = 13;
    bool keep[2];
    cr_assert(dcsr_i_apply_index(index, keep, values, &(dcsr_i_positions){rows, columns, 0, 0}, &limit, 1) &&
              keep[0]);
    cr_assert(!dcsr_i_apply_index(index, keep, values, &(dcsr_i_positions){rows, columns, 0, 0}, &limit, 2));
    cr_assert(dcsr_i_apply_index(index, keep, values, &(dcsr_i_positions){NULL, columns, 1, 0}, &limit, 2) &&
              keep[1]);
    cr_assert_eq(strlen(index->text), DCSR_I_OPERATOR_NAME - 1);
    dcsr_index_op_destroy(index);
    dcsr_binary_op_destroy(binary);
    dcsr_unary_op_destroy(unary);
}

Test(user, monoids_and_semirings)
{
    dcsr_binary_op *op;
    dcsr_monoid *monoid;
    dcsr_semiring *semiring;
    const uint32_t identity = 0, terminal = 1;
    TEST_OK(dcsr_binary_op_create(&op, "gcd", DCSR_UINT32, DCSR_UINT32, DCSR_UINT32, gcd, NULL));
    TEST_OK(dcsr_monoid_create(&monoid, op, &identity, &terminal));
    cr_assert(dcsr_i_monoid_is_users(monoid) && monoid->terminal_kind == DCSR_I_TERMINAL &&
              monoid->terminal.as_uint32 == 1);
    const dcsr_binary_op *times = dcsr_binary_op_of(DCSR_BINARY_TIMES, DCSR_UINT32);
    TEST_OK(dcsr_semiring_create(&semiring, monoid, times));
    cr_assert(semiring->name == DCSR_I_USERS && dcsr_i_semiring_is_users(semiring));
    dcsr_semiring_destroy(semiring);
    TEST_REFUSED(DCSR_ERROR_TYPE_MISMATCH, "bool",
                 dcsr_semiring_create(&semiring, monoid, dcsr_binary_op_of(DCSR_BINARY_EQ, DCSR_UINT32)));
    cr_assert(!semiring);
    dcsr_monoid_destroy(monoid);
    TEST_OK(dcsr_monoid_create(&monoid, op, &identity, NULL));
    cr_assert_eq(monoid->terminal_kind, DCSR_I_NO_TERMINAL);
    TEST_OK(dcsr_semiring_create(&semiring, dcsr_monoid_of(DCSR_BINARY_PLUS, DCSR_UINT32), times));
    cr_assert(semiring->name == DCSR_PLUS_TIMES && !dcsr_i_semiring_is_users(semiring),
              "as fast as the one built in");
    dcsr_semiring_destroy(semiring);
    dcsr_monoid_destroy(monoid);
    TEST_REFUSED(DCSR_ERROR_TYPE_MISMATCH, "lt",
                 dcsr_monoid_create(&monoid, dcsr_binary_op_of(DCSR_BINARY_LT, DCSR_INT8), &identity, NULL));
    cr_assert(!monoid);
    dcsr_binary_op_destroy(op);
}

Test(user, refusals)
{
    dcsr_unary_op *unary;
    dcsr_binary_op *binary;
    dcsr_index_op *index;
    dcsr_monoid *monoid;
    dcsr_semiring *semiring;
    const dcsr_status bad = DCSR_ERROR_INVALID_ARGUMENT;
    TEST_STATUS(bad, dcsr_unary_op_create(NULL, "x", DCSR_FP32, DCSR_FP32, half, NULL));
    TEST_STATUS(bad, dcsr_unary_op_create(&unary, "x", DCSR_PATTERN, DCSR_FP32, half, NULL));
    TEST_STATUS(bad, dcsr_unary_op_create(&unary, "x", DCSR_FP32, DCSR_TYPE_COUNT, half, NULL));
    TEST_STATUS(bad, dcsr_unary_op_create(&unary, "x", DCSR_FP32, DCSR_FP32, NULL, NULL));
    TEST_STATUS(bad, dcsr_binary_op_create(&binary, "x", DCSR_FP32, DCSR_FP32, DCSR_PATTERN, gcd, NULL));
    TEST_STATUS(bad, dcsr_binary_op_create(&binary, "x", DCSR_FP32, DCSR_FP32, DCSR_FP32, NULL, NULL));
    TEST_STATUS(bad, dcsr_index_op_create(&index, "x", DCSR_FP32, DCSR_FP32, (dcsr_type)-1, at_least, NULL));
    TEST_STATUS(bad, dcsr_monoid_create(&monoid, NULL, &unary, NULL));
    TEST_STATUS(bad, dcsr_monoid_create(&monoid, dcsr_binary_op_of(DCSR_BINARY_PLUS, DCSR_FP32), NULL, NULL));
    TEST_STATUS(bad, dcsr_semiring_create(&semiring, NULL, dcsr_binary_op_of(DCSR_BINARY_PLUS, DCSR_FP32)));
    TEST_STATUS(bad, dcsr_semiring_create(&semiring, dcsr_monoid_of(DCSR_BINARY_PLUS, DCSR_FP32), NULL));
    cr_assert(!unary && !binary && !index && !monoid && !semiring);
    dcsr_i_fail_allocations_after(0);
    TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY,
                dcsr_unary_op_create(&unary, "x", DCSR_FP32, DCSR_FP32, half, NULL));
    TEST_STATUS(DCSR_ERROR_OUT_OF_MEMORY,
                dcsr_monoid_create(&monoid, dcsr_binary_op_of(DCSR_BINARY_PLUS, DCSR_FP32), "0000", NULL));
    dcsr_i_fail_allocations_after(-1);
    cr_assert(!unary && !monoid);
}

Test(user, destroying_nothing_and_what_is_built_in)
{
    dcsr_unary_op_destroy(NULL);
    dcsr_semiring_destroy(NULL);
    const dcsr_semiring *semiring = dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64);
    dcsr_semiring_destroy((dcsr_semiring *)semiring);
    dcsr_monoid_destroy((dcsr_monoid *)semiring->add);
    dcsr_binary_op_destroy((dcsr_binary_op *)semiring->multiply);
    dcsr_unary_op_destroy((dcsr_unary_op *)dcsr_unary_op_of(DCSR_UNARY_ABS, DCSR_FP64));
    dcsr_index_op_destroy((dcsr_index_op *)dcsr_index_op_of(DCSR_INDEX_TRIL, DCSR_FP64));
    double x = 3, y = 4, z;
    cr_assert(dcsr_i_apply_binary(dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64)->multiply, &z, &x, &y, 1) &&
              z == 12);
}
