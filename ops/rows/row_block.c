/* row_block.c: the entries of neighbouring rows as one sequence. */
#include "ops/rows/row_block.h"
#include <string.h>

/* Appends to the last stretch where it lies right behind. */
static inline void append(dcsr_i_row_block *block, uint64_t begin, uint64_t length)
{
    dcsr_i_piece *last = &block->stretch[block->stretches];
    block->entries += length;
    if (block->stretches && last[-1].begin + last[-1].length == begin)
        last[-1].length += length;
    else if (length)
        block->stretch[block->stretches++] = (dcsr_i_piece){begin, length};
}

/* Whether rows r0 to r0 + count - 1 of a page, in one segment each, lie one behind the other, as they do wherever they
 * were written together; *begin is where. */
static bool lie_together(const dcsr_i_row_page *page, unsigned r0, unsigned count, uint64_t *begin)
{
    const uint32_t *length = page->length + r0;
    uint64_t gaps = 0, at = UINT64_MAX;
    *begin = 0;
    for (unsigned r = 0; r < count; r++) {
        if (!length[r]) continue;
        const uint64_t here = dcsr_i_begin_of(page, 0, r0 + r);
        if (at == UINT64_MAX) at = *begin = here;
        gaps |= here ^ at;
        at += length[r];
    }
    return !gaps;
}

void dcsr_i_row_block_of(dcsr_i_row_block *block, const dcsr_i_rows *rows, uint64_t first, unsigned count,
                         uint32_t *lengths)
{
    block->stretches = 0;
    block->entries = 0;
    if (rows->offsets) {
        const uint64_t *offsets = rows->offsets + first;
        for (unsigned r = 0; r < count; r++) lengths[r] = (uint32_t)(offsets[r + 1] - offsets[r]);
        append(block, offsets[0], offsets[count] - offsets[0]);
        return;
    }
    const dcsr_i_row_page *page = dcsr_i_page(rows->table, first >> DCSR_I_PAGE_SHIFT);
    unsigned r0 = (unsigned)(first & (DCSR_I_PAGE_ROWS - 1));
    uint64_t begin;
    if (page && !page->fragmented && lie_together(page, r0, count, &begin)) {
        uint64_t sum = 0;
        for (unsigned r = 0; r < count; r++) sum += lengths[r] = page->length[r0 + r];
        append(block, begin, sum);
        return;
    }
    for (unsigned r = 0; r < count; r++) {
        lengths[r] = page ? page->length[r0 + r] : 0;
        if (!lengths[r]) continue;
        dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
        int n = dcsr_i_row_pieces(page, r0 + r, pieces);
        for (int k = 0; k < n; k++) append(block, pieces[k].begin, pieces[k].length);
    }
}

void dcsr_i_row_block_columns(const dcsr_i_row_block *block, const dcsr_i_rows *rows, uint32_t *columns)
{
    for (unsigned s = 0; s < block->stretches; s++) {
        memcpy(columns, rows->columns + block->stretch[s].begin, block->stretch[s].length * sizeof *columns);
        columns += block->stretch[s].length;
    }
}

void dcsr_i_row_block_values(const dcsr_i_row_block *block, const dcsr_i_rows *rows, dcsr_type type,
                             void *values)
{
    size_t size = dcsr_type_size(type), from = dcsr_type_size(rows->type);
    char *to = values;
    for (unsigned s = 0; s < block->stretches; s++) {
        const dcsr_i_piece *stretch = &block->stretch[s];
        const char *source = from ? (const char *)rows->values + stretch->begin * from : NULL;
        dcsr_i_cast(type, to, rows->type, source, stretch->length);
        to += stretch->length * size;
    }
}

void dcsr_i_row_numbers(uint32_t *numbers, size_t n, uint64_t first, const uint32_t *lengths, unsigned *row,
                        uint32_t *left)
{
    for (size_t k = 0; k < n;) {
        while (!*left) *left = lengths[++*row];
        size_t take = *left < n - k ? *left : n - k;
        uint32_t number = (uint32_t)(first + *row);
        for (size_t i = 0; i < take; i++) numbers[k++] = number;
        *left -= (uint32_t)take;
    }
}

bool dcsr_i_rows_are_empty(const dcsr_i_rows *rows, uint64_t first, uint64_t end)
{
    if (rows->offsets) {
        uint64_t last = end << DCSR_I_PAGE_SHIFT;
        return rows->offsets[first << DCSR_I_PAGE_SHIFT] ==
               rows->offsets[last < rows->rows ? last : rows->rows];
    }
    return dcsr_i_rows_next_page(rows, first) >= end;
}

bool dcsr_i_row_blocks_match(const dcsr_i_row_block *a, const dcsr_i_rows *a_rows, const uint32_t *a_lengths,
                             const dcsr_i_row_block *b, const dcsr_i_rows *b_rows, const uint32_t *b_lengths,
                             unsigned count)
{
    if (a->entries != b->entries || a->stretches > 1 || b->stretches > 1) return false;
    return !memcmp(a_lengths, b_lengths, count * sizeof *a_lengths) &&
           !memcmp(a_rows->columns + a->stretch[0].begin, b_rows->columns + b->stretch[0].begin,
                   a->entries * sizeof *a_rows->columns);
}
