/* test_result.c: how operations write a matrix: as one version, in its turn, all or nothing. */
#include "dcsr/base/alloc.h"
#include <dcsr/apply.h>
#include <dcsr/ewise.h>
#include <dcsr/select.h>
#include <dcsr/transpose.h>
#include "tests/support/support_dense.h"

#include <pthread.h>
#include <stdlib.h>

static const dcsr_binary_op *plus(void)
{
    return dcsr_binary_op_of(DCSR_BINARY_PLUS, DCSR_FP64);
}
static const dcsr_unary_op *negate(void)
{
    return dcsr_unary_op_of(DCSR_UNARY_NEGATE, DCSR_FP64);
}

/* n entries at random places. */
static void fill(dcsr_matrix *matrix, uint64_t seed, size_t n, uint64_t rows, uint64_t cols)
{
    test_random random = {seed};
    test_entry *entries = test_allocate(n, sizeof *entries);
    for (size_t i = 0; i < n; i++)
        entries[i] = (test_entry){test_random_below(&random, rows), test_random_below(&random, cols),
                                  (double)test_random_below(&random, 9) - 4};
    test_insert(matrix, n, entries);
    free(entries);
}

Test(result, is_one_resolved_version)
{
    dcsr_context *context = test_context(2);
    dcsr_matrix *A = test_matrix(context, DCSR_FP64, 3, 4, DCSR_POLICY_LAST),
                *C = test_matrix(context, DCSR_FP64, 3, 4, DCSR_POLICY_SUM);
    TEST_INSERT(A, {2, 3, 5}, {0, 2, 1}, {0, 0, 2});
    TEST_INSERT(C, {1, 1, 7}, {1, 0, 3});
    TEST_INSERT(C, {1, 1, 7}, {0, 3, 1});
    dcsr_view *a = test_view(A, DCSR_LAYOUT_SEGMENTS, 0), *before = test_view(C, DCSR_LAYOUT_SEGMENTS, 0);
    uint64_t version = test_info(C).version;
    TEST_OK(dcsr_matrix_apply(C, NULL, NULL, negate(), a, NULL));
    dcsr_matrix_info info = test_info(C);
    cr_assert_eq(info.version, version + 1);
    cr_assert_eq(info.unresolved_rows, 0);
    cr_assert_eq(info.stored, 3);
    cr_assert_eq(info.segments, 2);
    TEST_SHOWS(C, {0, 0, -2}, {0, 2, -1}, {2, 3, -5});
    TEST_VIEW_SHOWS(before, {0, 3, 1}, {1, 0, 3}, {1, 1, 14});
    dcsr_view *csr = test_view(C, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    cr_assert(test_view_info(csr).lent, "rows that one thread wrote lie one behind the other");
    /* It goes on changing. */
    TEST_INSERT(C, {0, 2, 10}, {1, 1, 4});
    TEST_REMOVE(C, {2, 3, 0});
    TEST_SHOWS(C, {0, 0, -2}, {0, 2, 9}, {1, 1, 4});
    TEST_VIEW_SHOWS(csr, {0, 0, -2}, {0, 2, -1}, {2, 3, -5});
    dcsr_view_destroy(csr);
    dcsr_view_destroy(before);
    dcsr_view_destroy(a);
    dcsr_matrix_destroy(A);
    dcsr_matrix_destroy(C);
    test_close(context);
}

/* Inputs and mask may be the output. */
Test(result, output_is_input_and_mask)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *C = test_matrix(context, DCSR_FP64, 2, 2, DCSR_POLICY_LAST);
    TEST_INSERT(C, {0, 0, 1}, {0, 1, 2}, {1, 0, 0});
    dcsr_view *c = test_view(C, DCSR_LAYOUT_CSR, 0);
    TEST_OK(dcsr_matrix_ewise_add(C, c, plus(), plus(), c, c, NULL));
    /* c + (c + c) where c is not 0. */
    TEST_SHOWS(C, {0, 0, 3}, {0, 1, 6}, {1, 0, 0});
    TEST_OK(dcsr_matrix_transpose(C, NULL, NULL, c, NULL));
    TEST_SHOWS(C, {0, 0, 1}, {0, 1, 0}, {1, 0, 2});
    TEST_OK(dcsr_matrix_transpose(C, NULL, plus(), c, &(dcsr_desc){.transpose_a = true}));
    TEST_SHOWS(C, {0, 0, 2}, {0, 1, 2}, {1, 0, 2});
    dcsr_view_destroy(c);
    dcsr_matrix_destroy(C);
    test_close(context);
}

