/* text_file.h: a file as text in memory, read once and from front to back (internal).
 *
 *      open --> more, more ... as far as someone wants to look --> finish --> text --> close
 *                |                                                                      |
 *                +--> drop what is done with --> more --> drop --> more ... ------------+
 *
 * What has been read stays in the text until it is dropped, so a pipe can be looked at before it is read, and
 * a text that is longer than memory can be read piece by piece. */
#ifndef DCSR_TEXT_FILE_H
#define DCSR_TEXT_FILE_H

#include "dcsr/io/gzip.h"
#include "dcsr/io/file_format.h"

typedef struct dcsr_i_text {
    dcsr_context *context;
    char *data; /* once it is whole it ends in '\n', which is added where the file does not, unless it is
                   empty */
    size_t length;
    size_t capacity;
} dcsr_i_text;

/* What has become of a file that is followed. */
typedef enum dcsr_i_changed { DCSR_I_SAME, DCSR_I_ROTATED, DCSR_I_TRUNCATED } dcsr_i_changed;

/* zlib holds on to where it is: it must not be moved. */
typedef struct dcsr_i_textfile {
    dcsr_i_text text; /* so far, without what was dropped */
    const char *path;
    int descriptor;
    bool stream; /* not a file on a disk, but a pipe, a device or an open descriptor */
    bool named;  /* the name says what the file is and how it is compressed; else its first bytes tell */
    dcsr_i_packing packing; /* for certain once there is text */
    bool begun, ended;
    bool broken_off; /* a stream, of whatever length, that ended without the end of a line */
    uint64_t size;   /* 0 where the system does not know */
    uint64_t done, reported;
    dcsr_progress progress;
    void *user;
    /* Reading piece by piece. */
    double
        deadline; /* a stream, or a file that is followed, is waited for until then; 0: as long as it takes */
    bool paused;  /* by then, or by a signal, nothing had come */
    bool follow;  /* at its end a file is waited for to grow */
    bool drained; /* all of a file that has changed was read */
    dcsr_i_changed changed; /* it will not grow any more; dcsr_i_textfile_renew() goes on */
    /* Of a compressed file. */
    z_stream inflater; /* of zstd only the place in the block */
    struct ZSTD_DCtx_s *unpacker;
    bool within;          /* zstd: a frame has begun; gzip: a member has ended and the next not begun */
    unsigned char *block; /* what was read and is not inflated yet */
    uint64_t ignored, ignored_from; /* bytes behind the compressed data, and where they begin */
} dcsr_i_textfile;

/* Opens a file; the path has to stay where it is. /dev/stdin, /dev/fd/N and /proc/self/fd/N stand for a
 * descriptor that the process has open, and are read from where that is. On success close must follow.
 * Errors: IO; FORMAT for a name without a known ending, unless it is that of a stream or `any_name`. */
dcsr_status dcsr_i_textfile_open(dcsr_i_textfile *file, dcsr_context *context, const char *path,
                                 bool any_name);
/* Reads at least a byte of text more, unless there is none: then `ended`, `paused` or `changed` is set. A
 * stream is waited for. Errors: IO, FORMAT (not compressed as the name says, truncated, damaged),
 * OUT_OF_MEMORY. */
dcsr_status dcsr_i_textfile_more(dcsr_i_textfile *file);
/* Reads all the rest. Of the options the progress counts and, behind compressed data, the report: what is not
 * part of them is a FORMAT error, unless it can be reported. options may be NULL. */
dcsr_status dcsr_i_textfile_finish(dcsr_i_textfile *file, const dcsr_read_options *options);
/* Goes on with the file that has the path now, or from the beginning of one that was truncated. Errors: IO. */
dcsr_status dcsr_i_textfile_renew(dcsr_i_textfile *file);
/* Passes over so many bytes of a file, before any of it is read; false where that is no plain file of that
 * size, and nothing was done. */
bool dcsr_i_textfile_seek(dcsr_i_textfile *file, uint64_t bytes);
void dcsr_i_textfile_close(dcsr_i_textfile *file);

/* Text of the same form from what is in memory already; to be freed on success. */
dcsr_status dcsr_i_text_copy(dcsr_i_text *text, dcsr_context *context, const char *data, size_t length);
/* Makes room for at least so many bytes in all. */
dcsr_status dcsr_i_text_reserve(dcsr_i_text *text, size_t capacity);
/* Ends its last line. */
dcsr_status dcsr_i_text_end_line(dcsr_i_text *text);
/* Drops its first bytes. */
void dcsr_i_text_drop(dcsr_i_text *text, size_t bytes);
void dcsr_i_text_free(dcsr_i_text *text);

/* How data are compressed, by their first bytes. */
dcsr_i_packing dcsr_i_packing_of(const void *data, size_t length);

#endif
