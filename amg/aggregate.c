/* aggregate.c: nodes into aggregates, around the nodes of a maximal independent set of distance 2.
 *
 * The set is found in rounds (Bell, Dalton, Olson 2012), with the lists of Kelley, Rajamanickam (Parallel,
 * portable algorithms for distance-2 maximal independent set and graph coarsening, 2022): every open node has a
 * random key; the least key within two steps wins, and joins the set; nodes within two steps of the set are out.
 * A round looks at the nodes that are still open, and at those that have an open node beside them.
 *
 * A node of the set and its neighbours are an aggregate, then each node that is left joins a neighbour that has
 * one. Nodes without strong neighbours stay alone: smoothing solves for them. What a round reads was written by
 * the one before, so the result depends on the graph and the seed alone, not on threads or the device. */
#include "amg/hierarchy.h"

/* Keys are random << 32 | node + 1, so that there are no ties and none is one of these. */
static const uint64_t IN = 0, OUT = UINT64_MAX;

typedef struct selection {
    const dcsr_i_amg_graph *graph;
    uint64_t *key, *least; /* of a node; the least key of it and its neighbours */
    uint32_t *open, *near; /* nodes that are undecided; nodes whose `least` may change */
    uint32_t *spare;       /* for the list that is being made */
    uint64_t open_count, near_count;
    uint64_t seed;
    int threads;
} selection;

static void draw(selection *s, uint64_t round)
{
#pragma omp parallel for schedule(static) num_threads(s->threads) if (s->threads > 1)
    for (uint64_t o = 0; o < s->open_count; o++) {
        uint64_t node = s->open[o];
        s->key[node] = (dcsr_i_amg_random(s->seed + round, node) << 32) | (node + 1);
    }
}

/* A node beside one of the set gets OUT. */
static void look_around(selection *s)
{
    const dcsr_i_amg_graph *g = s->graph;
#pragma omp parallel for schedule(static) num_threads(s->threads) if (s->threads > 1)
    for (uint64_t o = 0; o < s->near_count; o++) {
        uint64_t node = s->near[o], least = s->key[node];
        const uint32_t *next = g->nodes + g->begin[node];
        for (uint32_t k = 0; k < g->length[node]; k++)
            if (s->key[next[k]] < least) least = s->key[next[k]];
        s->least[node] = least == IN ? OUT : least;
    }
}

static void decide(selection *s)
{
    const dcsr_i_amg_graph *g = s->graph;
#pragma omp parallel for schedule(static) num_threads(s->threads) if (s->threads > 1)
    for (uint64_t o = 0; o < s->open_count; o++) {
        uint64_t node = s->open[o], key = s->key[node];
        const uint32_t *next = g->nodes + g->begin[node];
        bool out = s->least[node] == OUT, in = s->least[node] == key;
        for (uint32_t k = 0; k < g->length[node] && !out; k++) {
            out = s->least[next[k]] == OUT;
            in = in && s->least[next[k]] == key;
        }
        s->key[node] = out ? OUT : in ? IN : key;
    }
}

/* Keeps what is still to be looked at; returns how many. */
static uint64_t compact(uint32_t **list, uint64_t count, uint32_t **spare, const uint64_t *state,
                        bool keep_in)
{
    uint64_t kept = 0;
    for (uint64_t o = 0; o < count; o++) {
        uint64_t value = state[(*list)[o]];
        (*spare)[kept] = (*list)[o];
        kept += value != OUT && (keep_in || value != IN);
    }
    uint32_t *made = *spare;
    *spare = *list;
    *list = made;
    return kept;
}

static void select_roots(selection *s, dcsr_i_amg_hierarchy *h)
{
    for (uint64_t node = 0; node < s->graph->count; node++) {
        s->key[node] = OUT;
        s->least[node] = OUT;
        if (!s->graph->length[node]) continue;
        s->open[s->open_count++] = (uint32_t)node;
        s->near[s->near_count++] = (uint32_t)node;
    }
    for (uint64_t round = 0; s->open_count; round++) {
        s->threads = dcsr_context_threads(h->context, 8 * s->near_count);
        draw(s, round);
        look_around(s);
        decide(s);
        s->open_count = compact(&s->open, s->open_count, &s->spare, s->key, false);
        s->near_count = compact(&s->near, s->near_count, &s->spare, s->least, true);
    }
}

/* The aggregate of the first neighbour that has one. */
static uint32_t join(const dcsr_i_amg_graph *g, uint64_t node, const uint32_t *aggregate)
{
    const uint32_t *next = g->nodes + g->begin[node];
    for (uint32_t k = 0; k < g->length[node]; k++)
        if (aggregate[next[k]] != DCSR_I_AMG_NO_AGGREGATE) return aggregate[next[k]];
    return DCSR_I_AMG_NO_AGGREGATE;
}

/* Roots are numbered in order. `roots` is what neighbours of the set see, `joined` what those next to them
 * see. Where rounding made strength not symmetric, a node may see none: it becomes an aggregate by itself. */
static uint64_t number(uint32_t *aggregate, uint32_t *roots, uint32_t *joined, const selection *s,
                       int threads)
{
    const dcsr_i_amg_graph *g = s->graph;
    const uint64_t nodes = g->count;
    uint64_t count = 0;
    for (uint64_t node = 0; node < nodes; node++)
        roots[node] = s->key[node] == IN ? (uint32_t)count++ : DCSR_I_AMG_NO_AGGREGATE;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (uint64_t node = 0; node < nodes; node++)
        joined[node] = roots[node] != DCSR_I_AMG_NO_AGGREGATE ? roots[node] : join(g, node, roots);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (uint64_t node = 0; node < nodes; node++)
        aggregate[node] = joined[node] != DCSR_I_AMG_NO_AGGREGATE ? joined[node] : join(g, node, joined);
    for (uint64_t node = 0; node < nodes; node++)
        if (aggregate[node] == DCSR_I_AMG_NO_AGGREGATE && g->length[node])
            aggregate[node] = (uint32_t)count++;
    return count;
}

dcsr_status dcsr_i_amg_aggregate(dcsr_i_amg_partition *parts, dcsr_i_amg_hierarchy *h,
                                 const dcsr_i_amg_graph *graph)
{
    dcsr_i_amg_array keys = {0}, lists = {0};
    const uint64_t n = graph->count;
    dcsr_status status = dcsr_i_amg_borrow(&keys, h->pool, 2 * n, sizeof(uint64_t));
    if (!status) status = dcsr_i_amg_borrow(&lists, h->pool, 3 * n, sizeof(uint32_t));
    if (!status) {
        selection s = {.graph = graph, .key = keys.data, .seed = (uint64_t)h->options.seed};
        s.least = s.key + n;
        s.open = lists.data;
        s.near = s.open + n;
        s.spare = s.near + n;
        select_roots(&s, h);
        parts->count = number(parts->aggregate, s.open, s.near, &s, dcsr_context_threads(h->context, 8 * n));
    }
    dcsr_i_amg_give(&keys, h->pool);
    dcsr_i_amg_give(&lists, h->pool);
    return status;
}