/* What has been queued is in before the operation reads what C holds; so is a resize. */
Test(result, waits_for_its_turn)
{
    enum { N = 5000 };
    dcsr_context *context = test_context(2);
    dcsr_matrix *C = test_matrix(context, DCSR_FP64, 10, N, DCSR_POLICY_SUM),
                *A = test_matrix(context, DCSR_FP64, 20, N, DCSR_POLICY_SUM);
    dcsr_view *a = test_view(A, DCSR_LAYOUT_SEGMENTS, 0);
    uint64_t *row = test_allocate(N, sizeof *row), *col = test_allocate(N, sizeof *col);
    double *value = test_allocate(N, sizeof *value);
    for (uint64_t i = 0; i < N; i++) row[i] = i % 20, col[i] = i, value[i] = 1;
    TEST_OK(dcsr_matrix_resize(C, 20, N, NULL));
    for (int b = 0; b < 20; b++) TEST_OK(dcsr_matrix_insert(C, N, row, col, value, NULL));
    TEST_OK(dcsr_matrix_ewise_add(C, NULL, plus(), plus(), a, a, NULL));
    uint64_t nnz;
    bool stored;
    TEST_OK(dcsr_matrix_get_nnz(C, &nnz));
    cr_assert_eq(nnz, N);
    TEST_OK(dcsr_matrix_get(C, 7, 27, value, &stored));
    cr_assert(stored && value[0] == 20);
    free(row), free(col), free(value);
    dcsr_view_destroy(a);
    dcsr_matrix_destroy(A);
    dcsr_matrix_destroy(C);
    test_close(context);
}

/* ---- Memory ---- */

static dcsr_status call_add(dcsr_matrix *C, dcsr_view *mask, dcsr_view *a)
{
    return dcsr_matrix_ewise_add(C, mask, plus(), plus(), a, a, NULL);
}
static dcsr_status call_plain(dcsr_matrix *C, dcsr_view *mask, dcsr_view *a)
{
    (void)mask;
    return dcsr_matrix_apply(C, NULL, NULL, negate(), a, NULL);
}
static dcsr_status call_transpose(dcsr_matrix *C, dcsr_view *mask, dcsr_view *a)
{
    (void)mask;
    return dcsr_matrix_transpose(C, NULL, NULL, a, NULL);
}

/* Each allocation fails in turn; C stays as it was until none does, and can be used all the time. */
static void fail_at_every_point(dcsr_status (*call)(dcsr_matrix *C, dcsr_view *mask, dcsr_view *a))
{
    enum { SIZE = 150 };
    dcsr_context *context = test_context(2);
    dcsr_matrix *A = test_matrix(context, DCSR_FP64, SIZE, SIZE, DCSR_POLICY_LAST),
                *C = test_matrix(context, DCSR_FP64, SIZE, SIZE, DCSR_POLICY_LAST),
                *M = test_matrix(context, DCSR_INT8, SIZE, SIZE, DCSR_POLICY_LAST);
    for (uint64_t s = 0; s < 3; s++)
        fill(A, s, 400, SIZE, SIZE), fill(C, 9 + s, 300, SIZE, SIZE), fill(M, s, 300, SIZE, SIZE);
    dense before = dense_of_matrix(C);
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    long n = 0;
    for (; status != DCSR_OK; n++) {
        dcsr_view *a = test_view(A, DCSR_LAYOUT_SEGMENTS, 0), *m = test_view(M, DCSR_LAYOUT_SEGMENTS, 0);
        dcsr_i_fail_allocations_after(n);
        status = call(C, m, a);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY);
        if (status != DCSR_OK) {
            dense after = dense_of_matrix(C);
            dense_compare(&after, &before, "after a failure");
            dense_free(&after);
        }
        dcsr_view_destroy(a);
        dcsr_view_destroy(m);
    }
    cr_assert_gt(n, 5);
    TEST_INSERT(C, {0, 0, 3});
    dense_free(&before);
    dcsr_matrix_destroy(A);
    dcsr_matrix_destroy(C);
    dcsr_matrix_destroy(M);
    test_close(context);
}

Test(result, memory_that_runs_out_masked, .timeout = 300)
{
    fail_at_every_point(call_add);
}
Test(result, memory_that_runs_out_plain, .timeout = 300)
{
    fail_at_every_point(call_plain);
}
Test(result, memory_that_runs_out_transposing, .timeout = 300)
{
    fail_at_every_point(call_transpose);
}

/* The arena serves one result after the other. Returns the bytes after each of n of them. */
static void write_many(int threads, int n, uint64_t *bytes)
{
    enum { SIZE = 2000, ENTRIES = 40000 };
    dcsr_context *context = test_context(threads);
    dcsr_matrix *A = test_matrix(context, DCSR_FP64, SIZE, SIZE, DCSR_POLICY_LAST),
                *C = test_matrix(context, DCSR_FP64, SIZE, SIZE, DCSR_POLICY_LAST);
    fill(A, 1, ENTRIES, SIZE, SIZE);
    dcsr_view *a = test_view(A, DCSR_LAYOUT_SEGMENTS, 0);
    for (int i = 0; i < n; i++) {
        TEST_OK(dcsr_matrix_apply(C, NULL, NULL, negate(), a, NULL));
        bytes[i] = test_info(C).bytes;
    }
    dcsr_view_destroy(a);
    dcsr_matrix_destroy(A);
    dcsr_matrix_destroy(C);
    test_close(context);
}

Test(result, memory_is_used_again, .timeout = 300)
{
    uint64_t bytes[12];
    write_many(1, 12, bytes);
    cr_assert_leq(bytes[11], bytes[3] + bytes[3] / 4);
}

