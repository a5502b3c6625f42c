/* multi_sssp.c: shortest paths from one vertex on several devices. GPUs do it in one task (cuda/multi_sssp_cuda.c); on
 * the cpu, and where a weight is negative or no number, all threads of the host search the rows of all devices, as on
 * one. Distances only ever fall, to the least over all paths of sums rounded on the way, so they are those of one
 * device, bit for bit. */
#include "algos/graph/sssp.h"
#include "algos/multi/cuda/multi_cuda.h"
#include "algos/multi/multi_work.h"
#include <dcsr/reduce.h>
#include <math.h>
#include <string.h>

static dcsr_status search_on_host(double *distance, dcsr_sssp_result *result, dcsr_multi_view *A,
                                  uint64_t source, double delta)
{
    dcsr_i_edges e;
    dcsr_i_edges_of_parts(&e, A, DCSR_I_EDGES_OUT, "dcsr_multi_sssp");
    dcsr_i_sssp(&e, distance, result, source, delta);
    return dcsr_i_edges_close(&e);
}

/* ---- GPUs ---- */

typedef struct weights {
    dcsr_multi_view *A;
    double least[DCSR_MAX_DEVICES], sum[DCSR_MAX_DEVICES]; /* of a part's */
} weights;

static const dcsr_monoid *monoid(dcsr_binary_name name)
{
    return dcsr_monoid_of(name, DCSR_FP64);
}

static dcsr_status look_at_weights(void *user, uint64_t k)
{
    weights *found = user;
    dcsr_view *part;
    dcsr_status status = dcsr_multi_view_get_part(found->A, k, &part);
    if (!status) status = dcsr_matrix_reduce(&found->least[k], NULL, monoid(DCSR_BINARY_MIN), part);
    return status ? status : dcsr_matrix_reduce(&found->sum[k], NULL, monoid(DCSR_BINARY_PLUS), part);
}

/* *done: not where a weight is negative or NaN, or one infinite and another minus infinite. */
static dcsr_status search_on_gpus(double *distance, dcsr_sssp_result *result, bool *done,
                                  const dcsr_i_multi_work *w, uint64_t source, double delta)
{
    enum { BUCKETS = 16 }; /* times the width of one device's: a round costs more (by measurement) */
    weights found = {.A = w->A};
    dcsr_multi_view_info info;
    double least = INFINITY, sum = 0;
    dcsr_status status = dcsr_multi_view_get_info(w->A, &info);
    if (!status) status = dcsr_multi_run(w->devices, look_at_weights, &found);
    if (status) return status;
    for (uint64_t k = 0; k < w->parts; k++) {
        if (found.least[k] < least) least = found.least[k];
        sum += found.sum[k];
    }
    *done = !(least < 0 || isnan(sum));
    if (!*done) return DCSR_OK;
    double *made = dcsr_context_allocate(w->context, w->n, sizeof *made);
    if (!made) return dcsr_thread_status();
    dcsr_sssp_result of_all = {0};
    status = dcsr_i_multi_graph_device->sssp(
        made, &of_all, w->A, source, delta > 0 ? delta : BUCKETS * dcsr_i_sssp_width(w->n, info.nnz, sum, 0));
    if (!status) memcpy(distance, made, w->n * sizeof *distance);
    if (!status && result) *result = of_all;
    dcsr_context_free(w->context, made, w->n, sizeof *made);
    return status;
}

/* ---- Either ---- */

dcsr_status dcsr_multi_sssp(double *distance, dcsr_sssp_result *result, dcsr_multi_view *A, uint64_t source,
                            const dcsr_sssp_options *options)
{
    static const char call[] = "dcsr_multi_sssp";
    const double delta = options ? options->delta : 0;
    dcsr_i_multi_work w;
    bool done = false;
    if (!distance) return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: distance is NULL", call);
    if (!(delta >= 0))
        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: delta is negative or not a number", call);
    dcsr_i_multi_work_open(&w, A, call);
    if (!w.status && source >= w.n)
        w.status = dcsr_thread_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE, "%s: source %llu of %llu vertices", call,
                                    (unsigned long long)source, (unsigned long long)w.n);
    if (!w.status && w.on_gpus) w.status = search_on_gpus(distance, result, &done, &w, source, delta);
    if (!w.status && !done) w.status = search_on_host(distance, result, A, source, delta);
    return dcsr_i_multi_work_close(&w);
}
