/* amg_engine.c: the cpu's engine: its memory, steps that are loops over a vector, and the table. */
#include "amg/amg_engine.h"
#include <string.h>

static void fill_constants(dcsr_i_amg_hierarchy *h, double *B, uint64_t rows, uint64_t block)
{
    (void)h;
    for (uint64_t i = 0; i < rows; i++) B[i * block + i % block] = 1;
}

/* ---- Lanczos steps ---- */

static void lanczos_start(dcsr_i_amg_hierarchy *h, uint64_t n, const double *d, double *v, double *w)
{
    const int threads = dcsr_context_threads(h->context, n);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (uint64_t i = 0; i < n; i++) {
        v[i] = d[i] != 0 ? (double)dcsr_i_amg_random(0, i) * 0x1p-64 - 0.5 : 0;
        w[i] = d[i] * v[i];
    }
}

static void lanczos_step(dcsr_i_amg_hierarchy *h, uint64_t n, const double *d, double alpha, double beta,
                         const double *v, double *w, double *r)
{
    const int threads = dcsr_context_threads(h->context, n);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (uint64_t i = 0; i < n; i++) {
        double next = d[i] != 0 ? w[i] / d[i] - alpha * v[i] - beta * r[i] : 0;
        w[i] = next;
        r[i] = next * d[i];
    }
}

/* ---- The engine ---- */

static dcsr_status open(dcsr_i_amg_hierarchy *h)
{
    (void)h;
    return DCSR_OK;
}

static dcsr_status close(dcsr_i_amg_hierarchy *h, const char *operation)
{
    (void)h, (void)operation;
    return DCSR_OK;
}

static dcsr_status take(dcsr_i_amg_array *array, dcsr_i_amg_hierarchy *h, uint64_t count, size_t size)
{
    return dcsr_i_amg_borrow_zeroed(array, h->pool, count, size);
}

static void drop(dcsr_i_amg_array *array, dcsr_i_amg_hierarchy *h)
{
    dcsr_i_amg_give(array, h->pool);
}

static void put(dcsr_i_amg_hierarchy *h, void *to, const void *from, size_t bytes)
{
    (void)h;
    memcpy(to, from, bytes);
}

static dcsr_status get(dcsr_i_amg_hierarchy *h, void *to, const void *from, size_t bytes)
{
    (void)h;
    memcpy(to, from, bytes);
    return DCSR_OK;
}

const dcsr_i_amg_engine dcsr_i_amg_cpu = {.open = open,
                                          .close = close,
                                          .take = take,
                                          .drop = drop,
                                          .take_sums = dcsr_i_amg_take_sums,
                                          .put = put,
                                          .get = get,
                                          .read_diagonal = dcsr_i_amg_read_diagonal,
                                          .fill_constants = fill_constants,
                                          .strength = dcsr_i_amg_strength,
                                          .aggregate = dcsr_i_amg_aggregate,
                                          .prolongator = dcsr_i_amg_prolongator,
                                          .lanczos_start = lanczos_start,
                                          .lanczos_step = lanczos_step,
                                          .form_of = dcsr_i_amg_form_of};
