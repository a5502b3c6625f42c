/* text_file.c: a file as text in memory, read once and from front to back.
 *
 * Read rather than mapped: a pipe cannot be mapped, a mapped file that another program shortens kills the
 * process, and the parser wants the text to end in '\n' whatever the file ends in. A compressed file goes
 * through inflate in blocks; members that follow each other count as one file, as gzip has it, and zeros
 * between them and after the last one (padding) are skipped. */
#include "dcsr/io/text_file.h"
#include "dcsr/base/alloc.h"
#include "dcsr/base/error.h"
#include "dcsr/io/file_format.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 1 << 16, PROGRESS = 4 << 20, USUAL_RATIO = 4, MAGIC = 2 };

/* -- The file -------------------------------------------------------------------------------------------- */

static dcsr_status io_error(const dcsr_i_textfile *file, const char *what)
{
    return dcsr_i_fail(DCSR_ERROR_IO, "%s: cannot be %s: %s", file->path, what, strerror(errno));
}

dcsr_status dcsr_i_textfile_open(dcsr_i_textfile *file, dcsr_context *context, const char *path)
{
    const int given = dcsr_i_descriptor_of(path);
    struct stat status;
    bool packed;
    *file = (dcsr_i_textfile){.text.context = context, .path = path};
    file->format = dcsr_i_format_of(path, &packed) != DCSR_I_UNKNOWN;
    file->descriptor =
        given < 0 ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) : fcntl(given, F_DUPFD_CLOEXEC, 0);
    if (file->descriptor < 0)
        return errno == ENOENT && !file->format ? dcsr_i_unknown_format(path) : io_error(file, "opened");
    if (fstat(file->descriptor, &status)) {
        dcsr_status failed = io_error(file, "opened");
        close(file->descriptor);
        return failed;
    }
    const bool regular = S_ISREG(status.st_mode);
    file->stream = given >= 0 || !(regular || S_ISDIR(status.st_mode));
    const off_t at = regular ? lseek(file->descriptor, 0, SEEK_CUR) : 0;
    if (regular && at >= 0 && status.st_size > at) file->size = (uint64_t)(status.st_size - at);
    if (file->format || file->stream) return DCSR_OK;
    close(file->descriptor);
    return dcsr_i_unknown_format(path);
}

static void report(dcsr_i_textfile *file, bool end)
{
    if (!file->progress || (!end && file->done - file->reported < PROGRESS)) return;
    file->reported = file->done;
    const bool known = end || file->size;
    file->progress(file->user, file->done, file->size > file->done ? file->size : known ? file->done : 0);
}

/* Up to `room` bytes; *count is 0 at the end only. Whoever shares a descriptor may have told it not to wait.
 */
static dcsr_status read_some(dcsr_i_textfile *file, void *to, size_t room, size_t *count)
{
    ssize_t got;
    for (;;) {
        got = read(file->descriptor, to, room < PROGRESS ? room : PROGRESS);
        if (got >= 0 || (errno != EINTR && errno != EAGAIN)) break;
        if (errno == EAGAIN) poll(&(struct pollfd){.fd = file->descriptor, .events = POLLIN}, 1, -1);
    }
    *count = got > 0 ? (size_t)got : 0;
    if (got < 0) return io_error(file, "read");
    file->done += *count;
    report(file, *count == 0);
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
    return text->length < text->capacity ? DCSR_OK : set_capacity(text, 2 * text->capacity + BLOCK);
}

static bool ends_in_line(const dcsr_i_text *text)
{
    return !text->length || text->data[text->length - 1] == '\n';
}

static dcsr_status end_line(dcsr_i_text *text)
{
    if (ends_in_line(text)) return DCSR_OK;
    DCSR_TRY(grow(text));
    text->data[text->length++] = '\n';
    return DCSR_OK;
}

static dcsr_status read_plain(dcsr_i_textfile *file)
{
    dcsr_i_text *text = &file->text;
    size_t count;
    DCSR_TRY(grow(text));
    DCSR_TRY(read_some(file, text->data + text->length, text->capacity - text->length, &count));
    text->length += count;
    file->ended = !count;
    return DCSR_OK;
}

/* -- Compressed ------------------------------------------------------------------------------------------ */

bool dcsr_i_is_gzip(const void *data, size_t length)
{
    const unsigned char *byte = data;
    return length >= MAGIC && byte[0] == 0x1f && byte[1] == 0x8b;
}

static uint64_t inflated_to(const dcsr_i_textfile *file)
{
    return file->done - file->inflater.avail_in;
}

static dcsr_status damaged(const dcsr_i_textfile *file, const char *what)
{
    return dcsr_i_fail(DCSR_ERROR_FORMAT, "%s: %s at byte %llu of the compressed file", file->path, what,
                       (unsigned long long)inflated_to(file));
}

/* Makes sure that the block has `least` bytes; fewer are left at the end of the file only. */
static dcsr_status refill(dcsr_i_textfile *file, size_t least)
{
    z_stream *in = &file->inflater;
    size_t count = 1;
    if (in->avail_in >= least) return DCSR_OK;
    if (in->avail_in) memmove(file->block, in->next_in, in->avail_in);
    in->next_in = file->block;
    while (in->avail_in < least && count) {
        DCSR_TRY(read_some(file, file->block + in->avail_in, BLOCK - in->avail_in, &count));
        in->avail_in += (uInt)count;
    }
    return DCSR_OK;
}

