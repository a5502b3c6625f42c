/* graph.h: graph algorithms over a view. Breadth-first search is in dcsr/bfs.h.
 *
 * The graph has a vertex for each row of a square view and an edge u -> v for each entry (u, v). Where nothing else
 * is said, values are not read (a stored zero is an edge), loops and repeated edges change nothing, and views of any
 * layout, any type and with DCSR_VIEW_DUPLICATES may be given. CSR views are read in place; of others, rows in
 * several segments are copied first.
 *
 * Results go to arrays of the caller's in host memory, one element per vertex, and to a structure of numbers; either
 * may be NULL where that is said. After an error both are as they were. Options may be NULL: all zero, which is
 * the default of each. Results do not depend on the number of threads, bit for bit. Any number of threads may work
 * on one view. Matrices on a device are copied to the host, and computed there; the copy belongs to the view.
 *
 * Errors of all: INVALID_ARGUMENT (NULL, an option out of range), DIMENSION_MISMATCH (not square),
 * INDEX_OUT_OF_RANGE (a source that is no vertex), OUT_OF_MEMORY, DEVICE, CONTEXT_DESTROYED.
 *
 * In costs n is the number of vertices and m that of edges. docs/ALGORITHMS.md has an example of each. */
#ifndef DCSR_GRAPH_H
#define DCSR_GRAPH_H

#include <dcsr/view.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the caller knows of the graph. */
typedef struct dcsr_graph_options {
    /* With each edge u -> v there is v -> u. Algorithms that take edges in both directions need not look for the
       other one then. If it is not so, results are wrong, but nothing else is. */
    bool symmetric;
} dcsr_graph_options;

/* ---- Components ---- */

typedef struct dcsr_components_result {
    uint64_t components;
    uint64_t largest;      /* vertices of the largest component */
    uint64_t largest_name; /* its name; of several the least */
} dcsr_components_result;

/* Weakly connected components: vertices that are connected when each edge may be walked both ways. component[v] is
 * the least vertex of v's component. component or result may be NULL, not both.
 *
 * Afforest (Sutton, Ben-Nun, Barak 2018): trees of vertices are linked for two edges of each vertex; then those in
 * the component that most vertices are in by now have their other edges skipped, where edges can be told from both
 * sides: if options->symmetric, or of a CSC view. Cost: O(n + m), less where edges are skipped. Memory: 4 n bytes. */
DCSR_API dcsr_status dcsr_components(uint32_t *component, dcsr_components_result *result, dcsr_view *A,
                                     const dcsr_graph_options *options);

#ifdef __cplusplus
}
#endif
#endif
