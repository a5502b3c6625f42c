/* support_work.c: working on a store until something ends it, and checking what is left. */
#include "tests/support/support_work.h"
#include <dcsr/persist.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROWS = WORK_ROWS, COLS = WORK_COLS, MOST_ENTRIES = 160, PLAIN = WORK_PLAIN, MOST_AT_ONCE = 4 };
enum { LEAST_KEPT = 4, MOST_KEPT = 8 }; /* versions, by gc */
enum { SESSION = 20 };                  /* steps, after which the store is opened again, compacted or not */
const char *const work_names[WORK_DURABLE + 1] = {"first", "second", "plain"};
const dcsr_policy work_policies[WORK_DURABLE + 1] = {DCSR_POLICY_SUM, DCSR_POLICY_LAST, DCSR_POLICY_SUM};
static const dcsr_store_options settings[2] = {{.chunk_bytes = 4096},
                                               {.chunk_bytes = 4096, .compression = 1}};

/* ---- The state ---- */

static void state_path(const char *folder, char path[4096])
{
    snprintf(path, 4096, "%s/acknowledged", folder);
}

work_state work_read_state(const char *folder)
{
    char path[4096];
    work_state state = {0};
    state_path(folder, path);
    int file = open(path, O_RDONLY);
    if (file < 0) return state;
    if (read(file, &state, sizeof state) != (ssize_t)sizeof state) state = (work_state){0};
    close(file);
    return state;
}

void work_write_state(const char *folder, const work_state *state)
{
    char path[4096];
    state_path(folder, path);
    int file = open(path, O_WRONLY | O_CREAT, 0666);
    if (file < 0 || pwrite(file, state, sizeof *state, 0) != (ssize_t)sizeof *state) abort();
    close(file);
}

/* ---- Batches and oracles ---- */

typedef enum batch_kind { INSERT, REMOVE, RESIZE } batch_kind;

typedef struct batch {
    batch_kind kind;
    size_t n;
    uint64_t rows[MOST_ENTRIES], cols[MOST_ENTRIES];
    int64_t values[MOST_ENTRIES];
    uint64_t new_rows;
} batch;

static batch_kind batch_kind_of(uint64_t j)
{
    return j % 23 == 22 ? RESIZE : j % 7 == 5 ? REMOVE : INSERT;
}

/* Batch j, from 1 on, of a matrix. */
static void draw_batch(batch *b, int which, uint64_t j)
{
    test_random random = {j * 16 + (uint64_t)which};
    *b = (batch){.kind = batch_kind_of(j)};
    b->new_rows = ROWS + j / 23 % 4;
    if (b->kind == RESIZE) return;
    size_t n = 1 + test_random_below(&random, test_random_once_in(&random, 4) ? MOST_ENTRIES - 1 : 4);
    if (b->kind == INSERT) b->values[b->n++] = work_policies[which] == DCSR_POLICY_SUM ? 1 : (int64_t)j;
    for (; n; n--, b->n++) {
        b->rows[b->n] = 1 + test_random_below(&random, ROWS - 1);
        b->cols[b->n] = test_random_below(&random, COLS);
        b->values[b->n] = (int64_t)test_random_below(&random, 1000);
    }
}

static dcsr_status queue_batch(dcsr_matrix *matrix, const batch *b, dcsr_ticket **ticket)
{
    if (b->kind == RESIZE) return dcsr_matrix_resize(matrix, b->new_rows, COLS, ticket);
    if (b->kind == REMOVE) return dcsr_matrix_remove(matrix, b->n, b->rows, b->cols, ticket);
    return dcsr_matrix_insert(matrix, b->n, b->rows, b->cols, b->values, ticket);
}

