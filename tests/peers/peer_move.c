/* peer_move.c: extracting and assigning, the Kronecker product, and changes by the store. */
#include "tests/peers/peer_calls.h"

#include <string.h>

/* ---- Places ---- */

void run_matrix_extract(session *s)
{
    frame f = {0};
    const uint64_t m = draw_size(s), n = draw_size(s);
    begin(s, &f, true, false);
    f.A = pick_matrix(s, &f, m, n);
    places rows = draw_places(s, f.desc.transpose_a ? f.A->cols : f.A->rows, false);
    places cols = draw_places(s, f.desc.transpose_a ? f.A->rows : f.A->cols, false);
    f.C = pick_matrix(s, &f, rows.n, cols.n);
    mask_of_matrix(s, &f);
    open_views(s, &f);
    ready(s, &f);
    const dcsr_status ours = dcsr_matrix_extract(f.C->ours, f.view_mask, OUR_ACCUM(&f), f.viewA,
                                                 OUR_PLACES(&rows), OUR_PLACES(&cols), &f.desc);
    const GrB_Info theirs = GrB_Matrix_extract(f.Z, f.M, THEIR_ACCUM(&f), f.A->theirs, their_places(&rows),
                                               rows.n, their_places(&cols), cols.n, f.their_desc);
    end(s, &f, ours, theirs);
    free(rows.at);
    free(cols.at);
}

void run_vector_extract(session *s)
{
    frame f = {0};
    begin(s, &f, false, false);
    f.u = pick_vector(s, &f, draw_size(s));
    places p = draw_places(s, f.u->size, false);
    f.w = pick_vector(s, &f, p.n);
    mask_of_vector(s, &f, f.w->size);
    ready(s, &f);
    const dcsr_status ours =
        dcsr_vector_extract(f.w->ours, OUR_MASK(&f), OUR_ACCUM(&f), f.u->ours, OUR_PLACES(&p), &f.desc);
    const GrB_Info theirs =
        GrB_Vector_extract(f.z, f.m, THEIR_ACCUM(&f), f.u->theirs, their_places(&p), p.n, f.their_desc);
    end(s, &f, ours, theirs);
    free(p.at);
}

/* A row or column as a vector, entry by entry. */
static GrB_Vector their_line(const matrix_pair *A, bool row, uint64_t line, uint64_t length)
{
    GrB_Vector made;
    GrB_Scalar boxed = their_scalar(A->type, (scalar){0});
    THEIRS(GrB_Vector_new(&made, their_type(A->type), length));
    for (uint64_t k = 0; k < length; k++) {
        GrB_Index stored = 0;
        THEIRS(GrB_Scalar_clear(boxed));
        THEIRS(GrB_Matrix_extractElement_Scalar(boxed, A->theirs, row ? line : k, row ? k : line));
        THEIRS(GrB_Scalar_nvals(&stored, boxed));
        if (stored) THEIRS(GrB_Vector_setElement_Scalar(made, boxed, k));
    }
    THEIRS(GrB_Scalar_free(&boxed));
    return made;
}

static void extract_line(session *s, bool row)
{
    frame f = {0};
    const uint64_t m = draw_size(s), n = draw_size(s);
    begin(s, &f, true, false);
    f.A = pick_matrix(s, &f, m, n);
    const bool by_row = row != f.desc.transpose_a; /* of A as it is stored */
    const uint64_t lines = by_row ? f.A->rows : f.A->cols, length = by_row ? f.A->cols : f.A->rows;
    if (!lines) return;
    const uint64_t line = draw_below(&s->draw, lines);
    f.w = pick_vector(s, &f, length);
    mask_of_vector(s, &f, f.w->size);
    open_views(s, &f);
    ready(s, &f);
    GrB_Vector T = their_line(f.A, by_row, line, length);
    const dcsr_status ours = (row ? dcsr_matrix_extract_row : dcsr_matrix_extract_column)(
        f.w->ours, OUR_MASK(&f), OUR_ACCUM(&f), f.viewA, line, &f.desc);
    const GrB_Info theirs =
        GrB_Vector_apply(f.z, f.m, THEIR_ACCUM(&f), same_values(f.A->type), T, f.their_desc);
    THEIRS(GrB_Vector_free(&T));
    end(s, &f, ours, theirs);
}

void run_extract_row(session *s)
{
    extract_line(s, true);
}

