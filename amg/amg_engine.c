/* amg_engine.c: the cpu's engine: its memory, steps that are loops over a vector, and the table. */
#include "amg/amg_engine.h"
#include "amg/hierarchy_follow.h"
#include <math.h>
#include <string.h>

static void fill_constants(dcsr_i_amg_hierarchy *h, double *B, uint64_t rows, uint64_t block)
{
    (void)h;
    for (uint64_t i = 0; i < rows; i++) B[i * block + i % block] = 1;
}

/* ---- Lanczos steps ---- */

static void lanczos_start(dcsr_i_amg_hierarchy *h, uint64_t first, uint64_t n, const double *d, double *v,
                          double *w)
{
    const int threads = dcsr_context_threads(h->context, n);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (uint64_t i = 0; i < n; i++) {
        v[i] = d[i] != 0 ? (double)dcsr_i_amg_random(0, first + i) * 0x1p-64 - 0.5 : 0;
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

/* ---- Arguments ---- */

static void gather(const dcsr_i_amg_form *f, double *to, const double *from, uint64_t rows, int columns)
{
    const int width = f->width;
    for (uint64_t i = 0; i < rows; i++)
        for (int c = 0; c < width; c++)
            to[i * (uint64_t)width + (uint64_t)c] = c < columns ? from[i + (uint64_t)c * rows] : 0;
}

static void scatter(const dcsr_i_amg_form *f, double *to, const double *from, uint64_t rows, int columns)
{
    for (int c = 0; c < columns; c++)
        for (uint64_t i = 0; i < rows; i++)
            to[i + (uint64_t)c * rows] = from[i * (uint64_t)f->width + (uint64_t)c];
}

static uint64_t find_extreme(dcsr_i_amg_hierarchy *h, const dcsr_i_amg_level *level, double most,
                             double least)
{
    (void)h;
    const double *diagonal = level->diagonal.data;
    for (uint64_t i = 0; i < level->rows; i++) {
        const dcsr_i_amg_span row = dcsr_i_amg_span_of(&level->A.rows, i);
        double largest = 0;
        for (uint64_t e = 0; e < row.count; e++) largest = fmax(largest, fabs(row.values[e]));
        if (largest > most || fabs(diagonal[i]) < least) return i;
    }
    return level->rows;
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

static dcsr_status hand(dcsr_i_amg_hierarchy *h, void *to, const dcsr_context *to_context, const void *from,
                        const dcsr_context *from_context, size_t bytes)
{
    (void)to_context, (void)from_context;
    return get(h, to, from, bytes);
}

const dcsr_i_amg_engine dcsr_i_amg_cpu = {.open = open,
                                          .close = close,
                                          .take = take,
                                          .drop = drop,
                                          .take_sums = dcsr_i_amg_take_sums,
                                          .put = put,
                                          .get = get,
                                          .hand = hand,
                                          .read_diagonal = dcsr_i_amg_read_diagonal,
                                          .fill_constants = fill_constants,
                                          .strength = dcsr_i_amg_strength,
                                          .list_outside = dcsr_i_amg_list_outside,
                                          .aggregate = dcsr_i_amg_aggregate,
                                          .prolongator = dcsr_i_amg_prolongator,
                                          .tidy = dcsr_i_amg_tidy,
                                          .collect = dcsr_i_amg_collect,
                                          .bring_dense = dcsr_i_amg_bring_dense,
                                          .lanczos_start = lanczos_start,
                                          .lanczos_step = lanczos_step,
                                          .form_of = dcsr_i_amg_form_of,
                                          .narrow = dcsr_i_amg_narrow,
                                          .widen = dcsr_i_amg_widen,
                                          .gather = gather,
                                          .scatter = scatter,
                                          .colour = dcsr_i_amg_colour,
                                          .find_extreme = find_extreme};
