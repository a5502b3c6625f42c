/* follow_kcore.c: core numbers that follow a matrix, link by link.
 *
 * Vertices are kept in an order in which they may be peeled off: by core number, and among those of one in a list with
 * labels that ascend. Of its neighbours no more stand behind a vertex than its core number says. A link adds one to
 * what is behind the first of its ends; where that is still no more than the core number K, nothing else changes. Else
 * vertices with K are gone through in their order from there on (Y. Zhang, J. Yu, Y. Zhang, L. Qin 2017, as simplified
 * by B. Guo, E. Sekerinski 2022):
 *
 *      risers     enough of their neighbours are behind them, or risers before them: more than K. Those with K behind
 *                 them are looked at in turn.
 *      others     stay. The risers before them lose one neighbour; those that have too few left rise no more, and
 *                 move behind. What is left in the end goes to the front of K + 1.
 *
 * Where a link goes, vertices of which fewer than K neighbours have K or more fall to K - 1, one after the other, and
 * go to the end of that list in this order (A. Sariyuce et al. 2013). */
#include "algos/follow/follower.h"
#include <string.h>

enum { CORE, DEGREE, BEHIND, RISERS, LABEL, NEXT, PREVIOUS, FIRST, LAST, HEAP, LISTED, QUEUE, STATE };
enum { RISER = 1, HEAPED = 2, LEAVES = 4 };
#define NONE UINT32_MAX
/* Labels begin in the middle; these many list ends fit on each side before all are given anew. */
#ifdef DCSR_SIMT /* small, to be tried by small tests */
static const uint64_t STEP = 4, MIDDLE = 1 << 7, LIMIT = 1 << 8;
#else
static const uint64_t STEP = UINT64_C(1) << 30, MIDDLE = UINT64_C(1) << 62, LIMIT = UINT64_C(1) << 63;
#endif

typedef struct cores {
    const dcsr_i_links *l;
    uint32_t *core;
    uint32_t *degree;                         /* neighbours with the core number or more */
    uint32_t *behind;                         /* neighbours behind it in the order */
    uint32_t *risers;                         /* neighbours before it that are risers; else 0 */
    uint64_t *label;                          /* in its list */
    uint32_t *next, *previous, *first, *last; /* lists; the ends are of each core number */
    uint32_t *heap, *listed, *queue;          /* vertices to look at; that were risers; that leave or fall */
    unsigned char *state;
    uint64_t heaped, count, queued;
} cores;

static cores cores_of(const dcsr_follower *f)
{
    return (cores){.l = &f->links,
                   .core = f->array[CORE],
                   .degree = f->array[DEGREE],
                   .behind = f->array[BEHIND],
                   .risers = f->array[RISERS],
                   .label = f->array[LABEL],
                   .next = f->array[NEXT],
                   .previous = f->array[PREVIOUS],
                   .first = f->array[FIRST],
                   .last = f->array[LAST],
                   .heap = f->array[HEAP],
                   .listed = f->array[LISTED],
                   .queue = f->array[QUEUE],
                   .state = f->array[STATE]};
}

/* ---- The order ---- */

static bool is_before(const cores *c, uint32_t u, uint32_t v)
{
    return c->core[u] < c->core[v] || (c->core[u] == c->core[v] && c->label[u] < c->label[v]);
}

static void take_out(const cores *c, uint32_t v, uint32_t K)
{
    const uint32_t previous = c->previous[v], next = c->next[v];
    *(previous == NONE ? &c->first[K] : &c->next[previous]) = next;
    *(next == NONE ? &c->last[K] : &c->previous[next]) = previous;
}

static void number_anew(const cores *c, uint32_t K)
{
    uint64_t label = MIDDLE;
    for (uint32_t v = c->first[K]; v != NONE; v = c->next[v]) c->label[v] = label += STEP;
}

/* Makes room for a label behind u: spreads those that follow, as many as are dense (P. Dietz, D. Sleator 1987). */
static void spread(const cores *c, uint32_t u)
{
    uint64_t count = 1, i = 1;
    uint32_t end = c->next[u];
    while (end != NONE && c->label[end] - c->label[u] <= 2 * count * count) end = c->next[end], count++;
    const uint64_t gap = end == NONE ? STEP : (c->label[end] - c->label[u]) / count;
    for (uint32_t v = c->next[u]; v != end; v = c->next[v]) c->label[v] = c->label[u] + gap * i++;
}

