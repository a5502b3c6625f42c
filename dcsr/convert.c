/* convert.c: a view as coordinate triples, and what the conversions from a view share. */
#include "dcsr/convert_out.h"
#include "dcsr/coo_internal.h"
#include "dcsr/alloc.h"
#include "dcsr/error.h"

dcsr_status dcsr_i_convert_begin(dcsr_view *view, const dcsr_i_rows **rows, dcsr_context **context)
{
    DCSR_TRY(dcsr_i_view_check(view));
    DCSR_TRY(dcsr_i_view_host_rows(rows, view));
    *context = dcsr_i_view_context(view);
    if (dcsr_i_view_layout(view) == DCSR_LAYOUT_SEGMENTS) dcsr_i_view_was_read(view);
    return DCSR_OK;
}

uint64_t dcsr_i_longest_row(dcsr_context *context, const dcsr_i_rows *rows, uint64_t *nnz)
{
    uint64_t longest = 0, sum = 0;
    int threads = dcsr_i_threads(context, rows->rows);
#pragma omp parallel for num_threads(threads) reduction(max : longest) reduction(+ : sum)
    for (uint64_t row = 0; row < rows->rows; row++) {
        uint64_t length = dcsr_i_rows_length(rows, row);
        sum += length;
        if (length > longest) longest = length;
    }
    *nnz = sum;
    return longest;
}

dcsr_status dcsr_i_block_offsets(uint64_t **offsets, dcsr_context *context, const dcsr_i_rows *rows,
                                 uint64_t skip)
{
    uint64_t blocks = dcsr_i_block_count(rows->rows);
    uint64_t *before = dcsr_i_alloc(context, DCSR_I_SCRATCH, blocks + 1, sizeof *before);
    *offsets = before;
    if (!before) return DCSR_ERROR_OUT_OF_MEMORY;
    int threads = dcsr_i_threads(context, rows->rows);
#pragma omp parallel for num_threads(threads)
    for (uint64_t b = 0; b < blocks; b++) {
        uint64_t sum = 0;
        for (uint64_t row = b * DCSR_I_BLOCK_ROWS; row < dcsr_i_block_end(b, rows->rows); row++) {
            uint64_t length = dcsr_i_rows_length(rows, row);
            sum += length > skip ? length - skip : 0;
        }
        before[b + 1] = sum;
    }
    before[0] = 0;
    for (uint64_t b = 0; b < blocks; b++) before[b + 1] += before[b];
    return DCSR_OK;
}

void dcsr_i_free_block_offsets(uint64_t *offsets, dcsr_context *context, const dcsr_i_rows *rows)
{
    dcsr_i_free(context, DCSR_I_SCRATCH, offsets, dcsr_i_block_count(rows->rows) + 1, sizeof *offsets);
}

/* The entries of a row after the first `skip`, to place `at`. Returns the place after them. */
static uint64_t copy_row(dcsr_coo *coo, uint64_t at, const dcsr_i_rows *rows, uint64_t row, uint64_t skip)
{
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    int count = dcsr_i_rows_pieces(rows, row, pieces);
    size_t size = dcsr_type_size(rows->type);
    for (int k = 0; k < count; k++) {
        uint64_t skipped = skip < pieces[k].length ? skip : pieces[k].length;
        uint64_t begin = pieces[k].begin + skipped, length = pieces[k].length - skipped;
        skip -= skipped;
        for (uint64_t e = 0; e < length; e++) {
            coo->row[at + e] = row;
            coo->col[at + e] = rows->columns[begin + e];
        }
        if (size && length)
            memcpy((char *)coo->values + at * size, (const char *)rows->values + begin * size, length * size);
        at += length;
    }
    return at;
}

dcsr_status dcsr_i_rows_to_coo(dcsr_coo *coo, const char *call, dcsr_context *context,
                               const dcsr_i_rows *rows, uint64_t skip)
{
    uint64_t *before;
    uint64_t blocks = dcsr_i_block_count(rows->rows);
    DCSR_TRY(dcsr_i_block_offsets(&before, context, rows, skip));
    uint64_t nnz = before[blocks];
    dcsr_status status = dcsr_i_coo_allocate(coo, call, context, rows->type, rows->rows, rows->cols, nnz);
    if (status == DCSR_OK) {
        int threads = dcsr_i_threads(context, nnz + rows->rows);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
        for (uint64_t b = 0; b < blocks; b++) {
            uint64_t at = before[b];
            for (uint64_t row = b * DCSR_I_BLOCK_ROWS; row < dcsr_i_block_end(b, rows->rows); row++)
                at = copy_row(coo, at, rows, row, skip);
        }
    }
    dcsr_i_free_block_offsets(before, context, rows);
    return status;
}

dcsr_status dcsr_view_to_coo(dcsr_coo *coo, dcsr_view *view)
{
    if (!coo)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_view_to_coo: coo is NULL; give it a place");
    memset(coo, 0, sizeof *coo);
    const dcsr_i_rows *rows;
    dcsr_context *context;
    DCSR_TRY(dcsr_i_convert_begin(view, &rows, &context));
    return dcsr_i_rows_to_coo(coo, "dcsr_view_to_coo", context, rows, 0);
}
