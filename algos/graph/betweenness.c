/* betweenness.c: betweenness centrality (Brandes 2001), from several sources at a time.
 *
 * To a vertex belongs a row of WIDTH numbers, one a source: how many shortest paths lead to it, then what depends on
 * it. A level is a product of the graph with the rows of the level before, forwards along edges to it and backwards:
 *
 *      paths          =  sum of paths[u] over u -> v                  where v is seen for the first time
 *      dependence     =  paths sum of (1 + dependence[w]) / paths[w] over v -> w one level below
 *
 * The rows that are handed on are in `front`, zero but for the level whose turn it is. Each vertex adds up its own
 * edges in their order, so sums do not depend on threads.
 *
 * On a grid the paths from one corner to the other are more than a double counts. Once a level has numbers that are
 * LARGE, rows also have powers: a number of paths is paths * 2^(512 power). */
#include "algos/graph/edges.h"
#include <dcsr/graph.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum { WIDTH = 8, BUFFER = 256, PART = 64 };
/* All vertices are looked at where the frontier has more than this part of all edges. */
enum { PULL = 8 };
#define LARGE 0x1p500
#define DOWN  0x1p-512

typedef struct search {
    const dcsr_i_edges *out, *in;
    uint64_t vertices;
    double *front, *paths; /* rows */
    uint32_t *power;       /* rows; NULL: all zero */
    unsigned char *seen, all;
    /* The levels one after the other: each vertex with the sources for which it is there; begin[d] is where level d
       begins. */
    uint32_t *vertex;
    unsigned char *bits;
    _Atomic uint64_t count;
    uint64_t *begin, depth;
    uint32_t *candidate; /* vertices that may be in the next level */
    _Atomic unsigned char *listed;
    _Atomic uint64_t candidates;
    double *centrality;
} search;

/* ---- Forwards ---- */

static inline bool has(unsigned char bits, int k)
{
    return bits >> k & 1;
}

/* Vertices that some entry of level d leads to for the first time. */
static void find_candidates(search *s, uint64_t d, int threads)
{
    s->candidates = 0;
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        uint32_t buffer[BUFFER];
        uint64_t filled = 0;
#pragma omp for schedule(dynamic, PART)
        for (uint64_t i = s->begin[d]; i < s->begin[d + 1]; i++) {
            const dcsr_i_ends ends = dcsr_i_edges_of(s->out, s->vertex[i]);
            for (uint64_t e = 0; e < ends.count; e++) {
                const uint32_t v = ends.vertex[e];
                if (!(s->bits[i] & ~s->seen[v]) || atomic_load_explicit(&s->listed[v], memory_order_relaxed))
                    continue;
                if (atomic_exchange_explicit(&s->listed[v], 1, memory_order_relaxed)) continue;
                if (filled == BUFFER) {
                    memcpy(s->candidate + atomic_fetch_add(&s->candidates, filled), buffer, sizeof buffer);
                    filled = 0;
                }
                buffer[filled++] = v;
            }
        }
        memcpy(s->candidate + atomic_fetch_add(&s->candidates, filled), buffer, filled * sizeof *buffer);
    }
}

/* Adds up paths with their powers; top[k] is that of sum[k]. */
static void sum_powers(const search *s, dcsr_i_ends ends, double *sum, uint32_t *top)
{
    for (uint64_t e = 0; e < ends.count; e++) {
        const uint64_t row = (uint64_t)ends.vertex[e] * WIDTH;
        for (int k = 0; k < WIDTH; k++) {
            const double f = s->front[row + (uint64_t)k];
            const uint32_t power = s->power[row + (uint64_t)k];
            if (!(f > 0)) continue;
            if (power > top[k]) sum[k] *= power == top[k] + 1 ? DOWN : 0, top[k] = power;
            sum[k] += power == top[k] ? f : power + 1 == top[k] ? f * DOWN : 0;
        }
    }
    for (int k = 0; k < WIDTH; k++)
        if (sum[k] > LARGE) sum[k] *= DOWN, top[k]++;
}

