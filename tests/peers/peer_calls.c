/* peer_calls.c: what operations have in common: objects that fit, masks, descriptions, the comparison; and
 * their list. */
#include "tests/peers/peer_calls.h"

#include <string.h>

uint64_t draw_size(session *s)
{
    return s->sizes[draw_below(&s->draw, SIZES)];
}

/* Not 0: there are sums over what is empty that theirs gets wrong. */
uint64_t draw_full_size(session *s)
{
    const uint64_t size = draw_size(s);
    return size ? size : 7;
}

/* A matrix of that shape: one that is there, maybe the output or another input, or a new one. */
static matrix_pair *fitting_matrix(session *s, const frame *f, uint64_t rows, uint64_t cols)
{
    matrix_pair *fits[MATRICES], *free_one = NULL;
    size_t n = 0;
    for (matrix_pair *m = s->matrices; m < s->matrices + MATRICES; m++) {
        if (m->ours && m->rows == rows && m->cols == cols) fits[n++] = m;
        const bool used = m == f->C || m == f->A || m == f->B || m == f->mask;
        if (!used && (!free_one || draw_once_in(&s->draw, 2))) free_one = m;
    }
    if (n && !draw_once_in(&s->draw, 4)) return fits[draw_below(&s->draw, n)];
    matrix_make(s, free_one, rows, cols);
    return free_one;
}

static vector_pair *fitting_vector(session *s, const frame *f, uint64_t size)
{
    vector_pair *fits[VECTORS], *free_one = NULL;
    size_t n = 0;
    for (vector_pair *v = s->vectors; v < s->vectors + VECTORS; v++) {
        if (v->ours && v->size == size) fits[n++] = v;
        const bool used = v == f->w || v == f->u || v == f->v || v == f->vmask;
        if (!used && (!free_one || draw_once_in(&s->draw, 2))) free_one = v;
    }
    if (n && !draw_once_in(&s->draw, 4)) return fits[draw_below(&s->draw, n)];
    vector_make(s, free_one, size);
    return free_one;
}

/* The same, but now and then of a wrong shape: both libraries have to refuse it. */
matrix_pair *pick_matrix(session *s, const frame *f, uint64_t rows, uint64_t cols)
{
    return fitting_matrix(s, f, draw_once_in(&s->draw, 40) ? draw_full_size(s) : rows, cols);
}

matrix_pair *pick_input(session *s, const frame *f, bool transposed, uint64_t rows, uint64_t cols)
{
    return transposed ? pick_matrix(s, f, cols, rows) : pick_matrix(s, f, rows, cols);
}

vector_pair *pick_vector(session *s, const frame *f, uint64_t size)
{
    return fitting_vector(s, f, draw_once_in(&s->draw, 40) ? draw_full_size(s) : size);
}

/* Accumulator and description; masks come once the output is there. */
void begin(session *s, frame *f, bool transposes_a, bool transposes_b)
{
    f->desc.report = &f->report;
    f->desc.mask_complement = draw_once_in(&s->draw, 3);
    f->desc.mask_structure = draw_once_in(&s->draw, 3);
    f->desc.replace = draw_once_in(&s->draw, 3);
    f->desc.transpose_a = transposes_a && draw_once_in(&s->draw, 3);
    f->desc.transpose_b = transposes_b && draw_once_in(&s->draw, 3);
    f->desc.direction = (dcsr_direction)draw_below(&s->draw, 3);
    if (draw_once_in(&s->draw, 2)) f->accum = draw_binary(&s->draw, draw_type(s));
}

void mask_of_matrix(session *s, frame *f)
{
    if (draw_once_in(&s->draw, 2)) f->mask = fitting_matrix(s, f, f->C->rows, f->C->cols);
}

void mask_of_vector(session *s, frame *f, uint64_t size)
{
    if (draw_once_in(&s->draw, 2)) f->vmask = fitting_vector(s, f, size);
}

/* Their operator that copies values of a type. */
GrB_UnaryOp same_values(dcsr_type type)
{
    return their_unary("identity", type == DCSR_PATTERN ? DCSR_BOOL : type);
}

