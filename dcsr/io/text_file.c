/* text_file.c: a file as text in memory, read once and from front to back.
 *
 * Read rather than mapped: a pipe cannot be mapped, a mapped file that another program shortens kills the
 * process, and the parser wants the text to end in '\n' whatever the file ends in. A compressed file goes
 * through inflate or zstd in blocks; gzip members and zstd frames that follow each other count as one file, and
 * zeros between members and after the last one (padding) are skipped.
 *
 * A file that is followed is asked for more FOLLOW times a second, as a change of its name (it was rotated) or
 * of its size (truncated) has to be looked for anyway. */
#include "dcsr/io/text_file.h"
#include "dcsr/base/alloc.h"
#include "dcsr/base/error.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { BLOCK = 1 << 16, PROGRESS = 4 << 20, USUAL_RATIO = 4, MAGIC = 2, PIPE_ROOM = 1 << 20, FOLLOW = 20 };

/* -- The file -------------------------------------------------------------------------------------------- */

static dcsr_status io_error(const dcsr_i_textfile *file, const char *what)
{
    return dcsr_i_fail(DCSR_ERROR_IO, "%s: cannot be %s: %s", file->path, what, strerror(errno));
}

dcsr_status dcsr_i_textfile_open(dcsr_i_textfile *file, dcsr_context *context, const char *path,
                                 bool any_name)
{
    const int given = dcsr_i_descriptor_of(path);
    struct stat status;
    *file = (dcsr_i_textfile){.text.context = context, .path = path};
    file->named = dcsr_i_format_of(path, &file->packing) != DCSR_I_UNKNOWN;
    file->descriptor =
        given < 0 ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) : fcntl(given, F_DUPFD_CLOEXEC, 0);
    if (file->descriptor < 0)
        return errno == ENOENT && !file->named && !any_name ? dcsr_i_unknown_format(path)
                                                            : io_error(file, "opened");
    if (fstat(file->descriptor, &status)) {
        dcsr_status failed = io_error(file, "opened");
        close(file->descriptor);
        return failed;
    }
    const bool regular = S_ISREG(status.st_mode);
    file->stream = given >= 0 || !(regular || S_ISDIR(status.st_mode));
    const off_t at = regular ? lseek(file->descriptor, 0, SEEK_CUR) : 0;
    if (regular && at >= 0 && status.st_size > at) file->size = (uint64_t)(status.st_size - at);
    if (S_ISFIFO(status.st_mode))
        fcntl(file->descriptor, F_SETPIPE_SZ, PIPE_ROOM); /* where that is allowed */
    if (file->named || file->stream || any_name) return DCSR_OK;
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

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Waits for the stream until the deadline; a signal ends that as well. */
static bool is_ready(const dcsr_i_textfile *file)
{
    if (!file->deadline || !file->stream) return true;
    const double left = file->deadline - now();
    struct timespec wait = {0};
    if (left > 0) wait.tv_sec = (time_t)left, wait.tv_nsec = (long)((left - (double)(time_t)left) * 1e9);
    return ppoll(&(struct pollfd){.fd = file->descriptor, .events = POLLIN}, 1, &wait, NULL) > 0;
}

/* Whether another file has the name now. While none has, this one is still followed. */
static bool was_rotated(const dcsr_i_textfile *file, const struct stat *open)
{
    struct stat named;
    if (stat(file->path, &named)) return false;
    return named.st_ino != open->st_ino || named.st_dev != open->st_dev;
}

/* At the end of a file that is followed: what has become of it, or a pause, or nothing where there may be more:
 * one that was rotated is read once more, as it may have grown just before. */
