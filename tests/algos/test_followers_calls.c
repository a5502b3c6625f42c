/* test_followers_calls.c: what followers do when memory fails, what they refuse, and their options. */
#include "dcsr/base/alloc.h"
#include "tests/support/support_followers.h"

#include <math.h>
#include <stdlib.h>

/* One advance with the n-th allocation failing; whether it was done all the same. */
static bool fails_at(int k, long n, dcsr_view *before, dcsr_view *now, const oracle *m_before,
                     const oracle *m_now)
{
    dcsr_follower *f;
    dcsr_follower_info info;
    picture p_before = picture_of(m_before), p_now = picture_of(m_now);
    TEST_OK(kinds[k].follow(&f, before));
    dcsr_i_fail_allocations_after(n);
    const dcsr_status status = dcsr_follower_advance(f, now, NULL);
    dcsr_i_fail_allocations_after(-1);
    cr_assert(status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
    TEST_OK(dcsr_follower_get_info(f, &info));
    if (status) {
        cr_assert_eq(info.version, test_view_info(before).version);
        if (kinds[k].ask(f))
            cr_assert(test_says("advance again"));
        else
            kinds[k].expect(f, &p_before);
        TEST_OK(dcsr_follower_advance(f, now, NULL));
    }
    kinds[k].expect(f, &p_now);
    dcsr_follower_destroy(f);
    free_picture(&p_before);
    free_picture(&p_now);
    return status == DCSR_OK;
}

Test(followers_calls, keep_what_they_have_when_memory_fails)
{
    for (int grown = 0; grown < 3; grown++) {
        history h;
        oracle m_before;
        history_begin(&h, 1, DCSR_FP64, DCSR_POLICY_DEFAULT, 20);
        history_change(&h, true, 60);
        TEST_OK(dcsr_matrix_wait(h.matrix));
        dcsr_view *before = test_view(h.matrix, DCSR_LAYOUT_SEGMENTS, 0);
        oracle_copy(&m_before, &h.model);
        if (grown) history_resize(&h, grown == 1 ? 40 : 15);
        history_remove(&h, 3);
        /* So many to one row that it has to move, and all rows with it. */
        uint64_t rows[12] = {0}, cols[12];
        double values[12] = {0};
        for (uint64_t e = 0; e < 12; e++) cols[e] = e;
        TEST_OK(dcsr_matrix_insert(h.matrix, 12, rows, cols, values, NULL));
        oracle_insert(&h.model, 12, rows, cols, values);
        TEST_OK(dcsr_matrix_wait(h.matrix));
        dcsr_view *now = test_view(h.matrix, DCSR_LAYOUT_SEGMENTS, 0);
        for (int k = 0; k < KINDS; k++) {
            long n = 0;
            dcsr_follower *f;
            while (!fails_at(k, n, before, now, &m_before, &h.model)) n++;
            cr_assert(n > 1, "%s", kinds[k].name);
            dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
            for (n = 0; status; n++) {
                dcsr_i_fail_allocations_after(n);
                status = kinds[k].follow(&f, now);
                dcsr_i_fail_allocations_after(-1);
                cr_assert(!status == (f != NULL));
            }
            dcsr_follower_destroy(f);
        }
        dcsr_view_destroy(before);
        dcsr_view_destroy(now);
        oracle_destroy(&m_before);
        history_end(&h);
    }
}

Test(followers_calls, refuse_what_they_cannot_follow)
{
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, 4, 4, DCSR_POLICY_DEFAULT);
    dcsr_matrix *other = test_matrix(context, DCSR_FP64, 4, 4, DCSR_POLICY_KEEP);
    dcsr_matrix *wide = test_matrix(context, DCSR_FP64, 4, 5, DCSR_POLICY_DEFAULT);
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_view *keeps = test_view(other, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_view *wide_view = test_view(wide, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_follower *f, *none = (dcsr_follower *)&f;
    dcsr_follower_info info;
    dcsr_followed_triangles triangles;
    dcsr_followed_distances distances;
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "follower is NULL", dcsr_follow_components(NULL, view));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_follow_components(&none, NULL));
    cr_assert_null(none);
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "4 rows and 5 columns", dcsr_follow_kcore(&none, wide_view));
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "source 4", dcsr_follow_bfs(&none, view, 4));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "DCSR_POLICY_KEEP", dcsr_follow_sssp(&none, keeps, 0));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "damping",
                 dcsr_follow_pagerank(&none, view, &(dcsr_pagerank_options){.damping = 1}));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "tolerance",
                 dcsr_follow_pagerank(&none, view, &(dcsr_pagerank_options){.tolerance = -1}));
    TEST_OK(dcsr_follow_sssp(&f, view, 3));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "not of the matrix", dcsr_follower_advance(f, keeps, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "follower is NULL", dcsr_follower_advance(NULL, view, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_follower_advance(f, NULL, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_follower_get_distances",
                 dcsr_follower_get_triangles(f, &triangles));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_follower_get_distances(f, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_follower_get_info(f, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "follows sssp, not triangles; ask it with",
                 dcsr_follower_get_triangles(f, &triangles));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "name is NULL", dcsr_follow_named(&none, NULL, view, 0));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "nothing is called \"ranks\"",
                 dcsr_follow_named(&none, "ranks", view, 0));
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "source 4", dcsr_follow_named(&none, "bfs", view, 4));
    cr_assert_null(none);
    for (uint64_t k = 0; k < KINDS; k++) {
        dcsr_follower *named;
        TEST_OK(dcsr_follow_named(&named, dcsr_follow_name(k), view, 0));
        TEST_OK(dcsr_follower_get_info(named, &info));
        cr_assert_str_eq(info.name, dcsr_follow_name(k));
        dcsr_follower_destroy(named);
    }
    cr_assert_null(dcsr_follow_name(KINDS));
    /* A weight that is none; then the source goes. */
    TEST_INSERT(matrix, {3, 1, NAN});
    dcsr_view *later = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "(3, 1) is NaN", dcsr_follower_advance(f, later, NULL));
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "(3, 1) is NaN", dcsr_follow_sssp(&none, later, 3));
    TEST_OK(dcsr_matrix_resize(matrix, 3, 3, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_view *small = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "source 3", dcsr_follower_advance(f, small, NULL));
    TEST_OK(dcsr_matrix_resize(matrix, 3, 4, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    dcsr_view *uneven = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_REFUSED(DCSR_ERROR_DIMENSION_MISMATCH, "3 rows", dcsr_follower_advance(f, uneven, NULL));
    /* It is where it was, with the view of then. */
    TEST_OK(dcsr_follower_get_info(f, &info));
    TEST_OK(dcsr_follower_get_distances(f, &distances));
    cr_assert(info.version == test_view_info(view).version && distances.version == info.version);
    cr_assert(distances.result.reached == 1 && distances.distance[3] == 0 && info.links == 0);
    cr_assert(dcsr_follow_anew_name(DCSR_FOLLOW_FAR) && !dcsr_follow_anew_name(DCSR_FOLLOW_ANEW_COUNT));
    dcsr_view *views[] = {view, keeps, wide_view, later, small, uneven};
    for (size_t k = 0; k < sizeof views / sizeof *views; k++) dcsr_view_destroy(views[k]);
    dcsr_matrix_destroy(matrix);
    dcsr_matrix_destroy(other);
    dcsr_matrix_destroy(wide);
    dcsr_follower_destroy(f); /* which outlives its matrix */
    dcsr_follower_destroy(NULL);
    test_close(context);
}

/* Chance that goes to some vertices alone, also when others come. */
Test(followers_calls, of_pagerank_keep_to_the_options)
{
    const double personal[4] = {1, 0, 0, 3};
    const dcsr_pagerank_options options = {.damping = 0.5, .tolerance = 1e-10, .personal = personal};
    const double longer[6] = {1, 0, 0, 3};
    dcsr_pagerank_options then = options;
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, 4, 4, DCSR_POLICY_DEFAULT);
    dcsr_follower *f;
    dcsr_followed_ranks found;
    double rank[6];
    TEST_INSERT(matrix, {0, 1, 1}, {1, 2, 1}, {3, 1, 1});
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_follow_pagerank(&f, view, &options));
    dcsr_view_destroy(view);
    TEST_OK(dcsr_matrix_grow(matrix, 6, 6, NULL));
    TEST_INSERT(matrix, {2, 5, 1}, {5, 0, 1});
    view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_follower_advance(f, view, NULL));
    TEST_OK(dcsr_follower_get_ranks(f, &found));
    then.personal = longer;
    TEST_OK(dcsr_pagerank(rank, NULL, view, &then));
    for (int v = 0; v < 6; v++)
        cr_assert(fabs(rank[v] - found.rank[v]) < 1e-8, "%g %g", rank[v], found.rank[v]);
    cr_assert(found.rank[4] == 0 && found.residual <= 1e-10);
    dcsr_view_destroy(view);
    dcsr_follower_destroy(f);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* Nothing adds up over many advances, also where rounding is as much as the tolerance. */