static dcsr_view *view(session *s, matrix_pair *m)
{
    dcsr_view *made = NULL;
    if (!m) return NULL;
    OURS(dcsr_matrix_wait(m->ours));
    OURS(dcsr_view_create(&made, m->ours, (dcsr_layout)draw_below(&s->draw, 3),
                          draw_once_in(&s->draw, 3) ? DCSR_VIEW_SORTED : 0));
    return made;
}

void open_views(session *s, frame *f)
{
    f->viewA = view(s, f->A);
    f->viewB = f->B == f->A && draw_once_in(&s->draw, 2) ? f->viewA : view(s, f->B);
    f->view_mask = view(s, f->mask);
}

static const char *type_of(const matrix_pair *m, const vector_pair *v)
{
    return m ? dcsr_type_name(m->type) : v ? dcsr_type_name(v->type) : "-";
}

static GrB_Descriptor their_description(const dcsr_desc *desc, bool inputs, bool masks)
{
    GrB_Descriptor made;
    THEIRS(GrB_Descriptor_new(&made));
    if (inputs && desc->transpose_a) THEIRS(GrB_Descriptor_set(made, GrB_INP0, GrB_TRAN));
    if (inputs && desc->transpose_b) THEIRS(GrB_Descriptor_set(made, GrB_INP1, GrB_TRAN));
    if (masks && desc->mask_complement) THEIRS(GrB_Descriptor_set(made, GrB_MASK, GrB_COMP));
    if (masks && desc->mask_structure) THEIRS(GrB_Descriptor_set(made, GrB_MASK, GrB_STRUCTURE));
    if (masks && desc->replace) THEIRS(GrB_Descriptor_set(made, GrB_OUTP, GrB_REPLACE));
    return made;
}

/* Theirs does C<M> = accum(C, T) in two steps, as it is defined: first Z = accum(C, T) in a copy of C, then
 * C<M> = Z. In one step it crashes now and then, and may forget a mask that is the output. The mask of a row
 * or column of C is left to it. */
static void prepare_theirs(frame *f)
{
    const bool whole = f->mask || (f->w && f->vmask);
    f->Z = f->C ? f->C->theirs : NULL;
    f->z = f->w ? f->w->theirs : NULL;
    f->m = f->vmask && !whole ? f->vmask->theirs : NULL;
    f->their_desc = their_description(&f->desc, true, !whole);
    if (!whole) return;
    f->last_desc = their_description(&f->desc, false, true);
    if (f->C) THEIRS(GrB_Matrix_dup(&f->Z, f->C->theirs));
    if (f->w) THEIRS(GrB_Vector_dup(&f->z, f->w->theirs));
}

static GrB_Info finish_theirs(frame *f, GrB_Info info)
{
    if (f->last_desc) {
        GrB_Matrix mask = NULL;
        GrB_Vector vmask = NULL;
        if (f->C) {
            THEIRS(GrB_Matrix_dup(&mask, f->mask->theirs));
            if (!info)
                info =
                    GrB_Matrix_apply(f->C->theirs, mask, NULL, same_values(f->C->type), f->Z, f->last_desc);
            THEIRS(GrB_Matrix_free(&mask));
            THEIRS(GrB_Matrix_free(&f->Z));
        } else {
            THEIRS(GrB_Vector_dup(&vmask, f->vmask->theirs));
            if (!info)
                info =
                    GrB_Vector_apply(f->w->theirs, vmask, NULL, same_values(f->w->type), f->z, f->last_desc);
            THEIRS(GrB_Vector_free(&vmask));
            THEIRS(GrB_Vector_free(&f->z));
        }
        THEIRS(GrB_Descriptor_free(&f->last_desc));
    }
    THEIRS(GrB_Descriptor_free(&f->their_desc));
    return info;
}

