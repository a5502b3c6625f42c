/* graph.cu: what is asked of the edges before an algorithm begins. */
#include "algos/graph/cuda/graph_stages.h"
#include "dcsr/store/cuda/balanced_walk.cuh"

static __global__ void DCSR_CUDA_WALK_BOUNDS look_for_descents(dcsr_i_cuda_walk walk, uint32_t *wrong)
{
    const uint32_t *columns = walk.rows.columns;
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &entry, const dcsr_i_cuda_source &source) {
            return entry.e > walk.offsets[entry.i] && columns[source.place] <= columns[source.place - 1];
        },
        [&](const dcsr_i_cuda_entry &, bool descends) {
            if (descends) atomicOr(wrong, 1u);
        });
}

void dcsr_i_graph_look_for_descents(dcsr_i_cuda_stream *stream, dcsr_i_cuda_rows edges, uint32_t *wrong)
{
    const dcsr_i_cuda_walk walk = {edges, NULL, edges.rows, edges.offsets};
    dcsr_i_cuda_fill(stream, wrong, 0, sizeof *wrong);
    dcsr_i_cuda_launch_walk(stream, look_for_descents, edges.stored, edges.rows, walk, wrong);
}
