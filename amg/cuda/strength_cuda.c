/* strength_cuda.c: which nodes of a level are strongly connected, on a device: memory, and the order of kernels. */
#include "amg/cuda/amg_stages.h"
#include "dcsr/device/prim_cuda.h"

/* The norms are kept for updates. */
static dcsr_status connect_nodes(dcsr_i_amg_hierarchy *h, dcsr_i_amg_level *level, dcsr_i_amg_graph *graph,
                                 const dcsr_i_amg_cuda_rows *A, double theta2)
{
    const dcsr_i_amg_cuda_graph made = dcsr_i_amg_cuda_graph_of(graph);
    if (!level->norms.data) DCSR_I_AMG_TRY(h->engine->take(&level->norms, h, graph->count, sizeof(double)));
    double *sum = dcsr_i_amg_cuda_take(h, A->nnz, sizeof *sum);
    if (sum) {
        dcsr_i_amg_cuda_read_blocks(h->stream, A, level->block, level->norms.data, graph->begins.data);
        dcsr_i_amg_cuda_connect_nodes(h->stream, &made, A, level->block, theta2, level->norms.data, sum);
    }
    dcsr_i_amg_cuda_drop(h, sum, A->nnz, sizeof *sum);
    return sum ? DCSR_OK : dcsr_i_no_memory();
}

/* ---- Both directions ---- */

/* The edges as keys, and as much room again to sort them. */
typedef struct edges {
    uint64_t *memory, count;
} edges;

static dcsr_status list_edges(edges *e, dcsr_i_amg_hierarchy *h, const dcsr_i_amg_cuda_graph *graph)
{
    uint64_t *offsets = dcsr_i_amg_cuda_take(h, graph->count + 1, sizeof *offsets);
    if (!offsets) return dcsr_i_no_memory();
    dcsr_status status = dcsr_i_cuda_scan_u32(h->stream, graph->length, offsets, graph->count);
    const uint64_t *total = status ? NULL : dcsr_i_amg_cuda_read(h, offsets + graph->count, sizeof *total);
    if (!status) status = h->failed;
    if (!status) {
        e->count = 2 * *total;
        e->memory = dcsr_i_amg_cuda_take(h, 2 * e->count, sizeof *e->memory);
        if (e->memory)
            dcsr_i_amg_cuda_list_edges(h->stream, graph, offsets, e->memory);
        else
            status = dcsr_i_no_memory();
    }
    dcsr_i_amg_cuda_drop(h, offsets, graph->count + 1, sizeof *offsets);
    return status;
}

static dcsr_status take_edges(dcsr_i_amg_graph *both, dcsr_i_amg_hierarchy *h, const edges *e)
{
    const uint64_t nodes = both->count;
    uint64_t *keys = e->memory, *spare = keys + e->count;
    dcsr_status status =
        dcsr_i_cuda_sort(h->stream, &keys, &spare, NULL, NULL, e->count, DCSR_I_AMG_CUDA_GROUP,
                         DCSR_I_AMG_CUDA_NODE + dcsr_i_amg_cuda_bits(nodes));
    if (!status) status = h->engine->take(&both->lengths, h, nodes, sizeof(uint32_t));
    if (!status) status = h->engine->take(&both->neighbours, h, e->count, sizeof(uint32_t));
    if (!status) status = h->engine->take(&both->begins, h, nodes + 1, sizeof(uint64_t));
    if (status) return status;
    both->length = both->lengths.data;
    both->nodes = both->neighbours.data;
    both->begin = both->begins.data;
    const dcsr_i_amg_cuda_graph made = dcsr_i_amg_cuda_graph_of(both);
    dcsr_i_cuda_find_begins(h->stream, keys, e->count, DCSR_I_AMG_CUDA_NODE, nodes, both->begins.data);
    dcsr_i_amg_cuda_join_edges(h->stream, &made, keys);
    return DCSR_OK;
}

static dcsr_status make_symmetric(dcsr_i_amg_graph *graph, dcsr_i_amg_hierarchy *h)
{
    const dcsr_i_amg_cuda_graph directed = dcsr_i_amg_cuda_graph_of(graph);
    dcsr_i_amg_graph both = {.count = graph->count};
    edges e = {0};
    dcsr_status status = list_edges(&e, h, &directed);
    if (!status) status = take_edges(&both, h, &e);
    if (!status) {
        dcsr_i_amg_graph before = *graph;
        *graph = both;
        both = before;
    }
    dcsr_i_amg_graph_free(&both, h);
    dcsr_i_amg_cuda_drop(h, e.memory, 2 * e.count, sizeof *e.memory);
    return status;
}

