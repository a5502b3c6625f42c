/* keysort.c: a parallel least-significant-digit radix sort.
 *
 * Each thread owns a block of the input. A pass counts the digits of each block, turns the counts into places
 * (digit by digit, block by block within a digit), and scatters. */
#include "bench/peers/keysort.h"
#include "bench/harness.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 64, FEW = 1 << 14 };

static void insertion_sort(bench_keyed *entries, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        bench_keyed entry = entries[i];
        size_t j = i;
        for (; j && entries[j - 1].key > entry.key; j--) entries[j] = entries[j - 1];
        entries[j] = entry;
    }
}

static void pass(const bench_keyed *from, bench_keyed *to, size_t n, int shift, int digit_bits, int threads,
                 size_t *places)
{
    const size_t digits = (size_t)1 << digit_bits;
    const uint64_t mask = digits - 1;
#pragma omp parallel num_threads(threads)
    {
        const size_t block = (size_t)omp_get_thread_num(), blocks = (size_t)omp_get_num_threads();
        const size_t begin = n * block / blocks, end = n * (block + 1) / blocks;
        size_t *mine = places + block * digits;
        memset(mine, 0, digits * sizeof *mine);
        for (size_t i = begin; i < end; i++) mine[from[i].key >> shift & mask]++;
#pragma omp barrier
#pragma omp single
        for (size_t digit = 0, place = 0; digit < digits; digit++)
            for (size_t other = 0; other < blocks; other++) {
                size_t count = places[other * digits + digit];
                places[other * digits + digit] = place;
                place += count;
            }
        for (size_t i = begin; i < end; i++) to[mine[from[i].key >> shift & mask]++] = from[i];
    }
}

void bench_keysort(bench_keyed *entries, bench_keyed *spare, size_t n, int bits)
{
    if (n <= SMALL) {
        insertion_sort(entries, n);
        return;
    }
    const int digit_bits = n < FEW ? 8 : 11, threads = n < FEW ? 1 : omp_get_max_threads();
    size_t *places = bench_alloc((size_t)threads << digit_bits, sizeof *places);
    bench_keyed *from = entries, *to = spare;
    for (int shift = 0; shift < bits; shift += digit_bits) {
        pass(from, to, n, shift, digit_bits, threads, places);
        bench_keyed *swap = from;
        from = to;
        to = swap;
    }
    if (from != entries) memcpy(entries, from, n * sizeof *entries);
    free(places);
}

int bench_bits(uint64_t bound)
{
    return bound < 2 ? 1 : 64 - __builtin_clzll(bound - 1);
}
