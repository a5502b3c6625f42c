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
 * Dijkstra's method (G. Ramalingam, T. Reps 1996). Distances are sums rounded on the way, which only grow; so they are
 * those that dcsr_sssp() finds, bit for bit, whatever the order.
 *
 * As that may be any, it is the order of buckets (nearest.h), as of delta-stepping: a vertex is looked at again where
 * it comes nearer within its bucket. What is read soon is known from the bucket, and asked for. */
#include "algos/follow/follower.h"
#include "algos/follow/nearest.h"
#include <math.h>
#include <string.h>

enum { NODE, QUEUE, TOLD };
enum { SUSPECT = 2, TRIMMED = 4, NOTED = 8 }; /* besides DCSR_I_WAITS */
#define NONE UINT32_MAX
/* So many vertices before it is looked at, memory is asked for its links, then for what is at the ends of the first
 * FEW of these. Links are asked for as well when RECENT others have been put into buckets since, as few may be taken at
 * a time. */
enum { AHEAD = 24, AHEAD_ENDS = 8, FEW = 4, RECENT = 8 };
/* The width of buckets is the mean weight of SAMPLE_LINKS links at each of SAMPLE vertices, or less where vertices have
 * more than WIDTH links. By measurement, on grids and R-MAT graphs. */
enum { SAMPLE = 64, SAMPLE_LINKS = 8, WIDTH = 8 };

typedef struct paths {
    const dcsr_i_links *l;
    bool weighted;
    dcsr_i_path_node *node;
    uint32_t *queue; /* whose state is not 0 */
    dcsr_i_nearest *waiting;
} paths;

static paths paths_of(const dcsr_follower *f)
{
    return (paths){.l = &f->links,
                   .weighted = f->kind->weighted,
                   .node = f->array[NODE],
                   .queue = f->array[QUEUE],
                   .waiting = f->nearest};
}

/* Of the edge from a link's vertex, and to it: INFINITY if there is none, so that it brings nothing nearer. */
static inline double weight_to(const paths *p, uint64_t place)
{
    if (p->weighted) return p->l->out[place];
    return p->l->way[place] & DCSR_I_LINK_OUT ? 1 : INFINITY;
}

static inline double weight_from(const paths *p, uint64_t place)
{
    if (p->weighted) return p->l->in[place];
    return p->l->way[place] & DCSR_I_LINK_IN ? 1 : INFINITY;
}

/* ---- All vertices ---- */

/* The width of buckets: of some weights at these vertices, or at all if there is no list, the mean (of the logarithms,
 * so that a few large ones say little), less where vertices have many edges. */
static double width_of(const dcsr_follower *f, const paths *p, const uint32_t *list, uint64_t count)
{
    uint64_t logs = 0;
    double sum = 0;
    if (!p->weighted) return 1;
    for (uint64_t i = 0; i < count; i += 1 + count / SAMPLE) {
        const dcsr_i_link_row *row = &p->l->row[list ? list[i] : i];
        for (uint32_t k = 0; k < row->length && k < SAMPLE_LINKS; k++) {
            const double weight = p->l->out[row->begin + k];
            if (weight > 0 && weight < INFINITY) sum += log2(weight), logs++;
        }
    }
    const double mean = logs ? exp2(sum / (double)logs) : 1;
    return mean * fmin(1, WIDTH * (double)f->vertices / (double)(p->l->count + 1));
}

/* Asks for the links of vertex i of a list, which is soon to be looked at, with the weights that are given. */
DCSR_I_LINKS_EXPECT void expect(const paths *p, const double *weights, const uint32_t *list, uint64_t count,
                                uint64_t i)
{
    if (i >= count) return;
    const uint64_t begin = p->l->row[list[i]].begin;
    __builtin_prefetch(p->l->end + begin);
    __builtin_prefetch(p->l->end + begin + FEW - 1);
    if (weights) {
        __builtin_prefetch(weights + begin);
        __builtin_prefetch(weights + begin + FEW - 1);
    } else {
        __builtin_prefetch(p->l->way + begin);
    }
}

