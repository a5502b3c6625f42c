/* test_store_faults.c: folders that are no stores, may not be read or written, are held by others; readers
 * that die.
 *
 * Each test does its work with stores in child processes, as most need several that do not share memory. */
#include "persist/store_data.h"
#include "tests/support/support_store.h"
#include "tests/support/support_work.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NOBODY = 65534 };
static const char *const plain = "plain";

/* A folder with a store in it, and the path of that. */
typedef struct place {
    char *folder;
    char store[300];
} place;

/* Adds a version of "plain" after `batches` batches. */
static void add_version(store_child *child, dcsr_store *store, dcsr_context *context, uint64_t batches)
{
    dcsr_matrix *matrix;
    STORE_OK(child, dcsr_matrix_create(&matrix, context, DCSR_INT64, WORK_ROWS, WORK_COLS,
                                       &(dcsr_matrix_options){.policy = work_policies[WORK_PLAIN]}));
    STORE_OK(child, work_queue(matrix, WORK_PLAIN, 0, batches));
    STORE_OK(child, dcsr_matrix_wait(matrix));
    STORE_OK(child, dcsr_store_snapshot(store, plain, matrix, NULL));
    dcsr_matrix_destroy(matrix);
}

static void expect_version(store_child *child, dcsr_store *store, dcsr_context *context, uint64_t batches)
{
    dcsr_matrix *matrix;
    oracle model;
    char why[TEST_WHY];
    STORE_OK(child, dcsr_store_restore(&matrix, context, store, plain, 0, NULL));
    work_make_oracle(&model, WORK_PLAIN, batches);
    if (!test_matrix_matches(matrix, &model, why)) store_child_fail(child, "what is restored: %s", why);
    oracle_destroy(&model);
    dcsr_matrix_destroy(matrix);
}

static void make_store(void *user, store_child *child)
{
    dcsr_store *store;
    dcsr_store_options options = {.chunk_bytes = 4096};
    dcsr_context *context = store_context(child, 1);
    STORE_OK(child, dcsr_store_open(&store, ((place *)user)->store, &options));
    add_version(child, store, context, 10);
    dcsr_store_close(store);
    dcsr_context_destroy(context);
}

static place new_place(void)
{
    place p = {.folder = store_new_folder()};
    snprintf(p.store, sizeof p.store, "%s/store", p.folder);
    return p;
}

/* Makes a store, does `between` to it, and runs the function in a child. */
static void run(void (*between)(const place *), store_child_function function)
{
    place p = new_place();
    store_child *child = store_child_new();
    store_child_expect(child, make_store, &p);
    if (between) between(&p);
    store_child_expect(child, function, &p);
    store_child_free(child);
    store_remove_folder(p.folder);
}

/* ---- What is no store ---- */

static void open_what_is_none(void *user, store_child *child)
{
    place *p = user;
    char path[400];
    dcsr_store *store = NULL;
    dcsr_store_options reading = {.read_only = true}, there = {.must_exist = true};
    snprintf(path, sizeof path, "%s/none", p->folder);
    STORE_FAILS(child, DCSR_ERROR_NOT_FOUND, "none", dcsr_store_open(&store, path, &reading));
    STORE_FAILS(child, DCSR_ERROR_NOT_FOUND, "none", dcsr_store_open(&store, path, &there));
    if (store || !access(path, F_OK)) store_child_fail(child, "a store was made that should be there");
    snprintf(path, sizeof path, "%s/none/below", p->folder);
    STORE_FAILS(child, DCSR_ERROR_IO, "below", dcsr_store_open(&store, path, NULL));
    store_write_file(p->folder, "file", "text", 4);
    snprintf(path, sizeof path, "%s/file", p->folder);
    STORE_FAILS(child, DCSR_ERROR_FORMAT, "file", dcsr_store_open(&store, path, NULL));
    STORE_FAILS(child, DCSR_ERROR_FORMAT, "no store", dcsr_store_open(&store, p->folder, NULL));
    STORE_FAILS(child, DCSR_ERROR_FORMAT, "no store", dcsr_store_open(&store, p->folder, &reading));
    snprintf(path, sizeof path, "%s/other", p->folder);
    if (mkdir(path, 0777)) store_child_fail(child, "cannot make a folder");
    store_write_file(path, "data.mdb",
                     "this is a text and not what LMDB makes of it, and longer than a page's head is, "
                     "since what is shorter is told apart from it as a file that has been cut off.....",
                     160);
    STORE_FAILS(child, DCSR_ERROR_FORMAT, "no store", dcsr_store_open(&store, path, NULL));
    STORE_FAILS(child, DCSR_ERROR_FORMAT, "no store", dcsr_store_open(&store, path, &reading));
}

