/* view_facts.c: what has been computed of the rows of a version, shared by the views that show it alike: each keeps
 * what it was asked for, and the matrix what was made last, of no older version than before. */
#include "dcsr/view/view_data.h"

static bool are_of(const dcsr_i_facts *facts, const dcsr_view *view)
{
    return facts->version == view->version && facts->flags == view->flags &&
           facts->in_place == (view->form[0].rows.table != NULL);
}

static dcsr_i_facts *retain(dcsr_i_facts *facts)
{
    atomic_fetch_add_explicit(&facts->references, 1, memory_order_relaxed);
    return facts;
}

void dcsr_i_facts_release(dcsr_i_facts *facts, dcsr_context *context)
{
    if (facts && atomic_fetch_sub_explicit(&facts->references, 1, memory_order_acq_rel) == 1)
        dcsr_i_free(context, DCSR_I_MATRIX, facts, 1, sizeof *facts);
}

/* Those that the matrix keeps, if they are of what the view shows. */
static dcsr_i_facts *find(const dcsr_view *view)
{
    dcsr_i_versions *versions = &view->matrix->versions;
    dcsr_i_facts *facts = NULL;
    pthread_mutex_lock(&versions->lock);
    if (versions->facts && are_of(versions->facts, view)) facts = retain(versions->facts);
    pthread_mutex_unlock(&versions->lock);
    return facts;
}

/* The matrix keeps them from now on, unless it has some of a later version, or they are of none. */
static void offer(dcsr_i_facts *facts, const dcsr_view *view)
{
    if (!view->version) return;
    dcsr_i_versions *versions = &view->matrix->versions;
    dcsr_i_facts *replaced = NULL;
    pthread_mutex_lock(&versions->lock);
    if (!versions->closed && (!versions->facts || versions->facts->version <= facts->version)) {
        replaced = versions->facts;
        versions->facts = retain(facts);
    }
    pthread_mutex_unlock(&versions->lock);
    dcsr_i_facts_release(replaced, view->context);
}

void dcsr_i_facts_forget(dcsr_matrix *matrix)
{
    pthread_mutex_lock(&matrix->versions.lock);
    dcsr_i_facts *facts = matrix->versions.facts;
    matrix->versions.facts = NULL;
    pthread_mutex_unlock(&matrix->versions.lock);
    dcsr_i_facts_release(facts, matrix->context);
}

/* Under the view's lock. */
static dcsr_status make(dcsr_i_facts **facts, dcsr_view *view, dcsr_i_facts_compute *compute)
{
    dcsr_i_facts *made = dcsr_i_calloc(view->context, DCSR_I_MATRIX, 1, sizeof *made);
    if (!made) return DCSR_ERROR_OUT_OF_MEMORY;
    made->references = 1;
    made->version = view->version;
    made->flags = view->flags;
    made->in_place = view->form[0].rows.table != NULL;
    const dcsr_status status = compute(made, view);
    if (status == DCSR_OK)
        offer(made, view);
    else
        dcsr_i_facts_release(made, view->context);
    *facts = status == DCSR_OK ? made : NULL;
    return status;
}

dcsr_status dcsr_i_view_facts(dcsr_i_facts **facts, dcsr_view *view, dcsr_i_facts_compute *compute)
{
    dcsr_status status = DCSR_OK;
    pthread_mutex_lock(&view->lock);
    if (!view->facts) view->facts = find(view);
    if (!view->facts && compute) status = make(&view->facts, view, compute);
    *facts = view->facts;
    pthread_mutex_unlock(&view->lock);
    return status;
}
