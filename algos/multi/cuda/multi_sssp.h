/* multi_sssp.h: steps of shortest paths on several GPUs (internal; for C and for kernels).
 *
 * Each device knows a distance of every vertex, of its own rows' the best, of others' the best that it has offered. A
 * bit says that a distance has fallen since it was last handed on:
 *
 *      round      own vertices with the bit, within the limit: relax their edges; none: raise the limit
 *      send       others' vertices with the bit: listed for their owners, with their distances
 *      receive    what others offer to own vertices: a distance that falls, and its bit
 *
 * Rounds look at what there is, and do nothing where it is none, so that they can be launched ahead. */
#ifndef DCSR_MULTI_SSSP_H
#define DCSR_MULTI_SSSP_H

#include "dcsr/base/cuda.h"
#include "dcsr/store/rowtable_cuda.h"
#include <dcsr/matrix.h>
#include <dcsr/multi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How far a device is. */
typedef struct dcsr_i_multi_paths_state {
    double limit;
    unsigned long long
        least; /* bits of the least distance that waits beyond the limit, while it is looked for */
    unsigned int listed, now;             /* vertices that a round relaxes: while they are counted; then */
    unsigned int done;                    /* blocks of the kernel that counts them */
    unsigned int waits;                   /* whether any own vertex had its bit */
    unsigned int sent[DCSR_MAX_DEVICES];  /* on the list for each owner */
    unsigned long long reached, farthest; /* at the end, of its own vertices; bits of a distance */
} dcsr_i_multi_paths_state;

/* A device's side; pointers are to its memory. Kernels get it by value. */
typedef struct dcsr_i_multi_paths {
    dcsr_i_cuda_rows rows;
    uint64_t k, parts, border[DCSR_MAX_DEVICES + 1];
    double delta;
    unsigned long long *distance; /* of all vertices: bits, which are in the order of the numbers */
    uint32_t *fallen;             /* of all: bits */
    uint32_t *list;               /* own vertices of a round, counted from the first */
    uint32_t *out;                /* others' vertices, for owner j from place border[j] on, and */
    unsigned long long *offered;  /* their distances */
    dcsr_i_multi_paths_state *state;
} dcsr_i_multi_paths;

void dcsr_i_multi_paths_begin(dcsr_i_cuda_stream *stream, const dcsr_i_multi_paths *paths, uint64_t source);
void dcsr_i_multi_paths_round(dcsr_i_cuda_stream *stream, const dcsr_i_multi_paths *paths);
void dcsr_i_multi_paths_send(dcsr_i_cuda_stream *stream, const dcsr_i_multi_paths *paths);
void dcsr_i_multi_paths_receive(dcsr_i_cuda_stream *stream, const dcsr_i_multi_paths *paths,
                                const uint32_t *vertex, const unsigned long long *offered, uint64_t n);
/* Sets what the state tells at the end. */
void dcsr_i_multi_paths_end(dcsr_i_cuda_stream *stream, const dcsr_i_multi_paths *paths);

#ifdef __cplusplus
}
#endif
#endif
