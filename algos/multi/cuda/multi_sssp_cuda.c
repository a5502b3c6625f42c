/* multi_sssp_cuda.c: shortest paths on several GPUs: memory, rounds, and what devices offer each other.
 *
 * Between two exchanges a device goes on by itself for some rounds, whether or not others have closer ways to its
 * vertices: what it does too early is done again. An exchange has one wait and one meeting: what a device offers lies
 * in one of two buffers, which take turns, so that others may still copy from the one before. It ends where nobody
 * offers anything and nothing waits anywhere, which all see at the same meeting. */
#include "algos/multi/cuda/multi_cuda.h"
#include "algos/multi/cuda/multi_sssp.h"
#include "dcsr/base/runtime.h"
#include "dcsr/store/rowtable.h"
#include <string.h>

/* Rounds that are launched before devices exchange what they have found. */
enum { AHEAD = 16 };

static const char doing[] = "dcsr_multi_sssp";

typedef struct member {
    dcsr_context *context;
    dcsr_i_cuda_stream *stream;
    dcsr_i_multi_paths paths;
    uint32_t *out[2];
    unsigned long long *offered[2];
    uint32_t *in; /* of each other device, as many places as it has rows */
    unsigned long long *in_offered;
    dcsr_i_multi_paths_state told[2], end; /* at the last two exchanges; in the end */
} member;

typedef struct search {
    dcsr_multi_view *A;
    dcsr_multi_info devices;
    dcsr_multi_view_info info;
    double *distance;
    uint64_t source;
    double delta;
    member member[DCSR_MAX_DEVICES];
} search;

/* ---- Memory ---- */

static void *take(const member *m, uint64_t count, size_t size)
{
    return dcsr_i_cuda_alloc(m->stream, DCSR_I_SCRATCH, count, size);
}

static void give(const member *m, void *block, uint64_t count, size_t size)
{
    dcsr_i_cuda_free(m->stream, DCSR_I_SCRATCH, block, count, size);
}

static uint64_t places_in(const search *s, const member *m)
{
    return (s->info.parts - 1) * m->paths.rows.rows;
}

static dcsr_status open_member(search *s, uint64_t k)
{
    member *m = &s->member[k];
    dcsr_i_multi_paths *p = &m->paths;
    const uint64_t n = s->info.rows;
    dcsr_view *part;
    dcsr_status status = dcsr_multi_view_get_part(s->A, k, &part);
    if (status) return status;
    *p = (dcsr_i_multi_paths){
        .rows = dcsr_i_view_rows(part)->device, .k = k, .parts = s->info.parts, .delta = s->delta};
    memcpy(p->border, s->info.border, sizeof p->border);
    m->context = s->devices.context[k];
    m->stream = dcsr_i_stream_borrow(m->context);
    if (!m->stream) return dcsr_i_no_memory();
    bool taken = (p->distance = take(m, n, sizeof *p->distance)) &&
                 (p->fallen = take(m, (n + 31) / 32, sizeof *p->fallen)) &&
                 (p->list = take(m, p->rows.rows, sizeof *p->list)) &&
                 (p->state = take(m, 1, sizeof *p->state)) &&
                 (m->in = take(m, places_in(s, m), sizeof *m->in)) &&
                 (m->in_offered = take(m, places_in(s, m), sizeof *m->in_offered));
    for (int i = 0; i < 2; i++)
        taken = taken && (m->out[i] = take(m, n, sizeof **m->out)) &&
                (m->offered[i] = take(m, n, sizeof **m->offered));
    return taken ? DCSR_OK : dcsr_i_no_memory();
}

static void close_member(const search *s, uint64_t k)
{
    const member *m = &s->member[k];
    const dcsr_i_multi_paths *p = &m->paths;
    const uint64_t n = s->info.rows;
    if (!m->stream) return;
    for (int i = 0; i < 2; i++) {
        give(m, m->offered[i], n, sizeof **m->offered);
        give(m, m->out[i], n, sizeof **m->out);
    }
    give(m, m->in_offered, places_in(s, m), sizeof *m->in_offered);
    give(m, m->in, places_in(s, m), sizeof *m->in);
    give(m, p->state, 1, sizeof *p->state);
    give(m, p->list, p->rows.rows, sizeof *p->list);
    give(m, p->fallen, (n + 31) / 32, sizeof *p->fallen);
    give(m, p->distance, n, sizeof *p->distance);
    dcsr_i_cuda_settle(m->stream, doing);
    dcsr_i_stream_return(m->context, m->stream);
}

