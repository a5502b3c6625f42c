/* passes.cu: passes over the rows of a level.
 *
 * A row is added up by a team of threads of one warp: `lanes` of them, 1 to 32 by the mean length of rows, for each
 * column of the vectors. Neighbours have the columns of one entry, so that a team reads x in whole pieces and each
 * entry of A once; each adds every lanes-th entry, then those of a column fold. What is read of A is 12 bytes an entry
 * (8 in fp32) and 16 a row, for all columns together. Kernels are there for both types; the width is a number. */
#include "amg/cuda/passes_cuda.h"
#include "amg/amg_random.h"
#include "dcsr/device/reduce.cuh"
#include <math.h>

enum {
    THREADS = 128,
    MOST_WARPS = 8, /* of a block that sums */
    ROWS = DCSR_AMG_CUDA_ROWS,
    NUMBERS = DCSR_AMG_CUDA_NUMBERS,
    WIDTH = DCSR_AMG_CUDA_WIDTH,
    SUMS = DCSR_AMG_CUDA_SUMS,
    TOTALS = WIDTH * SUMS
};
/* Entries times columns of a level that one block of threads sweeps over, in one launch instead of one a colour. */
static const uint64_t SMALL = 1 << 15;

typedef dcsr_i_amg_cuda_form form;
typedef dcsr_i_amg_cuda_rows matrix;
typedef dcsr_i_amg_cuda_factors factors;

static uint64_t blocks_of(uint64_t n, uint64_t size)
{
    return (n + size - 1) / size;
}

static int threads_of(int wanted)
{
    return (int)dcsr_i_cuda_threads({wanted, 1});
}

/* ---- Teams ---- */

typedef struct team {
    unsigned width, lanes; /* powers of two; 32 threads at most */
} team;

/* About two entries for each lane. */
static team team_of(const form *f, const matrix &A)
{
    unsigned lanes = 1;
    while (lanes * f->width < 32 && 2 * lanes * A.rows <= A.nnz) lanes *= 2;
    return {f->width, lanes};
}

/* What a thread is in its block: of which column and lane, and of which team. */
typedef struct place {
    unsigned column, lane, team, teams;
} place;

DCSR_CUDA_INLINE place place_in(team t)
{
    unsigned size = t.width * t.lanes;
    return {threadIdx.x % t.width, threadIdx.x / t.width % t.lanes, threadIdx.x / size, blockDim.x / size};
}

/* The sum over lanes, to all of them. All threads of the warp must call. */
template <class T> DCSR_CUDA_INLINE T fold(T sum, team t)
{
    for (unsigned distance = t.width * t.lanes / 2; distance >= t.width; distance /= 2)
        sum += __shfl_xor_sync(DCSR_CUDA_ALL_LANES, sum, (int)distance);
    return sum;
}

DCSR_CUDA_INLINE const double *values_of(const matrix &A, double)
{
    return A.values;
}
DCSR_CUDA_INLINE const float *values_of(const matrix &A, float)
{
    return A.narrow;
}

/* (A x)_i of the thread's column, to all lanes; 0 beyond the last row. All threads of the warp must call. OWN: of a
 * part of a matrix, by its own columns alone, which x has. */
template <class T, bool OWN = false>
DCSR_CUDA_INLINE T times(const matrix &A, uint64_t i, const T *x, team t, const place &here)
{
    T sum = 0;
    if (i < A.rows) {
        const T *values = values_of(A, T());
        const uint64_t end = A.end[i];
        for (uint64_t e = A.begin[i] + here.lane; e < end; e += t.lanes) {
            const uint32_t column = OWN ? A.columns[e] - A.first : A.columns[e];
            if (!OWN || column < A.rows) sum += values[e] * x[(uint64_t)column * t.width + here.column];
        }
    }
    return fold(sum, t);
}

/* ---- Sums ---- */

/* Where they go: number k of all blocks stands together, behind the totals. */
typedef struct sums_of {
    double *sums; /* NULL: there are none */
    uint64_t blocks;
    unsigned width, count; /* count: 1 or 2 for each column */
} sums_of;

uint64_t dcsr_i_amg_cuda_sums(uint64_t rows)
{
    return TOTALS * (1 + blocks_of(rows, ROWS));
}

