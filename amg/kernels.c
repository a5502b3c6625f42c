/* kernels.c: passes over the rows of a level. */
#include "amg/kernels.h"

static uint64_t blocks_of(uint64_t n)
{
    return (n + DCSR_I_AMG_BLOCK - 1) / DCSR_I_AMG_BLOCK;
}

/* for each block of rows, by all threads: */
#define BLOCKS(n, entries)                                                                                 \
    const uint64_t blocks_ = blocks_of(n);                                                                 \
    const int threads_ = dcsr_context_threads(h->context, entries);                                        \
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

static double *sums_of(const dcsr_i_amg_hierarchy *h, uint64_t block)
{
    return (double *)h->sums.data + block * DCSR_I_AMG_SUMS;
}

dcsr_status dcsr_i_amg_take_sums(dcsr_i_amg_hierarchy *h, uint64_t rows)
{
    return dcsr_i_amg_take(&h->sums, h->context, blocks_of(rows) * DCSR_I_AMG_SUMS, sizeof(double));
}

/* Of all blocks: one of the sums that stand side by side. */
static double total(const dcsr_i_amg_hierarchy *h, uint64_t n, int which)
{
    double total = 0;
    for (uint64_t block = 0; block < blocks_of(n); block++) total += sums_of(h, block)[which];
    return total;
}

void dcsr_i_amg_multiply(const dcsr_i_amg_hierarchy *h, const dcsr_i_amg_rows *A, const double *x, double *y)
{
    BLOCKS(A->rows, A->nnz)
    {
        ROWS(A->rows) y[i] = dcsr_i_amg_row(A, i, x);
    }
}

void dcsr_i_amg_add_product(const dcsr_i_amg_hierarchy *h, double *y, const double *b,
                            const dcsr_i_amg_rows *A, const double *x)
{
    BLOCKS(A->rows, A->nnz)
    {
        ROWS(A->rows) y[i] = b[i] + dcsr_i_amg_row(A, i, x);
    }
}

void dcsr_i_amg_smooth_first(const dcsr_i_amg_hierarchy *h, const dcsr_i_amg_level *level, double add,
                             const double *b, double *x)
{
    const double *scale = level->scale.data;
    double *d = level->d.data;
    BLOCKS(level->rows, level->rows)
    {
        ROWS(level->rows) x[i] = d[i] = add * scale[i] * b[i];
    }
}

void dcsr_i_amg_smooth_step(const dcsr_i_amg_hierarchy *h, const dcsr_i_amg_level *level,
                            const dcsr_i_amg_smoothing *step, const double *b, const double *x, double *to)
{
    const dcsr_i_amg_rows *A = &level->A.rows;
    const double *scale = level->scale.data;
    double *d = level->d.data;
    BLOCKS(A->rows, A->nnz)
    {
        ROWS(A->rows)
        {
            double change = step->add * scale[i] * (b[i] - dcsr_i_amg_row(A, i, x));
            if (step->keep != 0) change += step->keep * d[i];
            d[i] = change;
            to[i] = x[i] + change;
        }
    }
}

double dcsr_i_amg_residual(dcsr_i_amg_hierarchy *h, const dcsr_i_amg_rows *A, const double *x,
                           const double *b, double *r)
{
    BLOCKS(A->rows, A->nnz)
    {
        double sum = 0;
        ROWS(A->rows)
        {
            r[i] = b[i] - dcsr_i_amg_row(A, i, x);
            sum += r[i] * r[i];
        }
        sums_of(h, block)[0] = sum;
    }
    return total(h, A->rows, 0);
}

double dcsr_i_amg_multiply_dot(dcsr_i_amg_hierarchy *h, const dcsr_i_amg_rows *A, const double *x, double *y,
                               const double *w, double *yy)
{
    BLOCKS(A->rows, A->nnz)
    {
        double wy = 0, square = 0;
        ROWS(A->rows)
        {
            y[i] = dcsr_i_amg_row(A, i, x);
            wy += w[i] * y[i];
            square += y[i] * y[i];
        }
        sums_of(h, block)[0] = wy;
        sums_of(h, block)[1] = square;
    }
    if (yy) *yy = total(h, A->rows, 1);
    return total(h, A->rows, 0);
}

double dcsr_i_amg_dot(dcsr_i_amg_hierarchy *h, uint64_t n, const double *x, const double *y)
{
    BLOCKS(n, n)
    {
        double sum = 0;
        ROWS(n) sum += x[i] * y[i];
        sums_of(h, block)[0] = sum;
    }
    return total(h, n, 0);
}

void dcsr_i_amg_combine(const dcsr_i_amg_hierarchy *h, uint64_t n, double a, const double *x, double b,
                        double *y)
{
    BLOCKS(n, n)
    {
        if (b == 0) { /* whatever y is */
            ROWS(n) y[i] = a * x[i];
        } else {
            ROWS(n) y[i] = a * x[i] + b * y[i];
        }
    }
}

double dcsr_i_amg_add_norm(dcsr_i_amg_hierarchy *h, uint64_t n, double a, const double *x, double *y)
{
    BLOCKS(n, n)
    {
        double sum = 0;
        ROWS(n)
        {
            y[i] += a * x[i];
            sum += y[i] * y[i];
        }
        sums_of(h, block)[0] = sum;
    }
    return total(h, n, 0);
}
