/* row_block.h: the entries of neighbouring rows as one sequence (internal).
 *
 * Rows that lie one behind the other, as most do, make one stretch; so operations that treat all entries
 * alike work on long arrays, however short the rows are. */
#ifndef DCSR_ROW_BLOCK_H
#define DCSR_ROW_BLOCK_H

#include "dcsr/store/rowtable.h"
#include "ops/algebra/operator.h"

enum { DCSR_I_VALUES_AT_ONCE = 512 }; /* entries that go through an operator at once: some kilobytes */

typedef struct dcsr_i_row_block {
    unsigned stretches;
    uint64_t entries;
    dcsr_i_piece stretch[DCSR_I_PAGE_ROWS * DCSR_MAX_SEGMENTS];
} dcsr_i_row_block;

/* The entries of rows first to first + count - 1, which are of one page, and the rows' lengths. */
void dcsr_i_row_block_of(dcsr_i_row_block *block, const dcsr_i_rows *rows, uint64_t first, unsigned count,
                         uint32_t *lengths);
/* Copies columns, and values as `type` unless values is NULL, one behind the other. */
void dcsr_i_row_block_columns(const dcsr_i_row_block *block, const dcsr_i_rows *rows, uint32_t *columns);
void dcsr_i_row_block_values(const dcsr_i_row_block *block, const dcsr_i_rows *rows, dcsr_type type,
                             void *values);
/* Whether two blocks of `count` rows have the same ones: length for length, and column for column; so far as
 * that can be told of blocks of one stretch. */
bool dcsr_i_row_blocks_match(const dcsr_i_row_block *a, const dcsr_i_rows *a_rows, const uint32_t *a_lengths,
                             const dcsr_i_row_block *b, const dcsr_i_rows *b_rows, const uint32_t *b_lengths,
                             unsigned count);
/* Whether the rows of pages first to end - 1 have no entries. */
bool dcsr_i_rows_are_empty(const dcsr_i_rows *rows, uint64_t first, uint64_t end);
/* The row number of each entry, from entry `from` on of the block, for n of them. *row and *left say where
 * that is: the row, counted from the first, and how many of its entries are to come; they advance. Zeros, and
 * lengths[0], at the beginning. */
void dcsr_i_row_numbers(uint32_t *numbers, size_t n, uint64_t first, const uint32_t *lengths, unsigned *row,
                        uint32_t *left);

/* A scalar that the caller gives as `from`, as another type. */
static inline dcsr_i_scalar dcsr_i_scalar_as(dcsr_type to, dcsr_type from, const void *value)
{
    dcsr_i_scalar scalar = {0};
    dcsr_i_cast(to, &scalar, from, value, 1);
    return scalar;
}

#endif
