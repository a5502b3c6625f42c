/* read_cuda.h: reading single entries, rows and measures on a device (internal; for C and for kernels).
 *
 * The arrays that kernels read and write are device memory, unless something else is said. */
#ifndef DCSR_READ_CUDA_H
#define DCSR_READ_CUDA_H

#include "dcsr/base/cuda.h"
#include "dcsr/store/rowtable_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A place that is asked for, and the answer: what stands there. */
typedef struct dcsr_i_cuda_question {
    uint64_t row;
    uint64_t word; /* the value's bytes, then zeros */
    uint32_t column;
    uint32_t stored; /* 0: no */
} dcsr_i_cuda_question;

/* Answers n questions, whose rows and columns are set. The policy may be any but DEFAULT. */
void dcsr_i_cuda_answer(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows, dcsr_policy policy,
                        dcsr_i_cuda_question *questions, uint64_t n);

/* The pieces of a row. */
typedef struct dcsr_i_cuda_pieces {
    uint64_t count;
    uint64_t begin[DCSR_MAX_SEGMENTS], length[DCSR_MAX_SEGMENTS];
} dcsr_i_cuda_pieces;

#ifdef DCSR_SIMT
enum { DCSR_CUDA_READ_ENTRIES = 32 };
#else
enum { DCSR_CUDA_READ_ENTRIES = 1024 };
#endif

/* Where a row is, and its first entries, one behind the other. */
typedef struct dcsr_i_cuda_row {
    dcsr_i_cuda_pieces pieces;
    uint32_t columns[DCSR_CUDA_READ_ENTRIES];
    char values[8 * DCSR_CUDA_READ_ENTRIES];
} dcsr_i_cuda_row;

/* Finds a row and copies up to `entries` of its entries, DCSR_CUDA_READ_ENTRIES at most. `found` may be pinned memory,
 * so that nothing but the launch has to be waited for. */
void dcsr_i_cuda_find_row(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows, uint64_t row,
                          uint64_t entries, dcsr_i_cuda_row *found);

/* Rows are measured in shares of equally many, so that sums are taken in the same order whatever runs. */
enum { DCSR_CUDA_MOST_SHARES = 1024 };

/* What is told of the rows of a share. */
typedef struct dcsr_i_cuda_share {
    uint64_t nnz, rows_in_use, longest, max_segments, unresolved_rows;
    uint64_t below; /* UINT32_MAX less the shortest row that has entries; 0 where there is none */
} dcsr_i_cuda_share;

void dcsr_i_cuda_measure_shares(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows,
                                dcsr_i_cuda_share *share, uint32_t shares);
/* squares[i] = the sum over the rows of share i of (length - mean)^2. */
void dcsr_i_cuda_measure_squares(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_rows *rows, double mean,
                                 double *squares, uint32_t shares);

#ifdef __cplusplus
}
#endif
#endif
