/* undo.c: what an update changes: noted before, so that a failure can take it back; and rows that move. */
#include "amg/hierarchy_follow.h"
#include <string.h>

typedef struct record {
    void *at;
    size_t size;
} record;

dcsr_status dcsr_i_amg_grow(dcsr_i_amg_array *array, dcsr_context *context, uint64_t used, uint64_t more,
                            size_t size)
{
    if (array->data && used + more <= array->count) return DCSR_OK;
    dcsr_i_amg_array larger;
    DCSR_I_AMG_TRY(dcsr_i_amg_take(&larger, context, used + used / 2 + more, size));
    if (used) memcpy(larger.data, array->data, used * size);
    dcsr_i_amg_drop(array, context);
    *array = larger;
    return DCSR_OK;
}

dcsr_status dcsr_i_amg_keep(dcsr_i_amg_undo *undo, void *at, size_t size)
{
    const record r = {at, size};
    DCSR_I_AMG_TRY(dcsr_i_amg_grow(&undo->array, undo->context, undo->used, size + sizeof r, 1));
    char *to = (char *)undo->array.data + undo->used;
    memcpy(to, at, size);
    memcpy(to + size, &r, sizeof r);
    undo->used += size + sizeof r;
    return DCSR_OK;
}

void dcsr_i_amg_take_back(dcsr_i_amg_undo *undo)
{
    while (undo->used) {
        record r;
        const char *end = (const char *)undo->array.data + undo->used - sizeof r;
        memcpy(&r, end, sizeof r);
        memcpy(r.at, end - r.size, r.size);
        undo->used -= r.size + sizeof r;
    }
}

/* ---- Rows ---- */

/* The first time: the offsets become begins and ends that may change. */
static dcsr_status own_offsets(dcsr_i_amg_matrix *m, dcsr_context *context)
{
    if (m->begins.data) return DCSR_OK;
    dcsr_i_amg_array begins = {0}, ends = {0};
    dcsr_status status = dcsr_i_amg_take(&begins, context, m->rows.rows, sizeof(uint64_t));
    if (!status) status = dcsr_i_amg_take(&ends, context, m->rows.rows, sizeof(uint64_t));
    if (status) {
        dcsr_i_amg_drop(&begins, context);
        return status;
    }
    memcpy(begins.data, m->rows.begin, m->rows.rows * sizeof(uint64_t));
    memcpy(ends.data, m->rows.end, m->rows.rows * sizeof(uint64_t));
    m->begins = begins;
    m->ends = ends;
    m->rows.begin = begins.data;
    m->rows.end = ends.data;
    m->rows.fixed = m->rows.nnz;
    return DCSR_OK;
}

static dcsr_status make_room(dcsr_i_amg_matrix *m, dcsr_context *context, uint64_t more)
{
    DCSR_I_AMG_TRY(dcsr_i_amg_grow(&m->columns, context, m->used, more, sizeof(uint32_t)));
    m->rows.moved_columns = m->columns.data;
    DCSR_I_AMG_TRY(dcsr_i_amg_grow(&m->values, context, m->used, more, sizeof(double)));
    m->rows.moved_values = m->values.data;
    return DCSR_OK;
}

dcsr_status dcsr_i_amg_move_rows(dcsr_i_amg_matrix *m, dcsr_i_amg_undo *undo, uint64_t count,
                                 const uint32_t *rows, const dcsr_i_amg_span *spans)
{
    uint64_t more = 0;
    if (!count) return DCSR_OK;
    for (uint64_t k = 0; k < count; k++) more += spans[k].count;
    DCSR_I_AMG_TRY(own_offsets(m, undo->context));
    DCSR_I_AMG_TRY(make_room(m, undo->context, more));
    DCSR_I_AMG_TRY(dcsr_i_amg_keep(undo, &m->used, sizeof m->used));
    DCSR_I_AMG_TRY(dcsr_i_amg_keep(undo, &m->given_up, sizeof m->given_up));
    DCSR_I_AMG_TRY(dcsr_i_amg_keep(undo, &m->rows.nnz, sizeof m->rows.nnz));
    uint64_t *begin = m->begins.data, *end = m->ends.data;
    for (uint64_t k = 0; k < count; k++) {
        const uint32_t i = rows[k];
        const dcsr_i_amg_span *from = &spans[k];
        DCSR_I_AMG_TRY(dcsr_i_amg_keep(undo, &begin[i], sizeof begin[i]));
        DCSR_I_AMG_TRY(dcsr_i_amg_keep(undo, &end[i], sizeof end[i]));
        if (from->count) {
            memcpy((uint32_t *)m->columns.data + m->used, from->columns, from->count * sizeof *from->columns);
            memcpy((double *)m->values.data + m->used, from->values, from->count * sizeof *from->values);
        }
        if (begin[i] >= m->rows.fixed) m->given_up += end[i] - begin[i];
        m->rows.nnz += from->count - (end[i] - begin[i]);
        begin[i] = m->rows.fixed + m->used;
        m->used += from->count;
        end[i] = m->rows.fixed + m->used;
    }
    return DCSR_OK;
}

void dcsr_i_amg_tidy(dcsr_i_amg_matrix *m, dcsr_i_amg_hierarchy *h)
{
    dcsr_context *context = h->context;
    enum { FEW = 4096 };
    dcsr_i_amg_array columns = {0}, values = {0};
    const uint64_t kept = m->used - m->given_up, room = kept + kept / 2;
    if (m->given_up < FEW || m->given_up < kept) return;
    if (dcsr_i_amg_take(&columns, context, room, sizeof(uint32_t))) return; /* another time */
    if (dcsr_i_amg_take(&values, context, room, sizeof(double))) {
        dcsr_i_amg_drop(&columns, context);
        return;
    }
    uint64_t *begin = m->begins.data, *end = m->ends.data, used = 0;
    for (uint64_t i = 0; i < m->rows.rows; i++) {
        if (begin[i] < m->rows.fixed) continue;
        const dcsr_i_amg_span row = dcsr_i_amg_span_of(&m->rows, i);
        memcpy((uint32_t *)columns.data + used, row.columns, row.count * sizeof *row.columns);
        memcpy((double *)values.data + used, row.values, row.count * sizeof *row.values);
        begin[i] = m->rows.fixed + used;
        end[i] = begin[i] + row.count;
        used += row.count;
    }
    dcsr_i_amg_drop(&m->columns, context);
    dcsr_i_amg_drop(&m->values, context);
    m->columns = columns;
    m->values = values;
    m->rows.moved_columns = columns.data;
    m->rows.moved_values = values.data;
    m->used = used;
    m->given_up = 0;
}
