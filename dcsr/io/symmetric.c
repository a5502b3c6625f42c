/* symmetric.c: whether triples are a symmetric matrix.
 *
 * Triples in order, stably sorted by column, are those of the transpose in order: so the matrix is symmetric if
 * triple k of the one is triple k of the other, with row and column exchanged, for every k. */
#include "dcsr/base/alloc.h"
#include "dcsr/io/coo_build.h"
#include <string.h>

/* By rows, then columns, none repeated. */
static bool in_order(const dcsr_coo *coo)
{
    const uint64_t *row = coo->row_indices, *col = coo->col_indices;
    for (uint64_t i = 1; i < coo->nnz; i++)
        if (row[i] < row[i - 1] || (row[i] == row[i - 1] && col[i] <= col[i - 1])) return false;
    return true;
}

static bool same(const dcsr_coo *coo, uint64_t a, uint64_t b)
{
    const size_t size = dcsr_type_size(coo->type);
    const char *values = coo->values;
    return coo->row_indices[a] == coo->col_indices[b] && coo->col_indices[a] == coo->row_indices[b] &&
           (!size || !memcmp(values + a * size, values + b * size, size));
}

dcsr_status dcsr_i_coo_is_symmetric(const dcsr_coo *coo, bool *symmetric)
{
    dcsr_context *context = coo->context;
    const uint64_t n = coo->nnz, cols = coo->cols;
    *symmetric = coo->rows == cols && in_order(coo);
    if (!*symmetric) return DCSR_OK;
    uint64_t *begin = dcsr_i_calloc(context, DCSR_I_SCRATCH, cols + 1, sizeof *begin);
    uint64_t *sorted = begin ? dcsr_i_alloc(context, DCSR_I_SCRATCH, n, sizeof *sorted) : NULL;
    if (sorted) {
        for (uint64_t i = 0; i < n; i++) begin[coo->col_indices[i] + 1]++;
        for (uint64_t c = 0; c < cols; c++) begin[c + 1] += begin[c];
        for (uint64_t i = 0; i < n; i++) sorted[begin[coo->col_indices[i]]++] = i;
        for (uint64_t k = 0; k < n && *symmetric; k++) *symmetric = same(coo, k, sorted[k]);
    }
    dcsr_i_free(context, DCSR_I_SCRATCH, sorted, n, sizeof *sorted);
    dcsr_i_free(context, DCSR_I_SCRATCH, begin, cols + 1, sizeof *begin);
    return sorted ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
}