/* The sums of a block of rows or numbers, of which each thread has those of column threadIdx.x % width. */
DCSR_CUDA_INLINE void store_sums(const sums_of &s, uint64_t block, double first, double second)
{
    SIMT_SHARED(double, of_warp, MOST_WARPS *TOTALS);
    const unsigned lane = dcsr_i_cuda_lane(), warps = blockDim.x / 32;
    const team columns = {s.width, 32 / s.width};
    first = fold(first, columns);
    second = fold(second, columns);
    double *mine = of_warp + threadIdx.x / 32 * TOTALS;
    if (lane < s.width) mine[lane] = first;
    if (lane < s.width && s.count > 1) mine[s.width + lane] = second;
    __syncthreads();
    if (threadIdx.x < s.count * s.width) {
        double sum = 0;
        for (unsigned warp = 0; warp < warps; warp++) sum += of_warp[warp * TOTALS + threadIdx.x];
        s.sums[TOTALS + threadIdx.x * s.blocks + block] = sum;
    }
    __syncthreads(); /* of_warp may be written again */
}

static __global__ void add_sums(sums_of s)
{
    for (uint64_t k = dcsr_i_cuda_first_block(); k < s.count * s.width; k += dcsr_i_cuda_block_step()) {
        const double *of_block = s.sums + TOTALS + k * s.blocks;
        double sum = 0;
        for (uint64_t b = threadIdx.x; b < s.blocks; b += blockDim.x) sum += of_block[b];
        sum = dcsr_i_cuda_block_sum(sum);
        if (!threadIdx.x) s.sums[k] = sum;
    }
}

static void finish_sums(const form *f, const sums_of &s)
{
    dcsr_i_cuda_launch_blocks(f->stream, add_sums, s.count * s.width, threads_of(1024), 0, s);
}

/* ---- Over rows ---- */

template <class T>
static __global__ void multiply(dcsr_i_amg_cuda_product p, team t, sums_of s, uint64_t blocks)
{
    const place here = place_in(t);
    const T *x = (const T *)p.x, *b = (const T *)p.b, *w = (const T *)p.w, sign = (T)p.sign;
    T *to = (T *)p.y;
    for (uint64_t block = dcsr_i_cuda_first_block(); block < blocks; block += dcsr_i_cuda_block_step()) {
        double wy = 0, yy = 0;
        for (unsigned r = here.team; r < ROWS; r += here.teams) {
            const uint64_t i = block * ROWS + r, at = i * t.width + here.column;
            T y = sign * times(p.A, i, x, t, here);
            if (here.lane || i >= p.A.rows) continue;
            if (b) y += b[at];
            to[at] = y;
            if (!s.sums) continue;
            wy += (double)w[at] * (double)y;
            yy += (double)y * (double)y;
        }
        if (s.sums) store_sums(s, block, wy, yy);
    }
}

void dcsr_i_amg_cuda_multiply(const form *f, const dcsr_i_amg_cuda_product *p)
{
    const uint64_t blocks = blocks_of(p->A.rows, ROWS);
    const sums_of s = {p->summed ? f->sums : NULL, blocks, f->width, SUMS};
    dcsr_i_cuda_launch_blocks(f->stream, f->narrow ? multiply<float> : multiply<double>, blocks,
                              threads_of(THREADS), 0, *p, team_of(f, p->A), s, blocks);
    if (p->summed) finish_sums(f, s);
}

template <class T> static __global__ void smooth(dcsr_i_amg_cuda_step s, team t, uint64_t blocks)
{
    const place here = place_in(t);
    const T *x = (const T *)s.x, *b = (const T *)s.b, keep = (T)s.keep;
    T *d = (T *)s.d, *to = (T *)s.to;
    for (uint64_t block = dcsr_i_cuda_first_block(); block < blocks; block += dcsr_i_cuda_block_step()) {
        for (unsigned r = here.team; r < ROWS; r += here.teams) {
            const uint64_t i = block * ROWS + r, at = i * t.width + here.column;
            const T product = times(s.A, i, x, t, here);
            if (here.lane || i >= s.A.rows) continue;
            T change = (T)(s.add * s.scale[i]) * (b[at] - product);
            if (keep != 0) change += keep * d[at];
            d[at] = change;
            to[at] = x[at] + change;
        }
    }
}

template <class T> static __global__ void smooth_first(dcsr_i_amg_cuda_step s, unsigned width)
{
    const T *b = (const T *)s.b;
    T *d = (T *)s.d, *to = (T *)s.to;
    for (uint64_t k = dcsr_i_cuda_first(); k < s.A.rows * width; k += dcsr_i_cuda_step())
        to[k] = d[k] = (T)(s.add * s.scale[k / width]) * b[k];
}

