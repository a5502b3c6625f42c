/* follow.h: results that follow a matrix as it changes.
 *
 * A follower has what an algorithm of dcsr/graph.h or dcsr/bfs.h finds in one version of a matrix, and brings it to
 * another version by what differs between the two (dcsr/diff.h), in time that follows the change:
 *
 *      dcsr_follower *components;
 *      dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, 0);
 *      dcsr_follow_components(&components, view);
 *      dcsr_view_destroy(view);
 *      for (;;) {
 *          ...                                                     the matrix changes
 *          dcsr_view_create(&view, matrix, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_LATEST);
 *          dcsr_follower_advance(components, view, NULL);
 *          dcsr_follower_get_components(components, &found);       found.version is that of the view
 *          dcsr_view_destroy(view);
 *      }
 *      dcsr_follower_destroy(components);
 *
 * A result is what the algorithm would find in the same version, bit for bit; ranks are within their tolerance.
 *
 * What a follower holds. It shares the view that it has seen last (dcsr_view_share()): what the matrix has replaced
 * since is kept, and changes are not made in place meanwhile. And it has a copy of the graph in host memory, since the
 * matrix has no edges by the vertex to which they lead: 16 bytes a vertex and, for each pair of vertices with an edge
 * one way or both, 10 to 20 bytes; for shortest paths 42 to 84. All of it counts towards the context.
 *
 * Views of any layout and flags may be given, but a CSR view with arrays of its own does not know what has changed
 * (dcsr/diff.h): segments are best. A view of an earlier version than the last is followed as well, backwards. The
 * graph may become larger with the matrix. Matrices on a device are followed on the host: what has changed is copied
 * there, and all of it where a result is computed anew.
 *
 * Where a change is so large that computing anew costs less, that is done; the report says so. After an error in
 * dcsr_follower_advance() the follower is as it was, unless the change was being applied already: then it has no result
 * (its getters say so) until it is advanced again, and computes anew.
 *
 * Errors of the calls that make a follower: INVALID_ARGUMENT (NULL, an option out of range), DIMENSION_MISMATCH (not
 * square), INDEX_OUT_OF_RANGE (a source that is no vertex), OUT_OF_MEMORY, DEVICE, CONTEXT_DESTROYED. *follower is then
 * NULL. Their cost is that of the algorithm, and O(n + m) for the copy.
 *
 * Threads: one at a time may use a follower, as its getters bring what they lend up to date. A follower outlives its
 * matrix, which then changes no more.
 *
 * In costs n is the number of vertices and m that of edges; docs/ALGORITHMS.md has an example. */
#ifndef DCSR_FOLLOW_H
#define DCSR_FOLLOW_H

#include <dcsr/closure.h>
#include <dcsr/diff.h>
#include <dcsr/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dcsr_follower dcsr_follower;

/* Why a result was computed anew. */
typedef enum dcsr_follow_anew {
    DCSR_FOLLOW_KEPT = 0, /* it was not: it was brought up to date */
    DCSR_FOLLOW_LARGE,    /* a quarter of the entries, or more, differ */
    DCSR_FOLLOW_FAR,      /* the change reached so far that following it took longer */
    DCSR_FOLLOW_SMALLER,  /* the matrix has fewer rows than before */
    DCSR_FOLLOW_FAILED,   /* advancing had failed before */
    DCSR_FOLLOW_NEGATIVE, /* there is a negative weight */
    DCSR_FOLLOW_ANEW_COUNT
} dcsr_follow_anew;

/* In words ("the change is large"); NULL for what is none. The text is constant. */
DCSR_API const char *dcsr_follow_anew_name(dcsr_follow_anew anew);

/* What an advance was. */
typedef struct dcsr_follow_report {
    uint64_t from_version, version;
    uint64_t inserted, removed; /* entries */
    uint64_t changed; /* those with another value; 0 where none are read, as of all but shortest paths */
    uint64_t touched; /* vertices whose result was computed again, as often as that was done */
    dcsr_follow_anew anew;
} dcsr_follow_report;

/* Brings the follower to the version that the view shows. The view must be of the matrix that is followed; the caller
 * destroys it as ever. report may be NULL.
 * Errors: INVALID_ARGUMENT (NULL, a view of another matrix; for shortest paths a weight that is NaN),
 * DIMENSION_MISMATCH (no longer square), INDEX_OUT_OF_RANGE (the source is no longer a vertex), OUT_OF_MEMORY, DEVICE,
 * CONTEXT_DESTROYED.
 * Cost: that of dcsr_view_diff(), then for each entry that differs the edges of its two vertices are moved, O(their
 * number) at worst; and what each kind says below. */
DCSR_API dcsr_status dcsr_follower_advance(dcsr_follower *follower, dcsr_view *view,
                                           dcsr_follow_report *report);

/* NULL does nothing. */
DCSR_API void dcsr_follower_destroy(dcsr_follower *follower);

