/* test_threads.c: many threads on one matrix: no view shows a change by halves, versions never go backwards.
 *
 * Writers keep an invariant with every change: the matrix is symmetric, or all rows are alike. A view that
 * mixes two versions, or shows a batch in part, breaks it. Each thread does a bounded number of operations;
 * what a thread finds wrong it writes down, and the test's own thread asserts. Sizes shrink under
 * ThreadSanitizer, which is what these are for. */
#include "tests/support/support.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 150, PAIRS = 40, MOST_THREADS = 12 };

/* What the threads of one test share. */
typedef struct shared {
    dcsr_context *context;
    dcsr_matrix *matrix;
    dcsr_policy policy;
    uint64_t seed;
    int operations;
    atomic_int writers; /* that are still at work */
    _Atomic(dcsr_ticket *) *ticket;
    atomic_int taken;
    dcsr_view *view;
    const oracle *model;
    atomic_int broken;
    char why[TEST_WHY];
} shared;

typedef struct worker {
    shared *s;
    void (*work)(shared *s, int number, test_random *random);
    int number;
    pthread_t thread;
} worker;

/* Keeps the first complaint. */
__attribute__((format(printf, 2, 3))) static void complain(shared *s, const char *format, ...)
{
    if (atomic_fetch_add(&s->broken, 1)) return;
    va_list list;
    va_start(list, format);
    vsnprintf(s->why, sizeof s->why, format, list);
    va_end(list);
}

#define EXPECT(s, condition, ...)                   \
    do {                                            \
        if (!(condition)) complain(s, __VA_ARGS__); \
    } while (0)
#define EXPECT_OK(s, call) EXPECT(s, (call) == DCSR_OK, "%s: %s", #call, dcsr_thread_error())

static void *run(void *argument)
{
    worker *w = argument;
    test_random random = {w->s->seed * 1000 + (uint64_t)w->number};
    w->work(w->s, w->number, &random);
    return NULL;
}

typedef struct crew {
    void (*work)(shared *s, int number, test_random *random);
    int threads;
} crew;

/* Runs up to three crews side by side until all are done. */
static void run_crews(shared *s, const crew crews[3])
{
    worker workers[MOST_THREADS];
    int n = 0;
    for (int c = 0; c < 3 && crews[c].threads; c++)
        for (int i = 0; i < crews[c].threads; i++, n++)
            workers[n] = (worker){.s = s, .work = crews[c].work, .number = n};
    for (int i = 0; i < n; i++) cr_assert(pthread_create(&workers[i].thread, NULL, run, &workers[i]) == 0);
    for (int i = 0; i < n; i++) pthread_join(workers[i].thread, NULL);
    cr_assert(!s->broken, "DCSR_TEST_SEED=%" PRIu64 ": %s", s->seed, s->why);
}

/* Symmetric: each batch gives (i, j) and (j, i) the same, each resize is to a square. */

static void write_pairs(shared *s, int number, test_random *random)
{
    for (int i = 0; i < s->operations; i++) {
        uint64_t rows[2 * PAIRS], cols[2 * PAIRS], side = SIDE / 2;
        int64_t values[2 * PAIRS];
        size_t n = 2 * (1 + test_random_below(random, PAIRS));
        bool remove = test_random_once_in(random, 3), wide = test_random_once_in(random, 2);
        for (size_t k = 0; k < n; k += 2) {
            rows[k] = cols[k + 1] = test_random_below(random, wide ? SIDE : side);
            cols[k] = rows[k + 1] = test_random_below(random, test_random_once_in(random, 3) ? 5 : side);
            values[k] = values[k + 1] = (int64_t)test_random_below(random, 1000);
        }
        dcsr_status status = remove ? dcsr_matrix_remove(s->matrix, n, rows, cols, NULL)
                                    : dcsr_matrix_insert(s->matrix, n, rows, cols, values, NULL);
        /* Another thread may have made the matrix smaller. */
        EXPECT(s, status == DCSR_OK || (wide && status == DCSR_ERROR_INDEX_OUT_OF_RANGE), "write: %s",
               dcsr_thread_error());
        if (number == 0 && test_random_once_in(random, 12)) {
            uint64_t to = side + test_random_below(random, SIDE - side + 1);
            EXPECT_OK(s, dcsr_matrix_resize(s->matrix, to, to, NULL));
        }
        if (test_random_once_in(random, 10))
            EXPECT_OK(s, dcsr_matrix_defragment(s->matrix, (dcsr_defragment_scope)(i % 2), NULL));
        if (test_random_once_in(random, 8)) EXPECT_OK(s, dcsr_matrix_wait(s->matrix));
    }
    EXPECT_OK(s, dcsr_matrix_wait(s->matrix));
    atomic_fetch_sub(&s->writers, 1);
}

