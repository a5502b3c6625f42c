/* triangles.c: triangles, and how clustered the neighbours of a vertex are.
 *
 * Vertices get new numbers, by descending degree, and of each edge the end with the larger number keeps it; so the
 * lists of hubs are short. A triangle a < b < c is found at c: with the list of c marked in bits, those of its members
 * are looked up there. What is looked up most are the hubs, whose bits lie together. */
#include "algos/graph/cuda/graph_cuda.h"
#include <omp.h>
#include <string.h>

enum { PART = 256, FEW = 32 };

typedef struct lists {
    dcsr_i_edges *e;
    int threads;
    uint32_t *order;  /* order[i]: the vertex that is number i */
    uint32_t *number; /* the inverse */
    uint64_t *begin;  /* of the list of number i; there is room for all of its edges */
    uint32_t *length, *member;
    uint32_t *bits; /* of each thread, one for each vertex */
    uint64_t words;
    uint64_t *own; /* of each thread, triangles of each number */
} lists;

static inline bool is_set(const uint32_t *bits, uint32_t i)
{
    return bits[i >> 5] >> (i & 31) & 1;
}

/* Numbers by descending degree, then by vertex; where no vertex has many edges, as they are. */
static void sort_by_degree(lists *l)
{
    const uint64_t n = l->e->vertices;
    uint64_t longest = 0;
    for (uint64_t v = 0; v < n; v++) {
        const uint64_t degree = dcsr_i_edges_of(l->e, v).count;
        if (degree > longest) longest = degree;
    }
    uint64_t *first = dcsr_i_edges_take(l->e, longest + 2, sizeof *first);
    if (l->e->status) return;
    const bool sorted = longest > FEW;
    for (uint64_t v = 0; v < n; v++) first[longest - dcsr_i_edges_of(l->e, v).count + 1]++;
    for (uint64_t d = 0; d <= longest; d++) first[d + 1] += first[d];
    for (uint64_t v = 0; v < n; v++) {
        const uint64_t i = sorted ? first[longest - dcsr_i_edges_of(l->e, v).count]++ : v;
        l->order[i] = (uint32_t)v;
        l->number[v] = (uint32_t)i;
    }
    for (uint64_t i = 0; i < n; i++) l->begin[i + 1] = l->begin[i] + dcsr_i_edges_of(l->e, l->order[i]).count;
}

/* The list of number i: the ends of its edges with lower numbers, each once. */
static void fill_list(lists *l, uint64_t i, uint32_t *bits)
{
    const dcsr_i_ends ends = dcsr_i_edges_of(l->e, l->order[i]);
    uint32_t *member = l->member + l->begin[i], count = 0;
    for (uint64_t k = 0; k < ends.count; k++) {
        const uint32_t end = l->number[ends.vertex[k]];
        if (end >= i || is_set(bits, end)) continue;
        bits[end >> 5] |= (uint32_t)1 << (end & 31);
        member[count++] = end;
    }
    for (uint32_t k = 0; k < count; k++) bits[member[k] >> 5] = 0;
    l->length[i] = count;
}

/* How many of a list are marked; `own`, if it is not NULL, is told which. */
static inline uint64_t count_marked(const uint32_t *bits, const uint32_t *member, uint32_t length,
                                    uint64_t *own)
{
    uint64_t count = 0;
    if (!own) {
        uint32_t few = 0;
        for (uint32_t k = 0; k < length; k++) few += bits[member[k] >> 5] >> (member[k] & 31) & 1;
        return few;
    }
    for (uint32_t k = 0; k < length; k++)
        if (is_set(bits, member[k])) own[member[k]]++, count++;
    return count;
}

/* Triangles whose largest number is i. */
static uint64_t count_at(const lists *l, uint64_t i, uint32_t *bits, uint64_t *own)
{
    const uint32_t *member = l->member + l->begin[i], length = l->length[i];
    uint64_t count = 0;
    if (length < 2) return 0;
    for (uint32_t k = 0; k < length; k++) bits[member[k] >> 5] |= (uint32_t)1 << (member[k] & 31);
    for (uint32_t k = 0; k < length; k++) {
        const uint64_t found = count_marked(bits, l->member + l->begin[member[k]], l->length[member[k]], own);
        if (own) own[member[k]] += found;
        count += found;
    }
    if (own) own[i] += count;
    for (uint32_t k = 0; k < length; k++) bits[member[k] >> 5] = 0;
    return count;
}

static uint64_t count_all(lists *l)
{
    const uint64_t n = l->e->vertices;
    uint64_t count = 0;
#pragma omp parallel num_threads(l->threads) if (l->threads > 1) reduction(+ : count)
    {
        const uint64_t t = (uint64_t)omp_get_thread_num();
        uint32_t *bits = l->bits + t * l->words;
#pragma omp for schedule(dynamic, PART)
        for (uint64_t i = 0; i < n; i++) fill_list(l, i, bits);
#pragma omp for schedule(dynamic, PART)
        for (uint64_t i = 0; i < n; i++) count += count_at(l, i, bits, l->own ? l->own + t * n : NULL);
    }
    return count;
}

