/* test_closure.c: the transitive closure against a search from every vertex, questions about pairs, and a closure
 * that is kept up, on random graphs, on shapes by hand, and on real graphs. */
#include <dcsr/closure.h>
#include "dcsr/base/alloc.h"
#include <dcsr/generate.h>
#include <dcsr/reader.h>
#include "tests/support/support.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A graph as an oracle, and what its vertices reach by paths of one edge or more: reach[from * n + to]. */
static bool *search_from_everyone(const oracle *m)
{
    const uint64_t n = m->rows;
    bool *reach = test_allocate(n * n + 1, 1);
    uint64_t *queue = test_allocate(n + 1, sizeof *queue);
    memset(reach, 0, n * n);
    for (uint64_t from = 0; from < n; from++) {
        uint64_t head = 0, tail = 0;
        for (uint64_t at = from;; at = queue[head++]) {
            const oracle_row *row = &m->row[at];
            for (size_t k = 0; k < row->length; k++) {
                const uint32_t to = row->entry[k].column;
                if (reach[from * n + to]) continue;
                reach[from * n + to] = true;
                queue[tail++] = to;
            }
            if (head == tail) break;
        }
    }
    free(queue);
    return reach;
}

/* Whether a matrix has exactly these pairs, with rows in order. */
static void expect_pairs(dcsr_matrix *closure, const bool *reach, uint64_t n)
{
    dcsr_csr csr;
    dcsr_view *view = test_view(closure, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    TEST_OK(dcsr_view_get_csr_on_host(view, &csr));
    cr_assert(csr.rows == n && csr.cols == n && csr.type == DCSR_PATTERN);
    for (uint64_t row = 0; row < n; row++) {
        uint64_t e = csr.offsets[row];
        for (uint64_t col = 0; col < n; col++) {
            const bool there = e < csr.offsets[row + 1] && csr.col_indices[e] == col;
            cr_assert(there == reach[row * n + col], "(%" PRIu64 ", %" PRIu64 ") is %sthere", row, col,
                      there ? "" : "not ");
            e += there;
        }
        cr_assert_eq(e, csr.offsets[row + 1]);
    }
    dcsr_view_destroy(view);
}

static void expect_answers(dcsr_view *view, const bool *reach, uint64_t n, test_random *random)
{
    const uint64_t count = test_random_below(random, 3 * n + 1);
    uint64_t *from = test_allocate(count + 1, sizeof *from), *to = test_allocate(count + 1, sizeof *to);
    bool *reached = test_allocate(count + 1, sizeof *reached);
    memset(reached, 7, count + 1);
    for (uint64_t k = 0; k < count; k++) {
        from[k] = test_random_below(random, n);
        to[k] = test_random_once_in(random, 9) ? from[k] : test_random_below(random, n);
    }
    TEST_OK(dcsr_closure_reaches(reached, view, count, from, to, NULL));
    for (uint64_t k = 0; k < count; k++)
        cr_assert(reached[k] == reach[from[k] * n + to[k]], "from %" PRIu64 " to %" PRIu64, from[k], to[k]);
    free(from), free(to), free(reached);
}

/* Counted, made and asked, by views of all layouts. */
static void check(dcsr_matrix *matrix, const oracle *m, test_random *random)
{
    const uint64_t n = m->rows;
    uint64_t pairs = 0;
    bool *reach = search_from_everyone(m);
    for (uint64_t k = 0; k < n * n; k++) pairs += reach[k];
    for (dcsr_layout layout = DCSR_LAYOUT_SEGMENTS; layout <= DCSR_LAYOUT_CSC; layout++)
        for (unsigned flags = 0; flags <= DCSR_VIEW_DUPLICATES; flags += DCSR_VIEW_DUPLICATES) {
            dcsr_closure_result counted, made;
            dcsr_matrix *closure;
            dcsr_view *view = test_view(matrix, layout, flags);
            TEST_OK(dcsr_closure(NULL, &counted, view, NULL));
            cr_assert(counted.pairs == pairs, "%" PRIu64 " pairs, not %" PRIu64, counted.pairs, pairs);
            TEST_OK(dcsr_closure(&closure, &made, view, NULL));
            cr_assert(made.pairs == pairs && made.components == counted.components);
            expect_pairs(closure, reach, n);
            if (n) expect_answers(view, reach, n, random);
            dcsr_matrix_destroy(closure);
            dcsr_view_destroy(view);
        }
    free(reach);
}

/* The same changes to a matrix and to its oracle. */
typedef struct graph {
    dcsr_context *context;
    dcsr_matrix *matrix;
    oracle model;
} graph;

static void begin(graph *g, int threads, dcsr_type type, dcsr_policy policy, uint64_t n)
{
    g->context = test_context(threads);
    g->matrix = test_matrix(g->context, type, n, n, policy);
    oracle_create(&g->model, type, policy, n, n);
}

static void end(graph *g)
{
    oracle_destroy(&g->model);
    dcsr_matrix_destroy(g->matrix);
    test_close(g->context);
}

static void change(graph *g, bool insert, uint64_t n, const uint64_t *rows, const uint64_t *cols)
{
    const size_t size = dcsr_type_size(g->model.type);
    void *values = size ? test_allocate(n + 1, size) : NULL;
    if (values) memset(values, 0, n * size);
    if (insert) {
        TEST_OK(dcsr_matrix_insert(g->matrix, n, rows, cols, values, NULL));
        oracle_insert(&g->model, n, rows, cols, values);
    } else {
        TEST_OK(dcsr_matrix_remove(g->matrix, n, rows, cols, NULL));
        oracle_remove(&g->model, n, rows, cols);
    }
    TEST_OK(dcsr_matrix_wait(g->matrix));
    free(values);
}

/* With `ahead` an edge leads to a larger number, so that there are no cycles. */
static void draw(graph *g, test_random *random, bool insert, uint64_t edges, bool ahead)
{
    const uint64_t n = g->model.rows;
    uint64_t *rows = test_allocate(edges + 1, sizeof *rows), *cols = test_allocate(edges + 1, sizeof *cols);
    for (uint64_t k = 0; k < edges; k++) {
        rows[k] = test_random_below(random, n);
        cols[k] = test_random_below(random, n);
        if (ahead && rows[k] > cols[k]) {
            const uint64_t larger = rows[k];
            rows[k] = cols[k];
            cols[k] = larger;
        }
    }
    change(g, insert, edges, rows, cols);
    free(rows), free(cols);
}

Test(closure, by_hand)
{
    graph g;
    dcsr_closure_result result;
    dcsr_matrix *closure;
    begin(&g, 1, DCSR_PATTERN, DCSR_POLICY_ANY, 7);
    /* A cycle 0 1 2, from it to 3 and 4, a loop at 5, 6 alone. */
    TEST_INSERT(g.matrix, {0, 1, 1}, {1, 2, 1}, {2, 0, 1}, {1, 3, 1}, {3, 4, 1}, {5, 5, 1});
    dcsr_view *view = test_view(g.matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_closure(&closure, &result, view, NULL));
    TEST_SHOWS(closure, {0, 0, 1}, {0, 1, 1}, {0, 2, 1}, {0, 3, 1}, {0, 4, 1}, {1, 0, 1}, {1, 1, 1},
               {1, 2, 1}, {1, 3, 1}, {1, 4, 1}, {2, 0, 1}, {2, 1, 1}, {2, 2, 1}, {2, 3, 1}, {2, 4, 1},
               {3, 4, 1}, {5, 5, 1});
    cr_assert(result.pairs == 17 && result.components == 5 && result.iterations == 1 && result.bytes > 0);
    bool reached[4];
    TEST_OK(dcsr_closure_reaches(reached, view, 4, (uint64_t[]){2, 4, 5, 6}, (uint64_t[]){4, 2, 5, 6}, NULL));
    cr_assert(reached[0] && !reached[1] && reached[2] && !reached[3]);
    dcsr_matrix_destroy(closure);
    dcsr_view_destroy(view);
    end(&g);
}

Test(closure, of_nothing_and_of_one_vertex)
{
    for (uint64_t n = 0; n < 3; n++) {
        graph g;
        test_random random = {n};
        begin(&g, 2, DCSR_PATTERN, DCSR_POLICY_ANY, n);
        check(g.matrix, &g.model, &random);
        if (n) {
            draw(&g, &random, true, 1, false);
            check(g.matrix, &g.model, &random);
        }
        end(&g);
    }
}

/* Several blocks of columns; rows with duplicates that stand side by side, deletions that are not resolved yet,
 * values. */
Test(closure, is_what_a_search_from_everyone_finds)
{
    static const uint64_t sizes[] = {5, 63, 64, 65, 300, 511, 512, 513, 700, 1030};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    test_seeds seeds = test_seeds_from_environment((uint64_t)TEST_SIZE(40, 16, 8));
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.rounds; seed++) {
        test_seed_begins(seed);
        test_random random = {seed};
        graph g;
        const uint64_t n = sizes[seed % (test_on_emulator() ? 4 : SIZES)];
        const bool ahead = test_random_once_in(&random, 2);
        begin(&g, 1 + (int)(seed % 2), test_random_once_in(&random, 2) ? DCSR_PATTERN : DCSR_FP64,
              test_random_once_in(&random, 2) ? DCSR_POLICY_KEEP : DCSR_POLICY_DEFAULT, n);
        draw(&g, &random, true, test_random_below(&random, (ahead ? 4 : 2) * n) + 1, ahead);
        draw(&g, &random, true, test_random_below(&random, n / 2) + 1, ahead);
        draw(&g, &random, false, test_random_below(&random, n) + 1, ahead);
        check(g.matrix, &g.model, &random);
        end(&g);
    }
}

