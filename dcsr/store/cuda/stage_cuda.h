/* stage_cuda.h: bringing the entries of operations to the device (internal).
 *
 *      large batches of the host   --> pieces in pinned memory, used again and again --kernels-v
 *      small ones, joined          --> pinned memory (entries.c) --kernel--> keys and words on the device
 *      arrays on the device        --kernel, in the order of the caller's stream-------^
 *      a quarter of a million in such, if ready                         read when they are applied
 *
 * Large batches are brought by the call itself, whose threads pack a piece while others are on their way;
 * joined ones go over the link while the operation before is being applied. Calls that take device arrays do
 * not wait for anything; what is wrong with the entries is found out when they are applied. */
#ifndef DCSR_STAGE_CUDA_H
#define DCSR_STAGE_CUDA_H

#include "dcsr/base/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most of a batch, which are counted in 32 bits. */
#define DCSR_CUDA_MOST_ENTRIES ((uint64_t)UINT32_MAX - 1)

/* Of entries in arrays on the device that are ready, so many are applied by the call: what that saves - a launch, a
 * wait, and the way to the worker and back, some 60 us - is little beside what more of them take. */
#ifdef DCSR_SIMT
enum { DCSR_CUDA_MOST_READY = 300 };
#else
enum { DCSR_CUDA_MOST_READY = 1 << 18 };
#endif

/* What a caller has on the device. */
typedef struct dcsr_i_cuda_arrays {
    const uint64_t *rows, *cols;
    const void *values; /* NULL: none */
    uint64_t n;
    uint32_t value_size;
} dcsr_i_cuda_arrays;

/* What the device finds in a batch: all bits set to begin with. */
typedef struct dcsr_i_cuda_verdict {
    uint64_t outside;  /* the first entry out of range; UINT64_MAX: none */
    uint64_t row, col; /* where that one is */
    uint64_t ascends;  /* 0: the keys do not ascend strictly */
    uint32_t done[2];  /* while it is found: how many blocks of threads have, less one */
} dcsr_i_cuda_verdict;

/* What becomes of it: keys and words (NULL: no values), of a matrix of rows x cols; *found is device memory. */
typedef struct dcsr_i_cuda_packing {
    uint64_t rows, cols;
    int column_bits;
    uint64_t *keys, *words;
    dcsr_i_cuda_verdict *found;
} dcsr_i_cuda_packing;

#ifndef __cplusplus
#include "dcsr/store/entries.h"
#include "dcsr/store/store.h"

/* ---- For the calls ---- */

/* Whether the arrays of a call are in the memory, of the host or of the matrix's device, that it reads. */
dcsr_status dcsr_i_cuda_check_arrays(const dcsr_matrix *matrix, const dcsr_i_entries *e);

/* Checks a batch from the host, packs it and brings it to the device, without a lock: all of it is there on
 * return. On failure (INDEX_OUT_OF_RANGE, OUT_OF_MEMORY) nothing is left behind. upload_cuda.c. */
dcsr_status dcsr_i_cuda_stage_entries(dcsr_i_operation *operation, const dcsr_i_entries *e, int threads);
/* Gives back what that has brought. */
void dcsr_i_cuda_drop_staged(dcsr_i_operation *operation);

/* The following with the queue's lock: stage_cuda.c. */

/* Takes what an operation on entries from the device needs, and a stream; nothing for few that are ready, if their
 * caller is to apply them `here`. On failure nothing is left behind. */
dcsr_status dcsr_i_cuda_expect_batch(dcsr_matrix *matrix, dcsr_i_operation *operation,
                                     const dcsr_i_entries *e, bool here);
/* Puts the work that reads the arrays behind what the caller's stream holds; where the operation was not
 * queued, gives back what it took. */
void dcsr_i_cuda_arrive_batch(dcsr_matrix *matrix, dcsr_i_operation *operation, const dcsr_i_entries *e,
                              bool queued);
/* Gives back what the operation has on the device, behind what the stream holds. Nothing else uses it. */
void dcsr_i_cuda_drop_arrival(dcsr_i_cuda_stream *stream, dcsr_i_operation *operation);
/* The same for an operation that will not be applied; the worker has ended. */
void dcsr_i_cuda_cancel_arrival(dcsr_matrix *matrix, dcsr_i_operation *operation);

/* ---- What both ways share: stage_cuda.c ---- */

/* Notes that the operation has n entries, on the device alone. */
void dcsr_i_cuda_expect_entries(dcsr_i_operation *operation, uint64_t n);
/* Takes room for keys and words. On failure nothing is left behind. */
dcsr_status dcsr_i_cuda_take_arrival(dcsr_i_cuda_stream *stream, dcsr_i_operation *operation);

/* ---- For the worker: stage_cuda.c ---- */

/* Sees to it that the operation's entries are there for later work on the worker's stream, and within the
 * matrix as it is now. */
dcsr_status dcsr_i_cuda_bring_arrival(dcsr_matrix *matrix, dcsr_i_operation *operation);
/* Says which entry of the caller's arrays lies outside, for what was found. */
dcsr_status dcsr_i_cuda_fail_outside(const dcsr_i_operation *operation, const dcsr_i_cuda_verdict *found);
/* While the device is busy with the operation: begins to bring the entries of the one behind it. Returns what
 * became of bringing this one's ahead of time. */
dcsr_status dcsr_i_cuda_bring_next(dcsr_matrix *matrix, const dcsr_i_operation *operation);
#endif

/* ---- stage.cu ---- */

/* Writes keys, words and what was found, on the caller's stream; that also to *verdict, in pinned memory. Failures are
 * noted on `stream`. */
void dcsr_i_cuda_pack(dcsr_i_cuda_stream *stream, void *callers_stream, const dcsr_i_cuda_arrays *arrays,
                      const dcsr_i_cuda_packing *packing, dcsr_i_cuda_verdict *verdict);
/* Looks for the first key out of range. */
void dcsr_i_cuda_find_outside(dcsr_i_cuda_stream *stream, const uint64_t *keys, uint64_t n, int column_bits,
                              uint64_t rows, uint64_t cols, dcsr_i_cuda_verdict *found);

#ifdef __cplusplus
}
#endif
#endif
