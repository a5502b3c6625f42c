/* nearest.c: vertices that wait in the order of their distances, nearly. */
#include "algos/follow/nearest.h"
#include <assert.h>
#include <string.h>

#define NONE UINT32_MAX
enum { LEAST_ROOM = 32, BITS = DCSR_I_NEAREST_BITS, LEVELS = DCSR_I_NEAREST_LEVELS };
static const double MOST = (double)((uint64_t)1 << 62), LEAST_WIDTH = 1e-300;

void dcsr_i_nearest_begin(dcsr_i_nearest *q, double width)
{
    q->per_width = 1 / (width > LEAST_WIDTH ? width : LEAST_WIDTH);
    q->now = 0;
    memset(q->filled, 0, sizeof q->filled);
    q->used = 0;
    q->free = q->open = NONE;
    q->status = DCSR_OK;
}

void dcsr_i_nearest_free(dcsr_i_nearest *q)
{
    dcsr_context_free(q->context, q->bunch, q->room, sizeof *q->bunch);
    q->bunch = NULL;
    q->room = 0;
}

/* In widths. */
static inline uint64_t count_of(const dcsr_i_nearest *q, double distance)
{
    const double count = distance * q->per_width;
    return count < MOST ? (uint64_t)count : (uint64_t)MOST;
}

/* ---- Bunches ---- */

static dcsr_status grow(dcsr_i_nearest *q)
{
    const uint32_t room = q->room ? 2 * q->room : LEAST_ROOM;
    dcsr_i_bunch *bunch = dcsr_context_allocate(q->context, room, sizeof *bunch);
    if (!bunch) return dcsr_thread_status();
    if (q->used) memcpy(bunch, q->bunch, q->used * sizeof *bunch);
    dcsr_context_free(q->context, q->bunch, q->room, sizeof *q->bunch);
    q->bunch = bunch;
    q->room = room;
    return DCSR_OK;
}

/* An empty bunch; NONE if there is no memory. */
static uint32_t open_bunch(dcsr_i_nearest *q, uint32_t next)
{
    uint32_t at = q->free;
    if (at != NONE) {
        q->free = q->bunch[at].next;
    } else {
        if (q->used == q->room && (q->status = grow(q))) return NONE;
        at = q->used++;
    }
    q->bunch[at].next = next;
    q->bunch[at].count = 0;
    return at;
}

static void close_bunch(dcsr_i_nearest *q, uint32_t at)
{
    q->bunch[at].next = q->free;
    q->free = at;
}

/* ---- Buckets ---- */

static inline void put(dcsr_i_nearest *q, uint64_t count, uint32_t v)
{
    const uint64_t differ = count ^ q->now;
    const int level = differ >> BITS ? (63 - __builtin_clzll(differ)) / BITS : 0;
    const uint64_t slot = count >> BITS * level & ((1 << BITS) - 1), bit = (uint64_t)1 << slot;
    uint32_t *first = &q->first[level][slot];
    assert(count >= q->now);
    if (!(q->filled[level] & bit) || q->bunch[*first].count == DCSR_I_BUNCH) {
        const uint32_t fresh = open_bunch(q, q->filled[level] & bit ? *first : NONE);
        if (fresh == NONE) return;
        q->filled[level] |= bit;
        *first = fresh;
    }
    dcsr_i_bunch *bunch = &q->bunch[*first];
    bunch->vertex[bunch->count++] = v;
}

void dcsr_i_nearest_add(dcsr_i_nearest *q, dcsr_i_path_node *node, uint32_t v)
{
    node[v].state |= DCSR_I_WAITS;
    put(q, count_of(q, node[v].distance), v);
}

void dcsr_i_nearest_lower(dcsr_i_nearest *q, dcsr_i_path_node *node, uint32_t v, double distance)
{
    const uint64_t count = count_of(q, distance);
    const bool stays = node[v].state & DCSR_I_WAITS && count_of(q, node[v].distance) == count;
    node[v].distance = distance;
    node[v].state |= DCSR_I_WAITS;
    if (!stays) put(q, count, v);
}

/* Shares the nearest bucket that is not of level 0 out among those below. */
static void distribute(dcsr_i_nearest *q, const dcsr_i_path_node *node)
{
    int level = 1;
    while (!q->filled[level]) level++;
    const int slot = __builtin_ctzll(q->filled[level]);
    uint64_t least = UINT64_MAX;
    q->filled[level] &= q->filled[level] - 1;
    for (uint32_t b = q->first[level][slot]; b != NONE; b = q->bunch[b].next)
        for (uint32_t i = 0; i < q->bunch[b].count; i++) {
            const dcsr_i_path_node *at = &node[q->bunch[b].vertex[i]];
            if (!(at->state & DCSR_I_WAITS)) continue;
            const uint64_t count = count_of(q, at->distance);
            least = count < least ? count : least;
        }
    if (least != UINT64_MAX) q->now = least;
    for (uint32_t b = q->first[level][slot], next; b != NONE && !q->status; b = next) {
        next = q->bunch[b].next;
        for (uint32_t i = 0; i < q->bunch[b].count; i++) {
            const uint32_t v = q->bunch[b].vertex[i];
            if (node[v].state & DCSR_I_WAITS) put(q, count_of(q, node[v].distance), v);
        }
        close_bunch(q, b);
    }
}

/* The nearest bucket, as it is, becomes that from which vertices are taken. False if there is none. */
static bool open_bucket(dcsr_i_nearest *q, const dcsr_i_path_node *node)
{
    while (!q->filled[0]) {
        uint64_t any = 0;
        for (int level = 1; level < LEVELS; level++) any |= q->filled[level];
        if (!any || q->status) return false;
        distribute(q, node);
    }
    const uint64_t slot = (uint64_t)__builtin_ctzll(q->filled[0]);
    q->now = q->now >> BITS << BITS | slot;
    q->filled[0] &= ~((uint64_t)1 << slot);
    q->open = q->first[0][slot];
    return true;
}

uint32_t dcsr_i_nearest_take(dcsr_i_nearest *q, const dcsr_i_path_node *node, uint32_t vertex[DCSR_I_BUNCH])
{
    if (q->status || (q->open == NONE && !open_bucket(q, node))) return 0;
    const uint32_t at = q->open, count = q->bunch[at].count;
    memcpy(vertex, q->bunch[at].vertex, count * sizeof *vertex);
    q->open = q->bunch[at].next;
    close_bunch(q, at);
    return count;
}
