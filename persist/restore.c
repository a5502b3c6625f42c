/* restore.c: a version in the store becomes a matrix.
 *
 *      chunks --by all threads: read or unpacked, checked--> the arena, rows one behind the other
 *                                                        --> CSR in host memory --> a device
 *      where rows begin in the chunks ----------------------> the row table
 *
 * The record of the version says where the entries of each chunk go, so that it is read once, from the disk
 * or from memory, while the system reads those behind it; what holds a copy of damaged bytes is thrown away.
 */
#include "dcsr/base/alloc.h"
#include <dcsr/convert.h>
#include "dcsr/store/store.h"
#include "dcsr/store/maintained_transpose.h"
#include "persist/stored_rows.h"
#include <string.h>

/* ---- All chunks of a version ---- */

static void free_chunks(dcsr_i_stored *stored)
{
    uint64_t chunks = stored->version.record.chunks;
    for (uint64_t c = 0; stored->data && c < chunks; c++) dcsr_i_chunk_close(&stored->data[c]);
    dcsr_i_free(NULL, DCSR_I_SCRATCH, stored->values, chunks, sizeof *stored->values);
    dcsr_i_free(NULL, DCSR_I_SCRATCH, stored->data, chunks, sizeof *stored->data);
    dcsr_i_free(NULL, DCSR_I_SCRATCH, stored->first, chunks, sizeof *stored->first);
    stored->values = NULL;
    stored->data = NULL;
    stored->first = NULL;
}

void dcsr_i_stored_close(dcsr_i_stored *stored)
{
    free_chunks(stored);
    dcsr_i_version_free(&stored->version);
    dcsr_i_txn_abort(stored->txn, stored->store);
    *stored = (dcsr_i_stored){0};
}

static dcsr_status find_chunks(dcsr_i_stored *stored, uint64_t version)
{
    DCSR_TRY(dcsr_i_txn_begin(&stored->txn, stored->store, false));
    DCSR_TRY(dcsr_i_version_get(stored->store, stored->txn, stored->name, version, &stored->version));
    uint64_t chunks = stored->version.record.chunks, entries = 0;
    stored->values = dcsr_i_alloc(NULL, DCSR_I_SCRATCH, chunks, sizeof *stored->values);
    stored->data = dcsr_i_calloc(NULL, DCSR_I_SCRATCH, chunks, sizeof *stored->data);
    stored->first = dcsr_i_alloc(NULL, DCSR_I_SCRATCH, chunks, sizeof *stored->first);
    if (!stored->values || !stored->data || !stored->first) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t c = 0; c < chunks; entries += stored->version.chunks[c++].entries) {
        stored->first[c] = entries;
        DCSR_TRY(dcsr_i_chunk_find(stored->store, stored->txn, stored->name, &stored->version, c,
                                   &stored->values[c]));
    }
    return DCSR_OK;
}

dcsr_status dcsr_i_stored_open(dcsr_i_stored *stored, const dcsr_store *store, const char *name,
                               uint64_t version)
{
    *stored = (dcsr_i_stored){.store = store, .name = name};
    dcsr_status status = find_chunks(stored, version);
    if (status != DCSR_OK) dcsr_i_stored_close(stored);
    return status;
}

/* ---- Entries ---- */

/* Of a chunk that was unpacked, only where its rows begin is needed after it has been copied. */
static void keep_offsets(dcsr_i_chunk_data *data, const dcsr_i_chunk *chunk)
{
    uint64_t bytes = (chunk->rows + 1) * sizeof(uint64_t);
    void *offsets =
        data->unpacked ? dcsr_i_realloc(NULL, DCSR_I_SCRATCH, data->unpacked, data->bytes, bytes, 1) : NULL;
    if (offsets) *data = (dcsr_i_chunk_data){.offsets = offsets, .unpacked = offsets, .bytes = bytes};
}

/* Looks whether a chunk is as it was written; its entries are where they go then. */
static dcsr_status copy_chunk(dcsr_i_stored *stored, uint64_t c, uint32_t *columns, char *values)
{
    const dcsr_i_version *version = &stored->version;
    const dcsr_i_chunk *chunk = &version->chunks[c];
    dcsr_i_chunk_data *data = &stored->data[c];
    size_t size = dcsr_type_size((dcsr_type)version->record.type);
    if (!chunk->entries) return DCSR_OK;
    columns += stored->first[c];
    if (size) values += stored->first[c] * size;
    if (dcsr_i_chunk_can_be_read(stored, c)) return dcsr_i_chunk_read(stored, c, columns, values);
    DCSR_TRY(dcsr_i_chunk_open(stored->store, stored->name, version, c, &stored->values[c], data));
    dcsr_status status = dcsr_i_chunk_check(stored->store, stored->name, version, c, data);
    if (status != DCSR_OK) {
        dcsr_i_chunk_close(data);
        return status;
    }
    memcpy(columns, data->columns, chunk->entries * sizeof *columns);
    if (size) memcpy(values, data->values, chunk->entries * size);
    keep_offsets(data, chunk);
    return DCSR_OK;
}

