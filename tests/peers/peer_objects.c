/* peer_objects.c: matrices and vectors that are in both libraries. */
#include "tests/peers/differential.h"

#include <stdarg.h>
#include <string.h>

void complain(session *s, const char *format, ...)
{
    va_list arguments;
    fprintf(stderr, "seed %llu, step %llu: %s\n    ", (unsigned long long)s->seed,
            (unsigned long long)s->step, s->what);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    s->failed = true;
}

static void *allocate(size_t n, size_t size)
{
    void *memory = calloc(n ? n : 1, size ? size : 1);
    if (!memory) abort();
    return memory;
}

dcsr_type draw_type(session *s)
{
    return s->type != DCSR_TYPE_COUNT ? s->type : (dcsr_type)(1 + draw_below(&s->draw, DCSR_TYPE_COUNT - 1));
}

/* ---- Entries: what a matrix or vector holds, in order of row and column ---- */

typedef struct entry {
    uint64_t row, col;
    scalar value;
} entry;

typedef struct entries {
    uint64_t n;
    entry *at;
} entries;

static int by_place(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    return (x->col > y->col) - (x->col < y->col);
}

static entries gather(uint64_t n, const uint64_t *rows, const uint64_t *cols, const void *values,
                      dcsr_type type)
{
    entries list = {n, allocate(n, sizeof *list.at)};
    const size_t bytes = dcsr_type_size(type);
    for (uint64_t k = 0; k < n; k++) {
        list.at[k] = (entry){rows[k], cols ? cols[k] : 0, {0}};
        if (bytes) memcpy(&list.at[k].value, (const char *)values + k * bytes, bytes);
    }
    qsort(list.at, n, sizeof *list.at, by_place);
    return list;
}

