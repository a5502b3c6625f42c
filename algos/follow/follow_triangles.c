/* follow_triangles.c: triangles that follow a matrix.
 *
 * Links come and go one after the other, so a triangle that gets several of its links in one batch is counted with the
 * last of them, and one that loses several goes with the first. */
#include "algos/follow/follower.h"
#include <string.h>

/* A list this many times as long as the other is searched; one that is less than CLOSE times as long is compared with
 * it block by block; else it is gone through a block at a time. */
enum { LONGER = 64, CLOSE = 12, BLOCK = 8 };

enum { TRIANGLES };

static dcsr_status anew(dcsr_follower *f, dcsr_view *view)
{
    dcsr_triangles_result result;
    dcsr_status status = dcsr_triangles(f->array[TRIANGLES], &result, view, NULL);
    if (!status) f->count = result.triangles;
    return status;
}

/* The first place from `at` on whose end is v or more: in steps that double, then between the last two. */
static const uint32_t *gallop(const uint32_t *at, const uint32_t *end, uint32_t v)
{
    uint64_t step = 1;
    while (step < (uint64_t)(end - at) && at[step] < v) step *= 2;
    const uint32_t *low = at + step / 2, *high = step < (uint64_t)(end - at) ? at + step : end;
    while (low < high) {
        const uint32_t *middle = low + (high - low) / 2;
        if (*middle < v)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The same block by block. A block is compared as a whole: no branch depends on where in it v is. Vertices are below
 * 2^31, as columns are, and vector instructions compare signed numbers in fewer steps. */
static const uint32_t *go_to(const uint32_t *at, const uint32_t *end, uint32_t v)
{
    while (end - at > BLOCK && at[BLOCK - 1] < v) at += BLOCK;
    if (end - at > BLOCK) {
        int before = 0;
        for (int i = 0; i < BLOCK; i++) before += (int32_t)at[i] < (int32_t)v;
        return at + before;
    }
    while (at < end && *at < v) at++;
    return at;
}

/* ---- Blocks with blocks ---- */

typedef uint32_t lanes __attribute__((vector_size(BLOCK * sizeof(uint32_t))));
typedef uint64_t pairs __attribute__((vector_size(BLOCK * sizeof(uint32_t))));

#define TURNED(b, by)                                                                               \
    __builtin_shufflevector(b, b, (by), ((by) + 1) % BLOCK, ((by) + 2) % BLOCK, ((by) + 3) % BLOCK, \
                            ((by) + 4) % BLOCK, ((by) + 5) % BLOCK, ((by) + 6) % BLOCK, ((by) + 7) % BLOCK)

/* Which of the elements of a block stand in another, one bit each: every turn of the other is compared at once. */
static unsigned find_common(const uint32_t *few, const uint32_t *many)
{
    lanes a, b;
    memcpy(&a, few, sizeof a);
    memcpy(&b, many, sizeof b);
    const lanes found =
        (lanes)((a == b) | (a == TURNED(b, 1)) | (a == TURNED(b, 2)) | (a == TURNED(b, 3)) |
                (a == TURNED(b, 4)) | (a == TURNED(b, 5)) | (a == TURNED(b, 6)) | (a == TURNED(b, 7)));
    const pairs any = (pairs)found;
    if (!(any[0] | any[1] | any[2] | any[3])) return 0;
    unsigned bits = 0;
    for (int i = 0; i < BLOCK; i++) bits |= (found[i] & 1) << i;
    return bits;
}

/* Two rows of links, and what a vertex that stands in both gets. */
typedef struct meeting {
    uint32_t u, v;
    uint64_t *of, one, count;
} meeting;

static void meet(meeting *m, uint32_t w)
{
    if (w == m->u || w == m->v) return;
    m->of[w] += m->one;
    m->count++;
}

/* As long as both lists have a block, that with the lesser end is left: no branch depends on which. */
static void meet_blocks(meeting *m, const uint32_t **few, const uint32_t *few_end, const uint32_t **many,
                        const uint32_t *many_end)
{
    const uint32_t *a = *few, *b = *many;
    while (few_end - a >= BLOCK && many_end - b >= BLOCK) {
        const uint32_t last_a = a[BLOCK - 1], last_b = b[BLOCK - 1];
        for (unsigned bits = find_common(a, b); bits; bits &= bits - 1) meet(m, a[__builtin_ctz(bits)]);
        a += last_a <= last_b ? BLOCK : 0;
        b += last_b <= last_a ? BLOCK : 0;
    }
    *few = a;
    *many = b;
}

static void after(dcsr_follower *f, const dcsr_i_edge_change *change)
{
    const dcsr_i_links *l = &f->links;
    uint32_t u = change->from, v = change->to;
    if (!change->link || u == v) return;
    if (l->row[u].length > l->row[v].length) {
        const uint32_t other = u;
        u = v;
        v = other;
    }
    /* A sum that wraps, so that one is added or taken away. */
    meeting m = {.u = u,
                 .v = v,
                 .of = f->array[TRIANGLES],
                 .one = change->kind == DCSR_I_EDGE_REMOVED ? UINT64_MAX : 1};
    const uint32_t *few = l->end + l->row[u].begin, *few_end = few + l->row[u].length;
    const uint32_t *many = l->end + l->row[v].begin, *many_end = many + l->row[v].length;
    const bool search = l->row[v].length / LONGER > l->row[u].length;
    if (l->row[v].length / CLOSE < l->row[u].length) meet_blocks(&m, &few, few_end, &many, many_end);
    for (; few < few_end && many < many_end; few++) {
        many = search ? gallop(many, many_end, *few) : go_to(many, many_end, *few);
        if (many < many_end && *many == *few) meet(&m, *few);
    }
    m.of[u] += m.one * m.count;
    m.of[v] += m.one * m.count;
    f->count += m.one * m.count;
    f->touched += m.count + 2;
    dcsr_i_follow_work(f, l->row[u].length + (search ? l->row[u].length : l->row[v].length));
}

static const dcsr_i_follow_kind kind = {.name = "triangles",
                                        .call = "dcsr_follow_triangles",
                                        .getter = "dcsr_follower_get_triangles",
                                        .patience = 64,
                                        .size = {[TRIANGLES] = sizeof(uint64_t)},
                                        .anew = anew,
                                        .after = after};

dcsr_status dcsr_follow_triangles(dcsr_follower **follower, dcsr_view *view)
{
    return dcsr_i_follow(follower, &(dcsr_follower){.kind = &kind}, view);
}

dcsr_status dcsr_follower_get_triangles(dcsr_follower *f, dcsr_followed_triangles *found)
{
    dcsr_status status = dcsr_i_follow_check(f, found, &kind);
    if (!status)
        *found = (dcsr_followed_triangles){.version = f->version,
                                           .vertices = f->vertices,
                                           .triangles = f->count,
                                           .of_vertex = f->array[TRIANGLES]};
    return status;
}
