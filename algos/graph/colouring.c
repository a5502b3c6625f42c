/* colouring.c: a greedy colouring, by the method of Jones and Plassmann (1993).
 *
 * A vertex gets its colour when all of its neighbours that precede it have theirs: the least that none of them has. So
 * the colours are those of a walk over all vertices in order, whoever comes first. Vertices of many edges precede, by
 * powers of two, those of as many in an order at random: that takes few colours, and few rounds (Hasenplaugh, Kaler,
 * Schardl, Leiserson 2014). */
#include "algos/graph/cuda/graph_cuda.h"
#include "algos/graph/edges.h"
#include "algos/graph/found.h"
#include "algos/graph/random_order.h"
#include <dcsr/graph.h>
#include <omp.h>
#include <stdatomic.h>
#include <string.h>

enum { PART = 64 };

typedef struct painting {
    dcsr_i_edges *e;
    uint64_t *key; /* vertices by descending keys, of the same key ascending */
    uint32_t *colour;
    _Atomic uint32_t *pending; /* neighbours that precede and have no colour yet */
    uint32_t *now;
    uint64_t count;
    dcsr_i_found next;
    uint32_t *used; /* of each thread: used[c] is 1 + the vertex whose neighbours have the colour */
    uint64_t longest;
} painting;

static inline bool precedes(const painting *p, uint32_t u, uint32_t v)
{
    return p->key[u] > p->key[v] || (p->key[u] == p->key[v] && u < v);
}

static void make_keys(painting *p, uint64_t seed, int threads)
{
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (uint64_t v = 0; v < p->e->vertices; v++)
        p->key[v] = dcsr_i_graph_degree_key(seed, v, dcsr_i_edges_of(p->e, v).count);
}

/* Gives v its colour. */
static void paint(painting *p, uint32_t v, uint32_t *used)
{
    const dcsr_i_ends ends = dcsr_i_edges_of(p->e, v);
    uint32_t colour = 0;
    for (uint64_t k = 0; k < ends.count; k++) {
        const uint32_t u = ends.vertex[k];
        if (u != v && precedes(p, u, v)) used[p->colour[u]] = v + 1;
    }
    while (used[colour] == v + 1) colour++;
    p->colour[v] = colour;
}

/* Tells those behind v that it has its colour. */
static void release(painting *p, uint32_t v, dcsr_i_finds *own)
{
    const dcsr_i_ends ends = dcsr_i_edges_of(p->e, v);
    for (uint64_t k = 0; k < ends.count; k++) {
        const uint32_t u = ends.vertex[k];
        if (u == v || precedes(p, u, v)) continue;
        /* What v has written is for whoever is the last to come by. */
        if (atomic_fetch_sub_explicit(&p->pending[u], 1, memory_order_acq_rel) != 1) continue;
        dcsr_i_found_add(&p->next, own, u);
    }
}

static void step(painting *p, int threads)
{
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        uint32_t *used = p->used + p->longest * (uint64_t)omp_get_thread_num();
        dcsr_i_finds own;
        own.count = 0;
#pragma omp for schedule(dynamic, PART)
        for (uint64_t i = 0; i < p->count; i++) {
            paint(p, p->now[i], used);
            release(p, p->now[i], &own);
        }
        dcsr_i_found_flush(&p->next, &own);
    }
    p->count = dcsr_i_found_turn(&p->next, &p->now);
}

/* Counts who precedes whom, and lists those whom nobody does. */
static void prepare(painting *p, int threads)
{
    const uint64_t n = p->e->vertices;
#pragma omp parallel for schedule(dynamic, PART) num_threads(threads) if (threads > 1)
    for (uint64_t v = 0; v < n; v++) {
        const dcsr_i_ends ends = dcsr_i_edges_of(p->e, v);
        uint32_t before = 0;
        for (uint64_t k = 0; k < ends.count; k++) {
            const uint32_t u = ends.vertex[k];
            before += u != v && precedes(p, u, (uint32_t)v);
        }
        atomic_store_explicit(&p->pending[v], before, memory_order_relaxed);
    }
    for (uint64_t v = 0; v < n; v++)
        if (!atomic_load_explicit(&p->pending[v], memory_order_relaxed)) p->now[p->count++] = (uint32_t)v;
}

static void paint_on_host(dcsr_i_edges *e, uint32_t *colour, uint64_t seed, uint64_t *colours)
{
    const uint64_t n = e->vertices, mean = n ? 1 + e->count / n : 1;
    const int threads = dcsr_i_edges_threads(e, e->count + n);
    painting p = {.e = e};
    for (uint64_t v = 0; v < n; v++)
        if (dcsr_i_edges_of(e, v).count + 2 > p.longest) p.longest = dcsr_i_edges_of(e, v).count + 2;
    p.key = dcsr_i_edges_take(e, n, sizeof *p.key);
    p.colour = dcsr_i_edges_take(e, n, sizeof *p.colour);
    p.pending = dcsr_i_edges_take(e, n, sizeof *p.pending);
    p.now = dcsr_i_edges_take(e, n, sizeof *p.now);
    p.next.at = dcsr_i_edges_take(e, n, sizeof(uint32_t));
    p.used = dcsr_i_edges_take(e, p.longest * (uint64_t)threads, sizeof *p.used);
    if (e->status) return;
    make_keys(&p, seed, threads);
    prepare(&p, threads);
    while (p.count) {
        const int wanted = dcsr_i_edges_threads(e, p.count * mean);
        step(&p, wanted < threads ? wanted : threads);
    }
    for (uint64_t v = 0; v < n; v++)
        if (p.colour[v] >= *colours) *colours = (uint64_t)p.colour[v] + 1;
    if (colour) memcpy(colour, p.colour, n * sizeof *colour);
}

dcsr_status dcsr_colouring(uint32_t *colour, dcsr_colouring_result *result, dcsr_view *A,
                           const dcsr_random_options *options)
{
    const dcsr_random_options o = options ? *options : (dcsr_random_options){0};
    dcsr_view_shape shape;
    dcsr_i_edges e;
    dcsr_colouring_result found = {0};
    if (!colour && !result)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                "dcsr_colouring: colour and result are NULL; give one of them");
    const dcsr_status status = dcsr_view_get_shape(A, &shape);
    if (status) return status;
    const bool there = shape.device == DCSR_DEVICE_CUDA;
    if (!dcsr_i_edges_open(&e, A, there, DCSR_I_EDGES_ONCE, o.symmetric, "dcsr_colouring"))
        (there ? dcsr_i_graph_device->colouring : paint_on_host)(&e, colour, dcsr_i_graph_mix(o.seed),
                                                                 &found.colours);
    if (!e.status && result) *result = found;
    return dcsr_i_edges_close(&e);
}
