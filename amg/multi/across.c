/* across.c: P and R across borders: what smoothing P adds for entries in columns of other devices.
 *
 * Each device makes P as if these entries were weak (divide.c). Where they are strong after all
 *
 *      P = P_own + S T      s_ij = - omega / rho a_ij / a_ii      s_ii = - (the sum of these)
 *
 * for the rows i that have some, a border of the part. A row of T has as many entries as there are near-nullspace
 * vectors, in the columns of its aggregate. So each device lists these entries, lends the rows of T that they look at,
 * its own and others', and makes its rows of S T =: P_across, the transpose of which is R_across. They are applied by
 * dcsr_multi_spmv(), which brings what lies across the border; they are small, so that they are made on the host. */
#include "amg/multi/levels.h"
#include <dcsr/convert.h>
#include <dcsr/matrix_add.h>
#include <dcsr/mxm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const dcsr_matrix_options sum_up = {.policy = DCSR_POLICY_SUM};

/* Rows begin to end - 1 of all, of one device: their aggregates, by its numbers, and values of T. Those that are looked
 * at are mostly near its first and near its last row, so each half of the part has a range of its own. */
typedef struct lent {
    uint64_t begin, end; /* of whole nodes */
    dcsr_i_amg_array aggregate, T;
} lent;
enum { HALVES = 2 };

/* What devices do at once; matrices of all and of each. */
typedef struct work work;
typedef dcsr_status stage(work *w, dcsr_i_amg_hierarchy *own, uint64_t k);
struct work {
    const dcsr_i_divided *d;
    int number;
    uint64_t block; /* rows of a node; columns of an aggregate are d->vectors */
    bool transposed;
    stage *run;
    dcsr_coo outside[DCSR_MAX_DEVICES]; /* the entries that are strong after all, row by row */
    const double *const *T;
    lent lent[DCSR_MAX_DEVICES][HALVES];
    dcsr_coo list[DCSR_MAX_DEVICES]; /* the entries of P_across, as the devices have them */
    dcsr_multi_view *view;           /* of what is read */
    dcsr_matrix *const *to;          /* what is added to */
    dcsr_matrix *part[DCSR_MAX_DEVICES];
    char said[512]; /* of the first failure: giving back what there is may fail with others */
};

static dcsr_status note(work *w, dcsr_status status)
{
    if (status && !*w->said) snprintf(w->said, sizeof w->said, "%s", dcsr_thread_error());
    return status;
}

/* At the end, when all has been given back. */
static dcsr_status tell(const work *w, dcsr_status status)
{
    return status && *w->said ? dcsr_thread_fail(status, "%s", w->said) : status;
}

static dcsr_status run_stage(void *user, uint64_t k)
{
    work *w = user;
    dcsr_i_amg_hierarchy *own = w->d->own[k];
    DCSR_I_AMG_TRY(own->engine->open(own));
    dcsr_status status = w->run(w, own, k), closed = own->engine->close(own, "multi amg setup");
    return status ? status : closed;
}

static dcsr_status on_all(work *w, stage *run)
{
    w->run = run;
    return note(w, dcsr_multi_run(w->d->devices, run_stage, w));
}

/* ---- The entries, and rows of T ---- */

static dcsr_status list_part(work *w, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    if (!dcsr_i_divided_rows(w->d, w->number, k)) return DCSR_OK;
    return own->engine->list_outside(&w->outside[k], own, &own->level[w->number]);
}

/* The half that row i of part k is in. */
static int half_of(const work *w, uint64_t k, uint64_t i)
{
    const uint64_t *border = w->d->border[w->number];
    return i - border[k] >= (border[k + 1] - border[k]) / 2;
}

/* The first and the last row of either half of the part that any entry is of, or looks at. */
static void find_lent(work *w, uint64_t k)
{
    const uint64_t *border = w->d->border[w->number];
    for (int half = 0; half < HALVES; half++) w->lent[k][half] = (lent){.begin = UINT64_MAX};
    for (uint64_t j = 0; j < w->d->parts; j++) {
        const dcsr_coo *list = &w->outside[j];
        for (uint64_t e = 0; e < list->nnz; e++) {
            const uint64_t row = j == k ? border[k] + list->row_indices[e] : list->col_indices[e];
            if (row < border[k] || row >= border[k + 1]) continue;
            lent *l = &w->lent[k][half_of(w, k, row)];
            const uint64_t first = row - (row - border[k]) % w->block;
            if (first < l->begin) l->begin = first;
            if (row >= l->end) l->end = first + w->block;
        }
    }
}

