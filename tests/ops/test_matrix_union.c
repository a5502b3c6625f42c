/* test_matrix_union.c: what a matrix gets of another, and what was new of that. */
#include <dcsr/matrix_add.h>
#include "dcsr/base/alloc.h"
#include "tests/support/support.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 150, COLS = 400, MOST = 3000 };

static dcsr_matrix *any_of(dcsr_context *context, dcsr_type type, dcsr_resolution resolve)
{
    const dcsr_matrix_options options = {.policy = DCSR_POLICY_ANY, .resolve = resolve};
    dcsr_matrix *matrix;
    TEST_OK(dcsr_matrix_create(&matrix, context, type, ROWS, COLS, &options));
    return matrix;
}

/* Entries with a value of their own, many of them in one row. */
static uint64_t draw(test_random *random, uint64_t most, uint64_t *rows, uint64_t *cols, double *values)
{
    const uint64_t n = test_random_below(random, most);
    for (uint64_t i = 0; i < n; i++) {
        rows[i] = test_random_once_in(random, 3) ? 7 : test_random_below(random, ROWS);
        cols[i] = test_random_below(random, COLS);
        values[i] = (double)test_random_below(random, 1000);
    }
    return n;
}

static void insert(dcsr_matrix *matrix, dcsr_type type, uint64_t n, const uint64_t *rows,
                   const uint64_t *cols, const double *values)
{
    TEST_OK(dcsr_matrix_insert(matrix, n, rows, cols, type == DCSR_PATTERN ? NULL : values, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
}

/* Unions one after the other, with views held, against arrays. */
static void unite_often(dcsr_context *context, dcsr_type type, dcsr_resolution resolve, uint64_t seed)
{
    static double stored[ROWS][COLS], news[ROWS][COLS]; /* less than 0: none */
    static uint64_t rows[MOST], cols[MOST];
    static double values[MOST];
    test_random random = {seed};
    dcsr_matrix *T = any_of(context, type, resolve);
    dcsr_view *held = NULL;
    for (uint64_t i = 0; i < ROWS * COLS; i++) stored[i / COLS][i % COLS] = -1;
    for (int step = 0; step < 12; step++) {
        dcsr_matrix *N = any_of(context, type, DCSR_RESOLVE_AUTO), *fresh;
        const uint64_t n = draw(&random, step == 0 ? MOST : 200, rows, cols, values);
        insert(N, type, n, rows, cols, values);
        dcsr_view *view = test_view(N, DCSR_LAYOUT_SEGMENTS, step % 2 ? 0 : DCSR_VIEW_DUPLICATES);
        for (uint64_t i = 0; i < ROWS * COLS; i++) news[i / COLS][i % COLS] = -1;
        for (uint64_t i = 0; i < n; i++) /* the first value stays */
            if (stored[rows[i]][cols[i]] < 0) stored[rows[i]][cols[i]] = news[rows[i]][cols[i]] = values[i];
        TEST_OK(dcsr_matrix_union(T, view, &fresh));
        dcsr_view *of_fresh = test_view(fresh, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED),
                  *of_T = test_view(T, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED);
        for (uint64_t r = 0; r < ROWS; r++)
            for (int what = 0; what < 2; what++) {
                const double *wanted = what ? stored[r] : news[r];
                uint32_t found[COLS];
                double got[COLS];
                uint64_t length, k = 0;
                TEST_OK(dcsr_view_get_row(what ? of_T : of_fresh, r, COLS, found,
                                          type == DCSR_PATTERN ? NULL : (void *)got, &length));
                for (uint64_t c = 0; c < COLS; c++)
                    if (wanted[c] >= 0) {
                        cr_assert(k < length && found[k] == c, "step %d: (%d, %d) is not in %s", step, (int)r,
                                  (int)c, what ? "T" : "fresh");
                        cr_assert(type == DCSR_PATTERN || got[k] == wanted[c]);
                        k++;
                    }
                cr_assert_eq(k, length, "step %d: row %d has more", step, (int)r);
            }
        dcsr_view_destroy(of_fresh);
        dcsr_view_destroy(of_T);
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(fresh);
        dcsr_matrix_destroy(N);
        dcsr_view_destroy(held);
        held = test_view(T, DCSR_LAYOUT_SEGMENTS, 0);
    }
    dcsr_view_destroy(held);
    dcsr_matrix_destroy(T);
}

Test(matrix_union, gives_what_was_new)
{
    dcsr_context *context = test_context(2);
    for (uint64_t seed = 1; seed <= (test_on_emulator() ? 1 : 4); seed++)
        for (int resolve = DCSR_RESOLVE_AUTO; resolve <= DCSR_RESOLVE_ON_READ; resolve++) {
            unite_often(context, DCSR_PATTERN, (dcsr_resolution)resolve, seed);
            unite_often(context, DCSR_FP64, (dcsr_resolution)resolve, seed + 100);
        }
    test_close(context);
}

Test(matrix_union, casts_and_refuses)
{
    dcsr_context *context = test_context(1), *elsewhere = test_context(1);
    dcsr_matrix *T = any_of(context, DCSR_INT32, DCSR_RESOLVE_AUTO), *fresh = NULL,
                *last = test_matrix(context, DCSR_FP64, ROWS, COLS, DCSR_POLICY_LAST),
                *small = test_matrix(context, DCSR_FP64, 3, 3, DCSR_POLICY_ANY),
                *other = test_matrix(elsewhere, DCSR_FP64, ROWS, COLS, DCSR_POLICY_ANY);
    TEST_INSERT(last, {1, 2, 3.75}, {4, 5, -1});
    dcsr_view *N = test_view(last, DCSR_LAYOUT_CSR, 0), *wrong = test_view(small, DCSR_LAYOUT_SEGMENTS, 0),
              *far = test_view(other, DCSR_LAYOUT_SEGMENTS, 0), *own;
    TEST_OK(dcsr_matrix_union(T, N, NULL));
    TEST_SHOWS(T, {1, 2, 3}, {4, 5, -1});
    own = test_view(T, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_matrix_union(T, own, &fresh));
    TEST_SHOWS_NOTHING(fresh);
    dcsr_matrix_destroy(fresh);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "create T with DCSR_POLICY_ANY",
                 dcsr_matrix_union(last, own, &fresh));
    cr_assert_null(fresh);
    TEST_STATUS(DCSR_ERROR_DIMENSION_MISMATCH, dcsr_matrix_union(T, wrong, &fresh));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_matrix_union(T, far, &fresh));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_matrix_union(T, NULL, &fresh));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_matrix_union(NULL, N, &fresh));
    TEST_SHOWS(T, {1, 2, 3}, {4, 5, -1});
    dcsr_view *const views[] = {N, wrong, far, own};
    dcsr_matrix *const matrices[] = {T, last, small, other};
    for (int k = 0; k < 4; k++) {
        dcsr_view_destroy(views[k]);
        dcsr_matrix_destroy(matrices[k]);
    }
    test_close(elsewhere);
    test_close(context);
}

