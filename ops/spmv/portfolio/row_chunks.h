/* row_chunks.h: formats that are made of chunks of rows, each by itself (internal).
 *
 *      format   chunk 0 | chunk 1 | ...        rows 0 .. R-1, R .. 2 R - 1, ...: one block of memory each
 *
 * A kernel says how many bytes the chunk of some rows takes, and fills it; what is here reads the rows, shares chunks
 * out among threads, and brings those up to date in which rows have changed. A chunk is the unit of work of products,
 * too: its rows of y are written by one thread. */
#ifndef DCSR_SPMV_CHUNKS_H
#define DCSR_SPMV_CHUNKS_H

#include "ops/spmv/portfolio/portfolio.h"

/* The rows of a chunk, read: row first + r has entries begin[r] .. begin[r + 1] - 1, ascending unless the row is long
 * and was not in order. */
typedef struct dcsr_i_spmv_chunk {
    uint64_t first, rows;
    uint64_t *begin;
    uint32_t *columns;
    char *values; /* NULL for pattern */
    size_t size;  /* of a value */
    dcsr_type type;
    void *work;         /* memory of the kernel's, as it asked for */
    const void *common; /* what all chunks share; NULL: nothing */
} dcsr_i_spmv_chunk;

typedef struct dcsr_i_spmv_chunked {
    uint64_t rows;                 /* of each chunk but the last */
    uint64_t work_row, work_entry; /* bytes of `work` for each row and entry of a chunk */
    uint64_t (*measure)(const dcsr_i_spmv_chunk *chunk);
    /* `memory` has what measure() said of the same chunk just before, whose `work` is as it left it. */
    void (*fill)(void *memory, const dcsr_i_spmv_chunk *chunk);
} dcsr_i_spmv_chunked;

/* The format of a matrix. */
typedef struct dcsr_i_spmv_chunks {
    uint64_t count;
    uint64_t *bytes;
    void **chunk;
} dcsr_i_spmv_chunks;

const char *dcsr_i_spmv_refuses_sparse_lines(const dcsr_i_spmv_matrix *A);
/* Of a kernel's calls of these names; `common` goes to each chunk. */
dcsr_status dcsr_i_spmv_chunks_measure(uint64_t *bytes, const dcsr_i_spmv_chunked *kernel,
                                       const dcsr_i_spmv_matrix *A, const void *common);
dcsr_status dcsr_i_spmv_chunks_build(dcsr_i_spmv_chunks **chunks, const dcsr_i_spmv_chunked *kernel,
                                     const dcsr_i_spmv_matrix *A, const void *common);
/* *bytes is what it takes then. */
dcsr_status dcsr_i_spmv_chunks_refresh(dcsr_i_spmv_chunks *chunks, uint64_t *bytes,
                                       const dcsr_i_spmv_chunked *kernel, const dcsr_i_spmv_matrix *A,
                                       const void *common, const dcsr_i_changed_rows *changed);
/* NULL does nothing. */
void dcsr_i_spmv_chunks_discard(dcsr_i_spmv_chunks *chunks, const dcsr_i_spmv_matrix *A);

/* A kernel's calls where all that its chunks share is constant. */
#define DCSR_I_SPMV_CHUNKED_CALLS(name, kernel, common)                                  \
    static dcsr_status measure_##name(uint64_t *bytes, const dcsr_i_spmv_matrix *A)      \
    {                                                                                    \
        return dcsr_i_spmv_chunks_measure(bytes, kernel, A, common);                     \
    }                                                                                    \
    static dcsr_status build_##name(void **format, const dcsr_i_spmv_matrix *A)          \
    {                                                                                    \
        dcsr_i_spmv_chunks *chunks;                                                      \
        const dcsr_status status = dcsr_i_spmv_chunks_build(&chunks, kernel, A, common); \
        *format = chunks;                                                                \
        return status;                                                                   \
    }                                                                                    \
    static void discard_##name(void *format, const dcsr_i_spmv_matrix *A)                \
    {                                                                                    \
        dcsr_i_spmv_chunks_discard(format, A);                                           \
    } /* Likewise, where what all chunks share is that of the version before. */
#define DCSR_I_SPMV_CHUNKED_REFRESH(name, kernel, common)                                        \
    static dcsr_status refresh_##name(void **format, bool *done, uint64_t *bytes,                \
                                      const dcsr_i_spmv_matrix *A, dcsr_i_changed_rows *changed) \
    {                                                                                            \
        *done = true;                                                                            \
        return dcsr_i_spmv_chunks_refresh(*format, bytes, kernel, A, common, changed);           \
    }
#endif
