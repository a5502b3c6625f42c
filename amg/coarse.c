/* coarse.c: the dense pseudo-inverse of the last level.
 *
 * The last level is singular where A is (a Neumann problem), or where an aggregate has fewer rows than there are
 * near-nullspace vectors. X of least norm with A X = I in the least squares is the pseudo-inverse in each case,
 * and applying it is a product with a dense matrix. Where A is positive definite and far from singular, Cholesky's
 * method finds the inverse in a fifth of the time, which updates wait for. */
#include "amg/amg_engine.h"
#include "amg/lapack.h"
#include <math.h>
#include <string.h>

static const double SINGULAR = 1e-12; /* relative */

dcsr_status dcsr_i_amg_bring_dense(double *dense, dcsr_i_amg_hierarchy *h, const dcsr_i_amg_rows *A)
{
    (void)h;
    for (uint64_t i = 0; i < A->rows; i++) {
        const dcsr_i_amg_span row = dcsr_i_amg_span_of(A, i);
        for (uint64_t e = 0; e < row.count; e++) dense[row.columns[e] * A->rows + i] += row.values[e];
    }
    return DCSR_OK;
}

static double norm_of(const double *dense, int n)
{
    double most = 0;
    for (int j = 0; j < n; j++) {
        double sum = 0;
        for (int i = 0; i < n; i++) sum += fabs(dense[(size_t)j * (size_t)n + (size_t)i]);
        most = fmax(most, sum);
    }
    return most;
}

/* The inverse of a symmetric matrix, if it is definite; *done tells. */
static dcsr_status factorise(dcsr_context *context, int n, const double *dense, double *inverse, bool *done)
{
    const uint64_t size = (uint64_t)n;
    int failed;
    double rcond = 0, norm = norm_of(dense, n);
    dcsr_i_amg_array work = {0}, numbers = {0};
    *done = false;
    dcsr_status status = dcsr_i_amg_take(&work, context, 3 * size, sizeof(double));
    if (!status) status = dcsr_i_amg_take(&numbers, context, size, sizeof(int));
    if (!status) {
        memcpy(inverse, dense, size * size * sizeof *inverse);
        dpotrf_("L", &n, inverse, &n, &failed, 1);
        if (!failed) dpocon_("L", &n, inverse, &n, &norm, &rcond, work.data, numbers.data, &failed, 1);
        if (!failed && rcond > SINGULAR) dpotri_("L", &n, inverse, &n, &failed, 1);
        *done = !failed && rcond > SINGULAR;
        for (uint64_t j = 0; j < size && *done; j++)
            for (uint64_t i = 0; i < j; i++) inverse[j * size + i] = inverse[i * size + j];
    }
    dcsr_i_amg_drop(&work, context);
    dcsr_i_amg_drop(&numbers, context);
    return status;
}

/* Of n x n; `inverse` comes as the identity. */
static dcsr_status solve(dcsr_context *context, int n, double *dense, double *inverse)
{
    int rank, failed, ask = -1;
    double best;
    dcsr_i_amg_array pivots = {0}, work = {0};
    dgelsy_(&n, &n, &n, dense, &n, inverse, &n, NULL, &SINGULAR, &rank, &best, &ask, &failed);
    int length = (int)best;
    dcsr_status status = dcsr_i_amg_take(&pivots, context, (uint64_t)n, sizeof(int));
    if (!status) status = dcsr_i_amg_take(&work, context, (uint64_t)length, sizeof(double));
    if (!status) {
        dgelsy_(&n, &n, &n, dense, &n, inverse, &n, pivots.data, &SINGULAR, &rank, work.data, &length,
                &failed);
        if (failed)
            status = dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT, "amg setup: LAPACK's dgelsy failed (%d)",
                                      failed);
    }
    dcsr_i_amg_drop(&pivots, context);
    dcsr_i_amg_drop(&work, context);
    return status;
}

/* A becomes column after column, its inverse too: transposed in place for a product by rows. */
static void transpose(double *square, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        for (uint64_t j = 0; j < i; j++) {
            double kept = square[i * n + j];
            square[i * n + j] = square[j * n + i];
            square[j * n + i] = kept;
        }
    }
}

static dcsr_status put_inverse(dcsr_i_amg_hierarchy *h, dcsr_i_amg_level *level, dcsr_i_amg_array *inverse)
{
    if (!h->engine->on_device) {
        level->inverse = *inverse;
        *inverse = (dcsr_i_amg_array){0};
        return DCSR_OK;
    }
    DCSR_I_AMG_TRY(h->engine->take(&level->inverse, h, inverse->count, inverse->size));
    h->engine->put(h, level->inverse.data, inverse->data, inverse->count * inverse->size);
    return DCSR_OK;
}

dcsr_status dcsr_i_amg_invert(dcsr_i_amg_hierarchy *h, dcsr_i_amg_level *level)
{
    uint64_t n = level->rows;
    bool done = false;
    dcsr_i_amg_array dense = {0}, inverse = {0};
    if (!n) return DCSR_OK;
    dcsr_status status = dcsr_i_amg_take(&dense, h->context, n * n, sizeof(double));
    if (!status) status = dcsr_i_amg_take(&inverse, h->context, n * n, sizeof(double));
    if (!status) status = h->engine->bring_dense(dense.data, h, &level->A.rows);
    if (!status && h->symmetric) status = factorise(h->context, (int)n, dense.data, inverse.data, &done);
    if (!status && !done) {
        memset(inverse.data, 0, n * n * sizeof(double));
        for (uint64_t i = 0; i < n; i++) ((double *)inverse.data)[i * n + i] = 1;
        status = solve(h->context, (int)n, dense.data, inverse.data);
        transpose(inverse.data, n);
    }
    if (!status) status = put_inverse(h, level, &inverse);
    dcsr_i_amg_drop(&dense, h->context);
    dcsr_i_amg_drop(&inverse, h->context);
    return status;
}
