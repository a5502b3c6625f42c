/* traverse_cuda.c: breadth-first search on a device: its memory, and how a level is searched. */
#include "ops/traverse/traverse_cuda.h"
#include "dcsr/store/cuda/store_cuda.h"

/* A level of some vertices finds no more than it has edges. */
static uint64_t most_noted(const dcsr_i_cuda_traversal *search)
{
    const uint64_t n = search->rows.rows;
    return n < DCSR_CUDA_SOME_EDGES ? n : (uint64_t)DCSR_CUDA_SOME_EDGES;
}

/* Everything is in one block of device memory. */
static size_t bytes_of(const dcsr_i_cuda_traversal *search)
{
    uint64_t n = search->rows.rows;
    return sizeof *search->progress + sizeof *search->counts + (n + 1) * sizeof *search->offsets +
           n * sizeof *search->where + 2 * most_noted(search) * sizeof *search->noted[0] +
           n * (sizeof *search->level + 2 * sizeof *search->queue[0]) +
           2 * search->words * sizeof *search->visited;
}

static void lay_out(dcsr_i_cuda_traversal *search, char *block)
{
    uint64_t n = search->rows.rows;
    search->progress = (dcsr_i_cuda_progress *)block;
    search->counts = (dcsr_i_cuda_counts *)(search->progress + 1);
    search->offsets = (uint64_t *)(search->counts + 1);
    search->where = search->offsets + n + 1;
    search->noted[0] = search->where + n;
    search->noted[1] = search->noted[0] + most_noted(search);
    search->level = (int32_t *)(search->noted[1] + most_noted(search));
    search->queue[0] = (uint32_t *)(search->level + n);
    search->queue[1] = search->queue[0] + n;
    search->visited = search->queue[1] + n;
    search->fresh = search->visited + search->words;
}

static bool is_for_a_walk(const dcsr_i_cuda_found *frontier)
{
    return frontier->edges > DCSR_CUDA_SOME_EDGES || frontier->longest > DCSR_CUDA_SOME_LONGEST;
}

/* Levels of few and some vertices, as far as they go. */
static void go_ahead(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_traversal *search)
{
    dcsr_i_cuda_traversal_few(stream, search);
    dcsr_i_cuda_traversal_some(stream, search);
}

static dcsr_status search_levels(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_traversal *search, uint64_t n,
                                 const uint64_t *sources, dcsr_traverse_result *result)
{
    dcsr_i_cuda_progress now;
    dcsr_i_cuda_fill(stream, search->level, 0xff, search->rows.rows * sizeof *search->level);
    dcsr_i_cuda_fill(stream, search->visited, 0, 2 * search->words * sizeof *search->visited);
    dcsr_i_cuda_fill(stream, search->progress, 0, sizeof *search->progress + sizeof *search->counts);
    dcsr_i_cuda_traversal_start(stream, search, n, sources);
    dcsr_i_cuda_traversal_collect(stream, search);
    go_ahead(stream, search);
    for (;;) {
        DCSR_TRY(dcsr_i_cuda_read_back(stream, &now, search->progress, sizeof now, "traverse"));
        if (!now.frontier.vertices) break;
        if (is_for_a_walk(&now.frontier)) {
            DCSR_TRY(dcsr_i_cuda_traversal_walk(stream, search, &now));
            continue;
        }
        /* What the one gives up goes to the other. */
        go_ahead(stream, search);
        go_ahead(stream, search);
    }
    *result = (dcsr_traverse_result){.reached = now.reached,
                                     .max_level = now.level ? now.level - 1 : 0,
                                     .level_sum = now.level_sum,
                                     .edges = now.edges};
    return DCSR_OK;
}

dcsr_status dcsr_i_cuda_traverse(int32_t *level, dcsr_traverse_result *result, dcsr_view *A, uint64_t n,
                                 const uint64_t *sources)
{
    dcsr_context *context = dcsr_i_view_context(A);
    const dcsr_i_rows *rows = dcsr_i_view_rows(A);
    dcsr_i_cuda_traversal search = {.rows = rows->device, .words = (rows->rows + 31) / 32};
    dcsr_i_cuda_stream *stream = dcsr_i_stream_borrow(context);
    if (!stream) return dcsr_i_no_memory();
    size_t bytes = bytes_of(&search);
    char *block = dcsr_i_cuda_alloc(stream, DCSR_I_SCRATCH, bytes, 1);
    dcsr_status status = block ? DCSR_OK : dcsr_i_no_memory();
    dcsr_traverse_result found;
    if (status == DCSR_OK) {
        lay_out(&search, block);
        status = search_levels(stream, &search, n, sources, &found);
    }
    if (status == DCSR_OK)
        status =
            dcsr_i_cuda_deliver(stream, level, search.level, rows->rows * sizeof *level, context, "traverse");
    if (status == DCSR_OK) *result = found;
    dcsr_i_cuda_free(stream, DCSR_I_SCRATCH, block, bytes, 1);
    dcsr_i_stream_return(context, stream);
    return status;
}