typedef struct dcsr_follower_info {
    const char *name; /* of what is followed: "components", "pagerank", ... */
    uint64_t version, vertices;
    uint64_t links; /* pairs of vertices with an edge one way or both, loops included; of ranks: edges */
    uint64_t bytes; /* of the follower; the view that it holds comes in addition */
} dcsr_follower_info;
DCSR_API dcsr_status dcsr_follower_get_info(const dcsr_follower *follower, dcsr_follower_info *info);

/* The getters below lend arrays of `vertices` elements until the follower is next advanced or destroyed. Errors:
 * INVALID_ARGUMENT (NULL, a follower of another kind, or one that has no result after a failure). */

/* ---- Components ---- */

/* Weakly connected components, as dcsr_components() finds them.
 *
 * Each component is spanned by a tree of edges. An edge that joins two components: the smaller one is searched, and
 * joined to the larger. An edge that is removed, and was of the tree: it is searched from both ends by turns, then from
 * the smaller side for another edge that leads out. Searches of half of all edges, in sum: computed anew. Memory: 21 n
 * bytes. */
DCSR_API dcsr_status dcsr_follow_components(dcsr_follower **follower, dcsr_view *view);

typedef struct dcsr_followed_components {
    uint64_t version, vertices;
    uint64_t components, largest, largest_name; /* as dcsr_components_result has them */
    const uint32_t *component;                  /* of each vertex: the least vertex of its component */
} dcsr_followed_components;
/* Cost: O(n). */
DCSR_API dcsr_status dcsr_follower_get_components(dcsr_follower *follower, dcsr_followed_components *found);
/* How many there are. Cost: O(1). */
DCSR_API dcsr_status dcsr_follower_get_component_count(const dcsr_follower *follower, uint64_t *components);

/* ---- Triangles ---- */

/* Triangles, as dcsr_triangles() finds them: changes are applied one after the other, and each pair of vertices that
 * gets its first or loses its last edge has its common neighbours looked for: those of the vertex with fewer of them
 * in the sorted list of the other, block by block. Memory: 8 n bytes. */
DCSR_API dcsr_status dcsr_follow_triangles(dcsr_follower **follower, dcsr_view *view);

typedef struct dcsr_followed_triangles {
    uint64_t version, vertices;
    uint64_t triangles;        /* each once */
    const uint64_t *of_vertex; /* in how many each vertex is */
} dcsr_followed_triangles;
/* Cost: O(1). */
DCSR_API dcsr_status dcsr_follower_get_triangles(dcsr_follower *follower, dcsr_followed_triangles *found);

/* ---- Paths ---- */

/* Levels from a source, as dcsr_bfs() finds them, and distances, as dcsr_sssp() finds them.
 *
 * Each vertex that is reached knows the one through which it is. What loses that looks, by ascending distance, for
 * another that is as near; if there is none, it and all that depends on it are trimmed, and get their distances from
 * what is left, together with what new edges bring nearer (G. Ramalingam, T. Reps 1996). The order is that of buckets
 * of distances: a vertex is looked at again only where it comes nearer within its bucket. Memory: 24 n bytes for
 * levels, 28 n for distances, and what waits.
 *
 * While there is a negative weight, distances are computed anew by dcsr_sssp() each time. Of a matrix with
 * DCSR_POLICY_KEEP, in which one position has several weights, distances cannot be followed: INVALID_ARGUMENT; so it is
 * for a view in which duplicates are not combined (DCSR_VIEW_DUPLICATES), when distances are computed anew from it. */
DCSR_API dcsr_status dcsr_follow_bfs(dcsr_follower **follower, dcsr_view *view, uint64_t source);
DCSR_API dcsr_status dcsr_follow_sssp(dcsr_follower **follower, dcsr_view *view, uint64_t source);

typedef struct dcsr_followed_levels {
    uint64_t version, vertices, source;
    uint64_t reached, max_level;
    const int32_t *level; /* -1: not reached */
} dcsr_followed_levels;
/* Cost: O(n). */
DCSR_API dcsr_status dcsr_follower_get_levels(dcsr_follower *follower, dcsr_followed_levels *found);

typedef struct dcsr_followed_distances {
    uint64_t version, vertices, source;
    dcsr_sssp_result result;
    const double *distance;
} dcsr_followed_distances;
/* Cost: O(n). */
DCSR_API dcsr_status dcsr_follower_get_distances(dcsr_follower *follower, dcsr_followed_distances *found);

/* ---- PageRank ---- */

