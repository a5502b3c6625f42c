/* test_durable_kill.c: processes that are killed while they change durable matrices.
 *
 * A child makes random changes from several threads, one a matrix, with snapshots and gc in between, and
 * tells by shared memory which changes it has given and which of them were acknowledged. It is killed at any
 * time, or at the n-th of the named points of writing. A second child then opens the store: each matrix has
 * to be what the first so many changes make of it, at least the acknowledged ones and at most the given ones;
 * the same where it is only looked at, before that, and beside the first child while that is at work. The
 * next round goes on from there, in the same store. */
#include "persist/store_data.h"
#include "tests/support/support_durable.h"
#include "tests/support/support_store.h"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MATRICES = 3, WINDOW = 8 };

/* What the store is to hold; the same for all rounds. */
typedef struct story {
    const char *path;
    dcsr_policy policy;
    dcsr_type type;
    uint64_t seed;
    int matrices;
    uint64_t made[MATRICES]; /* changes that are in the store */
    int changes;             /* of a round, for each matrix */
    long die_at;             /* the point at which the child kills itself; 0: at none */
} story;

/* In a child's counters; POINTS also counts the looks of one that only looks. */
enum { GIVEN = 0, ACKNOWLEDGED = MATRICES, POINTS = 2 * MATRICES, ENDED };

static const char *name_of(int m)
{
    static const char *const names[MATRICES] = {"a", "b", "c"};
    return names[m];
}

static plan plan_of(const story *s, int m)
{
    return plan_new(s->seed * MATRICES + (uint64_t)m, s->type, true);
}

static dcsr_matrix *open_one(const story *s, int m, store_child *child, dcsr_store *store,
                             dcsr_context *context)
{
    plan p = plan_of(s, m);
    dcsr_matrix *matrix;
    dcsr_matrix_options options = {.policy = s->policy};
    STORE_OK(child,
             dcsr_store_open_matrix(
                 &matrix, context, store, name_of(m),
                 &(dcsr_durable_options){.type = p.type, .rows = p.rows, .cols = p.cols, .matrix = options},
                 NULL));
    return matrix;
}

/* ---- The child that is killed ---- */

static store_child *told;
static long die_at;

/* Lingers, so that what is told too early is acknowledged before the process is killed here. */
static void die_or_go_on(const char *point)
{
    bool dies = atomic_fetch_add(&told->count[POINTS], 1) + 1 == (uint64_t)die_at;
    if (dies || !strcmp(point, "log: written")) usleep(dies ? 3000 : 200);
    if (dies) kill(getpid(), SIGKILL);
}

typedef struct worker {
    const story *s;
    int m;
    store_child *child;
    dcsr_store *store;
    dcsr_matrix *matrix;
} worker;

static void acknowledge(const worker *w, dcsr_ticket *ticket)
{
    if (!ticket) return;
    STORE_OK(w->child, dcsr_ticket_wait(ticket));
    atomic_fetch_add(&w->child->count[ACKNOWLEDGED + w->m], 1);
    dcsr_ticket_destroy(ticket);
}

static void *make_changes(void *argument)
{
    const worker *w = argument;
    plan p = plan_of(w->s, w->m);
    uint64_t made = w->s->made[w->m];
    for (uint64_t i = 0; i < made; i++) plan_next(&p);
    dcsr_ticket *ticket[WINDOW] = {NULL};
    for (uint64_t i = 0; i < (uint64_t)w->s->changes; i++) {
        change c = plan_next(&p);
        acknowledge(w, ticket[i % WINDOW]);
        ticket[i % WINDOW] = NULL;
        atomic_fetch_add(&w->child->count[GIVEN + w->m], 1);
        STORE_OK(w->child, change_matrix(&c, w->matrix, &ticket[i % WINDOW]));
        uint64_t other = (i + made) % 64;
        if (other == 20) STORE_OK(w->child, dcsr_store_snapshot(w->store, name_of(w->m), w->matrix, NULL));
        if (other == 50) STORE_OK(w->child, dcsr_store_gc(w->store, NULL, 1, NULL));
    }
    for (uint64_t i = (uint64_t)w->s->changes; i < (uint64_t)w->s->changes + WINDOW; i++)
        acknowledge(w, ticket[i % WINDOW]);
    return NULL;
}

static void change_store(void *user, store_child *child)
{
    const story *s = user;
    dcsr_store *store;
    worker w[MATRICES];
    pthread_t thread[MATRICES];
    told = child;
    die_at = s->die_at;
    dcsr_i_store_point = die_or_go_on;
    STORE_OK(child, dcsr_store_open(&store, s->path, NULL));
    dcsr_context *context = test_context(1);
    for (int m = 0; m < s->matrices; m++)
        w[m] = (worker){s, m, child, store, open_one(s, m, child, store, context)};
    for (int m = 0; m < s->matrices; m++)
        if (pthread_create(&thread[m], NULL, make_changes, &w[m])) store_child_fail(child, "no thread");
    for (int m = 0; m < s->matrices; m++) pthread_join(thread[m], NULL);
    for (int m = 0; m < s->matrices; m++) dcsr_matrix_destroy(w[m].matrix);
    dcsr_store_close(store);
    dcsr_context_destroy(context);
}