/* A path, a ring, a ring with a tail on both sides, a tree. */
Test(closure, of_shapes)
{
    enum { SIZE = TEST_EMULATOR ? 100 : 1100 };
    for (int shape = 0; shape < 4; shape++) {
        graph g;
        test_random random = {(uint64_t)shape};
        uint64_t rows[SIZE], cols[SIZE], edges = 0;
        begin(&g, 2, DCSR_PATTERN, DCSR_POLICY_ANY, SIZE);
        for (uint64_t v = 0; v + 1 < SIZE; v++) {
            rows[edges] = shape == 3 ? v / 2 : v;
            cols[edges++] = v + 1;
        }
        if (shape == 1) rows[edges] = SIZE - 1, cols[edges++] = 0;
        if (shape == 2) rows[edges] = SIZE * 2 / 3, cols[edges++] = SIZE / 3;
        change(&g, true, edges, rows, cols);
        check(g.matrix, &g.model, &random);
        end(&g);
    }
}

Test(closure, counts_more_pairs_than_memory_holds)
{
    enum { N = TEST_EMULATOR ? 2000 : 100000 };
    graph g;
    dcsr_closure_result result;
    begin(&g, 2, DCSR_PATTERN, DCSR_POLICY_ANY, 0);
    TEST_OK(dcsr_matrix_resize(g.matrix, N, N, NULL));
    uint64_t *rows = test_allocate(N, sizeof *rows), *cols = test_allocate(N, sizeof *cols);
    for (uint64_t v = 0; v < N; v++) rows[v] = v, cols[v] = (v + 1) % N;
    TEST_OK(dcsr_matrix_insert(g.matrix, N - 1, rows, cols, NULL, NULL));
    TEST_OK(dcsr_matrix_wait(g.matrix));
    dcsr_view *path = test_view(g.matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_closure(NULL, &result, path, NULL));
    cr_assert_eq(result.pairs, (uint64_t)N * (N - 1) / 2);
    cr_assert_eq(result.components, N);
    TEST_OK(dcsr_matrix_insert(g.matrix, 1, rows + N - 1, cols + N - 1, NULL, NULL));
    TEST_OK(dcsr_matrix_wait(g.matrix));
    dcsr_view *ring = test_view(g.matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_closure(NULL, &result, ring, NULL));
    cr_assert_eq(result.pairs, (uint64_t)N * N);
    cr_assert_eq(result.components, 1);
    dcsr_view_destroy(path);
    dcsr_view_destroy(ring);
    free(rows), free(cols);
    end(&g);
}

