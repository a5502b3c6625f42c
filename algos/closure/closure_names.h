/* closure_names.h: texts by number, and lines of files (internal). */
#ifndef DCSR_CLOSURE_NAMES_H
#define DCSR_CLOSURE_NAMES_H

#include "algos/closure/work.h"
#include <zlib.h>

#define DCSR_I_NO_NAME UINT32_MAX

typedef struct dcsr_i_names {
    char *text; /* name after name, each with a zero behind it */
    uint64_t length, room;
    uint64_t *begin;
    uint32_t count, most;
    uint32_t *slot; /* a hash table of numbers + 1 */
    uint32_t slots;
} dcsr_i_names;

static inline const char *dcsr_i_name(const dcsr_i_names *names, uint32_t number)
{
    return names->text + names->begin[number];
}
/* The number of a name; NO_NAME if it is none. */
uint32_t dcsr_i_names_find(const dcsr_i_names *names, const char *name);
/* The same, made if need be. */
dcsr_status dcsr_i_names_add(dcsr_i_names *names, dcsr_i_work *memory, const char *name, uint32_t *number);

/* Whether a name is that of a family: it ends in _i. */
bool dcsr_i_is_family(const char *name);

/* The words of a line, which are cut out of it: up to `most`; returns how many there are, which may be more. Each
 * separator ends one; where it is 0, any number of blanks and tabs does. */
int dcsr_i_split(char *line, char separator, char **word, int most);

/* A file, line by line, or a text. Of a line the end is cut off. */
typedef struct dcsr_i_text_lines {
    const char *name;
    uint64_t number; /* of the line that was read last, from 1 on */
    gzFile file;
    const char *text; /* what is left of it, without a file */
    char line[4096];
} dcsr_i_text_lines;
dcsr_status dcsr_i_lines_open(dcsr_i_text_lines *lines, const char *path);
/* *more is false behind the last. Errors: IO, FORMAT (longer than any line should be). */
dcsr_status dcsr_i_lines_next(dcsr_i_text_lines *lines, bool *more);
void dcsr_i_lines_close(dcsr_i_text_lines *lines);

/* Fails with "FILE:LINE: sentence". */
#define DCSR_I_LINES_FAIL(lines, format, ...)                              \
    dcsr_thread_fail(DCSR_ERROR_FORMAT, "%s:%llu: " format, (lines)->name, \
                     (unsigned long long)(lines)->number, __VA_ARGS__)

#endif
