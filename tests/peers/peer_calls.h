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
vector_pair *pick_vector(session *s, const frame *f, uint64_t size);
void mask_of_matrix(session *s, frame *f);
void mask_of_vector(session *s, frame *f, uint64_t size);
void open_views(session *s, frame *f);
void ready(session *s, frame *f, const char *name);
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

/* clang-format off */
void run_mxm(session *s);
void run_mxv(session *s);
void run_vxm(session *s);
void run_spmm(session *s);
void run_ewise_add(session *s);
void run_ewise_mult(session *s);
void run_matrix_apply(session *s);
void run_matrix_apply_first(session *s);
void run_matrix_apply_second(session *s);
void run_matrix_apply_index(session *s);
void run_matrix_select(session *s);
void run_matrix_transpose(session *s);
void run_vector_apply(session *s);
void run_vector_apply_first(session *s);
void run_vector_apply_second(session *s);
void run_vector_apply_index(session *s);
void run_vector_select(session *s);
void run_vector_ewise_add(session *s);
void run_vector_ewise_mult(session *s);
void run_reduce_rows(session *s);
void run_matrix_reduce(session *s);
void run_vector_reduce(session *s);
void run_matrix_extract(session *s);
void run_vector_extract(session *s);
void run_extract_row(session *s);
void run_extract_column(session *s);
void run_matrix_assign(session *s);
void run_matrix_assign_scalar(session *s);
void run_assign_row(session *s);
void run_assign_column(session *s);
void run_vector_assign(session *s);
void run_vector_assign_scalar(session *s);
void run_kronecker(session *s);
void run_matrix_add(session *s);
void run_change_matrix(session *s);
void run_change_vector(session *s);
/* clang-format on */

#endif
