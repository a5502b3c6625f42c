/* test_store_full.c: disks without room, and stores that may not grow: what was stored stays, what is in
 * memory goes on.
 *
 * The disk is a small tmpfs that only the test's child process sees; where that may not mount one, the tests
 * of full disks are skipped. The room that is left is made smaller page by page, so that each write of each
 * call is one that fails. */
#include "persist/store_data.h"
#include "tests/support/support_store.h"
#include "tests/support/support_work.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { NO_MOUNT = 7, PAGE = 4096 }; /* a count of the child */

typedef struct disk {
    char *folder; /* where it is mounted */
    char store[300], filler[300];
    dcsr_context *context;
} disk;

/* ---- A small disk ---- */

static void mount_disk(disk *d, store_child *child)
{
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("tmpfs", d->folder, "tmpfs", 0, "size=16m")) {
        atomic_store(&child->count[NO_MOUNT], (uint64_t)errno);
        _exit(0);
    }
    snprintf(d->store, sizeof d->store, "%s/store", d->folder);
    snprintf(d->filler, sizeof d->filler, "%s/filler", d->folder);
    d->context = store_context(child, 1);
}

/* Leaves room for so many pages, or for all there is. */
static void leave_room(const disk *d, store_child *child, uint64_t pages)
{
    struct statvfs room;
    unlink(d->filler);
    if (pages == UINT64_MAX) return;
    int file = open(d->filler, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (file < 0 || statvfs(d->folder, &room))
        store_child_fail(child, "cannot fill the disk: %s", strerror(errno));
    uint64_t filled = room.f_bavail * room.f_bsize;
    filled = filled > pages * PAGE ? filled - pages * PAGE : 0;
    if (filled && posix_fallocate(file, 0, (off_t)filled)) store_child_fail(child, "cannot fill the disk");
    close(file);
}

static void run_on_disk(store_child_function function)
{
    disk d = {.folder = store_new_folder()};
    store_child *child = store_child_new();
    store_child_expect(child, function, &d);
    int reason = (int)atomic_load(&child->count[NO_MOUNT]);
    if (!reason)
        fprintf(stderr, "%llu calls failed for lack of room, %llu had enough\n",
                (unsigned long long)child->count[0], (unsigned long long)child->count[1]);
    bool enough = child->count[0] > 2 && child->count[1] > 2;
    store_child_free(child);
    store_remove_folder(d.folder);
    if (reason) {
        cr_log_warn("skipped: no disk can be mounted here: %s", strerror(reason));
        cr_skip("no mount");
    }
    cr_assert(enough, "there were too few failures, or no success");
}

/* Counts a failure that says what it should; fails the child for any other. Returns whether it was one. */
static bool lacks_room(store_child *child, const char *what, dcsr_status status, dcsr_status expected,
                       const char *words)
{
    atomic_fetch_add(&child->count[status == DCSR_OK], 1);
    if (status == DCSR_OK) return false;
    if (status != expected || !test_says(words))
        store_child_fail(child, "%s: %s: %s (%s)", child->now, what, dcsr_status_name(status),
                         dcsr_thread_error());
    return true;
}

/* ---- What is there ---- */

static void expect_matrix(store_child *child, dcsr_matrix *matrix, int which, uint64_t j, const char *what)
{
    char why[TEST_WHY];
    oracle model;
    work_make_oracle(&model, which, j);
    if (!test_matrix_matches(matrix, &model, why))
        store_child_fail(child, "%s: %s: %s", child->now, what, why);
    oracle_destroy(&model);
}

/* The store is whole, and its newest version of "plain" is after j batches (0: there is none). */
static void expect_stored(store_child *child, dcsr_context *context, dcsr_store *store, uint64_t j)
{
    dcsr_matrix *matrix;
    dcsr_store_check check;
    STORE_OK(child, dcsr_store_verify(store, NULL, NULL, &check));
    if (check.corrupt) store_child_fail(child, "%s: the store is damaged", child->now);
    dcsr_status status = dcsr_store_restore(&matrix, context, store, work_names[WORK_PLAIN], 0, NULL);
    if (!j && status == DCSR_ERROR_NOT_FOUND) return;
    STORE_OK(child, status);
    expect_matrix(child, matrix, WORK_PLAIN, j, "the stored matrix");
    dcsr_matrix_destroy(matrix);
}

static dcsr_matrix *make_plain(store_child *child, dcsr_context *context)
{
    dcsr_matrix *plain;
    STORE_OK(child, dcsr_matrix_create(&plain, context, DCSR_INT64, WORK_ROWS, WORK_COLS,
                                       &(dcsr_matrix_options){.policy = work_policies[WORK_PLAIN]}));
    return plain;
}

static void insert_more(store_child *child, dcsr_matrix *matrix, int which, uint64_t *j, uint64_t n)
{
    STORE_OK(child, work_queue(matrix, which, *j, *j + n));
    STORE_OK(child, dcsr_matrix_wait(matrix));
    *j += n;
}

/* ---- A full disk ---- */

static void snapshot_on_full_disk(void *user, store_child *child)
{
    disk *d = user;
    dcsr_store *store;
    uint64_t j = 0, stored = 0;
    mount_disk(d, child);
    dcsr_store_options options = {.chunk_bytes = PAGE};
    STORE_OK(child, dcsr_store_open(&store, d->store, &options));
    dcsr_matrix *plain = make_plain(child, d->context);
    for (uint64_t pages = 0; pages < 40; pages++) {
        snprintf(child->now, sizeof child->now, "a snapshot with room for %llu pages",
                 (unsigned long long)pages);
        insert_more(child, plain, WORK_PLAIN, &j, 12);
        leave_room(d, child, pages);
        dcsr_status status = dcsr_store_snapshot(store, work_names[WORK_PLAIN], plain, NULL);
        if (!lacks_room(child, "snapshot", status, DCSR_ERROR_IO, "full")) stored = j;
        expect_stored(child, d->context, store, stored);
        insert_more(child, plain, WORK_PLAIN, &j, 1);
        expect_matrix(child, plain, WORK_PLAIN, j, "the matrix in memory");
        leave_room(d, child, UINT64_MAX);
        STORE_OK(child, dcsr_store_snapshot(store, work_names[WORK_PLAIN], plain, NULL));
        expect_stored(child, d->context, store, stored = j);
    }
    dcsr_matrix_destroy(plain);
    dcsr_store_close(store);
}

Test(store_full, a_snapshot_without_room_leaves_the_one_before)
{
    run_on_disk(snapshot_on_full_disk);
}

static void create_on_full_disk(void *user, store_child *child)
{
    disk *d = user;
    mount_disk(d, child);
    for (uint64_t pages = 0; pages < 28; pages++) {
        dcsr_store *store;
        char path[400];
        snprintf(child->now, sizeof child->now, "a new store with room for %llu pages",
                 (unsigned long long)pages);
        snprintf(path, sizeof path, "%s%llu", d->store, (unsigned long long)pages);
        leave_room(d, child, pages);
        dcsr_status status = dcsr_store_open(&store, path, NULL);
        if (lacks_room(child, "opening", status, DCSR_ERROR_IO, "full")) {
            leave_room(d, child, UINT64_MAX);
            STORE_OK(child, dcsr_store_open(&store, path, NULL));
        }
        expect_stored(child, d->context, store, 0);
        dcsr_store_close(store);
    }
}

Test(store_full, a_store_that_had_no_room_can_be_made_later)
{
    run_on_disk(create_on_full_disk);
}

/* A view of a matrix of one entry, lent from the map: while it lives no page of the file is used again. */
static dcsr_view *hold_pages(store_child *child, dcsr_context *context, dcsr_store *store)
{
    dcsr_matrix *matrix;
    dcsr_view *view;
    dcsr_view_info info;
    uint64_t place = 3;
    double value = 1;
    STORE_OK(child, dcsr_matrix_create(&matrix, context, DCSR_FP64, 10, 10, NULL));
    STORE_OK(child, dcsr_matrix_insert(matrix, 1, &place, &place, &value, NULL));
    STORE_OK(child, dcsr_matrix_wait(matrix));
    STORE_OK(child, dcsr_store_snapshot(store, "small", matrix, NULL));
    STORE_OK(child, dcsr_store_open_view(&view, context, store, "small", 0));
    STORE_OK(child, dcsr_view_get_info(view, &info));
    if (!info.lent) store_child_fail(child, "%s: the view is a copy", child->now);
    dcsr_matrix_destroy(matrix);
    return view;
}

/* Deleting writes as well, and needs room where all that is free is held back. */
static void collect_on_full_disk(void *user, store_child *child)
{
    disk *d = user;
    dcsr_store *store;
    uint64_t j = 0;
    mount_disk(d, child);
    dcsr_store_options options = {.chunk_bytes = PAGE};
    STORE_OK(child, dcsr_store_open(&store, d->store, &options));
    dcsr_matrix *plain = make_plain(child, d->context);
    for (uint64_t pages = 0; pages < 24; pages++) {
        snprintf(child->now, sizeof child->now, "gc with room for %llu pages", (unsigned long long)pages);
        dcsr_view *view = hold_pages(child, d->context, store);
        for (int v = 0; v < 6; v++) {
            insert_more(child, plain, WORK_PLAIN, &j, 2);
            STORE_OK(child, dcsr_store_snapshot(store, work_names[WORK_PLAIN], plain, NULL));
        }
        leave_room(d, child, pages);
        lacks_room(child, "gc", dcsr_store_gc(store, NULL, 1, NULL), DCSR_ERROR_IO, "full");
        expect_stored(child, d->context, store, j);
        leave_room(d, child, UINT64_MAX);
        dcsr_view_destroy(view);
        STORE_OK(child, dcsr_store_gc(store, NULL, 1, NULL));
        expect_stored(child, d->context, store, j);
    }
    dcsr_matrix_destroy(plain);
    dcsr_store_close(store);
}

Test(store_full, gc_without_room_loses_nothing)
{
    run_on_disk(collect_on_full_disk);
}

/* A copy has room or leaves nothing, and the store is as it was. */
static void copy_on_full_disk(void *user, store_child *child)
{
    disk *d = user;
    dcsr_store *store;
    uint64_t j = 0;
    char backup[400], copy[400];
    mount_disk(d, child);
    snprintf(backup, sizeof backup, "%s/backup", d->folder);
    snprintf(copy, sizeof copy, "%s/.copy.mdb", d->store);
    dcsr_store_options options = {.chunk_bytes = PAGE};
    dcsr_matrix *plain = make_plain(child, d->context);
    for (uint64_t pages = 0; pages < 40; pages++) {
        snprintf(child->now, sizeof child->now, "a copy with room for %llu pages", (unsigned long long)pages);
        STORE_OK(child, dcsr_store_open(&store, d->store, &options));
        insert_more(child, plain, WORK_PLAIN, &j, 2);
        STORE_OK(child, dcsr_store_snapshot(store, work_names[WORK_PLAIN], plain, NULL));
        STORE_OK(child, dcsr_store_gc(store, NULL, 1, NULL));
        leave_room(d, child, pages);
        dcsr_status status = dcsr_store_backup(store, backup, NULL, NULL, NULL);
        bool lacks = lacks_room(child, "backup", status, DCSR_ERROR_IO, "bytes are needed");
        if (lacks != !!access(backup, F_OK)) store_child_fail(child, "%s: something is left", child->now);
        dcsr_store_close(store);
        if (!lacks) store_remove_folder(test_copy(backup, strlen(backup) + 1));
        leave_room(d, child, pages);
        status = dcsr_store_compact(d->store, NULL, NULL, NULL);
        lacks_room(child, "compacting", status, DCSR_ERROR_IO, "bytes are needed");
        if (!access(copy, F_OK)) store_child_fail(child, "%s: the copy is left", child->now);
        leave_room(d, child, UINT64_MAX);
        STORE_OK(child, dcsr_store_open(&store, d->store, &options));
        expect_stored(child, d->context, store, j);
        dcsr_store_close(store);
    }
    dcsr_matrix_destroy(plain);
}

Test(store_full, a_copy_without_room_leaves_the_store_and_nothing_else)
{
    run_on_disk(copy_on_full_disk);
}

/* A durable matrix goes on in memory and says so, until a snapshot has succeeded. What is recovered in
 * between has all that was acknowledged. */
static void log_on_full_disk(void *user, store_child *child)
{
    disk *d = user;
    mount_disk(d, child);
    dcsr_matrix_options options = {.policy = work_policies[0]};
    for (uint64_t pages = 0; pages < 30; pages++) {
        dcsr_store *store;
        dcsr_matrix *matrix;
        char path[400];
        uint64_t j = 0, broken = 0;
        snprintf(child->now, sizeof child->now, "the log with room for %llu pages",
                 (unsigned long long)pages);
        snprintf(path, sizeof path, "%s%llu", d->store, (unsigned long long)pages);
        for (int opening = 0; opening < 2; opening++) {
            STORE_OK(child, dcsr_store_open(&store, path, NULL));
            STORE_OK(child, dcsr_store_open_matrix(&matrix, d->context, store, work_names[0],
                                                   &(dcsr_durable_options){.type = DCSR_INT64,
                                                                           .rows = WORK_ROWS,
                                                                           .cols = WORK_COLS,
                                                                           .matrix = options},
                                                   NULL));
            expect_matrix(child, matrix, 0, j, "the recovered matrix");
            leave_room(d, child, pages);
            /* Once one is not durable, none is until there is a snapshot. */
            for (broken = 0; j < 100 && broken < 3;) {
                STORE_OK(child, work_queue(matrix, 0, j, j + 1));
                j++;
                bool fails =
                    lacks_room(child, "inserting", dcsr_matrix_wait(matrix), DCSR_ERROR_NOT_DURABLE, "full");
                if (broken && !fails) store_child_fail(child, "%s: durable again by itself", child->now);
                broken += fails;
            }
            expect_matrix(child, matrix, 0, j, "the matrix in memory");
            leave_room(d, child, UINT64_MAX);
            if (broken) {
                STORE_OK(child, dcsr_store_snapshot(store, work_names[0], matrix, NULL));
                insert_more(child, matrix, 0, &j, 2);
            }
            dcsr_matrix_destroy(matrix);
            expect_stored(child, d->context, store, 0);
            dcsr_store_close(store);
        }
    }
}

Test(store_full, a_durable_matrix_goes_on_in_memory_and_says_so)
{
    run_on_disk(log_on_full_disk);
}

/* ---- A limit ---- */

static void reach_limit(void *user, store_child *child)
{
    dcsr_context *context = store_context(child, 1);
    for (uint64_t pages = 1; pages < 80; pages += 3) {
        char path[400];
        dcsr_store *store;
        uint64_t j = 0, stored = 0;
        snprintf(child->now, sizeof child->now, "a limit of %llu pages", (unsigned long long)pages);
        snprintf(path, sizeof path, "%s/store%llu", (const char *)user, (unsigned long long)pages);
        dcsr_store_options options = {.chunk_bytes = PAGE, .max_bytes = pages * PAGE};
        if (lacks_room(child, "opening", dcsr_store_open(&store, path, &options), DCSR_ERROR_TOO_LARGE,
                       "limit"))
            continue;
        dcsr_matrix *plain = make_plain(child, context);
        for (bool full = false; !full;) {
            insert_more(child, plain, WORK_PLAIN, &j, 3);
            dcsr_status status = dcsr_store_snapshot(store, work_names[WORK_PLAIN], plain, NULL);
            full = lacks_room(child, "snapshot", status, DCSR_ERROR_TOO_LARGE, "limit");
            if (!full) stored = j;
            expect_stored(child, context, store, stored);
        }
        expect_matrix(child, plain, WORK_PLAIN, j, "the matrix in memory");
        dcsr_store_close(store);
        STORE_OK(child, dcsr_store_open(&store, path, NULL));
        STORE_OK(child, dcsr_store_snapshot(store, work_names[WORK_PLAIN], plain, NULL));
        expect_stored(child, context, store, j);
        dcsr_store_close(store);
        dcsr_matrix_destroy(plain);
    }
    dcsr_context_destroy(context);
}

Test(store_full, a_store_that_has_reached_its_limit_is_as_it_was)
{
    char *folder = store_new_folder();
    store_child *child = store_child_new();
    store_child_expect(child, reach_limit, folder);
    cr_assert(child->count[0] > 10 && child->count[1] > 10);
    store_child_free(child);
    store_remove_folder(folder);
}

/* ---- Room that was freed ---- */

/* Takes up so many pages of a store with chunks of a page. */
static dcsr_matrix *make_pages(store_child *child, dcsr_context *context, uint64_t pages)
{
    enum { LENGTH = 256 };
    static uint64_t row[LENGTH], col[LENGTH];
    static double value[LENGTH];
    dcsr_matrix *matrix;
    STORE_OK(child, dcsr_matrix_create(&matrix, context, DCSR_FP64, pages, LENGTH, NULL));
    for (uint64_t r = 0; r < pages; r++) {
        for (uint64_t i = 0; i < LENGTH; i++) row[i] = r, col[i] = i, value[i] = (double)(r + i);
        STORE_OK(child, dcsr_matrix_insert(matrix, LENGTH, row, col, value, NULL));
    }
    STORE_OK(child, dcsr_matrix_wait(matrix));
    return matrix;
}

/* A store of at most some hundred pages, by a limit of its own, of the disk, or of the process. */
enum { ROOM = 400, MOST_OF_IT = 250, TOO_MUCH = 500 };
typedef enum limit { OF_STORE, OF_DISK, OF_PROCESS } limit;
static const char *const limit_words[] = {
    [OF_STORE] = "the store has reached its limit",
    [OF_DISK] = "the disk is full",
    [OF_PROCESS] = "it would exceed the file-size limit of this process (ulimit -f)"};

typedef struct room {
    disk disk;
    limit limit;
    dcsr_store *store;
} room;

static void open_room(room *r, store_child *child)
{
    dcsr_store_options options = {.chunk_bytes = PAGE, .max_bytes = r->limit == OF_STORE ? ROOM * PAGE : 0};
    STORE_OK(child, dcsr_store_open(&r->store, r->disk.store, &options));
}

/* A new store in a room of its own. */
static void new_room(room *r, store_child *child, const char *what)
{
    static int number;
    snprintf(child->now, sizeof child->now, "%s: %s", what, limit_words[r->limit]);
    if (r->limit == OF_DISK) leave_room(&r->disk, child, UINT64_MAX);
    snprintf(r->disk.store, sizeof r->disk.store, "%s/store%d", r->disk.folder, number++);
    open_room(r, child);
    if (r->limit == OF_DISK) leave_room(&r->disk, child, ROOM);
}

static void close_room(room *r)
{
    char path[400];
    dcsr_store_close(r->store);
    if (r->limit != OF_DISK) return;
    snprintf(path, sizeof path, "%s/data.mdb", r->disk.store);
    unlink(path);
}

static void reopen(room *r, store_child *child, bool again)
{
    if (!again) return;
    dcsr_store_close(r->store);
    open_room(r, child);
}

static void fail_to_store(room *r, store_child *child, const char *name, dcsr_matrix *matrix)
{
    if (!lacks_room(child, "a snapshot that does not fit", dcsr_store_snapshot(r->store, name, matrix, NULL),
                    r->limit == OF_STORE ? DCSR_ERROR_TOO_LARGE : DCSR_ERROR_IO, limit_words[r->limit]))
        store_child_fail(child, "%s: there was room for it", child->now);
    if (!test_says("as it was") || !test_says("free old versions (gc)"))
        store_child_fail(child, "%s: it says: %s", child->now, dcsr_thread_error());
}

static void store_what_fits(room *r, store_child *child, const char *name, dcsr_matrix *matrix)
{
    STORE_OK(child, dcsr_store_snapshot(r->store, name, matrix, NULL));
    atomic_fetch_add(&child->count[1], 1);
}

static void expect_matrices(room *r, store_child *child, uint64_t count)
{
    dcsr_store_info info;
    STORE_OK(child, dcsr_store_get_info(r->store, &info));
    if (info.matrices != count)
        store_child_fail(child, "%s: it has %llu matrices, not %llu", child->now,
                         (unsigned long long)info.matrices, (unsigned long long)count);
}

/* What fits is stored at the first attempt, whatever has taken up the room before. */
static void use_freed_room(room *r, store_child *child)
{
    dcsr_context *context = r->disk.context;
    dcsr_matrix *most = make_pages(child, context, MOST_OF_IT), *large = make_pages(child, context, TOO_MUCH);
    for (int way = 0; way < 4; way++) {
        bool again = way & 1;
        dcsr_i_store_transaction_bytes = way & 2 ? 20 * PAGE : 100000 * PAGE;
        new_room(r, child, "after a snapshot that did not fit");
        fail_to_store(r, child, "large", large);
        expect_matrices(r, child, 0);
        reopen(r, child, again);
        store_what_fits(r, child, "most", most);
        close_room(r);

        new_room(r, child, "after a deletion");
        store_what_fits(r, child, "most", most);
        fail_to_store(r, child, "another", most);
        STORE_OK(child, dcsr_store_delete(r->store, "most"));
        reopen(r, child, again);
        store_what_fits(r, child, "another", most);
        fail_to_store(r, child, "large", large);
        expect_matrices(r, child, 1);
        close_room(r);
    }
    dcsr_matrix_destroy(large);
    dcsr_matrix_destroy(most);
}

static void use_room_of_store(void *user, store_child *child)
{
    room r = {.disk = {.folder = user, .context = store_context(child, 1)}, .limit = OF_STORE};
    use_freed_room(&r, child);
    dcsr_context_destroy(r.disk.context);
}

static void use_room_of_disk(void *user, store_child *child)
{
    room r = {.disk = *(disk *)user, .limit = OF_DISK};
    mount_disk(&r.disk, child);
    use_freed_room(&r, child);
}

/* The signal that would end the process is blocked while the library writes, and no longer. */
static void use_room_of_process(void *user, store_child *child)
{
    sigset_t blocked, pending;
    room r = {.disk = {.folder = user, .context = store_context(child, 1)}, .limit = OF_PROCESS};
    struct rlimit most = {ROOM * PAGE, ROOM * PAGE};
    if (setrlimit(RLIMIT_FSIZE, &most)) store_child_fail(child, "cannot limit files: %s", strerror(errno));
    use_freed_room(&r, child);
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    sigpending(&pending);
    if (sigismember(&blocked, SIGXFSZ) || sigismember(&pending, SIGXFSZ))
        store_child_fail(child, "the signal is blocked, or pending");
    dcsr_context_destroy(r.disk.context);
}

static void run_in_folder(store_child_function function)
{
    char *folder = store_new_folder();
    store_child *child = store_child_new();
    store_child_expect(child, function, folder);
    store_child_free(child);
    store_remove_folder(folder);
}

Test(store_full, what_fits_into_a_limited_store_is_stored_at_once)
{
    run_in_folder(use_room_of_store);
}

Test(store_full, what_fits_on_a_limited_disk_is_stored_at_once)
{
    run_on_disk(use_room_of_disk);
}

Test(store_full, what_fits_into_a_limited_file_is_stored_at_once)
{
    run_in_folder(use_room_of_process);
}
