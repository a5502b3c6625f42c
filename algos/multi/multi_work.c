/* multi_work.c: vectors that algorithms on several devices take, their parts and sums. */
#include "algos/multi/multi_work.h"
#include <dcsr/extend.h>
#include <stdio.h>

void dcsr_i_multi_work_open(dcsr_i_multi_work *w, dcsr_multi_view *A, const char *call)
{
    dcsr_multi_view_info info;
    dcsr_view_shape shape;
    dcsr_view *first = NULL;
    *w = (dcsr_i_multi_work){.A = A, .call = call};
    if (!A) {
        w->status = dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: A is NULL; create a view first", call);
        return;
    }
    w->status = dcsr_multi_view_get_info(A, &info);
    if (!w->status) w->status = dcsr_multi_view_get_part(A, 0, &first);
    if (!w->status) w->status = dcsr_view_get_shape(first, &shape);
    if (w->status) return;
    w->devices = info.devices;
    w->context = shape.context;
    w->on_gpus = shape.device == DCSR_DEVICE_CUDA;
    w->type = info.type;
    w->n = info.rows;
    w->parts = info.parts;
    if (info.rows != info.cols)
        w->status = dcsr_thread_fail(DCSR_ERROR_DIMENSION_MISMATCH, "%s: A is %llu x %llu; it must be square",
                                     call, (unsigned long long)info.rows, (unsigned long long)info.cols);
}

/* Reports the first failure, also if freeing the vectors fails as well, as it does on a lost device. */
dcsr_status dcsr_i_multi_work_close(dcsr_i_multi_work *w)
{
    char said[512];
    if (w->status) snprintf(said, sizeof said, "%s", dcsr_thread_error());
    for (int i = 0; i < w->count; i++) dcsr_multi_vector_destroy(w->taken[i]);
    w->count = 0;
    return w->status ? dcsr_thread_fail(w->status, "%s", said) : DCSR_OK;
}

dcsr_multi_vector *dcsr_i_multi_take(dcsr_i_multi_work *w, dcsr_type type)
{
    dcsr_multi_vector *vector = NULL;
    if (!w->status) w->status = dcsr_multi_vector_create(&vector, w->A, type, false);
    if (vector) w->taken[w->count++] = vector;
    return vector;
}

dcsr_vector *dcsr_i_multi_part_of(dcsr_multi_vector *vector, uint64_t k)
{
    dcsr_vector *part = NULL;
    uint64_t first;
    dcsr_multi_vector_get_part(vector, k, &part, &first);
    return part;
}

void dcsr_i_multi_each(dcsr_i_multi_work *w, dcsr_multi_task *step, void *user)
{
    if (!w->status) w->status = dcsr_multi_run(w->devices, step, user);
}

uint64_t dcsr_i_multi_count_of(dcsr_i_multi_work *w, const dcsr_multi_vector *vector)
{
    uint64_t count = 0;
    if (!w->status) w->status = dcsr_multi_vector_get_nvals(vector, &count);
    return w->status ? 0 : count;
}

double dcsr_i_multi_sum(dcsr_i_multi_work *w, const dcsr_multi_vector *vector)
{
    double sum = 0;
    if (!w->status)
        w->status = dcsr_multi_vector_reduce(&sum, dcsr_monoid_of(DCSR_BINARY_PLUS, DCSR_FP64), vector);
    return w->status ? 0 : sum;
}
