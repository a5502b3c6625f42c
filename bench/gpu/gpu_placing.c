/* gpu_placing.c: when is the host faster than its GPU?
 *
 * The same call is made to run on either, with its vectors where it runs, and where it does not, so that they
 * have to be brought there. Elements on the host: the device is worth it from the size on at which
 * device_send_s is below host_s (DCSR_I_WORTH_DEVICE). Elements on the device: staying is worth it from the
 * size on at which device_s is below host_fetch_s (DCSR_I_WORTH_STAYING). Work is counted as ops/algebra/dispatch.h
 * does, in entries. */
#include "bench/gpu/gpu_contests.h"
#include <dcsr/vector.h>
#include <dcsr/mxv.h>
#include <dcsr/vector_ops.h>

#include <stdio.h>
#include <stdlib.h>

enum { ROW = 8 }; /* entries in a row of the matrices */

typedef struct subject {
    bench *b;
    dcsr_vector *w, *u, *v;
    dcsr_view *A;
    uint64_t size;
} subject;

static dcsr_status apply(const subject *s, const dcsr_desc *desc)
{
    return dcsr_vector_apply(s->w, NULL, NULL, dcsr_unary_op_named("negate", DCSR_FP64), s->u, desc);
}

static dcsr_status ewise(const subject *s, const dcsr_desc *desc)
{
    return dcsr_vector_ewise_add(s->w, NULL, NULL, dcsr_binary_op_named("plus", DCSR_FP64), s->u, s->v, desc);
}

static dcsr_status mxv(const subject *s, const dcsr_desc *desc)
{
    return dcsr_mxv(s->w, NULL, NULL, dcsr_semiring_named("plus_times", DCSR_FP64), s->A, s->u, desc);
}

static const struct {
    const char *name;
    dcsr_status (*call)(const subject *s, const dcsr_desc *desc);
    uint64_t work; /* for an element */
} calls[] = {{"apply", apply, 1}, {"ewise_add", ewise, 2}, {"mxv", mxv, ROW + 2}};

/* The newest elements are then there alone. */
static void put(const subject *s, dcsr_vector *vector, dcsr_device device)
{
    const double one = 1;
    if (device == DCSR_DEVICE_CPU)
        BENCH_OK(dcsr_vector_set(vector, s->size / 2, &one));
    else
        BENCH_OK(dcsr_vector_apply(vector, NULL, NULL, dcsr_unary_op_named("abs", DCSR_FP64), vector,
                                   &(dcsr_desc){.device = device}));
}

/* Seconds of call k on the device, with its inputs on another or the same. */
static double measure(const subject *s, int k, dcsr_device device, dcsr_device inputs)
{
    const dcsr_desc desc = {.device = device};
    bench_samples samples = {0};
    for (double start = bench_now();
         samples.count < 7 || bench_now() - start < BENCH_SIZE(s->b, 0.01, 0.05);) {
        put(s, s->u, inputs);
        put(s, s->v, inputs);
        const double before = bench_now();
        BENCH_OK(calls[k].call(s, &desc));
        bench_samples_add(&samples, bench_now() - before);
    }
    return bench_samples_stat(&samples).median;
}

static dcsr_vector *full_vector(const bench *b, uint64_t size)
{
    dcsr_vector *vector;
    uint64_t *indices = bench_alloc(size, sizeof *indices);
    double *values = bench_vector(size);
    for (uint64_t i = 0; i < size; i++) indices[i] = i;
    BENCH_OK(dcsr_vector_create(&vector, b->context, DCSR_FP64, size));
    BENCH_OK(dcsr_vector_build(vector, size, indices, values, DCSR_POLICY_DEFAULT));
    free(indices), free(values);
    return vector;
}

static void on_size(bench *b, bench_table *table, uint64_t size)
{
    char text[64];
    snprintf(text, sizeof text, "er:%llu,%llu", (unsigned long long)size, (unsigned long long)(ROW * size));
    bench_csr A = bench_csr_make(b, text);
    bench_entries entries = bench_entries_from_csr(&A);
    dcsr_matrix *matrix = bench_matrix(b, NULL, &entries, size, size, DCSR_FP64, NULL);
    subject s = {.b = b, .size = size, .u = full_vector(b, size), .v = full_vector(b, size)};
    BENCH_OK(dcsr_vector_create(&s.w, b->context, DCSR_FP64, size));
    BENCH_OK(dcsr_view_create(&s.A, matrix, DCSR_LAYOUT_SEGMENTS, 0));
    for (int k = 0; k < (int)(sizeof calls / sizeof *calls); k++) {
        measure(&s, k, DCSR_DEVICE_CPU, DCSR_DEVICE_CPU); /* makes what a view keeps */
        const double host = measure(&s, k, DCSR_DEVICE_CPU, DCSR_DEVICE_CPU),
                     fetch = measure(&s, k, DCSR_DEVICE_CPU, DCSR_DEVICE_CUDA),
                     device = measure(&s, k, DCSR_DEVICE_CUDA, DCSR_DEVICE_CUDA),
                     send = measure(&s, k, DCSR_DEVICE_CUDA, DCSR_DEVICE_CPU);
        bench_row(table, BENCH_LABELS(calls[k].name), (double)(size * calls[k].work), host, fetch, device,
                  send, host / send, fetch / device);
    }
    dcsr_view_destroy(s.A);
    dcsr_vector_destroy(s.u), dcsr_vector_destroy(s.v), dcsr_vector_destroy(s.w);
    dcsr_matrix_destroy(matrix);
    bench_entries_free(&entries);
    bench_csr_free(&A);
}

void gpu_contest_placing(bench *b)
{
    bench_table *table = bench_table_begin(
        b, "placing", "calls on the host and on the device; ratios above 1: the device is worth it",
        "call | work:%.0f host_s:%.3g host_fetch_s:%.3g device_s:%.3g device_send_s:%.3g "
        "going:%.2f staying:%.2f");
    const uint64_t most = (uint64_t)BENCH_SIZE(b, 1 << 14, 1 << 20);
    for (uint64_t size = 64; size <= most; size *= 4)
        if (bench_has_time(b, "placing")) on_size(b, table, size);
}