static void ask_for(const dcsr_i_stored *stored, uint64_t c)
{
    if (c < stored->version.record.chunks && !dcsr_i_chunk_can_be_read(stored, c))
        dcsr_i_chunk_ask_for(&stored->values[c]);
}

/* All of them, by so many threads. */
static dcsr_status copy_entries(void *user, int threads, uint32_t *columns, void *values)
{
    dcsr_i_stored *stored = user;
    uint64_t failed = UINT64_MAX, chunks = stored->version.record.chunks;
    DCSR_TRY(dcsr_i_stored_source(stored));
    for (uint64_t c = 0; c < DCSR_I_CHUNKS_AHEAD; c++) ask_for(stored, c);
#pragma omp parallel for num_threads(threads) schedule(dynamic) reduction(min : failed) if (threads > 1)
    for (uint64_t c = 0; c < chunks; c++) {
        ask_for(stored, c + DCSR_I_CHUNKS_AHEAD);
        if (copy_chunk(stored, c, columns, values) != DCSR_OK && c < failed) failed = c;
    }
    /* Once more in this thread, which is to have the sentence. */
    for (uint64_t c = failed; c < chunks; c++)
        if (!stored->data[c].offsets) DCSR_TRY(copy_chunk(stored, c, columns, values));
    return DCSR_OK;
}

/* ---- Into a matrix ---- */

/* The first chunk that has a row: the last that does not begin behind it. */
static uint64_t chunk_of(const dcsr_i_version *version, uint64_t row)
{
    uint64_t low = 0, high = version->record.chunks;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (version->chunks[middle].first_row <= row)
            low = middle;
        else
            high = middle;
    }
    while (low && version->chunks[low - 1].first_row == version->chunks[low].first_row) low--;
    return low;
}

static void lengths_of(const void *user, uint64_t p, uint32_t length[DCSR_I_PAGE_ROWS])
{
    const dcsr_i_stored *stored = user;
    const dcsr_i_version *version = &stored->version;
    uint64_t row = p << DCSR_I_PAGE_SHIFT, end = row + DCSR_I_PAGE_ROWS;
    for (uint64_t c = chunk_of(version, row); c < version->record.chunks; c++) {
        const dcsr_i_chunk *chunk = &version->chunks[c];
        if (chunk->first_row >= end) break;
        const uint64_t *offsets = stored->data[c].offsets;
        uint64_t first = chunk->first_row > row ? chunk->first_row : row,
                 last = chunk->first_row + chunk->rows < end ? chunk->first_row + chunk->rows : end;
        for (uint64_t r = first; offsets && r < last; r++)
            length[r - row] += (uint32_t)(offsets[r - chunk->first_row + 1] - offsets[r - chunk->first_row]);
    }
}

/* A device takes CSR. */
static dcsr_status restore_device(dcsr_matrix **matrix, const char *call, dcsr_context *context,
                                  dcsr_i_stored *stored, const dcsr_matrix_options *options)
{
    const dcsr_i_version_record *record = &stored->version.record;
    size_t size = dcsr_type_size((dcsr_type)record->type);
    uint64_t *offsets = dcsr_i_alloc(context, DCSR_I_SCRATCH, record->rows + 1, sizeof *offsets);
    uint32_t *columns = dcsr_i_alloc(context, DCSR_I_SCRATCH, record->nnz, sizeof *columns);
    void *values = size ? dcsr_i_alloc(context, DCSR_I_SCRATCH, record->nnz, size) : NULL;
    dcsr_status status = offsets && columns && (values || !size) ? DCSR_OK : DCSR_ERROR_OUT_OF_MEMORY;
    if (status == DCSR_OK)
        status = copy_entries(stored, dcsr_i_threads(context, record->nnz), columns, values);
    if (status == DCSR_OK) {
        uint64_t sum = 0;
        for (uint64_t row = 0; row < record->rows; row += DCSR_I_PAGE_ROWS) {
            uint32_t length[DCSR_I_PAGE_ROWS] = {0};
            lengths_of(stored, row >> DCSR_I_PAGE_SHIFT, length);
            for (uint64_t r = row; r < row + DCSR_I_PAGE_ROWS && r < record->rows; r++) {
                offsets[r] = sum;
                sum += length[r - row];
            }
        }
        offsets[record->rows] = sum;
        dcsr_csr csr = {.rows = record->rows,
                        .cols = record->cols,
                        .nnz = record->nnz,
                        .type = (dcsr_type)record->type,
                        .offsets = offsets,
                        .col_indices = columns,
                        .values = values};
        status = dcsr_i_matrix_from_csr(matrix, call, context, &csr, options);
    }
    dcsr_i_free(context, DCSR_I_SCRATCH, offsets, record->rows + 1, sizeof *offsets);
    dcsr_i_free(context, DCSR_I_SCRATCH, columns, record->nnz, sizeof *columns);
    dcsr_i_free(context, DCSR_I_SCRATCH, values, record->nnz, size);
    return status;
}

