/* bfs.h: breadth-first search. */
#ifndef DCSR_BFS_H
#define DCSR_BFS_H

#include <dcsr/traverse.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef dcsr_traverse_result dcsr_bfs_result;

/* Computes the level of every vertex that can be reached from `source` along the entries of A, row -> column:
 * level[source] = 0, level[v] = 1 + the least level of a vertex with an edge to v, -1 for a vertex that is
 * not reached. Arguments, results and errors are those of dcsr_traverse() from one source, which also does
 * the search on a device, and on the cpu where rows have few entries. Else each level is a product
 * (dcsr/mxv.h), top-down, or, if the transpose exists (dcsr_matrix_options.maintain_transpose, or made by an
 * operation on this view) and it costs less, bottom-up (from the vertices not reached).
 *
 * Cost: O(rows + edges), on a device also O(rows / 32) per level. Scratch memory: up to 12 bytes per row and
 * 1/8 more for each thread; on a device as for dcsr_traverse(). */
DCSR_API dcsr_status dcsr_bfs(int32_t *level, dcsr_bfs_result *result, dcsr_view *A, uint64_t source);

#ifdef __cplusplus
}
#endif
#endif
