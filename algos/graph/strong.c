/* strong.c: strongly connected components, by Tarjan's method as Pearce (2016) has it, without recursion.
 *
 * A vertex gets an index when it is met, which falls to the least index that it leads back to. One that keeps its own
 * is the root of a component, and takes from the stack all that lead back to it. Components are numbered downwards
 * from the largest number, so that what is finished is above all indices. */
#include "algos/graph/cuda/graph_cuda.h"
#include "algos/graph/edges.h"
#include <dcsr/graph.h>

typedef struct search {
    const dcsr_i_edges *e;
    uint32_t *index; /* 0: not met */
    bool *root;      /* keeps its index, as yet */
    uint32_t *path,
        *position;   /* the vertices on the way to the current one, and how many edges of each are done */
    uint32_t *stack; /* what is done and belongs to no component yet */
    uint64_t depth, stacked;
    uint32_t next, component;
} search;

static void meet(search *s, uint32_t v)
{
    s->index[v] = s->next++;
    s->root[v] = true;
    s->path[s->depth] = v;
    s->position[s->depth++] = 0;
}

/* All edges of v are done. */
static void leave(search *s, uint32_t v)
{
    s->depth--;
    if (!s->root[v]) {
        s->stack[s->stacked++] = v;
        return;
    }
    const uint32_t own = s->index[v];
    s->next--;
    while (s->stacked && s->index[s->stack[s->stacked - 1]] >= own) {
        s->index[s->stack[--s->stacked]] = s->component;
        s->next--;
    }
    s->index[v] = s->component--;
}

static void search_from(search *s, uint32_t first)
{
    meet(s, first);
    while (s->depth) {
        const uint32_t v = s->path[s->depth - 1];
        const dcsr_i_ends ends = dcsr_i_edges_of(s->e, v);
        uint32_t k = s->position[s->depth - 1];
        /* The edge before has led to a vertex that is done now, or has been looked at already; looking again at what
           it has found costs less than telling which. */
        if (k) k--;
        for (; k < ends.count; k++) {
            const uint32_t w = ends.vertex[k];
            if (!s->index[w]) break;
            if (s->index[w] < s->index[v]) s->index[v] = s->index[w], s->root[v] = false;
        }
        s->position[s->depth - 1] = k + 1;
        if (k < ends.count)
            meet(s, ends.vertex[k]);
        else
            leave(s, v);
    }
}

/* Names each component after its least vertex. */
static dcsr_components_result name_components(const search *s, uint32_t *name, uint32_t *size,
                                              uint32_t *component)
{
    const uint64_t n = s->e->vertices;
    dcsr_components_result found = {0};
    for (uint64_t v = 0; v < n; v++) {
        const uint64_t c = n - s->index[v];
        if (!size[c]++) name[c] = (uint32_t)v;
        if (component) component[v] = name[c];
    }
    for (uint64_t c = 0; c < n && size[c]; c++) {
        found.components++;
        if (size[c] < found.largest || (size[c] == found.largest && name[c] > found.largest_name)) continue;
        found.largest = size[c];
        found.largest_name = name[c];
    }
    return found;
}

static dcsr_status find_on_host(uint32_t *component, dcsr_components_result *result, dcsr_view *A)
{
    dcsr_i_edges e;
    dcsr_i_edges_out(&e, A, "dcsr_strong_components");
    const uint64_t n = e.vertices;
    search s = {.e = &e, .next = 1, .component = (uint32_t)n};
    s.index = dcsr_i_edges_take(&e, n, sizeof *s.index);
    s.root = dcsr_i_edges_take(&e, n, sizeof *s.root);
    s.path = dcsr_i_edges_take(&e, n, sizeof *s.path);
    s.position = dcsr_i_edges_take(&e, n, sizeof *s.position);
    s.stack = dcsr_i_edges_take(&e, n, sizeof *s.stack);
    uint32_t *name = dcsr_i_edges_take(&e, n, sizeof *name), *size = dcsr_i_edges_take(&e, n, sizeof *size);
    if (!e.status) {
        for (uint64_t v = 0; v < n; v++)
            if (!s.index[v]) search_from(&s, (uint32_t)v);
        const dcsr_components_result found = name_components(&s, name, size, component);
        if (result) *result = found;
    }
    return dcsr_i_edges_close(&e);
}

/* *done: it was worth while there, or has failed. */
static dcsr_status find_there(uint32_t *component, dcsr_components_result *result, dcsr_view *A, bool *done)
{
    dcsr_i_edges out, in = {0};
    *done = true;
    dcsr_i_edges_on_device(&out, A, DCSR_I_EDGES_ONCE, true, "dcsr_strong_components");
    if (!out.status)
        out.status = dcsr_i_edges_on_device(&in, out.view ? out.view : A, DCSR_I_EDGES_IN, false,
                                            "dcsr_strong_components");
    if (!out.status) *done = dcsr_i_graph_device->strong_components(&out, &in, component, result);
    dcsr_i_edges_close(&in);
    return dcsr_i_edges_close(&out);
}

dcsr_status dcsr_strong_components(uint32_t *component, dcsr_components_result *result, dcsr_view *A)
{
    dcsr_view_shape shape;
    bool done = false;
    if (!component && !result)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                "dcsr_strong_components: component and result are NULL; give one of them");
    dcsr_status status = dcsr_view_get_shape(A, &shape);
    if (!status && shape.device == DCSR_DEVICE_CUDA) status = find_there(component, result, A, &done);
    return status || done ? status : find_on_host(component, result, A);
}
