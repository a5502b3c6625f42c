/* diagonal.c: what the rows of a level tell one by one. */
#include "amg/hierarchy.h"
#include <math.h>

/* Fractions are whole numbers of 1 / UNITS, so that their sum is the same in any order. */
enum { UNITS = 1 << 16 };

typedef struct row_sums {
    double diagonal, absolute, outside; /* sums of |a_ij|: of all, of those in columns of other devices */
} row_sums;

static row_sums sums_of(const dcsr_i_amg_rows *A, uint64_t i)
{
    const dcsr_i_amg_span row = dcsr_i_amg_span_of(A, i);
    row_sums s = {0};
    for (uint64_t e = 0; e < row.count; e++) {
        const uint32_t own = dcsr_i_amg_own(A, row.columns[e]);
        s.absolute += fabs(row.values[e]);
        if (own >= A->rows) s.outside += fabs(row.values[e]);
        if (own == i) s.diagonal += row.values[e];
    }
    return s;
}

uint64_t dcsr_i_amg_fault_of(const dcsr_i_amg_rows *A, uint64_t i)
{
    dcsr_i_amg_fault fault = !dcsr_i_amg_span_of(A, i).count     ? DCSR_I_AMG_EMPTY
                             : !isfinite(sums_of(A, i).absolute) ? DCSR_I_AMG_NOT_FINITE
                                                                 : DCSR_I_AMG_NO_DIAGONAL;
    return 4 * i + fault;
}

dcsr_status dcsr_i_amg_refuse(const char *call, uint64_t wrong)
{
    static const char *const what[] = {
        [DCSR_I_AMG_EMPTY] = "has no entries",
        [DCSR_I_AMG_NOT_FINITE] = "has a value that is not finite, or too large",
        [DCSR_I_AMG_NO_DIAGONAL] = "has a zero on the diagonal, or nothing",
    };
    return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                            "%s: row %llu of A %s; multigrid divides by the diagonal", call,
                            (unsigned long long)(wrong / 4), what[wrong % 4]);
}

static row_sums read_row(dcsr_i_amg_level *level, uint64_t i, int64_t smoother)
{
    const row_sums s = sums_of(&level->A.rows, i);
    const bool usable = s.diagonal != 0 && isfinite(s.absolute);
    double divisor = fabs(s.diagonal);
    if (smoother == DCSR_I_AMG_L1) divisor = s.absolute;
    if (smoother == DCSR_I_AMG_GAUSS_SEIDEL) divisor += DCSR_I_AMG_OUTSIDE_WEIGHT * s.outside;
    ((double *)level->diagonal.data)[i] = s.diagonal;
    ((double *)level->scale.data)[i] = usable ? 1 / copysign(divisor, s.diagonal) : 0;
    return s;
}

bool dcsr_i_amg_read_row(dcsr_i_amg_level *level, uint64_t i, int64_t smoother)
{
    row_sums s = read_row(level, i, smoother);
    return s.diagonal != 0 && isfinite(s.absolute);
}

dcsr_status dcsr_i_amg_read_diagonal(dcsr_i_amg_diagonal *found, dcsr_i_amg_hierarchy *h,
                                     dcsr_i_amg_level *level)
{
    const dcsr_i_amg_rows *A = &level->A.rows;
    DCSR_I_AMG_TRY(dcsr_i_amg_borrow(&level->diagonal, h->pool, A->rows, sizeof(double)));
    DCSR_I_AMG_TRY(dcsr_i_amg_borrow(&level->scale, h->pool, A->rows, sizeof(double)));
    double gershgorin = 0;
    const int threads = dcsr_context_threads(h->context, A->nnz);
    uint64_t negative = 0, outside = 0, wrong = UINT64_MAX;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1) \
    reduction(max : gershgorin) reduction(+ : negative, outside) reduction(min : wrong)
    for (uint64_t i = 0; i < A->rows; i++) {
        row_sums s = read_row(level, i, h->options.smoother);
        if (s.diagonal == 0 || !isfinite(s.absolute)) {
            if (i < wrong) wrong = i;
            continue;
        }
        negative += s.diagonal < 0;
        if (s.outside > 0)
            outside += (uint64_t)(UNITS * fmin(s.outside / (s.absolute - fabs(s.diagonal)), 1));
        if (s.absolute > gershgorin * fabs(s.diagonal)) gershgorin = s.absolute / fabs(s.diagonal);
    }
    if (wrong != UINT64_MAX) wrong = dcsr_i_amg_fault_of(A, wrong);
    *found = (dcsr_i_amg_diagonal){
        .gershgorin = gershgorin, .positive = !negative, .outside = (double)outside / UNITS, .wrong = wrong};
    return DCSR_OK;
}
