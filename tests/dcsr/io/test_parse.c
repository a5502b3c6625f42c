/* test_parse.c: scanning numbers, against strtod() and by hand. */
#include "dcsr/io/parse.h"
#include "tests/support/support.h"
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Scans the text, which must be one number to its end, and compares bits with strtod(). */
static void check_double(const char *number)
{
    char *line = test_allocate(strlen(number) + 2, 1);
    sprintf(line, "%s\n", number);
    const char *p = line;
    double got, expected = strtod(number, NULL);
    dcsr_i_scanned scanned = dcsr_i_scan_double(&p, &got);
    if (isinf(expected) && !strpbrk(number, "iI")) {
        cr_assert_eq(scanned, DCSR_I_NO_ROOM, "%.100s is too large, but was accepted", number);
    } else {
        cr_assert_eq(scanned, DCSR_I_NUMBER, "%.100s was refused", number);
        cr_assert_eq(*p, '\n', "%.100s was not scanned to its end", number);
        cr_assert(!memcmp(&got, &expected, sizeof got), "%.100s gave %a, not %a", number, got, expected);
    }
    free(line);
}

Test(parse, doubles_by_hand)
{
    static const char *const numbers[] = {"0",
                                          "-0",
                                          "0.0",
                                          "-0.000e5",
                                          "0e999999",
                                          "1",
                                          "-1",
                                          "+1",
                                          "1.",
                                          ".5",
                                          "-.5",
                                          "1e3",
                                          "1E+3",
                                          "1e-3",
                                          "123.456",
                                          "9007199254740993",
                                          "9007199254740992.5",
                                          "9007199254740993e0",
                                          "18446744073709551615",
                                          "18446744073709551616",
                                          "9999999999999999999",
                                          "99999999999999999999",
                                          "1e22",
                                          "1e23",
                                          "1e27",
                                          "1e28",
                                          "1e-27",
                                          "1e-28",
                                          "8.5e-27",
                                          "1.7976931348623157e308",
                                          "1.7976931348623158e308",
                                          "1.7976931348623159e308",
                                          "1e309",
                                          "-1e400",
                                          "1e99999999999999999999",
                                          "2.2250738585072014e-308",
                                          "2.2250738585072011e-308",
                                          "4.9406564584124654e-324",
                                          "2.4703282292062327e-324",
                                          "2.4703282292062328e-324",
                                          "1e-400",
                                          "1e-99999999999999999999",
                                          "0.1",
                                          "0.3",
                                          "1e-1",
                                          "3.14159265358979323846264338327950288",
                                          "000000000000000000000000000012345.5",
                                          "0.00000000000000000000000000000000000000000012345",
                                          "1000000000000000000000000000000",
                                          "inf",
                                          "-inf",
                                          "INF",
                                          "Infinity",
                                          "-INFINITY",
                                          "5e-1",
                                          "1e00000000000000000000000000000001"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) check_double(numbers[i]);
}

Test(parse, nan_keeps_its_sign)
{
    static const char *const numbers[] = {"nan\n", "NaN\n", "+nan\n", "-nan\n"};
    for (int i = 0; i < 4; i++) {
        const char *p = numbers[i];
        double value;
        cr_assert_eq(dcsr_i_scan_double(&p, &value), DCSR_I_NUMBER);
        cr_assert(isnan(value) && *p == '\n');
        cr_assert_eq(!!signbit(value), i == 3);
    }
}

Test(parse, not_numbers)
{
    static const char *const texts[] = {"\n",   "-\n",  ".\n",   "-.\n", "e5\n", "abc\n",
                                        "in\n", "na\n", "--1\n", ",\n",  "+-1\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *p = texts[i];
        double value;
        cr_assert_eq(dcsr_i_scan_double(&p, &value), DCSR_I_NO_NUMBER, "%s was accepted", texts[i]);
        cr_assert_eq(p, texts[i]);
    }
    static const char *const prefixes[] = {"1e\n", "1e+\n", "1e-x\n", "1x\n", "0x10\n", "1.5.5\n", "1d5\n"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        const char *p = prefixes[i];
        double value;
        cr_assert_eq(dcsr_i_scan_double(&p, &value), DCSR_I_NUMBER);
        cr_assert_neq(*p, '\n', "%s was accepted whole", prefixes[i]);
    }
}

/* As printed with 17 digits, with any number of digits, with any exponent, and just beside the middle between
 * two doubles. */
