/* fields.c: the lines of a log, taken apart into fields. */
#include "dcsr/io/fields.h"
#include "dcsr/io/parse.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define COMPLAIN(...) (snprintf(reason, DCSR_I_REASON, __VA_ARGS__), (const char *)NULL)

/* ---- Fields ---- */

/* The characters of a field; of a quoted one those between the quotes. */
typedef struct field {
    char *begin, *end;
    bool quoted, doubled; /* it has quotes that stand for one */
} field;

static bool is_gap(const dcsr_i_fields *fields, char c)
{
    return dcsr_i_is_blank(c) && c != fields->separator && !fields->verbatim;
}

static const char *take_quoted(const dcsr_i_fields *fields, const char *p, field *f, char *reason)
{
    const char *q = p + 1;
    *f = (field){.begin = (char *)(uintptr_t)q, .quoted = true};
    for (;; q += 2) {
        while (*q != '"' && *q != '\n') q++;
        if (*q == '\n') return COMPLAIN("a quoted field does not end on its line");
        if (q[1] != '"') break;
        f->doubled = true;
    }
    f->end = (char *)(uintptr_t)q++;
    const bool ends =
        *q == '\n' || dcsr_i_is_blank(*q) || *q == (fields->separator ? fields->separator : ',');
    if (!ends) return COMPLAIN("'%c' after a quoted field", *q > ' ' && *q < 127 ? *q : '?');
    while (is_gap(fields, *q)) q++;
    return q;
}

/* All up to the separator, or the end of a line of either kind. */
static const char *take_verbatim(const dcsr_i_fields *fields, const char *p, field *f)
{
    const char *q = p;
    while (*q != fields->separator && *q != '\n') q++;
    const bool carriage = *q == '\n' && q > p && q[-1] == '\r';
    *f = (field){.begin = (char *)(uintptr_t)p, .end = (char *)(uintptr_t)(q - carriage)};
    return q;
}

/* The field at p; returns what is behind it and the blanks after it: the separator, or the end of the line. */
static const char *take_field(const dcsr_i_fields *fields, const char *p, field *f, char *reason)
{
    if (fields->verbatim) return take_verbatim(fields, p, f);
    while (is_gap(fields, *p)) p++;
    if (*p == '"') return take_quoted(fields, p, f, reason);
    const char *q = p;
    if (fields->separator)
        while (*q != fields->separator && *q != '\n') q++;
    else
        q = dcsr_i_word_end(p);
    *f = (field){.begin = (char *)(uintptr_t)p, .end = (char *)(uintptr_t)q};
    while (f->end > f->begin && is_gap(fields, f->end[-1])) f->end--;
    while (is_gap(fields, *q)) q++;
    return q;
}

/* Behind the separator at q; q itself where there is none but blanks, which take_field() passes. */
static const char *pass_separator(const dcsr_i_fields *fields, const char *q)
{
    return *q == (fields->separator ? fields->separator : ',') ? q + 1 : q;
}

/* Its quotes that stand for one become one. */
static dcsr_text name_of(field *f)
{
    char *to = f->begin;
    if (f->doubled) {
        for (const char *from = f->begin; from < f->end; from++) {
            *to++ = *from;
            if (*from == '"') from++;
        }
        f->end = to;
    }
    return (dcsr_text){f->begin, (size_t)(f->end - f->begin)};
}

/* ---- Times ---- */

/* `digits` digits at *p, which is moved behind them. */
static bool take_digits(const char **p, const char *end, int digits, int *number)
{
    *number = 0;
    for (int d = 0; d < digits; d++, ++*p) {
        if (*p == end || !dcsr_i_is_digit(**p)) return false;
        *number = *number * 10 + (**p - '0');
    }
    return true;
}

static bool take_char(const char **p, const char *end, char c)
{
    if (*p == end || **p != c) return false;
    ++*p;
    return true;
}

/* Days from 1970-01-01 in the Gregorian calendar: years of 365 days that begin in March, so that the day that
 * leap years add is their last; the days before a month m (0: March) are (153 m + 2) / 5. */
static bool days_of(int year, int month, int day, int64_t *days)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = (year % 4 == 0 && year % 100) || year % 400 == 0;
    if (month < 1 || month > 12 || day < 1 || day > lengths[month - 1] + (month == 2 && leap)) return false;
    const int64_t y = year - (month <= 2), m = (month + 9) % 12;
    *days = 365 * y + (y >= 0 ? y / 4 - y / 100 + y / 400 : 0) + (153 * m + 2) / 5 + day - 1 - 719468;
    return true;
}

/* Nothing, Z, or +hh:mm, +hhmm, +hh. */
static bool take_zone(const char *p, const char *end, int *minutes)
{
    int hours = 0, rest = 0;
    *minutes = 0;
    if (p == end || (end - p == 1 && (*p == 'Z' || *p == 'z'))) return true;
    if (*p != '+' && *p != '-') return false;
    const bool west = *p++ == '-';
    if (!take_digits(&p, end, 2, &hours)) return false;
    take_char(&p, end, ':');
    if (p != end && !take_digits(&p, end, 2, &rest)) return false;
    *minutes = (west ? -1 : 1) * (60 * hours + rest);
    return p == end && hours < 24 && rest < 60;
}

