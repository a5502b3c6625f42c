/* follow_closure.c: the transitive closure that follows a matrix, in rows of bits.
 *
 *      row x has bit y where a path of one or more edges leads from x to y
 *
 * An edge u -> v that comes: if row u has v, nothing changes. Else u and each row that has u get v and what v reaches,
 * unless they have v already (T. Ibaraki, N. Katoh 1983; semi-naive, as what is new goes through the new edge).
 *
 * An edge u -> v that goes is not missed if u reaches v all the same, which a short search may find; else it is noted.
 * Rows that have the vertex of a noted edge are affected, and no others. These are computed again from the edges that
 * are left (delete and derive again: A. Gupta, I. Mumick, V. Subrahmanian 1993): strongly connected components among
 * them are found (R. Tarjan 1972), which completes each after all that it leads to, and get the sum of the rows to
 * which their edges lead. Computing anew is that with all rows affected. */
#include "algos/follow/follower.h"
#include <string.h>

enum { ORDER, LOW, STACK, CALLS, EDGE, COUNT, NOTED, STATE };
enum { AFFECTED = 1, STACKED = 2, SOURCE = 4, MET = 8 };
enum { MOST_EDGES = 2000 }; /* that a search goes along for a path in place of an edge that went */

typedef struct reach {
    const dcsr_i_links *l;
    uint64_t n, words;              /* words: of a row */
    uint32_t *order, *low;          /* of Tarjan's algorithm; order: 0 before a vertex is met */
    uint32_t *stack, *calls, *edge; /* edge: how many of its edges a vertex on `calls` has gone along */
    uint32_t *count;                /* bits of each row */
    uint32_t *noted;                /* vertices with edges that have gone, f->noted of them */
    unsigned char *state;
    uint64_t *bits;
} reach;

static reach reach_of(const dcsr_follower *f)
{
    return (reach){.l = &f->links,
                   .n = f->vertices,
                   .words = f->words,
                   .order = f->array[ORDER],
                   .low = f->array[LOW],
                   .stack = f->array[STACK],
                   .calls = f->array[CALLS],
                   .edge = f->array[EDGE],
                   .count = f->array[COUNT],
                   .noted = f->array[NOTED],
                   .state = f->array[STATE],
                   .bits = f->bits};
}

static uint64_t *row_of(const reach *r, uint64_t v)
{
    return r->bits + v * r->words;
}

static bool has(const reach *r, uint64_t u, uint64_t v)
{
    return row_of(r, u)[v / 64] >> v % 64 & 1;
}

static uint32_t bits_in(const uint64_t *row, uint64_t words)
{
    uint64_t count = 0;
    for (uint64_t w = 0; w < words; w++) count += (uint64_t)__builtin_popcountll(row[w]);
    return (uint32_t)count;
}

/* ---- Memory ---- */

static uint64_t words_for(uint64_t vertices)
{
    return (vertices + 63) / 64;
}

/* Bytes of the rows of all vertices and of one more, for sums. Vertices are below 2^32. */
static uint64_t bytes_for(uint64_t vertices)
{
    return (vertices + 1) * words_for(vertices) * sizeof(uint64_t);
}

/* Rows for more vertices; where there were some, for a quarter more than that, if they are within the limit. */
static dcsr_status reserve(dcsr_follower *f, uint64_t vertices)
{
    const uint64_t most = f->memory_limit ? f->memory_limit : dcsr_machine_memory();
    if (vertices <= f->bit_rows) return DCSR_OK;
    if (bytes_for(vertices) > most)
        return dcsr_thread_fail(
            DCSR_ERROR_OUT_OF_MEMORY,
            "%s: rows of bits for %llu vertices take %llu bytes, which is beyond the limit of "
            "%llu; raise memory_limit, or ask dcsr_closure_reaches() instead",
            f->kind->call, (unsigned long long)vertices, (unsigned long long)bytes_for(vertices),
            (unsigned long long)most);
    const uint64_t spare = f->bits ? vertices / 4 : 0;
    const uint64_t room = bytes_for(vertices + spare) <= most ? vertices + spare : vertices;
    uint64_t *bits = dcsr_context_allocate(f->context, bytes_for(room), 1);
    if (!bits) return dcsr_thread_status();
    for (uint64_t v = 0; v < f->vertices && f->bits; v++)
        memcpy(bits + v * words_for(room), f->bits + v * f->words, f->words * sizeof *bits);
    dcsr_context_free(f->context, f->bits, bytes_for(f->bit_rows), 1);
    f->bits = bits;
    f->bit_rows = room;
    f->words = words_for(room);
    return DCSR_OK;
}

