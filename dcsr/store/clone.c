/* clone.c: matrices that begin as a version of another. What they share with it is the engine's matter: on the cpu all
 * of it (share.c), while on a device the entries are copied. */
#include "dcsr/store/maintained_transpose.h"
#include <dcsr/convert.h>

static const char call[] = "dcsr_matrix_clone";

/* ---- What is shared ---- */

/* A hold for a clone on the version that `held` holds; that of a twin also retains whose twin it is. */
static dcsr_status hold_origin(dcsr_i_held_version **hold, const dcsr_i_held_version *held)
{
    DCSR_TRY(dcsr_i_held_version_again(hold, held));
    dcsr_i_held_version_release((*hold)->twin); /* the clone's twin has a hold of its own */
    (*hold)->twin = NULL;
    dcsr_matrix *owner = held->matrix->transpose.owner;
    if (owner) dcsr_i_matrix_retain(owner);
    return DCSR_OK;
}

void dcsr_i_origin_release(dcsr_i_held_version *hold)
{
    if (!hold) return;
    dcsr_matrix *owner = hold->matrix->transpose.owner;
    dcsr_i_held_version_release(hold);
    if (owner) dcsr_i_matrix_release(owner);
}

/* Makes an empty matrix a clone. */
static dcsr_status take_over(dcsr_matrix *clone, const dcsr_i_held_version *held)
{
    dcsr_i_held_version *hold;
    DCSR_TRY(hold_origin(&hold, held));
    dcsr_status status = clone->engine->clone(clone, hold);
    if (clone->origin.hold != hold) dcsr_i_origin_release(hold);
    if (status != DCSR_OK) return status;
    if (atomic_load(&held->matrix->versions.ascending) == held->version)
        atomic_store(&clone->versions.ascending, clone->versions.current->version);
    atomic_store(&clone->due.deletions, atomic_load(&held->matrix->due.deletions));
    return DCSR_OK;
}

/* Where there is no twin at the moment the clone's is built when somebody needs it. */
static dcsr_status clone_twin(dcsr_matrix *clone, const dcsr_i_held_version *held)
{
    if (!held) return DCSR_OK;
    dcsr_matrix *twin;
    DCSR_TRY(dcsr_i_matrix_open_inner(&twin, clone, held->base->rows, held->base->cols, clone->policy,
                                      clone->defragmentation));
    twin->transpose.owner = clone;
    dcsr_status status = take_over(twin, held);
    if (status == DCSR_OK) status = dcsr_i_held_version_create(&clone->transpose.shown, twin);
    if (status == DCSR_OK)
        clone->transpose.twin = twin;
    else
        dcsr_i_matrix_release(twin);
    return status;
}

/* ---- Making one ---- */

static void copy_tag(dcsr_matrix *clone, dcsr_i_table *from, dcsr_matrix *matrix)
{
    dcsr_i_table *to = clone->versions.current;
    pthread_mutex_lock(&matrix->versions.lock);
    to->tagged = from->tagged;
    to->tag = from->tag;
    pthread_mutex_unlock(&matrix->versions.lock);
}

static dcsr_status make(dcsr_matrix **clone, const dcsr_i_held_version *held)
{
    dcsr_matrix *made, *matrix = held->matrix;
    DCSR_TRY(dcsr_i_matrix_open_like(&made, matrix, held->base->rows, held->base->cols));
    made->family = matrix->family;
    dcsr_status status = take_over(made, held);
    if (status == DCSR_OK) copy_tag(made, (dcsr_i_table *)held->base, matrix);
    if (status == DCSR_OK) status = clone_twin(made, held->twin);
    if (status == DCSR_OK) status = dcsr_i_context_join(made->context, &made->member);
    if (status == DCSR_OK)
        *clone = made;
    else
        dcsr_i_matrix_release(made);
    return status;
}

/* By way of a CSR view in the device's memory. */
static dcsr_status make_copy(dcsr_matrix **clone, dcsr_matrix *matrix)
{
    const dcsr_matrix_options options = dcsr_i_matrix_options_of(matrix);
    dcsr_view *view;
    dcsr_csr csr;
    DCSR_TRY(dcsr_view_create(&view, matrix, DCSR_LAYOUT_CSR, 0));
    dcsr_status status = dcsr_view_get_csr(view, &csr);
    if (status == DCSR_OK) status = dcsr_matrix_from_csr_device(clone, matrix->context, &csr, NULL, &options);
    if (status == DCSR_OK) (*clone)->family = matrix->family;
    dcsr_view_destroy(view);
    return status;
}

dcsr_status dcsr_matrix_clone(dcsr_matrix **clone, dcsr_matrix *matrix)
{
    if (!clone) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: clone is NULL", call);
    *clone = NULL;
    DCSR_TRY(dcsr_i_matrix_check(matrix));
    DCSR_TRY(dcsr_i_queue_wait(matrix, call));
    if (!matrix->engine->clone) return make_copy(clone, matrix);
    dcsr_i_held_version *held;
    DCSR_TRY(dcsr_i_held_version_create(&held, matrix));
    dcsr_status status = make(clone, held);
    dcsr_i_held_version_release(held);
    return status;
}
