/* multi_traverse_cuda.h: breadth-first search of a matrix in parts on several GPUs (internal; for C and for kernels).
 *
 *      device 0                          device 1
 *      walk its rows of the frontier     walk its rows of the frontier        bits of what they lead to: fresh
 *      ------------------- meet: all have put that on their streams -------------------
 *      gather the others' bits           gather the others' bits              n / 8 bytes each
 *      what is new anywhere is visited; of its own rows it is the next frontier, with its level
 *
 * Each has bits of all vertices, and so knows by itself what is visited and how much is new: a level has one meeting,
 * and ends for all at the same one. Vertices of a device are numbered from its first, as its rows are; those that
 * entries lead to are of the whole. */
#ifndef DCSR_MULTI_TRAVERSE_CUDA_H
#define DCSR_MULTI_TRAVERSE_CUDA_H

#include "ops/traverse/traverse_cuda.h"
#include <dcsr/multi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a level has found. */
typedef struct dcsr_i_cuda_part_found {
    unsigned long long everywhere;      /* vertices, on all devices */
    unsigned long long vertices, edges; /* of this one's, and entries of their rows */
} dcsr_i_cuda_part_found;

/* One device's share of a search; all pointers are to its memory. */
typedef struct dcsr_i_cuda_part_search {
    dcsr_i_cuda_traversal
        own;        /* of its rows: where, level, queue[0], offsets; visited and fresh are of all vertices */
    uint64_t begin; /* its first vertex */
    uint32_t *other_fresh; /* cleared for the level after */
    uint32_t *incoming;    /* `words` words of each device, in order; its own are `fresh` */
    uint64_t place;        /* of this device among them */
    dcsr_i_cuda_part_found *found;
} dcsr_i_cuda_part_search;

/* multi_traverse.cu: gives `level` to the vertices that are fresh, on this device or on any other, and were not visited
 * before. devices: how many there are; 0: this one alone is looked at. */
void dcsr_i_cuda_part_collect(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_part_search *search,
                              uint64_t devices, int32_t level);

/* multi_traverse_cuda.c: dcsr_multi_traverse() on GPUs, with arguments that have been checked. */
struct dcsr_i_multi_cost;
typedef dcsr_status dcsr_i_multi_traverse(int32_t *level, dcsr_traverse_result *result, dcsr_multi_view *A,
                                          uint64_t n, const uint64_t *sources, struct dcsr_i_multi_cost *cost,
                                          bool timed);
dcsr_i_multi_traverse dcsr_i_cuda_multi_traverse;

#ifdef __cplusplus
}
#endif
#endif
