/* follow_triangles.c: triangles that follow a matrix.
 *
 * Links come and go one after the other, so a triangle that gets several of its links in one batch is counted with the
 * last of them, and one that loses several goes with the first. */
#include "algos/follow/follower.h"

/* A list this many times as long as the other is searched; else it is gone through a block at a time. */
enum { LONGER = 64, BLOCK = 8 };

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

static void after(dcsr_follower *f, const dcsr_i_change *change)
{
    uint64_t *of = f->array[TRIANGLES], count = 0;
    const dcsr_i_links *l = &f->links;
    uint32_t u = change->from, v = change->to;
    if (!change->link || u == v) return;
    if (l->row[u].length > l->row[v].length) {
        const uint32_t other = u;
        u = v;
        v = other;
    }
    /* A sum that wraps, so that one is added or taken away. */
    const uint64_t one = change->kind == DCSR_I_REMOVED ? UINT64_MAX : 1;
    const uint32_t *few = l->end + l->row[u].begin, *few_end = few + l->row[u].length;
    const uint32_t *many = l->end + l->row[v].begin, *many_end = many + l->row[v].length;
    const bool search = l->row[v].length / LONGER > l->row[u].length;
    for (; few < few_end && many < many_end; few++) {
        many = search ? gallop(many, many_end, *few) : go_to(many, many_end, *few);
        if (many == many_end || *many != *few || *few == u || *few == v) continue;
        of[*few] += one;
        count++;
    }
    of[u] += one * count;
    of[v] += one * count;
    f->count += one * count;
    f->touched += count + 2;
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
