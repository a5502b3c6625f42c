/* nut.h: NuT, non-uniform tiles of a matrix, for products with vectors too long for the cache (Hong et al.,
 * "Optimizing Sparse-Matrix Sparse-Vector Multiplication for GPUs").
 *
 * The rows are cut into panels. A column is active in a panel if it has an entry there; the active columns of a
 * panel, in ascending order, are cut into groups of equally many. A tile is what a panel has in one group. So the
 * elements of x that a tile reads, and those of y that it adds to, are few enough for the fast memory of whoever
 * works on it - the second-level cache on a cpu, shared memory on a device - and are numbered with 16 bits:
 *
 *              columns 0 2 3 6 | 7 9 12 15         active in the panel, 4 to a tile
 *      row 0           a b . . | . . .  .
 *      row 1           c d e f | . . .  g
 *      row 2           . . h . | . i .  .
 *
 *      tile 0, 4 lanes:        lane 0   1    2    3            a lane's elements lie `lanes` apart: row by row of
 *         head                    -1   -2   -2   -3            this drawing, as they are read
 *         then                    -1   -2    2   -3
 *                                  0    0    3    2            -1-r: what follows is of row r of the panel
 *                                  1    1                       k:   an entry in active column k of the tile
 *
 * The entries of a tile, row by row, each row's behind a marker of the row, are dealt out to the lanes in equal parts;
 * each lane begins with a head, a marker of the row of its first element. So every lane can add up what it has in a
 * register, and writes a sum where a marker follows. A row that several lanes have is added up from their parts. */
#ifndef DCSR_NUT_H
#define DCSR_NUT_H

#include <dcsr/view.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Tile t of a panel. Its elements are indices[begin] up to `elements` more, of which element e is of lane e % lanes,
 * the first `lanes` of them are the heads. Values stand at the same numbers; those of markers are 0. */
typedef struct dcsr_nut_tile {
    uint64_t begin, elements;
    uint32_t column, columns; /* its active columns are col_indices[column] up to `columns` more, ascending */
} dcsr_nut_tile;

typedef struct dcsr_nut_panel {
    uint64_t row, rows; /* rows `row` up to `rows` more */
    uint64_t nnz;
    uint64_t tile_count; /* 0 where it has no entries; the arrays are then NULL */
    const dcsr_nut_tile *tiles;
    const uint32_t *col_indices; /* of all tiles, one behind the other */
    const int16_t *indices;
    const void *values; /* NULL for pattern */
} dcsr_nut_panel;

typedef struct dcsr_nut {
    uint64_t rows, cols, nnz;
    dcsr_type type;
    uint32_t lanes;
    uint32_t most_rows, most_columns; /* of a panel, and active ones of a tile, at most */
    uint64_t bytes;                   /* of all arrays */
    uint64_t panel_count;
    const dcsr_nut_panel *panels; /* in host memory; what they point to is where the view's entries are */
} dcsr_nut;

/* Fills *nut with the tiles of a view of DCSR_LAYOUT_NUT, which are lent as long as the view. The view can also be
 * read by rows, like a view of segments, and dcsr_mxv() and dcsr_vxm() may multiply by its tiles. Errors:
 * INVALID_ARGUMENT when the view's layout is not NUT. */
DCSR_API dcsr_status dcsr_view_get_nut(dcsr_view *view, dcsr_nut *nut);

#ifdef __cplusplus
}
#endif
#endif
