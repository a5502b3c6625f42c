/* test_store_opening.c: who may have a store open beside whom: many that make it, forks, readers that LMDB's
 * table does not list, slots of the dead; and sentences about long paths.
 *
 * Read-only mounts and spaces of process numbers need root, or a system that lets users have spaces of their
 * own; where there are none, the tests of these are skipped. */
#include "persist/store_data.h"
#include "tests/support/support_store.h"
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534 };
enum { VERSION, STOP, SEEN, PHASE, GO, BYTES, NOT_PERMITTED = 7 }; /* counts of a child */
static const char *const name = "alike";
static const dcsr_store_options reading = {.read_only = true}, refusing = {.refuse_locked = true};

/* What the children of a test share: how those that read come to the store. */
typedef struct place {
    char *folder;
    void (*enter)(const struct place *place, store_child *child);
    bool unlisted;
    store_child *writer; /* whose progress they see */
} place;

/* ---- Ways to come to a store without a slot ---- */

/* Who is not root may do that as the root of a new space of users, where there are such. */
static void unshare_or_end(store_child *child, int what)
{
    if (!unshare(what) || !unshare(what | CLONE_NEWUSER)) return;
    atomic_store(&child->count[NOT_PERMITTED], (uint64_t)errno);
    _exit(0);
}

/* The folder is mounted on itself, read-only, for this process alone. */
static void enter_mount(const place *p, store_child *child)
{
    unsigned long flags = MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
    unshare_or_end(child, CLONE_NEWNS);
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount(p->folder, p->folder, NULL, MS_BIND, NULL) || mount(NULL, p->folder, NULL, flags, NULL)) {
        atomic_store(&child->count[NOT_PERMITTED], (uint64_t)errno);
        _exit(0);
    }
}

/* As a user who may not write lock.mdb. Who cannot become another user takes the mount. */
static void enter_as_nobody(const place *p, store_child *child)
{
    if (getuid())
        enter_mount(p, child);
    else if (setgid(NOBODY) || setuid(NOBODY))
        store_child_fail(child, "cannot become another user");
}

/* Process 1 of a new space of numbers, with a /proc of that; its parent ends with its status. */
static void enter_container(const place *p, store_child *child)
{
    int status;
    (void)p;
    unshare_or_end(child, CLONE_NEWPID | CLONE_NEWNS);
    pid_t process = fork();
    if (process < 0) store_child_fail(child, "cannot fork: %s", strerror(errno));
    if (process) {
        while (waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getpid() != 1) store_child_fail(child, "it is process %ld", (long)getpid());
    if (!mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) && !mount("proc", "/proc", "proc", 0, NULL))
        return;
    atomic_store(&child->count[NOT_PERMITTED], (uint64_t)errno);
    _exit(0);
}

static void enter_nowhere(const place *p, store_child *child)
{
    (void)p, (void)child;
}

static void enter(void *user, store_child *child)
{
    const place *p = user;
    p->enter(p, child);
}

/* ---- Places ---- */

static void make_first(void *user, store_child *child)
{
    const place *p = user;
    dcsr_store *store;
    char path[300];
    dcsr_context *context = store_context(child, 1);
    STORE_OK(child, dcsr_store_open(&store, p->folder, NULL));
    store_write_alike(child, store, context, 1);
    dcsr_store_close(store);
    dcsr_context_destroy(context);
    snprintf(path, sizeof path, "%s/lock.mdb", p->folder);
    if (chmod(p->folder, 0755) || chmod(path, 0644)) store_child_fail(child, "cannot change permissions");
}

static void end_place(place *p)
{
    store_child_free(p->writer);
    store_remove_folder(p->folder);
}

/* A store with version 1; skips the test where one cannot come to it that way. */
static place new_place(void (*way)(const place *, store_child *))
{
    place p = {.folder = store_new_folder(), .enter = way, .unlisted = true, .writer = store_child_new()};
    store_child *child = store_child_new();
    store_child_expect(p.writer, make_first, &p);
    atomic_store(&p.writer->count[VERSION], 1);
    store_child_expect(child, enter, &p);
    int reason = (int)child->count[NOT_PERMITTED];
    store_child_free(child);
    if (!reason) return p;
    end_place(&p);
    cr_log_warn("skipped: no mounts and spaces of process numbers are to be had here: %s", strerror(reason));
    cr_skip("not permitted");
}

