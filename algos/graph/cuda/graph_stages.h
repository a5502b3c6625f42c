/* graph_stages.h: what the algorithms on a GPU share, and their steps (internal; for C and for kernels).
 *
 * X_cuda.c takes memory and has the order of steps, X.cu has the kernels. A step puts its work on the stream. */
#ifndef DCSR_GRAPH_STAGES_H
#define DCSR_GRAPH_STAGES_H

#include "dcsr/base/cuda.h"
#include "dcsr/store/cuda/gather_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- graph_cuda.c ---- */

#ifndef __cplusplus
#include "algos/graph/cuda/graph_cuda.h"

/* Memory on the device until the end, not zeroed. NULL on failure, which e->status tells, and after one. */
void *dcsr_i_graph_take(dcsr_i_edges *e, uint64_t count, size_t size);
/* A few numbers that kernels have written. */
dcsr_status dcsr_i_graph_read(dcsr_i_edges *e, void *to, const void *from, size_t bytes);
/* Copies a result to the caller's array, which may be anywhere. */
dcsr_status dcsr_i_graph_give(dcsr_i_edges *e, void *to, const void *from, size_t bytes);
/* The edges as kernels see them. */
dcsr_i_cuda_rows dcsr_i_graph_rows(const dcsr_i_edges *e);

/* The algorithms, one in each X_cuda.c: see dcsr_i_graph_engine. */
dcsr_status dcsr_i_graph_components(uint32_t *component, dcsr_components_result *result, dcsr_view *A,
                                    const dcsr_graph_options *options);
bool dcsr_i_graph_strong_components(dcsr_i_edges *e, const dcsr_i_edges *in, uint32_t *component,
                                    dcsr_components_result *result);
dcsr_status dcsr_i_graph_pagerank(double *rank, dcsr_pagerank_result *result, dcsr_view *A,
                                  const dcsr_pagerank_options *options);
dcsr_status dcsr_i_graph_sssp(double *distance, dcsr_sssp_result *result, dcsr_view *A, uint64_t source,
                              double delta, bool *negative);
void dcsr_i_graph_bfs_many(dcsr_i_edges *e, int32_t *level, dcsr_bfs_result *results, uint64_t count,
                           const uint64_t *sources);
void dcsr_i_graph_bfs_parents(dcsr_i_edges *e, uint32_t *parent, const int32_t *level, bool columns,
                              uint32_t *orphan, int32_t *its_level);
void dcsr_i_graph_betweenness(dcsr_i_edges *e, const dcsr_i_edges *in, double *centrality,
                              dcsr_betweenness_result *found, const uint64_t *sources, double scale,
                              const dcsr_betweenness_options *options);
void dcsr_i_graph_independent_set(dcsr_i_edges *e, bool *member, uint64_t seed, uint64_t *members);
void dcsr_i_graph_colouring(dcsr_i_edges *e, uint32_t *colour, uint64_t seed, uint64_t *colours);
dcsr_status dcsr_i_graph_kcore(uint32_t *core, dcsr_kcore_result *result, dcsr_view *A,
                               const dcsr_graph_options *options);
void dcsr_i_graph_ktruss(dcsr_i_edges *e, dcsr_matrix **truss, dcsr_ktruss_result *result,
                         const dcsr_ktruss_options *options);
dcsr_status dcsr_i_graph_triangles(uint64_t *count, dcsr_i_edges *e, uint64_t *own, uint32_t *degree);
#endif

/* ---- list_walk.cuh ---- */

/* Edges beyond which a row is shared by several blocks. */
#ifdef DCSR_SIMT
enum { DCSR_GRAPH_LONG = 40 };
#else
enum { DCSR_GRAPH_LONG = 1024 };
#endif

/* What a step finds: vertices for the next list; parts of long rows; steps that the first block has gone on alone, for
 * each of which lists are exchanged. */
typedef struct dcsr_i_graph_found {
    unsigned int now, parts, alone;
} dcsr_i_graph_found;

/* Room for the parts of long rows, given the edges of all: a row of more than LONG edges has at most 2 edges / LONG. */
#define DCSR_GRAPH_PARTS(edges) (2 * ((edges) / DCSR_GRAPH_LONG))

/* ---- graph.cu ---- */

