/* test_bfs.c: breadth-first search against one with a plain queue over an oracle, and on real graphs. */
#include <dcsr/bfs.h>
#include "dcsr/base/alloc.h"
#include <dcsr/reader.h>
#include "tests/support/support.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* On the emulator one is enough: threads are the host's. */
enum { CONTEXTS = TEST_EMULATOR ? 1 : 2 };
static const int threads_of[] = {1, 4}; /* of each context */

/* The same graph in contexts of different numbers of threads, and what it should hold. */
typedef struct subject {
    dcsr_context *context[CONTEXTS];
    dcsr_matrix *matrix[CONTEXTS];
    oracle model;
    test_random random;
} subject;

static void set_up(subject *s, dcsr_type type, dcsr_policy policy, uint64_t vertices, uint64_t seed)
{
    *s = (subject){.random = {seed}};
    oracle_create(&s->model, type, policy, vertices, vertices);
    for (int i = 0; i < CONTEXTS; i++) {
        s->context[i] = test_context(threads_of[i]);
        s->matrix[i] = test_matrix(s->context[i], type, vertices, vertices, policy);
    }
}

static void tear_down(subject *s)
{
    for (int i = 0; i < CONTEXTS; i++) {
        dcsr_matrix_destroy(s->matrix[i]);
        test_close(s->context[i]);
    }
    oracle_destroy(&s->model);
}

static void change(subject *s, bool insert, size_t n, const uint64_t *rows, const uint64_t *cols)
{
    size_t size = dcsr_type_size(s->model.type);
    char *values = size ? test_allocate(n, size) : NULL; /* zeros: an edge all the same */
    for (int i = 0; i < CONTEXTS; i++) {
        if (insert)
            TEST_OK(dcsr_matrix_insert(s->matrix[i], n, rows, cols, values, NULL));
        else
            TEST_OK(dcsr_matrix_remove(s->matrix[i], n, rows, cols, NULL));
        TEST_OK(dcsr_matrix_wait(s->matrix[i]));
    }
    if (insert)
        oracle_insert(&s->model, n, rows, cols, values);
    else
        oracle_remove(&s->model, n, rows, cols);
    free(values);
}

static void random_change(subject *s, bool insert, size_t n, uint64_t reach)
{
    uint64_t vertices = s->model.rows;
    uint64_t *rows = test_allocate(n, sizeof *rows), *cols = test_allocate(n, sizeof *cols);
    for (size_t k = 0; k < n; k++) {
        rows[k] = test_random_below(&s->random, vertices);
        cols[k] = (rows[k] + test_random_below(&s->random, reach)) % vertices;
    }
    change(s, insert, n, rows, cols);
    free(rows);
    free(cols);
}

/* The definition: a queue. */
static dcsr_bfs_result expect(const oracle *m, uint64_t source, int32_t *level)
{
    uint64_t *queue = test_allocate(m->rows, sizeof *queue), head = 0, tail = 1;
    dcsr_bfs_result result = {0};
    for (uint64_t v = 0; v < m->rows; v++) level[v] = -1;
    level[source] = 0;
    queue[0] = source;
    for (; head < tail; head++) {
        const oracle_row *row = &m->row[queue[head]];
        result.reached++;
        result.edges += row->length;
        result.level_sum += (uint64_t)level[queue[head]];
        result.max_level = (uint64_t)level[queue[head]];
        for (size_t k = 0; k < row->length; k++) {
            uint32_t v = row->entry[k].column;
            if (level[v] >= 0) continue;
            level[v] = level[queue[head]] + 1;
            queue[tail++] = v;
        }
    }
    free(queue);
    return result;
}

static void check_view(subject *s, int i, dcsr_layout layout, unsigned flags, uint64_t source)
{
    uint64_t n = s->model.rows;
    int32_t *right = test_allocate(n, sizeof *right), *level = test_allocate(n + 1, sizeof *level);
    dcsr_bfs_result wanted = expect(&s->model, source, right), result;
    dcsr_view *view = test_view(s->matrix[i], layout, flags);
    memset(level, 0x77, (n + 1) * sizeof *level);
    TEST_OK(dcsr_bfs(level, &result, view, source));
    for (uint64_t v = 0; v < n; v++)
        cr_assert(level[v] == right[v],
                  "level of %" PRIu64 " from %" PRIu64 " (%d threads, layout %d, flags %u) is %d, not %d", v,
                  source, threads_of[i], (int)layout, flags, (int)level[v], (int)right[v]);
    cr_assert(level[n] == 0x77777777, "written beyond the end of level");
    cr_assert_eq(result.reached, wanted.reached);
    cr_assert_eq(result.max_level, wanted.max_level);
    cr_assert_eq(result.level_sum, wanted.level_sum);
    if (flags & DCSR_VIEW_DUPLICATES &&
        s->model.policy != DCSR_POLICY_KEEP) /* duplicates may still be there */
        cr_assert(result.edges >= wanted.edges);
    else
        cr_assert_eq(result.edges, wanted.edges);
    dcsr_view_destroy(view);
    free(right);
    free(level);
}

