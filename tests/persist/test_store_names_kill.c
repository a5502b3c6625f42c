/* test_store_names_kill.c: processes that are killed while they read edges between names into durable matrices.
 *
 * The input of each matrix is a sequence of batches, of which number b is drawn from b alone: edges between
 * names, some of them new. A child reads it: it adds the names, and inserts or removes the edges with a tag
 * that says how many batches that makes. It is killed at any time, or at the n-th of the named points of
 * writing. A second child opens the store. The tag says how many batches are in it: at least those that were
 * acknowledged, at most those that were given. Names and matrix have to be what these make, each edge once;
 * of names there may be some more, of the batches that come next. The next round goes on from there. */
#include "persist/store_data.h"
#include "tests/support/support_store.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MATRICES = 2, WINDOW = 6, SIDE = 600, MOST = 12, LONGEST = 3000, LITTLE = 700 };

/* ---- The input ---- */

typedef struct batch {
    bool removes;
    size_t n;
    uint64_t rows[MOST], cols[MOST]; /* numbers of texts */
} batch;

static batch batch_of(int m, uint64_t b)
{
    test_random random = {b * MATRICES + (uint64_t)m + 1};
    batch made = {.removes = test_random_once_in(&random, 6), .n = test_random_below(&random, MOST + 1)};
    uint64_t known = b + 3 < SIDE ? b + 3 : SIDE;
    for (size_t i = 0; i < made.n; i++) {
        made.rows[i] = test_random_below(&random, known);
        made.cols[i] = test_random_below(&random, known);
    }
    return made;
}

static dcsr_text text_of(int m, uint64_t number, char room[LONGEST])
{
    size_t length = (size_t)snprintf(room, 40, "%d name %llu", m, (unsigned long long)number);
    size_t end = number % 13 == 4 ? LONGEST - number : length;
    memset(room + length, (int)number, end - length);
    return (dcsr_text){room, end};
}

static const double values[MOST] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

static dcsr_tag tag_of(uint64_t batches)
{
    return (dcsr_tag){batches, ~batches * 7};
}

/* What the first so many batches make: ids in the order in which the texts come, and the matrix. */
typedef struct model {
    uint64_t batches, names;
    uint64_t id_of[SIDE], number_of[SIDE];
    oracle matrix;
} model;

static uint64_t model_id(model *made, uint64_t number)
{
    if (made->id_of[number] == DCSR_NAMES_NONE) {
        made->number_of[made->names] = number;
        made->id_of[number] = made->names++;
    }
    return made->id_of[number];
}

static void model_create(model *made)
{
    *made = (model){0};
    for (int i = 0; i < SIDE; i++) made->id_of[i] = DCSR_NAMES_NONE;
    oracle_create(&made->matrix, DCSR_FP64, DCSR_POLICY_SUM, SIDE, SIDE);
}

static void model_go_on(model *made, int m, bool names_alone)
{
    batch b = batch_of(m, made->batches++);
    for (size_t i = 0; i < b.n; i++) {
        b.rows[i] = model_id(made, b.rows[i]);
        b.cols[i] = model_id(made, b.cols[i]);
    }
    if (names_alone) return;
    if (b.removes)
        oracle_remove(&made->matrix, b.n, b.rows, b.cols);
    else
        oracle_insert(&made->matrix, b.n, b.rows, b.cols, values);
}

/* ---- The child that is killed ---- */

typedef struct story {
    const char *path;
    uint64_t made[MATRICES]; /* batches that are in the store */
    uint64_t batches;        /* of a round, for each matrix */
    long die_at;             /* the point at which the child kills itself; 0: at none */
    uint64_t seen_names_early;
} story;

enum { GIVEN = 0, ACKNOWLEDGED = MATRICES, POINTS = 2 * MATRICES, NAMES_COMMITTED };

static const char *name_of(int m)
{
    return m ? "b" : "a";
}

static store_child *told;
static long die_at;

