/* support_followers.c: what followers are tested with. */
#include "tests/support/support_followers.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- What is expected ---- */

picture picture_of(const oracle *m)
{
    picture p = {.n = m->rows};
    p.weight = test_allocate(p.n * p.n + 1, sizeof *p.weight);
    p.link = test_allocate(p.n * p.n + 1, 1);
    memset(p.link, 0, p.n * p.n);
    for (uint64_t k = 0; k < p.n * p.n; k++) p.weight[k] = NAN;
    for (uint64_t u = 0; u < p.n; u++)
        for (size_t k = 0; k < m->row[u].length; k++) {
            const uint64_t v = m->row[u].entry[k].column;
            p.weight[u * p.n + v] = m->type ? test_decode(m->type, &m->row[u].entry[k].value) : 1;
            if (u != v) p.link[u * p.n + v] = p.link[v * p.n + u] = true;
        }
    return p;
}

void free_picture(picture *p)
{
    free(p->weight);
    free(p->link);
}

static bool has(const picture *p, uint64_t u, uint64_t v)
{
    return !isnan(p->weight[u * p->n + v]);
}

static void expect_components(dcsr_follower *f, const picture *p)
{
    dcsr_followed_components found;
    uint64_t count, components = 0, largest = 0, name = 0;
    uint32_t *least = test_allocate(p->n + 1, sizeof *least);
    for (uint64_t v = 0; v < p->n; v++) least[v] = (uint32_t)v;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint64_t u = 0; u < p->n; u++)
            for (uint64_t v = 0; v < p->n; v++)
                if (p->link[u * p->n + v] && least[v] < least[u]) least[u] = least[v], moved = true;
    }
    for (uint64_t v = 0; v < p->n; v++) {
        uint64_t size = 0;
        for (uint64_t u = 0; u < p->n; u++) size += least[u] == v;
        components += size != 0;
        if (size > largest) largest = size, name = v;
    }
    TEST_OK(dcsr_follower_get_components(f, &found));
    TEST_OK(dcsr_follower_get_component_count(f, &count));
    cr_assert(count == components && found.components == components, "%" PRIu64 " components, not %" PRIu64,
              found.components, components);
    cr_assert(found.vertices == p->n && found.largest == largest && found.largest_name == name);
    for (uint64_t v = 0; v < p->n; v++)
        cr_assert(found.component[v] == least[v], "vertex %" PRIu64 " is in %u, not %u", v,
                  found.component[v], least[v]);
    free(least);
}

static void expect_triangles(dcsr_follower *f, const picture *p)
{
    dcsr_followed_triangles found;
    uint64_t all = 0;
    TEST_OK(dcsr_follower_get_triangles(f, &found));
    cr_assert(found.vertices == p->n);
    for (uint64_t u = 0; u < p->n; u++) {
        uint64_t twice = 0;
        for (uint64_t v = 0; v < p->n; v++)
            for (uint64_t w = 0; w < p->n && p->link[u * p->n + v]; w++)
                twice += p->link[u * p->n + w] && p->link[v * p->n + w];
        cr_assert(found.of_vertex[u] == twice / 2,
                  "vertex %" PRIu64 " is in %" PRIu64 " triangles, not %" PRIu64, u, found.of_vertex[u],
                  twice / 2);
        all += twice / 2;
    }
    cr_assert(found.triangles == all / 3, "%" PRIu64 " triangles, not %" PRIu64, found.triangles, all / 3);
}

/* Bellman and Ford's method; what is still brought nearer after n rounds is so by a negative cycle. */
static double *distances_of(const picture *p, bool unit)
{
    double *distance = test_allocate(p->n + 1, sizeof *distance);
    for (uint64_t v = 0; v < p->n; v++) distance[v] = v ? INFINITY : 0;
    for (uint64_t round = 0; round < 2 * p->n; round++)
        for (uint64_t u = 0; u < p->n; u++)
            for (uint64_t v = 0; v < p->n; v++) {
                if (!has(p, u, v) || distance[u] == INFINITY) continue;
                const double near = distance[u] + (unit ? 1 : p->weight[u * p->n + v]);
                if (near < distance[v]) distance[v] = round < p->n ? near : -INFINITY;
            }
    return distance;
}

static void expect_levels(dcsr_follower *f, const picture *p)
{
    dcsr_followed_levels found;
    uint64_t reached = 0;
    double *wanted = distances_of(p, true), most = 0;
    TEST_OK(dcsr_follower_get_levels(f, &found));
    for (uint64_t v = 0; v < p->n; v++) {
        cr_assert(found.level[v] == (wanted[v] < INFINITY ? (int32_t)wanted[v] : -1),
                  "vertex %" PRIu64 ": level %d, not %g", v, found.level[v], wanted[v]);
        reached += wanted[v] < INFINITY;
        if (wanted[v] < INFINITY && wanted[v] > most) most = wanted[v];
    }
    cr_assert(found.vertices == p->n && found.reached == reached && (double)found.max_level == most);
    free(wanted);
}

