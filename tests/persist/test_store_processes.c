/* test_store_processes.c: several processes and one store: readers beside a writer, readers that are killed,
 * forks. */
#include <dcsr/persist.h>
#include "tests/support/support_store.h"
#include "tests/support/support_work.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { VERSIONS = 40 };
static const char *const name = "alike";

/* Writes `count` versions after the last, of which it keeps two; returns how long the file is then. */
static uint64_t write_more(store_child *child, dcsr_store *store, dcsr_context *context, uint64_t count)
{
    dcsr_store_info info;
    for (uint64_t v = atomic_load(&child->count[0]) + 1; count; v++, count--) {
        store_write_alike(child, store, context, v);
        atomic_store(&child->count[0], v);
        if (v % 4 == 0) STORE_OK(child, dcsr_store_gc(store, NULL, 2, NULL));
    }
    STORE_OK(child, dcsr_store_get_info(store, &info));
    return info.file_bytes;
}

static void write_versions(void *user, store_child *child)
{
    dcsr_store *store;
    dcsr_store_options options = {.chunk_bytes = 4096};
    dcsr_context *context = store_context(child, 1);
    STORE_OK(child, dcsr_store_open(&store, user, &options));
    write_more(child, store, context, VERSIONS);
    dcsr_store_close(store);
    dcsr_context_destroy(context);
}

/* Restores the newest version until it is the last one; versions never go backwards. */
static void read_versions(void *user, store_child *child)
{
    dcsr_store *store;
    dcsr_store_options reading = {.read_only = true};
    dcsr_context *context = store_context(child, 1);
    STORE_OK(child, dcsr_store_open(&store, user, &reading));
    for (uint64_t before = 0; before < 2 * VERSIONS;) {
        dcsr_matrix *matrix;
        STORE_OK(child, dcsr_store_restore(&matrix, context, store, name, 0, NULL));
        uint64_t v = store_read_alike(child, matrix);
        if (v < before)
            store_child_fail(child, "version %llu after %llu", (unsigned long long)v,
                             (unsigned long long)before);
        before = v;
        dcsr_matrix_destroy(matrix);
        atomic_fetch_add(&child->count[2], 1);
    }
    dcsr_store_close(store);
    dcsr_context_destroy(context);
}

static void expect_end(pid_t process, const store_child *child)
{
    int status = store_child_wait(process);
    cr_assert(!child->why[0], "%s", child->why);
    cr_assert(WIFEXITED(status) && !WEXITSTATUS(status), "it ends with status %x", (unsigned)status);
}

Test(store_processes, readers_see_whole_versions_while_another_process_writes)
{
    enum { READERS = 2 };
    char *folder = store_new_folder();
    store_child *writer = store_child_new(), *reader[READERS];
    pid_t process[READERS];
    store_child_expect(writer, write_versions, folder);
    for (int r = 0; r < READERS; r++) {
        reader[r] = store_child_new();
        process[r] = store_child_start(reader[r], read_versions, folder);
    }
    store_child_expect(writer, write_versions, folder);
    for (int r = 0; r < READERS; r++) {
        expect_end(process[r], reader[r]);
        store_child_free(reader[r]);
    }
    store_child_free(writer);
    store_remove_folder(folder);
}

/* ---- Readers that are killed ---- */

/* Holds a view, which holds back its pages, until it is killed. */
static void hold_view(void *user, store_child *child)
{
    dcsr_store *store;
    dcsr_view *view;
    dcsr_store_options reading = {.read_only = true};
    dcsr_context *context = store_context(child, 1);
    STORE_OK(child, dcsr_store_open(&store, user, &reading));
    STORE_OK(child, dcsr_store_open_view(&view, context, store, name, 0));
    dcsr_version_info info;
    STORE_OK(child, dcsr_store_find(store, name, 0, &info));
    if (info.chunks != 1) store_child_fail(child, "the view is a copy, and reads nothing");
    atomic_store(&child->count[0], 1);
    pause();
}

/* Writes before, while and after a reader holds a view; count[3] says when. LMDB looks for dead readers by
 * itself only when nobody else has the store open, so it is open all the time. */