/* *wrong becomes 1 if a row does not ascend strictly, else 0. */
void dcsr_i_graph_look_for_descents(dcsr_i_cuda_stream *stream, dcsr_i_cuda_rows edges, uint32_t *wrong);

/* ---- components.cu ---- */

typedef struct dcsr_i_graph_sizes {
    unsigned long long components;
    unsigned long long
        largest; /* its size in the upper half, in the lower one what its name is less than 2^32 - 1 */
} dcsr_i_graph_sizes;

/* Every vertex its own parent. */
void dcsr_i_graph_plant(dcsr_i_cuda_stream *stream, uint32_t *parent, uint64_t n);
/* Links the round-th edge of each vertex, of which the rows are from number `first` on. */
void dcsr_i_graph_link_round(dcsr_i_cuda_stream *stream, uint32_t *parent, dcsr_i_cuda_rows edges,
                             uint64_t first, uint64_t round);
/* Links all edges of a walk over all rows, except those of vertices below *skip (NULL: none). */
void dcsr_i_graph_link(dcsr_i_cuda_stream *stream, uint32_t *parent, const dcsr_i_cuda_walk *edges,
                       uint64_t first, const uint32_t *skip);
/* Brings the trees together that other trees of the same vertices connect. */
void dcsr_i_graph_join_trees(dcsr_i_cuda_stream *stream, uint32_t *parent, const uint32_t *other, uint64_t n);
/* Hangs every vertex below its root. */
void dcsr_i_graph_flatten(dcsr_i_cuda_stream *stream, uint32_t *parent, uint64_t n);
/* *root: the one that most of a sample of vertices have. */
void dcsr_i_graph_sample(dcsr_i_cuda_stream *stream, const uint32_t *parent, uint64_t n, uint32_t *root);
/* size: of n, zeros. *sizes too. frequent: a root that many vertices have. */
void dcsr_i_graph_measure(dcsr_i_cuda_stream *stream, const uint32_t *parent, uint64_t n, uint32_t *size,
                          const uint32_t *frequent, dcsr_i_graph_sizes *sizes);

/* ---- strong.cu ---- */

/* ROUNDS: that are launched before the host looks; even, so that lists end as they began. STEPS: along paths, in all;
 * where there are more the cpu is faster. */
enum { DCSR_GRAPH_ROUNDS = 8, DCSR_GRAPH_STEPS = 1 << 15 };
#define DCSR_GRAPH_MOST_LABELS 4000000000u /* all labels of fewer vertices are less than 2^32 - 1 */

typedef struct dcsr_i_graph_strong_counts {
    dcsr_i_graph_found step[3];               /* which take turns */
    unsigned int arrived;                     /* see dcsr_i_cuda_meet() */
    unsigned int begun;                       /* vertices on the first list */
    unsigned int steps;                       /* so far */
    unsigned int left[DCSR_GRAPH_ROUNDS + 1]; /* before each round, and after the last */
    unsigned long long pivot;                 /* edges of a vertex, and below its label */
} dcsr_i_graph_strong_counts;

typedef struct dcsr_i_graph_strong {
    dcsr_i_cuda_rows out, in;
    uint32_t *component;         /* the label that its vertices share; UINT32_MAX: it is left */
    uint32_t *label, *mark;      /* mark: the last step in which it was listed, from 1 on */
    uint32_t *left[2], *list[2]; /* what is left, before and after a round of trimming; what a step visits */
    uint64_t *part;              /* of long rows */
    dcsr_i_graph_strong_counts *counts;
} dcsr_i_graph_strong;

/* Trims what is left (at most so much); `all`: to begin with. */
void dcsr_i_graph_trim(dcsr_i_cuda_stream *stream, const dcsr_i_graph_strong *strong, uint64_t left,
                       bool all);
/* Takes components away; `one`: a large one. */
void dcsr_i_graph_take_strong(dcsr_i_cuda_stream *stream, const dcsr_i_graph_strong *strong, uint64_t left,
                              bool one);
/* Names components after their least vertices. */
void dcsr_i_graph_name_strong(dcsr_i_cuda_stream *stream, const dcsr_i_graph_strong *strong);

/* ---- pagerank.cu ---- */

enum { DCSR_GRAPH_BLOCKS = 1024 }; /* that sum up */

