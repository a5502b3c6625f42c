/* out_file.c: a file that appears whole or not at all.
 *
 * Where the file system can, it has no name (O_TMPFILE) until it is complete, so that nothing is left of it when the
 * process is killed; else it has a temporary one. A file that is there can only be replaced by one that has a name, so
 * for that it gets one at the very end. */
#include "dcsr/io/out_file.h"
#include "dcsr/base/alloc.h"
#include "dcsr/base/error.h"
#include "dcsr/io/file_format.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_TRIES = 100, GZIP_MEMORY = 8, DESCRIBED = 40 };

static dcsr_status io_error(const dcsr_i_output *out, const char *what)
{
    return dcsr_i_fail(DCSR_ERROR_IO, "%s: cannot be %s: %s%s", out->path, what, strerror(errno),
                       out->straight ? "" : "; what was there before is unchanged");
}

/* -- Opening --------------------------------------------------------------------------------------------- */

bool dcsr_i_is_stream(const char *path)
{
    struct stat there;
    if (dcsr_i_descriptor_of(path) >= 0) return true;
    return stat(path, &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode);
}

static dcsr_status open_stream(dcsr_i_output *out)
{
    const int given = dcsr_i_descriptor_of(out->path);
    out->descriptor =
        given < 0 ? open(out->path, O_WRONLY | O_CLOEXEC | O_NOCTTY) : fcntl(given, F_DUPFD_CLOEXEC, 0);
    return out->descriptor < 0 ? io_error(out, "written") : DCSR_OK;
}

/* The file to be replaced: what a symbolic link points to, not the link. */
static dcsr_status find_target(dcsr_i_output *out, struct stat *old, bool *exists)
{
    *exists = stat(out->path, old) == 0;
    if (*exists && !S_ISREG(old->st_mode))
        return dcsr_i_fail(DCSR_ERROR_IO, "%s: is there already and is not a plain file; it is left alone",
                           out->path);
    if (*exists ? !realpath(out->path, out->target) : strlen(out->path) >= sizeof out->target) {
        if (!*exists) errno = ENAMETOOLONG;
        return io_error(out, "written");
    }
    if (!*exists) strcpy(out->target, out->path);
    return DCSR_OK;
}

