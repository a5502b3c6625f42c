/* test_store_backup.c: stores that are compacted and backed up: nothing is lost, nobody writes to the old
 * file, and what is damaged is not copied. Full disks, kills and power cuts: the suites that are about those.
 */
#include "persist/store_data.h"
#include "tests/support/support_store.h"
#include "tests/support/support_work.h"
#include <dcsr/convert.h>
#include <dcsr/generate.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Versions of "plain" that are made and kept, of some batches each; those of "first", and with its log. */
enum { VERSIONS = 8, KEPT = 2, BATCHES = 15, SNAPSHOT = 5, LOGGED = 12 };

typedef struct place {
    char *folder;
    char store[300], backup[300];
    store_child *child;
} place;

/* ---- The store ---- */

static dcsr_store *open_store(store_child *child, const char *path, bool read_only)
{
    dcsr_store *store;
    STORE_OK(child, dcsr_store_open(&store, path,
                                    &(dcsr_store_options){.chunk_bytes = 4096, .read_only = read_only}));
    return store;
}

static dcsr_matrix *open_first(store_child *child, dcsr_context *context, dcsr_store *store)
{
    dcsr_matrix *first;
    STORE_OK(child, dcsr_store_open_matrix(&first, context, store, work_names[0],
                                           &(dcsr_durable_options){.type = DCSR_INT64,
                                                                   .rows = WORK_ROWS,
                                                                   .cols = WORK_COLS,
                                                                   .matrix = {.policy = work_policies[0]}},
                                           NULL));
    return first;
}

/* Version v of "plain" is that after v * BATCHES batches. */
static void add_version(store_child *child, dcsr_context *context, dcsr_store *store, uint64_t v)
{
    dcsr_matrix *plain;
    dcsr_version_info info;
    STORE_OK(child, dcsr_matrix_create(&plain, context, DCSR_INT64, WORK_ROWS, WORK_COLS,
                                       &(dcsr_matrix_options){.policy = work_policies[WORK_PLAIN]}));
    STORE_OK(child, work_queue(plain, WORK_PLAIN, 0, v * BATCHES));
    STORE_OK(child, dcsr_matrix_wait(plain));
    STORE_OK(child, dcsr_store_snapshot(store, work_names[WORK_PLAIN], plain, &info));
    if (info.version != v) store_child_fail(child, "version %llu is another", (unsigned long long)v);
    dcsr_matrix_destroy(plain);
}

static void make_store(void *user, store_child *child)
{
    place *p = user;
    dcsr_context *context = store_context(child, 1);
    dcsr_store *store = open_store(child, p->store, false);
    for (uint64_t v = 1; v <= VERSIONS; v++) add_version(child, context, store, v);
    dcsr_matrix *first = open_first(child, context, store);
    STORE_OK(child, work_queue(first, 0, 0, SNAPSHOT));
    STORE_OK(child, dcsr_matrix_wait(first));
    STORE_OK(child, dcsr_store_snapshot(store, work_names[0], first, NULL));
    STORE_OK(child, work_queue(first, 0, SNAPSHOT, LOGGED));
    STORE_OK(child, dcsr_matrix_wait(first));
    STORE_OK(child, dcsr_store_gc(store, NULL, KEPT, NULL));
    dcsr_matrix_destroy(first);
    dcsr_store_close(store);
    dcsr_context_destroy(context);
}

static void expect_matrix(store_child *child, dcsr_matrix *matrix, int which, uint64_t batches)
{
    oracle model;
    char why[TEST_WHY];
    work_make_oracle(&model, which, batches);
    if (!test_matrix_matches(matrix, &model, why)) store_child_fail(child, "%s: %s", child->now, why);
    oracle_destroy(&model);
    dcsr_matrix_destroy(matrix);
}

static void expect_versions(store_child *child, dcsr_context *context, dcsr_store *store, uint64_t newest)
{
    dcsr_version_info *versions;
    dcsr_store_check check;
    uint64_t count;
    STORE_OK(child, dcsr_store_get_versions(store, work_names[WORK_PLAIN], &versions, &count));
    if (count < KEPT || versions[count - 1].version != newest)
        store_child_fail(child, "%s: the newest of %llu versions is %llu", child->now,
                         (unsigned long long)count, (unsigned long long)versions[count - 1].version);
    for (uint64_t v = 0; v < count; v++) {
        dcsr_matrix *plain;
        STORE_OK(child, dcsr_store_restore(&plain, context, store, work_names[WORK_PLAIN],
                                           versions[v].version, NULL));
        expect_matrix(child, plain, WORK_PLAIN, versions[v].version * BATCHES);
    }
    dcsr_store_list_free(versions);
    STORE_OK(child, dcsr_store_verify(store, NULL, NULL, &check));
    if (check.corrupt) store_child_fail(child, "%s: it is damaged", child->now);
}