/* The matrix too, bit for bit: as it is told by its rows, and by how much it took. */
Test(closure, does_not_depend_on_the_number_of_threads)
{
    enum { N = TEST_EMULATOR ? 300 : 6000 };
    graph g[2];
    dcsr_csr csr[2];
    dcsr_matrix *closure[2];
    dcsr_view *view[2], *made[2];
    dcsr_closure_result counted[2];
    for (int i = 0; i < 2; i++) {
        test_random random = {17};
        begin(&g[i], 1 + i, DCSR_PATTERN, DCSR_POLICY_ANY, N);
        draw(&g[i], &random, true, 2 * N, true);
        draw(&g[i], &random, true, N / 50, false);
        view[i] = test_view(g[i].matrix, DCSR_LAYOUT_SEGMENTS, 0);
        TEST_OK(dcsr_closure(NULL, &counted[i], view[i], NULL));
        TEST_OK(dcsr_closure(&closure[i], NULL, view[i], NULL));
        made[i] = test_view(closure[i], DCSR_LAYOUT_CSR, 0);
        TEST_OK(dcsr_view_get_csr_on_host(made[i], &csr[i]));
    }
    cr_assert(counted[0].pairs == counted[1].pairs && csr[0].nnz == counted[0].pairs &&
              csr[1].nnz == csr[0].nnz);
    cr_assert(!memcmp(csr[0].offsets, csr[1].offsets, (N + 1) * sizeof *csr[0].offsets));
    cr_assert(!memcmp(csr[0].col_indices, csr[1].col_indices, csr[0].nnz * sizeof *csr[0].col_indices));
    for (int i = 0; i < 2; i++) {
        dcsr_view_destroy(made[i]), dcsr_view_destroy(view[i]);
        dcsr_matrix_destroy(closure[i]);
        end(&g[i]);
    }
}

