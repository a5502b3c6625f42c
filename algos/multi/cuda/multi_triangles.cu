/* multi_triangles.cu: which edges the vertices of a device keep: as in triangles.cu each is kept at its end of lower
 * degree, of equal ones at the lower vertex; a loop at none. */
#include "algos/multi/cuda/multi_triangles.h"
#include "dcsr/store/cuda/balanced_walk.cuh"

static __global__ void measure_rows(dcsr_i_cuda_rows rows, uint64_t first, uint32_t *degree)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < rows.rows; i += dcsr_i_cuda_step())
        degree[first + i] = (uint32_t)dcsr_i_cuda_length(rows, i);
}

/* Counts where `member` is NULL. */
static __global__ void DCSR_CUDA_WALK_BOUNDS keep_edges(dcsr_i_cuda_walk walk, uint64_t first,
                                                        const uint32_t *degree, const uint64_t *begin,
                                                        uint32_t *count, uint32_t *member)
{
    dcsr_i_cuda_for_entries(
        walk,
        [&](const dcsr_i_cuda_entry &, const dcsr_i_cuda_source &source) {
            return walk.rows.columns[source.place];
        },
        [&](const dcsr_i_cuda_entry &entry, uint32_t v) {
            const uint32_t u = (uint32_t)(first + entry.i), of_u = degree[u], of_v = degree[v];
            if (of_v != of_u ? of_v < of_u : v <= u) return;
            const uint32_t at = atomicAdd(&count[entry.i], 1u);
            if (member) member[begin[u] + at] = v;
        });
}

static __global__ void add_counts(unsigned long long *sum, const unsigned long long *more, uint64_t n)
{
    for (uint64_t i = dcsr_i_cuda_first(); i < n; i += dcsr_i_cuda_step()) sum[i] += more[i];
}

void dcsr_i_multi_measure_rows(dcsr_i_cuda_stream *stream, dcsr_i_cuda_rows rows, uint64_t first,
                               uint32_t *degree)
{
    if (rows.rows) dcsr_i_cuda_launch(stream, measure_rows, rows.rows, rows, first, degree);
}

void dcsr_i_multi_count_kept(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t first,
                             const uint32_t *degree, uint32_t *length)
{
    if (!walk->count) return;
    dcsr_i_cuda_fill(stream, length + first, 0, walk->count * sizeof *length);
    dcsr_i_cuda_launch_walk(stream, keep_edges, walk->rows.stored, walk->count, *walk, first, degree,
                            (const uint64_t *)nullptr, length + first, (uint32_t *)nullptr);
}

void dcsr_i_multi_list_kept(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_walk *walk, uint64_t first,
                            const uint32_t *degree, const uint64_t *begin, uint32_t *kept, uint32_t *member)
{
    if (walk->count)
        dcsr_i_cuda_launch_walk(stream, keep_edges, walk->rows.stored, walk->count, *walk, first, degree,
                                begin, kept, member);
}

void dcsr_i_multi_add_counts(dcsr_i_cuda_stream *stream, unsigned long long *sum,
                             const unsigned long long *more, uint64_t n)
{
    if (n) dcsr_i_cuda_launch(stream, add_counts, n, sum, more, n);
}
