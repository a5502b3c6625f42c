/* follow_kcore.c: core numbers that follow a matrix, link by link (A. Sariyuce et al. 2013).
 *
 * Let K be the lesser core number of the two ends. Only vertices with core number K can get K + 1 with a link that
 * comes, or K - 1 without one that goes. Each vertex knows its degree among vertices of its core number or more, which
 * is never less than its core number; only where it is more can the vertex rise.
 *
 *      comes    from the end with K on, candidates are listed, if enough of their neighbours are higher, or may rise as
 *               well; those of which too few are drop out, and support no other. Those that are left rise.
 *      goes     an end with K whose degree is less than that falls; then its neighbours have one less.
 */
#include "algos/follow/follower.h"
#include <string.h>

enum { CORE, DEGREE, SUPPORT, LISTED, STACK, STATE };
enum { UNSEEN, CANDIDATE, OUT };

typedef struct cores {
    const dcsr_i_links *l;
    uint32_t *core, *degree;
    uint32_t *
        support; /* of a candidate: neighbours that are higher, or candidates, or not seen yet and may rise */
    uint32_t *listed, *stack;
    unsigned char *state;
    uint64_t count, height; /* of the list, of the stack */
} cores;

static cores cores_of(const dcsr_follower *f)
{
    return (cores){&f->links,
                   f->array[CORE],
                   f->array[DEGREE],
                   f->array[SUPPORT],
                   f->array[LISTED],
                   f->array[STACK],
                   f->array[STATE],
                   0,
                   0};
}

/* The degree among vertices of v's core number or more. */
static void count_degree(dcsr_follower *f, const cores *c, uint32_t v)
{
    uint32_t degree = 0;
    for (DCSR_I_EACH_LINK(k, c->l, v)) degree += c->core[c->l->end[k]] >= c->core[v] && c->l->end[k] != v;
    c->degree[v] = degree;
    dcsr_i_follow_work(f, c->l->row[v].length);
}

static dcsr_status anew(dcsr_follower *f, dcsr_view *view)
{
    const cores c = cores_of(f);
    const dcsr_follow_anew why = f->anew;
    dcsr_status status = dcsr_kcore(c.core, NULL, view, NULL);
    if (status) return status;
    memset(c.state, 0, f->vertices);
    for (uint64_t v = 0; v < f->vertices; v++) count_degree(f, &c, (uint32_t)v);
    f->anew = why;
    return DCSR_OK;
}

/* ---- A link comes ---- */

static bool may_rise(const cores *c, uint32_t v, uint32_t K)
{
    return c->core[v] == K && c->degree[v] > K && c->state[v] != OUT;
}

static void list(dcsr_follower *f, cores *c, uint32_t v, uint32_t K)
{
    uint32_t support = 0;
    for (DCSR_I_EACH_LINK(k, c->l, v)) {
        const uint32_t u = c->l->end[k];
        support += u != v && (c->core[u] > K || may_rise(c, u, K));
    }
    c->support[v] = support;
    c->state[v] = CANDIDATE;
    c->listed[c->count++] = v;
    dcsr_i_follow_work(f, c->l->row[v].length);
}

static void drop_out(dcsr_follower *f, cores *c, uint32_t v, uint32_t K)
{
    c->state[v] = OUT;
    c->stack[c->height++] = v;
    while (c->height) {
        const uint32_t u = c->stack[--c->height];
        dcsr_i_follow_work(f, c->l->row[u].length);
        for (DCSR_I_EACH_LINK(k, c->l, u)) {
            const uint32_t w = c->l->end[k];
            if (c->state[w] != CANDIDATE || --c->support[w] != K) continue;
            c->state[w] = OUT;
            c->stack[c->height++] = w;
        }
    }
}

/* Gives the candidates that are left their new core number, and all around them their degrees. */
static void rise(dcsr_follower *f, const cores *c, uint32_t K)
{
    for (uint64_t i = 0; i < c->count; i++) c->core[c->listed[i]] += c->state[c->listed[i]] == CANDIDATE;
    for (uint64_t i = 0; i < c->count; i++) {
        const uint32_t v = c->listed[i];
        if (c->state[v] != CANDIDATE) continue;
        count_degree(f, c, v);
        for (DCSR_I_EACH_LINK(k, c->l, v)) {
            const uint32_t u = c->l->end[k];
            if (c->core[u] == K + 1 && c->state[u] != CANDIDATE) c->degree[u]++;
        }
    }
}

static void come(dcsr_follower *f, cores *c, uint32_t root)
{
    const uint32_t K = c->core[root];
    if (!may_rise(c, root, K)) return;
    list(f, c, root, K);
    for (uint64_t head = 0; head < c->count && !f->anew; head++) {
        const uint32_t v = c->listed[head];
        if (c->state[v] == OUT) continue;
        if (c->support[v] <= K) {
            drop_out(f, c, v, K);
            continue;
        }
        for (DCSR_I_EACH_LINK(k, c->l, v)) {
            const uint32_t u = c->l->end[k];
            if (c->state[u] == UNSEEN && may_rise(c, u, K)) list(f, c, u, K);
        }
    }
    if (!f->anew) rise(f, c, K);
}

/* ---- A link goes ---- */

static void fall(cores *c, uint32_t v)
{
    c->core[v]--;
    c->stack[c->height++] = v;
}

static void go(dcsr_follower *f, cores *c, uint32_t u, uint32_t v)
{
    const uint32_t K = c->core[u] < c->core[v] ? c->core[u] : c->core[v];
    if (c->core[u] == K && c->degree[u] < K) fall(c, u);
    if (c->core[v] == K && c->degree[v] < K) fall(c, v);
    while (c->height && !f->anew) {
        const uint32_t x = c->stack[--c->height];
        count_degree(f, c, x);
        f->touched++;
        for (DCSR_I_EACH_LINK(k, c->l, x)) {
            const uint32_t w = c->l->end[k];
            if (w != x && c->core[w] == K && --c->degree[w] < K) fall(c, w);
        }
    }
}

static void after(dcsr_follower *f, const dcsr_i_change *change)
{
    cores c = cores_of(f);
    const uint32_t u = change->from, v = change->to;
    if (!change->link || u == v) return;
    const bool gone = change->kind == DCSR_I_REMOVED;
    const uint32_t one = gone ? UINT32_MAX : 1;
    if (c.core[v] >= c.core[u]) c.degree[u] += one;
    if (c.core[u] >= c.core[v]) c.degree[v] += one;
    if (gone)
        go(f, &c, u, v);
    else
        come(f, &c, c.core[u] <= c.core[v] ? u : v);
    for (uint64_t i = 0; i < c.count; i++) c.state[c.listed[i]] = UNSEEN;
    f->touched += c.count;
}

static const dcsr_i_follow_kind kind = {
    .name = "kcore",
    .call = "dcsr_follow_kcore",
    .getter = "dcsr_follower_get_cores",
    .patience = 2,
    .size = {[CORE] = 4, [DEGREE] = 4, [SUPPORT] = 4, [LISTED] = 4, [STACK] = 4, [STATE] = 1},
    .anew = anew,
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
