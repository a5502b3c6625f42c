/* links.c: a graph in host memory that changes edge by edge. */
#include "algos/follow/links.h"
#include <math.h>
#include <string.h>

/* Places that a row has besides its links and half as many; behind all rows one in SPARE of theirs. */
enum { LEAST_ROOM = 2, SPARE = 16 };

double dcsr_i_links_weight(dcsr_type type, const void *values, uint64_t i)
{
    switch (type) {
#define DCSR_X(NAME, name, ctype, minimum, maximum) \
    case DCSR_##NAME:                               \
        return (double)((const ctype *)values)[i];
#include <dcsr/types.def>
#undef DCSR_X
    default: /* pattern */
        return 1;
    }
}

/* ---- Places ---- */

static void free_places(dcsr_i_links *l)
{
    dcsr_context_free(l->context, l->end, l->room, sizeof *l->end);
    dcsr_context_free(l->context, l->way, l->room, sizeof *l->way);
    dcsr_context_free(l->context, l->out, l->room, sizeof *l->out);
    dcsr_context_free(l->context, l->in, l->room, sizeof *l->in);
    l->end = NULL;
    l->way = NULL;
    l->out = l->in = NULL;
}

void dcsr_i_links_free(dcsr_i_links *l)
{
    free_places(l);
    dcsr_context_free(l->context, l->row, l->vertex_room, sizeof *l->row);
    *l = (dcsr_i_links){.context = l->context, .only_out = l->only_out};
}

uint64_t dcsr_i_links_bytes(const dcsr_i_links *l)
{
    return l->vertex_room * sizeof *l->row + l->room * (5 + (l->out ? 2 * sizeof(double) : 0));
}

/* Empty places in `to`, as many as it says, for what l holds. */
static dcsr_status take_places(dcsr_i_links *to, bool weighted)
{
    to->end = dcsr_context_allocate(to->context, to->room, sizeof *to->end);
    to->way = to->end ? dcsr_context_allocate(to->context, to->room, sizeof *to->way) : NULL;
    if (to->way && weighted) {
        to->out = dcsr_context_allocate(to->context, to->room, sizeof *to->out);
        to->in = to->out ? dcsr_context_allocate(to->context, to->room, sizeof *to->in) : NULL;
    }
    if (to->way && (!weighted || to->in)) return DCSR_OK;
    const dcsr_status status = dcsr_thread_status();
    free_places(to);
    return status;
}

static void copy_places(dcsr_i_links *to, uint64_t at, const dcsr_i_links *from, uint64_t begin, uint64_t n)
{
    memmove(to->end + at, from->end + begin, n * sizeof *to->end);
    memmove(to->way + at, from->way + begin, n * sizeof *to->way);
    if (!to->out) return;
    memmove(to->out + at, from->out + begin, n * sizeof *to->out);
    memmove(to->in + at, from->in + begin, n * sizeof *to->in);
}

static uint32_t room_for(uint64_t length)
{
    const uint64_t room = length + length / 2 + LEAST_ROOM;
    return room > UINT32_MAX ? UINT32_MAX : (uint32_t)room;
}

/* Moves all rows to a new stretch, with room for `more` places behind them. */
static dcsr_status move_all(dcsr_i_links *l, uint64_t more)
{
    dcsr_i_links to = *l;
    uint64_t room = more;
    for (uint64_t v = 0; v < l->vertices; v++)
        if (l->row[v].length) room += room_for(l->row[v].length);
    to.end = NULL;
    to.way = NULL;
    to.out = to.in = NULL;
    to.room = room + room / 4;
    dcsr_status status = take_places(&to, l->out != NULL);
    if (status) return status;
    to.used = 0;
    for (uint64_t v = 0; v < l->vertices; v++) {
        dcsr_i_link_row *row = &l->row[v];
        if (row->length) copy_places(&to, to.used, l, row->begin, row->length);
        row->begin = to.used;
        row->room = row->length ? room_for(row->length) : 0;
        to.used += row->room;
    }
    free_places(l);
    *l = to;
    return DCSR_OK;
}

