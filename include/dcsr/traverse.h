/* traverse.h: which rows can be reached from some, and in how many steps.
 *
 * What the product frontier<not level> = frontier A finds when it is repeated until it finds nothing new, but
 * with a list of its own in place of vectors: faster where frontiers are small and levels many. */
#ifndef DCSR_TRAVERSE_H
#define DCSR_TRAVERSE_H

#include <dcsr/view.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dcsr_traverse_result {
    uint64_t reached;   /* vertices with a level, the sources among them */
    uint64_t max_level; /* the deepest level */
    uint64_t level_sum; /* sum of all levels */
    uint64_t edges;     /* entries of the rows of reached vertices */
} dcsr_traverse_result;

/* Computes the level of every vertex, that is row, that can be reached from n sources along the entries of A,
 * row -> column: 0 for a source, 1 + the least level of a vertex with an edge to it for another, -1 for a
 * vertex that is not reached. A source may be given several times. The view must be of a square matrix, of
 * any layout and type (values are not read: a stored zero is an edge); DCSR_VIEW_DUPLICATES is allowed, and
 * saves resolving rows.
 *
 * level: an array of the caller's, one element per row; in a cuda context it may be in the device's memory or
 * in the host's. result may be NULL. After an error both are as they were. The search goes level by level,
 * each from the vertices reached last, and is parallel within a level; the result is deterministic. Any
 * number of threads may traverse one view. Errors: INVALID_ARGUMENT (NULL), DIMENSION_MISMATCH (not square),
 * INDEX_OUT_OF_RANGE (the first source that is none), OUT_OF_MEMORY, DEVICE, CONTEXT_DESTROYED.
 * Cost: O(rows + sources + edges), on a device also O(rows / 32) for each level of a million edges or more.
 * Scratch memory: 4 1/8 bytes per row and 1/8 more for each thread; on a device 28 1/4 bytes per row, and what
 * the prefix sum of a large level takes while that level is searched. */
DCSR_API dcsr_status dcsr_traverse(int32_t *level, dcsr_traverse_result *result, dcsr_view *A, uint64_t n,
                                   const uint64_t *sources);

#ifdef __cplusplus
}
#endif
#endif