static void release(dcsr_follower *f)
{
    dcsr_context_free(f->context, f->bits, bytes_for(f->bit_rows), 1);
}

/* Rows may be of vertices that were there before the matrix became smaller. */
static void grown(dcsr_follower *f, uint64_t old)
{
    memset(f->bits + old * f->words, 0, (f->vertices - old) * f->words * sizeof *f->bits);
}

/* ---- Affected rows ---- */

/* The vertices on the stack from u on are a component; what it leads to outside is complete, or not affected. */
static void complete(dcsr_follower *f, const reach *r, uint64_t *height, uint32_t u)
{
    uint64_t *sum = row_of(r, f->bit_rows), begin = *height;
    do begin--;
    while (r->stack[begin] != u);
    memset(sum, 0, r->words * sizeof *sum);
    for (uint64_t i = begin; i < *height; i++)
        for (DCSR_I_EACH_LINK(k, r->l, r->stack[i])) {
            const uint32_t v = r->l->end[k];
            /* Where v is there by another row, so is all that it reaches. */
            if (sum[v / 64] >> v % 64 & 1) continue;
            sum[v / 64] |= (uint64_t)1 << v % 64;
            if (r->state[v] & STACKED) continue;
            const uint64_t *row = row_of(r, v);
            for (uint64_t w = 0; w < r->words; w++) sum[w] |= row[w];
        }
    const uint32_t count = bits_in(sum, r->words);
    for (; *height > begin; (*height)--) {
        const uint32_t v = r->stack[*height - 1];
        memcpy(row_of(r, v), sum, r->words * sizeof *sum);
        f->count += (uint64_t)count - r->count[v];
        r->count[v] = count;
        r->state[v] &= (unsigned char)~STACKED;
        f->touched++;
    }
}

/* Tarjan's algorithm from one vertex on, along edges to affected ones. */
static void search(dcsr_follower *f, const reach *r, uint32_t root, uint32_t *met)
{
    uint64_t height = 0, depth = 0;
    for (uint32_t next = root, u;;) {
        if (next != UINT32_MAX) {
            r->order[next] = r->low[next] = ++*met;
            r->edge[next] = 0;
            r->state[next] |= STACKED;
            r->stack[height++] = r->calls[depth++] = next;
        }
        u = r->calls[depth - 1];
        next = UINT32_MAX;
        while (r->edge[u] < r->l->row[u].length) {
            const uint32_t v = r->l->end[r->l->row[u].begin + r->edge[u]++];
            if (!(r->state[v] & AFFECTED)) continue;
            if (!r->order[v]) {
                next = v;
                break;
            }
            if (r->state[v] & STACKED && r->order[v] < r->low[u]) r->low[u] = r->order[v];
        }
        if (next != UINT32_MAX) continue;
        if (r->low[u] == r->order[u]) complete(f, r, &height, u);
        if (!--depth) return;
        if (r->low[u] < r->low[r->calls[depth - 1]]) r->low[r->calls[depth - 1]] = r->low[u];
    }
}

/* Whether row v has the vertex of a noted edge, or is it. */
static bool is_affected(const dcsr_follower *f, const reach *r, uint32_t v)
{
    if (r->state[v] & SOURCE) return true;
    for (uint64_t i = 0; i < f->noted; i++)
        if (has(r, v, r->noted[i])) return true;
    return false;
}

/* Computes the affected rows, or all, from the edges. */
static void compute(dcsr_follower *f, const reach *r, bool all)
{
    uint32_t met = 0;
    for (uint64_t v = 0; v < r->n; v++) {
        if (all || is_affected(f, r, (uint32_t)v)) r->state[v] |= AFFECTED;
        r->order[v] = 0;
    }
    for (uint64_t v = 0; v < r->n; v++)
        if (r->state[v] & AFFECTED && !r->order[v]) search(f, r, (uint32_t)v, &met);
    memset(r->state, 0, r->n);
    f->noted = 0;
}

static dcsr_status anew(dcsr_follower *f, dcsr_view *view)
{
    const reach r = reach_of(f);
    (void)view;
    f->count = f->noted = f->touched = 0;
    memset(r.state, 0, r.n);
    memset(r.count, 0, r.n * sizeof *r.count);
    compute(f, &r, true);
    return DCSR_OK;
}

/* ---- Changes ---- */