/* The paths to v; returns the sources from which it is reached now. */
static unsigned char reach(search *s, uint32_t v)
{
    const dcsr_i_ends ends = dcsr_i_edges_of(s->in, v);
    const uint64_t row = (uint64_t)v * WIDTH;
    double sum[WIDTH] = {0};
    uint32_t top[WIDTH] = {0};
    unsigned char bits = 0;
    if (s->power) {
        sum_powers(s, ends, sum, top);
    } else {
        for (uint64_t e = 0; e < ends.count; e++) {
            const double *f = s->front + (uint64_t)ends.vertex[e] * WIDTH;
            for (int k = 0; k < WIDTH; k++) sum[k] += f[k];
        }
    }
    for (int k = 0; k < WIDTH; k++) {
        if (!(sum[k] > 0) || has(s->seen[v], k)) continue;
        bits |= (unsigned char)(1 << k);
        s->paths[row + (uint64_t)k] = sum[k];
        if (s->power) s->power[row + (uint64_t)k] = top[k];
    }
    return bits;
}

static void append(search *s, const uint32_t *vertex, const unsigned char *bits, uint64_t count)
{
    const uint64_t at = atomic_fetch_add_explicit(&s->count, count, memory_order_relaxed);
    memcpy(s->vertex + at, vertex, count * sizeof *vertex);
    memcpy(s->bits + at, bits, count * sizeof *bits);
}

/* Clears what level d has handed on, and has level d + 1 hand on its paths. Whether any are large. */
static bool turn_to_next(search *s, uint64_t d, int threads)
{
    bool large = false;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (uint64_t i = s->begin[d]; i < s->begin[d + 1]; i++)
        memset(s->front + (uint64_t)s->vertex[i] * WIDTH, 0, WIDTH * sizeof *s->front);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1) reduction(|| : large)
    for (uint64_t i = s->begin[d + 1]; i < s->begin[d + 2]; i++) {
        const uint64_t row = (uint64_t)s->vertex[i] * WIDTH;
        bool here = false;
        s->seen[s->vertex[i]] |= s->bits[i];
        for (int k = 0; k < WIDTH; k++) {
            if (!has(s->bits[i], k)) continue;
            s->front[row + (uint64_t)k] = s->paths[row + (uint64_t)k];
            here |= s->paths[row + (uint64_t)k] > LARGE;
        }
        large = large || here;
    }
    return large;
}

/* Finds level d + 1. Whether any of its numbers are large. */
static bool step_down(search *s, uint64_t d)
{
    uint64_t edges = 0;
    for (uint64_t i = s->begin[d]; i < s->begin[d + 1]; i++)
        edges += dcsr_i_edges_of(s->out, s->vertex[i]).count;
    const bool everywhere = edges > s->out->count / PULL;
    const int threads = dcsr_i_edges_threads(s->out, (everywhere ? s->in->count : edges) * WIDTH);
    if (!everywhere) find_candidates(s, d, threads);
    const uint64_t candidates = everywhere ? s->vertices : s->candidates;
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        uint32_t vertex[BUFFER];
        unsigned char bits[BUFFER];
        uint64_t filled = 0;
#pragma omp for schedule(dynamic, PART)
        for (uint64_t i = 0; i < candidates; i++) {
            const uint32_t v = everywhere ? (uint32_t)i : s->candidate[i];
            atomic_store_explicit(&s->listed[v], 0, memory_order_relaxed);
            const unsigned char found = s->seen[v] == s->all ? 0 : reach(s, v);
            if (!found) continue;
            if (filled == BUFFER) append(s, vertex, bits, filled), filled = 0;
            vertex[filled] = v;
            bits[filled++] = found;
        }
        append(s, vertex, bits, filled);
    }
    s->begin[d + 2] = s->count;
    return turn_to_next(s, d, threads);
}