static void check(subject *s, uint64_t source)
{
    for (int i = 0; i < CONTEXTS; i++)
        for (dcsr_layout layout = DCSR_LAYOUT_SEGMENTS; layout <= DCSR_LAYOUT_CSC; layout++)
            for (unsigned flags = 0; flags <= DCSR_VIEW_DUPLICATES; flags += DCSR_VIEW_DUPLICATES)
                check_view(s, i, layout, flags, source);
}

Test(bfs, by_hand)
{
    dcsr_context *context = test_context(2);
    dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, 6, 6, DCSR_POLICY_KEEP);
    /* A loop, an edge twice, a way back, a vertex that only leads into the rest. */
    TEST_INSERT(matrix, {0, 0, 0}, {0, 1, 0}, {0, 1, 0}, {1, 2, 0}, {0, 3, 0}, {3, 2, 0}, {2, 0, 0},
                {5, 0, 0});
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
    int32_t level[6];
    dcsr_bfs_result result;
    TEST_OK(dcsr_bfs(level, &result, view, 0));
    cr_assert(level[0] == 0 && level[1] == 1 && level[2] == 2 && level[3] == 1 && level[4] == -1 &&
              level[5] == -1);
    cr_assert(result.reached == 4 && result.max_level == 2 && result.level_sum == 4 && result.edges == 7);
    TEST_OK(dcsr_bfs(level, &result, view, 4));
    cr_assert(level[4] == 0 && result.reached == 1 && result.max_level == 0 && result.edges == 0);
    TEST_OK(dcsr_bfs(level, NULL, view, 5));
    cr_assert(level[5] == 0 && level[0] == 1 && level[1] == 2 && level[2] == 3 && level[4] == -1);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(bfs, on_a_path_a_star_and_a_ring)
{
    uint64_t n = 40 + (uint64_t)TEST_SIZE(3000, 1000, 1000);
    for (int shape = 0; shape < 3; shape++) {
        subject s;
        set_up(&s, DCSR_PATTERN, DCSR_POLICY_ANY, n, 1);
        uint64_t *rows = test_allocate(n, sizeof *rows), *cols = test_allocate(n, sizeof *cols);
        for (uint64_t k = 0; k < n; k++) {
            rows[k] = shape == 1 ? 7 : k;
            cols[k] = shape == 0 && k + 1 == n ? k : shape == 1 ? k : (k + 1) % n;
        }
        change(&s, true, n, rows, cols);
        check(&s, 0);
        check(&s, 7);
        check(&s, n - 1);
        free(rows);
        free(cols);
        tear_down(&s);
    }
}

Test(bfs, agrees_with_a_queue)
{
    static const uint64_t sizes[] = {1, 2, 31, 32, 33, 63, 64, 65, 300, 2000};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    test_seeds seeds = test_seeds_from_environment(TEST_SIZE(150, 40, 15));
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.rounds; seed++) {
        test_seed_begins(seed);
        test_random random = {seed};
        dcsr_type type = test_random_once_in(&random, 2)
                             ? DCSR_PATTERN
                             : (dcsr_type)test_random_below(&random, DCSR_TYPE_COUNT);
        dcsr_policy policy = (dcsr_policy)test_random_below(&random, DCSR_POLICY_COUNT);
        uint64_t n = sizes[test_random_below(&random, SIZES)];
        subject s;
        set_up(&s, type, policy, n, seed);
        /* Sometimes few edges or short ones, so that parts are not reached or levels are many. */
        uint64_t reach = test_random_once_in(&random, 2) ? n : 1 + n / 50;
        for (uint64_t k = 1 + test_random_below(&random, 5); k; k--) {
            random_change(&s, !test_random_once_in(&random, 4), test_random_below(&random, n + 20), reach);
            check(&s, test_random_below(&random, n));
        }
        tear_down(&s);
    }
}

