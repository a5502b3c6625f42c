/* test_followers.c: followers against recomputation by the textbook's methods, at every step of random histories:
 * batches of insertions and deletions with duplicates, loops and edges that are there or not, other values, empty
 * batches, matrices that grow and shrink, several batches at once, and versions gone back to. */
#include "tests/support/support_followers.h"

#include <dcsr/bfs.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Histories ---- */

/* One to three changes, of which several are seen at once. */
static void step(history *h, uint64_t least_vertices)
{
    const uint64_t n = h->model.rows;
    for (uint64_t times = 1 + test_random_below(&h->random, 3); times--;) {
        const uint64_t what = test_random_below(&h->random, 20);
        const uint64_t edges = test_random_once_in(&h->random, 3) ? 1 : 1 + test_random_below(&h->random, 8);
        if (what < 9) history_change(h, true, edges);
        if (what >= 9 && what < 15) history_remove(h, edges);
        if (what == 15) history_change(h, false, edges);
        if (what == 16) history_change(h, true, 0);
        if (what == 17 && h->model.rows < 60)
            history_resize(h, h->model.rows + 1 + test_random_below(&h->random, 3));
        if (what == 18 && test_random_once_in(&h->random, 8) && n > least_vertices) history_resize(h, n - 1);
        if (what == 19 && test_random_once_in(&h->random, 4)) history_change(h, true, 64);
    }
    TEST_OK(dcsr_matrix_wait(h->matrix));
}

/* Advances all, and looks whether each is right. */
static void advance_all(dcsr_follower **f, dcsr_view *view, const oracle *m, uint64_t *anew)
{
    picture p = picture_of(m);
    for (int k = 0; k < KINDS; k++) {
        dcsr_follow_report report;
        dcsr_follower_info info;
        if (!f[k]) continue;
        TEST_OK(dcsr_follower_advance(f[k], view, &report));
        TEST_OK(dcsr_follower_get_info(f[k], &info));
        cr_assert(report.version == test_view_info(view).version && info.version == report.version);
        cr_assert(info.vertices == p.n && info.bytes > 0 && !strcmp(info.name, kinds[k].name));
        anew[report.anew]++;
        kinds[k].expect(f[k], &p);
    }
    free_picture(&p);
}

static void run_history(uint64_t seed, uint64_t steps, uint64_t *anew)
{
    static const uint64_t sizes[] = {1, 2, 5, 12, 30, 50};
    static const dcsr_type types[] = {DCSR_PATTERN, DCSR_FP64, DCSR_INT32, DCSR_UINT8};
    static const dcsr_policy policies[] = {DCSR_POLICY_DEFAULT, DCSR_POLICY_MIN, DCSR_POLICY_SUM,
                                           DCSR_POLICY_KEEP};
    test_random random = {seed};
    history h;
    const dcsr_type type = types[test_random_below(&random, 4)];
    const dcsr_policy policy = policies[test_random_below(&random, type ? 4 : 1)];
    history_begin(&h, seed, type, policy, sizes[test_random_below(&random, test_on_emulator() ? 4 : 6)]);
    for (uint64_t k = test_random_below(&random, 3); k--;) history_change(&h, true, 40);
    TEST_OK(dcsr_matrix_wait(h.matrix));
    const dcsr_layout layout = test_random_below(&random, 3);
    const unsigned flags =
        policy != DCSR_POLICY_KEEP && test_random_once_in(&random, 4) ? DCSR_VIEW_SORTED : 0;
    dcsr_view *view = test_view(h.matrix, layout, flags), *old = NULL;
    oracle old_model;
    dcsr_follower *f[KINDS] = {NULL};
    for (int k = 0; k < KINDS; k++)
        if (!kinds[k].weighted || policy != DCSR_POLICY_KEEP) TEST_OK(kinds[k].follow(&f[k], view));
    advance_all(f, view, &h.model, anew);
    dcsr_view_destroy(view);
    for (uint64_t s = 0; s < steps; s++) {
        step(&h, 2);
        view = test_view(h.matrix, layout, flags);
        advance_all(f, view, &h.model, anew);
        /* Back to a version of before, and here again. */
        if (old && test_random_once_in(&h.random, 8)) {
            advance_all(f, old, &old_model, anew);
            advance_all(f, view, &h.model, anew);
        }
        if (!old || test_random_once_in(&h.random, 10)) {
            if (old) oracle_destroy(&old_model);
            dcsr_view_destroy(old);
            oracle_copy(&old_model, &h.model);
            old = view;
        } else {
            dcsr_view_destroy(view);
        }
    }
    dcsr_view_destroy(old);
    oracle_destroy(&old_model);
    for (int k = 0; k < KINDS; k++) dcsr_follower_destroy(f[k]);
    history_end(&h);
}