static void die_or_go_on(const char *point)
{
    bool dies = atomic_fetch_add(&told->count[POINTS], 1) + 1 == (uint64_t)die_at;
    if (!strcmp(point, "log: names committed")) atomic_fetch_add(&told->count[NAMES_COMMITTED], 1);
    if (dies || !strcmp(point, "log: written")) usleep(dies ? 2000 : 100);
    if (dies) kill(getpid(), SIGKILL);
}

typedef struct worker {
    const story *s;
    int m;
    store_child *child;
    dcsr_store *store;
    dcsr_context *context;
    dcsr_matrix *matrix;
    dcsr_names *names;
} worker;

static void acknowledge(const worker *w, dcsr_ticket *ticket)
{
    if (!ticket) return;
    STORE_OK(w->child, dcsr_ticket_wait(ticket));
    atomic_fetch_add(&w->child->count[ACKNOWLEDGED + w->m], 1);
    dcsr_ticket_destroy(ticket);
}

static dcsr_ticket *give(const worker *w, uint64_t b)
{
    static _Thread_local char room[2 * MOST][LONGEST];
    batch made = batch_of(w->m, b);
    dcsr_text texts[2 * MOST];
    uint64_t ids[2 * MOST], rows[MOST], cols[MOST];
    dcsr_ticket *ticket;
    for (size_t i = 0; i < made.n; i++) {
        texts[2 * i] = text_of(w->m, made.rows[i], room[2 * i]);
        texts[2 * i + 1] = text_of(w->m, made.cols[i], room[2 * i + 1]);
    }
    STORE_OK(w->child, dcsr_names_add(w->names, 2 * made.n, texts, ids));
    for (size_t i = 0; i < made.n; i++) {
        rows[i] = ids[2 * i];
        cols[i] = ids[2 * i + 1];
    }
    dcsr_tag tag = tag_of(b + 1);
    atomic_fetch_add(&w->child->count[GIVEN + w->m], 1);
    STORE_OK(w->child, made.removes
                           ? dcsr_matrix_remove_tagged(w->matrix, made.n, rows, cols, &tag, &ticket)
                           : dcsr_matrix_insert_tagged(w->matrix, made.n, rows, cols, values, &tag, &ticket));
    return ticket;
}

static void *read_input(void *argument)
{
    worker *w = argument;
    dcsr_ticket *ticket[WINDOW] = {NULL};
    uint64_t first = w->s->made[w->m], end = first + w->s->batches;
    for (uint64_t b = first; b < end; b++) {
        acknowledge(w, ticket[b % WINDOW]);
        ticket[b % WINDOW] = give(w, b);
        if (b % 40 == 11) STORE_OK(w->child, dcsr_store_snapshot(w->store, name_of(w->m), w->matrix, NULL));
        if (b % 90 == 33) STORE_OK(w->child, dcsr_store_gc(w->store, NULL, 1, NULL));
        if (b % 25 == 17) { /* while batches wait that need it */
            dcsr_names_destroy(w->names);
            STORE_OK(w->child, dcsr_store_open_names(&w->names, w->context, w->store, name_of(w->m)));
        }
    }
    for (uint64_t b = end; b < end + WINDOW; b++) acknowledge(w, ticket[b % WINDOW]);
    return NULL;
}

static dcsr_matrix *open_matrix(store_child *child, dcsr_store *store, dcsr_context *context, int m)
{
    dcsr_matrix *matrix;
    dcsr_durable_options options = {
        .type = DCSR_FP64, .rows = SIDE, .cols = SIDE, .matrix = {.policy = DCSR_POLICY_SUM}};
    STORE_OK(child, dcsr_store_open_matrix(&matrix, context, store, name_of(m), &options, NULL));
    return matrix;
}