static dcsr_status lend_rows(lent *l, const work *w, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    if (l->begin >= l->end) return DCSR_OK;
    const uint64_t skipped = l->begin - w->d->border[w->number][k], nodes = (l->end - l->begin) / w->block,
                   numbers = (l->end - l->begin) * w->d->vectors;
    const uint32_t *aggregate = own->level[w->number].aggregate.data;
    DCSR_I_AMG_TRY(dcsr_i_amg_take(&l->aggregate, own->context, nodes, sizeof *aggregate));
    DCSR_I_AMG_TRY(dcsr_i_amg_take(&l->T, own->context, numbers, sizeof(double)));
    DCSR_I_AMG_TRY(
        own->engine->get(own, l->aggregate.data, aggregate + skipped / w->block, nodes * sizeof *aggregate));
    return own->engine->get(own, l->T.data, w->T[k] + skipped * w->d->vectors, numbers * sizeof(double));
}

static dcsr_status lend_part(work *w, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    if (!w->T[k]) return DCSR_OK;
    find_lent(w, k);
    for (int half = 0; half < HALVES; half++) DCSR_I_AMG_TRY(lend_rows(&w->lent[k][half], w, own, k));
    return DCSR_OK;
}

/* ---- P_across ---- */

/* A term of a row, by its column of all; equal ones stay in their order. */
typedef struct term {
    uint64_t column, order;
    double value;
} term;

static int compare_terms(const void *a, const void *b)
{
    const term *s = a, *t = b;
    if (s->column != t->column) return s->column < t->column ? -1 : 1;
    return s->order < t->order ? -1 : 1;
}

/* Rows are short, but for hubs. */
static void sort_terms(term *terms, uint64_t count)
{
    enum { SHORT = 32 };
    if (count > SHORT) {
        qsort(terms, count, sizeof *terms, compare_terms);
        return;
    }
    for (uint64_t t = 1; t < count; t++) {
        const term one = terms[t];
        uint64_t at = t;
        for (; at && compare_terms(&terms[at - 1], &one) > 0; at--) terms[at] = terms[at - 1];
        terms[at] = one;
    }
}

/* Adds s times row i of T, of part k, unless that is empty. */
static uint64_t add_term(term *terms, uint64_t count, const work *w, uint64_t k, uint64_t i, double s)
{
    const lent *l = &w->lent[k][half_of(w, k, i)];
    if (!l->T.data) return count;
    const uint64_t vectors = w->d->vectors;
    const uint32_t aggregate = ((const uint32_t *)l->aggregate.data)[(i - l->begin) / w->block];
    const double *row = (const double *)l->T.data + (i - l->begin) * vectors;
    if (aggregate == DCSR_I_AMG_NO_AGGREGATE) return count;
    const uint64_t column = w->d->border[w->number + 1][k] + aggregate * vectors;
    for (uint64_t c = 0; c < vectors; c++, count++) terms[count] = (term){column + c, count, s * row[c]};
    return count;
}

static uint64_t owner_of(const uint64_t *border, uint64_t row)
{
    uint64_t k = 0;
    while (border[k + 1] <= row) k++;
    return k;
}

