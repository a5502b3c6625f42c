/* traverse_cuda.h: breadth-first search on a device (internal; for C and for kernels).
 *
 * A level is searched in one of three ways, by what its frontier is:
 *
 *      few     a block of threads goes on from level to level by itself, as long as frontiers are small
 *      some    all blocks go on from level to level, and meet at the end of each, as long as frontiers are for them
 *      many    a walk over all entries of the frontier and a sweep over the bits of all vertices, for which the host
 *              waits
 *
 * Few and some look at the frontier, and leave it as it is if it is none for them: so they can be launched ahead. */
#ifndef DCSR_TRAVERSE_CUDA_H
#define DCSR_TRAVERSE_CUDA_H

#include <dcsr/traverse.h>
#include "dcsr/base/cuda.h"
#include "dcsr/store/cuda/gather_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Limits of what a block does alone (few), and of what all do without the host (some); in the emulator small, so that
 * tests see all. */
#ifdef DCSR_SIMT
enum {
    DCSR_CUDA_FEW_THREADS = 64,
    DCSR_CUDA_FEW_VERTICES = DCSR_CUDA_FEW_THREADS,
    DCSR_CUDA_FEW_EDGES = 300,
    DCSR_CUDA_SOME_THREADS = 32,
    DCSR_CUDA_SOME_EDGES = 2000,
    DCSR_CUDA_SOME_LONGEST = 200
};
#else
enum {
    DCSR_CUDA_FEW_THREADS = 512,
    DCSR_CUDA_FEW_VERTICES = DCSR_CUDA_FEW_THREADS,
    DCSR_CUDA_FEW_EDGES = 6144,
    DCSR_CUDA_SOME_THREADS = 256,
    DCSR_CUDA_SOME_EDGES = 1 << 20,
    DCSR_CUDA_SOME_LONGEST = 4096
};
#endif

/* The vertices that a level has found. */
typedef struct dcsr_i_cuda_found {
    unsigned long long vertices;
    unsigned long long edges; /* entries of their rows */
    unsigned int longest;     /* of these rows; where a walk comes next it does not matter */
} dcsr_i_cuda_found;

/* How far a search is. Zeros to begin with. */
typedef struct dcsr_i_cuda_progress {
    dcsr_i_cuda_found frontier;
    /* Of the levels before the frontier. */
    unsigned long long reached, edges, level_sum;
    unsigned int level; /* of the frontier */
    unsigned int queue; /* which one it is in */
    unsigned int turns; /* levels of some vertices, at whose ends all blocks have met */
} dcsr_i_cuda_progress;

/* What blocks that work together add to. Zeros to begin with. */
typedef struct dcsr_i_cuda_counts {
    dcsr_i_cuda_found next[3]; /* levels take turns */
    unsigned int apart[32];    /* what is looked at again and again has a line of its own */
    unsigned int arrived;      /* see dcsr_i_cuda_meet() */
} dcsr_i_cuda_counts;

/* A search under way; all pointers are to device memory. */
typedef struct dcsr_i_cuda_traversal {
    dcsr_i_cuda_rows rows;
    uint64_t *where;    /* of each vertex where its row is, in a word: see dcsr_i_cuda_traversal_row() */
    uint64_t words;     /* of bits, for all vertices */
    uint32_t *visited;  /* bits of the vertices that have their level */
    uint32_t *fresh;    /* of those that a walk from the frontier meets besides */
    uint32_t *queue[2]; /* the frontier, in no particular order, is in one of them */
    uint64_t *noted[2]; /* and here what `where` says of it, in levels of some vertices but the first */
    uint64_t *offsets;  /* of the frontier's rows, for the walk */
    int32_t *level;     /* by vertex */
    dcsr_i_cuda_progress *progress;
    dcsr_i_cuda_counts *counts;
} dcsr_i_cuda_traversal;

/* ---- traverse.cu ---- */

/* Fills `where`, and sets the bits of the sources in `fresh`. */
void dcsr_i_cuda_traversal_start(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_traversal *search, uint64_t n,
                                 const uint64_t *sources);
/* Makes what is fresh the frontier, of the level that *progress says; its frontier comes as zeros. */
void dcsr_i_cuda_traversal_collect(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_traversal *search);
/* One level with a walk, from the frontier that is described. OUT_OF_MEMORY. */
dcsr_status dcsr_i_cuda_traversal_walk(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_traversal *search,
                                       const dcsr_i_cuda_progress *progress);

/* Sets the bits in `fresh` of the columns in the walk's rows, `edges` of them, whose bits are not set in `visited`. The
 * walk's offsets are written first. OUT_OF_MEMORY. */
dcsr_status dcsr_i_cuda_traversal_expand(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk,
                                         uint64_t edges, const uint32_t *visited, uint32_t *fresh);

/* ---- traverse_levels.cu ---- */

/* As many levels as a block may do alone. */
void dcsr_i_cuda_traversal_few(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_traversal *search);
/* As many levels as are small enough, but not for one block. */
void dcsr_i_cuda_traversal_some(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_traversal *search);

/* ---- traverse_cuda.c ---- */

/* dcsr_traverse() for a view on a device, whose arguments have been checked; level may be anywhere. */
typedef dcsr_status dcsr_i_traverse(int32_t *level, dcsr_traverse_result *result, dcsr_view *A, uint64_t n,
                                    const uint64_t *sources);
dcsr_i_traverse dcsr_i_cuda_traverse;

#ifdef __cplusplus
}
#endif

#ifdef __cplusplus
#include "dcsr/store/block_walk.cuh"

/* Where a row of one piece begins, and in the lower bits how long it is: what else takes three trips to memory, each
 * for what the one before has told. Rows of several pieces, and very long ones, must be looked up in the row table. */
enum { DCSR_CUDA_WHERE_BITS = 64 - DCSR_I_SEGMENT_BEGIN_BITS };
#define DCSR_CUDA_ELSEWHERE ((UINT64_C(1) << DCSR_CUDA_WHERE_BITS) - 1)

/* `where` is what s.where says of the vertex. */
DCSR_CUDA_INLINE uint64_t dcsr_i_cuda_traversal_length(const dcsr_i_cuda_traversal &s, uint32_t v,
                                                       uint64_t where)
{
    const uint64_t length = where & DCSR_CUDA_ELSEWHERE;
    return length == DCSR_CUDA_ELSEWHERE ? dcsr_i_cuda_length(s.rows, v) : length;
}
DCSR_CUDA_INLINE uint64_t dcsr_i_cuda_traversal_length(const dcsr_i_cuda_traversal &s, uint32_t v)
{
    return dcsr_i_cuda_traversal_length(s, v, s.where[v]);
}

DCSR_CUDA_INLINE dcsr_i_cuda_row_share dcsr_i_cuda_traversal_row(const dcsr_i_cuda_traversal &s, uint32_t v,
                                                                 uint64_t where)
{
    const uint64_t length = where & DCSR_CUDA_ELSEWHERE;
    if (length == DCSR_CUDA_ELSEWHERE) return dcsr_i_cuda_look_up(s.rows, v);
    return {where >> DCSR_CUDA_WHERE_BITS, v, 0, (uint32_t)length, false};
}
#endif
#endif
