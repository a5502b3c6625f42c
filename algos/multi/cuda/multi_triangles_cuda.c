/* multi_triangles_cuda.c: triangles on several GPUs, of a graph whose edges are there in both directions.
 *
 *      degrees of own rows            | copy the others'      all have the degrees of all vertices
 *      lengths of own lists           | copy the others'      where each list begins
 *      own lists                      | copy the others'      all have all lists
 *      triangles of own vertices' lists, and those of each vertex, which each device adds up for its own
 *
 * Before each copying the devices meet; what is copied is not changed later. */
#include "algos/graph/cuda/graph_stages.h"
#include "algos/multi/cuda/multi_cuda.h"
#include "algos/multi/cuda/multi_triangles.h"
#include "dcsr/base/runtime.h"
#include "dcsr/device/prim_cuda.h"
#include "dcsr/store/rowtable.h"

static const char doing[] = "dcsr_multi_triangles";

typedef struct member {
    dcsr_context *context;
    dcsr_i_cuda_stream *stream;
    dcsr_i_cuda_walk walk; /* of its rows */
    uint64_t *walk_offsets;
    uint32_t *columns, *wrong; /* its rows as CSR; 1: some do not ascend strictly */
    uint32_t *degree, *kept;
    dcsr_i_graph_lists lists;
    unsigned long long *incoming; /* triangles of own vertices that another has found */
    uint64_t begin[DCSR_MAX_DEVICES + 1], triangles;
    bool unfit; /* an edge may be there more than once */
} member;

typedef struct counting {
    dcsr_multi_view *A;
    dcsr_multi_info devices;
    dcsr_multi_view_info info;
    uint64_t n;
    uint64_t *own; /* of each vertex; NULL: nobody asks */
    member member[DCSR_MAX_DEVICES];
} counting;

/* ---- Memory ---- */

static uint64_t counted(const counting *c, uint64_t n)
{
    return c->own ? n : 0;
}

static void *take(const member *m, uint64_t count, size_t size)
{
    return dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, count, size);
}

static void give(const member *m, void *block, uint64_t count, size_t size)
{
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, block, count, size);
}

static dcsr_status open_member(counting *c, uint64_t k)
{
    member *m = &c->member[k];
    dcsr_i_graph_lists *l = &m->lists;
    const uint64_t n = c->n;
    dcsr_view *part;
    dcsr_status status = dcsr_multi_view_get_part(c->A, k, &part);
    if (status) return status;
    m->context = c->devices.context[k];
    m->stream = dcsr_i_stream_borrow(m->context);
    if (!m->stream) return dcsr_i_no_memory();
    const dcsr_i_cuda_rows rows = dcsr_i_view_rows(part)->device;
    *l = (dcsr_i_graph_lists){.edges = rows, .first = c->info.border[k], .end = c->info.border[k + 1]};
    const bool taken =
        (m->walk_offsets = take(m, rows.rows + 1, sizeof *m->walk_offsets)) &&
        (m->columns = take(m, rows.stored, sizeof *m->columns)) &&
        (m->wrong = take(m, 1, sizeof *m->wrong)) && (m->degree = take(m, n, sizeof *m->degree)) &&
        (m->kept = take(m, rows.rows, sizeof *m->kept)) && (l->length = take(m, n, sizeof *l->length)) &&
        (l->begin = take(m, n + 1, sizeof *l->begin)) &&
        (l->is_long = take(m, rows.rows, sizeof *l->is_long)) &&
        (l->counts = take(m, 1, sizeof *l->counts)) && (!c->own || (l->own = take(m, n, sizeof *l->own))) &&
        (m->incoming = take(m, counted(c, rows.rows), sizeof *m->incoming));
    return taken ? DCSR_OK : dcsr_i_no_memory();
}

