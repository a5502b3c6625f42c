/* truss_cuda.c: k-trusses on a device: memory, and rounds of peeling. */
#include "algos/graph/cuda/graph_stages.h"
#include "dcsr/device/prim_cuda.h"
#include <dcsr/convert.h>

/* Numbers the edges and counts the triangles of each. */
static void prepare(dcsr_i_edges *e, dcsr_i_graph_truss *t)
{
    const uint64_t n = e->vertices;
    t->edges = dcsr_i_graph_rows(e);
    t->upper = dcsr_i_graph_take(e, n, sizeof *t->upper);
    t->begin = dcsr_i_graph_take(e, n + 1, sizeof *t->begin);
    if (e->status) return;
    dcsr_i_graph_count_upper(e->stream, t);
    e->status = dcsr_i_cuda_scan_u32(e->stream, t->upper, t->begin, n);
    dcsr_i_graph_read(e, &t->count, t->begin + n, sizeof t->count);
    if (!e->status && t->count >= UINT32_MAX) e->status = dcsr_i_ktruss_refuse(t->count);
    /* One more than there are, for loops. */
    t->number = dcsr_i_graph_take(e, e->count, sizeof *t->number);
    t->from = dcsr_i_graph_take(e, t->count + 1, sizeof *t->from);
    t->to = dcsr_i_graph_take(e, t->count + 1, sizeof *t->to);
    t->support = dcsr_i_graph_take(e, t->count + 1, sizeof *t->support);
    t->state = dcsr_i_graph_take(e, t->count + 1, sizeof *t->state);
    for (int i = 0; i < 2; i++) t->going[i] = dcsr_i_graph_take(e, t->count, sizeof **t->going);
    t->counts = dcsr_i_graph_take(e, 1, sizeof *t->counts);
    if (e->status) return;
    dcsr_i_graph_number(e->stream, t);
    dcsr_i_graph_lists lists = {.number = t->number, .support = t->support};
    dcsr_i_graph_make_lists(e, &lists);
    if (!e->status) dcsr_i_graph_count_triangles(e->stream, &lists);
}

/* Takes away what has support up to the level, and what comes down to it thereby; how many there were. *above is the
 * least support above the level before. */
static uint64_t take_level(dcsr_i_edges *e, dcsr_i_graph_truss *t, uint32_t level, uint32_t *above,
                           uint64_t *left, const dcsr_ktruss_options *options)
{
    dcsr_i_graph_truss_counts counts = {.next = 0};
    uint64_t taken = 0;
    dcsr_i_graph_list_going(e->stream, t, level);
    dcsr_i_graph_read(e, &counts, t->counts, sizeof counts);
    *above = ~counts.above;
    for (int list = 0; counts.next && !e->status; list ^= 1) {
        const uint64_t going = counts.next;
        dcsr_i_graph_take_away(e->stream, t, level, going, list);
        if (dcsr_i_graph_read(e, &counts, t->counts, sizeof counts)) break;
        taken += going;
        *left -= going;
        if (options->progress) options->progress(options->user, t->count - *left, t->count);
    }
    return taken;
}

/* A matrix of the entries that are left, or of all. */
static void make_matrix(dcsr_matrix **truss, dcsr_i_edges *e, const dcsr_i_graph_truss *t, bool all)
{
    const uint64_t n = e->vertices, m = e->count;
    uint64_t kept = 0;
    uint32_t *is_kept = dcsr_i_graph_take(e, m, sizeof *is_kept);
    uint64_t *place = dcsr_i_graph_take(e, m + 1, sizeof *place);
    uint64_t *offsets = dcsr_i_graph_take(e, n + 1, sizeof *offsets);
    if (e->status) return;
    dcsr_i_graph_mark_kept(e->stream, t, all, is_kept);
    e->status = dcsr_i_cuda_scan_u32(e->stream, is_kept, place, m);
    dcsr_i_graph_read(e, &kept, place + m, sizeof kept);
    uint32_t *ends = dcsr_i_graph_take(e, kept, sizeof *ends);
    uint32_t *values = dcsr_i_graph_take(e, kept, sizeof *values);
    if (e->status) return;
    dcsr_i_graph_write_kept(e->stream, t, all, place, offsets, ends, values);
    e->status = dcsr_i_cuda_wait(e->stream, "dcsr_ktruss");
    if (!e->status)
        e->status = dcsr_matrix_from_csr_device(
            truss, e->context, &(dcsr_csr){n, n, kept, DCSR_UINT32, offsets, ends, values}, NULL, NULL);
}

void dcsr_i_graph_ktruss(dcsr_i_edges *e, dcsr_matrix **truss, dcsr_ktruss_result *result,
                         const dcsr_ktruss_options *options)
{
    dcsr_i_graph_truss t = {.count = 0};
    dcsr_ktruss_result found = {0};
    uint32_t above;
    prepare(e, &t);
    uint64_t left = t.count;
    /* No edge is in 2^31 triangles. */
    const uint32_t enough = options->k > INT32_MAX ? INT32_MAX : options->k;
    if (enough && !e->status) take_level(e, &t, enough - 3, &above, &left, options);
    for (uint32_t level = 0; !options->k && left && !e->status;) {
        const uint64_t taken = take_level(e, &t, level, &above, &left, options);
        if (taken) found.largest = level + 2, found.innermost = taken;
        level = taken ? level + 1 : above;
    }
    found.edges = options->k ? left : t.count;
    if (!e->status && truss) make_matrix(truss, e, &t, !options->k);
    if (!e->status && result) *result = found;
}
