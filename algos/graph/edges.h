/* edges.h: what the algorithms of this folder share: the edges of a view, or of a matrix on several devices, row by row
 * and each row in one stretch of memory, and memory that is freed together (internal).
 *
 *      dcsr_i_edges e;
 *      dcsr_status status = dcsr_i_edges_out(&e, A, "dcsr_components");
 *      uint32_t *parent = dcsr_i_edges_take(&e, e.vertices, sizeof *parent);      NULL once anything has failed
 *      if (!e.status) ...
 *      return dcsr_i_edges_close(&e);
 */
#ifndef DCSR_GRAPH_EDGES_H
#define DCSR_GRAPH_EDGES_H

#include <dcsr/extend.h>
#include <dcsr/graph.h>
#include <dcsr/multi.h>
#include <dcsr/view.h>

struct dcsr_i_cuda_stream;

/* The edges of a vertex. */
typedef struct dcsr_i_ends {
    const uint32_t *vertex;
    const void *values; /* of the view's type */
    uint64_t count;
} dcsr_i_ends;

enum { DCSR_I_EDGES_BLOCKS = 32 };

typedef struct dcsr_i_edges {
    dcsr_context *context;
    dcsr_context *team; /* whose threads go over them */
    const char *call;   /* for messages */
    dcsr_status status; /* of all that was done with it */
    dcsr_layout layout; /* of the view */
    dcsr_type type;     /* of the values */
    size_t size;        /* of a value */
    uint64_t vertices, count;
    /* On a device: where all work on them goes. NULL: they are in host memory. */
    struct dcsr_i_cuda_stream *stream;
    /* CSR, lent or made; or, where offsets is NULL, the rows one by one; on a device always CSR. */
    const uint64_t *offsets;
    const uint32_t *columns;
    const void *values;
    dcsr_i_ends *rows;
    /* What is freed at the end. */
    dcsr_matrix *matrix;
    dcsr_view *view;
    dcsr_multi_matrix *parts;
    dcsr_multi_view *parts_view;
    int blocks;
    struct {
        void *memory;
        uint64_t count;
        size_t size;
        bool on_device;
    } block[DCSR_I_EDGES_BLOCKS];
} dcsr_i_edges;

/* Which edges of a square view. */
typedef enum dcsr_i_edges_kind {
    /* The rows: v -> row v. CSR is lent; of other layouts rows in one piece are lent, and those in several are
       copied. */
    DCSR_I_EDGES_OUT,
    /* The columns: v -> those with an edge to v, each once, ascending. Lent by a CSC view, else transposed. No
       values. */
    DCSR_I_EDGES_IN,
    /* Both, each once and ascending; loops are among them. If the graph is symmetric, as the caller promises, the rows
       as they are. No values. */
    DCSR_I_EDGES_BOTH,
    /* The same with each edge once even then: if a row does not ascend, all are sorted. */
    DCSR_I_EDGES_ONCE
} dcsr_i_edges_kind;

/* Opens them. `call` is for messages, `symmetric` is asked of BOTH and ONCE. In host memory, of a view on a device from
 * a copy there; or, of a view on a device, as CSR in its memory, where what is in pieces is copied together. */
dcsr_status dcsr_i_edges_open(dcsr_i_edges *e, dcsr_view *A, bool on_device, dcsr_i_edges_kind kind,
                              bool symmetric, const char *call);

static inline dcsr_status dcsr_i_edges_out(dcsr_i_edges *e, dcsr_view *A, const char *call)
{
    return dcsr_i_edges_open(e, A, false, DCSR_I_EDGES_OUT, false, call);
}
static inline dcsr_status dcsr_i_edges_in(dcsr_i_edges *e, dcsr_view *A, const char *call)
{
    return dcsr_i_edges_open(e, A, false, DCSR_I_EDGES_IN, false, call);
}
static inline dcsr_status dcsr_i_edges_both(dcsr_i_edges *e, dcsr_view *A, bool symmetric, const char *call)
{
    return dcsr_i_edges_open(e, A, false, DCSR_I_EDGES_BOTH, symmetric, call);
}
static inline dcsr_status dcsr_i_edges_once(dcsr_i_edges *e, dcsr_view *A, bool symmetric, const char *call)
{
    return dcsr_i_edges_open(e, A, false, DCSR_I_EDGES_ONCE, symmetric, call);
}
static inline dcsr_status dcsr_i_edges_on_device(dcsr_i_edges *e, dcsr_view *A, dcsr_i_edges_kind kind,
                                                 bool symmetric, const char *call)
{
    return dcsr_i_edges_open(e, A, true, kind, symmetric, call);
}

/* The edges of all rows of a matrix on several devices, in host memory; rows on GPUs are copied there. OUT, or IN, or
 * BOTH: these in any order, and twice where they are there both ways. */
dcsr_status dcsr_i_edges_of_parts(dcsr_i_edges *e, dcsr_multi_view *A, dcsr_i_edges_kind kind,
                                  const char *call);

/* Zeroed memory of the host until the end. NULL on failure, which e->status tells, and after one. */
void *dcsr_i_edges_take(dcsr_i_edges *e, uint64_t count, size_t size);
/* Notes what is to be freed at the end. */
static inline void dcsr_i_edges_keep(dcsr_i_edges *e, void *memory, uint64_t count, size_t size,
                                     bool on_device)
{
    e->block[e->blocks].memory = memory;
    e->block[e->blocks].count = count;
    e->block[e->blocks].size = size;
    e->block[e->blocks++].on_device = on_device;
}
/* Ends it, and returns its status. */
dcsr_status dcsr_i_edges_close(dcsr_i_edges *e);

/* Threads for a loop over so many entries. */
static inline int dcsr_i_edges_threads(const dcsr_i_edges *e, uint64_t entries)
{
    return dcsr_context_threads(e->team, entries);
}

static inline dcsr_i_ends dcsr_i_edges_of(const dcsr_i_edges *e, uint64_t v)
{
    if (!e->offsets) return e->rows[v];
    const uint64_t begin = e->offsets[v];
    return (dcsr_i_ends){e->columns + begin, (const char *)e->values + begin * e->size,
                         e->offsets[v + 1] - begin};
}

/* ---- Algorithms over edges in host memory, of a view or of several devices' rows ----
 *
 * Arguments have been checked. The first failure stays in e->status, after which nothing is done; outputs are written
 * at the end. */

/* dcsr_components(). `in` is the same edges from the other side, or NULL; `symmetric`: each edge is there both ways, or
 * `in` is not NULL. */
void dcsr_i_components(dcsr_i_edges *e, const dcsr_i_edges *in, bool symmetric, uint32_t *component,
                       dcsr_components_result *result);
/* dcsr_pagerank(), with options of dcsr_i_pagerank_options(); `degree`, which changes, has how many edges lead from
 * each vertex. */
void dcsr_i_pagerank(dcsr_i_edges *in, double *degree, double *rank, dcsr_pagerank_result *result,
                     const dcsr_pagerank_options *o);
/* dcsr_sssp(). */
void dcsr_i_sssp(dcsr_i_edges *e, double *distance, dcsr_sssp_result *result, uint64_t source, double delta);
/* dcsr_triangles(), where each edge is there from both ends. */
void dcsr_i_triangles(dcsr_i_edges *e, uint64_t *triangles, dcsr_triangles_result *result);

#endif