/* How threads share the rows is up to the scheduler: one that gets most of them takes a second room, of half a result,
 * while the other has one. So old and new result have up to three rooms each, and before each of these there may be a
 * gap in which none fits: less than twelve rooms, where the first result has two at least. Forty results would have
 * eighty. */
Test(result, memory_is_used_again_by_threads, .timeout = 300)
{
    uint64_t bytes[40];
    write_many(2, 40, bytes);
    cr_assert_leq(bytes[39], 6 * bytes[0]);
}

/* ---- Threads ---- */

typedef struct racer {
    dcsr_matrix *C;
    dcsr_view *nothing; /* of C's shape */
    uint64_t row;
    uint64_t entries;
    atomic_bool *stop;
} racer;

static void *insert_a_row(void *argument)
{
    racer *r = argument;
    for (uint64_t col = 0; col < r->entries; col++) {
        double value = (double)col;
        if (dcsr_matrix_insert(r->C, 1, &r->row, &col, &value, NULL) != DCSR_OK) return "insert failed";
    }
    return NULL;
}

/* Writes C = C + nothing over and over: each time all that has been queued must still be there. */
static void *write_anew(void *argument)
{
    racer *r = argument;
    uint64_t last = 0;
    while (!atomic_load(r->stop)) {
        uint64_t nnz;
        if (dcsr_matrix_ewise_add(r->C, NULL, plus(), plus(), r->nothing, r->nothing, NULL) != DCSR_OK)
            return "writing failed";
        if (dcsr_matrix_get_nnz(r->C, &nnz) != DCSR_OK || nnz < last) return "entries were lost";
        last = nnz;
    }
    return NULL;
}

Test(result, others_insert_meanwhile, .timeout = 300)
{
    enum { INSERTERS = 3 };
    uint64_t entries = (uint64_t)TEST_SIZE(3000, 800, 300);
    dcsr_context *context = test_context(2);
    dcsr_matrix *C = test_matrix(context, DCSR_FP64, INSERTERS, entries, DCSR_POLICY_LAST),
                *E = test_matrix(context, DCSR_FP64, INSERTERS, entries, DCSR_POLICY_LAST);
    dcsr_view *nothing = test_view(E, DCSR_LAYOUT_SEGMENTS, 0);
    atomic_bool stop = false;
    racer racers[INSERTERS + 2];
    pthread_t threads[INSERTERS + 2];
    for (uint64_t i = 0; i < INSERTERS + 2; i++) {
        racers[i] = (racer){C, nothing, i, entries, &stop};
        cr_assert(!pthread_create(&threads[i], NULL, i < INSERTERS ? insert_a_row : write_anew, &racers[i]));
    }
    for (int i = 0; i < INSERTERS + 2; i++) {
        void *problem;
        if (i == INSERTERS) atomic_store(&stop, true);
        pthread_join(threads[i], &problem);
        cr_assert(!problem, "%s", (const char *)problem);
    }
    TEST_OK(dcsr_matrix_wait(C));
    dense all = dense_of_matrix(C);
    for (uint64_t at = 0; at < INSERTERS * entries; at++)
        cr_assert(all.has[at] && all.value[at] == (double)(at % entries));
    dense_free(&all);
    dcsr_view_destroy(nothing);
    dcsr_matrix_destroy(E);
    dcsr_matrix_destroy(C);
    test_close(context);
}

Test(result, of_a_context_that_is_closed)
{
    dcsr_context *context = test_context(2);
    dcsr_matrix *C = test_matrix(context, DCSR_FP64, 3, 3, DCSR_POLICY_LAST);
    dcsr_view *c = test_view(C, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_context_destroy(context);
    TEST_REFUSED(DCSR_ERROR_CONTEXT_DESTROYED, "context",
                 dcsr_matrix_apply(C, NULL, NULL, negate(), c, NULL));
    dcsr_view_destroy(c);
    dcsr_matrix_destroy(C);
}

/* Rows without entries cost nothing. */
Test(result, of_few_rows_among_many, .timeout = 60)
{
    const uint64_t rows = test_on_emulator() ? 1 << 17 : 1 << 27;
    dcsr_context *context = test_context(2);
    dcsr_matrix *A = test_matrix(context, DCSR_FP64, rows, 1000, DCSR_POLICY_LAST),
                *C = test_matrix(context, DCSR_FP64, rows, 1000, DCSR_POLICY_LAST);
    TEST_INSERT(A, {0, 5, 1}, {rows / 2, 7, 2}, {rows - 1, 999, 3});
    dcsr_view *a = test_view(A, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED);
    for (int i = 0; i < 20; i++) TEST_OK(dcsr_matrix_apply(C, NULL, plus(), negate(), a, NULL));
    uint64_t nnz;
    double value;
    bool stored;
    TEST_OK(dcsr_matrix_get_nnz(C, &nnz));
    cr_assert_eq(nnz, 3);
    TEST_OK(dcsr_matrix_get(C, rows - 1, 999, &value, &stored));
    cr_assert(stored && value == -60);
    dcsr_view_destroy(a);
    dcsr_matrix_destroy(A);
    dcsr_matrix_destroy(C);
    test_close(context);
}
