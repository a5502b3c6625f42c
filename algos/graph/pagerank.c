/* pagerank.c: PageRank, pulled along the edges that lead to a vertex.
 *
 *      rank'[v] = (1 - d + d lost) p[v] + d sum of rank[u] / out-degree[u] over all edges u -> v
 *
 * where p is how chance is shared out, and lost the rank of vertices without edges, which goes the same way. One pass
 * computes the new ranks, how much they differ, and what each vertex hands on in the next. Sums over vertices are
 * made of sums over blocks of them, so that they are the same for any number of threads.
 *
 * What is handed on is read at another place in memory for each edge. So while ranks change by far more than that
 * rounds, it is fp32, of which twice as much is in the caches; ranks and sums are fp64 always, and so is what is handed
 * on in the last iterations. */
#include "algos/graph/pagerank.h"
#include "algos/graph/cuda/graph_cuda.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum { BLOCK = 1024 };

/* Of one block. */
typedef struct sums {
    double change, lost, all; /* all: of new ranks */
} sums;

typedef struct walk {
    const dcsr_i_edges *in;
    double damping, quiet; /* a rank that changes by less may be left out */
    const double *personal;
    double *rank;
    void *handed[2];        /* by each vertex along each of its edges: now, next */
    bool narrow[2];         /* it is float, else double */
    const double *part;     /* of its rank that goes along each edge: 1 / out-degree; 0 without edges */
    unsigned char *settled; /* NULL if none is to be left out */
    sums *block;            /* of two iterations in turns */
    uint64_t blocks;
    double lost; /* to begin with */
} walk;

static inline double handed_by(const void *handed, bool narrow, uint32_t v)
{
    return narrow ? (double)((const float *)handed)[v] : ((const double *)handed)[v];
}

static inline __attribute__((always_inline)) double sum_over(const dcsr_i_ends ends, const void *handed,
                                                             bool narrow)
{
    double a = 0, b = 0, c = 0, d = 0;
    const uint32_t *from = ends.vertex, *end = from + ends.count;
    for (; end - from >= 4; from += 4) {
        a += handed_by(handed, narrow, from[0]);
        b += handed_by(handed, narrow, from[1]);
        c += handed_by(handed, narrow, from[2]);
        d += handed_by(handed, narrow, from[3]);
    }
    for (; from < end; from++) a += handed_by(handed, narrow, *from);
    return (a + b) + (c + d);
}

/* How much of chance the vertex gets. */
static inline double portion(const walk *w, uint64_t v)
{
    return w->personal ? w->personal[v] : 1 / (double)w->in->vertices;
}

/* What vertices first .. first + n - 1 hand on, with their new ranks; in `sums` how much they differ from the old, and
 * what vertices without edges have. One loop without branches or divisions, as either would take longer than the sum
 * over the edges of a vertex. */
static inline __attribute__((always_inline)) sums hand_on_as(bool narrow, void *handed, uint64_t first,
                                                             double *restrict rank,
                                                             const double *restrict fresh,
                                                             const double *restrict part, uint64_t n)
{
    float *restrict as_float = (float *)handed + (narrow ? first : 0);
    double *restrict as_double = (double *)handed + (narrow ? 0 : first);
    double change = 0, lost = 0, all = 0;
#pragma omp simd reduction(+ : change, lost, all)
    for (uint64_t k = 0; k < n; k++) {
        change += fabs(fresh[k] - rank[k]);
        if (narrow)
            as_float[k] = (float)(fresh[k] * part[k]);
        else
            as_double[k] = fresh[k] * part[k];
        lost += fresh[k] * (part[k] == 0);
        all += fresh[k];
        rank[k] = fresh[k];
    }
    return (sums){change, lost, all};
}

static sums hand_on(const walk *w, uint64_t first, const double *fresh, uint64_t n)
{
    double *rank = w->rank + first;
    const double *part = w->part + first;
    return w->narrow[1] ? hand_on_as(true, w->handed[1], first, rank, fresh, part, n)
                        : hand_on_as(false, w->handed[1], first, rank, fresh, part, n);
}

/* What each of these vertices is handed along its edges. */
static void pull(double *sum, const walk *w, uint64_t first, uint64_t n)
{
    const dcsr_i_edges edges = *w->in; /* of the caller alone, so that nothing is read again */
    const void *handed = w->handed[0];
    if (w->narrow[0])
        for (uint64_t k = 0; k < n; k++) sum[k] = sum_over(dcsr_i_edges_of(&edges, first + k), handed, true);
    else
        for (uint64_t k = 0; k < n; k++) sum[k] = sum_over(dcsr_i_edges_of(&edges, first + k), handed, false);
}

/* Whether what the next iteration hands on, and the one after it reads, may be fp32: not if that one is to be the last,
 * or rounding may be most of what it changes, which is up to damping FLT_EPSILON / 2 / (1 - damping). */