Test(store_faults, what_is_no_store_is_refused_and_left_alone)
{
    run(NULL, open_what_is_none);
}

/* Changes the store record through LMDB: what a newer library, or another program, would leave. */
static void change_record(const char *path, store_child *child, uint32_t format, bool rename)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi database;
    dcsr_i_store_record record;
    MDB_val key = {strlen("format"), "format"}, value;
    if (mdb_env_create(&env) || mdb_env_set_maxdbs(env, 8) || mdb_env_open(env, path, 0, 0666) ||
        mdb_txn_begin(env, NULL, 0, &txn) || mdb_dbi_open(txn, "store", 0, &database) ||
        mdb_get(txn, database, &key, &value))
        store_child_fail(child, "LMDB does not open the store");
    if (value.mv_size != sizeof record) store_child_fail(child, "the record has another size");
    memcpy(&record, value.mv_data, sizeof record);
    record.format = format;
    if (rename) record.magic[0] = 'x';
    dcsr_i_seal(&record, sizeof record, key.mv_data, key.mv_size);
    value = (MDB_val){sizeof record, &record};
    if (mdb_put(txn, database, &key, &value, 0) || mdb_txn_commit(txn))
        store_child_fail(child, "LMDB does not write");
    mdb_env_close(env);
}

static void open_newer(void *user, store_child *child)
{
    place *p = user;
    dcsr_store *store;
    dcsr_store_options reading = {.read_only = true};
    change_record(p->store, child, DCSR_I_STORE_FORMAT + 1, false);
    STORE_FAILS(child, DCSR_ERROR_FORMAT, "newer", dcsr_store_open(&store, p->store, NULL));
    STORE_FAILS(child, DCSR_ERROR_FORMAT, "newer", dcsr_store_open(&store, p->store, &reading));
    change_record(p->store, child, DCSR_I_STORE_FORMAT, true);
    STORE_FAILS(child, DCSR_ERROR_FORMAT, "not a store", dcsr_store_open(&store, p->store, NULL));
}

Test(store_faults, a_store_of_a_newer_format_is_refused)
{
    run(NULL, open_newer);
}

static void open_foreign(void *user, store_child *child)
{
    char path[400];
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi database;
    dcsr_store *store;
    MDB_val text = {4, "text"};
    snprintf(path, sizeof path, "%s/foreign", ((place *)user)->folder);
    if (mkdir(path, 0777) || mdb_env_create(&env) || mdb_env_set_maxdbs(env, 8) ||
        mdb_env_open(env, path, 0, 0666) || mdb_txn_begin(env, NULL, 0, &txn) ||
        mdb_dbi_open(txn, "another", MDB_CREATE, &database) || mdb_put(txn, database, &text, &text, 0) ||
        mdb_txn_commit(txn))
        store_child_fail(child, "LMDB makes no environment");
    mdb_env_close(env);
    STORE_FAILS(child, DCSR_ERROR_FORMAT, "not a store", dcsr_store_open(&store, path, NULL));
}

Test(store_faults, an_environment_of_another_program_is_refused)
{
    run(NULL, open_foreign);
}

/* ---- Permissions ---- */

/* Becomes a user to whom files belong that are not his. */
static void become_nobody(store_child *child)
{
    if (!getuid() && (setgid(NOBODY) || setuid(NOBODY)))
        store_child_fail(child, "cannot become another user");
}

static void open_without_permission(void *user, store_child *child)
{
    dcsr_store *store;
    dcsr_store_options reading = {.read_only = true};
    become_nobody(child);
    STORE_FAILS(child, DCSR_ERROR_IO, "Permission denied",
                dcsr_store_open(&store, ((place *)user)->store, NULL));
    STORE_FAILS(child, DCSR_ERROR_IO, "ermission denied",
                dcsr_store_open(&store, ((place *)user)->store, &reading));
}

static void set_modes(const place *p, mode_t folder, mode_t data, mode_t others)
{
    char path[400];
    static const char *const files[] = {"data.mdb", "lock.mdb", "writer"};
    for (int f = 0; f < 3; f++) {
        snprintf(path, sizeof path, "%s/%s", p->store, files[f]);
        cr_assert(!chmod(path, f ? others : data), "%s: %s", path, strerror(errno));
    }
    cr_assert(!chmod(p->store, folder) && !chmod(p->folder, 0755));
}

