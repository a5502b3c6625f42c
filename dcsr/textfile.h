/* textfile.h: a whole file in memory, as text (internal). */
#ifndef DCSR_TEXTFILE_H
#define DCSR_TEXTFILE_H

#include "dcsr/reader.h"

typedef struct dcsr_i_text {
    dcsr_context *context;
    char *data; /* ends in '\n', which is added where the file does not, unless it is empty */
    size_t length;
    size_t capacity;
} dcsr_i_text;

/* Reads a file, and inflates it when its name ends in .gz. Of options only the progress counts; it may be
 * NULL. On success the text must be freed. Errors: IO, FORMAT (not a gzip file though the name says so or the
 * other way round, truncated, damaged), OUT_OF_MEMORY. */
dcsr_status dcsr_i_text_load(dcsr_i_text *text, dcsr_context *context, const char *path,
                             const dcsr_read_options *options);
/* The same form for what is in memory already. */
dcsr_status dcsr_i_text_copy(dcsr_i_text *text, dcsr_context *context, const char *data, size_t length);
void dcsr_i_text_free(dcsr_i_text *text);

/* Whether data begin as a gzip file does. */
bool dcsr_i_is_gzip(const void *data, size_t length);

#endif
