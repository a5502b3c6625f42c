/* sssp_stages.h: steps of shortest paths on a GPU (internal; for C and for kernels).
 *
 * As on the cpu, vertices that have come closer are near, where they lie within a limit, or far. A round relaxes what
 * is near; if that makes nothing near, the limit is raised, and far vertices within it become near.
 *
 *      few     a block goes on from round to round by itself while little is near, and not much far
 *      round   four kernels: short rows, long rows, the least of what is far, and what comes within the limit
 *
 * Both look at what there is, and do nothing where it is none for them, so that they can be launched ahead. */
#ifndef DCSR_SSSP_STAGES_H
#define DCSR_SSSP_STAGES_H

#include "dcsr/base/cuda.h"
#include "dcsr/store/cuda/gather_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Edges beyond which a row is shared by several blocks. */
#ifdef DCSR_SIMT
enum { DCSR_GRAPH_LONG = 40 };
#else
enum { DCSR_GRAPH_LONG = 1024 };
#endif

/* What is known of the weights. */
typedef struct dcsr_i_graph_weights {
    double sum;             /* of those that are finite */
    unsigned long long nan; /* the least vertex with one that is no number; UINT64_MAX: there is none */
    unsigned int negative;  /* whether one is below 0 */
} dcsr_i_graph_weights;

/* How far a search is. Counts of the lists first. */
typedef struct dcsr_i_graph_piles {
    unsigned int near, next, far, kept, parts;
    unsigned int round;       /* from 1 on */
    unsigned int near_list;   /* which of the two the near ones are in; the next ones go to the other */
    unsigned int far_list;    /* likewise */
    unsigned int large;       /* for rounds of their own, not for a block */
    unsigned int advances;    /* nothing has become near, so the limit is raised */
    unsigned int done;        /* blocks of the kernel that runs */
    unsigned long long least; /* bits of the least distance beyond the limit, while it is looked for */
    double limit;
    /* At the end. */
    unsigned long long reached, farthest;
} dcsr_i_graph_piles;

typedef struct dcsr_i_graph_search {
    dcsr_i_cuda_rows edges; /* values are fp64 */
    double delta;
    unsigned long long *distance; /* bits, which are in the order of the numbers */
    uint32_t *mark;               /* the last round for which a vertex was listed as near */
    uint32_t *is_far;             /* bits */
    uint32_t *near[2], *far[2];
    uint64_t *part; /* of long rows among the near: vertex << 32 | which LONG edges of it */
    dcsr_i_graph_piles *piles;
} dcsr_i_graph_search;

/* to[k] = from[k] as fp64; 1 where `from` is NULL. */
void dcsr_i_graph_convert(dcsr_i_cuda_stream *stream, double *to, const void *from, dcsr_type type,
                          uint64_t count);
void dcsr_i_graph_weigh(dcsr_i_cuda_stream *stream, dcsr_i_cuda_rows edges, dcsr_i_graph_weights *weights);
void dcsr_i_graph_begin_search(dcsr_i_cuda_stream *stream, const dcsr_i_graph_search *search,
                               uint64_t source);
void dcsr_i_graph_relax_few(dcsr_i_cuda_stream *stream, const dcsr_i_graph_search *search);
void dcsr_i_graph_relax_round(dcsr_i_cuda_stream *stream, const dcsr_i_graph_search *search);
/* Sets what `piles` tells at the end. */
void dcsr_i_graph_end_search(dcsr_i_cuda_stream *stream, const dcsr_i_graph_search *search);

#ifdef __cplusplus
}
#endif
#endif
