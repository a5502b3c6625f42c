/* support_power.c: builds what a power cut may leave from a log of writes and syncs. */
#include "tests/support/support_power.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECTOR = 512, MOST_FILES = 64, NAME = 256 };

/* A file twice: as programs see it, and as it is on the disk. */
typedef struct content {
    unsigned char *data;
    size_t bytes, room;
} content;

typedef struct disk_file {
    char name[NAME];     /* as programs see it; empty: it is gone */
    char old_name[NAME]; /* on the disk; not empty while a new name may not have reached it */
    content seen, disk;
    bool synced;                   /* since it was made */
    struct disk_file *replaced_by; /* what has its name now; NULL */
    bool late;                     /* that it has another name, or none, has not reached the disk */
} disk_file;

typedef struct disk {
    disk_file file[MOST_FILES];
    int files;
    test_random *random;
    unsigned chance;
} disk;

void power_read_log(power_log *log, const char *path)
{
    struct stat data;
    int file = open(path, O_RDONLY);
    cr_assert(file >= 0 && !fstat(file, &data), "there is no log of writes at %s: %s", path, strerror(errno));
    *log = (power_log){.bytes = (size_t)data.st_size};
    log->data = test_allocate(log->bytes + 1, 1);
    for (size_t n = 0; n < log->bytes;) {
        ssize_t more = read(file, log->data + n, log->bytes - n);
        cr_assert(more > 0);
        n += (size_t)more;
    }
    close(file);
    log->event = test_allocate(log->bytes / sizeof(power_event) + 1, sizeof *log->event);
    for (size_t at = 0; at < log->bytes; log->events++) {
        power_event event;
        log->event[log->events] = at;
        memcpy(&event, log->data + at, sizeof event);
        at += sizeof event + event.name_length + event.bytes;
        cr_assert(at <= log->bytes && event.name_length < 2 * NAME, "the log of writes ends in the middle");
    }
}

void power_free_log(power_log *log)
{
    free(log->data);
    free(log->event);
    *log = (power_log){0};
}

/* Event i: its head, its name, and where its data is. */
static const char *event_at(const power_log *log, size_t i, power_event *event, char name[2 * NAME])
{
    const char *at = log->data + log->event[i];
    memcpy(event, at, sizeof *event);
    memcpy(name, at + sizeof *event, event->name_length);
    name[event->name_length] = '\0';
    return at + sizeof *event + event->name_length;
}

bool power_last_written(const power_log *log, size_t upto, const char *name, void *data, size_t bytes)
{
    char other[2 * NAME];
    power_event event;
    for (size_t i = upto; i-- > 0;) {
        const char *written = event_at(log, i, &event, other);
        if (event.kind != POWER_WRITE || event.offset || event.bytes != bytes || strcmp(name, other))
            continue;
        memcpy(data, written, bytes);
        return true;
    }
    return false;
}

void power_forget_syncs(power_log *log)
{
    for (size_t i = 0; i < log->events; i++) {
        power_event event;
        memcpy(&event, log->data + log->event[i], sizeof event);
        if (event.kind == POWER_SYNCED_WRITE) event.kind = POWER_WRITE;
        if (event.kind == POWER_SYNC) event.kind = POWER_NOTHING;
        memcpy(log->data + log->event[i], &event, sizeof event);
    }
}

/* ---- A disk ---- */

static disk_file *find_file(disk *d, const char *name)
{
    for (int f = 0; f < d->files; f++)
        if (!strcmp(d->file[f].name, name)) return &d->file[f];
    cr_assert(d->files < MOST_FILES && strlen(name) < NAME);
    disk_file *file = &d->file[d->files++];
    *file = (disk_file){0};
    snprintf(file->name, sizeof file->name, "%s", name);
    return file;
}

static bool reaches_disk(disk *d)
{
    return test_random_below(d->random, 256) < d->chance;
}

static void resize(content *c, size_t bytes)
{
    if (bytes > c->room) {
        c->data = realloc(c->data, c->room = 2 * bytes);
        if (!c->data) abort();
    }
    if (bytes > c->bytes) memset(c->data + c->bytes, 0, bytes - c->bytes);
    c->bytes = bytes;
}

/* The disk gets a range of what is seen. */
static void put_on_disk(disk_file *file, size_t begin, size_t end)
{
    if (end > file->seen.bytes) end = file->seen.bytes;
    if (end > file->disk.bytes) resize(&file->disk, end);
    memcpy(file->disk.data + begin, file->seen.data + begin, end - begin);
}

