/* peer_calls.h: what the operations of the differential test share. */
#ifndef DCSR_TESTS_PEER_CALLS_H
#define DCSR_TESTS_PEER_CALLS_H

#include "tests/peers/differential.h"

/* One call: its objects, its mask, its description, in both libraries. */
typedef struct frame {
    dcsr_desc desc;
    dcsr_report report;
    GrB_Descriptor their_desc, last_desc; /* of the call, of the step that looks at the mask */
    operator_pair accum, op;
    matrix_pair *C, *A, *B, *mask;
    vector_pair *w, *u, *v, *vmask;
    GrB_Matrix Z, M; /* of the call to theirs: the output and its mask */
    GrB_Vector z, m;
    dcsr_view *viewA, *viewB, *view_mask;
} frame;

#define OUR_ACCUM(f)   ((f)->accum.binary)
#define THEIR_ACCUM(f) ((f)->accum.their_binary)
#define OUR_MASK(f)    ((f)->vmask ? (f)->vmask->ours : NULL)

/* A size of the session's; one that is not 0, as theirs gets sums over what is empty wrong. */
uint64_t draw_size(session *s);
uint64_t draw_full_size(session *s);

/* Accumulator and description; then the objects, now and then of a wrong shape, which both have to refuse;
 * the mask; the views; and ready() just before the calls. */
void begin(session *s, frame *f, bool transposes_a, bool transposes_b);
matrix_pair *pick_matrix(session *s, const frame *f, uint64_t rows, uint64_t cols);
/* An input of that shape, as it is stored where it will be transposed. */
matrix_pair *pick_input(session *s, const frame *f, bool transposed, uint64_t rows, uint64_t cols);
vector_pair *pick_vector(session *s, const frame *f, uint64_t size);
void mask_of_matrix(session *s, frame *f);
void mask_of_vector(session *s, frame *f, uint64_t size);
void open_views(session *s, frame *f);
void ready(session *s, frame *f);
/* Compares what the two said, and their outputs; gives back what the frame has. */
void end(session *s, frame *f, dcsr_status ours, GrB_Info theirs);

/* Their operator that copies values of a type. */
GrB_UnaryOp same_values(dcsr_type type);

/* Lists of places: NULL for all, or some, each once where `distinct`. */
typedef struct places {
    uint64_t *at, n;
} places;
places draw_places(session *s, uint64_t bound, bool distinct);
const GrB_Index *their_places(const places *p);
#define OUR_PLACES(p) ((p)->at ? &(dcsr_index_list){(p)->at, (p)->n} : NULL)

/* X(NAME) for each; seeds are good for this order. */
/* clang-format off */
#define FOR_OPERATIONS(X)                                                                                 \
    X(mxm) X(mxv) X(vxm) X(spmm)                                                                          \
    X(ewise_add) X(ewise_mult)                                                                            \
    X(matrix_apply) X(matrix_apply_first) X(matrix_apply_second) X(matrix_apply_index)                    \
    X(matrix_select) X(matrix_transpose)                                                                  \
    X(vector_apply) X(vector_apply_first) X(vector_apply_second) X(vector_apply_index) X(vector_select)   \
    X(vector_ewise_add) X(vector_ewise_mult)                                                              \
    X(reduce_rows) X(matrix_reduce) X(vector_reduce)                                                      \
    X(matrix_extract) X(vector_extract) X(extract_row) X(extract_column)                                  \
    X(matrix_assign) X(matrix_assign_scalar) X(assign_row) X(assign_column)                               \
    X(vector_assign) X(vector_assign_scalar)                                                              \
    X(kronecker) X(matrix_add)                                                                            \
    X(change_matrix) X(change_vector)
/* clang-format on */
#define X(name) void run_##name(session *s);
FOR_OPERATIONS(X)
#undef X

#endif
