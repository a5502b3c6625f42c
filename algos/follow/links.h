/* links.h: a graph in host memory that changes edge by edge (internal).
 *
 * A link joins two vertices with an edge one way or both; it stands in the rows of both, which ascend:
 *
 *      edges u -> v, v -> u, w -> u        row of u:  v OUT|IN,  w IN
 *                                          row of v:  u OUT|IN
 *                                          row of w:  u OUT
 *
 * Rows lie in one stretch of places, each with room to grow; one that has outgrown its room moves to the end with
 * twice as much. Places that were left are regained when the stretch is full: then all rows move to a new one.
 */
#ifndef DCSR_FOLLOW_LINKS_H
#define DCSR_FOLLOW_LINKS_H

#include <dcsr/extend.h>
#include <dcsr/view.h>

/* MARK is for the follower's use; it goes with the last edge. */
enum { DCSR_I_LINK_OUT = 1, DCSR_I_LINK_IN = 2, DCSR_I_LINK_MARK = 4 };

typedef struct dcsr_i_link_row {
    uint64_t begin;
    uint32_t length, room;
} dcsr_i_link_row;

typedef struct dcsr_i_links {
    dcsr_context *context;
    bool only_out; /* rows have no IN */
    uint64_t vertices, vertex_room;
    dcsr_i_link_row *row;
    uint64_t used, room; /* places: taken by rows, and all */
    uint64_t count;      /* places that hold a link: two for each, one for a loop, or with only_out */
    uint64_t loops;
    uint32_t *end;      /* of each place */
    unsigned char *way; /* DCSR_I_LINK_* */
    double *out,
        *in; /* weights of the edge from the row's vertex and to it, INFINITY if it is not there; NULL: none */
} dcsr_i_links;

/* Takes all edges of a square view, whose values become weights if that is wanted; if only_out is, a link stands in the
 * row of the vertex alone from which its edge leads. On failure there are none. */
dcsr_status dcsr_i_links_fill(dcsr_i_links *links, dcsr_view *view, bool weighted, bool only_out);
void dcsr_i_links_free(dcsr_i_links *links);
/* More vertices, without edges. On failure nothing has changed. */
dcsr_status dcsr_i_links_grow(dcsr_i_links *links, uint64_t vertices);

/* The place at which the link from u to v stands, or would; whether it does; its place, or UINT64_MAX. */
uint64_t dcsr_i_links_place(const dcsr_i_links *links, uint32_t u, uint32_t v);
static inline bool dcsr_i_links_is_at(const dcsr_i_links *links, uint64_t place, uint32_t u, uint32_t v)
{
    return place < links->row[u].begin + links->row[u].length && links->end[place] == v;
}
uint64_t dcsr_i_links_find(const dcsr_i_links *links, uint32_t u, uint32_t v);

/* Adds the edge from -> to, or gives it another weight; `place` is that of the link (dcsr_i_links_place). *first tells
 * whether the vertices had no edge before. On failure nothing has changed. */
dcsr_status dcsr_i_links_insert(dcsr_i_links *links, uint32_t from, uint32_t to, uint64_t place,
                                double weight, bool *first);
/* Removes it, which is there; whether the vertices have lost their last edge. */
bool dcsr_i_links_remove(dcsr_i_links *links, uint32_t from, uint32_t to, uint64_t place);

/* Of functions that only ask for memory: gcc takes a call of one for a call without effect, unless it is inlined by
 * force. */
#define DCSR_I_LINKS_EXPECT static inline __attribute__((always_inline))

/* Asks for what is about to be read, so that memory is waited for many times at once: first of where a row is, then of
 * its beginning. */
DCSR_I_LINKS_EXPECT void dcsr_i_links_expect_row(const dcsr_i_links *links, uint32_t u)
{
    __builtin_prefetch(links->row + u);
}
DCSR_I_LINKS_EXPECT void dcsr_i_links_expect_places(const dcsr_i_links *links, uint32_t u)
{
    enum { LINE = 64, MOST = 128 };
    const uint64_t begin = links->row[u].begin,
                   length = links->row[u].length < MOST ? links->row[u].length : MOST;
    const char *end = (const char *)(links->end + begin), *way = (const char *)(links->way + begin);
    for (uint64_t b = 0; b < length * sizeof *links->end; b += LINE) __builtin_prefetch(end + b);
    for (uint64_t b = 0; b < length; b += LINE) __builtin_prefetch(way + b);
}

/* Bytes that it takes. */
uint64_t dcsr_i_links_bytes(const dcsr_i_links *links);

/* The value of a type as a weight; 1 of a pattern. */
double dcsr_i_links_weight(dcsr_type type, const void *values, uint64_t i);

/* for (DCSR_I_EACH_LINK(k, links, u)) links->end[k] ... */
#define DCSR_I_EACH_LINK(k, links, u)                                          \
    uint64_t k = (links)->row[u].begin, k##_end_ = k + (links)->row[u].length; \
    k < k##_end_;                                                              \
    k++

#endif
