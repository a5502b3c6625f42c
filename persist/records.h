/* records.h: the records of a store as they lie on the disk (internal; docs/FORMAT.md says what they mean).
 *
 * The structures are the format: no padding, little-endian machines only. They are copied in and out, as the
 * map aligns small values to two bytes. */
#ifndef DCSR_RECORDS_H
#define DCSR_RECORDS_H

#include "dcsr/store/segment.h"
#include <dcsr/matrix.h>
#include <dcsr/status.h>
#include <assert.h>
#include <stdbool.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the format of a store is that of little-endian machines"
#endif

#define DCSR_I_STORE_MAGIC "dcsr\0st1"
/* A store has the first version of the format until it gets a dictionary or a tag, then the second. */
#define DCSR_I_FIRST_FORMAT 1u
#define DCSR_I_STORE_FORMAT 2u

typedef struct dcsr_i_store_record {
    char magic[8];
    uint32_t format;
    uint32_t compression;
    uint64_t chunk_bytes;
    uint32_t next_matrix;
    uint32_t unused;
    uint64_t checksum;
} dcsr_i_store_record;

/* What a matrix may have besides. */
typedef struct dcsr_i_matrix_more {
    uint32_t dictionary; /* its number, in keys of chunks; 0: there is none */
    uint32_t flags;
    uint64_t names; /* of the dictionary */
    dcsr_tag tag;   /* of the matrix that recovery gives */
} dcsr_i_matrix_more;
enum { DCSR_I_MATRIX_TAGGED = 1 };

typedef struct dcsr_i_matrix_record {
    uint32_t number;
    uint32_t unused;
    uint64_t newest;
    uint64_t next_chunk;
    uint64_t next_position;
    uint64_t created;
    uint64_t named_chunks; /* chunks from this number on are named by no version */
    uint64_t unused2;
    dcsr_i_matrix_more more;
    uint64_t checksum;
} dcsr_i_matrix_record;
/* Without `more`, where all of that is zero. */
enum { DCSR_I_SHORT_MATRIX_RECORD = 64 };

/* Before the names of a record of a dictionary: the length of each in two bytes, their bytes, zeros up to a
 * multiple of eight, and the checksum. */
typedef struct dcsr_i_names_record {
    uint64_t first; /* id */
    uint64_t names, bytes;
    uint64_t flags; /* none yet */
} dcsr_i_names_record;

/* Before the chunks of a version record, which a checksum follows. */
typedef struct dcsr_i_version_record {
    uint64_t version, rows, cols, nnz, created, log_position, chunks, written;
    uint32_t type, policy, segments, flags;
    uint64_t queue_limit;
    dcsr_tag tag;
    uint32_t slack; /* 1 + its share (segment.h); 0: the default one */
    uint8_t unused[12];
    uint64_t stored;
} dcsr_i_version_record;
enum {
    DCSR_I_DEFRAGMENT_ON_DEMAND = 1,
    DCSR_I_REFUSE_WHEN_FULL = 2,
    DCSR_I_MAINTAIN_TRANSPOSE = 4,
    DCSR_I_VERSION_TAGGED = 8,
    DCSR_I_GROW = 16,
    DCSR_I_RESOLVED_ON_INSERT = 32,
    DCSR_I_RESOLVED_ON_READ = 64
};

/* The slack that a version says, as in dcsr_matrix_info. */
static inline double dcsr_i_record_slack(const dcsr_i_version_record *record)
{
    const uint32_t share = record->slack ? record->slack - 1 : DCSR_I_SLACK_DEFAULT;
    return (double)share / DCSR_I_SLACK_UNIT;
}

typedef struct dcsr_i_chunk {
    uint64_t number, first_row, rows, entries;
    uint64_t stored;   /* bytes of the value */
    uint64_t checksum; /* of the data before compression */
    uint32_t flags;
    uint32_t unused;
} dcsr_i_chunk;
enum { DCSR_I_COMPRESSED = 1, DCSR_I_ROW_GOES_ON = 2 };

/* Before the data of a log record, which a checksum follows. */
typedef struct dcsr_i_log_record {
    uint32_t kind, column_bits;
    uint64_t position, rows, cols, entries;
    uint32_t type, flags;
} dcsr_i_log_record;
enum { DCSR_I_LOG_INSERT = 1, DCSR_I_LOG_REMOVE = 2, DCSR_I_LOG_RESIZE = 3 };
enum { DCSR_I_BATCH_GOES_ON = 1 };

static_assert(sizeof(dcsr_i_store_record) == 40, "as in docs/FORMAT.md");
static_assert(sizeof(dcsr_i_matrix_record) == 96, "as in docs/FORMAT.md");
static_assert(sizeof(dcsr_i_names_record) == 32, "as in docs/FORMAT.md");
static_assert(sizeof(dcsr_i_version_record) == 128, "as in docs/FORMAT.md");
static_assert(sizeof(dcsr_i_chunk) == 56, "as in docs/FORMAT.md");
static_assert(sizeof(dcsr_i_log_record) == 48, "as in docs/FORMAT.md");
static_assert(DCSR_FP64 == 11 && DCSR_POLICY_ANY == 6, "the format has these numbers");

/* Keys of versions, chunks and log records: number of the matrix and of the thing, in the order of LMDB. */
typedef struct dcsr_i_numbers {
    uint8_t bytes[12];
} dcsr_i_numbers;
dcsr_i_numbers dcsr_i_numbers_key(uint32_t matrix, uint64_t thing);
/* What a key says; false when it is none of these. */
bool dcsr_i_numbers_read(const void *key, size_t size, uint32_t *matrix, uint64_t *thing);

uint64_t dcsr_i_checksum(const void *data, size_t size);
/* Writes the checksum of the bytes before it into the last eight of a record. It is seeded with the checksum
 * of the key, so that a key that is damaged is found too. */
void dcsr_i_seal(void *record, size_t size, const void *key, size_t key_size);
/* Whether it is there and right. */
bool dcsr_i_is_sealed(const void *record, size_t size, const void *key, size_t key_size);

/* Bytes of the data of a chunk with so many rows and entries; where columns and values begin. Numbers come
 * from records that are sealed and checked against each other, so that nothing overflows. */
typedef struct dcsr_i_chunk_layout {
    uint64_t columns, values, bytes;
} dcsr_i_chunk_layout;
dcsr_i_chunk_layout dcsr_i_chunk_layout_of(uint64_t rows, uint64_t entries, size_t value_size);

/* The tag of a matrix; NULL: it has none. */
void dcsr_i_matrix_record_tag(dcsr_i_matrix_record *record, const dcsr_tag *tag);

/* Whether a record says what cannot be; *why says it then. `chunks` follow the version's record. */
bool dcsr_i_version_is_wrong(const dcsr_i_version_record *version, const dcsr_i_chunk *chunks,
                             const char **why);

#endif
