/* amg_stages.h: the stages of the setup on a GPU, and what they share (internal). They are what the functions of the
 * same names without `cuda` are on the cpu, with all arrays on the device; T of the prolongator is overwritten. */
#ifndef DCSR_AMG_STAGES_H
#define DCSR_AMG_STAGES_H

#include "amg/amg_engine.h"
#include "amg/cuda/stages_cuda.h"

dcsr_status dcsr_i_amg_cuda_strength(dcsr_i_amg_graph *graph, dcsr_i_amg_hierarchy *h,
                                     dcsr_i_amg_level *level, double theta);
dcsr_status dcsr_i_amg_cuda_list_outside(dcsr_coo *list, dcsr_i_amg_hierarchy *h,
                                         const dcsr_i_amg_level *level);
dcsr_status dcsr_i_amg_cuda_aggregate(dcsr_i_amg_partition *parts, dcsr_i_amg_hierarchy *h,
                                      const dcsr_i_amg_graph *graph);
dcsr_status dcsr_i_amg_cuda_prolongator(dcsr_i_amg_level *level, double *T, double *coarse,
                                        dcsr_i_amg_hierarchy *h, const dcsr_i_amg_graph *graph,
                                        const dcsr_i_amg_partition *parts, uint64_t vectors);
dcsr_status dcsr_i_amg_cuda_colour(dcsr_i_amg_hierarchy *h, dcsr_i_amg_level *level);

/* amg_cuda.c: brings up to DCSR_I_AMG_CUDA_READ bytes from the device, and waits for them. Valid until the next call.
 * NULL where that failed, with h->failed set. */
enum { DCSR_I_AMG_CUDA_READ = 256 };
const void *dcsr_i_amg_cuda_read(dcsr_i_amg_hierarchy *h, const void *there, size_t bytes);

/* The engine's take(), but not zeroed. */
dcsr_status dcsr_i_amg_cuda_hold(dcsr_i_amg_array *array, dcsr_i_amg_hierarchy *h, uint64_t count,
                                 size_t size);

/* Memory of a stage, in the order of the hierarchy's stream; not zeroed. */
static inline void *dcsr_i_amg_cuda_take(const dcsr_i_amg_hierarchy *h, uint64_t count, size_t size)
{
    return dcsr_i_cuda_alloc(h->stream, DCSR_I_SCRATCH, count, size);
}
static inline void dcsr_i_amg_cuda_drop(const dcsr_i_amg_hierarchy *h, void *block, uint64_t count,
                                        size_t size)
{
    dcsr_i_cuda_free(h->stream, DCSR_I_SCRATCH, block, count, size);
}

/* The bits of a number up to `most`, where keys with numbers in their upper half are sorted. */
static inline int dcsr_i_amg_cuda_bits(uint64_t most)
{
    int bits = 0;
    while (bits < 32 && most >> bits) bits++;
    return bits;
}

/* Rows that an update has moved are in the same arrays. */
static inline dcsr_i_amg_cuda_rows dcsr_i_amg_cuda_rows_of(const dcsr_i_amg_rows *A)
{
    return (dcsr_i_amg_cuda_rows){A->rows,    A->nnz,    A->begin,  A->end,
                                  A->columns, A->values, A->narrow, A->first};
}
static inline dcsr_i_amg_cuda_graph dcsr_i_amg_cuda_graph_of(const dcsr_i_amg_graph *graph)
{
    return (dcsr_i_amg_cuda_graph){graph->count, graph->begin, graph->length, graph->nodes, NULL};
}

#endif
