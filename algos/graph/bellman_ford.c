/* bellman_ford.c: shortest paths where weights may be negative.
 *
 * Vertices that have come closer are relaxed in rounds. Each remembers whom it was reached from last; these links form
 * a tree, until there is a cycle of negative weight: then sooner or later they form one too (Cherkassky, Goldberg
 * 1999). They are looked at each time that as much has been relaxed as looking takes. What a cycle leads to is at
 * -infinity, and is left alone from then on. */
#include "algos/graph/sssp.h"
#include <math.h>

enum { NONE = -1 };

typedef struct search {
    dcsr_i_edges *e;
    double *distance;
    int64_t *from;
    uint32_t *now, *next;
    uint64_t count, found; /* of each list */
    unsigned char *listed; /* in `next` */
    uint64_t *mark;        /* the walk that came by last */
} search;

static void push(search *s, uint32_t v)
{
    if (!s->listed[v]) s->next[s->found++] = v;
    s->listed[v] = 1;
}

/* All that a vertex leads to is at -infinity. */
static void sink(search *s, uint32_t first, uint32_t *stack)
{
    uint64_t top = 0;
    stack[top++] = first;
    s->distance[first] = -INFINITY;
    s->from[first] = NONE;
    while (top) {
        const dcsr_i_ends ends = dcsr_i_edges_of(s->e, stack[--top]);
        for (uint64_t k = 0; k < ends.count; k++) {
            const uint32_t v = ends.vertex[k];
            /* An edge of infinite weight is none. */
            if (s->distance[v] == -INFINITY || ((const double *)ends.values)[k] == INFINITY) continue;
            s->distance[v] = -INFINITY;
            s->from[v] = NONE;
            stack[top++] = v;
        }
    }
}

/* Looks for cycles among the links. */
static void look_for_cycles(search *s, dcsr_sssp_result *found, uint32_t *stack)
{
    const uint64_t n = s->e->vertices;
    for (uint64_t v = 0; v < n; v++) s->mark[v] = 0;
    for (uint64_t v = 0; v < n; v++) {
        int64_t u = (int64_t)v;
        while (u != NONE && !s->mark[u]) {
            s->mark[u] = v + 1;
            u = s->from[u];
        }
        if (u == NONE || s->mark[u] != v + 1) continue;
        uint32_t least = (uint32_t)u;
        for (int64_t w = s->from[u]; w != u; w = s->from[w])
            if (w < least) least = (uint32_t)w;
        if (!found->negative_cycle) found->on_cycle = least;
        found->negative_cycle = true;
        sink(s, least, stack);
    }
}

static uint64_t relax(search *s, uint32_t u)
{
    const dcsr_i_ends ends = dcsr_i_edges_of(s->e, u);
    const double *weight = ends.values, here = s->distance[u];
    for (uint64_t k = 0; k < ends.count; k++) {
        const uint32_t v = ends.vertex[k];
        const double there = here + weight[k];
        if (!(there < s->distance[v])) continue;
        s->distance[v] = there;
        s->from[v] = u;
        push(s, v);
    }
    return ends.count;
}

dcsr_status dcsr_i_sssp_negative(dcsr_i_edges *e, double *distance, dcsr_sssp_result *found, uint64_t source)
{
    const uint64_t n = e->vertices;
    search s = {.e = e, .distance = distance, .count = 1};
    s.from = dcsr_i_edges_take(e, n, sizeof *s.from);
    s.now = dcsr_i_edges_take(e, n, sizeof *s.now);
    s.next = dcsr_i_edges_take(e, n, sizeof *s.next);
    s.listed = dcsr_i_edges_take(e, n, sizeof *s.listed);
    s.mark = dcsr_i_edges_take(e, n, sizeof *s.mark);
    uint32_t *stack = dcsr_i_edges_take(e, n, sizeof *stack);
    if (e->status) return e->status;
    for (uint64_t v = 0; v < n; v++) distance[v] = INFINITY, s.from[v] = NONE;
    distance[source] = 0;
    s.now[0] = (uint32_t)source;
    for (uint64_t work = 0; s.count;) {
        for (uint64_t i = 0; i < s.count; i++) s.listed[s.now[i]] = 0;
        for (uint64_t i = 0; i < s.count; i++) work += 1 + relax(&s, s.now[i]);
        uint32_t *done = s.now;
        s.now = s.next;
        s.next = done;
        s.count = s.found;
        s.found = 0;
        if (work < n) continue;
        look_for_cycles(&s, found, stack);
        work = 0;
    }
    return DCSR_OK;
}
