/* kcore.c: core numbers, by peeling.
 *
 * At level k all vertices with at most k edges to what is left are taken away, and those that fall to k thereby, until
 * none is left that has so few. What is left is listed, and looked over once a level: a vertex as often as its core
 * number says, so no more often than it has edges. */
#include "algos/graph/cuda/graph_cuda.h"
#include "algos/graph/edges.h"
#include "algos/graph/found.h"
#include <dcsr/graph.h>
#include <stdatomic.h>
#include <string.h>

enum { PART = 64 };

typedef struct peeling {
    const dcsr_i_edges *e;
    _Atomic uint32_t *degree; /* edges to what is left; of what is gone, at most the level */
    uint32_t *core, *left, *now;
    uint64_t left_count, count;
    dcsr_i_found next;
} peeling;

static inline uint32_t degree_of(const peeling *p, uint32_t v)
{
    return atomic_load_explicit(&p->degree[v], memory_order_relaxed);
}

/* Takes a vertex away: one edge less for its neighbours. Those that fall to the level are next. `own` is NULL where one
 * thread works alone. */
static inline void take(peeling *p, uint32_t v, uint32_t k, dcsr_i_finds *own)
{
    const dcsr_i_ends ends = dcsr_i_edges_of(p->e, v);
    p->core[v] = k;
    for (uint64_t i = 0; i < ends.count; i++) {
        const uint32_t u = ends.vertex[i];
        uint32_t degree = degree_of(p, u);
        if (degree <= k) continue;
        if (!own)
            atomic_store_explicit(&p->degree[u], degree - 1, memory_order_relaxed);
        else
            while (degree > k &&
                   !atomic_compare_exchange_weak_explicit(&p->degree[u], &degree, degree - 1,
                                                          memory_order_relaxed, memory_order_relaxed))
                ;
        if (degree != k + 1) continue;
        if (own)
            dcsr_i_found_add(&p->next, own, u);
        else
            dcsr_i_found_add_alone(&p->next, u);
    }
}

/* Takes away the vertices in `now`; those that fell to the level are in `next`. */
static void take_all(peeling *p, uint32_t k, int threads)
{
    if (threads == 1) {
        for (uint64_t i = 0; i < p->count; i++) take(p, p->now[i], k, NULL);
        return;
    }
#pragma omp parallel num_threads(threads)
    {
        dcsr_i_finds own;
        own.count = 0;
#pragma omp for schedule(dynamic, PART)
        for (uint64_t i = 0; i < p->count; i++) take(p, p->now[i], k, &own);
        dcsr_i_found_flush(&p->next, &own);
    }
}

/* Drops from `left` what the level before took, and lists those of the least degree, which is returned. */
static uint32_t next_level(peeling *p, uint32_t done)
{
    uint32_t least = UINT32_MAX;
    uint64_t kept = 0;
    for (uint64_t i = 0; i < p->left_count; i++) {
        const uint32_t v = p->left[i], degree = degree_of(p, v);
        /* At level 0 nothing is done yet. */
        if (degree <= done && done != UINT32_MAX) continue;
        p->left[kept++] = v;
        if (degree < least) least = degree;
    }
    p->left_count = kept;
    p->count = 0;
    for (uint64_t i = 0; i < kept; i++)
        if (degree_of(p, p->left[i]) == least) p->now[p->count++] = p->left[i];
    return least;
}

static void peel(peeling *p, dcsr_kcore_result *found)
{
    const uint64_t n = p->e->vertices, mean = n ? 1 + p->e->count / n : 1;
    uint32_t k = UINT32_MAX;
    while (k = next_level(p, k), p->count) {
        found->largest = k;
        found->vertices = p->left_count;
        while (p->count) {
            take_all(p, k, dcsr_i_edges_threads(p->e, p->count * mean));
            p->count = dcsr_i_found_turn(&p->next, &p->now);
        }
    }
}

dcsr_status dcsr_kcore(uint32_t *core, dcsr_kcore_result *result, dcsr_view *A,
                       const dcsr_graph_options *options)
{
    dcsr_i_edges e;
    dcsr_view_shape shape;
    if (!core && !result)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                "dcsr_kcore: core and result are NULL; give one of them");
    const dcsr_status status = dcsr_view_get_shape(A, &shape);
    if (status) return status;
    if (shape.device == DCSR_DEVICE_CUDA) return dcsr_i_graph_device->kcore(core, result, A, options);
    dcsr_i_edges_once(&e, A, options && options->symmetric, "dcsr_kcore");
    const uint64_t n = e.vertices;
    peeling p = {.e = &e, .left_count = n};
    p.degree = dcsr_i_edges_take(&e, n, sizeof *p.degree);
    p.core = dcsr_i_edges_take(&e, n, sizeof *p.core);
    p.left = dcsr_i_edges_take(&e, n, sizeof *p.left);
    p.now = dcsr_i_edges_take(&e, n, sizeof *p.now);
    p.next.at = dcsr_i_edges_take(&e, n, sizeof(uint32_t));
    if (!e.status) {
        dcsr_kcore_result found = {0};
        const int threads = dcsr_i_edges_threads(&e, e.count + n);
#pragma omp parallel for schedule(dynamic, 1024) num_threads(threads) if (threads > 1)
        for (uint64_t v = 0; v < n; v++) {
            const dcsr_i_ends ends = dcsr_i_edges_of(&e, v);
            uint32_t degree = (uint32_t)ends.count;
            for (uint64_t k = 0; k < ends.count; k++) degree -= ends.vertex[k] == v;
            atomic_init(&p.degree[v], degree);
            p.left[v] = (uint32_t)v;
        }
        peel(&p, &found);
        if (core) memcpy(core, p.core, n * sizeof *core);
        if (result) *result = found;
    }
    return dcsr_i_edges_close(&e);
}