/* Compares each place with its mirror: whether it is stored, and the sum of what stands there; but where the
 * last of several duplicates counts (`stale`), one side may have been resolved already, so their sums say
 * nothing. */
static void check_symmetric(shared *s, dcsr_view *view, bool stale)
{
    static const size_t PLACES = (size_t)SIDE * SIDE;
    uint64_t *sum = test_allocate(PLACES, sizeof *sum);
    uint32_t columns[4000];
    int64_t values[4000];
    dcsr_view_info info;
    EXPECT_OK(s, dcsr_view_get_info(view, &info));
    EXPECT(s, info.rows == info.cols && info.rows <= SIDE, "a resize by halves");
    uint64_t nnz = 0;
    for (uint64_t r = 0; r < info.rows; r++) {
        uint64_t length = 0;
        EXPECT_OK(s, dcsr_view_get_row(view, r, 4000, columns, values, &length));
        EXPECT(s, length <= 4000, "a row of %" PRIu64, length);
        nnz += length;
        for (uint64_t e = 0; e < length && e < 4000; e++) {
            EXPECT(s, columns[e] < info.cols, "column %" PRIu32, columns[e]);
            if (columns[e] >= info.cols) continue;
            uint64_t *place = &sum[r * SIDE + columns[e]];
            *place = stale ? 1 : (*place + 2 * (uint64_t)values[e]) | 1;
        }
    }
    EXPECT(s, nnz == info.nnz, "nnz %" PRIu64 ", not %" PRIu64, info.nnz, nnz);
    for (uint64_t r = 0; r < info.rows; r++)
        for (uint64_t c = 0; c < r; c++)
            EXPECT(s, sum[r * SIDE + c] == sum[c * SIDE + r],
                   "version %" PRIu64 ": (%" PRIu64 ", %" PRIu64 ") is torn", info.version, r, c);
    free(sum);
}

static void read_symmetric(shared *s, int number, test_random *random)
{
    uint64_t version = 0;
    (void)number;
    for (int i = 0; i < s->operations || atomic_load(&s->writers); i++) {
        dcsr_view *view = NULL;
        dcsr_view_info info = {0};
        dcsr_layout layout = (dcsr_layout)test_random_below(random, 2);
        unsigned flags = (unsigned)test_random_below(random, 4);
        bool stale = (flags & DCSR_VIEW_DUPLICATES) && s->policy == DCSR_POLICY_LAST;
        EXPECT_OK(s, dcsr_view_create(&view, s->matrix, layout, flags));
        if (!view || s->broken) break;
        EXPECT_OK(s, dcsr_view_get_info(view, &info));
        EXPECT(s, info.version >= version, "version %" PRIu64 " after %" PRIu64, info.version, version);
        version = info.version;
        check_symmetric(s, view, stale);
        if (test_random_once_in(random, 4)) check_symmetric(s, view, stale);
        dcsr_view_destroy(view);
    }
}

static void watch(shared *s, int number, test_random *random)
{
    (void)number;
    (void)random;
    for (int i = 0; i < s->operations || atomic_load(&s->writers); i++) {
        dcsr_matrix_info info;
        dcsr_context_info context_info;
        uint64_t nnz;
        EXPECT_OK(s, dcsr_matrix_get_info(s->matrix, &info));
        EXPECT(s, info.rows == info.cols && info.max_segments <= DCSR_MAX_SEGMENTS, "info is torn");
        EXPECT_OK(s, dcsr_context_get_info(s->context, &context_info));
        EXPECT(s, context_info.matrices == 1, "%" PRIu64 " matrices", context_info.matrices);
        EXPECT_OK(s, dcsr_matrix_get_nnz(s->matrix, &nnz));
        if (s->broken) break;
    }
}

Test(threads, never_see_half_a_change)
{
    test_seeds seeds = test_seeds_from_environment(TEST_SIZE(48, 16, 24));
    for (uint64_t i = 0; i < seeds.rounds; i++) {
        static const dcsr_policy policies[] = {DCSR_POLICY_LAST, DCSR_POLICY_SUM, DCSR_POLICY_KEEP};
        shared s = {
            .context = test_context(2), .seed = seeds.first + i, .operations = TEST_SIZE(200, 60, 40)};
        s.policy = policies[s.seed % 3];
        dcsr_matrix_options options = {.policy = s.policy, .segments = 2 + (int)(s.seed % 4)};
        TEST_OK(dcsr_matrix_create(&s.matrix, s.context, DCSR_INT64, SIDE, SIDE, &options));
        test_seed_begins(s.seed);
        int writers = 1 + (int)(s.seed / 3 % 3);
        s.writers = writers;
        run_crews(&s, (crew[3]){{write_pairs, writers}, {read_symmetric, 3}, {watch, 1}});
        dcsr_matrix_destroy(s.matrix);
        test_close(s.context);
    }
}

