/* stages_cuda.h: the kernels of the setup, on a device (internal; for C and for kernels' files).
 *
 * Each function puts its work on the stream and returns. Arrays are on the device. A thread has a row, a node or an
 * edge, a warp an aggregate; all add in the order of the entries, as on the cpu, but for factorise. */
#ifndef DCSR_AMG_STAGES_CUDA_H
#define DCSR_AMG_STAGES_CUDA_H

#include "amg/cuda/passes_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As dcsr_i_amg_graph; or of some nodes alone, list[k] at place k, for the functions that say so. */
typedef struct dcsr_i_amg_cuda_graph {
    uint64_t count;
    const uint64_t *begin;
    uint32_t *length, *nodes;
    const uint32_t *list; /* NULL: all */
} dcsr_i_amg_cuda_graph;

/* ---- strength.cu ---- */

/* Nodes of single rows, all or some: fills length and nodes. theta2 is the square of the threshold. */
void dcsr_i_amg_cuda_connect_rows(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_graph *graph,
                                  const dcsr_i_amg_cuda_rows *A, const double *diagonal, double theta2);
/* Nodes of `block` rows: the squares of the norms of their diagonal blocks, and begin, of all. */
void dcsr_i_amg_cuda_read_blocks(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_rows *A, uint64_t block,
                                 double *norm, uint64_t *begin);
/* The same as connect_rows for them; sum has room for a number an entry. */
void dcsr_i_amg_cuda_connect_nodes(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_graph *graph,
                                   const dcsr_i_amg_cuda_rows *A, uint64_t block, double theta2,
                                   const double *norm, double *sum);
/* Each edge from both ends, as a key to be sorted, stably, by its bits from DCSR_I_AMG_CUDA_GROUP on. offsets are the
 * sums of lengths; there are offsets[count] edges. */
enum { DCSR_I_AMG_CUDA_GROUP = 31, DCSR_I_AMG_CUDA_NODE = 33 };
void dcsr_i_amg_cuda_list_edges(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_graph *graph,
                                const uint64_t *offsets, uint64_t *keys);
/* The graph of such keys once they are sorted, each neighbour once; graph->begin comes filled. */
void dcsr_i_amg_cuda_join_edges(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_graph *graph,
                                const uint64_t *keys);

/* How many entries of each row are in columns of other devices and strong by its diagonal; and these, where those of
 * row i begin at begin[i]: rows, columns, and values over the diagonal. */
void dcsr_i_amg_cuda_count_outside(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_rows *A,
                                   const double *diagonal, double theta, uint32_t *counts);
typedef struct dcsr_i_amg_cuda_outside {
    const uint64_t *begin;
    uint64_t *rows, *columns;
    double *ratios;
} dcsr_i_amg_cuda_outside;
void dcsr_i_amg_cuda_fill_outside(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_rows *A,
                                  const double *diagonal, double theta, const dcsr_i_amg_cuda_outside *to);

/* ---- aggregate.cu ---- */

/* What is known of nodes: dcsr_i_amg_aggregate() says what the keys are. */
typedef struct dcsr_i_amg_cuda_selection {
    dcsr_i_amg_cuda_graph graph;
    uint64_t *key, *least;
    uint64_t *open; /* one number: how many are undecided */
} dcsr_i_amg_cuda_selection;
void dcsr_i_amg_cuda_begin_selection(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_selection *s);
/* A round with random numbers of this seed; none is open: nothing changes. */
void dcsr_i_amg_cuda_select_round(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_selection *s,
                                  uint64_t seed);
/* flag[node] = whether it is of the set. */
void dcsr_i_amg_cuda_mark_roots(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_selection *s,
                                uint32_t *flag);
/* rank numbers the roots. joined, then aggregate: those of nodes one and two steps from a root; flag: those that have
 * neighbours, but none with an aggregate. */
void dcsr_i_amg_cuda_join_roots(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_selection *s,
                                const uint64_t *rank, uint32_t *joined, uint32_t *aggregate, uint32_t *flag);
/* These get numbers of their own, after the roots: rank numbers them, *roots says how many roots there are. */
void dcsr_i_amg_cuda_number_others(dcsr_i_cuda_stream *stream, uint64_t nodes, const uint32_t *flag,
                                   const uint64_t *rank, const uint64_t *roots, uint32_t *aggregate);

/* ---- prolongator.cu ---- */

/* keys[node] = aggregate << 32 | node, with `count` for none. */
void dcsr_i_amg_cuda_key_nodes(dcsr_i_cuda_stream *stream, uint64_t nodes, const uint32_t *aggregate,
                               uint64_t count, uint64_t *keys);
/* The rows of T of each aggregate are made orthonormal; R, zero before, gets the factors. The nodes of aggregate a are
 * the low halves of keys[begin[a]] to keys[begin[a + 1] - 1]. */
typedef struct dcsr_i_amg_cuda_pieces {
    const uint64_t *keys, *begin;
    uint64_t count, block, vectors;
} dcsr_i_amg_cuda_pieces;
void dcsr_i_amg_cuda_factorise(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_pieces *pieces, double *T,
                               double *R);

/* P, row by row, of all nodes of the graph or of some. */
typedef struct dcsr_i_amg_cuda_prolongation {
    dcsr_i_amg_cuda_rows A;
    dcsr_i_amg_cuda_graph graph;
    const uint32_t *aggregate;
    const double *T, *diagonal;
    uint64_t block, vectors;
    double factor; /* omega / rho */
    /* The aggregates that node i reaches, ascending, from graph.begin[i] + i on; of some nodes, at place k, from
     * graph.begin[k] on, which leaves room for one more than there are neighbours. */
    uint32_t *reached;
    uint32_t *counts;     /* how many aggregates each node reaches */
    const uint64_t *sums; /* of the counts */
    uint64_t *offsets;
    uint32_t *columns;
    double *values;
} dcsr_i_amg_cuda_prolongation;
/* Fills reached and counts. */
void dcsr_i_amg_cuda_reach(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_prolongation *p);
/* Fills offsets, columns and values. */
void dcsr_i_amg_cuda_fill_rows(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_prolongation *p);

/* ---- colour.cu ---- */

/* Rows without a colour after a round: those that wait, and those for which the window has none. */
typedef struct dcsr_i_amg_cuda_uncoloured {
    uint64_t waiting, later;
} dcsr_i_amg_cuda_uncoloured;
/* What is known of rows: colour.c says what the colours are. */
typedef struct dcsr_i_amg_cuda_colouring {
    dcsr_i_amg_cuda_rows A;
    uint64_t seed;
    uint32_t *colour, *number; /* number[i] = i, to be sorted by colour */
    uint32_t *waited;          /* the last round in which a row had to wait, from 1 on */
    uint64_t *taken;           /* the colours of the window that neighbours have */
    dcsr_i_amg_cuda_uncoloured *left;
} dcsr_i_amg_cuda_colouring;
void dcsr_i_amg_cuda_begin_colouring(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_colouring *c);
/* Before the rounds of each window. */
void dcsr_i_amg_cuda_begin_window(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_colouring *c);
/* A round, for colours from `base` on; none waits: nothing changes. */
void dcsr_i_amg_cuda_colour_round(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_colouring *c,
                                  uint32_t base, uint32_t round);

#ifdef __cplusplus
}
#endif
#endif
