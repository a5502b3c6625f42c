/* entries.c: the entries that a call gives to a matrix: checking and packing them. */
#include "dcsr/store/entries.h"
#include "dcsr/store/store.h"

/* The least room that an operation gets: small batches will join it. */
enum { LEAST_CAPACITY = 64 };

/* Of a slice: the fewest entries that are worth a kernel of their own on a device, and the most bytes. Launching one
 * takes some 10 microseconds; what is packed more at a time leaves the core's cache before the device has read it. */
#ifdef DCSR_SIMT
enum { LEAST_SLICE = 64, MOST_SLICE_BYTES = 2048 };
#else
enum { LEAST_SLICE = 1 << 14, MOST_SLICE_BYTES = 1 << 20 };
#endif

/* ---- Checking ---- */

/* In pairs: of one matrix, and of one on several devices. */
const char *dcsr_i_entries_counterpart(const dcsr_i_entries *e)
{
    static const char *const calls[2][2][2] = {
        {{"dcsr_matrix_insert_device", "dcsr_matrix_insert"},
         {"dcsr_multi_matrix_insert_device", "dcsr_multi_matrix_insert"}},
        {{"dcsr_matrix_remove_device", "dcsr_matrix_remove"},
         {"dcsr_multi_matrix_remove_device", "dcsr_multi_matrix_remove"}}};
    const bool several = !strncmp(e->call, "dcsr_multi_", sizeof "dcsr_multi_" - 1);
    return calls[e->kind != DCSR_I_INSERT][several][e->on_device];
}

dcsr_status dcsr_i_check_arrays(const dcsr_matrix *matrix, const dcsr_i_entries *e)
{
    (void)matrix;
    if (!e->on_device) return DCSR_OK;
    if (!dcsr_i_gpu_is_built())
        return dcsr_i_fail(
            DCSR_ERROR_NOT_BUILT,
            "%s: this library was not built with CUDA; use the function for arrays in the memory of the host",
            e->call);
    return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                       "%s: the matrix is on the cpu; call %s with arrays in the memory of the host, or "
                       "create the context with DCSR_DEVICE_CUDA",
                       e->call, dcsr_i_entries_counterpart(e));
}

dcsr_status dcsr_i_entries_check_arrays(dcsr_type type, const dcsr_i_entries *e)
{
    if (e->n && e->kind == DCSR_I_INSERT && !e->values != !dcsr_type_size(type))
        return dcsr_i_fail(DCSR_ERROR_TYPE_MISMATCH,
                           e->values ? "%s: values given to a pattern-only matrix; pass NULL"
                                     : "%s: a matrix of %s needs values, and none were given",
                           e->call, dcsr_type_name(type));
    if (e->n && (!e->rows || !e->cols))
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", e->call, e->rows ? "cols" : "rows");
    return DCSR_OK;
}

dcsr_status dcsr_i_entries_check(const dcsr_matrix *matrix, const dcsr_i_entries *e)
{
    DCSR_TRY(dcsr_i_matrix_check(matrix));
    DCSR_TRY(dcsr_i_entries_check_arrays(matrix->type, e));
    if (e->n > matrix->engine->most_entries)
        return dcsr_i_fail(DCSR_ERROR_TOO_LARGE, "%s: a batch of %zu entries; split it", e->call, e->n);
    return matrix->engine->check_arrays(matrix, e);
}

dcsr_status dcsr_i_fail_outside(const char *call, uint64_t i, uint64_t n, uint64_t row, uint64_t col,
                                uint64_t rows, uint64_t cols)
{
    return dcsr_i_fail(
        DCSR_ERROR_INDEX_OUT_OF_RANGE,
        "%s: entry %llu of %llu is (%llu, %llu), outside the %llu x %llu matrix; nothing of the batch was "
        "applied; resize the matrix or leave the entry out",
        call, (unsigned long long)i, (unsigned long long)n, (unsigned long long)row, (unsigned long long)col,
        (unsigned long long)rows, (unsigned long long)cols);
}

dcsr_status dcsr_i_fail_outside_now(uint64_t i, uint64_t row, uint64_t col, uint64_t rows, uint64_t cols)
{
    return dcsr_i_fail(DCSR_ERROR_INDEX_OUT_OF_RANGE,
                       "a batch with entry %llu at (%llu, %llu) was not applied: the resize before it failed "
                       "and the matrix is still %llu x %llu; resize it and insert the batch again",
                       (unsigned long long)i, (unsigned long long)row, (unsigned long long)col,
                       (unsigned long long)rows, (unsigned long long)cols);
}

dcsr_status dcsr_i_entries_fail(const dcsr_i_packed *batch, const dcsr_i_entries *e)
{
    size_t i = 0;
    while (i + 1 < e->n && e->rows[i] < batch->rows && e->cols[i] < batch->cols) i++;
    return dcsr_i_fail_outside(e->call, i, e->n, e->rows[i], e->cols[i], batch->rows, batch->cols);
}

/* ---- Packing ---- */

uint64_t dcsr_i_entries_slice(uint64_t n, int threads, size_t bytes)
{
    /* Two for each thread, so that a device reads the first while the second is packed; multiples of 64, so that values
     * of any size stay aligned. */
    const uint64_t share = (n / (2 * (uint64_t)threads) + 64) / 64 * 64,
                   most = MOST_SLICE_BYTES / bytes / 64 * 64;
    return share < LEAST_SLICE ? LEAST_SLICE : share > most ? most : share;
}