/* What an iteration sums up. */
typedef struct dcsr_i_graph_sums {
    double change, lost;
} dcsr_i_graph_sums;

/* How far the iterations are. */
typedef struct dcsr_i_graph_iteration {
    dcsr_i_graph_sums sums; /* of the last one */
    unsigned long long dangling;
    uint32_t hubs; /* vertices with many edges that lead to them */
    uint32_t count;
    uint32_t all;  /* the next one is over all vertices, also those that have settled */
    uint32_t done; /* there is no next one */
} dcsr_i_graph_iteration;

typedef struct dcsr_i_graph_walk {
    dcsr_i_cuda_rows in;
    double damping, tolerance;
    uint32_t adaptive;
    uint32_t most, full;    /* iterations; after how many one goes over all vertices */
    const double *portions; /* NULL: all alike */
    double *rank, *handed[2];
    uint32_t *degree;
    unsigned char *settled;
    uint32_t *hub;            /* their numbers */
    double *pulled;           /* by vertex, of hubs alone */
    dcsr_i_graph_sums *block; /* of each block */
    dcsr_i_graph_iteration *now;
} dcsr_i_graph_walk;

/* Out-degrees: the lengths of the rows of a view, or how often a vertex is among the edges. */
void dcsr_i_graph_degrees_of_rows(dcsr_i_cuda_stream *stream, const dcsr_i_graph_walk *walk,
                                  dcsr_i_cuda_rows out);
void dcsr_i_graph_degrees_of_ends(dcsr_i_cuda_stream *stream, const dcsr_i_graph_walk *walk);
/* Ranks to begin with, and which vertices are hubs. */
void dcsr_i_graph_begin_walk(dcsr_i_cuda_stream *stream, const dcsr_i_graph_walk *walk);
/* One iteration, unless all are done; the caller knows how many hubs there are. */
void dcsr_i_graph_step(dcsr_i_cuda_stream *stream, const dcsr_i_graph_walk *walk, uint32_t hubs);

/* ---- kcore.cu ---- */

/* What a level finds: vertices that are left; the complement of the least degree; how many have that. */
typedef struct dcsr_i_graph_level {
    unsigned int left, least, now;
} dcsr_i_graph_level;

typedef struct dcsr_i_graph_peel_counts {
    dcsr_i_graph_level level[3]; /* which take turns */
    dcsr_i_graph_found step[3];  /* likewise */
    unsigned int arrived;        /* see dcsr_i_cuda_meet() */
    /* At the end. */
    unsigned int largest, vertices;
} dcsr_i_graph_peel_counts;

typedef struct dcsr_i_graph_peeling {
    dcsr_i_cuda_rows edges;
    int32_t *degree; /* edges to what is left; of what is gone, at most the level */
    uint32_t *core, *left[2], *now[2];
    uint64_t *part; /* of long rows */
    dcsr_i_graph_peel_counts *counts;
} dcsr_i_graph_peeling;

void dcsr_i_graph_peel(dcsr_i_cuda_stream *stream, const dcsr_i_graph_peeling *peeling);

/* ---- bfs_many.cu ---- */

enum { DCSR_GRAPH_MANY = 64 }; /* sources at a time */

typedef struct dcsr_i_graph_many_result {
    unsigned long long reached, edges, level_sum;
    unsigned int max_level;
} dcsr_i_graph_many_result;

typedef struct dcsr_i_graph_many_counts {
    dcsr_i_graph_found found[3]; /* levels take turns */
    unsigned int begun;          /* sources, each once */
    unsigned int arrived;        /* see dcsr_i_cuda_meet() */
    dcsr_i_graph_many_result result[DCSR_GRAPH_MANY];
} dcsr_i_graph_many_counts;

typedef struct dcsr_i_graph_many {
    dcsr_i_cuda_rows edges;
    unsigned long long *seen, *visit, *next; /* by vertex a bit for each source */
    uint32_t *list[2];                       /* the frontier, and the next one */
    uint64_t *part;                          /* of long rows */
    int32_t *level;                          /* by source and vertex; NULL if nobody asks */
    dcsr_i_graph_many_counts *counts;
    uint32_t source[DCSR_GRAPH_MANY];
} dcsr_i_graph_many;

/* Searches from the first `count` of the sources. */
void dcsr_i_graph_search_many(dcsr_i_cuda_stream *stream, const dcsr_i_graph_many *many, uint64_t count);

