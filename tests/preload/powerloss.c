/* powerloss.c: a library to be preloaded that writes down what a program does to the files of a folder.
 *
 * DCSR_POWERLOSS names the folder, DCSR_POWERLOSS_LOG the file that everything is appended to, in the order
 * in which it happened: data that is written, with where; syncs; changes of length; names that files get.
 * Such a log says for each moment what had reached the disk for certain and what had not:
 * tests/support/support_power.c builds from it what a power cut may leave.
 *
 * Calls are made and written down under one lock, so that their order in the log is the true one. */
#include "tests/support/support_power.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char folder[PATH_MAX];
static int record = -1;

static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*real_writev)(int, const struct iovec *, int);
static ssize_t (*real_pwritev)(int, const struct iovec *, int, off_t);
static int (*real_fsync)(int), (*real_fdatasync)(int);
static int (*real_msync)(void *, size_t, int);
static int (*real_ftruncate)(int, off_t);
static int (*real_rename)(const char *, const char *);
static int (*real_unlink)(const char *);

/* ISO C does not convert what dlsym() gives; POSIX says that this works. */
#define FIND(name) (*(void **)&real_##name = dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void)
{
    const char *named = getenv("DCSR_POWERLOSS"), *log = getenv("DCSR_POWERLOSS_LOG");
    FIND(write), FIND(pwrite), FIND(writev), FIND(pwritev);
    FIND(fsync), FIND(fdatasync), FIND(msync), FIND(ftruncate), FIND(rename), FIND(unlink);
    if (!named || !log || !realpath(named, folder)) return;
    record = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

/* The name below the folder of the file at `path`; NULL when it is elsewhere. */
static const char *name_below(const char *path)
{
    size_t length = strlen(folder);
    return !strncmp(path, folder, length) && path[length] == '/' ? path + length + 1 : NULL;
}

/* The same for a descriptor; "" for the folder itself. */
static const char *name_of(int file, char path[PATH_MAX])
{
    char link[40];
    if (record < 0 || file == record) return NULL;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0) return NULL;
    path[length] = '\0';
    return strcmp(path, folder) ? name_below(path) : "";
}

static void append(const void *data, size_t bytes)
{
    for (const char *at = data; bytes;) {
        ssize_t n = real_write(record, at, bytes);
        if (n <= 0) abort(); /* a log with a gap would prove nothing */
        at += n;
        bytes -= (size_t)n;
    }
}

/* Data of one event comes in up to `count` pieces, of which `bytes` were written. */
static void note(power_kind kind, const char *name, uint64_t offset, const struct iovec *piece, int count,
                 size_t bytes)
{
    power_event event = {
        .kind = kind, .name_length = (uint32_t)strlen(name), .offset = offset, .bytes = bytes};
    append(&event, sizeof event);
    append(name, event.name_length);
    for (int i = 0; i < count && bytes; i++) {
        size_t n = piece[i].iov_len < bytes ? piece[i].iov_len : bytes;
        append(piece[i].iov_base, n);
        bytes -= n;
    }
}

/* Where the call would write; -1 stands for where the descriptor is. */
static ssize_t written(int file, const struct iovec *piece, int count, off_t offset)
{
    char path[PATH_MAX];
    const char *name = name_of(file, path);
    bool here = offset < 0;
    if (!name) return here ? real_writev(file, piece, count) : real_pwritev(file, piece, count, offset);
    pthread_mutex_lock(&lock);
    int flags = fcntl(file, F_GETFL);
    if (here) offset = lseek(file, 0, flags & O_APPEND ? SEEK_END : SEEK_CUR);
    ssize_t n = here ? real_writev(file, piece, count) : real_pwritev(file, piece, count, offset);
    int error = errno;
    if (n > 0)
        note(flags & O_DSYNC ? POWER_SYNCED_WRITE : POWER_WRITE, name, (uint64_t)offset, piece, count,
             (size_t)n);
    pthread_mutex_unlock(&lock);
    errno = error;
    return n;
}

static int told(int result, power_kind kind, const char *name, uint64_t offset)
{
    int error = errno;
    if (!result && name) note(kind, name, offset, NULL, 0, 0);
    pthread_mutex_unlock(&lock);
    errno = error;
    return result;
}

EXPORT ssize_t write(int file, const void *data, size_t bytes)
{
    struct iovec piece = {(void *)data, bytes};
    return written(file, &piece, 1, -1);
}

EXPORT ssize_t pwrite(int file, const void *data, size_t bytes, off_t offset)
{
    struct iovec piece = {(void *)data, bytes};
    return offset < 0 ? real_pwrite(file, data, bytes, offset) : written(file, &piece, 1, offset);
}

EXPORT ssize_t writev(int file, const struct iovec *piece, int count)
{
    return written(file, piece, count, -1);
}

EXPORT ssize_t pwritev(int file, const struct iovec *piece, int count, off_t offset)
{
    return offset < 0 ? real_pwritev(file, piece, count, offset) : written(file, piece, count, offset);
}

EXPORT int fsync(int file)
{
    char path[PATH_MAX];
    const char *name = name_of(file, path);
    pthread_mutex_lock(&lock);
    return told(real_fsync(file), POWER_SYNC, name, 0);
}

EXPORT int fdatasync(int file)
{
    char path[PATH_MAX];
    const char *name = name_of(file, path);
    pthread_mutex_lock(&lock);
    return told(real_fdatasync(file), POWER_SYNC, name, 0);
}

EXPORT int ftruncate(int file, off_t length)
{
    char path[PATH_MAX];
    const char *name = name_of(file, path);
    pthread_mutex_lock(&lock);
    return told(real_ftruncate(file, length), POWER_LENGTH, name, (uint64_t)length);
}

/* What is written through a map is not seen, so a program that relies on that cannot be tested with this. */
EXPORT int msync(void *address, size_t bytes, int flags)
{
    if (record >= 0) abort();
    return real_msync(address, bytes, flags);
}

EXPORT int rename(const char *from, const char *to)
{
    char old[PATH_MAX], parent[PATH_MAX];
    const char *name = record >= 0 && realpath(from, old) ? name_below(old) : NULL;
    snprintf(parent, sizeof parent, "%s", to);
    char *slash = strrchr(parent, '/'), path[PATH_MAX], both[2 * PATH_MAX];
    if (!name || !slash) return real_rename(from, to);
    *slash = '\0';
    pthread_mutex_lock(&lock);
    /* Both names, of which the new one may be that of the folder's own entry. */
    const char *below = realpath(parent, path) ? strcmp(path, folder) ? name_below(path) : "" : NULL;
    if (below) snprintf(both, sizeof both, "%s%c%s%s%s", name, '\n', below, *below ? "/" : "", slash + 1);
    return told(real_rename(from, to), POWER_RENAME, below ? both : NULL, 0);
}

EXPORT int unlink(const char *path)
{
    char old[PATH_MAX];
    const char *name = record >= 0 && realpath(path, old) ? name_below(old) : NULL;
    pthread_mutex_lock(&lock);
    return told(real_unlink(path), POWER_REMOVE, name, 0);
}