static void begin_at(search *s, const uint64_t *sources, int count)
{
    memset(s->seen, 0, s->vertices);
    s->all = (unsigned char)((1 << count) - 1);
    s->count = 0;
    for (int k = 0; k < count; k++) {
        const uint64_t row = sources[k] * WIDTH + (uint64_t)k;
        uint64_t i = 0;
        while (i < s->count && s->vertex[i] != sources[k]) i++;
        if (i == s->count) s->vertex[s->count++] = (uint32_t)sources[k], s->bits[i] = 0;
        s->bits[i] |= (unsigned char)(1 << k);
        s->seen[sources[k]] |= (unsigned char)(1 << k);
        s->front[row] = s->paths[row] = 1;
        if (s->power) s->power[row] = 0;
    }
    s->begin[0] = 0;
    s->begin[1] = s->count;
}

/* ---- Backwards ---- */

/* What depends on entry i, of those below it: written over its paths, as what it hands on. */
static void depend(search *s, uint64_t i)
{
    const uint32_t v = s->vertex[i];
    const dcsr_i_ends ends = dcsr_i_edges_of(s->out, v);
    const uint64_t row = (uint64_t)v * WIDTH;
    double sum[WIDTH] = {0}, all = 0;
    for (uint64_t e = 0; e < ends.count; e++) {
        const uint64_t below = (uint64_t)ends.vertex[e] * WIDTH;
        const double *f = s->front + below;
        if (!s->power) {
            for (int k = 0; k < WIDTH; k++) sum[k] += f[k];
            continue;
        }
        for (int k = 0; k < WIDTH; k++) {
            /* As many paths at least lead to those below. */
            const uint32_t more = f[k] > 0 ? s->power[below + (uint64_t)k] - s->power[row + (uint64_t)k] : 0;
            sum[k] += more == 0 ? f[k] : more == 1 ? f[k] * DOWN : 0;
        }
    }
    for (int k = 0; k < WIDTH; k++) {
        if (!has(s->bits[i], k)) continue;
        const double paths = s->paths[row + (uint64_t)k], dependence = paths * sum[k];
        s->paths[row + (uint64_t)k] = (1 + dependence) / paths;
        all += dependence;
    }
    s->centrality[v] += all;
}

static void step_up(search *s, uint64_t d)
{
    const uint64_t first = s->begin[d], last = s->begin[d + 1], mean = 1 + s->out->count / s->vertices;
    const int threads = dcsr_i_edges_threads(s->out, (last - first) * mean * WIDTH);
#pragma omp parallel for schedule(dynamic, PART) num_threads(threads) if (threads > 1)
    for (uint64_t i = first; i < last; i++) depend(s, i);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (uint64_t i = last; i < s->begin[d + 2]; i++)
        memset(s->front + (uint64_t)s->vertex[i] * WIDTH, 0, WIDTH * sizeof *s->front);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (uint64_t i = first; i < last; i++) {
        const uint64_t row = (uint64_t)s->vertex[i] * WIDTH;
        for (int k = 0; k < WIDTH; k++)
            if (has(s->bits[i], k)) s->front[row + (uint64_t)k] = s->paths[row + (uint64_t)k];
    }
}

/* From up to WIDTH sources. */
static void search_from(search *s, dcsr_i_edges *e, const uint64_t *sources, int count,
                        dcsr_betweenness_result *found)
{
    uint64_t d = 0;
    begin_at(s, sources, count);
    for (; s->begin[d + 1] > s->begin[d]; d++) {
        const bool large = step_down(s, d);
        if (large && !s->power) s->power = dcsr_i_edges_take(e, s->vertices * WIDTH, sizeof *s->power);
        if (e->status) return;
    }
    /* Levels 0 to d - 1 have vertices; nothing is handed on by now. Sources are between no others. */
    if (d - 1 > found->max_level) found->max_level = d - 1;
    while (--d) step_up(s, d);
    for (uint64_t i = s->begin[1]; i < s->begin[2]; i++)
        memset(s->front + (uint64_t)s->vertex[i] * WIDTH, 0, WIDTH * sizeof *s->front);
}