Test(followers_calls, of_pagerank_stay_within_the_tolerance)
{
    static const double tolerances[] = {1e-6, 1e-13, 1e-17};
    const uint64_t steps = (uint64_t)TEST_SIZE(2000, 400, 60);
    for (int t = 0; t < 3; t++) {
        const double tolerance = tolerances[t];
        const dcsr_pagerank_options exact = {.tolerance = 1e-15, .max_iterations = 400};
        history h;
        dcsr_follower *f;
        double *rank = test_allocate(50, sizeof *rank);
        history_begin(&h, 7, DCSR_PATTERN, DCSR_POLICY_DEFAULT, 50);
        dcsr_view *view = test_view(h.matrix, DCSR_LAYOUT_SEGMENTS, 0);
        TEST_OK(dcsr_follow_pagerank(&f, view, &(dcsr_pagerank_options){.tolerance = tolerance}));
        dcsr_view_destroy(view);
        for (uint64_t s = 0; s < steps; s++) {
            dcsr_follow_report report;
            dcsr_followed_ranks found;
            double difference = 0;
            history_change(&h, true, 2);
            if (s > 40) history_remove(&h, 3);
            view = test_view(h.matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST);
            TEST_OK(dcsr_follower_advance(f, view, &report));
            cr_assert(t || report.anew == DCSR_FOLLOW_KEPT || s < 40);
            if (s % 20 == 19) {
                TEST_OK(dcsr_follower_get_ranks(f, &found));
                TEST_OK(dcsr_pagerank(rank, NULL, view, &exact));
                for (uint64_t v = 0; v < 50; v++) difference += fabs(rank[v] - found.rank[v]);
                cr_assert(found.residual <= tolerance + 1e-15, "%g: %g left", tolerance, found.residual);
                cr_assert(difference <= 2 * (tolerance + 1e-15) / 0.15, "%g differ by %g", tolerance,
                          difference);
            }
            dcsr_view_destroy(view);
        }
        free(rank);
        dcsr_follower_destroy(f);
        history_end(&h);
    }
}

