/* multi_traverse_cuda.c: breadth-first search on several GPUs: their memory, and how they take turns.
 *
 * A device gathers the bits of others between a meeting and the wait that ends the level. So at each meeting nobody
 * reads what another may free, or clear for the level after; and who fails says so at the next one, which is the same
 * for all. */
#include "multi/multi_traverse_cuda.h"
#include "dcsr/base/runtime.h"
#include "dcsr/base/threads.h"
#include "dcsr/device/all_gather_cuda.h"
#include "dcsr/view/view_data.h"
#include "multi/multi_operation.h"
#include "ops/rows/row_reader.h"
#include <string.h>

static const char doing[] = "multi_traverse";

/* What copying levels to the host takes at a time, so that it cannot fail for lack of memory at the end. */
enum { LANDING = 16 << 20 };

/* What one device has. The others read `bits`, of which levels use one after the other. */
typedef struct member {
    dcsr_i_cuda_stream *stream;
    uint32_t *bits[2];
    dcsr_traverse_result result;
} member;

typedef struct search {
    dcsr_multi_view *A;
    uint64_t n;
    const uint64_t *sources;
    int32_t *level;
    bool timed; /* waits before meetings, so that communication can be told from walking */
    dcsr_i_multi_cost *cost;
    member member[DCSR_MAX_DEVICES];
} search;

/* One device's side of a search. */
typedef struct side {
    search *all;
    uint64_t k;
    member *mine;
    dcsr_i_cuda_part_search share;
    dcsr_i_cuda_part_found found;
    char *block;
    size_t bytes;
} side;

/* ---- Memory ---- */

/* Everything is in one block: first what is of 8 bytes. */
static dcsr_status take_memory(side *s)
{
    dcsr_i_cuda_traversal *own = &s->share.own;
    const uint64_t n = own->rows.rows, words = own->words;
    s->bytes = sizeof *s->share.found + (n + 1) * sizeof *own->offsets + n * sizeof *own->where +
               n * (sizeof *own->level + sizeof *own->queue[0]) +
               (3 + s->all->A->rows->parts) * words * sizeof *own->visited;
    s->block = dcsr_i_cuda_alloc(s->mine->stream, DCSR_I_SCRATCH, s->bytes, 1);
    if (!s->block) return dcsr_i_no_memory();
    s->share.found = (dcsr_i_cuda_part_found *)s->block;
    own->offsets = (uint64_t *)(s->share.found + 1);
    own->where = own->offsets + n + 1;
    own->level = (int32_t *)(own->where + n);
    own->queue[0] = (uint32_t *)(own->level + n);
    own->visited = own->queue[0] + n;
    s->mine->bits[0] = own->visited + words;
    s->mine->bits[1] = s->mine->bits[0] + words;
    s->share.incoming = s->mine->bits[1] + words;
    return DCSR_OK;
}

static dcsr_status open_side(side *s)
{
    member *mine = s->mine;
    dcsr_context *context = dcsr_i_multi_context(s->all->A->devices, s->k);
    mine->stream = dcsr_i_stream_borrow(context);
    if (!mine->stream) return dcsr_i_no_memory();
    DCSR_TRY(take_memory(s));
    const size_t landing = s->share.own.rows.rows * sizeof *s->all->level;
    if (!dcsr_i_cuda_landing(mine->stream, landing < LANDING ? landing : (size_t)LANDING))
        return dcsr_i_cuda_wait(mine->stream, doing);
    return DCSR_OK;
}

static void close_side(side *s)
{
    member *mine = s->mine;
    if (!mine->stream) return;
    dcsr_i_cuda_settle(mine->stream, doing);
    if (s->block) dcsr_i_cuda_free(mine->stream, DCSR_I_SCRATCH, s->block, s->bytes, 1);
    dcsr_i_stream_return(dcsr_i_multi_context(s->all->A->devices, s->k), mine->stream);
}

/* ---- Levels ---- */

/* The next frontier is what this device has found and, where `devices` is not 0, what the others have. Each then knows
 * whether there is one. */
static dcsr_status collect(side *s, uint64_t devices, int32_t depth)
{
    dcsr_traverse_result *result = &s->mine->result;
    dcsr_i_cuda_part_collect(s->mine->stream, &s->share, devices, depth);
    DCSR_TRY(dcsr_i_cuda_read_back(s->mine->stream, &s->found, s->share.found, sizeof s->found, doing));
    result->reached += s->found.vertices;
    result->edges += s->found.edges;
    result->level_sum += (uint64_t)depth * s->found.vertices;
    if (s->found.everywhere) result->max_level = (uint64_t)depth;
    return DCSR_OK;
}