/* Rows of many entries: by products, which on the cpu push, and pull where a CSC view has the transpose. A
 * quarter of the vertices is not reached, so that edges have to be counted. */
Test(bfs, agrees_where_rows_are_long)
{
    enum { N = 2000, LENGTH = 20 };
    subject s;
    set_up(&s, DCSR_PATTERN, DCSR_POLICY_KEEP, N, 5);
    uint64_t *rows = test_allocate(N * LENGTH, sizeof *rows), *cols = test_allocate(N * LENGTH, sizeof *cols);
    for (uint64_t k = 0; k < N * LENGTH; k++) {
        rows[k] = test_random_below(&s.random, N);
        cols[k] = test_random_below(&s.random, N * 3 / 4);
    }
    change(&s, true, N * LENGTH, rows, cols);
    check(&s, 0);
    check(&s, N - 1);
    free(rows);
    free(cols);
    tear_down(&s);
}

/* Vertex 0 leads to a few vertices with long rows (a small frontier with much work), these to all others (a
 * large one), each of which leads to a few more; then a long tail. Enough for several threads. */
Test(bfs, does_not_depend_on_the_number_of_threads)
{
    enum { N = TEST_EMULATOR ? 4000 : 24000, HUBS = 60, LONG = N / 20, TAIL = 40 };
    subject s;
    set_up(&s, DCSR_PATTERN, DCSR_POLICY_KEEP, N, 3);
    size_t n = 0, most = HUBS + HUBS * LONG + 3 * N + TAIL;
    uint64_t *rows = test_allocate(most, sizeof *rows), *cols = test_allocate(most, sizeof *cols);
    for (uint64_t h = 1; h <= HUBS; h++) rows[n] = 0, cols[n++] = h;
    for (uint64_t h = 1; h <= HUBS; h++)
        for (int k = 0; k < LONG; k++)
            rows[n] = h, cols[n++] = 1 + test_random_below(&s.random, N - TAIL - 1);
    for (uint64_t k = 0; k < 3 * N; k++) {
        rows[n] = HUBS + 1 + test_random_below(&s.random, N - TAIL - HUBS - 1);
        cols[n++] = 1 + test_random_below(&s.random, N - TAIL);
    }
    for (uint64_t k = N - TAIL; k + 1 < N; k++) rows[n] = k, cols[n++] = k + 1;
    change(&s, true, n / 3, rows, cols);
    change(&s, true, n - n / 3, rows + n / 3, cols + n / 3);
    check(&s, 0);
    check(&s, 0);
    check(&s, HUBS + 5);
    free(rows);
    free(cols);
    tear_down(&s);
}

