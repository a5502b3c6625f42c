/* follow_memory_cuda.c: matrices on a device whose rows move, what an update takes while it lasts, and its log.
 *
 * A matrix of a level gets arrays of its own at its first update: the entries as they were, and room behind them, into
 * which rows move. Where they lie nobody needs to know but begin and end, which passes read in any case. */
#include "amg/cuda/follow_stages.h"
#include "dcsr/device/prim_cuda.h"
#include <dcsr/convert.h>
#include <dcsr/view.h>
#include <string.h>

enum { LEAST_ROOM = 4096 };

/* ---- What an update takes ---- */

void *dcsr_i_amg_cuda_scratch(dcsr_i_amg_cuda_follow *f, uint64_t count, size_t size)
{
    dcsr_i_amg_array *to = &f->scratch[f->scratch_count];
    if (dcsr_i_amg_cuda_hold(to, f->h, count, size)) return NULL;
    f->scratch_count++;
    return to->data;
}

void dcsr_i_amg_cuda_scratch_end(dcsr_i_amg_cuda_follow *f)
{
    while (f->scratch_count) f->h->engine->drop(&f->scratch[--f->scratch_count], f->h);
}

/* Another array with the first `used` elements of one, which is dropped. */
static dcsr_status enlarge(dcsr_i_amg_array *array, dcsr_i_amg_hierarchy *h, uint64_t used, uint64_t count)
{
    dcsr_i_amg_array larger;
    DCSR_I_AMG_TRY(dcsr_i_amg_cuda_hold(&larger, h, count, array->size));
    dcsr_i_cuda_copy(h->stream, larger.data, array->data, used * array->size);
    h->engine->drop(array, h);
    *array = larger;
    return DCSR_OK;
}

dcsr_status dcsr_i_amg_cuda_log_room(dcsr_i_amg_cuda_follow *f, uint64_t more)
{
    const uint64_t bound = f->log_bound + more;
    if (bound > f->where.count)
        DCSR_I_AMG_TRY(enlarge(&f->where, f->h, f->log_bound, bound + bound / 2 + LEAST_ROOM));
    if (bound > f->what.count)
        DCSR_I_AMG_TRY(enlarge(&f->what, f->h, f->log_bound, bound + bound / 2 + LEAST_ROOM));
    f->log_bound = bound;
    return DCSR_OK;
}

dcsr_i_amg_cuda_log dcsr_i_amg_cuda_log_of(const dcsr_i_amg_cuda_follow *f)
{
    return (dcsr_i_amg_cuda_log){f->where.data, f->what.data, f->log_count.data};
}

dcsr_i_amg_cuda_set dcsr_i_amg_cuda_set_of(const dcsr_i_amg_cuda_follow *f, int number)
{
    const uint64_t rows = f->level->rows, words = rows / 32 + 1;
    return (dcsr_i_amg_cuda_set){f->bits + (uint64_t)number * words, f->lists + (uint64_t)number * rows,
                                 f->counters + number};
}

dcsr_status dcsr_i_amg_cuda_read_counters(dcsr_i_amg_cuda_follow *f)
{
    const uint64_t *here = dcsr_i_amg_cuda_read(f->h, f->counters, sizeof f->at);
    if (here) memcpy(f->at, here, sizeof f->at);
    return f->h->failed;
}

/* ---- Matrices ---- */

static void set_arrays(dcsr_i_amg_matrix *m, const dcsr_i_amg_array *columns, const dcsr_i_amg_array *values)
{
    m->columns = *columns;
    m->values = *values;
    m->rows.columns = columns->data;
    m->rows.values = values->data;
}

/* Begins and ends of its own, from offsets. */
static void set_offsets(const dcsr_i_amg_matrix *m, const dcsr_i_amg_hierarchy *h, const uint64_t *offsets)
{
    const size_t bytes = m->rows.rows * sizeof *offsets;
    dcsr_i_cuda_copy(h->stream, m->begins.data, offsets, bytes);
    dcsr_i_cuda_copy(h->stream, m->ends.data, offsets + 1, bytes);
}

/* The arrays of the view are copied; it is given back when all is done. */
static dcsr_status own(dcsr_i_amg_matrix *m, dcsr_i_amg_hierarchy *h, uint64_t room)
{
    const dcsr_i_amg_rows *A = &m->rows;
    dcsr_i_amg_array begins = {0}, ends = {0}, columns = {0}, values = {0};
    dcsr_status status = dcsr_i_amg_cuda_hold(&begins, h, A->rows, sizeof(uint64_t));
    if (!status) status = dcsr_i_amg_cuda_hold(&ends, h, A->rows, sizeof(uint64_t));
    if (!status) status = dcsr_i_amg_cuda_hold(&columns, h, room, sizeof(uint32_t));
    if (!status) status = dcsr_i_amg_cuda_hold(&values, h, room, sizeof(double));
    if (status) {
        dcsr_i_amg_array *const all[] = {&begins, &ends, &columns};
        for (int a = 0; a < 3; a++) h->engine->drop(all[a], h);
        return status;
    }
    dcsr_i_cuda_copy(h->stream, columns.data, A->columns, A->nnz * sizeof *A->columns);
    dcsr_i_cuda_copy(h->stream, values.data, A->values, A->nnz * sizeof *A->values);
    m->begins = begins;
    m->ends = ends;
    set_offsets(m, h, A->begin);
    set_arrays(m, &columns, &values);
    m->rows.begin = begins.data;
    m->rows.end = ends.data;
    m->used = A->nnz;
    return DCSR_OK;
}

