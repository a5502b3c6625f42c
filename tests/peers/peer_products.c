/* peer_products.c: products and sums. */
#include "tests/peers/peer_calls.h"

#include <string.h>

/* ---- Products ---- */

void run_mxm(session *s)
{
    frame f = {0};
    const uint64_t m = draw_size(s), n = draw_size(s), k = draw_full_size(s);
    begin(s, &f, true, true);
    f.op = draw_semiring(&s->draw, draw_type(s));
    f.C = pick_matrix(s, &f, m, n);
    f.A = pick_input(s, &f, f.desc.transpose_a, m, k);
    f.B = pick_input(s, &f, f.desc.transpose_b, k, n);
    mask_of_matrix(s, &f);
    open_views(s, &f);
    ready(s, &f);
    const dcsr_status ours =
        dcsr_mxm(f.C->ours, f.view_mask, OUR_ACCUM(&f), f.op.semiring, f.viewA, f.viewB, &f.desc);
    const GrB_Info theirs =
        GrB_mxm(f.Z, f.M, THEIR_ACCUM(&f), f.op.their_semiring, f.A->theirs, f.B->theirs, f.their_desc);
    end(s, &f, ours, theirs);
}

void run_mxv(session *s)
{
    frame f = {0};
    const uint64_t m = draw_full_size(s), n = draw_full_size(s);
    begin(s, &f, true, false);
    f.op = draw_semiring(&s->draw, draw_type(s));
    f.A = pick_input(s, &f, f.desc.transpose_a, m, n);
    f.w = pick_vector(s, &f, m);
    f.u = pick_vector(s, &f, n);
    mask_of_vector(s, &f, f.w->size);
    open_views(s, &f);
    ready(s, &f);
    const dcsr_status ours =
        dcsr_mxv(f.w->ours, OUR_MASK(&f), OUR_ACCUM(&f), f.op.semiring, f.viewA, f.u->ours, &f.desc);
    const GrB_Info theirs =
        GrB_mxv(f.z, f.m, THEIR_ACCUM(&f), f.op.their_semiring, f.A->theirs, f.u->theirs, f.their_desc);
    end(s, &f, ours, theirs);
}

void run_vxm(session *s)
{
    frame f = {0};
    const uint64_t m = draw_full_size(s), n = draw_full_size(s);
    begin(s, &f, false, true);
    f.op = draw_semiring(&s->draw, draw_type(s));
    f.A = pick_input(s, &f, f.desc.transpose_b, m, n);
    f.w = pick_vector(s, &f, n);
    f.u = pick_vector(s, &f, m);
    mask_of_vector(s, &f, f.w->size);
    open_views(s, &f);
    ready(s, &f);
    const dcsr_status ours =
        dcsr_vxm(f.w->ours, OUR_MASK(&f), OUR_ACCUM(&f), f.op.semiring, f.u->ours, f.viewA, &f.desc);
    const GrB_Info theirs =
        GrB_vxm(f.z, f.m, THEIR_ACCUM(&f), f.op.their_semiring, f.u->theirs, f.A->theirs, f.their_desc);
    end(s, &f, ours, theirs);
}

/* Y = A X, or accumulated into Y, of small dense X: theirs of full matrices, where an empty row leaves no
 * entry. */
void run_spmm(session *s)
{
    frame f = {0};
    const uint64_t m = draw_size(s), k = draw_size(s), columns = 1 + draw_below(&s->draw, 9);
    f.desc.transpose_a = draw_once_in(&s->draw, 3);
    const dcsr_type type = DCSR_FP64;
    if (s->draw.wild) return;
    f.op = draw_semiring(&s->draw, type);
    frame none = {0};
    for (f.A = NULL;
         !f.A || f.A->rows != (f.desc.transpose_a ? k : m) || f.A->cols != (f.desc.transpose_a ? m : k);)
        f.A = pick_input(s, &none, f.desc.transpose_a, m, k);
    open_views(s, &f);
    ready(s, &f);
    double *X = calloc(k * columns + 1, sizeof *X), *Y = calloc(m * columns + 1, sizeof *Y);
    GrB_Matrix theirX, theirY;
    THEIRS(GrB_Matrix_new(&theirX, GrB_FP64, k, columns));
    THEIRS(GrB_Matrix_new(&theirY, GrB_FP64, m, columns));
    for (uint64_t i = 0; i < k * columns; i++) {
        X[i] = draw_value(&s->draw, type).fp64;
        THEIRS(GrB_Matrix_setElement_FP64(theirX, X[i], i / columns, i % columns));
    }
    /* What is not there is the identity: the sum of nothing. */
    double identity = 0;
    GrB_Vector empty;
    THEIRS(GrB_Vector_new(&empty, GrB_FP64, 1));
    THEIRS(GrB_Vector_reduce_FP64(&identity, NULL, f.op.their_monoid, empty, NULL));
    THEIRS(GrB_Vector_free(&empty));
    OURS(dcsr_spmm(Y, NULL, NULL, f.op.semiring, f.viewA, X, columns, &f.desc));
    THEIRS(GrB_mxm(theirY, NULL, NULL, f.op.their_semiring, f.A->theirs, theirX, f.their_desc));
    for (uint64_t i = 0; i < m * columns && !s->failed; i++) {
        scalar got = {.fp64 = Y[i]}, wanted = {.fp64 = identity};
        THEIRS(GrB_Matrix_extractElement_FP64(&wanted.fp64, theirY, i / columns, i % columns));
        if (!value_equal(type, got, wanted, false))
            complain(s, "element %llu: %g, %g", (unsigned long long)i, Y[i], wanted.fp64);
    }
    THEIRS(GrB_Matrix_free(&theirX));
    THEIRS(GrB_Matrix_free(&theirY));
    free(X);
    free(Y);
    end(s, &f, DCSR_OK, GrB_SUCCESS);
}

