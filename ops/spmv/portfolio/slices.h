/* slices.h: rows in slices of eight, one a lane: what `sell`, `ell`, `hyb` and `column_tiles` are made of (internal).
 *
 *      slice      rows r0 .. r7, their lengths
 *      columns    c0 of r0 .. r7 | c1 of r0 .. r7 | ...     as many steps as the longest of them has entries
 *      values     likewise
 *
 * What stands in a slice is a **part**: a row, or up to 512 entries of a longer one, so that lanes have much the same
 * to do however long rows are. A **block** is slices that read the same x, and entries left over, one by one; a chunk
 * has some blocks, of which each adds to its rows of y. Places behind the end of a part hold nothing that is read into
 * a sum. */
#ifndef DCSR_SPMV_SLICES_H
#define DCSR_SPMV_SLICES_H

#include "ops/spmv/portfolio/row_chunks.h"

enum {
    DCSR_I_SLICE_ROWS = 8,
    DCSR_I_SLICE_PART = 512,      /* entries of a part at most */
    DCSR_I_SLICE_TILE = 1 << 16,  /* columns that 16 bits tell apart */
    DCSR_I_SLICE_CHUNK = 1 << 13, /* rows of a chunk */
};

typedef struct dcsr_i_slice {
    uint64_t begin;         /* of its first step, in entries */
    uint32_t steps, common; /* of the longest part; of the shortest */
    uint16_t rows[DCSR_I_SLICE_ROWS], lengths[DCSR_I_SLICE_ROWS];
} dcsr_i_slice;

/* Slices, values, columns, and the values, columns and rows of the rest follow, each aligned to 8 bytes. */
typedef struct dcsr_i_slice_block {
    uint64_t slices, entries, rest,
        bytes;      /* entries with those behind the end of parts; bytes of the block */
    uint64_t least; /* steps of a slice */
    bool narrow;    /* columns have 16 bits and are numbers within a tile of x */
} dcsr_i_slice_block;

/* A chunk: this and its blocks. */
typedef struct dcsr_i_slice_chunk {
    uint64_t blocks;
} dcsr_i_slice_chunk;

/* While a block is made: entries from .. from + length - 1 of the chunk. */
typedef struct dcsr_i_slice_part {
    uint64_t from;
    uint16_t row, length;
} dcsr_i_slice_part;

/* Parts for entries from .. end-1 of a row: appended to `parts`; returns how many. */
uint64_t dcsr_i_slice_cut(dcsr_i_slice_part *parts, uint64_t row, uint64_t from, uint64_t end);
/* Longest first, stably; `spare` has the same room. */
void dcsr_i_slice_sort(dcsr_i_slice_part *parts, dcsr_i_slice_part *spare, uint64_t count);
/* A block of those parts in this order, in slices of at least `least` steps; with its bytes. */
dcsr_i_slice_block dcsr_i_slice_measure(const dcsr_i_slice_part *parts, uint64_t count, uint64_t least,
                                        uint64_t rest, size_t size, bool narrow);
/* Fills memory of so many bytes, but for the rest; columns and values are those that parts count in. */
void dcsr_i_slice_fill(void *memory, const dcsr_i_slice_block *block, const dcsr_i_slice_part *parts,
                       uint64_t count, const uint32_t *columns, const char *values, size_t size);

/* The work memory of kernels whose chunks have one block: the first `width` entries of each row in slices, the others
 * in the rest. */
typedef struct dcsr_i_slice_work {
    dcsr_i_slice_block block;
    uint64_t count, width;
    dcsr_i_slice_part parts[]; /* twice as many as there may be parts */
} dcsr_i_slice_work;
/* Cuts rows, in their order or longest first, and measures the chunk. */
uint64_t dcsr_i_slice_measure_chunk(const dcsr_i_spmv_chunk *chunk, uint64_t width, uint64_t least,
                                    bool sorted);
void dcsr_i_slice_fill_chunk(void *memory, const dcsr_i_spmv_chunk *chunk);
/* How such a kernel is chunked. */
#define DCSR_I_SLICED(MEASURE)                                                                      \
    {                                                                                               \
        .rows = DCSR_I_SLICE_CHUNK, .work_row = 2 * sizeof(dcsr_i_slice_part) + 1, .work_entry = 1, \
        .measure = (MEASURE), .fill = dcsr_i_slice_fill_chunk                                       \
    }

/* Where the arrays of a block are. */
typedef struct dcsr_i_slice_arrays {
    dcsr_i_slice *slices;
    void *values, *columns; /* columns of 16 or 32 bits */
    void *rest_values;
    uint32_t *rest_columns;
    uint16_t *rest_rows;
} dcsr_i_slice_arrays;
dcsr_i_slice_arrays dcsr_i_slice_arrays_of(const dcsr_i_slice_block *block, size_t size);

/* y = A x for such chunks. Block b reads its tile of `tiles`, which are one behind the other, if it is narrow. */
dcsr_status dcsr_i_slice_run(const dcsr_i_spmv_product *product, const dcsr_i_spmv_matrix *A,
                             const dcsr_i_spmv_chunks *chunks, const void *tiles);

#endif
