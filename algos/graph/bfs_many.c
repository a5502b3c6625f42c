/* bfs_many.c: breadth-first search from many vertices at once (Then, Kaufmann, Chirigati, Hoang-Vu, Pham, Kemper,
 * Neumann, Vo 2015).
 *
 * Of 64 sources at a time, each vertex has a word of bits, one a source: a level is the product of the graph with a
 * Boolean matrix of 64 columns, masked by what has been seen:
 *
 *      next = frontier A  and not seen
 *
 * It pushes from the vertices of the frontier, or pulls into all that some source has not reached. */
#include "algos/graph/cuda/graph_cuda.h"
#include "algos/graph/edges.h"
#include "algos/graph/found.h"
#include <dcsr/bfs.h>
#include <stdatomic.h>
#include <string.h>

enum { SOURCES = 64, PART = 256 };
/* The frontier is pulled where its edges are more than this part of all. */
enum { PULL = 8 };

typedef struct search {
    const dcsr_i_edges *out, *in; /* in: NULL where there is no way back */
    uint64_t *seen, *visit;
    _Atomic uint64_t *next;
    uint32_t *now; /* vertices with bits in visit */
    uint64_t count;
    dcsr_i_found found; /* in next */
    uint64_t all;       /* a bit for each source */
    int32_t depth;
    int32_t *level;
    dcsr_bfs_result result[SOURCES];
} search;

/* Hands the bits of u on. */
static void push_from(search *s, uint32_t u, dcsr_i_finds *own)
{
    const dcsr_i_ends ends = dcsr_i_edges_of(s->out, u);
    const uint64_t bits = s->visit[u];
    for (uint64_t k = 0; k < ends.count; k++) {
        const uint32_t v = ends.vertex[k];
        const uint64_t add = bits & ~s->seen[v];
        if (!(add & ~atomic_load_explicit(&s->next[v], memory_order_relaxed))) continue;
        if (atomic_fetch_or_explicit(&s->next[v], add, memory_order_relaxed)) continue;
        dcsr_i_found_add(&s->found, own, v);
    }
}

static void pull_into(search *s, uint32_t v, dcsr_i_finds *own)
{
    const uint64_t left = s->all & ~s->seen[v];
    if (!left) return;
    const dcsr_i_ends ends = dcsr_i_edges_of(s->in, v);
    uint64_t bits = 0;
    for (uint64_t k = 0; k < ends.count && bits != left; k++) bits |= s->visit[ends.vertex[k]] & left;
    if (!bits) return;
    atomic_store_explicit(&s->next[v], bits, memory_order_relaxed);
    dcsr_i_found_add(&s->found, own, v);
}

/* Finds the next frontier. */
static void step(search *s)
{
    const uint64_t n = s->out->vertices;
    uint64_t edges = 0;
    for (uint64_t i = 0; i < s->count; i++) edges += dcsr_i_edges_of(s->out, s->now[i]).count;
    const bool pull = s->in && edges > s->out->count / PULL;
    const uint64_t vertices = pull ? n : s->count;
    const int threads = dcsr_i_edges_threads(s->out, pull ? s->in->count : edges);
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        dcsr_i_finds own;
        own.count = 0;
#pragma omp for schedule(dynamic, PART)
        for (uint64_t i = 0; i < vertices; i++)
            if (pull)
                pull_into(s, (uint32_t)i, &own);
            else
                push_from(s, s->now[i], &own);
        dcsr_i_found_flush(&s->found, &own);
    }
}

/* Makes the vertices that were found the frontier, and gives them their level. */
static void record(search *s)
{
    const uint64_t n = s->out->vertices, count = s->found.count;
    const int threads = dcsr_i_edges_threads(s->out, count);
    for (uint64_t i = 0; i < s->count; i++) s->visit[s->now[i]] = 0;
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        uint64_t reached[SOURCES] = {0}, edges[SOURCES] = {0};
#pragma omp for schedule(static)
        for (uint64_t i = 0; i < count; i++) {
            const uint32_t v = s->found.at[i];
            const uint64_t bits = atomic_load_explicit(&s->next[v], memory_order_relaxed);
            const uint64_t degree = dcsr_i_edges_of(s->out, v).count;
            atomic_store_explicit(&s->next[v], 0, memory_order_relaxed);
            s->visit[v] = bits;
            s->seen[v] |= bits;
            for (uint64_t rest = bits; rest; rest &= rest - 1) {
                const int source = __builtin_ctzll(rest);
                reached[source]++;
                edges[source] += degree;
                if (s->level) s->level[(uint64_t)source * n + v] = s->depth;
            }
        }
#pragma omp critical(dcsr_i_bfs_many)
        for (int k = 0; k < SOURCES; k++) {
            if (!reached[k]) continue;
            s->result[k].reached += reached[k];
            s->result[k].edges += edges[k];
            s->result[k].level_sum += reached[k] * (uint64_t)s->depth;
            s->result[k].max_level = (uint64_t)s->depth;
        }
    }
    s->count = dcsr_i_found_turn(&s->found, &s->now);
}

