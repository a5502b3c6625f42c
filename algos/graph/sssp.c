/* sssp.c: shortest paths from one vertex.
 *
 * Weights from 0 on: delta-stepping with two piles. Near are the vertices that have come closer and lie within the
 * limit; they are relaxed until none is left, in parallel if there are enough. The far pile waits; then the limit is
 * raised to delta above the least of it. A vertex stands in each pile once at most, so piles have a fixed size.
 *
 *      distance     0 ......... limit ........ + delta
 *                     near             far                     a vertex may be in both: then it has come closer
 *
 * Distances only ever fall, to the least over all paths of sums rounded on the way; so they do not depend on the
 * order of relaxations. */
#include "algos/graph/sssp.h"
#include "algos/graph/cuda/graph_cuda.h"
#include "algos/graph/found.h"
#include <math.h>
#include <string.h>

enum { PART = 64, NEAR = 1, FAR = 2 };

/* A distance from 0 on as its bits, which are in the same order. */
typedef _Atomic uint64_t bits;

static inline double number(uint64_t b)
{
    double d;
    memcpy(&d, &b, sizeof d);
    return d;
}

static inline uint64_t bits_of(double d)
{
    uint64_t b;
    d += 0.0; /* no negative zero */
    memcpy(&b, &d, sizeof b);
    return b;
}

typedef struct search {
    const dcsr_i_edges *e;
    bits *distance;
    _Atomic unsigned char *piled; /* NEAR, FAR: in which piles a vertex is */
    dcsr_i_found near, next, far;
    double limit;
} search;

static inline void put(search *s, dcsr_i_finds f[2], uint32_t v, int which, bool shared)
{
    if (shared) {
        if (atomic_fetch_or_explicit(&s->piled[v], (unsigned char)which, memory_order_acq_rel) & which)
            return;
        dcsr_i_found_add(which == FAR ? &s->far : &s->next, &f[which == FAR], v);
        return;
    }
    const unsigned char before = atomic_load_explicit(&s->piled[v], memory_order_relaxed);
    if (before & which) return;
    atomic_store_explicit(&s->piled[v], before | (unsigned char)which, memory_order_relaxed);
    dcsr_i_found_add_alone(which == FAR ? &s->far : &s->next, v);
}

/* Lowers the distance; false if it is no less. */
static inline bool lower(bits *distance, uint64_t to, bool shared)
{
    uint64_t now = atomic_load_explicit(distance, memory_order_relaxed);
    if (!shared) {
        if (to < now) atomic_store_explicit(distance, to, memory_order_relaxed);
        return to < now;
    }
    while (to < now)
        if (atomic_compare_exchange_weak_explicit(distance, &now, to, memory_order_relaxed,
                                                  memory_order_relaxed))
            return true;
    return false;
}

static inline void relax(search *s, dcsr_i_finds f[2], uint32_t v, bool shared)
{
    /* Who lowers the distance from now on finds the vertex in no pile, and puts it there. */
    if (shared)
        atomic_fetch_and_explicit(&s->piled[v], (unsigned char)~NEAR, memory_order_acq_rel);
    else
        atomic_store_explicit(&s->piled[v], atomic_load_explicit(&s->piled[v], memory_order_relaxed) & FAR,
                              memory_order_relaxed);
    const double here = number(atomic_load_explicit(&s->distance[v], memory_order_relaxed));
    const dcsr_i_ends ends = dcsr_i_edges_of(s->e, v);
    const double *weight = ends.values;
    for (uint64_t k = 0; k < ends.count; k++) {
        const double there = here + weight[k];
        if (lower(&s->distance[ends.vertex[k]], bits_of(there), shared))
            put(s, f, ends.vertex[k], there <= s->limit ? NEAR : FAR, shared);
    }
}

static void relax_near(search *s, int threads)
{
    const uint64_t count = s->near.count;
    if (threads == 1) {
        for (uint64_t i = 0; i < count; i++) relax(s, NULL, s->near.at[i], false);
        return;
    }
#pragma omp parallel num_threads(threads)
    {
        dcsr_i_finds f[2];
        f[0].count = f[1].count = 0;
#pragma omp for schedule(dynamic, PART)
        for (uint64_t i = 0; i < count; i++) relax(s, f, s->near.at[i], true);
        dcsr_i_found_flush(&s->next, &f[0]);
        dcsr_i_found_flush(&s->far, &f[1]);
    }
}

static inline double distance_of(const search *s, uint32_t v)
{
    return number(atomic_load_explicit(&s->distance[v], memory_order_relaxed));
}

