/* closure.h: transitive closure, single questions about it, keeping it up, and the same generation.
 *
 *      closure(A) has (i, j) where a path of one or more entries of A, row -> column, leads from i to j
 *
 * So (i, i) is there only where i lies on a cycle or has a loop. Values are not read: a stored zero is an edge,
 * and one that is stored twice counts once.
 *
 * How. Strongly connected components are condensed first (Tarjan 1972), as all vertices of one reach the same.
 * What is left has no cycles; its components are gone through in topological order, for 512 columns at a time:
 * a component has 64 bytes, in which each bit says whether it reaches a column, and hands them to those that
 * have an edge to it. Only components that reach one of the columns are touched. So memory is 64 bytes a
 * component for each thread, however many pairs there are, and threads take different columns.
 *
 *      for each block of 512 columns       work: (components that reach the block) x (edges into them) x 64 bytes
 *
 * Matrices of cuda contexts are copied to the host and worked on there, and results are copied back.
 *
 * Threads: the calls only read their views, of which any number of threads may read one. Results are the same
 * whatever the number of threads. */
#ifndef DCSR_CLOSURE_H
#define DCSR_CLOSURE_H

#include <dcsr/view.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Told while a call computes: it has done so many of `total` steps (blocks of columns, which are gone through twice for
 * a matrix), or rounds, of which nobody knows how many there will be: then total is 0; and has found so many pairs.
 * Called by one thread at a time, which need not be the caller's; it must not call the library. */
typedef void (*dcsr_closure_progress)(void *user, uint64_t done, uint64_t total, uint64_t pairs);

/* Zero-initialise, then set what should differ from the default. */
typedef struct dcsr_closure_options {
    /* Bytes that the call may take, its result included; it is known before they are taken, and the call then
       refused: OUT_OF_MEMORY, and the message says how much it would be. 0: the machine's memory. The limit of
       the context holds besides. */
    uint64_t memory_limit;
    dcsr_closure_progress progress; /* NULL: nobody is told */
    void *user;
} dcsr_closure_options;

typedef struct dcsr_closure_result {
    uint64_t pairs;      /* entries of the closure */
    uint64_t components; /* strongly connected ones, single vertices included; 0 where none are looked for */
    uint64_t iterations; /* blocks of columns that were gone through; for relations that grow, rounds */
    uint64_t bytes;      /* the most memory that the call took, the result included */
} dcsr_closure_result;

/* Computes the closure of A, whose view must be of a square matrix, of any layout and type
 * (DCSR_VIEW_DUPLICATES saves resolving rows). *closure becomes a pattern-only matrix of the caller's in the
 * same context, with contiguous rows of ascending columns; NULL on failure. If `closure` is NULL the pairs are
 * only counted, which takes no memory for them. result and options may be NULL.
 * Errors: INVALID_ARGUMENT (A is NULL, or there is nowhere to put anything), DIMENSION_MISMATCH (not square),
 * OUT_OF_MEMORY (memory_limit, the context's limit, the machine: count only, or raise the limit),
 * CONTEXT_DESTROYED.
 * Memory: up to 50 bytes a row, 28 an entry of A while it is read and 8 then, 64 a component for each thread
 * (fewer threads are used where that is too much); for a matrix 16 more for each component and thread, and 8 a
 * pair, 4 of which stay in it.
 * Cost: O(rows + entries) and, for each block of 512 columns, what its columns are reached by. */
DCSR_API dcsr_status dcsr_closure(dcsr_matrix **closure, dcsr_closure_result *result, dcsr_view *A,
                                  const dcsr_closure_options *options);

/* Answers n questions without a closure: reached[k] tells whether a path of one or more edges leads from
 * from[k] to to[k]. Costs what dcsr_closure() does for as many columns as there are different targets, and 16
 * bytes a question. Errors: as dcsr_closure(); INDEX_OUT_OF_RANGE names the first vertex that is none. After
 * an error nothing is written. */
DCSR_API dcsr_status dcsr_closure_reaches(bool *reached, dcsr_view *A, uint64_t n, const uint64_t *from,
                                          const uint64_t *to, const dcsr_closure_options *options);

/* Keeps a closure up when n edges (rows[k], cols[k]) are added to the graph: inserts the pairs that are new
 * into `closure`, a pattern-only matrix that dcsr_closure() has made, or this call has kept up, and waits for
 * that. *added (may be NULL) gets their number. Edges are taken 512 at a time. Pairs come from the difference
 * alone (semi-naive): a new path goes through a new edge, so what the new edges' sources newly reach is
 * computed, and added to the rows that reach a source.
 * Edges can only be added: when one is removed, compute the closure anew. While the call runs nobody else may
 * change `closure`. After an error it holds what a whole number of the blocks of edges adds; the same call may
 * be made again.
 * Errors: INVALID_ARGUMENT (NULL, DCSR_POLICY_KEEP), DIMENSION_MISMATCH (not square), TYPE_MISMATCH (not pattern-only),
 * INDEX_OUT_OF_RANGE (nothing is changed), OUT_OF_MEMORY.
 * Cost, for each 512 edges: a product of the closure with a vector, which reads it once at most, the rows that
 * change, and rows / 64 words for each of these. Memory: rows / 8 bytes for each of the edges' sources and 16
 * for each new pair. Where a batch has thousands of edges, computing anew is often faster. */
DCSR_API dcsr_status dcsr_closure_update(dcsr_matrix *closure, uint64_t *added, uint64_t n,
                                         const uint64_t *rows, const uint64_t *cols,
                                         const dcsr_closure_options *options);

/* Computes who is of one generation, where entries lead from parent to child:
 *
 *      sg(x, y) :- edge(p, x), edge(p, y), x != y.
 *      sg(x, y) :- edge(a, x), sg(a, b), edge(b, y).
 *
 * (x, x) is there if x has two parents of one generation. Arguments, results and errors are those of
 * dcsr_closure(). Semi-naive, by one thread: what is new in a row is handed to the rows of children, then each
 * new column replaced by its children; from one of 32 possible pairs on, where memory allows, with rows of bits,
 * by all threads. Cost: O(pairs x (parents + children of a vertex)); then, for each round, O(edges x rows / 64).
 * Memory: about 30 bytes a pair; then half a byte for each of rows x rows. */
DCSR_API dcsr_status dcsr_same_generation(dcsr_matrix **pairs, dcsr_closure_result *result, dcsr_view *A,
                                          const dcsr_closure_options *options);

#ifdef __cplusplus
}
#endif
#endif
