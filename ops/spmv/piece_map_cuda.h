/* piece_map_cuda.h: where the pieces of rows are, packed (internal; for C and for kernels).
 *
 * From the row table a product learns of each piece only when it knows how much of its row is in those before: 12
 * bytes a row and 8 for each further piece, read one after the other. A view that is multiplied with keeps the same in
 * a map, for groups of 32 rows, all of which can be read at once:
 *
 *      group[g]: origin, at, shape      word[at ...]:
 *
 *                                       near groups: an origin for each level     uint32 [levels]
 *                                       bases: of piece k of row r, at [k][r]     uint32, near uint16 [levels][32]
 *                                       ends: of row r                            uint8, 16 or 32 [32]
 *                                       if there are wide rows: which             uint32, a bit for each
 *                                       of each wide row: where its pieces 1, 2,
 *                                       ... start, and its length                 uint32 [levels]
 *
 * A base is the place of a piece less the position in the row at which it starts, counted from the origin, modulo
 * 2^32: position p of the row stands at origin + (base + p) % 2^32. Near: of each level, the bases are within 64 Ki of
 * one another, as those are that came with one batch.
 *
 * Ends: bit p says that a piece of the row ends with its position p. So the row has as many entries as it takes to
 * write them, and position p is in the piece whose number is the count of the bits below p. Rows of more than 32
 * entries are wide, and have no ends. */
#ifndef DCSR_PIECE_MAP_CUDA_H
#define DCSR_PIECE_MAP_CUDA_H

#include "dcsr/base/cuda.h"
#include "dcsr/store/rowtable_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DCSR_CUDA_PIECE_GROUP = 32 };

/* How far apart bases of near groups, and places of any group, may be. */
#ifdef DCSR_SIMT
/* Less, so that small tests have groups that are not near, and some that cannot be mapped. */
enum { DCSR_CUDA_PIECE_NEAR_SPAN = 1023, DCSR_CUDA_PIECE_SPAN = 131071 };
#else
#define DCSR_CUDA_PIECE_NEAR_SPAN UINT16_MAX
#define DCSR_CUDA_PIECE_SPAN      UINT32_MAX
#endif

typedef struct dcsr_i_cuda_piece_group {
    uint64_t origin; /* the lowest place of the group */
    uint32_t at;
    uint32_t shape; /* DCSR_CUDA_PIECE_... */
} dcsr_i_cuda_piece_group;

enum {
    DCSR_CUDA_PIECE_LEVELS = 15, /* these bits: how many pieces the row with the most has */
    DCSR_CUDA_PIECE_NEAR = 16,
    DCSR_CUDA_PIECE_WIDE = 32,     /* there are wide rows */
    DCSR_CUDA_PIECE_ENDS_SHIFT = 6 /* from here: the logarithm of the bytes of a row's ends */
};

/* All pointers are to device memory. */
typedef struct dcsr_i_cuda_piece_map {
    dcsr_i_cuda_piece_group *group; /* NULL: there is no map */
    uint32_t *word;
    uint64_t groups, words;
} dcsr_i_cuda_piece_map;

/* A map has fewer words than this. */
#define DCSR_CUDA_PIECE_MOST_WORDS ((uint64_t)1 << 31)

/* words[g] = how many words group g takes, for rows in segments; as many as no map may have, if a group's places are
 * further apart than a base can say. */
void dcsr_i_cuda_piece_map_measure(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows, uint32_t *words);
/* Fills the map, which has its memory; before[g] is the sum of the words of the groups before g. */
void dcsr_i_cuda_piece_map_fill(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows,
                                const dcsr_i_cuda_piece_map *map, const uint64_t *before);

#ifdef __cplusplus
}
#endif
#endif
