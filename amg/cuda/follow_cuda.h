/* follow_cuda.h: the kernels by which levels on a device follow their matrix (internal; for C and for kernels' files).
 *
 * The steps are those of follow.h. Sets are bits and a list in no order, whose length only the device knows: kernels
 * that go through a set get as many threads as `bound` says, and do what there is. What is written of the levels is
 * noted in a log, no word twice, so that an update which fails can be taken back. */
#ifndef DCSR_AMG_FOLLOW_CUDA_H
#define DCSR_AMG_FOLLOW_CUDA_H

#include "amg/cuda/stages_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dcsr_i_amg_cuda_set {
    uint32_t *bits, *list;
    uint64_t *count;
} dcsr_i_amg_cuda_set;

/* Words of 64 bits as they were, and where. */
typedef struct dcsr_i_amg_cuda_log {
    uint64_t **where, *what, *count;
} dcsr_i_amg_cuda_log;
void dcsr_i_amg_cuda_take_back(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_log *log, uint64_t bound);

/* ---- follow.cu: rows ---- */

/* A matrix whose rows move behind the `used` places that there are. *placed and *gone, zero before, get how many
 * entries they have then, and had. */
typedef struct dcsr_i_amg_cuda_moving {
    uint64_t *begin, *end;
    uint32_t *columns;
    double *values;
    uint64_t used, *placed, *gone;
} dcsr_i_amg_cuda_moving;
/* Rows that were computed: those of nodes of `each` rows, one after the other. */
typedef struct dcsr_i_amg_cuda_made {
    uint64_t count, each;
    const uint32_t *node;
    const uint64_t *begin, *end;
    const uint32_t *columns;
    const double *values;
} dcsr_i_amg_cuda_made;
/* The columns of rows that differ, before and now; and keys column << 32 | row of entries that are new. */
typedef struct dcsr_i_amg_cuda_touched {
    dcsr_i_amg_cuda_set columns;
    uint64_t *keys, *key_count;
} dcsr_i_amg_cuda_touched;
/* Moves those rows that differ in any bit, which `changed` gets. `touched` may be NULL. */
void dcsr_i_amg_cuda_move_rows(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_moving *to,
                               const dcsr_i_amg_cuda_made *made, const dcsr_i_amg_cuda_log *log,
                               const dcsr_i_amg_cuda_set *changed, const dcsr_i_amg_cuda_touched *touched);

/* length[i] of all rows, then the rows at offsets[i] of other arrays. */
void dcsr_i_amg_cuda_measure(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_rows *A, uint32_t *length);
void dcsr_i_amg_cuda_copy_rows(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_rows *A,
                               const uint64_t *offsets, uint32_t *columns, double *values);
/* dense, of zeros, column after column. */
void dcsr_i_amg_cuda_fill_dense(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_rows *A, double *dense);

/* ---- follow.cu: what rows reach ---- */

/* The columns of the rows of nodes of `of`, divided by `width`. */
void dcsr_i_amg_cuda_add_columns(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_set *to,
                                 const dcsr_i_amg_cuda_rows *A, const dcsr_i_amg_cuda_set *of, uint64_t block,
                                 uint64_t width, uint64_t bound);

/* Diagonals of the rows `dirty`, and norms of their nodes. */
typedef struct dcsr_i_amg_cuda_weighing {
    dcsr_i_amg_cuda_rows A;
    dcsr_i_amg_cuda_set dirty;
    uint64_t block;
    bool l1;
    double *diagonal, *scale, *norms; /* norms: NULL if nodes are rows */
    dcsr_i_amg_cuda_log log;
    dcsr_i_amg_cuda_set looked, weighed; /* get the nodes of these rows, and those whose weight differs */
    uint64_t *wrong;                     /* gets the largest UINT64_MAX - (row * 4 + its fault) */
    uint64_t *
        lopsided; /* gets how many rows do not look symmetric, or have a negative diagonal; NULL: who cares */
} dcsr_i_amg_cuda_weighing;
void dcsr_i_amg_cuda_weigh(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_weighing *w, uint64_t bound);

/* begin[k]: room for the entries of the nodes of a set, and one more for each, in no order; *entries gets how much. */
void dcsr_i_amg_cuda_place_nodes(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_set *nodes,
                                 const dcsr_i_amg_cuda_rows *A, uint64_t block, uint64_t *begin,
                                 uint64_t *entries, uint64_t bound);
/* *total gets how many entries the rows of a set have. */
void dcsr_i_amg_cuda_add_lengths(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_set *rows,
                                 const dcsr_i_amg_cuda_rows *A, uint64_t *total, uint64_t bound);