static void expect_distances(dcsr_follower *f, const picture *p)
{
    dcsr_followed_distances found;
    uint64_t reached = 0;
    bool cycle = false;
    double *wanted = distances_of(p, false);
    TEST_OK(dcsr_follower_get_distances(f, &found));
    for (uint64_t v = 0; v < p->n; v++) {
        cr_assert(found.distance[v] == wanted[v], "vertex %" PRIu64 ": %g, not %g", v, found.distance[v],
                  wanted[v]);
        reached += wanted[v] < INFINITY;
        cycle |= wanted[v] == -INFINITY;
    }
    cr_assert(found.vertices == p->n && found.result.reached == reached);
    cr_assert(found.result.negative_cycle == cycle);
    free(wanted);
}

/* Two hundred iterations from a matrix in full. */
static double *ranks_of(const picture *p)
{
    const uint64_t n = p->n;
    double *rank = test_allocate(n + 1, sizeof *rank), *next = test_allocate(n + 1, sizeof *next);
    for (uint64_t v = 0; v < n; v++) rank[v] = 1 / (double)n;
    for (int round = 0; round < 200; round++) {
        for (uint64_t v = 0; v < n; v++) next[v] = 0.15 / (double)n;
        for (uint64_t u = 0; u < n; u++) {
            uint64_t degree = 0;
            for (uint64_t v = 0; v < n; v++) degree += has(p, u, v);
            for (uint64_t v = 0; v < n; v++)
                if (!degree || has(p, u, v)) next[v] += 0.85 * rank[u] / (double)(degree ? degree : n);
        }
        memcpy(rank, next, n * sizeof *rank);
    }
    free(next);
    return rank;
}

static void expect_ranks(dcsr_follower *f, const picture *p)
{
    dcsr_followed_ranks found;
    double *wanted = ranks_of(p), difference = 0, sum = 0;
    TEST_OK(dcsr_follower_get_ranks(f, &found));
    for (uint64_t v = 0; v < p->n; v++) {
        difference += fabs(found.rank[v] - wanted[v]);
        sum += found.rank[v];
    }
    cr_assert(found.vertices == p->n && found.residual <= 1e-6 * 1.001);
    /* Of x by tolerance / (1 - damping), and so of its sum, by which it is divided. */
    cr_assert(difference <= 2e-6 / 0.15, "ranks differ by %g", difference);
    cr_assert(!p->n || fabs(sum - 1) < 1e-12);
    free(wanted);
}

/* A vertex goes while it has less than k neighbours left, for each k. */
static void expect_cores(dcsr_follower *f, const picture *p)
{
    dcsr_followed_cores found;
    uint32_t *core = test_allocate(p->n + 1, sizeof *core);
    bool *left = test_allocate(p->n + 1, 1);
    uint64_t count = p->n, largest = 0, vertices = 0;
    memset(left, 1, p->n);
    for (uint32_t k = 0; count; k++)
        for (bool gone = true; gone;) {
            gone = false;
            for (uint64_t v = 0; v < p->n; v++) {
                uint64_t degree = 0;
                for (uint64_t u = 0; u < p->n; u++) degree += left[u] && p->link[v * p->n + u];
                if (!left[v] || degree > k) continue;
                core[v] = k;
                left[v] = false;
                gone = true;
                count--;
            }
        }
    TEST_OK(dcsr_follower_get_cores(f, &found));
    for (uint64_t v = 0; v < p->n; v++) {
        cr_assert(found.core[v] == core[v], "vertex %" PRIu64 ": core %u, not %u", v, found.core[v], core[v]);
        if (core[v] > largest) largest = core[v], vertices = 0;
        vertices += core[v] == largest;
    }
    cr_assert(found.vertices == p->n && found.result.largest == largest && found.result.vertices == vertices);
    free(core);
    free(left);
}

/* Warshall's method. */
static void expect_closure(dcsr_follower *f, const picture *p)
{
    const uint64_t n = p->n;
    dcsr_followed_closure found;
    uint64_t pairs = 0, most = 0;
    bool *reach = test_allocate(n * n + 1, 1);
    for (uint64_t k = 0; k < n * n; k++) reach[k] = !isnan(p->weight[k]);
    for (uint64_t by = 0; by < n; by++)
        for (uint64_t u = 0; u < n; u++)
            for (uint64_t v = 0; v < n && reach[u * n + by]; v++) reach[u * n + v] |= reach[by * n + v];
    TEST_OK(dcsr_follower_get_closure(f, &found));
    for (uint64_t u = 0; u < n; u++) {
        dcsr_followed_row row;
        uint64_t count = 0;
        TEST_OK(dcsr_follower_get_closure_row(f, u, &row));
        for (uint64_t v = 0; v < n; v++) {
            cr_assert((row.bits[v / 64] >> v % 64 & 1) == reach[u * n + v], "%" PRIu64 " to %" PRIu64, u, v);
            count += reach[u * n + v];
        }
        cr_assert(row.reached == count && found.reached[u] == count && row.version == found.version);
        pairs += count;
        if (count > most) most = count;
    }
    cr_assert(found.vertices == n && found.pairs == pairs && found.most == most);
    free(reach);
}

