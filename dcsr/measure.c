/* measure.c: what is told of rows, and reading one; the cpu's engine. */
#include "dcsr/store.h"

static void count_segments(dcsr_i_measures *result, const dcsr_i_table *table)
{
    uint64_t pages = dcsr_i_page_count(table);
    if (result->nnz) result->max_segments = 1;
    for (uint64_t p = 0; p < pages; p++) {
        const dcsr_i_row_page *page = dcsr_i_page(table, p);
        if (!page) continue;
        for (uint64_t mask = page->fragmented; mask; mask &= mask - 1) {
            dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
            uint64_t count = (uint64_t)dcsr_i_row_pieces(page, (unsigned)__builtin_ctzll(mask), pieces);
            if (count > result->max_segments) result->max_segments = count;
        }
        result->unresolved_rows += (uint64_t)__builtin_popcountll(page->duplicates | page->tombstones);
    }
}

dcsr_status dcsr_i_measure(dcsr_i_measures *result, dcsr_context *context, const dcsr_i_rows *rows)
{
    uint64_t n = rows->rows, nnz = 0, longest = 0, used = 0;
    double squares = 0;
    int threads = dcsr_i_threads(context, n);
#pragma omp parallel for num_threads(threads) reduction(+ : nnz, used) reduction(max : longest) if (threads > 1)
    for (uint64_t i = 0; i < n; i++) {
        uint64_t length = dcsr_i_rows_length(rows, i);
        nnz += length;
        used += length != 0;
        if (length > longest) longest = length;
    }
    double mean = n ? (double)nnz / (double)n : 0;
    for (uint64_t i = 0; i < n; i++) {
        double away = (double)dcsr_i_rows_length(rows, i) - mean;
        squares += away * away;
    }
    *result = (dcsr_i_measures){.nnz = nnz, .rows_in_use = used, .longest = longest, .squares = squares};
    if (rows->table) count_segments(result, rows->table);
    return DCSR_OK;
}

dcsr_status dcsr_i_read_row(dcsr_context *context, const dcsr_i_rows *rows, uint64_t row, uint64_t capacity,
                            uint32_t *columns, void *values, uint64_t *length)
{
    (void)context;
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    int count = dcsr_i_rows_pieces(rows, row, pieces);
    size_t size = dcsr_type_size(rows->type);
    uint64_t done = 0, all = 0;
    for (int k = 0; k < count; k++) {
        uint64_t take = capacity - done < pieces[k].length ? capacity - done : pieces[k].length;
        if (columns) memcpy(columns + done, rows->columns + pieces[k].begin, take * sizeof *columns);
        if (values && size)
            memcpy((char *)values + done * size, (const char *)rows->values + pieces[k].begin * size,
                   take * size);
        done += take;
        all += pieces[k].length;
    }
    *length = all;
    return DCSR_OK;
}