/* Puts v behind `previous` in the list of K; to the front if that is NONE. */
static void put_behind(const cores *c, uint32_t v, uint32_t previous, uint32_t K)
{
    const uint32_t next = previous == NONE ? c->first[K] : c->next[previous];
    c->previous[v] = previous;
    c->next[v] = next;
    *(previous == NONE ? &c->first[K] : &c->next[previous]) = v;
    *(next == NONE ? &c->last[K] : &c->previous[next]) = v;
    if (previous == NONE)
        c->label[v] = next == NONE ? MIDDLE : c->label[next] - STEP;
    else if (next == NONE)
        c->label[v] = c->label[previous] + STEP;
    else {
        if (c->label[next] - c->label[previous] < 2) {
            c->label[v] = c->label[previous];
            spread(c, previous);
        }
        c->label[v] = c->label[previous] + (c->label[next] - c->label[previous]) / 2;
    }
    if (c->label[v] < STEP || c->label[v] > LIMIT) number_anew(c, K);
}

/* ---- All vertices ---- */

/* Counts the neighbours with v's core number or more, and those behind v. */
static void count(dcsr_follower *f, const cores *c, uint32_t v)
{
    uint32_t degree = 0, behind = 0;
    for (DCSR_I_EACH_LINK(k, c->l, v)) {
        const uint32_t u = c->l->end[k];
        degree += u != v && c->core[u] >= c->core[v];
        behind += u != v && is_before(c, v, u);
    }
    c->degree[v] = degree;
    c->behind[v] = behind;
    dcsr_i_follow_work(f, c->l->row[v].length);
}

/* Peels vertices off by ascending degree, in buckets (V. Batagelj, M. Zaversnik 2003): `queue` has them in order, and
 * `heap` where each stands there; `first` where the bucket of each degree begins. */
static void peel(const cores *c, uint64_t n)
{
    uint32_t *degree = c->core, *order = c->queue, *at = c->heap, *begin = c->first;
    memset(begin, 0, n * sizeof *begin);
    for (uint64_t v = 0; v < n; v++) {
        degree[v] = c->l->row[v].length - (dcsr_i_links_find(c->l, (uint32_t)v, (uint32_t)v) != UINT64_MAX);
        begin[degree[v]]++;
    }
    for (uint64_t d = 0, all = 0; d < n; d++) {
        const uint32_t size = begin[d];
        begin[d] = (uint32_t)all;
        all += size;
    }
    for (uint64_t v = 0; v < n; v++) order[at[v] = begin[degree[v]]++] = (uint32_t)v;
    for (uint64_t d = n - 1; d; d--) begin[d] = begin[d - 1];
    begin[0] = 0;
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t v = order[i];
        for (DCSR_I_EACH_LINK(k, c->l, v)) {
            const uint32_t u = c->l->end[k];
            if (degree[u] <= degree[v]) continue;
            /* To the beginning of its bucket, which then begins behind it. */
            const uint32_t to = begin[degree[u]]++, other = order[to];
            order[at[other] = at[u]] = other;
            order[at[u] = to] = u;
            degree[u]--;
        }
    }
}

static dcsr_status anew(dcsr_follower *f, dcsr_view *view)
{
    const cores c = cores_of(f);
    const dcsr_follow_anew why = f->anew;
    const uint64_t n = f->vertices;
    (void)view;
    memset(c.state, 0, n);
    memset(c.risers, 0, n * sizeof *c.risers);
    if (n) peel(&c, n);
    memset(c.first, 0xff, n * sizeof *c.first);
    memset(c.last, 0xff, n * sizeof *c.last);
    for (uint64_t i = 0; i < n; i++)
        put_behind(&c, c.queue[i], c.last[c.core[c.queue[i]]], c.core[c.queue[i]]);
    for (uint64_t v = 0; v < n; v++) count(f, &c, (uint32_t)v);
    f->anew = why;
    return DCSR_OK;
}

static void grown(dcsr_follower *f, uint64_t old)
{
    const cores c = cores_of(f);
    for (uint64_t v = old; v < f->vertices; v++) c.first[v] = c.last[v] = NONE;
    if (!old) c.first[0] = c.last[0] = NONE;
    for (uint64_t v = old; v < f->vertices; v++) put_behind(&c, (uint32_t)v, c.last[0], 0);
}

/* ---- A link comes ---- */

