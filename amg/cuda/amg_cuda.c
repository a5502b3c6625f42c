/* amg_cuda.c: the engine of a GPU: its memory, the numbers that come back, and the table. */
#include "amg/cuda/amg_cuda.h"
#include "amg/cuda/follow_stages.h"
#include "dcsr/base/runtime.h"
#include <math.h>
#include <string.h>

static dcsr_status open(dcsr_i_amg_hierarchy *h)
{
    h->failed = DCSR_OK;
    h->stream = dcsr_i_stream_borrow(h->context);
    return h->stream ? DCSR_OK : dcsr_thread_status();
}

static dcsr_status close(dcsr_i_amg_hierarchy *h, const char *operation)
{
    if (!h->stream) return DCSR_OK;
    dcsr_status status = dcsr_i_cuda_wait(h->stream, operation);
    dcsr_i_stream_return(h->context, h->stream);
    h->stream = NULL;
    return h->failed ? h->failed : status;
}

/* ---- Memory ---- */

dcsr_status dcsr_i_amg_cuda_hold(dcsr_i_amg_array *array, dcsr_i_amg_hierarchy *h, uint64_t count,
                                 size_t size)
{
    void *data = dcsr_i_cuda_alloc(h->stream, DCSR_I_MATRIX, count, size);
    if (!data) return dcsr_thread_status();
    *array = (dcsr_i_amg_array){data, count, size, 0};
    return DCSR_OK;
}

static dcsr_status take(dcsr_i_amg_array *array, dcsr_i_amg_hierarchy *h, uint64_t count, size_t size)
{
    DCSR_I_AMG_TRY(dcsr_i_amg_cuda_hold(array, h, count, size));
    dcsr_i_cuda_fill(h->stream, array->data, 0, count * size);
    return DCSR_OK;
}

static void drop(dcsr_i_amg_array *array, dcsr_i_amg_hierarchy *h)
{
    if (h->stream)
        dcsr_i_cuda_free(h->stream, DCSR_I_MATRIX, array->data, array->count, array->size);
    else
        dcsr_i_cuda_free_idle(h->context->cuda, DCSR_I_MATRIX, array->data, array->count, array->size);
    *array = (dcsr_i_amg_array){0};
}

static dcsr_status take_sums(dcsr_i_amg_hierarchy *h, uint64_t rows)
{
    return take(&h->sums, h, dcsr_i_amg_cuda_sums(rows), sizeof(double));
}

/* Waits, so that arrays of the host may be freed. */
static dcsr_status wait(dcsr_i_amg_hierarchy *h)
{
    dcsr_status status = dcsr_i_cuda_wait(h->stream, "multigrid");
    if (status && !h->failed) h->failed = status;
    return h->failed;
}

static void put(dcsr_i_amg_hierarchy *h, void *to, const void *from, size_t bytes)
{
    dcsr_i_cuda_copy(h->stream, to, from, bytes);
    wait(h);
}

static dcsr_status get(dcsr_i_amg_hierarchy *h, void *to, const void *from, size_t bytes)
{
    dcsr_i_cuda_copy(h->stream, to, from, bytes);
    return wait(h);
}

static dcsr_status hand(dcsr_i_amg_hierarchy *h, void *to, const dcsr_context *to_context, const void *from,
                        const dcsr_context *from_context, size_t bytes)
{
    dcsr_i_cuda_copy_peer(h->stream, to, to_context->cuda, from, from_context->cuda, bytes);
    return wait(h);
}

static bool has(const dcsr_i_amg_hierarchy *h, const void *array)
{
    dcsr_i_cuda_memory_kind where = dcsr_i_cuda_where(h->context->cuda, array);
    return where == DCSR_CUDA_ON_DEVICE || where == DCSR_CUDA_PINNED;
}

const void *dcsr_i_amg_cuda_read(dcsr_i_amg_hierarchy *h, const void *there, size_t bytes)
{
    void *landing = dcsr_i_cuda_landing(h->stream, DCSR_I_AMG_CUDA_READ);
    if (landing) dcsr_i_cuda_copy(h->stream, landing, there, bytes);
    return wait(h) ? NULL : landing;
}

/* ---- Passes over rows ---- */

static dcsr_i_amg_cuda_form there(const dcsr_i_amg_form *f)
{
    return (dcsr_i_amg_cuda_form){f->h->stream, f->type == DCSR_FP32, (unsigned)f->width, f->sums};
}

static dcsr_i_amg_cuda_factors factors_of(const dcsr_i_amg_form *f, const double *numbers)
{
    dcsr_i_amg_cuda_factors factors = {{0}};
    memcpy(factors.column, numbers, (size_t)f->width * sizeof *numbers);
    return factors;
}

