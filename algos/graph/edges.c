/* edges.c: the edges of a view for the algorithms of this folder. */
#include "algos/graph/edges.h"
#include "algos/graph/cuda/graph_cuda.h"
#include <dcsr/ewise.h>
#include <dcsr/transpose.h>
#include <stdatomic.h>
#include <string.h>

void *dcsr_i_edges_take(dcsr_i_edges *e, uint64_t count, size_t size)
{
    if (e->status) return NULL;
    void *memory = dcsr_context_allocate(e->context, count, size);
    if (!memory) {
        e->status = dcsr_thread_status();
        return NULL;
    }
    dcsr_i_edges_keep(e, memory, count, size, false);
    return memory;
}

dcsr_status dcsr_i_edges_close(dcsr_i_edges *e)
{
    if (e->stream) dcsr_i_graph_device->close(e);
    while (e->blocks--)
        dcsr_context_free(e->context, e->block[e->blocks].memory, e->block[e->blocks].count,
                          e->block[e->blocks].size);
    dcsr_view_destroy(e->view);
    dcsr_matrix_destroy(e->matrix);
    dcsr_multi_view_destroy(e->parts_view);
    dcsr_multi_matrix_destroy(e->parts);
    return e->status;
}

static dcsr_status check_square(dcsr_i_edges *e, uint64_t rows, uint64_t cols)
{
    if (rows == cols) return DCSR_OK;
    return e->status = dcsr_thread_fail(DCSR_ERROR_DIMENSION_MISMATCH,
                                        "%s: the view has %llu rows and %llu columns; a graph is square",
                                        e->call, (unsigned long long)rows, (unsigned long long)cols);
}

/* Fills in what is known without reading. */
static dcsr_status open_view(dcsr_i_edges *e, dcsr_view *A, const char *call, bool on_device)
{
    dcsr_view_shape shape;
    *e = (dcsr_i_edges){.call = call};
    e->status = dcsr_view_get_shape(A, &shape);
    if (e->status) return e->status;
    if (check_square(e, shape.rows, shape.cols)) return e->status;
    e->context = e->team = shape.context;
    e->vertices = shape.rows;
    e->count = shape.nnz;
    e->type = shape.type;
    e->size = dcsr_type_size(shape.type);
    e->layout = shape.layout;
    return on_device ? dcsr_i_graph_device->open(e) : DCSR_OK;
}

static dcsr_status lend_csr(dcsr_i_edges *e, dcsr_view *A)
{
    dcsr_csr csr;
    e->status = (e->stream ? dcsr_view_get_csr : dcsr_view_get_csr_on_host)(A, &csr);
    if (e->status) return e->status;
    e->offsets = csr.offsets;
    e->columns = csr.col_indices;
    e->values = csr.values;
    e->count = csr.nnz;
    return DCSR_OK;
}

/* ---- Rows where they are ---- */

/* The rows of a view are vertices from the first-th on. */
typedef struct stretch {
    dcsr_view *view;
    uint64_t first, rows;
} stretch;

/* Copies rows that are in several pieces, of which only the length is known, to one place. */
static void join_pieces(dcsr_i_edges *e, const stretch *of, const uint64_t *begin, uint32_t *vertex,
                        char *values)
{
    const size_t size = dcsr_type_size(e->type);
    const int threads = dcsr_i_edges_threads(e, e->count);
#pragma omp parallel for schedule(dynamic, 1024) num_threads(threads) if (threads > 1)
    for (uint64_t i = 0; i < of->rows; i++) {
        const uint64_t v = of->first + i;
        dcsr_i_ends *row = &e->rows[v];
        if (row->vertex || !row->count) continue;
        dcsr_piece pieces[DCSR_MAX_SEGMENTS];
        int count = 0;
        uint64_t at = begin[v];
        row->vertex = vertex + at;
        row->values = values + at * size;
        dcsr_view_get_pieces(of->view, i, pieces, &count);
        for (int k = 0; k < count; k++) {
            memcpy(vertex + at, pieces[k].cols, pieces[k].length * sizeof *vertex);
            if (size) memcpy(values + at * size, pieces[k].values, pieces[k].length * size);
            at += pieces[k].length;
        }
    }
}

/* Returns how many edges are in rows of several pieces. */
static uint64_t find_pieces(dcsr_i_edges *e, const stretch *of)
{
    const int threads = dcsr_i_edges_threads(e, e->vertices);
    uint64_t joined = 0;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1) reduction(+ : joined)
    for (uint64_t i = 0; i < of->rows; i++) {
        dcsr_piece pieces[DCSR_MAX_SEGMENTS];
        dcsr_i_ends row = {0};
        int count = 0;
        dcsr_view_get_pieces(of->view, i, pieces, &count);
        for (int k = 0; k < count; k++) row.count += pieces[k].length;
        if (count == 1) row.vertex = pieces[0].cols, row.values = pieces[0].values;
        if (count > 1) joined += row.count;
        e->rows[of->first + i] = row;
    }
    return joined;
}

