/* random.h: random numbers that are a function of a seed and a counter (internal).
 *
 * There is no state: number i of a stream is computed by itself, so that any slice of a stream comes out the
 * same whichever thread makes it. The function is SplitMix64 (Steele, Lea, Flood 2014): a counter times an
 * odd constant, through a mixing function of 64 bits. */
#ifndef DCSR_RANDOM_H
#define DCSR_RANDOM_H

#include <stdint.h>

__extension__ typedef unsigned __int128 dcsr_i_uint128;

static inline uint64_t dcsr_i_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* The key of a stream: one seed gives a stream for each purpose. */
static inline uint64_t dcsr_i_random_key(uint64_t seed, uint64_t purpose)
{
    return dcsr_i_mix(dcsr_i_mix(seed + UINT64_C(0x9e3779b97f4a7c15)) + purpose);
}

/* Number i of the stream: 64 uniform bits. */
static inline uint64_t dcsr_i_random(uint64_t key, uint64_t i)
{
    return dcsr_i_mix(key + (i + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

/* A number below n from 64 uniform bits; each is at most n / 2^64 more likely than another. */
static inline uint64_t dcsr_i_random_below(uint64_t bits, uint64_t n)
{
    return (uint64_t)(((dcsr_i_uint128)bits * n) >> 64);
}

/* A bijection on [0, 2^bits) that looks random, without a table: rounds of an odd multiplication and a
 * shifted exclusive or, each of which can be undone within the bits. */
enum { DCSR_I_SHUFFLE_ROUNDS = 4 };

typedef struct dcsr_i_shuffle {
    uint64_t mask;
    int shift;
    uint64_t factor[DCSR_I_SHUFFLE_ROUNDS], summand[DCSR_I_SHUFFLE_ROUNDS];
} dcsr_i_shuffle;

/* bits: 0 to 63. */
static inline dcsr_i_shuffle dcsr_i_shuffle_make(int bits, uint64_t key)
{
    dcsr_i_shuffle shuffle = {.mask = (UINT64_C(1) << bits) - 1, .shift = (bits + 1) / 2};
    for (unsigned round = 0; round < DCSR_I_SHUFFLE_ROUNDS; round++) {
        shuffle.factor[round] = dcsr_i_random(key, 2 * round) | 1;
        shuffle.summand[round] = dcsr_i_random(key, 2 * round + 1);
    }
    return shuffle;
}

static inline uint64_t dcsr_i_shuffle_apply(const dcsr_i_shuffle *shuffle, uint64_t x)
{
    for (int round = 0; round < DCSR_I_SHUFFLE_ROUNDS; round++) {
        x = (x * shuffle->factor[round] + shuffle->summand[round]) & shuffle->mask;
        x ^= x >> shuffle->shift;
    }
    return x;
}

#endif