static void wait_for_growth(dcsr_i_textfile *file)
{
    struct stat open;
    const off_t at = lseek(file->descriptor, 0, SEEK_CUR);
    if (fstat(file->descriptor, &open) || open.st_size > at) return;
    if (open.st_size < at)
        file->changed = DCSR_I_TRUNCATED;
    else if (was_rotated(file, &open))
        file->changed = DCSR_I_ROTATED;
    if (file->changed != DCSR_I_SAME) return;
    double wait = 1.0 / FOLLOW, left = file->deadline ? file->deadline - now() : wait;
    if (left < wait) wait = left > 0 ? left : 0;
    const bool woken = wait > 0 && nanosleep(&(struct timespec){.tv_nsec = (long)(wait * 1e9)}, NULL);
    file->paused = woken || (file->deadline && now() >= file->deadline);
}

/* Up to `room` bytes; *count is 0 at the end only, or in a pause, or where the file has changed. Whoever shares
 * a descriptor may have told it not to wait. */
static dcsr_status read_some(dcsr_i_textfile *file, void *to, size_t room, size_t *count)
{
    ssize_t got = 0;
    *count = 0;
    for (file->paused = false;;) {
        file->paused = !is_ready(file);
        if (file->paused) return DCSR_OK;
        got = read(file->descriptor, to, room < PROGRESS ? room : PROGRESS);
        if (got == 0 && file->follow && file->changed == DCSR_I_SAME) {
            wait_for_growth(file);
            if (file->paused || file->changed == DCSR_I_TRUNCATED) return DCSR_OK;
            continue;
        }
        if (got >= 0 || (errno != EINTR && errno != EAGAIN)) break;
        if (errno == EAGAIN && !file->deadline)
            poll(&(struct pollfd){.fd = file->descriptor, .events = POLLIN}, 1, -1);
    }
    *count = got > 0 ? (size_t)got : 0;
    if (got < 0) return io_error(file, "read");
    file->done += *count;
    report(file, *count == 0);
    return DCSR_OK;
}

