/* fields.h: the lines of a log, taken apart into fields (internal).
 *
 * Where no separator is said, blanks and tabs separate, with one comma among them, as in edge lists. A
 * separator that is said separates each time, so that two of them hold an empty field. A field that begins with
 * a double quote ends with the next one, and holds separators; two quotes in it stand for one. Verbatim fields, those
 * of Souffle's facts, have neither quotes nor blanks that do not count: all between two separators is the name. */
#ifndef DCSR_FIELDS_H
#define DCSR_FIELDS_H

#include <dcsr/reader.h>

enum { DCSR_I_MOST_COLUMN = 255, DCSR_I_REASON = 200 };

typedef enum dcsr_i_role { DCSR_I_NO_ROLE, DCSR_I_ROW, DCSR_I_COLUMN, DCSR_I_VALUE, DCSR_I_TIME } dcsr_i_role;

typedef struct dcsr_i_fields {
    uint8_t role[DCSR_I_MOST_COLUMN + 1]; /* of field number n, from 1; a dcsr_i_role */
    uint32_t last;                        /* the last that has one */
    char separator;                       /* 0: none is said */
    bool strict;                          /* nothing may come after that */
    bool named;                           /* of row and column the words are taken */
    bool timed;
    bool verbatim; /* with a separator that is said */
} dcsr_i_fields;

typedef struct dcsr_i_line_fields {
    uint64_t row, col;
    dcsr_text names[2];
    double value, time;
} dcsr_i_line_fields;

/* Takes the line at p apart and returns its end, or NULL with the reason. Quotes in a name that stand for one
 * become one, in the text itself. */
const char *dcsr_i_fields_parse(const dcsr_i_fields *fields, const char *p, dcsr_i_line_fields *line,
                                char reason[DCSR_I_REASON]);

/* How many fields the line at p has; what is wrong in it ends them. */
uint32_t dcsr_i_fields_count(const dcsr_i_fields *fields, const char *p);

/* Scans a time from p to end: seconds, or ISO 8601, as seconds since 1970. */
bool dcsr_i_scan_time(const char *p, const char *end, double *seconds);

#endif
