/* gzip.c: zlib on the library's memory.
 *
 * zlib frees a block without its size, which the library's allocator wants: so each block has it in front. */
#include "dcsr/io/gzip.h"
#include "dcsr/base/alloc.h"
#include <string.h>

enum { HEADER = 64 }; /* keeps the block aligned */

static void *take(void *context, unsigned items, unsigned size)
{
    size_t bytes = (size_t)items * size + HEADER;
    char *block = dcsr_i_alloc(context, DCSR_I_SCRATCH, bytes, 1);
    if (!block) return NULL;
    memcpy(block, &bytes, sizeof bytes);
    return block + HEADER;
}

static void give(void *context, void *pointer)
{
    char *block = (char *)pointer - HEADER;
    size_t bytes;
    memcpy(&bytes, block, sizeof bytes);
    dcsr_i_free(context, DCSR_I_SCRATCH, block, bytes, 1);
}

z_stream dcsr_i_gzip_stream(dcsr_context *context)
{
    return (z_stream){.zalloc = take, .zfree = give, .opaque = context};
}
