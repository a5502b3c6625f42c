/* test_refresh_rule.c: when a plan brings its format up to date and when it builds, by times that are given. */
#include "ops/spmv/portfolio/refresh_rule.h"
#include <criterion/criterion.h>

enum { ROWS = 1000 };

static dcsr_i_refresh_rule begun(void)
{
    dcsr_i_refresh_rule rule = {.found = true, .left = 9}; /* of another format */
    dcsr_i_refresh_begin(&rule, 1);
    return rule;
}

/* What is advised where so many rows have changed; at_all: without knowing that. */
static dcsr_i_refresh_advice advice(dcsr_i_refresh_rule *rule, uint64_t changed)
{
    const dcsr_i_refresh_advice at_all = dcsr_i_refresh_at_all(rule);
    return at_all == DCSR_I_REFRESH ? dcsr_i_refresh_rows(rule, changed, ROWS) : at_all;
}

/* How many refreshes of so many rows are spent on building, up to 1000. */
static int buildings(dcsr_i_refresh_rule *rule, uint64_t changed)
{
    int n = 0;
    while (n < 1000 && advice(rule, changed) != DCSR_I_REFRESH) n++;
    return n;
}

Test(refresh_rule, refreshes_until_it_takes_longer)
{
    dcsr_i_refresh_rule rule = begun();
    for (int i = 0; i < 10; i++) {
        cr_assert_eq(advice(&rule, 100), DCSR_I_REFRESH);
        dcsr_i_refresh_took(&rule, 100, 1);
    }
    dcsr_i_refresh_took(&rule, 100, 1.5);
    cr_assert_eq(advice(&rule, 99), DCSR_I_REFRESH);
    cr_assert_eq(advice(&rule, 100), DCSR_I_BUILD_AS_FOUND_CHEAPER);
    cr_assert_eq(advice(&rule, 100), DCSR_I_REFRESH);
}

/* What is found again and again is doubted ever less; what is not is forgotten. */
Test(refresh_rule, pauses_grow_while_they_are_confirmed)
{
    static const int expected[] = {1, 2, 4, 8, 16, 32, 64, 64, 64};
    dcsr_i_refresh_rule rule = begun();
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        dcsr_i_refresh_took(&rule, 200 + i, 2);
        cr_assert_eq(buildings(&rule, 200), expected[i], "the pause of finding %zu", i);
    }
    dcsr_i_refresh_took(&rule, 200, 0.5);
    cr_assert_eq(buildings(&rule, 500), 0);
    dcsr_i_refresh_took(&rule, 500, 2);
    cr_assert_eq(buildings(&rule, 500), 1);
    dcsr_i_refresh_took(&rule, 50, 2); /* of fewer rows: newly found */
    cr_assert_eq(buildings(&rule, 50), 1);
}

/* Few rows in between are refreshed, and do not count. */
Test(refresh_rule, is_about_as_many_rows_or_more)
{
    dcsr_i_refresh_rule rule = begun();
    dcsr_i_refresh_took(&rule, 300, 2);
    dcsr_i_refresh_took(&rule, 300, 2);
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(advice(&rule, 20), DCSR_I_REFRESH);
        dcsr_i_refresh_took(&rule, 20, 0.1);
    }
    cr_assert_eq(buildings(&rule, 400), 2);
}

Test(refresh_rule, what_did_not_fit_is_built_at_once)
{
    dcsr_i_refresh_rule rule = begun();
    dcsr_i_refresh_did_not_fit(&rule);
    cr_assert_eq(dcsr_i_refresh_at_all(&rule), DCSR_I_BUILD_AS_FOUND_UNFIT);
    cr_assert_eq(dcsr_i_refresh_at_all(&rule), DCSR_I_REFRESH);
    dcsr_i_refresh_did_not_fit(&rule);
    cr_assert_eq(buildings(&rule, 1), 2);
    dcsr_i_refresh_took(&rule, 7, 0.5); /* it fits again */
    cr_assert_eq(buildings(&rule, 7), 0);
    dcsr_i_refresh_did_not_fit(&rule);
    cr_assert_eq(buildings(&rule, 7), 1);
    dcsr_i_refresh_took(&rule, 7, 2); /* it fits, and takes long: another finding */
    cr_assert_eq(advice(&rule, 6), DCSR_I_REFRESH);
    cr_assert_eq(advice(&rule, 7), DCSR_I_BUILD_AS_FOUND_CHEAPER);
}

Test(refresh_rule, builds_first_where_most_have_changed)
{
    dcsr_i_refresh_rule rule = begun();
    cr_assert_eq(advice(&rule, ROWS / 2), DCSR_I_REFRESH);
    cr_assert_eq(advice(&rule, ROWS / 2 + 1), DCSR_I_BUILD_AS_MOST_CHANGED);
    cr_assert_eq(advice(&rule, ROWS), DCSR_I_BUILD_AS_MOST_CHANGED);
    dcsr_i_refresh_built(&rule, 3);
    cr_assert_eq(advice(&rule, ROWS), DCSR_I_REFRESH);
    dcsr_i_refresh_took(&rule, ROWS, 2.9); /* building took longer the last time */
    cr_assert_eq(advice(&rule, ROWS), DCSR_I_REFRESH);
    dcsr_i_refresh_begin(&rule, 3); /* another format */
    cr_assert_eq(advice(&rule, ROWS), DCSR_I_BUILD_AS_MOST_CHANGED);
}