/* The sums of the last pass; NULL for those that are not wanted. */
static void read_sums(const dcsr_i_amg_form *f, double *first, double *second)
{
    const int width = f->width;
    const double *sums =
        dcsr_i_amg_cuda_read(f->h, f->sums, DCSR_AMG_CUDA_SUMS * (size_t)width * sizeof *sums);
    for (int c = 0; c < width; c++) {
        if (first) first[c] = sums ? sums[c] : NAN;
        if (second) second[c] = sums ? sums[width + c] : NAN;
    }
}

static void multiply_any(const dcsr_i_amg_form *f, const dcsr_i_amg_cuda_product *p)
{
    const dcsr_i_amg_cuda_form form = there(f);
    dcsr_i_amg_cuda_multiply(&form, p);
}

static void multiply(const dcsr_i_amg_form *f, const dcsr_i_amg_rows *A, const void *x, void *y)
{
    multiply_any(f, &(dcsr_i_amg_cuda_product){.A = dcsr_i_amg_cuda_rows_of(A), .x = x, .y = y, .sign = 1});
}

static void add_product(const dcsr_i_amg_form *f, const dcsr_i_amg_rows *A, const void *x, const void *b,
                        void *y)
{
    multiply_any(
        f, &(dcsr_i_amg_cuda_product){.A = dcsr_i_amg_cuda_rows_of(A), .x = x, .b = b, .y = y, .sign = 1});
}

static void residual(const dcsr_i_amg_form *f, const dcsr_i_amg_rows *A, const void *x, const void *b,
                     void *r, double *squares)
{
    multiply_any(
        f,
        &(dcsr_i_amg_cuda_product){
            .A = dcsr_i_amg_cuda_rows_of(A), .x = x, .b = b, .w = r, .y = r, .summed = squares, .sign = -1});
    if (squares) read_sums(f, squares, NULL);
}

static void multiply_dot(const dcsr_i_amg_form *f, const dcsr_i_amg_rows *A, const void *x, void *y,
                         const void *w, double *wy, double *yy)
{
    multiply_any(f, &(dcsr_i_amg_cuda_product){
                        .A = dcsr_i_amg_cuda_rows_of(A), .x = x, .w = w, .y = y, .summed = true, .sign = 1});
    read_sums(f, wy, yy);
}

static dcsr_i_amg_cuda_step step_of(const dcsr_i_amg_level *level, const dcsr_i_amg_smoothing *step,
                                    const void *b, const void *x, void *to)
{
    return (dcsr_i_amg_cuda_step){.A = dcsr_i_amg_cuda_rows_of(&level->A.rows),
                                  .x = x,
                                  .b = b,
                                  .scale = level->scale.data,
                                  .d = level->d.data,
                                  .to = to,
                                  .keep = step->keep,
                                  .add = step->add};
}

static void smooth_first(const dcsr_i_amg_form *f, const dcsr_i_amg_level *level, double add, const void *b,
                         void *x)
{
    const dcsr_i_amg_cuda_form form = there(f);
    const dcsr_i_amg_cuda_step s = step_of(level, &(dcsr_i_amg_smoothing){.add = add}, b, NULL, x);
    dcsr_i_amg_cuda_smooth(&form, &s);
}

static void smooth_step(const dcsr_i_amg_form *f, const dcsr_i_amg_level *level,
                        const dcsr_i_amg_smoothing *step, const void *b, const void *x, void *to)
{
    const dcsr_i_amg_cuda_form form = there(f);
    const dcsr_i_amg_cuda_step s = step_of(level, step, b, x, to);
    dcsr_i_amg_cuda_smooth(&form, &s);
}

static void smooth_after(const dcsr_i_amg_form *f, const dcsr_i_amg_level *level,
                         const dcsr_i_amg_smoothing *step, const void *b, const void *q, void *x)
{
    const dcsr_i_amg_cuda_form form = there(f);
    const dcsr_i_amg_cuda_step s = step_of(level, step, b, q, x);
    dcsr_i_amg_cuda_smooth_after(&form, &s);
}

static void sweep(const dcsr_i_amg_form *f, const dcsr_i_amg_level *level, bool backward, const void *b,
                  void *x)
{
    const dcsr_i_amg_cuda_form form = there(f);
    const dcsr_i_amg_cuda_sweep s = {.A = dcsr_i_amg_cuda_rows_of(&level->A.rows),
                                     .by_colour = level->by_colour.data,
                                     .begin = level->colours.data,
                                     .colours = level->colours.count - 1,
                                     .scale = level->scale.data,
                                     .b = b,
                                     .x = x,
                                     .backward = backward};
    dcsr_i_amg_cuda_gauss_seidel(&form, &s);
}