/* All that make_store() has made is there, and it can be worked with. */
static void expect_store(store_child *child, const char *path)
{
    dcsr_context *context = store_context(child, 1);
    dcsr_store *store = open_store(child, path, false);
    expect_versions(child, context, store, VERSIONS);
    expect_matrix(child, open_first(child, context, store), 0, LOGGED);
    add_version(child, context, store, VERSIONS + 1);
    expect_versions(child, context, store, VERSIONS + 1);
    dcsr_store_close(store);
    dcsr_context_destroy(context);
}

static bool is_there(const char *folder, const char *name)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return !access(path, F_OK);
}

/* A place with that store, and a child for more. */
static place new_place(void)
{
    place p = {.folder = store_new_folder(), .child = store_child_new()};
    snprintf(p.store, sizeof p.store, "%s/store", p.folder);
    snprintf(p.backup, sizeof p.backup, "%s/backup", p.folder);
    store_child_expect(p.child, make_store, &p);
    return p;
}

static void remove_place(place *p)
{
    store_child_free(p->child);
    store_remove_folder(p->folder);
}

static void run(store_child_function function)
{
    place p = new_place();
    store_child_expect(p.child, function, &p);
    remove_place(&p);
}

/* ---- Compacting ---- */

static void note_progress(void *user, const char *doing, uint64_t bytes, uint64_t of)
{
    store_child *child = user;
    if (bytes > of || !*doing) store_child_fail(child, "progress: %s", doing);
    atomic_fetch_add(&child->count[7], 1);
}

static uint64_t file_bytes(const char *folder)
{
    char path[400];
    struct stat data;
    snprintf(path, sizeof path, "%s/data.mdb", folder);
    return stat(path, &data) ? 0 : (uint64_t)data.st_size;
}

static void compact(void *user, store_child *child)
{
    place *p = user;
    dcsr_store_copied copied;
    char data[400];
    struct stat made;
    uint64_t before = file_bytes(p->store);
    snprintf(data, sizeof data, "%s/data.mdb", p->store);
    if (chmod(data, 0640)) abort();
    STORE_OK(child, dcsr_store_compact(p->store, note_progress, child, &copied));
    uint64_t after = file_bytes(p->store);
    if (copied.bytes_before != before || copied.bytes_after != after || 2 * after > before)
        store_child_fail(child, "%llu bytes become %llu; it says %llu and %llu", (unsigned long long)before,
                         (unsigned long long)after, (unsigned long long)copied.bytes_before,
                         (unsigned long long)copied.bytes_after);
    if (copied.check.matrices != 2 || copied.check.versions != KEPT + 2 || !copied.check.log_records)
        store_child_fail(child, "it counts %llu matrices, %llu versions, %llu records",
                         (unsigned long long)copied.check.matrices, (unsigned long long)copied.check.versions,
                         (unsigned long long)copied.check.log_records);
    if (stat(data, &made) || (made.st_mode & ALLPERMS) != 0640)
        store_child_fail(child, "the file has other permissions");
    STORE_OK(child, dcsr_store_compact(p->store, NULL, NULL, NULL)); /* once more: nothing to be gained */
    if (file_bytes(p->store) != after) store_child_fail(child, "it gets smaller still");
    expect_store(child, p->store);
}

Test(store_backup, a_compacted_store_has_everything_in_less_room)
{
    run(compact);
}

/* A copy of some megabytes, so that there is progress; of several transactions, and at a page or two as dense
 * as one. */
static void compact_large(void *user, store_child *child)
{
    place *p = user;
    dcsr_context *context = store_context(child, 1);
    dcsr_store *store = open_store(child, p->store, false);
    dcsr_matrix *matrix;
    dcsr_store_copied one, several;
    dcsr_coo coo;
    STORE_OK(child, dcsr_coo_generate(&coo, context, "rmat:15,16"));
    STORE_OK(child, dcsr_matrix_from_coo(&matrix, context, &coo, NULL));
    dcsr_coo_free(&coo);
    STORE_OK(child, dcsr_store_snapshot(store, "large", matrix, NULL));
    dcsr_matrix_destroy(matrix);
    dcsr_store_close(store);
    dcsr_context_destroy(context);
    STORE_OK(child, dcsr_store_compact(p->store, note_progress, child, &one));
    if (atomic_load(&child->count[7]) < 2) store_child_fail(child, "it tells of no progress");
    dcsr_i_store_transaction_bytes = 5000;
    STORE_OK(child, dcsr_store_compact(p->store, NULL, NULL, &several));
    if (several.bytes_after > one.bytes_after + one.bytes_after / 50)
        store_child_fail(child, "%llu bytes, in many transactions %llu", (unsigned long long)one.bytes_after,
                         (unsigned long long)several.bytes_after);
    expect_store(child, p->store);
}