static bool may_be_narrow(const walk *w, double change, double before, double tolerance)
{
    enum { TIMES = 4 };
    const double falls = before > 0 ? fmin(change / before, 1) : w->damping, then = change * falls * falls;
    return then > tolerance && (1 - w->damping) * then > TIMES * (double)FLT_EPSILON / 2;
}

static sums step_block(const walk *w, uint64_t b, double chance, double damping, bool all)
{
    const uint64_t vertices = w->in->vertices, first = b * BLOCK;
    const uint64_t n = first + BLOCK < vertices ? BLOCK : vertices - first;
    const double even = chance * (1 / (double)vertices), *old = w->rank + first;
    const double *personal = w->personal ? w->personal + first : NULL;
    unsigned char *settled = w->settled ? w->settled + first : NULL;
    double fresh[BLOCK] = {0};
    if (all) {
        pull(fresh, w, first, n);
        for (uint64_t k = 0; k < n; k++)
            fresh[k] = (personal ? chance * personal[k] : even) + damping * fresh[k];
    }
    for (uint64_t k = 0; k < n && !all; k++) {
        fresh[k] = old[k];
        if (settled[k]) continue;
        pull(fresh + k, w, first + k, 1);
        fresh[k] = (personal ? chance * personal[k] : even) + damping * fresh[k];
    }
    for (uint64_t k = 0; k < n && settled; k++) settled[k] = fabs(fresh[k] - old[k]) <= w->quiet;
    return hand_on(w, first, fresh, n);
}

/* Out-degrees: lengths of rows, unless those hold edges that the columns do not show as often. */
static void count_out(double *degree, const dcsr_i_edges *in, dcsr_view *A, bool symmetric, int threads)
{
    const uint64_t n = in->vertices;
    uint64_t all = 0;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1) reduction(+ : all)
    for (uint64_t v = 0; v < n; v++) {
        uint64_t length = symmetric ? dcsr_i_edges_of(in, v).count : 0;
        if (symmetric || !dcsr_view_get_row(A, v, 0, NULL, NULL, &length)) degree[v] = (double)length;
        all += length;
    }
    if (all == in->count) return;
    memset(degree, 0, n * sizeof *degree);
    for (uint64_t v = 0; v < n; v++) {
        const dcsr_i_ends ends = dcsr_i_edges_of(in, v);
        for (uint64_t k = 0; k < ends.count; k++) degree[ends.vertex[k]]++;
    }
}

dcsr_status dcsr_i_pagerank_options(dcsr_pagerank_options *o, const dcsr_pagerank_options *options,
                                    const char *call)
{
    *o = options ? *options : (dcsr_pagerank_options){0};
    const char *wrong = !(o->damping >= 0 && o->damping <= 1) ? "damping is not between 0 and 1"
                        : !(o->tolerance >= 0)                ? "tolerance is negative or not a number"
                        : o->max_iterations < 0               ? "max_iterations is negative"
                                                              : NULL;
    if (wrong) return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s", call, wrong);
    if (!(o->damping > 0)) o->damping = 0.85;
    if (!(o->tolerance > 0)) o->tolerance = 1e-6;
    if (!o->max_iterations) o->max_iterations = 100;
    return DCSR_OK;
}

dcsr_status dcsr_i_pagerank_portions(double *portions, const double *weights, uint64_t n, const char *call)
{
    double all = 0;
    for (uint64_t v = 0; v < n; v++) {
        if (!(weights[v] >= 0) || isinf(weights[v]))
            return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                    "%s: personal[%llu] is %g; give finite weights from 0 on", call,
                                    (unsigned long long)v, weights[v]);
        all += weights[v];
    }
    if (n && !(all > 0 && !isinf(all)))
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                "%s: the sum of personal is %g; give a weight above 0", call, all);
    for (uint64_t v = 0; v < n; v++) portions[v] = weights[v] / all;
    return DCSR_OK;
}

static sums add_blocks(const sums *block, uint64_t blocks)
{
    sums total = {0};
    for (uint64_t b = 0; b < blocks; b++) {
        total.change += block[b].change;
        total.lost += block[b].lost;
        total.all += block[b].all;
    }
    return total;
}

/* Those of an iteration. */
static sums *sums_of(const walk *w, uint64_t iteration)
{
    return w->block + (iteration % 2 ? w->blocks : 0);
}

/* Iterates until ranks change by no more than the tolerance. What has settled is left out for some iterations, and what
 * is handed on rounded to fp32, but not in the one that decides. Each thread adds up the sums of all blocks and so
 * comes to the same decision: they meet once an iteration, as those of the next one go to the other half of `block`. */
