/* passes.cu: passes over the rows of a level.
 *
 * A row is added up by `lanes` threads, 1 to 32 by the mean length of rows, whose loads are side by side; each adds
 * every lanes-th entry, then they fold. What is read of A is 12 bytes an entry and 16 a row. */
#include "amg/cuda/passes_cuda.h"
#include "amg/amg_random.h"
#include "dcsr/device/reduce.cuh"
#include <math.h>

enum { THREADS = 128, ROWS = DCSR_AMG_CUDA_ROWS, ELEMENTS = DCSR_AMG_CUDA_ELEMENTS };

/* About two entries for each. */
static unsigned lanes_of(const dcsr_i_amg_cuda_rows *A)
{
    unsigned lanes = 1;
    while (lanes < 32 && 2 * lanes * A->rows <= A->nnz) lanes *= 2;
    return lanes;
}

static uint64_t blocks_of(uint64_t n, uint64_t size)
{
    return (n + size - 1) / size;
}

uint64_t dcsr_i_amg_cuda_sums(uint64_t rows)
{
    return 2 + 2 * blocks_of(rows, ROWS);
}

/* (A x)_i, to all lanes of the row; 0 beyond the last. All lanes of the warp must call. */
DCSR_CUDA_INLINE double times(const dcsr_i_amg_cuda_rows &A, uint64_t i, const double *x, unsigned lanes)
{
    double sum = 0;
    if (i < A.rows) {
        uint64_t end = A.end[i];
        for (uint64_t e = A.begin[i] + threadIdx.x % lanes; e < end; e += lanes)
            sum += A.values[e] * x[A.columns[e]];
    }
    for (unsigned distance = lanes / 2; distance; distance /= 2)
        sum += __shfl_xor_sync(DCSR_CUDA_ALL_LANES, sum, (int)distance);
    return sum;
}

/* The sums of a block of rows or elements, to where the second step reads them. */
DCSR_CUDA_INLINE void store_sums(double *sums, uint64_t block, double first, double second)
{
    first = dcsr_i_cuda_block_sum(first);
    second = dcsr_i_cuda_block_sum(second);
    if (threadIdx.x) return;
    sums[2 + 2 * block] = first;
    sums[3 + 2 * block] = second;
}

static __global__ void add_sums(double *sums, uint64_t blocks)
{
    double first = 0, second = 0;
    for (uint64_t b = threadIdx.x; b < blocks; b += blockDim.x) {
        first += sums[2 + 2 * b];
        second += sums[3 + 2 * b];
    }
    first = dcsr_i_cuda_block_sum(first);
    second = dcsr_i_cuda_block_sum(second);
    if (threadIdx.x) return;
    sums[0] = first;
    sums[1] = second;
}

static void finish_sums(dcsr_i_cuda_stream *stream, double *sums, uint64_t blocks)
{
    if (!blocks) dcsr_i_cuda_fill(stream, sums, 0, 2 * sizeof *sums);
    dcsr_i_cuda_launch_blocks(stream, add_sums, blocks ? 1 : 0, (int)dcsr_i_cuda_threads({1024, 1}), 0, sums,
                              blocks);
}

static int threads()
{
    return (int)dcsr_i_cuda_threads({THREADS, 1});
}

/* ---- Over rows ---- */

static __global__ void multiply(dcsr_i_amg_cuda_product p, unsigned lanes, uint64_t blocks)
{
    const unsigned groups = blockDim.x / lanes;
    for (uint64_t block = dcsr_i_cuda_first_block(); block < blocks; block += dcsr_i_cuda_block_step()) {
        double wy = 0, yy = 0;
        for (unsigned r = threadIdx.x / lanes; r < ROWS; r += groups) {
            uint64_t i = block * ROWS + r;
            double y = p.sign * times(p.A, i, p.x, lanes);
            if (threadIdx.x % lanes || i >= p.A.rows) continue;
            if (p.b) y += p.b[i];
            p.y[i] = y;
            if (!p.sums) continue;
            wy += p.w[i] * y;
            yy += y * y;
        }
        if (p.sums) store_sums(p.sums, block, wy, yy);
    }
}

void dcsr_i_amg_cuda_multiply(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_product *p)
{
    uint64_t blocks = blocks_of(p->A.rows, ROWS);
    dcsr_i_cuda_launch_blocks(stream, multiply, blocks, threads(), 0, *p, lanes_of(&p->A), blocks);
    if (p->sums) finish_sums(stream, p->sums, blocks);
}

