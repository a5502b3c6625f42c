/* regroup.c: aggregates and T where strength has changed.
 *
 * A node leaves its aggregate when it has no strong neighbour in it any more, unless it is alone there and has
 * others; then its neighbours in that aggregate are looked at, too. Without strong neighbours at all it belongs to
 * none, as after a setup. Else it joins that of its first strong neighbour that has one, in rounds, in which each
 * node sees what the round before has left; in few rounds, as aggregates would become long. Where no neighbour ever
 * gets one, the first of the nodes takes an aggregate that has lost all its nodes; if there is none, the hierarchy
 * cannot follow. An aggregate that falls into two, each connected in itself, stays one. */
#include "amg/hierarchy_follow.h"
#include <string.h>

static const uint32_t NONE = DCSR_I_AMG_NO_AGGREGATE;
enum { MOST_ROUNDS = 16 };

/* The nodes that P leads to an aggregate, as the last update has left it: its members were among them. */
static dcsr_i_amg_span reached(const dcsr_i_amg_level *level, uint64_t aggregate)
{
    return dcsr_i_amg_span_of(&level->R.rows, aggregate * level->vectors);
}

static bool is_alone(const dcsr_i_amg_level *level, uint64_t node, uint32_t a)
{
    const uint32_t *aggregate = level->aggregate.data;
    const dcsr_i_amg_span rows = reached(level, a);
    for (uint64_t e = 0; e < rows.count; e++) {
        uint64_t other = rows.columns[e] / level->block;
        if (other != node && aggregate[other] == a) return false;
    }
    return true;
}

static bool leaves(dcsr_i_amg_follow *f, uint64_t node)
{
    const uint32_t *aggregate = f->level->aggregate.data, a = aggregate[node], *strong;
    if (a == NONE) return false;
    const uint32_t length = dcsr_i_amg_strong_of(f, f->workers.data, node, &strong);
    for (uint32_t k = 0; k < length; k++)
        if (aggregate[strong[k]] == a) return false;
    return !length || !is_alone(f->level, node, a);
}

static dcsr_status set_aggregate(dcsr_i_amg_follow *f, dcsr_i_amg_set *parts, uint64_t node, uint32_t a)
{
    uint32_t *aggregate = f->level->aggregate.data;
    DCSR_I_AMG_TRY(dcsr_i_amg_keep(&f->undo, &aggregate[node], sizeof *aggregate));
    if (aggregate[node] != NONE) dcsr_i_amg_set_add(parts, aggregate[node]);
    aggregate[node] = a;
    if (a != NONE) dcsr_i_amg_set_add(parts, a);
    return DCSR_OK;
}

/* Whether a node was with one that has left through it alone. */
static bool leaves_with(dcsr_i_amg_follow *f, uint64_t node, uint32_t left)
{
    return ((const uint32_t *)f->level->aggregate.data)[node] == left && leaves(f, node);
}

/* A node that leaves with one that has left; UINT64_MAX: none. Those that a row does not tell are in the graph. */
static uint64_t next_to_leave(dcsr_i_amg_follow *f, uint64_t node, uint32_t left)
{
    const dcsr_i_amg_level *level = f->level;
    const dcsr_i_amg_graph *g = &f->graph;
    for (uint32_t k = 0; g->count && k < g->length[node]; k++)
        if (leaves_with(f, g->nodes[g->begin[node] + k], left)) return g->nodes[g->begin[node] + k];
    for (uint64_t i = node * level->block; !g->count && i < (node + 1) * level->block; i++) {
        const dcsr_i_amg_span row = dcsr_i_amg_span_of(&level->A.rows, i);
        for (uint64_t e = 0; e < row.count; e++)
            if (leaves_with(f, row.columns[e] / level->block, left)) return row.columns[e] / level->block;
    }
    return UINT64_MAX;
}

/* A node leaves, and then those that were with it through it alone, one after the other. */
static dcsr_status leave(dcsr_i_amg_follow *f, dcsr_i_amg_set *moved, dcsr_i_amg_set *parts, uint64_t node)
{
    const uint32_t *aggregate = f->level->aggregate.data, left = aggregate[node];
    const uint64_t first = moved->count;
    uint64_t next;
    DCSR_I_AMG_TRY(set_aggregate(f, parts, node, NONE));
    dcsr_i_amg_set_add(moved, node);
    for (uint64_t k = first; k < moved->count; k++) {
        while ((next = next_to_leave(f, moved->list[k], left)) != UINT64_MAX) {
            DCSR_I_AMG_TRY(set_aggregate(f, parts, next, NONE));
            dcsr_i_amg_set_add(moved, next);
        }
    }
    return DCSR_OK;
}

