/* betweenness.c: betweenness centrality (Brandes 2001), from several sources at a time.
 *
 * To a vertex belongs a row of up to WIDTH numbers, one a source: how many shortest paths lead to it, then what depends
 * on it. A level is a product of the graph with the rows of the level before, forwards along edges to it and backwards:
 *
 *      paths          =  sum of paths[u] over u -> v                  where v is seen for the first time
 *      dependence     =  paths sum of (1 + dependence[w]) / paths[w] over v -> w one level below
 *
 * Of a row counts what has a bit in `active`: the sources for which the vertex is on the level that is handed on. Rows
 * without are not looked at. Each vertex adds up its own edges in their order, so sums do not depend on threads.
 *
 * On a grid the paths from one corner to the other are more than a double counts. Once a level has numbers that are
 * LARGE, rows also have powers: a number of paths is paths * 2^(512 power). */
#include "algos/graph/cuda/graph_cuda.h"
#include "algos/graph/edges.h"
#include "algos/graph/found.h"
#include "algos/graph/random_order.h"
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
    uint64_t vertices, width; /* of a row: 1, 2, 4 or 8 */
    double *paths;            /* rows; backwards, once a level is known, (1 + dependence) / paths */
    uint32_t *power;          /* rows; NULL: all zero */
    unsigned char *seen, *active, all;
    /* The levels one after the other: each vertex with the sources for which it is there; begin[d] is where level d
       begins. */
    uint32_t *vertex;
    unsigned char *bits;
    _Atomic uint64_t count;
    uint64_t *begin;
    dcsr_i_found candidate; /* vertices that may be in the next level */
    _Atomic unsigned char *listed;
    double *centrality;
} search;

/* ---- Forwards ---- */

/* The sources in `bits`, one after the other. */
#define FOR_EACH(k, bits) \
    for (unsigned k##_left = (bits), k; k##_left && (k = next_of(k##_left), true); k##_left &= k##_left - 1)

static inline unsigned next_of(unsigned bits)
{
    return (unsigned)__builtin_ctz(bits);
}

static inline uint64_t row_of(const search *s, uint64_t v)
{
    return v * s->width;
}

/* Vertices that some entry of level d leads to for the first time. */
static void find_candidates(search *s, uint64_t d, int threads)
{
    s->candidate.count = 0;
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        dcsr_i_finds own;
        own.count = 0;
#pragma omp for schedule(dynamic, PART)
        for (uint64_t i = s->begin[d]; i < s->begin[d + 1]; i++) {
            const dcsr_i_ends ends = dcsr_i_edges_of(s->out, s->vertex[i]);
            for (uint64_t e = 0; e < ends.count; e++) {
                const uint32_t v = ends.vertex[e];
                if (!(s->bits[i] & ~s->seen[v]) || atomic_load_explicit(&s->listed[v], memory_order_relaxed))
                    continue;
                if (atomic_exchange_explicit(&s->listed[v], 1, memory_order_relaxed)) continue;
                dcsr_i_found_add(&s->candidate, &own, v);
            }
        }
        dcsr_i_found_flush(&s->candidate, &own);
    }
}

/* Adds up what rows have for the sources in `bits`; returns for which there was anything. */
static unsigned char sum_rows(const search *s, dcsr_i_ends ends, unsigned char bits, double *sum)
{
    unsigned char found = 0;
    for (uint64_t e = 0; e < ends.count; e++) {
        const unsigned char here = s->active[ends.vertex[e]] & bits;
        if (!here) continue;
        const double *row = s->paths + row_of(s, ends.vertex[e]);
        found |= here;
        FOR_EACH(k, here) sum[k] += row[k];
    }
    return found;
}

/* The same for paths with powers; top[k] is that of sum[k]. */
static unsigned char sum_powers(const search *s, dcsr_i_ends ends, unsigned char bits, double *sum,
                                uint32_t *top)
{
    unsigned char found = 0;
    for (uint64_t e = 0; e < ends.count; e++) {
        const unsigned char here = s->active[ends.vertex[e]] & bits;
        const uint64_t row = row_of(s, ends.vertex[e]);
        found |= here;
        FOR_EACH(k, here)
        {
            const double paths = s->paths[row + k];
            const uint32_t power = s->power[row + k];
            if (power > top[k]) sum[k] *= power == top[k] + 1 ? DOWN : 0, top[k] = power;
            sum[k] += power == top[k] ? paths : power + 1 == top[k] ? paths * DOWN : 0;
        }
    }
    FOR_EACH(k, found)
    {
        if (sum[k] > LARGE) sum[k] *= DOWN, top[k]++;
    }
    return found;
}