/* Alike: batch b gives every row the value b in column 0 and a new column. One writer. */

static void write_levels(shared *s, int number, test_random *random)
{
    uint64_t rows[2 * SIDE], cols[2 * SIDE];
    int64_t values[2 * SIDE];
    (void)number;
    for (int b = 1; b <= s->operations; b++) {
        for (uint64_t r = 0; r < SIDE; r++) {
            rows[2 * r] = rows[2 * r + 1] = r;
            cols[2 * r] = 0, cols[2 * r + 1] = (uint64_t)b;
            values[2 * r] = values[2 * r + 1] = b;
        }
        EXPECT_OK(s, dcsr_matrix_insert(s->matrix, 2 * SIDE, rows, cols, values, NULL));
        if (test_random_once_in(random, 10)) EXPECT_OK(s, dcsr_matrix_wait(s->matrix));
    }
    EXPECT_OK(s, dcsr_matrix_wait(s->matrix));
    atomic_fetch_sub(&s->writers, 1);
}

static void read_levels(shared *s, int number, test_random *random)
{
    int64_t before = 0, values[SIDE];
    uint64_t rows[SIDE], cols[SIDE] = {0};
    bool stored[SIDE];
    (void)number;
    for (uint64_t r = 0; r < SIDE; r++) rows[r] = r;
    for (int i = 0; i < s->operations || atomic_load(&s->writers); i++) {
        dcsr_view *view = NULL;
        unsigned flags = test_random_once_in(random, 2) ? DCSR_VIEW_SORTED : 0;
        EXPECT_OK(s, dcsr_view_create(&view, s->matrix, (dcsr_layout)test_random_below(random, 2), flags));
        if (!view || s->broken) break;
        EXPECT_OK(s, dcsr_view_get_many(view, SIDE, rows, cols, values, stored));
        int64_t level = stored[0] ? values[0] : 0;
        EXPECT(s, level >= before, "level %" PRId64 " after %" PRId64, level, before);
        before = level;
        for (uint64_t r = 0; r < SIDE; r++) {
            uint64_t length = 0;
            EXPECT(s, stored[r] == (level > 0) && (!level || values[r] == level),
                   "row %" PRIu64 " is of another level", r);
            EXPECT_OK(s, dcsr_view_get_row(view, r, 0, NULL, NULL, &length));
            EXPECT(s, length == (level ? (uint64_t)level + 1 : 0),
                   "row %" PRIu64 " has %" PRIu64 " at level %" PRId64, r, length, level);
        }
        dcsr_view_destroy(view);
    }
}

Test(threads, see_all_rows_at_the_same_level)
{
    for (int k = 2; k <= TEST_SIZE(8, 4, 3); k++) {
        shared s = {.context = test_context(2),
                    .seed = (uint64_t)k,
                    .operations = TEST_SIZE(400, 100, 50),
                    .writers = 1};
        dcsr_matrix_options options = {.policy = DCSR_POLICY_MAX, .segments = k};
        TEST_OK(dcsr_matrix_create(&s.matrix, s.context, DCSR_INT64, SIDE, 1000, &options));
        run_crews(&s, (crew[3]){{write_levels, 1}, {read_levels, 4}});
        dcsr_matrix_destroy(s.matrix);
        test_close(s.context);
    }
}

/* Tickets that other threads wait for: what a ticket says is in, a view taken afterwards shows. */

static void hand_out_tickets(shared *s, int number, test_random *random)
{
    (void)random;
    for (int i = 0; i < s->operations; i++) {
        uint64_t row = (uint64_t)(number * s->operations + i), col = 0;
        dcsr_ticket *ticket = NULL;
        EXPECT_OK(s, dcsr_matrix_insert(s->matrix, 1, &row, &col, NULL, &ticket));
        atomic_store(&s->ticket[row], ticket);
    }
    atomic_fetch_sub(&s->writers, 1);
}

static void take_tickets(shared *s, int number, test_random *random)
{
    (void)number;
    for (int i; (i = atomic_fetch_add(&s->taken, 1)) < 2 * s->operations && !s->broken;) {
        dcsr_ticket *ticket = NULL;
        dcsr_view *view = NULL;
        uint64_t row = (uint64_t)i, col = 0;
        bool done = false, stored = false;
        while (!(ticket = atomic_load(&s->ticket[i])) && !s->broken) sched_yield();
        if (!ticket) break;
        while (test_random_once_in(random, 2) && !done) EXPECT_OK(s, dcsr_ticket_poll(ticket, &done));
        EXPECT_OK(s, dcsr_ticket_wait(ticket));
        dcsr_ticket_destroy(ticket);
        EXPECT_OK(s, dcsr_view_create(&view, s->matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES));
        EXPECT_OK(s, dcsr_view_get_many(view, 1, &row, &col, NULL, &stored));
        EXPECT(s, stored, "row %d is not in a view that was taken after its ticket", i);
        dcsr_view_destroy(view);
    }
}