Test(store_backup, a_copy_is_dense_however_it_is_written)
{
    run(compact_large);
}

/* ---- Others that have the store open ---- */

enum { WRITES, READS, READS_UNLISTED, HOLDERS };

/* Has it open until it is killed. */
static void hold_store(void *user, store_child *child)
{
    place *p = user;
    /* As if those that write were in another container: then this process is not in LMDB's table. */
    if (atomic_load(&child->count[1]) == READS_UNLISTED) store_write_file(p->store, "writer", "pid:[1]", 7);
    open_store(child, p->store, atomic_load(&child->count[1]));
    atomic_store(&child->count[0], 1);
    pause();
}

static void refuse_to_compact(void *user, store_child *child)
{
    place *p = user;
    char words[40];
    store_child *other = store_child_new();
    uint64_t before = file_bytes(p->store);
    for (uint64_t holder = 0; holder < HOLDERS; holder++) {
        atomic_store(&other->count[0], 0);
        atomic_store(&other->count[1], holder);
        pid_t process = store_child_start(other, hold_store, p);
        store_child_await(other, 0, 1);
        snprintf(words, sizeof words, "process %ld has the store open", (long)process);
        STORE_FAILS(child, DCSR_ERROR_BUSY,
                    holder == WRITES  ? "another process writes"
                    : holder == READS ? words
                                      : "another process has the store open",
                    dcsr_store_compact(p->store, NULL, NULL, NULL));
        kill(process, SIGKILL);
        store_child_wait(process);
    }
    dcsr_store *store = open_store(child, p->store, true);
    STORE_FAILS(child, DCSR_ERROR_BUSY, "this process", dcsr_store_compact(p->store, NULL, NULL, NULL));
    dcsr_store_close(store);
    STORE_FAILS(child, DCSR_ERROR_NOT_FOUND, "no store", dcsr_store_compact(p->backup, NULL, NULL, NULL));
    STORE_FAILS(child, DCSR_ERROR_FORMAT, "no store", dcsr_store_compact(p->folder, NULL, NULL, NULL));
    if (file_bytes(p->store) != before || is_there(p->store, DCSR_I_COPY))
        store_child_fail(child, "it was changed all the same");
    STORE_OK(child, dcsr_store_compact(p->store, NULL, NULL, NULL)); /* nobody has it open any more */
    expect_store(child, p->store);
    store_child_free(other);
}

Test(store_backup, a_store_that_others_have_open_is_not_compacted)
{
    run(refuse_to_compact);
}

/* Opens the store while it is compacted, and reads what is written into the new file afterwards. */
static void open_meanwhile(void *user, store_child *child)
{
    place *p = user;
    dcsr_store *store;
    dcsr_store_options now = {.read_only = true, .refuse_locked = true};
    dcsr_context *context = store_context(child, 1);
    store_child_await(child, 2, 1);
    STORE_FAILS(child, DCSR_ERROR_BUSY, "compacts", dcsr_store_open(&store, p->store, &now));
    atomic_store(&child->count[0], 1);
    store = open_store(child, p->store, true);
    atomic_store(&child->count[0], 2);
    store_child_await(child, 1, 1);
    expect_versions(child, context, store, VERSIONS + 1);
    dcsr_store_close(store);
    dcsr_context_destroy(context);
}

static store_child *reader;

static void let_reader_come(const char *name)
{
    if (strcmp(name, "copy: synced")) return;
    atomic_store(&reader->count[2], 1);
    store_child_await(reader, 0, 1);
    store_pause(30); /* it is at the lock by now, or comes to it later: it must not matter */
    if (atomic_load(&reader->count[0]) != 1) snprintf(reader->why, sizeof reader->why, "it did not wait");
}

static void compact_meanwhile(void *user, store_child *child)
{
    place *p = user;
    reader = store_child_new();
    /* Not by the process that compacts, whose locks it would inherit. */
    pid_t reading = store_child_start(reader, open_meanwhile, p);
    dcsr_i_store_point = let_reader_come;
    STORE_OK(child, dcsr_store_compact(p->store, NULL, NULL, NULL));
    dcsr_i_store_point = NULL;
    dcsr_context *context = store_context(child, 1);
    dcsr_store *store = open_store(child, p->store, false);
    store_child_await(reader, 0, 2);
    add_version(child, context, store, VERSIONS + 1);
    atomic_store(&reader->count[1], 1);
    int status = store_child_wait(reading);
    if (status) store_child_fail(child, "the reader: %s", reader->why);
    dcsr_store_close(store);
    dcsr_context_destroy(context);
    store_child_free(reader);
}

