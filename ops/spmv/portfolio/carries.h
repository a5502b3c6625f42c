/* carries.h: products in pieces of equally many entries, wherever rows end (internal).
 *
 * A piece, one for each thread, writes the rows that end in it (`merge`) or begin in it (`coo`). What it has of a row
 * that another piece writes is its **carry**, which is added when all are done, in the order of pieces: so the result
 * depends on nothing but the number of threads. */
#ifndef DCSR_SPMV_CARRIES_H
#define DCSR_SPMV_CARRIES_H

#include <stdint.h>

enum { DCSR_I_SPMV_PIECES = 256 };

typedef struct dcsr_i_spmv_carry {
    uint64_t row;
    uint64_t sum;  /* its bits */
    uint64_t none; /* 1: there is nothing to add */
} dcsr_i_spmv_carry;

/* Pieces for so many threads. */
static inline int dcsr_i_spmv_pieces(int threads)
{
    return threads < 1 ? 1 : threads < DCSR_I_SPMV_PIECES ? threads : DCSR_I_SPMV_PIECES;
}

#endif