/* The keys of entries first to end - 1 to every stride-th place. */
static unsigned pack_keys(uint64_t *keys, size_t stride, const dcsr_i_packed *batch, const dcsr_i_entries *e,
                          size_t first, size_t end)
{
    const uint64_t *rows = e->rows, *cols = e->cols, most_rows = batch->rows, most_cols = batch->cols;
    const int bits = batch->column_bits;
    uint64_t outside = 0, descends = 0;
    for (size_t i = first; i < end; i++) {
        outside |= (rows[i] >= most_rows) | (cols[i] >= most_cols);
        keys[(i - first) * stride] = rows[i] << bits | cols[i];
    }
    for (size_t i = first ? first : 1; i < end && !descends; i++)
        descends = (rows[i] << bits | cols[i]) <= (rows[i - 1] << bits | cols[i - 1]);
    return (outside ? DCSR_I_OUTSIDE : 0) | (descends ? DCSR_I_DESCENDS : 0);
}

/* The bytes of each value, then zeros, to every second place. */
static void pack_words(uint64_t *words, size_t size, const char *values, size_t n)
{
    switch (size) {
    case 1:
        for (size_t i = 0; i < n; i++) words[2 * i] = ((const uint8_t *)values)[i];
        break;
    case 2:
        for (size_t i = 0; i < n; i++) words[2 * i] = ((const uint16_t *)values)[i];
        break;
    case 4:
        for (size_t i = 0; i < n; i++) words[2 * i] = ((const uint32_t *)values)[i];
        break;
    default:
        for (size_t i = 0; i < n; i++) words[2 * i] = ((const uint64_t *)values)[i];
    }
}

unsigned dcsr_i_entries_pack_slice(uint64_t *keys, char *values, const dcsr_i_packed *batch,
                                   const dcsr_i_entries *e, size_t first, size_t end)
{
    const size_t size = batch->value_size;
    const char *from = size ? (const char *)e->values + first * size : NULL;
    if (batch->stride == 1) {
        if (size) memcpy(values, from, (end - first) * size);
        return pack_keys(keys, 1, batch, e, first, end);
    }
    pack_words(keys + 1, size, from, end - first);
    return pack_keys(keys, 2, batch, e, first, end);
}

int dcsr_i_entries_threads(const dcsr_context *context, uint64_t n)
{
    const int threads = dcsr_i_threads(context, n), most = (context->threads + 1) / 2;
    return threads < most ? threads : most;
}

dcsr_status dcsr_i_entries_pack(dcsr_i_operation *operation, const dcsr_i_entries *e, int threads)
{
    dcsr_i_packed *batch = &operation->batch;
    if (!batch->entries)
        DCSR_TRY(dcsr_i_entries_room(operation, e->n > LEAST_CAPACITY ? e->n : LEAST_CAPACITY));
    const uint64_t stride = (uint64_t)batch->stride,
                   piece = dcsr_i_entries_slice(e->n, threads, batch->entry_bytes);
    uint64_t *to = batch->entries + batch->n * stride;
    size_t apart = dcsr_i_size_apart(batch);
    char *values = apart ? dcsr_i_values(batch) + batch->n * apart : NULL;
    unsigned found = 0;
#pragma omp parallel for num_threads(threads) reduction(| : found) if (threads > 1)
    for (size_t first = 0; first < e->n; first += piece) {
        size_t end = e->n - first < piece ? e->n : first + piece;
        found |= dcsr_i_entries_pack_slice(to + first * stride, values ? values + first * apart : NULL, batch,
                                           e, first, end);
    }
    if (found & DCSR_I_OUTSIDE) return dcsr_i_entries_fail(batch, e);
    if (found & DCSR_I_DESCENDS || (batch->n && e->n && to[0] <= *(to - stride))) batch->ascending = false;
    batch->n += e->n;
    batch->calls++;
    return DCSR_OK;
}

dcsr_status dcsr_i_entries_room(dcsr_i_operation *operation, uint64_t capacity)
{
    dcsr_i_packed *batch = &operation->batch;
    uint64_t *larger = dcsr_i_realloc(operation->context, operation->engine->entries_pool, batch->entries,
                                      batch->capacity, capacity, batch->entry_bytes);
    if (!larger) return DCSR_ERROR_OUT_OF_MEMORY;
    memmove(larger + capacity, larger + batch->capacity, batch->n * dcsr_i_size_apart(batch));
    batch->entries = larger;
    batch->capacity = capacity;
    return DCSR_OK;
}

dcsr_status dcsr_i_entries_operation(dcsr_i_operation **operation, dcsr_matrix *matrix,
                                     const dcsr_i_entries *e, uint64_t rows, uint64_t cols)
{
    dcsr_i_operation *created = dcsr_i_operation_create(matrix, e->kind);
    if (!created) return DCSR_ERROR_OUT_OF_MEMORY;
    dcsr_i_packed *batch = &created->batch;
    batch->value_size = e->kind == DCSR_I_INSERT ? matrix->value_size : 0;
    batch->stride = batch->value_size && !matrix->engine->values_apart ? 2 : 1;
    batch->entry_bytes = (size_t)batch->stride * sizeof *batch->entries + dcsr_i_size_apart(batch);
    batch->rows = rows;
    batch->cols = cols;
    batch->row_bits = dcsr_i_bits_for(rows);
    batch->column_bits = dcsr_i_bits_for(cols);
    batch->ascending = true;
    dcsr_i_operation_tag(created, e->tag);
    if (e->agreement) {
        created->agreement = *e->agreement;
        batch->sealed = true;
    }
    *operation = created;
    return DCSR_OK;
}
