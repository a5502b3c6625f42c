/* prior_rows.c: reading what a matrix holds that is written. */
#include "dcsr/view/sorted.h"
#include "ops/matrix/prior_rows.h"

dcsr_status dcsr_i_old_open(dcsr_i_old *old, dcsr_matrix *C)
{
    *old = (dcsr_i_old){.keep = C->policy == DCSR_POLICY_KEEP,
                        .combine = dcsr_i_sorting_combiner(C->type, C->policy)};
    if (dcsr_i_result_collects(C)) {
        DCSR_TRY(dcsr_view_create(&old->view, C, DCSR_LAYOUT_SEGMENTS, DCSR_VIEW_SORTED));
        old->ascends = !old->keep || atomic_load(&C->versions.ascending) == C->versions.current->version;
        return dcsr_i_view_host_rows(&old->rows, old->view);
    }
    old->ascends = atomic_load(&C->versions.ascending) == C->versions.current->version;
    old->current = dcsr_i_rows_of(C, C->versions.current);
    old->rows = &old->current;
    return DCSR_OK;
}

void dcsr_i_old_close(dcsr_i_old *old)
{
    dcsr_view_destroy(old->view);
    old->view = NULL;
}

void dcsr_i_old_reader_free(dcsr_i_old_reader *reader)
{
    dcsr_context *context = reader->rows.context;
    dcsr_i_row_reader_free(&reader->rows);
    dcsr_i_scratch *const all[] = {&reader->keys, &reader->columns, &reader->values, &reader->all_columns,
                                   &reader->all_values};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) dcsr_i_scratch_free(all[k], context);
}

/* The row to two of the reader's arrays, resolved and sorted; `keep`: with its duplicates. */
static dcsr_status sort_row(dcsr_i_old_reader *reader, uint64_t number, bool keep, dcsr_i_row *row)
{
    const dcsr_i_rows *rows = reader->old->rows;
    dcsr_context *context = reader->rows.context;
    dcsr_i_scratch *columns = keep ? &reader->all_columns : &reader->columns,
                   *values = keep ? &reader->all_values : &reader->values;
    uint64_t length = dcsr_i_rows_length(rows, number);
    DCSR_TRY(dcsr_i_scratch_room(&reader->keys, context, 2 * length * sizeof(uint64_t)));
    DCSR_TRY(dcsr_i_scratch_room(columns, context, length * sizeof(uint32_t)));
    DCSR_TRY(dcsr_i_scratch_room(values, context, length * reader->rows.value_size));
    uint64_t *keys = reader->keys.bytes,
             n = dcsr_i_row_sort(keys, keys + length, rows, number, keep, reader->old->combine,
                                 columns->bytes, values->bytes);
    *row = (dcsr_i_row){n, columns->bytes, reader->rows.value_size ? values->bytes : NULL};
    return DCSR_OK;
}

dcsr_status dcsr_i_old_row(dcsr_i_old_reader *reader, uint64_t number, dcsr_i_row *row, dcsr_i_row *all)
{
    *all = (dcsr_i_row){0};
    if (reader->old->ascends || dcsr_i_row_ascends(reader->old->rows, number))
        return dcsr_i_row_get(&reader->rows, number, row);
    DCSR_TRY(sort_row(reader, number, false, row));
    if (!reader->old->keep) return DCSR_OK;
    DCSR_TRY(sort_row(reader, number, true, all));
    if (all->n == row->n) *all = (dcsr_i_row){0};
    return DCSR_OK;
}