void run_extract_column(session *s)
{
    extract_line(s, false);
}

void run_matrix_assign(session *s)
{
    frame f = {0};
    const uint64_t m = draw_size(s), n = draw_size(s);
    begin(s, &f, true, false);
    f.C = pick_matrix(s, &f, m, n);
    places rows = draw_places(s, f.C->rows, true), cols = draw_places(s, f.C->cols, true);
    f.A = pick_input(s, &f, f.desc.transpose_a, rows.n, cols.n);
    mask_of_matrix(s, &f);
    open_views(s, &f);
    ready(s, &f);
    const dcsr_status ours = dcsr_matrix_assign(f.C->ours, f.view_mask, OUR_ACCUM(&f), f.viewA,
                                                OUR_PLACES(&rows), OUR_PLACES(&cols), &f.desc);
    const GrB_Info theirs = GrB_Matrix_assign(f.Z, f.M, THEIR_ACCUM(&f), f.A->theirs, their_places(&rows),
                                              rows.n, their_places(&cols), cols.n, f.their_desc);
    end(s, &f, ours, theirs);
    free(rows.at);
    free(cols.at);
}

void run_matrix_assign_scalar(session *s)
{
    frame f = {0};
    const uint64_t m = draw_size(s), n = draw_size(s);
    begin(s, &f, false, false);
    f.C = pick_matrix(s, &f, m, n);
    places rows = draw_places(s, f.C->rows, true), cols = draw_places(s, f.C->cols, true);
    mask_of_matrix(s, &f);
    open_views(s, &f);
    ready(s, &f);
    const dcsr_type type = draw_type(s);
    const scalar value = draw_value(&s->draw, type);
    GrB_Scalar boxed = their_scalar(type, value);
    const dcsr_status ours = dcsr_matrix_assign_scalar(f.C->ours, f.view_mask, OUR_ACCUM(&f), &value, type,
                                                       OUR_PLACES(&rows), OUR_PLACES(&cols), &f.desc);
    THEIRS(GrB_Matrix_wait(f.Z, GrB_MATERIALIZE)); /* or removed elements count: see differential.h */
    const GrB_Info theirs = GrB_Matrix_assign_Scalar(f.Z, f.M, THEIR_ACCUM(&f), boxed, their_places(&rows),
                                                     rows.n, their_places(&cols), cols.n, f.their_desc);
    THEIRS(GrB_Scalar_free(&boxed));
    end(s, &f, ours, theirs);
    free(rows.at);
    free(cols.at);
}

static void assign_line(session *s, bool row)
{
    frame f = {0};
    const uint64_t m = draw_size(s), n = draw_size(s);
    begin(s, &f, false, false);
    f.C = pick_matrix(s, &f, m, n);
    const uint64_t lines = row ? f.C->rows : f.C->cols, length = row ? f.C->cols : f.C->rows;
    if (!lines) return;
    const uint64_t line = draw_below(&s->draw, lines);
    f.u = pick_vector(s, &f, length);
    /* Theirs sees to this mask in its one step, and has its troubles: see differential.h. */
    if (!f.accum.binary) mask_of_vector(s, &f, length);
    f.desc.mask_structure |= f.desc.mask_complement;
    ready(s, &f);
    GrB_Vector mask = NULL; /* one that is u is misread */
    if (f.m) THEIRS(GrB_Vector_dup(&mask, f.m));
    const dcsr_status ours = (row ? dcsr_matrix_assign_row : dcsr_matrix_assign_column)(
        f.C->ours, OUR_MASK(&f), OUR_ACCUM(&f), f.u->ours, line, &f.desc);
    const GrB_Info theirs =
        row ? GrB_Row_assign(f.Z, mask, THEIR_ACCUM(&f), f.u->theirs, line, GrB_ALL, length, f.their_desc)
            : GrB_Col_assign(f.Z, mask, THEIR_ACCUM(&f), f.u->theirs, GrB_ALL, length, line, f.their_desc);
    if (mask) THEIRS(GrB_Vector_free(&mask));
    end(s, &f, ours, theirs);
}

void run_assign_row(session *s)
{
    assign_line(s, true);
}

void run_assign_column(session *s)
{
    assign_line(s, false);
}

