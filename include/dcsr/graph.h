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
 * on one view.
 *
 * Of a matrix on a device they run there, with the results that the cpu has, ranks and centralities up to rounding.
 * dcsr_sssp() with negative weights, and dcsr_strong_components() where paths of tens of thousands of edges would have
 * to be followed one by one, copy the matrix to the host, and compute there; the copy belongs to the view. Memory is
 * said for the cpu; docs/ALGORITHMS.md has that of a device.
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

/* Strongly connected components: of vertices that lead to each other. component[v] is the least vertex of v's
 * component. component or result may be NULL, not both.
 *
 * Tarjan's method (1972) in the form of Pearce (2016), without recursion, in one thread. Cost: O(n + m).
 * Memory: 25 n bytes. */
DCSR_API dcsr_status dcsr_strong_components(uint32_t *component, dcsr_components_result *result,
                                            dcsr_view *A);

/* ---- PageRank ---- */

typedef struct dcsr_pagerank_options {
    bool symmetric;     /* as dcsr_graph_options says */
    double damping;     /* from 0 to 1: the chance to follow an edge; 0: 0.85 */
    double tolerance;   /* ranks that changed by no more, in sum, are final; 0: 1e-6 */
    int max_iterations; /* 0: 100 */
    /* Where a walk goes on that follows no edge: a weight from 0 on for each vertex, of which one is above 0. NULL:
       all alike. */
    const double *personal;
    /* Leave out, in seven of eight iterations, vertices whose rank changed by no more than tolerance / n. */
    bool adaptive;
} dcsr_pagerank_options;

typedef struct dcsr_pagerank_result {
    int iterations;
    bool converged;    /* within max_iterations */
    double change;     /* of the last iteration: the sum of |change| over all ranks */
    uint64_t dangling; /* vertices without edges */
} dcsr_pagerank_result;

/* PageRank (Page, Brin, Motwani, Winograd 1999): the chance that a walk along edges at random, which starts anew with
 * chance 1 - damping at each step, is at a vertex; at a vertex without edges it starts anew always. The ranks add up
 * to 1. result may be NULL. An edge that is stored twice counts twice or once: give a view that shows none such. Not
 * converged is no error. Errors: also INVALID_ARGUMENT for a weight that is negative, infinite or NaN.
 *
 * Sums are pulled along the edges that lead to a vertex: the rows if options->symmetric, the columns of a CSC view,
 * else of a transpose that the call makes. `adaptive` follows Kamvar, Haveliwala, Golub 2004. Cost: O(n + m) per
 * iteration. Memory: 28 n bytes, and for a transpose 4 m + 8 n. */
DCSR_API dcsr_status dcsr_pagerank(double *rank, dcsr_pagerank_result *result, dcsr_view *A,
                                   const dcsr_pagerank_options *options);

/* ---- Betweenness ---- */

typedef struct dcsr_betweenness_options {
    bool symmetric; /* as dcsr_graph_options says */
    /* Paths from these vertices only; one that is given twice counts twice. NULL: from all, or a sample. */
    const uint64_t *sources;
    uint64_t source_count;
    /* Without sources: from so many vertices, drawn at random; what they give is multiplied by n / samples. 0, or as
       many as there are vertices: from all. */
    uint64_t samples;
    uint64_t seed;          /* of that sample */
    dcsr_progress progress; /* of sources, by the calling thread; NULL: nobody is told */
    void *user;
} dcsr_betweenness_options;

typedef struct dcsr_betweenness_result {
    uint64_t sources;   /* from how many vertices paths were looked for */
    uint64_t max_level; /* edges of the longest of the shortest paths */
} dcsr_betweenness_result;

/* centrality[v] is the sum over all pairs of other vertices of the part of the shortest paths from the first to the
 * second that pass v, where a path is as long as it has edges. In an undirected graph each pair counts in both
 * directions: halve it where once is wanted. result may be NULL. Each edge counts once, and loops do not.
 * Errors: also INDEX_OUT_OF_RANGE (the message tells which source).
 *
 * Brandes' method (2001) from 8 sources at a time, as products with matrices of 8 columns; numbers of paths may be of
 * any size. If not options->symmetric, edges are pulled from the columns of a CSC view, else of a transpose that the
 * call makes. Cost: O(sources (n + m)). Memory: 135 n bytes, less for fewer sources, 32 n more where there are more
 * than 2^500 paths; for a transpose 4 m + 8 n, and as much if rows do not ascend. */
