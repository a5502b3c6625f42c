/* across.c: P and R across borders: what smoothing P adds for entries in columns of other devices.
 *
 * Each device makes P as if these entries were weak (divide.c). Where they are strong after all
 *
 *      P = P_own + S T      s_ij = - omega / rho a_ij / a_ii      s_ii = - (the sum of these)
 *
 * for the rows i that have some, a border of the part; T of all devices. This is a product of partitioned matrices with
 * few entries, S T =: P_across, and R_across is its transpose. They are applied by dcsr_multi_spmv(), which brings what
 * lies across the border; and they are small, so that they are made on the host. */
#include "amg/multi/levels.h"
#include <dcsr/convert.h>
#include <dcsr/matrix_add.h>
#include <dcsr/mxm.h>
#include <dcsr/select.h>
#include <math.h>
#include <stdio.h>

static const dcsr_matrix_options sum_up = {.policy = DCSR_POLICY_SUM};

/* ---- S ---- */

/* Entries of the part in columns of other devices, those before its own and those behind: two lists. */
static dcsr_status list_entries(dcsr_coo list[2], const dcsr_i_divided *d, int number, uint64_t k)
{
    const uint64_t *border = d->border[number];
    const dcsr_index_op *op[] = {dcsr_index_op_of(DCSR_INDEX_COL_LE, DCSR_FP64),
                                 dcsr_index_op_of(DCSR_INDEX_COL_GT, DCSR_FP64)};
    const int64_t last[] = {(int64_t)border[k] - 1, (int64_t)border[k + 1] - 1};
    dcsr_view *part;
    DCSR_I_AMG_TRY(dcsr_multi_view_get_part(d->level[number].A, k, &part));
    for (int side = 0; side < 2; side++) {
        dcsr_matrix *picked = NULL;
        dcsr_view *view = NULL;
        dcsr_status status = dcsr_matrix_create(&picked, d->own[k]->context, DCSR_FP64,
                                                border[k + 1] - border[k], border[d->parts], NULL);
        if (!status) status = dcsr_matrix_select(picked, NULL, NULL, op[side], part, &last[side], NULL);
        if (!status) status = dcsr_view_create(&view, picked, DCSR_LAYOUT_SEGMENTS, 0);
        if (!status) status = dcsr_view_to_coo(&list[side], view);
        dcsr_view_destroy(view);
        dcsr_matrix_destroy(picked);
        DCSR_I_AMG_TRY(status);
    }
    return DCSR_OK;
}

/* The terms of S for a list of strong entries: two for each. a_ii stands for a_jj, which is on the other device. */
static uint64_t make_terms(dcsr_coo *S, uint64_t used, const dcsr_coo *list, const double *diagonal,
                           uint64_t first, double theta, double factor)
{
    const double *values = list->values;
    double *to = S->values;
    for (uint64_t e = 0; e < list->nnz; e++) {
        const uint64_t i = list->row_indices[e];
        const double a = values[e], D = diagonal[i];
        if (D == 0 || !(fabs(a) > theta * fabs(D))) continue;
        for (int own = 0; own < 2; own++) {
            S->row_indices[used] = i;
            S->col_indices[used] = own ? first + i : list->col_indices[e];
            to[used++] = (own ? factor : -factor) * a / D;
        }
    }
    return used;
}

