/* bfs_cuda.c: breadth-first search on a device: its memory, and one level after the other. */
#include "algos/graph/bfs_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"

/* Everything is in one block of device memory. */
static size_t bytes_of(const dcsr_i_cuda_bfs *search)
{
    uint64_t n = search->rows.rows;
    return sizeof *search->counts + (n + 1) * sizeof *search->offsets +
           n * (sizeof *search->level + sizeof *search->queue) + 2 * search->words * sizeof *search->visited;
}

static void lay_out(dcsr_i_cuda_bfs *search, char *block)
{
    uint64_t n = search->rows.rows;
    search->counts = (dcsr_i_cuda_bfs_counts *)block;
    search->offsets = (uint64_t *)(search->counts + 1);
    search->level = (int32_t *)(search->offsets + n + 1);
    search->queue = (uint32_t *)(search->level + n);
    search->visited = search->queue + n;
    search->fresh = search->visited + search->words;
}

/* Makes what is fresh the frontier. */
static dcsr_status collect(dcsr_i_cuda_bfs_counts *counts, dcsr_i_cuda_stream *stream,
                           const dcsr_i_cuda_bfs *search, int32_t level)
{
    dcsr_i_cuda_bfs_counts *host = dcsr_i_cuda_landing(stream, sizeof *host);
    if (!host) return dcsr_i_cuda_wait(stream, "bfs");
    dcsr_i_cuda_fill(stream, search->counts, 0, sizeof *host);
    dcsr_i_cuda_bfs_collect(stream, search, level);
    dcsr_i_cuda_copy(stream, host, search->counts, sizeof *host);
    DCSR_TRY(dcsr_i_cuda_wait(stream, "bfs"));
    *counts = *host;
    return DCSR_OK;
}

static dcsr_status search_levels(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_bfs *search, uint32_t source,
                                 dcsr_bfs_result *result)
{
    dcsr_i_cuda_bfs_counts counts;
    *result = (dcsr_bfs_result){0};
    dcsr_i_cuda_fill(stream, search->level, 0xff, search->rows.rows * sizeof *search->level);
    dcsr_i_cuda_fill(stream, search->visited, 0, 2 * search->words * sizeof *search->visited);
    dcsr_i_cuda_bfs_start(stream, search, source);
    for (int32_t level = 0;; level++) {
        DCSR_TRY(collect(&counts, stream, search, level));
        if (!counts.vertices) return DCSR_OK;
        result->reached += counts.vertices;
        result->max_level = (uint64_t)level;
        result->level_sum += (uint64_t)level * counts.vertices;
        result->edges += counts.edges;
        if (!counts.edges) return DCSR_OK;
        DCSR_TRY(dcsr_i_cuda_bfs_expand(stream, search, counts));
    }
}

dcsr_status dcsr_i_cuda_search(int32_t *level, dcsr_bfs_result *result, dcsr_view *A, uint32_t source)
{
    dcsr_context *context = dcsr_i_view_context(A);
    const dcsr_i_rows *rows = dcsr_i_view_rows(A);
    dcsr_i_cuda_bfs search = {.rows = rows->device, .words = (rows->rows + 31) / 32};
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(context);
    if (!stream) return DCSR_ERROR_OUT_OF_MEMORY;
    size_t bytes = bytes_of(&search);
    char *block = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, bytes, 1);
    dcsr_status status = block ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_bfs_result found;
    if (status == DCSR_OK) {
        lay_out(&search, block);
        status = search_levels(stream, &search, source, &found);
    }
    if (status == DCSR_OK) {
        dcsr_i_cuda_copy(stream, level, search.level, rows->rows * sizeof *level);
        status = dcsr_i_cuda_wait(stream, "bfs");
    }
    if (status == DCSR_OK) *result = found;
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, block, bytes, 1);
    dcsr_i_stream_return(context, stream);
    return status;
}
