/* convert_out.h: what the conversions from a view share (internal). */
#ifndef DCSR_CONVERT_OUT_H
#define DCSR_CONVERT_OUT_H

#include <dcsr/convert.h>
#include "dcsr/store/rowtable.h"
#include <string.h>

/* A source of rows: checked, and counted as read by the matrix's cost model. */
dcsr_status dcsr_i_convert_begin(dcsr_view *view, const dcsr_i_rows **rows, dcsr_context **context);

/* The pages of 64 rows that are there, and of each the entries before it, where the first `skip` entries of
 * each row do not count; before[pages.count] is their number. */
typedef struct dcsr_i_page_offsets {
    dcsr_i_page_list pages;
    uint64_t *before;
} dcsr_i_page_offsets;
dcsr_status dcsr_i_page_offsets_create(dcsr_i_page_offsets *offsets, dcsr_context *context,
                                       const dcsr_i_rows *rows, uint64_t skip);
void dcsr_i_page_offsets_free(dcsr_i_page_offsets *offsets, dcsr_context *context);
/* The first row of page number i of the list; the one behind its last. */
static inline uint64_t dcsr_i_listed_row(const dcsr_i_page_list *pages, uint64_t i)
{
    return (uint64_t)pages->page[i] << DCSR_I_PAGE_SHIFT;
}
static inline uint64_t dcsr_i_listed_end(const dcsr_i_page_list *pages, uint64_t i, uint64_t rows)
{
    uint64_t end = dcsr_i_listed_row(pages, i) + DCSR_I_PAGE_ROWS;
    return end < rows ? end : rows;
}

/* Allocates *coo and fills it with each row's entries, the first `skip` left out. */
dcsr_status dcsr_i_rows_to_coo(dcsr_coo *coo, const char *call, dcsr_context *context,
                               const dcsr_i_rows *rows, uint64_t skip);

/* Allocates *ell and fills it with the first `width` entries of each row; limit as for dcsr_view_to_ell(). */
dcsr_status dcsr_i_rows_to_ell(dcsr_ell *ell, dcsr_context *context, const dcsr_i_rows *rows, uint64_t width,
                               uint64_t limit);

/* The length of the longest row, and the number of entries. */
uint64_t dcsr_i_longest_row(dcsr_context *context, const dcsr_i_rows *rows, uint64_t *nnz);

/* One value of `size` bytes (0 for pattern). */
static inline void dcsr_i_copy_value(void *to, uint64_t to_index, const void *from, uint64_t from_index,
                                     size_t size)
{
    switch (size) {
    case 0:
        break;
    case 1:
        ((uint8_t *)to)[to_index] = ((const uint8_t *)from)[from_index];
        break;
    case 2:
        memcpy((char *)to + 2 * to_index, (const char *)from + 2 * from_index, 2);
        break;
    case 4:
        memcpy((char *)to + 4 * to_index, (const char *)from + 4 * from_index, 4);
        break;
    default:
        memcpy((char *)to + 8 * to_index, (const char *)from + 8 * from_index, 8);
        break;
    }
}

#endif
