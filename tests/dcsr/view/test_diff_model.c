/* test_diff_model.c: what differs between two versions, against an oracle of each, and beside writers. */
#include "tests/support/support_diff.h"

#include <pthread.h>

static const dcsr_layout layouts[] = {DCSR_LAYOUT_SEGMENTS, DCSR_LAYOUT_CSR, DCSR_LAYOUT_CSC};

/* ---- Against an oracle of each version ---- */

enum { KEPT = 5 };

typedef struct model {
    dcsr_matrix *matrix;
    oracle now, was[KEPT];
    uint64_t rows, cols; /* at first; a resize may double the rows */
    dcsr_view *view[KEPT];
    test_random *random;
} model;

static void change_entries(model *m, bool insert)
{
    enum { MOST = 60 };
    size_t n = test_random_below(m->random, MOST), size = dcsr_type_size(m->now.type);
    uint64_t rows[MOST], cols[MOST], near = test_random_below(m->random, m->now.rows);
    char values[MOST * 8];
    for (size_t i = 0; i < n; i++) {
        rows[i] = test_random_once_in(m->random, 3) ? test_random_below(m->random, m->now.rows) : near;
        cols[i] = test_random_below(m->random, m->now.cols);
        if (size) test_encode(m->now.type, (double)test_random_below(m->random, 3), values + i * size);
    }
    if (insert) {
        TEST_OK(dcsr_matrix_insert(m->matrix, n, rows, cols, size ? values : NULL, NULL));
        oracle_insert(&m->now, n, rows, cols, size ? values : NULL);
    } else {
        TEST_OK(dcsr_matrix_remove(m->matrix, n, rows, cols, NULL));
        oracle_remove(&m->now, n, rows, cols);
    }
}

static void change(model *m)
{
    switch (test_random_below(m->random, 10)) {
    case 0:;
        uint64_t rows = 1 + test_random_below(m->random, 2 * m->rows);
        uint64_t cols = 1 + test_random_below(m->random, m->cols);
        TEST_OK(dcsr_matrix_resize(m->matrix, rows, cols, NULL));
        oracle_resize(&m->now, rows, cols);
        break;
    case 1:
        TEST_OK(dcsr_matrix_defragment(
            m->matrix, test_random_below(m->random, 2) ? DCSR_DEFRAGMENT_WHOLE : DCSR_DEFRAGMENT_SELECTED,
            NULL));
        break;
    case 2:
    case 3:
        change_entries(m, false);
        break;
    default:
        change_entries(m, true);
    }
    TEST_OK(dcsr_matrix_wait(m->matrix));
}

static void let_go(model *m, int v)
{
    dcsr_view_destroy(m->view[v]);
    if (m->view[v]) oracle_destroy(&m->was[v]);
    m->view[v] = NULL;
}

static void keep(model *m, int v)
{
    let_go(m, v);
    oracle_copy(&m->was[v], &m->now);
    m->view[v] = test_view(m->matrix, layouts[test_random_below(m->random, 3)],
                           (unsigned)test_random_below(m->random, 4));
}

/* A matrix into which some batches are inserted, and then steps. */
typedef struct run {
    dcsr_type type;
    dcsr_policy policy;
    uint64_t rows, cols;
    int batches, steps;
} run;

static void run_model(dcsr_context *context, const run *r, test_random *random)
{
    model m = {.random = random, .rows = r->rows, .cols = r->cols};
    dcsr_matrix_options options = {.policy = r->policy, .segments = 2};
    TEST_OK(dcsr_matrix_create(&m.matrix, context, r->type, r->rows, r->cols, &options));
    oracle_create(&m.now, r->type, r->policy, r->rows, r->cols);
    for (int b = 0; b < r->batches; b++) change_entries(&m, true);
    TEST_OK(dcsr_matrix_wait(m.matrix));
    for (int v = 0; v < KEPT; v++) keep(&m, v);
    for (int step = 0; step < r->steps; step++) {
        change(&m);
        if (test_random_below(random, 2)) keep(&m, (int)test_random_below(random, KEPT));
        int from = (int)test_random_below(random, KEPT), to = (int)test_random_below(random, KEPT);
        dcsr_diff *diff = diff_of(m.view[from], m.view[to]);
        cr_assert(test_diff_agrees(diff, &m.was[from], &m.was[to]), "%s, policy %d, step %d",
                  dcsr_type_name(r->type), (int)r->policy, step);
        dcsr_diff_destroy(diff);
        TEST_OK(dcsr_view_diff_positions(&diff, m.view[from], m.view[to]));
        cr_assert(info_of(diff).type == DCSR_PATTERN && !entries_of(diff).changed.nnz);
        cr_assert(test_diff_agrees(diff, &m.was[from], &m.was[to]), "%s, policy %d, step %d: positions",
                  dcsr_type_name(r->type), (int)r->policy, step);
        dcsr_diff_destroy(diff);
    }
    for (int v = 0; v < KEPT; v++) let_go(&m, v);
    oracle_destroy(&m.now);
    dcsr_matrix_destroy(m.matrix);
}