/* ---- Shapes that are taken apart and put together ---- */

/* A path is cut in the middle and joined, a star loses its centre, a clique its edges, one by one. */
Test(followers, of_shapes_edge_by_edge)
{
    enum { N = TEST_EMULATOR ? 8 : 24 };
    for (int shape = 0; shape < 4; shape++) {
        uint64_t from[N * N], to[N * N], edges = 0, anew[DCSR_FOLLOW_ANEW_COUNT] = {0};
        history h;
        dcsr_follower *f[KINDS];
        history_begin(&h, (uint64_t)shape, DCSR_PATTERN, DCSR_POLICY_DEFAULT, N);
        for (uint64_t u = 0; u < N; u++)
            for (uint64_t v = 0; v < u; v++)
                if (shape == 0 ? v + 1 == u : shape == 1 ? !v : shape == 2 ? u < 9 : u % 5 == v % 5)
                    from[edges] = v, to[edges++] = u;
        dcsr_view *view = test_view(h.matrix, DCSR_LAYOUT_SEGMENTS, 0);
        for (int k = 0; k < KINDS; k++) TEST_OK(kinds[k].follow(&f[k], view));
        dcsr_view_destroy(view);
        for (uint64_t e = 0; e < 2 * edges; e++) {
            const uint64_t at = e % edges * 7 % edges;
            if (e < edges) {
                TEST_OK(dcsr_matrix_insert(h.matrix, 1, &from[at], &to[at], NULL, NULL));
                oracle_insert(&h.model, 1, &from[at], &to[at], NULL);
            } else {
                TEST_OK(dcsr_matrix_remove(h.matrix, 1, &from[at], &to[at], NULL));
                oracle_remove(&h.model, 1, &from[at], &to[at]);
            }
            view = test_view(h.matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST);
            advance_all(f, view, &h.model, anew);
            dcsr_view_destroy(view);
        }
        for (int k = 0; k < KINDS; k++) dcsr_follower_destroy(f[k]);
        history_end(&h);
    }
}

/* A grid has many vertices at one distance and far ones, and a change reaches far. Weights are small whole numbers, 0
 * among them, so that there are several shortest paths. */
Test(followers, of_grids)
{
    enum { SIDE = TEST_EMULATOR ? 12 : 30, N = SIDE * SIDE, MOST = 64 };
    static const double ranks_within = 2 * 2 * 1e-6 / 0.15;
    dcsr_context *context = test_context(2);
    dcsr_matrix *matrix = test_matrix(context, DCSR_FP64, N, N, DCSR_POLICY_DEFAULT);
    uint64_t from[4 * N], to[4 * N], edges = 0;
    double weight[4 * N], *distance = test_allocate(N, sizeof *distance);
    int32_t *level = test_allocate(N, sizeof *level);
    test_random random = {5};
    for (uint64_t v = 0; v < N; v++) {
        const uint64_t step[] = {v % SIDE ? v - 1 : N, (v + 1) % SIDE ? v + 1 : N, v >= SIDE ? v - SIDE : N,
                                 v + SIDE};
        for (int k = 0; k < 4; k++)
            if (step[k] < N) from[edges] = v, to[edges++] = step[k];
    }
    for (uint64_t e = 0; e < edges; e++) weight[e] = (double)test_random_below(&random, 9);
    TEST_OK(dcsr_matrix_insert(matrix, edges, from, to, weight, NULL));
    dcsr_follower *levels, *distances, *ranks;
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST);
    TEST_OK(dcsr_follow_bfs(&levels, view, N / 2));
    TEST_OK(dcsr_follow_sssp(&distances, view, N / 2));
    TEST_OK(dcsr_follow_pagerank(&ranks, view, NULL));
    dcsr_view_destroy(view);
    for (int batch = 0; batch < TEST_SIZE(200, 60, 20); batch++) {
        dcsr_followed_levels has_levels;
        dcsr_followed_distances has_distances;
        dcsr_followed_ranks has_ranks;
        uint64_t n = 1 + test_random_below(&random, batch % 2 ? 4 : MOST), rows[MOST], cols[MOST];
        double difference = 0;
        for (uint64_t k = 0; k < n; k++) {
            const uint64_t e = test_random_below(&random, edges);
            rows[k] = from[e], cols[k] = to[e];
        }
        TEST_OK(dcsr_matrix_remove(matrix, n, rows, cols, NULL));
        n = test_random_below(&random, n + 1);
        for (uint64_t k = 0; k < n; k++) {
            const uint64_t e = test_random_below(&random, edges);
            rows[k] = from[e], cols[k] = test_random_once_in(&random, 9) ? (from[e] + N / 3) % N : to[e];
            weight[k] = (double)test_random_below(&random, 9);
        }
        TEST_OK(dcsr_matrix_insert(matrix, n, rows, cols, weight, NULL));
        view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST);
        TEST_OK(dcsr_follower_advance(levels, view, NULL));
        TEST_OK(dcsr_follower_advance(distances, view, NULL));
        TEST_OK(dcsr_follower_advance(ranks, view, NULL));
        TEST_OK(dcsr_follower_get_levels(levels, &has_levels));
        TEST_OK(dcsr_follower_get_distances(distances, &has_distances));
        TEST_OK(dcsr_follower_get_ranks(ranks, &has_ranks));
        TEST_OK(dcsr_bfs(level, NULL, view, N / 2));
        cr_assert(!memcmp(level, has_levels.level, N * sizeof *level), "batch %d", batch);
        TEST_OK(dcsr_sssp(distance, NULL, view, N / 2, NULL));
        cr_assert(!memcmp(distance, has_distances.distance, N * sizeof *distance), "batch %d", batch);
        TEST_OK(dcsr_pagerank(distance, NULL, view, NULL));
        for (uint64_t v = 0; v < N; v++) difference += fabs(distance[v] - has_ranks.rank[v]);
        cr_assert(difference <= ranks_within, "batch %d: ranks differ by %g", batch, difference);
        dcsr_view_destroy(view);
    }
    dcsr_follower *all[] = {levels, distances, ranks};
    for (int k = 0; k < 3; k++) dcsr_follower_destroy(all[k]);
    dcsr_matrix_destroy(matrix);
    test_close(context);
    free(distance);
    free(level);
}

