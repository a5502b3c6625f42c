/* follow_pagerank.c: PageRank that follows a matrix.
 *
 *      x = p + d sum of x[u] / out-degree[u] over all edges u -> v          rank = x / sum of x
 *
 * where p is how chance is shared out. The factor takes care of vertices without edges: the rank that they lose comes
 * back in proportion to p, so it scales x and no more. So an edge has no influence on what it does not lead to.
 * Residuals are what the right side is more than the left. A vertex with changed edges takes back what it has handed on
 * along the old ones, and hands on along the new ones; then residuals are pushed: added to their x, and handed on, the
 * larger ones first, until their sum is small enough. A push takes a part of 1 - d of its residual away. */
#include "algos/follow/follower.h"
#include <math.h>
#include <string.h>

enum { X, RESIDUAL, DEGREE, QUEUE, STATE, LIST, RANK, CHANCE };
enum { QUEUED = 1, LISTED = 2, TAKEN_BACK = 4 };
enum { FINER = 4 }; /* each threshold is the one before, divided by this */
enum { SPARE = 4 }; /* a result computed anew has an error this many times below the tolerance */
enum { MOST_ITERATIONS = 1000 };

typedef struct walk {
    const dcsr_i_links *l;
    double damping;
    uint64_t n;
    double *x, *residual;
    uint32_t *degree;
    uint32_t *queue, *list; /* list: vertices whose residuals have changed */
    unsigned char *state;
} walk;

static walk walk_of(const dcsr_follower *f)
{
    return (walk){.l = &f->links,
                  .damping = f->damping,
                  .n = f->vertices,
                  .x = f->array[X],
                  .residual = f->array[RESIDUAL],
                  .degree = f->array[DEGREE],
                  .queue = f->array[QUEUE],
                  .list = f->array[LIST],
                  .state = f->array[STATE]};
}

/* What the sum of residuals may be. */
static double enough(const dcsr_follower *f)
{
    return f->tolerance * f->mass;
}

static void list(dcsr_follower *f, const walk *w, uint32_t v)
{
    if (w->state[v] & LISTED) return;
    w->state[v] |= LISTED;
    w->list[f->count++] = v;
}

/* A ring of vertices with a residual above the threshold, each once. */
typedef struct ring {
    uint64_t head, count;
    double threshold;
} ring;

static void enqueue(const walk *w, ring *r, uint32_t v)
{
    if (fabs(w->residual[v]) <= r->threshold || w->state[v] & QUEUED) return;
    const uint64_t at = r->head + r->count++;
    w->state[v] |= QUEUED;
    w->queue[at < w->n ? at : at - w->n] = v;
}

/* Hands `amount` on along the edges of a vertex, evenly. */
static void hand_on(dcsr_follower *f, const walk *w, uint32_t u, double amount, ring *r)
{
    dcsr_i_follow_work(f, w->l->row[u].length);
    if (!w->degree[u]) return;
    const double part = w->damping * amount / w->degree[u];
    for (DCSR_I_EACH_LINK(k, w->l, u)) {
        if (!(w->l->way[k] & DCSR_I_LINK_OUT)) continue;
        const uint32_t v = w->l->end[k];
        const double before = fabs(w->residual[v]);
        w->residual[v] += part;
        f->residuals += fabs(w->residual[v]) - before;
        list(f, w, v);
        if (r) enqueue(w, r, v);
    }
}

static void push(dcsr_follower *f, const walk *w, ring *r)
{
    while (r->count && !f->anew && f->residuals > enough(f)) {
        const uint32_t v = w->queue[r->head];
        const double residual = w->residual[v];
        r->head = r->head + 1 < w->n ? r->head + 1 : 0;
        r->count--;
        w->state[v] &= (unsigned char)~QUEUED;
        w->x[v] += residual;
        w->residual[v] = 0;
        f->mass += residual;
        f->residuals -= fabs(residual);
        f->touched++;
        hand_on(f, w, v, residual, r);
    }
}

