/* bfs_parents.c: the tree of a breadth-first search, from its levels.
 *
 * With levels known, any vertex one level above with an edge to v may be its parent; the least of them is the same
 * whoever looks, in whatever order. */
#include "algos/graph/cuda/graph_cuda.h"
#include "algos/graph/edges.h"
#include <dcsr/bfs.h>
#include <stdatomic.h>
#include <string.h>

enum { PART = 1024 };

/* Each vertex looks among those with an edge to it, which ascend. */
static void pull(_Atomic uint32_t *parent, const int32_t *level, const dcsr_i_edges *in)
{
    const int threads = dcsr_i_edges_threads(in, in->count);
#pragma omp parallel for schedule(dynamic, PART) num_threads(threads) if (threads > 1)
    for (uint64_t v = 0; v < in->vertices; v++) {
        if (level[v] <= 0) continue;
        const dcsr_i_ends ends = dcsr_i_edges_of(in, v);
        uint64_t k = 0;
        while (k < ends.count && level[ends.vertex[k]] != level[v] - 1) k++;
        if (k < ends.count) atomic_store_explicit(&parent[v], ends.vertex[k], memory_order_relaxed);
    }
}

/* Each vertex offers itself to those that it has an edge to. */
static void push(_Atomic uint32_t *parent, const int32_t *level, const dcsr_i_edges *out)
{
    const int threads = dcsr_i_edges_threads(out, out->count);
#pragma omp parallel for schedule(dynamic, PART) num_threads(threads) if (threads > 1)
    for (uint64_t u = 0; u < out->vertices; u++) {
        if (level[u] < 0) continue;
        const dcsr_i_ends ends = dcsr_i_edges_of(out, u);
        for (uint64_t k = 0; k < ends.count; k++) {
            const uint32_t v = ends.vertex[k];
            if (level[v] <= 0 || level[v] - 1 != level[u]) continue;
            uint32_t now = atomic_load_explicit(&parent[v], memory_order_relaxed);
            while (u < now && !atomic_compare_exchange_weak_explicit(
                                  &parent[v], &now, (uint32_t)u, memory_order_relaxed, memory_order_relaxed))
                ;
        }
    }
}

/* *orphan becomes the first vertex that has a level and no parent; without one the parents are written. */
static void find_on_host(dcsr_i_edges *e, uint32_t *parent, const int32_t *level, bool columns,
                         uint32_t *orphan, int32_t *its_level)
{
    const uint64_t n = e->vertices;
    _Atomic uint32_t *made = dcsr_i_edges_take(e, n, sizeof *made);
    if (e->status) return;
    for (uint64_t v = 0; v < n; v++) atomic_init(&made[v], DCSR_NO_VERTEX);
    (columns ? pull : push)(made, level, e);
    for (uint64_t v = 0; v < n; v++) {
        if (level[v] <= 0 || made[v] != DCSR_NO_VERTEX) continue;
        *orphan = (uint32_t)v;
        *its_level = level[v];
        return;
    }
    memcpy(parent, (const void *)made, n * sizeof *parent);
}

dcsr_status dcsr_bfs_parents(uint32_t *parent, const int32_t *level, dcsr_view *A)
{
    dcsr_view_shape shape;
    dcsr_i_edges e;
    uint32_t orphan = DCSR_NO_VERTEX;
    int32_t its_level = 0;
    if (!parent || !level)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_bfs_parents: %s is NULL",
                                parent ? "level" : "parent");
    dcsr_status status = dcsr_view_get_shape(A, &shape);
    if (status) return status;
    const bool columns = shape.layout == DCSR_LAYOUT_CSC;
    if (shape.device == DCSR_DEVICE_CUDA) {
        const dcsr_i_edges_kind kind = columns ? DCSR_I_EDGES_IN : DCSR_I_EDGES_OUT;
        if (!dcsr_i_edges_on_device(&e, A, kind, false, "dcsr_bfs_parents"))
            dcsr_i_graph_device->bfs_parents(&e, parent, level, columns, &orphan, &its_level);
    } else {
        (columns ? dcsr_i_edges_in : dcsr_i_edges_out)(&e, A, "dcsr_bfs_parents");
        find_on_host(&e, parent, level, columns, &orphan, &its_level);
    }
    if (!e.status && orphan != DCSR_NO_VERTEX)
        e.status = dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                    "dcsr_bfs_parents: vertex %u has the level %d, but no vertex above has "
                                    "an edge to it; give the levels of a search of this view",
                                    orphan, its_level);
    return dcsr_i_edges_close(&e);
}
