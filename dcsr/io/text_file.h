/* text_file.h: a file as text in memory, read once and from front to back (internal).
 *
 *      open --> more, more ... as far as someone wants to look --> finish --> text --> close
 *
 * What has been read stays in the text, so a pipe can be looked at before it is read. */
#ifndef DCSR_TEXT_FILE_H
#define DCSR_TEXT_FILE_H

#include "dcsr/io/gzip.h"
#include <dcsr/reader.h>

typedef struct dcsr_i_text {
    dcsr_context *context;
    char *data; /* once it is whole it ends in '\n', which is added where the file does not, unless it is
                   empty */
    size_t length;
    size_t capacity;
} dcsr_i_text;

/* zlib holds on to where it is: it must not be moved. */
typedef struct dcsr_i_textfile {
    dcsr_i_text text; /* so far */
    const char *path;
    int descriptor;
    bool stream;     /* not a file on a disk, but a pipe, a device or an open descriptor */
    bool format;     /* the name says what the file is; else its first bytes tell whether it is compressed */
    bool compressed; /* for certain once there is text */
    bool begun, ended;
    bool broken_off; /* a stream, of whatever length, that ended without the end of a line */
    uint64_t size;   /* 0 where the system does not know */
    uint64_t done, reported;
    dcsr_progress progress;
    void *user;
    /* Of a compressed file. */
    z_stream inflater;
    unsigned char *block;           /* what was read and is not inflated yet */
    uint64_t ignored, ignored_from; /* bytes behind the compressed data, and where they begin */
} dcsr_i_textfile;

/* Opens a file; the path has to stay where it is. /dev/stdin, /dev/fd/N and /proc/self/fd/N stand for a
 * descriptor that the process has open, and are read from where that is. On success close must follow.
 * Errors: IO; FORMAT for a name without a known ending, unless it is that of a stream. */
dcsr_status dcsr_i_textfile_open(dcsr_i_textfile *file, dcsr_context *context, const char *path);
/* Reads at least a byte of text more, unless there is none: then `ended` is set. A stream is waited for.
 * Errors: IO, FORMAT (not a gzip file though the name says so or the other way round, truncated, damaged),
 * OUT_OF_MEMORY. */
dcsr_status dcsr_i_textfile_more(dcsr_i_textfile *file);
/* Reads all the rest. Of the options the progress counts and, behind compressed data, the report: what is not
 * part of them is a FORMAT error, unless it can be reported. options may be NULL. */
dcsr_status dcsr_i_textfile_finish(dcsr_i_textfile *file, const dcsr_read_options *options);
void dcsr_i_textfile_close(dcsr_i_textfile *file);

/* Text of the same form from what is in memory already; to be freed on success. */
dcsr_status dcsr_i_text_copy(dcsr_i_text *text, dcsr_context *context, const char *data, size_t length);
void dcsr_i_text_free(dcsr_i_text *text);

/* Whether data begin as a gzip file does. */
bool dcsr_i_is_gzip(const void *data, size_t length);

#endif
