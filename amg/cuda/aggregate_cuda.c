/* aggregate_cuda.c: nodes into aggregates, on a device: memory, and the order of kernels. */
#include "amg/cuda/amg_stages.h"
#include "dcsr/device/prim_cuda.h"

/* Rounds until the host asks how many nodes are open; it takes some ten of them. */
enum { ROUNDS = 2 };

typedef struct room {
    uint64_t *keys;  /* of nodes, least keys, how many are open; later ranks */
    uint32_t *lists; /* flags and joined aggregates */
} room;

static dcsr_status select_roots(dcsr_i_amg_hierarchy *h, const dcsr_i_amg_cuda_selection *s)
{
    dcsr_i_amg_cuda_begin_selection(h->stream, s);
    for (uint64_t round = 0;;) {
        for (int r = 0; r < ROUNDS; r++)
            dcsr_i_amg_cuda_select_round(h->stream, s, (uint64_t)h->options.seed + round++);
        const uint64_t *open = dcsr_i_amg_cuda_read(h, s->open, sizeof *open);
        if (!open || !*open) return h->failed;
    }
}

/* Where the last keys are no longer needed, ranks of other nodes are. */
static dcsr_status number(dcsr_i_amg_partition *parts, dcsr_i_amg_hierarchy *h,
                          const dcsr_i_amg_cuda_selection *s, uint32_t *flag)
{
    const uint64_t n = s->graph.count;
    uint64_t *rank = s->least, *others = s->key;
    uint32_t *joined = flag + n;
    dcsr_i_amg_cuda_mark_roots(h->stream, s, flag);
    dcsr_status status = dcsr_i_cuda_scan_u32(h->stream, flag, rank, n);
    if (status) return status;
    dcsr_i_amg_cuda_join_roots(h->stream, s, rank, joined, parts->aggregate, flag);
    status = dcsr_i_cuda_scan_u32(h->stream, flag, others, n);
    if (status) return status;
    dcsr_i_amg_cuda_number_others(h->stream, n, flag, others, rank + n, parts->aggregate);
    const uint64_t *count = dcsr_i_amg_cuda_read(h, rank + n, sizeof *count);
    if (count) parts->count = *count;
    count = count ? dcsr_i_amg_cuda_read(h, others + n, sizeof *count) : NULL;
    if (count) parts->count += *count;
    return h->failed;
}

dcsr_status dcsr_i_amg_cuda_aggregate(dcsr_i_amg_partition *parts, dcsr_i_amg_hierarchy *h,
                                      const dcsr_i_amg_graph *graph)
{
    const uint64_t n = graph->count, words = 2 * (n + 1) + 1;
    room m = {.keys = dcsr_i_amg_cuda_take(h, words, sizeof *m.keys)};
    if (m.keys) m.lists = dcsr_i_amg_cuda_take(h, 2 * n, sizeof *m.lists);
    dcsr_status status = m.lists ? DCSR_OK : dcsr_i_no_memory();
    if (!status) {
        const dcsr_i_amg_cuda_selection s = {.graph = dcsr_i_amg_cuda_graph_of(graph),
                                             .key = m.keys,
                                             .least = m.keys + n + 1,
                                             .open = m.keys + 2 * (n + 1)};
        status = select_roots(h, &s);
        if (!status) status = number(parts, h, &s, m.lists);
    }
    dcsr_i_amg_cuda_drop(h, m.keys, words, sizeof *m.keys);
    dcsr_i_amg_cuda_drop(h, m.lists, 2 * n, sizeof *m.lists);
    return status;
}
