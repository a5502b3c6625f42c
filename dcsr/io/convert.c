/* convert.c: a view as coordinate triples, and what the conversions from a view share. */
#include "dcsr/io/convert_out.h"
#include "dcsr/io/coo_build.h"
#include "dcsr/store/store.h"

dcsr_status dcsr_i_convert_begin(dcsr_view *view, const dcsr_i_rows **rows, dcsr_context **context)
{
    DCSR_TRY(dcsr_i_view_check(view));
    DCSR_TRY(dcsr_i_view_host_rows(rows, view));
    *context = dcsr_i_view_context(view);
    if (dcsr_i_view_layout(view) == DCSR_LAYOUT_SEGMENTS) dcsr_i_view_was_read(view);
    return DCSR_OK;
}

/* ---- Pages ---- */

/* The pages of 64 rows that are there, and of each the entries before it, where the first `skip` entries of
 * each row do not count; before[pages.count] is their number. */
typedef struct page_offsets {
    dcsr_i_page_list pages;
    uint64_t *before;
} page_offsets;

/* The first row of page number i of the list; the one behind its last. */
static uint64_t first_row(const dcsr_i_page_list *pages, uint64_t i)
{
    return (uint64_t)pages->page[i] << DCSR_I_PAGE_SHIFT;
}
static uint64_t end_row(const dcsr_i_page_list *pages, uint64_t i, uint64_t rows)
{
    uint64_t end = first_row(pages, i) + DCSR_I_PAGE_ROWS;
    return end < rows ? end : rows;
}

static uint64_t sum_page(const dcsr_i_rows *rows, const dcsr_i_page_list *pages, uint64_t i, uint64_t skip)
{
    uint64_t sum = 0, end = end_row(pages, i, rows->rows);
    for (uint64_t row = first_row(pages, i); row < end; row++) {
        uint64_t length = dcsr_i_rows_length(rows, row);
        sum += length > skip ? length - skip : 0;
    }
    return sum;
}

static dcsr_status create_offsets(page_offsets *offsets, dcsr_context *context, const dcsr_i_rows *rows,
                                  uint64_t skip)
{
    dcsr_i_page_list *pages = &offsets->pages;
    DCSR_TRY(dcsr_i_page_list_create(pages, context, rows));
    uint64_t *before = dcsr_i_alloc(context, DCSR_I_SCRATCH, pages->count + 1, sizeof *before);
    offsets->before = before;
    if (!before) {
        dcsr_i_page_list_free(pages, context);
        return DCSR_ERROR_OUT_OF_MEMORY;
    }
    int threads = dcsr_i_threads(context, pages->count * DCSR_I_PAGE_ROWS);
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (uint64_t i = 0; i < pages->count; i++) before[i + 1] = sum_page(rows, pages, i, skip);
    before[0] = 0;
    for (uint64_t i = 0; i < pages->count; i++) before[i + 1] += before[i];
    return DCSR_OK;
}

static void free_offsets(page_offsets *offsets, dcsr_context *context)
{
    dcsr_i_free(context, DCSR_I_SCRATCH, offsets->before, offsets->pages.count + 1, sizeof *offsets->before);
    dcsr_i_page_list_free(&offsets->pages, context);
}

/* ---- Triples ---- */

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
            coo->row_indices[at + e] = row;
            coo->col_indices[at + e] = rows->columns[begin + e];
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
    page_offsets offsets;
    const dcsr_i_page_list *pages = &offsets.pages;
    DCSR_TRY(create_offsets(&offsets, context, rows, skip));
    uint64_t nnz = offsets.before[pages->count];
    dcsr_status status = dcsr_i_coo_allocate(coo, call, context, rows->type, rows->rows, rows->cols, nnz);
    if (status == DCSR_OK) {
        int threads = dcsr_i_threads(context, nnz + pages->count);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16) if (threads > 1)
        for (uint64_t i = 0; i < pages->count; i++) {
            uint64_t at = offsets.before[i], end = end_row(pages, i, rows->rows);
            for (uint64_t row = first_row(pages, i); row < end; row++)
                at = copy_row(coo, at, rows, row, skip);
        }
    }
    free_offsets(&offsets, context);
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