/* Places that a row needs at the end to get one more link. */
static uint64_t needs(const dcsr_i_links *l, uint32_t u)
{
    const dcsr_i_link_row *row = &l->row[u];
    const uint64_t room = 2 * (uint64_t)row->length + LEAST_ROOM;
    return row->length < row->room ? 0 : room < UINT32_MAX ? room : UINT32_MAX;
}

static void make_room(dcsr_i_links *l, uint32_t u)
{
    dcsr_i_link_row *row = &l->row[u];
    const uint64_t room = needs(l, u);
    if (!room) return;
    copy_places(l, l->used, l, row->begin, row->length);
    row->begin = l->used;
    row->room = (uint32_t)room;
    l->used += room;
}

/* Room for one more link in the rows in which it is to stand. */
static dcsr_status make_room_for(dcsr_i_links *l, uint32_t u, uint32_t v)
{
    const uint64_t more = needs(l, u) + (l->only_out ? 0 : needs(l, v));
    dcsr_status status = l->used + more > l->room ? move_all(l, more) : DCSR_OK;
    if (status) return status;
    make_room(l, u);
    if (!l->only_out) make_room(l, v);
    return DCSR_OK;
}

/* ---- Single edges ---- */

/* By halving what is left whatever is found, so that no branch depends on that. */
uint64_t dcsr_i_links_place(const dcsr_i_links *l, uint32_t u, uint32_t v)
{
    const uint32_t *low = l->end + l->row[u].begin;
    uint64_t left = l->row[u].length;
    while (left > 1) {
        const uint64_t half = left / 2;
        low += low[half - 1] < v ? half : 0;
        left -= half;
    }
    return (uint64_t)(low - l->end) + (left && *low < v);
}

uint64_t dcsr_i_links_find(const dcsr_i_links *l, uint32_t u, uint32_t v)
{
    const uint64_t place = dcsr_i_links_place(l, u, v);
    return dcsr_i_links_is_at(l, place, u, v) ? place : UINT64_MAX;
}

/* One of the two sides of an edge, at this place of the row; there is room. Whether there was no link. */
static bool put(dcsr_i_links *l, uint32_t u, uint32_t v, uint64_t place, int way, double weight)
{
    dcsr_i_link_row *row = &l->row[u];
    const bool fresh = !dcsr_i_links_is_at(l, place, u, v);
    if (fresh) {
        copy_places(l, place + 1, l, place, row->begin + row->length - place);
        row->length++;
        l->count++;
        l->loops += u == v;
        l->end[place] = v;
        l->way[place] = 0;
        if (l->out) l->out[place] = l->in[place] = INFINITY;
    }
    l->way[place] |= (unsigned char)way;
    if (l->out && way & DCSR_I_LINK_OUT) l->out[place] = weight;
    if (l->out && way & DCSR_I_LINK_IN) l->in[place] = weight;
    return fresh;
}

static bool drop(dcsr_i_links *l, uint32_t u, uint32_t v, uint64_t place, int way)
{
    dcsr_i_link_row *row = &l->row[u];
    l->way[place] &= (unsigned char)~way;
    if (l->out && way & DCSR_I_LINK_OUT) l->out[place] = INFINITY;
    if (l->out && way & DCSR_I_LINK_IN) l->in[place] = INFINITY;
    if (l->way[place] & (DCSR_I_LINK_OUT | DCSR_I_LINK_IN)) return false;
    copy_places(l, place, l, place + 1, row->begin + row->length - place - 1);
    row->length--;
    l->count--;
    l->loops -= u == v;
    return true;
}

dcsr_status dcsr_i_links_insert(dcsr_i_links *l, uint32_t from, uint32_t to, uint64_t place, double weight,
                                bool *first)
{
    const uint64_t index = place - l->row[from].begin;
    dcsr_status status = make_room_for(l, from, to); /* which may move the row */
    if (status) return status;
    *first = put(l, from, to, l->row[from].begin + index, DCSR_I_LINK_OUT, weight);
    if (!l->only_out) put(l, to, from, dcsr_i_links_place(l, to, from), DCSR_I_LINK_IN, weight);
    return DCSR_OK;
}

