/* sort.c: stable sorting of entries by a range of key bits: radix sort from the least significant digit.
 *
 * Keys are row and column packed into as few bits as the matrix's dimensions need, so that a batch for 2^20
 * rows and columns takes four passes and not eight. Bytes moved: passes x n x (one read to count, one read,
 * one write) x size. */
#include "dcsr/base/sort.h"
#include <omp.h>
#include <stdbool.h>
#include <string.h>

/* Digits are short while the counters would outweigh the entries, and at most 2048 buckets, whose open cache
 * lines still fit the second-level cache. */
enum {
    INSERTION_LENGTH = 48,
    SHORT_LENGTH = 16384,
    SHORT_DIGIT = 8,
    LONG_DIGIT = 11,
    MOST_BUCKETS = 1 << LONG_DIGIT,
    MOST_THREADS = 64
};

#define WORDS   1
#define NAME(x) x##_of_one
#include "dcsr/base/sort.inc"
#undef WORDS
#undef NAME

#define WORDS   2
#define NAME(x) x##_of_two
#include "dcsr/base/sort.inc"
#undef WORDS
#undef NAME

uint64_t *dcsr_i_sort(uint64_t *entries, uint64_t *spare, uint64_t n, int stride, int low, int bits,
                      int threads)
{
    if (n < 2 || bits <= 0) return entries;
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    return stride == 1 ? sort_of_one(entries, spare, n, low, bits, threads)
                       : sort_of_two(entries, spare, n, low, bits, threads);
}