/* ---- Readers without a slot beside a writer ---- */

static dcsr_store *open_reader(const place *p, store_child *child)
{
    dcsr_store *store;
    STORE_OK(child, dcsr_store_open(&store, p->folder, &reading));
    if (store->unlisted != p->unlisted)
        store_child_fail(child, "the reader is %slisted", p->unlisted ? "" : "not ");
    return store;
}

static void write_versions(store_child *child, dcsr_store *store, dcsr_context *context, uint64_t count)
{
    for (uint64_t v = atomic_load(&child->count[VERSION]) + 1; count; v++, count--) {
        store_write_alike(child, store, context, v);
        STORE_OK(child, dcsr_store_gc(store, NULL, 1, NULL));
        atomic_store(&child->count[VERSION], v);
    }
}

/* Writes until told to stop, and reopens the store after the given number of versions. */
static void write_many(const place *p, store_child *child, int versions)
{
    dcsr_context *context = store_context(child, 1);
    while (!atomic_load(&child->count[STOP])) {
        dcsr_store *store;
        STORE_OK(child, dcsr_store_open(&store, p->folder, NULL));
        for (int i = 0; i < versions && !atomic_load(&child->count[STOP]); i++)
            write_versions(child, store, context, 1);
        dcsr_store_close(store);
    }
    dcsr_context_destroy(context);
}

static void write_until_stopped(void *user, store_child *child)
{
    write_many(user, child, 50);
}

/* Views that are held while the writer goes on by 1 to 8 versions: they stay what they are. */
static void hold_views(void *user, store_child *child)
{
    const place *p = user;
    p->enter(p, child);
    dcsr_context *context = store_context(child, 1);
    uint64_t rounds = store_rounds(20);
    for (uint64_t round = 0; round < rounds;) {
        dcsr_store *store = open_reader(p, child);
        for (int i = 0; i < 5; i++, round++) {
            dcsr_view *view;
            dcsr_matrix *matrix;
            STORE_OK(child, dcsr_store_open_view(&view, context, store, name, 0));
            uint64_t v = store_see_alike(child, view), most = v + 1 + round % 8;
            for (int ms = 0; ms < 200 && atomic_load(&p->writer->count[VERSION]) < most; ms++) store_pause(1);
            if (store_see_alike(child, view) != v)
                store_child_fail(child, "a view has become another version");
            STORE_OK(child, dcsr_store_restore(&matrix, context, store, name, 0, NULL));
            if (store_read_alike(child, matrix) < v)
                store_child_fail(child, "the newest version is older than a view");
            dcsr_matrix_destroy(matrix);
            dcsr_view_destroy(view);
            atomic_fetch_add(&child->count[SEEN], 1);
        }
        dcsr_store_close(store);
    }
    dcsr_context_destroy(context);
}

static void read_beside_a_writer(place *p)
{
    enum { READERS = 3 };
    store_child *reader[READERS];
    pid_t process[READERS], writing = store_child_start(p->writer, write_until_stopped, p);
    uint64_t views = 0;
    for (int r = 0; r < READERS; r++) {
        reader[r] = store_child_new();
        process[r] = store_child_start(reader[r], hold_views, p);
    }
    for (int r = 0; r < READERS; r++) {
        int status = store_child_wait(process[r]);
        atomic_store(&p->writer->count[STOP], r == READERS - 1);
        cr_expect(!status && !reader[r]->why[0], "status %x: %s", (unsigned)status, reader[r]->why);
        views += reader[r]->count[SEEN];
        store_child_free(reader[r]);
    }
    cr_assert(!store_child_wait(writing), "%s", p->writer->why);
    fprintf(stderr, "%llu views while %llu versions were written, %llu rounds a reader\n",
            (unsigned long long)views, (unsigned long long)p->writer->count[VERSION],
            (unsigned long long)store_rounds(20));
}