/* The same with a tag, its number; but for resizes, which have none. */
static dcsr_status queue_tagged(dcsr_matrix *matrix, const batch *b, uint64_t j, dcsr_ticket **ticket)
{
    const dcsr_tag tag = {j, ~j};
    if (b->kind == RESIZE) return queue_batch(matrix, b, ticket);
    if (b->kind == REMOVE) return dcsr_matrix_remove_tagged(matrix, b->n, b->rows, b->cols, &tag, ticket);
    return dcsr_matrix_insert_tagged(matrix, b->n, b->rows, b->cols, b->values, &tag, ticket);
}

/* The name that comes with batch j, with the id j - 1: now and then one of several pages. */
enum { LONGEST_NAME = 5000 };
static dcsr_text name_of(int which, uint64_t j, char room[LONGEST_NAME])
{
    size_t length = (size_t)snprintf(room, 40, "%d, %llu", which, (unsigned long long)j);
    if (j % 40 != 7) return (dcsr_text){room, length};
    memset(room + length, 'x', LONGEST_NAME - length);
    return (dcsr_text){room, LONGEST_NAME};
}

static void apply_batch(oracle *model, const batch *b)
{
    if (b->kind == RESIZE)
        oracle_resize(model, b->new_rows, COLS);
    else if (b->kind == REMOVE)
        oracle_remove(model, b->n, b->rows, b->cols);
    else
        oracle_insert(model, b->n, b->rows, b->cols, b->values);
}

void work_make_oracle(oracle *model, int which, uint64_t j)
{
    batch b;
    oracle_create(model, DCSR_INT64, work_policies[which], ROWS, COLS);
    for (uint64_t k = 1; k <= j; k++) {
        draw_batch(&b, which, k);
        apply_batch(model, &b);
    }
}

dcsr_status work_queue(dcsr_matrix *matrix, int which, uint64_t from, uint64_t to)
{
    dcsr_status status = DCSR_OK;
    while (status == DCSR_OK && from < to) {
        batch b;
        draw_batch(&b, which, ++from);
        status = queue_batch(matrix, &b, NULL);
    }
    return status;
}

/* ---- Working ---- */

typedef struct work {
    const char *folder;
    store_child *child;
    work_state state; /* under `lock` */
    pthread_mutex_t lock;
    dcsr_context *context;
    dcsr_store *store;
    dcsr_matrix *matrix[WORK_DURABLE + 1];
    dcsr_names *names[WORK_DURABLE];
    atomic_bool done;
} work;

/* Changes a number of the state and writes it down. */
static void say(work *w, uint64_t *number, uint64_t value)
{
    pthread_mutex_lock(&w->lock);
    *number = value;
    work_write_state(w->folder, &w->state);
    pthread_mutex_unlock(&w->lock);
}

typedef struct durable_thread {
    work *work;
    int which;
    pthread_t thread;
} durable_thread;

/* Batches of a durable matrix, some at once, until the work is done. */
static void *insert_durably(void *argument)
{
    durable_thread *t = argument;
    work *w = t->work;
    test_random random = {w->state.round * 2 + (uint64_t)t->which};
    uint64_t j = w->state.acknowledged[t->which], id;
    char room[LONGEST_NAME];
    /* The last batch before was perhaps a resize, with which no names are written. */
    for (uint64_t k = 0; k < j; k++) {
        dcsr_text name = name_of(t->which, k + 1, room);
        STORE_OK(w->child, dcsr_names_add(w->names[t->which], 1, &name, &id));
    }
    while (!atomic_load(&w->done)) {
        dcsr_ticket *tickets[MOST_AT_ONCE];
        uint64_t n = 1 + test_random_below(&random, MOST_AT_ONCE);
        say(w, &w->state.issued[t->which], j + n);
        for (uint64_t k = 0; k < n; k++) {
            batch b;
            draw_batch(&b, t->which, j + k + 1);
            dcsr_text name = name_of(t->which, j + k + 1, room);
            STORE_OK(w->child, dcsr_names_add(w->names[t->which], 1, &name, &id));
            if (id != j + k)
                store_child_fail(w->child, "name %llu has another id", (unsigned long long)(j + k));
            STORE_OK(w->child, queue_tagged(w->matrix[t->which], &b, j + k + 1, &tickets[k]));
        }
        for (uint64_t k = 0; k < n; k++) {
            STORE_OK(w->child, dcsr_ticket_wait(tickets[k]));
            dcsr_ticket_destroy(tickets[k]);
            say(w, &w->state.acknowledged[t->which], ++j);
        }
    }
    return NULL;
}

