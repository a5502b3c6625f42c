/* records.c: keys, checksums, and whether records say what can be. */
#include "persist/records.h"
#include <string.h>
#include <xxhash.h>

dcsr_i_numbers dcsr_i_numbers_key(uint32_t matrix, uint64_t thing)
{
    uint32_t first = __builtin_bswap32(matrix);
    uint64_t second = __builtin_bswap64(thing);
    dcsr_i_numbers key;
    memcpy(key.bytes, &first, sizeof first);
    memcpy(key.bytes + sizeof first, &second, sizeof second);
    return key;
}

bool dcsr_i_numbers_read(const void *key, size_t size, uint32_t *matrix, uint64_t *thing)
{
    if (size != sizeof(dcsr_i_numbers)) return false;
    memcpy(matrix, key, sizeof *matrix);
    memcpy(thing, (const char *)key + sizeof *matrix, sizeof *thing);
    *matrix = __builtin_bswap32(*matrix);
    *thing = __builtin_bswap64(*thing);
    return true;
}

uint64_t dcsr_i_checksum(const void *data, size_t size)
{
    return XXH64(data, size, 0);
}

static uint64_t checksum_with_key(const void *record, size_t size, const void *key, size_t key_size)
{
    return XXH64(record, size, XXH64(key, key_size, 0));
}

void dcsr_i_seal(void *record, size_t size, const void *key, size_t key_size)
{
    uint64_t checksum = checksum_with_key(record, size - sizeof checksum, key, key_size);
    memcpy((char *)record + size - sizeof checksum, &checksum, sizeof checksum);
}

bool dcsr_i_is_sealed(const void *record, size_t size, const void *key, size_t key_size)
{
    uint64_t checksum;
    if (size < sizeof checksum) return false;
    memcpy(&checksum, (const char *)record + size - sizeof checksum, sizeof checksum);
    return checksum == checksum_with_key(record, size - sizeof checksum, key, key_size);
}

dcsr_i_chunk_layout dcsr_i_chunk_layout_of(uint64_t rows, uint64_t entries, size_t value_size)
{
    dcsr_i_chunk_layout layout = {.columns = (rows + 1) * sizeof(uint64_t)};
    layout.values = (layout.columns + entries * sizeof(uint32_t) + 7) & ~(uint64_t)7;
    layout.bytes =
        value_size ? layout.values + entries * value_size : layout.columns + entries * sizeof(uint32_t);
    return layout;
}

void dcsr_i_matrix_record_tag(dcsr_i_matrix_record *record, const dcsr_tag *tag)
{
    record->more.flags = tag ? DCSR_I_MATRIX_TAGGED : 0;
    record->more.tag = tag ? *tag : (dcsr_tag){0};
}

static const char *wrong_chunks(const dcsr_i_version_record *version, const dcsr_i_chunk *chunks)
{
    uint64_t row = 0, entries = 0;
    bool goes_on = false;
    for (uint64_t c = 0; c < version->chunks; c++) {
        const dcsr_i_chunk *chunk = &chunks[c];
        if (chunk->first_row != row || !chunk->rows || chunk->rows > version->rows - row)
            return "its chunks do not follow one another";
        if (chunk->entries > version->nnz - entries) return "its chunks have more entries than it has";
        if ((goes_on || chunk->flags & DCSR_I_ROW_GOES_ON) && chunk->rows != 1)
            return "a row that has chunks of its own shares one";
        goes_on = chunk->flags & DCSR_I_ROW_GOES_ON;
        entries += chunk->entries;
        if (!goes_on) row += chunk->rows;
    }
    if (row != version->rows || goes_on) return "its chunks do not cover all rows";
    return entries == version->nnz ? NULL : "its chunks have fewer entries than it has";
}

bool dcsr_i_version_is_wrong(const dcsr_i_version_record *version, const dcsr_i_chunk *chunks,
                             const char **why)
{
    *why = version->rows > DCSR_MAX_ROWS || version->cols > DCSR_MAX_COLS ? "it is too large for a matrix"
           : version->type >= DCSR_TYPE_COUNT                             ? "its type is unknown"
           : version->policy == DCSR_POLICY_DEFAULT || version->policy >= DCSR_POLICY_COUNT
               ? "its policy is unknown"
           : version->slack > DCSR_I_SLACK_UNIT + 1 ? "its slack is larger than a row"
           : version->segments < DCSR_MIN_SEGMENTS || version->segments > DCSR_MAX_SEGMENTS
               ? "the segments of a row are too few or too many"
           : version->nnz >> 48 ? "it has more entries than there can be"
                                : wrong_chunks(version, chunks);
    return *why != NULL;
}
