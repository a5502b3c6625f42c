/* truss.c: k-trusses, by peeling edges (Cohen 2008; Wang, Cheng 2012).
 *
 * The support of an edge is the number of triangles that it is in. Edges with too little are taken away; each takes its
 * triangles away, and with them support from two other edges. For one k the order does not matter, and they stand in a
 * queue. For truss numbers the edge with the least goes first: edges stand in `order` by support, those of the same
 * together, so that one that loses support only changes places with the first of its kind (as vertices do in Batagelj,
 * Zaversnik 2003).
 *
 * Support is the masked product  S<E> = E E  over plus-pair: of each edge, the list of the end of lower degree is
 * looked up in the bits of the other's. */
#include "algos/graph/edges.h"
#include <dcsr/convert.h>
#include <dcsr/graph.h>
#include <omp.h>

enum { PART = 64 };

typedef struct peeling {
    dcsr_i_edges *e;
    uint64_t vertices, edges;
    uint64_t *begin, *last; /* of the list of each vertex, in which edges stay until somebody comes by */
    uint32_t *end, *edge;   /* the other ends, ascending, and the numbers of the edges */
    uint32_t *from, *to, *support;
    unsigned char *gone;
    uint64_t left;
    uint32_t enough; /* support, for one k; 0: truss numbers are wanted */
    uint32_t *order; /* a queue of `queued` edges with too little support; or all */
    uint64_t queued;
    uint32_t *place; /* order[place[x]] = x */
    uint64_t *first; /* of each support, its first place in order */
} peeling;

static inline uint64_t degree_of(const peeling *p, uint64_t v)
{
    return p->last[v] - p->begin[v];
}

/* Numbers the edges u - v, u < v, in order, each once, and lists them at both ends. */
static void number_edges(peeling *p)
{
    const dcsr_i_edges *e = p->e;
    const uint64_t n = p->vertices;
    p->last = dcsr_i_edges_take(p->e, n + 1, sizeof *p->last);
    p->begin = dcsr_i_edges_take(p->e, n + 1, sizeof *p->begin);
    if (e->status) return;
    for (uint64_t u = 0; u < n; u++) {
        const dcsr_i_ends ends = dcsr_i_edges_of(e, u);
        for (uint64_t k = 0; k < ends.count; k++)
            if (ends.vertex[k] > u) p->begin[u + 1]++, p->begin[ends.vertex[k] + 1]++, p->edges++;
    }
    if (p->edges > UINT32_MAX) {
        p->e->status = dcsr_thread_fail(DCSR_ERROR_TOO_LARGE, "dcsr_ktruss: %llu edges; at most 2^32 - 1",
                                        (unsigned long long)p->edges);
        return;
    }
    p->end = dcsr_i_edges_take(p->e, 2 * p->edges, sizeof *p->end);
    p->edge = dcsr_i_edges_take(p->e, 2 * p->edges, sizeof *p->edge);
    p->from = dcsr_i_edges_take(p->e, p->edges, sizeof *p->from);
    p->to = dcsr_i_edges_take(p->e, p->edges, sizeof *p->to);
    if (e->status) return;
    for (uint64_t v = 0; v < n; v++) p->last[v] = p->begin[v], p->begin[v + 1] += p->begin[v];
    p->left = p->edges;
    uint32_t x = 0;
    for (uint64_t u = 0; u < n; u++) {
        const dcsr_i_ends ends = dcsr_i_edges_of(e, u);
        for (uint64_t k = 0; k < ends.count; k++) {
            const uint32_t v = ends.vertex[k];
            if (v <= u) continue;
            p->from[x] = (uint32_t)u, p->to[x] = v;
            p->end[p->last[u]] = v, p->edge[p->last[u]++] = x;
            p->end[p->last[v]] = (uint32_t)u, p->edge[p->last[v]++] = x++;
        }
    }
}

/* Whether v comes before u, by degree. */
static inline bool is_lower(const peeling *p, uint64_t v, uint64_t u)
{
    return degree_of(p, v) < degree_of(p, u) || (degree_of(p, v) == degree_of(p, u) && v < u);
}

