/* test_followers_paths.c: levels and distances that follow graphs in which many paths are equally short, by the
 * textbook's method after every batch; and the buckets in which vertices wait. */
#include "algos/follow/nearest.h"
#include "tests/support/support.h"

#include <dcsr/follow.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = TEST_EMULATOR ? 8 : 14, N = SIDE * SIDE, HUB = N / 2 + SIDE / 2, MOST = 3 * N };

/* ---- Graphs ---- */

typedef struct graph {
    test_random random;
    dcsr_matrix *matrix;
    int weights;                            /* which of those below */
    double weight[N][N];                    /* NaN: no edge */
    uint64_t rows[MOST], cols[MOST], edges; /* of a batch */
    double values[MOST];
} graph;

enum { WEIGHTS = 6 };

static double draw_weight(graph *g)
{
    const double d = (double)test_random_below(&g->random, 9);
    switch (g->weights) {
    case 0:
        return 1;
    case 1:
        return 0;
    case 2:
        return d < 3 ? 0 : 1;
    case 3:
        return 0.1 * d;
    case 4:
        return d < 1 ? 0 : pow(10, 3 * (d - 4)); /* 1e-9 to 1e12: some are lost in sums */
    default:
        return d < 1 ? INFINITY : 3 + d;
    }
}

static void put(graph *g, uint64_t u, uint64_t v)
{
    if (g->edges == MOST) return;
    g->rows[g->edges] = u;
    g->cols[g->edges] = v;
    g->values[g->edges++] = draw_weight(g);
}

static void send(graph *g, bool insert)
{
    if (insert)
        TEST_OK(dcsr_matrix_insert(g->matrix, g->edges, g->rows, g->cols, g->values, NULL));
    else
        TEST_OK(dcsr_matrix_remove(g->matrix, g->edges, g->rows, g->cols, NULL));
    for (uint64_t e = 0; e < g->edges; e++) g->weight[g->rows[e]][g->cols[e]] = insert ? g->values[e] : NAN;
    g->edges = 0;
}

/* A neighbour in the grid, one way or the other; now and then the vertex itself, the hub, or any. */
static uint64_t draw_end(graph *g, uint64_t u)
{
    const uint64_t step = test_random_below(&g->random, 40);
    if (step < 36) return (u + (uint64_t[]){1, N - 1, SIDE, N - SIDE}[step % 4]) % N;
    return step == 36 ? u : step == 37 ? HUB : test_random_below(&g->random, N);
}

/* Removes edges that are there, and inserts some, of which some are there with another weight or come twice. */
static void change(graph *g, uint64_t most)
{
    for (uint64_t tries = test_random_below(&g->random, most + 1); tries--;) {
        const uint64_t u = test_random_below(&g->random, N), v = draw_end(g, u);
        if (!isnan(g->weight[u][v])) put(g, u, v);
    }
    send(g, false);
    for (uint64_t tries = test_random_below(&g->random, most + 1); tries--;) {
        const uint64_t u = test_random_below(&g->random, N);
        put(g, u, draw_end(g, u));
        if (test_random_once_in(&g->random, 6)) put(g, u, g->cols[g->edges - 1]);
    }
    send(g, true);
}

/* All edges of the hub go, or it gets one from and to each vertex. */
static void change_hub(graph *g)
{
    const bool there = !isnan(g->weight[HUB][0]);
    for (uint64_t v = 0; v < N; v++) {
        if (!there || !isnan(g->weight[HUB][v])) put(g, HUB, v);
        if (!there || !isnan(g->weight[v][HUB])) put(g, v, HUB);
    }
    send(g, !there);
}

/* ---- What is expected ---- */

/* Bellman and Ford's method from vertex 0. */
static void find_distances(const graph *g, bool unit, double distance[N])
{
    for (uint64_t v = 0; v < N; v++) distance[v] = v ? INFINITY : 0;
    for (bool nearer = true; nearer;) {
        nearer = false;
        for (uint64_t u = 0; u < N; u++) {
            for (uint64_t v = 0; v < N && distance[u] < INFINITY; v++) {
                const double to = distance[u] + (unit ? 1 : g->weight[u][v]);
                if (isnan(g->weight[u][v]) || !(to < distance[v])) continue;
                distance[v] = to;
                nearer = true;
            }
        }
    }
}

static void expect(const graph *g, dcsr_follower *levels, dcsr_follower *distances, int batch)
{
    dcsr_followed_levels has_levels;
    dcsr_followed_distances has_distances;
    double wanted[N];
    TEST_OK(dcsr_follower_get_levels(levels, &has_levels));
    find_distances(g, true, wanted);
    for (uint64_t v = 0; v < N; v++)
        cr_assert(has_levels.level[v] == (wanted[v] < INFINITY ? (int32_t)wanted[v] : -1),
                  "weights %d, batch %d: the level of %d is %d, not %g", g->weights, batch, (int)v,
                  has_levels.level[v], wanted[v]);
    TEST_OK(dcsr_follower_get_distances(distances, &has_distances));
    find_distances(g, false, wanted);
    for (uint64_t v = 0; v < N; v++)
        cr_assert(has_distances.distance[v] == wanted[v],
                  "weights %d, batch %d: the distance of %d is %g, not %g", g->weights, batch, (int)v,
                  has_distances.distance[v], wanted[v]);
}