static void use_bits(side *s, int which)
{
    s->share.own.fresh = s->mine->bits[which];
    s->share.other_fresh = s->mine->bits[!which];
}

/* All devices mark the sources, and so need not tell each other. */
static dcsr_status begin(side *s)
{
    dcsr_i_cuda_traversal *own = &s->share.own;
    dcsr_i_cuda_stream *stream = s->mine->stream;
    use_bits(s, 0);
    dcsr_i_cuda_fill(stream, own->level, 0xff, own->rows.rows * sizeof *own->level);
    dcsr_i_cuda_fill(stream, own->visited, 0, 3 * own->words * sizeof *own->visited);
    dcsr_i_cuda_traversal_start(stream, own, s->all->n, s->all->sources);
    return collect(s, 0, 0);
}

/* What this device's rows of the frontier lead to. */
static dcsr_status walk(side *s, int which)
{
    const dcsr_i_cuda_traversal *own = &s->share.own;
    const dcsr_i_cuda_walk rows = {own->rows, own->queue[0], s->found.vertices, own->offsets};
    use_bits(s, which);
    if (s->found.vertices)
        DCSR_TRY(
            dcsr_i_cuda_traversal_expand(s->mine->stream, &rows, s->found.edges, own->visited, own->fresh));
    dcsr_i_cuda_offer(s->mine->stream, which, s->mine->bits[which]);
    return s->all->timed ? dcsr_i_cuda_wait(s->mine->stream, doing) : DCSR_OK;
}

/* What any device has found is the next frontier. */
static dcsr_status gather_level(side *s, int32_t depth)
{
    const uint64_t devices = s->all->A->rows->parts, bytes = s->share.own.words * sizeof *s->share.incoming;
    dcsr_status status = dcsr_i_cuda_all_gather(s->mine->stream, depth & 1, s->share.incoming, bytes);
    if (status == DCSR_OK) status = collect(s, devices, depth);
    s->all->cost->bytes[s->k] += (devices - 1) * bytes;
    return dcsr_i_cuda_all_gathered(s->mine->stream, status);
}

/* The last meeting, of those that have found nothing new, is for memory that is still read. */
static dcsr_status search_levels(side *s)
{
    dcsr_multi *devices = s->all->A->devices;
    dcsr_status status = begin(s);
    for (int32_t depth = 1;; depth++) {
        const bool ends = status == DCSR_OK && !s->found.everywhere;
        if (status == DCSR_OK && !ends) status = walk(s, depth & 1);
        const uint64_t began = dcsr_i_nanoseconds();
        DCSR_TRY(dcsr_multi_meet(devices, status));
        if (ends) return DCSR_OK;
        status = gather_level(s, depth);
        s->all->cost->waited[s->k] += dcsr_i_nanoseconds() - began;
    }
}

static dcsr_status search_part(void *user, uint64_t k)
{
    search *all = user;
    dcsr_multi_view *A = all->A;
    side s = {.all = all, .k = k, .mine = &all->member[k]};
    s.share.own.rows = dcsr_i_view_rows(A->part[k])->device;
    s.share.own.words = (dcsr_i_borders_end(A->cols) + 31) / 32;
    s.share.begin = A->rows->begin[k];
    s.share.place = k;
    dcsr_status status = dcsr_multi_meet(A->devices, open_side(&s));
    if (status == DCSR_OK) status = search_levels(&s);
    if (status == DCSR_OK)
        status = dcsr_i_cuda_deliver(s.mine->stream, all->level + s.share.begin, s.share.own.level,
                                     s.share.own.rows.rows * sizeof *all->level,
                                     dcsr_i_multi_context(A->devices, k), doing);
    close_side(&s);
    return status;
}

dcsr_status dcsr_i_cuda_multi_traverse(int32_t *level, dcsr_traverse_result *result, dcsr_multi_view *A,
                                       uint64_t n, const uint64_t *sources, dcsr_i_multi_cost *cost,
                                       bool timed)
{
    search all = {.A = A, .n = n, .sources = sources, .level = level, .timed = timed, .cost = cost};
    DCSR_TRY(dcsr_multi_run(A->devices, search_part, &all));
    *result = (dcsr_traverse_result){.max_level = all.member[0].result.max_level};
    for (uint64_t k = 0; k < A->rows->parts; k++) {
        const dcsr_traverse_result *one = &all.member[k].result;
        result->reached += one->reached;
        result->level_sum += one->level_sum;
        result->edges += one->edges;
        if (one->edges >= dcsr_i_rows_stored(dcsr_i_view_rows(A->part[k])) / 2)
            dcsr_i_view_was_read(A->part[k]);
    }
    return DCSR_OK;
}
