/* mapping.h: address space that is reserved once and gets memory where it is needed (internal).
 *
 * On the cpu memory comes page by page as it is touched, so that populating only makes pages accessible and
 * counts them; on a device it is mapped:
 *
 *      unit      0       1       2           3               4
 *            +-------+-------+-------+---------------+---------------+- - - - - - - +
 *            | there | there |       |     there     |               |   reserved   |
 *            +-------+-------+-------+---------------+---------------+- - - - - - - +
 *            ^start            start + small^                                ^start + length
 *
 * Memory comes in units, which are counted against the context's limit. On a device they are larger where the
 * mapping is, and neighbouring ones that come at the same time make up a piece, because mapping takes the
 * same time whatever the size; a piece goes as a whole. What is in a unit is kept until it is discarded. The
 * caller sees to it that only one thread at a time is in here for a mapping, and that no work on a device
 * uses what is discarded. */
#ifndef DCSR_MAPPING_H
#define DCSR_MAPPING_H

#include <dcsr/context.h>

/* Of 64 units, a bit each. */
typedef struct dcsr_i_mapping_marks {
    uint64_t there;
    uint64_t begins; /* a piece begins with it; says nothing where it is not there */
} dcsr_i_mapping_marks;

typedef struct dcsr_i_mapping {
    dcsr_context *context;
    const struct dcsr_i_mapping_kind *kind;
    char *start;
    size_t length;           /* bytes from start on that may be populated */
    size_t unit, large_unit; /* bytes of a unit in the first `small` bytes, and behind them */
    size_t small;
    char *base; /* what was reserved, for giving it back */
    size_t reserved;
    size_t most_piece; /* bytes; 0: each unit is a piece */
    size_t accessible; /* cpu: bytes from start on that may be read and written */
    dcsr_i_mapping_marks *marks;
    uint64_t mark_words;
    uint64_t bytes; /* of the units that are there */
} dcsr_i_mapping;

/* What differs between the devices. */
typedef struct dcsr_i_mapping_kind {
    /* Sets start, base, reserved; may enlarge units and length. */
    dcsr_status (*reserve)(dcsr_i_mapping *mapping);
    void (*unreserve)(dcsr_i_mapping *mapping); /* no unit is there any more */
    /* One piece of memory for neighbouring units that have none; and back, from neighbouring pieces. */
    dcsr_status (*add)(dcsr_i_mapping *mapping, uint64_t begin, uint64_t bytes);
    void (*drop)(dcsr_i_mapping *mapping, uint64_t begin, uint64_t bytes);
    bool of_host; /* AddressSanitizer knows the addresses */
} dcsr_i_mapping_kind;
/* mapping_cuda.c, in builds with CUDA. */
extern const dcsr_i_mapping_kind dcsr_i_mapping_on_device;

static inline uint64_t dcsr_i_round_up(uint64_t value, uint64_t step)
{
    return (value + step - 1) / step * step;
}

/* Reserves address space for `length` bytes. Memory is to come in units of `unit` bytes at least, a multiple
 * of the page size (on a device: its own granularity, if that is more). OUT_OF_MEMORY when there is not that
 * much address space. */
dcsr_status dcsr_i_mapping_reserve(dcsr_i_mapping *mapping, dcsr_context *context, size_t length,
                                   size_t unit);
/* The same, halved while there is not that much, down to `least`; with `on_host` in memory of the host, where the
 * context has a device, too. */
dcsr_status dcsr_i_mapping_reserve_some(dcsr_i_mapping *mapping, dcsr_context *context, bool on_host,
                                        size_t length, size_t least, size_t unit);
/* How much address space to ask for, `wanted` at most, so that any number can ask: a 32nd of what is left of 64 TiB,
 * or 256 MiB if that is more; under a limit (ulimit -v) an eighth of what is left of that, or 32 MiB. */
size_t dcsr_i_mapping_share(size_t wanted);
/* How much a matrix of the context asks for: the reserve_bytes that the user gave, or else a share. */
size_t dcsr_i_mapping_share_of(const dcsr_context *context);
/* Counts what is reserved without a mapping; a negative number gives it back. */
void dcsr_i_mapping_count(int64_t bytes);
/* Gives everything back. A zeroed mapping is fine. */
void dcsr_i_mapping_release(dcsr_i_mapping *mapping);

/* Makes [begin, begin + bytes) usable. On failure (OUT_OF_MEMORY, DEVICE) all is as it was. */
dcsr_status dcsr_i_mapping_populate(dcsr_i_mapping *mapping, uint64_t begin, uint64_t bytes);
/* Gives back the memory of the pieces that lie within [begin, begin + bytes); what was in them is lost. */
void dcsr_i_mapping_discard(dcsr_i_mapping *mapping, uint64_t begin, uint64_t bytes);
/* Under AddressSanitizer, touching what is forbidden is reported, as if it had been freed, until it is
 * allowed again or discarded. Without it, and on a GPU, these do nothing. */
void dcsr_i_mapping_forbid(const dcsr_i_mapping *mapping, uint64_t begin, uint64_t bytes);
void dcsr_i_mapping_allow(const dcsr_i_mapping *mapping, uint64_t begin, uint64_t bytes);
/* Bytes held, bookkeeping included. */
uint64_t dcsr_i_mapping_bytes(const dcsr_i_mapping *mapping);

#endif