/* parent[v]: the least vertex with an edge to v that is one level above, else UINT32_MAX. *orphan: the first vertex
 * that has a level and no parent; UINT32_MAX: there is none. columns: the edges are those that lead to a vertex. */
void dcsr_i_graph_find_parents(dcsr_i_cuda_stream *stream, dcsr_i_cuda_rows edges, bool columns,
                               const int32_t *level, uint32_t *parent, uint32_t *orphan);

/* ---- betweenness.cu ---- */

enum { DCSR_GRAPH_BETWEEN = 8 }; /* sources at a time */

/* What a step finds: vertices of the next level; parts of long rows; vertices that long rows lead to. */
typedef struct dcsr_i_graph_between_found {
    unsigned int now, parts, is_long;
} dcsr_i_graph_between_found;

/* How far a search is: level `depth`, and where in the list levels depth - 2 to depth + 1 begin. */
typedef struct dcsr_i_graph_between_level {
    uint64_t begin[4];
    uint32_t depth, large; /* large: there are powers */
} dcsr_i_graph_between_level;

typedef struct dcsr_i_graph_between_counts {
    dcsr_i_graph_between_found found[3]; /* which take turns */
    unsigned int arrived[2];             /* see dcsr_i_cuda_meet(); down, up */
    unsigned int up[3];                  /* vertices with long rows, on the way up; they take turns */
    unsigned int begun;                  /* sources, each once */
    unsigned int large;
    dcsr_i_graph_between_level told; /* by the first block, when it has gone on alone */
    unsigned int levels;             /* of this search */
    unsigned int most_levels;        /* of all searches */
} dcsr_i_graph_between_counts;

typedef struct dcsr_i_graph_between {
    dcsr_i_cuda_rows out, in;
    uint32_t width; /* of a row: 1, 2, 4 or 8 */
    uint32_t count;
    uint32_t source[DCSR_GRAPH_BETWEEN];
    uint32_t *bits[4], *seen; /* by vertex a bit for each source: of four levels; of all so far */
    double *paths;            /* rows; on the way up, once a level is known, (1 + dependence) / paths */
    uint32_t *power;          /* rows */
    /* The levels one after the other: each vertex with the sources for which it is there; level d from begin[d] on. */
    uint32_t *vertex;
    unsigned char *listed;
    uint64_t *begin;
    uint64_t *part, *is_long; /* of long rows; places in the list of those with many edges */
    double *centrality;
    dcsr_i_graph_between_counts *counts;
} dcsr_i_graph_between;

/* Adds what depends on each vertex, for the first `count` of the sources. */
void dcsr_i_graph_search_between(dcsr_i_cuda_stream *stream, const dcsr_i_graph_between *between);
void dcsr_i_graph_scale(dcsr_i_cuda_stream *stream, double *x, double scale, uint64_t n);

/* ---- greedy.cu ---- */

typedef struct dcsr_i_graph_choice {
    dcsr_i_cuda_rows edges;
    uint64_t seed; /* mixed */
    unsigned char *state;
    uint32_t *passed;     /* edges of those that wait */
    uint32_t *waiting[2]; /* those that wait, and will in the next round */
    uint32_t *count;      /* of them, before each round and after the last */
} dcsr_i_graph_choice;

/* Some rounds; `all`: the first ones, with every vertex waiting. */
void dcsr_i_graph_decide(dcsr_i_cuda_stream *stream, const dcsr_i_graph_choice *choice, uint64_t waiting,
                         bool all);
/* state becomes true for members, and count[0] how many they are. */
void dcsr_i_graph_count_members(dcsr_i_cuda_stream *stream, const dcsr_i_graph_choice *choice);

/* Vertices that are given colours next: of few and of many edges. */
typedef struct dcsr_i_graph_painted {
    unsigned int few, many;
} dcsr_i_graph_painted;

typedef struct dcsr_i_graph_paint_counts {
    dcsr_i_graph_painted step[3]; /* which take turns */
    unsigned int arrived;         /* see dcsr_i_cuda_meet() */
    unsigned int colours;
} dcsr_i_graph_paint_counts;

