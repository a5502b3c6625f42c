/* multi_view.c: views of a partitioned matrix: one version of all parts; where these are cut; and matrices of parts
 * that are there. */
#include "dcsr/store/store.h"
#include "dcsr/view/view_data.h"
#include "multi/exchange.h"
#include "multi/multi_data.h"
#include <string.h>

/* ---- Borders ---- */

dcsr_i_borders *dcsr_i_borders_create(uint64_t parts)
{
    dcsr_i_borders *created = dcsr_i_calloc(NULL, DCSR_I_MATRIX, 1, sizeof *created);
    if (!created) return NULL;
    atomic_init(&created->references, 1);
    created->parts = parts;
    return created;
}

dcsr_i_borders *dcsr_i_borders_even(uint64_t parts, uint64_t n)
{
    dcsr_i_borders *created = dcsr_i_borders_create(parts);
    for (uint64_t k = 0; created && k <= parts; k++) created->begin[k] = dcsr_i_even_border(n, k, parts);
    return created;
}

dcsr_i_borders *dcsr_i_borders_round(dcsr_i_borders *borders, uint64_t grain)
{
    for (uint64_t k = 1; borders && grain > 1 && k < borders->parts; k++) {
        const uint64_t rest = borders->begin[k] % grain, end = borders->begin[borders->parts];
        borders->begin[k] -= rest;
        if (rest > grain / 2) borders->begin[k] += grain;
        if (borders->begin[k] > end) borders->begin[k] = end;
    }
    return borders;
}

dcsr_i_borders *dcsr_i_borders_hold(dcsr_i_borders *borders)
{
    atomic_fetch_add(&borders->references, 1);
    return borders;
}

void dcsr_i_borders_release(dcsr_i_borders *borders)
{
    if (borders && dcsr_i_give_up(&borders->references))
        dcsr_i_free(NULL, DCSR_I_MATRIX, borders, 1, sizeof *borders);
}

bool dcsr_i_borders_equal(const dcsr_i_borders *a, const dcsr_i_borders *b)
{
    if (a->parts != b->parts) return false;
    for (uint64_t k = 0; k <= a->parts; k++)
        if (a->begin[k] != b->begin[k]) return false;
    return true;
}

/* ---- Creating ---- */

/* The version that is shown now: while it is being changed, what is held of it. */
static dcsr_status hold_version(dcsr_multi_matrix *matrix, dcsr_multi_view *view, dcsr_i_held_version **held)
{
    dcsr_status status = DCSR_OK;
    dcsr_i_set_aside before = dcsr_i_use_set_aside(DCSR_I_HALF_SET_ASIDE);
    pthread_mutex_lock(&matrix->lock);
    for (uint64_t k = 0; k < matrix->parts && status == DCSR_OK; k++) {
        status = matrix->changing ? dcsr_i_held_version_again(&held[k], matrix->held[k])
                                  : dcsr_i_held_version_create(&held[k], matrix->part[k]);
        if (status != DCSR_OK) status = dcsr_i_multi_blame(matrix, k, status);
    }
    view->rows = dcsr_i_borders_hold(matrix->row_borders);
    view->cols = dcsr_i_borders_hold(matrix->col_borders);
    view->version = matrix->version;
    pthread_mutex_unlock(&matrix->lock);
    dcsr_i_use_set_aside(before);
    return status;
}

typedef struct showing {
    dcsr_multi_view *view;
    dcsr_i_held_version **held;
    dcsr_layout layout;
    unsigned flags;
} showing;

static dcsr_status show_part(void *user, uint64_t k)
{
    const showing *s = user;
    return dcsr_i_view_of(&s->view->part[k], s->held[k], s->layout, s->flags);
}

/* Segments most often need no work; what is copied the devices copy side by side. */
static dcsr_status show_parts(dcsr_multi_matrix *matrix, showing *s)
{
    if (s->layout != DCSR_LAYOUT_SEGMENTS && matrix->parts > 1)
        return dcsr_multi_run(matrix->devices, show_part, s);
    dcsr_status status = DCSR_OK;
    for (uint64_t k = 0; k < matrix->parts && status == DCSR_OK; k++) {
        status = show_part(s, k);
        if (status != DCSR_OK) status = dcsr_i_multi_blame(matrix, k, status);
    }
    return status;
}