dcsr_status dcsr_i_amg_cuda_loosen(dcsr_i_amg_matrix *m, dcsr_i_amg_hierarchy *h, uint64_t more)
{
    const uint64_t room = m->rows.nnz + m->rows.nnz / 4 + more + LEAST_ROOM;
    if (!m->begins.data) return own(m, h, room);
    const uint64_t least = m->used + more;
    if (least > m->columns.count) DCSR_I_AMG_TRY(enlarge(&m->columns, h, m->used, least + least / 4));
    m->rows.columns = m->columns.data;
    if (least > m->values.count) DCSR_I_AMG_TRY(enlarge(&m->values, h, m->used, least + least / 4));
    m->rows.values = m->values.data;
    return DCSR_OK;
}

/* A matrix whose rows stand one after the other; its arrays may have spare room at their end. */
typedef struct packed {
    dcsr_i_amg_array lengths, offsets, columns, values;
} packed;

static void packed_free(packed *p, dcsr_i_amg_hierarchy *h)
{
    dcsr_i_amg_array *const all[] = {&p->lengths, &p->offsets, &p->columns, &p->values};
    for (int a = 0; a < 4; a++) h->engine->drop(all[a], h);
}

static dcsr_status pack(packed *p, dcsr_i_amg_hierarchy *h, const dcsr_i_amg_rows *rows, uint64_t more)
{
    const dcsr_i_amg_cuda_rows A = dcsr_i_amg_cuda_rows_of(rows);
    DCSR_I_AMG_TRY(dcsr_i_amg_cuda_hold(&p->lengths, h, A.rows, sizeof(uint32_t)));
    DCSR_I_AMG_TRY(dcsr_i_amg_cuda_hold(&p->offsets, h, A.rows + 1, sizeof(uint64_t)));
    DCSR_I_AMG_TRY(dcsr_i_amg_cuda_hold(&p->columns, h, A.nnz + more, sizeof(uint32_t)));
    DCSR_I_AMG_TRY(dcsr_i_amg_cuda_hold(&p->values, h, A.nnz + more, sizeof(double)));
    dcsr_i_amg_cuda_measure(h->stream, &A, p->lengths.data);
    DCSR_I_AMG_TRY(dcsr_i_cuda_scan_u32(h->stream, p->lengths.data, p->offsets.data, A.rows));
    dcsr_i_amg_cuda_copy_rows(h->stream, &A, p->offsets.data, p->columns.data, p->values.data);
    return DCSR_OK;
}

/* What was copied when the rows began to move is no longer needed: the stream has been waited for. */
void dcsr_i_amg_cuda_tidy(dcsr_i_amg_matrix *m, dcsr_i_amg_hierarchy *h)
{
    const uint64_t gone = m->used - m->rows.nnz;
    packed p = {0};
    if (!m->begins.data) return;
    if (m->matrix) dcsr_view_destroy(m->view);
    dcsr_matrix_destroy(m->matrix);
    m->view = NULL;
    m->matrix = NULL;
    if (gone < LEAST_ROOM || gone < m->rows.nnz / 4) return;
    if (!pack(&p, h, &m->rows, m->rows.nnz / 4 + LEAST_ROOM)) {
        dcsr_i_amg_array columns = m->columns, values = m->values;
        set_offsets(m, h, p.offsets.data);
        set_arrays(m, &p.columns, &p.values);
        m->used = m->rows.nnz;
        p.columns = columns;
        p.values = values;
    }
    packed_free(&p, h);
}

dcsr_status dcsr_i_amg_cuda_collect(dcsr_matrix **made, dcsr_i_amg_hierarchy *h, const dcsr_i_amg_rows *rows)
{
    packed p = {0};
    dcsr_status status = pack(&p, h, rows, 0);
    if (!status) {
        const dcsr_csr csr = {rows->rows,     rows->cols,     rows->nnz,    DCSR_FP64,
                              p.offsets.data, p.columns.data, p.values.data};
        status = dcsr_matrix_from_csr_device(made, h->context, &csr, dcsr_i_cuda_handle(h->stream), NULL);
    }
    packed_free(&p, h);
    return status;
}

dcsr_status dcsr_i_amg_cuda_bring_dense(double *dense, dcsr_i_amg_hierarchy *h, const dcsr_i_amg_rows *rows)
{
    const dcsr_i_amg_cuda_rows A = dcsr_i_amg_cuda_rows_of(rows);
    dcsr_i_amg_array there;
    DCSR_I_AMG_TRY(h->engine->take(&there, h, A.rows * A.rows, sizeof *dense));
    dcsr_i_amg_cuda_fill_dense(h->stream, &A, there.data);
    dcsr_status status = h->engine->get(h, dense, there.data, A.rows * A.rows * sizeof *dense);
    h->engine->drop(&there, h);
    return status;
}
