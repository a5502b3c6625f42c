/* multi_components_cuda.c: weakly connected components on several GPUs.
 *
 * Each device has a parent for every vertex, and links the edges of its own rows, as one device does (Afforest). Then
 * devices gather each other's forests and join them into their own, after which all have the same trees:
 *
 *      two edges of each vertex | join forests | edges of those that most are not with | join forests
 *
 * Edges of vertices in the largest tree are left out, which needs each edge in both directions, and that all devices
 * mean the same tree: an edge between two that are in it needs no link, and of others one end is not in it. So without
 * that knowledge all edges are linked, and forests are joined once.
 *
 * parent[v] <= v always, so the root of a finished tree is the least vertex of its component, whatever the order. */
#include "algos/graph/cuda/graph_stages.h"
#include "algos/multi/cuda/multi_cuda.h"
#include "dcsr/base/runtime.h"
#include "dcsr/device/all_gather_cuda.h"
#include "dcsr/store/rowtable.h"

/* What copying names to the host takes at a time, so that it cannot fail for lack of memory at the end, when others may
 * have written theirs. */
enum { ROUNDS = 2, LANDING = 16 << 20 };

static const char doing[] = "dcsr_multi_components";

/* What one device has. The others gather its parents between two meetings, and it leaves them alone meanwhile. */
typedef struct member {
    dcsr_context *context;
    dcsr_i_cuda_stream *stream;
    dcsr_i_cuda_walk edges; /* of its rows */
    uint64_t *own_offsets;  /* of the walk, if the view has none */
    uint32_t *parent, *incoming, *frequent, *size;
    dcsr_i_graph_sizes *sizes;
} member;

typedef struct finding {
    dcsr_multi_view *A;
    dcsr_multi_info devices;
    dcsr_multi_view_info info;
    uint64_t n;
    bool symmetric;
    uint32_t *component;
    bool measured; /* *found is wanted */
    dcsr_i_graph_sizes found;
    member member[DCSR_MAX_DEVICES];
} finding;

/* ---- Memory ---- */

static uint64_t measured(const finding *f, uint64_t k)
{
    return f->measured && !k ? f->n : 0;
}

static void *take(const member *m, uint64_t count, size_t size)
{
    return dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, count, size);
}

static dcsr_status open_member(finding *f, uint64_t k)
{
    member *m = &f->member[k];
    dcsr_view *part;
    dcsr_status status = dcsr_multi_view_get_part(f->A, k, &part);
    if (status) return status;
    m->context = f->devices.context[k];
    m->stream = dcsr_i_stream_borrow(m->context);
    if (!m->stream) return dcsr_i_no_memory();
    const dcsr_i_cuda_rows rows = dcsr_i_view_rows(part)->device;
    m->edges = (dcsr_i_cuda_walk){rows, NULL, rows.rows, rows.offsets};
    const bool taken = (m->parent = take(m, f->n, sizeof *m->parent)) &&
                       (m->incoming = take(m, f->info.parts * f->n, sizeof *m->incoming)) &&
                       (m->frequent = take(m, 1, sizeof *m->frequent)) &&
                       (m->size = take(m, measured(f, k), sizeof *m->size)) &&
                       (m->sizes = take(m, 1, sizeof *m->sizes)) &&
                       (m->own_offsets = take(m, rows.offsets ? 0 : rows.rows + 1, sizeof *m->own_offsets));
    if (!taken) return dcsr_i_no_memory();
    const size_t landing = rows.rows * sizeof *f->component;
    if (!dcsr_i_cuda_landing(m->stream, landing < LANDING ? landing : (size_t)LANDING))
        return dcsr_i_cuda_wait(m->stream, doing);
    if (rows.offsets) return DCSR_OK;
    m->edges.offsets = m->own_offsets;
    return dcsr_i_cuda_sum_lengths(m->stream, &rows, NULL, rows.rows, m->own_offsets);
}

static void give(const member *m, void *block, uint64_t count, size_t size)
{
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, block, count, size);
}

static void close_member(const finding *f, uint64_t k)
{
    const member *m = &f->member[k];
    const dcsr_i_cuda_rows *rows = &m->edges.rows;
    if (!m->stream) return;
    give(m, m->own_offsets, rows->offsets ? 0 : rows->rows + 1, sizeof *m->own_offsets);
    give(m, m->sizes, 1, sizeof *m->sizes);
    give(m, m->size, measured(f, k), sizeof *m->size);
    give(m, m->frequent, 1, sizeof *m->frequent);
    give(m, m->incoming, f->info.parts * f->n, sizeof *m->incoming);
    give(m, m->parent, f->n, sizeof *m->parent);
    dcsr_i_cuda_settle(m->stream, doing);
    dcsr_i_stream_return(m->context, m->stream);
}

