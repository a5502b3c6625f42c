/* rebuild.c: a setup in a thread beside. It reads a copy of the matrix, and is not told of changes: the rows in which
 * the matrix has changed since are noted, and followed when the new levels are taken over. */
#include "amg/rebuild.h"
#include "amg/hierarchy_follow.h"
#include <pthread.h>
#include <string.h>

struct dcsr_i_amg_rebuild {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t copied_now;
    bool copied, done;
    dcsr_status status;
    dcsr_i_amg_hierarchy *h;
    dcsr_view *A;
    const dcsr_amg *amg;   /* its near-nullspace vectors do not change meanwhile */
    dcsr_i_amg_array rows; /* that changed since, uint64_t */
    uint64_t row_count;
};

static void tell(dcsr_i_amg_rebuild *r, bool done)
{
    pthread_mutex_lock(&r->mutex);
    r->copied = true;
    r->done = done;
    pthread_cond_broadcast(&r->copied_now);
    pthread_mutex_unlock(&r->mutex);
}

static void *run(void *user)
{
    dcsr_i_amg_rebuild *r = user;
    double start = dcsr_i_amg_now();
    r->status = dcsr_i_amg_adopt(r->h, r->A, r->amg, true);
    if (!r->status) {
        tell(r, false);
        r->status = dcsr_i_amg_build(r->h, r->amg, NULL);
    }
    r->h->report.setup_seconds = dcsr_i_amg_now() - start;
    tell(r, true);
    return NULL;
}

static void end(dcsr_amg *amg)
{
    dcsr_i_amg_rebuild *r = amg->rebuild;
    pthread_mutex_destroy(&r->mutex);
    pthread_cond_destroy(&r->copied_now);
    dcsr_i_amg_drop(&r->rows, amg->context);
    dcsr_i_amg_hierarchy_destroy(r->h);
    dcsr_context_free(amg->context, r, 1, sizeof *r);
    amg->rebuild = NULL;
}

dcsr_status dcsr_i_amg_rebuild_start(dcsr_amg *amg)
{
    if (amg->rebuild) return DCSR_OK;
    dcsr_i_amg_rebuild *r = dcsr_context_allocate(amg->context, 1, sizeof *r);
    if (!r) return dcsr_thread_status();
    r->A = amg->view;
    r->amg = amg;
    pthread_mutex_init(&r->mutex, NULL);
    pthread_cond_init(&r->copied_now, NULL);
    amg->rebuild = r;
    dcsr_status status = dcsr_i_amg_hierarchy_create(&r->h, amg);
    if (!status && pthread_create(&r->thread, NULL, run, r))
        status =
            dcsr_thread_fail(DCSR_ERROR_OUT_OF_MEMORY, "amg update: the system has no thread for a setup");
    if (status) end(amg);
    return status;
}

dcsr_status dcsr_i_amg_rebuild_log(dcsr_amg *amg, const dcsr_index_list *rows)
{
    dcsr_i_amg_rebuild *r = amg->rebuild;
    if (!r || !rows->n) return DCSR_OK;
    DCSR_I_AMG_TRY(dcsr_i_amg_grow(&r->rows, amg->context, r->row_count, rows->n, sizeof(uint64_t)));
    memcpy((uint64_t *)r->rows.data + r->row_count, rows->indices, rows->n * sizeof(uint64_t));
    r->row_count += rows->n;
    return DCSR_OK;
}

/* Whether the new levels are those of amg->view now. */
static bool catch_up(dcsr_amg *amg)
{
    dcsr_i_amg_rebuild *r = amg->rebuild;
    uint64_t *rows = r->rows.data, kept = 0, count;
    const char *why;
    if (r->status) return false;
    dcsr_i_amg_sort64(rows, r->row_count);
    for (uint64_t k = 0; k < r->row_count; k++)
        if (!k || rows[k] != rows[k - 1]) rows[kept++] = rows[k];
    return !dcsr_i_amg_follow_list(r->h, amg->view, &(dcsr_index_list){rows, kept}, &count, &why) && !why;
}

void dcsr_i_amg_rebuild_take(dcsr_amg *amg, bool wait)
{
    dcsr_i_amg_rebuild *r = amg->rebuild;
    if (!r) return;
    pthread_mutex_lock(&r->mutex);
    while (wait && !r->copied) pthread_cond_wait(&r->copied_now, &r->mutex);
    bool done = r->done;
    pthread_mutex_unlock(&r->mutex);
    if (!done) return;
    pthread_join(r->thread, NULL);
    if (catch_up(amg)) {
        dcsr_i_amg_hierarchy *before = amg->hierarchy;
        r->h->report.outcome = before->report.outcome;
        r->h->report.solver = before->report.solver;
        r->h->report.iterations = before->report.iterations;
        r->h->report.residual = before->report.residual;
        r->h->report.solve_seconds = before->report.solve_seconds;
        amg->hierarchy = r->h;
        r->h = before;
    }
    end(amg);
}

void dcsr_i_amg_rebuild_drop(dcsr_amg *amg)
{
    if (!amg->rebuild) return;
    pthread_join(amg->rebuild->thread, NULL);
    end(amg);
}