Test(store_readers, without_permission_to_write_see_one_version)
{
    place p = new_place(enter_as_nobody);
    read_beside_a_writer(&p);
    end_place(&p);
}

Test(store_readers, on_a_read_only_mount_see_one_version)
{
    place p = new_place(enter_mount);
    read_beside_a_writer(&p);
    end_place(&p);
}

/* Two views at a time, one of which is always held, while the writer goes on: the file does not grow with
 * that. */
static void overlap_views(void *user, store_child *child)
{
    const place *p = user;
    p->enter(p, child);
    dcsr_context *context = store_context(child, 1);
    dcsr_store *store = open_reader(p, child);
    dcsr_view *before = NULL, *view;
    for (uint64_t go = 1; !atomic_load(&child->count[STOP]); go++) {
        STORE_OK(child, dcsr_store_open_view(&view, context, store, name, 0));
        if (before && store_see_alike(child, before) >= store_see_alike(child, view))
            store_child_fail(child, "the view before is newer");
        dcsr_view_destroy(before);
        before = view;
        atomic_store(&child->count[SEEN], go);
        store_child_await(child, GO, go);
    }
    dcsr_view_destroy(before);
    dcsr_store_close(store);
    dcsr_context_destroy(context);
}

static void write_in_turns(void *user, store_child *child)
{
    enum { TURNS = 120, EARLY = 40, VERSIONS_A_TURN = 3 }; /* a side has 60 lengths */
    const place *p = user;
    dcsr_store *store;
    dcsr_store_info info;
    uint64_t early = 0;
    dcsr_context *context = store_context(child, 1);
    store_child *reader = store_child_new();
    pid_t process = store_child_start(reader, overlap_views, user);
    STORE_OK(child, dcsr_store_open(&store, p->folder, NULL));
    for (uint64_t turn = 1; turn <= TURNS && !reader->why[0]; turn++) {
        store_child_await(reader, SEEN, turn);
        write_versions(child, store, context, VERSIONS_A_TURN);
        STORE_OK(child, dcsr_store_get_info(store, &info));
        if (turn == EARLY) early = info.file_bytes;
        atomic_store(&reader->count[STOP], turn == TURNS);
        atomic_store(&reader->count[GO], turn);
    }
    store_child_wait(process);
    if (reader->why[0]) store_child_fail(child, "%s", reader->why);
    if (info.file_bytes > early + early / 4)
        store_child_fail(child, "the file has grown from %llu to %llu bytes", (unsigned long long)early,
                         (unsigned long long)info.file_bytes);
    dcsr_store_close(store);
    dcsr_context_destroy(context);
    store_child_free(reader);
}

Test(store_readers, without_a_slot_hold_back_what_they_read_and_no_more)
{
    place p = new_place(enter_as_nobody);
    store_child_expect(p.writer, write_in_turns, &p);
    end_place(&p);
}

/* Holds a view until it is told to let go, or is killed. */
static void hold_view(void *user, store_child *child)
{
    const place *p = user;
    dcsr_view *view;
    p->enter(p, child);
    dcsr_context *context = store_context(child, 1);
    dcsr_store *store = open_reader(p, child);
    STORE_OK(child, dcsr_store_open_view(&view, context, store, name, 0));
    uint64_t v = store_see_alike(child, view);
    atomic_store(&child->count[SEEN], 1);
    store_child_await(child, GO, 1);
    if (store_see_alike(child, view) != v) store_child_fail(child, "the view has become another version");
    dcsr_view_destroy(view);
    dcsr_store_close(store);
    dcsr_context_destroy(context);
}

static void write_some(void *user, store_child *child)
{
    const place *p = user;
    dcsr_store *store;
    dcsr_context *context = store_context(child, 1);
    STORE_OK(child, dcsr_store_open(&store, p->folder, NULL));
    atomic_store(&child->count[PHASE], 1);
    write_versions(child, store, context, 20);
    dcsr_store_close(store);
    dcsr_context_destroy(context);
}

static void be_refused(void *user, store_child *child)
{
    const place *p = user;
    dcsr_store *store;
    dcsr_status status = dcsr_store_open(&store, p->folder, &refusing);
    if (status != DCSR_ERROR_BUSY || !test_says("older state"))
        store_child_fail(child, "%s: %s", dcsr_status_name(status), dcsr_thread_error());
}