/* PageRank, as dcsr_pagerank() finds it; of the options `symmetric`, `adaptive` and max_iterations say nothing here.
 * options may be NULL; personal is copied, and vertices that come later have weight 0 there.
 *
 * Up to a factor, ranks solve x = p + damping * (x handed along edges). Each vertex has the residual of its equation,
 * and all of them are no more than `tolerance` of all ranks in sum, after any number of advances: what rounding may
 * have added is counted in, and residuals are computed again before it is half of that. So ranks differ from the exact
 * ones by no more than 2 tolerance / (1 - damping), in sum; those of dcsr_pagerank() by as much. A tolerance that
 * rounding does not let be reached, below 1e-13 or so, is missed by what rounding adds. Damping 1 is refused.
 *
 * An edge that comes or goes makes residuals at its two ends alone, O(1) (H. Zhang, P. Lofgren, A. Goel 2016). A
 * residual moves the rank of its vertex and goes on along that one's edges; those that are largest for their number of
 * edges go first, until the sum is small enough (N. Ohsaka, T. Maehara, K. Kawarabayashi 2015); more than the residual
 * is pushed where that takes several sweeps. Vertices with residuals too small to matter are not visited. Where edges
 * handed along are 32 times all there are: computed anew. The copy of the graph has each edge at the vertex alone from
 * which it leads, 5 to 10 bytes. Memory besides: 37 n bytes. */
DCSR_API dcsr_status dcsr_follow_pagerank(dcsr_follower **follower, dcsr_view *view,
                                          const dcsr_pagerank_options *options);

typedef struct dcsr_followed_ranks {
    uint64_t version, vertices;
    double residual; /* |residuals| in sum, in proportion to that of ranks: at most the tolerance */
    const double *rank;
} dcsr_followed_ranks;
/* Cost: O(n). */
DCSR_API dcsr_status dcsr_follower_get_ranks(dcsr_follower *follower, dcsr_followed_ranks *found);

/* ---- Cores ---- */

/* Core numbers, as dcsr_kcore() finds them: each change of an edge changes core numbers by one at most, and only those
 * of vertices that have the lesser core number of its two ends. Vertices are kept in an order in which they may be
 * peeled off, which tells for most edges that nothing changes, O(1); else those behind the edge in the order are looked
 * at, as far as their neighbours may rise (Y. Zhang, J. Yu, Y. Zhang, L. Qin 2017; B. Guo, E. Sekerinski 2022), or what
 * has too few neighbours falls (A. Sariyuce, B. Gedik, G. Jacques-Silva, K. Wu, U. Catalyurek 2013). As many links
 * looked at as there are: computed anew. Memory: 53 n bytes. */
DCSR_API dcsr_status dcsr_follow_kcore(dcsr_follower **follower, dcsr_view *view);

typedef struct dcsr_followed_cores {
    uint64_t version, vertices;
    dcsr_kcore_result result;
    const uint32_t *core;
} dcsr_followed_cores;
/* Cost: O(n). */
DCSR_API dcsr_status dcsr_follower_get_cores(dcsr_follower *follower, dcsr_followed_cores *found);

/* ---- Closure ---- */

/* The transitive closure, as dcsr_closure() finds it, in rows of bits: n * n / 8 bytes. Where these are beyond
 * options->memory_limit (0: the machine's memory) the call is refused, and so is an advance to a matrix that has become
 * too large: OUT_OF_MEMORY, and the message says how much it would be. options may be NULL.
 *
 * An edge u -> v that comes: rows that have u, but not v, get what v reaches: a look at each row, and n / 64 words for
 * each that changes. Edges that go: where a search along 2000 edges finds no other way between the ends of one, rows
 * that have its vertex are computed again from the edges of their vertices, O(edges * n / 64); the report's `touched`
 * says how many rows were. As many rows added to as there
 * are edges, in sum: computed anew. Memory besides: 29 n bytes, and edges as for PageRank. */
DCSR_API dcsr_status dcsr_follow_closure(dcsr_follower **follower, dcsr_view *view,
                                         const dcsr_closure_options *options);

typedef struct dcsr_followed_closure {
    uint64_t version, vertices;
    uint64_t pairs;          /* entries of the closure */
    uint64_t most;           /* the largest of: */
    const uint32_t *reached; /* how many vertices each reaches */
} dcsr_followed_closure;
/* Cost: O(n). */
DCSR_API dcsr_status dcsr_follower_get_closure(const dcsr_follower *follower, dcsr_followed_closure *found);

/* What a vertex reaches: v, if bits[v / 64] >> v % 64 & 1. */
typedef struct dcsr_followed_row {
    uint64_t version, vertices;
    uint64_t reached;
    const uint64_t *bits; /* (vertices + 63) / 64 */
} dcsr_followed_row;
/* Errors: INDEX_OUT_OF_RANGE (`from` is no vertex). Cost: O(1). */
DCSR_API dcsr_status dcsr_follower_get_closure_row(const dcsr_follower *follower, uint64_t from,
                                                   dcsr_followed_row *found);

/* ---- By name ---- */

/* The name of what the followers of a kind follow, as dcsr_follower_info has it, by number from 0 on; NULL beyond the
 * last. The text is constant. */
DCSR_API const char *dcsr_follow_name(uint64_t kind);

/* Makes a follower by that name, with default options. Only levels and distances have a source. Errors besides:
 * INVALID_ARGUMENT (no such name). */
DCSR_API dcsr_status dcsr_follow_named(dcsr_follower **follower, const char *name, dcsr_view *view,
                                       uint64_t source);

#ifdef __cplusplus
}
#endif
#endif