/* Rows of a view on a device come to the host when one is first asked for: what can fail, fails here. */
static dcsr_status bring_rows(dcsr_view *view, uint64_t rows)
{
    dcsr_piece first[DCSR_MAX_SEGMENTS];
    int count;
    return rows ? dcsr_view_get_pieces(view, 0, first, &count) : DCSR_OK;
}

/* Behind bring_rows(). */
static dcsr_status find_rows(dcsr_i_edges *e, const stretch *stretches, uint64_t count)
{
    uint64_t joined = 0, at = 0;
    e->rows = dcsr_i_edges_take(e, e->vertices, sizeof *e->rows);
    for (uint64_t s = 0; s < count && !e->status; s++) joined += find_pieces(e, &stretches[s]);
    if (e->status || !joined) return e->status;
    uint64_t *begin = dcsr_i_edges_take(e, e->vertices, sizeof *begin);
    uint32_t *vertex = dcsr_i_edges_take(e, joined, sizeof *vertex);
    char *values = dcsr_i_edges_take(e, joined, dcsr_type_size(e->type));
    if (e->status) return e->status;
    for (uint64_t v = 0; v < e->vertices; v++) {
        begin[v] = at;
        if (!e->rows[v].vertex) at += e->rows[v].count;
    }
    for (uint64_t s = 0; s < count; s++) join_pieces(e, &stretches[s], begin, vertex, values);
    return DCSR_OK;
}

static dcsr_status take_out(dcsr_i_edges *e, dcsr_view *A, const char *call, bool on_device)
{
    dcsr_status status = open_view(e, A, call, on_device);
    if (status) return status;
    if (e->layout == DCSR_LAYOUT_CSR) return lend_csr(e, A);
    if (on_device) return dcsr_i_graph_device->gather(e, A);
    e->status = bring_rows(A, e->vertices);
    return e->status ? e->status : find_rows(e, &(stretch){A, 0, e->vertices}, 1);
}

/* A pattern of this graph's size, and then a CSR view of it. */
static dcsr_status make_matrix(dcsr_i_edges *e)
{
    e->type = DCSR_PATTERN;
    e->size = 0;
    return e->status =
               dcsr_matrix_create(&e->matrix, e->context, DCSR_PATTERN, e->vertices, e->vertices, NULL);
}

static dcsr_status lend_matrix(dcsr_i_edges *e)
{
    if (!e->status) e->status = dcsr_view_create(&e->view, e->matrix, DCSR_LAYOUT_CSR, DCSR_VIEW_SORTED);
    return e->status ? e->status : lend_csr(e, e->view);
}

static dcsr_status take_in(dcsr_i_edges *e, dcsr_view *A, const char *call, bool on_device)
{
    dcsr_csc csc;
    dcsr_status status = open_view(e, A, call, on_device);
    if (status) return status;
    if (e->layout == DCSR_LAYOUT_CSC) {
        e->status = (on_device ? dcsr_view_get_csc : dcsr_view_get_csc_on_host)(A, &csc);
        if (e->status) return e->status;
        e->type = DCSR_PATTERN;
        e->size = 0;
        e->offsets = csc.offsets;
        e->columns = csc.row_indices;
        e->count = csc.nnz;
        return DCSR_OK;
    }
    if (make_matrix(e)) return e->status;
    e->status = dcsr_matrix_transpose(e->matrix, NULL, NULL, A, NULL);
    return lend_matrix(e);
}

/* Merges A and its transpose, or A and itself if it is symmetric: rows are sorted, and have each end once. */
static dcsr_status merge(dcsr_i_edges *e, dcsr_view *A, bool symmetric, const char *call, bool on_device)
{
    if (open_view(e, A, call, on_device) || make_matrix(e)) return e->status;
    e->status = dcsr_matrix_ewise_add(e->matrix, NULL, NULL, dcsr_binary_op_of(DCSR_BINARY_LOR, DCSR_BOOL), A,
                                      A, &(dcsr_desc){.transpose_b = !symmetric});
    return lend_matrix(e);
}

static bool ascends(dcsr_i_edges *e)
{
    if (e->stream) return dcsr_i_graph_device->ascends(e);
    const int threads = dcsr_i_edges_threads(e, e->count);
    bool wrong = false;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1) reduction(|| : wrong)
    for (uint64_t v = 0; v < e->vertices; v++) {
        const dcsr_i_ends ends = dcsr_i_edges_of(e, v);
        bool here = false;
        for (uint64_t k = 1; k < ends.count; k++) here |= ends.vertex[k] <= ends.vertex[k - 1];
        wrong = wrong || here;
    }
    return !wrong;
}

static dcsr_status take_once(dcsr_i_edges *e, dcsr_view *A, bool symmetric, const char *call, bool on_device)
{
    if (!symmetric) return merge(e, A, false, call, on_device);
    if (take_out(e, A, call, on_device) || ascends(e) || e->status) return e->status;
    dcsr_i_edges_close(e);
    return merge(e, A, true, call, on_device);
}

