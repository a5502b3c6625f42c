/* row_reader.h: the rows of a view, one at a time, each in one piece (internal).
 *
 * A row that lies in one segment is lent from where it is; the pieces of another are copied together. */
#ifndef DCSR_ROW_READER_H
#define DCSR_ROW_READER_H

#include "dcsr/base/alloc.h"
#include "dcsr/base/error.h"
#include "dcsr/store/rowtable.h"
#include <string.h>

/* A row; values is NULL where there are none. */
typedef struct dcsr_i_row {
    uint64_t n;
    const uint32_t *columns;
    const void *values;
} dcsr_i_row;

/* Memory of one thread that grows as it is needed, and does not keep its content. */
typedef struct dcsr_i_scratch {
    void *bytes;
    size_t size;
    bool lent; /* until more is needed: somebody else's memory, that need not be taken for a few entries */
} dcsr_i_scratch;

/* Room for a few entries, to begin with. */
typedef struct dcsr_i_few {
    _Alignas(16) char bytes[256];
} dcsr_i_few;
static inline dcsr_i_scratch dcsr_i_scratch_of(dcsr_i_few *few)
{
    return (dcsr_i_scratch){few->bytes, sizeof few->bytes, true};
}

static inline void dcsr_i_scratch_free(dcsr_i_scratch *scratch, dcsr_context *context)
{
    if (!scratch->lent) dcsr_i_free(context, DCSR_I_SCRATCH, scratch->bytes, scratch->size, 1);
    *scratch = (dcsr_i_scratch){0};
}

static inline dcsr_status dcsr_i_scratch_room(dcsr_i_scratch *scratch, dcsr_context *context, size_t size)
{
    if (size <= scratch->size && scratch->bytes) return DCSR_OK;
    size_t larger = size < 256 ? 256 : size > 2 * scratch->size ? size : 2 * scratch->size;
    void *bytes = dcsr_i_alloc(context, DCSR_I_SCRATCH, larger, 1);
    if (!bytes) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_i_scratch_free(scratch, context);
    *scratch = (dcsr_i_scratch){bytes, larger, false};
    return DCSR_OK;
}

/* Of one thread. */
typedef struct dcsr_i_row_reader {
    dcsr_context *context;
    const dcsr_i_rows *rows; /* in host memory */
    size_t value_size;
    dcsr_i_scratch columns, values;
} dcsr_i_row_reader;

static inline dcsr_i_row_reader dcsr_i_row_reader_of(dcsr_context *context, const dcsr_i_rows *rows)
{
    return (dcsr_i_row_reader){
        .context = context, .rows = rows, .value_size = rows ? dcsr_type_size(rows->type) : 0};
}

static inline void dcsr_i_row_reader_free(dcsr_i_row_reader *reader)
{
    if (!reader->context) return;
    dcsr_i_scratch_free(&reader->columns, reader->context);
    dcsr_i_scratch_free(&reader->values, reader->context);
}

/* For dcsr_i_row_get() alone. */
static inline dcsr_status dcsr_i_row_join(dcsr_i_row_reader *reader, const dcsr_i_piece *pieces, int count,
                                          dcsr_i_row *row)
{
    const dcsr_i_rows *rows = reader->rows;
    size_t size = reader->value_size;
    uint64_t n = 0;
    for (int k = 0; k < count; k++) n += pieces[k].length;
    DCSR_TRY(dcsr_i_scratch_room(&reader->columns, reader->context, n * sizeof(uint32_t)));
    DCSR_TRY(dcsr_i_scratch_room(&reader->values, reader->context, n * size));
    uint32_t *columns = reader->columns.bytes;
    char *values = reader->values.bytes;
    n = 0;
    for (int k = 0; k < count; n += pieces[k++].length) {
        memcpy(columns + n, rows->columns + pieces[k].begin, pieces[k].length * sizeof *columns);
        if (size)
            memcpy(values + n * size, (const char *)rows->values + pieces[k].begin * size,
                   pieces[k].length * size);
    }
    *row = (dcsr_i_row){n, columns, size ? values : NULL};
    return DCSR_OK;
}

/* Reads a row; what it shows lasts until the next call with this reader. */
static inline dcsr_status dcsr_i_row_get(dcsr_i_row_reader *reader, uint64_t number, dcsr_i_row *row)
{
    dcsr_i_piece pieces[DCSR_MAX_SEGMENTS];
    int count = dcsr_i_rows_pieces(reader->rows, number, pieces);
    if (count > 1) return dcsr_i_row_join(reader, pieces, count, row);
    *row = (dcsr_i_row){0};
    if (count)
        *row = (dcsr_i_row){pieces[0].length, reader->rows->columns + pieces[0].begin,
                            reader->value_size
                                ? (const char *)reader->rows->values + pieces[0].begin * reader->value_size
                                : NULL};
    return DCSR_OK;
}

/* How many entries rows first to first + count - 1 have, which are of one page of 64 rows. */
static inline uint64_t dcsr_i_rows_sum(const dcsr_i_rows *rows, uint64_t first, uint64_t count)
{
    if (rows->offsets) return rows->offsets[first + count] - rows->offsets[first];
    const dcsr_i_row_page *page = dcsr_i_page(rows->table, first >> DCSR_I_PAGE_SHIFT);
    uint64_t sum = 0;
    for (uint64_t r = first & (DCSR_I_PAGE_ROWS - 1); page && count; r++, count--) sum += page->length[r];
    return sum;
}

/* Entries of all rows. */
static inline uint64_t dcsr_i_rows_stored(const dcsr_i_rows *rows)
{
    if (rows->on_device) return rows->device.stored;
    return rows->offsets ? rows->offsets[rows->rows] : rows->table->stored;
}

#endif
