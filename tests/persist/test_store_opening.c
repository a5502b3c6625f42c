/* test_store_opening.c: stores and matrices that several open at once: processes that make one store, forks,
 * threads; and sentences about sizes and long paths. */
#include "tests/support/support_snapshot.h"
#include <sched.h>
#include <stdio.h>
#include <string.h>

enum { SEEN, GO }; /* counts of a child */
static const dcsr_store_options reading = {.read_only = true}, refusing = {.refuse_locked = true};

/* ---- Forks ---- */

static void live_on(void *user, store_child *child)
{
    (void)user;
    store_child_await(child, GO, 1);
}

static void close_inherited(void *user, store_child *child)
{
    (void)child;
    dcsr_store_close(user);
}

static void open_refusing(void *user, store_child *child)
{
    dcsr_store *store;
    dcsr_status status = dcsr_store_open(&store, user, &refusing);
    if (status == DCSR_OK) dcsr_store_close(store);
    atomic_store(&child->count[SEEN], status == DCSR_ERROR_BUSY);
    if (status != DCSR_OK && status != DCSR_ERROR_BUSY) store_child_fail(child, "%s", dcsr_thread_error());
}

/* The lock of the writer ends when it closes the store, whatever children it has, and not when these do. */
static void close_before_child(void *user, store_child *child)
{
    dcsr_store *store;
    store_child *forked = store_child_new(), *other = store_child_new();
    STORE_OK(child, dcsr_store_open(&store, user, NULL));
    pid_t process = store_child_start(forked, live_on, NULL);
    dcsr_store_close(store);
    STORE_OK(child, dcsr_store_open(&store, user, &refusing));
    store_child_run(other, close_inherited, store);
    int status = store_child_run(other, open_refusing, user);
    if (status || !other->count[SEEN])
        store_child_fail(child, "a child that closes the store unlocks it (%s)", other->why);
    dcsr_store_close(store);
    atomic_store(&forked->count[GO], 1);
    if (store_child_wait(process)) store_child_fail(child, "%s", forked->why);
    store_child_free(forked);
    store_child_free(other);
}

Test(store_opening, a_forked_child_keeps_no_lock)
{
    char *folder = store_new_folder();
    store_child *child = store_child_new();
    store_child_expect(child, close_before_child, folder);
    store_child_free(child);
    store_remove_folder(folder);
}

/* ---- Many that make it ---- */

typedef struct starting {
    char store[300];
    store_child *start;
    bool refuse;
} starting;

static void make_together(void *user, store_child *child)
{
    const starting *s = user;
    dcsr_store *store;
    while (!atomic_load(&s->start->count[GO])) sched_yield();
    dcsr_status status = dcsr_store_open(&store, s->store, s->refuse ? &refusing : NULL);
    if (status == DCSR_OK) {
        dcsr_store_close(store);
        atomic_fetch_add(&s->start->count[SEEN], 1);
    } else if (status != DCSR_ERROR_BUSY || !s->refuse || !test_says("another process writes")) {
        store_child_fail(child, "%s: %s", dcsr_status_name(status), dcsr_thread_error());
    }
}

Test(store_opening, processes_may_make_one_store_together)
{
    enum { MAKERS = 4 };
    uint64_t rounds = store_rounds(TEST_VARIANT(100, 20, 20));
    char *folder = store_new_folder();
    store_child *child[MAKERS];
    starting s = {.start = store_child_new()};
    for (int m = 0; m < MAKERS; m++) child[m] = store_child_new();
    for (uint64_t round = 0; round < rounds; round++) {
        pid_t process[MAKERS];
        snprintf(s.store, sizeof s.store, "%s/%llu", folder, (unsigned long long)round);
        s.refuse = round % 2;
        atomic_store(&s.start->count[GO], 0);
        atomic_store(&s.start->count[SEEN], 0);
        for (int m = 0; m < MAKERS; m++) process[m] = store_child_start(child[m], make_together, &s);
        atomic_store(&s.start->count[GO], 1);
        for (int m = 0; m < MAKERS; m++) {
            int status = store_child_wait(process[m]);
            cr_assert(!status, "round %llu: status %x: %s", (unsigned long long)round, (unsigned)status,
                      child[m]->why);
        }
        cr_assert(s.start->count[SEEN] >= (s.refuse ? 1 : MAKERS));
    }
    fprintf(stderr, "%llu rounds of %d processes that make one store\n", (unsigned long long)rounds, MAKERS);
    for (int m = 0; m < MAKERS; m++) store_child_free(child[m]);
    store_child_free(s.start);
    store_remove_folder(folder);
}

/* ---- One thread opens a durable matrix, another makes a snapshot under its name ---- */

typedef struct racing {
    fixture *f;
    const char *matrix;
    atomic_int started;
    dcsr_status status;
} racing;

static void *store_under_name(void *argument)
{
    racing *r = argument;
    dcsr_matrix *matrix = test_matrix(r->f->context, DCSR_FP64, 5, 5, DCSR_POLICY_SUM);
    TEST_INSERT(matrix, {1, 2, 3.0}, {4, 4, 1.0});
    TEST_OK(dcsr_matrix_wait(matrix));
    atomic_fetch_add(&r->started, 1);
    while (atomic_load(&r->started) < 2) sched_yield();
    r->status = dcsr_store_snapshot(r->f->store, r->matrix, matrix, NULL);
    dcsr_matrix_destroy(matrix);
    return NULL;
}

