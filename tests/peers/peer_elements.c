/* peer_elements.c: operations entry by entry. */
#include "tests/peers/peer_calls.h"

#include <string.h>

/* ---- Matrices, entry by entry ---- */

static void ewise(session *s, bool add)
{
    frame f = {0};
    const uint64_t m = draw_size(s), n = draw_size(s);
    begin(s, &f, true, true);
    const bool transposed = f.desc.transpose_a || f.desc.transpose_b;
    do {
        f.op = draw_binary(&s->draw, draw_type(s));
    } while (add && transposed && strlen(f.op.name) == 2); /* eq, lt, ...: see differential.h */
    f.C = pick_matrix(s, &f, m, n);
    f.A = pick_input(s, &f, f.desc.transpose_a, m, n);
    f.B = pick_input(s, &f, f.desc.transpose_b, m, n);
    mask_of_matrix(s, &f);
    open_views(s, &f);
    ready(s, &f);
    const dcsr_status ours = (add ? dcsr_matrix_ewise_add : dcsr_matrix_ewise_mult)(
        f.C->ours, f.view_mask, OUR_ACCUM(&f), f.op.binary, f.viewA, f.viewB, &f.desc);
    const GrB_Info theirs = (add ? GrB_Matrix_eWiseAdd_BinaryOp : GrB_Matrix_eWiseMult_BinaryOp)(
        f.Z, f.M, THEIR_ACCUM(&f), f.op.their_binary, f.A->theirs, f.B->theirs, f.their_desc);
    end(s, &f, ours, theirs);
}

void run_ewise_add(session *s)
{
    ewise(s, true);
}

void run_ewise_mult(session *s)
{
    ewise(s, false);
}

/* Everything of one input: apply in its four forms, select, transpose. */
typedef enum unary_kind { APPLY, FIRST, SECOND, INDEX, SELECT, TRANSPOSE } unary_kind;

/* Draws the operator and its scalar; theirs to *boxed. */
static scalar draw_unary_kind(session *s, frame *f, unary_kind kind, GrB_Scalar *boxed)
{
    dcsr_type type = draw_type(s);
    if (kind == APPLY) f->op = draw_unary(&s->draw, type);
    if (kind == FIRST || kind == SECOND) f->op = draw_binary(&s->draw, type);
    if (kind == INDEX || kind == SELECT) f->op = draw_index(&s->draw, type, kind == SELECT);
    scalar value = draw_value(&s->draw, type);
    if (f->op.int64_thunk) {
        value.int64 = (int64_t)draw_below(&s->draw, 41) - 20;
        if (!strcmp(f->op.name, "diag_index")) value.int64 = 0;
        type = DCSR_INT64;
    }
    *boxed = their_scalar(type, value);
    return value;
}

static void unary_matrix(session *s, unary_kind kind)
{
    frame f = {0};
    const uint64_t m = draw_size(s), n = draw_size(s);
    begin(s, &f, true, false);
    GrB_Scalar boxed;
    const scalar x = draw_unary_kind(s, &f, kind, &boxed);
    const bool transposed = f.desc.transpose_a != (kind == TRANSPOSE);
    f.C = pick_matrix(s, &f, m, n);
    f.A = pick_input(s, &f, transposed, m, n);
    mask_of_matrix(s, &f);
    open_views(s, &f);
    ready(s, &f);
    dcsr_matrix *C = f.C->ours;
    GrB_Matrix D = f.Z, E = f.A->theirs, M = f.M;
    const dcsr_binary_op *accum = OUR_ACCUM(&f);
    GrB_BinaryOp plus = THEIR_ACCUM(&f);
    dcsr_status ours = DCSR_OK;
    GrB_Info theirs = GrB_SUCCESS;
    switch (kind) {
    case APPLY:
        ours = dcsr_matrix_apply(C, f.view_mask, accum, f.op.unary, f.viewA, &f.desc);
        theirs = GrB_Matrix_apply(D, M, plus, f.op.their_unary, E, f.their_desc);
        break;
    case FIRST:
        ours = dcsr_matrix_apply_first(C, f.view_mask, accum, f.op.binary, &x, f.viewA, &f.desc);
        /* Theirs has the matrix second, and so the descriptor's second transpose. */
        if (f.desc.transpose_a) THEIRS(GrB_Descriptor_set(f.their_desc, GrB_INP1, GrB_TRAN));
        theirs = GrB_Matrix_apply_BinaryOp1st_Scalar(D, M, plus, f.op.their_binary, boxed, E, f.their_desc);
        break;
    case SECOND:
        ours = dcsr_matrix_apply_second(C, f.view_mask, accum, f.op.binary, f.viewA, &x, &f.desc);
        theirs = GrB_Matrix_apply_BinaryOp2nd_Scalar(D, M, plus, f.op.their_binary, E, boxed, f.their_desc);
        break;
    case INDEX:
        ours = dcsr_matrix_apply_index(C, f.view_mask, accum, f.op.index, f.viewA, &x, &f.desc);
        theirs = GrB_Matrix_apply_IndexOp_Scalar(D, M, plus, f.op.their_index, E, boxed, f.their_desc);
        break;
    case SELECT:
        ours = dcsr_matrix_select(C, f.view_mask, accum, f.op.index, f.viewA, &x, &f.desc);
        theirs = GrB_Matrix_select_Scalar(D, M, plus, f.op.their_index, E, boxed, f.their_desc);
        break;
    case TRANSPOSE:
        ours = dcsr_matrix_transpose(C, f.view_mask, accum, f.viewA, &f.desc);
        theirs = GrB_transpose(D, M, plus, E, f.their_desc);
    }
    THEIRS(GrB_Scalar_free(&boxed));
    end(s, &f, ours, theirs);
}

