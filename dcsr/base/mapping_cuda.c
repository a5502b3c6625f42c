/* mapping_cuda.c: memory on a device for address space that gets it unit by unit. */
#include "dcsr/base/cuda.h"
#include "dcsr/base/mapping.h"
#include "dcsr/base/runtime.h"

/* Measured on an H200: mapping a piece takes some 50 us, be it 2 MiB or 256. So a matrix begins small, and
 * one that grows by gigabytes does not wait for its memory. */
#ifdef DCSR_SIMT
enum { SMALL_UNITS = 8, LARGE_UNIT = 4, MOST_UNITS = 10 };
#else
enum { SMALL_UNITS = 16, LARGE_UNIT = 16, MOST_UNITS = 128 };
#endif

static dcsr_status reserve(dcsr_i_mapping *mapping)
{
    mapping->unit = dcsr_i_round_up(mapping->unit, dcsr_i_cuda_granularity(mapping->context->cuda));
    mapping->small = SMALL_UNITS * mapping->unit;
    mapping->large_unit = LARGE_UNIT * mapping->unit;
    mapping->most_piece = MOST_UNITS * mapping->unit;
    if (mapping->length <= mapping->small)
        mapping->length = dcsr_i_round_up(mapping->length, mapping->unit);
    else
        mapping->length =
            mapping->small + dcsr_i_round_up(mapping->length - mapping->small, mapping->large_unit);
    mapping->reserved = mapping->length;
    mapping->start = mapping->base = dcsr_i_cuda_reserve(mapping->context->cuda, mapping->reserved);
    return mapping->base ? DCSR_OK : dcsr_i_no_memory();
}

static void unreserve(dcsr_i_mapping *mapping)
{
    dcsr_i_cuda_unreserve(mapping->context->cuda, mapping->base, mapping->reserved);
}

static dcsr_status add(dcsr_i_mapping *mapping, uint64_t begin, uint64_t bytes)
{
    return dcsr_i_cuda_map(mapping->context->cuda, mapping->start + begin, bytes);
}

static void drop(dcsr_i_mapping *mapping, uint64_t begin, uint64_t bytes)
{
    dcsr_i_cuda_unmap(mapping->context->cuda, mapping->start + begin, bytes);
}

const dcsr_i_mapping_kind dcsr_i_mapping_on_device = {.reserve = reserve,
                                                      .unreserve = unreserve,
                                                      .add = add,
                                                      .drop = drop,
#ifdef DCSR_SIMT
                                                      .of_host = true
#endif
};