static void heap_up(cores *c, uint32_t v)
{
    uint64_t at = c->heaped++;
    for (; at && c->label[c->heap[(at - 1) / 2]] > c->label[v]; at = (at - 1) / 2)
        c->heap[at] = c->heap[(at - 1) / 2];
    c->heap[at] = v;
    c->state[v] |= HEAPED;
}

static uint32_t take_first(cores *c)
{
    const uint32_t first = c->heap[0], v = c->heap[--c->heaped];
    uint64_t at = 0;
    for (uint64_t below; (below = 2 * at + 1) < c->heaped; at = below) {
        if (below + 1 < c->heaped && c->label[c->heap[below + 1]] < c->label[c->heap[below]]) below++;
        if (c->label[c->heap[below]] >= c->label[v]) break;
        c->heap[at] = c->heap[below];
    }
    c->heap[at] = v;
    c->state[first] &= (unsigned char)~HEAPED;
    return first;
}

static void begin_riser(dcsr_follower *f, cores *c, uint32_t v)
{
    const uint32_t K = c->core[v];
    c->state[v] |= RISER;
    c->listed[c->count++] = v;
    dcsr_i_follow_work(f, c->l->row[v].length);
    for (DCSR_I_EACH_LINK(k, c->l, v)) {
        const uint32_t u = c->l->end[k];
        if (c->core[u] != K || c->label[u] <= c->label[v]) continue;
        c->risers[u]++;
        if (!(c->state[u] & HEAPED)) heap_up(c, u);
    }
}

/* A riser that has lost a neighbour leaves if it has too few. */
static void check_riser(cores *c, uint32_t v)
{
    if (c->state[v] != RISER || c->behind[v] + c->risers[v] > c->core[v]) return;
    c->state[v] |= LEAVES;
    c->queue[c->queued++] = v;
}

/* v does not rise: risers before it lose it, and those behind it, if it was one itself. */
static void stay(dcsr_follower *f, cores *c, uint32_t v, bool was_riser)
{
    dcsr_i_follow_work(f, c->l->row[v].length);
    for (DCSR_I_EACH_LINK(k, c->l, v)) {
        const uint32_t u = c->l->end[k];
        if (u == v || c->core[u] != c->core[v]) continue;
        if (c->label[u] < c->label[v] && c->state[u] & RISER) {
            c->behind[u]--;
            check_riser(c, u);
        } else if (was_riser && c->label[u] > c->label[v] && c->risers[u]) {
            c->risers[u]--;
            check_riser(c, u);
        }
    }
    c->behind[v] += c->risers[v];
    c->risers[v] = 0;
}

/* v stays; what leaves in consequence stands behind it from now on. */
static void stay_all(dcsr_follower *f, cores *c, uint32_t v)
{
    const uint32_t K = c->core[v];
    c->queued = 0;
    stay(f, c, v, false);
    for (uint64_t head = 0; head < c->queued; head++) {
        const uint32_t u = c->queue[head];
        c->state[u] &= (unsigned char)~RISER;
        stay(f, c, u, true);
        c->state[u] = 0;
        take_out(c, u, K);
        put_behind(c, u, v, K);
        v = u;
    }
}

/* Risers go to the front of K + 1. */
static void rise(dcsr_follower *f, const cores *c, uint32_t K)
{
    uint32_t previous = NONE;
    for (uint64_t i = 0; i < c->count; i++) {
        const uint32_t v = c->listed[i];
        if (!(c->state[v] & RISER)) continue;
        take_out(c, v, K);
        c->core[v] = K + 1;
        c->risers[v] = 0;
        put_behind(c, v, previous, K + 1);
        previous = v;
    }
    for (uint64_t i = 0; i < c->count; i++) {
        const uint32_t v = c->listed[i];
        if (!(c->state[v] & RISER)) continue;
        count(f, c, v);
        for (DCSR_I_EACH_LINK(k, c->l, v)) {
            const uint32_t u = c->l->end[k];
            c->degree[u] += c->core[u] == K + 1 && !(c->state[u] & RISER);
        }
    }
    for (uint64_t i = 0; i < c->count; i++) c->state[c->listed[i]] = 0;
}