bool dcsr_i_links_remove(dcsr_i_links *l, uint32_t from, uint32_t to, uint64_t place)
{
    bool last = drop(l, from, to, place, DCSR_I_LINK_OUT);
    if (!l->only_out) last |= drop(l, to, from, dcsr_i_links_place(l, to, from), DCSR_I_LINK_IN);
    return last;
}

dcsr_status dcsr_i_links_grow(dcsr_i_links *l, uint64_t vertices)
{
    if (vertices > l->vertex_room) {
        const uint64_t room = vertices + l->vertex_room / 2;
        dcsr_i_link_row *row = dcsr_context_allocate(l->context, room, sizeof *row);
        if (!row) return dcsr_thread_status();
        if (l->row) memcpy(row, l->row, l->vertices * sizeof *row);
        dcsr_context_free(l->context, l->row, l->vertex_room, sizeof *l->row);
        l->row = row;
        l->vertex_room = room;
    }
    l->vertices = vertices;
    return DCSR_OK;
}

/* ---- All edges ---- */

/* Edges by one of their ends, in ascending order of the other. */
typedef struct side {
    dcsr_context *context;
    uint64_t vertices, edges;
    uint64_t *begin; /* vertices + 1; while it is filled begin[v + 1] is where v's next edge goes */
    uint32_t *end;
    double *weight;
} side;

static void free_side(side *s)
{
    dcsr_context_free(s->context, s->begin, s->vertices + 2, sizeof *s->begin);
    dcsr_context_free(s->context, s->end, s->edges, sizeof *s->end);
    dcsr_context_free(s->context, s->weight, s->edges, sizeof *s->weight);
}

/* With begin[v + 2] the number of v's edges, makes room for them. */
static dcsr_status open_side(side *s, bool weighted)
{
    for (uint64_t v = 0; v < s->vertices; v++) s->begin[v + 2] += s->begin[v + 1];
    s->edges = s->begin[s->vertices + 1];
    s->end = dcsr_context_allocate(s->context, s->edges, sizeof *s->end);
    if (s->end && weighted) s->weight = dcsr_context_allocate(s->context, s->edges, sizeof *s->weight);
    return s->end && (!weighted || s->weight) ? DCSR_OK : dcsr_thread_status();
}

static void push(side *s, uint32_t v, uint32_t end, const double *weight)
{
    const uint64_t at = s->begin[v + 1]++;
    s->end[at] = end;
    if (s->weight) s->weight[at] = *weight;
}

/* Edges by the vertex to which they lead. */
static dcsr_status read_edges(side *in, dcsr_view *view, dcsr_type type, bool weighted)
{
    dcsr_piece piece[DCSR_MAX_SEGMENTS];
    int count;
    for (int pass = 0; pass < 2; pass++) {
        for (uint64_t u = 0; u < in->vertices; u++) {
            dcsr_status status = dcsr_view_get_pieces(view, u, piece, &count);
            if (status) return status;
            for (int p = 0; p < count; p++)
                for (uint64_t k = 0; k < piece[p].length; k++) {
                    const double weight = weighted ? dcsr_i_links_weight(type, piece[p].values, k) : 0;
                    if (isnan(weight))
                        return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                                                "dcsr_follow_sssp: the weight of the edge (%llu, %u) is NaN",
                                                (unsigned long long)u, piece[p].cols[k]);
                    if (!pass)
                        in->begin[piece[p].cols[k] + (uint64_t)2]++;
                    else
                        push(in, piece[p].cols[k], (uint32_t)u, &weight);
                }
        }
        dcsr_status status = pass ? DCSR_OK : open_side(in, weighted);
        if (status) return status;
    }
    return DCSR_OK;
}

