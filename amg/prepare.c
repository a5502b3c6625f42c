/* prepare.c: what cycles over a level need besides its matrices. */
#include "amg/hierarchy.h"
#include <math.h>

/* In fp32 a cycle computes with residuals of about 1, and with their quotients by entries of A: these have to stay
 * far from what fp32 can hold. */
static const double MOST_NARROW = 1e18, LEAST_NARROW = 1e-18;

/* Values at the places that they have in fp64, behind which `rows` moves those that an update has changed. */
static dcsr_status narrow(dcsr_i_amg_matrix *m, dcsr_context *context)
{
    dcsr_i_amg_rows *A = &m->rows;
    uint64_t fixed = 0, moved = 0;
    dcsr_i_amg_array arrays[2] = {{0}};
    for (uint64_t i = 0; i < A->rows; i++) {
        if (A->begin[i] < A->fixed)
            fixed = A->end[i] > fixed ? A->end[i] : fixed;
        else if (A->end[i] - A->fixed > moved)
            moved = A->end[i] - A->fixed;
    }
    DCSR_I_AMG_TRY(dcsr_i_amg_take(&arrays[0], context, fixed, sizeof(float)));
    dcsr_status status = dcsr_i_amg_take(&arrays[1], context, moved, sizeof(float));
    if (status) {
        dcsr_i_amg_drop(&arrays[0], context);
        return status;
    }
    const int threads = dcsr_context_threads(context, A->nnz);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (uint64_t i = 0; i < A->rows; i++) {
        const dcsr_i_amg_span row = dcsr_i_amg_span_of(A, i);
        const bool there = A->begin[i] < A->fixed;
        float *to = (float *)arrays[!there].data + (there ? A->begin[i] : A->begin[i] - A->fixed);
        for (uint64_t e = 0; e < row.count; e++) to[e] = (float)row.values[e];
    }
    dcsr_i_amg_drop(&m->narrow, context);
    dcsr_i_amg_drop(&m->moved_narrow, context);
    m->narrow = arrays[0];
    m->moved_narrow = arrays[1];
    A->narrow = arrays[0].data;
    A->moved_narrow = arrays[1].data;
    return DCSR_OK;
}

/* Of the values of A on level 0; those below are like them. */
static dcsr_status check_range(const dcsr_i_amg_level *level)
{
    const double *diagonal = level->diagonal.data;
    for (uint64_t i = 0; i < level->rows; i++) {
        const dcsr_i_amg_span row = dcsr_i_amg_span_of(&level->A.rows, i);
        double most = 0;
        for (uint64_t e = 0; e < row.count; e++) most = fmax(most, fabs(row.values[e]));
        if (most > MOST_NARROW || fabs(diagonal[i]) < LEAST_NARROW)
            return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                    "amg: row %llu of A has values that are too large or too small for the "
                                    "option precision=fp32; scale A, or use fp64",
                                    (unsigned long long)i);
    }
    return DCSR_OK;
}

static dcsr_status prepare_level(dcsr_i_amg_hierarchy *h, dcsr_i_amg_level *level)
{
    double start = dcsr_i_amg_now();
    if (h->options.precision == DCSR_I_AMG_FP32) {
        if (level == h->level) DCSR_I_AMG_TRY(check_range(level));
        DCSR_I_AMG_TRY(narrow(&level->A, h->context));
        DCSR_I_AMG_TRY(narrow(&level->P, h->context));
        DCSR_I_AMG_TRY(narrow(&level->R, h->context));
    }
    if (h->options.smoother == DCSR_I_AMG_GAUSS_SEIDEL && !level->told.direct)
        DCSR_I_AMG_TRY(dcsr_i_amg_color(h, level));
    level->told.smoother_seconds += dcsr_i_amg_now() - start;
    level->prepared = true;
    return DCSR_OK;
}

dcsr_status dcsr_i_amg_prepare(dcsr_i_amg_hierarchy *h)
{
    for (int l = 0; l < h->level_count; l++)
        if (!h->level[l].prepared) DCSR_I_AMG_TRY(prepare_level(h, &h->level[l]));
    return DCSR_OK;
}