/* The row of S T whose entries of A are [first, end) of the list, into P; returns how many entries P has then. */
static uint64_t make_row(dcsr_coo *P, uint64_t used, const work *w, uint64_t k, uint64_t first, uint64_t end,
                         term *terms)
{
    const dcsr_coo *list = &w->outside[k];
    const uint64_t *border = w->d->border[w->number], row = list->row_indices[first];
    const double *ratio = list->values,
                 factor = w->d->own[k]->options.omega / w->d->level[w->number].told.rho;
    double own = 0, *values = P->values;
    uint64_t count = 0;
    for (uint64_t e = first; e < end; e++) {
        const uint64_t j = list->col_indices[e];
        count = add_term(terms, count, w, owner_of(border, j), j, -factor * ratio[e]);
        own += factor * ratio[e];
    }
    count = add_term(terms, count, w, k, border[k] + row, own);
    sort_terms(terms, count);
    for (uint64_t t = 0; t < count; t++) {
        if (t && terms[t].column == terms[t - 1].column) {
            values[used - 1] += terms[t].value;
            continue;
        }
        P->row_indices[used] = row;
        P->col_indices[used] = terms[t].column;
        values[used++] = terms[t].value;
    }
    return used;
}

static dcsr_status multiply_part(work *w, dcsr_i_amg_hierarchy *own, uint64_t k)
{
    const dcsr_coo *list = &w->outside[k];
    dcsr_coo *P = &w->list[k];
    dcsr_i_amg_array terms = {0};
    uint64_t used = 0, most = 0, rows = 0;
    for (uint64_t e = 0, end; e < list->nnz; e = end, rows++) {
        for (end = e; end < list->nnz && list->row_indices[end] == list->row_indices[e];) end++;
        if (end - e > most) most = end - e;
    }
    if (!rows || own->options.omega == 0) return DCSR_OK;
    DCSR_I_AMG_TRY(dcsr_coo_allocate(P, own->context, DCSR_FP64, dcsr_i_divided_rows(w->d, w->number, k),
                                     dcsr_i_divided_all(w->d, w->number + 1),
                                     (list->nnz + rows) * w->d->vectors));
    DCSR_I_AMG_TRY(dcsr_i_amg_take(&terms, own->context, (most + 1) * w->d->vectors, sizeof(term)));
    for (uint64_t e = 0, end; e < list->nnz; e = end) {
        for (end = e; end < list->nnz && list->row_indices[end] == list->row_indices[e];) end++;
        used = make_row(P, used, w, k, e, end, terms.data);
    }
    dcsr_i_amg_drop(&terms, own->context);
    return dcsr_coo_resize(P, used);
}

/* ---- P and R ---- */

/* Rows of the transpose: of all entries, those in the columns of part k. */
static dcsr_status insert_transposed(dcsr_matrix *R, const dcsr_coo *list, const dcsr_i_divided *d,
                                     int number, uint64_t k)
{
    const uint64_t first = d->border[number + 1][k], end = d->border[number + 1][k + 1];
    dcsr_coo own = {0};
    uint64_t count = 0, most = 0;
    for (uint64_t j = 0; j < d->parts; j++) most += list[j].nnz;
    DCSR_I_AMG_TRY(dcsr_coo_allocate(&own, d->own[k]->context, DCSR_FP64, end - first,
                                     dcsr_i_divided_all(d, number), most));
    for (uint64_t j = 0; j < d->parts; j++)
        for (uint64_t e = 0; e < list[j].nnz; e++) {
            const uint64_t column = list[j].col_indices[e];
            if (column < first || column >= end) continue;
            own.row_indices[count] = column - first;
            own.col_indices[count] = d->border[number][j] + list[j].row_indices[e];
            ((double *)own.values)[count++] = ((const double *)list[j].values)[e];
        }
    dcsr_status status =
        count ? dcsr_matrix_insert(R, count, own.row_indices, own.col_indices, own.values, NULL) : DCSR_OK;
    dcsr_coo_free(&own);
    return status ? status : dcsr_matrix_wait(R);
}

static dcsr_status insert_list(dcsr_matrix *P, const dcsr_coo *list)
{
    if (!list->nnz) return DCSR_OK;
    DCSR_I_AMG_TRY(
        dcsr_matrix_insert(P, list->nnz, list->row_indices, list->col_indices, list->values, NULL));
    return dcsr_matrix_wait(P);
}

static dcsr_status insert_part(void *user, uint64_t k)
{
    const work *w = user;
    return insert_list(w->to[k], &w->list[k]);
}