static void write_file(disk *d, disk_file *file, const power_event *event, const char *data)
{
    size_t begin = event->offset, end = begin + event->bytes;
    if (end > file->seen.bytes) resize(&file->seen, end);
    memcpy(file->seen.data + begin, data, event->bytes);
    for (size_t sector = begin / SECTOR * SECTOR; sector < end; sector += SECTOR)
        if (event->kind == POWER_SYNCED_WRITE || reaches_disk(d)) put_on_disk(file, sector, sector + SECTOR);
    if (event->kind == POWER_SYNCED_WRITE) file->synced = true;
}

static void sync_file(disk_file *file)
{
    file->synced = true;
    resize(&file->disk, file->seen.bytes);
    if (file->seen.bytes) memcpy(file->disk.data, file->seen.data, file->seen.bytes);
}

/* Names are on the disk once their folder is synced, and names that are gone from it. */
static void sync_names(disk *d, const char *folder)
{
    size_t length = strlen(folder);
    for (int f = 0; f < d->files; f++) {
        const char *name = *d->file[f].name ? d->file[f].name : d->file[f].old_name;
        const char *slash = strrchr(name, '/');
        if ((size_t)(slash ? slash - name : 0) == length && !strncmp(name, folder, length))
            d->file[f].old_name[0] = '\0';
    }
}

/* With an empty name it is gone. */
static void give_name(disk_file *file, const char *name)
{
    if (!file->old_name[0]) memcpy(file->old_name, file->name, sizeof file->old_name);
    snprintf(file->name, sizeof file->name, "%s", name);
}

static void rename_file(disk *d, char both[2 * NAME])
{
    char *to = strchr(both, '\n');
    cr_assert(to);
    *to++ = '\0';
    disk_file *file = find_file(d, both);
    for (int f = 0; f < d->files; f++)
        if (!strcmp(d->file[f].name, to)) {
            give_name(&d->file[f], "");
            d->file[f].replaced_by = file;
        }
    give_name(file, to);
}

static bool is_file(const disk *d, const char *name)
{
    for (int f = 0; f < d->files; f++)
        if (!strcmp(d->file[f].name, name)) return true;
    return false;
}

static void happen(disk *d, const power_log *log, size_t i)
{
    char name[2 * NAME];
    power_event event;
    const char *data = event_at(log, i, &event, name);
    switch (event.kind) {
    case POWER_WRITE:
    case POWER_SYNCED_WRITE:
        write_file(d, find_file(d, name), &event, data);
        break;
    case POWER_SYNC:
        if (is_file(d, name))
            sync_file(find_file(d, name));
        else
            sync_names(d, name);
        break;
    case POWER_LENGTH:
        resize(&find_file(d, name)->seen, event.offset);
        if (reaches_disk(d)) resize(&find_file(d, name)->disk, event.offset);
        break;
    case POWER_NOTHING:
        break;
    case POWER_RENAME:
        rename_file(d, name);
        break;
    case POWER_REMOVE:
        give_name(find_file(d, name), "");
        break;
    default:
        cr_assert_fail("an unknown event");
    }
}

/* ---- The folder ---- */

static void make_file(disk *d, disk_file *file, const char *to)
{
    char path[4096];
    const char *name = file->late ? file->old_name : file->name;
    if (!*name || (!file->synced && test_random_once_in(d->random, 4))) return; /* a name that was lost */
    int length = snprintf(path, sizeof path, "%s/%s", to, name);
    for (char *slash = path + strlen(to) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        cr_assert(!mkdir(path, 0777) || errno == EEXIST);
    }
    if (length > 8 && !strcmp(path + length - 8, "lock.mdb"))
        for (size_t i = 0; i < file->disk.bytes; i++)
            file->disk.data[i] = (unsigned char)test_random_next(d->random);
    int made = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    cr_assert(made >= 0 && write(made, file->disk.data, file->disk.bytes) == (ssize_t)file->disk.bytes &&
                  !ftruncate(made, (off_t)file->disk.bytes),
              "cannot write %s: %s", path, strerror(errno));
    close(made);
}

void power_cut(const power_log *log, size_t upto, test_random *random, unsigned chance, const char *to)
{
    disk *d = test_allocate(1, sizeof *d);
    *d = (disk){.random = random, .chance = chance};
    for (size_t i = 0; i < upto; i++) happen(d, log, i);
    for (int f = 0; f < d->files; f++)
        d->file[f].late = d->file[f].old_name[0] && test_random_once_in(random, 2);
    for (int f = 0; f < d->files; f++) /* of two with one name one has lost it by the other */
        if (d->file[f].replaced_by) d->file[f].late = d->file[f].old_name[0] && d->file[f].replaced_by->late;
    for (int f = 0; f < d->files; f++) {
        make_file(d, &d->file[f], to);
        free(d->file[f].seen.data);
        free(d->file[f].disk.data);
    }
    free(d);
}