Test(bfs, gives_the_same_while_the_graph_changes)
{
    subject s;
    set_up(&s, DCSR_PATTERN, DCSR_POLICY_KEEP, 1000, 8);
    for (int b = 0; b < 3; b++) random_change(&s, true, 700, 1000);
    int32_t first[1000], level[1000];
    dcsr_view *view = test_view(s.matrix[0], DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
    TEST_OK(dcsr_bfs(first, NULL, view, 1));
    test_writer w = {.matrix = s.matrix[0],
                     .size = 1000,
                     .entries = 300,
                     .batches = TEST_SIZE(100, 50, 50),
                     .values = false};
    pthread_t thread;
    cr_assert(pthread_create(&thread, NULL, test_write_batches, &w) == 0);
    while (!atomic_load(&w.done)) {
        dcsr_view *fresh = test_view(s.matrix[0], DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
        TEST_OK(dcsr_bfs(level, NULL, fresh, 1));
        dcsr_view_destroy(fresh);
        TEST_OK(dcsr_bfs(level, NULL, view, 1));
        cr_assert(memcmp(first, level, sizeof level) == 0);
    }
    cr_assert(pthread_join(thread, NULL) == 0);
    dcsr_view_destroy(view);
    tear_down(&s);
}

Test(bfs, refuses_what_it_cannot_do)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *wide = test_matrix(context, DCSR_PATTERN, 2, 3, DCSR_POLICY_ANY);
    dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, 3, 3, DCSR_POLICY_ANY);
    dcsr_matrix *empty = test_matrix(context, DCSR_PATTERN, 0, 0, DCSR_POLICY_ANY);
    dcsr_view *wide_view = test_view(wide, DCSR_LAYOUT_CSR, 0), *view = test_view(matrix, DCSR_LAYOUT_CSR, 0);
    dcsr_view *nothing = test_view(empty, DCSR_LAYOUT_SEGMENTS, 0);
    int32_t level[] = {5, 5, 5};
    dcsr_bfs_result result = {.reached = 5};
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "2 rows and 3 columns",
                 dcsr_bfs(level, &result, wide_view, 0));
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "source 3", dcsr_bfs(level, &result, view, 3));
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "source", dcsr_bfs(level, &result, view, UINT64_MAX));
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "source 0", dcsr_bfs(level, &result, nothing, 0));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "level", dcsr_bfs(NULL, &result, view, 0));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "view", dcsr_bfs(level, &result, NULL, 0));
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    long n = 0;
    for (; status != DCSR_OK; n++) {
        cr_assert(level[0] == 5 && level[1] == 5 && level[2] == 5 && result.reached == 5,
                  "a failed call has written");
        dcsr_i_fail_allocations_after(n);
        status = dcsr_bfs(level, &result, view, 1);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY);
    }
    cr_assert(n > 1 && level[0] == -1 && level[1] == 0 && result.reached == 1);
    dcsr_view_destroy(nothing);
    dcsr_view_destroy(wide_view);
    dcsr_matrix_destroy(empty);
    dcsr_matrix_destroy(wide);
    dcsr_matrix_destroy(matrix);
    dcsr_context_destroy(context);
    TEST_REFUSED(DCSR_ERROR_CONTEXT_DESTROYED, "context", dcsr_bfs(level, &result, view, 0));
    dcsr_view_destroy(view);
}

/* What scipy found from the vertex of largest out-degree. */
static const struct {
    const char *file;
    uint64_t source, reached, max_level, level_sum;
} graphs[] = {{"airfoil.mtx.gz", 48, 260, 14, 1658},          {"bar.mtx.gz", 21, 600, 6, 2006},
              {"bcsstk13.mtx.gz", 1533, 2003, 8, 7953},       {"ca-AstroPh-cc.mtx.gz", 2594, 17903, 9, 51342},
              {"cit-HepTh.mtx.gz", 811, 16498, 21, 96279},    {"cryg2500.mtx.gz", 1, 2500, 96, 117700},
              {"ego-Twitter.mtx.gz", 7510, 81306, 5, 202367}, {"email-Enron.mtx.gz", 5038, 33696, 8, 107294},
              {"jagmesh7.mtx.gz", 1, 1138, 55, 32048},        {"recirc_flow.mtx.gz", 16, 225, 13, 1914},
              {"unit_square.mtx.gz", 63, 191, 11, 1112}};

Test(bfs, of_real_graphs_is_what_others_found)
{
    dcsr_context *context = test_context(2);
    for (size_t g = 0; g < sizeof graphs / sizeof *graphs; g++) {
        char path[200];
        snprintf(path, sizeof path, "../shared/data/%s", graphs[g].file);
        if (access(path, R_OK) != 0) cr_skip("%s is not there", path);
        if (graphs[g].reached > (test_on_emulator() ? 5000 : UINT64_MAX)) continue;
        dcsr_coo coo = {0};
        TEST_OK(dcsr_coo_read(&coo, context, path, NULL));
        dcsr_matrix *matrix = NULL;
        TEST_OK(dcsr_matrix_from_coo(&matrix, context, &coo, NULL));
        int32_t *level = test_allocate(coo.rows, sizeof *level);
        for (dcsr_layout layout = DCSR_LAYOUT_SEGMENTS; layout <= DCSR_LAYOUT_CSR; layout++) {
            dcsr_bfs_result result;
            dcsr_view *view = test_view(matrix, layout, DCSR_VIEW_DUPLICATES);
            TEST_OK(dcsr_bfs(level, &result, view, graphs[g].source));
            cr_assert(result.reached == graphs[g].reached && result.max_level == graphs[g].max_level &&
                          result.level_sum == graphs[g].level_sum,
                      "%s: reached %" PRIu64 ", deepest %" PRIu64 ", sum %" PRIu64, graphs[g].file,
                      result.reached, result.max_level, result.level_sum);
            dcsr_view_destroy(view);
        }
        free(level);
        dcsr_matrix_destroy(matrix);
        dcsr_coo_free(&coo);
    }
    test_close(context);
}