Test(store_backup, who_opens_a_store_that_is_being_compacted_waits_for_the_new_file)
{
    run(compact_meanwhile);
}

/* ---- What is left of a copy that was killed ---- */

static const char *deadly;
static bool backing_up;

static void kill_at_point(const char *name)
{
    if (strcmp(name, deadly)) return;
    kill(getpid(), SIGKILL);
    pause();
}

static void copy_and_die(void *user, store_child *child)
{
    place *p = user;
    dcsr_i_store_point = kill_at_point;
    if (backing_up) {
        dcsr_store *store = open_store(child, p->store, true);
        STORE_OK(child, dcsr_store_backup(store, p->backup, NULL, NULL, NULL));
    } else {
        STORE_OK(child, dcsr_store_compact(p->store, NULL, NULL, NULL));
    }
    store_child_fail(child, "it does not come to the point '%s'", deadly);
}

static void expect_after_compacting(void *user, store_child *child)
{
    place *p = user;
    dcsr_store *store = open_store(child, p->store, true);
    dcsr_store_close(store);
    bool left = is_there(p->store, DCSR_I_COPY);
    if (left != (strcmp(deadly, "copy: named") != 0))
        store_child_fail(child, "%s: what is left is wrong", deadly);
    expect_store(child, p->store);
    if (is_there(p->store, DCSR_I_COPY)) store_child_fail(child, "%s: the copy is still there", deadly);
}

static void expect_after_backup(void *user, store_child *child)
{
    place *p = user;
    dcsr_store *store, *backup;
    dcsr_store_options reading_only = {.read_only = true};
    expect_store(child, p->store);
    if (strcmp(deadly, "copy: named")) {
        STORE_FAILS(child, DCSR_ERROR_FORMAT, "never finished",
                    dcsr_store_open(&backup, p->backup, &reading_only));
        STORE_FAILS(child, DCSR_ERROR_FORMAT, "never finished", dcsr_store_open(&backup, p->backup, NULL));
        store = open_store(child, p->store, true);
        STORE_OK(child, dcsr_store_backup(store, p->backup, NULL, NULL, NULL));
        dcsr_store_close(store);
        dcsr_context *context = store_context(child, 1);
        backup = open_store(child, p->backup, true);
        expect_versions(child, context, backup, VERSIONS + 1);
    } else {
        expect_store(child, p->backup);
    }
}

Test(store_backup, a_killed_copy_leaves_a_whole_store_and_no_half_backup)
{
    static const char *const points[] = {"copy: written", "copy: synced", "copy: named"};
    for (int i = 0; i < 6; i++) {
        place p = new_place();
        deadly = points[i % 3];
        backing_up = i < 3;
        int status = store_child_run(p.child, copy_and_die, &p);
        cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "%s", p.child->why);
        store_child_expect(p.child, backing_up ? expect_after_backup : expect_after_compacting, &p);
        remove_place(&p);
    }
}

/* ---- Backups ---- */

static dcsr_store *written;
static dcsr_context *writing;
static store_child *writer;

static void write_meanwhile(const char *name)
{
    if (!strcmp(name, "copy: written")) add_version(writer, writing, written, VERSIONS + 1);
}

/* Of a store that is open for writing, with a durable matrix, and gets a version meanwhile. */
static void backup_beside_writer(void *user, store_child *child)
{
    place *p = user;
    dcsr_store_copied copied;
    writer = child;
    writing = store_context(child, 1);
    written = open_store(child, p->store, false);
    dcsr_matrix *first = open_first(child, writing, written);
    dcsr_i_store_point = write_meanwhile;
    STORE_OK(child, dcsr_store_backup(written, p->backup, note_progress, child, &copied));
    dcsr_i_store_point = NULL;
    if (copied.bytes_after != file_bytes(p->backup) || copied.check.versions != KEPT + 2)
        store_child_fail(child, "it says something else of the backup");
    expect_versions(child, writing, written, VERSIONS + 1);
    expect_store(child, p->backup); /* while the other is open */
    STORE_OK(child, work_queue(first, 0, LOGGED, LOGGED + 1));
    STORE_OK(child, dcsr_matrix_wait(first));
    expect_matrix(child, first, 0, LOGGED + 1);
    dcsr_store_close(written);
    dcsr_context_destroy(writing);
}

