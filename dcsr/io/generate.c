/* generate.c: random matrices and paths, entry by entry as a function of the seed. */
#include <dcsr/generate.h>
#include "dcsr/io/coo_build.h"
#include "dcsr/base/error.h"
#include "dcsr/base/random.h"
#include "dcsr/base/threads.h"
#include <string.h>

/* What the streams of a seed are for; changing these, or how they are used, changes every generated matrix.
 */
enum { STREAM_RMAT_EDGES = 1, STREAM_RMAT_LABELS = 2, STREAM_ER = 3 };

/* -- R-MAT (Chakrabarti, Zhan, Faloutsos 2004) ----------------------------------------------------------- */

enum { MOST_SCALE = 31, LEVELS_PER_NUMBER = 2, NUMBERS_PER_EDGE = 16, WORK_PER_LEVEL = 2 };

/* A level takes 32 random bits; below each of these bounds lies one more quadrant, in the order upper left,
 * upper right, lower left. */
typedef struct quadrants {
    uint64_t upper_left, upper, not_lower_right;
} quadrants;

static uint64_t fraction_of_2_32(double p)
{
    return p >= 1 ? UINT64_C(1) << 32 : (uint64_t)(p * 4294967296.0);
}

static dcsr_status check_rmat(const dcsr_rmat *rmat, uint64_t first_edge, uint64_t edges)
{
    if (!rmat) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_coo_generate_rmat: rmat is NULL");
    if (rmat->scale < 0)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "rmat: the scale is %d; it must be 0 to %d",
                           rmat->scale, MOST_SCALE);
    if (rmat->scale > MOST_SCALE)
        return dcsr_i_fail(DCSR_ERROR_TOO_LARGE, "rmat: the scale is %d; a matrix has at most 2^%d columns",
                           rmat->scale, MOST_SCALE);
    double a = rmat->a, b = rmat->b, c = rmat->c;
    if (!(a >= 0 && b >= 0 && c >= 0 && a + b + c <= 1 + 1e-9)) /* written so that NaN fails */
        return dcsr_i_fail(
            DCSR_ERROR_INVALID_ARGUMENT,
            "rmat: the probabilities a %g, b %g, c %g must not be negative nor be more than 1 together", a, b,
            c);
    if (edges > (UINT64_MAX / NUMBERS_PER_EDGE - first_edge) || first_edge > UINT64_MAX / NUMBERS_PER_EDGE)
        return dcsr_i_fail(DCSR_ERROR_TOO_LARGE, "rmat: the stream ends after 2^60 - 1 edges");
    return DCSR_OK;
}

/* Edge number e: a quadrant a level, the upper bits of row and column first. */
static void rmat_edge(uint64_t key, uint64_t e, int scale, const quadrants *q, uint64_t *row, uint64_t *col)
{
    uint64_t r = 0, c = 0, bits = 0;
    for (int level = 0; level < scale; level++) {
        bits = level % LEVELS_PER_NUMBER
                   ? bits >> 32
                   : dcsr_i_random(key, e * NUMBERS_PER_EDGE + (uint64_t)level / LEVELS_PER_NUMBER);
        uint64_t draw = bits & UINT32_MAX;
        uint64_t lower = draw >= q->upper;
        uint64_t right = (draw >= q->upper_left) ^ lower ^ (draw >= q->not_lower_right);
        r = r << 1 | lower;
        c = c << 1 | right;
    }
    *row = r;
    *col = c;
}

dcsr_status dcsr_coo_generate_rmat(dcsr_coo *coo, dcsr_context *context, const dcsr_rmat *rmat,
                                   uint64_t first_edge, uint64_t edges)
{
    if (coo) memset(coo, 0, sizeof *coo);
    DCSR_TRY(check_rmat(rmat, first_edge, edges));
    uint64_t vertices = UINT64_C(1) << rmat->scale;
    DCSR_TRY(
        dcsr_i_coo_allocate(coo, "dcsr_coo_generate_rmat", context, DCSR_PATTERN, vertices, vertices, edges));

    int scale = rmat->scale;
    uint64_t *row = coo->row_indices, *col = coo->col_indices;
    uint64_t key = dcsr_i_random_key(rmat->seed, STREAM_RMAT_EDGES);
    dcsr_i_shuffle labels = dcsr_i_shuffle_make(scale, dcsr_i_random_key(rmat->seed, STREAM_RMAT_LABELS));
    quadrants q = {fraction_of_2_32(rmat->a), fraction_of_2_32(rmat->a + rmat->b),
                   fraction_of_2_32(rmat->a + rmat->b + rmat->c)};
    int threads = dcsr_i_threads(context, edges * WORK_PER_LEVEL);
#pragma omp parallel for num_threads(threads)
    for (uint64_t i = 0; i < edges; i++) {
        uint64_t r, c;
        rmat_edge(key, first_edge + i, scale, &q, &r, &c);
        row[i] = dcsr_i_shuffle_apply(&labels, r);
        col[i] = dcsr_i_shuffle_apply(&labels, c);
    }
    return DCSR_OK;
}

/* -- Erdos-Renyi ----------------------------------------------------------------------------------------- */

dcsr_status dcsr_coo_generate_er(dcsr_coo *coo, dcsr_context *context, uint64_t rows, uint64_t cols,
                                 uint64_t nnz, uint64_t seed)
{
    if (coo) memset(coo, 0, sizeof *coo);
    if (nnz && (!rows || !cols))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "er: a matrix of %llu x %llu has no place for %llu entries",
                           (unsigned long long)rows, (unsigned long long)cols, (unsigned long long)nnz);
    DCSR_TRY(dcsr_i_coo_allocate(coo, "dcsr_coo_generate_er", context, DCSR_PATTERN, rows, cols, nnz));
    uint64_t *row = coo->row_indices, *col = coo->col_indices;
    uint64_t key = dcsr_i_random_key(seed, STREAM_ER);
    int threads = dcsr_i_threads(context, nnz);
#pragma omp parallel for num_threads(threads)
    for (uint64_t i = 0; i < nnz; i++) {
        row[i] = dcsr_i_random_below(dcsr_i_random(key, 2 * i), rows);
        col[i] = dcsr_i_random_below(dcsr_i_random(key, 2 * i + 1), cols);
    }
    return DCSR_OK;
}

/* -- Path ------------------------------------------------------------------------------------------------ */

dcsr_status dcsr_coo_generate_path(dcsr_coo *coo, dcsr_context *context, uint64_t n)
{
    uint64_t edges = n ? n - 1 : 0;
    DCSR_TRY(dcsr_i_coo_allocate(coo, "dcsr_coo_generate_path", context, DCSR_PATTERN, n, n, edges));
    uint64_t *row = coo->row_indices, *col = coo->col_indices;
    int threads = dcsr_i_threads(context, edges);
#pragma omp parallel for num_threads(threads)
    for (uint64_t i = 0; i < edges; i++) {
        row[i] = i;
        col[i] = i + 1;
    }
    return DCSR_OK;
}
