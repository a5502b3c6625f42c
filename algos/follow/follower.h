/* follower.h: what every follower is made of (internal).
 *
 *      dcsr_follower_advance        checks, difference of the two views                       follower.c
 *        for each entry that differs, removed ones first, one after the other:
 *          the copy of the graph      gets the change                                         links.c
 *          kind->after                the graph has changed by this one edge
 *        kind->settle               all edges are as in the view
 *        kind->anew                 instead, or if following was given up
 */
#ifndef DCSR_FOLLOW_FOLLOWER_H
#define DCSR_FOLLOW_FOLLOWER_H

#include "algos/follow/links.h"
#include "algos/follow/nearest.h"
#include <dcsr/follow.h>

typedef enum dcsr_i_edge_change_kind {
    DCSR_I_EDGE_INSERTED,
    DCSR_I_EDGE_REMOVED,
    DCSR_I_EDGE_CHANGED
} dcsr_i_edge_change_kind;

/* One edge that differs. */
typedef struct dcsr_i_edge_change {
    dcsr_i_edge_change_kind kind;
    uint32_t from, to;
    bool marked;        /* the link had DCSR_I_LINK_MARK before */
    bool link;          /* of `after`: the two vertices had no edge before, or have none now */
    double weight, old; /* where weights are kept */
} dcsr_i_edge_change;

enum { DCSR_I_FOLLOW_ARRAYS = 13, DCSR_I_FOLLOW_LITTLE = 1000 };

/* What makes followers differ; functions may be NULL but for the first. */
typedef struct dcsr_i_follow_kind {
    const char *name, *call, *getter;
    bool sourced, weighted;            /* begins at a source; reads weights */
    bool only_out;                     /* needs no edges by the vertex to which they lead */
    uint64_t patience;                 /* work after which it is computed anew, in eighths of all links */
    size_t size[DCSR_I_FOLLOW_ARRAYS]; /* of the arrays with an element for each vertex; 0: there is none */
    /* Makes room for this number of vertices outside of the arrays. On failure nothing has changed. */
    dcsr_status (*reserve)(dcsr_follower *f, uint64_t vertices);
    void (*release)(dcsr_follower *f); /* frees that */
    /* The result of the view, of which the links are. Arrays have anything in them. */
    dcsr_status (*anew)(dcsr_follower *f, dcsr_view *view);
    /* Vertices from `old` on are new, without edges; arrays are zero there. */
    void (*grown)(dcsr_follower *f, uint64_t old);
    void (*after)(dcsr_follower *f, const dcsr_i_edge_change *change);
    dcsr_status (*settle)(dcsr_follower *f, dcsr_view *view);
} dcsr_i_follow_kind;

struct dcsr_follower {
    const dcsr_i_follow_kind *kind;
    dcsr_context *context;
    dcsr_view *view;       /* the last one that it has seen */
    dcsr_view_shape shape; /* of that */
    uint64_t version;
    bool valid; /* the result is that of the version */
    uint64_t vertices, room;
    dcsr_i_links links;
    void *array[DCSR_I_FOLLOW_ARRAYS];
    /* Of the advance that goes on: */
    uint64_t touched, work;
    dcsr_follow_anew anew; /* other than KEPT: following was given up */
    /* What is known besides arrays. */
    uint64_t source;   /* of paths */
    uint64_t count;    /* components; triangles; pairs; vertices or blocks of them in a list */
    uint64_t negative; /* negative weights */
    bool mixed; /* there were some when distances were computed last; then what dcsr_sssp() has told: */
    dcsr_sssp_result paths;
    dcsr_i_nearest *nearest; /* of paths */
    double damping, tolerance;
    double mass, residuals; /* sums over all vertices: of ranks before they are scaled, of |residuals| */
    double rounded;         /* what rounding may have added to residuals, in sum */
    /* Of a closure: bit_rows + 1 rows of bits, each of `words` words; how many vertices have lost edges. */
    uint64_t *bits, bit_rows, words, noted, memory_limit;
    const double *personal; /* while the follower is made */
    bool is_personal;
};

/* Makes a follower of a view from what the caller has filled in, `kind` at least. */
dcsr_status dcsr_i_follow(dcsr_follower **follower, const dcsr_follower *wanted, dcsr_view *view);

/* Before a getter fills *found: fails unless the follower is of the kind and has a result. */
dcsr_status dcsr_i_follow_check(const dcsr_follower *f, const void *found, const dcsr_i_follow_kind *kind);

/* Counts edges that were looked at, and gives up following when they have become too many. */
static inline void dcsr_i_follow_work(dcsr_follower *f, uint64_t edges)
{
    f->work += edges;
    if (f->work > f->kind->patience * (f->links.count + f->vertices) / 8 + DCSR_I_FOLLOW_LITTLE)
        f->anew = DCSR_FOLLOW_FAR;
}

#endif
