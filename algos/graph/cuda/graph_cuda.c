/* graph_cuda.c: the edges of a view on a GPU, memory there, and the table of what runs there. */
#include "algos/graph/cuda/graph_cuda.h"
#include "algos/graph/cuda/graph_stages.h"
#include "dcsr/base/runtime.h"
#include "dcsr/store/cuda/gather_cuda.h"
#include "dcsr/store/rowtable.h"

static dcsr_status open(dcsr_i_edges *e)
{
    e->stream = dcsr_i_stream_borrow(e->context);
    if (!e->stream) e->status = dcsr_thread_status();
    return e->status;
}

/* Blocks that are on the device are taken out of the list. */
static void close(dcsr_i_edges *e)
{
    const dcsr_status status = dcsr_i_cuda_wait(e->stream, "a graph algorithm");
    int kept = 0;
    for (int k = 0; k < e->blocks; k++) {
        if (e->block[k].on_device)
            dcsr_i_cuda_free(e->stream, DCSR_I_SCRATCH, e->block[k].memory, e->block[k].count,
                             e->block[k].size);
        else
            e->block[kept++] = e->block[k];
    }
    e->blocks = kept;
    if (!e->status) e->status = status;
    dcsr_i_stream_return(e->context, e->stream);
    e->stream = NULL;
}

void *dcsr_i_graph_take(dcsr_i_edges *e, uint64_t count, size_t size)
{
    if (e->status) return NULL;
    void *memory = dcsr_i_cuda_alloc(e->stream, DCSR_I_SCRATCH, count, size);
    if (memory)
        dcsr_i_edges_keep(e, memory, count, size, true);
    else
        e->status = dcsr_thread_status();
    return memory;
}

dcsr_status dcsr_i_graph_read(dcsr_i_edges *e, void *to, const void *from, size_t bytes)
{
    if (!e->status) e->status = dcsr_i_cuda_read_back(e->stream, to, from, bytes, "a graph algorithm");
    return e->status;
}

dcsr_status dcsr_i_graph_give(dcsr_i_edges *e, void *to, const void *from, size_t bytes)
{
    if (!e->status)
        e->status = dcsr_i_cuda_deliver(e->stream, to, from, bytes, e->context, "a graph algorithm");
    return e->status;
}

static dcsr_status gather(dcsr_i_edges *e, dcsr_view *A)
{
    const dcsr_i_cuda_rows *rows = &dcsr_i_view_rows(A)->device;
    uint64_t *offsets = dcsr_i_graph_take(e, e->vertices + 1, sizeof *offsets);
    uint32_t *columns = dcsr_i_graph_take(e, rows->stored, sizeof *columns);
    char *values = dcsr_i_graph_take(e, rows->stored, rows->value_size);
    if (!e->status) e->status = dcsr_i_cuda_sum_lengths(e->stream, rows, NULL, e->vertices, offsets);
    if (e->status) return e->status;
    const dcsr_i_cuda_walk walk = {*rows, NULL, e->vertices, offsets};
    dcsr_i_cuda_gather(e->stream, &walk, rows->stored, NULL, columns, rows->value_size ? values : NULL);
    e->offsets = offsets;
    e->columns = columns;
    e->values = rows->value_size ? values : NULL;
    e->count = rows->stored;
    return DCSR_OK;
}

dcsr_i_cuda_rows dcsr_i_graph_rows(const dcsr_i_edges *e)
{
    return (dcsr_i_cuda_rows){.rows = e->vertices,
                              .cols = e->vertices,
                              .stored = e->count,
                              .type = e->type,
                              .value_size = (uint32_t)e->size,
                              .segments_per_row = 1,
                              .offsets = e->offsets,
                              .columns = (uint32_t *)e->columns,
                              .values = (char *)e->values};
}

static bool ascends(dcsr_i_edges *e)
{
    uint32_t *wrong = dcsr_i_graph_take(e, 1, sizeof *wrong), found = 1;
    if (!wrong) return false;
    dcsr_i_graph_look_for_descents(e->stream, dcsr_i_graph_rows(e), wrong);
    return !dcsr_i_graph_read(e, &found, wrong, sizeof found) && !found;
}

const dcsr_i_graph_engine dcsr_i_graph_cuda = {.open = open,
                                               .gather = gather,
                                               .ascends = ascends,
                                               .close = close,
                                               .components = dcsr_i_graph_components,
                                               .strong_components = dcsr_i_graph_strong_components,
                                               .pagerank = dcsr_i_graph_pagerank,
                                               .sssp = dcsr_i_graph_sssp,
                                               .bfs_many = dcsr_i_graph_bfs_many,
                                               .bfs_parents = dcsr_i_graph_bfs_parents,
                                               .betweenness = dcsr_i_graph_betweenness,
                                               .independent_set = dcsr_i_graph_independent_set,
                                               .colouring = dcsr_i_graph_colouring,
                                               .kcore = dcsr_i_graph_kcore,
                                               .ktruss = dcsr_i_graph_ktruss,
                                               .triangles = dcsr_i_graph_triangles};