/* ---- Sources ---- */

/* Some vertices at random, each once; all of them in order if that is as many as there are. */
static uint64_t *draw(dcsr_i_edges *e, uint64_t count, uint64_t seed)
{
    const uint64_t n = e->vertices;
    uint64_t *drawn = dcsr_i_edges_take(e, n, sizeof *drawn);
    if (!drawn) return NULL;
    for (uint64_t v = 0; v < n; v++) drawn[v] = v;
    for (uint64_t i = 0; i < count && count < n; i++) {
        const uint64_t other = i + dcsr_i_edges_mix(dcsr_i_edges_mix(seed) + i) % (n - i), v = drawn[i];
        drawn[i] = drawn[other];
        drawn[other] = v;
    }
    return drawn;
}

static const uint64_t *choose_sources(dcsr_i_edges *e, const dcsr_betweenness_options *o, uint64_t *count)
{
    const uint64_t n = e->vertices;
    *count = o->sources ? o->source_count : o->samples && o->samples < n ? o->samples : n;
    if (e->status || !o->sources) return e->status ? NULL : draw(e, *count, o->seed);
    for (uint64_t k = 0; k < *count; k++)
        if (o->sources[k] >= n)
            e->status = dcsr_thread_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE,
                                         "dcsr_betweenness: source %llu is %llu; there are %llu vertices",
                                         (unsigned long long)k, (unsigned long long)o->sources[k],
                                         (unsigned long long)n);
    return o->sources;
}

static void allocate(search *s, dcsr_i_edges *e)
{
    const uint64_t n = s->vertices;
    s->front = dcsr_i_edges_take(e, n * WIDTH, sizeof *s->front);
    s->paths = dcsr_i_edges_take(e, n * WIDTH, sizeof *s->paths);
    s->vertex = dcsr_i_edges_take(e, n * WIDTH, sizeof *s->vertex);
    s->bits = dcsr_i_edges_take(e, n * WIDTH, sizeof *s->bits);
    s->begin = dcsr_i_edges_take(e, n + 3, sizeof *s->begin);
    s->seen = dcsr_i_edges_take(e, n, sizeof *s->seen);
    s->candidate = dcsr_i_edges_take(e, n, sizeof *s->candidate);
    s->listed = dcsr_i_edges_take(e, n, sizeof *s->listed);
    s->centrality = dcsr_i_edges_take(e, n, sizeof *s->centrality);
}

dcsr_status dcsr_betweenness(double *centrality, dcsr_betweenness_result *result, dcsr_view *A,
                             const dcsr_betweenness_options *options)
{
    const dcsr_betweenness_options o = options ? *options : (dcsr_betweenness_options){0};
    dcsr_betweenness_result found = {0};
    dcsr_i_edges out, in = {0};
    if (!centrality)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_betweenness: centrality is NULL");
    /* Each edge once, in both directions. */
    dcsr_i_edges_once(&out, A, true, "dcsr_betweenness");
    if (!out.status && !o.symmetric)
        out.status = dcsr_i_edges_in(&in, out.view ? out.view : A, "dcsr_betweenness");
    search s = {.out = &out, .in = o.symmetric ? &out : &in, .vertices = out.vertices};
    const uint64_t *sources = choose_sources(&out, &o, &found.sources);
    allocate(&s, &out);
    for (uint64_t first = 0; first < found.sources && !out.status; first += WIDTH) {
        const uint64_t left = found.sources - first;
        search_from(&s, &out, sources + first, left < WIDTH ? (int)left : WIDTH, &found);
    }
    if (!out.status) {
        const double scale = o.sources || !found.sources ? 1 : (double)s.vertices / (double)found.sources;
        for (uint64_t v = 0; v < s.vertices; v++) centrality[v] = scale * s.centrality[v];
        if (result) *result = found;
    }
    if (!o.symmetric) dcsr_i_edges_close(&in);
    return dcsr_i_edges_close(&out);
}
