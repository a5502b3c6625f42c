/* follow_components.c: weakly connected components that follow a matrix.
 *
 * Each component is spanned by a tree of marked links. Each vertex has the label of its component; labels are numbers
 * below n, of which some are spare. A link that joins two components is marked, and the smaller one gets the label of
 * the other: a vertex changes its label no more than log n times that way, if links only come. A link that goes and is
 * not marked changes nothing. Behind one that is, the tree is searched from both ends by turns, so that the cost is
 * that of the smaller part; then the links of that part are looked through for one that leads out of it. If there is
 * one it is marked, else the part gets a label of its own. Names, the least vertices, are found when they are asked
 * for. */
#include "algos/follow/follower.h"
#include <string.h>

enum { LABEL, SIZE, MARK, QUEUE, SPARE, NAME };

typedef struct parts {
    uint32_t *label, *size; /* size: of the component with that label */
    unsigned char *mark;    /* 1, 2: reached by the first, the second search */
    uint32_t *queue;        /* of the first search from the front on, of the second from the back */
    uint32_t *spare;        /* labels: n - components of them */
    uint32_t *name;
} parts;

static parts parts_of(const dcsr_follower *f)
{
    return (parts){f->array[LABEL], f->array[SIZE],  f->array[MARK],
                   f->array[QUEUE], f->array[SPARE], f->array[NAME]};
}

static void mark_link(dcsr_follower *f, uint32_t u, uint32_t v)
{
    f->links.way[dcsr_i_links_find(&f->links, u, v)] |= DCSR_I_LINK_MARK;
    f->links.way[dcsr_i_links_find(&f->links, v, u)] |= DCSR_I_LINK_MARK;
}

/* Gives all that v leads to its label, and marks the links by which it is reached. */
static void span(dcsr_follower *f, const parts *p, uint32_t v)
{
    const dcsr_i_links *l = &f->links;
    uint64_t head = 0, tail = 0;
    p->label[v] = v;
    for (p->queue[tail++] = v; head < tail; head++) {
        const uint32_t u = p->queue[head];
        for (DCSR_I_EACH_LINK(k, l, u)) {
            const uint32_t w = l->end[k];
            if (p->label[w] != UINT32_MAX) continue;
            p->label[w] = v;
            p->queue[tail++] = w;
            mark_link(f, u, w);
        }
    }
    p->size[v] = (uint32_t)tail;
}

static dcsr_status anew(dcsr_follower *f, dcsr_view *view)
{
    const parts p = parts_of(f);
    const uint64_t n = f->vertices;
    uint64_t spare = 0;
    (void)view;
    for (uint64_t k = 0; k < f->links.used; k++) f->links.way[k] &= (unsigned char)~DCSR_I_LINK_MARK;
    memset(p.label, 0xff, n * sizeof *p.label);
    memset(p.size, 0, n * sizeof *p.size);
    memset(p.mark, 0, n);
    for (uint64_t v = 0; v < n; v++) {
        if (p.label[v] == UINT32_MAX) span(f, &p, (uint32_t)v);
        if (p.label[v] != v) p.spare[spare++] = (uint32_t)v;
    }
    f->count = n - spare;
    return DCSR_OK;
}

static void grown(dcsr_follower *f, uint64_t old)
{
    const parts p = parts_of(f);
    for (uint64_t v = old; v < f->vertices; v++) {
        p.label[v] = (uint32_t)v;
        p.size[v] = 1;
        f->count++;
    }
}

/* Gives the smaller of two components, which an edge has joined, the label of the other. */
static void join(dcsr_follower *f, uint32_t u, uint32_t v)
{
    const parts p = parts_of(f);
    const dcsr_i_links *l = &f->links;
    uint64_t head = 0, tail = 0;
    if (p.size[p.label[u]] > p.size[p.label[v]]) {
        const uint32_t other = u;
        u = v;
        v = other;
    }
    const uint32_t old = p.label[u], label = p.label[v];
    mark_link(f, u, v);
    p.label[u] = label;
    for (p.queue[tail++] = u; head < tail; head++) {
        const uint32_t w = p.queue[head];
        dcsr_i_follow_work(f, l->row[w].length);
        for (DCSR_I_EACH_LINK(k, l, w)) {
            if (p.label[l->end[k]] != old) continue;
            p.label[l->end[k]] = label;
            p.queue[tail++] = l->end[k];
        }
    }
    p.size[label] += p.size[old];
    p.size[old] = 0;
    p.spare[f->vertices - f->count] = old;
    f->count--;
    f->touched += tail;
}

/* One of two searches: queue[at], then queue[at + step], ... */
typedef struct search {
    uint64_t at;
    int64_t step;
    uint64_t head, tail; /* vertices that were gone on from, and found */
    uint64_t work;       /* once the next vertex has been gone on from */
    unsigned char mark;
} search;