Test(followers_paths, are_the_shortest_where_many_are)
{
    graph *g = test_allocate(1, sizeof *g);
    uint64_t kept = 0;
    for (int weights = 0; weights < WEIGHTS; weights++) {
        dcsr_context *context = test_context(2);
        dcsr_follower *levels, *distances;
        g->random = (test_random){11 + (uint64_t)weights};
        g->matrix = test_matrix(context, DCSR_FP64, N, N, DCSR_POLICY_DEFAULT);
        g->weights = weights;
        g->edges = 0;
        for (uint64_t u = 0; u < N; u++)
            for (uint64_t v = 0; v < N; v++) g->weight[u][v] = NAN;
        for (uint64_t u = 0; u < N; u++) put(g, u, (u + 1) % N), put(g, u, (u + SIDE) % N);
        send(g, true);
        for (uint64_t u = 0; u < N; u++) put(g, u, (u + N - 1) % N), put(g, u, (u + N - SIDE) % N);
        send(g, true);
        dcsr_view *view = test_view(g->matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST);
        TEST_OK(dcsr_follow_bfs(&levels, view, 0));
        TEST_OK(dcsr_follow_sssp(&distances, view, 0));
        dcsr_view_destroy(view);
        expect(g, levels, distances, -1);
        for (int batch = 0; batch < TEST_SIZE(250, 60, 15); batch++) {
            dcsr_follow_report report;
            if (batch % 16 == 15)
                change_hub(g);
            else
                change(g, batch % 2 ? 3 : batch % 4 ? 20 : 80);
            view = test_view(g->matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST);
            TEST_OK(dcsr_follower_advance(levels, view, NULL));
            TEST_OK(dcsr_follower_advance(distances, view, &report));
            dcsr_view_destroy(view);
            kept += report.anew == DCSR_FOLLOW_KEPT;
            expect(g, levels, distances, batch);
        }
        dcsr_follower_destroy(levels);
        dcsr_follower_destroy(distances);
        dcsr_matrix_destroy(g->matrix);
        test_close(context);
    }
    cr_assert(kept > (uint64_t)(WEIGHTS * TEST_SIZE(250, 60, 15) / 2));
    free(g);
}

/* ---- Buckets ---- */

/* By how much distances near this one may be out of order: beyond 2^62 widths there is one bucket. */
static double blur(double width, double distance)
{
    return distance > 4e18 * width ? INFINITY : 1.001 * width + 1e-15 * distance;
}

/* Vertices are put with distances that are not below what was taken, come nearer, and are taken by ascending distance
 * but for less than a width; each that waits exactly once. */
Test(followers_paths, wait_by_their_distance)
{
    enum { VERTICES = 2000, ROUNDS = 2 * VERTICES };
    static const double widths[] = {1, 0.3, 1e-9, 1e12, 0};
    dcsr_context *context = test_context(1);
    dcsr_i_nearest *q = test_allocate(1, sizeof *q);
    dcsr_i_path_node *node = test_allocate(VERTICES, sizeof *node);
    *q = (dcsr_i_nearest){.context = context};
    for (int w = 0; w < 5; w++) {
        test_random random = {(uint64_t)w};
        uint32_t taken[DCSR_I_BUNCH];
        uint64_t waiting = 0;
        double now = 0;
        for (int v = 0; v < VERTICES; v++) node[v] = (dcsr_i_path_node){INFINITY, 0, 0};
        dcsr_i_nearest_begin(q, widths[w]);
        for (int round = 0; round < ROUNDS || waiting; round++) {
            for (uint64_t adds = round < ROUNDS ? test_random_below(&random, 4) : 0; adds--;) {
                const uint32_t v = (uint32_t)test_random_below(&random, VERTICES);
                const double distance = now + pow(10, (double)test_random_below(&random, 24) - 12);
                const bool waits = node[v].state & DCSR_I_WAITS;
                if (distance >= node[v].distance) continue;
                waiting += !waits;
                if (waits || test_random_once_in(&random, 2)) {
                    dcsr_i_nearest_lower(q, node, v, distance);
                } else {
                    node[v].distance = distance;
                    dcsr_i_nearest_add(q, node, v);
                }
            }
            const uint32_t n = dcsr_i_nearest_take(q, node, taken);
            cr_assert((n > 0 || !waiting) && !q->status);
            double least = INFINITY;
            for (uint32_t i = 0; i < n; i++) {
                dcsr_i_path_node *v = &node[taken[i]];
                if (!(v->state & DCSR_I_WAITS)) continue;
                v->state = 0;
                waiting--;
                cr_assert(v->distance >= now - blur(widths[w], now), "%g: %g after %g", widths[w],
                          v->distance, now);
                least = fmin(least, v->distance);
            }
            for (uint32_t v = 0; v < VERTICES && least < INFINITY; v++)
                cr_assert(!(node[v].state & DCSR_I_WAITS) ||
                              node[v].distance >= least - blur(widths[w], least),
                          "%g: %.17g is taken before %.17g", widths[w], least, node[v].distance);
            if (least < INFINITY) now = fmax(now, least);
        }
        cr_assert_eq(dcsr_i_nearest_take(q, node, taken), 0);
    }
    dcsr_i_nearest_free(q);
    test_close(context);
    free(q);
    free(node);
}
