/* follow_paths.c: levels and distances from a source that follow a matrix.
 *
 * Vertices that are reached form a tree: each hangs below the one through which it has its distance. In an advance
 *
 *      edges that come or get lighter       may bring their ends nearer: these are noted
 *      edges of the tree that go            or get heavier: their ends are suspects
 *
 * By ascending distance, each suspect looks for another vertex that gives it the same distance, and is nearer than it,
 * so no suspect any more. If there is none, it is trimmed, and what hangs below it is suspect. Trimmed vertices then
 * take the best distance that vertices that were not trimmed give, and with the noted ones these go the way of
 * Dijkstra's method (G. Ramalingam, T. Reps 1996). So no vertex is looked at more than three times. Distances are sums
 * rounded on the way, which only grow; so they are those that dcsr_sssp() finds, bit for bit.
 *
 * As distances are taken in ascending order, vertices wait in a radix heap (R. Ahuja, K. Mehlhorn, J. Orlin, R. Tarjan
 * 1990): a bucket for each bit, with those whose distance differs from the nearest there first. The bits of doubles
 * from 0 on have the order of the doubles. A bucket is a list through arrays, so that a vertex can leave it. When
 * those at the same distance have been taken, the next bucket is distributed to lower ones. */
#include "algos/follow/follower.h"
#include <math.h>
#include <string.h>

enum { DISTANCE, ABOVE, NEXT, BEFORE, QUEUE, STATE, LEVEL };
enum { SUSPECT = 1, TRIMMED = 2, NOTED = 4 };
enum { FIRST = 1, BEHIND = 2 };
#define NONE UINT32_MAX

typedef struct paths {
    const dcsr_i_links *l;
    bool weighted;
    double *distance;
    uint32_t *above; /* in the tree; NONE for the source and what is not reached */
    uint32_t *queue; /* whose state is not 0 */
    unsigned char *state;
    /* The heap. */
    uint32_t *next,
        *before;        /* in a bucket; before: 0 of a vertex that does not wait, FIRST, or that + BEHIND */
    uint32_t first[64]; /* of each bucket that is filled */
    uint64_t filled;    /* a bit for each bucket */
    uint64_t nearest;   /* the bits of the distance that the buckets go by */
} paths;

static paths paths_of(const dcsr_follower *f)
{
    return (paths){.l = &f->links,
                   .weighted = f->kind->weighted,
                   .distance = f->array[DISTANCE],
                   .above = f->array[ABOVE],
                   .queue = f->array[QUEUE],
                   .state = f->array[STATE],
                   .next = f->array[NEXT],
                   .before = f->array[BEFORE]};
}

static double weight_to(const paths *p, uint64_t place)
{
    return p->weighted ? p->l->out[place] : 1;
}

static double weight_from(const paths *p, uint64_t place)
{
    return p->weighted ? p->l->in[place] : 1;
}

/* ---- The heap ---- */

static uint64_t bits_of(double distance)
{
    uint64_t bits;
    memcpy(&bits, &distance, sizeof bits);
    return bits;
}

static int bucket_of(const paths *p, uint32_t v)
{
    const uint64_t differ = bits_of(p->distance[v]) ^ p->nearest;
    return differ ? 64 - __builtin_clzll(differ) : 0;
}

static bool is_waiting(const paths *p, uint32_t v)
{
    return p->before[v] != 0;
}

/* Adds v, whose distance is not below that of any vertex that was taken. */
static void add(paths *p, uint32_t v)
{
    const int bucket = bucket_of(p, v);
    const uint32_t next = p->filled >> bucket & 1 ? p->first[bucket] : NONE;
    p->first[bucket] = v;
    p->filled |= (uint64_t)1 << bucket;
    p->next[v] = next;
    p->before[v] = FIRST;
    if (next != NONE) p->before[next] = v + BEHIND;
}

/* Removes v, while its distance is that with which it was added. */
static void withdraw(paths *p, uint32_t v)
{
    const uint32_t before = p->before[v], next = p->next[v];
    if (next != NONE) p->before[next] = before;
    p->before[v] = 0;
    if (before != FIRST) {
        p->next[before - BEHIND] = next;
        return;
    }
    const int bucket = bucket_of(p, v);
    p->first[bucket] = next;
    if (next == NONE) p->filled &= ~((uint64_t)1 << bucket);
}

/* Removes the nearest vertex. */
static uint32_t take_nearest(paths *p)
{
    const int bucket = __builtin_ctzll(p->filled);
    uint32_t v = p->first[bucket];
    if (bucket) {
        double nearest = INFINITY;
        for (uint32_t u = v; u != NONE; u = p->next[u])
            nearest = p->distance[u] < nearest ? p->distance[u] : nearest;
        p->nearest = bits_of(nearest);
        p->filled &= ~((uint64_t)1 << bucket);
        for (uint32_t u = v, next; u != NONE; u = next) {
            next = p->next[u];
            add(p, u);
        }
        v = p->first[0];
    }
    withdraw(p, v);
    return v;
}

