/* multi_sssp.c: shortest paths from one vertex on several devices, with a near and a far pile as on one:
 *
 *      near = waiting up to the limit; waiting loses them          part by part
 *      found = near A, over min-plus                               by all devices
 *      fallen = found where found < distance; waiting gets it      part by part
 *      distance = min(distance, fallen)
 *
 * until nothing waits within the limit, which then becomes delta above the least that waits. GPUs do it in one task
 * (cuda/multi_sssp_cuda.c). What is done part by part
 * all devices do at once. Distances only ever fall, to the least over all paths of sums rounded on the way, so they are
 * those of one device, bit for bit. */
#include "algos/multi/cuda/multi_cuda.h"
#include "algos/multi/multi_work.h"
#include <dcsr/extend.h>
#include <dcsr/reduce.h>
#include <dcsr/vector_ops.h>
#include <math.h>
#include <string.h>

typedef struct search {
    dcsr_i_multi_work w;
    dcsr_multi *devices;
    dcsr_multi_vector *distance, *waiting, *near, *found, *fallen, *less;
    double limit;
    double least[DCSR_MAX_DEVICES], sum[DCSR_MAX_DEVICES]; /* of a part's weights */
    dcsr_vector *part[DCSR_MAX_DEVICES][6];                /* in the order above, while a task runs */
} search;

static const dcsr_monoid *monoid(dcsr_binary_name name)
{
    return dcsr_monoid_of(name, DCSR_FP64);
}

/* ---- Weights ---- */

static dcsr_status look_at_weights(void *user, uint64_t k)
{
    search *s = user;
    dcsr_view *part;
    dcsr_status status = dcsr_multi_view_get_part(s->w.A, k, &part);
    if (!status) status = dcsr_matrix_reduce(&s->least[k], NULL, monoid(DCSR_BINARY_MIN), part);
    return status ? status : dcsr_matrix_reduce(&s->sum[k], NULL, monoid(DCSR_BINARY_PLUS), part);
}

/* Sets *least and *sum over all weights; the sum is NaN if one of them is. */
static void measure_weights(search *s, double *least, double *sum)
{
    *least = INFINITY, *sum = 0;
    if (!s->w.status) s->w.status = dcsr_multi_run(s->devices, look_at_weights, s);
    for (uint64_t k = 0; k < s->w.parts && !s->w.status; k++) {
        if (s->least[k] < *least) *least = s->least[k];
        *sum += s->sum[k];
    }
}

/* ---- The piles ---- */

/* Lends the parts of all vectors to the task; products make others. */
static dcsr_status run(search *s, dcsr_multi_task *task)
{
    dcsr_multi_vector *const all[6] = {s->distance, s->waiting, s->near, s->found, s->fallen, s->less};
    for (uint64_t k = 0; k < s->w.parts; k++)
        for (int i = 0; i < 6; i++) s->part[k][i] = dcsr_i_multi_part(&s->w, all[i], k);
    return s->w.status ? s->w.status : dcsr_multi_run(s->devices, task, s);
}

static dcsr_status take_near(void *user, uint64_t k)
{
    search *s = user;
    dcsr_vector *waiting = s->part[k][1], *near = s->part[k][2];
    dcsr_status status = dcsr_vector_select(
        near, NULL, NULL, dcsr_index_op_of(DCSR_INDEX_VALUE_LE, DCSR_FP64), waiting, &s->limit, NULL);
    if (status) return status;
    return dcsr_vector_select(waiting, NULL, NULL, dcsr_index_op_of(DCSR_INDEX_VALUE_GT, DCSR_FP64), waiting,
                              &s->limit, NULL);
}

static dcsr_status take_found(void *user, uint64_t k)
{
    search *s = user;
    dcsr_vector *distance = s->part[k][0], *waiting = s->part[k][1], *found = s->part[k][3],
                *fallen = s->part[k][4], *less = s->part[k][5];
    const dcsr_binary_op *min = dcsr_binary_op_of(DCSR_BINARY_MIN, DCSR_FP64);
    const dcsr_desc replace = {.replace = true};
    dcsr_status status = dcsr_vector_ewise_mult(
        less, NULL, NULL, dcsr_binary_op_of(DCSR_BINARY_LT, DCSR_FP64), found, distance, NULL);
    if (!status) status = dcsr_vector_assign(fallen, less, NULL, found, NULL, &replace);
    if (!status) status = dcsr_vector_assign(distance, NULL, min, fallen, NULL, NULL);
    if (!status) status = dcsr_vector_assign(waiting, NULL, min, fallen, NULL, NULL);
    return status;
}

/* Whether anything waits; it is near then, if it is no farther than delta from the least. */
static bool go_on(search *s, double delta)
{
    dcsr_i_multi_work *w = &s->w;
    double least = INFINITY;
    if (!w->status) w->status = run(s, take_near);
    if (dcsr_i_multi_count_of(w, s->near)) return true;
    if (!dcsr_i_multi_count_of(w, s->waiting)) return false;
    w->status = dcsr_multi_vector_reduce(&least, monoid(DCSR_BINARY_MIN), s->waiting);
    s->limit = least + delta;
    if (!w->status) w->status = run(s, take_near);
    return !w->status;
}