/* ---- Threads ---- */

typedef struct unifier {
    dcsr_matrix *T;
    uint64_t seed, fresh;
} unifier;

static void *unite_in_thread(void *argument)
{
    unifier *u = argument;
    test_random random = {u->seed};
    dcsr_matrix_info info;
    uint64_t rows[100], cols[100], nnz;
    double values[100];
    TEST_OK(dcsr_matrix_get_info(u->T, &info));
    for (int i = 0; i < (test_on_emulator() ? 5 : 60); i++) {
        dcsr_view_shape shape;
        dcsr_matrix *N, *fresh;
        dcsr_view *view = test_view(u->T, DCSR_LAYOUT_SEGMENTS, 0);
        TEST_OK(dcsr_view_get_shape(view, &shape));
        dcsr_view_destroy(view);
        N = any_of(shape.context, DCSR_PATTERN, DCSR_RESOLVE_AUTO);
        insert(N, DCSR_PATTERN, draw(&random, 100, rows, cols, values), rows, cols, NULL);
        view = test_view(N, DCSR_LAYOUT_SEGMENTS, 0);
        TEST_OK(dcsr_matrix_union(u->T, view, &fresh));
        TEST_OK(dcsr_matrix_get_nnz(fresh, &nnz));
        u->fresh += nnz;
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(fresh);
        dcsr_matrix_destroy(N);
    }
    return NULL;
}

/* Each entry is fresh for one thread. */
Test(matrix_union, of_several_threads)
{
    enum { THREADS = 4 };
    dcsr_context *context = test_context(2);
    dcsr_matrix *T = any_of(context, DCSR_PATTERN, DCSR_RESOLVE_AUTO);
    unifier u[THREADS];
    pthread_t thread[THREADS];
    uint64_t nnz, fresh = 0;
    for (int t = 0; t < THREADS; t++) {
        u[t] = (unifier){T, (uint64_t)t + 1, 0};
        cr_assert(!pthread_create(&thread[t], NULL, unite_in_thread, &u[t]));
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(thread[t], NULL);
        fresh += u[t].fresh;
    }
    TEST_OK(dcsr_matrix_get_nnz(T, &nnz));
    cr_assert_eq(nnz, fresh);
    dcsr_matrix_destroy(T);
    test_close(context);
}

/* Whatever allocation fails: T is as it was, or has all of N. */
Test(matrix_union, may_lack_memory)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *T = any_of(context, DCSR_FP64, DCSR_RESOLVE_AUTO),
                *N = any_of(context, DCSR_FP64, DCSR_RESOLVE_AUTO), *fresh = NULL;
    TEST_INSERT(T, {1, 2, 3}, {7, 7, 7});
    TEST_INSERT(N, {1, 2, 4}, {8, 1, 5}, {7, 6, 2});
    dcsr_view *view = test_view(N, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    uint64_t nnz;
    for (int first = 0; status; first++) {
        dcsr_i_fail_allocations_after(first);
        status = dcsr_matrix_union(T, view, &fresh);
        dcsr_i_fail_allocations_after(-1);
        cr_assert(!status || (status == DCSR_ERROR_OUT_OF_MEMORY && !fresh), "%s", dcsr_thread_error());
        TEST_OK(dcsr_matrix_get_nnz(T, &nnz));
        cr_assert(nnz == 2 || nnz == 4);
        if (status && nnz == 4) break; /* what was new is not known; the entries are there */
    }
    TEST_SHOWS(T, {1, 2, 3}, {7, 6, 2}, {7, 7, 7}, {8, 1, 5});
    dcsr_matrix_destroy(fresh);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(N);
    dcsr_matrix_destroy(T);
    test_close(context);
}