/* Counts triangles; those of each number are added up in the first of `own` if that is wanted. */
static uint64_t find(lists *l, dcsr_i_edges *e, bool each)
{
    const uint64_t n = e->vertices;
    *l = (lists){.e = e, .words = n / 32 + 16};
    if (e->status) return 0;
    l->threads = dcsr_i_edges_threads(e, e->count);
    l->order = dcsr_i_edges_take(e, n, sizeof *l->order);
    l->number = dcsr_i_edges_take(e, n, sizeof *l->number);
    l->begin = dcsr_i_edges_take(e, n + 1, sizeof *l->begin);
    l->length = dcsr_i_edges_take(e, n, sizeof *l->length);
    l->member = dcsr_i_edges_take(e, e->count, sizeof *l->member);
    l->bits = dcsr_i_edges_take(e, l->words * (uint64_t)l->threads, sizeof *l->bits);
    if (each) l->own = dcsr_i_edges_take(e, n * (uint64_t)l->threads, sizeof *l->own);
    if (!e->status) sort_by_degree(l);
    if (e->status) return 0;
    const uint64_t count = count_all(l);
    for (int t = 1; each && t < l->threads; t++)
        for (uint64_t i = 0; i < n; i++) l->own[i] += l->own[(uint64_t)t * n + i];
    return count;
}

/* What is asked of each vertex, in memory of the host until the end. */
typedef struct answer {
    uint64_t triangles;
    uint64_t *own;    /* triangles that it is in */
    uint32_t *degree; /* its edges but loops */
} answer;

static void find_on_host(dcsr_i_edges *e, answer *a)
{
    lists l;
    a->triangles = find(&l, e, a->own != NULL);
    if (e->status) return;
    for (uint64_t v = 0; a->own && v < e->vertices; v++) a->own[v] = l.own[l.number[v]];
    for (uint64_t i = 0; a->degree && i < e->vertices; i++) {
        a->degree[l.order[i]] += l.length[i];
        for (uint32_t k = 0; k < l.length[i]; k++) a->degree[l.order[l.member[l.begin[i] + k]]]++;
    }
}

/* Opens the edges, and answers where they are. */
static void ask(answer *a, dcsr_i_edges *e, dcsr_view *A, bool symmetric, bool own, bool degree,
                const char *call)
{
    dcsr_view_shape shape;
    *a = (answer){0};
    *e = (dcsr_i_edges){.status = dcsr_view_get_shape(A, &shape)};
    if (e->status) return;
    const bool there = shape.device == DCSR_DEVICE_CUDA;
    if (there)
        dcsr_i_edges_on_device(e, A, DCSR_I_EDGES_ONCE, symmetric, call);
    else
        dcsr_i_edges_both(e, A, symmetric, call);
    if (own) a->own = dcsr_i_edges_take(e, e->vertices, sizeof *a->own);
    if (degree) a->degree = dcsr_i_edges_take(e, e->vertices, sizeof *a->degree);
    if (e->status) return;
    if (there)
        dcsr_i_graph_device->triangles(&a->triangles, e, a->own, a->degree);
    else
        find_on_host(e, a);
}

static void give(const dcsr_i_edges *e, const answer *found, uint64_t *triangles,
                 dcsr_triangles_result *result)
{
    if (e->status) return;
    if (triangles) memcpy(triangles, found->own, e->vertices * sizeof *triangles);
    if (result) result->triangles = found->triangles;
}

void dcsr_i_triangles(dcsr_i_edges *e, uint64_t *triangles, dcsr_triangles_result *result)
{
    answer found = {.own = triangles ? dcsr_i_edges_take(e, e->vertices, sizeof *found.own) : NULL};
    if (!e->status) find_on_host(e, &found);
    give(e, &found, triangles, result);
}

dcsr_status dcsr_triangles(uint64_t *triangles, dcsr_triangles_result *result, dcsr_view *A,
                           const dcsr_graph_options *options)
{
    dcsr_i_edges e;
    answer found;
    if (!triangles && !result)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                "dcsr_triangles: triangles and result are NULL; give one of them");
    ask(&found, &e, A, options && options->symmetric, triangles != NULL, false, "dcsr_triangles");
    give(&e, &found, triangles, result);
    return dcsr_i_edges_close(&e);
}

dcsr_status dcsr_clustering(double *coefficient, dcsr_clustering_result *result, dcsr_view *A,
                            const dcsr_graph_options *options)
{
    dcsr_i_edges e;
    answer a;
    if (!coefficient && !result)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                "dcsr_clustering: coefficient and result are NULL; give one of them");
    ask(&a, &e, A, options && options->symmetric, true, true, "dcsr_clustering");
    dcsr_clustering_result found = {.triangles = a.triangles};
    if (e.status) return dcsr_i_edges_close(&e);
    for (uint64_t v = 0; v < e.vertices; v++) {
        const uint64_t d = a.degree[v], pairs = d ? d * (d - 1) / 2 : 0;
        const double c = pairs ? (double)a.own[v] / (double)pairs : 0;
        if (coefficient) coefficient[v] = c;
        found.pairs += pairs;
        found.mean += c / (double)e.vertices;
    }
    found.transitivity = found.pairs ? 3 * (double)found.triangles / (double)found.pairs : 0;
    if (result) *result = found;
    return dcsr_i_edges_close(&e);
}