/* The device's part of P_across, or of its transpose. */
static dcsr_status make_part(void *user, uint64_t k)
{
    work *w = user;
    const int rows = w->transposed ? w->number + 1 : w->number,
              cols = w->transposed ? w->number : w->number + 1;
    DCSR_I_AMG_TRY(dcsr_matrix_create(&w->part[k], w->d->own[k]->context, DCSR_FP64,
                                      dcsr_i_divided_rows(w->d, rows, k), dcsr_i_divided_all(w->d, cols),
                                      &sum_up));
    return w->transposed ? insert_transposed(w->part[k], w->list, w->d, w->number, k)
                         : insert_list(w->part[k], &w->list[k]);
}

static dcsr_status make_across(dcsr_i_across *to, work *w, bool transposed)
{
    const dcsr_i_divided *d = w->d;
    w->transposed = transposed;
    for (uint64_t k = 0; k < d->parts; k++) w->part[k] = NULL;
    dcsr_status status = note(w, dcsr_multi_run(d->devices, make_part, w));
    if (!status)
        status = dcsr_multi_matrix_from_parts(&to->matrix, d->devices, w->part,
                                              d->border[transposed ? w->number : w->number + 1]);
    for (uint64_t k = 0; k < d->parts && status; k++) dcsr_matrix_destroy(w->part[k]);
    return status ? status : dcsr_multi_view_create(&to->view, to->matrix, DCSR_LAYOUT_SEGMENTS, 0);
}

static dcsr_status add_across(work *w, dcsr_i_divided_level *level)
{
    DCSR_I_AMG_TRY(make_across(&level->P, w, false));
    DCSR_I_AMG_TRY(make_across(&level->R, w, true));
    return note(w, dcsr_multi_run(w->d->devices, insert_part, w));
}

dcsr_status dcsr_i_across_make(dcsr_i_divided *d, int number, const double *const *T, dcsr_matrix *const *P)
{
    uint64_t entries = 0;
    work w = {.d = d, .number = number, .block = d->own[0]->level[number].block, .T = T, .to = P};
    dcsr_status status = on_all(&w, list_part);
    if (!status) status = on_all(&w, lend_part);
    if (!status) status = on_all(&w, multiply_part);
    for (uint64_t k = 0; k < d->parts; k++) entries += w.list[k].nnz;
    if (!status && entries) status = add_across(&w, &d->level[number]);
    for (uint64_t k = 0; k < d->parts; k++) {
        dcsr_coo_free(&w.list[k]);
        dcsr_coo_free(&w.outside[k]);
        for (int half = 0; half < HALVES; half++) {
            dcsr_i_amg_drop(&w.lent[k][half].T, d->own[k]->context);
            dcsr_i_amg_drop(&w.lent[k][half].aggregate, d->own[k]->context);
        }
    }
    return tell(&w, status);
}

static dcsr_status add_part(void *user, uint64_t k)
{
    const work *w = user;
    dcsr_view *part;
    DCSR_I_AMG_TRY(dcsr_multi_view_get_part(w->view, k, &part));
    DCSR_I_AMG_TRY(dcsr_matrix_add(w->to[k], part, NULL));
    return dcsr_matrix_wait(w->to[k]);
}

dcsr_status dcsr_i_across_add(dcsr_i_divided *d, int number, dcsr_multi_view *A_P,
                              dcsr_matrix *const *product)
{
    dcsr_multi_matrix *more = NULL;
    work w = {.d = d, .to = product};
    if (!d->level[number].R.view) return DCSR_OK;
    dcsr_status status =
        note(&w, dcsr_multi_mxm(&more, DCSR_FP64, NULL, dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64),
                                d->level[number].R.view, A_P, &(dcsr_desc){.deterministic = true}, NULL));
    if (!status) status = dcsr_multi_view_create(&w.view, more, DCSR_LAYOUT_SEGMENTS, 0);
    if (!status) status = note(&w, dcsr_multi_run(d->devices, add_part, &w));
    dcsr_multi_view_destroy(w.view);
    dcsr_multi_matrix_destroy(more);
    return tell(&w, status);
}

void dcsr_i_across_free(dcsr_i_across *across)
{
    dcsr_multi_view_destroy(across->view);
    dcsr_multi_matrix_destroy(across->matrix);
}
