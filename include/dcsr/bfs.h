/* bfs.h: breadth-first search. */
#ifndef DCSR_BFS_H
#define DCSR_BFS_H

#include <dcsr/view.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dcsr_bfs_result {
    uint64_t reached;   /* vertices with a level, the source among them */
    uint64_t max_level; /* the deepest level */
    uint64_t level_sum; /* sum of all levels */
    uint64_t edges;     /* entries of the rows of reached vertices */
} dcsr_bfs_result;

/* Computes the level of every vertex that can be reached from `source` along the entries of A, row -> column:
 * level[source] = 0, level[v] = 1 + the least level of a vertex with an edge to v, -1 for a vertex that is
 * not reached. The view must be of a square matrix, of any layout and type (values are not read: a stored
 * zero is an edge); DCSR_VIEW_DUPLICATES is allowed, and saves resolving rows.
 *
 * level: an array of the caller's, one element per row; in a cuda context it may be in the device's memory or
 * in the host's. result may be NULL. After an error both are as they were. The search goes level by level,
 * each top-down (from the vertices reached last) or, on the cpu if the transpose exists
 * (dcsr_matrix_options.maintain_transpose, or made by an operation on this view) and it costs less, bottom-up
 * (from those not reached). It is parallel within a level; the result is deterministic. Any number of threads
 * may search one view. Errors: INVALID_ARGUMENT (NULL), DIMENSION_MISMATCH (not square), INDEX_OUT_OF_RANGE
 * (source), OUT_OF_MEMORY, DEVICE, CONTEXT_DESTROYED.
 * Cost: O(rows + edges), on a device also O(rows / 32) per level. Scratch memory: up to 12 bytes per row and
 * 1/8 more for each thread; on a device 16 1/4 bytes per row, and what the prefix sum of a level takes while
 * that level is searched. */
DCSR_API dcsr_status dcsr_bfs(int32_t *level, dcsr_bfs_result *result, dcsr_view *A, uint64_t source);

#ifdef __cplusplus
}
#endif
#endif