static void find(const parts *p, const dcsr_i_links *l, search *s, uint32_t v)
{
    if (s->head == s->tail) s->work += l->row[v].length;
    p->mark[v] = s->mark;
    p->queue[(int64_t)s->at + (int64_t)s->tail++ * s->step] = v;
}

static uint32_t found(const parts *p, const search *s, uint64_t i)
{
    return p->queue[(int64_t)s->at + (int64_t)i * s->step];
}

/* Goes on from one vertex along the tree. */
static void advance(dcsr_follower *f, const parts *p, search *s)
{
    const dcsr_i_links *l = &f->links;
    const uint32_t v = found(p, s, s->head++);
    dcsr_i_follow_work(f, l->row[v].length);
    if (s->head < s->tail) s->work += l->row[found(p, s, s->head)].length;
    for (DCSR_I_EACH_LINK(k, l, v))
        if (l->way[k] & DCSR_I_LINK_MARK && !p->mark[l->end[k]]) find(p, l, s, l->end[k]);
}

/* Marks a link that leads out of what a search has found; whether there is one. */
static bool reconnect(dcsr_follower *f, const parts *p, const search *s)
{
    const dcsr_i_links *l = &f->links;
    for (uint64_t i = 0; i < s->tail; i++) {
        const uint32_t v = found(p, s, i);
        dcsr_i_follow_work(f, l->row[v].length);
        for (DCSR_I_EACH_LINK(k, l, v)) {
            if (p->mark[l->end[k]] == s->mark) continue;
            mark_link(f, v, l->end[k]);
            return true;
        }
    }
    return false;
}

/* Gives what a search has found a label of its own. */
static void split(dcsr_follower *f, const parts *p, const search *s)
{
    const uint32_t old = p->label[found(p, s, 0)], label = p->spare[f->vertices - ++f->count];
    for (uint64_t i = 0; i < s->tail; i++) p->label[found(p, s, i)] = label;
    p->size[label] = (uint32_t)s->tail;
    p->size[old] -= (uint32_t)s->tail;
}

/* A link of the tree has gone. */
static void part(dcsr_follower *f, uint32_t u, uint32_t v)
{
    const parts p = parts_of(f);
    search s[2] = {{.at = 0, .step = 1, .mark = 1}, {.at = f->vertices - 1, .step = -1, .mark = 2}};
    find(&p, &f->links, &s[0], u);
    find(&p, &f->links, &s[1], v);
    while (!f->anew && s[0].head < s[0].tail && s[1].head < s[1].tail)
        advance(f, &p, &s[s[1].work < s[0].work]);
    const search *smaller = &s[s[1].head == s[1].tail];
    if (!f->anew && !reconnect(f, &p, smaller)) split(f, &p, smaller);
    for (int side = 0; side < 2; side++) {
        for (uint64_t i = 0; i < s[side].tail; i++) p.mark[found(&p, &s[side], i)] = 0;
        f->touched += s[side].tail;
    }
}

static void after(dcsr_follower *f, const dcsr_i_edge_change *change)
{
    const uint32_t *label = f->array[LABEL], u = change->from, v = change->to;
    if (!change->link || u == v) return;
    if (change->kind == DCSR_I_EDGE_REMOVED) {
        if (change->marked) part(f, u, v);
    } else if (label[u] != label[v]) {
        join(f, u, v);
    }
}

static const dcsr_i_follow_kind kind = {
    .name = "components",
    .call = "dcsr_follow_components",
    .getter = "dcsr_follower_get_components",
    .patience = 4,
    .size = {[LABEL] = 4, [SIZE] = 4, [MARK] = 1, [QUEUE] = 4, [SPARE] = 4, [NAME] = 4},
    .anew = anew,
    .grown = grown,
    .after = after};

dcsr_status dcsr_follow_components(dcsr_follower **follower, dcsr_view *view)
{
    return dcsr_i_follow(follower, &(dcsr_follower){.kind = &kind}, view);
}

dcsr_status dcsr_follower_get_component_count(const dcsr_follower *follower, uint64_t *components)
{
    dcsr_status status = dcsr_i_follow_check(follower, components, &kind);
    if (!status) *components = follower->count;
    return status;
}

dcsr_status dcsr_follower_get_components(dcsr_follower *f, dcsr_followed_components *found)
{
    dcsr_status status = dcsr_i_follow_check(f, found, &kind);
    if (status) return status;
    const parts p = parts_of(f);
    uint32_t *least = p.queue; /* of each label */
    *found = (dcsr_followed_components){
        .version = f->version, .vertices = f->vertices, .components = f->count, .component = p.name};
    memset(least, 0xff, f->vertices * sizeof *least);
    for (uint64_t v = 0; v < f->vertices; v++) {
        const uint32_t label = p.label[v];
        if (least[label] == UINT32_MAX) {
            least[label] = (uint32_t)v;
            if (p.size[label] > found->largest) found->largest = p.size[label], found->largest_name = v;
        }
        p.name[v] = least[label];
    }
    return DCSR_OK;
}