dcsr_status dcsr_i_multi_view_make(dcsr_multi_view **view, dcsr_multi_matrix *matrix, dcsr_layout layout,
                                   unsigned flags)
{
    dcsr_multi_view *created = dcsr_i_calloc(matrix->home, DCSR_I_MATRIX, 1, sizeof *created);
    if (!created) return DCSR_ERROR_OUT_OF_MEMORY;
    created->devices = matrix->devices;
    dcsr_i_multi_retain(created->devices);
    pthread_mutex_init(&created->lock, NULL);
    dcsr_i_held_version *held[DCSR_MAX_DEVICES] = {NULL};
    dcsr_status status = hold_version(matrix, created, held);
    showing s = {created, held, layout, flags & (DCSR_VIEW_DUPLICATES | DCSR_VIEW_SORTED)};
    if (status == DCSR_OK) status = show_parts(matrix, &s);
    for (uint64_t k = 0; k < matrix->parts; k++) dcsr_i_held_version_release(held[k]);
    if (status == DCSR_OK)
        *view = created;
    else
        dcsr_multi_view_destroy(created);
    return status;
}

dcsr_status dcsr_multi_view_create(dcsr_multi_view **view, dcsr_multi_matrix *matrix, dcsr_layout layout,
                                   unsigned flags)
{
    enum { ALL_FLAGS = DCSR_VIEW_DUPLICATES | DCSR_VIEW_SORTED | DCSR_VIEW_LATEST };
    if (!view) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_multi_view_create: view is NULL");
    *view = NULL;
    DCSR_TRY(dcsr_i_multi_matrix_check(matrix));
    if ((unsigned)layout > DCSR_LAYOUT_NUT || flags & ~(unsigned)ALL_FLAGS)
        return dcsr_i_fail(
            DCSR_ERROR_INVALID_ARGUMENT,
            "dcsr_multi_view_create: layout %d with flags %u; use one of DCSR_LAYOUT_*, and flags of "
            "DCSR_VIEW_* or 0",
            (int)layout, flags);
    if (flags & DCSR_VIEW_LATEST) dcsr_i_multi_wait(matrix);
    return dcsr_i_multi_view_make(view, matrix, layout, flags);
}

void dcsr_multi_view_destroy(dcsr_multi_view *view)
{
    if (!view) return;
    dcsr_multi *devices = view->devices;
    if (dcsr_i_multi_on_gpus) dcsr_i_multi_on_gpus->drop(view->exchange);
    for (uint64_t k = 0; k < view->rows->parts; k++) dcsr_view_destroy(view->part[k]);
    pthread_mutex_destroy(&view->lock);
    dcsr_i_borders_release(view->rows);
    dcsr_i_borders_release(view->cols);
    dcsr_i_free(dcsr_i_multi_home(devices), DCSR_I_MATRIX, view, 1, sizeof *view);
    dcsr_i_multi_release(devices);
}

/* ---- Reading ---- */

/* What one device has failed at does not matter for the others. */
static dcsr_status check(const dcsr_multi_view *view, const void *result, const char *call, const char *name)
{
    if (!view) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "the view is NULL; create one first");
    if (!result) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", call, name);
    return dcsr_i_context_check(dcsr_i_multi_home(view->devices));
}

dcsr_status dcsr_multi_view_get_info(dcsr_multi_view *view, dcsr_multi_view_info *info)
{
    DCSR_TRY(check(view, info, "dcsr_multi_view_get_info", "info"));
    const uint64_t parts = view->rows->parts;
    *info = (dcsr_multi_view_info){.devices = view->devices,
                                   .layout = dcsr_i_view_layout(view->part[0]),
                                   .type = dcsr_i_view_rows(view->part[0])->type,
                                   .rows = view->rows->begin[parts],
                                   .cols = view->cols->begin[parts],
                                   .version = view->version,
                                   .parts = parts};
    memcpy(info->border, view->rows->begin, (parts + 1) * sizeof *info->border);
    uint64_t most = 0;
    for (uint64_t k = 0; k < parts; k++) {
        const dcsr_i_rows *rows = dcsr_i_view_rows(view->part[k]);
        info->nnz_of[k] = rows->on_device ? rows->device.stored : dcsr_i_rows_entries(rows);
        info->nnz += info->nnz_of[k];
        if (info->nnz_of[k] > most) most = info->nnz_of[k];
    }
    info->balance = info->nnz ? (double)most * (double)parts / (double)info->nnz : 1;
    return DCSR_OK;
}

dcsr_status dcsr_multi_view_get_part(dcsr_multi_view *view, uint64_t k, dcsr_view **part)
{
    DCSR_TRY(check(view, part, "dcsr_multi_view_get_part", "part"));
    *part = NULL;
    if (k >= view->rows->parts)
        return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE, "dcsr_multi_view_get_part: part %llu of %llu",
                           (unsigned long long)k, (unsigned long long)view->rows->parts);
    *part = view->part[k];
    return DCSR_OK;
}