dcsr_status dcsr_i_across_part(dcsr_matrix **S, dcsr_i_divided *d, int number, uint64_t k, uint64_t *count)
{
    dcsr_i_amg_hierarchy *own = d->own[k];
    const dcsr_i_amg_level *level = &own->level[number];
    const uint64_t rows = dcsr_i_divided_rows(d, number, k), all = dcsr_i_divided_all(d, number);
    const double factor = own->options.omega / d->level[number].told.rho;
    dcsr_coo list[2] = {{0}, {0}}, terms = {0};
    dcsr_i_amg_array diagonal = {0};
    *count = 0;
    DCSR_I_AMG_TRY(dcsr_matrix_create(S, own->context, DCSR_FP64, rows, all, &sum_up));
    if (!rows || factor == 0) return DCSR_OK;
    dcsr_status status = list_entries(list, d, number, k);
    const uint64_t most = 2 * (list[0].nnz + list[1].nnz);
    if (!status && most) status = dcsr_coo_allocate(&terms, own->context, DCSR_FP64, rows, all, most);
    if (!status && most) status = dcsr_i_amg_take(&diagonal, own->context, rows, sizeof(double));
    if (!status && most)
        status = own->engine->get(own, diagonal.data, level->diagonal.data, rows * sizeof(double));
    for (int side = 0; side < 2 && !status && most; side++)
        *count = make_terms(&terms, *count, &list[side], diagonal.data, d->border[number][k], level->theta,
                            factor);
    if (!status && *count)
        status = dcsr_matrix_insert(*S, *count, terms.row_indices, terms.col_indices, terms.values, NULL);
    if (!status) status = dcsr_matrix_wait(*S);
    dcsr_i_amg_drop(&diagonal, own->context);
    dcsr_coo_free(&terms);
    dcsr_coo_free(&list[0]);
    dcsr_coo_free(&list[1]);
    return status;
}

/* ---- P and R ---- */

/* What devices do at once; matrices of all and of each. */
typedef struct work {
    const dcsr_i_divided *d;
    int number;
    bool transposed;
    dcsr_coo list[DCSR_MAX_DEVICES]; /* the entries of P_across, as the devices have them */
    dcsr_multi_view *view;           /* of what is read */
    dcsr_matrix *const *to;          /* what is added to */
    dcsr_matrix *part[DCSR_MAX_DEVICES];
    char said[512]; /* of the first failure: giving back what there is may fail with others */
} work;

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

/* The device's entries of a product. */
static dcsr_status list_part(void *user, uint64_t k)
{
    work *w = user;
    dcsr_view *part;
    DCSR_I_AMG_TRY(dcsr_multi_view_get_part(w->view, k, &part));
    return dcsr_view_to_coo(&w->list[k], part);
}

static dcsr_status list_product(work *w, dcsr_multi_matrix *product)
{
    DCSR_I_AMG_TRY(dcsr_multi_view_create(&w->view, product, DCSR_LAYOUT_SEGMENTS, 0));
    dcsr_status status = note(w, dcsr_multi_run(w->d->devices, list_part, w));
    dcsr_multi_view_destroy(w->view);
    return status;
}

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

dcsr_status dcsr_i_across_make(dcsr_i_divided *d, int number, dcsr_multi_matrix *S, dcsr_multi_matrix *T,
                               dcsr_matrix *const *P)
{
    dcsr_i_divided_level *level = &d->level[number];
    dcsr_multi_view *left = NULL, *right = NULL;
    dcsr_multi_matrix *product = NULL;
    work w = {.d = d, .number = number, .to = P};
    dcsr_status status = dcsr_multi_view_create(&left, S, DCSR_LAYOUT_SEGMENTS, 0);
    if (!status) status = dcsr_multi_view_create(&right, T, DCSR_LAYOUT_SEGMENTS, 0);
    if (!status)
        status =
            note(&w, dcsr_multi_mxm(&product, DCSR_FP64, NULL, dcsr_semiring_of(DCSR_PLUS_TIMES, DCSR_FP64),
                                    left, right, &(dcsr_desc){.deterministic = true}, NULL));
    dcsr_multi_view_destroy(left);
    dcsr_multi_view_destroy(right);
    if (!status) status = list_product(&w, product);
    dcsr_multi_matrix_destroy(product);
    if (!status) status = make_across(&level->P, &w, false);
    if (!status) status = make_across(&level->R, &w, true);
    if (!status) status = note(&w, dcsr_multi_run(d->devices, insert_part, &w));
    if (!status) status = dcsr_multi_vector_create(&level->y, level->R.view, DCSR_FP64, false);
    if (!status) status = dcsr_multi_vector_fill(level->y, &(double){0});
    for (uint64_t k = 0; k < d->parts; k++) dcsr_coo_free(&w.list[k]);
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