static void search_piles(search *s, uint64_t source, double delta)
{
    dcsr_i_multi_work *w = &s->w;
    s->distance = dcsr_i_multi_take(w, DCSR_FP64);
    s->waiting = dcsr_i_multi_take(w, DCSR_FP64);
    s->near = dcsr_i_multi_take(w, DCSR_FP64);
    s->found = dcsr_i_multi_take(w, DCSR_FP64);
    s->fallen = dcsr_i_multi_take(w, DCSR_FP64);
    s->less = dcsr_i_multi_take(w, DCSR_BOOL);
    if (!w->status) w->status = dcsr_multi_vector_fill(s->distance, &(double){INFINITY});
    if (!w->status) w->status = dcsr_multi_vector_set(s->distance, source, &(double){0});
    if (!w->status) w->status = dcsr_multi_vector_set(s->waiting, source, &(double){0});
    s->limit = delta;
    while (go_on(s, delta)) {
        if (!w->status)
            w->status = dcsr_multi_vxm(s->found, NULL, NULL, dcsr_semiring_of(DCSR_MIN_PLUS, DCSR_FP64),
                                       s->near, w->A, NULL, NULL);
        if (!w->status) w->status = run(s, take_found);
    }
}

/* ---- Weights that are negative, or none ---- */

/* Such graphs are searched by one device, which also finds cycles and names who has a weight NaN. */
static void search_on_one(search *s, double *distance, dcsr_sssp_result *found, uint64_t source)
{
    dcsr_i_multi_work *w = &s->w;
    dcsr_matrix *matrix = NULL;
    dcsr_view *view = NULL;
    const dcsr_matrix_options keep = {
        .policy = DCSR_POLICY_KEEP}; /* an edge that is shown twice has both weights */
    if (!w->status) w->status = dcsr_multi_view_to_matrix(&matrix, w->context, w->A, &keep);
    if (!w->status) w->status = dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_DUPLICATES);
    if (!w->status) w->status = dcsr_sssp(distance, found, view, source, NULL);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
}

static dcsr_sssp_result measure(const double *distance, uint64_t n)
{
    dcsr_sssp_result found = {0};
    for (uint64_t v = 0; v < n; v++) {
        if (distance[v] == INFINITY) continue;
        found.reached++;
        if (distance[v] > found.farthest) found.farthest = distance[v];
    }
    return found;
}

dcsr_status dcsr_multi_sssp(double *distance, dcsr_sssp_result *result, dcsr_multi_view *A, uint64_t source,
                            const dcsr_sssp_options *options)
{
    static const char call[] = "dcsr_multi_sssp";
    search s;
    dcsr_multi_view_info info = {0};
    dcsr_sssp_result found = {0};
    double least, sum, delta = options ? options->delta : 0;
    if (!distance) return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: distance is NULL", call);
    if (!(delta >= 0))
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: delta is negative or not a number", call);
    dcsr_i_multi_work *w = &s.w;
    dcsr_i_multi_work_open(w, A, call);
    if (!w->status && source >= w->n)
        w->status = dcsr_thread_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE, "%s: source %llu of %llu vertices", call,
                                     (unsigned long long)source, (unsigned long long)w->n);
    if (!w->status) w->status = dcsr_multi_view_get_info(A, &info);
    s.devices = info.devices;
    measure_weights(&s, &least, &sum);
    double *made = w->status ? NULL : dcsr_context_allocate(w->context, w->n, sizeof *made);
    if (!w->status && !made) w->status = dcsr_thread_status();
    if (least < 0 || isnan(sum)) {
        search_on_one(&s, made, &found, source);
    } else {
        /* By measurement on the cpu four times the width of one device's, as a round costs more, on one GPU sixteen
           times. Weights that are infinite make all vertices near. */
        enum { ON_CPU = 4, ON_GPUS = 16 };
        const double edges = info.nnz ? (double)info.nnz : 1,
                     width = 8 * (sum / edges) * (double)w->n / edges;
        if (w->on_gpus && !w->status) {
            w->status = dcsr_i_multi_graph_device->sssp(made, &found, w->A, source,
                                                        delta > 0 ? delta : ON_GPUS * width);
        } else {
            search_piles(&s, source, delta > 0 ? delta : ON_CPU * width);
            if (!w->status) w->status = dcsr_multi_vector_to_array(s.distance, &(double){INFINITY}, made);
            if (!w->status) found = measure(made, w->n);
        }
    }
    if (!w->status) memcpy(distance, made, w->n * sizeof *distance);
    if (!w->status && result) *result = found;
    if (made) dcsr_context_free(w->context, made, w->n, sizeof *made);
    return dcsr_i_multi_work_close(w);
}
