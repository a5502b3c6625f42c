/* parse.c: numbers in text.
 *
 * A decimal number is mantissa x 10^e with an integer mantissa. When that has at most 19 digits (so it fits
 * 64 bits) and |e| <= 27 (so 5^|e| fits 63), the product or quotient by 5^|e| is computed in 128 bits,
 * exactly but for a remainder that is kept as one sticky bit; converting that to double rounds once, to
 * nearest even, and the 2^e that is left is exact. All that a program prints with 17 digits and a moderate
 * exponent goes this way. The rest goes through strtod(), written without a decimal point, as digits and
 * exponent, so that no locale matters. */
#include "dcsr/io/parse.h"
#include "dcsr/base/error.h"
#include "dcsr/base/random.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXACT_DIGITS = 19, /* 10^19 < 2^64 */
    EXACT_POWER = 27,  /* 5^27 < 2^63 */
    KEPT_DIGITS =
        800, /* a double halfway between two others has at most 767; behind that only "more or not" counts */
    MOST_EXPONENT = 99999
};

static const uint64_t power_of_5[EXACT_POWER + 1] = {1,
                                                     5,
                                                     25,
                                                     125,
                                                     625,
                                                     3125,
                                                     15625,
                                                     78125,
                                                     390625,
                                                     1953125,
                                                     9765625,
                                                     48828125,
                                                     244140625,
                                                     1220703125,
                                                     6103515625,
                                                     30517578125,
                                                     152587890625,
                                                     762939453125,
                                                     3814697265625,
                                                     19073486328125,
                                                     95367431640625,
                                                     476837158203125,
                                                     2384185791015625,
                                                     11920928955078125,
                                                     59604644775390625,
                                                     298023223876953125,
                                                     1490116119384765625,
                                                     7450580596923828125};

const char *dcsr_i_scan_long_unsigned(const char *p, uint64_t *value)
{
    uint64_t v = 0;
    bool fits = true;
    for (; dcsr_i_is_digit(*p); p++)
        fits = fits && !__builtin_mul_overflow(v, 10, &v) &&
               !__builtin_add_overflow(v, (uint64_t)(*p - '0'), &v);
    *value = fits ? v : UINT64_MAX;
    return p;
}

dcsr_i_scanned dcsr_i_scan_int64(const char **p, int64_t *value)
{
    const char *start = *p;
    bool negative = *start == '-';
    if (negative || *start == '+') start++;
    uint64_t magnitude;
    const char *end = dcsr_i_scan_unsigned(start, &magnitude);
    if (end == start) return DCSR_I_NO_NUMBER;
    if (magnitude > (uint64_t)INT64_MAX + negative) return DCSR_I_NO_ROOM;
    *p = end;
    *value = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return DCSR_I_NUMBER;
}

/* mantissa x 10^exponent, rounded once; mantissa is not 0 and |exponent| <= EXACT_POWER. */
static double scale_exactly(uint64_t mantissa, int exponent)
{
    if (exponent >= 0) {
        dcsr_i_uint128 product = (dcsr_i_uint128)mantissa * power_of_5[exponent];
        return ldexp((double)product, exponent);
    }
    /* Shifted up so far that the quotient has more than 60 bits, the sticky bit is far below the last that a
     * double keeps. */
    int shift = __builtin_clzll(mantissa);
    dcsr_i_uint128 dividend = (dcsr_i_uint128)(mantissa << shift) << 62;
    uint64_t divisor = power_of_5[-exponent];
    dcsr_i_uint128 quotient = dividend / divisor;
    quotient |= quotient * divisor != dividend;
    return ldexp((double)quotient, exponent - shift - 62);
}

/* The same for digits of any number, from `digits` to `end`, where a '.' may stand among them. */
static double scale_slowly(const char *digits, const char *end, int64_t exponent)
{
    char buffer[KEPT_DIGITS + 32];
    int kept = 0;
    bool more = false;
    for (const char *p = digits; p < end; p++) {
        if (*p == '.' || (*p == '0' && !kept)) continue;
        if (kept < KEPT_DIGITS) {
            buffer[kept++] = *p;
        } else {
            more = more || *p != '0';
            exponent++;
        }
    }
    if (!kept) return 0;
    if (more) buffer[kept - 1] = buffer[kept - 1] == '0' ? '1' : buffer[kept - 1];
    if (exponent > MOST_EXPONENT) exponent = MOST_EXPONENT;
    if (exponent < -MOST_EXPONENT) exponent = -MOST_EXPONENT;
    snprintf(buffer + kept, sizeof buffer - (size_t)kept, "e%d", (int)exponent);
    return strtod(buffer, NULL);
}