/* Links of a small graph come and go for long: on the emulator the labels of the order, of which there are few, are
 * spread and given anew. */
Test(followers, of_cores_for_long)
{
    enum { N = 30, CHANGES = 8 };
    bool is_there[N][N] = {{0}};
    dcsr_context *context = test_context(1);
    dcsr_matrix *matrix = test_matrix(context, DCSR_PATTERN, N, N, DCSR_POLICY_ANY);
    dcsr_view *view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, 0);
    dcsr_follower *follower;
    TEST_OK(dcsr_follow_kcore(&follower, view));
    dcsr_view_destroy(view);
    test_random random = {7};
    for (int step = 0; step < TEST_SIZE(2000, 600, 300); step++) {
        for (int i = 0; i < CHANGES; i++) {
            const uint64_t u = test_random_below(&random, N), v = test_random_below(&random, N);
            TEST_OK((is_there[u][v] ? dcsr_matrix_remove_one(matrix, u, v, NULL)
                                    : dcsr_matrix_insert(matrix, 1, &u, &v, NULL, NULL)));
            is_there[u][v] = !is_there[u][v];
        }
        uint32_t wanted[N];
        dcsr_followed_cores found;
        view = test_view(matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST);
        TEST_OK(dcsr_follower_advance(follower, view, NULL));
        TEST_OK(dcsr_follower_get_cores(follower, &found));
        TEST_OK(dcsr_kcore(wanted, NULL, view, NULL));
        cr_assert(!memcmp(found.core, wanted, sizeof wanted), "step %d", step);
        dcsr_view_destroy(view);
    }
    dcsr_follower_destroy(follower);
    dcsr_matrix_destroy(matrix);
    test_close(context);
}

Test(followers, are_what_is_computed_anew)
{
    uint64_t anew[DCSR_FOLLOW_ANEW_COUNT] = {0};
    test_seeds seeds = test_seeds_from_environment((uint64_t)TEST_SIZE(300, 60, 20));
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.rounds; seed++) {
        test_seed_begins(seed);
        run_history(seed, (uint64_t)TEST_SIZE(40, 25, 15), anew);
    }
    if (seeds.rounds < 20) return;
    cr_assert(anew[DCSR_FOLLOW_KEPT] > 100 && anew[DCSR_FOLLOW_LARGE] && anew[DCSR_FOLLOW_SMALLER]);
    cr_assert(anew[DCSR_FOLLOW_KEPT] > 4 * (anew[DCSR_FOLLOW_LARGE] + anew[DCSR_FOLLOW_FAR]),
              "%" PRIu64 " kept, %" PRIu64 " large, %" PRIu64 " far", anew[DCSR_FOLLOW_KEPT],
              anew[DCSR_FOLLOW_LARGE], anew[DCSR_FOLLOW_FAR]);
}