/* Its rows as CSR, and whether each edge is there once: then columns ascend. */
static dcsr_status make_rows(member *m)
{
    dcsr_i_graph_lists *l = &m->lists;
    const dcsr_i_cuda_walk walk = {l->edges, NULL, l->edges.rows, m->walk_offsets};
    uint32_t wrong;
    dcsr_status status = dcsr_i_cuda_sum_lengths(m->stream, &l->edges, NULL, l->edges.rows, m->walk_offsets);
    if (status) return status;
    if (l->edges.stored) dcsr_i_cuda_gather(m->stream, &walk, l->edges.stored, NULL, m->columns, NULL);
    l->edges.offsets = m->walk_offsets;
    l->edges.columns = m->columns;
    l->edges.values = NULL;
    l->edges.value_size = 0;
    m->walk = (dcsr_i_cuda_walk){l->edges, NULL, l->edges.rows, m->walk_offsets};
    dcsr_i_graph_look_for_descents(m->stream, l->edges, m->wrong);
    status = dcsr_i_cuda_read_back(m->stream, &wrong, m->wrong, sizeof wrong, doing);
    m->unfit = !status && wrong;
    return status;
}

static bool one_is_unfit(const counting *c)
{
    for (uint64_t k = 0; k < c->info.parts; k++)
        if (c->member[k].unfit) return true;
    return false;
}

static void close_member(const counting *c, uint64_t k)
{
    const member *m = &c->member[k];
    const dcsr_i_graph_lists *l = &m->lists;
    const uint64_t n = c->n, rows = l->edges.rows;
    if (!m->stream) return;
    give(m, m->incoming, counted(c, rows), sizeof *m->incoming);
    give(m, l->own, counted(c, n), sizeof *l->own);
    give(m, l->counts, 1, sizeof *l->counts);
    give(m, l->is_long, rows, sizeof *l->is_long);
    give(m, l->member, m->begin[c->info.parts], sizeof *l->member);
    give(m, l->begin, n + 1, sizeof *l->begin);
    give(m, l->length, n, sizeof *l->length);
    give(m, m->kept, rows, sizeof *m->kept);
    give(m, m->degree, n, sizeof *m->degree);
    give(m, m->wrong, 1, sizeof *m->wrong);
    give(m, m->columns, l->edges.stored, sizeof *m->columns);
    give(m, m->walk_offsets, rows + 1, sizeof *m->walk_offsets);
    dcsr_i_cuda_settle(m->stream, doing);
    dcsr_i_stream_return(m->context, m->stream);
}

/* ---- Between devices ---- */

/* What the device has put on its stream is there for the others, if `status` is that of putting it. */
static dcsr_status meet(const counting *c, uint64_t k, dcsr_status status)
{
    if (!status) status = dcsr_i_cuda_wait(c->member[k].stream, doing);
    return dcsr_multi_meet(c->info.devices, status);
}

/* Elements [begin[j], begin[j + 1]) of device j's array to the same places of this one's, for all others. */
static void copy_from(const counting *c, uint64_t k, uint64_t j, uint32_t *to, const uint32_t *from,
                      const uint64_t *begin)
{
    const member *m = &c->member[k];
    dcsr_i_cuda_copy_peer(m->stream, to + begin[j], dcsr_i_cuda_device_of(m->stream), from + begin[j],
                          dcsr_i_cuda_device_of(c->member[j].stream), (begin[j + 1] - begin[j]) * sizeof *to);
}

/* ---- Steps ---- */

static dcsr_status find_begins(counting *c, member *m)
{
    const uint64_t parts = c->info.parts;
    dcsr_i_graph_lists *l = &m->lists;
    dcsr_status status = dcsr_i_cuda_scan_u32(m->stream, l->length, l->begin, c->n);
    uint64_t *begin = dcsr_i_cuda_landing(m->stream, (parts + 1) * sizeof *begin);
    for (uint64_t j = 0; j <= parts && begin; j++)
        dcsr_i_cuda_copy(m->stream, begin + j, l->begin + c->info.border[j], sizeof *begin);
    if (!status) status = dcsr_i_cuda_wait(m->stream, doing);
    if (status) return status;
    for (uint64_t j = 0; j <= parts; j++) m->begin[j] = begin[j];
    l->member = take(m, m->begin[parts], sizeof *l->member);
    return l->member ? DCSR_OK : dcsr_i_no_memory();
}