/* ---- All vertices ---- */

/* Dijkstra's method from what is in the heap on. */
static void relax(dcsr_follower *f, paths *p)
{
    while (p->filled) {
        const uint32_t u = take_nearest(p);
        f->touched++;
        for (DCSR_I_EACH_LINK(k, p->l, u)) {
            const uint32_t v = p->l->end[k];
            if (!(p->l->way[k] & DCSR_I_LINK_OUT)) continue;
            const double distance = p->distance[u] + weight_to(p, k);
            if (distance >= p->distance[v]) continue;
            if (is_waiting(p, v)) withdraw(p, v);
            p->distance[v] = distance;
            p->above[v] = u;
            add(p, v);
        }
    }
}

static dcsr_status anew(dcsr_follower *f, dcsr_view *view)
{
    paths p = paths_of(f);
    const uint64_t n = f->vertices;
    f->count = f->negative = 0;
    for (uint64_t u = 0; u < n && p.weighted; u++)
        for (DCSR_I_EACH_LINK(k, p.l, u)) f->negative += p.l->way[k] & DCSR_I_LINK_OUT && p.l->out[k] < 0;
    f->mixed = f->negative != 0;
    f->paths = (dcsr_sssp_result){0};
    memset(p.before, 0, n * sizeof *p.before);
    memset(p.state, 0, n);
    if (f->negative) {
        f->anew = DCSR_FOLLOW_NEGATIVE;
        return dcsr_sssp(p.distance, &f->paths, view, f->source, NULL);
    }
    for (uint64_t v = 0; v < n; v++) p.distance[v] = INFINITY, p.above[v] = NONE;
    p.distance[f->source] = 0;
    add(&p, (uint32_t)f->source);
    relax(f, &p);
    return DCSR_OK;
}

static void grown(dcsr_follower *f, uint64_t old)
{
    const paths p = paths_of(f);
    for (uint64_t v = old; v < f->vertices; v++) p.distance[v] = INFINITY, p.above[v] = NONE;
}

/* ---- Changes ---- */

static void note(dcsr_follower *f, const paths *p, uint32_t v, int state)
{
    if (!p->state[v]) p->queue[f->count++] = v;
    p->state[v] |= (unsigned char)state;
}

/* Distances change in settle() alone. */
static void after(dcsr_follower *f, const dcsr_i_change *change)
{
    const paths p = paths_of(f);
    const uint32_t u = change->from, v = change->to;
    if (p.weighted) {
        f->negative += change->kind != DCSR_I_REMOVED && change->weight < 0;
        f->negative -= change->kind != DCSR_I_INSERTED && change->old < 0;
    }
    const bool worse =
        change->kind == DCSR_I_REMOVED || (change->kind == DCSR_I_CHANGED && change->weight > change->old);
    if (worse && p.above[v] == u) note(f, &p, v, SUSPECT);
    if (change->kind != DCSR_I_REMOVED && p.distance[u] + change->weight < p.distance[v])
        note(f, &p, u, NOTED);
}

/* Whether another vertex gives v its distance, which is then above it. */
static bool is_supported(dcsr_follower *f, const paths *p, uint32_t v)
{
    dcsr_i_follow_work(f, p->l->row[v].length);
    for (DCSR_I_EACH_LINK(k, p->l, v)) {
        const uint32_t u = p->l->end[k];
        if (!(p->l->way[k] & DCSR_I_LINK_IN) || p->state[u] & TRIMMED) continue;
        if (p->distance[u] >= p->distance[v] || p->distance[u] + weight_from(p, k) != p->distance[v])
            continue;
        p->above[v] = u;
        return true;
    }
    return false;
}

/* Trims what has lost its distance, by ascending distance; suspects of the queue to begin with. */
static void trim(dcsr_follower *f, paths *p)
{
    for (uint64_t i = 0; i < f->count; i++)
        if (p->state[p->queue[i]] & SUSPECT) add(p, p->queue[i]);
    while (p->filled && !f->anew) {
        const uint32_t v = take_nearest(p);
        f->touched++;
        if (is_supported(f, p, v)) continue;
        note(f, p, v, TRIMMED);
        for (DCSR_I_EACH_LINK(k, p->l, v)) {
            const uint32_t w = p->l->end[k];
            if (p->l->way[k] & DCSR_I_LINK_OUT && p->above[w] == v && w != v && !is_waiting(p, w)) add(p, w);
        }
    }
}

