/* parse.h: numbers in text, and errors that name a line (internal).
 *
 * Every text ends in '\n' (the loader sees to that), so nothing here looks for the end of the text: a scan
 * stops at the end of its line at the latest. All of it is independent of the locale. */
#ifndef DCSR_PARSE_H
#define DCSR_PARSE_H

#include <dcsr/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool dcsr_i_is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* The carriage return of a line that ends in CR LF counts as a blank. */
static inline bool dcsr_i_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static inline const char *dcsr_i_skip_blanks(const char *p)
{
    while (dcsr_i_is_blank(*p)) p++;
    return p;
}

/* The digits of a number that may be too long for the loop below. */
const char *dcsr_i_scan_long_unsigned(const char *p, uint64_t *value);

/* Scans digits and returns where they end; p itself when there are none. What does not fit becomes
 * UINT64_MAX. */
static inline const char *dcsr_i_scan_unsigned(const char *p, uint64_t *value)
{
    const char *start = p;
    uint64_t v = 0;
    for (; dcsr_i_is_digit(*p); p++) v = v * 10 + (uint64_t)(*p - '0');
    *value = v;
    return p - start <= 19 ? p : dcsr_i_scan_long_unsigned(start, value);
}

typedef enum dcsr_i_scanned { DCSR_I_NUMBER, DCSR_I_NO_NUMBER, DCSR_I_NO_ROOM } dcsr_i_scanned;

/* Scans [+-]digits at *p and moves *p behind it. NO_ROOM: it does not fit the type. */
dcsr_i_scanned dcsr_i_scan_int64(const char **p, int64_t *value);

/* Scans a decimal number at *p, `inf`, `infinity` or `nan` (in any case, signed), rounded correctly to the
 * nearest double, and moves *p behind it. NO_ROOM: a finite number beyond the largest double. */
dcsr_i_scanned dcsr_i_scan_double(const char **p, double *value);

/* Whether the next `length` characters are those of `lower`, in whatever case. Stops at the first that
 * differs. */
bool dcsr_i_same_letters(const char *p, const char *lower, size_t length);

/* The end of the word at p: a blank, a comma or the end of the line. */
const char *dcsr_i_word_end(const char *p);

/* The word at p for a message: quoted, shortened, without control characters; "the end of the line" when
 * there is none. */
enum { DCSR_I_QUOTED = 48 };
const char *dcsr_i_quote(char quoted[DCSR_I_QUOTED], const char *p);

/* FORMAT with the message "name:line: reason". */
__attribute__((format(printf, 3, 4))) dcsr_status dcsr_i_fail_at(const char *name, uint64_t line,
                                                                 const char *format, ...);

#endif