static void run(walk w, dcsr_pagerank_result *found, const dcsr_pagerank_options *o)
{
    dcsr_pagerank_result now = *found;
    double lost = w.lost, ranks = 1; /* in all */
    bool all = true;
    while (!now.converged && now.iterations < o->max_iterations) {
        /* Ranks by what was rounded do not add up to 1, an error that would fade by the damping alone. */
        const double damping = w.damping / ranks, chance = 1 - w.damping + damping * lost;
        sums *block = sums_of(&w, now.iterations);
#pragma omp for schedule(dynamic, 4)
        for (uint64_t b = 0; b < w.blocks; b++) block[b] = step_block(&w, b, chance, damping, all);
        const sums total = add_blocks(block, w.blocks);
        const bool exact = !w.narrow[0];
        void *handed = w.handed[0];
        w.handed[0] = w.handed[1];
        w.handed[1] = handed;
        w.narrow[0] = w.narrow[1];
        w.narrow[1] = may_be_narrow(&w, total.change, now.change, o->tolerance);
        lost = total.lost;
        ranks = exact ? 1 : total.all;
        now.change = total.change;
        now.iterations++;
        now.converged = all && exact && total.change <= o->tolerance;
        all = !o->adaptive || total.change <= o->tolerance || now.iterations % DCSR_I_PAGERANK_FULL == 0;
    }
#pragma omp single nowait
    *found = now;
}

static dcsr_pagerank_result iterate(walk *w, const dcsr_pagerank_options *o)
{
    const int threads = dcsr_i_edges_threads(w->in, w->in->count + w->in->vertices);
    dcsr_pagerank_result found = {.converged = !w->in->vertices};
    w->narrow[0] = w->narrow[1] = may_be_narrow(w, 1, 0, o->tolerance);
    for (uint64_t v = 0; v < w->in->vertices; v++) {
        w->rank[v] = portion(w, v);
        if (w->narrow[0])
            ((float *)w->handed[0])[v] = (float)(w->rank[v] * w->part[v]);
        else
            ((double *)w->handed[0])[v] = w->rank[v] * w->part[v];
        if (!(w->part[v] > 0)) w->lost += w->rank[v], found.dangling++;
    }
#pragma omp parallel num_threads(threads) if (threads > 1)
    run(*w, &found, o);
    return found;
}

void dcsr_i_pagerank(dcsr_i_edges *in, double *degree, double *rank, dcsr_pagerank_result *result,
                     const dcsr_pagerank_options *o)
{
    const uint64_t n = in->vertices;
    walk w = {.in = in, .damping = o->damping, .blocks = (n + BLOCK - 1) / BLOCK};
    w.quiet = o->tolerance / (double)(n ? n : 1);
    w.rank = dcsr_i_edges_take(in, n, sizeof *w.rank);
    for (int i = 0; i < 2; i++) w.handed[i] = dcsr_i_edges_take(in, n, sizeof(double));
    w.block = dcsr_i_edges_take(in, 2 * w.blocks, sizeof *w.block);
    if (o->adaptive) w.settled = dcsr_i_edges_take(in, n, 1);
    if (o->personal) {
        double *portions = dcsr_i_edges_take(in, n, sizeof *portions);
        if (!in->status) in->status = dcsr_i_pagerank_portions(portions, o->personal, n, in->call);
        w.personal = portions;
    }
    if (in->status) return;
    for (uint64_t v = 0; v < n; v++) degree[v] = degree[v] > 0 ? 1 / degree[v] : 0;
    w.part = degree;
    const dcsr_pagerank_result found = iterate(&w, o);
    const double all = n ? add_blocks(sums_of(&w, found.iterations - 1), w.blocks).all : 1;
    for (uint64_t v = 0; v < n; v++) rank[v] = w.rank[v] / all; /* what is rounded may not add up */
    if (result) *result = found;
}

dcsr_status dcsr_pagerank(double *rank, dcsr_pagerank_result *result, dcsr_view *A,
                          const dcsr_pagerank_options *options)
{
    static const char call[] = "dcsr_pagerank";
    dcsr_pagerank_options o;
    dcsr_view_shape shape;
    dcsr_i_edges in;
    if (!rank) return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: rank is NULL", call);
    dcsr_status status = dcsr_i_pagerank_options(&o, options, call);
    if (!status) status = dcsr_view_get_shape(A, &shape);
    if (status) return status;
    if (shape.device == DCSR_DEVICE_CUDA) return dcsr_i_graph_device->pagerank(rank, result, A, &o);
    if (o.symmetric)
        dcsr_i_edges_out(&in, A, call);
    else
        dcsr_i_edges_in(&in, A, call);
    double *degree = dcsr_i_edges_take(&in, in.vertices, sizeof *degree);
    if (!in.status) count_out(degree, &in, A, o.symmetric, dcsr_i_edges_threads(&in, in.vertices));
    dcsr_i_pagerank(&in, degree, rank, result, &o);
    return dcsr_i_edges_close(&in);
}
