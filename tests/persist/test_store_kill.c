/* test_store_kill.c: processes that are killed while they work on a store, and what they leave.
 *
 * DCSR_TORTURE=n does everything n times as often. */
#include "persist/store_data.h"
#include "tests/support/support_store.h"
#include "tests/support/support_work.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_BATCHES = 250 }; /* after which a store is begun anew, as the oracle takes ever longer */

/* A worker that is killed when it comes to a named point for the n-th time. */
typedef struct killing {
    const char *folder;
    const char *point; /* NULL: the parent kills it */
    long after;
    uint64_t steps;
} killing;

static killing current;
static atomic_long passed;

static void kill_at_point(const char *name)
{
    if (!strcmp(name, current.point) && atomic_fetch_add(&passed, 1) + 1 == current.after) {
        kill(getpid(), SIGKILL);
        pause(); /* this thread goes no further, however late the signal */
    }
}

static void run_work(void *user, store_child *child)
{
    current = *(killing *)user;
    if (current.point) dcsr_i_store_point = kill_at_point;
    dcsr_i_store_transaction_bytes = 1; /* a commit for each chunk */
    work_run(current.folder, current.steps, child);
}

static void check_work(void *user, store_child *child)
{
    work_check(user, child);
}

/* A folder with a store that is not too old. */
static void renew(char **folder)
{
    work_state state = *folder ? work_read_state(*folder) : (work_state){0};
    if (*folder && state.issued[0] + state.issued[1] + state.begun < MOST_BATCHES) return;
    if (*folder) store_remove_folder(*folder);
    *folder = store_new_folder();
    work_write_state(*folder, &(work_state){.round = state.round});
}

static void assert_killed(const store_child *child, int status, bool may_end)
{
    cr_assert(!child->why[0], "%s", child->why);
    if (WIFSIGNALED(status))
        cr_assert(WTERMSIG(status) == SIGKILL, "%s: signal %d", child->now, WTERMSIG(status));
    else
        cr_assert(may_end && !WEXITSTATUS(status), "%s: it ends with %d", child->now, WEXITSTATUS(status));
}

Test(store_kill, at_any_time_loses_nothing_that_was_acknowledged)
{
    test_seeds seeds = test_seeds_from_environment(store_rounds(TEST_VARIANT(150, 20, 15)));
    store_child *child = store_child_new();
    char *folder = NULL;
    for (uint64_t i = 0; i < seeds.rounds; i++) {
        test_random random = {seeds.first + i};
        test_seed_begins(random.state);
        renew(&folder);
        killing work = {.folder = folder, .steps = 1000000};
        pid_t process = store_child_start(child, run_work, &work);
        uint64_t most =
            test_random_once_in(&random, 3) ? 60000 : TEST_VARIANT(10000, 100000, 100000); /* us */
        struct timespec delay = {.tv_nsec = (long)(test_random_below(&random, most) * 1000)};
        nanosleep(&delay, NULL);
        kill(process, SIGKILL);
        assert_killed(child, store_child_wait(process), false);
        store_child_expect(child, check_work, folder);
    }
    work_state state = work_read_state(folder);
    fprintf(stderr, "killed %llu times; the last store has %llu, %llu and %llu batches\n",
            (unsigned long long)seeds.rounds, (unsigned long long)state.acknowledged[0],
            (unsigned long long)state.acknowledged[1], (unsigned long long)state.done);
    store_remove_folder(folder);
    store_child_free(child);
}

Test(store_kill, at_every_point_loses_nothing_that_was_acknowledged)
{
    static const char *const points[] = {"snapshot: chunks written",
                                         "snapshot: chunks committed",
                                         "snapshot: version written",
                                         "snapshot: version committed",
                                         "log: written",
                                         "log: committed",
                                         "gc: deleted",
                                         "gc: committed",
                                         "copy: written",
                                         "copy: synced",
                                         "copy: named",
                                         "room: freed",
                                         "recovery: restored",
                                         "recovery: replayed"};
    enum { POINTS = sizeof points / sizeof *points };
    uint64_t rounds = store_rounds(TEST_VARIANT(8, 2, 2)), killed = 0;
    store_child *child = store_child_new();
    char *folder = NULL;
    for (int p = 0; p < POINTS; p++) {
        uint64_t reached = 0;
        for (uint64_t i = 0; i < rounds; i++) {
            renew(&folder);
            killing work = {
                .folder = folder, .point = points[p], .after = 1 + (long)(i * i % 13), .steps = 60};
            if (!strncmp(points[p], "recovery", strlen("recovery"))) {
                /* Which needs something to recover, and comes once for each matrix. */
                store_child_expect(child, run_work, &(killing){.folder = folder, .steps = 10});
                work.after = 1 + (long)(i % 2);
            }
            int status = store_child_run(child, run_work, &work);
            assert_killed(child, status, true);
            reached += WIFSIGNALED(status);
            store_child_expect(child, check_work, folder);
        }
        cr_assert(reached, "no process came to the point '%s'", points[p]);
        killed += reached;
    }
    fprintf(stderr, "killed %llu times at %d points\n", (unsigned long long)killed, POINTS);
    store_remove_folder(folder);
    store_child_free(child);
}

/* One kill after the other while a store is opened: recovery must not lose what the recovery before it had.
 */
Test(store_kill, while_recovering_again_and_again_loses_nothing)
{
    static const char *const points[] = {"recovery: restored", "recovery: replayed"};
    store_child *child = store_child_new();
    char *folder = NULL;
    renew(&folder);
    store_child_expect(child, run_work, &(killing){.folder = folder, .steps = 20});
    for (uint64_t i = 0; i < store_rounds(20); i++) {
        killing work = {.folder = folder, .point = points[i % 2], .after = 1 + (long)(i / 2 % 2), .steps = 1};
        int status = store_child_run(child, run_work, &work);
        assert_killed(child, status, false);
        if (i % 5 == 4) store_child_expect(child, check_work, folder);
    }
    store_child_expect(child, check_work, folder);
    store_remove_folder(folder);
    store_child_free(child);
}