/* Raises the limit to delta above the least of the far pile, and makes those within it near. What has come within the
 * limit before has been relaxed since. */
static void advance(search *s, double delta)
{
    const uint64_t count = s->far.count;
    uint64_t kept = 0, near = 0;
    double least = INFINITY;
    for (uint64_t i = 0; i < count; i++) {
        const double d = distance_of(s, s->far.at[i]);
        if (d > s->limit && d < least) least = d;
    }
    const double before = s->limit;
    s->limit = least + delta;
    for (uint64_t i = 0; i < count; i++) {
        const uint32_t v = s->far.at[i];
        const double d = distance_of(s, v);
        if (d > s->limit) {
            s->far.at[kept++] = v;
            continue;
        }
        atomic_store_explicit(&s->piled[v], d > before ? NEAR : 0, memory_order_relaxed);
        if (d > before) s->near.at[near++] = v;
    }
    s->far.count = kept;
    s->near.count = near;
}

static void step_by_delta(search *s, double delta)
{
    const uint64_t mean = 1 + s->e->count / s->e->vertices;
    while (s->near.count) {
        while (s->near.count) {
            relax_near(s, dcsr_i_edges_threads(s->e, s->near.count * mean));
            s->near.count = dcsr_i_found_turn(&s->next, &s->near.at);
        }
        advance(s, delta);
    }
}

static dcsr_status search_near_and_far(dcsr_i_edges *e, double *distance, uint64_t source, double delta)
{
    const uint64_t n = e->vertices;
    search s = {.e = e, .limit = delta};
    s.distance = dcsr_i_edges_take(e, n, sizeof *s.distance);
    s.piled = dcsr_i_edges_take(e, n, sizeof *s.piled);
    s.near.at = dcsr_i_edges_take(e, n, sizeof(uint32_t));
    s.next.at = dcsr_i_edges_take(e, n, sizeof(uint32_t));
    s.far.at = dcsr_i_edges_take(e, n, sizeof(uint32_t));
    if (e->status) return e->status;
    for (uint64_t v = 0; v < n; v++) atomic_init(&s.distance[v], bits_of(INFINITY));
    s.distance[source] = bits_of(0);
    s.near.at[0] = (uint32_t)source;
    s.near.count = 1;
    step_by_delta(&s, delta);
    memcpy(distance, (const void *)s.distance, n * sizeof *distance);
    return DCSR_OK;
}

/* ---- Weights ---- */

static void convert(double *to, const void *from, dcsr_type type, uint64_t count)
{
    switch (type) {
#define DCSR_X(NAME, name, ctype, minimum, maximum)                                    \
    case DCSR_##NAME:                                                                  \
        for (uint64_t k = 0; k < count; k++) to[k] = (double)((const ctype *)from)[k]; \
        return;
#include <dcsr/types.def>
#undef DCSR_X
    default:
        for (uint64_t k = 0; k < count; k++) to[k] = 1;
    }
}

/* Makes the values fp64, row by row. */
static dcsr_status make_weights(dcsr_i_edges *e)
{
    const int threads = dcsr_i_edges_threads(e, e->count);
    uint64_t at = 0;
    if (e->type == DCSR_FP64) return DCSR_OK;
    double *weights = dcsr_i_edges_take(e, e->count, sizeof *weights);
    dcsr_i_ends *rows = dcsr_i_edges_take(e, e->vertices, sizeof *rows);
    if (e->status) return e->status;
    for (uint64_t v = 0; v < e->vertices; v++) {
        rows[v] = dcsr_i_edges_of(e, v);
        rows[v].values = weights + at;
        at += rows[v].count;
    }
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (uint64_t v = 0; v < e->vertices; v++) {
        const dcsr_i_ends ends = dcsr_i_edges_of(e, v);
        convert(weights + ((const double *)rows[v].values - weights), ends.values, e->type, ends.count);
    }
    e->rows = rows;
    e->offsets = NULL;
    e->type = DCSR_FP64;
    e->size = sizeof(double);
    return DCSR_OK;
}

typedef struct range {
    double least, sum;
} range;

/* The exponent that is stored of a number, 1023 for 1; 0 of what is not above 0. */
static inline uint64_t exponent_of(double weight)
{
    enum { MANTISSA = 52 };
    return weight > 0 ? bits_of(weight) >> MANTISSA : 0;
}

/* What the sum would be if no weights were far above most: the mean is no more than a bit above that of logarithms, of
 * which exponents are the whole parts. Else few large weights would make buckets so wide that all else is in one. */