dcsr_status dcsr_i_edges_open(dcsr_i_edges *e, dcsr_view *A, bool on_device, dcsr_i_edges_kind kind,
                              bool symmetric, const char *call)
{
    switch (kind) {
    case DCSR_I_EDGES_OUT:
        return take_out(e, A, call, on_device);
    case DCSR_I_EDGES_IN:
        return take_in(e, A, call, on_device);
    case DCSR_I_EDGES_BOTH:
        return symmetric ? take_out(e, A, call, on_device) : merge(e, A, false, call, on_device);
    default:
        return take_once(e, A, symmetric, call, on_device);
    }
}

/* ---- Several devices ---- */

/* Each edge also from its other end: rows behind one another, of which threads take places by counting. */
static dcsr_status mirror(dcsr_i_edges *e)
{
    typedef _Atomic uint64_t place;
    const uint64_t n = e->vertices;
    const int threads = dcsr_i_edges_threads(e, e->count);
    uint64_t *offsets = dcsr_i_edges_take(e, n + 1, sizeof *offsets);
    place *next = dcsr_i_edges_take(e, n, sizeof *next);
    uint32_t *columns = dcsr_i_edges_take(e, 2 * e->count, sizeof *columns);
    if (e->status) return e->status;
#pragma omp parallel for schedule(dynamic, 1024) num_threads(threads) if (threads > 1)
    for (uint64_t v = 0; v < n; v++) {
        const dcsr_i_ends ends = e->rows[v];
        atomic_fetch_add_explicit(&next[v], ends.count, memory_order_relaxed);
        for (uint64_t k = 0; k < ends.count; k++)
            atomic_fetch_add_explicit(&next[ends.vertex[k]], 1, memory_order_relaxed);
    }
    for (uint64_t v = 0; v < n; v++) {
        offsets[v + 1] = offsets[v] + atomic_load_explicit(&next[v], memory_order_relaxed);
        atomic_store_explicit(&next[v], offsets[v], memory_order_relaxed);
    }
#pragma omp parallel for schedule(dynamic, 1024) num_threads(threads) if (threads > 1)
    for (uint64_t v = 0; v < n; v++) {
        const dcsr_i_ends ends = e->rows[v];
        const uint64_t at = atomic_fetch_add_explicit(&next[v], ends.count, memory_order_relaxed);
        if (ends.count) memcpy(columns + at, ends.vertex, ends.count * sizeof *columns);
        for (uint64_t k = 0; k < ends.count; k++)
            columns[atomic_fetch_add_explicit(&next[ends.vertex[k]], 1, memory_order_relaxed)] = (uint32_t)v;
    }
    e->type = DCSR_PATTERN;
    e->size = 0;
    e->count *= 2;
    e->offsets = offsets;
    e->columns = columns;
    e->values = NULL;
    return DCSR_OK;
}

/* Those of all devices at once. */
static dcsr_status bring_part(void *user, uint64_t k)
{
    dcsr_view *part;
    dcsr_view_shape shape;
    dcsr_status status = dcsr_multi_view_get_part(user, k, &part);
    if (!status) status = dcsr_view_get_shape(part, &shape);
    return status ? status : bring_rows(part, shape.rows);
}

/* Finds the rows of all parts. */
static dcsr_status find_parts(dcsr_i_edges *e, dcsr_multi_view *A)
{
    dcsr_multi_view_info info;
    stretch part[DCSR_MAX_DEVICES];
    e->status = dcsr_multi_view_get_info(A, &info);
    e->count = info.nnz;
    for (uint64_t k = 0; k < info.parts && !e->status; k++) {
        part[k] = (stretch){.first = info.border[k], .rows = info.border[k + 1] - info.border[k]};
        e->status = dcsr_multi_view_get_part(A, k, &part[k].view);
    }
    if (!e->status) e->status = dcsr_multi_run(info.devices, bring_part, A);
    return e->status ? e->status : find_rows(e, part, info.parts);
}

dcsr_status dcsr_i_edges_of_parts(dcsr_i_edges *e, dcsr_multi_view *A, dcsr_i_edges_kind kind,
                                  const char *call)
{
    dcsr_multi_view_info info;
    dcsr_multi_info devices;
    *e = (dcsr_i_edges){.call = call};
    e->status = dcsr_multi_view_get_info(A, &info);
    if (!e->status) e->status = dcsr_multi_get_info(info.devices, &devices);
    if (e->status || check_square(e, info.rows, info.cols)) return e->status;
    e->context = devices.context[0];
    e->team = devices.host;
    e->vertices = info.rows;
    e->type = info.type;
    e->size = dcsr_type_size(info.type);
    e->layout = DCSR_LAYOUT_SEGMENTS;
    if (kind == DCSR_I_EDGES_IN) {
        e->status = dcsr_multi_transpose(&e->parts, A, NULL);
        if (!e->status) e->status = dcsr_multi_view_create(&e->parts_view, e->parts, DCSR_LAYOUT_SEGMENTS, 0);
        return e->status ? e->status : find_parts(e, e->parts_view);
    }
    return find_parts(e, A) || kind == DCSR_I_EDGES_OUT ? e->status : mirror(e);
}
