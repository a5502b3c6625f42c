/* follow_pagerank.c: PageRank that follows a matrix.
 *
 *      x = p + d sum of x[u] / out-degree[u] over all edges u -> v          rank = x / sum of x
 *
 * where p is how chance is shared out. The factor takes care of vertices without edges: the rank that they lose comes
 * back in proportion to p, so it scales x and no more. So an edge has no influence on what it does not lead to.
 * Residuals are what the right side is more than the left.
 *
 * An edge that comes or goes makes two of them, whatever the degree of its vertex u: x[u] becomes greater or less, so
 * that what u hands on along its other edges stays as it was (H. Zhang, P. Lofgren, A. Goel 2016). Then residuals are
 * pushed: added to their x, and handed on. A push takes at least a part of 1 - d of its residual away, and costs the
 * degree of its vertex; so those that are largest for their cost go first, by a threshold that falls
 * (N. Ohsaka, T. Maehara, K. Kawarabayashi 2015).
 *
 *      few vertices have some    they are on a list; a threshold that falls, the sum of residuals kept push by push
 *      many have                 sweeps over all in their order, as Gauss and Seidel do; a threshold of the mean,
 *                                the sum found afterwards: a third of the time an edge
 *
 * What rounding may have added is counted; residuals are computed again from the edges before it is much. */
#include "algos/follow/follower.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { X, RESIDUAL, BLOCKS, LISTED, RANK, CHANCE, INBOX, OTHER_INBOX };
enum { BLOCK = 8 };      /* vertices that are listed together: their residuals share a cache line */
enum { LEAST_COST = 4 }; /* of a push, in edges */
enum { FINER = 4 };      /* each threshold is the one before, divided by this */
enum { AHEAD = 16 };     /* how many blocks ahead of their use data is asked for */
/* A list is given up when it has one block in MANY; in two where there are few vertices, so that all are in a cache. */
enum { MANY = 8, SMALL = 1 << 15 };
/* Of a sweep over all: the part of residuals that may be left; what may be left of those that are allowed; and the
 * quanta that each edge gets in a push, at least. */
static const double LEFT = 0.6, NEARLY = 0.7;
enum { QUANTA = 8 };
/* So many sweeps that leave more than SLOW, and OVER times the residual is pushed. */
enum { SEVERAL = 2 };
static const double SLOW = 0.5, OVER = 1.2;
enum { SPARE = 4 }; /* a result computed anew has an error this many times below the tolerance */
enum { MOST_ITERATIONS = 1000 };

typedef struct walk {
    const dcsr_i_links *l;
    double damping;
    uint64_t n, all; /* vertices, blocks */
    double *x, *residual;
    uint32_t *blocks; /* those with residuals that have changed, f->count of them */
    unsigned char *listed;
} walk;

static walk walk_of(const dcsr_follower *f)
{
    return (walk){.l = &f->links,
                  .damping = f->damping,
                  .n = f->vertices,
                  .all = (f->vertices + BLOCK - 1) / BLOCK,
                  .x = f->array[X],
                  .residual = f->array[RESIDUAL],
                  .blocks = f->array[BLOCKS],
                  .listed = f->array[LISTED]};
}

/* What the sum of residuals may be. Of a tolerance that rounding does not let be reached, half is good enough. */
static double enough(const dcsr_follower *f)
{
    const double most = f->tolerance * f->mass;
    return fmax(most - f->rounded, most / 2);
}

/* Sums without what rounding has added to them. */
static void sum_up(dcsr_follower *f)
{
    const double *x = f->array[X], *residual = f->array[RESIDUAL];
    double mass = 0, residuals = 0;
#pragma omp simd reduction(+ : mass, residuals)
    for (uint64_t v = 0; v < f->vertices; v++) {
        mass += x[v];
        residuals += fabs(residual[v]);
    }
    f->mass = mass;
    f->residuals = residuals;
}

/* ---- Pushing ---- */

static void list_all(dcsr_follower *f, const walk *w)
{
    for (uint64_t b = 0; b < w->all; b++) w->blocks[b] = (uint32_t)b;
    memset(w->listed, 1, w->all);
    f->count = w->all;
    sum_up(f);
}

static void add(dcsr_follower *f, const walk *w, uint32_t v, double amount)
{
    const double before = w->residual[v], after = before + amount;
    w->residual[v] = after;
    f->residuals += fabs(after) - fabs(before);
    f->rounded += DBL_EPSILON * fabs(after);
    if (!w->listed[v / BLOCK]) w->blocks[f->count++] = v / BLOCK;
    w->listed[v / BLOCK] = 1;
}