/* ---- The child that looks ---- */

typedef struct inquiry {
    const story *s;
    uint64_t least[MATRICES], most[MATRICES];
} inquiry;

/* How many changes the matrix shows. Two that follow one another may leave it the same; the last then counts,
 * as nothing that comes later tells them apart. */
static uint64_t count_changes(const inquiry *q, int m, store_child *child, dcsr_matrix *matrix)
{
    plan p = plan_of(q->s, m);
    oracle model;
    char why[TEST_WHY] = "", first[TEST_WHY] = "";
    plan_oracle(&p, &model, q->s->policy);
    uint64_t found = UINT64_MAX;
    for (uint64_t i = 0;; i++) {
        if (i >= q->least[m] && test_matrix_matches(matrix, &model, why)) found = i;
        if (i == q->least[m]) memcpy(first, why, sizeof first);
        if (i == q->most[m]) break;
        change c = plan_next(&p);
        change_oracle(&c, &model);
    }
    oracle_destroy(&model);
    if (found == UINT64_MAX)
        store_child_fail(child, "matrix %s is none of what changes %llu to %llu made: %s", name_of(m),
                         (unsigned long long)q->least[m], (unsigned long long)q->most[m], first);
    return found;
}

/* How many changes a matrix shows without being opened. It may not be there yet. */
static uint64_t count_recovered(const inquiry *q, int m, store_child *child, dcsr_store *store,
                                dcsr_context *context)
{
    dcsr_matrix *matrix;
    dcsr_status status = dcsr_store_recover(&matrix, context, store, name_of(m), NULL, NULL);
    if (status == DCSR_ERROR_NOT_FOUND && !q->least[m]) return 0;
    STORE_OK(child, status);
    uint64_t changes = count_changes(q, m, child, matrix);
    dcsr_matrix_destroy(matrix);
    return changes;
}

static void look_at_store(void *user, store_child *child)
{
    const inquiry *q = user;
    dcsr_store *store;
    dcsr_store_check check;
    uint64_t recovered[MATRICES];
    STORE_OK(child,
             dcsr_store_open(&store, q->s->path, NULL)); /* makes one where it was killed before that */
    dcsr_store_close(store);
    dcsr_context *context = test_context(1);
    STORE_OK(child, dcsr_store_open(&store, q->s->path, &(dcsr_store_options){.read_only = true}));
    for (int m = 0; m < q->s->matrices; m++) recovered[m] = count_recovered(q, m, child, store, context);
    dcsr_store_close(store);
    STORE_OK(child, dcsr_store_open(&store, q->s->path, NULL));
    STORE_OK(child, dcsr_store_verify(store, NULL, NULL, &check));
    if (check.corrupt) store_child_fail(child, "%llu things are corrupt", (unsigned long long)check.corrupt);
    for (int m = 0; m < q->s->matrices; m++) {
        dcsr_matrix *matrix = open_one(q->s, m, child, store, context);
        uint64_t changes = count_changes(q, m, child, matrix);
        if (changes != recovered[m])
            store_child_fail(child, "%s: %llu changes were to be seen, %llu are there", name_of(m),
                             (unsigned long long)recovered[m], (unsigned long long)changes);
        atomic_store(&child->count[m], changes);
        dcsr_matrix_destroy(matrix);
    }
    dcsr_store_close(store);
    dcsr_context_destroy(context);
}

/* ---- Rounds ---- */

/* Takes the story on by what is in the store now. */
static void look(story *s, const store_child *killed)
{
    inquiry q = {.s = s};
    store_child *child = store_child_new();
    for (int m = 0; m < s->matrices; m++) {
        q.least[m] = s->made[m] + killed->count[ACKNOWLEDGED + m];
        q.most[m] = s->made[m] + killed->count[GIVEN + m];
    }
    store_child_expect(child, look_at_store, &q);
    for (int m = 0; m < s->matrices; m++) s->made[m] = child->count[m];
    store_child_free(child);
}

/* When a child is killed: so long after it has given the first matrix so many changes. */
typedef struct moment {
    uint64_t given;
    useconds_t microseconds;
} moment;

static void kill_at(const moment *when, pid_t process, const store_child *child)
{
    siginfo_t end = {0};
    while (child->count[GIVEN] < when->given && !end.si_pid) {
        usleep(100);
        waitid(P_PID, (id_t)process, &end, WEXITED | WNOHANG | WNOWAIT);
    }
    usleep(when->microseconds);
    kill(process, SIGKILL);
}

/* A round whose child is killed then (NULL: not), or at the point that the story says; returns how many
 * points it came by. */
static uint64_t play(story *s, const moment *when)
{
    store_child *child = store_child_new();
    pid_t process = store_child_start(child, change_store, s);
    if (when) kill_at(when, process, child);
    int status = store_child_wait(process);
    cr_assert(!child->why[0], "%s", child->why);
    cr_assert(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : !WEXITSTATUS(status), "it ends with %#x",
              status);
    look(s, child);
    uint64_t points = child->count[POINTS];
    store_child_free(child);
    return points;
}

