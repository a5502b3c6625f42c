/* scratch_cuda.c: temporary memory of a change on a device. */
#include "dcsr/device/scratch_cuda.h"
#include <assert.h>

#ifdef DCSR_SIMT
enum { LEAST_BLOCK = 1, ALIGNMENT = 1, SHARED_BLOCKS = 0 };
#else
enum { LEAST_BLOCK = 1 << 16, ALIGNMENT = 256, SHARED_BLOCKS = 1 };
#endif

static dcsr_status add_block(dcsr_i_cuda_scratch *scratch, size_t bytes)
{
    if (bytes < LEAST_BLOCK) bytes = LEAST_BLOCK;
    char *memory = dcsr_i_cuda_alloc(scratch->stream, DCSR_I_SCRATCH, bytes, 1);
    assert(scratch->blocks < DCSR_CUDA_SCRATCH_BLOCKS);
    if (!memory) return dcsr_i_no_memory();
    scratch->block[scratch->blocks].memory = memory;
    scratch->block[scratch->blocks++].bytes = bytes;
    scratch->room = memory;
    scratch->room_bytes = bytes;
    return DCSR_OK;
}

dcsr_status dcsr_i_cuda_scratch_expect(dcsr_i_cuda_scratch *scratch, size_t bytes, int arrays)
{
    /* The end of each array may take a step of ALIGNMENT, and so may one more item. */
    bytes += (size_t)2 * (size_t)arrays * ALIGNMENT;
    return !SHARED_BLOCKS || bytes <= scratch->room_bytes ? DCSR_OK : add_block(scratch, bytes);
}

void *dcsr_i_cuda_scratch_take(dcsr_i_cuda_scratch *scratch, uint64_t count, size_t size)
{
    size_t bytes = (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!bytes) bytes = ALIGNMENT;
    if (bytes > scratch->room_bytes && add_block(scratch, bytes) != DCSR_OK) return NULL;
    void *memory = scratch->room;
    scratch->room += bytes;
    scratch->room_bytes -= bytes;
    return memory;
}

void dcsr_i_cuda_scratch_drop(dcsr_i_cuda_scratch *scratch)
{
    while (scratch->blocks) {
        scratch->blocks--;
        dcsr_i_cuda_free(scratch->stream, DCSR_I_SCRATCH, scratch->block[scratch->blocks].memory,
                         scratch->block[scratch->blocks].bytes, 1);
    }
}