static void change_store(void *user, store_child *child)
{
    const story *s = user;
    worker w[MATRICES];
    pthread_t thread[MATRICES];
    dcsr_store *store;
    told = child;
    die_at = s->die_at;
    dcsr_i_store_point = die_or_go_on;
    dcsr_i_store_transaction_bytes = LITTLE;
    STORE_OK(child, dcsr_store_open(&store, s->path, NULL));
    dcsr_context *context = test_context(1);
    for (int m = 0; m < MATRICES; m++) {
        w[m] = (worker){s, m, child, store, context, NULL, NULL};
        if (m) w[m].matrix = open_matrix(child, store, context, m);
        STORE_OK(child, dcsr_store_open_names(&w[m].names, context, store, name_of(m)));
        if (!m) w[m].matrix = open_matrix(child, store, context, m);
    }
    for (int m = 0; m < MATRICES; m++)
        if (pthread_create(&thread[m], NULL, read_input, &w[m])) store_child_fail(child, "no thread");
    for (int m = 0; m < MATRICES; m++) pthread_join(thread[m], NULL);
    for (int m = 0; m < MATRICES; m++) {
        dcsr_names_destroy(w[m].names);
        dcsr_matrix_destroy(w[m].matrix);
    }
    dcsr_store_close(store);
    dcsr_context_destroy(context);
}

/* ---- The child that looks ---- */

typedef struct inquiry {
    const story *s;
    uint64_t least[MATRICES], most[MATRICES];
} inquiry;

/* That the dictionary has the names of the model, and if more, those that come next. */
static void check_names(store_child *child, int m, dcsr_names *names, const model *made)
{
    static char room[LONGEST];
    model later = *made;
    uint64_t count;
    STORE_OK(child, dcsr_names_get_count(names, &count));
    if (count < made->names)
        store_child_fail(child, "%s: %llu names, and %llu batches need %llu", name_of(m),
                         (unsigned long long)count, (unsigned long long)made->batches,
                         (unsigned long long)made->names);
    while (later.names < count) {
        if (later.batches == made->batches + 10000) store_child_fail(child, "%s: too many names", name_of(m));
        model_go_on(&later, m, true);
    }
    for (uint64_t id = 0, found; id < count; id++) {
        dcsr_text text = text_of(m, later.number_of[id], room), got;
        STORE_OK(child, dcsr_names_get(names, 1, &id, &got));
        STORE_OK(child, dcsr_names_find(names, 1, &text, &found));
        if (got.length != text.length || memcmp(got.bytes, text.bytes, text.length) != 0 || found != id)
            store_child_fail(child, "%s: name %llu is another", name_of(m), (unsigned long long)id);
    }
}

/* The batches that the store says it has; the matrix and its names have to be what they make. */
static uint64_t look_at_matrix(const inquiry *q, int m, store_child *child, dcsr_store *store,
                               dcsr_context *context, bool opens)
{
    dcsr_matrix *matrix = NULL;
    dcsr_names *names;
    dcsr_tag tag = {0};
    bool known = false;
    char why[TEST_WHY] = "";
    if (opens) matrix = open_matrix(child, store, context, m);
    dcsr_status status =
        matrix ? DCSR_OK : dcsr_store_recover(&matrix, context, store, name_of(m), NULL, NULL);
    if (status == DCSR_ERROR_NOT_FOUND && !q->least[m]) return 0;
    STORE_OK(child, status);
    STORE_OK(child, dcsr_store_get_tag(store, name_of(m), &tag, &known));
    STORE_OK(child, dcsr_store_open_names(&names, context, store, name_of(m)));
    if (tag.position < q->least[m] || tag.position > q->most[m] ||
        (known && tag.mark != tag_of(tag.position).mark))
        store_child_fail(child, "%s is at %llu, should be in %llu to %llu", name_of(m),
                         (unsigned long long)tag.position, (unsigned long long)q->least[m],
                         (unsigned long long)q->most[m]);
    model made;
    model_create(&made);
    while (made.batches < tag.position) model_go_on(&made, m, false);
    check_names(child, m, names, &made);
    if (!test_matrix_matches(matrix, &made.matrix, why))
        store_child_fail(child, "%s is not what %llu batches make: %s", name_of(m),
                         (unsigned long long)tag.position, why);
    oracle_destroy(&made.matrix);
    dcsr_matrix_destroy(matrix);
    dcsr_names_destroy(names);
    return tag.position;
}