/* [e|E][+-]digits at p, if there; what is huge stays huge. */
static const char *scan_exponent(const char *p, int64_t *exponent)
{
    *exponent = 0;
    if (*p != 'e' && *p != 'E') return p;
    const char *digits = p + 1;
    bool negative = *digits == '-';
    if (negative || *digits == '+') digits++;
    uint64_t magnitude;
    const char *end = dcsr_i_scan_unsigned(digits, &magnitude);
    if (end == digits) return p;
    const uint64_t huge = UINT64_C(1) << 60; /* far beyond the number of digits of any text */
    if (magnitude > huge) magnitude = huge;
    *exponent = negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return end;
}

static dcsr_i_scanned scan_special(const char **p, const char *start, bool negative, double *value)
{
    static const struct {
        const char *word;
        double value;
    } special[] = {{"infinity", INFINITY}, {"inf", INFINITY}, {"nan", NAN}};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        size_t length = strlen(special[i].word);
        if (dcsr_i_same_letters(start, special[i].word, length)) {
            *p = start + length;
            *value = copysign(special[i].value, negative ? -1 : 1);
            return DCSR_I_NUMBER;
        }
    }
    return DCSR_I_NO_NUMBER;
}

dcsr_i_scanned dcsr_i_scan_double(const char **p, double *value)
{
    const char *start = *p;
    bool negative = *start == '-';
    if (negative || *start == '+') start++;

    uint64_t mantissa = 0; /* wraps around when there are too many digits; then it is not used */
    const char *end = start;
    for (; dcsr_i_is_digit(*end); end++) mantissa = mantissa * 10 + (uint64_t)(*end - '0');
    int64_t digits = end - start, fraction = 0;
    if (*end == '.') {
        const char *point = end++;
        for (; dcsr_i_is_digit(*end); end++) mantissa = mantissa * 10 + (uint64_t)(*end - '0');
        fraction = end - point - 1;
        digits += fraction;
    }
    if (!digits) return scan_special(p, start, negative, value);
    int64_t exponent;
    const char *digits_end = end;
    end = scan_exponent(end, &exponent);
    exponent -= fraction;

    if (digits > EXACT_DIGITS)
        for (const char *zero = start; *zero == '0' || *zero == '.'; zero++) digits -= *zero == '0';
    double magnitude;
    if (digits <= EXACT_DIGITS && mantissa == 0)
        magnitude = 0;
    else if (digits <= EXACT_DIGITS && exponent >= -EXACT_POWER && exponent <= EXACT_POWER)
        magnitude = scale_exactly(mantissa, (int)exponent);
    else
        magnitude = scale_slowly(start, digits_end, exponent);
    if (isinf(magnitude)) return DCSR_I_NO_ROOM;
    *p = end;
    *value = negative ? -magnitude : magnitude;
    return DCSR_I_NUMBER;
}

bool dcsr_i_same_letters(const char *p, const char *lower, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        char c = p[i] >= 'A' && p[i] <= 'Z' ? (char)(p[i] + ('a' - 'A')) : p[i];
        if (c != lower[i]) return false;
    }
    return true;
}

const char *dcsr_i_word_end(const char *p)
{
    while (!dcsr_i_is_blank(*p) && *p != ',' && *p != '\n') p++;
    return p;
}

const char *dcsr_i_quote(char quoted[DCSR_I_QUOTED], const char *p)
{
    if (*p == '\n') return "the end of the line";
    const char *end = *p == ',' ? p + 1 : dcsr_i_word_end(p);
    size_t length = (size_t)(end - p), shown = length < DCSR_I_QUOTED - 6 ? length : DCSR_I_QUOTED - 6;
    quoted[0] = '\'';
    for (size_t i = 0; i < shown; i++) quoted[i + 1] = p[i] > ' ' && p[i] < 127 ? p[i] : '?';
    strcpy(quoted + 1 + shown, shown < length ? "...'" : "'");
    return quoted;
}

dcsr_status dcsr_i_fail_at(const char *name, uint64_t line, const char *format, ...)
{
    char reason[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    return dcsr_i_fail(DCSR_ERROR_FORMAT, "%s:%llu: %s", name, (unsigned long long)line, reason);
}
