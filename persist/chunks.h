/* chunks.h: into which chunks the rows of a view are cut, and their data (internal). */
#ifndef DCSR_CHUNKS_H
#define DCSR_CHUNKS_H

#include "persist/store_data.h"
#include "dcsr/store/rowtable.h"

/* What is known of a planned chunk. */
typedef enum dcsr_i_chunk_state {
    DCSR_I_CHUNK_NEW,     /* to be written */
    DCSR_I_CHUNK_COMPARE, /* it has the rows and the number of entries of a stored one, whose number, checksum
                             and size it carries: to be written if the checksum is another */
    DCSR_I_CHUNK_STORED   /* it is a stored one; or has no entries, and so no data */
} dcsr_i_chunk_state;

typedef struct dcsr_i_planned {
    dcsr_i_chunk chunk;
    uint64_t skip; /* entries of its one row that the chunks before it have */
    dcsr_i_chunk_state state;
} dcsr_i_planned;

typedef struct dcsr_i_chunk_plan {
    const dcsr_i_rows *rows; /* in host memory */
    size_t value_size;
    uint64_t target; /* bytes that a chunk should have */
    dcsr_i_planned *chunks;
    uint64_t count, capacity;
} dcsr_i_chunk_plan;

/* Cuts the rows: as they were in `base` (NULL: nothing), except where chunks have grown too large or too
 * small. `version` is that of the rows' table in `base`; 0 where it is not known, or of another matrix. Costs
 * O(rows in use), or with a base O(pages of 64 of these) and the rows that may have changed. */
dcsr_status dcsr_i_plan_make(dcsr_i_chunk_plan *plan, const dcsr_i_rows *rows, uint64_t target,
                             const dcsr_i_version *base, uint64_t version);
void dcsr_i_plan_free(dcsr_i_chunk_plan *plan);

/* Bytes of a planned chunk's data; writes it. Any thread. */
uint64_t dcsr_i_planned_bytes(const dcsr_i_chunk_plan *plan, const dcsr_i_planned *planned);
void dcsr_i_planned_fill(const dcsr_i_chunk_plan *plan, const dcsr_i_planned *planned, void *data);

#endif
