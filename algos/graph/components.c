/* components.c: weakly connected components (Afforest).
 *
 * parent[v] <= v always, so that parents form trees, and the root of a finished one is the least vertex of its
 * component: whatever the order in which threads link, the result is the same. */
#include "algos/graph/cuda/graph_cuda.h"
#include "algos/graph/random_order.h"
#include <stdatomic.h>
#include <string.h>

enum { ROUNDS = 2, SAMPLES = 1024, PART = 1024 };

typedef _Atomic uint32_t tree;

static inline uint32_t get(const tree *v)
{
    return atomic_load_explicit(v, memory_order_relaxed);
}

/* Brings the trees of two vertices together: the root that is higher is hung below a vertex of the other tree. */
static inline void join(tree *parent, uint32_t u, uint32_t v)
{
    uint32_t p = get(&parent[u]), q = get(&parent[v]);
    while (p != q) {
        uint32_t high = p > q ? p : q, low = p > q ? q : p, above = get(&parent[high]);
        if (above == low) return;
        if (above == high && atomic_compare_exchange_weak_explicit(
                                 &parent[high], &above, low, memory_order_relaxed, memory_order_relaxed))
            return;
        p = get(&parent[get(&parent[high])]);
        q = get(&parent[low]);
    }
}

/* Hangs every vertex below its root. */
static void flatten(tree *parent, uint64_t n, int threads)
{
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (uint64_t v = 0; v < n; v++) {
        uint32_t root = get(&parent[v]);
        while (get(&parent[root]) != root) root = get(&parent[root]);
        atomic_store_explicit(&parent[v], root, memory_order_relaxed);
    }
}

/* The root that most of some vertices have. */
static uint32_t most_frequent(const tree *parent, uint64_t n)
{
    uint32_t best = 0, seen[SAMPLES];
    int most = 0;
    for (int i = 0; i < SAMPLES; i++) seen[i] = get(&parent[dcsr_i_graph_mix((uint64_t)i) % n]);
    for (int i = 0; i < SAMPLES && SAMPLES - i > most; i++) {
        int count = 0;
        for (int k = i; k < SAMPLES; k++) count += seen[k] == seen[i];
        if (count > most) most = count, best = seen[i];
    }
    return best;
}

/* One edge of each vertex, the round-th. */
static void link_round(tree *parent, const dcsr_i_edges *e, uint64_t round, int threads)
{
#pragma omp parallel for schedule(dynamic, PART) num_threads(threads) if (threads > 1)
    for (uint64_t v = 0; v < e->vertices; v++) {
        const dcsr_i_ends ends = dcsr_i_edges_of(e, v);
        if (round < ends.count) join(parent, (uint32_t)v, ends.vertex[round]);
    }
}

/* Edges from the first-th on, of all vertices but those of the tree to skip. */
static void link_rest(tree *parent, const dcsr_i_edges *e, uint64_t first, uint32_t skip, int threads)
{
#pragma omp parallel for schedule(dynamic, PART) num_threads(threads) if (threads > 1)
    for (uint64_t v = 0; v < e->vertices; v++) {
        if (get(&parent[v]) == skip) continue;
        const dcsr_i_ends ends = dcsr_i_edges_of(e, v);
        for (uint64_t k = first; k < ends.count; k++) join(parent, (uint32_t)v, ends.vertex[k]);
    }
}

static dcsr_components_result measure(const tree *parent, uint32_t *size, uint64_t n)
{
    dcsr_components_result found = {0};
    for (uint64_t v = 0; v < n; v++) size[get(&parent[v])]++;
    for (uint64_t v = 0; v < n; v++) {
        found.components += size[v] != 0;
        if (size[v] > found.largest) found.largest = size[v], found.largest_name = v;
    }
    return found;
}

void dcsr_i_components(dcsr_i_edges *e, const dcsr_i_edges *in, bool symmetric, uint32_t *component,
                       dcsr_components_result *result)
{
    const uint64_t n = e->vertices;
    tree *parent = dcsr_i_edges_take(e, n, sizeof *parent);
    uint32_t *size = result ? dcsr_i_edges_take(e, n, sizeof *size) : NULL;
    if (e->status) return;
    const int threads = dcsr_i_edges_threads(e, e->count + n);
    for (uint64_t v = 0; v < n; v++) atomic_init(&parent[v], (uint32_t)v);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        link_round(parent, e, round, threads);
        flatten(parent, n, threads);
    }
    const uint32_t skip = n && symmetric ? most_frequent(parent, n) : UINT32_MAX;
    link_rest(parent, e, ROUNDS, skip, threads);
    if (in) link_rest(parent, in, 0, skip, threads);
    flatten(parent, n, threads);
    if (result) *result = measure(parent, size, n);
    if (component) memcpy(component, (const void *)parent, n * sizeof *component);
}

dcsr_status dcsr_components(uint32_t *component, dcsr_components_result *result, dcsr_view *A,
                            const dcsr_graph_options *options)
{
    dcsr_view_shape shape;
    dcsr_i_edges out, in = {0};
    if (!component && !result)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                "dcsr_components: component and result are NULL; give one of them");
    dcsr_status status = dcsr_view_get_shape(A, &shape);
    if (status) return status;
    if (shape.device == DCSR_DEVICE_CUDA)
        return dcsr_i_graph_device->components(component, result, A, options);
    const bool symmetric = options && options->symmetric,
               both = !symmetric && shape.layout == DCSR_LAYOUT_CSC;
    dcsr_i_edges_out(&out, A, "dcsr_components");
    if (!out.status && both) out.status = dcsr_i_edges_in(&in, A, "dcsr_components");
    dcsr_i_components(&out, both ? &in : NULL, symmetric || both, component, result);
    if (both) dcsr_i_edges_close(&in);
    return dcsr_i_edges_close(&out);
}