/* Adds v, and what it reaches, to row x. */
static void add(dcsr_follower *f, const reach *r, uint64_t x, uint32_t v)
{
    uint64_t *row = row_of(r, x);
    const uint64_t *more = row_of(r, v);
    row[v / 64] |= (uint64_t)1 << v % 64;
    for (uint64_t w = 0; w < r->words; w++) row[w] |= more[w];
    const uint32_t count = bits_in(row, r->words);
    f->count += count - r->count[x];
    r->count[x] = count;
    f->touched++;
    dcsr_i_follow_work(f, 1);
}

static void come(dcsr_follower *f, const reach *r, uint32_t u, uint32_t v)
{
    if (f->noted) compute(f, r, false);
    if (has(r, u, v)) return;
    for (uint64_t x = 0; x < r->n && !f->anew; x++)
        if ((x == u || has(r, x, u)) && !has(r, x, v)) add(f, r, x, v);
}

/* Whether a search from u, along some edges at most, finds v. What does not reach v by its row never will. */
static bool is_reached_still(const reach *r, uint32_t u, uint32_t v)
{
    uint64_t head = 0, tail = 0, edges = 0;
    bool found = false;
    r->state[u] |= MET;
    for (r->calls[tail++] = u; head < tail && !found && edges < MOST_EDGES; head++)
        for (DCSR_I_EACH_LINK(k, r->l, r->calls[head])) {
            const uint32_t y = r->l->end[k];
            edges++;
            found |= y == v;
            if (found || edges >= MOST_EDGES) break;
            if (r->state[y] & MET || !has(r, y, v)) continue;
            r->state[y] |= MET;
            r->calls[tail++] = y;
        }
    for (uint64_t i = 0; i < tail; i++) r->state[r->calls[i]] &= (unsigned char)~MET;
    return found;
}

static void go(dcsr_follower *f, const reach *r, uint32_t u, uint32_t v)
{
    if (r->state[u] & SOURCE || is_reached_still(r, u, v)) return;
    r->state[u] |= SOURCE;
    r->noted[f->noted++] = u;
}

static void after(dcsr_follower *f, const dcsr_i_edge_change *change)
{
    const reach r = reach_of(f);
    if (change->kind == DCSR_I_EDGE_REMOVED)
        go(f, &r, change->from, change->to);
    else
        come(f, &r, change->from, change->to);
}

static dcsr_status settle(dcsr_follower *f, dcsr_view *view)
{
    const reach r = reach_of(f);
    (void)view;
    if (f->noted) compute(f, &r, false);
    return DCSR_OK;
}

static const dcsr_i_follow_kind kind = {
    .name = "closure",
    .call = "dcsr_follow_closure",
    .getter = "dcsr_follower_get_closure",
    .only_out = true,
    .patience = 8,
    .size =
        {[ORDER] = 4, [LOW] = 4, [STACK] = 4, [CALLS] = 4, [EDGE] = 4, [COUNT] = 4, [NOTED] = 4, [STATE] = 1},
    .reserve = reserve,
    .release = release,
    .anew = anew,
    .grown = grown,
    .after = after,
    .settle = settle};

dcsr_status dcsr_follow_closure(dcsr_follower **follower, dcsr_view *view,
                                const dcsr_closure_options *options)
{
    return dcsr_i_follow(
        follower, &(dcsr_follower){.kind = &kind, .memory_limit = options ? options->memory_limit : 0}, view);
}

dcsr_status dcsr_follower_get_closure(const dcsr_follower *f, dcsr_followed_closure *found)
{
    dcsr_status status = dcsr_i_follow_check(f, found, &kind);
    if (status) return status;
    const uint32_t *count = f->array[COUNT];
    *found = (dcsr_followed_closure){
        .version = f->version, .vertices = f->vertices, .pairs = f->count, .reached = count};
    for (uint64_t v = 0; v < f->vertices; v++)
        if (count[v] > found->most) found->most = count[v];
    return DCSR_OK;
}

dcsr_status dcsr_follower_get_closure_row(const dcsr_follower *f, uint64_t from, dcsr_followed_row *found)
{
    dcsr_status status = dcsr_i_follow_check(f, found, &kind);
    if (status) return status;
    if (from >= f->vertices)
        return dcsr_thread_fail(
            DCSR_ERROR_INDEX_OUT_OF_RANGE,
            "dcsr_follower_get_closure_row: %llu is not a vertex; there are %llu, counted from 0",
            (unsigned long long)from, (unsigned long long)f->vertices);
    *found = (dcsr_followed_row){.version = f->version,
                                 .vertices = f->vertices,
                                 .reached = ((const uint32_t *)f->array[COUNT])[from],
                                 .bits = f->bits + from * f->words};
    return DCSR_OK;
}