static bool is_empty(const dcsr_i_amg_level *level, const dcsr_i_amg_set *moved, uint32_t a)
{
    const uint32_t *aggregate = level->aggregate.data;
    if (!is_alone(level, UINT64_MAX, a)) return false;
    for (uint64_t k = 0; k < moved->count; k++)
        if (aggregate[moved->list[k]] == a) return false;
    return true;
}

/* An aggregate without nodes; NONE if there is none. */
static uint32_t find_empty(const dcsr_i_amg_level *level, const dcsr_i_amg_set *moved)
{
    for (uint32_t a = 0; a < level->aggregates; a++)
        if (is_empty(level, moved, a)) return a;
    return NONE;
}

/* One round: what each node without an aggregate can join goes to f->slot, and is joined afterwards. *left: nodes that
 * still want one; the first of them. */
static dcsr_status join(dcsr_i_amg_follow *f, const dcsr_i_amg_set *moved, dcsr_i_amg_set *parts,
                        uint64_t *joined, uint64_t *left)
{
    const uint32_t *aggregate = f->level->aggregate.data, *strong;
    *left = UINT64_MAX;
    *joined = 0;
    for (uint64_t k = 0; k < moved->count; k++) {
        const uint64_t node = moved->list[k];
        f->slot[node] = NONE;
        if (aggregate[node] != NONE) continue;
        const uint32_t length = dcsr_i_amg_strong_of(f, f->workers.data, node, &strong);
        for (uint32_t n = 0; n < length && f->slot[node] == NONE; n++) f->slot[node] = aggregate[strong[n]];
        if (f->slot[node] == NONE && length && node < *left) *left = node;
    }
    for (uint64_t k = 0; k < moved->count; k++) {
        const uint64_t node = moved->list[k];
        if (f->slot[node] == NONE) continue;
        DCSR_I_AMG_TRY(set_aggregate(f, parts, node, f->slot[node]));
        (*joined)++;
    }
    return DCSR_OK;
}

dcsr_status dcsr_i_amg_regroup(dcsr_i_amg_follow *f, const dcsr_i_amg_set *looked, dcsr_i_amg_set *moved,
                               dcsr_i_amg_set *parts, const char **why)
{
    const uint32_t *aggregate = f->level->aggregate.data, *strong;
    uint64_t joined, left;
    int rounds = 0;
    for (uint64_t k = 0; k < looked->count; k++) {
        const uint64_t node = looked->list[k];
        if (aggregate[node] == NONE && dcsr_i_amg_strong_of(f, f->workers.data, node, &strong))
            dcsr_i_amg_set_add(moved, node);
        if (leaves(f, node)) DCSR_I_AMG_TRY(leave(f, moved, parts, node));
    }
    if (!moved->count) return DCSR_OK;
    dcsr_i_amg_set_sort(moved);
    for (;;) {
        DCSR_I_AMG_TRY(join(f, moved, parts, &joined, &left));
        if (left == UINT64_MAX) return DCSR_OK;
        uint32_t empty = joined ? NONE : find_empty(f->level, moved);
        if (++rounds == MOST_ROUNDS || (!joined && empty == NONE)) {
            *why = "rows became connected that no aggregate is near";
            return DCSR_OK;
        }
        if (!joined) DCSR_I_AMG_TRY(set_aggregate(f, parts, left, empty));
    }
}

/* ---- T ---- */

/* Nodes by their aggregate: aggregate << 32 | node. */
typedef struct members {
    dcsr_i_amg_array array;
    uint64_t count;
} members;