/* The paths to v; returns the sources from which it is reached now. */
static unsigned char reach(search *s, uint32_t v)
{
    const dcsr_i_ends ends = dcsr_i_edges_of(s->in, v);
    const unsigned char bits = s->all & (unsigned char)~s->seen[v];
    const uint64_t row = row_of(s, v);
    double sum[WIDTH] = {0};
    uint32_t top[WIDTH] = {0};
    const unsigned char found = s->power ? sum_powers(s, ends, bits, sum, top) : sum_rows(s, ends, bits, sum);
    FOR_EACH(k, found)
    {
        s->paths[row + k] = sum[k];
        if (s->power) s->power[row + k] = top[k];
    }
    return found;
}

static void append(search *s, const uint32_t *vertex, const unsigned char *bits, uint64_t count)
{
    const uint64_t at = atomic_fetch_add_explicit(&s->count, count, memory_order_relaxed);
    memcpy(s->vertex + at, vertex, count * sizeof *vertex);
    memcpy(s->bits + at, bits, count * sizeof *bits);
}

/* Has level `next` handed on in place of level d; whether it has numbers that are large. */
static bool activate(search *s, uint64_t d, uint64_t next)
{
    bool large = false;
    for (uint64_t i = s->begin[d]; i < s->begin[d + 1]; i++) s->active[s->vertex[i]] = 0;
    for (uint64_t i = s->begin[next]; i < s->begin[next + 1]; i++) {
        const double *row = s->paths + row_of(s, s->vertex[i]);
        s->active[s->vertex[i]] = s->bits[i];
        s->seen[s->vertex[i]] |= s->bits[i];
        FOR_EACH(k, s->bits[i]) large |= row[k] > LARGE;
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
    const int threads = dcsr_i_edges_threads(s->out, everywhere ? s->in->count : edges);
    if (!everywhere) find_candidates(s, d, threads);
    const uint64_t candidates = everywhere ? s->vertices : s->candidate.count;
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        uint32_t vertex[BUFFER];
        unsigned char bits[BUFFER];
        uint64_t filled = 0;
#pragma omp for schedule(dynamic, PART)
        for (uint64_t i = 0; i < candidates; i++) {
            const uint32_t v = everywhere ? (uint32_t)i : s->candidate.at[i];
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
    return activate(s, d, d + 1);
}

static void begin_at(search *s, const uint64_t *sources, int count)
{
    memset(s->seen, 0, s->vertices);
    s->all = (unsigned char)((1 << count) - 1);
    s->count = 0;
    for (int k = 0; k < count; k++) {
        const uint64_t row = row_of(s, sources[k]) + (uint64_t)k;
        uint64_t i = 0;
        while (i < s->count && s->vertex[i] != sources[k]) i++;
        if (i == s->count) s->vertex[s->count++] = (uint32_t)sources[k], s->bits[i] = 0;
        s->bits[i] |= (unsigned char)(1 << k);
        s->seen[sources[k]] |= (unsigned char)(1 << k);
        s->active[sources[k]] = s->bits[i];
        s->paths[row] = 1;
        if (s->power) s->power[row] = 0;
    }
    s->begin[0] = 0;
    s->begin[1] = s->count;
}

/* ---- Backwards ---- */

/* Adds up what those below hand on that has powers: they have as many paths as v at least. */
static void sum_shares(const search *s, dcsr_i_ends ends, uint32_t v, unsigned char bits, double *sum)
{
    const uint32_t *power = s->power + row_of(s, v);
    for (uint64_t e = 0; e < ends.count; e++) {
        const unsigned char here = s->active[ends.vertex[e]] & bits;
        const uint64_t row = row_of(s, ends.vertex[e]);
        FOR_EACH(k, here)
        {
            const uint32_t more = s->power[row + k] - power[k];
            const double share = s->paths[row + k];
            sum[k] += more == 0 ? share : more == 1 ? share * DOWN : 0;
        }
    }
}

/* What depends on entry i, of those below it; what it hands on then takes the place of its paths. */
static void depend(search *s, uint64_t i)
{
    const uint32_t v = s->vertex[i];
    const dcsr_i_ends ends = dcsr_i_edges_of(s->out, v);
    double sum[WIDTH] = {0}, all = 0, *row = s->paths + row_of(s, v);
    if (s->power)
        sum_shares(s, ends, v, s->bits[i], sum);
    else
        sum_rows(s, ends, s->bits[i], sum);
    FOR_EACH(k, s->bits[i])
    {
        const double dependence = row[k] * sum[k];
        row[k] = (1 + dependence) / row[k];
        all += dependence;
    }
    s->centrality[v] += all;
}

static void step_up(search *s, uint64_t d)
{
    const uint64_t first = s->begin[d], last = s->begin[d + 1], mean = 1 + s->out->count / s->vertices;
    const int threads = dcsr_i_edges_threads(s->out, (last - first) * mean);
#pragma omp parallel for schedule(dynamic, PART) num_threads(threads) if (threads > 1)
    for (uint64_t i = first; i < last; i++) depend(s, i);
    activate(s, d + 1, d);
}

/* From up to WIDTH sources. */
static void search_from(search *s, dcsr_i_edges *e, const uint64_t *sources, int count,
                        dcsr_betweenness_result *found)
{
    uint64_t d = 0;
    begin_at(s, sources, count);
    for (; s->begin[d + 1] > s->begin[d]; d++) {
        const bool large = step_down(s, d);
        if (large && !s->power) s->power = dcsr_i_edges_take(e, s->vertices * s->width, sizeof *s->power);
        if (e->status) return;
    }
    /* Levels 0 to d - 1 have vertices; nobody is active by now. Sources are between no others. */
    if (d - 1 > found->max_level) found->max_level = d - 1;
    while (--d) step_up(s, d);
    memset(s->active, 0, s->vertices);
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
        const uint64_t other = i + dcsr_i_graph_mix(dcsr_i_graph_mix(seed) + i) % (n - i), v = drawn[i];
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
    s->paths = dcsr_i_edges_take(e, n * s->width, sizeof *s->paths);
    s->vertex = dcsr_i_edges_take(e, n * s->width, sizeof *s->vertex);
    s->bits = dcsr_i_edges_take(e, n * s->width, sizeof *s->bits);
    s->begin = dcsr_i_edges_take(e, n + 3, sizeof *s->begin);
    s->seen = dcsr_i_edges_take(e, n, sizeof *s->seen);
    s->active = dcsr_i_edges_take(e, n, sizeof *s->active);
    s->candidate.at = dcsr_i_edges_take(e, n, sizeof(uint32_t));
    s->listed = dcsr_i_edges_take(e, n, sizeof *s->listed);
    s->centrality = dcsr_i_edges_take(e, n, sizeof *s->centrality);
}

/* The sum over all sources, times `scale`. */
static void search_on_host(dcsr_i_edges *out, const dcsr_i_edges *in, double *centrality,
                           dcsr_betweenness_result *found, const uint64_t *sources, double scale,
                           const dcsr_betweenness_options *o)
{
    search s = {.out = out, .in = in, .vertices = out->vertices};
    for (s.width = 1; s.width < WIDTH && s.width < found->sources;) s.width *= 2;
    allocate(&s, out);
    for (uint64_t first = 0; first < found->sources && !out->status; first += WIDTH) {
        const uint64_t left = found->sources - first;
        search_from(&s, out, sources + first, left < WIDTH ? (int)left : WIDTH, found);
        if (o->progress) o->progress(o->user, left < WIDTH ? found->sources : first + WIDTH, found->sources);
    }
    for (uint64_t v = 0; v < s.vertices && !out->status; v++) centrality[v] = scale * s.centrality[v];
}

dcsr_status dcsr_betweenness(double *centrality, dcsr_betweenness_result *result, dcsr_view *A,
                             const dcsr_betweenness_options *options)
{
    const dcsr_betweenness_options o = options ? *options : (dcsr_betweenness_options){0};
    dcsr_betweenness_result found = {0};
    dcsr_view_shape shape;
    dcsr_i_edges out, in = {0};
    if (!centrality)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_betweenness: centrality is NULL");
    const dcsr_status status = dcsr_view_get_shape(A, &shape);
    if (status) return status;
    const bool there = shape.device == DCSR_DEVICE_CUDA;
    /* Each edge once, in both directions. */
    dcsr_i_edges_open(&out, A, there, DCSR_I_EDGES_ONCE, true, "dcsr_betweenness");
    if (!out.status && !o.symmetric)
        out.status = dcsr_i_edges_open(&in, out.view ? out.view : A, there, DCSR_I_EDGES_IN, false,
                                       "dcsr_betweenness");
    const uint64_t *sources = choose_sources(&out, &o, &found.sources);
    const double scale = o.sources || !found.sources ? 1 : (double)out.vertices / (double)found.sources;
    if (!out.status)
        (there ? dcsr_i_graph_device->betweenness : search_on_host)(&out, o.symmetric ? &out : &in,
                                                                    centrality, &found, sources, scale, &o);
    if (!out.status && result) *result = found;
    if (!o.symmetric) dcsr_i_edges_close(&in);
    return dcsr_i_edges_close(&out);
}
