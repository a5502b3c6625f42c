/* segment.h: a segment of a row in one word (internal; for C and for kernels).
 *
 *      bits 63 ...... 43 | 42 ....................... 0
 *      capacity, a float | begin, a place in the arena
 *
 * The capacity has an exponent e and a mantissa m of 17 bits, as e << 17 | m: it is m if e is 0, else (2^17 + m) <<
 * (e - 1). So up to 2^18 every capacity is its own code; beyond, each is within 2^-17 of one that can be written.
 * A new segment gets one of these, by dcsr_i_fitting_capacity(): it is at least as large as it has to be.
 *
 * Rows that lie one behind the other have exactly the places that they fill, which may not be one of these. Then the
 * next lower one is written, which is less than the row's length: a row in one segment that is longer than what is
 * written as its capacity has exactly its length. Such a row moves before it grows. A further segment of a row is
 * always written as it is; but in a clone a last one may have the next larger capacity written (filled_segment() in
 * table.c): its row, too, moves before it grows. */
#ifndef DCSR_SEGMENT_H
#define DCSR_SEGMENT_H

#include "dcsr/base/search.h"
#include <stdbool.h>

enum {
    DCSR_I_SEGMENT_BEGIN_BITS = 43,
#ifdef DCSR_SIMT
    DCSR_I_SEGMENT_MANTISSA_BITS = 10, /* so that small tests have capacities that cannot be written */
#else
    DCSR_I_SEGMENT_MANTISSA_BITS = 17,
#endif
    DCSR_I_SEGMENT_EXACT = 2 << DCSR_I_SEGMENT_MANTISSA_BITS /* every capacity up to this can be written */
};

/* Places have smaller numbers than this. */
#define DCSR_I_MOST_PLACES ((uint64_t)1 << DCSR_I_SEGMENT_BEGIN_BITS)

/* All zero: there is no such segment. */
typedef struct dcsr_i_segment {
    uint64_t word;
} dcsr_i_segment;

/* The code of the largest capacity up to one below 2^32 that can be written. */
static inline DCSR_CUDA_BOTH_SIDES uint64_t dcsr_i_capacity_code(uint64_t capacity)
{
    uint64_t exponent = 0;
    while (capacity >> (DCSR_I_SEGMENT_MANTISSA_BITS + 1)) {
        capacity >>= 1;
        exponent++;
    }
    /* The mantissa's leading bit adds 1 to the exponent. */
    return capacity + (exponent << DCSR_I_SEGMENT_MANTISSA_BITS);
}

static inline DCSR_CUDA_BOTH_SIDES uint64_t dcsr_i_capacity_of_code(uint64_t code)
{
    const uint64_t exponent = code >> DCSR_I_SEGMENT_MANTISSA_BITS;
    if (exponent < 2) return code;
    return (code - ((exponent - 1) << DCSR_I_SEGMENT_MANTISSA_BITS)) << (exponent - 1);
}

/* The smallest capacity from one on that can be written. */
static inline DCSR_CUDA_BOTH_SIDES uint64_t dcsr_i_fitting_capacity(uint64_t capacity)
{
    const uint64_t code = dcsr_i_capacity_code(capacity), below = dcsr_i_capacity_of_code(code);
    return below == capacity ? capacity : dcsr_i_capacity_of_code(code + 1);
}

/* Room beyond `length` entries that a row is given when it moves or gets a further segment, as a share of its length,
 * in 65536ths: by default half of it, so that a hub row's segments run out only after it has grown several times over.
 * Short rows count as four entries longer, so they have room for two: half the rows of a skewed graph are short, and
 * appending to a segment with room is several times cheaper than starting another (measured: 2x for insertion as a
 * whole). No row becomes longer than 2^31 - 1. */
enum { DCSR_I_SLACK_UNIT = 65536, DCSR_I_SLACK_DEFAULT = DCSR_I_SLACK_UNIT / 2 };
static inline DCSR_CUDA_BOTH_SIDES uint64_t dcsr_i_slack(uint32_t share, uint64_t length)
{
    const uint64_t slack = (length + 4) * share / DCSR_I_SLACK_UNIT, most = UINT32_MAX / 2;
    return length >= most ? 0 : slack < most - length ? slack : most - length;
}

/* The capacity of a segment for so many entries of a row that then has `length`, and their slack. */
static inline DCSR_CUDA_BOTH_SIDES uint64_t dcsr_i_capacity_for(uint64_t entries, uint32_t share,
                                                                uint64_t length)
{
    return dcsr_i_fitting_capacity(entries + dcsr_i_slack(share, length));
}

/* A segment of a capacity that can be written; or the first of a row that fills it. */
static inline DCSR_CUDA_BOTH_SIDES dcsr_i_segment dcsr_i_segment_of(uint64_t begin, uint64_t capacity)
{
    dcsr_i_segment segment = {begin | dcsr_i_capacity_code(capacity) << DCSR_I_SEGMENT_BEGIN_BITS};
    return segment;
}

static inline DCSR_CUDA_BOTH_SIDES uint64_t dcsr_i_segment_begin(dcsr_i_segment segment)
{
    return segment.word & (DCSR_I_MOST_PLACES - 1);
}

/* As it is written. */
static inline DCSR_CUDA_BOTH_SIDES uint64_t dcsr_i_segment_capacity(dcsr_i_segment segment)
{
    return dcsr_i_capacity_of_code(segment.word >> DCSR_I_SEGMENT_BEGIN_BITS);
}

/* Of the first segment of a row of that length which has no other. */
static inline DCSR_CUDA_BOTH_SIDES uint64_t dcsr_i_only_capacity(dcsr_i_segment segment, uint64_t length)
{
    const uint64_t written = dcsr_i_segment_capacity(segment);
    return written < length ? length : written;
}

/* Whether a row of that length, in one segment, fills it, and it is of a capacity that cannot be written. */
static inline DCSR_CUDA_BOTH_SIDES bool dcsr_i_is_rounded(dcsr_i_segment segment, uint64_t length)
{
    return dcsr_i_segment_capacity(segment) < length;
}

#endif