/* ---- Kinds ---- */

static dcsr_status follow_bfs(dcsr_follower **follower, dcsr_view *view)
{
    return dcsr_follow_bfs(follower, view, 0);
}

static dcsr_status follow_sssp(dcsr_follower **follower, dcsr_view *view)
{
    return dcsr_follow_sssp(follower, view, 0);
}

static dcsr_status follow_pagerank(dcsr_follower **follower, dcsr_view *view)
{
    return dcsr_follow_pagerank(follower, view, NULL);
}

static dcsr_status follow_closure(dcsr_follower **follower, dcsr_view *view)
{
    return dcsr_follow_closure(follower, view, NULL);
}

#define ASK(name, type, getter)                     \
    static dcsr_status ask_##name(dcsr_follower *f) \
    {                                               \
        type found;                                 \
        return getter(f, &found);                   \
    }
ASK(components, dcsr_followed_components, dcsr_follower_get_components)
ASK(triangles, dcsr_followed_triangles, dcsr_follower_get_triangles)
ASK(levels, dcsr_followed_levels, dcsr_follower_get_levels)
ASK(distances, dcsr_followed_distances, dcsr_follower_get_distances)
ASK(ranks, dcsr_followed_ranks, dcsr_follower_get_ranks)
ASK(cores, dcsr_followed_cores, dcsr_follower_get_cores)
ASK(closure, dcsr_followed_closure, dcsr_follower_get_closure)

const follower_kind kinds[KINDS] = {
    {"components", dcsr_follow_components, ask_components, expect_components, false},
    {"triangles", dcsr_follow_triangles, ask_triangles, expect_triangles, false},
    {"bfs", follow_bfs, ask_levels, expect_levels, false},
    {"sssp", follow_sssp, ask_distances, expect_distances, true},
    {"pagerank", follow_pagerank, ask_ranks, expect_ranks, false},
    {"kcore", dcsr_follow_kcore, ask_cores, expect_cores, false},
    {"closure", follow_closure, ask_closure, expect_closure, false},
};

/* ---- Histories ---- */

void history_begin(history *h, uint64_t seed, dcsr_type type, dcsr_policy policy, uint64_t n)
{
    h->random = (test_random){seed};
    /* Fractions, whose sums are rounded; now and then negative ones, which are not. */
    h->unit = type == DCSR_FP64 && seed % 3 ? 0.1 : 1;
    h->least = type != DCSR_UINT8 && h->unit == 1 && seed % 4 == 0 ? -1 : 0;
    h->context = test_context(1 + (int)(seed % 2));
    h->matrix = test_matrix(h->context, type, n, n, policy);
    oracle_create(&h->model, type, policy, n, n);
}

void history_end(history *h)
{
    oracle_destroy(&h->model);
    dcsr_matrix_destroy(h->matrix);
    test_close(h->context);
}

/* Some entries, near the diagonal or anywhere. */
void history_change(history *h, bool insert, uint64_t edges)
{
    const uint64_t n = h->model.rows;
    const size_t size = dcsr_type_size(h->model.type);
    uint64_t rows[64], cols[64];
    char values[64 * 8];
    if (!n) return;
    for (uint64_t k = 0; k < edges; k++) {
        rows[k] = test_random_below(&h->random, n);
        cols[k] = test_random_once_in(&h->random, 2) ? (rows[k] + test_random_below(&h->random, 4)) % n
                                                     : test_random_below(&h->random, n);
        if (k && test_random_once_in(&h->random, 8)) rows[k] = rows[k - 1], cols[k] = cols[k - 1];
        if (k && test_random_once_in(&h->random, 4)) rows[k] = cols[k - 1];
        test_encode(h->model.type, h->least + h->unit * (double)test_random_below(&h->random, 6),
                    values + k * size);
    }
    if (insert) {
        TEST_OK(dcsr_matrix_insert(h->matrix, edges, rows, cols, size ? values : NULL, NULL));
        oracle_insert(&h->model, edges, rows, cols, size ? values : NULL);
    } else {
        TEST_OK(dcsr_matrix_remove(h->matrix, edges, rows, cols, NULL));
        oracle_remove(&h->model, edges, rows, cols);
    }
}

/* Removes some of the edges that are there. */
void history_remove(history *h, uint64_t most)
{
    uint64_t rows[64], cols[64], edges = 0;
    for (uint64_t tries = 0; tries < 4 * most && edges < most && h->model.rows; tries++) {
        const uint64_t u = test_random_below(&h->random, h->model.rows);
        const oracle_row *row = &h->model.row[u];
        if (!row->length) continue;
        rows[edges] = u;
        cols[edges++] = row->entry[test_random_below(&h->random, row->length)].column;
    }
    TEST_OK(dcsr_matrix_remove(h->matrix, edges, rows, cols, NULL));
    oracle_remove(&h->model, edges, rows, cols);
}

void history_resize(history *h, uint64_t n)
{
    TEST_OK(dcsr_matrix_resize(h->matrix, n, n, NULL));
    oracle_resize(&h->model, n, n);
}
