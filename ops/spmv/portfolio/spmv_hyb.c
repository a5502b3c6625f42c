/* spmv_hyb.c: the kernel `hyb`: the first entries of each row side by side as in ELL, the others one by one as in COO.
 * Each chunk has the width that moves the fewest bytes. */
#include "ops/spmv/portfolio/slices.h"

/* A step more of all slices that go on, against an entry less in the rest for each row that does. */
static uint64_t best_width(const dcsr_i_spmv_chunk *c)
{
    const int64_t sliced = DCSR_I_SLICE_ROWS * (int64_t)(sizeof(uint32_t) + c->size),
                  single = (int64_t)(sizeof(uint32_t) + sizeof(uint16_t) + c->size);
    int64_t slices[DCSR_I_SLICE_PART + 2] = {0}, rows[DCSR_I_SLICE_PART + 2] = {0};
    for (uint64_t r = 0, longest = 0; r < c->rows; r++) {
        const uint64_t n = c->begin[r + 1] - c->begin[r],
                       length = n < DCSR_I_SLICE_PART ? n : DCSR_I_SLICE_PART;
        longest = r % DCSR_I_SLICE_ROWS && longest > length ? longest : length;
        rows[length]++;
        if (r % DCSR_I_SLICE_ROWS == DCSR_I_SLICE_ROWS - 1 || r + 1 == c->rows) slices[longest]++;
    }
    /* From here on: how many have at least so many entries. */
    for (int w = DCSR_I_SLICE_PART - 1; w > 0; w--) slices[w] += slices[w + 1], rows[w] += rows[w + 1];
    uint64_t best = 0;
    int64_t bytes = 0, least = 0;
    for (uint64_t w = 1; w <= DCSR_I_SLICE_PART; w++) {
        bytes += sliced * slices[w] - single * rows[w];
        if (bytes < least) best = w, least = bytes;
    }
    return best;
}

static uint64_t measure_chunk(const dcsr_i_spmv_chunk *c)
{
    return dcsr_i_slice_measure_chunk(c, best_width(c), 0, false);
}

static const dcsr_i_spmv_chunked chunked = DCSR_I_SLICED(measure_chunk);
DCSR_I_SPMV_CHUNKED_CALLS(hyb, &chunked, NULL)
DCSR_I_SPMV_CHUNKED_REFRESH(hyb, &chunked, NULL)

static dcsr_status run(const dcsr_i_spmv_product *product, const dcsr_i_spmv_matrix *A, const void *format)
{
    return dcsr_i_slice_run(product, A, format, NULL);
}

const dcsr_i_spmv_kernel dcsr_i_spmv_hyb = {
    .told = {.name = "hyb", .summary = "HYB: the first entries of rows side by side, the others one by one"},
    .refuses = dcsr_i_spmv_refuses_sparse_lines,
    .measure = measure_hyb,
    .build = build_hyb,
    .refresh = refresh_hyb,
    .run = run,
    .discard = discard_hyb,
};