/* ---- Sums ---- */

void run_reduce_rows(session *s)
{
    frame f = {0};
    const uint64_t m = draw_full_size(s), n = draw_full_size(s);
    begin(s, &f, true, false);
    f.op = draw_monoid(&s->draw, draw_type(s));
    f.A = pick_input(s, &f, f.desc.transpose_a, m, n);
    f.w = pick_vector(s, &f, m);
    mask_of_vector(s, &f, f.w->size);
    open_views(s, &f);
    ready(s, &f);
    const dcsr_status ours =
        dcsr_matrix_reduce_rows(f.w->ours, OUR_MASK(&f), OUR_ACCUM(&f), f.op.monoid, f.viewA, &f.desc);
    const GrB_Info theirs =
        GrB_Matrix_reduce_Monoid(f.z, f.m, THEIR_ACCUM(&f), f.op.their_monoid, f.A->theirs, f.their_desc);
    end(s, &f, ours, theirs);
}

/* To a scalar, of the monoid's type; theirs through a scalar, whose absence is the identity. */
static void reduce(session *s, bool matrix)
{
    frame f = {0};
    const uint64_t m = draw_full_size(s), n = draw_full_size(s);
    f.op = draw_monoid(&s->draw, draw_type(s));
    if (matrix)
        f.A = pick_matrix(s, &f, m, n);
    else
        f.u = pick_vector(s, &f, n);
    open_views(s, &f);
    ready(s, &f);
    GrB_Matrix E = f.A ? f.A->theirs : NULL;
    GrB_Vector e = f.u ? f.u->theirs : NULL, nothing;
    GrB_Index n_stored;
    THEIRS(E ? GrB_Matrix_nvals(&n_stored, E) : GrB_Vector_nvals(&n_stored, e));
    THEIRS(GrB_Vector_new(&nothing, GrB_BOOL, 1));
    if (!n_stored) E = NULL, e = nothing; /* the sum of what is empty, but was not, may be wrong */
    scalar got = {0}, wanted = {0};
    const dcsr_status ours = matrix ? dcsr_matrix_reduce(&got, NULL, f.op.monoid, f.viewA)
                                    : dcsr_vector_reduce(&got, NULL, f.op.monoid, f.u->ours);
    GrB_Info theirs = GrB_SUCCESS;
    switch (f.op.type) {
#define X(NAME)                                                                                   \
    case DCSR_##NAME:                                                                             \
        theirs = E ? GrB_Matrix_reduce_##NAME((void *)&wanted, NULL, f.op.their_monoid, E, NULL)  \
                   : GrB_Vector_reduce_##NAME((void *)&wanted, NULL, f.op.their_monoid, e, NULL); \
        break;
        FOR_TYPES(X)
#undef X
    default:
        break;
    }
    THEIRS(GrB_Vector_free(&nothing));
    char text[2][32];
    value_print(text[0], f.op.type, got);
    value_print(text[1], f.op.type, wanted);
    if (!value_equal(f.op.type, got, wanted, false))
        complain(s, "the sum is %s in dcsr, %s in GraphBLAS", text[0], text[1]);
    end(s, &f, ours, theirs);
}

void run_matrix_reduce(session *s)
{
    reduce(s, true);
}

void run_vector_reduce(session *s)
{
    reduce(s, false);
}
