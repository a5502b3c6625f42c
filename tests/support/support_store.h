/* support_store.h: what the tests of stores share: folders, files that are damaged, and child processes that
 * may crash or be killed.
 *
 * A test that damages or kills does all work with stores in children: the test's own process never has one
 * open, so that nothing of a killed process's state is inherited by the next. */
#ifndef DCSR_TESTS_SUPPORT_STORE_H
#define DCSR_TESTS_SUPPORT_STORE_H

#include <dcsr/persist.h>
#include "tests/support/support.h"
#include <stddef.h>

/* How often a test does what it does with chance: `usual` times, DCSR_TORTURE=n makes it n times as often. */
uint64_t store_rounds(uint64_t usual);
/* The step through something of which not every piece is tried: 1 where DCSR_TORTURE is set. */
size_t store_stride(size_t usual);

/* Sleeps so many milliseconds. */
void store_pause(long milliseconds);

/* A new empty folder, in memory where there is /dev/shm; TEST_STORES names another place. free() the path. */
char *store_new_folder(void);
/* Removes it with all that is in it, and frees the path. */
void store_remove_folder(char *path);

/* The content of a file in the folder; free() it. Writing makes it exactly those bytes. */
char *store_read_file(const char *folder, const char *name, size_t *bytes);
void store_write_file(const char *folder, const char *name, const void *data, size_t bytes);

/* What a child tells its parent, in memory that both see. */
typedef struct store_child {
    char now[200];      /* what it is doing, should it crash */
    char why[TEST_WHY]; /* not empty: what went wrong */
    atomic_uint_fast64_t count[8];
} store_child;
store_child *store_child_new(void);
void store_child_free(store_child *child);

typedef void (*store_child_function)(void *user, store_child *child);
/* Runs function(user, child) in a child process, and waits; its status as waitpid() has it. */
int store_child_run(store_child *child, store_child_function function, void *user);
/* The same, in steps: the second waits. */
pid_t store_child_start(store_child *child, store_child_function function, void *user);
int store_child_wait(pid_t process);
/* By parent or child: waits until a count has come so far, or something went wrong; as long as any test may take. */
void store_child_await(const store_child *child, int count, uint64_t value);
/* Asserts that it came to its end and found nothing wrong. */
void store_child_expect(store_child *child, store_child_function function, void *user);
/* In the child: keeps what went wrong and ends it. */
__attribute__((format(printf, 2, 3), noreturn)) void store_child_fail(store_child *child, const char *format,
                                                                      ...);
/* In the child: asserts that a call of the library succeeds. */
#define STORE_OK(child, expression)                                                 \
    do {                                                                            \
        dcsr_status store_status_ = (expression);                                   \
        if (store_status_ != DCSR_OK)                                               \
            store_child_fail(child, "%s: %s: %s (%s)", (child)->now, #expression,   \
                             dcsr_status_name(store_status_), dcsr_thread_error()); \
    } while (0)
/* The same, that it fails with that status, and a sentence with the words in it. */
#define STORE_FAILS(child, expected, words, expression)                                                 \
    do {                                                                                                \
        dcsr_status store_status_ = (expression);                                                       \
        if (store_status_ != (expected) || !test_says(words))                                           \
            store_child_fail(child, "%s is \"%s\" (%s); it should be \"%s\", with \"%s\"", #expression, \
                             dcsr_status_name(store_status_), dcsr_thread_error(),                      \
                             dcsr_status_name(expected), words);                                        \
    } while (0)
/* In the child: writes the next version of "alike". All rows of the matrix of version v are alike: (r, c) is
 * v for c up to v modulo the length of a side. What is torn is not. */
enum { STORE_SIDE = 60 };
void store_write_alike(store_child *child, dcsr_store *store, dcsr_context *context, uint64_t v);
/* Which version such a matrix, or a CSR view of one, is; fails the child where it is none. */
uint64_t store_read_alike(store_child *child, dcsr_matrix *matrix);
uint64_t store_see_alike(store_child *child, dcsr_view *view);

/* In the child: a context on the cpu whose matrices reserve little address space. */
dcsr_context *store_context(store_child *child, int threads);

#endif