static __global__ void smooth(dcsr_i_amg_cuda_step s, unsigned lanes, uint64_t blocks)
{
    const unsigned groups = blockDim.x / lanes;
    for (uint64_t block = dcsr_i_cuda_first_block(); block < blocks; block += dcsr_i_cuda_block_step()) {
        for (unsigned r = threadIdx.x / lanes; r < ROWS; r += groups) {
            uint64_t i = block * ROWS + r;
            double product = times(s.A, i, s.x, lanes);
            if (threadIdx.x % lanes || i >= s.A.rows) continue;
            double change = s.add * s.scale[i] * (s.b[i] - product);
            if (s.keep != 0) change += s.keep * s.d[i];
            s.d[i] = change;
            s.to[i] = s.x[i] + change;
        }
    }
}

static __global__ void smooth_first(dcsr_i_amg_cuda_step s, uint64_t n)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < n; i += dcsr_i_cuda_step())
        s.to[i] = s.d[i] = s.add * s.scale[i] * s.b[i];
}

void dcsr_i_amg_cuda_smooth(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_step *s)
{
    uint64_t blocks = blocks_of(s->A.rows, ROWS);
    if (s->x)
        dcsr_i_cuda_launch_blocks(stream, smooth, blocks, threads(), 0, *s, lanes_of(&s->A), blocks);
    else
        dcsr_i_cuda_launch(stream, smooth_first, s->A.rows, *s, s->A.rows);
}

/* A warp for each row. */
static __global__ void multiply_dense(uint64_t n, const double *M, const double *x, double *y)
{
    for (uint64_t i = dcsr_i_cuda_first_warp(); i < n; i += dcsr_i_cuda_warp_step()) {
        double sum = 0;
        for (uint64_t j = dcsr_i_cuda_lane(); j < n; j += 32) sum += M[i * n + j] * x[j];
        sum = dcsr_i_cuda_warp_sum(sum);
        if (dcsr_i_cuda_lane() == 0) y[i] = sum;
    }
}

void dcsr_i_amg_cuda_multiply_dense(dcsr_i_cuda_stream *stream, uint64_t n, const double *M, const double *x,
                                    double *y)
{
    dcsr_i_cuda_launch_warps(stream, multiply_dense, n, n, M, x, y);
}

/* ---- Over elements ---- */

static __global__ void combine(uint64_t n, double a, const double *x, double b, double *y)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < n; i += dcsr_i_cuda_step())
        y[i] = b == 0 ? a * x[i] : a * x[i] + b * y[i];
}

void dcsr_i_amg_cuda_combine(dcsr_i_cuda_stream *stream, uint64_t n, double a, const double *x, double b,
                             double *y)
{
    dcsr_i_cuda_launch(stream, combine, n, n, a, x, b, y);
}

/* The sum of x_i y_i; if x is to be `added` to y, a times, of y_i y_i afterwards. */
static __global__ void add_products(uint64_t n, bool added, double a, const double *x, double *y,
                                    double *sums, uint64_t blocks)
{
    for (uint64_t block = dcsr_i_cuda_first_block(); block < blocks; block += dcsr_i_cuda_block_step()) {
        double sum = 0;
        for (uint64_t i = block * ELEMENTS + threadIdx.x; i < n && i < (block + 1) * ELEMENTS;
             i += blockDim.x) {
            double here = y[i];
            if (added) y[i] = here += a * x[i];
            sum += here * (added ? here : x[i]);
        }
        store_sums(sums, block, sum, 0);
    }
}

static void launch_products(dcsr_i_cuda_stream *stream, uint64_t n, bool added, double a, const double *x,
                            double *y, double *sums)
{
    uint64_t blocks = blocks_of(n, ELEMENTS);
    int block = (int)dcsr_i_cuda_threads({256, 1});
    dcsr_i_cuda_launch_blocks(stream, add_products, blocks, block, 0, n, added, a, x, y, sums, blocks);
    finish_sums(stream, sums, blocks);
}

void dcsr_i_amg_cuda_dot(dcsr_i_cuda_stream *stream, uint64_t n, const double *x, const double *y,
                         double *sums)
{
    launch_products(stream, n, false, 0, x, const_cast<double *>(y), sums);
}

void dcsr_i_amg_cuda_add_norm(dcsr_i_cuda_stream *stream, uint64_t n, double a, const double *x, double *y,
                              double *sums)
{
    launch_products(stream, n, true, a, x, y, sums);
}