static void folder_of(char folder[PATH_MAX], const char *path)
{
    strcpy(folder, path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = 0;
    else
        strcpy(folder, ".");
}

/* What stands for the open file in the folder of all that are open, by which it can be linked. */
static void describe(char text[DESCRIBED], int descriptor)
{
    snprintf(text, DESCRIBED, "/proc/self/fd/%d", descriptor);
}

static atomic_bool names_wanted;

void dcsr_i_output_use_names(bool use)
{
    atomic_store(&names_wanted, use);
}

/* A new file in the target's folder without a name; false where that cannot be, or it could not be given one. */
static bool make_nameless(dcsr_i_output *out)
{
    char folder[PATH_MAX], open_file[DESCRIBED];
    if (atomic_load(&names_wanted)) return false;
    folder_of(folder, out->target);
    out->descriptor = open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
    if (out->descriptor < 0) return false;
    describe(open_file, out->descriptor);
    if (access(open_file, F_OK) == 0) return true;
    close(out->descriptor);
    return false;
}

/* Gives it a name that no other thread or process uses: makes it, or links what is open. */
static dcsr_status make_temporary(dcsr_i_output *out, bool is_open)
{
    static atomic_uint serial;
    char open_file[DESCRIBED];
    describe(open_file, out->descriptor);
    for (int tries = 0; tries < MOST_TRIES; tries++) {
        int length = snprintf(out->temporary, sizeof out->temporary, "%s.%ld-%u.tmp", out->target,
                              (long)getpid(), atomic_fetch_add(&serial, 1));
        errno = ENAMETOOLONG;
        if (length < 0 || (size_t)length >= sizeof out->temporary) break;
        const int made = is_open ? linkat(AT_FDCWD, open_file, AT_FDCWD, out->temporary, AT_SYMLINK_FOLLOW)
                                 : open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (made >= 0 && !is_open) out->descriptor = made;
        if (made >= 0) return DCSR_OK;
        if (errno != EEXIST) break;
    }
    *out->temporary = '\0';
    return io_error(out, is_open ? "put in place" : "written");
}

/* With the mode of the file that it will replace. */
static dcsr_status open_temporary(dcsr_i_output *out)
{
    struct stat old;
    bool exists;
    DCSR_TRY(find_target(out, &old, &exists));
    if (!make_nameless(out)) DCSR_TRY(make_temporary(out, false));
    if (exists && fchmod(out->descriptor, old.st_mode & 07777) != 0) out->status = io_error(out, "written");
    return DCSR_OK;
}

static void release(dcsr_i_output *out)
{
    if (out->compressed) deflateEnd(&out->stream);
    dcsr_i_free(out->context, DCSR_I_SCRATCH, out->buffer, DCSR_I_OUTPUT_BUFFER, 1);
    dcsr_i_free(out->context, DCSR_I_SCRATCH, out->packed, DCSR_I_OUTPUT_BUFFER, 1);
}

static dcsr_status allocate(dcsr_i_output *out)
{
    dcsr_i_packing packing;
    dcsr_i_format_of(out->path, &packing);
    out->buffer = dcsr_i_alloc(out->context, DCSR_I_SCRATCH, DCSR_I_OUTPUT_BUFFER, 1);
    if (!out->buffer) return DCSR_ERROR_OUT_OF_MEMORY;
    if (!packing) return DCSR_OK;
    if (packing == DCSR_I_ZSTD)
        return dcsr_i_fail(DCSR_ERROR_FORMAT,
                           "%s: .zst is read, not written; give it a name that ends in .gz, or in neither",
                           out->path);
    out->packed = dcsr_i_alloc(out->context, DCSR_I_SCRATCH, DCSR_I_OUTPUT_BUFFER, 1);
    if (!out->packed) return DCSR_ERROR_OUT_OF_MEMORY;
    out->stream = dcsr_i_gzip_stream(out->context);
    int code = deflateInit2(&out->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, DCSR_I_GZIP_WINDOW, GZIP_MEMORY,
                            Z_DEFAULT_STRATEGY);
    out->compressed = code == Z_OK;
    return out->compressed ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}

dcsr_status dcsr_i_output_open(dcsr_i_output *out, dcsr_context *context, const char *path)
{
    memset(out, 0, sizeof *out);
    out->context = context;
    out->path = path;
    out->straight = dcsr_i_is_stream(path);
    dcsr_status status = allocate(out);
    if (status == DCSR_OK) status = out->straight ? open_stream(out) : open_temporary(out);
    if (status != DCSR_OK) release(out);
    return status;
}

/* -- Writing --------------------------------------------------------------------------------------------- */

static void write_all(dcsr_i_output *out, const char *data, size_t length)
{
    while (length && out->status == DCSR_OK) {
        ssize_t done = write(out->descriptor, data, length);
        if (done > 0) {
            data += done;
            length -= (size_t)done;
        } else if (done < 0 &&
                   errno == EAGAIN) { /* whoever shares a descriptor may have told it not to wait */
            poll(&(struct pollfd){.fd = out->descriptor, .events = POLLOUT}, 1, -1);
        } else if (done == 0 || errno != EINTR) {
            if (done == 0) errno = ENOSPC;
            out->status = io_error(out, "written");
        }
    }
}

/* Hands the buffer on; `end` when nothing comes after it. */
static void flush(dcsr_i_output *out, bool end)
{
    if (!out->compressed) {
        write_all(out, out->buffer, out->used);
    } else {
        out->stream.next_in = (unsigned char *)out->buffer;
        out->stream.avail_in = (uInt)out->used;
        int code;
        do {
            out->stream.next_out = (unsigned char *)out->packed;
            out->stream.avail_out = DCSR_I_OUTPUT_BUFFER;
            code = deflate(&out->stream, end ? Z_FINISH : Z_NO_FLUSH);
            write_all(out, out->packed, DCSR_I_OUTPUT_BUFFER - out->stream.avail_out);
        } while (end ? code == Z_OK : out->stream.avail_out == 0);
    }
    out->used = 0;
}

char *dcsr_i_output_room(dcsr_i_output *out)
{
    if (DCSR_I_OUTPUT_BUFFER - out->used < DCSR_I_OUTPUT_ROOM) flush(out, false);
    return out->buffer + out->used;
}

void dcsr_i_output_put(dcsr_i_output *out, const void *bytes, size_t length)
{
    for (const char *from = bytes; length;) {
        char *to = dcsr_i_output_room(out);
        const size_t room = DCSR_I_OUTPUT_BUFFER - out->used, part = length < room ? length : room;
        memcpy(to, from, part);
        dcsr_i_output_take(out, to + part);
        from += part;
        length -= part;
    }
}

/* -- Closing --------------------------------------------------------------------------------------------- */

/* A name is durable only once its folder has been written. Some file systems cannot do that; the file itself
 * is safe there too. */
static void sync_folder(const char *path)
{
    char folder[PATH_MAX];
    folder_of(folder, path);
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    fsync(descriptor);
    close(descriptor);
}

/* A file without a name gets the target's, where there is no such file, or one by which it can replace that. */
static dcsr_status give_name(dcsr_i_output *out)
{
    char open_file[DESCRIBED];
    if (*out->temporary) return DCSR_OK;
    describe(open_file, out->descriptor);
    if (linkat(AT_FDCWD, open_file, AT_FDCWD, out->target, AT_SYMLINK_FOLLOW) == 0) return DCSR_OK;
    return errno == EEXIST ? make_temporary(out, true) : io_error(out, "put in place");
}

dcsr_status dcsr_i_output_close(dcsr_i_output *out)
{
    flush(out, true);
    dcsr_status status = out->status;
    const bool replaces = !out->straight;
    if (replaces && status == DCSR_OK && fsync(out->descriptor) != 0) status = io_error(out, "written");
    if (replaces && status == DCSR_OK) status = give_name(out);
    if (close(out->descriptor) != 0 && status == DCSR_OK) status = io_error(out, "written");
    if (*out->temporary && status == DCSR_OK && rename(out->temporary, out->target) != 0)
        status = io_error(out, "put in place");
    if (replaces && status == DCSR_OK) sync_folder(out->target);
    if (*out->temporary && status != DCSR_OK) unlink(out->temporary);
    release(out);
    return status;
}