static void snapshot_plain(work *w, uint64_t batches)
{
    dcsr_version_info info;
    uint64_t j = w->state.done;
    STORE_OK(w->child, work_queue(w->matrix[PLAIN], PLAIN, j, j + batches));
    j += batches;
    STORE_OK(w->child, dcsr_matrix_wait(w->matrix[PLAIN]));
    say(w, &w->state.begun, j);
    STORE_OK(w->child, dcsr_store_snapshot(w->store, work_names[PLAIN], w->matrix[PLAIN], &info));
    pthread_mutex_lock(&w->lock);
    w->state.done = j;
    w->state.version = info.version;
    work_write_state(w->folder, &w->state);
    pthread_mutex_unlock(&w->lock);
}

/* ---- Copies ---- */

static void backup_path(const char *folder, const char *name, char path[4096])
{
    snprintf(path, 4096, "%s/backup%s", folder, name);
}

static void remove_backup(const char *folder)
{
    static const char *const names[] = {"/data.mdb", "/lock.mdb", "/writer"};
    char path[4096];
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        backup_path(folder, names[n], path);
        unlink(path);
    }
}

static void back_up(work *w)
{
    char path[4096];
    uint64_t acknowledged[WORK_DURABLE];
    backup_path(w->folder, "", path);
    say(w, &w->state.backup, 0);
    remove_backup(w->folder);
    pthread_mutex_lock(&w->lock);
    memcpy(acknowledged, w->state.acknowledged, sizeof acknowledged);
    pthread_mutex_unlock(&w->lock);
    STORE_OK(w->child, dcsr_store_backup(w->store, path, NULL, NULL, NULL));
    pthread_mutex_lock(&w->lock);
    memcpy(w->state.backed_up, acknowledged, sizeof acknowledged);
    w->state.backup = w->state.version + 1;
    work_write_state(w->folder, &w->state);
    pthread_mutex_unlock(&w->lock);
}

/* Before every other session of a store that is there. */
static void compact(work *w, uint64_t session)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/store/data.mdb", w->folder);
    if ((w->state.round + session) % 2 || access(path, F_OK)) return;
    snprintf(path, sizeof path, "%s/store", w->folder);
    STORE_OK(w->child, dcsr_store_compact(path, NULL, NULL, NULL));
}

/* ---- Steps ---- */

static void do_step(work *w, test_random *random)
{
    uint64_t choice = test_random_below(random, 21);
    if (choice < 10) {
        snapshot_plain(w, 1 + test_random_below(random, 3));
    } else if (choice < 14) {
        uint64_t d = choice % WORK_DURABLE;
        STORE_OK(w->child, dcsr_store_snapshot(w->store, work_names[d], w->matrix[d], NULL));
    } else if (choice < 18) {
        uint64_t keep = 1 + test_random_below(random, LEAST_KEPT);
        if (w->state.version >= w->state.oldest + keep) say(w, &w->state.oldest, w->state.version - keep + 1);
        STORE_OK(w->child, dcsr_store_gc(w->store, choice % 2 || !w->state.version ? NULL : work_names[PLAIN],
                                         keep, NULL));
    } else if (choice == 18) {
        back_up(w);
    } else {
        STORE_OK(w->child, dcsr_store_snapshot(w->store, "passing", w->matrix[choice % WORK_DURABLE], NULL));
        STORE_OK(w->child, dcsr_store_delete(w->store, "passing"));
    }
}