typedef struct dcsr_i_graph_painting {
    dcsr_i_cuda_rows edges;
    uint64_t seed; /* mixed */
    uint64_t *key; /* vertices by descending keys, of the same key ascending */
    uint32_t *colour;
    uint32_t *pending; /* neighbours that precede and have no colour yet */
    uint32_t *few[2], *many[2];
    dcsr_i_graph_paint_counts *counts;
} dcsr_i_graph_painting;

void dcsr_i_graph_paint(dcsr_i_cuda_stream *stream, const dcsr_i_graph_painting *painting);

/* ---- triangles.cu ---- */

typedef struct dcsr_i_graph_triangle_counts {
    unsigned long long triangles;
    unsigned int long_lists;
} dcsr_i_graph_triangle_counts;

/* Which edges each vertex keeps: member[begin[v]], length[v] of them. */
typedef struct dcsr_i_graph_lists {
    dcsr_i_cuda_rows edges;
    uint64_t first, end; /* triangles are counted for the lists of these vertices */
    uint32_t *length, *member, *is_long;
    uint64_t *begin;
    unsigned long long *own; /* triangles of each vertex; NULL if nobody asks */
    uint32_t *degree;        /* edges of each vertex but loops; NULL if nobody asks */
    const uint32_t *number;  /* of the edge of each entry, and of each member; NULL if nobody asks */
    uint32_t *edge;
    int32_t *support; /* triangles of each edge, by number; NULL if nobody asks */
    dcsr_i_graph_triangle_counts *counts;
} dcsr_i_graph_lists;

/* length, degree, and zeros in own and counts. */
void dcsr_i_graph_count_lists(dcsr_i_cuda_stream *stream, const dcsr_i_graph_lists *lists);
void dcsr_i_graph_fill_lists(dcsr_i_cuda_stream *stream, const dcsr_i_graph_lists *lists);
void dcsr_i_graph_count_triangles(dcsr_i_cuda_stream *stream, const dcsr_i_graph_lists *lists);
#ifndef __cplusplus
/* Takes memory for the lists of all vertices, and makes them. */
void dcsr_i_graph_make_lists(dcsr_i_edges *e, dcsr_i_graph_lists *lists);
#endif

/* ---- truss.cu ---- */

typedef struct dcsr_i_graph_truss_counts {
    unsigned int next;  /* edges that go next */
    unsigned int above; /* the complement of the least support above a level */
} dcsr_i_graph_truss_counts;

typedef struct dcsr_i_graph_truss {
    dcsr_i_cuda_rows edges;
    uint64_t count;      /* edges, each once */
    uint32_t *upper;     /* of each vertex those to higher ones */
    uint64_t *begin;     /* the numbers of these */
    uint32_t *number;    /* of the edge of each entry; `count` for a loop */
    uint32_t *from, *to; /* of an edge */
    int32_t *support;
    unsigned char *state;
    uint32_t *going[2]; /* what goes in this round, and in the next */
    dcsr_i_graph_truss_counts *counts;
} dcsr_i_graph_truss;

/* upper. Then, with begin and count: all of the edges. */
void dcsr_i_graph_count_upper(dcsr_i_cuda_stream *stream, const dcsr_i_graph_truss *truss);
void dcsr_i_graph_number(dcsr_i_cuda_stream *stream, const dcsr_i_graph_truss *truss);
/* going[0]: what has support up to a level. */
void dcsr_i_graph_list_going(dcsr_i_cuda_stream *stream, const dcsr_i_graph_truss *truss, uint32_t level);
/* Takes away the `count` edges in going[list]; the other list becomes those that fall to the level thereby. */
void dcsr_i_graph_take_away(dcsr_i_cuda_stream *stream, const dcsr_i_graph_truss *truss, uint32_t level,
                            uint64_t count, int list);
/* kept: of each entry, 1 if its edge is left, or `all`, else 0. */
void dcsr_i_graph_mark_kept(dcsr_i_cuda_stream *stream, const dcsr_i_graph_truss *truss, bool all,
                            uint32_t *kept);
/* CSR of these, place telling how many are before each. */
void dcsr_i_graph_write_kept(dcsr_i_cuda_stream *stream, const dcsr_i_graph_truss *truss, bool all,
                             const uint64_t *place, uint64_t *offsets, uint32_t *ends, uint32_t *values);

#ifdef __cplusplus
}
#endif
#endif