static dcsr_status make_lists(counting *c, uint64_t k)
{
    member *m = &c->member[k];
    const uint64_t parts = c->info.parts, first = c->info.border[k], *border = c->info.border;
    dcsr_i_graph_lists *l = &m->lists;
    dcsr_status status = open_member(c, k);
    if (!status) status = make_rows(m);
    if (status) return dcsr_multi_meet(c->info.devices, status);
    dcsr_i_multi_measure_rows(m->stream, l->edges, first, m->degree);
    status = meet(c, k, DCSR_OK);
    if (status || one_is_unfit(c)) return status;
    for (uint64_t i = 1; i < parts; i++) {
        const uint64_t j = (k + i) % parts;
        copy_from(c, k, j, m->degree, c->member[j].degree, border);
    }
    dcsr_i_multi_count_kept(m->stream, &m->walk, first, m->degree, l->length);
    status = meet(c, k, DCSR_OK);
    if (status) return status;
    for (uint64_t i = 1; i < parts; i++) {
        const uint64_t j = (k + i) % parts;
        copy_from(c, k, j, l->length, c->member[j].lists.length, border);
    }
    status = find_begins(c, m);
    if (!status) {
        dcsr_i_cuda_fill(m->stream, m->kept, 0, l->edges.rows * sizeof *m->kept);
        dcsr_i_multi_list_kept(m->stream, &m->walk, first, m->degree, l->begin, m->kept, l->member);
    }
    status = meet(c, k, status);
    for (uint64_t i = 1; i < parts && !status; i++) {
        const uint64_t j = (k + i) % parts;
        copy_from(c, k, j, l->member, c->member[j].lists.member, m->begin);
    }
    return status;
}

/* Triangles of own vertices, of all devices. */
static dcsr_status add_own(counting *c, uint64_t k)
{
    const member *m = &c->member[k];
    const uint64_t parts = c->info.parts, first = c->info.border[k], n = c->info.border[k + 1] - first;
    for (uint64_t i = 1; i < parts; i++) {
        const member *from = &c->member[(k + i) % parts];
        dcsr_i_cuda_copy_peer(m->stream, m->incoming, dcsr_i_cuda_device_of(m->stream),
                              from->lists.own + first, dcsr_i_cuda_device_of(from->stream),
                              n * sizeof *m->incoming);
        dcsr_i_multi_add_counts(m->stream, m->lists.own + first, m->incoming, n);
    }
    return dcsr_i_cuda_deliver(m->stream, c->own + first, m->lists.own + first, n * sizeof *c->own,
                               m->context, doing);
}

static dcsr_status count(counting *c, uint64_t k)
{
    member *m = &c->member[k];
    dcsr_i_graph_lists *l = &m->lists;
    dcsr_i_graph_triangle_counts counts;
    dcsr_status status = make_lists(c, k);
    if (status || one_is_unfit(c)) return status;
    dcsr_i_cuda_fill(m->stream, l->counts, 0, sizeof *l->counts);
    if (c->own) dcsr_i_cuda_fill(m->stream, l->own, 0, c->n * sizeof *l->own);
    dcsr_i_graph_count_triangles(m->stream, l);
    status = dcsr_i_cuda_read_back(m->stream, &counts, l->counts, sizeof counts, doing);
    if (!status) m->triangles = counts.triangles;
    if (!c->own) return status;
    status = meet(c, k, status);
    return status ? status : add_own(c, k);
}

/* Others may still copy from its memory. */
static dcsr_status count_part(void *user, uint64_t k)
{
    counting *c = user;
    dcsr_status status = count(c, k);
    if (c->member[k].stream) {
        dcsr_status waited = dcsr_i_cuda_wait(c->member[k].stream, doing);
        if (!status) status = waited;
    }
    status = dcsr_multi_meet(c->info.devices, status);
    close_member(c, k);
    return status;
}

dcsr_status dcsr_i_multi_graph_triangles(uint64_t *own, uint64_t *all, bool *done, dcsr_multi_view *A)
{
    counting c = {.A = A, .own = own};
    dcsr_status status = dcsr_multi_view_get_info(A, &c.info);
    if (!status) status = dcsr_multi_get_info(c.info.devices, &c.devices);
    c.n = c.info.rows;
    if (!status) status = dcsr_multi_run(c.info.devices, count_part, &c);
    *all = 0;
    *done = !one_is_unfit(&c);
    for (uint64_t k = 0; k < c.info.parts && !status; k++) *all += c.member[k].triangles;
    return status;
}