/* YYYY-MM-DD, and after it T or a blank and hh:mm[:ss[.fraction]] with a zone; UTC without one. */
static bool scan_calendar(const char *p, const char *end, double *seconds)
{
    int year, month, day, hour = 0, minute = 0, second = 0, zone = 0;
    double fraction = 0, unit = 0.1;
    int64_t days;
    if (!take_digits(&p, end, 4, &year) || !take_char(&p, end, '-') || !take_digits(&p, end, 2, &month) ||
        !take_char(&p, end, '-') || !take_digits(&p, end, 2, &day) || !days_of(year, month, day, &days))
        return false;
    if (p != end) {
        if (*p != 'T' && *p != 't' && *p != ' ') return false;
        p++;
        if (!take_digits(&p, end, 2, &hour) || !take_char(&p, end, ':') || !take_digits(&p, end, 2, &minute))
            return false;
        if (take_char(&p, end, ':')) {
            if (!take_digits(&p, end, 2, &second)) return false;
            if (p != end && (*p == '.' || *p == ','))
                for (p++; p != end && dcsr_i_is_digit(*p); p++, unit /= 10) fraction += unit * (*p - '0');
        }
        if (hour > 24 || minute > 59 || second > 60 || !take_zone(p, end, &zone)) return false;
    }
    *seconds = (double)(days * 86400 + hour * 3600 + (minute - zone) * 60 + second) + fraction;
    return true;
}

bool dcsr_i_scan_time(const char *p, const char *end, double *seconds)
{
    const char *stop = p;
    if (end - p > 4 && p[4] == '-' && dcsr_i_is_digit(*p)) return scan_calendar(p, end, seconds);
    return dcsr_i_scan_double(&stop, seconds) == DCSR_I_NUMBER && stop == end && isfinite(*seconds);
}

/* ---- Lines ---- */

static bool take_index(const field *f, uint64_t *index)
{
    return dcsr_i_scan_unsigned(f->begin, index) == f->end;
}

static const char *complain_of(const field *f, uint32_t column, const char *wanted, char *reason)
{
    char shown[DCSR_I_QUOTED];
    const size_t length = (size_t)(f->end - f->begin), room = sizeof shown - 4;
    const size_t part = length < room ? length : room;
    for (size_t i = 0; i < part; i++) shown[i] = f->begin[i] >= ' ' && f->begin[i] < 127 ? f->begin[i] : '?';
    strcpy(shown + part, part < length ? "..." : "");
    return COMPLAIN("column %u: expected %s, found '%s'", (unsigned)column, wanted, shown);
}

/* Takes what field number `column` is for. */
static const char *take_role(const dcsr_i_fields *fields, uint32_t column, field *f, dcsr_i_line_fields *line,
                             char *reason)
{
    const dcsr_i_role role = (dcsr_i_role)fields->role[column];
    const char *stop = f->begin;
    if (f->begin == f->end) return COMPLAIN("column %u is empty", (unsigned)column);
    switch (role) {
    case DCSR_I_ROW:
    case DCSR_I_COLUMN:
        if (fields->named)
            line->names[role - DCSR_I_ROW] = name_of(f);
        else if (!take_index(f, role == DCSR_I_ROW ? &line->row : &line->col))
            return complain_of(f, column, "a number from 0 on (names are taken with a dictionary)", reason);
        return f->end;
    case DCSR_I_VALUE:
        if (dcsr_i_scan_double(&stop, &line->value) == DCSR_I_NUMBER && stop == f->end) return f->end;
        return complain_of(f, column, "a value, a number", reason);
    default:
        if (dcsr_i_scan_time(f->begin, f->end, &line->time)) return f->end;
        return complain_of(f, column, "a time, in seconds or like 2026-01-31T23:59:59.5Z", reason);
    }
}

const char *dcsr_i_fields_parse(const dcsr_i_fields *fields, const char *p, dcsr_i_line_fields *line,
                                char reason[DCSR_I_REASON])
{
    line->value = 1;
    for (uint32_t column = 1; column <= fields->last; column++) {
        field f;
        while (is_gap(fields, *p)) p++;
        if (*p == '\n' && (column == 1 || fields->separator == 0 || p[-1] != fields->separator))
            return COMPLAIN("%u column%s, but column %u is wanted", (unsigned)(column - 1),
                            column == 2 ? "" : "s", (unsigned)fields->last);
        p = take_field(fields, p, &f, reason);
        if (!p) return NULL;
        if (fields->role[column] && !take_role(fields, column, &f, line, reason)) return NULL;
        if (column < fields->last) p = pass_separator(fields, p);
    }
    if (*p == '\n') return p;
    if (fields->strict) return COMPLAIN("more than %u columns; say which are meant", (unsigned)fields->last);
    return (const char *)rawmemchr(p, '\n');
}

uint32_t dcsr_i_fields_count(const dcsr_i_fields *fields, const char *p)
{
    char reason[DCSR_I_REASON];
    uint32_t count = 0;
    while (is_gap(fields, *p)) p++;
    for (bool more = *p != '\n'; more && count <= DCSR_I_MOST_COLUMN; count++) {
        field f;
        const char *q = take_field(fields, p, &f, reason);
        if (!q) break;
        p = pass_separator(fields, q);
        more = *p != '\n' || p != q; /* an empty last field is one */
    }
    return count;
}