/* All types, and all policies. */
static void run_models(run r, uint64_t rounds)
{
    test_seeds seeds = test_seeds_from_environment(rounds);
    for (uint64_t s = seeds.first; s < seeds.first + seeds.rounds; s++) {
        test_seed_begins(s);
        test_random random = {s};
        dcsr_context *context = test_context(1 + (int)(s % 3));
        for (int i = 0; i < DCSR_TYPE_COUNT + 6; i++) {
            r.type = i < DCSR_TYPE_COUNT ? (dcsr_type)i : DCSR_FP64;
            r.policy = (dcsr_policy)(DCSR_POLICY_KEEP + (i + (int)s) % 6);
            run_model(context, &r, &random);
        }
        test_close(context);
    }
}

Test(diff_model, agrees_with_a_model)
{
    run_models((run){.rows = 200, .cols = 40, .steps = TEST_SIZE(60, 30, 20)}, (uint64_t)TEST_SIZE(6, 2, 2));
}

/* Rows to which a little is appended. */
Test(diff_model, of_long_rows_agrees_with_a_model)
{
    run_models((run){.rows = 3, .cols = 5000, .batches = 60, .steps = TEST_SIZE(60, 20, 20)},
               (uint64_t)TEST_SIZE(4, 2, 1));
}

/* ---- Beside writers ---- */

typedef struct follower {
    test_writer *writer;
    dcsr_view *last; /* shared by followers */
} follower;

/* Each diff tells of every entry that the two views show, or do not show. */
static void *follow(void *argument)
{
    follower *f = argument;
    dcsr_view *from = f->last;
    while (!atomic_load(&f->writer->done)) {
        dcsr_view *to = test_view(f->writer->matrix, DCSR_LAYOUT_SEGMENTS, 0);
        dcsr_diff *diff = diff_of(from, to);
        dcsr_diff_entries e = entries_of(diff);
        uint64_t grown = test_view_info(to).nnz - test_view_info(from).nnz;
        cr_assert(!e.removed.nnz && !e.changed.nnz && e.inserted.nnz == grown);
        for (uint64_t i = 0; i < e.inserted.nnz; i++) {
            bool stored[2];
            uint64_t row = e.inserted.row_indices[i], col = e.inserted.col_indices[i];
            TEST_OK(dcsr_view_get_many(from, 1, &row, &col, NULL, &stored[0]));
            TEST_OK(dcsr_view_get_many(to, 1, &row, &col, NULL, &stored[1]));
            cr_assert(!stored[0] && stored[1]);
        }
        dcsr_diff_destroy(diff);
        if (from != f->last) dcsr_view_destroy(from);
        from = to;
    }
    if (from != f->last) dcsr_view_destroy(from);
    return NULL;
}

Test(diff_model, follows_a_matrix_that_is_written)
{
    enum { FOLLOWERS = 2 };
    dcsr_context *context = test_context(2);
    dcsr_matrix *matrix;
    TEST_OK(dcsr_matrix_create(&matrix, context, DCSR_PATTERN, 500, 500, NULL));
    test_writer writer = {
        .matrix = matrix, .size = 500, .entries = 20, .batches = (size_t)TEST_SIZE(400, 200, 100)};
    follower f = {.writer = &writer, .last = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0)};
    pthread_t write, read[FOLLOWERS];
    cr_assert(pthread_create(&write, NULL, test_write_batches, &writer) == 0);
    for (int i = 0; i < FOLLOWERS; i++) cr_assert(pthread_create(&read[i], NULL, follow, &f) == 0);
    for (int i = 0; i < FOLLOWERS; i++) pthread_join(read[i], NULL);
    pthread_join(write, NULL);
    dcsr_view_destroy(f.last);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}
