/* vector_block.h: vectors block by block (internal).
 *
 * Operations on vectors work on blocks that the first-level cache holds: they fetch the inputs' elements of a
 * block, of whatever form and type, as arrays of the operator's types and words of bits, and apply the
 * operator to the arrays. A block is of consecutive elements, or of those in a list of indices.
 *
 *      values  | a ? b c ? ... |      what is at ? was never written, or means nothing
 *      bits    | 1 0 1 1 0 ... |      NULL: every element is there
 */
#ifndef DCSR_VECTOR_BLOCK_H
#define DCSR_VECTOR_BLOCK_H

#include "ops/vector/write_vector.h"

enum { DCSR_I_BLOCK = 1024, DCSR_I_BLOCK_WORDS = DCSR_I_BLOCK / 64 };

/* Which elements a block is of: list[0] .. list[n-1], ascending, or, where list is NULL, first .. first+n-1,
 * where first is a multiple of 64. n is DCSR_I_BLOCK at most. */
typedef struct dcsr_i_at {
    uint64_t first;
    const uint32_t *list;
    size_t n;
} dcsr_i_at;

/* Where elements come from: a body of values of one type, wanted as another. */
typedef struct dcsr_i_source {
    const dcsr_i_body *body;
    dcsr_type from, to;
} dcsr_i_source;

/* Values and bits: lent by a body, or in the block's own room. Too large to be initialised. */
typedef struct dcsr_i_elements {
    const void *values;
    const uint64_t *bits; /* those from n on are 0 */
    uint64_t words[DCSR_I_BLOCK_WORDS];
    _Alignas(64) char room[DCSR_I_BLOCK * sizeof(uint64_t)];
} dcsr_i_elements;

/* The source's elements at those places. */
void dcsr_i_fetch(dcsr_i_elements *block, const dcsr_i_source *source, const dcsr_i_at *at);
/* Where the mask is true; bits from n on are 0. */
void dcsr_i_fetch_mask(uint64_t *words, const dcsr_i_mask *mask, const dcsr_i_at *at);

/* z[k] = bit k ? a[k] : b[k] for k < n, of values of that size. z may be a or b. */
void dcsr_i_blend(size_t size, void *z, const uint64_t *bits, const void *a, const void *b, size_t n);
/* The bits of n bools; those from n on in the last word are 0. */
void dcsr_i_pack(uint64_t *words, const void *bools, size_t n);

/* Apply an operator where a bit is set (NULL: everywhere). A built-in one runs over all n, as its results
 * elsewhere do no harm; a user's sees only elements that are there. */
bool dcsr_i_apply_unary_where(const dcsr_unary_op *op, void *z, const void *x, const uint64_t *bits,
                              size_t n);
bool dcsr_i_apply_binary_where(const dcsr_binary_op *op, void *z, const void *x, const void *y,
                               const uint64_t *bits, size_t n);
bool dcsr_i_apply_index_where(const dcsr_index_op *op, void *z, const void *x, const dcsr_i_positions *places,
                              const void *thunk, const uint64_t *bits, size_t n);

/* Word w of n bits that are all set. */
static inline uint64_t dcsr_i_full_word(size_t n, size_t w)
{
    size_t left = n - w * 64;
    return left < 64 ? ((uint64_t)1 << left) - 1 : UINT64_MAX;
}

/* dcsr_i_list_find() for a place that is a few away: looks at 16 numbers at once, without a branch on which
 * of them it is. */
static inline uint64_t dcsr_i_list_skip(const uint32_t *list, uint64_t from, uint64_t n, uint32_t number)
{
    for (; from + 16 <= n; from += 16) {
        unsigned below = 0;
        for (int k = 0; k < 16; k++) below += list[from + k] < number;
        if (below < 16) return from + below;
    }
    while (from < n && list[from] < number) from++;
    return from;
}

static inline uint64_t dcsr_i_word_of(const uint64_t *bits, size_t n, size_t w)
{
    return bits ? bits[w] : dcsr_i_full_word(n, w);
}

#endif