static void dense(const dcsr_i_amg_form *f, uint64_t n, const double *M, const void *x, void *y)
{
    const dcsr_i_amg_cuda_form form = there(f);
    dcsr_i_amg_cuda_multiply_dense(&form, n, M, x, y);
}

static void dot(const dcsr_i_amg_form *f, uint64_t n, const void *x, const void *y, double *xy)
{
    const dcsr_i_amg_cuda_form form = there(f);
    dcsr_i_amg_cuda_dot(&form, n, x, y);
    read_sums(f, xy, NULL);
}

static void combine(const dcsr_i_amg_form *f, uint64_t n, const double *a, const void *x, const double *b,
                    void *y)
{
    const dcsr_i_amg_cuda_form form = there(f);
    const dcsr_i_amg_cuda_factors as = factors_of(f, a), bs = factors_of(f, b);
    dcsr_i_amg_cuda_combine(&form, n, &as, x, &bs, y);
}

static void add_norm(const dcsr_i_amg_form *f, uint64_t n, const double *a, const void *x, void *y,
                     double *squares)
{
    const dcsr_i_amg_cuda_form form = there(f);
    const dcsr_i_amg_cuda_factors as = factors_of(f, a);
    if (!squares) {
        combine(f, n, a, x, dcsr_i_amg_one, y);
        return;
    }
    dcsr_i_amg_cuda_add_norm(&form, n, &as, x, y);
    read_sums(f, squares, NULL);
}

static const dcsr_i_amg_kernels kernels = {.multiply = multiply,
                                           .add_product = add_product,
                                           .residual = residual,
                                           .multiply_dot = multiply_dot,
                                           .smooth_first = smooth_first,
                                           .smooth_step = smooth_step,
                                           .smooth_after = smooth_after,
                                           .sweep = sweep,
                                           .dot = dot,
                                           .combine = combine,
                                           .add_norm = add_norm,
                                           .dense = dense};

static dcsr_i_amg_form form_of(dcsr_i_amg_hierarchy *h, dcsr_type type, int width)
{
    return (dcsr_i_amg_form){
        .h = h, .context = h->context, .sums = h->sums.data, .type = type, .width = width, .run = &kernels};
}

static void convert(const dcsr_i_amg_form *f, dcsr_type to, uint64_t n, const double *factors, const void *x,
                    void *y)
{
    const dcsr_i_amg_cuda_factors by = factors_of(f, factors);
    dcsr_i_amg_cuda_form form = there(f);
    form.narrow = to == DCSR_FP32;
    dcsr_i_amg_cuda_convert(&form, n, &by, x, y);
}

static void narrow(const dcsr_i_amg_form *f, uint64_t n, const double *norms, const double *x, float *y)
{
    double inverse[DCSR_I_AMG_MOST_WIDTH];
    for (int c = 0; c < f->width; c++) inverse[c] = norms[c] == 0 ? 0 : 1 / norms[c];
    convert(f, DCSR_FP32, n, inverse, x, y);
}

static void widen(const dcsr_i_amg_form *f, uint64_t n, const double *norms, const float *x, double *y)
{
    convert(f, DCSR_FP64, n, norms, x, y);
}

static void gather(const dcsr_i_amg_form *f, double *to, const double *from, uint64_t rows, int columns)
{
    const dcsr_i_amg_cuda_form form = there(f);
    dcsr_i_amg_cuda_gather(&form, to, from, rows, (unsigned)columns);
}

static void scatter(const dcsr_i_amg_form *f, double *to, const double *from, uint64_t rows, int columns)
{
    const dcsr_i_amg_cuda_form form = there(f);
    dcsr_i_amg_cuda_scatter(&form, to, from, rows, (unsigned)columns);
}

/* The least number that a kernel writes to h->sums; n: none. */
static uint64_t *begin_find(dcsr_i_amg_hierarchy *h)
{
    dcsr_i_cuda_fill(h->stream, h->sums.data, 0xff, sizeof(uint64_t));
    return h->sums.data;
}

static uint64_t end_find(dcsr_i_amg_hierarchy *h, uint64_t n)
{
    const uint64_t *first = dcsr_i_amg_cuda_read(h, h->sums.data, sizeof *first);
    return first && *first < n ? *first : n;
}