/* What the writer before kept for the reader went with that process: the next one may not begin. */
static void write_after_an_old_view(bool killed)
{
    place p = new_place(enter_as_nobody);
    store_child *reader = store_child_new(), *child = store_child_new();
    pid_t process = store_child_start(reader, hold_view, &p);
    store_child_await(reader, SEEN, 1);
    store_child_expect(p.writer, write_some, &p);
    store_child_expect(child, be_refused, &p);
    atomic_store(&p.writer->count[PHASE], 0);
    pid_t writing = store_child_start(p.writer, write_some, &p);
    store_pause(50);
    cr_assert(!atomic_load(&p.writer->count[PHASE]), "it writes over what a reader has");
    if (killed)
        kill(process, SIGKILL);
    else
        atomic_store(&reader->count[GO], 1);
    cr_assert(!store_child_wait(process) != killed, "%s", reader->why);
    cr_assert(!store_child_wait(writing), "%s", p.writer->why);
    store_child_free(reader);
    store_child_free(child);
    end_place(&p);
}

Test(store_readers, without_a_slot_are_waited_for_by_a_new_writer)
{
    write_after_an_old_view(false);
}
Test(store_readers, without_a_slot_are_not_waited_for_when_killed)
{
    write_after_an_old_view(true);
}

/* LMDB's table outlives the writers: one comes after the other while a reader that is listed holds its view.
 */
Test(store_readers, that_are_listed_are_not_waited_for)
{
    place p = new_place(enter_nowhere);
    store_child *reader = store_child_new();
    p.unlisted = false;
    pid_t process = store_child_start(reader, hold_view, &p);
    store_child_await(reader, SEEN, 1);
    for (int i = 0; i < 3; i++) store_child_expect(p.writer, write_some, &p);
    atomic_store(&reader->count[GO], 1);
    cr_assert(!store_child_wait(process), "%s", reader->why);
    store_child_free(reader);
    end_place(&p);
}

/* ---- Processes with the same number ---- */

static void write_in_container(void *user, store_child *child)
{
    enter_container(user, child);
    /* Reopening the store would wait for the readers, which wait for more versions. */
    write_many(user, child, INT_MAX);
}

static void read_beside_a_namesake(place *p, bool writer_first)
{
    enum { READERS = 2 };
    store_child *reader[READERS];
    pid_t process[READERS], writing = 0;
    atomic_store(&p->writer->count[STOP], 0);
    if (writer_first) {
        uint64_t versions = atomic_load(&p->writer->count[VERSION]);
        writing = store_child_start(p->writer, write_in_container, p);
        store_child_await(p->writer, VERSION, versions + 1);
    }
    for (int r = 0; r < READERS; r++) {
        reader[r] = store_child_new();
        process[r] = store_child_start(reader[r], hold_view, p);
        store_child_await(reader[r], SEEN, 1);
    }
    if (!writer_first) writing = store_child_start(p->writer, write_in_container, p);
    store_child_await(p->writer, VERSION, atomic_load(&p->writer->count[VERSION]) + 10);
    for (int r = 0; r < READERS; r++) {
        atomic_store(&reader[r]->count[GO], 1);
        cr_assert(!store_child_wait(process[r]), "%s", reader[r]->why);
        store_child_free(reader[r]);
    }
    atomic_store(&p->writer->count[STOP], 1);
    cr_assert(!store_child_wait(writing), "%s", p->writer->why);
}

Test(store_readers, and_a_writer_may_have_the_same_process_number)
{
    place p = new_place(enter_container);
    read_beside_a_namesake(&p, false);
    read_beside_a_namesake(&p, true);
    end_place(&p);
}

static void be_refused_for_number(void *user, store_child *child)
{
    const place *p = user;
    dcsr_store *store;
    enter_container(user, child);
    dcsr_status status = dcsr_store_open(&store, p->folder, NULL);
    if (status != DCSR_ERROR_BUSY || !test_says("number of this one, 1"))
        store_child_fail(child, "%s: %s", dcsr_status_name(status), dcsr_thread_error());
}