/* Hands `amount` on along the edges of a vertex, evenly: add() for each. */
static void hand_on(dcsr_follower *f, const walk *w, uint32_t u, double amount)
{
    const uint64_t degree = w->l->row[u].length;
    const uint32_t *end = w->l->end + w->l->row[u].begin;
    const double part = w->damping * amount / (double)(degree ? degree : 1);
    double *residual = w->residual, more = 0;
    unsigned char *listed = w->listed;
    uint64_t count = f->count;
    for (uint64_t k = 0; k < degree; k++) {
        const uint32_t v = end[k], block = v / BLOCK;
        const double before = residual[v], after = before + part;
        residual[v] = after;
        more += fabs(after) - fabs(before);
        if (listed[block]) continue;
        listed[block] = 1;
        w->blocks[count++] = block;
    }
    f->count = count;
    f->residuals += more;
    f->rounded += DBL_EPSILON * (double)degree * f->residuals; /* each is less than their sum */
}

/* Pushes its residual. */
static void push(dcsr_follower *f, const walk *w, uint32_t v)
{
    const double residual = w->residual[v];
    w->x[v] += residual;
    w->residual[v] = 0;
    f->mass += residual;
    f->residuals -= fabs(residual);
    f->rounded += DBL_EPSILON * fabs(w->x[v]);
    f->touched++;
    hand_on(f, w, v, residual);
}

static uint64_t end_of(const walk *w, uint64_t block)
{
    return (block + 1) * BLOCK < w->n ? (block + 1) * BLOCK : w->n;
}

/* Block i of the list is soon to be looked at: first its own lines are asked for, later the rows that are pushed. */
DCSR_I_LINKS_EXPECT void expect(const dcsr_follower *f, const walk *w, uint64_t i, double threshold)
{
    enum { IN_LINE = 64 / sizeof(dcsr_i_link_row) };
    if (i + AHEAD < f->count) {
        const uint64_t first = w->blocks[i + AHEAD] * (uint64_t)BLOCK;
        __builtin_prefetch(w->residual + first, 1);
        __builtin_prefetch(w->x + first, 1);
        for (int v = 0; v < BLOCK; v += IN_LINE) __builtin_prefetch(w->l->row + first + v);
    }
    if (i + AHEAD / 2 < f->count) {
        const uint32_t block = w->blocks[i + AHEAD / 2];
        for (uint64_t v = block * (uint64_t)BLOCK, end = end_of(w, block); v < end; v++)
            if (fabs(w->residual[v]) > threshold * LEAST_COST)
                __builtin_prefetch(w->l->end + w->l->row[v].begin);
    }
}

/* Whether the list has become so long that going over all blocks costs less: sooner if residuals are not in a cache. */
static inline bool is_long(const dcsr_follower *f, const walk *w)
{
    return f->count > w->all / (w->n < SMALL ? 2 : MANY);
}

/* Pushes residuals that are more than `threshold` for each edge along which they go. Blocks that are listed meanwhile
 * have their turn as well. Whether there was something to push. */
static bool sweep(dcsr_follower *f, const walk *w, double threshold)
{
    const uint64_t touched = f->touched;
    for (uint64_t i = 0; i < f->count && !is_long(f, w) && f->residuals > enough(f) && !f->anew; i++) {
        uint64_t edges = 0;
        expect(f, w, i, threshold);
        for (uint64_t v = w->blocks[i] * (uint64_t)BLOCK, end = end_of(w, w->blocks[i]); v < end; v++) {
            const double residual = fabs(w->residual[v]);
            if (residual <= threshold * LEAST_COST) continue;
            const uint64_t degree = w->l->row[v].length;
            if (residual <= threshold * (double)(LEAST_COST + degree)) continue;
            push(f, w, (uint32_t)v);
            edges += degree;
        }
        dcsr_i_follow_work(f, edges);
    }
    return f->touched > touched;
}

/* The largest residual that is listed. */
static double largest(const dcsr_follower *f, const walk *w)
{
    double most = 0;
    for (uint64_t i = 0; i < f->count; i++)
        for (uint64_t v = w->blocks[i] * (uint64_t)BLOCK, end = end_of(w, w->blocks[i]); v < end; v++)
            most = fmax(most, fabs(w->residual[v]));
    return most;
}

/* ---- Pushing by sweeps over all vertices ---- */

/* Half of the blocks: where it begins, goes on, and ends; and what a sweep has done there. */
typedef struct half {
    int32_t *inbox; /* what its pushes have handed to each vertex, in quanta */
    uint64_t first, at, end, pushes, edges;
    uint64_t quanta; /* handed on, in all: no inbox has more, so none overflows */
    double pushed, mass, sum,
        residuals; /* of |what was pushed|, the same signed; of residuals then, of |residuals| */
} half;