/* The least number, whoever comes first. */
static __global__ void find_wild(uint64_t n, const double *x, uint64_t *first)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < n; i += dcsr_i_cuda_step())
        if (!isfinite(x[i])) atomicMin((unsigned long long *)first, (unsigned long long)i);
}

void dcsr_i_amg_cuda_find_wild(dcsr_i_cuda_stream *stream, uint64_t n, const double *x, uint64_t *first)
{
    dcsr_i_cuda_launch(stream, find_wild, n, n, x, first);
}

/* ---- For the setup ---- */

static __global__ void fill_constants(double *B, uint64_t rows, uint64_t block)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < rows; i += dcsr_i_cuda_step()) B[i * block + i % block] = 1;
}

void dcsr_i_amg_cuda_fill_constants(dcsr_i_cuda_stream *stream, double *B, uint64_t rows, uint64_t block)
{
    dcsr_i_cuda_launch(stream, fill_constants, rows, B, rows, block);
}

static __global__ void lanczos_start(uint64_t n, const double *d, double *v, double *w)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < n; i += dcsr_i_cuda_step()) {
        v[i] = d[i] != 0 ? (double)dcsr_i_amg_random(0, i) * 0x1p-64 - 0.5 : 0;
        w[i] = d[i] * v[i];
    }
}

void dcsr_i_amg_cuda_lanczos_start(dcsr_i_cuda_stream *stream, uint64_t n, const double *d, double *v,
                                   double *w)
{
    dcsr_i_cuda_launch(stream, lanczos_start, n, n, d, v, w);
}

static __global__ void lanczos_step(uint64_t n, const double *d, double alpha, double beta, const double *v,
                                    double *w, double *r)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < n; i += dcsr_i_cuda_step()) {
        double next = d[i] != 0 ? w[i] / d[i] - alpha * v[i] - beta * r[i] : 0;
        w[i] = next;
        r[i] = next * d[i];
    }
}

void dcsr_i_amg_cuda_lanczos_step(dcsr_i_cuda_stream *stream, uint64_t n, const double *d, double alpha,
                                  double beta, const double *v, double *w, double *r)
{
    dcsr_i_cuda_launch(stream, lanczos_step, n, n, d, alpha, beta, v, w, r);
}

/* Doubles that are not negative are in the order of their bits. */
DCSR_CUDA_INLINE uint64_t bits_of(double value)
{
    union {
        double value;
        uint64_t bits;
    } both;
    both.value = value;
    return both.bits;
}

/* In the order of the entries, as on the cpu. */
static __global__ void read_diagonal(dcsr_i_amg_cuda_rows A, bool l1, double *diagonal, double *scale,
                                     dcsr_i_amg_cuda_found *found)
{
    typedef unsigned long long word;
    uint64_t gershgorin = 0, negative = 0;
    for (uint64_t i = dcsr_i_cuda_first(); i < A.rows; i += dcsr_i_cuda_step()) {
        double sum = 0, absolute = 0;
        for (uint64_t e = A.begin[i]; e < A.end[i]; e++) {
            absolute += fabs(A.values[e]);
            if (A.columns[e] == i) sum += A.values[e];
        }
        diagonal[i] = sum;
        scale[i] = 0;
        if (sum == 0 || !isfinite(absolute)) {
            uint64_t why = A.begin[i] == A.end[i] ? 0 : isfinite(absolute) ? 2 : 1;
            atomicMin((word *)&found->wrong, (word)(i * 4 + why));
            continue;
        }
        scale[i] = 1 / (l1 ? copysign(absolute, sum) : sum);
        negative += sum < 0;
        uint64_t bound = bits_of(absolute / fabs(sum));
        if (bound > gershgorin) gershgorin = bound;
    }
    gershgorin = dcsr_i_cuda_block_max(gershgorin, (uint64_t)0);
    negative = dcsr_i_cuda_block_sum(negative);
    if (threadIdx.x) return;
    atomicMax((word *)&found->gershgorin, (word)gershgorin);
    atomicAdd((word *)&found->negative, (word)negative);
}

void dcsr_i_amg_cuda_read_diagonal(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_rows *A, bool l1,
                                   double *diagonal, double *scale, dcsr_i_amg_cuda_found *found)
{
    dcsr_i_cuda_launch(stream, read_diagonal, A->rows, *A, l1, diagonal, scale, found);
}