DCSR_API dcsr_status dcsr_betweenness(double *centrality, dcsr_betweenness_result *result, dcsr_view *A,
                                      const dcsr_betweenness_options *options);

/* ---- Triangles ---- */

typedef struct dcsr_triangles_result {
    uint64_t triangles; /* each once */
} dcsr_triangles_result;

/* Three vertices with an edge, of any direction, between each two. triangles[v] is in how many v is. triangles or
 * result may be NULL, not both.
 *
 * Edges are kept by their ends of lower degree (Chiba, Nishizeki 1985; Latapy 2008), lists are intersected by bits.
 * If not options->symmetric, the edges of both directions are merged first. Cost: O(n + m sqrt m), mostly far less.
 * Memory: 20 n + 4 m bytes, n / 8 for each thread, and 8 n for each if triangles is not NULL; to merge 8 m more. */
DCSR_API dcsr_status dcsr_triangles(uint64_t *triangles, dcsr_triangles_result *result, dcsr_view *A,
                                    const dcsr_graph_options *options);

typedef struct dcsr_clustering_result {
    uint64_t triangles, pairs; /* pairs of neighbours, over all vertices */
    double transitivity;       /* 3 triangles / pairs */
    double mean;               /* of all coefficients */
} dcsr_clustering_result;

/* Local clustering coefficients (Watts, Strogatz 1998): which part of the pairs of a vertex's neighbours have an edge
 * themselves; 0 for a vertex with fewer than two. coefficient or result may be NULL, not both. All else as for
 * dcsr_triangles() of each vertex. */
DCSR_API dcsr_status dcsr_clustering(double *coefficient, dcsr_clustering_result *result, dcsr_view *A,
                                     const dcsr_graph_options *options);

/* ---- Shortest paths ---- */

typedef struct dcsr_sssp_options {
    double
        delta; /* the width of a bucket, above 0; 0: chosen by the weights. It has no influence on the result */
} dcsr_sssp_options;

typedef struct dcsr_sssp_result {
    uint64_t reached;    /* vertices, the source among them */
    double farthest;     /* the largest distance of these */
    bool negative_cycle; /* the source leads to a cycle whose weights add up to less than 0 */
    uint64_t on_cycle;   /* then a vertex on such a cycle */
} dcsr_sssp_result;

/* The least sum of weights over all paths from the source to each vertex: 0 for the source, infinity for a vertex that
 * it does not lead to, minus infinity for one that it leads to by way of a cycle of negative weight. Weights are the
 * values, as double: those of int64 and uint64 beyond 2^53 are rounded; an edge of a pattern-only matrix weighs 1.
 * Negative and infinite weights are allowed. An edge that is stored twice has both weights. result may be NULL.
 * Errors: also INVALID_ARGUMENT (a weight is NaN; delta).
 *
 * Without negative weights: delta-stepping (Meyer, Sanders 2003) with a near and a far pile (Davidson, Baxter, Garland,
 * Owens 2014), in parallel. Cost: O(n + m) for random weights, mostly. With them: Bellman and Ford's method with a
 * queue, in one thread: O(n m) at worst. Memory: 29 n bytes, with negative weights 33 n; if the type is not fp64 also
 * 8 m + 24 n. */
DCSR_API dcsr_status dcsr_sssp(double *distance, dcsr_sssp_result *result, dcsr_view *A, uint64_t source,
                               const dcsr_sssp_options *options);

/* ---- Cores ---- */

typedef struct dcsr_kcore_result {
    uint64_t largest;  /* core number, which is the degeneracy of the graph */
    uint64_t vertices; /* that have it */
} dcsr_kcore_result;

/* core[v] is the largest k for which v is in the k-core: the largest part of the graph of which each vertex has
 * edges, of any direction, to at least k others. core or result may be NULL, not both.
 *
 * Peeling (Seidman 1983; Matula, Beck 1983), level by level, in parallel where a level takes many vertices (Dasari,
 * Desh, Zubair 2014). If not options->symmetric, or rows do not ascend, the edges are merged and sorted first. Cost:
 * O(n + m). Memory: 20 n bytes; to merge 8 m more. */
