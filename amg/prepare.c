/* prepare.c: what cycles over a level need besides its matrices. */
#include "amg/amg_engine.h"

/* In fp32 a cycle computes with residuals of about 1, and with their quotients by entries of A: these have to stay
 * far from what fp32 can hold. */
static const double MOST_NARROW = 1e18, LEAST_NARROW = 1e-18;

static dcsr_status narrow_values(dcsr_i_amg_array *narrow, dcsr_i_amg_hierarchy *h, const double *values,
                                 uint64_t count)
{
    const dcsr_i_amg_form form = h->engine->form_of(h, DCSR_FP32, 1);
    dcsr_i_amg_array array;
    DCSR_I_AMG_TRY(h->engine->take(&array, h, count, sizeof(float)));
    h->engine->narrow(&form, count, dcsr_i_amg_one, values, array.data);
    h->engine->drop(narrow, h);
    *narrow = array;
    return DCSR_OK;
}

/* Values at the places that they have in fp64. Where rows that an update has moved are in arrays of their own, those
 * places are all that are in use there; else the matrix's own arrays, if it has some, have all. */
static dcsr_status narrow(dcsr_i_amg_matrix *m, dcsr_i_amg_hierarchy *h)
{
    dcsr_i_amg_rows *A = &m->rows;
    const bool apart = A->fixed != UINT64_MAX;
    const uint64_t places = apart ? A->fixed : m->begins.data ? m->used : A->nnz;
    DCSR_I_AMG_TRY(narrow_values(&m->narrow, h, A->values, places));
    A->narrow = m->narrow.data;
    DCSR_I_AMG_TRY(narrow_values(&m->moved_narrow, h, A->moved_values, apart ? m->used : 0));
    A->moved_narrow = m->moved_narrow.data;
    return DCSR_OK;
}

/* Of the values of A on level 0; those below are like them. */
static dcsr_status check_range(dcsr_i_amg_hierarchy *h)
{
    const uint64_t row = h->engine->find_extreme(h, h->level, MOST_NARROW, LEAST_NARROW);
    if (row == h->level->rows) return DCSR_OK;
    return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                            "amg: row %llu of A has values that are too large or too small for the option "
                            "precision=fp32; scale A, or use fp64",
                            (unsigned long long)(row + h->level->A.rows.first));
}

dcsr_status dcsr_i_amg_prepare_level(dcsr_i_amg_hierarchy *h, dcsr_i_amg_level *level, bool A_is_read)
{
    double start = dcsr_i_amg_now();
    if (h->options.precision == DCSR_I_AMG_FP32) {
        if (level == h->level && !h->lower) DCSR_I_AMG_TRY(check_range(h));
        if (A_is_read) DCSR_I_AMG_TRY(narrow(&level->A, h));
        DCSR_I_AMG_TRY(narrow(&level->P, h));
        DCSR_I_AMG_TRY(narrow(&level->R, h));
    }
    if (h->options.smoother == DCSR_I_AMG_GAUSS_SEIDEL && !level->told.direct)
        DCSR_I_AMG_TRY(h->engine->colour(h, level));
    level->told.smoother_seconds += dcsr_i_amg_now() - start;
    level->prepared = true;
    return DCSR_OK;
}

dcsr_status dcsr_i_amg_prepare(dcsr_i_amg_hierarchy *h)
{
    for (int l = 0; l < h->level_count; l++)
        if (!h->level[l].prepared) DCSR_I_AMG_TRY(dcsr_i_amg_prepare_level(h, &h->level[l], true));
    return DCSR_OK;
}