static dcsr_matrix *open_durable(work *w, int d)
{
    dcsr_matrix *matrix;
    STORE_OK(w->child, dcsr_store_open_matrix(&matrix, w->context, w->store, work_names[d],
                                              &(dcsr_durable_options){.type = DCSR_INT64,
                                                                      .rows = ROWS,
                                                                      .cols = COLS,
                                                                      .matrix = {.policy = work_policies[d]}},
                                              NULL));
    return matrix;
}

static void open_all(work *w)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/store", w->folder);
    w->context = store_context(w->child, 2);
    STORE_OK(w->child, dcsr_store_open(&w->store, path, &settings[w->state.round / 8 % 2]));
    for (int d = 0; d < WORK_DURABLE; d++) {
        w->matrix[d] = open_durable(w, d);
        STORE_OK(w->child, dcsr_store_open_names(&w->names[d], w->context, w->store, work_names[d]));
    }
    if (w->state.version)
        STORE_OK(w->child,
                 dcsr_store_restore(&w->matrix[PLAIN], w->context, w->store, work_names[PLAIN], 0, NULL));
    else
        STORE_OK(w->child, dcsr_matrix_create(&w->matrix[PLAIN], w->context, DCSR_INT64, ROWS, COLS,
                                              &(dcsr_matrix_options){.policy = work_policies[PLAIN]}));
}

static void close_all(work *w)
{
    for (int d = 0; d < WORK_DURABLE; d++) dcsr_names_destroy(w->names[d]);
    for (int m = 0; m <= WORK_DURABLE; m++) dcsr_matrix_destroy(w->matrix[m]);
    dcsr_store_close(w->store);
    dcsr_context_destroy(w->context);
}

static void run_session(work *w, uint64_t steps, test_random *random)
{
    durable_thread threads[WORK_DURABLE];
    open_all(w);
    atomic_store(&w->done, false);
    for (int d = 0; d < WORK_DURABLE; d++) {
        threads[d] = (durable_thread){.work = w, .which = d};
        if (pthread_create(&threads[d].thread, NULL, insert_durably, &threads[d])) abort();
    }
    for (uint64_t s = 0; s < steps; s++) do_step(w, random);
    atomic_store(&w->done, true);
    for (int d = 0; d < WORK_DURABLE; d++) pthread_join(threads[d].thread, NULL);
    close_all(w);
}

void work_run(const char *folder, uint64_t steps, store_child *child)
{
    work w = {.folder = folder, .child = child, .state = work_read_state(folder)};
    pthread_mutex_init(&w.lock, NULL);
    snprintf(child->now, sizeof child->now, "work in round %llu", (unsigned long long)w.state.round);
    test_random random = {w.state.round};
    for (uint64_t session = 0; steps; session++) {
        uint64_t some = steps < SESSION ? steps : SESSION;
        compact(&w, session);
        run_session(&w, some, &random);
        steps -= some;
    }
    pthread_mutex_destroy(&w.lock);
}

/* ---- Checking ---- */

/* After how many batches, from `low` to `high`, the matrix is what it is. What it counts at (0, 0) says how
 * many of those that insert it has seen; others may have come after. Fails where there is no such number. */
static uint64_t find_batches(work *w, dcsr_matrix *matrix, int which, uint64_t low, uint64_t high)
{
    int64_t counted = 0;
    uint64_t j = 0, other = UINT64_MAX;
    bool found;
    char why[TEST_WHY] = "";
    STORE_OK(w->child, dcsr_matrix_get(matrix, 0, 0, &counted, &found));
    for (int64_t n = 0; n < counted && j <= high;
         n = work_policies[which] == DCSR_POLICY_SUM ? n + 1 : (int64_t)j)
        do j++;
        while (batch_kind_of(j) != INSERT);
    for (uint64_t first = j; j == first || batch_kind_of(j) != INSERT; j++) {
        oracle model;
        work_make_oracle(&model, which, j);
        bool same = test_matrix_matches(matrix, &model, why);
        oracle_destroy(&model);
        if (same && low <= j && j <= high) return j;
        if (same) other = j;
    }
    if (other < UINT64_MAX)
        store_child_fail(w->child, "%s: '%s' is as after %llu batches; %llu were acknowledged, %llu begun",
                         w->child->now, work_names[which], (unsigned long long)other, (unsigned long long)low,
                         (unsigned long long)high);
    store_child_fail(w->child,
                     "%s: '%s' is not what it was after any number of batches; it has counted %lld; %s",
                     w->child->now, work_names[which], (long long)counted, why);
}