static double temper(double sum, uint64_t edges, uint64_t exponents, uint64_t positive)
{
    const double above = 1.5, half = 0.5;
    if (!positive) return sum;
    const double mean = exp2((double)exponents / (double)positive - 1023 + half);
    return fmin(sum, above * mean * (double)edges);
}

/* The least weight and the sum of the finite ones, tempered; refuses NaN. */
static dcsr_status look_at_weights(dcsr_i_edges *e, range *r)
{
    const int threads = dcsr_i_edges_threads(e, e->count);
    double least = INFINITY, sum = 0;
    uint64_t wrong = UINT64_MAX, exponents = 0, positive = 0;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1) reduction(min : least, wrong) \
    reduction(+ : sum, exponents, positive)
    for (uint64_t v = 0; v < e->vertices; v++) {
        const dcsr_i_ends ends = dcsr_i_edges_of(e, v);
        const double *weight = ends.values;
        bool number = true;
        for (uint64_t k = 0; k < ends.count; k++) {
            number &= weight[k] == weight[k];
            if (weight[k] < least) least = weight[k];
            if (weight[k] < INFINITY) sum += weight[k];
            exponents += weight[k] < INFINITY ? exponent_of(weight[k]) : 0;
            positive += weight[k] > 0 && weight[k] < INFINITY;
        }
        if (!number && v < wrong) wrong = v;
    }
    *r = (range){least, temper(sum, e->count, exponents, positive)};
    if (wrong != UINT64_MAX) dcsr_i_sssp_refuse_nan(e, wrong);
    return e->status;
}

/* ---- Whatever the device ---- */

void dcsr_i_sssp_check_source(dcsr_i_edges *e, uint64_t source)
{
    if (e->status || source < e->vertices) return;
    e->status = dcsr_thread_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE, "%s: source %llu of %llu vertices", e->call,
                                 (unsigned long long)source, (unsigned long long)e->vertices);
}

void dcsr_i_sssp_refuse_nan(dcsr_i_edges *e, uint64_t vertex)
{
    e->status = dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                 "%s: an edge of vertex %llu has the weight NaN; give it a number", e->call,
                                 (unsigned long long)vertex);
}

double dcsr_i_sssp_width(uint64_t vertices, uint64_t edges, double sum, double delta)
{
    /* By measurement, on grids, random and R-MAT graphs: as large as the least of eight edges of a vertex, about. */
    const double entries = (double)(edges ? edges : 1), mean = sum / entries;
    return delta > 0 ? delta : 8 * mean * (double)vertices / entries;
}

void dcsr_i_sssp(dcsr_i_edges *e, double *distance, dcsr_sssp_result *result, uint64_t source, double delta)
{
    dcsr_sssp_result found = {0};
    range weights = {0};
    dcsr_i_sssp_check_source(e, source);
    double *made = dcsr_i_edges_take(e, e->vertices, sizeof *made);
    if (!e->status) make_weights(e);
    if (!e->status) look_at_weights(e, &weights);
    if (!e->status && weights.least < 0) dcsr_i_sssp_negative(e, made, &found, source);
    const double width = dcsr_i_sssp_width(e->vertices, e->count, weights.sum, delta);
    if (!e->status && !(weights.least < 0)) search_near_and_far(e, made, source, width);
    if (e->status) return;
    for (uint64_t v = 0; v < e->vertices; v++) {
        if (made[v] == INFINITY) continue;
        found.reached++;
        if (made[v] > found.farthest || found.reached == 1) found.farthest = made[v];
    }
    memcpy(distance, made, e->vertices * sizeof *distance);
    if (result) *result = found;
}

dcsr_status dcsr_sssp(double *distance, dcsr_sssp_result *result, dcsr_view *A, uint64_t source,
                      const dcsr_sssp_options *options)
{
    const dcsr_sssp_options o = options ? *options : (dcsr_sssp_options){0};
    dcsr_i_edges e;
    dcsr_view_shape shape;
    if (!distance) return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_sssp: distance is NULL");
    if (!(o.delta >= 0))
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_sssp: delta is negative or not a number");
    dcsr_status status = dcsr_view_get_shape(A, &shape);
    if (status) return status;
    if (shape.device == DCSR_DEVICE_CUDA) {
        bool negative = false;
        status = dcsr_i_graph_device->sssp(distance, result, A, source, o.delta, &negative);
        if (status || !negative) return status;
    }
    dcsr_i_edges_out(&e, A, "dcsr_sssp");
    dcsr_i_sssp(&e, distance, result, source, o.delta);
    return dcsr_i_edges_close(&e);
}