void dcsr_i_amg_cuda_smooth(const form *f, const dcsr_i_amg_cuda_step *s)
{
    const uint64_t blocks = blocks_of(s->A.rows, ROWS);
    if (s->x)
        dcsr_i_cuda_launch_blocks(f->stream, f->narrow ? smooth<float> : smooth<double>, blocks,
                                  threads_of(THREADS), 0, *s, team_of(f, s->A), blocks);
    else
        dcsr_i_cuda_launch(f->stream, f->narrow ? smooth_first<float> : smooth_first<double>,
                           s->A.rows * f->width, *s, f->width);
}

template <class T> static __global__ void smooth_after(dcsr_i_amg_cuda_step s, unsigned width)
{
    const T *q = (const T *)s.x, *b = (const T *)s.b, keep = (T)s.keep;
    T *d = (T *)s.d, *x = (T *)s.to;
    for (uint64_t k = dcsr_i_cuda_first(); k < s.A.rows * width; k += dcsr_i_cuda_step()) {
        T change = (T)(s.add * s.scale[k / width]) * (b[k] - q[k]);
        if (keep != 0) change += keep * d[k];
        d[k] = change;
        x[k] += change;
    }
}

void dcsr_i_amg_cuda_smooth_after(const form *f, const dcsr_i_amg_cuda_step *s)
{
    dcsr_i_cuda_launch(f->stream, f->narrow ? smooth_after<float> : smooth_after<double>,
                       s->A.rows * f->width, *s, f->width);
}

/* Colours first to last - 1, in the order of the sweep; more than one by a single block of threads. */
template <class T>
static __global__ void gauss_seidel(dcsr_i_amg_cuda_sweep s, team t, uint64_t first, uint64_t last)
{
    const place here = place_in(t);
    const T *b = (const T *)s.b;
    T *x = (T *)s.x;
    for (uint64_t c = first; c < last; c++) {
        const uint64_t colour = s.backward ? s.colours - 1 - c : c, end = s.begin[colour + 1];
        const uint64_t step = dcsr_i_cuda_block_step() * here.teams;
        for (uint64_t k = s.begin[colour] + dcsr_i_cuda_first_block() * here.teams; k < end; k += step) {
            const uint64_t i = k + here.team < end ? s.by_colour[k + here.team] : s.A.rows;
            const uint64_t at = i * t.width + here.column;
            const T product = times<T, true>(s.A, i, x, t, here);
            if (here.lane == 0 && i < s.A.rows) x[at] += (T)s.scale[i] * (b[at] - product);
        }
        __syncthreads();
    }
}

/* How many rows a colour has is known on the device alone: blocks for twice the mean are there, others do more. */
void dcsr_i_amg_cuda_gauss_seidel(const form *f, const dcsr_i_amg_cuda_sweep *s)
{
    const team t = team_of(f, s->A);
    const bool small = s->A.nnz * f->width <= SMALL;
    const int threads = threads_of(small ? 1024 : THREADS);
    const uint64_t each = small ? s->colours : 1, size = 2 * s->A.rows * t.width * t.lanes;
    const uint64_t blocks = small ? 1 : blocks_of(size, s->colours * (uint64_t)threads);
    for (uint64_t c = 0; c < s->colours; c += each)
        dcsr_i_cuda_launch_blocks(f->stream, f->narrow ? gauss_seidel<float> : gauss_seidel<double>, blocks,
                                  threads, 0, *s, t, c, c + each);
}

/* A warp for each row. */
template <class T>
static __global__ void multiply_dense(uint64_t n, const double *M, const T *x, T *y, unsigned width)
{
    const team t = {width, 32 / width};
    const unsigned lane = dcsr_i_cuda_lane();
    for (uint64_t i = dcsr_i_cuda_first_warp(); i < n; i += dcsr_i_cuda_warp_step()) {
        T sum = 0;
        for (uint64_t j = lane / width; j < n; j += t.lanes)
            sum += (T)M[i * n + j] * x[j * width + lane % width];
        sum = fold(sum, t);
        if (lane < width) y[i * width + lane] = sum;
    }
}

void dcsr_i_amg_cuda_multiply_dense(const form *f, uint64_t n, const double *M, const void *x, void *y)
{
    if (f->narrow)
        dcsr_i_cuda_launch_warps(f->stream, multiply_dense<float>, n, n, M, (const float *)x, (float *)y,
                                 f->width);
    else
        dcsr_i_cuda_launch_warps(f->stream, multiply_dense<double>, n, n, M, (const double *)x, (double *)y,
                                 f->width);
}