/* Counts the triangles of each edge at its end of higher degree. */
static void count_support(peeling *p)
{
    const uint64_t n = p->vertices, words = n / 32 + 1;
    const int threads = dcsr_i_edges_threads(p->e, p->edges);
    uint32_t *marks = dcsr_i_edges_take(p->e, words * (uint64_t)threads, sizeof *marks);
    p->support = dcsr_i_edges_take(p->e, p->edges, sizeof *p->support);
    p->gone = dcsr_i_edges_take(p->e, p->edges, sizeof *p->gone);
    p->order = dcsr_i_edges_take(p->e, p->edges, sizeof *p->order);
    if (p->e->status) return;
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        uint32_t *marked = marks + words * (uint64_t)omp_get_thread_num();
#pragma omp for schedule(dynamic, PART)
        for (uint64_t u = 0; u < n; u++) {
            for (uint64_t i = p->begin[u]; i < p->begin[u + 1]; i++)
                marked[p->end[i] >> 5] |= (uint32_t)1 << (p->end[i] & 31);
            for (uint64_t i = p->begin[u]; i < p->begin[u + 1]; i++) {
                const uint32_t v = p->end[i];
                uint32_t count = 0;
                if (!is_lower(p, v, u)) continue;
                for (uint64_t k = p->begin[v]; k < p->begin[v + 1]; k++)
                    count += marked[p->end[k] >> 5] >> (p->end[k] & 31) & 1;
                p->support[p->edge[i]] = count;
            }
            for (uint64_t i = p->begin[u]; i < p->begin[u + 1]; i++) marked[p->end[i] >> 5] = 0;
        }
    }
}

static void sort_by_support(peeling *p)
{
    uint32_t most = 0;
    for (uint64_t x = 0; x < p->edges; x++)
        if (p->support[x] > most) most = p->support[x];
    p->first = dcsr_i_edges_take(p->e, (uint64_t)most + 2, sizeof *p->first);
    p->place = dcsr_i_edges_take(p->e, p->edges, sizeof *p->place);
    if (p->e->status) return;
    for (uint64_t x = 0; x < p->edges; x++) p->first[p->support[x] + 1]++;
    for (uint64_t s = 0; s <= most; s++) p->first[s + 1] += p->first[s];
    for (uint64_t x = 0; x < p->edges; x++) {
        p->place[x] = (uint32_t)p->first[p->support[x]]++;
        p->order[p->place[x]] = (uint32_t)x;
    }
    for (uint64_t s = (uint64_t)most + 1; s; s--) p->first[s] = p->first[s - 1];
    p->first[0] = 0;
}

/* Takes a triangle from an edge that is left. Where the order counts, none has less support than the one that was
 * taken away last. */
static inline void lower(peeling *p, uint32_t x, uint32_t least)
{
    const uint32_t s = p->support[x];
    if (p->enough) {
        if (s == p->enough) p->order[p->queued++] = x;
        p->support[x] = s - 1;
        return;
    }
    if (s <= least) return;
    const uint64_t first = p->first[s];
    const uint32_t other = p->order[first], place = p->place[x];
    p->order[first] = x, p->order[place] = other;
    p->place[x] = (uint32_t)first, p->place[other] = place;
    p->first[s] = first + 1;
    p->support[x] = s - 1;
}

/* The edge between two vertices that is left, or UINT32_MAX. */
static inline uint32_t find_edge(const peeling *p, uint32_t u, uint32_t v)
{
    uint64_t low = p->begin[u], high = p->last[u];
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (p->end[middle] < v)
            low = middle + 1;
        else
            high = middle;
    }
    return low == p->last[u] || p->end[low] != v || p->gone[p->edge[low]] ? UINT32_MAX : p->edge[low];
}

/* Takes an edge away with its triangles. What has gone from the shorter list is struck off. */
static void take_away(peeling *p, uint32_t x, uint32_t least)
{
    p->gone[x] = 1;
    p->left--;
    if (!p->support[x]) return;
    const bool swap = degree_of(p, p->from[x]) > degree_of(p, p->to[x]);
    const uint32_t few = swap ? p->to[x] : p->from[x], many = swap ? p->from[x] : p->to[x];
    uint64_t kept = p->begin[few];
    for (uint64_t i = p->begin[few]; i < p->last[few]; i++) {
        const uint32_t end = p->end[i], side = p->edge[i];
        if (p->gone[side]) continue;
        p->end[kept] = end;
        p->edge[kept++] = side;
        const uint32_t third = find_edge(p, many, end);
        if (third == UINT32_MAX) continue;
        lower(p, side, least);
        lower(p, third, least);
    }
    p->last[few] = kept;
}