static bool is_after(dcsr_matrix *matrix, int which, uint64_t j)
{
    char why[TEST_WHY];
    oracle model;
    work_make_oracle(&model, which, j);
    bool same = test_matrix_matches(matrix, &model, why);
    oracle_destroy(&model);
    return same;
}

/* The matrix is after as many batches as its tag says, or one more that has none, and so many have names. Returns
 * how many, where it is at j, or one that leaves it the same. */
static uint64_t check_tag_and_names(work *w, dcsr_matrix *matrix, int d, uint64_t j)
{
    dcsr_tag tag;
    dcsr_names *names;
    bool known;
    char room[LONGEST_NAME];
    uint64_t count;
    STORE_OK(w->child, dcsr_store_get_tag(w->store, work_names[d], &tag, &known));
    if (tag.mark != (known ? ~tag.position : 0) ||
        (!is_after(matrix, d, tag.position) &&
         (batch_kind_of(tag.position + 1) != RESIZE || !is_after(matrix, d, tag.position + 1))))
        store_child_fail(w->child, "%s: '%s' is not as after %llu batches, which its tag says", w->child->now,
                         work_names[d], (unsigned long long)tag.position);
    if (j < tag.position) j = tag.position;
    STORE_OK(w->child, dcsr_store_open_names(&names, w->context, w->store, work_names[d]));
    STORE_OK(w->child, dcsr_names_get_count(names, &count));
    if (count < tag.position)
        store_child_fail(w->child, "%s: '%s' has %llu names of %llu", w->child->now, work_names[d],
                         (unsigned long long)count, (unsigned long long)tag.position);
    for (uint64_t id = 0; id < count; id++) {
        dcsr_text name = name_of(d, id + 1, room), got;
        STORE_OK(w->child, dcsr_names_get(names, 1, &id, &got));
        if (got.length != name.length || memcmp(got.bytes, name.bytes, name.length) != 0)
            store_child_fail(w->child, "%s: '%s': name %llu is another", w->child->now, work_names[d],
                             (unsigned long long)id);
    }
    dcsr_names_destroy(names);
    return j;
}

static void check_durable(work *w, int d)
{
    dcsr_matrix *matrix = open_durable(w, d);
    uint64_t j = find_batches(w, matrix, d, w->state.acknowledged[d], w->state.issued[d]);
    j = check_tag_and_names(w, matrix, d, j);
    w->state.acknowledged[d] = w->state.issued[d] = j;
    dcsr_matrix_destroy(matrix);
}