Test(store_backup, a_backup_is_a_store_of_one_moment_with_all_there_was)
{
    run(backup_beside_writer);
}

static void backup_of_reader(void *user, store_child *child)
{
    place *p = user;
    char other[400];
    dcsr_store *store = open_store(child, p->store, true);
    if (mkdir(p->backup, 0777)) abort(); /* an empty folder will do */
    STORE_OK(child, dcsr_store_backup(store, p->backup, NULL, NULL, NULL));
    STORE_FAILS(child, DCSR_ERROR_IO, "there are files in it",
                dcsr_store_backup(store, p->backup, NULL, NULL, NULL));
    STORE_FAILS(child, DCSR_ERROR_IO, "there are files in it",
                dcsr_store_backup(store, p->store, NULL, NULL, NULL));
    snprintf(other, sizeof other, "%s/none/backup", p->folder);
    STORE_FAILS(child, DCSR_ERROR_IO, "No such file", dcsr_store_backup(store, other, NULL, NULL, NULL));
    STORE_FAILS(child, DCSR_ERROR_INVALID_ARGUMENT, "path", dcsr_store_backup(store, "", NULL, NULL, NULL));
    snprintf(other, sizeof other, "%s/other", p->folder);
    if (mkdir(other, 0777)) abort();
    int folder = open(other, O_RDONLY | O_DIRECTORY);
    if (flock(folder, LOCK_EX)) abort();
    STORE_FAILS(child, DCSR_ERROR_BUSY, "another process", dcsr_store_backup(store, other, NULL, NULL, NULL));
    close(folder);
    STORE_OK(child, dcsr_store_backup(store, other, NULL, NULL, NULL));
    dcsr_store_close(store);
    expect_store(child, p->store);
    expect_store(child, p->backup);
    expect_store(child, other);
}

Test(store_backup, a_backup_goes_into_an_empty_folder_alone)
{
    run(backup_of_reader);
}

/* ---- What cannot be copied ---- */

/* Neither call succeeds; the store's file is as it was, and there is nothing new. */
static void expect_no_copy(store_child *child, place *p, dcsr_status status, const char *words)
{
    size_t before, after;
    char *data = store_read_file(p->store, "data.mdb", &before);
    dcsr_store *store = open_store(child, p->store, true);
    STORE_FAILS(child, status, words, dcsr_store_backup(store, p->backup, NULL, NULL, NULL));
    dcsr_store_close(store);
    STORE_FAILS(child, status, words, dcsr_store_compact(p->store, NULL, NULL, NULL));
    char *again = store_read_file(p->store, "data.mdb", &after);
    if (before != after || memcmp(data, again, before))
        store_child_fail(child, "%s: the store was changed", words);
    if (is_there(p->folder, "backup") || is_there(p->store, DCSR_I_COPY))
        store_child_fail(child, "%s: something is left", words);
    free(data);
    free(again);
}

/* One bit of a chunk that a version names, and then a file that may not become so long. */
static void fail_to_copy(void *user, store_child *child)
{
    place *p = user;
    size_t bytes;
    char *data = store_read_file(p->store, "data.mdb", &bytes);
    dcsr_store_check check = {0};
    for (size_t at = 8192; at < bytes && check.corrupt != 1; at += 4096) {
        data[at - 2000] ^= 4;
        store_write_file(p->store, "data.mdb", data, bytes);
        dcsr_store *store;
        if (!dcsr_store_open(&store, p->store, &(dcsr_store_options){.read_only = true})) {
            if (dcsr_store_verify(store, NULL, NULL, &check)) check.corrupt = 0;
            dcsr_store_close(store);
        }
        if (check.corrupt == 1) expect_no_copy(child, p, DCSR_ERROR_CORRUPT, "dcsr verify");
        data[at - 2000] ^= 4;
    }
    if (check.corrupt != 1) store_child_fail(child, "no damage was found");
    store_write_file(p->store, "data.mdb", data, bytes);
    free(data);
    struct rlimit limit, most = {.rlim_cur = 40960, .rlim_max = RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    if (getrlimit(RLIMIT_FSIZE, &limit)) abort();
    most.rlim_max = limit.rlim_max;
    if (setrlimit(RLIMIT_FSIZE, &most)) abort();
    expect_no_copy(child, p, DCSR_ERROR_IO, "disk is full, or failing");
    if (setrlimit(RLIMIT_FSIZE, &limit)) abort();
    expect_store(child, p->store);
}

Test(store_backup, what_cannot_be_copied_leaves_the_store_as_it_was)
{
    run(fail_to_copy);
}
