/* out_file.h: a file that appears whole or not at all (internal).
 *
 * What is written is gathered in a buffer, compressed when the name ends in .gz, and written to a file in the
 * target's folder that has no name, or where the file system cannot do that a temporary one; dcsr_i_output_close()
 * makes it durable and puts it in place. A failure on the way is kept
 * and reported then; what is printed after it goes nowhere. A stream (a pipe, a device, /dev/stdout and its
 * kin) is written straight. */
#ifndef DCSR_OUT_FILE_H
#define DCSR_OUT_FILE_H

#include <dcsr/context.h>
#include "dcsr/io/gzip.h"
#include <limits.h>

enum {
    DCSR_I_OUTPUT_BUFFER = 1 << 18,
    DCSR_I_OUTPUT_ROOM = 256 /* characters that dcsr_i_output_room() has room for */
};

typedef struct dcsr_i_output {
    dcsr_context *context;
    const char *path;   /* as given, for messages */
    dcsr_status status; /* the first failure */
    int descriptor;
    bool straight; /* into a stream: nothing is replaced */
    bool compressed;
    z_stream stream;
    char *buffer, *packed;
    size_t used;
    char target[PATH_MAX], temporary[PATH_MAX]; /* empty: it has no name */
} dcsr_i_output;

/* Whether the path names something to write to that is no file on a disk. */
bool dcsr_i_is_stream(const char *path);

/* On success dcsr_i_output_close() must follow. Errors: IO, OUT_OF_MEMORY. */
dcsr_status dcsr_i_output_open(dcsr_i_output *out, dcsr_context *context, const char *path);

/* For tests: files have temporary names from here on, as on a file system that does not know of others. */
void dcsr_i_output_use_names(bool use);

/* A place for DCSR_I_OUTPUT_ROOM characters; `end` says how many of them are taken. */
char *dcsr_i_output_room(dcsr_i_output *out);
static inline void dcsr_i_output_take(dcsr_i_output *out, const char *end)
{
    out->used = (size_t)(end - out->buffer);
}

/* Writes any number of bytes. */
void dcsr_i_output_put(dcsr_i_output *out, const void *bytes, size_t length);

/* Ends the output: the file is there afterwards, or, when something has failed, here or before, what was
 * there before still is. Returns the first failure. */
dcsr_status dcsr_i_output_close(dcsr_i_output *out);

#endif
