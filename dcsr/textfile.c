/* textfile.c: a whole file in memory, as text.
 *
 * Read rather than mapped: a mapped file that another program shortens kills the process, and the parser
 * wants the text to end in '\n' whatever the file ends in. A .gz goes through inflate in blocks; members that
 * follow each other count as one file, as gzip has it, and zeros after the last one (padding) are skipped. */
#include "dcsr/textfile.h"
#include "dcsr/alloc.h"
#include "dcsr/error.h"
#include "dcsr/fileformat.h"
#include "dcsr/gzip.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 1 << 18, PROGRESS = 4 << 20, LEAST_ROOM = 1 << 16, USUAL_RATIO = 4 };

typedef struct source {
    const char *path;
    int descriptor;
    uint64_t size; /* 0 where the system does not know (a pipe) */
    uint64_t done, reported;
    dcsr_progress progress;
    void *user;
} source;

/* -- The file -------------------------------------------------------------------------------------------- */

static dcsr_status io_error(const source *from, const char *what)
{
    return dcsr_i_fail(DCSR_ERROR_IO, "%s: cannot be %s: %s", from->path, what, strerror(errno));
}

static dcsr_status source_open(source *from, const char *path, const dcsr_read_options *options)
{
    *from = (source){.path = path, .descriptor = open(path, O_RDONLY | O_CLOEXEC)};
    if (options) from->progress = options->progress, from->user = options->user;
    if (from->descriptor < 0) return io_error(from, "opened");
    struct stat status;
    if (fstat(from->descriptor, &status) == 0 && S_ISREG(status.st_mode))
        from->size = (uint64_t)status.st_size;
    return DCSR_OK;
}

static void report(source *from, bool end)
{
    if (!from->progress || (!end && from->done - from->reported < PROGRESS)) return;
    from->reported = from->done;
    from->progress(from->user, from->done, from->size > from->done ? from->size : from->done);
}

/* Up to `room` bytes; *count is 0 at the end only. */
static dcsr_status source_read(source *from, void *to, size_t room, size_t *count)
{
    ssize_t got;
    do {
        got = read(from->descriptor, to, room < PROGRESS ? room : PROGRESS);
    } while (got < 0 && errno == EINTR);
    *count = got > 0 ? (size_t)got : 0;
    if (got < 0) return io_error(from, "read");
    from->done += *count;
    report(from, *count == 0);
    return DCSR_OK;
}

/* -- The text -------------------------------------------------------------------------------------------- */

static dcsr_status set_capacity(dcsr_i_text *text, size_t capacity)
{
    char *data = dcsr_i_realloc(text->context, DCSR_I_SCRATCH, text->data, text->capacity, capacity, 1);
    if (!data) return DCSR_ERROR_OUT_OF_MEMORY;
    text->data = data;
    text->capacity = capacity;
    return DCSR_OK;
}

/* Makes sure that there is room for one byte more. */
static dcsr_status grow(dcsr_i_text *text)
{
    return text->length < text->capacity ? DCSR_OK : set_capacity(text, 2 * text->capacity + LEAST_ROOM);
}

static dcsr_status end_line(dcsr_i_text *text)
{
    if (!text->length || text->data[text->length - 1] == '\n') return DCSR_OK;
    DCSR_TRY(grow(text));
    text->data[text->length++] = '\n';
    return DCSR_OK;
}

static dcsr_status load_plain(dcsr_i_text *text, source *from)
{
    DCSR_TRY(set_capacity(text, from->size ? from->size + 1 : LEAST_ROOM));
    size_t count;
    do {
        DCSR_TRY(grow(text));
        DCSR_TRY(source_read(from, text->data + text->length, text->capacity - text->length, &count));
        text->length += count;
    } while (count);
    if (dcsr_i_is_gzip(text->data, text->length))
        return dcsr_i_fail(DCSR_ERROR_FORMAT, "%s: the file is compressed; give it a name that ends in .gz",
                           from->path);
    return DCSR_OK;
}

bool dcsr_i_is_gzip(const void *data, size_t length)
{
    const unsigned char *byte = data;
    return length >= 2 && byte[0] == 0x1f && byte[1] == 0x8b;
}

/* -- Compressed ------------------------------------------------------------------------------------------ */

typedef struct inflater {
    z_stream stream;
    source *from;
    unsigned char *block;
    size_t filled; /* bytes in the block */
} inflater;

