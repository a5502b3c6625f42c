/* bfs.h: breadth-first search. */
#ifndef DCSR_BFS_H
#define DCSR_BFS_H

#include <dcsr/graph.h>
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
 * Cost: O(rows + edges). Scratch memory: up to 12 bytes per row and 1/8 more for each thread; both on a device as for
 * dcsr_traverse(). */
DCSR_API dcsr_status dcsr_bfs(int32_t *level, dcsr_bfs_result *result, dcsr_view *A, uint64_t source);

/* Breadth-first search from many vertices at once: level[k * n + v] is what dcsr_bfs() from sources[k] gives vertex
 * v, and results[k] its result, where n is the number of rows. level (count * n elements, in host memory) or results
 * (count) may be NULL, not both; results[k].level_sum / results[k].reached is the mean distance from a source. A source
 * may be given several times. The view may be of any layout, as for dcsr_bfs(). After INVALID_ARGUMENT,
 * DIMENSION_MISMATCH and INDEX_OUT_OF_RANGE (the message tells which source) both are as they were.
 *
 * 64 searches go side by side, a bit each in a word of every vertex (Then et al. 2015): a level is a product with a
 * Boolean matrix of 64 columns, and an edge is looked at for all at once that pass it on the same level. Levels with
 * many edges are pulled if edges can be told from both sides: if options->symmetric, or of a CSC view. The result is
 * deterministic. Errors: as dcsr_bfs(). Cost: O(count (n + edges)) at worst, mostly far less. Memory: 32 n bytes. */
DCSR_API dcsr_status dcsr_bfs_many(int32_t *level, dcsr_bfs_result *results, dcsr_view *A, uint64_t count,
                                   const uint64_t *sources, const dcsr_graph_options *options);

/* In place of a vertex: there is none. */
#define DCSR_NO_VERTEX UINT32_MAX

/* The tree of a search: parent[v] is the least vertex with an edge to v that is one level above it, and DCSR_NO_VERTEX
 * for a source and for a vertex that was not reached. level is what dcsr_bfs() or dcsr_traverse() has given for this
 * view, in host memory, as parent is; both have one element per row. After an error parent is as it was. Of a CSC
 * view each vertex looks for its parent, and stops at the first; else the edges of all vertices that were reached are
 * looked at, on a device always. Errors: as dcsr_bfs(), and INVALID_ARGUMENT if a vertex has a level, but no edge from
 * the one above. Cost: O(n + edges), where n is the number of rows. Memory: 4 n bytes. */
DCSR_API dcsr_status dcsr_bfs_parents(uint32_t *parent, const int32_t *level, dcsr_view *A);

#ifdef __cplusplus
}
#endif
#endif