/* After a member: goes on to the next one, or to the end, past what is neither that nor padding. */
static dcsr_status next_member(dcsr_i_textfile *file)
{
    z_stream *in = &file->inflater;
    for (;;) {
        DCSR_TRY(refill(file, 1));
        if (!in->avail_in || *in->next_in) break;
        in->next_in++;
        in->avail_in--;
    }
    DCSR_TRY(refill(file, MAGIC));
    file->ended = !in->avail_in;
    if (file->ended) return DCSR_OK;
    /* A file that breaks off after the first byte of a member is truncated. */
    if (dcsr_i_is_gzip(in->next_in, in->avail_in) || (in->avail_in == 1 && *in->next_in == 0x1f))
        return inflateReset(in) == Z_OK ? DCSR_OK : damaged(file, "the compressed data are damaged");
    file->ended = true;
    file->ignored_from = inflated_to(file);
    while (in->avail_in) {
        file->ignored += in->avail_in;
        in->avail_in = 0;
        DCSR_TRY(refill(file, 1));
    }
    return DCSR_OK;
}

static dcsr_status inflate_some(dcsr_i_textfile *file)
{
    dcsr_i_text *text = &file->text;
    z_stream *in = &file->inflater;
    const size_t before = text->length;
    while (text->length == before && !file->ended) {
        DCSR_TRY(refill(file, 1));
        if (!in->avail_in) return damaged(file, "the compressed data break off; the file is truncated");
        DCSR_TRY(grow(text));
        const size_t room = text->capacity - text->length;
        const uInt given = room < UINT32_MAX ? (uInt)room : UINT32_MAX;
        in->next_out = (unsigned char *)text->data + text->length;
        in->avail_out = given;
        const int code = inflate(in, Z_NO_FLUSH);
        text->length += given - in->avail_out;
        if (code == Z_MEM_ERROR) return DCSR_ERROR_OUT_OF_MEMORY;
        if (code == Z_STREAM_END)
            DCSR_TRY(next_member(file));
        else if (code != Z_OK && !(code == Z_BUF_ERROR && !in->avail_in))
            return damaged(file, "the compressed data are damaged");
    }
    return DCSR_OK;
}

/* What was read to find out that the file is compressed becomes the block. */
static dcsr_status begin_inflating(dcsr_i_textfile *file)
{
    file->inflater = dcsr_i_gzip_stream(file->text.context);
    if (inflateInit2(&file->inflater, DCSR_I_GZIP_WINDOW) != Z_OK) return DCSR_ERROR_OUT_OF_MEMORY;
    file->block = (unsigned char *)file->text.data;
    file->inflater.next_in = file->block;
    file->inflater.avail_in = (uInt)file->text.length;
    file->text = (dcsr_i_text){.context = file->text.context};
    return DCSR_OK;
}

/* -- Both ------------------------------------------------------------------------------------------------ */

/* A pipe may give a byte at a time; what is compressed is known by two. */
static dcsr_status begin(dcsr_i_textfile *file)
{
    bool named;
    dcsr_i_format_of(file->path, &named);
    DCSR_TRY(set_capacity(&file->text, BLOCK));
    while (file->text.length < MAGIC && !file->ended) DCSR_TRY(read_plain(file));
    file->compressed = dcsr_i_is_gzip(file->text.data, file->text.length);
    if (file->format && file->compressed != named)
        return dcsr_i_fail(DCSR_ERROR_FORMAT,
                           named ? "%s: not a gzip file, though its name ends in .gz"
                                 : "%s: the file is compressed; give it a name that ends in .gz",
                           file->path);
    if (file->compressed) DCSR_TRY(begin_inflating(file));
    file->begun = true;
    return file->compressed ? inflate_some(file) : DCSR_OK;
}

static dcsr_status end(dcsr_i_textfile *file)
{
    file->broken_off = !file->size && file->stream && !file->compressed && !ends_in_line(&file->text);
    return end_line(&file->text);
}

dcsr_status dcsr_i_textfile_more(dcsr_i_textfile *file)
{
    if (file->ended) return DCSR_OK;
    DCSR_TRY(!file->begun ? begin(file) : file->compressed ? inflate_some(file) : read_plain(file));
    return file->ended ? end(file) : DCSR_OK;
}

dcsr_status dcsr_i_textfile_finish(dcsr_i_textfile *file, const dcsr_read_options *options)
{
    if (options) file->progress = options->progress, file->user = options->user;
    if (file->ended) report(file, true);
    DCSR_TRY(dcsr_i_textfile_more(file));
    const size_t expected = file->compressed ? USUAL_RATIO * file->size : file->size + 1;
    if (!file->ended && expected > file->text.capacity) DCSR_TRY(set_capacity(&file->text, expected));
    while (!file->ended) DCSR_TRY(dcsr_i_textfile_more(file));
    if (file->ignored && !(options && options->report))
        return dcsr_i_fail(DCSR_ERROR_FORMAT,
                           "%s: there is something after the compressed data at byte %llu of the file",
                           file->path, (unsigned long long)file->ignored_from);
    return DCSR_OK;
}

void dcsr_i_textfile_close(dcsr_i_textfile *file)
{
    if (file->block) inflateEnd(&file->inflater);
    dcsr_i_free(file->text.context, DCSR_I_SCRATCH, file->block, BLOCK, 1);
    dcsr_i_text_free(&file->text);
    close(file->descriptor);
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
    *text = (dcsr_i_text){.context = text->context};
}
