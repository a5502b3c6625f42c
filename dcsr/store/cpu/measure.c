/* measure.c: measures of rows, and reading one; the cpu's engine. */
#include "dcsr/store/store.h"

/* The lengths of the rows of page p; *count is how many there are. Those of a CSR are computed into `room`. */
static const uint32_t *lengths_of(const dcsr_i_rows *rows, uint64_t p, unsigned *count,
                                  uint32_t room[DCSR_I_PAGE_ROWS])
{
    uint64_t first = p << DCSR_I_PAGE_SHIFT, left = rows->rows - first;
    *count = left < DCSR_I_PAGE_ROWS ? (unsigned)left : DCSR_I_PAGE_ROWS;
    if (rows->table) return dcsr_i_page(rows->table, p)->length;
    for (unsigned r = 0; r < *count; r++)
        room[r] = (uint32_t)(rows->offsets[first + r + 1] - rows->offsets[first + r]);
    return room;
}

/* Adds up pages first to end - 1. */
static void measure_pages(dcsr_i_measures *sum, const dcsr_i_rows *rows, uint64_t first, uint64_t end)
{
    uint32_t room[DCSR_I_PAGE_ROWS];
    for (uint64_t p = first; (p = dcsr_i_rows_next_page(rows, p)) < end; p++) {
        unsigned count;
        const uint32_t *length = lengths_of(rows, p, &count, room);
        for (unsigned r = 0; r < count; r++) {
            sum->nnz += length[r];
            sum->rows_in_use += length[r] != 0;
            if (length[r] > sum->longest) sum->longest = length[r];
            /* Of an empty row this is the largest number there is. */
            if (length[r] - 1 < sum->shortest) sum->shortest = length[r] - 1;
        }
        if (!rows->table) continue;
        const dcsr_i_row_page *page = dcsr_i_page(rows->table, p);
        for (uint64_t mask = page->fragmented; mask; mask &= mask - 1) {
            dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
            uint64_t segments = (uint64_t)dcsr_i_row_pieces(page, (unsigned)__builtin_ctzll(mask), pieces);
            if (segments > sum->max_segments) sum->max_segments = segments;
        }
        sum->unresolved_rows += (uint64_t)__builtin_popcountll(page->duplicates | page->tombstones);
    }
}

/* The sum of the squared differences from the mean, over the rows that have entries. */
static double square_pages(const dcsr_i_rows *rows, double mean, uint64_t first, uint64_t end)
{
    uint32_t room[DCSR_I_PAGE_ROWS];
    double sum = 0;
    for (uint64_t p = first; (p = dcsr_i_rows_next_page(rows, p)) < end; p++) {
        unsigned count;
        const uint32_t *length = lengths_of(rows, p, &count, room);
        for (unsigned r = 0; r < count; r++)
            if (length[r]) sum += ((double)length[r] - mean) * ((double)length[r] - mean);
    }
    return sum;
}

dcsr_status dcsr_i_measure(dcsr_i_measures *result, dcsr_context *context, const dcsr_i_rows *rows)
{
    const uint64_t pages = dcsr_i_rows_pages(rows), entries = dcsr_i_rows_entries(rows);
    const double n = (double)rows->rows;
    int threads = dcsr_i_threads(context, rows->rows < entries ? rows->rows : entries);
    const uint64_t parts = (uint64_t)threads;
    uint64_t nnz = 0, used = 0, longest = 0, shortest = UINT32_MAX, segments = 0, unresolved = 0;
    double squares = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : nnz, used, unresolved) \
    reduction(max : longest, segments) reduction(min : shortest) if (threads > 1)
    for (uint64_t t = 0; t < parts; t++) {
        dcsr_i_measures sum = {.shortest = UINT32_MAX}; /* the row's length less one */
        measure_pages(&sum, rows, pages * t / parts, pages * (t + 1) / parts);
        nnz += sum.nnz, used += sum.rows_in_use, unresolved += sum.unresolved_rows;
        if (sum.longest > longest) longest = sum.longest;
        if (sum.shortest < shortest) shortest = sum.shortest;
        if (sum.max_segments > segments) segments = sum.max_segments;
    }
    const double mean = n > 0 ? (double)nnz / n : 0;
#pragma omp parallel for num_threads(threads) reduction(+ : squares) if (threads > 1)
    for (uint64_t t = 0; t < parts; t++)
        squares += square_pages(rows, mean, pages * t / parts, pages * (t + 1) / parts);
    if (rows->table && nnz && !segments) segments = 1;
    *result = (dcsr_i_measures){.nnz = nnz,
                                .rows_in_use = used,
                                .longest = longest,
                                .shortest = used ? shortest + 1 : 0,
                                .squares = squares + (n - (double)used) * mean * mean,
                                .max_segments = segments,
                                .unresolved_rows = unresolved};
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