static void write_in_phases(void *user, store_child *child)
{
    dcsr_store *store;
    dcsr_context *context = store_context(child, 1);
    STORE_OK(child, dcsr_store_open(&store, user, NULL)); /* a version is one chunk, which is lent */
    for (int phase = 0; phase < 3; phase++) {
        uint64_t bytes = write_more(child, store, context, phase < 2 ? VERSIONS : 4 * VERSIONS);
        atomic_store(&child->count[4 + phase], bytes);
        atomic_store(&child->count[2], (uint64_t)phase + 1);
        if (phase < 2) store_child_await(child, 3, (uint64_t)phase + 1);
    }
    dcsr_store_close(store);
    dcsr_context_destroy(context);
}

Test(store_processes, a_killed_reader_holds_back_nothing_after_gc)
{
    char *folder = store_new_folder();
    store_child *writer = store_child_new(), *reader = store_child_new();
    pid_t writing = store_child_start(writer, write_in_phases, folder);
    store_child_await(writer, 2, 1);
    pid_t reading = store_child_start(reader, hold_view, folder);
    store_child_await(reader, 0, 1);
    cr_assert(!reader->why[0], "%s", reader->why);
    atomic_store(&writer->count[3], 1);
    store_child_await(writer, 2, 2);
    kill(reading, SIGKILL);
    store_child_wait(reading);
    atomic_store(&writer->count[3], 2);
    expect_end(writing, writer);
    uint64_t alone = writer->count[4], held = writer->count[5], after = writer->count[6];
    fprintf(stderr, "bytes: %llu, with a reader %llu, after it was killed %llu\n", (unsigned long long)alone,
            (unsigned long long)held, (unsigned long long)after);
    cr_assert(held > alone + alone / 4, "a reader holds back nothing");
    cr_assert(after <= held + held / 10, "a killed reader still holds back pages");
    store_child_free(writer);
    store_child_free(reader);
    store_remove_folder(folder);
}

/* ---- Who reads ---- */

/* As if the writer were in another container: then the reader is not in LMDB's table. */
static void hold_view_unlisted(void *user, store_child *child)
{
    store_write_file(user, "writer", "pid:[1]", strlen("pid:[1]"));
    hold_view(user, child);
}

/* Versions are written while another process holds a view: the file grows, and it is told for whom. */
static void tell_reader(void *user, store_child *child, bool listed)
{
    dcsr_store *store;
    dcsr_store_readers readers;
    dcsr_store_info info;
    store_child *reader = store_child_new();
    dcsr_context *context = store_context(child, 1);
    STORE_OK(child, dcsr_store_open(&store, user, NULL));
    uint64_t before = write_more(child, store, context, VERSIONS);
    STORE_OK(child, dcsr_store_get_readers(store, &readers));
    if (readers.count || readers.process || readers.state || readers.held_bytes || !readers.newest_state)
        store_child_fail(child, "somebody reads, and nobody does");
    uint64_t state = readers.newest_state;
    pid_t process = store_child_start(reader, listed ? hold_view : hold_view_unlisted, user);
    store_child_await(reader, 0, 1);
    if (reader->why[0]) store_child_fail(child, "the reader: %.200s", reader->why);
    uint64_t after = write_more(child, store, context, VERSIONS);
    STORE_OK(child, dcsr_store_get_readers(store, &readers));
    STORE_OK(child, dcsr_store_get_info(store, &info));
    if (!readers.count || (listed && readers.count > 1) ||
        readers.process != (listed ? (uint64_t)process : 0) || readers.state != state ||
        readers.newest_state <= state + VERSIONS)
        store_child_fail(child, "%llu read, the oldest is %llu, state %llu of %llu",
                         (unsigned long long)readers.count, (unsigned long long)readers.process,
                         (unsigned long long)readers.state, (unsigned long long)readers.newest_state);
    if (readers.held_bytes < after - before || readers.held_bytes > info.free_bytes)
        store_child_fail(child, "%llu bytes are held, of %llu that are free; the file has %llu more",
                         (unsigned long long)readers.held_bytes, (unsigned long long)info.free_bytes,
                         (unsigned long long)(after - before));
    kill(process, SIGKILL);
    store_child_wait(process);
    /* It has lost its slot by this; for one without a slot the writer looks again when it writes. */
    STORE_OK(child, dcsr_store_get_readers(store, &readers));
    if (listed && readers.count) store_child_fail(child, "a killed reader still has its slot");
    if (write_more(child, store, context, VERSIONS) > after)
        store_child_fail(child, "what it held back is not used again");
    STORE_OK(child, dcsr_store_get_readers(store, &readers));
    if (readers.count || readers.held_bytes) store_child_fail(child, "a killed reader still reads");
    dcsr_store_close(store);
    dcsr_context_destroy(context);
    store_child_free(reader);
}