/* Rows `columns` of R, of the rows before and of the keys, sorted: entries of rows `smoothed` are those of P now. */
typedef struct dcsr_i_amg_cuda_turning {
    dcsr_i_amg_cuda_rows P, R;
    dcsr_i_amg_cuda_set columns, smoothed;
    uint64_t count; /* of columns */
    const uint64_t *keys;
    uint64_t key_count, *used;
    uint64_t *begin, *end; /* of the rows that are made */
    uint32_t *made_columns;
    double *made_values;
} dcsr_i_amg_cuda_turning;
void dcsr_i_amg_cuda_turn_rows(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_turning *t);

/* ---- regroup.cu ---- */

/* Nodes of the graph that have no aggregate and need one; aggregates that nodes of it have to leave. R tells who is in
 * an aggregate. */
void dcsr_i_amg_cuda_check_aggregates(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_prolongation *p,
                                      const dcsr_i_amg_cuda_rows *R, const dcsr_i_amg_cuda_set *moved,
                                      const dcsr_i_amg_cuda_set *parts);

/* A level of nodes of single rows: `moved` are nodes that get another aggregate or another T, `parts` aggregates that
 * get or lose one or whose vectors differ, `members` the nodes of these, `vectors` those whose vectors on the next
 * level do. */
typedef struct dcsr_i_amg_cuda_regrouping {
    dcsr_i_amg_cuda_rows A, R;
    const double *diagonal, *B; /* B: NULL for ones */
    double theta2;
    uint32_t *aggregate;
    double *T, *coarse; /* coarse: B of the next level, NULL if it keeps none */
    dcsr_i_amg_cuda_log log;
    dcsr_i_amg_cuda_set moved, parts, members, vectors;
} dcsr_i_amg_cuda_regrouping;
/* Who has to leave `parts`, the first ones of the set, does. The first of `moved` have no aggregate, `wanting` one. */
void dcsr_i_amg_cuda_dissolve(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_regrouping *g,
                              uint64_t wanting, uint64_t parts);
/* A round: each of the `moved` nodes without an aggregate joins that of its first strong neighbour that has one; *left
 * gets how many found none. `joined` has room for a number each. */
void dcsr_i_amg_cuda_join(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_regrouping *g, uint64_t moved,
                          uint32_t *joined, uint64_t *left);
/* Adds the aggregates of some nodes to the parts; then lists the members. */
void dcsr_i_amg_cuda_list_members(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_regrouping *g,
                                  const uint32_t *nodes, uint64_t count);
/* keys[k] = place of its aggregate << 32 | node */
void dcsr_i_amg_cuda_key_members(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_regrouping *g,
                                 uint64_t count, const uint32_t *slot, uint64_t *keys);
/* T of the members becomes B; `before` gets what it was. */
void dcsr_i_amg_cuda_restore(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_regrouping *g,
                             const uint64_t *keys, uint64_t count, double *before);
/* Once T is orthonormal in the pieces, with these factors: what differs. */
void dcsr_i_amg_cuda_compare_vectors(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_regrouping *g,
                                     const dcsr_i_amg_cuda_pieces *pieces, uint64_t members,
                                     const double *before, const double *factors);
void dcsr_i_amg_cuda_add_list(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_set *to,
                              const dcsr_i_amg_cuda_set *of, uint64_t bound);

/* ---- follow_products.cu ---- */

/* Rows of a product X Y, each added up in the order of X's entries, from 0. */
typedef struct dcsr_i_amg_cuda_terms {
    dcsr_i_amg_cuda_rows X;
    const uint32_t *list; /* rows of X */
    uint64_t count;
    const uint64_t *begin, *end; /* of the rows of Y */
    const uint32_t *columns;
    const double *values;
    const uint32_t *slot; /* row j of Y is at place slot[j]; NULL: at place j */
    /* The rows of the product. Of all that are longer than a table of 2^bits slots *full gets the number; *used gets
     * the entries of the others, and rows are written as long as there is room. */
    uint64_t room, *used, *full;
    uint64_t *made_begin, *made_end;
    uint32_t *made_columns;
    double *made_values;
    bool ordered;                /* columns ascend; else they are in any order */
    dcsr_i_amg_cuda_rows before; /* ordered: the rows as they were, which mostly have the same columns */
    int bits;
} dcsr_i_amg_cuda_terms;
enum { DCSR_I_AMG_CUDA_LEAST_BITS = 8, DCSR_I_AMG_CUDA_MOST_BITS = 12 };
void dcsr_i_amg_cuda_multiply_rows(dcsr_i_cuda_stream *stream, const dcsr_i_amg_cuda_terms *t);
/* slot[list[k]] = k */
void dcsr_i_amg_cuda_number(dcsr_i_cuda_stream *stream, const uint32_t *list, uint64_t count, uint32_t *slot);

#ifdef __cplusplus
}
#endif
#endif