dcsr_status dcsr_i_amg_cuda_strength(dcsr_i_amg_graph *graph, dcsr_i_amg_hierarchy *h,
                                     dcsr_i_amg_level *level, double theta)
{
    const dcsr_i_amg_cuda_rows A = dcsr_i_amg_cuda_rows_of(&level->A.rows);
    const uint64_t block = level->block, nodes = A.rows / block;
    *graph = (dcsr_i_amg_graph){.count = nodes};
    dcsr_status status = h->engine->take(&graph->lengths, h, nodes, sizeof(uint32_t));
    if (!status) status = h->engine->take(&graph->neighbours, h, A.nnz, sizeof(uint32_t));
    if (!status && block > 1) status = h->engine->take(&graph->begins, h, nodes, sizeof(uint64_t));
    if (status) return status; /* the caller frees the graph */
    graph->length = graph->lengths.data;
    graph->nodes = graph->neighbours.data;
    graph->begin = block > 1 ? graph->begins.data : A.begin;
    const dcsr_i_amg_cuda_graph made = dcsr_i_amg_cuda_graph_of(graph);
    if (block == 1)
        dcsr_i_amg_cuda_connect_rows(h->stream, &made, &A, level->diagonal.data, theta * theta);
    else
        status = connect_nodes(h, level, graph, &A, theta * theta);
    return status || h->symmetric ? status : make_symmetric(graph, h);
}

/* ---- Across borders ---- */

static dcsr_status take_outside(dcsr_coo *list, dcsr_i_amg_hierarchy *h, const dcsr_i_amg_level *level,
                                const dcsr_i_amg_cuda_rows *A, const uint64_t *begin, uint64_t count)
{
    dcsr_i_amg_cuda_outside to = {.begin = begin};
    DCSR_I_AMG_TRY(dcsr_coo_allocate(list, h->context, DCSR_FP64, A->rows, level->A.rows.cols, count));
    to.rows = dcsr_i_amg_cuda_take(h, count, sizeof *to.rows);
    to.columns = to.rows ? dcsr_i_amg_cuda_take(h, count, sizeof *to.columns) : NULL;
    to.ratios = to.columns ? dcsr_i_amg_cuda_take(h, count, sizeof *to.ratios) : NULL;
    if (to.ratios) {
        dcsr_i_amg_cuda_fill_outside(h->stream, A, level->diagonal.data, dcsr_i_amg_outside_threshold(level),
                                     &to);
        dcsr_i_cuda_copy(h->stream, list->row_indices, to.rows, count * sizeof *to.rows);
        dcsr_i_cuda_copy(h->stream, list->col_indices, to.columns, count * sizeof *to.columns);
        dcsr_i_cuda_copy(h->stream, list->values, to.ratios, count * sizeof *to.ratios);
    }
    dcsr_i_amg_cuda_drop(h, to.ratios, count, sizeof *to.ratios);
    dcsr_i_amg_cuda_drop(h, to.columns, count, sizeof *to.columns);
    dcsr_i_amg_cuda_drop(h, to.rows, count, sizeof *to.rows);
    const dcsr_status waited = dcsr_i_cuda_wait(h->stream, "multi amg setup");
    return to.ratios ? waited : dcsr_i_no_memory();
}

dcsr_status dcsr_i_amg_cuda_list_outside(dcsr_coo *list, dcsr_i_amg_hierarchy *h,
                                         const dcsr_i_amg_level *level)
{
    const dcsr_i_amg_cuda_rows A = dcsr_i_amg_cuda_rows_of(&level->A.rows);
    uint32_t *counts = dcsr_i_amg_cuda_take(h, A.rows, sizeof *counts);
    uint64_t *begin = counts ? dcsr_i_amg_cuda_take(h, A.rows + 1, sizeof *begin) : NULL;
    dcsr_status status = begin ? DCSR_OK : dcsr_i_no_memory();
    if (!status) {
        dcsr_i_amg_cuda_count_outside(h->stream, &A, level->diagonal.data,
                                      dcsr_i_amg_outside_threshold(level), counts);
        status = dcsr_i_cuda_scan_u32(h->stream, counts, begin, A.rows);
    }
    const uint64_t *total = status ? NULL : dcsr_i_amg_cuda_read(h, begin + A.rows, sizeof *total);
    if (!status) status = h->failed;
    if (!status && *total) status = take_outside(list, h, level, &A, begin, *total);
    dcsr_i_amg_cuda_drop(h, begin, A.rows + 1, sizeof *begin);
    dcsr_i_amg_cuda_drop(h, counts, A.rows, sizeof *counts);
    return status;
}