static void forbid_reading(const place *p)
{
    set_modes(p, 0755, 0000, 0444);
}
static void forbid_folder(const place *p)
{
    set_modes(p, 0000, 0666, 0666);
}
static void forbid_writing(const place *p)
{
    set_modes(p, 0555, 0444, 0444);
}
static void allow_reading(const place *p)
{
    set_modes(p, 0555, 0444, 0666);
}

Test(store_faults, a_store_that_may_not_be_read_is_refused)
{
    run(forbid_reading, open_without_permission);
}
Test(store_faults, a_folder_that_may_not_be_entered_is_refused)
{
    run(forbid_folder, open_without_permission);
}
static void read_without_writing(void *user, store_child *child)
{
    dcsr_store *store;
    dcsr_store_options reading = {.read_only = true};
    dcsr_context *context = store_context(child, 1);
    become_nobody(child);
    STORE_FAILS(child, DCSR_ERROR_IO, "ermission denied",
                dcsr_store_open(&store, ((place *)user)->store, NULL));
    STORE_OK(child, dcsr_store_open(&store, ((place *)user)->store, &reading));
    expect_version(child, store, context, 10);
    STORE_FAILS(child, DCSR_ERROR_INVALID_ARGUMENT, "reading only", dcsr_store_gc(store, NULL, 1, NULL));
    dcsr_store_close(store);
    dcsr_context_destroy(context);
}

Test(store_faults, a_store_that_may_only_be_read_can_be_read)
{
    run(allow_reading, read_without_writing);
}
Test(store_faults, a_store_whose_lock_may_not_be_written_can_be_read)
{
    run(forbid_writing, read_without_writing);
}

static void create_without_permission(void *user, store_child *child)
{
    dcsr_store *store;
    char path[400];
    snprintf(path, sizeof path, "%s/new", ((place *)user)->folder);
    become_nobody(child);
    STORE_FAILS(child, DCSR_ERROR_IO, "ermission denied", dcsr_store_open(&store, path, NULL));
    if (!access(path, F_OK)) store_child_fail(child, "it has left a folder");
}

static void enter_only(const place *p)
{
    cr_assert(!chmod(p->folder, 0555));
}

Test(store_faults, a_store_cannot_be_made_where_nothing_may_be_written)
{
    run(enter_only, create_without_permission);
}

/* ---- Others that have the store open ---- */

static void hold_store(void *user, store_child *child)
{
    dcsr_store *store;
    STORE_OK(child, dcsr_store_open(&store, ((place *)user)->store, NULL));
    atomic_store(&child->count[0], 1);
    pause();
}

static void wait_for(store_child *child, int count, pid_t process)
{
    while (!atomic_load(&child->count[count])) {
        int status;
        cr_assert(waitpid(process, &status, WNOHANG) == 0, "it has ended: %s", child->why);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static void open_locked(void *user, store_child *child)
{
    dcsr_store *store;
    dcsr_context *context = store_context(child, 1);
    dcsr_store_options refuse = {.refuse_locked = true}, reading = {.read_only = true};
    STORE_FAILS(child, DCSR_ERROR_BUSY, "another process",
                dcsr_store_open(&store, ((place *)user)->store, &refuse));
    STORE_OK(child, dcsr_store_open(&store, ((place *)user)->store, &reading));
    expect_version(child, store, context, 10);
    dcsr_store_close(store);
    dcsr_context_destroy(context);
}

static void wait_for_lock(void *user, store_child *child)
{
    dcsr_store *store;
    STORE_OK(child, dcsr_store_open(&store, ((place *)user)->store, NULL));
    atomic_store(&child->count[1], 1);
    dcsr_store_close(store);
}

Test(store_faults, a_second_writer_is_refused_or_waits_and_readers_are_not)
{
    place p = new_place();
    store_child *holder = store_child_new(), *child = store_child_new();
    store_child_expect(child, make_store, &p);
    pid_t held = store_child_start(holder, hold_store, &p);
    wait_for(holder, 0, held);
    store_child_expect(child, open_locked, &p);
    pid_t waiting = store_child_start(child, wait_for_lock, &p);
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    cr_assert(!atomic_load(&child->count[1]), "two processes write");
    kill(held, SIGKILL);
    store_child_wait(held);
    int status = store_child_wait(waiting);
    cr_assert(WIFEXITED(status) && !WEXITSTATUS(status) && atomic_load(&child->count[1]), "%s", child->why);
    store_child_free(holder);
    store_child_free(child);
    store_remove_folder(p.folder);
}