/* A sweep: what is pushed is more than `threshold` for each edge. */
typedef struct pass {
    double threshold, times, quantum;
    half of[2];
} pass;

/* Whether there may be something to push in a whole block: one comparison of all its vertices. */
static inline bool has_more(const double *residual, const int32_t *inbox, double quantum, double least)
{
    int above = 0;
    for (int v = 0; v < BLOCK; v++) above |= fabs(residual[v] + quantum * inbox[v]) > least;
    return above != 0;
}

/* How many quanta each edge of a row gets, no more than `room` in all. */
static inline int32_t quanta_of(double part, uint64_t room, uint32_t edges)
{
    const double most = (double)(room / edges);
    return (int32_t)(part > most ? most : part < -most ? -most : part + copysign(0.5, part));
}

/* Pushes from the vertices of a half in their order, without list or sum; its own inbox is read on the way. Goes on
 * where it stopped, if that was because inboxes could have overflowed. `half` is the caller's own memory. */
static void sweep_half(const walk *w, const pass *s, half *shared)
{
    const double least = s->threshold * LEAST_COST, quantum = s->quantum;
    const dcsr_i_link_row *rows = w->l->row;
    half h = *shared; /* in memory that no other thread writes to */
    int32_t *inbox = h.inbox;
    bool room = true;
    for (; h.at < h.end && room; h.at += room) {
        const uint64_t first = h.at * BLOCK, end = end_of(w, h.at);
        if (end - first == BLOCK && !has_more(w->residual + first, inbox + first, quantum, least)) continue;
        for (uint64_t v = first; v < end && room; v++) {
            const double rest = w->residual[v] + quantum * inbox[v];
            const uint32_t edges = rows[v].length;
            double amount = s->times * rest;
            if (fabs(rest) <= least || fabs(rest) <= s->threshold * (LEAST_COST + (double)edges)) continue;
            room = h.quanta + edges <= INT32_MAX;
            if (!room) continue;
            inbox[v] = 0;
            if (edges) {
                const double unit = quantum * (double)edges / w->damping;
                const int32_t quanta = quanta_of(amount / unit, INT32_MAX - h.quanta, edges);
                const uint32_t *to = w->l->end + rows[v].begin;
                for (uint32_t k = 0; k < edges; k++) inbox[to[k]] += quanta;
                amount = quanta * unit;
                h.quanta += (uint64_t)abs(quanta) * edges;
                h.edges += edges;
            }
            w->residual[v] = rest - amount;
            w->x[v] += amount;
            h.mass += amount;
            h.pushed += fabs(amount);
            h.pushes++;
        }
    }
    if (room) h.at = h.first;
    *shared = h;
}

/* Empties both inboxes of a half, and adds its residuals up. */
static void deliver(const walk *w, const pass *s, half *h)
{
    int32_t *one = s->of[0].inbox, *other = s->of[1].inbox;
    double sum = 0, residuals = 0;
    const uint64_t end = h->end * BLOCK < w->n ? h->end * BLOCK : w->n;
#pragma omp simd reduction(+ : sum, residuals)
    for (uint64_t v = h->first * BLOCK; v < end; v++) {
        const double residual = w->residual[v] + s->quantum * ((double)one[v] + (double)other[v]);
        w->residual[v] = residual;
        one[v] = other[v] = 0;
        sum += residual;
        residuals += fabs(residual);
    }
    h->sum = sum;
    h->residuals = residuals;
}

/* One sweep, of two halves side by side whatever the number of threads, so that ranks do not depend on it. Edges hand
 * on whole quanta, what is less stays where it was: so inboxes are small enough for the cache, and sums in them exact.
 * The sum of residuals as they are signed. */
static double sweep_all(dcsr_follower *f, const walk *w, pass *s)
{
    const int threads = dcsr_context_threads(f->context, w->l->count + w->n) > 1 ? 2 : 1;
    s->quantum = w->damping * s->threshold / QUANTA;
    for (int h = 0; h < 2; h++)
        s->of[h] =
            (half){.inbox = s->of[h].inbox, .first = s->of[h].first, .at = s->of[h].at, .end = s->of[h].end};
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
#pragma omp for schedule(static, 1)
        for (int h = 0; h < 2; h++) sweep_half(w, s, &s->of[h]);
#pragma omp for schedule(static, 1)
        for (int h = 0; h < 2; h++) deliver(w, s, &s->of[h]);
    }
    const half *a = &s->of[0], *b = &s->of[1];
    f->mass += a->mass + b->mass;
    f->touched += a->pushes + b->pushes;
    /* What is rounded for each vertex: its x, what was pushed from it and, twice, its residual, which was never more
     * than all were before and what was pushed. */
    f->rounded += DBL_EPSILON * (f->mass + 4 * (f->residuals + a->pushed + b->pushed));
    f->residuals = a->residuals + b->residuals;
    dcsr_i_follow_work(f, a->edges + b->edges + w->n / BLOCK);
    return a->sum + b->sum;
}

