/* prolongator_cuda.c: T and P on a device: memory, and the order of kernels. */
#include "amg/cuda/amg_stages.h"
#include "dcsr/device/prim_cuda.h"
#include <dcsr/convert.h>

/* ---- T ---- */

/* The nodes are sorted by aggregate; those of none come last. */
static dcsr_status tentative(double *T, double *coarse, dcsr_i_amg_hierarchy *h,
                             const dcsr_i_amg_level *level, const dcsr_i_amg_partition *parts,
                             uint64_t vectors)
{
    const uint64_t nodes = level->rows / level->block, words = 2 * nodes + parts->count + 1;
    uint64_t *memory = dcsr_i_amg_cuda_take(h, words, sizeof *memory);
    if (!memory) return dcsr_i_no_memory();
    uint64_t *keys = memory, *spare = keys + nodes, *begin = spare + nodes;
    dcsr_i_amg_cuda_key_nodes(h->stream, nodes, parts->aggregate, parts->count, keys);
    dcsr_status status = dcsr_i_cuda_sort(h->stream, &keys, &spare, NULL, NULL, nodes, 32,
                                          32 + dcsr_i_amg_cuda_bits(parts->count));
    if (!status) {
        const dcsr_i_amg_cuda_pieces pieces = {keys, begin, parts->count, level->block, vectors};
        dcsr_i_cuda_find_begins(h->stream, keys, nodes, 32, parts->count, begin);
        dcsr_i_amg_cuda_factorise(h->stream, &pieces, T, coarse);
    }
    dcsr_i_amg_cuda_drop(h, memory, words, sizeof *memory);
    return status;
}

/* ---- P ---- */

/* What is made on the way. */
typedef struct room {
    uint64_t reached_count, entries;
    uint32_t *reached, *counts, *columns;
    uint64_t *sums, *offsets;
    double *values;
} room;

static dcsr_status count(room *m, dcsr_i_amg_hierarchy *h, dcsr_i_amg_cuda_prolongation *p)
{
    const uint64_t nodes = p->graph.count;
    m->reached = dcsr_i_amg_cuda_take(h, m->reached_count, sizeof *m->reached);
    if (m->reached) m->counts = dcsr_i_amg_cuda_take(h, nodes, sizeof *m->counts);
    if (m->counts) m->sums = dcsr_i_amg_cuda_take(h, nodes + 1, sizeof *m->sums);
    if (!m->sums) return dcsr_i_no_memory();
    p->reached = m->reached;
    p->counts = m->counts;
    p->sums = m->sums;
    dcsr_i_amg_cuda_reach(h->stream, p);
    DCSR_I_AMG_TRY(dcsr_i_cuda_scan_u32(h->stream, m->counts, m->sums, nodes));
    const uint64_t *total = dcsr_i_amg_cuda_read(h, m->sums + nodes, sizeof *total);
    if (total) m->entries = *total * p->block * p->vectors;
    return h->failed;
}

static dcsr_status fill(room *m, dcsr_i_amg_hierarchy *h, dcsr_i_amg_cuda_prolongation *p)
{
    m->offsets = dcsr_i_amg_cuda_take(h, p->A.rows + 1, sizeof *m->offsets);
    if (m->offsets) m->columns = dcsr_i_amg_cuda_take(h, m->entries, sizeof *m->columns);
    if (m->columns) m->values = dcsr_i_amg_cuda_take(h, m->entries, sizeof *m->values);
    if (!m->values) return dcsr_i_no_memory();
    p->offsets = m->offsets;
    p->columns = m->columns;
    p->values = m->values;
    dcsr_i_amg_cuda_fill_rows(h->stream, p);
    return DCSR_OK;
}

static void leave(room *m, dcsr_i_amg_hierarchy *h, const dcsr_i_amg_cuda_prolongation *p)
{
    const uint64_t nodes = p->graph.count;
    dcsr_i_amg_cuda_drop(h, m->reached, m->reached_count, sizeof *m->reached);
    dcsr_i_amg_cuda_drop(h, m->counts, nodes, sizeof *m->counts);
    dcsr_i_amg_cuda_drop(h, m->sums, nodes + 1, sizeof *m->sums);
    dcsr_i_amg_cuda_drop(h, m->offsets, p->A.rows + 1, sizeof *m->offsets);
    dcsr_i_amg_cuda_drop(h, m->columns, m->entries, sizeof *m->columns);
    dcsr_i_amg_cuda_drop(h, m->values, m->entries, sizeof *m->values);
}

/* The matrix is read from these arrays before the call returns. */
static dcsr_status make_matrix(dcsr_matrix **P, const dcsr_i_amg_hierarchy *h, const room *m, uint64_t rows,
                               uint64_t cols)
{
    const dcsr_csr csr = {rows, cols, m->entries, DCSR_FP64, m->offsets, m->columns, m->values};
    return dcsr_matrix_from_csr_device(P, h->context, &csr, dcsr_i_cuda_handle(h->stream), NULL);
}

dcsr_status dcsr_i_amg_cuda_prolongator(dcsr_i_amg_level *level, double *T, double *coarse,
                                        dcsr_i_amg_hierarchy *h, const dcsr_i_amg_graph *graph,
                                        const dcsr_i_amg_partition *parts, uint64_t vectors)
{
    dcsr_i_amg_cuda_prolongation p = {.A = dcsr_i_amg_cuda_rows_of(&level->A.rows),
                                      .graph = dcsr_i_amg_cuda_graph_of(graph),
                                      .aggregate = parts->aggregate,
                                      .T = T,
                                      .diagonal = level->diagonal.data,
                                      .block = level->block,
                                      .vectors = vectors,
                                      .factor = h->options.omega / level->told.rho};
    room m = {.reached_count = graph->neighbours.count + graph->count};
    DCSR_I_AMG_TRY(tentative(T, coarse, h, level, parts, vectors));
    dcsr_status status = count(&m, h, &p);
    if (!status) status = fill(&m, h, &p);
    if (!status) status = make_matrix(&level->P.matrix, h, &m, p.A.rows, parts->count * vectors);
    leave(&m, h, &p);
    return status ? status : dcsr_i_amg_matrix_view(&level->P);
}