static void come(dcsr_follower *f, cores *c, uint32_t u)
{
    const uint32_t K = c->core[u];
    if (++c->behind[u] <= K) return;
    heap_up(c, u);
    while (c->heaped && !f->anew) {
        const uint32_t v = take_first(c);
        f->touched++;
        if (c->behind[v] + c->risers[v] > K)
            begin_riser(f, c, v);
        else if (c->risers[v])
            stay_all(f, c, v);
    }
    if (!f->anew) rise(f, c, K);
}

/* ---- A link goes ---- */

static void fall(cores *c, uint32_t v)
{
    c->core[v]--;
    c->queue[c->queued++] = v;
}

/* What has fallen from K, in the queue, goes to the end of K - 1. */
static void move_down(dcsr_follower *f, const cores *c, uint32_t K)
{
    for (uint64_t i = 0; i < c->queued; i++) {
        const uint32_t v = c->queue[i];
        for (DCSR_I_EACH_LINK(k, c->l, v)) {
            const uint32_t u = c->l->end[k];
            c->behind[u] -= c->core[u] == K && c->label[u] < c->label[v];
        }
    }
    for (uint64_t i = 0; i < c->queued; i++) {
        take_out(c, c->queue[i], K);
        put_behind(c, c->queue[i], c->last[K - 1], K - 1);
    }
    for (uint64_t i = 0; i < c->queued; i++) count(f, c, c->queue[i]);
}

static void go(dcsr_follower *f, cores *c, uint32_t u, uint32_t v)
{
    const uint32_t K = c->core[u] < c->core[v] ? c->core[u] : c->core[v];
    c->behind[is_before(c, u, v) ? u : v]--;
    if (c->core[u] == K && c->degree[u] < K) fall(c, u);
    if (c->core[v] == K && c->degree[v] < K) fall(c, v);
    for (uint64_t head = 0; head < c->queued && !f->anew; head++) {
        const uint32_t x = c->queue[head];
        dcsr_i_follow_work(f, c->l->row[x].length);
        f->touched++;
        for (DCSR_I_EACH_LINK(k, c->l, x)) {
            const uint32_t w = c->l->end[k];
            if (w != x && c->core[w] == K && --c->degree[w] < K) fall(c, w);
        }
    }
    if (!f->anew && c->queued) move_down(f, c, K);
}

static void after(dcsr_follower *f, const dcsr_i_edge_change *change)
{
    cores c = cores_of(f);
    const uint32_t u = change->from, v = change->to;
    if (!change->link || u == v) return;
    const bool gone = change->kind == DCSR_I_EDGE_REMOVED;
    const uint32_t one = gone ? UINT32_MAX : 1;
    if (c.core[v] >= c.core[u]) c.degree[u] += one;
    if (c.core[u] >= c.core[v]) c.degree[v] += one;
    if (gone)
        go(f, &c, u, v);
    else
        come(f, &c, is_before(&c, u, v) ? u : v);
}

static const dcsr_i_follow_kind kind = {.name = "kcore",
                                        .call = "dcsr_follow_kcore",
                                        .getter = "dcsr_follower_get_cores",
                                        .patience = 8,
                                        .size = {[CORE] = 4,
                                                 [DEGREE] = 4,
                                                 [BEHIND] = 4,
                                                 [RISERS] = 4,
                                                 [LABEL] = sizeof(uint64_t),
                                                 [NEXT] = 4,
                                                 [PREVIOUS] = 4,
                                                 [FIRST] = 4,
                                                 [LAST] = 4,
                                                 [HEAP] = 4,
                                                 [LISTED] = 4,
                                                 [QUEUE] = 4,
                                                 [STATE] = 1},
                                        .anew = anew,
                                        .grown = grown,
                                        .after = after};

dcsr_status dcsr_follow_kcore(dcsr_follower **follower, dcsr_view *view)
{
    return dcsr_i_follow(follower, &(dcsr_follower){.kind = &kind}, view);
}

dcsr_status dcsr_follower_get_cores(dcsr_follower *f, dcsr_followed_cores *found)
{
    dcsr_status status = dcsr_i_follow_check(f, found, &kind);
    if (status) return status;
    const uint32_t *core = f->array[CORE];
    *found = (dcsr_followed_cores){.version = f->version, .vertices = f->vertices, .core = core};
    for (uint64_t v = 0; v < f->vertices; v++) {
        if (core[v] > found->result.largest) found->result = (dcsr_kcore_result){.largest = core[v]};
        found->result.vertices += core[v] == found->result.largest;
    }
    return DCSR_OK;
}