/* From an empty graph on, in batches of one edge and of many; some edges are there already. */
Test(closure, is_kept_up_when_edges_arrive)
{
    test_seeds seeds = test_seeds_from_environment((uint64_t)TEST_SIZE(12, 6, 3));
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.rounds; seed++) {
        test_seed_begins(seed);
        test_random random = {seed};
        const uint64_t n = 20 + test_random_below(&random, test_on_emulator() ? 40 : 200);
        graph g;
        dcsr_matrix *closure;
        begin(&g, 2, DCSR_PATTERN, DCSR_POLICY_ANY, n);
        dcsr_view *view = test_view(g.matrix, DCSR_LAYOUT_SEGMENTS, 0);
        TEST_OK(dcsr_closure(&closure, NULL, view, NULL));
        dcsr_view_destroy(view);
        for (int batch = 0; batch < 12; batch++) {
            const uint64_t edges = batch == 8 ? 600 : 1 + test_random_below(&random, n / 8);
            uint64_t *rows = test_allocate(edges, 8), *cols = test_allocate(edges, 8), before, after, added;
            for (uint64_t k = 0; k < edges; k++) {
                /* Short ones before, so that it does not fill up at once. */
                rows[k] = test_random_below(&random, n - 5);
                cols[k] = rows[k] + test_random_below(&random, batch > 9 ? n - rows[k] : 5);
                if (batch > 10 && test_random_once_in(&random, 4)) cols[k] = test_random_below(&random, n);
            }
            change(&g, true, edges, rows, cols);
            TEST_OK(dcsr_matrix_get_nnz(closure, &before));
            TEST_OK(dcsr_closure_update(closure, &added, edges, rows, cols, NULL));
            TEST_OK(dcsr_matrix_get_nnz(closure, &after));
            cr_assert_eq(after, before + added);
            bool *reach = search_from_everyone(&g.model);
            expect_pairs(closure, reach, n);
            free(reach), free(rows), free(cols);
        }
        dcsr_matrix_destroy(closure);
        end(&g);
    }
}

Test(closure, refuses_before_its_memory_is_exceeded)
{
    enum { N = 600, PAIRS = N * (N - 1) / 2 };
    graph g;
    uint64_t rows[N], cols[N];
    dcsr_closure_result result = {.pairs = 5}, counted;
    dcsr_matrix *closure;
    begin(&g, 1, DCSR_PATTERN, DCSR_POLICY_ANY, N);
    for (uint64_t v = 0; v + 1 < N; v++) rows[v] = v, cols[v] = v + 1;
    change(&g, true, N - 1, rows, cols);
    dcsr_view *view = test_view(g.matrix, DCSR_LAYOUT_SEGMENTS, 0);
    /* Enough to count, not for the pairs, of which each takes 8 bytes. */
    TEST_OK(dcsr_closure(NULL, &counted, view, NULL));
    const dcsr_closure_options little = {.memory_limit = counted.bytes / 2},
                               some = {.memory_limit = 8 * PAIRS};
    TEST_REFUSED(DCSR_ERROR_OUT_OF_MEMORY, "raise memory_limit", dcsr_closure(NULL, &result, view, &little));
    TEST_REFUSED(DCSR_ERROR_OUT_OF_MEMORY, "179700 pairs", dcsr_closure(&closure, &result, view, &some));
    TEST_REFUSED(DCSR_ERROR_OUT_OF_MEMORY, "only count", dcsr_closure(&closure, &result, view, &some));
    cr_assert(!closure && result.pairs == 5, "a refused call has written");
    cr_assert(test_on_device(g.context) || test_context_info(g.context).peak_bytes < some.memory_limit,
              "it was taken all the same");
    TEST_OK(dcsr_closure(NULL, &result, view, &some));
    const dcsr_closure_options enough = {.memory_limit = 8 * PAIRS + 2 * counted.bytes};
    TEST_OK(dcsr_closure(&closure, &result, view, &enough));
    cr_assert(result.bytes <= enough.memory_limit && result.pairs == PAIRS);
    dcsr_matrix_destroy(closure);
    dcsr_view_destroy(view);
    end(&g);
}

