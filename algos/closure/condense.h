/* condense.h: a graph's strongly connected components, and the edges between them (internal).
 *
 * Components are numbered in the order in which Tarjan's algorithm completes them, so that an edge between two
 * leads from the larger number to the smaller: ascending numbers are topological order, from the end of all
 * paths. */
#ifndef DCSR_CLOSURE_CONDENSE_H
#define DCSR_CLOSURE_CONDENSE_H

#include "algos/closure/work.h"
#include <dcsr/view.h>

typedef struct dcsr_i_condensed {
    uint64_t vertices, components;
    uint32_t *component;  /* of each vertex */
    uint32_t *member;     /* the vertices, component after component */
    uint32_t *begin;      /* components + 1: where those of one begin */
    bool *cyclic;         /* whether a component's vertices reach themselves */
    uint64_t *pred_begin; /* components + 1 */
    uint32_t *pred;       /* of each component the others that have an edge to it, once */
} dcsr_i_condensed;

/* The number of vertices of a component. */
static inline uint64_t dcsr_i_size_of(const dcsr_i_condensed *g, uint64_t component)
{
    return g->begin[component + 1] - g->begin[component];
}

/* Reads the graph that a view shows, in `work`'s memory. */
dcsr_status dcsr_i_condense(dcsr_i_condensed *g, dcsr_i_work *work, dcsr_view *A);

/* The shape of a view that has to be of a square matrix. */
dcsr_status dcsr_i_square_shape(dcsr_view_shape *shape, const char *call, dcsr_view *A);

/* Rows of a view of any layout, on the host, in `work`'s memory unless they are lent; to be given back with
 * dcsr_i_edge_rows_drop(). */
typedef struct dcsr_i_edge_rows {
    uint64_t rows;
    const uint64_t *offsets;
    const uint32_t *cols;
    bool lent;
} dcsr_i_edge_rows;
dcsr_status dcsr_i_edge_rows_read(dcsr_i_edge_rows *rows, dcsr_i_work *work, dcsr_view *A);
void dcsr_i_edge_rows_drop(dcsr_i_edge_rows *rows, dcsr_i_work *work);

#endif
