/* keysort.h: sorting 64-bit keys with a value each, for the builders and for the rebuilt CSR that we compete
 * with. */
#ifndef DCSR_BENCH_KEYSORT_H
#define DCSR_BENCH_KEYSORT_H

#include <stddef.h>
#include <stdint.h>

typedef struct bench_keyed {
    uint64_t key;
    double value;
} bench_keyed;

/* Sorts entries[0..n-1] by the low `bits` bits of the key (the others must be zero), keeping the order of
 * equal keys: a least-significant-digit radix sort, each pass parallel over blocks. spare has room for n
 * entries; the result is in entries. */
void bench_keysort(bench_keyed *entries, bench_keyed *spare, size_t n, int bits);

/* Bits that the numbers below `bound` need. */
int bench_bits(uint64_t bound);

#endif