/* Of the aggregates `parts`: who was in them, and who has moved to them. */
static dcsr_status list_members(members *m, const dcsr_i_amg_follow *f, const dcsr_i_amg_set *parts,
                                const dcsr_i_amg_set *moved)
{
    const dcsr_i_amg_level *level = f->level;
    const uint32_t *aggregate = level->aggregate.data;
    uint64_t most = moved->count, kept = 0;
    for (uint64_t k = 0; k < parts->count; k++) most += reached(level, parts->list[k]).count;
    DCSR_I_AMG_TRY(dcsr_i_amg_take(&m->array, f->context, most, sizeof(uint64_t)));
    uint64_t *key = m->array.data;
    for (uint64_t k = 0; k < parts->count; k++) {
        const uint64_t a = parts->list[k];
        const dcsr_i_amg_span rows = reached(level, a);
        for (uint64_t e = 0; e < rows.count; e++) {
            uint64_t node = rows.columns[e] / level->block;
            if (aggregate[node] == a) key[m->count++] = a << 32 | node;
        }
    }
    for (uint64_t k = 0; k < moved->count; k++)
        if (aggregate[moved->list[k]] != NONE)
            key[m->count++] = (uint64_t)aggregate[moved->list[k]] << 32 | moved->list[k];
    dcsr_i_amg_sort64(key, m->count);
    for (uint64_t k = 0; k < m->count; k++)
        if (!k || key[k] != key[k - 1]) key[kept++] = key[k];
    m->count = kept;
    return DCSR_OK;
}

/* What T was made of: near-nullspace vectors. */
static void restore(const dcsr_i_amg_level *level, double *T, uint64_t node)
{
    const uint64_t size = level->block * level->vectors, first = node * size;
    if (level->B.data) {
        memcpy(T + first, (const double *)level->B.data + first, size * sizeof *T);
        return;
    }
    memset(T + first, 0, size * sizeof *T);
    for (uint64_t i = 0; i < level->block; i++) T[first + i * level->vectors + i] = 1;
}

/* One aggregate of the nodes `list`. `before` has room for T of them, and for R. */
static dcsr_status retent(dcsr_i_amg_follow *f, uint64_t a, const uint32_t *list, uint64_t count,
                          double *before, dcsr_i_amg_set *moved, dcsr_i_amg_set *vectors)
{
    dcsr_i_amg_level *level = f->level;
    const uint64_t size = level->block * level->vectors, square = level->vectors * level->vectors;
    double *T = level->T.data, *R = before + count * size, *coarse = level[1].B.data;
    for (uint64_t k = 0; k < count; k++) {
        DCSR_I_AMG_TRY(dcsr_i_amg_keep(&f->undo, T + list[k] * size, size * sizeof *T));
        memcpy(before + k * size, T + list[k] * size, size * sizeof *T);
        restore(level, T, list[k]);
    }
    memset(R, 0, square * sizeof *R);
    dcsr_i_amg_factorise(T, R, list, count, level->block, level->vectors);
    for (uint64_t k = 0; k < count; k++)
        if (memcmp(before + k * size, T + list[k] * size, size * sizeof *T))
            dcsr_i_amg_set_add(moved, list[k]);
    if (!coarse || !memcmp(coarse + a * square, R, square * sizeof *R)) return DCSR_OK;
    DCSR_I_AMG_TRY(dcsr_i_amg_keep(&f->undo, coarse + a * square, square * sizeof *R));
    memcpy(coarse + a * square, R, square * sizeof *R);
    dcsr_i_amg_set_add(vectors, a);
    return DCSR_OK;
}

dcsr_status dcsr_i_amg_retent(dcsr_i_amg_follow *f, dcsr_i_amg_set *parts, dcsr_i_amg_set *moved,
                              dcsr_i_amg_set *vectors)
{
    const dcsr_i_amg_level *level = f->level;
    members m = {0};
    dcsr_i_amg_array lists = {0}, room = {0};
    if (!parts->count) return DCSR_OK;
    dcsr_i_amg_set_sort(parts);
    dcsr_status status = list_members(&m, f, parts, moved);
    if (!status) status = dcsr_i_amg_take(&lists, f->context, m.count, sizeof(uint32_t));
    if (!status)
        status = dcsr_i_amg_take(&room, f->context,
                                 (m.count * level->block + level->vectors) * level->vectors, sizeof(double));
    const uint64_t *key = m.array.data;
    uint32_t *list = lists.data;
    for (uint64_t k = 0; k < m.count && !status; k++) list[k] = (uint32_t)key[k];
    for (uint64_t p = 0, k = 0; p < parts->count && !status; p++) {
        const uint64_t a = parts->list[p], first = k;
        while (k < m.count && key[k] >> 32 == a) k++;
        status = retent(f, a, list + first, k - first, room.data, moved, vectors);
    }
    dcsr_i_amg_drop(&m.array, f->context);
    dcsr_i_amg_drop(&lists, f->context);
    dcsr_i_amg_drop(&room, f->context);
    return status;
}
