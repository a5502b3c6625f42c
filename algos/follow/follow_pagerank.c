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
 * degree of its vertex; so those that are largest for their cost go first, in sweeps with a threshold that falls, over
 * the vertices whose residuals have changed (N. Ohsaka, T. Maehara, K. Kawarabayashi 2015). Where the last threshold
 * takes several sweeps, as in a grid, in which residuals come back to where they were, more than the residual is pushed
 * (successive over-relaxation, D. Young 1954), unless that makes their sum greater. What rounding may have added is
 * counted; residuals are computed again from the edges before it is much. */
#include "algos/follow/follower.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum { X, RESIDUAL, BLOCKS, LISTED, RANK, CHANCE };
enum { BLOCK = 8 };             /* vertices that are listed together: their residuals share a cache line */
enum { LEAST_COST = 4 };        /* of a push, in edges */
enum { FINER = 4 };             /* each threshold is the one before, divided by this */
enum { MANY = 32 };             /* the list is put in order when it has one block in this many */
enum { AHEAD = 16 };            /* how many blocks ahead of their use data is asked for */
static const double OVER = 1.3; /* what is pushed of a residual where it is more than the residual */
enum { SPARE = 4 };             /* a result computed anew has an error this many times below the tolerance */
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
    f->mass = f->residuals = 0;
    for (uint64_t v = 0; v < f->vertices; v++) {
        f->mass += x[v];
        f->residuals += fabs(residual[v]);
    }
}

/* ---- Pushing ---- */

static void list_all(dcsr_follower *f, const walk *w)
{
    for (uint64_t b = 0; b < w->all; b++) w->blocks[b] = (uint32_t)b;
    memset(w->listed, 1, w->all);
    f->count = w->all;
    sum_up(f);
}

/* Blocks that lie side by side are read faster in their order. */
static void put_in_order(dcsr_follower *f, const walk *w)
{
    uint64_t count = 0;
    if (f->count < w->all / MANY) return;
    for (uint64_t b = 0; b < w->all; b++) {
        w->blocks[count] = (uint32_t)b;
        count += w->listed[b];
    }
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

/* Pushes its residual, scaled by `times`. */
static void push(dcsr_follower *f, const walk *w, uint32_t v, double times)
{
    const double residual = w->residual[v], pushed = times * residual, rest = residual - pushed;
    w->x[v] += pushed;
    w->residual[v] = rest;
    f->mass += pushed;
    f->residuals += fabs(rest) - fabs(residual);
    f->rounded += DBL_EPSILON * (fabs(w->x[v]) + fabs(rest));
    f->touched++;
    hand_on(f, w, v, pushed);
}

static uint64_t end_of(const walk *w, uint64_t block)
{
    return (block + 1) * BLOCK < w->n ? (block + 1) * BLOCK : w->n;
}

/* Block i of the list is soon to be looked at: first its own lines are asked for, later the rows that are pushed. */
static inline void expect(const dcsr_follower *f, const walk *w, uint64_t i, double threshold)
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

/* Pushes residuals, scaled by `times`, that are more than `threshold` for each edge along which they go. Blocks that
 * are listed meanwhile have their turn as well. Whether there was something to push. */
static bool sweep(dcsr_follower *f, const walk *w, double threshold, double times)
{
    const uint64_t touched = f->touched;
    for (uint64_t i = 0; i < f->count && f->residuals > enough(f) && !f->anew; i++) {
        uint64_t edges = 0;
        expect(f, w, i, threshold);
        for (uint64_t v = w->blocks[i] * (uint64_t)BLOCK, end = end_of(w, w->blocks[i]); v < end; v++) {
            const double residual = fabs(w->residual[v]);
            if (residual <= threshold * LEAST_COST) continue;
            const uint64_t degree = w->l->row[v].length;
            if (residual <= threshold * (double)(LEAST_COST + degree)) continue;
            push(f, w, (uint32_t)v, times);
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

/* Pushes until residuals are small enough. Where all vertices are below the last threshold, so is their sum; but the
 * sum of ranks, which it depends on, may have become less. */
static void push_all(dcsr_follower *f, const walk *w)
{
    double last = enough(f) / (double)(w->l->count + LEAST_COST * w->n);
    double threshold = fmax(largest(f, w) / LEAST_COST / FINER, last), times = 1;
    bool over = true;
    while (f->residuals > enough(f) && !f->anew) {
        const double before = f->residuals;
        put_in_order(f, w);
        const bool pushed = sweep(f, w, threshold, times);
        if (!pushed && threshold <= last) {
            if (f->count == w->all) last /= 2;
            list_all(f, w);
        }
        if (times > 1 && f->residuals >= before) over = false;
        times = over && pushed && threshold <= last ? OVER : 1;
        threshold = fmax(threshold / FINER, last);
    }
    for (uint64_t i = 0; i < f->count; i++) w->listed[w->blocks[i]] = 0;
    f->count = 0;
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
    list_all(f, w);
    for (uint64_t v = 0; v < w->n; v++) w->residual[v] = chance[v] - w->x[v];
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

static void after(dcsr_follower *f, const dcsr_i_change *change)
{
    const walk w = walk_of(f);
    const uint32_t u = change->from;
    const double degree = w.l->row[u].length, one = change->kind == DCSR_I_INSERTED ? 1 : -1;
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
                                        .patience = 128,
                                        .size = {[X] = sizeof(double),
                                                 [RESIDUAL] = sizeof(double),
                                                 [BLOCKS] = 4,
                                                 [LISTED] = 1,
                                                 [RANK] = sizeof(double),
                                                 [CHANCE] = sizeof(double)},
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