static void look_at_store(void *user, store_child *child)
{
    const inquiry *q = user;
    dcsr_store *store;
    dcsr_store_check check;
    uint64_t seen[MATRICES];
    STORE_OK(child, dcsr_store_open(&store, q->s->path, NULL));
    dcsr_store_close(store);
    dcsr_context *context = test_context(1);
    STORE_OK(child, dcsr_store_open(&store, q->s->path, &(dcsr_store_options){.read_only = true}));
    for (int m = 0; m < MATRICES; m++) seen[m] = look_at_matrix(q, m, child, store, context, false);
    dcsr_store_close(store);
    STORE_OK(child, dcsr_store_open(&store, q->s->path, NULL));
    STORE_OK(child, dcsr_store_verify(store, NULL, NULL, &check));
    if (check.corrupt) store_child_fail(child, "%llu things are corrupt", (unsigned long long)check.corrupt);
    for (int m = 0; m < MATRICES; m++) {
        uint64_t batches = look_at_matrix(q, m, child, store, context, true);
        if (batches != seen[m]) store_child_fail(child, "%s: it was at another place", name_of(m));
        atomic_store(&child->count[m], batches);
    }
    dcsr_store_close(store);
    dcsr_context_destroy(context);
}

/* ---- Rounds ---- */

static void look(story *s, const store_child *killed)
{
    inquiry q = {.s = s};
    store_child *child = store_child_new();
    for (int m = 0; m < MATRICES; m++) {
        q.least[m] = s->made[m] + killed->count[ACKNOWLEDGED + m];
        q.most[m] = s->made[m] + killed->count[GIVEN + m];
    }
    store_child_expect(child, look_at_store, &q);
    for (int m = 0; m < MATRICES; m++) s->made[m] = child->count[m];
    store_child_free(child);
}

/* A round whose child is killed so many microseconds after it began (0: not), or at the story's point; returns
 * how many points it came by. */
static uint64_t play(story *s, useconds_t microseconds)
{
    store_child *child = store_child_new();
    pid_t process = store_child_start(child, change_store, s);
    if (microseconds) {
        usleep(microseconds);
        kill(process, SIGKILL);
    }
    int status = store_child_wait(process);
    cr_assert(!child->why[0], "%s", child->why);
    cr_assert(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : !WEXITSTATUS(status), "it ends with %#x",
              status);
    look(s, child);
    uint64_t points = child->count[POINTS];
    s->seen_names_early += child->count[NAMES_COMMITTED];
    store_child_free(child);
    return points;
}

Test(store_names_kill, at_any_time_keeps_names_edges_and_tags_together, .timeout = 900)
{
    char *path = store_new_folder();
    story s = {.path = path, .batches = 250};
    test_random random = {23};
    for (uint64_t round = 0; round < store_rounds(40); round++) {
        if (round % 20 == 19) { /* from the beginning, where most names are new */
            store_remove_folder(path);
            s = (story){.path = path = store_new_folder(), .batches = 250};
        }
        play(&s, (useconds_t)(1 + test_random_below(&random, round % 4 ? 60000 : 8000)));
    }
    play(&s, 0);
    cr_assert(s.made[0] >= s.batches && s.made[1] >= s.batches);
    store_remove_folder(path);
}

Test(store_names_kill, at_every_point_keeps_names_edges_and_tags_together, .timeout = 900)
{
    char *path = store_new_folder();
    story s = {.path = path, .batches = 45};
    uint64_t points = play(&s, 0);
    for (long n = 1; n < (long)points + 5; n += TEST_SIZE(1, 4, 4)) {
        s.die_at = n;
        play(&s, 0);
    }
    cr_assert(s.seen_names_early, "names were never too many for a transaction");
    printf("killed at %llu points; names were written ahead %llu times\n", (unsigned long long)points,
           (unsigned long long)s.seen_names_early);
    store_remove_folder(path);
}