/* The same of the nodes at the ends of its first links. */
DCSR_I_LINKS_EXPECT void expect_ends(const paths *p, const uint32_t *list, uint64_t count, uint64_t i)
{
    if (i >= count) return;
    const uint32_t *end = p->l->end + p->l->row[list[i]].begin;
    const uint32_t links = p->l->row[list[i]].length;
    for (uint32_t k = 0; k < FEW && k < links; k++) __builtin_prefetch(p->node + end[k]);
}

/* Dijkstra's method, bucket by bucket, from what waits on. */
static dcsr_status relax(dcsr_follower *f, const paths *shared)
{
    uint32_t bunch[DCSR_I_BUNCH];
    const paths p = *shared;
    uint32_t recent[RECENT] = {0};
    uint64_t touched = 0, puts = 0;
    for (uint32_t n; (n = dcsr_i_nearest_take(p.waiting, p.node, bunch)) > 0;) {
        for (uint32_t i = 0; i < AHEAD; i++) expect(&p, p.l->out, bunch, n, i);
        for (uint32_t i = 0; i < AHEAD_ENDS; i++) expect_ends(&p, bunch, n, i);
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t u = bunch[i];
            expect(&p, p.l->out, bunch, n, i + AHEAD);
            expect_ends(&p, bunch, n, i + AHEAD_ENDS);
            if (!(p.node[u].state & DCSR_I_WAITS)) continue;
            p.node[u].state &= ~(uint32_t)DCSR_I_WAITS;
            touched++;
            const double here = p.node[u].distance;
            for (DCSR_I_EACH_LINK(k, p.l, u)) {
                const uint32_t v = p.l->end[k];
                const double distance = here + weight_to(&p, k);
                if (distance >= p.node[v].distance) continue;
                p.node[v].above = u;
                dcsr_i_nearest_lower(p.waiting, p.node, v, distance);
                dcsr_i_links_expect_row(p.l, v);
                expect(&p, p.l->out, recent, RECENT, puts % RECENT);
                recent[puts++ % RECENT] = v;
            }
        }
    }
    f->touched += touched;
    return p.waiting->status;
}

static dcsr_status reserve(dcsr_follower *f, uint64_t vertices)
{
    (void)vertices;
    if (f->nearest) return DCSR_OK;
    f->nearest = dcsr_context_allocate(f->context, 1, sizeof *f->nearest);
    if (!f->nearest) return dcsr_thread_status();
    f->nearest->context = f->context;
    return DCSR_OK;
}

static void release(dcsr_follower *f)
{
    if (f->nearest) dcsr_i_nearest_free(f->nearest);
    dcsr_context_free(f->context, f->nearest, 1, sizeof *f->nearest);
}

static dcsr_status anew(dcsr_follower *f, dcsr_view *view)
{
    const paths p = paths_of(f);
    const uint64_t n = f->vertices;
    f->count = f->negative = 0;
    for (uint64_t u = 0; u < n && p.weighted; u++)
        for (DCSR_I_EACH_LINK(k, p.l, u)) f->negative += p.l->out[k] < 0;
    f->mixed = f->negative != 0;
    f->paths = (dcsr_sssp_result){0};
    for (uint64_t v = 0; v < n; v++) p.node[v] = (dcsr_i_path_node){INFINITY, NONE, 0};
    if (f->negative) {
        f->anew = DCSR_FOLLOW_NEGATIVE;
        return dcsr_sssp(f->array[TOLD], &f->paths, view, f->source, NULL);
    }
    p.node[f->source].distance = 0;
    dcsr_i_nearest_begin(p.waiting, width_of(f, &p, NULL, n));
    dcsr_i_nearest_add(p.waiting, p.node, (uint32_t)f->source);
    return relax(f, &p);
}

static void grown(dcsr_follower *f, uint64_t old)
{
    const paths p = paths_of(f);
    for (uint64_t v = old; v < f->vertices; v++) p.node[v] = (dcsr_i_path_node){INFINITY, NONE, 0};
}

/* ---- Changes ---- */