dcsr_status dcsr_multi_view_get_row(dcsr_multi_view *view, uint64_t row, uint64_t capacity, uint32_t *cols,
                                    void *values, uint64_t *length)
{
    DCSR_TRY(check(view, length, "dcsr_multi_view_get_row", "length"));
    const dcsr_i_borders *rows = view->rows;
    if (row >= rows->begin[rows->parts])
        return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE, "dcsr_multi_view_get_row: row %llu of %llu",
                           (unsigned long long)row, (unsigned long long)rows->begin[rows->parts]);
    const uint64_t k = dcsr_i_owner(rows, row);
    return dcsr_view_get_row(view->part[k], row - rows->begin[k], capacity, cols, values, length);
}

/* ---- A matrix of parts ---- */

/* Borders, from the rows of parts that fit together. */
static dcsr_status measure_parts(dcsr_i_borders *borders, dcsr_matrix_info *first, const dcsr_multi *devices,
                                 dcsr_matrix *const *part)
{
    static const char call[] = "dcsr_multi_matrix_from_parts";
    for (uint64_t k = 0; k < borders->parts; k++) {
        dcsr_matrix_info info;
        if (!part[k])
            return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: part %d is NULL; give one of each device",
                               call, (int)k);
        DCSR_TRY(dcsr_matrix_get_info(part[k], &info));
        if (!k) *first = info;
        if (part[k]->context != dcsr_i_multi_context(devices, k))
            return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                               "%s: part %d is of another context than device %d's", call, (int)k, (int)k);
        if (info.cols != first->cols)
            return dcsr_i_fail(DCSR_ERROR_DIMENSION_MISMATCH, "%s: part %d has %llu columns, part 0 %llu",
                               call, (int)k, (unsigned long long)info.cols, (unsigned long long)first->cols);
        if (info.type != first->type)
            return dcsr_i_fail(DCSR_ERROR_TYPE_MISMATCH, "%s: part %d is %s, part 0 %s", call, (int)k,
                               dcsr_type_name(info.type), dcsr_type_name(first->type));
        if (info.policy != first->policy)
            return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: part %d has another policy than part 0",
                               call, (int)k);
        borders->begin[k + 1] = borders->begin[k] + info.rows;
    }
    return dcsr_i_check_dimensions(call, dcsr_i_borders_end(borders), first->cols);
}

/* The caller's borders of the columns; *made is NULL if there are none. */
static dcsr_status read_columns(dcsr_i_borders **made, const uint64_t *columns, uint64_t parts, uint64_t cols)
{
    *made = NULL;
    if (!columns) return DCSR_OK;
    for (uint64_t k = 0; k <= parts; k++)
        if ((!k && columns[k]) || (k && columns[k] < columns[k - 1]) || (k == parts && columns[k] != cols))
            return dcsr_i_fail(
                DCSR_ERROR_INVALID_ARGUMENT,
                "dcsr_multi_matrix_from_parts: columns[%d] is %llu; they ascend from 0 to %llu", (int)k,
                (unsigned long long)columns[k], (unsigned long long)cols);
    *made = dcsr_i_borders_create(parts);
    if (!*made) return DCSR_ERROR_OUT_OF_MEMORY;
    memcpy((*made)->begin, columns, (parts + 1) * sizeof *columns);
    return DCSR_OK;
}

dcsr_status dcsr_multi_matrix_from_parts(dcsr_multi_matrix **matrix, dcsr_multi *devices,
                                         dcsr_matrix *const *part, const uint64_t *columns)
{
    static const char call[] = "dcsr_multi_matrix_from_parts";
    dcsr_matrix_info first = {0};
    dcsr_i_borders *cut = NULL;
    if (!matrix) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: matrix is NULL; give it a place", call);
    *matrix = NULL;
    DCSR_TRY(dcsr_i_multi_check(devices));
    if (!part) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: part is NULL; give an array", call);
    dcsr_i_borders *borders = dcsr_i_borders_create(dcsr_i_multi_count(devices));
    if (!borders) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_status status = measure_parts(borders, &first, devices, part);
    if (status == DCSR_OK) status = read_columns(&cut, columns, borders->parts, first.cols);
    if (status == DCSR_OK)
        status = dcsr_i_multi_matrix_of_parts(matrix, devices, borders, first.cols, first.type, part);
    if (status == DCSR_OK && cut) {
        dcsr_i_borders *even = (*matrix)->col_borders; /* nobody has seen the matrix yet */
        (*matrix)->col_borders = cut;
        cut = even;
    }
    if (cut) dcsr_i_borders_release(cut);
    dcsr_i_borders_release(borders);
    return status;
}
