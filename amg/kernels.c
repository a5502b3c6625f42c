/* kernels.c: passes over the rows of a level, for both types and all widths. */
#include "amg/kernels.h"

#pragma GCC diagnostic ignored "-Wpsabi" /* rows of eight stay within this file */

const double dcsr_i_amg_zero[DCSR_I_AMG_MOST_WIDTH] = {0};
const double dcsr_i_amg_one[DCSR_I_AMG_MOST_WIDTH] = {1, 1, 1, 1, 1, 1, 1, 1};
const double dcsr_i_amg_minus[DCSR_I_AMG_MOST_WIDTH] = {-1, -1, -1, -1, -1, -1, -1, -1};

static uint64_t blocks_of(uint64_t n)
{
    return (n + DCSR_I_AMG_BLOCK - 1) / DCSR_I_AMG_BLOCK;
}

/* for each block of rows, by all threads: */
#define BLOCKS(n, entries)                                                                                 \
    const uint64_t blocks_ = blocks_of(n);                                                                 \
    const int threads_ = dcsr_context_threads(f->context, (uint64_t)f->width * (entries));                 \
    _Pragma(                                                                                               \
        "omp parallel for schedule(static) num_threads(threads_) if (threads_ > 1)") for (uint64_t block = \
                                                                                              0;           \
                                                                                          block < blocks_; \
                                                                                          block++)
/* its rows */
#define ROWS(n)                                                                   \
    for (uint64_t i = block * DCSR_I_AMG_BLOCK,                                   \
                  end_ = i + DCSR_I_AMG_BLOCK < (n) ? i + DCSR_I_AMG_BLOCK : (n); \
         i < end_; i++)

static double *sums_of(const dcsr_i_amg_form *f, uint64_t block, int which)
{
    return f->sums + (block * DCSR_I_AMG_SUMS + (uint64_t)which) * DCSR_I_AMG_MOST_WIDTH;
}

dcsr_status dcsr_i_amg_take_sums(dcsr_i_amg_hierarchy *h, uint64_t rows)
{
    return dcsr_i_amg_take(&h->sums, h->context, blocks_of(rows) * DCSR_I_AMG_SUMS * DCSR_I_AMG_MOST_WIDTH,
                           sizeof(double));
}

/* Of all blocks: one of the sums that stand side by side. */
static void total(const dcsr_i_amg_form *f, uint64_t n, int which, double *totals)
{
    if (!totals) return;
    for (int c = 0; c < f->width; c++) totals[c] = 0;
    for (uint64_t block = 0; block < blocks_of(n); block++)
        for (int c = 0; c < f->width; c++) totals[c] += sums_of(f, block, which)[c];
}

/* A row with its values in fp32, as dcsr_i_amg_span_of(). */
typedef struct narrow_span {
    const uint32_t *columns;
    const float *values;
    uint64_t count;
} narrow_span;

static inline narrow_span narrow_span_of(const dcsr_i_amg_rows *A, uint64_t i)
{
    uint64_t begin = A->begin[i], count = A->end[i] - begin;
    if (begin < A->fixed) return (narrow_span){A->columns + begin, A->narrow + begin, count};
    begin -= A->fixed;
    return (narrow_span){A->moved_columns + begin, A->moved_narrow + begin, count};
}

#define JOINED(what, type, width) what##_##type##_##width
#define JOIN(what, type, width)   JOINED(what, type, width)
#define NAME(what)                JOIN(what, TYPE, WIDTH)

#define TYPE    fp64
#define REAL    double
#define SPAN    dcsr_i_amg_span
#define SPAN_OF dcsr_i_amg_span_of
#define WIDTH   1
#include "amg/kernels.inc"
#undef WIDTH
#define WIDTH 2
#include "amg/kernels.inc"
#undef WIDTH
#define WIDTH 4
#include "amg/kernels.inc"
#undef WIDTH
#define WIDTH 8
#include "amg/kernels.inc"
#undef WIDTH
#undef TYPE
#undef REAL
#undef SPAN
#undef SPAN_OF
#define TYPE    fp32
#define REAL    float
#define SPAN    narrow_span
#define SPAN_OF narrow_span_of
#define WIDTH   1
#include "amg/kernels.inc"
#undef WIDTH
#define WIDTH 2
#include "amg/kernels.inc"
#undef WIDTH
#define WIDTH 4
#include "amg/kernels.inc"
#undef WIDTH
#define WIDTH 8
#include "amg/kernels.inc"
#undef WIDTH

dcsr_i_amg_form dcsr_i_amg_form_of(dcsr_i_amg_hierarchy *h, dcsr_type type, int width)
{
    static const dcsr_i_amg_kernels *const kernels[2][4] = {
        {&kernels_fp64_1, &kernels_fp64_2, &kernels_fp64_4, &kernels_fp64_8},
        {&kernels_fp32_1, &kernels_fp32_2, &kernels_fp32_4, &kernels_fp32_8}};
    const int power = width == 8 ? 3 : width / 2;
    return (dcsr_i_amg_form){.h = h,
                             .context = h->context,
                             .sums = h->sums.data,
                             .type = type,
                             .width = width,
                             .run = kernels[type == DCSR_FP32][power]};
}

/* Factors for numbers 8 k to 8 k + 7 of a vector: a width divides 8. */
static void repeat(double *eight, const double *norms, int width, bool inverse)
{
    for (int k = 0; k < DCSR_I_AMG_MOST_WIDTH; k++) {
        const double norm = norms[k % width];
        eight[k] = norm == 0 ? 0 : inverse ? 1 / norm : norm;
    }
}

void dcsr_i_amg_narrow(const dcsr_i_amg_form *f, uint64_t n, const double *norms, const double *x, float *y)
{
    double factor[DCSR_I_AMG_MOST_WIDTH];
    const uint64_t numbers = n * (uint64_t)f->width;
    repeat(factor, norms, f->width, true);
    BLOCKS(numbers, n)
    {
        ROWS(numbers) y[i] = (float)(x[i] * factor[i % DCSR_I_AMG_MOST_WIDTH]);
    }
}

void dcsr_i_amg_widen(const dcsr_i_amg_form *f, uint64_t n, const double *norms, const float *x, double *y)
{
    double factor[DCSR_I_AMG_MOST_WIDTH];
    const uint64_t numbers = n * (uint64_t)f->width;
    repeat(factor, norms, f->width, false);
    BLOCKS(numbers, n)
    {
        ROWS(numbers) y[i] = (double)x[i] * factor[i % DCSR_I_AMG_MOST_WIDTH];
    }
}