/* Refills the block when it is used up; afterwards avail_in is 0 at the end of the file only. */
static dcsr_status refill(inflater *in)
{
    if (in->stream.avail_in) return DCSR_OK;
    DCSR_TRY(source_read(in->from, in->block, BLOCK, &in->filled));
    in->stream.next_in = in->block;
    in->stream.avail_in = (uInt)in->filled;
    return DCSR_OK;
}

static dcsr_status damaged(const inflater *in, const char *what)
{
    return dcsr_i_fail(DCSR_ERROR_FORMAT, "%s: %s at byte %llu of the compressed file", in->from->path, what,
                       (unsigned long long)(in->from->done - in->stream.avail_in));
}

/* One member, to its end. */
static dcsr_status inflate_member(dcsr_i_text *text, inflater *in)
{
    for (;;) {
        DCSR_TRY(refill(in));
        if (!in->stream.avail_in) return damaged(in, "the compressed data break off; the file is truncated");
        DCSR_TRY(grow(text));
        size_t room = text->capacity - text->length;
        in->stream.next_out = (unsigned char *)text->data + text->length;
        in->stream.avail_out = room < UINT32_MAX ? (uInt)room : UINT32_MAX;
        uInt before = in->stream.avail_out;
        int code = inflate(&in->stream, Z_NO_FLUSH);
        text->length += before - in->stream.avail_out;
        if (code == Z_STREAM_END) return DCSR_OK;
        if (code == Z_MEM_ERROR) return DCSR_ERROR_OUT_OF_MEMORY;
        if (code == Z_BUF_ERROR && !in->stream.avail_in) continue;
        if (code != Z_OK) return damaged(in, "the compressed data are damaged");
    }
}

/* Skips padding; *more tells whether another member follows. */
static dcsr_status skip_padding(inflater *in, bool *more)
{
    bool padded = false;
    for (;;) {
        DCSR_TRY(refill(in));
        *more = in->stream.avail_in != 0;
        if (!*more || *in->stream.next_in) break;
        padded = true;
        in->stream.next_in++;
        in->stream.avail_in--;
    }
    return *more && padded ? damaged(in, "there is something after the compressed data") : DCSR_OK;
}

static dcsr_status inflate_members(dcsr_i_text *text, inflater *in)
{
    DCSR_TRY(refill(in));
    if (!dcsr_i_is_gzip(in->block, in->filled))
        return dcsr_i_fail(DCSR_ERROR_FORMAT, "%s: not a gzip file, though its name ends in .gz",
                           in->from->path);
    for (bool more = true; more;) {
        DCSR_TRY(inflate_member(text, in));
        DCSR_TRY(skip_padding(in, &more));
        if (more && inflateReset(&in->stream) != Z_OK) return damaged(in, "the compressed data are damaged");
    }
    return DCSR_OK;
}

static dcsr_status load_compressed(dcsr_i_text *text, source *from)
{
    inflater in = {.stream = dcsr_i_gzip_stream(text->context), .from = from};
    in.block = dcsr_i_alloc(text->context, DCSR_I_SCRATCH, BLOCK, 1);
    if (!in.block) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    if (inflateInit2(&in.stream, DCSR_I_GZIP_WINDOW) == Z_OK) {
        status = set_capacity(text, USUAL_RATIO * from->size + LEAST_ROOM);
        if (status == DCSR_OK) status = inflate_members(text, &in);
        inflateEnd(&in.stream);
    }
    dcsr_i_free(text->context, DCSR_I_SCRATCH, in.block, BLOCK, 1);
    return status;
}

/* -- Both ------------------------------------------------------------------------------------------------ */

dcsr_status dcsr_i_text_load(dcsr_i_text *text, dcsr_context *context, const char *path,
                             const dcsr_read_options *options)
{
    *text = (dcsr_i_text){.context = context};
    source from;
    DCSR_TRY(source_open(&from, path, options));
    bool compressed;
    dcsr_i_format_of(path, &compressed);
    dcsr_status status = compressed ? load_compressed(text, &from) : load_plain(text, &from);
    if (status == DCSR_OK) status = end_line(text);
    if (status != DCSR_OK) dcsr_i_text_free(text);
    close(from.descriptor);
    return status;
}

dcsr_status dcsr_i_text_copy(dcsr_i_text *text, dcsr_context *context, const char *data, size_t length)
{
    *text = (dcsr_i_text){.context = context};
    DCSR_TRY(set_capacity(text, length + 1));
    if (length) memcpy(text->data, data, length);
    text->length = length;
    return end_line(text);
}

void dcsr_i_text_free(dcsr_i_text *text)
{
    dcsr_i_free(text->context, DCSR_I_SCRATCH, text->data, text->capacity, 1);
    *text = (dcsr_i_text){0};
}
