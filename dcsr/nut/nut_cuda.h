/* nut_cuda.h: making tiles on a device (internal; for C and for kernels).
 *
 * All panels that are to be made are made together, by sorting:
 *
 *      number    entries of the panels' rows: key panel and column, and with it the row in the panel and the place
 *      sort      by key; a run of equal keys is an active column of a panel, whose number is the count of runs before
 *      turn      key tile and row, and with it the column's number in the tile and the place
 *      sort      by key; what went before puts the columns of a row in order
 *      open      tiles, active columns, and what no entry says, to where the panels are to be
 *      scatter   each entry to its item: as many as there are entries and rows before it in the tile
 *
 * Bytes an entry: 40 of memory; some 16 read and written for each 8 bits of either key in the sorts, and 60 besides. */
#ifndef DCSR_NUT_CUDA_H
#define DCSR_NUT_CUDA_H

#include "dcsr/store/cuda/gather_cuda.h"
#include <dcsr/nut.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Rows in a panel and columns in a tile have 15 bits; places have 43. */
enum { DCSR_CUDA_NUT_ROW_BITS = 15, DCSR_CUDA_NUT_PLACE_BITS = 48 };

/* Panels that are to be made; all arrays in device memory. */
typedef struct dcsr_i_cuda_nut_panels {
    uint64_t count;
    const uint32_t *first_row;   /* of each */
    const uint64_t *first_entry; /* count + 1 */
    const uint64_t *first_tile;  /* of each, of the tiles of all of them */
    uint32_t columns;            /* of a tile */
    int column_bits;
} dcsr_i_cuda_nut_panels;

/* Where the arrays of a panel are, and what is to be copied to them: from `tiles` and `columns` of all, where begin
 * those of this. */
typedef struct dcsr_i_cuda_nut_target {
    dcsr_nut_tile *tiles;
    uint32_t *columns;
    int16_t *indices;
    char *values;
    uint64_t tile_count, column_count, elements;
    uint64_t first_tile, first_column;
} dcsr_i_cuda_nut_target;

/* A tile that entries are scattered to. */
typedef struct dcsr_i_cuda_nut_open {
    int16_t *indices;
    char *values;
    uint64_t items, first_entry, first_row; /* what is before it, of entries and of rows of tiles */
} dcsr_i_cuda_nut_open;

/* keys[e], payload[e] of the entries of a walk. */
void dcsr_i_cuda_nut_number(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t entries,
                            const dcsr_i_cuda_nut_panels *panels, uint64_t *keys, uint64_t *payload);
/* first[k] = active columns before panel k, for k = 0 .. count; runs are those of dcsr_i_cuda_scan_runs(). */
void dcsr_i_cuda_nut_count(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_nut_panels *panels,
                           const uint64_t *runs, uint64_t *first);
/* From the first keys to the second, in place; and the active columns of all panels. */
void dcsr_i_cuda_nut_turn(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_nut_panels *panels,
                          const uint64_t *runs, uint64_t entries, uint64_t *keys, uint64_t *payload,
                          uint32_t *columns);
/* Entries before tile t, and rows of tiles, for t = 0 .. tiles. */
void dcsr_i_cuda_nut_measure(dcsr_i_cuda_stream *stream, const uint64_t *runs, uint64_t entries,
                             uint64_t tiles, uint64_t *first_entry, uint64_t *first_row);
void dcsr_i_cuda_nut_open_panels(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_nut_target *targets,
                                 uint64_t count, uint32_t value_size, const dcsr_nut_tile *tiles,
                                 const uint32_t *columns);
/* What entries are scattered from. */
typedef struct dcsr_i_cuda_nut_entries {
    const uint64_t *keys, *payload, *runs;
    uint64_t count;
    const void *values;
    uint32_t value_size, lanes;
} dcsr_i_cuda_nut_entries;
void dcsr_i_cuda_nut_scatter(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_nut_entries *entries,
                             const dcsr_i_cuda_nut_open *tiles);

#ifdef __cplusplus
}
#endif
#endif