/* Vertices that are moved in their order again and again, so that labels run out and are spread. */
Test(followers_calls, of_cores_keep_their_order)
{
    enum { N = 48 };
    const uint64_t steps = (uint64_t)TEST_SIZE(6000, 1500, 150);
    history h;
    dcsr_follower *f;
    dcsr_followed_cores found;
    uint32_t core[N];
    history_begin(&h, 4, DCSR_PATTERN, DCSR_POLICY_DEFAULT, N);
    dcsr_view *view = test_view(h.matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_follow_kcore(&f, view));
    dcsr_view_destroy(view);
    for (uint64_t s = 0; s < steps; s++) {
        if (s % 400 < 150 || s % 2)
            history_change(&h, true, 1);
        else
            history_remove(&h, 1);
        view = test_view(h.matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST);
        TEST_OK(dcsr_follower_advance(f, view, NULL));
        TEST_OK(dcsr_follower_get_cores(f, &found));
        TEST_OK(dcsr_kcore(core, NULL, view, NULL));
        dcsr_view_destroy(view);
        for (uint64_t v = 0; v < N; v++)
            cr_assert(found.core[v] == core[v], "step %d, vertex %d: %u, not %u", (int)s, (int)v,
                      found.core[v], core[v]);
    }
    dcsr_follower_destroy(f);
    history_end(&h);
}

/* Rows of several words, more of them as the matrix grows, against dcsr_closure(). */
Test(followers_calls, of_closures_are_what_is_computed_anew)
{
    const uint64_t steps = (uint64_t)TEST_SIZE(400, 100, 30);
    uint64_t followed = 0;
    history h;
    dcsr_follower *f;
    history_begin(&h, 2, DCSR_PATTERN, DCSR_POLICY_DEFAULT, 150);
    dcsr_view *view = test_view(h.matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_follow_closure(&f, view, NULL));
    dcsr_view_destroy(view);
    for (uint64_t s = 0; s < steps; s++) {
        dcsr_followed_closure found;
        dcsr_closure_result wanted;
        dcsr_follow_report report;
        dcsr_matrix *closure;
        history_change(&h, true, 1 + test_random_below(&h.random, 8));
        if (s > 20) history_remove(&h, 1 + test_random_below(&h.random, 10));
        if (s % 20 == 19) history_resize(&h, s % 40 == 39 ? 150 : h.model.rows + 30);
        view = test_view(h.matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST);
        TEST_OK(dcsr_follower_advance(f, view, &report));
        TEST_OK(dcsr_follower_get_closure(f, &found));
        TEST_OK(dcsr_closure(&closure, &wanted, view, NULL));
        dcsr_view_destroy(view);
        cr_assert_eq(found.pairs, wanted.pairs, "step %d: %d pairs, not %d", (int)s, (int)found.pairs,
                     (int)wanted.pairs);
        view = test_view(closure, DCSR_LAYOUT_SEGMENTS, 0);
        for (uint64_t u = 0; u < h.model.rows; u++) {
            dcsr_followed_row row;
            dcsr_piece piece[DCSR_MAX_SEGMENTS];
            int count;
            uint64_t there = 0;
            TEST_OK(dcsr_follower_get_closure_row(f, u, &row));
            TEST_OK(dcsr_view_get_pieces(view, u, piece, &count));
            for (int p = 0; p < count; p++)
                for (uint64_t k = 0; k < piece[p].length; k++)
                    there += row.bits[piece[p].cols[k] / 64] >> piece[p].cols[k] % 64 & 1;
            cr_assert(there == row.reached, "step %d, row %d", (int)s, (int)u);
        }
        followed += report.anew == DCSR_FOLLOW_KEPT;
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(closure);
    }
    cr_assert(followed > steps / 2);
    dcsr_follower_destroy(f);
    history_end(&h);
}