static uint64_t find_wild(dcsr_i_amg_hierarchy *h, uint64_t n, const double *x)
{
    dcsr_i_amg_cuda_find_wild(h->stream, n, x, begin_find(h));
    return end_find(h, n);
}

static uint64_t find_extreme(dcsr_i_amg_hierarchy *h, const dcsr_i_amg_level *level, double most,
                             double least)
{
    const dcsr_i_amg_cuda_rows A = dcsr_i_amg_cuda_rows_of(&level->A.rows);
    dcsr_i_amg_cuda_find_extreme(h->stream, &A, level->diagonal.data, most, least, begin_find(h));
    return end_find(h, A.rows);
}

/* ---- For the setup ---- */

static void fill_constants(dcsr_i_amg_hierarchy *h, double *B, uint64_t rows, uint64_t block)
{
    dcsr_i_amg_cuda_fill_constants(h->stream, B, rows, block);
}

static void lanczos_start(dcsr_i_amg_hierarchy *h, uint64_t first, uint64_t n, const double *d, double *v,
                          double *w)
{
    dcsr_i_amg_cuda_lanczos_start(h->stream, first, n, d, v, w);
}

static void lanczos_step(dcsr_i_amg_hierarchy *h, uint64_t n, const double *d, double alpha, double beta,
                         const double *v, double *w, double *r)
{
    dcsr_i_amg_cuda_lanczos_step(h->stream, n, d, alpha, beta, v, w, r);
}

static dcsr_status read_diagonal(dcsr_i_amg_diagonal *found, dcsr_i_amg_hierarchy *h, dcsr_i_amg_level *level)
{
    const dcsr_i_amg_cuda_rows A = dcsr_i_amg_cuda_rows_of(&level->A.rows);
    dcsr_i_amg_cuda_found *where = dcsr_i_amg_cuda_take(h, 1, sizeof *where);
    dcsr_status status = where ? take(&level->diagonal, h, A.rows, sizeof(double)) : dcsr_thread_status();
    if (!status) status = take(&level->scale, h, A.rows, sizeof(double));
    if (!status) {
        const dcsr_i_amg_cuda_scaling how = {
            .l1 = h->options.smoother == DCSR_I_AMG_L1,
            .outside_weight = h->options.smoother == DCSR_I_AMG_GAUSS_SEIDEL ? DCSR_I_AMG_OUTSIDE_WEIGHT : 0};
        dcsr_i_cuda_fill(h->stream, where, 0, sizeof *where);
        dcsr_i_cuda_fill(h->stream, &where->wrong, 0xff, sizeof where->wrong);
        dcsr_i_amg_cuda_read_diagonal(h->stream, &A, how, level->diagonal.data, level->scale.data, where);
        const dcsr_i_amg_cuda_found *here = dcsr_i_amg_cuda_read(h, where, sizeof *here);
        if (here) {
            *found = (dcsr_i_amg_diagonal){.positive = !here->negative,
                                           .outside = (double)here->outside / DCSR_AMG_CUDA_UNITS,
                                           .wrong = here->wrong};
            memcpy(&found->gershgorin, &here->gershgorin, sizeof found->gershgorin);
        }
        status = h->failed;
    }
    dcsr_i_amg_cuda_drop(h, where, 1, sizeof *where);
    return status;
}

const dcsr_i_amg_engine dcsr_i_amg_cuda = {.on_device = true,
                                           .open = open,
                                           .close = close,
                                           .take = take,
                                           .drop = drop,
                                           .take_sums = take_sums,
                                           .put = put,
                                           .get = get,
                                           .hand = hand,
                                           .has = has,
                                           .read_diagonal = read_diagonal,
                                           .fill_constants = fill_constants,
                                           .strength = dcsr_i_amg_cuda_strength,
                                           .list_outside = dcsr_i_amg_cuda_list_outside,
                                           .aggregate = dcsr_i_amg_cuda_aggregate,
                                           .prolongator = dcsr_i_amg_cuda_prolongator,
                                           .follow = dcsr_i_amg_cuda_follow_rows,
                                           .tidy = dcsr_i_amg_cuda_tidy,
                                           .collect = dcsr_i_amg_cuda_collect,
                                           .bring_dense = dcsr_i_amg_cuda_bring_dense,
                                           .lanczos_start = lanczos_start,
                                           .lanczos_step = lanczos_step,
                                           .form_of = form_of,
                                           .narrow = narrow,
                                           .widen = widen,
                                           .gather = gather,
                                           .scatter = scatter,
                                           .colour = dcsr_i_amg_cuda_colour,
                                           .find_wild = find_wild,
                                           .find_extreme = find_extreme};
