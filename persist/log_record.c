/* log_record.c: batches as records of the log, and back.
 *
 * A batch of more than a megabyte goes into several records, each but the last with DCSR_I_BATCH_GOES_ON.
 * They are written by one transaction and replayed as the one batch that they were, so that sums of
 * floating-point numbers come out the same to the last bit. */
#include "persist/durable.h"
#include "dcsr/base/alloc.h"
#include "dcsr/store/store.h"
#include <string.h>

static size_t rounded_up(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

/* Bytes of the values of one entry. */
static size_t value_size(const dcsr_i_log_record *record)
{
    return record->kind == DCSR_I_LOG_INSERT ? dcsr_type_size((dcsr_type)record->type) : 0;
}

size_t dcsr_i_log_record_size(const dcsr_i_log_record *record)
{
    return rounded_up(sizeof *record + record->entries * (sizeof(uint64_t) + value_size(record))) +
           sizeof(uint64_t);
}

/* ---- Packing ---- */

/* Entries of a full record. LMDB puts a header of 16 bytes before it, and rounds up to pages. */
static uint64_t entries_a_record(size_t size)
{
    enum { PAGE_HEADER = 16 };
    size_t room = DCSR_I_LOG_RECORD_BYTES - PAGE_HEADER - sizeof(dcsr_i_log_record) - sizeof(uint64_t);
    return (room - 7) / (sizeof(uint64_t) + size);
}

/* Values of `size` bytes that lie in words of their own, two words apart. */
static void pack_values(char *to, const uint64_t *words, uint64_t n, size_t size)
{
    switch (size) {
    case 1:
        for (uint64_t i = 0; i < n; i++) to[i] = (char)words[2 * i];
        break;
    case 2:
        for (uint64_t i = 0; i < n; i++) memcpy(to + 2 * i, &words[2 * i], 2);
        break;
    case 4:
        for (uint64_t i = 0; i < n; i++) memcpy(to + 4 * i, &words[2 * i], 4);
        break;
    default:
        for (uint64_t i = 0; i < n; i++) memcpy(to + 8 * i, &words[2 * i], 8);
    }
}

/* Writes entries [first, first + record->entries) of the batch as a record. */
static void pack_record(char *to, const dcsr_i_log_record *record, const dcsr_i_packed *batch, uint64_t first)
{
    uint64_t n = record->entries;
    size_t size = value_size(record), apart = dcsr_i_size_apart(batch),
           bytes = dcsr_i_log_record_size(record);
    memset(to + bytes - 2 * sizeof(uint64_t), 0, 2 * sizeof(uint64_t));
    memcpy(to, record, sizeof *record);
    if (!n) return;
    uint64_t *keys = (uint64_t *)(to + sizeof *record);
    const uint64_t *entries = dcsr_i_key(batch, first);
    char *values = (char *)(keys + n);
    if (batch->stride == 1)
        memcpy(keys, entries, n * sizeof *keys);
    else
        for (uint64_t i = 0; i < n; i++) keys[i] = entries[2 * i];
    if (apart)
        memcpy(values, dcsr_i_values(batch) + first * apart, n * apart);
    else if (size)
        pack_values(values, entries + 1, n, size);
}

void dcsr_i_log_pack(dcsr_i_operation *operation, const dcsr_matrix *matrix)
{
    bool resize = operation->kind == DCSR_I_RESIZE;
    dcsr_i_log_record whole = {.kind = resize                             ? DCSR_I_LOG_RESIZE
                                       : operation->kind == DCSR_I_INSERT ? DCSR_I_LOG_INSERT
                                                                          : DCSR_I_LOG_REMOVE,
                               .column_bits = (uint32_t)operation->batch.column_bits,
                               .rows = resize ? operation->resize.rows : matrix->versions.current->rows,
                               .cols = resize ? operation->resize.cols : matrix->versions.current->cols,
                               .type = (uint32_t)matrix->type};
    uint64_t n = resize ? 0 : operation->batch.n, most = entries_a_record(value_size(&whole));
    uint64_t records = n ? (n + most - 1) / most : 1;
    dcsr_i_log_record full = whole, last = whole;
    full.entries = most;
    full.flags = DCSR_I_BATCH_GOES_ON;
    last.entries = n - (records - 1) * most;
    size_t full_bytes = dcsr_i_log_record_size(&full);
    operation->journal.bytes = (records - 1) * full_bytes + dcsr_i_log_record_size(&last);
    operation->journal.record = dcsr_i_alloc(operation->context, DCSR_I_SCRATCH, operation->journal.bytes, 1);
    if (!operation->journal.record) return;
    int threads = dcsr_i_threads(operation->context, n);
#pragma omp parallel for num_threads(threads) if (threads > 1 && records > 1)
    for (uint64_t r = 0; r < records; r++)
        pack_record((char *)operation->journal.record + r * full_bytes, r + 1 < records ? &full : &last,
                    &operation->batch, r * most);
}

/* ---- Reading ---- */

bool dcsr_i_log_record_is_wrong(dcsr_i_log_record *record, const void *data, size_t size, uint32_t matrix,
                                uint64_t position, const char **why)
{
    static const uint32_t most_bits = 31;
    dcsr_i_numbers key = dcsr_i_numbers_key(matrix, position);
    if (size < sizeof *record + sizeof(uint64_t) || size % 8 ||
        !dcsr_i_is_sealed(data, size, &key, sizeof key)) {
        *why = "its checksum is wrong";
        return true;
    }
    memcpy(record, data, sizeof *record);
    *why = NULL;
    if (record->position != position)
        *why = "its position is not that of its key";
    else if (record->kind < DCSR_I_LOG_INSERT || record->kind > DCSR_I_LOG_RESIZE)
        *why = "it is of no kind that there is";
    else if (record->type >= DCSR_TYPE_COUNT)
        *why = "its type is none";
    else if (record->rows > DCSR_MAX_ROWS || record->cols > DCSR_MAX_COLS || record->column_bits > most_bits)
        *why = "its dimensions are beyond the largest matrix";
    else if (record->entries > size / sizeof(uint64_t) || dcsr_i_log_record_size(record) != size)
        *why = "it has room for another number of entries than it says";
    else if (record->kind == DCSR_I_LOG_RESIZE && (record->entries || record->flags))
        *why = "it has entries, and changes the dimensions";
    return *why != NULL;
}

bool dcsr_i_log_unpack(dcsr_i_operation *operation, const dcsr_i_log_record *record, const void *data)
{
    dcsr_i_packed *batch = &operation->batch;
    uint64_t n = record->entries, mask = ((uint64_t)1 << record->column_bits) - 1;
    size_t size = value_size(record), apart = dcsr_i_size_apart(batch), stride = (size_t)batch->stride;
    const char *keys = (const char *)data + sizeof *record, *values = keys + n * sizeof(uint64_t);
    uint64_t *to = batch->entries + batch->n * stride;
    uint64_t before = batch->n ? to[-(ptrdiff_t)stride] : 0, rows = record->rows, cols = record->cols;
    bool ascending = batch->ascending, within = true;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t key;
        memcpy(&key, keys + i * sizeof key, sizeof key);
        uint64_t row = key >> record->column_bits, col = key & mask;
        within &= row < rows && col < cols;
        key = row << batch->column_bits | col;
        if ((i || batch->n) && key <= before) ascending = false;
        to[i * stride] = before = key;
        if (stride > 1) {
            to[i * stride + 1] = 0;
            memcpy(&to[i * stride + 1], values + i * size, size);
        }
    }
    if (apart) memcpy(dcsr_i_values(batch) + batch->n * apart, values, n * apart);
    batch->ascending = ascending;
    batch->n += n;
    return within;
}
