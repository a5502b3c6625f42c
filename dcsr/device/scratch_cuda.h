/* scratch_cuda.h: temporary memory of a change on a device (internal): arrays are parts of few blocks, as taking one
 * costs as much as a small kernel. In the emulator each is a block of its own, past whose end nothing may be
 * touched. */
#ifndef DCSR_SCRATCH_CUDA_H
#define DCSR_SCRATCH_CUDA_H

#include "dcsr/base/cuda.h"

#ifdef DCSR_SIMT
enum { DCSR_CUDA_SCRATCH_BLOCKS = 64 };
#else
enum { DCSR_CUDA_SCRATCH_BLOCKS = 24 };
#endif

/* All zero but for the stream. */
typedef struct dcsr_i_cuda_scratch {
    dcsr_i_cuda_stream *stream;
    struct {
        char *memory;
        size_t bytes;
    } block[DCSR_CUDA_SCRATCH_BLOCKS];
    int blocks;
    char *room; /* what is left of the last block */
    size_t room_bytes;
} dcsr_i_cuda_scratch;

/* Sees to it that `arrays` arrays, of so many bytes together and one more item each, are of one block.
 * OUT_OF_MEMORY. */
dcsr_status dcsr_i_cuda_scratch_expect(dcsr_i_cuda_scratch *scratch, size_t bytes, int arrays);
/* NULL: there is none. */
void *dcsr_i_cuda_scratch_take(dcsr_i_cuda_scratch *scratch, uint64_t count, size_t size);
/* Gives all of it back, in the order of the stream. */
void dcsr_i_cuda_scratch_drop(dcsr_i_cuda_scratch *scratch);

#endif