/* Leaves the edges that have enough support among themselves; their support is then what they have there. */
static void peel_to(peeling *p, uint32_t enough)
{
    p->enough = enough;
    for (uint64_t x = 0; x < p->edges; x++)
        if (p->support[x] < enough) p->order[p->queued++] = (uint32_t)x;
    for (uint64_t i = 0; i < p->queued; i++) take_away(p, p->order[i], 0);
}

/* Takes all edges away; of each, support becomes the largest that one taken away until then had, which is its truss
 * number less 2. */
static void peel_all(peeling *p)
{
    uint32_t least = 0;
    for (uint64_t i = 0; i < p->edges; i++) {
        const uint32_t x = p->order[i];
        if (p->support[x] > least) least = p->support[x];
        p->support[x] = least;
        take_away(p, x, least);
    }
}

/* The edges that are left, or all of them with their numbers, both ways. As they are numbered by their ends, rows
 * ascend. */
static void make_matrix(dcsr_matrix **truss, peeling *p)
{
    const uint64_t n = p->vertices, kept = p->enough ? p->left : p->edges;
    uint64_t *offsets = dcsr_i_edges_take(p->e, n + 1, sizeof *offsets), *next = p->last;
    uint32_t *ends = dcsr_i_edges_take(p->e, 2 * kept, sizeof *ends);
    uint32_t *values = dcsr_i_edges_take(p->e, 2 * kept, sizeof *values);
    if (p->e->status) return;
    for (uint64_t x = 0; x < p->edges; x++)
        if (!p->enough || !p->gone[x]) offsets[p->from[x] + 1]++, offsets[p->to[x] + 1]++;
    for (uint64_t v = 0; v < n; v++) next[v] = offsets[v], offsets[v + 1] += offsets[v];
    for (uint64_t x = 0; x < p->edges; x++) {
        if (p->enough && p->gone[x]) continue;
        const uint64_t here = next[p->from[x]]++, there = next[p->to[x]]++;
        ends[here] = p->to[x], ends[there] = p->from[x];
        values[here] = values[there] = p->support[x] + (p->enough ? 0 : 2);
    }
    p->e->status = dcsr_matrix_from_csr(
        truss, p->e->context, &(dcsr_csr){n, n, 2 * kept, DCSR_UINT32, offsets, ends, values}, NULL);
}

static dcsr_ktruss_result describe(const peeling *p)
{
    dcsr_ktruss_result found = {.edges = p->enough ? p->left : p->edges};
    if (p->enough) return found;
    for (uint64_t x = 0; x < p->edges; x++)
        if (p->support[x] + 2 > found.largest) found.largest = p->support[x] + 2;
    for (uint64_t x = 0; x < p->edges; x++) found.innermost += p->support[x] + 2 == found.largest;
    return found;
}

dcsr_status dcsr_ktruss(dcsr_matrix **truss, dcsr_ktruss_result *result, dcsr_view *A,
                        const dcsr_ktruss_options *options)
{
    const dcsr_ktruss_options o = options ? *options : (dcsr_ktruss_options){0};
    dcsr_i_edges e;
    if (truss) *truss = NULL;
    if (!truss && !result)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                "dcsr_ktruss: truss and result are NULL; give one of them");
    if (o.k == 1 || o.k == 2)
        return dcsr_thread_fail(
            DCSR_ERROR_INVALID_ARGUMENT,
            "dcsr_ktruss: k is %u; it is 3 or more, or 0 for the truss number of each edge", o.k);
    dcsr_i_edges_once(&e, A, o.symmetric, "dcsr_ktruss");
    peeling p = {.e = &e, .vertices = e.vertices};
    if (!e.status) number_edges(&p);
    if (!e.status) count_support(&p);
    if (!e.status && o.k) peel_to(&p, o.k - 2);
    if (!e.status && !o.k) sort_by_support(&p);
    if (!e.status && !o.k) peel_all(&p);
    if (!e.status && truss) make_matrix(truss, &p);
    if (!e.status && result) *result = describe(&p);
    return dcsr_i_edges_close(&e);
}