/* Pushes until residuals are small enough: with thresholds below the largest of those that have changed, at last of all
 * vertices. */
static void push_all(dcsr_follower *f, const walk *w)
{
    const double least = enough(f) / 2 / (double)w->n;
    ring r = {0};
    for (uint64_t i = 0; i < f->count; i++) r.threshold = fmax(r.threshold, fabs(w->residual[w->list[i]]));
    while (f->residuals > enough(f) && !f->anew && r.threshold > 0) {
        r.threshold = r.threshold / FINER > least ? r.threshold / FINER : least * (r.threshold > least);
        for (uint64_t v = 0; v < w->n && r.threshold <= least; v++) list(f, w, (uint32_t)v);
        for (uint64_t i = 0; i < f->count; i++) enqueue(w, &r, w->list[i]);
        push(f, w, &r);
    }
    for (uint64_t i = 0; i < f->count; i++) w->state[w->list[i]] = 0;
    f->count = 0;
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
    memset(w.state, 0, n);
    for (uint64_t v = 0; v < n; v++) {
        w.degree[v] = 0;
        for (DCSR_I_EACH_LINK(k, w.l, v)) w.degree[v] += w.l->way[k] & DCSR_I_LINK_OUT;
        if (!w.degree[v]) lost += w.x[v];
        all += chance[v];
    }
    for (uint64_t v = 0; v < n; v++) {
        w.x[v] *= all / (1 - f->damping + f->damping * lost);
        w.residual[v] = chance[v] - w.x[v];
    }
    f->count = f->queued = 0;
    for (uint64_t v = 0; v < n; v++) list(f, &w, (uint32_t)v);
    for (uint64_t v = 0; v < n; v++) hand_on(f, &w, (uint32_t)v, w.x[v], NULL);
    sum_up(f);
    /* There is nothing to push, unless a view with duplicates has shown edges more than once. */
    do {
        f->anew = DCSR_FOLLOW_KEPT;
        f->work = 0;
        push_all(f, &w);
        for (uint64_t v = 0; v < n && f->anew; v++) list(f, &w, (uint32_t)v);
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

static void before(dcsr_follower *f, const dcsr_i_change *change)
{
    const walk w = walk_of(f);
    const uint32_t u = change->from;
    if (w.state[u] & TAKEN_BACK) return;
    w.state[u] |= TAKEN_BACK;
    w.queue[f->queued++] = u;
    hand_on(f, &w, u, -w.x[u], NULL);
}

static void after(dcsr_follower *f, const dcsr_i_change *change)
{
    uint32_t *degree = f->array[DEGREE];
    degree[change->from] += change->kind == DCSR_I_INSERTED ? 1 : UINT32_MAX;
}

static dcsr_status settle(dcsr_follower *f, dcsr_view *view)
{
    const walk w = walk_of(f);
    (void)view;
    for (uint64_t i = 0; i < f->queued; i++) {
        const uint32_t u = w.queue[i];
        w.state[u] &= (unsigned char)~TAKEN_BACK;
        hand_on(f, &w, u, w.x[u], NULL);
    }
    f->queued = 0;
    push_all(f, &w);
    return DCSR_OK;
}

static const dcsr_i_follow_kind kind = {.name = "pagerank",
                                        .call = "dcsr_follow_pagerank",
                                        .getter = "dcsr_follower_get_ranks",
                                        .patience = 2,
                                        .size = {[X] = sizeof(double),
                                                 [RESIDUAL] = sizeof(double),
                                                 [DEGREE] = 4,
                                                 [QUEUE] = 4,
                                                 [STATE] = 1,
                                                 [LIST] = 4,
                                                 [RANK] = sizeof(double),
                                                 [CHANCE] = sizeof(double)},
                                        .anew = anew,
                                        .grown = grown,
                                        .before = before,
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
