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

/* Level of every vertex that is reached from `source` along the entries of A, row -> column: level[source] =
 * 0, level[v] = 1 + the least level of a vertex with an edge to v, -1 for a vertex that is not reached. The
 * view must be of a square matrix, any layout, any type (values are not looked at: a stored zero is an edge);
 * DCSR_VIEW_DUPLICATES is fine and spares resolving rows.
 *
 * level: rows elements, the caller's; on a cuda context in the device's memory or in the host's. result may
 * be NULL. Both are as they were after an error. Level by level, each top-down (from the vertices reached
 * last) or, on the cpu where the transpose is there (dcsr_matrix_options.maintain_transpose, or made by an
 * operation on this view) and that costs less, bottom-up (from those not reached). Parallel within a level;
 * the result is deterministic. Any number of threads may search one view. Errors: INVALID_ARGUMENT (NULL),
 * DIMENSION_MISMATCH (not square), INDEX_OUT_OF_RANGE (source), OUT_OF_MEMORY, DEVICE, CONTEXT_DESTROYED.
 * Cost: O(rows + edges), on a device O(rows / 32) a level besides; scratch memory: up to 12 bytes a row and
 * 1/8 more for each thread, on a device 16 1/4, and while a level is walked what its prefix sum takes. */
DCSR_API dcsr_status dcsr_bfs(int32_t *level, dcsr_bfs_result *result, dcsr_view *A, uint64_t source);

#ifdef __cplusplus
}
#endif
#endif