/* ---- Over numbers: a thread has those of one column, as its steps are multiples of the width ---- */

template <class T>
static __global__ void combine(uint64_t numbers, unsigned width, factors as, const T *x, factors bs, T *y)
{
    const T a = (T)as.column[threadIdx.x % width], b = (T)bs.column[threadIdx.x % width];
    for (uint64_t k = dcsr_i_cuda_first(); k < numbers; k += dcsr_i_cuda_step())
        y[k] = b == 0 ? a * x[k] : a * x[k] + b * y[k];
}

void dcsr_i_amg_cuda_combine(const form *f, uint64_t n, const factors *a, const void *x, const factors *b,
                             void *y)
{
    const uint64_t numbers = n * f->width;
    if (f->narrow)
        dcsr_i_cuda_launch(f->stream, combine<float>, numbers, numbers, f->width, *a, (const float *)x, *b,
                           (float *)y);
    else
        dcsr_i_cuda_launch(f->stream, combine<double>, numbers, numbers, f->width, *a, (const double *)x, *b,
                           (double *)y);
}

/* Sums of x_k y_k; if x is to be `added` to y, a times, of y_k y_k afterwards. */
template <class T>
static __global__ void add_products(uint64_t numbers, bool added, factors as, const T *x, T *y, sums_of s)
{
    const T a = (T)as.column[threadIdx.x % s.width];
    for (uint64_t block = dcsr_i_cuda_first_block(); block < s.blocks; block += dcsr_i_cuda_block_step()) {
        const uint64_t begin = block * NUMBERS, end = begin + NUMBERS < numbers ? begin + NUMBERS : numbers;
        double sum = 0;
        for (uint64_t k = begin + threadIdx.x; k < end; k += blockDim.x) {
            T here = y[k];
            if (added) y[k] = here += a * x[k];
            sum += (double)here * (double)(added ? here : x[k]);
        }
        store_sums(s, block, sum, 0);
    }
}

static void launch_products(const form *f, uint64_t n, bool added, const factors *a, const void *x, void *y)
{
    const uint64_t numbers = n * f->width, blocks = blocks_of(numbers, NUMBERS);
    const sums_of s = {f->sums, blocks, f->width, 1};
    if (f->narrow)
        dcsr_i_cuda_launch_blocks(f->stream, add_products<float>, blocks, threads_of(32 * MOST_WARPS), 0,
                                  numbers, added, *a, (const float *)x, (float *)y, s);
    else
        dcsr_i_cuda_launch_blocks(f->stream, add_products<double>, blocks, threads_of(32 * MOST_WARPS), 0,
                                  numbers, added, *a, (const double *)x, (double *)y, s);
    finish_sums(f, s);
}

void dcsr_i_amg_cuda_dot(const form *f, uint64_t n, const void *x, const void *y)
{
    const factors none = {{0}};
    launch_products(f, n, false, &none, x, const_cast<void *>(y));
}

void dcsr_i_amg_cuda_add_norm(const form *f, uint64_t n, const factors *a, const void *x, void *y)
{
    launch_products(f, n, true, a, x, y);
}

template <class From, class To>
static __global__ void convert(uint64_t numbers, unsigned width, factors by, const From *x, To *y)
{
    const double factor = by.column[threadIdx.x % width];
    for (uint64_t k = dcsr_i_cuda_first(); k < numbers; k += dcsr_i_cuda_step())
        y[k] = (To)((double)x[k] * factor);
}

void dcsr_i_amg_cuda_convert(const form *f, uint64_t n, const factors *factor, const void *x, void *y)
{
    const uint64_t numbers = n * f->width;
    if (f->narrow)
        dcsr_i_cuda_launch(f->stream, convert<double, float>, numbers, numbers, f->width, *factor,
                           (const double *)x, (float *)y);
    else
        dcsr_i_cuda_launch(f->stream, convert<float, double>, numbers, numbers, f->width, *factor,
                           (const float *)x, (double *)y);
}

static __global__ void gather(uint64_t rows, unsigned width, unsigned columns, const double *from, double *to)
{
    const unsigned c = threadIdx.x % width;
    for (uint64_t k = dcsr_i_cuda_first(); k < rows * width; k += dcsr_i_cuda_step())
        to[k] = c < columns ? from[k / width + c * rows] : 0;
}

void dcsr_i_amg_cuda_gather(const form *f, double *to, const double *from, uint64_t rows, unsigned columns)
{
    dcsr_i_cuda_launch(f->stream, gather, rows * f->width, rows, f->width, columns, from, to);
}