static void note(dcsr_follower *f, const paths *p, uint32_t v, uint32_t state)
{
    if (!p->node[v].state) p->queue[f->count++] = v;
    p->node[v].state |= state;
}

/* Distances change in settle() alone. */
static void after(dcsr_follower *f, const dcsr_i_edge_change *change)
{
    const paths p = paths_of(f);
    const uint32_t u = change->from, v = change->to;
    if (p.weighted) {
        f->negative += change->kind != DCSR_I_EDGE_REMOVED && change->weight < 0;
        f->negative -= change->kind != DCSR_I_EDGE_INSERTED && change->old < 0;
    }
    const bool worse = change->kind == DCSR_I_EDGE_REMOVED ||
                       (change->kind == DCSR_I_EDGE_CHANGED && change->weight > change->old);
    if (worse && p.node[v].above == u) note(f, &p, v, SUSPECT);
    if (change->kind != DCSR_I_EDGE_REMOVED && p.node[u].distance + change->weight < p.node[v].distance)
        note(f, &p, u, NOTED);
}

/* Whether another vertex gives v its distance, which is then above it. */
static bool is_supported(dcsr_follower *f, const paths *p, uint32_t v)
{
    const double distance = p->node[v].distance;
    dcsr_i_follow_work(f, p->l->row[v].length);
    for (DCSR_I_EACH_LINK(k, p->l, v)) {
        const dcsr_i_path_node *u = &p->node[p->l->end[k]];
        if (u->distance >= distance || u->distance + weight_from(p, k) != distance || u->state & TRIMMED)
            continue;
        p->node[v].above = p->l->end[k];
        return true;
    }
    return false;
}

/* Trims what has lost its distance, by ascending distance, nearly: who finds another vertex above it that is trimmed
 * later is suspect again. Suspects of the queue to begin with. */
static dcsr_status trim(dcsr_follower *f, const paths *p)
{
    uint32_t bunch[DCSR_I_BUNCH], recent[RECENT] = {0};
    uint64_t puts = 0;
    for (uint64_t i = 0; i < f->count; i++)
        if (p->node[p->queue[i]].state & SUSPECT) dcsr_i_nearest_add(p->waiting, p->node, p->queue[i]);
    for (uint32_t n; !f->anew && (n = dcsr_i_nearest_take(p->waiting, p->node, bunch)) > 0;) {
        for (uint32_t i = 0; i < AHEAD; i++) expect(p, p->l->in, bunch, n, i);
        for (uint32_t i = 0; i < AHEAD_ENDS; i++) expect_ends(p, bunch, n, i);
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t v = bunch[i];
            expect(p, p->l->in, bunch, n, i + AHEAD);
            expect_ends(p, bunch, n, i + AHEAD_ENDS);
            if (!(p->node[v].state & DCSR_I_WAITS)) continue;
            p->node[v].state &= ~(uint32_t)DCSR_I_WAITS;
            f->touched++;
            if (is_supported(f, p, v)) continue;
            note(f, p, v, TRIMMED);
            for (DCSR_I_EACH_LINK(k, p->l, v)) {
                const uint32_t w = p->l->end[k];
                if (p->node[w].above != v || p->node[w].state & (DCSR_I_WAITS | TRIMMED)) continue;
                dcsr_i_nearest_add(p->waiting, p->node, w);
                dcsr_i_links_expect_row(p->l, w);
                expect(p, p->l->in, recent, RECENT, puts % RECENT);
                recent[puts++ % RECENT] = w;
            }
        }
    }
    return p->waiting->status;
}

/* The distance that vertices that were not trimmed give to one that was. */
static void attach(dcsr_follower *f, const paths *p, uint32_t v)
{
    dcsr_i_path_node *at = &p->node[v];
    at->distance = INFINITY;
    at->above = NONE;
    dcsr_i_follow_work(f, p->l->row[v].length);
    for (DCSR_I_EACH_LINK(k, p->l, v)) {
        const dcsr_i_path_node *u = &p->node[p->l->end[k]];
        const double distance = u->distance + weight_from(p, k);
        if (distance >= at->distance || u->state & TRIMMED) continue;
        at->distance = distance;
        at->above = p->l->end[k];
    }
}