Test(parse, doubles_at_random)
{
    test_seeds seeds = test_seeds_from_environment(4);
    for (uint64_t s = 0; s < seeds.rounds; s++) {
        test_random random = {seeds.first + s};
        test_seed_begins(seeds.first + s);
        for (int i = 0; i < TEST_SIZE(50000, 20000, 10000); i++) {
            uint64_t bits = test_random_next(&random);
            if (test_random_once_in(&random, 2)) /* mostly moderate exponents */
                bits = (bits & ~(UINT64_C(0x7ff) << 52)) | (1023 - 40 + test_random_below(&random, 80)) << 52;
            double value;
            memcpy(&value, &bits, sizeof value);
            if (isnan(value) || isinf(value)) continue;
            char text[1200];
            snprintf(text, sizeof text, "%.*g", (int)test_random_below(&random, 25) + 1, value);
            check_double(text);
            snprintf(text, sizeof text, "%.17g", value);
            check_double(text);
            snprintf(text, sizeof text, "%" PRIu64 "e%d",
                     test_random_next(&random) >> test_random_below(&random, 64),
                     (int)test_random_below(&random, 700) - 350);
            check_double(text);
            snprintf(text, sizeof text, "%" PRIu64 ".%0*" PRIu64 "e%d", test_random_below(&random, 1000),
                     (int)test_random_below(&random, 21),
                     test_random_next(&random) >> test_random_below(&random, 64),
                     (int)test_random_below(&random, 60) - 30);
            check_double(text);
        }
    }
}

/* The middle between two neighbours is exact in decimal: half of the fraction's last bit. Followed by zeros
 * and a one it is above. */
Test(parse, middles_between_doubles)
{
    test_seeds seeds = test_seeds_from_environment(2);
    for (uint64_t s = 0; s < seeds.rounds; s++) {
        test_random random = {seeds.first + s};
        test_seed_begins(seeds.first + s);
        for (int i = 0; i < TEST_SIZE(3000, 1000, 1000); i++) {
            uint64_t mantissa = (test_random_next(&random) >> 11) | UINT64_C(1) << 52;
            long double middle =
                ldexpl((long double)mantissa + 0.5L, (int)test_random_below(&random, 160) - 132);
            char text[2600];
            int length =
                snprintf(text, sizeof text, "%.400Lf", middle); /* exact: fewer than 400 places are needed */
            check_double(text);
            for (int zeros = 0; zeros < 1000; zeros++) text[length++] = '0';
            text[length] = 0;
            check_double(text);
            text[length - 1] = '1';
            check_double(text);
        }
    }
}

Test(parse, integers)
{
    static const struct {
        const char *text;
        dcsr_i_scanned scanned;
        int64_t value;
    } cases[] = {
        {"0\n", DCSR_I_NUMBER, 0},
        {"-0\n", DCSR_I_NUMBER, 0},
        {"+7\n", DCSR_I_NUMBER, 7},
        {"-7 \n", DCSR_I_NUMBER, -7},
        {"9223372036854775807\n", DCSR_I_NUMBER, INT64_MAX},
        {"-9223372036854775808\n", DCSR_I_NUMBER, INT64_MIN},
        {"9223372036854775808\n", DCSR_I_NO_ROOM, 0},
        {"-9223372036854775809\n", DCSR_I_NO_ROOM, 0},
        {"18446744073709551616\n", DCSR_I_NO_ROOM, 0},
        {"99999999999999999999999999999\n", DCSR_I_NO_ROOM, 0},
        {"0000000000000000000000000000000000012\n", DCSR_I_NUMBER, 12},
        {"-\n", DCSR_I_NO_NUMBER, 0},
        {"\n", DCSR_I_NO_NUMBER, 0},
        {"x\n", DCSR_I_NO_NUMBER, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *p = cases[i].text;
        int64_t value = 0;
        cr_assert_eq(dcsr_i_scan_int64(&p, &value), cases[i].scanned, "%s", cases[i].text);
        cr_assert_eq(value, cases[i].value, "%s gave %" PRId64, cases[i].text, value);
    }
}

Test(parse, unsigned_numbers)
{
    uint64_t value;
    const char *text = "18446744073709551615,";
    cr_assert_eq(*dcsr_i_scan_unsigned(text, &value), ',');
    cr_assert_eq(value, UINT64_MAX);
    text = "18446744073709551616 ";
    cr_assert_eq(*dcsr_i_scan_unsigned(text, &value), ' ');
    cr_assert_eq(value, UINT64_MAX);
    text = "00000000000000000000000042\n";
    cr_assert_eq(*dcsr_i_scan_unsigned(text, &value), '\n');
    cr_assert_eq(value, 42);
    text = "-1\n";
    cr_assert_eq(dcsr_i_scan_unsigned(text, &value), text);
}

Test(parse, quoting)
{
    char quoted[DCSR_I_QUOTED];
    cr_assert_str_eq(dcsr_i_quote(quoted, "abc def\n"), "'abc'");
    cr_assert_str_eq(dcsr_i_quote(quoted, ",x\n"), "','");
    cr_assert_str_eq(dcsr_i_quote(quoted, "\n"), "the end of the line");
    cr_assert_str_eq(dcsr_i_quote(quoted, "a\x01\xff\n"), "'a?"
                                                          "?'");
    const char *word = dcsr_i_quote(
        quoted, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n");
    cr_assert_lt(strlen(word), (size_t)DCSR_I_QUOTED);
    cr_assert_str_eq(word + strlen(word) - 4, "...'");
}