DCSR_API dcsr_status dcsr_kcore(uint32_t *core, dcsr_kcore_result *result, dcsr_view *A,
                                const dcsr_graph_options *options);

/* ---- Trusses ---- */

typedef struct dcsr_ktruss_options {
    bool symmetric;         /* as dcsr_graph_options says */
    uint32_t k;             /* from 3 on: the k-truss alone; 0: of every k, the truss number of each edge */
    dcsr_progress progress; /* of edges that are taken away, by the calling thread; NULL: nobody is told */
    void *user;
} dcsr_ktruss_options;

typedef struct dcsr_ktruss_result {
    uint64_t edges;     /* of the k-truss, or of the graph, each once */
    uint64_t largest;   /* with k = 0: the largest truss number */
    uint64_t innermost; /* and how many edges have it */
} dcsr_ktruss_result;

/* The k-truss is the largest part of the graph of which each edge is in at least k - 2 triangles of it; edges count in
 * both directions, and loops do not. *truss becomes a new matrix of type uint32, n x n and symmetric, with an entry
 * both ways for each edge of the k-truss, whose value is the number of triangles there. With k = 0 all edges are in
 * it, and the value is the truss number of the edge: the largest k such that the k-truss has it, from 2 on. truss or
 * result may be NULL, not both. Errors: also TOO_LARGE (2^32 edges or more), INVALID_ARGUMENT (k is 1 or 2).
 *
 * Triangles are counted and then edges peeled in parallel, all those at once that are in the fewest triangles (Cohen
 * 2008; Kabir, Madduri 2017); for a k, only the (k-1)-core is looked at. The result is the same for any number of
 * threads. If not options->symmetric, or rows do not ascend, the edges are merged and sorted first. Cost: O(n + m
 * sqrt m log m) at worst; for a k, what the edges cost that are not in its truss, and counting. Memory: 21 m + 25 n
 * bytes, n / 8 for each thread, that of the result and 8 bytes an entry of it; to merge 8 m more. */
DCSR_API dcsr_status dcsr_ktruss(dcsr_matrix **truss, dcsr_ktruss_result *result, dcsr_view *A,
                                 const dcsr_ktruss_options *options);

/* ---- Independent sets, colours ---- */

typedef struct dcsr_random_options {
    bool symmetric; /* as dcsr_graph_options says */
    uint64_t seed;  /* of the order at random; the same seed gives the same result */
} dcsr_random_options;

typedef struct dcsr_independent_set_result {
    uint64_t vertices; /* in the set */
} dcsr_independent_set_result;

/* A maximal independent set: of two vertices with an edge between them, of any direction, at most one is a member, and
 * each vertex that is none has a neighbour that is one. It is the set that a walk over all vertices takes, in an order
 * at random. member or result may be NULL, not both.
 *
 * Luby's method (1986) with priorities that stay the same (Blelloch, Fineman, Shun 2012), in parallel. If not
 * options->symmetric, the edges of both directions are merged first. Cost: O(n + m), mostly. Memory: 5 n bytes; to
 * merge 8 m more. */
DCSR_API dcsr_status dcsr_independent_set(bool *member, dcsr_independent_set_result *result, dcsr_view *A,
                                          const dcsr_random_options *options);

typedef struct dcsr_colouring_result {
    uint64_t colours; /* that are used: 0 to colours - 1 */
} dcsr_colouring_result;

/* Colours for all vertices, different ones for two with an edge, of any direction, between them; loops do not count.
 * They are those of a walk that gives each vertex the least colour that no neighbour has yet: vertices of many edges
 * first, by powers of two, of as many in an order at random. There are at most as many as the largest number of
 * neighbours, and one more. colour or result may be NULL, not both.
 *
 * Jones and Plassmann's method (1993), in parallel, in the order of Hasenplaugh, Kaler, Schardl, Leiserson (2014). If
 * not options->symmetric, or rows do not ascend, the edges are merged and sorted first. Cost: O(n + m). Memory: 24 n
 * bytes, 4 for each edge of the longest row and each thread; to merge 8 m more. */
DCSR_API dcsr_status dcsr_colouring(uint32_t *colour, dcsr_colouring_result *result, dcsr_view *A,
                                    const dcsr_random_options *options);

#ifdef __cplusplus
}
#endif
#endif
