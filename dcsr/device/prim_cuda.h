/* prim_cuda.h: sorting, scanning and combining whole arrays on a device (internal; for C and for kernels'
 * files).
 *
 * Each puts its work on the stream and returns; results are there for later work on the same stream. All
 * arrays are device memory. What they need besides is taken from the device for as long as the work lasts,
 * and lack of it is the only failure: OUT_OF_MEMORY, with nothing on the stream. Anything else is noted
 * (dcsr_i_cuda_note) and told by the next wait. */
#ifndef DCSR_PRIM_CUDA_H
#define DCSR_PRIM_CUDA_H

#include "dcsr/base/cuda.h"
#include <dcsr/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sorts n keys by their bits [low_bit, high_bit), stably, and with them a payload of 64 bits each (payload
 * and payload_spare NULL: none). The spare arrays are as long as the others and are overwritten; on return
 * *keys and *payload are the sorted arrays, which may have changed places with the spare ones. */
dcsr_status dcsr_i_cuda_sort(dcsr_i_cuda_stream *stream, uint64_t **keys, uint64_t **keys_spare,
                             uint64_t **payload, uint64_t **payload_spare, uint64_t n, int low_bit,
                             int high_bit);

/* The same for keys below 2^high_bit and numbers of 32 bits each. */
dcsr_status dcsr_i_cuda_sort_u32(dcsr_i_cuda_stream *stream, uint32_t **keys, uint32_t **keys_spare,
                                 uint32_t **numbers, uint32_t **numbers_spare, uint64_t n, int high_bit);

/* begins[i] = how many of the n keys, which ascend, have a high number (key >> shift) below i, for i = 0 .. count: the
 * offsets of `count` rows. */
void dcsr_i_cuda_find_begins(dcsr_i_cuda_stream *stream, const uint64_t *keys, uint64_t n, int shift,
                             uint64_t count, uint64_t *begins);
/* The same for keys of 32 bits, all of them. */
void dcsr_i_cuda_find_begins_u32(dcsr_i_cuda_stream *stream, const uint32_t *keys, uint64_t n, uint64_t count,
                                 uint64_t *begins);

/* out[i] = in[0] + ... + in[i - 1] for i = 0 .. n: out has n + 1 places, and out[n] is the total. */
dcsr_status dcsr_i_cuda_scan_u32(dcsr_i_cuda_stream *stream, const uint32_t *in, uint64_t *out, uint64_t n);
/* The same for 64 bits; out may be in, which then needs n + 1 places. */
dcsr_status dcsr_i_cuda_scan_u64(dcsr_i_cuda_stream *stream, const uint64_t *in, uint64_t *out, uint64_t n);

/* out[i], for i = 0 .. n: how many runs of equal keys[j] >> low begin at j < i, in its low half, and of equal
 * keys[j] >> high in its high half. Of the n keys the first *count are looked at, with count in device memory
 * and NULL for all. */
dcsr_status dcsr_i_cuda_scan_runs(dcsr_i_cuda_stream *stream, const uint64_t *keys, const uint64_t *count,
                                  uint64_t n, int low, int high, uint64_t *out);

/* Entries: keys, and words (NULL: none). A word is the bytes of a value of the type, then zeros. */
typedef struct dcsr_i_cuda_keyed {
    const uint64_t *keys, *words;
    uint64_t n;
    dcsr_type type;
} dcsr_i_cuda_keyed;

/* Runs of equal neighbouring keys become one entry each: keys_out[j] is the j-th run's key and words_out[j]
 * the fold of its words, in their order, with the policy (combine.cuh; neither DEFAULT nor KEEP). Both outputs
 * have room for n entries and do not overlap the inputs; words_out is NULL where there are none. *count, in
 * device memory, gets the number of runs. How the words of a run are grouped is not fixed, so that
 * floating-point sums agree from call to call only up to rounding. */
dcsr_status dcsr_i_cuda_combine(dcsr_i_cuda_stream *stream, const dcsr_i_cuda_keyed *entries,
                                dcsr_policy policy, uint64_t *keys_out, uint64_t *words_out, uint64_t *count);

#ifdef __cplusplus
}
#endif
#endif