/* The pages that chunks with entries are of. */
static dcsr_status list_pages(dcsr_i_page_list *list, dcsr_context *context, const dcsr_i_stored *stored)
{
    const dcsr_i_version *version = &stored->version;
    uint64_t most = 0, next = 0;
    for (uint64_t c = 0; c < version->record.chunks; c++)
        if (version->chunks[c].entries) most += (version->chunks[c].rows >> DCSR_I_PAGE_SHIFT) + 2;
    list->capacity = most;
    list->count = 0;
    list->page = dcsr_i_alloc(context, DCSR_I_SCRATCH, most, sizeof *list->page);
    if (!list->page) return DCSR_ERROR_OUT_OF_MEMORY;
    for (uint64_t c = 0; c < version->record.chunks; c++) {
        const dcsr_i_chunk *chunk = &version->chunks[c];
        uint64_t first = chunk->first_row >> DCSR_I_PAGE_SHIFT,
                 last = (chunk->first_row + chunk->rows - 1) >> DCSR_I_PAGE_SHIFT;
        for (uint64_t p = first > next ? first : next; chunk->entries && p <= last; p++)
            list->page[list->count++] = (uint32_t)(p);
        if (chunk->entries) next = last + 1;
    }
    return DCSR_OK;
}

static dcsr_status restore_host(dcsr_matrix **matrix, const char *call, dcsr_context *context,
                                dcsr_i_stored *stored, const dcsr_matrix_options *options)
{
    const dcsr_i_version_record *record = &stored->version.record;
    dcsr_matrix *made;
    DCSR_TRY(dcsr_i_matrix_create(&made, call, context, (dcsr_type)record->type, record->rows, record->cols,
                                  options));
    dcsr_i_page_list pages;
    dcsr_status status = list_pages(&pages, context, stored);
    if (status == DCSR_OK)
        status = dcsr_i_fill_rows(made, &(dcsr_i_filling){.entries = record->nnz,
                                                          .copy = copy_entries,
                                                          .lengths = {&pages, lengths_of, stored}});
    dcsr_i_page_list_free(&pages, context);
    if (status != DCSR_OK) {
        dcsr_matrix_destroy(made);
        return status;
    }
    dcsr_i_request_twin(made);
    *matrix = made;
    return DCSR_OK;
}

static dcsr_matrix_options options_of(const dcsr_i_version_record *record)
{
    return (dcsr_matrix_options){.policy = (dcsr_policy)record->policy,
                                 .segments = (int)record->segments,
                                 .defragmentation = record->flags & DCSR_I_DEFRAGMENT_ON_DEMAND
                                                        ? DCSR_DEFRAGMENT_OFF
                                                        : DCSR_DEFRAGMENT_AUTO,
                                 .queue_limit = record->queue_limit,
                                 .refuse_when_full = record->flags & DCSR_I_REFUSE_WHEN_FULL,
                                 .maintain_transpose = record->flags & DCSR_I_MAINTAIN_TRANSPOSE,
                                 .resolve = record->flags & DCSR_I_RESOLVED_ON_INSERT ? DCSR_RESOLVE_ON_INSERT
                                            : record->flags & DCSR_I_RESOLVED_ON_READ ? DCSR_RESOLVE_ON_READ
                                                                                      : DCSR_RESOLVE_AUTO,
                                 .grow = record->flags & DCSR_I_GROW,
                                 .slack = record->slack ? dcsr_i_slack_option(record->slack - 1) : 0};
}

dcsr_status dcsr_i_stored_restore(dcsr_matrix **matrix, const char *call, dcsr_context *context,
                                  dcsr_i_stored *stored, const dcsr_matrix_options *options)
{
    dcsr_matrix_options own = options_of(&stored->version.record);
    dcsr_status status = (context->device == DCSR_DEVICE_CPU ? restore_host : restore_device)(
        matrix, call, context, stored, options ? options : &own);
    if (status == DCSR_OK && stored->version.record.flags & DCSR_I_VERSION_TAGGED)
        dcsr_i_matrix_tag(*matrix, &stored->version.record.tag);
    free_chunks(stored);
    return status;
}

dcsr_status dcsr_store_restore(dcsr_matrix **matrix, dcsr_context *context, dcsr_store *store,
                               const char *name, uint64_t version, const dcsr_matrix_options *options)
{
    if (!matrix) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_store_restore: matrix is NULL");
    *matrix = NULL;
    DCSR_TRY(dcsr_i_context_check(context));
    DCSR_TRY(dcsr_i_store_check("dcsr_store_restore", store, false));
    DCSR_TRY(dcsr_i_store_check_name("dcsr_store_restore", name));
    dcsr_i_stored stored;
    DCSR_TRY(dcsr_i_stored_open(&stored, store, name, version));
    dcsr_status status = dcsr_i_stored_restore(matrix, "dcsr_store_restore", context, &stored, options);
    dcsr_i_stored_close(&stored);
    return status;
}