static __global__ void scatter(uint64_t rows, unsigned width, unsigned columns, const double *from,
                               double *to)
{
    const unsigned c = threadIdx.x % width;
    if (c >= columns) return;
    for (uint64_t k = dcsr_i_cuda_first(); k < rows * width; k += dcsr_i_cuda_step())
        to[k / width + c * rows] = from[k];
}

void dcsr_i_amg_cuda_scatter(const form *f, double *to, const double *from, uint64_t rows, unsigned columns)
{
    dcsr_i_cuda_launch(f->stream, scatter, rows * f->width, rows, f->width, columns, from, to);
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

static __global__ void find_extreme(matrix A, const double *diagonal, double most, double least,
                                    uint64_t *first)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < A.rows; i += dcsr_i_cuda_step()) {
        bool extreme = fabs(diagonal[i]) < least;
        for (uint64_t e = A.begin[i]; e < A.end[i] && !extreme; e++) extreme = fabs(A.values[e]) > most;
        if (extreme) atomicMin((unsigned long long *)first, (unsigned long long)i);
    }
}

void dcsr_i_amg_cuda_find_extreme(dcsr_i_cuda_stream *stream, const matrix *A, const double *diagonal,
                                  double most, double least, uint64_t *first)
{
    dcsr_i_cuda_launch(stream, find_extreme, A->rows, *A, diagonal, most, least, first);
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

static __global__ void lanczos_start(uint64_t first, uint64_t n, const double *d, double *v, double *w)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < n; i += dcsr_i_cuda_step()) {
        v[i] = d[i] != 0 ? (double)dcsr_i_amg_random(0, first + i) * 0x1p-64 - 0.5 : 0;
        w[i] = d[i] * v[i];
    }
}

void dcsr_i_amg_cuda_lanczos_start(dcsr_i_cuda_stream *stream, uint64_t first, uint64_t n, const double *d,
                                   double *v, double *w)
{
    dcsr_i_cuda_launch(stream, lanczos_start, n, first, n, d, v, w);
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
static __global__ void read_diagonal(dcsr_i_amg_cuda_rows A, dcsr_i_amg_cuda_scaling how, double *diagonal,
                                     double *scale, dcsr_i_amg_cuda_found *found)
{
    typedef unsigned long long word;
    uint64_t gershgorin = 0, negative = 0, beyond = 0;
    for (uint64_t i = dcsr_i_cuda_first(); i < A.rows; i += dcsr_i_cuda_step()) {
        double sum = 0, absolute = 0, outside = 0;
        for (uint64_t e = A.begin[i]; e < A.end[i]; e++) {
            const uint32_t own = A.columns[e] - A.first;
            absolute += fabs(A.values[e]);
            if (own >= A.rows) outside += fabs(A.values[e]);
            if (own == i) sum += A.values[e];
        }
        diagonal[i] = sum;
        scale[i] = 0;
        if (sum == 0 || !isfinite(absolute)) {
            uint64_t why = A.begin[i] == A.end[i] ? 0 : isfinite(absolute) ? 2 : 1;
            atomicMin((word *)&found->wrong, (word)(i * 4 + why));
            continue;
        }
        scale[i] = 1 / copysign(how.l1 ? absolute : fabs(sum) + how.outside_weight * outside, sum);
        negative += sum < 0;
        if (outside > 0)
            beyond += (uint64_t)(DCSR_AMG_CUDA_UNITS * fmin(outside / (absolute - fabs(sum)), 1.0));
        uint64_t bound = bits_of(absolute / fabs(sum));
        if (bound > gershgorin) gershgorin = bound;
    }
    gershgorin = dcsr_i_cuda_block_max(gershgorin, (uint64_t)0);
    negative = dcsr_i_cuda_block_sum(negative);
    beyond = dcsr_i_cuda_block_sum(beyond);
    if (threadIdx.x) return;
    atomicMax((word *)&found->gershgorin, (word)gershgorin);
    atomicAdd((word *)&found->negative, (word)negative);
    atomicAdd((word *)&found->outside, (word)beyond);
}

void dcsr_i_amg_cuda_read_diagonal(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_rows *A,
                                   dcsr_i_amg_cuda_scaling how, double *diagonal, double *scale,
                                   dcsr_i_amg_cuda_found *found)
{
    dcsr_i_cuda_launch(stream, read_diagonal, A->rows, *A, how, diagonal, scale, found);
}