static void write_as_first(void *user, store_child *child)
{
    enter_container(user, child);
    write_some(user, child);
}

/* Writes, in a space of numbers of its own; then reads there, and so is listed. */
static void write_and_hold(void *user, store_child *child)
{
    place p = *(place *)user;
    dcsr_store *store;
    enter_container(&p, child);
    STORE_OK(child, dcsr_store_open(&store, p.folder, NULL));
    dcsr_store_close(store);
    p.enter = enter_nowhere;
    p.unlisted = false;
    hold_view(&p, child);
}

Test(store_readers, that_are_listed_keep_their_number_from_a_writer)
{
    place p = new_place(enter_container);
    store_child *reader = store_child_new(), *again = store_child_new(), *child = store_child_new();
    pid_t process = store_child_start(reader, write_and_hold, &p);
    store_child_await(reader, SEEN, 1);
    pid_t second = store_child_start(again, hold_view, &p);
    store_child_await(again, SEEN, 1);
    store_child_expect(child, be_refused_for_number, &p);
    atomic_store(&reader->count[GO], 1);
    cr_assert(!store_child_wait(process), "%s", reader->why);
    store_child_expect(p.writer, write_as_first, &p);
    atomic_store(&again->count[GO], 1);
    cr_assert(!store_child_wait(second), "%s", again->why);
    store_child_free(reader);
    store_child_free(again);
    store_child_free(child);
    end_place(&p);
}

/* ---- Slots of the dead ---- */

/* Takes all slots that there are, and is killed with them. */
static void take_all_slots(void *user, store_child *child)
{
    dcsr_store *store;
    MDB_txn *txn;
    STORE_OK(child, dcsr_store_open(&store, user, &reading));
    dcsr_status status = DCSR_OK;
    int taken = -1;
    for (; status == DCSR_OK; taken++) status = dcsr_i_txn_begin(&txn, store, false);
    if (status != DCSR_ERROR_BUSY || !test_says("no more") || taken < DCSR_I_MOST_READERS)
        store_child_fail(child, "transaction %d: %s", taken, dcsr_thread_error());
    atomic_store(&child->count[SEEN], 1);
    pause();
}

static void read_in_spite(void *user, store_child *child)
{
    dcsr_store *store;
    dcsr_version_info info;
    STORE_OK(child, dcsr_store_open(&store, user, &reading));
    STORE_OK(child, dcsr_store_find(store, name, 0, &info));
    dcsr_store_close(store);
}

/* The writer has the store open all the time: else whoever opens it next would begin a new table. */
static void outlive_readers(void *user, store_child *child)
{
    dcsr_store *store;
    dcsr_version_info info;
    store_child *reader = store_child_new(), *next = store_child_new();
    dcsr_context *context = store_context(child, 1);
    STORE_OK(child, dcsr_store_open(&store, user, NULL));
    store_write_alike(child, store, context, 1);
    for (int i = 0; i < 2; i++) {
        pid_t process = store_child_start(reader, take_all_slots, user);
        store_child_await(reader, SEEN, 1);
        if (reader->why[0]) store_child_fail(child, "%s", reader->why);
        if (dcsr_store_find(store, name, 0, &info) != DCSR_ERROR_BUSY || !test_says("no more"))
            store_child_fail(child, "living readers have no slots (%s)", dcsr_thread_error());
        atomic_store(&reader->count[SEEN], 0);
        kill(process, SIGKILL);
        store_child_wait(process);
        if (i)
            STORE_OK(child, dcsr_store_find(store, name, 0, &info));
        else if (store_child_run(next, read_in_spite, user))
            store_child_fail(child, "a new reader: %s", next->why);
    }
    dcsr_store_close(store);
    dcsr_context_destroy(context);
    store_child_free(reader);
    store_child_free(next);
}

Test(store_readers, that_are_killed_leave_slots_to_others)
{
    char *folder = store_new_folder();
    store_child *child = store_child_new();
    store_child_expect(child, outlive_readers, folder);
    store_child_free(child);
    store_remove_folder(folder);
}