/* Scales all x so that residuals, whose sum is given, have the sum 0. For ranks that is nothing, but pushes hand the
 * sum on as it is, less the damping, while what has the sum 0 mixes and fades. */
static void balance(dcsr_follower *f, const walk *w, double sum)
{
    const double *chance = f->array[CHANCE];
    double chances = 0;
#pragma omp simd reduction(+ : chances)
    for (uint64_t v = 0; v < w->n; v++) chances += chance[v];
    const double more = sum / (chances - sum);
    for (uint64_t v = 0; v < w->n; v++) {
        w->x[v] += more * w->x[v];
        w->residual[v] += more * (w->residual[v] - chance[v]);
    }
    f->rounded += 2 * DBL_EPSILON * f->mass;
    sum_up(f);
}

/* Sweeps over all vertices until residuals are small enough. In each, what is not pushed is a part of their sum, and no
 * more is pushed than has to be. Where several have not made them much less, as in a grid, in which residuals come back
 * to where they were, more than the residual is pushed (successive over-relaxation, D. Young 1954), unless that leaves
 * more. */
static void push_everywhere(dcsr_follower *f, const walk *w)
{
    const double costs = (double)(w->l->count + LEAST_COST * w->n);
    pass s = {.of = {{.inbox = f->array[INBOX], .end = w->all / 2},
                     {.inbox = f->array[OTHER_INBOX], .first = w->all / 2, .at = w->all / 2, .end = w->all}}};
    int slow = 0;     /* sweeps one after the other */
    double plain = 1; /* what the last sweep left that pushed residuals as they are */
    bool over = true; /* may be tried */
    while (f->residuals > enough(f) && !f->anew) {
        const double before = f->residuals;
        s.times = over && slow >= SEVERAL ? OVER : 1;
        s.threshold = fmax(LEFT * before, NEARLY * enough(f)) / costs;
        const double sum = sweep_all(f, w, &s);
        const double left = f->residuals / before;
        if (s.times > 1)
            over = left < plain;
        else
            slow = left > SLOW ? slow + 1 : 0, plain = left;

        if (f->residuals > enough(f) && fabs(sum) > f->residuals / 2) balance(f, w, sum);
    }
}

/* Pushes until residuals are small enough: those of few vertices from a list, by a threshold that falls, and when they
 * have spread over many, in sweeps over all. */
static void push_all(dcsr_follower *f, const walk *w)
{
    const double last = enough(f) / (double)(w->l->count + LEAST_COST * w->n);
    double threshold = fmax(largest(f, w) / LEAST_COST / FINER, last);
    while (f->residuals > enough(f) && !f->anew && !is_long(f, w)) {
        const bool pushed = sweep(f, w, threshold);
        if (!pushed && threshold <= last) break;
        threshold = fmax(threshold / FINER, last);
    }
    for (uint64_t i = 0; i < f->count; i++) w->listed[w->blocks[i]] = 0;
    f->count = 0;
    push_everywhere(f, w);
}

/* ---- All vertices ---- */

/* What a walk gets at each vertex where it starts anew. */
static double *chances_of(const dcsr_follower *f)
{
    double *chance = f->array[CHANCE];
    for (uint64_t v = 0; v < f->vertices; v++)
        if (!f->is_personal)
            chance[v] = 1;
        else if (f->personal)
            chance[v] = f->personal[v];
    return chance;
}

/* Residuals from the edges. All are listed then. */
static void compute_residuals(dcsr_follower *f, const walk *w)
{
    const double *chance = f->array[CHANCE];
    for (uint64_t v = 0; v < w->n; v++) w->residual[v] = chance[v] - w->x[v];
    list_all(f, w);
    f->rounded = 0;
    for (uint64_t v = 0; v < w->n; v++) hand_on(f, w, (uint32_t)v, w->x[v]);
    sum_up(f);
}