static void unary_vector(session *s, unary_kind kind)
{
    frame f = {0};
    const uint64_t n = draw_size(s);
    begin(s, &f, false, false);
    GrB_Scalar boxed;
    const scalar x = draw_unary_kind(s, &f, kind, &boxed);
    f.w = pick_vector(s, &f, n);
    f.u = pick_vector(s, &f, n);
    mask_of_vector(s, &f, f.w->size);
    ready(s, &f);
    dcsr_vector *w = f.w->ours, *u = f.u->ours, *mask = OUR_MASK(&f);
    GrB_Vector W = f.z, U = f.u->theirs, M = f.m;
    const dcsr_binary_op *accum = OUR_ACCUM(&f);
    GrB_BinaryOp plus = THEIR_ACCUM(&f);
    dcsr_status ours = DCSR_OK;
    GrB_Info theirs = GrB_SUCCESS;
    switch (kind) {
    case APPLY:
        ours = dcsr_vector_apply(w, mask, accum, f.op.unary, u, &f.desc);
        theirs = GrB_Vector_apply(W, M, plus, f.op.their_unary, U, f.their_desc);
        break;
    case FIRST:
        ours = dcsr_vector_apply_first(w, mask, accum, f.op.binary, &x, u, &f.desc);
        theirs = GrB_Vector_apply_BinaryOp1st_Scalar(W, M, plus, f.op.their_binary, boxed, U, f.their_desc);
        break;
    case SECOND:
        ours = dcsr_vector_apply_second(w, mask, accum, f.op.binary, u, &x, &f.desc);
        theirs = GrB_Vector_apply_BinaryOp2nd_Scalar(W, M, plus, f.op.their_binary, U, boxed, f.their_desc);
        break;
    case INDEX:
        ours = dcsr_vector_apply_index(w, mask, accum, f.op.index, u, &x, &f.desc);
        theirs = GrB_Vector_apply_IndexOp_Scalar(W, M, plus, f.op.their_index, U, boxed, f.their_desc);
        break;
    default:
        ours = dcsr_vector_select(w, mask, accum, f.op.index, u, &x, &f.desc);
        theirs = GrB_Vector_select_Scalar(W, M, plus, f.op.their_index, U, boxed, f.their_desc);
    }
    THEIRS(GrB_Scalar_free(&boxed));
    end(s, &f, ours, theirs);
}

#define UNARY(name, of, kind)   \
    void run_##name(session *s) \
    {                           \
        unary_##of(s, kind);    \
    }
UNARY(matrix_apply, matrix, APPLY)
UNARY(matrix_apply_first, matrix, FIRST)
UNARY(matrix_apply_second, matrix, SECOND)
UNARY(matrix_apply_index, matrix, INDEX)
UNARY(matrix_select, matrix, SELECT)
UNARY(matrix_transpose, matrix, TRANSPOSE)
UNARY(vector_apply, vector, APPLY)
UNARY(vector_apply_first, vector, FIRST)
UNARY(vector_apply_second, vector, SECOND)
UNARY(vector_apply_index, vector, INDEX)
UNARY(vector_select, vector, SELECT)

static void vector_ewise(session *s, bool add)
{
    frame f = {0};
    const uint64_t n = draw_size(s);
    begin(s, &f, false, false);
    f.op = draw_binary(&s->draw, draw_type(s));
    f.w = pick_vector(s, &f, n);
    f.u = pick_vector(s, &f, n);
    f.v = pick_vector(s, &f, n);
    mask_of_vector(s, &f, f.w->size);
    ready(s, &f);
    const dcsr_status ours = (add ? dcsr_vector_ewise_add : dcsr_vector_ewise_mult)(
        f.w->ours, OUR_MASK(&f), OUR_ACCUM(&f), f.op.binary, f.u->ours, f.v->ours, &f.desc);
    const GrB_Info theirs = (add ? GrB_Vector_eWiseAdd_BinaryOp : GrB_Vector_eWiseMult_BinaryOp)(
        f.z, f.m, THEIR_ACCUM(&f), f.op.their_binary, f.u->theirs, f.v->theirs, f.their_desc);
    end(s, &f, ours, theirs);
}

void run_vector_ewise_add(session *s)
{
    vector_ewise(s, true);
}

void run_vector_ewise_mult(session *s)
{
    vector_ewise(s, false);
}
