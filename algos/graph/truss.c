/* truss.c: k-trusses, by peeling edges (Cohen 2008), level by level and in parallel (Kabir, Madduri 2017).
 *
 * The support of an edge is the number of triangles that it is in. Edges with too little are taken away, all at once;
 * each takes its triangles away, and with them support from two other edges, which are the next to go where that is
 * too little. For truss numbers too little is the least that there is, then the next larger, and so on. An edge that
 * goes does not go below that level, and of two that go together the one with the lower number takes their triangle
 * away: so support is the same for any number of threads.
 *
 * For one k what is left is in the (k-1)-core, so what lies outside goes first, without looking for triangles.
 *
 * Support is the masked product  S<E> = E E  over plus-pair: of each edge, the list of the end of lower degree is
 * looked up in the bits of the other's. */
#include "algos/graph/cuda/graph_cuda.h"
#include "algos/graph/edges.h"
#include "algos/graph/found.h"
#include <dcsr/convert.h>
#include <dcsr/graph.h>
#include <omp.h>
#include <string.h>

enum { PART = 64, MUCH = 8 };
/* Of an edge: it is there, it goes, it has gone. */
enum { STAYS, GOES, GONE };

typedef struct peeling {
    const dcsr_ktruss_options *options;
    dcsr_i_edges *e;
    uint64_t vertices, edges;
    uint64_t *begin, *last; /* of the list of each vertex, in which edges stay until somebody comes by */
    uint32_t *end, *edge;   /* the other ends, ascending, and the numbers of the edges */
    uint32_t *from, *to, *support;
    uint8_t *state;   /* of an edge */
    uint8_t *outside; /* of a vertex: not in the core; NULL: all are in it */
    uint64_t left;    /* edges */
    uint32_t enough;  /* support, for one k; 0: truss numbers are wanted */
    uint32_t *stay;   /* edges, and all that are left are among them */
    uint64_t stays;
    uint32_t *going;   /* edges of this step */
    dcsr_i_found next; /* and of the one after it */
} peeling;

static inline uint64_t degree_of(const peeling *p, uint64_t v)
{
    return p->last[v] - p->begin[v];
}

static inline bool is_outside(const peeling *p, uint64_t v)
{
    return p->outside && p->outside[v];
}

/* Takes vertices with fewer than `least` neighbours away, until there are none. */
static void leave_core(peeling *p, uint32_t least)
{
    const uint64_t n = p->vertices;
    uint32_t *degree = dcsr_i_edges_take(p->e, n, sizeof *degree);
    uint32_t *queue = dcsr_i_edges_take(p->e, n, sizeof *queue);
    uint64_t queued = 0;
    p->outside = dcsr_i_edges_take(p->e, n, sizeof *p->outside);
    if (p->e->status) return;
    for (uint64_t v = 0; v < n; v++) {
        const dcsr_i_ends ends = dcsr_i_edges_of(p->e, v);
        degree[v] = (uint32_t)ends.count; /* loops count, too: that leaves some that are outside */
        if (degree[v] < least) p->outside[v] = 1, queue[queued++] = (uint32_t)v;
    }
    for (uint64_t i = 0; i < queued; i++) {
        const dcsr_i_ends ends = dcsr_i_edges_of(p->e, queue[i]);
        for (uint64_t k = 0; k < ends.count; k++) {
            const uint32_t v = ends.vertex[k];
            if (degree[v]-- == least && !p->outside[v]) p->outside[v] = 1, queue[queued++] = v;
        }
    }
}

dcsr_status dcsr_i_ktruss_refuse(uint64_t edges)
{
    return dcsr_thread_fail(DCSR_ERROR_TOO_LARGE, "dcsr_ktruss: %llu edges; at most 2^32 - 1",
                            (unsigned long long)edges);
}