Test(durable_kill, at_any_time_loses_nothing_that_was_acknowledged, .timeout = 900)
{
    static const dcsr_type types[DCSR_POLICY_COUNT] = {
        [DCSR_POLICY_KEEP] = DCSR_FP32,  [DCSR_POLICY_SUM] = DCSR_FP64,   [DCSR_POLICY_MIN] = DCSR_INT16,
        [DCSR_POLICY_MAX] = DCSR_UINT64, [DCSR_POLICY_LAST] = DCSR_UINT8, [DCSR_POLICY_ANY] = DCSR_PATTERN};
    test_random random = {11};
    for (dcsr_policy policy = DCSR_POLICY_KEEP; policy < DCSR_POLICY_COUNT; policy++) {
        char *path = store_new_folder();
        story s = {.path = path,
                   .policy = policy,
                   .type = types[policy],
                   .seed = (uint64_t)policy,
                   .matrices = MATRICES,
                   .changes = TEST_SIZE(1000, 300, 150)};
        for (uint64_t round = 0; round < store_rounds((uint64_t)TEST_SIZE(10, 3, 3)); round++) {
            /* Now and then before it has changed anything, while it opens the store. */
            bool early = test_random_once_in(&random, 4);
            moment when = {early ? 0 : test_random_below(&random, (uint64_t)s.changes),
                           (useconds_t)test_random_below(&random, early ? 8000 : 1000)};
            play(&s, &when);
        }
        /* So that not only the beginnings are tried. */
        play(&s, NULL);
        for (int m = 0; m < MATRICES; m++) cr_assert(s.made[m] >= (uint64_t)s.changes);
        store_remove_folder(path);
    }
}

Test(durable_kill, at_every_point_loses_nothing_that_was_acknowledged, .timeout = 900)
{
    enum { CHANGES = 30 };
    char *path = store_new_folder();
    story s = {.path = path,
               .policy = DCSR_POLICY_SUM,
               .type = DCSR_INT64,
               .seed = 5,
               .matrices = 1,
               .changes = CHANGES};
    uint64_t points = play(&s, NULL), before = s.made[0];
    cr_assert(points > CHANGES / WINDOW && before == CHANGES, "%llu points", (unsigned long long)points);
    for (long n = 1; n < (long)points + 10; n += TEST_SIZE(1, 4, 4)) {
        s.die_at = n;
        play(&s, NULL);
        cr_assert(s.made[0] >= before);
        before = s.made[0];
    }
    store_remove_folder(path);
}

/* ---- Beside a process that writes ---- */

typedef struct watching {
    const story *s;
    const store_child *writer;
} watching;

/* Looks until the writer is done. */
static void watch(void *user, store_child *child)
{
    const watching *w = user;
    dcsr_store *store;
    dcsr_context *context = test_context(1);
    STORE_OK(child, dcsr_store_open(&store, w->s->path, &(dcsr_store_options){.read_only = true}));
    for (uint64_t looks = 0; !atomic_load(&w->writer->count[ENDED]); looks++) {
        int m = (int)(looks % MATRICES);
        inquiry q = {.s = w->s};
        dcsr_matrix *matrix;
        q.least[m] = w->s->made[m] + atomic_load(&w->writer->count[ACKNOWLEDGED + m]);
        STORE_OK(child, dcsr_store_recover(&matrix, context, store, name_of(m), NULL, NULL));
        q.most[m] = w->s->made[m] + atomic_load(&w->writer->count[GIVEN + m]);
        count_changes(&q, m, child, matrix);
        dcsr_matrix_destroy(matrix);
        atomic_fetch_add(&child->count[POINTS], 1);
    }
    dcsr_store_close(store);
    dcsr_context_destroy(context);
}

Test(durable_kill, what_is_acknowledged_is_seen_beside_the_writer, .timeout = 300)
{
    char *path = store_new_folder();
    story s = {.path = path,
               .policy = DCSR_POLICY_SUM,
               .type = DCSR_INT64,
               .seed = 3,
               .matrices = MATRICES,
               .changes = TEST_SIZE(10, 10, 10)};
    play(&s, NULL); /* the matrices are there */
    s.changes = TEST_SIZE(600, 200, 100);
    store_child *writer = store_child_new(), *watcher = store_child_new();
    watching w = {&s, writer};
    pid_t watching_process = store_child_start(watcher, watch, &w);
    int writing = store_child_run(writer, change_store, &s);
    while (watcher->count[POINTS] < MATRICES && !watcher->why[0]) store_pause(1);
    atomic_store(&writer->count[ENDED], 1);
    int watched = store_child_wait(watching_process);
    cr_assert(!writing && !writer->why[0], "%s", writer->why);
    cr_assert(!watched && !watcher->why[0], "%s", watcher->why);
    store_child_free(watcher);
    store_child_free(writer);
    store_remove_folder(path);
}