static void check_versions(work *w)
{
    dcsr_version_info *versions = NULL;
    uint64_t count = 0, j = 0;
    dcsr_status status = dcsr_store_get_versions(w->store, work_names[PLAIN], &versions, &count);
    if (status == DCSR_ERROR_NOT_FOUND && !w->state.done) return;
    STORE_OK(w->child, status);
    uint64_t newest = versions[count - 1].version;
    if (newest < w->state.version || newest > w->state.version + 1)
        store_child_fail(w->child, "%s: version %llu was acknowledged, and %llu is the newest", w->child->now,
                         (unsigned long long)w->state.version, (unsigned long long)newest);
    if (newest >= count + (w->state.oldest ? w->state.oldest : 1))
        store_child_fail(w->child, "%s: versions from %llu to %llu should be there, and %llu are",
                         w->child->now, (unsigned long long)w->state.oldest, (unsigned long long)newest,
                         (unsigned long long)count);
    for (uint64_t v = 0; v < count; v++) {
        dcsr_matrix *matrix;
        STORE_OK(w->child, dcsr_store_restore(&matrix, w->context, w->store, work_names[PLAIN],
                                              versions[v].version, NULL));
        j = find_batches(w, matrix, PLAIN, v + 1 == count ? w->state.done : j, w->state.begun);
        dcsr_matrix_destroy(matrix);
    }
    w->state.begun = w->state.done = j;
    w->state.version = newest;
    dcsr_store_list_free(versions);
}

static void keep_damage(void *user, const char *text)
{
    store_child *child = user;
    if (!child->why[0]) snprintf(child->why, sizeof child->why, "%s: verify: %s", child->now, text);
}

/* What is called a backup is one, and has all that was acknowledged before it was begun. */
static void check_backup(work *w)
{
    char path[4096];
    dcsr_store_check check;
    dcsr_matrix *plain;
    dcsr_store *store = w->store;
    backup_path(w->folder, "/data.mdb", path);
    if (access(path, F_OK)) {
        if (w->state.backup) store_child_fail(w->child, "%s: the backup is not there", w->child->now);
        return;
    }
    backup_path(w->folder, "", path);
    STORE_OK(w->child, dcsr_store_open(&w->store, path, NULL));
    STORE_OK(w->child, dcsr_store_verify(w->store, keep_damage, w->child, &check));
    if (check.corrupt) _exit(1);
    dcsr_status status = dcsr_store_restore(&plain, w->context, w->store, work_names[PLAIN], 0, NULL);
    if (status == DCSR_OK) {
        find_batches(w, plain, PLAIN, 0, w->state.begun);
        dcsr_matrix_destroy(plain);
    } else if (status != DCSR_ERROR_NOT_FOUND || w->state.backup > 1) {
        STORE_OK(w->child, status);
    }
    for (int d = 0; d < WORK_DURABLE; d++) {
        dcsr_matrix *matrix = open_durable(w, d);
        uint64_t j =
            find_batches(w, matrix, d, w->state.backup ? w->state.backed_up[d] : 0, w->state.issued[d]);
        check_tag_and_names(w, matrix, d, j);
        dcsr_matrix_destroy(matrix);
    }
    dcsr_store_close(w->store);
    w->store = store;
    w->state.backup = 0;
}

void work_check(const char *folder, store_child *child)
{
    char path[4096];
    dcsr_store_check check;
    work w = {.folder = folder, .child = child, .state = work_read_state(folder)};
    snprintf(path, sizeof path, "%s/store", folder);
    snprintf(child->now, sizeof child->now, "check after round %llu", (unsigned long long)w.state.round);
    w.context = store_context(child, 1);
    STORE_OK(child, dcsr_store_open(&w.store, path, &settings[w.state.round / 8 % 2]));
    STORE_OK(child, dcsr_store_verify(w.store, keep_damage, child, &check));
    if (check.corrupt) _exit(1);
    check_versions(&w);
    for (int d = 0; d < WORK_DURABLE; d++) check_durable(&w, d);
    check_backup(&w);
    remove_backup(folder);
    STORE_OK(child, dcsr_store_gc(w.store, NULL, MOST_KEPT, NULL));
    if (w.state.version >= w.state.oldest + MOST_KEPT) w.state.oldest = w.state.version - MOST_KEPT + 1;
    STORE_OK(child, dcsr_store_verify(w.store, keep_damage, child, &check));
    if (check.corrupt) _exit(1);
    dcsr_store_close(w.store);
    dcsr_context_destroy(w.context);
    w.state.round++;
    work_write_state(folder, &w.state);
}
