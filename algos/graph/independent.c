/* independent.c: a maximal independent set, by Luby's method with fixed priorities.
 *
 * A vertex is taken when all of its neighbours of higher priority are left out, and left out when one of them is taken.
 * So the set is the one that a walk over all vertices by descending priority would take (Blelloch, Fineman, Shun 2012),
 * whoever looks first; priorities at random make the rounds few. */
#include "algos/graph/cuda/graph_cuda.h"
#include "algos/graph/edges.h"
#include "algos/graph/random_order.h"
#include <dcsr/graph.h>
#include <stdatomic.h>
#include <string.h>

enum { PART = 256, WAITING = 0, TAKEN, LEFT_OUT };

typedef struct choice {
    const dcsr_i_edges *e;
    _Atomic unsigned char *state;
    uint64_t seed; /* mixed */
} choice;

/* What becomes of v, as far as its neighbours are known. */
static unsigned char decide(const choice *c, uint32_t v)
{
    const dcsr_i_ends ends = dcsr_i_edges_of(c->e, v);
    bool waits = false;
    for (uint64_t k = 0; k < ends.count; k++) {
        const uint32_t u = ends.vertex[k];
        if (u == v) continue;
        const unsigned char state = atomic_load_explicit(&c->state[u], memory_order_relaxed);
        if (state == TAKEN) return LEFT_OUT;
        waits = waits || (state == WAITING && dcsr_i_graph_precedes(c->seed, u, v));
    }
    return waits ? WAITING : TAKEN;
}

/* Rounds over those that wait, which are listed in `waiting`. */
static void decide_all(choice *c, uint32_t *waiting)
{
    uint64_t count = c->e->vertices, mean = count ? 1 + c->e->count / count : 1;
    for (uint64_t v = 0; v < count; v++) waiting[v] = (uint32_t)v;
    while (count) {
        const int threads = dcsr_i_edges_threads(c->e, count * mean);
#pragma omp parallel for schedule(dynamic, PART) num_threads(threads) if (threads > 1)
        for (uint64_t i = 0; i < count; i++)
            atomic_store_explicit(&c->state[waiting[i]], decide(c, waiting[i]), memory_order_relaxed);
        uint64_t left = 0;
        for (uint64_t i = 0; i < count; i++)
            if (atomic_load_explicit(&c->state[waiting[i]], memory_order_relaxed) == WAITING)
                waiting[left++] = waiting[i];
        count = left;
    }
}

static void choose_on_host(dcsr_i_edges *e, bool *member, uint64_t seed, uint64_t *members)
{
    choice c = {.e = e, .seed = seed};
    c.state = dcsr_i_edges_take(e, e->vertices, sizeof *c.state);
    uint32_t *waiting = dcsr_i_edges_take(e, e->vertices, sizeof *waiting);
    if (e->status) return;
    decide_all(&c, waiting);
    for (uint64_t v = 0; v < e->vertices; v++) {
        const bool taken = c.state[v] == TAKEN;
        *members += taken;
        if (member) member[v] = taken;
    }
}

dcsr_status dcsr_independent_set(bool *member, dcsr_independent_set_result *result, dcsr_view *A,
                                 const dcsr_random_options *options)
{
    const dcsr_random_options o = options ? *options : (dcsr_random_options){0};
    dcsr_view_shape shape;
    dcsr_i_edges e;
    dcsr_independent_set_result found = {0};
    if (!member && !result)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                "dcsr_independent_set: member and result are NULL; give one of them");
    const dcsr_status status = dcsr_view_get_shape(A, &shape);
    if (status) return status;
    const bool there = shape.device == DCSR_DEVICE_CUDA;
    if (!dcsr_i_edges_open(&e, A, there, DCSR_I_EDGES_BOTH, o.symmetric, "dcsr_independent_set"))
        (there ? dcsr_i_graph_device->independent_set : choose_on_host)(&e, member, dcsr_i_graph_mix(o.seed),
                                                                        &found.vertices);
    if (!e.status && result) *result = found;
    return dcsr_i_edges_close(&e);
}