/* The distance that vertices that were not trimmed give to one that was. */
static void attach(dcsr_follower *f, const paths *p, uint32_t v)
{
    p->distance[v] = INFINITY;
    p->above[v] = NONE;
    dcsr_i_follow_work(f, p->l->row[v].length);
    for (DCSR_I_EACH_LINK(k, p->l, v)) {
        const uint32_t u = p->l->end[k];
        if (!(p->l->way[k] & DCSR_I_LINK_IN) || p->state[u] & TRIMMED) continue;
        const double distance = p->distance[u] + weight_from(p, k);
        if (distance >= p->distance[v]) continue;
        p->distance[v] = distance;
        p->above[v] = u;
    }
}

static dcsr_status settle(dcsr_follower *f, dcsr_view *view)
{
    paths p = paths_of(f);
    (void)view;
    if (f->negative || f->mixed) {
        f->anew = DCSR_FOLLOW_NEGATIVE;
        return DCSR_OK;
    }
    trim(f, &p);
    for (uint64_t i = 0; i < f->count && !f->anew; i++)
        if (p.state[p.queue[i]] & TRIMMED) attach(f, &p, p.queue[i]);
    if (f->anew) return DCSR_OK;
    p.nearest = 0;
    for (uint64_t i = 0; i < f->count; i++) {
        const uint32_t v = p.queue[i];
        if (p.distance[v] < INFINITY) add(&p, v);
        p.state[v] = 0;
    }
    f->count = 0;
    relax(f, &p);
    return DCSR_OK;
}

/* ---- Levels and distances ---- */

static const dcsr_i_follow_kind levels = {.name = "bfs",
                                          .call = "dcsr_follow_bfs",
                                          .getter = "dcsr_follower_get_levels",
                                          .sourced = true,
                                          .patience = 8,
                                          .size = {[DISTANCE] = sizeof(double),
                                                   [ABOVE] = 4,
                                                   [NEXT] = 4,
                                                   [BEFORE] = 4,
                                                   [QUEUE] = 4,
                                                   [STATE] = 1,
                                                   [LEVEL] = 4},
                                          .anew = anew,
                                          .grown = grown,
                                          .after = after,
                                          .settle = settle};

static const dcsr_i_follow_kind distances = {
    .name = "sssp",
    .call = "dcsr_follow_sssp",
    .getter = "dcsr_follower_get_distances",
    .sourced = true,
    .weighted = true,
    .patience = 8,
    .size = {[DISTANCE] = sizeof(double), [ABOVE] = 4, [NEXT] = 4, [BEFORE] = 4, [QUEUE] = 4, [STATE] = 1},
    .anew = anew,
    .grown = grown,
    .after = after,
    .settle = settle};

dcsr_status dcsr_follow_bfs(dcsr_follower **follower, dcsr_view *view, uint64_t source)
{
    return dcsr_i_follow(follower, &(dcsr_follower){.kind = &levels, .source = source}, view);
}

dcsr_status dcsr_follow_sssp(dcsr_follower **follower, dcsr_view *view, uint64_t source)
{
    return dcsr_i_follow(follower, &(dcsr_follower){.kind = &distances, .source = source}, view);
}

dcsr_status dcsr_follower_get_levels(dcsr_follower *f, dcsr_followed_levels *found)
{
    dcsr_status status = dcsr_i_follow_check(f, found, &levels);
    if (status) return status;
    const double *distance = f->array[DISTANCE];
    int32_t *level = f->array[LEVEL];
    *found = (dcsr_followed_levels){
        .version = f->version, .vertices = f->vertices, .source = f->source, .level = level};
    for (uint64_t v = 0; v < f->vertices; v++) {
        level[v] = distance[v] < INFINITY ? (int32_t)distance[v] : -1;
        found->reached += level[v] >= 0;
        if (level[v] > (int64_t)found->max_level) found->max_level = (uint64_t)level[v];
    }
    return DCSR_OK;
}

dcsr_status dcsr_follower_get_distances(dcsr_follower *f, dcsr_followed_distances *found)
{
    dcsr_status status = dcsr_i_follow_check(f, found, &distances);
    if (status) return status;
    const double *distance = f->array[DISTANCE];
    *found = (dcsr_followed_distances){.version = f->version,
                                       .vertices = f->vertices,
                                       .source = f->source,
                                       .result = f->paths,
                                       .distance = distance};
    if (f->mixed) return DCSR_OK; /* then dcsr_sssp() has told them */
    for (uint64_t v = 0; v < f->vertices; v++) {
        if (!(distance[v] < INFINITY)) continue;
        found->result.reached++;
        if (distance[v] > found->result.farthest) found->result.farthest = distance[v];
    }
    return DCSR_OK;
}