static dcsr_status anew(dcsr_follower *f, dcsr_view *view)
{
    const uint64_t n = f->vertices;
    double *chance = chances_of(f), lost = 0, all = 0;
    const dcsr_pagerank_options options = {.damping = f->damping,
                                           .tolerance = f->tolerance / SPARE,
                                           .max_iterations = MOST_ITERATIONS,
                                           .personal = f->is_personal ? chance : NULL};
    const dcsr_follow_anew why = f->anew;
    const walk w = walk_of(f);
    dcsr_status status = dcsr_pagerank(w.x, NULL, view, &options);
    if (status) return status;
    for (uint64_t v = 0; v < n; v++) {
        if (!w.l->row[v].length) lost += w.x[v];
        all += chance[v];
    }
    for (uint64_t v = 0; v < n; v++) w.x[v] *= all / (1 - f->damping + f->damping * lost);
    compute_residuals(f, &w);
    /* There is nothing to push, unless a view with duplicates has shown edges more than once. */
    do {
        f->anew = DCSR_FOLLOW_KEPT;
        f->work = 0;
        list_all(f, &w);
        push_all(f, &w);
    } while (f->anew);
    f->anew = why;
    return DCSR_OK;
}

static void grown(dcsr_follower *f, uint64_t old)
{
    double *x = f->array[X], *chance = f->array[CHANCE];
    if (f->is_personal) return;
    for (uint64_t v = old; v < f->vertices; v++) x[v] = chance[v] = 1;
    f->mass += (double)(f->vertices - old);
}

/* ---- Changes ---- */

static void after(dcsr_follower *f, const dcsr_i_edge_change *change)
{
    const walk w = walk_of(f);
    const uint32_t u = change->from;
    const double degree = w.l->row[u].length, one = change->kind == DCSR_I_EDGE_INSERTED ? 1 : -1;
    if (degree + (degree - one) == 1) { /* the first edge, or the last */
        add(f, &w, change->to, one * w.damping * w.x[u]);
        return;
    }
    const double each = w.x[u] / (degree - one);
    w.x[u] += one * each;
    f->mass += one * each;
    f->rounded += DBL_EPSILON * fabs(w.x[u]);
    add(f, &w, u, -one * each);
    add(f, &w, change->to, one * w.damping * each);
}

static dcsr_status settle(dcsr_follower *f, dcsr_view *view)
{
    const walk w = walk_of(f);
    (void)view;
    if (f->rounded > f->tolerance * f->mass / 2) compute_residuals(f, &w);
    push_all(f, &w);
    return DCSR_OK;
}

static const dcsr_i_follow_kind kind = {.name = "pagerank",
                                        .call = "dcsr_follow_pagerank",
                                        .getter = "dcsr_follower_get_ranks",
                                        .only_out = true,
                                        .patience = 256,
                                        .size = {[X] = sizeof(double),
                                                 [RESIDUAL] = sizeof(double),
                                                 [BLOCKS] = 4,
                                                 [LISTED] = 1,
                                                 [RANK] = sizeof(double),
                                                 [CHANCE] = sizeof(double),
                                                 [INBOX] = sizeof(int32_t),
                                                 [OTHER_INBOX] = sizeof(int32_t)},
                                        .anew = anew,
                                        .grown = grown,
                                        .after = after,
                                        .settle = settle};

dcsr_status dcsr_follow_pagerank(dcsr_follower **follower, dcsr_view *view,
                                 const dcsr_pagerank_options *options)
{
    const dcsr_pagerank_options o = options ? *options : (dcsr_pagerank_options){0};
    if (follower) *follower = NULL;
    if (!(o.damping >= 0 && o.damping < 1) || !(o.tolerance >= 0))
        return dcsr_thread_fail(
            DCSR_ERROR_INVALID_ARGUMENT,
            "dcsr_follow_pagerank: damping is %g and tolerance %g; give a damping from 0 to "
            "below 1, and a tolerance from 0 on",
            o.damping, o.tolerance);
    return dcsr_i_follow(follower,
                         &(dcsr_follower){.kind = &kind,
                                          .damping = o.damping > 0 ? o.damping : 0.85,
                                          .tolerance = o.tolerance > 0 ? o.tolerance : 1e-6,
                                          .personal = o.personal,
                                          .is_personal = o.personal != NULL},
                         view);
}

dcsr_status dcsr_follower_get_ranks(dcsr_follower *f, dcsr_followed_ranks *found)
{
    dcsr_status status = dcsr_i_follow_check(f, found, &kind);
    if (status) return status;
    const double *x = f->array[X];
    double *rank = f->array[RANK];
    sum_up(f);
    for (uint64_t v = 0; v < f->vertices; v++) rank[v] = x[v] / f->mass;
    *found = (dcsr_followed_ranks){.version = f->version,
                                   .vertices = f->vertices,
                                   .residual = f->vertices ? f->residuals / f->mass : 0,
                                   .rank = rank};
    return DCSR_OK;
}