/* ---- Searching ---- */

/* Rounds of the device's own, and what it has for others after them. */
static dcsr_status go_on_alone(member *m, int turn)
{
    m->paths.out = m->out[turn];
    m->paths.offered = m->offered[turn];
    for (int i = 0; i < AHEAD; i++) dcsr_i_multi_paths_round(m->stream, &m->paths);
    dcsr_i_multi_paths_send(m->stream, &m->paths);
    return dcsr_i_cuda_read_back(m->stream, &m->told[turn], m->paths.state, sizeof *m->told, doing);
}

static bool is_over(const search *s, int turn)
{
    for (uint64_t k = 0; k < s->info.parts; k++) {
        const dcsr_i_multi_paths_state *told = &s->member[k].told[turn];
        if (told->waits) return false;
        for (uint64_t j = 0; j < s->info.parts; j++)
            if (told->sent[j]) return false;
    }
    return true;
}

/* Beginning with the next device, so that all links are in use. */
static void receive(search *s, uint64_t k, int turn)
{
    const uint64_t parts = s->info.parts, first = s->info.border[k];
    member *m = &s->member[k];
    const dcsr_i_cuda_device *device = dcsr_i_cuda_device_of(m->stream);
    for (uint64_t i = 1; i < parts; i++) {
        const member *from = &s->member[(k + i) % parts];
        const dcsr_i_cuda_device *other = dcsr_i_cuda_device_of(from->stream);
        const uint64_t n = from->told[turn].sent[k], at = (i - 1) * m->paths.rows.rows;
        dcsr_i_cuda_copy_peer(m->stream, m->in + at, device, from->out[turn] + first, other,
                              n * sizeof *m->in);
        dcsr_i_cuda_copy_peer(m->stream, m->in_offered + at, device, from->offered[turn] + first, other,
                              n * sizeof *m->in_offered);
        dcsr_i_multi_paths_receive(m->stream, &m->paths, m->in + at, m->in_offered + at, n);
    }
}

static dcsr_status find_paths(search *s, uint64_t k)
{
    member *m = &s->member[k];
    dcsr_status status = open_member(s, k);
    if (status) return dcsr_multi_meet(s->info.devices, status);
    dcsr_i_multi_paths_begin(m->stream, &m->paths, s->source);
    for (int turn = 0;; turn ^= 1) {
        status = dcsr_multi_meet(s->info.devices, go_on_alone(m, turn));
        if (status) return status;
        if (is_over(s, turn)) break;
        receive(s, k, turn);
    }
    dcsr_i_multi_paths_end(m->stream, &m->paths);
    status = dcsr_i_cuda_read_back(m->stream, &m->end, m->paths.state, sizeof m->end, doing);
    if (status) return status;
    return dcsr_i_cuda_deliver(m->stream, s->distance + s->info.border[k],
                               m->paths.distance + s->info.border[k],
                               m->paths.rows.rows * sizeof *s->distance, m->context, doing);
}

/* The others may still copy from it when a device has failed, or sees the end: it frees memory when they have waited
 * too. */
static dcsr_status search_part(void *user, uint64_t k)
{
    search *s = user;
    dcsr_status status = find_paths(s, k);
    if (s->member[k].stream) {
        dcsr_status waited = dcsr_i_cuda_wait(s->member[k].stream, doing);
        if (!status) status = waited;
    }
    status = dcsr_multi_meet(s->info.devices, status);
    close_member(s, k);
    return status;
}

dcsr_status dcsr_i_multi_graph_sssp(double *distance, dcsr_sssp_result *result, dcsr_multi_view *A,
                                    uint64_t source, double delta)
{
    search s = {.A = A, .distance = distance, .source = source, .delta = delta};
    dcsr_status status = dcsr_multi_view_get_info(A, &s.info);
    if (!status) status = dcsr_multi_get_info(s.info.devices, &s.devices);
    if (!status) status = dcsr_multi_run(s.info.devices, search_part, &s);
    if (status) return status;
    *result = (dcsr_sssp_result){0};
    unsigned long long farthest = 0;
    for (uint64_t k = 0; k < s.info.parts; k++) {
        const dcsr_i_multi_paths_state *end = &s.member[k].end;
        result->reached += end->reached;
        if (end->farthest > farthest) farthest = end->farthest;
    }
    memcpy(&result->farthest, &farthest, sizeof farthest);
    return DCSR_OK;
}
