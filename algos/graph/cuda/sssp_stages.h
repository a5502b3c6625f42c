/* sssp_stages.h: steps of shortest paths on a GPU (internal; for C and for kernels).
 *
 * As on the cpu, vertices that have come closer are near, where they lie within a limit, or far. A round relaxes what
 * is near; if that makes nothing near, the limit is raised, and far vertices within it become near.
 *
 *      few     a block goes on from round to round by itself while little is near, and not much far
 *      all     all blocks do, and meet after each step: short rows, long rows, the least of what is far, and what
 *              comes within the limit
 *
 * Both look at what there is, and do nothing where it is none for them, so that they can be launched ahead. */
#ifndef DCSR_SSSP_STAGES_H
#define DCSR_SSSP_STAGES_H

#include "dcsr/base/cuda.h"
#include "dcsr/store/cuda/gather_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is known of the weights. */
typedef struct dcsr_i_graph_weights {
    double sum;             /* of those that are finite */
    unsigned long long nan; /* the least vertex with one that is no number; UINT64_MAX: there is none */
    unsigned int negative;  /* whether one is below 0 */
} dcsr_i_graph_weights;

/* What a round of all blocks finds. */
typedef struct dcsr_i_graph_round {
    unsigned int near, parts; /* next; of long rows */
    unsigned long long
        least; /* the complement of the bits of the least distance beyond the limit; 0: there is none */
} dcsr_i_graph_round;

/* What threads add to. */
typedef struct dcsr_i_graph_counts {
    unsigned int far[2];         /* of the lists */
    dcsr_i_graph_round found[3]; /* by rounds of all blocks, in turns */
    unsigned int arrived;        /* see dcsr_i_cuda_meet() */
} dcsr_i_graph_counts;

/* How far a search is; written at the end of a kernel. */
typedef struct dcsr_i_graph_piles {
    unsigned int near, far;       /* counts of the lists */
    unsigned int round;           /* from 1 on */
    unsigned int near_list;       /* which of the two the near ones are in; the next ones go to the other */
    unsigned int far_list;        /* likewise */
    unsigned int large;           /* for all blocks, not for one */
    unsigned int turns, meetings; /* of all blocks: rounds, and barriers */
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
    dcsr_i_graph_counts *counts;
} dcsr_i_graph_search;

/* to[k] = from[k] as fp64; 1 where `from` is NULL. */
void dcsr_i_graph_convert(dcsr_i_cuda_stream *stream, double *to, const void *from, dcsr_type type,
                          uint64_t count);
void dcsr_i_graph_weigh(dcsr_i_cuda_stream *stream, dcsr_i_cuda_rows edges, dcsr_i_graph_weights *weights);
void dcsr_i_graph_begin_search(dcsr_i_cuda_stream *stream, const dcsr_i_graph_search *search,
                               uint64_t source);
void dcsr_i_graph_relax_few(dcsr_i_cuda_stream *stream, const dcsr_i_graph_search *search);
void dcsr_i_graph_relax_all(dcsr_i_cuda_stream *stream, const dcsr_i_graph_search *search);
/* Sets what `piles` tells at the end. */
void dcsr_i_graph_end_search(dcsr_i_cuda_stream *stream, const dcsr_i_graph_search *search);

#ifdef __cplusplus
}
#endif
#endif