Test(threads, may_wait_for_the_tickets_of_others)
{
    shared s = {.context = test_context(1), .operations = TEST_SIZE(3000, 500, 300), .writers = 2};
    uint64_t n = 2 * (uint64_t)s.operations;
    s.matrix = test_matrix(s.context, DCSR_PATTERN, n, 1, DCSR_POLICY_ANY);
    s.ticket = test_allocate(n, sizeof *s.ticket);
    run_crews(&s, (crew[3]){{hand_out_tickets, 2}, {take_tickets, 3}});
    free(s.ticket);
    dcsr_matrix_destroy(s.matrix);
    test_close(s.context);
}

/* One view read by all. */

static void read_the_view(shared *s, int number, test_random *random)
{
    char why[TEST_WHY];
    (void)number;
    (void)random;
    for (int i = 0; i < s->operations; i++)
        EXPECT(s, test_view_matches(s->view, s->model, DCSR_VIEW_SORTED, why), "%s", why);
}

Test(threads, may_share_a_view)
{
    for (int layout = DCSR_LAYOUT_SEGMENTS; layout <= DCSR_LAYOUT_CSR; layout++) {
        shared s = {.context = test_context(2), .operations = TEST_SIZE(50, 20, 10)};
        oracle model;
        s.matrix = test_matrix(s.context, DCSR_INT64, SIDE, SIDE, DCSR_POLICY_SUM);
        s.model = &model;
        oracle_create(&model, DCSR_INT64, DCSR_POLICY_SUM, SIDE, SIDE);
        for (uint64_t r = 0; r < 3 * SIDE; r++) {
            uint64_t row = r % SIDE, col = r * 7 % SIDE;
            int64_t value = (int64_t)r;
            oracle_insert(&model, 1, &row, &col, &value);
            TEST_OK(dcsr_matrix_insert(s.matrix, 1, &row, &col, &value, NULL));
        }
        TEST_OK(dcsr_matrix_wait(s.matrix));
        s.view = test_view(s.matrix, (dcsr_layout)layout, DCSR_VIEW_SORTED);
        s.writers = 1;
        run_crews(&s, (crew[3]){{read_the_view, 4}, {write_pairs, 1}});
        dcsr_matrix_destroy(s.matrix);
        run_crews(&s, (crew[3]){{read_the_view, 2}});
        dcsr_view_destroy(s.view);
        oracle_destroy(&model);
        test_close(s.context);
    }
}

/* Each thread makes, fills, reads and destroys matrices of its own in the one context. */

static void use_own_matrices(shared *s, int number, test_random *random)
{
    for (int i = 0; i < s->operations; i++) {
        dcsr_matrix *matrix = NULL;
        dcsr_view *view = NULL;
        dcsr_view_info info = {0};
        uint64_t n = 1 + test_random_below(random, SIDE), rows[SIDE], cols[SIDE];
        for (uint64_t r = 0; r < n; r++) rows[r] = r, cols[r] = (uint64_t)number;
        EXPECT_OK(s, dcsr_matrix_create(&matrix, s->context, DCSR_PATTERN, SIDE, SIDE, NULL));
        if (!matrix) return;
        EXPECT_OK(s, dcsr_matrix_insert(matrix, n, rows, cols, NULL, NULL));
        bool wait = test_random_once_in(random, 2);
        if (wait) EXPECT_OK(s, dcsr_matrix_wait(matrix));
        EXPECT_OK(s, dcsr_view_create(&view, matrix, (dcsr_layout)(i % 2), 0));
        EXPECT_OK(s, dcsr_matrix_remove(matrix, n, rows, cols, NULL));
        dcsr_matrix_destroy(matrix);
        EXPECT_OK(s, dcsr_view_get_info(view, &info));
        EXPECT(s, info.nnz == n || (!wait && info.nnz == 0), "%" PRIu64 " of %" PRIu64, info.nnz, n);
        dcsr_view_destroy(view);
    }
}

static void watch_the_context(shared *s, int number, test_random *random)
{
    dcsr_context_info info;
    (void)number;
    (void)random;
    for (int i = 0; i < 20 * s->operations; i++) {
        EXPECT_OK(s, dcsr_context_get_info(s->context, &info));
        EXPECT(s, info.matrices <= 4, "%" PRIu64 " matrices", info.matrices);
    }
}

Test(threads, may_use_matrices_of_their_own_in_one_context)
{
    shared s = {.context = test_context(2), .operations = TEST_SIZE(300, 80, 40)};
    run_crews(&s, (crew[3]){{use_own_matrices, 4}, {watch_the_context, 1}});
    test_close(s.context);
}