/* ---- Steps ---- */

/* Whoever has gathered meets the others, so that all leave their parents alone as long. */
static dcsr_status gather_forests(finding *f, uint64_t k, int which)
{
    const member *m = &f->member[k];
    dcsr_i_cuda_offer(m->stream, which, m->parent);
    dcsr_status status = dcsr_multi_meet(f->info.devices, dcsr_i_cuda_wait(m->stream, doing));
    if (status) return status;
    status = dcsr_i_cuda_all_gather(m->stream, which, m->incoming, f->n * sizeof *m->parent);
    if (!status) status = dcsr_i_cuda_wait(m->stream, doing);
    return dcsr_multi_meet(f->info.devices, dcsr_i_cuda_all_gathered(m->stream, status));
}

static dcsr_status join_forests(finding *f, uint64_t k, int which)
{
    const member *m = &f->member[k];
    const dcsr_status status = gather_forests(f, k, which);
    if (status) return status;
    for (uint64_t i = 0; i < f->info.parts; i++)
        if (i != k) dcsr_i_graph_join_trees(m->stream, m->parent, m->incoming + i * f->n, f->n);
    dcsr_i_graph_flatten(m->stream, m->parent, f->n);
    return DCSR_OK;
}

static dcsr_status begin(finding *f, uint64_t k)
{
    const dcsr_status status = open_member(f, k);
    const member *m = &f->member[k];
    if (status) return status;
    dcsr_i_graph_plant(m->stream, m->parent, f->n);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        dcsr_i_graph_link_round(m->stream, m->parent, m->edges.rows, f->info.border[k], round);
        dcsr_i_graph_flatten(m->stream, m->parent, f->n);
    }
    return DCSR_OK;
}

static dcsr_status connect(finding *f, uint64_t k)
{
    const member *m = &f->member[k];
    dcsr_status status = begin(f, k);
    if (status) return dcsr_multi_meet(f->info.devices, status);
    if (f->symmetric) {
        status = join_forests(f, k, 0);
        if (status) return status;
        dcsr_i_graph_sample(m->stream, m->parent, f->n, m->frequent);
    }
    dcsr_i_graph_link(m->stream, m->parent, &m->edges, f->info.border[k], f->symmetric ? m->frequent : NULL);
    dcsr_i_graph_flatten(m->stream, m->parent, f->n);
    return join_forests(f, k, 1);
}

/* All have the same trees: each gives the vertices of its rows, and the first counts. */
static dcsr_status tell(finding *f, uint64_t k)
{
    const member *m = &f->member[k];
    const uint64_t first = f->info.border[k], n = f->info.border[k + 1] - first;
    dcsr_status status = DCSR_OK;
    if (measured(f, k)) {
        dcsr_i_graph_sample(m->stream, m->parent, f->n, m->frequent);
        dcsr_i_graph_measure(m->stream, m->parent, f->n, m->size, m->frequent, m->sizes);
        status = dcsr_i_cuda_read_back(m->stream, &f->found, m->sizes, sizeof f->found, doing);
    }
    if (!status && f->component)
        status = dcsr_i_cuda_deliver(m->stream, f->component + first, m->parent + first,
                                     n * sizeof *f->component, m->context, doing);
    return status ? status : dcsr_i_cuda_wait(m->stream, doing);
}

static dcsr_status find_part(void *user, uint64_t k)
{
    finding *f = user;
    dcsr_status status = connect(f, k);
    if (!status) status = tell(f, k);
    close_member(f, k);
    return status;
}

static dcsr_status components(uint32_t *component, dcsr_components_result *result, dcsr_multi_view *A,
                              bool symmetric)
{
    finding f = {.A = A, .symmetric = symmetric, .component = component, .measured = result};
    dcsr_status status = dcsr_multi_view_get_info(A, &f.info);
    if (!status) status = dcsr_multi_get_info(f.info.devices, &f.devices);
    f.n = f.info.rows;
    if (!status) status = dcsr_multi_run(f.info.devices, find_part, &f);
    if (status) return status;
    if (result)
        *result = (dcsr_components_result){.components = f.found.components,
                                           .largest = f.found.largest >> 32,
                                           .largest_name = f.n ? UINT32_MAX - (uint32_t)f.found.largest : 0};
    return DCSR_OK;
}

const dcsr_i_multi_graph dcsr_i_multi_graph_cuda = {
    .components = components, .sssp = dcsr_i_multi_graph_sssp, .triangles = dcsr_i_multi_graph_triangles};
