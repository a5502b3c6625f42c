/* multi_components.c: weakly connected components on several devices: the least label spreads along edges, both ways.
 * GPUs link trees instead (cuda/multi_components_cuda.c).
 *
 *      near = changed A, and A changed         the least label that comes to each vertex
 *      changed = near where near < label
 *      label = min(label, near)
 *
 * A label is the number of a vertex, so that in the end each vertex has the least of its component. Only vertices whose
 * label has just fallen hand theirs on. */
#include "algos/multi/cuda/multi_cuda.h"
#include "algos/multi/multi_work.h"
#include <dcsr/extend.h>
#include <dcsr/vector_ops.h>
#include <string.h>

typedef struct spread {
    dcsr_i_multi_work w;
    dcsr_multi_vector *label, *changed, *near, *less;
} spread;

static const dcsr_binary_op *binary(dcsr_binary_name name)
{
    return dcsr_binary_op_of(name, DCSR_UINT32);
}

static dcsr_status begin_part(void *user, uint64_t k)
{
    const spread *s = user;
    const dcsr_index_op *index = dcsr_index_op_of(DCSR_INDEX_ROW_INDEX, DCSR_UINT32);
    dcsr_vector *label = NULL;
    uint64_t first = 0;
    dcsr_status status = dcsr_multi_vector_get_part(s->label, k, &label, &first);
    const int64_t shift = (int64_t)first;
    if (!status) status = dcsr_vector_apply_index(label, NULL, NULL, index, label, &shift, NULL);
    if (status) return status;
    return dcsr_vector_assign(dcsr_i_multi_part_of(s->changed, k), NULL, NULL, label, NULL, NULL);
}

/* To begin with each vertex is a component, and has changed. */
static void begin(spread *s)
{
    dcsr_i_multi_work *w = &s->w;
    if (!w->status) w->status = dcsr_multi_vector_fill(s->label, &(uint32_t){0});
    dcsr_i_multi_each(w, begin_part, s);
}

static void hand_on(spread *s, bool symmetric)
{
    dcsr_i_multi_work *w = &s->w;
    if (!w->status)
        w->status = dcsr_multi_mxv(s->near, NULL, NULL, dcsr_semiring_of(DCSR_MIN_SECOND, DCSR_UINT32), w->A,
                                   s->changed, NULL, NULL);
    if (!w->status && !symmetric)
        w->status =
            dcsr_multi_vxm(s->near, NULL, binary(DCSR_BINARY_MIN),
                           dcsr_semiring_of(DCSR_MIN_FIRST, DCSR_UINT32), s->changed, w->A, NULL, NULL);
}

static dcsr_status take(void *user, uint64_t k)
{
    const spread *s = user;
    const dcsr_desc replace = {.replace = true};
    dcsr_vector *label = dcsr_i_multi_part_of(s->label, k), *near = dcsr_i_multi_part_of(s->near, k),
                *changed = dcsr_i_multi_part_of(s->changed, k), *less = dcsr_i_multi_part_of(s->less, k);
    dcsr_status status = dcsr_vector_ewise_mult(less, NULL, NULL, binary(DCSR_BINARY_LT), near, label, NULL);
    if (!status) status = dcsr_vector_assign(changed, less, NULL, near, NULL, &replace);
    if (status) return status;
    return dcsr_vector_assign(label, NULL, binary(DCSR_BINARY_MIN), changed, NULL, NULL);
}

static dcsr_components_result measure(const uint32_t *component, uint32_t *size, uint64_t n)
{
    dcsr_components_result found = {0};
    for (uint64_t v = 0; v < n; v++) size[component[v]]++;
    for (uint64_t v = 0; v < n; v++) {
        if (!size[v]) continue;
        found.components++;
        if (size[v] > found.largest) found.largest = size[v], found.largest_name = v;
    }
    return found;
}

dcsr_status dcsr_multi_components(uint32_t *component, dcsr_components_result *result, dcsr_multi_view *A,
                                  const dcsr_graph_options *options)
{
    spread s;
    if (!component && !result)
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                "dcsr_multi_components: component and result are NULL; give one of them");
    dcsr_i_multi_work *w = &s.w;
    dcsr_i_multi_work_open(w, A, "dcsr_multi_components");
    if (!w->status && w->on_gpus)
        return dcsr_i_multi_graph_device->components(component, result, A, options && options->symmetric);
    s.label = dcsr_i_multi_take(w, DCSR_UINT32);
    s.changed = dcsr_i_multi_take(w, DCSR_UINT32);
    s.near = dcsr_i_multi_take(w, DCSR_UINT32);
    s.less = dcsr_i_multi_take(w, DCSR_BOOL);
    /* Labels, and how many vertices have each. */
    uint32_t *made = w->status ? NULL : dcsr_context_allocate(w->context, 2 * w->n, sizeof *made);
    if (!w->status && !made) w->status = dcsr_thread_status();
    begin(&s);
    while (dcsr_i_multi_count_of(w, s.changed)) {
        hand_on(&s, options && options->symmetric);
        dcsr_i_multi_each(w, take, &s);
    }
    if (!w->status) w->status = dcsr_multi_vector_to_array(s.label, &(uint32_t){0}, made);
    if (!w->status && result) *result = measure(made, made + w->n, w->n);
    if (!w->status && component) memcpy(component, made, w->n * sizeof *component);
    if (made) dcsr_context_free(w->context, made, 2 * w->n, sizeof *made);
    return dcsr_i_multi_work_close(w);
}
