/* select_rows_cuda.c: which rows are to be rewritten, on a device. */
#include "dcsr/store/cuda/rewrite_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"

/* The marks that mean a row is selected. */
static unsigned marks_of(dcsr_i_rows_kind kind)
{
    switch (kind) {
    case DCSR_I_TOMBSTONE_ROWS:
        return DCSR_CUDA_MARKED_TOMBSTONES;
    case DCSR_I_UNRESOLVED_OR_SPLIT_ROWS:
        return DCSR_CUDA_MARKED_TOMBSTONES | DCSR_CUDA_MARKED_DUPLICATES | DCSR_CUDA_MARKED_FRAGMENTED;
    case DCSR_I_ROWS_BEYOND:
        return 0;
    default:
        return DCSR_CUDA_MARKED_TOMBSTONES | DCSR_CUDA_MARKED_DUPLICATES;
    }
}

/* Whether telling which rows are meant takes reading their entries. */
static bool reads_entries(dcsr_i_rows_kind kind)
{
    return kind == DCSR_I_UNSORTED_ROWS || kind == DCSR_I_ROWS_BEYOND;
}

/* Whether there can be any, by what the table counts. */
static bool may_be_any(const dcsr_i_table *base, dcsr_i_rows_kind kind)
{
    unsigned marks = marks_of(kind);
    if (reads_entries(kind)) return base->stored != 0;
    return base->tombstone_rows || (marks & DCSR_CUDA_MARKED_DUPLICATES && base->duplicate_rows) ||
           (marks & DCSR_CUDA_MARKED_FRAGMENTED && base->extra_segments);
}

static dcsr_status select_by_entries(uint32_t *bitmap, dcsr_i_cuda_stream *stream,
                                     const dcsr_i_cuda_rows *rows, const dcsr_i_selection *selection)
{
    uint64_t *offsets = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, rows->rows + 1, sizeof *offsets);
    if (!offsets) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_i_cuda_walk walk = {.rows = *rows, .count = rows->rows, .offsets = offsets};
    dcsr_status status = dcsr_i_cuda_sum_lengths(stream, rows, NULL, rows->rows, offsets);
    if (status == DCSR_OK && selection->kind == DCSR_I_UNSORTED_ROWS)
        dcsr_i_cuda_select_unsorted(stream, &walk, rows->stored, false, bitmap);
    else if (status == DCSR_OK)
        dcsr_i_cuda_select_beyond(stream, &walk, rows->stored, selection->column_limit, bitmap);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, offsets, rows->rows + 1, sizeof *offsets);
    return status;
}

/* The bitmap, and how many of its bits are before each word. Without a selection: of rows that have entries. */
static dcsr_status fill_bitmap(uint32_t *bitmap, uint64_t *before, dcsr_i_cuda_stream *stream,
                               const dcsr_i_cuda_rows *rows, const dcsr_i_selection *selection)
{
    dcsr_i_cuda_select_marked(stream, rows, selection ? marks_of(selection->kind) : DCSR_CUDA_IN_USE, bitmap);
    if (selection && reads_entries(selection->kind))
        DCSR_TRY(select_by_entries(bitmap, stream, rows, selection));
    return dcsr_i_cuda_count_bits(stream, bitmap, dcsr_i_cuda_bitmap_words(rows->rows), before);
}

static dcsr_status list_rows(uint32_t **list, uint64_t *count, dcsr_i_cuda_stream *stream,
                             const dcsr_i_cuda_rows *rows, const dcsr_i_selection *selection)
{
    uint64_t words = dcsr_i_cuda_bitmap_words(rows->rows);
    *list = NULL;
    *count = 0;
    uint32_t *bitmap = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, words, sizeof *bitmap);
    uint64_t *before = bitmap ? dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, words + 1, sizeof *before) : NULL;
    dcsr_status status =
        before ? fill_bitmap(bitmap, before, stream, rows, selection) : DCSR_ERROR_OUT_OF_MEMORY;
    uint64_t *landing = status == DCSR_OK ? dcsr_i_cuda_landing(stream, sizeof *landing) : NULL;
    if (landing) dcsr_i_cuda_copy(stream, landing, before + words, sizeof *landing);
    dcsr_status waited = dcsr_i_cuda_wait(stream, "looking for rows");
    if (status == DCSR_OK) status = waited;
    if (status == DCSR_OK && *landing) {
        *count = *landing;
        *list = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, *count, sizeof **list);
        if (*list)
            dcsr_i_cuda_coo_rows(stream, bitmap, words, before, *list);
        else
            status = DCSR_ERROR_OUT_OF_MEMORY;
    }
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, before, words + 1, sizeof *before);
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, bitmap, words, sizeof *bitmap);
    return status;
}

dcsr_status dcsr_i_cuda_select_rows(uint32_t **list, uint64_t *count, dcsr_i_cuda_stream *stream,
                                    const dcsr_i_table *base, const dcsr_i_cuda_rows *rows,
                                    const dcsr_i_selection *selection)
{
    *list = NULL;
    *count = 0;
    return may_be_any(base, selection->kind) ? list_rows(list, count, stream, rows, selection) : DCSR_OK;
}

dcsr_status dcsr_i_cuda_rows_in_use(uint32_t **list, uint64_t *count, dcsr_i_cuda_stream *stream,
                                    const dcsr_i_cuda_rows *rows)
{
    return list_rows(list, count, stream, rows, NULL);
}