static dcsr_status settle(dcsr_follower *f, dcsr_view *view)
{
    const paths p = paths_of(f);
    (void)view;
    if (f->negative || f->mixed) {
        f->anew = DCSR_FOLLOW_NEGATIVE;
        return DCSR_OK;
    }
    if (!f->count) return DCSR_OK;
    const double width = width_of(f, &p, p.queue, f->count);
    dcsr_i_nearest_begin(p.waiting, width);
    dcsr_status status = trim(f, &p);
    for (uint64_t i = 0; i < f->count && !f->anew && !status; i++) {
        if (i + 2 * AHEAD < f->count) dcsr_i_links_expect_row(p.l, p.queue[i + 2 * AHEAD]);
        expect(&p, p.l->in, p.queue, f->count, i + AHEAD);
        expect_ends(&p, p.queue, f->count, i + AHEAD_ENDS);
        if (p.node[p.queue[i]].state & TRIMMED) attach(f, &p, p.queue[i]);
    }
    if (f->anew || status) return status;
    dcsr_i_nearest_begin(p.waiting, width);
    for (uint64_t i = 0; i < f->count; i++) {
        const uint32_t v = p.queue[i];
        if (i + AHEAD < f->count) __builtin_prefetch(p.node + p.queue[i + AHEAD]);
        const bool starts = p.node[v].state & (TRIMMED | NOTED) && p.node[v].distance < INFINITY;
        p.node[v].state = 0;
        if (starts) dcsr_i_nearest_add(p.waiting, p.node, v);
    }
    f->count = 0;
    return relax(f, &p);
}

/* ---- Levels and distances ---- */

/* What both have. */
#define PATHS(told)                                                                                       \
    .sourced = true, .patience = 4, .reserve = reserve, .release = release, .anew = anew, .grown = grown, \
    .after = after, .settle = settle,                                                                     \
    .size = {[NODE] = sizeof(dcsr_i_path_node), [QUEUE] = sizeof(uint32_t), [TOLD] = sizeof(told)}

static const dcsr_i_follow_kind levels = {
    .name = "bfs", .call = "dcsr_follow_bfs", .getter = "dcsr_follower_get_levels", PATHS(int32_t)};

static const dcsr_i_follow_kind distances = {.name = "sssp",
                                             .call = "dcsr_follow_sssp",
                                             .getter = "dcsr_follower_get_distances",
                                             .weighted = true,
                                             PATHS(double)};

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
    const dcsr_i_path_node *node = f->array[NODE];
    int32_t *level = f->array[TOLD];
    *found = (dcsr_followed_levels){
        .version = f->version, .vertices = f->vertices, .source = f->source, .level = level};
    for (uint64_t v = 0; v < f->vertices; v++) {
        level[v] = node[v].distance < INFINITY ? (int32_t)node[v].distance : -1;
        found->reached += level[v] >= 0;
        if (level[v] > (int64_t)found->max_level) found->max_level = (uint64_t)level[v];
    }
    return DCSR_OK;
}

dcsr_status dcsr_follower_get_distances(dcsr_follower *f, dcsr_followed_distances *found)
{
    dcsr_status status = dcsr_i_follow_check(f, found, &distances);
    if (status) return status;
    const dcsr_i_path_node *node = f->array[NODE];
    double *distance = f->array[TOLD];
    *found = (dcsr_followed_distances){.version = f->version,
                                       .vertices = f->vertices,
                                       .source = f->source,
                                       .result = f->paths,
                                       .distance = distance};
    if (f->mixed) return DCSR_OK; /* then dcsr_sssp() has told them */
    for (uint64_t v = 0; v < f->vertices; v++) {
        distance[v] = node[v].distance;
        if (!(distance[v] < INFINITY)) continue;
        found->result.reached++;
        if (distance[v] > found->result.farthest) found->result.farthest = distance[v];
    }
    return DCSR_OK;
}