static entries their_entries(GrB_Matrix matrix, GrB_Vector vector, dcsr_type type)
{
    GrB_Index n;
    THEIRS(matrix ? GrB_Matrix_nvals(&n, matrix) : GrB_Vector_nvals(&n, vector));
    uint64_t *rows = allocate(n, sizeof *rows), *cols = matrix ? allocate(n, sizeof *cols) : NULL;
    void *values = allocate(n, 8);
    switch (type) {
    case DCSR_PATTERN:
#define X(NAME)                                                                      \
    case DCSR_##NAME:                                                                \
        if (matrix)                                                                  \
            THEIRS(GrB_Matrix_extractTuples_##NAME(rows, cols, values, &n, matrix)); \
        else                                                                         \
            THEIRS(GrB_Vector_extractTuples_##NAME(rows, values, &n, vector));       \
        break;
        FOR_TYPES(X)
#undef X
    default:
        abort();
    }
    entries list = gather(n, rows, cols, values, type);
    free(rows);
    free(cols);
    free(values);
    return list;
}

/* By rows, by columns or as triples: all have to show the same. */
static entries our_entries(session *s, const matrix_pair *m)
{
    const dcsr_layout layout = (dcsr_layout)draw_below(&s->draw, 3);
    dcsr_view *view;
    OURS(dcsr_view_create(&view, m->ours, layout, draw_once_in(&s->draw, 2) ? DCSR_VIEW_SORTED : 0));
    entries list;
    if (layout == DCSR_LAYOUT_SEGMENTS) {
        dcsr_coo coo;
        OURS(dcsr_view_to_coo(&coo, view));
        list = gather(coo.nnz, coo.row_indices, coo.col_indices, coo.values, m->type);
        dcsr_coo_free(&coo);
    } else {
        dcsr_csr csr = {0};
        dcsr_csc csc = {0};
        const bool by_row = layout == DCSR_LAYOUT_CSR;
        if (by_row)
            OURS(dcsr_view_get_csr_on_host(view, &csr));
        else
            OURS(dcsr_view_get_csc_on_host(view, &csc));
        const uint64_t nnz = by_row ? csr.nnz : csc.nnz, *offsets = by_row ? csr.offsets : csc.offsets;
        const uint32_t *minor = by_row ? csr.col_indices : csc.row_indices;
        uint64_t *major_of = allocate(nnz, sizeof *major_of), *minor_of = allocate(nnz, sizeof *minor_of);
        for (uint64_t major = 0; major < (by_row ? m->rows : m->cols); major++)
            for (uint64_t k = offsets[major]; k < offsets[major + 1]; k++)
                major_of[k] = major, minor_of[k] = minor[k];
        list = gather(nnz, by_row ? major_of : minor_of, by_row ? minor_of : major_of,
                      by_row ? csr.values : csc.values, m->type);
        free(major_of);
        free(minor_of);
    }
    dcsr_view_destroy(view);
    return list;
}

static void compare(session *s, const entries *ours, const entries *theirs, dcsr_type type, bool rounded)
{
    for (uint64_t k = 0; k < ours->n || k < theirs->n; k++) {
        const int order = k >= ours->n ? 1 : k >= theirs->n ? -1 : by_place(&ours->at[k], &theirs->at[k]);
        const entry *first = order <= 0 ? &ours->at[k] : &theirs->at[k];
        char text[2][32];
        value_print(text[0], type, first->value);
        if (order) {
            complain(s, "only %s has (%llu, %llu): %s", order < 0 ? "dcsr" : "GraphBLAS",
                     (unsigned long long)first->row, (unsigned long long)first->col, text[0]);
            return;
        }
        if (value_equal(type, ours->at[k].value, theirs->at[k].value, rounded)) continue;
        value_print(text[1], type, theirs->at[k].value);
        complain(s, "(%llu, %llu) is %s in dcsr, %s in GraphBLAS", (unsigned long long)first->row,
                 (unsigned long long)first->col, text[0], text[1]);
        return;
    }
}

/* Of each library: equal zeros may have different signs. */
static bool both_may_stay(const session *s, dcsr_type type, const entry *ours, const entry *theirs)
{
    return value_may_stay(&s->draw, type, ours->value) && value_may_stay(&s->draw, type, theirs->value);
}

/* ---- Matrices ---- */

static void random_batch(session *s, const matrix_pair *m, size_t n, uint64_t *rows, uint64_t *cols,
                         char *values)
{
    const size_t bytes = dcsr_type_size(m->type);
    const uint64_t hub = draw_below(&s->draw, m->rows), shape = draw_below(&s->draw, 3);
    for (size_t k = 0; k < n; k++) {
        rows[k] = shape == 1 && k % 2 ? hub : draw_below(&s->draw, m->rows);
        cols[k] = shape == 2 ? (rows[k] + draw_below(&s->draw, 3)) % m->cols : draw_below(&s->draw, m->cols);
        const scalar value = draw_value(&s->draw, m->type);
        memcpy(values + k * bytes, &value, bytes);
    }
}

static void their_set(GrB_Matrix matrix, dcsr_type type, uint64_t row, uint64_t col, const char *value)
{
    scalar v = {.bits = 1};
    if (type != DCSR_PATTERN) memcpy(&v, value, dcsr_type_size(type));
    GrB_Scalar boxed = their_scalar(type, v);
    THEIRS(GrB_Matrix_setElement_Scalar(matrix, boxed, row, col));
    THEIRS(GrB_Scalar_free(&boxed));
}

/* The batch on its own, what stands twice in it combined in order; then that added to the matrix. */
static void their_insert(matrix_pair *m, size_t n, const uint64_t *rows, const uint64_t *cols,
                         const void *values)
{
    GrB_BinaryOp op = their_policy(m->policy, m->type);
    GrB_Matrix batch;
    THEIRS(GrB_Matrix_new(&batch, their_type(m->type), m->rows, m->cols));
    switch (m->type) {
    case DCSR_PATTERN: {
        bool *ones = allocate(n, sizeof *ones);
        memset(ones, 1, n);
        THEIRS(GrB_Matrix_build_BOOL(batch, rows, cols, ones, n, op));
        free(ones);
        break;
    }
#define X(NAME)                                                            \
    case DCSR_##NAME:                                                      \
        THEIRS(GrB_Matrix_build_##NAME(batch, rows, cols, values, n, op)); \
        break;
        FOR_TYPES(X)
#undef X
    default:
        abort();
    }
    THEIRS(GrB_Matrix_eWiseAdd_BinaryOp(m->theirs, NULL, NULL, op, m->theirs, batch, NULL));
    THEIRS(GrB_Matrix_free(&batch));
}

static void insert_some(session *s, matrix_pair *m, size_t n, bool remove)
{
    if (!m->rows || !m->cols) return;
    uint64_t *rows = allocate(n, sizeof *rows), *cols = allocate(n, sizeof *cols);
    char *values = allocate(n, 8);
    random_batch(s, m, n, rows, cols, values);
    if (remove) {
        OURS(dcsr_matrix_remove(m->ours, n, rows, cols, NULL));
        for (size_t k = 0; k < n; k++) THEIRS(GrB_Matrix_removeElement(m->theirs, rows[k], cols[k]));
    } else {
        OURS(dcsr_matrix_insert(m->ours, n, rows, cols, m->type == DCSR_PATTERN ? NULL : values, NULL));
        their_insert(m, n, rows, cols, values);
    }
    free(rows);
    free(cols);
    free(values);
}

static size_t draw_count(session *s, const matrix_pair *m)
{
    const uint64_t cells = m->rows * m->cols, most = cells < 600 ? cells + 2 : 600;
    return (size_t)draw_below(&s->draw, draw_once_in(&s->draw, 3) ? most : most / 8 + 1);
}

void matrix_make(session *s, matrix_pair *m, uint64_t rows, uint64_t cols)
{
    matrix_free(m);
    const bool pattern = s->type == DCSR_TYPE_COUNT && draw_once_in(&s->draw, 8);
    *m = (matrix_pair){.type = pattern ? DCSR_PATTERN : draw_type(s), .rows = rows, .cols = cols};
    do {
        m->policy =
            (dcsr_policy)(DCSR_POLICY_SUM + draw_below(&s->draw, DCSR_POLICY_COUNT - DCSR_POLICY_SUM));
    } while (s->draw.wild && m->policy != DCSR_POLICY_LAST && m->policy != DCSR_POLICY_ANY);
    const dcsr_matrix_options options = {.policy = m->policy,
                                         .segments = (int)(2 + draw_below(&s->draw, 4)),
                                         .maintain_transpose = draw_once_in(&s->draw, 4)};
    OURS(dcsr_matrix_create(&m->ours, s->context, m->type, rows, cols, &options));
    THEIRS(GrB_Matrix_new(&m->theirs, their_type(m->type), rows, cols));
    for (uint64_t batches = draw_below(&s->draw, 4); batches; batches--)
        insert_some(s, m, draw_count(s, m), false);
}

void matrix_free(matrix_pair *m)
{
    if (m->theirs) THEIRS(GrB_Matrix_free(&m->theirs));
    dcsr_matrix_destroy(m->ours);
    *m = (matrix_pair){0};
}

/* Theirs without entries is made anew for a single row: see differential.h. */
static void matrix_resize(session *s, matrix_pair *m)
{
    GrB_Index stored;
    m->rows = s->sizes[draw_below(&s->draw, SIZES)], m->cols = s->sizes[draw_below(&s->draw, SIZES)];
    snprintf(s->what, sizeof s->what, "resize to %llu x %llu", (unsigned long long)m->rows,
             (unsigned long long)m->cols);
    OURS(dcsr_matrix_resize(m->ours, m->rows, m->cols, NULL));
    THEIRS(GrB_Matrix_nvals(&stored, m->theirs));
    if (stored || m->rows != 1) {
        THEIRS(GrB_Matrix_resize(m->theirs, m->rows, m->cols));
        return;
    }
    THEIRS(GrB_Matrix_free(&m->theirs));
    THEIRS(GrB_Matrix_new(&m->theirs, their_type(m->type), m->rows, m->cols));
}

void matrix_change(session *s, matrix_pair *m)
{
    switch (draw_below(&s->draw, 6)) {
    case 0:
        snprintf(s->what, sizeof s->what, "defragment");
        OURS(dcsr_matrix_defragment(m->ours, (dcsr_defragment_scope)draw_below(&s->draw, 2), NULL));
        break;
    case 1:
        matrix_resize(s, m);
        break;
    case 2:
        snprintf(s->what, sizeof s->what, "remove");
        insert_some(s, m, draw_count(s, m), true);
        break;
    default:
        snprintf(s->what, sizeof s->what, "insert with policy %s into %s", dcsr_policy_name(m->policy),
                 dcsr_type_name(m->type));
        insert_some(s, m, draw_count(s, m), false);
    }
    matrix_compare(s, m, false);
}

static void remove_unfit(session *s, matrix_pair *m, const entries *ours, const entries *theirs)
{
    for (uint64_t k = 0; k < ours->n && m->type != DCSR_PATTERN; k++) {
        if (both_may_stay(s, m->type, &ours->at[k], &theirs->at[k])) continue;
        OURS(dcsr_matrix_remove(m->ours, 1, &ours->at[k].row, &ours->at[k].col, NULL));
        THEIRS(GrB_Matrix_removeElement(m->theirs, ours->at[k].row, ours->at[k].col));
    }
}

void matrix_compare(session *s, matrix_pair *m, bool rounded)
{
    OURS(dcsr_matrix_wait(m->ours));
    entries ours = our_entries(s, m), theirs = their_entries(m->theirs, NULL, m->type);
    compare(s, &ours, &theirs, m->type, rounded);
    /* An entry of a pattern is 1. */
    if (m->type == DCSR_PATTERN)
        THEIRS(GrB_Matrix_apply(m->theirs, NULL, NULL, GxB_ONE_BOOL, m->theirs, NULL));
    for (uint64_t k = 0; rounded && k < ours.n && !s->failed; k++)
        their_set(m->theirs, m->type, ours.at[k].row, ours.at[k].col, (const char *)&ours.at[k].value);
    if (!s->failed) remove_unfit(s, m, &ours, &theirs);
    free(ours.at);
    free(theirs.at);
}

/* ---- Vectors ---- */

static void their_vector_set(vector_pair *v, uint64_t index, scalar value)
{
    GrB_Scalar boxed = their_scalar(v->type, value);
    THEIRS(GrB_Vector_setElement_Scalar(v->theirs, boxed, index));
    THEIRS(GrB_Scalar_free(&boxed));
}

void vector_make(session *s, vector_pair *v, uint64_t size)
{
    vector_free(v);
    *v = (vector_pair){.type = draw_type(s), .size = size};
    OURS(dcsr_vector_create(&v->ours, s->context, v->type, size));
    THEIRS(GrB_Vector_new(&v->theirs, their_type(v->type), size));
    const uint64_t share = draw_below(&s->draw, 3) * 50 + draw_below(&s->draw, 2);
    for (uint64_t k = 0; k < size; k++) {
        if (draw_below(&s->draw, 100) >= share) continue;
        const scalar value = draw_value(&s->draw, v->type);
        OURS(dcsr_vector_set(v->ours, k, &value));
        their_vector_set(v, k, value);
    }
}

void vector_free(vector_pair *v)
{
    if (v->theirs) THEIRS(GrB_Vector_free(&v->theirs));
    dcsr_vector_destroy(v->ours);
    *v = (vector_pair){0};
}

void vector_change(session *s, vector_pair *v)
{
    switch (draw_below(&s->draw, 4)) {
    case 0:
        snprintf(s->what, sizeof s->what, "change a vector's form");
        OURS(dcsr_vector_set_format(v->ours, (dcsr_vector_format)draw_below(&s->draw, 3)));
        break;
    case 1:
        snprintf(s->what, sizeof s->what, "resize a vector");
        v->size = s->sizes[draw_below(&s->draw, SIZES)];
        OURS(dcsr_vector_resize(v->ours, v->size));
        THEIRS(GrB_Vector_resize(v->theirs, v->size));
        break;
    default:
        snprintf(s->what, sizeof s->what, "set and remove elements of a vector");
        for (uint64_t n = v->size ? draw_below(&s->draw, 20) : 0; n; n--) {
            const uint64_t index = draw_below(&s->draw, v->size);
            const scalar value = draw_value(&s->draw, v->type);
            if (draw_once_in(&s->draw, 3)) {
                OURS(dcsr_vector_remove(v->ours, index));
                THEIRS(GrB_Vector_removeElement(v->theirs, index));
            } else {
                OURS(dcsr_vector_set(v->ours, index, &value));
                their_vector_set(v, index, value);
            }
        }
    }
    vector_compare(s, v, false);
}

void vector_compare(session *s, vector_pair *v, bool rounded)
{
    uint64_t n;
    OURS(dcsr_vector_get_nvals(v->ours, &n));
    uint64_t *indices = allocate(n, sizeof *indices), got;
    void *values = allocate(n, 8);
    OURS(dcsr_vector_get_entries(v->ours, n, indices, values, &got));
    if (got != n)
        complain(s, "nvals says %llu, entries %llu", (unsigned long long)n, (unsigned long long)got);
    entries ours = gather(n, indices, NULL, values, v->type),
            theirs = their_entries(NULL, v->theirs, v->type);
    compare(s, &ours, &theirs, v->type, rounded);
    for (uint64_t k = 0; k < ours.n && !s->failed; k++) {
        const uint64_t index = ours.at[k].row;
        if (rounded) their_vector_set(v, index, ours.at[k].value);
        if (both_may_stay(s, v->type, &ours.at[k], &theirs.at[k])) continue;
        OURS(dcsr_vector_remove(v->ours, index));
        THEIRS(GrB_Vector_removeElement(v->theirs, index));
    }
    free(indices);
    free(values);
    free(ours.at);
    free(theirs.at);
}
