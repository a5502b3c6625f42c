/* spmv_sell.c: the kernel `sell`: SELL-C-sigma (Kreutzer and others 2014) with C = 8 and windows of 8192 rows, within
 * which rows are put into slices by their lengths, so that those of a slice are about as long. */
#include "ops/spmv/portfolio/slices.h"

static uint64_t measure_chunk(const dcsr_i_spmv_chunk *c)
{
    return dcsr_i_slice_measure_chunk(c, UINT64_MAX, 0, true);
}

static const dcsr_i_spmv_chunked chunked = DCSR_I_SLICED(measure_chunk);
DCSR_I_SPMV_CHUNKED_CALLS(sell, &chunked, NULL)
DCSR_I_SPMV_CHUNKED_REFRESH(sell, &chunked, NULL)

static dcsr_status run(const dcsr_i_spmv_product *product, const dcsr_i_spmv_matrix *A, const void *format)
{
    return dcsr_i_slice_run(product, A, format, NULL);
}

const dcsr_i_spmv_kernel dcsr_i_spmv_sell = {
    .told = {.name = "sell", .summary = "SELL-C-sigma: eight rows of about one length side by side"},
    .refuses = dcsr_i_spmv_refuses_sparse_lines,
    .measure = measure_sell,
    .build = build_sell,
    .refresh = refresh_sell,
    .run = run,
    .discard = discard_sell,
};