/* 100 rows of two words and one more are 1616 bytes; 129 rows are of three. */
Test(followers_calls, of_closures_keep_to_the_limit)
{
    const dcsr_closure_options options = {.memory_limit = 1616};
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, 101, 101, DCSR_POLICY_DEFAULT);
    dcsr_follower *f;
    dcsr_followed_row row;
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_REFUSED(DCSR_ERROR_OUT_OF_MEMORY, "take 1632 bytes, which is beyond the limit of 1616",
                 dcsr_follow_closure(&f, view, &options));
    dcsr_view_destroy(view);
    TEST_OK(dcsr_matrix_resize(matrix, 100, 100, NULL));
    TEST_INSERT(matrix, {3, 70, 1}, {70, 99, 1});
    view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_follow_closure(&f, view, &options));
    dcsr_view_destroy(view);
    TEST_OK(dcsr_matrix_resize(matrix, 129, 129, NULL));
    TEST_OK(dcsr_matrix_wait(matrix));
    view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_REFUSED(DCSR_ERROR_OUT_OF_MEMORY, "raise memory_limit", dcsr_follower_advance(f, view, NULL));
    dcsr_view_destroy(view);
    TEST_OK(dcsr_follower_get_closure_row(f, 3, &row));
    cr_assert(row.reached == 2 && row.bits[1] == (UINT64_C(1) << 6 | UINT64_C(1) << 35) && !row.bits[0]);
    TEST_REFUSED(DCSR_ERROR_INDEX_OUT_OF_RANGE, "100 is not a vertex",
                 dcsr_follower_get_closure_row(f, 100, &row));
    dcsr_follower_destroy(f);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

/* A ring that is cut has other core numbers all around; a path that is cut in the middle has two long sides. */
Test(followers_calls, compute_anew_what_reaches_far)
{
    enum { N = 4000 };
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, N, N, DCSR_POLICY_DEFAULT);
    uint64_t *from = test_allocate(N, sizeof *from), *to = test_allocate(N, sizeof *to);
    dcsr_follower *cores, *components;
    dcsr_followed_cores found;
    dcsr_follow_report report;
    uint64_t count;
    for (uint64_t v = 0; v < N; v++) from[v] = v, to[v] = (v + 1) % N;
    TEST_OK(dcsr_matrix_insert(matrix, N, from, to, NULL, NULL));
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST);
    TEST_OK(dcsr_follow_kcore(&cores, view));
    TEST_OK(dcsr_follower_get_cores(cores, &found));
    cr_assert(found.result.largest == 2 && found.result.vertices == N);
    dcsr_view_destroy(view);
    TEST_REMOVE(matrix, {N - 1, 0, 1});
    view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_follower_advance(cores, view, &report));
    TEST_OK(dcsr_follower_get_cores(cores, &found));
    cr_assert(report.anew == DCSR_FOLLOW_FAR && found.result.largest == 1 && found.result.vertices == N);
    TEST_OK(dcsr_follow_components(&components, view));
    dcsr_view_destroy(view);
    TEST_REMOVE(matrix, {N / 2, N / 2 + 1, 1});
    view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    TEST_OK(dcsr_follower_advance(components, view, &report));
    TEST_OK(dcsr_follower_get_component_count(components, &count));
    cr_assert(report.anew == DCSR_FOLLOW_FAR && report.removed == 1 && count == 2);
    dcsr_view_destroy(view);
    dcsr_follower_destroy(cores);
    dcsr_follower_destroy(components);
    dcsr_matrix_destroy(matrix);
    test_close(context);
    free(from);
    free(to);
}