/* The last before the calls. */
void ready(session *s, frame *f)
{
    const dcsr_desc *d = &f->desc;
    const matrix_pair *C = f->C, *A = f->A;
    snprintf(s->what, sizeof s->what,
             "%s: op %s %s, accum %s %s, output %s%s, A %s %llux%llu%s%s, B %s%s, u %s%s, v %s, mask "
             "%s%s%s%s%s%s%s%s, "
             "direction %d",
             s->name, f->op.name ? f->op.name : "-", f->op.name ? dcsr_type_name(f->op.type) : "",
             f->accum.name ? f->accum.name : "none", f->accum.name ? dcsr_type_name(f->accum.type) : "",
             type_of(C, f->w), C ? dcsr_policy_name(C->policy) : "", type_of(A, NULL),
             (unsigned long long)(A ? A->rows : 0), (unsigned long long)(A ? A->cols : 0),
             A && A == C ? " =C" : "", d->transpose_a ? "'" : "", type_of(f->B, NULL),
             d->transpose_b ? "'" : "", type_of(NULL, f->u), f->u && f->u == f->w ? " =w" : "",
             type_of(NULL, f->v), type_of(f->mask, f->vmask), f->mask && f->mask == C ? " =C" : "",
             f->mask && f->mask == A ? " =A" : "", f->vmask && f->vmask == f->w ? " =w" : "",
             f->vmask && f->vmask == f->u ? " =u" : "", d->mask_complement ? " complement" : "",
             d->mask_structure ? " structure" : "", d->replace ? " replace" : "", (int)d->direction);
    if (s->verbose) fprintf(stderr, "%llu: %s\n", (unsigned long long)s->step, s->what);
    prepare_theirs(f);
}

/* Both have to succeed, or to refuse for the same reason. */
static void agree(session *s, dcsr_status ours, GrB_Info theirs)
{
    const bool same = ours == DCSR_OK ? theirs == GrB_SUCCESS || theirs == GrB_NO_VALUE
                      : ours == DCSR_ERROR_DIMENSION_MISMATCH ? theirs == GrB_DIMENSION_MISMATCH
                                                              : false;
    if (!same)
        complain(s, "dcsr says %s (%s), GraphBLAS %d", dcsr_status_name(ours),
                 ours ? dcsr_thread_error() : "", (int)theirs);
}

void end(session *s, frame *f, dcsr_status ours, GrB_Info theirs)
{
    const bool rounds = f->op.rounds || f->accum.rounds;
    agree(s, ours, finish_theirs(f, theirs));
    if (f->viewB != f->viewA) dcsr_view_destroy(f->viewB);
    dcsr_view_destroy(f->viewA);
    dcsr_view_destroy(f->view_mask);
    if (f->C && !s->failed) matrix_compare(s, f->C, rounds);
    if (f->w && !s->failed) vector_compare(s, f->w, rounds);
    operator_free(&f->op);
}

places draw_places(session *s, uint64_t bound, bool distinct)
{
    places p = {NULL, bound};
    if (draw_once_in(&s->draw, 3) || !bound) return p;
    const uint64_t n = draw_below(&s->draw, bound + 1);
    p = (places){malloc((bound + 1) * sizeof *p.at), n};
    if (!p.at) abort();
    for (uint64_t k = 0; k < bound; k++) p.at[k] = k;
    for (uint64_t k = 0; k < n; k++) { /* Fisher and Yates */
        const uint64_t other = k + draw_below(&s->draw, bound - k), kept = p.at[k];
        p.at[k] = p.at[other], p.at[other] = kept;
    }
    if (!distinct)
        for (uint64_t k = 0; k < n; k++) p.at[k] = draw_below(&s->draw, bound);
    if (draw_once_in(&s->draw, 2)) /* in order, as most lists are */
        for (uint64_t k = 1; k < n; k++)
            for (uint64_t j = k; j && p.at[j - 1] > p.at[j]; j--) {
                const uint64_t kept = p.at[j];
                p.at[j] = p.at[j - 1], p.at[j - 1] = kept;
            }
    return p;
}

const GrB_Index *their_places(const places *p)
{
    return p->at ? p->at : GrB_ALL;
}

const operation operations[] = {
#define X(name) {#name, run_##name},
    FOR_OPERATIONS(X)
#undef X
};
const size_t operation_count = sizeof operations / sizeof *operations;
