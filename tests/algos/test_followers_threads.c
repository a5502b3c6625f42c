/* test_followers_threads.c: ranks that follow a graph large enough for threads to share the work. */
#include "tests/support/support.h"

#include <dcsr/follow.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 40000, EDGES = 4 * N, BATCH = 400, BATCHES = 4 };

/* Edges of a random graph: some vertices have hundreds. */
static void draw(test_random *random, uint64_t n, uint64_t *from, uint64_t *to)
{
    for (uint64_t e = 0; e < n; e++) {
        from[e] = test_random_below(random, test_random_once_in(random, 4) ? N / 200 : N);
        to[e] = test_random_below(random, test_random_once_in(random, 4) ? N / 200 : N);
    }
}

/* Ranks after each batch: those of the follower, and those found anew. */
static void follow(double *ranks, double *anew, int threads, double tolerance)
{
    uint64_t *from = test_allocate(EDGES, sizeof *from), *to = test_allocate(EDGES, sizeof *to);
    dcsr_context *context = test_context(threads);
    dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, N, N, DCSR_POLICY_DEFAULT);
    dcsr_follower *f;
    test_random random = {3};
    draw(&random, EDGES, from, to);
    TEST_OK(dcsr_matrix_insert(matrix, EDGES, from, to, NULL, NULL));
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST);
    TEST_OK(dcsr_follow_pagerank(&f, view, &(dcsr_pagerank_options){.tolerance = tolerance}));
    dcsr_view_destroy(view);
    for (int b = 0; b < BATCHES; b++) {
        dcsr_followed_ranks found;
        dcsr_follow_report report;
        TEST_OK(dcsr_matrix_remove(matrix, BATCH, from + b * BATCH, to + b * BATCH, NULL));
        uint64_t rows[BATCH], cols[BATCH];
        draw(&random, BATCH, rows, cols);
        TEST_OK(dcsr_matrix_insert(matrix, BATCH, rows, cols, NULL, NULL));
        view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST);
        TEST_OK(dcsr_follower_advance(f, view, &report));
        cr_assert_eq(report.anew, DCSR_FOLLOW_KEPT);
        TEST_OK(dcsr_follower_get_ranks(f, &found));
        cr_assert(found.residual <= tolerance, "%g: %g is left", tolerance, found.residual);
        memcpy(ranks + (uint64_t)b * N, found.rank, N * sizeof *ranks);
        const dcsr_pagerank_options exact = {.tolerance = tolerance / 10, .max_iterations = 400};
        if (anew) TEST_OK(dcsr_pagerank(anew + (uint64_t)b * N, NULL, view, &exact));
        dcsr_view_destroy(view);
    }
    dcsr_follower_destroy(f);
    dcsr_matrix_destroy(matrix);
    test_close(context);
    free(from);
    free(to);
}

Test(followers_threads, find_the_same_ranks_whatever_their_number)
{
    static const double tolerances[] = {1e-6, 1e-10};
    double *one = test_allocate(BATCHES * N, sizeof *one), *two = test_allocate(BATCHES * N, sizeof *two);
    double *anew = test_allocate(BATCHES * N, sizeof *anew);
    for (int t = 0; t < 2; t++) {
        follow(one, anew, 1, tolerances[t]);
        follow(two, NULL, 2, tolerances[t]);
        cr_assert(!memcmp(one, two, BATCHES * N * sizeof *one));
        for (int b = 0; b < BATCHES; b++) {
            double difference = 0;
            for (uint64_t v = (uint64_t)b * N; v < ((uint64_t)b + 1) * N; v++)
                difference += fabs(one[v] - anew[v]);
            cr_assert(difference <= 2 * tolerances[t] / 0.15, "%g: differ by %g", tolerances[t], difference);
        }
    }
    free(one);
    free(two);
    free(anew);
}