Test(closure, leaves_all_as_it_was_where_memory_fails)
{
    enum { N = 40 };
    graph g;
    dcsr_matrix *closure = NULL;
    test_random random = {3};
    begin(&g, 1, DCSR_PATTERN, DCSR_POLICY_ANY, N);
    draw(&g, &random, true, N, false);
    dcsr_view *view = test_view(g.matrix, DCSR_LAYOUT_SEGMENTS, 0);
    bool reached[] = {true}, *reach = search_from_everyone(&g.model);
    const uint64_t from[] = {1}, to[] = {2};
    for (int call = 0; call < 3; call++) {
        long n = 0;
        dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
        for (; status; n++) {
            dcsr_closure_result result = {.pairs = 5};
            uint64_t added = 0;
            dcsr_i_fail_allocations_after(n);
            if (call == 0) status = dcsr_closure(&closure, &result, view, NULL);
            if (call == 1) status = dcsr_closure_reaches(reached, view, 1, from, to, NULL);
            if (call == 2) status = dcsr_closure_update(closure, &added, 1, to, from, NULL);
            dcsr_i_fail_allocations_after(-1);
            cr_assert(!status || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
            cr_assert(!status || (result.pairs == 5 && !added), "a failed call has written");
            if (status && call == 0) cr_assert_null(closure);
            if (status && call == 2) expect_pairs(closure, reach, N);
        }
        cr_assert(n > 3);
    }
    cr_assert_eq(reached[0], reach[N + 2]);
    change(&g, true, 1, to, from);
    free(reach);
    reach = search_from_everyone(&g.model);
    expect_pairs(closure, reach, N);
    free(reach);
    dcsr_matrix_destroy(closure);
    dcsr_view_destroy(view);
    end(&g);
}

Test(closure, refuses_what_it_cannot_do)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *wide = test_matrix(context, DCSR_PATTERN, 2, 3, DCSR_POLICY_ANY), *closure;
    dcsr_matrix *valued = test_matrix(context, DCSR_FP64, 3, 3, DCSR_POLICY_ANY);
    dcsr_matrix *keeping = test_matrix(context, DCSR_PATTERN, 3, 3, DCSR_POLICY_KEEP);
    dcsr_view *view = test_view(wide, DCSR_LAYOUT_SEGMENTS, 0),
              *square = test_view(valued, DCSR_LAYOUT_CSR, 0);
    dcsr_closure_result result;
    const uint64_t zero = 0, three = 3;
    bool reached;
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "2 rows and 3 columns",
                 dcsr_closure(&closure, &result, view, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_closure(&closure, &result, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_closure(NULL, NULL, square, NULL));
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "to[0] is 3",
                 dcsr_closure_reaches(&reached, square, 1, &zero, &three, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL",
                 dcsr_closure_reaches(NULL, square, 1, &zero, &zero, NULL));
    TEST_OK(dcsr_closure_reaches(NULL, square, 0, NULL, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_TYPE_MISMATCH, "fp64", dcsr_closure_update(valued, NULL, 1, &zero, &zero, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "keeps",
                 dcsr_closure_update(keeping, NULL, 1, &zero, &zero, NULL));
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "square",
                 dcsr_closure_update(wide, NULL, 1, &zero, &zero, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_closure_update(NULL, NULL, 1, &zero, &zero, NULL));
    dcsr_matrix_destroy(keeping);
    keeping = test_matrix(context, DCSR_PATTERN, 3, 3, DCSR_POLICY_ANY);
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "(0, 3)",
                 dcsr_closure_update(keeping, NULL, 1, &zero, &three, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "cols",
                 dcsr_closure_update(keeping, NULL, 1, &zero, NULL, NULL));
    dcsr_matrix_destroy(keeping);
    dcsr_matrix_destroy(valued);
    dcsr_matrix_destroy(wide);
    dcsr_view_destroy(view);
    dcsr_context_destroy(context);
    TEST_REFUSED(DCSR_ERROR_CONTEXT_DESTROYED, "context", dcsr_closure(NULL, &result, square, NULL));
    dcsr_view_destroy(square);
}

static const struct {
    const char *file;
    uint64_t pairs;
} graphs[] = {{"OL.cedge", 146120},
              {"cal.cedge", 501755},
              {"wiki-Vote", 11947132},
              {"SF.cedge", 80498014},
              {"CA-HepTh", 74619885}};

Test(closure, of_real_graphs_is_what_others_found)
{
    dcsr_context *context = test_context(2);
    for (size_t k = 0; k < sizeof graphs / sizeof *graphs; k++) {
        char path[200];
        dcsr_coo coo = {0};
        dcsr_matrix *matrix = NULL, *closure = NULL;
        dcsr_closure_result result;
        uint64_t nnz;
        snprintf(path, sizeof path, "../shared/data/%s.el.gz", graphs[k].file);
        if (access(path, R_OK) != 0) cr_skip("%s is not there", path);
        if (graphs[k].pairs > (test_on_emulator() || TEST_THREAD_SANITIZER ? 200000 : UINT64_MAX)) continue;
        TEST_OK(dcsr_coo_read(&coo, context, path, NULL));
        TEST_OK(dcsr_matrix_from_coo(&matrix, context, &coo, NULL));
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
        TEST_OK(dcsr_closure(NULL, &result, view, NULL));
        cr_assert(result.pairs == graphs[k].pairs, "%s: %" PRIu64, path, result.pairs);
        if (graphs[k].pairs < 20000000) {
            TEST_OK(dcsr_closure(&closure, &result, view, NULL));
            TEST_OK(dcsr_matrix_get_nnz(closure, &nnz));
            cr_assert(nnz == graphs[k].pairs && result.pairs == nnz);
        }
        dcsr_matrix_destroy(closure);
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
        dcsr_coo_free(&coo);
    }
    test_close(context);
}

/* What is told on the way: steps that ascend, and in the end all pairs. */
typedef struct told {
    uint64_t calls, done, total, pairs;
} told;

static void note(void *user, uint64_t done, uint64_t total, uint64_t pairs)
{
    told *t = user;
    cr_assert(done >= t->done && pairs >= t->pairs && (!total || done <= total));
    *t = (told){t->calls + 1, done, total, pairs};
}

Test(closure, tells_how_far_it_has_come)
{
    for (int threads = 1; threads <= 2; threads++) {
        dcsr_context *context = test_context(threads);
        dcsr_coo coo;
        dcsr_matrix *matrix, *pairs;
        dcsr_closure_result result;
        TEST_OK(dcsr_coo_generate(&coo, context, "er:1500,2000"));
        TEST_OK(dcsr_matrix_from_coo(&matrix, context, &coo, NULL));
        dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
        for (int made = 0; made <= 1; made++) {
            told t = {0};
            const dcsr_closure_options options = {.progress = note, .user = &t};
            TEST_OK(dcsr_closure(made ? &pairs : NULL, &result, view, &options));
            cr_assert(t.calls > 1 && t.done == t.total && t.total == (made ? 2u : 1u) * result.iterations);
            cr_assert_eq(t.pairs, result.pairs);
            if (made) dcsr_matrix_destroy(pairs);
        }
        told t = {0};
        TEST_OK(
            dcsr_same_generation(NULL, &result, view, &(dcsr_closure_options){.progress = note, .user = &t}));
        cr_assert(t.calls > 1 && t.done == result.iterations && !t.total && t.pairs == result.pairs);
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(matrix);
        dcsr_coo_free(&coo);
        test_close(context);
    }
}

Test(closure, is_refused_before_rows_are_read)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, 1 << 20, 1 << 20, DCSR_POLICY_ANY);
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_closure_result result;
    TEST_REFUSED(DCSR_ERROR_OUT_OF_MEMORY, "for the vertices",
                 dcsr_closure(NULL, &result, view, &(dcsr_closure_options){.memory_limit = 1 << 20}));
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}