dcsr_status dcsr_i_textfile_renew(dcsr_i_textfile *file)
{
    if (file->changed == DCSR_I_TRUNCATED) {
        if (lseek(file->descriptor, 0, SEEK_SET)) return io_error(file, "read from its beginning");
    } else {
        const int next = open(file->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (next < 0) return io_error(file, "opened");
        close(file->descriptor);
        file->descriptor = next;
    }
    file->changed = DCSR_I_SAME;
    file->drained = false;
    file->done = file->reported = 0;
    return DCSR_OK;
}

bool dcsr_i_textfile_seek(dcsr_i_textfile *file, uint64_t bytes)
{
    if (file->stream || file->packing != DCSR_I_PLAIN || bytes > file->size) return false;
    if (lseek(file->descriptor, (off_t)bytes, SEEK_SET) < 0) return false;
    dcsr_i_text_drop(&file->text, file->text.length);
    file->done = bytes;
    return true;
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

dcsr_status dcsr_i_text_reserve(dcsr_i_text *text, size_t capacity)
{
    return capacity > text->capacity ? set_capacity(text, capacity) : DCSR_OK;
}

void dcsr_i_text_drop(dcsr_i_text *text, size_t bytes)
{
    text->length -= bytes;
    if (text->length && bytes) memmove(text->data, text->data + bytes, text->length);
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

dcsr_status dcsr_i_text_end_line(dcsr_i_text *text)
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
    file->drained = !count && file->changed != DCSR_I_SAME;
    file->ended = !count && !file->paused && !file->drained;
    return DCSR_OK;
}

/* -- Compressed ------------------------------------------------------------------------------------------ */

static const unsigned char gzip_magic[] = {0x1f, 0x8b}, zstd_magic[] = {0x28, 0xb5, 0x2f, 0xfd};

static bool is_gzip(const void *data, size_t length)
{
    return length >= sizeof gzip_magic && !memcmp(data, gzip_magic, sizeof gzip_magic);
}

dcsr_i_packing dcsr_i_packing_of(const void *data, size_t length)
{
    if (is_gzip(data, length)) return DCSR_I_GZIP;
    return length >= sizeof zstd_magic && !memcmp(data, zstd_magic, sizeof zstd_magic) ? DCSR_I_ZSTD
                                                                                       : DCSR_I_PLAIN;
}

/* Whether more bytes may make it compressed data. */
static bool may_be_packed(const dcsr_i_text *text)
{
    const size_t n = text->length;
    return !n || (n < sizeof gzip_magic && !memcmp(text->data, gzip_magic, n)) ||
           (n < sizeof zstd_magic && !memcmp(text->data, zstd_magic, n));
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

/* Makes sure that the block has `least` bytes; fewer are left at the end of the file, or in a pause. */
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
    file->within = true;
    for (;;) {
        DCSR_TRY(refill(file, 1));
        if (file->paused) return DCSR_OK;
        if (!in->avail_in || *in->next_in) break;
        in->next_in++;
        in->avail_in--;
    }
    DCSR_TRY(refill(file, MAGIC));
    if (file->paused) return DCSR_OK;
    file->within = false;
    file->ended = !in->avail_in;
    if (file->ended) return DCSR_OK;
    /* A file that breaks off after the first byte of a member is truncated. */
    if (is_gzip(in->next_in, in->avail_in) || (in->avail_in == 1 && *in->next_in == 0x1f))
        return inflateReset(in) == Z_OK ? DCSR_OK : damaged(file, "the compressed data are damaged");
    file->ended = true;
    file->ignored_from = inflated_to(file);
    file->deadline = 0;
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
        if (file->within) {
            DCSR_TRY(next_member(file));
            if (file->paused) break;
            continue;
        }
        DCSR_TRY(refill(file, 1));
        if (file->paused) break;
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
            file->within = true;
        else if (code != Z_OK && !(code == Z_BUF_ERROR && !in->avail_in))
            return damaged(file, "the compressed data are damaged");
    }
    return DCSR_OK;
}

/* The same for zstd. What its frames hold may be longer than the room that there is: then it is asked again
 * before anything is read. */
static dcsr_status unpack_some(dcsr_i_textfile *file)
{
    dcsr_i_text *text = &file->text;
    z_stream *in = &file->inflater;
    const size_t before = text->length;
    while (text->length == before && !file->ended) {
        DCSR_TRY(refill(file, 1));
        if (file->paused) break;
        if (!in->avail_in && file->within)
            return damaged(file, "the compressed data break off; the file is truncated");
        file->ended = !in->avail_in;
        if (file->ended) break;
        for (bool full = true; full;) {
            DCSR_TRY(grow(text));
            ZSTD_inBuffer from = {in->next_in, in->avail_in, 0};
            ZSTD_outBuffer to = {text->data + text->length, text->capacity - text->length, 0};
            const size_t left = ZSTD_decompressStream(file->unpacker, &to, &from);
            if (ZSTD_isError(left))
                return ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation
                           ? DCSR_ERROR_OUT_OF_MEMORY
                           : damaged(file, "the compressed data are damaged");
            text->length += to.pos;
            in->next_in += from.pos;
            in->avail_in -= (uInt)from.pos;
            file->within = left != 0;
            full = to.pos == to.size && file->within;
        }
    }
    return DCSR_OK;
}

/* What was read to find out that the file is compressed becomes the block. */
static dcsr_status begin_unpacking(dcsr_i_textfile *file)
{
    file->inflater = dcsr_i_gzip_stream(file->text.context);
    if (file->packing == DCSR_I_ZSTD) file->unpacker = ZSTD_createDCtx();
    if (file->packing == DCSR_I_ZSTD ? !file->unpacker
                                     : inflateInit2(&file->inflater, DCSR_I_GZIP_WINDOW) != Z_OK)
        return dcsr_i_fail(DCSR_ERROR_OUT_OF_MEMORY, "%s: out of memory for what is compressed", file->path);
    file->block = (unsigned char *)file->text.data;
    file->inflater.next_in = file->block;
    file->inflater.avail_in = (uInt)file->text.length;
    file->text = (dcsr_i_text){.context = file->text.context};
    return DCSR_OK;
}

/* -- Both ------------------------------------------------------------------------------------------------ */

/* What is read in begin() must fit the block. A pipe may give a byte at a time. */
static dcsr_status begin(dcsr_i_textfile *file)
{
    static const char *const names[] = {"", "a gzip file, though its name ends in .gz",
                                        "a zstd file, though its name ends in .zst"};
    static const char *const endings[] = {"", ".gz", ".zst"};
    if (!file->text.capacity) DCSR_TRY(set_capacity(&file->text, BLOCK));
    while (may_be_packed(&file->text) && !file->ended) {
        DCSR_TRY(read_plain(file));
        if (file->paused || file->changed != DCSR_I_SAME) return DCSR_OK;
    }
    const dcsr_i_packing found = dcsr_i_packing_of(file->text.data, file->text.length);
    if (file->named && found != file->packing)
        return found == DCSR_I_PLAIN
                   ? dcsr_i_fail(DCSR_ERROR_FORMAT, "%s: not %s", file->path, names[file->packing])
                   : dcsr_i_fail(DCSR_ERROR_FORMAT,
                                 "%s: the file is compressed; give it a name that ends in %s", file->path,
                                 endings[found]);
    file->packing = found;
    if (found != DCSR_I_PLAIN) DCSR_TRY(begin_unpacking(file));
    file->begun = true;
    return DCSR_OK;
}

static dcsr_status end(dcsr_i_textfile *file)
{
    file->broken_off = !file->size && file->stream && !file->packing && !ends_in_line(&file->text);
    return dcsr_i_text_end_line(&file->text);
}

dcsr_status dcsr_i_textfile_more(dcsr_i_textfile *file)
{
    static dcsr_status (*const more[])(dcsr_i_textfile *) = {read_plain, inflate_some, unpack_some};
    const size_t before = file->text.length;
    if (file->ended) return DCSR_OK;
    if (!file->begun) DCSR_TRY(begin(file));
    if (file->begun && !file->ended && (file->packing || file->text.length == before))
        DCSR_TRY(more[file->packing](file));
    return file->ended ? end(file) : DCSR_OK;
}

/* FORMAT where something stands behind the compressed data of a file that has ended. */
static dcsr_status check_rest(const dcsr_i_textfile *file)
{
    if (!file->ignored) return DCSR_OK;
    return dcsr_i_fail(DCSR_ERROR_FORMAT,
                       "%s: there is something after the compressed data at byte %llu of the file",
                       file->path, (unsigned long long)file->ignored_from);
}

dcsr_status dcsr_i_textfile_finish(dcsr_i_textfile *file, const dcsr_read_options *options)
{
    if (options) file->progress = options->progress, file->user = options->user;
    if (file->ended) report(file, true);
    DCSR_TRY(dcsr_i_textfile_more(file));
    const size_t expected = file->packing ? USUAL_RATIO * file->size : file->size + 1;
    if (!file->ended && expected > file->text.capacity) DCSR_TRY(set_capacity(&file->text, expected));
    while (!file->ended) DCSR_TRY(dcsr_i_textfile_more(file));
    return options && options->report ? DCSR_OK : check_rest(file);
}

void dcsr_i_textfile_close(dcsr_i_textfile *file)
{
    if (file->block && file->packing == DCSR_I_GZIP) inflateEnd(&file->inflater);
    ZSTD_freeDCtx(file->unpacker);
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
    return dcsr_i_text_end_line(text);
}

void dcsr_i_text_free(dcsr_i_text *text)
{
    dcsr_i_free(text->context, DCSR_I_SCRATCH, text->data, text->capacity, 1);
    *text = (dcsr_i_text){.context = text->context};
}