void run_vector_assign(session *s)
{
    frame f = {0};
    begin(s, &f, false, false);
    f.w = pick_vector(s, &f, draw_size(s));
    places p = draw_places(s, f.w->size, true);
    f.u = pick_vector(s, &f, p.n);
    mask_of_vector(s, &f, f.w->size);
    ready(s, &f);
    const dcsr_status ours =
        dcsr_vector_assign(f.w->ours, OUR_MASK(&f), OUR_ACCUM(&f), f.u->ours, OUR_PLACES(&p), &f.desc);
    const GrB_Info theirs =
        GrB_Vector_assign(f.z, f.m, THEIR_ACCUM(&f), f.u->theirs, their_places(&p), p.n, f.their_desc);
    end(s, &f, ours, theirs);
    free(p.at);
}

void run_vector_assign_scalar(session *s)
{
    frame f = {0};
    begin(s, &f, false, false);
    f.w = pick_vector(s, &f, draw_size(s));
    places p = draw_places(s, f.w->size, true);
    mask_of_vector(s, &f, f.w->size);
    ready(s, &f);
    const dcsr_type type = draw_type(s);
    const scalar value = draw_value(&s->draw, type);
    GrB_Scalar boxed = their_scalar(type, value);
    const dcsr_status ours = dcsr_vector_assign_scalar(f.w->ours, OUR_MASK(&f), OUR_ACCUM(&f), &value, type,
                                                       OUR_PLACES(&p), &f.desc);
    THEIRS(GrB_Vector_wait(f.z, GrB_MATERIALIZE)); /* or removed elements count: see differential.h */
    const GrB_Info theirs =
        GrB_Vector_assign_Scalar(f.z, f.m, THEIR_ACCUM(&f), boxed, their_places(&p), p.n, f.their_desc);
    THEIRS(GrB_Scalar_free(&boxed));
    end(s, &f, ours, theirs);
    free(p.at);
}

void run_kronecker(session *s)
{
    static const uint64_t sizes[] = {0, 1, 2, 3, 5, 8};
    frame f = {0};
    matrix_pair A = {0}, B = {0}, C = {0};
    uint64_t shape[4];
    for (int k = 0; k < 4; k++) shape[k] = sizes[draw_below(&s->draw, sizeof sizes / sizeof *sizes)];
    begin(s, &f, true, true);
    f.op = draw_binary(&s->draw, draw_type(s));
    matrix_make(s, &A, f.desc.transpose_a ? shape[1] : shape[0], f.desc.transpose_a ? shape[0] : shape[1]);
    matrix_make(s, &B, f.desc.transpose_b ? shape[3] : shape[2], f.desc.transpose_b ? shape[2] : shape[3]);
    matrix_make(s, &C, shape[0] * shape[2], shape[1] * shape[3]);
    f.A = &A, f.B = &B, f.C = &C;
    mask_of_matrix(s, &f);
    open_views(s, &f);
    ready(s, &f);
    const dcsr_status ours =
        dcsr_kronecker(C.ours, f.view_mask, OUR_ACCUM(&f), f.op.binary, f.viewA, f.viewB, &f.desc);
    const GrB_Info theirs = GrB_Matrix_kronecker_BinaryOp(f.Z, f.M, THEIR_ACCUM(&f), f.op.their_binary,
                                                          A.theirs, B.theirs, f.their_desc);
    end(s, &f, ours, theirs);
    matrix_free(&A);
    matrix_free(&B);
    matrix_free(&C);
}

void run_matrix_add(session *s)
{
    frame f = {0};
    const uint64_t m = draw_size(s), n = draw_size(s);
    f.C = pick_matrix(s, &f, m, n);
    f.A = pick_matrix(s, &f, m, n);
    open_views(s, &f);
    ready(s, &f);
    const dcsr_status ours = dcsr_matrix_add(f.C->ours, f.viewA, NULL);
    const GrB_Info theirs = GrB_Matrix_eWiseAdd_BinaryOp(
        f.C->theirs, NULL, NULL, their_policy(f.C->policy, f.C->type), f.C->theirs, f.A->theirs, NULL);
    end(s, &f, ours, theirs);
}

/* Changes by the store, between the operations. */
void run_change_matrix(session *s)
{
    matrix_pair *m = &s->matrices[draw_below(&s->draw, MATRICES)];
    if (m->ours) matrix_change(s, m);
}

void run_change_vector(session *s)
{
    vector_pair *v = &s->vectors[draw_below(&s->draw, VECTORS)];
    if (v->ours) vector_change(s, v);
}