Test(store_opening, the_first_opening_of_a_matrix_hides_no_snapshot)
{
    uint64_t rounds = store_rounds(TEST_VARIANT(200, 50, 20)), stored = 0;
    fixture f = begin(0);
    for (uint64_t round = 0; round < rounds; round++) {
        char matrix_name[32];
        pthread_t thread;
        racing r = {.f = &f, .matrix = matrix_name};
        dcsr_matrix *durable;
        dcsr_version_info newest;
        snprintf(matrix_name, sizeof matrix_name, "m%llu", (unsigned long long)round);
        cr_assert(!pthread_create(&thread, NULL, store_under_name, &r));
        while (!atomic_load(&r.started)) sched_yield();
        atomic_fetch_add(&r.started, 1);
        for (uint64_t i = round % 64 * 20; i; i--) (void)atomic_load(&r.started); /* a bit later each time */
        dcsr_status status =
            dcsr_store_open_matrix(&durable, f.context, f.store, matrix_name,
                                   &(dcsr_durable_options){.type = DCSR_FP64, .rows = 5, .cols = 5}, NULL);
        pthread_join(thread, NULL);
        cr_assert(status == DCSR_OK || (status == DCSR_ERROR_BUSY && test_says("open it again")), "%s",
                  dcsr_thread_error());
        cr_assert(r.status == DCSR_OK || r.status == DCSR_ERROR_BUSY);
        if (status == DCSR_OK) dcsr_matrix_destroy(durable);
        TEST_OK(dcsr_store_find(f.store, matrix_name, 0, &newest));
        cr_assert_eq(newest.nnz, r.status == DCSR_OK ? 2 : 0,
                     "round %llu: version %llu is empty and hides a snapshot", (unsigned long long)round,
                     (unsigned long long)newest.version);
        stored += r.status == DCSR_OK;
    }
    fprintf(stderr, "%llu rounds: %llu snapshots were stored\n", (unsigned long long)rounds,
            (unsigned long long)stored);
    end(&f);
}

/* ---- Sizes and long paths ---- */

Test(store_opening, max_bytes_beyond_all_addresses_is_told)
{
    char *folder = store_new_folder();
    dcsr_store *store;
    static const uint64_t too_large[] = {DCSR_STORE_MAX_BYTES + 1, (uint64_t)1 << 47, UINT64_MAX};
    for (size_t i = 0; i < sizeof too_large / sizeof *too_large; i++)
        TEST_REFUSED(DCSR_ERROR_TOO_LARGE, "70368744177664",
                     dcsr_store_open(&store, folder, &(dcsr_store_options){.max_bytes = too_large[i]}));
    store_remove_folder(folder);
}

/* Each would like a TiB of addresses, and there are 128. */
Test(store_opening, any_number_of_stores_leave_addresses_to_others)
{
    if (TEST_THREAD_SANITIZER) cr_skip_test("ThreadSanitizer leaves two TiB of address space");
    enum { STORES = 170 };
    static dcsr_store *store[STORES];
    char *folder = store_new_folder(), path[4200];
    for (int s = 0; s < STORES; s++) {
        snprintf(path, sizeof path, "%s/%d", folder, s);
        TEST_OK(dcsr_store_open(&store[s], path, NULL));
    }
    void *much = malloc((size_t)1 << 30);
    cr_assert(much);
    free(much);
    for (int s = 0; s < STORES; s++) dcsr_store_close(store[s]);
    store_remove_folder(folder);
}

Test(store_opening, a_long_path_hides_no_reason)
{
    enum { LONGEST = 3900 };
    dcsr_store *store;
    char *folder = store_new_folder(), *path = test_allocate(200000, 1);
    for (int tooth = 0; tooth < 3; tooth++) {
        size_t length = (size_t)snprintf(path, 200000, "%s", folder), most = tooth == 2 ? 150000 : LONGEST;
        while (length < most)
            length += (size_t)snprintf(path + length, 200000 - length, "/%s", tooth ? "\u00e4\u00f6" : "./.");
        snprintf(path + length, 200000 - length, "/none");
        dcsr_status status = dcsr_store_open(&store, path, &reading);
        const char *text = dcsr_thread_error();
        cr_assert(status == (tooth == 2 ? DCSR_ERROR_IO : DCSR_ERROR_NOT_FOUND), "%s", text);
        cr_assert(test_says(tooth == 2 ? "File name too long" : "there is no store of that name"), "%s",
                  text);
        cr_assert(!strncmp(text, folder, strlen(folder)) && test_says(" ... ") && test_says("/none"), "%s",
                  text);
        cr_assert(strlen(text) < 1024);
        for (const char *c = text; *c; c++) /* letters of two bytes are whole */
            cr_assert((*c & 0xC0) == 0xC0 ? (c[1] & 0xC0) == 0x80
                                          : (*c & 0xC0) != 0x80 || (c[-1] & 0xC0) == 0xC0);
    }
    free(path);
    store_remove_folder(folder);
}
