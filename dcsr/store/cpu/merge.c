/* merge.c: merging entries that came later into a row that ascends strictly.
 *
 * The row is copied in blocks of eight columns, with no branch for each entry: a comparison of all eight tells
 * how many stand before the next later column, so many count as copied, and what was written behind them is
 * overwritten. Room for that is there, since the rest of the row is still to come. So a long row with few
 * later entries is copied at the speed of memory, and an entry that comes in between costs one misprediction. */
#include "dcsr/store/cpu/merge.h"
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { BLOCK = 8 };

/* How many of the first BLOCK columns, which ascend, are not beyond `column`; all of them are copied. */
static inline unsigned copy_block(uint32_t *to, const uint32_t *from, uint32_t column)
{
#ifdef __SSE2__
    const __m128i bound = _mm_set1_epi32((int)column), low = _mm_loadu_si128((const __m128i *)from),
                  high = _mm_loadu_si128((const __m128i *)(from + 4));
    _mm_storeu_si128((__m128i *)to, low);
    _mm_storeu_si128((__m128i *)(to + 4), high);
    const __m128i beyond = _mm_packs_epi32(_mm_cmpgt_epi32(low, bound), _mm_cmpgt_epi32(high, bound));
    const int mask = _mm_movemask_epi8(_mm_packs_epi16(beyond, beyond));
    return (unsigned)__builtin_ctz((unsigned)mask | 1u << BLOCK);
#else
    unsigned count = 0;
    for (int k = 0; k < BLOCK; k++) count += from[k] <= column;
    memcpy(to, from, BLOCK * sizeof *to);
    return count;
#endif
}

/* One later entry joins those of its column in the result, which begin at `group`; returns where they end. */
static inline uint64_t join(const dcsr_i_merge_job *m, uint64_t group, uint64_t out, uint64_t later,
                            dcsr_i_merge_result *merged)
{
    const size_t size = m->size;
    const uint32_t column = m->later.columns[later];
    const char *value = m->later.values + later * size;
    if (column & DCSR_I_TOMBSTONE) {
        merged->changed |= out > group;
        return group;
    }
    if (out > group && !m->keep) {
        if (!size) return out;
        char *into = m->values + (out - 1) * size;
        uint64_t before = 0, after = 0;
        memcpy(&before, into, size);
        m->combine(into, value);
        memcpy(&after, into, size);
        merged->changed |= before != after;
        return out;
    }
    m->columns[out] = column;
    if (size) memcpy(m->values + out * size, value, size);
    merged->changed = true;
    return out + 1;
}

/* `size` is m->size, as a constant. */
static inline __attribute__((always_inline)) dcsr_i_merge_result merge(const dcsr_i_merge_job *m,
                                                                       const size_t size)
{
    dcsr_i_merge_result merged = {0};
    const uint32_t *head = m->head_columns, *later = m->later.columns;
    uint64_t in = 0, out = 0;
    for (uint64_t i = 0; i < m->later.n;) {
        const uint32_t column = later[i] & ~DCSR_I_TOMBSTONE;
        unsigned copied = BLOCK;
        while (copied == BLOCK && in + BLOCK <= m->head) {
            copied = copy_block(m->columns + out, head + in, column);
            if (size) memcpy(m->values + out * size, m->head_values + in * size, BLOCK * size);
            in += copied, out += copied;
        }
        for (; copied == BLOCK && in < m->head && head[in] <= column; in++, out++) {
            m->columns[out] = head[in];
            if (size) memcpy(m->values + out * size, m->head_values + in * size, size);
        }
        uint64_t group = out;
        while (group && m->columns[group - 1] == column) group--;
        for (; i < m->later.n && (later[i] & ~DCSR_I_TOMBSTONE) == column; i++)
            out = join(m, group, out, i, &merged);
    }
    memcpy(m->columns + out, head + in, (m->head - in) * sizeof *head);
    if (size) memcpy(m->values + out * size, m->head_values + in * size, (m->head - in) * size);
    merged.length = out + m->head - in;
    return merged;
}

dcsr_i_merge_result dcsr_i_merge(const dcsr_i_merge_job *m)
{
    switch (m->size) {
    case 0:
        return merge(m, 0);
    case 1:
        return merge(m, 1);
    case 2:
        return merge(m, 2);
    case 4:
        return merge(m, 4);
    default:
        return merge(m, 8);
    }
}
