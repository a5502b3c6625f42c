/* row_reader.c: which rows have no entries. */
#include "ops/rows/row_reader.h"

bool dcsr_i_rows_are_empty(const dcsr_i_rows *rows, uint64_t first, uint64_t end)
{
    if (rows->offsets) {
        uint64_t last = end << DCSR_I_PAGE_SHIFT;
        return rows->offsets[first << DCSR_I_PAGE_SHIFT] ==
               rows->offsets[last < rows->rows ? last : rows->rows];
    }
    return dcsr_i_rows_next_page(rows, first) >= end;
}