/* From up to 64 sources. */
static void search_from(search *s, const uint64_t *sources, uint64_t count)
{
    const uint64_t n = s->out->vertices;
    memset(s->result, 0, sizeof s->result);
    memset(s->seen, 0, n * sizeof *s->seen);
    s->all = count == SOURCES ? UINT64_MAX : ((uint64_t)1 << count) - 1;
    s->count = 0;
    s->found.count = 0;
    for (uint64_t k = 0; k < count; k++)
        if (!atomic_fetch_or_explicit(&s->next[sources[k]], (uint64_t)1 << k, memory_order_relaxed))
            dcsr_i_found_add_alone(&s->found, (uint32_t)sources[k]);
    for (s->depth = 0; s->found.count; s->depth++) {
        record(s);
        step(s);
    }
    for (uint64_t i = 0; i < s->count; i++) s->visit[s->now[i]] = 0;
}

static dcsr_status check(dcsr_i_edges *e, const int32_t *level, const dcsr_bfs_result *results,
                         uint64_t count, const uint64_t *sources)
{
    if (e->status) return e->status;
    if ((!level && !results) || (!sources && count))
        return e->status = dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_bfs_many: %s",
                                            sources ? "level and results are NULL; give one of them"
                                                    : "sources is NULL");
    for (uint64_t k = 0; k < count; k++)
        if (sources[k] >= e->vertices)
            return e->status = dcsr_thread_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE,
                                                "dcsr_bfs_many: source %llu is %llu; there are %llu vertices",
                                                (unsigned long long)k, (unsigned long long)sources[k],
                                                (unsigned long long)e->vertices);
    return DCSR_OK;
}

static dcsr_status search_there(int32_t *level, dcsr_bfs_result *results, dcsr_view *A, uint64_t count,
                                const uint64_t *sources)
{
    dcsr_i_edges e;
    dcsr_i_edges_on_device(&e, A, DCSR_I_EDGES_OUT, false, "dcsr_bfs_many");
    if (!check(&e, level, results, count, sources) && count)
        dcsr_i_graph_device->bfs_many(&e, level, results, count, sources);
    return dcsr_i_edges_close(&e);
}

dcsr_status dcsr_bfs_many(int32_t *level, dcsr_bfs_result *results, dcsr_view *A, uint64_t count,
                          const uint64_t *sources, const dcsr_graph_options *options)
{
    dcsr_view_shape shape;
    dcsr_i_edges out, in = {0};
    dcsr_status status = dcsr_view_get_shape(A, &shape);
    if (status) return status;
    if (shape.device == DCSR_DEVICE_CUDA) return search_there(level, results, A, count, sources);
    const bool symmetric = options && options->symmetric,
               columns = !symmetric && shape.layout == DCSR_LAYOUT_CSC;
    dcsr_i_edges_out(&out, A, "dcsr_bfs_many");
    check(&out, level, results, count, sources);
    if (!out.status && columns) out.status = dcsr_i_edges_in(&in, A, "dcsr_bfs_many");
    const uint64_t n = out.vertices;
    search s = {.out = &out, .in = symmetric ? &out : columns ? &in : NULL};
    s.seen = dcsr_i_edges_take(&out, n, sizeof *s.seen);
    s.visit = dcsr_i_edges_take(&out, n, sizeof *s.visit);
    s.next = dcsr_i_edges_take(&out, n, sizeof *s.next);
    s.now = dcsr_i_edges_take(&out, n, sizeof *s.now);
    s.found.at = dcsr_i_edges_take(&out, n, sizeof(uint32_t));
    for (uint64_t first = 0; first < count && !out.status; first += SOURCES) {
        const uint64_t here = count - first < SOURCES ? count - first : SOURCES;
        s.level = level ? level + first * n : NULL;
        if (level) memset(s.level, 0xff, here * n * sizeof *level); /* -1 */
        search_from(&s, sources + first, here);
        if (results) memcpy(results + first, s.result, here * sizeof *results);
    }
    if (columns) dcsr_i_edges_close(&in);
    return dcsr_i_edges_close(&out);
}