/* Numbers the edges u - v, u < v, of the core, in order, each once, and lists them at both ends. */
static void number_edges(peeling *p)
{
    const dcsr_i_edges *e = p->e;
    const uint64_t n = p->vertices;
    p->last = dcsr_i_edges_take(p->e, n + 1, sizeof *p->last);
    p->begin = dcsr_i_edges_take(p->e, n + 1, sizeof *p->begin);
    if (e->status) return;
    for (uint64_t u = 0; u < n; u++) {
        if (is_outside(p, u)) continue;
        const dcsr_i_ends ends = dcsr_i_edges_of(e, u);
        for (uint64_t k = 0; k < ends.count; k++)
            if (ends.vertex[k] > u && !is_outside(p, ends.vertex[k]))
                p->begin[u + 1]++, p->begin[ends.vertex[k] + 1]++, p->edges++;
    }
    if (p->edges > UINT32_MAX) {
        p->e->status = dcsr_i_ktruss_refuse(p->edges);
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
        if (is_outside(p, u)) continue;
        const dcsr_i_ends ends = dcsr_i_edges_of(e, u);
        for (uint64_t k = 0; k < ends.count; k++) {
            const uint32_t v = ends.vertex[k];
            if (v <= u || is_outside(p, v)) continue;
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
    p->state = dcsr_i_edges_take(p->e, p->edges, sizeof *p->state);
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

/* ---- Peeling ---- */

/* The edge between two vertices, or UINT32_MAX. */
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
    return low == p->last[u] || p->end[low] != v ? UINT32_MAX : p->edge[low];
}

/* Takes a triangle from an edge that stays; where that leaves it `level`, it goes in the next step. It never has less:
 * a thread that comes too late gives back what it took. */
static inline void lower(peeling *p, uint32_t x, uint32_t level, bool shared, dcsr_i_finds *found)
{
    uint32_t had = __atomic_load_n(&p->support[x], __ATOMIC_RELAXED);
    if (had <= level) return;
    if (shared)
        had = __atomic_fetch_sub(&p->support[x], 1, __ATOMIC_RELAXED);
    else
        p->support[x] = had - 1;
    if (had <= level) __atomic_fetch_add(&p->support[x], 1, __ATOMIC_RELAXED);
    if (had != level + 1) return;
    dcsr_i_found_add(&p->next, found, x);
}

/* Takes a triangle of edge x away from the two others. */
static inline void take_triangle(peeling *p, uint32_t x, uint32_t side, uint32_t third, uint32_t level,
                                 bool shared, dcsr_i_finds *found)
{
    if (p->state[side] == GONE || p->state[third] == GONE) return;
    const bool first = p->state[side] == STAYS, second = p->state[third] == STAYS;
    if (first && (second || x < third)) lower(p, side, level, shared, found);
    if (second && (first || x < side)) lower(p, third, level, shared, found);
}

/* Takes all triangles of an edge: the two lists are merged, or the shorter one is looked up in a much longer one. */
static void take_triangles(peeling *p, uint32_t x, uint32_t level, bool shared, dcsr_i_finds *found)
{
    const bool swap = degree_of(p, p->from[x]) > degree_of(p, p->to[x]);
    const uint32_t few = swap ? p->to[x] : p->from[x], many = swap ? p->from[x] : p->to[x];
    const uint32_t *end = p->end, *edge = p->edge;
    uint64_t i = p->begin[few], k = p->begin[many];
    const uint64_t i_end = p->last[few], k_end = p->last[many];
    if (k_end - k < MUCH * (i_end - i)) {
        while (i < i_end && k < k_end) {
            const uint32_t a = end[i], b = end[k];
            if (a == b) take_triangle(p, x, edge[i], edge[k], level, shared, found);
            i += a <= b;
            k += b <= a;
        }
        return;
    }
    for (; i < i_end; i++) {
        const uint32_t third = p->state[edge[i]] == GONE ? UINT32_MAX : find_edge(p, many, end[i]);
        if (third != UINT32_MAX) take_triangle(p, x, edge[i], third, level, shared, found);
    }
}

/* All edges that go take their triangles with them, and then those that have come to have too little. */
static void take_away(peeling *p, uint64_t count, uint32_t level)
{
    while (count) {
        const int threads = dcsr_i_edges_threads(p->e, count * PART);
#pragma omp parallel num_threads(threads) if (threads > 1)
        {
            dcsr_i_finds found;
            found.count = 0;
#pragma omp for schedule(static)
            for (uint64_t i = 0; i < count; i++) p->state[p->going[i]] = GOES;
#pragma omp for schedule(dynamic, PART)
            for (uint64_t i = 0; i < count; i++)
                if (p->support[p->going[i]]) take_triangles(p, p->going[i], level, threads > 1, &found);
            dcsr_i_found_flush(&p->next, &found);
#pragma omp for schedule(static)
            for (uint64_t i = 0; i < count; i++) {
                p->state[p->going[i]] = GONE;
                if (!p->enough) p->support[p->going[i]] = level;
            }
        }
        p->left -= count;
        if (p->options->progress) p->options->progress(p->options->user, p->edges - p->left, p->edges);
        count = dcsr_i_found_turn(&p->next, &p->going);
    }
}

/* Strikes off what has gone, of the list of edges and of those of vertices. */
static void strike_off(peeling *p)
{
    const int threads = dcsr_i_edges_threads(p->e, p->stays);
    uint64_t stays = 0;
    for (uint64_t i = 0; i < p->stays; i++)
        if (p->state[p->stay[i]] != GONE) p->stay[stays++] = p->stay[i];
    p->stays = stays;
#pragma omp parallel for schedule(dynamic, PART) num_threads(threads) if (threads > 1)
    for (uint64_t v = 0; v < p->vertices; v++) {
        uint64_t kept = p->begin[v];
        for (uint64_t i = p->begin[v]; i < p->last[v]; i++)
            if (p->state[p->edge[i]] != GONE) p->end[kept] = p->end[i], p->edge[kept++] = p->edge[i];
        p->last[v] = kept;
    }
}

/* Lists the edges that stay with support up to `level`, and tells the least above it. */
static uint64_t list_going(peeling *p, uint32_t level, uint32_t *above)
{
    const int threads = dcsr_i_edges_threads(p->e, p->stays);
    uint32_t least = UINT32_MAX;
#pragma omp parallel num_threads(threads) reduction(min : least) if (threads > 1)
    {
        dcsr_i_finds found;
        found.count = 0;
#pragma omp for schedule(static)
        for (uint64_t i = 0; i < p->stays; i++) {
            const uint32_t x = p->stay[i], support = p->support[x];
            if (p->state[x] == GONE) continue;
            if (support > level) {
                if (support < least) least = support;
                continue;
            }
            dcsr_i_found_add(&p->next, &found, x);
        }
        dcsr_i_found_flush(&p->next, &found);
    }
    *above = least;
    return dcsr_i_found_turn(&p->next, &p->going);
}

static void take_lists(peeling *p)
{
    p->stay = dcsr_i_edges_take(p->e, p->edges, sizeof *p->stay);
    p->going = dcsr_i_edges_take(p->e, p->edges, sizeof *p->going);
    p->next.at = dcsr_i_edges_take(p->e, p->edges, sizeof(uint32_t));
    p->stays = p->edges;
    if (p->e->status) return;
    for (uint64_t x = 0; x < p->edges; x++) p->stay[x] = (uint32_t)x;
}

/* Leaves the edges that have enough support among themselves; their support is then what they have there. */
static void peel_to(peeling *p, uint32_t enough)
{
    uint32_t above;
    take_lists(p);
    if (p->e->status) return;
    take_away(p, list_going(p, enough - 1, &above), enough - 1);
}

/* Takes all edges away; of each, support becomes the level at which it went, its truss number less 2. */
static void peel_all(peeling *p)
{
    take_lists(p);
    if (p->e->status) return;
    for (uint32_t level = 0, above; p->left;) {
        const uint64_t count = list_going(p, level, &above);
        take_away(p, count, level);
        if (p->left < p->stays / 8 * 7) strike_off(p);
        level = count ? level + 1 : above; /* those above it may have come down */
    }
}

/* ---- Results ---- */

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
        if (!p->enough || p->state[x] != GONE) offsets[p->from[x] + 1]++, offsets[p->to[x] + 1]++;
    for (uint64_t v = 0; v < n; v++) next[v] = offsets[v], offsets[v + 1] += offsets[v];
    for (uint64_t x = 0; x < p->edges; x++) {
        if (p->enough && p->state[x] == GONE) continue;
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

static void peel_on_host(dcsr_i_edges *e, dcsr_matrix **truss, dcsr_ktruss_result *result,
                         const dcsr_ktruss_options *o)
{
    peeling p = {.options = o, .e = e, .vertices = e->vertices, .enough = o->k ? o->k - 2 : 0};
    if (!e->status && o->k) leave_core(&p, o->k - 1);
    if (!e->status) number_edges(&p);
    if (!e->status) count_support(&p);
    if (!e->status && o->k) peel_to(&p, o->k - 2);
    if (!e->status && !o->k) peel_all(&p);
    if (!e->status && truss) make_matrix(truss, &p);
    if (!e->status && result) *result = describe(&p);
}

dcsr_status dcsr_ktruss(dcsr_matrix **truss, dcsr_ktruss_result *result, dcsr_view *A,
                        const dcsr_ktruss_options *options)
{
    const dcsr_ktruss_options o = options ? *options : (dcsr_ktruss_options){0};
    dcsr_view_shape shape;
    dcsr_i_edges e;
    if (truss) *truss = NULL;
    if (!truss && !result)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                "dcsr_ktruss: truss and result are NULL; give one of them");
    if (o.k == 1 || o.k == 2)
        return dcsr_thread_fail(
            DCSR_ERROR_INVALID_ARGUMENT,
            "dcsr_ktruss: k is %u; it is 3 or more, or 0 for the truss number of each edge", o.k);
    dcsr_status status = dcsr_view_get_shape(A, &shape);
    if (status) return status;
    const bool there = shape.device == DCSR_DEVICE_CUDA;
    if (!dcsr_i_edges_open(&e, A, there, DCSR_I_EDGES_ONCE, o.symmetric, "dcsr_ktruss"))
        (there ? dcsr_i_graph_device->ktruss : peel_on_host)(&e, truss, result, &o);
    status = dcsr_i_edges_close(&e);
    if (status && truss) {
        dcsr_matrix_destroy(*truss);
        *truss = NULL;
    }
    return status;
}