/* The same edges by the vertex from which they lead. */
static dcsr_status turn(side *out, const side *in)
{
    for (uint64_t k = 0; k < in->edges; k++) out->begin[in->end[k] + (uint64_t)2]++;
    dcsr_status status = open_side(out, in->weight != NULL);
    for (uint64_t v = 0; v < in->vertices && !status; v++)
        for (uint64_t k = in->begin[v]; k < in->begin[v + 1]; k++)
            push(out, in->end[k], (uint32_t)v, in->weight ? &in->weight[k] : NULL);
    return status;
}

static dcsr_status refuse_twice(uint64_t u, uint32_t v)
{
    return dcsr_thread_fail(DCSR_ERROR_INVALID_ARGUMENT,
                            "dcsr_follow_sssp: the view shows the edge (%llu, %u) twice; make it without "
                            "DCSR_VIEW_DUPLICATES",
                            (unsigned long long)u, v);
}

/* Merges the edges of a vertex to a row at l->used, where there is room. */
static dcsr_status merge_row(dcsr_i_links *l, uint64_t v, const side *in, const side *out)
{
    uint64_t i = in->begin[v], o = out->begin[v];
    dcsr_i_link_row *row = &l->row[v];
    row->begin = l->used;
    while (i < in->begin[v + 1] || o < out->begin[v + 1]) {
        const uint64_t a = i < in->begin[v + 1] ? in->end[i] : UINT64_MAX;
        const uint64_t b = o < out->begin[v + 1] ? out->end[o] : UINT64_MAX;
        const uint64_t at = row->begin + row->length++, end = a < b ? a : b;
        l->end[at] = (uint32_t)end;
        if (l->out) l->out[at] = l->in[at] = INFINITY;
        for (uint64_t first = i; i < in->begin[v + 1] && in->end[i] == end; i++) {
            if (l->in && i > first) return refuse_twice(end, (uint32_t)v);
            if (l->in) l->in[at] = in->weight[i];
            l->way[at] |= DCSR_I_LINK_IN;
        }
        for (; o < out->begin[v + 1] && out->end[o] == end; o++) {
            if (l->out) l->out[at] = out->weight[o];
            l->way[at] |= DCSR_I_LINK_OUT;
        }
        l->loops += end == v;
    }
    l->count += row->length;
    row->room = row->length ? room_for(row->length) : 0;
    l->used += row->room;
    return DCSR_OK;
}

static dcsr_status merge_sides(dcsr_i_links *l, const side *in, const side *out)
{
    l->room = 0;
    for (uint64_t v = 0; v < in->vertices; v++) {
        const uint64_t edges = in->begin[v + 1] - in->begin[v] + out->begin[v + 1] - out->begin[v];
        if (edges) l->room += room_for(edges);
    }
    l->room += l->room / SPARE;
    dcsr_status status = dcsr_i_links_grow(l, in->vertices);
    if (!status) status = take_places(l, in->weight != NULL);
    for (uint64_t v = 0; v < in->vertices && !status; v++) status = merge_row(l, v, in, out);
    return status;
}

dcsr_status dcsr_i_links_fill(dcsr_i_links *l, dcsr_view *view, bool weighted, bool only_out)
{
    dcsr_view_shape shape;
    dcsr_status status = dcsr_view_get_shape(view, &shape);
    if (status) return status;
    side in = {.context = shape.context, .vertices = shape.rows}, out = in;
    *l = (dcsr_i_links){.context = shape.context, .only_out = only_out};
    in.begin = dcsr_context_allocate(shape.context, shape.rows + 2, sizeof *in.begin);
    out.begin = in.begin ? dcsr_context_allocate(shape.context, shape.rows + 2, sizeof *out.begin) : NULL;
    status = out.begin ? read_edges(&in, view, shape.type, weighted) : dcsr_thread_status();
    if (!status) status = turn(&out, &in);
    if (only_out && in.begin) memset(in.begin, 0, (shape.rows + 2) * sizeof *in.begin);
    if (!status) status = merge_sides(l, &in, &out);
    free_side(&in);
    free_side(&out);
    if (status) dcsr_i_links_free(l);
    return status;
}