static void tell_listed(void *user, store_child *child)
{
    tell_reader(user, child, true);
}

static void tell_unlisted(void *user, store_child *child)
{
    tell_reader(user, child, false);
}

Test(store_processes, it_is_told_who_reads_the_oldest_state_and_what_that_holds_back)
{
    static const store_child_function ways[] = {tell_listed, tell_unlisted};
    for (int w = 0; w < 2; w++) {
        char *folder = store_new_folder();
        store_child *child = store_child_new();
        store_child_expect(child, ways[w], folder);
        store_child_free(child);
        store_remove_folder(folder);
    }
}

/* ---- One process ---- */

static void open_twice(void *user, store_child *child)
{
    dcsr_store *store, *again = NULL;
    char path[400];
    dcsr_store_options reading = {.read_only = true};
    STORE_OK(child, dcsr_store_open(&store, user, NULL));
    snprintf(path, sizeof path, "%s/../%s", (const char *)user, strrchr(user, '/') + 1);
    if (dcsr_store_open(&again, user, NULL) != DCSR_ERROR_BUSY || again ||
        dcsr_store_open(&again, path, &reading) != DCSR_ERROR_BUSY || !test_says("this process"))
        store_child_fail(child, "it can be opened twice (%s)", dcsr_thread_error());
    dcsr_context *context = store_context(child, 1);
    store_write_alike(child, store, context, 1);
    dcsr_store_close(store);
    STORE_OK(child, dcsr_store_open(&store, user, &reading));
    dcsr_store_close(store);
    dcsr_context_destroy(context);
}

Test(store_processes, a_process_opens_a_store_once)
{
    char *folder = store_new_folder();
    store_child *child = store_child_new();
    store_child_expect(child, open_twice, folder);
    store_child_free(child);
    store_remove_folder(folder);
}

/* In a child of the process that has the store open: every call is refused, and closing it there harms
 * nothing. */
static void use_inherited(void *user, store_child *child)
{
    dcsr_store *store = user;
    dcsr_store_info info;
    char **names;
    uint64_t count;
    if (dcsr_store_get_info(store, &info) != DCSR_ERROR_INVALID_ARGUMENT || !test_says("forked") ||
        dcsr_store_get_names(store, &names, &count) != DCSR_ERROR_INVALID_ARGUMENT ||
        dcsr_store_gc(store, NULL, 1, NULL) != DCSR_ERROR_INVALID_ARGUMENT)
        store_child_fail(child, "a forked child uses the store (%s)", dcsr_thread_error());
    dcsr_store_close(store);
}

static void fork_with_store(void *user, store_child *child)
{
    dcsr_store *store;
    STORE_OK(child, dcsr_store_open(&store, user, NULL));
    dcsr_context *context = store_context(child, 1);
    store_write_alike(child, store, context, 1);
    store_child *forked = store_child_new();
    int status = store_child_run(forked, use_inherited, store);
    if (!WIFEXITED(status) || WEXITSTATUS(status)) store_child_fail(child, "the child: %s", forked->why);
    store_write_alike(child, store, context, 2);
    dcsr_matrix *matrix;
    STORE_OK(child, dcsr_store_restore(&matrix, context, store, name, 0, NULL));
    if (store_read_alike(child, matrix) != 2) store_child_fail(child, "the newest version is another");
    dcsr_matrix_destroy(matrix);
    dcsr_store_close(store);
    dcsr_context_destroy(context);
    store_child_free(forked);
}

Test(store_processes, a_store_is_of_no_use_in_a_forked_child)
{
    char *folder = store_new_folder();
    store_child *child = store_child_new();
    store_child_expect(child, fork_with_store, folder);
    store_child_free(child);
    store_remove_folder(folder);
}
