/* traverse_cuda.c: breadth-first search on a device: its memory, and one level after the other. */
#include "ops/traverse/traverse_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"

/* Everything is in one block of device memory. */
static size_t bytes_of(const dcsr_i_cuda_traversal *search)
{
    uint64_t n = search->rows.rows;
    return sizeof *search->counts + (n + 1) * sizeof *search->offsets +
           n * (sizeof *search->level + sizeof *search->queue) + 2 * search->words * sizeof *search->visited;
}

static void lay_out(dcsr_i_cuda_traversal *search, char *block)
{
    uint64_t n = search->rows.rows;
    search->counts = (dcsr_i_cuda_traversal_counts *)block;
    search->offsets = (uint64_t *)(search->counts + 1);
    search->level = (int32_t *)(search->offsets + n + 1);
    search->queue = (uint32_t *)(search->level + n);
    search->visited = search->queue + n;
    search->fresh = search->visited + search->words;
}

/* Makes what is fresh the frontier. */
static dcsr_status collect(dcsr_i_cuda_traversal_counts *counts, dcsr_i_cuda_stream *stream,
                           const dcsr_i_cuda_traversal *search, int32_t level)
{
    dcsr_i_cuda_traversal_counts *host = dcsr_i_cuda_landing(stream, sizeof *host);
    if (!host) return dcsr_i_cuda_wait(stream, "traverse");
    dcsr_i_cuda_fill(stream, search->counts, 0, sizeof *host);
    dcsr_i_cuda_traversal_collect(stream, search, level);
    dcsr_i_cuda_copy(stream, host, search->counts, sizeof *host);
    DCSR_TRY(dcsr_i_cuda_wait(stream, "traverse"));
    *counts = *host;
    return DCSR_OK;
}

static dcsr_status search_levels(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_traversal *search, uint64_t n,
                                 const uint64_t *sources, dcsr_traverse_result *result)
{
    dcsr_i_cuda_traversal_counts counts;
    *result = (dcsr_traverse_result){0};
    dcsr_i_cuda_fill(stream, search->level, 0xff, search->rows.rows * sizeof *search->level);
    dcsr_i_cuda_fill(stream, search->visited, 0, 2 * search->words * sizeof *search->visited);
    dcsr_i_cuda_traversal_start(stream, search, n, sources);
    for (int32_t level = 0;; level++) {
        DCSR_TRY(collect(&counts, stream, search, level));
        if (!counts.vertices) return DCSR_OK;
        result->reached += counts.vertices;
        result->max_level = (uint64_t)level;
        result->level_sum += (uint64_t)level * counts.vertices;
        result->edges += counts.edges;
        if (!counts.edges) return DCSR_OK;
        DCSR_TRY(dcsr_i_cuda_traversal_expand(stream, search, counts));
    }
}

dcsr_status dcsr_i_cuda_traverse(int32_t *level, dcsr_traverse_result *result, dcsr_view *A, uint64_t n,
                                 const uint64_t *sources)
{
    dcsr_context *context = dcsr_i_view_context(A);
    const dcsr_i_rows *rows = dcsr_i_view_rows(A);
    dcsr_i_cuda_traversal search = {.rows = rows->device, .words = (rows->rows + 31) / 32};
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(context);
    if (!stream) return DCSR_ERROR_OUT_OF_MEMORY;
    size_t bytes = bytes_of(&search);
    char *block = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, bytes, 1);
    dcsr_status status = block ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_traverse_result found;
    if (status == DCSR_OK) {
        lay_out(&search, block);
        status = search_levels(stream, &search, n, sources, &found);
    }
    if (status == DCSR_OK) {
        dcsr_i_cuda_copy(stream, level, search.level, rows->rows * sizeof *level);
        status = dcsr_i_cuda_wait(stream, "traverse");
    }
    if (status == DCSR_OK) *result = found;
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, block, bytes, 1);
    dcsr_i_stream_return(context, stream);
    return status;
}
