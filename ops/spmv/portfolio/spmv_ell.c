/* spmv_ell.c: the kernel `ell`: each row takes the room of the longest. */
#include "ops/spmv/portfolio/slices.h"

enum { MOST_ROOM = 3 };

static const char *refuses(const dcsr_i_spmv_matrix *A)
{
    if (A->info.max_row > DCSR_I_SLICE_PART)
        return "gives each row the room of the longest, which has more than 512 entries";
    if (A->info.max_row * A->info.rows > MOST_ROOM * A->info.nnz + DCSR_I_SLICE_CHUNK)
        return "gives each row the room of the longest: more than three places an entry";
    return NULL;
}

/* The longest row of a chunk is known without reading others: all chunks have the width of the matrix's. */
static uint64_t measure_chunk(const dcsr_i_spmv_chunk *c)
{
    return dcsr_i_slice_measure_chunk(c, UINT64_MAX, *(const uint64_t *)c->common, false);
}

static const dcsr_i_spmv_chunked chunked = DCSR_I_SLICED(measure_chunk);
DCSR_I_SPMV_CHUNKED_CALLS(ell, &chunked, &A->info.max_row)
DCSR_I_SPMV_CHUNKED_REFRESH(ell, &chunked, &A->info.max_row)

static bool may_refresh(const void *format, const dcsr_i_spmv_matrix *A, const dcsr_i_spmv_matrix *before)
{
    (void)format;
    return A->info.max_row == before->info.max_row;
}

static dcsr_status run(const dcsr_i_spmv_product *product, const dcsr_i_spmv_matrix *A, const void *format)
{
    return dcsr_i_slice_run(product, A, format, NULL);
}

const dcsr_i_spmv_kernel dcsr_i_spmv_ell = {
    .told = {.name = "ell", .summary = "ELL: rows side by side, each as long as the longest"},
    .by_longest = true,
    .refuses = refuses,
    .measure = measure_ell,
    .build = build_ell,
    .may_refresh = may_refresh,
    .refresh = refresh_ell,
    .run = run,
    .discard = discard_ell,
};
